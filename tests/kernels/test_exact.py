"""Machine code that serves few elements once it is at hand gives the bits of the formulas in whose place it comes."""

from __future__ import annotations

import numpy as np
import pytest

from autograd_tape.executors.kernels import _on_demand
from autograd_tape.executors.kernels.elementwise import EXACT
from autograd_tape.ops.elementwise import arithmetic, complex, rounding
from autograd_tape.ops.networks import activation, loss

pytestmark = pytest.mark.skipif(not _on_demand.available(), reason="Numba is not installed: there is no machine code")
assert activation and arithmetic and complex and loss and rounding  # whose kernels have been decorated then
SPECIAL = [0.0, -0.0, np.inf, -np.inf, np.nan, 1e-310, -1e-310, 1e-45, -1e-45, 3, -3, 0.5, -0.5, 6, 1, -1, 1e300, 3e38, -3e38]
NUMBERS = {"leaky_relu": [(0.01,), (1.0,), (0.0,), (-0.5,), (3.0,)], "threshold": [(0.1, 2.0), (0.0, 0.0), (-1.0, np.nan), (np.nan, 1.0)],
           "hardshrink": [(0.5,), (0.0,), (-1.0,), (np.nan,)], "softshrink": [(0.5,), (1e-3,)], "threshold_backward": [(0.0,), (0.5,)],
           "hardtanh_backward": [(-1.0, 1.0), (0.0, 6.0)], "leaky_relu_backward": [(0.01,), (-0.5,)], "shrink_backward": [(0.5,), (0.0,)],
           "huber": [(1.0,), (0.7,)], "digits": [(100.0, 0.0), (100.0, 1.0), (1e30, 0.0)]}


@pytest.mark.parametrize("place", range(len(EXACT)))
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_machine_code_gives_the_formulas_bits(place: int, dtype: type) -> None:
    name, formula, at_once = EXACT[place]
    rng = np.random.default_rng(0)
    previous = _on_demand.use_numba("auto")
    try:
        with np.errstate(all="ignore"):
            special = np.array(SPECIAL, dtype)
            for size in (1, 3, 8, 17, 200):
                for options in NUMBERS.get(name, [()]):
                    arrays = [np.concatenate([rng.permutation(special), (rng.standard_normal(200) * 4).astype(dtype)])[:size]
                              for _ in range(formula.__code__.co_argcount - len(options))]
                    _on_demand.state.mode = "numba"  # machine code is made at once
                    found = at_once(*arrays, *options)
                    assert found is not None and found.dtype == dtype
                    expected = formula(*arrays, *options)
                    same = (found == expected) & (np.signbit(found) == np.signbit(expected)) | np.isnan(found) & np.isnan(expected)
                    assert same.all(), (options, [a[~same] for a in arrays], found[~same], expected[~same])
    finally:
        _on_demand.use_numba(previous)
