"""torch.return_types: the named tuples that operations with several results give; those of calls with `out=` end in `_out`.

>>> import torchcompat as torch
>>> isinstance(torch.max(torch.ones(2, 3), 1), torch.return_types.max)
True
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from autograd_tape.ops import RECORDS

from ._calls.absent import absent as _absent
from ._tensor import frontend

if TYPE_CHECKING:
    from ._calls.of_return_types import *


if not TYPE_CHECKING:  # what stands here is known, and no other name
    def __getattr__(name: str) -> object:
        """The type of an operation's results, by the name of the operation."""
        operation = name.removesuffix("_out")
        rec = RECORDS.get(f"{operation}_along") or RECORDS.get(operation)
        made = None if rec is None or name.startswith("_") else frontend.return_type(rec, name != operation)
        if made is None:
            raise _absent(__name__, name)
        globals()[name] = made
        return made
