"""torch.torch_version: a version that is a string, and compares as versions do."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from autograd_tape.annotations import Arguments
from .version import __version__ as internal_version

__all__ = ["TorchVersion"]
_PARTS = re.compile(r"(?P<release>\d+(?:\.\d+)*)(?:\.?(?P<pre>a|b|rc|dev|post)(?P<number>\d*))?(?:\+(?P<local>.*))?", re.IGNORECASE)
_STAGES = {"dev": -4, "a": -3, "b": -2, "rc": -1, "": 0, "post": 1}


def _key(version: object) -> Arguments | None:
    """What versions are compared by; None of what is no version."""
    text = ".".join(map(str, version)) if isinstance(version, Iterable) and not isinstance(version, str) else str(version)
    found = _PARTS.fullmatch(text.strip().lstrip("v"))
    if found is None:
        return None
    release = [int(n) for n in found["release"].split(".")]
    while release and not release[-1]:
        release.pop()
    local = tuple([(1, int(p), "") if p.isdigit() else (0, 0, p) for p in re.split(r"[._-]", found["local"] or "") if p])
    return release, _STAGES[(found["pre"] or "").lower()], int(found["number"] or 0), local


class TorchVersion(str):
    """A version: compares with strings and tuples of numbers as versions, with what is no version as a string.

    >>> TorchVersion("2.13.0") > "2.9", TorchVersion("2.13.0") >= (2, 13), TorchVersion("2.13.0a1") < "2.13"
    (True, True, True)
    """

    __slots__ = ()

    def _compared(self, other: object) -> tuple[Any, Any]:
        own, others = _key(self), _key(other)
        return (str(self), str(other)) if own is None or others is None else (own, others)

    def __lt__(self, other: object) -> bool:
        own, others = self._compared(other)
        return bool(own < others)

    def __le__(self, other: object) -> bool:
        own, others = self._compared(other)
        return bool(own <= others)

    def __gt__(self, other: object) -> bool:
        own, others = self._compared(other)
        return bool(own > others)

    def __ge__(self, other: object) -> bool:
        own, others = self._compared(other)
        return bool(own >= others)

    def __eq__(self, other: object) -> bool:
        own, others = self._compared(other)
        return bool(own == others)

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = str.__hash__


__version__ = TorchVersion(internal_version)
