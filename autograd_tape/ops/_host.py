"""Operations whose kernel is index arithmetic on host memory, where every executor's buffers are."""

from __future__ import annotations

from typing import Any

from ..errors import MissingKernelError
from ..held import note_size
from ..node import TapeEntry
import numpy as np
from ..annotations import Fn, Functions
from ..tensor import TensorRef, foreign


def on_host(kernel: Fn) -> Fn:
    """A `compose` field that runs the NumPy kernel on any executor; the status table calls such operations "host".

    Two kinds are meant for it. Moving, picking and counting elements gains nothing from another library's kernel, whose border would
    have to be crossed twice. And random numbers come from our own generator on every executor, so that a seed gives the same numbers
    everywhere.
    """
    def compose(F: Functions, *args: object) -> object:
        return kernel(*args)

    compose.host = True  # type: ignore[attr-defined]  # the status table says so
    return compose


NO_ITEM = "Tensor.item() cannot be called on meta tensors"
"""What torch says where a composition reads a number out of a meta tensor."""


BY_VALUES = "The shape of the result depends on the values of the input, and meta tensors have none"


def data_dependent(*args: object) -> Any:
    """A `meta` field of operations whose result's shape depends on values, which meta tensors do not have."""
    raise MissingKernelError(BY_VALUES,
                             expected="a tensor with data", found="a meta tensor", remedy="run it on another device")


def need_values(tensor: TensorRef) -> np.ndarray:
    """The buffer of a tensor whose values decide a result's shape; `data_dependent`'s error for a meta tensor."""
    note_size()
    if tensor._k.device.type == "meta":
        data_dependent()
    return values_of(tensor) if tensor._k.special is None else TapeEntry.front_end.values_for_size(tensor)


def data_of(tensor: TensorRef) -> Any:
    """The buffer of a tensor; of a view that stands for the conjugates or negatives of its memory, those."""
    return tensor._data if tensor._k.special is None else TapeEntry.front_end.values_of(tensor)


def values_of(tensor: TensorRef) -> np.ndarray:
    """The elements of a tensor for those who look at them: its buffer, or a copy in one place of one that lies on several devices."""
    data = data_of(tensor)
    return data.whole() if foreign(data) else data


def on_one_device(x: TensorRef, y: TensorRef) -> bool:
    """Whether operations take two tensors together: what lies on the CPU lies in full on each device of a mesh."""
    device, other = x._k.device, y._k.device
    return device == other or {device.type, other.type} == {"cpu", "mesh"}
