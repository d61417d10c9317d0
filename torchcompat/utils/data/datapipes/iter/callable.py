"""A function of each element."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from autograd_tape.annotations import Fn

from ..._utils.collate import default_collate
from .._decorator import functional_datapipe
from ..datapipe import IterDataPipe, _length
from ..utils.common import _check_unpickable_fn, validate_input_col

__all__ = ["CollatorIterDataPipe", "MapperIterDataPipe"]


@functional_datapipe("map")
class MapperIterDataPipe(IterDataPipe[Any]):
    """What a function makes of each element, or of some of its columns.

    Args:
        datapipe: the elements.
        fn: the function.
        input_col: the column, or columns, that it is given; the element itself where None.
        output_col: the column that its result becomes: the first of its inputs where None, which drops the others; a new one where -1.

    >>> from torchcompat.utils.data.datapipes.iter import IterableWrapper
    >>> list(IterableWrapper([(1, 2), (3, 4)]).map(max, input_col=[0, 1], output_col=-1))
    [(1, 2, 2), (3, 4, 4)]
    """

    def __init__(self, datapipe: IterDataPipe[Any], fn: Fn, input_col: Any = None, output_col: Any = None) -> None:
        _check_unpickable_fn(fn)
        if input_col is None and output_col is not None:
            raise ValueError("`output_col` must be None when `input_col` is None.")
        if isinstance(output_col, (list, tuple)):
            if len(output_col) > 1:
                raise ValueError("`output_col` must be a single-element list or tuple")
            output_col = output_col[0]
        self.datapipe, self.fn, self.input_col, self.output_col = datapipe, fn, input_col, output_col
        validate_input_col(fn, input_col)

    def _apply_fn(self, data: Any) -> Any:
        if self.input_col is None:
            return self.fn(data)
        columns = self.input_col if isinstance(self.input_col, (list, tuple)) else [self.input_col]
        result = self.fn(*[data[column] for column in columns])
        row = list(data) if isinstance(data, tuple) else data
        if self.output_col is None:
            row[columns[0]] = result
            for column in sorted(columns[1:], reverse=True):
                del row[column]
        elif self.output_col == -1:
            row.append(result)
        else:
            row[self.output_col] = result
        return tuple(row) if isinstance(data, tuple) else row

    def __iter__(self) -> Iterator[Any]:
        for data in self.datapipe:
            yield self._apply_fn(data)

    def __len__(self) -> int:
        return _length(self, self.datapipe)[0]


@functional_datapipe("collate")
class CollatorIterDataPipe(MapperIterDataPipe):
    """A batch of each list of samples, made by `conversion`, or by `collate_fn`."""

    def __init__(self, datapipe: IterDataPipe[Any], conversion: Fn = default_collate, collate_fn: Fn | None = None) -> None:
        super().__init__(datapipe, fn=conversion if collate_fn is None else collate_fn)
