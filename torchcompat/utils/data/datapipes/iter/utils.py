"""The pipe that others begin with."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator
from typing import Any

from autograd_tape import warned
from ..datapipe import IterDataPipe, _length

__all__ = ["IterableWrapperIterDataPipe"]


class IterableWrapperIterDataPipe(IterDataPipe[Any]):
    """The elements of an iterable; of a deep copy of it for each pass, unless `deepcopy` is False."""

    def __init__(self, iterable: Iterable[Any], deepcopy: bool = True) -> None:
        self.iterable, self.deepcopy = iterable, deepcopy

    def __iter__(self) -> Iterator[Any]:
        elements = self.iterable
        if self.deepcopy:
            try:
                elements = copy.deepcopy(elements)
            except TypeError:
                warned.warn("The input iterable can not be deepcopied, please be aware of in-place modification would affect "
                            "source data.")
        yield from elements

    def __len__(self) -> int:
        return _length(self, self.iterable)[0]
