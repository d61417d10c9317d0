"""Sets of numbers: what parameters may be, and what distributions give.

>>> from torchcompat.distributions import constraints
>>> constraints.interval(0, 1), constraints.positive.check(torch.tensor([-1., 2.]))
(Interval(lower_bound=0, upper_bound=1), tensor([False,  True]))
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeAlias

import torchcompat as torch
from torchcompat import Tensor

from .._calls.absent import absences as _absences

__all__ = [
    "Constraint", "boolean", "cat", "corr_cholesky", "dependent", "dependent_property", "greater_than", "greater_than_eq", "independent",
    "integer_interval", "interval", "half_open_interval", "is_dependent", "less_than", "lower_cholesky", "lower_triangular",
    "MixtureSameFamilyConstraint", "multinomial", "nonnegative", "nonnegative_integer", "one_hot", "positive", "positive_semidefinite",
    "positive_definite", "positive_integer", "real", "real_vector", "simplex", "square", "stack", "symmetric", "unit_interval",
]

Bound: TypeAlias = "Tensor | float"

_absences(__name__)


class Constraint:
    """A set of numbers, or of vectors and matrices where `event_dim` of the last dimensions make up one member."""

    is_discrete = False
    event_dim = 0

    def check(self, value: Tensor) -> Tensor:
        """Which of the values belong to the set; without their last `event_dim` dimensions."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return f"{self.__class__.__name__[1:]}()"


class _Dependent(Constraint):
    """A set that depends on others' values, so that it cannot be checked without them."""

    def __init__(self, *, is_discrete: bool = NotImplemented, event_dim: int = NotImplemented) -> None:
        self._is_discrete, self._event_dim = is_discrete, event_dim
        super().__init__()

    @property
    def is_discrete(self) -> bool:  # type: ignore[override]
        if self._is_discrete is NotImplemented:
            raise NotImplementedError(".is_discrete cannot be determined statically")
        return self._is_discrete

    @property
    def event_dim(self) -> int:  # type: ignore[override]
        if self._event_dim is NotImplemented:
            raise NotImplementedError(".event_dim cannot be determined statically")
        return self._event_dim

    def __call__(self, *, is_discrete: bool = NotImplemented, event_dim: int = NotImplemented) -> _Dependent:
        return _Dependent(is_discrete=self._is_discrete if is_discrete is NotImplemented else is_discrete,
                          event_dim=self._event_dim if event_dim is NotImplemented else event_dim)

    def check(self, x: Tensor) -> Tensor:
        """Refuses."""
        raise ValueError("Cannot determine validity of dependent constraint")


def is_dependent(constraint: object) -> bool:
    """Whether the set depends on others' values."""
    return isinstance(constraint, _Dependent)


class _DependentProperty(property, _Dependent):
    """A property that gives an object's set; of the class, a set that depends.

    What is known of all of them may be said: `@constraints.dependent_property(is_discrete=True, event_dim=0)`.
    """

    def __init__(self, fn: Callable[..., Any] | None = None, *, is_discrete: bool = NotImplemented,
                 event_dim: int = NotImplemented) -> None:
        super().__init__(fn)
        self._is_discrete, self._event_dim = is_discrete, event_dim

    def __call__(self, fn: Callable[..., Any]) -> _DependentProperty:  # type: ignore[override]
        return _DependentProperty(fn, is_discrete=self._is_discrete, event_dim=self._event_dim)


def _check_base(base: object) -> None:
    if not isinstance(base, Constraint):
        raise AssertionError(f"base_constraint must be a Constraint, got {type(base).__name__}")


class _OfBase(Constraint):
    """A set made of another one."""

    base_constraint: Constraint

    @property
    def is_discrete(self) -> bool:  # type: ignore[override]
        return self.base_constraint.is_discrete

    @property
    def event_dim(self) -> int:  # type: ignore[override]
        return self.base_constraint.event_dim


class _IndependentConstraint(_OfBase):
    """Arrays of members of a set: all of them in the last dimensions must belong to it."""

    def __init__(self, base_constraint: Constraint, reinterpreted_batch_ndims: int) -> None:
        _check_base(base_constraint)
        if not isinstance(reinterpreted_batch_ndims, int):
            raise AssertionError(f"reinterpreted_batch_ndims must be an int, got {type(reinterpreted_batch_ndims).__name__}")
        if reinterpreted_batch_ndims < 0:
            raise AssertionError(f"reinterpreted_batch_ndims must be >= 0, got {reinterpreted_batch_ndims}")
        self.base_constraint, self.reinterpreted_batch_ndims = base_constraint, reinterpreted_batch_ndims
        super().__init__()

    @property
    def event_dim(self) -> int:  # type: ignore[override]
        return self.base_constraint.event_dim + self.reinterpreted_batch_ndims

    def check(self, value: Tensor) -> Tensor:
        """Whether all are."""
        found = self.base_constraint.check(value)
        if found.dim() < self.reinterpreted_batch_ndims:
            raise ValueError(f"Expected value.dim() >= {self.event_dim} but got {value.dim()}")
        return found.reshape(found.shape[:found.dim() - self.reinterpreted_batch_ndims] + (-1,)).all(-1)

    def __repr__(self) -> str:
        return f"{self.__class__.__name__[1:]}({self.base_constraint!r}, {self.reinterpreted_batch_ndims})"


class MixtureSameFamilyConstraint(_OfBase):
    """What each component of a mixture gives: the base set, with a dimension of components before its own."""

    def __init__(self, base_constraint: Constraint) -> None:
        _check_base(base_constraint)
        self.base_constraint = base_constraint
        super().__init__()

    def check(self, value: Tensor) -> Tensor:
        """Whether all components may give it."""
        found = self.base_constraint.check(value.unsqueeze(-1 - self.event_dim))
        if value.dim() < self.event_dim:
            raise ValueError(f"Expected value.dim() >= {self.event_dim} but got {value.dim()}")
        return found.reshape(found.shape[:value.dim() - self.event_dim] + (-1,)).all(-1)

    def __repr__(self) -> str:
        return f"{self.__class__.__name__}({self.base_constraint!r})"


class _Boolean(Constraint):
    """0 and 1."""

    is_discrete = True

    def check(self, value: Tensor) -> Tensor:
        """Whether it is one of them."""
        return (value == 0) | (value == 1)


class _OneHot(Constraint):
    """Vectors with a 1 among zeros."""

    is_discrete = True
    event_dim = 1

    def check(self, value: Tensor) -> Tensor:
        """Whether each vector is one."""
        return boolean.check(value).all(-1) & value.sum(-1).eq(1)


class _Bounded(Constraint):
    """A set between bounds, which it shows."""

    def __repr__(self) -> str:
        bounds = [f"{name}={self.__dict__[name]}" for name in ("lower_bound", "upper_bound") if name in self.__dict__]
        return f"{self.__class__.__name__[1:]}({', '.join(bounds)})"


class _Below(_Bounded):
    def __init__(self, upper_bound: Bound) -> None:
        self.upper_bound = upper_bound
        super().__init__()


class _Above(_Bounded):
    def __init__(self, lower_bound: Bound) -> None:
        self.lower_bound = lower_bound
        super().__init__()


class _Between(_Bounded):
    def __init__(self, lower_bound: Bound, upper_bound: Bound) -> None:
        self.lower_bound, self.upper_bound = lower_bound, upper_bound
        super().__init__()


class _IntegerInterval(_Between):
    """Integers between two bounds, with them."""

    is_discrete = True

    def check(self, value: Tensor) -> Tensor:
        """Which are."""
        return (value % 1 == 0) & (self.lower_bound <= value) & (value <= self.upper_bound)


class _IntegerLessThan(_Below):
    """Integers up to a bound."""

    is_discrete = True

    def check(self, value: Tensor) -> Tensor:
        """Which are."""
        return (value % 1 == 0) & (value <= self.upper_bound)


class _IntegerGreaterThan(_Above):
    """Integers from a bound on."""

    is_discrete = True

    def check(self, value: Tensor) -> Tensor:
        """Which are."""
        return (value % 1 == 0) & (value >= self.lower_bound)


class _Real(Constraint):
    """All numbers, and infinities."""

    def check(self, value: Tensor) -> Tensor:
        """Which are no NaN."""
        return value == value


class _GreaterThan(_Above):
    """Numbers above a bound."""

    def check(self, value: Tensor) -> Tensor:
        """Which are."""
        return self.lower_bound < value


class _GreaterThanEq(_Above):
    """Numbers from a bound on."""

    def check(self, value: Tensor) -> Tensor:
        """Which are."""
        return self.lower_bound <= value


class _LessThan(_Below):
    """Numbers below a bound."""

    def check(self, value: Tensor) -> Tensor:
        """Which are."""
        return value < self.upper_bound


class _Interval(_Between):
    """Numbers between two bounds, with them."""

    def check(self, value: Tensor) -> Tensor:
        """Which are."""
        return (self.lower_bound <= value) & (value <= self.upper_bound)


class _HalfOpenInterval(_Between):
    """Numbers between two bounds, with the lower one."""

    def check(self, value: Tensor) -> Tensor:
        """Which are."""
        return (self.lower_bound <= value) & (value < self.upper_bound)


class _Simplex(Constraint):
    """Vectors of numbers from 0 on that sum to 1."""

    event_dim = 1

    def check(self, value: Tensor) -> Tensor:
        """Which do, to a millionth."""
        return torch.all(value >= 0, dim=-1) & ((value.sum(-1) - 1).abs() < 1e-6)


class _Multinomial(Constraint):
    """Vectors of counts from 0 on that sum to no more than a bound."""

    is_discrete = True
    event_dim = 1

    def __init__(self, upper_bound: Bound) -> None:
        self.upper_bound = upper_bound

    def check(self, x: Tensor) -> Tensor:
        """Which do."""
        return (x >= 0).all(dim=-1) & (x.sum(dim=-1) <= self.upper_bound)


class _LowerTriangular(Constraint):
    """Square matrices with zeros above the diagonal."""

    event_dim = 2

    def check(self, value: Tensor) -> Tensor:
        """Which are."""
        return (value.tril() == value).view(value.shape[:-2] + (-1,)).min(-1)[0]


class _LowerCholesky(Constraint):
    """Lower triangular matrices with a positive diagonal."""

    event_dim = 2

    def check(self, value: Tensor) -> Tensor:
        """Which are."""
        return lower_triangular.check(value) & (value.diagonal(dim1=-2, dim2=-1) > 0).min(-1)[0]


class _CorrCholesky(Constraint):
    """Factors of correlation matrices: lower triangular, with a positive diagonal and rows of length 1."""

    event_dim = 2

    def check(self, value: Tensor) -> Tensor:
        """Which are; the lengths to ten roundings for each column."""
        tolerance = torch.finfo(value.dtype).eps * value.size(-1) * 10
        lengths = torch.linalg.norm(value.detach(), dim=-1)
        return lower_cholesky.check(value) & (lengths - 1.0).abs().le(tolerance).all(dim=-1)


class _Square(Constraint):
    """Square matrices."""

    event_dim = 2

    def check(self, value: Tensor) -> Tensor:
        """Whether they are, all of them or none."""
        return torch.full(size=value.shape[:-2], fill_value=value.shape[-2] == value.shape[-1], dtype=torch.bool, device=value.device)


class _Symmetric(_Square):
    """Symmetric matrices."""

    def check(self, value: Tensor) -> Tensor:
        """Which are, to a millionth."""
        found = super().check(value)
        return torch.isclose(value, value.mT, atol=1e-6).all(-2).all(-1) if found.all() else found


class _PositiveSemidefinite(_Symmetric):
    """Symmetric matrices without negative eigenvalues."""

    def check(self, value: Tensor) -> Tensor:
        """Which are; where any is not symmetric, which are symmetric."""
        found = super().check(value)
        return torch.linalg.eigvalsh(value).ge(0).all(-1) if found.all() else found


class _PositiveDefinite(_Symmetric):
    """Symmetric matrices with positive eigenvalues."""

    def check(self, value: Tensor) -> Tensor:
        """Which have a Cholesky factor; where any is not symmetric, which are symmetric."""
        found = super().check(value)
        return torch.linalg.cholesky_ex(value).info.eq(0) if found.all() else found


class _Sequence(Constraint):
    """Sets in a row along a dimension."""

    cseq: list[Constraint]
    dim: int

    def _take(self, cseq: Iterable[Constraint], dim: int) -> None:
        cseq = list(cseq)
        if not all(isinstance(c, Constraint) for c in cseq):
            raise AssertionError("All elements of cseq must be Constraint instances")
        self.cseq, self.dim = cseq, dim

    @property
    def is_discrete(self) -> bool:  # type: ignore[override]
        return any(c.is_discrete for c in self.cseq)

    def _check_dim(self, value: Tensor) -> None:
        if not -value.dim() <= self.dim < value.dim():
            raise AssertionError(f"dim {self.dim} out of range for value with {value.dim()} dimensions")


class _Cat(_Sequence):
    """Sets whose members are joined along a dimension, each of its own length."""

    def __init__(self, cseq: Sequence[Constraint], dim: int = 0, lengths: Sequence[int] | None = None) -> None:
        self._take(cseq, dim)
        self.lengths = [1] * len(self.cseq) if lengths is None else list(lengths)
        if len(self.lengths) != len(self.cseq):
            raise AssertionError(f"lengths ({len(self.lengths)}) must match cseq ({len(self.cseq)})")
        super().__init__()

    @property
    def event_dim(self) -> int:  # type: ignore[override]
        return max(c.event_dim for c in self.cseq)

    def check(self, value: Tensor) -> Tensor:
        """Each part by its own set."""
        self._check_dim(value)
        checks, start = [], 0
        for constraint, length in zip(self.cseq, self.lengths):
            checks.append(constraint.check(value.narrow(self.dim, start, length)))
            start += length
        return torch.cat(checks, self.dim)


class _Stack(_Sequence):
    """Sets whose members are stacked along a dimension of their own."""

    def __init__(self, cseq: Sequence[Constraint], dim: int = 0) -> None:
        self._take(cseq, dim)
        super().__init__()

    @property
    def event_dim(self) -> int:  # type: ignore[override]
        dim = max(c.event_dim for c in self.cseq)
        return dim + (self.dim + dim < 0)

    def check(self, value: Tensor) -> Tensor:
        """Each part by its own set."""
        self._check_dim(value)
        parts = [value.select(self.dim, i) for i in range(value.size(self.dim))]
        return torch.stack([constraint.check(part) for part, constraint in zip(parts, self.cseq)], self.dim)


dependent = _Dependent()
dependent_property = _DependentProperty
independent = _IndependentConstraint
boolean = _Boolean()
one_hot = _OneHot()
nonnegative_integer = _IntegerGreaterThan(0)
positive_integer = _IntegerGreaterThan(1)
integer_interval = _IntegerInterval
real = _Real()
real_vector = independent(real, 1)
positive = _GreaterThan(0.0)
nonnegative = _GreaterThanEq(0.0)
greater_than = _GreaterThan
greater_than_eq = _GreaterThanEq
less_than = _LessThan
multinomial = _Multinomial
unit_interval = _Interval(0.0, 1.0)
interval = _Interval
half_open_interval = _HalfOpenInterval
simplex = _Simplex()
lower_triangular = _LowerTriangular()
lower_cholesky = _LowerCholesky()
corr_cholesky = _CorrCholesky()
square = _Square()
symmetric = _Symmetric()
positive_semidefinite = _PositiveSemidefinite()
positive_definite = _PositiveDefinite()
cat = _Cat
stack = _Stack
