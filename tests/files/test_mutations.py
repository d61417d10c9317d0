"""Files with anything changed in them give torch's errors, or tensors that lie in their memory; nothing else."""

from __future__ import annotations

import collections
import warnings
from pathlib import Path

import pytest
from tests.files.mutate import KINDS, mutated, outcome

COUNT = 3000
"""Files of each kind; `mutate` is also a script for more."""


@pytest.mark.parametrize("kind", KINDS)
def test_damaged_files(kind: str) -> None:
    found: collections.Counter[str] = collections.Counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the version of the pickle
        for number in range(COUNT):
            try:
                found[outcome(mutated(kind, number))] += 1
            except Exception as error:
                error.add_note(f"file {number} of {kind}")
                raise
    assert len(KINDS) * COUNT >= 20_000
    # Else the damage is such that nothing behind the first check is ever reached.
    assert found["loaded"] >= 5 and found["RuntimeError"] >= 20 and len(found) >= 3, found


@pytest.mark.parametrize("kind", ["geometry", "archive_fields", "archive_bytes"])
def test_damaged_files_that_are_mapped(kind: str, tmp_path: Path) -> None:
    for number in range(COUNT, COUNT + 200):
        outcome(mutated(kind, number), tmp_path / "x.pt")
