"""torch.distributed.checkpoint, of which there is what models in one process are saved as and loaded from (`state_dict`)."""

from __future__ import annotations

from ..._calls.absent import absences as _absences

_absences(__name__)
