"""DataLoader: batches of a dataset, fetched here or in worker processes."""

from __future__ import annotations

import itertools
import math
import warnings
import weakref
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, TypeVar
from collections.abc import Callable, Iterable, Iterator

import torchcompat as torch

from ..._calls.absent import absences as _absences
from .collate import default_collate, default_convert
from .dataset import IterableDataset
from .sampler import BatchSampler, RandomSampler, Sampler, SequentialSampler
from .worker import Failure, Finished, Pool

if TYPE_CHECKING:
    from torchcompat.random import Generator

__all__ = ["DataLoader", "default_collate", "default_convert"]

T = TypeVar("T", covariant=True)


class _DatasetKind:
    """Whether samples come by number or one after the other."""

    Map, Iterable = 0, 1


class _InfiniteConstantSampler(Sampler[None]):
    """None for ever: what an iterable dataset is asked with."""

    def __iter__(self) -> Iterator[None]:
        return itertools.repeat(None)


def _fetch_map(dataset: Any, batched: bool, collate: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def fetch(indices: list[int]) -> object:
        if not batched:
            return collate(dataset[indices])
        if callable(getattr(dataset, "__getitems__", None)):
            return collate(dataset.__getitems__(indices))
        return collate([dataset[i] for i in indices])

    return fetch


def _fetch_iterable(dataset: Any, batched: bool, collate: Callable[[Any], Any], drop_last: bool) -> Callable[[Any], Any]:
    samples = iter(dataset)

    def fetch(indices: list[None]) -> object:
        if not batched:
            return collate(next(samples))
        batch = list(itertools.islice(samples, len(indices)))
        if not batch or drop_last and len(batch) < len(indices):
            raise StopIteration
        return collate(batch)

    return fetch


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

    _initialized = False
    _iterator: "_Iterator | None" = None  # where workers are persistent

    def __init__(self, dataset: Any, batch_size: int | None = 1, shuffle: bool | None = None, sampler: Sampler | Iterable | None = None,
                 batch_sampler: Iterable[object] | None = None, num_workers: int = 0, collate_fn: Callable[[Any], Any] | None = None,
                 pin_memory: bool = False, drop_last: bool = False, timeout: float = 0, worker_init_fn: Callable[[int], Any] | None = None,
                 multiprocessing_context: object = None, generator: Generator | None = None, *, prefetch_factor: int | None = None,
                 persistent_workers: bool = False, pin_memory_device: str = "", in_order: bool = True) -> None:
        self._check_workers(num_workers, timeout, prefetch_factor, persistent_workers, multiprocessing_context)
        self.dataset, self.num_workers, self.timeout, self.worker_init_fn = dataset, num_workers, timeout, worker_init_fn
        self.prefetch_factor = 2 if num_workers > 0 and prefetch_factor is None else prefetch_factor
        self.pin_memory, self.pin_memory_device, self.in_order = pin_memory, pin_memory_device, in_order
        self.multiprocessing_context, self.persistent_workers = multiprocessing_context, persistent_workers
        self._dataset_kind = _DatasetKind.Iterable if isinstance(dataset, IterableDataset) else _DatasetKind.Map
        if self._dataset_kind == _DatasetKind.Iterable:
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

    @staticmethod
    def _check_workers(num_workers: int, timeout: float, prefetch_factor: int | None, persistent: bool, context: object) -> None:
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
        if context is not None and num_workers == 0:
            raise ValueError("multiprocessing_context can only be used with multi-process loading (num_workers > 0), but got "
                             f"num_workers={num_workers}")
        if isinstance(context, str):
            import multiprocessing

            methods = multiprocessing.get_all_start_methods()
            if context not in methods:
                raise ValueError(f"multiprocessing_context option should specify a valid start method in {methods!r}, but got "
                                 f"multiprocessing_context={context!r}")

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
        n = len(self.dataset)
        if self.batch_size is None:
            return n
        return n // self.batch_size if self.drop_last else math.ceil(n / self.batch_size)

    def _make_fetch(self) -> Callable[[], Callable[[Any], Any]]:
        if self._dataset_kind == _DatasetKind.Map:
            return partial(_fetch_map, self.dataset, self._auto_collation, self.collate_fn)
        return partial(_fetch_iterable, self.dataset, self._auto_collation, self.collate_fn, self.drop_last)

    def __iter__(self) -> Iterator[Any]:
        if not self.persistent_workers:
            return _Iterator(self)
        if self._iterator is None:
            self._iterator = _Iterator(self)
        else:
            self._iterator.restart()
        return self._iterator


class _Iterator:
    """One pass over the data; with persistent workers one after the other."""

    def __init__(self, loader: DataLoader[Any]) -> None:
        self.loader, self.yielded = loader, 0
        iterable = loader._dataset_kind == _DatasetKind.Iterable
        self.expected = len(loader) if iterable and hasattr(loader.dataset, "__len__") else None
        indices = iter(loader._index_sampler)
        # Drawn whether or not there are workers, as torch does, so that the numbers that follow are the same.
        base_seed = int(torch.empty((), dtype=torch.int64).random_(generator=loader.generator).item())
        self.pool: Pool | None = None
        if not loader.num_workers:
            self.batches = _fetched_here(loader, indices)
            return
        pool = Pool(loader.multiprocessing_context, loader._make_fetch(), loader.dataset, loader.num_workers, base_seed,
                    loader.worker_init_fn, loader.timeout)
        if loader.persistent_workers:
            self.pool = pool
            weakref.finalize(self, pool.close)
        self._start(pool, indices)

    def _start(self, pool: Pool, indices: Iterator[object]) -> None:
        self.batches = _fetched_by_workers(self.loader, indices, pool, self.pool is None)
        next(self.batches)  # the first batches are asked for at once, so that what the sampler draws is drawn now

    def restart(self) -> None:
        """Begins another pass with the same workers."""
        assert self.pool is not None
        self.yielded = 0
        indices = iter(self.loader._index_sampler)
        self.pool.resume()
        self._start(self.pool, indices)

    def __iter__(self) -> "_Iterator":
        return self

    def __next__(self) -> Any:
        batch = next(self.batches)
        self.yielded += 1
        if self.expected is not None and self.yielded == self.expected + 1:
            warnings.warn(f"Length of IterableDataset {self.loader.dataset} was reported to be {self.expected}(when accessing "
                          f"len(dataloader)), but {self.yielded} samples have been fetched. ", stacklevel=2)
        return batch

    def __len__(self) -> int:
        return len(self.loader)


def _fetched_here(loader: DataLoader[object], batches: Iterator[object]) -> Iterator[Any]:
    fetch = loader._make_fetch()()
    for indices in batches:
        try:
            batch = fetch(indices)
        except StopIteration:
            return
        yield batch


# No method: the generator must die with the last reference to the iterator, and end the workers, so it may not refer back to it.
def _fetched_by_workers(loader: DataLoader[object], batches: Iterator[object], pool: Pool, close: bool) -> Iterator[Any]:
    """The batches, after a None that comes when the first ones have been asked for."""
    try:
        running = set(range(loader.num_workers))
        turns = itertools.cycle(range(loader.num_workers))
        waiting: set[int] = set()
        ready: dict[int, object] = {}

        def send() -> None:
            for indices in itertools.islice(batches, 1) if running else ():
                waiting.add(pool.send(next(worker for worker in turns if worker in running), indices))

        for _ in range((loader.prefetch_factor or 1) * loader.num_workers):
            send()
        yield None
        while waiting or ready:
            wanted = min([*waiting, *ready]) if loader.in_order else next(iter(ready), None)
            while wanted not in ready:
                number, worker, batch = pool.receive()
                if number not in waiting:  # of a pass before that was given up
                    continue
                waiting.remove(number)
                ready[number] = batch
                if isinstance(batch, Finished):
                    running.discard(worker)
                wanted = wanted if loader.in_order else number
            batch = ready.pop(wanted)
            send()
            if isinstance(batch, Failure):
                batch.reraise()
            if not isinstance(batch, Finished):
                yield batch
    finally:
        if close:
            pool.close()


__getattr__ = _absences(__name__)
