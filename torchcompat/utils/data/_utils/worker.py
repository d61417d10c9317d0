"""Worker processes of a DataLoader: they fetch batches and send them back."""

from __future__ import annotations

import os
import queue
import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import torchcompat as torch
from autograd_tape.annotations import Fn
from torchcompat._memory import shared
from torchcompat.multiprocessing._prctl import _set_thread_name
from torchcompat._utils import ExceptionWrapper

from .fetch import _DatasetKind, _seeded
from .signal_handling import MP_STATUS_CHECK_INTERVAL

__all__ = ["get_worker_info"]

_worker_info: WorkerInfo | None = None


@dataclass(frozen=True, slots=True)
class WorkerInfo:
    """Which worker this is.

    Attributes:
        id: its number.
        num_workers: how many there are.
        seed: what its random generators were seeded with.
        dataset: its copy of the dataset.
        rng: generators of its own; None, a process has its own anyway.
        worker_method: "multiprocessing".
    """

    id: int
    num_workers: int
    seed: int
    dataset: Any
    rng: object = None
    worker_method: str | None = "multiprocessing"


def get_worker_info() -> WorkerInfo | None:
    """Which worker of a DataLoader this process is; None in the main process."""
    return _worker_info


@dataclass(frozen=True)
class _IterableDatasetStopIteration:
    """What a worker sends when its part of an iterable dataset is over."""

    worker_id: int


@dataclass(frozen=True)
class _ResumeIteration:
    """What persistent workers are sent before each pass but the first, and send back: their part of the data begins anew."""

    seed: int | None = None


class ManagerWatchdog:
    """Looks whether the process that started this one is still there."""

    def __init__(self) -> None:
        self.manager_pid, self.manager_dead = os.getppid(), False

    def is_alive(self) -> bool:
        """Whether it is."""
        self.manager_dead = self.manager_dead or os.getppid() != self.manager_pid
        return not self.manager_dead


def _generate_state(base_seed: int, worker_id: int) -> list[int]:
    """What a worker seeds NumPy's generator with: another stream than Python's generator has of the same seed."""
    entropy = [worker_id, base_seed & 0xFFFFFFFF, base_seed >> 32, 0]
    return [int(word) for word in np.random.SeedSequence(entropy).generate_state(4)]


def _worker_loop(dataset_kind: int, dataset: Any, index_queue: Any, data_queue: Any, done_event: Any, auto_collation: bool, collate_fn: Fn,
                 drop_last: bool, base_seed: int, init_fn: Callable[[int], Any] | None, worker_id: int, num_workers: int,
                 persistent_workers: bool, shared_seed: int | None) -> None:
    """What a worker process does: takes (number, indices) or _ResumeIteration from `index_queue` until None comes, and puts (number, batch)
    into `data_queue`. It ends, too, where the process that started it does."""
    global _worker_info
    try:
        _set_thread_name("pt_data_worker")
        torch.set_num_threads(1)
        shared.in_worker = shared.by_name = True  # there are many batches, and descriptors are few, and cost a connection each
        random.seed(base_seed + worker_id)
        torch.manual_seed(base_seed + worker_id)
        np.random.seed(_generate_state(base_seed, worker_id))
        dataset = _seeded(dataset, shared_seed)
        _worker_info = WorkerInfo(worker_id, num_workers, base_seed + worker_id, dataset)
        where = f"in DataLoader worker process {worker_id}"
        failure: ExceptionWrapper | None = None
        fetcher: Any = None
        ended = False  # this worker's part of an iterable dataset
        try:
            if init_fn is not None:
                init_fn(worker_id)
            fetcher = _DatasetKind.create_fetcher(dataset_kind, dataset, auto_collation, collate_fn, drop_last)
        except Exception:
            failure = ExceptionWrapper(where=where)
        manager = ManagerWatchdog()
        while manager.is_alive():
            try:
                task = index_queue.get(timeout=MP_STATUS_CHECK_INTERVAL)
            except queue.Empty:
                continue
            if task is None:
                break
            if isinstance(task, _ResumeIteration):
                data_queue.put((task, None))
                ended, dataset = False, _seeded(dataset, task.seed)
                try:
                    fetcher = _DatasetKind.create_fetcher(dataset_kind, dataset, auto_collation, collate_fn, drop_last)
                except Exception:
                    failure = ExceptionWrapper(where=where)
                continue
            if done_event.is_set() or ended:
                continue
            number, indices = task
            batch: Any
            if failure is not None:
                batch, failure = failure, None
            else:
                try:
                    batch = fetcher.fetch(indices)
                except Exception as error:
                    ended = isinstance(error, StopIteration) and dataset_kind == _DatasetKind.Iterable
                    batch = _IterableDatasetStopIteration(worker_id) if ended else ExceptionWrapper(where=where)
            data_queue.put((number, batch))
            del batch, task, indices  # their memory is not needed while this waits for the next
    except KeyboardInterrupt:
        pass  # the main process is interrupted, too, and says so
    if done_event.is_set():
        data_queue.cancel_join_thread()
        data_queue.close()
