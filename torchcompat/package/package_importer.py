"""Reading packages."""

from __future__ import annotations

import builtins
import importlib
import importlib.machinery
import importlib.util
import inspect
import io
import linecache
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import PurePosixPath
from types import ModuleType
from typing import IO, Any
from weakref import WeakValueDictionary

import numpy as np
from dataclasses import dataclass, field

from autograd_tape.dtypes import DType

from .._files.reader import PyTorchFileReader
from .._files.rebuild import sparse_checked_at_end
from .._files.storages import Storages, turned
from ._directory_reader import DirectoryReader
from ._importlib import _normalize_path, _resolve_name
from ._mangling import PackageMangler, demangle
from ._package_unpickler import PackageUnpickler
from .file_structure_representation import Directory, _create_directory_from_file_list
from .glob_group import GlobPattern
from .importer import Importer, outside

__all__ = ["PackageImporter"]

IMPLICIT_IMPORT_ALLOWLIST = ["numpy", "numpy.core", "numpy.core._multiarray_umath", "builtins"]
"""What any package may import: pickled arrays and generated code name it."""
_EXTERN = object()


@dataclass(slots=True)
class _Package:
    """A module, or a folder, of a package: where its source is, and what lies in it."""

    source_file: str | None = None
    children: dict[str, Any] = field(default_factory=dict)
    is_package: bool = True


class _Records(Storages):
    """The storages that a pickle names, each a record of the package."""

    def __init__(self, reader: Any, map_location: Any) -> None:
        super().__init__(map_location, False)
        self.reader = reader

    def made(self, key: str, dtype: DType, count: int) -> Any:
        """The elements of a record.

        Raises:
            RuntimeError: it holds another number of them.
        """
        if not key.isalnum():
            raise RuntimeError(f"no storage is called {key!r:.80}")
        data = bytearray(self.reader.get_record(f".data/{key}.storage"))
        if not 0 <= len(data) - count * dtype.itemsize < dtype.itemsize:
            raise RuntimeError(f"the record of storage {key} has {len(data)} bytes, not {count} elements of {dtype.itemsize}")
        found = np.frombuffer(data, dtype.np, count) if count else np.zeros(0, dtype.np)
        turned(found, dtype, False)
        return found


class PackageImporter(Importer):
    """Modules and objects of a package, which are this importer's own: another that opens the same file loads them anew.

    Its modules are in no `sys.modules`; names of modules that stay outside go to Python's import. Who loads a package runs its code.

    Args:
        file_or_buffer: a path, that of a folder with the unpacked records, too; a file; or a reader of an archive.
        module_allowed: whether the package may import a module from outside.

    Raises:
        ImportError: it may not, or the records are no modules.
        RuntimeError: the file is no archive.
    """

    modules: dict[str, ModuleType]

    def __init__(self, file_or_buffer: str | os.PathLike[str] | IO[bytes] | PyTorchFileReader,
                 module_allowed: Callable[[str], bool] = lambda module_name: True) -> None:
        self.zip_reader: Any
        if isinstance(file_or_buffer, PyTorchFileReader):
            self.filename, self.zip_reader = "<pytorch_file_reader>", file_or_buffer
        elif isinstance(file_or_buffer, (str, os.PathLike)):
            self.filename = os.fspath(file_or_buffer)
            self.zip_reader = (DirectoryReader if os.path.isdir(self.filename) else PyTorchFileReader)(self.filename)
        else:
            self.filename, self.zip_reader = "<binary>", PyTorchFileReader(file_or_buffer)
        self.root = _Package()
        self.modules = {}
        self.extern_modules = self.zip_reader.get_record(".data/extern_modules").decode("utf-8").splitlines()
        for name in self.extern_modules:
            if not module_allowed(name):
                raise ImportError(f"package '{file_or_buffer}' needs the external module '{name}' but that module has been disallowed")
            self._add_extern(name)
        for path in self.zip_reader.get_all_records():
            self._add_file(path)
        self.patched_builtins = {**vars(builtins), "__import__": self.__import__}
        self.modules["torch_package_importer"] = self  # type: ignore[assignment]  # which modules of the package may import
        self._mangler = PackageMangler()
        self.storage_context: Any = None
        self.last_map_location: Any = None
        self.Unpickler: Callable[..., PackageUnpickler] = lambda *args, **kwargs: PackageUnpickler(self, *args, **kwargs)

    # -- what is in it ------------------------------------------------------------------------------------------------

    def _folder(self, names: Sequence[str]) -> Any:
        """The package of these names; `_EXTERN` where it stays outside."""
        here: Any = self.root
        for i, name in enumerate(names):
            here = here.children.setdefault(name, _Package())
            if here is _EXTERN:
                return here
            if not here.is_package:
                raise ImportError(f"inconsistent module structure. module {'.'.join(names[:i])} is not a package, but has submodules")
        return here

    def _add_file(self, path: str) -> None:
        *folders, last = path.split("/")
        if folders and folders[0] == ".data":
            return
        package = self._folder(folders)
        if package is _EXTERN:
            raise ImportError(f"inconsistent module structure. package contains a module file {path} that is a subpackage of a module "
                              "marked external.")
        if last == "__init__.py":
            package.source_file = path
        elif last.endswith(".py"):
            package.children[last.removesuffix(".py")] = _Package(path, is_package=False)

    def _add_extern(self, name: str) -> None:
        *packages, last = name.split(".")
        package = self._folder(packages)
        if package is not _EXTERN:  # else all of the package is outside
            package.children[last] = _EXTERN

    def file_structure(self, *, include: GlobPattern = "**", exclude: GlobPattern = ()) -> Directory:
        """The records as a tree, those whose paths fit the patterns."""
        return _create_directory_from_file_list(self.filename, self.zip_reader.get_all_records(), include, exclude)

    def python_version(self) -> str | None:
        """The version of the Python that wrote the package; None where it does not say."""
        name = ".data/python_version"
        return self.zip_reader.get_record(name).decode("utf-8").strip() if self.zip_reader.has_record(name) else None

    def id(self) -> str:
        """What names of its modules begin with, such as "<torch_package_0>"."""
        return self._mangler.parent_name()

    # -- modules ------------------------------------------------------------------------------------------------------

    def import_module(self, name: str, package: object = None) -> ModuleType:
        """A module of the package, or one that it leaves outside; by its own name, or that with the mark of this importer.

        Raises:
            ModuleNotFoundError: it is neither.
        """
        return self._import(self._mangler.demangle(name))

    def _import(self, name: str) -> ModuleType:
        if not isinstance(name, str):
            raise TypeError(f"module name must be str, not {type(name)}")
        if not name:
            raise ValueError("Empty module name")
        if name not in self.modules:
            above, _, last = name.rpartition(".")
            if above and above not in self.modules:
                self._import(above)
            if name not in self.modules:  # unless the package above has brought it
                if above and not hasattr(self.modules[above], "__path__") and not self._is_attribute(above, last):
                    raise ModuleNotFoundError(f"No module named {name!r}; {above!r} is not a package", name=name)
                self._load(name)
            self._put_on_package(name)
        return self.modules[name]

    def _is_attribute(self, above: str, last: str) -> bool:
        """Whether a module from outside, which is no package, has a module as `os` has `os.path`."""
        module = self.modules[above]
        return getattr(module, "__loader__", None) is not self and isinstance(getattr(module, last, None), ModuleType)

    def _load(self, name: str) -> None:
        here: Any = self.root
        for part in name.split("."):
            here = here.children.get(part) if here is not _EXTERN and here is not None else here
        if here is _EXTERN or here is None and name in IMPLICIT_IMPORT_ALLOWLIST:
            self.modules[name] = outside(name)
        elif here is None:
            raise ModuleNotFoundError(
                f'No module named "{name}" in self-contained archive "{self.filename}" and the module is also not in the list of allowed '
                f"external modules: {self.extern_modules}", name=name)
        else:
            self._make(name, here)

    def _make(self, name: str, node: _Package) -> None:
        spec = importlib.machinery.ModuleSpec(
            name, self, origin="<package_importer>", is_package=node.is_package)  # type: ignore[arg-type]  # it is asked for sources
        module = importlib.util.module_from_spec(spec)
        module.__name__ = self._mangler.mangle(name)
        path = None if node.source_file is None else self._mangler.mangle(node.source_file)
        vars(module).update(__spec__=spec, __loader__=self, __file__=path, __cached__=None, __builtins__=self.patched_builtins,
                            __torch_package__=True)
        self.modules[name] = _loaded[module.__name__] = module
        self._put_on_package(name)  # where `from package import it` looks
        if node.source_file is None or path is None:
            return
        linecache.lazycache(path, vars(module))  # so that tracebacks and `inspect` show its lines
        try:
            source = self.zip_reader.get_record(node.source_file).replace(b"\r\n", b"\n").replace(b"\r", b"\n")
            exec(compile(source, path, "exec", dont_inherit=True), vars(module))
        except BaseException:
            self.modules.pop(name, None)  # as Python forgets a module that could not be loaded
            raise

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> None:
        """Modules are made as Python makes them."""

    def _put_on_package(self, name: str) -> None:
        above, _, last = name.rpartition(".")
        if above and getattr(self.modules[above], "__loader__", None) is self:
            setattr(self.modules[above], last, self.modules[name])

    def __import__(self, name: str, globals: Mapping[str, Any] | None = None, locals: object = None, fromlist: Sequence[str] = (),
                   level: int = 0) -> ModuleType:
        """What `import` does in modules of the package.

        Raises:
            ImportError: a relative import in no package.
        """
        if level < 0:
            raise ValueError("level must be >= 0")
        full = name
        if level:
            spec = (globals or {}).get("__spec__")
            package = (globals or {}).get("__package__") or getattr(spec, "parent", None)
            if not package:
                raise ImportError("attempted relative import with no known parent package")
            full = _resolve_name(name, package, level)
        module = self._import(full)
        if fromlist:
            self._bring(module, fromlist)
            return module
        if not level:
            return self._import(full.partition(".")[0])
        return self.modules[full[: len(full) - len(name) + len(name.partition(".")[0])]] if name else module

    def _bring(self, module: ModuleType, names: Sequence[str]) -> None:
        """Imports those names of a package that are modules in it."""
        if not hasattr(module, "__path__"):
            return
        for name in names:
            if not isinstance(name, str):
                raise TypeError(f"Item in ``from list'' must be str, not {type(name).__name__}")
            if name == "*":
                self._bring(module, [n for n in getattr(module, "__all__", ()) if n != "*"])
            elif not hasattr(module, name):
                full = f"{demangle(module.__name__)}.{name}"
                try:
                    self._import(full)
                except ModuleNotFoundError as error:
                    if error.name != full:
                        raise

    def get_source(self, module_name: str) -> str:
        """The source of a module."""
        module = self.import_module(demangle(module_name))
        found: str = self.zip_reader.get_record(demangle(str(module.__file__))).decode("utf-8")
        return found

    # -- resources ----------------------------------------------------------------------------------------------------

    def _package(self, package: str | ModuleType) -> ModuleType:
        module = package if isinstance(package, ModuleType) else self.import_module(package)
        spec = module.__spec__
        if spec is None or spec.submodule_search_locations is None:
            raise TypeError(f"{getattr(spec, 'name', package) if isinstance(package, ModuleType) else package!r} is not a package")
        return module

    def _path(self, package: str | ModuleType, resource: str | None = None) -> str:
        module = self._package(package)
        if module.__loader__ is not self:
            raise AssertionError(f"package.__loader__ must be self, got {module.__loader__}")
        folder = demangle(module.__name__).replace(".", "/")
        return folder if resource is None else f"{folder}/{_normalize_path(resource)}"

    _zipfile_path = _path

    def load_binary(self, package: str, resource: str) -> bytes:
        """The bytes of a resource.

        Args:
            package, resource: the name of a package, and of the resource there.

        Raises:
            RuntimeError: there is none.
        """
        found: bytes = self.zip_reader.get_record(self._path(package, resource))
        return found

    def load_text(self, package: str, resource: str, encoding: str = "utf-8", errors: str = "strict") -> str:
        """The text of a resource."""
        return self.load_binary(package, resource).decode(encoding, errors)

    def load_pickle(self, package: str, resource: str, map_location: Any = None) -> Any:
        """An object, whose classes are those of this package.

        Args:
            map_location: where its tensors go, as in `torch.load`.
        """
        storages, made = _Records(self.zip_reader, map_location), dict[Any, Any]()

        def persistent_load(saved: Any) -> Any:
            if not isinstance(saved, tuple):
                raise AssertionError(f"saved_id must be a tuple, got {type(saved).__name__}")
            if saved[:1] != ("reduce_package",):
                return storages.storage((*saved[:2], *[str(key) if type(key) is int else key for key in saved[2:3]], *saved[3:]))
            if len(saved) == 3:  # of old files, which do not say that two are one
                return saved[1](self, *saved[2])
            _, number, function, arguments = saved
            if number not in made:
                made[number] = function(self, *arguments)
            return made[number]

        unpickler = self.Unpickler(io.BytesIO(self.zip_reader.get_record(self._path(package, resource))))
        unpickler.persistent_load = persistent_load  # type: ignore[assignment, method-assign]
        self.storage_context, self.last_map_location = storages, map_location
        try:
            with sparse_checked_at_end():
                return unpickler.load()
        finally:
            self.storage_context = self.last_map_location = None

    def get_resource_reader(self, fullname: str) -> _Resources | None:
        """What `importlib.resources` reads a package of this importer by; None of others."""
        try:
            package = self._package(fullname)
        except ImportError:
            return None
        return _Resources(self, fullname) if package.__loader__ is self else None


_loaded: WeakValueDictionary[str, ModuleType] = WeakValueDictionary()
"""The modules of all packages by their names with marks."""
_of_python = inspect.getfile


def _getfile(object: Any) -> str:
    """`inspect.getfile`, which looks for the modules of classes in `sys.modules` alone."""
    module = _loaded.get(object.__module__) if inspect.isclass(object) else None
    return _of_python(object) if module is None else str(module.__file__)


inspect.getfile = _getfile


class _Resources:
    """The resources of a package, as `importlib.resources` asks for them."""

    def __init__(self, importer: PackageImporter, fullname: str) -> None:
        self.importer, self.fullname = importer, fullname

    def open_resource(self, resource: str) -> IO[bytes]:
        """A file of the bytes."""
        return io.BytesIO(self.importer.load_binary(self.fullname, resource))

    def resource_path(self, resource: str) -> str:
        """The path of a file; FileNotFoundError in an archive, which has none."""
        reader, path = self.importer.zip_reader, os.path.join(self.fullname, resource)
        if isinstance(reader, DirectoryReader) and reader.has_record(path):
            return os.path.join(reader.directory, path)
        raise FileNotFoundError

    def is_resource(self, name: str) -> bool:
        """Whether there is a resource."""
        return bool(self.importer.zip_reader.has_record(self.importer._path(self.fullname, name)))

    def contents(self) -> Iterator[str]:
        """The names of all files and folders of the package."""
        folder = PurePosixPath(self.importer._path(self.fullname))
        paths = [PurePosixPath(path) for path in self.importer.zip_reader.get_all_records()]
        inner = [path.relative_to(folder).parts for path in paths if folder in path.parents]
        yield from dict.fromkeys([parts[0] if len(parts) == 1 else parts[-2] for parts in inner])
