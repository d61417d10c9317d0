"""NumPy's functions on tensors: `__array_ufunc__`, `__array_function__`, and the attributes of arrays that tensors share."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import reduce as fold
from typing import TYPE_CHECKING, Any

import numpy as np

from ..annotations import Arguments, Fn, Keywords, Values
from ..dtypes import CPU_KINDS
from ..errors import UnsupportedDTypeError
from ..frontend import F
from ..functions.words import WORDS
from ..modes import no_grad
from ..ops import RECORDS
from ..tensor import TensorRef, as_dtype
from ._tables import FUNCTIONS, SPECIAL, UFUNCS, VALUES, cast, find, give, holds_tensors, refuse, tensor

if TYPE_CHECKING:
    from ..dtypes import DType

_FLOATS = frozenset([CPU_KINDS[np.dtype("f4")], CPU_KINDS[np.dtype("f8")]])
_QUICK: dict[Any, Fn | None] = {}
"""The record's function for each ufunc that has been called, where floating-point tensors of one kind go to it as they are."""
_WITH_NUMBERS: dict[Any, Fn] = {}
"""The same where one operand is a Python number."""


def array_ufunc(self: TensorRef, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
    """A ufunc with a tensor among its operands, carried out by the record that it is the kernel of.

    Dtypes are NumPy's: operands are converted to what the ufunc promotes them to, Python numbers being weak. `out=` may be a tensor, or an
    array where no gradient is lost; `dtype=` and `where=` hold as in NumPy. Of the methods there are `reduce`, `accumulate` and `outer`.

    Raises:
        TypeError: there is no record for the ufunc, or for this method or argument of it.
    """
    if not kwargs and method == "__call__":
        quick = _QUICK.get(ufunc)
        if quick is not None and self._k in _FLOATS:
            if len(inputs) == 1:
                return quick(self)
            a, b = inputs
            if a.__class__ is b.__class__:
                if a._k is b._k:
                    return quick(a, b)
            elif a.__class__ is float or b.__class__ is float:
                return _WITH_NUMBERS[ufunc](a, b)
    for x in (*inputs, *(kwargs.get("out") or ())):
        other = getattr(type(x), "__array_ufunc__", None)
        if other is not None and other is not array_ufunc and other is not np.ndarray.__array_ufunc__:
            return NotImplemented
    if method == "__call__":
        if ufunc in FUNCTIONS:  # of vectors and matrices, with the dimensions that they lie along
            return FUNCTIONS[ufunc](*inputs, **kwargs)
        return _call(ufunc, inputs, **kwargs)
    if method == "outer":
        return _outer(ufunc, *inputs, **kwargs)
    if method in ("reduce", "accumulate"):
        theirs = find(_METHODS.get((ufunc, method), ""))
        if theirs is None:
            raise refuse(f"numpy.{ufunc.__name__}.{method}")
        return FUNCTIONS[theirs](*inputs, **{"axis": 0, **kwargs})
    raise refuse(f"numpy.{ufunc.__name__}.{method}")


_METHODS = {(np.add, "reduce"): "sum", (np.multiply, "reduce"): "prod", (np.maximum, "reduce"): "amax", (np.minimum, "reduce"): "amin",
            (np.logical_and, "reduce"): "all", (np.logical_or, "reduce"): "any", (np.add, "accumulate"): "cumsum",
            (np.multiply, "accumulate"): "cumprod"}


def _meaning(ufunc: np.ufunc) -> Any:
    """The record of a ufunc, or what it is made of; TypeError where there is none."""
    found = UFUNCS.get(ufunc)
    if found is None:
        special = sys.modules.get("scipy.special")
        if special is not None and getattr(special, ufunc.__name__, None) is ufunc:
            if ufunc.__name__ in SPECIAL:
                return SPECIAL[ufunc.__name__]
            raise refuse(f"scipy.special.{ufunc.__name__}")
        raise refuse(f"numpy.{ufunc.__name__}" if getattr(np, ufunc.__name__, None) is ufunc else ufunc.__name__)
    return found


_LOOPS: dict[object, tuple[np.dtype, ...]] = {}


def loop_of(ufunc: np.ufunc, operands: tuple[Values, ...], dtype: str | None = None) -> tuple[np.dtype, ...]:
    """The dtypes of the operands and results that NumPy would compute a ufunc in."""
    kinds = tuple([x._k.np if isinstance(x, TensorRef) else type(x) if type(x) in (int, float, complex) else np.asarray(x).dtype
                   for x in operands])
    found = _LOOPS.get((ufunc, kinds, dtype))
    if found is None:
        given = (*kinds, *[None] * ufunc.nout)
        signature = None if dtype is None else (*[None] * ufunc.nin, *[np.dtype(dtype)] * ufunc.nout)
        more = {} if signature is None else {"signature": signature}
        found = _LOOPS[ufunc, kinds, dtype] = ufunc.resolve_dtypes(  # type: ignore[attr-defined]  # NumPy's stubs lack it
            given, casting="same_kind", **more)
    return found


def _call(ufunc: np.ufunc, inputs: tuple[Values | list[TensorRef], ...], *, out: Any = None, where: bool = True, dtype: str | None = None,
          casting: str = "same_kind", order: str = "K", subok: bool = True) -> Any:
    meaning = _meaning(ufunc)
    if casting != "same_kind" or order != "K":
        raise TypeError(f"numpy.{ufunc.__name__}: casting= and order= are not supported on tensors; convert the operands before")
    operands = tuple([tensor(x) if isinstance(x, (list, tuple)) else x for x in inputs])
    loop = loop_of(ufunc, operands, dtype)
    types = ["Tensor"] * ufunc.nin
    if isinstance(meaning, str):
        function = F.function(meaning)
        types = [p.type for p in RECORDS[meaning].params]
        if not out and ufunc.nout == 1 and _QUICK.get(ufunc) is None and loop == (loop[-1],) * len(loop):
            _QUICK[ufunc] = function
            _WITH_NUMBERS[ufunc] = function if all([t == "Operand" for t in types[:ufunc.nin]]) else _all_tensors(function)
    else:
        function = meaning
    try:
        result = function(*[_operand(x, d, t) for x, d, t in zip(operands, loop, types)])
    except UnsupportedDTypeError:
        if loop[0].kind != "b":
            raise
        result = function(*[_operand(x, np.dtype(np.uint8), t) for x, t in zip(operands, types)])  # truths as 0 and 1
    if where is not True:
        result = _where(ufunc, result, where, out)
    if ufunc.nout > 1:
        return give(tuple(result), out)
    return give(cast(result, loop[-1]) if result._k.np != loop[-1] else result, out)


def _all_tensors(function: Fn) -> Fn:
    """A function of tensors that is also given numbers."""
    def call(*operands: object) -> object:
        k = next(x._k for x in operands if isinstance(x, TensorRef))
        return function(*[TensorRef.of(np.asarray(x, k.np)) if x.__class__ is float else x for x in operands])

    return call


def _operand(x: Any, dtype: np.dtype, wanted: str) -> Any:
    """An operand in the dtype of the loop; numbers stay numbers where the record takes them, and the dtype is that of the others."""
    if isinstance(x, TensorRef):
        return x if x._k.np == dtype else cast(x, dtype)
    if type(x) in (int, float) and wanted == "Operand" and dtype.kind == "f":
        return float(x)
    if type(x) is int and wanted == "Operand" and dtype.kind in "iu":
        return x
    return TensorRef.of(np.asarray(x, dtype))


def _where(ufunc: np.ufunc, result: TensorRef, where: Any, out: Sequence[TensorRef]) -> TensorRef:
    """The result where a mask holds, and what is in `out` elsewhere."""
    target = out[0] if out else None
    if target is None or ufunc.nout > 1:
        raise TypeError(f"numpy.{ufunc.__name__}: where= without out= leaves elements without a value, which have no gradient; use "
                        "numpy.where(mask, result, other)")
    return F.where(cast(tensor(where), bool), result, cast(tensor(target), result._k.np))


def _outer(ufunc: np.ufunc, a: TensorRef, b: TensorRef, **kwargs: Any) -> TensorRef:
    if ufunc.nin != 2:
        raise ValueError(f"outer product only supported for binary functions, and {ufunc.__name__} takes {ufunc.nin}")
    a, b = tensor(a), tensor(b)
    return _call(ufunc, (F.reshape(a, (*a.shape, *[1] * b.ndim)), b), **kwargs)


def array_function(self: TensorRef, function: Callable[..., Any], types: Any, args: Arguments, kwargs: dict[str, Any]) -> Any:
    """One of NumPy's functions with a tensor among its arguments, carried out by records.

    Raises:
        TypeError: there is no record for the function.
    """
    ours = FUNCTIONS.get(function)
    if ours is not None:
        for t in types:
            other = t.__array_function__
            if other is not array_function and other is not np.ndarray.__array_function__:
                return NotImplemented
        return ours(*args, **kwargs)
    if function in VALUES:
        return function(*[_value(x) for x in args], **{key: _value(x) for key, x in kwargs.items()})
    raise refuse(f"{function.__module__.replace('.core', '').replace('.lib', '')}.{function.__name__}")


def _value(x: TensorRef) -> np.ndarray:
    """The values of an argument, of lists those of their elements."""
    if isinstance(x, TensorRef):
        return x._read("bool()")  # what is asked here has no derivative, as a branch has none
    return type(x)([_value(e) for e in x]) if type(x) in (list, tuple) and holds_tensors(x) else x


# -- attributes -------------------------------------------------------------------------------------------------------------------


def _T(self: TensorRef) -> TensorRef:
    """All axes reversed."""
    return F.permute(self, tuple(range(self.ndim - 1, -1, -1)))


def _mT(self: TensorRef) -> TensorRef:
    """The last two axes exchanged.

    Raises:
        ValueError: there are none.
    """
    if self.ndim < 2:
        raise ValueError(f"a matrix transpose needs two axes, and this tensor has {self.ndim}")
    return F.transpose(self, -2, -1)


def _size(self: TensorRef) -> int:
    """The number of elements."""
    return fold(int.__mul__, self.shape, 1)


def _itemsize(self: TensorRef) -> int:
    """The bytes of an element."""
    return self._k.np.itemsize


def _nbytes(self: TensorRef) -> int:
    """The bytes of all elements."""
    return _size(self) * self._k.np.itemsize


def astype(self: TensorRef, dtype: DType | str, *, copy: bool = True) -> TensorRef:
    """The tensor in another dtype; a copy, unless `copy` is False and it has that dtype. Gradients flow back in its own dtype."""
    wanted = as_dtype(dtype)
    return F.cast(self, wanted) if wanted is not self._k.dtype else F.clone(self) if copy else self


def copy(self: TensorRef) -> TensorRef:
    """A copy, through which gradients flow."""
    return F.clone(self)


def stop_gradient(self: TensorRef) -> TensorRef:
    """A copy without a history: what is computed from it takes it as a constant, and a trace computes it anew."""
    with no_grad():
        return F.clone(self)


_WORDS = {own: word for word, own in WORDS.items()} | {"dim0": "axis1", "correction": "ddof"}
"""What NumPy calls parameters of records."""


def numpys(name: str, self: TensorRef, args: tuple[object, ...], kwargs: Keywords, given: Keywords | None = None,
           defaults: dict[str, bool | int | None] | None = None) -> TensorRef:
    """What a method of NumPy's arrays gives of a tensor: NumPy's function of that name, of the arguments of the method.

    Args:
        given: values of the record's parameters, of which those count that are not its `defaults`.

    Raises:
        TypeError: NumPy's function takes no such arguments, or there is no record for it.
    """
    function = FUNCTIONS.get(getattr(np, name, None))
    if function is None:
        raise refuse(f"numpy.{name}")
    named = {_WORDS.get(key, key): value for key, value in (given or {}).items() if value is not (defaults or {}).get(key)}
    if name == "compress":  # NumPy's function has the array second
        return function(*args, a=self, **kwargs)
    if name in ("transpose", "reshape") and len(args) > 1:  # the axes, or sizes, one by one
        args = (args,)
    return function(self, *args, **named, **kwargs)


def _method(name: str) -> Fn:
    def method(self: TensorRef, *args: object, **kwargs: int) -> TensorRef:
        return numpys(name, self, args, kwargs)

    method.__name__ = method.__qualname__ = name
    method.__doc__ = f"As numpy.{name}."
    return method


HABITS: Keywords = {
    "__array_ufunc__": array_ufunc, "__array_function__": array_function,
    "T": property(_T), "mT": property(_mT), "size": property(_size), "itemsize": property(_itemsize), "nbytes": property(_nbytes),
    "real": property(lambda self: F.real(self), doc="The real parts, a view."),
    "imag": property(lambda self: tensor(np.zeros(self.shape, self._k.np)) if self._k.np.kind != "c" else F.imag(self),
                     doc="The imaginary parts, a view; zeros of a real tensor."),
    "astype": astype, "copy": copy, "stop_gradient": stop_gradient, "conjugate": lambda self: F.conj(self),
    **{name: _method(name) for name in ("argpartition", "choose", "compress", "ptp", "searchsorted")},
}
"""What tensors share with NumPy's arrays, beside what records give them."""

for _name, _value_of in HABITS.items():
    setattr(TensorRef, _name, _value_of)
