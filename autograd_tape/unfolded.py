"""What programs see of an entry that does the work of several of torch's operations: torch's nodes, made when somebody looks.

The record's `unfold` carries its operations out once more, on what the entry saved, and what they record is the view. Passes go through
the entry as before; where a program hooks a node of the view, the view takes the entry's place.
"""

from __future__ import annotations

import inspect
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from .modes import GradMode, _mode, aside, grad_mode
from .node import Edge, Folded, OutputEdge, PassedOn, TapeEntry
from .node import seen as seen_edge
from .saved import state
from .tensor import TensorRef, next_id
from .version import number_of


class _Unknown(Exception):
    """An entry did not save what its view takes."""


def seen(entry: Folded | PassedOn, nr: int) -> tuple[Any, int]:
    """(node, output number) that programs see of output `nr` of an entry: the entry itself, called what torch calls it; of one with several
    outputs the node of that one."""
    if isinstance(entry, PassedOn):
        return entry.edges[nr], 0
    if entry.shows_input and _looks(entry):
        [edge] = entry.edges
        found, place = seen_edge(edge)
        return (entry, nr) if isinstance(edge, OutputEdge) and found is edge.entry else (found, place)
    if entry.n_outputs > 1:
        view = unfolded(entry)
        return (entry, nr) if view is None or view[nr] is None else (view[nr], 0)
    if entry.__class__.plain is None and _looks(entry):
        entry.__class__ = _named(entry)
    return entry, nr


def unfolded(entry: Folded) -> tuple[Any, ...] | None:
    """The nodes of torch's that the outputs of an entry would have; None where it is not known, or where it is to look like itself."""
    found: tuple[Any, ...] | None = entry.__dict__.get("_view")
    if found is None and _looks(entry) and not entry.shows_input and entry.saved.__class__ is tuple:
        try:
            found = entry.__dict__["_view"] = _made(entry)
        except _Unknown:
            entry.__dict__["_view"] = ()
    return found or None


def take_apart(entry: TapeEntry | None) -> None:
    """Makes an entry the last of the nodes that it stands for, so that passes go through all of them; and what it is a part of likewise."""
    if not isinstance(entry, Folded):  # it was before
        return
    view = unfolded(entry)
    if view is None or entry.saved is None:
        return
    last, parts = view[0], _parts(view, entry)
    for i, part in enumerate(parts):  # between the entry and all that came before: ids grow along the graph
        part.id = entry.id - 1 + (i + 1) / (len(parts) + 1)
    del entry.__dict__["_view"]
    if len(view) > 1:
        entry.edges, entry.saved, entry.meta, entry.n_outputs = view, (), None, len(view)
        entry.__class__ = PassedOn  # type: ignore[assignment]  # it is no folded one any more
        return
    entry.edges, entry.saved, entry.meta = last.edges, last.saved, last.meta
    entry.__class__ = type(last)
    if issubclass(type(last), Folded):  # which stands for several itself
        if "_view" in last.__dict__:
            entry.__dict__["_view"] = last.__dict__["_view"]
        take_apart(entry)
    if "_part_of" in entry.__dict__:
        take_apart(entry.__dict__.pop("_part_of")())


def _looks(entry: Folded) -> bool:
    return entry.front_end.torch_nodes and not entry.holders


def _parts(view: tuple[Any, ...], entry: Folded) -> list[Any]:
    """The nodes of a view, but the last one where the entry becomes that, in the order in which they were made; all that is behind the
    entry is older."""
    found: dict[int, Any] = {}
    waiting = list(view) if len(view) > 1 else list(view[0].edges)
    while waiting:
        edge = waiting.pop()
        node = edge.entry if edge is not None and edge._tag == 2 else edge
        if node is not None and node._tag == 0 and node.id > entry.id and id(node) not in found:
            found[id(node)] = node
            waiting += node.edges
    return sorted(found.values(), key=lambda node: node.id)


_named_classes: dict[tuple[type[TapeEntry], str], type[Folded]] = {}


def _named(entry: Folded) -> type[Folded]:
    """The entry's class under the name of the node that it looks like."""
    cls = type(entry)
    name = cls.__name__
    if entry.saved.__class__ is tuple:
        known = {key: entry.saved[at] for key, at in cls.saved_places.items()}  # type: ignore[attr-defined]
        for condition, other in (entry.op.field("seen_as") or {}).items():
            if eval(condition, {}, known):
                name = other
                break
    found = _named_classes.get((cls, name))
    if found is None:
        found = type(name, (cls,), {"__slots__": (), "__module__": cls.__module__, "plain": cls})
        _named_classes[cls, name] = found
    return found


@contextmanager
def _by_itself(entry: Folded) -> Iterator[None]:
    """A block that records, and that nobody sees."""
    before, hooks = grad_mode(), state.hooks
    with aside(), entry.front_end.unseen():
        _mode.set(GradMode.ENABLED)
        state.hooks = ()
        try:
            yield
        finally:
            state.hooks = hooks
            _mode.set(before)


def _made(entry: Folded) -> tuple[Any, ...]:
    rec, start = entry.op, next_id()
    with _by_itself(entry):
        given = _given(entry)
        made = rec.unfold(entry.front_end, **given)
    if made is NotImplemented:
        raise _Unknown
    nodes = [t._node for t in (made if isinstance(made, (tuple, list)) else [made])][:entry.n_outputs]
    if not all([node is not None and node._tag == 0 and node.id > start for node in nodes]):
        raise _Unknown
    whole, waiting = weakref.ref(entry), list(nodes)
    for node in waiting:
        node._part_of = whole
        waiting += [n for e in node.edges if e is not None and e._tag != 1 for n in [e.entry if e._tag == 2 else e]
                    if n.id > start and "_part_of" not in n.__dict__]
    return tuple(nodes)


def _given(entry: Folded) -> dict[str, Any]:
    """The arguments of the record's `unfold`: what the entry saved, tensors with the history that they had."""
    rec, places = entry.op, entry.saved_places
    reads = {read.name: read for read in rec.saved}
    edges: dict[str, Edge | None] = {}
    if not any([p.type == "Tensor[]" for p in rec.differentiable_params]):
        edges = dict(zip([p.name for p in rec.differentiable_params], entry.edges))
    meta = dict(zip(edges, entry.meta or [None] * len(edges)))
    like = next((x._k for x in [*entry.saved, *entry.edges] if isinstance(x, TensorRef)), None)
    params = {p.name: p for p in rec.params}
    given: dict[str, Any] = {}
    for name in list(inspect.signature(rec.unfold).parameters)[1:]:
        read, param = reads.get(name), params.get(name)
        value = None if read is None else entry.saved[places[name]]
        if param is None or not param.is_tensor:
            if read is None:
                raise _Unknown
            if read.kind == "output":
                value = entry.front_end.saved_output(entry, read.nr, *entry.saved[places[name]:places[name] + 4])
            given[name] = value
        elif isinstance(value, TensorRef):
            if number_of(value) != (entry.saved[places[name] + 1] or 0):
                raise _Unknown
            given[name] = _with_edge(value, edges[name] if name in edges else None)
        elif isinstance(leaf := edges.get(name), TensorRef):
            given[name] = leaf
        else:
            given[name] = _standing_for(entry, name, param, edges.get(name), meta.get(name), like)
            if given[name] is None and not param.type.endswith("?"):
                raise _Unknown
    return given


def _with_edge(value: TensorRef, edge: Edge | None) -> TensorRef:
    """A saved tensor, with the history that its entry goes on to."""
    if edge is value or edge is value._node:
        return value
    result = object.__new__(type(value))
    result._data, result._k, result._v, result._base, result._node = value._data, value._k, value._v, None, None
    if edge is not None:
        result._node = edge
    return result


def _standing_for(entry: Folded, name: str, param: Any, edge: Edge | None, meta: Any, like: Any) -> Any:
    """A tensor in the place of an input of which only the shape was saved: no formula needs its values. None where not even that was."""
    place = entry.saved_places.get(f"{name}_shape")
    shape = entry.saved[place] if place is not None else meta[0] if meta else None
    if shape is None:
        return None
    dtype = np.dtype(meta[1] if meta else like.np if like is not None else np.float32)
    found = entry.front_end.wrap(np.zeros(tuple(shape), dtype))
    if edge is not None:
        found._node = edge
    return found
