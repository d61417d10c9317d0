"""torch.multiprocessing: Python's `multiprocessing`, with tensors that are sent between processes in memory that both share.

What is sent moves into shared memory (`Tensor.share_memory_`), and its descriptor is handed to the receiver, so the sender must live
until then. From its import on this holds for all of Python's queues and pipes.
"""

from __future__ import annotations

import ctypes
import multiprocessing
import sys
from multiprocessing import *  # noqa: F403  # the same names

from .._memory import shared
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


def _prctl(option: int, *arguments: object) -> int:
    """Asks Linux for something about this process or thread; does nothing on other systems."""
    return ctypes.CDLL(None).prctl(option, *arguments) if sys.platform == "linux" else 0


def _prctl_pr_set_pdeathsig(signal: int) -> None:
    """Has this process get a signal when its parent ends."""
    if _prctl(1, signal) < 0:
        raise RuntimeError("prctl(PR_SET_PDEATHSIG) failed")


def _set_thread_name(name: str) -> None:
    """Names this thread, as `ps` and debuggers show it: 15 bytes of it."""
    _prctl(15, name.encode())


def _get_thread_name() -> str:
    """The name of this thread."""
    name = ctypes.create_string_buffer(16)
    _prctl(16, name)
    return name.value.decode(errors="replace")
