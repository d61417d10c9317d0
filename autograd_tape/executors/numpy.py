"""The NumPy executor: always there, nothing to configure."""

from __future__ import annotations

from typing import Any
from collections.abc import Sequence

import numpy as np

from ..annotations import Fn
from ..record import Record
from .base import Executor
from .kernels._on_demand import is_half
from .kernels.halves import SINGLE, narrow, recast, widened


__all__ = ["SINGLE", "NumpyExecutor", "in_single", "narrow", "recast", "widened", "widens"]


class NumpyExecutor(Executor):
    """Kernels are the records' `numpy` fields."""

    name = "numpy"
    field = "numpy"

    def call(self, rec: Record, kernel: Fn, values: list[Any]) -> Any:
        """Calls a kernel; where it is written for float32 and float64, half precision is computed in float32 and rounded."""
        return in_single(rec, kernel, values) if widens(rec) else kernel(*values)


def widens(rec: Record) -> bool:
    """Whether an operation's kernel is written for float32 and float64, or has another for half precision. NumPy's own take all."""
    kernel = rec.field("numpy")
    if isinstance(kernel, np.ufunc) and all(p.is_tensor for p in rec.params) or getattr(kernel, "takes_half", False):
        return False
    return (rec.quiet in ("float", "numbers") or rec.field("half") is not None) and rec.family not in ("view", "view?")


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
