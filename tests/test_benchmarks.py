"""The benchmark harness's arithmetic, protocol and report; timings never decide a test."""

from __future__ import annotations

import io
import json
import math
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from benchmarks import __main__ as front
from benchmarks import harness, processes, report, worker
from benchmarks.__main__ import GROUPS, OPTIONAL, command, main, parse
from benchmarks.harness import Failure, Result, Side, geometric_mean, redact, same_digest
from benchmarks.workloads import Workload, registered


def result(ours: list[float], theirs: list[float], **kwargs: Any) -> Result:
    return Result("small", "forward", "a + b", ours=ours, theirs=theirs, **kwargs)


def test_ratio_is_the_quotient_of_the_best_rounds() -> None:
    assert result([3.0, 2.0, 9.0], [4.0, 8.0]).ratio == 0.5


def test_ratio_needs_both_sides_and_no_failure() -> None:
    assert result([1.0], []).ratio is None
    assert result([1.0], [1.0], failures={"torch": "RuntimeError: x"}).ratio is None
    assert result([0.0], [1.0]).ratio is None


def test_noise_is_the_worse_side_s_median_over_its_minimum() -> None:
    assert result([1.0, 1.1, 5.0], [2.0, 3.0, 4.0]).noise == pytest.approx(0.5)
    assert result([], []).noise == 0.0


def test_geometric_mean() -> None:
    assert geometric_mean([0.5, 2.0]) == pytest.approx(1.0)
    assert geometric_mean([2.0, None, 8.0]) == pytest.approx(4.0)
    assert geometric_mean([None]) is None
    assert geometric_mean([]) is None


@pytest.mark.parametrize("cost, target, expected", [(1e-6, 0.01, 10_000), (0.5, 0.01, 1), (1e-3, 0.01, 10)])
def test_calibration_reaches_the_target(cost: float, target: float, expected: int) -> None:
    # a clock with a fixed overhead per measurement, which short measurements must not be misled by
    loops = worker.calibrate(lambda: None, target, measure=lambda call, n: cost + 1e-6 * cost / n)
    assert loops == pytest.approx(expected, rel=0.01)


def test_sample_calls_exactly_as_often_as_asked() -> None:
    calls: list[int] = []
    worker.sample(lambda: calls.append(1), 7)
    assert len(calls) == 7


def test_digest_flattens_and_hides_random_values() -> None:
    tensor = SimpleNamespace(detach=lambda: SimpleNamespace(numpy=lambda: np.array([[1.0, -2.0]])))
    assert worker.digest([tensor, 3], False) == [[[1, 2], [-1.0, 3.0, 1.0, -2.0]], [[], [3.0, 3.0, 3.0]]]
    assert worker.digest(tensor, True) == [[[1, 2], []]]


def test_digests_are_compared_by_count_shape_and_value() -> None:
    row = [[2], [3.0, 3.0, 1.0, 2.0]]
    assert same_digest([row], [row]) is None
    assert same_digest([[[2], [3.0, 3.0, 1.0, 2.0 + 1e-6]]], [row]) is None
    assert "results" in (same_digest([], [row]) or "")
    assert "shape" in (same_digest([[[1], []]], [row]) or "")
    assert "differs: 4" in (same_digest([[[2], [4.0, 4.0, 1.0, 3.0]]], [row]) or "")
    nan = [[[], [math.nan, math.nan]]]
    assert same_digest(nan, nan) is None
    assert same_digest([[[], [1.0, 1.0]]], nan) is not None
    assert same_digest([[[], [math.inf, math.inf]]], [[[], [math.inf, math.inf]]]) is None
    assert same_digest([[[], [-math.inf, math.inf]]], [[[], [math.inf, math.inf]]]) is not None


def test_errors_lose_paths_and_further_lines() -> None:
    assert redact("OSError: /some/where/x.so: no\nmore") == "OSError: <path>: no"
    assert redact("a / b") == "a / b"


def test_registry_keys_are_unique_and_in_known_groups() -> None:
    table = registered()
    assert {row[0] for row in processes.ROWS} | {w.group for w in table.values()} == {*GROUPS, *OPTIONAL}
    assert all(key == w.key for key, w in table.items())


class ScriptedSide:
    """A side whose replies are computed here, in place of a process."""

    def __init__(self, seconds: list[float], digest: list[Any] | None = None, error_on: str | None = None) -> None:
        self.seconds, self.digest, self.error_on = list(seconds), digest or [[[], [1.0, 1.0]]], error_on
        self.asked: list[str] = []

    def ask(self, **request: Any) -> dict[str, Any]:
        self.asked.append(request["do"])
        if request["do"] == self.error_on:
            raise Failure("RuntimeError: scripted")
        if request["do"] == "time":
            return {"seconds": [self.seconds.pop(0), 99.0]}
        return {"digest": self.digest}


WORKLOAD = Workload("small", "forward", "x", lambda torch: lambda: None)


def measured(ours: ScriptedSide, theirs: ScriptedSide | None, rounds: int = 2) -> Result:
    quiet = {"progress": lambda text: None}
    (only,) = harness.measure([WORKLOAD], ours, theirs, rounds=rounds, target=0.01, samples=2, **quiet)  # type: ignore[arg-type]
    return only


def test_rounds_take_the_best_sample_and_check_once() -> None:
    ours, theirs = ScriptedSide([2.0, 1.0]), ScriptedSide([4.0, 5.0])
    outcome = measured(ours, theirs)
    assert (outcome.ours, outcome.theirs, outcome.ratio) == ([2.0, 1.0], [4.0, 5.0], 0.25)
    assert ours.asked == ["check", "time", "time"]


@pytest.mark.parametrize("step", ["check", "time"])
def test_a_failure_on_one_side_is_kept_and_the_other_side_still_timed(step: str) -> None:
    outcome = measured(ScriptedSide([], error_on=step), ScriptedSide([4.0, 5.0]))
    assert outcome.failures == {"torchcompat": "RuntimeError: scripted"}
    assert outcome.theirs == [4.0, 5.0] and outcome.ratio is None
    text = report.markdown([outcome], FACTS, "c", 2, 0.1, plot=False)
    assert "| small/forward/x | torchcompat | RuntimeError: scripted |" in text
    assert "| x | **failed** | 4 s | – |" in text


def test_a_different_result_is_a_failure() -> None:
    outcome = measured(ScriptedSide([1.0, 1.0], digest=[[[], [2.0, 2.0]]]), ScriptedSide([1.0, 1.0]))
    assert "differs" in outcome.failures["torchcompat"]


def test_without_torch_there_are_times_but_no_ratio() -> None:
    outcome = measured(ScriptedSide([1.0, 2.0]), None)
    assert outcome.ours == [1.0, 2.0] and outcome.ratio is None and not outcome.failures


FACTS = {side: {"version": "1", "python": "3", "numpy": "2"} for side in ("torchcompat", "torch")}


def test_report_shows_means_ratios_and_growth() -> None:
    growth = Result("memory", "memory", "growth", unit="MiB growth", ours=[0.0, 1.5], theirs=[0.0])
    text = report.markdown([result([1e-6], [2e-6]), result([8e-3], [1e-3]), growth], FACTS, "c", 1, 0.1, plot=True)
    assert "| small | forward | 2 | 0 | 2.00 | 8.00 |" in text
    assert "| a + b | 1 us | 2 us | 0.50 | 0% |" in text
    assert "| growth | 1.5 MiB | 0.0 MiB | – | – |" in text
    assert "results.png" in text and "None." in text
    assert "noise of 0 of 3 workloads is above 30%" in text
    assert "noise of 1 of 1" in report.markdown([result([1.0, 2.0, 2.0], [1.0])], FACTS, "c", 3, 0.1, plot=False)


def test_report_against_an_earlier_state_names_it() -> None:
    text = report.markdown([result([1e-6], [2e-6])], FACTS, "c", 1, 0.1, plot=False, other="before")
    assert "| workload | torchcompat | before | ratio | noise |" in text
    assert "- before 1: Python 3" in text and "divided by that of the state before in the same run" in text


def test_plot_is_of_what_the_report_says(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="the plot needs matplotlib, which is no dependency")
    growth = Result("memory", "memory", "growth", unit="MiB growth", ours=[0.0, 1.5], theirs=[0.0])
    failed = result([1.0], [1.0], failures={"torch": "RuntimeError: x"})
    piped = replace(result([3.0], [2.0]), name="a | b")
    text = report.markdown([result([1.0], [2.0]), piped, failed, growth], FACTS, "c", 1, 0.1, plot=True)
    assert report.read(text) == {("small", "forward"): [0.5, 1.5]}
    report.plot(report.read(text), tmp_path / "plot.png")
    assert (tmp_path / "plot.png").read_bytes().startswith(b"\x89PNG")


def test_what_is_kept_can_be_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[Any] = []
    monkeypatch.setattr(report, "plot", lambda rows, path: drawn.append((rows, path.name)))
    assert main(["--plot"]) == 0
    (rows, name), text = *drawn, (front.HERE / "RESULTS.md").read_text()
    assert name == "results.png" and len(rows) >= 20 and sum(map(len, rows.values())) >= 300
    for (group, section), ratios in rows.items():
        (said,) = [line for line in text.splitlines() if line.startswith(f"| {group} | {section} |")]
        assert geometric_mean(ratios) == pytest.approx(float(said.split("|")[5]), abs=0.04), said  # of ratios that were rounded


def test_options_are_checked_and_the_command_names_no_path(capsys: pytest.CaptureFixture[str]) -> None:
    options = parse(["--torch-python", "/some/bin/python", "--groups", "small", "--rounds", "3"])
    assert command(options) == "python -m benchmarks --torch-python PATH --groups small --rounds 3"
    assert command(parse(["--before", "/some/checkout", "--groups", "small"])) == "python -m benchmarks --before ROOT --groups small"
    for wrong in (["--groups", "nothing"], ["--rounds", "0"], ["--before", "a", "--torch-python", "b"]):
        with pytest.raises(SystemExit):
            parse(wrong)
    assert "unknown group 'nothing'" in capsys.readouterr().err


@pytest.mark.parametrize("busy, written", [(0.1, True), (float("nan"), True), (3.0, False)])
def test_results_are_kept_only_from_a_machine_that_is_not_busy(
    busy: float, written: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(report, "load", lambda: busy)
    monkeypatch.setattr(report, "plot", lambda rows, path, other: None)
    monkeypatch.setattr(front, "HERE", tmp_path)
    monkeypatch.setattr(front, "measure", lambda *args, **kwargs: [result([1.0], [2.0])])
    monkeypatch.setattr(processes, "measure", lambda *args: [])
    monkeypatch.setattr(Side, "ask", lambda self, **request: FACTS["torch"])
    assert main(["--torch-python", "python"]) == 0
    assert (tmp_path / "RESULTS.md").exists() is written


class FakeModule:
    __version__ = "9"


def test_worker_answers_errors_and_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker, "import_module", lambda name: FakeModule)
    replies = io.StringIO()
    requests = ['{"do": "check", "key": "small/creation/zeros"}', '{"do": "facts"}']
    worker.serve(worker.Worker("fake", 1), requests, replies)
    first, second = [json.loads(line) for line in replies.getvalue().splitlines()]
    assert first["error"].startswith("AttributeError") and second["version"] == "9"


def test_a_module_that_cannot_be_imported_is_said_so(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--module", "no_such_module_here", "--groups", "small", "--filter", "zeros"]) == 2
    assert "does not start: process ended with status 1: ModuleNotFoundError" in capsys.readouterr().err


def test_a_worker_that_does_not_answer_is_ended() -> None:
    side = Side(sys.executable, "unused", 1, timeout=0.2)
    side.command = [sys.executable, "-c", "import time; time.sleep(60)"]
    with pytest.raises(Failure, match="no answer within 0 s"):
        side.ask(do="facts")
    assert side.process is None


def test_what_listeners_and_tapes_cost_is_told_in_times_of_the_quiet_call() -> None:
    def timed(section: str, name: str, ours: float, theirs: float | None, **kwargs: Any) -> Result:
        return Result("listening", section, name, ours=[ours, 2 * ours], theirs=[] if theirs is None else [theirs], **kwargs)

    quiet = [timed("quiet", "add", 1.0, 2.0), timed("quiet", "sum", 2.0, None)]
    heard = [timed("mode", "add", 3.0, 8.0), timed("mode", "sum", 24.0, None), timed("mode", "gone", 1.0, 1.0)]
    assert report.times_quiet(heard[0], quiet[0]) == (3.0, 4.0)
    assert report.times_quiet(heard[1], quiet[1]) == (12.0, None)
    assert report.times_quiet(timed("mode", "add", 1.0, 1.0, failures={"torch": "RuntimeError"}), quiet[0]) == (None, None)
    other = Result("small", "forward", "add", ours=[1.0], theirs=[1.0])  # of a group that compares with nothing
    lines = report._against_quiet([*quiet, *heard, other, timed("alone", "item", 1.0, 1.0)], "torch")
    assert lines[-2:] == ["|---|---:|---:|---:|---:|", "| listening: mode | 6.00 | 12.0 (sum) | 4.00 | 4.0 (add) |"]
    assert report._against_quiet(heard, "torch") == report._against_quiet(quiet, "torch") == []


def test_listeners_stop_listening() -> None:
    import torchcompat
    from autograd_tape.modes import loudness

    before = loudness()
    for key, workload in registered().items():
        if workload.group == "listening" and workload.name in ("add", "item"):
            workload.setup(torchcompat)()
            assert loudness() == before, key


@pytest.mark.parametrize("key", [key for key, w in registered().items() if w.group == "tape"])
def test_tapes_are_left_and_give_what_the_quiet_call_gives(key: str) -> None:
    import torchcompat
    from autograd_tape.modes import loudness
    from autograd_tape.tree import leaves

    workload, before = registered()[key], loudness()
    found = workload.setup(torchcompat)()
    assert loudness() == before
    if "on a tape" in workload.section:
        quiet = registered()[f"tape/quiet/{workload.name}"].setup(torchcompat)()
        for x, expected in zip(leaves(found), leaves(quiet), strict=True):
            np.testing.assert_array_equal(x.detach().numpy(), expected.detach().numpy())
    if workload.name.endswith("refresh_graph_values"):
        called = registered()["tape/traces/20 operations, called"].setup(torchcompat)()
        np.testing.assert_array_equal(found.detach().numpy(), called.detach().numpy())
