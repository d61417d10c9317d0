"""The archives of programs, written."""

from __future__ import annotations

import io
import os
import pickle
from typing import IO, Any

from torchcompat._files.pickler import pickler_class
from torchcompat._files.writer import PyTorchFileWriter

from ._compiler import Program


def write(module: Any, f: str | os.PathLike[str] | IO[bytes], extra: dict[str, Any] | None) -> None:
    """Writes a module."""
    module = module._frozen or module
    program = Program()
    program.module(module)
    sources = program.sources()
    records: dict[str, Any] = {}
    for folder, value in (("data", program.state(module)), ("constants", tuple(program.constants))):
        stream = io.BytesIO()
        pickler = _pickler()(stream, protocol=2)
        pickler.dump(value)
        records[f"{folder}.pkl"] = stream.getvalue()
        for key, (storage, _) in pickler.storages.items():
            records[f"{folder}/{key}"] = storage
    for name, content in (extra or {}).items():
        records[f"extra/{name}"] = content.encode() if isinstance(content, str) else content
    for name, text in sources.items():
        records[f"code/{name.replace('.', '/')}.py"] = text.encode()
    writer = PyTorchFileWriter(f)
    writer.set_min_version(10)  # operations as they are now: readers take those of older files in another way
    try:
        for name, content in records.items():
            writer.write_record(name, content, len(content) if isinstance(content, bytes) else content.nbytes())
    finally:
        writer.write_end_of_file()


def _pickler() -> type:
    """A pickler that names the classes of a program."""
    base: Any = pickler_class(pickle)

    class Pickler(base):
        def save_global(self, obj: object, name: str | None = None) -> None:
            path = getattr(obj, "__torchscript__", None)
            if path is None:
                super().save_global(obj, name)
                return
            home, _, last = path.rpartition(".")
            self.write(pickle.GLOBAL + f"{home}\n{last}\n".encode())
            self.memoize(obj)

        dispatch = {**base.dispatch, type: save_global, type(save_global): save_global}

    return Pickler
