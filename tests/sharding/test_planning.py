"""Programs planned and explained ahead of time: nothing is computed, and what is told is what happens."""

from __future__ import annotations

import random
import runpy
import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import autograd_tape as at
import torchcompat as torch
from autograd_tape import F
from autograd_tape.__main__ import main
from autograd_tape.errors import ArgumentError
from autograd_tape.sharding import Mesh, collectives, explain, plan, shard, sweep
from autograd_tape.sharding.planned import PLANNED
from autograd_tape.sharding.planning import plot
from autograd_tape.sharding.rehearsal import parsed_input, rehearse

from . import programs


def two_layers(x: Any, first: Any, second: Any) -> Any:
    """A network of two layers, and its loss."""
    return F.sum(F.relu(F.relu(x @ first) @ second))


COLUMN_ROW = ["64,32:float32@data,-", "32,48:float32@-,model", "48,16:float32@model,-"]


@pytest.mark.filterwarnings("ignore::autograd_tape.sharding.ReplicationWarning")
def test_planned_programs_move_what_simulated_ones_do() -> None:
    for seed in range(20):
        r = random.Random(seed)
        mesh, shape = programs.random_mesh(r), (r.choice([1, 4, 5, 6, 8]), r.choice([2, 3, 4, 8]))
        shardings = [programs.random_sharding(r, mesh, 2) for _ in range(2)]
        told = []
        for carrier in (mesh.carrier, PLANNED):
            leaves = [shard(np.ones(shape), Mesh(mesh.axes, carrier), s.dims, s.partial_sum_axes) for s in shardings]
            for leaf in leaves:
                leaf.requires_grad = True
            with collectives() as found:
                result = programs.run(seed, leaves)
                grads = at.backward(result)
            told.append((found, [(t.shape, g.sharding.dims, [p.shape for p in g._data.parts[:1]])
                                 for t in leaves if t in grads for g in [t.grad]]))
        assert told[0] == told[1], seed


def test_explanation_is_what_happens() -> None:
    mesh = Mesh({"data": 2, "model": 4})
    with collectives() as found:
        leaves = [shard(np.zeros(shape, np.float32), mesh, dims or ()) for shape, _, dims in map(parsed_input, COLUMN_ROW)]
        for leaf in leaves:
            leaf.requires_grad = True
        at.backward(two_layers(*leaves))
    table = explain(two_layers, mesh, inputs=COLUMN_ROW, backward=True)
    assert [(r.name, r.bytes, r.cause) for r in table.collectives] == [(c.kind, c.bytes, c.cause) for c in found]
    assert table.bytes == sum([c.bytes for c in found])
    assert [(r.name, r.sharding) for r in table.rows if not r.backward] == [
        ("matmul", "data, model"), ("relu", "data, model"), ("matmul", "data, -; partial sums over model"), ("relu", "data, -"),
        ("all_reduce", "model"), ("sum", "partial sums over data")]
    assert not any([r.backward for r in explain(two_layers, mesh, inputs=COLUMN_ROW).rows])
    assert "all_reduce" in str(table) and "gradient of matmul" in table._repr_html_() and str(table).splitlines()[1].startswith("operation")


def test_modules_are_explained_with_shardings_of_their_parameters() -> None:
    net = torch.nn.Sequential(torch.nn.Linear(8, 12), torch.nn.ReLU(), torch.nn.Linear(12, 4))
    table = explain(net, {"data": 2, "model": 2}, [("data", None)], [(6, 8)],
                    params={"0.weight": ("model", None), "0.bias": ("model",), "2.weight": (None, "model")}, backward=True)
    assert [r.name for r in table.rows if not r.backward] == ["linear", "relu", "linear"]
    assert {r.sharding for r in table.collectives} == {"data"} and len(table.collectives) == 4
    assert net[0].weight.grad is None and net[0].weight.sharding is None
    with pytest.raises(ArgumentError, match="no parameter '3.weight'"):
        explain(net, {"data": 2}, inputs=[(6, 8)], params={"3.weight": (None, None)})


def test_plan_counts_bytes_that_are_there() -> None:
    """On meshes of one device and of several: parameters, gradients and saved activations are those of the shards."""
    found = plan(two_layers, {"data": 2, "model": 4}, inputs=COLUMN_ROW, wrt=[1, 2])
    shards = 4 * (32 * 12 + 12 * 16)
    assert (found.parameters, found.gradients, found.inputs) == (shards, shards, 4 * 32 * 32)
    assert found.saved == 4 * (32 * 12 + 32 * 16)  # the results of the two relus
    assert found.flops >= 3 * 2 * 32 * 32 * 12 + 2 * 32 * 12 * 16  # of which one is the gradient of the first weight
    assert found.peak >= found.parameters + found.gradients + found.inputs
    assert [(m.kind, m.axes, m.count, m.messages) for m in found.moved] == [
        ("all_reduce", ("model",), 1, 6), ("all_reduce", ("data",), 2, 4)]
    assert found.seconds == found.compute + found.communication > 0
    assert "all_reduce" in str(found) and "peak" in found._repr_html_()


def test_memory_is_let_go() -> None:
    found = rehearse(lambda x: F.sum(F.relu(F.relu(F.relu(x)))), {"a": 2}, [("a",)], [(1000,)], wrt=[])
    assert found.ledger.peak == 3 * 2000 and found.saved == 0  # an operand and a result at a time, and the input
    del found.results
    assert found.ledger.live == 0


def test_thousands_of_devices_and_huge_arrays_take_no_time() -> None:
    sizes = ["65536,12288:float32@dp,-", "12288,49152:float32@-,tp", "49152,12288:float32@tp,-"]
    found = plan(two_layers, {"dp": 512, "tp": 8}, inputs=sizes, wrt=[1, 2])
    assert found.parameters == 2 * 12288 * 49152 * 4 // 8 and found.mesh.size == 4096
    program = plan(lambda mesh: F.sum(shard(torch.empty(4096, 4096, device="meta"), mesh, ("dp", None)) * 2.0), {"dp": 4096})
    assert program.flops == 2 * 4096 and not program.moved


def test_sweep_goes_to_thousands(tmp_path: Path) -> None:
    found = sweep(two_layers, {"data": 8, "model": 4}, 4096, inputs=COLUMN_ROW, wrt=[1, 2])
    assert [e.mesh.size for e in found] == [2 ** i for i in range(13)] and found[-1].mesh.axes == {"data": 1024, "model": 4}
    assert all([a.parameters >= b.parameters for a, b in zip(found, found[1:])]) and not found[0].moved
    drawing = plot(found)
    drawing.save(tmp_path / "plan.svg")
    root = ET.fromstring((tmp_path / "plan.svg").read_text())
    lines = [e for e in root.iter() if e.get("class") == "line"]
    assert len(lines) == 7 and {len(e.attrib["points"].split()) for e in lines} == {13, 12}  # one device moves nothing


def test_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    name, file = f"{__name__}:two_layers", tmp_path / "plan.svg"
    assert main(["plan", name, "--mesh", "data=64,model=4", "--inputs", *COLUMN_ROW, "--wrt", "1", "2", "--plot", str(file),
                 "--devices", "16"]) == 0
    text = capsys.readouterr().out
    assert text.startswith("Mesh(data=64, model=4): 256 devices") and "all_reduce  model" in text
    ET.fromstring(file.read_text())


@pytest.mark.parametrize("arguments, words", [
    (["--mesh", "dp=0"], "cannot read the mesh"), (["--mesh", "dp=2,dp=2"], "cannot read the mesh"), ([], "--mesh"),
    (["--mesh", "dp=2", "--inputs", "2,x"], "Cannot read the input"), (["--mesh", "dp=2", "--inputs", "2@tp"], "has no axis 'tp'"),
    (["--mesh", "dp=2", "--params", "weight"], "a parameter's name"), (["--mesh", "dp=2", "--plot", "a.png"], "Drawings are SVG"),
])
def test_bad_command_lines(arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as error:
        main(["plan", f"{__name__}:two_layers", *arguments])
    assert error.value.code == 2 and words in capsys.readouterr().err


@pytest.mark.parametrize("make, words", [
    (lambda: plan(two_layers, {"a": 2}, [None], [(2, 2), (2, 2)]), "Each input has a sharding"),
    (lambda: plan(two_layers, {"a": 2}, inputs=[3.5]), "An input is given by its shape"),
    (lambda: sweep(two_layers, {"a": 2}, 0), "a number of devices"),
])
def test_refused(make: Callable[[], object], words: str) -> None:
    with pytest.raises(ArgumentError, match=words):
        make()


def test_the_example_moves_what_its_words_say() -> None:
    example = runpy.run_path(str(Path(__file__).parents[2] / "examples" / "sharded_mlp.py"))
    found = {}
    for strategy in example["STRATEGIES"]:
        with collectives() as moved:
            losses = example["train"](strategy, Mesh({"devices": 4}), 1)
        found[strategy] = round(losses[0], 12), sorted([c.kind for c in moved if c.shape])  # but for the loss
    data, tensor, fully = found.values()
    assert data[0] == tensor[0] == fully[0]
    assert (data[1], tensor[1], fully[1]) == (["all_reduce"] * 2, ["all_reduce"], ["all_gather"] * 2 + ["reduce_scatter"] * 2)
