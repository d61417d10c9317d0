"""torch's semantics on the tape of autograd_tape: `import torchcompat as torch`.

PYTEST_DONT_REWRITE: programs that run pytest may have imported it before, as `python -m torchcompat -m pytest` has.

>>> import torchcompat as torch
>>> x = torch.tensor([1., 2., 3.], requires_grad=True)
>>> (x ** 2).sum().backward()
>>> x.grad
tensor([2., 4., 6.])
"""

from __future__ import annotations

import math as _math
import sys as _sys
from typing import TYPE_CHECKING
from typing import Any as _Any

from autograd_tape import dtypes as _dtypes, errors as _errors, warned as _warned
from autograd_tape.tensor import above as _of_the_tape

from ._calls.above import above as _above
from ._calls.absent import AbsentModules as _AbsentModules, absent as _absent, submodules as _submodules
from ._tensor import frontend as _frontend
from .overrides import overridable as _overridable
from ._making.conversion import checked_dtype as _checked_dtype
from ._memory.layout import _mkldnn as _mkldnn
from .random import _sample_dirichlet as _sample_dirichlet, _standard_gamma as _standard_gamma
from .storage import CLASSES as _CLASSES
from .torch_version import __version__ as __version__

if TYPE_CHECKING:
    from ._ops import *
else:  # to checkers of types the stubs say all this: they are made of what stands here
    from autograd_tape.dtypes import DType as dtype
    from autograd_tape.dtypes import Device as device
    from autograd_tape.dtypes import (
        bfloat16, bits1x8, bits2x4, bits4x2, bits8, bits16, complex32, complex64, complex128, float16, float32, float64, float4_e2m1fn_x2,
        float8_e4m3fn, float8_e4m3fnuz, float8_e5m2, float8_e5m2fnuz, float8_e8m0fnu, int1, int2, int3, int4, int5, int6, int7, int8,
        int16, int32, int64, qint8, qint32, quint2x4, quint4x2, quint8, uint1, uint2, uint3, uint4, uint5, uint6, uint7, uint8, uint16,
        uint32, uint64,
    )
    from autograd_tape.dtypes import bool_ as bool
    from autograd_tape.executors import compiled_kernels, set_executor

    from ._tensor import Tensor
    from . import autograd
    from ._tensor_str import set_printoptions
    from .autograd.grad_mode import (
        enable_grad, inference_mode, is_grad_enabled, is_inference_mode_enabled, no_grad, set_grad_enabled,
    )
    from ._making.conversion import result_type
    from ._making.creation import as_tensor, asarray, from_dlpack, from_numpy, frombuffer, scalar_tensor, tensor, to_dlpack
    from ._making.mindspore import from_mindspore, set_interop_warning
    from ._memory.layout import (
        channels_last, channels_last_3d, contiguous_format, jagged, layout, memory_format, preserve_format, sparse_bsc, sparse_bsr,
        sparse_coo, sparse_csc, sparse_csr, strided,
    )
    from ._memory.size import Size
    from .random import (
        Generator, bernoulli, binomial, default_generator, get_rng_state, initial_seed, manual_seed, multinomial, normal, poisson, rand,
        rand_like, randint, randint_like, randn, randn_like, randperm, seed, set_rng_state,
    )
    from .storage import TypedStorage, UntypedStorage
    from .types import *

__torchcompat__ = True
dtype.give_to("torch")

float = float32
double, half, cfloat, cdouble, chalf, bit = float64, float16, complex64, complex128, complex32, uint1
int, long, short = int32, int64, int16
inf, nan, pi, e = _math.inf, _math.nan, _math.pi, _math.e
newaxis = None
legacy_contiguous_format = contiguous_format
has_lapack = has_spectral = True
has_mkl, has_openmp = True, False  # what torch has with it, that is: products and equations of compressed sparse matrices

globals().update({_cls.__name__: _cls for _cls in _CLASSES.values()})
Storage = TypedStorage
torch = _sys.modules[__name__]  # as torch has it, and annotations name it: `torch.torch.Tensor`
_storage_classes = {UntypedStorage, TypedStorage, *_CLASSES.values()}

_LAZY = {
    "install": "dropin",
    **dict.fromkeys(["_check", "_check_index", "_check_not_implemented", "_check_tensor_all", "_check_tensor_all_with", "_check_type",
                     "_check_value", "_check_with"], "_calls.conditions"),
    "compile": "_dynamo.eval_frame", "cond": "_higher_order_ops", "while_loop": "_higher_order_ops",
    "is_anomaly_enabled": "autograd.anomaly_mode", "is_anomaly_check_nan_enabled": "autograd.anomaly_mode",
    "save": "serialization", "load": "serialization", "autocast": "amp", "GradScaler": "amp", **dict.fromkeys(
        ["autocast_decrement_nesting", "autocast_increment_nesting", "clear_autocast_cache", "get_autocast_cpu_dtype", "get_autocast_dtype",
         "get_autocast_gpu_dtype", "get_autocast_ipu_dtype", "get_autocast_xla_dtype", "is_autocast_cache_enabled",
         "is_autocast_cpu_enabled", "is_autocast_enabled", "is_autocast_ipu_enabled", "is_autocast_xla_enabled",
         "set_autocast_cache_enabled", "set_autocast_cpu_dtype", "set_autocast_cpu_enabled", "set_autocast_dtype", "set_autocast_enabled",
         "set_autocast_gpu_dtype", "set_autocast_ipu_dtype", "set_autocast_ipu_enabled", "set_autocast_xla_dtype",
         "set_autocast_xla_enabled"], "_calls.autocast"), "vmap": "func", "ScriptMethod": "jit", "Future": "futures",
    **dict.fromkeys(["AcceleratorError", "Event", "OutOfMemoryError", "Stream", "get_device_module"], "_calls.streams"),
    **dict.fromkeys(
        ["SymBool", "SymFloat", "SymInt", "sym_constrain_range", "sym_constrain_range_for_size", "sym_float", "sym_fresh_size", "sym_int",
         "sym_ite", "sym_max", "sym_min", "sym_not", "sym_sqrt", "sym_sum", *[f"_sym_{name}" for name in (
             "sqrt", "cos", "cosh", "sin", "sinh", "tan", "tanh", "asin", "acos", "atan", "log2")]], "_calls.symbols"),
    **dict.fromkeys(["_convert_indices_from_coo_to_csr", "_convert_indices_from_csr_to_coo", "_int_mm", "_shape_as_tensor"], "_VF"),
    **dict.fromkeys(["DisableTorchFunction", "DisableTorchFunctionSubclass"], "overrides"),
    **dict.fromkeys(["DispatchKey", "DispatchKeySet"], "_calls.keys"),
    "Tag": "_library.tag", "_unique": "_VF", "_unique2": "_VF", "rrelu": "_VF", "rrelu_": "_VF",
    "embedding_renorm_": "_VF", "lobpcg": "_lobpcg", "symeig": "_calls.removed", "_compute_linear_combination": "_VF",
    **dict.fromkeys(["eig", "lstsq", "matrix_rank", "solve"], "_calls.removed"), "svd_lowrank": "_lowrank", "pca_lowrank": "_lowrank",
    "broadcast_shapes": "functional", "_assert": "functional", "unravel_index": "functional", **dict.fromkeys(
        ["use_deterministic_algorithms", "are_deterministic_algorithms_enabled", "is_deterministic_algorithms_warn_only_enabled",
         "get_deterministic_debug_mode", "set_deterministic_debug_mode"], "_calls.determinism"), **dict.fromkeys(
        ["get_float32_matmul_precision", "get_num_interop_threads", "is_warn_always_enabled", "set_default_tensor_type",
         "set_float32_matmul_precision", "set_flush_denormal", "set_num_interop_threads", "set_warn_always"],
        "_making.settings"),
    **dict.fromkeys(
        ["_nested_from_padded", "_nested_from_padded_and_nested_example", "_nested_tensor_from_mask",
         "_nested_tensor_from_mask_left_aligned", "_nested_tensor_from_tensor_list", "_nested_view_from_buffer"], "nested._methods"),
    "sparse_coo_tensor": "sparse._coo", "_validate_sparse_coo_tensor_args": "sparse._coo", "_sparse_broadcast_to": "sparse._shapes",
    "ScriptModule": "jit", "ScriptObject": "_C", "PyTorchFileReader": "_files.reader", "PyTorchFileWriter": "_files.writer",
    **dict.fromkeys(
        [f"_validate_sparse_{name}_tensor_args" for name in ("compressed", "csr", "csc", "bsr", "bsc")], "sparse._compressed"),
    **dict.fromkeys(
        ["sparse_compressed_tensor", "sparse_csr_tensor", "sparse_csc_tensor", "sparse_bsr_tensor", "sparse_bsc_tensor"],
        "sparse._compressed"), **dict.fromkeys(["dsmm", "hsmm", "hspmm", "saddmm", "smm", "sspaddmm"], "sparse._products"),
}


if not TYPE_CHECKING:  # what stands here is known, and no other name
    def __getattr__(name: str) -> _Any:
        """Operations by name, compiled at first use; submodules, imported at first use."""
        if name == "__all__":
            return _exported()
        if name.startswith("__") and name != "__config__":
            raise _absent(__name__, name)
        from importlib import import_module

        from autograd_tape.ops import ALIASES, RECORDS

        rec = RECORDS.get(ALIASES.get(name, name))
        in_place = RECORDS.get(ALIASES.get(name[:-1], name[:-1])) if rec is None and name.endswith("_") else None
        rec = in_place if in_place is not None and in_place.inplace else rec
        if rec is not None and rec.namespace == "":
            value: _Any = _frontend.function(name)
        elif name in _LAZY:
            value = getattr(import_module(f".{_LAZY[name]}", __name__), "_symeig" if name == "symeig" else name)
        elif name.startswith("_foreach_"):
            value = getattr(import_module("._calls.foreach", __name__), name)
        elif name in _submodules(__name__):
            value = import_module(f".{name}", __name__)
        else:
            raise _absent(__name__, name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    from autograd_tape.ops import ALIASES, RECORDS

    from ._calls.foreach import NAMES

    from ._status.names import recorded

    known = recorded()[""].keys()
    names = {n for n, r in RECORDS.items() if r.namespace == ""} | {a for a, n in ALIASES.items() if "." not in a and
                                                                    RECORDS[n].namespace == ""}
    in_place = {f"{n}_" for n in names if RECORDS[ALIASES.get(n, n)].inplace}
    named = names | in_place & known | set(globals()) | set(_LAZY) | set(NAMES) | (_submodules(__name__) & recorded().keys())
    # Methods alone stand among the globals, too, once somebody has asked for them.
    return sorted([n for n in named if n in known or n in recorded() or f"Tensor.{n}" not in known])


def _exported() -> list[str]:
    """What `from torch import *` brings: torch's functions, classes and constants that are here, without modules. The names are found when
    they are asked for, since operations are compiled when they are used first."""
    from ._status.names import recorded

    return sorted(recorded()[""].keys() & set(__dir__()) - _submodules(__name__))


def is_tensor(obj: _Any) -> _Any:
    """Whether `obj` is a Tensor."""
    return isinstance(obj, Tensor)


def typename(obj: _Any) -> str:
    """The name of a tensor's type ("torch.FloatTensor"), or the full name of an object's class."""
    if isinstance(obj, Tensor):
        return obj.type()
    named = obj if hasattr(obj, "__qualname__") else type(obj)
    module = getattr(named, "__module__", None) or ""
    module = "torch" + module[11:] if module.split(".")[0] == "torchcompat" else module
    return named.__qualname__ if module in ("", "builtins") else f"{module}.{named.__qualname__}"


def from_file(filename: str, shared: _Any = None, size: _Any = 0, *, dtype: dtype | None = None, **options: _Any) -> Tensor:
    """A tensor over the elements of a file, mapped: written to where `shared`."""
    dtype, requires_grad = dtype or get_default_dtype(), options.get("requires_grad", False)
    bytes_ = UntypedStorage.from_file(filename, shared or False, size * dtype.itemsize)
    return _frontend.empty(0, dtype=dtype).set_(bytes_).requires_grad_(requires_grad)


def is_storage(obj: _Any) -> _Any:
    """Whether `obj` is a storage."""
    return isinstance(obj, (UntypedStorage, TypedStorage))


def is_vulkan_available() -> object:
    """Whether Vulkan can compute: False."""
    return False


def compiled_with_cxx11_abi() -> object:
    """Whether C++ sees the names of 2011: as in all builds of torch's since 2.7."""
    return True


def _of_method(name: str) -> _Any:
    """A function that calls the method of that name."""
    method = getattr(Tensor, name)

    def function(input: Tensor, *args: _Any, **kwargs: _Any) -> _Any:
        if not isinstance(input, Tensor):
            raise TypeError(f"{name}(): argument 'input' (position 1) must be Tensor, not {_errors.type_name(input)}")
        return method(input, *args, **kwargs)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = method.__doc__
    return _overridable(function)


numel, is_inference, is_conj, is_neg = map(_of_method, ("numel", "is_inference", "is_conj", "is_neg"))
is_floating_point, is_complex = map(_of_method, ("is_floating_point", "is_complex"))
resolve_conj, resolve_neg, detach, detach_ = map(_of_method, ("resolve_conj", "resolve_neg", "detach", "detach_"))
resize_as_, resize_as_sparse_ = map(_of_method, ("resize_as_", "resize_as_sparse_"))


def zero_(input: Tensor) -> Tensor:
    """Zeros in the place of the elements."""
    if not isinstance(input, Tensor):
        raise TypeError(f"zero_(): argument 'input' (position 1) must be Tensor, not {_errors.type_name(input)}")
    return input.zero_()


is_nonzero, is_same_size, is_signed = map(_of_method, ("is_nonzero", "is_same_size", "is_signed"))
get_device, is_distributed = map(_of_method, ("get_device", "is_distributed"))
_conj, _conj_physical, _neg_view = map(_of_method, ("_conj", "_conj_physical", "_neg_view"))


def _assert_async(input: Tensor, assert_msg: str | None = None) -> None:
    """Raises where the only element is zero.

    Raises:
        RuntimeError: it is, or there are several.
    """
    if not input.is_nonzero():
        raise RuntimeError(assert_msg or "Expected Tensor with single nonzero value, but got zero")


def _debug_has_internal_overlap(self: Tensor) -> _Any:
    """1 where several elements are one place, 0 where none are, 2 where it is too hard to say."""
    from autograd_tape.views import is_dense, is_single

    data = self._data
    return 0 if is_dense(data.shape, data.strides, data.itemsize) else 2 if is_single(data) else 1


def get_default_dtype() -> dtype:
    """The dtype of Python floats."""
    return _dtypes.default_dtype()


def set_default_dtype(d: dtype) -> None:
    """Changes the dtype of Python floats."""
    if not isinstance(d, dtype):
        raise TypeError("invalid dtype object: only floating-point types are supported as the default type")
    if not d.is_floating_point:
        raise TypeError("only floating-point types are supported as the default type")
    _dtypes.set_default_dtype(d)


def promote_types(type1: dtype, type2: dtype) -> dtype:
    """The dtype that both convert to."""
    return _dtypes.promote(_checked_dtype(type1, "promote_types"), _checked_dtype(type2, "promote_types"))


def can_cast(from_: dtype, to: dtype) -> _Any:
    """Whether a conversion stays within the category or goes up."""
    return _dtypes.can_cast(_checked_dtype(from_, "can_cast"), _checked_dtype(to, "can_cast"))


def set_num_threads(n: _Any) -> None:
    """How many threads big operations use, those of NumPy's BLAS among them."""
    from autograd_tape.executors.kernels import blas, sharing

    if not isinstance(n, _sys.modules["builtins"].int):
        raise RuntimeError(f"set_num_threads expects an int, but got {_errors.type_name(n)}")
    if n < 1:
        raise RuntimeError("set_num_threads expects a positive integer")
    sharing.set_num_threads(n)
    blas.set_num_threads(n)


def get_num_threads() -> _Any:
    """How many threads big operations use."""
    from autograd_tape.executors.kernels import sharing

    return sharing.get_num_threads()


def set_default_device(device: _Any) -> None:
    """Where factories make tensors."""
    _frontend.default_device = None if device is None else _dtypes.Device(device)


_devices_before: list[_Any] = []


def _enter_device(self: device) -> device:
    """`with torch.device(...):` makes tensors there."""
    _devices_before.append(_frontend.default_device)
    _frontend.default_device = self
    return self


def _exit_device(self: device, *exc: object) -> None:
    _frontend.default_device = _devices_before.pop()


device.__enter__, device.__exit__ = _enter_device, _exit_device  # type: ignore[attr-defined]  # the tape's devices know no defaults


def get_default_device() -> device:
    """Where factories make tensors."""
    return _frontend.default_device or device("cpu")


_above.later("autograd.hooks", "register_tensor_hook", "register_post_accumulate_hook", "retain_grad", "keep_grad")
_above.later("func", "jvp", "vjp", "vmap")
_above.later("func._forward", "restore_tangents")
_above.later("func._whole", "made_like")
_above.later("_files.rebuild", "rebuilder")
_above.later("jit._serialization", "load_program")
_of_the_tape.sparse_rows = lambda *args: _above.sparse_methods().sparse_rows(*args)
_of_the_tape.sparse_elements = lambda *args: _above.sparse_methods().sparse_elements(*args)
_above.later("sparse", "sparse_methods")
_above.later("nested", "nested_methods")
_above.later("_calls.aten", "operator")
_above.later("_dynamo.eval_frame", "compile")
_above.later("_library.schema", "parse_schema")
_above.later("_calls.overridable", "overridable_functions", "ignored_functions", "testing_overrides", "nowrap_functions", "methods",
             "name_of")
_above.later("_library.schemas", "of_overload", "has_overload", "overloads_of", "fit_schema")
_above.later("utils._python_dispatch", "look_for_dispatch", "make_wrapper_subclass", "of_wrapper", "without_dispatch")

from ._making import legacy as _legacy
from ._memory.bits import RESOLVE as _RESOLVE
from .overrides import FUNCTIONS as _FUNCTIONS

_FUNCTIONS.frontend = _RESOLVE.frontend = _frontend
_warned.roots.append(__file__[:-len("__init__.py")])
_warned.silence(__name__ + ".")
if _AbsentModules not in _sys.meta_path:
    _sys.meta_path.append(_AbsentModules)
