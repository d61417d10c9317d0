"""The tape library speaks of itself: torch's words are torchcompat's alone."""

from __future__ import annotations

import ast
import builtins
import io
import pydoc
import subprocess
import sys
from collections.abc import Iterator
from contextlib import redirect_stdout
from pathlib import Path

import numpy as np
import pytest
from tests import sources

import autograd_tape as at
import torchcompat as torch
from autograd_tape import F, TensorRef, backward
from autograd_tape.errors import AutogradError, own_words

ROOT = Path(__file__).parents[2] / "autograd_tape"
NOT_FOR_READERS = {
    "__torch_function__": "the name of a method",
    "empty_strided not supported on quantized tensors": "there are quantized tensors in torchcompat alone",
    "stft with return_complex=False is deprecated": "a warning of torch's, for its programs",
    "vmap: Attempted to vmap over `mask`": "there is vmap in torchcompat alone",
}
RAISED_AS_THEY_ARE = {
    "dtypes.py": "devices are torchcompat's in all but name: their class is `torch.device`",
    "saved.py": "saved tensors are looked at by torch's programs",
    "random/generator.py": "generators are torchcompat's",
    "ops/data/create.py": "of vmap", "ops/data/mask.py": "of vmap", "ops/views/parts.py": "of vmap", "ops/views/shape.py": "of vmap",
    "ops/elementwise/complex.py": "on the meta device, where torch raises an AssertionError",
}
"""Built-in exceptions with torch's name in their text. All others are errors of this package, whose text is in its own words."""


def trees() -> Iterator[tuple[str, ast.Module]]:
    for _, path, tree in sources.trees([ROOT], "(?i)torch"):
        if path != ROOT / "errors.py":  # where torch's words are taken out
            yield str(path.relative_to(ROOT)), tree


def texts(tree: ast.AST) -> Iterator[str]:
    """The string constants, but docstrings."""
    documentation = {id(s.value) for n in ast.walk(tree) for s in (n.body if isinstance(getattr(n, "body", None), list) else ())
                     if isinstance(s, ast.Expr) and isinstance(s.value, ast.Constant)}
    for n in ast.walk(tree):
        if isinstance(n, ast.Constant) and isinstance(n.value, str) and id(n) not in documentation:
            yield n.value


def test_no_text_in_the_sources_speaks_of_torch() -> None:
    wrong = [f"{name}: {text[:80]}" for name, tree in trees() for text in texts(tree)
             if "torch" in own_words(text).lower() and not text.startswith(tuple(NOT_FOR_READERS))]
    assert wrong == [], "\n".join(wrong)


def test_what_is_raised_are_errors_of_the_package() -> None:
    found = set()
    for name, tree in trees():
        for n in ast.walk(tree):
            if isinstance(n, ast.Raise) and isinstance(n.exc, ast.Call) and isinstance(n.exc.func, ast.Name) \
                    and hasattr(builtins, n.exc.func.id) and any("torch" in text.lower() for text in texts(n.exc)):
                found.add(name)
    assert found == set(RAISED_AS_THEY_ARE)


@pytest.mark.parametrize("theirs, own", [
    ("got torch.float32", "got float32"), ("size torch.Size([2, 3])", "size [2, 3]"), ("[torch.DoubleTensor [2]]", "[Double tensor [2]]"),
    ("torch.linalg.inv: failed", "inv: failed"), ("nothing here", "nothing here"),
    ("of Pytorch's views", "of views"),
    ("bad. Hint: enable anomaly detection to find it, with torch.autograd.set_detect_anomaly(True).", "bad."),
])
def test_words(theirs: str, own: str) -> None:
    assert own_words(theirs) == own
    error = AutogradError(theirs, expected="torch.float64", found="b", remedy="use torch.cat")
    assert "torch" not in str(error) and error.message == theirs and str(error.as_builtin()) == theirs


def failures() -> dict[str, object]:
    x = TensorRef.of([1.0, 2.0], requires_grad=True)

    def stale() -> None:
        y = x * 2.0
        z = F.sum(y * y)
        y.mul_(3.0)
        backward(z)

    def hook() -> None:
        y = x * 2.0
        y.register_hook(lambda g: TensorRef.of(np.ones(2, np.float32)))
        backward(F.sum(y))

    return {"changed in place": stale, "hook": hook, "cat": lambda: F.cat([]), "meshgrid": lambda: F.meshgrid(x, indexing="no"),
            "affine_grid": lambda: F.affine_grid(TensorRef.of([[1.0]]), (1, 1, 1, 1)),
            "solve": lambda: F.linalg_solve(TensorRef.of([[0.0]]), TensorRef.of([[0.0]])), "clamp": lambda: F.clamp(x)}


@pytest.mark.parametrize("name", failures())
def test_errors(name: str) -> None:
    with pytest.raises(AutogradError) as caught:
        failures()[name]()
    assert "torch" not in str(caught.value).lower(), str(caught.value)


def test_results() -> None:
    assert repr(F.max(TensorRef.of([[1.0]]), 0)).startswith("max(values=TensorRef(")
    assert repr(torch.ones(1, 1).max(0)).startswith("torch.return_types.max(\nvalues=tensor(")


def test_dtypes() -> None:
    program = ("import autograd_tape as at; x = at.TensorRef.of([1.0]); print(repr(x.dtype), eval(repr(x.dtype), {'autograd_tape': at}) is "
               "x.dtype, str(at.bool), 'torch' in repr(x) + repr(at.F.max(x, 0)))")
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=True)
    assert done.stdout.split() == ["autograd_tape.float64", "True", "autograd_tape.bool", "False"]
    assert repr(torch.float64) == "torch.float64"


@pytest.mark.parametrize("name", ["grad", "backward"])
def test_help_explains_the_function(name: str) -> None:
    shown = io.StringIO()
    with redirect_stdout(shown):
        pydoc.Helper(output=shown).help(getattr(at, name))
    text = shown.getvalue()
    module = sys.modules[f"autograd_tape.{name}"]
    first = (module.__call__.__doc__ or "").split("\n")[0]
    assert first in text and f"{name}(output" in text
    assert "class GradManager" not in text and "class BackwardContext" not in text and text.count(first) == 1
