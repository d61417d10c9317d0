"""From a model to ONNX's ModelProto: inputs, runs, translation, outputs."""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from autograd_tape import warned
from autograd_tape.annotations import Keywords
from autograd_tape.dtypes import DType
import torchcompat as torch

from .. import random
from . import _rows as _rows  # which fill the table
from .._tensor import Tensor
from .._dynamo.external_utils import exporting
from ..autograd.grad_mode import no_grad
from ..nn import Module
from ._custom import FUNCTION, called, functions_noted, registered
from ._graph import Graph, Shown, Val, identifier, type_of
from ._sizes import Dim, Sizes, agree, other_sizes, resized, text_of
from ._table import RANDOM, ROWS, SILENT
from ._trace import SCATTER, Recorder, Step, Traced, Value, replaced, values_in
from .errors import OnnxExporterError, OnnxExporterWarning, UnsupportedOperatorError

if TYPE_CHECKING:
    from onnx import ModelProto


class Input:
    """A tensor among the arguments.

    Attributes:
        path: where it is.
        name: what the graph calls it.
        axes: the names of its dimensions that may be of any size.
    """

    def __init__(self, path: tuple[Any, ...], tensor: Tensor, name: str) -> None:
        self.path, self.tensor, self.name = path, tensor, name
        self.axes: dict[int, str] = {}


def argument_names(model: Callable[..., Any], count: int) -> list[str]:
    """The names that the parameters of `forward` give to positional arguments."""
    try:
        params = list(inspect.signature(model.forward if isinstance(model, Module) else model).parameters.values())
    except (TypeError, ValueError):
        params = []
    positional = [p for p in params if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    rest = next((p for p in params if p.kind is p.VAR_POSITIONAL), None)
    names = [p.name for p in positional[:count]]
    return names + [f"{rest.name if rest is not None else 'arg'}_{i}" for i in range(count - len(names))]


def inputs_of(model: Callable[..., Any], args: Sequence[Any], kwargs: Keywords) -> list[Input]:
    """The tensors among the arguments, in order, with the names that the parameters of `forward` give them."""
    names = argument_names(model, len(args))
    found: list[Input] = []

    def visit(x: Any, path: tuple[Any, ...], name: str) -> None:
        if isinstance(x, Tensor):
            found.append(Input(path, x, name))
        elif isinstance(x, (tuple, list)):
            for i, item in enumerate(x):
                visit(item, (*path, i), f"{name}_{i}")
        elif isinstance(x, dict):
            for key, item in x.items():
                visit(item, (*path, key), f"{name}_{key}" if name else str(key))

    for i, (x, name) in enumerate(zip(args, names)):
        visit(x, (0, i), name)
    visit(kwargs, (1,), "")
    return found


def _rebuilt(x: Any, path: tuple[Any, ...], tensors: Mapping[tuple[Any, ...], Tensor]) -> Any:
    if isinstance(x, Tensor):
        return tensors[path]
    if isinstance(x, (tuple, list)):
        items = [_rebuilt(item, (*path, i), tensors) for i, item in enumerate(x)]
        return type(x)(*items) if hasattr(x, "_fields") else type(x)(items)
    if isinstance(x, dict):
        return {key: _rebuilt(item, (*path, key), tensors) for key, item in x.items()}
    return x


@contextlib.contextmanager
def _unchanged(model: Any) -> Iterator[None]:
    """What a run does to buffers and to the state of random numbers is undone."""
    buffers = [(t, np.array(t._data)) for t in model.buffers()] if isinstance(model, Module) else []
    state = random.get_rng_state()
    try:
        yield
    finally:
        random.set_rng_state(state)
        with no_grad():
            for t, before in buffers:
                if t._data.tobytes() != before.tobytes():
                    t.copy_(torch.from_numpy(before))


def captured(model: Callable[..., Any], args: Sequence[Any], kwargs: Keywords, inputs: Sequence[Input], strict: bool) -> list[Traced]:
    """The model's runs: one, or where dimensions are dynamic one and two more on inputs of other sizes, which do the same.

    Raises:
        OnnxExporterError: on inputs of other sizes the model fails, or does other operations.
    """
    symbols: dict[str, int] = {}
    for x in inputs:
        for axis, name in list(x.axes.items()):
            size = x.tensor.shape[axis]
            if symbols.setdefault(name, size) != size:  # one name for two sizes: these are two
                x.axes[axis] = name = f"{name}_{size}"
                symbols[name] = size

    def run(sizes: Sequence[int]) -> Traced:
        now = dict(zip(symbols, sizes))
        tensors = {x.path: resized(x.tensor, {axis: now[name] for axis, name in x.axes.items()}) for x in inputs}
        named = [*model.named_parameters(), *model.named_buffers()] if isinstance(model, Module) else []
        with _unchanged(model), no_grad(), exporting():
            recorder = Recorder(lambda name, known_as: name in ROWS or registered(known_as) is not None, RANDOM, iter(named))
            with contextlib.nullcontext() if strict else functions_noted(recorder):
                return recorder.run(model, _rebuilt(tuple(args), (0,), tensors), _rebuilt(kwargs, (1,), tensors), list(tensors.values()))

    first = run(list(symbols.values()))
    if not symbols:
        return [first]
    failure: Exception | None = None
    for attempt in other_sizes(list(symbols.values())):
        try:
            runs = [first, *map(run, attempt)]
        except Exception as error:  # such as sizes that do not divide, or are too large
            failure = error
            continue
        if agree(runs):
            return runs
        if 1 in symbols.values() and agree(runs[1:]):  # a size of one is special to many an operation
            more = run([2 * a + b for a, b in zip(*attempt)])
            if agree([runs[1], more]):
                return [*runs[1:], more]
    names = ", ".join(map(repr, symbols))
    raise OnnxExporterError(f"The dimensions {names} cannot be dynamic: the model fails, or does other operations, on inputs of other sizes"
                            + (f" ({type(failure).__name__}: {failure})" if failure is not None else "")) from failure


class Translation(Graph):
    """A graph being made of runs of a model."""

    def __init__(self, opset: int, runs: Sequence[Traced], parameters: Mapping[str, Tensor]) -> None:
        super().__init__(opset, Sizes(runs))
        self.runs, self.trace, self.parameters = runs, runs[0], parameters

    def of(self, value: Value) -> Val:
        """The Val of a value."""
        made = self.values.get(value.number)
        if made is None:
            made = self._of(value)
            made.shape = self.sizes.shape(value)
            self.values[value.number] = made
            self.sizes.learn(value)
        return made

    def _of(self, value: Value) -> Val:
        if value.name:
            tensor = self.parameters[value.name]
            self.taken.add(value.name)
            type_of(tensor.dtype)
            self.initializers[value.name] = np.array(tensor._data, order="C")
            return Val(self, value.name, value.dtype)
        if self.sizes.same(value):
            assert value.const is not None
            made = self.const(value.const, value.dtype)
            return Val(self, made.name, made.dtype, None, made.const)
        found = [run.values[value.number].const for run in self.runs]
        if any([c is None or c.shape != value.shape for c in found]) or value.const is None or value.const.size > 64:
            raise OnnxExporterError("A tensor that was not made by operations depends on the sizes of inputs that are to be dynamic")
        numbers = [self.sizes.number(tuple([n.item() for n in ns])) for ns in zip(*[c.ravel() for c in found if c is not None])]
        whole = self.op("Concat", *[self.op("Reshape", self.scalar(n, value.dtype), [1]) for n in numbers], axis=0, dtype=value.dtype)
        return self.op("Reshape", whole, list(value.shape))

    def translate(self) -> None:
        """Makes the nodes of all operations that the results need."""
        needed = {v.number for v in values_in(self.trace.result)}
        kept: list[tuple[int, Step]] = []
        for i, step in reversed(list(enumerate(self.trace.steps))):
            if any([v.number in needed for v in step.outputs]) and not all([self.sizes.same(v) for v in step.outputs]):
                kept.append((i, step))
                needed |= {v.number for v in values_in(step.args)}
                if step.name == SCATTER:
                    needed |= {v.number for v in values_in(step.args["view"].args)}
        missing = [step.known_as for _, step in reversed(kept) if step.name not in ROWS and step.name not in (SCATTER, FUNCTION)
                   and registered(step.known_as, self.opset) is None]
        if missing:
            raise UnsupportedOperatorError(missing[0], self.opset, None)
        for i, step in reversed(kept):
            self.hint, self.out = identifier(step.known_as.split("::")[-1].rstrip("_")), step.outputs
            self.step = Shown(step, lambda n, step=step: len(step.outputs) > n and step.outputs[n].number in needed)  # type: ignore[misc]
            if step.name == SCATTER:
                results = [self.scattered(step.args)]
            else:
                args = self.taken_in(self.sizes.merged([run.steps[i].args for run in self.runs]) if len(self.runs) > 1 else step.args)
                results = self.carried_out(step, args)
                if step.into is not None:
                    results = [self.into(step, results[0])]
            for value, made in zip(step.outputs, results):
                if made is None:
                    continue
                made = made.to(value.dtype)
                made = Val(self, made.name, made.dtype, self.sizes.shape(value), made.const)
                self.values[value.number] = made
                self.sizes.learn(value)

    def taken_in(self, x: Any) -> Any:
        """Vals in the place of Values."""
        if isinstance(x, Value):
            return self.of(x)
        if isinstance(x, dict):
            return {key: self.taken_in(v) for key, v in x.items()}
        if isinstance(x, slice):
            return slice(*[self.taken_in(v) for v in (x.start, x.stop, x.step)])
        if isinstance(x, (tuple, list)):
            return [self.taken_in(v) for v in x] if isinstance(x, list) else tuple([self.taken_in(v) for v in x])
        return x

    def carried_out(self, step: Step, args: Keywords) -> list[Val]:
        """The results of an operation."""
        own = args["cls"].symbolic if step.name == FUNCTION else registered(step.known_as, self.opset)
        if own is not None:
            made = called(self, own, args["args"] if step.name == FUNCTION else tuple(
                [x for key, x in args.items() if key not in SILENT]))
            return list(made) if isinstance(made, (list, tuple)) else [made]
        function, named = ROWS[step.name]
        unread = [key for key, v in args.items() if key not in named and key not in SILENT and _says_something(v)]
        if unread:
            raise OnnxExporterError(f"{step.known_as} with {unread[0]}={args[unread[0]]!r} has no translation")
        try:
            found = function(self, **{key: v for key, v in args.items() if key in named})
        except (TypeError, IndexError, AssertionError) as error:
            raise OnnxExporterError(f"{step.known_as} has no translation with these arguments, or with sizes that are to be dynamic: "
                                    f"{error}") from error
        return list(found) if isinstance(found, (list, tuple)) else [found]

    def into(self, step: Step, made: Val) -> Val:
        """A result in the dtype of what it is written to."""
        target = step.into
        assert target is not None
        return made.to(target.dtype)

    def scattered(self, args: Keywords) -> Val:
        """A value with other elements where a view of it is: the view of the elements' numbers says where."""
        from ._rows.shapes import iota, put

        view, base = args["view"], self.of(args["base"])
        number = iota(self, base)
        before, shown = self.out, self.step
        self.out, self.step = view.outputs, Shown(view, lambda n: True)
        found = self.carried_out(view, _with(self.taken_in(replaced(view.args, args["seen"], None)), number))
        self.out, self.step = before, shown
        places = found[args["output"]]
        return put(self, base, places, self.of(args["value"]))


def _with(args: Keywords, first: Val) -> Keywords:
    """Arguments with the first one's place filled."""
    name = next(key for key, v in args.items() if v is None)
    return {**args, name: first}


def _says_something(v: Any) -> bool:
    return not (v is None or v is False or isinstance(v, (int, float, str, dict, tuple, list)) and not isinstance(v, bool) and not v
                ) and not isinstance(v, DType) and v != "mean"


def translated(model: Callable[..., Any], args: Sequence[Any], kwargs: Keywords, inputs: Sequence[Input], opset: int,
               output_names: Sequence[str], output_axes: Mapping[str, Mapping[int, str]], strict: bool,
               numbered: bool = False, custom_opsets: Mapping[str, int] | None = None) -> tuple[ModelProto, Any]:
    """(the model in ONNX, what the traced run returned, with Values in the place of tensors).

    Args:
        output_axes: names of dimensions of outputs.
        strict: whether numbers of tensors that come to Python are an error; else they are constants, and there is a warning.
        numbered: whether outputs without a name get numbers.
    """
    from onnx import TensorProto, helper, numpy_helper

    runs = captured(model, args, kwargs, inputs, strict)
    if runs[0].read:
        if strict:
            raise OnnxExporterError(f"Python reads the numbers of a tensor that the inputs decide ({runs[0].read[0]}): the graph would "
                                    "hold for these inputs alone")
        warned.warn(f"Numbers of a tensor that the inputs decide are read in Python ({runs[0].read[0]}); they are constants in the graph "
                    "now, so it might not hold for other inputs", OnnxExporterWarning)
    parameters = dict([*model.named_parameters(), *model.named_buffers()]) if isinstance(model, Module) else {}
    g = Translation(opset, runs, parameters)
    g.taken |= {x.name for x in inputs} | set(output_names) | set(parameters)
    symbols: dict[tuple[Any, ...], str] = {}
    given = []
    for x, value in zip(inputs, runs[0].inputs):
        shape = g.sizes.shape(value)
        for axis, size in enumerate(shape):
            if isinstance(size, Dim) and axis in x.axes:
                symbols.setdefault(size.seen, x.axes[axis])
        g.values[value.number] = Val(g, x.name, value.dtype, shape)
        given.append(helper.make_tensor_value_info(x.name, type_of(value.dtype), [x.axes.get(a, n if isinstance(n, int) else None)
                                                                                  for a, n in enumerate(shape)]))
        g.sizes.learn(value)
    g.translate()
    taken = {x.name for x in inputs}
    outputs, renamed = [], {}
    for i, value in enumerate(values_in(runs[0].result)):
        made = g.of(value)
        name = output_names[i] if i < len(output_names) else ""
        if made.name in taken or made.name in g.initializers:
            g.hint = name or "output"
            made = Val(g, g.op("Identity", made).name, made.dtype, made.shape)
        taken.add(made.name)
        if name or numbered:
            renamed[made.name] = name or g.name(str(len(g.nodes) + i))
        sizes = [n if isinstance(n, int) else text_of(n.seen, symbols, runs) for n in g.sizes.shape(value)]
        for axis, axis_name in output_axes.get(name, {}).items():
            sizes[axis] = axis_name
        outputs.append(helper.make_tensor_value_info(renamed.get(made.name, made.name), type_of(made.dtype), sizes))
    used = set()
    for node in g.nodes:
        for names in (node.input, node.output):
            for i, n in enumerate(names):
                names[i] = renamed.get(n, n)
        used |= set(node.input)
    constants = []
    for name, array in g.initializers.items():
        if name in used:
            tensor: TensorProto = numpy_helper.from_array(array, name)
            constants.append(tensor)
    graph = helper.make_graph(g.nodes, "main_graph", given, outputs, constants)
    domains = [helper.make_opsetid("", opset), *[helper.make_opsetid(d, (custom_opsets or {}).get(d, v)) for d, v in g.domains.items()]]
    proto = helper.make_model(graph, opset_imports=domains, producer_name="pytorch", producer_version=str(torch.__version__),
                              ir_version=10 if opset > 18 or strict else 8)
    return proto, runs[0].result
