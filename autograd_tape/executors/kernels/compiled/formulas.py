"""Formulas of numbers (``kernels/formulas.py``), compiled: a loop around each, with nothing fused or reordered."""

from __future__ import annotations

from types import CellType, FunctionType
from typing import Any, cast

import numpy as np
from numba import carray, njit, types
from numba.core import cgutils
from numba.extending import intrinsic, overload, register_jitable

from ....codegen import execute
from .. import formulas
from .._kernel import Kernel
from .base import FUSE, u8
from .pairs import BROADCAST


_SOME = 1024
"""Elements that go through a function and what is beyond it while they are close."""
_LINE = 16  # elements of a line that are copied as one


@intrinsic
def _cells(typing: Any, x: Any) -> Any:
    """Cells of the stack for some numbers, as this one is, or as an array's are."""
    kind = getattr(x, "dtype", x)

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return cgutils.alloca_once(builder, context.get_data_type(kind), size=_SOME)

    return types.CPointer(kind)(x), code


@register_jitable(forceinline=True)
def _along(x, of, step, copy, to, count):
    if step == 1:
        for i in range(u8(count)):
            copy[u8(to) + i] = x[u8(of) + i]
    else:
        for i in range(u8(count)):
            copy[u8(to) + i] = x[u8(of) + i * u8(step)]


@register_jitable
def spread(x, z, a, b, plane, line, at, count, n2, n3, x1, x2, x3, z1, z2, z3):
    """Elements of operands that are broadcast, from a place of the result on, side by side; the place behind them."""
    i = 0
    while i < count:
        of, by, m = plane * x1 + line * x2 + at * x3, plane * z1 + line * z2 + at * z3, min(n3 - at, count - i)
        if n3 < _LINE:
            for _ in range(m):
                a[u8(i)], b[u8(i)] = x[u8(of)], z[u8(by)]
                i, of, by = i + 1, of + x3, by + z3
        else:
            _along(x, of, x3, a, i, m)
            _along(z, by, z3, b, i, m)
            i += m
        at += m
        if at == n3:
            at, line = 0, line + 1
            if line == n2:
                line, plane = 0, plane + 1
    return plane, line, at


def _beyond(k: int, place: str, values: str) -> list[str]:
    """Statements that count the elements of which a function beyond the formula is asked, find where they are, and ask it side by side."""
    test = " and ".join([f"test{k}({values})", *[f"not test{j}({values})" for j in range(k)]])
    return ["found = 0", "for i in range(u8(count)):", f"    found += {test}",
            "if found:", "    found = 0",
            "    for i in range(u8(count)):", "        places[u8(found)] = i", f"        found += {test}",
            "    for j in range(u8(found)):", "        i = u8(places[j])", f"        y[{place}] = beyond{k}({values})"]


def loop_of(operands: int, numbers: int, beyond: int = 0) -> FunctionType:
    """The loop around a function of so many elements, and of numbers that are the same for all, with so many functions `beyond` it: lest
    branches keep LLVM from making vectors, these have loops of their own. Elements of two are broadcast, others are in rows."""
    begin, each, place = ["places = carray(cells(start), some)"] * (beyond > 0), [], "u8(start) + i"
    if operands == 2:
        parameters, values = ["x", "z", "y", *"n1 n2 n3 x1 x2 x3 z1 z2 z3".split()], ["a[i]", "b[i]"]
        begin += ["a, b = carray(cells(x), some), carray(cells(z), some)",
                  "row, at = start // n3, start % n3", "plane, line = row // n2, row % n2"]
        each = ["plane, line, at = spread(x, z, a, b, plane, line, at, count, n2, n3, x1, x2, x3, z1, z2, z3)"]
    else:
        arrays, given = [f"x{i}" for i in range(operands)], [f"a{i}" for i in range(numbers)]
        parameters, values = [*arrays, "y", *given], [f"{x}[{place}]" for x in arrays]
    found = ", ".join([*[f"number({v})" for v in values], *parameters[operands + 1 :] * (operands != 2)])
    each += ["for i in range(u8(count)):", f"    y[{place}] = formula({found})"]
    for k in reversed(range(beyond)):
        each += _beyond(k, place, found)
    lines = [*begin, "while start < stop:", "    count = min(some, stop - start)", *[f"    {line}" for line in each], "    start += count"]
    source = "\n    ".join([f"def loop({', '.join(parameters)}, start, stop):", *lines, ""])
    return cast("FunctionType", execute(source, "loop", f"<formula of {operands}, {numbers} and {beyond}>", {}))


_PLAIN: Any = {"nogil": True, "error_model": "numpy", "no_cpython_wrapper": True, "no_cfunc_wrapper": True}
_INLINE = {**_PLAIN, "forceinline": True}
_FUSED = {**_INLINE, "fastmath": set(FUSE)}


@njit
def as_it_is(x):
    return x


def kernel_of(made: formulas.Formula) -> Kernel:
    """The kernel of a formula. Its function is compiled when the kernel is, unless the machine code was kept."""
    two = made.operands == 2
    names: dict[str, Any] = {"__name__": kernel_of.__module__, "u8": u8, "number": as_it_is if made.own else np.float64,
                             "carray": carray, "cells": _cells, "some": _SOME, "spread": spread}
    body = FunctionType(loop_of(made.operands, made.numbers, len(made.beyond)).__code__, names, made.name)

    def complete() -> None:
        way = _fused if made.fused else _inline
        names["formula"] = _translated(made.function, way if made.chars == "f" or made.beyond else _apart)
        for k, (test, function) in enumerate(made.beyond):
            names[f"test{k}"], names[f"beyond{k}"] = _translated(test, way), _translated(function, way)

    spec = BROADCAST.format("w") if two else "r0[n] " * made.operands + "w0[n] " + "s " * made.numbers + ":n"
    return Kernel(body, spec, frozenset(), made.digest, complete, fresh=True)


@overload(formulas.like, strict=False)
def _like(x, number):
    kind = x
    return lambda x, number: kind(number)


# By sums with powers of 2 whose last place is 1: without AVX-512 there are no vectors that convert integers of 64 bits.


@overload(formulas.two_to)
def _two_to(n):
    return lambda n: np.int64((np.float64(n + 6755399441055744.0).view(np.int64) + 1023) << 52).view(np.float64)


@overload(formulas.exponent)
def _exponent(x):
    return lambda x: np.int64((np.float64(x).view(np.int64) >> 52) & 2047 | 0x4330000000000000).view(np.float64) - 4503599627371519.0


# Integers of 32 bits are brought back to them after each step, or they were of 64. Sums with 1.5 * 2**23 end in an integer.


@overload(formulas.single_times)
def _single_times(x, n):
    def times(x, n):
        low = n < np.float32(-100)
        power = np.int32(np.float32(n + np.float32(12582912)).view(np.int32) << 23)
        found = np.int32(np.int32(np.float32(x).view(np.int32) + power) + (np.int32(64 << 23) if low else np.int32(0)))
        value = np.int32(found).view(np.float32) * (np.float32(2.0**-64) if low else np.float32(1))
        return value if x == x else x

    return times


_ROOT_OF_HALF = 0x3F3504F3
"""The bits of the root of 1/2."""


@overload(formulas.single_exponent)
def _single_exponent(x):
    return lambda x: np.float64(np.int32(np.int32(np.float32(x).view(np.int32) - _ROOT_OF_HALF) >> 23))


@overload(formulas.single_rest)
def _single_rest(x):
    def rest(x):
        bits = np.float32(x).view(np.int32)
        return np.float64(np.int32(bits - np.int32(np.int32(bits - _ROOT_OF_HALF) & np.int32(-(1 << 23)))).view(np.float32))

    return rest


def _fused_polynomial(coefficients: tuple[float, ...], x: float) -> float:
    """That of formulas with products and sums fused, in compiled code."""
    return formulas.polynomial(coefficients, x)


@overload(_fused_polynomial, jit_options={**_FUSED}, strict=False)
@overload(formulas.polynomial, jit_options={**_INLINE}, strict=False)
def _polynomial(coefficients, x):
    """Unrolled, of a tuple, whose numbers LLVM sees."""
    steps = "".join(f"    result = result * x + coefficients[{i}]\n" for i in range(1, len(coefficients)))
    body = f"    result = coefficients[0]\n{steps}    return result\n"
    return execute(f"def polynomial(coefficients, x):\n{body}", "polynomial", "<polynomial>", {})


class _Way:
    """How functions become compiled code, and those that did: what several formulas use is compiled once."""

    def __init__(self, options: Any) -> None:
        self.options = options
        self.known: dict[object, object] = {}


_inline, _apart, _fused = _Way(_INLINE), _Way(_PLAIN), _Way(_FUSED)


def _translated(value: object, way: _Way) -> object:
    """A value that a formula refers to, as compiled code takes it."""
    if hasattr(value, "compiled"):
        return value.compiled
    if way is _fused and value is formulas.polynomial:
        return _fused_polynomial
    if way is not _apart and (value is formulas.polynomial or isinstance(value, tuple)):
        return value
    if isinstance(value, tuple) and value and all([isinstance(v, float) for v in value]):
        return np.array(value)
    if not isinstance(value, FunctionType):
        return value
    if value not in way.known:
        code = value.__code__
        used = [name for name in code.co_names if name in value.__globals__]
        names = {"__name__": __name__, **{name: _translated(value.__globals__[name], way) for name in used}}
        cells = tuple([CellType(_translated(c.cell_contents, way)) for c in value.__closure__ or ()])
        copy = FunctionType(code, names, value.__name__, value.__defaults__, cells)
        way.known[value] = njit(**way.options)(copy)
    return way.known[value]

