"""The checked-in stubs say what the records say."""

from __future__ import annotations

import ast
import inspect
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

import autograd_tape
import torchcompat
from autograd_tape.ops import RECORDS
from torchcompat.__main__ import main
from torchcompat._calls.results import StructSequence
from torchcompat._status import stubs


@pytest.fixture(scope="module")
def files() -> dict[str, str]:
    return stubs.render()


def test_stubs_are_current(files: dict[str, str]) -> None:
    for name, text in files.items():
        assert (stubs.path().parent / name).read_text() == text, "run: python -m torchcompat stubs -o torchcompat/_ops.pyi"


def test_stubs_are_python(files: dict[str, str]) -> None:
    trees = {name: ast.parse(text) for name, text in files.items()}
    methods = next(node for node in trees["_ops.pyi"].body if isinstance(node, ast.ClassDef))
    names = {node.name for node in methods.body if isinstance(node, ast.FunctionDef)}
    assert {"add", "add_", "sum", "view"} <= names


def test_stubs_are_written_where_they_are_asked_for(files: dict[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = stubs.path().stat().st_mtime_ns
    assert stubs.main([]) == 0 and capsys.readouterr().out == "\n".join(files.values())
    assert stubs.main(["-o", str(tmp_path / "x.pyi")]) == 0 and (tmp_path / "x.pyi").read_text() == files["_ops.pyi"]
    assert (tmp_path / "_calls/of_linalg.pyi").read_text() == files["_calls/of_linalg.pyi"]
    assert stubs.path().stat().st_mtime_ns == before


def _tensors(value: object) -> object:
    if isinstance(value, np.ndarray):
        return torchcompat.tensor(value)
    return type(value)(map(_tensors, value)) if isinstance(value, (list, tuple)) else value


def _type(value: object) -> str:
    if isinstance(value, tuple):
        return f"_results.{type(value).__name__}" if isinstance(value, StructSequence) else "tuple"
    return "Tensor" if isinstance(value, torchcompat.Tensor) else f"_{type(value).__name__}"


def test_calls_give_what_stubs_say() -> None:
    """Of a sample of each operation without keywords, and where the stubs do not leave it open."""
    looked, wrong = 0, {}
    for name, rec in RECORDS.items():
        first = next(iter(rec.field("samples")(np.random.default_rng(0))), None)
        args = getattr(first, "args", first)
        home = None if rec.namespace in ("Tensor", "_internal") else import_module(f"torchcompat.{rec.namespace}".strip("."))
        function = getattr(home, name, None)
        if not callable(function) or getattr(first, "kwargs", None) or RECORDS.get(f"{name}_along"):
            continue
        said = {stub.rpartition(" -> ")[2].partition(":")[0] for stub in stubs.stubs_of(name, function, rec)}
        taken = [p for p in inspect.signature(function).parameters.values() if p.kind is not p.KEYWORD_ONLY]
        if said == {"Any"} or len(args) > len(taken) and taken[-1].kind is not inspect.Parameter.VAR_POSITIONAL:
            continue
        looked += 1
        if (given := _type(function(*map(_tensors, args)))) not in {text.partition("[")[0] for text in said}:
            wrong[name] = given, said
    assert wrong == {} and looked > 300


def test_the_command_tells_versions(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"torchcompat {autograd_tape.__version__} (torch {torchcompat.__version__.partition('+')[0]})\n"
