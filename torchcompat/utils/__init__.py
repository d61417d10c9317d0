"""torch.utils: data loading, checkpointing, hooks, pytrees. Its modules are imported at first use."""

from typing import TYPE_CHECKING

from .._calls.absent import absent, submodules

if TYPE_CHECKING:
    from . import benchmark as benchmark, checkpoint as checkpoint, data as data, deterministic as deterministic, dlpack as dlpack
    from . import hooks as hooks
    from . import flop_counter as flop_counter, mkldnn as mkldnn, module_tracker as module_tracker, serialization as serialization


if not TYPE_CHECKING:  # what stands here is known, and no other name
    def __getattr__(name: str) -> object:
        from importlib import import_module

        if name not in submodules(__name__):
            raise absent(__name__, name)
        return import_module(f".{name}", __name__)
