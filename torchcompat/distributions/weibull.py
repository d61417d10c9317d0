"""Times to failure."""

from __future__ import annotations

from typing import Self

import torchcompat as torch
from torchcompat import Tensor
from torchcompat.types import _size

from .._calls.absent import absences as _absences
from . import constraints
from .exponential import Exponential
from .transformed_distribution import TransformedDistribution
from .transforms import AffineTransform, PowerTransform, Transform
from .utils import broadcast_all, euler_constant

__all__ = ["Weibull"]

_absences(__name__)


class Weibull(TransformedDistribution):
    """`scale` * x ** (1 / concentration) of exponential numbers x.

    >>> from torchcompat.distributions import Weibull
    >>> Weibull(torch.tensor([2.]), torch.tensor([1.])).mean
    tensor([2.])
    """

    arg_constraints = {"scale": constraints.positive, "concentration": constraints.positive}
    support = constraints.positive

    def __init__(self, scale: Tensor | float, concentration: Tensor | float, validate_args: bool | None = None) -> None:
        self.scale, self.concentration = broadcast_all(scale, concentration)
        self.concentration_reciprocal = self.concentration.reciprocal()
        super().__init__(Exponential(torch.ones_like(self.scale), validate_args=validate_args), self._steps(), validate_args=validate_args)

    def _steps(self) -> list[Transform]:
        return [PowerTransform(exponent=self.concentration_reciprocal), AffineTransform(loc=0, scale=self.scale)]

    def expand(self, batch_shape: _size, _instance: object = None) -> Self:
        new = self._get_checked_instance(Weibull, _instance)
        new.scale, new.concentration = self.scale.expand(batch_shape), self.concentration.expand(batch_shape)
        new.concentration_reciprocal = new.concentration.reciprocal()
        TransformedDistribution.__init__(new, self.base_dist.expand(batch_shape), Weibull._steps(new), validate_args=False)
        new._validate_args = self._validate_args
        return new

    @property
    def mean(self) -> Tensor:
        return self.scale * torch.exp(torch.lgamma(1 + self.concentration_reciprocal))

    @property
    def mode(self) -> Tensor:
        return self.scale * ((self.concentration - 1) / self.concentration) ** self.concentration.reciprocal()

    @property
    def variance(self) -> Tensor:
        power = self.concentration_reciprocal
        return self.scale.pow(2) * (torch.exp(torch.lgamma(1 + 2 * power)) - torch.exp(2 * torch.lgamma(1 + power)))

    def entropy(self) -> Tensor:
        power = self.concentration_reciprocal
        return euler_constant * (1 - power) + torch.log(self.scale * power) + 1
