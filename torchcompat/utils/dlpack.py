"""DLPack: memory shared with other libraries."""

from .._making.creation import from_dlpack, to_dlpack
from .._memory.capsules import DLDeviceType

__all__ = ["DLDeviceType", "from_dlpack", "to_dlpack"]
