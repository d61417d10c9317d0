"""Factorizations, equations and determinants of batches of matrices by the LAPACK that NumPy carries, without the functions of
`numpy.linalg` around it, which take longer than a small matrix: the same calls, but in the precision of the matrices, as torch makes them
(NumPy computes single precision in double). QR alone is computed in double precision here, for which NumPy has loops.

What is empty or no array of floating-point numbers goes to `numpy.linalg` itself, and so does what another NumPy calls by another name.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np

from . import small

__all__ = [
    "LinAlgError", "cholesky", "det", "eig", "eigh", "eigvals", "eigvalsh", "inv", "qr_factors", "qr_product", "slogdet", "solve", "svd",
    "svdvals",
]

linalg = np.linalg
LinAlgError = linalg.LinAlgError
_OLD = int(np.__version__.partition(".")[0]) < 2
loops: Any = import_module("numpy.linalg._umath_linalg")
#: What is computed in, of a dtype's letter, for "r", real numbers, "t", such as the matrices are, and "c", complex ones.
_TYPES = {"f": {"r": "f", "t": "f", "c": "F"}, "d": {"r": "d", "t": "d", "c": "D"},
          "F": {"r": "f", "t": "F", "c": "F"}, "D": {"r": "d", "t": "D", "c": "D"}}


def _refused(error: str, flag: int) -> None:
    raise LinAlgError("the matrix is singular, not definite, or has no limit")


_HEEDING = [8192, 1536, _refused]  # the size of buffers; that invalid numbers are told to whom, and nothing else to anybody


def _called(loop: Any, signature: str, *arrays: np.ndarray) -> Any:
    """A loop's results; LinAlgError where it fails."""
    if _OLD:
        return loop(*arrays, signature=signature, extobj=_HEEDING)
    with np.errstate(call=_refused, invalid="call", over="ignore", divide="ignore", under="ignore"):
        return loop(*arrays, signature=signature)


def _function(name: str, types: str, whole: Callable[..., Any], many: Callable[..., Any] | None = None) -> Callable[..., Any]:
    """The function of arrays of one dtype that calls the loop `name`, with such `types`; where there is none, and for eigenvalues of
    complex64 there is none, `whole`, NumPy's own, in double precision. Of batches `many` takes what it has a result of."""
    loop = getattr(loops, name, None)
    if loop is None:
        return whole
    signatures = {c: "".join([kinds.get(k, k) for k in types]) for c, kinds in _TYPES.items()}
    signatures = {c: signature for c, signature in signatures.items() if signature in loop.types}

    def function(*arrays: np.ndarray) -> Any:
        first = arrays[0]
        char = first.dtype.char
        if many is not None and first.ndim > 2 and (found := many(*arrays)) is not None:
            return found
        return _called(loop, signatures[char], *arrays) if char in signatures and first.size else whole(*arrays)

    return function


inv = _function("inv", "t->t", linalg.inv, small.solve)
det = _function("det", "t->t", linalg.det, small.determinants)
slogdet = _function("slogdet", "t->tr", linalg.slogdet, partial(small.determinants, logarithms=True))
solve = _function("solve", "tt->t", linalg.solve, small.solve)  # of matrices with matrices
cholesky = _function("cholesky_lo", "t->t", linalg.cholesky)
eig = _function("eig", "t->cc", linalg.eig)  # complex, where NumPy's are real numbers if all are
_eigh = {"L": _function("eigh_lo", "t->rt", linalg.eigh), "U": _function("eigh_up", "t->rt", lambda A: linalg.eigh(A, "U"))}
eigvals = _function("eigvals", "t->c", linalg.eigvals)  # complex, too
_eigvalsh = {"L": _function("eigvalsh_lo", "t->r", linalg.eigvalsh),
             "U": _function("eigvalsh_up", "t->r", lambda A: linalg.eigvalsh(A, "U"))}


def eigh(A: np.ndarray, uplo: str = "L") -> tuple[np.ndarray, np.ndarray]:
    """Eigenvalues, ascending, and eigenvectors of symmetric matrices, of which one triangle is read.

    >>> eigh(np.array([[3.0, 0.0], [0.0, 1.0]]))[0].tolist()
    [1.0, 3.0]
    """
    return _eigh[uplo.upper()](A)


def eigvalsh(A: np.ndarray, uplo: str = "L") -> np.ndarray:
    """The eigenvalues alone.

    >>> eigvalsh(np.array([[3.0, 0.0], [0.0, 1.0]])).tolist()
    [1.0, 3.0]
    """
    values: np.ndarray = _eigvalsh[uplo.upper()](A)
    return values


def _by_side(name: str, types: str, whole: Callable[..., Any]) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """The functions for more rows than columns, or as many, and for less: loops that NumPy 2 has one of."""
    taller, wider = [_function(name.format(which) if _OLD else name.format("").replace("__", "_").strip("_"), types, whole)
                     for which in ("n", "m")]
    return taller, wider


_SVD = {True: _by_side("svd_{}_f", "t->trt", linalg.svd), False: _by_side("svd_{}_s", "t->trt", lambda A: linalg.svd(A, False))}
_SVDVALS = _by_side("svd_{}", "t->r", lambda A: linalg.svd(A, compute_uv=False))


def svd(A: np.ndarray, full: bool = True) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Singular vectors, values and vectors of matrices; with `full` as many vectors as there are rows, and columns."""
    return _SVD[full][A.shape[-2] < A.shape[-1]](A)


def svdvals(A: np.ndarray) -> np.ndarray:
    """Singular values alone.

    >>> svdvals(np.array([[0.0, 2.0], [1.0, 0.0]])).tolist()
    [2.0, 1.0]
    """
    values = small.singular_values(A)
    return _SVDVALS[A.shape[-2] < A.shape[-1]](A) if values is None else values


def qr_factors(A: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(R above the diagonal and Householder's reflectors below it (..., m, n), their factors (..., min(m, n))), in double precision.

    >>> qr_factors(np.array([[3.0], [4.0]]))[0].tolist()
    [[-5.0], [0.5]]
    """
    char = "D" if A.dtype.kind == "c" else "d"
    if not A.size or A.dtype.kind not in "fc" or not hasattr(loops, "qr_reduced"):
        h, tau = linalg.qr(A, "raw")
        return h.swapaxes(-2, -1), tau
    h = A.astype(char, order="C")
    name = "qr_r_raw" if not _OLD else "qr_r_raw_m" if A.shape[-2] <= A.shape[-1] else "qr_r_raw_n"
    return h, _called(getattr(loops, name), f"{char}->{char}", h)


def qr_product(h: np.ndarray, tau: np.ndarray, complete: bool = False) -> np.ndarray:
    """Q (..., m, k) of reflectors (..., m, n) in double precision, where `tau` has k factors; or all its columns, for m > n = k.

    >>> qr_product(np.array([[-5.0], [0.5]]), np.array([1.6])).tolist()
    [[-0.6000000000000001], [-0.8]]
    """
    char = h.dtype.char
    return _called(loops.qr_complete if complete else loops.qr_reduced, f"{char}{char}->{char}", h, tau)
