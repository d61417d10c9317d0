"""Every snippet in docstrings, README, docs and specs runs."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
import re
from pathlib import Path
from typing import Any

import pytest

import autograd_tape
import torchcompat
from autograd_tape.ops import RECORDS

ROOT = Path(__file__).parent.parent
FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
SKIPPED_MODULES = {"__main__"}


def modules() -> list[str]:
    """All modules of both packages that can be imported everywhere."""
    found = []
    for package in (autograd_tape, torchcompat):
        found.append(package.__name__)
        for info in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
            if info.name.rpartition(".")[2] not in SKIPPED_MODULES and ".compiled" not in info.name:
                found.append(info.name)
    return found


def run(text: str, name: str, filename: str, namespace: dict[str, Any]) -> None:
    """Runs a docstring's examples; an assertion error shows what failed."""
    test = doctest.DocTestParser().get_doctest(text, {}, name, filename, 0)
    test.globs = namespace  # later examples of the same file see the names of earlier ones
    output: list[str] = []
    runner = doctest.DocTestRunner(optionflags=FLAGS)
    runner.run(test, out=output.append, clear_globs=False)
    assert runner.failures == 0, "".join(output)


@pytest.mark.parametrize("name", modules())
def test_module_docstrings(name: str) -> None:
    module = importlib.import_module(name)
    finder = doctest.DocTestFinder(exclude_empty=True)
    operations = {f"{name}.{operation}" for operation in RECORDS}  # whose examples are run by themselves
    for test in finder.find(module, name):
        if test.examples and test.name not in operations:
            run(test.docstring, test.name, test.filename or name, {**vars(module), "torch": torchcompat})


@pytest.mark.no_numbers("the docstring's examples")
@pytest.mark.parametrize("name", sorted(RECORDS))
def test_operation_docstring(name: str) -> None:
    rec = RECORDS[name]
    assert rec.doc, f"{name} has no docstring"
    if ">>>" in rec.doc:
        torchcompat.manual_seed(0)
        run(rec.doc, name, rec.module, {"torch": torchcompat})


def blocks() -> list[Any]:
    """Python code blocks of the Markdown files, those of one file in order."""
    files = [ROOT / "README.md", *sorted((ROOT / "docs").glob("**/*.md")), *sorted((ROOT / "specs").glob("**/*.md"))]
    return [pytest.param(path, id=str(path.relative_to(ROOT))) for path in files if path.exists()]


@pytest.mark.parametrize("path", blocks())
def test_markdown(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, Any] = {"torch": torchcompat, "__name__": "snippet"}
    for i, match in enumerate(re.finditer(r"^```python\n(.*?)^```", path.read_text(), re.S | re.M)):
        text = match[1]
        if ">>>" in text:
            run(text, f"{path.name}[{i}]", str(path), namespace)
        else:
            exec(compile(text, f"{path.name}[{i}]", "exec"), namespace)
