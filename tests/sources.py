"""The sources of both packages as trees, for the tests that read them."""

from __future__ import annotations

import ast
import gc
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import CodeType

import autograd_tape
import torchcompat

FOLDERS = [Path(package.__file__).parent for package in (autograd_tape, torchcompat)]


@contextmanager
def kept() -> Iterator[None]:
    """Trees are made, and all kept: objects by the million and no garbage, looking for which would take most of the time."""
    running = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if running:
            gc.enable()


def trees(folders: list[Path] = FOLDERS, having: str = "") -> Iterator[tuple[Path, Path, ast.Module]]:
    """(folder, file, tree) of each source in whose text the pattern `having` is found: most of the time goes into trees."""
    with kept():
        for folder in folders:
            for path in sorted(folder.rglob("*.py")):
                text = path.read_text(encoding="utf-8")
                if re.search(having, text):
                    yield folder, path, ast.parse(text)


def codes(code: CodeType) -> Iterator[CodeType]:
    """A code object and all within it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from codes(constant)
