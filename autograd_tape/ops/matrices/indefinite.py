"""Factors of symmetric matrices that need not be definite, and what is solved with them: after Bunch and Kaufman, "Some stable methods for
calculating inertia and solving symmetric linear systems" (Math. Comp. 31, 1977), in the form in which LAPACK leaves them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from ...dtypes import COMPLEX, FLOATING, SCALAR_TYPE_NAMES
from ...errors import AutogradError, ShapeMismatchError
from ...dims import broadcast_shape
from ...executors.kernels import matrices as kernels
from ...functions.out import EXPECTED
from ...record import Sample, get_record, no_derivative, op
from .. import _batch as batches
from .._host import on_host
from .._samples import category
from .factorization import _check_matrix, _columns, alone, check_equation, from_columns, one_batch
from .general import INT32, like_lapack, without_data
from ...warned import ignoring

_ALPHA = (1 + math.sqrt(17)) / 8
"""What bounds the growth of elements best over pivots of either size."""


def _size(x: np.ndarray) -> np.ndarray:
    return np.abs(x) if x.dtype.kind != "c" else np.abs(x.real) + np.abs(x.imag)


def _pivot(a: np.ndarray, k: int, hermitian: bool) -> tuple[int, int]:
    """(the row that is exchanged, 1 or 2 columns that are eliminated together) for column `k`; (k, 0) where it is zero."""
    here = abs(a[k, k].real) if hermitian else _size(a[k, k])
    column = _size(a[k + 1:, k])
    r = k + 1 + int(column.argmax()) if column.size else k
    largest = column.max(initial=0)
    if max(here, largest) == 0 or np.isnan(here):
        return k, 0
    if here >= _ALPHA * largest:
        return k, 1
    others = max(_size(a[r, k:r]).max(initial=0), _size(a[r + 1:, r]).max(initial=0))
    if here >= _ALPHA * largest * (largest / others):
        return k, 1
    return r, 1 if (abs(a[r, r].real) if hermitian else _size(a[r, r])) >= _ALPHA * others else 2


def _exchange(a: np.ndarray, first: int, second: int, step: int, hermitian: bool) -> None:
    """Exchanges rows and columns first < second of what is left, of which the lower triangle is stored."""
    a[second + 1:, [first, second]] = a[second + 1:, [second, first]]
    between = a[first + 1:second, first].copy()
    a[first + 1:second, first], a[second, first + 1:second] = a[second, first + 1:second], between
    if hermitian:
        a[first + 1:second, first], a[second, first + 1:second] = a[first + 1:second, first].conj(), between.conj()
        a[second, first] = a[second, first].conj()
    a[first, first], a[second, second] = a[second, second], a[first, first]
    if step == 2:
        a[first, first - 1], a[second, first - 1] = a[second, first - 1], a[first, first - 1]


def _ldl(a: np.ndarray, hermitian: bool, pivots: np.ndarray) -> int:
    """Factors the lower triangle in place; returns the first zero on the diagonal of D, counted from 1, or 0."""
    n, k, info = len(a), 0, 0
    turned = np.conj if hermitian else np.asarray
    while k < n:
        r, step = _pivot(a, k, hermitian)
        if not step:
            info, step = info or k + 1, 1
        elif r != k + step - 1:
            _exchange(a, k + step - 1, r, step, hermitian)
        if hermitian:
            a[range(k, k + step), range(k, k + step)] = a[range(k, k + step), range(k, k + step)].real
        pivots[k:k + step] = r + 1 if step == 1 else -(r + 1)
        end = k + step
        if step == 1 and a[k, k] != 0:
            column = a[end:, k].copy()
            a[end:, k] /= a[k, k]
            a[end:, end:] -= np.outer(a[end:, k], turned(column))
        elif step == 2:
            columns = a[end:, k:end].copy()
            a[end:, k:end] = columns @ _inverse_block(a, k, hermitian)
            a[end:, end:] -= a[end:, k:end] @ turned(columns).T
        k = end
    return info


def _inverse_block(LD: np.ndarray, k: int, hermitian: bool) -> np.ndarray:
    """The inverse of the 2 x 2 block of D at `k`, scaled by what is beside its diagonal, which is large."""
    beside = LD[k + 1, k]
    other = beside.conj() if hermitian else beside
    p, q = LD[k, k] / other, LD[k + 1, k + 1] / beside
    scale = p * q - 1
    return np.array([[q / other, -1 / beside], [-1 / other, p / beside]], LD.dtype) / scale


def _ldl_factor(A: np.ndarray, hermitian: bool = False, check_errors: bool = False) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    batch = A.shape[:-2]
    if A.shape[-1] != A.shape[-2]:
        raise ValueError("square matrices expected")
    rows = A.swapaxes(-2, -1).copy()  # columns of A, whose lower triangle counts
    if rows.ndim != 3:
        rows = rows[None] if rows.ndim == 2 else rows.reshape(math.prod(batch), *A.shape[-2:])
    found = kernels.factor_symmetric(rows, hermitian)
    if found is not None:
        pivots, info = found
    else:
        pivots, info = np.zeros(rows.shape[:2], np.int32), np.zeros(len(rows), np.int32)
        with ignoring():
            for i, a in enumerate(kernels.keep_triangle(rows, 1, 0)):
                info[i] = _ldl(a.T, hermitian and A.dtype.kind == "c", pivots[i])
        kernels.keep_triangle(rows, 1, 0)
    if check_errors and info.any():
        raise AutogradError(f"torch.linalg.ldl_factor: Unknown error code: {info[info.nonzero()[0][0]]}.",
                            found="a singular matrix", remedy="use ldl_factor_ex, which tells of it in `info`")
    LD = (rows[0] if A.ndim == 2 else rows if A.ndim == 3 else rows.reshape(A.shape)).swapaxes(-2, -1)
    if A.ndim == 2:
        return LD if LD.size else _columns(LD), pivots[0], info.reshape(())
    return LD if LD.size else _columns(LD), pivots.reshape(A.shape[:-1]), info.reshape(batch)


@op("linalg_ldl_factor_ex(Tensor A, *, bool hermitian=False, bool check_errors=False) -> (Tensor LD, Int32 pivots, Int32 info)",
    namespace="_internal", alias="linalg.ldl_factor_ex", method=False, node="NotImplemented", complex="explicit")
class linalg_ldl_factor_ex:
    """L and D with L D L^T = A, or L D L^H = A where `hermitian`, in one matrix, D in blocks of 1 and 2; the exchanges of rows; the first
    zero on the diagonal of D, or 0. The lower triangle of A is read.

    >>> torch.linalg.ldl_factor_ex(torch.tensor([[2., 0.], [1., 3.]])).LD
    tensor([[2.0000, 0.0000],
            [0.5000, 2.5000]])
    """

    words = {"input": "A"}
    sharding = "*b N N -> *b N N, *b N, *b"
    lacks = {"half rare": "ldl_factor_kernel_cpu"}
    out_dtype = EXPECTED
    numpy = _ldl_factor
    def meta(A, *rest): return like_lapack(A.shape, A.dtype), without_data(A.shape[:-1], INT32), without_data(A.shape[:-2], INT32)
    compose = on_host(_ldl_factor)
    batch = batches.matrices
    vjp = no_derivative("linalg_ldl_factor_ex")
    def check(A, hermitian, check_errors): _check_matrix("torch.linalg.ldl_factor_ex", A, True)
    def samples(rng):
        a = rng.standard_normal((3, 5, 5))
        yield Sample((a + a.swapaxes(-2, -1),), no_gradient="torch has none")
        yield Sample((np.array([[0.0, 1.0], [1.0, 0.0]]),), {"hermitian": True}, no_gradient="torch has none")
    def errors(rng):
        yield (np.ones((2, 3)),), RuntimeError, (
            "torch.linalg.ldl_factor_ex: A must be batches of square matrices, but they are 2 by 3 matrices")


@op("linalg_ldl_factor(Tensor A, *, bool hermitian=False) -> (Tensor LD, Int32 pivots)", namespace="_internal",
    alias="linalg.ldl_factor", method=False, complex="explicit")
class linalg_ldl_factor:
    """`ldl_factor_ex` that raises where D is singular.

    >>> torch.linalg.ldl_factor(torch.tensor([[2., 0.], [1., 3.]])).pivots
    tensor([1, 2], dtype=torch.int32)
    """

    words = {"input": "A"}
    out_dtype = EXPECTED
    quick_named = True
    def quick(A, hermitian):
        if not alone(A) or A.shape[-1] != A.shape[-2]:
            return None
        LD, pivots, info = _ldl_factor(A, hermitian)
        return None if np.count_nonzero(info) else (LD, pivots)

    def function(F, A, *, hermitian=False):
        return F.returned(get_record("linalg_ldl_factor"))(*F.linalg_ldl_factor_ex(A, hermitian=hermitian, check_errors=True)[:2])

    def samples(rng): yield Sample((rng.standard_normal((3, 3)),), no_gradient="torch has none")


def _steps(pivots: np.ndarray) -> Iterator[tuple[int, int, int]]:
    """(column, how many it is eliminated with, row exchanged)."""
    k = 0
    while k < len(pivots):
        step = 1 if pivots[k] > 0 else 2
        yield k, step, abs(int(pivots[k])) - 1
        k += step


def _ldl_solved(LD: np.ndarray, pivots: np.ndarray, B: np.ndarray, hermitian: bool) -> np.ndarray:
    X, steps = B.copy(), list(_steps(pivots))
    for k, step, r in steps:
        last, end = k + step - 1, k + step
        X[[last, r]] = X[[r, last]]
        X[end:] -= LD[end:, k:end] @ X[k:end]
        X[k:end] = X[k:end] / LD[k, k] if step == 1 else _inverse_block(LD, k, hermitian) @ X[k:end]
    for k, step, r in reversed(steps):
        last, end = k + step - 1, k + step
        below = LD[end:, k:end]
        X[k:end] -= (below.conj() if hermitian else below).T @ X[end:]
        X[[last, r]] = X[[r, last]]
    return X


def _ldl_solve(LD: np.ndarray, pivots: np.ndarray, B: np.ndarray, hermitian: bool = False) -> np.ndarray:
    n = LD.shape[-1]
    if LD.ndim < 2 or LD.shape[:-1] != pivots.shape or B.ndim < 2 or not n == LD.shape[-2] == B.shape[-2] or LD.dtype != B.dtype:
        raise ValueError("square factors, with their pivots, and matrices of as many rows expected")
    if LD.ndim == 2 < B.ndim and B.size:  # all right sides beside one another
        found = _ldl_solve(LD, pivots, np.moveaxis(B, -2, 0).reshape(n, -1), hermitian)
        return _columns(np.moveaxis(found.reshape(n, *B.shape[:-2], B.shape[-1]), 0, -2))
    batch = LD.shape[:-2] if LD.ndim == B.ndim == 2 else broadcast_shape(LD.shape[:-2], B.shape[:-2])
    factors, rows, sides = one_batch(LD, batch), one_batch(pivots[..., None], batch)[..., 0], one_batch(B, batch)
    solved = kernels.solve_symmetric(factors.swapaxes(1, 2), rows, sides)
    if solved is not None:
        return from_columns(solved, batch)
    named = np.abs(pivots)
    if pivots.size and (np.minimum.reduce(named, None) < 1 or np.maximum.reduce(named, None) > n):
        raise AutogradError("torch.linalg.ldl_solve: pivots must be rows of LD, counted from 1", expected=f"1 to {n}")
    result = np.empty(sides.shape, B.dtype)
    with ignoring():
        for i, (factor, exchanges, b) in enumerate(zip(factors, rows, sides)):
            result[i] = _ldl_solved(factor, exchanges, b, hermitian and LD.dtype.kind == "c")
    return _columns(result.reshape(*batch, *B.shape[-2:]))


@op("linalg_ldl_solve(Tensor LD, Index pivots, Tensor B, *, bool hermitian=False) -> Tensor", namespace="_internal",
    alias="linalg.ldl_solve", method=False, node="NotImplemented", complex="explicit")
class linalg_ldl_solve:
    """X with A X = B, of the factors of A from `ldl_factor`.

    >>> LD, pivots = torch.linalg.ldl_factor(torch.tensor([[2., 1.], [1., 3.]]))
    >>> torch.linalg.ldl_solve(LD, pivots, torch.tensor([[3.], [4.]]))
    tensor([[1.],
            [1.]])
    """

    sharding = "*b N N, *b N, *b N k -> *b N k"
    lacks = {"half rare": "ldl_solve_kernel_cpu"}
    out_dtype = EXPECTED
    meta_layout = "columns"
    indices = "int32"
    numpy = _ldl_solve
    compose = on_host(_ldl_solve)
    vjp = no_derivative("linalg_ldl_solve")
    def batch(F, call): return call(**batches.broadcast_matrices(F, call, LD=2, pivots=1, B=2))
    def shape(LD, pivots, B, hermitian=False): return (*broadcast_shape(LD[:-2], B[:-2]), *B[-2:])

    def check(LD, pivots, B, hermitian):
        name = "torch.linalg.ldl_solve"
        _check_matrix(name, LD, True)
        check_equation(name, LD, B)
        if LD.shape[:-1] != pivots.shape:
            raise ShapeMismatchError(f"{name}: Expected LD.shape[:-1] and pivots.shape to be the same, but got pivots with shape "
                                     f"{list(pivots.shape)} instead")
        if category(pivots) in (FLOATING, COMPLEX):
            raise AutogradError(f"{name}: Expected pivots to be integers. Got {SCALAR_TYPE_NAMES[pivots.dtype.name]}")

    def samples(rng):
        yield Sample((np.array([[2.0, 0.0], [0.5, 2.5]]), np.array([1, 2], np.int32), rng.standard_normal((2, 3))),
                     no_gradient="torch has none")
        yield Sample((np.array([[0.5, 0.0], [1.0, -0.5]]), np.array([-2, -2], np.int32), rng.standard_normal((2, 2, 1))),
                     no_gradient="torch has none")
