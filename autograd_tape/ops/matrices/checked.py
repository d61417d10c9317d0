"""Inverses, solutions and factors that tell in `info` of each matrix whether they failed, and where, instead of raising."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from ...dims import broadcast_shape
from ...errors import LinAlgError, ShapeMismatchError
from ...executors.kernels import lapack, small
from ...functions.out import EXPECTED
from ...record import Sample, get_record, op
from ...warned import warn_once
from .. import _batch as batches
from .._host import on_host
from .factorization import (
    _broken_minor, _check_matrix, _columns, _definite, _mT, _solve_triangle, _solved, _square, _zero_pivot, alone, check_equation,
)

linalg = np.linalg


def _each(function: Callable[..., np.ndarray], failed: Callable[..., tuple[np.ndarray, int]], *arrays: np.ndarray,
          laid: Callable[[np.ndarray], np.ndarray] = _columns) -> tuple[np.ndarray, np.ndarray]:
    """(results, what failed) of `function` of batches of matrices: all at once, or where that fails one by one, with what
    `failed` gives of those that do; `laid` in memory."""
    A = arrays[0]
    if A.ndim < 2 or A.shape[-1] != A.shape[-2]:
        raise ValueError("square matrices expected")
    try:
        return laid(function(*arrays)), np.zeros(A.shape[:-2], np.int32)
    except linalg.LinAlgError:
        pass
    batch = np.broadcast_shapes(*[a.shape[:-2] for a in arrays])
    places = np.broadcast_to(np.arange(math.prod(A.shape[:-2])).reshape(A.shape[:-2]), batch).ravel()
    matrices = [np.broadcast_to(a, (*batch, *a.shape[-2:])).reshape(-1, *a.shape[-2:]) for a in arrays]
    results, info = np.empty(matrices[-1].shape, A.dtype), np.zeros(math.prod(A.shape[:-2]), np.int32)
    for i, (place, *each) in enumerate(zip(places, *matrices)):
        try:
            results[i] = function(*each)
        except linalg.LinAlgError:
            results[i], info[place] = failed(*each)
    return laid(results.reshape(*batch, *results.shape[-2:])), info.reshape(A.shape[:-2])


def _refuse(name: str, info: np.ndarray, text: str) -> None:
    """Raises torch's error for the first matrix that failed; its number stands for {} in `text`."""
    bad = np.flatnonzero(info)
    if bad.size:
        where = f"(Batch element {bad[0]}): " if info.ndim else ""
        raise LinAlgError(f"{name}: {where}{text.format(info.ravel()[bad[0]])}", remedy="leave check_errors out, and read `info`")


def _nothing(A: np.ndarray, *rest: np.ndarray) -> tuple[np.ndarray, int]:
    return np.full_like([A, *rest][-1], np.nan), _zero_pivot(A)


def _inv_ex(A: np.ndarray, check_errors: bool = False) -> tuple[np.ndarray, np.ndarray]:
    results, info = _each(lapack.inv, _nothing, A)
    if check_errors:
        _refuse("linalg.inv_ex", info, "The diagonal element {} is zero, the inversion could not be completed because the input matrix is "
                                       "singular.")
    return results, info


@op("linalg_inv_ex(Tensor A, *, bool check_errors=False) -> (Tensor inverse, Int32 info)", namespace="_internal", alias="linalg.inv_ex",
    method=False, node="LinalgInvExBackward0")
class linalg_inv_ex:
    """`inv`, and which diagonal element of U in an LU factorization is the first that is zero, or 0 where the matrix has an inverse. Where
    it has none, NaN.

    >>> torch.linalg.inv_ex(torch.tensor([[1., 1.], [1., 1.]])).info
    tensor(2, dtype=torch.int32)
    """

    amp = "float32"
    sharding = "*b N N -> *b N N, *b"
    lacks = {"half float8 chalf": "RuntimeError: linalg.inv: Low precision dtypes not supported. Got {dtype}"}
    out_dtype = EXPECTED
    meta_layout = "columns rows"
    numpy = _inv_ex
    compose = on_host(_inv_ex)
    batch = batches.matrices
    def check(A, check_errors): _check_matrix("linalg.inv", A, True)
    def vjp(F, grad, inverse): return inverse_gradient(F, grad, inverse)
    def samples(rng):
        yield (_square(rng, 3, 3),)
        yield (_square(rng, 2, 2, 2),)
    def errors(rng):
        yield (np.ones((2, 3)),), RuntimeError, "linalg.inv: A must be batches of square matrices, but they are 2 by 3 matrices"


inverse_gradient = get_record("inverse").field("vjp")


def _partial_factor(A: np.ndarray) -> tuple[np.ndarray, int]:
    """The lower triangle, with the columns of the factor up to the minor that is not positive."""
    L, k = np.tril(A), _broken_minor(A)
    if k > 1:
        L[:k - 1, :k - 1] = linalg.cholesky(A[:k - 1, :k - 1])
        L[k - 1:, :k - 1] = linalg.solve(L[:k - 1, :k - 1].conj(), A[k - 1:, :k - 1].T).T
        L[k - 1, k - 1] -= np.vdot(L[k - 1, :k - 1], L[k - 1, :k - 1])
    return L, k


def _turned(a: np.ndarray) -> np.ndarray:
    """Their transposes, column-major."""
    turned = a.swapaxes(-2, -1)
    return turned if a.size and a.flags.c_contiguous else _columns(turned)


def _cholesky_ex(A: np.ndarray, upper: bool = False, check_errors: bool = False) -> tuple[np.ndarray, np.ndarray]:
    found = small.cholesky(A, upper)
    if found is not None:
        return found
    L, info = _each(lapack.cholesky, _partial_factor, A.swapaxes(-2, -1), laid=_turned) if upper else _each(
        lapack.cholesky, _partial_factor, A)
    if check_errors:
        _refuse("linalg.cholesky_ex", info, "The factorization could not be completed because the input is not positive-definite (the "
                                            "leading minor of order {} is not positive-definite).")
    return L, info


@op("linalg_cholesky_ex(Tensor A, *, bool upper=False, bool check_errors=False) -> (Tensor L, Int32 info)", namespace="_internal",
    alias="linalg.cholesky_ex", method=False, node="LinalgCholeskyExBackward0", complex="explicit")
class linalg_cholesky_ex:
    """`cholesky`, and the order of the first leading minor that is not positive, or 0 where the matrix is positive definite.

    >>> torch.linalg.cholesky_ex(torch.tensor([[4., 0.], [0., -1.]])).info
    tensor(2, dtype=torch.int32)
    """

    words = {"input": "A"}
    amp = "float32"
    sharding = "*b N N -> *b N N, *b"
    lacks = {"half float8 chalf": "cholesky_cpu if any"}
    out_dtype = EXPECTED
    meta_layout = "columns rows"
    saved_as = {"upper": None}
    numpy = _cholesky_ex
    compose = on_host(_cholesky_ex)
    batch = batches.matrices
    def check(A, upper, check_errors): _check_matrix("linalg.cholesky", A, True)
    def vjp(F, grad, L, upper): return cholesky_gradient(F, grad, L, upper)
    def jvp(F, outputs, arguments, tangents):
        return cholesky_tangent(F, outputs, arguments, {"input": tangents["A"]}), None

    def samples(rng):
        yield Sample((_definite(rng, 3),), through="symmetric")
        yield Sample((_definite(rng, 3),), {"upper": True}, through="symmetric")


cholesky_gradient, cholesky_tangent = (get_record("linalg_cholesky").field(name) for name in ("vjp_input", "jvp"))


def _solve_ex(A: np.ndarray, B: np.ndarray, check_errors: bool = False) -> tuple[np.ndarray, np.ndarray]:
    result, info = _each(lapack.solve, _nothing, A, B if B.ndim >= A.ndim else B.reshape((1,) * (A.ndim - B.ndim) + B.shape))
    if check_errors:
        _refuse("torch.linalg.solve_ex", info, "The solver failed because the input matrix is singular.")
    return result, info


@op("solve_matrices_ex(Tensor A, Tensor B, bool check_errors=False) -> (Tensor result, Int32 info)", namespace="_internal", method=False,
    out=False, node="LinalgSolveExBackward0")
class solve_matrices_ex:
    """X with A X = B for batches of matrices, NaN where A is singular, and the first zero on the diagonal of U, or 0."""

    sharding = "*b N N, *b N k -> *b N k, *b"
    lacks = {"half float8 chalf": "lu_cpu if any"}
    saved_as = {"A": "A", "A_shape": None, "B_shape": None}
    numpy = _solve_ex
    def batch(F, call):
        if min(call.ranks.values()) < 2:
            return NotImplemented
        result, info = call(**batches.broadcast_matrices(F, call, A=2, B=2))
        return result, F.reshape(info, tuple(call.whole("A").shape)[:-2])

    meta_layout = "columns rows"
    compose = on_host(_solve_ex)
    def vjp(F, grad, A, result, A_shape, B_shape, needs): return solution_gradients(F, grad, A, result, A_shape, B_shape, needs)
    def samples(rng):
        yield _square(rng, 3, 3), rng.standard_normal((3, 2))
        yield _square(rng, 2, 2, 2), rng.standard_normal((2, 3))


solution_gradients = get_record("solve_matrices").field("vjp")


@op("linalg_solve_ex(Tensor A, Tensor B, *, bool left=True, bool check_errors=False) -> (Tensor result, Int32 info)",
    namespace="_internal", alias="linalg.solve_ex", method=False)
class linalg_solve_ex:
    """`solve`, and which diagonal element of U in an LU factorization of A is the first that is zero, or 0 where A is regular.

    >>> torch.linalg.solve_ex(torch.tensor([[1., 1.], [1., 1.]]), torch.ones(2)).info
    tensor(2, dtype=torch.int32)
    """

    out_dtype = EXPECTED

    def function(F, A, B, *, left=True, check_errors=False):
        info = None

        def solve(a, b):
            nonlocal info
            result, info = F.solve_matrices_ex(a, b, check_errors)
            return result

        solution = _solved(F, A, B, left, solve)
        return F.returned(get_record("linalg_solve_ex"))(solution, info)

    def samples(rng):
        yield _square(rng, 3, 3), rng.standard_normal(3)
        yield _square(rng, 2, 3, 3), rng.standard_normal((2, 3, 2))
        yield Sample((_square(rng, 3, 3), rng.standard_normal((2, 3))), {"left": False})
        yield Sample((_square(rng, 3, 3), rng.standard_normal(3)), {"check_errors": True})


_FORMER = """torch.triangular_solve is deprecated in favor of torch.linalg.solve_triangularand will be removed in a future PyTorch release.
torch.linalg.solve_triangular has its arguments reversed and does not return a copy of one of the inputs.
X = torch.triangular_solve(B, A).solution
should be replaced with
X = torch.linalg.solve_triangular(A, B)."""


@op("triangular_solve(Tensor input, Tensor A, bool upper=True, bool transpose=False, bool unitriangular=False) "
    "-> (Tensor solution, Tensor cloned_coefficient)")
class triangular_solve:
    """X with A X = `input` where one triangle of A counts, or with its transpose, and a copy of A; the former form of
    `linalg.solve_triangular`.

    >>> torch.triangular_solve(torch.tensor([[4.], [4.]]), torch.tensor([[2., 0.], [9., 4.]])).solution
    tensor([[2.],
            [1.]])
    """

    amp = "float32"
    lacks = {"half int bool rare": lambda input, A, **_: "triangular_solve_cpu" if input.dtype is A.dtype else None}
    out_dtype = EXPECTED

    quick_named = True
    def quick(input, A, upper, transpose, unitriangular):
        n = A.shape[-1] if A.ndim > 1 else 0
        if not alone(A) or A.dtype is not input.dtype or A.shape[-2] != n or input.ndim != A.ndim or input.shape[:-1] != A.shape[:-1]:
            return None
        warn_once(_FORMER)
        factor = A.swapaxes(-2, -1) if transpose else A
        return _solve_triangle(factor, input, upper is not transpose, unitriangular), _columns(A)

    def function(F, input, A, upper=True, transpose=False, unitriangular=False):
        warn_once(_FORMER)
        for name, t in (("b", input), ("A", A)):
            if t.ndim < 2:
                raise ShapeMismatchError(f"torch.triangular_solve: Expected {name} to have at least 2 dimensions, but it has {t.ndim} "
                                         "dimensions instead")
        check_equation("triangular_solve", A, input)
        batch = broadcast_shape(tuple(A.shape)[:-2], tuple(input.shape)[:-2])
        factor = _mT(F, A) if transpose else A
        solution = F.solve_triangle(factor, input, upper is not transpose, bool(unitriangular))
        shape = (*batch, *tuple(A.shape)[-2:])
        return F.returned(get_record("triangular_solve"))(solution, F.column_major(A if tuple(A.shape) == shape else F.expand(A, shape)))

    def samples(rng):
        yield rng.standard_normal((3, 2)), _square(rng, 3, 3)
        yield rng.standard_normal((2, 1)), _square(rng, 2, 2, 2), False, True, True

    def errors(rng):
        yield (np.ones(2), np.ones((2, 2))), RuntimeError, (
            "torch.triangular_solve: Expected b to have at least 2 dimensions, but it has 1 dimensions instead")
