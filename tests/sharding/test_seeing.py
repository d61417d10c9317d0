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
