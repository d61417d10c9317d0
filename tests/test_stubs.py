"""The checked-in stubs say what the records say."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import autograd_tape
import torchcompat
from autograd_tape.functions import stubs
from torchcompat.__main__ import main


def test_stubs_are_current() -> None:
    assert stubs.path().read_text() == stubs.render(), "run: python -m torchcompat stubs -o torchcompat/_ops.pyi"


def test_stubs_are_python() -> None:
    tree = ast.parse(stubs.render())
    methods = next(node for node in tree.body if isinstance(node, ast.ClassDef))
    names = {node.name for node in methods.body if isinstance(node, ast.FunctionDef)}
    assert {"add", "add_", "sum", "view"} <= names


def test_stubs_are_written_where_they_are_asked_for(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = stubs.path().stat().st_mtime_ns
    assert stubs.main([]) == 0 and capsys.readouterr().out == stubs.render()
    assert stubs.main(["-o", str(tmp_path / "x.pyi")]) == 0 and (tmp_path / "x.pyi").read_text() == stubs.render()
    assert stubs.path().stat().st_mtime_ns == before


def test_the_command_tells_versions(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"torchcompat {autograd_tape.__version__} (torch {torchcompat.__version__.partition('+')[0]})\n"
