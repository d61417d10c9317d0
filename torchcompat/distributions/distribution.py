"""The class of all distributions: shapes, validation, and what each of them may have."""

from __future__ import annotations

from typing import Self

import torchcompat as torch
from torchcompat import Size, Tensor
from torchcompat.types import _size

from autograd_tape import warned
from .._calls.absent import absences as _absences
from . import constraints
from .utils import lazy_property

__all__ = ["Distribution"]

_absences(__name__)


def _shown(cls: type) -> str:
    """A class as torch shows it."""
    return repr(cls).replace("'torchcompat.", "'torch.", 1)


class Distribution:
    """A probability distribution, or a batch of them.

    Args:
        batch_shape: of the parameters: each element has a distribution of its own.
        event_shape: of one number, vector or matrix drawn.
        validate_args: whether parameters and values are checked; `set_default_validate_args` says what holds where it is None.

    Raises:
        ValueError: a parameter lies outside of `arg_constraints`.
    """

    has_rsample = False
    has_enumerate_support = False
    _validate_args = __debug__

    @staticmethod
    def set_default_validate_args(value: bool) -> None:
        """Whether parameters and values are checked from now on, unless a distribution says otherwise for itself."""
        if value not in (True, False):
            raise ValueError
        Distribution._validate_args = value

    def __init__(self, batch_shape: Size = Size(), event_shape: Size = Size(), validate_args: bool | None = None) -> None:
        self._batch_shape, self._event_shape = batch_shape, event_shape
        if validate_args is not None:
            self._validate_args = validate_args
        if self._validate_args:
            self._check_parameters()
        super().__init__()

    def _check_parameters(self) -> None:
        try:
            wanted = self.arg_constraints
        except NotImplementedError:
            wanted = {}
            warned.warn(f"{_shown(self.__class__)} does not define `arg_constraints`. Please set `arg_constraints = {{}}` or initialize "
                        "the distribution with `validate_args=False` to turn off validation.")
        for name, constraint in wanted.items():
            computed = name not in self.__dict__ and isinstance(getattr(type(self), name), lazy_property)
            if constraints.is_dependent(constraint) or computed:
                continue
            value = getattr(self, name)
            if not torch._is_all_true(constraint.check(value)):
                raise ValueError(f"Expected parameter {name} ({type(value).__name__} of shape {tuple(value.shape)}) of distribution "
                                 f"{self!r} to satisfy the constraint {constraint!r}, but found invalid values:\n{value}")

    def expand(self, batch_shape: _size, _instance: object = None) -> Self:
        """The distribution with its batch expanded to a shape, as `Tensor.expand` does it, without memory for it.

        Args:
            batch_shape: the new one.
            _instance: the object to fill in, given by `expand` of a derived class.
        """
        raise NotImplementedError

    def _expanded(self, cls: type, batch_shape: _size, instance: object, *names: str) -> Self:
        """`expand` of `cls`: parameters of those names, tensors and distributions, keep what they have beyond the batch."""
        new = self._get_checked_instance(cls, instance)
        batch_shape, kept = Size(batch_shape), len(self._batch_shape)
        for name in names:
            if name in self.__dict__:
                value = self.__dict__[name]
                shape = value.shape if isinstance(value, Tensor) else value.batch_shape
                setattr(new, name, value.expand(batch_shape + shape[kept:]))
        Distribution.__init__(new, batch_shape, self._event_shape, validate_args=False)
        new._validate_args = self._validate_args
        return new

    @property
    def batch_shape(self) -> Size:
        """The shape of the parameters."""
        return self._batch_shape

    @property
    def event_shape(self) -> Size:
        """The shape of one draw of one of the batch."""
        return self._event_shape

    @property
    def arg_constraints(self) -> dict[str, constraints.Constraint]:
        """The set of each parameter, by its name."""
        raise NotImplementedError

    @property
    def support(self) -> constraints.Constraint | None:
        """The set of what is drawn."""
        raise NotImplementedError

    @property
    def mean(self) -> Tensor:
        """The mean."""
        raise NotImplementedError

    @property
    def mode(self) -> Tensor:
        """The most probable value."""
        raise NotImplementedError(f"{_shown(self.__class__)} does not implement mode")

    @property
    def variance(self) -> Tensor:
        """The variance."""
        raise NotImplementedError

    @property
    def stddev(self) -> Tensor:
        """The standard deviation."""
        return self.variance.sqrt()

    def sample(self, sample_shape: _size = Size()) -> Tensor:
        """Draws `sample_shape` times from each of the batch, without gradients."""
        with torch.no_grad():
            return self.rsample(sample_shape)

    def rsample(self, sample_shape: _size = Size()) -> Tensor:
        """The same as a function of the parameters, which has gradients, where `has_rsample`."""
        raise NotImplementedError

    def sample_n(self, n: int) -> Tensor:
        """Draws n times; an old name."""
        warned.warn("`sample_n(n)` will be deprecated. Use `sample((n,))` instead.", FutureWarning)
        return self.sample(Size((n,)))

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the density, or of the probability, at `value`."""
        raise NotImplementedError

    def cdf(self, value: Tensor) -> Tensor:
        """The probability of what is not above `value`."""
        raise NotImplementedError

    def icdf(self, value: Tensor) -> Tensor:
        """The number below which lies the probability `value`."""
        raise NotImplementedError

    def enumerate_support(self, expand: bool = True) -> Tensor:
        """All values that may be drawn, along the first dimension, before those of the batch, which are 1 where not `expand`."""
        raise NotImplementedError

    def _counted(self, values: Tensor, expand: bool) -> Tensor:
        """`enumerate_support` of numbers."""
        values = values.view((-1,) + (1,) * len(self._batch_shape))
        return values.expand((-1,) + self._batch_shape) if expand else values

    def entropy(self) -> Tensor:
        """The entropy in nats, of the shape of the batch."""
        raise NotImplementedError

    def perplexity(self) -> Tensor:
        """The exponential of the entropy."""
        return torch.exp(self.entropy())

    def _extended_shape(self, sample_shape: _size = Size()) -> Size:
        """The shape of what `sample(sample_shape)` gives."""
        return Size(Size(sample_shape) + self._batch_shape + self._event_shape)

    def _validate_sample(self, value: Tensor) -> None:
        """Raises ValueError for values of shapes that do not fit the distribution, or outside of its support."""
        if not isinstance(value, Tensor):
            raise ValueError("The value argument to log_prob must be a Tensor")
        shape, expected = value.size(), self._batch_shape + self._event_shape
        if shape[len(shape) - len(self._event_shape):] != self._event_shape:
            raise ValueError(f"The right-most size of value must match event_shape: {shape} vs {self._event_shape}.")
        if any(i != j and 1 not in (i, j) for i, j in zip(reversed(shape), reversed(expected))):
            raise ValueError(f"Value is not broadcastable with batch_shape+event_shape: {shape} vs {expected}.")
        try:
            support = self.support
        except NotImplementedError:
            warned.warn(f"{_shown(self.__class__)} does not define `support` to enable sample validation. Please initialize the "
                        "distribution with `validate_args=False` to turn off validation.")
            return
        if support is None:
            raise AssertionError("support is unexpectedly None")
        if not torch._is_all_true(support.check(value)):
            raise ValueError(f"Expected value argument ({type(value).__name__} of shape {tuple(shape)}) to be within the support "
                             f"({support!r}) of the distribution {self!r}, but found invalid values:\n{value}")

    def _get_checked_instance(self, cls: type, _instance: object = None) -> Self:
        """The object that `expand` fills in: a new one of this one's class, whose `__init__` must be `cls`'s."""
        if _instance is None and type(self).__init__ != cls.__init__:  # type: ignore[misc]
            raise NotImplementedError(f"Subclass {self.__class__.__name__} of {cls.__name__} that defines a custom __init__ method "
                                      "must also define a custom .expand() method.")
        return self.__new__(type(self)) if _instance is None else _instance  # type: ignore[return-value]

    def __repr__(self) -> str:
        given = {name: self.__dict__[name] for name in self.arg_constraints if name in self.__dict__}
        return f"{self.__class__.__name__}({', '.join(f'{n}: {v if v.numel() == 1 else v.size()}' for n, v in given.items())})"
