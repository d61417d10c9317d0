"""Checkers of types take the package for torch: they find the mistakes of a program, and no other; and see every name that is here."""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

import torchcompat as torch
from torchcompat._status.names import dotted, recorded

ROOT = Path(torch.__file__).parents[1]
PROGRAM = (ROOT / "tests/core/typed_program.txt").read_text()
"""Correct code of many kinds, and mistakes, which say so."""
MISTAKES = {number for number, line in enumerate(PROGRAM.splitlines(), 1) if line.endswith("# mistake")}
HARD = {"pyright": {"linalg.svd", "torch.einsum"}, "mypy": {"linalg.svd", "torch.einsum", "torch.no_grad(3)"}}
"""Mistakes that a checker does not find: what gives anything, takes anything, or is a decorator to it."""
UNSEEN = re.compile(r"torchcompat\.(cuda\.(comm|gds|nvtx|profiler|sparse|tunable)|mps\.profiler|utils\.data\.datapipes"
                    r"|storage\.TypedStorage|Tensor\.volatile|(cuda|xpu)\.(memory\.)?(MemPool|use_mem_pool|XPUPluggableAllocator)"
                    r"|jit\.annotations\.(Any|Dict|List|Optional|Tuple|Union|Future|BroadcastingList\d))\b")
"""Names of devices that are not there, and of conversions, that are made of tables which no stub says; and words of types, which are no
values to a checker."""


def names() -> list[str]:
    """torch's public names that are here, dotted."""
    found = []
    for module, within in recorded().items():
        for name in within:
            parts = dotted(module, name).split(".")
            value: object = torch
            for part in parts:
                value = None if part.startswith("_") else getattr(value, part, None)
            found += ["torch." + ".".join(parts)] * (value is not None)
    return found


@cache
def checked(folder: Path) -> dict[str, dict[str, set[int]]]:
    """By checker and file, the lines with errors. Both run at once."""
    known, package = names(), ROOT / "torchcompat"
    paths = {"/".join(name.split(".")[1:end]) for name in known for end in range(2, name.count(".") + 1)}
    modules = sorted([path.replace("/", ".") for path in paths if (package / path).is_dir() or (package / f"{path}.py").exists()])
    lines = ["import torchcompat", *[f"import torchcompat.{module}" for module in modules], *[f"torchcompat{name[5:]}" for name in known]]
    (folder / "names.py").write_text("\n".join(lines) + "\n")
    (folder / "program.py").write_text(re.sub(r"^(import|from) torch\b", r"\1 torchcompat", PROGRAM, flags=re.M).replace(
        "import torchcompat\n", "import torchcompat as torch\n", 1))
    commands = {
        "pyright": ["-m", "pyright", "--outputjson", "--pythonpath", sys.executable, "program.py", "names.py"],
        "mypy": ["-m", "mypy", "--config-file=", "--strict", "--follow-imports=silent", "--cache-dir", str(ROOT / ".mypy_cache/programs"),
                 "program.py", "names.py"],
    }
    environment = {**os.environ, "MYPYPATH": str(ROOT), "PYTHONPATH": str(ROOT), "PYRIGHT_PYTHON_IGNORE_WARNINGS": "1"}
    running = {checker: subprocess.Popen([sys.executable, *command], cwd=folder, env=environment, stdout=subprocess.PIPE, text=True)
               for checker, command in commands.items()}
    said = {checker: process.communicate()[0] for checker, process in running.items()}
    found = {"pyright": [(Path(error["file"]).name, error["range"]["start"]["line"] + 1)
                         for error in json.loads(said["pyright"])["generalDiagnostics"]],
             "mypy": [(file, int(line)) for file, line in re.findall(r"^(\w+\.py):(\d+): error", said["mypy"], re.M)]}
    assert found["pyright"] and found["mypy"], said
    return {checker: {file: {line for name, line in errors if name == file} for file in ("program.py", "names.py")}
            for checker, errors in found.items()}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("typed")


@pytest.mark.parametrize("checker", ["pyright", "mypy"])
def test_mistakes_are_found_and_nothing_else(checker: str, folder: Path) -> None:
    lines = PROGRAM.splitlines()
    errors = checked(folder)[checker]["program.py"]
    assert [lines[number - 1] for number in sorted(errors - MISTAKES)] == []
    missed = [lines[number - 1] for number in sorted(MISTAKES - errors)]
    assert [line for line in missed if not any([hard in line for hard in HARD[checker]])] == []
    assert len(MISTAKES) > 80 and len(missed) == len(HARD[checker])


@pytest.mark.parametrize("checker", ["pyright", "mypy"])
def test_every_name_is_seen(checker: str, folder: Path) -> None:
    errors = checked(folder)[checker]["names.py"]
    lines = (folder / "names.py").read_text().splitlines()
    assert len(lines) > 5000 and len(errors) < len(lines) / 50
    assert [lines[number - 1] for number in sorted(errors) if not UNSEEN.match(lines[number - 1])] == []


def test_no_module_shows_checkers_a_name_for_any() -> None:
    """A `__getattr__` that they see would stand for whatever is written; a few modules have names that programs and libraries give
    them."""
    seen = set()
    for path in (ROOT / "torchcompat").rglob("*.py"):
        for node in ast.parse(path.read_text()).body if "__getattr__" in path.read_text() else ():
            named = [part.id for part in ast.walk(node.targets[0]) if isinstance(part, ast.Name)] if isinstance(node, ast.Assign) else []
            if "__getattr__" in named or isinstance(node, ast.FunctionDef) and node.name == "__getattr__":
                seen.add(str(path.relative_to(ROOT / "torchcompat")))
    assert seen == {"_VF.py", "_calls/foreach.py", "classes.py", "ops.py"}
