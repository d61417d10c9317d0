"""Runs clients, each in a process of its own, and compares what they give with what they gave on torch."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from collections.abc import Iterable
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any, NamedTuple

from tests.clients import suites

ROOT = Path(__file__).parents[2]
FOLDER = Path(__file__).parent
PAGE = ROOT / "docs/compatibility.md"
CLOSE = 1e-4
"""By how much numbers may differ, of the largest beside them: sums of float32 in another order, after a step or two of training."""
SMALL = 1e-2
"""What is smaller is measured by this: gradients that are nothing but rounding, and weights that go by their signs."""
SETTING = {"HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1", "PYTHONHASHSEED": "0", "TOKENIZERS_PARALLELISM": "false"}


class Client(NamedTuple):
    """What the file of a client says, without running it."""

    about: str
    packages: tuple[str, ...]
    close: float | dict[str, float]
    in_suite: tuple[str, ...]

    def missing(self) -> list[str]:
        """The packages that are not installed."""
        return [name for name in self.packages if not list(metadata.distributions(name=name))]


@cache
def clients() -> dict[str, Client]:
    """All there are, by name."""
    found = {}
    for path in sorted((FOLDER / "programs").glob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        said = {ast.unparse(node.targets[0]): node.value for node in tree.body if isinstance(node, ast.Assign)}
        about, told = ast.get_docstring(tree) or "", {name: ast.literal_eval(said[name]) for name in ("CLOSE", "IN_SUITE") if name in said}
        found[path.stem] = Client(" ".join(about.split("\n\n")[0].split()), ast.literal_eval(said["PACKAGES"]), told.get("CLOSE", CLOSE),
                                  told.get("IN_SUITE", ()))
    return found


def installed() -> list[str]:
    """The clients that can be run."""
    return [name for name, client in clients().items() if not client.missing()]


def outcomes(name: str, cases: Iterable[str] = (), repeat: int = 1, drop_in: bool = True) -> dict[str, tuple[Any, float]]:
    """What the cases of a client give and how long they take, on torchcompat or, without the drop-in, on torch.

    Raises a RuntimeError where the process fails."""
    program = ["-m", "torchcompat"] * drop_in + [str(FOLDER / "carry.py"), str(FOLDER / f"programs/{name}.py"), str(repeat), *cases]
    paths = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run([sys.executable, *program], capture_output=True, text=True, env={**os.environ, **SETTING, "PYTHONPATH": paths})
    if done.returncode:
        raise RuntimeError(f"{name} ended with {done.returncode}:\n{done.stderr[-3000:]}")
    return {case: (found, seconds) for case, found, seconds in map(json.loads, done.stdout.splitlines())}


def difference(expected: Any, found: Any, close: float | dict[str, float] = CLOSE, size: float = 0.0) -> str:
    """Where and how what was found differs first: numbers must be close, measured by the largest beside them, all else the same."""
    same = type(expected) is type(found)
    if same and isinstance(expected, dict) and list(expected) == list(found):
        size, parts = expected["size"] if "tensor" in expected else 0.0, list(expected.items())
    elif same and isinstance(expected, list) and len(expected) == len(found):
        parts = list(enumerate(expected))
    elif same and isinstance(expected, float):
        within = (close if isinstance(close, float) else close.get("", CLOSE)) * max(abs(expected), size, SMALL)
        equal = expected == found or expected != expected and found != found or abs(expected - found) <= within
        return "" if equal else f"{found} where torch gives {expected}"
    else:
        return "" if same and expected == found else f"{brief(found)} where torch gives {brief(expected)}"
    for key, value in parts:
        if told := difference(value, found[key], close if isinstance(close, float) else close.get(str(key), close), size):
            return f"[{key!r}]{told}" if told.startswith("[") else f"[{key!r}]: {told}"
    return ""


def recorded(name: str) -> dict[str, Any]:
    """What was written down of a client: `versions`, `cases` and their `seconds` on torch; what we do with them under `here`."""
    path = FOLDER / f"recorded/{name}.json"
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}


def write(name: str, told: dict[str, Any]) -> None:
    """A line for each case."""
    cases = ",\n  ".join(f"{json.dumps(case)}: {json.dumps(value)}" for case, value in told["cases"].items())
    rest = "".join(f" {json.dumps(key)}: {json.dumps(value)},\n" for key, value in told.items() if key != "cases")
    (FOLDER / f"recorded/{name}.json").write_text(f'{{\n{rest} "cases": {{\n  {cases}}}}}\n', encoding="utf-8")


def record(names: Iterable[str]) -> None:
    """Writes down what clients give on torch."""
    for name in names:
        found = outcomes(name, repeat=2, drop_in=False)
        for case, (value, _) in found.items():
            if isinstance(value, str):
                print(f"{name}, {case}: {value}")
        write(name, {"versions": {package: metadata.version(package) for package in (*clients()[name].packages, "torch")},
                     "seconds": {case: seconds for case, (_, seconds) in found.items()}, "here": recorded(name).get("here", {}),
                     "cases": {case: value for case, (value, _) in found.items()}})


def differing(name: str, found: dict[str, tuple[Any, float]]) -> dict[str, str]:
    """The cases that give something else than they do on torch, and what."""
    known = recorded(name)["cases"]
    told = {case: difference(known[case], value, clients()[name].close) for case, (value, _) in found.items()}
    return {case: what for case, what in told.items() if what}


def report(names: Iterable[str]) -> None:
    """Runs clients on torchcompat, and writes down what agrees; then the page."""
    for name in names:
        found, told = outcomes(name, repeat=2), recorded(name)
        wrong = differing(name, found)
        slower = sum(seconds for _, seconds in found.values()) / sum(told["seconds"].values())
        told["here"] = {"agree": len(found) - len(wrong), "ratio": round(slower, 2), "differ": wrong}
        write(name, told)
        print(f"{name}: {len(found) - len(wrong)} of {len(found)}, time {slower:.2f}", *map(": ".join, wrong.items()), sep="\n  ")
    PAGE.parent.mkdir(exist_ok=True)
    PAGE.write_text(page())


def page() -> str:
    """The page of compatibility, of what was written down."""
    rows, details, torches = [], [], set()
    for name, client in sorted(clients().items(), key=lambda item: (item[1].packages[0].lower(), item[0])):
        told = recorded(name)
        if here := told.get("here"):
            versions = ", ".join(f"{package} {told['versions'][package]}" for package in client.packages)
            torches.add(told["versions"]["torch"].partition("+")[0])
            rows.append(f"| {versions} | [{name}](../tests/clients/programs/{name}.py): {client.about} | "
                        f"{here['agree']} of {len(told['cases'])} | {here['ratio']} |")
            details += [f"- `{name}`, {case}{what if what.startswith('[') else ': ' + what}." for case, what in here["differ"].items()]
    return "\n".join([
        "# Compatibility", "",
        "Packages that need torch, unmodified, with torchcompat in its place: what was run of each, how many of its cases give what",
        f"they give on torch {', '.join(sorted(torches))}, and the time they take, divided by torch's (one thread, processor time of each",
        "case's second run; the models are tiny, so that most of it is what calls cost). Numbers agree to rounding, as close as each",
        "program says; shapes, dtypes, tokens, names and errors are the same. `python -m tests.clients report` writes this page;",
        "`tests/clients/__init__.py` says how.", "",
        "| Packages | What is run | As on torch | Time |", "|---|---|---|---|", *rows, "",
        *(["What differs:", "", *details, ""] if details else []), *suites.page()])


def brief(value: Any) -> str:
    """A value in few words."""
    text = json.dumps(value)
    return text if len(text) <= 120 else text[:117] + "..."


def show(name: str, cases: Iterable[str]) -> None:
    """Prints what we give and torch gives, where they differ."""
    found = outcomes(name, cases)
    for case, what in differing(name, found).items():
        print(f"{case}: {what}\n  torch: {json.dumps(recorded(name)['cases'][case])}\n  here:  {json.dumps(found[case][0])}")
