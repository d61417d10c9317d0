"""What compiled kernels and their callers agree on, for callers that import no compiler."""

from __future__ import annotations

import numpy as np

__all__ = ["TILE", "UNARY", "YIELD"]

NEGATE, ABSOLUTE, SQUARE, INVERT, ROOT = range(5)
PRODUCT, QUOTIENT, BETWEEN, SCALED, WEIGHED = range(5)
MORE, TIMES, OVER, LARGER, SMALLER, RAISED, MULTIPLIED, DIVIDED, AT_LEAST, AT_MOST, WITHIN, FILLED, COPIED = range(13)
MAGNITUDE, NEGATED, ROOTED, INVERTED, SIGNED, FLOORED, CEILED, TRUNCATED, ROUNDED = range(13, 22)

UNARY = {np.negative: NEGATE, np.absolute: ABSOLUTE, np.square: SQUARE, np.reciprocal: INVERT, np.sqrt: ROOT}

#: Rows and columns of what ``gather`` copies at once.
TILE = 64
#: The cell with the address of the function by which a thread lets others run.
YIELD = 68
