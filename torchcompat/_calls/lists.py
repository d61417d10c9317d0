"""Lists of plain tensors, computed with by one call of machine code: what `foreach` has for a row, where nothing is recorded or looked at.

Records say which of the kernel's changes an operation is: by a number, by a tensor in each row, or by two.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from autograd_tape.executors.kernels._common import WITHIN
from autograd_tape.executors.kernels.changes import MOST, Change
from autograd_tape.executors.kernels.sharing import BIG, get_num_threads
from autograd_tape.modes import GradMode, grad_mode
from autograd_tape.ops import RECORDS
from autograd_tape.version import Version

from .._tensor import Tensor, frontend

__all__ = ["CLIPPED", "LARGE", "Change", "Rows", "changed", "changes_of"]

_ENABLED = GradMode.ENABLED
LARGE = 1 << 15
"""Numbers of which a copy that is then changed takes longer than a call."""
CLIPPED = Change(WITHIN)
"""`clamp` to a number on both sides of zero."""


@functools.cache
def changes_of(name: str) -> dict[int, Change]:
    """By how many tensors there are beside the first of a row, which of the kernel's changes an operation is."""
    changes = (RECORDS[name].field("changes") or {}) if name in RECORDS else {}
    return {others: change for others, change in changes.items() if isinstance(change, Change)}


def changed(change: Change, lists: Sequence[Sequence[Tensor]], value: Any, inplace: bool = True) -> Sequence[Tensor] | None:
    """The tensors of the first list, of which there is one, changed in place, or what they become, by a number, or a tensor of one, whose
    value is asked for where nobody looks; None, and nothing has happened, where
    the rows are to be gone through one by one: they are not of one plain floating-point dtype, of one shape and in rows; somebody looks, or
    is to have gradients; or they are so big that threads should share them."""
    try:
        return _changed(change, lists, value, inplace)
    except (AttributeError, TypeError, ValueError):  # what the kernel does not take
        return None


def _changed(change: Change, lists: Sequence[Sequence[Tensor]], value: Any, inplace: bool) -> Sequence[Tensor] | None:
    first, kind, sets = lists[0], lists[0][0]._k, frontend.namespace
    if kind not in sets["Q_FLOAT"] and kind not in sets["Q_HALF"]:
        return None
    if value.__class__ is Tensor:
        if value._k is not kind or value._data.ndim or value._node is not None:
            return None
        value = float(value._data)
    if value.__class__ is not float and value.__class__ is not int or not -MOST <= value <= MOST:
        return None
    recording, data = grad_mode() is _ENABLED, []
    for x in first:
        if x._k is not kind or recording and (x._node is not None or inplace and (base := x._base) is not None and base._node is not None):
            return None
        data.append(x._data)
    others: list[list[Any]] = []
    for tensors in lists[1:]:
        others.append(operand := [])
        for x, z in zip(first, tensors):
            if z._k is not kind or recording and z._node is not None or inplace and z._v is x._v is not None and z is not x:
                return None
            operand.append(z._data)
    run = change.kernel.rows(kind.np.char, len(first))
    if run is None or get_num_threads() > 1 and any([x.size >= BIG for x in data]):
        return None
    if not inplace:
        if not all([x.flags.c_contiguous and x.size < LARGE for x in data]):
            return None
        data = [x.copy() for x in data]
    target = tuple(data)
    change.run(run, kind, value, target, *map(tuple, others))
    if inplace:
        Version.count_all(first)
        return first
    new = frontend.wrap
    return [new(x, kind) for x in target]


class Rows:
    """A list of tensors as one, which has a tensor's methods: each changes all of them by one call of machine code where there is one for
    that, else one by one. So what is written for a tensor serves lists, with the same bits. Other arguments may be `Rows`, too."""

    __slots__ = ("tensors",)
    is_sparse = False

    def __init__(self, tensors: Sequence[Tensor]) -> None:
        self.tensors = tensors

    def __getattr__(self, name: str) -> Callable[..., Rows]:
        return functools.partial(self._each, name)

    def _each(self, name: str, *args: Any, **options: Any) -> Rows:
        others, inplace = [a.tensors for a in args if a.__class__ is Rows], name.endswith("_")
        numbers = [*[a for a in args if a.__class__ is not Rows], *options.values()]
        change = changes_of(name.rstrip("_")).get(len(others)) if len(numbers) < 2 else None
        done = None if change is None else changed(change, [self.tensors, *others], numbers[0] if numbers else 1, inplace)
        if done is None:
            done = [getattr(x, name)(*[a.tensors[i] if a.__class__ is Rows else a for a in args], **options)
                    for i, x in enumerate(self.tensors)]
        return self if inplace else Rows(done)

    def item(self) -> Any:
        """The number that each of them is."""
        return self.tensors[0].item()

    def __neg__(self) -> Rows:
        return self._each("neg")

    def __add__(self, other: object) -> Rows:
        return self._each("add", other)

    def __sub__(self, other: object) -> Rows:
        return self._each("sub", other)

    def __mul__(self, other: object) -> Rows:
        return self._each("mul", other)

    def __truediv__(self, other: object) -> Rows:
        return self._each("div", other)

    def __rtruediv__(self, other: object) -> Rows:
        return Rows([other / x for x in self.tensors])

    def __iadd__(self, other: object) -> Rows:
        return self._each("add_", other)

    def __imul__(self, other: object) -> Rows:
        return self._each("mul_", other)
