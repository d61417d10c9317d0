"""torch.backends.miopen: this build has none; its flag is kept."""

from __future__ import annotations

from ._flags import Flag, FlagModule, block, setter


class MiopenModule(FlagModule):
    """The module with its flag."""

    immediate = Flag(False, "set_immediate_miopen")


set_flags = setter(__name__, "immediate")
flags = block(set_flags, immediate=False)
MiopenModule.become(__name__)
