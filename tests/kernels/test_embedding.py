"""Gathering, scattering, dropout and reductions against plain loops and NumPy in double precision."""

from __future__ import annotations

import contextlib
import itertools
import math
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from autograd_tape.dtypes import DType, bfloat16
from autograd_tape.executors.kernels import dropout, embedding, moved, reduce
from autograd_tape.ops.reductions import running


@pytest.mark.parametrize("shape", [(0,), (5,), (40, 3)])
def test_embedding(shape, kernels, dtype, rng, close):
    weight = rng.standard_normal((7, 33)).astype(dtype)
    index = rng.integers(0, 7, shape)
    y = embedding.embedding(weight, index)
    np.testing.assert_array_equal(y, weight[index])
    grad = rng.standard_normal(y.shape).astype(dtype)
    for padding, by_frequency in ((-1, False), (2, False), (3, True)):
        expected = np.zeros(weight.shape)
        counts = np.bincount(index.reshape(-1), minlength=7)
        for i, row in zip(index.reshape(-1), grad.reshape(-1, 33), strict=True):
            if i != padding:
                expected[i] += row / (counts[i] if by_frequency else 1)
        close(embedding.embedding_backward(grad, index, 7, padding, by_frequency), expected, 4)


def test_embedding_errors_and_strides(kernels, dtype, rng):
    weight = rng.standard_normal((33, 7)).astype(dtype).T
    np.testing.assert_array_equal(embedding.embedding(weight, np.array([[6, 0]], np.int32)), weight[[[6, 0]]])
    for bad in (7, -1):
        with pytest.raises(IndexError, match="index out of range in self"):
            embedding.embedding(weight, np.array([0, bad]))


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("order", ["C", "F"])
def test_index_add_and_scatter_add(axis, order, kernels, dtype, rng, close):
    out = rng.standard_normal((6, 5)).astype(dtype, order=order)
    other = out.copy(order=order)
    source = rng.standard_normal((9, 5) if axis == 0 else (6, 9)).astype(dtype)
    index = rng.integers(0, out.shape[axis], 9)
    expected = out.astype(np.float64)
    for i, target in enumerate(index):
        if axis == 0:
            expected[target] += 2 * source[i]
        else:
            expected[:, target] += 2 * source[:, i]
    embedding.index_add(out, axis, index, source, 2)
    close(out, expected, 2)
    table = rng.integers(0, out.shape[axis], (4, 3))
    expected = other.astype(np.float64)
    for i, j in np.ndindex(4, 3):
        expected[(table[i, j], j) if axis == 0 else (i, table[i, j])] += source[i, j]
    embedding.scatter_add(other, axis, table, source)
    close(other, expected, 2)
    with pytest.raises(IndexError, match="index 99 is out of bounds for dimension"):
        embedding.scatter_add(other, axis, np.array([[99]]), source)
    with pytest.raises(IndexError, match="index out of range in self"):
        embedding.index_add(other, axis, np.array([99]), source)


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("char", ["f", "d", "l", "F", "e", bfloat16.np])
def test_parts_in_turns_are_parts_in_order(axis, char, rng):
    out = (10 * rng.standard_normal((31, 40, 33))).astype(char)
    shape = list(out.shape)
    shape[axis] = 47
    source = (10 * rng.standard_normal(shape)).astype(char)
    for index in (rng.integers(0, out.shape[axis], 47), np.arange(47) % 7 * 3):
        expected = out.astype(np.float32 if out.itemsize == 2 else char)
        for i, target in enumerate(index):
            np.moveaxis(expected, axis, 0)[target] += np.moveaxis(source, axis, 0)[i].astype(expected.dtype)
        into = out.copy()
        assert embedding._added_in_turns(into, axis % 3, index, source)
        assert into.tobytes() == expected.astype(char).tobytes()
    before = out.tobytes()
    for few, index in ((source, np.zeros(47, int)), (source[..., :1], np.arange(shape[-1])[:1] if axis else np.arange(47) % 31)):
        assert not embedding._added_in_turns(out, axis % 3, index, few) and out.tobytes() == before


@pytest.mark.parametrize("size", [0, 1, 1000])
def test_dropout(size, kernels, dtype, rng, close):
    x = rng.standard_normal(size).astype(dtype)
    keep = rng.random(size) < 0.7
    close(dropout.apply_mask(x, keep, 1.25), np.where(keep, 1.25 * x.astype(np.float64), 0))
    close(dropout.apply_mask_backward(x, keep.astype(np.uint8), 1.25), np.where(keep, 1.25 * x.astype(np.float64), 0))
    bits = rng.integers(0, 2**32, size, np.uint32)
    for p in (0.0, 0.3, 1.0):
        y, kept = dropout.dropout_from_bits(x, bits, p)
        np.testing.assert_array_equal(kept, bits < (1 - p) * 2**32)
        close(y, np.where(kept, x.astype(np.float64) / max(1 - p, 1e-9), 0))
        uniform = bits / 2**32
        y, kept = dropout.dropout_from_uniform(x, uniform, p)
        np.testing.assert_array_equal(kept, uniform >= p)
        close(y, np.where(kept, x.astype(np.float64) / max(1 - p, 1e-9), 0))


def test_dropped_nan_stays_nan(kernels, dtype):
    y = dropout.apply_mask(np.array([math.nan, math.inf, 1.0], dtype), np.zeros(3, bool), 2.0)
    assert np.isnan(y[:2]).all()
    assert y[2] == 0


@pytest.mark.parametrize("axis", [None, 0, 1, 2, (0, 1), (1, 2), (0, 2), -1])
@pytest.mark.parametrize("shape", [(3, 4, 5), (70, 80, 90), (2, 300000, 1), (1, 9, 60000), (0, 2, 3)])
@pytest.mark.parametrize("keepdims", [False, True])
def test_reductions(axis, shape, keepdims, dtype, rng, close):
    x = rng.standard_normal(shape).astype(dtype)
    wide = x.astype(np.float64)
    close(reduce.sum(x, axis, keepdims), wide.sum(axis, keepdims=keepdims), 64)
    if x.size:
        close(reduce.mean(x, axis, keepdims), wide.mean(axis, keepdims=keepdims))
        np.testing.assert_array_equal(reduce.amax(x, axis, keepdims), x.max(axis, keepdims=keepdims))
        np.testing.assert_array_equal(reduce.amin(x, axis, keepdims), x.min(axis, keepdims=keepdims))


def test_reductions_of_nan_half_and_views(dtype, rng):
    x = rng.standard_normal((800, 400)).astype(dtype)
    np.testing.assert_allclose(reduce.sum(x.T, 0), x.sum(1), rtol=1e-4, atol=1e-4)
    x[700, 3] = math.nan
    assert np.isnan(reduce.amax(x))
    assert np.isnan(reduce.sum(x))
    assert np.isnan(reduce.amin(x, 0)).sum() == 1
    half = np.full((1000, 400), 2.0, np.float16)
    assert reduce.mean(half) == 2
    assert reduce.mean(half).dtype == np.float16
    assert reduce.sum(half, 1)[0] == 800
    assert np.isnan(reduce.mean(np.zeros(0, dtype)))
    ones = np.ones(2_000_000, np.float32)
    assert reduce.sum(ones) == 2_000_000


@pytest.mark.parametrize("shift", [-10.0, 0.0, 10.0])
def test_extrema_of_either_sign(shift, kernels, dtype, rng):
    x = (rng.standard_normal((9000, 33)) + shift).astype(dtype)
    specials = [-0.0, 0.0, math.inf, -math.inf, math.nan, -math.nan]
    x[:6, 5] = specials
    x[6:12] = np.array(specials)[:, None]
    x[12, :7], x[13, 7:] = -0.0, 1e-40
    np.testing.assert_array_equal(reduce.amax(x, 1), x.max(1))
    np.testing.assert_array_equal(reduce.amin(x, 1), x.min(1))
    flipped = np.where(np.isnan(x), np.copysign(x, -1), x)  # NaNs have a sign bit too
    np.testing.assert_array_equal(reduce.amax(flipped, 1), x.max(1))
    np.testing.assert_array_equal(reduce.amin(flipped, 1), x.min(1))


@pytest.mark.parametrize("shape", [(40, 9, 130), (40000,), (300, 400)])
def test_running_sums(shape, kernels, dtype, rng):
    x = rng.standard_normal(shape).astype(dtype)
    for axis in range(-1, len(shape)):
        y = running._cumsum(x, axis)
        np.testing.assert_allclose(y, np.cumsum(x.astype(float), axis), rtol=1e-4, atol=1e-3)
        assert y.dtype == dtype
        assert y.flags.c_contiguous
    np.testing.assert_allclose(running._cumsum(x.T, 0), np.cumsum(x.T.astype(float), 0), rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize("char", ["f", "d", "l", "?", "i", "D"])
@pytest.mark.parametrize("shape", [(7,), (5, 6), (3, 4, 5), (2, 3, 4, 3)])
def test_gathering_from_what_lies_in_any_order(shape, char, kernels, rng):
    whole = (rng.standard_normal([2 * n for n in shape]) * 9).astype(char)
    for axis in range(len(shape)):
        laid = [rng.permutation(len(shape)) for _ in range(3)]
        for order in laid:
            x = np.ascontiguousarray(whole[tuple([slice(0, n) for n in shape])].transpose(order)).transpose(np.argsort(order))
            for source in (x, whole[tuple([slice(0, n) for n in shape])], np.broadcast_to(x[:1], shape)):
                for n in (1, 9):
                    index = rng.integers(0, shape[axis], [n if d == axis else size for d, size in enumerate(shape)])
                    found = embedding.gather(source, axis, index)
                    assert found.dtype == source.dtype and np.array_equal(found, np.take_along_axis(source, index, axis))
                    index.flat[0] = shape[axis]
                    with pytest.raises(IndexError):
                        embedding.gather(source, axis, index)


@pytest.mark.parametrize(("how", "char"), [(how, char) for how in (np.add, np.multiply, np.maximum, np.minimum) for char in "fdl?"
                                           if how is not np.add or char != "?"])  # the sum of truth values is the largest
def test_rows_are_reduced_at_positions(how, char, kernels, rng):
    """Rows are reduced as vectors where they are long enough, one element after another where not."""
    for width in (1, 3, 4, 5, 40):
        start, rows = [(rng.standard_normal((n, width)) * 2).astype(char) for n in (3, 9)]
        if char in "fd":
            rows[rng.random(rows.shape) < 0.2] = np.nan
        index, found, expected = rng.integers(0, 3, 9), start.copy(), start.copy()
        if not embedding.put_others(found, 0, index, rows, [np.add, np.multiply, np.maximum, np.minimum].index(how), by=embedding.PARTS):
            continue
        for i, row in zip(index, rows, strict=True):
            expected[i] = how(expected[i], row)
        assert found.tobytes() == expected.tobytes() or np.isnan(expected).any() and np.array_equal(found, expected, equal_nan=True)


def _with_others(x: np.ndarray, *arguments: Any, **options: Any) -> np.ndarray | None:
    """A copy in rows with others at positions, where a kernel puts them there."""
    found = np.array(x, order="C")
    return found if embedding.put_others(found, *arguments, **options) else None


@pytest.mark.parametrize("char", ["f", "d", "l", "?", "e"])
@pytest.mark.parametrize(("shape", "axis", "size"), [((4, 5), 0, (3, 2)), ((4, 5), -1, (4, 9)), ((7,), 0, (3,)), ((2, 3, 4), 1, (2, 5, 4))])
def test_copies_with_others_at_positions(shape, axis, size, char, kernels, rng):
    """Of few plain arrays at once, or not at all: what is unusual is left to whoever words it."""
    x, others = rng.integers(0, 9, shape).astype(char), rng.integers(0, 9, size).astype(char)
    index = rng.integers(0, shape[axis], size)
    grid = list(np.indices(size))
    grid[axis] = index
    expected = x.copy()
    for at in np.ndindex(size):  # the last of several for one place
        expected[tuple([g[at] for g in grid])] = others[at]
    found = [_with_others(x, axis, index, others), embedding.gathered(x, axis, index)]
    for now, wanted in zip(found, (expected, x[tuple(grid)])):
        if now is not None:
            assert now.dtype == char and now.tolist() == wanted.tolist() and not np.shares_memory(now, x)
    if kernels == "numba":
        assert found[0] is not None and (found[1] is not None or char == "e")
        with pytest.raises(IndexError):
            _with_others(x, axis, index - shape[axis], others)
    assert _with_others(x, 9, index, others) is None and embedding.gathered(x, 9, index) is None
    assert _with_others(x, axis, index, others.astype("c8")) is None
    assert _with_others(x, axis, index.astype("i4"), others) is None


@pytest.mark.parametrize("index", [[0, 2], [2, 0], [1, 1], [0]])
@pytest.mark.parametrize("axis", [0, 1])
def test_half_precision_that_is_added_once_is_rounded_once(index, axis, kernels, rng):
    bfloat16 = DType.by_name["bfloat16"].np
    size = (len(index), 64) if axis == 0 else (3, len(index))
    out, source = [rng.standard_normal(shape).astype("f").astype(bfloat16) for shape in ((3, 64), size)]
    wide = out.astype("f")
    embedding.index_add(wide, axis, np.array(index), source.astype("f"))
    places = np.ascontiguousarray(np.broadcast_to(np.reshape(index, (-1, 1) if axis == 0 else (1, -1)), source.shape))
    added = out.copy()
    embedding.index_add(added, axis, np.array(index), source)
    scattered = out.copy()
    embedding.scatter_add(scattered, axis, places, source)
    assert added.astype("f").tolist() == scattered.astype("f").tolist() == wide.astype(bfloat16).astype("f").tolist()


_ORDERS = {
    "rows": lambda a: a,
    "columns": lambda a: a.T.copy().T,
    "middle first": lambda a: a.transpose(1, 0, 2).copy().transpose(1, 0, 2),
    "gaps": lambda a: np.stack([a, a], -1)[..., 1],
    "part": lambda a: np.pad(a, 1)[1:-1, 1:-1, 1:-1],
}


def _one_by_one(a: np.ndarray, axis: int, index: np.ndarray, others: np.ndarray, how: int | None, kept: bool) -> np.ndarray:
    """What becomes of an array in rows, element by element; whole numbers, of which all sums are exact."""
    groups: dict[tuple[int, ...], list[Any]] = {}
    for at in np.ndindex(others.shape):
        row = index[at[axis]] if index.ndim == 1 else index[at]
        groups.setdefault((*at[:axis], int(row), *at[axis + 1:]), []).append(others[at])
    found = a.copy()
    for at, numbers in groups.items():
        numbers = [a[at]] * kept + numbers
        if how is None:
            found[at] = numbers[-1]
        elif how == embedding.MEAN:
            total = sum([np.float64(x) for x in numbers])
            single = np.float32 if a.itemsize < 8 else np.float64
            found[at] = total // len(numbers) if a.dtype.kind == "i" else np.asarray(total / len(numbers), single).astype(a.dtype)
        else:
            reduce: Any = [sum, math.prod, max, min][how]
            found[at] = reduce(np.asarray(numbers).astype("f8").tolist())
    return found


@pytest.mark.parametrize("order", _ORDERS)
@pytest.mark.parametrize("dtype", ["f4", "f8", "i8", "?", ml_dtypes.bfloat16, "f2"])
@pytest.mark.parametrize("how", [None, 0, 1, 2, 3, embedding.MEAN])
@pytest.mark.parametrize("kept", [True, False])
def test_what_is_put_into_an_array_in_any_order(order, dtype, how, kept, kernels):
    """As into a copy in rows, of others in any order; where a position is not there, nothing is changed."""
    rng = np.random.default_rng(0)
    for axis, vector in itertools.product(range(3), (True, False)):
        a = rng.integers(0, 3, (4, 5, 6)).astype(dtype)
        size = tuple(7 if d == axis else n for d, n in enumerate(a.shape))
        index, others = rng.integers(0, a.shape[axis], (7,) if vector else size), rng.integers(0, 3, size).astype(dtype)
        target = _ORDERS[order](a)
        by = embedding.PARTS if vector else embedding.ELEMENTS
        wanted = _with_others(a, axis, index, others, how, kept, by)
        if wanted is not None:
            np.testing.assert_array_equal(wanted, _one_by_one(a, axis, index, others, how, kept))
        done = embedding.put_others(target, axis, index, _ORDERS[order](others), how, kept, by)
        assert done == (wanted is not None) or order in ("columns", "middle first", "part")  # which have no such steps
        np.testing.assert_array_equal(target, wanted if done else a)
        index.reshape(-1)[-1] = a.shape[axis]
        before = target.copy()
        with contextlib.suppress(IndexError):
            assert not embedding.put_others(target, axis, index, others, how, kept, by)
        np.testing.assert_array_equal(target, before)


def test_sums_of_half_precision_are_rounded_once(kernels):
    target, ones = np.zeros((2, 700), ml_dtypes.bfloat16), np.ones((400, 700), ml_dtypes.bfloat16)
    embedding.index_add(target, 0, np.ones(400, np.int64), ones)
    assert target[0].max() == 0 and (target[1] == 400).all()


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("shape", [(5, 4, 3), (1, 4, 3), (3,), (4, 3), (5, 1, 1), (4, 1), (1, 4, 1), ()])
def test_what_is_filled_where_a_mask_is_set(order, shape, kernels):
    rng = np.random.default_rng(0)
    for dtype in ("f4", "f8", "i8", "?", "f2", "i4"):
        a, value = np.array(rng.integers(0, 9, (5, 4, 3)).astype(dtype), order=order), np.ones((), dtype)
        mask = np.array(rng.random(shape) < 0.5, order=order)
        wanted = np.where(mask, value, a)
        if moved.fill_where(a, mask, value):
            np.testing.assert_array_equal(a, wanted)
