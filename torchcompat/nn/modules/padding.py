"""Padding the last one, two or three dimensions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .. import functional as F
from .module import Module
from .utils import _ntuple, _pair as _pair, _quadruple as _quadruple

if TYPE_CHECKING:
    from torchcompat._tensor import Tensor
    from torchcompat.nn.common_types import _size_any_t

__all__ = [
    "CircularPad1d", "CircularPad2d", "CircularPad3d", "ConstantPad1d", "ConstantPad2d", "ConstantPad3d", "ReflectionPad1d",
    "ReflectionPad2d", "ReflectionPad3d", "ReplicationPad1d", "ReplicationPad2d", "ReplicationPad3d", "ZeroPad1d", "ZeroPad2d", "ZeroPad3d",
]


class _Pad(Module):
    """Pads `dims` dimensions on both sides.

    Args:
        padding: a number for all sides, or (left, right, top, bottom, front, back) as far as there are dimensions.
    """

    mode: str
    dims: int

    def __init__(self, padding: _size_any_t) -> None:
        super().__init__()
        self.padding = _ntuple(2 * self.dims)(padding)

    def forward(self, input: Tensor) -> Tensor:
        return F.pad(input, self.padding, self.mode)

    def extra_repr(self) -> str:
        return f"{self.padding}"


class _ConstantPadNd(_Pad):
    """Pads with `value`."""

    __constants__ = ["padding", "value"]

    def __init__(self, padding: _size_any_t, value: float) -> None:
        super().__init__(padding)
        self.value = value

    def forward(self, input: Tensor) -> Tensor:
        return F.pad(input, self.padding, "constant", self.value)

    def extra_repr(self) -> str:
        return f"padding={self.padding}, value={self.value}"


class ConstantPad1d(_ConstantPadNd):
    """Pads the last dimension with `value`."""

    dims = 1


class ConstantPad2d(_ConstantPadNd):
    """Pads the last two dimensions with `value`."""

    dims = 2


class ConstantPad3d(_ConstantPadNd):
    """Pads the last three dimensions with `value`."""

    dims = 3


class _Zero:
    """Makes a constant padding one with zeros."""

    padding: Any

    def __init__(self, padding: _size_any_t) -> None:
        super().__init__(padding, 0.0)  # type: ignore[call-arg]  # the base of its siblings

    def extra_repr(self) -> str:
        return f"{self.padding}"


class ZeroPad1d(_Zero, ConstantPad1d):
    """Pads the last dimension with zeros."""


class ZeroPad2d(_Zero, ConstantPad2d):
    """Pads the last two dimensions with zeros."""


class ZeroPad3d(_Zero, ConstantPad3d):
    """Pads the last three dimensions with zeros."""


class _ReflectionPadNd(_Pad):
    """Pads with the input mirrored at its edge."""

    __constants__ = ["padding"]

    mode = "reflect"


class ReflectionPad1d(_ReflectionPadNd):
    """Pads the last dimension with its mirror image."""

    dims = 1


class ReflectionPad2d(_ReflectionPadNd):
    """Pads the last two dimensions with their mirror image."""

    dims = 2


class ReflectionPad3d(_ReflectionPadNd):
    """Pads the last three dimensions with their mirror image."""

    dims = 3


class _ReplicationPadNd(_Pad):
    """Pads with the value at the edge."""

    __constants__ = ["padding"]

    mode = "replicate"


class ReplicationPad1d(_ReplicationPadNd):
    """Pads the last dimension with the values at its edges."""

    dims = 1


class ReplicationPad2d(_ReplicationPadNd):
    """Pads the last two dimensions with the values at their edges."""

    dims = 2


class ReplicationPad3d(_ReplicationPadNd):
    """Pads the last three dimensions with the values at their edges."""

    dims = 3


class _CircularPadNd(_Pad):
    """Pads with the other end of the input."""

    __constants__ = ["padding"]

    mode = "circular"

    def forward(self, input: Tensor) -> Tensor:
        if input.dim() - self.dims not in (1, 2):
            raise ValueError(f"expected {self.dims + 1}D or {self.dims + 2}D input (got {input.dim()}D input)")
        return super().forward(input)


class CircularPad1d(_CircularPadNd):
    """Pads the last dimension with its other end."""

    dims = 1


class CircularPad2d(_CircularPadNd):
    """Pads the last two dimensions with their other ends."""

    dims = 2


class CircularPad3d(_CircularPadNd):
    """Pads the last three dimensions with their other ends."""

    dims = 3
