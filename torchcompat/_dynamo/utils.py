"""What is counted while programs are captured."""

from __future__ import annotations

import collections

from torchcompat._calls.absent import absences as _absences

counters: collections.defaultdict[str, collections.Counter[str]] = collections.defaultdict(collections.Counter)
"""By subject: `frames` and `stats` count what was captured, `graph_break` why something could not be."""


def is_compile_supported(device_type: str) -> bool:
    """Whether programs on such a device can be compiled: none can, they run as they are."""
    return False


_absences(__name__)
