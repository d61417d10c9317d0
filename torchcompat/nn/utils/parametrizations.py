"""Ready parametrizations: orthogonal matrices, spectral norm, weight norm."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Any

from autograd_tape.annotations import Keywords
import torchcompat as torch

from ..._calls.absent import absences as _absences
from .. import functional as F
from ..modules.conv import _ConvTransposeNd
from ..modules.module import Module
from .parametrize import register_parametrization
from .weight_norm import norm_except_dim, weight_of

if TYPE_CHECKING:
    from torchcompat._tensor import Tensor

__all__ = ["orthogonal", "spectral_norm", "weight_norm"]


def _is_orthogonal(Q: Tensor) -> bool:
    """Whether the columns of a tall matrix are orthonormal, up to rounding."""
    eps = 10.0 * Q.size(-2) * torch.finfo(Q.dtype).eps
    return torch.allclose(Q.mH @ Q, torch.eye(Q.size(-1), dtype=Q.dtype, device=Q.device), atol=eps)


def _make_orthogonal(A: Tensor) -> Tensor:
    """The Q of a tall matrix A = QR, where the diagonal of R is not negative."""
    X, tau = torch.geqrf(A)
    Q = torch.linalg.householder_product(X, tau)
    Q *= X.diagonal(dim1=-2, dim2=-1).sgn().unsqueeze(-2)
    return Q


class _OrthMaps(Enum):
    """Maps from matrices to orthogonal ones."""

    matrix_exp, cayley, householder = 1, 2, 3


class _Orthogonal(Module):
    """A matrix with orthonormal columns, or rows where it is wide, from one without constraints.

    With `use_trivialization` the map is taken around a matrix `base`, the orthogonal matrix that was assigned last.
    """

    base: Any

    def __init__(self, weight: Tensor, orthogonal_map: _OrthMaps, *, use_trivialization: bool = True) -> None:
        super().__init__()
        if weight.is_complex() and orthogonal_map is _OrthMaps.householder:
            raise ValueError("The householder parametrization does not support complex tensors.")
        self.shape, self.orthogonal_map = weight.shape, orthogonal_map
        if use_trivialization:
            self.register_buffer("base", None)

    def forward(self, X: Tensor) -> Tensor:
        wide = X.size(-2) < X.size(-1)
        X = X.mT if wide else X
        Q = self._reflections(X) if self.orthogonal_map is _OrthMaps.householder else self._rotation(X)
        if hasattr(self, "base"):
            Q = self.base @ Q
        return Q.mT if wide else Q

    @staticmethod
    def _reflections(X: Tensor) -> Tensor:
        """Of the columns below the diagonal; the diagonal has signs, through which nothing is differentiated."""
        A = X.tril(diagonal=-1)
        tau = 2.0 / (1.0 + (A * A).sum(dim=-2))
        product: Tensor = torch.linalg.householder_product(A, tau) * X.diagonal(dim1=-2, dim2=-1).to(torch.int32).unsqueeze(-2)
        return product

    def _rotation(self, X: Tensor) -> Tensor:
        """The first columns of the exponential, or Cayley's map, of the skew matrix with the lower triangle of X."""
        n, k = X.size(-2), X.size(-1)
        X = X.tril()
        if n != k:
            X = torch.cat([X, X.new_zeros(n, n - k).expand(*X.shape[:-2], -1, -1)], dim=-1)
        A = X - X.mH
        if self.orthogonal_map is _OrthMaps.matrix_exp:
            Q = torch.matrix_exp(A)
        else:
            one = torch.eye(n, dtype=A.dtype, device=A.device)
            Q = torch.linalg.solve(torch.add(one, A, alpha=-0.5), torch.add(one, A, alpha=0.5))
        return Q if n == k else Q[..., :k]

    @torch.no_grad()
    def right_inverse(self, Q: Tensor) -> Tensor:
        """What gives a matrix, after it is made orthogonal: with `base`, minus the identity, since the base becomes the matrix."""
        if Q.shape != self.shape:
            raise ValueError(f"Expected a matrix or batch of matrices of shape {self.shape}. Got a tensor of shape {Q.shape}.")
        wide = Q.size(-2) < Q.size(-1)
        tall = Q.mT if wide else Q
        n, k = tall.size(-2), tall.size(-1)
        if hasattr(self, "base"):
            if n != k:
                more = torch.randn(*tall.shape[:-2], n, n - k, dtype=Q.dtype, device=Q.device)
                tall = _make_orthogonal(torch.cat([tall, more], dim=-1))
            else:
                tall = tall.clone() if _is_orthogonal(tall) else _make_orthogonal(tall)
            self.base = tall
            start = torch.zeros_like(Q)
            start.diagonal(dim1=-2, dim2=-1).fill_(-1.0)
            return start
        if self.orthogonal_map is not _OrthMaps.householder:
            raise NotImplementedError("It is not possible to assign to the matrix exponential or the Cayley parametrizations when "
                                      "use_trivialization=False.")
        A, tau = torch.geqrf(tall)
        signs = A.diagonal(dim1=-2, dim2=-1)
        signs.sign_()
        signs[tau == 0.0] *= -1  # columns without a reflection
        return A.mT if wide else A


def orthogonal(module: Module, name: str = "weight", orthogonal_map: str | None = None, *, use_trivialization: bool = True) -> Module:
    """Makes a weight, or each matrix of a batch, orthogonal (unitary where complex): its columns, or its rows where it is wide.

    Args:
        module: the module.
        name: its weight, (..., m, n).
        orthogonal_map: "matrix_exp", "cayley" or "householder"; the first for square and complex matrices, else the last, where None.
        use_trivialization: whether the map is taken around the matrix assigned last, which trains better and needs memory for it.

    Raises:
        ValueError: there is no such weight, it is no matrix, or there is no such map.
    """
    weight = getattr(module, name, None)
    if not isinstance(weight, torch.Tensor):
        raise ValueError(f"Module '{module}' has no parameter or buffer with name '{name}'")
    if weight.ndim < 2:
        raise ValueError(f"Expected a matrix or batch of matrices. Got a tensor of {weight.ndim} dimensions.")
    if orthogonal_map is None:
        orthogonal_map = "matrix_exp" if weight.size(-2) == weight.size(-1) or weight.is_complex() else "householder"
    kind = getattr(_OrthMaps, orthogonal_map, None)
    if kind is None:
        raise ValueError(f'orthogonal_map has to be one of "matrix_exp", "cayley", "householder". Got: {orthogonal_map}')
    return register_parametrization(module, name, _Orthogonal(weight, kind, use_trivialization=use_trivialization), unsafe=True)


class _WeightNorm(Module):
    """A weight from its length and direction."""

    def __init__(self, dim: int | None = 0) -> None:
        super().__init__()
        self.dim = -1 if dim is None else dim

    def forward(self, weight_g: Tensor, weight_v: Tensor) -> Tensor:
        return weight_of(weight_v, weight_g, self.dim)

    def right_inverse(self, weight: Tensor) -> tuple[Tensor, Tensor]:
        """(length, the weight as direction)."""
        return norm_except_dim(weight, self.dim), weight


def weight_norm(module: Module, name: str = "weight", dim: int | None = 0) -> Module:
    """Splits a weight into length (original0) and direction (original1) (Salimans and Kingma, 2016).

    Args:
        module: the module.
        name: its weight.
        dim: one length for each index of this dimension; one in all where None.
    """
    register_parametrization(module, name, _WeightNorm(dim), unsafe=True)

    def load_old_names(state_dict: Keywords, prefix: str, *_: object) -> None:
        if f"{prefix}{name}_g" in state_dict and f"{prefix}{name}_v" in state_dict:
            for suffix, i in (("_g", 0), ("_v", 1)):
                state_dict[f"{prefix}parametrizations.{name}.original{i}"] = state_dict.pop(f"{prefix}{name}{suffix}")

    module._register_load_state_dict_pre_hook(load_old_names)
    return module


class _SpectralNorm(Module):
    """A weight divided by its largest singular value, which power iteration follows during training."""

    _u: Any
    _v: Any

    def __init__(self, weight: Tensor, n_power_iterations: int = 1, dim: int = 0, eps: float = 1e-12) -> None:
        super().__init__()
        ndim = weight.ndim
        if not -ndim <= dim < ndim:
            raise IndexError(f"Dimension out of range (expected to be in range of [-{ndim}, {ndim - 1}] but got {dim})")
        if n_power_iterations <= 0:
            raise ValueError(f"Expected n_power_iterations to be positive, but got n_power_iterations={n_power_iterations}")
        self.dim, self.eps = dim % ndim, eps
        if ndim > 1:
            self.n_power_iterations = n_power_iterations
            matrix = self._matrix(weight).detach()
            for name, n in (("_u", matrix.size(0)), ("_v", matrix.size(1))):
                start = torch.empty(n, dtype=matrix.dtype, device=matrix.device).normal_(0, 1)
                self.register_buffer(name, F.normalize(start, dim=0, eps=eps))
            self._iterate(matrix, 15)

    def _matrix(self, weight: Tensor) -> Tensor:
        if self.dim != 0:
            weight = weight.permute(self.dim, *[d for d in range(weight.ndim) if d != self.dim])
        return weight.flatten(1)

    def _iterate(self, matrix: Tensor, times: int) -> None:
        with torch.no_grad():
            for _ in range(times):
                self._u.copy_(F.normalize(torch.mv(matrix, self._v), dim=0, eps=self.eps))
                self._v.copy_(F.normalize(torch.mv(matrix.mH, self._u), dim=0, eps=self.eps))

    def forward(self, weight: Tensor) -> Tensor:
        if weight.ndim == 1:
            return F.normalize(weight, dim=0, eps=self.eps)
        matrix = self._matrix(weight)
        if self.training:
            self._iterate(matrix, self.n_power_iterations)
        # Copies: the next iteration writes to the buffers, while this graph still needs them.
        u, v = self._u.clone(), self._v.clone()
        return weight / torch.dot(u, torch.mv(matrix, v))

    def right_inverse(self, value: Tensor) -> Tensor:
        """The weight itself."""
        return value


def spectral_norm(module: Module, name: str = "weight", n_power_iterations: int = 1, eps: float = 1e-12, dim: int | None = None) -> Module:
    """Divides a weight by its largest singular value (Miyato et al., 2018).

    Args:
        module: the module.
        name: its weight.
        n_power_iterations: steps of power iteration at each use in training.
        eps: lower bound of norms.
        dim: the dimension of outputs; 0, or 1 for transposed convolutions, where None.
    """
    weight = getattr(module, name, None)
    if not isinstance(weight, torch.Tensor):
        raise ValueError(f"Module '{module}' has no parameter or buffer with name '{name}'")
    if dim is None:
        dim = 1 if isinstance(module, _ConvTransposeNd) else 0
    return register_parametrization(module, name, _SpectralNorm(weight, n_power_iterations, dim, eps))


_absences(__name__)
