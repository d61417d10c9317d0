"""Batches of matrix products on the worker pool.

NumPy hands a batched product to BLAS one matrix at a time, and BLAS's own threads then meet at a barrier after each;
for small matrices whole matrices per thread are faster.  While the pool shares a batch, BLAS is told to use one thread.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import numpy as np

from ...locks import fork_safe_lock, on_fork
from . import sharing

__all__ = ["matmul", "one_blas_thread"]

#: Multiply-adds below which one product stays on one thread: beyond it BLAS's own threads share it as well.
_SMALL = 1 << 24
#: Fewest multiply-adds of a batch worth sharing.
_SHARED = 1 << 20

_lock = fork_safe_lock()
_depth = 0
_restore: int | None = None


@cache
def _openblas() -> tuple[Any, Any] | None:
    """OpenBLAS's functions to get and set its number of threads, if NumPy is linked to one."""
    core = getattr(np, "_core", None) or np.core
    try:
        library = ctypes.CDLL(core._multiarray_umath.__file__)
    except (AttributeError, OSError):
        return None
    for prefix in ("", "scipy_"):
        for suffix in ("64_", "", "_64"):
            get = getattr(library, f"{prefix}openblas_get_num_threads{suffix}", None)
            put = getattr(library, f"{prefix}openblas_set_num_threads{suffix}", None)
            if get is not None and put is not None:
                return get, put
    return None


@contextmanager
def one_blas_thread() -> Iterator[bool]:
    """BLAS on one thread inside the block (for all Python threads: it has one setting); yields whether that worked.

    The count of those inside and what is to be restored change by plain assignments, before what may be interrupted.
    """
    global _depth, _restore
    control = _openblas()
    if control is None:
        yield False
        return
    get, put = control
    inside = False
    try:
        with _lock:
            _depth += 1
            inside = True
            if _depth == 1:
                _restore = get()
                put(1)
        yield True
    finally:
        if inside:
            with _lock:
                _depth -= 1
                if _depth == 0 and _restore is not None:
                    put(_restore)
                    _restore = None


@on_fork
def _after_fork() -> None:
    """A child has only the thread that forked: nobody else is left to give BLAS its threads back."""
    global _depth, _restore
    _depth = 0
    if _restore is not None:
        control = _openblas()
        if control is not None:
            control[1](_restore)
        _restore = None


def matmul(a: np.ndarray, b: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
    """``np.matmul``, with the leading axis of a batch of small products shared by the pool.

    >>> matmul(np.ones((2, 1, 3)), np.ones((2, 3, 1))).ravel()
    array([3., 3.])
    """
    if a.ndim < 3 or a.ndim != b.ndim or a.shape[:-2] != b.shape[:-2] or a.dtype != b.dtype or a.dtype.kind != "f":
        return np.matmul(a, b, out=out)
    n, m, k, p = a.shape[0], a.shape[-2], a.shape[-1], b.shape[-1]
    one = m * k * p
    per_item = one
    for size in a.shape[1:-2]:
        per_item *= size
    if n < 2 or one > _SMALL or n * per_item < _SHARED or sharing.get_num_threads() == 1 or _openblas() is None:
        return np.matmul(a, b, out=out)
    y = np.empty((*a.shape[:-1], p), a.dtype) if out is None else out
    grain = max(1, _SHARED // 4 // max(1, per_item))

    def run(start: int, stop: int) -> None:
        np.matmul(a[start:stop], b[start:stop], out=y[start:stop])

    with one_blas_thread():
        sharing.parallel_for(n, grain, run)
    return y
