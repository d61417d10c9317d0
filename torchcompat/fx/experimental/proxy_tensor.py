"""Graphs of what functions do to given values: every operation of ATen that a mode is shown becomes a node.

>>> import torchcompat as torch
>>> from torchcompat.fx.experimental.proxy_tensor import make_fx
>>> print(make_fx(lambda x: x.sin() + 1)(torch.ones(2)).code.strip())
def forward(self, x_1):
    sin = torch.ops.aten.sin.default(x_1);  x_1 = None
    add = torch.ops.aten.add.Tensor(sin, 1);  sin = None
    return add
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import operator
from typing import Any, NamedTuple
from collections.abc import Callable, Iterator, Mapping

from autograd_tape.annotations import Arguments, Fn, Keywords
from autograd_tape.calls import Call, Door, Interceptor, listen, unlisten
from autograd_tape.codegen import execute
import torchcompat as torch
from torchcompat._calls.absent import absences as _absences
from torchcompat._calls.aten import before_dispatch
from torchcompat._guards import detect_fake_mode
from torchcompat._subclasses.fake_tensor import FakeTensor, FakeTensorMode
from torchcompat._tensor import frontend
from torchcompat.fx._symbolic_trace import PH, Tracer
from torchcompat.fx.graph_module import GraphModule
from torchcompat.fx.node import Node
from torchcompat.fx.passes.shape_prop import _extract_tensor_metadata
from torchcompat.fx.proxy import Proxy
from torchcompat.nn import Module
from torchcompat.utils import _pytree as pytree
from torchcompat.utils._python_dispatch import TorchDispatchMode, _DisableTorchDispatch, _get_current_dispatch_mode_stack

__all__ = ["PythonKeyTracer", "dispatch_trace", "make_fx", "get_innermost_proxy_mode", "get_proxy_mode"]

_TELLING = ("aten::_local_scalar_dense", "aten::equal", "aten::is_nonzero")
"""Operations that tell the program values of tensors."""
CONSTANT_NUMEL_LIMIT = 1
"""How many elements a tensor that the program itself made of numbers may have for its value to be known while tracing."""


class Tracked(NamedTuple):
    """A tensor and its memory, which are kept so that nothing else gets their identity; its node; its value where that is known."""

    tensor: torch.Tensor
    memory: object
    proxy: Proxy
    constant: torch.Tensor | None


class PythonKeyTracer(Tracer):
    """Makes the graph of operations that were carried out: of modules nothing is seen but what they do.

    Attributes:
        tracked: what is known of tensors, by their identity and by that of their memory: what the tape records gets another wrapper.
    """

    def __init__(self) -> None:
        super().__init__(autowrap_modules=())
        self.root = Module()
        self.tensor_attrs: dict[Any, str] = {}
        self.tracked: dict[int, Tracked] = {}

    def call_module(self, m: Module, forward: Fn, args: Arguments, kwargs: Keywords) -> Any:
        """What the module does."""
        return forward(*args, **kwargs)

    def getattr(self, attr: str, attr_val: object, parameter_proxy_cache: Keywords) -> Any:
        """The attribute itself."""
        return attr_val

    def create_arg(self, a: object) -> Any:
        """What stands for a value: parameters and tensors from outside become attributes of the root."""
        if isinstance(a, torch.nn.Parameter) and not any([a is p for p in self.root.parameters()]):
            number = 0
            while hasattr(self.root, f"_param_constant{number}"):
                number += 1
            setattr(self.root, f"_param_constant{number}", a)
        made = super().create_arg(a)
        if isinstance(a, torch.Tensor) and isinstance(made, Node):
            _note(made, a)
        return made

    def track(self, value: object, proxy: Proxy, constant: Any = None) -> None:
        """Notes that a node stands for a value; for the values in a container, nodes that take them out of it do."""
        if isinstance(value, torch.Tensor):
            found = Tracked(value, value._data, proxy, constant)
            self.tracked[id(value)] = found
            if found.memory is not None:
                self.tracked[id(found.memory)] = found
            _note(proxy.node, value)
        elif isinstance(value, (tuple, list)):
            proxy.node.meta["val"] = pytree.tree_map(_as_shape, value)
            for i, inner in enumerate(value):
                part = self.create_proxy("call_function", operator.getitem, (proxy, i), {})
                self.track(inner, part, None if constant is None else constant[i])
        else:
            proxy.node.meta["val"] = value

    def found(self, value: torch.Tensor) -> Tracked | None:
        """What is known of a tensor."""
        return self.tracked.get(id(value)) or self.tracked.get(id(value._data))

    def known(self, value: object) -> Any:
        """The stand-in of a tensor where it has one, anything else as it is."""
        found = self.found(value) if isinstance(value, torch.Tensor) else None
        return value if found is None else found.proxy


_FAKES = FakeTensorMode()
"""Of which the fakes on nodes are."""


def _as_shape(value: object) -> object:
    """What is known of a value without its elements."""
    if not isinstance(value, torch.Tensor):
        return value
    with _DisableTorchDispatch():
        if value.layout is not torch.strided:
            return torch.empty(value.shape, dtype=value.dtype, device="meta")
        made = torch.empty_strided(value.shape, value.stride(), dtype=value.dtype, device="meta")
        return FakeTensor(value.fake_mode if isinstance(value, FakeTensor) else _FAKES, made, value.device)


def _note(node: Node, value: torch.Tensor) -> None:
    """Notes on a node what its value is."""
    node.meta["val"] = _as_shape(value)
    with _DisableTorchDispatch():
        node.meta["tensor_meta"] = _extract_tensor_metadata(value)


class ProxyTorchDispatchMode(TorchDispatchMode):
    """Inside, every operation becomes a node of the tracer's graph, and is carried out."""

    def __init__(self, tracer: PythonKeyTracer, tracing_mode: str = "real", pre_dispatch: bool = False,
                 _error_on_data_dependent_ops: bool = True, decomposition_table: Mapping[Any, Fn] | None = None) -> None:
        super().__init__()
        self.tracer, self.tracing_mode, self.pre_dispatch = tracer, tracing_mode, pre_dispatch
        self._error_on_data_dependent_ops = _error_on_data_dependent_ops
        self.decomposition_table = decomposition_table or {}
        self.ended = ""

    def end(self, why: str) -> None:
        """Notes that the graph does not hold all that is done, and for which reason at first."""
        self.ended = self.ended or why

    def __enter__(self) -> ProxyTorchDispatchMode:
        super().__enter__()
        if self.pre_dispatch:
            listen(_COMPOSITES)
        return self

    def __exit__(self, *exc: object) -> None:
        if self.pre_dispatch:
            unlisten(_COMPOSITES)
        super().__exit__(*exc)

    def __torch_dispatch__(self, func: Any, types: object, args: Any = (), kwargs: Any = None) -> Any:
        return self.carry_out(func, args, kwargs or {}, lambda: func(*args, **kwargs or {}))

    def carry_out(self, func: Any, args: Any, kwargs: Keywords, run: Callable[[], Any]) -> Any:
        """The result of an operation, of which a node is made; `run` gives it."""
        rule = self.decomposition_table.get(func)
        if rule is not None:
            with self:
                result = rule(*args, **kwargs)
            if result is not NotImplemented:
                return result
        tracer = self.tracer
        tensors = [t for t in pytree.tree_leaves([args, kwargs]) if isinstance(t, torch.Tensor)]
        constants = {id(t): found.constant for t in tensors if (found := tracer.found(t)) is not None}
        if func.name() in _TELLING:
            if None not in constants.values():
                given = pytree.tree_map(lambda t: constants.get(id(t), t), (args, kwargs))
                with _DisableTorchDispatch():
                    return func(*given[0], **given[1])
            if self._error_on_data_dependent_ops:
                raise RuntimeError(
                    f"It appears that you're trying to get value out of a tracing tensor with {func} - erroring out! It's likely that this "
                    "is caused by data-dependent control flow or similar.  It may be possible to trace this with dynamic shapes; try "
                    "setting tracing_mode='symbolic' in your make_fx call.")
            self.end(f"Data-dependent branching, or a value of a tensor: {func}")
            return run()
        lifts = func.name() == "aten::lift_fresh"
        if lifts:
            func = torch.ops.aten.lift_fresh_copy.default
        proxy_args, proxy_kwargs = pytree.tree_map(tracer.known, (args, kwargs))
        proxy = tracer.create_proxy("call_function", func, proxy_args, proxy_kwargs, name=tracer.graph._target_to_str(func._opname))
        if lifts and self.pre_dispatch:
            _note(proxy.node, args[0])
            proxy = tracer.create_proxy("call_function", torch.ops.aten.detach_.default, (proxy,), {}, name="detach_")
        out = run()
        if func._opname.endswith("_") and not func._opname.endswith("__") and args and isinstance(args[0], torch.Tensor):
            tracer.track(args[0], proxy)
            return out
        tracer.track(out, proxy, self._constant(func, args, kwargs, constants, out))
        return out

    def whole(self, func: Any, *args: Any) -> Any:
        """The result of an operation of which one node is made, whatever it is made of."""

        def run() -> Any:
            with _DisableTorchDispatch():
                return func(*args)

        return self.carry_out(func, args, {}, run)

    @staticmethod
    def _constant(func: Any, args: Any, kwargs: Any, constants: dict[int, Any], out: object) -> Any:
        """The value of a result that depends on nothing but numbers in the program, and is small; else None."""
        if any([t.numel() > CONSTANT_NUMEL_LIMIT for t in pytree.tree_leaves(out) if isinstance(t, torch.Tensor)]):
            return None
        if not constants and func.name() != "aten::lift_fresh_copy" or None in constants.values():
            return None
        given = pytree.tree_map(lambda t: constants.get(id(t), t), (args, kwargs))
        with _DisableTorchDispatch():
            return func(*given[0], **given[1])


class _Composites(Interceptor):
    """Operations that torch makes of others, noted as they are called where a mode wants them so."""

    place, frontend = "trace", frontend
    all_functions = False

    def concerns(self, door: Door) -> bool:
        return before_dispatch(door) is not None

    def meet(self, door: Door, args: Arguments, out: object, inplace: bool, asked: tuple[Interceptor, ...], at: int) -> Any:
        mode, form = get_innermost_proxy_mode(), before_dispatch(door)
        if mode is None or not mode.pre_dispatch or form is None or out is not None or inplace:
            return NotImplemented
        found = form(args)
        if found is None:
            return NotImplemented
        call = Call(door, args, out, inplace, asked, at)
        func, positional, named = found

        def run() -> Any:
            with _DisableTorchDispatch():
                return call.proceed()

        return mode.carry_out(func, positional, named, run)


_COMPOSITES = _Composites()


def get_innermost_proxy_mode() -> ProxyTorchDispatchMode | None:
    """The innermost mode of this thread that makes nodes."""
    found = [mode for mode in _get_current_dispatch_mode_stack() if isinstance(mode, ProxyTorchDispatchMode)]
    return found[-1] if found else None


def get_proxy_mode() -> ProxyTorchDispatchMode | None:
    """The mode of this thread that makes nodes."""
    return get_innermost_proxy_mode()


@contextlib.contextmanager
def disable_proxy_modes_tracing() -> Iterator[None]:
    """Inside, operations become no nodes."""
    with _DisableTorchDispatch():
        yield


def dispatch_trace(root: Module | Fn, tracer: Tracer, concrete_args: Any = None) -> GraphModule:
    """The module of the graph that a tracer makes."""
    graph = tracer.trace(root, concrete_args)
    name = root.__class__.__name__ if isinstance(root, Module) else root.__name__
    return GraphModule(tracer.root, graph, name)


def fake_signature(fn: Fn, nargs: int) -> Fn:
    """`fn` as a function of so many parameters: `arg0`, `arg1` ..."""
    names = ", ".join([f"arg{i}" for i in range(nargs)])
    made: Fn = execute(f"def called({names}):\n    return fn({names})\n", "called", f"<a function of {nargs} parameters>", {"fn": fn})
    return made


def _values_known(f: Fn, args: Arguments, tracer: PythonKeyTracer, mode: ProxyTorchDispatchMode) -> Fn:
    """A function of stand-ins, with the parameters of `f`, that carries `f` out on the values that they stand for."""

    @functools.wraps(f)
    def carried_out(*proxies: object) -> object:
        for value, proxy in zip(pytree.tree_leaves(args), pytree.tree_leaves(proxies)):
            tracer.track(value, proxy)
        with mode:
            result = f(*args)
        return pytree.tree_map(tracer.known, result)

    return carried_out


def make_fx(f: Fn, decomposition_table: Mapping[Any, Fn] | None = None, tracing_mode: str = "real", _allow_non_fake_inputs: bool = False, *,
            pre_dispatch: bool = False, record_module_stack: bool = False, _allow_fake_constant: bool = False,
            _error_on_data_dependent_ops: bool = True, record_stack_traces: bool = False, proxy_module_inputs: bool = False,
            _disable_torch_fn_metadata_mode: bool = False) -> Callable[..., GraphModule]:
    """A function of arguments for `f` that gives the module of the operations of ATen that `f` carries out on them.

    Args:
        decomposition_table: functions by operations of ATen that are to be made of others.
        tracing_mode: "real": the operations are carried out on the arguments; "fake": on fakes of them, which have no elements.
        pre_dispatch: whether operations are noted as they are called, before they are made of others.
        record_stack_traces: whether nodes note where in the program they were made.

    Raises:
        AssertionError: there is no such mode.
        NotImplementedError: sizes are to be symbols.
        RuntimeError: on the call: `f` asks for the value of a tensor that is computed from its arguments.
    """
    if tracing_mode not in ("real", "fake", "symbolic"):
        raise AssertionError(f"tracing_mode must be real/fake/symbolic, got {tracing_mode}")
    if tracing_mode == "symbolic":
        raise NotImplementedError("make_fx(tracing_mode='symbolic'): sizes are numbers here, never symbols; trace with 'real' or 'fake'")

    @functools.wraps(f)
    def wrapped(*args: object) -> GraphModule:
        around: contextlib.AbstractContextManager[object] = contextlib.nullcontext()
        if tracing_mode == "fake":
            around = fakes = detect_fake_mode(args) or FakeTensorMode(allow_non_fake_inputs=_allow_non_fake_inputs)
            args = pytree.tree_map_only(torch.Tensor, fakes.from_tensor, args)
        tracer = PythonKeyTracer()
        tracer.record_stack_traces = record_stack_traces
        mode = ProxyTorchDispatchMode(tracer, tracing_mode, pre_dispatch, _error_on_data_dependent_ops, decomposition_table)
        code = getattr(inspect.unwrap(f), "__code__", None)
        plain = code is not None and not code.co_flags & inspect.CO_VARARGS
        called = f if plain else fake_signature(f, len(args))
        with around:
            return dispatch_trace(_values_known(called, args, tracer, mode), tracer, pytree.tree_map(lambda _: PH, args))

    return wrapped


_absences(__name__)
