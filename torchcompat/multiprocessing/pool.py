"""Pools of Python's `multiprocessing`, by the name of torch's module: what they send are tensors in shared memory."""

from __future__ import annotations

import multiprocessing.pool
from typing import Any

from .._calls.absent import absences as _absences
from . import reductions as _reductions  # noqa: F401  # which has tensors sent


def clean_worker(*args: Any, **kwargs: Any) -> None:
    """What a process of a pool does, and then lets go of what it was sent."""
    import gc

    multiprocessing.pool.worker(*args, **kwargs)  # type: ignore[attr-defined]  # Python's own
    gc.collect()


class Pool(multiprocessing.pool.Pool):
    """A pool of processes."""


_absences(__name__)
