"""From one sharding to another: the cheapest chain of collectives.

A step changes one thing. A dimension's axes are a stack, the last the innermost, so steps take axes from its end and put them there:

| step | from | to | moves, for a group of k devices |
| --- | --- | --- | --- |
| slice | not split | dimension split over axes | nothing |
| part | whole | parts of a sum: the first device keeps it, others hold zeros | nothing |
| all_gather | split | not split | (k - 1) / k of the result |
| reduce_scatter | partial sums | split | (k - 1) / k of the operand |
| all_to_all | split | another dimension split | (k - 1) / k of the operand |
| all_reduce | partial sums | whole | 2 (k - 1) / k of the operand |

What moves is what a device sends in a ring. Each step that moves anything also costs as much as `LATENCY` bytes: two axes go in one.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from .mesh import Sharding

LATENCY = 20_000.0
"""The bytes that could be moved in the time that a collective takes to begin."""


class Step(NamedTuple):
    """One step of a chain.

    Attributes:
        kind: its name in the table above.
        axes: the axes of the mesh it goes over.
        dims: the dimensions: of all_to_all the one that is split, and the one that is joined.
        bytes: what a device sends.
        sharding: how the tensor lies after it.
    """

    kind: str
    axes: tuple[str, ...]
    dims: tuple[int, ...]
    bytes: float
    sharding: Sharding


def _local(sharding: Sharding, shape: tuple[int, ...], itemsize: int) -> float:
    size = float(itemsize)
    for n, axes in zip(shape, sharding.dims):
        size *= n
        size /= sharding.mesh.count(axes)
    return size


def _steps(at: Sharding, goal: Sharding, shape: tuple[int, ...], itemsize: int) -> Iterator[Step]:
    mesh, dims, partial = at.mesh, at.dims, at.partial_sum_axes
    here = _local(at, shape, itemsize)
    free = [a for a in mesh.names if a not in at.split and a not in partial]

    def put(changed: dict[int, tuple[str, ...]], parts: frozenset[str] = partial) -> Sharding:
        return Sharding(mesh, [changed.get(d, axes) for d, axes in enumerate(dims)], parts)

    def sent(axes: tuple[str, ...]) -> float:
        return 1 - 1 / mesh.count(axes)

    for d, axes in enumerate(dims):
        target = goal.dims[d]
        for n in range(1, len(axes) + 1):
            kept, gone = axes[:-n], axes[-n:]
            after = put({d: kept})
            yield Step("all_gather", gone, (d,), sent(gone) * _local(after, shape, itemsize), after)
            for e, others in enumerate(dims):
                if e != d and goal.dims[e][:len(others) + n] == (*others, *gone):
                    yield Step("all_to_all", gone, (e, d), sent(gone) * here, put({d: kept, e: (*others, *gone)}))
        # What is put on the stack of a dimension is what the goal has there.
        if target[:len(axes)] == axes and len(target) > len(axes):
            for n in range(1, len(target) - len(axes) + 1):
                more = target[len(axes):len(axes) + n]
                if all([a in free for a in more]):
                    yield Step("slice", more, (d,), 0, put({d: (*axes, *more)}))
                elif all([a in partial for a in more]):
                    yield Step("reduce_scatter", more, (d,), sent(more) * here, put({d: (*axes, *more)}, partial.difference(more)))
    summed = [a for a in at.partial if a not in goal.partial_sum_axes]
    for n in range(1, len(summed) + 1):
        for some in itertools.combinations(summed, n):
            yield Step("all_reduce", some, (), 2 * sent(some) * here, put({}, partial.difference(some)))
    parts = tuple([a for a in goal.partial if a in free])
    if parts:
        yield Step("part", parts, (), 0, put({}, partial.union(parts)))


@lru_cache(100_000)
def chain(start: Sharding, goal: Sharding, shape: tuple[int, ...], itemsize: int) -> tuple[Step, ...]:
    """The cheapest steps from one sharding of a tensor to another over the same mesh.

    >>> from autograd_tape.sharding import Mesh
    >>> mesh = Mesh({"data": 2, "model": 4})
    >>> def kinds(*shardings):
    ...     return [(step.kind, step.axes) for step in chain(*shardings, (64, 64), 4)]
    >>> kinds(Sharding(mesh, ("data", None)), Sharding(mesh, (None, "model")))
    [('slice', ('model',)), ('all_gather', ('data',))]
    >>> kinds(Sharding(mesh, (None, None), ["data", "model"]), Sharding(mesh, (None, None)))
    [('all_reduce', ('data', 'model'))]
    >>> kinds(Sharding(mesh, (None, None), ["data"]), Sharding(mesh, ("data", None)))
    [('reduce_scatter', ('data',))]
    """
    number = itertools.count()
    heap: list[tuple[float, int, Sharding, tuple[Step, ...]]] = [(0.0, next(number), start, ())]
    done: set[Sharding] = set()
    while heap:
        cost, _, at, steps = heapq.heappop(heap)
        if at == goal:
            return steps
        if at in done:
            continue
        done.add(at)
        for step in _steps(at, goal, shape, itemsize):
            if step.sharding not in done:
                price = step.bytes + LATENCY if step.kind not in ("slice", "part") else 1.0
                heapq.heappush(heap, (cost + price, next(number), step.sharding, (*steps, step)))
    raise AssertionError(f"no way from {start} to {goal}")  # gathering all, then slicing, always is one


__all__ = ["LATENCY", "Step", "chain"]
