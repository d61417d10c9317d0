"""Numbers repeated to the length that a layer's dimensions need; torch's own names, which other packages import."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any
from collections.abc import Callable, Sequence

from autograd_tape.annotations import Arguments


def _ntuple(n: int, name: str = "parse") -> Callable[[Any], Arguments]:
    """A function that repeats a number n times, and makes anything iterable a tuple."""

    def parse(x: int | tuple[float, ...]) -> tuple[float, ...]:
        return tuple(x) if isinstance(x, Iterable) else (x,) * n

    parse.__name__ = name
    return parse


_single, _pair, _triple, _quadruple = _ntuple(1, "_single"), _ntuple(2, "_pair"), _ntuple(3, "_triple"), _ntuple(4, "_quadruple")


def _reverse_repeat_tuple(t: Sequence[int], n: int) -> tuple[int, ...]:
    """The items from the last to the first, each n times: padding in the order that `pad` takes it."""
    return tuple(x for x in reversed(t) for _ in range(n))
