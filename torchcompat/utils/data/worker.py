"""Worker processes of a DataLoader: they fetch batches and send them back."""

from __future__ import annotations

import os
import queue
import random
import traceback
from typing import Any
from collections.abc import Callable

import torchcompat as torch

__all__ = ["get_worker_info"]

_info: "WorkerInfo | None" = None


class WorkerInfo:
    """Which worker this is.

    Attributes:
        id: its number.
        num_workers: how many there are.
        seed: what its random generators were seeded with.
        dataset: its copy of the dataset.
    """

    def __init__(self, id: int, num_workers: int, seed: int, dataset: object) -> None:
        self.id, self.num_workers, self.seed, self.dataset = id, num_workers, seed, dataset

    def __repr__(self) -> str:
        return f"WorkerInfo(id={self.id}, num_workers={self.num_workers}, seed={self.seed}, dataset={self.dataset})"


def get_worker_info() -> WorkerInfo | None:
    """Which worker of a DataLoader this process is; None in the main process."""
    return _info


class Failure:
    """An exception on its way from a worker to the main process."""

    def __init__(self, error: BaseException, where: str) -> None:
        self.type, self.where = type(error), where
        self.text = "".join(traceback.format_exception(error))

    def reraise(self) -> None:
        """Raises an exception of the same type whose message contains the worker's traceback."""
        message = f"Caught {self.type.__name__} {self.where}.\nOriginal {self.text}"
        try:
            error = self.type(message)
        except Exception:  # the type takes other arguments
            raise RuntimeError(message) from None
        raise error


class Resume:
    """What persistent workers are sent before each pass but the first: their part of an iterable dataset begins anew."""


class Finished:
    """What a worker sends when its part of an iterable dataset is over."""


def seed_everything(seed: int) -> None:
    """Seeds the generators of Python, NumPy and torch."""
    import numpy as np

    random.seed(seed)
    torch.manual_seed(seed)
    np.random.seed(np.random.SeedSequence(seed).generate_state(4))


def work(make_fetch: Callable[[], Callable[[Any], Any]], dataset: object, tasks: Any, results: Any, id: int, count: int, base_seed: int,
         init: Callable[[int], Any] | None) -> None:
    """What a worker process does: takes (number, indices) or Resume from `tasks` until None comes, and puts (number, id, batch) into
    `results`."""
    global _info
    where = f"in DataLoader worker process {id}"
    torch.set_num_threads(1)
    seed_everything(base_seed + id)
    _info = WorkerInfo(id, count, base_seed + id, dataset)
    failure = fetch = None
    try:
        if init is not None:
            init(id)
        fetch = make_fetch()
    except Exception as error:
        failure = Failure(error, where)
    while (task := tasks.get()) is not None:
        if task is Resume:
            if failure is None:
                try:
                    fetch = make_fetch()
                except Exception as error:
                    failure, fetch = Failure(error, where), None
            continue
        number, indices = task
        batch: Any = failure
        if fetch is not None:
            try:
                batch = fetch(indices)
            except StopIteration:
                batch = Finished()
            except Exception as error:
                batch = Failure(error, where)
        results.put((number, id, batch))


class Pool:
    """The workers of one pass over the data, or of all passes where they are persistent.

    Args:
        context: of `multiprocessing`, or the name of a start method, or None for the platform's own.
        arguments: for `work`: make_fetch, dataset; and base_seed, init.
        count: number of workers.
        timeout: seconds to wait for a batch; 0 for no limit.
    """

    def __init__(self, context: Any, make_fetch: Any, dataset: Any, count: int, base_seed: int, init: Any, timeout: float) -> None:
        import multiprocessing

        context = multiprocessing.get_context(context) if context is None or isinstance(context, str) else context
        self.results, self.timeout = context.Queue(), timeout
        self.tasks = [context.Queue() for _ in range(count)]
        self.owner, self.processes = os.getpid(), []
        self.sent = 0  # batches given out so far, which numbers them
        for id, tasks in enumerate(self.tasks):
            process = context.Process(target=work, args=(make_fetch, dataset, tasks, self.results, id, count, base_seed, init), daemon=True)
            process.start()
            self.processes.append(process)

    def send(self, worker: int, indices: Any) -> int:
        """Gives a worker a batch to fetch; returns the batch's number."""
        number, self.sent = self.sent, self.sent + 1
        self.tasks[worker].put((number, indices))
        return number

    def resume(self) -> None:
        """Tells the workers that another pass begins."""
        for tasks in self.tasks:
            tasks.put(Resume)

    def receive(self) -> tuple[int, int, Any]:
        """(number, worker, batch) of the batch that is ready first; RuntimeError where none comes."""
        waited = 0.0
        while True:
            try:
                return self.results.get(timeout=1.0)
            except queue.Empty:
                waited += 1.0
            dead = [p.pid for p in self.processes if not p.is_alive()]
            if dead:
                raise RuntimeError(f"DataLoader worker (pid(s) {', '.join(map(str, dead))}) exited unexpectedly")
            if self.timeout and waited >= self.timeout:
                raise RuntimeError(f"DataLoader timed out after {self.timeout} seconds")

    def close(self) -> None:
        """Ends the workers, once; does nothing in a process that was forked while they ran, and does not own them."""
        if os.getpid() != self.owner or not self.processes:
            return
        for tasks in self.tasks:
            tasks.put(None)
        for process in self.processes:
            process.join(timeout=1.0)
            if process.is_alive():
                process.terminate()
                process.join()
        for q in (*self.tasks, self.results):
            q.cancel_join_thread()
            q.close()
        self.processes = []
