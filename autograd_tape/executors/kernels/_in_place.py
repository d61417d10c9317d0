"""What functions that write over their first operand are called, by ``compiled/in_place.py`` and its callers, which import no compiler."""

from __future__ import annotations

__all__: list[str] = []

EQUAL, NOT_EQUAL, LESS, LESS_EQUAL, GREATER, GREATER_EQUAL, ALL_TRUE, ANY_TRUE, ONE_TRUE = range(9)
ALL_BITS, ANY_BITS, ONE_BIT, SHIFTED_LEFT, SHIFTED_RIGHT = range(5)
BOUNDED, FINITE, FRACTION, ROOT_INVERTED, MAGNITUDE, SIGNED, SQUARED, ROOTED, INVERTED = range(9)
