"""Graphs of what functions do to named inputs, with all tensors that they use besides as inputs too."""

from __future__ import annotations

import re
from typing import Any, NamedTuple
from collections.abc import Callable, Iterable, Mapping, Sequence

from autograd_tape.annotations import Fn
import torchcompat as torch
from torchcompat.fx.experimental.proxy_tensor import (
    ProxyTorchDispatchMode, PythonKeyTracer, disable_proxy_modes_tracing, get_proxy_mode,
)
from torchcompat.fx.graph import Graph
from torchcompat.fx.node import Node
from torchcompat.nn import Module
from torchcompat.utils import _pytree as pytree


class Recorded(NamedTuple):
    """A graph whose inputs are all its tensors.

    Attributes:
        graph: its output is a tuple.
        constants: tensors that are neither inputs nor computed, by the names of their inputs, which come before `user_input`.
        outputs: the values of the output.
        out_spec: how the function's result is made of them.
        broken: why the graph is not all that was done, where that may be.
    """

    graph: Graph
    constants: dict[str, torch.Tensor]
    outputs: list[Any]
    out_spec: pytree.TreeSpec
    broken: str = ""


class _Recorder(PythonKeyTracer):
    """Makes the graph, and keeps the values of tensors from outside, as they were when they were first used."""

    def __init__(self) -> None:
        super().__init__()
        self.before: dict[int, tuple[torch.Tensor, torch.Tensor]] = {}

    def create_arg(self, a: object) -> Any:
        """What stands for a value."""
        if isinstance(a, torch.Tensor) and not a.requires_grad and id(a) not in self.before:
            with disable_proxy_modes_tracing():
                self.before[id(a)] = a, a.clone()
        return super().create_arg(a)

    def restore(self) -> None:
        """Gives tensors from outside that were changed the values they had."""
        for tensor, value in self.before.values():
            if not torch.equal(tensor, value):
                tensor.copy_(value)


def identifier(name: str) -> str:
    """A name in which everything but letters and digits is an underscore."""
    return re.sub(r"[^a-zA-Z0-9]", "_", name)


def record(function: Callable[..., Any], inputs: Sequence[tuple[str, Any]], before: int, *, pre_dispatch: bool,
           name_of: Callable[[Any], str | None], table: Mapping[Any, Fn] | None = None, may_break: bool = False) -> Recorded:
    """The graph of what `function` does to values. Tensors besides them that it changes are as they were before, unless it broke.

    Args:
        inputs: names and values of the arguments.
        before: where among the inputs those of constants come.
        name_of: the name of a tensor that is no argument, None where it has none.
        table: functions by operations of ATen that are to be made of others.
        may_break: whether `function` may ask for values of tensors; the graph is not all of it then.
    """
    tracer = _Recorder()
    tracer.root, tracer.graph = Module(), Graph(tracer_cls=PythonKeyTracer)
    tracer.record_stack_traces = True
    nodes: list[Node] = []
    for name, value in inputs:
        proxy = tracer.create_proxy("placeholder", name, (), {})
        proxy.node.meta.pop("stack_trace", None)
        if proxy.node.name != name and name not in [node.name for node in nodes]:
            proxy.node.name = name  # also that of a function of Python's, which code writes otherwise
        tracer.track(value, proxy)
        nodes.append(proxy.node)
    mode = ProxyTorchDispatchMode(tracer, pre_dispatch=pre_dispatch, decomposition_table=table, _error_on_data_dependent_ops=not may_break)
    with mode:
        result = function(*[value for _, value in inputs])
    if not mode.ended:
        tracer.restore()
    outputs, out_spec = pytree.tree_flatten(result)
    tracer.create_node("output", "output", (tuple([tracer.create_arg(tracer.known(value)) for value in outputs]),), {})
    place = nodes[before] if before < len(nodes) else next(n for n in tracer.graph.nodes if n.op != "placeholder")
    constants = _lift(tracer, place, name_of)
    return Recorded(tracer.graph, constants, outputs, out_spec, mode.ended)


def _lift(tracer: PythonKeyTracer, place: Node, name_of: Callable[[Any], str | None]) -> dict[str, torch.Tensor]:
    """Makes inputs, in front of `place`, of the attributes of the root that the graph uses."""
    graph = tracer.graph
    made: dict[str, Node] = {}
    constants: dict[str, torch.Tensor] = {}
    for node in [n for n in graph.nodes if n.op == "get_attr"]:
        if node.target not in made:
            value = getattr(tracer.root, node.target)
            name = name_of(value)
            if name is None:
                name = f"lifted_tensor_{sum([n.startswith('lifted_tensor_') for n in constants])}"
            with graph.inserting_before(place):
                made[node.target] = graph.placeholder("c_" + identifier(name))
            made[node.target].meta.update({k: v for k, v in node.meta.items() if k != "stack_trace"})
            constants[name] = value
        node.replace_all_uses_with(made[node.target])
        graph.erase_node(node)
    return constants


def _normalized(input: Any, weight: Any, bias: Any, running_mean: Any, running_var: Any, training: bool, momentum: float,
                eps: float) -> Any:
    """Batch normalization whose new running statistics are results."""
    aten, mode = torch.ops.aten, get_proxy_mode()
    if mode is None or running_mean is None:
        return NotImplemented
    if not training:
        return mode.whole(aten._native_batch_norm_legit_no_training.default, input, weight, bias, running_mean, running_var, momentum, eps)
    statistics = running_mean, running_var
    found = mode.whole(aten._native_batch_norm_legit_functional.default, input, weight, bias, *statistics, True, momentum, eps)
    running_mean.copy_(found[3])
    running_var.copy_(found[4])
    return found[:3]


def functional_forms() -> dict[Any, Fn]:
    """What programs have in the place of operations that change buffers by the way."""
    return {torch.ops.aten.native_batch_norm.default: _normalized}


def without_unused(graph: Graph) -> None:
    """Takes out what computes values that nobody uses, and does no more than that."""
    graph.eliminate_dead_code(lambda node: node.op in ("placeholder", "output") or _changes(node))


def _changes(node: Node) -> bool:
    name = getattr(node.target, "_opname", "")
    return node.op == "call_function" and (name.endswith("_") and not name.endswith("__") or name in _KEPT)


_KEPT = ("_assert_async", "_assert_scalar", "sym_constrain_range_for_size")


def copied_out(graph: Graph, inputs: Iterable[Node]) -> dict[Node, Node]:
    """The new values of inputs: copies into them are taken out of the graph."""
    changed: dict[Node, Node] = {}
    for node in list(graph.nodes):
        if str(node.target) == "aten.copy_.default" and node.args[0] in set(inputs):
            changed[node.args[0]] = node.args[1]
            node.replace_all_uses_with(node.args[1])
            graph.erase_node(node)
    return changed
