"""AdamW, under the module name that torch gives it."""

from __future__ import annotations

from .adam import AdamW

__all__ = ["AdamW"]
