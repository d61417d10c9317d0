"""torch.backends.cudnn where there is no CUDA: its flags are kept, and set nothing."""

from __future__ import annotations

from typing import Any

from .. import _flags
from .._flags import Flag, FlagModule, Fp32Precision, OfBackend, block, setter
from . import rnn as rnn

conv = Fp32Precision("cuda", "conv")
CUDNN_TENSOR_DTYPES: set[object] = set()


def version() -> int | None:
    """None."""
    return None


def is_available() -> bool:
    """False."""
    return False


def is_acceptable(tensor: object) -> bool:
    """False."""
    return False


class CudnnModule(FlagModule):
    """The module with its flags."""

    enabled = Flag(True, "set_enabled_cudnn")
    benchmark = Flag(False, "set_benchmark_cudnn")
    benchmark_limit = Flag(None)
    deterministic = Flag(False, "set_deterministic_cudnn")
    fp32_precision = OfBackend("cuda")
    depthwise_kernel = Flag("auto")

    @property
    def allow_tf32(self) -> bool:
        """Whether convolutions and recurrent networks multiply float32 in TF32."""
        kinds = {_flags.precision("cuda", op) == "tf32" for op in ("conv", "rnn")}
        if len(kinds) > 1:
            raise RuntimeError(
                "PyTorch is checking whether allow_tf32 is enabled for cuDNN without a specific operator name,but the current flag(s) "
                "indicate that cuDNN conv and cuDNN RNN have different TF32 flags.This combination indicates that you have used a mix of "
                "the legacy and new APIs to set the TF32 flags. We suggest only using one set of APIs to set the TF32 flag(s). See also: "
                "https://pytorch.org/docs/main/notes/cuda.html#tensorfloat-32-tf32-on-ampere-and-later-devices")
        return kinds.pop()

    @allow_tf32.setter
    def allow_tf32(self, value: bool) -> None:
        _flags.check_thawed(self)
        if not isinstance(value, bool):
            raise RuntimeError(f"set_allow_tf32_cublas expects a bool, but got {type(value).__name__}")
        for op in ("conv", "rnn"):
            _flags.set_precision("cuda", op, "tf32" if value else "none")


set_flags = setter(__name__, "enabled", "benchmark", "benchmark_limit", "deterministic", "allow_tf32", "fp32_precision",
                   "depthwise_kernel")
flags = block(set_flags, enabled=False, benchmark=False, benchmark_limit=10, deterministic=False, allow_tf32=True)
CudnnModule.become(__name__)
