"""Multiplications and additions, against torch 2.13's, and their table."""

from __future__ import annotations

import pytest

import torchcompat as torch
from tests.observing.flops_cases import TABLE
from torchcompat.utils.flop_counter import FlopCounterMode


@pytest.mark.parametrize("case", TABLE.recorded)
def test_as_torch(case: str) -> None:
    TABLE.assert_as_torch(torch, case)


def test_the_table_has_a_row_for_each_module_and_operation(capsys: pytest.CaptureFixture[str]) -> None:
    net = torch.nn.Sequential(torch.nn.Linear(100, 50), torch.nn.ReLU(), torch.nn.Linear(50, 10))
    with FlopCounterMode(depth=None) as mode:
        net(torch.ones(10, 100))
    assert capsys.readouterr().out == mode.get_table() + "\n" == """\
Module              FLOP    % Total
--------------  --------  ---------
Sequential      110.000K    100.00%
 - aten.addmm   110.000K    100.00%
 Sequential.0   100.000K     90.91%
  - aten.addmm  100.000K     90.91%
 Sequential.2    10.000K      9.09%
  - aten.addmm   10.000K      9.09%
"""
    with mode:
        torch.ones(2, 3) @ torch.ones(3, 2)
        net[0](torch.ones(1, 100))
    assert mode.get_table(depth=1).splitlines()[2:] == [
        "Global         10.024K    100.00%", " - aten.mm      0.024K      0.24%", " - aten.addmm  10.000K     99.76%"]
