"""Largest of many numbers."""

from __future__ import annotations

import math
from typing import Self

import torchcompat as torch
from torchcompat import Tensor
from torchcompat.types import _Number, _size

from .._calls.absent import absences as _absences
from . import constraints
from .transformed_distribution import TransformedDistribution
from .transforms import AffineTransform, ExpTransform
from .uniform import Uniform
from .utils import broadcast_all, euler_constant

__all__ = ["Gumbel"]

_absences(__name__)


class Gumbel(TransformedDistribution):
    """`loc` - `scale` * log(-log(u)) of uniform numbers u.

    >>> from torchcompat.distributions import Gumbel
    >>> Gumbel(torch.tensor([0.]), torch.tensor([1.])).mean
    tensor([0.5772])
    """

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real

    def __init__(self, loc: Tensor | float, scale: Tensor | float, validate_args: bool | None = None) -> None:
        self.loc, self.scale = broadcast_all(loc, scale)
        limits = torch.finfo(self.loc.dtype)
        low, high = limits.tiny, 1 - limits.eps
        if isinstance(loc, _Number) and isinstance(scale, _Number):
            base = Uniform(low, high, validate_args=validate_args)
        else:
            base = Uniform(torch.full_like(self.loc, low), torch.full_like(self.loc, high), validate_args=validate_args)
        super().__init__(base, [ExpTransform().inv, AffineTransform(loc=0, scale=-torch.ones_like(self.scale)), ExpTransform().inv,
                                AffineTransform(loc=loc, scale=-self.scale)], validate_args=validate_args)

    def expand(self, batch_shape: _size, _instance: object = None) -> Self:
        new = self._get_checked_instance(Gumbel, _instance)
        new.loc, new.scale = self.loc.expand(batch_shape), self.scale.expand(batch_shape)
        return super().expand(batch_shape, _instance=new)

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        y = (self.loc - value) / self.scale
        return (y - y.exp()) - self.scale.log()

    @property
    def mean(self) -> Tensor:
        return self.loc + self.scale * euler_constant

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def stddev(self) -> Tensor:
        return (math.pi / math.sqrt(6)) * self.scale

    @property
    def variance(self) -> Tensor:
        return self.stddev.pow(2)

    def entropy(self) -> Tensor:
        return self.scale.log() + (1 + euler_constant)
