"""Formulas of numbers (``kernels/formulas.py``), compiled: a loop around each, with nothing fused or reordered."""

from __future__ import annotations

from types import CellType, FunctionType
from typing import Any, cast

import numpy as np
from numba import njit
from numba.extending import overload

from ....codegen import execute
from .. import formulas
from .._kernel import Kernel


def loop_of(operands: int, numbers: int) -> FunctionType:
    """The loop around a function of so many elements, and of numbers that are the same for all."""
    arrays, given = [f"x{i}" for i in range(operands)], [f"a{i}" for i in range(numbers)]
    slices = ", ".join(f"{x}[start:stop]" for x in [*arrays, "y"])
    values = ", ".join([*[f"number({x}s[i])" for x in arrays], *given])
    body = f"{', '.join(f'{x}s' for x in [*arrays, 'y'])} = {slices}\n    for i in range(ys.size):\n        ys[i] = formula({values})"
    source = f"def loop({', '.join([*arrays, 'y', *given])}, start, stop):\n    {body}\n"
    return cast("FunctionType", execute(source, "loop", f"<formula of {operands} and {numbers}>", {}))


_PLAIN: Any = {"nogil": True, "error_model": "numpy", "no_cpython_wrapper": True, "no_cfunc_wrapper": True}


@njit
def as_it_is(x):
    return x


def kernel_of(made: formulas.Formula) -> Kernel:
    """The kernel of a formula. Its function is compiled when the kernel is, unless the machine code was kept."""
    loop, function = loop_of(made.operands, made.numbers), made.function
    names: dict[str, Any] = {"__name__": kernel_of.__module__, "np": np, "number": as_it_is if made.own else np.float64}
    body = FunctionType(loop.__code__, names, made.name)

    def complete() -> None:
        names["formula"] = _translated(function, {})

    return Kernel(body, "r0[n] " * made.operands + "w0[n] " + "s " * made.numbers + ":n", frozenset(), made.digest, complete)


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

