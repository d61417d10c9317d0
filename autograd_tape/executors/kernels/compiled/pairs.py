"""Functions of two numbers over arrays that are broadcast: a formula each, in one loop for all of them.

The result lies in rows, of three dimensions; each operand lies in rows, too, and has a step along each of them, none where it is repeated.
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
from .base import EXACT, FUSE, exp, f8, kernel, like, log1p_unit, rounded, wide

_SPEC = ("r1[nx] r1[nz] {}1[n1*n2*n3] i i i i i i i i i (n1>0) (n2>0) (n3>0) (n1*n2<=2147483648) (x1>=0) (x2>=0) (x3>=0) (x3<2) (z1>=0) "
         "(z2>=0) (z3>=0) (z3<2) (x3+z3>0) ((n1-1)*x1+(n2-1)*x2+(n3-1)*x3<nx) ((n1-1)*z1+(n2-1)*z2+(n3-1)*z3<nz) :n1*n2*n3")
_LINE = 2048  # elements after which a quick formula's results are looked at


def _made(formula: Fn, out: str, exact: bool, quick: Fn | None = None) -> Kernel:
    options: Any = {"nogil": True, "error_model": "numpy", "forceinline": True, "fastmath": set(EXACT if exact else FUSE) or False}
    number = register_jitable(**options)(formula)
    first = number if quick is None else register_jitable(**options)(quick)
    unsure = quick is not None

    def loop(x, z, y, n1, n2, n3, x1, x2, x3, z1, z2, z3, start, stop):
        at = start
        while at < stop:
            row, begin = at // n3, at % n3
            count = min(n3 - begin, stop - at, _LINE)
            xat = row // n2 * x1 + row % n2 * x2 + begin * x3
            zat = row // n2 * z1 + row % n2 * z2 + begin * z3
            ys, xs, zs = y[at : at + count], x[xat : xat + (count - 1) * x3 + 1], z[zat : zat + (count - 1) * z3 + 1]
            failed = False
            if x3 == z3:
                for i in range(ys.size):
                    v = first(wide(xs[i]), wide(zs[i]), y)
                    ys[i] = rounded(y, v)
                    failed |= v != v
            elif x3:
                b = wide(zs[0])
                for i in range(ys.size):
                    v = first(wide(xs[i]), b, y)
                    ys[i] = rounded(y, v)
                    failed |= v != v
            else:
                a = wide(xs[0])
                for i in range(ys.size):
                    v = first(a, wide(zs[i]), y)
                    ys[i] = rounded(y, v)
                    failed |= v != v
            if unsure and failed:
                for i in range(ys.size):
                    ys[i] = rounded(y, number(wide(xs[i * x3]), wide(zs[i * z3]), y))
            at += count

    loop.__name__ = loop.__qualname__ = formula.__name__
    return kernel(_SPEC.format(out), EXACT if exact else FUSE)(loop)


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
    """The same of truth values."""
    return _made(formula, "B", True)


# -- what division leaves -----------------------------------------------------------------------------------------------


def _double(a: object) -> object:
    return a


@overload(_double, strict=False)
def _double_(a: object) -> object:
    return (lambda a: f8(a)) if a == types.float32 else (lambda a: a)


_SURE = 268435456.0  # 2**28


def _fmod_quick(a, b, y):
    """In double precision the quotient of two float32 is on the right side of each whole number up to 2**28, and the product exact."""
    wide_a, wide_b = f8(a), f8(b)
    quotient = wide_a / wide_b
    rest = math.copysign(abs(wide_a - np.trunc(quotient) * wide_b), wide_a)
    return like(a, rest if abs(quotient) < (_SURE if _single(a) else 1.0) else math.nan)


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


@pair
def add(a, b, y):
    return a + b


@pair
def subtract(a, b, y):
    return a - b


@pair
def multiply(a, b, y):
    return a * b


@pair
def divide(a, b, y):
    return a / b


@pair
def maximum(a, b, y):
    return a if (a >= b) | (a != a) else b


@pair
def minimum(a, b, y):
    return a if (a <= b) | (a != a) else b


@pair
def fmax(a, b, y):
    return a if (a >= b) | (b != b) else b


@pair
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
