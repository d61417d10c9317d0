"""The meta executor: shapes, dtypes and strides only.

A meta buffer is a read-only array of the right shape, dtype and strides over memory that nobody ever wrote: an operation gives its
result without looking at data. Views work on it as on any other buffer; everything else asks the record for the output's shape.
"""

from __future__ import annotations

import mmap
from typing import Any
from collections.abc import Sequence

import numpy as np
from numpy.lib.stride_tricks import as_strided

from ..annotations import Arguments
from ..errors import MissingKernelError
from ..record import Record
from ..strided import contiguous_strides, dense_strides, empty_in_order
from .base import Executor
from .numpy import NumpyExecutor

BACKED = 1 << 26  # bytes up to which zeros are allocated as usual
ELEMENTWISE = ("unary", "binary", "compare")


def meta_array(
    shape: tuple[int, ...], dtype: np.dtype, strides: tuple[int, ...] | None = None
) -> np.ndarray:
    """A buffer without data: `shape`, `dtype`, `strides` (in bytes, row-major where left out). ValueError where it has more dimensions
    than NumPy.

    >>> meta_array((10**6, 10**6), np.dtype("f4")).strides
    (4000000, 4)
    """
    dtype = np.dtype(dtype)
    if strides is None:
        steps, step = [], dtype.itemsize
        for n in reversed(shape):
            steps.append(step)
            step *= max(n, 1)
        strides = tuple(reversed(steps))
    plain = 0 not in shape and min(strides, default=0) >= 0
    extent = 1 + sum([(n - 1) * s // dtype.itemsize for n, s in zip(shape, strides)]) if plain else 1
    memory = _zeros(extent, dtype)
    if memory.size < extent or not plain or len(shape) > 32:
        return over(memory, shape, strides)
    memory.flags.writeable = False
    return np.ndarray(shape, dtype, memory, 0, strides)  # views find the memory that they are of as its base


def over(memory: np.ndarray, shape: tuple[int, ...], strides: tuple[int, ...]) -> np.ndarray:
    """A read-only array of this geometry that starts where `memory` does, whatever lies there; ValueError for more dimensions than NumPy
    has."""
    if len(shape) > 32:
        np.empty((0,) * len(shape))  # raises where they are too many: as_strided would write outside of its own memory then
    dtype = memory.dtype
    if dtype.isbuiltin == 1:
        return as_strided(memory, shape, strides, writeable=False)
    # NumPy exchanges dtypes as strings, and those of others have none of their own.
    return as_strided(memory.view(f"u{dtype.itemsize}"), shape, strides, writeable=False).view(dtype)


def _zeros(count: int, dtype: np.dtype) -> np.ndarray:
    """Memory that reads as zeros and is provided by the system only where it is touched: what should not look at the data of a meta
    tensor, but does (NumPy reads where an index leaves no dimension), finds zeros, never foreign memory. Where the address space is too
    small a single element, and no buffer over it is read (`tests/ops/test_on_meta`)."""
    size = count * dtype.itemsize
    if size <= BACKED:
        return np.zeros(count, dtype)
    try:
        return np.frombuffer(mmap.mmap(-1, size, mmap.MAP_PRIVATE, mmap.PROT_READ), dtype)
    except (AttributeError, OSError, OverflowError, ValueError):
        return np.zeros(1, dtype)


def elementwise_strides(shape: tuple[int, ...], operands: Sequence[np.ndarray], itemsize: int) -> tuple[int, ...]:
    """The strides in bytes that torch gives the result of an element-wise operation: dense, dimensions ordered as in the operands.

    The order is that of torch's TensorIterator: a dimension goes inside another where the first operand that tells them apart has
    it inside; ties go to the smaller size.

    >>> elementwise_strides((2, 3), [np.zeros((3, 2)).T], 8)
    (8, 16)
    """
    aligned = []
    for a in operands:
        lead = len(shape) - a.ndim
        aligned.append([0] * lead + [0 if n == 1 and m != 1 else s // a.itemsize for n, m, s in zip(a.shape, shape[lead:], a.strides)])

    return tuple([n * itemsize for n in dense_strides(shape, *aligned)])


class MetaExecutor(Executor):
    """Shapes come from the record: its `shape` field, broadcasting for element-wise families, or its NumPy kernel on zeros."""

    name = "meta"
    field = "meta"
    trials = NumpyExecutor()  # whose kernels are tried on zeros, and on single elements
    LIMIT = 1 << 22  # elements up to which an operation without a shape rule is tried on zeros

    def kernel(self, rec: Record) -> Any:
        """A function from meta buffers to meta buffers."""
        own = rec.field("meta")
        if own is not None:
            return own
        if rec.family in ("view", "view?"):
            return rec.field("numpy")
        if rec.field("shape") is not None or rec.family in ELEMENTWISE:
            return lambda *values: self._by_rule(rec, values)
        if rec.field("numpy") is not None:
            return lambda *values: self._by_trial(rec, values)
        return None

    def _by_rule(self, rec: Record, values: Arguments) -> Any:
        arrays = [v for v in values if isinstance(v, np.ndarray)]
        rule = rec.field("shape")
        if rule is None:
            shape = np.broadcast_shapes(*[a.shape for a in arrays])
        else:
            shape = rule(*[v.shape if isinstance(v, np.ndarray) else [x.shape for x in v] if _tensors(v) else v for v in values])
        dtypes = self._dtypes(rec, values)
        words = (rec.field("meta_layout") or ("input" if rec.family in ELEMENTWISE else "rows")).split()
        if shape and isinstance(shape[0], (tuple, type(None))):  # several outputs; None for what is saved and not there
            words += words[-1:] * (len(shape) - len(words))
            return tuple([None if s is None else _laid_out(word, tuple(s), d, arrays) for word, s, d in zip(words, shape, dtypes)])
        return _laid_out(words[0], tuple(shape), dtypes[0], arrays)

    def _dtypes(self, rec: Record, values: tuple[object, ...]) -> list[np.dtype]:
        """The outputs' dtypes: what the record says, or what its NumPy kernel makes of single elements."""
        passed = [p for p in rec.params if p.passed]
        typed = [a for p, v in zip(passed, values) if p.differentiable
                 for a in (v if isinstance(v, list) else [v]) if isinstance(a, np.ndarray)]
        first = typed[0].dtype if typed else next((v.dtype for v in values if isinstance(v, np.ndarray)), np.dtype("f4"))
        count = len(rec.returns) + len(rec.saved_returns)
        whole = first.kind in "biu" and rec.quiet == "float" and rec.promotion == "none"  # what its kernel is not written for
        if rec.result == "numpy" and rec.field("numpy") is not None and not rec.name.startswith("random"):
            try:
                made = self.trials.call(rec, rec.field("numpy"), [_ones(v) for v in values])
                made = made if isinstance(made, (tuple, list)) else (made,)
                found = [np.asarray(r).dtype if r is not None else first for r in made]
                return [first if whole and d.kind == "f" else d for d in found][:count] + [first] * (count - len(made))
            except Exception:
                pass  # single elements do not suit every operation; then dtypes stay
        found = [np.dtype("i8") if t == "Index" else np.dtype(bool) if t == "Mask" else first for t, _ in rec.returns]
        if rec.result in ("bool", "int64"):
            found[0] = np.dtype(bool if rec.result == "bool" else "i8")
        return found + [first] * (count - len(found))

    def _by_trial(self, rec: Record, values: tuple[object, ...]) -> Any:
        def zeros(v: object) -> object:
            if isinstance(v, np.ndarray):
                if v.size > self.LIMIT:
                    raise MissingKernelError(f"The operation '{rec.name}' has no shape rule for the meta executor",
                                             expected="a field 'shape' in its record", found="none",
                                             remedy=f"add one to {rec.module}")
                like = empty_in_order(v, v.dtype)
                like.fill(0)
                return like
            return [zeros(x) for x in v] if isinstance(v, list) else v

        given = [zeros(v) for v in values]
        for i, p in enumerate([p for p in rec.params if p.passed]):
            if p.name == "check_errors":
                given[i] = False  # zeros are no matrices of anybody's
        results = self.trials.call(rec, rec.field("numpy"), given)
        words = (rec.field("meta_layout") or "").split()
        arrays = [v for v in values if isinstance(v, np.ndarray)]
        if not isinstance(results, (tuple, list)):
            return _laid_out(words[0], results.shape, results.dtype, arrays) if words else _like(results)
        words += [""] * (len(results) - len(words))
        return tuple([r if r is None or isinstance(r, (int, float)) else _laid_out(word, r.shape, r.dtype, arrays) if word else _like(r)
                      for word, r in zip(words, results)])


def _laid_out(word: str, shape: tuple[int, ...], dtype: np.dtype, operands: list[np.ndarray]) -> np.ndarray:
    """A result laid out as a record's `meta_layout` says."""
    if len(shape) < 2 or word == "rows":
        return meta_array(shape, dtype)
    if word == "input":
        return meta_array(shape, dtype, elementwise_strides(shape, [a for a in operands if a.ndim <= len(shape)], dtype.itemsize))
    *batch, step, column = contiguous_strides((*shape[:-2], shape[-1], shape[-2]), dtype.itemsize)
    return meta_array(shape, dtype, (*batch, column, step))


def _tensors(value: object) -> bool:
    return isinstance(value, list) and bool(value) and isinstance(value[0], np.ndarray)


def _ones(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return np.ones((1,) * value.ndim, value.dtype)
    return [_ones(v) for v in value] if _tensors(value) else value


def _like(result: np.ndarray) -> np.ndarray:
    """A meta buffer like the result of a trial, strides and all."""
    a = np.asarray(result)
    return meta_array(a.shape, a.dtype, a.strides if a.size and min(a.strides, default=0) >= 0 else None)
