"""torch._subclasses: whether a tensor is a fake. Tensors without data are of device "meta" here, and say so; no other stands in for one."""

from .._calls.absent import on_demand as _on_demand

_on_demand(__name__)
