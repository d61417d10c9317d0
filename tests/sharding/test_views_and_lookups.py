"""Views of sharded tensors see and make changes, and positions along split dimensions are looked up where they lie."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import autograd_tape as at
from autograd_tape import F
from autograd_tape.sharding import Mesh, collectives, gather, shard

MESH = Mesh({"rows": 2, "columns": 2})
PLACES = [("rows", "columns"), ("columns", None), (("rows", "columns"), None), (None, "rows"), (None, None)]
VIEWS: dict[str, Callable[[Any], Any]] = {
    "row": lambda x: x[0], "rows": lambda x: x[1:3], "column": lambda x: x[:, -1], "row of rows": lambda x: x[1:][0],
    "transposed": lambda x: F.transpose(x, 0, 1), "diagonal": lambda x: F.diagonal(x), "flat": lambda x: F.view(x, (-1,)),
    "strided": lambda x: F.as_strided(x, (2, 2), (4, 1), 1), "windows": lambda x: F.select(F.unfold(x, 0, 2, 1), 2, 1),
    "of pieces": lambda x: F.split_equal(x, 2)[1]}


@pytest.mark.filterwarnings("ignore::autograd_tape.sharding.ReplicationWarning")
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("name", VIEWS)
def test_views_see_changes_and_make_them(name: str, place: Any) -> None:
    seen = []
    for x in (at.TensorRef.of(np.arange(16.0).reshape(4, 4)), shard(np.arange(16.0).reshape(4, 4), MESH, place)):
        with at.no_grad():
            view, other = VIEWS[name](x), x[0]
            F.add_(x, 1)
            first = gather(view).numpy().copy()
            F.mul_(view, 10)
            x[1:3] = -1
            F.add_(other, 0.5)
        seen.append([first, *[gather(t).numpy() for t in (view, other, x)]])
    for expected, found in zip(*seen):
        np.testing.assert_array_equal(found, expected)


@pytest.mark.filterwarnings("ignore::autograd_tape.sharding.ReplicationWarning")
@pytest.mark.parametrize("place", PLACES)
def test_gradients_through_changed_views(place: Any) -> None:
    gradients = []
    for on_mesh in (False, True):
        x = shard(np.arange(16.0).reshape(4, 4), MESH, place) if on_mesh else at.TensorRef.of(np.arange(16.0).reshape(4, 4))
        x.requires_grad = True
        y = x * 1
        y[1] = 2.5
        row = y[0]
        y[:, 1:3] *= 3
        row.add_(1)
        gradients.append(gather(at.backward(F.sum(y * y))[x]))
    np.testing.assert_array_equal(gradients[1].numpy(), gradients[0].numpy())


def test_a_large_table_stays_where_it_is() -> None:
    table = shard(np.random.default_rng(0).standard_normal((4000, 8)), MESH, ("rows", None))
    table.requires_grad = True
    indices = at.TensorRef.of(np.array([0, 3999, 7, 2000]))
    with collectives() as found:
        picked = F.embedding(table, indices)
        assert not found and picked.sharding.partial_sum_axes == {"rows"}
        gradient = at.backward(F.sum(picked * picked))[table]
    assert [(c.kind, c.shape) for c in found] == [("all_reduce", (4, 8))]
    assert gradient.sharding.dims == table.sharding.dims
    np.testing.assert_allclose(gather(picked).numpy(), gather(table).numpy()[[0, 3999, 7, 2000]])


def test_a_small_table_is_gathered_where_much_is_looked_up() -> None:
    table = shard(np.arange(8.0).reshape(4, 2), MESH, ("rows", None))
    picked = F.index_select(table, 0, at.TensorRef.of(np.zeros(40000, np.int64)))
    assert picked.sharding.replicated


@pytest.mark.parametrize("call, text", [
    (lambda x: F.index_select(x, 0, at.TensorRef.of(np.array([0, 9]))), "index out of range in self"),
    (lambda x: F.gather(x, 0, at.TensorRef.of(np.array([[9]]))), "index 9 is out of bounds for dimension 0 with size 4"),
    (lambda x: x[[0, 9]], "index 9 is out of bounds for dimension 0 with size 4"),
    (lambda x: F.take(x, at.TensorRef.of(np.array([99]))), "tried to access index 99 on a tensor of 16 elements"),
    (lambda x: F.scatter_add(x, 0, at.TensorRef.of(np.array([[9]])), x), "index 9 is out of bounds for dimension 0 with size 4"),
])
def test_positions_out_of_range(call: Callable[[Any], Any], text: str) -> None:
    with pytest.raises((at.errors.AutogradError, IndexError), match=text):
        call(shard(np.arange(16.0).reshape(4, 4), MESH, ("rows", None)))
