"""Factors of matrices and substitution in triangles, a block of columns or rows at a time: what lies outside the block is BLAS's."""

from __future__ import annotations

from .base import EXACT, kernel


@kernel("w3[b,n,m] Q2[b,k] Q1[b] i i (k<=n) (k<=m) (first>=0) (first<=last) (last<=k) :b", EXACT)
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


@kernel("w3[b,n,n] Q2[b,n] Q1[b] :b")
def factor_symmetric(matrices, pivots, zeros, start, stop):
    """Bunch and Kaufman's factors of symmetric matrices in [start, stop), of which the lower triangles are stored column by column: in
    ``pivots`` the rows exchanged, counted from 1, negative where two columns are eliminated together, and in ``zeros`` the first zero on
    the diagonal of D."""
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
