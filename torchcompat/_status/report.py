"""`python -m torchcompat status`: what of torch's is here. Found out by looking at the package, every time."""

from __future__ import annotations

import argparse
import inspect
import sys
from collections.abc import Sequence
from difflib import get_close_matches
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

from .names import VERSION, dotted, entry, everything, recorded

PRESENT, PARTIAL, ABSENT = "present", "partial", "absent"
STATES = (PRESENT, PARTIAL, ABSENT)


class Row(NamedTuple):
    """What of a name is here."""

    name: str
    state: str
    note: str = ""
    """The difference, or the reason."""


@cache
def _module(path: str) -> object:
    """torchcompat's module of that path; None where there is none."""
    try:
        return import_module(f"torchcompat.{path}".rstrip("."))
    except ModuleNotFoundError:
        return None


def found(path: str, name: str) -> object:
    """What a name of a module stands for here.

    Raises:
        AttributeError: nothing.
    """
    value = _module(path)
    if value is None:  # some are no modules of files
        value = _module("")
        name = dotted(path, name)
    for part in name.split(".") if name else ():
        value = getattr(value, part)
    return value


def lacks(value: object, name: str, overloads: Sequence[str]) -> list[str]:
    """The parameters of torch's that what is here does not take by name.

    >>> lacks(lambda a, b=1: None, "f", ["a b=", "a c= * d="])
    ['c', 'd']
    """
    try:
        parameters = inspect.signature(value).parameters  # type: ignore[arg-type]  # it may be anything
    except (TypeError, ValueError):  # written in C, and does not say, or no function
        return []
    cells = inspect.getclosurevars(value).nonlocals if inspect.isfunction(value) else {}
    taken = {*parameters, *cells.get("_words", ()), "self", "cls"}
    if any([p.kind is p.VAR_KEYWORD for p in parameters.values()]) and "_words" not in cells:
        return []
    words = {word.rstrip("="): None for overload in overloads for word in overload.split() if not word.startswith(("*", "_"))}
    return [word for word in words if word not in taken]


@cache
def status(name: str) -> Row:
    """What of a name of torch's is here.

    >>> status("nn.Linear").state, status("q_scale").state
    ('present', 'absent')
    """
    path, inner = everything()[name]
    try:
        value = found(path, inner)
    except AttributeError:
        reason = entry(name)
        return Row(name, ABSENT, "" if reason is None else str(reason[1]))
    missing = lacks(value, inner or name, (recorded()[path].get(inner) if inner else None) or ())
    return Row(name, PARTIAL, "does not take " + ", ".join(f"`{word}=`" for word in missing)) if missing else Row(name, PRESENT)


def rows(module: str) -> list[Row]:
    """Of all names of a module, methods among them."""
    return [status(dotted(module, name)) for name in recorded()[module]]


def deviations(name: str) -> list[str]:
    """The rows of `specs/deviations.md` that speak of a name, where the specification lies beside the package."""
    path = Path(__file__).parents[2] / "specs" / "deviations.md"
    lines = path.read_text().splitlines() if path.exists() else []
    said = [f"`{form}{end}" for form in (name, f"torch.{name}", name.rpartition(".")[2]) for end in ("`", "(")]
    return [line for line in lines if line.startswith("|") and any(words in line.split("|")[1] for words in said)]


def counts() -> list[tuple[str, int, int, int]]:
    """(module, present, partial, absent), where those that are absent count to the nearest that is there, or to one of the top."""
    states: dict[str, list[str]] = {}
    for module in recorded():
        group = module
        while "." in group and status(group).state == ABSENT:
            group = group.rpartition(".")[0]
        states.setdefault(group, []).extend([row.state for row in rows(module)])
    return [(f"torch.{group}".rstrip("."), all_.count(PRESENT), all_.count(PARTIAL), all_.count(ABSENT))
            for group, all_ in states.items() if all_]


def told(wanted: Sequence[Row]) -> list[str]:
    """Lines of text."""
    width = max([len(row.name) for row in wanted], default=0) + 6
    return [f"{'torch.' + row.name:{width}}  {row.state:7}  {row.note}".rstrip() for row in wanted]


def table() -> str:
    """How many names of each module are there."""
    found_ = counts()
    width = max(len(group) for group, *_ in found_)
    lines = [f"{'module':{width}}  {'present':>7}  {'partial':>7}  {'absent':>7}"]
    lines += [f"{group:{width}}  {there:7}  {part:7}  {gone:7}" for group, there, part, gone in found_]
    _, *columns = zip(*found_)
    return "\n".join([*lines, f"{'all':{width}}" + "".join(f"  {sum(map(int, column)):7}" for column in columns)])


HEADER = f"""# What of torch {VERSION} is here

Written by `python -m torchcompat status --markdown`, which looks at the package; a test holds it to be current. `python -m torchcompat
status NAME` tells of one name. Counted are public names and public methods; *partial* is what does not take all keywords.

| module | present | partial | absent |
| --- | --- | --- | --- |
"""


def markdown() -> str:
    """The page."""
    names = [row for module in recorded() for row in rows(module)]
    text = HEADER + "".join([f"| `{group}` | {there} | {part} | {gone} |\n" for group, there, part, gone in counts()])
    text += "\n## Partial\n\n| name | difference |\n| --- | --- |\n"
    text += "".join([f"| `torch.{row.name}` | {row.note} |\n" for row in names if row.state == PARTIAL])
    reasons: dict[str, list[str]] = {}
    for row in names:
        if row.state == ABSENT:
            found_ = entry(row.name)
            assert found_ is not None, f"torch.{row.name} is absent without a reason"
            parent = row.name if found_[0] not in everything() or status(found_[0]).state != ABSENT else found_[0]
            while parent.rpartition(".")[0] in everything() and status(parent.rpartition(".")[0]).state == ABSENT:
                parent = parent.rpartition(".")[0]
            reasons.setdefault(row.note, []).append(f"`{parent}`")
    text += "\n## Absent\n\nA name stands for all below it.\n"
    for reason, gone in reasons.items():
        text += f"\n**{reason[:1].upper()}{reason[1:]}**:\n{', '.join(dict.fromkeys(gone))}\n"
    return text


def page() -> Path:
    """Where the page belongs."""
    return Path(__file__).parents[2] / "specs" / "status.md"


def asked(name: str) -> tuple[list[Row], list[str]]:
    """(rows, names like it) of a module, a name, or the beginning of names; no rows where torch has nothing like it."""
    name = name.removeprefix("torchcompat.").removeprefix("torch.")
    if name in ("torch", "torchcompat"):
        name = ""
    inside = [other for other in everything() if other.startswith(f"{name}.")] if name else list(recorded()[""])
    if name in everything() and name:
        own = [status(name)]
        return own + ([status(other) for other in inside] if own[0].state != ABSENT else []), []
    inside = inside or [other for other in everything() if other.startswith(name)]
    last = [other for other in everything() if other.rpartition(".")[2] == name.rpartition(".")[2]]
    return [status(other) for other in inside], last[:5] or get_close_matches(name, everything(), 5)


def main(arguments: Sequence[str]) -> int:
    """The command line; 1 where torch has no such name."""
    parser = argparse.ArgumentParser(prog="python -m torchcompat status", description=f"what of torch {VERSION} is here")
    parser.add_argument("name", nargs="?", help="a module, a name, or how names begin; all are counted where left out")
    parser.add_argument("--absent", action="store_true", help="only what is not here")
    parser.add_argument("--partial", action="store_true", help="only what does not take all keywords")
    parser.add_argument("--markdown", action="store_true", help="write the page of all names")
    options = parser.parse_args(arguments)
    if options.markdown:
        page().write_text(markdown())
        print(f"wrote {page().name}")
        return 0
    states = [state for state in (ABSENT, PARTIAL) if getattr(options, state)] or list(STATES)
    if options.name is None and states == list(STATES):
        print(table())
        return 0
    wanted, near = ([row for module in recorded() for row in rows(module)], []) if options.name is None else asked(options.name)
    if not wanted:
        print(f"torch {VERSION} has no {options.name!r}" + (f"; it has {', '.join(f'torch.{n}' for n in near)}" if near else ""),
              file=sys.stderr)
        return 1
    print("\n".join(told([row for row in wanted if row.state in states])) or "nothing of that kind")
    for line in deviations(wanted[0].name) if len(wanted) == 1 and options.name else ():
        print(f"differs: {line}")
    return 0
