"""Mixtures."""

from __future__ import annotations

from typing import Self

import torchcompat as torch
from torchcompat import Size, Tensor
from torchcompat.types import _size

from .._calls.absent import absences as _absences
from . import constraints
from .categorical import Categorical
from .distribution import Distribution

__all__ = ["MixtureSameFamily"]

_absences(__name__)


class MixtureSameFamily(Distribution):
    """A draw from one of the distributions along the last dimension of a batch, which a Categorical chooses.

    Raises:
        ValueError: distributions of other classes, or shapes that do not fit each other.

    >>> from torchcompat.distributions import Categorical, MixtureSameFamily, Normal
    >>> MixtureSameFamily(Categorical(torch.ones(2)), Normal(torch.tensor([-1., 3.]), torch.ones(2))).mean
    tensor(1.)
    """

    arg_constraints: dict[str, constraints.Constraint] = {}
    has_rsample = False

    def __init__(self, mixture_distribution: Categorical, component_distribution: Distribution,
                 validate_args: bool | None = None) -> None:
        self._mixture_distribution, self._component_distribution = mixture_distribution, component_distribution
        if not isinstance(mixture_distribution, Categorical):
            raise ValueError(" The Mixture distribution needs to be an  instance of torch.distributions.Categorical")
        if not isinstance(component_distribution, Distribution):
            raise ValueError("The Component distribution needs to be an instance of torch.distributions.Distribution")
        mixed, batch_shape = mixture_distribution.batch_shape, component_distribution.batch_shape[:-1]
        if any(i != j and 1 not in (i, j) for i, j in zip(reversed(mixed), reversed(batch_shape))):
            raise ValueError(f"`mixture_distribution.batch_shape` ({mixed}) is not compatible with "
                             f"`component_distribution.batch_shape`({batch_shape})")
        categories, components = mixture_distribution.logits.shape[-1], component_distribution.batch_shape[-1]
        if categories != components:
            raise ValueError(f"`mixture_distribution component` ({categories}) does not equal "
                             f"`component_distribution.batch_shape[-1]` ({components})")
        self._num_component, self._event_ndims = categories, len(component_distribution.event_shape)
        super().__init__(batch_shape=batch_shape, event_shape=component_distribution.event_shape, validate_args=validate_args)

    def expand(self, batch_shape: _size, _instance: object = None) -> Self:
        new = self._expanded(MixtureSameFamily, batch_shape, _instance, "_component_distribution")
        new._mixture_distribution = self._mixture_distribution.expand(Size(batch_shape))
        new._num_component, new._event_ndims = self._num_component, self._event_ndims
        return new

    @constraints.dependent_property
    def support(self) -> constraints.Constraint:
        """What every component may give."""
        return constraints.MixtureSameFamilyConstraint(self._component_distribution.support)  # type: ignore[arg-type]

    @property
    def mixture_distribution(self) -> Categorical:
        """Which chooses."""
        return self._mixture_distribution

    @property
    def component_distribution(self) -> Distribution:
        """Of which is chosen."""
        return self._component_distribution

    def _weighted(self, values: Tensor) -> Tensor:
        """The mean of the components' values."""
        return torch.sum(self._pad_mixture_dimensions(self.mixture_distribution.probs) * values, dim=-1 - self._event_ndims)

    @property
    def mean(self) -> Tensor:
        return self._weighted(self.component_distribution.mean)

    @property
    def variance(self) -> Tensor:
        within = self._weighted(self.component_distribution.variance)
        return within + self._weighted((self.component_distribution.mean - self._pad(self.mean)).pow(2.0))

    def cdf(self, x: Tensor) -> Tensor:
        return torch.sum(self.component_distribution.cdf(self._pad(x)) * self.mixture_distribution.probs, dim=-1)

    def log_prob(self, x: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(x)
        logs = self.component_distribution.log_prob(self._pad(x))
        return torch.logsumexp(logs + torch.log_softmax(self.mixture_distribution.logits, dim=-1), dim=-1)

    def sample(self, sample_shape: _size = Size()) -> Tensor:
        with torch.no_grad():
            dim, event = len(sample_shape) + len(self.batch_shape), self.event_shape
            chosen = self.mixture_distribution.sample(sample_shape)
            drawn = self.component_distribution.sample(sample_shape)
            index = chosen.reshape(chosen.shape + (1,) * (len(event) + 1)).repeat(Size([1] * (chosen.dim() + 1)) + event)
            return torch.gather(drawn, dim, index).squeeze(dim)

    def _pad(self, x: Tensor) -> Tensor:
        """With a dimension for the components."""
        return x.unsqueeze(-1 - self._event_ndims)

    def _pad_mixture_dimensions(self, x: Tensor) -> Tensor:
        """The weights of the components, with dimensions for what each of them gives."""
        own = len(self.mixture_distribution.batch_shape)
        missing = 0 if own == 1 else len(self.batch_shape) - own
        return x.reshape(x.shape[:-1] + (1,) * missing + x.shape[-1:] + (1,) * self._event_ndims)

    def __repr__(self) -> str:
        return f"MixtureSameFamily(\n  {self.mixture_distribution},\n  {self.component_distribution})"
