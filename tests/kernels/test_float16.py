"""float16 has the ways that bfloat16 has: no kernel, door or in-place path knows one half precision alone."""

from __future__ import annotations

import ast
import importlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import torchcompat as torch
from autograd_tape.executors.kernels import _on_demand
from autograd_tape.executors.kernels.changes import Change
from autograd_tape.functions.compile import inplace_source
from autograd_tape.ops import RECORDS
from tests import sources

KERNELS = {
    "pooling.max_windows": "float16 is widened, which costs less than its comparisons",
    **dict.fromkeys(["recurrent.rnn_rounded", "recurrent.lstm_rounded", "recurrent.gru_rounded"], "torch fuses bfloat16 alone"),
}
"""The kernels of bfloat16 alone, and why."""
DOORS = {
    "executors/kernels/moved.py": "float16 is moved as what is as wide",
    "executors/kernels/sharing.py": "float16 is NumPy's own, which fills memory with it",
    "executors/kernels/compiled/pooling.py": KERNELS["pooling.max_windows"],
    "ops/networks/pooling.py": "powers other than squares are computed otherwise in torch",
}
"""The files that ask for bfloat16 alone, and why."""
numba = pytest.mark.skipif(not _on_demand.available(), reason="Numba is not installed: there are no compiled kernels")


@numba
def test_kernels_take_both() -> None:
    from autograd_tape.executors.kernels._kernel import Kernel

    for path in sorted((Path(_on_demand.__file__).parent / "compiled").glob("[a-z]*.py")):
        importlib.import_module(f"autograd_tape.executors.kernels.compiled.{path.stem}")
    assert {name for name, kernel in Kernel.registry.items() if "E" in kernel.dtypes and "e" not in kernel.dtypes} == set(KERNELS)


def words(tree: ast.AST) -> Iterator[str]:
    """What says several dtypes by their letters: a text, or the keys of a dict."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value
        elif isinstance(node, ast.Dict):
            keys = [k.value for k in node.keys if isinstance(k, ast.Constant) and isinstance(k.value, str)]
            if all(len(k) == 1 for k in keys):
                yield "".join(keys)


def test_doors_ask_for_both() -> None:
    found = set()
    for folder, path, tree in sources.trees([sources.FOLDERS[0]]):
        if any(re.fullmatch("[fdlHB?]+E[fdlHB?]*|E[fdlHB?]+", word) for word in words(tree)):
            found.add(path.relative_to(folder).as_posix())
    assert found == set(DOORS)


CHANGED = [name for name, rec in RECORDS.items() if isinstance((rec.field("changes") or {}).get(1), Change) and len(rec.tensor_params) == 2
           and all([hasattr(torch.Tensor, n) for n in (name, f"{name}_")])]


@pytest.mark.parametrize("name", CHANGED)
def test_many_are_changed_by_their_pass(name: str) -> None:
    """In place, half precision comes to its own pass before the function of NumPy, and has the bits of the new tensor."""
    if name in ("add", "sub", "mul"):
        source = inplace_source(RECORDS[name])
        assert 0 < source.index("_k in Q_HALF") < source.index("broadcast(kernel")
    for half in (torch.float16, torch.bfloat16):
        for size in (10, 200, 3000):
            a, b = torch.linspace(-3, 3, size).to(half), torch.linspace(2, 5, size).to(half)
            more = (0.25,) * (name == "lerp")
            assert torch.equal(getattr(a.clone(), f"{name}_")(b, *more), getattr(torch.Tensor, name)(a, b, *more))


@pytest.mark.parametrize("size", [10, 100, 5000])
@pytest.mark.parametrize("half", [torch.float16, torch.bfloat16], ids=str)
def test_conversions_by_way_of_float32(half: Any, size: int) -> None:
    """Between half precision and all others, and operands of two dtypes: by NumPy's conversions one after another."""
    others = (torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.float16, torch.bfloat16, torch.float64)
    for other in others:
        numbers = torch.arange(size).remainder(100).to(other)
        single = torch.from_numpy(numbers.float().numpy())
        assert torch.equal(numbers.to(half), single.to(half)) and numbers.to(half).dtype is half
        assert torch.equal(numbers.to(half).to(other), single.to(half).float().to(other))
        assert torch.equal(numbers.to(half) + torch.ones(size), single.to(half).float() + 1)


def test_alpha_is_no_truth_value() -> None:
    for dtype in (torch.float32, torch.float16, torch.bfloat16):
        with pytest.raises(RuntimeError, match="Boolean alpha"):
            torch.ones(3, dtype=dtype).add_(torch.ones(3, dtype=dtype), alpha=True)


@numba
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("half", [torch.float16, torch.bfloat16], ids=str)
def test_infinities_by_bits(half: Any) -> None:
    numbers = torch.from_numpy(np.arange(1 << 16, dtype=np.uint16).view(np.int16)).view(half)
    for x in (numbers, numbers.reshape(256, 256).t(), numbers[::7]):
        single = x.float()
        for name in ("isposinf", "isneginf", "signbit", "isnan", "isinf", "isfinite", "logical_not"):
            assert torch.equal(getattr(torch, name)(x), getattr(torch, name)(single)), name
    assert torch.isneginf(numbers).sum() == 1
