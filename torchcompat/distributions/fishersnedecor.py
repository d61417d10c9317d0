"""Ratios of variances."""

from __future__ import annotations

import math
from typing import Self

import torchcompat as torch
from torchcompat import Size, Tensor
from torchcompat.types import _size

from .._calls.absent import absences as _absences
from . import constraints
from .distribution import Distribution
from .gamma import Gamma
from .utils import broadcast_all

__all__ = ["FisherSnedecor"]

_absences(__name__)


class FisherSnedecor(Distribution):
    """The ratio of two chi-square numbers, each over its degrees of freedom, `df1` and `df2`.

    >>> from torchcompat.distributions import FisherSnedecor
    >>> FisherSnedecor(torch.tensor([1.]), torch.tensor([4.])).mean
    tensor([2.])
    """

    arg_constraints = {"df1": constraints.positive, "df2": constraints.positive}
    support = constraints.positive
    has_rsample = True

    def __init__(self, df1: Tensor | float, df2: Tensor | float, validate_args: bool | None = None) -> None:
        self.df1, self.df2 = broadcast_all(df1, df2)
        self._gamma1 = Gamma(self.df1 * 0.5, self.df1)
        self._gamma2 = Gamma(self.df2 * 0.5, self.df2)
        super().__init__(self.df1.size(), validate_args=validate_args)

    def expand(self, batch_shape: _size, _instance: object = None) -> Self:
        return self._expanded(FisherSnedecor, batch_shape, _instance, "df1", "df2", "_gamma1", "_gamma2")

    def _df2_above(self, bound: int) -> Tensor:
        """df2, NaN where it is not above a bound."""
        df2 = self.df2.clone(memory_format=torch.contiguous_format)
        df2[df2 <= bound] = math.nan
        return df2

    @property
    def mean(self) -> Tensor:
        df2 = self._df2_above(2)
        return df2 / (df2 - 2)

    @property
    def mode(self) -> Tensor:
        mode = (self.df1 - 2) / self.df1 * self.df2 / (self.df2 + 2)
        mode[self.df1 <= 2] = math.nan
        return mode

    @property
    def variance(self) -> Tensor:
        df2 = self._df2_above(4)
        return 2 * df2.pow(2) * (self.df1 + df2 - 2) / (self.df1 * (df2 - 2).pow(2) * (df2 - 4))

    def rsample(self, sample_shape: _size = Size()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        x1, x2 = [gamma.rsample(sample_shape).view(shape) for gamma in (self._gamma1, self._gamma2)]
        tiny = torch.finfo(x2.dtype).tiny
        x2.clamp_(min=tiny)
        ratio = x1 / x2
        ratio.clamp_(min=tiny)
        return ratio

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        half1, half2, ratio = self.df1 * 0.5, self.df2 * 0.5, self.df1 / self.df2
        beta = (half1 + half2).lgamma() - half1.lgamma() - half2.lgamma()
        power = half1 * ratio.log() + (half1 - 1) * torch.log(value)
        return beta + power - (half1 + half2) * torch.log1p(ratio * value)
