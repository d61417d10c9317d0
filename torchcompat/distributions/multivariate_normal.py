"""Normal vectors."""

from __future__ import annotations

import math
from typing import Self

import torchcompat as torch
from torchcompat import Size, Tensor
from torchcompat.types import _size

from .._calls.absent import absences as _absences
from . import constraints
from .distribution import Distribution
from .utils import _standard_normal, lazy_property

__all__ = ["MultivariateNormal"]

_absences(__name__)


def _batch_mv(bmat: Tensor, bvec: Tensor) -> Tensor:
    """Products of matrices and vectors, broadcast."""
    return torch.matmul(bmat, bvec.unsqueeze(-1)).squeeze(-1)


def _batch_mahalanobis(bL: Tensor, bx: Tensor) -> Tensor:
    """x^T (L L^T)^-1 x of factors `bL` of shape (*B, n, n) and vectors `bx` of shape (*S, *B', n), where each of B divides that of B'.

    The matrices stay as they are: the vectors that belong to one become columns of one equation.
    """
    n, dims = bx.size(-1), bL.dim() - 2
    outer = bx.dim() - 1 - dims
    shape = [*bx.shape[:outer]]
    for size, found in zip(bL.shape[:-2], bx.shape[outer:-1]):
        shape += [found // size, size]
    split = bx.reshape(shape + [n])
    last = outer + 2 * dims
    split = split.permute([*range(outer), *range(outer, last, 2), *range(outer + 1, last, 2), last])
    factors = bL.reshape(-1, n, n)
    columns = split.reshape(-1, factors.size(0), n).permute(1, 2, 0)
    squares = torch.linalg.solve_triangular(factors, columns, upper=False).pow(2).sum(-2)
    back = [*range(outer), *[place for i in range(dims) for place in (outer + i, outer + dims + i)]]
    return squares.t().reshape(split.shape[:-1]).permute(back).reshape(bx.shape[:-1])


def _precision_to_scale_tril(P: Tensor) -> Tensor:
    """The lower triangular L with L L^T = P^-1: of the Cholesky factor of P with rows and columns in the other order, in that order, the
    inverse of its transpose."""
    turned = torch.flip(torch.linalg.cholesky(torch.flip(P, (-2, -1))), (-2, -1))
    one = torch.eye(P.shape[-1], dtype=P.dtype, device=P.device)
    return torch.linalg.solve_triangular(torch.transpose(turned, -2, -1), one, upper=False)


class MultivariateNormal(Distribution):
    """Normal vectors of the mean `loc`, with one of: the covariances, the inverse of their matrix, its lower triangular factor.

    Raises:
        ValueError: none or several of them are given; or arguments with too few dimensions.

    >>> from torchcompat.distributions import MultivariateNormal
    >>> MultivariateNormal(torch.zeros(2), torch.eye(2)).log_prob(torch.zeros(2))
    tensor(-1.8379)
    """

    arg_constraints = {"loc": constraints.real_vector, "covariance_matrix": constraints.positive_definite,
                       "precision_matrix": constraints.positive_definite, "scale_tril": constraints.lower_cholesky}
    support = constraints.real_vector
    has_rsample = True

    def __init__(self, loc: Tensor, covariance_matrix: Tensor | None = None, precision_matrix: Tensor | None = None,
                 scale_tril: Tensor | None = None, validate_args: bool | None = None) -> None:
        if loc.dim() < 1:
            raise ValueError("loc must be at least one-dimensional.")
        given = {"scale_tril": scale_tril, "covariance_matrix": covariance_matrix, "precision_matrix": precision_matrix}
        matrices = {name: matrix for name, matrix in given.items() if matrix is not None}
        if len(matrices) != 1:
            raise ValueError("Exactly one of covariance_matrix or precision_matrix or scale_tril may be specified.")
        (name, matrix), = matrices.items()
        if matrix.dim() < 2:
            shown = name + " matrix" * (name == "scale_tril")
            raise ValueError(f"{shown} must be at least two-dimensional, with optional leading batch dimensions")
        batch_shape = torch.broadcast_shapes(matrix.shape[:-2], loc.shape[:-1])
        setattr(self, name, matrix.expand(batch_shape + (-1, -1)))
        self.loc = loc.expand(batch_shape + (-1,))
        super().__init__(batch_shape, self.loc.shape[-1:], validate_args=validate_args)
        self._unbroadcasted_scale_tril = _factor(name, matrix)

    def expand(self, batch_shape: _size, _instance: object = None) -> Self:
        new = self._expanded(MultivariateNormal, batch_shape, _instance, "loc", "covariance_matrix", "scale_tril", "precision_matrix")
        new._unbroadcasted_scale_tril = self._unbroadcasted_scale_tril
        return new

    def _square(self, matrix: Tensor) -> Tensor:
        return matrix.expand(self._batch_shape + self._event_shape + self._event_shape)

    @lazy_property
    def scale_tril(self) -> Tensor:
        """The lower triangular factor of the covariances."""
        return self._square(self._unbroadcasted_scale_tril)

    @lazy_property
    def covariance_matrix(self) -> Tensor:
        """The covariances."""
        return self._square(torch.matmul(self._unbroadcasted_scale_tril, self._unbroadcasted_scale_tril.mT))

    @lazy_property
    def precision_matrix(self) -> Tensor:
        """The inverse of the matrix of covariances."""
        return self._square(torch.cholesky_inverse(self._unbroadcasted_scale_tril))

    @property
    def mean(self) -> Tensor:
        return self.loc

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def variance(self) -> Tensor:
        return self._unbroadcasted_scale_tril.pow(2).sum(-1).expand(self._batch_shape + self._event_shape)

    def rsample(self, sample_shape: _size = Size()) -> Tensor:
        normals = _standard_normal(self._extended_shape(sample_shape), dtype=self.loc.dtype, device=self.loc.device)
        return self.loc + _batch_mv(self._unbroadcasted_scale_tril, normals)

    def _half_log_det(self) -> Tensor:
        return self._unbroadcasted_scale_tril.diagonal(dim1=-2, dim2=-1).log().sum(-1)

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        distance = _batch_mahalanobis(self._unbroadcasted_scale_tril, value - self.loc)
        return -0.5 * (self._event_shape[0] * math.log(2 * math.pi) + distance) - self._half_log_det()

    def entropy(self) -> Tensor:
        entropy = 0.5 * self._event_shape[0] * (1.0 + math.log(2 * math.pi)) + self._half_log_det()
        return entropy.expand(self._batch_shape) if len(self._batch_shape) else entropy


def _factor(name: str, matrix: Tensor) -> Tensor:
    """The lower triangular factor of the covariances, by a parameter."""
    if name == "scale_tril":
        return matrix
    return torch.linalg.cholesky(matrix) if name == "covariance_matrix" else _precision_to_scale_tril(matrix)
