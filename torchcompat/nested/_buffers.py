"""What nested tensors have in the place of an array: one row of elements, and where in it each part lies.

A nested tensor is a Tensor whose `_data` is such a buffer, and whose kind says so; it is in no quiet set, and its calls come to the door,
where `_door.NESTED` meets them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np

from autograd_tape.dtypes import CPU_KINDS, Kind, kind
from autograd_tape.engine import only_on_tensors
from autograd_tape.strided import contiguous_strides, strided

from .._memory.layout import parts as nested_parts
from .._tensor import Tensor, frontend

Sizes = tuple[tuple[int, ...], ...]
"""Those of each part."""


def without(what: str) -> RuntimeError:
    """torch's error where somebody asks for what nested tensors do not have."""
    return RuntimeError(f"Internal error: NestedTensorImpl doesn't support {what}. Please file an issue.")


class Ragged:
    """The sizes of a nested tensor, which cannot be told as others are: only those that all parts have in common."""

    def __init__(self, sizes: Sizes) -> None:
        self.sizes = sizes

    def __iter__(self) -> Iterator[int]:
        raise without("sizes")

    def __len__(self) -> int:
        return 1 + len(self.sizes[0]) if self.sizes else 1

    def __getitem__(self, dim: Any) -> Any:
        if not isinstance(dim, int):
            iter(self)
        rank = len(self)
        if not -rank <= dim < rank:
            raise IndexError
        if not dim % rank:
            return len(self.sizes)
        found = {size[dim % rank - 1] for size in self.sizes}
        if len(found) > 1:
            raise RuntimeError(f"Given dimension {dim} is irregular and does not have a size.")
        return found.pop()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Ragged) and self.sizes == other.sizes

    def __hash__(self) -> int:
        return hash(self.sizes)

    def __str__(self) -> str:
        return str(table(self.sizes))


def table(rows: Sequence[Sequence[int]]) -> Tensor:
    """Numbers of parts as torch has them, a row for each."""
    return frontend.wrap(np.array(rows, np.int64).reshape(len(rows), -1) if rows else np.zeros((0,), np.int64))


class Nested:
    """The memory of a nested tensor.

    Attributes:
        flat: (elements,), an array that parts lie in.
        sizes: those of each part.
        steps: its strides, in elements.
        offsets: where it begins.
    """

    __slots__ = ("flat", "sizes", "steps", "offsets", "__weakref__")
    base = None

    def __init__(self, flat: np.ndarray, sizes: Sizes, steps: Sizes | None = None, offsets: tuple[int, ...] | None = None) -> None:
        self.flat, self.sizes = flat, sizes
        if steps is None or offsets is None:
            steps = tuple([contiguous_strides(size) for size in sizes])
            ends = np.cumsum([0, *[math.prod(size) for size in sizes]])
            offsets = tuple([int(end) for end in ends[:-1]])
        self.steps, self.offsets = steps, offsets

    shape = property(lambda self: Ragged(self.sizes))
    flags = property(lambda self: SimpleNamespace(c_contiguous=self.in_order, f_contiguous=False, forc=False, writeable=True))
    ndim, size = property(lambda self: len(self.shape)), property(lambda self: sum([math.prod(size) for size in self.sizes]))
    dtype = property(lambda self: CPU_KINDS[self.flat.dtype].dtype)
    itemsize, nbytes = property(lambda self: self.flat.itemsize), property(lambda self: self.size * self.flat.itemsize)

    @property
    def strides(self) -> tuple[int, ...]:
        """Nothing: parts have strides of their own."""
        raise without("strides")

    @property
    def kind(self) -> Kind:
        """That of tensors with such a buffer."""
        k = CPU_KINDS[self.flat.dtype]
        return kind(k.dtype, k.device, nested_parts)

    @property
    def in_order(self) -> bool:
        """Whether the parts lie one after the other, each in order of rows, and nothing else."""
        plain = Nested(self.flat, self.sizes)
        alike = [a == b for size, a, b in zip(self.sizes, self.steps, plain.steps) if math.prod(size) > 1]
        return self.offsets == plain.offsets and all(alike) and self.flat.size == self.size

    def arrays(self) -> list[np.ndarray]:
        """The parts, over the same memory."""
        item = self.flat.itemsize
        return [strided(self.flat[offset:], size, [n * item for n in step]) if math.prod(size) else np.empty(size, self.flat.dtype)
                for size, step, offset in zip(self.sizes, self.steps, self.offsets)]

    def over(self, flat: np.ndarray) -> Nested:
        """Parts of the same sizes in other memory."""
        return Nested(flat, self.sizes, self.steps, self.offsets)

    def copy(self) -> Nested:
        """Parts at the same places of memory of its own."""
        return self.over(self.flat.copy())

    def view(self) -> Nested:
        """Another buffer over the same memory."""
        return self.over(self.flat)

    def astype(self, dtype: Any, copy: bool = True, **_: object) -> Nested:
        """The numbers in another NumPy dtype."""
        flat = self.flat.astype(dtype, copy=copy)
        return self if flat is self.flat else self.over(flat)

    def __add__(self, other: Nested) -> Nested:
        return joined([a + b for a, b in zip(self.arrays(), other.arrays())], self.flat.dtype)


def joined(arrays: Sequence[np.ndarray], dtype: np.dtype) -> Nested:
    """Parts copied to memory of their own, one after the other."""
    flat = np.concatenate([np.ascontiguousarray(a, dtype).reshape(-1) for a in arrays]) if arrays else np.empty(0, dtype)
    return Nested(flat, tuple([a.shape for a in arrays]))


only_on_tensors(Nested)
