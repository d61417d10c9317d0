"""Sharded tensors as people look at them: text, drawings, tables."""

from __future__ import annotations

import io
import itertools
import random
import xml.etree.ElementTree as ET
from collections.abc import Sequence

import numpy as np
import pytest

import autograd_tape as at
import torchcompat as torch
from autograd_tape.errors import ArgumentError, ShapeMismatchError
from autograd_tape.sharding import Mesh, Sharding, Simulated, collectives, draw_sharding, reshard, shard

from . import programs


class Alone(Simulated):
    """A carrier that holds one device, and can move nothing."""

    def held(self, mesh: Mesh) -> Sequence[int]:
        """The second device."""
        return [1]

    def all_gather(self, *args: object) -> list[np.ndarray]:
        """Fails."""
        raise AssertionError("a text moved something")

    all_reduce = all_gather  # type: ignore[assignment]


@pytest.mark.parametrize("make", [at.TensorRef.of, torch.tensor], ids=["TensorRef", "torch"])
def test_repr_is_that_of_the_whole_and_its_sharding(make: object) -> None:
    r, numbers = random.Random(0), np.random.default_rng(0)
    for dtype in ("f4", "f8", "i8", "?", "c8", "f2"):
        for shape in ((), (5,), (4, 3), (2, 3, 2), (0, 3)):
            mesh = programs.random_mesh(r)
            plain = make((numbers.standard_normal(shape) * 10).astype(dtype))  # type: ignore[operator]
            t = reshard(plain, programs.random_sharding(r, mesh, len(shape)))
            with collectives() as found:
                text = repr(t)
            assert not found
            words = f"sharding={t.sharding}"
            assert words in text
            assert "".join(text.replace(words, "").split()).replace(",)", ")") == "".join(repr(plain).split()).replace(",)", ")"), text


def test_repr_of_one_of_several_processes_is_its_part() -> None:
    mesh = Mesh({"a": 2}, Alone())
    assert repr(shard(np.arange(4.0), mesh, ("a",))) == (
        "TensorRef([2., 3.], dtype=float64, part=1, shape=(4,), sharding=Sharding(a over a=2))")
    assert repr(shard(torch.arange(4.0), mesh, ("a",))) == "tensor([2., 3.], part=1, shape=(4,), sharding=Sharding(a over a=2))"


def test_drawing_has_each_device_once_and_says_what_it_holds() -> None:
    r, numbers = random.Random(1), np.random.default_rng(1)
    for shape in ((), (7,), (5, 6), (3, 4, 2), (2, 3, 0, 3)):
        for _ in range(12):
            mesh = programs.random_mesh(r)
            sharding = programs.random_sharding(r, mesh, len(shape))
            array = numbers.standard_normal(shape)
            t = shard(array, mesh, sharding.dims, sharding.partial_sum_axes)
            drawing = draw_sharding(t)
            seen = list(itertools.chain(*[part for block in drawing.blocks.values() for part in block.parts]))
            assert sorted(seen) == list(range(mesh.size))
            for block in drawing.blocks.values():
                for replicas in block.parts:
                    assert all([np.array_equal(t._data.parts[d], t._data.parts[replicas[0]]) for d in replicas])
                np.testing.assert_allclose(sum([t._data.parts[part[0]] for part in block.parts]), array[block.bounds])
            assert all([block.text in str(drawing) for block in drawing.blocks.values()]) or "..." in str(drawing)
            ET.fromstring(drawing.svg)


def test_drawing_of_many_devices_is_short() -> None:
    drawing = Sharding(Mesh({"dp": 512, "tp": 8}), ("dp", "tp")).draw((4096, 4096))
    assert len(drawing.blocks) == 4096 and len(str(drawing).splitlines()) < 40 and "..." in str(drawing)
    ET.fromstring(drawing.svg)


def test_drawing_is_written_and_shown() -> None:
    file = io.StringIO()
    drawing = draw_sharding(shard(np.zeros((2, 2)), Mesh({"a": 2}), ("a", None)), file=file)
    assert file.getvalue() == drawing.svg == drawing._repr_svg_() and drawing.svg in drawing._repr_html_()
    assert repr(drawing) == str(drawing)


def test_drawing_refused() -> None:
    sharding = Sharding(Mesh({"a": 2}), ("a",))
    with pytest.raises(ArgumentError, match="a tensor on no mesh"):
        draw_sharding(at.TensorRef.of([1.0]))
    with pytest.raises(ArgumentError, match="no sizes to draw"):
        draw_sharding(sharding)
    with pytest.raises(ShapeMismatchError):
        sharding.draw((2, 2))
    with pytest.raises(ArgumentError, match="Drawings are SVG"):
        sharding.draw((2,), "a.png")


def _two_layers() -> tuple[at.Tape, at.TensorRef]:
    mesh = Mesh({"data": 2, "model": 2})
    x = shard(np.ones((4, 6)), mesh, ("data", None))
    first, second = shard(np.ones((6, 8)), mesh, (None, "model")), shard(np.ones((8, 2)), mesh, ("model", None))
    first.requires_grad = second.requires_grad = True
    with at.Tape() as tape:
        loss = at.F.sum(at.F.relu(at.F.relu(x @ first) @ second))
    return tape, loss


def test_summary_lists_what_is_moved_below_its_operation() -> None:
    with collectives() as found:
        tape, loss = _two_layers()
        forward = len(found)
        grads = at.backward(loss, tape, options=at.BackwardOptions(retain_graph=True))
    table = tape.summary()
    moved = [(row.operation, when, c.kind, c.axes) for row in table.rows for when, c in row.moved]
    assert moved == [("matmul", "backward", "all_reduce", ("data",)), ("matmul", "backward", "all_reduce", ("data",)),
                     ("relu", "forward", "all_reduce", ("model",))]
    assert len(found) == len(moved) and forward == 1 and {id(c) for c in found} == {id(c) for row in table.rows for _, c in row.moved}
    assert table.totals.sent == sum([c.bytes for c in found])
    lines = str(table).splitlines()
    assert [line.split()[:3] for line in lines if "over" in line and "all_reduce" in line] == [
        ["all_reduce", "over", "data"], ["all_reduce", "over", "data"], ["all_reduce", "over", "model"]]
    assert "relu" in lines[[i for i, line in enumerate(lines) if "over model" in line][0] - 1]
    assert "all_reduce over model" in table._repr_html_() and "data, model" in str(table)
    boxes = [line for shape in tape.draw(grads=grads).picture.shapes for line in shape.lines]
    assert boxes.count("backward all_reduce over data: 192 B") == 1 and "all_reduce over model: 32 B" in boxes
    assert tape.to_graph().summary().totals.sent == table.totals.sent


def test_summary_with_gradients_on_the_tape_tells_each_collective_once() -> None:
    with collectives() as found, at.Tape() as tape:
        mesh = Mesh({"data": 2})
        w = shard(np.ones((3, 3)), mesh, (None, None))
        w.requires_grad = True
        loss = at.F.sum(at.F.tanh(shard(np.ones((4, 3)), mesh, ("data", None)) @ w))
        at.backward(loss, options=at.BackwardOptions(create_graph=True))
    told = [c for row in tape.summary().rows for _, c in row.moved]
    assert found and sorted(map(id, told)) == sorted(map(id, found))


def test_summary_of_plain_tensors_says_nothing_of_meshes() -> None:
    x = at.TensorRef.of([1.0], requires_grad=True)
    with at.Tape() as tape:
        x * x
    assert tape.summary().table().head == ["id:", "operation", "output", "saved:"]


def test_gradients_that_are_numbers_of_numpy_are_read_and_shown() -> None:
    x = at.TensorRef.of(2.0, requires_grad=True)
    seen: list[object] = []
    y = x * x
    y.register_hook(lambda g: seen.extend([g.item(), repr(g), float(g)]))
    at.backward(y * 3.0)
    assert seen == [3.0, "TensorRef(3., dtype=float64)", 3.0] or seen == [3.0, "TensorRef(3.0, dtype=float64)", 3.0]


def test_gradients_of_torchs_leaves_lie_as_these_do_whoever_goes_back() -> None:
    mesh = Mesh({"a": 2})
    for back in (torch.Tensor.backward, at.backward):
        leaf = torch.nn.Parameter(shard(torch.ones(4, 3), mesh, ("a", None)))
        back((shard(torch.ones(2, 4), mesh, (None, "a")) @ leaf).sum())
        assert leaf.grad.sharding == leaf.sharding
