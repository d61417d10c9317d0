"""`save` and `load`: torch's own ``.pt`` files, written and read without torch.

A file is a ZIP archive, uncompressed, its records aligned to 64 bytes: ``data.pkl`` is a pickle of the object in which each
storage is a persistent id, ``data/<key>`` are the bytes of the storages, ``byteorder`` and ``version`` say how to read them.
The pickle names torch's classes and functions; `_files.rebuild.table` says which of ours they are.
"""

from __future__ import annotations

import functools
import hashlib
import importlib
import io
import os
import pickle
import struct
import sys
import types
import warnings
import zipfile
import zlib
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, IO, Self, cast

import numpy as np
import numpy.typing as npt

from autograd_tape.annotations import Arguments, Fn
import torchcompat as torch

from autograd_tape.strided import address as address_of
from autograd_tape.dtypes import SCALAR_TYPE_NAMES, Device, DType, bool_

from ._calls.absent import absences as _absences
from ._files.archive import Archive
from ._files.rebuild import (
    STORAGE_TYPES,
    UNTYPED,
    StorageType,
    _get_layout,
    _rebuild_from_type_v2,
    _rebuild_meta_tensor_no_storage,
    _rebuild_parameter,
    _rebuild_parameter_with_state,
    _rebuild_sparse_tensor,
    _rebuild_tensor_v2,
    _rebuild_tensor_v3,
    refuse_absent,
    table,
)
from ._files.weights_only import (
    WeightsUnpickler,
    add_safe_globals,
    clear_safe_globals,
    get_safe_globals,
    safe_globals,
)
from ._memory.layout import layout, strided
from .storage import TypedStorage, UntypedStorage

if TYPE_CHECKING:
    from torchcompat._tensor import Tensor

__all__ = ["add_safe_globals", "clear_safe_globals", "get_safe_globals", "load", "safe_globals", "save"]

Array = npt.NDArray[Any]
Sizes = tuple[int, ...]
FileLike = str | os.PathLike[str] | IO[bytes]
Move = Callable[[UntypedStorage, str], UntypedStorage]
MapLocation = Callable[[UntypedStorage, str], UntypedStorage | None] | Device | str | dict[str, str] | None

DEFAULT_PROTOCOL = 2
ALIGNMENT = 64
UNSAFE_MESSAGE = (
    "In PyTorch 2.6, we changed the default value of the `weights_only` argument in `torch.load` "
    "from `False` to `True`. Re-running `torch.load` with `weights_only` set to `False` will likely succeed, "
    "but it can result in arbitrary code execution. Do it only if you got the file from a "
    "trusted source."
)


# -- storages ------------------------------------------------------------------------------------------------------


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


def _standard_dispatch() -> dict[type, Fn]:
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

        def persistent_id(self, obj: object) -> tuple[str, StorageType, str, str, int] | None:
            if type(obj) is TypedStorage:
                storage, kind = obj.untyped(), STORAGE_TYPES[obj.dtype]
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

        def reducer_override(self, obj: object) -> Any:
            if isinstance(obj, torch.Tensor):
                return _reduce_tensor(obj)
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


def _torch_path(obj: type | StorageType | Fn) -> tuple[str, str] | None:
    """The name torch has for a class or function of ours; None for everybody else's."""
    if found := _paths().get(id(obj)):
        return found
    module = getattr(obj, "__module__", None) or ""
    if isinstance(obj, (type, types.FunctionType)) and (module == "torchcompat" or module.startswith("torchcompat.")):
        return "torch" + module.removeprefix("torchcompat"), obj.__qualname__
    return None


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
        from .sparse._methods import saved_parts

        return _rebuild_sparse_tensor, saved_parts(tensor)
    size, stride = tuple(tensor.shape), tuple(tensor.stride())
    if tensor.device.type == "meta":
        return _rebuild_meta_tensor_no_storage, (tensor.dtype, size, stride, tensor.requires_grad)
    storage, offset = _storage_of(tensor)
    arguments: Arguments = (storage, offset, size, stride, tensor.requires_grad, OrderedDict())
    metadata = {name: True for name in ("conj", "neg") if getattr(tensor, "is_" + name)()}
    if isinstance(storage, UntypedStorage):
        return _rebuild_tensor_v3, (*arguments, tensor.dtype, *([metadata] if metadata else []))
    return _rebuild_tensor_v2, (*arguments, *([metadata] if metadata else []))


class _Sink:
    """A file object as `zipfile` may use it: write only, from wherever it stands."""

    def __init__(self, file: IO[bytes]) -> None:
        self.file = file
        self.position = 0

    def write(self, data: bytes | memoryview) -> int:
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
        RuntimeError: the file is not a sound zip file of torch's format, a tensor does not lie within its storage, a storage is not what
            the file has of it, or the file was saved on a device that is not here.
        EOFError: the file is empty, or its pickle ends early.
        ValueError: the byte order of the file is unknown.
        With ``weights_only=False`` also whatever the code raises that the file names.
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
    with _open(f) as file:
        reader = _Reader(file, bool(mmap), map_location)
        data = reader.archive.read("data.pkl")
        if weights_only:
            try:
                return WeightsUnpickler(data, reader.storage, encoding=pickle_load_args["encoding"]).load()
            except pickle.UnpicklingError as error:
                raise pickle.UnpicklingError(_explain(str(error))) from None
        return _unpickler_class(pickle_module or pickle)(io.BytesIO(data), reader.storage, **pickle_load_args).load()


@functools.cache
def _unpickler_class(module: types.ModuleType) -> type:
    class Unpickler(module.Unpickler):  # type: ignore[name-defined]  # a module given by the caller
        def __init__(self, file: IO[bytes], load_storage: Callable[[Any], Any], **arguments: str) -> None:
            super().__init__(file, **arguments)
            self.load_storage = load_storage

        def persistent_load(self, saved: object) -> TypedStorage:
            return self.load_storage(saved)

        def find_class(self, module: str, name: str) -> Any:
            if module == "torch" or module.startswith("torch."):
                if (found := table().get(f"{module}.{name}")) is not None:
                    return found.value
                refuse_absent(f"{module}.{name}")
                return functools.reduce(
                    getattr, name.split("."), importlib.import_module("torchcompat" + module.removeprefix("torch"))
                )
            return super().find_class(module, name)

    return Unpickler


class _Reader:
    """The storages of a ``.pt`` file where `map_location` wants them."""

    def __init__(self, file: IO[bytes], mapped: bool, map_location: MapLocation) -> None:
        file.seek(0)
        start = file.read(4)
        if not start:
            raise EOFError("Ran out of input")
        if start != b"PK\3\4":
            raise RuntimeError(
                "Invalid magic number; corrupt file? torchcompat reads files of the zip format, "
                "which torch.save writes since torch 1.6"
            )
        self.archive = archive = Archive(file, mapped)
        if "constants.pkl" in archive:
            raise RuntimeError("torchcompat reads no TorchScript archives: save the module's state_dict() instead")
        _check_version(archive.read(".data/version" if ".data/version" in archive else "version"))
        self.move = _mover(map_location)
        self.loaded: dict[str, tuple[TypedStorage, StorageType, int]] = {}
        order = archive.read("byteorder") if "byteorder" in archive else b"little"
        if order not in (b"little", b"big"):
            raise ValueError("Unknown endianness type: " + order[:80].decode(errors="backslashreplace"))
        self.swap = order.decode() != sys.byteorder

    def storage(self, saved: object) -> TypedStorage:
        """The storage of a persistent id ``("storage", type, key, location, count)``, read once."""
        if not isinstance(saved, tuple):
            raise AssertionError(f"saved_id must be a tuple, got {type(saved).__name__}")
        if not saved or saved[0] != "storage":
            raise AssertionError(f"Unknown typename for persistent_load, expected 'storage' but got '{saved[0] if saved else None}'")
        if [type(part) for part in saved] != [str, StorageType, str, str, int]:
            raise pickle.UnpicklingError(
                "a storage is saved as its type, key, location and number of elements, "
                f"but got ({', '.join(type(part).__name__ for part in saved[1:])})"
            )
        _, kind, key, location, count = saved
        if key not in self.loaded:
            storage = self.move(UntypedStorage.of(self._elements(key, kind.dtype, count)), location)
            self.loaded[key] = TypedStorage.of(storage, kind.dtype), kind, count
        found, *declared = self.loaded[key]
        if declared != [kind, count]:
            raise RuntimeError(
                f"storage {key} is declared as {count} elements of {kind.dtype}, and before as {found.size()} of {found.dtype}"
            )
        return found

    def _elements(self, key: str, dtype: DType, count: int) -> Array:
        name, item = f"data/{key}", dtype.itemsize
        size = self.archive.size(name)
        if not 0 <= size - count * item < item:
            raise RuntimeError(
                f"record size ({size} bytes) does not match expected size ({count * item} bytes = {count} elements * "
                f"{item} bytes/element) for dtype {SCALAR_TYPE_NAMES[dtype.name]}"
            )
        out = self.archive.array(name, dtype.np, count, mapped=not self.swap)
        part = item // 2 if dtype.is_complex else item
        if self.swap and part > 1:
            out.view(f"u{part}").byteswap(inplace=True)
        # Everything that looks at bools takes them to be 0 or 1; a file can hold anything.
        if dtype is bool_ and (raw := out.view(np.uint8)).max(initial=0) > 1:
            np.not_equal(raw, 0, out=out)
        return out


def _check_version(record: bytes) -> None:
    """Whether the record says one of the versions of the format: 1 to 10, as in torch 2.13."""
    try:
        version = int(record[:20])
    except ValueError:
        raise RuntimeError(f"Couldn't parse the version {record[:20]!r} as Long Long.") from None
    if version < 1:
        raise RuntimeError(f"Attempted to read a PyTorch file with version {version}, but the minimum supported version for reading is 1.")
    if version > 10:
        raise RuntimeError(f"Attempted to read a PyTorch file with version {version}, but the maximum supported version for reading is 10.")


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
    kind = location.partition(":")[0]
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


__getattr__ = _absences(__name__)
