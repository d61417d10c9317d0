"""The graph of a module as TensorBoard draws it: the operations of one call, in the folders of the modules that call them.

What torch has from a trace of TorchScript's comes from the door of calls here: an operation is what the program called, its inputs are what
earlier ones gave, what the module holds (`prim::GetAttr`), and constants.
"""

from __future__ import annotations

import contextlib
import inspect
import threading
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from tensorboard.compat.proto.config_pb2 import RunMetadata
from tensorboard.compat.proto.graph_pb2 import GraphDef
from tensorboard.compat.proto.node_def_pb2 import NodeDef
from tensorboard.compat.proto.step_stats_pb2 import DeviceStepStats, StepStats
from tensorboard.compat.proto.versions_pb2 import VersionDef

from autograd_tape.calls import Call, Door, Interceptor, listening

from ..._calls.traced import convolution_of
from ..._tensor import Tensor, frontend
from ...autograd.profiler import _shown
from ...nn.modules.module import Module, register_module_forward_hook, register_module_forward_pre_hook
from ._proto_graph import node_proto

if TYPE_CHECKING:
    from torchcompat.utils.hooks import RemovableHandle


class _Graph(Interceptor):
    """Notes the operations of one thread as nodes."""

    place, frontend = "profile", frontend

    def __init__(self, model: Module) -> None:
        self.nodes: list[NodeDef] = []
        self.names: dict[int, str] = {}  # what tensors are called, by their identity
        self.kept: list[object] = []  # so that no identity is given twice
        self.root = type(model).__name__
        self.folders = {id(model): self.root}  # of modules
        self.attributes: dict[int, tuple[str, str]] = {}  # of the model's tensors: their folder and name
        for path, module in model.named_modules():
            if path:
                above = self.folders[id(model.get_submodule(path.rpartition(".")[0]))]
                self.folders.setdefault(id(module), f"{above}/{type(module).__name__}[{path.rpartition('.')[2]}]")
            for name, t in [*module.named_parameters(recurse=False), *module.named_buffers(recurse=False)]:
                self.attributes.setdefault(id(t), (self.folders[id(module)], name))
        self.entered: list[str] = []
        self.busy, self.thread = False, threading.get_ident()

    def concerns(self, door: Door) -> bool:
        return _shown(door.rec) is not None

    def __call__(self, call: Call) -> object:
        if self.busy or threading.get_ident() != self.thread:
            return NotImplemented
        self.busy = True
        try:
            result = call.proceed()
        finally:
            self.busy = False
        shown = str(_shown(call.rec))
        name = ("" if "::" in shown else "aten::") + shown + "_" * call.inplace
        convolution = convolution_of(call)
        if convolution is not None:
            name = "aten::_convolution"
        inputs = [self.name_of(a) for a in (call.args if convolution is None else convolution)]
        found = [t for t in (result if isinstance(result, (tuple, list)) else (result,)) if isinstance(t, Tensor)]
        for i, t in enumerate(found):
            self.names[id(t)] = self.node(name, inputs if i == 0 else [self.names[id(found[0])]], t.shape, "{}")
            self.kept.append(t)
        return result

    def node(self, op: str, inputs: list[str], shape: Sequence[int] | None, told: str, name: str = "") -> str:
        """Adds a node in the folder of the module that runs; its name."""
        name = name or f"{self.entered[-1] if self.entered else self.root}/{len(self.nodes)}"
        self.nodes.append(node_proto(name, op, inputs, outputsize=shape, attributes=told))
        return name

    def given(self, t: Tensor, name: str) -> None:
        """An input of the module."""
        self.kept.append(t)
        self.names[id(t)] = self.node("IO Node", [], t.shape, "", f"input/{name}")

    def name_of(self, value: object) -> str:
        """The name of the node of an argument, which is added where there is none yet."""
        if isinstance(value, Tensor):
            if id(value) not in self.names:
                folder, name = self.attributes.get(id(value), ("", ""))
                self.kept.append(value)
                self.names[id(value)] = self.node(
                    "prim::GetAttr", [], value.shape, f"{{ name :  {name} }}", f"{folder}/{name}") if name else self.node(
                        "prim::Constant", [], value.shape, "{ value : tensor}")
            return self.names[id(value)]
        if isinstance(value, (tuple, list)):
            return self.node("prim::ListConstruct", [self.name_of(v) for v in value], None, "{}")
        told = {} if value is None else {"value": int(value) if isinstance(value, bool) else value}
        return self.node("prim::Constant", [], None, str(told).replace("'", " "))

    @contextlib.contextmanager
    def following(self) -> Iterator[None]:
        """Inside, it is told which module runs."""

        def enter(module: Module, args: object) -> None:
            if threading.get_ident() == self.thread and not self.busy:
                self.entered.append(self.folders.get(id(module), self.root))

        def leave(module: Module, args: object, result: object) -> None:
            if threading.get_ident() == self.thread and not self.busy:
                self.entered.pop()

        handles: list[RemovableHandle] = [register_module_forward_pre_hook(enter), register_module_forward_hook(leave)]
        try:
            yield
        finally:
            for handle in handles:
                handle.remove()


def _tensors(value: object) -> list[Tensor]:
    """The tensors in a result."""
    if isinstance(value, dict):
        value = list(value.values())
    return [value] if isinstance(value, Tensor) else [t for v in value for t in _tensors(v)] if isinstance(value, (tuple, list)) else []


def graph(model: Module, args: object, verbose: bool = False, use_strict_trace: bool = True) -> tuple[GraphDef, RunMetadata]:
    """The graph of a call `model(*args)` in evaluation mode, and where it ran.

    Args:
        model: a module.
        args: a tensor, or several in a tuple or list.
        verbose: whether to print the graph.
        use_strict_trace: whether the result may be no list or dict.

    Raises:
        RuntimeError: the call fails so, or gives a list or dict where it may not; it is printed, too.
    """
    given = (args,) if isinstance(args, Tensor) else tuple(args)  # type: ignore[arg-type]  # an error of its own where it has no parts
    with _set_model_to_eval(model):
        try:
            noted = _Graph(model)
            for name, values in _named(model, given):
                for i, t in enumerate(values):
                    noted.given(t, name if len(values) == 1 else f"{name}.{i + 1}")
            with noted.following(), listening(noted):
                result = model(*given)
            if use_strict_trace and isinstance(result, (list, dict)):
                raise RuntimeError(
                    f"Encountering a {type(result).__name__} at the output of the tracer might cause the trace to be incorrect, this "
                    f"is only valid if the container structure does not change based on the module's inputs. Consider using a constant "
                    f"container instead (e.g. for `list`, use a `tuple` instead. for `dict`, use a `NamedTuple` instead). If you "
                    f"absolutely need this and know the side effects, pass strict=False to trace() to allow this behavior.")
        except RuntimeError as error:
            print(error)
            print("Error occurs, No graph saved")
            raise
    for i, t in enumerate(_tensors(result)):
        noted.node("IO Node", [noted.name_of(t)], t.shape, "", f"output/output.{i + 1}")
    if verbose:
        print(*noted.nodes, sep="\n")
    stats = RunMetadata(step_stats=StepStats(dev_stats=[DeviceStepStats(device="/device:CPU:0")]))
    return GraphDef(node=noted.nodes, versions=VersionDef(producer=22)), stats


def _named(model: Module, args: tuple[object, ...]) -> list[tuple[str, list[Tensor]]]:
    """The tensors in each argument, and what `forward` calls it."""
    names: list[str] = []
    for p in inspect.signature(model.forward).parameters.values():
        names += [p.name] if p.kind is not p.VAR_POSITIONAL else [f"{p.name}.{i + 1}" for i in range(len(args))]
    return [(name, _tensors(value)) for name, value in zip(names, args)]


@contextlib.contextmanager
def _set_model_to_eval(model: Module) -> Iterator[None]:
    """Inside, the module is in evaluation mode."""
    training = model.training
    model.train(False)
    try:
        yield
    finally:
        model.train(training)
