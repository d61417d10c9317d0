"""How often annotations say `Any`: in each package at most as often in so much code as now, so that types come and do not go."""

from __future__ import annotations

import ast
import re
import textwrap
from pathlib import Path

import pytest
from tests import sources

MOST = {"autograd_tape": 22.9, "torchcompat": 35.5}
"""In a thousand lines. Taken down with the numbers, never up: what may be anything is an `object`, and `autograd_tape.annotations` has
types for most else."""


def times(tree: ast.AST) -> int:
    """How often annotations say `Any`: those of parameters, results and variables, also where they are strings."""
    found = [part for node in ast.walk(tree) for part in (getattr(node, "annotation", None), getattr(node, "returns", None)) if part]
    return sum([len(re.findall(r"\bAny\b", ast.unparse(part))) for part in found])


@pytest.mark.parametrize("folder", sources.FOLDERS, ids=lambda folder: folder.name)
def test_annotations_say_any_no_more_often_than_they_did(folder: Path) -> None:
    counted = {str(path.relative_to(folder)): times(tree) for _, path, tree in sources.trees([folder], r"\bAny\b")}
    many = sorted(counted.items(), key=lambda item: -item[1])[:5]
    lines = sum([len(path.read_text().splitlines()) for path in folder.rglob("*.py")])
    assert sum(counted.values()) / lines * 1000 <= MOST[folder.name], f"give types to what is new; most are in {many}"


@pytest.mark.parametrize("folder", sources.FOLDERS, ids=lambda folder: folder.name)
def test_no_other_name_stands_for_any(folder: Path) -> None:
    """An alias would only hide it. torch has two: a tree may be anything, and so may what a node of it keeps."""
    aliases = {(path.name, ast.unparse(node)) for _, path, tree in sources.trees([folder], r"= Any\b") for node in ast.walk(tree)
               if isinstance(node, (ast.Assign, ast.AnnAssign)) and isinstance(node.value, ast.Name) and node.value.id == "Any"}
    assert aliases == ({("_pytree.py", "PyTree = Any"), ("_pytree.py", "Context = Any")} if folder.name == "torchcompat" else set())


def test_counted_are_annotations_alone() -> None:
    text = """
        from typing import Any
        table: dict[str, Any] = {}
        def f(a: Any, *b: "Any", c: "list[Any]" = [], **d: object) -> tuple[Any, Any]:
            x: Any = cast(Any, a)
            return Any, "Any"
    """
    assert times(ast.parse(textwrap.dedent(text))) == 7
