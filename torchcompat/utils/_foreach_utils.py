"""Lists of tensors by what operations on lists ask of them: one device and one dtype."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchcompat._tensor import Tensor

if TYPE_CHECKING:
    from collections.abc import Sequence

    from autograd_tape.dtypes import Device, DType

    Groups = dict[tuple[Device, DType], tuple[list[list[Tensor | None]], list[int]]]

_foreach_supported_types = [Tensor]


def _get_foreach_kernels_supported_devices() -> list[str]:
    """Accelerators that have operations on lists, which optimizers then take by themselves."""
    return ["cuda", "xpu", "mtia", "privateuseone"]


def _get_fused_kernels_supported_devices() -> list[str]:
    """Devices that have fused optimizers."""
    return ["mps", "cuda", "xpu", "hpu", "cpu", "mtia", "privateuseone"]


def _group_tensors_by_device_and_dtype(tensorlistlist: Sequence[Sequence[Tensor | None]], with_indices: bool = False) -> Groups:
    """The lists, cut into groups that have the device and dtype of the first list's tensors, and where each was, where asked for.

    Raises:
        RuntimeError: there is no list, or the first one holds None.
    """
    if not tensorlistlist:
        raise RuntimeError("there is no list of tensors")
    found: Groups = {}
    for i, tensor in enumerate(tensorlistlist[0]):
        if tensor is None:
            raise RuntimeError("the first list of tensors must hold no None")
        lists, indices = found.setdefault((tensor.device, tensor.dtype), ([[] for _ in tensorlistlist], []))
        for group, given in zip(lists, tensorlistlist):
            if len(given) > 0:
                group.append(given[i])
        if with_indices:
            indices.append(i)
    return found


def _device_has_foreach_support(device: Device) -> bool:
    """Whether there are operations on lists for a device."""
    return device.type in (*_get_foreach_kernels_supported_devices(), "cpu")


def _has_foreach_support(tensors: Sequence[Tensor | None], device: Device) -> bool:
    """Whether there are operations on lists for these tensors: plain ones, on such a device."""
    return _device_has_foreach_support(device) and all([t is None or type(t) in _foreach_supported_types for t in tensors])
