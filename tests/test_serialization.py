"""Files go to torch and come from torch unchanged."""

from __future__ import annotations

import collections
import fractions
import io
import json
import pickle
import types
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.files.file_cases import FOLDER, TABLE, describe

import torchcompat as torch
from torchcompat import serialization
from torchcompat._files import pickler

# The only records that differ: ours say nothing of the byte layout of torch's own ZIP writer, and name the content otherwise.
OWN = {".format_version", ".data/serialization_id"}


def records(file: Any) -> dict[str, bytes]:
    with zipfile.ZipFile(file) as archive:
        return {name.split("/", 1)[1]: archive.read(name) for name in archive.namelist()}


def round_trip(value: Any, **arguments: Any) -> Any:
    buffer = io.BytesIO()
    serialization.save(value, buffer)
    buffer.seek(0)
    return serialization.load(buffer, **arguments)


@pytest.mark.parametrize("mmap", [False, True])
@pytest.mark.parametrize("name", ["tensors", "training"])
def test_files_of_torch(name: str, mmap: bool) -> None:
    loaded = serialization.load(FOLDER / f"{name}.pt", mmap=mmap)
    assert json.loads(json.dumps(describe(torch, loaded))) == TABLE.recorded[name]


@pytest.mark.parametrize("name", ["tensors", "training"])
def test_saved_again_every_record_is_torchs(name: str, tmp_path: Path) -> None:
    serialization.save(serialization.load(FOLDER / f"{name}.pt"), tmp_path / f"{name}.pt")
    theirs, ours = records(FOLDER / f"{name}.pt"), records(tmp_path / f"{name}.pt")
    assert ours.keys() | {".format_version"} == theirs.keys()
    for record in ours.keys() - OWN:
        assert ours[record] == theirs[record], record


def test_records_are_aligned_and_named_after_the_file(tmp_path: Path) -> None:
    path = tmp_path / "some.model.pt"
    serialization.save([torch.ones(3), torch.ones(5)], path)
    raw = path.read_bytes()
    with zipfile.ZipFile(path) as archive:
        for info in archive.infolist():
            assert info.filename.startswith("some.model/")
            sizes = np.frombuffer(raw[info.header_offset + 26 : info.header_offset + 30], "<u2")
            start = info.header_offset + 30 + int(sizes.sum())
            assert start % 64 == 0
            assert raw[start : start + info.file_size] == archive.read(info)


def test_shared_memory_stays_shared() -> None:
    base = torch.arange(12.0)
    a, b, c = round_trip([base, base.reshape(3, 4).t(), base[5:]])
    a[6] = 100.0
    assert b[2, 1].item() == 100.0
    assert c[1].item() == 100.0
    assert c.storage_offset() == 5
    d, e = round_trip([base, base.clone()])
    d[0] = 7.0
    assert e[0].item() == 0.0


def test_the_whole_storage_of_a_view_is_saved() -> None:
    view = round_trip(torch.arange(10)[3:5])
    assert view.tolist() == [3, 4]
    assert view.storage_offset() == 3


def test_loaded_memory_is_the_callers_own(tmp_path: Path) -> None:
    path = tmp_path / "x.pt"
    serialization.save(torch.ones(3), path)
    before = path.read_bytes()
    for mmap in (False, True):
        loaded = serialization.load(path, mmap=mmap)
        loaded += 1
        assert loaded.tolist() == [2.0, 2.0, 2.0]
    assert path.read_bytes() == before


def test_requires_grad_and_parameters() -> None:
    x = torch.ones(2, requires_grad=True)
    p = torch.nn.Parameter(torch.ones(2))
    y, q, z = round_trip([x, p, x * 2])
    assert y.requires_grad and y.is_leaf and type(y) is torch.Tensor
    assert type(q) is torch.nn.Parameter and q.requires_grad
    assert z.requires_grad and z.is_leaf


def test_tensor_attributes_come_back() -> None:
    x = torch.ones(2)
    x.note = "kept"
    assert round_trip(x).note == "kept"


def test_big_endian_files() -> None:
    values = {"f": torch.arange(4.0), "c": torch.tensor([1 + 2j]), "b": torch.tensor([True]), "h": torch.ones(2, dtype=torch.bfloat16)}
    buffer = io.BytesIO()
    serialization.save(values, buffer)
    swapped = io.BytesIO()
    with zipfile.ZipFile(swapped, "w") as archive:
        for number, (name, data) in enumerate(records(buffer).items()):
            if name == "byteorder":
                data = b"big"
            if name.startswith("data/"):
                width = {"0": "u4", "1": "u4", "2": "u1", "3": "u2"}[name[5:]]
                data = np.frombuffer(data, width).byteswap().tobytes()
            assert number < 20
            archive.writestr("archive/" + name, data)
    swapped.seek(0)
    loaded = serialization.load(swapped)
    assert {k: v.tolist() for k, v in loaded.items()} == {k: v.tolist() for k, v in values.items()}


def test_a_file_object_is_written_and_read_where_it_stands() -> None:
    buffer = io.BytesIO()
    buffer.write(b"head")
    serialization.save(torch.ones(2), buffer)
    buffer.seek(4)
    assert serialization.load(buffer).tolist() == [1.0, 1.0]


@pytest.mark.parametrize("where", ["cpu", torch.device("cpu"), {"cpu": "cpu"}, lambda storage, location: storage, lambda storage,
                                   location: None])
def test_map_location(where: Any) -> None:
    assert round_trip(torch.ones(2), map_location=where).tolist() == [1.0, 1.0]


def test_map_location_to_a_device_that_is_not_here() -> None:
    with pytest.raises(RuntimeError, match=r"Attempting to deserialize object on a CUDA device but torch.cuda.is_available\(\) is False"):
        round_trip(torch.ones(2), map_location="cuda")


def test_unknown_globals_are_refused_by_name() -> None:
    path = FOLDER / "unsafe.pt"
    with pytest.raises(pickle.UnpicklingError) as caught:
        serialization.load(path)
    text = str(caught.value)
    assert text.startswith("Weights only load failed. This file can still be loaded, to do so you have two options, ")
    assert (
        "WeightsUnpickler error: Unsupported global: GLOBAL fractions.Fraction was not an allowed global by default. "
        "Please use `torch.serialization.add_safe_globals([fractions.Fraction])`"
    ) in text
    assert serialization.load(path, weights_only=False)["third"] == fractions.Fraction(1, 3)
    with serialization.safe_globals([fractions.Fraction]):
        assert serialization.load(path)["third"] == fractions.Fraction(1, 3)
    with pytest.raises(pickle.UnpicklingError):
        serialization.load(path)


class Exploit:
    def __init__(self, function: Any, *arguments: Any) -> None:
        self.call = function, arguments

    def __reduce__(self) -> Any:
        return self.call


@pytest.mark.parametrize(
    ("function", "text"),
    [
        (__import__("os").getcwd, r"Trying to load unsupported GLOBAL posix.getcwd whose module posix is blocked"),
        (eval, r"Unsupported global: GLOBAL eval was not an allowed global by default"),
        (__import__("subprocess").check_output, r"Unsupported global: GLOBAL subprocess.check_output was not"),
    ],
)
def test_code_is_not_run(function: Any, text: str) -> None:
    with pytest.raises(pickle.UnpicklingError, match=text):
        round_trip([Exploit(function, "1")])


def test_state_is_not_set_on_anything_else() -> None:
    data = b"\x80\x02ctorch\nTensor\n}X\x01\x00\x00\x00aK\x01sb."
    buffer = io.BytesIO()
    serialization.save(1, buffer)
    forged = io.BytesIO()
    with zipfile.ZipFile(forged, "w") as archive:
        for name, content in records(buffer).items():
            archive.writestr("archive/" + name, data if name == "data.pkl" else content)
    forged.seek(0)
    with pytest.raises(pickle.UnpicklingError, match="Can only build Tensor, Parameter, OrderedDict or types allowlisted"):
        serialization.load(forged)


def test_safe_globals_list() -> None:
    serialization.add_safe_globals([fractions.Fraction, (collections.deque, "some.other.name")])
    try:
        assert serialization.get_safe_globals() == [fractions.Fraction, (collections.deque, "some.other.name")]
    finally:
        serialization.clear_safe_globals()
    assert serialization.get_safe_globals() == []


def test_whole_modules_cross_over() -> None:
    linear = serialization.load(FOLDER / "module.pt", weights_only=False)
    assert type(linear) is torch.nn.Linear
    assert json.loads(json.dumps(describe(torch, linear.state_dict()))) == TABLE.recorded["module"]
    buffer = io.BytesIO()
    serialization.save(linear, buffer)
    assert b"ctorch.nn.modules.linear\nLinear\n" in records(buffer)["data.pkl"]


def test_errors() -> None:
    with pytest.raises(AttributeError, match="expected 'f' to be string, path, or a file-like object with a 'write' attribute"):
        serialization.save(1, 3)  # type: ignore[arg-type]  # wrong on purpose
    with pytest.raises(pickle.UnpicklingError, match="(?s)Weights only load failed.*Unsupported operand 110"):
        serialization.load(io.BytesIO(b"no archive"))
    with pytest.raises(pickle.UnpicklingError, match="invalid load key, 'n'"):
        serialization.load(io.BytesIO(b"no archive"), weights_only=False)
    with pytest.raises(RuntimeError, match="Invalid magic number; corrupt file"):
        serialization.load(io.BytesIO(pickle.dumps(1, 2)))
    with pytest.raises(RuntimeError, match="mmap can only be used with files saved with"):
        serialization.load(io.BytesIO(), mmap=True)
    saved = io.BytesIO()
    serialization.save(1, saved)
    saved.seek(0)
    with pytest.raises(ValueError, match="f must be a file path in order to use the mmap argument"):
        serialization.load(saved, mmap=True)
    with pytest.raises(RuntimeError, match="Can not safely load weights when explicit pickle_module is specified"):
        serialization.load(io.BytesIO(), pickle_module=pickle, weights_only=True)
    with pytest.raises(RuntimeError, match="Cannot save multiple tensors or storages that view the same data as different types"):
        x = torch.ones(2)
        serialization.save([x, x.view(torch.int32)], io.BytesIO())
    with pytest.raises(FileNotFoundError):
        serialization.load("there is no such file")


def test_types_are_named_alike_where_somebody_changed_the_standard_pickler(monkeypatch: pytest.MonkeyPatch) -> None:
    def by_value(pickler: Any, obj: Any) -> None:
        raise AssertionError("a foreign rule was used")

    changed = dict(pickle._Pickler.dispatch) | {type: by_value, types.FunctionType: by_value, dict: by_value, property: by_value}
    monkeypatch.setattr(pickle._Pickler, "dispatch", changed)
    pickler.pickler_class.cache_clear()
    try:
        file = io.BytesIO()
        serialization.save({"layer": torch.nn.Linear(1, 1)}, file)
        assert b"ctorch.nn.modules.linear\nLinear\n" in zipfile.ZipFile(file).read("archive/data.pkl")
    finally:
        pickler.pickler_class.cache_clear()
