"""Half precision: to float32 and back, and functions of float32 of it, block by block."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, overload

import numpy as np

from ...annotations import Fn
from ...dtypes import converted
from ...strided import empty_in_order
from ...warned import ignoring
from ._on_demand import LazyModule, is_half, keep, state
from .handy import Exact, Handy, Run
from .sharing import share_elements

__all__ = [
    "BITS", "CAST", "FEW", "OF_SIGNS", "SINGLE", "TABLES", "TESTS", "bits", "by_element", "cast", "compute_array", "narrow", "of_ufunc",
    "recast", "simply", "single", "tabled", "tested", "ufunc", "widened", "with_signs",
]

_compiled = LazyModule("elementwise")
SINGLE = np.dtype(np.float32)
#: Elements of half precision from which on conversions cost less than NumPy's loops, which convert number by number: of a function of
#: one bfloat16 number, and of several; and of float16, which NumPy itself converts slowly.
FEW, _MANY = (512, 4096), 8192
#: NumPy's functions of signs alone, for which its loops convert nothing, or next to nothing.
OF_SIGNS = frozenset([np.absolute, np.negative])
_widen, _narrow, _lookup = Handy("elementwise", "widen"), Handy("elementwise", "narrow"), Handy("elementwise", "lookup")
_REAL = frozenset("?bhilqBHILQfdeE")  # dtypes of real numbers
CAST = 64
"""Elements from which on a kernel that is at hand converts quicker than NumPy."""
#: NumPy's functions of one number that are one instruction or two, so that a table would take longer, by their kernels; and those of
#: float16, of which roundings have others.
_ROUNDINGS = np.floor, np.ceil, np.trunc, np.rint
_SIMPLE: dict[object, Exact] = {f: Exact("elementwise", f.__name__) for f in (*_ROUNDINGS, np.square, np.reciprocal, np.sqrt)}
_OF_FLOAT16 = _SIMPLE | {f: Exact("roundings", f.__name__) for f in _ROUNDINGS}
#: Elements up to which there is one table; calls after which one is made, and the most of one function.
_TABLED, _OFTEN, _MOST = 256, 64, 32
_BITS = np.dtype(np.uint16)
#: As what kernels see half precision.
BITS = {"E": _BITS, "e": np.dtype(np.int16)}
_ALONE = 32768  # elements that are not shared
_BLOCK = 16384  # elements that stay in a core's cache in float32, too


def bits(a: np.ndarray) -> np.ndarray:
    """The elements in the order in which they fill a block of memory, as kernels take them that see arrays flat."""
    return a if a.ndim and a.flags.c_contiguous else a.ravel("K")


def _cast(a: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """``a.astype(dtype)``; between half and single precision compiled where it is big, or where machine code is at hand."""
    n = a.size
    if n >= CAST and a.flags.forc and a.flags.aligned and a.dtype.isnative:
        char, own = dtype.char, a.dtype.char
        if char == "f" and own in "eE":
            kernel, at_hand, half = "widen", _widen, own
        elif own == "f" and char in "eE":
            kernel, at_hand, half = "narrow", _narrow, char
        else:
            return a.astype(dtype)
        run = at_hand.of(half, n) if n < state.fused else at_hand.surely(half) if n < _ALONE else None
        if run is not None or n >= state.fused:
            out = np.empty_like(a, dtype)
            if run is not None:
                run(n, 1, bits(a), bits(out))
            else:
                share_elements(getattr(_compiled, kernel), half, n, bits(a), bits(out))
            return out
    if n >= state.fused and a.ndim > 3 and not a.flags.forc and 1 not in a.shape[1:] and a.strides[0] > max(a.strides[1:]):
        # What lies with its channels innermost are rows of the transposed, as columns are.
        turned = a.transpose(0, *range(2, a.ndim), 1)
        if turned.flags.c_contiguous:
            return _cast(turned, dtype).transpose(0, a.ndim - 1, *range(1, a.ndim - 1))
    return a.astype(dtype)


def cast(a: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """An array of NumPy's own dtypes, or of half precision, in another of these. Between half precision and others than float32, of which
    there are kernels, many numbers go by way of that, as torch's do: NumPy converts them one by one.

    >>> cast(np.arange(100), np.dtype(np.float16))[-1]
    99.0
    """
    own, char = a.dtype.char, dtype.char
    if a.size >= CAST and a.flags.forc and own != char and own in _REAL and char in _REAL:
        if own in "eE":
            a, own = _cast(a, SINGLE), "f"
        elif char in "eE" and own != "f":
            a, own = a.astype(SINGLE), "f"
        return _cast(a, dtype) if own != char else a
    return converted(a, dtype)


class _Tabled:
    """A function of one number of half precision, and others that say how: after some calls with the same of those, few numbers are
    looked up in a table of all 65536, which is made by the very function, so that the bits are the same."""

    def __init__(self, function: Fn) -> None:
        self.function = function
        #: From how many numbers on the function itself is quicker, as one that chooses is.
        self.end = _TABLED if getattr(function, "simple", False) else 1 << 62
        #: Up to how many it is, where machine code computes them.
        self.at_once: int = getattr(function, "at_once", 0)
        self.formula = getattr(function, "formula", None)
        #: What says by dtype, numbers and what says how by which machine code the function goes, with its two numbers; None by none.
        self.by: Callable[..., tuple[Run, float, float] | None] | None = getattr(function, "by", None)
        #: By the dtype, the threshold for compiled kernels and what says how: the table, or how often it would have served.
        self.found: dict[tuple[object, ...], np.ndarray | int] = {}
        #: By how many numbers, and what says how: what computed them last, by a table or two numbers.
        self.ready: dict[object, tuple[np.dtype, int, Run, np.ndarray | None, float, float]] = {}

    def __call__(self, x: np.ndarray, *how: Any) -> Any:
        n, dtype = x.size, x.dtype
        if (ready := self.ready.get((n, *how) if how else n)) is not None and ready[0] is dtype and ready[1] == state.fused:
            rows = x if x.flags.c_contiguous else x.T
            out = np.empty(rows.shape, dtype)
            _, _, kernel, values, a, b = ready
            try:
                if values is None:
                    kernel(n, 1, rows, out, a, b)
                else:
                    kernel(n, 1, rows, values, out)
            except TypeError:  # neither rows nor columns, or memory that is not aligned
                pass
            else:
                return out if rows is x else out.T
        if state.half <= n <= self.at_once:
            return self._computed(x, how)
        if (n <= _TABLED or 2 * _TABLED <= n < self.end) and (char := x.dtype.char) in "eE":
            rows = x
            if not x.flags.c_contiguous:  # columns are rows of the transposed
                if not x.flags.f_contiguous:
                    return self.function(x, *how)
                rows = x.T
            # By which kernel a function goes depends on sizes, by powers of two.
            size = _TABLED if n <= _TABLED else 1 << min(n.bit_length() - 1, 16)
            key = (char, size, state.fused, *how)
            table = self.found.get(key, 0)
            if table.__class__ is not int:
                run = _lookup.of(char, n)
                if run is not None and table.dtype is x.dtype and x.flags.aligned:  # type: ignore[union-attr]  # no number
                    out = np.empty(rows.shape, x.dtype)
                    if n < _ALONE:
                        run(n, 1, rows, table, out)
                        self._note(n, how, dtype, run, table)  # type: ignore[arg-type]
                    else:
                        share_elements(_compiled.lookup, char, n, rows, table, out)
                    return out if rows is x else out.T
                if n > _TABLED:
                    return self.function(x, *how) if rows is x else self.function(rows, *how).T
                if rows is not x:
                    return table.take(rows.view(_BITS)).T  # type: ignore[union-attr]
                places = x.view(_BITS)
                return table.take(places) if x.ndim else table.take(places.reshape(1)).reshape(())  # type: ignore[union-attr]
            self.count(key, table + (n >> 12), x.dtype, size, how)
            if rows is not x:
                return self.function(rows, *how).T
        return self._computed(x, how)

    def _computed(self, x: np.ndarray, how: tuple[Any, ...]) -> Any:
        """The function itself, whose machine code is at once asked from the next call on."""
        if self.by is not None and x.dtype.isnative and x.size < _ALONE and (found := self.by(x.dtype.char, x.size, *how)) is not None:
            run, a, b = found
            self._note(x.size, how, x.dtype, run, None, a, b)
        return self.function(x, *how)

    def _note(self, n: int, how: tuple[Any, ...], dtype: np.dtype, run: Run, table: np.ndarray | None, a: float = 0.0, b: float = 0.0
              ) -> None:
        if 0 in how:  # of which keys see no sign
            return
        keep(self.ready, (n, *how) if how else n, (dtype, state.fused, run, table, a, b), _MOST)

    def count(self, key: tuple[object, ...], calls: int, half: np.dtype, size: int, how: tuple[Any, ...]) -> None:
        """Note a call; the last of many makes the table, unless there are zeros among what says how, of which keys see no sign, or Python
        would compute number by number."""
        if calls < _OFTEN:
            if len(self.found) > _MOST:
                self.found.clear()
            self.found[key] = calls + 1
        elif half.isnative and all([v or v is None or v is False for v in how]) and (
                self.formula is None or size >= state.fused or "f" in self.formula.shared):
            with ignoring():
                every = np.arange(1 << 16, dtype=_BITS).view(half).reshape(-1, size)
                self.found[key] = np.concatenate([self.function(part, *how) for part in every])


tabled = _Tabled
#: By NumPy's functions: those that are looked up, and those that are so where there is no other way.
TABLES: dict[Fn, _Tabled] = {}
_OTHERS: dict[Fn, _Tabled] = {}


def signed(function: Fn, a: np.ndarray) -> np.ndarray:
    """NumPy's function of signs of an array of half precision, by its bits where there are many."""
    if a.size < CAST or not a.dtype.isnative or 0 in a.strides:  # NumPy puts what was expanded innermost
        return function(a)
    out = np.empty_like(a)  # which is nobody's view
    if function is np.negative:
        np.bitwise_xor(a.view(_BITS), _SIGN, out.view(_BITS))
    else:
        np.bitwise_and(a.view(_BITS), _MAGNITUDE, out.view(_BITS))
    return out


def with_signs(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """``np.copysign(a, b)`` of half precision, by its bits where there are many numbers.

    >>> with_signs(np.float16([1.0]), np.float16([-2.0]))
    array([-1.], dtype=float16)
    """
    if a.size < CAST or a.shape != b.shape or a.strides != b.strides or a.dtype != b.dtype or not a.dtype.isnative or 0 in a.strides:
        return ufunc(np.copysign, a, b)
    found = np.bitwise_and(b.view(_BITS), _SIGN)
    found |= np.bitwise_and(a.view(_BITS), _MAGNITUDE)
    return found.view(a.dtype)


_SIGN, _MAGNITUDE = np.array(0x8000, _BITS), np.array(0x7FFF, _BITS)


def by_element(half: Fn) -> Fn:
    """Marks a record's function of half precision, of one tensor, of which each element becomes what it becomes anywhere: by a table."""
    half.by_element = True  # type: ignore[attr-defined]
    return half


def single(function: Fn, *arrays: np.ndarray) -> np.ndarray | None:
    """A function of arrays of one half precision that lie in rows, computed in float32 and rounded once, by conversions that are at hand;
    None where they are not."""
    a = arrays[0]
    n, half = a.size, a.dtype
    if not CAST <= n <= _BLOCK or half.char not in "eE" or (widen := _widen.of(half.char, n)) is None or (
            rounded := _narrow.of(half.char, n)) is None:
        return None
    wide = []
    for x in arrays:
        if not x.flags.carray or x.size != n or x.dtype != half:
            return None
        y = np.empty(x.shape, SINGLE)
        widen(n, 1, bits(x), y)
        wide.append(y)
    result: np.ndarray = function(*wide)
    if result.__class__ is not np.ndarray or result.dtype != SINGLE or not result.flags.carray:
        return narrow(result, half)
    out = np.empty(result.shape, half)
    rounded(result.size, 1, result, out)
    return out


def _by_kernel(kernel: Exact, a: np.ndarray) -> np.ndarray | None:
    """A function of half precision by machine code; None where NumPy is to compute it."""
    rows = a if a.flags.c_contiguous else a.T
    if not rows.flags.carray or (run := kernel.over(a.dtype.char, a.size, state.half)) is None:
        return None
    out = np.empty(rows.shape, rows.dtype)
    run(rows.size, 1, rows, out, 0.0, 0.0)
    return out if rows is a else out.T


def tested(function: Fn, a: np.ndarray) -> np.ndarray:
    """NumPy's test of numbers of half precision, by their bits."""
    words = a.view(_BITS)
    if function is np.signbit:
        return np.greater_equal(words, _SIGN)
    test, of = TESTS[function]
    return test(np.bitwise_and(words, _MAGNITUDE), _INFINITY[a.dtype.char] if of is None else of)


TESTS: dict[Fn, tuple[Fn, np.ndarray | None]] = {
    np.isnan: (np.greater, None), np.isinf: (np.equal, None), np.isfinite: (np.less, None), np.signbit: (np.greater_equal, None),
    np.logical_not: (np.equal, np.array(0, _BITS))}
"""The comparisons of their bits without the sign, with those of infinity, or with others."""
_INFINITY = {"E": np.array(0x7F80, _BITS), "e": np.array(0x7C00, _BITS)}


def ufunc(function: Fn, *arrays: np.ndarray) -> np.ndarray:
    """NumPy's function of arrays, of one half precision rounded once; of many such numbers computed in float32, block by block.

    >>> ufunc(np.add, np.float16([1.0]), np.float16([2.0]))
    array([3.], dtype=float16)
    """
    a = arrays[0] if arrays[0].ndim else arrays[-1]
    if a.itemsize > 2:
        wide: np.ndarray = function(*arrays)
        return wide
    if (made := TABLES.get(function)) is not None and a.size >= FEW[0] and a.dtype.isnative:  # of one array
        result: np.ndarray = made(a)
        return result
    if len(arrays) == 1 and function.__class__ is np.ufunc and a.dtype.isnative:
        return _of_one(function, a)
    return _ufunc(function, *arrays)


def _of_one(function: np.ufunc, a: np.ndarray) -> np.ndarray:
    kernel = (_OF_FLOAT16 if a.dtype.char == "e" else _SIMPLE).get(function)
    if kernel is not None and (at_once := _by_kernel(kernel, a)) is not None:
        of_ufunc(function)
        return at_once
    if a.size < FEW[0]:
        return _ufunc(function, a)
    if function in TESTS and 0 not in a.strides:  # NumPy puts what was expanded innermost
        return tested(function, a)
    if function not in _OF_FLOAT16 and function not in TESTS:
        made = of_ufunc(function)
    else:
        made = _OTHERS.get(function) or _OTHERS.setdefault(function, _Tabled(partial(_ufunc, function)))
    result: np.ndarray = made(a)
    return result


def of_ufunc(function: np.ufunc) -> _Tabled:
    """NumPy's function of many numbers of half precision, which is none of `TESTS`: by a table, or by machine code where quicker."""
    if (made := TABLES.get(function)) is None:
        TABLES[function] = made = _Tabled(
            simply(function)(partial(_of_one, function)) if function in _OF_FLOAT16 else partial(_ufunc, function))
    return made


def simply(function: np.ufunc) -> Callable[[Fn], Fn]:
    """Marks a kernel that is one of NumPy's functions of a number, of half precision by machine code and not by a table."""
    def by(char: str, n: int, decimals: int | None = None) -> tuple[Run, float, float] | None:
        run = None if decimals else (_OF_FLOAT16 if char == "e" else _SIMPLE)[function].over(char, n, state.half)
        return None if run is None else (run, 0.0, 0.0)

    def decorate(kernel: Any) -> Fn:
        kernel.simple, kernel.by = True, by
        marked: Fn = kernel
        return marked

    return decorate


def _ufunc(function: Fn, *arrays: np.ndarray) -> np.ndarray:
    a = arrays[0] if arrays[0].ndim else arrays[-1]
    least = _MANY if a.dtype.char == "e" else FEW[len(arrays) > 1]
    if a.size < least or any([b.dtype != a.dtype for b in arrays]):
        return function(*arrays)
    if a.dtype.isnative and (found := single(function, *arrays)) is not None:
        return found
    if a.size < 2 * _BLOCK or any([b.shape != a.shape or not b.flags.c_contiguous for b in arrays]):
        result: Any = narrow(function(*[widened(b) for b in arrays]), a.dtype)
        return result
    out, flat = None, [b.reshape(-1) for b in arrays]
    for start in range(0, a.size, _BLOCK):
        part = narrow(function(*[_cast(b[start : start + _BLOCK], SINGLE) for b in flat]), a.dtype)
        assert part is not None
        if out is None:
            out = np.empty(a.size, part.dtype)
        out[start : start + _BLOCK] = part
    assert out is not None
    return out.reshape(a.shape)


@overload
def narrow(result: np.ndarray, half: np.dtype) -> np.ndarray: ...
@overload
def narrow(result: None, half: np.dtype) -> None: ...
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


def compute_array(x: np.ndarray) -> np.ndarray:
    """``x`` as float32 or float64: half precision computes in float32, integers and bool too (torch's rule)."""
    char = x.dtype.char
    if (char == "f" or char == "d") and x.dtype.isnative:
        return x
    if x.dtype.kind == "c":  # whose imaginary parts NumPy would drop with a mere warning
        raise TypeError(f"this kernel computes with real numbers, not with {x.dtype}")
    if is_half(x.dtype):
        return widened(x)
    return x.astype(np.float64 if x.dtype.kind == "f" and x.dtype.itemsize >= 8 else np.float32)


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
        steps = tuple([old // a.itemsize * dtype.itemsize if n == 1 else new for n, old, new in zip(a.shape, a.strides, cast.strides)])
        if steps != cast.strides:
            return np.ndarray.__new__(np.ndarray, cast.shape, dtype, cast.ravel("K"), 0, steps)
    return cast
