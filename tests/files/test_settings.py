"""`torch.serialization` beside `save` and `load`, against torch; and files of the old format that are damaged, or older still."""

from __future__ import annotations

import collections
import io
import pickle
import random
import struct
import tarfile
from pathlib import Path
from typing import Any

import pytest
from tests.files.forge import Call, Name, Saved, pickled
from tests.files.setting_cases import TABLE

import torchcompat as torch

MAGIC = pickle.dumps(0x1950A86A20F9469CFC6C, 2) + pickle.dumps(1001, 2) + pickle.dumps({"little_endian": True}, 2)
ALLOWED = (pickle.UnpicklingError, RuntimeError, EOFError, ValueError)


@pytest.mark.parametrize("case", TABLE.recorded)
def test_as_torch(case: str) -> None:
    TABLE.assert_as_torch(torch, case)


def old(value: Any, keys: Any, *storages: tuple[int, bytes]) -> io.BytesIO:
    return io.BytesIO(MAGIC + pickled(value) + pickle.dumps(keys, 2) + b"".join(struct.pack("<q", n) + data for n, data in storages))


def vector(count: int, *, size: int | None = None, view: Any = None, kind: str = "FloatStorage", offset: int = 0) -> Call:
    saved = Saved("storage", Name("torch", kind), "0", "cpu", count, view)
    size = count if size is None else size
    return Call(Name("torch._utils", "_rebuild_tensor_v2"),
                (saved, offset, (size,), (1,), False, Call(Name("collections", "OrderedDict"), ())))


@pytest.mark.parametrize("safe", [True, False])
def test_the_old_format_by_hand(safe: bool) -> None:
    data = struct.pack("<3f", 1, 2, 3)
    assert torch.load(old(vector(3), ["0"], (3, data)), weights_only=safe).tolist() == [1.0, 2.0, 3.0]
    assert torch.load(old(vector(3, size=2, view=("1", 1, 2)), ["0"], (3, data)), weights_only=safe).tolist() == [2.0, 3.0]
    for wrong in (
            old(vector(2**40), ["0"], (2**40, data)), old(vector(3), ["0"], (2**62, data)), old(vector(3), ["0"], (-1, data)),
            old(vector(-3), ["0"], (3, data)), old(vector(3, size=4), ["0"], (3, data)), old(vector(3, offset=2**62), ["0"], (3, data)),
            old(vector(3), ["1"], (3, data)), old(vector(3), {"0": 1}, (3, data)), old(vector(3), [["0"]], (3, data)),
            old(vector(3, size=2, view=("1", 2, 2)), ["0"], (3, data)), old(vector(3, size=2, view=("1", -1, 2)), ["0"], (3, data)),
            old(vector(3, size=2, view=("1", 2**62, 2**62)), ["0"], (3, data)), old(vector(3, view=7), ["0"], (3, data)),
            old([vector(3), vector(2)], ["0"], (3, data)), old(vector(3, kind="NoStorage"), ["0"], (3, data)),
            old(Saved("module", 1), ["0"]), old(Saved("storage"), ["0"]), old(Saved(), [])):
        with pytest.raises((*ALLOWED, AttributeError, AssertionError) if not safe else ALLOWED):
            torch.load(wrong, weights_only=safe)


def test_bools_of_old_files_are_bools() -> None:
    assert torch.load(old(vector(3, kind="BoolStorage"), ["0"], (3, b"\0\2\xff"))).tolist() == [False, True, True]


@pytest.mark.filterwarnings("ignore:Detected pickle protocol")
def test_damaged_old_files() -> None:
    value = {"a": torch.arange(6.0).reshape(2, 3).t(), "b": torch.eye(2).to_sparse(), "c": [torch.ones(2, dtype=torch.bool), "text", 2**40],
             "d": collections.OrderedDict(x=torch.nn.Parameter(torch.ones(1)))}
    stream = io.BytesIO()
    torch.save(value, stream, _use_new_zipfile_serialization=False)
    whole, draw = stream.getvalue(), random.Random(0)
    for cut in range(len(whole)):
        with pytest.raises(ALLOWED):
            torch.load(io.BytesIO(whole[:cut]))
    loaded = refused = 0
    for _ in range(1500):
        data = bytearray(whole)
        for _ in range(draw.choice((1, 1, 2, 5))):
            data[draw.randrange(len(data))] = draw.randrange(256)
        try:
            found = torch.load(io.BytesIO(bytes(data)))
            repr(found)
            loaded += 1
        except ALLOWED:
            refused += 1
    assert loaded and refused and loaded + refused == 1500


def tar(path: Path, **changed: bytes) -> Path:
    """A file as torch wrote it in its first year: a tensor of four numbers, a part of a storage of six."""
    row = [1, ("7", "cpu", Name("torch", "FloatStorage"))]
    members = {
        "storages": b"".join(pickled(part) for part in row) + struct.pack("<q6f", 6, *range(6)) + pickle.dumps([("8", "7", 2, 4)], 2),
        "tensors": pickle.dumps(1, 2) + pickled((3, "8", Name("torch", "Tensor"))) + struct.pack("<2i5q", 2, 0, 2, 2, 2, 1, 0),
        "pickle": pickled({"x": Saved3()}),
    } | changed
    with tarfile.open(path, "w", format=tarfile.PAX_FORMAT) as file:
        for name, data in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            file.addfile(info, io.BytesIO(data))
    return path


def Saved3() -> Any:
    from tests.files.forge import Raw

    return Raw(b"K\x03Q")


def test_tar_files(tmp_path: Path) -> None:
    path = tar(tmp_path / "x.pt")
    assert torch.load(path, weights_only=False)["x"].tolist() == [[2.0, 3.0], [4.0, 5.0]]
    with pytest.raises(RuntimeError, match="Cannot use ``weights_only=True`` with files saved in the legacy .tar format"):
        torch.load(path)
    geometry = pickle.dumps(1, 2) + pickled((3, "8", Name("torch", "Tensor")))
    row = pickle.dumps(1, 2) + pickled(("7", "cpu", Name("torch", "FloatStorage")))
    for wrong in ({"tensors": geometry + struct.pack("<2i5q", 2, 0, 2, 3, 2, 1, 0)}, {"tensors": geometry + struct.pack("<2i", 99, 0)},
                  {"tensors": geometry + struct.pack("<2i3q", 1, 0, 2, 1, -1)}, {"storages": row + struct.pack("<q", 2**60)},
                  {"storages": row + struct.pack("<q", -1)}, {"storages": row + struct.pack("<q", 6)}):
        with pytest.raises(RuntimeError):
            torch.load(tar(tmp_path / "y.pt", **wrong), weights_only=False)
