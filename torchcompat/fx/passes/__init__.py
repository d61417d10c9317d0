"""What is done to whole graphs."""

from torchcompat._calls.absent import absences as _absences

from . import shape_prop, split_module

__all__ = ["shape_prop", "split_module"]

_absences(__name__)
