"""What a Python whose environment says TORCHCOMPAT_AS_TORCH starts with: `import torch` loads torchcompat, and puts it in torch's place.

The value 1 asks for that where no torch is installed, `always` where one is, too. It is installed as a module of its own beside a line in
`torchcompat-startup.pth`, since to import it from its package would load that in each process, whether or not it says `import torch`.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torchcompat.dropin import _Finder


class Finder(MetaPathFinder):
    """Answers the first question about torch: has torchcompat installed in its place, whose finder takes the place of this."""

    def __init__(self, always: bool) -> None:
        self.always, self.asked = always, False

    def _installed(self, name: str | None) -> _Finder | None:
        """What answers instead of this; None where torch is there and nobody asked for it to be shadowed."""
        if (name or "").lower() not in ("torch", "functorch") or self.asked:
            return None
        self.asked = True  # so are the others now
        if not self.always and any(finder.find_spec("torch", None) for finder in sys.meta_path if hasattr(finder, "find_spec")):
            return None
        from torchcompat import dropin

        sys.meta_path.remove(self)
        dropin.install()
        return dropin._finder

    def find_spec(self, fullname: str, path: Sequence[str] | None, target: object = None) -> ModuleSpec | None:
        """Of torch."""
        finder = self._installed(fullname)
        return None if finder is None else finder.find_spec(fullname, path, target)

    def find_distributions(self, context: object = None) -> Iterable[object]:
        """The record of what stands in torch's place."""
        finder = self._installed(getattr(context, "name", None))
        return () if finder is None else finder.find_distributions(context)


def start(setting: str) -> None:
    """Called once, when Python starts."""
    if setting in ("1", "always"):
        sys.meta_path.insert(0, Finder(setting == "always"))
    elif setting not in ("", "0"):
        print(f"TORCHCOMPAT_AS_TORCH is neither 1 nor always: {setting!r}", file=sys.stderr)


if __name__ == "_torchcompat_startup":
    start(os.environ.get("TORCHCOMPAT_AS_TORCH", ""))
