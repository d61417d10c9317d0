"""Shares of 1 by normal numbers."""

from __future__ import annotations

from typing import Self

from torchcompat import Tensor
from torchcompat.types import _size

from .._calls.absent import absences as _absences
from . import constraints
from .independent import Independent
from .normal import Normal
from .transformed_distribution import TransformedDistribution
from .transforms import StickBreakingTransform

__all__ = ["LogisticNormal"]

_absences(__name__)


class LogisticNormal(TransformedDistribution):
    """Vectors of n + 1 shares of 1, made of n normal numbers by StickBreakingTransform.

    >>> import torchcompat as torch
    >>> from torchcompat.distributions import LogisticNormal
    >>> LogisticNormal(torch.zeros(3), torch.ones(3)).event_shape
    torch.Size([4])
    """

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.simplex
    has_rsample = True
    base_dist: Independent[Normal]

    def __init__(self, loc: Tensor | float, scale: Tensor | float, validate_args: bool | None = None) -> None:
        base = Normal(loc, scale, validate_args=validate_args)
        super().__init__(base if base.batch_shape else base.expand([1]), StickBreakingTransform(), validate_args=validate_args)

    def expand(self, batch_shape: _size, _instance: object = None) -> Self:
        return super().expand(batch_shape, _instance=self._get_checked_instance(LogisticNormal, _instance))

    @property
    def loc(self) -> Tensor:
        """The means of the normal numbers."""
        return self.base_dist.base_dist.loc

    @property
    def scale(self) -> Tensor:
        """Their standard deviations."""
        return self.base_dist.base_dist.scale
