"""Functions and modules that are compiled when they are called.

A compiler is given the graph of what a call does. Each call is captured anew, on copies of its arguments, so that Python does what it does
in the program; a compiler is asked once for each graph that differs. What asks for a value while it is captured (a *graph break* in torch)
ends the capture, and the call has the results of the program itself.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
from collections.abc import Callable
from typing import Any

from autograd_tape.annotations import Arguments, Fn, Keywords
import torchcompat as torch
from torchcompat._calls.above import above
from torchcompat._calls.absent import absences as _absences
from torchcompat._calls.shown import shown_in
from torchcompat.export._recorded import Recorded, identifier, record
from torchcompat.fx.experimental.proxy_tensor import get_proxy_mode
from torchcompat.fx.graph_module import GraphModule
from torchcompat.nn import Module
from torchcompat.utils import _pytree as pytree

from . import config
from .backends.registry import CompilerFn, lookup_backend
from .decorators import innermost, stance
from .exc import BackendCompilerFailed, Unsupported
from .external_utils import compiling
from .utils import counters

MODES = ("default", "lite", "reduce-overhead", "max-autotune-no-cudagraphs", "max-autotune")


class Captured:
    """What a call does, as a graph.

    Attributes:
        given: the tensors that it works on, in the order of the graph's inputs.
        broken: why it could not be captured, "" if it was.
        result: what the program itself gave for copies of its arguments.
    """

    def __init__(self, fn: Fn, args: Arguments, kwargs: Keywords) -> None:
        flat, spec = pytree.tree_flatten((args, kwargs))
        names = _names(fn, args, kwargs)
        copies = [v.clone() if isinstance(v, torch.Tensor) else v for v in flat]
        places = [i for i, v in enumerate(flat) if isinstance(v, torch.Tensor)]
        state = torch.get_rng_state()
        self.result: Any = None

        self.changed: list[Any] = []

        def run(*tensors: object) -> Any:
            given = list(copies)
            for i, tensor in zip(places, tensors):
                given[i] = tensor
            positional, named = pytree.tree_unflatten(given, spec)
            pairs = [(own, other, _contents(other)) for own, other in _containers((args, kwargs), (positional, named))]
            self.result = fn(*positional, **named)
            now = [(own, _contents(other)) for own, other, before in pairs if not _same(before, _contents(other))]
            self.changed = [own for own, _ in now]
            return self.result, [inside for _, inside in now]

        inputs = [(f"L_{identifier(names[i])}_", copies[i]) for i in places]
        self.recorded: Recorded = record(run, inputs, 0, pre_dispatch=True, name_of=lambda value: None, may_break=True)
        self.broken = self.recorded.broken
        self.given = [*self.recorded.constants.values(), *[flat[i] for i in places]]
        if not self.broken:
            torch.set_rng_state(state)
            return
        self._store(self.recorded_contents())
        with torch.no_grad():
            for i in places:  # what the program did to its arguments
                if copies[i]._version:
                    flat[i].copy_(copies[i])

    def module(self) -> GraphModule:
        """The graph as a module of the inputs that it uses, whose result is a tuple of tensors."""
        graph = self.recorded.graph
        output = graph.output_node()
        output.args = (tuple([node for node, value in zip(output.args[0], self.recorded.outputs) if isinstance(value, torch.Tensor)]),)
        used = [bool(node.users) for node in graph.find_nodes(op="placeholder")]
        for node, needed in zip(graph.find_nodes(op="placeholder"), used):
            if not needed:
                graph.erase_node(node)
        self.given = [t for t, needed in zip(self.given, used) if needed]
        return GraphModule(Module(), graph)

    def put_together(self, tensors: Any) -> Any:
        """The program's result, of the tensors that its graph gave."""
        found = iter(tensors)
        values = [next(found) if isinstance(v, torch.Tensor) else v for v in self.recorded.outputs]
        result, contents = pytree.tree_unflatten(values, self.recorded.out_spec)
        self._store(contents)
        return result

    def recorded_contents(self) -> Any:
        """What is in the containers among the arguments that the program changed."""
        return pytree.tree_unflatten(self.recorded.outputs, self.recorded.out_spec)[1]

    def _store(self, contents: Any) -> None:
        for own, inside in zip(self.changed, contents):
            own.clear()
            own.update(inside) if isinstance(own, dict) else own.extend(inside)


def _containers(own: Any, other: Any) -> list[tuple[Any, Any]]:
    """The dictionaries and lists in arguments, with their copies."""
    if type(own) not in (dict, list, tuple):
        return []
    keys = own if isinstance(own, dict) else range(len(own))
    found = [(own, other)] if type(own) is not tuple else []
    return found + [pair for key in keys for pair in _containers(own[key], other[key])]


def _contents(container: Any) -> Any:
    return container.copy()


def _same(before: Any, now: Any) -> bool:
    """Whether a container holds the very values that it held."""
    if len(before) != len(now):
        return False
    if isinstance(before, dict):
        return all([key in now and now[key] is value for key, value in before.items()])
    return all([a is b for a, b in zip(before, now)])


def _names(fn: Fn, args: Arguments, kwargs: Keywords) -> list[str]:
    """What the leaves of arguments are called."""
    try:
        bound = inspect.signature(fn).bind(*args, **kwargs)
        names = list(bound.arguments)[:len(args)]
    except (TypeError, ValueError):  # the call itself will tell
        names = []
    names += [f"args_{i}" for i in range(len(names), len(args))]
    roots = [*zip(names, args), *kwargs.items()]
    return ["_".join([name, *[str(getattr(k, "key", getattr(k, "idx", getattr(k, "name", "")))) for k in path]])
            for name, value in roots for path, _ in pytree.tree_leaves_with_path(value)]


class Compiled:
    """Calls of one function: the graphs that it was captured as, and what the compiler made of them."""

    def __init__(self, fn: Fn, backend: CompilerFn | None, fullgraph: bool, options: Keywords) -> None:
        self.fn, self.backend, self.fullgraph, self.options = fn, backend, fullgraph, options
        self.made: dict[object, Callable[..., Any]] = {}
        _all.append(self)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        backend = self.backend if stance.backend is None else lookup_backend(stance.backend)
        if stance.name == "force_eager" or config.disable or get_proxy_mode() is not None:
            return self.fn(*args, **kwargs)
        with compiling():
            if backend is None:
                return self.fn(*args, **kwargs)
            captured = Captured(self.fn, args, kwargs)
            if captured.broken:
                if self.fullgraph:
                    raise Unsupported(captured.broken)
                counters["graph_break"][captured.broken] += 1
                return captured.result
            module = captured.module()
            if not _operations(module):
                return captured.put_together(module(*captured.given))
            key = _key(module, captured.given)
            if key not in self.made:
                self.made[key] = self._compile(backend, module, captured.given)
            return captured.put_together(self.made[key](*captured.given))

    def _compile(self, backend: CompilerFn, module: GraphModule, given: list[Any]) -> Callable[..., Any]:
        counters["stats"]["unique_graphs"] += 1
        counters["frames"]["total"] += 1
        try:
            made = backend(module, given, **self.options)
            if not callable(made):
                raise TypeError("compiler_fn did not return callable")
        except Exception as error:
            if config.suppress_errors:
                return module.forward
            raise BackendCompilerFailed(backend, error) from error
        counters["frames"]["ok"] += 1
        return made


def _operations(module: GraphModule) -> list[Any]:
    """The functions that a graph calls."""
    return [node.target for node in module.graph.nodes if node.op == "call_function"]


def _key(module: GraphModule, given: list[Any]) -> object:
    """What two calls have in common that one compiled graph will do for."""
    return module.code, tuple([(t.shape, t.stride(), t.dtype, t.requires_grad) for t in given]), torch.is_grad_enabled()


_all: list[Compiled] = []


def reset() -> None:
    """Forgets all compiled graphs, and what was counted."""
    for compiled in _all:
        compiled.made.clear()
    counters.clear()


reset_code_caches = reset


class OptimizedModule(Module):
    """A module whose calls are compiled; it has the state and attributes of the module inside, `_orig_mod`."""

    _opt_mod_attributes = {"_orig_mod", "dynamo_ctx", "_torchdynamo_orig_callable", "_modules", "forward", "training"}
    __module__ = "torch._dynamo.eval_frame"

    def __init__(self, mod: Module, dynamo_ctx: Any) -> None:
        super().__init__()
        self._modules["_orig_mod"] = mod
        self.__dict__["dynamo_ctx"] = dynamo_ctx
        self._initialize()

    def _initialize(self) -> None:
        # Hooks of the module run where it is called; a forward of its own is called through them, too.
        self.__dict__["forward"] = self.dynamo_ctx(self._orig_mod.__call__)

    def __reduce__(self) -> Any:
        return self.__class__, (self._orig_mod, self.dynamo_ctx)

    def __getstate__(self) -> Keywords:
        state = dict(self.__dict__)
        state.pop("forward", None)
        return state

    def __setstate__(self, state: Keywords) -> None:
        self.__dict__ = state
        self._initialize()

    def __call__(self, *args: object, **kwargs: object) -> Any:
        return self.forward(*args, **kwargs)

    @property
    def training(self) -> bool:
        """The module's."""
        return bool(self._orig_mod.training)

    @training.setter
    def training(self, value: bool) -> None:
        if "_orig_mod" in self.__dict__.get("_modules", {}):
            self._orig_mod.training = value

    def __getattr__(self, name: str) -> Any:
        if name == "_orig_mod":
            return self._modules["_orig_mod"]
        return getattr(self._orig_mod, name)

    def __setattr__(self, name: str, value: object) -> None:
        if name in type(self)._opt_mod_attributes:
            return super().__setattr__(name, value)
        return setattr(self._orig_mod, name, value)

    def __delattr__(self, name: str) -> None:
        if name in type(self)._opt_mod_attributes:
            return super().__delattr__(name)
        return delattr(self._orig_mod, name)

    def __dir__(self) -> list[str]:
        return [name for name in [*super().__dir__(), *dir(self._orig_mod)] if name != "_opt_mod_attributes"]


def _wrapped(module: Module, context: Any) -> OptimizedModule:
    made = OptimizedModule(module, context)
    made.__dict__["_torchdynamo_orig_callable"] = module
    return made


class _Context:
    """Compiles what it is called with."""

    def __init__(self, backend: CompilerFn | None, fullgraph: bool, options: Keywords) -> None:
        self.backend, self.fullgraph, self.options = backend, fullgraph, options

    def __call__(self, fn: Any) -> Any:
        if isinstance(fn, Module):
            return _wrapped(fn, self)
        if not callable(fn):
            raise AssertionError(f"A callable function is expected, but {type(fn)} is provided.")
        if inspect.isclass(fn):
            return fn
        inner = innermost(fn)
        compiled = Compiled(inner, self.backend, self.fullgraph, self.options)

        @functools.wraps(inner)
        def called(*args: Any, **kwargs: Any) -> Any:
            return compiled(*args, **kwargs)

        called._torchdynamo_orig_callable = inner  # type: ignore[attr-defined]
        return called


def disable(fn: Any = None, recursive: bool = True, *, reason: str | None = None, wrapping: bool = True) -> Any:
    """A function that is called as it is wherever it is called; also a decorator. A module becomes an `OptimizedModule`."""
    if fn is None:
        return functools.partial(disable, recursive=recursive, reason=reason)
    if isinstance(fn, Module):
        return _wrapped(fn, disable)
    if not callable(fn):
        raise AssertionError(f"A callable function is expected, but {type(fn)} is provided.")
    inner = innermost(fn)
    if inspect.isclass(inner):
        return inner

    @functools.wraps(inner)
    def called(*args: object, **kwargs: object) -> Any:
        with compiling(0):
            return inner(*args, **kwargs)

    called._torchdynamo_disable = True  # type: ignore[attr-defined]
    called._torchdynamo_orig_callable = inner  # type: ignore[attr-defined]
    return called


run = disable


def optimize(backend: str | CompilerFn = "inductor", *, nopython: bool = False, disable: bool = False, **options: Any) -> Any:
    """A function of functions, and modules, that compiles them.

    Raises:
        InvalidBackend: there is no compiler of that name.
    """
    return (lambda fn: fn) if disable else _Context(lookup_backend(backend), nopython, {})


def optimize_assert(backend: str | CompilerFn, **options: Any) -> Any:
    """`optimize` where each function is to be one graph."""
    return optimize(backend, nopython=True)


def compile(model: Any = None, *, fullgraph: bool = False, dynamic: bool | None = None, backend: str | CompilerFn | None = None,
            mode: str | None = None, options: dict[str, Any] | None = None, name: str | None = None, disable: bool = False,
            recompile_limit: int | None = None, isolate_recompiles: bool = False, shapes_spec: object = None) -> Any:
    """A function, or module, that a compiler is given when it is called; also a decorator.

    The compiler is a function of a graph's module and of the tensors that it is called with, and gives what is to be called with them.
    There is none in this package: "inductor", which is meant where none is said, and "eager" run the function as it is.

    >>> import torchcompat as torch
    >>> def count(module, example_inputs):
    ...     print([node.name for node in module.graph.nodes if node.op == "call_function"])
    ...     return module.forward
    >>> torch.compile(lambda x: x.sin() + 1, backend=count)(torch.zeros(1))
    ['sin', 'add']
    tensor([1.])

    Args:
        fullgraph: whether it is an error where a call cannot be captured as one graph.
        dynamic: whether sizes may differ: each call has a graph of its sizes.
        mode: how hard "inductor" tries.
        options: what "inductor" is to do; keyword arguments of any other compiler.
        disable: whether the function is to be as it is.

    Raises:
        InvalidBackend: there is no compiler of that name.
        RuntimeError: mode and options, or another mode than there are.
        Unsupported: on the call: the function asks for a value, with `fullgraph`.
        BackendCompilerFailed: on the call: the compiler raised an error.
    """
    if mode is not None and options is not None:
        raise RuntimeError("Either mode or options can be specified, but both can't be specified at the same time.")
    if model is None:
        return lambda fn: compile(fn, fullgraph=fullgraph, dynamic=dynamic, backend=backend, mode=mode, options=options, name=name,
                                  disable=disable)
    chosen = _default if backend is None else backend
    if chosen == "inductor" and mode is not None and mode not in MODES:
        raise RuntimeError(f"Unrecognized mode={mode}, should be one of: {', '.join(MODES)}")
    if disable:
        return model
    found = lookup_backend(chosen)
    return _Context(found, fullgraph, {"options": options} if options and found is not None else {})(model)


_default: str | CompilerFn = "inductor"


def set_default_backend(backend: str | CompilerFn | None) -> None:
    """Chooses the compiler where none is said; None for torch's.

    Raises:
        InvalidBackend: there is none of that name.
    """
    global _default
    if backend is not None:
        lookup_backend(backend)
    _default = "inductor" if backend is None else backend


def get_default_backend() -> str | CompilerFn:
    """The compiler where none is said."""
    return _default


@dataclasses.dataclass
class ExplainOutput:
    """What `explain` found: the graphs of a call, and why there are more than one."""

    graphs: list[GraphModule]
    graph_count: int
    graph_break_count: int
    break_reasons: list[Any]
    op_count: int
    ops_per_graph: list[list[Any]] | None = None
    out_guards: list[Any] | None = None
    compile_times: str | None = None

    def __str__(self) -> str:
        lines = [f"Graph Count: {self.graph_count}", f"Graph Break Count: {self.graph_break_count}", f"Op Count: {self.op_count}",
                 "Break Reasons:"]
        for i, reason in enumerate(self.break_reasons):
            lines += [f"  Break Reason {i + 1}:", f"    Reason: {reason}"]
        return "\n".join(lines) + "\n"


def explain(f: Fn, *extra_args: Any, **extra_kwargs: Any) -> Any:
    """A function of arguments that captures the call with them, and tells what came of it."""

    def inner(*args: Any, **kwargs: Any) -> ExplainOutput:
        captured = Captured(f, args, kwargs)
        graphs = [] if captured.broken else [captured.module()]
        ops = [_operations(graph) for graph in graphs]
        reasons = [captured.broken] if captured.broken else []
        return ExplainOutput(graphs, len(graphs), len(reasons), reasons, sum(map(len, ops)), ops, [])

    return inner(*extra_args, **extra_kwargs) if extra_args or extra_kwargs else inner


shown_in("torchcompat", compile)
above.compile = compile
__all__ = ["OptimizedModule", "compile", "explain", "optimize", "optimize_assert", "reset"]
_absences(__name__)
