"""torch.Size."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable
from typing import Any, SupportsIndex, overload


_item, _new = tuple.__getitem__, tuple.__new__


class Size(tuple[int, ...]):
    """The sizes of a tensor: a tuple of int.

    >>> Size([2, 3]), Size([2, 3]).numel()
    (torch.Size([2, 3]), 6)
    """

    __slots__ = ()

    def __new__(cls, sizes: Iterable[SupportsIndex] = ()) -> "Size":
        items = tuple(sizes)
        for i, item in enumerate(items):
            if item.__class__ is not int:
                try:
                    size = operator.index(item)
                except TypeError:
                    raise TypeError(f"torch.Size() takes an iterable of 'int' (item {i} is '{type(item).__name__}')") from None
                items = (*items[:i], size, *items[i + 1:])
        return _new(cls, items)

    def __repr__(self) -> str:
        return f"torch.Size({list(self)})"

    __str__ = __repr__

    def numel(self) -> int:
        """The number of elements."""
        return math.prod(self)

    @overload
    def __getitem__(self, index: SupportsIndex) -> int: ...
    @overload
    def __getitem__(self, index: slice) -> Size: ...
    def __getitem__(self, index: Any) -> Any:
        return _new(Size, _item(self, index)) if index.__class__ is slice else _item(self, index)  # whose items have been looked at

    def __add__(self, other: Any) -> Any:
        return Size(tuple.__add__(self, tuple(other))) if isinstance(other, tuple) else NotImplemented

    def __radd__(self, other: object) -> Any:
        return Size(tuple(other) + tuple(self)) if isinstance(other, tuple) else NotImplemented

    def __mul__(self, n: Any) -> Any:
        return _new(Size, tuple.__mul__(self, n))

    __rmul__ = __mul__

    def __reduce__(self) -> tuple[object, ...]:
        return (Size, (tuple(self),))


Size.__module__ = "torch"
