"""The IR graph of a tape: structure, text, DOT, JSON, replay."""

from __future__ import annotations

import gc
import json

import numpy as np
import pytest
from hypothesis import given, settings

import autograd_tape as at
from autograd_tape import F, Graph, OpSpec, Tape, TensorRef, backward, backward_on_trace, get_executor, trace
from autograd_tape.errors import ArgumentError, AutogradError
from autograd_tape.executors.numpy import NumpyExecutor
from autograd_tape.ops import RECORDS

from .random_programs import programs, run


class Elsewhere(NumpyExecutor):
    """An executor whose arrays, for all one knows, share no memory."""

    name = "elsewhere"


def recorded() -> tuple[Graph, list[TensorRef], TensorRef]:
    x = TensorRef.of(np.float32([[1, 2, 3]]), requires_grad=True)
    w = TensorRef.of(np.float32([[1], [2]]), requires_grad=True)
    c = TensorRef.of(np.float32([10, 20, 30]))
    with Tape() as tape:
        y = F.sum(x * w + c, dim=(0, 1), keepdim=True)
    return tape.to_graph(), [x, w, c], y


class TestStructure:
    def test_values_nodes_inputs_outputs(self) -> None:
        graph, (x, w, c), y = recorded()
        assert graph.inputs == (x.id, w.id) and graph.outputs == (y.id,)
        assert [(n.op, n.arguments) for n in graph.nodes] == [("mul", {}), ("add", {}), ("sum", {"dim": (0, 1), "keepdim": True})]
        assert graph.nodes[0].inputs == (x.id, w.id) and graph.nodes[1].inputs == (graph.nodes[0].outputs[0], c.id)
        kinds = {v.name: (v.kind, v.shape, v.dtype.name) for v in graph.values.values()}
        assert kinds == {"x0": ("input", (1, 3), "float32"), "x1": ("input", (2, 1), "float32"), "v0": ("result", (2, 3), "float32"),
                         "c0": ("constant", (3,), "float32"), "v1": ("result", (2, 3), "float32"), "v2": ("result", (1, 1), "float32")}

    def test_repr(self) -> None:
        graph, _, _ = recorded()
        assert repr(graph) == """\
graph(x0: float32[1, 3], x1: float32[2, 1]) {
    c0: float32[3] = constant
    v0: float32[2, 3] = mul(x0, x1)
    v1: float32[2, 3] = add(v0, c0)
    v2: float32[1, 1] = sum(v1, dim=(0, 1), keepdim=True)
    return v2
}"""

    def test_only_what_leads_to_the_outputs(self) -> None:
        x = TensorRef.of([1.0], requires_grad=True)
        with Tape() as tape:
            a = x * 2.0
            b = x * 3.0
        assert [n.op for n in tape.to_graph([b]).nodes] == ["mul"] and tape.to_graph([b]).outputs == (b.id,)
        assert tape.to_graph().outputs == (a.id, b.id)
        with pytest.raises(ArgumentError, match="is not on the tape"):
            tape.to_graph([TensorRef.of([1.0])])

    def test_numbers_are_arguments(self) -> None:
        x = TensorRef.of([1.0], requires_grad=True)
        with Tape() as tape:
            x * 2.5
        assert "mul(x0, other=2.5)" in repr(tape.to_graph())

    def test_lists_of_tensors(self) -> None:
        a, b = TensorRef.of([1.0], requires_grad=True), TensorRef.of([2.0])
        with Tape() as tape:
            F.cat([a, b, a], dim=0)
        graph = tape.to_graph()
        assert graph.nodes[0].inputs == (a.id, b.id, a.id)
        assert graph.replay([np.array([7.0])])[0].tolist() == [7.0, 2.0, 7.0]

    def test_in_place_operations_make_new_values(self) -> None:
        x = TensorRef.of([1.0, 2.0], requires_grad=True)
        with Tape() as tape:
            y = x * 1.0
            y.mul_(x)
            y.add_(1.0)
        graph = tape.to_graph([y])
        assert [n.inplace for n in graph.nodes] == [False, True, True] and "mul_(v0, x0)" in repr(graph)
        np.testing.assert_array_equal(graph.replay([np.array([3.0, 4.0])])[0], [10.0, 17.0])

    def test_views_see_in_place_changes_on_executors_whose_arrays_share_memory(self) -> None:
        x = TensorRef.of(np.array([[1.0, 2.0], [3.0, 4.0]]), requires_grad=True)
        with Tape() as tape:
            y = x * 1.0
            v = F.transpose(y, 0, 1)
            y.mul_(2.0)
            with at.no_grad():
                z = v + 0.0
        graph = tape.to_graph([z])
        data = np.array([[5.0, 6.0], [7.0, 8.0]])
        assert graph.aliased
        for again in (graph, Graph.from_json(graph.to_json())):
            np.testing.assert_array_equal(again.replay([data])[0], 2 * data.T)
            np.testing.assert_array_equal(again.replay()[0], 2 * x.numpy().T)
            with pytest.raises(AutogradError, match="writes to memory that a view shares.*found elsewhere"):
                again.replay([data], Elsewhere())

    def test_sources_that_are_written_to_start_again_as_they_were(self) -> None:
        x, counter = TensorRef.of([1.0, 2.0], requires_grad=True), TensorRef.of([0.0, 0.0])
        seen = F.reshape(counter, (2, 1))
        with Tape() as tape:
            with at.no_grad():
                counter.add_(x)
            y = F.sum(x * counter * seen[:, 0])
        graph = tape.to_graph([y])
        for _ in range(2):
            assert graph.replay([np.array([3.0, 4.0])]) == [27.0 + 64.0] and graph.replay() == [9.0]
        np.testing.assert_array_equal(counter.numpy(), [1.0, 2.0])

    def test_a_number_that_python_read_forbids_other_data_for_what_it_came_from(self) -> None:
        x, w = TensorRef.of([1.0, 2.0], requires_grad=True), TensorRef.of([3.0, 4.0], requires_grad=True)
        with Tape() as tape:
            n = F.sum(x * 2.0).item()
            y = F.sum(x * w * n)
            float(y)  # after the last operation it decides nothing
        graph = tape.to_graph(y)
        for again in (graph, Graph.from_json(graph.to_json())):
            assert again.replay() == [66.0] and again.replay({w: np.array([1.0, 1.0])} if again is graph else {"x1": np.ones(2)}) == [18.0]
            with pytest.raises(AutogradError, match=r"cannot take other data for x0: the program read a number.*test_graph.py:\d+ \(n = F"):
                again.replay({"x0": np.ones(2)})

    def test_a_graph_keeps_the_data_it_was_made_with(self) -> None:
        x, c = TensorRef.of([1.0], requires_grad=True), TensorRef.of([3.0])
        with Tape() as tape:
            y = x * c
        graph = tape.to_graph([y])
        with at.no_grad():
            c.mul_(0.0)
            x.fill_(9.0)
        assert graph.replay() == [3.0]

    def test_hand_recorded_operations(self) -> None:
        x = TensorRef.declare((2, 3), "float64", requires_grad=True)
        with Tape() as tape:
            spec = OpSpec("sum", [x], dim=1)
            tape.record(spec)
        graph = tape.to_graph()
        assert "v0: float64[2] = sum(x0, dim=1)" in repr(graph)
        np.testing.assert_array_equal(graph.replay([np.ones((2, 3))])[0], [3.0, 3.0])
        with pytest.raises(AutogradError, match=r"The input x0 has no data.*replay\(\{'x0': array\}\)"):
            graph.replay()

    def test_the_default_tape_gives_a_picture_only(self) -> None:
        x = TensorRef.of([1.0], requires_grad=True)
        y = F.sum(F.exp(x) * x)
        graph = at.get_default_tape().to_graph([y])
        assert [n.op for n in graph.nodes] == ["exp", "mul", "sum"] and graph.inputs == (x.id,)
        assert "return v2" in repr(graph) and "mul" in graph.to_dot()
        with pytest.raises(AutogradError, match="cannot be replayed"):
            graph.replay()
        with pytest.raises(ArgumentError, match="needs outputs"):
            at.get_default_tape().to_graph()

    def test_a_graph_keeps_no_tensors_alive(self) -> None:
        import weakref

        graph, refs, y = recorded()
        watched = [weakref.ref(r) for r in (*refs, y)]
        del refs, y
        gc.collect()
        assert all(r() is None for r in watched) and graph.replay()[0].shape == (1, 1)


class TestReplay:
    def test_inputs_by_position_name_id_tensor_or_not_at_all(self) -> None:
        graph, (x, w, c), y = recorded()
        x2 = np.float32([[2, 2, 2]])
        expected = (x2 * w.numpy() + c.numpy()).sum((0, 1), keepdims=True)
        for inputs in ([x2], {"x0": x2}, {x.id: x2}, {x: TensorRef.of(x2)}):
            np.testing.assert_array_equal(graph.replay(inputs)[0], expected)
        np.testing.assert_array_equal(graph.replay()[0], y.numpy())
        np.testing.assert_array_equal(graph.replay({"c0": np.zeros(3, np.float32)})[0], [[18.0]])

    def test_wrong_inputs(self) -> None:
        graph, _, _ = recorded()
        with pytest.raises(ArgumentError, match="too many inputs. Expected 2 arrays, found 3"):
            graph.replay([1, 2, 3])
        with pytest.raises(ArgumentError, match="no input 'v0'. Expected x0, x1, c0"):
            graph.replay({"v0": np.ones(1)})

    def test_on_the_meta_executor_shapes_come_out(self) -> None:
        graph, _, _ = recorded()
        found = graph.replay([np.ones((1, 5), np.float32), np.ones((7, 1), np.float32), np.ones(5, np.float32)][:2] and
                             {"x0": np.ones((1, 5), np.float32), "c0": np.ones(5, np.float32)}, get_executor("meta", "meta"))
        assert found[0].shape == (1, 1) and found[0].dtype == np.float32

    def test_on_mindspore_where_there_is_one(self) -> None:
        reason = at.available_executors()["mindspore"]
        if reason:
            with pytest.raises(AutogradError):
                get_executor("mindspore")
            return
        graph, _, y = recorded()
        np.testing.assert_allclose(graph.replay(executor=get_executor("mindspore"))[0], y.numpy(), rtol=1e-6)

    @settings(deadline=None, max_examples=40)
    @given(programs())
    def test_random_graphs_through_json(self, program: list[tuple]) -> None:
        rng = np.random.default_rng(0)
        inputs = [rng.standard_normal(s) for s in ((2, 3), (1, 3), (2, 1))]
        refs = [TensorRef.of(x, requires_grad=True) for x in inputs]
        with Tape() as tape:
            out = run(program, *refs)
        graph = tape.to_graph([out])
        np.testing.assert_array_equal(graph.replay()[0], out.numpy())
        again = Graph.from_json(graph.to_json())
        assert repr(again) == repr(graph) and again.to_dot() == graph.to_dot()
        moved = {f"{graph.values[id].name}": inputs[[r.id for r in refs].index(id)] + 0.25 for id in graph.inputs}
        expected = run(program, *[TensorRef.of(x + 0.25) if r.id in graph.inputs else TensorRef.of(x) for r, x in zip(refs, inputs)])
        np.testing.assert_allclose(again.replay(moved)[0], expected.numpy(), rtol=1e-12)


class TestText:
    def test_dot_names_every_node_and_edge(self) -> None:
        graph, _, _ = recorded()
        dot = graph.to_dot()
        assert dot.startswith("digraph tape {") and dot.endswith("}") and dot.count("{") == dot.count("}") == 1
        for line in ('"n2" [label="sum\\ndim=(0, 1)\\nkeepdim=True", shape=box];', '"n0" -> "n1" [label="float32[2, 3]"];', '"c0" -> "n1";',
                     '"n2" -> "v2";'):
            assert line in dot

    def test_json_is_plain_and_complete(self) -> None:
        graph, _, _ = recorded()
        document = json.loads(graph.to_json(indent=1))
        assert document["format"] == "autograd_tape.graph/2" and [n["op"] for n in document["nodes"]] == ["mul", "add", "sum"]
        bare = Graph.from_json(graph.to_json(data=False))
        assert bare.values[bare.inputs[0]].data is None
        assert any(v.kind == "constant" and v.data is not None for v in bare.values.values())

    def test_arguments_of_every_kind_survive(self) -> None:
        from autograd_tape.graph import _decode, _encode

        value = (1, -2.5, float("inf"), None, True, "text", 1 + 2j, at.DType.by_name["bfloat16"], slice(1, None, 2), Ellipsis,
                 [1, (2,)], np.arange(6, dtype=np.int8).reshape(2, 3), np.float32(0.5))
        back = _decode(json.loads(json.dumps(_encode(value))))
        assert back[:2] == value[:2] and back[2] == float("inf") and back[3:11] == value[3:11] and back[12] == 0.5
        np.testing.assert_array_equal(back[11], value[11])
        assert _decode(_encode(float("nan"))) != _decode(_encode(float("nan")))
        assert _decode(_encode(TensorRef.of([1.0]))).numpy() == 1.0
        with pytest.raises(ArgumentError, match="has no JSON form.*found object"):
            _encode(object())

    @pytest.mark.parametrize("text", ["", "[]", "{}", '{"format": "other"}', '{"format": "autograd_tape.graph/1"}'])
    def test_other_text_is_refused(self, text: str) -> None:
        with pytest.raises(ArgumentError, match="This text is no graph"):
            Graph.from_json(text)
        graph, _, _ = recorded()
        document = json.loads(graph.to_json())
        document["nodes"][0]["inputs"] = [10**9, 1]
        with pytest.raises(ArgumentError, match="a value that is not there"):
            Graph.from_json(json.dumps(document))


BECOMES = {"t_": (), "transpose_": (0, 1), "squeeze_": (), "unsqueeze_": (0,), "as_strided_": ((2, 2), (1, 2))}


@pytest.mark.parametrize("name", BECOMES)
class TestTensorsThatTakeAnotherShape:
    """`x.t_()`: the value before has the shape and the identity that it had, on the tape, in the graph and in what is computed anew."""

    X = np.arange(6.0).reshape(3, 1, 2)[:, 0]

    def shaped(self, name: str) -> np.ndarray:
        return self.X[:, None] if name == "squeeze_" else self.X

    def test_all_such_operations_are_here(self, name: str) -> None:
        assert set(BECOMES) == {rec.name for rec in RECORDS.values() if rec.module.endswith("views.in_place") and rec.name[-1] == "_"}

    @pytest.mark.parametrize("requires_grad", [True, False])
    def test_on_a_tape(self, name: str, requires_grad: bool) -> None:
        x = TensorRef.of(self.shaped(name), requires_grad=requires_grad)
        with Tape() as tape:
            y = x * 1.0
            before = y.id
            getattr(y, name)(*BECOMES[name])
            loss = F.sum(y * y)
        graph = tape.to_graph(loss)
        made, changed = graph.nodes[:2]
        assert graph.values[made.outputs[0]].shape == x.shape == graph.values[changed.inputs[0]].shape
        assert graph.values[changed.outputs[0]].shape == y.shape and changed.inputs == made.outputs != changed.outputs
        assert graph.replay() == [loss.numpy()] and Graph.from_json(graph.to_json()).replay() == [loss.numpy()]
        if requires_grad:
            assert tape.entries[1].value_ids == ((before,), (y.id,)) and y.id != before
            assert {id(t) for t in tape.get_dependencies(loss)} >= {id(x), id(y)}
            assert backward(loss, tape)[x].shape == x.shape

    def test_of_a_constant(self, name: str) -> None:
        x, w = TensorRef.of(self.shaped(name)), TensorRef.of(np.full(self.shaped(name).shape, 2.0), requires_grad=True)
        with Tape() as tape:
            y = x * w
            getattr(x, name)(*BECOMES[name])
            z = F.sum(x * x) + F.sum(y)
        graph = tape.to_graph(z)
        assert graph.values[graph.nodes[0].inputs[0]].shape == w.shape and graph.replay() == [z.numpy()]

    def test_in_a_trace(self, name: str) -> None:
        def f(x: TensorRef) -> TensorRef:
            y = x * 2.0
            getattr(y, name)(*BECOMES[name])
            return F.sum(y * y)

        t = trace(f, self.shaped(name))
        other = TensorRef.of(self.shaped(name) + 1.0, requires_grad=True)
        for _ in range(2):
            assert t.refresh_graph_values(other.numpy()) == f(other).item()
            np.testing.assert_array_equal(backward_on_trace(t)[t.inputs[0]], backward(f(other))[other])
