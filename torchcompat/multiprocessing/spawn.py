"""Starting several processes that run one function, and waiting for them: `spawn`."""

from __future__ import annotations

import multiprocessing
import multiprocessing.connection
import pickle
import signal
import sys
import tempfile
import time
import traceback
from pathlib import Path
from typing import Any
from collections.abc import Callable

from autograd_tape import warned
from ._prctl import _prctl_pr_set_pdeathsig


class ProcessException(Exception):
    """A process that was started failed.

    Attributes:
        error_index: which one.
        error_pid: its process id.
    """

    def __init__(self, msg: str, error_index: int, error_pid: int) -> None:
        super().__init__(msg)
        self.msg, self.error_index, self.error_pid = msg, error_index, error_pid

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.msg, self.error_index, self.error_pid)


class ProcessRaisedException(ProcessException):
    """The function raised in one of the processes."""


class ProcessExitedException(ProcessException):
    """A process ended by a signal, or with another status than 0.

    Attributes:
        exit_code: its status.
        signal_name: the signal's name, if it was one.
    """

    def __init__(self, msg: str, error_index: int, error_pid: int, exit_code: int, signal_name: str | None = None) -> None:
        super().__init__(msg, error_index, error_pid)
        self.exit_code, self.signal_name = exit_code, signal_name

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.msg, self.error_index, self.error_pid, self.exit_code, self.signal_name)


def _run(fn: Callable[..., None], i: int, args: tuple[object, ...], error_file: str) -> None:
    _prctl_pr_set_pdeathsig(signal.SIGINT)
    try:
        fn(i, *args)
    except KeyboardInterrupt:
        pass  # the parent was interrupted, too, and says so
    except Exception:
        Path(error_file).write_bytes(pickle.dumps(traceback.format_exc()))
        sys.exit(1)


class ProcessContext:
    """Processes that were started together."""

    def __init__(self, processes: list[Any], error_files: list[str]) -> None:
        self.processes, self.error_files = processes, error_files
        self.sentinels = {process.sentinel: i for i, process in enumerate(processes)}

    def pids(self) -> list[int]:
        """Their process ids."""
        return [int(process.pid) for process in self.processes]

    def join(self, timeout: float | None = None, grace_period: float | None = None) -> bool:
        """Waits until one ends; whether all have. Where one failed the others are ended, after `grace_period` seconds.

        Raises:
            ProcessRaisedException: the function raised in one; with its traceback.
            ProcessExitedException: one ended otherwise.
        """
        if not self.sentinels:
            return True
        failed = None
        for sentinel in multiprocessing.connection.wait(self.sentinels.keys(), timeout):
            i = self.sentinels.pop(sentinel)
            self.processes[i].join()
            if self.processes[i].exitcode != 0:
                failed = i
                break
        if failed is None:
            return not self.sentinels
        self._end(grace_period)
        raise self._failure(failed)

    def _join_procs_with_timeout(self, timeout: float) -> None:
        """Waits for all of them, as long altogether."""
        until = time.monotonic() + timeout
        for process in self.processes:
            process.join(max(0, until - time.monotonic()))

    def _end(self, grace_period: float | None) -> None:
        if grace_period is not None:
            self._join_procs_with_timeout(grace_period)
        for process in self.processes:
            if process.is_alive():
                process.terminate()
        self._join_procs_with_timeout(30 if grace_period is None else grace_period)
        for process in self.processes:
            if process.is_alive():
                process.kill()
                process.join()

    def _failure(self, i: int) -> ProcessException:
        process, file = self.processes[i], Path(self.error_files[i])
        if file.stat().st_size:
            text = pickle.loads(file.read_bytes())
            return ProcessRaisedException(f"\n\n-- Process {i} terminated with the following error:\n{text}", i, process.pid)
        code = process.exitcode
        if code < 0:
            try:
                name = signal.Signals(-code).name
            except ValueError:
                name = f"<Unknown signal {-code}>"
            return ProcessExitedException(f"process {i} terminated with signal {name}", i, process.pid, code, name)
        return ProcessExitedException(f"process {i} terminated with exit code {code}", i, process.pid, code)


class SpawnContext(ProcessContext):
    """The old name of ProcessContext."""

    def __init__(self, processes: list[Any], error_files: list[str]) -> None:
        warned.warn("SpawnContext is renamed to ProcessContext since 1.4 release.")
        super().__init__(processes, error_files)


def start_processes(fn: Callable[..., None], args: tuple[object, ...] = (), nprocs: int = 1, join: bool = True, daemon: bool = False,
                    start_method: str = "spawn") -> ProcessContext | None:
    """Starts `nprocs` processes that run `fn(i, *args)`, and waits for them with `join`; else gives their context."""
    context = multiprocessing.get_context(start_method)
    folder = tempfile.TemporaryDirectory(prefix="torch_errors_")
    processes: list[object] = []
    files = []
    for i in range(nprocs):
        file = Path(folder.name) / str(i)
        file.touch()
        files.append(str(file))
        process = context.Process(target=_run, args=(fn, i, args, files[-1]), daemon=daemon)  # type: ignore[attr-defined]
        process.start()
        processes.append(process)
    found = ProcessContext(processes, files)
    found._folder = folder  # type: ignore[attr-defined]  # lives as long as the context
    if not join:
        return found
    while not found.join():
        pass
    return None


def spawn(fn: Callable[..., None], args: tuple[object, ...] = (), nprocs: int = 1, join: bool = True, daemon: bool = False,
          start_method: str = "spawn") -> ProcessContext | None:
    """Starts `nprocs` fresh interpreters that run `fn(i, *args)`.

    Raises:
        ProcessRaisedException, ProcessExitedException: one of them failed; the others were ended.
    """
    if start_method != "spawn":
        warned.warn(f"This method only supports start_method=spawn (got: {start_method}).\nTo use a different start_method use:\n\t\t"
                    " torch.multiprocessing.start_processes(...)", FutureWarning)
    return start_processes(fn, args, nprocs, join, daemon, start_method="spawn")
