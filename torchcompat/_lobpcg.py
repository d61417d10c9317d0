"""`lobpcg`: a few extreme eigenpairs of a large symmetric matrix."""

from __future__ import annotations

import math

import numpy as np

from autograd_tape.annotations import Fn
from autograd_tape.modes import GradMode, grad_mode

from ._tensor import Tensor, frontend
from .overrides import overridable
from .random import randn


@overridable
def lobpcg(A: Tensor, k: int | None = None, B: Tensor | None = None, X: Tensor | None = None, n: int | None = None,
           iK: Tensor | None = None, niter: int | None = None, tol: float | None = None, largest: bool | None = None,
           method: str | None = None, tracker: Fn | None = None, ortho_iparams: dict[str, int] | None = None,
           ortho_fparams: dict[str, float] | None = None, ortho_bparams: dict[str, bool] | None = None) -> tuple[Tensor, Tensor]:
    """The `k` largest (or smallest) eigenvalues of a symmetric positive definite `A` (*, m, m), or of the pair `A`, `B`, and their
    eigenvectors (*, m, k), normalized by `B`.

    The block iteration of Knyazev, "Toward the optimal preconditioned eigensolver" (2001): the best subspace of the current vectors, their
    preconditioned residuals and the last directions. Where a gradient is wanted, the eigenpairs come from a full decomposition, which
    is what the gradient of eigenvectors needs.

    Args:
        X: the vectors (*, m, n) to begin with; random ones where None.
        iK: a preconditioner (m, m), an approximation of the inverse of `A`.
        niter, tol: the iteration ends after `niter` steps (1000), or where the relative residual is below `tol`.

    Raises:
        ValueError: `A` has less than 3 n rows, or `method` is neither "basic" nor "ortho".

    >>> import torchcompat as torch
    >>> values, vectors = torch.lobpcg(torch.diag(torch.arange(1., 10.)), k=2)
    >>> [round(v, 3) for v in values.tolist()], tuple(vectors.shape)
    ([9.0, 8.0], (9, 2))
    """
    if A.shape[-2] != A.shape[-1]:
        raise AssertionError(f"A must be square, got shape {A.shape}")
    if B is not None and A.shape != B.shape:
        raise AssertionError(f"A and B must have same shape, got {A.shape} vs {B.shape}")
    m = A.shape[-1]
    k = (1 if X is None else X.shape[-1]) if k is None else k
    n = (k if n is None else n) if X is None else X.shape[-1]
    if m < 3 * n:
        raise ValueError(f"LOBPCG algorithm is not applicable when the number of A rows (={m}) is smaller than 3 x the number of requested "
                         f"eigenpairs (={n})")
    if method not in (None, "basic", "ortho"):
        raise ValueError(f"expected method basic or ortho, got {method}")
    if tracker is not None:
        raise NotImplementedError("lobpcg: a tracker is called by torch only; pass tracker=None")
    top = True if largest is None else largest
    if grad_mode() is GradMode.ENABLED and (A.requires_grad or B is not None and B.requires_grad):
        return _decomposed(A, B, k, top)
    batch = tuple(A.shape[:-2])
    count = math.prod(batch)
    if X is None:
        X = randn((*batch, m, n), dtype=A.dtype)
    starts = np.broadcast_to(X._data, (*batch, m, n)).reshape(count, m, n)
    metrics = [None] * count if B is None else list(B._data.reshape(count, m, m))
    limit = float(np.finfo(A._k.np).eps) ** 0.5 if tol is None else tol
    found = [_iterate(a, b, x, None if iK is None else iK._data, 1000 if niter is None else niter, limit, top)
             for a, b, x in zip(A._data.reshape(count, m, m), metrics, starts)]
    values = np.stack([e[:k] for e, _ in found]) if found else np.zeros((0, k), A._k.np)
    vectors = np.stack([v[:, :k] for _, v in found]) if found else np.zeros((0, m, k), A._k.np)
    return frontend.wrap(values.reshape(*batch, k)), frontend.wrap(vectors.reshape(*batch, m, k))


def _decomposed(A: Tensor, B: Tensor | None, k: int, top: bool) -> tuple[Tensor, Tensor]:
    """The eigenpairs by a full decomposition. Both matrices are made symmetric, so that their gradients are."""
    F = frontend
    A = (A + A.mT) / 2
    if B is not None:
        root = F.linalg_cholesky((B + B.mT) / 2)
        A = F.linalg_solve_triangular(root, F.linalg_solve_triangular(root, A, upper=False).mT, upper=False)
    values, vectors = F.linalg_eigh(A)
    if top:
        values, vectors = F.flip(values, (-1,)), F.flip(vectors, (-1,))
    values, vectors = values[..., :k], vectors[..., :k]
    return values, vectors if B is None else F.linalg_solve_triangular(root.mT, vectors, upper=True)


def _iterate(A: np.ndarray, B: np.ndarray | None, X: np.ndarray, K: np.ndarray | None, niter: int, tol: float, top: bool
             ) -> tuple[np.ndarray, np.ndarray]:
    n = X.shape[1]
    times = (lambda v: v) if B is None else (lambda v: B @ v)
    scale = np.linalg.norm(A), 1.0 if B is None else np.linalg.norm(B)
    E, X = _extreme(A, _orthonormal(X, times), n, top)
    P: np.ndarray | None = None
    last = np.full(n, np.inf)
    enough = 10 * float(np.finfo(A.dtype).eps)  # eigenvectors are only as exact as the residual is small
    for _ in range(niter):
        R = A @ X - times(X) * E
        error = np.linalg.norm(R, axis=0) / (np.linalg.norm(X, axis=0) * (scale[0] + np.abs(E) * scale[1]))
        if (error < min(tol, enough)).all() or (error < tol).all() and (error >= last / 2).all():
            break
        last = error
        W = R if K is None else K @ R
        S = _orthonormal(np.concatenate([X, W] if P is None else [X, W, P], 1), times)
        E, new = _extreme(A, S, n, top)
        P, X = new - X @ (X.T @ times(new)), new
    return E, X


def _extreme(A: np.ndarray, S: np.ndarray, n: int, top: bool) -> tuple[np.ndarray, np.ndarray]:
    """The `n` extreme eigenpairs of `A` within the span of the orthonormal `S`, the outermost first."""
    values, vectors = np.linalg.eigh(S.T @ (A @ S))
    if top:
        values, vectors = values[::-1], vectors[:, ::-1]
    return values[:n], S @ vectors[:, :n]


def _orthonormal(S: np.ndarray, times: Fn) -> np.ndarray:
    """A basis of the columns' span, orthonormal in the metric; what hardly adds to it is left out. Twice, for the sake of rounding."""
    for _ in range(2):
        S = S / np.maximum(np.linalg.norm(S, axis=0), np.finfo(S.dtype).tiny)
        values, vectors = np.linalg.eigh(S.T @ times(S))
        kept = values > values[-1] * np.finfo(S.dtype).eps * len(values)
        S = S @ (vectors[:, kept] / np.sqrt(values[kept]))
    return S
