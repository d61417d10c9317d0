"""Calls whose results are asked for later; here they are carried out at once, one after the other."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from torchcompat.futures import Future


def fork(func: Callable[..., Any], *args: object, **kwargs: object) -> Future[Any]:
    """A future of what `func` returns of these arguments, or raises."""
    warnings.warn("`torch.jit.fork` is deprecated. Please use `torch.compile` instead.", DeprecationWarning, stacklevel=1)
    return _fork(func, *args, **kwargs)


def _fork(func: Callable[..., Any], *args: object, **kwargs: object) -> Future[Any]:
    future: Future[Any] = Future()
    future.set_result(func(*args, **kwargs))
    return future


def wait(future: Future[Any]) -> Any:
    """The value of a future."""
    warnings.warn("`torch.jit.wait` is deprecated. Please use `torch.compile` instead.", DeprecationWarning, stacklevel=1)
    return future.wait()
