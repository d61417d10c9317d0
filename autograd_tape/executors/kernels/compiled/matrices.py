"""Factors of matrices and substitution in triangles, a block of columns or rows at a time: what lies outside the block is BLAS's; and what
is computed of few numbers of matrices."""

from __future__ import annotations

import math
from typing import Any

from numba import types
from numba.extending import overload, register_jitable

from .base import EXACT, f4, f8, i8, kernel, rounded, u8, wide


@kernel("w3[b,n,m] T2[b,k] T1[b] i i (k<=n) (k<=m) (first>=0) (first<=last) (last<=k) :b", EXACT)
def eliminate(matrices, pivots, zeros, first, last, start, stop):
    """LU factors of the columns [first, last) of matrices stored column by column, for matrices in [start, stop): the largest element below
    is the pivot, whose row changes its place in all columns; the rows [first, last) of later columns become U's. ``zeros`` has the first
    zero pivot of each, counted from 1."""
    n, m = matrices.shape[1], matrices.shape[2]
    for b in range(start, stop):
        columns = matrices[b]
        for j in range(first, last):
            column = columns[j]
            p, largest = j, abs(column[j])
            for i in range(j + 1, m):
                size = abs(column[i])
                if size > largest or (size != size and largest == largest):
                    p, largest = i, size
            pivots[b, j] = p + 1
            if p != j:
                for c in range(n):
                    columns[c, j], columns[c, p] = columns[c, p], columns[c, j]
            pivot = column[j]
            if pivot == 0:
                if zeros[b] == 0:
                    zeros[b] = j + 1
            else:
                for i in range(j + 1, m):
                    column[i] /= pivot
            for c in range(j + 1, last):
                other, factor = columns[c], columns[c, j]
                for i in range(j + 1, m):
                    other[i] -= column[i] * factor
        for c in range(last, n):
            other = columns[c]
            for j in range(first, last):
                column, factor = columns[j], other[j]
                for i in range(j + 1, last):
                    other[i] -= column[i] * factor


@kernel("r3[b,n,n] w3[b,n,k] i i i i (first>=0) (first<=last) (last<=n) :b", EXACT)
def substitute(triangles, matrices, upper, unit, first, last, start, stop):
    """The rows [first, last) of X with T X = B, for matrices in [start, stop): B, less what the rows solved before take part in, is
    overwritten. Of T one triangle counts, and where ``unit`` its diagonal counts as ones."""
    for b in range(start, stop):
        t, x = triangles[b], matrices[b]
        for step in range(last - first):
            i = last - 1 - step if upper else first + step
            row = x[i]
            for j in range(i + 1 if upper else first, last if upper else i):
                other, factor = x[j], t[i, j]
                for c in range(row.size):
                    row[c] -= other[c] * factor
            if not unit:
                pivot = t[i, i]
                for c in range(row.size):
                    row[c] /= pivot


@kernel("w3[b,n,n] T2[b,n] T1[b] :b")
def factor_symmetric(matrices, pivots, zeros, start, stop):
    """Bunch and Kaufman's factors of symmetric matrices in [start, stop), of which the lower triangles are stored column by column, and
    zeros above: in ``pivots`` the rows exchanged, counted from 1, negative where two columns are eliminated together, and in ``zeros`` the
    first zero on the diagonal of D."""
    n = matrices.shape[1]
    alpha = 0.6403882032022076  # (1 + sqrt(17)) / 8
    for b in range(start, stop):
        a = matrices[b]
        k = 0
        while k < n:
            column = a[k]
            here, largest, r, step = abs(column[k]), abs(column[k]) * 0, k, 1
            for i in range(k + 1, n):
                if abs(column[i]) > largest:
                    largest, r = abs(column[i]), i
            if here != here or (here == 0 and largest == 0):
                r = k
                if zeros[b] == 0:
                    zeros[b] = k + 1
            elif here >= alpha * largest:
                r = k
            else:
                others = largest * 0
                for j in range(k, r):
                    others = max(others, abs(a[j, r]))
                for i in range(r + 1, n):
                    others = max(others, abs(a[r, i]))
                if here >= alpha * largest * (largest / others):
                    r = k
                elif abs(a[r, r]) < alpha * others:
                    step = 2
            end = k + step
            q = end - 1
            if r != q:
                for i in range(r + 1, n):
                    a[q, i], a[r, i] = a[r, i], a[q, i]
                for i in range(q + 1, r):
                    a[q, i], a[i, r] = a[i, r], a[q, i]
                a[q, q], a[r, r] = a[r, r], a[q, q]
                if step == 2:
                    a[k, q], a[k, r] = a[k, r], a[k, q]
            if step == 1:
                pivots[b, k] = r + 1
                pivot = column[k]
                if pivot != 0:
                    for j in range(end, n):
                        other, factor = a[j], column[j] / pivot
                        for i in range(j, n):
                            other[i] -= column[i] * factor
                        column[j] = factor
            else:
                pivots[b, k] = -r - 1
                pivots[b, q] = -r - 1
                second = a[q]
                beside = column[q]
                first_pivot, second_pivot = column[k] / beside, second[q] / beside
                scale = beside * (first_pivot * second_pivot - 1)
                for j in range(end, n):
                    other = a[j]
                    x = (column[j] * second_pivot - second[j]) / scale
                    y = (second[j] * first_pivot - column[j]) / scale
                    for i in range(j, n):
                        other[i] -= column[i] * x + second[i] * y
                    column[j] = x
                    second[j] = y
            k = end
        for j in range(n):
            for i in range(j):
                a[j, i] = 0


@kernel("r3[b,n,n] x2[b,n] w3[b,n,m] :b")
def solve_symmetric(factors, pivots, matrices, start, stop):
    """X with A X = B in place of B, from the factors of A as ``factor_symmetric`` leaves them; False where pivots name no rows or pairs."""
    n, m = factors.shape[1], matrices.shape[2]
    for b in range(start, stop):
        a, x = factors[b], matrices[b]
        k = 0
        while k < n:
            p = pivots[b, k]
            step = 1 if p > 0 else 2
            r, end, q = abs(p) - 1, k + step, k + step - 1
            if r < 0 or r >= n or end > n:
                return False
            top, bottom, other = x[k], x[q], x[r]
            for c in range(m):
                bottom[c], other[c] = other[c], bottom[c]
            for i in range(end, n):
                row, factor, second = x[i], a[k, i], a[q, i]
                if step == 1:
                    for c in range(m):
                        row[c] -= top[c] * factor
                else:
                    for c in range(m):
                        row[c] -= top[c] * factor + bottom[c] * second
            if step == 1:
                pivot = a[k, k]
                for c in range(m):
                    top[c] /= pivot
            else:
                beside = a[k, q]
                first_pivot, second_pivot = a[k, k] / beside, a[q, q] / beside
                scale = beside * (first_pivot * second_pivot - 1)
                for c in range(m):
                    above, below = top[c], bottom[c]
                    top[c] = (above * second_pivot - below) / scale
                    bottom[c] = (below * first_pivot - above) / scale
            k = end
        q = n - 1
        while q >= 0:
            p = pivots[b, q]
            k = q if p > 0 else q - 1
            r = abs(p) - 1
            if r < 0 or r >= n or k < 0:
                return False
            top, bottom, other = x[k], x[q], x[r]
            for i in range(q + 1, n):
                row, factor, second = x[i], a[k, i], a[q, i]
                if k == q:
                    for c in range(m):
                        top[c] -= row[c] * factor
                else:
                    for c in range(m):
                        top[c] -= row[c] * factor
                        bottom[c] -= row[c] * second
            for c in range(m):
                bottom[c], other[c] = other[c], bottom[c]
            q = k - 1
    return True


@kernel("t0[b*k] Q0[b*m] r1[one] w0[n] i i i (one==1) (b>=0) (k>=0) (k<=m) ((n==0)|(n==b*m*m)) :b", EXACT, "fdHB")
def exchange(pivots, order, ones, P, b, k, m, start, stop):
    """Which row comes where after m rows are exchanged one after another, as k pivots, counted from 1, tell; and the matrices that bring
    them back there, of zeros and of what `ones` has, unless P is empty."""
    for item in range(start, stop):
        rows = order[item * m : (item + 1) * m]
        for i in range(m):
            rows[i] = i
        for j in range(k):
            p = i8(pivots[item * k + j]) - 1
            if p < 0 or p >= m:
                return False
            rows[j], rows[p] = rows[p], rows[j]
        if P.size:
            matrix = P[item * m * m : (item + 1) * m * m]
            for i in range(matrix.size):
                matrix[i] = 0
            for i in range(m):
                matrix[rows[i] * m + i] = ones[0]
    return True


@kernel("r0[b*m*n] r1[one] w0[b*m*k] w0[b*k*n] i i i i i (one==1) (b>=0) (m>=0) (n>=0) (k>=0) (k<=m) (k<=n) ((k==m)|(k==n)) :b", EXACT,
        "fdHB", fresh=True)
def apart(factors, ones, lower, upper, b, m, n, k, columns, start, stop):
    """The triangles of LU factors (m, n), which lie in rows or in `columns`: the lower one with ones on its diagonal."""
    down, right = (u8(1), u8(m)) if columns else (u8(n), u8(1))
    for item in range(start, stop):
        for i in range(m):
            row, left, over = (u8(item) * u8(m) * u8(n) + u8(i) * down, (u8(item) * u8(m) + u8(i)) * u8(k),
                               (u8(item) * u8(k) + u8(i)) * u8(n))
            for j in range(min(i, k)):
                lower[left + u8(j)] = factors[row + u8(j) * right]
            for j in range(i, k):
                lower[left + u8(j)] = 0
            if i < k:
                lower[left + u8(i)] = ones[0]
                for j in range(i):
                    upper[over + u8(j)] = 0
                for j in range(i, n):
                    upper[over + u8(j)] = factors[row + u8(j) * right]


@register_jitable
def _reflect(h, at, m, n, tau, to):
    """Overwrites the columns of a matrix (m, n), the first of which is at a place, with R and Householder's reflectors, as LAPACK does."""
    for j in range(min(m, n)):
        column = h[at + j * m : at + (j + 1) * m]
        alpha, largest, below = f8(column[j]), 0.0, 0.0
        for i in range(j + 1, m):
            size = abs(f8(column[i]))
            largest, below = max(largest, size), below + size
        if below == 0:  # and not NaN, of which no maximum tells
            tau[to + j] = 0
            continue
        total, largest = 0.0, max(largest, abs(alpha))
        for i in range(j, m):
            total += (f8(column[i]) / largest) * (f8(column[i]) / largest)
        beta = -math.copysign(largest * math.sqrt(total), alpha)
        factor, scale = (beta - alpha) / beta, alpha - beta
        tau[to + j] = factor
        column[j] = beta
        for i in range(j + 1, m):
            column[i] /= scale
        for c in range(j + 1, n):
            _mirror(column, h[at + c * m : at + (c + 1) * m], j, m, factor)


@register_jitable
def _mirror(column, other, j, m, factor):
    """Applies a reflector, which has a 1 at row j and what a column has below it."""
    total = f8(other[j])
    for i in range(j + 1, m):
        total += f8(column[i]) * f8(other[i])
    total *= factor
    other[j] -= total
    for i in range(j + 1, m):
        other[i] -= total * f8(column[i])


@register_jitable
def _unreflect(q, at, m, c, k, tau, to):
    """Overwrites k reflectors with c columns of their product."""
    for j in range(k, c):
        for i in range(m):
            q[at + j * m + i] = i == j
    for step in range(k):
        j = k - 1 - step
        column, factor = q[at + j * m : at + (j + 1) * m], f8(tau[to + j])
        for other in range(j + 1, c):
            _mirror(column, q[at + other * m : at + (other + 1) * m], j, m, factor)
        for i in range(m):
            column[i] = 0 if i < j else 1 - factor if i == j else -factor * column[i]


@kernel("w0[b*n*m] w0[b*k] i i i i (b>=0) (m>=0) (n>=0) (k>=0) (k<=m) (k<=n) ((k==m)|(k==n)) :b", EXACT)
def reflect(h, tau, b, m, n, k, start, stop):
    """R and reflectors in place of the columns of matrices (m, n), and the reflectors' factors."""
    for item in range(start, stop):
        _reflect(h, item * n * m, m, n, tau, item * k)


@kernel("w0[b*c*m] r0[b*k] i i i i (b>=0) (m>=0) (k>=0) (k<=c) (c<=m) :b", EXACT)
def unreflect(q, tau, b, m, c, k, start, stop):
    """The first c columns of products of k reflectors in place of these."""
    for item in range(start, stop):
        _unreflect(q, item * c * m, m, c, k, tau, item * k)


@kernel("w0[b*n*m] w0[b*k] w0[b*c*m] w0[b*n*c] i i i i i (b>=0) (m>=0) (n>=0) (k>=0) (k<=m) (k<=n) ((k==m)|(k==n)) (c>=k) (c<=m) :b", EXACT)
def factor(h, tau, q, r, b, m, n, k, c, start, stop):
    """`reflect`, then the first c columns of Q, and R with c rows, as columns."""
    for item in range(start, stop):
        _reflect(h, item * n * m, m, n, tau, item * k)
        for j in range(n):
            for i in range(c):
                r[(item * n + j) * c + i] = h[(item * n + j) * m + i] if i <= j else 0
        for j in range(k):
            for i in range(m):
                q[(item * c + j) * m + i] = h[(item * n + j) * m + i]
        _unreflect(q, item * c * m, m, c, k, tau, item * k)


def _nothing(array: Any) -> Any:
    """The sum of none of an array's elements: in double precision, of half precision in single."""
    return 0.0


@overload(_nothing, strict=False)
def _nothing_(array: Any) -> object:
    if array.dtype in (types.uint16, types.int16):
        return lambda array: f4(0)
    return (lambda array: i8(0)) if array.dtype == types.int64 else lambda array: f8(0)


@kernel("r0[rows*columns] i i w0[n] (rows>=0) (columns>=0) (n==1) :n", EXACT, "fdEel")
def trace(x, rows, columns, y, start, stop):
    """The sum of the diagonal, one number after another."""
    for item in range(start, stop):
        total = _nothing(x)
        for i in range(min(rows, columns)):
            total += wide(x[u8(i) * u8(columns + 1)])
        y[item] = rounded(y, total)


@kernel("r0[na] r0[nb] w0[n1*3*n2] i i i i i i i i (n1>0) (n2>0) (a1>=0) (a>=0) (a2>=0) (b1>=0) (b>=0) (b2>=0) "
        "((n1-1)*a1+2*a+(n2-1)*a2<na) ((n1-1)*b1+2*b+(n2-1)*b2<nb) :n1*n2", EXACT, "fdEel", fresh=True)
def cross(x, z, y, n1, n2, a1, a, a2, b1, b, b2, start, stop):
    """Cross products of vectors along the middle one of three dimensions, along which operands have steps of their own; each product is
    rounded."""
    at = start
    while at < stop:
        i, j = at // n2, at % n2
        if n2 == 1:
            count, by_x, by_z, by_y = stop - at, u8(a1), u8(b1), u8(3)
        else:
            count, by_x, by_z, by_y = min(n2 - j, stop - at), u8(a2), u8(b2), u8(1)
        of, by, to = u8(i * a1 + j * a2), u8(i * b1 + j * b2), u8(i * 3 * n2 + j)
        for _ in range(count):
            x0, x1, x2 = wide(x[of]), wide(x[of + u8(a)]), wide(x[of + u8(2 * a)])
            z0, z1, z2 = wide(z[by]), wide(z[by + u8(b)]), wide(z[by + u8(2 * b)])
            y[to] = rounded(y, wide(rounded(y, x1 * z2)) - wide(rounded(y, x2 * z1)))
            y[to + u8(n2)] = rounded(y, wide(rounded(y, x2 * z0)) - wide(rounded(y, x0 * z2)))
            y[to + u8(2 * n2)] = rounded(y, wide(rounded(y, x0 * z1)) - wide(rounded(y, x1 * z0)))
            of, by, to = of + by_x, by + by_z, to + by_y
        at += count
