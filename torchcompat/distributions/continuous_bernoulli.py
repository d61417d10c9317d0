"""Numbers between no and yes."""

from __future__ import annotations

import math
from typing import Self

import torchcompat as torch
from torchcompat import Size, Tensor
from torchcompat.nn.functional import binary_cross_entropy_with_logits
from torchcompat.types import Number, _size

from .._calls.absent import absences as _absences
from . import constraints
from ._odds import ByOdds
from .exp_family import ExponentialFamily
from .utils import broadcast_all, clamp_probs, lazy_property, logits_to_probs

__all__ = ["ContinuousBernoulli"]

_absences(__name__)


class ContinuousBernoulli(ByOdds, ExponentialFamily):
    """A number in [0, 1] of the density C * probs**x * (1 - probs)**(1 - x).

    Where `probs` lies between `lims`, about one half, expressions that cancel there are replaced by their series.

    Source: G. Loaiza-Ganem and J. P. Cunningham, The continuous Bernoulli: fixing a pervasive error in variational autoencoders, 2019.

    >>> from torchcompat.distributions import ContinuousBernoulli
    >>> ContinuousBernoulli(torch.tensor([0.5, 0.9])).mean
    tensor([0.5000, 0.6699])
    """

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.unit_interval
    _mean_carrier_measure = 0
    has_rsample = True

    def __init__(self, probs: Tensor | Number | None = None, logits: Tensor | Number | None = None,
                 lims: tuple[float, float] = (0.499, 0.501), validate_args: bool | None = None) -> None:
        self._take(probs, logits)
        if probs is not None:
            if validate_args is not None and not self.arg_constraints["probs"].check(self.probs).all():
                raise ValueError("The parameter probs has invalid values")
            self.probs = self._param = clamp_probs(self.probs)
        self._lims = lims
        super().__init__(self._param.size(), validate_args=validate_args)

    def expand(self, batch_shape: _size, _instance: object = None) -> Self:
        new = self._expanded(ContinuousBernoulli, batch_shape, _instance)
        new._lims = self._lims
        return new

    @lazy_property
    def probs(self) -> Tensor:
        """The probabilities that the density is made of."""
        return clamp_probs(logits_to_probs(self.logits, is_binary=True))

    def _outside_unstable_region(self) -> Tensor:
        return torch.max(torch.le(self.probs, self._lims[0]), torch.gt(self.probs, self._lims[1]))

    def _cut_probs(self) -> Tensor:
        """The probabilities, the lower limit in place of those near one half."""
        return torch.where(self._outside_unstable_region(), self.probs, self._lims[0] * torch.ones_like(self.probs))

    def _choose(self, exact: Tensor, series: Tensor) -> Tensor:
        return torch.where(self._outside_unstable_region(), exact, series)

    def _cont_bern_log_norm(self) -> Tensor:
        """log C = log(2 atanh(1 - 2 p) / (1 - 2 p))."""
        p = self._cut_probs()
        below = torch.where(torch.le(p, 0.5), p, torch.zeros_like(p))
        above = torch.where(torch.ge(p, 0.5), p, torch.ones_like(p))
        width = torch.where(torch.le(p, 0.5), torch.log1p(-2.0 * below), torch.log(2.0 * above - 1.0))
        exact = torch.log(torch.abs(torch.log1p(-p) - torch.log(p))) - width
        x = torch.pow(self.probs - 0.5, 2)
        return self._choose(exact, math.log(2.0) + (4.0 / 3.0 + 104.0 / 45.0 * x) * x)

    @property
    def mean(self) -> Tensor:
        p, x = self._cut_probs(), self.probs - 0.5
        exact = p / (2.0 * p - 1.0) + 1.0 / (torch.log1p(-p) - torch.log(p))
        return self._choose(exact, 0.5 + (1.0 / 3.0 + 16.0 / 45.0 * torch.pow(x, 2)) * x)

    @property
    def stddev(self) -> Tensor:
        return torch.sqrt(self.variance)

    @property
    def variance(self) -> Tensor:
        p, x = self._cut_probs(), torch.pow(self.probs - 0.5, 2)
        exact = p * (p - 1.0) / torch.pow(1.0 - 2.0 * p, 2) + 1.0 / torch.pow(torch.log1p(-p) - torch.log(p), 2)
        return self._choose(exact, 1.0 / 12.0 - (1.0 / 15.0 - 128.0 / 945.0 * x) * x)

    def sample(self, sample_shape: _size = Size()) -> Tensor:
        with torch.no_grad():
            return self.rsample(sample_shape)

    def rsample(self, sample_shape: _size = Size()) -> Tensor:
        return self.icdf(torch.rand(self._extended_shape(sample_shape), dtype=self.probs.dtype, device=self.probs.device))

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        logits, value = broadcast_all(self.logits, value)
        return -binary_cross_entropy_with_logits(logits, value, reduction="none") + self._cont_bern_log_norm()

    def cdf(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        p = self._cut_probs()
        exact = (torch.pow(p, value) * torch.pow(1.0 - p, 1.0 - value) + p - 1.0) / (2.0 * p - 1.0)
        inside = torch.where(torch.ge(value, 1.0), torch.ones_like(value), self._choose(exact, value))
        return torch.where(torch.le(value, 0.0), torch.zeros_like(value), inside)

    def icdf(self, value: Tensor) -> Tensor:
        p = self._cut_probs()
        exact = (torch.log1p(-p + value * (2.0 * p - 1.0)) - torch.log1p(-p)) / (torch.log(p) - torch.log1p(-p))
        return self._choose(exact, value)

    def entropy(self) -> Tensor:
        no, yes = torch.log1p(-self.probs), torch.log(self.probs)
        return self.mean * (no - yes) - self._cont_bern_log_norm() - no

    @property
    def _natural_params(self) -> tuple[Tensor]:
        return (self.logits,)

    def _log_normalizer(self, x: Tensor) -> Tensor:  # type: ignore[override]
        """log((exp(x) - 1) / x), and its series about 0."""
        outside = torch.max(torch.le(x, self._lims[0] - 0.5), torch.gt(x, self._lims[1] - 0.5))
        cut = torch.where(outside, x, (self._lims[0] - 0.5) * torch.ones_like(x))
        exact = torch.log(torch.abs(torch.special.expm1(cut))) - torch.log(torch.abs(cut))
        return torch.where(outside, exact, 0.5 * x + torch.pow(x, 2) / 24.0 - torch.pow(x, 4) / 2880.0)
