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
from .base import u8
from .pairs import BROADCAST


def of_two(x, z, y, n1, n2, n3, x1, x2, x3, z1, z2, z3, start, stop):
    """The loop around a function of two elements, of operands that are broadcast."""
    row, at = start // n3, start % n3
    plane, line = row // n2, row % n2
    for i in range(start, stop):
        of, by = plane * x1 + line * x2 + at * x3, plane * z1 + line * z2 + at * z3
        y[u8(i)] = formula(number(x[u8(of)]), number(z[u8(by)]))  # noqa: F821  # names that each kernel has of its own
        at += 1
        if at == n3:
            at, line = 0, line + 1
            if line == n2:
                line, plane = 0, plane + 1


def loop_of(operands: int, numbers: int, largest: float | None) -> FunctionType:
    """The loop around a function of so many elements in rows, and of numbers that are the same for all. Beyond the `largest` another
    function is asked once more, lest branches keep LLVM from making vectors."""
    arrays, given = [f"x{i}" for i in range(operands)], [f"a{i}" for i in range(numbers)]
    slices = ", ".join(f"{x}[start:stop]" for x in [*arrays, "y"])
    values = ", ".join([*[f"number({x}s[i])" for x in arrays], *given])
    body = f"{', '.join(f'{x}s' for x in [*arrays, 'y'])} = {slices}\n    for i in range(ys.size):\n        ys[i] = formula({values})"
    if largest is not None:
        body += f"\n    for i in range(ys.size):\n        if abs(x0s[i]) > {largest}:\n            ys[i] = beyond(number(x0s[i]))"
    source = f"def loop({', '.join([*arrays, 'y', *given])}, start, stop):\n    {body}\n"
    return cast("FunctionType", execute(source, "loop", f"<formula of {operands} and {numbers}>", {}))


_PLAIN: Any = {"nogil": True, "error_model": "numpy", "no_cpython_wrapper": True, "no_cfunc_wrapper": True}
_INLINE = {**_PLAIN, "forceinline": True}


@njit
def as_it_is(x):
    return x


def kernel_of(made: formulas.Formula) -> Kernel:
    """The kernel of a formula. Its function is compiled when the kernel is, unless the machine code was kept."""
    two, function = made.operands == 2, made.function
    loop = of_two if two else loop_of(made.operands, made.numbers, made.beyond and made.beyond[0])
    names: dict[str, Any] = {"__name__": kernel_of.__module__, "np": np, "u8": u8, "number": as_it_is if made.own else np.float64}
    body = FunctionType(loop.__code__, names, made.name)

    def complete() -> None:
        names["formula"] = _translated(function, {}, _PLAIN if made.chars != "f" else _INLINE)
        if made.beyond is not None:
            names["beyond"] = _translated(made.beyond[1], {}, _PLAIN)

    spec = BROADCAST.format("w") if two else "r0[n] " * made.operands + "w0[n] " + "s " * made.numbers + ":n"
    return Kernel(body, spec, frozenset(), made.digest, complete)


@overload(formulas.like, strict=False)
def _like(x, number):
    kind = x
    return lambda x, number: kind(number)


@overload(formulas.two_to)
def _two_to(n):
    return lambda n: np.int64((np.int64(n) + 1023) << 52).view(np.float64)


@overload(formulas.exponent)
def _exponent(x):
    return lambda x: np.float64(((np.float64(x).view(np.int64) >> 52) & 2047) - 1023)


@overload(formulas.polynomial, jit_options={**_INLINE}, strict=False)
def _polynomial(coefficients, x):
    """Unrolled, of a tuple, whose numbers LLVM sees."""
    steps = "".join(f"    result = result * x + coefficients[{i}]\n" for i in range(len(coefficients)))
    return execute(f"def polynomial(coefficients, x):\n    result = 0.0\n{steps}    return result\n", "polynomial", "<polynomial>", {})


def _translated(value: object, known: dict[object, object], how: Any) -> object:
    """A value that a formula refers to, as compiled code takes it."""
    if hasattr(value, "compiled"):
        return value.compiled
    if how is _INLINE and (value is formulas.polynomial or isinstance(value, tuple)):
        return value
    if isinstance(value, tuple) and value and all([isinstance(v, float) for v in value]):
        return np.array(value)
    if not isinstance(value, FunctionType):
        return value
    if value not in known:
        code = value.__code__
        used = [name for name in code.co_names if name in value.__globals__]
        names = {"__name__": __name__, **{name: _translated(value.__globals__[name], known, how) for name in used}}
        cells = tuple([CellType(_translated(c.cell_contents, known, how)) for c in value.__closure__ or ()])
        copy = FunctionType(code, names, value.__name__, value.__defaults__, cells)
        known[value] = njit(**how)(copy)
    return known[value]

