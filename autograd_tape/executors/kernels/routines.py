"""Routines of BLAS and LAPACK that `numpy.linalg` makes no use of, called by their names in NumPy's own library, where that shows them with
integers of 64 bits (its wheels do): matrices one by one, in the precision that they have.

Matrices are *columns* here: arrays (columns, rows), C-contiguous, as Fortran reads them. Each function checks what it writes to.
"""

from __future__ import annotations

import ctypes
from functools import cache, lru_cache
from typing import Any

import numpy as np

from ...strided import pointer
from .lapack import loops

__all__ = ["factor_symmetric", "invert_definite", "lu", "multiply_reflectors", "reflect", "shown", "substitute"]

_INT = np.dtype(np.int64)
_LETTERS = {"f": "s", "d": "d", "F": "c", "D": "z"}
_ONES = {char: np.ones(1, char) for char in _LETTERS}
_BLOCK = 64  # columns of work for each row, of which LAPACK takes as many as it finds good


@cache
def _routine(name: str) -> Any:
    """A routine, for addresses; None where the library does not show it."""
    library = ctypes.CDLL(loops.__file__)
    found = getattr(library, f"{name}_64_", None) or getattr(library, f"scipy_{name}_64_", None)
    if found is not None:
        found.restype = None
    return found


@cache
def shown(char: str) -> bool:
    """Whether there are routines for arrays of this dtype.

    >>> shown("i")
    False
    """
    names = ("geqrf", "getrf", "potri", "sytrf", "trsm")
    return char in _LETTERS and all([_routine(_LETTERS[char] + name) is not None for name in names])


@lru_cache(512)
def _integer(number: int) -> Any:
    """Where Fortran reads an integer, which it does not write to."""
    return ctypes.byref(ctypes.c_int64(number))


def _call(name: str, *arguments: Any) -> int:
    """Calls a routine with letters, integers and arrays, and what it says of itself at the end."""
    info = ctypes.c_int64(0)
    passed = [_integer(a) if a.__class__ is int else a if a.__class__ is bytes else pointer(a) for a in arguments]
    _routine(name)(*passed, ctypes.byref(info))
    return info.value


def _written(*arrays: np.ndarray) -> None:
    """Refuses what no routine may write to."""
    for a in arrays:
        if not a.flags.carray:
            raise ValueError("C-contiguous, aligned arrays that may be written to expected")


def _counted(pivots: np.ndarray, count: int) -> None:
    if pivots.shape != (count,) or pivots.dtype != _INT:
        raise ValueError("a pivot of 64 bits for each row expected")


def _squares(a: np.ndarray, b: np.ndarray) -> None:
    if a.shape != (b.shape[1],) * 2 or a.dtype != b.dtype:
        raise ValueError("a square matrix, and columns as long of the same dtype expected")


def lu(a: np.ndarray, pivots: np.ndarray) -> int:
    """Overwrites a matrix with its LU factors; the pivots are counted from 1. Gives the first zero on the diagonal of U, or 0."""
    n, m = a.shape
    _written(a, pivots)
    _counted(pivots, min(n, m))
    return _call(_LETTERS[a.dtype.char] + "getrf", m, n, a, max(m, 1), pivots)


def substitute(t: np.ndarray, b: np.ndarray, upper: bool, unit: bool) -> None:
    """Overwrites B with X, T X = B, where one triangle of T counts, a matrix in any layout that is no columns."""
    k, n = b.shape
    _written(b)
    _squares(t, b)
    item, lies = t.itemsize, t.strides
    if lies[0] == item and lies[1] % item == 0 and lies[1] >= n * item:
        step, turned = lies[1] // item, False
    else:
        if lies[1] != item or lies[0] % item or lies[0] < n * item:
            t = np.ascontiguousarray(t)
        step, turned = t.strides[0] // item, True
    _call(_LETTERS[b.dtype.char] + "trsm", b"L", b"U" if upper is not turned else b"L", b"T" if turned else b"N", b"U" if unit else b"N",
          n, k, _ONES[b.dtype.char], t, max(step, n, 1), b, max(n, 1))


def factor_symmetric(a: np.ndarray, pivots: np.ndarray, hermitian: bool) -> int:
    """Overwrites the lower triangle of a matrix with Bunch and Kaufman's factors, and the pivots; gives the first zero of D, or 0."""
    n = len(a)
    _written(a, pivots)
    _counted(pivots, n)
    _squares(a, a)
    work = np.empty(max(n, 1) * _BLOCK, a.dtype)
    return _call(_LETTERS[a.dtype.char] + ("hetrf" if hermitian and a.dtype.kind == "c" else "sytrf"), b"L", n, a, max(n, 1), pivots, work,
                 work.size)


def invert_definite(a: np.ndarray, upper: bool) -> None:
    """Overwrites one triangle of a matrix, the Cholesky factor of another, with that of the other's inverse."""
    _written(a)
    _squares(a, a)
    _call(_LETTERS[a.dtype.char] + "potri", b"U" if upper else b"L", len(a), a, max(len(a), 1))


def reflect(a: np.ndarray, tau: np.ndarray) -> None:
    """Overwrites a matrix with R of its QR factorization, and with the reflectors below it, whose factors go to `tau`."""
    n, m = a.shape
    _written(a, tau)
    if tau.shape != (min(n, m),) or tau.dtype != a.dtype:
        raise ValueError("as many factors as reflectors of the same dtype expected")
    work = np.empty(n * _BLOCK, a.dtype)
    _call(_LETTERS[a.dtype.char] + "geqrf", m, n, a, max(m, 1), tau, work, work.size)


def multiply_reflectors(a: np.ndarray, tau: np.ndarray) -> None:
    """Overwrites reflectors, and what is beside them, with the first columns of the product of those that `tau` has factors of."""
    n, m = a.shape
    _written(a)
    if tau.ndim != 1 or len(tau) > n or n > m or tau.dtype != a.dtype or not tau.flags.carray:
        raise ValueError("no more factors than columns, and no more of these than rows, of the same dtype expected")
    work = np.empty(n * _BLOCK, a.dtype)
    _call(_LETTERS[a.dtype.char] + ("ungqr" if a.dtype.kind == "c" else "orgqr"), m, n, len(tau), a, max(m, 1), tau, work, work.size)
