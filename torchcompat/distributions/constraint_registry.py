"""Transforms by the sets that they lead to, from real numbers: `biject_to` has bijective ones, `transform_to` any.

>>> from torchcompat.distributions import biject_to, constraints, transform_to
>>> transform_to(constraints.simplex), biject_to(constraints.simplex)
(SoftmaxTransform(), StickBreakingTransform())
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torchcompat.types import _Number

from .._calls.absent import absences as _absences
from . import constraints, transforms

__all__ = ["ConstraintRegistry", "biject_to", "transform_to"]

Factory = Callable[[Any], transforms.Transform]

_absences(__name__)


class ConstraintRegistry:
    """Makers of transforms by classes of sets."""

    def __init__(self) -> None:
        self._registry: dict[type, Factory] = {}
        super().__init__()

    def register(self, constraint: object, factory: Factory | None = None) -> Any:
        """Registers what makes the transform to a set, given the set: for a class of sets, or for that of a set. A decorator without
        `factory`.

        Raises:
            TypeError: `constraint` is neither a set nor a class of them.
        """
        if factory is None:
            return lambda made: self.register(constraint, made)
        kind = type(constraint) if isinstance(constraint, constraints.Constraint) else constraint
        if not isinstance(kind, type) or not issubclass(kind, constraints.Constraint):
            raise TypeError(f"Expected constraint to be either a Constraint subclass or instance, but got {kind}")
        self._registry[kind] = factory
        return factory

    def __call__(self, constraint: constraints.Constraint) -> transforms.Transform:
        """The transform to a set.

        Raises:
            NotImplementedError: none is registered.
        """
        factory = self._registry.get(type(constraint))
        if factory is None:
            raise NotImplementedError(f"Cannot transform {type(constraint).__name__} constraints")
        return factory(constraint)


biject_to, transform_to = ConstraintRegistry(), ConstraintRegistry()


def _to(*kinds: object, by: tuple[ConstraintRegistry, ...] = (biject_to, transform_to)) -> Callable[[Factory], Factory]:
    """Registers a maker of transforms for several sets."""
    def register(factory: Factory) -> Factory:
        for registry in by:
            for kind in kinds:
                registry.register(kind, factory)
        return factory

    return register


def _interval(constraint: Any) -> transforms.Transform:
    low, high = constraint.lower_bound, constraint.upper_bound
    if isinstance(low, _Number) and low == 0 and isinstance(high, _Number) and high == 1:
        return transforms.SigmoidTransform()
    return transforms.ComposeTransform([transforms.SigmoidTransform(), transforms.AffineTransform(low, high - low)])


def _exponential(bound: str, scale: int) -> Factory:
    return lambda c: transforms.ComposeTransform([transforms.ExpTransform(), transforms.AffineTransform(getattr(c, bound), scale)])


_to(constraints.real)(lambda _: transforms.identity_transform)
_to(constraints.positive, constraints.nonnegative)(lambda _: transforms.ExpTransform())
_to(constraints.greater_than, constraints.greater_than_eq)(_exponential("lower_bound", 1))
_to(constraints.less_than)(_exponential("upper_bound", -1))
_to(constraints.interval, constraints.half_open_interval)(_interval)
_to(constraints.simplex, by=(biject_to,))(lambda _: transforms.StickBreakingTransform())
_to(constraints.simplex, by=(transform_to,))(lambda _: transforms.SoftmaxTransform())
_to(constraints.lower_cholesky, by=(transform_to,))(lambda _: transforms.LowerCholeskyTransform())
_to(constraints.positive_definite, constraints.positive_semidefinite, by=(transform_to,))(lambda _: transforms.PositiveDefiniteTransform())
_to(constraints.corr_cholesky)(lambda _: transforms.CorrCholeskyTransform())


def _of_parts(registry: ConstraintRegistry) -> None:
    """Sets made of others, whose transforms the registry has."""
    registry.register(constraints.independent,
                      lambda c: transforms.IndependentTransform(registry(c.base_constraint), c.reinterpreted_batch_ndims))
    registry.register(constraints.cat, lambda c: transforms.CatTransform([registry(part) for part in c.cseq], c.dim, c.lengths))
    registry.register(constraints.stack, lambda c: transforms.StackTransform([registry(part) for part in c.cseq], c.dim))


_of_parts(biject_to)
_of_parts(transform_to)
