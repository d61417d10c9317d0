"""The estimates by which convolutions choose their way, against what `python -m benchmarks.ways` measured of both."""

from __future__ import annotations

import json
from collections.abc import Iterator
from math import exp, log

import pytest

from autograd_tape.executors.kernels import _on_demand, ways
from benchmarks.ways import GEOMETRIES, RECORDED, calls

MEASURED: dict[str, dict[str, list[float]]] = json.loads(RECORDED.read_text())["seconds by columns and by tiles"]


@pytest.fixture
def chosen(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[bool]]:
    """What is chosen, call by call."""
    found: list[bool] = []
    choose = ways.tiles_win
    monkeypatch.setattr(ways, "tiles_win", lambda face, geometry: found.append(choose(face, geometry)) or found[-1])
    yield found


def test_each_geometry_was_measured() -> None:
    assert {name: {*faces} for name, faces in MEASURED.items()} == {name: {"forward", "input", "weight"} for name in GEOMETRIES}
    assert all(min(both) > 0 for faces in MEASURED.values() for both in faces.values())


@pytest.mark.skipif(not _on_demand.available(), reason="Numba is not installed: there are no tiles")
def test_the_way_that_is_chosen_is_not_much_slower_than_the_other(chosen: list[bool]) -> None:
    losses = {}
    for name in GEOMETRIES:
        for face, call in calls(name).items():
            chosen.clear()
            call()
            both = MEASURED[name][face]
            assert len(chosen) == 1, (name, face)
            losses[name, face] = both[chosen[0]] / min(both)
    assert exp(sum(map(log, losses.values())) / len(losses)) < 1.2, losses
    assert max(losses.values()) < 3, losses
    columns = [both[0] / min(both) for faces in MEASURED.values() for both in faces.values()]
    tiles = [both[1] / min(both) for faces in MEASURED.values() for both in faces.values()]
    assert min(max(columns), max(tiles)) > max(losses.values()), "one way alone would do as well"
