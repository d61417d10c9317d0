"""A pickle reader that builds tensors and plain containers and calls nothing else.

It knows the operations that files of ``torch.save`` consist of. What a file names is looked up in one dictionary, never among modules or
attributes, and each name has one function that may be called for it (see `rebuild`); state is set on tensors, OrderedDicts and objects of
classes that the caller allowed. What a file makes it do is bounded by the length of the file.
"""

from __future__ import annotations

import pickle
import struct
from _compat_pickle import IMPORT_MAPPING, NAME_MAPPING
from collections import Counter, OrderedDict
from collections.abc import Callable
from typing import Any, NoReturn

from autograd_tape import warned
from autograd_tape.annotations import Arguments, Fn, Keywords
import torchcompat as torch

from . import rebuild
from .rebuild import Named
from ..storage import TypedStorage
from .._calls.shown import shown_in

BLOCKED_MODULES = ("sys", "os", "posix", "nt")
UNSAFE_MESSAGE = (
    "In PyTorch 2.6, we changed the default value of the `weights_only` argument in `torch.load` "
    "from `False` to `True`. Re-running `torch.load` with `weights_only` set to `False` will likely succeed, "
    "but it can result in arbitrary code execution. Do it only if you got the file from a "
    "trusted source."
)
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


shown_in("torchcompat.serialization", safe_globals)


def named_safe_globals() -> Keywords:
    """What `add_safe_globals` allowed, by the names that files have for it."""
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


def _malformed(why: str) -> NoReturn:
    raise pickle.UnpicklingError(f"The pickle is malformed: {why}")


_INT, _SHORT, _LONG, _FLOAT = struct.Struct("<i"), struct.Struct("<H"), struct.Struct("<I"), struct.Struct(">d")
DEEPEST_KEY = 50
WORK, FREE_WORK = 16, 1 << 16
"""Calls may copy, and keys may hold, so many elements for each byte of the file, and so many more."""


def mapped(module: str, name: str) -> tuple[str, str]:
    """What a file of Python 2 names, as it is called now."""
    return NAME_MAPPING.get((module, name), (IMPORT_MAPPING.get(module, module), name))


class WeightsUnpickler:
    """Reads a pickle.

    Args:
        data: the pickle.
        load_storage: resolves the persistent id of a storage.
        encoding: of byte strings of Python 2; "bytes" leaves them.
        start: where in `data` the pickle starts; `at` is where it ends, after `load`.

    Raises (from `load`):
        pickle.UnpicklingError: the file does, or names, what is not allowed; or it is no pickle.
        EOFError: it ends early.
        RuntimeError: a tensor does not fit its storage, and what else `rebuild` raises.
        what trusted classes, and `load_storage`, raise.
    """

    operations: dict[int, Callable[["WeightsUnpickler"], None]] = {}

    def __init__(self, data: bytes, load_storage: Callable[[Arguments], Any], *, encoding: str = "utf-8", start: int = 0) -> None:
        self.data, self.at = data, start
        self.load_storage, self.encoding = load_storage, encoding
        self.table = rebuild.table()
        self.trusted = named_safe_globals()
        # What may be called, by identity: objects that a file can only have got by naming them.
        self.calls = {id(value): value for value in self.trusted.values()} | {
            id(named.value): named.call for named in self.table.values() if named.call is not None
        }
        self.trusted_ids = {id(value) for value in self.trusted.values()}
        self.stack: list[Any] = []
        self.marked: list[list[object]] = []
        self.memo: dict[int, object] = {}
        self.work = WORK * len(data) + FREE_WORK
        self.outside = False  # whether code that is not of this reader runs: its errors are not the pickle's

    def load(self) -> Any:
        """The object."""
        operations, data = self.operations, self.data
        try:
            while self.at < len(data):
                code = data[self.at]
                self.at += 1
                if code == _STOP:
                    return self.stack.pop()
                operation = operations.get(code)
                if operation is None:
                    raise pickle.UnpicklingError(f"Unsupported operand {code}")
                operation(self)
        except (IndexError, KeyError, TypeError, UnicodeDecodeError) as error:
            # The stack is empty, nothing is stored under a number, a key has no hash, a string is no UTF-8.
            if self.outside:
                raise
            raise pickle.UnpicklingError(f"The pickle is malformed: {type(error).__name__}: {error!s:.200}") from None
        raise EOFError

    # -- reading --------------------------------------------------------------------------------------------------

    def read(self, count: int) -> bytes:
        start = self.at
        self.at = end = start + count
        if end > len(self.data):
            raise EOFError
        return self.data[start:end]

    def read_line(self) -> str:
        end = self.data.find(b"\n", self.at)
        if end < 0:
            raise EOFError
        line = self.data[self.at : end]
        self.at = end + 1
        return line.decode()

    def pop_mark(self) -> list[Any]:
        items = self.stack
        self.stack = self.marked.pop()
        return items

    def spend(self, amount: int) -> None:
        """Counts what a file makes this reader do beyond reading it: it could name the same long list again and again."""
        self.work -= amount
        if self.work < 0:
            _malformed("it copies the same things again and again")

    def key(self, key: object) -> Any:
        """A key of a dictionary or an element of a set. Tuples are hashed each time they are used, and recursively."""
        level = [key]
        for _ in range(DEEPEST_KEY):
            level = [item for part in level if type(part) in (tuple, torch.Size) for item in self.spent(part)]
            if not level:
                return key
        _malformed("a key is nested too deeply")

    def spent(self, items: Any) -> Any:
        self.spend(len(items) + 1)
        return items

    # -- what is called -------------------------------------------------------------------------------------------

    def find_class(self, module: str, name: str) -> Any:
        module, name = mapped(module, name)
        path = f"{module}.{name}"
        if module in BLOCKED_MODULES:
            raise pickle.UnpicklingError(f"Trying to load unsupported GLOBAL {path} whose module {module} is blocked.")
        found: Named | None = self.table.get(path)
        if found is not None:
            return found.value
        if path in self.trusted:
            return self.trusted[path]
        rebuild.refuse_absent(path)
        path = path.removeprefix("builtins.")
        raise pickle.UnpicklingError(
            f"Unsupported global: GLOBAL {path} was not an allowed global by default. "
            f"Please use `torch.serialization.add_safe_globals([{path}])` or the "
            f"`torch.serialization.safe_globals([{path}])` context manager to allowlist this global "
            "if you trust this class/function."
        )

    def call(self, function: Any, arguments: object, refusal: str) -> Any:
        """What a file gets that calls a function or makes an object."""
        target = self.calls.get(id(function))
        if target is None:
            raise pickle.UnpicklingError(f"{refusal} {_brief(function)}")
        if type(arguments) is not tuple:
            _malformed(f"arguments are a {type(arguments).__name__}")
        if target is function and self.is_trusted(function):
            return self.run(function, *arguments)
        for argument in arguments:
            if type(argument) in (str, bytes, list, tuple, dict):
                self.spend(len(argument))
            if type(argument) is list:
                for item in argument:
                    self.key(item[0] if type(item) in (list, tuple) and item and function is OrderedDict else item)
        if target is rebuild._rebuild_from_type_v2:
            return self.rebuild_from_type(*arguments)
        return target(*arguments)

    def run(self, function: Fn, *arguments: object) -> TypedStorage:
        """Calls what the caller trusts."""
        self.outside = True
        result = function(*arguments)
        self.outside = False
        return result

    def is_trusted(self, value: object) -> bool:
        return id(value) in self.trusted_ids

    def rebuild_from_type(self, *arguments: object) -> Any:
        """`rebuild._rebuild_from_type_v2`, of a function and a class that a file may name."""
        if len(arguments) == 4:
            maker, cls = arguments[:2]
            if not any(maker is function for function in rebuild.REBUILDERS.values()) and not self.is_trusted(maker):
                raise pickle.UnpicklingError(f"Trying to call reduce for unrecognized function {_brief(maker)}")
            if cls is not torch.Tensor and cls is not torch.nn.Parameter and not self.is_trusted(cls):
                raise pickle.UnpicklingError(f"tensors may not be made instances of {_brief(cls)}")
            if self.is_trusted(maker) or self.is_trusted(cls):
                return self.run(rebuild._rebuild_from_type_v2, *arguments)
        return rebuild._rebuild_from_type_v2(*arguments)

    # -- operations -----------------------------------------------------------------------------------------------

    def load_proto(self) -> None:
        protocol = self.read(1)[0]
        if protocol != 2:
            warned.warn(
              f"Detected pickle protocol {protocol} in the checkpoint, which was "
              "not the default pickle protocol used by `torch.load` (2). The weights_only "
              "Unpickler might not support all instructions implemented by this protocol, "
              "please file an issue for adding support if you encounter this.")

    def load_global(self) -> None:
        self.stack.append(self.find_class(self.read_line(), self.read_line()))

    def load_reduce(self) -> None:
        arguments = self.stack.pop()
        function = self.stack[-1]
        self.stack[-1] = self.call(function, arguments, "Trying to call reduce for unrecognized function")

    def load_newobj(self) -> None:
        arguments, cls = self.stack.pop(), self.stack.pop()
        refusal = "Can only create new object for nn.Parameter or classes allowlisted via `add_safe_globals` but got"
        if not isinstance(cls, type):
            raise pickle.UnpicklingError(f"{refusal} {_brief(cls)}")
        if self.is_trusted(cls) and type(arguments) is tuple:
            self.stack.append(self.run(cls.__new__, cls, *arguments))
        else:
            self.stack.append(self.call(cls, arguments, refusal))

    def load_build(self) -> None:
        state = self.stack.pop()
        instance = self.stack[-1]
        kind = type(instance)
        if self.is_trusted(kind):
            self.run(_build, instance, state)
        elif kind is OrderedDict:
            if type(state) is not dict or any(type(name) is not str or hasattr(OrderedDict, name) for name in state):
                raise pickle.UnpicklingError("the state of an OrderedDict may be a dictionary of attributes, not of its own")
            instance.__dict__.update(state)
        elif kind is torch.Tensor or kind is torch.nn.Parameter:
            # Files of torch before 0.4 make an empty tensor, and then say what it is.
            if type(state) is not tuple or len(state) != 4 or type(state[0]) is not TypedStorage or instance.requires_grad:
                raise pickle.UnpicklingError(f"a tensor may not be built of this {type(state).__name__}")
            instance.data = rebuild.REBUILDERS["_rebuild_tensor"](*state)
        else:
            raise pickle.UnpicklingError(
                "Can only build Tensor, Parameter, OrderedDict or types allowlisted "
                f"via `add_safe_globals`, but got {kind}"
            )

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
        self._mapping("SETITEM")[self.key(key)] = value

    def load_setitems(self) -> None:
        items = self.pop_mark()
        if len(items) % 2:
            _malformed("a key has no value")
        target = self._mapping("SETITEMS")
        for key, value in zip(items[::2], items[1::2]):
            target[key if type(key) is str else self.key(key)] = value

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
        if not saved or saved[0] not in ("storage", b"storage") or type(saved[0]) not in (str, bytes):
            raise pickle.UnpicklingError(
                f"Only persistent_load of storage is allowed, but got {type(saved[0]) if saved else saved}"
            )
        self.stack.append(self.run(self.load_storage, saved))

    def load_tuple(self, count: int) -> None:
        items = self.stack[-count:]
        if len(items) < count:
            raise IndexError("pop from empty list")
        self.stack[-count:] = [tuple(items)]

    def load_get(self, number: int) -> None:
        self.stack.append(self.memo[number])

    def load_put(self, number: int) -> None:
        self.memo[number] = self.stack[-1]

    def load_bytes(self) -> None:
        text = self.read(self.read(1)[0])
        self.stack.append(text if self.encoding == "bytes" else text.decode(self.encoding))

    def load_mark(self) -> None:
        self.marked.append(self.stack)
        self.stack = []

    def push(self, value: object) -> None:
        self.stack.append(value)


_STOP = pickle.STOP[0]
WeightsUnpickler.operations = {
    operation[0]: function
    for operation, function in {
        pickle.PROTO: WeightsUnpickler.load_proto,
        pickle.GLOBAL: WeightsUnpickler.load_global,
        pickle.REDUCE: WeightsUnpickler.load_reduce,
        pickle.NEWOBJ: WeightsUnpickler.load_newobj,
        pickle.BUILD: WeightsUnpickler.load_build,
        pickle.APPEND: WeightsUnpickler.load_append,
        pickle.APPENDS: WeightsUnpickler.load_appends,
        pickle.SETITEM: WeightsUnpickler.load_setitem,
        pickle.SETITEMS: WeightsUnpickler.load_setitems,
        pickle.BINPERSID: WeightsUnpickler.load_binpersid,
        pickle.SHORT_BINSTRING: WeightsUnpickler.load_bytes,
        pickle.MARK: WeightsUnpickler.load_mark,
        pickle.TUPLE: lambda self: self.push(tuple(self.pop_mark())),
        pickle.TUPLE1: lambda self: self.load_tuple(1),
        pickle.TUPLE2: lambda self: self.load_tuple(2),
        pickle.TUPLE3: lambda self: self.load_tuple(3),
        pickle.EMPTY_TUPLE: lambda self: self.push(()),
        pickle.EMPTY_LIST: lambda self: self.push([]),
        pickle.EMPTY_DICT: lambda self: self.push({}),
        pickle.EMPTY_SET: lambda self: self.push(set()),
        pickle.NONE: lambda self: self.push(None),
        pickle.NEWFALSE: lambda self: self.push(False),
        pickle.NEWTRUE: lambda self: self.push(True),
        pickle.BININT: lambda self: self.push(_INT.unpack(self.read(4))[0]),
        pickle.BININT1: lambda self: self.push(self.read(1)[0]),
        pickle.BININT2: lambda self: self.push(_SHORT.unpack(self.read(2))[0]),
        pickle.BINFLOAT: lambda self: self.push(_FLOAT.unpack(self.read(8))[0]),
        pickle.LONG1: lambda self: self.push(pickle.decode_long(self.read(self.read(1)[0]))),
        pickle.BINUNICODE: lambda self: self.push(str(self.read(_LONG.unpack(self.read(4))[0]), "utf-8", "surrogatepass")),
        pickle.BINGET: lambda self: self.load_get(self.read(1)[0]),
        pickle.LONG_BINGET: lambda self: self.load_get(_LONG.unpack(self.read(4))[0]),
        pickle.BINPUT: lambda self: self.load_put(self.read(1)[0]),
        pickle.LONG_BINPUT: lambda self: self.load_put(_LONG.unpack(self.read(4))[0]),
    }.items()
}
"""What each operation does, by its code. All others are unsupported."""


def _build(instance: Any, state: Any) -> None:
    """Gives an object of a trusted class its state, as `pickle` does; for tensors of such classes, what is a tensor's own stays so."""
    setstate = getattr(type(instance), "__setstate__", None)
    if setstate is not None and setstate is not torch.Tensor.__setstate__:
        instance.__setstate__(state)
    elif isinstance(instance, torch.Tensor):
        rebuild.set_state(instance, state)
    else:
        slots = None
        if isinstance(state, tuple) and len(state) == 2:
            state, slots = state
        instance.__dict__.update(state or {})
        for name, value in (slots or {}).items():
            setattr(instance, name, value)


def _brief(value: object) -> str:
    """An object in a message: text of a file can be endless."""
    if isinstance(value, (type, torch.dtype)) or hasattr(value, "__qualname__"):
        return str(value)
    return f"an object of {type(value)}"


shown_in("torchcompat.serialization", add_safe_globals, clear_safe_globals, get_safe_globals)
