"""What operations change in place in one pass: those of the kernels' changes that records name, over one tensor or over lists."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from ...dtypes import Kind
from .elementwise import spread
from .handy import Listed, Run
from .sharing import BIG, get_num_threads

__all__ = ["Change", "LEAST", "MOST", "by_two", "changed"]

LEAST = 512  # elements of single or double precision from which a pass in place is quicker than a ufunc and a copy
MOST = 1e4  # the largest number that all dtypes hold and all operations take
_ONE, _TWO = Listed("arithmetic", "change"), Listed("arithmetic", "change_by_two")


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
    """

    op: int
    number: Callable[[float, Kind], float] = as_it_is
    half: int | None = None
    kernel: Listed = _ONE

    def run(self, kernel: Run, kind: Kind, value: float, target: tuple[np.ndarray, ...], *others: tuple[np.ndarray, ...]) -> None:
        """Has the kernel change all rows: `target`, and what is beside it in each, of tensors of a kind.

        Raises:
            TypeError, ValueError: the kernel does not take the arrays; nothing is changed.
        """
        op = self.op if self.half is None or kind.np.itemsize > 2 else self.half
        beside = others or (target,)
        kernel(op, self.number(value, kind), *beside, *beside[:self.kernel is _TWO and len(beside) < 2], target)


by_two = partial(Change, kernel=_TWO)
"""A change by two tensors."""


def changed(change: Change, kind: Kind, value: Any, a: np.ndarray, *others: np.ndarray) -> bool:
    """Changes a plain array of floating-point numbers, by a number of Python's and other arrays of its dtype; whether it did: it lies in
    rows or columns, the others are as large, and machine code is at hand or worth having."""
    kernel = change.kernel.of(kind.np.char, a.size)
    if kernel is None or not -MOST <= value <= MOST or a.size >= BIG and get_num_threads() > 1:
        return False
    turned = not a.flags.c_contiguous
    if turned:
        if not a.flags.f_contiguous:
            return False
        a = a.T
    try:
        if others:
            change.run(kernel, kind, value, (a,), *[(_beside(x.T if turned else x, a),) for x in others])
        else:
            change.run(kernel, kind, value, (a,))
    except (TypeError, ValueError):  # what the kernel does not take
        return False
    return True


def _beside(x: np.ndarray, a: np.ndarray) -> np.ndarray:
    """An operand as large as ``a``, which lies in rows, as it lies beside that; of others, too, what is refused there."""
    return x if x.flags.c_contiguous or x.shape != a.shape else spread(x, a)
