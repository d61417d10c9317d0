"""DataLoader: batches of a dataset, fetched here or in worker processes."""

from __future__ import annotations

import contextlib
import errno
import itertools
import math
import multiprocessing as _multiprocessing
import os
import queue
import tempfile
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pickle import PicklingError
from typing import Any, Generic, TypeVar

import torchcompat as torch
from torchcompat._memory.shared import forget_names
from torchcompat._utils import ExceptionWrapper, cpu_count

from autograd_tape import warned
from ..._calls.absent import absences as _absences
from . import _utils
from ._utils.collate import default_collate, default_convert
from ._utils.fetch import _DatasetKind as _DatasetKind, _pipes, _seeded
from ._utils.worker import get_worker_info
from .dataset import Dataset, IterableDataset
from .sampler import BatchSampler, RandomSampler, Sampler, SequentialSampler
from torchcompat.random import Generator

__all__ = ["DataLoader", "default_collate", "default_convert", "get_worker_info"]

T = TypeVar("T", covariant=True)


class _InfiniteConstantSampler(Sampler[None]):
    """None for ever: what an iterable dataset is asked with."""

    def __iter__(self) -> Iterator[None]:
        return itertools.repeat(None)


def _sends(tasks: Any) -> bool:
    """Whether a queue that was written to goes on sending: not where the garbage collector has it, which ends its thread before anything
    else that is garbage with it."""
    return tasks._close is None or tasks._close.still_active()


def _drawn(generator: Generator | None) -> int:
    return int(torch.empty((), dtype=torch.int64).random_(generator=generator).item())


def _sharding_worker_init_fn(worker_init_fn: Callable[[int], Any] | None, world_size: int, rank_id: int, worker_id: int) -> None:
    """What a worker of a data pipe begins with: it takes its own share of the elements."""
    from .graph_settings import apply_sharding

    info = get_worker_info()
    assert info is not None
    apply_sharding(info.dataset, info.num_workers * world_size, worker_id * world_size + rank_id)
    if worker_init_fn is not None:
        worker_init_fn(worker_id)


class DataLoader(Generic[T]):
    """Batches of a dataset.

    Args:
        dataset: samples by number (Dataset) or one after the other (IterableDataset).
        batch_size: samples in a batch; None for single samples.
        shuffle: take samples in random order, a new one each time.
        sampler: the order of the samples, in place of `shuffle`.
        batch_sampler: lists of samples, in place of all of these.
        num_workers: processes that fetch batches; 0 to fetch them here. Batches come in the same order in any case.
        collate_fn: makes a batch of a list of samples.
        pin_memory: accepted; no device here reads page-locked memory.
        drop_last: leave out a last batch that is not full.
        timeout: seconds to wait for a worker's batch; 0 for no limit.
        worker_init_fn: called in each worker with its number.
        multiprocessing_context: a context of `multiprocessing`, or the name of a start method.
        generator: where shuffling and the workers' seeds come from.
        prefetch_factor: batches that each worker fetches ahead; 2 where None.
        persistent_workers: keep the workers, and the state of their random generators, from one pass to the next.
        in_order: False yields batches as they become ready.

    >>> data = torch.utils.data.TensorDataset(torch.arange(5))
    >>> [batch.tolist() for (batch,) in DataLoader(data, batch_size=2)]
    [[0, 1], [2, 3], [4]]
    """

    dataset: Any
    batch_size: int | None
    num_workers: int
    pin_memory: bool
    drop_last: bool
    timeout: float
    sampler: Any
    pin_memory_device: str
    prefetch_factor: int | None
    _iterator: _BaseDataLoaderIter | None
    _initialized = False

    def __init__(self, dataset: Dataset[T], batch_size: int | None = 1, shuffle: bool | None = None,
                 sampler: Sampler | Iterable | None = None,
                 batch_sampler: Iterable[object] | None = None, num_workers: int = 0, collate_fn: Callable[[Any], Any] | None = None,
                 pin_memory: bool = False, drop_last: bool = False, timeout: float = 0, worker_init_fn: Callable[[int], Any] | None = None,
                 multiprocessing_context: object = None, generator: Generator | None = None, *, prefetch_factor: int | None = None,
                 persistent_workers: bool = False, pin_memory_device: str = "", in_order: bool = True) -> None:
        self._check_workers(num_workers, timeout, prefetch_factor, persistent_workers)
        self.dataset, self.num_workers, self.timeout, self.worker_init_fn = dataset, num_workers, timeout, worker_init_fn
        self.prefetch_factor = 2 if num_workers > 0 and prefetch_factor is None else prefetch_factor
        self.pin_memory, self.pin_memory_device, self.in_order = pin_memory, pin_memory_device, in_order
        self.multiprocessing_context, self.persistent_workers = multiprocessing_context, persistent_workers
        pipes = _pipes(dataset)
        if pipes:
            self.dataset = pipes._serializable(dataset)
        self._dataset_kind = _DatasetKind.Iterable if isinstance(dataset, IterableDataset) else _DatasetKind.Map
        if self._dataset_kind == _DatasetKind.Iterable:
            if pipes and shuffle is not None:
                from .graph_settings import apply_shuffle_settings

                apply_shuffle_settings(dataset, shuffle=shuffle)
                shuffle = None
            for name, value in (("shuffle", shuffle or None), ("sampler", sampler), ("batch_sampler", batch_sampler)):
                if value is not None:
                    raise ValueError(f"DataLoader with IterableDataset: expected unspecified {name} option, but got {name}={value}")
        if sampler is not None and shuffle:
            raise ValueError("sampler option is mutually exclusive with shuffle")
        if batch_sampler is not None:
            if batch_size != 1 or shuffle or sampler is not None or drop_last:
                raise ValueError("batch_sampler option is mutually exclusive with batch_size, shuffle, sampler, and drop_last")
            batch_size = None
        elif batch_size is None and drop_last:
            raise ValueError("batch_size=None option disables auto-batching and is mutually exclusive with drop_last")
        order: Any = sampler
        if sampler is None:
            if self._dataset_kind == _DatasetKind.Iterable:
                order = _InfiniteConstantSampler()
            else:
                order = RandomSampler(dataset, generator=generator) if shuffle else SequentialSampler(dataset)
        if batch_size is not None:
            batch_sampler = BatchSampler(order, batch_size, drop_last)
        self.batch_size, self.drop_last, self.sampler, self.batch_sampler = batch_size, drop_last, order, batch_sampler
        self.generator = generator
        self.collate_fn = collate_fn or (default_collate if self._auto_collation else default_convert)
        self._initialized = True
        self._IterableDataset_len_called: int | None = None  # what an iterable dataset said when it was asked
        self._iterator = None
        self.check_worker_number_rationality()

    @staticmethod
    def _check_workers(num_workers: int, timeout: float, prefetch_factor: int | None, persistent: bool) -> None:
        if num_workers < 0:
            raise ValueError("num_workers option should be non-negative; use num_workers=0 to disable multiprocessing.")
        if timeout < 0:
            raise ValueError("timeout option should be non-negative")
        if num_workers == 0 and prefetch_factor is not None:
            raise ValueError("prefetch_factor option could only be specified in multiprocessing.let num_workers > 0 to enable "
                             "multiprocessing, otherwise set prefetch_factor to None.")
        if prefetch_factor is not None and prefetch_factor < 0:
            raise ValueError("prefetch_factor option should be non-negative")
        if persistent and num_workers == 0:
            raise ValueError("persistent_workers option needs num_workers > 0")

    @property
    def multiprocessing_context(self) -> Any:
        """The context of `multiprocessing` that workers are started in; None for its default."""
        return self._context

    @multiprocessing_context.setter
    def multiprocessing_context(self, multiprocessing_context: Any) -> None:
        context = multiprocessing_context
        if context is not None:
            if self.num_workers <= 0:
                raise ValueError("multiprocessing_context can only be used with multi-process loading (num_workers > 0), but got "
                                 f"num_workers={self.num_workers}")
            if isinstance(context, str):
                methods = _multiprocessing.get_all_start_methods()
                if context not in methods:
                    raise ValueError(f"multiprocessing_context option should specify a valid start method in {methods!r}, but got "
                                     f"multiprocessing_context={context!r}")
                context = _multiprocessing.get_context(context)
            if not isinstance(context, _multiprocessing.context.BaseContext):
                raise TypeError("multiprocessing_context option should be a valid context object or a string specifying the start method, "
                                f"but got multiprocessing_context={context}")
        self._context = context

    def __setattr__(self, attr: str, val: object) -> None:
        if self._initialized and attr in ("batch_size", "batch_sampler", "sampler", "drop_last", "dataset", "persistent_workers"):
            raise ValueError(f"{attr} attribute should not be set after {type(self).__name__} is initialized")
        super().__setattr__(attr, val)

    @property
    def _auto_collation(self) -> bool:
        return self.batch_sampler is not None

    @property
    def _index_sampler(self) -> Any:
        return self.batch_sampler if self._auto_collation else self.sampler

    def __len__(self) -> int:
        if self._dataset_kind == _DatasetKind.Map:
            return len(self._index_sampler)
        n = self._IterableDataset_len_called = len(self.dataset)
        if self.batch_size is None:
            return n
        return n // self.batch_size if self.drop_last else math.ceil(n / self.batch_size)

    def check_worker_number_rationality(self) -> None:
        """Warns where there are to be more workers than processors."""
        most = cpu_count()
        if not self.num_workers or most is not None and self.num_workers <= most:
            return
        known = ("DataLoader is not able to compute a suggested max number of worker in current system." if most is None else
                 f"Our suggested max number of worker in current system is {most}"
                 f"{'' if hasattr(os, 'sched_getaffinity') else ' (`cpuset` is not taken into account)'}, which is smaller than what this "
                 "DataLoader is going to create.")
        warned.warn(f"This DataLoader will create {self.num_workers} worker processes in total. {known} Please be aware that excessive "
                    "worker creation might get DataLoader running slow or even freeze, lower the worker number to avoid potential "
                    "slowness/freeze if necessary.")

    def _get_iterator(self) -> _BaseDataLoaderIter:
        if self.num_workers == 0:
            return _SingleProcessDataLoaderIter(self)
        self.check_worker_number_rationality()
        return _MultiProcessingDataLoaderIter(self)

    def __iter__(self) -> _BaseDataLoaderIter:
        if not self.persistent_workers or self.num_workers <= 0:
            return self._get_iterator()
        if self._iterator is None:
            self._iterator = self._get_iterator()
        else:
            self._iterator._reset(self)
        return self._iterator


class _BaseDataLoaderIter:
    """One pass over the data; with persistent workers one after the other. Subclasses define `_next_data`."""

    def __init__(self, loader: DataLoader[Any]) -> None:
        self._dataset = loader.dataset
        self._shared_seed: int | None = None
        self._pg = None  # no group of processes shares the seed
        self._seed_pipes(loader)
        self._dataset_kind, self._IterableDataset_len_called = loader._dataset_kind, loader._IterableDataset_len_called
        self._auto_collation, self._drop_last, self._index_sampler = loader._auto_collation, loader.drop_last, loader._index_sampler
        self._num_workers, self._world_size, self._rank = loader.num_workers, 1, 0
        if loader.pin_memory and loader.pin_memory_device:
            warned.warn("pin_memory_device is deprecated, the current accelerator will be used as the device,ignore "
                        f"pin_memory_device='{loader.pin_memory_device}'.")
        if loader.pin_memory:
            warned.warn("'pin_memory' argument is set as true but no accelerator is found, then device pinned memory won't be used.")
        self._pin_memory, self._pin_memory_device = False, None
        self._timeout, self._collate_fn = loader.timeout, loader.collate_fn
        self._sampler_iter = iter(self._index_sampler)
        self._base_seed = _drawn(loader.generator)  # with or without workers, so that the numbers that follow are the same
        self._persistent_workers, self._num_yielded = loader.persistent_workers, 0
        self._profile_name = f"enumerate(DataLoader)#{type(self).__name__}.__next__"

    def _seed_pipes(self, loader: DataLoader[Any]) -> None:
        if _pipes(self._dataset, "Iter"):
            self._shared_seed = _drawn(loader.generator)
            self._dataset = _seeded(self._dataset, self._shared_seed)

    def __iter__(self) -> _BaseDataLoaderIter:
        return self

    def _reset(self, loader: DataLoader[Any], first_iter: bool = False) -> None:
        self._sampler_iter = iter(self._index_sampler)
        self._num_yielded = 0
        self._IterableDataset_len_called = loader._IterableDataset_len_called
        self._seed_pipes(loader)

    def _next_index(self) -> Any:
        return next(self._sampler_iter)

    def _next_data(self) -> Any:
        raise NotImplementedError

    def __next__(self) -> Any:
        with torch.autograd.profiler.record_function(self._profile_name):
            batch = self._next_data()
        self._num_yielded += 1
        most = self._IterableDataset_len_called
        if most is not None and self._num_yielded > most and self._dataset_kind == _DatasetKind.Iterable:
            text = (f"Length of IterableDataset {self._dataset} was reported to be {most}(when accessing len(dataloader)), but "
                    f"{self._num_yielded} samples have been fetched. ")
            if self._num_workers > 0:
                text += ("For multiprocessing data-loading, this could be caused by not properly configuring the IterableDataset replica "
                         "at each worker. Please see https://pytorch.org/docs/stable/data.html#torch.utils.data.IterableDataset for "
                         "examples.")
            warned.warn(text)
        return batch

    def __len__(self) -> int:
        return len(self._index_sampler)

    def __getstate__(self) -> object:
        raise NotImplementedError("{} cannot be pickled", type(self).__name__)


class _SingleProcessDataLoaderIter(_BaseDataLoaderIter):
    """A pass whose batches are fetched here."""

    def __init__(self, loader: DataLoader[Any]) -> None:
        super().__init__(loader)
        if self._timeout != 0:
            raise AssertionError("_SingleProcessDataLoaderIter requires timeout == 0")
        if self._num_workers != 0:
            raise AssertionError("_SingleProcessDataLoaderIter requires num_workers == 0")
        if _pipes(self._dataset):
            from .graph_settings import apply_sharding

            apply_sharding(self._dataset, self._world_size, self._rank)
        self._dataset_fetcher = _DatasetKind.create_fetcher(self._dataset_kind, self._dataset, self._auto_collation, self._collate_fn,
                                                            self._drop_last)

    def _next_data(self) -> Any:
        return self._dataset_fetcher.fetch(self._next_index())


class _MultiProcessingDataLoaderIter(_BaseDataLoaderIter):
    """A pass, or several, whose batches workers fetch.

    Batches are numbered in the order of the sampler (`_send_idx`, `_rcvd_idx`), and given to the workers in turn, each of which has a queue
    of its own; they put what they fetch into one queue. `_task_info` has by number (worker,) while a batch is waited for, and
    (worker, batch) when it came before its turn.
    """

    _shutdown = True  # until there are workers

    def __init__(self, loader: DataLoader[Any]) -> None:
        super().__init__(loader)
        self._prefetch_factor, self._in_order = loader.prefetch_factor or 0, loader.in_order
        if self._num_workers <= 0:
            raise AssertionError("num_workers must be greater than 0 for MultiProcessingDataLoaderIter")
        if self._prefetch_factor <= 0:
            raise AssertionError("prefetch_factor must be greater than 0 for MultiProcessingDataLoaderIter")
        context = torch.multiprocessing if loader.multiprocessing_context is None else loader.multiprocessing_context
        self._worker_init_fn = loader.worker_init_fn
        if _pipes(self._dataset):
            self._worker_init_fn = partial(_sharding_worker_init_fn, self._worker_init_fn, self._world_size, self._rank)
        self._worker_result_queue = self._data_queue = context.Queue()
        self._worker_pids_set, self._shutdown = False, False
        self._workers_done_event = context.Event()
        self._index_queues: list[Any] = []
        self._workers: list[Any] = []
        self._workers_status: list[bool] = []
        for i in range(self._num_workers):
            self._start(context, i)
        _utils.signal_handling._set_worker_pids(id(self), tuple([w.pid for w in self._workers]))
        _utils.signal_handling._set_SIGCHLD_handler()
        self._worker_pids_set = True
        self._reset(loader, first_iter=True)

    def _start(self, context: Any, i: int) -> None:
        """Starts a worker."""
        tasks = context.Queue()
        tasks.cancel_join_thread()
        process = context.Process(daemon=True, target=_utils.worker._worker_loop, args=(
            self._dataset_kind, self._dataset, tasks, self._worker_result_queue, self._workers_done_event, self._auto_collation,
            self._collate_fn, self._drop_last, self._base_seed, self._worker_init_fn, i, self._num_workers, self._persistent_workers,
            self._shared_seed))
        try:
            process.start()
        except (TypeError, AttributeError, PicklingError):
            warned.warn(
              "Got pickle error when attempting to start a worker Process. This might be because the worker Process arguments are not "
              "picklable. Python 3.14+ changed the multiprocessing start method in non-Mac POSIX platforms to 'forkserver', which "
              "requires the worker Process arguments to be picklable. You can also try multiprocessing.set_start_method('fork').")
            raise
        self._index_queues.append(tasks)
        self._workers.append(process)
        self._workers_status.append(True)

    def _reset(self, loader: DataLoader[Any], first_iter: bool = False) -> None:
        super()._reset(loader, first_iter)
        self._send_idx = self._rcvd_idx = self._tasks_outstanding = 0
        self._task_info: dict[int, tuple[Any, ...]] = {}
        self._workers_status = [True] * self._num_workers
        self._workers_num_tasks = [0] * self._num_workers
        self._worker_queue_idx_cycle = itertools.cycle(range(self._num_workers))
        if not first_iter:
            for tasks in self._index_queues:
                tasks.put(_utils.worker._ResumeIteration(self._shared_seed))
            awaited = self._num_workers  # what comes before is of a pass that was given up
            while awaited:
                awaited -= isinstance(self._get_data()[0], _utils.worker._ResumeIteration)
        for _ in range(self._prefetch_factor * self._num_workers):
            self._try_put_index()

    def _try_get_data(self, timeout: float = _utils.MP_STATUS_CHECK_INTERVAL) -> tuple[bool, Any]:
        """Whether something came in time, and it.

        Raises:
            RuntimeError: a worker has died; or no file can be opened any more, which batches may come in.
        """
        try:
            return True, self._data_queue.get(timeout=timeout)
        except Exception as error:
            dead = [i for i, w in enumerate(self._workers) if self._workers_status[i] and not w.is_alive()]
            for i in dead:
                self._mark_worker_as_unavailable(i)
            if dead:
                pids = ", ".join([str(self._workers[i].pid) for i in dead])
                raise RuntimeError(f"DataLoader worker (pid(s) {pids}) exited unexpectedly") from error
            if isinstance(error, queue.Empty):
                return False, None
            self._check_open_files()
            raise

    @staticmethod
    def _check_open_files() -> None:
        try:
            with contextlib.ExitStack() as stack:
                for _ in range(10):
                    stack.enter_context(tempfile.NamedTemporaryFile())
        except OSError as error:
            if error.errno == errno.EMFILE:
                raise RuntimeError(
                    "Too many open files. Communication with the workers is no longer possible. Please increase the limit using `ulimit "
                    "-n` in the shell or change the sharing strategy by calling "
                    "`torch.multiprocessing.set_sharing_strategy('file_system')` at the beginning of your code") from None

    def _get_data(self) -> tuple[Any, Any]:
        """(number, batch) of the batch that comes next.

        Raises:
            RuntimeError: none came in time.
        """
        if self._timeout > 0:
            success, data = self._try_get_data(self._timeout)
            if not success:
                raise RuntimeError(f"DataLoader timed out after {self._timeout} seconds")
            return data
        success = False
        while not success:
            success, data = self._try_get_data()
        return data

    def _next_data(self) -> Any:
        while True:
            while self._rcvd_idx < self._send_idx:
                info = self._task_info.get(self._rcvd_idx)
                if info and (len(info) == 2 or self._workers_status[info[0]]):
                    break
                self._task_info.pop(self._rcvd_idx, None)  # its worker had nothing left
                self._rcvd_idx += 1
            else:
                if not self._persistent_workers:
                    self._shutdown_workers()
                raise StopIteration
            if len(info) == 2:
                worker, batch = self._task_info.pop(self._rcvd_idx)
                self._rcvd_idx += 1
                return self._process_data(batch, worker)
            if self._shutdown or self._tasks_outstanding <= 0:
                raise AssertionError("Invalid iterator state: shutdown or no outstanding tasks when fetching next data")
            number, batch = self._get_data()
            self._tasks_outstanding -= 1
            if isinstance(batch, _utils.worker._IterableDatasetStopIteration):
                if self._persistent_workers:
                    self._workers_status[batch.worker_id] = False
                else:
                    self._mark_worker_as_unavailable(batch.worker_id)
                self._try_put_index()
            elif number != self._rcvd_idx and self._in_order:
                self._task_info[number] += (batch,)
            else:
                self._rcvd_idx += number == self._rcvd_idx
                return self._process_data(batch, self._task_info.pop(number)[0])

    def _try_put_index(self) -> None:
        """Asks the next worker that has any left for the next batch, where there is one."""
        most = self._prefetch_factor * self._num_workers
        if self._tasks_outstanding >= most:
            raise AssertionError("Number of outstanding tasks exceeded maximum allowed tasks")
        try:
            indices = self._next_index()
        except StopIteration:
            return
        for worker in itertools.islice(self._worker_queue_idx_cycle, self._num_workers):
            if self._workers_status[worker] and (
                    self._in_order or self._workers_num_tasks[worker] < most // sum(self._workers_status)):
                break
        else:
            return
        self._index_queues[worker].put((self._send_idx, indices))
        self._task_info[self._send_idx] = (worker,)
        self._workers_num_tasks[worker] += 1
        self._tasks_outstanding += 1
        self._send_idx += 1

    def _process_data(self, data: Any, worker_idx: int) -> Any:
        self._workers_num_tasks[worker_idx] -= 1
        self._try_put_index()
        if isinstance(data, ExceptionWrapper):
            data.reraise()
        return data

    def _mark_worker_as_unavailable(self, worker_id: int, shutdown: bool = False) -> None:
        """Lets a worker end, which has nothing left to do or is dead."""
        if not (self._workers_status[worker_id] or self._persistent_workers or shutdown):
            raise AssertionError("Worker status inconsistent when marking worker as unavailable")
        self._index_queues[worker_id].put(None)
        self._workers_status[worker_id] = False
        if self._workers_done_event.is_set() != shutdown:
            raise AssertionError("_workers_done_event state does not match shutdown flag")

    def _shutdown_workers(self) -> None:
        """Ends the workers, once; not while the interpreter ends, which ends them itself, nor in a process that was forked while they ran,
        and does not own them."""
        if _utils is None or _utils.python_exit_status is not False or self._shutdown:
            return
        self._shutdown = True
        if any([w._parent_pid != os.getpid() for w in self._workers]):
            return
        try:
            self._workers_done_event.set()
            for i in range(len(self._workers)):
                if self._persistent_workers or self._workers_status[i]:
                    self._mark_worker_as_unavailable(i, shutdown=True)
            for w, tasks in zip(self._workers, self._index_queues):
                if _sends(tasks):
                    w.join(timeout=_utils.MP_STATUS_CHECK_INTERVAL)
            for tasks in self._index_queues:
                tasks.cancel_join_thread()
                tasks.close()
        finally:
            if self._worker_pids_set:
                _utils.signal_handling._remove_worker_pids(id(self))
                self._worker_pids_set = False
            for w in self._workers:
                if w.is_alive():
                    w.terminate()
                    w.join(timeout=_utils.MP_STATUS_CHECK_INTERVAL)
            forget_names([w.pid for w in self._workers])

    def __del__(self) -> None:
        self._shutdown_workers()


_absences(__name__)
