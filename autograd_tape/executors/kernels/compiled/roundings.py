"""Roundings of float16. LLVM rounds widened numbers in their own precision, one by one, where it sees that nothing comes between; so minus
infinity is a large number in between, which is narrowed to it again."""

from __future__ import annotations

import numpy as np

from .._kernel import Kernel
from .base import EXACT, kernel, like, rounded, wide


def _rounding(function: np.ufunc) -> Kernel:
    """The kernel of NumPy's function, with the arguments of functions with two numbers."""
    def loop(x, y, a, b, start, stop):
        xs, ys = x[start:stop], y[start:stop]
        for i in range(ys.size):
            v = wide(xs[i])
            ys[i] = rounded(ys, function(like(v, -1e5) if v < like(v, -1e5) else v))

    loop.__name__ = loop.__qualname__ = function.__name__
    return kernel("r0[n] w0[n] s s :n", EXACT, "e")(loop)


floor, ceil, trunc, rint = [_rounding(function) for function in (np.floor, np.ceil, np.trunc, np.rint)]
