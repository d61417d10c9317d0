"""Patterns of names with segments."""

from __future__ import annotations

import re
from collections.abc import Iterable

GlobPattern = str | Iterable[str]


class GlobGroup:
    """The names that fit one of some patterns, and none of others.

    A segment of a pattern stands for itself, with `*` for any letters; `**` is any number of segments.

    Args:
        include, exclude: a pattern, or several.
        separator: what stands between segments.

    Raises:
        ValueError: `**` is but a part of a segment.

    >>> modules = GlobGroup("torch.**", exclude="torch.nn")
    >>> [modules.matches(name) for name in ("torch", "torch.nn.functional", "torch.nn", "torchvision")]
    [True, True, False, False]
    """

    def __init__(self, include: GlobPattern, *, exclude: GlobPattern = (), separator: str = ".") -> None:
        self._dbg = f"GlobGroup(include={include}, exclude={exclude})"
        self.separator = separator
        self.include, self.exclude = [
            [self._compiled(pattern) for pattern in ([given] if isinstance(given, str) else given)] for given in (include, exclude)]

    def _compiled(self, pattern: str) -> re.Pattern[str]:
        mark = re.escape(self.separator)
        letters = f"[^{mark}]"
        parts = []
        for segment in pattern.split(self.separator):
            if "**" in segment and segment != "**":
                raise ValueError("** can only appear as an entire path segment")
            parts.append(f"({mark}{letters}+)*" if segment == "**" else mark + f"{letters}*".join(map(re.escape, segment.split("*"))))
        return re.compile("".join(parts))

    def matches(self, candidate: str) -> bool:
        """Whether a name is one of them."""
        name = self.separator + candidate  # so that every segment has a separator before it
        return any([p.fullmatch(name) for p in self.include]) and not any([p.fullmatch(name) for p in self.exclude])

    def __repr__(self) -> str:
        return self._dbg
