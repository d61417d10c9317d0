"""What programs of known kinds move between devices is what textbooks say, and not a byte more."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import autograd_tape as at
from autograd_tape import F
from autograd_tape.sharding import Collective, Mesh, Sharding, collectives, constrain, gather, shard

BATCH, WIDTH, HIDDEN, DEVICES = 8, 4, 16, 4
Found = Sequence[Collective]


def numbers(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed + sum(shape)).standard_normal(shape)


def leaf(mesh: Mesh, dims: Sequence[Any], *shape: int, seed: int = 0) -> Any:
    t = shard(numbers(*shape, seed=seed), mesh, dims)
    t.requires_grad = True
    return t


def moved(step: Callable[[], Any], wanted: Sequence[Any]) -> tuple[Found, Found, list[Any]]:
    """What the loss of a program moves, what its gradients move, and these."""
    with collectives() as forward:
        loss = step()
    with collectives() as backward:
        grads = at.backward(loss)
    return forward, backward, [grads[t] for t in wanted]


def kinds(found: Found) -> Counter[str]:
    return Counter([c.kind for c in found])


def ring(kind: str, elements: int, k: int = DEVICES) -> float:
    """The bytes that a device sends in a ring of k, for so many float64 of the larger side."""
    return (2 if kind == "all_reduce" else 1) * (k - 1) / k * elements * 8


def same(found: Sequence[Any], expected: Sequence[Any]) -> None:
    for f, e in zip(found, expected):
        np.testing.assert_allclose(gather(f).numpy(), e, 1e-7, 1e-9)


def plain(step: Callable[..., Any], arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
    leaves = [at.TensorRef.of(a, requires_grad=True) for a in arrays]
    grads = at.backward(step(*leaves))
    return [grads[t].numpy() if isinstance(grads[t], at.TensorRef) else np.asarray(grads[t]) for t in leaves]


def mlp(x: Any, first: Any, second: Any) -> Any:
    return F.matmul(F.gelu(F.matmul(x, first)), second)


def block(x: Any, first: Any, second: Any) -> Any:
    return F.sum(F.square(mlp(x, first, second)))


def whole(t: Any) -> Sharding:
    return Sharding(t.sharding.mesh, [None] * t.ndim)


def test_tensor_parallel() -> None:
    """Split along columns, then along rows: one all_reduce of the block's output, and one of its input's gradient."""
    mesh = Mesh({"model": DEVICES})
    x, first, second = (leaf(mesh, d, *s) for d, s in (((None, None), (BATCH, WIDTH)), ((None, "model"), (WIDTH, HIDDEN)),
                                                       (("model", None), (HIDDEN, WIDTH))))
    forward, backward, grads = moved(lambda: block(x, first, second), [x, first, second])
    assert [c.kind for c in forward] == [c.kind for c in backward] == ["all_reduce"]
    assert [c.bytes for c in (*forward, *backward)] == [ring("all_reduce", BATCH * WIDTH)] * 2
    same(grads, plain(block, [numbers(*t.shape) for t in (x, first, second)]))


def test_data_parallel() -> None:
    """One all_reduce for each parameter, of its size."""
    mesh = Mesh({"data": DEVICES})
    x = shard(numbers(BATCH, WIDTH), mesh, ("data", None))
    target = shard(numbers(BATCH, WIDTH, seed=1), mesh, ("data", None))
    names = [(WIDTH, HIDDEN), (HIDDEN,), (HIDDEN, WIDTH)]
    first, bias, second = (leaf(mesh, (None,) * len(s), *s) for s in names)

    def loss(first: Any, bias: Any, second: Any, x: Any = x, target: Any = target) -> Any:
        return F.mse(F.matmul(F.relu(F.matmul(x, first) + bias), second), target, "mean")

    forward, backward, grads = moved(lambda: loss(first, bias, second), [first, bias, second])
    assert not forward
    assert kinds(backward) == {"all_reduce": 3}
    assert sorted([c.bytes for c in backward]) == sorted([ring("all_reduce", int(np.prod(s))) for s in names])
    same(grads, plain(lambda *p: loss(*p, gather(x), gather(target)), [numbers(*s) for s in names]))


def test_fully_sharded() -> None:
    """Parameters split over the data, gathered before use: one all_gather and one reduce_scatter for each."""
    mesh = Mesh({"data": DEVICES})
    x = shard(numbers(BATCH, WIDTH), mesh, ("data", None))
    first, second = (leaf(mesh, ("data", None), *s) for s in ((WIDTH, HIDDEN), (HIDDEN, WIDTH)))
    forward, backward, grads = moved(lambda: block(x, constrain(first, whole(first)), constrain(second, whole(second))), [first, second])
    assert [c.kind for c in forward] == ["all_gather"] * 2
    assert [c.kind for c in backward] == ["reduce_scatter"] * 2
    assert [c.bytes for c in (*forward, *backward)] == [ring("all_gather", WIDTH * HIDDEN)] * 4
    assert all([g.sharding == first.sharding for g in grads])
    same(grads, plain(lambda a, b: block(gather(x), a, b), [numbers(*t.shape) for t in (first, second)]))


def test_sequence_parallel() -> None:
    """Between blocks the sequence is split, so that the norm is local: an all_gather before the products, a reduce_scatter after them, and
    the same in turn for gradients; those of the norm's weights, which all devices have, are added up."""
    mesh = Mesh({"model": DEVICES})
    x = leaf(mesh, ("model", None), BATCH, WIDTH)
    scale = leaf(mesh, (None,), WIDTH)
    first, second = leaf(mesh, (None, "model"), WIDTH, HIDDEN), leaf(mesh, ("model", None), HIDDEN, WIDTH)

    def step(x: Any, scale: Any, first: Any, second: Any, at_: Sharding | None = None) -> Any:
        h = F.layer_norm(x, (WIDTH,), scale)
        y = mlp(h if at_ is None else constrain(h, whole(h)), first, second)
        return F.sum(F.square(y if at_ is None else constrain(y, at_)))

    forward, backward, grads = moved(lambda: step(x, scale, first, second, x.sharding), [x, scale, first, second])
    assert [c.kind for c in forward] == ["all_gather", "reduce_scatter"]
    assert kinds(backward) == {"all_gather": 1, "reduce_scatter": 1, "all_reduce": 1}
    assert [c.bytes for c in (*forward, *backward) if c.kind != "all_reduce"] == [ring("all_gather", BATCH * WIDTH)] * 4
    assert [c.bytes for c in backward if c.kind == "all_reduce"] == [ring("all_reduce", WIDTH)]
    same(grads, plain(step, [numbers(*t.shape) for t in (x, scale, first, second)]))


@pytest.mark.parametrize("fused", [True, False])
def test_vocabulary_parallel_cross_entropy(fused: bool) -> None:
    """Logits split over the classes stay where they are: what goes around are the maximum and the sum of each row."""
    mesh, classes = Mesh({"model": DEVICES}), 32
    logits = leaf(mesh, (None, "model"), BATCH, classes)
    target = np.arange(BATCH) * 3 % classes

    def loss(x: Any) -> Any:
        y = at.TensorRef.of(target)
        return F.cross_entropy(x, y) if fused else F.nll_loss(F.log_softmax(x, 1), y)

    forward, backward, grads = moved(lambda: loss(logits), [logits])
    assert kinds(forward) == {"all_reduce": 2}
    assert kinds(backward) == {"all_reduce": 2 if fused else 1}
    assert all([c.bytes <= ring("all_reduce", BATCH) for c in (*forward, *backward)])
    assert grads[0].sharding == logits.sharding
    same(grads, plain(loss, [numbers(BATCH, classes)]))


def test_batch_parallel_convolution() -> None:
    """Images stay where they are; batch norm's statistics go around, and gradients of parameters."""
    mesh = Mesh({"data": DEVICES})
    x = shard(numbers(BATCH, 3, 6, 6), mesh, ("data", None, None, None))
    shapes = [(5, 3, 3, 3), (5,), (5,)]
    weight, scale, bias = (leaf(mesh, (None,) * len(s), *s) for s in shapes)

    def step(weight: Any, scale: Any, bias: Any, x: Any = x) -> Any:
        y = F.convolution_nd(x, weight, None, (1, 1), (1, 1), (1, 1), 1)
        y = F.channel_norm(y, scale, bias, None, None, True, 0.1, 1e-5)
        return F.mean(F.square(F.adaptive_avg_pool_nd(F.relu(y), (2, 2))))

    forward, backward, grads = moved(lambda: step(weight, scale, bias), [weight, scale, bias])
    assert kinds(forward) == {"all_reduce": 2}, forward
    assert {c.kind for c in backward} == {"all_reduce"}
    assert sum([c.bytes == ring("all_reduce", 135) for c in backward]) == 1
    assert all([c.bytes == ring("all_reduce", 5) for c in (*forward, *backward) if c.bytes != ring("all_reduce", 135)])
    assert len(backward) <= 3 + 2 * 2  # parameters; statistics once more, and two means for the gradient of the input
    same(grads, plain(lambda *p: step(*p, gather(x)), [numbers(*s) for s in shapes]))
