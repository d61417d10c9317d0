"""Damaged files, each made from its kind and number alone, and what loading them may do.

As a script it loads as many as one likes, and prints what came of them: ``python -m tests.files.mutate --count 30000 --first 0``.
"""

from __future__ import annotations

import argparse
import collections
import io
import pickle
import pickletools
import random
import resource
import sys
import tempfile
import time
import warnings
import zipfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from tests.files.file_cases import FOLDER
from tests.files.forge import EMPTY, Built, Call, Entry, Name, Raw, Saved, archive, deflated, file, operations, pickled, storage, tensor

import torchcompat as torch
from torchcompat._files.rebuild import table

ERRORS = (pickle.UnpicklingError, RuntimeError, EOFError, ValueError)
NAMES = [Name(*path.rsplit(".", 1)) for path in table()]
FUNCTIONS = [name for name in NAMES if table()[f"{name.module}.{name.name}"].call is not None]
EDGES = (0, 1, 2, 3, 4, 5, 7, 8, 15, 16, 17, 255, 256, 1 << 15, 1 << 16, 2**31 - 1, 2**31, 2**32 - 1, 2**32, 2**62, 2**63 - 1, 2**63, 2**64)
SLOW = 10.0  # seconds that no file may take

Parts = tuple[bytes, dict[str, bytes]]


@cache
def sound() -> list[Parts]:
    """Pickles and their storages: of files that torch wrote, and of small ones of every function that makes tensors."""
    found = []
    for name in ("tensors", "training", "unsafe", "module"):
        with zipfile.ZipFile(FOLDER / f"{name}.pt") as zipped:
            records = {n.split("/", 1)[1]: zipped.read(n) for n in zipped.namelist()}
        found.append((records["data.pkl"], {n[5:]: content for n, content in records.items() if n.startswith("data/")}))
    four = bytes(range(16))
    plain = tensor()
    for value in (
        plain, [plain, tensor(1, (3,)), {"a": plain}], tensor(0, (2, 2), (1, 2)), tensor(3, (), ()), tensor(0, (1000,), (0,)),
        Call(Name("torch._utils", "_rebuild_tensor_v3"), (storage(16, "UntypedStorage"), 0, (2, 2), (2, 1), True, EMPTY,
                                                          Name("torch", "float32"))),
        Call(Name("torch._utils", "_rebuild_parameter_with_state"), (plain, True, EMPTY, {"note": (1, "two")})),
        Call(Name("torch._utils", "_rebuild_meta_tensor_no_storage"), (Name("torch", "float16"), (3, 4), (4, 1), False)),
        Call(Name("torch._tensor", "_rebuild_from_type_v2"), (Name("torch._utils", "_rebuild_tensor_v2"), Name("torch", "Tensor"), (
            storage(2, "ComplexFloatStorage"), 0, (2,), (1,), False, EMPTY, {"conj": True}), ({"note": 1}, None))),
        Built(EMPTY, {"_metadata": {"": {"version": 1}}}), tensor(of=storage(16, "BoolStorage"), size=(4, 4), stride=(4, 1)),
        Built(Call(Name("torch", "Tensor"), (), new=True), (storage(), 0, (2, 2), (2, 1))),
    ):  # fmt: skip
        found.append((pickled(value), {"0": four}))
    return found


# -- kinds of damage ---------------------------------------------------------------------------------------------------


def damaged(rng: random.Random, data: bytes, other: bytes = b"") -> bytes:
    """Bytes with some of them changed, cut out, put in twice, moved, or taken from elsewhere."""
    for _ in range(rng.choice((1, 1, 1, 2, 3, 8))):
        at = rng.randrange(len(data) + 1)
        to = min(len(data), at + rng.choice((1, 1, 2, 4, 8, 40)))
        match rng.randrange(8):
            case 0:
                data = data[:at] + bytes(b ^ 1 << rng.randrange(8) for b in data[at : at + 1]) + data[at + 1 :]
            case 1:
                data = data[:at] + rng.randbytes(to - at) + data[to:]
            case 2:
                data = data[:at] + data[to:]
            case 3:
                data = data[:to] + data[at:]
            case 4:
                data = data[:at]
            case 5 if other:
                start = rng.randrange(len(other))
                data = data[:at] + other[start : start + rng.choice((2, 8, 40, 200))] + data[to:]
            case 6:
                data = data[:at] + rng.choice(EDGES).to_bytes(9, "little")[: rng.choice((1, 2, 4, 8))] + data[to:]
            case _:
                data = data[:at] + bytes([rng.choice(b"\x80\x81cRbaeusQq h}])(tN\x85\x86\x87.\x88\x89KMJXU\x8a")]) + data[at:]
    return data


def pickle_bytes(rng: random.Random) -> io.BytesIO:
    data, records = rng.choice(sound())
    return file(damaged(rng, data, rng.choice(sound())[0]), records)


@cache
def chunks(number: int) -> list[bytes]:
    """A sound pickle, operation by operation."""
    data = sound()[number][0]
    starts = [at for _, _, at in pickletools.genops(data)]
    return [data[at:to] for at, to in zip(starts, [*starts[1:], len(data)])]


def pickle_operations(rng: random.Random) -> io.BytesIO:
    number = rng.randrange(len(sound()))
    found = list(chunks(number))
    for _ in range(rng.choice((1, 1, 2, 3, 6))):
        at = rng.randrange(len(found))
        match rng.randrange(6):
            case 0:
                found[at] = operations(hostile(rng, 0))
            case 1:
                found.insert(at, operations(hostile(rng, 1)))
            case 2:
                del found[at]
            case 3:
                other = chunks(rng.randrange(len(sound())))
                start = rng.randrange(len(other))
                found[at:at] = other[start : start + rng.randrange(1, 12)]
            case 4:
                to = rng.randrange(len(found))
                found[at], found[to] = found[to], found[at]
            case _:
                found[at] = operations(rng.choice(NAMES)) if found[at][:1] == b"c" else found[at] * 2
        if not found:
            break
    return file(b"".join(found), sound()[number][1])


def hostile(rng: random.Random, depth: int = 3) -> Any:
    """Anything that a pickle can make a value of; mostly what the functions of the table do not want."""
    choice = rng.randrange(16 if depth else 8)
    few = range(rng.choice((0, 1, 1, 2, 2, 3, 4)))
    match choice:
        case 0:
            return rng.choice((None, True, False, 0.5, float("nan"), 1e308, ""))
        case 1 | 2:
            return rng.choice(EDGES) * rng.choice((1, 1, 1, -1)) + rng.choice((0, 0, 1, -1))
        case 3:
            return rng.choice(("cpu", "meta", "0", "1", "storage", "_data", "__class__", "note", "latin1", "torch.strided", "conj",
                               "a" * 300))
        case 4 | 5:
            return rng.choice(NAMES)
        case 6:
            return Raw(rng.choice((b"h\x00", b"h\x01", b")", b"]", b"}", b"\x8f", b"(", b"q\x00", b"K\x01", b"Q")))
        case 7:
            return storage(rng.choice((0, 1, 4, 4, 4, 16)), rng.choice(("FloatStorage", "ByteStorage", "BoolStorage", "UntypedStorage")))
        case 8 | 9:
            return tuple(hostile(rng, depth - 1) for _ in few)
        case 10:
            return [hostile(rng, depth - 1) for _ in few]
        case 11:
            return dict((rng.choice(("note", "conj", 1, (1, 2), "_k")), hostile(rng, depth - 1)) for _ in few)
        case 12:
            return Built(hostile(rng, depth - 1), hostile(rng, depth - 1))
        case 13:
            return shaped(rng)
        case _:
            return Call(rng.choice(FUNCTIONS), tuple(hostile(rng, depth - 1) for _ in range(rng.randrange(8))), rng.random() < 0.2)


def shaped(rng: random.Random) -> Any:
    """A tensor of any sizes, strides and offset, mostly near the bounds of its storage."""
    def number() -> int:
        return rng.choice((0, 1, 1, 2, 2, 3, 4, rng.choice(EDGES), -rng.choice(EDGES)))

    dimensions = rng.choice((0, 1, 1, 2, 2, 3, 40))
    kind, item = rng.choice((("FloatStorage", 4), ("DoubleStorage", 8), ("ByteStorage", 1), ("BoolStorage", 1), ("ComplexFloatStorage", 8)))
    memory = storage(rng.choice((16 // item, 16 // item, 16 // item, number())), kind, location=rng.choice(("cpu",) * 9 + ("meta",)))
    size, stride = (tuple(number() for _ in range(dimensions)) for _ in range(2))
    if rng.random() < 0.2:
        return Call(Name("torch._utils", "_rebuild_meta_tensor_no_storage"), (rng.choice(NAMES), size, stride, False))
    flags = rng.choice(((), (), ({"conj": True},), ({"neg": True},)))
    return tensor(rng.choice((0, 0, 1, number())), size, stride, rng.random() < 0.2, rng.choice((EMPTY, None)), *flags, of=memory)


def grammar(rng: random.Random) -> io.BytesIO:
    return file(pickled(hostile(rng)), {"0": bytes(range(16)), "1": b""})


def geometry(rng: random.Random) -> io.BytesIO:
    return file(pickled([shaped(rng)]), {"0": bytes(range(16))})


def call(rng: random.Random) -> io.BytesIO:
    """One wrong argument where all others are right."""
    good = [0, (4,), (1,), False, EMPTY]
    good[rng.randrange(5)] = hostile(rng, 2)
    made: Any = tensor(*good)
    if rng.random() < 0.5:
        parts = ["storage", Name("torch", "FloatStorage"), "0", "cpu", 4]
        parts[rng.randrange(5)] = hostile(rng, 1)
        made = tensor(of=Saved(*parts))
    if rng.random() < 0.5:
        parts = [Name("torch._utils", "_rebuild_tensor_v2"), Name("torch", "Tensor"), made.arguments, {"note": 1}]
        parts[rng.randrange(4)] = hostile(rng, 2)
        made = Call(Name("torch._tensor", "_rebuild_from_type_v2"), tuple(parts))
    elif rng.random() < 0.5:
        made = Call(Name("torch._utils", "_rebuild_parameter_with_state"), (made, True, EMPTY, hostile(rng, 2)))
    return file(pickled(made), {"0": bytes(range(16))})


@cache
def whole() -> list[bytes]:
    """Sound files."""
    return [file(*parts).getvalue() for parts in sound()] + [(FOLDER / f"{name}.pt").read_bytes() for name in ("tensors", "module")]


def archive_bytes(rng: random.Random) -> io.BytesIO:
    data = rng.choice(whole())
    if rng.random() < 0.7:  # the directory at the end is small, and what everything depends on
        at = max(0, len(data) - rng.choice((30, 100, 400)))
        return io.BytesIO(data[:at] + damaged(rng, data[at:], data))
    return io.BytesIO(damaged(rng, data, rng.choice(whole())))


def archive_fields(rng: random.Random) -> io.BytesIO:
    data, records = rng.choice(sound())
    contents = {"data.pkl": data, "version": b"3\n", "byteorder": b"little"} | {f"data/{key}": content for key, content in records.items()}
    entries = [Entry(f"a/{name}", content, packed=deflated(content) if rng.random() < 0.2 else None) for name, content in contents.items()]
    end = {}
    for _ in range(rng.choice((1, 1, 2, 4))):
        entry = rng.choice(entries)
        value = rng.choice((*EDGES[:19], len(entry.packed), entry.size + 1, max(0, entry.size - 1)))
        match rng.randrange(7):
            case 0:
                end[rng.choice(("disk", "first", "here", "count"))] = value % 2**16
            case 1:
                end[rng.choice(("size", "start"))] = value % 2**32
            case 2:
                entry.name = damaged(rng, entry.name)
            case 3:
                entry.packed = damaged(rng, entry.packed)
            case 4:
                entry.extra, entry.local_extra = (rng.choice((b"", b"\1\0\x10\0" + value.to_bytes(9, "little")[:8] * 2)) for _ in range(2))
            case 5:
                entries.insert(rng.randrange(len(entries)), rng.choice(entries))
            case _:
                name = rng.choice(("flags", "method", "crc", "size", "packed_size", "header"))
                setattr(entry, name, value % (2**16 if name in ("flags", "method") else 2**32))
                if rng.random() < 0.5:
                    entry.crc = 0
    return io.BytesIO(archive(entries, **end))


KINDS = {f.__name__: f for f in (pickle_bytes, pickle_operations, grammar, geometry, call, archive_bytes, archive_fields)}


def mutated(kind: str, number: int) -> bytes:
    """The damaged file of this kind and number."""
    return KINDS[kind](random.Random(f"{kind} {number}")).getvalue()


# -- what may come of them ---------------------------------------------------------------------------------------------


def tensors(value: Any) -> Iterator[Any]:
    """All tensors and storages within an object, each once."""
    seen, left = set(), [value]
    while left:
        value = left.pop()
        if id(value) in seen:
            continue
        seen.add(id(value))
        if isinstance(value, dict):
            left += [*value.keys(), *value.values()]
        elif isinstance(value, (list, tuple, set)):
            left += value
        elif isinstance(value, (torch.Tensor, torch.TypedStorage)):
            yield value
        left += getattr(value, "__dict__", {}).values() if isinstance(value, (torch.Tensor, dict)) else ()


def read(found: Any) -> None:
    """Reads every element of a tensor; AssertionError where one lies outside of its storage, or the tensor is not what it should be."""
    if isinstance(found, torch.TypedStorage):
        assert len(bytes(found.untyped()._bytes)) == found.nbytes()
        return
    data, memory = found._data, found.untyped_storage()
    assert data.dtype is found.dtype.np and type(found) in (torch.Tensor, torch.nn.Parameter)
    assert not found.requires_grad or found.is_floating_point() or found.is_complex()
    assert not found.is_conj() or found.is_complex()
    if not data.size or found.device.type == "meta":
        return
    start, first = memory._bytes.__array_interface__["data"][0], data.__array_interface__["data"][0]
    assert all(step >= 0 for step in data.strides)
    assert start <= first and first + sum((n - 1) * s for n, s in zip(data.shape, data.strides)) + data.itemsize <= start + memory.nbytes()
    if data.size < 1 << 20:
        plain = np.ascontiguousarray(data).view(np.uint8)
        assert plain.sum() >= 0 and (found.dtype is not torch.bool or plain.max() <= 1)


def outcome(data: bytes, path: Path | None = None) -> str:
    """What loading a file comes to: "loaded", or the name of an error that may be raised. With a path the file is mapped from there."""
    start = time.process_time()
    try:
        if path is None:
            found = torch.load(io.BytesIO(data))
        else:
            path.unlink(missing_ok=True)
            path.write_bytes(data)
            found = torch.load(path, mmap=True)
    except ERRORS as error:
        assert type(error) in ERRORS, repr(error)
        assert len(str(error)) < 10_000
        return type(error).__name__
    for each in tensors(found):
        read(each)
    assert time.process_time() - start < SLOW
    return "loaded"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=3000, help="files of each kind")
    parser.add_argument("--first", type=int, default=0, help="number of the first")
    parser.add_argument("--kinds", nargs="*", default=list(KINDS))
    parser.add_argument("--memory", type=int, default=0, help="bytes of address space that may be used beyond what is; 0 for any")
    parser.add_argument("--mapped", action="store_true", help="map the files")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    if options.memory:
        used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + options.memory,) * 2)
    path = Path(tempfile.mkdtemp()) / "mutated.pt" if options.mapped else None
    failed = 0
    for kind in options.kinds:
        found: collections.Counter[str] = collections.Counter()
        for number in range(options.first, options.first + options.count):
            try:
                found[outcome(mutated(kind, number), path)] += 1
            except Exception as error:  # whatever it is, it is a fault: named, counted, and the status is 1
                failed += 1
                print(f"{kind} {number}: {type(error).__name__}: {error!s:.200}", flush=True)
        print(f"{kind:20}", dict(found), flush=True)
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
