"""A module's copies in several processes, of which there is never more than one group to be without."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from autograd_tape.annotations import DeviceLike
from ..modules.module import Module

__all__ = ["DistributedDataParallel"]


class DistributedDataParallel(Module):
    """Refuses modules as torch does before `init_process_group`, which is not here. Programs ask whether a module is one."""

    def __init__(self, module: Module, device_ids: Sequence[DeviceLike] | None = None, output_device: DeviceLike | None = None,
                 dim: int = 0, broadcast_buffers: bool | None = None, init_sync: bool = True, process_group: object = None,
                 bucket_cap_mb: float | None = None, find_unused_parameters: bool = False, check_reduction: bool = False,
                 gradient_as_bucket_view: bool = False, static_graph: bool = False,
                 delay_all_reduce_named_params: Sequence[object] | None = None,
                 param_to_hook_all_reduce: Mapping[str, object] | None = None, mixed_precision: object = None, device_mesh: object = None,
                 skip_all_reduce_unused_params: bool = False, bucket_cap_mb_list: list[int] | None = None,
                 batched_grad_copy: bool = False, forward_sync_buffers: bool | None = None) -> None:
        raise ValueError("Default process group has not been initialized, please make sure to call init_process_group.")
