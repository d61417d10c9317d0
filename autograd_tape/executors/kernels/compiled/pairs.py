"""Functions of two numbers over arrays that are broadcast: a formula each, in one loop for all of them.

The result lies in rows, of three dimensions; each operand lies in rows of its own, and has a step along each of them, none where it is
repeated.
Items are the result's elements. Formulas compute in float32 or float64; half precision is widened and rounded in registers.
``y`` is the array of the results, for formulas that round on the way. What is done as NumPy does it has NumPy's bits.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import types
from numba.extending import overload, register_jitable

from ....annotations import Fn
from .._kernel import Kernel
from .base import EXACT, FUSE, exp, f4, f8, fma, i8, kernel, like, log1p_unit, rounded, u4, u8, wide

#: The line of a kernel of two operands that are broadcast, with the letter of its results.
BROADCAST = ("r0[nx] r0[nz] {}0[n1*n2*n3] i i i i i i i i i (n1>0) (n2>0) (n3>0) (n1*n2<=2147483648) (x1>=0) (x2>=0) (x3>=0) (z1>=0) "
             "(z2>=0) (z3>=0) ((n1-1)*x1+(n2-1)*x2+(n3-1)*x3<nx) ((n1-1)*z1+(n2-1)*z2+(n3-1)*z3<nz) :n1*n2*n3")
#: Elements of a line that takes longer to begin than to do.
SHORT = 8
_SOME = 2048  # elements after which a quick formula's results are looked at


def _made(formula: Fn, out: str, exact: bool, quick: Fn | None = None, dtypes: str = "fdEe") -> Kernel:
    options: Any = {"nogil": True, "error_model": "numpy", "forceinline": True, "fastmath": set(EXACT if exact else FUSE) or False}
    number = register_jitable(**options)(formula)
    first = number if quick is None else register_jitable(**options)(quick)
    unsure = quick is not None

    def loop(x, z, y, n1, n2, n3, x1, x2, x3, z1, z2, z3, start, stop):
        row, begin, at = start // n3, start % n3, start
        plane, line, whole = row // n2, row % n2, n2 * n3
        while at < stop:
            together = whole < SHORT and line == 0 and begin == 0 and stop - at >= whole * SHORT  # many planes of a few elements
            rows, lines, count, pitch, next_x, next_z = 1, 1, min(n3 - begin, stop - at, _SOME), n3, x2, z2
            if together:
                rows, lines, pitch, next_x, next_z = n2, min((stop - at) // whole, _SOME // whole), whole, x1, z1
            elif count == n3:
                lines = min(n2 - line, (stop - at) // n3, max(1, _SOME // n3))
            xat, zat = plane * x1 + line * x2 + begin * x3, plane * z1 + line * z2 + begin * z3
            for j in range(rows):
                # Lines of so many elements, `pitch` apart, from unsigned places on: of others each would be asked whether it is negative.
                # What is chosen is chosen around all of them, or short lines would take several times as long.
                of, by, to, failed = u8(xat + j * x2), u8(zat + j * z2), u8(at + j * n3), False
                if count < SHORT and lines >= SHORT:  # one place of all lines after another
                    for i in range(u8(count)):
                        at_x, at_z, at_y = of + u8(i) * u8(x3), by + u8(i) * u8(z3), to + u8(i)
                        for k in range(u8(lines)):
                            v = first(wide(x[at_x + u8(k) * u8(next_x)]), wide(z[at_z + u8(k) * u8(next_z)]), y)
                            y[at_y + u8(k) * u8(pitch)] = rounded(y, v)
                            if unsure:
                                failed |= v != v
                elif x3 == 1 and z3 == 1:
                    for _ in range(lines):
                        for i in range(u8(count)):
                            v = first(wide(x[of + u8(i)]), wide(z[by + u8(i)]), y)
                            y[to + u8(i)] = rounded(y, v)
                            if unsure:
                                failed |= v != v
                        of, by, to = of + u8(next_x), by + u8(next_z), to + u8(pitch)
                elif x3 == 1 and z3 == 0:
                    for _ in range(lines):
                        b = wide(z[by])
                        for i in range(u8(count)):
                            v = first(wide(x[of + u8(i)]), b, y)
                            y[to + u8(i)] = rounded(y, v)
                            if unsure:
                                failed |= v != v
                        of, by, to = of + u8(next_x), by + u8(next_z), to + u8(pitch)
                elif x3 == 0 and z3 == 1:
                    for _ in range(lines):
                        a = wide(x[of])
                        for i in range(u8(count)):
                            v = first(a, wide(z[by + u8(i)]), y)
                            y[to + u8(i)] = rounded(y, v)
                            if unsure:
                                failed |= v != v
                        of, by, to = of + u8(next_x), by + u8(next_z), to + u8(pitch)
                else:
                    for _ in range(lines):
                        for i in range(u8(count)):
                            v = first(wide(x[of + u8(i) * u8(x3)]), wide(z[by + u8(i) * u8(z3)]), y)
                            y[to + u8(i)] = rounded(y, v)
                            if unsure:
                                failed |= v != v
                        of, by, to = of + u8(next_x), by + u8(next_z), to + u8(pitch)
                if unsure:
                    if failed:
                        of, by, to = u8(xat + j * x2), u8(zat + j * z2), u8(at + j * n3)
                        for _ in range(lines):
                            for i in range(u8(count)):
                                y[to + u8(i)] = rounded(y, number(wide(x[of + u8(i) * u8(x3)]), wide(z[by + u8(i) * u8(z3)]), y))
                            of, by, to = of + u8(next_x), by + u8(next_z), to + u8(pitch)
            at += rows * lines * count
            if together:
                plane += lines
                continue
            begin += count
            if begin == n3:
                begin, line = 0, line + lines
                if line == n2:
                    line, plane = 0, plane + 1

    loop.__name__ = loop.__qualname__ = formula.__name__
    return kernel(BROADCAST.format(out), EXACT if exact else FUSE, dtypes, fresh=True)(loop)


def pair(formula: Fn) -> Kernel:
    """The kernel of ``formula(a, b, y)``, with bits that depend on nothing else."""
    return _made(formula, "w", True)


def approximate(formula: Fn) -> Kernel:
    """The same, where products and sums may be fused."""
    return _made(formula, "w", False)


def unsure(quick: Fn) -> Any:
    """The same of one with another, ``quick``, that makes vectors, and says NaN where it does not know."""
    return lambda formula: _made(formula, "w", True, quick)


def test(formula: Fn) -> Kernel:
    """The same of truth values, of integers and of them, too."""
    return _made(formula, "B", True, dtypes="fdEelB")


def number(formula: Fn) -> Kernel:
    """`pair` of integers, too."""
    return _made(formula, "w", True, dtypes="fdEel")


def floating(formula: Fn) -> Kernel:
    """`pair` without half precision."""
    return _made(formula, "w", True, dtypes="fd")


def integers(formula: Fn) -> Kernel:
    """`pair` of integers alone."""
    return _made(formula, "w", True, dtypes="l")


def whole(formula: Fn) -> Kernel:
    """`pair` of integers and truth values."""
    return _made(formula, "w", True, dtypes="lB")


# -- what division leaves -----------------------------------------------------------------------------------------------


def _double(a: object) -> object:
    return a


@overload(_double, strict=False)
def _double_(a: object) -> object:
    return (lambda a: f8(a)) if a == types.float32 else (lambda a: a)


_SURE, _SURE_TOO = 268435456.0, 9007199254740992.0  # 2**28, 2**53


def _fmod_quick(a, b, y):
    """In double precision the quotient of two float32 is on the right side of each whole number up to 2**28, and the product exact. That of
    float64, rounded, is too large by one at most, and what the rounded down leaves of the dividend is a number of the dtype, up to 2**53:
    below zero the divisor is added."""
    if _single(a):
        wide_a, wide_b = f8(a), f8(b)
        quotient = wide_a / wide_b
        rest = abs(wide_a - np.trunc(quotient) * wide_b)
    else:
        wide_a, wide_b = f8(a), abs(f8(b))
        quotient = abs(wide_a) / wide_b
        rest = fma(-np.floor(quotient), wide_b, abs(wide_a))
        rest = rest + wide_b if rest < 0.0 else rest
    return like(a, math.copysign(rest, wide_a) if abs(quotient) < (_SURE if _single(a) else _SURE_TOO) else math.nan)


def _single(a: object) -> object:
    return a


@overload(_single, strict=False)
def _single_(a: object) -> object:
    return (lambda a: True) if a == types.float32 else (lambda a: False)


_rest_quick = register_jitable(forceinline=True)(_fmod_quick)


def _with_sign_of(rest, b):
    """What is left, with the sign of the divisor; an exact division keeps the dividend's sign on its zero."""
    return rest + b if (rest != 0) & ((rest < 0) != (b < 0)) else rest


_signed = register_jitable(forceinline=True)(_with_sign_of)


def _remainder_quick(a, b, y):
    return _signed(_rest_quick(a, b, y), b)


@unsure(_fmod_quick)
def fmod(a, b, y):
    return np.fmod(a, b)


@unsure(_remainder_quick)
def remainder(a, b, y):
    return _signed(np.fmod(a, b), b)


def _floored(a, b, rest):
    """The quotient rounded down, as NumPy's, of what division leaves."""
    quotient = (a - rest) / b
    quotient = quotient - like(a, 1) if (rest != 0) & ((rest < 0) != (b < 0)) else quotient
    down = np.floor(quotient)
    down = down + like(a, 1) if quotient - down > like(a, 0.5) else down
    return down if quotient != 0 else math.copysign(like(a, 0), a / b)


_down = register_jitable(forceinline=True)(_floored)


def _floor_divide_quick(a, b, y):
    return _down(a, b, _rest_quick(a, b, y))


@unsure(_floor_divide_quick)
def floor_divide(a, b, y):
    return _down(a, b, np.fmod(a, b)) if b != 0 else a / b


def _steps(a, b, rest, y):
    """The same of half precision, rounded after each step, as torch does it."""
    rest = wide(rounded(y, rest))
    quotient = wide(rounded(y, wide(rounded(y, a - rest)) / b))
    quotient = wide(rounded(y, quotient - like(a, 1))) if (rest != 0) & ((rest < 0) != (b < 0)) else quotient
    down = np.floor(quotient)
    down = wide(rounded(y, down + like(a, 1))) if wide(rounded(y, quotient - down)) > like(a, 0.5) else down
    return down if quotient != 0 else math.copysign(like(a, 0), a / b)


_stepped = register_jitable(forceinline=True)(_steps)


def _floor_steps_quick(a, b, y):
    return _stepped(a, b, _rest_quick(a, b, y), y)


@unsure(_floor_steps_quick)
def floor_steps(a, b, y):
    return _stepped(a, b, np.fmod(a, b), y) if b != 0 else a / b


@pair
def trunc_divide(a, b, y):
    return np.trunc(a / b)


@pair
def trunc_steps(a, b, y):
    return np.trunc(wide(rounded(y, a / b)))


# -- sums of powers, lengths --------------------------------------------------------------------------------------------


@approximate
def logaddexp(a, b, y):
    high = a if a > b else b
    total = high + log1p_unit(exp(-abs(a - b)))
    return high + like(a, 0.6931471805599453) if a == b else total if a == a else a


@approximate
def logaddexp2(a, b, y):
    high = a if a > b else b
    total = high + log1p_unit(exp(-abs(a - b) * like(a, 0.6931471805599453))) * like(a, 1.4426950408889634)
    return high + like(a, 1) if a == b else total if a == a else a


@pair
def hypot(a, b, y):
    """Of float32, in double precision."""
    wide_a, wide_b = f8(a), f8(b)
    length = like(a, math.sqrt(wide_a * wide_a + wide_b * wide_b))
    return like(a, math.inf) if (abs(a) == like(a, math.inf)) | (abs(b) == like(a, math.inf)) else length


# -- NumPy's own, for half precision and for operands that are broadcast ------------------------------------------------


@number
def add(a, b, y):
    return a + b


@number
def subtract(a, b, y):
    return a - b


@number
def multiply(a, b, y):
    return a * b


@number
def divide(a, b, y):
    return a / b


@number
def maximum(a, b, y):
    return a if (a >= b) | (a != a) else b


@number
def minimum(a, b, y):
    return a if (a <= b) | (a != a) else b


@number
def fmax(a, b, y):
    return a if (a >= b) | (b != b) else b


@number
def fmin(a, b, y):
    return a if (a <= b) | (b != b) else b


@test
def equal(a, b, y):
    return a == b


@test
def not_equal(a, b, y):
    return a != b


@test
def less(a, b, y):
    return a < b


@test
def less_equal(a, b, y):
    return a <= b


@test
def greater(a, b, y):
    return a > b


@test
def greater_equal(a, b, y):
    return a >= b


@whole
def bitwise_and(a, b, y):
    return a & b


@whole
def bitwise_or(a, b, y):
    return a | b


@whole
def bitwise_xor(a, b, y):
    return a ^ b


@test
def logical_and(a, b, y):
    return (a != 0) & (b != 0)


@test
def logical_or(a, b, y):
    return (a != 0) | (b != 0)


@test
def logical_xor(a, b, y):
    return (a != 0) != (b != 0)


@whole
def left_shift(a, b, y):
    return a << b if (b >= 0) & (b < 64) else 0


@whole
def right_shift(a, b, y):
    return a >> (b if (b >= 0) & (b < 64) else 63)


@integers
def power(a, b, y):
    """By squaring, modulo 2**64; negative exponents round to zero, which only 1 and -1 escape."""
    if b < 0:
        return 1 if a == 1 else 0 if a != -1 else -1 if b & 1 else 1
    result = 1
    while b > 0:
        if b & 1:
            result *= a
        a *= a
        b >>= 1
    return result


@pair
def copysign(a, b, y):
    return math.copysign(a, b)


@pair
def prelu(a, b, y):
    return a if a > 0 else a * b


@number
def heaviside(a, b, y):
    return b if a == 0 else i8(a > 0)


def _after(bits: Fn, number: Fn) -> Fn:
    def after(a, b):
        word = number(a).view(bits)
        next_ = bits(word + bits(1) if (b > a) == (a > 0) else word - bits(1)).view(number)
        next_ = math.copysign(bits(1).view(number), b) if a == 0 else next_
        return number(a + b) if (a != a) | (b != b) else number(b) if a == b else number(next_)

    return register_jitable(forceinline=True)(after)


_after4, _after8 = _after(u4, f4), _after(u8, f8)


@floating
def nextafter(a, b, y):
    """By its bits."""
    return _after4(a, b) if _single(a) else _after8(a, b)
