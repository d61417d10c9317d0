"""A program that was exported: its graph, what the inputs and outputs of that are, and its state."""

from __future__ import annotations

import collections
import copy
import dataclasses
import operator
import types
from typing import Any, NamedTuple, NoReturn
from collections.abc import Iterator, Mapping, Sequence

from autograd_tape.annotations import Arguments, Fn, Keywords
import torchcompat as torch
from torchcompat._calls.absent import absences as _absences
from torchcompat.fx.graph import Graph, _PyTreeCodeGen, _PyTreeInfo
from torchcompat.fx.graph_module import GraphModule
from torchcompat.fx.interpreter import Interpreter
from torchcompat.fx.node import Node
from torchcompat.nn import Module
from torchcompat.utils import _pytree as pytree

from ._recorded import Recorded, copied_out, functional_forms, identifier, record, without_unused
from ._sizes import recorded_at_sizes
from .dynamic_shapes import Symbol
from .graph_signature import (
    ConstantArgument, ExportGraphSignature, InputKind, InputSpec, OutputKind, OutputSpec, TensorArgument,
)

__all__ = ["ExportedProgram", "ModuleCallEntry", "ModuleCallSignature", "default_decompositions"]


@dataclasses.dataclass
class ModuleCallSignature:
    """How a module is called."""

    inputs: list[Any]
    outputs: list[Any]
    in_spec: pytree.TreeSpec
    out_spec: pytree.TreeSpec
    forward_arg_names: list[str] | None = None


@dataclasses.dataclass
class ModuleCallEntry:
    """A module inside the exported one, by its name."""

    fqn: str
    signature: ModuleCallSignature | None = None


class CallSpec(NamedTuple):
    """How arguments and result are made of leaves."""

    in_spec: pytree.TreeSpec | None
    out_spec: pytree.TreeSpec | None


class Guard(NamedTuple):
    """What a leaf of the arguments has to be: of this size along a dimension, or this value.

    Attributes:
        text: the leaf, as an expression in the names of the arguments.
        sign: how the size compares with the value: "==", "<=", ">=".
        other: the leaf and dimension whose size is the value, k times and c more.
    """

    leaf: int
    text: str
    dim: int | None
    value: Any
    sign: str = "=="
    other: tuple[int, int] | None = None

    def __str__(self) -> str:
        return f"{self.text} == {self.value!r}" if self.dim is None else f"{self.text}.size()[{self.dim}] {self.sign} {self.value}"

    def check(self, leaves: Sequence[Any]) -> None:
        """AssertionError where the leaf is another."""
        given = found = leaves[self.leaf]
        if self.dim is not None:
            if not isinstance(given, torch.Tensor):
                raise AssertionError(f"Guard failed: isinstance({self.text}, torch.Tensor)")
            found = given.shape[self.dim] if self.dim < given.dim() else None
        wanted = self.value if self.other is None else leaves[self.other[0]].shape[self.other[1]]
        if found is None and self.dim is not None or not _COMPARED[self.sign](found, wanted) or type(found) is not type(wanted):
            raise AssertionError(f"Guard failed: {self}")


_COMPARED = {"==": lambda a, b: a is b or a == b, "<=": operator.le, ">=": operator.ge}


class GuardsFn(Module):
    """Looks whether arguments are such as the program was exported for."""

    def __init__(self, guards: Sequence[Guard]) -> None:
        super().__init__()
        self.guards = tuple(guards)

    def forward(self, *leaves: object) -> None:
        """AssertionError where they are not."""
        for guard in self.guards:
            guard.check(leaves)


class _ExportCodeGen(_PyTreeCodeGen):
    """Of a function with arguments by position and by keyword."""

    def gen_fn_def(self, free_vars: list[str], maybe_return_annotation: str) -> str:
        """The head, and the statement that takes the arguments apart."""
        names, (_, by_name) = self.pytree_info.orig_args, self.pytree_info.in_spec.children()
        head = f"def {self._func_name}({', '.join(['self', *names])}){maybe_return_annotation}:"
        if not free_vars:
            return head
        keywords = list(by_name.context or ())
        positional = names[:len(names) - len(keywords)]
        given = f"[{', '.join(positional)}], {{{', '.join([f'{k!r}:{k}' for k in keywords])}}}"
        bare = [v.split(":")[0].split("=")[0].strip() for v in free_vars]
        return f"{head}\n    {', '.join(bare)}, = fx_pytree.tree_flatten_spec(({given}), self._in_spec)"

    def process_inputs(self, *inputs: Any) -> Any:
        """The leaves of the arguments."""
        return pytree.tree_leaves(inputs)


def _refuse(mode: str) -> Fn:
    def refused(self: object, *args: object) -> NoReturn:
        raise NotImplementedError(f"Calling {mode}() is not supported yet.")

    return refused


class ExportedProgram:
    """A program as a graph of operations of ATen, with its state; it runs as `module()`.

    Attributes:
        graph_module: a module whose inputs are all tensors of the program, and whose output is a tuple.
        graph_signature: what those are.
        state_dict: parameters and persistent buffers by name.
        constants: other tensors by name.
        example_inputs: the arguments that it was exported with.
        module_call_graph: the modules inside, and how the whole is called.
        range_constraints: bounds of sizes that differ.
    """

    def __init__(self, root: Module | dict[str, Any], graph: Graph, graph_signature: ExportGraphSignature, state_dict: dict[str, Any],
                 range_constraints: dict[Any, Any], module_call_graph: list[ModuleCallEntry],
                 example_inputs: tuple[Arguments, Keywords] | None = None, constants: dict[str, Any] | None = None, *,
                 guards: Sequence[Guard] = (), symbols: Sequence[Symbol] = ()) -> None:
        self._graph_module = GraphModule(root, graph)
        self._graph_signature, self._state_dict, self._range_constraints = graph_signature, state_dict, range_constraints
        self._module_call_graph, self._example_inputs, self._constants = module_call_graph, example_inputs, constants or {}
        self._guards, self._symbols = tuple(guards), tuple(symbols)

    @property
    def graph_module(self) -> GraphModule:
        """The module of the graph."""
        return self._graph_module

    @property
    def graph(self) -> Graph:
        """The graph."""
        return self._graph_module.graph

    @property
    def graph_signature(self) -> ExportGraphSignature:
        """What its inputs and outputs are."""
        return self._graph_signature

    @property
    def state_dict(self) -> dict[str, Any]:
        """Parameters and persistent buffers."""
        return self._state_dict

    @property
    def constants(self) -> dict[str, Any]:
        """Other tensors."""
        return self._constants

    @property
    def tensor_constants(self) -> dict[str, Any]:
        """Other tensors."""
        return self._constants

    @property
    def range_constraints(self) -> dict[Any, Any]:
        """Bounds of sizes that differ."""
        return self._range_constraints

    @property
    def module_call_graph(self) -> list[ModuleCallEntry]:
        """The modules inside."""
        return self._module_call_graph

    @property
    def example_inputs(self) -> tuple[Arguments, Keywords] | None:
        """The arguments that it was exported with."""
        return self._example_inputs

    @example_inputs.setter
    def example_inputs(self, value: Any) -> None:
        if value is not None and not (isinstance(value, tuple) and len(value) == 2 and isinstance(value[0], tuple)
                                      and isinstance(value[1], dict)):
            raise ValueError("Example inputs should be a tuple containing example arguments (as a tuple), and example kwargs (as a "
                             "dictionary).")
        self._example_inputs = value

    @property
    def call_spec(self) -> CallSpec:
        """How arguments and result are made of leaves."""
        signature = self._module_call_graph[0].signature
        return CallSpec(None, None) if signature is None else CallSpec(signature.in_spec, signature.out_spec)

    @property
    def dialect(self) -> str:
        """Which operations the graph may have."""
        return "TRAINING"

    def _tensors(self, *kinds: InputKind) -> Iterator[tuple[str, Any]]:
        for spec in self._graph_signature.input_specs:
            if spec.kind in kinds and spec.target is not None:
                yield spec.target, self._state_dict[spec.target] if spec.target in self._state_dict else self._constants[spec.target]

    def parameters(self) -> Iterator[torch.nn.Parameter]:
        """The parameters."""
        return (value for _, value in self.named_parameters())

    def named_parameters(self) -> Iterator[tuple[str, torch.nn.Parameter]]:
        """The parameters with their names."""
        return self._tensors(InputKind.PARAMETER)

    def buffers(self) -> Iterator[torch.Tensor]:
        """The buffers."""
        return (value for _, value in self.named_buffers())

    def named_buffers(self) -> Iterator[tuple[str, torch.Tensor]]:
        """The buffers with their names."""
        return self._tensors(InputKind.BUFFER)

    def __call__(self, *args: object, **kwargs: object) -> NoReturn:
        raise RuntimeError("Unable to call ExportedProgram directly. You should use `exported_program.module()` instead.")

    def __str__(self) -> str:
        code = self._graph_module.print_readable(print_output=False).replace("\n", "\n    ")
        signature = str(self._graph_signature).replace("\n", "\n    ")
        return f"ExportedProgram:\n    {code}\nGraph signature: {signature}\nRange constraints: {self._range_constraints}\n"

    def _values(self) -> list[Any]:
        """The tensors of the state and constants for their inputs."""
        kinds = (InputKind.PARAMETER, InputKind.BUFFER, InputKind.CONSTANT_TENSOR)
        return [value for _, value in self._tensors(*kinds)]

    def module(self, check_guards: bool = True) -> GraphModule:
        """A module that runs the program: its parameters and buffers are the state's.

        Its call raises ValueError where arguments are otherwise made of leaves than those that it was exported with, AssertionError where
        leaves have other sizes or values. `train` and `eval` are refused: what they decide was decided.
        """
        return _unlifted(self, check_guards)

    def run_decompositions(self, decomp_table: Mapping[Any, Fn] | None = None,
                           decompose_custom_triton_ops: bool = False) -> ExportedProgram:
        """The program in ATen's inner operations, none of which changes a tensor: new values of buffers and inputs are outputs.

        Args:
            decomp_table: functions by operations that are to be made of others besides.
        """
        return _decomposed(self, decomp_table)

    def validate(self) -> None:
        """Looks whether the graph is whole.

        Raises:
            AssertionError: it is not.
        """
        self.graph.lint()
        if len(self.graph.find_nodes(op="placeholder")) != len(self._graph_signature.input_specs):
            raise AssertionError("the signature has another number of inputs than the graph")


def _put(root: Any, target: str, value: Any, kind: InputKind, persistent: bool | None) -> None:
    """Gives a module a parameter, buffer or attribute by its path."""
    *path, field = target.split(".")
    for name in path:
        if not isinstance(root._modules.get(name), Module):
            root.add_module(name, Module())
        root = root._modules[name]
    if kind is InputKind.PARAMETER:
        root.register_parameter(field, value)
    elif kind is InputKind.BUFFER:
        root.register_buffer(field, value, persistent=bool(persistent))
    else:
        setattr(root, field, value)


def _unlifted(ep: ExportedProgram, check_guards: bool) -> GraphModule:
    signature = ep.module_call_graph[0].signature
    assert signature is not None
    source = copy.deepcopy(ep.graph)
    specs = ep.graph_signature.input_specs
    placeholders = source.find_nodes(op="placeholder")
    root = Module()
    users: list[Node] = []
    first = next(n for n in source.nodes if n.op != "placeholder")
    changed: dict[str, Node] = {}
    for spec, node in zip(specs, placeholders):
        if spec.kind is InputKind.USER_INPUT:
            users.append(node)
            changed[node.name] = node
            continue
        assert spec.target is not None
        value = ep.state_dict[spec.target] if spec.target in ep.state_dict else ep.constants[spec.target]
        _put(root, spec.target, value, spec.kind, spec.persistent)
        with source.inserting_before(node):
            made = source.create_node("get_attr", spec.target, name=identifier(spec.target))
        made.meta = dict(node.meta)
        node.replace_all_uses_with(made)
        source.erase_node(node)
        changed[spec.target] = made
    if check_guards and ep._guards:
        root.add_module("_guards_fn", GuardsFn(ep._guards))
        with source.inserting_before(first):
            source.call_module("_guards_fn", tuple(users))
    output = source.output_node()
    kept = []
    for out, value in zip(ep.graph_signature.output_specs, output.args[0]):
        if out.kind in (OutputKind.BUFFER_MUTATION, OutputKind.PARAMETER_MUTATION, OutputKind.USER_INPUT_MUTATION):
            assert out.target is not None
            with source.inserting_before(output):
                source.create_node("call_function", torch.ops.aten.copy_.default, (changed[out.target], value), {}, name="copy__default")
        else:
            kept.append(value)
    output.args = (tuple(kept),)
    names = list(signature.forward_arg_names or ())
    source._codegen = _ExportCodeGen(_PyTreeInfo(names, signature.in_spec, signature.out_spec))
    module = GraphModule(root, source)
    for spec in specs:
        if spec.target is not None:
            value = ep.state_dict[spec.target] if spec.target in ep.state_dict else ep.constants[spec.target]
            _put(module, spec.target, value, spec.kind, spec.persistent)
    if check_guards and ep._guards:
        module.add_module("_guards_fn", GuardsFn(ep._guards))
    in_spec = signature.in_spec

    def check(mod: Module, args: Arguments, kwargs: Keywords) -> tuple[Arguments, Keywords]:
        expected = in_spec.children()[1].context or []
        if set(kwargs) == set(expected):
            kwargs = {name: kwargs[name] for name in expected}
        found = pytree.tree_structure((args, kwargs))
        if found != in_spec:
            raise ValueError("Trying to flatten user inputs with exported input tree spec: \n"
                             f"{in_spec}\nbut actually got inputs with tree spec of: \n{found}.\n"
                             "Please check that the inputs have the same number and type of args and kwargs as the ones you used when "
                             "tracing.")
        return args, kwargs

    module.register_forward_pre_hook(check, with_kwargs=True)
    module.train = types.MethodType(_refuse("train"), module)  # type: ignore[method-assign]
    module.eval = types.MethodType(_refuse("eval"), module)  # type: ignore[method-assign]
    return module


def _decomposed(ep: ExportedProgram, table: Mapping[Any, Fn] | None) -> ExportedProgram:
    specs = ep.graph_signature.input_specs
    leaves = [] if ep.example_inputs is None else pytree.tree_leaves(ep.example_inputs)
    if len(leaves) != sum([s.kind is InputKind.USER_INPUT for s in specs]):
        raise RuntimeError("run_decompositions() carries the program out once, for which it needs `example_inputs`")
    examples = iter(leaves)
    state = iter(ep._values())
    names = [n.name for n in ep.graph.find_nodes(op="placeholder")]
    values = [next(examples) if s.kind is InputKind.USER_INPUT else next(state) for s in specs]
    values = [v.detach().clone() if isinstance(v, torch.Tensor) else v for v in values]
    tensors = [i for i, v in enumerate(values) if isinstance(v, torch.Tensor)]
    flat = copy.deepcopy(ep.graph)

    def run(*given: Any) -> Any:
        def inner(*changing: Any) -> Any:
            whole = list(given)
            for i, value in zip(tensors, changing):
                whole[i] = value
            return Interpreter(GraphModule(Module(), flat)).run(*whole)

        return torch.func.functionalize(inner)(*[given[i] for i in tensors])

    before = next((i for i, s in enumerate(specs) if s.kind is InputKind.USER_INPUT), len(specs))
    kept = torch.get_rng_state()
    users = [i for i, s in enumerate(specs) if s.kind is InputKind.USER_INPUT]

    def at(given: list[Any]) -> Recorded:
        whole = [v.clone() if isinstance(v, torch.Tensor) else v for v in values]
        for i, value in zip(users, given):
            whole[i] = value.clone() if isinstance(value, torch.Tensor) else value
        return record(run, list(zip(names, whole)), before, pre_dispatch=False, name_of=lambda value: None,
                      table=functional_forms() | dict(table or {}))

    with torch.no_grad():
        found = recorded_at_sizes(at, [values[i] for i in users], ep._symbols, before)
    torch.set_rng_state(kept)
    graph = found.graph
    inputs = graph.find_nodes(op="placeholder")
    changed = copied_out(graph, inputs)
    lifted = [InputSpec(InputKind.CONSTANT_TENSOR, TensorArgument("c_" + identifier(n)), n) for n in found.constants]
    new_specs = [*copy.deepcopy(specs[:before]), *lifted, *copy.deepcopy(specs[before:])]
    outputs = []
    for spec, node in zip(new_specs, inputs):
        spec.arg.name = node.name
        if node in changed:
            kind, target = ((OutputKind.BUFFER_MUTATION, spec.target) if spec.kind is InputKind.BUFFER else
                            (OutputKind.PARAMETER_MUTATION, spec.target) if spec.kind is InputKind.PARAMETER else
                            (OutputKind.USER_INPUT_MUTATION, node.name))
            outputs.append((changed[node], OutputSpec(kind, TensorArgument(changed[node].name), target)))
    end = graph.output_node()
    olds = ep.graph_signature.output_specs
    for old, value in zip(olds, end.args[0]):
        argument = TensorArgument(value.name) if isinstance(value, Node) else ConstantArgument("", value)
        outputs.append((value, OutputSpec(old.kind, argument, old.target)))
    end.args = (tuple([value for value, _ in outputs]),)
    without_unused(graph)
    return ExportedProgram(Module(), graph, ExportGraphSignature(new_specs, [spec for _, spec in outputs]),
                           collections.OrderedDict(ep.state_dict), dict(ep.range_constraints), copy.deepcopy(ep.module_call_graph),
                           ep.example_inputs, ep.constants | found.constants, guards=ep._guards, symbols=ep._symbols)


def default_decompositions() -> dict[Any, Fn]:
    """What `run_decompositions` makes of operations besides what ATen itself does: nothing."""
    return {}


_absences(__name__)
