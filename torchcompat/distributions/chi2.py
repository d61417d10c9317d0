"""Sums of squares of normal numbers."""

from __future__ import annotations

from typing import Self

from torchcompat import Tensor
from torchcompat.types import _size

from .._calls.absent import absences as _absences
from . import constraints
from .gamma import Gamma

__all__ = ["Chi2"]

_absences(__name__)


class Chi2(Gamma):
    """The sum of the squares of `df` standard normal numbers; `df` need not be whole.

    >>> import torchcompat as torch
    >>> from torchcompat.distributions import Chi2
    >>> Chi2(torch.tensor([3.])).variance
    tensor([6.])
    """

    arg_constraints = {"df": constraints.positive}

    def __init__(self, df: Tensor | float, validate_args: bool | None = None) -> None:
        super().__init__(0.5 * df, 0.5, validate_args=validate_args)

    def expand(self, batch_shape: _size, _instance: object = None) -> Self:
        return super().expand(batch_shape, self._get_checked_instance(Chi2, _instance))

    @property
    def df(self) -> Tensor:
        """The degrees of freedom."""
        return self.concentration * 2
