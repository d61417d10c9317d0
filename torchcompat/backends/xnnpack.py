"""torch.backends.xnnpack: this build has none."""

from __future__ import annotations

from ._flags import FlagModule


class XNNPACKEngine(FlagModule):
    """The module, whose `enabled` is False."""

    @property
    def enabled(self) -> bool:
        """Whether XNNPACK is there."""
        return False

    @enabled.setter
    def enabled(self, value: bool) -> None:
        raise RuntimeError("Assignment not supported")


XNNPACKEngine.become(__name__)
