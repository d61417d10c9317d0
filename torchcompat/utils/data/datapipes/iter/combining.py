"""Several pipes as one, and one as several."""

from __future__ import annotations

import copy as copies
from collections import deque
from collections.abc import Iterator
from typing import Any

from autograd_tape import warned
from autograd_tape.annotations import Fn

from .._decorator import functional_datapipe
from ..datapipe import IterDataPipe, _length
from ..utils.common import StreamWrapper, _check_unpickable_fn

__all__ = ["ConcaterIterDataPipe", "DemultiplexerIterDataPipe", "ForkerIterDataPipe", "MultiplexerIterDataPipe", "ZipperIterDataPipe"]


@functional_datapipe("concat")
class ConcaterIterDataPipe(IterDataPipe[Any]):
    """Pipes one behind the other."""

    def __init__(self, *datapipes: IterDataPipe[Any]) -> None:
        if not datapipes:
            raise ValueError("Expected at least one DataPipe, but got nothing")
        if not all(isinstance(pipe, IterDataPipe) for pipe in datapipes):
            raise TypeError("Expected all inputs to be `IterDataPipe`")
        self.datapipes = datapipes

    def __iter__(self) -> Iterator[Any]:
        for pipe in self.datapipes:
            yield from pipe

    def __len__(self) -> int:
        return sum(_length(self, *self.datapipes))


@functional_datapipe("zip")
class ZipperIterDataPipe(IterDataPipe[Any]):
    """Tuples of an element of each pipe, as many as the shortest has."""

    def __init__(self, *datapipes: IterDataPipe[Any]) -> None:
        if not all(isinstance(pipe, IterDataPipe) for pipe in datapipes):
            raise TypeError("All inputs are required to be `IterDataPipe` for `ZipIterDataPipe`.")
        self.datapipes = datapipes

    def __iter__(self) -> Iterator[Any]:
        yield from zip(*[iter(pipe) for pipe in self.datapipes])

    def __len__(self) -> int:
        return min(_length(self, *self.datapipes))


@functional_datapipe("mux")
class MultiplexerIterDataPipe(IterDataPipe[Any]):
    """An element of each pipe in turn, as many as the shortest has."""

    def __init__(self, *datapipes: IterDataPipe[Any]) -> None:
        self.datapipes = datapipes

    def __iter__(self) -> Iterator[Any]:
        for row in zip(*[iter(pipe) for pipe in self.datapipes]):
            yield from row

    def __len__(self) -> int:
        return min(_length(self, *self.datapipes)) * len(self.datapipes)


class _Container(IterDataPipe[Any]):
    """A pipe that several children read, and what it holds for those that lag behind; subclasses define `_next`, which gives a child its
    next element.

    Attributes:
        waiting: the elements that came for a child before it asked for them, by child.
    """

    name: str

    def __init__(self, datapipe: IterDataPipe[Any], num_instances: int, buffer_size: int) -> None:
        if buffer_size < 0:
            warned.warn(f"Unlimited buffer size is set for `{self.name}`, please be aware of OOM at random places", UserWarning)
        self.main_datapipe, self.num_instances, self.buffer_size = datapipe, num_instances, buffer_size
        self._clear()

    def _clear(self) -> None:
        self._elements: Iterator[Any] | None = None
        self._exhausted = False
        self.waiting: list[deque[Any]] = [deque() for _ in range(self.num_instances)]
        self._stopped = [True] * self.num_instances

    def reset(self) -> None:
        """Begins anew for all children."""
        self._clear()

    def __getstate__(self) -> Any:
        lost: dict[str, object] = {"_elements": None, "_exhausted": False, "waiting": [deque() for _ in range(self.num_instances)],
                "_stopped": [True] * self.num_instances}
        return self._state({**self.__dict__, **lost})

    def _next(self, child: int) -> Any:
        raise NotImplementedError

    def get_next_element_by_instance(self, instance_id: int) -> Iterator[Any]:
        """The elements of a child."""
        if self._elements is None and self._stopped[instance_id] and not self._exhausted:
            self._elements = iter(self.main_datapipe)
            self._stopped = [False] * self.num_instances
        waiting = self.waiting
        try:
            while not self._stopped[instance_id]:
                if self.waiting[instance_id]:
                    element = self.waiting[instance_id].popleft()
                else:
                    try:
                        element = self._next(instance_id)
                    except StopIteration:
                        self._exhausted, self._elements = True, None
                        break
                yield element
        finally:
            if waiting is self.waiting:  # no pass has begun since then
                self._stopped[instance_id] = True
                self._let_go(instance_id)
                if all(self._stopped):
                    self._elements = None

    def _let_go(self, child: int) -> None:
        """Forgets what waits for a child that has stopped."""
        self.waiting[child].clear()

    def is_every_instance_exhausted(self) -> bool:
        """Whether all children have read everything."""
        return self._exhausted and all(self._stopped)

    def get_length_by_instance(self, instance_id: int) -> int:
        """How many elements a child has."""
        return len(self.main_datapipe)


class _ForkerIterDataPipe(_Container):
    name = "fork"

    def __init__(self, datapipe: IterDataPipe[Any], num_instances: int, buffer_size: int, copy: str | None) -> None:
        known: dict[str | None, Fn | None] = {None: None, "shallow": copies.copy, "deep": copies.deepcopy}
        if copy not in known:
            raise ValueError(f"Unknown copy method `{copy}` requested, choose one of None, `shallow` or `deep`.")
        self.copy_fn = known[copy]
        super().__init__(datapipe, num_instances, buffer_size)

    def __len__(self) -> int:
        return len(self.main_datapipe)

    def _next(self, child: int) -> Any:
        if self._elements is None:
            raise StopIteration
        element = next(self._elements)
        for other, waiting in enumerate(self.waiting):
            if other != child:
                waiting.append(element)
        if 0 <= self.buffer_size < max(map(len, self.waiting)):
            raise BufferError(f"ForkerIterDataPipe buffer overflow,buffer size {self.buffer_size} is insufficient.")
        return element

    def get_next_element_by_instance(self, instance_id: int) -> Iterator[Any]:
        elements = super().get_next_element_by_instance(instance_id)
        return elements if self.copy_fn is None else map(self.copy_fn, elements)


class _DemultiplexerIterDataPipe(_Container):
    name = "demux"

    def __init__(self, datapipe: IterDataPipe[Any], num_instances: int, classifier_fn: Fn, drop_none: bool, buffer_size: int) -> None:
        self.classifier_fn, self.drop_none = classifier_fn, drop_none
        super().__init__(datapipe, num_instances, buffer_size)

    def _next(self, child: int) -> Any:
        while self._elements is not None:
            element = next(self._elements)
            to = self.classifier_fn(element)
            if to is None and self.drop_none:
                StreamWrapper.close_streams(element)
                continue
            if to is None or to >= self.num_instances or to < 0:
                raise ValueError(f"Output of the classification fn should be between 0 and {self.num_instances - 1}. {to} is returned.")
            if to == child:
                return element
            self.waiting[to].append(element)
            if 0 <= self.buffer_size < sum(map(len, self.waiting)):
                raise BufferError(f"DemultiplexerIterDataPipe buffer overflow, buffer size {self.buffer_size} is insufficient.")
        raise StopIteration

    def _let_go(self, child: int) -> None:
        for element in self.waiting[child]:
            StreamWrapper.close_streams(element)
        self.waiting[child].clear()

    def get_length_by_instance(self, instance_id: int) -> int:
        raise TypeError


class _ChildDataPipe(IterDataPipe[Any]):
    """One of the pipes that read a pipe together: a new pass of a child that has begun is one of all."""

    _is_child_datapipe = True

    def __init__(self, main_datapipe: Any, instance_id: int) -> None:
        self.main_datapipe, self.instance_id = main_datapipe, instance_id

    def __iter__(self) -> Iterator[Any]:
        return self.main_datapipe.get_next_element_by_instance(self.instance_id)

    def __len__(self) -> int:
        return self.main_datapipe.get_length_by_instance(self.instance_id)

    def _set_main_datapipe_valid_iterator_id(self) -> int:
        main = self.main_datapipe
        if main._valid_iterator_id is None:
            main._valid_iterator_id = 0
        elif main._valid_iterator_id == self._valid_iterator_id:
            main._valid_iterator_id += 1
            if not main.is_every_instance_exhausted():
                warned.warn("Some child DataPipes are not exhausted when __iter__ is called. We are resetting the buffer and each child "
                            "DataPipe will read from the start again.", UserWarning)
            main.reset()
        self._valid_iterator_id = main._valid_iterator_id
        return main._valid_iterator_id

    def _check_valid_iterator_id(self, iterator_id: int) -> bool:
        return iterator_id == self._valid_iterator_id == self.main_datapipe._valid_iterator_id


def _check_instances(num_instances: int) -> None:
    if num_instances < 1:
        raise ValueError(f"Expected `num_instances` larger than 0, but {num_instances} is found")


@functional_datapipe("fork")
class ForkerIterDataPipe(IterDataPipe[Any]):
    """Several pipes with the elements of one, each of them copied where `copy` is "shallow" or "deep".

    Raises:
        BufferError: one is `buffer_size` elements ahead of another.
    """

    def __new__(cls, datapipe: IterDataPipe[Any], num_instances: int, buffer_size: int = 1000, copy: str | None = None) -> Any:
        _check_instances(num_instances)
        if num_instances == 1:
            return datapipe
        container = _ForkerIterDataPipe(datapipe, num_instances, buffer_size, copy)
        return [_ChildDataPipe(container, i) for i in range(num_instances)]


@functional_datapipe("demux")
class DemultiplexerIterDataPipe(IterDataPipe[Any]):
    """Several pipes with the elements of one, each of which goes where a function of it says; nowhere for None with `drop_none`.

    Raises:
        BufferError: more than `buffer_size` elements wait for others than who asks.
    """

    def __new__(cls, datapipe: IterDataPipe[Any], num_instances: int, classifier_fn: Fn, drop_none: bool = False,
                buffer_size: int = 1000) -> Any:
        _check_instances(num_instances)
        _check_unpickable_fn(classifier_fn)
        container = _DemultiplexerIterDataPipe(datapipe, num_instances, classifier_fn, drop_none, buffer_size)
        return [_ChildDataPipe(container, i) for i in range(num_instances)]
