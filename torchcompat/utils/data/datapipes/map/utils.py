"""The pipe that others begin with."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any

from autograd_tape import warned
from ..datapipe import MapDataPipe

__all__ = ["SequenceWrapperMapDataPipe"]


class SequenceWrapperMapDataPipe(MapDataPipe[Any]):
    """The elements of a sequence or mapping; of a deep copy of it, unless `deepcopy` is False."""

    def __init__(self, sequence: Sequence[Any] | Mapping[Any, Any], deepcopy: bool = True) -> None:
        self.sequence = sequence
        if deepcopy:
            try:
                self.sequence = copy.deepcopy(sequence)
            except TypeError:
                warned.warn("The input sequence can not be deepcopied, please be aware of in-place modification would affect source data")

    def __getitem__(self, index: Any) -> Any:
        return self.sequence[index]

    def __len__(self) -> int:
        return len(self.sequence)
