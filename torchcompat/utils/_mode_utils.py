"""Blocks without `__torch_dispatch__`, and comparison of modes."""

from collections.abc import Sequence

from ._python_dispatch import _DisableTorchDispatch


class no_dispatch(_DisableTorchDispatch):
    """Inside, neither modes nor classes carry out operations."""


def all_same_mode(modes: Sequence[object]) -> bool:
    """Whether all of these are one mode."""
    return all([mode == modes[0] for mode in modes])
