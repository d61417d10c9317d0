"""LU factors of batches of matrices, and equations with triangular matrices: by LAPACK where NumPy's library shows it and matrices have
some size, compiled where there is work enough for it, by NumPy's steps elsewhere, and in Python's own numbers where there are a handful.
Large matrices go in blocks, between which BLAS multiplies."""

from __future__ import annotations

from array import array
from math import copysign, inf, isfinite, nan
from typing import Any

import numpy as np

from . import routines
from .blas import squares
from ._on_demand import LazyModule, contiguous, state, uses_numba
from .handy import Handy
from .sharing import share_rows
from ...warned import ignoring

__all__ = ["factor_symmetric", "invert_definite", "lu", "orders", "solve_lu", "solve_symmetric", "solve_triangles"]

_compiled = LazyModule("matrices")
_eliminated, _backwards = Handy("matrices", "eliminate"), Handy("matrices", "substitute")
#: Up to how many columns a matrix is one block, and how many columns blocks have otherwise.
_WHOLE, _BLOCK = 64, 32
#: From how many columns on it costs more to turn a matrix than to copy blocks of it.
_LARGE = 160
#: How much more than a multiplication counts one of those that NumPy would make a handful at a time.
_STEPS = 1024
#: From how many columns on a matrix is LAPACK's, and for how many right sides at most it substitutes quicker in triangles as large as what
#: is one block.
_SOME, _SIDES = 32, 8
#: Up to how many multiplications Python's numbers are faster than a call of NumPy for each step.
_FEW = 200


def _blocks(n: int) -> list[tuple[int, int]]:
    step = n if n <= _WHOLE else _BLOCK
    return [(first, min(first + step, n)) for first in range(0, n, step or 1)]


def lu(matrices: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Overwrites matrices stored column by column, C-contiguous (b, columns, rows), with their LU factors; gives the pivots (b, k), counted
    from 1, and of each matrix the first zero on the diagonal of U, or 0.

    >>> a = np.array([[[1.0, 4.0], [2.0, 2.0]]])
    >>> pivots, zeros = lu(a)
    >>> a.tolist(), pivots.tolist(), zeros.tolist()
    ([[[4.0, 0.25], [2.0, 1.5]]], [[2, 2]], [0])
    """
    count, n, m = matrices.shape
    k = min(n, m)
    pivots, zeros = np.empty((count, k), np.int64), np.zeros(count, np.int64)
    work = matrices.size * k
    if not work:
        return pivots, zeros
    char = matrices.dtype.char
    if k >= _SOME and routines.shown(char) and isfinite(squares(matrices)):  # else LAPACK's choice of pivots is anybody's guess
        for i in range(count):
            zeros[i] = routines.lu(matrices[i], pivots[i])
        return pivots, zeros
    real = char in "fd"
    if real and k <= _WHOLE and 8 * work < state.fused:
        run = _eliminated.of(char, work)
        if run is not None:
            run(count, 1, matrices, pivots, zeros, 0, k)
            return pivots, zeros
        if work <= _FEW and _in_python(matrices, pivots, zeros):
            return pivots, zeros
    compiled = real and uses_numba(8 * work)
    for first, last in _blocks(k):
        if compiled:
            share_rows(_compiled.eliminate, char, count, n * m, last - first, matrices, pivots, zeros, first, last)
        else:
            _eliminate(matrices, pivots, zeros, first, last)
        if last < m and last < n:
            matrices[:, last:, last:] -= matrices[:, last:, first:last] @ matrices[:, first:last, last:]
    return pivots, zeros


def _in_python(matrices: np.ndarray, pivots: np.ndarray, zeros: np.ndarray) -> bool:
    """The same for few small numbers; False, and nothing done, where some are not finite."""
    char = matrices.dtype.char
    found = []
    for number, columns in enumerate(matrices.tolist()):
        if not isfinite(sum([sum(column) for column in columns])):
            return False
        m, exchanged = len(columns[0]) if columns else 0, []
        for j in range(pivots.shape[1]):
            column = columns[j]
            p = max(range(j, m), key=lambda i: abs(column[i]))  # the first of the largest
            exchanged.append(p + 1)
            if p != j:
                for other in columns:
                    other[j], other[p] = other[p], other[j]
            pivot = column[j]
            if pivot:
                column[j + 1:] = array(char, [x / pivot for x in column[j + 1:]])
            elif not zeros[number]:
                zeros[number] = j + 1
            lower = column[j + 1:]
            for other in columns[j + 1:]:  # rounded at each step, so that equal numbers stay equal, and as others compute
                factor = other[j]
                products = [x * factor for x in lower]
                other[j + 1:] = array(char, [y - x for x, y in zip(array(char, products) if char == "f" else products, other[j + 1:])])
        found.append((columns, exchanged))
    for number, (columns, exchanged) in enumerate(found):
        matrices[number], pivots[number] = columns, exchanged
    return True


def _eliminate(matrices: np.ndarray, pivots: np.ndarray, zeros: np.ndarray, first: int, last: int) -> None:
    """`eliminate` of the compiled kernels in NumPy's steps."""
    each = np.arange(len(matrices))
    for j in range(first, last):
        column = matrices[:, j, j:]
        largest = j + np.argmax(np.abs(column) if column.dtype.kind != "c" else np.abs(column.real) + np.abs(column.imag), 1)
        pivots[:, j] = largest + 1
        if len(each) == 1:  # views in place of copies by index
            p = int(largest[0])
            if p != j:
                matrices[0, :, [j, p]] = matrices[0, :, [p, j]]
        else:
            matrices[each, :, j], matrices[each, :, largest] = matrices[each, :, largest], matrices[:, :, j].copy()
        pivot = matrices[:, j, j]
        zero = pivot == 0
        if zero.any():
            zeros[zero & (zeros == 0)] = j + 1
            pivot = np.where(zero, 1, pivot)
        lower = matrices[:, j, j + 1:]
        lower /= pivot[:, None]
        matrices[:, j + 1:last, j + 1:] -= matrices[:, j + 1:last, j, None] * lower[:, None]
    for j in range(first, last):
        if last < matrices.shape[1]:
            matrices[:, last:, j + 1:last] -= matrices[:, last:, j, None] * matrices[:, j, None, j + 1:last]


def orders(pivots: np.ndarray, m: int) -> np.ndarray:
    """Which row comes where after the rows of matrices are exchanged one after another, as pivots (b, k) within 1 to ``m`` tell: (b, m).

    >>> orders(np.array([[2, 2]]), 3).tolist()
    [[1, 0, 2]]
    """
    count, k = pivots.shape
    if k < count:  # all matrices at once
        order = np.tile(np.arange(m), (count, 1))
        each = np.arange(count)
        for j in range(k):
            other = pivots[:, j].astype(np.int64) - 1
            order[each, j], order[each, other] = order[each, other], order[:, j].copy()
        return order
    rows = []
    for exchanged in pivots.tolist():
        row = list(range(m))
        for j, p in enumerate(exchanged):
            row[j], row[p - 1] = row[p - 1], row[j]
        rows.append(row)
    return np.array(rows, np.int64).reshape(count, m)


def solve_triangles(matrices: np.ndarray, *steps: tuple[np.ndarray, bool, bool]) -> np.ndarray:
    """X with T X = B for B (b, n, k) and batches T (b, n, n) of the same dtype, of which one triangle counts and, where ``unit``, the
    diagonal counts as ones: ``(T, upper, unit)``, and then the next of such steps with X in the place of B. Zeros on the diagonal make
    infinities, as in LAPACK. Gives the columns of X, (b, k, n), a new C-contiguous array.

    >>> solve_triangles(np.array([[[2.0], [4.0]]]), (np.array([[[2.0, 9.0], [0.0, 4.0]]]), True, True)).tolist()
    [[[-34.0, 4.0]]]
    """
    (count, n, k), char = matrices.shape, matrices.dtype.char
    if any([t.shape != (count, n, n) or t.dtype != matrices.dtype for t, _, _ in steps]):
        raise ValueError("as many square matrices of the same dtype expected")
    if n >= _WHOLE and k <= _SIDES and routines.shown(char):
        columns = matrices.swapaxes(1, 2).copy()
        for t, upper, unit in steps:
            for one, x in zip(t, columns):
                routines.substitute(one, x, upper, unit)
        return columns
    work = count * n * n * k
    if work <= _FEW and char in "fd":  # in double precision
        run = _backwards.of("d", work)
        if run is None or not work:
            found = matrices.tolist()
            for t, upper, unit in steps:
                found = [_substituted(one, x, upper, unit) for one, x in zip(t.tolist(), found)]
            return np.array(found, matrices.dtype).reshape(matrices.shape).swapaxes(1, 2).copy()
        wide = matrices.astype(np.float64, "C")
        for t, upper, unit in steps:
            run(count, 1, t.astype(np.float64, "C"), wide, int(upper), int(unit), 0, n)
        return wide.swapaxes(1, 2).astype(matrices.dtype, "C")
    x = matrices.copy("C")
    with ignoring():
        for t, upper, unit in steps:
            _substitute(t, x, upper, unit, work)
    return x.swapaxes(1, 2).copy()


def _substitute(triangles: np.ndarray, x: np.ndarray, upper: bool, unit: bool, work: int) -> None:
    """Overwrites B, C-contiguous, with X of one step."""
    count, n, k = x.shape
    compiled = x.dtype.char in "fd" and uses_numba(8 * work)
    blocks = _blocks(n)
    # Of a large one in columns the blocks on the diagonal are copied one by one, and BLAS reads the others as they lie.
    whole = count > 1 or n < _LARGE or triangles.flags.c_contiguous
    t = contiguous(triangles) if compiled and whole else triangles
    for first, last in reversed(blocks) if upper else blocks:
        if upper and last < n:
            x[:, first:last] -= t[:, first:last, last:] @ x[:, last:]
        elif not upper and first:
            x[:, first:last] -= t[:, first:last, :first] @ x[:, :first]
        if compiled and whole:
            share_rows(_compiled.substitute, x.dtype.char, count, n * k, last - first, t, x, int(upper), int(unit), first, last)
            continue
        if compiled:
            block = np.ascontiguousarray(t[:, first:last, first:last])
            share_rows(_compiled.substitute, x.dtype.char, 1, n * k, last - first, block, x[:, first:last], int(upper), int(unit), 0,
                       last - first)
            continue
        for i in range(last - 1, first - 1, -1) if upper else range(first, last):
            known = slice(i + 1, last) if upper else slice(first, i)
            if known.start < known.stop:
                x[:, i] -= (t[:, i:i + 1, known] @ x[:, known])[:, 0]
            if not unit:
                x[:, i] /= t[:, i, i, None]


def _substituted(t: list[list[Any]], x: list[list[Any]], upper: bool, unit: bool) -> list[list[Any]]:
    n = len(t)
    for i in reversed(range(n)) if upper else range(n):
        row, factors = x[i], t[i]
        for j in range(i + 1, n) if upper else range(i):
            factor = factors[j]
            row = [y - factor * z for y, z in zip(row, x[j])]
        pivot = factors[i]
        x[i] = row if unit else [y / pivot for y in row] if pivot else [_by_zero(y, pivot) for y in row]
    return x


def _by_zero(y: float, zero: float) -> float:
    return y * copysign(inf, zero) if y else nan


def solve_lu(factors: np.ndarray, pivots: np.ndarray, matrices: np.ndarray, adjoint: bool) -> np.ndarray:
    """The columns of X with A X = B, or A^H X = B, (b, k, n), for B (b, n, k), from the LU factors of A (b, n, n) and their pivots, counted
    from 1 and within its rows.

    >>> solve_lu(np.array([[[2.0]]]), np.array([[1]]), np.array([[[4.0]]]), False).tolist()
    [[[2.0]]]
    """
    count, n, k = matrices.shape
    order, each = orders(pivots, n), np.arange(count)[:, None]
    if not adjoint:
        return solve_triangles(matrices[each, order], (factors, False, True), (factors, True, False))
    turned = factors.conj().swapaxes(1, 2)
    Y = solve_triangles(matrices, (turned, False, False), (turned, True, True))
    X = np.empty_like(Y)
    X.swapaxes(1, 2)[each, order] = Y.swapaxes(1, 2)
    return X


def factor_symmetric(matrices: np.ndarray, hermitian: bool) -> tuple[np.ndarray, np.ndarray] | None:
    """Overwrites symmetric matrices (b, n, n), C-contiguous, of which the upper triangle counts, or Hermitian ones, with Bunch and
    Kaufman's factors, D L^T in rows; gives the pivots (b, n), and of each matrix the first zero on the diagonal of D, or 0. None, and
    nothing done, where there is no kernel for them or too little work."""
    count, n, _ = matrices.shape
    pivots, zeros = np.zeros((count, n), np.int64), np.zeros(count, np.int64)
    if n >= _SOME and routines.shown(matrices.dtype.char):
        for i in range(count):
            zeros[i] = routines.factor_symmetric(matrices[i], pivots[i], hermitian)
        return pivots, zeros
    if matrices.dtype.char not in "fd" or not uses_numba(_STEPS * n * matrices.size):
        return None
    share_rows(_compiled.factor_symmetric, matrices.dtype.char, count, n * n, n, matrices, pivots, zeros)
    return pivots, zeros


def invert_definite(factors: np.ndarray, upper: bool) -> np.ndarray | None:
    """The inverses of matrices, from their Cholesky factors (b, n, n), as columns; None where they are no LAPACK's."""
    n = factors.shape[1]
    if n < _WHOLE or not routines.shown(factors.dtype.char):
        return None
    columns = factors.swapaxes(1, 2).copy()
    for a in columns:
        routines.invert_definite(a, upper)
        half = a.T if upper else a  # of which the upper triangle was written, and is the other's transpose
        for first in range(0, n, _BLOCK):
            last = min(first + _BLOCK, n)
            half[first:last, :first] = half[:first, first:last].conj().T
            block = half[first:last, first:last]
            np.copyto(block, block.conj().T, where=np.tri(last - first, k=-1, dtype=np.bool_))
    return columns


def solve_symmetric(factors: np.ndarray, pivots: np.ndarray, matrices: np.ndarray) -> np.ndarray | None:
    """The columns of X with A X = B for B (b, n, k), from what `factor_symmetric` makes of A; None where there is no kernel for them, too
    little work, or where pivots are none of its."""
    count, n, k = matrices.shape
    if matrices.dtype.char not in "fd" or factors.dtype != matrices.dtype or not uses_numba(_STEPS * n * matrices.size):
        return None
    x, exchanges = matrices.copy("C"), np.ascontiguousarray(pivots, np.int64)
    try:
        share_rows(_compiled.solve_symmetric, x.dtype.char, count, n * k, n, contiguous(factors), exchanges, x)
    except IndexError:
        return None
    return x.swapaxes(1, 2).copy()
