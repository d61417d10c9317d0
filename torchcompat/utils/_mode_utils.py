"""Blocks without `__torch_dispatch__`."""

from ._python_dispatch import _DisableTorchDispatch


class no_dispatch(_DisableTorchDispatch):
    """Inside, neither modes nor classes carry out operations."""
