"""Pooling against loops over windows written from torch's definition."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from autograd_tape.executors.kernels import pooling

# input, kernel, stride, padding, dilation
GEOMETRIES = [
    ((2, 3, 8, 8), (2, 2), (2, 2), (0, 0), (1, 1)),
    ((2, 7, 9), (3, 2), (2, 3), (1, 1), (1, 1)),
    ((1, 2, 9, 7), (3, 3), (1, 2), (1, 0), (1, 1)),
    ((3, 10, 11), (3, 2), (2, 1), (1, 0), (2, 3)),
    ((1, 5, 5), (2, 2), (3, 3), (1, 1), (1, 1)),
]


def _starts(n, k, s, p, d, ceil_mode):
    span = (n + 2 * p - d * (k - 1) - 1) / s
    m = (math.ceil(span) if ceil_mode else math.floor(span)) + 1
    if ceil_mode and (m - 1) * s >= n + p:
        m -= 1
    return [i * s - p for i in range(m)]


def _windows(shape, kernel, stride, padding, dilation, ceil_mode):
    """(output position, row starts, column starts) with the pixels inside, for every window."""
    starts = [_starts(*v, ceil_mode) for v in zip(shape[-2:], kernel, stride, padding, dilation, strict=True)]
    for (i, top), (j, left) in itertools.product(enumerate(starts[0]), enumerate(starts[1])):
        rows = [top + a * dilation[0] for a in range(kernel[0])]
        columns = [left + b * dilation[1] for b in range(kernel[1])]
        inside = [(r, c) for r in rows for c in columns if 0 <= r < shape[-2] and 0 <= c < shape[-1]]
        yield (i, j), (top, left), inside


@pytest.mark.parametrize("geometry", GEOMETRIES)
@pytest.mark.parametrize("ceil_mode", [False, True])
def test_max_pool2d(geometry, ceil_mode, kernels, dtype, rng, close):
    shape, *window = geometry
    x = rng.integers(-4, 4, shape).astype(dtype)  # ties: the first of equals wins
    x[..., 1, 2] = math.nan
    x[..., 4, 4] = -math.inf
    y, index = pooling.max_pool2d(x, *window, ceil_mode)
    assert index.dtype == np.int64
    seen = 0
    for lead in np.ndindex(*shape[:-2]):
        for at, _, inside in _windows(shape, *window, ceil_mode):
            best, where = -math.inf, inside[0]
            for position in inside:
                value = x[lead + position]
                if value > best or math.isnan(value):
                    best, where = value, position
            np.testing.assert_equal(y[lead + at], best)
            assert index[lead + at] == where[0] * shape[-1] + where[1]
            seen += 1
    assert seen == y.size
    g = rng.standard_normal(y.shape).astype(dtype)
    dx = np.zeros((math.prod(shape[:-2]), shape[-2] * shape[-1]))
    for plane, ks, gs in zip(dx, index.reshape(len(dx), -1), g.reshape(len(dx), -1), strict=True):
        for k, v in zip(ks, gs, strict=True):
            plane[k] += v
    close(pooling.max_pool2d_backward(g, index, shape, 2), dx.reshape(shape), 2)


@pytest.mark.parametrize("geometry", [g for g in GEOMETRIES if g[-1] == (1, 1)])
@pytest.mark.parametrize("ceil_mode", [False, True])
@pytest.mark.parametrize(("include", "divisor"), [(True, None), (False, None), (True, 5)])
def test_avg_pool2d(geometry, ceil_mode, include, divisor, kernels, dtype, rng, close):
    shape, kernel, stride, padding, _ = geometry
    x = rng.standard_normal(shape).astype(dtype)
    y = pooling.avg_pool2d(x, kernel, stride, padding, ceil_mode, include, divisor)
    g = rng.standard_normal(y.shape).astype(dtype)
    expected, dx = np.full(y.shape, np.nan), np.zeros(shape)
    for at, (top, left), inside in _windows(shape, kernel, stride, padding, (1, 1), ceil_mode):
        if divisor:
            count = divisor
        elif include:
            count = min(top + kernel[0], shape[-2] + padding[0]) - top
            count *= min(left + kernel[1], shape[-1] + padding[1]) - left
        else:
            count = len(inside)
        rows, columns = np.array(inside).T
        expected[..., at[0], at[1]] = x[..., rows, columns].astype(np.float64).sum(-1) / count
        dx[..., rows, columns] += g[..., at[0], at[1], None] / count
    close(y, expected)
    close(pooling.avg_pool2d_backward(g, shape, kernel, stride, padding, include, divisor), dx)


@pytest.mark.parametrize("size", [(1, 1), (3, 2), (4, 4), (6, 8), (9, 5)])
def test_adaptive(size, kernels, dtype, rng, close):
    shape = (2, 3, 6, 8)
    x = rng.standard_normal(shape).astype(dtype)
    y = pooling.adaptive_avg_pool2d(x, size)
    top, index = pooling.adaptive_max_pool2d(x, size)
    g = rng.standard_normal(y.shape).astype(dtype)
    expected, maxima, dx = np.zeros(y.shape), np.zeros(y.shape), np.zeros(shape)
    for i, j in np.ndindex(*size):
        rows = slice(math.floor(i * 6 / size[0]), math.ceil((i + 1) * 6 / size[0]))
        columns = slice(math.floor(j * 8 / size[1]), math.ceil((j + 1) * 8 / size[1]))
        part = x[..., rows, columns].astype(np.float64)
        expected[..., i, j] = part.mean((-2, -1))
        maxima[..., i, j] = part.max((-2, -1))
        dx[..., rows, columns] += g[..., i : i + 1, j : j + 1] / (part.shape[-1] * part.shape[-2])
    close(y, expected)
    close(pooling.adaptive_avg_pool2d_backward(g, shape), dx)
    close(top, maxima)
    np.testing.assert_array_equal(
        np.take_along_axis(x.reshape(2, 3, -1), index.reshape(2, 3, -1), 2), top.reshape(2, 3, -1)
    )


@pytest.mark.parametrize("innermost", [False, True])
def test_windows(innermost, kernels, dtype, rng, close):
    """Three dimensions, NaNs of which the last wins, integers, windows that see nothing, and channels that lie innermost."""
    shape, size = (2, 3, 4, 5, 6), (4, 5, 6)
    x = rng.integers(-4, 4, shape).astype(dtype)
    x[0, 0, 0, 0, :2] = math.nan
    if innermost:
        x = np.moveaxis(np.ascontiguousarray(np.moveaxis(x, 1, -1)), -1, 1)
    kinds = [pooling.cells(size, (3, 2, 4)), pooling.windows(size, (3, 3, 3), (2, 3, 2), (2, 2, 2), (1, 1, 0), (2, 1, 1))]
    for w in kinds:
        (y, index), mean = pooling.max_windows(x, w), pooling.mean_windows(np.nan_to_num(x), w)
        g = rng.standard_normal(y.shape).astype(dtype)
        dx = np.zeros(shape)
        for at in np.ndindex(*w.out):
            axes = [list(range(b[i], e[i], s)) for b, e, s, i in zip(w.begins, w.ends, w.steps, at, strict=True)]
            taps = list(itertools.product(*axes))
            for lead in np.ndindex(*shape[:2]):
                best, where = -math.inf, taps[0]
                for tap in taps:
                    if x[lead + tap] > best or math.isnan(x[lead + tap]):
                        best, where = x[lead + tap], tap
                np.testing.assert_equal(y[lead + at], best)
                assert index[lead + at] == np.ravel_multi_index(where, size)
                if max(w.steps) == 1:
                    close(mean[lead + at], np.mean([np.nan_to_num(x[lead + tap]) for tap in taps]), 4)
                for tap in taps:
                    dx[lead + tap] += g[lead + at] / len(taps)
        if max(w.steps) == 1:
            close(pooling.mean_windows_backward(g, w), dx, 4)
    whole = np.nan_to_num(x).astype(np.int64) + (1 << 52)
    largest = pooling.max_windows(np.nan_to_num(x), kinds[0])[0].astype(np.int64)
    assert (pooling.max_windows(whole, kinds[0])[0] == largest + (1 << 52)).all()
    far = np.array([[1, (1 << 60) + 1, 1 << 60]])
    assert pooling.max_windows(far, pooling.cells((3,), (1,)))[0].tolist() == [[(1 << 60) + 1]]
    nothing = pooling.windows((1,), (2,), (2,), (1,), (2,), (3,))
    assert nothing.empty
    assert pooling.max_windows(np.ones((1, 1), dtype), nothing)[0].tolist() == [[-math.inf, -math.inf]]


@pytest.mark.parametrize("channels", [2, 4, 5])
@pytest.mark.parametrize("n", [1, 2, 3])
def test_channels_innermost(n, channels, kernels, dtype, rng):
    """What is pooled of images with their channels innermost, and its gradient, is laid out so, and has the same bits as of rows."""
    size = (9, 7, 5)[:n]
    rows = rng.integers(-4, 4, (2, channels, *size)).astype(dtype)

    def turned(a: np.ndarray) -> np.ndarray:
        return np.moveaxis(np.ascontiguousarray(np.moveaxis(a, 1, -1)), -1, 1)

    kernel, stride, padding, ones = (3,) * n, (2,) * n, (1,) * n, (1,) * n
    window = pooling.plan(size, kernel, stride, padding, ones, False)
    counts = pooling.counts(size, window.out, kernel, stride, padding, True, None)
    largest, means = pooling.max_plan(rows.shape, kernel, stride, padding, ones, False), None
    if n < 3:  # torch lays three dimensions out in rows
        means = pooling.mean_plan(rows.shape, kernel, stride, padding, False, True, None)
    index = pooling.max_windows(rows, window)[1]
    grad = rng.standard_normal(index.shape).astype(dtype)
    cases = [lambda x, g, k: pooling.maxima(x, largest, True), lambda x, g, k: pooling.max_pool2d_backward(g, k, rows.shape, n)]
    if means is not None:
        cases += [lambda x, g, k: pooling.means(x, means), lambda x, g, k: pooling.mean_windows_backward(g, window, counts)]
    if n == 2:
        cases += [lambda x, g, k: pooling.avg_pool2d_backward(g, rows.shape, kernel, stride, padding)]
    for case in cases:
        expected, found = case(rows, grad, index), case(turned(rows), turned(grad), turned(index))
        for a, b in zip(*[r if isinstance(r, tuple) else (r,) for r in (expected, found)], strict=True):
            if a is not None:  # NumPy computes it elsewhere
                np.testing.assert_array_equal(b, a)
                assert a.flags.c_contiguous and np.moveaxis(b, 1, -1).flags.c_contiguous


def test_one_axis_strides_empty_and_integers(kernels, dtype, rng, close):
    x = rng.standard_normal((2, 3, 10)).astype(dtype)
    y, index = pooling.max_pool1d(x, 3, 2, 1)
    close(y, np.stack([x[..., max(0, 2 * i - 1) : 2 * i + 2].max(-1) for i in range(5)], -1))
    np.testing.assert_array_equal(np.take_along_axis(x, index, 2), y)
    close(pooling.avg_pool1d(x, 2, 2), x.reshape(2, 3, 5, 2).mean(-1))
    base = rng.standard_normal((9, 8, 4)).astype(dtype).T
    close(pooling.avg_pool2d(base, (2, 2), (2, 2)), pooling.avg_pool2d(base.copy(), (2, 2), (2, 2)))
    assert pooling.max_pool2d(np.zeros((0, 3, 4, 4), dtype), (2, 2), (2, 2))[0].shape == (0, 3, 2, 2)
    y, _ = pooling.max_pool2d(np.arange(16).reshape(1, 4, 4), (2, 2), (2, 2))
    np.testing.assert_array_equal(y, [[[5, 7], [13, 15]]])


def test_errors():
    x = np.zeros((1, 2, 2))
    with pytest.raises(RuntimeError, match="pad should be at most half of effective kernel size"):
        pooling.max_pool2d(x, (2, 2), (1, 1), (2, 2))
    with pytest.raises(RuntimeError, match="Output size is too small"):
        pooling.max_pool2d(x, (3, 3), (1, 1))
    with pytest.raises(RuntimeError, match="divisor must be not zero"):
        pooling.avg_pool2d(x, (2, 2), (1, 1), divisor_override=0)
