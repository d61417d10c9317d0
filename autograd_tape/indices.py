"""Index arrays as operations take them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .saved import stale
from .tensor import TensorRef
from .version import number_of

_ALL = slice(None)


class Indices:
    """Index arrays in the places of dimensions, and the tensors they came from, whose versions are watched.

    Args:
        places: where in `key` the tensors' arrays are; one after the other where left out.
    """

    __slots__ = ("key", "sources", "places")

    def __init__(self, key: Sequence[Any], sources: Sequence[TensorRef] = (), places: Sequence[int] = ()) -> None:
        self.key = tuple(key)
        self.sources = [(t, number_of(t)) for t in sources]
        self.places = places

    @property
    def has_mask(self) -> bool:
        """Whether values decide how much is picked."""
        return any([item is not _ALL and item.dtype == bool for item in self.key])

    def mapped(self, function: Callable[[Any], Any]) -> Indices:
        """With what `function` makes of the tensors, and of the arrays that come from none."""
        self.current()
        places = self.places or [i for i, item in enumerate(self.key) if item is not _ALL]
        given = {i: t for i, (t, _) in zip(places, self.sources)}
        key: list[Any] = [item if item is _ALL else function(given.get(i, item)) for i, item in enumerate(self.key)]
        places = [i for i, item in enumerate(key) if isinstance(item, TensorRef)]
        arrays = [item._data.astype(bool if item._k.dtype.name in ("bool", "uint8") else np.int64, copy=False)
                  if isinstance(item, TensorRef) else item for item in key]
        return Indices(arrays, [key[i] for i in places], places)

    def current(self) -> tuple[Any, ...]:
        """The key; an error where an index tensor was changed in place since."""
        for t, version in self.sources:
            if t._v is not None and t._v.number != version:
                raise stale(None, t, version)  # type: ignore[arg-type]  # there is no entry to name
        return self.key
