"""What can be asked of a tensor without touching its elements: sizes, strides, memory, dtype, device."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from autograd_tape.annotations import Fn
from autograd_tape.dtypes import META
from autograd_tape.strided import address as address_of, contiguous_strides, memory_order, storage_offset
from autograd_tape.tensor import TensorRef
from autograd_tape.version import changes, number_of

from .bits import bits_of
from .layout import _mkldnn, channels_last, channels_last_3d, layout, memory_format, parts, sparse_coo, sparse_csr, strided
from .size import Size
from .._calls.above import above
from ..storage import CLASSES, TypedStorage, UntypedStorage

_IMPLS = {sparse_coo: "Sparse", _mkldnn: "Opaque"}
_size = functools.partial(tuple.__new__, Size)


if TYPE_CHECKING:
    from collections.abc import Callable

    from .._ops import TensorMethods

    class _Base(TensorMethods, TensorRef):
        """What the operation records, and sparse tensors, add to TensorRef, for type checkers."""

        type: Fn
        _indices: Fn
        _values: Fn
        _nnz: Callable[[], int]
else:
    _Base = TensorRef


class Metadata(_Base):
    """The part of Tensor that tells about it."""

    __slots__ = ()

    @property
    def shape(self) -> Size:
        """The sizes."""
        return _size(self._data.shape)

    @property
    def layout(self) -> layout:
        """How elements are laid out: torch.strided, or that of a sparse tensor."""
        special = self._k.special
        if special is None or special.__class__ is layout:
            return special or strided
        return getattr(self, "_wrapped_layout", strided)  # what a class said that wraps tensors of another layout

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return self._data.ndim

    @property
    def itemsize(self) -> int:
        """Bytes an element."""
        return self._data.itemsize

    @property
    def nbytes(self) -> int:
        """Bytes of all elements."""
        if self._k.special.__class__ is layout and not self.is_mkldnn:
            raise RuntimeError("nbytes is not defined for sparse tensors.  If you want the size of the constituent tensors, add the "
                               "nbytes of "
                               "the indices and values.  If you want the size of the  equivalent dense tensor, multiply numel() by "
                               "element_size()")
        return self._data.nbytes

    def dim(self) -> int:
        """The number of dimensions."""
        return self._data.ndim

    ndimension = dim

    @overload
    def size(self, dim: None = ...) -> Size: ...
    @overload
    def size(self, dim: int) -> int: ...
    def size(self, dim: int | None = None) -> Any:
        """The sizes, or the size of one dimension."""
        if dim is None:
            return _size(self._data.shape)
        shape = self._data.shape
        try:
            return shape[dim]
        except IndexError:
            raise _dim_error(dim, len(shape)) from None

    @overload
    def stride(self, dim: None = ...) -> tuple[int, ...]: ...
    @overload
    def stride(self, dim: int) -> int: ...
    def stride(self, dim: int | None = None) -> Any:
        """The steps between elements, in elements."""
        special = self._k.special
        if special.__class__ is layout:
            if special is _mkldnn:  # what torch leaves there
                return tuple([int(not i) for i in range(self._data.ndim)])[slice(None) if dim is None else dim]
            if special is not sparse_coo:
                raise RuntimeError(f"Sparse {special.name[-3:].upper()} tensors do not have strides")
            return (0,) * self._data.ndim if dim is None else 0
        item = self._data.itemsize
        if dim is None:
            return tuple([s // item for s in _strides(self._data)])
        strides = _strides(self._data)
        try:
            return strides[dim] // item
        except IndexError:
            raise _dim_error(dim, len(strides)) from None

    def numel(self) -> int:
        """The number of elements."""
        return self._data.size

    nelement = numel

    def element_size(self) -> int:
        """Bytes an element."""
        return self._data.itemsize

    def storage_offset(self) -> int:
        """Where the first element lies in the storage, in elements."""
        if self._k.special.__class__ is layout:
            return 0
        return storage_offset(self._data)

    def data_ptr(self) -> int:
        """The address of the first element; 0 for an empty tensor."""
        if self._k.special.__class__ is layout:
            raise RuntimeError("Cannot access data pointer of Tensor that doesn't have storage")
        nowhere = self._data.size == 0 or self._k.device.type == "meta" or getattr(self._k.special, "_hollow", False)
        return 0 if nowhere else address_of(self._data)

    def const_data_ptr(self) -> int:
        """The same; it is not for writing."""
        return self.data_ptr()

    def is_distributed(self) -> bool:
        """False."""
        return False

    def untyped_storage(self) -> UntypedStorage:
        """The memory."""
        if self._k.special.__class__ is layout:
            raise NotImplementedError(f"Cannot access storage of {_IMPLS.get(self._k.special, 'SparseCsr')}TensorImpl")
        device = META if getattr(self._k.special, "_hollow", False) else self._k.device
        return UntypedStorage.of(self._data.flat if self.is_nested else self._data, device)

    def storage(self) -> TypedStorage:
        """The memory as elements of this dtype."""
        return TypedStorage.of(self.untyped_storage(), self._k.dtype)

    _typed_storage = storage

    def storage_type(self) -> type | None:
        """The class of storages of this dtype, `torch.FloatStorage`; None where it has none."""
        return CLASSES.get(self._k.dtype)

    def is_contiguous(self, memory_format: memory_format | None = None) -> bool:
        """Whether elements lie in row-major order, or in that of `memory_format`."""
        special = self._k.special
        if special.__class__ is layout and special is not sparse_coo and special is not _mkldnn:
            raise RuntimeError(f"Sparse {special.name[-3:].upper()} tensors do not have is_contiguous")
        if special is not None and getattr(self, "_asks_for_strides", False):
            found = above.of_wrapper(self, "is_contiguous", memory_format)
            if found is not NotImplemented:
                return bool(found)
        if memory_format is None or memory_format.name == "contiguous_format":
            return self._data.flags.c_contiguous
        data = self._data
        rank = {"channels_last": 4, "channels_last_3d": 5}[memory_format.name]
        return data.ndim == rank and np.moveaxis(data, 1, -1).flags.c_contiguous

    def dim_order(self, *, ambiguity_check: bool | list[memory_format] = False) -> tuple[int, ...]:
        """The dimensions as they lie in memory, that with the longest steps first.

        >>> import torchcompat as torch
        >>> torch.empty(2, 3, 5, 7, memory_format=torch.channels_last).dim_order()
        (0, 2, 3, 1)

        Args:
            ambiguity_check: whether to refuse a tensor that lies as several orders would have it; of memory formats one decides then.

        Raises:
            AttributeError: the tensor is sparse.
            TypeError: `ambiguity_check` is neither a bool nor a list of memory formats.
            RuntimeError: several orders are possible.
        """
        if self.is_sparse:
            raise AttributeError(f"Can't get dim order on sparse type: {self.type()} Use Tensor.to_dense() to convert to a dense tensor "
                                 "first.")
        formats = [] if isinstance(ambiguity_check, bool) else ambiguity_check
        if not isinstance(formats, list) or not all([isinstance(f, memory_format) for f in formats]):
            raise TypeError("The ambiguity_check argument must be a bool or a list of memory formats.")
        shape, strides = self._data.shape, self.stride()
        checks = bool(ambiguity_check) or ambiguity_check is not False
        if checks and (1 in shape or any([a == b for a, b in zip(strides, strides[1:])])) and (
                sum([self.is_contiguous(memory_format=f) for f in formats]) != 1):
            raise RuntimeError("The tensor does not have unique dim order, or cannot map to exact one of the given memory formats.")
        rows = self.is_contiguous()
        if rows != any([self.is_contiguous(memory_format=f) for f in (channels_last, channels_last_3d)]):
            return tuple(range(len(shape))) if rows else (0, *range(2, len(shape)), 1)
        order, told = memory_order(shape, strides)
        if checks and not told:
            raise RuntimeError("The tensor does not have unique dim order.")
        return tuple(order[::-1])

    def is_floating_point(self) -> bool:
        """Whether the dtype is a floating one."""
        return self._k.dtype.is_floating_point

    def is_complex(self) -> bool:
        """Whether the dtype is complex."""
        return self._k.dtype.is_complex

    def is_signed(self) -> bool:
        """Whether the dtype has a sign."""
        return self._k.dtype.is_signed

    def is_inference(self) -> bool:
        """Whether the tensor was made in inference mode."""
        return self._k.inference

    def _fix_weakref(self) -> None:
        """Nothing: a weak reference to a tensor stays one here."""

    @property
    def is_sparse(self) -> bool:
        """Whether the tensor is one of coordinates, of layout torch.sparse_coo."""
        return self._k.special is sparse_coo

    @property
    def is_sparse_csr(self) -> bool:
        """Whether the tensor is one of rows, of layout torch.sparse_csr."""
        return self._k.special is sparse_csr

    @property
    def is_mkldnn(self) -> bool:
        """Whether the tensor is of layout torch._mkldnn."""
        return self._k.special is _mkldnn

    @property
    def is_nested(self) -> bool:
        """Whether the tensor is one of parts that have sizes of their own."""
        return self._k.special is parts

    is_quantized = False
    is_mps = is_xpu = is_ipu = is_vulkan = is_maia = is_mtia = is_xla = False

    @property
    def is_cuda(self) -> bool:
        """Whether the device is CUDA."""
        return self._k.device.type == "cuda"

    @property
    def is_cpu(self) -> bool:
        """Whether the device is the CPU."""
        return self._k.device.type == "cpu"

    @property
    def is_npu(self) -> bool:
        """Whether the device is an NPU."""
        return self._k.device.type == "npu"

    @property
    def is_meta(self) -> bool:
        """Whether the tensor has no data."""
        return self._k.device.type == "meta"

    def is_conj(self) -> bool:
        """Whether the memory holds the conjugates of the elements, as after `conj()`."""
        bits = bits_of(self)
        return bits is not None and bits.conj

    def is_neg(self) -> bool:
        """Whether the memory holds the negatives of the elements, as that of the imaginary part of a conjugate."""
        bits = bits_of(self)
        return bits is not None and bits.neg

    def get_device(self) -> int:
        """The device index, -1 on the CPU."""
        return -1 if self._k.device.type in ("cpu", "meta") else self._k.device.index or 0

    @property
    def _version(self) -> int:
        """How often the tensor was changed in place."""
        if self._k.inference:
            raise RuntimeError("Inference tensors do not track version counter.")
        return changes(number_of(self))

    def _is_view(self) -> bool:
        return self._base is not None and not self._k.inference

    @property
    def names(self) -> tuple[None, ...]:
        """Dimension names; tensors have none here."""
        return (None,) * self._data.ndim

    def has_names(self) -> bool:
        """Whether dimensions have names."""
        return False


def _dim_error(dim: int, ndim: int) -> IndexError:
    n = ndim or 1
    return IndexError(f"Dimension out of range (expected to be in range of [{-n}, {n - 1}], but got {dim})" if ndim else
                      f"Dimension specified as {dim} but tensor has no dimensions")


def _strides(array: np.ndarray) -> tuple[int, ...]:
    """The strides torch reports, in bytes. NumPy gives an array without elements none, and a dimension that an index adds 0; torch
    gives the latter the extent of what follows."""
    strides = array.strides
    if not any(strides):  # or those of an expanded number
        return strides if array.size else tuple([n * array.itemsize for n in contiguous_strides(array.shape)])
    if 0 not in strides or not array.size:
        return strides
    shape, steps = array.shape, list(strides)
    for i in range(len(shape) - 1, -1, -1):
        if shape[i] == 1 and not steps[i]:
            steps[i] = shape[i + 1] * steps[i + 1] if i + 1 < len(shape) else array.itemsize
    return tuple(steps)
