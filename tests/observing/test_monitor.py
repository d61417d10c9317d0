"""torch.monitor, against torch 2.13's."""

from __future__ import annotations

import datetime

import pytest

import torchcompat as torch
from tests.observing.monitor_cases import TABLE
from torchcompat.monitor import Aggregation, Stat


@pytest.mark.parametrize("case", TABLE.recorded)
def test_as_torch(case: str) -> None:
    TABLE.assert_as_torch(torch, case)


def test_a_span_is_told_when_the_next_begins(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0]
    monkeypatch.setattr("torchcompat.monitor.time.time_ns", lambda: now[0])
    stat = Stat("s", [Aggregation.SUM], datetime.timedelta(seconds=1))
    stat.add(1)
    stat.add(2)
    assert stat.count == 2 and stat.get() == {Aggregation.SUM: 0.0}
    now[0] = 10 ** 9
    assert stat.get() == {Aggregation.SUM: 3.0} and stat.count == 0
    stat.add(5)
    assert stat.get() == {Aggregation.SUM: 3.0} and stat.count == 1
