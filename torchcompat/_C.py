"""The few names of torch's extension module that programs use: facts about the build, and hands on the backward engine."""

from __future__ import annotations

import enum
import types
from collections.abc import Sequence
from typing import TYPE_CHECKING

from autograd_tape.modes import current_engine
from autograd_tape.saved import SavedTensor, state
from autograd_tape.node import AccumulateGrad, TapeEntry

from ._calls.autocast import is_any_autocast_enabled as _is_any_autocast_enabled  # noqa: F401  # a name of torch's
from ._calls.autocast import is_autocast_available as _is_autocast_available  # noqa: F401
from ._calls.keys import AFTER_AUTOGRAD, AFTER_VIEWS, DispatchKey as DispatchKey, DispatchKeySet as DispatchKeySet
from .dispatch import get_trace as _get_trace, set_trace as _set_trace
from ._calls.frontend import LinAlgError
from ._tensor import Tensor
from .autograd._functions import UndefinedGrad
from .autograd.anomaly_mode import is_anomaly_check_nan_enabled as _is_anomaly_check_nan_enabled
from .autograd.anomaly_mode import is_anomaly_enabled as _is_anomaly_enabled
from .autograd.function import Error
from .autograd.grad_mode import is_grad_enabled, is_inference_mode_enabled
from .overrides import DisableTorchFunctionSubclass
from .overrides import disabled_torch_function as _disabled
from .random import Generator

if TYPE_CHECKING:
    from torchcompat.dispatch import Trace, _Keys

__all__ = ["DisableTorchFunctionSubclass", "Generator", "is_anomaly_check_nan_enabled", "is_anomaly_enabled", "is_grad_enabled",
           "is_inference_mode_enabled"]

has_lapack = True  # NumPy brings one
has_mkl = has_mkldnn = has_cuda = has_mps = has_openmp = has_spectral = False
TensorBase = _TensorBase = Tensor
_after_autograd_keyset, _after_ADInplaceOrView_keyset = AFTER_AUTOGRAD, AFTER_VIEWS
is_anomaly_enabled, is_anomaly_check_nan_enabled = _is_anomaly_enabled, _is_anomaly_check_nan_enabled

_disabled_torch_function_impl = _disabled
_LinAlgError = LinAlgError
_functions = types.SimpleNamespace(AccumulateGrad=AccumulateGrad, UndefinedGrad=UndefinedGrad, Error=Error)


def _saved_tensors_hooks_is_enabled() -> bool:
    return state.disabled is None


_autograd = types.SimpleNamespace(SavedTensor=SavedTensor, _saved_tensors_hooks_is_enabled=_saved_tensors_hooks_is_enabled)


def _set_tracing_state(trace: Trace | None) -> None:
    """Makes a `dispatch.Trace` the one that operations are noted in, or none."""
    _set_trace(trace)


def _get_tracing_state() -> Trace | None:
    """The trace that operations are noted in; None where there is none."""
    return _get_trace()


def _AutoDispatchBelowAutograd() -> _Keys:
    """A block in which operations are carried out below autograd: nothing is recorded, and kernels of the key Autograd are passed by."""
    from .dispatch import DispatchKey as Layer, exclude_keys

    return exclude_keys(Layer.Autograd)


def _current_graph_task_id() -> int:
    """A number for the running backward pass, -1 where there is none."""
    engine = current_engine()
    return -1 if engine is None else engine.task


def _current_autograd_node() -> TapeEntry | None:
    """The node whose backward is running."""
    engine = current_engine()
    return None if engine is None else engine.entry


def _will_engine_execute_node(node: object) -> bool:
    """Whether the running pass executes `node`.

    Raises:
        RuntimeError: no pass is running, or the node is an AccumulateGrad and the pass was started by `grad`.
    """
    engine = current_engine()
    if not isinstance(node, TapeEntry):
        raise RuntimeError(f"_will_engine_execute_node expects an grad_fn, but got {type(node).__name__}")
    if engine is None:
        raise RuntimeError("_get_should_execute_nodes should only be called during the backward pass")
    leaf = isinstance(node, AccumulateGrad)
    target = node.variable if isinstance(node, AccumulateGrad) else node
    if engine.capture is None:
        return engine.reaches(target)
    if leaf and engine.accumulate is None and target in engine.capture:
        raise RuntimeError("A leaf node was passed to _will_engine_execute_node but we are currently running autograd.grad(). This is "
                           "currently not supported.")
    return target in (engine.needed or ())


class _WeakTensorRef:
    """A reference to a tensor that does not keep it alive."""

    def __init__(self, tensor: Tensor) -> None:
        import weakref

        self._ref = weakref.ref(tensor)

    def expired(self) -> bool:
        """Whether the tensor is gone."""
        return self._ref() is None


class _ConvBackend(enum.IntEnum):
    """What torch carries a convolution out by; here only those are ever chosen that torch has without libraries of others."""

    CudaDepthwise2d, CudaDepthwise3d, Cudnn, CudnnTranspose, Empty, Miopen, MiopenDepthwise, MiopenTranspose, Mkldnn = range(9)
    MkldnnEmpty, NnpackSpatial, Overrideable, Slow2d, Slow3d, SlowDilated2d, SlowDilated3d, SlowTranspose2d, SlowTranspose3d = range(10, 19)
    Winograd3x3Depthwise, Xnnpack2d, Mps, MpsTranspose = range(19, 23)


def _select_conv_backend(input: Tensor, weight: Tensor, bias: Tensor | None, stride: Sequence[int], padding: Sequence[int],
                         dilation: Sequence[int], transposed: bool, output_padding: Sequence[int], groups: int,
                         bias_sizes: Sequence[int] | None = None) -> _ConvBackend:
    """By what torch, built without libraries of others, would carry out a convolution: it is told by sizes alone."""
    if 0 in (*input.shape[:2], *weight.shape):
        return _ConvBackend.Empty
    kind = "Transpose" if transposed else "Dilated" if any([d != 1 for d in dilation]) else ""
    return _ConvBackend[f"Slow{kind}{max(input.ndim - 2, 2)}d"]
