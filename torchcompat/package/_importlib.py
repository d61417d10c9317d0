"""How names of modules are completed, and what names of resources may be."""

from __future__ import annotations

import os


def _resolve_name(name: str | None, package: str, level: int) -> str:
    """The full name of what `from ..name import` names, with as many dots as `level`, in a package.

    Raises:
        ValueError: it lies above all packages.
    """
    bits = package.rsplit(".", level - 1)
    if len(bits) < level:
        raise ValueError("attempted relative import beyond top-level package")
    return f"{bits[0]}.{name}" if name else bits[0]


def _normalize_path(path: str) -> str:
    """The name of a file; ValueError where it names a folder, too."""
    folder, name = os.path.split(path)
    if folder:
        raise ValueError(f"{path!r} must be only a file name")
    return name
