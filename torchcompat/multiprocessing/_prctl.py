"""What Linux is asked for a process or thread."""

from __future__ import annotations

import ctypes
import sys


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
