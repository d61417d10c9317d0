"""Normal numbers over their estimated deviation."""

from __future__ import annotations

import math
from typing import Self

import torchcompat as torch
from torchcompat import Size, Tensor
from torchcompat.types import _size

from .._calls.absent import absences as _absences
from . import constraints
from .chi2 import Chi2
from .distribution import Distribution
from .utils import _standard_normal, broadcast_all

__all__ = ["StudentT"]

_absences(__name__)


class StudentT(Distribution):
    """`loc` plus `scale` times a standard normal number over the root of a chi-square one over its degrees of freedom `df`.

    >>> from torchcompat.distributions import StudentT
    >>> StudentT(torch.tensor([3.])).variance
    tensor([3.])
    """

    arg_constraints = {"df": constraints.positive, "loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    has_rsample = True

    def __init__(self, df: Tensor | float, loc: Tensor | float = 0.0, scale: Tensor | float = 1.0,
                 validate_args: bool | None = None) -> None:
        self.df, self.loc, self.scale = broadcast_all(df, loc, scale)
        self._chi2 = Chi2(self.df)
        super().__init__(self.df.size(), validate_args=validate_args)

    def expand(self, batch_shape: _size, _instance: object = None) -> Self:
        return self._expanded(StudentT, batch_shape, _instance, "df", "loc", "scale", "_chi2")

    @property
    def mean(self) -> Tensor:
        mean = self.loc.clone(memory_format=torch.contiguous_format)
        mean[self.df <= 1] = math.nan
        return mean

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def variance(self) -> Tensor:
        variance, finite = self.df.clone(memory_format=torch.contiguous_format), self.df > 2
        df = self.df[finite]
        variance[finite] = self.scale[finite].pow(2) * df / (df - 2)
        variance[(self.df <= 2) & (self.df > 1)] = math.inf
        variance[self.df <= 1] = math.nan
        return variance

    def rsample(self, sample_shape: _size = Size()) -> Tensor:
        normals = _standard_normal(self._extended_shape(sample_shape), dtype=self.df.dtype, device=self.df.device)
        return self.loc + self.scale * (normals * torch.rsqrt(self._chi2.rsample(sample_shape) / self.df))

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        y = (value - self.loc) / self.scale
        constant = (self.scale.log() + 0.5 * self.df.log() + 0.5 * math.log(math.pi) + torch.lgamma(0.5 * self.df)
                    - torch.lgamma(0.5 * (self.df + 1.0)))
        return -0.5 * (self.df + 1.0) * torch.log1p(y ** 2.0 / self.df) - constant

    def entropy(self) -> Tensor:
        half, more = 0.5 * self.df, 0.5 * (self.df + 1)
        log_beta = torch.lgamma(half) + math.lgamma(0.5) - torch.lgamma(more)
        return self.scale.log() + more * (torch.digamma(more) - torch.digamma(half)) + 0.5 * self.df.log() + log_beta
