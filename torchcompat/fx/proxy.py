"""Stand-ins for values: whatever is done to them becomes a node of the graph that is being traced."""

from __future__ import annotations

import bisect
import collections
import copy
import dataclasses
import dis
import functools
import inspect
import operator
import sys
from types import FrameType
from typing import TYPE_CHECKING, Any, NoReturn
from collections.abc import Callable, Iterator

from autograd_tape.annotations import Arguments, Keywords
import torchcompat as torch
from torchcompat._calls.absent import absences as _absences
from torchcompat.utils._pytree import PyTree

from .graph import magic_methods, reflectable_magic_methods
from .node import Target, Node, base_types, find_torch, map_aggregate
from .traceback import take_over

if TYPE_CHECKING:
    from .graph import Graph

__all__ = ["TracerBase", "GraphAppendingTracer", "TraceError", "Proxy", "Attribute", "ParameterProxy", "Scope", "ScopeContextManager"]


class TraceError(ValueError):
    """What a program asks of a stand-in that only a value can tell."""


class Scope:
    """Which module is being traced: its path and type."""

    def __init__(self, module_path: str, module_type: object) -> None:
        self.module_path, self.module_type = module_path, module_type


class ScopeContextManager:
    """Inside, another module is being traced."""

    def __init__(self, scope: Scope, current_scope: Scope) -> None:
        self._before = copy.copy(scope)
        scope.module_path, scope.module_type = current_scope.module_path, current_scope.module_type
        self._scope = scope

    def __enter__(self) -> Scope:
        return self._scope

    def __exit__(self, *exc: object) -> None:
        self._scope.module_path, self._scope.module_type = self._before.module_path, self._before.module_type


class TracerBase:
    """Makes nodes and their stand-ins.

    Attributes:
        record_stack_traces: whether nodes note where in the program they were made.
        trace_asserts: whether `assert` of a stand-in becomes a node, rather than an error.
        check_mutable_operations: whether functions that change their arguments are refused.
    """

    graph: Graph
    record_stack_traces = False
    check_mutable_operations = False
    trace_asserts = False
    proxy_buffer_attributes = False
    traced_func_name = "forward"
    scope: Scope
    module_stack: collections.OrderedDict[str, Any]
    node_name_to_scope: dict[str, tuple[str, Any]]

    def create_node(self, kind: str, target: Target, args: Arguments, kwargs: Keywords, name: str | None = None,
                    type_expr: object = None) -> Node:
        """A new node, which notes the modules that it was made in."""
        if kind == "call_function" and self.check_mutable_operations:
            from .operator_schemas import check_for_mutable_operation

            check_for_mutable_operation(target, args, kwargs)
        node = self.graph.create_node(kind, target, args, kwargs, name, type_expr)
        if hasattr(self, "scope"):
            self.node_name_to_scope[node.name] = (self.scope.module_path, self.scope.module_type)
            if self.module_stack:
                node.meta["nn_module_stack"] = copy.copy(self.module_stack)
        return node

    def proxy(self, node: Node) -> Proxy:
        """The stand-in for the value of a node."""
        return Proxy(node, self)

    def create_proxy(self, kind: str, target: Target, args: Arguments, kwargs: Keywords, name: str | None = None,
                     type_expr: object = None, proxy_factory_fn: Callable[[Node], Proxy] | None = None) -> Proxy:
        """A new node's stand-in; stand-ins among the arguments become their nodes."""
        args_, kwargs_ = self.create_arg(args), self.create_arg(kwargs)
        if not isinstance(args_, tuple):
            raise AssertionError(f"Expected args_ to be tuple, got {type(args_)}")
        proxy = (proxy_factory_fn or self.proxy)(self.create_node(kind, target, args_, kwargs_, name, type_expr))
        take_over(proxy.node)
        if self.record_stack_traces and not proxy.node.stack_trace:
            proxy.node.stack_trace = _where()
        return proxy

    def create_arg(self, a: PyTree) -> PyTree:
        """What stands for a value in the arguments of a node.

        Raises:
            NotImplementedError: nothing does.
            RuntimeError: a stand-in is the key of a dictionary.
        """
        if isinstance(a, Proxy):
            return a.node
        if hasattr(a, "__fx_create_arg__"):
            return a.__fx_create_arg__(self)
        if isinstance(a, tuple):
            items = [self.create_arg(x) for x in a]
            return type(a)(*items) if hasattr(a, "_fields") else tuple(items)
        if isinstance(a, list):
            return [self.create_arg(x) for x in a]
        if isinstance(a, dict):
            return {self._key(k): self.create_arg(v) for k, v in a.items()}
        if isinstance(a, slice):
            return slice(self.create_arg(a.start), self.create_arg(a.stop), self.create_arg(a.step))
        if isinstance(a, range):
            return range(self.create_arg(a.start), self.create_arg(a.stop), self.create_arg(a.step))
        if dataclasses.is_dataclass(a) and not isinstance(a, type):
            fields = {f.name: self.create_arg(getattr(a, f.name)) for f in dataclasses.fields(a)}
            return self.create_node("call_function", a.__class__, (), fields)
        import enum

        if isinstance(a, (*base_types, enum.Enum)) or a is None or a is ... or type(a).__name__ in ("OpOverload", "OpOverloadPacket"):
            return a
        raise NotImplementedError(f"argument of type: {type(a)}")

    def _key(self, key: object) -> Any:
        key = self.create_arg(key)

        def refuse(value: object) -> Any:
            if isinstance(value, Node):
                raise RuntimeError(f"Keys for dictionaries used as an argument cannot contain a Node. Got key: {key}")
            return value

        map_aggregate(key, refuse)
        return key

    def to_bool(self, obj: Proxy) -> bool:
        """Whether the program goes one way or the other: unknown."""
        raise TraceError("symbolically traced variables cannot be used as inputs to control flow")

    def iter(self, obj: Proxy) -> Iterator[Any]:
        """The values in a value: unknown, how many there are."""
        raise TraceError("Proxy object cannot be iterated. This can be attempted when the Proxy is used in a loop or as a *args or **kwargs"
                         " function argument. See the torch.fx docs on pytorch.org for a more detailed explanation of what types of control"
                         " flow can be traced, and check out the Proxy docstring for help troubleshooting Proxy iteration errors")

    def keys(self, obj: Proxy) -> Any:
        """The keys of a value, as `**` asks for them."""
        return Attribute(obj, "keys")()


class GraphAppendingTracer(TracerBase):
    """Appends to a graph what is done to the stand-ins for its nodes."""

    def __init__(self, graph: Graph) -> None:
        super().__init__()
        self.graph = graph
        self.scope = Scope("", None)
        self.module_stack = collections.OrderedDict()
        self.node_name_to_scope = {}


class Proxy:
    """A stand-in for the value of a node.

    Operators, methods, functions of torch and those of `torch.fx.wrap` of it become nodes; what needs a value raises `TraceError`.
    """

    def __init__(self, node: Node, tracer: TracerBase | None = None) -> None:
        self.tracer = GraphAppendingTracer(node.graph) if tracer is None else tracer
        self.node = node

    def __repr__(self) -> str:
        return f"Proxy({self.node.name})"

    def __getattr__(self, k: str) -> Any:
        if k in ("tracer", "node", "__fx_create_arg__", "_custom_fx_repr_fn", "__torch_dispatch__", "_k", "_data", "_node", "_v"):
            raise AttributeError(k)  # of an object that is not made yet, or questions about what it is
        return Attribute(self, k)

    def __getstate__(self) -> Keywords:
        return self.__dict__

    def __setstate__(self, state: Keywords) -> None:
        self.__dict__.update(state)

    def __deepcopy__(self, memo: dict[int, Any]) -> Proxy:
        copied = object.__new__(type(self))
        copied.__dict__.update({k: copy.deepcopy(v, memo) for k, v in self.__dict__.items()})
        return copied

    def __call__(self, *args: object, **kwargs: object) -> Any:
        return self.tracer.create_proxy("call_method", "__call__", (self, *args), kwargs)

    def __iter__(self) -> Iterator[Any]:
        frame = sys._getframe(1)
        instruction = _instruction(frame)
        if instruction is not None and instruction.opname == "UNPACK_SEQUENCE":
            return (operator.getitem(self, i) for i in range(instruction.argval))
        return self.tracer.iter(self)

    def __abs__(self) -> Any:
        return self.tracer.create_proxy("call_function", operator.abs, (self,), {})

    def __bool__(self) -> bool:
        if self.tracer.trace_asserts and _asserts(sys._getframe(1)):
            self.tracer.create_proxy("call_function", torch._assert, (self, ""), {})
            return True
        return self.tracer.to_bool(self)

    def keys(self) -> Any:
        """Its keys, as `**` asks for them."""
        return self.tracer.keys(self)

    def __len__(self) -> NoReturn:
        raise RuntimeError("'len' is not supported in symbolic tracing by default. If you want this call to be recorded, please call "
                           "torch.fx.wrap('len') at module scope")

    @classmethod
    def __torch_function__(cls, orig_method: Any, types: object, args: Any = None, kwargs: Keywords | None = None) -> Any:
        args, kwargs = args or (), kwargs or {}
        found: dict[TracerBase, None] = {}

        def note(value: object) -> Any:
            if isinstance(value, Proxy):
                found.setdefault(value.tracer)
            return value

        map_aggregate(args, note)
        map_aggregate(kwargs, note)
        if len(found) > 1:
            raise RuntimeError(f"Found multiple different tracers {list(found)} while trying to trace operations {orig_method}")
        tracer = next(iter(found))
        method, args, kwargs = as_written(orig_method, args, kwargs)
        if method:
            return tracer.create_proxy("call_method", orig_method.__name__, args, kwargs)
        return tracer.create_proxy("call_function", orig_method, args, kwargs,
                                   name=tracer.graph._target_to_str(getattr(orig_method, "__name__", "fn")))


class Attribute(Proxy):
    """A stand-in for an attribute: a node when it is used as a value, a call of a method when it is called."""

    def __init__(self, root: Proxy, attr: str) -> None:
        self.root, self.attr, self.tracer = root, attr, root.tracer
        self._made: Node | None = None

    @property
    def node(self) -> Node:  # type: ignore[override]
        """The node of the attribute, made when it is first asked for."""
        if self._made is None:
            self._made = self.tracer.create_proxy("call_function", getattr, (self.root, self.attr), {}).node
        return self._made

    def __call__(self, *args: object, **kwargs: object) -> Any:
        return self.tracer.create_proxy("call_method", self.attr, (self.root, *args), kwargs)


class ParameterProxy(Proxy):
    """A stand-in for a parameter, of which shape and size are known."""

    def __init__(self, tracer: TracerBase, node: Node, name: str, param: object) -> None:
        super().__init__(node, tracer)
        if not isinstance(param, torch.nn.Parameter):
            raise AssertionError(f"Expected Parameter, got {type(param)}")
        self.param, self.name = param, name

    def __repr__(self) -> str:
        return f"ParameterProxy({self.name})"

    @property
    def shape(self) -> Any:
        """The parameter's."""
        return self.param.shape

    def size(self) -> Any:
        """The parameter's."""
        return self.param.size()

    def dim(self) -> int:
        """The parameter's."""
        return int(self.param.dim())

    @property
    def ndim(self) -> int:
        """The parameter's."""
        return int(self.param.ndim)

    def numel(self) -> int:
        """The parameter's."""
        return int(self.param.numel())

    def nelement(self) -> int:
        """The parameter's."""
        return int(self.param.nelement())


# -- what programs have written ---------------------------------------------------------------------------------------


def _at(frame: FrameType) -> int:
    """The place of the instruction that a frame carries out; while it calls a function, `f_lasti` may lie in the cache behind it."""
    return bisect.bisect_right(_instructions(frame.f_code), frame.f_lasti, key=lambda found: found.offset) - 1


def _instruction(frame: FrameType, behind: int = 0) -> dis.Instruction | None:
    """The instruction that a frame carries out, or one that comes behind it."""
    instructions, at = _instructions(frame.f_code), _at(frame) + behind
    return instructions[at] if 0 <= at < len(instructions) else None


@functools.lru_cache(maxsize=256)
def _instructions(code: Any) -> list[dis.Instruction]:
    return list(dis.get_instructions(code))


def _asserts(frame: FrameType) -> bool:
    """Whether the program is about to fail an assertion where the value is false."""
    names = [found.opname for i in range(4) if (found := _instruction(frame, i)) is not None]
    return any(["JUMP" in name and "IF_TRUE" in name for name in names]) and "LOAD_ASSERTION_ERROR" in names


def _where() -> str:
    """The stack of the program, without the tracer."""
    import traceback

    return "".join(traceback.StackSummary.from_list(
        [s for s in traceback.extract_stack() if "/torchcompat/" not in s.filename and "/autograd_tape/" not in s.filename
         and not s.filename.startswith("<")]).format()).strip()


def _caller() -> FrameType | None:
    """The frame that called the function of torch that is being carried out, whose own code is generated."""
    frame: FrameType | None = sys._getframe(2)
    while frame is not None and not (frame.f_code.co_filename.startswith("<") and frame.f_code.co_filename.endswith(": torch>")):
        frame = frame.f_back
    frame = None if frame is None else frame.f_back
    while frame is not None and frame.f_code.co_filename.endswith("autograd_tape/frontend.py"):
        frame = frame.f_back
    return frame


def _keywords(frame: FrameType | None) -> tuple[int, tuple[str, ...]] | None:
    """How many arguments a frame gives by position to the function that it calls, and the names of the others; None if it does not say."""
    if frame is None:
        return None
    instructions, at = _instructions(frame.f_code), _at(frame)
    if at < 0 or not instructions[at].opname.startswith(("CALL", "PRECALL")) or instructions[at].opname == "CALL_FUNCTION_EX":
        return None
    count = instructions[at].arg or 0
    names: tuple[str, ...] = ()
    for before in (instructions[at - 1], instructions[at - 2]):
        if before.opname == "KW_NAMES":
            names = frame.f_code.co_consts[before.arg or 0]
        elif instructions[at].opname == "CALL_KW" and before.opname == "LOAD_CONST" and isinstance(before.argval, tuple):
            names = before.argval
        if names or before.opname not in ("PRECALL", "CACHE"):
            break
    return count - len(names), names


@functools.cache
def _parameters(function: Any) -> tuple[inspect.Parameter, ...] | None:
    try:
        return tuple(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return None


def as_written(function: Any, args: Arguments, kwargs: Keywords) -> tuple[bool, Arguments, Keywords]:
    """(whether it was called as a method, positional arguments, keyword arguments): functions that torch has in Python have all that they
    have a default for by keyword; the others are called as the program has it."""
    parameters = _parameters(function)
    if parameters is None or any([p.kind is p.VAR_POSITIONAL for p in parameters]):
        return False, args, kwargs
    caller = _caller()
    if caller is not None and isinstance(args[0] if args else None, torch.Tensor):
        instruction = _instruction(caller)
        if instruction is not None and instruction.opname.startswith(("BINARY", "COMPARE")):  # an operator of a tensor and a stand-in
            return True, args, kwargs
    written = _keywords(caller)
    plain = [p for p in parameters if p.kind is not p.KEYWORD_ONLY]
    if len(args) > len(plain):
        return False, args, kwargs
    given = {p.name: value for p, value in zip(plain, args)} | kwargs
    home = getattr(function, "__module__", "")
    if home in ("torchcompat.nn.functional", "torchcompat.functional") and len(plain) == len(parameters):
        by_position = tuple([given[p.name] for p in plain if p.default is p.empty])
        named = {p.name: given.get(p.name, p.default) for p in parameters if p.default is not p.empty}
        return False, by_position, named
    if written is None:
        return False, args, kwargs
    count, names = written
    given |= {p.name: p.default for p in parameters if p.name in names and p.name not in given}  # spelled out, but not told
    names = tuple([n for n in names if n in given])
    values = tuple([given[p.name] for p in plain if p.name in given and p.name not in names])
    method = len(values) == count + 1 and isinstance(args[0], torch.Tensor) and find_torch(f"torch.Tensor.{function.__name__}") is not None
    return method, values, {name: given[name] for name in names} | {k: v for k, v in kwargs.items() if k not in given}


# -- operators --------------------------------------------------------------------------------------------------------


def _operator(name: str, reflected: bool = False) -> Any:
    target = getattr(operator, name)

    def method(self: Proxy, *others: Any) -> Any:
        return self.tracer.create_proxy("call_function", target, (others[0], self) if reflected else (self, *others), {})

    method.__name__ = f"__{'r' * reflected}{name.strip('_')}__"
    return method


for _name in (*magic_methods, "getitem"):
    setattr(Proxy, f"__{_name.strip('_')}__", _operator(_name))
for _name in reflectable_magic_methods:
    setattr(Proxy, f"__r{_name.strip('_')}__", _operator(_name, reflected=True))
Proxy.__hash__ = object.__hash__  # type: ignore[method-assign]

_absences(__name__)
