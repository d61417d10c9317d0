"""What NumPy's functions are of records: the tables that dispatch goes by, and what the functions in them have in common.

A ufunc is carried out by the record whose kernel it is, or that names it (fields `ufunc` and `scipy`). `FUNCTIONS` has a function for each
of NumPy's others that is known, with NumPy's signature and NumPy's results, made of records: `@implements("name", ...)` puts it there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from ..annotations import Fn
from ..dtypes import CPU_KINDS, FLOATING
from ..errors import ArgumentError
from ..frontend import F
from ..ops import RECORDS
from ..record import Record, registered
from ..tensor import TensorRef

UFUNCS: dict[Any, str | Fn] = {
    np.divmod: lambda a, b: (F.div_floor(a, b), F.remainder(a, b)), np.modf: lambda a: (F.frac(a), F.trunc(a)),
}
"""The record that carries out a ufunc, as its field `ufunc` says, or whose kernel it is; or what the ufunc is made of."""

SPECIAL: dict[str, str] = {}
"""The records of ufuncs of scipy.special, by their names there: records' field `scipy`."""

FUNCTIONS: dict[Any, Fn] = {}
"""From NumPy's function to ours."""

VALUES: set[object] = set()
"""Functions of NumPy's whose results have no gradient and are not tensors: they see values, and nothing is recorded."""

SEQUENCES: set[object] = set()
"""Functions of NumPy's whose first argument is a sequence of arrays, rather than one array."""


def _add_ufuncs(rec: Record) -> None:
    kernel, named, special = rec.field("numpy"), rec.field("ufunc"), rec.field("scipy")
    if isinstance(kernel, np.ufunc) and kernel.nout == len(rec.returns) == 1 and rec.namespace != "_internal":
        UFUNCS.setdefault(kernel, rec.name)
    for ufunc in named if isinstance(named, tuple) else (named,):
        if ufunc is not None:
            UFUNCS[ufunc] = rec.name
    if special is not None:
        SPECIAL[special] = rec.name


for _rec in RECORDS.values():
    _add_ufuncs(_rec)
registered.append(_add_ufuncs)


def find(name: str) -> Any:
    """NumPy's function of a dotted name; None where this NumPy has none."""
    found: Any = np
    for part in name.split("."):
        found = getattr(found, part, None)
    return found


def implements(*names: str, sequence: bool = False) -> Callable[[Fn], Fn]:
    """Puts a function into the table under NumPy's names for it; those that this NumPy has not are left out."""
    def add(function: Fn) -> Fn:
        for name in names:
            theirs = find(name)
            if theirs is not None:
                FUNCTIONS[theirs] = function
                if sequence:
                    SEQUENCES.add(theirs)
        return function

    return add


def refuse(name: str) -> TypeError:
    """The error for a function of NumPy's that no record is known for."""
    return TypeError(f"{name} does not take tensors: autograd_tape has no record for it, so its gradient would be lost. Call it on values, "
                     f"{name}(x.numpy()), where it is a constant; write it with other functions; or declare it with its gradient as an "
                     "autograd_tape.Operation.")


# -- arguments ------------------------------------------------------------------------------------------------------


def holds_tensors(x: object) -> bool:
    """Whether there are tensors in nested lists."""
    return isinstance(x, TensorRef) or isinstance(x, (list, tuple)) and any([holds_tensors(e) for e in x])


def tensor(x: Any, dtype: Any = None) -> TensorRef:
    """A tensor of what NumPy takes for an array: nested lists may hold tensors, through which gradients flow."""
    if isinstance(x, (list, tuple)) and holds_tensors(x):
        x = F.stack(alike([tensor(e) for e in x]))
    elif not isinstance(x, TensorRef):
        x = TensorRef.of(np.asarray(x))
    return x if dtype is None else cast(x, dtype)


def cast(x: TensorRef, dtype: np.dtype | type | str) -> TensorRef:
    """`x` in another dtype; itself where it has that."""
    dtype = np.dtype(dtype)
    return x if x._k.np == dtype else F.cast(x, (CPU_KINDS.get(dtype) or kind_of(dtype)).dtype)


def kind_of(dtype: np.dtype) -> Any:
    """The kind of a NumPy dtype.

    Raises:
        TypeError: tensors have no such dtype.
    """
    try:
        return CPU_KINDS[dtype]
    except KeyError:
        raise TypeError(f"tensors have no dtype {dtype}; they have {', '.join(str(d) for d in CPU_KINDS)}") from None


def alike(tensors: Sequence[TensorRef], dtype: Any = None) -> list[TensorRef]:
    """Tensors in the dtype that NumPy promotes theirs to."""
    common = np.result_type(*[t._k.np for t in tensors]) if dtype is None else np.dtype(dtype)
    return [cast(t, common) for t in tensors]


def floating(x: TensorRef) -> TensorRef:
    """A tensor of floating point: integers and booleans become float64, as NumPy has it."""
    x = tensor(x)
    return x if x._k.dtype.category >= FLOATING else cast(x, np.float64)


def axes_of(axis: Sequence[int] | int | None, ndim: int) -> tuple[int, ...]:
    """The axes that `axis` names, all of them for None, counted from the front.

    Raises:
        AxisError: there is no such axis.
        ValueError: one is named twice.
    """
    if axis is None:
        return tuple(range(ndim))
    found = []
    for one in axis if isinstance(axis, (tuple, list)) else (axis,):
        one = one.__index__()
        if not -ndim <= one < ndim:
            raise np.exceptions.AxisError(one, ndim)
        found.append(one % ndim)
    if len(set(found)) != len(found):
        raise ValueError("duplicate value in 'axis'")
    return tuple(found)


def axis_of(axis: int, ndim: int) -> int:
    """One axis, counted from the front."""
    return axes_of((axis,), ndim)[0]


def give(result: Any, out: Any) -> Any:
    """`result`, or `out` with the result in it. A tensor takes it as by `copy_`, with its history; an array takes values.

    Raises:
        TypeError: `out` is an array and the result has a history, which would be lost; or its dtype does not hold the result's.
        ValueError: `out` has another shape.
    """
    out = out[0] if isinstance(out, tuple) and len(out) == 1 else out
    if out is None:
        return result
    if isinstance(out, tuple):
        return tuple([give(r, o) for r, o in zip(result, out)])
    if tuple(out.shape) != tuple(result.shape):
        raise ValueError(f"out= has shape {tuple(out.shape)}, the result {tuple(result.shape)}")
    theirs = out._k.np if isinstance(out, TensorRef) else out.dtype
    if not np.can_cast(result._k.np, theirs, "same_kind"):
        raise TypeError(f"Cannot cast the result from {result._k.np} to {theirs}, the dtype of out=, with casting rule 'same_kind'")
    if isinstance(out, TensorRef):
        return out.copy_(result)  # type: ignore[attr-defined]  # methods are installed from the records
    if result.requires_grad:
        raise TypeError("out= is an array, which has no history: the gradient of what is written there would be lost. Pass a TensorRef, or "
                        "use the result")
    np.copyto(out, result._data, casting="same_kind")
    return out


def masked(x: TensorRef, where: TensorRef | bool | None, instead: int | bool) -> TensorRef:
    """`x` with `instead` where a mask does not hold: what reductions take under `where=`."""
    return x if where is None or where is True else F.where(F.broadcast_to(cast(tensor(where), bool), tuple(x.shape)), x,
                                                            TensorRef.of(np.asarray(instead, x._k.np)))


def check_defaults(name: str, **given: tuple[Any, Iterable[Any]]) -> None:
    """ArgumentError where an argument that is not supported has another value than these."""
    for argument, (value, allowed) in given.items():
        if not any([value is a or value == a for a in allowed]):
            raise ArgumentError(f"{name}: {argument}={value!r} is not supported on tensors",
                                expected=" or ".join(map(repr, allowed)), found=repr(value), remedy="leave it out")

