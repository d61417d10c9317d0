"""Random programs on tensors that lie over random meshes, beside the same on plain ones."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import autograd_tape as at
from autograd_tape import F
from autograd_tape.sharding import Mesh, Sharding, gather, shard

STEPS: dict[str, tuple[int, Callable[..., Any]]] = {
    "add": (2, lambda a, b: a + b), "mul": (2, lambda a, b: a * b), "sub": (2, lambda a, b: a - b), "neg": (1, lambda a: -a),
    "tanh": (1, F.tanh), "sum rows": (1, lambda a: F.sum(a, 0, True)), "sum columns": (1, lambda a: F.sum(a, 1)),
    "mean": (1, lambda a: F.mean(a, 1, True)), "matmul": (2, lambda a, b: F.matmul(a, F.transpose(b, 0, 1))),
    "softmax": (1, lambda a: F.softmax(a, 1)), "reshape": (1, lambda a: F.reshape(a, (-1,))),
    "transpose": (1, lambda a: F.transpose(a, 0, 1)),
    "amax": (1, lambda a: F.amax(a, 1)), "slice": (1, lambda a: a[1:]), "select": (1, lambda a: a[0]),
    "expand": (1, lambda a: F.expand(F.sum(a, 0, True), tuple(a.shape))), "where": (2, lambda a, b: F.where(a > 0, a, b)),
    "cat": (2, lambda a, b: F.cat([a, b], 0)), "mse": (2, lambda a, b: F.mse(a, b, "mean")), "cumsum": (1, lambda a: F.cumsum(a, 1)),
    "linear": (2, lambda a, b: F.linear(a, b, F.sum(b, 1))),
}


def random_mesh(r: random.Random, axes: int = 3, most: int = 64) -> Mesh:
    """A mesh of up to this many axes and devices."""
    while True:
        mesh = Mesh({"abcd"[i]: r.choice([1, 2, 2, 3, 4]) for i in range(r.randint(1, axes))})
        if mesh.size <= most:
            return mesh


def random_sharding(r: random.Random, mesh: Mesh, ndim: int) -> Sharding:
    """Any sharding of a tensor with so many dimensions."""
    dims: list[list[str]] = [[] for _ in range(ndim)]
    partial = []
    for axis in r.sample(mesh.names, len(mesh.names)):
        choice = r.random()
        if choice < 0.55 and ndim:
            dims[r.randrange(ndim)].append(axis)
        elif choice < 0.7:
            partial.append(axis)
    return Sharding(mesh, [tuple(d) for d in dims], partial)


def run(seed: int, given: Sequence[Any]) -> Any:
    """A program's result, one number."""
    r, values, shape = random.Random(seed), list(given), given[0].shape
    for _ in range(r.randint(1, 5)):
        count, step = STEPS[r.choice(list(STEPS))]
        fit = [v for v in values if v.shape == shape]
        values.append(step(*[r.choice(fit) for _ in range(count)]))
    total = F.sum(F.sin(values[2]))
    for v in values[3:]:
        total = total + F.sum(F.sin(v))
    return total


def derivatives(seed: int, given: Sequence[Any]) -> list[Any]:
    """The result of a program, its gradients, and the gradients of their squares."""
    result = run(seed, given)
    grads = at.backward(result, options=at.BackwardOptions(create_graph=True))
    first = [grads[t] if t in grads else None for t in given]
    squares = [F.sum(g * g) for g in first if g is not None]
    total = squares[0] if len(squares) == 1 else squares[0] + squares[1]
    second = at.backward(total) if total.requires_grad else {}
    return [result, *first, *[second[t] if t in second else None for t in given]]


def compare(seed: int) -> None:
    """Raises where a program gives something else over a mesh than on plain tensors."""
    r, numbers = random.Random(seed), np.random.default_rng(seed)
    mesh, shape = random_mesh(r), (r.choice([1, 2, 4, 5, 6, 8]), r.choice([2, 3, 4, 6, 8]))
    arrays = [numbers.standard_normal(shape) for _ in range(2)]
    leaves = []
    for array in arrays:
        at_ = random_sharding(r, mesh, 2)
        leaves.append(shard(array, mesh, at_.dims, at_.partial_sum_axes))
        leaves[-1].requires_grad = True
    expected = derivatives(seed, [at.TensorRef.of(a, requires_grad=True) for a in arrays])
    found = derivatives(seed, leaves)
    for e, f in zip(expected, found):
        assert (e is None) == (f is None)
        if e is not None:
            np.testing.assert_allclose(gather(f).numpy(), gather(e).numpy(), 1e-7, 1e-8)
    for leaf, gradient in zip(leaves, found[1:3]):
        if gradient is not None:
            assert gradient.sharding.dims == leaf.sharding.dims, (seed, gradient.sharding, leaf.sharding)
