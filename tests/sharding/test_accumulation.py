"""Cotangents of sharded tensors: where they lie when they are added."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import autograd_tape as at
import torchcompat as torch
from autograd_tape import F
from autograd_tape.backward import accumulate_cotangent
from autograd_tape.sharding import Mesh, Sharding, collectives, gather, reshard, shard
from autograd_tape.sharding.gradients import accumulated

MESH = Mesh({"data": 2, "model": 2})
ARRAY = np.arange(24.0).reshape(4, 6)


def lying(*dims: Any, partial: Any = (), array: np.ndarray = ARRAY) -> Any:
    return shard(array, MESH, dims, partial)


@pytest.mark.parametrize("target, found, kinds", [
    (Sharding(MESH, (None, None)), Sharding(MESH, (None, None)), ["all_reduce"]),
    (Sharding(MESH, ("data", None)), Sharding(MESH, ("data", None)), ["reduce_scatter"]),
    (Sharding(MESH, (None, None), ["data"]), Sharding(MESH, (None, None), ["data"]), []),
    (Sharding(MESH, (None, None), ["model"]), Sharding(MESH, (None, None), ["data"]), []),
])
def test_partial_sums(target: Sharding, found: Sharding, kinds: list[str]) -> None:
    cotangent = lying(None, None, partial=["data"])
    with collectives() as moved:
        made = accumulated(cotangent, target)
    assert made.sharding == found and [c.kind for c in moved] == kinds
    assert np.array_equal(gather(made).numpy(), ARRAY)


@pytest.mark.parametrize("start, goal", [(("data", None), (None, "data")), ((None, "model"), ("data", None)),
                                         (("data", "model"), (None, None))])
def test_resharded_as_the_target(start: Any, goal: Any) -> None:
    made = accumulated(lying(*start), Sharding(MESH, goal))
    assert made.sharding == Sharding(MESH, goal) and np.array_equal(gather(made).numpy(), ARRAY)


def test_a_whole_cotangent_of_a_sum_that_waits_stays_whole() -> None:
    with collectives() as moved:
        made = accumulated(lying(None, None), Sharding(MESH, (None, None), ["data"]))
    assert made.sharding.replicated and not moved


def test_added() -> None:
    target, table = lying("data", None), {}
    for cotangent in (lying(None, "data"), lying(None, None, partial=["data"]), at.TensorRef.of(ARRAY)):
        accumulate_cotangent(table, target, cotangent)
    made = table[target.id]
    assert made.sharding == target.sharding and np.array_equal(gather(made).numpy(), 3 * ARRAY)
    plain = at.TensorRef.of(ARRAY)
    accumulate_cotangent(table, plain, lying("data", "model"))
    assert table[plain.id].sharding is None and np.array_equal(table[plain.id].numpy(), ARRAY)


def test_the_seed_lies_as_the_output() -> None:
    seen: list[Any] = []
    x = lying("data", None)
    x.requires_grad = True
    y = x * 2.0
    z = y * 3.0
    y.register_hook(lambda g: seen.append(g.sharding))
    at.backward(z, grad_outputs=[ARRAY])
    assert seen == [y.sharding] and np.array_equal(gather(x.grad).numpy(), 6 * ARRAY)


def test_gradients_lie_as_leaves_do_whatever_made_them() -> None:
    """A leaf used by operations that each want it elsewhere, and the same with plain tensors between sharded ones."""
    x = lying("data", "model")
    x.requires_grad = True
    plain = at.TensorRef.of(ARRAY, requires_grad=True)
    for t in (x, plain):
        for _ in range(2):  # the second adds to `.grad`
            y = F.cumsum(t, 0) + F.cumsum(t, 1) * ARRAY
            at.backward(F.sum(gather(F.matmul(y, F.transpose(t, 0, 1))) * 2.0))
    assert x.grad.sharding == x.sharding
    np.testing.assert_allclose(gather(x.grad).numpy(), plain.grad.numpy())


def test_plain_leaves_get_plain_gradients() -> None:
    w, x = torch.ones(6, 3, requires_grad=True), shard(torch.tensor(ARRAY, dtype=torch.float32), MESH, ("data", None))
    (x @ w).sum().backward()
    assert w.grad.sharding is None and isinstance(w.grad, torch.Tensor) and w.grad[:, 0].tolist() == ARRAY.sum(0).tolist()


def test_gradients_of_a_trace() -> None:
    x, w = lying("data", None), shard(np.ones((6, 2)), MESH, (None, "model"))
    t = at.trace(lambda x, w: F.sum(F.tanh(x @ w)), x, w)
    assert [i.sharding for i in t.inputs] == [x.sharding, w.sharding]
    for _ in range(3):  # the second is a straight function
        grads = at.backward_on_trace(t)
        assert [grads[i].sharding for i in t.inputs] == [x.sharding, w.sharding]
    expected = at.backward_on_trace(at.trace(lambda x, w: F.sum(F.tanh(x @ w)), ARRAY, np.ones((6, 2))))
    for g, e in zip([grads[i] for i in t.inputs], expected.values()):
        np.testing.assert_allclose(gather(g).numpy(), e)


def test_refreshed_values_lie_as_they_did() -> None:
    x, w = lying("data", None), shard(np.ones((6, 2)), MESH, (None, "model"))
    t = at.trace(lambda x, w: F.tanh(x @ w), x, w)
    before = [n.output.sharding for n in t.nodes]
    t.refresh_graph_values(lying("data", None, array=ARRAY / 10), w)
    assert [n.output.sharding for n in t.nodes] == before == [Sharding(MESH, ("data", "model"))] * 2
    np.testing.assert_allclose(gather(t.outputs[0]).numpy(), np.tanh(ARRAY / 10 @ np.ones((6, 2))))
    t.refresh_graph_values(x, w)
    np.testing.assert_allclose(gather(t.outputs[0]).numpy(), np.tanh(ARRAY @ np.ones((6, 2))))


def test_transforms_keep_where_things_lie() -> None:
    x = lying("data", None)
    square = lambda x: F.sum(x * x)  # noqa: E731
    value, gradient = at.value_and_grad(square)(x)
    assert gradient.sharding == x.sharding and gather(value).item() == (ARRAY**2).sum()
    output, tangent = at.jvp(square, (x,), (x,))
    assert gather(tangent).item() == 2 * gather(output).item()
    line = shard(np.arange(4.0), MESH, ("data",))
    assert np.array_equal(gather(at.hessian(lambda x: F.sum(x * x * x))(line)).numpy(), np.diag(6 * np.arange(4.0)))


def test_reading_gathers() -> None:
    x = lying("data", "model")
    assert np.array_equal(x.numpy(), ARRAY) and x.tolist() == ARRAY.tolist() and np.array_equal(np.asarray(x), ARRAY)
    assert F.sum(x).item() == ARRAY.sum()
    t = reshard(torch.tensor(ARRAY), Sharding(MESH, ("data", "model")))
    assert np.array_equal(t.numpy(), ARRAY) and t.tolist() == ARRAY.tolist() and t.sum().item() == ARRAY.sum()
    assert bool(t.sum() > 0) and float(t.sum()) == ARRAY.sum() and t.cpu().sharding is None
    with pytest.raises(TypeError, match="gather"):
        np.asarray(x._data)
