"""Functions and modules that are scripted: the Python that they are made of is what is carried out.

A scripted module is the face of a copy of a module's own: parameters and buffers are shared with the original, everything else is the
copy's, as it is for torch's, whose copies are in C++. What a face shows is what torch shows: parameters, buffers, attributes, submodules as
faces, and the methods that `forward` and exported methods lead to.
"""

from __future__ import annotations

import copy
import functools
import inspect
import io
import os
import re
import types
import warnings
from collections.abc import Iterator
from typing import IO, TYPE_CHECKING, Any

from autograd_tape import warned
from autograd_tape.locks import cached_property
from autograd_tape.annotations import Arguments, Fn, Keywords
import torchcompat as torch
from torchcompat._jit_internal import FunctionModifiers, _qualified_name, export, get_torchscript_modifier, is_ignored_fn, should_drop
from torchcompat._calls.emitted import EmitHooks
from torchcompat.nn import Module

from . import _code, frontend
from ._compiler import compiled
from ._schema import Schema
from ._state import Error, _add_script_class, _enabled, scripting, state
from ._writing import write

if TYPE_CHECKING:
    from ._graph import Graph

_FACE = ("_actual", "_methods", "_class", "_fields", "original_name", "_frozen")
_TABLES = frozenset(Module().__dict__)
_OF_FACES = frozenset({"code", "code_with_constants", "graph", "graph_for", "inlined_graph", "original_name", "_c"})
"""What modules that derive from `ScriptModule` have of their faces."""


class ScriptWarning(Warning):
    """What scripting warns of."""


class Attribute:
    """A value with a type, to be given to an attribute of a module that is scripted.

    >>> Attribute(3, int).value
    3
    """

    def __new__(cls, value: object, type: object) -> Attribute:
        self = object.__new__(cls)
        self.value, self.type = value, type
        return self

    value: Any
    type: Any

    def __iter__(self) -> Iterator[Any]:
        return iter((self.value, self.type))

    def __repr__(self) -> str:
        return f"Attribute(value={self.value!r}, type={self.type!r})"


class Method:
    """A function with a schema: what is common to scripted functions and methods.

    Attributes:
        function: carries it out: a Python function, or one of `_code`.
        owner: the module that it is a method of.
    """

    def __init__(self, function: Any, name: str, owner: Any = None) -> None:
        self.function, self.name, self._owner = function, name, owner

    @cached_property
    def schema(self) -> Schema:
        """What it takes and gives."""
        if isinstance(self.function, _code.Function):
            return Schema.of_code(self.function)
        home = None if self._owner is None else self._owner._class.qualified_name
        return Schema.of_python(self.function, self.name, home)

    @property
    def node(self) -> Any:
        """Its source in the language of `_code`."""
        if isinstance(self.function, _code.Function):
            return self.function.node
        return compiled(self).node

    @property
    def code(self) -> str:
        """Its source in TorchScript's language."""
        return frontend.printed(self.node, own=self._owner is not None)

    @property
    def code_with_constants(self) -> tuple[str, ConstMap]:
        """The same, and the constants that it names."""
        return self.code, ConstMap({f"c{i}": c for i, c in enumerate(self._constants())})

    def _constants(self) -> Arguments:
        if isinstance(self.function, _code.Function):
            return self.function.unit.constants
        return tuple(compiled(self).program.constants)

    @property
    def graph(self) -> Graph:
        """Its operations."""
        return self._graph(None)

    @property
    def inlined_graph(self) -> Graph:
        """Its operations, and those of the functions and methods that it calls in the places of calls."""
        def inner(path: str) -> Any:
            found = self._field(path)
            return (found.node, found._types(), found._constants()) if isinstance(found, Method) else None

        return self._graph(inner)

    def _field(self, path: str) -> Any:
        """What a path that begins with `self` leads to; None: nothing."""
        found = self._owner if path.startswith(("self", "getattr")) else None
        for plain, told in re.findall(r"\.(\w+)|, '(\w+)'\)", path):
            found = getattr(found, plain or told, None)
        return found

    def _types(self) -> Keywords:
        return getattr(self.function, "value_types", {})

    def _graph(self, inner: Fn | None) -> Graph:
        from ._lowering import graph_of

        node = self.node
        home = None if self._owner is None else str(self._owner._type())
        return graph_of(node, home, self._types(), self._constants(), not self._types(), inner, self._field)

    def graph_for(self, *args: object, **kwargs: object) -> Graph:
        """Its operations, for arguments."""
        return self.graph

    def __call__(self, *args: object, **kwargs: object) -> Any:
        given = (self._owner, *args) if self._owner is not None else args
        self.schema.check(given, kwargs)
        if state.tracer is not None:
            return self._run(given, kwargs)
        try:
            return self._run(given, kwargs)
        except Exception as error:
            if state.scripting:
                raise
            raise frontend.told(error, self) from error

    def _run(self, given: Arguments, kwargs: Keywords) -> Any:
        with scripting():
            if isinstance(self.function, _code.Function):
                return self.function(*given, **kwargs)
            if self._owner is not None:
                given = (self._owner._actual, *given[1:])
            return self.function(*given, **kwargs)


class ConstMap:
    """Constants by name."""

    def __init__(self, const_mapping: Keywords) -> None:
        self.const_mapping = const_mapping

    def __getattr__(self, attr: str) -> Any:
        return self.const_mapping[attr]


class ScriptMethod(Method):
    """A method of a scripted module."""


class ScriptFunction(Method):
    """A function that was scripted, traced or loaded."""

    def __init__(self, function: object, name: str, qualified_name: str) -> None:
        super().__init__(function, name)
        self.qualified_name = qualified_name
        self.__name__, self.__doc__ = "ScriptFunction", getattr(function, "__doc__", None)
        self._torchdynamo_inline = function

    def __deepcopy__(self, memo: object) -> ScriptFunction:
        return self

    def __call__(self, *args: object, **kwargs: object) -> Any:
        tracer = state.tracer
        if tracer is None or tracer.quiet:
            return super().__call__(*args, **kwargs)
        tracer.unit.known[self.qualified_name] = self
        return tracer.called(super().__call__, self.qualified_name, args, kwargs)

    def save(self, f: str | os.PathLike[str], _extra_files: Keywords | None = None) -> None:
        """Writes a module to a path whose `forward` is this function."""
        self.as_module().save(f, _extra_files=_extra_files)

    def save_to_buffer(self, _extra_files: Keywords | None = None) -> bytes:
        """What `save` writes."""
        return self.as_module().save_to_buffer(_extra_files=_extra_files)

    def as_module(self) -> RecursiveScriptModule:
        """A module whose `forward` this is."""
        node = frontend.as_method(self.node)
        unit = self.function.unit if isinstance(self.function, _code.Function) else compiled(self).program.unit
        cls = _code.Class("__torch__.PlaceholderModule", unit)
        made = RecursiveScriptModule._of_class(cls, "PlaceholderModule")
        made._methods["forward"] = ScriptMethod(_code.Function(node, unit, cls.qualified_name), "forward", made)
        return made


for _cls in (ScriptMethod, ScriptFunction):
    _cls.__module__ = "torchcompat.jit"


# -- modules ----------------------------------------------------------------------------------------------------------------------------


class ScriptModule(Module):
    """A module that was scripted, traced or loaded. Modules that derive from it and mark methods by `script_method` are Python's."""

    def _scripted(self) -> Any:
        """The face of what the module is made of."""
        face = self.__dict__.get("_face")
        return script_module(self) if face is None else face

    def __getattr__(self, name: str) -> Any:
        return getattr(self._scripted(), name) if name in _OF_FACES else super().__getattr__(name)

    def define(self, src: str) -> None:
        """Adds the methods that a source in TorchScript's language defines, which are carried out on what the module is made of now."""
        face = self.__dict__["_face"] = self._scripted()
        face.define(src)
        self.__dict__.update({name: method for name, method in face._methods.items() if isinstance(method.function, _code.Function)})

    def save(self, f: str | os.PathLike[str] | IO[bytes], **kwargs: Any) -> None:
        """Writes the module for `torch.jit.load`."""
        write(self._scripted(), f, kwargs.get("_extra_files"))

    def save_to_buffer(self, *args: Any, **kwargs: Any) -> bytes:
        """What `save` writes."""
        stream = io.BytesIO()
        self.save(stream, _extra_files=kwargs.get("_extra_files", args[0] if args else None))
        return stream.getvalue()


class _Forward:
    """`forward`, which a face has where its module has one."""

    def __get__(self, module: Any, cls: object = None) -> Any:
        if module is None:
            return Module.forward
        if "forward" not in module._methods:
            return module.__getattr__("forward")
        return module._methods["forward"]


class Face(ScriptModule):
    """The face of a module that was scripted, traced or loaded.

    Attributes:
        original_name: the name of the module's class.
    """

    forward = _Forward()
    original_name: str
    _actual: Any
    _methods: dict[str, Method]
    _class: _code.Class
    _fields: Keywords

    def __init__(self, cpp_module: object = None) -> None:
        super().__init__()
        self.__dict__.update(_actual=None, _methods={}, _fields={}, _frozen=False, original_name="", _class=None)

    @classmethod
    def _of_class(cls, program: _code.Class, name: str) -> Any:
        made = cls()
        made.__dict__.update(_class=program, original_name=name)
        return made

    def _get_name(self) -> str:
        return type(self).__name__

    def extra_repr(self) -> str:
        """The name of the module's class."""
        return f"original_name={self.original_name}"

    @property
    def code(self) -> str:
        """The source of `forward`."""
        return self.forward.code

    @property
    def code_with_constants(self) -> tuple[str, ConstMap]:
        """The source of `forward`, and the constants that it names."""
        found: tuple[str, ConstMap] = self.forward.code_with_constants
        return found

    @property
    def graph(self) -> Graph:
        """The operations of `forward`."""
        found: Graph = self.forward.graph
        return found

    @property
    def inlined_graph(self) -> Graph:
        """The operations of `forward`, and of what it calls."""
        found: Graph = self.forward.inlined_graph
        return found

    def graph_for(self, *args: object, **kwargs: object) -> Graph:
        """The operations of `forward`, for arguments."""
        return self.graph

    @property
    def _c(self) -> Face:
        return self

    def _type(self) -> str:
        return self._class.qualified_name

    def _get_methods(self) -> list[Method]:
        return list(self._methods.values())

    def _call_impl(self, *args: object, **kwargs: object) -> Any:
        method = self.forward
        if self._actual is not None and not isinstance(method.function, _code.Function):
            method.schema.check((self, *args), kwargs)
            hooked = self._actual._forward_hooks or self._actual._forward_pre_hooks
            if hooked:
                with scripting():
                    return self._actual(*args, **kwargs)
        return method(*args, **kwargs)

    def __call__(self, *args: object, **kwargs: object) -> Any:
        if state.tracer is not None:
            return state.tracer.module_called(self, args, kwargs)
        return self._call_impl(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        own = self.__dict__
        methods = own.get("_methods")
        if methods is None:
            raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")
        if name in methods:
            return methods[name]
        if name in own["_fields"]:
            return own["_fields"][name]
        actual = own["_actual"]
        if actual is not None:
            if name in actual.__dict__ and name not in _TABLES:
                return actual.__dict__[name]
            marked = inspect.getattr_static(type(actual), name, None)
            if isinstance(marked, property):
                return getattr(actual, name)
            if isinstance(marked, types.FunctionType) and get_torchscript_modifier(marked) in (
                    FunctionModifiers.IGNORE, FunctionModifiers.UNUSED, FunctionModifiers.COPY_TO_SCRIPT_WRAPPER):
                return types.MethodType(marked, actual)
        cls = own["_class"]
        if cls is not None and name in cls.constants:
            return cls.constants[name]
        return super().__getattr__(name)

    def __setattr__(self, name: str, value: object) -> None:
        own = self.__dict__
        if name in _FACE or "_methods" not in own:
            object.__setattr__(self, name, value)
        elif isinstance(value, (torch.nn.Parameter, Module)) or name in self._parameters or name in self._buffers or name in self._modules:
            super().__setattr__(name, value)
            if own["_actual"] is not None and isinstance(value, Module):
                setattr(own["_actual"], name, value)
        elif name == "training" or own["_actual"] is None and name not in own["_fields"]:
            object.__setattr__(self, name, value)
            if own["_actual"] is not None:
                own["_actual"].__dict__[name] = value
        else:
            held = own["_fields"] if own["_actual"] is None else own["_actual"].__dict__
            before = held.get(name)
            if type(before) in (int, float, str, bool) and type(value) is not type(before) and not (
                    type(before) is float and type(value) is int):
                raise RuntimeError(f"Could not cast attribute '{name}' to type {type(before).__name__}: Unable to cast Python instance of "
                                   f"type {type(value)} to C++ type '?' (#define PYBIND11_DETAILED_ERROR_MESSAGES or compile in debug mode "
                                   "for details)")
            held[name] = value

    def __dir__(self) -> list[str]:
        held = {} if self._actual is None else {n for n in self._actual.__dict__ if n not in _TABLES}
        return sorted({*super().__dir__(), *self._methods, *self._fields, *held})

    def __len__(self) -> int:
        return len(self._container())

    def __iter__(self) -> Iterator[Any]:
        return iter(self._container().values() if not isinstance(self._actual, torch.nn.ModuleDict) else self._container())

    def __getitem__(self, key: Any) -> Any:
        held = self._container()
        return held[key] if isinstance(key, str) else list(held.values())[key]

    def __contains__(self, key: object) -> bool:
        return key in self._container()

    def _container(self) -> Keywords:
        if self.original_name not in ("ModuleList", "Sequential", "ModuleDict"):
            raise NotImplementedError
        return self._modules if self._actual is None else self._actual._modules

    def __bool__(self) -> bool:
        return True

    def __copy__(self) -> Face:
        return self.__deepcopy__(None)

    def __deepcopy__(self, memo: Any) -> Face:
        known = {} if memo is None else memo
        if id(self) in known:
            return known[id(self)]
        if self._actual is not None:
            inner = self._actual if memo is None else copy.deepcopy(self._actual, memo)
            made = wrapped(inner, {}, type(self)) if memo is not None else wrapped(_own_copy(inner, {}), {}, type(self))
            made._methods.update({n: type(m)(m.function, n, made) for n, m in self._methods.items()
                                  if isinstance(m.function, _code.Function)})
            made._methods = {n: made._methods[n] for n in self._methods if n in made._methods}
        else:
            made = type(self)._of_class(self._class, self.original_name)
            known[id(self)] = made
            again = (lambda value: value) if memo is None else (lambda value: copy.deepcopy(value, memo))
            for name, value in self.__dict__.items():
                if name not in ("_methods", "_class", "_actual"):
                    made.__dict__[name] = dict(value) if memo is None and isinstance(value, dict) else again(value)
            made._methods.update({n: type(m)(m.function, n, made) for n, m in self._methods.items()})
        known[id(self)] = made
        return made

    def __reduce_ex__(self, protocol: object) -> Any:
        raise RuntimeError(f"Tried to serialize object {self._class.qualified_name} which does not have a __getstate__ method defined!")

    def get_debug_state(self) -> None:
        """Nothing: nothing is compiled."""

    def define(self, src: str) -> None:
        """Adds the methods that a source in TorchScript's language defines."""
        for function in frontend.read_source(src, self._class.unit, self._class.qualified_name):
            self._methods[function.name] = ScriptMethod(function, function.name, self)

    def save(self, f: str | os.PathLike[str] | IO[bytes], **kwargs: Any) -> None:
        """Writes the module to a path, for `torch.jit.load`."""
        write(self, f, kwargs.get("_extra_files"))


def _refused(name: str) -> Fn:
    def fail(self: object, *args: object, **kwargs: object) -> None:
        raise RuntimeError(f"{name} is not supported on ScriptModules")

    return fail


class RecursiveScriptModule(Face):
    """The face of a module that was scripted or loaded."""


for _name in ("register_forward_hook", "register_forward_pre_hook", "register_backward_hook", "register_full_backward_hook",
              "register_full_backward_pre_hook", "set_submodule", "requires_grad_", "register_state_dict_pre_hook",
              "register_load_state_dict_pre_hook", "register_state_dict_post_hook"):
    setattr(Face, _name, _refused(_name))


def field(module: object, name: str) -> Any:
    """`module.name` in a program: what was registered or assigned, never what a class of Python's has."""
    own = module.__dict__
    for table in ("_parameters", "_buffers", "_modules", "_fields"):
        if name in own.get(table, ()):
            return own[table][name]
    if name == "training":
        return own["training"]
    actual = own.get("_actual")
    if actual is not None and name in actual.__dict__ and name not in _TABLES:
        return actual.__dict__[name]
    cls = own.get("_class")
    if cls is not None and name in cls.constants:
        return cls.constants[name]
    if name == "_is_full_backward_hook":
        return None
    if name in own.get("_methods", ()):
        return own["_methods"][name]
    raise RuntimeError(f"Module '{getattr(module, 'original_name', type(module).__name__)}' has no attribute '{name}'")


def set_field(module: Any, name: str, value: Any) -> None:
    """`module.name = value` in a program."""
    if name in _TABLES - {"training"} or name in _FACE:
        raise RuntimeError(f"Module '{module.original_name}' has no attribute '{name}'")
    setattr(module, name, value)


def method_of(module: object, name: str) -> Fn:
    """`module.name(...)` in a program."""
    methods = module.__dict__.get("_methods", {})
    if name not in methods:
        found = field(module, name)
        if not callable(found):
            raise RuntimeError(f"'{name}' object is not callable")
        return found
    found = methods[name]
    if isinstance(found.function, _code.Function):
        return functools.partial(found.function, module)
    return found


# -- scripting --------------------------------------------------------------------------------------------------------------------------


def _own_copy(module: Module, memo: dict[int, Module]) -> Module:
    """A module of the same class over the same parameters and buffers, its submodules copied so, too."""
    if isinstance(module, Face) or id(module) in memo:
        return memo.get(id(module), module)
    made = memo[id(module)] = object.__new__(type(module))
    for name, value in module.__dict__.items():
        if isinstance(value, types.MethodType) and value.__self__ is module:
            value = types.MethodType(value.__func__, made)
        made.__dict__[name] = copy.copy(value) if isinstance(value, (dict, list, set)) else value
    made.__dict__["_modules"] = {name: None if child is None else _own_copy(child, memo) for name, child in module._modules.items()}
    return made


def _reached(cls: type, name: str, found: dict[str, Fn]) -> None:
    """The methods that a method leads to, by their names."""
    function = inspect.getattr_static(cls, name, None)
    if name in found or not isinstance(function, types.FunctionType) or is_ignored_fn(function) or hasattr(Module, name) and name not in (
            "forward",):
        return
    found[name] = function
    for other in function.__code__.co_names:
        _reached(cls, other, found)


def methods_of(module: Module) -> dict[str, Fn]:
    """The methods of a module that are scripted: `forward`, exported ones, and those that they lead to."""
    cls, found = type(module), dict[str, Fn]()
    forward = inspect.getattr_static(cls, "forward", None)
    own = module.__dict__.get("forward")
    if isinstance(own, types.MethodType):
        found["forward"] = own.__func__
    elif isinstance(own, types.FunctionType):
        found["forward"] = own
    elif forward is not Module.forward:
        _reached(cls, "forward", found)
    for name in dir(cls):
        function = inspect.getattr_static(cls, name, None)
        if get_torchscript_modifier(function) is FunctionModifiers.EXPORT and isinstance(function, types.FunctionType):
            _reached(cls, name, found)
    return found


def wrapped(actual: Module, memo: dict[int, Any], kind: type = RecursiveScriptModule) -> Any:
    """The face of a module, which is now the face's own."""
    if isinstance(actual, Face):
        return actual
    if id(actual) in memo:
        return memo[id(actual)]
    cls = _code.Class(_qualified_name(type(actual)), _code.Unit())
    made = memo[id(actual)] = kind._of_class(cls, type(actual).__name__)  # type: ignore[attr-defined]
    made.__dict__["_actual"] = actual
    for name in ("_parameters", "_buffers", "_non_persistent_buffers_set", "training"):
        made.__dict__[name] = actual.__dict__[name]
    for name, child in actual._modules.items():
        made._modules[name] = None if child is None else wrapped(child, memo, kind)
    made._methods.update({name: ScriptMethod(function, name, made) for name, function in methods_of(actual).items()})
    _stop_unused(actual)
    return made


def _stop_unused(actual: Module) -> None:
    """Methods that are marked unused raise where scripted ones come to them, those that stay Python are carried out as Python."""
    for name in dir(type(actual)):
        function = inspect.getattr_static(type(actual), name, None)
        if isinstance(function, types.FunctionType) and is_ignored_fn(function):
            actual.__dict__[name] = types.MethodType(_outside(function), actual)


def _outside(function: Fn) -> Fn:
    @functools.wraps(function)
    def called(*args: object, **kwargs: object) -> Any:
        if state.scripting and should_drop(function):
            raise Error("This Python function is annotated to be ignored and cannot be run")
        with scripting(False):
            return function(*args, **kwargs)

    return called


def script_module(module: Module) -> Any:
    """A scripted module of a module."""
    if isinstance(module, Face):
        return module
    for one in module.modules():
        if not isinstance(one, ScriptModule):
            for function in methods_of(one).values():
                frontend.check(function)
    return wrapped(_own_copy(module, {}), {})


def script(obj: object, optimize: None = None, _frames_up: int = 0, _rcb: Fn | None = None,
           example_inputs: list[Arguments] | dict[Fn, list[Arguments]] | None = None) -> Any:
    """A scripted function of a function, a scripted module of a module; a class itself. What was scripted already is returned.

    Raises:
        OSError: the source of a function is not there.
        torch.jit.frontend.NotSupportedError: it has something in it that scripted programs cannot have.
        RuntimeError: a class of modules is to be scripted, not a module.
        TypeError: a value of another kind.
    """
    warnings.warn("`torch.jit.script` is deprecated. Please switch to `torch.compile` or `torch.export`.", DeprecationWarning, stacklevel=1)
    if optimize is not None:
        warned.warn("`optimize` is deprecated and has no effect. Use `with torch.jit.optimized_execution()` instead", FutureWarning)
    if not _enabled or isinstance(obj, (Face, ScriptFunction)):
        return obj
    if isinstance(obj, Module):
        return EmitHooks.told(script_module(obj), True)
    if isinstance(obj, type):
        if issubclass(obj, Module):
            raise RuntimeError(f"Type '{obj}' cannot be compiled since it inherits from nn.Module, pass an instance instead")
        frontend.source(obj)
        _add_script_class(obj, obj)
        return obj
    if inspect.isfunction(obj) or inspect.ismethod(obj):
        original = getattr(obj, "__original_fn", obj)
        frontend.check(original)
        return EmitHooks.told(ScriptFunction(original, original.__name__, _qualified_name(original)), False)
    raise TypeError(f"{type(obj)} is a built-in class" if type(obj).__module__ == "builtins" else f"cannot script a {type(obj)}")


_code.MODULES.field, _code.MODULES.set_field, _code.MODULES.method = field, set_field, method_of
_code.MODULES.is_function = lambda value: isinstance(value, ScriptFunction)


def script_method(fn: Fn) -> Fn:
    """Marks a method of a class that derives from `ScriptModule`."""
    warnings.warn("`torch.jit.script_method` is deprecated. Please switch to `torch.compile` or `torch.export`.", DeprecationWarning,
                  stacklevel=1)
    return export(fn) if _enabled else fn


def interface(obj: object) -> Any:
    """Marks a class as a declaration of methods.

    Raises:
        RuntimeError: it is no class.
        OSError: its source is not there.
    """
    warnings.warn("`torch.jit.interface` is deprecated. Please use `torch.compile` instead.", DeprecationWarning, stacklevel=1)
    if not inspect.isclass(obj):
        raise RuntimeError("interface must be applied to a class")
    frontend.source(obj)
    obj.__torch_script_interface__ = True  # type: ignore[attr-defined]
    return obj


def _unwrap_optional(x: object) -> Any:
    """`x`. AssertionError: it is None."""
    assert x is not None, "Unwrapping null optional"
    return x


class RecursiveScriptClass:
    """An instance of a scripted class."""


class CompilationUnit:
    """Functions of a source in TorchScript's language, as attributes.

    >>> CompilationUnit("def twice(x: int) -> int: return 2 * x").twice(4)
    8
    """

    def __init__(self, lang: str | None = None, _frames_up: int = 0) -> None:
        self._functions: dict[str, ScriptFunction] = {}
        if lang is not None:
            self.define(lang)

    def define(self, lang: str, rcb: Fn | None = None, _frames_up: int = 0) -> CompilationUnit:
        """Adds the functions of a source."""
        for function in frontend.read_source(lang, _code.Unit(), ""):
            self._functions[function.name] = ScriptFunction(function, function.name, function.name)
        return self

    def get_functions(self) -> list[ScriptFunction]:
        """All of them."""
        return list(self._functions.values())

    def __getattr__(self, attr: str) -> ScriptFunction:
        found = self.__dict__.get("_functions", {}).get(attr)
        if found is None:
            raise AttributeError(f"'CompilationUnit' has no attribute '{attr}'")
        return found


__all__ = ["Attribute", "CompilationUnit", "ConstMap", "RecursiveScriptModule", "ScriptFunction", "ScriptMethod", "ScriptModule",
           "ScriptWarning",
           "interface", "script", "script_method"]
