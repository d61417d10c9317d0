"""Locks that are open in a forked child.

A child has only the thread that forked. A lock that another thread held at that moment would never open there, so every lock of this
library comes from here and is opened in the child, unless the forking thread itself is inside: it then leaves it as it entered it.
"""

from __future__ import annotations

import functools
import os
import threading
import weakref
from collections.abc import Callable
from typing import Any

_locks: weakref.WeakSet[Any] = weakref.WeakSet()


def fork_safe_lock() -> Any:
    """A `threading.RLock`, which knows whose it is; entering it costs what a plain lock costs.

    >>> lock = fork_safe_lock()
    >>> with lock:
    ...     lock.acquire(blocking=False)
    True
    """
    return fork_safe(threading.RLock())


def fork_safe(lock: object) -> Any:
    """Has a lock of others opened in children, too. A plain one, which does not know whose it is, must never be held around a fork."""
    _locks.add(lock)
    return lock


class cached_property(functools.cached_property):
    """`functools.cached_property`, which on Python 3.11 computes under one lock per property."""

    def __init__(self, function: Callable[[Any], Any]) -> None:
        super().__init__(function)
        if hasattr(self, "lock"):
            fork_safe(self.lock)


def on_fork(function: Callable[[], None]) -> Callable[[], None]:
    """Decorator: call `function` in every forked child, where the locks are open already."""
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=function)
    return function


@on_fork
def _open() -> None:
    for lock in list(_locks):
        if not getattr(lock, "_is_owned", bool)():
            lock._at_fork_reinit()
