"""Numbers between 0 and 1 whose distribution function is a formula."""

from __future__ import annotations

import math
from typing import Self

import torchcompat as torch
from torchcompat import Tensor
from torchcompat.types import _size

from .._calls.absent import absences as _absences
from . import constraints
from .transformed_distribution import TransformedDistribution
from .transforms import AffineTransform, PowerTransform
from .uniform import Uniform
from .utils import broadcast_all, euler_constant

__all__ = ["Kumaraswamy"]

_absences(__name__)


def _moments(a: Tensor, b: Tensor, n: int) -> Tensor:
    """The mean of x ** n: b * B(1 + n / a, b)."""
    first = 1 + n / a
    return b * torch.exp(torch.lgamma(first) + torch.lgamma(b) - torch.lgamma(first + b))


class Kumaraswamy(TransformedDistribution):
    """Numbers in (0, 1) of the distribution function 1 - (1 - x**concentration1)**concentration0.

    >>> from torchcompat.distributions import Kumaraswamy
    >>> Kumaraswamy(torch.tensor([1.]), torch.tensor([3.])).mean
    tensor([0.2500])
    """

    arg_constraints = {"concentration1": constraints.positive, "concentration0": constraints.positive}
    support = constraints.unit_interval
    has_rsample = True

    def __init__(self, concentration1: Tensor | float, concentration0: Tensor | float, validate_args: bool | None = None) -> None:
        self.concentration1, self.concentration0 = broadcast_all(concentration1, concentration0)
        base = Uniform(torch.full_like(self.concentration0, 0), torch.full_like(self.concentration0, 1), validate_args=validate_args)
        super().__init__(base, [PowerTransform(exponent=self.concentration0.reciprocal()), AffineTransform(loc=1.0, scale=-1.0),
                                PowerTransform(exponent=self.concentration1.reciprocal())], validate_args=validate_args)

    def expand(self, batch_shape: _size, _instance: object = None) -> Self:
        new = self._get_checked_instance(Kumaraswamy, _instance)
        new.concentration1, new.concentration0 = self.concentration1.expand(batch_shape), self.concentration0.expand(batch_shape)
        return super().expand(batch_shape, _instance=new)

    @property
    def mean(self) -> Tensor:
        return _moments(self.concentration1, self.concentration0, 1)

    @property
    def mode(self) -> Tensor:
        a, b = self.concentration1, self.concentration0
        log = b.reciprocal() * (-b).log1p() - (-b * a).log1p()
        log[(b < 1) | (a < 1)] = math.nan
        return log.exp()

    @property
    def variance(self) -> Tensor:
        return _moments(self.concentration1, self.concentration0, 2) - torch.pow(self.mean, 2)

    def entropy(self) -> Tensor:
        a, b = self.concentration1, self.concentration0
        harmonic = torch.digamma(b + 1) + euler_constant
        return (1 - b.reciprocal()) + (1 - a.reciprocal()) * harmonic - torch.log(a) - torch.log(b)
