"""How often yes before several times no."""

from __future__ import annotations

from typing import Self

import torchcompat as torch
from torchcompat import Size, Tensor
from torchcompat.nn.functional import logsigmoid
from torchcompat.types import _size

from .._calls.absent import absences as _absences
from . import constraints
from ._odds import ByOdds
from .gamma import Gamma
from .utils import lazy_property

__all__ = ["NegativeBinomial"]

_absences(__name__)


class NegativeBinomial(ByOdds):
    """How many trials succeed before `total_count` have failed; each succeeds with the chance `probs`, or with odds whose logarithm is
    `logits`.

    >>> from torchcompat.distributions import NegativeBinomial
    >>> NegativeBinomial(3., torch.tensor([0.5])).mean
    tensor([3.])
    """

    arg_constraints = {"total_count": constraints.greater_than_eq(0), "probs": constraints.half_open_interval(0.0, 1.0),
                       "logits": constraints.real}
    support = constraints.nonnegative_integer

    def __init__(self, total_count: Tensor | float, probs: Tensor | None = None, logits: Tensor | None = None,
                 validate_args: bool | None = None) -> None:
        self.total_count, = self._take(probs, logits, total_count)
        super().__init__(self._param.size(), validate_args=validate_args)

    def expand(self, batch_shape: _size, _instance: object = None) -> Self:
        return self._expanded(NegativeBinomial, batch_shape, _instance, "total_count")

    @property
    def mean(self) -> Tensor:
        return self.total_count * torch.exp(self.logits)

    @property
    def mode(self) -> Tensor:
        return ((self.total_count - 1) * self.logits.exp()).floor().clamp(min=0.0)

    @property
    def variance(self) -> Tensor:
        return self.mean / torch.sigmoid(-self.logits)

    @lazy_property
    def _gamma(self) -> Gamma:
        """Whose numbers are the rates of Poisson ones."""
        return Gamma(concentration=self.total_count, rate=torch.exp(-self.logits), validate_args=False)

    def sample(self, sample_shape: _size = Size()) -> Tensor:
        with torch.no_grad():
            return torch.poisson(self._gamma.sample(sample_shape=sample_shape))

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        weights = self.total_count * logsigmoid(-self.logits) + value * logsigmoid(self.logits)
        orders = -torch.lgamma(self.total_count + value) + torch.lgamma(1.0 + value) + torch.lgamma(self.total_count)
        return weights - orders.masked_fill(self.total_count + value == 0.0, 0.0)
