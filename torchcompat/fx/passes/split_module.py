"""A graph cut into parts, each the graph of a submodule."""

from __future__ import annotations

from typing import Any
from collections.abc import Callable

from autograd_tape.annotations import Keywords
from torchcompat._calls.absent import absences as _absences
from torchcompat.fx.graph import Graph
from torchcompat.fx.graph_module import GraphModule
from torchcompat.fx.node import Node, map_arg
from torchcompat.nn import Module

__all__ = ["Partition", "split_module"]


class Partition:
    """One part: its nodes, what comes in, what goes out, and on which other parts it depends."""

    def __init__(self, name: str) -> None:
        self.name, self.submod_name = name, f"submod_{name}"
        self.node_names: list[str] = []
        self.inputs: dict[str, None] = {}
        self.outputs: dict[str, None] = {}
        self.dependencies: dict[str, None] = {}
        self.dependents: dict[str, None] = {}
        self.graph = Graph()
        self.environment: dict[Node, Node] = {}
        self.targets: Keywords = {}

    def __repr__(self) -> str:
        return (f"name: {self.name},\n nodes: {self.node_names},\n inputs: {self.inputs},\n outputs: {self.outputs},\n"
                f" partitions depended on: {self.dependencies},\n partition dependents: {self.dependents}")


def _sorted(partitions: dict[str, Partition]) -> list[str]:
    """The parts, each behind those that it depends on.

    Raises:
        RuntimeError: they depend on each other in a circle.
    """
    left = {name: set(part.dependencies) for name, part in partitions.items()}
    done: list[str] = []
    ready = [name for name, needs in left.items() if not needs]
    while ready:
        done.append(name := ready.pop(0))
        for dependent in partitions[name].dependents:
            left[dependent].discard(name)
            if not left[dependent]:
                ready.append(dependent)
    if len(done) < len(partitions):
        raise RuntimeError("cycle exists between partitions!")
    return done


def split_module(m: GraphModule, root_m: Module, split_callback: Callable[[Node], Any], qualname_map: dict[str, str] | None = None,
                 keep_original_order: bool | None = False, keep_original_node_name: bool | None = False,
                 keep_original_input_name: bool = True, **options: Any) -> GraphModule:
    """A module with a submodule for each part of the graph.

    Args:
        split_callback: the part (a number or a name) that a node belongs to.
        qualname_map: gets the original names of submodules by those they have in the parts.

    Raises:
        RuntimeError: parts depend on each other in a circle.
    """
    partitions: dict[str, Partition] = {}
    of: dict[Node, str] = {}
    plain = ("placeholder", "get_attr", "output")
    for node in m.graph.nodes:
        if node.op in plain:
            continue
        name = of[node] = str(split_callback(node))
        partitions.setdefault(name, Partition(name)).node_names.append(node.name)
    original = {node.name: node for node in m.graph.nodes}

    def crosses(value: Node, user: Node) -> None:
        origin, place = of.get(value), of.get(user)
        if origin == place:
            return
        if origin is not None:
            partitions[origin].outputs.setdefault(value.name)
        if place is not None and value.op != "get_attr":
            partitions[place].inputs.setdefault(value.name)
            if origin is not None:
                partitions[place].dependencies.setdefault(origin)
                partitions[origin].dependents.setdefault(place)

    for node in m.graph.nodes:
        for value in node.all_input_nodes:
            crosses(value, node)
    order = _sorted(partitions) if not keep_original_order else list(partitions)
    for part in partitions.values():
        for name in part.inputs:
            source = original[name]
            stand_in = part.graph.placeholder(name, type_expr=source.type)
            stand_in.meta = source.meta.copy()
            part.environment[source] = stand_in
    for node in m.graph.nodes:
        if node in of:
            _copy_into(partitions[of[node]], node, m, qualname_map, bool(keep_original_node_name))
    graph = Graph()
    values: dict[Node, Node] = {}
    owned: Keywords = {}
    for node in m.graph.nodes:
        if node.op in ("placeholder", "get_attr") and (node.op == "placeholder" or any([user not in of for user in node.users])):
            values[node] = graph.node_copy(node, lambda n: values[n])
            if node.op == "get_attr":
                owned[node.target] = _value(m, node.target)
    for name in order:
        part = partitions[name]
        outs = tuple([part.environment[original[o]] for o in part.outputs])
        part.graph.output(outs[0] if len(outs) == 1 else outs)
        owned[part.submod_name] = GraphModule(part.targets, part.graph)
        call = graph.call_module(part.submod_name, tuple([values[original[i]] for i in part.inputs]))
        if len(part.outputs) > 1:
            import operator

            for position, output in enumerate(part.outputs):
                values[original[output]] = graph.call_function(operator.getitem, (call, position))
        elif part.outputs:
            values[original[next(iter(part.outputs))]] = call
    end = m.graph.output_node()
    graph.output(map_arg(end.args[0], lambda n: values[n]), end.type)
    return GraphModule(owned, graph)


def _value(module: Any, path: str) -> Any:
    for name in path.split("."):
        if not hasattr(module, name):
            raise AttributeError(f"Node target {path} not found!")
        module = getattr(module, name)
    return module


def _copy_into(part: Partition, node: Node, m: Module, names: dict[str, str] | None, keep: bool) -> None:
    """Copies a node to its part, with what it refers to."""

    def here(value: Node) -> Node:
        if value not in part.environment and value.op == "get_attr":
            target = value.target.replace(".", "_")
            part.environment[value] = part.graph.get_attr(target)
            part.targets[target] = _value(m, value.target)
        return part.environment[value]

    target = node.target
    args, kwargs = map_arg(node.args, here), map_arg(node.kwargs, here)
    if node.op == "call_module":
        target = node.target.replace(".", "_")
        part.targets[target] = _value(m, node.target)
        if names is not None:
            names[f"{part.submod_name}.{target}"] = node.target
    made = part.graph.create_node(node.op, target, args, kwargs, node.name if keep else None, node.type)
    made.meta = node.meta.copy()
    part.environment[node] = made


_absences(__name__)
