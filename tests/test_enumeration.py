"""The enumeration's entries, calls and report, on a module of NumPy in place of both sides; timings never decide a test."""

from __future__ import annotations

import json
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import torchcompat
from benchmarks.enumeration import __main__ as front
from benchmarks.enumeration import calls, report
from benchmarks.enumeration.entries import BEYOND, Catalogue, Entry, combinations, ordered, paths
from benchmarks.enumeration.worker import Enumerator
from benchmarks.harness import Failure
from benchmarks.worker import Worker


def spec(*args: Any, **kwargs: Any) -> calls.Spec:
    return {"args": calls.encoded(args), "kwargs": calls.encoded(kwargs)}


def grown(path: str, arguments: calls.Spec, size: str, dtype: str = "float32", layout: str = "rows") -> list[list[int]]:
    """The shapes of an entry's arrays."""
    return [x["shape"] for x in calls.arrays(calls.fitted(torchcompat, path, arguments, dtype, size, layout, "forward", 0))]


A, B, SQUARE = np.arange(6.0).reshape(2, 3), np.arange(12.0).reshape(3, 4) ** 0.5, np.arange(9.0).reshape(3, 3) % 5 + 1
IMAGE, KERNELS = np.ones((2, 3, 4, 4)), np.ones((5, 3, 2, 2))


@pytest.mark.parametrize("path, arguments, groups", [
    ("exp", (A,), [[2], [3]]),
    ("add", (A, A + 1), [[2, 2], [3, 3]]),
    ("add", (np.ones((2, 1, 3)), np.ones((4, 1))), [[2], [3], [4]]),
    ("matmul", (A, B), [[2], [3, 3], [4]]),
    ("sum", (A, 1), [[2], [3]]),
    ("linalg.inv", (SQUARE,), [[3, 3]]),
    ("outer", (A[0], A[1]), [[3, 3]]),
    ("nn.functional.conv2d", (IMAGE, KERNELS), [[2], [3, 3], [4], [4], [5]]),  # the kernel stays 2x2
    ("reshape", (A, (3, 2)), [[2, 2], [3, 3]]),
    ("zeros", ((2, 3),), [[2], [3]]),
    ("index_select", (A, 1, np.array([0, 2, 1, 1])), [[2], [3], [4]]),
])
def test_sizes_that_belong_together_grow_together(path: str, arguments: tuple[Any, ...], groups: list[list[int]]) -> None:
    def count(s: calls.Spec) -> int | None:
        try:
            return sum([t.numel() for t in calls.tensors(torchcompat, calls.call(torchcompat, path, s, "float64", "rows", "forward")())])
        except Exception:
            return None

    call = spec(*arguments)
    every = calls.leaves(call)
    found = calls.groups(count, call)
    assert sorted([sorted([every[i]["shape"][axis] if axis >= 0 else every[i] for i, axis in g]) for g in found]) == groups


def test_sizes_are_those_that_the_entry_names(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calls, "seconds", lambda function: 0.0)
    assert grown("add", spec(A, A), "tiny") == [[2, 3], [2, 3]]
    assert grown("add", spec(A, A), "10^3") == [[26, 39], [26, 39]]
    (n, m), _ = grown("add", spec(A, A), "odd")
    assert n % 2 == m % 2 == 1 and 8000 < n * m < 12000
    assert sorted(grown("exp", spec(A), "long")[0])[0] in (2, 3)
    assert grown("exp", spec(A), "batch 1")[0][0] == 1
    assert grown("add", spec(A, A), "10^3", layout="broadcast") == [[26, 39], [26, 1]]
    with pytest.raises(calls.Void, match="no batch"):
        grown("exp", spec(A[0]), "batch 1")
    with pytest.raises(calls.Void, match="refuses"):
        grown("matmul", spec(A, A), "10^3")


def test_what_is_dear_stays_smaller(monkeypatch: pytest.MonkeyPatch) -> None:
    took = iter([calls.LIMIT / 1000, calls.LIMIT / 20, calls.LIMIT])
    monkeypatch.setattr(calls, "seconds", lambda function: next(took))
    (n, m), _ = grown("add", spec(A, A), "10^6")
    assert 8000 < n * m < 12000  # ten times that would take 2.5 times the limit, by the growth before


def test_what_has_large_results_stays_smaller(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calls, "seconds", lambda function: 0.0)
    assert grown("diagflat", spec(A[0]), "long") == [[1002]]


def test_indices_refer_to_all_of_what_grew() -> None:
    index = np.array([0, 2, 1, 1])
    found = calls.fitted(torchcompat, "index_select", spec(A, 1, index), "float32", "10^4", "rows", "forward", 0)
    x, at = calls.arrays(found)
    assert at["high"] == x["shape"][1] > 3 and calls.values(at, 1).max() > 3


@pytest.mark.parametrize("small, holds", [
    (np.array([1.0, 2, 5, 9]), lambda x: (np.diff(x) >= 0).all()),
    (np.tril(SQUARE), lambda x: (np.tril(x) == x).all() and (np.diagonal(x) != 0).all()),
    (SQUARE + SQUARE.T, lambda x: (x == x.T).all() and (np.linalg.eigvalsh(x) > 0).all()),
    (np.array([0.25, 0.5, 0.75]), lambda x: (x > 0.2).all() and (x <= 0.75).all() and len(set(x)) > 30),
    (np.array([3, 5, 4]), lambda x: set(x) == {3, 4, 5}),
    (np.array([True, False]), lambda x: 5 < x.sum() < 35),
    (np.array([1j, 2.0]), lambda x: x.dtype.kind == "c" and abs(x).max() <= 2.1),
])
def test_larger_arrays_are_like_the_sample(small: np.ndarray, holds: Any) -> None:
    leaf = calls.encoded(small)
    assert np.array_equal(calls.values(leaf, 0), small)
    found = calls.values({**leaf, "was": leaf["shape"], "shape": [40] * small.ndim}, 0)
    assert found.dtype == small.dtype and holds(found)


def test_arguments_survive_as_json() -> None:
    value = (A, [np.array(3), None, 2.5, "mean", True], slice(1, None), ..., 1 + 2j, {"dim": -1})
    found = calls.decoded(json.loads(json.dumps(calls.encoded(value))), lambda leaf: calls.values(leaf, 0).tolist())
    assert found == (A.tolist(), [3, None, 2.5, "mean", True], slice(1, None), ..., 1 + 2j, {"dim": -1})
    with pytest.raises(calls.Void, match="object"):
        calls.encoded(object())


@pytest.mark.parametrize("layout, strides", [("rows", (12, 6, 2, 1)), ("columns", (12, 6, 1, 3)), ("channels_last", (12, 1, 4, 2))])
def test_layouts(layout: str, strides: tuple[int, ...]) -> None:
    leaf = calls.encoded(np.ones((2, 2, 3, 2)))
    assert calls.tensor(torchcompat, leaf, 0, "bfloat16", layout).stride() == strides


def test_backward_takes_gradients_of_all_that_has_some() -> None:
    found = calls.call(torchcompat, "mul", spec(A, A + 1), "float32", "rows", "backward")()
    np.testing.assert_array_equal(found[0].numpy(), A + 1)
    with pytest.raises(calls.Void, match="no gradient"):
        calls.call(torchcompat, "argmax", spec(A), "float32", "rows", "backward")


def test_every_record_has_entries_or_a_reason_and_beginnings_are_fair() -> None:
    from autograd_tape.ops import RECORDS

    catalogue = Catalogue()
    beyond = {path.rpartition(".")[2] for functions in BEYOND.values() for path in functions}
    in_place = {name for name, family in catalogue.family.items() if family.startswith("in_place.")}
    assert {*catalogue.specs, *catalogue.left_out} == {*RECORDS, *beyond, *in_place} and not {*catalogue.specs} & {*catalogue.left_out}
    assert len(in_place) > 100 and in_place == {f"{name}_" for name in RECORDS if f"{name}_" in in_place and RECORDS[name].inplace}
    assert len(catalogue.specs) > 550
    records = {*list(catalogue.specs)[::40]}
    some = catalogue.entries(sorted(records))
    order = ordered(some, 3)
    assert len(some) == len({*some})
    assert order == ordered(some[::-1], 3) and order[:len(records)] != sorted(order[:len(records)])
    assert {e.record for e in order[:len(records)]} == records and {Entry.of(e.name) for e in order} == {*order}
    assert paths("linalg_qr", "_internal", torchcompat) == ["linalg.qr"] and paths("unfold", "Tensor", torchcompat) == ["Tensor.unfold"]


def test_combinations_leave_out_what_makes_no_difference() -> None:
    def only(record: str, family: str, *arguments: Any) -> set[tuple[str, ...]]:
        return {(e.dtype, e.layout, e.mode) for e in combinations(record, [spec(*arguments)], family) if e.size == "tiny"}

    assert {e.size for e in combinations("exp", [spec(np.ones(()))])} == {"tiny"}
    found = only("add", "binary", A, A)
    assert ("float32", "broadcast", "backward") in found and ("bool", "rows", "backward") not in found
    assert {layout for _, layout, _ in only("conv2d", "generic", IMAGE, KERNELS)} == {"rows", "columns", "channels_last"}
    assert only("gcd", "binary", np.array([1]), np.array([2])) == {("int64", "rows", "forward")}
    assert "backward" not in {mode for *_, mode in only("t_", "generic", A)}
    assert "backward" not in {e.mode for e in combinations("argmax", [spec(A)], gradients=False)}
    assert "batch 1" not in {e.size for e in combinations("exp", [spec(A[0])])}


def test_a_side_prepares_calls_that_stay_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Worker, "__init__", lambda self, module, threads: setattr(self, "module", torchcompat))
    side = Enumerator("torchcompat", 1)
    entry = {**side.fit(["no.such", "neg"], spec=spec(A), dtype="int64", size="tiny", layout="rows", mode="forward", seed=0),
             "dtype": "int64", "layout": "rows", "mode": "forward"}
    assert side.prepare(target=0.0, clock="cpu", **entry) == {"shapes": ["int64[2, 3]"], "elements": 6}
    assert side.sample("cpu")["seconds"] >= 0 and entry["path"] == "neg"
    assert side.fit(["no.such"]) == {"void": "no no.such"}
    with pytest.raises(calls.Void, match="another shape"):
        side.prepare(target=0.0, clock="cpu", **{**entry, "path": "Tensor.t_"})


class Scripted:
    """A side that answers what it is told to."""

    def __init__(self, seconds: float, shapes: str = "float32[2]", fails: str = "") -> None:
        self.seconds, self.shapes, self.fails = seconds, shapes, fails

    def ask(self, do: str, **request: Any) -> dict[str, Any]:
        if do == self.fails:
            raise Failure("RuntimeError: scripted")
        return {"fit": {"path": "exp", "spec": request.get("spec")}, "prepare": {"shapes": [self.shapes], "elements": 2},
                "sample": {"seconds": self.seconds}}[do]


@pytest.mark.parametrize("ours, theirs, expected", [
    (Scripted(2.0), Scripted(1.0), {"ours": 2.0, "theirs": 1.0, "elements": 2, "call": "exp(2x3, 7)"}),
    (Scripted(2.0, "float64[2]"), Scripted(1.0), {"failed": "results ['float64[2]'], torch's ['float32[2]']"}),
    (Scripted(2.0, fails="prepare"), Scripted(1.0), {"failed": "RuntimeError: scripted"}),
    (Scripted(2.0, fails="sample"), Scripted(1.0), {"failed": "RuntimeError: scripted"}),
    (Scripted(2.0), Scripted(1.0, fails="fit"), {"void": "torch: RuntimeError: scripted"}),
])
def test_every_entry_has_a_row_that_says_what_came_of_it(ours: Any, theirs: Any, expected: dict[str, Any]) -> None:
    catalogue: Any = SimpleNamespace(request=lambda entry: {"spec": spec(A, 7), "paths": ["exp"]}, family={"exp": "elementwise"})
    row = front.measured(Entry("exp", 0, "float32", "tiny", "rows", "forward"), catalogue, ours, theirs, "cpu", 0)
    assert {k: row[k] for k in expected} == expected and row["entry"] == "exp/0/float32/tiny/rows/forward"


def rows() -> list[dict[str, Any]]:
    names = ("exp/0/float32/10^3/rows/forward", "exp/0/bfloat16/10^6/rows/backward", "sort/0/int64/tiny/columns/forward")
    timed: dict[str, Any] = {"call": "c", "elements": 9, "theirs": 1.0, "noise": 0.1}
    found = [{"entry": n, "family": n.split("/")[0] + "s", "ours": r, **timed} for n, r in zip(names, (0.5, 2.0, 8.0))]
    return [*found, {"entry": "eye/0/float32/tiny/rows/forward", "family": "makers", "side": "torchcompat", "failed": "RuntimeError: x"},
            {"entry": "eye/1/bool/tiny/rows/forward", "family": "makers", "void": "does not grow"}]


def test_report_names_means_tails_the_slowest_and_what_failed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "rows.jsonl"
    file.write_text("".join([json.dumps(r) + "\n" for r in rows()]) + '{"entry": "cut')
    assert front.main(["--report", "--file", str(file), "--slowest", "2"]) == 0
    text = capsys.readouterr().out
    for line in ("- 3 entries measured, 1 failed on our side, 1 are no calls of torch's", "- 1: does not grow",
                 "| **all** | 3 | 2.00 | 67% | 67% | 33% | 33% | 8.00 |", "| exps | 2 | 1.00 | 50% | 50% | 0% | 0% | 2.00 |",
                 "| exps | 0.50 | – | 2.00 | – | – |",
                 "| exps, bfloat16 | – | – | – | 2.00 | – | – | – |", "- eye/0/float32/tiny/rows/forward: RuntimeError: x",
                 "| sort/0/int64/tiny/columns/forward | c | 8 s | 1 s | 8.00 | 10% |"):
        assert line in text.splitlines()
    assert text.count("/forward | c |") == 1 and text.count("/backward | c |") == 1
    assert front.main(["--report", "--file", str(file), "--only", "exp", "--sizes", "10^6"]) == 0
    assert "- 1 entries measured, 0 failed" in capsys.readouterr().out
    pytest.importorskip("matplotlib", reason="the plot needs matplotlib, which is no dependency")
    report.plot(rows(), tmp_path / "plot.png")
    assert (tmp_path / "plot.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("again, expected", [(False, 5), (True, 2)])
def test_a_second_start_goes_on_and_again_takes_the_slowest(
    again: bool, expected: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, asked = tmp_path / "rows.jsonl", []
    file.write_text("".join([json.dumps(r) + "\n" for r in rows()]))
    entries = [Entry.of(r["entry"]) for r in rows()] + [Entry("exp", 0, "float32", size, "rows", "forward") for size in calls.SIZES][:6]
    catalogue = SimpleNamespace(entries=lambda: entries, family={"exp": "a", "sort": "b", "eye": "c"}, left_out={})
    monkeypatch.setattr(front, "Catalogue", lambda: catalogue)
    monkeypatch.setattr(front, "run", lambda entries, *_: asked.extend(entries))
    front.main(["--torch-python", "p", *(["--again", str(file), "--file", str(tmp_path / "other")] if again else ["--file", str(file)])])
    assert len(asked) == expected
    assert not again or [e.record for e in asked] == ["sort", "exp"]


def test_entries_above_the_bound_are_named_with_their_reasons() -> None:
    def row(name: str, ours: float) -> dict[str, Any]:
        return {"entry": f"{name}/0/float32/tiny/rows/forward", "family": "a", "ours": ours, "theirs": 1.0}

    measured = [row("exp", 2.5), row("sort", 4.0), row("add", 2.0), row("topk", 2.1)]
    lines = report.exceptions(measured, [row("topk", 1.1)], {"^a/exp/.*tiny": "why"})
    assert lines[0] == "3 entries; 2 of them are so when measured again, 1 of these for no reason that is known."
    assert [line.split(" | ")[1:] for line in lines[4:]] == [["4.00", "–", " |"], ["2.50", "–", "why |"], ["2.10", "1.10", " |"]]


def test_reasons_are_patterns_of_calls_that_there_are() -> None:
    catalogue = Catalogue()
    names = [f"{catalogue.family[e.record]}/{e.name}" for e in catalogue.entries()]
    for pattern, why in report.known_reasons().items():
        assert why and any([re.search(pattern, name) for name in names]), pattern


def test_options_are_checked(capsys: pytest.CaptureFixture[str]) -> None:
    assert front.parse(["--report", "--sizes", "10^3,odd"]).sizes == ["10^3", "odd"]
    for wrong in ([], ["--report", "--sizes", "huge"], ["--report", "--dtypes", "x"], ["--report", "--again", "a", "--file", "a"]):
        with pytest.raises(SystemExit):
            front.parse(wrong)
    assert "unknown sizes 'huge'" in capsys.readouterr().err
