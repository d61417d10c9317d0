"""What the specification names, where it has no test of its own elsewhere (see specs/coverage.md)."""

from __future__ import annotations

import dataclasses
import gc
import re
import threading
import tomllib
from collections import OrderedDict, defaultdict, namedtuple
from pathlib import Path
from typing import Any

from dataclasses import dataclass
import numpy as np
import pytest

import autograd_tape as at
import torchcompat as torch
from autograd_tape import (
    F, GradManager, OpKind, Operation, Tape, TensorRef, backward, backward_on_trace, clear_default_tape, current_tape, get_default_tape,
    grad, no_grad, set_default_tape, trace,
)
from autograd_tape.errors import ArgumentError, AutogradError, DTypeError, NoGradError, NoGradFnError, ShapeMismatchError
from autograd_tape.executors import executor_for
from autograd_tape.lazy import array_of
from autograd_tape.ops import RECORDS
from autograd_tape.tape import WEAK_TAPE, DefaultTape
from autograd_tape.tree import leaves, leaves_like, register_tree, tree_map

ROOT = Path(__file__).parents[2]


def leaf(*values: float) -> TensorRef:
    return TensorRef.of(np.array(values), requires_grad=True)


def test_the_changelog_tells_of_this_version() -> None:
    headings = [line for line in (ROOT / "CHANGELOG.md").read_text().splitlines() if line.startswith("## ")]
    assert headings[0] == "## [Unreleased]"
    assert re.fullmatch(rf"## \[{re.escape(at.__version__)}\] - \d{{4}}-\d\d-\d\d", headings[1])


def test_names_at_the_top() -> None:
    for name in at.__all__:
        assert getattr(at, name) is not None, name
    assert {"ArgumentError", "GradFn", "OpKind", "OpNode", "current_tape", "register_tree"} <= set(at.__all__)
    assert at.__version__ == tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    assert at.float32 is TensorRef.declare((2,), "float32").dtype and at.bool is TensorRef.of([True]).dtype


class TestOpKind:
    def test_it_is_a_name(self) -> None:
        assert OpKind.MATMUL == OpKind.matmul == OpKind("matmul") == "matmul" and isinstance(OpKind.add, str)
        x = leaf(1.0, 2.0)
        with Tape() as tape:
            y = TensorRef.of(x.numpy() * x.numpy())
            tape.record(OpKind.mul, [x, x], y)
        assert tape.entries[0].op is not None and tape.entries[0].op == "mul"
        np.testing.assert_array_equal(backward(F.sum(y), tape=None)[x], [2.0, 4.0])
        assert at.has_grad_fn(OpKind.RELU) and at.OpSpec(OpKind.exp, [x]).output.shape == (2,)
        with pytest.raises(AttributeError, match="no operation 'NOTHING'"):
            _ = OpKind.NOTHING

    def test_every_operation_has_its_rule(self) -> None:
        x = leaf(1.0, 2.0)
        with Tape() as tape:
            y = x * x
            z = _Doubled("doubled_here")(y)
            tape.record("by hand", [x], TensorRef.of([1.0, 2.0]), lambda g, saved: [g])
        primals, one = (np.array([1.0, 2.0]), np.array([1.0, 2.0])), np.ones(2)
        product, doubled, hand = tape.entries
        np.testing.assert_array_equal(product.op.vjp_rule(primals, one, y.numpy())[0], [1.0, 2.0])
        assert doubled.op.vjp_rule(primals[:1], one, z.numpy())[0][0] == 2.0
        with pytest.raises(NoGradFnError, match="'by hand'.*register_grad_fn"):
            hand.op.vjp_rule(primals[:1], one, None)

    @pytest.mark.parametrize("name", ["add", "matmul", "exp", "tanh", "sum", "cross_entropy"])
    def test_of_records(self, name: str) -> None:
        assert callable(RECORDS[name].vjp_rule) and OpKind(name).has_gradient
        sample = {"sum": (np.ones((2, 3)),), "cross_entropy": (np.ones((2, 3)), np.array([0, 1]))}.get(name)
        sample = sample or (np.ones((2, 2)),) * (2 if name in ("add", "matmul") else 1)
        ones = np.ones(getattr(F, name)(*map(TensorRef.of, sample)).shape)
        found = RECORDS[name].vjp_rule(sample, ones, None)
        assert len(found) == len(sample) and found[0].shape == sample[0].shape


class _Doubled(Operation):
    def execute(self, x: np.ndarray) -> np.ndarray:
        return 2 * x

    def vjp_rule(self, primals: tuple, cotangent: Any, output: Any) -> tuple:
        return (2 * cotangent,)


ENTRIES = {
    "mul": lambda x: x * x, "exp": F.exp, "sum": F.sum, "matmul": lambda x: x @ x, "cat": lambda x: F.cat([x, x]),
    "number": lambda x: x * 3.0, "softmax": lambda x: F.softmax(x, 0), "broadcast": lambda x: x * TensorRef.of([[1.0], [2.0]]),
    "reshape": lambda x: F.reshape(x, (2, 1)),
    "var_mean": lambda x: F.std_mean(x)[0], "own": lambda x: OWN(x), "unbind": lambda x: x.unbind(0)[0],
}
OWN = _Doubled("doubled_of_entries")


@pytest.mark.parametrize("name", ENTRIES)
def test_every_entry_has_a_grad_fn_of_what_it_saved(name: str) -> None:
    x = leaf(0.5, 2.0)
    with Tape() as tape:
        y = ENTRIES[name](x)
    for entry in tape.entries:
        assert callable(entry.grad_fn)
        outputs = [np.zeros(tuple(o.shape)) for o in entry.get_alive_outputs()]
        cotangents = [np.random.default_rng(0).standard_normal(o.shape) for o in outputs]
        given = cotangents[0] if entry.n_outputs == 1 else cotangents
        saved = entry.saved_tensors
        assert all(isinstance(s, TensorRef) for s in saved)
        found = entry.grad_fn(given, saved)
        assert len(found) == len(entry.edges)
        expected = entry.raw(given, executor_for(at.tensor.CPU).F)
        for g, e in zip(found, expected):
            assert g is e is None or np.array_equal(g, e)
        if entry.n_outputs == 1:
            recorded = entry.grad_fn(TensorRef.of(given, requires_grad=True), saved)
            assert any(isinstance(g, TensorRef) and g.requires_grad for g in recorded)
    assert backward(F.sum(y), options=at.BackwardOptions(retain_graph=True))[x] is not None
    if name == "mul":
        (entry,) = tape.entries
        assert [s is x for s in entry.saved_tensors] == [True, True] and entry.op_args == (x, x) and entry.op_kwargs == {
            "input": x, "other": x}
        np.testing.assert_array_equal(entry.grad_fn(np.ones(2), [np.full(2, 7.0), np.full(2, 8.0)])[0], [8.0, 8.0])
        with pytest.raises(ArgumentError, match="Expected 2 tensors, found 1"):
            entry.grad_fn(np.ones(2), [np.ones(2)])
    if name == "exp":
        assert [array_of(s).tolist() for s in tape.entries[0].saved_tensors] == [y.numpy().tolist()], "outputs are saved tensors, too"


class TestDefaultTape:
    def test_queries(self) -> None:
        x = leaf(2.0)
        y = x * 3.0
        z = F.exp(y)
        tape = get_default_tape()
        assert [t is s for t, s in zip(tape.get_dependencies(z), (y, x))] == [True, True]
        assert tape.tensor_to_entry[z.id] == z.creator.id and tape.get_creator(z) is tape.get_entry(z.id) is z.creator
        w = F.exp(F.exp(y))
        assert {id(t) for t in tape.get_dependencies(w)} == {id(x), id(y)}, "nobody holds the other"
        parts = (x * 2.0).unbind(0)
        deeper = parts[0] * 1.0
        assert id(parts[0]) in {id(t) for t in tape.get_dependencies(deeper)}

    def test_clear(self) -> None:
        x = leaf(2.0)
        y = x * 3.0
        tape = get_default_tape()
        try:
            tape.clear()
            assert tape.entries == [] and tape.tensor_to_entry == {} and tape.get_creator(y) is None and tape.get_dependencies(y) == []
            for name, run in {"tape": lambda: backward(y, tape), "none": lambda: backward(y), "grad": lambda: grad(y, [x])}.items():
                with pytest.raises(NoGradError, match="is not on this tape.*before.*To fix it"):
                    run()
                assert x.grad is None, name
            z = x * 4.0
            assert backward(z)[x] == 4.0
        finally:
            clear_default_tape()

    def test_current_tape(self) -> None:
        assert current_tape() is None
        get_default_tape()
        assert current_tape() is None
        with Tape() as outer:
            with Tape() as inner:
                assert current_tape() is inner
            assert current_tape() is outer
            found: list[Any] = []
            thread = threading.Thread(target=lambda: found.append(current_tape()))
            thread.start(), thread.join()
            assert found == [None]
        mine = Tape()
        set_default_tape(mine)
        assert current_tape() is mine
        clear_default_tape()
        assert current_tape() is None and isinstance(get_default_tape(), DefaultTape)
        gc.collect()


class TestNoGrad:
    def test_it_holds_for_what_is_recorded_by_hand(self) -> None:
        x = leaf(3.0)
        with Tape(retain_graph=True) as tape:
            y = x * x
            with no_grad():
                id = tape.record("mul", [x, x], y, lambda g, saved: [g * 100, g * 100])
                other = TensorRef.of([9.0])
                tape.record("mul", [x, x], other)
        assert len(tape) == 1 and tape.get_entry(id).op_name == "mul" and tape.get_creator(y).op_name == "mul"
        assert backward(y, tape)[x] == 6.0 and not other.requires_grad
        with pytest.raises(NoGradError):
            backward(other, tape)


MISUSE = {
    "record, op": lambda tape, x: tape.record(3, [x], x * 1.0), "record, inputs": lambda tape, x: tape.record("neg", 3, x * 1.0),
    "record, saved": lambda tape, x: tape.record("neg", [x], x * 1.0, None, 3),
    "record, grad_fn": lambda tape, x: tape.record("neg", [x], x * 1.0, 3),
    "requires_grad": lambda tape, x: tape.requires_grad(3), "get_creator": lambda tape, x: tape.get_creator(None),
    "get_dependencies": lambda tape, x: tape.get_dependencies(np.ones(1)),
    "get_entry_for_tensor": lambda tape, x: tape.get_entry_for_tensor("x"),
    "default requires_grad": lambda tape, x: get_default_tape().requires_grad(3),
    "default get_creator": lambda tape, x: get_default_tape().get_creator(3), "to_graph": lambda tape, x: tape.to_graph(3),
    "set_default_tape": lambda tape, x: set_default_tape(3), "set_mode": lambda tape, x: GradManager().set_mode(1),
    "get_grad": lambda tape, x: GradManager().get_grad(3), "set_grad": lambda tape, x: GradManager().set_grad(3, 1.0),
    "accumulate": lambda tape, x: GradManager().accumulate(3, 1.0), "clear_grad": lambda tape, x: GradManager().clear_grad(3),
    "zero_grad": lambda tape, x: GradManager().zero_grad([3]), "clip_grad_norm": lambda tape, x: GradManager().clip_grad_norm(3, 1.0),
    "clip_grad_value": lambda tape, x: GradManager().clip_grad_value([None], 1.0),
    "retain_grad": lambda tape, x: GradManager().retain_grad(3), "set_requires_grad": lambda tape, x: GradManager().set_requires_grad("x"),
    "register_grad_fn": lambda tape, x: at.register_grad_fn(None, print), "grad option": lambda tape, x: grad(F.exp, retain_graph=True),
    "grad option of a tensor": lambda tape, x: grad(x * 1.0, [x], argnums=1),
    "grad argnums twice": lambda tape, x: grad(F.exp, 0, argnums=0),
    "grad tape of a function": lambda tape, x: grad(F.exp, tape=tape), "value_and_grad": lambda tape, x: at.value_and_grad(3),
    "value_and_grad argnums": lambda tape, x: at.value_and_grad(F.exp, "x")(1.0), "vjp": lambda tape, x: at.vjp(3, x),
    "jvp": lambda tape, x: at.jvp(F.exp, x, x), "jacobian": lambda tape, x: at.jacobian(None), "hessian": lambda tape, x: at.hessian(3),
    "trace": lambda tape, x: trace(3), "backward_on_trace": lambda tape, x: backward_on_trace(3),
    "check_grad": lambda tape, x: at.check_grad(3, [1.0]), "register_tree": lambda tape, x: register_tree(3, list, list),
    "register_tree of a list": lambda tape, x: register_tree(list, list, list),
    "register_tree, no function": lambda tape, x: register_tree(Pair, 3, 4), "bind": lambda tape, x: at.cpu_executor().bind(3, 1.0),
    "bind no numbers": lambda tape, x: at.cpu_executor().bind(TensorRef.declare((1,), "float64"), "abc"),
    "OpSpec": lambda tape, x: at.OpSpec("neg", [3]), "Operation of a taken name": lambda tape, x: _Doubled("mul"),
    "record, no name": lambda tape, x: tape.record("", [x], x * 1.0), "get_entry": lambda tape, x: tape.get_entry(10**9),
    "get_entry of the default tape": lambda tape, x: WEAK_TAPE.get_entry(None), "grad of None": lambda tape, x: grad(None, [x]),
    "bind a result": lambda tape, x: at.cpu_executor().bind(x * 1.0, [1.0]), "OpSpec of nothing": lambda tape, x: at.OpSpec("sum", None),
    "bind a declared result": lambda tape, x: at.cpu_executor().bind(evaluated(at.OpSpec("neg", [x]).output), [1.0]),
    "evaluate": lambda tape, x: at.cpu_executor().evaluate(3), "replay": lambda tape, x: (x * 1.0, tape.to_graph().replay("a")),
    "Operation, no name": lambda tape, x: _Doubled(3), "accumulate_cotangent": lambda tape, x: at.accumulate_cotangent({}, 3, 1.0),
    "clip_grad_norm, a word": lambda tape, x: GradManager().clip_grad_norm([x], "1"),
    "clip_grad_norm, another norm": lambda tape, x: GradManager().clip_grad_norm([x], 1.0, None),
    "clip_grad_value, None": lambda tape, x: GradManager().clip_grad_value([x], None),
    "set_requires_grad, a word": lambda tape, x: GradManager().set_requires_grad(x, "yes"),
    "requires_grad, a word": lambda tape, x: setattr(x, "requires_grad", 1), "saved tensors": lambda tape, x: at.grad_mul(np.ones(1), None),
    "of lists of several lengths": lambda tape, x: TensorRef.of([[1], [1, 2]]),
    "of records": lambda tape, x: TensorRef.of(np.zeros(2, [("a", "f4")])),
    "of long doubles": lambda tape, x: TensorRef.of(np.longdouble(1)),
    "of words as numbers": lambda tape, x: TensorRef.of(["a"], "float32"), "of None": lambda tape, x: TensorRef.of(None),
    "a second Operation of one name": lambda tape, x: _Doubled("doubled_of_entries"),
}


def evaluated(declared: TensorRef) -> TensorRef:
    at.cpu_executor().evaluate(declared)
    return declared


@pytest.mark.parametrize("name", MISUSE)
def test_misuse_is_an_error_of_the_specification(name: str) -> None:
    x = leaf(1.0)
    with Tape() as tape, pytest.raises(ArgumentError) as caught:
        MISUSE[name](tape, x)
    error = caught.value
    assert error.expected is not None and error.found is not None and error.remedy, str(error)


OTHER_MISUSE = {
    "a second pass": (NoGradError, lambda x, y: (backward(y), backward(y))),
    "what was saved is changed": (AutogradError, lambda x, y: (z := x * 1.0, loss := F.sum(z * z), z.mul_(2.0), backward(loss))),
    "a leaf in place": (AutogradError, lambda x, y: x.mul_(2.0)), "a view of a leaf in place": (AutogradError, lambda x, y: x[0].mul_(2.0)),
    "one place": (AutogradError, lambda x, y: F.expand(TensorRef.of([1.0]), (3,)).mul_(2.0)),
    "shared memory": (AutogradError, lambda x, y: (m := TensorRef.of([1.0, 2.0, 3.0]), m[1:].mul_(m[:-1]))),
    "an Operation that computes nothing": (NotImplementedError, lambda x, y: Operation(f"nothing_at_{id(x)}")(x)),
    "a complex cotangent": (DTypeError, lambda x, y: backward(x * 1.0, grad_outputs=np.ones(2, complex))),
    "a complex cotangent, recorded": (DTypeError, lambda x, y: grad(x * 1.0, [x], create_graph=True, grad_outputs=np.ones(2, complex))),
    "a complex gradient": (DTypeError, lambda x, y: GradManager().set_grad(x, np.ones(2, complex))),
    "a complex tensor as gradient": (DTypeError, lambda x, y: setattr(x, "grad", TensorRef.of(np.ones(2, complex)))),
}


@pytest.mark.parametrize("name", OTHER_MISUSE)
def test_other_misuse_says_all_too(name: str) -> None:
    kind, run = OTHER_MISUSE[name]
    x = leaf(1.0, 2.0)
    with pytest.raises(kind) as caught:
        run(x, F.sum(x * x))
    assert caught.value.expected is not None and caught.value.found is not None and caught.value.remedy, str(caught.value)
    assert x.grad is None or name == "a second pass"


class TestOperations:
    def test_several_results_lists_none_and_keywords(self) -> None:
        class Joined(Operation):
            def execute(self, parts: list, nothing: None, *, scale: np.ndarray) -> tuple:
                whole = np.concatenate(parts)
                return whole * scale, np.sign(whole).astype(int), whole**2

            def vjp_rule(self, primals: tuple, cotangent: tuple, output: tuple, *, scale: Any) -> tuple:
                parts, nothing = primals
                first, sign, square = cotangent
                assert nothing is None and sign is None and len(output) == 3
                found, at_ = [], 0
                for part in parts:
                    here = slice(at_, at_ + part.shape[0])
                    found.append(first[here] * scale + square[here] * part * 2.0)
                    at_ = here.stop
                return found, None, {"scale": (first * output[0]).sum() / scale}

        op = Joined("joined_here")
        inputs = [np.array([1.0, 2.0]), np.array([3.0]), np.array(2.0)]
        f = lambda a, b, scale: op([a, b], None, scale=scale)
        first, sign, square = f(*map(TensorRef.of, inputs))
        assert sign.dtype is at.int64 and square.numpy().tolist() == [1.0, 4.0, 9.0] and first.numpy()[2] == 6.0
        at.check_grad(f, inputs, order=2, raise_exception=True)
        x = leaf(1.0, 2.0)
        assert backward(F.sum(f(x, TensorRef.of([3.0]), TensorRef.of(2.0))[2]))[x].tolist() == [2.0, 4.0]
        with Tape() as tape:
            y = F.sum(f(x, leaf(3.0), leaf(2.0)[0])[0])
        assert tape.to_graph(y).replay()[0] == 12.0 and len(backward(y, tape)) == 3
        t = trace(f, *inputs)
        assert t.refresh_graph_values(np.array([10.0, 20.0]), *inputs[1:])[2].tolist() == [100.0, 400.0, 9.0]

    @pytest.mark.parametrize("result, message", [((1.0, 2.0), "returned 2 gradients for 1 inputs"), ((), "returned 0 gradients")])
    def test_a_wrong_number_of_cotangents(self, result: Any, message: str) -> None:
        class Wrong(Operation):
            def execute(self, x: np.ndarray) -> np.ndarray:
                return x

            def vjp_rule(self, primals: tuple, cotangent: Any, output: Any) -> Any:
                return result

        x = leaf(1.0)
        with pytest.raises(ShapeMismatchError, match=message):
            backward(Wrong("wrong_here")(x))

    def test_a_wrong_list_and_no_result(self) -> None:
        class Listed(Operation):
            def execute(self, xs: list) -> Any:
                return xs[0] + xs[1] if xs[0][0] else None

            def vjp_rule(self, primals: tuple, cotangent: Any, output: Any) -> Any:
                return ([cotangent],)

        op = Listed("listed_here")
        with pytest.raises(ShapeMismatchError, match="something else for a list of tensors"):
            backward(op([leaf(1.0), leaf(1.0)]))
        with pytest.raises(ArgumentError, match="gave no result"):
            op([leaf(0.0), leaf(1.0)])


class Pair:
    def __init__(self, a: Any, b: Any) -> None:
        self.a, self.b = a, b


class Own:
    def __init__(self, a: Any, b: Any) -> None:
        self.a, self.b = a, b


@dataclasses.dataclass(frozen=True)
class Data:
    a: Any
    b: Any


@dataclass(frozen=True, slots=True)
class Attrs:
    a: Any
    b: Any


Named = namedtuple("Named", "a b")
register_tree(Own, lambda own: {"a": own.a, "b": own.b}, lambda parts: Own(**parts))
TREES = {"dict": lambda a, b: {"a": a, "b": b}, "list": lambda a, b: [a, b], "tuple": lambda a, b: (a, b), "namedtuple": Named,
         "dataclass": Data, "attrs": Attrs, "own type": Own, "OrderedDict": lambda a, b: OrderedDict(a=a, b=b),
         "defaultdict": lambda a, b: defaultdict(list, a=a, b=b), "nested": lambda a, b: Data(Attrs(a, None), [{"b": b}])}


class TestTrees:
    @pytest.mark.parametrize("name", TREES)
    def test_gradients_come_in_the_structure_of_the_argument(self, name: str) -> None:
        make = TREES[name]
        value, found = at.value_and_grad(lambda tree: F.sum(leaves(tree)[0] * leaves(tree)[1]))(make(np.array([1.0, 2.0]), 3.0))
        assert value == 9.0 and type(found) is type(make(1, 2))
        assert leaves(found)[0].tolist() == [3.0, 3.0] and leaves(found)[1] == 3.0
        y, pullback = at.vjp(lambda a, b: make(a * b, a + b), 2.0, 5.0)
        assert [float(x) for x in leaves(y)] == [10.0, 7.0] and pullback(make(np.array(1.0), np.array(0.0))) == (5.0, 2.0)
        t = trace(lambda tree: F.sum(leaves(tree)[0] * leaves(tree)[1]), make(np.ones(2), np.ones(2)))
        assert t.refresh_graph_values(make(np.full(2, 3.0), np.full(2, 2.0))) == 12.0
        assert at.check_grad(lambda tree: leaves(tree)[0] * leaves(tree)[1], [make(np.ones(2), np.ones(2))]).ok

    def test_by_keys_not_by_order(self) -> None:
        assert leaves_like({"a": 1, "b": 2}, {"b": 20, "a": 10}) == [10, 20]
        assert tree_map(lambda a, b: a + b, {"a": 1, "b": 2}, {"b": 20, "a": 10}) == {"a": 11, "b": 22}
        _, pullback = at.vjp(lambda x: {"a": x * 2.0, "b": x * 3.0}, 1.0)
        assert pullback({"b": np.array(10.0), "a": np.array(1.0)})[0] == 32.0
        t = trace(lambda p: p["a"] - p["b"], {"a": 1.0, "b": 2.0})
        assert t.refresh_graph_values({"b": 5.0, "a": 7.0}) == 2.0
        for other in ({"a": 1}, {"a": 1, "c": 2}, {"a": 1, "b": [2]}, [1, 2], None):
            with pytest.raises(ArgumentError, match="differ in structure"):
                leaves_like({"a": 1, "b": 2}, other)
        with pytest.raises(ArgumentError, match="no tree yet"):
            register_tree(Own, vars, vars)


class TestTraces:
    def test_nodes_and_marks(self) -> None:
        seen: list[bool] = []

        def f(x: TensorRef) -> TensorRef:
            y = x * 2.0
            seen.extend([x.traced, y.traced, TensorRef.of([1.0]).traced])
            return F.sum(F.exp(y))

        t = trace(f, np.array([1.0, 2.0]))
        assert seen == [True, True, False] and t.inputs[0].traced
        assert t.compute() is t.nodes and all(isinstance(node, at.OpNode) for node in t.nodes)
        assert [node.op_name for node in t.nodes] == ["mul", "exp", "sum"] == [node.op.name for node in t.nodes]
        first = t.nodes[0]
        assert first.op_args[0] is t.inputs[0] and first.op_kwargs["other"] == 2.0 and first.get_alive_outputs()[0].id == first.id

    def test_results_by_input_and_by_id(self) -> None:
        t = trace(lambda x, *, y: x * y, 2.0, y=5.0)
        grads = backward_on_trace(t)
        assert [grads[i] for i in t.inputs] == [grads[i.id] for i in t.inputs] == [5.0, 2.0]

    @pytest.mark.parametrize("make", [leaf, lambda *values: leaf(*values) * 1.0, lambda *values: torch.tensor(values, requires_grad=True),
                                      lambda *values: torch.tensor(values)])
    def test_of_tensors_with_and_without_a_history(self, make: Any) -> None:
        t = trace(lambda x: F.sum(x * x), make(1.0, 2.0))
        assert t.refresh_graph_values(make(3.0, 4.0)).item() == 25.0 == t.output.item()
        assert list(np.asarray(backward_on_trace(t)[t.inputs[0]])) == [6.0, 8.0]

    def test_cotangents_are_ones_where_left_out(self) -> None:
        t = trace(lambda x: {"square": x * x, "sum": F.sum(x), "rank": F.argsort(x)}, np.array([1.0, 2.0]))
        for _ in range(3):  # the second pass is another program
            assert backward_on_trace(t)[t.inputs[0]].tolist() == [3.0, 5.0]
        assert at.reduce_to_shape([1.0, 2.0], ()) == 3.0 and at.reduce_to_shape(np.ones((2, 3)), 3).tolist() == [2.0, 2.0, 2.0]

    def test_keyword_arrays_are_inputs(self) -> None:
        t = trace(lambda x, *, y, n: F.sum(x * y) * n, np.ones(2), y=np.full(2, 3.0), n=2)
        assert len(t.inputs) == 2 and t.output.item() == 12.0
        assert t.refresh_graph_values(y=np.full(2, 10.0)) == 40.0
        assert t.refresh_graph_values(np.full(2, 2.0), y=np.ones(2), n=2) == 8.0 and t.refresh_graph_values() == 8.0
        for wrong in ({"z": 1.0}, {"y": [np.ones(2)]}, {"n": 3}):
            with pytest.raises(ArgumentError):
                t.refresh_graph_values(**wrong)

    @pytest.mark.parametrize("arguments, error", [((np.full(2, 9.0), np.ones(3)), ShapeMismatchError),
                                                  ((np.full(2, 9.0), np.ones(2, np.float32)), DTypeError),
                                                  ((np.full(2, 9.0),), ArgumentError), ((np.full(2, 9.0), np.zeros(2)), ZeroDivisionError)])
    def test_a_failed_refresh_changes_nothing(self, arguments: tuple, error: type[Exception]) -> None:
        class Strict(Operation):
            def execute(self, x: np.ndarray, y: np.ndarray) -> np.ndarray:
                if not y.all():
                    raise ZeroDivisionError
                return x / y

            def vjp_rule(self, primals: tuple, cotangent: Any, output: Any) -> tuple:
                return cotangent / primals[1], None

        op = Strict("strict_here")
        t = trace(lambda x, y: F.sum(op((x * 1.0).mul_(2.0), y)), np.array([1.0, 2.0]), np.ones(2))
        before, nodes = backward_on_trace(t), list(t.nodes)
        state = [(x._data, x.numpy().copy(), x.id) for x in (*t.inputs, t.output)]
        with pytest.raises(error):
            t.refresh_graph_values(*arguments)
        assert t.nodes == nodes
        for x, (data, values, id) in zip((*t.inputs, t.output), state):
            assert x._data is data and x.id == id
            np.testing.assert_array_equal(x.numpy(), values)
        for x, g in zip(t.inputs, before.values()):
            np.testing.assert_array_equal(backward_on_trace(t)[x], g)
        assert t.refresh_graph_values() == 6.0


def test_a_number_is_written_as_one() -> None:
    x = leaf(1.0, 2.0)
    assert f"{x[1]:.2f} {F.argmax(x):3d} {x * 1.0}" == f"2.00   1 {x * 1.0!r}"
    assert at.grad(lambda x: F.sum(x) if f"{x[0]:.1f}" == "1.0" else x[0])(np.array([1.0, 2.0])).tolist() == [1.0, 1.0]
    for wrong in (x, TensorRef.declare((), "float64")):
        with pytest.raises(TypeError, match="unsupported format string"):
            f"{wrong:.2f}"


def test_words_go_through_an_operation() -> None:
    class Named(Operation):
        def execute(self, x: np.ndarray, name: str) -> np.ndarray:
            return x * len(name)

        def vjp_rule(self, primals: tuple, cotangent: Any, output: Any) -> tuple:
            return cotangent * len(primals[1]), None

    x = leaf(1.0, 2.0)
    assert backward(F.sum(Named("named_here")(x, "abc")))[x].tolist() == [3.0, 3.0]


def test_an_error_says_all() -> None:
    assert str(AutogradError("It failed", found="b")) == "It failed. Found b." and str(AutogradError("It failed", expected="a")) == (
        "It failed. Expected a.")
    error = AutogradError("It failed", expected="a", found="b", remedy="do c")
    assert str(error) == "It failed. Expected a, found b. To fix it, do c."
