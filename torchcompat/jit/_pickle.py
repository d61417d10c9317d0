"""What the pickles of TorchScript's archives call."""

from __future__ import annotations

from typing import Any


def build_intlist(data: Any) -> list[Any]:
    """A list of integers."""
    return list(data)


build_doublelist = build_boollist = build_tensorlist = build_intlist


def restore_type_tag(value: object, type_str: str) -> Any:
    """A list or dictionary, of which the file says the type."""
    return value
