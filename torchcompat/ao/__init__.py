"""torch.ao: what programs name of quantization. Its modules are imported at first use."""

from .._calls.absent import on_demand as _on_demand

_on_demand(__name__)
