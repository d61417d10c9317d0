"""`import torch` without torch: torchcompat under torch's name.

`install()` puts an import hook in place that answers for `torch` and every `torch.x.y` with torchcompat's module of the same
path, as the same module object, and for `functorch`, which comes with torch, with `_functorch.functorch`. Processes that are started anew
(multiprocessing's methods "spawn" and "forkserver") get the hook, too: their program says `import torch` as this one does.
"""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import sys
from types import ModuleType
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from importlib.metadata import Distribution


class _Spec(importlib.machinery.ModuleSpec):
    """What a module is known by: under torch's name, while it goes on to import its kin by its own."""

    def __init__(self, name: str, own: importlib.machinery.ModuleSpec) -> None:
        of_file = type(own.loader) is importlib.machinery.SourceFileLoader and own.origin is not None
        super().__init__(name, importlib.machinery.SourceFileLoader(name, str(own.origin)) if of_file else own.loader, origin=own.origin)
        self.own, self.submodule_search_locations = own, own.submodule_search_locations
        self.has_location, self.cached = own.has_location, own.cached

    @property
    def parent(self) -> str | None:
        """The package in which names are relative."""
        return self.own.parent


_own: dict[str, tuple[importlib.machinery.ModuleSpec | None, Any, str | None]] = {}
"""What modules were made with, by their own names."""


def _know_as(module: ModuleType, name: str) -> None:
    """Gives a module a name of torch's, which is what programs see: `torch.__name__`, `torch.__spec__.name`."""
    spec = module.__spec__
    module.__name__ = name
    if spec is not None and not isinstance(spec, _Spec):
        _own[spec.name] = spec, module.__loader__, module.__package__
        module.__spec__ = _Spec(name, spec)


_FUNCTORCH = "torchcompat._functorch.functorch"


def _own_name(name: str) -> str | None:
    """torchcompat's name of a module of torch's or functorch's; None for any other."""
    top, _, rest = name.partition(".")
    home = {"torch": "torchcompat", "functorch": _FUNCTORCH}.get(top)
    return home and (f"{home}.{rest}" if rest else home)


def _torchs_name(own: str) -> str:
    """What torch calls a module of torchcompat."""
    return "functorch" + own[len(_FUNCTORCH):] if f"{own}.".startswith(f"{_FUNCTORCH}.") else "torch" + own[11:]


class _Loader(importlib.abc.Loader):
    def __init__(self, target: str) -> None:
        self.target, self.again = target, True

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        module, self.again = importlib.import_module(self.target), False
        # The import system overwrites these with those of the alias; exec_module puts them back, since modules import each other by them.
        if not isinstance(module.__spec__, _Spec):
            _own[self.target] = module.__spec__, module.__loader__, module.__package__
        return module

    def get_code(self, fullname: str) -> Any:
        """What `python -m torch.x` carries out."""
        spec = importlib.util.find_spec(self.target)
        return None if spec is None else spec.loader.get_code(self.target)  # type: ignore[union-attr]  # that of a file

    def exec_module(self, module: ModuleType) -> None:
        module.__spec__, module.__loader__, module.__package__ = _own[self.target]
        if self.again and module.__spec__ is not None and module.__spec__.loader is not None:  # importlib.reload, which creates none
            module.__name__ = self.target
            module.__spec__.loader.exec_module(module)
        # What came with it is known by torch's name, too: were it imported by that, it would be put where a package has a function of its
        # name (`torch.nn.parallel.data_parallel`).
        for name in [n for n in sys.modules if n == self.target or n.startswith(self.target + ".")]:
            _call(name, _torchs_name(name))


_renamed: dict[type, tuple[str, str]] = {}
"""The classes that say that they are torch's, and what they say else: module and name."""
_OWN_CLASSES = {"torch": ("dtype", "device", "layout", "memory_format", "finfo", "iinfo"), "torch._C": ("Generator",)}
"""torch's classes that are defined elsewhere here: by the module that torch says they are of."""


def _call(name: str, other: str) -> None:
    """Makes a module of torchcompat known by torch's name, and its classes say that they are of that."""
    module = sys.modules[name]
    _know_as(module, other)
    sys.modules[other] = module
    for value in list(vars(module).values()):
        if isinstance(value, type) and value.__module__ == name:
            _rename(value, other, value.__name__)
    if other == "torch":
        for home, names in _OWN_CLASSES.items():
            for own in names:
                _rename(getattr(module, own), home, own)


def _rename(cls: type, home: str, name: str) -> None:
    _renamed.setdefault(cls, (cls.__module__, cls.__name__))
    cls.__module__, cls.__name__ = home, name
    if "." not in cls.__qualname__:
        cls.__qualname__ = name


def _called_when_loaded(name: str, path: Sequence[str] | None) -> importlib.machinery.ModuleSpec | None:
    """The module of torchcompat, known by torch's name as soon as it is loaded."""
    spec = importlib.machinery.PathFinder.find_spec(name, path)
    if spec is not None and spec.loader is not None and "torch" in sys.modules:
        load = spec.loader.exec_module

        def exec_module(module: ModuleType) -> None:
            load(module)
            _call(name, _torchs_name(name))

        spec.loader.exec_module = exec_module  # type: ignore[method-assign]
    return spec


class _Finder(importlib.abc.MetaPathFinder):
    def find_spec(self, fullname: str, path: Sequence[str] | None, target: object = None) -> importlib.machinery.ModuleSpec | None:
        name = _own_name(fullname)
        if name is None:
            home, _, last = fullname.rpartition(".")
            if home and last.startswith("popen_"):  # what starts processes, imported for the first of them
                _tell_new_processes(home)
            return _called_when_loaded(fullname, path) if fullname.startswith("torchcompat.") else None
        try:
            found = importlib.util.find_spec(name)
        except (ImportError, AttributeError, ValueError):
            found = None
        if found is None and name not in sys.modules:
            return None
        spec = importlib.machinery.ModuleSpec(fullname, _Loader(name), origin=None if found is None else found.origin,
                                              is_package=found is not None and found.submodule_search_locations is not None)
        spec.has_location = found is not None and found.has_location
        return spec

    def find_distributions(self, context: Any) -> Iterable[Distribution]:
        """The record of what stands in torch's place, where somebody asks for torch or for all there are, and none is installed."""
        if (context.name or "torch").lower() != "torch":
            return []
        from importlib.metadata import DistributionFinder

        others = [finder for finder in sys.meta_path if finder is not self and hasattr(finder, "find_distributions")]
        if any([list(finder.find_distributions(DistributionFinder.Context(**{**vars(context), "name": "torch"}))) for finder in others]):
            return []
        from ._calls.distribution import Record

        return [Record()]


_finder = _Finder()


class _Installed:
    """What a new process reads before its program: reading it installs the hook there."""

    def __reduce__(self) -> tuple[Callable[[], None], tuple[()]]:
        return install, ()


def _tell_new_processes(home: str) -> None:
    """Has what multiprocessing, or a package made after it (multiprocess, joblib's loky), tells a new process end with the hook, as long as
    that is in place here."""
    try:
        spawn = importlib.import_module(f"{home}.spawn")
        told: Callable[..., dict[str, Any]] = spawn.get_preparation_data
    except (ImportError, AttributeError):  # another package's, which starts processes in a way of its own
        return
    if not hasattr(told, "torchcompat"):
        def get_preparation_data(*args: Any, **kwargs: Any) -> dict[str, Any]:
            return {**told(*args, **kwargs), **({"torchcompat": _Installed()} if _finder in sys.meta_path else {})}

        get_preparation_data.torchcompat = True  # type: ignore[attr-defined]
        vars(spawn)["get_preparation_data"] = get_preparation_data


def install() -> None:
    """Makes `import torch` give torchcompat in this process. RuntimeError where real torch is loaded already."""
    loaded = sys.modules.get("torch")
    if loaded is not None and not getattr(loaded, "__torchcompat__", False):
        raise RuntimeError("torch is already imported in this process; install torchcompat before anything imports torch")
    if _finder not in sys.meta_path:
        sys.meta_path.insert(0, _finder)
    for name in [n for n, m in sys.modules.items() if n.endswith(".spawn") and "get_preparation_data" in getattr(m, "__dict__", ())]:
        _tell_new_processes(name.removesuffix(".spawn"))


def pytest_addoption() -> None:
    """`pytest -p torchcompat.dropin`: installed as soon as pytest knows of this, before any conftest is read."""
    install()


def uninstall() -> None:
    """Undoes `install` for imports to come, and forgets the alias modules."""
    if _finder in sys.meta_path:
        sys.meta_path.remove(_finder)
    for name in [n for n in sys.modules if _own_name(n) is not None]:
        module = sys.modules[name]
        if isinstance(spec := getattr(module, "__spec__", None), _Spec):
            module.__name__, module.__spec__ = spec.own.name, spec.own
        if spec is not None and module.__name__.startswith("torchcompat"):
            del sys.modules[name]
    for cls, (home, own) in list(_renamed.items()):
        _rename(cls, home, own)
    _renamed.clear()
