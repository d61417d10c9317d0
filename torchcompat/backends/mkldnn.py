"""torch.backends.mkldnn: the layout that `Tensor.to_mkldnn` gives is there. Flags are kept; the same kernels compute with and without."""

from __future__ import annotations

from ._flags import Flag, FlagModule, Fp32Precision, OfBackend, block, setter
from .mkl import verbose as _verbose

VERBOSE_OFF, VERBOSE_ON, VERBOSE_ON_CREATION = 0, 1, 2
matmul, conv, rnn = [Fp32Precision("mkldnn", op) for op in ("matmul", "conv", "rnn")]


def is_available() -> bool:
    """True: what torch has for its layout is there, see `torchcompat.sparse._opaque`."""
    return True


def is_acl_available() -> bool:
    """False."""
    return False


class verbose(_verbose):
    """A block in which oneDNN would print what it is called for.

    Args:
        level: `VERBOSE_OFF`, `VERBOSE_ON` or `VERBOSE_ON_CREATION`.
    """

    def __init__(self, level: int) -> None:
        super().__init__(level)
        self.level = level


class MkldnnModule(FlagModule):
    """The module with its flags."""

    enabled = Flag(True, "set_enabled_mkldnn")
    deterministic = Flag(False, "set_deterministic_mkldnn")
    allow_tf32 = Flag(None)
    fp32_precision = OfBackend("generic")  # of all backends, as torch has it


set_flags = setter(__name__, "enabled", "deterministic", "allow_tf32", "fp32_precision")
flags = block(set_flags, enabled=False, deterministic=False, allow_tf32=True, fp32_precision="none")
MkldnnModule.become(__name__)
