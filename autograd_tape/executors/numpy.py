"""The NumPy executor: always there, nothing to configure."""

from __future__ import annotations

from typing import Any
from collections.abc import Callable

import numpy as np

from ..record import Record
from .base import Executor

class NumpyExecutor(Executor):
    """Kernels are the records' `numpy` fields."""

    name = "numpy"
    field = "numpy"

    def call(self, rec: Record, kernel: Callable[..., Any], values: list[Any]) -> Any:
        """Calls a kernel; where it is written for float32 and float64, half precision is computed in float32 and rounded."""
        return in_single(rec, kernel, values) if (rec.quiet == "float" or
                                                  rec.field("half")) and rec.family not in ("view", "view?") else kernel(*values)


def in_single(rec: Record, kernel: Callable[..., Any], values: list[Any]) -> Any:
    """Calls a kernel with half precision widened to float32, and rounds the outputs back."""
    half = next((v.dtype for v in _arrays(values) if is_half(v.dtype)), None)
    if half is None:
        return kernel(*values)
    own = rec.field("half")
    if own is not None:
        return own(*values)
    results = kernel(*[_widen(v) for v in values])
    narrow = lambda r: r.astype(half) if np.asarray(r).dtype == np.float32 else r
    if isinstance(results, list):
        return [narrow(r) for r in results]
    if isinstance(results, tuple):
        count = len(rec.returns)
        return (*[narrow(r) for r in results[:count]], *results[count:])
    return narrow(np.asarray(results))


def is_half(dtype: np.dtype) -> bool:
    """Whether a dtype is float16 or bfloat16."""
    return dtype.itemsize == 2 and dtype.kind not in "iub"


def _arrays(values: list[Any]) -> Any:
    for v in values:
        if isinstance(v, np.ndarray):
            yield v
        elif isinstance(v, (list, tuple)):
            yield from (x for x in v if isinstance(x, np.ndarray))


def _widen(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.astype(np.float32) if is_half(value.dtype) else value
    if isinstance(value, list):
        return [_widen(v) for v in value]
    return value
