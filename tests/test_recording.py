"""What was recorded from torch: every file has its table, every case its outcome; and comparisons find what differs."""

from __future__ import annotations

from typing import Any

import pytest

from tests.record import tables
from tests.recording import FIXTURES, Recording, Table, attempted, rounded

TABLES = tables()
CALLS = [table for table in TABLES.values() if isinstance(table, Table)]


def test_every_file_is_recorded_by_one_table() -> None:
    found = sorted(path for path in FIXTURES.rglob("*") if path.is_file())
    by_table = [path for table in TABLES.values() for path in FIXTURES.glob(table.files) if not table.files.startswith("..")]
    differ = [table.differ_path for table in CALLS if table.differ]
    assert sorted([*by_table, *differ]) == found
    assert all(list(FIXTURES.glob(table.files)) for table in TABLES.values())


@pytest.mark.parametrize("table", CALLS, ids=lambda table: table.name)
def test_every_case_is_recorded(table: Table) -> None:
    """Cases that depend on what torch has cannot be told without it."""
    assert table.recorded
    if not callable(table.cases):
        assert list(table.cases) == list(table.recorded)
    assert set(table.differ) <= set(table.recorded)
    assert not [case for case, found in table.differ.items() if not table.difference(table.recorded[case], found, case)]


def made(recorded: Any, outcome: Any, differ: Any = None, **options: Any) -> Table:
    """A table of one case."""
    table = Table("made", ["case"], lambda torch, case: outcome, **options)
    table.recorded, table.differ = {"case": recorded}, {} if differ is None else {"case": differ}
    return table


NAN, INF = float("nan"), float("inf")
FINER = {"tolerance": (0.1, 0.0), "doubles": (1e-9, 0.0)}


@pytest.mark.parametrize(("recorded", "outcome", "options", "told"), [
    ({"a": [1, "x"]}, {"a": (1, "x")}, {}, ""),
    ([1.0, NAN], [1, NAN], {}, ""),
    ({"a": [1, 2]}, {"a": [1, 3]}, {}, "case['a'][1]: 3 where torch gives 2"),
    ([1], [1, 2], {}, "case: [1, 2] where torch gives [1]"),
    ({"a": 1}, {"b": 1}, {}, "case: {'b': 1} where torch gives {'a': 1}"),
    (None, 0, {}, "case: 0 where torch gives None"),
    (1.0, 1.0 + 1e-9, {}, "case: 1.000000001 where torch gives 1.0"),
    (1.0, 1.01, {"tolerance": (0.02, 0.0)}, ""),
    (1.0, 1.03, {"tolerance": (0.02, 0.0)}, "case: 1.03 where torch gives 1.0"),
    (0.0, 0.01, {"tolerance": (0.5, 0.0)}, "case: 0.01 where torch gives 0.0"),
    (1.0, NAN, {"tolerance": (1.0, 1.0)}, "case: nan where torch gives 1.0"),
    (INF, 1.0, {"tolerance": (1.0, 1.0)}, "case: 1.0 where torch gives inf"),
    (3, 3.001, {"tolerance": (1.0, 1.0)}, "case: 3.001 where torch gives 3"),
    ({"dtype": "torch.float64", "data": [1.0]}, {"dtype": "torch.float64", "data": [1.01]}, FINER,
     "case['data'][0]: 1.01 where torch gives 1.0"),
    ({"dtype": "torch.float32", "data": [1.0]}, {"dtype": "torch.float32", "data": [1.01]}, FINER, ""),
    ("TypeError: a", "TypeError: b", {"same": lambda a, b: a[:9] == b[:9]}, ""),
    ("a", "b", {"differ": "b"}, ""),
    ("a", "a", {"differ": "b"}, "case: 'a', which is known to give 'b'"),
])
def test_differences_are_found(recorded: Any, outcome: Any, options: Any, told: str) -> None:
    table = made(recorded, outcome, **options)
    if not told:
        table.assert_as_torch(None, "case")
        return
    with pytest.raises(AssertionError) as error:
        table.assert_as_torch(None, "case")
    assert str(error.value) == told


def test_nothing_compared_is_no_agreement() -> None:
    with pytest.raises(AssertionError):
        made(1, 1).assert_as_torch(None)


def test_what_is_recorded_is_what_is_replayed(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.recording.FIXTURES", tmp_path)
    for zipped in (False, True):
        table = Table("some", lambda torch: [torch, "fails"], lambda torch, case: attempted(lambda: {"a": (1 / 3, {"x": 1}[case])}),
                      digits=3, zipped=zipped)
        table.record("x")
        assert table.recorded == {"x": {"a": [0.333, 1]}, "fails": {"error": "KeyError", "text": "'fails'"}}
    table.write_differences("y")
    assert table.differ == {"x": {"a": [1 / 3, 1]}} and rounded({"a": [NAN, True]}, 2)["a"][1] is True


def test_recordings_that_are_no_tables_name_their_files() -> None:
    found = {table.name for table in TABLES.values() if isinstance(table, Recording)}
    assert found == {"oracle", "complex", "exchanged_files", "extremes", "files", "jit_files", "package_file", "signatures", "torch_names"}
