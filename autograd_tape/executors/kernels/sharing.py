"""A small worker pool that slices big array work over GIL-releasing kernels.

NumPy's ufuncs and nogil compiled kernels release the GIL, so plain Python threads run them in parallel.  The pool
exists because the ready-made layers do not fit: a kernel compiler's own thread layers are unsafe after fork and under
concurrent callers, and ``concurrent.futures`` needs about 50 us per hand-off.

There are two ways in, for the same workers: ``parallel_for`` runs Python functions, ``share`` compiled kernels.  The
latter never meets the interpreter's lock between its begin and its end (see ``compiled/team.py``), and a worker that
has run out of work looks out for more for a fraction of a millisecond before it goes to sleep, because waking it takes
longer than many an operation.

The design keeps the hand-off cheap and the caller independent of the scheduler:

* the work is cut into chunks that the caller and the workers draw from one iterator (atomically), so a worker that
  wakes late finds nothing to do, and the caller waits only for chunks that are really running;
* a caller that finds the pool busy (another thread, or a chunk that calls ``parallel_for`` itself) runs its work alone;
* workers are daemon threads started on first use; a forked child forgets them and starts its own.
"""

from __future__ import annotations

import atexit
import os
from _thread import LockType, allocate_lock, start_new_thread
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from struct import unpack
from time import sleep
from typing import Any, Protocol

import numpy as np

from ...annotations import Fn
from ...locks import on_fork
from ...strided import stretch, strided
from ._common import TILE, UNARY, YIELD
from ._kernel import AnyKernel
from ._on_demand import LazyModule, state

__all__ = [
    "APART",
    "BIG",
    "GRAIN",
    "apart",
    "copy",
    "copy_into",
    "dense",
    "fill",
    "get_num_threads",
    "parallel_for",
    "parallel_rows",
    "set_all",
    "set_num_threads",
    "share",
    "share_elements",
    "share_rows",
    "ufunc1",
    "zeros",
]

_team = LazyModule("team")
_arithmetic = LazyModule("arithmetic")
_columns = LazyModule("transposed")

#: Fewest elements of cheap element-wise work worth one chunk; twice this is the smallest array that is sliced at all.
GRAIN = 65536
#: Fewest elements of one element-wise NumPy call worth sharing.
BIG = 4 * GRAIN
#: Fewest elements of which it is asked whether they lie apart from one another.
APART = 2048
#: Complex numbers from which on NumPy takes longer than to see their parts.
PARTS = 128
#: Fewest elements of cheap work in one chunk of a compiled kernel.
_SHARED_GRAIN = 32768
#: Elements of a row from which on NumPy copies it as fast.
_LONG = 256
#: The dtypes of the parts of complex numbers.
_REAL: dict[str, np.dtype[Any]] = {"F": np.dtype(np.float32), "D": np.dtype(np.float64)}
#: As what elements are moved, by their bytes.
MOVED = {1: "B", 2: "H", 4: "f", 8: "d"}
#: As what a kernel sets elements of a dtype.
_FILLED = {"f": "f", "d": "d", "E": "H", "H": "H", "?": "B", "B": "B"}
#: Bytes from which on NumPy sets elements slower than compiled code, and elements that are set one by one in the time of making views.
_MUCH, _FEW = 1 << 17, 512
#: Strides in bytes that ``copy`` does not follow.
_FAR = 1 << 31
#: Chunks per thread: more than one, so that a thread the system holds up does not hold up the whole job.
_CHUNKS_PER_THREAD = 4
_SHARED_CHUNKS_PER_THREAD = 8


def _default_threads() -> int:
    for name in ("AUTOGRAD_TAPE_NUM_THREADS", "OMP_NUM_THREADS"):
        value = os.environ.get(name, "")
        if value.isdigit() and int(value) > 0:
            return int(value)
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not every system has affinity masks
        return os.cpu_count() or 1


class Shared(Protocol):
    """A kernel by what is asked of it here: machine code by dtype character."""

    @property
    def shared(self) -> Mapping[str, Fn]: ...


class _Job:
    """One call of ``parallel_for``: chunks still to be drawn, and which of them are done.

    An interrupt may come between any two instructions that call something.  So chunks are drawn, and marked as done, by
    instructions that call nothing, and an interrupted caller waits for what has begun.
    """

    __slots__ = ("chunks", "done", "error", "finished", "fn")

    def __init__(self, fn: Callable[[int, int], object], bounds: list[tuple[int, int]]) -> None:
        self.fn = fn
        self.done = [False] * len(bounds)
        self.chunks: Iterator[tuple[int, tuple[int, int]]] = iter(enumerate(bounds))
        self.error: BaseException | None = None
        self.finished = allocate_lock()
        self.finished.acquire()

    def work(self) -> None:
        """Draw chunks until none is left; whoever finishes the last one opens ``finished``."""
        fn, done = self.fn, self.done
        for i, (start, stop) in self.chunks:
            try:
                if self.error is None:
                    fn(start, stop)
            except BaseException as error:  # handed to the caller, who raises it
                self.error = error
            finally:
                done[i] = True
                if False not in done:
                    _open(self.finished)

    def run(self, workers: list[_Worker]) -> None:
        """The whole job, on the caller's thread and its helpers'."""
        try:
            for worker in workers:
                worker.give(self)
            self.work()
            self.finished.acquire()
        except BaseException as error:  # an interrupt: what has begun must end before the arrays go, the rest is skipped
            self.error = error
            self.work()
            while False in self.done:
                self.finished.acquire(timeout=0.01)
        finally:
            for worker in workers:
                if worker.job is self:
                    worker.job = None


def _open(lock: LockType) -> None:
    """Release a lock that another thread may have released just now."""
    try:
        lock.release()
    except RuntimeError:
        pass


class _Worker:
    """A daemon thread asleep on ``wake`` until its ``job`` is set, or a compiled kernel is to be shared."""

    __slots__ = ("asleep", "call", "job", "wake")

    def __init__(self) -> None:
        self.job: _Job | None = None
        self.call = np.zeros(1, np.int64)
        self.asleep = True
        self.wake = allocate_lock()
        self.wake.acquire()
        start_new_thread(self._loop, ())

    def rouse(self) -> None:
        if self.wake.locked():  # open already: the worker has not yet taken the previous wake-up
            _open(self.wake)

    def give(self, job: _Job) -> None:
        self.job = job
        self.call[0] = 1
        self.rouse()

    def _loop(self) -> None:
        wake, call, pool = self.wake, self.call, _pool
        while True:
            self.asleep = True
            wake.acquire()
            self.asleep = False
            while True:
                call[0] = 0
                job = self.job
                if job is not None:
                    job.work()
                    job = None  # a sleeping worker must not keep the last job's arrays alive
                if pool.serve is None or pool.closed:
                    break
                pool.serve(pool.cells, call)
                if not wake.acquire(False):
                    break


class _Pool:
    """The process-wide state: thread count, workers, and whether a caller of ``parallel_for`` has them at work.

    ``busy`` is advice, no lock: two callers that find the pool free at once are both served, only slower.  It is set and
    taken back by plain assignments, so that no interrupt can leave it set.
    """

    __slots__ = ("busy", "cells", "closed", "hiring", "n_threads", "serve", "workers")

    def __init__(self) -> None:
        self.n_threads = _default_threads()
        self.closed = False
        self.reset()

    def reset(self) -> None:
        self.workers: list[_Worker] = []
        self.busy = False
        self.hiring = allocate_lock()
        self.cells = np.zeros(128, np.int64)
        self.serve: Callable[[np.ndarray, np.ndarray], None] | None = None

    def hire(self, n: int) -> list[_Worker]:
        """The first ``n`` workers."""
        workers = self.workers
        if len(workers) < n:
            with self.hiring:
                while len(workers) < n:
                    workers.append(_Worker())
        return workers[:n]

    def start_serving(self) -> None:
        self.cells[YIELD] = _offer()
        self.serve = _team.serve["f"]

    def dismiss(self) -> None:
        """Send workers that look out for compiled work to sleep."""
        for worker in self.workers:
            worker.call[0] = 1

    def close(self) -> None:
        """At the interpreter's end: no thread may be in compiled code when it goes."""
        self.closed, self.n_threads = True, 1
        self.dismiss()
        for _ in range(1000):
            if all(worker.asleep for worker in self.workers):
                return
            sleep(0.001)


def _offer() -> int:
    """The address of the system's function by which a thread lets others run, zero if there is none."""
    import ctypes

    offer = getattr(ctypes.CDLL(None), "sched_yield", None) if os.name == "posix" else None
    return ctypes.cast(offer, ctypes.c_void_p).value or 0 if offer is not None else 0


_pool = _Pool()
atexit.register(_pool.close)
on_fork(_pool.reset)


def get_num_threads() -> int:
    """Number of threads (the caller included) that share big work."""
    return _pool.n_threads


def set_num_threads(n: int) -> None:
    """Let ``n`` threads (the caller included) share big work; ``1`` turns the pool off."""
    if n < 1:
        raise ValueError(f"set_num_threads: expected a positive number of threads, got {n}")
    _pool.n_threads = int(n)
    _pool.dismiss()


def parallel_for(n: int, grain: int, fn: Callable[[int, int], object]) -> None:
    """Run ``fn(start, stop)`` over slices that cover ``range(n)`` exactly once, each at least ``grain`` long.

    Slices run in any order on any thread, so ``fn`` must write disjoint outputs.  Work of fewer than ``2 * grain``
    items, or a busy pool, is one plain call ``fn(0, n)``.  An exception in a slice is raised here, after every slice
    that had begun has ended.

    >>> out = np.zeros(10)
    >>> parallel_for(10, 2, lambda start, stop: out[start:stop].__iadd__(1))
    >>> float(out.sum())
    10.0
    """
    pool = _pool
    n_threads = pool.n_threads
    if n < 2 * grain or n_threads == 1 or pool.busy:
        fn(0, n)
        return
    pool.busy = True
    try:
        n_chunks = min(n // grain, n_threads * _CHUNKS_PER_THREAD)
        step, extra = divmod(n, n_chunks)
        bounds = []
        start = 0
        for i in range(n_chunks):
            stop = start + step + (i < extra)
            bounds.append((start, stop))
            start = stop
        job = _Job(fn, bounds)
        job.run(pool.hire(n_threads - 1))
    finally:
        pool.busy = False
    error = job.error
    if error is not None:
        try:
            raise error
        finally:
            del error, job  # or the traceback would keep the arrays of the caller alive in a cycle


def parallel_rows(rows: int, cols: int, fn: Callable[[int, int], object], work: int = 1) -> None:
    """``parallel_for`` over the rows of a ``(rows, cols)`` array; ``work`` is the cost of an element against a copy."""
    parallel_for(rows, max(1, GRAIN // max(1, cols * work)), fn)


def share(kernel: Shared, char: str, n: int, grain: int, *arguments: object) -> None:
    """Run a compiled kernel, ``kernel[char](*arguments, start, stop)``, over slices of ``range(n)`` as ``parallel_for``."""
    run = kernel.shared[char]
    pool = _pool
    n_threads = pool.n_threads
    if n < 2 * grain or n_threads == 1 or pool.busy:
        run(pool.cells, n, 1, *arguments)
        return
    if pool.serve is None:
        pool.start_serving()
    for worker in pool.hire(n_threads - 1):
        if worker.asleep:
            worker.rouse()
    run(pool.cells, n, min(n // grain, n_threads * _SHARED_CHUNKS_PER_THREAD), *arguments)


def share_rows(kernel: AnyKernel, char: str, rows: int, cols: int, work: int, *arguments: object) -> None:
    """``share`` over the rows of a ``(rows, cols)`` array; ``work`` is the cost of an element against a copy."""
    if rows * cols * work < _SHARED_GRAIN:  # a frame less where there is little to do
        kernel.shared[char](_pool.cells, rows, 1, *arguments)
        return
    share(kernel, char, rows, max(1, _SHARED_GRAIN // max(1, cols * work)), *arguments)


def share_elements(kernel: AnyKernel, char: str, n: int, *arguments: object) -> None:
    """``share`` over ``n`` elements of flat arrays."""
    if n < 2 * _SHARED_GRAIN:
        kernel.shared[char](_pool.cells, n, 1, *arguments)
        return
    share(kernel, char, n, _SHARED_GRAIN, *arguments)


def zeros(shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """``np.zeros``, for memory that is written at once.

    The zero pages of the system that ``np.zeros`` takes for big arrays cost a page fault each when they are written;
    ``np.empty`` gets memory that was freed before, or huge pages.
    """
    out = np.empty(shape, dtype)
    flat = out.reshape(-1)
    if out.size >= state.cheap and out.dtype.char in "fd":
        share_elements(_arithmetic.fill, out.dtype.char, out.size, out, 0.0)
        return out
    parallel_for(flat.size, BIG, lambda start, stop: flat[start:stop].fill(0))
    return out


def set_all(out: np.ndarray, value: float) -> None:
    """`fill` of an array in rows, of single or double precision, with a number of Python's."""
    n = out.size
    if n < state.cheap:
        out.fill(value)
    elif n < 2 * _SHARED_GRAIN:  # a frame less
        _arithmetic.fill.shared[out.dtype.char](_pool.cells, n, 1, out, value)
    else:
        share_elements(_arithmetic.fill, out.dtype.char, n, out, value)


def fill(out: np.ndarray, number: np.ndarray) -> None:
    """Sets all elements to a 0-dim array of the same dtype. Many are set eight bytes at a time, and so are those of dtypes that are not
    NumPy's own, which it would set one by one, through a function for each.

    >>> out = np.empty(3, np.int64)
    >>> fill(out, np.array(5))
    >>> out
    array([5, 5, 5])
    """
    own, n, item = out.dtype.isbuiltin, out.size, out.itemsize
    if own == 1 and (n * item < _MUCH or item == 1):
        (out.view("u1") if n >= _MUCH and out.dtype.char == "?" else out).fill(number)  # truth values NumPy sets one by one
        return
    if n >= state.cheap and (char := _FILLED.get(out.dtype.char)) and (flags := out.flags).forc and flags.aligned:
        flat, code = out if flags.c_contiguous else out.T, number.view(char).item()
        if n < 2 * _SHARED_GRAIN:  # a frame less
            _arithmetic.fill.shared[char](_pool.cells, n, 1, flat, code)
        else:
            share_elements(_arithmetic.fill, char, n, flat, code)
        return
    if not own or item > 8 or (n * item < _MUCH if own == 1 else n < _FEW):
        out.fill(number)
    elif n * item < _MUCH or not out.flags.forc:
        into, number = (out, number) if own == 1 else (out.view(MOVED[item]), number.view(MOVED[item]))
        into.fill(number)
    else:
        flat, whole = out.ravel("K"), n * item // 8 * 8 // item
        words, word = flat[:whole].view(np.float64), _word(number.tobytes())
        if words.size >= state.cheap and words.flags.aligned:
            share_elements(_arithmetic.fill, "d", words.size, words, word)
        else:
            words.fill(word)
        if whole < n:
            flat[whole:] = number


@lru_cache(64)
def _word(pattern: bytes) -> float:
    """Eight bytes of a pattern that is repeated."""
    word: float = unpack("d", pattern * (8 // len(pattern)))[0]
    return word


def copy(a: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
    """A C-contiguous copy of an array; in ``out``, which is of its shape and dtype, and in order.

    >>> copy(np.array([[1, 2], [3, 4]]).T).ravel()
    array([1, 3, 2, 4])
    """
    n, ndim = a.size, a.ndim
    if out is None and n < state.cheap and n < _MANY:
        return a.copy()
    if ndim > 1 and a.strides[-1] == a.itemsize:
        if (found := _packed(a, out)) is not None:
            return found
        if out is None and n < BIG and a.shape[-1] > _NARROW:
            return a.copy()
    if n >= 2 * state.cheap and ndim > 1 and a.flags.aligned and (planes := _transposed(a.shape, a.strides, a.itemsize)) is not None:
        char, out = MOVED[a.itemsize], np.empty(a.shape, a.dtype) if out is None else out
        source = a.ravel("K")
        share_rows(_columns.transpose, char, *planes[0], 1, source.view(char), out.reshape(-1).view(char), *planes[1])
        return out
    if n >= _MANY and ndim > 1 and a.shape[-1] <= _NARROW and a.shape[-2] >= _ROWS and n >= _MANY * a.shape[-1] and (
            not a.flags.c_contiguous):
        return _by_columns(a, np.empty(a.shape, a.dtype) if out is None else out)
    few = (6 if ndim and a.shape[-1] > _NARROW else 4) * state.cheap
    if n < state.cheap or n < 2 or n < few and n < _TURNED or a.strides[-1] == a.itemsize and (
            n < BIG or a.shape[-1] >= _LONG):  # NumPy copies rows as fast
        if out is None:
            return a.copy()
        np.copyto(out, a)
        return out
    out = np.empty(a.shape, a.dtype) if out is None else out
    char = MOVED.get(a.itemsize, "")
    steps = _steps(a.shape, a.strides, a.itemsize) if char and a.flags.aligned else None
    if steps is None:
        into, source = [x.view(char) if char and x.dtype.isbuiltin == 2 else x for x in (out, a)]
        np.copyto(into, source)
        return out
    span, rows, sizes = steps
    flat = a.ravel("K") if span == a.size else strided(a, (span,), (a.itemsize,))
    share_rows(_arithmetic.gather, char, *rows, 1, flat.view(char), out.reshape(-1).view(char), *sizes)
    return out


state.copied = copy


@lru_cache(1024)
def _steps(shape: tuple[int, ...], strides: tuple[int, ...], item: int) -> tuple[int, tuple[int, int], tuple[int, ...]] | None:
    """How many elements of memory an array reaches over, the rows and columns of its copy as they are shared, and sizes and steps of four
    dimensions; None where there are more, or one alone, or it runs backwards or too far."""
    axes = _merged_axes(shape, strides, item)
    if len(axes) > 4 or len(axes) < 2 or min(strides) < 0 or max(strides) >= _FAR:
        return None
    (n0, s0), (n1, s1), (n2, s2), (n3, s3) = [(1, 0)] * (4 - len(axes)) + axes
    return 1 + sum([(n - 1) * s for n, s in axes]), (n0 * n1 * -(-n2 // TILE), TILE * n3), (n1, n2, n3, s0, s1, s2, s3)


@lru_cache(1024)
def _transposed(shape: tuple[int, ...], strides: tuple[int, ...], item: int) -> tuple[tuple[int, int], tuple[int, int, int]] | None:
    """Where an array is planes of columns behind one another: rows and columns of its copy as they are shared, the number of planes, and of
    rows and columns in each."""
    axes = _merged_axes(shape, strides, item) if item in MOVED else []
    if len(axes) == 2:
        axes = [(1, 0), *axes]
    if len(axes) != 3 or any([s % item for s in strides]):
        return None
    (o, apart), (n, beside), (m, below) = axes
    if beside != 1 or below != n or o > 1 and apart != n * m:
        return None
    return (o * -(-n // TILE), TILE * m), (o, n, m)


def dense(a: np.ndarray) -> np.ndarray:
    """``a`` itself if its elements fill one aligned block in some order of the axes, else a copy that does.

    >>> dense(np.ones((3, 4))[:, :2].T).strides
    (8, 16)
    """
    flags = a.flags
    if flags.forc and flags.aligned:
        return a
    if 0 in a.strides:  # expanded: the order of the axes is anybody's guess, so C order
        return copy(a)
    order = np.empty_like(a)
    if order.strides == a.strides and flags.aligned:
        return a
    if (rows := order.flags).forc:
        return copy(a) if rows.c_contiguous else copy(a.T).T
    order[...] = a
    return order


def apart(a: np.ndarray) -> bool:
    """Whether elements lie in many short rows with gaps between them, each of which NumPy would begin anew."""
    return a.size >= state.cheap and _gaps(a.shape, a.strides, a.itemsize) is not None


def _packed(a: np.ndarray, out: np.ndarray | None) -> np.ndarray | None:
    """A copy of many short rows with gaps between them; None of others."""
    if a.size < state.cheap or (found := _gaps(a.shape, a.strides, a.itemsize)) is None or not a.flags.aligned:
        return None
    span, lines, sizes = found
    char, flat, out = MOVED[a.itemsize], stretch(a, span), np.empty(a.shape, a.dtype) if out is None else out
    into = out
    if a.dtype.char not in _FILLED:
        flat, into = flat.view(char), out.view(char)
    if a.size < _SHARED_GRAIN:  # a frame less
        _columns.packed.shared[char](_pool.cells, lines, 1, flat, into, *sizes)
    else:
        share_rows(_columns.packed, char, lines, sizes[2], 1, flat, into, *sizes)
    return out


@lru_cache(1024)
def _gaps(shape: tuple[int, ...], strides: tuple[int, ...], item: int) -> tuple[int, int, tuple[int, int, int, int, int]] | None:
    """Of many short rows with gaps between them: how many elements of memory they reach over, how many rows there are, and their sizes and
    steps in three dimensions; None of others."""
    axes = _merged_axes(shape, strides, item) if item in MOVED else []
    if not 2 <= len(axes) <= 3 or axes[-1][1] != 1 or axes[-1][0] * item > _APART_BYTES or min(strides) < 0 or (
            any([s % item for s in strides])):
        return None
    (n1, s1), (n2, s2), (n3, _) = [(1, 0)] * (3 - len(axes)) + axes
    return (1 + sum([(n - 1) * s for n, s in axes]), n1 * n2, (n1, n2, n3, s1, s2)) if n1 * n2 >= _ROWS_APART else None


_ROWS_APART, _APART_BYTES = 384, 192
"""How many rows with gaps, and of how many bytes, NumPy copies sooner than a kernel is called."""

_TURNED = 1 << 15
"""Up to how many elements NumPy copies in any order as fast as a kernel is called."""

_NARROW, _ROWS, _MANY = 6, 8, 512
"""Up to how many numbers make a narrow row, and of how many of these, behind one another and in all, each position is copied by itself: a
line is begun anew for each row."""


def _by_columns(a: np.ndarray, out: np.ndarray) -> np.ndarray:
    """``a`` copied to ``out``, one position of the last dimension after another."""
    for i in range(a.shape[-1]):
        out[..., i] = a[..., i]
    return out


def copy_into(a: np.ndarray, into: np.ndarray) -> None:
    """Copies an array into one of its shape, such as a part of another, of whose rows NumPy would begin each anew however short it is.

    >>> whole = np.zeros((2, 3))
    >>> copy_into(np.ones((2, 1)), whole[:, 1:2])
    >>> whole.tolist()
    [[0.0, 1.0, 0.0], [0.0, 1.0, 0.0]]
    """
    if a.ndim > 1 and 1 < a.shape[-1] <= _NARROW and a.shape[-2] >= _ROWS and a.size >= _MANY * a.shape[-1]:
        _by_columns(a, into)
    else:
        into[...] = a


def _merged_axes(shape: tuple[int, ...], strides: tuple[int, ...], item: int) -> list[tuple[int, int]]:
    """Sizes and strides (in elements) of an array, with neighbouring axes joined that one step leads through."""
    axes: list[tuple[int, int]] = []
    for n, stride in zip(shape, strides, strict=True):
        s = stride // item
        if axes and axes[-1][1] == n * s:
            axes[-1] = axes[-1][0] * n, s
        elif n != 1:
            axes.append((n, s))
    return axes


def by_parts(ufunc: np.ufunc, a: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
    """NumPy's function of one complex number, that of each of its parts, which has loops of vectors.

    >>> by_parts(np.negative, np.array([1 - 2j]))
    array([-1.+2.j])
    """
    if a.size < PARTS or not a.flags.forc:
        return ufunc(a, out)
    rows = a if a.flags.c_contiguous else a.T
    parts = rows.view(_REAL[a.dtype.char])
    if out is not None:  # which is the array itself
        ufunc(parts, parts)
        return out
    found = ufunc(parts) if parts.size < BIG else ufunc1(ufunc, parts)
    result: np.ndarray = found.view(a.dtype)
    return result if rows is a else result.T


_ONE = {one.dtype: one for one in (np.array(1, np.float32), np.array(1, np.float64))}


def ufunc1(ufunc: np.ufunc, a: np.ndarray) -> np.ndarray:
    """``ufunc(a)``, shared by the pool when ``a`` is big and C-contiguous, and compiled where NumPy makes no vectors.

    >>> ufunc1(np.sqrt, np.array([1.0, 4.0]))
    array([1., 2.])
    """
    if a.size < GRAIN and not a.flags.c_contiguous and apart(a):  # of more, two arrays of the system's own cost more than lines
        a = copy(a)
    rows = a.flags.c_contiguous
    if ufunc is np.reciprocal and (not rows or a.size < GRAIN // 2) and (one := _ONE.get(a.dtype)) is not None:
        found: np.ndarray = np.divide(one, a)  # whose loop makes vectors
        return found
    if a.size < (BIG if ufunc is not np.reciprocal else state.cheap) or not rows:
        return ufunc(a)
    if a.dtype.char in "fd" and a.size >= state.cheap and a.flags.aligned:
        op = UNARY.get(ufunc)
        if op is not None:
            out = np.empty(a.shape, a.dtype)
            share_elements(_arithmetic.each, a.dtype.char, a.size, op, a.reshape(-1), out.reshape(-1))
            return out
    if _pool.n_threads == 1:
        return ufunc(a)
    # The first call on an empty slice lets NumPy itself choose the result dtype.
    out = np.empty(a.shape, ufunc(a.reshape(-1)[:0]).dtype)
    x, y = a.reshape(-1), out.reshape(-1)
    parallel_for(a.size, GRAIN, lambda start, stop: ufunc(x[start:stop], out=y[start:stop]))
    return out
