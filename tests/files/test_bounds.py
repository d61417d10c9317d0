"""A tensor of a file lies within the bytes that were read from it, or there is no tensor."""

from __future__ import annotations

import copy
import io
import pickle
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.files.forge import Built, Call, Entry, Name, Saved, archive, deflated, file, pickled, storage, tensor

import torchcompat as torch

BYTES = np.arange(4, dtype="f4").tobytes()
FLOAT = Name("torch", "float32")


def v1(*arguments: Any) -> Call:
    return Call(Name("torch._utils", "_rebuild_tensor"), (storage(), *arguments))


def v2(*arguments: Any) -> Call:
    return tensor(*arguments)


def v3(*arguments: Any) -> Call:
    return Call(Name("torch._utils", "_rebuild_tensor_v3"), (storage(16, "UntypedStorage"), *arguments, False, None, FLOAT))


def old(*arguments: Any) -> Any:
    return Built(Call(Name("torch", "Tensor"), (), new=True), (storage(), *arguments))


def meta(*arguments: Any) -> Call:
    return Call(Name("torch._utils", "_rebuild_tensor_v2"), (storage(location="meta"), *arguments, False, None))


HUGE = (2**31, 2**62, 2**63 - 1, 2**63, 2**64, 2**70)
OUTSIDE = [
    (0, (5,), (1,)), (1, (4,), (1,)), (4, (1,), (1,)), (0, (2,), (4,)), (0, (2, 2), (3, 1)), (0, (20_000_000,), (1,)), (5, (), ()),
    (-1, (1,), (1,)), (-4, (), ()), (0, (-1,), (1,)), (0, (2, -1), (1, 1)), (0, (-2, -2), (1, 1)), (0, (0, -1), (1, 1)),
    (3, (4,), (-1,)), (0, (2,), (-1,)), (2, (2, 2), (1, -1)), (0, (0,), (-1,)),
    (0, (2, 2), (1,)), (0, (2,), (1, 1)), (0, (), (1,)), (0, (4,), ()),
    *[(n, (1,), (1,)) for n in HUGE], *[(0, (2,), (n,)) for n in HUGE], *[(0, (n,), (1,)) for n in HUGE],
    *[(0, (n, n), (0, 0)) for n in HUGE], *[(0, (n, n, n, n), (1, 1, 1, 1)) for n in HUGE], (0, (2**40,) * 3, (0,) * 3),
    (0, (2**62, 4), (4, 2**62)), (2**62, (3,), (2**62,)), (0, (1,) * 100, (1,) * 100), *[(-n, (1,), (1,)) for n in HUGE],
]  # fmt: skip
WITHIN = [
    (0, (4,), (1,)), (3, (1,), (1,)), (3, (), ()), (0, (2, 2), (2, 1)), (0, (2, 2), (1, 2)), (1, (2,), (2,)), (0, (3, 2), (1, 1)),
    (0, (0,), (1,)), (0, (0, 7), (7, 1)), (9, (0,), (1,)), (0, (2**20,), (0,)), (2, (1,), (2**40,)), (0, (1, 4), (2**40, 1)),
]  # fmt: skip


def memory(t: Any) -> tuple[int, int]:
    """The first byte that the elements of a tensor lie in, and the one behind the last."""
    data = t._data
    start = data.__array_interface__["data"][0]
    reach = [(n - 1) * step for n, step in zip(data.shape, data.strides)]
    return start + sum(r for r in reach if r < 0), start + sum(r for r in reach if r > 0) + data.itemsize


def within(t: Any) -> bool:
    """Whether all elements of a tensor lie in its storage."""
    if not t.numel() or t.device.type == "meta":
        return True
    first, last = memory(t)
    start = t.untyped_storage()._bytes.__array_interface__["data"][0]
    return start <= first <= last <= start + t.untyped_storage().nbytes()


@pytest.mark.parametrize("rebuild", [v1, v2, v3, old, meta])
@pytest.mark.parametrize("how", ["read", "mapped", "trusted"])
def test_geometry(rebuild: Any, how: str, tmp_path: Path) -> None:
    if rebuild is old and how == "trusted":
        how = "read"  # else it is the standard unpickler that builds

    def load(geometry: Any) -> Any:
        made = file(pickled([rebuild(*geometry)]), {"0": BYTES})
        if how != "mapped":
            return torch.load(made, weights_only=how == "read")[0]
        (tmp_path / "x.pt").write_bytes(made.getvalue())
        return torch.load(tmp_path / "x.pt", mmap=True)[0]

    for geometry in OUTSIDE:
        with pytest.raises(RuntimeError):
            load(geometry)
    for offset, size, stride in WITHIN:
        found = load((offset, size, stride))
        assert within(found)
        assert tuple(found.shape) == size
        assert found.device.type == "meta" or found.sum() == sum(
            np.lib.stride_tricks.as_strided(np.arange(4, dtype="f4")[offset:], size, [4 * n for n in stride]).ravel())


@pytest.mark.parametrize("size", [(2**20,), (2**40,), (2**58,), (2**20, 2**20), (0,), (3, 0, 2**50)])
def test_tensors_without_memory_take_none(size: tuple[int, ...]) -> None:
    strides = (1,) * len(size)
    function = Name("torch._utils", "_rebuild_meta_tensor_no_storage")
    found = torch.load(file(pickled(Call(function, (FLOAT, size, strides, False)))))
    assert found.device.type == "meta" and tuple(found.shape) == size and found.stride() == strides
    for read, kind, text in (
            (lambda t: t.tolist(), RuntimeError, "meta tensor"), (lambda t: t.apply_(abs), RuntimeError, "meta tensor"),
            (lambda t: torch.empty(1, device="meta").item(), RuntimeError, "meta tensor"),
            (lambda t: t.numpy(), TypeError, "can't convert meta device type tensor to numpy")):
        with pytest.raises(kind, match=text):
            read(found)
    copies = [copy.deepcopy(found), pickle.loads(pickle.dumps(found)), found.clone().resize_(2), found.detach().requires_grad_()]
    assert all(each.device.type == "meta" for each in copies)
    assert found.untyped_storage().nbytes() == 4 * found.numel() or len(size) > 1
    for wrong in [((-1,), (1,)), ((2,), (-1,)), ((2,), (1, 1)), ((2**62, 2**62), (1, 1)), ((2**63,), (1,)), ((2,), (2**63,))]:
        with pytest.raises(RuntimeError):
            torch.load(file(pickled(Call(function, (FLOAT, *wrong, False)))))


COUNTS = (0, 1, 3, 5, 8, -1, -4, 2**31, 2**40, 2**62, 2**63, 2**64 + 4, 2**70)


@pytest.mark.parametrize("kind", ["FloatStorage", "DoubleStorage", "ByteStorage", "ComplexDoubleStorage", "BoolStorage", "UntypedStorage"])
def test_a_storage_has_the_size_of_its_record(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "x.pt"
    item = {"FloatStorage": 4, "DoubleStorage": 8, "ComplexDoubleStorage": 16}.get(kind, 1)
    for length in (0, 16, 48):
        for count in (*COUNTS, length // item):
            path.write_bytes(file(pickled(storage(count, kind)), {"0": bytes(length)}).getvalue())
            for mapped in (False, True):
                for weights_only in (True, False):
                    if count == length // item:
                        assert torch.load(path, mmap=mapped, weights_only=weights_only).nbytes() == length
                        continue
                    with pytest.raises(RuntimeError, match="does not match expected size"):
                        torch.load(path, mmap=mapped, weights_only=weights_only)


def test_an_empty_storage_has_no_elements() -> None:
    # NumPy does not look at the size of memory that has none.
    with pytest.raises(RuntimeError, match="out of bounds for storage of size 0"):
        torch.load(file(pickled(tensor(0, (20_000_000,), of=storage(0))), {"0": b""}))
    for size in [(1,), (2, 2), (10**6,)]:
        with pytest.raises(RuntimeError, match="out of bounds for storage of size 0"):
            torch.empty(0).set_(torch.empty(0).untyped_storage(), 0, size, (1,) * len(size))


def test_a_storage_is_one_thing() -> None:
    for other in (storage(4, "IntStorage"), storage(2, "DoubleStorage"), storage(3)):
        with pytest.raises(RuntimeError):
            torch.load(file(pickled([storage(), other]), {"0": BYTES}))
    a, b = torch.load(file(pickled([tensor(), tensor(1, (3,))]), {"0": BYTES}))
    a[1] = 7.0
    assert b[0] == 7.0


@pytest.mark.parametrize("parts", [
    (), ("storage",), ("storage", Name("torch", "FloatStorage"), "0", "cpu"),
    ("storage", Name("torch", "FloatStorage"), "0", "cpu", 4, None),
    ("module", Name("torch", "FloatStorage"), "0", "cpu", 4), ("storage", FLOAT, "0", "cpu", 4), ("storage", "FloatStorage", "0", "cpu", 4),
    ("storage", Name("torch", "FloatStorage"), 0, "cpu", 4), ("storage", Name("torch", "FloatStorage"), "0", None, 4),
    ("storage", Name("torch", "FloatStorage"), "0", "cpu", 4.0), ("storage", Name("torch", "FloatStorage"), "0", "cpu", True),
    ("storage", Name("torch", "FloatStorage"), ("0",), "cpu", 4), (None, Name("torch", "FloatStorage"), "0", "cpu", 4), ([],), (1,),
])  # fmt: skip
def test_ids_of_storages(parts: Any) -> None:
    with pytest.raises(pickle.UnpicklingError):
        torch.load(file(pickled(Saved(*parts)), {"0": BYTES}))


@pytest.mark.parametrize("location", ["", "cpu0", "cuda", "cuda:0", "meta:x", "npu", "a" * 1000, "cpu:" + "9" * 5000, "cpu:\u00b2"])
def test_locations(location: str) -> None:
    with pytest.raises((RuntimeError, ValueError)):
        torch.load(file(pickled(tensor(of=storage(location=location))), {"0": BYTES}))


def test_bools_are_zero_or_one(tmp_path: Path) -> None:
    path = tmp_path / "x.pt"
    path.write_bytes(file(pickled(tensor(of=storage(kind="BoolStorage"))), {"0": bytes([0, 1, 2, 255])}).getvalue())
    for mapped in (False, True):
        found = torch.load(path, mmap=mapped)
        assert found.view(torch.uint8).tolist() == [0, 1, 1, 1]
    with pytest.raises(pickle.UnpicklingError):
        torch.load(file(pickled(Call(Name("torch._utils", "_rebuild_tensor_v3"), (
            storage(4, "UntypedStorage"), 0, (4,), (1,), False, None, Name("torch", "bool")))), {"0": bytes([0, 1, 2, 255])}))


def test_bits_are_of_dtypes_that_have_them() -> None:
    def load(kind: str, nbytes: int, metadata: Any) -> Any:
        return torch.load(file(pickled(tensor(0, (4,), (1,), False, None, metadata, of=storage(4, kind))), {"0": bytes(nbytes)}))

    assert load("ComplexFloatStorage", 32, {"conj": True}).is_conj()
    assert load("FloatStorage", 16, {"neg": True}).is_neg()
    for kind, nbytes, bit in [("FloatStorage", 16, "conj"), ("BoolStorage", 4, "neg"), ("LongStorage", 32, "conj")]:
        with pytest.raises(RuntimeError):
            load(kind, nbytes, {bit: True})
    for metadata in ({"conj": 1}, {"other": True}, {1: True}, [], "conj", 3):
        with pytest.raises(pickle.UnpicklingError):
            load("ComplexFloatStorage", 32, metadata)


def entries(**changed: Entry) -> list[Entry]:
    found = {
        "pickle": Entry("archive/data.pkl", pickled(tensor())), "storage": Entry("archive/data/0", BYTES),
        "version": Entry("archive/version", b"3\n"),
    } | changed  # fmt: skip
    return list(found.values())


def long(*fields: int) -> bytes:
    return struct.pack(f"<HH{len(fields)}Q", 1, 8 * len(fields), *fields)


ALL = 0xFFFFFFFF
SOUND = {
    "stored": entries(),
    "deflated": entries(storage=Entry("archive/data/0", BYTES, packed=deflated(BYTES))),
    "no checksum": entries(storage=Entry("archive/data/0", BYTES, crc=0)),
    "long sizes": entries(storage=Entry("archive/data/0", BYTES, size=ALL, packed_size=ALL, extra=long(16, 16), local_extra=long(16, 16))),
    "folder": entries(folder=Entry("archive/data/", b"")),
}
UNSOUND = {
    "more than there is": entries(storage=Entry("archive/data/0", BYTES, size=32, packed_size=32)),
    "far more than there is": entries(storage=Entry("archive/data/0", BYTES, size=2**31, packed_size=2**31)),
    "more than is stored": entries(storage=Entry("archive/data/0", BYTES, size=2**31)),
    "less than is stored": entries(storage=Entry("archive/data/0", BYTES, size=8)),
    "another checksum": entries(storage=Entry("archive/data/0", BYTES, crc=5)),
    "unpacks to less": entries(storage=Entry("archive/data/0", BYTES, packed=deflated(BYTES[:8]))),
    "unpacks to more": entries(storage=Entry("archive/data/0", BYTES, packed=deflated(BYTES + BYTES))),
    "does not unpack": entries(storage=Entry("archive/data/0", BYTES, packed=b"\xff" * 9)),
    "ends within": entries(storage=Entry("archive/data/0", BYTES, packed=deflated(BYTES)[:-3])),
    "packed in another way": entries(storage=Entry("archive/data/0", BYTES, method=12)),
    "encrypted": entries(storage=Entry("archive/data/0", BYTES, flags=1)),
    "long sizes untrue": entries(storage=Entry("archive/data/0", BYTES, size=ALL, packed_size=ALL, extra=long(2**60, 2**60))),
    "long sizes two": entries(storage=Entry("archive/data/0", BYTES, size=ALL, packed_size=ALL, extra=long(2**60, 16))),
    "long sizes missing": entries(storage=Entry("archive/data/0", BYTES, size=ALL, packed_size=ALL)),
    "long sizes short": entries(storage=Entry("archive/data/0", BYTES, size=ALL, packed_size=ALL, extra=long(16))),
    "long place": entries(storage=Entry("archive/data/0", BYTES, header=ALL, extra=long(2**63))),
    "twice": entries(again=Entry("archive/data/0", BYTES)),
    "the same bytes twice": entries(again=Entry("archive/data/1", BYTES, header=0)),
    "within another": entries(again=Entry("archive/data/1", BYTES, header=5)),
    "at another's place": entries(storage=Entry("archive/data/0", BYTES, header=0), pickle=Entry("archive/data.pkl", pickled(tensor()))),
    "above": entries(again=Entry("archive/../data/1", BYTES)),
    "of another folder": entries(again=Entry("other/data/1", BYTES)),
    "of no folder": entries(again=Entry("data", BYTES)),
    "with a zero": entries(again=Entry("archive/da\0ta", BYTES)),
    "no text": entries(again=Entry(b"archive/\xff", BYTES)),
}  # fmt: skip


@pytest.mark.parametrize("name", SOUND)
@pytest.mark.parametrize("mapped", [False, True])
def test_sound_archives(name: str, mapped: bool, tmp_path: Path) -> None:
    (tmp_path / "x.pt").write_bytes(archive(SOUND[name]))
    assert torch.load(tmp_path / "x.pt", mmap=mapped).tolist() == [0.0, 1.0, 2.0, 3.0]


@pytest.mark.parametrize("name", UNSOUND)
@pytest.mark.parametrize("mapped", [False, True])
def test_unsound_archives(name: str, mapped: bool, tmp_path: Path) -> None:
    mapped = mapped and name != "another checksum"  # what is mapped is not read
    (tmp_path / "x.pt").write_bytes(archive(UNSOUND[name]))
    for weights_only in (True, False):
        with pytest.raises(RuntimeError):
            torch.load(tmp_path / "x.pt", mmap=mapped, weights_only=weights_only)


@pytest.mark.parametrize("end", [
    {"disk": 1}, {"first": 1}, {"here": 1}, {"count": 2}, {"here": 2, "count": 2}, {"here": 60000, "count": 60000}, {"size": 10},
    {"size": 2**31}, {"start": 2**31}, {"start": 5}, {"size": 0, "here": 0, "count": 0}, {"size": ALL, "start": ALL},
])  # fmt: skip
def test_directories(end: dict[str, int]) -> None:
    with pytest.raises(RuntimeError):
        torch.load(io.BytesIO(archive(entries(), **end)))


def test_what_packs_too_well_is_not_unpacked() -> None:
    plenty = bytes(1 << 20)
    packed = deflated(plenty)
    bomb = [Entry("archive/data.pkl", pickled(storage(1 << 20, "ByteStorage"))), Entry("archive/version", b"3\n")]
    bomb += [Entry(f"archive/data/{n}", plenty, packed=packed) for n in range(100)]
    with pytest.raises(RuntimeError, match="would unpack to 104857600"):
        torch.load(io.BytesIO(archive(bomb)))
    assert torch.load(io.BytesIO(archive(bomb[:10]))).nbytes() == 1 << 20


@pytest.mark.parametrize("version", [b"", b"abc", b"0\n", b"-1\n", b"11\n", b"9" * 5000, b"\xff", None])
def test_versions(version: bytes | None) -> None:
    with pytest.raises(RuntimeError):
        torch.load(file(pickled(1), version=version))


@pytest.mark.parametrize("order", [b"", b"mixed", b"\xff\xfe", b"little\n", b"big" * 1000])
def test_byte_orders(order: bytes) -> None:
    with pytest.raises(ValueError, match="Unknown endianness type: "):
        torch.load(file(pickled(1), byteorder=order))


def test_what_is_no_archive() -> None:
    with pytest.raises(EOFError):
        torch.load(io.BytesIO())
    for data in (b"P", b"PK", b"PK\5\6" + bytes(18), b"hello world" * 1000):
        for safe in (True, False):
            with pytest.raises(pickle.UnpicklingError):
                torch.load(io.BytesIO(data), weights_only=safe)
    for data in (b"\x80\x02N.", b"\x80\x02K\x01."):
        with pytest.raises(RuntimeError, match="Invalid magic number; corrupt file"):
            torch.load(io.BytesIO(data))
    whole = file(pickled(tensor()), {"0": BYTES}).getvalue()
    for cut in range(4, len(whole) - 1):
        with pytest.raises(RuntimeError):
            torch.load(io.BytesIO(whole[:cut]))


class Wrapper(torch.Tensor):
    @classmethod
    def __torch_dispatch__(cls, function: Any, types: Any, arguments: Any = (), options: Any = None) -> Any:
        raise AssertionError("nothing is computed")


@pytest.mark.parametrize("make", [
    lambda size: torch.empty(size, device="meta"), lambda size: torch.empty(1, device="meta").expand(size),
    lambda size: torch.empty(1, device="meta").as_strided(size, size), lambda size: torch.empty(1, device="meta").reshape(size),
    lambda size: torch.Tensor._make_wrapper_subclass(Wrapper, size),
])  # fmt: skip
def test_more_dimensions_than_numpy_has(make: Any) -> None:
    assert make((1,) * 32).shape == (1,) * 32
    for dimensions in (65, 100, 1000):
        with pytest.raises((ValueError, RuntimeError)):
            make((1,) * dimensions)
