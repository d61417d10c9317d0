"""torch.cuda.gds where there is no CUDA: files are not read into devices."""

from __future__ import annotations

from .._calls.absent import absences as _absences
from .._calls.devices import functions, raising

__all__ = ["GdsFile", "gds_deregister_buffer", "gds_register_buffer"]
_NONE = raising(RuntimeError, "torch._C._{} is not supported on this platform")
globals().update(functions("torch.cuda.gds", [(_NONE, "gds_register_buffer(s); gds_deregister_buffer(s)")]))


class GdsFile:
    """A file for devices; making one refuses: RuntimeError."""

    def __init__(self, filename: str, flags: int) -> None:
        if not hasattr(flags, "__index__"):
            raise TypeError(f"'{type(flags).__name__}' object cannot be interpreted as an integer")
        _NONE("gds_register_handle")


for _name, _function in functions("torch.cuda.gds", [(_NONE, """register_handle(self); deregister_handle(self);
        load_storage(self, storage, offset=0); save_storage(self, storage, offset=0)""")]).items():
    setattr(GdsFile, _name, _function)
_absences(__name__)
