"""The NumPy executor: always there, nothing to configure."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from ..annotations import Fn
from ..record import Record
from .base import Executor
from .kernels import halves
from .kernels._on_demand import is_half
from .kernels.halves import SINGLE, narrow, recast, widened


_ndarray = np.ndarray

__all__ = ["SINGLE", "NumpyExecutor", "half_kernel", "in_single", "is_ufunc", "narrow", "of_one", "recast", "rounds", "widened", "widens"]


class NumpyExecutor(Executor):
    """Kernels are the records' `numpy` fields."""

    name = "numpy"
    field = "numpy"

    def kernel(self, rec: Record) -> Fn | None:
        """That of many numbers, where there is one."""
        return rec.field("many") or rec.field("numpy")

    def call(self, rec: Record, kernel: Fn, values: list[Any]) -> Any:
        """Calls a kernel; where it is written for float32 and float64, half precision is computed in float32 and rounded."""
        return in_single(rec, kernel, values) if widens(rec) else kernel(*values)

    def caller(self, rec: Record) -> Fn | None:
        return in_single if widens(rec) else None


@cache
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
        if v.__class__ is _ndarray or isinstance(v, (_ndarray, np.generic)):  # NumPy's operators make scalars of arrays without dimensions
            dtype = v.dtype
            first = first or dtype
            if dtype.char in "eE":
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


def is_ufunc(rec: Record) -> bool:
    """Whether the kernel is one of NumPy's own, which the worker pool can share."""
    return isinstance(rec.field("numpy"), np.ufunc) and rec.family in ("unary", "binary")


def rounds(rec: Record) -> bool:
    """Whether all that half precision takes is a kernel of tensors in float32, whose result is rounded."""
    return (widens(rec) and rec.field("half") is None and len(rec.returns) == 1 and not rec.saved_returns
            and all([p.type == "Tensor" or p.type in _NUMBERS for p in rec.params if p.passed]))


_NUMBERS = frozenset(["Scalar", "float", "int", "bool"])  # which kernels take as they are


def of_one(rec: Record) -> bool:
    """Whether each element of the result is a function of the same element of the one tensor, by more than one of NumPy's functions."""
    return (rec.family == "unary" and len(rec.tensor_params) == 1 == len(rec.returns) and rec.params[0].type == "Tensor"
            and ((half := rec.field("half")) is None or getattr(half, "by_element", False)) and not rec.returns_list
            and not rec.saved_returns and not is_ufunc(rec))


@cache
def half_kernel(rec: Record, kernel: Fn) -> Fn:
    """The kernel as it takes half precision: by tables, where each element of the result is a function of one."""
    by_one = of_one(rec)
    if is_ufunc(rec) and rec.field("half") is None:  # which gets tensors alone
        return kernel
    if not widens(rec) or rounds(rec) and not by_one:
        return halves.tabled(kernel) if by_one else kernel
    own = rec.field("half")
    if own is not None and not isinstance(kernel, np.ufunc) and not any([p.type.endswith("[]") and p.is_tensor for p in rec.params]):
        return halves.tabled(own) if by_one else own  # all tensors are of one half precision here

    rounded = rounds(rec)

    def wide(*values: Any) -> Any:
        found = halves.single((lambda x: kernel(x, *values[1:])) if values[1:] else kernel, values[0]) if rounded and by_one else None
        return in_single(rec, kernel, values) if found is None else found

    if not by_one:
        return wide
    wide.formula = getattr(kernel, "formula", None)  # type: ignore[attr-defined]
    return halves.tabled(wide)
