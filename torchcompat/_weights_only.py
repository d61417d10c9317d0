"""A pickle reader that builds tensors and plain containers and calls nothing else.

It is the standard library's Python unpickler with most of its operations removed: what a file names must be in a table of
allowed globals, and state is set only on objects of those types.
"""

from __future__ import annotations

import io
import pickle
import warnings
from collections import Counter, OrderedDict
from collections.abc import Callable
from typing import Any

BLOCKED_MODULES = ("sys", "os", "posix", "nt")
SafeGlobal = Callable[..., Any] | tuple[Callable[..., Any], str]

_safe_globals: list[SafeGlobal] = []


def add_safe_globals(safe_globals: list[SafeGlobal]) -> None:
    """Allow functions and classes, or ``(object, "full.path")`` pairs, in files loaded with ``weights_only=True``."""
    _safe_globals.extend(item for item in safe_globals if item not in _safe_globals)


def get_safe_globals() -> list[SafeGlobal]:
    """What `add_safe_globals` allowed so far."""
    return list(_safe_globals)


def clear_safe_globals() -> None:
    """Take back all that `add_safe_globals` allowed."""
    _safe_globals.clear()


class safe_globals:
    """Allow functions and classes for the length of a ``with`` block."""

    def __init__(self, safe_globals: list[SafeGlobal]) -> None:
        self.added = [item for item in safe_globals if item not in _safe_globals]

    def __enter__(self) -> None:
        add_safe_globals(self.added)

    def __exit__(self, *exception: object) -> None:
        for item in self.added:
            _safe_globals.remove(item)


def _named_safe_globals() -> dict[str, Any]:
    named = {}
    for item in _safe_globals:
        if not isinstance(item, tuple):
            named[f"{item.__module__}.{item.__qualname__}"] = item
            continue
        if len(item) != 2:
            raise ValueError(
                f"Expected tuple of length 2 (global, str of callable full path), but got tuple of length: {len(item)}"
            )
        if type(item[1]) is not str:
            raise TypeError(f"Expected second item in tuple to be str of callable full path, but got: {type(item[1])}")
        named[item[1]] = item[0]
    return named


class _Operations(dict[int, Callable[[Any], None]]):
    def __missing__(self, key: int) -> Callable[[Any], None]:
        raise pickle.UnpicklingError(f"Unsupported operand {key}")


_KEPT = (
    pickle.MARK, pickle.TUPLE, pickle.TUPLE1, pickle.TUPLE2, pickle.TUPLE3, pickle.NONE, pickle.NEWFALSE, pickle.NEWTRUE,
    pickle.EMPTY_TUPLE, pickle.EMPTY_LIST, pickle.EMPTY_DICT, pickle.EMPTY_SET, pickle.BININT, pickle.BININT1, pickle.BININT2,
    pickle.BINFLOAT, pickle.BINUNICODE, pickle.SHORT_BINSTRING, pickle.BINGET, pickle.LONG_BINGET, pickle.BINPUT,
    pickle.LONG_BINPUT, pickle.LONG1, pickle.STOP, pickle.GLOBAL,
)  # fmt: skip


class WeightsUnpickler(pickle._Unpickler):
    """Reads a pickle stream.

    Args:
        file: the stream.
        allowed: objects by the full path under which files name them.
        tensors: the types whose ``__setstate__`` may be called, beyond what `add_safe_globals` allows.
        load_storage: resolves the persistent id of a storage.
        encoding: of byte strings of Python 2.
    """

    # What the Python implementation has, and its type stubs leave out.
    read: Callable[[int], bytes]
    append: Callable[[Any], None]
    pop_mark: Callable[[], list[Any]]
    stack: list[Any]
    fix_imports: bool

    dispatch = _Operations({op[0]: pickle._Unpickler.dispatch[op[0]] for op in _KEPT})

    def __init__(
        self,
        file: io.BytesIO,
        *,
        allowed: dict[str, Any],
        tensors: tuple[type, ...],
        load_storage: Callable[[tuple[Any, ...]], Any],
        encoding: str = "utf-8",
    ) -> None:
        super().__init__(file, encoding=encoding)
        self.named = {**allowed, **_named_safe_globals()}
        self.callables = {id(value) for value in self.named.values()}
        self.tensors = tensors
        self.load_storage = load_storage

    def find_class(self, module: str, name: str) -> Any:
        if self.fix_imports:
            from _compat_pickle import IMPORT_MAPPING, NAME_MAPPING

            module, name = NAME_MAPPING.get((module, name), (IMPORT_MAPPING.get(module, module), name))
        path = f"{module}.{name}"
        if module in BLOCKED_MODULES:
            raise pickle.UnpicklingError(f"Trying to load unsupported GLOBAL {path} whose module {module} is blocked.")
        if path in self.named:
            return self.named[path]
        path = path.removeprefix("builtins.")
        raise pickle.UnpicklingError(
            f"Unsupported global: GLOBAL {path} was not an allowed global by default. "
            f"Please use `torch.serialization.add_safe_globals([{path}])` or the "
            f"`torch.serialization.safe_globals([{path}])` context manager to allowlist this global "
            "if you trust this class/function."
        )

    def load_proto(self) -> None:
        protocol = self.read(1)[0]
        if protocol != 2:
            warnings.warn(
                f"Detected pickle protocol {protocol} in the checkpoint, which was "
                "not the default pickle protocol used by `torch.load` (2). The weights_only "
                "Unpickler might not support all instructions implemented by this protocol, "
                "please file an issue for adding support if you encounter this.",
                stacklevel=2,
            )
        self.proto = protocol

    def load_reduce(self) -> None:
        arguments = self.stack.pop()
        function = self.stack[-1]
        if id(function) not in self.callables:
            raise pickle.UnpicklingError(f"Trying to call reduce for unrecognized function {function}")
        self.stack[-1] = function(*arguments)

    def load_newobj(self) -> None:
        arguments = self.stack.pop()
        cls = self.stack.pop()
        if id(cls) not in self.callables:
            raise pickle.UnpicklingError(
                "Can only create new object for nn.Parameter or classes allowlisted "
                f"via `add_safe_globals` but got {cls}"
            )
        self.append(cls.__new__(cls, *arguments))

    def load_build(self) -> None:
        state = self.stack.pop()
        instance = self.stack[-1]
        kind = type(instance)
        if kind is OrderedDict:
            instance.__dict__.update(state)
        elif kind not in self.tensors and id(kind) not in self.callables:
            raise pickle.UnpicklingError(
                "Can only build Tensor, Parameter, OrderedDict or types allowlisted "
                f"via `add_safe_globals`, but got {kind}"
            )
        elif (setstate := getattr(instance, "__setstate__", None)) is not None:
            setstate(state)
        else:
            slots = None
            if isinstance(state, tuple) and len(state) == 2:
                state, slots = state
            instance.__dict__.update(state or {})
            for name, value in (slots or {}).items():
                setattr(instance, name, value)

    def load_append(self) -> None:
        item = self.stack.pop()
        if type(self.stack[-1]) is not list:
            raise pickle.UnpicklingError(f"Can only append to lists, but got {type(self.stack[-1])}")
        self.stack[-1].append(item)

    def load_appends(self) -> None:
        items = self.pop_mark()
        if type(self.stack[-1]) is not list:
            raise pickle.UnpicklingError(f"Can only extend lists, but got {type(self.stack[-1])}")
        self.stack[-1].extend(items)

    def load_setitem(self) -> None:
        value, key = self.stack.pop(), self.stack.pop()
        self._mapping("SETITEM")[key] = value

    def load_setitems(self) -> None:
        items = self.pop_mark()
        self._mapping("SETITEMS").update(zip(items[::2], items[1::2], strict=True))

    def _mapping(self, operation: str) -> dict[Any, Any]:
        target = self.stack[-1]
        if type(target) not in (dict, OrderedDict, Counter):
            raise pickle.UnpicklingError(
                f"Can only {operation} for dict, collections.OrderedDict, collections.Counter, but got {type(target)}"
            )
        return target

    def load_binpersid(self) -> None:
        saved = self.stack.pop()
        if type(saved) is not tuple:
            raise pickle.UnpicklingError(f"persistent_load id must be tuple or int, but got {type(saved)}")
        if not saved or saved[0] != "storage":
            raise pickle.UnpicklingError(
                f"Only persistent_load of storage is allowed, but got {type(saved[0]) if saved else saved}"
            )
        self.append(self.load_storage(saved))

    for _operation, _method in (
        (pickle.PROTO, load_proto), (pickle.REDUCE, load_reduce), (pickle.NEWOBJ, load_newobj), (pickle.BUILD, load_build),
        (pickle.APPEND, load_append), (pickle.APPENDS, load_appends), (pickle.SETITEM, load_setitem),
        (pickle.SETITEMS, load_setitems), (pickle.BINPERSID, load_binpersid),
    ):  # fmt: skip
        dispatch[_operation[0]] = _method
    del _operation, _method
