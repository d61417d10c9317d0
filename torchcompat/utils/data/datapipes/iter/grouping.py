"""Elements in batches and groups, and batches taken apart."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterator
from typing import Any

from autograd_tape.annotations import Fn

from .._decorator import functional_datapipe
from ..datapipe import DataChunk, IterDataPipe, _length
from ..utils.common import _check_unpickable_fn

__all__ = ["BatcherIterDataPipe", "GrouperIterDataPipe", "UnBatcherIterDataPipe"]


@functional_datapipe("batch")
class BatcherIterDataPipe(IterDataPipe[DataChunk]):
    """Lists of `batch_size` elements; the last may be shorter, unless `drop_last`."""

    def __init__(self, datapipe: IterDataPipe[Any], batch_size: int, drop_last: bool = False,
                 wrapper_class: type[DataChunk] = DataChunk) -> None:
        if batch_size <= 0:
            raise AssertionError("Batch size is required to be larger than 0!")
        self.datapipe, self.batch_size, self.drop_last, self.wrapper_class = datapipe, batch_size, drop_last, wrapper_class

    def __iter__(self) -> Iterator[DataChunk]:
        batch: list[Any] = []
        for element in self.datapipe:
            batch.append(element)
            if len(batch) == self.batch_size:
                yield self.wrapper_class(batch)
                batch = []
        if batch and not self.drop_last:
            yield self.wrapper_class(batch)

    def __len__(self) -> int:
        n = _length(self, self.datapipe)[0]
        return n // self.batch_size if self.drop_last else -(-n // self.batch_size)


@functional_datapipe("unbatch")
class UnBatcherIterDataPipe(IterDataPipe[Any]):
    """The elements of lists, `unbatch_level` lists deep; all the way down where that is -1."""

    def __init__(self, datapipe: IterDataPipe[Any], unbatch_level: int = 1) -> None:
        self.datapipe, self.unbatch_level = datapipe, unbatch_level

    def __iter__(self) -> Iterator[Any]:
        for element in self.datapipe:
            yield from self._dive(element, self.unbatch_level)

    def _dive(self, element: Any, unbatch_level: int) -> Iterator[Any]:
        if unbatch_level < -1:
            raise ValueError("unbatch_level must be -1 or >= 0")
        if unbatch_level == 0 or unbatch_level == -1 and not isinstance(element, list):
            yield element
        elif not isinstance(element, list):
            raise IndexError(f"unbatch_level {self.unbatch_level} exceeds the depth of the DataPipe")
        else:
            for inner in element:
                yield from self._dive(inner, max(unbatch_level - 1, -1))


@functional_datapipe("groupby")
class GrouperIterDataPipe(IterDataPipe[Any]):
    """Lists of elements with the same key.

    Args:
        datapipe: the elements.
        group_key_fn: gives the key of one.
        keep_key: give (key, list).
        buffer_size: how many elements are held; when there are as many the largest group is given.
        group_size: of how many elements a group consists; the last ones may be smaller.
        guaranteed_group_size: the least that a group may be that is given because the buffer is full.
        drop_remaining: leave out smaller groups then, rather than raise RuntimeError.
    """

    def __init__(self, datapipe: IterDataPipe[Any], group_key_fn: Fn, *, keep_key: bool = False, buffer_size: int = 10000,
                 group_size: int | None = None, guaranteed_group_size: int | None = None, drop_remaining: bool = False) -> None:
        _check_unpickable_fn(group_key_fn)
        self.datapipe, self.group_key_fn, self.keep_key, self.max_buffer_size = datapipe, group_key_fn, keep_key, buffer_size
        self.buffer_elements: defaultdict[Hashable, list[Any]] = defaultdict(list)
        self.curr_buffer_size, self.group_size, self.guaranteed_group_size = 0, group_size, None
        if group_size is not None and buffer_size is not None:
            if not 0 < group_size <= buffer_size:
                raise AssertionError("group_size must be > 0 and <= buffer_size")
            self.guaranteed_group_size = group_size
        if guaranteed_group_size is not None:
            if group_size is None or not 0 < guaranteed_group_size <= group_size:
                raise AssertionError("guaranteed_group_size must be > 0 and <= group_size and group_size must be set")
            self.guaranteed_group_size = guaranteed_group_size
        self.drop_remaining, self.wrapper_class = drop_remaining, DataChunk

    def _taken(self, key: Hashable) -> Any:
        """A group, which is held no longer."""
        group = self.wrapper_class(self.buffer_elements.pop(key))
        self.curr_buffer_size -= len(group)
        return (key, group) if self.keep_key else group

    def __iter__(self) -> Iterator[Any]:
        for element in self.datapipe:
            key = self.group_key_fn(element)
            self.buffer_elements[key].append(element)
            self.curr_buffer_size += 1
            if self.group_size is not None and len(self.buffer_elements[key]) == self.group_size:
                yield self._taken(key)
            if self.curr_buffer_size == self.max_buffer_size:
                key = max(self.buffer_elements, key=lambda k: len(self.buffer_elements[k]))
                group = self.buffer_elements[key]
                enough = self.guaranteed_group_size is None or len(group) >= self.guaranteed_group_size
                if not enough and not self.drop_remaining:
                    raise RuntimeError("Failed to group items", str(group))
                taken = self._taken(key)
                if enough:
                    yield taken
        for key in tuple(self.buffer_elements):
            yield self._taken(key)

    def reset(self) -> None:
        """Forgets what is held."""
        self.curr_buffer_size = 0
        self.buffer_elements = defaultdict(list)
