"""Settings of what torch compiles operations together with; nothing is compiled here, and they are remembered."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager

_strategy = [("STATIC", 2), ("DYNAMIC", 10)]
_onednn = [False]


@contextmanager
def optimized_execution(should_optimize: bool) -> Iterator[None]:
    """A block in which programs are optimized, or not."""
    yield


@contextmanager
def fuser(name: str) -> Iterator[None]:
    """A block in which operations are fused by a compiler: "fuser0" to "fuser3".

    Raises:
        Exception: another name.
    """
    if name not in ("fuser0", "fuser1", "fuser2", "fuser3", "none", "off"):
        raise Exception(f"unrecognized fuser option (name: {name})")  # noqa: TRY002  # as torch
    yield


def set_fusion_strategy(strategy: list[tuple[str, int]]) -> list[tuple[str, int]]:
    """Sets how often programs are compiled for sizes, static or dynamic; gives what was set before."""
    warnings.warn("`torch.jit.set_fusion_strategy` is deprecated. Please use `torch.compile` instead.", DeprecationWarning, stacklevel=1)
    before, _strategy[:] = list(_strategy), strategy
    return before


def enable_onednn_fusion(enabled: bool) -> None:
    """Switches fusion by oneDNN on or off."""
    _onednn[0] = bool(enabled)


def onednn_fusion_enabled() -> bool:
    """Whether fusion by oneDNN is on."""
    return _onednn[0]
