"""What nested tensors do where others do something else, and what is made from and of them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from autograd_tape.annotations import Arguments, Keywords
from autograd_tape.dtypes import DType, bool_, default_dtype, int64

from .._tensor import Tensor, frontend
from .._tensor_str import with_suffixes
from ..sparse._door import could_not_run
from ..sparse._nodes import recorded
from ._buffers import Nested, table, without as without
from ._door import is_nested, nested, of_list, refused as refused, row_of

F = frontend


def text(x: Tensor, ends: Sequence[str]) -> str:
    """The text of a tensor, with what is said at its end."""
    shown = ",".join(["\n  " + str(part).replace("\n", "\n  ") for part in _shown(x)])
    return with_suffixes(f"nested_tensor([{shown or chr(10)}\n]", list(ends), 0)


def _shown(x: Tensor) -> list[Tensor]:
    """The parts as they are printed."""
    found = [frontend.wrap(array) for array in x._data.arrays()]
    return [t.requires_grad_() for t in found] if x.requires_grad else found


def _checked(x: Tensor, name: str) -> Tensor:
    if not is_nested(x):
        raise could_not_run(name, x._k.device.type.upper())
    return x


def _nested_tensor_size(x: Tensor) -> Tensor:
    """The sizes of parts, a row for each."""
    return table(_checked(x, "_nested_tensor_size")._data.sizes)


def _nested_tensor_strides(x: Tensor) -> Tensor:
    """The strides of parts, a row for each."""
    return table(_checked(x, "_nested_tensor_strides")._data.steps)


def _nested_tensor_storage_offsets(x: Tensor) -> Tensor:
    """Where parts begin."""
    return frontend.wrap(np.array(_checked(x, "_nested_tensor_storage_offsets")._data.offsets, np.int64))


def values(x: Tensor) -> Tensor:
    """All elements in a row."""
    return row_of(x)


def to_padded_tensor(x: Tensor, padding: float, output_size: Sequence[int] | None = None) -> Tensor:
    """The parts in a tensor that has room for the largest, with `padding` beside them.

    Args:
        output_size: the sizes of a larger one.

    Raises:
        RuntimeError: it would be too small, or parts do not lie in order.
        NotImplementedError: `x` is not nested.
    """
    buffer = _checked(x, "to_padded_tensor")._data
    if not buffer.in_order:
        raise RuntimeError("for now to_padded_tensor only supports contiguous nested tensor")
    if not buffer.sizes:
        return frontend.wrap(np.empty(0, buffer.flat.dtype))
    own = (len(buffer.sizes), *[max(column) for column in zip(*buffer.sizes)])
    if output_size is not None:
        if len(output_size) != len(own):
            raise RuntimeError("Length of output_size does not match NestedTensor dims. Broadcasting is not supported.")
        if any([n < o for n, o in zip(output_size, own)]):
            raise RuntimeError("Value in output_size is less than NestedTensor padded size. Truncation is not supported.")
        own = tuple(output_size)
    made = F.full(own, padding, dtype=x._k.dtype)
    for row, array in zip(made._data, buffer.arrays()):
        row[tuple([slice(n) for n in array.shape])] = array
    return recorded(made, "ToPaddedTensorBackward0", (x, lambda g: cut(g, buffer.sizes, "NestedFromPaddedBackward0")))


def cut(padded: Tensor, sizes: Sequence[Sequence[int]], name: str = "NestedFromPaddedBackward0") -> Tensor:
    """A nested tensor of what parts of these sizes have in a padded one."""
    return of_list([padded[(i, *[slice(n) for n in size])] for i, size in enumerate(sizes)], name)


def _nested_from_padded(padded: Tensor, cpu_nested_shape_example: Tensor, fuse_transform_0213: bool = False) -> Tensor:
    """A nested tensor of what parts, whose sizes are rows, have in a padded one.

    Args:
        fuse_transform_0213: the padded tensor has dimensions (parts, heads, rows, features of a head).
    """
    if fuse_transform_0213:
        padded = padded.transpose(1, 2).flatten(2)
    return cut(padded, cpu_nested_shape_example.tolist())


def _nested_from_padded_and_nested_example(padded: Tensor, nt_example: Tensor) -> Tensor:
    """A nested tensor of what parts of the sizes of another's have in a padded one."""
    return cut(padded, nt_example._data.sizes)


def _lengths(t: Tensor, mask: Tensor) -> list[int] | None:
    """How many rows a mask lets in of each part; None where they do not come first.

    Raises:
        RuntimeError: it is no mask of `t`.
    """
    if mask._k.dtype is not bool_:
        raise RuntimeError(f"Expected mask to be of ScalarType Bool, but got {mask._k.dtype.scalar} instead.")
    if mask._data.ndim != 2:
        raise RuntimeError("Padding mask should be 2D")
    if t._data.ndim != 3:
        raise RuntimeError("Input should be a 3D tensor, N * L * D")
    if t._data.shape[:2] != mask._data.shape:
        raise RuntimeError("Mask size should match input size")
    counts = [int(n) for n in mask._data.sum(1)]
    return counts if all([bool(row[:n].all()) for row, n in zip(mask._data, counts)]) else None


def _nested_tensor_from_mask(t: Tensor, mask: Tensor, mask_check: bool = True) -> Tensor:
    """A nested tensor of the rows that a mask lets in.

    Raises:
        RuntimeError: the mask is none of `t`, or those rows do not come first.
    """
    counts = _lengths(t, mask)
    if counts is None and mask_check:
        raise RuntimeError("Mask must be left-aligned without gaps")
    rows = [int(n) for n in mask._data.sum(1)] if counts is None else counts
    return cut(t, [(n, t._data.shape[2]) for n in rows], "NestedTensorFromMaskBackward0")


def _nested_tensor_from_mask_left_aligned(t: Tensor, mask: Tensor) -> bool:
    """Whether the rows that a mask lets in come first."""
    return _lengths(t, mask) is not None


def _nested_tensor_from_tensor_list(list: Sequence[Tensor], dtype: DType | None = None, layout: object = None, device: object = None,
                                    pin_memory: bool | None = None) -> Tensor:
    """A nested tensor of copies of tensors, with their history.

    Raises:
        RuntimeError: they have not as many dimensions.
    """
    for i, (a, b) in enumerate(zip(list, list[1:])):
        if a._data.ndim != b._data.ndim:
            raise RuntimeError(f"All Tensors given to nested_tensor must have the same dimension. Found dimension {b._data.ndim} for "
                               "Tensor at "
                               f"index {i + 1} and dimension {a._data.ndim} for Tensor at index {i}.")
    if not list:
        return nested(Nested(np.empty(0, (dtype or default_dtype()).np), ()))
    if list[0]._k.device.type != "cpu":
        raise RuntimeError("storage_device.is_cpu() || storage_device.is_cuda() || storage_device.is_xpu() || storage_device.is_hpu() || "
                           "storage_device.is_privateuseone() INTERNAL ASSERT FAILED at \"/__w/pytorch/pytorch/aten/src/ATen/"
                           "NestedTensorImpl.cpp\":183, please report a bug to PyTorch. NestedTensorImpl storage must be either CUDA, "
                           "CPU, XPU "
                           f"or privateuseone but got {list[0]._k.device.type}")
    wanted = dtype or list[0]._k.dtype
    return of_list([t.to(wanted) for t in list])


def _nested_view_from_buffer(self: Tensor, nested_size: Tensor, nested_strides: Tensor, offsets: Tensor) -> Tensor:
    """A nested tensor whose parts lie in the memory of a row of elements."""
    flat, rows = self._data.reshape(-1), nested_size._data.shape
    fit = len(rows) == 2 and nested_strides._data.shape == rows and offsets._data.shape == rows[:1]
    right = fit or nested_size._data.size == 0 == offsets.numel()
    if not right or not all([t._k.dtype is int64 for t in (nested_size, nested_strides, offsets)]):
        raise ValueError("sizes and strides are rows of int64, one for each offset")
    sizes, steps = [tuple([tuple(row) for row in t.tolist()]) for t in (nested_size, nested_strides)]
    made = Nested(flat, sizes, steps, tuple(offsets.tolist()))
    for size, step, offset in zip(made.sizes, made.steps, made.offsets):
        last = offset + sum([(n - 1) * s for n, s in zip(size, step)])
        if min(size, default=0) < 0 or 0 not in size and (offset < 0 or min(step, default=0) < 0 or last >= flat.size):
            raise RuntimeError(f"setStorage: sizes {list(size)}, strides {list(step)}, storage offset {offset}, and itemsize "
                               f"{flat.itemsize} requiring a storage size of {(last + 1) * flat.itemsize} are out of bounds for storage of "
                               f"size {flat.nbytes}")
    return recorded(nested(made), "NestedViewFromBufferBackward0", (self, row_of))


def drawn(x: Tensor, name: str, args: Arguments, options: Keywords) -> Tensor:
    """Draws the elements anew, in place: from a normal distribution, which is the one that torch has for them."""
    if name != "normal_":
        raise refused(name)
    frontend.wrap(x._data.flat).normal_(*args, **options)
    frontend.bump(x)
    return x


def saved_parts(x: Tensor) -> tuple[Tensor, ...]:
    """What a pickle has: the memory as a row of elements, the sizes and strides of parts, and where they begin."""
    memory = frontend.wrap(x._data.flat)
    return memory, _nested_tensor_size(x), _nested_tensor_strides(x), _nested_tensor_storage_offsets(x)
