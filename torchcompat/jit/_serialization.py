"""`save` and `load` of programs: torch's archives of TorchScript.

``code/`` holds the sources of classes and functions, ``data.pkl`` the module whose class they are, ``constants.pkl`` the tensors that the
sources name. Sources are read by `_code`, pickles by the reader of `torch.load(..., weights_only=True)`, which here knows the classes of
the archive's own sources, and makes modules of them: nothing that a file says is carried out while it is loaded.
"""

from __future__ import annotations

import io
import os
import pickle
import sys
import warnings
from typing import IO, Any

from autograd_tape.annotations import Keywords
import torchcompat as torch
from autograd_tape.dtypes import DType
from torchcompat._files.archive import Archive
from torchcompat._files.storages import Records
from torchcompat._files.weights_only import WeightsUnpickler

from . import _code, _pickle
from ._script import RecursiveScriptModule, ScriptMethod, ScriptModule
from .frontend import operations

FileLike = str | os.PathLike[str] | IO[bytes]
_CALLED = {f"torch.jit._pickle.{name}": getattr(_pickle, name) for name in (
    "build_intlist", "build_doublelist", "build_boollist", "build_tensorlist", "restore_type_tag")}


class _Constants(Records):
    """The storages of constants."""

    def made(self, key: str, dtype: DType, count: int) -> Any:
        archive, self.archive = self.archive, _Renamed(self.archive)  # type: ignore[assignment]  # it has what is asked for
        try:
            return super().made(key, dtype, count)
        finally:
            self.archive = archive


class _Renamed:
    """An archive whose folder of storages is that of constants."""

    def __init__(self, archive: Archive) -> None:
        self.archive = archive

    def size(self, name: str) -> int:
        """The size of a record."""
        return self.archive.size("constants" + name.removeprefix("data"))

    def array(self, name: str, *args: Any, **kwargs: Any) -> Any:
        """The elements of a record."""
        return self.archive.array("constants" + name.removeprefix("data"), *args, **kwargs)


class _Reader(WeightsUnpickler):
    """Reads the pickles of an archive: tensors, plain containers, and instances of the classes of its sources."""

    def __init__(self, data: bytes, load_storage: Any, unit: _code.Unit) -> None:
        super().__init__(data, load_storage)
        self.unit = unit
        self.trusted, self.trusted_ids = {}, set()
        self.calls = {i: call for i, call in self.calls.items()} | {id(f): f for f in _CALLED.values()}
        self.parameters: dict[int, Any] = {}
        self.bare: set[int] = set()

    def find_class(self, module: str, name: str) -> Any:
        path = f"{module}.{name}"
        if path in _CALLED:
            return _CALLED[path]
        if path.startswith("__torch__."):
            found = self.unit.find(path)
            if not isinstance(found, _code.Class):
                raise pickle.UnpicklingError(f"{path} is no class")
            return found
        return super().find_class(module, name)

    def call(self, function: object, arguments: object, refusal: str) -> Any:
        if isinstance(function, _code.Class) and isinstance(arguments, tuple):
            if function.kind == "NamedTuple" and len(arguments) == len(function.fields):
                return function.tuple(*arguments)
            if arguments or function.kind == "NamedTuple":
                raise pickle.UnpicklingError(f"{function.qualified_name} is not made so")
            made = (RecursiveScriptModule._of_class(function, function.name) if function.kind == "Module" else _code.Object(function))
            self.bare.add(id(made))
            return made
        return super().call(function, arguments, refusal)

    def load_newobj(self) -> None:
        arguments, cls = self.stack.pop(), self.stack.pop()
        if isinstance(cls, _code.Class):
            self.stack.append(self.call(cls, arguments, ""))
            return
        self.stack += [cls, arguments]
        super().load_newobj()

    def load_build(self) -> None:
        instance = self.stack[-2]
        if not isinstance(instance, (RecursiveScriptModule, _code.Object)):
            super().load_build()
            return
        state = self.stack.pop()
        cls = instance._class if isinstance(instance, RecursiveScriptModule) else instance.cls
        if "__setstate__" in cls.methods:
            raise pickle.UnpicklingError(f"{cls.qualified_name} restores itself by a program, which is not carried out while a file "
                                         f"is loaded")
        if id(instance) not in self.bare or type(state) is not dict or not all([type(name) is str for name in state]):
            raise pickle.UnpicklingError(f"a {cls.qualified_name} may not be built of this")
        self.bare.discard(id(instance))
        if isinstance(instance, _code.Object):
            instance.attributes.update(state)
        else:
            self.fill(instance, cls, state)

    def fill(self, module: Any, cls: _code.Class, state: Keywords) -> None:
        """Gives a module its state."""
        for name, value in state.items():
            if name in cls.parameters and (value is None or isinstance(value, torch.Tensor)):
                if value is not None:
                    value = self.parameters.setdefault(id(value), torch.nn.Parameter(value.detach(), value.requires_grad))
                module._parameters[name] = value
            elif name in cls.buffers and (value is None or isinstance(value, torch.Tensor)):
                module._buffers[name] = value
            elif isinstance(value, RecursiveScriptModule):
                module._modules[name] = value
            elif name == "training":
                module.__dict__["training"] = bool(value)
            elif name != "_is_full_backward_hook":
                module._fields[name] = value
        for name, function in cls.methods.items():
            module._methods[name] = ScriptMethod(function, name, module)

    operations = {**WeightsUnpickler.operations, pickle.NEWOBJ[0]: lambda self: self.load_newobj(),
                  pickle.BUILD[0]: lambda self: self.load_build(), pickle.REDUCE[0]: lambda self: self.load_reduce(),
                  pickle.GLOBAL[0]: lambda self: self.load_global(),
                  pickle.LONG_BINPUT[0]: WeightsUnpickler.operations[pickle.LONG_BINPUT[0]]}


def load(f: FileLike, map_location: object = None, _extra_files: Keywords | None = None, _restore_shapes: bool = False) -> Any:
    """A module that `save`, or torch's, wrote.

    Args:
        f: a path, or a file object that can be read.
        map_location: where tensors go: see `torch.load`.
        _extra_files: names, to which the contents of such files in the archive are given.

    Raises:
        ValueError: there is no such file.
        RuntimeError: it is no sound archive, or no TorchScript.
        pickle.UnpicklingError: it holds something that programs do not have.
    """
    warnings.warn("`torch.jit.load` is deprecated. Please switch to `torch.export`.", DeprecationWarning, stacklevel=1)
    if isinstance(f, (str, os.PathLike)):
        if not os.path.exists(f):
            raise ValueError(f"The provided filename {f} does not exist")
        if os.path.isdir(f):
            raise ValueError(f"The provided filename {f} is a directory")
        with open(f, "rb") as file:
            return load_program(file, map_location, _extra_files)
    return load_program(io.BytesIO(f.read()), map_location, _extra_files)


def load_program(file: IO[bytes], map_location: object, extra: Keywords | None = None) -> Any:
    """The module of an open archive."""
    archive = Archive(file)
    archive.check_version()
    order = archive.read("byteorder").decode(errors="replace") if "byteorder" in archive else sys.byteorder
    if order not in ("little", "big"):
        raise ValueError(f"Unknown endianness type: {order[:80]}")

    def source(module: str) -> str | None:
        name = f"code/{module.replace('.', '/')}.py"
        return archive.read(name).decode() if name in archive else None

    unit = _code.Unit(source)
    constants = _Reader(archive.read("constants.pkl"), _Constants(archive, order, map_location, False).storage, unit).load()
    unit.constants = tuple(constants)
    made = _Reader(archive.read("data.pkl"), Records(archive, order, map_location, False).storage, unit).load()
    if not isinstance(made, RecursiveScriptModule):
        raise RuntimeError("the archive holds no module")
    for module in made.modules():
        for method in getattr(module, "_methods", {}).values():
            method.function.check()
    checked: set[str] = set()
    while left := set(unit.known) - checked:
        for name in left:
            found = unit.known[name]
            for function in found.methods.values() if isinstance(found, _code.Class) else [found]:
                function.check()
        checked |= left
    unit.source = lambda name: None
    for name in extra or ():
        extra[name] = archive.read(f"extra/{name}") if f"extra/{name}" in archive else b""  # type: ignore[index]  # there are names
    return made


def save(m: Any, f: FileLike, _extra_files: Keywords | None = None) -> None:
    """Writes a scripted or traced module, or function, to a path or file object.

    Raises:
        AttributeError: `m` is none.
        torch.jit.frontend.NotSupportedError: its Python is not of TorchScript's language.
    """
    warnings.warn("`torch.jit.save` is deprecated. Please switch to `torch.export`.", DeprecationWarning, stacklevel=1)
    if isinstance(f, (str, os.PathLike)):
        m.save(f, _extra_files=_extra_files)
    else:
        f.write(m.save_to_buffer(_extra_files=_extra_files))


def export_opnames(m: object) -> list[str]:
    """The names of the operations that the methods of a module call, sorted."""
    found: set[str] = set()
    for module in m.modules() if isinstance(m, ScriptModule) else [m]:
        for method in getattr(module, "_methods", {}).values():
            found.update([name for name in operations(method.node) if name.startswith("aten::")])
    return sorted(found)


def save_jit_module_to_flatbuffer(m: object, f: FileLike, _extra_files: Keywords | None = None) -> None:
    """RuntimeError: programs are saved by `save` alone."""
    raise RuntimeError("flatbuffers are not written: use torch.jit.save")


def jit_module_from_flatbuffer(f: FileLike) -> Any:
    """RuntimeError: programs are loaded by `load` alone."""
    raise RuntimeError("flatbuffers are not read: use torch.jit.load")


__all__ = ["export_opnames", "load", "save"]
