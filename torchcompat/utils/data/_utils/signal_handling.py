"""Tells the main process at once when a worker dies, rather than after it has waited for it."""

from __future__ import annotations

import os
import signal
import sys
import threading
from types import FrameType

__all__: list[str] = []

IS_WINDOWS = sys.platform == "win32"
MP_STATUS_CHECK_INTERVAL = 5.0
"""Seconds after which whoever waits for another process looks whether that is still alive."""

_workers: dict[int, tuple[int, ...]] = {}
"""The process ids of the workers of an iterator, by the iterator's id."""
_SIGCHLD_handler_set = False


def _set_worker_pids(key: int, pids: tuple[int, ...]) -> None:
    """Notes the workers that an iterator waits for."""
    _workers[key] = pids


def _remove_worker_pids(key: int) -> None:
    """Forgets them: from now on they may end as they like."""
    _workers.pop(key, None)


def _error_if_any_worker_fails() -> None:
    """Looks at all workers that are waited for, and leaves the status of the dead ones to whoever joins them.

    Raises:
        RuntimeError: one was killed, or ended with another status than 0. The iterator's other workers are forgotten with it.
    """
    for key, pids in list(_workers.items()):
        for pid in pids:
            try:
                status = os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            except ChildProcessError:  # somebody has joined it, or it is our parent's
                continue
            if status is None or status.si_code == os.CLD_EXITED and status.si_status == 0:
                continue
            _remove_worker_pids(key)
            if status.si_code == os.CLD_EXITED:
                raise RuntimeError(f"DataLoader worker (pid {pid}) exited unexpectedly with exit code {status.si_status}. Details are lost "
                                   "due to multiprocessing. Rerunning with num_workers=0 may give better error trace.")
            text = f"DataLoader worker (pid {pid}) is killed by signal: {signal.strsignal(status.si_status)}. "
            if status.si_status == signal.SIGBUS:
                text += ("It is possible that dataloader's workers are out of shared memory. Please try to raise your shared memory "
                         "limit.")
            raise RuntimeError(text)


def _set_SIGCHLD_handler() -> None:
    """Has the main thread raise when a worker dies; once, and only where this thread may ask for it."""
    global _SIGCHLD_handler_set
    if IS_WINDOWS or _SIGCHLD_handler_set or threading.current_thread() is not threading.main_thread():
        return
    previous = signal.getsignal(signal.SIGCHLD)

    def handler(number: int, frame: FrameType | None) -> None:
        _error_if_any_worker_fails()
        if callable(previous):
            previous(number, frame)

    signal.signal(signal.SIGCHLD, handler)
    _SIGCHLD_handler_set = True
