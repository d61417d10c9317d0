"""Whole modules, optimizers and everything beside them go to torch and come from torch, in files with an archive and without."""

from __future__ import annotations

import gzip
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


def test_files_are_still_written_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("tests.files.exchange_cases.FOLDER", tmp_path)
    write(torch, "ours")
    assert (tmp_path / "ours.pt").read_bytes() == (FOLDER / "ours.pt").read_bytes()
    assert gzip.open(tmp_path / "ours_legacy.pt.gz").read() == gzip.open(FOLDER / "ours_legacy.pt.gz").read()
