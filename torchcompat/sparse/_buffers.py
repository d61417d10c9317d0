"""What sparse tensors have in the place of an array: ordinary tensors of indices and of values.

A sparse tensor is a Tensor whose `_data` is one of these buffers, and whose kind has the layout as `special`; so it is in no quiet set,
and its calls come to the door, where `_door.SPARSE` meets them. The tensors in a buffer have no history: that is the sparse tensor's.
"""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import numpy as np

from autograd_tape.annotations import Sizes
from autograd_tape.calls import listen_for_good
from autograd_tape.dtypes import Kind, kind
from autograd_tape.engine import only_on_tensors

from .._calls.above import above
from ._door import SPARSE
from .._memory.layout import _mkldnn, layout, sparse_bsc, sparse_bsr, sparse_coo, sparse_csc, sparse_csr
from .._tensor import Tensor, frontend

NAMES = {sparse_coo: "Sparse", sparse_csr: "SparseCsr", sparse_csc: "SparseCsc", sparse_bsr: "SparseBsr", sparse_bsc: "SparseBsc",
         _mkldnn: "Mkldnn"}
"""What torch's messages call layouts."""


class NoStorage(NotImplementedError, AttributeError):
    """The memory of a sparse tensor was asked for as that of an array."""


_UNORDERED = SimpleNamespace(c_contiguous=False, f_contiguous=False, forc=False, writeable=True)


class Sparse:
    """A sparse buffer.

    Attributes:
        shape: the sizes.
        values: the elements that are there, a tensor without history.
    """

    __slots__ = ("shape", "values", "__weakref__")
    layout: layout
    shape: tuple[int, ...]
    values: Tensor
    flags = _UNORDERED

    strides = property(lambda self: (self.itemsize,) * len(self.shape))  # no element is another
    ndim, size = property(lambda self: len(self.shape)), property(lambda self: math.prod(self.shape))
    # A DType, which is no array's dtype, so that nobody adds arrays and this by their memory.
    dtype = property(lambda self: self.values._k.dtype)
    itemsize = property(lambda self: self.values._k.np.itemsize)
    nbytes = property(lambda self: sum([t._data.nbytes for t in self.parts()]))

    @property
    def kind(self) -> Kind:
        """That of tensors with such a buffer."""
        k = self.values._k
        return kind(k.dtype, k.device, self.layout)

    def parts(self) -> tuple[Tensor, ...]:
        """Its tensors, indices first."""
        raise NotImplementedError

    def over(self, values: Tensor) -> Any:
        """A buffer with these indices and other values."""
        raise NotImplementedError

    def copy(self) -> Sparse:
        """A buffer with memory of its own."""
        raise NotImplementedError

    def view(self) -> Sparse:
        """Another buffer over the same memory."""
        return self.over(self.values)

    def astype(self, dtype: Any, copy: bool = True, **_: object) -> Any:
        """The numbers in another NumPy dtype."""
        array = self.values._data.astype(dtype, copy=copy)
        return self if array is self.values._data else self.over(frontend.wrap(array))

    def __getattr__(self, name: str) -> Any:
        raise NoStorage(f"Cannot access storage of {NAMES[self.layout].replace('Csc', 'Csr').replace('Bsr', 'Csr').replace('Bsc', 'Csr')}"
                        "TensorImpl")

    # Gradients are added by what they are.

    def __add__(self, other: object) -> Sparse:
        return above.sparse_methods().added_gradients(self, other)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: object, **options: object) -> object:
        if ufunc is not np.add or method != "__call__" or options:
            return NotImplemented
        return above.sparse_methods().added_gradients(*inputs)


class Coo(Sparse):
    """Coordinates of the elements that are there.

    Attributes:
        indices: (sparse dimensions, elements), int64.
        values: (elements, *dense sizes).
        coalesced: whether indices are known to be in order, each once.
    """

    __slots__ = ("indices", "coalesced")
    layout = sparse_coo

    def __init__(self, shape: Sizes, indices: Tensor, values: Tensor, coalesced: bool = False) -> None:
        self.shape, self.indices, self.values, self.coalesced = tuple(shape), indices, values, coalesced or indices._data.shape[1] < 2

    @property
    def sparse_dim(self) -> int:
        """How many dimensions have indices."""
        return self.indices._data.shape[0]

    @property
    def dense_dim(self) -> int:
        """How many further dimensions values have."""
        return self.values._data.ndim - 1

    @property
    def nnz(self) -> int:
        """How many elements are there."""
        return self.indices._data.shape[1]

    def parts(self) -> tuple[Tensor, ...]:
        return self.indices, self.values

    def over(self, values: Tensor, indices: Tensor | None = None) -> Coo:
        other = Coo(self.shape, self.indices if indices is None else indices, values)
        other.coalesced = self.coalesced  # whatever is known of a few
        return other

    def copy(self) -> Coo:
        return self.over(copied(self.values), copied(self.indices))

    def flat(self) -> np.ndarray:
        """The place of each element among all that have indices, in order of rows."""
        return flat_index(self.indices._data, self.shape[:self.sparse_dim])


class Compressed(Sparse):
    """Rows (or columns) of elements, or of blocks, one after the other.

    Attributes:
        layout: which dimension is compressed, and whether elements are blocks.
        compressed: (*batch, rows + 1), where each row begins.
        plain: (*batch, elements), the column of each.
        values: (*batch, elements, *block, *dense sizes).
        checked: whether the parts are known to fit each other; who reads indices looks first.
    """

    __slots__ = ("layout", "compressed", "plain", "checked")

    def __init__(self, layout: layout, shape: Sizes, compressed: Tensor, plain: Tensor, values: Tensor, checked: bool = True) -> None:
        self.layout, self.shape, self.compressed, self.plain, self.values = layout, tuple(shape), compressed, plain, values
        self.checked = checked

    @property
    def by_rows(self) -> bool:
        """Whether rows are compressed, not columns."""
        return self.layout is sparse_csr or self.layout is sparse_bsr

    @property
    def blocked(self) -> bool:
        """Whether elements are blocks."""
        return self.layout is sparse_bsr or self.layout is sparse_bsc

    @property
    def batch(self) -> tuple[int, ...]:
        """The sizes of the batch."""
        return self.plain._data.shape[:-1]

    @property
    def block(self) -> tuple[int, ...]:
        """The sizes of a block; (1, 1) where there are none."""
        at = self.plain._data.ndim
        return self.values._data.shape[at:at + 2] if self.blocked else (1, 1)

    @property
    def sparse_dim(self) -> int:
        """Two."""
        return 2

    @property
    def dense_dim(self) -> int:
        """How many further dimensions values have."""
        return self.values._data.ndim - self.plain._data.ndim - 2 * self.blocked

    @property
    def nnz(self) -> int:
        """How many elements, or blocks, each matrix has."""
        return self.plain._data.shape[-1]

    def parts(self) -> tuple[Tensor, ...]:
        return self.compressed, self.plain, self.values

    def over(self, values: Tensor) -> Compressed:
        return Compressed(self.layout, self.shape, self.compressed, self.plain, values, self.checked)

    def copy(self) -> Compressed:
        return Compressed(self.layout, self.shape, copied(self.compressed), copied(self.plain), copied(self.values), self.checked)


def copied(t: Tensor) -> Tensor:
    """The tensor's elements in memory of their own, without history."""
    return frontend.wrap(t._data.copy(), t._k)


def flat_index(indices: np.ndarray, sizes: tuple[int, ...]) -> np.ndarray:
    """Rows of indices as places in order of rows."""
    flat = np.zeros(indices.shape[1], np.int64)
    for row, n in zip(indices, sizes):
        flat *= n
        flat += row
    return flat


def is_sparse(x: object) -> bool:
    """Whether something is a sparse tensor."""
    return isinstance(x, Tensor) and x._k.special.__class__ is layout and x._k.special is not _mkldnn


def sparse(buffer: Sparse, node: object = None) -> Tensor:
    """A tensor with a sparse buffer."""
    listen_for_good(SPARSE)
    return frontend.wrap(buffer, None, node)


for _buffer in (Coo, Compressed):
    only_on_tensors(_buffer)
