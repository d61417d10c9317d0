"""torch.backends.mha: whether modules of attention may take their fast path at inference."""

from __future__ import annotations

_is_fastpath_enabled = True


def get_fastpath_enabled() -> bool:
    """Whether `nn.MultiheadAttention` and `nn.TransformerEncoder` may take the fast path."""
    return _is_fastpath_enabled


def set_fastpath_enabled(value: bool) -> None:
    """Sets whether they may."""
    global _is_fastpath_enabled
    _is_fastpath_enabled = value
