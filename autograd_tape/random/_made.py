"""What numbers that are made of one uniform number are called, by ``compiled/drawn.py`` and its callers, which import no compiler."""

from __future__ import annotations

__all__: list[str] = []

EXPONENTIAL, CAUCHY, GEOMETRIC, CHANCE = range(4)
