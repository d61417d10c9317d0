"""`torch._foreach_*`: what torch gave, and what holds of each beside that."""

from __future__ import annotations

import subprocess
import sys

import pytest
from tests.ops.foreach_cases import TABLE

import torchcompat as torch
from torchcompat._calls import foreach

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
