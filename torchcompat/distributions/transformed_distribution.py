"""Functions of random numbers."""

from __future__ import annotations

from typing import Any, Self

import torchcompat as torch
from torchcompat import Size, Tensor
from torchcompat.types import _size

from .._calls.absent import absences as _absences
from . import constraints
from .distribution import Distribution
from .independent import Independent
from .transforms import ComposeTransform, Transform
from .utils import _sum_rightmost

__all__ = ["TransformedDistribution"]

_absences(__name__)


class TransformedDistribution(Distribution):
    """What transforms make, one after another, of numbers of another distribution.

    Args:
        base_distribution: the other; its batch is expanded to what the transforms make of it, and its last dimensions are taken together
            where a transform takes them together.
        transforms: one, or a list of them, the first one first.

    Raises:
        ValueError: no transforms; or a base of too few dimensions.

    >>> from torchcompat.distributions import ExpTransform, Normal, TransformedDistribution
    >>> TransformedDistribution(Normal(0., 1.), [ExpTransform()]).cdf(torch.tensor([1.]))
    tensor([0.5000])
    """

    arg_constraints: dict[str, constraints.Constraint] = {}

    def __init__(self, base_distribution: Distribution, transforms: Transform | list[Transform],
                 validate_args: bool | None = None) -> None:
        if isinstance(transforms, Transform):
            transforms = [transforms]
        if not isinstance(transforms, list):
            raise ValueError(f"transforms must be a Transform or list, but was {transforms}")
        if not all(isinstance(t, Transform) for t in transforms):
            raise ValueError("transforms must be a Transform or a list of Transforms")
        self.transforms = transforms
        base, base_dim = base_distribution, len(base_distribution.event_shape)
        shape = base.batch_shape + base.event_shape
        whole = ComposeTransform(transforms)
        before, after = whole.domain.event_dim, whole.codomain.event_dim
        if len(shape) < before:
            raise ValueError(f"base_distribution needs to have shape with size at least {before}, but got {shape}.")
        forward_shape = whole.forward_shape(shape)
        expanded = whole.inverse_shape(forward_shape)
        if shape != expanded:
            base = base.expand(expanded[:len(expanded) - base_dim])
        self.base_dist = Independent(base, before - base_dim) if before > base_dim else base
        event_dim = max(after, base_dim + after - before)
        if len(forward_shape) < event_dim:
            raise AssertionError(f"forward_shape length {len(forward_shape)} must be >= event_dim {event_dim}")
        cut = len(forward_shape) - event_dim
        super().__init__(forward_shape[:cut], forward_shape[cut:], validate_args=validate_args)

    def expand(self, batch_shape: _size, _instance: object = None) -> Self:
        new = self._get_checked_instance(TransformedDistribution, _instance)
        batch_shape = Size(batch_shape)
        shape = batch_shape + self.event_shape
        for t in reversed(self.transforms):
            shape = t.inverse_shape(shape)
        new.base_dist = self.base_dist.expand(shape[:len(shape) - len(self.base_dist.event_shape)])
        new.transforms = self.transforms
        Distribution.__init__(new, batch_shape, self.event_shape, validate_args=False)
        new._validate_args = self._validate_args
        return new

    @constraints.dependent_property(is_discrete=False)
    def support(self) -> constraints.Constraint | None:
        """What the last transform gives, with the dimensions of the event."""
        if not self.transforms:
            return self.base_dist.support
        support = self.transforms[-1].codomain
        missing = len(self.event_shape) - support.event_dim
        return constraints.independent(support, missing) if missing > 0 else support

    @property
    def has_rsample(self) -> bool:  # type: ignore[override]
        return self.base_dist.has_rsample

    def _through(self, x: Tensor) -> Tensor:
        for transform in self.transforms:
            x = transform(x)
        return x

    def sample(self, sample_shape: _size = Size()) -> Tensor:
        with torch.no_grad():
            return self._through(self.base_dist.sample(sample_shape))

    def rsample(self, sample_shape: _size = Size()) -> Tensor:
        return self._through(self.base_dist.rsample(sample_shape))

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        total: Tensor | float = 0.0
        event_dim, y = len(self.event_shape), value
        for transform in reversed(self.transforms):
            x = transform.inv(y)
            event_dim += transform.domain.event_dim - transform.codomain.event_dim
            total = total - _sum_rightmost(transform.log_abs_det_jacobian(x, y), event_dim - transform.domain.event_dim)
            y = x
        return total + _sum_rightmost(self.base_dist.log_prob(y), event_dim - len(self.base_dist.event_shape))

    def _monotonize_cdf(self, value: Tensor) -> Tensor:
        """The probability below, of that below or above: by whether the transforms together rise or fall."""
        sign: Any = 1
        for transform in self.transforms:
            sign = sign * transform.sign
        return value if isinstance(sign, int) and sign == 1 else sign * (value - 0.5) + 0.5

    def cdf(self, value: Tensor) -> Tensor:
        for transform in self.transforms[::-1]:
            value = transform.inv(value)
        if self._validate_args:
            self.base_dist._validate_sample(value)
        return self._monotonize_cdf(self.base_dist.cdf(value))

    def icdf(self, value: Tensor) -> Tensor:
        return self._through(self.base_dist.icdf(self._monotonize_cdf(value)))
