"""Drawings, tables and short forms of tapes, entries and graphs: what is in them, and that any name may stand in them."""

from __future__ import annotations

import io
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given, settings
from tests.tape.random_programs import programs, run

import autograd_tape as at
import torchcompat as torch
from autograd_tape import F, Graph, OpSpec, Tape, TensorRef, backward
from autograd_tape.__main__ import main
from autograd_tape.errors import ArgumentError
from autograd_tape.show import Drawing
from autograd_tape.show.text import columns
from torchcompat import nn

ROOT = Path(__file__).parents[2]
SVG = "{http://www.w3.org/2000/svg}"
WEIRD = ["<script>alert(1)</script>", "a\"b'c&d", "\x00\x1b[31m\n", "日本語", "\ud800", "]]>", "\u202eabc", "e\u0301" * 30]


def leaf(*values: float) -> TensorRef:
    return TensorRef.of(list(values), requires_grad=True)


def drawn(drawing: Drawing) -> tuple[list[tuple[str, list[str]]], Counter[tuple[int, int]], list[str]]:
    """What an SVG reader finds: (kind, lines) of each box, the edges, the names of groups."""
    root = ElementTree.fromstring(drawing.svg)
    boxes = sorted([(int(g.attrib["data-nr"]), g.attrib["class"], [t.text or "" for t in g.findall(f"{SVG}text")])
                    for g in root.iter(f"{SVG}g") if "data-nr" in g.attrib])
    assert [nr for nr, _, _ in boxes] == list(range(len(boxes)))
    edges = Counter([(int(p.attrib["data-from"]), int(p.attrib["data-to"])) for p in root.iter(f"{SVG}path") if p.get("class") == "edge"])
    groups = [t.text or "" for t in root.iter(f"{SVG}text") if t.get("font-style") == "italic"]
    return [(kind, lines) for _, kind, lines in boxes], edges, groups


def expected(graph: Graph) -> tuple[list[str], Counter[tuple[str, str]]]:
    """(what boxes are called, edges from name to name) of a graph: leaves by their names, operations by `op@id`."""
    maker = {id: f"{node.op}@{node.id}" for node in graph.nodes for id in node.outputs}
    names = {id: maker.get(id, value.name) for id, value in graph.values.items() if id in maker or value.kind != "result"}
    return [*dict.fromkeys(names.values())], Counter([(names[id], f"{node.op}@{node.id}") for node in graph.nodes for id in node.inputs])


def agrees(graph: Graph, drawing: Drawing) -> None:
    """Every box and every edge of the graph is drawn, once, and nothing else."""
    boxes, edges, _ = drawn(drawing)
    nodes = iter(graph.nodes)
    called = []
    for kind, lines in boxes:
        if kind in ("input", "constant"):
            called.append(lines[0])
        else:
            node = next(nodes)
            assert lines[0].split(" ")[0].rstrip("_") == node.op.rstrip("_")
            called.append(f"{node.op}@{node.id}")
    names, wanted = expected(graph)
    assert sorted(called) == sorted(names)
    assert Counter({(called[a], called[b]): n for (a, b), n in edges.items()}) == wanted


class TestDrawings:
    @settings(max_examples=30, deadline=None)
    @given(programs())
    def test_all_of_a_random_program(self, program: Any) -> None:
        with Tape() as tape:
            run(program, *[TensorRef.of(np.full((2, 3), 0.5), requires_grad=True) for _ in range(3)])
        graph = tape.to_graph()
        agrees(graph, graph.draw())
        assert graph.draw().svg == Graph.from_json(graph.to_json()).draw().svg

    def test_what_boxes_say(self) -> None:
        x, c = leaf(1.0, 2.0), TensorRef.of([1.0, 3.0])
        with Tape() as tape:
            y = F.sum(x * c, dim=0, keepdim=True)
            tape.draw()
        graph = tape.to_graph()
        backward(y, tape, grad_outputs=np.array([2.0]))
        boxes, _, _ = drawn(graph.draw())
        assert boxes == [("input", ["x0", "float64[2]", f"|grad| = {np.sqrt(40.0):.4g}"]), ("constant", ["c0", "float64[2]"]),
                         ("operation", ["mul", "float64[2]", "saves 16 B"]), ("output", ["sum dim=0 keepdim=True", "float64[1]"])]
        assert graph.draw().picture.title == "2 operations, 1 input, 1 constant"

    def test_norms_of_gradients(self) -> None:
        x = leaf(3.0, 4.0)
        with Tape() as tape:
            y = x * 1.0
            z = F.sum(y)
        graph = tape.to_graph()
        assert "|grad|" not in graph.draw().svg
        grads = backward(z, options=at.BackwardOptions(inputs=[y], retain_graph=True))
        assert "|grad| = 1.414" in graph.draw(grads=grads).svg
        x.grad = None
        y.retain_grad()
        backward(z, options=at.BackwardOptions(retain_graph=True))
        assert graph.draw().svg.count("|grad| = 1.414") == 2
        for dtype in ("bfloat16", "float16", "complex64"):
            t = torch.tensor([3.0, 4.0], dtype=getattr(torch, dtype), requires_grad=True)
            with Tape() as tape:
                s = (t * t.detach().conj()).real.sum() if t.is_complex() else (t * t.detach()).sum()
            s.backward()
            assert "|grad| = 5" in tape.draw().svg

    def test_a_graph_keeps_no_tensors_alive(self) -> None:
        x = leaf(1.0)
        with Tape() as tape:
            x * x
        graph = tape.to_graph()
        value = graph.values[graph.inputs[0]]
        assert value.tensor() is x
        tape.clear()
        del x
        assert value.tensor() is None and "x0" in graph.draw().svg

    def test_the_history_of_torchs_tensors(self) -> None:
        torch.manual_seed(0)
        net = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 1))
        loss = net(torch.ones(2, 3)).sum()
        boxes, edges, groups = drawn(at.show.draw(loss))
        assert Counter(kind for kind, _ in boxes) == {"input": 4, "operation": 3, "output": 1} and sum(edges.values()) == 7 and not groups
        assert ["relu", "float32[2, 4]", "saves 32 B"] in [lines for _, lines in boxes]  # what is saved tells shapes
        with Tape():
            loss = net(torch.ones(2, 3)).sum()
            assert drawn(at.show.draw([loss]))[2]  # the innermost tape knows more

    def test_an_update_in_place(self) -> None:
        x = leaf(1.0, 2.0)
        with Tape() as tape:
            y = x * 2.0
            y.mul_(3.0)
            F.sum(y)
        agrees(tape.to_graph(), tape.draw())

    def test_large_graphs(self) -> None:
        x = leaf(1.0)
        with Tape() as tape:
            y = x
            for i in range(1000):
                y = y * 1.5 + x if i % 3 else F.sin(y)
        graph = tape.to_graph()
        agrees(graph, graph.draw())

    def test_nothing(self) -> None:
        assert drawn(Tape().draw()) == ([], Counter(), [])

    @pytest.mark.parametrize("name", WEIRD)
    def test_any_name_may_stand_in_it(self, name: str) -> None:
        x, y = leaf(1.0), TensorRef.of([2.0])
        with Tape() as tape, at.scope(name):
            tape.record(name, [x], y, lambda g, saved: [g], [])
        drawing = tape.draw()
        boxes, _, groups = drawn(drawing)
        assert len(boxes) == 2 and len(groups) == 1 and "<script" not in drawing.svg
        widths = [(columns(line) * 7.2, box.width) for (_, lines), box in zip(boxes, drawing.layout.boxes) for line in lines]
        assert all(text <= box for text, box in widths), "a name is wider than its box"
        drawing.svg.encode()
        for text in (repr(tape), repr(tape.entries[0]), str(tape.summary())):
            text.encode()
            assert not any(ord(c) < 32 and c != "\n" for c in text)
        assert "\n" not in repr(tape.entries[0])
        for html in (tape._repr_html_(), tape.entries[0]._repr_html_(), tape.to_graph()._repr_html_()):
            ElementTree.fromstring(html)  # as XML: every mark stands for itself
            assert "<script" not in html


class TestFiles:
    def graph(self) -> Graph:
        x = leaf(1.0)
        with Tape() as tape:
            x * x
        return tape.to_graph()

    def test_names_and_objects(self, tmp_path: Path) -> None:
        graph, text, binary = self.graph(), io.StringIO(), io.BytesIO()
        svg = graph.draw(tmp_path / "a.svg").svg
        graph.draw(str(tmp_path / "b.SVG"))
        graph.draw(text), graph.draw(binary)
        with open(tmp_path / "c", "wb") as file:
            graph.draw(file)
        written = [(tmp_path / n).read_text(encoding="utf-8") for n in ("a.svg", "b.SVG", "c")]
        assert {*written, text.getvalue(), binary.getvalue().decode()} == {svg}
        assert graph.draw()._repr_svg_() == svg

    @pytest.mark.parametrize("file", ["x.png", "x", 3, b"x.png", ".svg"])
    def test_other_files_are_refused(self, file: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(tmp_path)
        with pytest.raises(ArgumentError, match=r"file name ending in \.svg, or a file object"):
            self.graph().draw(file)
        assert not list(tmp_path.iterdir())

    @pytest.mark.parametrize("what", [3, [], [3], "x", None])
    def test_what_is_no_graph(self, what: Any) -> None:
        with pytest.raises(ArgumentError, match="a Graph, a Tape, or tensors"):
            at.show.draw(what)


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(2, 2), nn.Tanh()])

    def forward(self, x: Any) -> Any:
        for layer in self.layers:
            x = layer(x)
        return self.layers[1](x) + 1


class TestScopes:
    def test_modules(self) -> None:
        block, x = Block(), torch.ones(1, 2)
        with Tape() as tape:
            (block(x) > 0).any()
            y = block(x).sum()
        graph = tape.to_graph(y)
        assert [(n.op, n.scope) for n in graph.nodes] == [
            ("linear", ("Block #2", "layers.0: Linear")), ("tanh", ("Block #2", "layers.1: Tanh")),
            ("tanh", ("Block #2", "layers.1: Tanh #2")), ("add", ("Block #2",)), ("sum", ())]
        assert drawn(tape.draw(outputs=y))[2] == ["Block #2", "layers.0: Linear", "layers.1: Tanh", "layers.1: Tanh #2"]
        scopes = [row.scope for row in tape.summary().rows]
        assert scopes[:4] == [("Block", "layers.0: Linear"), ("Block", "layers.1: Tanh"), ("Block", "layers.1: Tanh #2"), ("Block",)]
        assert scopes[4:6] == [(), ()]

    def test_operations_without_gradient_and_in_place(self) -> None:
        x = leaf(1.0, 2.0)
        with Tape() as tape:
            with at.scope("a"):
                F.gt(x, 1.0)
                y = x * 2.0
                with at.scope("b"), at.no_grad():
                    F.exp(x)
                y.add_(1.0)
            F.cat([x, y])
        assert [(row.operation, row.scope) for row in tape.summary().rows] == [
            ("gt", ("a",)), ("mul", ("a",)), ("exp", ("a", "b")), ("add_", ("a",)), ("cat", ())]

    def test_nothing_is_left_behind(self) -> None:
        hooks = nn.modules._hooks if hasattr(nn.modules, "_hooks") else sys.modules["torchcompat.nn.modules._hooks"]
        with Tape():
            with Tape():
                assert hooks._global_forward_pre_hooks
            assert hooks._global_forward_pre_hooks
        assert not hooks._global_forward_pre_hooks

    def test_hooks_of_the_program_run_as_ever(self) -> None:
        seen: list[str] = []
        relu, x = nn.ReLU(), torch.ones(1, requires_grad=True)
        handles = [relu.register_forward_hook(lambda m, a, r: seen.append("after")),
                   relu.register_forward_pre_hook(lambda m, a: (a[0] * 2,)),
                   relu.register_full_backward_hook(lambda m, gi, go: seen.append("back")),
                   nn.modules.module.register_module_forward_hook(lambda m, a, r: r + 1)]
        with Tape() as tape:
            y = relu(x)
        y.sum().backward()
        for handle in handles:
            handle.remove()
        assert y.item() == 3 and seen == ["after", "back"] and x.grad.item() == 2
        assert {row.scope for row in tape.summary().rows} == {("ReLU",)}

    def test_errors_leave_and_blocks_that_begin_elsewhere(self) -> None:
        class Fails(nn.Module):
            def forward(self, x: Any) -> Any:
                raise KeyboardInterrupt if x is None else ValueError

        class Opens(nn.Module):
            def forward(self, x: Any) -> Any:
                tape.start_recording()
                return x * 2

        tape, x = Tape(), torch.ones(1, requires_grad=True)
        y = Opens()(x)
        for error, argument in ((ValueError, x), (KeyboardInterrupt, None)):
            with pytest.raises(error):
                Fails()(argument)
        nn.ReLU()(y)
        tape.stop_recording()
        with tape:
            x * 3
        assert [(row.operation, row.scope) for row in tape.summary().rows][:1] == [("mul", ())]
        assert [row.scope for row in tape.summary().rows][2] == ()
        assert all(scope.last is not None for scope in tape.scopes.all)

    def test_json_keeps_them(self) -> None:
        x = leaf(1.0)
        with Tape() as tape, at.scope("a"):
            x * x
        again = Graph.from_json(tape.to_graph().to_json())
        assert again.nodes[0].scope == ("a",) and again.nodes[0].saved == 8


class TestTables:
    def test_a_measured_tape(self) -> None:
        net = nn.Sequential(nn.Linear(3, 4), nn.Tanh())
        x = torch.ones(2, 3)
        with Tape(measure=True) as tape:
            y = net(x)
            loss, other = F.var(y), y > 0
        assert tape.retain_graph
        rows = tape.summary().rows
        assert [r.operation for r in rows] == ["linear", "tanh", "var", "gt"] and all(r.forward and r.forward > 0 for r in rows)
        assert all(r.backward is None for r in rows)
        loss.backward()
        found = tape.summary()
        first = [r.backward for r in found.rows]
        assert all(b is not None and b > 0 for b in first[:2]) and first[3] is None
        assert [r.saved for r in found.rows][:2] == [tape.clock.saved[r.id] for r in rows[:2]]  # known although it was freed
        assert found.totals.forward == pytest.approx(sum(r.forward for r in found.rows)) and "freed" in str(found)
        assert {"forward", "backward", "scope"} <= set(str(found).splitlines()[1].split())
        assert " us" in tape.draw().svg or " ms" in tape.draw().svg
        del other

    def test_the_clock_ends_with_its_tape(self) -> None:
        from autograd_tape.calls import LISTENING
        from autograd_tape.engine import observers

        before = len(observers), len(LISTENING)
        with Tape(measure=True) as tape:
            x = leaf(1.0) * 2.0
        assert (len(observers), len(LISTENING)) == (before[0] + 1, before[1])
        backward(x, tape)
        assert tape.summary().rows[0].backward > 0
        del tape, x
        assert len(observers) == before[0]

    def test_totals_count_memory_once(self) -> None:
        x = leaf(*map(float, range(8)))
        with Tape() as tape:
            F.sum(F.exp(x) * F.exp(x))
            y = x * x
            y * x
        found = tape.summary()
        assert [r.saved for r in found.rows] == [64, 64, 128, 0, 64, 128] and found.totals.saved == 64 * 4
        assert found.rows[0].outputs == (((8,), "float64"),) and found.rows[0].output == "float64[8]" and len(found) == 6

    def test_short_forms(self) -> None:
        x = leaf(1.0)
        with Tape() as tape:
            y = x
            for _ in range(50):
                y = y * 2.0
        lines = repr(tape).splitlines()
        assert lines[0] == "Tape of 50 entries" and len(lines) == 12 and lines[6] == "    ... 40 more"
        assert repr(tape.entries[0]) == f"<MulBackward0 {tape.entries[0].id}: mul(float64[1], other=2.0) -> float64[1]>"
        assert "..." in repr(tape.to_graph()) and "..." not in str(tape.to_graph())
        assert len(str(tape.summary()).splitlines()) == 54 > len(repr(tape.summary()).splitlines())
        assert repr(at.get_default_tape()) == "<DefaultTape of a thread, recording>"
        assert "entries" not in at.get_default_tape()._repr_html_()
        assert repr((x * 2.0).creator).startswith("<MulBackward0 object at 0x")
        assert (x * 2.0).creator._repr_html_().startswith("<code>&lt;MulBackward0 ")
        with tape:
            z = y * 3.0
            assert repr(z.creator).endswith(": mul(float64[1], other=3.0) -> float64[1]>")
            assert repr(tape).splitlines()[0] == "Tape of 51 entries, recording"

    def test_declared_and_others(self) -> None:
        x = TensorRef.declare((2,), "float64", requires_grad=True)
        with Tape() as tape:
            y = OpSpec("exp", [x])
            tape.record(y)
        assert [r.output for r in tape.summary().rows] == ["float64[2]"] and "exp(float64[2]) -> float64[2]" in repr(tape)
        agrees(tape.to_graph(), tape.draw())


    @pytest.mark.parametrize("call, line", [
        (lambda op, x: op(x), "(float64[2]) -> float64[2]"),
        (lambda op, x: op(x, scale=3.0), "(float64[2], scale=3.0) -> float64[2]"),
        (lambda op, x: op([x, x]), "(float64[2], float64[2]) -> float64[2]"),
        (lambda op, x: op(x, several=True), "(float64[2], several=True) -> float64[2], float64[2]"),
    ], ids=["plain", "keyword", "list", "several results"])
    def test_operations_of_ones_own(self, call: Callable[..., Any], line: str) -> None:
        class Scaled(at.Operation):
            def execute(self, x: Any, *, scale: float = 1.0, several: bool = False) -> Any:
                y = scale * np.sum(x, 0) if isinstance(x, (list, tuple)) else scale * x
                return (y, y + 1.0) if several else y

        op, x = Scaled("scaled_to_be_shown"), leaf(1.0, 2.0)
        with Tape() as tape:
            call(op, x)
        assert repr(tape.entries[0]).endswith(f": scaled_to_be_shown{line}>") and f"scaled_to_be_shown{line}" in repr(tape)
        assert [row.operation for row in tape.summary().rows] == ["scaled_to_be_shown"] and tape._repr_html_()


def of_no_arguments() -> TensorRef:
    return leaf(1.0) * 2.0


class TestCommandLine:
    def test_a_table_and_a_drawing(self, tmp_path: Path) -> None:
        (tmp_path / "model.py").write_text("import torchcompat as torch\nfrom torchcompat import nn\n"
                                           "net = nn.Sequential(nn.Linear(3, 2), nn.ReLU())\n"
                                           "def loss(x): return net(x).pow(2).sum()\n")
        done = subprocess.run([sys.executable, "-m", "autograd_tape", "show", "model:loss", "--inputs", "4,3:float32", "--measure", "--svg",
                               "out.svg"], cwd=tmp_path, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0 and not done.stderr, done.stderr
        lines = done.stdout.splitlines()
        assert lines[1].split() == ["id", "operation", "output", "saved", "forward", "backward", "scope"]
        assert [line.split()[1] for line in lines[3:7]] == ["linear", "relu", "pow", "sum"] and "0: Linear" in lines[3]
        assert "|grad|" in (tmp_path / "out.svg").read_text()

    def test_in_process(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["show", "F:mul", "--inputs", "2,3", "3"]) == 0
        assert capsys.readouterr().out.splitlines()[3].split()[1:3] == ["mul", "float64[2,"]
        assert main(["show", "F:eq", "--inputs", "2:int64", "2:int64", "--measure"]) == 0
        capsys.readouterr()
        assert main(["show", "tests.show.test_show:of_no_arguments", "--inputs"]) == 0
        assert capsys.readouterr().out.splitlines()[3].split()[1] == "mul"

    @pytest.mark.parametrize("args, text", [
        (["nomodule:f"], "cannot find"), (["F:mul", "--inputs", "2", "3"], "show of F:mul could not run: ShapeMismatchError"),
        (["F:mul", "--inputs", "two"], "cannot read the input 'two'"), (["F:neg", "--svg", "x.png"], "Drawings are SVG"),
        (["F:neg", "--svg", "/nowhere/x.svg"], "could not run: FileNotFoundError"),
        (["tests.show.test_show:TestCommandLine"], "is a class; name an instance"), (["F:neg", "--order", "2"], "unrecognized arguments"),
        ([], "required: function"), (["F:neg", "--seed", "-1"], "is negative"), (["F:neg", "--svg"], "expected one argument"),
    ])
    def test_bad_arguments_exit_with_2_and_one_line(self, args: list[str], text: str, capsys: pytest.CaptureFixture[str]) -> None:
        with pytest.raises(SystemExit) as error:
            main(["show", *args])
        told = capsys.readouterr()
        assert error.value.code == 2 and text in told.err and len(told.err.splitlines()) == 1 and not told.out


def test_nothing_is_imported_before_it_is_asked_for() -> None:
    code = ("import sys, torchcompat as torch, autograd_tape as at\nt = torch.ones(2, requires_grad=True)\n"
            "with at.Tape() as tape: y = t * 2\n"
            "tape.to_graph(); y.sum().backward(); repr(y.grad_fn.next_functions)\n"
            "assert not [m for m in sys.modules if 'autograd_tape.show' in m]\nprint(at.show.__name__)")
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert done.stdout == "autograd_tape.show\n", done.stderr
