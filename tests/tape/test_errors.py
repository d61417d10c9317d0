"""The error classes: what they derive from, and that every message says what was expected, what was found, and what to do."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import autograd_tape as at
from autograd_tape import errors
from autograd_tape.errors import AutogradError

PACKAGE = Path(at.__file__).parent
CLASSES = [c for c in vars(errors).values() if isinstance(c, type) and issubclass(c, AutogradError)]


def test_the_specifications_classes_exist_under_their_names() -> None:
    for name in ("AutogradError", "NoGradError", "TapeNotRecordingError", "NoGradFnError", "ShapeMismatchError", "GradCheckFailedError"):
        assert issubclass(getattr(at, name), AutogradError) and getattr(at, name).__name__ == name


@pytest.mark.parametrize("cls", CLASSES, ids=lambda c: c.__name__)
def test_a_message_says_it_all_and_the_builtin_is_bare(cls: type[AutogradError]) -> None:
    error = cls("It broke", expected="a", found="b", remedy="do c")
    assert str(error) == "It broke. Expected a, found b. To fix it, do c."
    assert (error.message, error.expected, error.found, error.remedy) == ("It broke", "a", "b", "do c")
    bare = error.as_builtin()
    wordless = cls is errors.ExecutorUnavailableError  # torch has no words for it, so it keeps its own
    assert type(bare) is cls.builtin and str(bare) == (str(error) if wordless else "It broke")
    assert cls.builtin.__module__ == "builtins" and issubclass(cls.builtin, Exception)
    assert cls.__doc__


def test_parts_may_be_left_out() -> None:
    assert str(AutogradError("It broke")) == "It broke"
    assert str(AutogradError("It broke.", remedy="do c")) == "It broke. To fix it, do c."


SPECIFICATION = ["tape", "backward", "grad", "registry", "graph", "transforms", "check", "lazy", "tree"]


@pytest.mark.parametrize("module", SPECIFICATION)
def test_every_raise_of_the_specification_gives_a_remedy(module: str) -> None:
    """Read from the source, so that no error can be added without one."""
    tree = ast.parse((PACKAGE / f"{module}.py").read_text())
    names = {c.__name__ for c in CLASSES}
    raised = 0
    for node in ast.walk(tree):
        if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call) and isinstance(node.exc.func,
                                                                                         ast.Name) and node.exc.func.id in names:
            given = {k.arg for k in node.exc.keywords}
            assert "remedy" in given, f"{module}.py:{node.lineno} raises {node.exc.func.id} without a remedy"
            raised += 1
    assert raised or module in ("tree",)
