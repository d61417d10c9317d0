"""LU factors and what is solved with them, least squares, eigenvalues and exponentials of general matrices.

Gradients: LU after de Hoog, Anderssen and Lukas (2011) as torch forms them, eigenvectors after Boeddeker et al. (arXiv:1701.00392), the
exponential after Mathias (SIAM J. Matrix Anal. Appl. 17, 1996), least squares through the pseudo-inverse (Golub and Pereyra, 1973).
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from ...dtypes import FLOATING, SCALAR_TYPE_NAMES, int64
from ...errors import AutogradError, LinAlgError, ShapeMismatchError
from ...executors.kernels import lapack, matrices as kernels, small
from ...executors.meta import meta_array
from ...dims import broadcast_shape
from ...functions.out import EXPECTED, casts_safely
from ...functions.refusals import on_meta
from ...record import Sample, get_record, op
from ...strided import contiguous_strides, empty_strided
from .. import _batch as batches
from .._host import data_dependent, need_values, on_host
from .._shapes import like_first
from ..elementwise.arithmetic import is_complex
from ..networks._losses import constant
from .factorization import (
    _check_matrix, _check_phase, _columns, _diagonal_matrix, _mH, _pinv_gradient, _square, alone, check_equation, from_columns,
    one_batch, singular, unit_lower, upper_triangle,
)
from .products import adjoint as mH
from ...annotations import Fn, Functions, Values
from ...tensor import TensorRef
from ...warned import ignoring

linalg = np.linalg


# -- LU ---------------------------------------------------------------------------------------------------------------


def _lu_factor(A: np.ndarray, pivot: bool = True, check_errors: bool = False) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Both factors in one matrix, rows exchanged (counted from 1), and the first zero on the diagonal of U: elimination with partial
    pivoting."""
    if A.ndim < 2 or not pivot:
        raise ValueError("matrices expected, whose rows may change places")
    LU, ndim = _columns(A), A.ndim
    if ndim == 2:
        pivots, info = kernels.lu(LU.T[None])
        pivots, info = pivots[0], info.reshape(())
    elif ndim == 3:
        pivots, info = kernels.lu(LU.swapaxes(1, 2))
    else:
        *lead, m, n = A.shape
        pivots, info = kernels.lu(LU.swapaxes(-2, -1).reshape(prod(lead), n, m))
        pivots, info = pivots.reshape(*lead, min(m, n)), info.reshape(lead)
    if check_errors and info.any():
        _refuse_singular(info, A.shape)
    return LU, pivots, info


def _regular_factors(A: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
    """The same of plain matrices, where none is singular."""
    if not alone(A):
        return None
    LU, pivots, info = _lu_factor(A)
    return None if np.count_nonzero(info) else (LU, pivots)


def _refuse_singular(info: np.ndarray, shape: tuple[int, ...]) -> None:
    bad = np.flatnonzero(info)
    if bad.size:
        i = int(info.ravel()[bad[0]])
        where = f"(Batch element {bad[0]}): " if len(shape) > 2 else ""
        raise AutogradError(f"torch.linalg.lu_factor: {where}U[{i},{i}] is zero and using it on lu_solve would result in a division by "
                            "zero. If you still want to perform the factorization, consider calling linalg.lu(A, pivot) or "
                            "linalg.lu_factor_ex(A, pivot)")


def _permutation(pivots: np.ndarray, m: int, dtype: np.dtype) -> np.ndarray:
    """The matrices P of rows exchanged one after another, as P A = L U reads with its transpose."""
    try:
        return kernels.permutations(pivots, m, dtype)
    except IndexError:
        least, most = kernels.bounds(pivots)
        raise AutogradError("pivots passed to lu_unpack must be between 1 and LU.size(-2) inclusive.Did you properly pass the result of "
                            "lu_factor?", expected=f"1 to {m}", found=f"{least} to {most}") from None


def _triangles(LU: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    found = kernels.triangles(LU)
    if found is not None:
        return found
    k = min(LU.shape[-2:])
    return unit_lower(LU[..., :k]), upper_triangle(LU[..., :k, :])


def _lu(A: np.ndarray, pivot: bool = True) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    LU, pivots, _ = _lu_factor(A)
    return (_permutation(pivots, A.shape[-2], A.dtype), *_triangles(LU))


def _lu_unpack(LU: np.ndarray, pivots: np.ndarray, data: bool = True, exchange: bool = True) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    k, nothing = min(LU.shape[-2:]), np.empty(0, LU.dtype)
    if pivots.shape[-1] > k:  # more of them change nothing
        pivots = pivots[..., :k]
    P = _permutation(pivots, LU.shape[-2], LU.dtype) if exchange else nothing
    return (P, *_triangles(LU)) if data else (P, nothing, nothing)


def _check_lu(name: str) -> Fn:
    def check(A: TensorRef, pivot: bool, **rest: bool) -> None:
        if A.ndim < 2:
            raise ShapeMismatchError(f"{name}: Expected tensor with 2 or more dimensions. Got size: {list(A.shape)} instead")
        if not pivot:
            raise AutogradError("linalg.lu_factor: LU without pivoting is not implemented on the CPU")

    return check


def _lu_gradient(F: Functions, L_grad: Values, U_grad: Values, P: Values, L: Values, U: Values) -> Values:
    """The gradient of A = P L U (m, n) from those of its factors."""
    m, n = L.shape[-2], U.shape[-1]
    k = min(m, n)

    def solve(x: Values) -> Values:  # the inverse of the adjoint of L times x
        return F.solve_triangle(_mH(F, L if m <= n else F.slice(L, -2, 0, k)), x, True, True)

    def solve_right(x: Any) -> Values:  # x times the inverse of the adjoint of U
        return _mH(F, F.solve_triangle(U if m >= n else F.slice(U, -1, 0, k), _mH(F, x), True, False))

    LL = None if L_grad is None else F.matmul(_mH(F, L), F.tril(L_grad, -1) if m > n else L_grad)
    UU = None if U_grad is None else F.matmul(F.triu(U_grad) if m < n else U_grad, _mH(F, U))
    if m == n:
        inner = None if LL is None else F.tril(LL, -1)
        inner = inner if UU is None else F.triu(UU) if inner is None else inner + F.triu(UU)
        return F.matmul(P, solve(solve_right(inner)))
    if m < n:
        inner = LL if UU is None else -UU if LL is None else LL - UU
        total = solve_right(F.tril(inner, -1))
        if U_grad is None:
            total = F.constant_pad_nd(total, (0, n - m))
        else:
            total = F.cat([total + F.triu(F.slice(U_grad, -1, 0, k)), F.slice(U_grad, -1, k, n)], -1)
        return F.matmul(P, solve(total))
    inner = UU if LL is None else -LL if UU is None else UU - LL
    total = solve(F.triu(inner))
    if L_grad is None:
        total = F.constant_pad_nd(total, (0, 0, 0, m - n))
    else:
        total = F.cat([total + F.tril(F.slice(L_grad, -2, 0, k), -1), F.slice(L_grad, -2, k, m)], -2)
    return F.matmul(P, solve_right(total))


INT32 = np.dtype(np.int32)


def like_lapack(shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """Column-major matrices without data."""
    *batch, step, column = contiguous_strides((*shape[:-2], shape[-1], shape[-2]))
    return without_data(shape, dtype, tuple([n * dtype.itemsize for n in (*batch, column, step)]))


def without_data(shape: tuple[int, ...], dtype: np.dtype, strides: tuple[int, ...] | None = None) -> np.ndarray:
    return meta_array(shape, dtype, strides)


def _lu_meta(A: np.ndarray) -> tuple[np.ndarray, ...]:
    *batch, m, n = A.shape
    k = min(m, n)
    return tuple([without_data((*batch, *shape), A.dtype) for shape in ((m, m), (m, k), (k, n))])


@op("linalg_lu_factor_ex(Tensor A, *, bool pivot=True, bool check_errors=False) -> (Tensor LU, Int32 pivots, Int32 info)",
    namespace="_internal", alias="linalg.lu_factor_ex", method=False, node="LinalgLuFactorExBackward0", complex="explicit")
class linalg_lu_factor_ex:
    """The factors L and U of matrices with exchanged rows, in one matrix; the exchanges; the first zero on the diagonal of U, or 0.

    >>> torch.linalg.lu_factor_ex(torch.tensor([[1., 2.], [4., 2.]])).LU
    tensor([[4.0000, 2.0000],
            [0.2500, 1.5000]])
    """

    sharding = "*b M N -> *b M N, *b K, *b"
    lacks = {"half int bool rare": "lu_cpu if any"}
    out_dtype = EXPECTED
    numpy = _lu_factor
    compose = on_host(_lu_factor)
    def meta(A, *rest):
        batch = A.shape[:-2]
        return (like_lapack(A.shape, A.dtype), without_data((*batch, min(A.shape[-2:])), INT32),
                without_data(batch, INT32))
    check = _check_lu("torch.lu_factor")

    def vjp(F, grad, LU, pivots):
        P, L, U = F.lu_unpack(LU, pivots)
        k = L.shape[-1]
        return _lu_gradient(F, F.tril(F.slice(grad, -1, 0, k), -1), F.triu(F.slice(grad, -2, 0, k)), P, L, U)
    batch = batches.matrices

    def samples(rng):
        yield (_square(rng, 3, 3),)
        yield (rng.standard_normal((2, 4, 2)),)
        yield (rng.standard_normal((2, 3)),)

    def errors(rng):
        yield (np.ones(2),), RuntimeError, "torch.lu_factor: Expected tensor with 2 or more dimensions. Got size: [2] instead"
        yield (np.eye(2), False), RuntimeError, "linalg.lu_factor: LU without pivoting is not implemented on the CPU"


@op("linalg_lu_factor(Tensor A, *, bool pivot=True) -> (Tensor LU, Index pivots)", namespace="_internal", alias="linalg.lu_factor",
    method=False)
class linalg_lu_factor:
    """`lu_factor_ex` that raises for singular matrices.

    >>> torch.linalg.lu_factor(torch.tensor([[1., 2.], [4., 2.]])).pivots
    tensor([2, 2], dtype=torch.int32)
    """

    lacks = {"half int bool rare": "lu_cpu if any"}
    out_dtype = EXPECTED
    quick_named = True
    def quick(A, pivot): return _regular_factors(A) if pivot else None
    def function(F, A, *, pivot=True):
        return F.returned(get_record("linalg_lu_factor"))(*F.linalg_lu_factor_ex(A, pivot=pivot, check_errors=True)[:2])

    def samples(rng): yield (_square(rng, 2, 3, 3),)
    def errors(rng):
        yield (np.zeros((2, 2)),), RuntimeError, (
            "torch.linalg.lu_factor: U[1,1] is zero and using it on lu_solve would result in a division by zero. If you still want to "
            "perform the factorization, consider calling linalg.lu(A, pivot) or linalg.lu_factor_ex(A, pivot)")


@op("lu(Tensor A, bool pivot=True, bool get_infos=False) -> (Tensor LU, Index pivots)")
class lu:
    """The former `linalg.lu_factor`, as a plain tuple; with `get_infos` what `lu_factor_ex` says.

    >>> torch.lu(torch.tensor([[1., 2.], [4., 2.]]))[1]
    tensor([2, 2], dtype=torch.int32)
    """

    gives = "Any"
    home = "functional"
    def quick(A, pivot, get_infos): return _lu_factor(A)[:2] if pivot and not get_infos and alone(A) else None
    def function(F, A, pivot=True, get_infos=False):
        result = F._lu_with_info(A, pivot, False)
        return result if get_infos else tuple(result[:2])

    def samples(rng): yield (_square(rng, 3, 3),)


@op("_lu_with_info(Tensor A, bool pivot=True, bool check_errors=True) -> (Tensor LU, Index pivots, Index info)", namespace="_internal",
    method=False, out=False)
class _lu_with_info:
    """`linalg.lu_factor_ex` as `lu` returns it."""

    lacks = {"rare": "lu_cpu"}
    amp = "float32"
    def function(F, A, pivot=True, check_errors=True):
        return F.returned(get_record("_lu_with_info"))(*F.linalg_lu_factor_ex(A, pivot=pivot, check_errors=check_errors))

    def samples(rng): yield (_square(rng, 3, 3),)


@op("linalg_lu(Tensor A, *, bool pivot=True) -> (Constant P, Tensor L, Tensor U)", namespace="_internal", alias="linalg.lu", method=False,
    node="LinalgLuBackward0", complex="explicit")
class linalg_lu:
    """P, L, U with A = P L U: a permutation, and triangular factors.

    >>> torch.linalg.lu(torch.tensor([[1., 2.], [4., 2.]])).U
    tensor([[4.0000, 2.0000],
            [0.0000, 1.5000]])
    """

    def sharding(call): return call.letters("*b M N -> *b M M, *b M K, *b K N" if call["pivot"] else "*b M N -> P, *b M K, *b K N")
    lacks = {"half int bool rare": "lu_cpu if any"}
    out_dtype = EXPECTED
    numpy = _lu
    compose = on_host(_lu)
    def meta(A, pivot=True): return _lu_meta(A)
    check = _check_lu("linalg.lu")
    def vjp(F, grad, P, L, U): return _lu_gradient(F, grad[0], grad[1], P, L, U)
    batch = batches.matrices

    def samples(rng):
        yield (_square(rng, 3, 3),)
        yield (rng.standard_normal((2, 4, 2)),)
        yield (rng.standard_normal((2, 3)),)


@op("lu_unpack(Tensor LU_data, Index LU_pivots, bool unpack_data=True, bool unpack_pivots=True) -> (Constant P, Tensor L, Tensor U)",
    method=False, quiet="all", node="LuUnpackBackward0", complex="explicit")
class lu_unpack:
    """The factors that `linalg.lu_factor` keeps in one matrix; what is not asked for is empty.

    >>> torch.lu_unpack(*torch.linalg.lu_factor(torch.tensor([[1., 2.], [4., 2.]])))[0]
    tensor([[0., 1.],
            [1., 0.]])
    """

    lacks = {"uint float8": "tril", "chalf": "scatter_gather_scalar_cpu"}
    def sharding(call):
        first = "*b M M" if call["unpack_pivots"] else "P"
        return call.letters(f"*b M N, *b K -> {first}, *b M K, *b K N" if call["unpack_data"] else f"*b M N, *b K -> {first}, L, U")
    out_dtype = EXPECTED
    saved_also = {"LU_data_sym_argsize_minus_1": "LU_data_shape[-1]", "LU_data_sym_argsize_minus_2": "LU_data_shape[-2]"}
    saved_as = {"LU_data_shape": None}
    indices = "int32"
    numpy = _lu_unpack
    compose = on_host(_lu_unpack)
    def check(LU_data, LU_pivots, unpack_data, unpack_pivots):
        if unpack_pivots and LU_pivots.dtype.name != "int32":
            raise AutogradError("torch.lu_unpack: LU_pivots is expected to be a contiguous tensor of torch.int32 dtype.\nNote: this "
                                "function is intended to be used with the output produced by torch.linalg.lu_factor")
        if LU_data.ndim < 2:
            raise ShapeMismatchError(f"torch.lu_unpack: Expected tensor with 2 or more dimensions. Got size: {list(LU_data.shape)} instead")
    def meta(LU_data, LU_pivots, data=True, exchange=True):
        nothing = without_data((0,), LU_data.dtype)
        P, L, U = _lu_meta(LU_data)
        return P if exchange else nothing, *((L, U) if data else (nothing, nothing))

    def vjp_LU_data(F, grad, LU_data_shape):
        m, n = LU_data_shape[-2:]
        parts = []
        if grad[0] is not None:
            parts.append(F.constant_pad_nd(F.tril(grad[0], -1), (0, max(n - m, 0))))
        if grad[1] is not None:
            parts.append(F.constant_pad_nd(F.triu(grad[1]), (0, 0, 0, max(m - n, 0))))
        return parts[0] if len(parts) == 1 else parts[0] + parts[1]
    batch = batches.together

    def samples(rng):
        for shape in ((3, 3), (4, 2), (2, 2, 3)):
            LU, pivots, _ = _lu_factor(rng.standard_normal(shape))
            yield LU, pivots

    def errors(rng):
        for bad in ([0, 2], [1, 3], [-1, 2]):
            yield (np.ones((2, 2)), np.array(bad, np.int32)), RuntimeError, (
                "pivots passed to lu_unpack must be between 1 and LU.size(-2) inclusive.Did you properly pass the result of lu_factor?")


def _lu_solution(LU: np.ndarray, pivots: np.ndarray, B: np.ndarray, adjoint: bool = False) -> np.ndarray:
    lead = broadcast_shape(LU.shape[:-2], B.shape[:-2])
    factors, X = one_batch(LU, lead), one_batch(B, lead)
    try:
        return from_columns(kernels.solve_lu(factors, one_batch(pivots[..., None], lead)[..., 0], X, adjoint), lead)
    except IndexError:
        which = "greater or equal to 1" if kernels.bounds(pivots)[0] < 1 else "smaller or equal to LU.size(-2)"
        raise AutogradError(f"Pivots given to lu_solve must all be {which}. Did you properly pass the result of lu_factor?") from None


@op("lu_solution(Tensor LU, Index pivots, Tensor B, bool adjoint=False) -> Tensor", namespace="_internal", method=False, out=False,
    node="LinalgLuSolveBackward0", complex="explicit")
class lu_solution:
    """X with A X = B, or A^H X = B where `adjoint`, from the LU factors of A (..., n, n); pivots that name no row are refused."""

    def sharding(call): return call.letters("*b N N, *b N, *b N k -> *b N k")
    lacks = {"half float8 chalf": "linalg.lu_solve_cpu if any"}
    saved_as = {"LU": "LU", "LU_shape": None, "B_shape": None}
    saved_also = {"left": "True"}
    meta_layout = "columns"
    indices = "int32"
    numpy = _lu_solution
    compose = on_host(_lu_solution)
    def shape(LU, pivots, B, adjoint): return (*broadcast_shape(LU[:-2], B[:-2]), *B[-2:])

    def vjp_LU(F, grad, LU, pivots, result, adjoint, LU_shape):
        G = F.lu_solution(LU, pivots, grad, not adjoint)
        back = F.matmul(result, _mH(F, G)) if adjoint else F.matmul(G, _mH(F, result))  # the gradient of A, with the other sign
        P, L, U = F.lu_unpack(LU, pivots)
        back = F.matmul(F.transpose(P, -2, -1), F.reduce_to_shape(back, tuple(LU_shape)))
        return -(F.tril(F.matmul(back, _mH(F, U)), -1) + F.triu(F.matmul(_mH(F, L), back)))

    def vjp_B(F, grad, LU, pivots, adjoint, B_shape):
        return F.reduce_to_shape(F.lu_solution(LU, pivots, grad, not adjoint), tuple(B_shape))

    def batch(F, call):
        if call.ranks["LU"] < 2 or call.ranks["B"] < 2 or call.ranks["pivots"] != call.ranks["LU"] - 1:
            return NotImplemented
        return call(**batches.broadcast_matrices(F, call, LU=2, pivots=1, B=2))

    def samples(rng):
        LU, pivots, _ = _lu_factor(_square(rng, 2, 3, 3))
        yield LU, pivots, rng.standard_normal((2, 3, 2))
        yield LU[0], pivots[0], rng.standard_normal((2, 3, 2)), True

    def errors(rng):
        for bad, text in ((0, "greater or equal to 1"), (3, "smaller or equal to LU.size(-2)")):
            yield (np.eye(2), np.array([bad, 2], np.int32), np.eye(2)), RuntimeError, (
                f"Pivots given to lu_solve must all be {text}. Did you properly pass the result of lu_factor?")


def _solved_by_factors(LU: np.ndarray, pivots: np.ndarray, B: np.ndarray) -> np.ndarray | None:
    """`_lu_solution` of plain arrays where nothing is wrong with them."""
    n = LU.shape[-1] if LU.ndim > 1 else 0
    fits = B.ndim > 1 and LU.shape[-2:] == (n, n) and B.shape[-2] == n and pivots.shape == LU.shape[:-1]
    return _lu_solution(LU, pivots, B) if fits and B.dtype is LU.dtype and LU.dtype.char in "fd" and pivots.dtype is INT32 else None


@op("linalg_lu_solve(Tensor LU, Tensor pivots, Tensor B, *, bool left=True, bool adjoint=False) -> Tensor", namespace="_internal",
    alias="linalg.lu_solve", method=False)
class linalg_lu_solve:
    """X with A X = B (X A = B where not `left`), from the factors of A; with `adjoint` for its conjugate transpose.

    >>> torch.linalg.lu_solve(*torch.linalg.lu_factor(torch.tensor([[2., 0.], [0., 4.]])), torch.tensor([[2.], [2.]]))
    tensor([[1.0000],
            [0.5000]])
    """

    lacks = {"int bool uint": "RuntimeError: torch.linalg.lu_solve: Expected a floating point or complex tensor as input. Got {dtype}",
             "half float8 chalf": "linalg.lu_solve_cpu if any"}
    out_dtype = EXPECTED
    amp = "whole"

    def quick(LU, pivots, B, left, adjoint): return _solved_by_factors(LU, pivots, B) if left and not adjoint else None

    def function(F, LU, pivots, B, *, left=True, adjoint=False):
        _check_matrix("linalg.lu_solve", LU, True, False)
        if B.ndim < 2:
            raise ShapeMismatchError("linalg.lu_solve: The input tensor B must have at least 2 dimensions.")
        if pivots.dtype.name != "int32":
            raise AutogradError("linalg.lu_solve: pivots should be a Tensor of scalar type torch.int32")
        if LU.dtype is not B.dtype:
            names = [SCALAR_TYPE_NAMES[t.dtype.name] for t in (LU, B)]
            raise AutogradError(f"linalg.lu_solve: Expected LU and B to have the same dtype, but found LU of type {names[0]} and B of type "
                                f"{names[1]} instead")
        n, rows = LU.shape[-1], B.shape[-2 if left else -1]
        if rows != n:
            what = "AX = B" if left else "XA = B"
            raise ShapeMismatchError(f"linalg.lu_solve: Incompatible shapes of A and B for the equation {what} "
                                     f"({n}x{n} and {B.shape[-2]}x{B.shape[-1]})")
        if not pivots.ndim or pivots.shape[-1] != n:
            raise ShapeMismatchError("linalg.lu_solve: Number of pivots per batch should be same as the dimension of the matrix")
        if pivots.shape != LU.shape[:-1]:
            raise ShapeMismatchError("linalg.lu_solve: Expected LU.shape[:-1] and pivots.shape to be the same, but got pivots with shape "
                                     f"{list(pivots.shape)} instead")
        X = F.lu_solution(LU, pivots, B if left else _mH(F, B), adjoint is left)
        return X if left else F.transpose(F.conj_physical(X) if is_complex(X) else X, -2, -1)

    def samples(rng):
        LU, pivots, _ = _lu_factor(_square(rng, 2, 3, 3))
        yield LU, pivots, rng.standard_normal((2, 3, 2))
        yield Sample((LU[0], pivots[0], rng.standard_normal((2, 3))), {"left": False})
        yield Sample((LU[0], pivots[0], rng.standard_normal((3, 2))), {"adjoint": True})

    def errors(rng):
        LU, pivots, _ = _lu_factor(np.eye(3))
        yield (LU, pivots, np.ones((2, 2))), RuntimeError, (
            "linalg.lu_solve: Incompatible shapes of A and B for the equation AX = B (3x3 and 2x2)")
        yield (LU, pivots, np.ones(3)), RuntimeError, "linalg.lu_solve: The input tensor B must have at least 2 dimensions."
        yield (LU, pivots[:2], np.ones((3, 2))), RuntimeError, (
            "linalg.lu_solve: Number of pivots per batch should be same as the dimension of the matrix")
        yield (LU, pivots[None], np.ones((3, 2))), RuntimeError, (
            "linalg.lu_solve: Expected LU.shape[:-1] and pivots.shape to be the same, but got pivots with shape [1, 3] instead")


@op("lu_solve(Tensor b, Tensor LU_data, Tensor LU_pivots) -> Tensor")
class lu_solve:
    """The former `linalg.lu_solve`.

    >>> torch.lu_solve(torch.tensor([[2.], [2.]]), *torch.linalg.lu_factor(torch.tensor([[2., 0.], [0., 4.]])))
    tensor([[1.0000],
            [0.5000]])
    """

    words = {"input": "b"}
    lacks = {"float8 chalf": "linalg.lu_solve_cpu"}
    out_dtype = EXPECTED
    amp = "float32"
    def quick(b, LU_data, LU_pivots): return _solved_by_factors(LU_data, LU_pivots, b)
    def function(F, b, LU_data, LU_pivots): return F.linalg_lu_solve(LU_data, LU_pivots, b)

    def samples(rng):
        LU, pivots, _ = _lu_factor(_square(rng, 3, 3))
        yield rng.standard_normal((3, 2)), LU, pivots


# -- general matrices -------------------------------------------------------------------------------------------------


def _eig(A: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    if A.ndim < 2 or A.shape[-2] != A.shape[-1]:
        raise ValueError("square matrices expected")
    if not np.isfinite(A).all():
        raise AutogradError("torch.linalg.eig: input tensor should not contain infs or NaNs.")
    values, vectors = lapack.eig(A)
    dtype = np.result_type(A.dtype, np.complex64)
    return values.astype(dtype, copy=False), _columns(vectors.astype(dtype, copy=False))


@op("linalg_eig(Tensor A) -> (Tensor eigenvalues, Tensor eigenvectors)", namespace="_internal", alias="linalg.eig", method=False,
    node="LinalgEigBackward0", complex="explicit")
class linalg_eig:
    """Eigenvalues and eigenvectors of square matrices, complex.

    >>> torch.linalg.eig(torch.tensor([[0., 1.], [-1., 0.]])).eigenvalues
    tensor([0.+1.j, 0.-1.j])
    """

    words = {"input": "A"}
    sharding = "*b N N -> *b N, *b N N"
    lacks = {"half chalf": "linalg_eig_out_cpu", "float8": "RuntimeError: Unknown Complex ScalarType for {dtype}"}
    out_dtype = (casts_safely("torch.linalg.eig", "eigenvalues"), casts_safely("torch.linalg.eig", "eigenvectors"))
    amp = "float32"
    saved_as = {"A": None}
    numpy = _eig
    compose = on_host(_eig)
    def meta(A):
        dtype = np.result_type(A.dtype, np.complex64)
        return without_data(A.shape[:-1], dtype), like_lapack(A.shape, dtype)
    def check(A):
        _check_matrix("linalg.eig", A, True, False)
        if A.dtype.category < FLOATING:
            raise AutogradError(f"Unknown Complex ScalarType for {SCALAR_TYPE_NAMES[A.dtype.name]}")

    def vjp(F, grad, A, eigenvalues, eigenvectors):
        g_values, V = grad[0], eigenvectors
        if grad[1] is None:
            inner = _diagonal_matrix(F, g_values)
        else:
            VhV, J = F.matmul(_mH(F, V), V), F.matmul(_mH(F, V), grad[1])
            turn = F.diagonal(J, 0, -2, -1)
            _check_phase("linalg_eig", "this quantity, so it is", F.imag_part(turn))
            inner = J - VhV * F.unsqueeze(F.real_part(turn), -2)
            diagonal = constant(F, V, np.eye(V.shape[-1], dtype=np.bool_))
            apart = F.conj(F.unsqueeze(eigenvalues, -2) - F.unsqueeze(eigenvalues, -1))
            inner = F.masked_fill(inner, diagonal, 0) / F.masked_fill(apart, diagonal, 1)
            if g_values is not None:
                inner = inner + _diagonal_matrix(F, g_values)
        result = F.solve_matrices(_mH(F, V), F.matmul(inner, _mH(F, V)))
        return result if is_complex(A) else F.real_part(result)

    def jvp(F, outputs, arguments, tangents):
        values, V = outputs
        P = F.solve_matrices(V, F.matmul(F.cast_like(tangents["A"], V), V))
        diagonal = constant(F, V, np.eye(V.shape[-1], dtype=np.bool_))
        apart = F.unsqueeze(values, -2) - F.unsqueeze(values, -1)
        change = F.matmul(V, F.masked_fill(P, diagonal, 0) / F.masked_fill(apart, diagonal, 1))
        along = F.unsqueeze(F.real_part(F.sum(F.conj(V) * change, -2)), -2)  # vectors keep their length
        return F.diagonal(P, 0, -2, -1), change - V * along
    batch = batches.matrices

    def samples(rng): yield Sample((np.diag([1.0, 2.0, -1.5]) + 0.1 * rng.standard_normal((3, 3)),), of="abs")
    def errors(rng):
        yield (np.ones((2, 3)),), RuntimeError, "linalg.eig: A must be batches of square matrices, but they are 2 by 3 matrices"
        yield (np.array([[np.nan]]),), RuntimeError, "torch.linalg.eig: input tensor should not contain infs or NaNs."


@op("linalg_eigvals(Tensor A) -> Tensor", namespace="_internal", alias="linalg.eigvals", method=False)
class linalg_eigvals:
    """The eigenvalues of square matrices, complex.

    >>> torch.linalg.eigvals(torch.tensor([[0., 1.], [-1., 0.]]))
    tensor([0.+1.j, 0.-1.j])
    """

    words = {"input": "A"}
    lacks = {"chalf": "linalg_eig_out_cpu", "float8": "RuntimeError: Unknown Complex ScalarType for {dtype}"}
    out_dtype = casts_safely("torch.linalg.eigvals", "eigenvalues")
    amp = "float32"
    quick_complex = True
    fused = True
    def quick(A): return lapack.eigvals(A) if alone(A) and A.shape[-1] == A.shape[-2] and np.isfinite(A).all() else None
    def function(F, A): return F.linalg_eig(A)[0]
    def samples(rng): yield (np.diag([1.0, 2.0, -1.5]) + 0.1 * rng.standard_normal((3, 3)),)


_PADE = (64764752532480000., 32382376266240000., 7771770303897600., 1187353796428800., 129060195264000., 10559470521600., 670442572800.,
         33522128640., 1323241920., 40840800., 960960., 16380., 182., 1.)
_COEFFICIENTS = np.array(_PADE)


def _matrix_exp(A: np.ndarray) -> np.ndarray:
    """Scaling and squaring with a Pade approximant of degree 13 (Higham, SIAM J. Matrix Anal. Appl. 26, 2005), in double precision."""
    n = A.shape[-1]
    if A.shape[-2] != n:
        raise ValueError("square matrices expected")
    if not A.size:
        return A.copy()
    found = small.exponentials(A, _COEFFICIENTS)
    if found is not None:
        return found
    x = A.reshape(-1, n, n).astype(np.result_type(A.dtype, np.float64))
    norm = np.abs(x).sum(-2).max(-1)
    with ignoring():
        times = np.where(norm > 5.37, np.ceil(np.log2(norm / 5.37)), 0)
    times = np.nan_to_num(times, nan=0, posinf=0).astype(np.int64)
    x = x / (2.0 ** times)[:, None, None]
    one, b = np.eye(n), _PADE
    x2 = x @ x
    x4 = x2 @ x2
    x6 = x4 @ x2
    odd = x @ (x6 @ (b[13] * x6 + b[11] * x4 + b[9] * x2) + b[7] * x6 + b[5] * x4 + b[3] * x2 + b[1] * one)
    even = x6 @ (b[12] * x6 + b[10] * x4 + b[8] * x2) + b[6] * x6 + b[4] * x4 + b[2] * x2 + b[0] * one
    result = lapack.solve(even - odd, even + odd)
    for step in range(int(times.max())):
        more = times > step
        result[more] = result[more] @ result[more]
    return result.reshape(A.shape).astype(A.dtype)


@op("matrix_exp(Tensor input) -> Tensor", alias="linalg.matrix_exp", out=False, node="LinalgMatrixExpBackward0", complex="explicit")
class matrix_exp:
    """The exponentials of square matrices.

    >>> torch.linalg.matrix_exp(torch.tensor([[0., 1.], [0., 0.]]))
    tensor([[1., 1.],
            [0., 1.]])
    """

    lacks = {"float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz": "sum_cpu", "float8_e8m0fnu": "abs_cpu", "chalf": "bmm"}
    sharding = "*b N N -> *b N N"
    numpy = _matrix_exp
    compose = on_host(_matrix_exp)
    shape = like_first
    def check(input): _check_matrix("linalg.matrix_exp", input, True)

    def vjp(F, grad, input):
        n, At = input.shape[-1], _mH(F, input)  # the exponential of [[A, G], [0, A]] holds the derivative along G at its upper right
        whole = F.cat([F.cat([At, grad], -1), F.cat([F.zero_gradient(grad), At], -1)], -2)
        return F.slice(F.slice(F.matrix_exp(whole), -2, 0, n), -1, n, 2 * n)
    batch = batches.matrices

    def samples(rng):
        yield (rng.standard_normal((3, 3)),)
        yield (rng.standard_normal((2, 2, 2)) * 4,)

    def errors(rng):
        yield (np.ones((2, 3)),), RuntimeError, "linalg.matrix_exp: A must be batches of square matrices, but they are 2 by 3 matrices"


# -- least squares ----------------------------------------------------------------------------------------------------

_DRIVERS = ("gels", "gelsy", "gelsd", "gelss")


def _limit(driver: str, rcond: float | None, eps: float, size: int) -> float:
    """The share of the largest singular value up to which LAPACK's driver counts others as zero, for `rcond` as it is given."""
    if rcond is None or driver == "gels":
        return eps * size
    if driver == "gelsd":
        return rcond if 0 < rcond < 1 else eps
    return rcond if rcond >= 0 or driver == "gelsy" else eps


def _pivoted(a: np.ndarray, b: np.ndarray, rcond: float) -> tuple[np.ndarray, int]:
    """The solution of least norm of the leading columns in the order of their size, as far as they are apart, and how many that are: by the
    complete orthogonal factorization of LAPACK's `gelsy` (Golub and Van Loan, "Matrix Computations", 5.5)."""
    order, q, rest = np.arange(a.shape[1]), np.empty((len(a), 0), a.dtype), a.copy()
    for k in range(min(a.shape)):
        first = k + int(np.argmax(np.add.reduce(np.abs(rest[:, k:]) ** 2, 0)))
        for x in (order, rest.T):
            x[[k, first]] = x[[first, k]]
        column = rest[:, k] - q @ (q.conj().T @ rest[:, k])  # once more, for the digits that cancelled
        size = linalg.norm(column)
        wider = np.concatenate([q, (column / size)[:, None]], 1) if size > 0 else q
        s = linalg.svd(wider.conj().T @ a[:, order[:k + 1]], compute_uv=False)
        if size == 0 or s[0] * rcond > s[-1]:
            break
        q = wider
        rest[:, k + 1:] -= np.outer(q[:, k], q[:, k].conj() @ rest[:, k + 1:])
    return linalg.pinv(q.conj().T @ a) @ (q.conj().T @ b), q.shape[1]


def _by_reflections(A: np.ndarray, B: np.ndarray, rcond: float) -> np.ndarray | None:
    """The solution of R X = Q^H B, A = Q R, in double precision, where R is far from singular: a bound of its condition, by norms of it and
    of its inverse, is half of what `rcond` leaves out, or less; else None."""
    n, columns, wide = A.shape[-1], B.shape[-1], np.float64 if A.dtype.kind == "f" else np.complex128
    if columns <= n:  # which become Q^H B beside R
        whole, _ = lapack.qr_factors(np.concatenate([A, B], -1))
        r, turned = kernels.keep_triangle(whole[..., :n, :n].copy(), 1, 0), whole[..., :n, n:]
    else:
        q, r = kernels.qr(A.astype(wide, copy=False), n, True)
        r, turned = r.swapaxes(-2, -1), np.matmul(q.conj() if wide is np.complex128 else q, B)
    if not np.diagonal(r, 0, -2, -1).all():
        return None
    sides = np.empty((*r.shape[:-1], n + columns), wide)
    sides[..., :n], sides[..., n:] = np.eye(n), turned
    flat = kernels.solve_triangles(sides.reshape(-1, *sides.shape[-2:]), (r.reshape(-1, n, n), True, False))
    found = from_columns(flat, r.shape[:-2])
    sizes = [np.add.reduce(np.square(np.abs(x)), (-2, -1)) for x in (r, found[..., :n])]
    return found[..., n:] if (sizes[0] * sizes[1] * (2 * rcond) ** 2 <= 1).all() else None


def _of_least_norm(A: np.ndarray, B: np.ndarray, rcond: float) -> np.ndarray | None:
    """The solution of least norm of wide matrices' equations, Q Y with R^H Y = B, A^H = Q R, under the same condition."""
    m, wide = A.shape[-2], np.float64 if A.dtype.kind == "f" else np.complex128
    q, r = kernels.qr(mH(A).astype(wide), m, True)
    lower = r.conj() if wide is np.complex128 else r
    if not np.diagonal(lower, 0, -2, -1).all():
        return None
    sides = np.empty((*r.shape[:-1], m + B.shape[-1]), wide)
    sides[..., :m], sides[..., m:] = np.eye(m), B
    flat = kernels.solve_triangles(sides.reshape(-1, *sides.shape[-2:]), (lower.reshape(-1, m, m), False, False))
    found = from_columns(flat, r.shape[:-2])
    sizes = [np.add.reduce(np.square(np.abs(x)), (-2, -1)) for x in (r, found[..., :m])]
    return np.matmul(q.swapaxes(-2, -1), found[..., m:]) if (sizes[0] * sizes[1] * (2 * rcond) ** 2 <= 1).all() else None


def _lstsq(A: np.ndarray, B: np.ndarray, rcond: float, pivoted: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """The solution of least norm by singular values, of which those up to `rcond` times the largest count as zero; and the ranks. Where
    some do, `pivoted` leaves out columns instead."""
    (m, n), columns = A.shape[-2:], B.shape[-1]
    alike = A.size and B.size and A.shape[:-2] == B.shape[:-2]
    found = (_by_reflections if m >= n else _of_least_norm)(A, B, rcond) if alike else None
    if found is None:
        u, s, vh = singular(A, False)
        kept = s > rcond * s.max(-1, keepdims=True, initial=0)
        inverse = np.where(kept, 1 / np.where(kept, s, 1), 0).astype(s.dtype)
        found, ranks = mH(vh) @ (inverse[..., None] * (mH(u) @ B)), np.add.reduce(kept, -1, np.int64)
        pivoted = pivoted and A.size > 0 and rcond > 0 and not kept.all()
    else:
        pivoted, ranks = False, np.full(A.shape[:-2], min(m, n), np.int64)
    # LAPACK leaves the solution in the memory of B, whose rows are those of the larger side.
    batch, rows = broadcast_shape(A.shape[:-2], B.shape[:-2]), max(m, n)
    *lead, step, column = contiguous_strides((*batch, columns, rows))
    solution = empty_strided((*batch, rows, columns), (*lead, column, step), A.dtype)[..., :n, :]
    solution[...] = found
    ranks = np.ascontiguousarray(ranks).reshape(A.shape[:-2])
    if pivoted:
        every = np.broadcast_to(A, (*batch, m, n)), np.broadcast_to(B, (*batch, m, columns)), np.broadcast_to(ranks, batch)
        for i in zip(*(every[2] < min(m, n)).nonzero()) if batch else [()]:
            solution[i], rank = _pivoted(every[0][i], every[1][i], rcond)
            ranks[i[len(batch) - ranks.ndim:]] = rank
    return solution, ranks


@op("lstsq_solution(Tensor A, Tensor B, float rcond, bool pivoted=False) -> (Tensor solution, Index rank)", namespace="_internal",
    method=False, out=False, node="LinalgLstsqBackward0", complex="explicit")
class lstsq_solution:
    """The X of least norm with the least |A X - B|."""

    sharding = "*b M N, *b M k -> *b N k, *b"
    passes_partial = ""  # the rank is no sum
    saved_as = {"B": None, "A_shape": None, "B_shape": None}
    numpy = _lstsq
    compose = on_host(_lstsq)

    def meta(A, B, rcond, pivoted=False):
        batch = A.shape[:-2]
        return (without_data((*broadcast_shape(batch, B.shape[:-2]), A.shape[-1], B.shape[-1]), A.dtype),
                without_data(batch, np.dtype(np.int64)))

    def vjp_A(F, grad, A, B, A_shape):
        return F.reduce_to_shape(_pinv_gradient(F, F.matmul(grad, _mH(F, B)), A, F.linalg_pinv(A)), tuple(A_shape))

    def vjp_B(F, grad, A, B_shape): return F.reduce_to_shape(F.matmul(_mH(F, F.linalg_pinv(A)), grad), tuple(B_shape))
    def batch(F, call): return batches.together(F, call) if call.ranks["A"] == call.ranks["B"] else NotImplemented

    def samples(rng):
        yield rng.standard_normal((4, 2)), rng.standard_normal((4, 3)), 1e-15
        yield rng.standard_normal((2, 2, 3)), rng.standard_normal((2, 2, 1)), 1e-15


def _refuse_rank(rank: np.ndarray, full: int, batched: bool) -> None:
    bad = np.flatnonzero(np.ravel(rank) < full)
    if bad.size:
        where = f"(Batch element {bad[0]}): " if batched else ""
        raise LinAlgError(f"torch.linalg.lstsq: {where}The least squares solution could not be computed because the input matrix does not "
                          f"have full rank (error code: {int(np.ravel(rank)[bad[0]]) + 1}).")


@op("linalg_lstsq(Tensor A, Tensor B, float? rcond=None, *, Any driver=None) "
    "-> (Tensor solution, Tensor residuals, Index rank, Tensor singular_values)", namespace="_internal", alias="linalg.lstsq", method=False)
class linalg_lstsq:
    """Solutions X of A X = B in the sense of least squares, for matrices A (..., m, n) and B (..., m, k), or vectors B (..., m).

    >>> torch.linalg.lstsq(torch.tensor([[1.], [1.]]), torch.tensor([[1.], [3.]])).solution
    tensor([[2.]])
    """

    words = {"input": "A", "b": "B"}
    lacks = {"float8 chalf": "RuntimeError: This function doesn't handle types other than float and double"}
    out_dtype = tuple([casts_safely("torch.linalg.lstsq", part) for part in ("solution", "residuals", "rank", "singular_values")])
    amp = "float32"

    quick_named = True
    def quick(A, B, rcond, driver):
        fits = alone(A) and A.ndim - B.ndim in (0, 1) and B.ndim and A.shape[:-1] == B.shape[:A.ndim - 1] and A.dtype is B.dtype
        if not fits or driver not in (None, "gelsy"):
            return None
        X = B if A.ndim == B.ndim else B[..., None]
        solution, rank = _lstsq(A, X, _limit("gelsy", rcond, float(np.finfo(A.dtype).eps), max(A.shape[-2:])), True)
        return solution if X is B else solution[..., 0], np.empty(0, A.dtype), np.asarray(rank), np.empty(0, A.dtype)

    def function(F, A, B, rcond=None, *, driver=None):
        name = "torch.linalg.lstsq"
        if A.ndim < 2:
            raise ShapeMismatchError(f"{name}: input must have at least 2 dimensions.")
        if B.ndim < 1:
            raise ShapeMismatchError(f"{name}: other must have at least 1 dimension.")
        if A.dtype is not B.dtype:
            names = [SCALAR_TYPE_NAMES[t.dtype.name] for t in (A, B)]
            raise AutogradError(f"{name}: Expected input and other to have the same dtype, but got input's dtype {names[0]} and other's "
                                f"dtype {names[1]}")
        if A.dtype.category < FLOATING or A.dtype.itemsize == 2:
            raise AutogradError("This function doesn't handle types other than float and double")
        if driver not in (None, *_DRIVERS):
            raise AutogradError(f"{name}: parameter `driver` should be one of (gels, gelsy, gelsd, gelss)")
        driver = driver or "gelsy"
        a, b = tuple(A.shape), tuple(B.shape)
        vector = B.ndim == 1 or A.ndim - 1 == B.ndim and a[:-1] == b
        X = F.unsqueeze(B, -1) if vector else B
        if X.shape[-2] != a[-2]:
            raise ShapeMismatchError(f"{name}: input.size(-2) should match other.size({-1 if vector or B.ndim < 2 else -2})")
        m, n = a[-2:]
        limit = _limit(driver, rcond, float(np.finfo(A._k.np).eps), max(m, n))
        if on_meta(A):
            data_dependent()
        solution, rank = F.lstsq_solution(A, X, limit, driver == "gelsy")
        if driver == "gels":
            _refuse_rank(need_values(rank), min(m, n), len(a) > 2)
        if driver == "gels" and m > n == 0:
            residuals = F.zeros_for(F.real(X), (*tuple(X.shape)[:-2], X.shape[-1]))
        elif driver != "gelsy" and m > n and np.all(need_values(rank) == n):
            residuals = F.sum(F.square(F.abs(F.matmul(A, solution) - X)), -2)
        else:
            residuals = F.slice(F.flatten(F.abs(solution)), 0, 0, 0)
        return F.returned(get_record("linalg_lstsq"))(
            F.squeeze(solution, -1) if vector else solution, residuals,
            constant(F, A, np.empty(0, np.int64)) if driver == "gels" else rank,
            constant(F, A, np.ascontiguousarray(linalg.svd(need_values(A), compute_uv=False)) if driver in ("gelsd", "gelss") else
                     np.empty(0, A._k.dtype.to_real().np)))

    def samples(rng):
        yield rng.standard_normal((4, 2)), rng.standard_normal((4, 3))
        yield rng.standard_normal((2, 2, 3)), rng.standard_normal((2, 2))

    def errors(rng):
        yield (np.ones((4, 2)), np.ones((3, 2))), RuntimeError, "torch.linalg.lstsq: input.size(-2) should match other.size(-2)"


# -- built on the above -----------------------------------------------------------------------------------------------


@op("linalg_tensorinv(Tensor A, int ind=2) -> Tensor", namespace="_internal", alias="linalg.tensorinv", method=False)
class linalg_tensorinv:
    """The inverse of a tensor as a map from its last dimensions to its first `ind`.

    >>> torch.linalg.tensorinv(torch.eye(4).reshape(2, 2, 4)).shape
    torch.Size([4, 2, 2])
    """

    words = {"input": "A"}
    out_dtype = casts_safely("tensorinv")
    amp = "float32"
    def function(F, A, ind=2):
        if ind <= 0:
            raise AutogradError("Expected a strictly positive integer for 'ind'")
        shape = tuple(A.shape)
        rows, columns = prod(shape[:ind]), prod(shape[ind:])
        if rows != columns:
            raise ShapeMismatchError("Expected self to satisfy the requirement prod(self.shape[ind:]) == prod(self.shape[:ind]), but got "
                                     f"{columns} != {rows}")
        return F.reshape(F.inverse(F.reshape(A, (rows, columns))), (*shape[ind:], *shape[:ind]))

    def samples(rng): yield (_square(rng, 4, 4).reshape(2, 2, 4),)


@op("linalg_tensorsolve(Tensor A, Tensor B, int[]? dims=None) -> Tensor", namespace="_internal", alias="linalg.tensorsolve", method=False)
class linalg_tensorsolve:
    """X with tensordot(A, X, X.ndim) = B; `dims` of A are moved to its end first.

    >>> torch.linalg.tensorsolve(torch.eye(4).reshape(2, 2, 4), torch.ones(2, 2))
    tensor([1., 1., 1., 1.])
    """

    words = {"input": "A", "other": "B"}
    lacks = {"float8 chalf": "lu_cpu"}
    out_dtype = casts_safely("tensorsolve")
    amp = "float32"
    def function(F, A, B, dims=None):
        if dims is not None:
            A = F.movedim(A, tuple(dims), tuple(range(A.ndim - len(dims), A.ndim)))
        shape = tuple(A.shape)[B.ndim:]
        rows, columns = prod(tuple(B.shape)), prod(shape)
        if rows != columns:
            raise ShapeMismatchError("Expected self to satisfy the requirement prod(self.shape[other.ndim:]) == "
                                     f"prod(self.shape[:other.ndim]), but got {columns} != {rows}")
        return F.reshape(F.linalg_solve(F.reshape(A, (rows, columns)), F.reshape(B, (rows,))), shape)

    def samples(rng): yield _square(rng, 6, 6).reshape(2, 3, 6), rng.standard_normal((2, 3))


def _powers(F: Functions, x: TensorRef, n: int) -> TensorRef:
    column = F.unsqueeze(x, -1)
    # Products of floating-point numbers are rounded where torch does it; columns of much are slower put side by side than multiplied.
    if n > 16 or x._k.dtype.category >= FLOATING or prod(tuple(x.shape)) > 32768:
        return F.cat([F.ones_like(column), F.cumprod(F.expand(column, (*tuple(x.shape), n - 1)), -1)], -1)
    if x._k.dtype.category < FLOATING and x._k.dtype is not int64:
        column = F.cast(column, int64)  # the products' dtype
    powers = [F.ones_like(column), *[column] * (n > 1)]
    while len(powers) < n:
        powers.append(powers[-1] * column)
    return F.cat(powers, -1)


def _few_powers(x: np.ndarray, n: int, turned: bool) -> np.ndarray | None:
    """The first powers of real numbers, or the same `turned` round, side by side; products are in double precision, and rounded once, or of
    integers in int64."""
    whole = x.dtype.kind in "biu"
    if not whole and x.dtype.char not in "fd" or not 1 < n <= 16 or not x.ndim:
        return None
    if (found := small.powers(x if not whole or x.dtype.char == "l" else x.astype(np.int64), n, turned)) is not None:
        return found
    rows = np.empty((n, *x.shape), np.int64 if whole else x.dtype)
    rows[0], rows[1] = 1, x
    if n > 2:
        wide: Any = x.astype(np.int64 if whole else np.float64)
        product = wide * wide
        for row in rows[2:]:
            row[...] = product
            product *= wide
    return np.moveaxis(rows[::-1] if turned else rows, 0, -1).copy()


@op("linalg_vander(Tensor x, *, int? N=None) -> Tensor", namespace="_internal", alias="linalg.vander", method=False, out=False)
class linalg_vander:
    """The powers 0 to N - 1 of each number, along a new last dimension.

    >>> torch.linalg.vander(torch.tensor([1, 2, 3]))
    tensor([[1, 1, 1],
            [1, 2, 4],
            [1, 3, 9]])
    """

    def quick(x, N): return _few_powers(x, x.shape[-1] if N is None else N, False) if x.ndim else None
    lacks = {"half bool float8 chalf": "RuntimeError: linalg.vander supports floating point, complex, and integer tensors, but got {dtype}"}
    def function(F, x, *, N=None):
        x = x if x.ndim else F.reshape(x, (1,))
        if N is not None and N <= 1:
            raise AutogradError("N must be greater than 1.")
        return _powers(F, x, x.shape[-1] if N is None else N)

    def samples(rng): yield Sample((rng.standard_normal((2, 3)),), {"N": 4})


@op("vander(Tensor x, int? N=None, bool increasing=False) -> Tensor", method=False, out=False)
class vander:
    """The powers N - 1 to 0 of each number of a vector, or in increasing order.

    >>> torch.vander(torch.tensor([1, 2, 3]), N=2)
    tensor([[1, 1],
            [2, 1],
            [3, 1]])
    """

    def quick(x, N, increasing): return _few_powers(x, x.shape[0] if N is None else N, not increasing) if x.ndim == 1 else None
    lacks = {"chalf": "cumprod_out_cpu", **{
        group: f"RuntimeError: Promotion for {which} is not supported, attempted to promote {{dtype}} and Long"
        for group, which in (("uint", "uint16, uint32, uint64 types"), ("float8", "Float8 Types"))}}
    def function(F, x, N=None, increasing=False):
        if x.ndim != 1:
            raise ShapeMismatchError("x must be a one-dimensional tensor.")
        n = x.shape[0] if N is None else N
        if n < 0:
            raise AutogradError("N must be non-negative.")
        result = F.full((x.shape[0], n), 1, dtype=int64 if x._k.dtype.category < FLOATING else x.dtype)
        if n > 1:
            result = _powers(F, x, n)
        return result if increasing else F.flip(result, (-1,))

    def samples(rng): yield rng.standard_normal(3), 4


def _cholesky_solve(B: np.ndarray, L: np.ndarray, upper: bool = False) -> np.ndarray:
    """Substitution forwards, then backwards; a zero on the diagonal makes infinities, as in LAPACK."""
    lead = broadcast_shape(B.shape[:-2], L.shape[:-2])
    factor = one_batch(mH(L) if upper else L, lead)
    return from_columns(kernels.solve_triangles(one_batch(B, lead), (factor, False, False), (mH(factor), True, False)), lead)


@op("cholesky_solve(Tensor B, Tensor L, bool upper=False) -> Tensor", complex="explicit")
class cholesky_solve:
    """X with A X = B, from the Cholesky factor of A.

    >>> torch.cholesky_solve(torch.tensor([[8.]]), torch.tensor([[2.]]))
    tensor([[2.]])
    """

    words = {"input": "B", "input2": "L"}
    sharding = "*b N k, *b N N -> *b N k"
    lacks = {"half int bool rare": "cholesky_solve_cpu"}
    out_dtype = casts_safely("cholesky_solve")
    meta_layout = "columns"
    amp = "float32"
    saved_as = {"L": "input2", "B_shape": None, "L_shape": None}
    numpy = _cholesky_solve
    compose = on_host(_cholesky_solve)
    def shape(B, L, upper): return (*broadcast_shape(B[:-2], L[:-2]), *B[-2:])

    def check(B, L, upper):
        for name, x in (("b", B), ("u", L)):
            if x.ndim < 2:
                raise ShapeMismatchError(f"{name} should have at least 2 dimensions, but has {x.ndim} dimensions instead")
        check_equation("cholesky_solve", L, B)

    def vjp(F, grad, L, result, upper, B_shape, L_shape, needs):
        back = F.cholesky_solve(grad, L, upper)
        of_B = F.reduce_to_shape(back, tuple(B_shape)) if needs[0] else None
        if not needs[1]:
            return of_B, None
        term = F.matmul(back, _mH(F, result))
        term = term + _mH(F, term)
        return of_B, F.reduce_to_shape(-(F.matmul(L, term) if upper else F.matmul(term, L)), tuple(L_shape))

    batch = batches.two_matrices

    def samples(rng):
        L = np.tril(_square(rng, 3, 3))
        yield Sample((rng.standard_normal((3, 2)), L), through="tril")


def _cholesky_inverse(L: np.ndarray, upper: bool = False) -> np.ndarray:
    diagonal = L.diagonal(0, -2, -1)
    if not diagonal.all():
        zero = np.argwhere(diagonal.reshape(prod(L.shape[:-2]), L.shape[-1]) == 0)
        where = f"(Batch element {zero[0][0]}): " if L.ndim > 2 else ""
        raise LinAlgError(f"cholesky_inverse: {where}The diagonal element {zero[0][1] + 1} is zero, the inversion could not be completed "
                          "because the input matrix is singular.")
    found = kernels.invert_definite(one_batch(L, L.shape[:-2]), upper)
    if found is not None:
        return from_columns(found, L.shape[:-2])
    n = L.shape[-1]
    one = np.zeros(L.shape, L.dtype)
    one.reshape(prod(L.shape[:-2]), n * n)[:, ::n + 1] = 1
    return _cholesky_solve(one, L, upper)


@op("cholesky_inverse(Tensor L, bool upper=False) -> Tensor", complex="explicit")
class cholesky_inverse:
    """The inverse of A, from its Cholesky factor.

    >>> torch.cholesky_inverse(torch.tensor([[2.]]))
    tensor([[0.2500]])
    """

    words = {"input": "L"}
    sharding = "*b N N -> *b N N"
    lacks = {"half int bool rare": "cholesky_inverse_out_cpu"}
    out_dtype = casts_safely("cholesky_inverse")
    meta_layout = "columns"
    amp = "float32"
    numpy = _cholesky_inverse
    compose = on_host(_cholesky_inverse)
    shape = like_first
    def check(L, upper): _check_matrix("cholesky_inverse", L, True, False)

    def vjp(F, grad, L, result, upper):
        term = F.matmul(result, F.matmul(grad + _mH(F, grad), result))
        return -(F.matmul(L, term) if upper else F.matmul(term, L))

    def jvp(F, outputs, arguments, tangents):
        L, dL = [_mH(F, x) if arguments["upper"] else x for x in (arguments["L"], tangents["L"])]
        part = F.matmul(outputs[0], F.matmul(F.matmul(dL, _mH(F, L)), outputs[0]))
        return -(part + _mH(F, part))
    batch = batches.matrices

    def samples(rng): yield Sample((np.tril(_square(rng, 3, 3)),), through="tril")


@op("qr(Tensor input, bool some=True) -> (Tensor Q, Tensor R)")
class qr:
    """The former `linalg.qr`.

    >>> torch.qr(torch.tensor([[2.]]))[1]
    tensor([[2.]])
    """

    lacks = {"float8 chalf": "geqrf_cpu"}
    out_dtype = EXPECTED
    amp = "float32"
    def function(F, input, some=True):
        return F.returned(get_record("qr"))(*F.linalg_qr(input, "reduced" if some else "complete"))

    def samples(rng): yield (rng.standard_normal((3, 2)),)


@op("pinverse(Tensor input, float rcond=1e-15) -> Tensor", out=False)
class pinverse:
    """The Moore-Penrose inverse; the former `linalg.pinv`.

    >>> torch.pinverse(torch.tensor([[2.]]))
    tensor([[0.5000]])
    """

    amp = "float32"
    def function(F, input, rcond=1e-15): return F.linalg_pinv(input, rtol=rcond)
    def samples(rng): yield (rng.standard_normal((3, 2)),)
