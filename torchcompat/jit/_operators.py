"""What programs of TorchScript call: operations by ATen's names and with ATen's arguments, and those on numbers, strings and containers.

Dtypes, layouts and memory formats are numbers there. An operation whose arguments hold no tensor is Python's own of that name, where
`PLAIN` has it; else ATen's, as `torch.ops.aten` has it, and as `ADAPTED` has it where the arguments that a file writes are others.
"""

from __future__ import annotations

import functools
import inspect
import math
import operator
from collections.abc import Callable

from typing import Any

from autograd_tape import warned
from autograd_tape.annotations import Arguments, DeviceLike, Fn, Keywords
from autograd_tape.dtypes import DType
from autograd_tape.ops import ALIASES, RECORDS

import torchcompat as torch
import torchcompat.nn.functional as F

from .._calls import aten
from ._state import Error

DTYPES = ("uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64", "complex32", "complex64", "complex128", "bool",
          "qint8", "quint8", "qint32", "bfloat16", "quint4x2", "quint2x4", "bits1x8", "bits2x4", "bits4x2", "bits8", "bits16",
          "float8_e5m2",
          "float8_e4m3fn", "float8_e5m2fnuz", "float8_e4m3fnuz", "uint16", "uint32", "uint64")
"""Dtypes by their numbers."""
LAYOUTS = ("strided", "sparse_coo", "sparse_csr", "_mkldnn", "sparse_csc", "sparse_bsr", "sparse_bsc")
MEMORY_FORMATS = ("contiguous_format", "preserve_format", "channels_last", "channels_last_3d")
REDUCTIONS = ("none", "mean", "sum")
TYPES: Keywords = {"int": int, "float": float, "bool": bool, "str": str, "Tensor": torch.Tensor, "NoneType": type(None), "list": list,
                         "tuple": tuple, "dict": dict, "complex": complex, "number": (int, float, complex), "Device": torch.device,
                         "torch.Tensor": torch.Tensor, "torch.device": torch.device, "Any": object}
"""Types by the names that programs have for them."""
Items = type(dict[str, object]().items())


def number_of(value: object) -> int:
    """The number of a dtype, layout or memory format. LookupError: it is none."""
    for kind, names in ((DType, DTYPES), (torch.layout, LAYOUTS), (torch.memory_format, MEMORY_FORMATS)):
        if isinstance(value, kind):
            return names.index(str(value).removeprefix("torch."))
    raise LookupError(value)


def dtype_of(value: object) -> Any:
    """The dtype of a number; everything else stays."""
    if type(value) is not int:
        return value
    if not 0 <= value < len(DTYPES):
        raise RuntimeError(f"unsupported scalarType: {value}")
    return DType.by_name[DTYPES[value]]


def _enumerated(names: tuple[str, ...]) -> Callable[[Any], Any]:
    def named(value: object) -> Any:
        if type(value) is not int:
            return value
        if not 0 <= value < len(names):
            raise RuntimeError(f"unsupported enumerator: {value}")
        return getattr(torch, names[value])

    return named


_CONVERTED = {"dtype": dtype_of, "layout": _enumerated(LAYOUTS), "memory_format": _enumerated(MEMORY_FORMATS),
              "reduction": lambda value: REDUCTIONS[value] if type(value) is int and 0 <= value < 3 else value}
_LEFT_OUT = ("pin_memory", "layout", "names", "generator", "cudnn_enabled", "cudnn_enable", "path", "device", "memory_format", "dtype")
"""Options that a file writes where they say nothing, and a function may not have."""


def type_name(value: object) -> str:
    """What messages call the type of a value."""
    if isinstance(value, torch.nn.Module):
        return type(value).__name__
    return next((name for name, kind in TYPES.items() if value is not None and isinstance(value, kind)), "NoneType")


def text(value: object) -> str:
    """`str(value)` in a program: a dtype is a number there."""
    return str(number_of(value)) if isinstance(value, (DType, torch.layout, torch.memory_format)) else str(value)


# -- numbers, strings, containers -------------------------------------------------------------------------------------------------------


def _format(pattern: str, *values: object) -> str:
    """`"{} {}".format(...)`: braces are empty, and nothing is looked up in the values."""
    first, *rest = pattern.split("{}")
    if len(rest) > len(values):
        raise RuntimeError("Too few arguments for format string: " + pattern)
    return first + "".join([text(value) + part for value, part in zip(values, rest)])


def _sliced(value: Any, *args: Any) -> Any:
    """`torch.slice` of a tensor along a dimension, or of a list or string."""
    if isinstance(value, torch.Tensor):
        dim, start, end, step = args + (0, None, None, 1)[len(args):]
        return torch.ops.aten.slice(value, dim, start, end, step)
    return value[slice(*args)]


def _truncated(value: Any) -> int:
    return int(value)


def _pop(holder: Any, *args: Any) -> Any:
    if not holder:
        raise IndexError("pop from empty list")
    return holder.pop(*args)


def _get(holder: dict[Any, Any], key: object, default: object = None) -> Any:
    return holder.get(key, default)


def _raised(message: object, kind: str | None = None) -> None:
    name = (kind or "").rpartition(".")[2]
    raise Error(f"{name}: {message}" if name else str(message))


def _unwrapped(value: object) -> Any:
    if value is None:
        raise RuntimeError("Unwrapping null optional")
    return value


def _floored(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda value: value if isinstance(value, int) else function(value)


PLAIN: dict[str, Fn] = {
    "add": lambda x, y, alpha=1: x + y if alpha == 1 else x + alpha * y, "sub": lambda x, y, alpha=1: x - y * alpha, "mul": operator.mul,
    "div": operator.truediv, "floordiv": operator.floordiv, "remainder": operator.mod, "pow": operator.pow, "neg": operator.neg,
    "add_": operator.iadd, "mul_": operator.imul, "eq": operator.eq, "ne": operator.ne, "lt": operator.lt, "le": operator.le,
    "gt": operator.gt, "ge": operator.ge, "abs": abs, "__and__": operator.and_, "__or__": operator.or_, "__xor__": operator.xor,
    "__lshift__": operator.lshift, "__rshift__": operator.rshift, "bitwise_not": operator.invert, "round": round,
    "floor": _floored(math.floor), "ceil": _floored(math.ceil), "trunc": math.trunc, "modf": math.modf, "divmod": divmod, "gcd": math.gcd,
    **{name: getattr(math, name) for name in (
        "sqrt exp log log2 log10 log1p expm1 sin cos tan asin acos atan atan2 sinh cosh tanh asinh acosh atanh fabs fmod isnan isinf "
        "isfinite "
        "degrees radians erf erfc gamma lgamma copysign factorial").split()},
    "mathremainder": math.remainder, "__not__": operator.not_, "__is__": operator.is_, "__isnot__": operator.is_not,
    "__contains__": operator.contains, "len": len, "append": list.append, "extend": list.extend, "insert": list.insert, "pop": _pop,
    "clear": lambda x: x.clear(), "reverse": list.reverse, "remove": list.remove, "index": lambda x, y: x.index(y),
    "count": lambda x, y, *rest: x.count(y, *rest), "sort": lambda x, reverse=False: x.sort(reverse=reverse),
    "sorted": lambda x, *rest: sorted(x), "copy": lambda x: x.copy(), "list": list, "dict": dict, "keys": lambda x: list(x.keys()),
    "values": lambda x: list(x.values()), "items": lambda x: list(x.items()), "get": _get, "update": dict.update,
    "setdefault": dict.setdefault, "popitem": dict.popitem, "Delete": operator.delitem, "_set_item": operator.setitem,
    "slice": _sliced, "format": _format, "percentFormat": lambda pattern, *values: pattern % values,
    "str": text, "ord": ord, "chr": chr, "hex": hex, "oct": oct, "bin": bin, "hash": hash, "Bool": bool, "Int": _truncated, "Float": float,
    "device": lambda *args: torch.device(*args), "is_scripting": lambda: True, "is_grad_enabled": torch.is_grad_enabled,
    "warn": lambda message, stacklevel=2: warned.warn(str(message)), "wait": lambda future: future.wait(),
    **{name: getattr(str, name) for name in (
        "capitalize center endswith expandtabs find isalnum isalpha isdecimal isdigit isidentifier islower isnumeric isprintable isspace "
        "istitle isupper join ljust lower lstrip partition replace rfind rindex rjust rpartition rsplit rstrip split splitlines startswith "
        "strip swapcase title upper zfill").split()},
}
"""Operations on values that are no tensors. Where tensors are among the arguments, ATen's of the name is taken, if there is one."""


def _range(*args: Any) -> range:
    return range(*[int(a) for a in args])


BUILTINS: dict[str, Fn] = {
    "len": len, "range": _range, "int": int, "float": float, "bool": bool, "str": text, "list": list, "tuple": tuple, "dict": dict,
    "print": print, "min": lambda *args: _extreme(min, args), "max": lambda *args: _extreme(max, args), "abs": abs, "round": round,
    "sum": sum, "any": any, "all": all, "sorted": sorted, "reversed": lambda x: list(reversed(x)), "enumerate": lambda x, start=0: list(
        enumerate(x, start)), "zip": lambda *args: list(zip(*args)), "divmod": divmod, "pow": pow, "ord": ord, "chr": chr, "hex": hex,
    "oct": oct, "bin": bin, "hash": hash, "complex": complex, "wait": lambda future: future.wait()}
"""What programs call by a name alone."""


def _extreme(function: Fn, args: Arguments) -> Any:
    return function(*args)


def _field(name: str) -> Callable[[Any], Any]:
    return lambda value: getattr(value, name)


PRIM: dict[str, Fn] = {
    "RaiseException": _raised, "min": BUILTINS["min"], "max": BUILTINS["max"], "abs": abs, "unchecked_unwrap_optional": _unwrapped,
    "NumToTensor": lambda value: value, "tolist": lambda value, *rest: value.tolist(), "rangelist": lambda n: list(range(n)),
    "shape": lambda value: list(value.shape), "unchecked_cast": lambda value: value, "is_none": lambda value: value is None,
    "TupleIndex": operator.getitem, "type": lambda device: device.type, "index": lambda device: device.index,
    **{name: _field(name) for name in ("device", "dtype", "grad", "data", "requires_grad", "layout", "is_cuda", "is_sparse", "is_meta",
                                       "is_leaf", "itemsize", "nbytes", "is_quantized", "is_mkldnn")}}
"""What programs call as `ops.prim.name`."""


# -- operations of ATen -----------------------------------------------------------------------------------------------------------------


def _to(value: Any, *args: Any, **kwargs: Any) -> Any:
    """`torch.to(x, 6, False, False)`, `torch.to(x, device, dtype, ...)`, `torch.to(x, other)`."""
    args = (*[dtype_of(a) for a in args[:2]], *args[2:]) if args and type(args[0]) is not bool else args
    kwargs = {name: _CONVERTED.get(name, lambda x: x)(v) for name, v in kwargs.items() if v is not None}
    while args and args[-1] is None:
        args = args[:-1]
    if len(args) == 5:
        kwargs["memory_format"] = _CONVERTED["memory_format"](args[4])
        args = args[:4]
    elif len(args) == 4 and type(args[3]) is int:
        kwargs["memory_format"] = _CONVERTED["memory_format"](args[3])
        args = args[:3]
    if args and args[0] is None:
        kwargs |= {name: v for name, v in zip(("device", "dtype", "non_blocking", "copy"), args) if v is not None}
        args = ()
    return value.to(*args, **kwargs)


def _index(value: Any, indices: Any) -> Any:
    return value.index(indices) if isinstance(value, (list, str)) else torch.ops.aten.index(value, indices)


def _index_put(value: Any, indices: Any, values: Any, accumulate: bool = False, inplace: bool = True) -> Any:
    """`x[indices] = values` where an index may be None."""
    key = tuple([slice(None) if i is None else i for i in indices])
    target = value if inplace else value.clone()
    target[key] = target[key] + values if accumulate else values
    return target


def _padded(mode: str) -> Fn:
    return lambda value, padding: F.pad(value, padding, mode=mode)


def _spread(function: Fn) -> Fn:
    return lambda tensors, **kwargs: function(*tensors, **kwargs) if isinstance(tensors, (list, tuple)) else function(tensors, **kwargs)


def _variadic(function: Fn | None) -> bool:
    """Whether a function takes any number of arguments."""
    return function is not None and any([p.kind is p.VAR_POSITIONAL for p in inspect.signature(function).parameters.values()])


def takes_tensors(name: str, at: int = 0) -> bool:
    """Whether the operation of a name takes a list of tensors as its parameter number `at`."""
    rec = RECORDS.get(ALIASES.get(name, name))
    return rec is not None and len(rec.params) > at and rec.params[at].type == "Tensor[]"


def _size(value: Any, *args: Any) -> Any:
    return value.size(*args) if args else list(value.shape)


def _made(data: object, dtype: object = None, device: DeviceLike | None = None, requires_grad: bool = False) -> Any:
    return torch.tensor(data, dtype=dtype_of(dtype), device=device, requires_grad=requires_grad)


def _conv(input: Any, weight: Any, bias: Any, stride: Any, padding: Any, dilation: Any, transposed: bool, output_padding: Any, groups: int,
          *rest: bool) -> Any:
    n = weight.dim() - 2
    if transposed:
        return getattr(F, f"conv_transpose{n}d")(input, weight, bias, stride, padding, output_padding, groups, dilation)
    return getattr(F, f"conv{n}d")(input, weight, bias, stride, padding, dilation, groups)


def _loss(name: str, *parameters: str) -> Fn:
    """A loss of `nn.functional` with ATen's parameters, whose reduction is a number."""
    function = getattr(F, name)

    def loss(*args: object, **kwargs: object) -> Any:
        given = dict(zip(("input", "target", *parameters), args)) | kwargs
        given["input"] = given.pop("self", given.get("input"))
        given["reduction"] = _CONVERTED["reduction"](given.get("reduction", 1))
        return function(**given)

    return loss


def _elu(input: Any, alpha: float = 1.0, scale: float = 1.0, input_scale: float = 1.0) -> Any:
    return F.elu(input * input_scale if input_scale != 1 else input, alpha) * scale


ADAPTED: dict[str, Fn] = {
    "to": _to, "slice": _sliced, "size": _size, "index": _index, "index_put_": _index_put,
    "index_put": functools.partial(_index_put, inplace=False), "tensor": _made, "as_tensor": _made, "_convolution": _conv,
    "numpy_T": _field("T"), "mT": _field("mT"), "mH": _field("mH"), "matrix_H": _field("H"), "len": len, "Bool": bool, "Int": _truncated,
    "Float": float, "dim": lambda value: value.dim(), "device": _field("device"), "copy_": torch.Tensor.copy_, "log_sigmoid": F.logsigmoid,
    "floordiv": torch.floor_divide, "einsum": lambda equation, tensors, path=None: torch.einsum(equation, *tensors), "elu": _elu,
    "__is__": operator.is_, "__isnot__": operator.is_not, "__not__": operator.not_, "append": list.append, "insert": list.insert,
    "extend": list.extend, "_set_item": operator.setitem, "format": _format, "str": text, "get": _get, "setdefault": dict.setdefault,
    "__contains__": operator.contains, "items": PLAIN["items"], "keys": PLAIN["keys"], "list": list, "pop": _pop,
    "wait": PLAIN["wait"], "ScalarImplicit": lambda value: value.item(), "IntImplicit": _truncated, "FloatImplicit": float,
    "upsample_nearest2d": lambda input, size=None, scales=None, *rest: F.interpolate(input, size, scales if size is None else None),
    **{f"reflection_pad{n}d": _padded("reflect") for n in (1, 2, 3)}, **{f"replication_pad{n}d": _padded("replicate") for n in (1, 2, 3)},
    **{name: _spread(getattr(torch, name)) for name in RECORDS if takes_tensors(name) and _variadic(getattr(torch, name, None))},
    "cross_entropy_loss": _loss("cross_entropy", "weight", "reduction", "ignore_index", "label_smoothing"),
    **{name: _loss("nll_loss", "weight", "reduction", "ignore_index") for name in ("nll_loss", "nll_loss_nd", "nll_loss2d")},
    "mse_loss": _loss("mse_loss", "reduction"), "l1_loss": _loss("l1_loss", "reduction"), "kl_div": _loss("kl_div", "reduction"),
    "smooth_l1_loss": _loss("smooth_l1_loss", "reduction", "beta"), "huber_loss": _loss("huber_loss", "reduction", "delta"),
    "soft_margin_loss": _loss("soft_margin_loss", "reduction"),
    "hinge_embedding_loss": _loss("hinge_embedding_loss", "margin", "reduction"),
    "binary_cross_entropy": _loss("binary_cross_entropy", "weight", "reduction"),
    "binary_cross_entropy_with_logits": _loss("binary_cross_entropy_with_logits", "weight", "pos_weight", "reduction"),
}
"""Operations that files write with arguments other than those of `torch.ops.aten` here."""
_SPACES = ("linalg_", "special_", "fft_")
FOREIGN = frozenset(
    "softsign tanhshrink softmin gaussian_nll_loss triplet_margin_with_distance_loss multilabel_soft_margin_loss local_response_norm fold "
    "lp_pool1d lp_pool2d lp_pool3d max_unpool1d max_unpool2d max_unpool3d interpolate upsample upsample_nearest upsample_bilinear "
    "grid_sample affine_grid embedding_bag normalize unfold fractional_max_pool2d fractional_max_pool3d gumbel_softmax pairwise_distance "
    "adaptive_max_pool1d adaptive_max_pool2d adaptive_max_pool3d _canonical_mask _none_or_dtype "
    "multi_head_attention_forward scaled_mm".split())
"""Functions of `nn.functional` that ATen has not, or only with other arguments: files have them as `ops.torchcompat`."""
WITHOUT_RECORD = frozenset((
    "__and__ __iand__ __ilshift__ __ior__ __irshift__ __ixor__ __lshift__ __or__ __rshift__ __xor__ __getitem__ _assert_async _conj "
    "_neg_view _nnz _indices _values bernoulli bernoulli_ binomial can_cast cauchy_ chalf coalesce cpu cuda dense_dim detach_ dim "
    "element_size exponential_ geometric_ get_device indices is_coalesced is_complex is_conj is_contiguous is_floating_point "
    "is_grad_enabled is_inference is_neg is_nonzero is_same_size is_signed item log_normal_ manual_seed multinomial normal normal_ numel "
    "pin_memory poisson promote_types rand rand_like randint randint_like randn randn_like random_ randperm requires_grad_ resize_ "
    "resize_as_ resolve_conj resolve_neg result_type scalar_tensor size sparse_dim storage_offset stride to_dense to_sparse type_as "
    "uniform_ values double float half bfloat16 int long short char byte bool new_tensor tolist multi_head_attention_forward").split())
"""Operations of ATen, and methods of tensors, that have no record."""


@functools.cache
def found(name: str) -> Fn:
    """What `torch.name(...)` calls.

    Raises:
        RuntimeError (when called): there is no such operation.
    """
    plain, carried, rec = PLAIN.get(name), ADAPTED.get(name) or _of_aten(name), RECORDS.get(ALIASES.get(name, name))
    listed = rec is not None and rec.returns_list  # torchcompat returns these as tuples

    def call(*args: object, **kwargs: object) -> Any:
        if plain is not None and not any([_holds_tensor(a) for a in args]):
            return plain(*args, **kwargs)
        if carried is None:
            raise RuntimeError(f"Unknown builtin op: aten::{name}")
        result = carried(*args, **kwargs)
        return list(result) if listed and type(result) is tuple else result

    return call


def _holds_tensor(value: object) -> bool:
    return isinstance(value, torch.Tensor)


def _public(name: str) -> Fn | None:
    """The operation of a name: of a record, or one of `WITHOUT_RECORD`. Files are hostile: nothing else of this package can be named."""
    base = name[:-1] if name.endswith("_") and not name.endswith("__") else name
    own = aten.FUNCTIONS.get(name)
    if own is not None:
        return own
    if any([ALIASES.get(n, n) in RECORDS for n in (name, base)]) or name in WITHOUT_RECORD:
        function = getattr(torch, name, None) or aten.function(name) or getattr(F, name, None)
        if function is None and base != name and hasattr(F, base):
            function = functools.partial(getattr(F, base), inplace=True)
        return function if callable(function) else None
    for space in _SPACES:
        if name.startswith(space) and name.removeprefix(space) in getattr(torch, space[:-1]).__all__:
            return getattr(getattr(torch, space[:-1]), name.removeprefix(space))
    return None


def _of_aten(name: str) -> Fn | None:
    """ATen's operation of a name, its enumerations as numbers."""
    function = _public(name)
    if not callable(function):
        return None
    try:
        parameters = inspect.signature(function).parameters
    except (TypeError, ValueError):
        return function
    order = [p.name for p in parameters.values() if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    every = any([p.kind is p.VAR_KEYWORD for p in parameters.values()])

    def carried(*args: object, **kwargs: object) -> Any:
        if "self" in kwargs and "self" not in parameters:
            args = (kwargs.pop("self"), *args)
        args = tuple([_CONVERTED[n](a) if n in _CONVERTED else a for n, a in zip(order, args)]) + args[len(order):]
        kwargs = {n: _CONVERTED[n](v) if n in _CONVERTED and (n != "reduction" or name not in aten.FUNCTIONS) else v
                  for n, v in kwargs.items()}
        if not every or any([kwargs.get(n, 0) is None for n in _LEFT_OUT]):
            kwargs = {n: v for n, v in kwargs.items() if n not in _LEFT_OUT or v is not None and n in parameters or v is not None and every}
        return function(*args, **kwargs)

    return carried


@functools.cache
def spread_method(name: str) -> Fn | None:
    """The method of tensors of this name, where it takes sizes one by one: `x.view(2, -1)`. None where there is none, or it does not."""
    method = None if _public(name) is None or name in ADAPTED else getattr(torch.Tensor, name, None)
    return method if _variadic(method) else None


def of_namespace(name: str, inner: str) -> Fn:
    """What `ops.name.inner(...)` calls: of programs' own operations, which must be registered when it is called."""
    if name == "prim":
        if inner not in PRIM:
            raise RuntimeError(f"Unknown builtin op: prim::{inner}")
        return PRIM[inner]
    if name == "aten":
        return found(inner)

    def call(*args: object, **kwargs: object) -> Any:
        if name == "torchcompat" and (inner in FOREIGN or inner in RECORDS):
            return getattr(F, inner)(*args, **kwargs)
        try:
            packet = getattr(getattr(torch.ops, name), inner)
        except AttributeError:
            raise RuntimeError(f"Unknown builtin op: {name}::{inner}.\nCould not find any similar ops to {name}::{inner}. This op may "
                               f"not exist "
                               "or may not be currently supported in TorchScript.") from None
        return packet(*args, **kwargs)

    return call
