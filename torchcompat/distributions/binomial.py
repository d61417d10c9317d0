"""How often yes among independent trials."""

from __future__ import annotations

from typing import Self

import torchcompat as torch
from torchcompat import Size, Tensor
from torchcompat.types import _size

from .._calls.absent import absences as _absences
from . import constraints
from ._odds import ByOdds

__all__ = ["Binomial"]

_absences(__name__)


def _above_zero(x: Tensor) -> Tensor:
    """max(x, 0), with a gradient of one half at 0."""
    return (x.clamp(min=0) + x - x.clamp(max=0)) / 2


class Binomial(ByOdds):
    """How many of `total_count` trials succeed, each with the chance `probs`, or with odds whose logarithm is `logits`.

    >>> from torchcompat.distributions import Binomial
    >>> Binomial(4, torch.tensor([0.25])).log_prob(torch.tensor([1.])).exp()
    tensor([0.4219])
    """

    arg_constraints = {"total_count": constraints.nonnegative_integer, "probs": constraints.unit_interval, "logits": constraints.real}
    has_enumerate_support = True

    def __init__(self, total_count: Tensor | int = 1, probs: Tensor | None = None, logits: Tensor | None = None,
                 validate_args: bool | None = None) -> None:
        self.total_count, = self._take(probs, logits, total_count)
        super().__init__(self._param.size(), validate_args=validate_args)

    def expand(self, batch_shape: _size, _instance: object = None) -> Self:
        return self._expanded(Binomial, batch_shape, _instance, "total_count")

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self) -> constraints.Constraint:
        """0 to total_count."""
        return constraints.integer_interval(0, self.total_count)

    @property
    def mean(self) -> Tensor:
        return self.total_count * self.probs

    @property
    def mode(self) -> Tensor:
        return ((self.total_count + 1) * self.probs).floor().clamp(max=self.total_count)

    @property
    def variance(self) -> Tensor:
        return self.total_count * self.probs * (1 - self.probs)

    def sample(self, sample_shape: _size = Size()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        with torch.no_grad():
            return torch.binomial(self.total_count.expand(shape), self.probs.expand(shape))

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        # k log(p) + (n - k) log(1 - p) = k logit + n log(1 - p), the last one without overflow
        miss = (self.total_count * _above_zero(self.logits)
                + self.total_count * torch.log1p(torch.exp(-torch.abs(self.logits))) - torch.lgamma(self.total_count + 1))
        return value * self.logits - torch.lgamma(value + 1) - torch.lgamma(self.total_count - value + 1) - miss

    def entropy(self) -> Tensor:
        self._common_count("entropy")
        logs = self.log_prob(self.enumerate_support(False))
        return -(torch.exp(logs) * logs).sum(0)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        count = self._common_count("enumerate_support")
        return self._counted(torch.arange(1 + count, dtype=self._param.dtype, device=self._param.device), expand)

    def _common_count(self, name: str) -> int:
        """The number of trials, which must be the same in all of the batch."""
        count = int(self.total_count.max())
        if self.total_count.min() != count:
            raise NotImplementedError(f"Inhomogeneous total count not supported by `{name}`.")
        return count
