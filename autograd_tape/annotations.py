"""What annotations say in a word."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ForwardRef, Protocol, TypeAlias, TypeVar, Union

if TYPE_CHECKING:
    import numpy as np

    from .dtypes import DType, Device

Number: TypeAlias = bool | int | float | complex
Shape: TypeAlias = tuple[int, ...]
Sizes: TypeAlias = Sequence[int]
Dims: TypeAlias = int | Sequence[int] | None
"""Dimensions that are reduced, turned or counted: one, several, or all."""
if TYPE_CHECKING:
    DTypeLike: TypeAlias = DType | str | np.dtype | type
    DeviceLike: TypeAlias = Device | str | int
else:  # found where they are, by whoever asks for the types of a function
    _home = "autograd_tape.dtypes"
    DTypeLike = Union[ForwardRef("DType", module=_home), str, ForwardRef("np.dtype", module=_home), type]  # noqa: UP007
    """What names a data type."""
    DeviceLike = Union[ForwardRef("Device", module=_home), str, int]  # noqa: UP007
    """What names a device."""
Fn: TypeAlias = Callable[..., Any]
"""A function of which its caller knows what it takes and gives: a program's, one to be wrapped, an operation found by name."""
SomeFn = TypeVar("SomeFn", bound=Callable[..., Any])
"""A function that is given back, or a stand-in that is called as it is."""
Arguments: TypeAlias = tuple[Any, ...]
"""Positional arguments of a call of any function."""
Keywords: TypeAlias = dict[str, Any]
"""Keyword arguments of a call of any function."""


class Functions(Protocol):
    """Where formulas find operations by name: those of a front end on tensors, or those of an executor on arrays."""

    def __getattr__(self, name: str, /) -> Any: ...


class Values(Protocol):
    """What formulas compute with: an array, or a tensor where the computation is recorded."""

    @property
    def shape(self) -> Shape: ...
    @property
    def ndim(self) -> int: ...
    @property
    def dtype(self) -> Any: ...
    def __add__(self, other: Any, /) -> Any: ...
    def __radd__(self, other: Any, /) -> Any: ...
    def __sub__(self, other: Any, /) -> Any: ...
    def __rsub__(self, other: Any, /) -> Any: ...
    def __mul__(self, other: Any, /) -> Any: ...
    def __rmul__(self, other: Any, /) -> Any: ...
    def __truediv__(self, other: Any, /) -> Any: ...
    def __rtruediv__(self, other: Any, /) -> Any: ...
    def __pow__(self, other: Any, /) -> Any: ...
    def __neg__(self) -> Any: ...
    def __lt__(self, other: Any, /) -> Any: ...
    def __le__(self, other: Any, /) -> Any: ...
    def __gt__(self, other: Any, /) -> Any: ...
    def __ge__(self, other: Any, /) -> Any: ...
    def __getitem__(self, index: Any, /) -> Any: ...
