"""Writing packages."""

from __future__ import annotations

import importlib.machinery
import io
import linecache
import os
import pickletools
import platform
import sys
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterator, Sequence
from enum import Enum
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import ModuleType, TracebackType
from typing import IO, Any

from dataclasses import dataclass

from .._files.places import location_tag
from .._files.rebuild import STORAGE_TYPES, UNTYPED
from .._files.writer import PyTorchFileWriter
from ..storage import TypedStorage, UntypedStorage
from ..utils.hooks import RemovableHandle
from ._digraph import DiGraph
from ._importlib import _normalize_path
from ._mangling import demangle, is_mangled
from ._package_pickler import create_pickler
from .find_file_dependencies import find_files_source_depends_on
from .glob_group import GlobGroup, GlobPattern
from .importer import Importer, OrderedImporter, sys_importer

__all__ = ["PackagingErrorReason", "EmptyMatchError", "PackagingError", "PackageExporter"]

ActionHook = Callable[["PackageExporter", str], None]
_gate_torchscript_serialization = True
_OWN = ("torch", "torchcompat", "autograd_tape")
_ASKED_FOR = ("sys", "io")
"""Modules of Python that reach far into the system: a package names them only where its maker says so."""
_MOCKED = """\
from _mock import MockedObject


def __getattr__(attr: str):
    return MockedObject(__name__ + '.' + attr, _suppress_err=True)
"""


class _Action(Enum):
    """What becomes of a module."""

    INTERN, EXTERN, MOCK, DENY = "its source is written", "it stays outside", "something stands for it", "it is refused"
    MOCKS, SKIP = "it is what stands for others", "an importer gives it"


class PackagingErrorReason(Enum):
    """Why a module cannot be packaged."""

    IS_EXTENSION_MODULE = "Module is a C extension module. torch.package supports Python modules only."
    NO_DUNDER_FILE = "Module had no __file__ defined."
    SOURCE_FILE_NOT_FOUND = "Module had a __file__, but we could not find it in your filesystem."
    DEPENDENCY_RESOLUTION_FAILED = "Dependency resolution failed."
    NO_ACTION = "Module did not match against any action pattern. Extern, mock, or intern it."
    DENIED = "Module was denied by a pattern."
    MOCKED_BUT_STILL_USED = (
        "Module was mocked out, but is still being used in the package. Please intern or extern the mocked modules if objects are "
        "supposed to be in the package.")

    def __repr__(self) -> str:
        return f"<{type(self).__name__}.{self.name}>"


class EmptyMatchError(Exception):
    """A pattern that was to match some module has matched none."""


class PackagingError(Exception):
    """Some modules cannot be packaged: all of them, with the reasons.

    Attributes:
        dependency_graph: what asked for what.
    """

    def __init__(self, dependency_graph: DiGraph, debug: bool = False) -> None:
        self.dependency_graph = dependency_graph
        broken: dict[PackagingErrorReason, list[str]] = defaultdict(list)
        for name, facts in dependency_graph.nodes.items():
            if facts.get("error") is not None:
                broken[facts["error"]].append(name)
        lines = [""]
        for reason, names in broken.items():
            lines.append(f"* {reason.value}")
            for name in names:
                lines.append(f"    {name}")
                context = dependency_graph.nodes[name].get("error_context")
                if context is not None:
                    lines.append(f"      Context: {context}")
                if name in _ASKED_FOR:
                    lines.append(
                        "      Note: While we usually use modules in the python standard library from the local environment, "
                        f"`{name}` has a lot of system level access and therefore can pose a security risk. We heavily recommend removing "
                        f"`{name}` from your packaged code. However, if that is not possible, add it to the extern list by calling "
                        f'PackageExporter.extern("`{name}`")')
                if debug:
                    lines.append(f"      A path to {name}: {' -> '.join(dependency_graph.first_path(name))}")
        if not debug:
            lines += ["", "Set debug=True when invoking PackageExporter for a visualization of where broken modules are coming from!"]
        super().__init__("\n".join([*lines, ""]))


@dataclass(slots=True)
class _Pattern:
    """What becomes of the modules that a pattern matches."""

    action: _Action
    allow_empty: bool = True
    was_matched: bool = False


class PackageExporter:
    """Writes a package: sources of modules, pickled objects, text and bytes.

    A source is searched for imports. What becomes of an imported module the patterns say that `intern`, `extern`, `mock` and `deny` give,
    the first that matches; modules of torch and of Python stay outside. Everything is written when the block ends.

    Args:
        f: a path, or a file.
        importer: where modules and the names of objects come from, one or several.
        debug: whether errors tell by which modules a module was asked for.

    Raises:
        TypeError: `importer` is none.
    """

    importer: Importer

    def __init__(self, f: str | os.PathLike[str] | IO[bytes], importer: Importer | Sequence[Importer] = sys_importer,
                 debug: bool = False) -> None:
        if not isinstance(importer, (Importer, Sequence)):
            raise TypeError(f"importer arg should be an Importer or a sequence of Importers, got {type(importer)} instead.")
        self.importer = importer if isinstance(importer, Importer) else OrderedImporter(*importer)
        self.debug = debug
        self.buffer = None if isinstance(f, (str, os.PathLike)) else f
        self.zip_file = PyTorchFileWriter(f)
        self.zip_file.set_min_version(6)
        self.dependency_graph = DiGraph()
        self.patterns: dict[GlobGroup, _Pattern] = {}
        self._hooks: dict[_Action, OrderedDict[int, ActionHook]] = {
            action: OrderedDict() for action in (_Action.EXTERN, _Action.MOCK, _Action.INTERN)}
        self._written_files: set[str] = set()
        self._storages: dict[tuple[int, int], tuple[int, UntypedStorage]] = {}
        self._reduced: dict[int, tuple[Any, ...]] = {}
        self._unique_id = 0

    # -- sources ------------------------------------------------------------------------------------------------------

    def save_source_file(self, module_name: str, file_or_directory: str | os.PathLike[str], dependencies: bool = True) -> None:
        """Adds a file as the source of a module, or all sources of a folder as those of a package.

        Args:
            dependencies: whether to search them for imports.
        """
        path = Path(file_or_directory)
        if not path.is_dir():
            self.save_source_string(module_name, path.read_text("utf-8"), path.name == "__init__.py", dependencies)
            return
        found = []
        for file in sorted(path.glob("**/*.py")):
            parts = [*module_name.split("."), *file.relative_to(path).with_suffix("").parts]
            is_package = parts[-1] == "__init__"
            found.append((".".join(parts[:-1] if is_package else parts), file.read_text("utf-8"), is_package))
        for name, source, is_package in found:  # all are known before one is searched for imports of others
            self._provide(name, _Action.INTERN, source=source, is_package=is_package)
        for name, source, is_package in found:
            self.save_source_string(name, source, is_package, dependencies)

    def save_source_string(self, module_name: str, src: str, is_package: bool = False, dependencies: bool = True) -> None:
        """Adds the source of a module.

        Args:
            is_package: whether other modules lie in it.
            dependencies: whether to search it for imports.
        """
        self._provide(module_name, _Action.INTERN, source=src, is_package=is_package)
        if dependencies:
            for name in self._get_dependencies(src, module_name, is_package):
                self.dependency_graph.add_edge(module_name, name)
                self.add_dependency(name)

    def save_module(self, module_name: str, dependencies: bool = True) -> None:
        """Adds the source of a module that the importer finds.

        Raises:
            TypeError: the name is no text.
        """
        if not isinstance(module_name, str):
            raise TypeError("save_module() expects a string input, did you perhaps mean to pass `__name__`?")
        self._intern(module_name, dependencies)

    def _provide(self, name: str, action: _Action, **facts: Any) -> None:
        self.dependency_graph.add_node(name, action=action, provided=True, **facts)

    def _get_dependencies(self, src: str, module_name: str, is_package: bool) -> list[str]:
        """The modules that a source imports and the importer finds; none, with an error on the graph, where it cannot be read."""
        try:
            pairs = find_files_source_depends_on(src, module_name if is_package else module_name.rpartition(".")[0] or module_name)
        except Exception as error:  # whatever is wrong with the source
            self.dependency_graph.add_node(module_name, error=PackagingErrorReason.DEPENDENCY_RESOLUTION_FAILED, error_context=str(error))
            return []
        found: dict[str, None] = {}
        for module, name in pairs:
            inner = f"{module}.{name}"
            if name is not None and self._module_exists(inner):  # a module of the package, which itself is not needed then
                found[inner] = None
            elif self._module_exists(module):
                found[module] = None
        return list(found)

    def _import_module(self, module_name: str) -> ModuleType:
        try:
            return self.importer.import_module(module_name)
        except ModuleNotFoundError:
            if not is_mangled(module_name):
                raise
            raise ModuleNotFoundError(f"Module not found: '{module_name}'. Make sure the PackageImporter that created this module is "
                                      "present in `self.importer`") from None

    def _module_exists(self, module_name: str) -> bool:
        try:
            self._import_module(module_name)
        except Exception:  # importing runs anybody's code
            return False
        return True

    def _get_source_of_module(self, module: ModuleType) -> str | None:
        loader = getattr(getattr(module, "__spec__", None), "loader", None)
        filename = getattr(module, "__file__", None)
        if isinstance(loader, SourceFileLoader) and loader.name == module.__name__:
            filename = loader.get_filename(module.__name__)
        if isinstance(filename, str) and filename.endswith(".py"):
            return "".join(linecache.getlines(filename, module.__dict__))
        return None

    def add_dependency(self, module_name: str, dependencies: bool = True) -> None:
        """Has a module become what the patterns say, unless it is in the package already."""
        if self.dependency_graph.nodes.get(module_name, {}).get("provided"):
            return
        if module_name in ("torch_package_importer", "_mock"):
            self._provide(module_name, _Action.SKIP if module_name == "torch_package_importer" else _Action.MOCKS)
        elif self._can_implicitly_extern(module_name):
            self._provide(module_name, _Action.EXTERN)
        else:
            info = self._pattern_of(module_name)
            if info is None:
                self.dependency_graph.add_node(module_name, error=PackagingErrorReason.NO_ACTION)
                return
            info.was_matched = True
            denied = {"error": PackagingErrorReason.DENIED} if info.action is _Action.DENY else {}
            self._provide(module_name, info.action, **denied)
            if info.action is _Action.INTERN:
                self._intern(module_name, dependencies)

    def _pattern_of(self, module_name: str) -> _Pattern | None:
        return next((info for pattern, info in self.patterns.items() if pattern.matches(module_name)), None)

    def _can_implicitly_extern(self, module_name: str) -> bool:
        top = module_name.partition(".")[0]
        return top in _OWN or top in sys.stdlib_module_names and top not in _ASKED_FOR

    def _intern(self, module_name: str, dependencies: bool) -> None:
        module = self._import_module(module_name)
        name, is_package = demangle(module_name), hasattr(module, "__path__")
        source = self._get_source_of_module(module)
        if source is not None:
            self.save_source_string(name, source, is_package, dependencies)
            return
        filename, context = getattr(module, "__file__", None), None
        if filename is None:
            reason = PackagingErrorReason.NO_DUNDER_FILE
        elif filename.endswith(tuple(importlib.machinery.EXTENSION_SUFFIXES)):
            reason = PackagingErrorReason.IS_EXTENSION_MODULE
        else:
            reason, context = PackagingErrorReason.SOURCE_FILE_NOT_FOUND, f"filename: {filename}"
        self._provide(name, _Action.INTERN, is_package=is_package, error=reason, error_context=context)

    # -- objects, text and bytes --------------------------------------------------------------------------------------

    def save_pickle(self, package: str, resource: str, obj: Any, dependencies: bool = True, pickle_protocol: int = 3) -> None:
        """Adds an object, pickled; its tensors are records of their own, one for all that share memory.

        Args:
            package, resource: the name of a module, and that of the object there.
            dependencies: whether to take the modules of its classes in, too.
            pickle_protocol: 3 or 4.

        Raises:
            AssertionError: another protocol.
            pickle.PicklingError: the importer does not find something that is pickled by name.
        """
        if pickle_protocol not in (3, 4):
            raise AssertionError(f"torch.package only supports pickle protocols 3 and 4, got {pickle_protocol}")
        filename, buffer = self._filename(package, resource), io.BytesIO()
        create_pickler(buffer, self.importer, pickle_protocol, self._persistent_id).dump(obj)
        node = f"<{package}.{resource}>"
        self._provide(node, _Action.INTERN, is_pickle=True)
        if dependencies:
            named: dict[str, list[str]] = defaultdict(list)
            for module, name in _globals(buffer.getvalue()):
                named[module].append(name)
            for module, names in named.items():
                self.dependency_graph.add_edge(node, module)
                info = None if self._can_implicitly_extern(module) else self._pattern_of(module)
                if info is None or info.action is not _Action.MOCK:
                    self.add_dependency(module)
                    continue
                self._provide(module, _Action.MOCK, error=PackagingErrorReason.MOCKED_BUT_STILL_USED, error_context=(
                    f"Object(s) '{names}' from module `{module}` was mocked out during packaging but is being used in resource - "
                    f"`{resource}` in package `{package}`. "))
        self._write(filename, buffer.getvalue())

    def _persistent_id(self, obj: object) -> tuple[Any, ...] | None:
        if isinstance(obj, (TypedStorage, UntypedStorage)):
            storage, kind = (obj.untyped(), STORAGE_TYPES[obj.dtype]) if isinstance(obj, TypedStorage) else (obj, UNTYPED)
            place = (storage.data_ptr(), storage.nbytes()) if storage.nbytes() else (id(storage._owner), 0)
            if place not in self._storages:
                self._storages[place] = len(self._storages), storage  # held, lest another be put in its place
                self.zip_file.write_record(f".data/{len(self._storages) - 1}.storage", storage.cpu(), storage.nbytes())
            return ("storage", kind, self._storages[place][0], location_tag(storage), storage.nbytes() // kind.dtype.itemsize)
        if hasattr(obj, "__reduce_package__") and not isinstance(obj, type):
            if id(obj) not in self._reduced:
                self._reduced[id(obj)] = "reduce_package", id(obj), *obj.__reduce_package__(self)
            return self._reduced[id(obj)]
        return None

    def save_text(self, package: str, resource: str, text: str) -> None:
        """Adds a text."""
        self.save_binary(package, resource, text.encode("utf-8"))

    def save_binary(self, package: str, resource: str, binary: bytes) -> None:
        """Adds bytes."""
        self._write(self._filename(package, resource), binary)

    def get_unique_id(self) -> str:
        """A text that this exporter gives once."""
        self._unique_id += 1
        return str(self._unique_id - 1)

    def _filename(self, package: str, resource: str) -> str:
        return f"{package.replace('.', '/')}/{_normalize_path(resource)}"

    # -- patterns -----------------------------------------------------------------------------------------------------

    def intern(self, include: GlobPattern, *, exclude: GlobPattern = (), allow_empty: bool = True) -> None:
        """Takes the sources of these modules in.

        Args:
            include, exclude: patterns of names, see `GlobGroup`.
            allow_empty: whether there may be none.
        """
        self.patterns[GlobGroup(include, exclude=exclude)] = _Pattern(_Action.INTERN, allow_empty)

    def mock(self, include: GlobPattern, *, exclude: GlobPattern = (), allow_empty: bool = True) -> None:
        """Has something stand for these modules that can be imported, and refuses to be used."""
        self.patterns[GlobGroup(include, exclude=exclude)] = _Pattern(_Action.MOCK, allow_empty)

    def extern(self, include: GlobPattern, *, exclude: GlobPattern = (), allow_empty: bool = True) -> None:
        """Leaves these modules outside: they will be imported where the package is loaded."""
        self.patterns[GlobGroup(include, exclude=exclude)] = _Pattern(_Action.EXTERN, allow_empty)

    def deny(self, include: GlobPattern, *, exclude: GlobPattern = ()) -> None:
        """Refuses these modules."""
        self.patterns[GlobGroup(include, exclude=exclude)] = _Pattern(_Action.DENY)

    def _register(self, action: _Action, hook: ActionHook) -> RemovableHandle:
        handle = RemovableHandle(self._hooks[action])
        self._hooks[action][handle.id] = hook
        return handle

    def register_extern_hook(self, hook: ActionHook) -> RemovableHandle:
        """`hook(exporter, name)` is called for each module that stays outside."""
        return self._register(_Action.EXTERN, hook)

    def register_mock_hook(self, hook: ActionHook) -> RemovableHandle:
        """`hook(exporter, name)` is called for each module that something stands for."""
        return self._register(_Action.MOCK, hook)

    def register_intern_hook(self, hook: ActionHook) -> RemovableHandle:
        """`hook(exporter, name)` is called for each module, and object, of the package."""
        return self._register(_Action.INTERN, hook)

    # -- the file -----------------------------------------------------------------------------------------------------

    def __enter__(self) -> PackageExporter:
        return self

    def __exit__(self, exc_type: type[BaseException] | None, exc_value: BaseException | None, traceback: TracebackType | None) -> None:
        if exc_type is None:
            self.close()
        else:  # an archive that can be read, of what there is
            self._finalize_zip()

    def _write(self, filename: str, content: str | bytes) -> None:
        if filename in self._written_files:
            raise AssertionError(f"Tried to write file '{filename}', but it already exists in this archive. Please file a bug.")
        self._written_files.add(filename)
        if is_mangled(filename):
            raise AssertionError(f"Tried to save a torch.package'd module as '{filename}'. Directly saving torch.package'd modules is not "
                                 "allowed.")
        content = content.encode("utf-8") if isinstance(content, str) else content
        self.zip_file.write_record(filename, content, len(content))

    def _write_source(self, module_name: str, src: str, is_package: bool = False) -> None:
        self._write(module_name.replace(".", "/") + ("/__init__.py" if is_package else ".py"), src)

    def close(self) -> None:
        """Writes everything that is left, and ends the file.

        Raises:
            PackagingError: some modules cannot be packaged.
            EmptyMatchError: a pattern has matched nothing and should have.
        """
        graph = self.dependency_graph
        if any(["error" in facts for facts in graph.nodes.values()]):
            raise PackagingError(graph, debug=self.debug)
        for pattern, info in self.patterns.items():
            if not (info.allow_empty or info.was_matched):
                raise EmptyMatchError(f"Exporter did not match any modules to {pattern}, which was marked as allow_empty=False")
        for name, facts in graph.nodes.items():
            for hook in list(self._hooks.get(facts["action"], {}).values()):
                hook(self, name)
            self._write_module(name, facts)
        self._write(".data/extern_modules", "\n".join([n for n, f in graph.nodes.items() if f["action"] is _Action.EXTERN]) + "\n")
        self._write(".data/python_version", platform.python_version())
        self._finalize_zip()

    def _write_module(self, name: str, facts: dict[str, Any]) -> None:
        action = facts["action"]
        if action in (_Action.MOCK, _Action.MOCKS) and "_mock.py" not in self._written_files:
            self._write_source("_mock", Path(__file__).with_name("_mock.py").read_text("utf-8"))
        if action is _Action.MOCK:
            self._write_source(name, _MOCKED, hasattr(self._import_module(name), "__path__"))
        elif action is _Action.INTERN and not facts.get("is_pickle"):
            self._write_source(name, facts["source"], facts["is_package"])

    def _finalize_zip(self) -> None:
        self.zip_file.write_end_of_file()
        del self.zip_file
        if self.buffer is not None:
            self.buffer.flush()

    # -- what there is so far -----------------------------------------------------------------------------------------

    def dependency_graph_string(self) -> str:
        """What asked for what, in the language of Graphviz."""
        return self.dependency_graph.to_dot()

    def _with_action(self, action: _Action) -> list[str]:
        return sorted([n for n, f in self.dependency_graph.nodes.items() if f.get("action") is action and "is_pickle" not in f])

    def externed_modules(self) -> list[str]:
        """The modules that stay outside."""
        return self._with_action(_Action.EXTERN)

    def interned_modules(self) -> list[str]:
        """The modules whose sources are taken in."""
        return self._with_action(_Action.INTERN)

    def mocked_modules(self) -> list[str]:
        """The modules that something stands for."""
        return self._with_action(_Action.MOCK)

    def denied_modules(self) -> list[str]:
        """The modules that are refused."""
        return self._with_action(_Action.DENY)

    def get_rdeps(self, module_name: str) -> list[str]:
        """The modules that ask for a module."""
        return list(self.dependency_graph.predecessors(module_name)) if module_name in self.dependency_graph else []

    def all_paths(self, src: str, dst: str) -> str:
        """By which modules one leads to another, in the language of Graphviz."""
        return self.dependency_graph.all_paths(src, dst)


def _globals(data: bytes) -> Iterator[tuple[str, str]]:
    """(module, name) of everything that a pickle names."""
    texts: list[str | None] = [None, None]  # the last two that were put on the stack
    memo: list[str | None] = []
    before = ""
    for opcode, arg, _ in pickletools.genops(data):
        if opcode.name == "GLOBAL":
            module, _, name = str(arg).partition(" ")
            yield module, name
        elif "UNICODE" in opcode.name:
            texts = [texts[1], str(arg)]
        elif opcode.name in ("BINGET", "LONG_BINGET", "GET"):
            texts = [texts[1], memo[int(str(arg))] if int(str(arg)) < len(memo) else None]
        elif opcode.name == "MEMOIZE":
            memo.append(texts[1] if "UNICODE" in before else None)
        elif opcode.name == "STACK_GLOBAL" and texts[0] is not None and texts[1] is not None:
            yield texts[0], texts[1]
        before = opcode.name
