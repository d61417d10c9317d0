"""LU factors of batches of matrices, and equations with triangular matrices: by LAPACK where NumPy's library shows it and matrices have
some size, compiled where there is work enough for it, by NumPy's steps elsewhere, and in Python's own numbers where there are a handful.
Large matrices go in blocks, between which BLAS multiplies."""

from __future__ import annotations

from array import array
from functools import lru_cache
from math import copysign, inf, isfinite, nan, prod
from typing import Any

import numpy as np

from . import lapack, pairs, routines
from ._on_demand import KEPT, LazyModule, contiguous, is_half, state, uses_numba
from .blas import squares
from .handy import Exact, Handy
from .sharing import MOVED, copy, share_rows
from ...warned import ignoring

__all__ = [
    "bounds", "cross", "factor_symmetric", "invert_definite", "keep_triangle", "lu", "orders", "permutations", "qr", "reflected",
    "reflectors", "solve_lu", "solve_symmetric", "solve_triangles", "trace", "triangles",
]

_compiled = LazyModule("matrices")
_eliminated, _backwards = Handy("matrices", "eliminate"), Handy("matrices", "substitute")
_exchanged, _traced = Handy("matrices", "exchange"), Handy("matrices", "trace")
_trace_at_hand = _traced.at_hand
_reflect, _unreflect, _factor, _bunched, _symmetric = [
    Handy("matrices", name) for name in ("reflect", "unreflect", "factor", "factor_symmetric", "solve_symmetric")]
_apart, _crossed = Exact("matrices", "apart"), Exact("matrices", "cross")
#: Up to how many columns a matrix is one block, and how many columns blocks have otherwise.
_WHOLE, _BLOCK = 64, 32
#: From how many columns on it costs more to turn a matrix than to copy blocks of it.
_LARGE = 160
#: How much more than a multiplication counts one of those that NumPy would make a handful at a time.
_STEPS = 1024
#: Up to how many elements masks of triangles are kept.
_MASKED = 1 << 16
#: Of how many numbers on QR factorizations are made by LAPACK's routines, up to how many multiplications by loops of our own, and of how
#: many numbers reflectors are multiplied by these.
_NUMBERS, _LOOPS, _MULTIPLIED = 1024, 8192, 512
#: From how many columns on a matrix is LAPACK's, from how many rows on its LU factors are, and for how many right sides at most LAPACK
#: substitutes quicker in triangles as large as what is one block.
_SOME, _TALL, _SIDES = 32, 1024, 8
#: Up to how many multiplications Python's numbers are faster than a call of NumPy for each step.
_FEW = 200


def _blocks(n: int) -> list[tuple[int, int]]:
    step = n if n <= _WHOLE else _BLOCK
    return [(first, min(first + step, n)) for first in range(0, n, step or 1)]


def lu(matrices: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Overwrites matrices stored column by column, C-contiguous (b, columns, rows), with their LU factors; gives the pivots (b, k), counted
    from 1, and of each matrix the first zero on the diagonal of U, or 0, in 32 bits.

    >>> a = np.array([[[1.0, 4.0], [2.0, 2.0]]])
    >>> pivots, zeros = lu(a)
    >>> a.tolist(), pivots.tolist(), zeros.tolist()
    ([[[4.0, 0.25], [2.0, 1.5]]], [[2, 2]], [0])
    """
    count, n, m = matrices.shape
    k = n if n < m else m
    pivots, zeros = np.empty((count, k), np.int32), np.zeros(count, np.int32)
    work = matrices.size * k
    if not work:
        return pivots, zeros
    char = matrices.dtype.char
    if 8 * work < KEPT and (run := _eliminated.of(char, work) if char in "fd" else None) is not None:  # few, which are asked for most
        run(count, 1, matrices, pivots, zeros, 0, k)
        return pivots, zeros
    if (k >= _SOME or m >= _TALL) and routines.shown(char) and isfinite(squares(matrices)):  # else its choice of pivots is anybody's guess
        found = np.empty((count, k), np.int64)
        for i in range(count):
            zeros[i] = routines.lu(matrices[i], found[i])
        return found.astype(np.int32), zeros
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


def bounds(pivots: np.ndarray) -> tuple[int, int]:
    """The least and the largest of pivots; 1 and 0 where there are none."""
    return (int(np.minimum.reduce(pivots, None)), int(np.maximum.reduce(pivots, None))) if pivots.size else (1, 0)


_NO_MATRICES = np.empty((0, 0, 0), np.float32)


@lru_cache(64)
def _one(dtype: np.dtype, char: str) -> np.ndarray:
    """A 1 of a dtype, as what its bits are moved."""
    return np.ones(1, dtype).view(char)


def orders(pivots: np.ndarray, m: int, P: np.ndarray = _NO_MATRICES) -> np.ndarray:
    """Which row comes where after the rows of matrices are exchanged one after another, as pivots (..., k), counted from 1, tell: (..., m).
    IndexError where they name no row. Matrices ``P`` (..., m, m) become those that bring the rows back.

    >>> orders(np.array([2, 2], np.int32), 3).tolist()
    [1, 0, 2]
    """
    *lead, k = pivots.shape
    count, char = prod(lead), MOVED.get(P.itemsize)
    run = _exchanged.of(char, count * m) if char is not None and pivots.dtype == np.int32 else None
    order = np.empty((*lead, m), np.int64)
    if run is not None and char is not None:
        run(count, 1, contiguous(pivots), order, _one(P.dtype, char), P.view(char), count, k, m)
        return order
    least, most = bounds(pivots)
    if least < 1 or most > m:
        raise IndexError("pivots that name rows expected")
    rows, flat = order.reshape(count, m), pivots.reshape(count, k).astype(np.int64) - 1
    rows[:] = np.arange(m)
    if k < count:  # all matrices at once
        each = np.arange(count)
        for j in range(k):
            rows[each, j], rows[each, flat[:, j]] = rows[each, flat[:, j]], rows[:, j].copy()
    else:
        for row, exchanged in zip(rows, flat.tolist()):
            moved = list(range(m))
            for j, p in enumerate(exchanged):
                moved[j], moved[p] = moved[p], moved[j]
            row[:] = moved
    if P.size:
        P[...] = 0
        P.reshape(count, m, m)[np.arange(count)[:, None], rows, np.arange(m)] = 1
    return order


def permutations(pivots: np.ndarray, m: int, dtype: np.dtype) -> np.ndarray:
    """The matrices (..., m, m) that bring the rows back there.

    >>> permutations(np.array([2], np.int32), 2, np.dtype(bool)).tolist()
    [[False, True], [True, False]]
    """
    P = np.empty((*pivots.shape[:-1], m, m), dtype)
    orders(pivots, m, P)
    return P


def triangles(factors: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
    """L with ones on its diagonal, and U, from LU factors (..., m, n) in rows or in columns; None where there is no kernel for them."""
    *lead, m, n = factors.shape
    k = min(m, n)
    char = MOVED.get(factors.itemsize)
    if not k or char is None:
        return None
    columns = not factors.flags.c_contiguous
    rows = factors.swapaxes(-2, -1) if columns else factors
    run = _apart.over(char, factors.size) if rows.flags.c_contiguous and rows.flags.aligned else None
    if run is None:
        return None
    lower, upper = np.empty((*lead, m, k), factors.dtype), np.empty((*lead, k, n), factors.dtype)
    count = factors.size // (m * n)
    run(count, 1, rows.view(char), _one(factors.dtype, char), lower.view(char), upper.view(char), count, m, n, k, int(columns))
    return lower, upper


def trace(matrix: np.ndarray) -> np.ndarray | None:
    """The sum of the diagonal, one number after another, as torch adds it up: in double precision, half precision in single. None of what
    is no matrix.

    >>> trace(np.array([[1, 2], [3, 4]])).tolist()
    5
    """
    dtype = matrix.dtype
    char = dtype.char
    run = _trace_at_hand.get(char) if state.fused <= KEPT else None
    if run is None and char in "fdeEl":
        run = _traced.of(char, 8)
    if run is not None:
        y = np.empty((), dtype)
        try:
            n, m = matrix.shape
            run(1, 1, matrix, n, m, y)
            return y
        except (TypeError, ValueError):  # no matrix, or not in rows
            pass
    if matrix.ndim != 2:
        return None
    if run is not None and matrix.T.flags.carray:
        run(1, 1, matrix.T, *matrix.shape[::-1], y)
        return y
    diagonal = matrix.diagonal()
    if dtype.kind in "biu":
        return np.asarray(np.add.reduce(diagonal, dtype=np.int64))
    if not diagonal.size:
        return np.zeros((), dtype)
    wide = np.float32 if is_half(dtype) else np.result_type(dtype, np.float64)
    return np.asarray(np.add.accumulate(diagonal, dtype=wide)[-1] + 0).astype(dtype)


def cross(a: np.ndarray, b: np.ndarray, dim: int) -> np.ndarray | None:
    """The cross products of vectors of three numbers along ``dim``, in rows; None where there is no kernel for them."""
    char = a.dtype.char
    if a.dtype is not b.dtype or char not in "fdeEl":
        return None
    way = _vectors(a.shape, a.strides, b.shape, b.strides, a.itemsize, dim)
    run = None if way is None else _crossed.over(char, a.size)
    if way is None or run is None:
        return None
    shape, sizes = way
    y = np.empty(shape, a.dtype)
    a, b = a if a.flags.c_contiguous else a.T, b if b.flags.c_contiguous else b.T  # whose memory is the same
    try:
        run(sizes[0] * sizes[1], 1, a, b, y, *sizes)
        return y
    except TypeError:  # neither rows nor columns
        return None


@lru_cache(512)
def _vectors(a: tuple[int, ...], of_a: tuple[int, ...], b: tuple[int, ...], of_b: tuple[int, ...], item: int, dim: int
             ) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
    """The shape of cross products; how many vectors there are, dimensions before ``dim`` and behind it as one each, and the operands' steps
    along these three. None where dimensions do not fit in one, or do not fit at all."""
    dim %= len(a)
    shape = pairs.joint(a, b)
    if shape is None or shape[dim] != 3:
        return None
    found: list[int] = []
    for x, strides in ((a, of_a), (b, of_b)):
        steps = [s // item if n > 1 else 0 for n, s in zip(x, strides)]
        for axes in (range(dim), range(dim, dim + 1), range(dim + 1, len(shape))):
            long = [d for d in axes if shape[d] > 1]
            if any([steps[d] != steps[e] * shape[e] for d, e in zip(long, long[1:])]):
                return None
            found.append(steps[long[-1]] if long else 0)
    return shape, (prod(shape[:dim]), prod(shape[dim + 1:]), *found)


def solve_triangles(matrices: np.ndarray, *steps: tuple[np.ndarray, bool, bool]) -> np.ndarray:
    """X with T X = B for B (b, n, k) and batches T (b, n, n) of the same dtype, of which one triangle counts and, where ``unit``, the
    diagonal counts as ones: ``(T, upper, unit)``, and then the next of such steps with X in the place of B. Zeros on the diagonal make
    infinities, as in LAPACK. Gives the columns of X, (b, k, n), a new C-contiguous array.

    >>> solve_triangles(np.array([[[2.0], [4.0]]]), (np.array([[[2.0, 9.0], [0.0, 4.0]]]), True, True)).tolist()
    [[[-34.0, 4.0]]]
    """
    (count, n, k), char = matrices.shape, matrices.dtype.char
    for t, _, _ in steps:
        if t.shape != (count, n, n) or t.dtype != matrices.dtype:
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
    Kaufman's factors, D L^T in rows, and zeros below; gives the pivots (b, n), and of each matrix the first zero on the diagonal of D,
    or 0. None, and nothing done, where there is no kernel for them or too little work."""
    count, n, _ = matrices.shape
    zeros, char = np.zeros(count, np.int32), matrices.dtype.char
    loops = char in "fd" and uses_numba(_STEPS * n * matrices.size)
    if n >= (_WHOLE if loops else _SOME) and routines.shown(char):
        found = np.empty((count, n), np.int64)
        for i in range(count):
            zeros[i] = routines.factor_symmetric(matrices[i], found[i], hermitian)
        keep_triangle(matrices, 1, 0)
        return found.astype(np.int32), zeros
    if not loops:
        return None
    pivots = np.zeros((count, n), np.int32)
    _bunched.share(char, count, n * n, n, matrices, pivots, zeros)
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


@lru_cache(32)
def _mask(m: int, n: int, sign: int, least: int, item: int) -> np.ndarray:
    """Where a column is at least so far behind the row, or with a `sign` of -1 before it: integers of so many bytes with all bits set."""
    inside = sign * (np.arange(n) - np.arange(m)[:, None]) >= least
    return np.negative(inside, dtype=f"i{item}", casting="unsafe")


def keep_triangle(a: np.ndarray, sign: int, least: int) -> np.ndarray:
    """Zeros, in matrices that lie in rows, outside of what `_mask` says."""
    m, n = a.shape[-2:]
    if a.itemsize in (4, 8) and m * n <= _MASKED:
        bits = a.view(f"i{a.itemsize}")
        np.bitwise_and(bits, _mask(m, n, sign, least, a.itemsize), bits)
    else:
        np.copyto(a, np.zeros((), a.dtype), where=sign * (np.arange(n) - np.arange(m)[:, None]) < least)
    return a


def _few_numbers(a: np.ndarray) -> bool:
    """Whether loops of our own factor matrices: of few numbers each, where machine code was made beforehand."""
    m, n = a.shape[-2:]
    return m * n * min(m, n) <= _LOOPS and state.fused <= KEPT and a.dtype.char in "fd"


def _by_routines(m: int, n: int, char: str) -> bool:
    """Whether QR factorizations are made by LAPACK's routines, matrix by matrix: of few numbers NumPy's loops take less than the calls."""
    return m * n >= _NUMBERS and routines.shown(char)


def reflectors(matrices: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """R of the QR factorizations of matrices (..., m, n) that are not empty, and below it Householder's reflectors, as columns (..., n, m);
    and the reflectors' factors (..., min(m, n)).

    >>> reflectors(np.array([[3.0], [4.0]]))[0].tolist()
    [[-5.0, 0.5]]
    """
    *lead, m, n = matrices.shape
    k = min(m, n)
    if _few_numbers(matrices):
        columns, tau = matrices.swapaxes(-2, -1).copy(), np.empty((*lead, k), matrices.dtype)
        count = prod(lead)
        _reflect.share(matrices.dtype.char, count, m * n, k, columns, tau, count, m, n, k)
        return columns, tau
    if not _by_routines(m, n, matrices.dtype.char):
        h, tau = lapack.qr_factors(matrices)
        return h.swapaxes(-2, -1).astype(matrices.dtype, order="C"), tau.astype(matrices.dtype, copy=False)
    columns, tau = copy(matrices.swapaxes(-2, -1)), np.empty((*lead, k), matrices.dtype)
    for a, factors in zip(columns.reshape(-1, n, m), tau.reshape(-1, k)):
        routines.reflect(a, factors)
    return columns, tau


def reflected(h: np.ndarray, tau: np.ndarray, n: int) -> np.ndarray:
    """The first n columns of the products of reflectors (..., m, _), as columns (..., n, m): of as many as `tau` (..., k) has factors, no
    more than n.

    >>> reflected(np.array([[-5.0], [0.5]]), np.array([1.6]), 1).tolist()
    [[-0.6000000000000001, -0.8]]
    """
    m, k, dtype = h.shape[-2], tau.shape[-1], h.dtype
    if k < h.shape[-1]:
        h = h[..., :k]
    few = m * h.shape[-1] <= _MULTIPLIED and _few_numbers(h)
    if not few and not _by_routines(m, n, dtype.char):
        wide = np.float64 if dtype.kind == "f" else np.complex128
        h, tau = h.astype(wide), tau.astype(wide)
        if k < n < m:  # others, whose factors are zero, change nothing
            h, tau = [np.concatenate([x, np.zeros((*x.shape[:-1], n - k))], -1) for x in (h, tau)]
        return lapack.qr_product(h, tau, k < n == m).swapaxes(-2, -1).astype(dtype, order="C")
    q = np.empty((*h.shape[:-2], n, m), dtype)
    q[..., :k, :] = h.swapaxes(-2, -1)
    if few:
        count = prod(h.shape[:-2])
        _unreflect.share(dtype.char, count, m * n, k, q, contiguous(tau), count, m, n, k)
        return q
    for a, factors in zip(q.reshape(-1, n, m), contiguous(tau).reshape(-1, k)):
        routines.multiply_reflectors(a, factors)
    return q


def qr(matrices: np.ndarray, rows: int, wanted: bool) -> tuple[Any, np.ndarray]:
    """Q, unless it is not wanted, and R with so many rows, of matrices (..., m, n) that are not empty, both as columns.

    >>> qr(np.array([[3.0], [4.0]]), 1, True)[1].tolist()
    [[-5.0]]
    """
    *lead, m, n = matrices.shape
    if m == 1 and matrices.dtype.kind == "f":  # nothing stands below the diagonal
        return np.ones((*lead, 1, 1), matrices.dtype) if wanted else None, matrices.swapaxes(-2, -1).copy()
    if _few_numbers(matrices) and m * rows * min(m, n) <= _LOOPS:  # of which rows are many where all columns of Q are wanted
        columns, k, count = matrices.swapaxes(-2, -1).copy(), min(m, n), prod(lead)
        tau, q, r = [np.empty((*lead, *shape), matrices.dtype) for shape in ((k,), (rows, m), (n, rows))]
        _factor.share(matrices.dtype.char, count, m * n, 2 * k, columns, tau, q, r, count, m, n, k, rows)
        return q if wanted else None, r
    if _by_routines(m, max(n, rows), matrices.dtype.char):
        columns, tau = reflectors(matrices)
        found = reflected(columns.swapaxes(-2, -1), tau, rows) if wanted else None
        r = columns if rows == m else columns[..., :rows].copy()
    else:
        h, tau = lapack.qr_factors(matrices)
        found = lapack.qr_product(h, tau, rows > n).swapaxes(-2, -1).astype(matrices.dtype, order="C") if wanted else None
        r = h[..., :rows, :].swapaxes(-2, -1).astype(matrices.dtype, order="C")
    r[..., n:] = 0
    keep_triangle(r[..., :n, :n] if n < rows else r[..., :rows, :], -1, 0)
    return found, r


def solve_symmetric(factors: np.ndarray, pivots: np.ndarray, matrices: np.ndarray) -> np.ndarray | None:
    """The columns of X with A X = B for B (b, n, k), from what `factor_symmetric` makes of A; None where there is no kernel for them, too
    little work, or where pivots are none of its."""
    count, n, k = matrices.shape
    if matrices.dtype.char not in "fd" or factors.dtype != matrices.dtype or not uses_numba(_STEPS * n * matrices.size):
        return None
    x, exchanges = matrices.copy("C"), np.ascontiguousarray(pivots, np.int64)
    try:
        _symmetric.share(x.dtype.char, count, n * k, n, contiguous(factors), exchanges, x)
    except IndexError:
        return None
    return x.swapaxes(1, 2).copy()
