"""How a loader, or its worker, gets a batch from a dataset."""

from __future__ import annotations

import sys
from itertools import islice
from typing import Any

import torchcompat as torch
from autograd_tape.annotations import Fn

__all__: list[str] = []


class _BaseDatasetFetcher:
    """Makes batches of a dataset; subclasses define `fetch`.

    Args:
        dataset: where samples come from.
        auto_collation: whether several samples are asked for at once.
        collate_fn: makes a batch of the list of samples, or converts the single one.
        drop_last: leave out a last batch that is not full.
    """

    def __init__(self, dataset: Any, auto_collation: bool, collate_fn: Fn, drop_last: bool) -> None:
        self.dataset, self.auto_collation, self.collate_fn, self.drop_last = dataset, auto_collation, collate_fn, drop_last

    def fetch(self, possibly_batched_index: Any) -> Any:
        """The batch of some numbers of samples, or the sample of one."""
        raise NotImplementedError


class _IterableDatasetFetcher(_BaseDatasetFetcher):
    """Takes as many samples as there are numbers; StopIteration where none are left."""

    def __init__(self, dataset: Any, auto_collation: bool, collate_fn: Fn, drop_last: bool) -> None:
        super().__init__(dataset, auto_collation, collate_fn, drop_last)
        self.dataset_iter, self.ended = iter(dataset), False

    def fetch(self, possibly_batched_index: Any) -> Any:
        if self.ended:
            raise StopIteration
        if not self.auto_collation:
            return self.collate_fn(next(self.dataset_iter))
        count = len(possibly_batched_index)
        samples = list(islice(self.dataset_iter, count))
        self.ended = len(samples) < count
        if not samples or self.ended and self.drop_last:
            raise StopIteration
        return self.collate_fn(samples)


class _MapDatasetFetcher(_BaseDatasetFetcher):
    """Takes samples by their numbers, all at once where the dataset can (`__getitems__`)."""

    def fetch(self, possibly_batched_index: Any) -> Any:
        if not self.auto_collation:
            return self.collate_fn(self.dataset[possibly_batched_index])
        at_once = getattr(self.dataset, "__getitems__", None)
        if at_once:
            return self.collate_fn(at_once(possibly_batched_index))
        return self.collate_fn([self.dataset[i] for i in possibly_batched_index])


class _DatasetKind:
    """Whether samples come by number or one after the other."""

    Map, Iterable = 0, 1

    @staticmethod
    def create_fetcher(kind: int, dataset: Any, auto_collation: bool, collate_fn: Fn, drop_last: bool) -> Any:
        """What makes batches of a dataset of a kind."""
        cls = _MapDatasetFetcher if kind == _DatasetKind.Map else _IterableDatasetFetcher
        return cls(dataset, auto_collation, collate_fn, drop_last)


def _pipes(dataset: Any, kind: str = "") -> Any:
    """The module of data pipes where the dataset is one (of a kind, "Iter" or "Map"), None else; which loads no data pipes."""
    module = sys.modules.get("torchcompat.utils.data.datapipes.datapipe")
    kinds = module and ((module.IterDataPipe, module.MapDataPipe) if not kind else getattr(module, f"{kind}DataPipe"))
    return module if kinds and isinstance(dataset, kinds) else None


def _seeded(dataset: Any, seed: int | None) -> Any:
    """A dataset, whose random pipes take their seeds from `seed` where it is a data pipe."""
    if not _pipes(dataset, "Iter"):
        return dataset
    from ..graph_settings import apply_random_seed

    assert seed is not None
    return apply_random_seed(dataset, torch.Generator().manual_seed(seed))
