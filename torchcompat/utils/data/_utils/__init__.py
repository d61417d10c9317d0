"""What loaders are made of: fetching samples, making batches of them, and the worker processes that do both."""

from __future__ import annotations

import atexit
import multiprocessing.util  # noqa: F401  # before the line below is registered, so that it runs before this has ended the workers
import sys

from torchcompat._utils import ExceptionWrapper as ExceptionWrapper

IS_WINDOWS = sys.platform == "win32"
HAS_NUMPY = True
MP_STATUS_CHECK_INTERVAL = 5.0
"""Seconds after which whoever waits for another process looks whether that is still alive."""
python_exit_status = False
"""Whether the interpreter is on its way out, when processes are not to be waited for any more."""


def _set_python_exit_flag() -> None:
    global python_exit_status
    python_exit_status = True


atexit.register(_set_python_exit_flag)

from . import collate, fetch, pin_memory, signal_handling, worker  # noqa: E402  # they read what stands above
