"""Factors, solutions, determinants, singular values and exponentials of many small matrices, one after another, and powers of numbers, in
double precision."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import types
from numba.extending import overload, register_jitable

from .base import EXACT, REORDER, f8, i8, kernel, u8


@register_jitable
def _filled(w, width, a, at, n, turned):
    """Copies a matrix to the first columns of rows of scratch; False where a number is not finite."""
    total = 0.0
    for i in range(n):
        for j in range(n):
            value = f8(a[u8(at + j * n + i)]) if turned else f8(a[u8(at + i * n + j)])
            w[u8(i * width + j)] = value
            total += value * 0
    return total == 0


@register_jitable
def _eliminated(w, width, n, part):
    """Elimination in rows of scratch, the largest number below being the pivot: (the first pivot that is zero, or no larger than rounding
    makes it, such a `part` of the largest number, counted from 1, or 0; the sign of the exchanges)."""
    sign, least = 1.0, 0.0
    for i in range(n):
        for j in range(n):
            least = max(least, abs(w[u8(i * width + j)]) * part)
    for j in range(n):
        p, largest = j, abs(w[u8(j * width + j)])
        for i in range(j + 1, n):
            size = abs(w[u8(i * width + j)])
            if size > largest:
                p, largest = i, size
        if largest <= least:
            return j + 1, sign
        if p != j:
            sign = -sign
            for c in range(j, width):
                w[u8(j * width + c)], w[u8(p * width + c)] = w[u8(p * width + c)], w[u8(j * width + c)]
        pivot = w[u8(j * width + j)]
        for i in range(j + 1, n):
            factor = w[u8(i * width + j)] / pivot
            for c in range(j + 1, width):
                w[u8(i * width + c)] -= factor * w[u8(j * width + c)]
    return 0, sign


@register_jitable
def _rounded_off(a):
    """Pivots that are such a part of the largest number may be zeros: whether they are is LAPACK's to say, in its precision."""
    return 1e-5 if a.itemsize == 4 else 1e-13


@register_jitable
def _substituted(w, width, n):
    """Solutions in place of the columns behind a triangle."""
    for step in range(n):
        i = n - 1 - step
        for r in range(i + 1, n):
            factor = w[u8(i * width + r)]
            for c in range(n, width):
                w[u8(i * width + c)] -= factor * w[u8(r * width + c)]
        pivot = w[u8(i * width + i)]
        for c in range(n, width):
            w[u8(i * width + c)] /= pivot


@kernel("r0[b*n*n] r0[size] w0[b*k*n] T0[b] i i i i i (b>=0) (n>0) (k>0) (n<=64) ((size==0)|(size==b*n*k)) "
        "((size>0)|(k==n)|(b==0)) :b")
def solve(a, x, y, zeros, b, n, k, turned, x_turned, start, stop):
    """The columns of X with A X = B, or of the inverse where no B is given; matrices are in rows, or `turned` in columns. In ``zeros`` the
    first pivot that is perhaps zero, counted from 1, or -1 where a number is not finite; then nothing is written."""
    width = n + k
    w = np.empty(n * width, np.float64)
    for item in range(start, stop):
        finite = _filled(w, width, a, item * n * n, n, turned != 0)
        for i in range(n):
            for c in range(k):
                at = item * n * k + (c * n + i if x_turned else i * k + c)
                w[u8(i * width + n + c)] = f8(x[u8(at)]) if x.size else f8(i == c)
        if not finite:
            zeros[item] = -1
            continue
        zero, _ = _eliminated(w, width, n, _rounded_off(a))
        zeros[item] = zero
        if zero == 0:
            _substituted(w, width, n)
            for c in range(k):
                for i in range(n):
                    y[u8((item * k + c) * n + i)] = w[u8(i * width + n + c)]


@kernel("r0[b*n*n] w0[b] w0[size] T0[1] i i (b>=0) (n>0) (n<=64) ((size==0)|(size==b)) :b")
def determinants(a, y, logarithms, failed, b, n, start, stop):
    """Determinants, or their signs and the ``logarithms`` of their sizes; ``failed`` where a number is not finite, or a matrix perhaps
    singular."""
    w = np.empty(n * n, np.float64)
    for item in range(start, stop):
        if not _filled(w, n, a, item * n * n, n, False):
            failed[0] = 1
            continue
        zero, sign = _eliminated(w, n, n, _rounded_off(a))
        if zero:
            failed[0] = 1
            continue
        found, total = sign, 0.0
        for i in range(n):
            pivot = w[u8(i * n + i)]
            if logarithms.size:
                found = found if pivot > 0 else -found
                total += math.log(abs(pivot))
            else:
                found *= pivot
        y[item] = found
        if logarithms.size:
            logarithms[item] = total
        elif not abs(found) < math.inf:
            failed[0] = 1


@kernel("r0[b*n*n] w0[b*n*n] T0[b] i i i i (b>=0) (n>=0) (n<=64) :b")
def cholesky(a, y, failed, b, n, turned, upper, start, stop):
    """Cholesky's factors, column by column: of matrices by rows of which the lower triangles count, or `turned` the upper ones; or their
    transposes, the `upper` ones. In ``failed`` the order of the first minor that is perhaps not positive."""
    w = np.empty(n * n, np.float64)
    for item in range(start, stop):
        at = item * n * n
        for j in range(n):
            for i in range(j, n):
                total = f8(a[u8(at + (j * n + i if turned else i * n + j))])
                for c in range(j):
                    total -= w[u8(c * n + i)] * w[u8(c * n + j)]
                w[u8(j * n + i)] = total
            pivot = w[u8(j * n + j)]
            if not max(0.0, f8(a[u8(at + j * n + j)]) * _rounded_off(a)) < pivot < math.inf:
                failed[item] = j + 1
                break
            root = math.sqrt(pivot)
            w[u8(j * n + j)] = root
            for i in range(j + 1, n):
                w[u8(j * n + i)] /= root
        if failed[item] == 0:
            for j in range(n):
                for i in range(j, n):
                    y[u8(at + (i * n + j if upper else j * n + i))] = w[u8(j * n + i)]
                    if i > j:
                        y[u8(at + (j * n + i if upper else i * n + j))] = 0


def _one(array: Any) -> Any:
    """1 in double precision, or as an integer for those."""
    return 1.0


@overload(_one, strict=False)
def _one_(array: Any) -> object:
    return (lambda array: i8(1)) if array.dtype == types.int64 else lambda array: f8(1)


@kernel("r0[n] w0[n*k] i i (n>=0) (k>=2) :n", EXACT, "fdl", fresh=True)
def powers(x, y, k, turned, start, stop):
    """The powers 0 to k - 1 of numbers, or in the other order, of products in double precision or of integers."""
    for i in range(start, stop):
        number = x[i] * _one(x)
        product, at, step = number, i * k + (k - 1 if turned else 0), -1 if turned else 1
        y[u8(at)] = 1
        for j in range(1, k):
            y[u8(at + j * step)] = product
            product *= number


@register_jitable
def _dot(w, p, q, m):
    total = 0.0
    for i in range(m):
        total += w[u8(p * m + i)] * w[u8(q * m + i)]
    return total


@kernel("r0[b*m*k] w0[b*k] T0[1] i i i i s (b>=0) (m>0) (k>0) :b", REORDER)
def singular_values(a, y, failed, b, m, k, turned, tolerance, start, stop):
    """Singular values of matrices of k vectors of m numbers, in descending order: the vectors, rows of matrices (k, m), or `turned` columns
    of such (m, k), are turned pair by pair until they are orthogonal (Hestenes, J. SIAM 6, 1958). ``failed`` where a number is not
    finite."""
    w = np.empty(k * m, np.float64)
    for item in range(start, stop):
        at, largest, total = item * m * k, 0.0, 0.0
        for j in range(k):
            for i in range(m):
                value = f8(a[u8(at + i * k + j)]) if turned else f8(a[u8(at + j * m + i)])
                w[u8(j * m + i)] = value
                largest = max(largest, abs(value))
                total += value * 0
        if not total == 0:
            failed[0] = 1
            continue
        unit = 1.0
        if largest > 1e100 or 0 < largest < 1e-100:  # whose squares are no numbers
            unit = largest
            for i in range(k * m):
                w[i] /= unit
        for _ in range(30):
            turns = 0
            for p in range(k):
                for q in range(p + 1, k):
                    first, second, both = _dot(w, p, p, m), _dot(w, q, q, m), _dot(w, p, q, m)
                    if abs(both) <= tolerance * math.sqrt(first * second):
                        continue
                    turns += 1
                    ratio = (second - first) / (2 * both)
                    tangent = math.copysign(1.0, ratio) / (abs(ratio) + math.sqrt(1 + ratio * ratio))
                    cosine = 1 / math.sqrt(1 + tangent * tangent)
                    sine = cosine * tangent
                    for i in range(m):
                        left, right = w[u8(p * m + i)], w[u8(q * m + i)]
                        w[u8(p * m + i)] = cosine * left - sine * right
                        w[u8(q * m + i)] = sine * left + cosine * right
            if turns == 0:
                break
        else:
            failed[0] = 1
        for j in range(k):
            value, place = math.sqrt(_dot(w, j, j, m)) * unit, item * k + j
            while place > item * k and y[u8(place - 1)] < value:
                y[u8(place)] = y[u8(place - 1)]
                place -= 1
            y[u8(place)] = value


@register_jitable
def _times(w, a, b, to, n):
    """The product of two matrices of scratch, none of which it overwrites."""
    for i in range(n):
        for j in range(n):
            w[u8(to + i * n + j)] = 0
        for c in range(n):
            factor = w[u8(a + i * n + c)]
            for j in range(n):
                w[u8(to + i * n + j)] += factor * w[u8(b + c * n + j)]


@register_jitable
def _series(w, c, odd, x2, x4, x6, inner, to, n):
    """Every second term of Pade's polynomial, the even ones, or without a factor X the odd ones, of X^2, X^4 and X^6 in scratch."""
    size = n * n
    for i in range(size):
        w[u8(inner + i)] = c[12 + odd] * w[u8(x6 + i)] + c[10 + odd] * w[u8(x4 + i)] + c[8 + odd] * w[u8(x2 + i)]
    _times(w, x6, inner, to, n)
    for i in range(size):
        one = f8(i % (n + 1) == 0)
        w[u8(to + i)] += c[6 + odd] * w[u8(x6 + i)] + c[4 + odd] * w[u8(x4 + i)] + c[2 + odd] * w[u8(x2 + i)] + c[odd] * one


@kernel("r0[b*n*n] w0[b*n*n] T0[1] d1[14] i i (b>=0) (n>0) (n<=64) :b")
def exponentials(a, y, failed, coefficients, b, n, start, stop):
    """Exponentials by scaling, an approximant of Pade's of degree 13 with such coefficients, and squaring; ``failed`` where a number is not
    finite."""
    size = n * n
    w, v, c = np.empty(7 * size, np.float64), np.empty(2 * size, np.float64), coefficients
    x, x2, x4, x6, inner, odd, even = 0, size, 2 * size, 3 * size, 4 * size, 5 * size, 6 * size
    for item in range(start, stop):
        at = item * size
        if not _filled(w, n, a, at, n, False):
            failed[0] = 1
            continue
        norm, times = 0.0, 0
        for j in range(n):
            total = 0.0
            for i in range(n):
                total += abs(w[u8(i * n + j)])
            norm = max(norm, total)
        scale = 1.0
        while norm > 5.37 and times < 2000:
            norm, scale, times = norm / 2, scale / 2, times + 1
        for i in range(size):
            w[i] *= scale
        _times(w, x, x, x2, n)
        _times(w, x2, x2, x4, n)
        _times(w, x4, x2, x6, n)
        _series(w, c, 1, x2, x4, x6, inner, even, n)
        _times(w, x, even, odd, n)
        _series(w, c, 0, x2, x4, x6, inner, even, n)
        for i in range(n):
            for j in range(n):
                p, q = w[u8(even + i * n + j)], w[u8(odd + i * n + j)]
                v[u8(i * 2 * n + j)], v[u8(i * 2 * n + n + j)] = p - q, p + q
        zero, _ = _eliminated(v, 2 * n, n, 0.0)
        if zero:
            failed[0] = 1
            continue
        _substituted(v, 2 * n, n)
        for i in range(n):
            for j in range(n):
                w[u8(i * n + j)] = v[u8(i * 2 * n + n + j)]
        now, then = x, x2
        for _ in range(times):
            _times(w, now, now, then, n)
            now, then = then, now
        for i in range(size):
            y[u8(at + i)] = w[u8(now + i)]
