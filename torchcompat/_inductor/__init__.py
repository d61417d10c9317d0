"""Settings of torch's own compiler, which is not here."""

from torchcompat._calls.absent import on_demand as _on_demand

_on_demand(__name__)
