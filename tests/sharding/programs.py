"""Random programs on tensors that lie over random meshes, beside the same on plain ones: `python -m tests.sharding.programs COUNT`."""

from __future__ import annotations

import random
import sys
import warnings
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
    "softmax": (1, lambda a: F.softmax(a, 1)), "log_softmax": (1, lambda a: F.log_softmax(a, 0)),
    "reshape": (1, lambda a: F.reshape(a, (-1,))), "transpose": (1, lambda a: F.transpose(a, 0, 1)),
    "amax": (1, lambda a: F.amax(a, 1)), "slice": (1, lambda a: a[1:]), "select": (1, lambda a: a[0]),
    "expand": (1, lambda a: F.expand(F.sum(a, 0, True), tuple(a.shape))), "where": (2, lambda a, b: F.where(a > 0, a, b)),
    "cat": (2, lambda a, b: F.cat([a, b], 0)), "mse": (2, lambda a, b: F.mse(a, b, "mean")), "cumsum": (1, lambda a: F.cumsum(a, 1)),
    "linear": (2, lambda a, b: F.linear(a, b, F.sum(b, 1))), "logsumexp": (1, lambda a: F.logsumexp(a, 0, True)),
    "var": (1, lambda a: F.var(a, 1)), "norm": (1, F.linalg_vector_norm), "layer_norm": (1, lambda a: F.layer_norm(a, (a.shape[1],))),
    "group_norm": (1, lambda a: F.nn_functional_group_norm(a, 1)),
    "batch_norm": (1, lambda a: F.nn_functional_batch_norm(F.cat([a, a * 2.0], 0), None, None, None, None, True)),
    "index_select": (1, lambda a: F.index_select(a, 0, rows(a))), "gather": (1, lambda a: F.gather(a, 1, columns(a))),
    "embedding": (1, lambda a: F.nn_functional_embedding(rows(a), a)), "indices": (1, lambda a: a[rows(a)]),
    "mask": (2, lambda a, b: F.masked_fill(a, b > 0, 2.0)), "index_add": (2, lambda a, b: F.index_add(a, 0, rows(a), b)),
    "scatter": (2, lambda a, b: F.scatter_add(a, 1, columns(a), b)), "sort": (1, lambda a: F.sort(a, 1)[0]),
    "max": (1, lambda a: F.max(a, 0)[0]), "topk": (1, lambda a: F.topk(a, 2, 1)[0]), "prod": (1, lambda a: F.prod(a, 1)),
    "outer": (2, lambda a, b: F.outer(a[0], b[:, 0])), "bmm": (2, lambda a, b: F.bmm(a[:, None], b[:, :, None])),
    "einsum": (2, lambda a, b: F.einsum("ij,ik->jk", a, b)), "pad": (1, lambda a: F.pad(a, (1, 2))),
    "flip": (1, lambda a: F.flip(a, (0,))), "roll": (1, lambda a: F.roll(a, 1, 1)), "tril": (1, F.tril),
    "repeat": (1, lambda a: F.repeat(a, (2, 1))), "stack": (2, lambda a, b: F.stack([a, b], 1)),
    "chunk": (1, lambda a: F.chunk(a, 2, 1)[0]), "strides": (1, lambda a: a[:, ::2]), "gelu": (1, F.gelu),
    "cross_entropy": (1, lambda a: F.cross_entropy(a, columns(a)[:, 0])), "clamp": (1, lambda a: F.clamp(a, -1, 1)),
    "convolution": (2, lambda a, b: F.conv1d(a[:, None], b[:2, None, :2])), "pool": (1, lambda a: F.avg_pool1d(a[:, None], 2)),
    "attention": (2, lambda a, b: F.scaled_dot_product_attention(a[None], b[None], a[None])),
    "inverse": (1, lambda a: F.inverse(F.matmul(a, F.transpose(a, 0, 1)) + np.eye(a.shape[0]) * 9.0)),
    "written": (2, lambda a, b: written(a, b)),
}


def rows(a: Any) -> Any:
    """Numbers of rows of a tensor, one for each, in some order and not all different."""
    n = a.shape[0]
    return at.TensorRef.of([(3 * i + 1) % n if i % 3 else n - 1 for i in range(n)])


def columns(a: Any) -> Any:
    """Numbers of columns of a tensor, one for each element."""
    n, m = a.shape
    return at.TensorRef.of([[(2 * i + j * j) % m for j in range(m)] for i in range(n)])


def written(a: Any, b: Any) -> Any:
    """A copy whose first row was written to."""
    copy = F.clone(a)
    copy[0] = b[-1] * 2.0
    return copy.mul_(1.5)


def random_mesh(r: random.Random, axes: int = 4, most: int = 64) -> Mesh:
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


def main(count: int) -> None:
    """Runs so many programs, and says which differ."""
    differ = 0
    for seed in range(count):
        try:
            compare(seed)
        except Exception as error:  # whatever it is, the program on plain tensors did not raise it
            differ += 1
            print(seed, type(error).__name__, " ".join(str(error).split())[:200], flush=True)
    print(f"{count} programs, {differ} differ")


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main(int(sys.argv[1]))
