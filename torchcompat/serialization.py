"""`save` and `load`: torch's own ``.pt`` files, written and read without torch.

A file is a ZIP archive, uncompressed, its records aligned to 64 bytes: ``data.pkl`` is a pickle of the object in which each
storage is a persistent id, ``data/<key>`` are the bytes of the storages, ``byteorder`` and ``version`` say how to read them.
The pickle names torch's classes and functions; the table `_GLOBALS` says which of ours they are.
"""

from __future__ import annotations

import functools
import hashlib
import importlib
import io
import math
import os
import pickle
import struct
import sys
import types
import warnings
import zipfile
import zlib
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import IO, Any, Self, cast

import numpy as np
import numpy.typing as npt

import torchcompat as torch

from autograd_tape.ops._strided import address as address_of
from autograd_tape.dtypes import Device, DType, uint8

from .bits import marked
from ._weights_only import (
    WeightsUnpickler,
    add_safe_globals,
    clear_safe_globals,
    get_safe_globals,
    safe_globals,
)
from .storage import TypedStorage, UntypedStorage

__all__ = ["add_safe_globals", "clear_safe_globals", "get_safe_globals", "load", "safe_globals", "save"]

Array = npt.NDArray[Any]
Sizes = tuple[int, ...]
FileLike = str | os.PathLike[str] | IO[bytes]
Move = Callable[[UntypedStorage, str], UntypedStorage]
MapLocation = Callable[[UntypedStorage, str], UntypedStorage | None] | Device | str | dict[str, str] | None

DEFAULT_PROTOCOL = 2
ALIGNMENT = 64
STORAGE_NAMES = {
    "float64": "DoubleStorage", "float32": "FloatStorage", "float16": "HalfStorage", "bfloat16": "BFloat16Storage",
    "int64": "LongStorage", "int32": "IntStorage", "int16": "ShortStorage", "int8": "CharStorage", "uint8": "ByteStorage",
    "bool": "BoolStorage", "complex64": "ComplexFloatStorage", "complex128": "ComplexDoubleStorage",
}  # fmt: skip
UNSAFE_MESSAGE = (
    "In PyTorch 2.6, we changed the default value of the `weights_only` argument in `torch.load` "
    "from `False` to `True`. Re-running `torch.load` with `weights_only` set to `False` will likely succeed, "
    "but it can result in arbitrary code execution. Do it only if you got the file from a "
    "trusted source."
)


# -- storages ------------------------------------------------------------------------------------------------------


class _StorageType:
    """The class of a storage as the pickle names it, and its dtype."""

    def __init__(self, name: str, dtype: DType) -> None:
        self.name, self.dtype = name, dtype


UNTYPED = _StorageType("UntypedStorage", uint8)
_STORAGE_TYPES = {DType.by_name[dtype]: _StorageType(name, DType.by_name[dtype]) for dtype, name in STORAGE_NAMES.items()}


def _storage_of(tensor: Any) -> tuple[TypedStorage | UntypedStorage, int]:
    """The storage of a tensor and the tensor's place in it, in elements; untyped for dtypes without a storage class."""
    array, dtype = tensor._data, tensor.dtype
    storage = UntypedStorage.of(array, tensor.device)
    offset = (address_of(array) - storage.data_ptr()) // dtype.itemsize if array.size else 0
    return (TypedStorage(storage, dtype) if dtype in _STORAGE_TYPES else storage), offset


# -- what the pickle calls -----------------------------------------------------------------------------------------


def _rebuild_tensor(storage: TypedStorage, offset: int, size: Sizes, stride: Sizes) -> Any:
    return _rebuild_tensor_v3(storage, offset, size, stride, False, None, storage.dtype)


def _rebuild_tensor_v2(
    storage: TypedStorage,
    offset: int,
    size: Sizes,
    stride: Sizes,
    requires_grad: bool,
    hooks: Any,
    metadata: dict[str, bool] | None = None,
) -> Any:
    return _rebuild_tensor_v3(storage, offset, size, stride, requires_grad, hooks, storage.dtype, metadata)


def _rebuild_tensor_v3(
    storage: TypedStorage,
    offset: int,
    size: Sizes,
    stride: Sizes,
    requires_grad: bool,
    hooks: Any,
    dtype: DType,
    metadata: dict[str, bool] | None = None,
) -> Any:
    if storage.device.type == "meta":
        return _rebuild_meta_tensor_no_storage(dtype, size, stride, requires_grad)
    step = dtype.itemsize
    if math.prod(size):
        memory = storage.untyped()._owner
        array: np.ndarray = np.ndarray(tuple(size), dtype.np, memory, offset * step, tuple(n * step for n in stride))
    else:
        array = np.empty(tuple(size), dtype.np)
    tensor = torch.Tensor.of(array, requires_grad=requires_grad)
    return marked(tensor, metadata.get("conj", False), metadata.get("neg", False)) if metadata else tensor


def _rebuild_parameter(data: Any, requires_grad: bool, hooks: Any) -> Any:
    return torch.nn.Parameter(data, requires_grad)


def _rebuild_parameter_with_state(data: Any, requires_grad: bool, hooks: Any, state: Any) -> Any:
    parameter = torch.nn.Parameter(data, requires_grad)
    parameter.__dict__.update(state[0] if isinstance(state, tuple) else state)
    return parameter


def _rebuild_meta_tensor_no_storage(
    dtype: DType, size: Sizes, stride: Sizes, requires_grad: bool
) -> Any:
    return torch.empty_strided(size, stride, dtype=dtype, device="meta", requires_grad=requires_grad)


def _rebuild_from_type_v2(rebuild: Callable[..., Any], cls: type, arguments: tuple[Any, ...], state: Any) -> Any:
    tensor = rebuild(*arguments)
    if type(tensor) is not cls:
        tensor = tensor.as_subclass(cls)
    attributes, slots = state if isinstance(state, tuple) else (state, None)
    tensor.__dict__.update(attributes or {})
    for name, value in (slots or {}).items():
        setattr(tensor, name, value)
    return tensor


def _size(sizes: tuple[int, ...]) -> Any:
    return torch.Size(sizes)


def _get_layout(name: str) -> Any:
    return getattr(torch, name.removeprefix("torch."))


_REBUILD = {
    f.__name__: f
    for f in (
        _rebuild_tensor, _rebuild_tensor_v2, _rebuild_tensor_v3, _rebuild_parameter, _rebuild_parameter_with_state,
        _rebuild_meta_tensor_no_storage,
    )
}  # fmt: skip


@functools.cache
def _globals() -> dict[str, Any]:
    """Ours by torch's full path: what a file may name under ``weights_only=True``."""
    from _codecs import encode

    table: dict[str, Any] = {
        "torch.nn.parameter.Parameter": torch.nn.Parameter,
        "torch.Size": torch.Size,
        "torch.Tensor": torch.Tensor,
        "torch.device": Device,
        "torch.serialization._get_layout": _get_layout,
        "torch._tensor._rebuild_from_type_v2": _rebuild_from_type_v2,
        "torch.storage.UntypedStorage": UNTYPED,
        "collections.OrderedDict": OrderedDict,
        "collections.Counter": Counter,
        "_codecs.encode": encode,
        "builtins.bytearray": bytearray,
        "builtins.set": set,
        "builtins.complex": complex,
    }
    table |= {f"torch._utils.{name}": function for name, function in _REBUILD.items()}
    table |= {f"torch.{kind.name}": kind for kind in _STORAGE_TYPES.values()}
    table |= {f"torch.{name}": dtype for name, dtype in DType.by_name.items()}
    return table


@functools.cache
def _paths() -> dict[int, tuple[str, str]]:
    """Torch's module and name of ours, by identity."""
    return {id(value): tuple(path.rsplit(".", 1)) for path, value in _globals().items() if path.startswith("torch.")}  # type: ignore[misc]


# -- saving --------------------------------------------------------------------------------------------------------


def save(
    obj: object,
    f: FileLike,
    pickle_module: types.ModuleType = pickle,
    pickle_protocol: int = DEFAULT_PROTOCOL,
    _use_new_zipfile_serialization: bool = True,
    _disable_byteorder_record: bool = False,
) -> None:
    """Write `obj` to a path or to a file object, for `load` and for ``torch.load``.

    Tensors may lie anywhere in `obj`; tensors that share memory share it again when loaded.

    Raises:
        AttributeError: `f` cannot be written to.
        RuntimeError: tensors of different dtypes share memory, or the old format is asked for.
    """
    if not isinstance(f, (str, os.PathLike)) and not hasattr(f, "write"):
        raise AttributeError("expected 'f' to be string, path, or a file-like object with a 'write' attribute")
    if not _use_new_zipfile_serialization:
        raise RuntimeError("torchcompat writes the zip file format only: leave _use_new_zipfile_serialization=True")
    stream = io.BytesIO()
    pickler = _pickler_class(pickle_module)(stream, protocol=pickle_protocol)
    pickler.dump(obj)
    with _Archive(f) as archive:
        archive.write("data.pkl", stream.getvalue())
        archive.write(".storage_alignment", str(ALIGNMENT).encode())
        if not _disable_byteorder_record:
            archive.write("byteorder", sys.byteorder.encode())
        for key, storage in pickler.storages.items():
            archive.write(f"data/{key}", memoryview(storage._bytes))
        archive.write("version", b"3\n")
        archive.write(".data/serialization_id", archive.serialization_id())


def _standard_dispatch() -> dict[type, Any]:
    """The standard pickler's table of types as it is made: dill, which MindSpore imports, changes it for the whole process."""
    own: Any = pickle._Pickler
    table = {kind: function for kind, function in own.dispatch.items() if function.__module__ == pickle.__name__}
    return table | {type: own.save_type, dict: own.save_dict}


@functools.cache
def _pickler_class(module: types.ModuleType) -> type:
    # The C pickler refuses to write the name of a class that it cannot import; the Python one can be taught to.
    base: Any = module.Pickler
    if not issubclass(base, pickle._Pickler):
        base = getattr(module, "_Pickler", None)
    if base is None:
        raise TypeError(f"pickle_module must have a pickler written in Python, but {module.__name__} has none")

    class Pickler(base):
        def __init__(self, file: IO[bytes], protocol: int) -> None:
            super().__init__(file, protocol=protocol)
            self.storages: dict[str, UntypedStorage] = {}
            self.keys: dict[tuple[int, int], str] = {}
            self.dtypes: dict[int, DType] = {}

        def persistent_id(self, obj: Any) -> tuple[Any, ...] | None:
            if type(obj) is TypedStorage:
                storage, kind = obj.untyped(), _STORAGE_TYPES[obj.dtype]
            elif type(obj) is UntypedStorage:
                storage, kind = obj, UNTYPED
            else:
                return None
            address, nbytes = storage.data_ptr(), storage.nbytes()
            if nbytes and self.dtypes.setdefault(address, kind.dtype) is not kind.dtype:
                raise RuntimeError(
                    "Cannot save multiple tensors or storages that view the same data as different types"
                )
            key = self.keys.setdefault((address, nbytes) if nbytes else (id(storage._owner), 0), str(len(self.keys)))
            self.storages[key] = storage
            return ("storage", kind, key, str(storage.device), nbytes // kind.dtype.itemsize)

        def reducer_override(self, obj: Any) -> Any:
            if isinstance(obj, torch.Tensor):
                return _reduce_tensor(obj)
            if isinstance(obj, (DType, _StorageType)):
                return obj.name
            if isinstance(obj, torch.Size):
                return torch.Size, (tuple(obj),)
            if isinstance(obj, Device):
                return Device, (obj.type,) if obj.index is None else (obj.type, obj.index)
            return NotImplemented

        def save_global(self, obj: Any, name: str | None = None) -> None:
            path = _torch_path(obj)
            if path is None:
                super().save_global(obj, name)
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


def _torch_path(obj: Any) -> tuple[str, str] | None:
    """The name torch has for a class or function of ours; None for everybody else's."""
    if found := _paths().get(id(obj)):
        return found
    module = getattr(obj, "__module__", None) or ""
    if isinstance(obj, (type, types.FunctionType)) and (module == "torchcompat" or module.startswith("torchcompat.")):
        return "torch" + module.removeprefix("torchcompat"), obj.__qualname__
    return None


def _reduce_tensor(tensor: Any) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    cls = type(tensor)
    state = getattr(tensor, "__dict__", None) or None
    if cls is torch.nn.Parameter:
        parts: tuple[Any, ...] = (tensor.detach(), tensor.requires_grad, OrderedDict())
        if state:
            return _rebuild_parameter_with_state, (*parts, state)
        return _rebuild_parameter, parts
    function, arguments = _reduce_data(tensor)
    if cls is torch.Tensor and not state:
        return function, arguments
    return _rebuild_from_type_v2, (function, cls, arguments, state or {})


def _reduce_data(tensor: Any) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    size, stride = tuple(tensor.shape), tuple(tensor.stride())
    if tensor.device.type == "meta":
        return _rebuild_meta_tensor_no_storage, (tensor.dtype, size, stride, tensor.requires_grad)
    storage, offset = _storage_of(tensor)
    arguments: tuple[Any, ...] = (storage, offset, size, stride, tensor.requires_grad, OrderedDict())
    metadata = {name: True for name in ("conj", "neg") if getattr(tensor, "is_" + name)()}
    if isinstance(storage, UntypedStorage):
        return _rebuild_tensor_v3, (*arguments, tensor.dtype, *([metadata] if metadata else []))
    return _rebuild_tensor_v2, (*arguments, *([metadata] if metadata else []))


class _Sink:
    """A file object as `zipfile` may use it: write only, from wherever it stands."""

    def __init__(self, file: IO[bytes]) -> None:
        self.file = file
        self.position = 0

    def write(self, data: Any) -> int:
        self.file.write(data)
        size = memoryview(data).nbytes
        self.position += size
        return size

    def flush(self) -> None:
        if hasattr(self.file, "flush"):
            self.file.flush()


class _Archive:
    """A ZIP file of uncompressed records whose contents start at multiples of `ALIGNMENT`."""

    def __init__(self, f: FileLike) -> None:
        path = os.fspath(f) if isinstance(f, (str, os.PathLike)) else None
        self.name = os.path.splitext(os.path.basename(path))[0] if path else "archive"
        self.file = open(path, "wb") if path else None
        self.sink = _Sink(self.file or f)  # type: ignore[arg-type]  # an open file by now
        self.zip = zipfile.ZipFile(cast(Any, self.sink), "w", zipfile.ZIP_STORED)  # it only writes
        self.records: list[str] = []
        self.checksum = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        try:
            self.zip.close()
        finally:
            if self.file:
                self.file.close()

    def write(self, name: str, data: bytes | memoryview) -> None:
        info = zipfile.ZipInfo(f"{self.name}/{name}")
        size = memoryview(data).nbytes
        header = 30 + len(info.filename.encode()) + 4
        if size * 1.05 > zipfile.ZIP64_LIMIT:
            header += 20  # zipfile adds the record of long sizes
        padding = -(self.sink.position + header) % ALIGNMENT
        info.extra = struct.pack("<2sH", b"FB", padding) + b"Z" * padding
        self.zip.writestr(info, data)
        self.records.append(name)
        self.checksum = zlib.crc32(struct.pack("<I", info.CRC), self.checksum)

    def serialization_id(self) -> bytes:
        """Forty digits: the record names in twenty, their contents in twenty."""
        names = int.from_bytes(hashlib.sha256("\0".join(self.records).encode()).digest()[:8], "little")
        return f"{names:020d}{self.checksum:020d}".encode()


# -- loading -------------------------------------------------------------------------------------------------------


def load(
    f: FileLike,
    map_location: MapLocation = None,
    pickle_module: types.ModuleType | None = None,
    *,
    weights_only: bool | None = None,
    mmap: bool | None = None,
    **pickle_load_args: Any,
) -> Any:
    """Read an object that `save` or ``torch.save`` wrote.

    Args:
        f: a path, or a file object that can be read and sought.
        map_location: where storages go: a device, a mapping of device names, or a function of a storage and its device
            name; None leaves them where they were.
        pickle_module: for ``weights_only=False``, the module to unpickle with.
        weights_only: read tensors, plain containers and what `add_safe_globals` allows (the default); False runs
            whatever code the file names.
        mmap: map the storages of the file at a path into memory, copy on write, instead of reading them.
        pickle_load_args: for the unpickler, for example ``encoding``.

    Raises:
        pickle.UnpicklingError: the file names something that is not allowed.
        RuntimeError: the file is not a zip file of torch's format, or was saved on a device that is not here.
    """
    if weights_only is None:
        weights_only = pickle_module is None
    if _environment("TORCH_FORCE_WEIGHTS_ONLY_LOAD"):
        weights_only = True
    if weights_only and pickle_module is not None:
        raise RuntimeError("Can not safely load weights when explicit pickle_module is specified")
    if pickle_load_args and weights_only:
        warnings.warn("pickle_load_args only works if `weights_only=False`.", stacklevel=2)
    pickle_load_args.setdefault("encoding", "utf-8")
    is_path = isinstance(f, (str, os.PathLike))
    if mmap and not is_path:
        raise ValueError("f must be a file path in order to use the mmap argument")
    with _open(f) as file, _Reader(file, os.fspath(f) if mmap else None, map_location) as reader:  # type: ignore[arg-type]
        stream = io.BytesIO(reader.record("data.pkl"))
        if weights_only:
            try:
                return WeightsUnpickler(
                    stream,
                    allowed=_globals(),
                    tensors=(torch.Tensor, torch.nn.Parameter),
                    load_storage=reader.storage,
                    **pickle_load_args,
                ).load()
            except pickle.UnpicklingError as error:
                raise pickle.UnpicklingError(_explain(str(error))) from None
        return _unpickler_class(pickle_module or pickle)(stream, reader.storage, **pickle_load_args).load()


@functools.cache
def _unpickler_class(module: types.ModuleType) -> type:
    class Unpickler(module.Unpickler):  # type: ignore[name-defined]  # a module given by the caller
        def __init__(self, file: IO[bytes], load_storage: Callable[[Any], Any], **arguments: Any) -> None:
            super().__init__(file, **arguments)
            self.load_storage = load_storage

        def persistent_load(self, saved: Any) -> Any:
            return self.load_storage(saved)

        def find_class(self, module: str, name: str) -> Any:
            if module == "torch" or module.startswith("torch."):
                if (found := _globals().get(f"{module}.{name}")) is not None:
                    return found
                return functools.reduce(
                    getattr, name.split("."), importlib.import_module("torchcompat" + module.removeprefix("torch"))
                )
            return super().find_class(module, name)

    return Unpickler


class _Reader:
    """The records of a ``.pt`` file, and its storages where `map_location` wants them."""

    def __init__(self, file: IO[bytes], map_path: str | None, map_location: MapLocation) -> None:
        if not zipfile.is_zipfile(file):
            raise RuntimeError(
                "Invalid magic number; corrupt file? torchcompat reads files of the zip format, "
                "which torch.save writes since torch 1.6"
            )
        file.seek(0)
        self.file, self.map_path = file, map_path
        self.zip = zipfile.ZipFile(file)
        names = self.zip.namelist()
        found = [name for name in names if name == "data.pkl" or name.endswith("/data.pkl")]
        if not found:
            raise RuntimeError("PytorchStreamReader failed locating file data.pkl: file not found")
        self.prefix = found[0].removesuffix("data.pkl")
        if self.prefix + "constants.pkl" in names:
            raise RuntimeError("torchcompat reads no TorchScript archives: save the module's state_dict() instead")
        self.move = _mover(map_location)
        self.loaded: dict[str, TypedStorage] = {}
        order = self.record("byteorder").decode() if self.prefix + "byteorder" in names else "little"
        if order not in ("little", "big"):
            raise ValueError("Unknown endianness type: " + order)
        self.swap = order != sys.byteorder

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.zip.close()

    def record(self, name: str) -> bytes:
        return self.zip.read(self.prefix + name)

    def storage(self, saved: Any) -> TypedStorage:
        """The storage of a persistent id ``("storage", type, key, location, count)``, read once."""
        if not isinstance(saved, tuple):
            raise AssertionError(f"saved_id must be a tuple, got {type(saved).__name__}")
        if saved[0] != "storage":
            raise AssertionError(f"Unknown typename for persistent_load, expected 'storage' but got '{saved[0]}'")
        _, kind, key, location, count = saved
        if not isinstance(kind, _StorageType):
            raise pickle.UnpicklingError(f"expected the type of a storage, but got {kind}")
        if key not in self.loaded:
            storage = UntypedStorage.of(self._elements(key, kind.dtype, int(count)))
            self.loaded[key] = TypedStorage(self.move(storage, location), kind.dtype)
        return self.loaded[key]

    def _elements(self, key: str, dtype: DType, count: int) -> Array:
        info = self.zip.getinfo(f"{self.prefix}data/{key}")
        size = count * dtype.itemsize
        if info.file_size < size:
            raise RuntimeError(f"storage {key} has {info.file_size} bytes in the file, but its tensors need {size}")
        if self.map_path and size and not self.swap and info.compress_type == zipfile.ZIP_STORED:
            self.file.seek(info.header_offset + 26)
            name, extra = struct.unpack("<HH", self.file.read(4))
            start = info.header_offset + 30 + name + extra
            return np.memmap(self.map_path, dtype.np, "c", start, (count,))
        out = np.empty(count, dtype.np)
        if size:
            with self.zip.open(info) as record:
                view = memoryview(out.view(np.uint8).data).cast("B")
                done = 0
                while done < size and (got := record.readinto(view[done:])):  # type: ignore[attr-defined]  # buffered readers have it
                    done += got
        part = dtype.itemsize // 2 if dtype.is_complex else dtype.itemsize
        if self.swap and part > 1:
            out.view(f"u{part}").byteswap(inplace=True)
        return out


@contextmanager
def _open(f: FileLike) -> Iterator[IO[bytes]]:
    if isinstance(f, (str, os.PathLike)):
        with open(f, "rb") as file:
            yield file
        return
    try:
        position = f.tell()
        f.seek(position)
    except (io.UnsupportedOperation, AttributeError) as error:
        raise type(error)(
            f"{error}. You can only torch.load from a file that is seekable."
            " Please pre-load the data into a buffer like io.BytesIO and try to load from it instead."
        ) from None
    # What stands before the archive in the file is none of its business.
    yield f if position == 0 else io.BytesIO(f.read())


def _mover(map_location: MapLocation) -> Move:
    """A function that puts a storage, saved on a named device, where `map_location` wants it."""
    if map_location is None:
        return _restore
    if isinstance(map_location, dict):
        return lambda storage, location: _restore(storage, map_location.get(location, location))
    if isinstance(map_location, (str, Device)):
        target = str(map_location)
        return lambda storage, location: _restore(storage, target)
    if not callable(map_location):
        raise TypeError(
            "map_location must be a device, a string, a mapping of strings or a function, "
            f"but got {type(map_location).__name__}"
        )

    def move(storage: UntypedStorage, location: str) -> UntypedStorage:
        moved = map_location(storage, location)
        return _restore(storage, location) if moved is None else moved

    return move


def _restore(storage: UntypedStorage, location: str) -> UntypedStorage:
    kind = Device(location).type
    if kind == "cuda":
        raise RuntimeError(
            "Attempting to deserialize object on a CUDA device but torch.cuda.is_available() is False. "
            "If you are running on a CPU-only machine, please use torch.load with map_location=torch.device('cpu') "
            "to map your storages to the CPU."
        )
    if kind not in ("cpu", "meta"):
        raise RuntimeError(
            f"don't know how to restore data location of torch.storage.UntypedStorage (tagged with {location})"
        )
    storage.device = Device(location)
    return storage


def _environment(name: str) -> bool:
    return os.getenv(name, "0").lower() in ("1", "y", "yes", "true")


def _explain(message: str) -> str:
    """What torch says around the message of the restricted unpickler."""
    if "was not an allowed global by default." in message:
        text = (
            "Weights only load failed. This file can still be loaded, to do so you have two options, "
            "\033[1mdo those steps only if you trust the source of the checkpoint\033[0m. "
            f"\n\t(1) {UNSAFE_MESSAGE}\n\t(2) Alternatively, to load with `weights_only=True` please check "
            "the recommended steps in the following error message.\n\tWeightsUnpickler error: " + message
        )
    else:
        text = f"Weights only load failed. {UNSAFE_MESSAGE}\n"
        if "is blocked" not in message:
            text += (
                "Please file an issue with the following so that we can make "
                "`weights_only=True` compatible with your use case: WeightsUnpickler error: "
            )
        text += "\n\n" + message
    return text + (
        "\n\nCheck the documentation of torch.load to learn more about types accepted by default with "
        "weights_only https://pytorch.org/docs/stable/generated/torch.load.html."
    )
