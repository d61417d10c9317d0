"""torch.utils: data loading, checkpointing, hooks, pytrees. Its modules are imported at first use."""

from typing import TYPE_CHECKING

from .._calls.absent import on_demand as _on_demand

if TYPE_CHECKING:
    from . import benchmark as benchmark, checkpoint as checkpoint, data as data, deterministic as deterministic, dlpack as dlpack
    from . import hooks as hooks
    from . import flop_counter as flop_counter, mkldnn as mkldnn, module_tracker as module_tracker, serialization as serialization

_on_demand(__name__)
