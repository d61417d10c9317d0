"""Joining dimensions into one and splitting one into several."""

from __future__ import annotations


from .module import Module
from torchcompat._tensor import Tensor

__all__ = ["Flatten", "Unflatten"]


class Flatten(Module):
    """Joins the dimensions from `start_dim` to `end_dim`."""

    __constants__ = ["start_dim", "end_dim"]

    def __init__(self, start_dim: int = 1, end_dim: int = -1) -> None:
        super().__init__()
        self.start_dim, self.end_dim = start_dim, end_dim

    def forward(self, input: Tensor) -> Tensor:
        return input.flatten(self.start_dim, self.end_dim)

    def extra_repr(self) -> str:
        return f"start_dim={self.start_dim}, end_dim={self.end_dim}"


class Unflatten(Module):
    """Splits dimension `dim` into `unflattened_size`."""

    __constants__ = ["dim", "unflattened_size"]

    def __init__(self, dim: int | str, unflattened_size: tuple[int, ...]) -> None:
        super().__init__()
        if isinstance(dim, int):
            self._check(unflattened_size, "a tuple of ints", int)
        elif isinstance(dim, str):
            self._check(unflattened_size, "a tuple of tuples", tuple)
        else:
            raise TypeError("invalid argument type for dim parameter")
        self.dim, self.unflattened_size = dim, unflattened_size

    def _check(self, size: tuple[int, ...], wanted: str, item: type) -> None:
        if not isinstance(size, (tuple, list) if item is int else tuple):
            raise TypeError(f"unflattened_size must be {wanted}, but found type {type(size).__name__}")
        for position, value in enumerate(size):
            if not isinstance(value, item):
                raise TypeError(f"unflattened_size must be {'tuple of ints' if item is int else wanted}, but found element of type "
                                f"{type(value).__name__} at pos {position}")

    def forward(self, input: Tensor) -> Tensor:
        return input.unflatten(self.dim, self.unflattened_size)  # type: ignore[arg-type]  # a name is refused there

    def extra_repr(self) -> str:
        return f"dim={self.dim}, unflattened_size={self.unflattened_size}"
