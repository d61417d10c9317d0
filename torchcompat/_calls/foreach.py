"""`torch._foreach_*`: an operation on each tensor of a list.

`SIGNATURES` says what torch takes, in the order in which it tries them, and `ELEMENTS` which operation each tensor goes through where
that is not the one of the name. Everything else is one mechanism: lists are walked side by side, whatever is no list is the same for all
tensors, and each row is a call of the front end's function, with its gradients, dtypes and errors.

>>> import torchcompat as torch
>>> torch._foreach_add([torch.tensor([1., 2.]), torch.tensor(3.)], [10, 20])
(tensor([11., 12.]), tensor(23.))
"""

from __future__ import annotations

from collections import deque
from functools import partial
from itertools import repeat
from typing import Any, NamedTuple
from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np

from autograd_tape.annotations import Arguments, Fn, Keywords, Number
from autograd_tape.dtypes import DType
from autograd_tape.errors import type_name
from autograd_tape.functions.overloads import no_match

from .._making.conversion import checked_dtype
from .._memory.layout import memory_format
from .._tensor import Tensor, frontend as F
from .lists import Change, changed, changes_of

# -- what torch takes -------------------------------------------------------------------------------------------------------------------

_SELF = "tuple of Tensors self"
_NUMBER, _NUMBERS = f"{_SELF}, Number scalar", f"{_SELF}, tuple of Scalars scalars"
_TENSOR, _TENSORS = f"{_SELF}, Tensor other", f"{_SELF}, tuple of Tensors other"
_ALPHA = ", *, Number alpha = 1"
_ENDS = f"{_SELF}, tuple of Tensors tensors1"
_PRODUCT = f"{_SELF}, tuple of Tensors tensor1, tuple of Tensors tensor2"
_ORDER = f"{_SELF}, Number ord = 2, torch.dtype dtype = None"
_POWERS = (f"{_SELF}, Number exponent", f"{_SELF}, tuple of Scalars exponent", f"{_SELF}, tuple of Tensors exponent")

_UNARY = ("abs acos asin atan ceil cos cosh erf erfc exp expm1 floor frac lgamma log log10 log1p log2 neg reciprocal round rsqrt sigmoid "
          "sign sin sinh sqrt tan tanh trunc").split()

_IN_BOTH: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(_UNARY, (_SELF,)),
    "add": (_NUMBER, _NUMBERS, _TENSOR + _ALPHA, _TENSORS + _ALPHA),
    "sub": (_NUMBER, _NUMBERS, _TENSORS + _ALPHA),
    **dict.fromkeys(("mul", "div"), (_NUMBERS, _TENSOR, _TENSORS, _NUMBER)),
    **dict.fromkeys(("clamp_max", "clamp_min", "maximum", "minimum"), (_NUMBER, _NUMBERS, _TENSORS)),
    **dict.fromkeys(("addcdiv", "addcmul"), (f"{_PRODUCT}, tuple of Scalars scalars", f"{_PRODUCT}, Tensor scalars",
                                             f"{_PRODUCT}, Number value = 1")),
    "lerp": (f"{_ENDS}, Number weight", f"{_ENDS}, tuple of Scalars weight", f"{_ENDS}, tuple of Tensors weights"),
    "pow": _POWERS,
}

SIGNATURES: dict[str, tuple[str, ...]] = {
    **_IN_BOTH, **{f"{name}_": signatures for name, signatures in _IN_BOTH.items()},
    "pow": ("Number self, tuple of Tensors exponent", *_POWERS),
    "clone": (f"{_SELF}, *, torch.memory_format memory_format = None",),
    "copy_": (f"{_SELF}, tuple of Tensors src, bool non_blocking = False",),
    "max": (_SELF,), "mm": (f"{_SELF}, tuple of Tensors mat2",), "norm": (_ORDER,), "powsum": (_ORDER,), "zero_": (_SELF,),
}
"""The signatures of `_foreach_<name>`, as torch writes them."""

NAMES = tuple([f"_foreach_{name}" for name in SIGNATURES])


class _Param(NamedTuple):
    kind: str
    name: str
    required: bool
    default: object
    keyword_only: bool


def _params(signature: str) -> tuple[_Param, ...]:
    positional, _, named = signature.partition(", *, ")
    found = []
    for keyword_only, parts in (False, positional), (True, named):
        for part in filter(None, parts.split(", ")):
            head, _, default = part.partition(" = ")
            kind, _, name = head.rpartition(" ")
            found.append(_Param(kind, name, not default, {"False": False, "1": 1, "2": 2}.get(default), keyword_only))
    return tuple(found)


# -- arguments --------------------------------------------------------------------------------------------------------------------------

_NUMBERS_OF_PYTHON = (int, float, complex, np.number, np.bool_)
_NO = object()


def _tensor_list(value: object, at: int) -> object:
    if value.__class__ is not list and not isinstance(value, (list, tuple)):
        return _NO
    for i, x in enumerate(value):
        if not isinstance(x, Tensor):
            raise TypeError(f"expected Tensor as element {i} in argument {at}, but got {type_name(x)}")
    return value


def _number(value: object, at: int) -> object:
    if value.__class__ is float or value.__class__ is int:
        return value
    if isinstance(value, Tensor) and not value.dim() and not value.requires_grad or isinstance(value, np.generic):
        return value.item()
    return value if isinstance(value, _NUMBERS_OF_PYTHON) else _NO


def _number_list(value: object, at: int) -> object:
    if not isinstance(value, (list, tuple)) or not all([isinstance(x, _NUMBERS_OF_PYTHON) for x in value]):
        return _NO
    return [x.item() if isinstance(x, np.generic) else x for x in value]


def _instance(cls: type, value: object, at: int) -> object:
    return value if isinstance(value, cls) else _NO


def _dtype(value: object, at: int) -> object:
    return checked_dtype(value, "") if isinstance(value, DType) or value in (bool, int, float, complex) else _NO


_READ: dict[str, Callable[[Any, int], Any]] = {
    "tuple of Tensors": _tensor_list, "tuple of Scalars": _number_list, "Number": _number, "Tensor": partial(_instance, Tensor),
    "bool": partial(_instance, bool), "torch.dtype": _dtype, "torch.memory_format": partial(_instance, memory_format),
}
"""For each kind of parameter, what reads an argument at a position: what is computed with, or `_NO` where torch takes no such."""


def _kind(value: object) -> str | None:
    """The kind of parameter that `value` is for, where that is plain to see and nothing of it must be read."""
    if value.__class__ is list or value.__class__ is tuple:
        types = set(map(type, value))
        if not types:
            return None
        return "tuple of Tensors" if all([issubclass(t, Tensor) for t in types]) else "tuple of Scalars" if types <= _PLAIN else None
    return "Number" if value.__class__ in _PLAIN else None


_PLAIN = {bool, int, float, complex}


def _plain_choices(read: Sequence[tuple[_Param, ...]]) -> dict[tuple[str | None, ...], tuple[tuple[_Param, ...], list[object]]]:
    """By the kinds of positional arguments, the parameters that take them and the defaults of those that are left."""
    return {tuple([p.kind for p in params[:n]]): (params, [p.default for p in params[n:]])
            for params in read for n in range(len([p for p in params if p.required]), len([p for p in params if not p.keyword_only]) + 1)}


def _bound(name: str, params: tuple[_Param, ...], args: Arguments, kwargs: Keywords, raising: bool) -> list[object] | None:
    """The values of the parameters; None where these do not take the arguments, or, if `raising`, torch's TypeError that says why."""
    most = len([p for p in params if not p.keyword_only])
    if len(args) > most:
        if raising:
            were = "was" if len(args) == 1 else "were"
            least = len([p for p in params if p.required])
            span = f"from {least} to " * (least < most == len(params))
            raise TypeError(f"{name}() takes {span}{most} positional argument{'s' * (most != 1)} but {len(args)} {were} given")
        return None
    values, left = [], len(kwargs)
    for i, p in enumerate(params):
        if i < len(args):
            given = args[i]
        elif p.name in kwargs:
            given, left = kwargs[p.name], left - 1
        elif p.required:
            if raising:
                missing = [f'"{q.name}"' for q in params[i:] if q.required and q.name not in kwargs]
                raise TypeError(f"{name}() missing {len(missing)} required positional argument{'s' * (len(missing) == 1)}: "
                                f"{', '.join(missing)}")
            return None
        else:
            values.append(p.default)
            continue
        value = None if given is None and p.default is None and not p.required else _READ[p.kind](given, i)
        if value is _NO:
            if raising:
                place = f" (position {i + 1})" if i < len(args) else ""
                raise TypeError(f"{name}(): argument '{p.name}'{place} must be {p.kind}, not {type_name(given)}")
            return None
        values.append(value)
    if left:
        if raising:
            names = [p.name for p in params]
            for key in kwargs:
                if key not in names:
                    raise TypeError(f"{name}() got an unexpected keyword argument '{key}'")
            raise TypeError(f"{name}() got multiple values for argument '{next(k for k in kwargs if k in names[:len(args)])}'")
        return None
    return values


def _mismatch(name: str, signatures: Sequence[str], read: Sequence[tuple[_Param, ...]], args: Arguments, kwargs: Keywords) -> Exception:
    """torch's error where no signature takes the arguments: about the only one that takes as many, else about all of them."""
    n = len(args) + len(kwargs)
    fitting = [params for params in read if len([p for p in params if p.required]) <= n <= len(params)]
    if len(fitting) == 1 or len(read) == 1:
        _bound(name, (fitting or read)[0], args, kwargs, raising=True)
    shown = [*map(type_name, args), *[f"{key}={type_name(value)}" for key, value in kwargs.items()], *[""] * (not args and bool(kwargs))]
    return F.error(no_match(name, signatures, [*args, *kwargs.values()], shown))


# -- what each tensor goes through --------------------------------------------------------------------------------------------------------


def _valued(name: str) -> Fn:
    function = F.function(name)
    return lambda input, tensor1, tensor2, value: function(input, tensor1, tensor2, value=value)


def _norm(x: Tensor, ord: Number | str, dtype: DType | None) -> object:
    if isinstance(ord, (bool, complex)):
        raise RuntimeError("foreach_tensor_norm_slow expects ord to be integer or float")
    if ord == float("inf") and not x.numel():
        raise RuntimeError("_foreach_norm cannot compute the infinity norm on an empty tensor because the operation does not have an "
                           "identity")
    return F.linalg_vector_norm(x, ord, dtype=dtype)


def _powsum(x: Tensor, ord: Number | str, dtype: DType | None) -> object:
    """The sum of powers of absolute values: half precision is rounded once."""
    if isinstance(ord, complex):
        raise RuntimeError("value cannot be converted to type double without overflow")
    if not (dtype or x.dtype).is_floating_point and not (dtype or x.dtype).is_complex:
        raise NotImplementedError("\"powsum_cpu\" not implemented for 'Long'")
    size = F.abs(x) if dtype is None else F.abs(F.abs(x).to(dtype))
    wide = size.float() if size.dtype.itemsize < 4 else size
    return (F.linalg_vector_norm(wide, 0) if ord == 0 else F.sum(F.pow(wide, ord))).to(size.dtype)


def _max(x: Tensor) -> object:
    if not x.numel():
        raise RuntimeError("_foreach_max cannot compute the maximum of an empty tensor; max over zero elements is undefined.")
    return F.max(x)


ELEMENTS: dict[str, Callable[[str], Fn]] = {
    **dict.fromkeys(("addcdiv", "addcdiv_", "addcmul", "addcmul_"), _valued),
    **{f"{name}{end}": lambda name, bound=bound + end: F.function(bound)  # type: ignore[misc]  # which take numbers, too
       for name, bound in (("maximum", "clamp_min"), ("minimum", "clamp_max")) for end in ("", "_")},
    "norm": lambda name: _norm, "powsum": lambda name: _powsum, "max": lambda name: _max,
    "copy_": lambda name: Tensor.copy_, "zero_": lambda name: Tensor.zero_,
}
"""What makes the function of a row where it is not the front end's of that name."""


# -- the functions ----------------------------------------------------------------------------------------------------------------------


def _unpacked(scalars: Tensor, n: int) -> list[object]:
    """A number for each of `n` tensors."""
    if scalars.dim() != 1:
        raise RuntimeError(f"Expected packed scalar Tensor to be of dimension 1. Got {scalars.dim()} instead.")
    if not scalars.is_contiguous():
        raise RuntimeError("Expected scalars to be contiguous.")
    if len(scalars) != n:
        raise RuntimeError(f"Expected length of scalars to match input of length {n} but got {len(scalars)} instead.")
    values: list[Any] = scalars.tolist()
    return values


def _check(name: str, params: tuple[_Param, ...], values: list[Any]) -> None:
    """Raises torch's error where the lists do not go together, or hold nothing."""
    lists = [value for p, value in zip(params, values) if p.kind == "tuple of Tensors"]
    numbers = next((value for p, value in zip(params, values) if p.kind == "tuple of Scalars"), None)
    n = len(lists[0])
    if name == "mm":
        if not n:
            raise RuntimeError("_foreach_mm requires non-empty tensor lists")
        if len(lists[1]) != n:
            raise RuntimeError("_foreach_mm: self and mat2 must have the same number of tensors")
    for other in lists[1:]:
        if name == "copy_" and not (n and other):
            break
        if len(other) != n:
            raise RuntimeError(f"Tensor lists must have the same number of tensors, got {n} and {len(other)}")
    if not all(lists):
        raise RuntimeError("Tensor list must have at least one tensor.")
    if numbers is not None and len(numbers) != n:
        raise RuntimeError("Tensor list must have same number of elements as scalar list.")


def _at_once(changes: Mapping[int, Change], params: tuple[_Param, ...], values: list[Any], inplace: bool) -> Sequence[Tensor] | None:
    """What `lists.changed` makes of a call with lists and at most one number, or tensor of one, that goes with all rows."""
    lists, number = [values[0]], None
    for p, value in zip(params[1:], values[1:]):
        if p.kind == "tuple of Tensors":
            lists.append(value)
        elif p.kind == "tuple of Scalars":
            if len(value) != len(values[0]) or value.count(value[0]) != len(value) or len(set(map(type, value))) > 1:
                return None
            number = value[0]
        elif p.kind == "Tensor":
            if p.name == "scalars" or number is not None:
                return None
            number = value
        elif p.kind == "Number":
            if value.__class__ is bool or number is not None and value != 1:
                return None
            number = value if number is None else number
    change = changes.get(len(lists) - 1)
    return None if change is None else changed(change, lists, 1 if number is None else number, inplace)


_TENSOR_ALONE = {Tensor}


def _in_place(calls: Iterable[object], rows: Sequence[Tensor]) -> Sequence[Tensor]:
    """The tensors, which calls were made to change, one after the other."""
    for x in rows:
        if x._node is not None:
            F.check_random_inplace(x)  # all of them, before one is written to
    deque(calls, 0)
    return rows


def _make(name: str) -> Fn:
    """The function `_foreach_<name>`."""
    signatures, public = SIGNATURES[name], f"_foreach_{name}"
    read = tuple([_params(s) for s in signatures])
    element, inplace = ELEMENTS.get(name, F.function)(name), name.endswith("_")
    choices = _plain_choices(read)
    changes = changes_of(name.rstrip("_"))
    single = (_SELF,) == signatures
    alone = changes.get(0) if single else None

    def function(*args: Any, **kwargs: Any) -> Any:
        if single and len(args) == 1 and not kwargs and ((rows := args[0]).__class__ is list or rows.__class__ is tuple) and rows:
            if alone is not None and (done := changed(alone, args, 1, inplace)) is not None:
                return done if inplace else tuple(done)
            if {*map(type, rows)} == _TENSOR_ALONE:
                if not inplace:
                    return tuple(map(element, rows))
                return _in_place(map(element, rows), rows)
        found = None if kwargs else choices.get(tuple(map(_kind, args)))
        if found is not None:
            params, values = found[0], [*args, *found[1]]
        else:
            for params in read:
                bound = _bound(public, params, args, kwargs, False)
                if bound is not None:
                    values = bound
                    break
            else:
                raise _mismatch(public, signatures, read, args, kwargs)
        if changes and all(values[:1]) and (done := _at_once(changes, params, values, inplace)) is not None:
            return done if inplace else tuple(done)
        columns, options = [], {}
        for i, (p, value) in enumerate(zip(params, values)):
            if p.kind == "Tensor":
                if p.name == "scalars":
                    value = values[i] = _unpacked(value, len(values[0]))
                elif value.dim():
                    raise RuntimeError(f"scalar tensor expected to be 0 dim but it has {value.dim()} dimensions and {value.numel()} "
                                       "elements.")
            if p.keyword_only:
                if value is not p.default:
                    options[p.name] = value
            else:
                columns.append(value if isinstance(value, (list, tuple)) else repeat(value))
        _check(name, params, values)
        call = partial(element, **options) if options else element
        if not inplace:
            return tuple(map(call, *columns))
        return _in_place(map(call, *columns), values[0])

    function.__name__ = function.__qualname__ = public
    function.__module__ = "torchcompat"
    function.__doc__ = (f"`{name}` of each tensor of a list: {'the list' if inplace else 'a tuple of the results'}. Takes\n\n    "
                        + "\n    ".join([f"{public}({s})" for s in signatures]) + "\n\nRaises:\n    TypeError: the arguments fit none "
                        "of these.\n    RuntimeError: lists differ in length, or are empty; or what the operation raises.")
    return function


def __getattr__(name: str) -> Any:
    if name not in NAMES:
        raise AttributeError(f"module 'torch' has no attribute '{name}'")
    globals()[name] = function = _make(name.removeprefix("_foreach_"))
    return function
