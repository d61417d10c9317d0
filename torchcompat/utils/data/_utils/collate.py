"""A batch from a list of samples."""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Mapping, MutableMapping, MutableSequence, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from autograd_tape.annotations import Fn
import torchcompat as torch
from torchcompat._memory import shared

if TYPE_CHECKING:
    from torchcompat._tensor import Tensor

__all__ = ["collate", "default_collate", "default_collate_fn_map", "default_convert"]

_SPARSE = {torch.sparse_coo, torch.sparse_csr, torch.sparse_csc, torch.sparse_bsr, torch.sparse_bsc}
np_str_obj_array_pattern = re.compile("[SaUO]")
"""The kinds of arrays, in NumPy's letters, that are no tensors."""
default_collate_err_msg_format = "default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found {}"


def _like_mapping(sample: Any, values: dict[str, list[str] | Tensor]) -> Any:
    """A mapping of the sample's type, where that can be made."""
    try:
        if isinstance(sample, MutableMapping):
            clone = copy.copy(sample)
            clone.update(values)
            return clone
        return type(sample)(values)
    except TypeError:
        return values


def _like_sequence(sample: Any, values: list[Any]) -> Any:
    """A sequence of the sample's type, where that can be made; a list for a tuple."""
    if isinstance(sample, tuple):
        return values
    try:
        if isinstance(sample, MutableSequence):
            clone = copy.copy(sample)
            for i, value in enumerate(values):
                clone[i] = value
            return clone
        return type(sample)(values)
    except TypeError:
        return values


def default_convert(data: Any) -> Any:
    """Arrays and NumPy numbers in `data` as tensors; everything else as it is."""
    if isinstance(data, torch.Tensor):
        return data
    if isinstance(data, (np.ndarray, np.generic)):
        return data if isinstance(data, np.str_) or data.dtype.kind in "SaUO" else torch.as_tensor(data)
    if isinstance(data, Mapping):
        return _like_mapping(data, {key: default_convert(data[key]) for key in data})
    if isinstance(data, tuple) and hasattr(data, "_fields"):
        return type(data)(*(default_convert(d) for d in data))
    if isinstance(data, Sequence) and not isinstance(data, (str, bytes)):
        return _like_sequence(data, [default_convert(d) for d in data])
    return data


def collate(batch: Any, *, collate_fn_map: dict[Any, Fn] | None = None) -> Any:
    """Samples of one structure as one structure of batches.

    Args:
        batch: the samples; mappings and sequences in them are gone into.
        collate_fn_map: from type (or tuple of types) to `function(batch, collate_fn_map=...)`.

    Raises:
        TypeError: a type that is not in the map.
        RuntimeError: sequences of different lengths.
    """
    first, kinds = batch[0], collate_fn_map or {}
    function = kinds.get(type(first)) or next((f for kind, f in kinds.items() if isinstance(first, kind)), None)
    if function is not None:
        return function(batch, collate_fn_map=collate_fn_map)
    if isinstance(first, Mapping):
        return _like_mapping(first, {key: collate([sample[key] for sample in batch], collate_fn_map=collate_fn_map) for key in first})
    if isinstance(first, tuple) and hasattr(first, "_fields"):
        return type(first)(*(collate(samples, collate_fn_map=collate_fn_map) for samples in zip(*batch)))
    if isinstance(first, Sequence):
        if {*map(len, batch)} != {len(first)}:
            raise RuntimeError("each element in list of batch should be of equal size")
        return _like_sequence(first, [collate(samples, collate_fn_map=collate_fn_map) for samples in zip(*batch)])
    raise TypeError(default_collate_err_msg_format.format(type(first)))


def collate_tensor_fn(batch: list[Tensor], *, collate_fn_map: dict[type | tuple[type, ...], Callable] | None = None) -> Tensor:
    """Tensors stacked; RuntimeError where one is sparse."""
    if batch[0].layout in _SPARSE:
        raise RuntimeError("Batches of sparse tensors are not currently supported by the default collate_fn; please provide a custom "
                           "collate_fn to handle them appropriately.")
    first = batch[0]
    if type(first) is torch.Tensor and len(batch) * first.nbytes >= shared.LARGE and shared.in_worker \
            and all([type(t) is torch.Tensor and t.dtype is first.dtype and not t.requires_grad and t.shape == first.shape for t in batch]):
        return torch.stack(list(batch), 0, out=shared.rows(first, len(batch)))  # where the main process will find it
    return torch.stack(list(batch), 0)


def collate_numpy_array_fn(batch: tuple[np.ndarray, ...], *,
                           collate_fn_map: dict[type | tuple[type, ...], Callable] | None = None) -> Tensor:
    """Arrays as one tensor."""
    if np_str_obj_array_pattern.search(batch[0].dtype.str):
        raise TypeError(default_collate_err_msg_format.format(batch[0].dtype))
    return collate([torch.as_tensor(b) for b in batch], collate_fn_map=collate_fn_map)


def collate_numpy_scalar_fn(batch: tuple[np.generic, ...], *,
                            collate_fn_map: dict[type | tuple[type, ...], Callable] | None = None) -> Tensor:
    """NumPy numbers as one tensor."""
    return torch.as_tensor(batch)


def collate_float_fn(batch: tuple[float, ...], *, collate_fn_map: dict[type | tuple[type, ...], Callable] | None = None) -> Tensor:
    """Floats as one float64 tensor."""
    return torch.tensor(batch, dtype=torch.float64)


def collate_int_fn(batch: list[int] | tuple[int | bool, ...], *,
                   collate_fn_map: dict[type | tuple[type, ...], Callable] | None = None) -> Tensor:
    """Ints as one tensor."""
    return torch.tensor(batch)


def collate_str_fn(batch: Sequence[str], *, collate_fn_map: dict[type | tuple[type, ...], Callable] | None = None) -> Any:
    """Strings stay a list."""
    return batch


default_collate_fn_map: dict[object, Fn] = {
    torch.Tensor: collate_tensor_fn, np.ndarray: collate_numpy_array_fn, (np.bool_, np.number, np.object_): collate_numpy_scalar_fn,
    float: collate_float_fn, int: collate_int_fn, str: collate_str_fn, bytes: collate_str_fn,
}


def default_collate(batch: object) -> Any:
    """Samples as a batch: tensors are stacked, numbers become tensors, mappings and sequences keep their structure.

    >>> default_collate([{"x": 1, "y": [2.0]}, {"x": 3, "y": [4.0]}])
    {'x': tensor([1, 3]), 'y': [tensor([2., 4.], dtype=torch.float64)]}
    """
    return collate(batch, collate_fn_map=default_collate_fn_map)
