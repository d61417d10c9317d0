"""The NumPy executor: always there, nothing to configure."""

from __future__ import annotations

from typing import Any
from collections.abc import Sequence

import numpy as np

from ..annotations import Fn
from ..record import Record
from ..strided import empty_in_order, strided
from .base import Executor
from .kernels._on_demand import is_half

SINGLE = np.dtype(np.float32)


class NumpyExecutor(Executor):
    """Kernels are the records' `numpy` fields."""

    name = "numpy"
    field = "numpy"

    def call(self, rec: Record, kernel: Fn, values: list[Any]) -> Any:
        """Calls a kernel; where it is written for float32 and float64, half precision is computed in float32 and rounded."""
        return in_single(rec, kernel, values) if widens(rec) else kernel(*values)


def widens(rec: Record) -> bool:
    """Whether an operation's kernel is written for float32 and float64, or has another for half precision. NumPy's own take all."""
    if isinstance(rec.field("numpy"), np.ufunc) and all(p.is_tensor for p in rec.params):
        return False
    return (rec.quiet == "float" or rec.field("half") is not None) and rec.family not in ("view", "view?")


def in_single(rec: Record, kernel: Fn, values: Sequence[object]) -> Any:
    """Calls a kernel with half precision widened to float32, and rounds the outputs back, but for those that are wider because of another
    argument: in formulas of gradients dtypes are mixed."""
    own = rec.field("half")
    half: np.dtype | None = None
    first: np.dtype | None = None
    mixed = False
    wide: list[object] = []
    for v in values:
        if isinstance(v, (np.ndarray, np.generic)):  # NumPy's operators make scalars of arrays without dimensions
            dtype = v.dtype
            first = first or dtype
            if dtype.itemsize == 2 and is_half(dtype):
                half = dtype
                v = recast(v, SINGLE) if own is None else v
            elif v.ndim and dtype.kind == "f":
                mixed = True
        elif isinstance(v, (list, tuple)):
            half = next((x.dtype for x in v if isinstance(x, np.ndarray) and is_half(x.dtype)), half)
            if isinstance(v, list) and own is None:
                v = [recast(x, SINGLE) if isinstance(x, np.ndarray) and is_half(x.dtype) else x for x in v]
        wide.append(v)
    if half is None:
        return kernel(*values)
    parameters = mixed and any([p.name == "weight" and isinstance(v, np.ndarray) and v.dtype == SINGLE
                                for p, v in zip(rec.params, values)])
    mixed = mixed and (first != half or rec.promotion != "none")
    if own is not None:
        if not mixed:
            return own(*values)
        wide = [recast(v, SINGLE) if isinstance(v, (np.ndarray, np.generic)) and is_half(v.dtype) else v for v in wide]
    results = kernel(*wide)
    if mixed:
        return results
    if parameters and rec.namespace == "_internal" and isinstance(results, (list, tuple)):  # their gradients have their precision
        return [narrow(results[0], half), *results[1:]]
    if isinstance(results, list):
        return [narrow(r, half) for r in results]
    if isinstance(results, tuple):
        count = len(rec.returns)
        return (*[narrow(r, half) for r in results[:count]], *results[count:])
    return narrow(results, half)


def narrow(result: np.ndarray | None, half: np.dtype) -> np.ndarray | None:
    """A result of a computation in float32, rounded; others as they are, as arrays. None is a gradient that nobody wants."""
    if result is None:
        return None
    if result.__class__ is not np.ndarray:
        result = np.asarray(result)
    return recast(result, half) if result.dtype is SINGLE or result.dtype == SINGLE else result


def widened(a: np.ndarray) -> np.ndarray:
    """An array of half precision in float32."""
    return a.astype(SINGLE) if 0 not in a.strides else _in_order(a, SINGLE)


def _in_order(a: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """An expanded array in another dtype, laid out as torch has it; NumPy puts what was expanded innermost."""
    result = empty_in_order(a, dtype)
    np.copyto(result, a, casting="unsafe")
    return result


def recast(a: Any, dtype: np.dtype) -> Any:
    """`a` in another dtype and the order in which it lies. NumPy makes up the steps of dimensions of one element, by which torch tells
    images with the channels innermost: of what may be images they are kept."""
    if 0 in a.strides:
        return _in_order(a, dtype)
    cast = a.astype(dtype)
    if a.ndim > 3 and 1 in a.shape and not a.flags.c_contiguous:
        steps = [old // a.itemsize * dtype.itemsize if n == 1 else new for n, old, new in zip(a.shape, a.strides, cast.strides)]
        return strided(cast, cast.shape, steps)
    return cast
