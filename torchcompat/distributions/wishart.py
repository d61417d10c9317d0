"""Random covariances."""

from __future__ import annotations

import math
from typing import Self

import torchcompat as torch
from torchcompat import Size, Tensor
from torchcompat.types import Number, _Number, _size

from autograd_tape import warned
from .._calls.absent import absences as _absences
from . import constraints
from .chi2 import Chi2
from .exp_family import ExponentialFamily
from .multivariate_normal import _factor
from .utils import lazy_property

__all__ = ["Wishart"]

_absences(__name__)


_log_2 = math.log(2)


def _mvdigamma(x: Tensor, p: int) -> Tensor:
    """The derivative of mvlgamma(x, p)."""
    if not x.gt((p - 1) / 2).all():
        raise AssertionError("Wrong domain for multivariate digamma function.")
    return torch.digamma(x.unsqueeze(-1) - torch.arange(p, dtype=x.dtype, device=x.device).div(2).expand(x.shape + (-1,))).sum(-1)


def _clamp_above_eps(x: Tensor) -> Tensor:
    return x.clamp(min=torch.finfo(x.dtype).eps)


class Wishart(ExponentialFamily):
    """Sums of the outer products of `df` normal vectors with themselves, whose covariances are given as to MultivariateNormal.

    `df` need not be whole, and is above the size of the matrices less 1.

    Source: T. W. Anderson, An introduction to multivariate statistical analysis, 2003; drawn by Bartlett's decomposition.

    >>> from torchcompat.distributions import Wishart
    >>> Wishart(torch.tensor(3.), covariance_matrix=torch.eye(2)).mean
    tensor([[3., 0.],
            [0., 3.]])
    """

    support = constraints.positive_definite
    has_rsample = True
    _mean_carrier_measure = 0

    @property
    def arg_constraints(self) -> dict[str, constraints.Constraint]:
        """`df` is above the size less 1."""
        return {"covariance_matrix": constraints.positive_definite, "precision_matrix": constraints.positive_definite,
                "scale_tril": constraints.lower_cholesky, "df": constraints.greater_than(self.event_shape[-1] - 1)}

    def __init__(self, df: Tensor | Number, covariance_matrix: Tensor | None = None, precision_matrix: Tensor | None = None,
                 scale_tril: Tensor | None = None, validate_args: bool | None = None) -> None:
        given = {"scale_tril": scale_tril, "covariance_matrix": covariance_matrix, "precision_matrix": precision_matrix}
        matrices = {name: matrix for name, matrix in given.items() if matrix is not None}
        if len(matrices) != 1:
            raise AssertionError("Exactly one of covariance_matrix or precision_matrix or scale_tril may be specified.")
        (name, matrix), = matrices.items()
        if matrix.dim() < 2:
            raise ValueError("scale_tril must be at least two-dimensional, with optional leading batch dimensions")
        if isinstance(df, _Number):
            batch_shape = Size(matrix.shape[:-2])
            self.df = torch.tensor(df, dtype=matrix.dtype, device=matrix.device)
        else:
            batch_shape = torch.broadcast_shapes(matrix.shape[:-2], df.shape)
            self.df = df.expand(batch_shape)
        event_shape = matrix.shape[-2:]
        if self.df.le(event_shape[-1] - 1).any():
            raise ValueError(f"Value of df={df} expected to be greater than ndim - 1 = {event_shape[-1] - 1}.")
        setattr(self, name, matrix.expand(batch_shape + (-1, -1)))
        if self.df.lt(event_shape[-1]).any():
            warned.warn("Low df values detected. Singular samples are highly likely to occur for ndim - 1 < df < ndim.")
        super().__init__(batch_shape, event_shape, validate_args=validate_args)
        self._batch_dims = [-(x + 1) for x in range(len(self._batch_shape))]
        self._unbroadcasted_scale_tril = _factor(name, matrix)
        self._dist_chi2 = self._squares()

    def _squares(self) -> Chi2:
        """Those of the diagonal in Bartlett's decomposition."""
        factor = self._unbroadcasted_scale_tril
        place = torch.arange(self._event_shape[-1], dtype=factor.dtype, device=factor.device)
        return Chi2(df=self.df.unsqueeze(-1) - place.expand(self._batch_shape + (-1,)))

    def expand(self, batch_shape: _size, _instance: object = None) -> Self:
        factor = self._unbroadcasted_scale_tril.expand(Size(batch_shape) + self.event_shape)
        new = self._expanded(Wishart, batch_shape, _instance, "df", "covariance_matrix", "scale_tril", "precision_matrix")
        new._unbroadcasted_scale_tril = factor
        new._batch_dims = [-(x + 1) for x in range(len(new._batch_shape))]
        new._dist_chi2 = Wishart._squares(new)
        return new

    def _square(self, matrix: Tensor) -> Tensor:
        return matrix.expand(self._batch_shape + self._event_shape)

    @lazy_property
    def scale_tril(self) -> Tensor:
        """The lower triangular factor of the covariances."""
        return self._square(self._unbroadcasted_scale_tril)

    @lazy_property
    def covariance_matrix(self) -> Tensor:
        """The covariances of the vectors."""
        return self._square(self._unbroadcasted_scale_tril @ self._unbroadcasted_scale_tril.transpose(-2, -1))

    @lazy_property
    def precision_matrix(self) -> Tensor:
        """The inverse of the matrix of covariances."""
        factor = self._unbroadcasted_scale_tril
        one = torch.eye(self._event_shape[-1], device=factor.device, dtype=factor.dtype)
        return self._square(torch.cholesky_solve(one, factor))

    @property
    def mean(self) -> Tensor:
        return self.df.view(self._batch_shape + (1, 1)) * self.covariance_matrix

    @property
    def mode(self) -> Tensor:
        factor = self.df - self.covariance_matrix.shape[-1] - 1
        factor[factor <= 0] = math.nan
        return factor.view(self._batch_shape + (1, 1)) * self.covariance_matrix

    @property
    def variance(self) -> Tensor:
        covariances = self.covariance_matrix
        diagonal = covariances.diagonal(dim1=-2, dim2=-1)
        outer = torch.einsum("...i,...j->...ij", diagonal, diagonal)
        return self.df.view(self._batch_shape + (1, 1)) * (covariances.pow(2) + outer)

    def _bartlett_sampling(self, sample_shape: _size = Size()) -> Tensor:
        """A A^T of the scale's factor times a lower triangular matrix of chi numbers with normal ones below."""
        p = self._event_shape[-1]
        noise = _clamp_above_eps(self._dist_chi2.rsample(sample_shape).sqrt()).diag_embed(dim1=-2, dim2=-1)
        i, j = torch.tril_indices(p, p, offset=-1)
        below = Size(sample_shape) + self._batch_shape + (p * (p - 1) // 2,)
        noise[..., i, j] = torch.randn(below, dtype=noise.dtype, device=noise.device)
        factor = self._unbroadcasted_scale_tril @ noise
        return factor @ factor.transpose(-2, -1)

    def _over_batch(self, flags: Tensor) -> Tensor:
        return flags.amax(self._batch_dims) if self._batch_shape else flags

    def rsample(self, sample_shape: _size = Size(), max_try_correction: int | None = None) -> Tensor:
        """Matrices; those that rounding made singular are drawn anew, up to `max_try_correction` times, 10 where it is None.

        What torch takes for singular at first are those that are not, as its seeds then have it."""
        sample_shape = Size(sample_shape)
        sample = self._bartlett_sampling(sample_shape)
        singular = self._over_batch(self.support.check(sample))
        if singular.any():
            warned.warn("Singular sample detected.")
            for _ in range(10 if max_try_correction is None else max_try_correction):
                again = self._bartlett_sampling(singular[singular].shape)
                sample[singular] = again
                singular[singular.clone()] = self._over_batch(~self.support.check(again))
                if not singular.any():
                    break
        return sample

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        df, p = self.df, self._event_shape[-1]
        trace = torch.cholesky_solve(value, self._unbroadcasted_scale_tril).diagonal(dim1=-2, dim2=-1).sum(dim=-1)
        return (-df * self._log_scale() - torch.mvlgamma(df / 2, p=p) + (df - p - 1) / 2 * torch.linalg.slogdet(value).logabsdet
                - trace / 2)

    def _log_scale(self) -> Tensor:
        """Half of the logarithm of the determinant of twice the covariances."""
        return self._event_shape[-1] * _log_2 / 2 + self._unbroadcasted_scale_tril.diagonal(dim1=-2, dim2=-1).log().sum(-1)

    def entropy(self) -> Tensor:
        df, p = self.df, self._event_shape[-1]
        return ((p + 1) * self._log_scale() + torch.mvlgamma(df / 2, p=p) - (df - p - 1) / 2 * _mvdigamma(df / 2, p=p) + df * p / 2)

    @property
    def _natural_params(self) -> tuple[Tensor, Tensor]:
        return -self.precision_matrix / 2, (self.df - self._event_shape[-1] - 1) / 2

    def _log_normalizer(self, x: Tensor, y: Tensor) -> Tensor:  # type: ignore[override]
        p = self._event_shape[-1]
        half = y + (p + 1) / 2
        return half * (-torch.linalg.slogdet(-2 * x).logabsdet + _log_2 * p) + torch.mvlgamma(half, p=p)
