"""A recorded program as one straight function: a line for each operation, on the quiet paths of the front end's functions; and its
backward pass as another: a few lines for each entry.

What a trace did is known: which functions were called, with which values and constants, in which order. To run it again nothing has to be
looked up, and what it cost is what its operations cost. Programs that write to memory, or hold operations recorded by hand, run otherwise.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .annotations import Keywords
from .codegen import execute
from .engine import given_out
from .frontend import Frontend
from .functions.nodes import NODES
from .held import Operation, tensors_in
from .indices import Indices
from .lazy import spelled
from .modes import _mode, grad_mode
from .node import OutputEdge, edge_of
from .record import Record
from .tensor import TensorRef


def is_straight(operations: Sequence[Operation]) -> bool:
    """Whether operations can run again as a straight function."""
    return all([isinstance(o.op, Record) and not o.inplace and not o.written and not o.writes and not _hides_tensors(o.arguments)
                for o in operations])


def straight(operations: Sequence[Operation], F: Frontend) -> Callable[[], None]:
    """A function that computes the outputs of operations anew, and puts them into the tensors that were made at first: all of them, or
    none where it fails.

    >>> from autograd_tape import F, Tape, TensorRef
    >>> x = TensorRef.of([1.0, 2.0])
    >>> with Tape() as tape:
    ...     y = F.sum(x * x, 0)
    >>> again = straight(tape.held.operations, F)
    >>> x.numpy()[:] = 10.0
    >>> again(), y.numpy()
    (None, array(200.))
    """
    cells: Keywords = {"set_mode": _mode.set, "grad_mode": grad_mode, "tensors_in": tensors_in}
    lines: list[str] = []
    puts: list[str] = []
    made: dict[int, str] = {}
    mode = None
    for i, operation in enumerate(operations):
        rec, (refs, results) = operation.op, operation.refs
        assert isinstance(rec, Record)
        names = {id(ref): made[value] for value, ref in zip(operation.inputs, refs) if value in made}  # the others come from outside
        cells[f"f{i}"], positional, keywords = spelled(F, rec.name, refs, operation.arguments)
        call = ", ".join([_source(x, names, cells) for x in positional] + [f"{k}={_source(x, names, cells)}" for k, x in keywords.items()])
        outputs = []
        for value, ref in zip(operation.outputs, results):
            made[value] = name = f"t{len(puts)}"
            cells[f"r{len(puts)}"] = ref
            puts.append("r{0}._data = t{0}._data; r{0}._node = t{0}._node; r{0}._v = t{0}._v".format(len(puts)))
            outputs.append(name)
        if operation.mode is not mode:
            mode = operation.mode
            cells[f"m{i}"] = mode
            lines.append(f"set_mode(m{i})")
        one = len(outputs) == 1 and rec.field("function") is None and not rec.returns_list
        lines.append(f"{outputs[0]} = f{i}({call})" if one else f"{', '.join([*outputs, ''])} = tensors_in(f{i}({call}))")
    body = ["before = grad_mode()", "try:", *["    " + line for line in lines or ["pass"]], "finally: set_mode(before)", *puts]
    text = f"def make({', '.join(cells)}):\n    def replay():\n" + "".join([f"        {line}\n" for line in body]) + "    return replay\n"
    replay: Callable[[], None] = execute(text, "make", f"<replay {next(_count)}>", {})(**cells)
    return replay


def straight_back(roots: Sequence[Any], inputs: Sequence[TensorRef]) -> Callable[..., list[Any] | None] | None:
    """The backward pass from some edges to `inputs` as a function: `pull(F, edges, cotangents)` gives the gradients of these, None for
    those that were not used. It compares the graph that it goes through with the one it was made for, and gives None where that differs
    (functions made of several operations may choose others for other values), or where a gradient is undefined.

    None where entries on the way are not of records, or lead to none of `inputs`.

    >>> from autograd_tape.executors import get_executor
    >>> import numpy as np
    >>> x = TensorRef.of([1.0, 2.0], requires_grad=True)
    >>> pull = straight_back([(x * x)._node], [x])
    >>> pull(get_executor("numpy").F, [(x * x)._node], [np.ones(2)])
    [array([2., 4.])]
    """
    ends = {id(edge_of(x)): f"x{i}" for i, x in enumerate(inputs)}
    found: dict[Any, None] = {}
    waiting = [edge for edge in roots if id(edge) not in ends]
    while waiting:
        edge = waiting.pop()
        entry = edge.entry if edge._tag == 2 else edge
        if entry in found or edge._tag == 1:
            continue
        if type(entry).__module__ != NODES or not any([e is not None and (id(e) in ends or e._tag != 1) for e in entry.edges]):
            return None
        found[entry] = None
        waiting += [e for e in entry.edges if e is not None and id(e) not in ends]
    entries = sorted(found, key=lambda entry: -entry.id)
    known = {id(entry): f"e{i}" for i, entry in enumerate(entries)}
    cells: dict[str, Any] = {"OutputEdge": OutputEdge, "added": _added, "given_out": given_out}
    cells |= {name: x for name, x in zip(ends.values(), inputs)} | {f"E{i}": type(entry) for i, entry in enumerate(entries)}
    lines: list[str] = []
    met: set[str] = set()
    numbered: set[str] = set()  # entries whose outputs have numbers: of a list, which may have one item alone
    sums: dict[tuple[str, int], tuple[str, bool]] = {}  # from entry and output, or leaf, to its gradient so far, and whether it is a sum

    def follow(edge: Any, name: str, gradient: str) -> None:
        """What arrives along an edge."""
        nr, place = 0, ends.get(id(edge))
        if place is not None:
            lines.append(f"if {name} is not " + (place if edge._tag == 1 else f"{place}._node") + ": return None")
        elif edge._tag == 1:  # no gradient is asked of it
            cells[f"l{len(cells)}"] = edge
            lines.append(f"if {name} is not l{len(cells) - 1}: return None")
            return
        else:
            if edge._tag == 2:
                nr = edge.nr
                lines.append(f"if {name}.__class__ is not OutputEdge or {name}.nr != {nr}: return None")
                edge, name = edge.entry, name + ".entry"
                numbered.add(known[id(edge)])
            place = known[id(edge)]
            lines.append(f"if {name} is not {place}: return None" if place in met else
                         f"{place} = {name}\nif {place}.__class__ is not E{place[1:]}: return None")
            met.add(place)
        lines.append(f"if {gradient} is None: return None")
        have, summed = sums.get((place, nr), ("", False))
        if summed:
            lines.append(f"{have} = added({have}, {gradient}); del {gradient}")
        elif have:
            lines.append(f"s_{place}_{nr} = {have} + {gradient}; del {have}, {gradient}")
        sums[place, nr] = (f"s_{place}_{nr}", True) if have else (gradient, False)

    for i, edge in enumerate(roots):
        follow(edge, f"r{i}", f"c{i}")
    for i, entry in enumerate(entries):
        n = len(entry.edges)
        arrived = [sums.get((f"e{i}", nr), ("None", False))[0] for nr in range(entry.n_outputs)]
        lines.append(f"_edges = e{i}.edges")
        lines.append(f"if len(_edges) != {n}: return None")
        lines.append(f"{''.join([f'_{j}, ' for j in range(n)])}= _edges")
        cotangent = f"[{', '.join(arrived)}]" if entry.n_outputs > 1 or f"e{i}" in numbered else arrived[0]
        lines.append(f"{''.join([f'g{i}_{j}, ' for j in range(n)])}= e{i}.raw({cotangent}, F)")
        lines.append(f"del {', '.join([name for name in arrived if name != 'None'])}")
        for j, edge in enumerate(entry.edges):
            if edge is None:
                lines.append(f"if _{j} is not None: return None")
            else:
                follow(edge, f"_{j}", f"g{i}_{j}")
    results = [(name, sums.get((name, 0))) for name in ends.values()]
    lines.append(f"return [{', '.join(['None' if g is None else f'given_out({name}, {g[0]}, {g[1]})' for name, g in results])}]")
    given = [f"{''.join([f'{letter}{i}, ' for i in range(len(roots))])}= {name}" for letter, name in (("r", "edges"), ("c", "cotangents"))]
    text = f"def make({', '.join(cells)}):\n    def pull(F, edges, cotangents):\n" + "".join(
        [f"        {line}\n" for line in "\n".join(given + lines).split("\n")]) + "    return pull\n"
    pull: Callable[..., list[Any] | None] = execute(text, "make", f"<backward {next(_count)}>", {})(**cells)
    return pull


def _added(total: np.ndarray, gradient: np.ndarray) -> np.ndarray:
    """A sum of gradients, which nobody else has, and one more."""
    if total.__class__ is np.ndarray and total.dtype is gradient.dtype and total.shape == gradient.shape:
        return np.add(total, gradient, out=total)
    return total + gradient


_count = itertools.count()


def _source(value: object, names: dict[int, str], cells: Keywords) -> str:
    """An argument as source; what has no text is put into `cells`."""
    if isinstance(value, TensorRef) and id(value) in names:
        return names[id(value)]
    if value is None or value.__class__ in (int, bool, str):
        return repr(value)
    if value.__class__ is list or value.__class__ is tuple:
        inside = "".join([_source(x, names, cells) + ", " for x in value])
        return f"[{inside}]" if value.__class__ is list else f"({inside})"
    if isinstance(value, slice):
        return f"slice({', '.join([_source(x, names, cells) for x in (value.start, value.stop, value.step)])})"
    cells[f"c{len(cells)}"] = value
    return f"c{len(cells) - 1}"


def _hides_tensors(value: object) -> bool:
    """Whether an argument holds tensors where `_source` does not look."""
    if isinstance(value, dict):
        value = tuple(value.values())
    if value.__class__ is list or value.__class__ is tuple:
        return any([_hides_tensors(x) for x in value])
    return isinstance(value, (Indices, list, tuple))
