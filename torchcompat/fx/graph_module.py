"""Modules whose `forward` is the code of a graph."""

from __future__ import annotations

import copy
import importlib
import itertools
import linecache
import os
import re
import sys
import traceback
from pathlib import Path
from typing import Any
from collections.abc import Iterator
from contextlib import contextmanager

from autograd_tape import warned
from autograd_tape.annotations import Fn, Keywords
from autograd_tape.codegen import execute
import torchcompat as torch
from torchcompat._calls.absent import absences as _absences
from torchcompat.nn import Module

from .graph import Graph, PythonCode, _custom_builtins, _is_from_torch, _PyTreeCodeGen
from .node import public_module

__all__ = ["reduce_graph_module", "reduce_package_graph_module", "GraphModule"]

_USER_PRESERVED_ATTRIBUTES_KEY = "_user_preserved_attributes"
"""Where `meta` has attributes, by names, that copies of a module have, too."""
_numbers = itertools.count()
_tracers: dict[str, type] = {}
"""The tracer that traces code anew, where a module notes none: `_symbolic_trace` puts it here."""


def _forward_from_src(src: str, globals: Keywords, co_fields: Keywords | None = None) -> Fn:
    """The `forward` that the code defines, whose lines tracebacks then show."""
    key = f"<eval_with_key>.{next(_numbers)}"
    if co_fields:
        key += f" from {co_fields['co_filename']}:{co_fields['co_firstlineno']} in {co_fields['co_name']}"
    return execute(src, "forward", key, dict(globals))


def _format_import_statement(name: str, obj: Any) -> str:
    if name in _custom_builtins:
        return _custom_builtins[name].import_str
    if _is_from_torch(obj) and not hasattr(obj, "__qualname__"):
        return f"import {public_module(obj.__name__).split('.')[0]}"
    module, own = public_module(obj.__module__ if hasattr(obj, "__module__") else obj.__class__.__module__), getattr(obj, "__name__", name)
    if module == "typing":
        own = getattr(obj, "_name", None) or own
    return f"from {module} import {own} as {name}"


def _format_import_block(globals: Keywords) -> str:
    """The lines that import what code uses."""
    return "\n".join(sorted({_format_import_statement(name, obj) for name, obj in globals.items()}))


def _names_of(import_block: str) -> Keywords:
    """What the lines of an import block import, torch's modules from here."""
    names: Keywords = {name: known.obj for name, known in _custom_builtins.items()}
    for line in import_block.splitlines():
        match = re.fullmatch(r"from ([\w.]+) import (\w+) as (\w+)", line.strip())
        if match is None:
            continue
        module, own, name = match.groups()
        path = "torchcompat" + module[5:] if module.split(".")[0] == "torch" else module
        names[name] = getattr(importlib.import_module(path), own)
    return names


@torch.no_grad()
def _copy_attr(from_module: Module, to_module: Module, target: str) -> None:
    """Gives one module what another has at a path."""
    *path, field = target.split(".")
    for name in path:
        inner = getattr(from_module, name)
        child = getattr(to_module, name, None)
        if child is inner:
            return
        if child is None:
            child = Module()
            setattr(to_module, name, child)
        from_module, to_module = inner, child
    value = getattr(from_module, field)
    if isinstance(value, torch.Tensor) and not isinstance(value, torch.nn.Parameter):
        to_module.register_buffer(field, value)
    else:
        setattr(to_module, field, value)


def _assign_attr(value: object, to_module: Module, target: str) -> None:
    *path, field = target.split(".")
    for name in path:
        child = getattr(to_module, name, None)
        if child is None:
            child = Module()
            setattr(to_module, name, child)
        to_module = child
    if isinstance(value, torch.Tensor) and not isinstance(value, torch.nn.Parameter):
        to_module.register_buffer(field, value)
    else:
        setattr(to_module, field, value)


def _get_attr(model: Module, attr_name: str) -> Any:
    """What a module has at a path. AttributeError: nothing."""
    found: Any = model
    for name in attr_name.split("."):
        found = getattr(found, name)
    return found


def _del_attr(model: Module, attr_name: str) -> None:
    """Takes out what a module has at a path."""
    path, _, last = attr_name.rpartition(".")
    delattr(_get_attr(model, path) if path else model, last)


def _has_attr(model: Module, path: str) -> bool:
    found: Any = model
    for name in path.split("."):
        if not hasattr(found, name):
            return False
        found = getattr(found, name)
    return True


class _WrappedCall:
    """The call of a graph's module: an error in its code is shown with the lines around it."""

    def __init__(self, cls: Any, cls_call: Any) -> None:
        self.cls, self.cls_call = cls, cls_call

    @staticmethod
    def _generate_error_message(frame: traceback.FrameSummary) -> str:
        number = frame.lineno or 0
        lines = linecache.getlines(frame.filename)
        return "\n".join([
            traceback.format_exc(),
            f"Call using an FX-traced Module, line {number} of the traced Module's generated forward function:",
            "".join(lines[max(number - 2, 0):number]), "~" * len(frame.line or "") + "~~~ <--- HERE", "\n".join(lines[number:number + 2])])

    def __call__(self, obj: object, *args: object, **kwargs: object) -> Any:
        try:
            if self.cls_call is not None:
                return self.cls_call(obj, *args, **kwargs)
            return super(self.cls, obj).__call__(*args, **kwargs)  # type: ignore[misc]
        except Exception as error:
            shown = [f for f in traceback.extract_tb(error.__traceback__) if not f.filename.startswith((*warned.roots, "<frozen"))
                     and not f.filename.endswith(": torch>")]  # torch's operations, which are not Python, have no frames
            if shown and "eval_with_key" in (frame := shown[-1]).filename:
                print(self._generate_error_message(frame), file=sys.stderr)
                raise error.with_traceback(None)  # noqa: B904
            raise


class GraphModule(Module):
    """A module that computes what a graph says.

    Args:
        root: a module, or a dictionary by names, that has what the graph refers to.
        graph: the graph, which is copied in where it is another module's.

    Attributes:
        code: the Python code of `forward`.

    Raises:
        RuntimeError: the graph refers to what is not there, or `root` is something else.
    """

    def __new__(cls, *args: object, **kwargs: object) -> Any:
        # Each module has a class of its own, since `forward` is looked up there.
        base = next(c for c in cls.__mro__ if c.__qualname__.split(".")[-1] != "GraphModuleImpl")

        class GraphModuleImpl(base):  # type: ignore[misc, valid-type]
            pass

        GraphModuleImpl.__module__ = GraphModule.__module__
        return super().__new__(GraphModuleImpl)

    def __init__(self, root: Module | Keywords, graph: Graph, class_name: str = "GraphModule") -> None:
        super().__init__()
        self.__class__.__name__ = class_name
        targets = [node.target for node in graph.nodes if node.op in ("get_attr", "call_module")]
        if isinstance(root, Module):
            if hasattr(root, "training"):
                self.training = root.training
            for target in targets:
                if _has_attr(root, target):
                    _copy_attr(root, self, target)
        elif isinstance(root, dict):
            for node in graph.nodes:
                if node.op in ("get_attr", "call_module") and node.target not in root:
                    raise RuntimeError(f"Node {node} referenced target {node.target} but that target was not provided in ``root``!")
            for target in sorted(targets, key=lambda t: t.count(".")):
                _assign_attr(root[target], self, target)
        else:
            raise RuntimeError(f"Unsupported type {root} passed for root!")
        self.graph = graph
        self._tracer_cls = None
        if graph._tracer_cls and "<locals>" not in graph._tracer_cls.__qualname__:
            self._tracer_cls = graph._tracer_cls
        self._tracer_extras = graph._tracer_extras or {}
        self.meta: Keywords = {}
        self._replace_hooks: list[Fn] = []

    @property
    def graph(self) -> Graph:
        """The graph; assigning another makes the code anew."""
        return self._graph

    @graph.setter
    def graph(self, g: Graph) -> None:
        if not isinstance(g, Graph):
            raise AssertionError(f"Expected a Graph instance, but got {type(g)}")
        self._graph = g
        g.owning_module = self
        self.recompile()

    @property
    def code(self) -> str:
        """The Python code of `forward`.

        Raises:
            RuntimeError: none has been made.
        """
        if not hasattr(self, "_code"):
            raise RuntimeError("Code has not been generated! Please report a bug to PyTorch")
        return self._code

    def recompile(self) -> PythonCode:
        """Makes `code` and `forward` anew, after the graph has changed."""
        if isinstance(self._graph._codegen, _PyTreeCodeGen):
            self._in_spec, self._out_spec = self._graph._codegen.pytree_info.in_spec, self._graph._codegen.pytree_info.out_spec
        python_code = self._graph.python_code(root_module="self")
        self._code = python_code.src
        self._lineno_map, self._prologue_start = python_code._lineno_map, python_code._prologue_start
        cls = type(self)
        cls.forward = _forward_from_src(
            self._code, python_code.globals, getattr(self._graph, "_co_fields", None))
        if "_wrapped_call" not in cls.__dict__:
            wrapped = _WrappedCall(cls, cls.__dict__.get("__call__"))
            cls._wrapped_call = wrapped  # type: ignore[attr-defined]  # the class is made for one graph

            def call_wrapped(self: Any, *args: object, **kwargs: object) -> Any:
                return wrapped(self, *args, **kwargs)

            cls.__call__ = call_wrapped  # type: ignore[method-assign]
        return python_code

    def to_folder(self, folder: str | os.PathLike[str], module_name: str = "FxModule") -> None:
        """Writes a package whose module of that name is this one: its code, its submodules and its parameters."""
        folder = Path(folder)
        folder.mkdir(exist_ok=True)
        torch.save(self.state_dict(), folder / "state_dict.pt")
        lines = [_format_import_block(self.graph.python_code("self").globals), "from torch.nn import *", "",
                 f"class {module_name}(torch.nn.Module):",
                 "    def __init__(self):", "        super().__init__()"]
        blobs = []
        plain = (torch.nn.Linear, torch.nn.Conv1d, torch.nn.Conv2d, torch.nn.Conv3d, torch.nn.BatchNorm1d, torch.nn.BatchNorm2d,
                 torch.nn.BatchNorm3d)
        for name, module in self.named_children():
            if type(module) in plain:
                text = repr(module)
            else:
                blobs.append(name)
                torch.save(module, folder / f"{name}.pt")
                text = f"torch.load(r'{folder / f'{name}.pt'}', weights_only=False) # {repr(module).replace(chr(10), ' ')}"
            lines.append(f"        self.{name} = {text}" if name.isidentifier() else f"        self.add_module({name!r}, {text})")
        lines += [f"        self.register_buffer('{name}', torch.empty({list(b.shape)}, dtype={b.dtype}))"
                  for name, b in self._buffers.items() if b is not None]
        lines += [f"        self.{name} = torch.nn.Parameter(torch.empty({list(p.shape)}, dtype={p.dtype}))"
                  for name, p in self._parameters.items() if p is not None]
        lines += [f"        self.load_state_dict(torch.load(r'{folder}/state_dict.pt'))", ""]
        (folder / "module.py").write_text("\n".join(lines) + "\n".join(["    " + line for line in self.code.split("\n")]) + "\n")
        (folder / "__init__.py").write_text("from .module import *\n")
        if blobs:
            warned.warn(f"Was not able to save the following children modules as reprs -saved as pickled files instead: {blobs}")

    def add_submodule(self, target: str, m: Module) -> bool:
        """Puts a module at a path, with modules on the way there; whether nothing was in the way."""
        *path, field = target.split(".")
        module: Module = self
        for name in path:
            child = getattr(module, name, None)
            if child is None:
                child = Module()
                setattr(module, name, child)
            if not isinstance(child, Module):
                return False
            module = child
        module.add_module(field, m)
        return True

    def delete_submodule(self, target: str) -> bool:
        """Takes out the module at a path; whether there was one."""
        *path, field = target.split(".")
        module: Any = self
        for name in path:
            module = getattr(module, name, None)
            if not isinstance(module, Module):
                return False
        if not isinstance(getattr(module, field, None), Module):
            return False
        delattr(module, field)
        return True

    def delete_all_unused_submodules(self) -> None:
        """Takes out the modules that no node refers to."""
        used: set[str] = set()
        for node in self.graph.nodes:
            if node.op in ("call_module", "get_attr"):
                path = node.target.split(".")
                used.update([".".join(path[:i + 1]) for i in range(len(path))])
                if node.op == "call_module":
                    try:
                        used.update([f"{node.target}.{name}" for name, _ in self.get_submodule(node.target).named_modules()])
                    except AttributeError:
                        continue
        for name in [name for name, _ in self.named_modules() if name and name not in used]:
            self.delete_submodule(name)

    def __reduce__(self) -> Any:
        state = self.__dict__.copy()
        code = self.recompile()
        del state["_graph"]
        return reduce_graph_module, (state, _format_import_block(code.globals))

    def __reduce_ex__(self, protocol: object) -> Any:
        return self.__reduce__()

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        holder = _CodeOnlyModule(copy.deepcopy({k: v for k, v in self.__dict__.items() if k != "_graph"}, memo))
        copied = GraphModule._like(self, holder, copy.deepcopy(self.graph, memo))
        copied.meta, copied._replace_hooks = copy.deepcopy(self.meta, memo), list(self._replace_hooks)
        copied.training = self.training
        for name, value in copied.meta.get(_USER_PRESERVED_ATTRIBUTES_KEY, {}).items():
            setattr(copied, name, value)
        for table in ("_backward_pre_hooks", "_backward_hooks", "_forward_hooks", "_forward_hooks_with_kwargs", "_forward_pre_hooks",
                      "_forward_pre_hooks_with_kwargs", "_forward_hooks_always_called"):
            if table in self.__dict__:
                copied.__dict__[table] = self.__dict__[table].copy()
        return copied

    @staticmethod
    def _like(model: GraphModule, root: Module, graph: Graph) -> Any:
        base = next(c for c in type(model).__mro__ if c.__qualname__.split(".")[-1] != "GraphModuleImpl")
        made: Any = base.__new__(base)  # type: ignore[call-overload]
        GraphModule.__init__(made, root, graph)
        extras = {k: v for k, v in root.__dict__.items() if k not in made.__dict__}
        made.__dict__.update(extras)
        return made

    def __copy__(self) -> Any:
        copied = GraphModule(self, self.graph)
        copied.meta = self.meta
        return copied

    def _replicate_for_data_parallel(self) -> Any:
        copied = self.__copy__()
        copied._is_replica = True
        return copied

    def print_readable(self, print_output: bool = True, include_stride: bool = False, include_device: bool = False,
                       colored: bool = False, **options: Any) -> str:
        """The code of the module and of the graphs in it as a class; printed, too."""
        text = self._readable(self._get_name(), include_stride, include_device)
        if print_output:
            print(text)
        return text

    def _readable(self, name: str, strides: bool = False, devices: bool = False) -> str:
        code = self.graph.python_code("self", verbose=True, include_stride=strides, include_device=devices).src
        body = "\n".join(["    " + line if line.strip() else "" for line in code.strip("\n").split("\n")]).rstrip()
        inner = [child._readable(key, strides, devices) for key, child in self.named_children() if isinstance(child, GraphModule)]
        nested = "".join(["\n" + "\n".join(["    " + line if line.strip() else line for line in text.split("\n")]) for text in inner])
        return f"class {name}(torch.nn.Module):\n{body}\n{nested}"

    def __str__(self) -> str:
        hint = "# To see more debug info, please use `graph_module.print_readable()`"
        return "\n".join([super().__str__(), self._code, hint])

    def _register_replace_node_hook(self, f: Fn) -> None:
        if not callable(f):
            raise AssertionError("Replace hook must be a callable.")
        self._replace_hooks.append(f)

    def _unregister_replace_node_hook(self, f: Fn) -> None:
        self._replace_hooks.remove(f)

    @contextmanager
    def _set_replace_hook(self, f: Fn) -> Iterator[None]:
        self._register_replace_node_hook(f)
        try:
            yield
        finally:
            self._unregister_replace_node_hook(f)


class _CodeOnlyModule(Module):
    """What a module had, without its graph."""

    def __init__(self, body: Keywords) -> None:
        super().__init__()
        self.__dict__ = body


def reduce_graph_module(body: Keywords, import_block: str) -> Module:
    """A module from a pickle: its code is run on stand-ins, which makes its graph anew."""
    src = body.get("_code") or body["code"]
    forward = _forward_from_src(src, _names_of(import_block))
    holder = _CodeOnlyModule(dict(body))
    holder_class = type("_Loaded", (_CodeOnlyModule,), {"forward": forward})
    holder.__class__ = holder_class
    base = body.get("_tracer_cls") or _tracers["default"]

    class KeepModules(base):  # type: ignore[misc, valid-type]
        """Modules are single nodes: what was in them is in them."""

        def is_leaf_module(self, _: Module, __: str) -> bool:
            return True

    graph = KeepModules().trace(holder, **body.get("_tracer_extras", {}))
    graph._tracer_cls = body.get("_tracer_cls")
    made = GraphModule(holder, graph, class_name=body.get("_graphmodule_cls_name", "GraphModule"))
    for key, value in body.items():
        if key not in made.__dict__:
            made.__dict__[key] = value
    return made


def reduce_package_graph_module(importer: Any, body: Keywords, generated_module_name: str) -> Module:
    """A module from a package, whose code is imported."""
    return reduce_graph_module(dict(body), _format_import_block(dict(vars(importer.import_module(generated_module_name)))))


_absences(__name__)
