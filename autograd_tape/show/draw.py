"""From a graph to a picture of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..errors import ArgumentError
from ..graph import Graph, Node, Value, argument_text, spelled
from ..tape import DefaultTape, Tape, get_default_tape
from ..tensor import TensorRef
from .svg import Drawing, Picture, Shape, check_file
from .text import moved_text, plural, shortened, size_text, time_text


def draw(what: Graph | Tape | TensorRef | Sequence[TensorRef], file: object = None, *, grads: Mapping[Any, Any] | None = None) -> Drawing:
    """A picture of a graph, of what a tape recorded, or of how tensors were computed.

    Args:
        what: a graph, an explicit tape, or one or several tensors, also torch's: their history, from the innermost explicit tape that
            holds them, or else what the tensors themselves know of it, which is less.
        file, grads: see `Graph.draw`.

    Raises:
        ArgumentError: there is nothing to draw of this, or the file is of another kind.

    >>> from autograd_tape import TensorRef
    >>> x = TensorRef.of([1.0, 2.0], requires_grad=True)
    >>> draw(x * x)
    <Drawing: 1 operation, 1 input>
    """
    if file is not None:
        check_file(file)
    drawing = Drawing.of(picture_of(graph_of(what), grads or {}))
    if file is not None:
        drawing.save(file)
    return drawing


def graph_of(what: Any) -> Graph:
    """What can be shown, as a graph."""
    if isinstance(what, Graph):
        return what
    if isinstance(what, Tape):
        return what.to_graph()
    outputs = [what] if isinstance(what, TensorRef) else what
    if not isinstance(outputs, (tuple, list)) or not outputs or not all([isinstance(x, TensorRef) for x in outputs]):
        raise ArgumentError("There is no graph of this", expected="a Graph, a Tape, or tensors", found=type(what).__name__,
                            remedy="pass what was recorded, or what it computed")
    tape = get_default_tape()
    held = not isinstance(tape, DefaultTape) and all([tape.held.id_of(x) is not None for x in outputs])
    return (tape if held else DefaultTape()).to_graph(outputs)


def norm_of(gradient: TensorRef) -> float | None:
    """The Euclidean norm of an array or tensor; None for one on a mesh of which this process has only a part."""
    array = gradient._data if isinstance(gradient, TensorRef) else gradient
    if hasattr(array, "shown"):
        array, place = array.shown()
        if array is None or len(place) > 1:
            return None
    array = np.asarray(array)
    wide = np.abs(array).astype(np.float64, copy=False)
    return float(np.sqrt(np.sum(wide * wide)))


def gradient_of(value: Value, grads: Mapping[object, object]) -> Any:
    """The gradient of a value that somebody has by now, or None."""
    if value.id in grads:
        return grads[value.id]
    tensor = value.tensor()
    if tensor is None or tensor.id != value.id:  # an update in place gave it another value
        return None
    return getattr(tensor, "_grad", None)  # the property of torch's tensors warns


def picture_of(graph: Graph, grads: Mapping[object, object]) -> Picture:
    """A graph as boxes and edges. Inputs and constants stand beside what uses them first, within the parts that all of it lies in."""
    shapes: list[Shape] = []
    edges: list[tuple[int, int]] = []
    scopes: list[tuple[str, ...] | None] = []
    maker: dict[int, int] = {}
    last = set(graph.outputs)

    def norm(value: Value) -> str:
        gradient = gradient_of(value, grads)
        size = None if gradient is None else norm_of(gradient)
        return "" if size is None else f"|grad| = {size:.4g}"

    for node in graph.nodes:
        values = [graph.values[id] for id in node.inputs]
        for value in values:
            if value.id not in maker:
                maker[value.id] = len(shapes)
                lines = [value.name, value.type_text, norm(value)]
                shapes.append(Shape(value.kind if value.kind == "input" else "constant", tuple(filter(None, lines))))
                scopes.append(None)
            owner, scope = maker[value.id], scopes[maker[value.id]]
            if shapes[owner].kind in ("input", "constant"):
                scopes[owner] = node.scope if scope is None else _common(scope, node.scope)
        edges += [(maker[value.id], len(shapes)) for value in values]
        results = [graph.values[id] for id in node.outputs]
        lines = [shortened(_call(node, [v.name for v in values])), *[v.type_text for v in results if v.dtype is not None][:4]]
        lines += [f"saves {size_text(node.saved)}" if node.saved else "", " + ".join(filter(None, map(time_text, node.times))),
                  *[moved_text(*one) for one in node.moved][:6], *map(norm, results)]
        maker.update(dict.fromkeys(node.outputs, len(shapes)))
        kind = "output" if last.intersection(node.outputs) else "operation"
        shapes.append(Shape(kind, tuple([shortened(line) for line in lines if line]), graph.line(node)))
        scopes.append(node.scope)
    for value in graph.values.values():  # outputs that nothing computed
        if value.id not in maker and value.kind != "result":
            shapes.append(Shape(value.kind, (value.name, value.type_text)))
            scopes.append(())
    counts = Counter([shape.kind if shape.kind != "output" else "operation" for shape in shapes])
    title = ", ".join([plural(counts[kind], kind) for kind in ("operation", "input", "constant") if counts[kind]])
    groups: dict[tuple[str, ...], int] = {}
    for scope in scopes:
        for depth in range(1, len(scope or ()) + 1):
            groups.setdefault((scope or ())[:depth], len(groups))
    named = [(shortened(path[-1]), groups.get(path[:-1], -1)) for path in groups]
    return Picture(shapes, edges, [groups.get(scope or (), -1) for scope in scopes], named, title or "nothing")


def _common(a: tuple[str, ...], b: tuple[str, ...]) -> tuple[str, ...]:
    same = 0
    while same < min(len(a), len(b)) and a[same] == b[same]:
        same += 1
    return a[:same]


def _call(node: Node, names: Sequence[str]) -> str:
    """An operation's name, and those of its arguments that are short."""
    further = [name + argument_text(x, names) for name, x in spelled(node.arguments) if x is not None]
    return " ".join([node.op + "_" * node.inplace, *[text for text in further if len(text) <= 24]])
