"""What is done to whole graphs."""

from typing import TYPE_CHECKING

from torchcompat._calls.absent import on_demand as _on_demand

from . import shape_prop, split_module

if TYPE_CHECKING:
    from . import dialect as dialect, infra as infra

__all__ = ["shape_prop", "split_module"]

_on_demand(__name__)
