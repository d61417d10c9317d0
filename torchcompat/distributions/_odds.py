"""Distributions whose parameter is given as probabilities or as logarithms of odds."""

from __future__ import annotations

from typing import Self

from torchcompat import Size, Tensor
from torchcompat.types import Number, _size

from .._calls.absent import absences as _absences
from .distribution import Distribution
from .utils import broadcast_all, lazy_property, logits_to_probs, probs_to_logits

__all__ = ["ByOdds"]

_absences(__name__)


class ByOdds(Distribution):
    """A distribution with the parameter `probs` or `logits`; the other one is computed when it is asked for."""

    _param: Tensor

    def _take(self, probs: Tensor | Number | None, logits: Tensor | Number | None, *others: Tensor | Number) -> tuple[Tensor, ...]:
        """Sets the one that is given, broadcast with other parameters, which come back in its dtype."""
        if (probs is None) == (logits is None):
            raise ValueError("Either `probs` or `logits` must be specified, but not both.")
        given = logits if probs is None else probs
        *rest, self._param = broadcast_all(*others, given)  # type: ignore[arg-type]
        setattr(self, "logits" if probs is None else "probs", self._param)
        return tuple([x.type_as(self._param) for x in rest])

    def _expanded(self, cls: type, batch_shape: _size, instance: object, *names: str) -> Self:
        new = super()._expanded(cls, batch_shape, instance, "probs", "logits", *names)
        new._param = new.__dict__["logits" if "logits" in self.__dict__ else "probs"]
        return new

    def _new(self, *args: object, **kwargs: object) -> Tensor:
        return self._param.new(*args, **kwargs)

    @lazy_property
    def logits(self) -> Tensor:
        """The logarithms of the odds."""
        return probs_to_logits(self.probs, is_binary=True)

    @lazy_property
    def probs(self) -> Tensor:
        """The probabilities."""
        return logits_to_probs(self.logits, is_binary=True)

    @property
    def param_shape(self) -> Size:
        """The shape of the parameter that was given."""
        return self._param.size()
