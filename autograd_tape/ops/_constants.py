"""Zero and one as 0-dim arrays by dtype: NumPy takes an array operand in half the time of a Python number."""

from __future__ import annotations

import numpy as np


class _Constant(dict[str, np.ndarray]):
    """From a dtype's `char` to the constant."""

    def __init__(self, value: int) -> None:
        super().__init__({c: np.array(value, c) for c in "efdFDbhilqBHILQ?"})
        for array in self.values():
            array.flags.writeable = False


ZERO, ONE = _Constant(0), _Constant(1)
