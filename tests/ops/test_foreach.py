"""`torch._foreach_*`: what torch gave, and what holds of each beside that."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from tests.ops.foreach_cases import TABLE

import torchcompat as torch
from autograd_tape.executors.kernels._common import FILLED, LARGER, SMALLER, TIMES
from autograd_tape.executors.kernels._on_demand import available
from torchcompat._calls import foreach
from torchcompat._calls.lists import changed, changes_of
from torchcompat.utils._python_dispatch import TorchDispatchMode

NAMES = sorted({case.partition("(")[0] for case in TABLE.recorded})


@pytest.mark.parametrize("name", NAMES)
def test_as_torch(name: str) -> None:
    TABLE.assert_as_torch(torch, *[case for case in TABLE.recorded if case.startswith(f"{name}(")])


def test_every_name_and_no_other() -> None:
    assert sorted(foreach.NAMES) == NAMES == [name for name in dir(torch) if name.startswith("_foreach_")]
    assert not hasattr(torch, "_foreach_zero")


@pytest.mark.parametrize("name", [name for name in NAMES if name.endswith("_")])
def test_nothing_is_written_to_where_one_may_not_be(name: str) -> None:
    first, leaf = torch.full((2,), 0.5), torch.full((2,), 0.5, requires_grad=True)
    signature = foreach.SIGNATURES[name.removeprefix("_foreach_")][-1]
    others = [[torch.ones(2), torch.ones(2)]] * (signature.count("tuple of Tensors") - 1)
    last = [0.25] if "Number" in signature and "alpha" not in signature else []
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad is being used in an in-place operation"):
        getattr(torch, name)([first, leaf], *others, *last)
    assert first.tolist() == [0.5, 0.5]


def test_the_list_itself_comes_back_from_in_place_functions() -> None:
    given = [torch.ones(2), torch.ones(3)]
    assert torch._foreach_add_(given, 1) is given and given[1].tolist() == [2.0, 2.0, 2.0]


def test_imported_when_first_asked() -> None:
    code = "import sys, torchcompat as t; assert 'torchcompat._calls.foreach' not in sys.modules; t._foreach_abs; " \
           "assert 'torchcompat._calls.foreach' in sys.modules"
    assert subprocess.run([sys.executable, "-c", code], timeout=60).returncode == 0


@pytest.mark.skipif(not available(), reason="Numba is not installed: rows are gone through one by one")
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16], ids=str)
def test_machine_code_for_lists_gives_the_bits_of_rows(monkeypatch: pytest.MonkeyPatch, dtype: torch.dtype) -> None:
    special = torch.tensor([float("nan"), float("inf"), -0.0, 0.0, 1e-40, -3.0])
    ways: list[bool] = []

    def at_once(*given: Any) -> Any:
        found = changed(*given)
        ways.append(found is not None)
        return found

    for (name, others), change in {(n, of): c for n in foreach.SIGNATURES for of, c in changes_of(n).items()}.items():
        change.kernel.surely({torch.bfloat16: "E", torch.float16: "e"}.get(dtype, "f"))
        lists = [[special.roll(k).to(dtype), *[torch.randn(shape).to(dtype) for shape in ((2, 5), (1,), (0,), (70,))]]
                 for k in range(others + 1)]
        alone = not others and change.op < FILLED or (name, others) == ("lerp", 1)
        for number in ([0.3], [1]) if alone else ([],):
            for end in ("", "_") if name not in ("zero", "copy") else ("_",):
                results = []
                for way in (at_once, lambda *given: None):
                    monkeypatch.setattr(foreach, "changed", way)
                    own = [[x.clone() for x in tensors] for tensors in lists]
                    found = getattr(torch, f"_foreach_{name}{end}")(*own, *number)
                    found = [x + 0 for x in found] if change.op in (LARGER, SMALLER) else found  # either of equal zeros
                    results.append([(x.shape, x.stride(), x._version, x.isnan().tolist(), x.nan_to_num()._data.tobytes()) for x in found])
                assert results[0] == results[1], (name, others, number, end)
    assert all(ways)


@pytest.mark.skipif(not available(), reason="Numba is not installed: there is no machine code")
def test_machine_code_changes_all_rows_or_none() -> None:
    run = changes_of("mul")[1].kernel.surely("f")
    target = tuple([np.ones(3, "f"), np.ones((2, 3), "f")])
    for wrong in (np.ones(6, "f"), np.ones((3, 2), "f"), np.ones((2, 3)), np.ones((3, 2), "f").T, None):
        with pytest.raises((TypeError, ValueError)):
            run(TIMES, 1, (np.full(3, 2, "f"), wrong), target)
    for given in ((np.full(3, 2, "f"),), [np.full(3, 2, "f"), np.ones((2, 3), "f")]):
        with pytest.raises((SystemError, ValueError)):
            run(TIMES, 1, given, target)
    assert all([(x == 1).all() for x in target])


class _Seen(TorchDispatchMode):
    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.names.append(str(func))
        return func(*args, **(kwargs or {}))


@pytest.mark.parametrize(("name", "asks"), [("_foreach_mul_", False), ("_foreach_div_", False), ("_foreach_add_", True)])
def test_modes_see_as_in_torch_whether_the_value_of_a_tensor_is_asked_for(name: str, asks: bool) -> None:
    """Fake tensors have none to tell; torch takes what is added for a number."""
    tensors = [torch.ones(3) for _ in range(4)]
    with _Seen() as seen:
        getattr(torch, name)(tensors, torch.tensor(2.0))
    assert ("aten._local_scalar_dense.default" in seen.names) is asks
