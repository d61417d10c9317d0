"""Rules of operations that pick or put elements at positions of dimensions.

Where such a dimension is split, each device sees to the positions within its rows. What it picks elsewhere counts as zeros, so that the
results are parts of a sum; what is put elsewhere falls into a row behind its own, which is cut off again. The whole is moved instead where
that takes fewer bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ..annotations import Fn, Keywords
from ..dims import wrap_dim
from ..indices import Indices
from .chain import LATENCY, chain
from .mesh import Sharding
from .rules import NAMED, Call, Letters, Plan

_ALL = slice(None)
Positions = Mapping[int, np.ndarray]
"""Positions by dimension of the operand."""


class _Split:
    """The split dimensions of an operand that positions refer to.

    Args:
        at: its sharding.
        dims: those dimensions.
        read, put: take positions out of a kernel's arguments, and put others there.
        extend: whether the operand gets a row behind its own, for what lies elsewhere.
    """

    def __init__(self, name: str, shape: Sequence[int], at: Sharding, dims: Sequence[int], read: Callable[[dict[str, Any]], Positions],
                 put: Callable[[dict[str, Any], Positions], dict[str, Any]], extend: bool) -> None:
        self.name, self.shape, self.at, self.read, self.put, self.extend = name, tuple(shape), at, read, put, extend
        self.dims = [d for d in dims if at.dims[d]]
        self.outside: dict[int, Any] = {}

    def arguments(self, device: int, values: Keywords) -> dict[str, Any]:
        """Those of a device: positions within its part."""
        found, part, elsewhere = {**self.read(values)}, values[self.name], np.zeros((), bool)
        bounds = self.at.bounds(self.shape, device)
        for d, index in found.items():
            n = self.shape[d]
            if index.size and (index.min() < -n or index.max() >= n):  # the kernel says what is wrong
                return {**values, self.name: np.broadcast_to(np.zeros((), part.dtype), self._whole(part))}
            if d in self.dims:
                own = np.where(index < 0, index + n, index) - bounds[d].start
                outside = (own < 0) | (own >= part.shape[d])
                found[d] = np.where(outside, part.shape[d] if self.extend else 0, own)
                elsewhere = elsewhere | outside
        self.outside[device] = elsewhere
        for d in self.dims:
            if self.extend or not part.shape[d]:
                part = np.concatenate([part, np.zeros((*part.shape[:d], 1, *part.shape[d + 1:]), part.dtype)], d)
        return self.put({**values, self.name: part}, found)

    def _whole(self, part: np.ndarray) -> tuple[int, ...]:
        return tuple([n if d in self.dims else m for d, (n, m) in enumerate(zip(self.shape, part.shape))])

    def cut(self, device: int, values: Keywords, result: np.ndarray) -> np.ndarray:
        """Without the rows that stand for what lies elsewhere."""
        bounds = self.at.bounds(self.shape, device)
        return np.ascontiguousarray(result[tuple([slice(b.stop - b.start) for b in bounds])])

    def zeroed(self, lead: int) -> Callable[[int, Keywords, Any], Any]:
        """Zeros for what lies elsewhere; positions stand for the dimensions of the result from `lead` on."""
        def after(device: int, values: Keywords, result: Any) -> np.ndarray:
            outside = self.outside[device]
            outside = outside.reshape(outside.shape + (1,) * (result.ndim - lead - outside.ndim))
            return np.where(outside, result.dtype.type(0), result)

        return after


def _cheaper(call: Call, found: Plan, whole: Plan, shape: Sequence[int]) -> Plan:
    """Of two plans that with the smaller cost, the sums that wait in its result of this shape included."""
    def cost(plan: Plan) -> float:
        total, out = 0.0, plan.outputs[0]
        steps = list(chain(out, out.summed, tuple(shape), call.operands[0][1].itemsize))
        for name, goal in plan.inputs.items():
            if not isinstance(goal, list):
                a = call[name]
                steps += chain(call.sharding(name), goal, tuple(a.shape), a.itemsize)
        for step in steps:
            total += step.bytes + LATENCY if step.kind not in ("slice", "part") else 0
        return total

    return found if cost(found) <= cost(whole) else whole


def _looked_up(call: Call, own: list[Any], dims: Sequence[int], rest: Sequence[Letters], out: Letters, lead: int,
               read: Fn, put: Fn, shape: Sequence[int]) -> Plan:
    name, array = call.operands[0][0].name, call.operands[0][1]
    whole = call.propagate([[None if d in dims else x for d, x in enumerate(own)], *rest], [out], shapes=[shape])
    if not any([call.sharding(name).dims[d] for d in dims]):
        return whole
    plan = _cheaper(call, call.propagate([own, *rest], [out], shapes=[shape]), whole, shape)
    split = _Split(name, array.shape, plan.inputs[name], dims, read, put, extend=False)
    if split.dims:
        plan.arguments, plan.after = split.arguments, split.zeroed(lead)
    return plan


def _stored(call: Call, own: list[Any], dims: Sequence[int], rest: Sequence[Letters], read: Fn, put: Fn, **options: Any) -> Plan:
    name, array = call.operands[0][0].name, call.operands[0][1]
    plan = call.propagate([own, *rest], [own], shapes=[array.shape], **options)
    split = _Split(name, array.shape, plan.inputs[name], dims, read, put, extend=True)
    if split.dims:
        plan.arguments, plan.after = split.arguments, split.cut
    return plan


def _reader(d: int, name: str) -> tuple[Any, Any]:
    return lambda values: {d: values[name]}, lambda values, found: {**values, name: found[d]}


def picks(told: str) -> Callable[[Call], Plan]:
    """"picks dim index": what the first operand has at positions `index` of a dimension, whose place those of `index` take. "dim" is a
    parameter, or a number."""
    _, where, name = told.split()

    def rule(call: Call) -> Plan:
        array, index = call.operands[0][1], call[name]
        if not array.ndim:
            return call.whole()
        d = int(where) if where.isdigit() else wrap_dim(call[where], array.ndim)
        own = list(range(array.ndim))
        at = [None if call.values.get("scale_grad_by_freq") else ("index", i) for i in range(index.ndim)]
        shape = (*array.shape[:d], *index.shape, *array.shape[d + 1:])
        return _looked_up(call, own, [d], [at], [*own[:d], *at, *own[d + 1:]], d, *_reader(d, name), shape)

    return rule


def gathers(told: str) -> Callable[[Call], Plan]:
    """"gathers dim index": elements at positions `index` along a dimension, one position for each; `index` may lack the dimension where
    there is a `keepdim` that is False."""
    _, where, name = told.split()

    def rule(call: Call) -> Plan:
        array, index = call.operands[0][1], call[name]
        if not array.ndim or not index.ndim and array.ndim != 1 or not index.size:
            return call.whole()
        d = wrap_dim(call[where], array.ndim)
        own: list[Any] = list(range(array.ndim))
        drops = call.values.get("keepdim") is False
        wide = (*index.shape[:d], 1, *index.shape[d:]) if drops else index.shape
        at: list[Any] = [x if n == m else None for x, n, m in zip(own, wide, array.shape)]
        at[d] = "index"
        if drops:
            del at[d]
        own = [x if x in at or x == d else None for x in own]
        return _looked_up(call, own, [d], [at], at, 0, *_reader(d, name), index.shape)

    return rule


def puts(told: str) -> Callable[[Call], Plan]:
    """"puts dim index": the first operand with another at positions `index` of a dimension; "adds dim index" where it is added. The index
    may be a vector, or have a position for each element."""
    word, where, name = told.split()

    def rule(call: Call) -> Plan:
        array, index = call.operands[0][1], call[name]
        sources = [v for p, v in call.operands[1:] if p.name != name]
        if not array.ndim or not index.size or not index.ndim or any([not v.ndim and v is not sources[-1] for v in sources]):
            return call.whole()
        d = wrap_dim(call[where], array.ndim)
        own: list[Any] = list(range(array.ndim))
        i = "index" if word == "adds" else None
        source = sources[0] if sources and sources[0].ndim else None
        if index.ndim == 1 and (array.ndim > 1 or source is not None and source.ndim == 1):
            at: list[Any] = [i if source is None or source.shape[d] == index.shape[0] else None]
            other: list[object] = [*own[:d], i, *own[d + 1:]]
        else:
            at = [x if n == m and (source is None or source.shape[x] == n) else None for x, n, m in zip(own, index.shape, array.shape)]
            at[d] = i if source is None or source.shape[d] == index.shape[d] else None
            other = at
            own = [x if x == d or x in at else None for x in own]
        rest = [at if p.name == name else other if v.ndim else [] for p, v in call.operands[1:]]
        return _stored(call, own, [d], rest, *_reader(d, name), added=(0,) if i is not None else ())

    return rule


def _places(indices: Indices) -> tuple[list[int], list[int], int, int]:
    """(dimensions with positions, with masks too, rank of what they pick, where that comes) of an index."""
    dims: list[int] = []
    taken: list[int] = []
    d, rank, first, last, apart = 0, 0, -1, -1, False
    for place, item in enumerate(indices.key):
        if item.__class__ is slice:
            d += 1
            continue
        if first < 0:
            first = d
        elif last != place - 1:
            apart = True
        last = place
        width = item.ndim if item.dtype == bool else 1
        dims += [d] if item.dtype != bool else []
        taken += range(d, d + width)
        rank = max(rank, 1 if item.dtype == bool else item.ndim)
        d += width
    return dims, taken, rank, 0 if apart else first


def _read(values: Keywords) -> Positions:
    return {d: item for d, item in enumerate(values["indices"].key) if item.__class__ is not slice}


def _put(values: Keywords, found: Positions) -> Keywords:
    key = [found.get(d, item) for d, item in enumerate(values["indices"].key)]
    return {**values, "indices": Indices(key)}


def _indexed(indices: Indices, ndim: int) -> tuple[list[int | None], list[int | None], list[int], int]:
    dims, taken, rank, at = _places(indices)
    if indices.has_mask:
        dims = []
    own = [None if d in taken and d not in dims else d for d in range(ndim)]
    rest = [d for d in range(ndim) if d not in taken]
    return own, [*rest[:at], *[None] * rank, *rest[at:]], dims, at


def indexed(call: Call) -> Plan:
    """The elements at index arrays, which every process has."""
    array = call["input"]
    own, out, dims, at = _indexed(call["indices"], array.ndim)
    if call["indices"].has_mask:
        return call.propagate([own], [out])
    arrays = [item for item in call["indices"].key if item.__class__ is not slice]
    picked = np.broadcast_shapes(*[a.shape for a in arrays])
    rest = [array.shape[d] for d in range(array.ndim) if d not in dims]
    return _looked_up(call, own, dims, [], out, at, _read, _put, (*rest[:at], *picked, *rest[at:]))


def put_at(call: Call) -> Plan:
    """Values put at index arrays, or added."""
    array, values = call["input"], call["values"]
    own, out, dims, _ = _indexed(call["indices"], array.ndim)
    letters = out[len(out) - values.ndim:] if values.ndim <= len(out) else [None] * values.ndim
    return _stored(call, own, dims, [letters], _read, _put)


def taken_back(call: Call) -> Plan:
    """Zeros with a gradient added at index arrays."""
    shape = tuple(call["shape"])
    own, out, dims, _ = _indexed(call["indices"], len(shape))
    made = [None if d in dims else x for d, x in enumerate(own)]
    return call.sized(call.propagate([out], [made], shapes=[shape]), "shape", shape)


def flat(call: Call) -> Plan:
    """`take` and `put`: at positions of the flattened operand, of which devices have rows of the first dimension."""
    array, index = call["input"], call["index"]
    if not array.ndim or not array.size or not index.size:
        return call.whole()
    own, inner = ["rows", *[None] * (array.ndim - 1)], array.size // array.shape[0]

    def read(values: Keywords) -> Positions:
        index = np.where(values["index"] < 0, values["index"] + array.size, values["index"])
        rows = index // inner
        if index.size and (index.min() < 0 or index.max() >= array.size):
            rows = np.full_like(rows, array.shape[0])
        return {0: rows}

    def put(values: Keywords, found: Positions) -> Keywords:
        return {**values, "index": found[0] * inner + values["index"] % inner}

    at = [("index", i) for i in range(index.ndim)]
    if "source" not in call.values:
        return _looked_up(call, own, [0], [at], at, 0, read, put, index.shape)
    return _stored(call, own, [0], [[None] * v.ndim for _, v in call.operands[1:]], read, put)


NAMED.update({"picks": picks, "gathers": gathers, "puts": puts, "adds": puts, "indexed": lambda told: indexed,
              "put_at": lambda told: put_at, "taken_back": lambda told: taken_back, "flat": lambda told: flat})

__all__ = ["flat", "gathers", "indexed", "picks", "put_at", "puts", "taken_back"]
