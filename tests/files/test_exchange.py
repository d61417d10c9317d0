"""Whole modules, optimizers and everything beside them go to torch and come from torch, in files with an archive and without."""

from __future__ import annotations

import gzip
import io
import pickle
import pickletools
import zipfile
from pathlib import Path

import pytest
from tests.files.exchange_cases import FILES, FOLDER, TABLE, makers, write

import torchcompat as torch


@pytest.mark.parametrize("case", TABLE.recorded)
def test_as_torch(case: str) -> None:
    TABLE.assert_as_torch(torch, case)


def test_torch_reads_in_our_files_what_is_in_its_own() -> None:
    recorded = TABLE.recorded
    for name in makers(torch):
        kinds = {str(recorded[f"{file} {name}"])[:40] for file in FILES}
        assert len(kinds) == 1, (name, kinds)


def said(path: Path) -> tuple[set[tuple[str, object]], dict[str, int]]:
    """What pickles of a file name and hold, whatever of it they write once and refer to; and how many bytes of numbers an archive has,
    whose last digits are the processor's."""
    numbers: dict[str, bytes] = {}
    if zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            numbers = {name.partition("/")[2]: archive.read(name) for name in archive.namelist()}
            stream = io.BytesIO(numbers.pop("data.pkl"))
    else:  # an old file: a number, a version, how this system counts, and the objects, with the sources of their classes
        stream = io.BytesIO(gzip.open(path).read())
        for _ in range(3):
            pickle.load(stream)
    found = {(op.name, arg) for op, arg, _ in pickletools.genops(stream) if "PUT" not in op.name and "GET" not in op.name}
    return {(name, arg) for name, arg in found if numbers or name == "GLOBAL"}, {name: len(content) for name, content in numbers.items()}


def test_files_are_still_written_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("tests.files.exchange_cases.FOLDER", tmp_path)
    monkeypatch.setattr(torch.utils.hooks.RemovableHandle, "next_id", 0)  # hooks of modules that are saved are counted
    write(torch, "ours")
    for file in ("ours.pt", "ours_legacy.pt.gz"):
        (found, sizes), (expected, expected_sizes) = said(tmp_path / file), said(FOLDER / file)
        assert found and (found - expected, expected - found) == (set(), set()), file
        assert sizes == expected_sizes, file
