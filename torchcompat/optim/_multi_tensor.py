"""The optimizers, with `foreach=True` unless it is given."""

from __future__ import annotations

from functools import partialmethod
from typing import Any

from . import adadelta, adagrad, adam, adamax, adamw, asgd, nadam, radam, rmsprop, rprop, sgd

__all__ = ["ASGD", "Adadelta", "Adagrad", "Adam", "AdamW", "Adamax", "NAdam", "RAdam", "RMSprop", "Rprop", "SGD", "partialclass"]


def partialclass(cls: type, *args: Any, **kwargs: Any) -> Any:
    """A class like `cls` whose instances are made with further arguments."""

    class NewCls(cls):
        __init__ = partialmethod(cls.__init__, *args, **kwargs)  # type: ignore[misc]  # any class's

    return NewCls


Adam, AdamW, NAdam, SGD, RAdam, RMSprop, Rprop, ASGD, Adamax, Adadelta, Adagrad = [partialclass(cls, foreach=True) for cls in (
    adam.Adam, adamw.AdamW, nadam.NAdam, sgd.SGD, radam.RAdam, rmsprop.RMSprop, rprop.Rprop, asgd.ASGD, adamax.Adamax, adadelta.Adadelta,
    adagrad.Adagrad)]
