"""How objects are written: pickles that name torch's classes and functions, storages in them by persistent ids."""

from __future__ import annotations

import functools
import pickle
import types
from collections import OrderedDict
from typing import TYPE_CHECKING, Any, IO

from autograd_tape import warned
from autograd_tape.annotations import Arguments, Fn
from autograd_tape.dtypes import Device, DType
from autograd_tape.strided import address as address_of
import torchcompat as torch

from .._memory.layout import layout, memory_format, strided
from ..storage import TypedStorage, UntypedStorage
from .places import location_tag
from .rebuild import (
    STORAGE_TYPES,
    UNTYPED,
    StorageType,
    _get_layout,
    _rebuild_from_type_v2,
    _rebuild_meta_tensor_no_storage,
    _rebuild_parameter,
    _rebuild_parameter_with_state,
    _rebuild_nested_tensor,
    _rebuild_sparse_tensor,
    _rebuild_tensor_v2,
    _rebuild_tensor_v3,
    table,
)

if TYPE_CHECKING:
    from torchcompat._tensor import Tensor


def _storage_of(tensor: Tensor) -> tuple[TypedStorage | UntypedStorage, int]:
    """The storage of a tensor and the tensor's place in it, in elements; untyped for dtypes without a storage class."""
    array, dtype = tensor._data, tensor.dtype
    storage = UntypedStorage.of(array, tensor.device)
    offset = (address_of(array) - storage.data_ptr()) // dtype.itemsize if array.size else 0
    return (TypedStorage.of(storage, dtype) if dtype in STORAGE_TYPES else storage), offset


@functools.cache
def _paths() -> dict[int, tuple[str, str]]:
    """Torch's module and name of ours, by identity."""
    return {id(named.value): tuple(path.rsplit(".", 1)) for path, named in table().items() if path.startswith("torch.")}  # type: ignore[misc]


def _standard_dispatch() -> dict[type, Fn]:
    """The standard pickler's table of types as it is made: dill, which MindSpore imports, changes it for the whole process."""
    own: Any = pickle._Pickler
    table = {kind: function for kind, function in own.dispatch.items() if function.__module__ == pickle.__name__}
    return table | {type: own.save_type, dict: own.save_dict}


@functools.cache
def pickler_class(module: types.ModuleType) -> type:
    # The C pickler refuses to write the name of a class that it cannot import; the Python one can be taught to.
    base: Any = module.Pickler
    if not issubclass(base, pickle._Pickler):
        base = getattr(module, "_Pickler", None)
    if base is None:
        raise TypeError(f"pickle_module must have a pickler written in Python, but {module.__name__} has none")

    class Pickler(base):
        def __init__(self, file: IO[bytes], protocol: int, legacy: bool = False) -> None:
            super().__init__(file, protocol=protocol)
            self.legacy = legacy
            self.storages: dict[str, tuple[UntypedStorage, DType]] = {}
            self.keys: dict[tuple[int, int], str] = {}
            self.dtypes: dict[int, DType] = {}
            self.modules: set[type] = set()

        def persistent_id(self, obj: object) -> Arguments | None:
            if type(obj) is TypedStorage:
                storage, kind = obj.untyped(), STORAGE_TYPES[obj.dtype]
            elif type(obj) is UntypedStorage:
                storage, kind = obj, UNTYPED
            elif self.legacy and isinstance(obj, type) and issubclass(obj, torch.nn.Module) and obj not in self.modules:
                self.modules.add(obj)
                return ("module", obj, *_source(obj))
            else:
                return None
            address, nbytes = storage.data_ptr(), storage.nbytes()
            if nbytes and self.dtypes.setdefault(address, kind.dtype) is not kind.dtype:
                raise RuntimeError(
                    "Cannot save multiple tensors or storages that view the same data as different types"
                )
            key = self.keys.setdefault((address, nbytes) if nbytes else (id(storage._owner), 0), str(len(self.keys)))
            self.storages.setdefault(key, (storage, kind.dtype))
            saved = ("storage", kind, key, location_tag(storage), nbytes // kind.dtype.itemsize)
            return (*saved, None) if self.legacy else saved

        def reducer_override(self, obj: object) -> Any:
            if isinstance(obj, torch.Tensor):
                return _reduce_tensor(obj) if type(obj).__reduce_ex__ in _OWN_REDUCTIONS else NotImplemented
            if isinstance(obj, tuple) and type(obj).__module__ in ("torchcompat.return_types", "torch.return_types"):
                return type(obj), (tuple(obj), {})
            if isinstance(obj, (memory_format, torch.finfo, torch.iinfo)):
                raise TypeError(f"cannot pickle 'torch.{type(obj).__name__}' object")
            if isinstance(obj, (DType, StorageType)):
                return obj.name
            if isinstance(obj, torch.Size):
                return torch.Size, (tuple(obj),)
            if isinstance(obj, layout):
                return _get_layout, (repr(obj),)
            if isinstance(obj, Device):
                return Device, (obj.type,) if obj.index is None else (obj.type, obj.index)
            return NotImplemented

        def save_global(self, obj: type | StorageType | Fn, name: str | None = None) -> None:
            path = torch_path(obj)
            if path is None:
                known = str(name or getattr(obj, "__qualname__", ""))
                if base is pickle._Pickler and "<locals>" in known:  # where Python's own, in C, has another error
                    raise AttributeError(f"Can't pickle local object {known!r}")
                try:
                    super().save_global(obj, name)
                except pickle.PicklingError as error:
                    found, told, place = str(error).partition("it's not found as ")
                    if base is not pickle._Pickler or not told:
                        raise
                    home = place.removesuffix(f".{known}")
                    raise pickle.PicklingError(f"{found}attribute lookup {known} on {home} failed") from None
                return
            module, name = path
            if self.proto >= 4:
                self.save(module)
                self.save(name)
                self.write(pickle.STACK_GLOBAL)
            else:
                self.write(pickle.GLOBAL + f"{module}\n{name}\n".encode())
            self.memoize(obj)

        dispatch = {**(_standard_dispatch() if base is pickle._Pickler else base.dispatch), types.FunctionType: save_global}

    return Pickler


def torch_path(obj: type | StorageType | Fn) -> tuple[str, str] | None:
    """The name torch has for a class or function of ours; None for everybody else's."""
    if found := _paths().get(id(obj)):
        return found
    module = getattr(obj, "__module__", None) or ""
    if isinstance(obj, (type, types.FunctionType)) and is_own(obj):
        return "torch" + module.removeprefix("torchcompat").removeprefix("torch"), obj.__qualname__
    return None


_OWN_REDUCTIONS = (torch.Tensor.__reduce_ex__, torch.nn.Parameter.__reduce_ex__)


def _reduce_tensor(tensor: Tensor) -> tuple[Fn, Arguments]:
    cls = type(tensor)
    state = getattr(tensor, "__dict__", None) or None
    if cls is torch.nn.Parameter:
        parts: Arguments = (tensor.detach(), tensor.requires_grad, OrderedDict())
        if state:
            return _rebuild_parameter_with_state, (*parts, state)
        return _rebuild_parameter, parts
    function, arguments = _reduce_data(tensor)
    if cls is torch.Tensor and not state:
        return function, arguments
    return _rebuild_from_type_v2, (function, cls, arguments, state or {})


def _reduce_data(tensor: Tensor) -> tuple[Fn, Arguments]:
    if tensor.layout is not strided:
        from ..sparse._methods import saved_parts

        return _rebuild_sparse_tensor, saved_parts(tensor)
    if tensor.is_nested:
        return _rebuild_nested_tensor, tensor.detach().__reduce_ex__(2)[1]
    size, stride = tuple(tensor.shape), tuple(tensor.stride())
    if tensor.device.type == "meta":
        return _rebuild_meta_tensor_no_storage, (tensor.dtype, size, stride, tensor.requires_grad)
    storage, offset = _storage_of(tensor)
    arguments: Arguments = (storage, offset, size, stride, tensor.requires_grad, OrderedDict())
    metadata = {name: True for name in ("conj", "neg") if getattr(tensor, "is_" + name)()}
    if isinstance(storage, UntypedStorage):
        return _rebuild_tensor_v3, (*arguments, tensor.dtype, *([metadata] if metadata else []))
    return _rebuild_tensor_v2, (*arguments, *([metadata] if metadata else []))


def source_of(cls: type) -> tuple[str, str] | None:
    """The file and source of a class; None, with a warning, where there is none."""
    import inspect

    try:
        return inspect.getsourcefile(cls) or "", inspect.getsource(cls)
    except (OSError, TypeError):
        warned.warn(f"Couldn't retrieve source code for container of type {cls.__name__}. It won't be checked for correctness upon "
                    "loading.")
        return None


def _source(cls: type) -> tuple[str | None, str | None]:
    """What old files say of a module's source: of torch's classes nothing, whose sources are others in every torch."""
    return (None, None) if is_own(cls) else source_of(cls) or (None, None)


def is_own(obj: object) -> bool:
    """Whether a class or function is of this package."""
    return (getattr(obj, "__module__", None) or "").partition(".")[0] in ("torchcompat", "torch")
