"""Graphs of functions and modules: they are run once on stand-ins for their inputs."""

from __future__ import annotations

import builtins
import collections
import contextlib
import functools
import inspect
import math
import sys
from types import CodeType, FunctionType, ModuleType
from typing import Any
from collections.abc import Callable, Iterator

from autograd_tape import warned
from autograd_tape.annotations import Arguments, Fn, Keywords
from autograd_tape.calls import listening
import torchcompat as torch
from torchcompat._C import ScriptObject as ScriptObject
from torchcompat._calls.absent import absences as _absences
from torchcompat.nn import Module
from torchcompat.overrides import FUNCTIONS
from torchcompat.utils import _pytree as pytree

from ._compatibility import compatibility as compatibility
from .graph import Graph, _PyTreeCodeGen, _PyTreeInfo
from .graph_module import GraphModule, _tracers
from .node import base_types
from .proxy import ParameterProxy, Proxy, Scope, ScopeContextManager, TracerBase

_wrapped_fns_to_patch: dict[tuple[int, str], Keywords] = {}
_wrapped_methods_to_patch: list[tuple[type, str]] = []
_orig_module_call, _orig_module_getattr = Module.__call__, Module.__getattr__
_traced = 0


def is_fx_tracing() -> bool:
    """Whether something is being traced."""
    return _traced > 0


def is_fx_symbolic_tracing() -> bool:
    """Whether something is being traced, and not compiled."""
    return _traced > 0


class PHBase:
    """Stands among concrete arguments for a leaf that is to be an input."""

    def __repr__(self) -> str:
        return "PH"


PH = PHBase()


class PHWithMeta(PHBase):
    """One that knows more about the input."""

    def __init__(self, ph_key: str | None = None) -> None:
        self.ph_key = ph_key


class ProxyableClassMeta(type):
    """Classes whose instances may be made of stand-ins: making one becomes a node then."""

    def __init__(cls, name: str, bases: tuple[type, ...], attrs: Keywords) -> None:
        super().__init__(name, bases, attrs)

    def __call__(cls, *args: object, **kwargs: object) -> Any:
        instance = cls.__new__(cls)  # type: ignore[call-overload]
        found: list[Proxy] = [x for x in pytree.tree_leaves([args, kwargs]) if isinstance(x, Proxy)]
        if found:
            return found[0].tracer.create_proxy("call_function", cls, args, kwargs)
        cls.__init__(instance, *args, **kwargs)  # type: ignore[misc]
        return instance


class _Patcher:
    """What is replaced while something is traced, and put back after it; tracers of programs use it as this module's does."""

    def __init__(self) -> None:
        self.undo: list[Callable[[], object]] = []
        self.visited: set[int] = set()

    def patch(self, frame_dict: Keywords, name: str, new_fn: Fn, deduplicate: bool = True) -> None:
        """Replaces an entry of a dictionary, or adds one that hides a built-in function, unless that was done."""
        if name not in frame_dict and hasattr(builtins, name):
            self.undo.append(lambda: frame_dict.pop(name))
        elif getattr(before := frame_dict[name], "__fx_already_patched", False):
            return
        else:
            self.undo.append(lambda: frame_dict.__setitem__(name, before))
        new_fn.__fx_already_patched = deduplicate  # type: ignore[attr-defined]
        frame_dict[name] = new_fn

    def patch_method(self, cls: type, name: str, new_fn: Fn, deduplicate: bool = True) -> None:
        """Replaces a method of a class, unless that was done."""
        if getattr(getattr(cls, name), "__fx_already_patched", False):
            return
        before = cls.__dict__.get(name)
        self.undo.append((lambda: delattr(cls, name)) if before is None else (lambda: setattr(cls, name, before)))
        new_fn.__fx_already_patched = deduplicate  # type: ignore[attr-defined]
        setattr(cls, name, new_fn)

    def visit_once(self, thing: object) -> bool:
        """Whether this is the first time that it is told of a thing."""
        first = id(thing) not in self.visited
        self.visited.add(id(thing))
        return first

    def __enter__(self) -> _Patcher:
        return self

    def __exit__(self, *exc: object) -> None:
        while self.undo:
            self.undo.pop()()
        self.visited.clear()


def _autowrap_check(patcher: _Patcher, frame_dict: Keywords, function_ids: set[int]) -> None:
    """Lets functions of a module that are to become nodes do so."""
    if patcher.visit_once(frame_dict):
        for name, value in list(frame_dict.items()):
            if not name.startswith("_") and callable(value) and id(value) in function_ids:
                patcher.patch(frame_dict, name, _create_wrapped_func(value))


def _patch_wrapped_functions(patcher: _Patcher) -> None:
    """Lets what `wrap` was told of become nodes."""
    for (_, name), names in list(_wrapped_fns_to_patch.items()):
        if name in names or hasattr(builtins, name):
            patcher.patch(names, name, _create_wrapped_func(names[name] if name in names else getattr(builtins, name)))
    for cls, name in _wrapped_methods_to_patch:
        patcher.patch_method(cls, name, _create_wrapped_method(cls, name))


def _find_proxy(*objects: Any) -> Proxy | None:
    """The first stand-in in arguments."""
    from .node import map_aggregate

    found: list[Proxy] = []

    def note(x: object) -> Any:
        if isinstance(x, Proxy):
            found.append(x)
        return x

    map_aggregate(objects, note)
    return found[0] if found else None


def _create_wrapped_func(orig_fn: Any) -> Any:
    """A function that becomes a node when it is given stand-ins."""

    @functools.wraps(orig_fn)
    def wrapped(*args: object, **kwargs: object) -> Any:
        proxy = _find_proxy(args, kwargs)
        if proxy is None:
            return orig_fn(*args, **kwargs)
        result = proxy.tracer.create_proxy("call_function", orig_fn, args, kwargs)
        result.node.meta["is_wrapped"] = True
        return result

    wrapped.__fx_wrapped__ = True  # type: ignore[attr-defined]
    return wrapped


def _create_wrapped_method(cls: type, name: str) -> Any:
    """A method that becomes a node when it is given stand-ins."""
    orig_fn = getattr(cls, name)

    @functools.wraps(orig_fn)
    def wrapped(*args: object, **kwargs: object) -> Any:
        proxy = _find_proxy(args, kwargs)
        if proxy is None:
            return orig_fn(*args, **kwargs)
        return proxy.tracer.create_proxy("call_method", name, args, kwargs)

    return wrapped


class Tracer(TracerBase):
    """Makes the graph of a function or module; subclasses say what is a leaf and what stands for arguments.

    Args:
        autowrap_modules: modules whose functions become nodes when they are given stand-ins.
        autowrap_functions: functions that do.
        param_shapes_constant: whether shapes of parameters are numbers, not nodes.
    """

    def __init__(self, autowrap_modules: tuple[ModuleType, ...] = (math,), autowrap_functions: tuple[Fn, ...] = (),
                 param_shapes_constant: bool = False) -> None:
        super().__init__()
        self._autowrap_function_ids = {id(value) for module in autowrap_modules for name, value in module.__dict__.items()
                                       if not name.startswith("_") and callable(value)} | {id(f) for f in autowrap_functions}
        self._autowrap_search = list(autowrap_modules)
        self.param_shapes_constant = param_shapes_constant
        self.submodule_paths: dict[Module, str] | None = None
        self.root_module_name = ""
        self.scope = Scope("", None)
        self.module_stack = collections.OrderedDict()
        self.num_calls: dict[str, int] = {}
        self.node_name_to_scope = {}

    def create_arg(self, a: object) -> Any:
        """What stands for a value: parameters, buffers and modules of the root are attributes, other tensors become attributes.

        Raises:
            NameError: a parameter or module is none of the root's.
        """
        if isinstance(a, torch.nn.Parameter):
            for name, parameter in self.root.named_parameters():
                if a is parameter:
                    return self.create_node("get_attr", name, (), {})
            raise NameError("parameter is not a member of this module")
        if isinstance(a, torch.Tensor):
            for name, buffer in self.root.named_buffers():
                if a is buffer:
                    return self.create_node("get_attr", name, (), {})
        elif isinstance(a, Module) and a in (self.submodule_paths or {}):
            return self.create_node("get_attr", self.path_of_module(a), (), {})
        if isinstance(a, tuple) and hasattr(a, "_fields"):
            return self.create_node("call_function", a.__class__, tuple([self.create_arg(x) for x in a]), {})
        if isinstance(a, torch.Tensor):
            known: str | None = self.tensor_attrs.get(a)
            name = known or ""
            if known is None:
                number = 0
                while hasattr(self.root, f"_tensor_constant{number}"):
                    number += 1
                name = f"_tensor_constant{number}"
                self.tensor_attrs[a] = name
                setattr(self.root, name, a)
            return self.create_node("get_attr", name, (), {})
        if isinstance(type(a), ProxyableClassMeta):
            number = 0
            while hasattr(self.root, f"_{a.__class__.__name__}_constant_{number}"):
                number += 1
            setattr(self.root, name := f"_{a.__class__.__name__}_constant_{number}", a)
            return self.create_node("get_attr", name, (), {})
        return super().create_arg(a)

    def is_leaf_module(self, m: Module, module_qualified_name: str) -> bool:
        """Whether a call of the module is one node: those of torch's own modules are, containers apart."""
        module = type(m).__module__
        ours = module.startswith(("torch.nn", "torch.ao.nn", "torchcompat.nn"))
        return ours and not isinstance(m, torch.nn.Sequential)

    def path_of_module(self, mod: Module) -> str:
        """The name of a submodule.

        Raises:
            NameError: the root has no such.
        """
        if self.submodule_paths:
            path = self.submodule_paths.get(mod)
            if path is None:
                raise NameError("module is not installed as a submodule")
            return path
        for name, module in self.root.named_modules():
            if module is mod:
                return name
        raise NameError("module is not installed as a submodule")

    def call_module(self, m: Module, forward: Fn, args: Arguments, kwargs: Keywords) -> Any:
        """The result of the call of a module: one node where it is a leaf, else what `forward` makes of it."""
        path = self.path_of_module(m)
        with ScopeContextManager(self.scope, Scope(path, type(m))):
            calls = self.num_calls.get(path, 0)
            key = f"{path}@{calls}" if calls else path
            self.num_calls[path] = calls + 1
            self.module_stack[key] = (path, type(m))
            try:
                if self.is_leaf_module(m, path):
                    return self.create_proxy("call_module", path, args, kwargs)
                return forward(*args, **kwargs)
            finally:
                self.module_stack.popitem()

    def getattr(self, attr: str, attr_val: object, parameter_proxy_cache: Keywords) -> Any:
        """What a program gets for an attribute of a module: a stand-in for a parameter, or for a buffer where those are asked for."""

        def found(members: Iterator[tuple[str, Any]]) -> Any:
            for name, value in members:
                if value is attr_val:
                    if name not in parameter_proxy_cache:
                        factory = None if not self.param_shapes_constant else (
                            lambda node: ParameterProxy(self, node, name, attr_val))
                        parameter_proxy_cache[name] = self.create_proxy("get_attr", name, (), {}, proxy_factory_fn=factory)
                    return parameter_proxy_cache[name]
            return None

        proxy = None
        if isinstance(attr_val, torch.nn.Parameter):
            proxy = found(self.root.named_parameters())
        elif self.proxy_buffer_attributes and isinstance(attr_val, torch.Tensor):
            proxy = found(self.root.named_buffers())
        return attr_val if proxy is None else proxy

    def create_args_for_root(self, root_fn: Fn, is_module: bool, concrete_args: Any = None) -> tuple[Any, list[Any]]:
        """(function, its arguments): an input for each parameter that has no concrete argument.

        Raises:
            RuntimeError: `self` is part of `*args`, or tuples of concrete arguments and parameters differ.
        """
        unwrapped = inspect.unwrap(root_fn)
        code = unwrapped.__code__
        total = code.co_argcount + code.co_kwonlyargcount
        names = iter(code.co_varnames)
        args: list[Any] = []
        skipped = 0
        if is_module:
            if total == 0:
                raise RuntimeError("``self`` argument cannot be part of *args expansion!")
            skipped = 1
            next(names)
            args.append(self.root)
        signature = inspect.signature(unwrapped)
        annotations = {} if str(unwrapped.__module__).startswith(("torchcompat.", "torch.")) else unwrapped.__annotations__
        if isinstance(concrete_args, tuple):
            if len(concrete_args) != total - skipped:
                raise RuntimeError(f"Tracing expected {total - skipped} arguments but got {len(concrete_args)} concrete arguments")
            concrete_args = dict(zip([name for name in signature.parameters if name != "self"], concrete_args))
        concrete = concrete_args or {}
        chosen = [next(names) for _ in range(skipped, total)]

        def input_of(name: str) -> Any:
            if name in concrete:
                count = 0

                def leaf(x: object) -> Any:
                    nonlocal count
                    count += 1
                    if isinstance(x, PHBase):
                        return self.create_proxy("placeholder", f"{name}_{count}", (), {})
                    default = () if signature.parameters[name].default is inspect.Parameter.empty else (signature.parameters[name].default,)
                    proxy = self.create_proxy("placeholder", f"{name}_{count}", default, {})
                    self._specialize(proxy, x, name)
                    return x

                return pytree.tree_map(leaf, concrete[name])
            if name.startswith("*"):
                default: Arguments = ()
            else:
                parameter = signature.parameters[name]
                default = () if parameter.default is inspect.Parameter.empty else (parameter.default,)
            return self.create_proxy("placeholder", name, default, {}, type_expr=annotations.get(name))

        args += [input_of(name) for name in chosen]
        if code.co_kwonlyargcount or code.co_flags & (inspect.CO_VARARGS | inspect.CO_VARKEYWORDS):
            if code.co_flags & inspect.CO_VARARGS:
                args.append(input_of("*" + next(names)))
            if code.co_flags & inspect.CO_VARKEYWORDS:
                args.append(input_of("**" + next(names)))
            root_fn = _patch_function(unwrapped, len(args))
        flat, spec = pytree.tree_flatten(tuple(args))
        if not all([child.is_leaf() for child in _children(spec)]):
            _, in_spec = pytree.tree_flatten(tuple(args[skipped:]))
            names_ = list(code.co_varnames[:total])
            self.graph._codegen = _PyTreeCodeGen(_PyTreeInfo(names_, in_spec, None))

            def flattened(*leaves):  # its annotations would be the graph's
                result = root_fn(*pytree.tree_unflatten(list(leaves), spec))
                values, out_spec = pytree.tree_flatten(result)
                codegen = self.graph._codegen
                assert isinstance(codegen, _PyTreeCodeGen)
                codegen.pytree_info = codegen.pytree_info._replace(out_spec=out_spec)
                return values

            return flattened, flat
        return root_fn, args

    def _specialize(self, proxy: Proxy, value: object, name: str) -> None:
        """Lets the graph assert that an input is what it was when it was traced."""
        if isinstance(value, base_types) and not isinstance(value, torch.Tensor):
            torch._assert(proxy == value, f"{name} has been specialized to have value {value} but got another value")
        elif value is None:
            self.create_proxy("call_function", _assert_is_none, (proxy, f"{name} has been specialized to have value None but got another "
                                                                        "value"), {})
        else:

            warned.warn(f"Was not able to add assertion to guarantee correct input {name} to specialized function. It is up to the user "
                        "to make sure that your inputs match the inputs you specialized the function with.")

    def trace(self, root: Module | Fn, concrete_args: object = None) -> Graph:
        """The graph of a module or function.

        Args:
            concrete_args: what parameters are to be known as, by name; `PH` in a container for what is to be an input.

        Raises:
            TraceError: the program needs to know a value.
            AssertionError: `root` is neither.
        """
        global _traced
        if isinstance(root, Module):
            self.root = root
            if not hasattr(type(root), self.traced_func_name):
                raise AssertionError(f"traced_func_name={self.traced_func_name} doesn't exist in {type(root).__name__}")
            fn = getattr(type(root), self.traced_func_name)
            self.root_module_name = root._get_name()
            self.submodule_paths = {module: name for name, module in root.named_modules()}
        else:
            self.root = Module()
            fn = root
            self.submodule_paths = None
        self.graph = Graph(tracer_cls=getattr(self, "__class__", None))
        if hasattr(fn, "__code__"):
            code = fn.__code__
            self.graph._co_fields = {"co_name": code.co_name, "co_filename": code.co_filename,  # type: ignore[attr-defined]
                                     "co_firstlineno": code.co_firstlineno}
        self.tensor_attrs = dict(_tensors_in(self.root))
        if not isinstance(fn, FunctionType):
            raise AssertionError(f"Expected FunctionType, got {type(fn)}")
        fn_globals = fn.__globals__
        fn, args = self.create_args_for_root(fn, isinstance(root, Module), concrete_args)
        cache: Keywords = {}
        find, call = Module.__getattr__, Module.__call__

        @functools.wraps(find)
        def module_getattr(mod: Any, attr: str) -> Any:
            return self.getattr(attr, find(mod, attr), cache)

        @functools.wraps(call)
        def module_call(mod: Any, *args: object, **kwargs: object) -> Any:
            def forward(*args: object, **kwargs: object) -> Any:
                return call(mod, *args, **kwargs)

            _autowrap_check(patcher, getattr(getattr(mod, "forward", mod), "__globals__", {}), self._autowrap_function_ids)
            return self.call_module(mod, forward, args, kwargs)

        with _Patcher() as patcher, contextlib.ExitStack() as stack:
            patcher.patch_method(Module, "__getattr__", module_getattr, deduplicate=False)
            patcher.patch_method(Module, "__call__", module_call, deduplicate=False)
            _traced += 1
            stack.callback(_untraced)
            stack.enter_context(listening(FUNCTIONS))  # so that what takes stand-ins does not begin, and leave nodes, before it fails
            _patch_wrapped_functions(patcher)
            for names in (fn_globals, *[module.__dict__ for module in self._autowrap_search]):
                _autowrap_check(patcher, names, self._autowrap_function_ids)
            self.create_node("output", "output", (self.create_arg(fn(*args)),), {},
                             type_expr=None if str(fn.__module__).startswith("torchcompat.") else fn.__annotations__.get("return"))
        self.submodule_paths = None
        return self.graph

    def __deepcopy__(self, memo: dict[int, Any]) -> Tracer:
        import copy

        copied = Tracer.__new__(Tracer)
        copied.__dict__.update({k: v if k == "_autowrap_search" else copy.deepcopy(v, memo) for k, v in self.__dict__.items()})
        return copied


_tracers["default"] = Tracer


def _untraced() -> None:
    global _traced
    _traced -= 1


def _children(spec: Any) -> list[Any]:
    found = getattr(spec, "children_specs", None)
    return list(found if found is not None else spec.children())


def _tensors_in(root: Module, prefix: str = "") -> Iterator[tuple[Any, str]]:
    """The tensors that are plain attributes of a module or of one inside it, with their names."""
    for name, value in root.__dict__.items():
        if isinstance(value, torch.Tensor):
            yield value, prefix + name
    for name, child in root.named_children():
        yield from _tensors_in(child, f"{prefix}{name}.")


def _patch_function(fn: FunctionType, nargs: int) -> FunctionType:
    """The function with `*args` and `**kwargs` as two plain parameters, so that one stand-in can be given for each."""
    code = fn.__code__
    plain: CodeType = code.replace(co_flags=code.co_flags & ~(inspect.CO_VARARGS | inspect.CO_VARKEYWORDS), co_argcount=nargs,
                                   co_posonlyargcount=0, co_kwonlyargcount=0)
    made = FunctionType(plain, fn.__globals__, fn.__name__, None, fn.__closure__)
    made.__annotations__ = fn.__annotations__
    return made


def _assert_is_none(value: object, msg: str) -> None:
    if value is not None:
        raise AssertionError(msg)


def wrap(fn_or_name: Any) -> Any:
    """Lets calls of a function, which this module has by that name, become nodes; also a decorator.

    Raises:
        RuntimeError: it is neither a function nor a name.
        NotImplementedError: it is not called at the top of a module.
    """
    if not callable(fn_or_name) and not isinstance(fn_or_name, str):
        raise RuntimeError("Unsupported type for global function! Must be either a callable or string name")
    name = fn_or_name if isinstance(fn_or_name, str) else fn_or_name.__name__
    frame = sys._getframe(1)
    if frame.f_code.co_name != "<module>":
        raise NotImplementedError("wrap must be called at the top level of a module")
    _wrapped_fns_to_patch[(id(frame.f_globals), name)] = frame.f_globals
    return fn_or_name


def symbolic_trace(root: Module | Fn, concrete_args: object = None) -> GraphModule:
    """A module that computes what a module or function does, with its graph.

    >>> from torchcompat import fx
    >>> def f(x):
    ...     return (x + 1).relu()
    >>> print(fx.symbolic_trace(f).code.strip())
    def forward(self, x):
        add = x + 1;  x = None
        relu = add.relu();  add = None
        return relu

    Raises:
        TraceError: the program needs to know a value of its inputs.
    """
    tracer = Tracer()
    graph = tracer.trace(root, concrete_args)
    name = root._get_name() if isinstance(root, Module) else root.__name__
    return GraphModule(tracer.root, graph, name)


_absences(__name__)
