"""Roundings of float16. LLVM rounds widened numbers in their own precision, one by one, where it sees that nothing comes between; so minus
infinity is a large number in between, which is narrowed to it again."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba.extending import register_jitable

from ....annotations import Fn
from .._kernel import Kernel
from .base import EXACT, kernel, like, rounded, wide

_INLINE: Any = {"nogil": True, "error_model": "numpy", "forceinline": True}


def _rounding(formula: Fn) -> Kernel:
    """The kernel of ``formula(v)``, with the arguments of functions with two numbers."""
    number = register_jitable(**_INLINE)(formula)

    def loop(x, y, a, b, start, stop):
        xs, ys = x[start:stop], y[start:stop]
        for i in range(ys.size):
            v = wide(xs[i])
            ys[i] = rounded(ys, number(like(v, -1e5) if v < like(v, -1e5) else v))

    loop.__name__ = loop.__qualname__ = formula.__name__
    return kernel("r0[n] w0[n] s s :n", EXACT, "e")(loop)


@_rounding
def floor(v):
    return np.floor(v)


@_rounding
def ceil(v):
    return np.ceil(v)


@_rounding
def trunc(v):
    return np.trunc(v)


@_rounding
def rint(v):
    return np.rint(v)
