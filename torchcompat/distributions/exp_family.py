"""Exponential families, whose entropies follow from their normalizers."""

from __future__ import annotations

from collections.abc import Sequence

import torchcompat as torch
from torchcompat import Tensor

from .._calls.absent import absences as _absences
from .distribution import Distribution

__all__ = ["ExponentialFamily"]

_absences(__name__)


class ExponentialFamily(Distribution):
    """Distributions of the density exp(<t(x), theta> - F(theta) + k(x)), with natural parameters theta, sufficient statistics t(x), the
    logarithm F of the normalizer, and the carrier measure k.

    Source of the formulas of entropies and divergences: F. Nielsen and R. Nock, Entropies and cross-entropies of exponential families,
    2010.
    """

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        """theta."""
        raise NotImplementedError

    def _log_normalizer(self, *natural_params: Tensor) -> Tensor:
        """F(theta)."""
        raise NotImplementedError

    @property
    def _mean_carrier_measure(self) -> float:
        """The mean of k(x)."""
        raise NotImplementedError

    def entropy(self) -> Tensor:
        """F(theta) - <theta, F'(theta)> - the mean of k(x), the derivative by the tape."""
        carrier = -self._mean_carrier_measure
        parameters, normalizer, slopes = _slopes(self, self._natural_params)
        result = carrier + normalizer
        for parameter, slope in zip(parameters, slopes):
            result = result - (parameter * slope).reshape(self._batch_shape + (-1,)).sum(-1)
        return result


def _slopes(family: ExponentialFamily, parameters: Sequence[Tensor]) -> tuple[list[Tensor], Tensor, Sequence[Tensor]]:
    """The natural parameters as leaves, F of them, and its derivatives, which can be differentiated."""
    leaves = [p.detach().requires_grad_() for p in parameters]
    normalizer = family._log_normalizer(*leaves)
    return leaves, normalizer, torch.autograd.grad(normalizer.sum(), leaves, create_graph=True)
