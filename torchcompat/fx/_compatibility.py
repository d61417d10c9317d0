"""Which names of `torch.fx` promise to stay as they are: the decorator notes it on the name and in its documentation."""

from __future__ import annotations

import textwrap
from typing import TypeVar
from collections.abc import Callable

from torchcompat._calls.absent import absences as _absences

Named = TypeVar("Named")
_BACK_COMPAT_OBJECTS: dict[object, None] = {}
_MARKED_WITH_COMPATIBILITY: dict[object, None] = {}


def compatibility(is_backward_compatible: bool) -> Callable[[Named], Named]:
    """A decorator that marks a function or class as one that stays, or as one that may change."""
    said = ("Backwards-compatibility for this API is guaranteed." if is_backward_compatible
            else "This API is experimental and is *NOT* backward-compatible.")

    def mark(named: Named) -> Named:
        named.__doc__ = f"{textwrap.dedent(named.__doc__ or '').rstrip()}\n\n.. note::\n    {said}\n"
        _MARKED_WITH_COMPATIBILITY.setdefault(named)
        if is_backward_compatible:
            _BACK_COMPAT_OBJECTS.setdefault(named)
        return named

    return mark


_absences(__name__)
