"""A file that only one process has at a time: who makes it goes on, others wait until it is gone."""

from __future__ import annotations

import os
import time

from autograd_tape import warned

from .._calls.absent import absences as _absences


class FileBaton:
    """A baton that is a file.

    Args:
        lock_file_path: the file.
        wait_seconds: how long to wait between two looks at it.
        warn_after_seconds: after how long a wait to warn that nobody may be there to hand it on; never where None.
    """

    def __init__(self, lock_file_path: str, wait_seconds: float = 0.1, warn_after_seconds: float | None = None) -> None:
        self.lock_file_path, self.wait_seconds, self.warn_after_seconds = lock_file_path, wait_seconds, warn_after_seconds
        self.fd: int | None = None

    def try_acquire(self) -> bool:
        """Takes the baton; False where another has it."""
        try:
            self.fd = os.open(self.lock_file_path, os.O_CREAT | os.O_EXCL)
        except FileExistsError:
            return False
        return True

    def wait(self) -> None:
        """Waits until nobody has it."""
        began, told = time.time(), False
        while os.path.exists(self.lock_file_path):
            time.sleep(self.wait_seconds)
            if self.warn_after_seconds is not None and not told and time.time() - began > self.warn_after_seconds:
                warned.warn(f"Waited on lock file \"{self.lock_file_path}\" for {self.warn_after_seconds} seconds.")
                told = True

    def release(self) -> None:
        """Hands it on: the file goes."""
        if self.fd is not None:
            os.close(self.fd)
        os.remove(self.lock_file_path)


_absences(__name__)
