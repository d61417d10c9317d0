"""Formulas of numbers (``kernels/formulas.py``), compiled: a loop around each, with nothing fused or reordered."""

from __future__ import annotations

from types import CellType, FunctionType
from typing import Any

import numpy as np
from numba import njit
from numba.extending import overload

from .. import formulas
from .._kernel import Kernel


def one(x, y, start, stop):
    xs, ys = x[start:stop], y[start:stop]
    for i in range(ys.size):
        ys[i] = formula(number(xs[i]))  # noqa: F821


def two(x, z, y, start, stop):
    xs, zs, ys = x[start:stop], z[start:stop], y[start:stop]
    for i in range(ys.size):
        ys[i] = formula(number(xs[i]), number(zs[i]))  # noqa: F821


def three(x, z, w, y, start, stop):
    xs, zs, ws, ys = x[start:stop], z[start:stop], w[start:stop], y[start:stop]
    for i in range(ys.size):
        ys[i] = formula(number(xs[i]), number(zs[i]), number(ws[i]))  # noqa: F821


LOOPS = (one, two, three)
_PLAIN: Any = {"nogil": True, "error_model": "numpy", "no_cpython_wrapper": True, "no_cfunc_wrapper": True}


@njit
def as_it_is(x):
    return x


def kernel_of(made: formulas.Formula) -> Kernel:
    """The kernel of a formula. Its function is compiled when the kernel is, unless the machine code was kept."""
    loop, function = LOOPS[made.operands - 1], made.function
    names: dict[str, Any] = {"__name__": loop.__module__, "np": np, "number": as_it_is if made.own else np.float64}
    body = FunctionType(loop.__code__, names, made.name)

    def complete() -> None:
        names["formula"] = _translated(function, {})

    return Kernel(body, "r1[n] " * made.operands + "w1[n] :n", frozenset(), made.digest, complete)


@overload(formulas.like, strict=False)
def _like(x, number):
    kind = x
    return lambda x, number: kind(number)


def _translated(value: object, known: dict[object, object]) -> object:
    """A value that a formula refers to, as compiled code takes it."""
    if hasattr(value, "compiled"):
        return value.compiled
    if isinstance(value, tuple) and value and all([isinstance(v, float) for v in value]):
        return np.array(value)
    if not isinstance(value, FunctionType):
        return value
    if value not in known:
        code = value.__code__
        used = [name for name in code.co_names if name in value.__globals__]
        names = {"__name__": __name__, **{name: _translated(value.__globals__[name], known) for name in used}}
        cells = tuple([CellType(_translated(c.cell_contents, known)) for c in value.__closure__ or ()])
        copy = FunctionType(code, names, value.__name__, value.__defaults__, cells)
        known[value] = njit(**_PLAIN)(copy)
    return known[value]

