"""From a module and arguments to a program: the module is run once on copies, and what it does is written down."""

from __future__ import annotations

import collections
import copy
import inspect
from typing import Any
from collections.abc import Callable, Iterator, Mapping, Sequence

from autograd_tape.annotations import Arguments, Keywords
import torchcompat as torch
from torchcompat.fx.node import Node
from torchcompat._dynamo.exc import UserError
from torchcompat.nn import Module
from torchcompat.utils import _pytree as pytree

from ._recorded import Recorded, identifier, record
from ._sizes import recorded_at_sizes
from .dynamic_shapes import ShapesCollection, Symbol, symbols_of, ways
from .exported_program import ExportedProgram, Guard, ModuleCallEntry, ModuleCallSignature
from .graph_signature import (
    ConstantArgument, ExportGraphSignature, InputKind, InputSpec, OutputKind, OutputSpec, TensorArgument,
)


class _Leaves:
    """The leaves of the arguments: their names as inputs, and the expressions that lead to them."""

    def __init__(self, mod: Module, args: Arguments, kwargs: Keywords) -> None:
        bound = inspect.signature(mod.forward).bind(*args, **kwargs)
        self.arguments: list[str] = []
        roots: list[tuple[str, str, Any]] = []
        parameters = inspect.signature(mod.forward).parameters
        by_position = iter(args)
        for name in bound.arguments:
            kind = parameters[name].kind
            if kind is inspect.Parameter.VAR_POSITIONAL:
                roots += [(f"{name}_{i}", f"{name}[{i}]", value) for i, value in enumerate(by_position)]
            elif kind is not inspect.Parameter.VAR_KEYWORD and name not in kwargs:
                roots.append((name, name, next(by_position)))
        roots += [(name, name, value) for name, value in kwargs.items()]
        self.arguments = [name for name, _, _ in roots]
        self.names: list[str] = []
        self.texts: list[str] = []
        self.values: list[Any] = []
        for name, text, value in roots:
            for path, leaf in pytree.tree_leaves_with_path(value):
                keys = [str(getattr(k, "key", getattr(k, "idx", getattr(k, "name", "")))) for k in path]
                self.names.append("_".join([name, *[identifier(k) for k in keys]]))
                self.texts.append(text + pytree.keystr(path))
                self.values.append(leaf)

    def guards(self, symbols: Sequence[Symbol] = ()) -> Iterator[Guard]:
        """What the leaves have to be."""
        dynamic = {(leaf, axis): (symbol, factor, shift) for symbol in symbols for leaf, axis, factor, shift in symbol.places}
        for i, (text, value) in enumerate(zip(self.texts, self.values)):
            if not isinstance(value, torch.Tensor):
                if value is not None:
                    yield Guard(i, text, None, value)
                continue
            for dim, size in enumerate(value.shape):
                if (i, dim) not in dynamic:
                    yield Guard(i, text, dim, int(size))
                    continue
                symbol, factor, shift = dynamic[i, dim]
                first = symbol.places[0]
                if (i, dim) != first[:2] and (factor, shift) == first[2:]:
                    yield Guard(i, text, dim, f"{self.texts[first[0]]}.size()[{first[1]}]", "==", first[:2])
                elif (i, dim) != first[:2]:
                    yield Guard(i, text, dim, int(size))
                if symbol.upper is not None:
                    yield Guard(i, text, dim, factor * symbol.upper + shift, "<=")
                if symbol.lower > 2:
                    yield Guard(i, text, dim, factor * symbol.lower + shift, ">=")


def _copied(value: Any) -> Any:
    return value.detach().clone().requires_grad_(value.requires_grad) if isinstance(value, torch.Tensor) else value


class _Buffers:
    """Inside, the module has copies of its buffers, and its attributes are what they were afterwards."""

    def __init__(self, mod: Module) -> None:
        self.mod = mod
        self.copies: dict[int, Any] = {}
        self.before = [(m, dict(m._buffers), dict(m.__dict__)) for m in mod.modules()]

    def __enter__(self) -> None:
        for module, buffers, _ in self.before:
            for name, buffer in buffers.items():
                if buffer is not None:
                    module._buffers[name] = self.copies.setdefault(id(buffer), buffer.detach().clone())

    def __exit__(self, *exc: object) -> None:
        for module, buffers, attributes in self.before:
            module._buffers.clear()
            module._buffers.update(buffers)
            for name in set(module.__dict__) - set(attributes):
                del module.__dict__[name]
            module.__dict__.update(attributes)


def _attribute_of(mod: Module, value: object) -> str | None:
    """The name of a plain attribute that is a tensor."""
    for path, module in mod.named_modules():
        for name, found in module.__dict__.items():
            if found is value:
                return f"{path}.{name}".strip(".")
    return None


def _first_that_works(at: Callable[[list[Any]], Recorded], values: list[Any], symbols: list[Symbol],
                      before: int) -> tuple[Recorded, list[Symbol]]:
    failure: UserError | None = None
    for chosen in ways(symbols):
        try:
            return recorded_at_sizes(at, values, chosen, before), chosen
        except UserError as error:
            failure = failure or error
    assert failure is not None
    raise failure


def trace(mod: Module, args: Arguments, kwargs: Mapping[str, Any], shapes: Any = None) -> ExportedProgram:
    """The program of what `mod` does to these arguments; `shapes` says which of their sizes may differ."""
    kwargs = dict(kwargs)
    leaves = _Leaves(mod, args, kwargs)
    if isinstance(shapes, ShapesCollection):
        shapes = shapes.dynamic_shapes(mod, args, kwargs)
    symbols = [] if shapes is None else symbols_of(shapes, leaves.arguments, [*args, *kwargs.values()])
    in_spec = pytree.tree_structure((args, kwargs))
    parameters = list(mod.named_parameters(remove_duplicate=False))
    persistent = set(mod.state_dict(keep_vars=True))
    state: collections.OrderedDict[str, Any] = collections.OrderedDict(parameters)
    names = {name: "p_" + identifier(name) for name, _ in parameters}
    originals = list(mod.named_buffers(remove_duplicate=False))
    state.update([(name, b) for name, b in originals if name in persistent])
    generator = torch.get_rng_state()
    buffers = list(mod.named_buffers(remove_duplicate=False))
    count, before = len(leaves.values), len(parameters) + len(buffers)

    def run(*values: object) -> object:
        given, named = pytree.tree_unflatten(list(values[len(values) - count:]), in_spec)
        return mod(*given, **named)

    def at(values: list[Any]) -> Recorded:
        with _Buffers(mod):
            inputs: list[tuple[str, Any]] = [(names[name], p) for name, p in parameters]
            inputs += [("b_" + identifier(name), b) for name, b in mod.named_buffers(remove_duplicate=False)]
            inputs += list(zip(leaves.names, map(_copied, values)))
            return record(run, inputs, before, pre_dispatch=True, name_of=lambda value: _attribute_of(mod, value))

    try:
        found, symbols = _first_that_works(at, leaves.values, symbols, before)
    finally:
        torch.set_rng_state(generator)
    specs = [InputSpec(InputKind.PARAMETER, TensorArgument(""), name) for name, _ in parameters]
    specs += [InputSpec(InputKind.BUFFER, TensorArgument(""), name, name in persistent) for name, _ in buffers]
    specs += [InputSpec(InputKind.CONSTANT_TENSOR, TensorArgument(""), name) for name in found.constants]
    for value in leaves.values:
        tensor = isinstance(value, torch.Tensor)
        specs.append(InputSpec(InputKind.USER_INPUT, TensorArgument("") if tensor else ConstantArgument("", value), None))
    for spec, node in zip(specs, found.graph.find_nodes(op="placeholder")):
        spec.arg.name = node.name
    returned = [TensorArgument(value.name) if isinstance(value, Node) else ConstantArgument("", value)
                for value in found.graph.output_node().args[0]]
    outputs = [OutputSpec(OutputKind.USER_OUTPUT, argument, None) for argument in returned]
    constants = dict(found.constants) | {name: buffer for name, buffer in originals if name not in persistent}
    whole = ModuleCallSignature([], [], in_spec, found.out_spec, leaves.arguments)
    calls = [ModuleCallEntry("", whole), *[ModuleCallEntry(name) for name, _ in mod.named_modules() if name]]
    examples = copy.copy(args), copy.copy(kwargs)
    return ExportedProgram(Module(), found.graph, ExportGraphSignature(specs, outputs), state, {s.name: s.bounds for s in symbols}, calls,
                           examples, constants, guards=list(leaves.guards(symbols)), symbols=symbols)
