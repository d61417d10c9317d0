"""What a ``.pt`` file may name: a closed table, in which every name has one function that looks at its arguments first.

The functions that make tensors are used by every way of loading; the rest of the table is what a file may do without being trusted.
Whatever a file passes that is not exactly what its writer would have written is a `pickle.UnpicklingError`; what does not fit the bytes
that were read is a RuntimeError, as in torch.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import pickle
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, NamedTuple


from autograd_tape.annotations import Fn
import torchcompat as torch
from autograd_tape.dtypes import META, Device, DType, kind, uint8
from autograd_tape.executors.meta import meta_array

from .._tensor import frontend
from .._calls.shown import shown_in
from .._memory.bits import marked
from .._memory.layout import layout, sparse_coo, strided
from ..storage import CLASSES, TypedStorage, check_geometry, view_of

if TYPE_CHECKING:
    from torchcompat._tensor import Tensor

Sizes = tuple[int, ...]
Check = Callable[[Any], bool]

STORAGE_NAMES = {dtype.name: cls.__name__ for dtype, cls in CLASSES.items() if dtype.group != "quantized"}


class StorageType:
    """The class of a storage as the pickle names it, and its dtype. KeyError for a name that is none."""

    def __init__(self, name: str, dtype: DType | None = None) -> None:
        self.name, self.dtype = name, _DTYPES[name] if dtype is None else dtype

    def __str__(self) -> str:
        return f"StorageType(dtype={self.dtype})"


_DTYPES = {cls.__name__: dtype for dtype, cls in CLASSES.items()}
shown_in("torchcompat.serialization", StorageType)


UNTYPED = StorageType("UntypedStorage", uint8)
STORAGE_TYPES = {DType.by_name[dtype]: StorageType(name, DType.by_name[dtype]) for dtype, name in STORAGE_NAMES.items()}


# -- arguments -----------------------------------------------------------------------------------------------------


def _exactly(*types: type) -> Check:
    return lambda value: type(value) in types


def _anything(value: object) -> bool:
    """For what the function itself looks at."""
    return True


def _ints(value: Any) -> bool:
    return type(value) in (tuple, list, torch.Size) and all([type(n) is int for n in value])


def _any_dtype(value: object) -> bool:
    """Of untyped memory. Bools are not: what is no storage of bools can hold bytes that are neither 0 nor 1."""
    return type(value) is DType and value is not torch.bool


def _hooks(value: object) -> bool:
    """Hooks were written by torch before 1.0 only; since then there is an empty dictionary in their place."""
    return value is None or type(value) in (dict, OrderedDict) and not value


def _metadata(value: object) -> bool:
    return value is None or type(value) is dict and all(name in ("conj", "neg") and type(on) is bool for name, on in value.items())


def _tensor(value: object) -> bool:
    return isinstance(value, torch.Tensor)


def _tensor_class(value: object) -> bool:
    return isinstance(value, type) and issubclass(value, torch.Tensor)


def checked(**checks: Check) -> Callable[[Fn], Fn]:
    """Makes a function of positional arguments refuse what a check, one for each parameter in order, says no to."""

    def decorate(function: Fn) -> Fn:
        named = tuple(checks.items())
        least = sum(p.default is p.empty for p in inspect.signature(function).parameters.values())

        @functools.wraps(function)
        def call(*arguments: object) -> Tensor:
            if not least <= len(arguments) <= len(named):
                raise pickle.UnpicklingError(f"{function.__name__}() does not take {len(arguments)} arguments")
            for (name, check), value in zip(named, arguments):
                if not check(value):
                    raise pickle.UnpicklingError(f"{function.__name__}(): argument '{name}' may not be this {type(value).__name__}")
            return function(*arguments)

        return call

    return decorate


_REBUILD = dict(storage=_exactly(TypedStorage), offset=_exactly(int), size=_ints, stride=_ints)


# -- tensors -------------------------------------------------------------------------------------------------------


def _require(tensor: Tensor, requires_grad: bool) -> Tensor:
    if type(requires_grad) is not bool:
        raise RuntimeError("requires_grad must be a bool")
    if requires_grad:
        tensor.requires_grad = True
    return tensor


@checked(**_REBUILD)
def _rebuild_tensor(storage: TypedStorage, offset: int, size: Sizes, stride: Sizes) -> Tensor:
    return _made(storage, storage.dtype, offset, size, stride, False, None)


@checked(**_REBUILD, requires_grad=_anything, hooks=_hooks, metadata=_metadata)
def _rebuild_tensor_v2(
    storage: TypedStorage, offset: int, size: Sizes, stride: Sizes, requires_grad: bool, hooks: OrderedDict | None,
    metadata: dict[str, bool] | None = None,
) -> Tensor:  # fmt: skip
    return _made(storage, storage.dtype, offset, size, stride, requires_grad, metadata)


@checked(**_REBUILD, requires_grad=_anything, hooks=_hooks, dtype=_any_dtype, metadata=_metadata)
def _rebuild_tensor_v3(
    storage: TypedStorage, offset: int, size: Sizes, stride: Sizes, requires_grad: bool, hooks: object, dtype: DType,
    metadata: dict[str, bool] | None = None,
) -> Tensor:  # fmt: skip
    return _made(storage, dtype, offset, size, stride, requires_grad, metadata)


def _made(storage: TypedStorage, dtype: DType, offset: int, size: Sizes, stride: Sizes, requires_grad: bool,
          metadata: dict[str, bool] | None) -> Any:
    memory = storage.untyped()
    if memory.device.type == "meta":
        check_geometry(dtype, offset, size, stride, memory.nbytes())
        tensor: Any = _meta(dtype, size, stride)
    else:
        tensor = torch.Tensor.over(view_of(memory, dtype, offset, size, stride))
    _require(tensor, requires_grad)
    if not metadata or not any(metadata.values()):
        return tensor
    conj, neg = metadata.get("conj", False), metadata.get("neg", False)
    if conj and not dtype.is_complex:
        raise RuntimeError(f"only complex tensors can be conjugate views, but this one is of {dtype}")
    if neg and dtype is torch.bool:
        raise RuntimeError("a tensor of bools cannot be a negative view")
    return marked(tensor, conj, neg)


def _meta(dtype: DType, size: Sizes, stride: Sizes) -> Tensor:
    steps = tuple(n * dtype.itemsize for n in stride)
    try:
        return frontend.wrap(meta_array(tuple(size), dtype.np, steps), kind(dtype, META))
    except ValueError as error:  # more dimensions than NumPy has, or more bytes than there are addresses
        raise RuntimeError(f"sizes {list(size)} cannot be had: {error}") from None


@checked(dtype=_exactly(DType), size=_ints, stride=_ints, requires_grad=_anything)
def _rebuild_meta_tensor_no_storage(dtype: DType, size: Sizes, stride: Sizes, requires_grad: bool) -> Any:
    check_geometry(dtype, 0, size, stride, None)
    return _require(_meta(dtype, size, stride), requires_grad)


def _strided(value: Any) -> bool:
    """A tensor in memory."""
    return _tensor(value) and not value.is_nested and value.layout is strided and value.device.type == "cpu"


def _sparse_parts(value: Any) -> bool:
    """Tensors, the sizes, and of coordinates whether they are in order."""
    if type(value) is not tuple or len(value) not in (3, 4) or type(value[-1]) is bool and len(value) != 4:
        return False
    flags = value[3:] if type(value[-1]) is bool else ()
    tensors, size = value[:len(value) - 1 - len(flags)], value[len(value) - 1 - len(flags)]
    return all([_tensor(t) and t.layout is strided for t in tensors]) and _ints(size) and all([n >= 0 for n in size])


@checked(layout=_exactly(layout), data=_sparse_parts)
def _rebuild_sparse_tensor(layout: Any, data: tuple[Any, ...]) -> Any:
    later = _later.get()
    if later is not None:
        later.append((layout, data))
    return _sparse(layout, data, later is None)


@checked(buffer=_strided, sizes=_strided, strides=_strided, storage_offsets=_strided)
def _rebuild_nested_tensor(buffer: Tensor, sizes: Tensor, strides: Tensor, storage_offsets: Tensor) -> Any:
    """The nested tensor whose parts lie in a row of elements; who makes it looks whether they do."""
    return torch._nested_view_from_buffer(buffer, sizes, strides, storage_offsets)


def _sparse(layout: Any, data: tuple[Any, ...], check: bool) -> Any:
    from ..sparse import _coo, _compressed

    if layout is sparse_coo:
        indices, values, size, *flags = data
        return _coo.sparse_coo_tensor(indices, values, tuple(size), check_invariants=check, is_coalesced=bool(flags and flags[0]))
    compressed, plain, values, size = data
    return _compressed.sparse_compressed_tensor(compressed, plain, values, tuple(size), layout=layout, check_invariants=check)


_later: ContextVar[list[tuple[Any, tuple[Any, ...]]] | None] = ContextVar("later", default=None)


@contextmanager
def sparse_checked_at_end() -> Iterator[None]:
    """In a ``with`` block the indices of sparse tensors are looked at when it ends: what it reads they come after."""
    made: list[tuple[Any, tuple[Any, ...]]] = []
    token = _later.set(made)
    try:
        yield
    finally:
        _later.reset(token)
    for kind_of, data in made:
        _sparse(kind_of, data, True)


@checked(data=_tensor, requires_grad=_exactly(bool), hooks=_hooks)
def _rebuild_parameter(data: Tensor, requires_grad: bool, hooks: OrderedDict) -> Tensor:
    if requires_grad and not (data.is_floating_point() or data.is_complex()):
        raise RuntimeError("Only Tensors of floating point and complex dtype can require gradients")
    return torch.nn.Parameter(data, requires_grad)


@checked(data=_tensor, requires_grad=_exactly(bool), hooks=_hooks, state=_anything)
def _rebuild_parameter_with_state(data: object, requires_grad: bool, hooks: object, state: object) -> Any:
    return set_state(_rebuild_parameter(data, requires_grad, hooks), state)


@checked(rebuild=callable, cls=_tensor_class, arguments=_exactly(tuple), state=_anything)
def _rebuild_from_type_v2(rebuild: Fn, cls: Any, arguments: tuple[object, ...], state: object) -> Any:
    tensor = rebuild(*arguments)
    if not isinstance(tensor, torch.Tensor):
        raise pickle.UnpicklingError(f"a tensor is to be rebuilt, but this gives a {type(tensor).__name__}")
    if type(tensor) is not cls:
        tensor = tensor.as_subclass(cls)
    if cls.__setstate__ is not torch.Tensor.__setstate__:
        tensor.__setstate__(state)
        return tensor
    return set_state(tensor, state)


_MARKS = {"_is_param": bool, "_is_buffer": bool, "persistent": bool}
"""What `Parameter` and `Buffer` write on tensors of other classes, and so may a file."""


def set_state(tensor: object, state: object) -> Any:
    """Gives a tensor the attributes that a file has for it: names of the caller's and of his classes, none that a tensor itself has.

    Raises:
        pickle.UnpicklingError: the state is no dictionary of such names, or a pair of them; the tensor has not been changed.
    """
    parts = state if type(state) is tuple else (state, None)
    if len(parts) != 2:
        raise pickle.UnpicklingError(f"Invalid serialized state: a tuple of {len(parts)}")
    for part in parts:
        if part is None:
            continue
        if type(part) not in (dict, OrderedDict):
            raise pickle.UnpicklingError(f"the attributes of a tensor may not be a {type(part).__name__}")
        for name, value in part.items():
            if type(name) is not str or (type(value) is not _MARKS[name] if name in _MARKS else _is_own(name)):
                raise pickle.UnpicklingError(f"the attribute {name!r:.80} of a tensor may not be set by a file")
    for part in parts:
        for name, value in (part or {}).items():
            try:
                setattr(tensor, name, value)
            except AttributeError as error:  # of a class of the caller's that has no place for it
                raise pickle.UnpicklingError(str(error)) from None
    return tensor


def _is_own(name: str) -> bool:
    return name.startswith("__") or hasattr(torch.Tensor, name) or hasattr(torch.nn.Parameter, name)


# -- everything else -----------------------------------------------------------------------------------------------


@checked(name=_exactly(str))
def _get_layout(name: str) -> Any:
    found = _LAYOUTS.get(name)
    if found is None:
        raise pickle.UnpicklingError(f"there is no layout {name!r:.80}")
    return found


_LAYOUTS = {repr(value): value for (group, _), value in layout.all.items() if group == "layout"}


@checked(type=_exactly(str), index=_exactly(int))
def _device(type: str, index: int | None = None) -> Device:
    return Device(type) if index is None else Device(type, index)


@checked(sizes=lambda sizes: type(sizes) in (tuple, list) and _ints(sizes))
def _size(sizes: Sizes) -> Any:
    return torch.Size(sizes)


@checked(pairs=lambda pairs: type(pairs) is list and all(type(pair) in (tuple, list) and len(pair) == 2 for pair in pairs))
def _ordered_dict(pairs: Any = ()) -> OrderedDict:
    return OrderedDict(pairs)


@checked(counts=_exactly(dict))
def _counter(counts: Any = None) -> Any:
    return Counter(counts)


@checked(items=_exactly(list))
def _set(items: Any = ()) -> Any:
    return set(items)


@checked(real=_exactly(float, int), imag=_exactly(float, int))
def _complex(real: float, imag: float) -> complex:
    try:
        return complex(real, imag)
    except OverflowError as error:
        raise pickle.UnpicklingError(str(error)) from None


_ENCODINGS = ("latin1", "latin-1", "ascii", "utf-8", "utf8")  # others would be looked for among the modules of the system


@checked(text=_exactly(str), encoding=lambda name: type(name) is str and name in _ENCODINGS)
def _encode(text: str, encoding: str = "utf-8") -> bytes:
    try:
        return text.encode(encoding)
    except UnicodeEncodeError as error:
        raise pickle.UnpicklingError(str(error)) from None


@checked(source=_exactly(str, bytes), encoding=lambda name: type(name) is str and name in _ENCODINGS)
def _bytearray(source: str | bytes = b"", encoding: str | None = None) -> bytearray:
    if isinstance(source, str) is (encoding is None):
        raise pickle.UnpicklingError("bytearray() takes bytes, or a string with its encoding")
    return bytearray(_encode(source, encoding) if isinstance(source, str) else source)


@checked()
def _empty_tensor() -> Tensor:
    return torch.Tensor()


@checked(data=lambda data: data is None or _tensor(data), requires_grad=_exactly(bool))
def _parameter(data: object = None, requires_grad: bool = True) -> Any:
    return _rebuild_parameter(torch.Tensor() if data is None else data, requires_grad, None)


class Named(NamedTuple):
    """What a name stands for, and what a file may do with it.

    value: the object, as data.
    call: what is called in its place, with arguments that it checks; None where nothing is.
    """

    value: Any
    call: Fn | None = None


REBUILDERS = {
    f.__name__: f
    for f in (
        _rebuild_tensor, _rebuild_tensor_v2, _rebuild_tensor_v3, _rebuild_parameter, _rebuild_parameter_with_state,
        _rebuild_meta_tensor_no_storage, _rebuild_sparse_tensor, _rebuild_nested_tensor,
    )
}  # fmt: skip

def rebuilder(name: str) -> Fn:
    """The function that files name so."""
    found: Fn = globals()[name]
    return found


ABSENT = {
    "torch._utils._rebuild_qtensor": "quantized tensors",
    "torch._utils._rebuild_wrapper_subclass": "tensors without memory",
    "torch._utils._rebuild_device_tensor_from_numpy": "tensors of other devices",
    "torch._utils._rebuild_device_tensor_from_cpu_tensor": "tensors of other devices",
} | {f"torch.{name}Storage": "quantized tensors" for name in ("QInt8", "QUInt8", "QInt32", "QUInt4x2", "QUInt2x4")}  # fmt: skip
"""What torch can load, and this package does not have, by the name that files have for it."""


def refuse_absent(path: str) -> None:
    """Raises `pickle.UnpicklingError` for what torch has and this package has not."""
    if path in ABSENT:
        raise pickle.UnpicklingError(f"torchcompat has no {ABSENT[path]}, which the file needs (GLOBAL {path})")


def torchs(module: str, name: str) -> Any:
    """What a name of torch's stands for in a file that may name anything.

    Raises:
        pickle.UnpicklingError, ImportError, AttributeError: nothing.
    """
    if module == "torch.return_types" and not name.startswith("_"):
        return functools.partial(_made_of, getattr(importlib.import_module("torchcompat.return_types"), name))
    if name == "_VariableFunctionsClass":
        return importlib.import_module("torchcompat")  # whose attributes are pickled
    module = {"torch._C._nn": "torch.nn.functional"}.get(module, module)
    if (found := table().get(f"{module}.{name}")) is not None:
        return found.value
    refuse_absent(f"{module}.{name}")
    return functools.reduce(getattr, name.split("."), importlib.import_module("torchcompat" + module.removeprefix("torch")))


def _made_of(kind: Any, values: Any, state: object = None) -> Any:
    """The named results of an operation, of the tuple that files have of them."""
    return kind(values)


@functools.cache
def table() -> dict[str, Named]:
    """What files may name, by torch's full path."""
    from _codecs import encode

    found = {
        "torch.nn.parameter.Parameter": Named(torch.nn.Parameter, _parameter),
        "torch.Size": Named(torch.Size, _size),
        "torch.Tensor": Named(torch.Tensor, _empty_tensor),
        "torch.device": Named(Device, _device),
        "torch.serialization._get_layout": Named(_get_layout, _get_layout),
        "torch._tensor._rebuild_from_type_v2": Named(_rebuild_from_type_v2, _rebuild_from_type_v2),
        "torch.storage.UntypedStorage": Named(UNTYPED),
        "collections.OrderedDict": Named(OrderedDict, _ordered_dict),
        "collections.Counter": Named(Counter, _counter),
        "_codecs.encode": Named(encode, _encode),
        "builtins.bytearray": Named(bytearray, _bytearray),
        "builtins.set": Named(set, _set),
        "builtins.complex": Named(complex, _complex),
    }
    found |= {f"torch._utils.{name}": Named(function, function) for name, function in REBUILDERS.items()}
    found |= {f"torch.{device}{kind.name}": Named(kind) for kind in STORAGE_TYPES.values() for device in ("cuda.", "")}
    found |= {f"torch.{name}": Named(dtype) for name, dtype in DType.by_name.items()}
    return found
