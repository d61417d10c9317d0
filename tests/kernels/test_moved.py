"""What turns, cuts to triangles and puts elements moves them as NumPy does, whatever they are, however they lie."""

from __future__ import annotations

import numpy as np
import pytest

import torchcompat as torch
from autograd_tape.dtypes import as_bits
from autograd_tape.errors import AutogradError
from autograd_tape.executors.kernels import moved, sharing
from autograd_tape.ops.data import rearrange

DTYPES = ["float32", "float64", "bfloat16", "int64", "uint8", "bool"]


def _drawn(shape: tuple[int, ...], dtype: str, rng: np.random.Generator) -> torch.Tensor:
    return torch.from_numpy(rng.standard_normal(shape) * 3).to(getattr(torch, dtype))


def _as_laid(x: torch.Tensor, layout: str) -> torch.Tensor:
    """The same elements in rows, in columns, or with gaps between them."""
    if layout == "columns":
        return x.T.contiguous().T
    return torch.cat([x, x], -1)[..., :x.shape[-1]] if layout == "gaps" else x


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(40,), (9, 8), (50, 3), (50, 4), (20, 17), (4, 5, 6), (3, 70, 1)])
def test_turning(shape: tuple[int, ...], dtype: str, kernels: str, rng: np.random.Generator) -> None:
    x = _drawn(shape, dtype, rng)._data
    for first in range(len(shape)):
        for axes in [tuple(range(first, last)) for last in range(first + 1, len(shape) + 1)]:
            odd = np.frombuffer(b"." + x.tobytes(), np.uint8)[1:].view(x.dtype).reshape(shape)  # from an odd byte on
            for source in (x, np.concatenate([x.reshape(-1)[:1], x.reshape(-1)])[1:].reshape(shape), odd):  # or an odd element
                found = moved.turned(source, axes)
                assert found is None or found.dtype == x.dtype and found.tobytes() == np.flip(source, axes).tobytes()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(1, 1), (70, 90), (900, 8), (9, 700), (130, 5, 7), (3, 150, 30), (3, 6, 1000), (2, 3, 40, 50)])
def test_copies(shape: tuple[int, ...], dtype: str, kernels: str, rng: np.random.Generator) -> None:
    """Of columns, of what lies innermost, of every other row, and of what begins at an odd byte."""
    x = _drawn(shape, dtype, rng)._data
    odd = np.frombuffer(b"." + x.tobytes(), np.uint8)[1:].view(x.dtype).reshape(shape)
    for source in (x, odd, x[::2], x[..., ::-1]):
        for axes in ((*range(x.ndim - 2), x.ndim - 1, x.ndim - 2), (0, x.ndim - 1, *range(1, x.ndim - 1)), (*range(x.ndim - 1, -1, -1),)):
            laid = source.transpose(axes)
            found = sharing.copy(laid)
            assert found.flags.c_contiguous and found.tobytes() == laid.tobytes()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(1, 1), (7, 5), (5, 40), (3, 40, 7)])
def test_triangles(shape: tuple[int, ...], dtype: str, kernels: str, rng: np.random.Generator) -> None:
    x = _drawn(shape, dtype, rng)._data
    for k in (-50, -3, -1, 0, 1, 2, 50):
        for lower, outside in ((True, np.tri(*shape[-2:], k, bool)), (False, ~np.tri(*shape[-2:], k - 1, bool))):
            expected = np.where(outside, x, np.zeros((), x.dtype))
            for source in (x, np.ascontiguousarray(x.swapaxes(-1, -2)).swapaxes(-1, -2)):
                found = moved.triangle(source, k, lower)
                assert found is None or found.tobytes() == expected.tobytes()


@pytest.mark.filterwarnings("ignore:index_reduce")
@pytest.mark.parametrize("layout", ["rows", "columns", "gaps"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_elements_are_put_where_they_lie(dtype: str, layout: str, kernels: str, rng: np.random.Generator) -> None:
    """At positions, from the end too, and along dimensions: of what lies otherwise as of rows, in whose order results stay."""
    rows = _drawn((6, 11), dtype, rng)
    x, at, along = _as_laid(rows, layout), torch.tensor([3, -1, 40, -66]), torch.tensor([4, 0, -1])
    values, parts, index = _drawn((4,), dtype, rng), _drawn((3, 11), dtype, rng), torch.tensor([[1, 5, 0]])
    for name, call in {
        "take": lambda x: torch.take(x, at), "put": lambda x: torch.put(x, at, values), "add": lambda x: torch.put(x, at, values, True),
        "index_put": lambda x: torch.index_put(x, (along,), parts), "both": lambda x: torch.index_put(x, (along, along), parts[:, 0]),
        "added": lambda x: torch.index_put(x, (along,), parts, True), "gather": lambda x: torch.gather(x, 0, index),
        "scatter": lambda x: torch.scatter(x, 0, index, 1), "reduce": lambda x: torch.index_reduce(x, 0, along[:2], parts[:2], "amax"),
    }.items():
        found, expected = call(x), call(rows)
        assert found.dtype == expected.dtype and torch.equal(found, expected), name
        if found.shape == x.shape and ("put" in name or name in ("add", "added", "both")):
            assert found.stride() == torch.clone(x).stride(), name
    for wrong in (torch.tensor([66]), torch.tensor([0, -67])):
        for call in (torch.take, lambda x, at: torch.put(x, at, values[:at.numel()])):
            with pytest.raises(IndexError, match="out of range: tried to access index -?6[67] on a tensor of 66 elements"):
                call(x, wrong)


@pytest.mark.parametrize("dtype", DTYPES)
def test_choices_between_what_is_expanded(dtype: str, kernels: str, rng: np.random.Generator) -> None:
    mask = torch.from_numpy(rng.random((80, 130)) > 0.5)
    x, row, column = _drawn((80, 130), dtype, rng), _drawn((130,), dtype, rng), _drawn((80, 1), dtype, rng)
    for a, b in ((x, row), (column, x), (row, column), (x, x.T.contiguous().T), (column, x[0, 0])):
        whole = [t.expand(mask.shape).contiguous() for t in (a, b)]
        expected = torch.stack([whole[1], whole[0]]).gather(0, mask.long()[None])[0]
        found = torch.where(mask, a, b)
        assert found.dtype == x.dtype and torch.equal(found, expected)
    for number in (0, 1, 2.5) if x.is_floating_point() else (0, 1):
        assert torch.equal(torch.where(mask, x, number), torch.where(mask, x, torch.full_like(x, number)))
        assert torch.equal(torch.masked_fill(x, mask, number), torch.where(mask, torch.full_like(x, number), x))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(1, 8, 4, 4), (2, 12, 6, 4), (0, 8, 4, 4), (8, 2, 4), (2, 4, 8, 6, 4)])
def test_channels_and_pixels(shape: tuple[int, ...], dtype: str, rng: np.random.Generator) -> None:
    """With the channels innermost, which results keep, or in columns, as in rows."""
    x = _drawn(shape, dtype, rng)
    formats = {4: torch.channels_last, 5: torch.channels_last_3d}
    laid = [x.permute(*range(x.ndim)[::-1]).contiguous().permute(*range(x.ndim)[::-1])]
    laid += [x.contiguous(memory_format=formats[x.ndim])] if x.ndim in formats else []
    for function in (torch.pixel_shuffle, torch.pixel_unshuffle, torch.channel_shuffle):
        expected = function(x, 2)
        for given in laid:
            found = function(given, 2)
            recorded = function(given.float().requires_grad_(), 2)
            assert torch.equal(found, expected) and found.stride() == recorded.stride()


@pytest.mark.parametrize("value", [0, 1, 2.5, -1, 127.9, 300, True])
@pytest.mark.parametrize("dtype", DTYPES)
def test_numbers_of_other_dtypes_are_set(dtype: str, value: float, rng: np.random.Generator) -> None:
    """By what numbers, ranges, tensors and lists name, as a tensor of the number."""
    for key in (1, slice(1, 3), (slice(None), [0, 2]), ([1, 2, 1],), (torch.tensor([0, 2]), [1, -1]), ([0, 1], slice(1, None))):
        x = _drawn((4, 5), dtype, rng)
        expected = x.clone()
        try:
            expected[key] = torch.full((), value, dtype=x.dtype)
        except RuntimeError:
            with pytest.raises(RuntimeError, match="without overflow"):
                x[key] = value
            continue
        x[key] = value
        assert torch.equal(x, expected)
    with pytest.raises(IndexError):
        x[:, [0, 5]] = 1
    y = torch.zeros(3, 3, dtype=x.dtype)
    y[:, [0, 2]] = torch.ones(3, 1, dtype=x.dtype)
    assert y.float().sum() == 6


@pytest.mark.parametrize("dtype", DTYPES)
def test_places_out_of_range_where_a_mask_is_not_set(dtype: str, rng: np.random.Generator) -> None:
    """Of plain tensors below the frames, as where a mask is of numbers."""
    x, mask, values = _drawn((4, 3), dtype, rng), torch.tensor([True, False, True, True, False]), _drawn((5,), dtype, rng)
    at = [torch.tensor([1, 9, 0, -4, -9]), torch.tensor([0, -9, 2, -1, 3])]
    for laid in (x, _as_laid(x, "columns")):
        found, expected = [torch._unsafe_masked_index(laid, m, at, 1) for m in (mask, mask.long())]
        assert found.dtype == x.dtype and torch.equal(found, expected)
        found, expected = [torch._unsafe_masked_index_put_accumulate(laid, m, at, values) for m in (mask, mask.long())]
        assert found.dtype == x.dtype and torch.equal(found, expected) and found.stride() == expected.stride()


@pytest.mark.parametrize("layout", ["rows", "channels_last", "columns", "gaps"])
@pytest.mark.parametrize("shape", [(1, 4, 2, 2), (2, 8, 4, 6), (3, 4, 8, 8), (2, 4, 1, 1), (1, 4, 3), (2, 4, 2, 2, 2), (5, 8, 20, 30)])
@pytest.mark.parametrize("name", ["pixel_shuffle", "pixel_unshuffle", "channel_shuffle"])
def test_shuffled_by_a_table_as_part_by_part(name: str, shape: tuple[int, ...], layout: str, rng: np.random.Generator) -> None:
    """Results lie alike, too, where few elements come from places that are kept."""
    geometry = {"pixel_shuffle": rearrange._as_pixels, "pixel_unshuffle": rearrange._as_channels,
                "channel_shuffle": rearrange._interleaved}[name]
    for dtype in DTYPES:
        x = _drawn(shape, dtype, rng)
        if layout == "channels_last":
            x = x.contiguous(memory_format=torch.channels_last) if x.ndim == 4 else x.transpose(1, -1).contiguous().transpose(1, -1)
        elif layout != "rows":
            x = x.mT.contiguous().mT if layout == "columns" else torch.cat([x, x], -1)[..., :shape[-1]]
        try:
            expected = rearrange._carried_out(as_bits(x._data), *geometry(shape, 2))
        except AutogradError:
            with pytest.raises(RuntimeError):
                getattr(torch, name)(x, 2)
            continue
        found = getattr(torch, name)(x, 2)._data
        assert (found.shape, found.strides, found.tobytes()) == (expected.shape, expected.strides, expected.tobytes())


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(300, 400), (70, 30, 40), (3, 40000)])
def test_parts_of_columns_are_those_of_rows(shape: tuple[int, ...], dtype: str, rng: np.random.Generator) -> None:
    x = _drawn(shape, dtype, rng)
    columns = x.permute(*range(x.ndim - 1, -1, -1)).contiguous().permute(*range(x.ndim - 1, -1, -1))
    for d in range(x.ndim):
        for many in (0, 3, 2 * shape[d] if shape[d] < 1000 else 7):
            index = torch.from_numpy(rng.integers(0, shape[d], many))
            expected, found = torch.index_select(x, d, index), torch.index_select(columns, d, index)
            assert found.is_contiguous() and found._data.tobytes() == expected._data.tobytes()
    with pytest.raises(IndexError):
        torch.index_select(columns, 0, torch.tensor([shape[0]]))


@pytest.mark.parametrize("dim", [None, 0, 1])
@pytest.mark.parametrize("dtype", DTYPES)
def test_repeated_by_counts(dtype: str, dim: int | None, rng: np.random.Generator) -> None:
    x = _drawn((4, 3), dtype, rng)
    for counts in ([2], rng.integers(0, 3, x.numel() if dim is None else x.shape[dim])):
        found = torch.repeat_interleave(x, torch.tensor(counts), dim)
        expected = np.repeat(as_bits(x._data), np.asarray(counts), dim)
        assert found.shape == expected.shape and found._data.tobytes() == expected.tobytes()
    with pytest.raises(RuntimeError, match="repeats can not be negative"):
        torch.repeat_interleave(x, torch.tensor([-1]), dim)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("rows", [(3,), (30,), (70000,), (7, 9000), (2, 70000)])
def test_narrow_rows_are_joined_beside_others(rows: tuple[int, ...], dtype: str, rng: np.random.Generator) -> None:
    """A few rows at once, and many a part at a time."""
    parts = [_drawn((*rows, n), dtype, rng) for n in (1, 20, 3)]
    found, at = torch.cat(parts, -1), 0
    for part in parts:
        assert torch.equal(found[..., at:at + part.shape[-1]], part)
        at += part.shape[-1]
    assert found.shape == (*rows, at)
