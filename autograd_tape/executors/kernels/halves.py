"""Half precision: to float32 and back, and functions of float32 of it, block by block."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...strided import empty_in_order, strided
from ._on_demand import LazyModule, state
from .sharing import share_elements

__all__ = ["SINGLE", "bits", "narrow", "recast", "widened"]

_compiled = LazyModule("elementwise")
SINGLE = np.dtype(np.float32)


def bits(a: np.ndarray) -> np.ndarray:
    """The elements in the order in which they fill a block of memory, as kernels take them: half precision as its bits."""
    flat = a.ravel("K")
    return flat if a.itemsize != 2 else flat.view(np.int16 if a.dtype.char == "e" else np.uint16)


def _cast(a: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """``a.astype(dtype)``; between half and single precision compiled where it is big."""
    if a.size >= state.fused and a.flags.forc and a.flags.aligned and a.dtype.isnative:
        if dtype.char == "f" and a.dtype.char in "eE":
            out = np.empty_like(a, SINGLE)
            share_elements(_compiled.widen, a.dtype.char, a.size, bits(a), bits(out))
            return out
        if a.dtype.char == "f" and dtype.char in "eE":
            out = np.empty_like(a, dtype)
            share_elements(_compiled.narrow, dtype.char, a.size, bits(a), bits(out))
            return out
    return a.astype(dtype)


def narrow(result: np.ndarray | None, half: np.dtype) -> np.ndarray | None:
    """A result of a computation in float32, rounded; others as they are, as arrays. None is a gradient that nobody wants."""
    if result is None:
        return None
    if result.__class__ is not np.ndarray:
        result = np.asarray(result)
    return recast(result, half) if result.dtype is SINGLE or result.dtype == SINGLE else result


def widened(a: np.ndarray) -> np.ndarray:
    """An array of half precision in float32."""
    return _cast(a, SINGLE) if 0 not in a.strides else _in_order(a, SINGLE)


def _in_order(a: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """An expanded array in another dtype, laid out as torch has it; NumPy puts what was expanded innermost."""
    result = empty_in_order(a, dtype)
    np.copyto(result, a, casting="unsafe")
    return result


def recast(a: Any, dtype: np.dtype) -> Any:
    """`a` in another dtype and the order in which it lies. NumPy makes up the steps of dimensions of one element, by which torch tells
    images with the channels innermost: of what may be images they are kept."""
    if 0 in a.strides:
        return _in_order(a, dtype)
    cast = _cast(a, dtype)
    if a.ndim > 3 and 1 in a.shape and not a.flags.c_contiguous:
        steps = [old // a.itemsize * dtype.itemsize if n == 1 else new for n, old, new in zip(a.shape, a.strides, cast.strides)]
        return strided(cast, cast.shape, steps)
    return cast
