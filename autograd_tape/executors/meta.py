"""The meta executor: shapes and dtypes only.

A meta buffer is an array of the right shape, dtype and strides over a single element, never read. Views work on it as on any
other; everything else asks the record for the output's shape.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from ..errors import MissingKernelError
from ..ops._record import Record
from .base import Executor


def meta_array(shape: tuple[int, ...], dtype: np.dtype, strides: tuple[int, ...] | None = None) -> np.ndarray:
    """A buffer without data: `shape`, `dtype`, `strides` (in bytes, row-major where left out)."""
    if strides is None:
        steps, step = [], np.dtype(dtype).itemsize
        for n in reversed(shape):
            steps.append(step)
            step *= max(n, 1)
        strides = tuple(reversed(steps))
    return as_strided(np.zeros(1, dtype), shape, strides, writeable=False)


class MetaExecutor(Executor):
    """Shapes come from the record: its `shape` field, its family's rule, its composition, or its NumPy kernel on zeros."""

    name = "meta"
    field = "meta"
    LIMIT = 1 << 22  # elements up to which an operation without a shape rule is tried on zeros

    def kernel(self, rec: Record) -> Any:
        """A function from meta buffers to meta buffers."""
        own = rec.field("meta")
        if own is not None:
            return own
        if rec.family in ("view", "view?"):
            return rec.field("numpy")
        if rec.field("shape") is not None or rec.family in ("unary", "binary", "compare"):
            return lambda *values: self._by_rule(rec, values)
        if rec.field("numpy") is not None:
            return lambda *values: self._by_trial(rec, values)
        return None

    def _by_rule(self, rec: Record, values: tuple[Any, ...]) -> Any:
        arrays = [v for v in values if isinstance(v, np.ndarray)]
        rule = rec.field("shape")
        if rule is not None:
            shape = rule(*[v.shape if isinstance(v, np.ndarray) else [x.shape for x in v] if isinstance(v, list) and v and
                           isinstance(v[0], np.ndarray) else v for v in values])
        else:
            shape = np.broadcast_shapes(*[a.shape for a in arrays])
        dtype = np.dtype(bool) if rec.result == "bool" else np.dtype("i8") if rec.result == "int64" else arrays[0].dtype
        if rec.result == "numpy" and rec.field("numpy") is not None and rec.family in ("unary", "binary"):
            dtype = np.asarray(rec.field("numpy")(*[np.ones((), a.dtype) for a in arrays])).dtype
        if shape and isinstance(shape[0], tuple):
            return tuple(meta_array(s, np.dtype("i8") if t == "Index" else dtype) for s, (t, _) in zip(shape, rec.returns))
        return meta_array(tuple(shape), dtype)

    def _by_trial(self, rec: Record, values: tuple[Any, ...]) -> Any:
        def zeros(v: Any) -> Any:
            if isinstance(v, np.ndarray):
                if v.size > self.LIMIT:
                    raise MissingKernelError(f"The operation '{rec.name}' has no shape rule for the meta executor",
                                             expected="a field 'shape' in its record", found="none",
                                             remedy=f"add one to {rec.module}")
                return np.zeros(v.shape, v.dtype)
            return [zeros(x) for x in v] if isinstance(v, list) else v

        results = rec.field("numpy")(*[zeros(v) for v in values])
        if isinstance(results, (tuple, list)):
            return tuple(meta_array(np.shape(r), np.asarray(r).dtype) for r in results)
        return meta_array(np.shape(results), np.asarray(results).dtype)
