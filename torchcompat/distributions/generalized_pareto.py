"""What exceeds a threshold."""

from __future__ import annotations

import math
from typing import Self

import torchcompat as torch
from torchcompat import Size, Tensor
from torchcompat.types import _size

from .._calls.absent import absences as _absences
from . import constraints
from .distribution import Distribution
from .utils import broadcast_all

__all__ = ["GeneralizedPareto"]

_absences(__name__)


class GeneralizedPareto(Distribution):
    """Numbers from `loc` on, of the scale `scale`, whose tail is the heavier the larger `concentration` is: exponential at 0, and bounded
    below.

    >>> from torchcompat.distributions import GeneralizedPareto
    >>> GeneralizedPareto(0., 1., torch.tensor([0., 0.5])).mean
    tensor([1., 2.])
    """

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive, "concentration": constraints.real}
    has_rsample = True

    def __init__(self, loc: Tensor | float, scale: Tensor | float, concentration: Tensor | float,
                 validate_args: bool | None = None) -> None:
        self.loc, self.scale, self.concentration = broadcast_all(loc, scale, concentration)
        super().__init__(self.loc.size(), validate_args=validate_args)

    def expand(self, batch_shape: _size, _instance: object = None) -> Self:
        return self._expanded(GeneralizedPareto, batch_shape, _instance, "loc", "scale", "concentration")

    def rsample(self, sample_shape: _size = Size()) -> Tensor:
        return self.icdf(torch.rand(self._extended_shape(sample_shape), dtype=self.loc.dtype, device=self.loc.device))

    def _shape_parameter(self, origin: Tensor) -> tuple[Tensor, Tensor]:
        """Where `concentration` is 0, and 1 in these places, itself elsewhere.

        It is compared with `origin`, a 0 of torch's choice: densities of another dtype than the default one are refused for it.
        """
        zero = torch.isclose(self.concentration, origin)
        return zero, torch.where(zero, torch.ones_like(self.concentration), self.concentration)

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        z = self._z(value)
        zero, c = self._shape_parameter(torch.tensor(0.0))
        y = 1 / c + torch.ones_like(z)
        return -self.scale.log() - torch.where(zero, z, torch.where(y == 0, y, y * torch.log1p(c * z)))

    def log_survival_function(self, value: Tensor) -> Tensor:
        """The logarithm of the probability of what is above `value`."""
        if self._validate_args:
            self._validate_sample(value)
        z = self._z(value)
        zero, c = self._shape_parameter(torch.tensor(0.0))
        return torch.where(zero, -z, -torch.log1p(c * z) / c)

    def log_cdf(self, value: Tensor) -> Tensor:
        """The logarithm of `cdf`."""
        return torch.log1p(-torch.exp(self.log_survival_function(value)))

    def cdf(self, value: Tensor) -> Tensor:
        return torch.exp(self.log_cdf(value))

    def icdf(self, value: Tensor) -> Tensor:
        zero, c = self._shape_parameter(torch.zeros_like(self.concentration))
        log = torch.log1p(-value)
        return torch.where(zero, self.loc - self.scale * log, self.loc + self.scale / c * torch.expm1(-c * log))

    def _z(self, x: Tensor) -> Tensor:
        return (x - self.loc) / self.scale

    @property
    def mean(self) -> Tensor:
        finite = self.concentration < 1
        return torch.where(finite, self.loc + self.scale / (1 - torch.where(finite, self.concentration, 0.5)), math.nan)

    @property
    def variance(self) -> Tensor:
        finite = self.concentration < 0.5
        c = torch.where(finite, self.concentration, 0.25)
        return torch.where(finite, self.scale ** 2 / ((1 - c) ** 2 * (1 - 2 * c)), math.nan)

    def entropy(self) -> Tensor:
        return torch.broadcast_to(torch.log(self.scale) + self.concentration + 1, self._batch_shape)

    @property
    def mode(self) -> Tensor:
        return self.loc

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self) -> constraints.Constraint:
        """From loc on; up to a bound where concentration is below 0."""
        upper = torch.where(self.concentration < 0, self.loc - self.scale / self.concentration, math.inf)
        return constraints.interval(self.loc, upper)
