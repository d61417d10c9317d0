"""torch.backends.opt_einsum: in which order `torch.einsum` multiplies, where the package opt_einsum is installed."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType

from autograd_tape.annotations import Arguments
from ._flags import Flag, FlagModule, block, setter


@cache
def is_available() -> bool:
    """Whether the package is installed."""
    return find_spec("opt_einsum") is not None


def get_opt_einsum() -> ModuleType | None:
    """The package, or None."""
    return import_module("opt_einsum") if is_available() else None


class OptEinsumModule(FlagModule):
    """The module with its flags."""

    enabled = Flag(is_available())
    strategy = Flag("auto" if is_available() else None)


_set = setter(__name__, "enabled", "strategy")


def set_flags(_enabled: bool | None = None, _strategy: str | None = None) -> Arguments:
    """Sets the flags given, and returns what they were.

    Raises:
        ValueError: the package is not installed, or the strategy is not one of auto, greedy and optimal.
    """
    if not is_available() and _enabled is not False:
        raise ValueError("opt_einsum is not available, so setting `enabled` to True will not reap the benefits of calculating an optimal "
                         "path for einsum. torch.einsum will fall back to contracting from left to right. To enable this optimal path "
                         "calculation, please install opt-einsum.")
    if _strategy is not None and _strategy not in ("auto", "greedy", "optimal"):
        raise ValueError(f"`strategy` must be one of the following: [auto, greedy, optimal] but is {_strategy}")
    return _set(_enabled, _strategy)


flags = block(set_flags, enabled=None, strategy=None)
OptEinsumModule.become(__name__)
