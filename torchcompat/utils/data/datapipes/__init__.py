"""Data pipes: datasets that are made of others by a step each, one element after the other (`iter`) or by number (`map`)."""

from __future__ import annotations

from . import iter as iter, map as map
