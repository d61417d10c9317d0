"""The gradient checker: what it must catch, its table, its command line, its fixture."""

from __future__ import annotations

import io
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any, NamedTuple

import attrs
import numpy as np
import pytest

import torchcompat as torch
from autograd_tape import F, GradCheckFailedError, Tape, TensorRef, assert_gradients, check, check_grad, register_tree
from autograd_tape.__main__ import main
from autograd_tape.check import Report
from autograd_tape.errors import ArgumentError
from autograd_tape.tree import leaves

ROOT = Path(__file__).parents[2]
X, Y = np.array([0.5, -1.0, 2.0]), np.array([1.5, 0.3, -0.7])


def by_hand(value: Callable[[np.ndarray], np.ndarray], rule: Callable[..., Any]) -> Callable[[TensorRef], TensorRef]:
    """An operation with the given value and gradient function."""
    def f(x: TensorRef) -> TensorRef:
        y = TensorRef.of(np.asarray(value(x.numpy())))
        with Tape() as tape:
            tape.record("by_hand", [x], y, rule)
        return y

    return f


def with_formula(y: TensorRef, change: Callable[[Any], Any]) -> None:
    """Changes what the record's formula gives for the first input."""
    entry: Any = y.creator
    raw = type(entry).raw
    entry.__class__ = type("Changed", (type(entry),), {"__slots__": (), "raw": lambda self, g, F: [change(raw(self, g, F)[0]), None]})


# For the command line.
def right(x: TensorRef, y: TensorRef) -> TensorRef:
    return F.exp(x) * y


wrong = by_hand(np.sin, lambda g, saved: [g * np.cos(saved[0]) * 1.01])


class TestWhatItFinds:
    def test_right_gradients_of_both_orders(self) -> None:
        report = check_grad(lambda x, y: (F.exp(x) * y, F.sum(x * y * y)), [X, Y], order=2)
        assert report and report.ok
        assert [(r.order, r.output, r.input) for r in report.rows if r.order == 1] == [
            (1, "out0", "in0"), (1, "out0", "in1"), (1, "out1", "in0"), (1, "out1", "in1")]
        assert {(r.output, r.input) for r in report.rows if r.order == 2} == {
            (o, i) for o in ("out0", "out1") for i in ("in0", "in1", "v0", "v1")}
        assert max(r.max_absolute for r in report.rows) < 1e-6

    def test_a_wrong_gradient_and_where(self) -> None:
        def rule(g: np.ndarray, saved: list[np.ndarray]) -> list[np.ndarray]:
            d = np.cos(saved[0])
            d[1] += 0.5
            return [g * d]

        report = check_grad(by_hand(np.sin, rule), [X])
        (row,) = report.rows
        assert not report.ok and row.verdict == "wrong gradient" and row.worst == ((1,), (1,))
        assert row.max_absolute == pytest.approx(0.5, rel=1e-6)
        assert row.analytical == pytest.approx(np.cos(-1.0) + 0.5) and row.numerical == pytest.approx(np.cos(-1.0), abs=1e-6)

    def test_a_slightly_wrong_gradient(self) -> None:
        assert not check_grad(wrong, [X]).ok
        assert check_grad(wrong, [X], rtol=0.1).ok

    def test_a_wrong_shape(self) -> None:
        # The engine trusts a record's formulas with shapes; the checker must not.
        def f(a: TensorRef) -> TensorRef:
            doubled = a * 2.0
            if doubled.requires_grad:
                with_formula(doubled, lambda g: g.T)
            return F.sum(doubled)

        (row,) = check_grad(f, [np.ones((2, 3))]).rows
        assert row.verdict == "wrong shape: expected (2, 3), found (3, 2)"

    def test_a_missing_gradient(self) -> None:
        (row,) = check_grad(lambda x: TensorRef.of(x.numpy() * 2), [X]).rows
        assert row.verdict.startswith("missing gradient") and row.numerical == pytest.approx(2.0)
        report = check_grad(lambda x, y: x * 2.0 + TensorRef.of(y.numpy()), [X, Y])
        assert [r.verdict[:7] for r in report.rows] == ["ok", "missing"]

    def test_an_input_that_does_not_matter_needs_no_gradient(self) -> None:
        assert check_grad(lambda x, y: x * 2.0, [X, Y], order=2).ok

    def test_a_function_that_is_not_deterministic(self) -> None:
        rng = np.random.default_rng(0)
        report = check_grad(lambda x: x * TensorRef.of(rng.standard_normal(3)), [X])
        assert "not deterministic: two calls" in report.rows[0].verdict

    def test_a_backward_pass_that_is_not_deterministic(self) -> None:
        rng = np.random.default_rng(0)
        report = check_grad(by_hand(np.sin, lambda g, saved: [g * (np.cos(saved[0]) + 1e-9 * rng.standard_normal(3))]), [X])
        assert report.rows[0].verdict == "not deterministic: two backward passes differ"

    def test_nan_is_wrong(self) -> None:
        assert check_grad(by_hand(np.sin, lambda g, saved: [g * np.nan]), [X]).rows[0].verdict == "wrong gradient"

    def test_a_wrong_second_derivative(self) -> None:
        def rule(g: Any, saved: Any) -> Any:
            (x,) = saved
            if isinstance(g, TensorRef):  # right value, wrong history
                return [g * TensorRef.of(2 * x.numpy())]
            return [g * 2 * x]

        f = by_hand(np.square, rule)
        assert check_grad(f, [X]).ok
        report = check_grad(f, [X], order=2)
        assert not report.ok and all(r.order == 2 for r in report.rows if r.verdict != "ok")
        assert any("missing" in r.verdict and r.input == "in0" for r in report.rows)

    def test_float32_is_checked_in_float64_and_integers_pass_through(self) -> None:
        seen = []
        assert check_grad(lambda x, i, n: (seen.append((x.dtype.name, i.dtype.name, n)), x * 2.0)[1], [np.float32(X), np.array([1]), 3]).ok
        assert seen[0] == ("float64", "int64", 3)

    def test_scalars_and_empty_arrays(self) -> None:
        assert check_grad(lambda x, y: x * y, [2.0, np.ones((0, 3))]).ok

    def test_bad_calls(self) -> None:
        with pytest.raises(ArgumentError, match="nothing to differentiate"):
            check_grad(lambda x: x, [np.array([1, 2])])
        with pytest.raises(ArgumentError, match="takes a function of tensors.*found ndarray"):
            check_grad(lambda x: x.numpy(), [X])
        with pytest.raises(ArgumentError, match="order 1 or 2"):
            check_grad(lambda x: x, [X], order=3)


class TestNothingIsLeftOut:
    @pytest.mark.parametrize("order", [1, 2])
    def test_a_rule_of_wrong_shape_gives_its_row(self, order: int) -> None:
        for rule in (lambda g, saved: [np.ones(7)], lambda g, saved: [np.ones((2, 3))], lambda g, saved: [np.ones(())]):
            report = check_grad(by_hand(lambda a: 2 * a, rule), [np.array([1.0, 2.0])], order=order)
            assert not report and report.rows[0].verdict.startswith(("wrong shape", "wrong gradient")), report

    def test_a_wrong_shape_in_the_middle(self) -> None:
        inner = by_hand(lambda a: 2 * a, lambda g, saved: [np.ones(5)])
        (row,) = check_grad(lambda x: F.sum(inner(F.exp(x)) * 3.0), [np.array([1.0, 2.0])]).rows
        assert row.verdict == ("wrong shape: The gradient of 'by_hand' with respect to input 0 has the wrong shape: "
                               "expected (2,), found (5,)")

    @pytest.mark.parametrize("f, found", [(F.argmax, "int64"), (lambda x: x > 0, "bool"), (lambda x: (F.argmax(x), x > 0), "int64, bool"),
                                          (lambda x: (), "no outputs")])
    def test_nothing_compared_is_not_a_pass(self, f: Any, found: str) -> None:
        for order in (1, 2):
            with pytest.raises(ArgumentError, match=f"found nothing to compare.*found {found}"):
                check_grad(f, [np.array([1.0, 2.0])], order=order)
        assert len(check_grad(lambda x: (F.argmax(x), x * 2.0), [np.array([1.0, 2.0])]).rows) == 1
        assert not Report("f", (), 1e-5, 1e-4, 1e-3).ok

    def test_a_rule_of_numpy_functions_is_recorded(self) -> None:
        assert check_grad(by_hand(np.sin, lambda g, s: [np.cos(s[0]) * g]), [np.array([0.5, 1.0])], order=2).ok

    @pytest.mark.parametrize("rule", [lambda g, s: [np.multiply(g, np.cos(np.asarray(s[0])))],
                                      lambda g, s: [np.array([a * b for a, b in zip(np.cos(s[0]), np.asarray(g))])]])
    def test_rules_that_leave_the_record_are_right_in_order_1_and_give_rows_in_order_2(self, rule: Any) -> None:
        f = by_hand(np.sin, rule)
        assert check_grad(f, [np.array([0.5, 1.0])]).ok
        report = check_grad(f, [np.array([0.5, 1.0])], order=2)
        assert not report.ok and {r.verdict for r in report.rows if r.order == 2} & {
            "missing gradient: none arrived, but the output depends on this input", "wrong gradient"}, report

    def test_a_rule_for_arrays_alone(self) -> None:
        report = check_grad(by_hand(np.sin, lambda g, s: [np.frombuffer(g.tobytes()) * np.cos(s[0])]), [np.array([0.5, 1.0])], order=2)
        assert not report and report.rows[-1].verdict.startswith("cannot be recorded: a gradient function takes arrays only")

    def test_trees_of_inputs_and_outputs(self) -> None:
        p = {"w": np.array([1.0, 2.0]), "layers": [np.array([[3.0]]), {"b": 4.0}], "name": "text", "nothing": None}
        f = lambda p, n: {"a": p["w"] * p["layers"][1]["b"] * n, "b": (F.sum(p["layers"][0]),)}
        report = check_grad(f, [p, 3], order=2)
        assert report.ok
        assert [r.input for r in report.rows[:3]] == ["in0['w']", "in0['layers'][0]", "in0['layers'][1]['b']"]
        assert check_grad(lambda *, x, y: x * y[0], {"x": np.array([1.0]), "y": [np.array([2.0])]}).rows[1].input == "y[0]"
        assert check_grad(lambda x: x * x, np.array([1.0, 2.0])).ok and check_grad(lambda x: x * x, TensorRef.of(2.0)).ok
        wrong = check_grad(lambda p: by_hand(np.sin, lambda g, s: [g])(p["x"]), [{"x": np.array([1.0])}])
        assert not wrong and wrong.rows[0].input == "in0['x']"

    @pytest.mark.parametrize("bad", [{"eps": 0.0}, {"eps": -1.0}, {"eps": float("nan")}, {"eps": "x"}, {"atol": -1.0},
                                     {"rtol": float("inf")}])
    def test_bad_tolerances(self, bad: dict[str, Any]) -> None:
        with pytest.raises(ArgumentError, match="cannot use this"):
            check_grad(F.neg, [np.ones(2)], **bad)


@dataclass
class Pair:
    w: Any
    b: Any


@attrs.define
class AttrsPair:
    w: Any
    b: Any


class Named(NamedTuple):
    w: Any
    b: Any


class Own:
    def __init__(self, w: Any, b: Any) -> None:
        self.w, self.b = w, b


register_tree(Own, lambda own: {"w": own.w, "b": own.b}, lambda parts: Own(**parts))
right_rule = lambda g, s: [g * np.cos(s[0])]
wrong_rule = lambda g, s: [g]


class TestTrees:
    @pytest.mark.parametrize("kind", [Pair, AttrsPair, Named, Own, lambda w, b: {"w": w, "b": b}, lambda w, b: [w, (b,)]])
    @pytest.mark.parametrize("alone", [False, True])
    def test_of_every_kind_go_in_and_come_out(self, kind: Any, alone: bool) -> None:
        for rule, ok in ((right_rule, True), (wrong_rule, False)):
            def f(*args: Any, **kwargs: Any) -> Any:
                w, b = leaves([args, kwargs])
                assert isinstance(w, TensorRef)
                return kind(b * 2.0, by_hand(np.sin, rule)(w))

            report = check_grad(f, kind(X, Y) if alone else [kind(X, Y)])
            assert report.ok is ok and len(report.rows) == 4, report
            assert [r.verdict for r in report.rows if r.output == "out1"] == ["ok" if ok else "wrong gradient", "ok"]

    def test_names(self) -> None:
        f = lambda pair: pair.w * pair.b
        assert [r.input for r in check_grad(f, Pair(X, Y)).rows] == ["in0['w']", "in0['b']"]

    def test_a_module_without_parameters(self) -> None:
        assert check_grad(torch.nn.Tanh(), [X], order=2).ok

        class Wrong(torch.nn.Module):
            def forward(self, pair: Pair) -> Any:
                return {"y": pair.w * pair.b.detach()}

        assert [r.verdict[:7] for r in check_grad(Wrong(), Pair(torch.tensor(X), torch.tensor(Y))).rows] == ["ok", "missing"]


Z = X + 1j * Y


class TestComplex:
    @pytest.mark.parametrize("f", [
        F.exp, F.abs, F.sin, lambda z: z * z, lambda z: z * 2j, F.real, lambda z: F.imag(z) * F.real(z), torch.conj, torch.view_as_real,
        lambda z: torch.view_as_complex(torch.view_as_real(z) * 2.0), torch.angle, lambda z: torch.outer(z, torch.conj(z)).abs()])
    def test_right(self, f: Any) -> None:
        for z in (Z, Z.astype(np.complex64), torch.tensor(Z)):
            report = check_grad(f, [z], order=2)
            assert report.ok, report

    def test_real_inputs_with_complex_outputs_and_mixed_ones(self) -> None:
        assert check_grad(lambda x, z: (F.exp(x * 1j) * z, x * z), [X, Z], order=2).ok
        assert check_grad(torch.polar, [torch.tensor(np.abs(X)), torch.tensor(Y)], order=2).ok
        assert check_grad(lambda z: z * z, 1 + 2j, order=2).ok
        assert check_grad(torch.nn.Linear(3, 2, dtype=torch.complex64), [torch.tensor(Z)]).ok

    @pytest.mark.parametrize("rule", [lambda g, s: [g * 2 * s[0]], lambda g, s: [np.conj(g) * 2 * np.conj(s[0])],
                                      lambda g, s: [(g * 2 * np.conj(s[0])).real + 0j], lambda g, s: [g * 2 * np.conj(s[0]) * 1j]])
    def test_wrong(self, rule: Any) -> None:
        assert check_grad(by_hand(np.square, lambda g, s: [g * 2 * np.conj(s[0])]), [Z]).ok
        (row,) = check_grad(by_hand(np.square, rule), [Z]).rows
        assert row.verdict == "wrong gradient" and row.worst is not None
        assert {row.worst[0][-1], row.worst[1][-1]} <= {"real", "imag"}

    def test_where(self) -> None:
        report = check_grad(by_hand(lambda z: z.imag * 3.0, lambda g, s: [g * 1j]), [np.array([1j])])
        assert "d out[0] / d in[0, imag]           1          3  wrong" in report.table()

    def test_a_complex_gradient_of_a_real_input(self) -> None:
        def f(x: TensorRef) -> TensorRef:
            doubled = x * 2.0
            if doubled.requires_grad:
                with_formula(doubled, lambda g: g * (1 + 1j))
            return doubled

        assert check_grad(f, [X]).rows[0].verdict == "wrong dtype: expected float64, found complex128"


def mixing(batch: int) -> Any:
    """A function of torch whose rule for batches mixes examples up, in values or in gradients."""
    class Mixing(torch.autograd.Function):
        @staticmethod
        def forward(x: Any) -> Any:
            return x.sin()

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            ctx.save_for_backward(*inputs)

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * ctx.saved_tensors[0].cos()

        @staticmethod
        def vmap(info: Any, in_dims: Any, x: Any) -> Any:
            return (x.roll(1, 0) if batch == 0 else x * 1.0 if batch == 1 else x.sin()), 0

    return Mixing.apply


def with_jvp(factor: float) -> Any:
    class Sine(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.x = x.detach()
            return x.sin()

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * ctx.x.cos()

        @staticmethod
        def jvp(ctx: Any, t: Any) -> Any:
            return t * ctx.x.cos() * factor

    return Sine.apply


T = torch.tensor(np.outer(X, Y) + np.eye(3))
contiguous = lambda a: np.ndarray(a.shape, a.dtype, a.ravel("K").tobytes())
"""What a rule sees that takes elements as they lie."""


class TestOtherWays:
    def test_differences_are_taken_once(self, monkeypatch: pytest.MonkeyPatch) -> None:
        calls = []
        numerical = check._numerical
        monkeypatch.setattr(check, "_numerical", lambda *args: calls.append(args) or numerical(*args))
        assert check_grad(torch.exp, [T], forward=True).ok and len(calls) == 1

    @pytest.mark.parametrize("f", [lambda x: torch.exp(x) @ x, lambda x: (x.sum(0), x.T * 2.0), torch.linalg.inv, torch.nn.Linear(3, 2),
                                   torch.nn.LayerNorm(3), lambda x: torch.softmax(x, -1)[..., 1:]])
    def test_right(self, f: Any) -> None:
        # A broadcast matrix has no inverse.
        report = check_grad(f, [T], order=2, forward=True, batched=True, layouts=f is not torch.linalg.inv)
        assert report.ok and {r.check for r in report.rows} >= {"backward", "forward", "batched", "batched in0", "batched v0"}, report

    def test_right_of_arrays(self) -> None:
        report = check_grad(lambda x, z: (F.exp(x) * z, F.sum(x, 0)), [T.numpy(), T.numpy() * 1j], forward=True, layouts=True)
        assert report.ok, report
        layouts = [f"{layout} {name}" for name in ("in0", "in1", "v0") for layout in ("transposed", "strided", "broadcast")]
        assert {r.check for r in report.rows} == {"backward", "forward", *layouts, "strided v1", "broadcast v1"}

    @pytest.mark.parametrize("given", [T.t(), T[:, ::2], T[:1].expand(3, 3), T[0, 0], T[:0], T.float(), (T * 1j).conj(), (T * 1j).t()])
    def test_right_of_inputs_that_lie_anyhow(self, given: Any) -> None:
        report = check_grad(lambda x: torch.tanh(x) * x, [given], order=2, forward=True, batched=True, layouts=True)
        assert report.ok, report
        assert not check_grad(lambda x: torch.tanh(x) * x.detach(), [given]).ok or not given.numel()

    @pytest.mark.parametrize("module, inputs, unbatched", [
        (torch.nn.BatchNorm1d(3), [(4, 3)], ""), (torch.nn.LSTM(2, 2), [(2, 1, 2)], "aten::lstm.input"),
        (torch.nn.Conv1d(2, 2, 2), [(1, 2, 3)], ""), (torch.nn.MultiheadAttention(2, 1), [(2, 1, 2)] * 3, "")])
    def test_right_of_modules(self, module: Any, inputs: Any, unbatched: str) -> None:
        """An LSTM has no batching rule, as in torch, and each row that asks for one says so."""
        generator = torch.Generator().manual_seed(0)
        report = check_grad(module, [torch.randn(shape, generator=generator) for shape in inputs], forward=True, batched=True, layouts=True)
        batched = [r for r in report.rows if unbatched and r.check.startswith("batched")]
        assert bool(batched) == bool(unbatched)
        assert all(f"Batching rule not implemented for {unbatched}." in r.verdict for r in batched), report
        assert all(r.verdict == "ok" for r in report.rows if r not in batched), report
        assert report.ok != bool(unbatched), report
        assert {f"strided {name}" for name, _ in module.named_parameters()} < {r.check for r in report.rows}

    def test_a_wrong_tangent(self) -> None:
        assert check_grad(with_jvp(1.0), [T], forward=True).ok
        report = check_grad(with_jvp(1.01), [T], forward=True)
        assert [(r.check, r.verdict) for r in report.rows] == [("backward", "ok"), ("forward", "wrong tangent")]
        assert check_grad(with_jvp(1.01), [T]).ok

    def test_no_forward_mode(self) -> None:
        report = check_grad(mixing(2), [T], forward=True)
        assert [r.verdict[:18] for r in report.rows] == ["ok", "cannot be computed"]
        report = check_grad(by_hand(np.sin, lambda g, s: [np.frombuffer(g.tobytes()) * np.cos(s[0])]), [X], forward=True)
        assert report.rows[-1].check == "forward" and report.rows[-1].verdict.startswith("cannot be computed")

    @pytest.mark.parametrize("batch", [0, 1])
    def test_a_wrong_batched_rule(self, batch: int) -> None:
        assert check_grad(mixing(batch), [T]).ok
        report = check_grad(mixing(batch), [T], batched=True)
        assert {r.check: r.verdict for r in report.rows}["batched in0"] == "wrong where batched"

    @pytest.mark.parametrize("error", [RuntimeError, TypeError, ValueError, IndexError, KeyError, NotImplementedError])
    def test_a_rule_that_raises_gives_its_row(self, error: type[Exception]) -> None:
        class Raising(torch.autograd.Function):
            @staticmethod
            def forward(x: Any) -> Any:
                return x * 2.0

            @staticmethod
            def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
                pass

            @staticmethod
            def backward(ctx: Any, g: Any) -> Any:
                if not g.is_contiguous():
                    raise error("no such layout")
                return g * 2.0

            @staticmethod
            def vmap(info: Any, in_dims: Any, x: Any) -> Any:
                raise error("no batches")

            @staticmethod
            def jvp(ctx: Any, t: Any) -> Any:
                raise error("no tangents")

        report = check_grad(Raising.apply, [T], forward=True, batched=True, layouts=True)
        failed = {r.check for r in report.rows if r.verdict.startswith("cannot be computed")}
        assert failed >= {"forward", "batched", "batched in0", "transposed v0", "strided v0", "broadcast v0"}, report
        assert check_grad(Raising.apply, [T]).ok

    def test_batched_needs_vmap(self) -> None:
        with pytest.raises(ArgumentError, match="no batched rules"):
            check_grad(F.exp, [X], batched=True)

    @pytest.mark.parametrize("rule, found", [
        (lambda g, s: [g * contiguous(np.cos(s[0]))], "in0"), (lambda g, s: [contiguous(g) * np.cos(s[0])], "v0")])
    def test_a_rule_that_takes_elements_as_they_lie(self, rule: Any, found: str) -> None:
        matrix = np.outer(X, Y)
        assert check_grad(by_hand(np.sin, rule), [matrix]).ok
        report = check_grad(by_hand(np.sin, rule), [matrix], layouts=True)
        assert [r.check for r in report.rows if r.verdict != "ok"] == [f"transposed {found}"], report

    @pytest.mark.parametrize("layout", ["transposed", "strided", "broadcast"])
    def test_a_value_and_a_gradient_that_depend_on_strides(self, layout: str) -> None:
        usual = {"transposed": lambda a: not 0 < a.strides[0] < a.strides[1], "strided": lambda a: min(a.strides) in (0, 8),
                 "broadcast": lambda a: 0 not in a.strides}[layout]
        sine = lambda a: np.sin(a) if usual(a) else np.sin(a) * 1.01
        for value, rule, name in ((sine, lambda g, s: [g * np.cos(s[0])], "in0"),
                                  (np.sin, lambda g, s: [(g if usual(g) else g * 1.01) * np.cos(s[0])], "v0")):
            assert check_grad(by_hand(value, rule), [np.outer(X, Y)]).ok
            report = check_grad(by_hand(value, rule), [np.outer(X, Y)], layouts=True)
            assert [r.check for r in report.rows if r.verdict != "ok"] == [f"{layout} {name}"], report
            assert [r.verdict for r in report.rows if r.verdict != "ok"] == [f"wrong where {layout}"]


def test_assert_gradients() -> None:
    assert assert_gradients(right, [X, Y], order=2).ok
    with pytest.raises(AssertionError, match="(?s)check_grad of by_hand.*backward .*wrong gradient") as error:
        assert_gradients(wrong, [X])
    assert isinstance(error.value, GradCheckFailedError)


class TestPrinting:
    def test_without_rich(self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        monkeypatch.setattr("autograd_tape.show.tables.find_spec", lambda name: None)
        report = check_grad(wrong, [X])
        report.print()
        assert capsys.readouterr().out == report.table() + "\n"

    def test_with_rich(self) -> None:
        pytest.importorskip("rich", reason="rich is missing: pip install rich")
        report, file = check_grad(lambda x: wrong(x["[bold]a"]), [{"[bold]a": X}]), io.StringIO()
        report.print(file)
        lines = lambda text: [line.split() for line in re.sub("[\u2500-\u257f]|--+", " ", text).splitlines() if line.strip()]
        assert lines(file.getvalue()) == lines(report.table())


class TestLinear:
    @pytest.mark.parametrize("rule", [lambda g, s: [g * g * np.cos(s[0])], lambda g, s: [np.abs(g) * np.cos(s[0])],
                                      lambda g, s: [np.minimum(g, 1.0) * np.cos(s[0])]])
    def test_a_rule_that_is_right_for_ones_and_zeros_alone(self, rule: Any) -> None:
        row, last = check_grad(by_hand(np.sin, rule), [X]).rows
        assert row.verdict == "ok" and last.verdict == "not linear in the cotangents" and last.output == "all"

    def test_outputs_that_spoil_each_other(self) -> None:
        class Both(torch.autograd.Function):
            @staticmethod
            def forward(ctx: Any, x: Any) -> Any:
                return x * 2.0, x * 3.0

            @staticmethod
            def backward(ctx: Any, g: Any, h: Any) -> Any:
                return g * 2.0 + h * 3.0 if not (g.any() and h.any()) else g * 2.0

        report = check_grad(Both.apply, [torch.tensor(X)])
        assert [r.verdict for r in report.rows] == ["ok", "ok", "not linear in the cotangents"]


def raises(x: TensorRef) -> TensorRef:
    raise ZeroDivisionError("not\nnow")


def nothing(x: TensorRef) -> int:
    return 3


class TestReport:
    def test_table_and_error(self) -> None:
        report = check_grad(wrong, [X])
        lines = report.table().splitlines()
        assert "1 of 1 rows failed (eps=1e-05, atol=0.0001, rtol=0.001)" in lines[0]
        assert lines[1].split()[:4] == ["check", "order", "output", "input"] and lines[3].endswith("wrong gradient")
        assert repr(report) == report.table() and not report
        with pytest.raises(GradCheckFailedError, match="(?s)wrong gradient.*Expected analytical.*To fix it, correct"):
            report.raise_if_failed()
        with pytest.raises(GradCheckFailedError):
            check_grad(wrong, [X], raise_exception=True)
        good = check_grad(right, [X, Y])
        assert good.raise_if_failed() is good


class TestCommandLine:
    def run(self, *args: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([sys.executable, "-m", "autograd_tape", "check", *args], cwd=ROOT, capture_output=True, text=True)

    def test_right_and_wrong(self) -> None:
        done = self.run("tests.tape.test_check:right", "--inputs", "2,3", "3:float64:0.5..2", "--order", "2", "--seed", "7")
        assert done.returncode == 0 and "every gradient agrees" in done.stdout and not done.stderr
        done = self.run("tests.tape.test_check:wrong", "--inputs", "3")
        assert done.returncode == 1 and "wrong gradient" in done.stdout

    def test_in_process(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["check", "F:mul", "--inputs", "2,3", "scalar"]) == 0
        assert "check_grad of mul: every gradient agrees" in capsys.readouterr().out

    @pytest.mark.parametrize("args, text", [
        (["nomodule:f"], "cannot find 'nomodule:f'"), (["F"], "write module:function"), (["F:nothing"], "cannot find"),
        (["tests.tape.test_check:X"], "is no function"), (["F:mul", "--inputs", "two"], "cannot read the input 'two'"),
        (["F:mul", "--inputs", "2:complex128"], "cannot be drawn"), (["F:mul", "--inputs", "-2"], "negative size"),
        (["F:eq", "--inputs", "2:int64"], "found nothing to differentiate"),
        (["F:eq", "--inputs", "2:int64", "2:int64"], "could not run: ArgumentE"),
        (["F:argmax"], "found nothing to compare"), (["F:mul", "--inputs", "2", "3"], "could not run: ShapeMismatchError"),
        (["F:mul", "--inputs", "2"], "could not run: TypeError"),
        (["tests.tape.test_check:raises"], "could not run: ZeroDivisionError: not now"),
        (["tests.tape.test_check:nothing"], "could not run: ArgumentError"), (["tests.tape:nowhere"], "cannot find"),
        ([":"], "cannot read"),
        (["a b:c"], "cannot find"), (["..:c"], "cannot find"), (["os:path"], "is no function"), (["F:"], "cannot read"),
        (["F:neg", "--inputs", "2:float99"], "cannot read"), (["F:neg", "--inputs", "2:float64:1"], "cannot read"),
        (["F:neg", "--inputs", "2:float64:2..1"], "range is empty"), (["F:neg", "--inputs", "2:float64:1..1"], "range is empty"),
        (["F:neg", "--inputs", "2:float64:0..nan"], "range is empty or not finite"),
        (["F:neg", "--inputs", "2:float64:0..inf"], "not finite"),
        (["F:neg", "--inputs", "2:float64:0..1..2"], "cannot read"), (["F:neg", "--inputs", "2:int8:0..1000"], "does not hold the range"),
        (["F:neg", "--inputs", "2:uint8:-3..3"], "does not hold"), (["F:neg", "--inputs", "2:int64:0.5..3"], "does not hold"),
        (["F:neg", "--inputs", "999999,999999"], "more than 4 GiB"), (["F:neg", "--inputs", "2:object"], "cannot be drawn"),
        (["F:neg", "--inputs", "2:U3"], "cannot be drawn"), (["F:neg", "--seed", "-1"], "is negative"),
        (["F:neg", "--seed", "x"], "invalid int"),
        (["F:neg", "--order", "3"], "invalid choice"), (["F:neg", "--eps", "0"], "cannot use this eps"),
        (["F:neg", "--eps", "nan"], "this eps"),
        (["F:neg", "--atol", "-1"], "cannot use this atol"), (["F:neg", "--rtol", "inf"], "cannot use this rtol"),
        ([], "required: function"),
        (["F:neg", "--unknown"], "unrecognized arguments"),
    ])
    def test_bad_arguments_exit_with_2_and_one_line(self, args: list[str], text: str, capsys: pytest.CaptureFixture[str]) -> None:
        with pytest.raises(SystemExit) as error:
            main(["check", *args])
        told = capsys.readouterr().err
        assert error.value.code == 2 and text in told.splitlines()[-1] and "Traceback" not in told


def test_the_fixture(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text("""
import numpy as np
from autograd_tape import F, GradCheckFailedError, TensorRef
import pytest

def test_right(check_grad):
    assert check_grad(lambda x: F.exp(x) * x, [np.ones(3)], order=2).ok

def test_wrong(check_grad):
    with pytest.raises(GradCheckFailedError, match="missing gradient"):
        check_grad(lambda x: TensorRef.of(x.numpy() * 2), [np.ones(3)])
    assert not check_grad(lambda x: TensorRef.of(x.numpy() * 2), [np.ones(3)], raise_exception=False)

def test_that_fails(check_grad):
    check_grad(lambda x: TensorRef.of(x.numpy() * 2), [np.ones(3)])
""")
    # An installed package has registered the plugin already; a source tree has not.
    installed = any(e.value == "autograd_tape.pytest_plugin" for e in entry_points(group="pytest11"))
    plugin = [] if installed else ["-p", "autograd_tape.pytest_plugin"]
    done = subprocess.run([sys.executable, "-m", "pytest", "-q", *plugin, "-p", "no:cacheprovider", str(tmp_path)],
                          env={"PYTHONPATH": str(ROOT), "PATH": ""}, cwd=tmp_path, capture_output=True, text=True)
    assert "1 failed, 2 passed" in done.stdout, done.stdout + done.stderr
    assert "\nE       backward      1  out0    in0  " in done.stdout and "in raise_if_failed" not in done.stdout
    assert ">   " in done.stdout and "return check_grad" not in done.stdout  # the line of the test alone


def test_the_plugin_is_an_entry_point() -> None:
    import tomllib

    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["entry-points"]["pytest11"] == {"autograd_tape": "autograd_tape.pytest_plugin"}
