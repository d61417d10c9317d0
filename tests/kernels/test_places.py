"""Integers whose functions are looked up: which of them are in a table, at the ends of their dtypes."""

from __future__ import annotations

import numpy as np
import pytest

from autograd_tape.executors.kernels.formulas import unary
from autograd_tape.executors.kernels.valued import valued

_EACH = unary(lambda x: x * 0.5 + 1.0)


@pytest.mark.parametrize("dtype", ["b", "B", "h", "H", "i", "I", "l"])
@pytest.mark.parametrize("wanted", ["f", "d"])
def test_integers_are_looked_up_where_all_are_in_the_table(dtype: str, wanted: str) -> None:
    ends = np.iinfo(dtype)
    for extreme in (0, ends.min, ends.max, -256, -257, 767, 768):
        if ends.min <= extreme <= ends.max:
            for shape in ((1200,), (40, 30)):
                x = (np.arange(1200) % 100).astype(dtype).reshape(shape)
                x.reshape(-1)[77] = extreme
                for given in (x, x.T):
                    found = valued(_EACH, given, np.dtype(wanted))
                    assert found.dtype == wanted and np.array_equal(found, (given.astype(wanted) * 0.5 + 1).astype(wanted))
