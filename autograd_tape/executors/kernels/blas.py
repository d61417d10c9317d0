"""Matrix products that BLAS is slow at: batches of small ones, and a few rows times a large matrix.

NumPy hands a batched product to BLAS one matrix at a time, and BLAS's own threads then meet at a barrier after each;
for small matrices whole matrices per thread are faster.  While the pool shares a batch, BLAS is told to use one thread.

For every product BLAS first copies both matrices into the order that its loops read.  With few rows that takes most of the
time.  OpenBLAS's kernels for AVX-512 leave it out where all of a product is small, so ``product`` makes a large one of many
of those, each of some columns: up to ten times as fast.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, lru_cache
from math import prod
from typing import Any

import numpy as np

from ...locks import fork_safe_lock, on_fork
from . import sharing
from ._on_demand import KEPT, state
from .handy import Handy

__all__ = [
    "add_outer", "few_halves", "few_halves_or", "kron", "matmul", "multiplier", "one_blas_thread", "outer_added", "product",
    "set_num_threads", "squares",
]

#: Multiply-adds below which one product stays on one thread: beyond it BLAS's own threads share it as well.
_SMALL = 1 << 24
#: Fewest multiply-adds of a batch worth sharing.
_SHARED = 1 << 20
#: Multiply-adds up to which OpenBLAS itself multiplies matrices as they lie: as any, and with a transposed second one.
_AS_THEY_LIE, _TURNED_AS_IT_LIES = 10**6, 250_000
#: Elements up to which a copy costs next to nothing.
_QUICK = 1 << 14
#: Columns that are to fit where a sum is cut in parts, and how short these get.
_WIDE, _SHORT = 32, 256
#: Multiply-adds in half precision up to which a loop takes less than conversions.
_SUMS = 2048
#: Its processors that have kernels for that.
_CORES = frozenset([b"SkylakeX", b"Cooperlake", b"SapphireRapids"])

_multiplied = Handy("products", "multiply")
_outer_added, _add_outer = Handy("products", "outer_added"), Handy("products", "add_outer")
_kron = Handy("products", "kron")
_at_hand = _multiplied.at_hand
_NOTHING: dict[Any, np.ndarray] = {}  # what a product is added to where it is to nothing
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


@cache
def _multiplies_as_they_lie() -> bool:
    """Whether NumPy's BLAS has kernels for small products that copy nothing first."""
    core = getattr(np, "_core", None) or np.core
    try:
        library = ctypes.CDLL(core._multiarray_umath.__file__)
    except (AttributeError, OSError):
        return False
    names = [f"{prefix}openblas_get_corename{suffix}" for prefix in ("", "scipy_") for suffix in ("64_", "", "_64")]
    for function in filter(None, [getattr(library, name, None) for name in names]):
        function.restype = ctypes.c_char_p
        return function() in _CORES
    return False


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


def set_num_threads(n: int) -> None:
    """Lets BLAS use so many threads, where it can be told."""
    global _restore
    if (control := _openblas()) is not None:
        with _lock:
            if _depth:
                _restore = n
            else:
                control[1](n)


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


def _width(rows: int, b: np.ndarray, copied: bool = False) -> int:
    """Of how many columns of ``b`` each small product with ``rows`` rows is to be; 0 where one product of all is faster.

    The bounds are measured ones: OpenBLAS's on the sizes of what it multiplies as it lies, and, for a matrix whose columns lie apart
    unless it is ``copied``, how many of them share lines of the cache."""
    if not 2 <= rows <= 64 or b.dtype.char not in "fd":
        return 0
    k, work = b.shape[0], rows * b.size
    if copied or b.strides[1] == b.itemsize:
        widest, least = 64 if work > _AS_THEY_LIE else 0, 16 if copied else 64 if b.itemsize == 8 else 32
    elif b.strides[0] == b.itemsize:
        widest, least = 32 if work > _TURNED_AS_IT_LIES and 4 * rows <= k else 0, 16
    else:
        return 0
    if not widest or b.shape[1] < 64 or _AS_THEY_LIE // (rows * k) < least:
        return 0
    return min(widest, 1 << (_AS_THEY_LIE // (rows * k)).bit_length() - 1)


def _tiles(b: np.ndarray, width: int) -> np.ndarray:
    """Its columns, ``width`` at a time: (how many times, rows, width). A view; what is left over is left out."""
    count = b.shape[1] // width
    return b[:, : count * width].reshape(b.shape[0], count, width).transpose(1, 0, 2)


def _goes_by_rows(rows: int, b: np.ndarray) -> bool:
    """Whether rows times a matrix whose columns lie one after another are to be multiplied one by one, which reads the matrix for each,
    where one product of all would copy it first."""
    return 2 <= rows <= (4 if b.dtype.char == "f" else 2) and b.size >= _QUICK and b.strides[0] == b.itemsize and b.T.flags.c_contiguous


def product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """``a.dot(b)`` of two matrices.

    >>> product(np.ones((2, 3)), np.ones((3, 1))).tolist()
    [[3.0], [3.0]]
    """
    if not 2 <= len(a) <= 64 or a.dtype != b.dtype or b.dtype.char not in "fd" or a.shape[1:] != b.shape[:1]:
        return a.dot(b)
    if not _multiplies_as_they_lie():
        if not _goes_by_rows(len(a), b):
            return a.dot(b)
        y = np.empty((len(a), b.shape[1]), b.dtype)
        for row, out in zip(a, y):
            np.dot(b.T, row, out)
        return y
    width = _width(len(a), b)
    if not width:
        return a.dot(b)
    y = np.empty((len(a), b.shape[1]), b.dtype)
    tiles, parts = _tiles(b, width), _tiles(y, width)
    one = len(a) * b.shape[0] * width

    def run(start: int, stop: int) -> None:
        np.matmul(a, tiles[start:stop], out=parts[start:stop])

    if one * len(tiles) < _SHARED or sharing.get_num_threads() == 1:
        run(0, len(tiles))
    else:
        with one_blas_thread():
            sharing.parallel_for(len(tiles), max(1, _SHARED // 4 // one), run)
    rest = len(tiles) * width
    if rest < b.shape[1]:
        y[:, rest:] = a.dot(b[:, rest:])
    return y


def integers(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """``np.matmul(a, b)`` of integers: by BLAS, in double precision, where no sum can reach 2**53, so that it is exact.

    >>> integers(np.array([[1, 2]]), np.array([[3], [2**60]])).tolist(), integers(np.array([[1, 2]]), np.array([[3], [4]])).tolist()
    ([[2305843009213693955]], [[11]])
    """
    if a.size and b.size and a.dtype == b.dtype:
        x, y = a.astype(np.float64), b.astype(np.float64)
        # By the inequality of Cauchy and Schwarz no part of a sum exceeds the product of norms, which BLAS finds.
        if squares(x) * squares(y) < 2.0**104 or _largest(a) * _largest(b) * a.shape[-1] < 1 << 53:
            return np.matmul(x, y).astype(np.int64).astype(a.dtype, copy=False)
    return np.matmul(a, b)


def few_halves_or(otherwise: Callable[[np.ndarray, np.ndarray], Any], *ranks: int) -> Callable[..., Any]:
    """``few_halves`` of factors of these ranks, if any, and what is given ``otherwise``: one frame, as few numbers are soon multiplied."""
    def product(a: np.ndarray, b: np.ndarray, added: np.ndarray | None = None) -> Any:
        dtype = a.dtype
        if state.fused > KEPT or b.dtype is not dtype:
            return otherwise(a, b)
        way = _sums(a.shape, a.flags.c_contiguous, b.shape, b.flags.c_contiguous, ranks, None if added is None else added.shape)
        if way is None:
            return otherwise(a, b)
        shape, rows, numbers, turned_a, turned_b = way
        c: np.ndarray | None
        if added is not None:
            c = added if added.flags.c_contiguous else added.copy()
        elif (c := _NOTHING.get(dtype)) is None:
            c = _NOTHING.setdefault(dtype, np.empty(0, dtype))
        y = np.empty(shape, dtype)
        try:
            (_at_hand.get(dtype.char) or _multiplied.surely(dtype.char))(
                rows, 1, a.swapaxes(-2, -1) if turned_a else a, b.swapaxes(-2, -1) if turned_b else b, c, y, *numbers)
        except TypeError:  # neither rows nor columns
            return otherwise(a, b) if a.flags.forc and b.flags.forc else product(a.copy(), b.copy(), added)
        return y

    return product


few_halves = few_halves_or(lambda a, b: None)
"""``np.matmul(a, b)`` of few numbers of one half precision, plus what is to be ``added``, rounded once: sums in single precision, one
product after another. None of many, of what lies otherwise than in rows or columns, and where machine code was not made beforehand."""


def _spread(shape: tuple[int, ...], joint: tuple[int, ...], columns: bool) -> tuple[int, int, int]:
    """The steps of an array in rows that is broadcast to a product of matrices, or, without `columns`, of a matrix and a vector.

    Raises:
        ValueError: it is not.
    """
    if np.broadcast_shapes(shape, joint) != joint:
        raise ValueError("an array that is broadcast to the product expected")
    at = np.broadcast_to(np.empty(shape, np.int8), joint).strides
    batch, row, column = (0, 0, 0, *at, *[0] * (not columns))[-3:]
    return batch, row, column


@lru_cache(512)
def _sums(a: tuple[int, ...], a_in_rows: bool, b: tuple[int, ...], b_in_rows: bool, ranks: tuple[int, ...],
          added: tuple[int, ...] | None) -> tuple[tuple[int, ...], int, tuple[int, ...], bool, bool] | None:
    """The shape of a product, how many rows it has, the sizes and steps for `multiply`, and which operand is to be turned; None where there
    are no numbers, or many, and for other ranks, and batches that differ."""
    if ranks and (len(a), len(b)) != ranks:
        return None
    whole_a, whole_b = a if len(a) > 1 else (1, *a), b if len(b) > 1 else (*b, 1)
    (*batch, m, k), (*other, n, p) = whole_a, whole_b
    if k != n or batch and other and batch != other or 0 in (*a, *b):
        return None
    count = prod(batch or other)
    if count * m * k * p > _SUMS:
        return None
    turned_a, turned_b = not a_in_rows and len(a) > 1, not b_in_rows and len(b) > 1
    steps = (m * k * bool(batch), *((1, m) if turned_a else (k, 1)), k * p * bool(other), *((1, k) if turned_b else (p, 1)))
    shape = (*(batch or other), *a[-2:-1], *b[1:][-1:])
    spread = (0, 0, 0) if added is None else _spread(added, shape, len(b) > 1)
    return shape, count * m, (count, m, k, p, *steps, *spread), turned_a, turned_b


def _outer(a: np.ndarray, b: np.ndarray, x: np.ndarray) -> bool:
    """Whether kernels take two vectors and what their outer product is added to."""
    return a.ndim == b.ndim == 1 and a.dtype is b.dtype is x.dtype and x.dtype.char in "fdEel" and a.size * b.size > 0


def outer_added(a: np.ndarray, b: np.ndarray, x: np.ndarray) -> np.ndarray | None:
    """The outer product of two vectors, rounded, plus ``x``, a row or a matrix; None where NumPy is to compute it."""
    if not _outer(a, b, x) or x.shape[-1:] != b.shape or x.shape[:-1] not in ((), (1,), a.shape):
        return None
    char, n, m = x.dtype.char, a.size, b.size
    if n * m < state.fused and _outer_added.of(char, n * m) is None:
        return None
    y = np.empty((n, m), x.dtype)
    try:
        _outer_added.share(char, n, m, 1, a, b, x, y)
    except TypeError:  # elements apart
        return None
    return y


def add_outer(a: np.ndarray, b: np.ndarray, x: np.ndarray) -> bool:
    """Adds the same to a matrix in place; whether it did."""
    if not _outer(a, b, x) or x.shape != a.shape + b.shape:
        return False
    char, n, m = x.dtype.char, a.size, b.size
    if n * m < state.fused and _add_outer.of(char, n * m) is None:
        return False
    try:
        _add_outer.share(char, n, m, 1, a, b, x)
    except TypeError:  # elements apart
        return False
    return True


def kron(x: np.ndarray, z: np.ndarray) -> np.ndarray | None:
    """The Kronecker product of two matrices, or vectors, in rows; None where NumPy is to compute it.

    >>> found = kron(np.ones((64, 4)), np.ones((4, 64)))
    >>> found is None or found.shape == (256, 256)
    True
    """
    char, size = x.dtype.char, x.size * z.size
    if char not in "fdl" or not size or x.ndim > 2 or z.ndim > 2 or size < state.fused and _kron.of(char, size) is None:
        return None
    (n, m), (p, q) = (1, 1, *x.shape)[-2:], (1, 1, *z.shape)[-2:]
    y = np.empty((n * p, m * q)[2 - max(x.ndim, z.ndim):], x.dtype)
    try:
        _kron.share(char, n * p, m * q, 1, x, z, y, n, m, p, q)
    except TypeError:  # memory that is not aligned
        return None
    return y


def squares(x: np.ndarray) -> float:
    """The sum of the squares of numbers, or of complex numbers' parts.

    >>> squares(np.array([[3.0, 4.0]]))
    25.0
    """
    flat = x.ravel("K")
    if flat.dtype.kind == "c":
        flat = flat.view(flat.real.dtype)
    return float(flat.dot(flat))


def _largest(x: np.ndarray) -> int:
    return max(abs(int(x.max())), abs(int(x.min())))


def multiplier(b: np.ndarray, rows: int, times: int) -> Callable[[np.ndarray, np.ndarray], object]:
    """A function of ``a`` and ``out`` that writes their product, for ``times`` matrices ``a`` of up to ``rows`` rows: a copy of ``b`` that
    BLAS reads faster pays then.

    >>> out = np.empty((1, 2))
    >>> _ = multiplier(np.ones((3, 2)), 1, 10)(np.ones((1, 3)), out)
    >>> out.tolist()
    [[3.0, 3.0]]
    """
    dot = np.dot
    if not _multiplies_as_they_lie() or b.shape[1] % 64:
        return lambda a, out: dot(a, b, out)
    pays = rows * times >= (32 if b.size <= _QUICK else 512)
    turned = b.strides[0] == b.itemsize
    if pays and turned and rows * b.size <= _AS_THEY_LIE:
        b = np.ascontiguousarray(b)
        return lambda a, out: dot(a, b, out)
    pays = pays or not turned  # columns that lie apart are slower
    width = _width(rows, b, pays)
    if not width:
        # Sums so long that hardly a column fits are cut in two, four ...
        own = len(b)
        while rows > 1 and own > _SHORT and not own % 2 and _AS_THEY_LIE // (rows * own) < _WIDE:
            own //= 2
        if pays and own < len(b) and _width(rows, b[:own], True):
            return _summed([(multiplier(b[i:i + own], rows, times), slice(i, i + own)) for i in range(0, len(b), own)], rows, b)
        return lambda a, out: dot(a, b, out)
    tiles = np.ascontiguousarray(_tiles(b, width)) if pays else _tiles(b, width)
    return lambda a, out: np.matmul(a, tiles, out=_tiles(out, width))


def _summed(parts: list[tuple[Callable[[np.ndarray, np.ndarray], object], slice]], rows: int, b: np.ndarray
            ) -> Callable[[np.ndarray, np.ndarray], object]:
    """The product with ``b`` from those with parts of its rows."""
    more = np.empty((rows, b.shape[1]), b.dtype)
    (first, start), *others = parts

    def product(a: np.ndarray, out: np.ndarray) -> None:
        first(a[:, start], out)
        added = more[: len(a)]
        for multiply, part in others:
            multiply(a[:, part], added)
            np.add(out, added, out)

    return product
