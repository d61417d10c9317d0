"""Names of modules from packages: `<torch_package_0>.model` is the module `model` of the first package that this process opened."""

from __future__ import annotations

import itertools
import re

_numbers = itertools.count()
_PREFIX = re.compile(r"<torch_package_\d+>")


class PackageMangler:
    """Marks the names of one package."""

    def __init__(self) -> None:
        self._parent = f"<torch_package_{next(_numbers)}>"

    def parent_name(self) -> str:
        """The mark."""
        return self._parent

    def mangle(self, name: str) -> str:
        """A name with the mark; AssertionError where it is empty."""
        if not name:
            raise AssertionError("name must not be empty")
        return f"{self._parent}.{name}"

    def demangle(self, mangled: str) -> str:
        """A name without this package's mark."""
        return mangled.removeprefix(f"{self._parent}.")


def is_mangled(name: str) -> bool:
    """Whether a name has the mark of a package."""
    return _PREFIX.match(name) is not None


def demangle(name: str) -> str:
    """A name without the mark of any package.

    >>> demangle("<torch_package_3>.a.b"), demangle("a.b"), demangle("<torch_package_3>")
    ('a.b', 'a.b', '')
    """
    return name.partition(".")[2] if is_mangled(name) else name


def get_mangle_prefix(name: str) -> str:
    """The mark of a name; the name where it has none."""
    return name.partition(".")[0] if is_mangled(name) else name
