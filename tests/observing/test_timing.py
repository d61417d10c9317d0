"""torch.utils.benchmark, against torch 2.13's, with a clock that is known."""

from __future__ import annotations

import pytest

import torchcompat as torch
from tests.observing.timing_cases import TABLE
from torchcompat.utils.benchmark import Timer


@pytest.mark.parametrize("case", TABLE.recorded)
def test_as_torch(case: str) -> None:
    TABLE.assert_as_torch(torch, case)


def test_what_needs_a_compiler_or_valgrind_says_so() -> None:
    with pytest.raises(OSError, match="Valgrind is not supported"):
        Timer("torch.ones(1)").collect_callgrind()
    with pytest.raises(RuntimeError, match="Ninja is required"):
        Timer("int x = 1;", language="c++").timeit(1)


def test_statements_are_timed() -> None:
    found = Timer("x @ x", setup="x = torch.ones(8, 8)").blocked_autorange(min_run_time=0.001)
    assert 1e-8 < found.median < 1 and sum(found.raw_times) >= 0.001 and "x @ x" in repr(found)
