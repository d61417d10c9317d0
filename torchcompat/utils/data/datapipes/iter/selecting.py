"""Some of the elements."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from autograd_tape.annotations import Fn

from .._decorator import functional_datapipe
from ..datapipe import IterDataPipe
from ..utils.common import StreamWrapper, _check_unpickable_fn, validate_input_col

__all__ = ["FilterIterDataPipe"]


@functional_datapipe("filter")
class FilterIterDataPipe(IterDataPipe[Any]):
    """The elements for which a function of them, or of their columns, is True; the streams in others are closed.

    Raises:
        ValueError: it gives something else than a bool.
    """

    def __init__(self, datapipe: IterDataPipe[Any], filter_fn: Fn, input_col: Any = None) -> None:
        _check_unpickable_fn(filter_fn)
        self.datapipe, self.filter_fn, self.input_col = datapipe, filter_fn, input_col
        validate_input_col(filter_fn, input_col)

    def _apply_filter_fn(self, data: Any) -> Any:
        if self.input_col is None:
            return self.filter_fn(data)
        columns = self.input_col if isinstance(self.input_col, (list, tuple)) else [self.input_col]
        return self.filter_fn(*[data[column] for column in columns])

    def __iter__(self) -> Iterator[Any]:
        for data in self.datapipe:
            wanted = self._apply_filter_fn(data)
            if not isinstance(wanted, bool):
                raise ValueError("Boolean output is required for `filter_fn` of FilterIterDataPipe, got", type(wanted))
            if wanted:
                yield data
            else:
                StreamWrapper.close_streams(data)
