"""What operations change in place in one pass: those of the kernels' changes that records name, over one tensor or over lists."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any, NamedTuple

import numpy as np

from ...annotations import Fn
from ...dtypes import Kind
from ...strided import contiguous_strides
from ...warned import ignoring
from ._on_demand import _NEVER, contiguous, state
from .elementwise import spread
from .handy import Handy, Listed, Run
from .pairs import OF_UFUNC, SLOW, in_rows, in_three, joint, steps_along
from .sharing import BIG, get_num_threads, ufunc1

__all__ = [
    "Alone", "Beside", "ByNumber", "Change", "LEAST", "MOST", "Over", "Settling", "broadcast", "by_bits", "by_two", "changed", "rewritten",
]

LEAST = 512  # elements of single or double precision from which a pass in place is quicker than a ufunc and a copy
MOST = 1e4  # the largest number that all dtypes hold and all operations take
_ONE, _TWO = Listed("arithmetic", "change"), Listed("arithmetic", "change_by_two")
_alone, _whole = Handy("in_place", "alone"), Handy("in_place", "alone_whole")
_by_two = Handy("in_place", "by_two")
_tested, _combined = Handy("in_place", "tested"), Handy("in_place", "combined")
_moving, _moved = Handy("in_place", "moving"), Handy("in_place", "moved")
_PIECE = 1 << 19  # bytes of a large array that are brought into its order at a time
_BLOCK = 65536  # elements that are computed while they are close
_FEW = 64  # elements that NumPy copies one by one as soon as otherwise
_SHORT = 64  # elements of a line of which NumPy takes longer to begin it


def as_it_is(value: float, kind: Kind) -> float:
    """The number itself."""
    return value


def rounded(value: float, kind: Kind) -> float:
    """The number in the dtype of the tensor, where that is half precision."""
    return float(kind.scalar(value)) if kind.np.itemsize == 2 else value


def lowered(value: float, kind: Kind) -> float:
    """Its opposite, of zero, too."""
    return -float(rounded(value, kind))


def nothing(value: float, kind: Kind) -> float:
    """Zero, whatever the number."""
    return 0.0


class Change(NamedTuple):
    """What becomes of a tensor, by a number and perhaps by another tensor or two.

    Attributes:
        op: the kernel's name for it.
        number: what the kernel is given for the number that goes with them, which is 1 where there is none.
        half: the kernel's name for it in half precision, where that is another.
        kernel: what changes it, by one tensor beside it or by two.
        whole: of int64, what it is, and the bounds that go with it, of the number; see `Alone`.
        few: NumPy's function that does it with fewer numbers of single or double precision.
    """

    op: int
    number: Callable[[float, Kind], float] = as_it_is
    half: int | None = None
    kernel: Listed = _ONE
    whole: tuple[int, Callable[[int], tuple[int, int]]] | None = None
    few: np.ufunc | None = None

    def op_of(self, kind: Kind) -> int:
        """The kernel's name for it, of a kind of tensors."""
        return self.op if self.half is None or kind.np.itemsize > 2 else self.half

    def run(self, kernel: Run, kind: Kind, value: float, target: tuple[np.ndarray, ...], *others: tuple[np.ndarray, ...]) -> None:
        """Has the kernel change all rows: `target`, and what is beside it in each, of tensors of a kind.

        Raises:
            TypeError, ValueError: the kernel does not take the arrays; nothing is changed.
        """
        op = self.op_of(kind)
        beside = others or (target,)
        kernel(op, self.number(value, kind), *beside, *beside[:self.kernel is _TWO and len(beside) < 2], target)

    def over(self, kind: Kind) -> Fn:
        """See `Over`."""
        char, number, two = kind.np.char, self.number, self.kernel is _TWO
        op = self.op_of(kind)
        at_hand, as_given = self.kernel.at_hand, number is as_it_is or number is rounded and kind.np.itemsize > 2
        if char not in "fdEe":
            return partial(changed, self, kind)

        few = self.few if char in "fd" else None

        def over(value: Any, a: np.ndarray, *others: np.ndarray) -> bool:
            if not others:
                n = a.size
                if few is not None and n < _FEW:
                    if a.ndim:
                        few(a, a)
                    else:  # which takes NumPy longer to write over
                        a[()] = few(a)
                    return True
                run = at_hand.get(char)
                if run is None:
                    return changed(self, kind, value, a)
                if state.fused == _NEVER or n >= BIG and get_num_threads() > 1 or not -MOST <= value <= MOST:
                    return False
                rows = a if a.flags.c_contiguous else a.T,
                try:
                    run(op, value if as_given else number(value, kind), rows, rows)
                except (TypeError, ValueError):  # what does not lie so, or does not fit
                    return False
                return True
            for x in others:  # whose elements would be read after they were written
                if x is not a and (a.base is not None or x.base is not None) and np.may_share_memory(a, x):
                    return False
            run = at_hand.get(char)
            if run is None:
                return changed(self, kind, value, a, *others)
            if state.fused == _NEVER or a.size >= BIG and get_num_threads() > 1 or not -MOST <= value <= MOST:
                return False
            given = value if as_given else number(value, kind)
            flags = a.flags
            turned = not flags.c_contiguous
            try:
                if turned and not flags.f_contiguous:
                    return False
                for x in others:
                    if x.shape != a.shape or not (x.flags.f_contiguous if turned else x.flags.c_contiguous):
                        if a.nbytes > 4 * _PIECE and two and len(others) > 1 and a.shape == others[0].shape == others[1].shape:
                            _by_pieces(partial(run, op, given), *[x.T if turned else x for x in (a, *others)])
                            return True
                        if len(others) > 1 and (done := _of_lines(char, op, given, a, others[0], others[1], turned)) is not None:
                            return done
                        others = tuple([_laid(x, a) for x in others])
                        break
                if turned:
                    a, others = a.T, tuple([x.T for x in others])
                if two:
                    run(op, given, others[:1], others[-1:], (a,))
                else:
                    run(op, given, others, (a,))
            except (TypeError, ValueError):  # what does not lie so, or does not fit
                return False
            return True

        return over


by_two = partial(Change, kernel=_TWO)
"""A change by two tensors."""


class Beside(NamedTuple):
    """What becomes of a tensor by another that is broadcast to it, or by a number: whether a comparison is true, as a number of its dtype,
    or its bits by those of the other.

    Attributes:
        op: the kernel's name for it.
        kernel: what changes it.
        chars: the dtypes that the kernel takes.
        number: the number, where it is the same for all calls.
    """

    op: int
    kernel: Handy = _tested
    chars: str = "fdEel?"
    number: int | None = None

    def over(self, kind: Kind) -> Fn:
        """See `Over`."""
        op, at_hand, scalars, char, own = self.op, self.kernel.at_hand, kind.scalars, kind.np.char, self.number
        if char not in self.chars:
            return refused
        char = "B" if char == "?" else char

        def over(value: Any, a: np.ndarray, z: np.ndarray | None = None) -> bool:
            run, n = at_hand.get(char), a.size
            if (z is not None and z.strides == a.strides and z.shape == a.shape and a.base is None and z.base is None
                    and a.flags.c_contiguous and run is not None and 0 < n < BIG and state.fused != _NEVER):  # as most are, at once
                try:
                    run(1, 1, op, z, a, 1, 1, n, 0, 0, 1)
                    return True
                except (TypeError, ValueError):
                    return _by_lines(self, kind, a, z)
            lines: tuple[int, ...] | None = (1, 1, n, 0, 0, 0 if z is None else 1)
            if z is None:
                if own is not None:
                    value = own
                z = scalars.get(value)
                if z is None:
                    z = kind.scalar(value)
            elif (a.base is not None or z.base is not None) and a is not z and np.may_share_memory(a, z):
                lines = None  # elements would be read after they were written
            elif z.strides != a.strides or z.shape != a.shape:
                if n >= _FEW and z.shape == a.shape and a.flags.forc:
                    z = _in_order(z, a)
                else:
                    lines = _lines_of(a.shape, a.flags.c_contiguous, z.shape, z.flags.c_contiguous) if z.flags.forc else None
            if lines is None or run is None or state.fused == _NEVER or not 0 < n < BIG:
                return _by_lines(self, kind, a, z)
            try:
                run(lines[0] * lines[1], 1, op, z if z.flags.c_contiguous else z.T, a if a.flags.c_contiguous else a.T, *lines)
            except (TypeError, ValueError):
                return _by_lines(self, kind, a, z)
            return True

        return over


by_bits = partial(Beside, kernel=_combined, chars="l?")
"""A change of bits by those of another tensor."""


class Alone(NamedTuple):
    """What becomes of a tensor by as many numbers as the operation has.

    Attributes:
        op: the kernel's name for it.
        numbers: (the lower, the higher, another) of those, of a kind; None where it is not the kernel's.
        whole: the same (the lower, the higher) of int64.
        chars: the dtypes of floating-point numbers that the kernel takes.
    """

    op: int
    numbers: Callable[..., tuple[float, float, float] | None] = lambda kind: (0.0, 0.0, 0.0)
    whole: Callable[..., tuple[int, int] | None] | None = None
    chars: str = "fdEe"

    def over(self, kind: Kind) -> Fn:
        """See `Over`."""
        op, at_hand, char, numbers = self.op, _alone.at_hand, kind.np.char, self.numbers
        if char not in self.chars:
            return refused if char != "l" or self.whole is None else partial(rewritten, self, kind)

        def over(a: np.ndarray, *options: Any) -> bool:
            run = at_hand.get(char)
            if run is None or state.fused == _NEVER or (n := a.size) >= BIG or (
                    given := numbers(kind, *options)) is None:
                return rewritten(self, kind, a, *options)
            try:
                run(n, 1, op, *given, 0.0, a if a.flags.c_contiguous else a.T)
            except TypeError:  # memory that has gaps, or is not aligned
                return False
            return True

        return over


class ByNumber(NamedTuple):
    """Changes of a tensor alone, of which a number chooses one.

    Attributes:
        changes: by the number, NumPy's function, and the kernel's change in half precision.
    """

    changes: dict[object, tuple[np.ufunc, Alone]]

    def over(self, kind: Kind) -> Fn:
        """See `Over`."""
        if kind.np.char in "fd":
            functions = {number: function for number, (function, _) in self.changes.items()}

            def written(value: Any, a: np.ndarray) -> bool:
                function = functions.get(value)
                if function is None:
                    return False
                function(a, a)
                return True

            return written
        ways = {number: change.over(kind) for number, (_, change) in self.changes.items()}
        return lambda value, a: value in ways and ways[value](a)


def refused(*_: object) -> bool:
    """Of a kind that no kernel takes, nothing is changed."""
    return False


class Over(dict[Kind, Fn]):
    """What changes tensors of a kind as `changed` and `rewritten` do, with as little around machine code that is at hand as can be:
    ``over[kind](number, array, *others)``, of `Alone` ``over[kind](array, *options)``."""

    def __init__(self, change: Change | ByNumber | Beside | Alone) -> None:
        super().__init__()
        self.change = change

    def __missing__(self, kind: Kind) -> Fn:
        found = self[kind] = self.change.over(kind)
        return found


def rewritten(change: Alone, kind: Kind, a: np.ndarray, *options: Any) -> bool:
    """Changes a plain array by itself and the operation's numbers; whether it did, as `changed`."""
    char = kind.np.char
    if char == "l" and change.whole is not None:
        ends = change.whole(*options)
        return ends is not None and _of_whole(change.op, *ends, a)
    if char not in change.chars or (run := _alone.of(char, a.size)) is None or (given := change.numbers(kind, *options)) is None:
        return False
    return _over(run, a, change.op, *given, 0.0)


def _of_whole(op: int, low: int, high: int, a: np.ndarray) -> bool:
    run = _whole.of("l", a.size)
    return run is not None and _over(run, a, op, low, high, 0)


def _over(run: Run, a: np.ndarray, *given: object) -> bool:
    """Whether a kernel has changed an array, which it does in rows or columns."""
    if a.size >= BIG and get_num_threads() > 1:
        return False
    try:
        run(a.size, 1, *given, a if a.flags.c_contiguous else a.T)
    except TypeError:  # memory that has gaps, or is not aligned
        return False
    return True


def _by_lines(change: Beside, kind: Kind, a: np.ndarray, z: np.ndarray) -> bool:
    """Whether an array has been changed by another, or by a number, that is broadcast to it."""
    char, n = kind.np.char, a.size
    if char not in change.chars or z.ndim > a.ndim or z.size > n or n >= BIG and get_num_threads() > 1 or not a.flags.forc or (
            run := change.kernel.of("B" if char == "?" else char, n)) is None:
        return False
    if z.shape == a.shape and z.strides != a.strides:
        z = spread(z, a)
    found = in_rows(a, z, False)
    if found is None:
        return False
    rows, z, (_, size, sizes), _ = found
    if size != n or rows.size != n or not rows.flags.c_contiguous or np.may_share_memory(rows, z) and rows is not z:
        return False  # which has not the shape of the result, or would be read after it was written
    try:
        run(sizes[0] * sizes[1], 1, change.op, z, rows, *sizes[:3], *sizes[6:])
    except (TypeError, ValueError):  # memory that is not aligned, or has gaps
        return False
    return True


class Settling:
    """NumPy's function of one number over arrays of floating-point numbers, with its bits.

    What is changed again and again comes to rest at infinity or NaN, for which NumPy's vectors take ten times as long as for others. So
    such numbers are found and left as they are.
    """

    def __init__(self, function: np.ufunc) -> None:
        self.function = function
        self.value = 2.0 if function is np.arccosh else 0.5  # for which it takes no longer than usual
        self.resting: dict[str, tuple[float, float, int]] = {}
        """By dtype, those of infinities that stay as they are, and whether NaNs do."""

    def _found(self, char: str) -> tuple[float, float, int]:
        ends = np.array([-math.inf, math.inf, math.nan, -math.nan] * 32, char)
        with ignoring():
            kept = self.function(ends).view(f"u{ends.itemsize}") == ends.view(f"u{ends.itemsize}")
        found = -math.inf if kept[0] else math.nan, math.inf if kept[1] else math.nan, int(kept[2::4].all() and kept[3::4].all())
        return self.resting.setdefault(char, found)

    def __call__(self, a: np.ndarray) -> None:
        """Changes an array."""
        function, char, n, flags = self.function, a.dtype.char, a.size, a.flags
        if not flags.forc or n >= BIG and get_num_threads() > 1 or (run := _moving.of(char, n)) is None:
            a[...] = ufunc1(function, a)
            return
        low, high, nans = self.resting.get(char) or self._found(char)
        rows = a if flags.c_contiguous else a.T
        if n <= _BLOCK:
            parts = [rows]
        else:
            flat = rows.reshape(-1)
            parts = [flat[at : at + _BLOCK] for at in range(0, n, _BLOCK)]
        out = np.empty(min(n, _BLOCK) + 1, a.dtype)
        for y in parts:
            z = out if y.size == out.size - 1 else out[: y.size + 1]
            run(1, 1, low, high, nans, self.value, y, z)
            if not (resting := z.item(-1)):
                function(y, y)
            elif resting < y.size:
                moving = z[:-1]
                function(moving, moving)
                (_moved.of(char, n) or _moved.surely(char))(y.size, 1, low, high, nans, z, y)


def broadcast(function: np.ufunc, a: np.ndarray, b: np.ndarray) -> None:
    """Changes an array by NumPy's function of it and of another that is broadcast to it; in short lines, of which NumPy makes a call each,
    and where it makes no vectors, by way of a new array, where there is machine code for that."""
    if b.shape == a.shape and a.flags.forc and function not in SLOW:
        function(a, _in_order(b, a), a)
    elif a.size >= LEAST and b.size > 1 and (a.shape[-1] < _SHORT or function in SLOW) and (
            pair := OF_UFUNC.get(function)) is not None and (
            found := pair(a, b, function not in SLOW)) is not None and found.shape == a.shape:
        a[...] = found
    else:
        function(a, b, a)


def changed(change: Change | Beside, kind: Kind, value: Any, a: np.ndarray, *others: np.ndarray) -> bool:
    """Changes a plain array of floating-point numbers, by a number of Python's and other arrays of its dtype; whether it did: it lies in
    rows or columns, the others are as large, and machine code is at hand or worth having."""
    if isinstance(change, Beside):
        if others:
            return _by_lines(change, kind, a, others[0])
        return _by_lines(change, kind, a, kind.scalar(value if change.number is None else change.number))
    if kind.np.char not in "fdEe":
        if kind.np.char != "l" or change.whole is None or value.__class__ is not int or others:
            return False
        low, high = change.whole[1](value)
        return _of_whole(change.whole[0], low, high, a)
    return change.kernel.of(kind.np.char, a.size) is not None and bool(change.over(kind)(value, a, *others))


def _of_lines(char: str, op: int, value: float, a: np.ndarray, x: np.ndarray, z: np.ndarray, turned: bool) -> bool | None:
    """Whether an array in rows, or in columns where it is `turned`, has been changed by two others that are broadcast to it, or lie
    otherwise; None where there is no such way."""
    of_x, of_z = x.flags, z.flags
    if not (of_x.forc and of_z.forc) or (
            steps := _steps_over(a.shape, turned, x.shape, of_x.c_contiguous, z.shape, of_z.c_contiguous)) is None or (
            run := _by_two.of(char, a.size)) is None:
        return None
    if a.size >= state.cheap and (steps[5] > 1 or steps[8] > 1 or steps[2] >= _SHORT and not steps[5] + steps[8]):
        return None  # of many, NumPy and tiles make copies sooner than the loop
    run(steps[0] * steps[1], 1, op, value, x if of_x.c_contiguous else x.T, z if of_z.c_contiguous else z.T, a.T if turned else a, *steps)
    return True


@lru_cache(1024)
def _steps_over(shape: tuple[int, ...], turned: bool, *others: Any) -> tuple[int, ...] | None:
    """Sizes in three dimensions of an array in rows, or in columns where it is `turned`, and steps of others that are broadcast to it, each
    given by its shape and whether it lies in rows, else in columns; None where there is no such way.

    >>> _steps_over((2, 3), True, (2, 3), True, (3,), True)
    (1, 3, 2, 0, 1, 3, 0, 1, 0)
    """
    steps = []
    for other, rows in zip(others[::2], others[1::2]):
        if joint(shape, other) != shape:
            return None
        own = contiguous_strides(other) if rows else contiguous_strides(other[::-1])[::-1]
        steps.append(steps_along(other, own, len(shape)))
    return in_three(shape[::-1], *[along[::-1] for along in steps]) if turned else in_three(shape, *steps)


@lru_cache(1024)
def _lines_of(shape: tuple[int, ...], rows: bool, other: tuple[int, ...], others: bool) -> tuple[int, ...] | None:
    """How an array that lies in rows, else in columns, is gone over by lines beside another, in rows or columns, that is broadcast to it:
    sizes in three dimensions, and the other's steps; None where there is no such way.

    >>> _lines_of((2, 3), True, (2, 1), True), _lines_of((2, 3), False, (2, 3), True)
    ((1, 2, 3, 0, 1, 0), (3, 2, 1, 1, 3, 0))
    """
    found = _steps_over(shape, not rows, other, others)
    if found is None or found[5] < 2:
        return found
    return (*found[1:3], 1, *found[4:], 0) if found[0] == 1 else None  # each number is a line


def _by_pieces(run: Run, a: np.ndarray, *others: np.ndarray) -> None:
    """Changes an array in rows by others in another order, some rows at a time: several large copies at once are of pages that the system
    makes anew."""
    step = max(1, _PIECE * len(a) // a.nbytes)
    for at in range(0, len(a), step):
        beside = tuple([contiguous(x[at : at + step]) for x in others])
        run(beside[:1], beside[1:], (a[at : at + step],))


def _in_order(b: np.ndarray, a: np.ndarray) -> np.ndarray:
    """An array of the shape of another, as that lies, whose order NumPy and lines would follow: a step of a row for each number."""
    flags, own = a.flags, b.flags
    return b if flags.c_contiguous and own.c_contiguous or flags.f_contiguous and own.f_contiguous else spread(b, a)


def _laid(x: np.ndarray, a: np.ndarray) -> np.ndarray:
    """An operand as large as ``a``, and lying as that does."""
    if x.ndim > a.ndim:
        raise ValueError("an operand has more dimensions than what it changes")
    if x.shape == a.shape and x.strides == a.strides:
        return x
    if x.shape == a.shape and x.size < _FEW:
        return x.copy("C" if a.flags.c_contiguous else "F")
    return spread(x, a)
