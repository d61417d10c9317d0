"""torch.multiprocessing: Python's `multiprocessing`, with tensors that are sent between processes in memory that both share.

What is sent moves into shared memory (`Tensor.share_memory_`), and its descriptor is handed to the receiver, so the sender must live
until then. From its import on this holds for all of Python's queues and pipes.
"""

from __future__ import annotations

import multiprocessing
from multiprocessing import *  # noqa: F403  # the same names

from .reductions import init_reductions
from .spawn import (
    ProcessContext, ProcessException, ProcessExitedException, ProcessRaisedException, SpawnContext, spawn, start_processes,
)

__all__ = ["set_sharing_strategy", "get_sharing_strategy", "get_all_sharing_strategies"]
__all__ += multiprocessing.__all__

init_reductions()


def set_sharing_strategy(new_strategy: str) -> None:
    """Accepts "file_descriptor", the only one there is.

    Raises:
        AssertionError: another one.
    """
    assert new_strategy in get_all_sharing_strategies()


def get_sharing_strategy() -> str:
    """How memory is handed to other processes."""
    return "file_descriptor"


def get_all_sharing_strategies() -> set[str]:
    """All ways to hand memory to other processes."""
    return {"file_descriptor"}
