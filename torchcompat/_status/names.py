"""torch's public names and their parameters, as they were recorded (`tests/core/names_cases.py`), and reasons for those that are not here.

Nothing is read before somebody asks, which is where a name is missing, and in `python -m torchcompat status`.
"""

from __future__ import annotations

import gzip
import json
import re
from functools import cache
from pathlib import Path

from .reasons import GROUPS, Reason

VERSION = "2.13"
Overloads = list[str] | None
"""The parameters of each: "=" after those that may be left out, "*" before those that take the rest. None of what is not called."""


@cache
def recorded() -> dict[str, dict[str, Overloads]]:
    """From modules, by their names after `torch.`, to names to overloads. Methods are `Class.method`."""
    path = Path(__file__).with_name("torch_names.json.gz")
    names: dict[str, dict[str, Overloads]] = json.loads(gzip.decompress(path.read_bytes()))
    return names


def dotted(module: str, name: str) -> str:
    """The two as one.

    >>> dotted("nn", "Linear"), dotted("", "add"), dotted("nn", "")
    ('nn.Linear', 'add', 'nn')
    """
    return f"{module}.{name}".strip(".")


@cache
def everything() -> dict[str, tuple[str, str]]:
    """From all names, modules among them, to (module, name there)."""
    found = {module: (module, "") for module in recorded()}
    for module, names in recorded().items():
        for name in names:
            found.setdefault(dotted(module, name), (module, name))
    return found


@cache
def _patterns() -> list[tuple[re.Pattern[str], str, Reason]]:
    patterns = [(name, group) for group in GROUPS for name in group.names.split()]
    return [(re.compile(re.escape(name).replace(r"\*", "[^.]*") + r"(\.|$)"), name, group)
            for name, group in sorted(patterns, key=lambda found: -len(found[0]))]


def entry(name: str) -> tuple[str, Reason] | None:
    """(pattern, reason) of a name that is not here: the longest that fits. A pattern stands for all below what it names.

    >>> entry("distributed.rpc.remote")[0], entry("nn.Linear")
    ('distributed', None)
    """
    return next(((pattern, reason) for compiled, pattern, reason in _patterns() if compiled.match(name)), None)


def is_torchs(name: str) -> bool:
    """Whether torch has it, by its name after `torch.`."""
    return name in everything()


def told(name: str) -> str:
    """What to say of a name that torch has and torchcompat has not."""
    found = entry(name)
    reason = "" if found is None else f": {found[1]}"
    return f"torch {VERSION} has torch.{name}, torchcompat has not{reason}. See `python -m torchcompat status torch.{name}`"
