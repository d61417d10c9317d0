"""torch.distributed of a torch that was built without it: says so, and has nothing else.

>>> import torchcompat as torch
>>> torch.distributed.is_available()
False

Programs that ask, as those that also run on one machine do, go on without it. `autograd_tape.sharding` shards tensors over processes.
"""

from __future__ import annotations

import enum

from .._calls.absent import on_demand as _on_demand

__all__ = ["is_available"]


def is_available() -> bool:
    """Whether processes can work on one model together: they cannot."""
    return False


class ProcessGroup:
    """What annotations name; torch without distributed processes has it, too."""


class ReduceOp(enum.Enum):
    """What would be made of the tensors of several processes: what programs name in their functions' defaults."""

    SUM, AVG, PRODUCT, MIN, MAX, BAND, BOR, BXOR, PREMUL_SUM = range(9)

    def __int__(self) -> int:
        return int(self.value)


ProcessGroup.__name__ = ProcessGroup.__qualname__ = "_ProcessGroupStub"
_on_demand(__name__)
