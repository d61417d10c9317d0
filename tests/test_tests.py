"""What every test owes, found by reading the tests: it checks something, forgives no error, and is left out for a known reason."""

from __future__ import annotations

import argparse
import ast
import signal
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from tests import sources

FOLDER = Path(__file__).parent


@cache
def trees() -> dict[Path, ast.Module]:
    return {path: tree for _, path, tree in sources.trees([FOLDER])}


@cache
def stems() -> dict[str, set[Path]]:
    """The files by the names of their modules."""
    found: dict[str, set[Path]] = {}
    for path in trees():
        found.setdefault(path.stem, set()).add(path)
    return found


@cache
def definitions() -> dict[Path, dict[str, list[ast.FunctionDef]]]:
    """The functions of each file by name."""
    found: dict[Path, dict[str, list[ast.FunctionDef]]] = {}
    for path, tree in trees().items():
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef):
                found.setdefault(path, {}).setdefault(node.name, []).append(node)
    return found


@cache
def checks() -> list[tuple[Path, ast.FunctionDef]]:
    """The tests, and where they stand."""
    return [(path, function) for path, names in definitions().items() if path.name.startswith("test_")
            for name, found in names.items() if name.startswith("test_") for function in found]


REASONS = (
    "Numba is not installed", "NumPy is not linked to OpenBLAS", "torch is not installed", "mpi4py is not installed",
    "MindSpore is not installed", "is missing: pip install", "REASON", "processes are found by /proc",
    "the plot needs matplotlib", "cannot be sent on this system", "this system does not list",
    "the system has no fork", "the system has no timer signals", "this system does not fork", "this machine has",
    "objects are linked by LLVM",
)
"""Why a test may be left out: something is absent that the package or the system may lack. REASON is what an executor says of itself."""


def called(node: ast.AST) -> Iterator[str]:
    """The names of the functions that are called within, without what they are attributes of."""
    for n in ast.walk(node):
        if isinstance(n, ast.Call):
            yield n.func.id if isinstance(n.func, ast.Name) else n.func.attr if isinstance(n.func, ast.Attribute) else ""


def says(node: ast.AST) -> bool:
    """Whether something is checked right here."""
    return any(isinstance(n, ast.Assert) for n in ast.walk(node)) or any(
        name in ("raises", "warns", "fail") or name.startswith("assert_") for name in called(node))


def visible(path: Path) -> dict[str, list[ast.FunctionDef]]:
    """The tests' own functions that a file can call: defined in it, in what it imports, or fixtures of the folders that it lies in."""
    imported = {path}
    for node in ast.walk(trees()[path]):
        names = [node.module or "", *[a.name for a in node.names]] if isinstance(node, ast.ImportFrom) else \
            [a.name for a in node.names] if isinstance(node, ast.Import) else []
        for name in names:
            imported |= stems().get(name.rpartition(".")[2], set())
    imported |= {other for other in trees() if other.name == "conftest.py" and path.is_relative_to(other.parent)}
    found: dict[str, list[ast.FunctionDef]] = {}
    for other in imported:
        for name, functions in definitions().get(other, {}).items():
            found.setdefault(name, []).extend(functions)
    return found


@cache
def visible_in() -> dict[Path, dict[str, list[ast.FunctionDef]]]:
    return {path: visible(path) for path in trees()}


def checking() -> set[ast.FunctionDef]:
    """The functions that check something, themselves or by one of the tests' functions that they call."""
    calls = {function: (path, {*called(function)}) for path, names in definitions().items() for found in names.values()
             for function in found}
    known = {function for function in calls if says(function)}
    while True:
        more = {function for function, (path, names) in calls.items() if function not in known and any(
            helper in known for name in names for helper in visible_in()[path].get(name, ()))}
        if not more:
            return known
        known |= more


def unchecked(known: set[ast.FunctionDef]) -> list[str]:
    return [f"{path.name}:{test.lineno}: {test.name}" for path, test in checks() if test not in known]


def forgiving(path: Path, function: ast.FunctionDef) -> list[str]:
    """The errors that a test catches and goes on after as if nothing had been: without a note (`excused`, a counter, a value that is
    compared), another check than a look at the error's text, or a word on what holds where there is no error."""
    found = []
    for node in ast.walk(function):
        for handler in node.handlers if isinstance(node, ast.Try) and not node.orelse else []:
            body = ast.Module(handler.body, [])
            noted = any(isinstance(n, (ast.Raise, ast.Return, ast.Assign, ast.AugAssign)) for n in ast.walk(body))
            if not noted and not {*called(body)} & {"excused", "append", "fail", "raises"}:
                found.append(f"{path.name}:{handler.lineno}: {ast.unparse(handler)[:120]}")
    return found


def unknown_skips(path: Path) -> list[str]:
    """Skips without a reason of the list, and failures that are expected."""
    found = []
    for node in ast.walk(trees()[path]):
        if isinstance(node, ast.Attribute) and node.attr == "xfail":
            found.append(f"{path.name}:{node.lineno}: xfail")
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            continue
        place = node.func.attr
        if place in ("skip", "skipif", "importorskip") and ast.unparse(node.func).startswith("pytest"):
            stated = [k.value for k in node.keywords if k.arg == "reason"] or (node.args[:1] if place == "skip" else [])
            if not any(known in ast.unparse(r) for r in stated for known in REASONS):
                found.append(f"{path.name}:{node.lineno}: {ast.unparse(node)[:120]}")
    return found


def test_every_test_checks_something() -> None:
    assert len(checks()) > 800
    assert unchecked(checking()) == []


def test_no_test_forgives_an_error_in_passing() -> None:
    assert [line for path, test in checks() for line in forgiving(path, test)] == []


def test_no_test_thaws_what_was_collected() -> None:
    """Each collection of every test after it would look at a million objects."""
    assert [path.name for path, tree in trees().items() if "unfreeze" in called(tree)] == []


def test_tests_are_left_out_for_known_reasons() -> None:
    assert [line for path in trees() if path != Path(__file__) for line in unknown_skips(path)] == []


@pytest.mark.parametrize("source, found", [
    ("def test_a():\n    run()", ["unchecked"]),
    ("def run(): pass\ndef test_a():\n    run()", ["unchecked"]),
    ("def run():\n    assert 1\ndef test_a():\n    run()", []),
    ("def test_a(excused):\n    try: f()\n    except RuntimeError as e:\n        assert 'implemented' in str(e)", ["forgiving"]),
    ("def test_a(excused):\n    try: f()\n    except RuntimeError:\n        excused('why')\n    assert f", []),
    ("def test_a():\n    assert 1\n    pytest.skip('no time')", ["unknown_skips"]),
    ("def test_a():\n    assert 1\n    pytest.skip()", ["unknown_skips"]),
    ("def test_a():\n    assert 1\n    pytest.skip('Numba is not installed')", []),
    ("@pytest.mark.xfail\ndef test_a():\n    assert 1", ["unknown_skips"]),
])
def test_the_reading_finds(source: str, found: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    path, tree = FOLDER / "test_made.py", ast.parse(source)
    functions = {f.name: [f] for f in ast.walk(tree) if isinstance(f, ast.FunctionDef)}
    monkeypatch.setattr(sys.modules[__name__], "trees", lambda: {path: tree})
    monkeypatch.setattr(sys.modules[__name__], "definitions", lambda: {path: functions})
    monkeypatch.setattr(sys.modules[__name__], "visible_in", lambda: {path: visible(path)})
    test = functions["test_a"][0]
    seen = {"unchecked": {test} - checking(), "forgiving": forgiving(path, test), "unknown_skips": unknown_skips(path)}
    assert [kind for kind, lines in seen.items() if lines] == found


def test_a_case_of_the_campaign_that_was_skipped_leaves_no_alarm(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A child that goes on after its last case would be ended by it."""
    from tests.campaign import __main__ as campaign

    ran = []

    def skip(real: object, own: object, case: object) -> None:
        ran.append(case)
        raise KeyError

    # What has these needs torch.
    case = SimpleNamespace(name="records/add/0")
    monkeypatch.setitem(sys.modules, "tests.campaign.cases", SimpleNamespace(cases=lambda *_: [case]))
    monkeypatch.setitem(sys.modules, "tests.campaign.sides", SimpleNamespace(Skip=KeyError, compared=skip, lacking=None))
    monkeypatch.setattr(campaign, "sides", lambda: (None, None))
    campaign.child(["records/add"], range(1), str(tmp_path / "report"), set())
    assert ran == [case] and signal.getitimer(signal.ITIMER_PROF) == (0.0, 0.0)


def test_a_resumed_campaign_keeps_what_is_done(tmp_path: Path) -> None:
    """Of reports of an interrupted run: operations that ended, not those that were cut off, and none that are not wanted."""
    from tests.campaign.__main__ import earlier

    lines = {"report": ['{"done": "whole.bool/a", "run": 1}', '{"case": "whole.bool/b/2"}', '{"done": "whole.bool/b", "run": 3}'],
             "report.4": ['{"at": "whole.bool/c/1"}', '{"done": "whole.bool/c", "run": 2}', '{"case": "whole.bool/d/1"}', '{"at": "whole'],
             "report.4.todo": ["{}"]}
    for name, rows in lines.items():
        (tmp_path / name).write_text("\n".join(rows))
    args = argparse.Namespace(report=str(tmp_path / "report"), resume=True)
    found = earlier(args, ["whole.bool/b", "whole.bool/c", "whole.bool/d"])
    assert [row.get("done", row.get("case")) for row in found] == ["whole.bool/b/2", "whole.bool/b", "whole.bool/c"]
    assert [path.name for path in tmp_path.iterdir()] == ["report"]


def test_derivatives_that_torch_lacks_are_told_from_those_that_it_refuses() -> None:
    from tests.campaign.sides import Outcome, lacking

    refused = [Outcome(error="RuntimeError", text=text) for text in ("derivative for aten::f is not implemented", "sizes differ")]
    cases = [SimpleNamespace(mode=mode) for mode in ("double backward", "forward")]
    assert [[lacking(e, Outcome(), case) for case in cases] for e in refused] == [[True, False], [False, False]]  # type: ignore[arg-type]
    assert not lacking(refused[0], refused[1], cases[0])  # type: ignore[arg-type]


def test_rounding_is_told_from_a_wrong_gradient() -> None:
    """Half precision agrees if it is as near to the truth as torch's: not if it is another number."""
    from ml_dtypes import bfloat16

    from tests.campaign.sides import as_near

    rng = np.random.default_rng(0)
    x = rng.uniform(-2, 2, 200).astype(bfloat16)

    def gradient(x: np.ndarray, factor: float = 2.0) -> np.ndarray:  # of x exp(-x*x), each step rounded to the dtype of x
        return np.exp(-x * x) - np.asarray(factor, x.dtype) * x * x * np.exp(-x * x)

    truth = gradient(x.astype(np.float64))
    nudged = [gradient(x.astype(np.float64) * (1 + 2.0**-8 * rng.choice((-1, 1), x.shape))) for _ in range(8)]
    stepwise, once = gradient(x), gradient(x.astype(np.float32)).astype(bfloat16)
    assert not np.array_equal(stepwise, once)

    def near(expected: np.ndarray, found: np.ndarray) -> bool:
        return as_near([truth, *nudged], expected, found, "bfloat16")

    assert near(stepwise, once) and near(once, stepwise)
    for factor in (1.8, 2.2, -2.0):
        assert not near(stepwise, gradient(x.astype(np.float32), factor).astype(bfloat16))
    for value in (-1.03 * float(once[7]), np.inf, np.nan):
        wrong = once.copy()
        wrong[7] = value
        assert not near(stepwise, wrong)
    random = rng.uniform(-1, 1, (2, 200)).astype(bfloat16)
    assert not near(*random) and near(random[0], once)  # errors that are none of rounding excuse none


def test_what_is_zero_in_double_precision_is_no_bound() -> None:
    from tests.campaign.sides import as_near

    torch = np.array([1e-5, 0.0], np.float32)
    for truth, agrees in ((1e-13, True), (1e-6, False)):  # the first is what roundings leave in double precision
        assert as_near([np.array([truth, -truth])], torch, np.array([-1e-5, 1.9e-5], np.float32), "float32") is agrees
