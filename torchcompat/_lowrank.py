"""`svd_lowrank` and `pca_lowrank`: the largest singular values of large matrices, from their products with a few random vectors.

Halko, Martinsson, Tropp, "Finding structure with randomness" (arXiv:0909.4061), algorithms 4.4 and 5.1.
"""

from __future__ import annotations

from autograd_tape.dtypes import float16, float32, float64

from . import linalg
from ._tensor import Tensor
from .overrides import overridable
from .random import randn


def _basis(A: Tensor, q: int, niter: int) -> Tensor:
    """Orthonormal columns whose span nearly holds the range of `A`: that of random combinations of its columns, made sharper by `niter`
    rounds of powers of A A^H."""
    dtype = A.dtype if A.dtype.is_complex or A.dtype in (float16, float32, float64) else float32  # with which products are refused
    found: Tensor = linalg.qr(A @ randn(A.shape[-1], q, dtype=dtype, device=A.device)).Q
    for _ in range(niter):
        found = linalg.qr(A @ linalg.qr(A.mH @ found).Q).Q
    return found


def get_approximate_basis(A: Tensor, q: int, niter: int | None = 2, M: Tensor | None = None) -> Tensor:
    """Orthonormal columns (*, m, q) whose span nearly holds the range of `A` (*, m, n), or of A - M."""
    return _basis(A if M is None else A - M, q, 2 if niter is None else niter)


@overridable
def svd_lowrank(A: Tensor, q: int | None = 6, niter: int | None = 2, M: Tensor | None = None) -> tuple[Tensor, Tensor, Tensor]:
    """U (*, m, q), S (*, q), V (*, n, q) with U diag(S) V^H close to `A` (*, m, n), or to A - M, whose rank should be about `q`.

    Args:
        niter: how many rounds of powers sharpen the singular values; more where they decay slowly.

    >>> import torchcompat as torch
    >>> U, S, V = torch.svd_lowrank(torch.diag(torch.tensor([3., 2., 0., 0.])), q=2)
    >>> [round(s, 4) for s in S.tolist()], tuple(U.shape), tuple(V.shape)
    ([3.0, 2.0], (4, 2), (4, 2))
    """
    X = A if M is None else A - M.broadcast_to(A.shape)
    wide = X.shape[-2] < X.shape[-1]
    X = X.mH if wide else X
    Q = _basis(X, 6 if q is None else q, 2 if niter is None else niter)
    U, S, Vh = linalg.svd(Q.mH @ X, full_matrices=False)
    left, right = Q @ U, Vh.mH
    return (right, S, left) if wide else (left, S, right)


@overridable
def pca_lowrank(A: Tensor, q: int | None = None, center: bool = True, niter: int = 2) -> tuple[Tensor, Tensor, Tensor]:
    """Principal components: `svd_lowrank` of `A` (*, m, n), whose columns are first brought to a mean of 0 where `center`.

    Args:
        q: how many, by default 6, or all where `A` has fewer.

    Raises:
        ValueError: `q` is negative or larger than m or n, or `niter` is negative.

    >>> import torchcompat as torch
    >>> U, S, V = torch.pca_lowrank(torch.tensor([[1., 1.], [3., 3.], [5., 5.]]), q=1)
    >>> round(S.item(), 4), [round(abs(v), 4) for v in V.flatten().tolist()]
    (4.0, [0.7071, 0.7071])
    """
    m, n = A.shape[-2:]
    if q is None:
        q = min(6, m, n)
    elif not 0 <= q <= min(m, n):
        raise ValueError(f"q(={q}) must be non-negative integer and not greater than min(m, n)={min(m, n)}")
    if niter < 0:
        raise ValueError(f"niter(={niter}) must be non-negative integer")
    return svd_lowrank(A - A.mean(dim=-2, keepdim=True) if center else A, q, niter)
