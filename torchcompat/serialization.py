"""`save` and `load`: torch's own ``.pt`` files, written and read without torch.

A file is a ZIP archive, uncompressed, its records aligned to 64 bytes: ``data.pkl`` is a pickle of the object in which each
storage is a persistent id, ``data/<key>`` are the bytes of the storages, ``byteorder`` and ``version`` say how to read them.
The pickle names torch's classes and functions; `_files.rebuild.table` says which of ours they are. Files from before 2020 have no
archive around them (`_files.legacy`).
"""

from __future__ import annotations

import functools
import importlib
import io
import mmap as _mmap
import os
import pickle
import pickletools
import sys
import tempfile
import threading
import types
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import Enum
from typing import Any, IO

from autograd_tape import warned
from autograd_tape.dtypes import Device

from ._calls.above import above
from ._calls.absent import absences as _absences
from ._files.archive import Archive
from ._files.legacy import INT_SIZE, LONG_SIZE, MAGIC_NUMBER, PROTOCOL_VERSION, SHORT_SIZE, SourceChangeWarning
from ._files.legacy import load as _load_legacy
from ._files.legacy import save as _save_legacy
from ._files.pickler import pickler_class
from ._files.places import (
    default_restore_location,
    location_tag,
    register_package,
    registry as _package_registry,  # noqa: F401  # a name of torch's
    validate_cuda_device,
    validate_hpu_device,
)
from ._files.rebuild import ABSENT, StorageType, table, torchs
from ._files.reader import PyTorchFileReader
from ._files.storages import Records
from ._files.weights_only import (
    UNSAFE_MESSAGE,
    WeightsUnpickler,
    add_safe_globals,
    clear_safe_globals,
    get_safe_globals,
    mapped,
    named_safe_globals,
    safe_globals,
)
from ._files.writer import PyTorchFileWriter
from .storage import TypedStorage, UntypedStorage
from .utils.serialization import config

__all__ = [
    "INT_SIZE", "LONG_SIZE", "LoadEndianness", "MAGIC_NUMBER", "PROTOCOL_VERSION", "SHORT_SIZE", "SourceChangeWarning", "StorageType",
    "add_safe_globals",
    "check_module_version_greater_or_equal", "clear_safe_globals", "default_restore_location", "get_crc32_options",
    "get_default_load_endianness", "get_default_mmap_options", "get_safe_globals", "get_unsafe_globals_in_checkpoint", "load",
    "location_tag", "mkdtemp", "normalize_storage_type", "register_package", "safe_globals", "save", "set_crc32_options",
    "set_default_load_endianness", "set_default_mmap_options", "skip_data", "storage_to_tensor_type", "validate_cuda_device",
    "validate_hpu_device",
]  # fmt: skip

FileLike = str | os.PathLike[str] | IO[bytes]
MapLocation = Callable[[UntypedStorage, str], UntypedStorage | None] | Device | str | dict[str, str] | None
MAP_LOCATION = MapLocation
STORAGE = TypedStorage | UntypedStorage

DEFAULT_PROTOCOL = 2
MAP_SHARED, MAP_PRIVATE = 1, 2


# -- settings ------------------------------------------------------------------------------------------------------


class LoadEndianness(Enum):
    """The byte order that files have which do not say it."""

    NATIVE = 1
    LITTLE = 2
    BIG = 3


def get_default_load_endianness() -> LoadEndianness | None:
    """The byte order of files that do not say it; None is little-endian."""
    return config.load.endianness


def set_default_load_endianness(endianness: LoadEndianness | None) -> None:
    """Sets the byte order of files that do not say it. TypeError where it is none."""
    if not isinstance(endianness, LoadEndianness) and endianness is not None:
        raise TypeError("Invalid argument type in function set_default_load_endianness")
    config.load.endianness = endianness


def get_crc32_options() -> bool:
    """Whether `save` computes checksums."""
    return config.save.compute_crc32


def set_crc32_options(compute_crc32: bool) -> None:
    """Whether `save` is to compute checksums; without them `load` reads its files, other readers of archives may not."""
    config.save.compute_crc32 = compute_crc32


def get_default_mmap_options() -> int | None:
    """How ``load(mmap=True)`` maps: ``mmap.MAP_PRIVATE``, which is the default, or ``mmap.MAP_SHARED``."""
    return config.load.mmap_flags


class set_default_mmap_options:
    """Sets how ``load(mmap=True)`` maps: for good, or for the length of a ``with`` block.

    Raises:
        ValueError: it is neither ``mmap.MAP_PRIVATE`` nor ``mmap.MAP_SHARED``, with which the file gets what is written to tensors.
    """

    def __init__(self, flags: int) -> None:
        if flags not in (MAP_PRIVATE, MAP_SHARED):
            raise ValueError("Invalid argument in function set_default_mmap_options, expected mmap.MAP_PRIVATE or mmap.MAP_SHARED, but got "
                             f"{flags}")
        self.prev = config.load.mmap_flags
        config.load.mmap_flags = flags

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exception: object) -> None:
        config.load.mmap_flags = self.prev


class _Local(threading.local):
    skip_data = materialize_fake_tensors = False


_serialization_tls = _Local()


class skip_data:
    """In a ``with`` block `save` leaves room for the bytes of storages, and `load` leaves them zeros."""

    def __init__(self, materialize_fake_tensors: bool = False) -> None:
        self.materialize_fake_tensors = materialize_fake_tensors

    def __enter__(self) -> None:
        now = _serialization_tls
        self.before = now.skip_data, now.materialize_fake_tensors
        now.skip_data, now.materialize_fake_tensors = True, self.materialize_fake_tensors

    def __exit__(self, *exception: object) -> None:
        _serialization_tls.skip_data, _serialization_tls.materialize_fake_tensors = self.before


def check_module_version_greater_or_equal(module: types.ModuleType, req_version_tuple: tuple[Any, ...],
                                          error_if_malformed: bool = True) -> bool:
    """Whether the parts of a module's ``__version__``, each as the type of its counterpart, are at least these.

    Raises:
        RuntimeError: it has other parts; with ``error_if_malformed=False`` a warning, and True.
    """
    try:
        parts = module.__version__.split(".")
        return tuple([type(part)(parts[i]) for i, part in enumerate(req_version_tuple)]) >= req_version_tuple
    except Exception as error:
        text = (f"'{module.__name__}' module version string is malformed '{module.__version__}' and cannot be compared with tuple "
                f"{req_version_tuple}")
        if error_if_malformed:
            raise RuntimeError(text) from error
        warned.warn(text + ", but continuing assuming that requirement is met")
        return True


def _check_dill_version(pickle_module: types.ModuleType | None) -> None:
    if pickle_module is not None and pickle_module.__name__ == "dill":
        if not check_module_version_greater_or_equal(pickle_module, (0, 3, 1), False):
            raise ValueError(f"'torch' supports dill >= 0.3.1, but you have dill {pickle_module.__version__}. Please upgrade dill or "
                             "switch to 'pickle'")


def normalize_storage_type(storage_type: type) -> Any:
    """The class of torch by the name of this one."""
    import torchcompat as torch

    return getattr(torch, storage_type.__name__)


def storage_to_tensor_type(storage: object) -> Any:
    """The tensor class that is called like the class of a storage."""
    kind = type(storage)
    return getattr(importlib.import_module(kind.__module__), kind.__name__.replace("Storage", "Tensor"))


@contextmanager
def mkdtemp() -> Iterator[str]:
    """A directory for the length of a ``with`` block."""
    with tempfile.TemporaryDirectory() as path:
        yield path


# -- saving --------------------------------------------------------------------------------------------------------


@contextmanager
def _open_zipfile_writer(name_or_buffer: FileLike) -> Iterator[PyTorchFileWriter]:
    """A writer of records to a path or file object, for the length of a ``with`` block."""
    if not isinstance(name_or_buffer, (str, os.PathLike)) and not callable(getattr(name_or_buffer, "write", None)):
        text = f"Buffer of {str(type(name_or_buffer)).strip('<>')} has no callable attribute 'write'"
        raise (TypeError if hasattr(name_or_buffer, "write") else AttributeError)(text)
    writer = PyTorchFileWriter(name_or_buffer, config.save.compute_crc32, config.save.storage_alignment)
    try:
        yield writer
    finally:
        writer.write_end_of_file()
        if hasattr(name_or_buffer, "flush"):
            name_or_buffer.flush()


def save(
    obj: object,
    f: FileLike,
    pickle_module: types.ModuleType = pickle,
    pickle_protocol: int = DEFAULT_PROTOCOL,
    _use_new_zipfile_serialization: bool = True,
    _disable_byteorder_record: bool = False,
) -> None:
    """Write `obj` to a path or to a file object, for `load` and for ``torch.load``.

    Tensors may lie anywhere in `obj`; tensors that share memory share it again when loaded. The format of old files, without an archive,
    comes with ``_use_new_zipfile_serialization=False``.

    Raises:
        AttributeError: `f` cannot be written to.
        RuntimeError: tensors of different dtypes share memory, or a file of the old format is to skip data.
    """
    _check_dill_version(pickle_module)
    is_path = isinstance(f, (str, os.PathLike))
    if not is_path and not hasattr(f, "write"):
        raise AttributeError("expected 'f' to be string, path, or a file-like object with a 'write' attribute")
    skipping = _serialization_tls.skip_data
    if not _use_new_zipfile_serialization:
        if skipping:
            raise RuntimeError("Cannot use skip_data=True with _use_new_zipfile_serialization=False")
        with _open_file_like(f, "wb") as file:
            _save_legacy(obj, file, pickle_module, pickle_protocol)
        return
    if isinstance(f, (str, os.PathLike)) and (parent := os.path.dirname(os.fspath(f))) and not os.path.isdir(parent):
        raise RuntimeError(f"Parent directory {os.fsdecode(parent)} does not exist.")
    stream = io.BytesIO()
    pickler = pickler_class(pickle_module)(stream, protocol=pickle_protocol)
    pickler.dump(obj)
    with _open_zipfile_writer(f) as archive:
        records = {"data.pkl": stream.getvalue(), ".storage_alignment": str(config.save.storage_alignment).encode()}
        if not _disable_byteorder_record:
            records["byteorder"] = sys.byteorder.encode()
        for name, data in records.items():
            archive.write_record(name, data, len(data))
        for key, (storage, _) in pickler.storages.items():
            if skipping:
                archive.write_record_metadata(f"data/{key}", storage.nbytes())
            else:
                archive.write_record(f"data/{key}", storage, storage.nbytes())


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
    unset = weights_only is None
    if weights_only is None:
        weights_only = pickle_module is None
    always, never = _environment("TORCH_FORCE_WEIGHTS_ONLY_LOAD"), _environment("TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD")
    if always and never:
        raise RuntimeError("Only one of `TORCH_FORCE_WEIGHTS_ONLY_LOAD` or `TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD` should be set, but both were "
                           "set.")
    if always:
        weights_only = True
    elif never and unset:
        warned.warn("Environment variable TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD detected, since the`weights_only` argument was not explicitly "
                    "passed to `torch.load`, forcing weights_only=False.", UserWarning)
        weights_only = False
    if weights_only and pickle_module is not None:
        raise RuntimeError("Can not safely load weights when explicit pickle_module is specified")
    if pickle_load_args and weights_only:
        warned.warn("pickle_load_args only works if `weights_only=False`.")
    _check_dill_version(pickle_module)
    pickle_load_args.setdefault("encoding", "utf-8")
    in_place = config.load.mmap if mmap is None else mmap
    module = None if weights_only else pickle_module or pickle
    if isinstance(f, (str, os.PathLike)) and os.fspath(f).endswith(".safetensors"):
        return _load_safetensors(os.fspath(f), map_location)
    with _open_file_like(f, "r+b" if in_place and config.load.mmap_flags == MAP_SHARED else "rb") as file:
        try:
            if not _is_zipfile(file):
                if in_place:
                    name = f"{f}, " if isinstance(f, str) else ""
                    raise RuntimeError(f"mmap can only be used with files saved with `torch.save({name}"
                                       "_use_new_zipfile_serialization=True), please torch.save your checkpoint with this option in "
                                       "order to use mmap.")
                return _load_legacy(file, map_location, _serialization_tls.skip_data, module,
                                    _unpickler_class(module) if module else None, **pickle_load_args)
            return _load_archive(f, file, in_place, map_location, module, pickle_load_args)
        except pickle.UnpicklingError as error:
            if module is not None:
                raise
            raise pickle.UnpicklingError(_explain(str(error))) from None


def _load_safetensors(path: str, map_location: Any) -> Any:
    """The tensors of a file of another format, which a package of that name reads."""
    try:
        import safetensors.torch
    except ImportError as error:
        raise RuntimeError("Attempting to load a safetensors file but safetensors is not installed. Please install safetensors with: pip "
                           "install safetensors") from error
    if isinstance(map_location, dict) or callable(map_location):
        kind = "dict" if isinstance(map_location, dict) else "callable"
        raise RuntimeError(f"Loading safetensors file with {kind} map_location is not supported. Use a device string or torch.device "
                           "instead.")
    return safetensors.torch.load_file(path, device="cpu" if map_location is None else str(map_location))


def _load_archive(f: FileLike, file: IO[bytes], in_place: bool, map_location: MapLocation, module: Any, arguments: dict[str, Any]) -> Any:
    # What stands before the archive in the file is none of its business.
    whole = file if file.tell() == 0 else io.BytesIO(file.read())
    if in_place and not isinstance(f, (str, os.PathLike)):
        raise ValueError("f must be a file path in order to use the mmap argument")
    access = None if not in_place else _mmap.ACCESS_WRITE if config.load.mmap_flags == MAP_SHARED else _mmap.ACCESS_COPY
    archive = Archive(whole, access)
    if "constants.pkl" in archive:
        warned.warn("'torch.load' received a zip file that looks like a TorchScript archive dispatching to 'torch.jit.load' (call "
                    "'torch.jit.load' directly to silence this warning)", UserWarning)
        if module is None:
            raise RuntimeError("Cannot use ``weights_only=True`` with TorchScript archives passed to ``torch.load``. " + UNSAFE_MESSAGE)
        return above.load_program(whole, map_location)
    archive.check_version()
    order = archive.read("byteorder") if "byteorder" in archive else _default_order()
    if order not in (b"little", b"big"):
        raise ValueError("Unknown endianness type: " + order[:80].decode(errors="backslashreplace"))
    storages = Records(archive, order.decode(), map_location, _serialization_tls.skip_data)
    data = archive.read("data.pkl")
    if module is None:
        return WeightsUnpickler(data, storages.storage, encoding=arguments["encoding"]).load()
    return _unpickler_class(module)(io.BytesIO(data), storages.storage, **arguments).load()


def _default_order() -> bytes:
    found = config.load.endianness
    return sys.byteorder.encode() if found is LoadEndianness.NATIVE else b"big" if found is LoadEndianness.BIG else b"little"


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
                return torchs(module, name)
            return super().find_class(module, name)

    return Unpickler


def _is_zipfile(f: IO[bytes]) -> bool:
    """Whether an archive begins where a file stands."""
    start = f.tell()
    found = f.read(4)
    f.seek(start)
    return found == b"PK\3\4"


@contextmanager
def _open_file_like(f: FileLike, mode: str) -> Iterator[IO[bytes]]:
    """A path opened, or a file object as it is, which must be seekable if it is read."""
    if isinstance(f, (str, os.PathLike)):
        with open(f, mode) as file:
            yield file
        return
    if "w" in mode:
        yield f
        f.flush()
        return
    try:
        f.seek(f.tell())
    except (io.UnsupportedOperation, AttributeError) as error:
        if "seek" not in str(error) and "tell" not in str(error):
            raise
        raise type(error)(
            f"{error}. You can only torch.load from a file that is seekable."
            " Please pre-load the data into a buffer like io.BytesIO and try to load from it instead."
        ) from None
    yield f


@contextmanager
def _open_zipfile_reader(name_or_buffer: FileLike) -> Iterator[PyTorchFileReader]:
    """A reader of records at a path or in a file object, for the length of a ``with`` block."""
    with _open_file_like(name_or_buffer, "rb") as file:
        yield PyTorchFileReader(file)


def get_unsafe_globals_in_checkpoint(f: FileLike) -> list[str]:
    """The names in a file that ``load(weights_only=True)`` does not allow. Nothing of the file is run.

    Raises:
        ValueError: it is no archive of `save`.
        pickle.UnpicklingError: its pickle has operations that `load` does not know.
    """
    with _open_file_like(f, "rb") as file:
        if not _is_zipfile(file):
            raise ValueError("Expected input to be a checkpoint returned by torch.save")
        archive = Archive(file if file.tell() == 0 else io.BytesIO(file.read()))
        if "constants.pkl" in archive:
            raise ValueError("Expected input to be a checkpoint returned by torch.save but got a torchscript checkpoint")
        data = archive.read("data.pkl")
    safe = table().keys() | ABSENT.keys() | named_safe_globals().keys()
    return [name for name in _globals_in(data) if name not in safe]


def _globals_in(data: bytes) -> list[str]:
    """The names in a pickle, each once."""
    found: dict[str, None] = {}
    for operation, argument, _ in pickletools.genops(data):
        if ord(operation.code) not in WeightsUnpickler.operations and operation.name != "STOP":
            raise pickle.UnpicklingError(f"Unsupported operand {ord(operation.code)}")
        if operation.name == "GLOBAL" and argument is not None:
            found[".".join(mapped(*argument.split(" ", 1)))] = None
    return list(found)


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


_absences(__name__)
