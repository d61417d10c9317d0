"""What `torch.serialization` has beside `save` and `load`, and how those fail: in torch's words."""

from __future__ import annotations

import io
import mmap
import os
import pickle
import tempfile
import types
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from tests.recording import Table, attempted


class Bare:
    """A file object with no more methods than it needs, or fewer."""

    def __init__(self, data: bytes, without: tuple[str, ...] = ("readinto",)) -> None:
        self.file = io.BytesIO(data)
        for name in {"read", "readline", "seek", "tell", "write", "flush", "readinto"} - set(without):
            setattr(self, name, getattr(self.file, name))


def _saved(torch: Any, value: Any, **options: Any) -> bytes:
    file = io.BytesIO()
    torch.save(value, file, **options)
    return file.getvalue()


def _legacy(torch: Any, value: Any) -> bytes:
    return _saved(torch, value, _use_new_zipfile_serialization=False)


def _loaded(torch: Any, data: bytes, **options: Any) -> Any:
    found = torch.load(io.BytesIO(data), **options)
    return [str(found.device), found.tolist()] if isinstance(found, torch.Tensor) and not found.is_meta else repr(found)


@contextmanager
def _file(data: bytes = b"") -> Iterator[str]:
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "x.pt")
        with open(path, "wb") as file:
            file.write(data)
        yield path


def _shared(torch: Any, flags: int) -> Any:
    with _file(_saved(torch, torch.ones(3))) as path, torch.serialization.set_default_mmap_options(flags):
        found = torch.load(path, mmap=True)
        found[1] = 5
        del found
        return torch.load(path).tolist()


def _registered(torch: Any) -> Any:
    registry = torch.serialization._package_registry
    before = list(registry)
    try:
        torch.serialization.register_package(5, lambda storage: "here" if storage.nbytes() == 8 else None,
                                             lambda storage, location: storage if location == "here" else None)
        data = _saved(torch, torch.ones(2))
        return [b"here" in data, _loaded(torch, data), torch.serialization.location_tag(torch.ones(2).untyped_storage())]
    finally:
        registry[:] = before


def _with(torch: Any, setter: str, value: Any, default: Any, action: Callable[[], Any]) -> Any:
    set_to = getattr(torch.serialization, setter)
    set_to(value)
    try:
        return action()
    finally:
        set_to(default)


def _without_order(torch: Any) -> bytes:
    import zipfile

    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(_saved(torch, torch.tensor([1, 256])))) as archive, zipfile.ZipFile(out, "w") as copy:
        for name in archive.namelist():
            if not name.endswith(("byteorder", ".format_version")):
                copy.writestr(name, archive.read(name))
    return out.getvalue()


def _skipped(torch: Any, data: bytes) -> Any:
    with torch.serialization.skip_data():
        return list(torch.load(io.BytesIO(data)).shape)


def _saved_empty(torch: Any, **options: Any) -> Any:
    with torch.serialization.skip_data():
        data = _saved(torch, torch.ones(3), **options)
    return _loaded(torch, data)


def _warned(action: Callable[[], Any]) -> Any:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = action()
    return [found, [str(w.message) for w in caught]]


def _of_a_function() -> Any:
    """A class that only the function that makes it can name."""
    class Inner:
        pass

    return Inner


CASES: dict[str, Callable[[Any], Any]] = {
    "saved class of a function": lambda t: _saved(t, _of_a_function()), "saved object of one": lambda t: _saved(t, [_of_a_function()()]),
    "saved function of a function": lambda t: _legacy(t, {"f": lambda: 0}),
    "no folder": lambda t: t.save(1, "/nowhere/at/all/x.pt"), "no folder, legacy": lambda t: t.save(
        1, "/nowhere/at/all/x.pt", _use_new_zipfile_serialization=False),
    "no folder, no object": lambda t: t.save(lambda: 0, "/nowhere/x.pt"),
    **{f"map_location {where!r}": lambda t, where=where: _loaded(t, _saved(t, t.ones(2)), map_location=where)  # type: ignore[misc]
       for where in ("cpu", "meta", "cuda", "cuda:1", "hpu", "mps", "foo", "", {"cpu": "meta"}, {"cuda": "cpu"}, 3)},
    **{f"legacy map_location {where!r}": lambda t, where=where: _loaded(t, _legacy(t, t.ones(2)), map_location=where)  # type: ignore[misc]
       for where in ("cpu", "meta", "cuda", "foo", {"cpu": "meta"})},
    "map_location device": lambda t: _loaded(t, _saved(t, t.ones(2)), map_location=t.device("cpu")),
    "map_location function": lambda t: _loaded(t, _saved(t, t.ones(2)), map_location=lambda storage, location: None),
    "map_location clone": lambda t: _loaded(t, _legacy(t, t.ones(2)), map_location=lambda storage, location: storage.clone()),
    **{f"garbage {data!r} {safe}": lambda t, data=data, safe=safe: _loaded(t, data, weights_only=safe)  # type: ignore[misc]
       for data in (b"no archive", pickle.dumps(3, 2), pickle.dumps(0x1950A86A20F9469CFC6C, 2) + pickle.dumps(5, 2))
       for safe in (True, False)},
    **{f"cut {n} {safe}": lambda t, n=n, safe=safe: _loaded(t, _legacy(t, t.ones(3))[:-n], weights_only=safe)  # type: ignore[misc]
       for n in (1, 12, 13, 19) for safe in (True, False)},
    "mmap of the old format": lambda t: _loaded(t, _legacy(t, t.ones(2)), mmap=True),
    "mmap of a file object": lambda t: _loaded(t, _saved(t, t.ones(2)), mmap=True),
    "mmap private": lambda t: _shared(t, mmap.MAP_PRIVATE), "mmap shared": lambda t: _shared(t, mmap.MAP_SHARED),
    "mmap options": lambda t: t.serialization.get_default_mmap_options(),
        "mmap wrong": lambda t: t.serialization.set_default_mmap_options(7),
    "no seek": lambda t: t.load(Bare(_saved(t, 1), ("seek",))), "no tell": lambda t: t.load(Bare(_saved(t, 1), ("tell",))),
    "no readinto": lambda t: t.load(Bare(_saved(t, t.ones(2)))).tolist(),
    "no readinto, legacy": lambda t: t.load(Bare(_legacy(t, t.ones(2)))).tolist(),
    "no write": lambda t: t.save(1, Bare(b"", ("write",))), "no file": lambda t: t.save(1, 3),
    "two in a file": lambda t: [t.load(file).tolist() for file in [
        io.BytesIO(_legacy(t, t.ones(2)) + _legacy(t, t.zeros(1)))] for _ in "ab"],
    "registered": _registered, "restored": lambda t: t.serialization.default_restore_location(t.ones(2).untyped_storage(), "cpu").nbytes(),
    "restored nowhere": lambda t: t.serialization.default_restore_location(t.ones(2).untyped_storage(), "moon"),
    "tag of meta": lambda t: t.serialization.location_tag(t.empty(2, device="meta").untyped_storage()),
    "cuda device": lambda t: t.serialization.validate_cuda_device("cuda:0"), "hpu": lambda t: t.serialization.validate_hpu_device("hpu"),
    "order": lambda t: str(t.serialization.get_default_load_endianness()),
    **{f"order {name}": lambda t, name=name: _with(t, "set_default_load_endianness", t.serialization.LoadEndianness[name], None,  # type: ignore[misc]
                                                   lambda: _loaded(t, _without_order(t))) for name in ("LITTLE", "BIG")},
    "order wrong": lambda t: t.serialization.set_default_load_endianness("big"),
    "no checksums": lambda t: _with(t, "set_crc32_options", False, True, lambda: [
        _loaded(t, _saved(t, t.ones(2))), t.serialization.get_crc32_options()]),
    "checksums": lambda t: t.serialization.get_crc32_options(),
    "skipped": lambda t: _skipped(t, _saved(t, t.ones(2))), "skipped, legacy": lambda t: _skipped(t, _legacy(t, t.ones(2))),
    "room": _saved_empty, "room, legacy": lambda t: _saved_empty(t, _use_new_zipfile_serialization=False),
    "unsafe": lambda t: sorted(t.serialization.get_unsafe_globals_in_checkpoint(
        io.BytesIO(_saved(t, [t.ones(2), io.BytesIO, t.nn.Linear(1, 1), pickle.loads])))),
    "unsafe, protocol 4": lambda t: sorted(t.serialization.get_unsafe_globals_in_checkpoint(
        io.BytesIO(_saved(t, [t.ones(2), t.nn.Linear, t.nn.Linear, pickle.loads, os.path.join], pickle_protocol=4)))),
    "unsafe, legacy": lambda t: t.serialization.get_unsafe_globals_in_checkpoint(io.BytesIO(_legacy(t, 1))),
    "sources": lambda t: _warned(lambda: repr(t.load(io.BytesIO(_legacy(t, t.nn.ReLU())), weights_only=False))),
    "version": lambda t: t.serialization.check_module_version_greater_or_equal(types.SimpleNamespace(__name__="m", __version__="1.5.2"),
        (1, 4)),
    "version wrong": lambda t: t.serialization.check_module_version_greater_or_equal(
        types.SimpleNamespace(__name__="m", __version__="one"), (1, 4)),
    "version warned": lambda t: _warned(lambda: t.serialization.check_module_version_greater_or_equal(
        types.SimpleNamespace(__name__="m", __version__="one"), (1, 4), False)),
    "types": lambda t: [t.serialization.normalize_storage_type(t.FloatStorage).__name__,
        t.serialization.SourceChangeWarning.__mro__[1].__name__],
    "pickle module": lambda t: _loaded(t, _saved(t, 1), pickle_module=pickle, weights_only=True),
    "safetensors": lambda t: t.load("none.safetensors", map_location={"cpu": "cpu"}),
    "pair": lambda t: _sparse(t, False), "pair, legacy": lambda t: _sparse(t, True),
}  # fmt: skip


def _sparse(torch: Any, legacy: bool) -> Any:
    values = [torch.eye(2).to_sparse(), torch.eye(2).to_sparse_csr()]
    data = _legacy(torch, values) if legacy else _saved(torch, values)
    return [[str(found.layout), found.to_dense().tolist()] for found in torch.load(io.BytesIO(data))]


def outcome(torch: Any, case: str) -> Any:
    return attempted(lambda: CASES[case](torch))


TABLE = Table("serialization_settings", CASES, outcome)
