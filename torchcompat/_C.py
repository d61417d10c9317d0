"""The few names of torch's extension module that programs use: facts about the build, and hands on the backward engine."""

from __future__ import annotations

import enum
import importlib
import types
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from autograd_tape.annotations import Fn
from autograd_tape.dtypes import DType, Device
from autograd_tape.dims import broadcast_shape
from autograd_tape.errors import AutogradError
from autograd_tape.modes import attention_kernels, attention_priority, current_engine
from autograd_tape.saved import SavedTensor, state
from autograd_tape.node import AccumulateGrad, TapeEntry
from autograd_tape.ops.networks.convolution import of_onednn

from ._calls.above import above
from ._calls.autocast import is_any_autocast_enabled as _is_any_autocast_enabled  # noqa: F401  # a name of torch's
from ._calls.autocast import is_autocast_available as _is_autocast_available  # noqa: F401
from ._calls.emitted import EmitHooks, _clear_class_state as _jit_clear_class_registry  # noqa: F401
from ._calls.keys import AFTER_AUTOGRAD, AFTER_VIEWS, DispatchKey as DispatchKey, DispatchKeySet as DispatchKeySet
from .dispatch import DispatchKey as Door, exclude_keys, get_trace as _get_trace, set_trace as _set_trace
from ._calls.frontend import LinAlgError
from ._calls.kinds import try_infer_type as _jit_try_infer_type  # noqa: F401
from ._making.conversion import parse_to
from ._memory.bits import marked
from ._memory.size import Size
from ._tensor import PLAIN_DISPATCH, Tensor, frontend
from .backends import mkldnn
from .autograd._functions import UndefinedGrad
from .autograd.anomaly_mode import is_anomaly_check_nan_enabled as _is_anomaly_check_nan_enabled
from .autograd.anomaly_mode import is_anomaly_enabled as _is_anomaly_enabled
from .autograd.function import Error
from .autograd.grad_mode import is_grad_enabled, is_inference_mode_enabled
from .overrides import DisableTorchFunction as DisableTorchFunction, DisableTorchFunctionSubclass
from .overrides import _EnableTorchFunction as _EnableTorchFunction
from .overrides import disabled_torch_function as _disabled
from .random import Generator

if TYPE_CHECKING:
    from torchcompat._memory.layout import memory_format
    from torchcompat.dispatch import Trace, _Keys

__all__ = ["DisableTorchFunctionSubclass", "Generator", "is_anomaly_check_nan_enabled", "is_anomaly_enabled", "is_grad_enabled",
           "is_inference_mode_enabled"]

has_lapack = has_spectral = True  # NumPy brings both
has_mkldnn = _has_mkldnn = True  # its layout, that is
has_mkl = True  # what torch has with it, that is
has_cuda = has_mps = has_openmp = False
_GLIBCXX_USE_CXX11_ABI = True


class ScriptObject:
    """What classes that a compiled extension registers make; there are no such, so that nothing is one."""

    __module__ = "torch"

    def __init__(self) -> None:
        raise TypeError("torch._C.ScriptObject: No constructor defined!")


class _AnyTensor(type(Tensor)):  # type: ignore[misc]  # which is a class
    """Of `TensorBase`, which every tensor is one of."""

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, Tensor)

    def __subclasscheck__(cls, other: type) -> bool:
        return issubclass(other, Tensor)


class TensorBase(Tensor, metaclass=_AnyTensor):
    """What tensors derive from in torch; nobody's class here.

    Raises:
        RuntimeError: it is called.
    """

    def __new__(cls, *args: object, **kwargs: object) -> Tensor:  # type: ignore[misc]
        if cls is TensorBase:
            raise RuntimeError("Cannot directly construct TensorBase; subclass it and then construct that")
        return super().__new__(cls, *args, **kwargs)


_TensorBase, _TensorMeta = TensorBase, type(Tensor)


def _get_accelerator(check: bool | None = None) -> Device:
    """Where tensors are computed: on the CPU, where torch says so, too, of a build that has nothing else."""
    return Device("cpu")


def _get_default_device() -> str:
    """Where factories make tensors."""
    return str(frontend.default_device or "cpu")


def _get_privateuse1_backend_name() -> str:
    """What the kind of devices is called that programs may add."""
    return "privateuseone"


def _are_functorch_transforms_active() -> bool:
    """Whether a transform of `torch.func` is under way."""
    if above.change_levels is None:
        return False
    levels = above.change_levels(())
    above.change_levels(levels)
    return any([level.randomness != "dual" for level in levels])


def _log_api_usage_once(event: str) -> None:
    """Where torch's own logs count what is used; there are none."""


def _sdp_flag(kind: str) -> tuple[Callable[[], bool], Callable[[bool], None]]:
    """Whether `scaled_dot_product_attention` may use a kernel, and what sets it."""
    return lambda: attention_kernels[kind], lambda enabled: attention_kernels.__setitem__(kind, enabled)


for _kind in ("cudnn", "flash", "mem_efficient", "math", "overrideable"):
    globals()[f"_get_{_kind}_sdp_enabled"], globals()[f"_set_sdp_use_{_kind}"] = _sdp_flag(_kind)


_get_math_sdp_allow_fp16_bf16_reduction, _set_math_sdp_allow_fp16_bf16_reduction = _sdp_flag("fp16_bf16_reduction")


def _get_sdp_priority_order() -> list[int]:
    """The order in which kernels for attention are preferred."""
    return attention_priority[:]


def _set_sdp_priority_order(order: Sequence[int]) -> None:
    """Sets it; what does not fit is left out."""
    attention_priority[:] = order[:len(attention_priority)]


_after_autograd_keyset, _after_ADInplaceOrView_keyset = AFTER_AUTOGRAD, AFTER_VIEWS
is_anomaly_enabled, is_anomaly_check_nan_enabled = _is_anomaly_enabled, _is_anomaly_check_nan_enabled

_disabled_torch_function_impl, _disabled_torch_dispatch_impl = _disabled, PLAIN_DISPATCH
_LinAlgError = LinAlgError
_nn = types.ModuleType("torch._C._nn", "The functions of networks by ATen's names and parameters, as `torch.ops.aten` has them.")


def _parse_to(*args: Any, **named: Any) -> tuple[Device | None, DType | None, bool, memory_format | None]:
    """(device, dtype, whether not to wait, memory format) of the arguments of a module's `to`, as programs read them that wrap it.

    Raises:
        RuntimeError: a copy is asked for, which modules do not make.
        TypeError: they fit none of the signatures of `to`.
    """
    dtype, device, copy, layout = parse_to(*args, **named)
    if copy:
        raise RuntimeError(".to() does not accept copy argument")
    return device, dtype, named.get("non_blocking", any([flag for flag in args if flag is True])), layout


_nn.__dict__["_parse_to"] = _parse_to


def _of_networks(name: str) -> Fn:
    found: Fn | None = None if name.startswith("__") else above.operator(name)
    if found is None:
        raise AttributeError(f"module 'torch._C._nn' has no attribute '{name}'")
    setattr(_nn, name, found)
    return found


_nn.__dict__["__getattr__"] = _of_networks
_functions = types.SimpleNamespace(AccumulateGrad=AccumulateGrad, UndefinedGrad=UndefinedGrad, Error=Error)


def parse_schema(schema: str) -> object:
    """What an operation takes and returns, read from a text such as "f(Tensor x, *, int n=1) -> Tensor".

    Raises:
        RuntimeError: it is no schema.
    """
    return above.parse_schema(schema)


def _infer_size(a: Size, b: Size) -> Size:
    """The shape that two shapes broadcast to.

    Raises:
        TypeError: they are not shapes.
        RuntimeError: they do not broadcast.
    """
    for i, size in enumerate((a, b)):
        if not isinstance(size, Size):
            raise TypeError(f"expected a torch.Size as argument {i}")
    try:
        return Size(broadcast_shape(a, b))
    except AutogradError as error:
        raise frontend.error(error) from None


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
    return exclude_keys(Door.Autograd)


def _ExcludeDispatchKeyGuard(keyset: DispatchKeySet) -> _Keys:
    """A block in which operations skip the keys of a set: those of autocast and Autograd, which are all that some of are on the way here.

    >>> import torchcompat as torch
    >>> with torch.autocast("cpu"), _ExcludeDispatchKeyGuard(DispatchKeySet(DispatchKey.AutocastCPU)):
    ...     torch.ones(1, 1).mm(torch.ones(1, 1)).dtype
    torch.float32
    """
    known = {"AutocastCPU": "AutocastCPU", "AutocastCUDA": "AutocastGPU", "AutogradCPU": "Autograd"}
    return exclude_keys(*[Door[known[key.name]] for key in keyset._keys if key.name in known])


class _DisableFuncTorch:
    """While it is there, or until its block ends, operations on this thread are carried out as if no transform were under way.

    >>> import torchcompat as torch
    >>> def shuffled(x):
    ...     with torch._C._DisableFuncTorch():
    ...         order = torch.randperm(2)  # which vmap refuses
    ...     return x[order].sum()
    >>> torch.func.vmap(shuffled)(torch.ones(3, 2))
    tensor([2., 2., 2.])
    """

    def __init__(self) -> None:
        self._levels = None if (change := above.change_levels) is None else change(())

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exc: object) -> None:
        self.__del__()

    def __del__(self) -> None:
        levels, self._levels = self._levels, None
        if levels is not None and above.change_levels is not None:
            above.change_levels(levels)


def _debug_only_are_vmap_fallback_warnings_enabled() -> bool:
    """Whether the old vmap warns where it goes through examples one by one."""
    return _fallback_warnings[0]


def _debug_only_display_vmap_fallback_warnings(enabled: bool) -> None:
    """Switches these warnings, which nothing here gives: every operation is carried out on whole batches, or refused."""
    _fallback_warnings[0] = enabled


_fallback_warnings = [False]
_fallback = [True]
"""Whether vmap may carry out what it has no rule for example by example."""


def _set_vmap_fallback_enabled(enabled: bool) -> None:
    """Switches what vmap does where it has no rule."""
    _fallback[0] = enabled


_functorch = types.SimpleNamespace(_set_vmap_fallback_enabled=_set_vmap_fallback_enabled, _is_vmap_fallback_enabled=lambda: _fallback[0])


def _set_conj(tensor: Tensor, conj: bool) -> None:
    """Makes a tensor stand for the conjugates of what its memory holds, or for that.

    Raises:
        RuntimeError: it is not complex.
    """
    if conj and not tensor._k.dtype.is_complex:
        raise RuntimeError('isComplexType(typeMetaToScalarType(dtype())) INTERNAL ASSERT FAILED at "/__w/pytorch/pytorch/c10/core/'
                           'TensorImpl.h":1470, please report a bug to PyTorch. ')
    marked(tensor, conj, tensor.is_neg())


def _set_neg(tensor: Tensor, neg: bool) -> None:
    """Makes a tensor stand for the negatives of what its memory holds, or for that."""
    marked(tensor, tensor.is_conj(), neg)


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
    if leaf and engine.names_inputs and (engine.capture is None or engine.accumulate is None and target in engine.capture):
        raise RuntimeError("A leaf node was passed to _will_engine_execute_node but we are currently running autograd.grad(). This is "
                           "currently not supported.")
    return engine.reaches(target) if engine.capture is None else target in (engine.needed or ())


class _WeakTensorRef:
    """A reference to a tensor that does not keep it alive."""

    def __init__(self, tensor: Tensor) -> None:
        import weakref

        self._ref = weakref.ref(tensor)

    def expired(self) -> bool:
        """Whether the tensor is gone."""
        return self._ref() is None


class _ConvBackend(enum.IntEnum):
    """What torch carries a convolution out by."""

    CudaDepthwise2d, CudaDepthwise3d, Cudnn, CudnnTranspose, Empty, Miopen, MiopenDepthwise, MiopenTranspose, Mkldnn = range(9)
    MkldnnTranspose, MkldnnEmpty, NnpackSpatial, Overrideable, Slow2d, Slow3d, SlowDilated2d, SlowDilated3d = range(9, 17)
    SlowTranspose2d, SlowTranspose3d = 17, 18
    Winograd3x3Depthwise, Xnnpack2d, Mps, MpsTranspose = range(19, 23)


def _of_onednn(input: Tensor, weight: Tensor, stride: Sequence[int], dilation: Sequence[int], far: bool, groups: int) -> bool:
    """Whether torch gives a convolution to oneDNN: where that is quicker than its own loops, unless it is switched off."""
    if not getattr(mkldnn, "enabled") or far:  # noqa: B009  # an attribute of its class
        return False
    if input.is_mkldnn:
        return True
    return of_onednn(input, weight, stride, dilation, groups)


def _select_conv_backend(input: Tensor, weight: Tensor, bias: Tensor | None, stride: Sequence[int], padding: Sequence[int],
                         dilation: Sequence[int], transposed: bool, output_padding: Sequence[int], groups: int,
                         bias_sizes: Sequence[int] | None = None) -> _ConvBackend:
    """By what torch would carry out a convolution on a CPU that has no arithmetic of 16 bits, without NNPACK."""
    if 0 in (*input.shape[:2], *weight.shape):
        return _ConvBackend.MkldnnEmpty if input.is_mkldnn else _ConvBackend.Empty
    if _of_onednn(input, weight, stride, dilation, transposed and any([o >= s for o, s in zip(output_padding, stride)]), groups):
        return _ConvBackend.MkldnnTranspose if transposed else _ConvBackend.Mkldnn
    kind = "Transpose" if transposed else "Dilated" if any([d != 1 for d in dilation]) else ""
    return _ConvBackend[f"Slow{kind}{max(input.ndim - 2, 2)}d"]


_OF_SCHEMAS = {"_overlaps": "schema_info", "_is_alias_of": "schema_info", "_SchemaInfo": "schema_info", "_SchemaArgument": "schema_info",
               "_SchemaArgType": "schema_info", "_jit_get_schemas_for_operator": "schemas", "_jit_get_all_schemas": "schemas",
               "_get_schema": "schemas"}
"""The module of `_library` that has a name, which is imported when somebody asks."""
_OF_GRAPHS = ("Block", "Graph", "Node", "TensorType", "Use", "Value")
"""Of graphs of TorchScript's programs."""


if not TYPE_CHECKING:  # what stands here is known, and no other name
    def __getattr__(name: str) -> object:
        if name in _OF_GRAPHS:
            return getattr(importlib.import_module("torchcompat.jit._graph"), name)
        home = _OF_SCHEMAS.get(name)
        if home is None:
            raise AttributeError(f"module 'torch._C' has no attribute '{name}'")
        return getattr(importlib.import_module(f"torchcompat._library.{home}"), name)


_SETTINGS: dict[str, int] = {"profiling_executor": True, "profiling_mode": True, "num_profiled_runs": 1, "fuse_on_cpu": False,
                             "fuse_on_gpu": False, "texpr_fuser": True}
"""Of torch's compiler of TorchScript: what programs set is remembered, and told."""


def _jit_set_emit_hooks(module_hook: Fn | None, function_hook: Fn | None) -> None:
    """Who is to be told of modules and functions as soon as they are scripted or traced; None: nobody."""
    EmitHooks.module, EmitHooks.function = module_hook, function_hook


def _jit_get_emit_hooks() -> tuple[Fn | None, Fn | None]:
    """Who is told of modules, and of functions."""
    return EmitHooks.module, EmitHooks.function


def _setting(name: str, tells: bool) -> tuple[Fn, Fn]:
    """(a function that gives a setting, one that sets it, and gives what it was where it `tells`)."""
    def get() -> int:
        return _SETTINGS[name]

    def change(value: int) -> int | None:
        before, _SETTINGS[name] = _SETTINGS[name], value
        return before if tells else None

    return get, change


_, _jit_set_profiling_executor = _setting("profiling_executor", True)
_, _jit_set_profiling_mode = _setting("profiling_mode", True)
_, _jit_set_num_profiled_runs = _setting("num_profiled_runs", True)
_jit_can_fuse_on_cpu, _jit_override_can_fuse_on_cpu = _setting("fuse_on_cpu", False)
_jit_can_fuse_on_gpu, _jit_override_can_fuse_on_gpu = _setting("fuse_on_gpu", False)
_jit_texpr_fuser_enabled, _jit_set_texpr_fuser_enabled = _setting("texpr_fuser", False)
