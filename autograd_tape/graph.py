"""The IR graph a tape converts to: values, nodes, DOT and JSON, replay on any executor.

A graph is in single-assignment form: every value has one id, in-place operations make a new value. It holds no tensors, only
shapes, dtypes, arguments, and the data of constants and inputs.
"""

from __future__ import annotations

import base64
import builtins
import json
import math
import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from dataclasses import dataclass, field
import numpy as np

from .backward import tensors_of
from .dtypes import CPU, DType
from .errors import ArgumentError, AutogradError
from .executors import Executor, executor_for
from .held import Copies, Slot, memory_of
from .indices import Indices
from .indices import _ALL as ALL
from .lazy import array_of, call, frontend_of
from .modes import GradMode, _ModeContext, aside
from .node import TapeEntry, edge_of
from .ops.networks.resampling import Table
from .saved import saved_bytes, saved_refs
from .tape import DefaultTape, Tape
from .tensor import TensorRef, above, buffer_of

if TYPE_CHECKING:
    from .show import Drawing, Summary

FORMAT = "autograd_tape.graph/2"
SHOWN = 20
"""How many lines of each end `repr` shows of a long graph."""


def _nowhere() -> None:
    return None


@dataclass(frozen=True, eq=False, slots=True)
class Value:
    """A tensor of the graph.

    Attributes:
        id: its id on the tape.
        name: `x0`, `x1`, ... for inputs, `c0`, ... for constants, `v0`, ... for results.
        shape, dtype: None where the tape did not keep them.
        kind: "input" (requires grad, or has no data yet), "constant", or "result".
        data: the array of an input or constant, or None.
        tensor: gives the tensor, as long as it lives, or None: a graph keeps none alive.
    """

    id: int
    name: str
    shape: tuple[int, ...] | None
    dtype: DType | None
    kind: str
    data: np.ndarray | None = None
    tensor: Callable[[], TensorRef | None] = field(default=_nowhere, repr=False)

    @property
    def type_text(self) -> str:
        """`float32[2, 3]`."""
        return "?" if self.dtype is None or self.shape is None else f"{self.dtype.name}{list(self.shape)}"


@dataclass(frozen=True, eq=False, slots=True)
class Node:
    """An operation of the graph.

    Attributes:
        inputs, outputs: ids of values. The outputs are the tensors returned, then the inputs that were written to.
        arguments: its other parameters by name, with a `Slot` for a tensor that stands in one of them.
        inplace: whether it is the variant with an underscore.
        written: the numbers of the inputs that are written to without being returned.
        scope: the names of the parts of the program that it ran in (see `scopes`), the outermost first.
        saved: how many bytes it saved for its gradient; None where they were freed, or nobody knows.
        times: seconds, forward and backward, where they were measured.
        moved: ("forward" or "backward", collective) of what was moved between devices for it (see `sharding.Collective`).
    """

    id: int
    op: str
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    arguments: dict[str, Any] = field(default_factory=dict)
    inplace: bool = False
    written: tuple[int, ...] = ()
    scope: tuple[str, ...] = ()
    saved: int | None = None
    times: tuple[float | None, float | None] = (None, None)
    moved: tuple[tuple[str, object], ...] = ()


@dataclass(frozen=True, eq=False, repr=False, slots=True)
class Graph:
    """What a tape recorded, as data.

    >>> from autograd_tape import F, Tape, TensorRef
    >>> x = TensorRef.of(np.float32([[1, 2, 3]]), requires_grad=True)
    >>> with Tape() as tape:
    ...     y = F.sum(F.exp(x) * 2.0, dim=1)
    >>> graph = tape.to_graph()
    >>> graph
    graph(x0: float32[1, 3]) {
        v0: float32[1, 3] = exp(x0)
        v1: float32[1, 3] = mul(v0, other=2.0)
        v2: float32[1] = sum(v1, dim=1)
        return v2
    }
    >>> graph.replay([np.zeros((1, 3), np.float32)])
    [array([6.], dtype=float32)]
    >>> Graph.from_json(graph.to_json()).replay()[0] == y.numpy()
    array([ True])
    """

    values: dict[int, Value]
    nodes: tuple[Node, ...]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    replayable: bool = True
    reads: tuple[tuple[frozenset[int], str], ...] = ()
    """Numbers that the program read out of values before the graph was over: from which inputs and constants, and where."""
    writes: bool = False
    """Whether an operation writes to memory, which is then copied for each replay."""
    aliased: bool = False
    """Whether what is written to shares memory with another value."""

    @classmethod
    def from_tape(cls, tape: Tape, outputs: TensorRef | Sequence[TensorRef] | None = None, copy: bool = True) -> Graph:
        """The graph of a tape: of what leads to `outputs`, or of all that has a gradient (of everything, where nothing has one).

        The default tape keeps neither arguments nor intermediate tensors, so its graph, for given `outputs`, can be looked at but
        not replayed.

        Args:
            outputs: a tensor, or several.
            copy: copy the data of inputs and constants, so that the graph keeps what they are now.

        Raises:
            ArgumentError: an output is not on the tape, or none is given for the default tape.
        """
        outputs = None if outputs is None else tensors_of(outputs, "to_graph()")
        if isinstance(tape, DefaultTape):
            return _from_default(outputs)
        held = tape.held
        if outputs is not None:
            wanted: list[int] = []
            for output in outputs:
                id = held.id_of(output)
                if id is None or id in held.sources:
                    raise ArgumentError(f"Tensor {output.id} is not on the tape", expected="outputs recorded on this tape",
                                        found=argument_text(output),
                                        remedy="record it inside `with tape:`, and convert before the tape is cleared")
                wanted.append(id)
            operations = held.leading_to(wanted, [memory_of(o) for o in outputs])
        else:
            ends = [o for o in held.operations if o.entry.id in tape._entries] or held.operations
            used = {id for o in ends for id in o.inputs}
            wanted = [id for o in ends for id in o.outputs if id not in used]
            operations = held.leading_to(wanted, frozenset().union(*[o.writes for o in ends]))
        values: dict[int, Value] = {}
        nodes: list[Node] = []
        names = {"input": "x", "constant": "c", "result": "v"}
        counts = dict.fromkeys(names, 0)

        def add(id: int, ref: TensorRef, kind: str) -> None:
            data = None if kind == "result" else held.data_of(id, ref)
            values[id] = Value(id, f"{names[kind]}{counts[kind]}", held.shape_of(id, ref), ref.dtype, kind,
                               copies.of(data) if copy and data is not None else data, weakref.ref(ref))
            counts[kind] += 1

        copies = Copies()
        lying: dict[int, set[int]] = {}  # from memory to the tensors in it
        scopes = tape.scopes.paths(ids := [o.entry.id for o in operations])
        times, moved = {} if tape.clock is None else tape.clock.times(ids), held.moved()
        for operation, scope in zip(operations, scopes):
            refs, results = operation.refs
            for id, ref in zip(operation.inputs, refs):
                if id not in values:
                    add(id, ref, "input" if held.sources[id][1] else "constant")
            for id, ref in zip(operation.outputs, results):
                add(id, ref, "result")
            for ref in (*refs, *results):
                lying.setdefault(memory_of(ref), set()).add(builtins.id(ref))
            nodes.append(Node(operation.entry.id, operation.op_name, operation.inputs, operation.outputs, operation.arguments,
                              operation.inplace, operation.written, scope, saved_bytes(operation.entry),
                              times.get(operation.entry.id, (None, None)), moved.get(operation.entry.id, ())))
        inputs = tuple(v.id for v in values.values() if v.kind == "input")
        last = held.operations.index(operations[-1]) if operations else -1
        reads = tuple([(read.sources, read.place) for read in held.reads if read.before <= last])
        written = frozenset[int]().union(*[o.writes for o in operations])
        aliased = any([len(lying.get(m, ())) > 1 for m in written])  # an operation may have written to memory of its own, too
        return cls(values, tuple(nodes), inputs, tuple(wanted), True, reads, bool(written), aliased)

    # -- running --------------------------------------------------------------------------------------------------

    def run(self, env: dict[int, TensorRef], step: Callable[[Node, Sequence[TensorRef]], Sequence[TensorRef]]) -> dict[int, TensorRef]:
        """Walks the nodes in order: `step(node, inputs)` gives the tensors returned, `env` takes them, and those written to, by id."""
        for node in self.nodes:
            refs = [env[id] for id in node.inputs]
            env.update(zip(node.outputs, [*step(node, refs), *[refs[i] for i in node.written]], strict=True))
        return env

    def replay(self, inputs: Sequence[Any] | Mapping[Any, Any] | None = None, executor: Executor | None = None) -> list[np.ndarray]:
        """Computes the outputs anew. Random numbers are drawn anew.

        Args:
            inputs: arrays for `self.inputs` in order, or by name, id or tensor; the data the graph was recorded with where left out.
            executor: carries out the operations; the CPU's where None.

        Raises:
            ArgumentError: an unknown or superfluous input.
            AutogradError: an input has no data, or the graph came from the default tape; or data is given for an input out of which
                the program read a number (`x.item()`) before it was through, so that what it did next may not be what it would do now;
                or a view's memory is written to, and the executor's arrays share none.
        """
        if not self.replayable:
            raise AutogradError("This graph cannot be replayed", expected="a graph recorded inside `with Tape()`",
                                found="one of the default tape, which keeps no arguments", remedy="record inside `with Tape() as tape:`")
        executor = executor or executor_for(CPU)
        F = frontend_of(executor)
        if self.aliased and executor.name != "numpy":
            raise AutogradError("An operation of this graph writes to memory that a view shares", expected="the NumPy executor",
                                found=executor.name, remedy="use out-of-place operations in what other executors are to replay")
        given = self._given(inputs)
        for sources, place in self.reads:
            for id in sources.intersection(given):
                raise AutogradError(f"This graph cannot take other data for {self.values[id].name}: the program read a number that comes "
                                    f"from it, at {place}", expected="operations on tensors", found="a number in Python",
                                    remedy="compute with the operations of autograd_tape.F, or record again")
        copies = Copies()
        env: dict[int, TensorRef] = {}
        for value in self.values.values():
            if value.kind != "result":
                data = given.get(value.id, value.data)
                if data is None:
                    raise AutogradError(f"The input {value.name} has no data", expected=value.type_text, found="none",
                                        remedy=f"pass it to replay({{'{value.name}': array}})")
                data = buffer_of(data, None if isinstance(data, np.ndarray) or value.dtype is None else value.dtype.np)
                env[value.id] = TensorRef.over(copies.of(data) if self.writes else data)
        with _ModeContext(GradMode.DISABLED), aside():
            self.run(env, lambda node, refs: call(F, node.op, refs, node.arguments, node.inplace))
        # An operation may hand out the memory that it was given.
        return [env[id]._data.copy("K") for id in self.outputs]

    def _given(self, inputs: Sequence[Any] | Mapping[Any, Any] | None) -> dict[int, Any]:
        if inputs is None:
            return {}
        if not isinstance(inputs, Mapping):
            if not isinstance(inputs, (list, tuple)):
                raise ArgumentError("replay() takes its inputs in a list, or by name", expected="a list or a dict of arrays",
                                    found=type(inputs).__name__, remedy="pass [array, ...]")
            if len(inputs) > len(self.inputs):
                raise ArgumentError("replay() got too many inputs", expected=f"{len(self.inputs)} arrays", found=str(len(inputs)),
                                    remedy="pass one per graph input")
            inputs = dict(zip(self.inputs, inputs))
        names = {v.name: v.id for v in self.values.values() if v.kind != "result"}
        found = {}
        for key, array in inputs.items():
            id = key.id if isinstance(key, TensorRef) else names.get(key, key)
            if id not in self.values or self.values[id].kind == "result":
                raise ArgumentError(f"The graph has no input {key!r}", expected=", ".join(names), found=repr(key),
                                    remedy="use one of these names")
            found[id] = array_of(array) if isinstance(array, TensorRef) else array
        return found

    # -- looking --------------------------------------------------------------------------------------------------

    def __str__(self) -> str:
        return "\n".join(self._lines())

    def __repr__(self) -> str:
        """The text, without the middle of a long one."""
        lines = self._lines()
        return "\n".join(lines if len(lines) <= 2 * SHOWN else [*lines[:SHOWN], f"    ... {len(lines) - 2 * SHOWN} more", *lines[-SHOWN:]])

    def _lines(self) -> list[str]:
        v = self.values
        head = ", ".join(f"{v[id].name}: {v[id].type_text}" for id in self.inputs)
        lines = [f"graph({head}) {{"]
        lines += [f"    {c.name}: {c.type_text} = constant" for c in v.values() if c.kind == "constant"]
        lines += [f"    {self.line(node)}" for node in self.nodes]
        return [*lines, f"    return {', '.join(v[id].name for id in self.outputs)}", "}"]

    def draw(self, file: Any = None, *, grads: Mapping[Any, Any] | None = None) -> Drawing:
        """The graph as a picture: a box for each operation, input and constant, and one around those of a module or another part of the
        program. Gradients that are known by now are shown by their norms.

        Args:
            file: where to write it, too: the name of a file, which ends in .svg, or a file object.
            grads: gradients by tensor id, as `backward` returns them, beside those that tensors have.

        Returns:
            The drawing, which Jupyter shows.

        Raises:
            ArgumentError: the file is of another kind; nothing is written.

        >>> from autograd_tape import Tape, TensorRef
        >>> x = TensorRef.of([1.0], requires_grad=True)
        >>> with Tape() as tape:
        ...     y = x * x
        >>> tape.to_graph().draw()
        <Drawing: 1 operation, 1 input>
        """
        drawing: Drawing = above.show.draw(self, file, grads=grads)
        return drawing

    def summary(self) -> Summary:
        """The operations as a table."""
        found: Summary = above.show.summary(self)
        return found

    def _repr_html_(self) -> str:
        text: str = above.show.graph_html(self)
        return text

    def line(self, node: Node) -> str:
        """A node as text: `v1: float32[2] = sum(v0, dim=1)`."""
        v = self.values
        outputs = ", ".join(f"{v[id].name}: {v[id].type_text}" if v[id].dtype else v[id].name for id in node.outputs)
        named = [v[id].name for id in node.inputs]
        further = [name + argument_text(x, named) for name, x in spelled(node.arguments)]
        slots = _slots(node.arguments)
        arguments = [name for i, name in enumerate(named) if i not in slots] + further
        return f"{outputs} = {node.op}{'_' if node.inplace else ''}({', '.join(arguments)})"

    def to_dot(self) -> str:
        """The graph in Graphviz's language: boxes are operations, ellipses are inputs and constants.

        >>> from autograd_tape import Tape, TensorRef
        >>> x = TensorRef.of([1.0], requires_grad=True)
        >>> with Tape() as tape:
        ...     y = x * x
        >>> print(tape.to_graph().to_dot())
        digraph tape {
            rankdir=TB; node [fontname="monospace"];
            "x0" [label="x0\\nfloat64[1]", shape=ellipse, style=filled, fillcolor=lightblue];
            "n0" [label="mul", shape=box];
            "x0" -> "n0";
            "x0" -> "n0";
            "v0" [label="v0\\nfloat64[1]", shape=ellipse, style=filled, fillcolor=lightgreen];
            "n0" -> "v0";
        }
        """
        maker = {id: f"n{i}" for i, node in enumerate(self.nodes) for id in node.outputs}
        v = self.values

        def ellipse(value: Value, colour: str) -> str:
            return (f'    "{value.name}" [label="{_escape(value.name)}\\n{_escape(value.type_text)}", shape=ellipse, style=filled, '
                    f"fillcolor={colour}];")

        lines = ["digraph tape {", '    rankdir=TB; node [fontname="monospace"];']
        lines += [ellipse(x, "lightblue" if x.kind == "input" else "lightgrey") for x in v.values() if x.kind != "result"]
        for i, node in enumerate(self.nodes):
            named = [v[id].name for id in node.inputs]
            further = "".join(f"\\n{_escape(k)}={_escape(argument_text(x, named))}" for k, x in node.arguments.items())
            lines.append(f'    "n{i}" [label="{_escape(node.op)}{"_" if node.inplace else ""}{further}", shape=box];')
            for id in node.inputs:
                source, label = maker.get(id), v[id].type_text
                lines.append(f'    "{v[id].name}" -> "n{i}";' if source is None else f'    "{source}" -> "n{i}" '
                                                                                     f'[label="{_escape(label)}"];')
        for id in self.outputs:
            lines += [ellipse(v[id], "lightgreen"), f'    "{maker[id]}" -> "{v[id].name}";']
        return "\n".join([*lines, "}"])

    # -- JSON -----------------------------------------------------------------------------------------------------

    def to_json(self, *, data: bool = True, indent: int | None = None) -> str:
        """The graph as JSON text, read by `from_json`; without the data of inputs where `data` is False.

        Raises:
            ArgumentError: an argument of an operation has no JSON form (a generator, say).
        """
        document = {
            "format": FORMAT,
            "values": [{"id": v.id, "name": v.name, "shape": None if v.shape is None else list(v.shape),
                        "dtype": None if v.dtype is None else v.dtype.name, "kind": v.kind,
                        "data": None if v.data is None or v.kind == "input" and not data else _encode(v.data)}
                       for v in self.values.values()],
            "nodes": [{"id": n.id, "op": n.op, "inputs": list(n.inputs), "outputs": list(n.outputs), "inplace": n.inplace,
                       "arguments": {k: _encode(x, f"argument '{k}' of '{n.op}'") for k, x in n.arguments.items()},
                       "written": list(n.written), "scope": list(n.scope), "saved": n.saved} for n in self.nodes],
            "inputs": list(self.inputs), "outputs": list(self.outputs), "replayable": self.replayable,
            "reads": [[sorted(sources), place] for sources, place in self.reads], "writes": self.writes, "aliased": self.aliased,
        }
        return json.dumps(document, indent=indent, allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> Graph:
        """The graph that `to_json` wrote.

        Raises:
            ArgumentError: the text is no such graph.
        """
        try:
            document = json.loads(text)
            if document["format"] != FORMAT:
                raise ValueError(f"format {document['format']!r}")
            values = {v["id"]: Value(v["id"], v["name"], None if v["shape"] is None else tuple(v["shape"]),
                                     None if v["dtype"] is None else DType.by_name[v["dtype"]], v["kind"], _decode(v["data"]))
                      for v in document["values"]}
            nodes = tuple(Node(n["id"], n["op"], tuple(n["inputs"]), tuple(n["outputs"]),
                               {k: _decode(x) for k, x in n["arguments"].items()}, n["inplace"], tuple(n["written"]),
                               tuple(n.get("scope", ())), n.get("saved"))
                          for n in document["nodes"])
            graph = cls(values, nodes, tuple(document["inputs"]), tuple(document["outputs"]), document["replayable"],
                        tuple([(frozenset(sources), place) for sources, place in document["reads"]]), document["writes"],
                        document["aliased"])
            known = set(values)
            if any(id not in known for n in nodes for id in (*n.inputs, *n.outputs)) or not known.issuperset(graph.outputs):
                raise ValueError("a node refers to a value that is not there")
            return graph
        except (ValueError, KeyError, TypeError) as error:
            raise ArgumentError("This text is no graph", expected=f"JSON as Graph.to_json writes it ({FORMAT})", found=str(error),
                                remedy="pass the text of to_json()") from None


# -- from entries -----------------------------------------------------------------------------------------------------


def _from_default(outputs: Sequence[TensorRef] | None) -> Graph:
    if not outputs:
        raise ArgumentError("The default tape needs outputs to make a graph of", expected="outputs=[...]", found="none",
                            remedy="pass the tensors whose graph is wanted, or record inside `with Tape() as tape:`")
    entries: dict[int, TapeEntry] = {}
    leaves: dict[int, TensorRef] = {}
    stack = [edge_of(o) for o in outputs]
    while stack:
        edge = stack.pop()
        if edge is None:
            continue
        if edge._tag == 1:
            leaves[edge.id] = edge
            continue
        entry = edge.entry if edge._tag == 2 else edge
        if entry.id not in entries:
            entries[entry.id] = entry
            stack += entry.edges
    values = {id: Value(id, f"x{i}", tuple(ref.shape), ref.dtype, "input", ref._data, weakref.ref(ref))
              for i, (id, ref) in enumerate(leaves.items())}
    known = {o.id: o for o in outputs}
    for entry in entries.values():  # what others saved of a value tells its shape
        known |= {s.id: s for s in saved_refs(entry) if not s.is_leaf}
    nodes, count = [], 0
    for id in sorted(entries):
        entry = entries[id]
        made = tuple(range(entry.id - entry.n_outputs + 1, entry.id + 1))
        for out in made:
            ref = known.get(out)
            values[out] = Value(out, f"v{count}", None if ref is None else tuple(ref.shape), None if ref is None else ref.dtype, "result")
            count += 1
        nodes.append(Node(entry.id, entry.op_name, tuple(e.id for e in entry.edges if e is not None), made,
                          saved=saved_bytes(entry), moved=tuple([("backward", c) for c in getattr(entry, "moved", ())])))
    return Graph(values, tuple(nodes), tuple(leaves), tuple(o.id for o in outputs), replayable=False)


# -- text -----------------------------------------------------------------------------------------------------------


def _slots(arguments: object) -> set[int]:
    """The inputs that stand in arguments."""
    if isinstance(arguments, Slot):
        return {arguments.index}
    if isinstance(arguments, Indices):
        arguments = arguments.key
    elif isinstance(arguments, slice):
        arguments = arguments.start, arguments.stop, arguments.step
    elif isinstance(arguments, dict):
        arguments = arguments.values()
    return {i for x in arguments for i in _slots(x)} if isinstance(arguments, (tuple, list, type({}.values()))) else set()


def spelled(arguments: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """Arguments of an operation, each after what stands before it in a call: `dim=`, or nothing where it is given by position."""
    return [*[("", x) for x in arguments.get("*", ())], *[(f"{name}=", x) for name, x in arguments.items() if name != "*"]]


def argument_text(value: object, names: Sequence[str] = ()) -> str:
    if isinstance(value, Slot):
        return names[value.index]
    if isinstance(value, (tuple, list)) and _slots(value):
        return f"[{', '.join(argument_text(x, names) for x in value)}]"
    if isinstance(value, (TensorRef, np.ndarray)):
        return f"{value.dtype.name}{list(value.shape)}"
    if isinstance(value, Indices):
        return f"[{', '.join(':' if x is ALL else argument_text(x, names) for x in value.key)}]"
    if isinstance(value, Table):
        return argument_text(value.array)
    return value.name if isinstance(value, DType) else repr(value)


def _escape(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')


def _encode(value: object, where: str = "a value") -> Any:
    if value is None or isinstance(value, (bool, int, str)) or isinstance(value, float) and math.isfinite(value):
        return value
    if isinstance(value, float):
        return {"float": repr(value)}
    if isinstance(value, complex):
        return {"complex": [repr(value.real), repr(value.imag)]}
    if isinstance(value, np.generic):
        return _encode(value.item(), where)
    if isinstance(value, DType):
        return {"dtype": value.name}
    if isinstance(value, np.dtype) and value in DType.by_np:
        return {"numpy": DType.by_np[value].name}
    if isinstance(value, list):
        return [_encode(x, where) for x in value]
    if isinstance(value, tuple):
        return {"tuple": [_encode(x, where) for x in value]}
    if isinstance(value, slice):
        return {"slice": [_encode(x, where) for x in (value.start, value.stop, value.step)]}
    if isinstance(value, Slot):
        return {"slot": value.index}
    if value is Ellipsis:
        return {"ellipsis": True}
    if isinstance(value, Indices):
        return {"indices": [None if x is ALL else _encode(x, where) for x in value.key]}
    if isinstance(value, Table):
        return {"table": _encode(value.array, where)}
    if isinstance(value, TensorRef):
        return {"tensor": _encode(value.numpy(), where)}
    if isinstance(value, np.ndarray) and value.dtype in DType.by_np:
        content = base64.b64encode(np.ascontiguousarray(value).tobytes()).decode()
        return {"array": content, "shape": list(value.shape), "dtype": DType.by_np[value.dtype].name}
    raise ArgumentError(f"{where} has no JSON form", expected="numbers, strings, dtypes, slices, arrays, tuples and lists",
                        found=type(value).__name__, remedy="replay the graph in this process instead")


def _decode(value: Any) -> Any:
    if isinstance(value, list):
        return [_decode(x) for x in value]
    if not isinstance(value, dict):
        return value
    if "array" in value:
        data = np.frombuffer(base64.b64decode(value["array"]), DType.by_name[value["dtype"]].np)
        return data.reshape(value["shape"]).copy()
    (key, content), = value.items()
    if key == "float":
        return float(content)
    if key == "complex":
        return complex(float(content[0]), float(content[1]))
    if key == "dtype":
        return DType.by_name[content]
    if key == "numpy":
        return DType.by_name[content].np
    if key == "tuple":
        return tuple(_decode(x) for x in content)
    if key == "slice":
        return slice(*[_decode(x) for x in content])
    if key == "slot":
        return Slot(content)
    if key == "ellipsis":
        return Ellipsis
    if key == "indices":
        return Indices([ALL if x is None else _decode(x) for x in content])
    if key == "table":
        return Table(_decode(content))
    if key == "tensor":
        return TensorRef.over(_decode(content))
    raise ValueError(f"unknown tag {key!r}")
