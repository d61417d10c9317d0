"""Many small matrices, or one, by loops in double precision: what LAPACK takes longer to be called for than to compute.

Each function gives None where LAPACK is to have the matrices: large ones, complex ones, what is not finite or has no solution, and all
where machine code was not made beforehand and they are few."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._on_demand import KEPT, contiguous, state
from .handy import Exact, Handy

__all__ = ["cholesky", "determinants", "exponentials", "powers", "singular_values", "solve"]

_solve, _determinants, _cholesky, _singular, _exponentials = [
    Handy("small", name) for name in ("solve", "determinants", "cholesky", "singular_values", "exponentials")]
_powers = Exact("small", "powers")
#: Up to how many rows matrices are small, of how many on LAPACK takes longer, and how many numbers those have whose singular values are
#: found by turning vectors.
_ROWS, _SOME, _TURNED = 16, 8, 128
_NO_SIDES = {char: np.empty(0, char) for char in "fd"}


def _taken(A: np.ndarray, least: int = _SOME, rows: int = _ROWS) -> bool:
    """Whether so many square matrices are taken, or more."""
    n, size = A.shape[-1], A.size
    return (0 < n <= rows and A.shape[-2] == n and size >= least * n * n and A.dtype.char in "fd" and size > 0
            and (state.fused <= KEPT or size >= state.fused))


def _in_rows(a: np.ndarray) -> tuple[np.ndarray, bool]:
    """Matrices in one block of memory, by rows or by columns."""
    if a.flags.carray:
        return a, False
    turned = a.T if a.ndim == 2 else a.swapaxes(-2, -1)
    return (turned, True) if turned.flags.carray else (a.copy(), False)


def cholesky(A: np.ndarray, upper: bool = False) -> tuple[np.ndarray, np.ndarray] | None:
    """Cholesky's factors of matrices (..., n, n), the lower ones or the upper ones, in columns, and zeros (...) of 32 bits.

    >>> found = cholesky(np.array([[4.0]]))
    >>> found is None or found[0].tolist() == [[2.0]]
    True
    """
    one = A.ndim == 2
    if not _taken(A, 1, _SOME if one else _ROWS):
        return None
    n, char, (a, turned) = A.shape[-1], A.dtype.char, _in_rows(A)
    y, failed = np.empty(A.shape, char), np.zeros(A.shape[:-2], np.int32)
    if one:  # few numbers, of which frames would take longer
        (_cholesky.at_hand.get(char) or _cholesky.surely(char))(1, 1, a, y, failed, 1, n, turned is not upper, upper)
        return None if failed.item() else (y.T, failed)
    _cholesky.share(char, failed.size, n * n, n, a, y, failed, failed.size, n, int(turned is not upper), int(upper))
    return None if np.count_nonzero(failed) else (y.swapaxes(-2, -1), failed)


def solve(A: np.ndarray, B: np.ndarray | None = None) -> np.ndarray | None:
    """X with A X = B for matrices (..., n, n) and (..., n, k), or the inverses, in columns.

    >>> found = solve(np.array([[2.0]]), np.array([[8.0]]))
    >>> found is None or found.tolist() == [[4.0]]
    True
    """
    if not _taken(A):
        return None
    lead, n, char = A.shape[:-2], A.shape[-1], A.dtype.char
    if B is None:
        k, b, b_turned = n, _NO_SIDES[char], False
    elif B.shape[:-1] != A.shape[:-1] or B.dtype != A.dtype or not 0 < B.shape[-1] <= _ROWS:
        return None
    else:
        k = B.shape[-1]
        b, b_turned = _in_rows(B)
    a, turned = _in_rows(A)
    columns, zeros = np.empty((*lead, k, n), A.dtype), np.empty(lead, np.int32)
    _solve.share(char, zeros.size, n * n, n, a, b, columns, zeros, zeros.size, n, k, int(turned), int(b_turned))
    if np.count_nonzero(zeros):
        return None
    return columns.swapaxes(-2, -1)


def determinants(A: np.ndarray, logarithms: bool = False) -> Any:
    """Determinants (...), or their signs and the logarithms of their sizes.

    >>> found = determinants(np.array([[2.0, 0.0], [0.0, 3.0]]), False)
    >>> found is None or found.tolist() == 6.0
    True
    """
    if not _taken(A):
        return None
    n, char = A.shape[-1], A.dtype.char
    y = np.empty(A.shape[:-2], A.dtype)
    logs, failed = np.empty_like(y) if logarithms else _NO_SIDES[char], np.zeros(1, np.int32)
    _determinants.share(char, y.size, n * n, n, _in_rows(A)[0], y, logs, failed, y.size, n)
    if failed.item():
        return None
    return (y, logs) if logarithms else y


def singular_values(A: np.ndarray) -> np.ndarray | None:
    """The singular values of matrices (..., m, n) of which one side is short.

    >>> found = singular_values(np.array([[0.0, 2.0], [1.0, 0.0]]))
    >>> found is None or found.tolist() == [2.0, 1.0]
    True
    """
    m, n = A.shape[-2:]
    k, long = (n, m) if n <= m else (m, n)
    few = k == 2 or 0 < k * long <= _TURNED and A.ndim > 2
    if not few or A.dtype.char not in "fd" or not A.size or state.fused > KEPT and A.size < state.fused:
        return None
    a, turned = _in_rows(A)
    y, failed = np.empty((*A.shape[:-2], k), A.dtype), np.zeros(1, np.int32)
    _singular.share(A.dtype.char, y.size // k, k * long, k, a, y, failed, y.size // k, long, k, int(turned is (m < n)),
                    1e-9 if A.itemsize == 4 else 1e-15)
    return None if failed.item() else y


def exponentials(A: np.ndarray, coefficients: np.ndarray) -> np.ndarray | None:
    """The exponentials of matrices (..., n, n), by the coefficients of an approximant.

    >>> exponentials(np.array([[1j]]), np.ones(14)) is None
    True
    """
    if not _taken(A, 1):
        return None
    n = A.shape[-1]
    a, turned = _in_rows(A)
    y, failed, count = np.empty(a.shape, A.dtype), np.zeros(1, np.int32), A.size // (n * n)
    _exponentials.share(A.dtype.char, count, n * n, 16 * n, a, y, failed, coefficients, count, n)
    return None if failed.item() else y.swapaxes(-2, -1).copy() if turned else y


def powers(x: np.ndarray, n: int, turned: bool) -> np.ndarray | None:
    """The powers 0 to n - 1 of numbers (...), or in the other order, (..., n).

    >>> found = powers(np.array([2.0, 3.0]), 3, False)
    >>> found is None or found.tolist() == [[1.0, 2.0, 4.0], [1.0, 3.0, 9.0]]
    True
    """
    run = _powers.over(x.dtype.char, x.size * n) if x.dtype.char in "fdl" and n > 1 else None
    if run is None:
        return None
    y = np.empty((*x.shape, n), x.dtype)
    run(x.size, 1, contiguous(x), y, n, int(turned))
    return y
