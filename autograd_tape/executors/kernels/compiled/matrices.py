"""Factors of matrices and substitution in triangles, a block of columns or rows at a time: what lies outside the block is BLAS's."""

from __future__ import annotations

from .base import kernel


@kernel("w3[b,n,m] Q2[b,k] Q1[b] i i (k<=n) (k<=m) (first>=0) (first<=last) (last<=k) :b")
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


@kernel("r3[b,n,n] w3[b,n,k] i i i i (first>=0) (first<=last) (last<=n) :b")
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
