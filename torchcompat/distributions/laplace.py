"""The Laplace distribution."""

from __future__ import annotations

from typing import Self

import torchcompat as torch
from torchcompat import Size, Tensor
from torchcompat.types import _size

from .._calls.absent import absences as _absences
from . import constraints
from .distribution import Distribution
from .utils import broadcast_all

__all__ = ["Laplace"]

_absences(__name__)


class Laplace(Distribution):
    """Numbers of the density exp(-abs(x - loc) / scale) / (2 * scale).

    >>> from torchcompat.distributions import Laplace
    >>> Laplace(torch.tensor([0.]), torch.tensor([1.])).variance
    tensor([2.])
    """

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    has_rsample = True

    def __init__(self, loc: Tensor | float, scale: Tensor | float, validate_args: bool | None = None) -> None:
        self.loc, self.scale = broadcast_all(loc, scale)
        super().__init__(self.loc.size(), validate_args=validate_args)

    def expand(self, batch_shape: _size, _instance: object = None) -> Self:
        return self._expanded(Laplace, batch_shape, _instance, "loc", "scale")

    @property
    def mean(self) -> Tensor:
        return self.loc

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def variance(self) -> Tensor:
        return 2 * self.scale.pow(2)

    @property
    def stddev(self) -> Tensor:
        return (2 ** 0.5) * self.scale

    def rsample(self, sample_shape: _size = Size()) -> Tensor:
        u = self.loc.new_empty(self._extended_shape(sample_shape)).uniform_(torch.finfo(self.loc.dtype).eps - 1, 1)
        return self.loc - self.scale * u.sign() * torch.log1p(-u.abs())

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return -torch.log(2 * self.scale) - torch.abs(value - self.loc) / self.scale

    def cdf(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        x = value - self.loc
        return 0.5 - 0.5 * x.sign() * torch.expm1(-x.abs() / self.scale)

    def icdf(self, value: Tensor) -> Tensor:
        x = value - 0.5
        return self.loc - self.scale * x.sign() * torch.log1p(-2 * x.abs())

    def entropy(self) -> Tensor:
        return 1 + torch.log(2 * self.scale)
