"""Whether torch should warn of what broadcasting and `keepdim` changed in its second year. Here nothing has changed, so that nothing
warns: what programs set is remembered, and told."""

from __future__ import annotations

from collections.abc import Callable

from ..._calls.absent import absences as _absences


class Warning:
    """A warning that can be switched on.

    Attributes:
        enabled: whether it is.
    """

    def __init__(self, setter: Callable[[bool], object], getter: Callable[[], bool]) -> None:
        self.setter, self.getter = setter, getter

    def set_enabled(self, value: bool) -> None:
        """Switches it on or off."""
        self.setter(value)

    def get_enabled(self) -> bool:
        """Whether it is on."""
        return self.getter()

    enabled = property(get_enabled, set_enabled)


def _setting() -> Warning:
    state = [False]
    return Warning(lambda value: state.__setitem__(0, value), lambda: state[0])


broadcast_warning, keepdim_warning = _setting(), _setting()

_absences(__name__)
