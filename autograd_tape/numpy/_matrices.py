"""`numpy.linalg` of tensors."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..annotations import Fn
from ..frontend import F
from ..tensor import TensorRef
from ._tables import alike, axes_of, cast, check_defaults, floating, implements, tensor


def _matrix(a: TensorRef) -> TensorRef:
    x = floating(a)
    if x.ndim < 2:
        raise np.linalg.LinAlgError(f"{x.ndim}-dimensional array given. Array must be at least two-dimensional")
    return x


def _square(a: TensorRef) -> TensorRef:
    x = _matrix(a)
    if x.shape[-1] != x.shape[-2]:
        raise np.linalg.LinAlgError("Last 2 dimensions of the array must be square")
    return x


def _solved(function: Fn, *args: object, **kwargs: object) -> Any:
    """NumPy's error where a matrix is singular or not positive definite, or a factorization does not converge."""
    try:
        return function(*args, **kwargs)
    except RuntimeError as error:
        raise np.linalg.LinAlgError(str(error)) from None


@implements("linalg.inv")
def inv(a):
    return _solved(F.inverse, _square(a))


@implements("linalg.pinv")
def pinv(a, rcond=None, hermitian=False, *, rtol=None):
    x = _matrix(a)
    rtol = (1e-15 if rcond is None else rcond) if rtol is None else rtol
    return _solved(F.linalg_pinv, x, rtol=float(rtol), hermitian=hermitian)


@implements("linalg.det")
def det(a):
    return F.det(_square(a))


@implements("linalg.slogdet")
def slogdet(a):
    return F.slogdet(_square(a))


@implements("linalg.solve")
def solve(a, b):
    x, y = alike([_square(a), floating(b)])
    vector = y.ndim == 1 if int(np.__version__.partition(".")[0]) >= 2 else y.ndim == x.ndim - 1
    y = F.unsqueeze(y, -1) if vector else y
    sizes = np.broadcast_shapes(x.shape[:-2], y.shape[:-2])
    x, y = [F.broadcast_to(t, (*sizes, *t.shape[-2:])) for t in (x, y)]
    result = _solved(F.linalg_solve, x, y)
    return F.squeeze(result, -1) if vector else result


def _read(x: TensorRef, upper: bool) -> TensorRef:
    """The Hermitian matrix of which one triangle is read, so that its gradient lies in that triangle."""
    half = F.triu(x, 1) if upper else F.tril(x, -1)
    other = F.transpose(half if x._k.np.kind != "c" else F.conj_physical(half), -2, -1)
    diagonal = F.diag_embed(F.real(F.diagonal(x, 0, -2, -1)))
    return half + other + cast(diagonal, x._k.np)


@implements("linalg.cholesky")
def cholesky(a, /, *, upper=False):
    return _solved(F.linalg_cholesky, _read(_square(a), upper), upper=upper)


@implements("linalg.qr")
def qr(a, mode="reduced"):
    check_defaults("linalg.qr", mode=(mode, ("reduced", "complete", "r")))
    result = F.linalg_qr(_matrix(a), "reduced" if mode == "r" else mode)
    return result[1] if mode == "r" else result


@implements("linalg.svd")
def svd(a, full_matrices=True, compute_uv=True, hermitian=False):
    return _solved(F.linalg_svd, _matrix(a), full_matrices) if compute_uv else _solved(F.linalg_svdvals, _matrix(a))


@implements("linalg.svdvals")
def svdvals(x, /):
    return svd(x, compute_uv=False)


@implements("linalg.eigh")
def eigh(a, UPLO="L"):
    return _solved(F.linalg_eigh, _read(_square(a), UPLO.upper() == "U"), UPLO.upper())


@implements("linalg.eigvalsh")
def eigvalsh(a, UPLO="L"):
    return _solved(F.linalg_eigvalsh, _read(_square(a), UPLO.upper() == "U"), UPLO.upper())


def _real_if_all_are(*found: TensorRef) -> list[TensorRef]:
    """Eigenvalues, and eigenvectors, as real tensors where all eigenvalues are real, as NumPy has it."""
    return [F.real(t) for t in found] if not found[0]._data.imag.any() else list(found)


@implements("linalg.eig")
def eig(a):
    x = _square(a)
    result = _solved(F.linalg_eig, x)
    return result if x._k.np.kind == "c" else type(result)(*_real_if_all_are(*result))


@implements("linalg.eigvals")
def eigvals(a):
    x = _square(a)
    result = _solved(F.linalg_eigvals, x)
    return result if x._k.np.kind == "c" else _real_if_all_are(result)[0]


@implements("linalg.matrix_power")
def matrix_power(a, n):
    x = tensor(a)
    return _solved(F.matrix_power, _square(a) if n < 0 else x, n)


@implements("linalg.matrix_rank")
def matrix_rank(A, tol=None, hermitian=False, *, rtol=None):
    more = {} if rtol is None else {"rtol": rtol}
    return TensorRef.of(np.linalg.matrix_rank(tensor(A)._read("an index"), tol, hermitian, **more))


@implements("linalg.cond")
def cond(x, p=None):
    return F.linalg_cond(_matrix(x), p)


@implements("linalg.multi_dot", sequence=True)
def multi_dot(arrays, *, out=None):
    check_defaults("linalg.multi_dot", out=(out, (None,)))
    return F.linalg_multi_dot(alike([tensor(a) for a in arrays]))


@implements("linalg.lstsq")
def lstsq(a, b, rcond="warn"):
    x, y = alike([_matrix(a), floating(b)])
    columns = F.unsqueeze(y, -1) if y.ndim == 1 else y
    eps = float(np.finfo(x._k.np).eps)
    found = F.linalg_lstsq(x, columns, eps * max(x.shape[-2:]) if rcond in ("warn", None) else float(rcond), driver="gelsd")
    flat = lambda t: F.squeeze(t, -1) if y.ndim == 1 else t
    away = F.matmul(x, found[0]) - columns
    full = int(found[2].item()) == x.shape[1] < x.shape[0]
    residuals = F.sum(F.square(F.abs(away)), (0,)) if full else TensorRef.over(np.empty(0, x._k.np))
    return flat(found[0]), residuals, found[2], F.linalg_svdvals(x)


@implements("linalg.tensorinv")
def tensorinv(a, ind=2):
    return _solved(F.linalg_tensorinv, floating(a), ind)


@implements("linalg.tensorsolve")
def tensorsolve(a, b, axes=None):
    return _solved(F.linalg_tensorsolve, *alike([floating(a), floating(b)]), axes)


@implements("linalg.norm")
def norm(x, ord=None, axis=None, keepdims=False):
    x = floating(x)
    if axis is None:
        if ord is None or ord in ("f", "fro") and x.ndim == 2 or ord == 2 and x.ndim == 1:
            flat = _length(F.reshape(x, (-1,)), (0,), False)
            return F.reshape(flat, (1,) * x.ndim) if keepdims else flat
        axis = tuple(range(x.ndim))
    axes = axes_of(axis, x.ndim)
    if len(axes) == 1:
        if isinstance(ord, str):
            raise ValueError(f"Invalid norm order '{ord}' for vectors")
        return _length(x, axes, keepdims) if ord in (None, 2) else F.linalg_vector_norm(x, ord, axes, keepdims)
    if len(axes) != 2:
        raise ValueError("Improper number of dimensions to norm.")
    if ord in (None, "fro", "f"):
        return _length(x, axes, keepdims)
    if ord not in ("nuc", 1, -1, 2, -2, np.inf, -np.inf):
        raise ValueError("Invalid norm order for matrices.")
    return F.linalg_matrix_norm(x, ord, axes, keepdims)


def _length(x: TensorRef, axes: tuple[int, ...], keepdims: bool) -> TensorRef:
    return F.linalg_vector_norm(x, 2, axes, keepdims)


@implements("linalg.vector_norm")
def vector_norm(x, /, *, axis=None, keepdims=False, ord=2):
    x = floating(x)
    return F.linalg_vector_norm(x, ord, axes_of(axis, x.ndim), keepdims)


@implements("linalg.matrix_norm")
def matrix_norm(x, /, *, keepdims=False, ord="fro"):
    return norm(x, ord, (-2, -1), keepdims)
