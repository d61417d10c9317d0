"""torch.version: which torch this is compatible with; nothing of another vendor's is built in."""

from __future__ import annotations

from autograd_tape import __version__ as _own

__all__ = ["__version__", "debug", "cuda", "git_version", "hip", "rocm", "xpu"]

__version__ = "2.13.0"
debug = False
cuda: str | None = None
git_version = f"autograd-tape {_own}"
hip: str | None = None
rocm: str | None = None
xpu: str | None = None
