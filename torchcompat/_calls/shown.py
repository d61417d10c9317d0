"""Functions that are written in one module and belong to another, where programs find them: that one is shown, and pickled."""

from __future__ import annotations

from typing import Any


def shown_in(module: str, *functions: Any) -> None:
    """Makes functions say that they are of `module`, which has them under their names."""
    for function in functions:
        function.__module__ = module
