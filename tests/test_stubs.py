"""The checked-in stubs say what the records say."""

from __future__ import annotations

import ast

from autograd_tape.functions import stubs


def test_stubs_are_current() -> None:
    assert stubs.path().read_text() == stubs.render(), "run: python -m torchcompat stubs"


def test_stubs_are_python() -> None:
    tree = ast.parse(stubs.render())
    methods = next(node for node in tree.body if isinstance(node, ast.ClassDef))
    names = {node.name for node in methods.body if isinstance(node, ast.FunctionDef)}
    assert {"add", "add_", "sum", "view"} <= names
