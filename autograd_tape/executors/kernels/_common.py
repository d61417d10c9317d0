"""What compiled kernels and their callers agree on, for callers that import no compiler."""

from __future__ import annotations

import numpy as np

__all__ = ["BINARY", "TILE", "UNARY", "YIELD"]

ADD, SUBTRACT, MULTIPLY, DIVIDE, SUBTRACT_FROM, DIVIDE_INTO = range(6)
NEGATE, ABSOLUTE, SQUARE, ROOT = range(4)
PRODUCT, QUOTIENT, BETWEEN, SCALED, WEIGHED = range(5)

#: The binary operations by NumPy's function: as they are, and with their operands exchanged.
BINARY = {
    np.add: (ADD, ADD),
    np.subtract: (SUBTRACT, SUBTRACT_FROM),
    np.multiply: (MULTIPLY, MULTIPLY),
    np.divide: (DIVIDE, DIVIDE_INTO),
}
UNARY = {np.negative: NEGATE, np.absolute: ABSOLUTE, np.square: SQUARE, np.sqrt: ROOT}

#: Rows and columns of what ``gather`` copies at once.
TILE = 64
#: The cell with the address of the function by which a thread lets others run.
YIELD = 68
