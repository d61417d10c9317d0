"""Packages, against what was recorded from torch; damaged ones are refused."""

from __future__ import annotations

import io
import pickle
import zipfile
from pathlib import Path

import pytest
from tests.files.package_cases import FILE, TABLE, write
from tests.recording import FIXTURES

import torchcompat as torch
from torchcompat.package import PackageImporter

GROUPS = 4


@pytest.mark.parametrize("group", range(GROUPS))
def test_packages_are_as_torchs(group: int) -> None:
    TABLE.assert_as_torch(torch, *TABLE.part(group, GROUPS))


def test_records_are_those_that_torch_writes(tmp_path: Path) -> None:
    write(torch, tmp_path / FILE)
    ours, torchs = [zipfile.ZipFile(folder / FILE) for folder in (tmp_path, FIXTURES)]
    assert ours.namelist() == torchs.namelist()
    same = [name for name in ours.namelist() if ours.read(name) == torchs.read(name)]
    assert {Path(name).name for name in set(ours.namelist()) - set(same)} <= {"_mock.py", "toolbox.py", "__init__.py", "serialization_id",
                                                                              "saws.py", "python_version", "weights.pkl", "net.pkl"}


def test_damaged_packages_are_refused() -> None:
    data = (FIXTURES / FILE).read_bytes()
    refused = 0
    for end in range(0, len(data), 97):
        with pytest.raises((RuntimeError, EOFError)):
            PackageImporter(io.BytesIO(data[:end]))
        refused += 1
    assert refused > 20


def test_storages_have_the_size_that_is_said(tmp_path: Path) -> None:
    with zipfile.ZipFile(FIXTURES / FILE) as archive:
        archive.extractall(tmp_path)
    (folder,) = tmp_path.iterdir()
    (folder / ".data" / "0.storage").write_bytes(b"123")
    importer = PackageImporter(folder)
    with pytest.raises(RuntimeError, match="has 3 bytes"):
        importer.load_pickle("model", "weights.pkl")
    (folder / "model" / "weights.pkl").write_bytes(pickle.dumps(("storage", 3)) + b"junk")
    assert importer.load_pickle("model", "weights.pkl") == ("storage", 3)
    outside = b"\x80\x03(X\x07\x00\x00\x00storagectorch\nFloatStorage\nX\x08\x00\x00\x00../../abX\x03\x00\x00\x00cpuK\x01tQ."
    (folder / "model" / "weights.pkl").write_bytes(outside)
    with pytest.raises(RuntimeError, match="no storage is called"):
        importer.load_pickle("model", "weights.pkl")
