"""torch.backends.nnpack: this build has none; its flag is kept."""

from __future__ import annotations

from ._flags import Flag, FlagModule, block, setter


def is_available() -> bool:
    """False."""
    return False


class NnpackModule(FlagModule):
    """The module with its flag."""

    enabled = Flag(True)


set_flags = setter(__name__, "enabled")
flags = block(set_flags, enabled=False)
NnpackModule.become(__name__)
