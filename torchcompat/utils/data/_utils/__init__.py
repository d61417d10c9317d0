"""What loaders are made of: fetching samples, making batches of them, and the worker processes that do both."""

from __future__ import annotations

import atexit
import multiprocessing.util  # noqa: F401  # before the line below is registered, so that it runs before this has ended the workers

from torchcompat._utils import ExceptionWrapper as ExceptionWrapper

from .signal_handling import IS_WINDOWS as IS_WINDOWS, MP_STATUS_CHECK_INTERVAL as MP_STATUS_CHECK_INTERVAL

HAS_NUMPY = True
python_exit_status = False
"""Whether the interpreter is on its way out, when processes are not to be waited for any more."""


def _set_python_exit_flag() -> None:
    global python_exit_status
    python_exit_status = True


atexit.register(_set_python_exit_flag)

from . import collate, fetch, pin_memory, signal_handling, worker  # noqa: E402  # they read what stands above
