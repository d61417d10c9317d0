"""The optimizers, with `foreach=True` unless it is given."""

from __future__ import annotations

from functools import partialmethod
from typing import Any

from torchcompat import optim

__all__ = ["ASGD", "Adadelta", "Adagrad", "Adam", "AdamW", "Adamax", "NAdam", "RAdam", "RMSprop", "Rprop", "SGD", "partialclass"]


def partialclass(cls: type, *args: Any, **kwargs: Any) -> Any:
    """A class like `cls` whose instances are made with further arguments."""

    class NewCls(cls):
        __init__ = partialmethod(cls.__init__, *args, **kwargs)  # type: ignore[misc]  # any class's

    return NewCls


Adam, AdamW, NAdam, SGD, RAdam, RMSprop, Rprop, ASGD, Adamax, Adadelta, Adagrad = [partialclass(cls, foreach=True) for cls in (
    optim.Adam, optim.AdamW, optim.NAdam, optim.SGD, optim.RAdam, optim.RMSprop, optim.Rprop, optim.ASGD, optim.Adamax, optim.Adadelta,
    optim.Adagrad)]
