"""torchcompat against what real torch did: values, shapes, dtypes, strides, gradients, in-place forms, errors and their texts.

The cases were recorded by ``recorder.py``; torch is not needed to replay them.  Two lists say where torchcompat
falls short, and the tests hold both to exactly what is observed: ``not_yet.txt`` names the operations it does not have,
``deviations.json`` the cases it answers differently, with the reason.  ``oracle_replay.py --update`` keeps them.
"""

from __future__ import annotations

import numpy as np
from tests.oracle import oracle_replay as replay
import pytest
from tests.oracle.oracle_cases import DATA, Reader, contiguous_strides, cotangent, strided_array
from tests.oracle.oracle_operations import FAMILIES, METADATA_ONLY, OPERATIONS, Missing, resolve

import torchcompat as torch

ROWS = replay.listed_deviations()
HAVE = [operation for operation in OPERATIONS if operation not in replay.listed_missing()]


def listed(operation: str) -> set[tuple[str, str]]:
    return {(case, row["check"]) for row in ROWS if row["op"] == operation for case in row["cases"]}


@pytest.mark.parametrize("operation", HAVE)
def test_operation(operation: str) -> None:
    """Every recorded case of one operation deviates exactly where ``deviations.json`` says so."""
    observed = replay.Replay(torch, operation).run()
    expected = listed(operation)
    new = [f"{case} {check}: {text}" for (case, check), text in observed.items() if (case, check) not in expected]
    assert not new, f"{operation} deviates from torch in {len(new)} ways:\n" + "\n".join(new)
    healed = sorted(expected - observed.keys())
    assert not healed, f"{operation} no longer deviates here; remove it from deviations.json: {healed}"


def test_the_list_of_missing_operations_is_exact() -> None:
    assert replay.listed_missing() == replay.missing(torch)


def test_every_deviation_has_a_reason_and_an_operation() -> None:
    for row in ROWS:
        assert sorted(row) == ["cases", "check", "op", "reason"]
        assert row["reason"].strip(), f"{row['op']} {row['check']}: a deviation needs a reason"
        assert row["op"] in HAVE, f"{row['op']} is listed as missing or was not recorded"
        assert row["cases"], f"{row['op']} {row['check']}: no cases"
    keys = [(row["op"], row["check"], case) for row in ROWS for case in row["cases"]]
    assert len(keys) == len(set(keys))


@pytest.mark.parametrize("family", FAMILIES)
def test_the_recording_is_complete(family: str) -> None:
    """Each operation named has cases in its family's file, and the file has no others."""
    operations, _ = replay.family(family)
    assert list(operations) == FAMILIES[family].split()
    assert all(record["cases"] for record in operations.values())
    assert len({id_ for record in operations.values() for id_ in [case["id"] for case in record["cases"]]}) > 1


def test_no_recorded_error_names_a_path() -> None:
    texts = [e["error"][1] for o in OPERATIONS for e in replay.recorded(o)[0]["errors"]]
    assert len(texts) > 300
    assert not [text for text in texts if "/" + "home" in text or "site-packages" in text]


class Doctored:
    """The library with one function replaced, to see that the replay notices."""

    def __init__(self, **functions: object) -> None:
        self.__dict__.update(functions)

    def __getattr__(self, name: str) -> object:
        return getattr(torch, name)


@pytest.mark.parametrize(
    "check, wrong",
    [
        ("values", lambda x: torch.exp(x) + 0.1),
        ("shape", lambda x: torch.exp(x)[None]),
        ("dtype", lambda x: torch.exp(x).double() if x.dtype != torch.float64 else torch.exp(x).float()),
        ("gradient", lambda x: torch.exp(x) + (x - x.detach()) if x.is_floating_point() else torch.exp(x)),
        ("requires_grad", lambda x: torch.exp(x).detach()),
        ("structure", lambda x: (torch.exp(x), torch.exp(x))),
        ("call", lambda x: torch.exp(x, nonsense=1)),
    ],
)
def test_the_replay_notices(check: str, wrong: object) -> None:
    seen = replay.Replay(Doctored(exp=wrong), "exp").run()
    assert check in {kind for _, kind in seen} - {kind for _, kind in listed("exp")}


def test_the_replay_notices_strides_errors_and_missing_operations() -> None:
    strided = Doctored(transpose=lambda x, i, j: torch.transpose(x, i, j).contiguous())
    assert "strides" in {kind for _, kind in replay.Replay(strided, "transpose").run()}

    def silent(*args: object, **kwargs: object) -> None:
        return None

    def other_text(*args: object, **kwargs: object) -> None:
        raise RuntimeError("something else")

    assert "error type" in {kind for _, kind in replay.Replay(Doctored(cat=silent), "cat").run()}
    assert "error text" in {kind for _, kind in replay.Replay(Doctored(cat=other_text), "cat").run()}

    class Bare:
        Tensor = object

    with pytest.raises(Missing, match=r"Tensor\.add"):
        resolve(Bare, "add")
    assert replay.missing(Bare) == sorted(OPERATIONS)


def test_updating_keeps_reasons_and_drops_what_healed() -> None:
    rows = [{"op": "exp", "check": "values", "cases": ["a", "b"], "reason": "why"}]
    observed = {"exp": {("b", "values"): "x", ("c", "values"): "y"}}
    kept = {"op": "exp", "check": "values", "cases": ["b"], "reason": "why"}
    new = {"op": "exp", "check": "values", "cases": ["c"], "reason": ""}
    assert replay.updated_rows(rows, observed, add=False) == [kept]
    assert replay.updated_rows(rows, observed, add=True) == [new, kept]


def test_cotangents_and_strides_are_what_the_recording_used() -> None:
    values = cotangent((2, 2), "float64")
    np.testing.assert_allclose(values, [[0.2360679775, -0.5278640450], [0.7082039325, -0.0557280900]], rtol=1e-9)
    assert contiguous_strides((2, 0, 3)) == (3, 3, 1)
    array = strided_array(np.arange(6.0).reshape(2, 3), (1, 2))
    assert array.strides == (8, 16) and array.tolist() == [[0, 1, 2], [3, 4, 5]]
    reader = Reader(torch, {"float32": np.arange(6, dtype=np.float32)})
    tensor = reader.value({"t": "float32", "at": 0, "s": [2, 3], "st": [1, 2], "g": 1})
    assert tensor.stride() == (1, 2) and tensor.requires_grad and tensor.tolist() == [[0, 1, 2], [3, 4, 5]]


def test_only_unspecified_values_are_left_out() -> None:
    assert METADATA_ONLY < set(FAMILIES["creation"].split())
    assert {path.stem for path in DATA.glob("*.npz")} == set(FAMILIES)
