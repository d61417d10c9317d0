"""torch.profiler.itt: marks for Intel's profiler, whose runtime this build has not."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import NoReturn

from .._calls.absent import absences as _absences

__all__ = ["is_available", "range_push", "range_pop", "mark", "range"]


def is_available() -> bool:
    """Whether there is Intel's runtime: no."""
    return False


def _refuse() -> NoReturn:
    raise RuntimeError("ITT functions not installed. Are you sure you have a ITT build?")


def range_push(msg: str) -> NoReturn:
    """Would begin a range. RuntimeError."""
    _refuse()


def range_pop() -> NoReturn:
    """Would end one. RuntimeError."""
    _refuse()


def mark(msg: str) -> NoReturn:
    """Would mark a moment. RuntimeError."""
    _refuse()


@contextlib.contextmanager
def range(msg: str, *args: object, **kwargs: object) -> Iterator[None]:
    """Would be a range. RuntimeError."""
    range_push(msg.format(*args, **kwargs))
    yield


_absences(__name__)
