"""QR factorization as LAPACK leaves it, in Householder's reflectors, and products with these.

Reflectors H_i = I - tau_i v_i v_i^H are the columns of a unit lower trapezoidal V, and H_1 H_2 ... H_k = I - V T V^H with
T = D (I + S D)^-1, where D = diag(tau) and S is the strict upper triangle of V^H V (Joffrain et al., "Accumulating Householder
transformations, revisited", ACM TOMS 32, 2006): a few matrix products however many there are.
"""

from __future__ import annotations


import numpy as np

from ...dtypes import SCALAR_TYPE_NAMES
from ...errors import AutogradError, ShapeMismatchError
from ...executors.kernels import matrices as kernels
from ...functions.out import OutRule, casts_safely
from ...record import Sample, no_formula, op
from ...tensor import TensorRef
from .. import _batch as batches
from .._host import on_host
from ..networks._losses import buffer, constant
from .factorization import _columns, _mH, unit_lower
from .products import adjoint
from ...annotations import Functions, Values

linalg = np.linalg


def _geqrf(A: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    if not A.size:
        return _columns(A), np.zeros((*A.shape[:-2], min(A.shape[-2:])), A.dtype)
    if A.shape[-2] == 1 and A.dtype.kind == "f":  # nothing stands below the diagonal
        return _columns(A), np.zeros(A.shape[:-1], A.dtype)
    columns, tau = kernels.reflectors(A)
    return columns.swapaxes(-2, -1), tau


@op("geqrf(Tensor input) -> (Tensor a, Tensor tau)", complex="explicit")
class geqrf:
    """R of the QR factorization in the upper triangle of `a`, and below it, with `tau`, the reflectors whose product is Q.

    >>> torch.geqrf(torch.tensor([[3., 0.], [4., 5.]])).a
    tensor([[-5.0000, -4.0000],
            [ 0.5000,  3.0000]])
    """

    amp = "float32"
    sharding = "*b M N -> *b M N, *b K"
    lacks = {"half int bool rare": "geqrf_cpu"}
    out_dtype = casts_safely("torch.geqrf", "a"), casts_safely("torch.geqrf", "tau")
    meta_layout = "columns rows"
    no_forward = "geqrf"
    numpy = _geqrf
    compose = on_host(_geqrf)
    batch = batches.matrices
    vjp = no_formula("geqrf")
    def shape(input): return input, (*input[:-2], min(input[-2:]))

    def check(input):
        if input.ndim < 2:
            raise ShapeMismatchError("torch.geqrf: input must have at least 2 dimensions.")

    def samples(rng):
        for shape in ((4, 3), (2, 2, 3)):
            yield Sample((rng.standard_normal(shape),), no_gradient="torch has none")

    def errors(rng):
        yield (np.ones(3),), RuntimeError, "torch.geqrf: input must have at least 2 dimensions."


_SMALL = 32  # rows up to which Q itself is made where it is multiplied


def _reflected(A: np.ndarray, tau: np.ndarray, C: np.ndarray, inverse: bool) -> np.ndarray:
    """Q C, or Q^H C, for the product Q of reflectors."""
    m, n = A.shape[-2:]
    k = tau.shape[-1]
    if k > min(m, n) or A.shape[:-2] != tau.shape[:-1] or C.shape[-2] != m or not A.dtype == tau.dtype == C.dtype:
        raise ValueError("as many reflectors as there are columns, and matrices of as many rows expected")
    if m <= _SMALL and A.size and C.size and k:
        Q = kernels.reflected(A, tau, m).swapaxes(-2, -1)
        return np.matmul(adjoint(Q) if inverse else Q, C)
    V = unit_lower(A[..., :k])
    X = unit_lower((np.matmul(adjoint(V), V) * tau[..., None, :]).swapaxes(-2, -1)).swapaxes(-2, -1)
    W, scale = np.matmul(adjoint(V), C), tau[..., :, None]
    Y = linalg.solve(adjoint(X), scale.conj() * W) if inverse else scale * linalg.solve(X, W)
    return C - np.matmul(V, Y)


def _gradients(F: Functions, grad: Values, A: Values, tau: Values, C: Values, inverse: bool) -> tuple[Values, Values, Values]:
    """The gradients of A, tau and C from that of Q C, or of Q^H C."""
    m, n, k = A.shape[-2], A.shape[-1], tau.shape[-1]
    dtype = buffer(A).dtype
    eye = constant(F, A, np.eye(k, dtype=dtype))
    V = F.tril(F.slice(A, -1, 0, k), -1) + constant(F, A, np.eye(m, k, dtype=dtype))
    row, scale, Vh = F.unsqueeze(tau, -2), F.unsqueeze(tau, -1), _mH(F, V)
    S, W = F.triu(F.matmul(Vh, V), 1), F.matmul(Vh, C)
    X, g = S * row + eye, -F.matmul(Vh, grad)
    if inverse:
        Y = F.solve_matrices(_mH(F, X), F.conj(scale) * W)
        back = F.solve_matrices(X, g)
        g_X, g_tau, g_W = -F.matmul(Y, _mH(F, back)), F.conj(F.sum(back * F.conj(W), -1)), scale * back
    else:
        Z = F.solve_matrices(X, W)
        Y = scale * Z
        g_W, g_tau = F.solve_matrices(_mH(F, X), F.conj(scale) * g), F.sum(g * F.conj(Z), -1)
        g_X = -F.matmul(g_W, _mH(F, Z))
    between = F.triu(g_X * F.conj(row), 1)
    g_V = F.matmul(C, _mH(F, g_W)) - F.matmul(grad, _mH(F, Y)) + F.matmul(V, between + _mH(F, between))
    g_A = F.tril(g_V, -1)
    return (F.constant_pad_nd(g_A, (0, n - k)) if n > k else g_A, g_tau + F.sum(F.conj(S) * F.triu(g_X, 1), -2),
            grad + F.matmul(V, g_W))


def _check_reflectors(name: str, input: TensorRef, tau: TensorRef) -> None:
    if tau.ndim != input.ndim - 1:
        raise ShapeMismatchError(f"{name}: Expected tau to have one dimension less than input, but got tau.ndim equal to {tau.ndim} and "
                                 f"input.ndim is equal to {input.ndim}")


def _product(input: np.ndarray, tau: np.ndarray) -> np.ndarray:
    if input.shape[-2] < input.shape[-1]:
        raise ValueError("no fewer rows than columns expected")
    n, k = input.shape[-1], tau.shape[-1]
    if input.size and k and k <= n and tau.shape[:-1] == input.shape[:-2] and tau.dtype == input.dtype:
        return kernels.reflected(input, tau, n).swapaxes(-2, -1)
    return _columns(_reflected(input, tau, np.eye(input.shape[-2], input.shape[-1], dtype=input.dtype), False))


@op("orgqr(Tensor input, Tensor tau) -> Tensor", alias="linalg.householder_product", node="LinalgHouseholderProductBackward0",
    complex="explicit")
class orgqr:
    """The first columns of the product of Householder's reflectors, as `geqrf` gives them: Q of a QR factorization.

    >>> a, tau = torch.geqrf(torch.tensor([[3., 0.], [4., 5.]]))
    >>> torch.linalg.householder_product(a, tau)
    tensor([[-0.6000, -0.8000],
            [-0.8000,  0.6000]])
    """

    words = {"input2": "tau"}
    amp = "float32"
    sharding = "*b M N, *b K -> *b M N"
    lacks = {"half int bool rare": "orgqr_cpu"}
    out_dtype = casts_safely("torch.linalg.householder_product")
    meta_layout = "columns"
    numpy = _product
    compose = on_host(_product)
    aten = "linalg_householder_product"
    batch = batches.together
    def shape(input, tau): return input

    def check(input, tau):
        name = "torch.linalg.householder_product"
        if input.ndim < 2:
            raise ShapeMismatchError(f"{name}: input must have at least 2 dimensions.")
        if input.shape[-2] < input.shape[-1]:
            raise ShapeMismatchError(f"{name}: input.shape[-2] must be greater than or equal to input.shape[-1]")
        if input.shape[-1] < tau.shape[-1]:
            raise ShapeMismatchError(f"{name}: input.shape[-1] must be greater than or equal to tau.shape[-1]")
        _check_reflectors(name, input, tau)
        if input.shape[:-2] != tau.shape[:-1]:
            raise ShapeMismatchError(f"{name}: Expected batch dimensions of tau to be equal to input.shape[:-2], but got "
                                     f"{list(tau.shape[:-1])}")
        if input.dtype is not tau.dtype:
            names = [SCALAR_TYPE_NAMES[t.dtype.name] for t in (tau, input)]
            raise AutogradError(f"{name}: tau dtype {names[0]} does not match input dtype {names[1]}")

    def vjp(F, grad, input, tau):
        if 0 in (*input.shape, *tau.shape):
            return None, None
        C = constant(F, input, np.eye(input.shape[-2], input.shape[-1], dtype=buffer(input).dtype))
        return _gradients(F, grad, input, tau, C, False)[:2]

    def samples(rng):
        yield rng.standard_normal((4, 3)), rng.standard_normal(3)
        yield rng.standard_normal((2, 3, 3)), rng.standard_normal((2, 2))

    def errors(rng):
        yield (np.ones((2, 3)), np.ones(2)), RuntimeError, (
            "torch.linalg.householder_product: input.shape[-2] must be greater than or equal to input.shape[-1]")


def _ormqr(input: np.ndarray, tau: np.ndarray, other: np.ndarray, left: bool = True, transpose: bool = False) -> np.ndarray:
    if other.shape[:-2] != input.shape[:-2] or tau.shape[-1] != min(other.shape[-2 if left else -1], input.shape[-1]):
        raise ValueError("as many matrices as products, and all of the reflectors expected")
    if left:
        return _columns(_reflected(input, tau, other, transpose))
    return _columns(adjoint(_reflected(input, tau, adjoint(other), not transpose)))


@op("ormqr(Tensor input, Tensor tau, Tensor other, bool left=True, bool transpose=False) -> Tensor", complex="explicit")
class ormqr:
    """The product of Q, given by reflectors as `geqrf` has them, and a matrix: Q C, or C Q where not `left`, or with Q^H.

    >>> a, tau = torch.geqrf(torch.tensor([[3., 0.], [4., 5.]]))
    >>> torch.ormqr(a, tau, torch.tensor([[3.], [4.]]), transpose=True)
    tensor([[-5.],
            [ 0.]])
    """
    amp = "float32"

    words = {"input2": "tau", "input3": "other"}
    def sharding(call): return call.letters("*b M N, *b K, *b M p -> *b M p" if call["left"] else "*b M N, *b K, *b p M -> *b p M")
    lacks = {"half int bool rare": "ormqr_cpu"}
    no_forward = "ormqr"
    out_dtype = OutRule("torch.ormqr: Expected input and result to have the same dtype, but input has dtype{wanted} and result has dtype "
                        "{found}")
    meta_layout = "columns"
    numpy = _ormqr
    compose = on_host(_ormqr)
    batch = batches.together
    def shape(input, tau, other, left, transpose): return other

    def check(input, tau, other, left, transpose):
        name, at = "torch.ormqr", -2 if left else -1
        for what, t in (("input", input), ("other", other)):
            if t.ndim < 2:
                raise ShapeMismatchError(f"{name}: {what} must have at least 2 dimensions.")
        if other.shape[at] < tau.shape[-1]:
            raise ShapeMismatchError(f"{name}: other.shape[{at}] must be greater than or equal to tau.shape[-1]")
        if other.shape[at] != input.shape[-2]:
            raise ShapeMismatchError(f"{name}: other.shape[{at}] must be equal to input.shape[-2]")
        if tau.shape[-1] != min(other.shape[at], input.shape[-1]):
            raise ShapeMismatchError(f"{name}: tau.shape[-1] must be equal to min(other.shape[{at}], input.shape[-1])")
        _check_reflectors(name, input, tau)
        if other.ndim != input.ndim:
            raise ShapeMismatchError(f"{name}: Expected other to have the same number of dimensions as input, but got other.ndim equal to "
                                     f"{other.ndim} and input.ndim is equal to {input.ndim}")
        for what, found in (("tau", tau.shape[:-1]), ("other", other.shape[:-2])):
            if found != input.shape[:-2]:
                raise ShapeMismatchError(f"{name}: Expected batch dimensions of {what} to be equal to input.shape[:-2], but got "
                                         f"{list(found)}")
        for what, t in (("tau", tau), ("other", other)):
            if t.dtype is not input.dtype:
                raise AutogradError(f"{name}: Expected input and {what} to have the same dtype, but input has dtype"
                                    f"{SCALAR_TYPE_NAMES[input.dtype.name]} and {what} has dtype {SCALAR_TYPE_NAMES[t.dtype.name]}")

    def vjp(F, grad, input, tau, other, left, transpose):
        if 0 in (*input.shape, *tau.shape):
            return None, None, grad
        if left:
            return _gradients(F, grad, input, tau, other, transpose)
        g_A, g_tau, g_C = _gradients(F, _mH(F, grad), input, tau, _mH(F, other), not transpose)
        return g_A, g_tau, _mH(F, g_C)

    def samples(rng):
        yield rng.standard_normal((4, 3)), rng.standard_normal(3), rng.standard_normal((4, 2))
        yield rng.standard_normal((2, 3, 3)), rng.standard_normal((2, 3)), rng.standard_normal((2, 2, 3)), False, True

    def errors(rng):
        yield (np.ones((3, 2)), np.ones(2), np.ones((2, 2))), RuntimeError, "torch.ormqr: other.shape[-2] must be equal to input.shape[-2]"
