"""Inverses, determinants, solutions of linear equations and factorizations of batches of matrices, by LAPACK.

Results are column-major, as LAPACK's and torch's are. Gradients of factorizations after Walter and Lehmann (arXiv:1009.6112),
Wan and Zhang (arXiv:1909.02659), Murray (arXiv:1602.07527) and Golub and Pereyra (SIAM J. Numer. Anal. 10, 1973).
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any
from collections.abc import Callable, Sequence

import numpy as np

from ...dtypes import COMPLEX, FLOATING, SCALAR_TYPE_NAMES
from ...errors import ArgumentError, AutogradError, LinAlgError, ShapeMismatchError
from ...dims import broadcast_shape, wrap_dim
from ...executors.kernels import halves, lapack, matrices as kernels, small
from ...executors.kernels._on_demand import is_half
from ...executors.kernels.blas import squares
from ...executors.kernels.sharing import copy
from ...functions.out import EXPECTED, OutRule, casts_safely
from ...functions.refusals import on_meta
from ...record import Sample, get_record, op, Record
from ...strided import contiguous_strides, empty_strided
from ...tensor import TensorRef
from ...warned import ignoring
from .. import _batch as batches
from .._host import on_host
from .._shapes import like_first
from ..elementwise.arithmetic import is_complex
from ..networks._losses import buffer, constant
from .products import adjoint
from ...annotations import Functions, Values

linalg = np.linalg


_QUICK = 2048  # elements below which NumPy copies as quick as anybody


def _columns(a: np.ndarray) -> np.ndarray:
    """The same matrices, column-major."""
    if 0 < a.size < _QUICK:
        return a.copy("F") if a.ndim == 2 else a.swapaxes(-2, -1).copy().swapaxes(-2, -1)
    if a.size:
        return copy(a.swapaxes(-2, -1)).swapaxes(-2, -1)  # a copy even of what is contiguous either way, for the strides of sizes 1
    *batch, step, column = contiguous_strides((*a.shape[:-2], a.shape[-1], a.shape[-2]))
    return empty_strided(a.shape, (*batch, column, step), a.dtype)  # NumPy gives what is empty no strides


def from_columns(columns: np.ndarray, lead: tuple[int, ...]) -> np.ndarray:
    """Matrices (*lead, n, k), column-major, in the memory of their columns (b, k, n)."""
    found = (columns.reshape(*lead, *columns.shape[1:]) if lead else columns[0]).swapaxes(-2, -1)
    return found if found.size else _columns(found)


def one_batch(a: np.ndarray, lead: tuple[int, ...]) -> np.ndarray:
    """Matrices, or others with two dimensions of their own, that broadcast over `lead`: those dimensions in one."""
    if not lead:
        return a[None]
    spread = a if a.shape[:-2] == lead else np.broadcast_to(a, (*lead, *a.shape[-2:]))
    return spread if len(lead) == 1 else spread.reshape(math.prod(lead), *a.shape[-2:])


def upper_triangle(a: np.ndarray) -> np.ndarray:
    """The upper triangles of matrices, in rows, in memory of their own."""
    return kernels.keep_triangle(np.array(a, order="C"), 1, 0)


def unit_lower(a: np.ndarray) -> np.ndarray:
    """The lower triangles of matrices with ones on their diagonals, as many columns as rows or less, in rows, in memory of their own."""
    *lead, m, n = a.shape
    result = kernels.keep_triangle(np.array(a, order="C"), -1, 1)
    result.reshape(math.prod(lead), m * n)[:, :n * (n + 1):n + 1] = 1
    return result


_PATTERNS: dict[str, Callable[[int], np.ndarray]] = {
    "lower": np.tri, "below": lambda n: np.tri(n, k=-1), "diagonal": np.eye, "beside": lambda n: 1 - np.eye(n)}


@lru_cache(64)
def _pattern(where: str, n: int, dtype: np.dtype) -> np.ndarray:
    found = _PATTERNS[where](n).astype(dtype)
    found.setflags(write=False)  # for whoever comes next
    return found


def _ones(F: Functions, x: Values, where: str) -> Values:
    """Ones in a lower triangle, below the diagonal, on it or beside it, as a matrix with as many rows as `x` has columns."""
    n = x.shape[-1]
    return constant(F, x, (_pattern if n <= _FEW_ROWS else _pattern.__wrapped__)(where, n, buffer(x).dtype))


_FEW_ROWS = 64  # of patterns that are kept


def _mT(F: Functions, x: Values) -> Values:
    return F.transpose(x, -2, -1)


def _mH(F: Functions, x: Values) -> Values:
    return F.conj(F.transpose(x, -2, -1))


def _product(F: Functions, *xs: Any) -> Values:
    result = xs[0]
    for x in xs[1:]:
        result = F.matmul(result, x)
    return result


def _check_matrix(name: str, A: TensorRef, square: bool = False, floating: bool = True) -> None:
    if A.ndim < 2:
        raise ShapeMismatchError(f"{name}: The input tensor A must have at least 2 dimensions.")
    if square and A.shape[-1] != A.shape[-2]:
        raise ShapeMismatchError(f"{name}: A must be batches of square matrices, but they are {A.shape[-2]} by {A.shape[-1]} matrices")
    if floating and A.dtype.category < FLOATING:
        raise AutogradError(f"{name}: Expected a floating point or complex tensor as input. Got {SCALAR_TYPE_NAMES[A.dtype.name]}",
                            remedy="convert it with .float()")


def check_equation(name: str, A: TensorRef, B: TensorRef) -> None:
    """Raises torch's error where A X = B has no meaning."""
    if A.dtype is not B.dtype:
        names = [SCALAR_TYPE_NAMES[t.dtype.name] for t in (B, A)]
        raise AutogradError(f"Expected b and A to have the same dtype, but found b of type {names[0]} and A of type {names[1]} instead.")
    wrap_dim(-2, B.ndim)
    n = A.shape[-1]
    if n != A.shape[-2]:
        raise ShapeMismatchError(f"A must be batches of square matrices, but they are {A.shape[-2]} by {n} matrices")
    if n != B.shape[-2]:
        raise ShapeMismatchError(f"Incompatible matrix sizes for {name}: each A matrix is {n} by {n} but each b matrix is {B.shape[-2]} by "
                                 f"{B.shape[-1]}")


def _square(rng: np.random.Generator, *shape: int) -> np.ndarray:
    """Well-conditioned square matrices."""
    return rng.standard_normal(shape) + 2 * np.eye(shape[-1])


def _definite(rng: np.random.Generator, n: int) -> np.ndarray:
    """A positive definite matrix, single precision: its gradient assumes symmetry, which central differences of single elements break."""
    a = rng.standard_normal((n, n))
    return a @ a.T + n * np.eye(n)


def _element(ok: Sequence[bool], shape: Sequence[int]) -> str:
    return f"(Batch element {list(ok).index(False)}): " if len(shape) > 2 else ""


# -- inverses and determinants ----------------------------------------------------------------------------------------


def _inv(A: np.ndarray) -> np.ndarray:
    try:
        return _columns(lapack.inv(A))
    except linalg.LinAlgError:
        flat = A.reshape(-1, *A.shape[-2:])
        full: list[bool] = []
        while len(full) < len(flat) and False not in full:  # up to the first that is singular
            full.append(_is_regular(flat[len(full)]))
        bad = full.index(False) if False in full else 0
        raise LinAlgError(f"linalg.inv: {_element(full, A.shape) if False in full else ''}The diagonal element {_zero_pivot(flat[bad])} is "
                          "zero, the inversion "
                          "could not be completed because the input matrix is singular.", remedy="use linalg.pinv") from None


def _is_regular(a: np.ndarray) -> bool:
    try:
        lapack.inv(a)
    except linalg.LinAlgError:
        return False
    return True


def _zero_pivot(a: np.ndarray) -> int:
    """The first diagonal element that elimination with partial pivoting leaves zero, counted from 1."""
    a = a.astype(np.result_type(a, np.float64))
    for i in range(len(a)):
        p = i + int(np.abs(a[i:, i]).argmax())
        if a[p, i] == 0:
            return i + 1
        a[[i, p]] = a[[p, i]]
        a[i + 1:, i:] -= np.outer(a[i + 1:, i] / a[i, i], a[i, i:])
    return len(a)


@op("inverse(Tensor input) -> Tensor", alias=("linalg.inv",), node="LinalgInvExBackward0")
class inverse:
    """The inverses of square matrices.

    >>> torch.linalg.inv(torch.tensor([[2., 0.], [0., 4.]]))
    tensor([[0.5000, 0.0000],
            [0.0000, 0.2500]])
    """

    words = {"A": "input"}
    sharding = "*b N N -> *b N N"
    lacks = {"half float8 chalf": "RuntimeError: linalg.inv: Low precision dtypes not supported. Got {dtype}"}
    out_dtype = EXPECTED
    meta_layout = "columns"
    amp = "float32"
    saved_as = {"result": "inverse"}
    numpy = _inv
    compose = on_host(_inv)
    def check(input): _check_matrix("linalg.inv", input, True)
    def shape(input): return input
    def vjp(F, grad, result): return -_product(F, _mT(F, result), grad, _mT(F, result))
    batch = batches.matrices
    def samples(rng):
        yield (_square(rng, 3, 3),)
        yield (_square(rng, 2, 2, 2),)
    def errors(rng):
        yield (np.ones((2, 3)),), RuntimeError, "linalg.inv: A must be batches of square matrices, but they are 2 by 3 matrices"
        yield (np.zeros((2, 2)),), RuntimeError, (
            "linalg.inv: The diagonal element 1 is zero, the inversion could not be completed because the input matrix is singular.")


def _one_norm(A: np.ndarray) -> np.ndarray:
    return np.abs(A).sum(-2).max(-1, initial=0)


def _cofactors(A: np.ndarray) -> np.ndarray:
    """The cofactor matrices: the determinant times the inverse's transpose where all of these exist and it is accurate (less than 0.001
    away, by the condition in the 1-norm), else det(U V^T) U diag(products of the other singular values) V^T, which needs no inverse."""
    try:
        inverse = lapack.inv(A)
    except linalg.LinAlgError:
        return _cofactors_of_any(A)
    found: np.ndarray = lapack.det(A)[..., None, None] * inverse.swapaxes(-2, -1)
    vague = ~(_one_norm(A) * _one_norm(inverse) * np.finfo(A.dtype).eps < 1e-3)
    if vague.any():
        found[vague] = _cofactors_of_any(A[vague])
    return found


def _cofactors_of_any(A: np.ndarray) -> np.ndarray:
    u, s, vh = lapack.svd(A)
    others = np.where(np.eye(s.shape[-1], dtype=np.bool_), s.dtype.type(1), s[..., None, :]).prod(-1)
    sign = lapack.det(u) * lapack.det(vh)
    matrices = np.matmul(u * others[..., None, :], vh)
    return (matrices.conj() if A.dtype.kind == "c" else matrices) * sign[..., None, None]


@op("cofactors(Tensor input) -> Tensor", namespace="_internal", method=False, out=False)
class cofactors:
    """The gradients of determinants."""

    sharding = "*b N N -> *b N N"
    numpy = _cofactors
    def compose(F, input): return F.reshape(F.det(input), (*tuple(input.shape)[:-2], 1, 1)) * _mT(F, F.inverse(input))
    function = compose
    def samples(rng): yield (_square(rng, 2, 3, 3),)


@op("det(Tensor input) -> Tensor", alias="linalg.det", out=False, node="LinalgDetBackward0")
class det:
    """The determinants of square matrices.

    >>> torch.linalg.det(torch.tensor([[2., 0.], [0., 4.]]))
    tensor(8.)
    """

    words = {"A": "input"}
    sharding = "*b N N -> *b"
    lacks = {"half float8 chalf": "lu_cpu if any"}
    saved_as = {"input": "A"}
    numpy = lapack.det
    compose = on_host(lapack.det)
    def check(input): _check_matrix("linalg.det", input, True)
    def vjp_input(F, grad, input): return F.reshape(grad, (*grad.shape, 1, 1)) * F.cofactors(input)
    batch = batches.matrices
    def samples(rng):
        yield (_square(rng, 3, 3),)
        yield (_square(rng, 2, 2, 2),)
    def errors(rng):
        yield (np.ones((2, 3)),), RuntimeError, "linalg.det: A must be batches of square matrices, but they are 2 by 3 matrices"


def _slogdet(input: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return tuple(lapack.slogdet(input))


@op("slogdet(Tensor input) -> (Tensor sign, Tensor logabsdet)", alias="linalg.slogdet", node="LinalgSlogdetBackward0",
    complex="explicit")
class slogdet:
    """The signs of determinants, and the logarithms of their absolute values.

    >>> torch.linalg.slogdet(torch.tensor([[0., 1.], [1., 0.]])).sign
    tensor(-1.)
    """

    words = {"A": "input"}
    sharding = "*b N N -> *b, *b"
    lacks = {"half float8 chalf": "RuntimeError: linalg.slogdet: Low precision dtypes not supported. Got {dtype}"}
    out_dtype = EXPECTED
    saved_as = {"input": "A"}
    numpy = _slogdet
    compose = on_host(_slogdet)
    def check(input): _check_matrix("linalg.slogdet", input, True)
    def vjp_input(F, grad, input, sign):
        rate = grad[1]
        if is_complex(input) and grad[0] is not None:
            turn = F.imag_part(grad[0] * F.conj(sign)) * 1j
            rate = turn if rate is None else rate + turn
        return None if rate is None else F.reshape(rate, (*rate.shape, 1, 1)) * _mH(F, F.inverse(input))
    batch = batches.matrices
    def samples(rng):
        yield (_square(rng, 3, 3),)
        yield (_square(rng, 2, 2, 2),)


@op("logdet(Tensor input) -> Tensor", out=False)
class logdet:
    """The logarithms of determinants, NaN where these are negative.

    >>> torch.logdet(torch.eye(2))
    tensor(0.)
    """

    lacks = {"half float8 chalf": "RuntimeError: logdet: Low precision dtypes not supported. Got {dtype}"}
    def function(F, input):
        _check_matrix("logdet", input, True)
        sign, value = F.slogdet(input)
        if input.dtype.is_complex:
            return value + F.log(sign)
        return F.where(sign == -1, float("nan"), value) if (buffer(sign) == -1).any() else value
    batch = batches.matrices

    def samples(rng):
        a = rng.standard_normal((3, 3))
        yield (a @ a.T + np.eye(3),)


# -- linear equations -------------------------------------------------------------------------------------------------


def _solve(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    if A.ndim < 2 or B.ndim < 2:
        raise ValueError("matrices expected")
    if B.ndim < A.ndim:  # NumPy 1 would take them for vectors
        B = B.reshape((1,) * (A.ndim - B.ndim) + B.shape)
    try:
        return _columns(lapack.solve(A, B))
    except linalg.LinAlgError:
        full = [linalg.matrix_rank(m) == A.shape[-1] for m in A.reshape(-1, *A.shape[-2:])]
        raise LinAlgError(f"torch.linalg.solve: {_element(full, A.shape) if False in full else ''}The solver failed because the input "
                          "matrix is singular.",
                          remedy="use linalg.lstsq") from None


@op("solve_matrices(Tensor A, Tensor B) -> Tensor", namespace="_internal", method=False, out=False, node="LinalgSolveExBackward0")
class solve_matrices:
    """X with A X = B, for batches of matrices."""

    sharding = "*b N N, *b N k -> *b N k"
    lacks = {"half": "lu_cpu if any"}
    saved_as = {"A": "A", "A_shape": None, "B_shape": None}
    numpy = _solve
    meta_layout = "columns"
    compose = on_host(_solve)
    def shape(A, B): return (*broadcast_shape(A[:-2], B[:-2]), A[-1], B[-1])
    def vjp(F, grad, A, result, A_shape, B_shape, needs):
        back = F.solve_matrices(_mT(F, A), grad)
        return (F.reduce_to_shape(-F.matmul(back, _mT(F, result)), tuple(A_shape)) if needs[0] else None,
                F.reduce_to_shape(back, tuple(B_shape)) if needs[1] else None)

    batch = batches.two_matrices
    def samples(rng):
        yield _square(rng, 3, 3), rng.standard_normal((3, 2))
        yield _square(rng, 2, 2, 2), rng.standard_normal((2, 3))


@op("column_major(Tensor input) -> Tensor", namespace="_internal", method=False, out=False)
class column_major:
    """The same matrices in the layout of LAPACK, which torch leaves results in."""

    sharding = "*b M N -> *b M N"
    passes_partial = "all"
    numpy = _columns
    compose = on_host(_columns)
    shape = like_first
    def vjp(F, grad): return grad
    batch = batches.as_is
    def samples(rng): yield (rng.standard_normal((2, 3)),)


def _solved(F: Functions, A: Any, B: Any, left: bool, solve: Callable[[Any, Any], Any]) -> Any:
    """The solution for vectors or matrices B on either side, of `solve(A, B)` for matrices on the right."""
    _check_matrix("linalg.solve", A)
    if A.dtype is not B.dtype:
        names = [SCALAR_TYPE_NAMES[t.dtype.name] for t in (A, B)]
        raise AutogradError("linalg.solve: Expected A and B to have the same dtype, but found A of type "
                            f"{names[0]} and B of type {names[1]} instead")
    _check_matrix("linalg.solve", A, True)
    a, b = tuple(A.shape), tuple(B.shape)
    vector = len(b) == 1 or len(a) - 1 == len(b) and b == a[:-1]
    X = F.unsqueeze(B, -1) if vector else B
    rows = X.shape[-2 if left or vector else -1]
    if rows != a[-1]:
        n, m = X.shape[-2], X.shape[-1]
        what = f"AX = B ({a[-2]}x{a[-1]} and {n}x{m})" if left else f"XA = B ({a[-2]}x{a[-1]} and {n}x{m})"
        raise ShapeMismatchError(f"linalg.solve: Incompatible shapes of A and B for the equation {what}")
    broadcast_shape(a[:-2], tuple(X.shape)[:-2])
    if left:
        result = solve(A, X)
    elif vector:
        result = solve(_mT(F, A), X)
    else:
        result = F.clone(_mT(F, solve(_mT(F, A), _mT(F, X))))  # in rows
    if vector:
        result = F.squeeze(result, -1)
        return F.column_major(result) if result.ndim > 1 else result  # as if the vectors were rows of a matrix
    return result


@op("linalg_solve(Tensor A, Tensor B, *, bool left=True) -> Tensor", namespace="_internal", alias="linalg.solve", method=False)
class linalg_solve:
    """X with A X = B (or X A = B where not `left`) for square A (..., n, n) and vectors or matrices B.

    >>> torch.linalg.solve(torch.tensor([[2., 0.], [0., 4.]]), torch.tensor([2., 2.]))
    tensor([1.0000, 0.5000])
    """

    lacks = {"float8 chalf": "lu_cpu"}
    out_dtype = EXPECTED
    amp = "float32"
    def function(F, A, B, *, left=True): return _solved(F, A, B, left, F.solve_matrices)

    def samples(rng):
        yield _square(rng, 3, 3), rng.standard_normal(3)
        yield _square(rng, 2, 3, 3), rng.standard_normal((2, 3, 2))
        yield Sample((_square(rng, 3, 3), rng.standard_normal((2, 3))), {"left": False})

    def errors(rng):
        yield (np.ones((2, 3)),
               np.ones(2)), RuntimeError, "linalg.solve: A must be batches of square matrices, but they are 2 by 3 matrices"
        yield (np.eye(2), np.ones(3)), RuntimeError, "linalg.solve: Incompatible shapes of A and B for the equation AX = B (2x2 and 3x1)"
        yield (np.zeros((2, 2)), np.ones(2)), RuntimeError, "torch.linalg.solve: The solver failed because the input matrix is singular."


def _solve_triangle(A: np.ndarray, B: np.ndarray, upper: bool, unitriangular: bool) -> np.ndarray:
    lead = A.shape[:-2] if A.ndim == B.ndim == 2 else broadcast_shape(A.shape[:-2], B.shape[:-2])
    return from_columns(kernels.solve_triangles(one_batch(B, lead), (one_batch(A, lead), upper, unitriangular)), lead)


@op("solve_triangle(Tensor A, Tensor B, bool upper, bool unitriangular) -> Tensor", namespace="_internal", method=False, out=False,
    node="LinalgSolveTriangularBackward0")
class solve_triangle:
    """X with T X = B, where T is one triangle of A, with ones on its diagonal where `unitriangular`."""

    sharding = "*b N N, *b N k -> *b N k"
    lacks = {"half int bool rare": "triangular_solve_cpu"}
    saved_as = {"A": "self", "A_shape": None, "B_shape": None}
    saved_also = {"left": "True"}
    numpy = _solve_triangle
    meta_layout = "columns"
    compose = on_host(_solve_triangle)
    def shape(A, B, upper, unitriangular): return (*broadcast_shape(A[:-2], B[:-2]), *B[-2:])
    def vjp(F, grad, A, result, upper, unitriangular, A_shape, B_shape, needs):
        back, of_A = F.solve_triangle(_mT(F, A), grad, not upper, unitriangular), None
        if needs[0]:
            of_A, one = -F.reduce_to_shape(F.matmul(back, _mT(F, result)), tuple(A_shape)), int(unitriangular)
            of_A = F.triu(of_A, one) if upper else F.tril(of_A, -one)
        return of_A, F.reduce_to_shape(back, tuple(B_shape)) if needs[1] else None

    batch = batches.two_matrices
    def samples(rng):
        yield _square(rng, 3, 3), rng.standard_normal((3, 2)), True, False
        yield _square(rng, 2, 2, 2), rng.standard_normal((2, 3)), False, True


@op("linalg_solve_triangular(Tensor A, Tensor B, *, bool upper, bool left=True, bool unitriangular=False) -> Tensor", namespace="_internal",
    alias="linalg.solve_triangular", method=False)
class linalg_solve_triangular:
    """X with A X = B (or X A = B) where only one triangle of A counts.

    >>> torch.linalg.solve_triangular(torch.tensor([[2., 9.], [0., 4.]]), torch.tensor([[2.], [4.]]), upper=False)
    tensor([[1.],
            [1.]])
    """

    words = {"input": "A"}
    lacks = {"half int bool rare": "triangular_solve_cpu"}
    out_dtype = OutRule("expected scalar type {wanted} but found {found}")
    def quick(A, B, upper, left, unitriangular):
        n = A.shape[-1] if A.ndim > 1 else 0
        if not alone(A) or A.dtype is not B.dtype or A.shape[-2] != n or B.ndim < 2 or B.shape[-2 if left else -1] != n:
            return None
        if left:
            return _solve_triangle(A, B, upper, unitriangular)
        return _columns(_solve_triangle(A.swapaxes(-2, -1), B.swapaxes(-2, -1), not upper, unitriangular).swapaxes(-2, -1))

    def function(F, A, B, *, upper, left=True, unitriangular=False):
        _check_matrix("linalg.solve_triangular", A, True)
        if B.ndim < 2:
            raise ShapeMismatchError("linalg.solve_triangular: The input tensor B must have at least 2 dimensions.")
        if A.shape[-1] != B.shape[-2 if left else -1]:
            n, (rows, columns) = A.shape[-1], tuple(B.shape)[-2:]
            raise ShapeMismatchError("linalg.solve_triangular: Incompatible shapes of A and B for the equation "
                                     f"{'AX = B' if left else 'XA = B'} ({n}x{n} and {rows}x{columns})")
        if A.dtype is not B.dtype:  # torch solves for a copy of B with the dtype of A
            B = F.cast(B, A.dtype)
        if left:
            return F.solve_triangle(A, B, upper, unitriangular)
        return F.column_major(_mT(F, F.solve_triangle(_mT(F, A), _mT(F, B), not upper, unitriangular)))

    def samples(rng):
        yield Sample((_square(rng, 3, 3), rng.standard_normal((3, 2))), {"upper": True})
        yield Sample((_square(rng, 3, 3), rng.standard_normal((2, 3))), {"upper": False, "left": False, "unitriangular": True})


# -- factorizations ---------------------------------------------------------------------------------------------------


def _cholesky(A: np.ndarray, upper: bool = False, name: str = "linalg.cholesky") -> np.ndarray:
    found = small.cholesky(A, upper)
    if found is not None:
        return found[0]
    try:
        factor = lapack.cholesky(A.swapaxes(-2, -1) if upper else A)
    except linalg.LinAlgError:
        flat = A.reshape(-1, *A.shape[-2:])
        bad = next((i for i, m in enumerate(flat) if _broken_minor(m)), 0)
        where = f"(Batch element {bad}): " if A.ndim > 2 else ""
        raise LinAlgError(f"{name}: {where}The factorization could not be completed because the input is not positive-definite (the "
                          "leading "
                          f"minor of order {_broken_minor(flat[bad])} is not positive-definite).") from None
    return _columns(factor.swapaxes(-2, -1) if upper else factor)


def _broken_minor(a: np.ndarray) -> int:
    """The order of the first leading minor that is not positive; 0 where all are."""
    for k in range(1, len(a) + 1):
        try:
            lapack.cholesky(a[:k, :k])
        except linalg.LinAlgError:
            return k
    return 0


@op("linalg_cholesky(Tensor input, *, bool upper=False) -> Tensor", namespace="_internal", alias="linalg.cholesky", method=False,
    node="LinalgCholeskyExBackward0", complex="explicit")
class linalg_cholesky:
    """L with L L^T = A for positive definite A, or its transpose where `upper`.

    >>> torch.linalg.cholesky(torch.tensor([[4., 0.], [0., 9.]]))
    tensor([[2., 0.],
            [0., 3.]])
    """

    sharding = "*b N N -> *b N N"
    lacks = {"float8": "tril", "half chalf": "cholesky_cpu if any"}
    out_dtype = EXPECTED
    meta_layout = "columns"
    amp = "float32"
    saved_as = {"result": "L"}
    numpy = _cholesky
    compose = on_host(_cholesky)
    def check(input, upper): _check_matrix("linalg.cholesky", input, True)
    def shape(input, upper): return input
    def vjp_input(F, grad, result, upper):
        L, g = (_mH(F, result), _mH(F, grad)) if upper else (result, grad)
        inner = F.matmul(_mH(F, L), g) * _ones(F, L, "lower")
        # Of a complex diagonal the imaginary part is kept, as in torch.
        symmetric = inner + _mH(F, inner * _ones(F, L, "below"))
        turned = _mH(F, L)
        half = F.solve_triangle(turned, symmetric, True, False)
        return _mH(F, F.solve_triangle(turned, _mH(F, half), True, False)) * 0.5

    def jvp(F, outputs, arguments, tangents):
        L = _mH(F, outputs[0]) if arguments["upper"] else outputs[0]
        half = _ones(F, L, "below") + _ones(F, L, "diagonal") * 0.5
        inverse = F.inverse(L)
        change = F.matmul(L, _product(F, inverse, tangents["input"], _mH(F, inverse)) * half)
        return _mH(F, change) if arguments["upper"] else change
    batch = batches.matrices

    def samples(rng):
        yield Sample((_definite(rng, 3),), through="symmetric")
        yield Sample((_definite(rng, 3),), {"upper": True}, through="symmetric")
    def errors(rng):
        yield (-np.eye(2),), RuntimeError, ("linalg.cholesky: The factorization could not be completed because the input is not "
                                            "positive-definite (the leading minor of order 1 is not positive-definite).")


@op("cholesky(Tensor input, bool upper=False) -> Tensor")
class cholesky:
    """L with L L^T = A for positive definite A, or its transpose where `upper`.

    >>> torch.cholesky(torch.tensor([[4., 0.], [0., 9.]]))
    tensor([[2., 0.],
            [0., 3.]])
    """

    lacks = {"half int bool rare": "cholesky_cpu if any"}
    out_dtype = casts_safely("cholesky")
    no_forward = "cholesky"

    amp = "float32"
    def function(F, input, upper=False):
        if not input._data.size:
            return F.contiguous(input)
        try:
            return F.linalg_cholesky(input, upper=upper)
        except RuntimeError as error:
            error.args = (str(error.args[0]).replace("linalg.cholesky", "cholesky"),)
            raise

    def samples(rng): yield Sample((_definite(rng, 3),), through="symmetric")


def _qr(A: np.ndarray, mode: Any = "reduced") -> tuple[np.ndarray, np.ndarray]:
    if not A.size and mode == "r":
        return np.zeros(0, A.dtype), _columns(np.asarray(linalg.qr(A, mode)))
    if not A.size or mode not in ("reduced", "complete", "r"):
        q, r = linalg.qr(A, mode)
        return _columns(q), _columns(r)
    m, k = A.shape[-2], min(A.shape[-2:])
    q, r = kernels.qr(A, m if mode == "complete" else k, mode != "r")
    return np.zeros(0, A.dtype) if q is None else q.swapaxes(-2, -1), r.swapaxes(-2, -1)


def _qr_grad_tall(F: Functions, Q: Values, R: Values, gQ: Values, gR: Values | None) -> Values:
    """The gradient for A (m, n), m >= n, of its reduced factors; either cotangent may be None."""
    M = None
    if gR is not None:
        M = F.matmul(R, _mH(F, gR))
    if gQ is not None:
        inner = F.matmul(_mH(F, gQ), Q)
        M = -inner if M is None else M - inner
    lower = M * _ones(F, R, "below")
    symmetric = lower + _mH(F, lower) + (F.real_part(M) if is_complex(M) else M) * _ones(F, R, "diagonal")
    total = F.matmul(Q, symmetric)
    if gQ is not None:
        total = gQ + total
    return _mH(F, F.solve_matrices(R, _mH(F, total)))


@op("linalg_qr(Tensor A, str mode='reduced') -> (Tensor Q, Tensor R)", namespace="_internal", alias="linalg.qr", method=False,
    node="LinalgQrBackward0", complex="explicit")
class linalg_qr:
    """Q with orthonormal columns and upper triangular R with Q R = A; mode "reduced", "complete" or "r" (no Q).

    >>> torch.linalg.qr(torch.tensor([[-2., 0.], [0., -3.]])).R.abs()
    tensor([[2., 0.],
            [0., 3.]])
    """

    def sharding(call): return call.letters("*b M N -> N, *b K N" if call["mode"] == "r" else "*b M N -> *b M K, *b K N")
    lacks = {"half float8 chalf": "geqrf_cpu"}
    out_dtype = EXPECTED
    amp = "float32"
    numpy = _qr
    compose = on_host(_qr)
    def check(A, mode):
        _check_matrix("linalg.qr", A)
        if mode not in ("reduced", "r", "complete"):
            raise AutogradError(f"qr received unrecognized mode '{mode}' but expected one of 'reduced' (default), 'r', or 'complete'")
    def vjp_A(F, grad, A, Q, R, mode):
        gQ, gR = grad
        m, n = A.shape[-2], A.shape[-1]
        if mode == "r":
            raise AutogradError("The derivative of linalg.qr depends on Q, which is not computed when mode='r'. Please use linalg.qr(A, "
                                "mode='reduced') if you are going to differentiate through linalg.qr.")
        if mode == "complete" and m > n:
            raise AutogradError("The QR decomposition is not differentiable when mode='complete' and nrows > ncols.")
        if m >= n:
            return _qr_grad_tall(F, Q, R, gQ, gR)
        # A = [X | Y], R = [U | V]: X = Q U and V = Q^T Y.
        Y, U = F.slice(A, -1, m, n), F.slice(R, -1, 0, m)
        if gR is None:
            gX = _qr_grad_tall(F, Q, U, gQ, None)
            return F.cat([gX, Y * 0], -1)
        gU, gV = F.slice(gR, -1, 0, m), F.slice(gR, -1, m, n)
        through = F.matmul(Y, _mH(F, gV))
        gX = _qr_grad_tall(F, Q, U, through if gQ is None else gQ + through, gU)
        return F.cat([gX, F.matmul(Q, gV)], -1)
    batch = batches.matrices
    def samples(rng):
        yield (rng.standard_normal((4, 3)),)
        yield (rng.standard_normal((2, 2, 3)),)
        yield _square(rng, 3, 3), "complete"
    def errors(rng):
        yield (np.ones(3),), RuntimeError, "linalg.qr: The input tensor A must have at least 2 dimensions."
        yield (np.ones((3, 2)), "x"), RuntimeError, (
            "qr received unrecognized mode 'x' but expected one of 'reduced' (default), 'r', or 'complete'")


_LONG, _MANY, _FEWER = 8, 1 << 14, 1 << 12
"""Times as many rows as columns, from which on a matrix with so many numbers is Q times a small one; or with fewer, where its singular
values alone are wanted."""


def _decomposed(A: np.ndarray, full: bool, vectors: bool) -> Any:
    """The singular value decompositions of matrices; long ones by way of R, as LAPACK goes, but with QR factorizations as quick as there
    are."""
    if not vectors and (found := small.singular_values(A)) is not None:
        return found
    m, n = A.shape[-2:]
    if n >= _LONG * m > 0 and _is_long(n, m, full, vectors) and alone(A):
        found = _decomposed(adjoint(A), full, vectors)
        if m == 1 and full and vectors and A.dtype.kind == "f":  # Q, one reflector, is symmetric but for the sign of its first column
            q = found[0]
            q[..., 0, 1:], q[..., 1:, 0] = q[..., 1:, 0].copy(), q[..., 0, 1:].copy()
            return adjoint(found[2]), found[1], q
        return (adjoint(found[2]), found[1], adjoint(found[0])) if vectors else found
    if not (m >= _LONG * n > 0 and _is_long(m, n, full, vectors) and alone(A)):
        return lapack.svd(A, full) if vectors else lapack.svdvals(A)
    Q, R = _qr(A, "r" if not vectors else "complete" if full else "reduced")
    R = R[..., :n, :]
    if not math.isfinite(squares(R)):  # infinities are LAPACK's business
        return lapack.svd(A, full) if vectors else lapack.svdvals(A)
    if not vectors:
        return lapack.svdvals(R)
    u, s, vh = lapack.svd(R)
    first = np.matmul(u.swapaxes(-2, -1), Q[..., :n].swapaxes(-2, -1)).swapaxes(-2, -1)  # in columns
    if not full:
        return first, s, vh
    Q[..., :n] = first
    return Q, s, vh


def _is_long(m: int, n: int, full: bool, vectors: bool) -> bool:
    """Whether Q of m rows, or R alone, is worth being made."""
    return (m * m if full and vectors else m * n) >= (_MANY if vectors else _FEWER)


def singular(A: np.ndarray, full_matrices: bool = True, compute_uv: bool = True) -> Any:
    """The singular value decompositions of matrices, as NumPy has them; torch's error where one does not converge."""
    try:
        with np.errstate(over="ignore"):  # for lines in NumPy
            return _decomposed(A, full_matrices, compute_uv)
    except linalg.LinAlgError:
        finite = np.isfinite(A).all((-2, -1)).ravel()
        raise LinAlgError(f"linalg.svd: {_element(finite, A.shape)}The algorithm failed to converge because the input matrix contained "
                          "non-finite values.") from None


def alone(A: np.ndarray) -> bool:
    """Whether values of plain matrices are computed without the vectors, in a fraction of the time: as in torch they are then a little
    different from those beside vectors."""
    return A.ndim > 1 and A.size > 0 and A.dtype.char in "fdFD"


def _svd(A: np.ndarray, full_matrices: bool = True) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    u, s, vh = singular(A, full_matrices)
    return _in_columns(u), s, _in_columns(vh)


def _in_columns(a: np.ndarray) -> np.ndarray:
    """Matrices of one's own, column-major: themselves where they are."""
    return a if a.size >= _QUICK and min(a.shape) > 1 and a.swapaxes(-2, -1).flags.c_contiguous else _columns(a)


def _differences(F: Functions, x: Values) -> Values:
    """x_j - x_i at (i, j), with ones on the diagonal."""
    return F.unsqueeze(x, -2) - F.unsqueeze(x, -1) + _ones(F, x, "diagonal")


def _off_diagonal(F: Functions, x: Values) -> Values:
    return x * _ones(F, x, "beside")


def _like(F: Functions, x: Values, vectors: Values) -> Values:
    """A real matrix `x`, complex where `vectors` are, for a product with them."""
    return x * (1 + 0j) if is_complex(vectors) else x


def _check_phase(name: str, what: str, phase: Values | None) -> None:
    """Refuses gradients of complex vectors by a function of their phases, which are arbitrary."""
    if phase is not None and not np.allclose(buffer(phase), 0, 1e-2, 1e-2):
        vectors = "singular vectors" if name == "svd" else "eigenvectors"
        raise AutogradError(f"{name}_backward: The {vectors} in the complex case are specified up to multiplication by e^{{i phi}}. The "
                            f"specified loss function depends on {what} ill-defined.", remedy="use absolute values")


def _diagonal_matrix(F: Functions, x: Values) -> Values:
    return F.unsqueeze(x, -1) * _ones(F, x, "diagonal")


@op("linalg_svd(Tensor A, bool full_matrices=True) -> (Tensor U, Tensor S, Tensor Vh)", namespace="_internal", alias="linalg.svd",
    method=False, node="LinalgSvdBackward0", complex="explicit")
class linalg_svd:
    """U, S, Vh with U diag(S) Vh = A: orthonormal columns and rows, singular values in descending order.

    >>> torch.linalg.svd(torch.tensor([[0., 2.], [1., 0.]])).S
    tensor([2., 1.])
    """

    sharding = "*b M N -> *b M K, *b K, *b K N"
    lacks = {"half float8 chalf": "linalg_svd_cpu if any"}
    out_dtype = EXPECTED
    meta_layout = "columns rows rows"
    amp = "float32"
    numpy = _svd
    compose = on_host(_svd)
    def check(A, full_matrices): _check_matrix("linalg.svd", A)
    def vjp_A(F, grad, U, S, Vh, full_matrices):
        gU, gS, gVh = grad
        k = S.shape[-1]
        m, n = U.shape[-2], Vh.shape[-1]
        if full_matrices and m != n:  # what completes a basis is arbitrary and has no gradient
            U, Vh = F.slice(U, -1, 0, k), F.slice(Vh, -2, 0, k)
            gU = None if gU is None else F.slice(gU, -1, 0, k)
            gVh = None if gVh is None else F.slice(gVh, -2, 0, k)
        inner = None if gS is None else _like(F, _diagonal_matrix(F, gS), U)
        squares = _differences(F, S * S)
        row, column = F.unsqueeze(S, -2), F.unsqueeze(S, -1)
        phase = None
        for g, is_u in ((gU, True), (gVh, False)):
            if g is None:
                continue
            J = F.matmul(_mH(F, U), g) if is_u else F.matmul(Vh, _mH(F, g))
            if is_complex(U):
                turn = F.imag_part(F.diagonal(J, 0, -2, -1))
                phase = turn if phase is None else phase + turn
                if is_u:
                    part = _diagonal_matrix(F, turn / S) * 1j
                    inner = part if inner is None else inner + part
            turned = _off_diagonal(F, (J - _mH(F, J)) / squares)
            part = turned * row if is_u else column * turned
            inner = part if inner is None else inner + part
        _check_phase("svd", "this phase term, making it", phase)
        total = _product(F, U, inner, Vh)
        if gU is not None and m > k:
            rest = gU - F.matmul(U, F.matmul(_mH(F, U), gU))
            total = total + F.matmul(rest / row, Vh)
        if gVh is not None and n > k:
            rest = gVh - F.matmul(F.matmul(gVh, _mH(F, Vh)), Vh)
            total = total + F.matmul(U, rest / column)
        return total

    def jvp(F, outputs, arguments, tangents):
        (U, S, Vh), tangent = outputs, tangents["A"]
        k = S.shape[-1]
        m, n = U.shape[-2], Vh.shape[-1]
        full = arguments["full_matrices"] and m != n
        if full:
            U, Vh = F.slice(U, -1, 0, k), F.slice(Vh, -2, 0, k)
        row, column, squares = F.unsqueeze(S, -2), F.unsqueeze(S, -1), _differences(F, S * S)
        left, right = F.matmul(_mH(F, U), tangent), F.matmul(tangent, _mH(F, Vh))
        P = F.matmul(left, _mH(F, Vh))
        turns_u, turns_v = [_off_diagonal(F, (x + _mH(F, x)) / squares) for x in (P * row, column * P)]
        if is_complex(U):  # a phase that both vectors share is free, and each takes half of the other
            half = _diagonal_matrix(F, F.imag_part(F.diagonal(P, 0, -2, -1)) / (2 * S)) * 1j
            turns_u, turns_v = turns_u + half, turns_v - half
        change_u, change_v = F.matmul(U, turns_u), F.matmul(_mH(F, turns_v), Vh)
        if m > k:
            change_u = change_u + (right - F.matmul(U, P)) / row
        if n > k:
            change_v = change_v + (left - F.matmul(P, Vh)) / column
        if full:  # what completes a basis is arbitrary
            change_u = F.constant_pad_nd(change_u, (0, m - k)) if m > k else change_u
            change_v = F.constant_pad_nd(change_v, (0, 0, 0, n - k)) if n > k else change_v
        return change_u, F.real_part(F.diagonal(P, 0, -2, -1)), change_v
    batch = batches.matrices

    def samples(rng):
        yield rng.standard_normal((3, 2)), False
        yield rng.standard_normal((2, 2, 3)), False
        yield _square(rng, 3, 3), True


def _eigh(A: np.ndarray, UPLO: Any = "L") -> tuple[np.ndarray, np.ndarray]:
    values, vectors = lapack.eigh(A, UPLO)
    if A.dtype.kind in "biu":  # there are no elements, or torch would have refused them, and its results are of the same dtype
        values, vectors = values.astype(A.dtype), vectors.astype(A.dtype)
    return values, _columns(vectors)


@op("linalg_eigh(Tensor A, str UPLO='L') -> (Tensor eigenvalues, Tensor eigenvectors)", namespace="_internal", alias="linalg.eigh",
    method=False, node="LinalgEighBackward0", complex="explicit")
class linalg_eigh:
    """Eigenvalues, ascending, and eigenvectors of symmetric matrices, of which one triangle is read.

    >>> torch.linalg.eigh(torch.tensor([[3., 0.], [0., 1.]])).eigenvalues
    tensor([1., 3.])
    """

    words = {"input": "A"}
    sharding = "*b N N -> *b N, *b N N"
    lacks = {"half int bool rare": "linalg_eigh_cpu if any"}
    out_dtype = EXPECTED
    amp = "float32"
    numpy = _eigh
    compose = on_host(_eigh)
    def check(A, UPLO):
        _check_matrix("linalg.eigh", A, True, False)
        if UPLO.upper() not in ("L", "U"):
            raise AutogradError(f"Expected UPLO argument to be 'L' or 'U', but got {UPLO}")
    def vjp_A(F, grad, eigenvalues, eigenvectors):
        g_values, V = grad[0], eigenvectors
        inner = None if g_values is None else _like(F, _diagonal_matrix(F, g_values), V)
        if grad[1] is not None:
            J = F.matmul(_mH(F, V), grad[1])
            if is_complex(V):
                _check_phase("linalg_eigh", "this quantity, so it is", F.imag_part(F.diagonal(J, 0, -2, -1)))
            turned = _off_diagonal(F, (J - _mH(F, J)) * 0.5 / _differences(F, eigenvalues))  # so that the gradient is Hermitian
            inner = turned if inner is None else inner + turned
        return _product(F, V, inner, _mH(F, V))

    def jvp(F, outputs, arguments, tangents):
        values, V = outputs
        P = _product(F, _mH(F, V), tangents["A"], V)
        return F.real_part(F.diagonal(P, 0, -2, -1)), F.matmul(V, _off_diagonal(F, P / _differences(F, values)))
    batch = batches.matrices

    def samples(rng): yield Sample((_definite(rng, 3),), through="symmetric")


@op("linalg_eigvalsh(Tensor A, str UPLO='L') -> Tensor", namespace="_internal", alias="linalg.eigvalsh", method=False)
class linalg_eigvalsh:
    """The eigenvalues of symmetric matrices, ascending.

    >>> torch.linalg.eigvalsh(torch.tensor([[3., 0.], [0., 1.]]))
    tensor([1., 3.])
    """

    words = {"input": "A"}
    out_dtype = EXPECTED
    amp = "float32"
    quick_complex = True
    fused = True
    def quick(A, UPLO): return lapack.eigvalsh(A, UPLO) if alone(A) and A.shape[-1] == A.shape[-2] else None
    def function(F, A, UPLO="L"): return F.linalg_eigh(A, UPLO)[0]
    def samples(rng): yield Sample((_definite(rng, 3),), through="symmetric")


@op("linalg_svdvals(Tensor A) -> Tensor", namespace="_internal", alias="linalg.svdvals", method=False)
class linalg_svdvals:
    """The singular values of matrices, in descending order.

    >>> torch.linalg.svdvals(torch.tensor([[0., 2.], [1., 0.]]))
    tensor([2., 1.])
    """

    lacks = {"float8 chalf": "linalg_svd_cpu if any"}
    out_dtype = EXPECTED
    amp = "float32"
    quick_complex = True
    fused = True
    def quick(A): return singular(A, compute_uv=False) if alone(A) else None
    def function(F, A): return F.linalg_svd(A, False)[1]
    def samples(rng): yield (rng.standard_normal((2, 3, 2)),)


@op("svd(Tensor input, bool some=True, bool compute_uv=True) -> (Tensor U, Tensor S, Tensor V)")
class svd:
    """U, S, V with U diag(S) V^T = input; the former form of `linalg.svd`.

    >>> torch.svd(torch.tensor([[0., 2.], [1., 0.]]))[1]
    tensor([2., 1.])
    """

    lacks = {"float8 chalf": "linalg_svd_cpu if any"}
    out_dtype = EXPECTED
    amp = "float32"
    def function(F, input, some=True, compute_uv=True):
        _check_matrix("linalg.svd", input)
        U, S, Vh = F.linalg_svd(input, not some)
        if not compute_uv:
            m, n = input.shape[-2], input.shape[-1]
            zeros = [F.wrap(np.zeros((*tuple(input.shape)[:-2], k, k), input._k.np), input._k) for k in (m, n)]
            return F.returned(_svd_record())(zeros[0], S, zeros[1])
        return F.returned(_svd_record())(U, S, _mH(F, Vh))

    def samples(rng): yield (rng.standard_normal((3, 2)),)


def _svd_record() -> Record:
    return get_record("svd")


# -- built on the above -----------------------------------------------------------------------------------------------


def _check_limits(name: str, *limits: object) -> None:
    for limit, value in zip(("atol", "rtol"), limits):
        if value is not None and not isinstance(value, (int, float, np.ndarray, TensorRef)):
            raise ArgumentError(f"{name}(): argument '{limit}' must be float, not {type(value).__name__}")
        if isinstance(value, TensorRef) and value._k.dtype.category == COMPLEX or isinstance(value, np.ndarray) and value.dtype.kind == "c":
            raise AutogradError(f"torch.{name.replace('_', '.', 1)}: {limit} tensor of complex type is not supported. Got "
                                f"{SCALAR_TYPE_NAMES[value.dtype.name]}")


def _kept(A: np.ndarray, sizes: np.ndarray, atol: Any, rtol: float | None) -> np.ndarray:
    """Which of the singular values of a matrix, or of the absolute eigenvalues, exceed max(atol, rtol * largest). The limits are numbers,
    tensors with one for each matrix, or None."""
    _check_limits("linalg_pinv", atol, rtol)  # here, too: NumPy would take lists, and the quiet path comes without a check
    atol, rtol = [x._data if isinstance(x, TensorRef) else x for x in (atol, rtol)]
    absolute = np.asarray(0.0 if atol is None else atol)[..., None]
    relative = np.where(absolute > 0, 0, max(A.shape[-2:]) * float(np.finfo(A.dtype).eps)) if rtol is None else np.asarray(rtol)[..., None]
    return sizes > np.maximum(relative * sizes.max(-1, keepdims=True, initial=0), absolute)



def _pinv(A: np.ndarray, atol: object = None, rtol: float | None = None, hermitian: bool = False) -> np.ndarray:
    if hermitian and A.size:  # of which one triangle is read
        s, v = lapack.eigh(A)
        kept, u, vh = _kept(A, np.abs(s), atol, rtol), v, adjoint(v)
    else:
        u, s, vh = singular(A, False)
        kept = _kept(A, s, atol, rtol)
    inverse = np.where(kept, 1 / np.where(kept, s, 1), 0).astype(s.dtype)
    return np.matmul(adjoint(vh) * inverse[..., None, :], adjoint(u))


def _pinv_gradient(F: Functions, grad: Values, A: Values, P: Values) -> Values:
    """The gradient of A from that of its pseudo-inverse P."""
    Pt, gt = _mH(F, P), _mH(F, grad)
    gtP = F.matmul(gt, F.matmul(P, Pt))
    PtPgt = F.matmul(F.matmul(Pt, P), gt)
    return gtP - _product(F, Pt, grad, Pt) - _product(F, A, P, gtP) + PtPgt - _product(F, PtPgt, P, A)


@op("linalg_pinv(Tensor input, *, Any atol=None, Any rtol=None, bool hermitian=False) -> Tensor", namespace="_internal",
    alias="linalg.pinv", method=False, complex="explicit")
class linalg_pinv:
    """The Moore-Penrose inverses of matrices: singular values up to max(atol, rtol * largest) count as zero.

    >>> torch.linalg.pinv(torch.tensor([[2., 0.], [0., 0.]]))
    tensor([[0.5000, 0.0000],
            [0.0000, 0.0000]])
    """

    words = {"rcond": "rtol"}
    sharding = "*b M N -> *b N M"
    out_dtype = casts_safely("linalg.pinv")
    refuses_grad = dict.fromkeys(("atol", "rtol"), lambda input: "linalg_pinv")
    numpy = _pinv
    compose = on_host(_pinv)
    def check(input, atol, rtol, hermitian):
        if input.dtype.name not in ("float32", "float64", "complex64", "complex128") or input.ndim < 2:
            raise AutogradError(f"linalg.pinv({SCALAR_TYPE_NAMES[input.dtype.name]}{{{list(input.shape)}}}): expected a tensor with 2 or "
                                "more dimensions of float, double, cfloat or cdouble types")
        if hermitian and input._data.size:
            _check_matrix("linalg.eigh", input, True)
        _check_limits("linalg_pinv", atol, rtol)
    def vjp_input(F, grad, input, result): return _pinv_gradient(F, grad, input, result)
    batch = batches.matrices

    def samples(rng):
        yield (rng.standard_normal((3, 2)),)
        yield (rng.standard_normal((2, 2, 3)),)
        yield Sample((_definite(rng, 3),), {"hermitian": True}, through="symmetric")


@op("linalg_matrix_rank(Tensor A, *, Any atol=None, Any rtol=None, bool hermitian=False) -> Tensor", namespace="_internal",
    alias="linalg.matrix_rank", method=False, result="int64", dtypes="float")
class linalg_matrix_rank:
    """How many singular values exceed max(atol, rtol * largest).

    >>> torch.linalg.matrix_rank(torch.tensor([[1., 1.], [1., 1.]]))
    tensor(1)
    """

    words = {"input": "A", "tol": "atol"}
    sharding = "*b M N -> *b"
    lacks = {"half int bool rare": "RuntimeError: This function doesn't handle types other than float and double"}
    out_dtype = casts_safely("torch.linalg.matrix_rank")
    amp = "float32"
    def numpy(A, atol=None, rtol=None, hermitian=False):
        s = np.abs(lapack.eigvalsh(A)) if hermitian and A.size else singular(A, compute_uv=False)
        return np.add.reduce(_kept(A, s, atol, rtol), -1, np.int64)
    compose = on_host(numpy)
    batch = batches.matrices
    def check(A, atol, rtol, hermitian):
        _check_matrix("linalg.matrix_rank", A, False, False)
        if hermitian and A._data.size:
            _check_matrix("linalg.eigh", A, True, False)
        _check_limits("linalg_matrix_rank", atol, rtol)
    def samples(rng):
        yield (rng.standard_normal((2, 3, 2)),)
        yield Sample((_definite(rng, 3),), {"hermitian": True})


@op("matrix_power(Tensor input, int n) -> Tensor", alias="linalg.matrix_power")
class matrix_power:
    """Square matrices multiplied `n` times with themselves; negative `n` is for their inverses.

    >>> torch.linalg.matrix_power(torch.tensor([[1., 1.], [0., 1.]]), 3)
    tensor([[1., 3.],
            [0., 1.]])
    """

    lacks = {"uint chalf float8_e8m0fnu": lambda input, n: "addmm_impl_cpu_" if n else "eye"}
    out_dtype = EXPECTED
    def quick(input, n):
        half = is_half(input.dtype)
        square = input.ndim > 1 and input.shape[-1] == input.shape[-2]
        if n.__class__ is not int or n < 1 or not half and input.dtype.char not in "fd" or not square:
            return None
        kernel, x, result = get_record("matmul").field("numpy"), input, None

        def matmul(a: np.ndarray, b: np.ndarray) -> np.ndarray:
            return kernel(a, b) if not half else halves.narrow(kernel(halves.widened(a), halves.widened(b)), a.dtype)

        while n:
            if n & 1:
                result = x if result is None else matmul(result, x)
            n >>= 1
            if n:
                x = matmul(x, x)
        return None if result is input else result

    def function(F, input, n):
        _check_matrix("linalg.matrix_power", input, True, False)
        if n == 0:
            k, k_input = input.shape[-1], input._k
            nothing = F.masked_fill(input, constant(F, input, np.ones(input._data.shape, np.bool_)), 0)
            return nothing + constant(F, input, np.eye(k, dtype=k_input.np))
        x, n = (F.inverse(input), -n) if n < 0 else (input, n)
        result = None
        while n:
            if n & 1:
                result = x if result is None else F.matmul(result, x)
            n >>= 1
            if n:
                x = F.matmul(x, x)
        return result

    def samples(rng):
        yield _square(rng, 3, 3), 5
        yield _square(rng, 2, 2, 2), -2


@op("linalg_cond(Tensor input, Any p=None) -> Tensor", namespace="_internal", alias="linalg.cond", method=False)
class linalg_cond:
    """The condition number |A| |A^-1| in a matrix norm, by default the ratio of the extreme singular values.

    >>> torch.linalg.cond(torch.tensor([[4., 0.], [0., 2.]]))
    tensor(2.)
    """

    lacks = {"float8 chalf": "linalg_svd_cpu",
             "bool int uint": "RuntimeError: linalg.svd: Expected a floating point or complex tensor as input. Got {dtype}"}
    out_dtype = casts_safely("linalg.cond")
    amp = "float32"
    quick_complex = True
    fused = True

    def quick(input, p):
        if not alone(input) or p is not None and (p.__class__ is not int or p not in (2, -2)):
            return None
        S = singular(input, compute_uv=False)
        largest, smallest = S[..., 0], S[..., -1]
        with ignoring():
            return np.asarray(smallest / largest if p == -2 else largest / smallest)

    def function(F, input, p=None):
        if input.ndim < 2:
            raise ShapeMismatchError("linalg.cond: The input tensor must have at least 2 dimensions.")
        if p in (None, 2, -2):
            _check_matrix("linalg.cond", input)
            if not input._data.size:
                return F.zeros_for(F.real(input), tuple(input.shape)[:-2])
            S = F.linalg_svdvals(input)
            largest, smallest = F.select(S, -1, 0), F.select(S, -1, -1)
            return smallest / largest if p == -2 else largest / smallest
        if p not in ("fro", "nuc", 1, -1, math.inf, -math.inf):
            raise AutogradError(f"linalg.cond got an invalid norm type: {p}")
        if input.shape[-1] != input.shape[-2]:
            _check_matrix(f"linalg.cond(ord={p})", input, True)
        if p == "nuc":  # whose singular values exist where the inverse has none
            S = F.linalg_svdvals(input)
            return F.sum(S, -1) * F.sum(F.reciprocal(S), -1)
        inverse, info = F.linalg_inv_ex(input)
        result = F.linalg_matrix_norm(input, p) * F.linalg_matrix_norm(inverse, p)
        singular = F.ne(info, 0)
        return F.masked_fill(result, singular, math.inf) if on_meta(input) or buffer(singular).any() else result

    def samples(rng):
        yield (_square(rng, 3, 3),)
        yield _square(rng, 2, 2, 2), -2
