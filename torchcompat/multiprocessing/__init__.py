"""torch.multiprocessing: Python's `multiprocessing`, with tensors that are sent between processes in memory that both share.

What is sent moves into shared memory (`Tensor.share_memory_`), and its descriptor is handed to the receiver, so the sender must live
until then. From its import on this holds for all of Python's queues and pipes.
"""

from __future__ import annotations

import multiprocessing
from multiprocessing import *  # noqa: F403  # the same names

from .._memory import shared
from ._prctl import _get_thread_name as _get_thread_name, _prctl_pr_set_pdeathsig as _prctl_pr_set_pdeathsig
from ._prctl import _set_thread_name as _set_thread_name
from .reductions import init_reductions
from .spawn import (
    ProcessContext, ProcessException, ProcessExitedException, ProcessRaisedException, SpawnContext, spawn, start_processes,
)

__all__ = ["set_sharing_strategy", "get_sharing_strategy", "get_all_sharing_strategies"]
__all__ += multiprocessing.__all__

init_reductions()


def set_sharing_strategy(new_strategy: str) -> None:
    """Sets how memory that is shared from now on is handed to other processes: by its "file_descriptor", or by a name in the
    "file_system", which needs no descriptor per message. Memory that cannot have a name goes by its descriptor in any case.

    Raises:
        AssertionError: another one.
    """
    if new_strategy not in get_all_sharing_strategies():
        raise AssertionError(f"invalid sharing strategy {new_strategy!r}, expected one of {get_all_sharing_strategies()}")
    shared.by_name = new_strategy == "file_system"


def get_sharing_strategy() -> str:
    """How memory is handed to other processes."""
    return "file_system" if shared.by_name else "file_descriptor"


def get_all_sharing_strategies() -> set[str]:
    """All ways to hand memory to other processes."""
    return {"file_descriptor", "file_system"}
