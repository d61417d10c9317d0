"""Programs in files: a zip archive with a graph as JSON, and with tensors as `torch.save` writes them.

Nothing of a file is run. Operations are those of ATen that are here, by name, and a few of Python's for sizes; names are identifiers, since
code is written with them; tensors are read as weights.
"""

from __future__ import annotations

import io
import json
import keyword
import math
import operator
import os
import re
import zipfile
from collections import OrderedDict
from typing import IO, Any

from autograd_tape.ops import ALIASES, RECORDS
import torchcompat as torch
from torchcompat._calls.aten import FUNCTIONS
from torchcompat.fx.graph import Graph
from torchcompat.fx.node import Node
from torchcompat.nn import Module
from torchcompat.utils import _pytree as pytree

from .dynamic_shapes import Constraint, Symbol
from .exported_program import ExportedProgram, Guard, ModuleCallEntry, ModuleCallSignature
from .graph_signature import (
    ConstantArgument, ExportGraphSignature, InputKind, InputSpec, OutputKind, OutputSpec, TensorArgument,
)

FORMAT = 1
_PYTHON = {f"operator.{f.__name__}": f for f in (operator.getitem, operator.mul, operator.add, operator.sub, operator.floordiv)}
_CONTAINERS = {"tuple": tuple, "list": list, "dict": dict, "OrderedDict": OrderedDict}
_REFUSED = frozenset(["from_file"])
"""Operations that read what is not in the program."""


def _is_operation(name: str) -> bool:
    """Whether ATen's operation of a name may stand in a file: it is one of a record's, or of ATen alone."""
    plain = name.removesuffix("_")
    known = any([n in RECORDS or n in ALIASES or n in FUNCTIONS or f"nn_functional_{n}" in RECORDS for n in (name, plain)])
    return known and not name.startswith("__") and plain not in _REFUSED or plain.startswith("_") and plain[1:] in RECORDS or (
        name in ("detach_", "lift_fresh_copy", "native_batch_norm", "native_layer_norm", "native_group_norm"))


def _identifier(name: object) -> str:
    if not isinstance(name, str) or not name.isidentifier() or keyword.iskeyword(name):
        raise RuntimeError(f"the file of a program has {name!r} where there must be a name")
    return name


def _path(name: object) -> str:
    if not isinstance(name, str) or not re.fullmatch(r"\w+(\.\w+)*", name):
        raise RuntimeError(f"the file of a program has {name!r} where there must be the path of a tensor")
    return name


def _target_text(target: Any) -> str:
    text = f"operator.{target.__name__}"
    if _PYTHON.get(text) is target:
        return text
    if getattr(target, "_namespace", "") != "aten" or not _is_operation(target._opname):
        raise RuntimeError(f"a program that calls {target} cannot be written to a file")
    return str(target)


def _target(text: object) -> Any:
    if text in _PYTHON:
        return _PYTHON[str(text)]
    parts = str(text).split(".")
    if len(parts) != 3 or parts[0] != "aten" or not all([p.isidentifier() for p in parts]) or not _is_operation(parts[1]):
        raise RuntimeError(f"the file of a program has {text!r} where there must be an operation")
    return getattr(getattr(torch.ops.aten, parts[1]), parts[2])


_KINDS = {"dtype": torch.dtype, "layout": torch.layout, "memory_format": torch.memory_format}


def _written(value: Any) -> Any:
    """A value of a graph as JSON has it."""
    if isinstance(value, Node):
        return {"node": value.name}
    if value is None or isinstance(value, (bool, int, str)) or isinstance(value, float) and math.isfinite(value):
        return value
    if isinstance(value, (float, complex)):
        return {type(value).__name__: repr(value)}
    if isinstance(value, (tuple, list)):
        items = [_written(v) for v in value]
        return items if isinstance(value, list) else {"tuple": items}
    if isinstance(value, dict):
        return {"dict": [[_written(k), _written(v)] for k, v in value.items()]}
    if isinstance(value, slice):
        return {"slice": [_written(value.start), _written(value.stop), _written(value.step)]}
    if isinstance(value, torch.device):
        return {"device": str(value)}
    for kind, cls in _KINDS.items():
        if isinstance(value, cls):
            return {kind: str(value).removeprefix("torch.")}
    raise RuntimeError(f"a program with a value of type {type(value)} cannot be written to a file")


def _read(value: Any, nodes: dict[str, Node]) -> Any:
    """A value of a graph of what JSON has."""
    if isinstance(value, list):
        return [_read(v, nodes) for v in value]
    if not isinstance(value, dict):
        return value
    (kind, inner), = value.items()
    if kind == "node":
        return nodes[inner]
    if kind in ("float", "complex"):
        return float(inner) if kind == "float" else complex(inner)
    if kind == "device":
        return torch.device(inner)
    if kind in _KINDS:
        found = getattr(torch, _identifier(inner))
        if not isinstance(found, _KINDS[kind]):
            raise RuntimeError(f"the file of a program has {inner!r} where there must be a {kind}")
        return found
    items = [_read(v, nodes) for v in inner]
    return tuple(items) if kind == "tuple" else slice(*items) if kind == "slice" else {k: v for k, v in items}


def _spec_written(spec: pytree.TreeSpec) -> Any:
    if spec.is_leaf():
        return None
    name = spec.type.__name__
    if _CONTAINERS.get(name) is not spec.type:
        raise RuntimeError(f"a program with arguments or results of type {spec.type} cannot be written to a file")
    return [name, None if spec.context is None else [_written(k) for k in spec.context], [_spec_written(c) for c in spec.children()]]


def _container(said: Any) -> Any:
    """A container of leaves as a spec in a file says."""
    if said is None:
        return 0
    name, keys, children = said
    inner = [_container(c) for c in children]
    made = _CONTAINERS[name]
    return made(inner) if keys is None else made(zip([_read(k, {}) for k in keys], inner))


def _argument(argument: Any) -> Any:
    return [argument.name] if isinstance(argument, TensorArgument) else [argument.name, _written(argument.value)]


def _argument_of(said: Any) -> Any:
    return TensorArgument(said[0]) if len(said) == 1 else ConstantArgument(said[0], _read(said[1], {}))


def _node_written(node: Node) -> dict[str, Any]:
    value = node.meta.get("val")
    known = [str(value.dtype).removeprefix("torch."), list(value.shape), list(value.stride())] if isinstance(value, torch.Tensor) else None
    return {"op": node.op, "name": node.name, "target": _target_text(node.target) if node.op == "call_function" else node.target,
            "args": [_written(a) for a in node.args], "kwargs": {k: _written(v) for k, v in node.kwargs.items()},
            "value": known, "sizes": node.meta.get("sizes"), "stack_trace": node.stack_trace}


def _graph_of(said: list[dict[str, Any]]) -> Graph:
    graph = Graph()
    nodes: dict[str, Node] = {}
    for line in said:
        op, name = line["op"], _identifier(line["name"])
        if op not in ("placeholder", "call_function", "output"):
            raise RuntimeError(f"the file of a program has {op!r} where there must be what a node does")
        target = _target(line["target"]) if op == "call_function" else _identifier(line["target"])
        kwargs = {_identifier(k): _read(v, nodes) for k, v in line["kwargs"].items()}
        args = () if op == "placeholder" else tuple([_read(a, nodes) for a in line["args"]])
        node = nodes[name] = graph.create_node(op, target, args, kwargs, name=name)
        node.name = name
        if line["value"] is not None:
            dtype, shape, stride = line["value"]
            node.meta["val"] = torch.empty_strided(shape, stride, dtype=_read({"dtype": dtype}, {}), device="meta")
        node.meta |= {k: line[k] for k in ("sizes", "stack_trace") if line[k] is not None}
    return graph


def _tensors(values: object) -> bytes:
    stream = io.BytesIO()
    torch.save(values, stream)
    return stream.getvalue()


def save(ep: ExportedProgram, f: str | os.PathLike[str] | IO[bytes], *, extra_files: dict[str, Any] | None = None,
         opset_version: dict[str, int] | None = None, pickle_protocol: int = 2) -> None:
    """Writes a program to a file.

    Args:
        extra_files: texts by name, to be written beside it.

    Raises:
        TypeError: `ep` is no program.
        RuntimeError: the program calls, or takes, what no file can hold.
    """
    if not isinstance(ep, ExportedProgram):
        raise TypeError(f"The 'ep' parameter must be an instance of 'ExportedProgram', got '{type(ep).__name__}' instead.")
    signature = ep.module_call_graph[0].signature
    assert signature is not None
    inputs = [[s.kind.name, _argument(s.arg), s.target, s.persistent] for s in ep.graph_signature.input_specs]
    outputs = [[s.kind.name, _argument(s.arg), s.target] for s in ep.graph_signature.output_specs]
    program = {"format": FORMAT, "nodes": [_node_written(node) for node in ep.graph.nodes], "inputs": inputs, "outputs": outputs,
               "in_spec": _spec_written(signature.in_spec), "out_spec": _spec_written(signature.out_spec),
               "names": signature.forward_arg_names, "modules": [entry.fqn for entry in ep.module_call_graph[1:]],
               "guards": [[*guard[:3], _written(guard.value), guard.sign, guard.other] for guard in ep._guards],
               "symbols": [list(symbol) for symbol in ep._symbols]}
    text = json.dumps(program)
    with zipfile.ZipFile(f, "w") as archive:
        archive.writestr("archive/models/program.json", text)
        archive.writestr("archive/data/weights.pt", _tensors(OrderedDict(ep.state_dict)))
        archive.writestr("archive/data/constants.pt", _tensors(dict(ep.constants)))
        archive.writestr("archive/data/sample_inputs.pt", _tensors(ep.example_inputs))
        for name, content in (extra_files or {}).items():
            archive.writestr(f"archive/extra/{name}", content)


def load(f: str | os.PathLike[str] | IO[bytes], *, extra_files: dict[str, Any] | None = None,
         expected_opset_version: dict[str, int] | None = None) -> ExportedProgram:
    """A program from a file that `save` wrote. Nothing in the file is run, until the program is.

    Args:
        extra_files: texts by name, which are replaced by those in the file.

    Raises:
        RuntimeError: the file holds no program, or one that was changed.
        zipfile.BadZipFile: it is no archive.
    """
    with zipfile.ZipFile(f) as archive:
        names = set(archive.namelist())
        if "archive/models/program.json" not in names:
            raise RuntimeError("the file holds no program that `torchcompat.export.save` wrote")
        said = json.loads(archive.read("archive/models/program.json"))
        state, constants, examples = [torch.load(io.BytesIO(archive.read(f"archive/data/{name}.pt")), weights_only=True)
                                      for name in ("weights", "constants", "sample_inputs")]
        for name in extra_files or {}:
            extra_files[name] = archive.read(f"archive/extra/{name}").decode()  # type: ignore[index]
    try:
        return _program(said, state, constants, examples)
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
        raise RuntimeError(f"the file of a program was changed: {error}") from error


def _program(said: dict[str, Any], state: Any, constants: Any, examples: Any) -> ExportedProgram:
    if said["format"] != FORMAT:
        raise RuntimeError(f"the file of a program has format {said['format']!r}, this reads {FORMAT}")
    graph = _graph_of(said["nodes"])
    inputs = [InputSpec(InputKind[kind], _argument_of(arg), None if target is None else _path(target), persistent)
              for kind, arg, target, persistent in said["inputs"]]
    outputs = [OutputSpec(OutputKind[kind], _argument_of(arg), target) for kind, arg, target in said["outputs"]]
    in_spec, out_spec = [pytree.tree_structure(_container(said[key])) for key in ("in_spec", "out_spec")]
    for name in in_spec.children()[1].context or ():
        _identifier(name)
    whole = ModuleCallSignature([], [], in_spec, out_spec, [_identifier(name) for name in said["names"]])
    guards = [Guard(leaf, text, dim, _read(value, {}), sign, None if other is None else tuple(other))
              for leaf, text, dim, value, sign, other in said["guards"]]
    symbols = [Symbol(name, low, high, tuple([tuple(p) for p in places]), base, auto)
               for name, low, high, places, base, auto in said["symbols"]]
    made = ExportedProgram(Module(), graph, ExportGraphSignature(inputs, outputs), state, {s.name: Constraint(*s.bounds) for s in symbols},
                           [ModuleCallEntry("", whole), *[ModuleCallEntry(name) for name in said["modules"]]], examples, constants,
                           guards=guards, symbols=symbols)
    for spec in inputs:
        if spec.target is not None and spec.target not in state and spec.target not in constants:
            raise RuntimeError(f"the file of a program lacks the tensor {spec.target!r}")
    made.validate()
    return made
