"""Programs as users write them, each of a kind of its own: what they print.

`programs/` holds them; they say `import torch`, and know nothing of tests.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import random
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.recording import Table

PROGRAMS = {path.stem: path for path in sorted((Path(__file__).parent / "programs").glob("*.py"))}
NUMBER = re.compile(r"(?<![\w.])-?\d+\.(?:\d+)?(?:e[-+]?\d+)?|(?<![\w.])-?\d+e[-+]?\d+")


@contextlib.contextmanager
def known_as_torch(torch: Any, source: str) -> Iterator[None]:
    """Where what a program imports of torch is the package under test; what it loads besides stays."""
    own, aliases = torch.__name__, []
    if own != "torch":
        for module in re.findall(r"^(?:from|import) torch([\w.]*)", source, re.MULTILINE):
            importlib.import_module(own + module)
        aliases = [name for name in sys.modules if name == own or name.startswith(f"{own}.")]
    before = {name: module for name, module in sys.modules.items() if name == "torch" or name.startswith("torch.")}
    sys.modules.update({"torch" + name[len(own):]: sys.modules[name] for name in aliases})
    try:
        yield
    finally:
        for name in aliases:
            del sys.modules["torch" + name[len(own):]]
        sys.modules.update(before)


def outcome(torch: Any, name: str) -> list[Any]:
    """The lines that a program prints: words and whole numbers as they are, other numbers apart, for they are rounded."""
    printed, source = io.StringIO(), PROGRAMS[name].read_text()
    default, state = torch.get_default_dtype(), random.getstate()
    try:
        with known_as_torch(torch, source), contextlib.redirect_stdout(printed):
            exec(compile(source, f"{name}.py", "exec"), {"__name__": "__main__"})
    finally:
        torch.set_default_dtype(default)
        torch.set_printoptions(profile="default")
        random.setstate(state)
    return [[NUMBER.sub("#", line), [float(x) for x in NUMBER.findall(line)]] for line in printed.getvalue().splitlines()]


TABLE = Table("scripts", PROGRAMS, outcome, tolerance=(2e-3, 2e-4), zipped=True)
