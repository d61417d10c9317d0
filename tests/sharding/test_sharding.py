"""Sharded tensors: values and derivatives are those of plain ones, whatever the mesh."""

from __future__ import annotations

import itertools
import random

import numpy as np
import pytest

from autograd_tape.errors import ArgumentError, AutogradError, ShapeMismatchError
from autograd_tape.sharding import Mesh, Sharding, gather, reshard, shard

from . import programs


@pytest.mark.parametrize("seeds", [range(i, i + 10) for i in range(0, 300, 10)])
@pytest.mark.filterwarnings("ignore::autograd_tape.sharding.ReplicationWarning")
def test_programs(seeds: range) -> None:
    for seed in seeds:
        programs.compare(seed)


def test_every_way_from_one_sharding_to_another() -> None:
    r = random.Random(0)
    mesh = Mesh({"a": 2, "b": 3})
    array = np.arange(35.0).reshape(7, 5)
    shardings = {programs.random_sharding(r, mesh, 2) for _ in range(60)}
    assert len(shardings) > 15
    for start, goal in itertools.product(shardings, repeat=2):
        x = reshard(shard(array, mesh, start.dims, start.partial_sum_axes), goal)
        assert x.sharding == goal
        assert [p.shape for p in x._data.parts] == [goal.local_shape(array.shape, d) for d in range(6)]
        assert np.array_equal(gather(x).numpy(), array)


def test_pieces_are_those_of_chunk() -> None:
    mesh = Mesh({"a": 4})
    assert [p.shape[0] for p in shard(np.arange(5.0), mesh, ("a",))._data.parts] == [2, 2, 1, 0]


@pytest.mark.parametrize("make, error, text", [
    (lambda mesh: Mesh({}), ArgumentError, "A mesh has axes"),
    (lambda mesh: Mesh({"a": 0}), ArgumentError, "The axis 'a' of a mesh has devices"),
    (lambda mesh: Sharding(mesh, ("b",)), ArgumentError, "has no axis 'b'"),
    (lambda mesh: Sharding(mesh, ("a", "a")), ArgumentError, "cannot split two dimensions"),
    (lambda mesh: Sharding(mesh, ("a",), ["a"]), ArgumentError, "cannot split two dimensions"),
    (lambda mesh: shard(np.zeros((2, 2)), mesh, ("a",)), ShapeMismatchError, "one entry for each dimension"),
    (lambda mesh: shard("x", mesh, ("a",)), ArgumentError, r"shard\(\) takes a tensor|reshard\(\) takes a tensor"),
    (lambda mesh: shard(np.zeros(2), mesh, ("a",)) + shard(np.zeros(2), Mesh({"z": 2}), ("z",)), AutogradError,
     "all tensors to be on the same"),
])
def test_refused(make: object, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        make(Mesh({"a": 2}))  # type: ignore[operator]
