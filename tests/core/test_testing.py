"""`torch.testing`: what it says of inputs that differ, and the tensors it makes, against what torch 2.13 itself says and makes."""

from __future__ import annotations

import subprocess
import sys

import pytest

import torchcompat as torch
from tests.core.testing_cases import COMPARED, MADE_TABLE
from torchcompat.testing import _comparison as comparison


@pytest.mark.parametrize("case", COMPARED.recorded)
def test_comparisons_as_torch(case: str) -> None:
    COMPARED.assert_as_torch(torch, case)


@pytest.mark.parametrize("case", MADE_TABLE.recorded)
def test_tensors_as_torch(case: str) -> None:
    MADE_TABLE.assert_as_torch(torch, case)


def test_pairs_of_a_suites_own() -> None:
    class Words(comparison.Pair):
        def __init__(self, actual: object, expected: object, **options: object) -> None:
            self._check_inputs_isinstance(actual, expected, cls=str)
            super().__init__(actual, expected, **options)

        def compare(self) -> None:
            if self.actual != self.expected:
                self._fail(AssertionError, "other words")

    found = comparison.not_close_error_metas({"a": "x", "b": [1, "y"]}, {"a": "z", "b": [1, "w"]},
                                             pair_types=(Words, comparison.ObjectPair))
    assert [(meta.msg, meta.id) for meta in found] == [("other words", ("a",)), ("other words", ("b", 1))]
    assert str(found[1].to_error()) == "other words\n\nThe failure occurred for item ['b'][1]"


def test_a_comparison_that_fails_is_told_with_its_inputs() -> None:
    class Broken(comparison.Pair):
        def compare(self) -> None:
            raise KeyError("inside")

    with pytest.raises(RuntimeError, match=r"Comparing\n\nBroken\(\n    id=\(\),\n    actual=1,\n    expected=2,\n\)\n\nresulted in"):
        comparison.not_close_error_metas(1, 2, pair_types=(Broken,))
    with pytest.raises(ValueError, match="failed with:\ninside"):
        raise comparison.not_close_error_metas(_Raises(), 2)[0].to_error()


class _Raises:
    def __eq__(self, other: object) -> bool:
        raise RuntimeError("inside")

    __hash__ = None  # type: ignore[assignment]


def test_loaded_at_first_use() -> None:
    program = "import sys, torchcompat as t; assert 'torchcompat.testing' not in sys.modules; t.testing.assert_close(1, 1)"
    assert subprocess.run([sys.executable, "-c", program]).returncode == 0
