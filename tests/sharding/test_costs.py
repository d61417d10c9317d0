"""What collectives cost: the table is whole, and what lies between its rows lies between their times."""

from __future__ import annotations

import itertools

import pytest

from autograd_tape.errors import ArgumentError
from autograd_tape.sharding.costs import MEASURED, SIZES, constants, seconds

KINDS = sorted({kind for kind, _ in MEASURED})


def test_every_collective_has_constants_for_every_group() -> None:
    assert KINDS == ["all_gather", "all_reduce", "all_to_all", "broadcast", "exchange", "reduce_scatter"]
    assert set(MEASURED) == set(itertools.product(KINDS, SIZES))
    assert all([c > 0 for row in MEASURED.values() for c in row])


@pytest.mark.parametrize("kind", KINDS)
def test_more_costs_more(kind: str) -> None:
    for size in (1, 2, 3, 4, 7, 8, 64, 4096):
        times = [seconds(kind, size, b) for b in (0, 1e3, 1e6, 8e6, 9e6, 1e9)]
        assert times == [0.0] * 6 if size == 1 else times == sorted(set(times))
    assert seconds(kind, 15, 0) == 2 * seconds(kind, 8, 0)
    assert [constants(kind, g) for g in SIZES] == [pytest.approx(MEASURED[kind, g]) for g in SIZES]
    low, between, high = [seconds(kind, g, 0) for g in (2, 3, 4)]
    assert low < between < high


def test_unknown_collectives_are_refused() -> None:
    with pytest.raises(ArgumentError, match="There is no such collective"):
        seconds("all_together", 2, 8)
