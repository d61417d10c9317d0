"""The least and the largest of all numbers of an array in one pass, in vectors: minima and maxima pass over NaN, which is looked for beside
them, and signs of zeros are looked at where one of them is zero."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic, overload

from .base import EXACT, kernel, rounded, wide
from .folds import eight, one, total
from .simd import LANES, Vector


def _compared(builder: Any, kind: Any, order: str, a: Any, b: Any) -> Any:
    return (builder.icmp_signed if isinstance(kind, types.Integer) else builder.fcmp_ordered)(order, a, b)


@intrinsic
def lesser(typingctx, a, b):
    """The lesser of each two numbers; the second where one is NaN."""

    def codegen(context, builder, signature, args):
        return builder.select(_compared(builder, a.dtype, "<", *args), *args)

    return a(a, b), codegen


@intrinsic
def larger(typingctx, a, b):
    """The larger of each two numbers; the second where one is NaN."""

    def codegen(context, builder, signature, args):
        return builder.select(_compared(builder, a.dtype, ">", *args), *args)

    return a(a, b), codegen


@intrinsic
def missing(typingctx, a, b):
    """Where one of two is NaN, as integers of which all bits are set there."""
    word = types.int32 if a.dtype.bitwidth == 32 else types.int64

    def codegen(context, builder, signature, args):
        kind = ir.VectorType(ir.IntType(word.bitwidth), LANES)
        if isinstance(a.dtype, types.Integer):
            return ir.Constant(kind, [0] * LANES)
        return builder.sext(builder.fcmp_unordered("uno", *args), kind)

    return Vector(word)(a, b), codegen


@intrinsic
def either(typingctx, a, b):
    """Bits that are set in one of two."""
    return a(a, b), lambda context, builder, signature, args: builder.or_(*args)


def _across(operation: str) -> Any:
    @intrinsic
    def across(typingctx, vector):
        def codegen(context, builder, signature, args):
            parts = [builder.extract_element(args[0], ir.Constant(ir.IntType(32), i)) for i in range(LANES)]
            while len(parts) > 1:
                pairs = [(parts[i], parts[i + 1]) for i in range(0, len(parts), 2)]
                parts = [builder.or_(*p) if operation == "|" else builder.select(_compared(builder, vector.dtype, operation, *p), *p)
                         for p in pairs]
            return parts[0]

        return vector.dtype(vector), codegen

    return across


least_of, largest_of, any_of = _across("<"), _across(">"), _across("|")


def zeros(x: Any) -> tuple[bool, bool]:
    """Whether there is a zero with the sign, of numbers of which none is less, and one without, of which none is larger."""
    minus = plain = 0
    for i in range(x.size):
        v = wide(x[i])
        negative = math.copysign(1.0, v) < 0.0
        minus += (v == 0.0) & negative
        plain += (v == 0.0) & (not negative)
    return minus > 0, plain > 0


@overload(zeros, strict=False)
def _zeros(x):
    if x.dtype == types.int64:
        return lambda x: (False, True)
    word = {2: np.int16, 4: np.int32, 8: np.int64}[x.dtype.bitwidth // 8]
    sign = np.iinfo(word).min

    def found(x):  # by the bits, in vectors: all numbers are of one sign
        bits = x.view(word)
        low = high = bits[0]
        for i in range(bits.size):
            low, high = bits[i] if bits[i] < low else low, bits[i] if bits[i] > high else high
        return low == sign, high >= 0

    return found


def first_as(x: Any, v: Any) -> int:
    """The place of the first number that equals another, or of the first NaN where that is NaN; it is among them."""
    for i in range(x.size):
        u = wide(x[i])
        if u == v or (u != u and v != v):
            return i
    return 0


@overload(first_as, strict=False)
def _first_as(x, v):
    return first_as


@kernel("r0[n] w0[1]? w0[1]? i (n>0) :1", EXACT, dtypes="fdlEe")
def whole(x, least, largest, first, start, stop):
    """The least number and the largest, of which one may be left out. NaN where there is one; of zeros of both signs the least is that with
    it, the largest that without. With ``first`` they are the first of equal ones, and NaN is as it lies."""
    for _ in range(start, stop):
        low = high = one(x, 0, 0)
        lost = low != low
        if x.size < 8:
            for i in range(1, x.size):
                v = one(x, i, 0)
                low, high, lost = v if v < low else low, v if v > high else high, lost or v != v
        else:
            a = eight(x, x.size - 8, 0)  # some of which come once more
            bottom, top, gone = a, a, missing(a, a)
            under, over = a, a
            for i in range(0, x.size - 15, 16):
                a, b = eight(x, i, 0), eight(x, i + 8, 0)
                bottom, top, gone = lesser(a, bottom), larger(a, top), either(gone, missing(a, b))
                under, over = lesser(b, under), larger(b, over)
            if x.size % 16 >= 8:
                a = eight(x, x.size - x.size % 16, 0)
                bottom, top, gone = lesser(a, bottom), larger(a, top), either(gone, missing(a, a))
            low, high, lost = least_of(lesser(bottom, under)), largest_of(larger(top, over)), any_of(gone) != 0
        if lost:
            low = high = total(x, math.nan)
        if first and (lost or low == 0 or high == 0):
            if least.size:
                least[0] = x[first_as(x, low)]
            if largest.size:
                largest[0] = x[first_as(x, high)]
        else:
            if low == 0 or high == 0:
                minus, plain = zeros(x)
                low = -total(x, 0) if low == 0 and minus else low
                high = total(x, 0) if high == 0 and plain else high
            if least.size:
                least[0] = rounded(least, low)
            if largest.size:
                largest[0] = rounded(largest, high)
