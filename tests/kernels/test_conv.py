"""Convolutions against a loop over windows, and vjps against the adjoint identity."""

from __future__ import annotations

import numpy as np
import pytest

from autograd_tape.executors.kernels import _on_demand, blas, conv, sharing, ways

# input, weight, stride, padding, dilation, groups
CASES = {
    "plain": ((2, 3, 7, 8), (4, 3, 3, 3), (1, 1), (0, 0), (1, 1), 1),
    "padded": ((2, 3, 5, 6), (4, 3, 3, 3), (1, 1), (1, 2), (1, 1), 1),
    "strided": ((3, 2, 9, 8), (2, 2, 3, 2), (2, 3), (1, 0), (1, 1), 1),
    "dilated": ((1, 2, 9, 9), (3, 2, 3, 3), (1, 2), (2, 2), (2, 3), 1),
    "grouped": ((2, 4, 6, 6), (6, 2, 3, 3), (1, 1), (1, 1), (1, 1), 2),
    "depthwise": ((2, 3, 6, 7), (3, 1, 3, 3), (1, 1), (1, 1), (1, 1), 3),
    "depthwise multiplied": ((2, 3, 6, 7), (6, 1, 3, 2), (2, 2), (1, 1), (2, 1), 3),
    "depthwise in rows": ((2, 3, 6, 9), (3, 1, 3, 3), (1, 1), (1, 1), (1, 1), 3),
    "depthwise in long rows": ((2, 2, 5, 43), (4, 1, 2, 5), (1, 1), (1, 3), (1, 2), 2),
    "depthwise in rows, dilated": ((1, 2, 9, 12), (2, 1, 3, 3), (1, 1), (0, 0), (2, 2), 2),
    "depthwise in rows, strided": ((2, 2, 7, 34), (4, 1, 3, 3), (2, 2), (1, 1), (1, 1), 2),
    "depthwise in odd rows, strided": ((2, 2, 8, 37), (2, 1, 5, 4), (2, 3), (2, 1), (1, 2), 2),
    "depthwise in even rows, strided": ((1, 3, 9, 30), (3, 1, 2, 5), (3, 2), (0, 2), (1, 1), 3),
    "pointwise": ((2, 3, 4, 5), (6, 3, 1, 1), (1, 1), (0, 0), (1, 1), 1),
    "pointwise grouped": ((2, 4, 4, 5), (6, 2, 1, 1), (1, 1), (0, 0), (1, 1), 2),
    "pointwise strided": ((2, 3, 5, 5), (6, 3, 1, 1), (2, 2), (0, 0), (1, 1), 1),
    "one channel": ((2, 1, 5, 5), (3, 1, 2, 2), (1, 1), (0, 0), (1, 1), 1),
    "wide padding": ((1, 1, 2, 2), (1, 1, 2, 2), (3, 3), (4, 4), (1, 1), 1),
    "taps that meet padding alone": ((2, 3, 3, 4), (4, 3, 3, 15), (1, 1), (1, 8), (1, 1), 1),
    "depthwise, taps that meet padding alone": ((2, 2, 4, 5), (4, 1, 25, 11), (2, 1), (25, 11), (2, 2), 2),
    "1d": ((2, 4, 11), (6, 2, 3), (2,), (2,), (2,), 2),
    "3d, pointwise": ((2, 4, 3, 4, 5), (6, 2, 1, 1, 1), (1, 1, 1), (0, 0, 0), (1, 1, 1), 2),
    "few pixels, long sums": ((2, 20, 5, 5), (9, 20, 3, 3), (1, 1), (1, 1), (1, 1), 1),
    "3d": ((2, 2, 4, 5, 6), (3, 2, 2, 3, 2), (1, 2, 1), (1, 1, 0), (2, 1, 1), 1),
}


def _reference(x, w, b, stride, padding, dilation, groups):
    x, w = x.astype(np.float64), w.astype(np.float64)
    x = np.pad(x, [(0, 0), (0, 0), *((p, p) for p in padding)])
    spatial = w.shape[2:]
    size = [(n - d * (k - 1) - 1) // s + 1 for n, k, s, d in zip(x.shape[2:], spatial, stride, dilation, strict=True)]
    y = np.zeros((x.shape[0], w.shape[0], *size))
    per_group, outs = w.shape[1], w.shape[0] // groups
    for o in range(w.shape[0]):
        first = o // outs * per_group
        for at in np.ndindex(*size):
            window = tuple(
                slice(i * s, i * s + d * (k - 1) + 1, d)
                for i, s, d, k in zip(at, stride, dilation, spatial, strict=True)
            )
            y[(slice(None), o, *at)] = (
                (x[(slice(None), slice(first, first + per_group), *window)] * w[o]).reshape(len(x), -1).sum(1)
            )
    return y if b is None else y + b.reshape(-1, *[1] * len(size))


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_forward_and_vjp(case, kernels, dtype, rng, close):
    x_shape, w_shape, *geometry = case
    x, w = rng.standard_normal(x_shape).astype(dtype), rng.standard_normal(w_shape).astype(dtype)
    b = rng.standard_normal(w_shape[0]).astype(dtype)
    forward, backward = (conv.conv2d, conv.conv2d_backward) if x.ndim == 4 else (conv.convnd, conv.convnd_backward)
    y = forward(x, w, b, *geometry)
    close(y, _reference(x, w, b, *geometry), 8)
    close(conv.convnd(x, w, None, *geometry), _reference(x, w, None, *geometry), 8)
    g = rng.standard_normal(y.shape).astype(dtype)
    dx, dw, db = backward(g, x, w, *geometry)
    assert (dx.shape, dw.shape, db.shape) == (x.shape, w.shape, b.shape)
    # The operation is linear in each input: <g, f(step)> = <vjp(g), step> for every step.
    wide = g.astype(np.float64)
    for _ in range(3):
        sx, sw = rng.standard_normal(x_shape), rng.standard_normal(w_shape)
        tolerance = {"rtol": 1e-4, "atol": 1e-3} if dtype == np.float32 else {"rtol": 1e-10, "atol": 1e-9}
        np.testing.assert_allclose((dx * sx).sum(), (wide * _reference(sx, w, None, *geometry)).sum(), **tolerance)
        np.testing.assert_allclose((dw * sw).sum(), (wide * _reference(x, sw, None, *geometry)).sum(), **tolerance)
    close(db, wide.sum((0, *range(2, g.ndim))), 8)
    parts = backward(g, x, w, *geometry, (False, True, False))
    assert parts[0] is None
    assert parts[2] is None
    np.testing.assert_array_equal(parts[1], dw)


def _transposed_size(case, extra):
    _, w_shape, stride, padding, dilation, _ = case
    added = [extra if s > 1 else 0 for s in stride]
    return [
        3 * s - 2 * p + d * (k - 1) + e + 1
        for s, p, d, k, e in zip(stride, padding, dilation, w_shape[2:], added, strict=True)
    ]


# output_padding must be smaller than the stride, and something must be left of the output.
TRANSPOSED = [
    pytest.param(case, extra, id=f"{name}-{extra}")
    for name, case in CASES.items()
    for extra in ((0, 1) if max(case[2]) > 1 else (0,))
    if min(_transposed_size(case, extra)) > 0
]


@pytest.mark.parametrize(("stride", "dilation", "extra"), [((1, 1), (2, 2), (1, 1)), ((2, 2), (3, 3), (2, 2)), ((1, 2), (2, 2), (1, 1))])
@pytest.mark.parametrize("groups", [1, 2, 4])
def test_transposed_pointwise_with_rows_behind(stride, dilation, extra, groups, kernels, rng) -> None:
    """`output_padding` may be larger than the stride allows where there is dilation: nothing gets there, and nothing comes from there."""
    x, w = rng.integers(-9, 9, (2, 4, 9, 7)).astype(np.float64), rng.integers(-9, 9, (4, 3, 1, 1)).astype(np.float64)
    y = conv.conv_transposend(x, w, None, stride, (0, 0), extra, dilation, groups)
    assert y.shape == (2, 3 * groups, *[(n - 1) * s + e + 1 for n, s, e in zip(x.shape[2:], stride, extra)])
    places = (slice(None), slice(None), *[slice(0, n * s, s) for n, s in zip(x.shape[2:], stride)])
    expected = np.zeros_like(y)
    parts = x.reshape(2, groups, 4 // groups, 9, 7), w.reshape(groups, 4 // groups, 3)
    expected[places] = np.einsum("ngchw,gco->ngohw", *parts).reshape(2, 3 * groups, 9, 7)
    np.testing.assert_array_equal(y, expected)
    g = rng.integers(-9, 9, y.shape).astype(np.float64)
    dw = conv.conv2d_backward(x, g, w, stride, (0, 0), dilation, groups, (False, True, False))[1]
    by_group = g[places].reshape(2, groups, 3, 9, 7)
    np.testing.assert_array_equal(dw.reshape(w.shape), np.einsum("ngchw,ngohw->gco", parts[0], by_group).reshape(w.shape))


@pytest.mark.parametrize(("case", "extra"), TRANSPOSED)
def test_transposed(case, extra, kernels, dtype, rng, close):
    _, w_shape, stride, padding, dilation, groups = case
    size = _transposed_size(case, extra)
    extra = tuple(extra if s > 1 else 0 for s in stride)
    x_shape = (2, w_shape[0], *(4 for _ in stride))
    x, w = rng.standard_normal(x_shape).astype(dtype), rng.standard_normal(w_shape).astype(dtype)
    b = rng.standard_normal(w_shape[1] * groups).astype(dtype)
    y = conv.conv_transposend(x, w, b, stride, padding, extra, dilation, groups)
    assert y.shape == (2, len(b), *size)
    g = rng.standard_normal(y.shape).astype(dtype)
    # <g, transposed(x)> = <conv(g), x>
    forward = _reference(g, w, None, stride, padding, dilation, groups)[tuple(slice(0, n) for n in x_shape)]
    bias = b.reshape(-1, *[1] * len(size)).astype(np.float64)
    left = (g * (y - bias)).sum()
    np.testing.assert_allclose(
        left,
        (forward * x).sum(),
        rtol=1e-3 if dtype == np.float32 else 1e-9,
        atol=1e-3 if dtype == np.float32 else 1e-9,
    )
    dx, dw, db = conv.conv_transposend_backward(g, x, w, stride, padding, dilation, groups)
    close(dx, forward, 32)
    np.testing.assert_allclose(
        (dw * w).sum(), left, rtol=1e-3 if dtype == np.float32 else 1e-9, atol=1e-2 if dtype == np.float32 else 1e-8
    )
    assert dw.shape == w.shape
    np.testing.assert_allclose(db, g.sum((0, *range(2, g.ndim))), rtol=1e-4)


# Products cut into pieces by rows, by columns, not at all; several chunks of samples; rows that end early.
def test_depthwise_rows_keep_what_is_not_finite_in_place(kernels):
    x, w, g = np.zeros((1, 1, 3, 10)), np.ones((1, 1, 3, 3)), np.ones((1, 1, 1, 8))
    x[0, 0, 1, 9] = np.inf
    x, w = np.concatenate([x, x], 1), np.concatenate([w, w])
    y = conv.conv2d(x, w, None, (1, 1), (0, 0), (1, 1), 2)
    np.testing.assert_array_equal(np.isfinite(y[0, 0, 0]), [True] * 7 + [False])
    _, dw, _ = conv.conv2d_backward(np.concatenate([g, g], 1), x, w, (1, 1), (0, 0), (1, 1), 2)
    assert np.isposinf(dw[0, 0, 1, 2])
    assert np.isposinf(dw[:, 0, 1, 2]).all()
    assert np.isfinite(dw).sum() == 16


# input, weight, stride, padding, dilation, groups
TILED = {
    "plain": ((5, 3, 13, 14), (7, 3, 3, 3), (1, 1), (1, 1), (1, 1), 1),
    "narrow": ((4, 2, 40, 7), (3, 2, 3, 3), (1, 1), (1, 1), (1, 1), 1),
    "even width, stride 2": ((9, 3, 26, 24), (5, 3, 3, 3), (2, 2), (1, 1), (1, 1), 1),
    "odd width, stride 2": ((4, 3, 27, 25), (4, 3, 5, 3), (2, 2), (2, 1), (1, 1), 1),
    "strides 3 and 1": ((4, 2, 37, 12), (4, 2, 3, 2), (3, 1), (0, 0), (1, 1), 1),
    "dilated": ((6, 2, 16, 17), (4, 2, 3, 3), (1, 1), (2, 3), (2, 3), 1),
    "pointwise": ((5, 6, 12, 12), (5, 6, 1, 1), (1, 1), (0, 0), (1, 1), 1),
    "pointwise, padded and strided": ((5, 6, 26, 24), (5, 6, 1, 1), (2, 2), (1, 0), (1, 1), 1),
    "groups": ((4, 6, 12, 12), (10, 3, 3, 3), (1, 1), (1, 1), (1, 1), 2),
    "long padding": ((4, 2, 20, 20), (3, 2, 7, 7), (1, 1), (6, 6), (1, 1), 1),
    "one image": ((1, 5, 9, 8), (17, 5, 3, 3), (1, 1), (1, 1), (1, 1), 1),
    "strides beyond the kernel": ((2, 3, 11, 10), (5, 3, 2, 2), (3, 4), (0, 1), (1, 1), 1),
    "strides 3 and 2, dilated": ((2, 3, 13, 14), (9, 3, 3, 4), (3, 2), (4, 2), (2, 3), 1),
    "long sums": ((2, 40, 6, 7), (9, 40, 3, 3), (1, 1), (1, 1), (1, 1), 1),
    "depthwise": ((2, 6, 12, 90), (6, 1, 3, 3), (2, 1), (1, 1), (1, 1), 6),
    "signals": ((3, 4, 50), (9, 4, 5), (1,), (2,), (3,), 1),
    "signals, strided": ((2, 4, 61), (6, 2, 7), (4,), (3,), (1,), 2),
    "videos": ((2, 3, 5, 6, 9), (7, 3, 3, 2, 3), (1, 1, 1), (1, 0, 1), (1, 1, 1), 1),
    "videos, strided": ((2, 4, 6, 7, 9), (10, 2, 2, 3, 3), (2, 2, 2), (1, 1, 1), (2, 1, 1), 2),
}


@pytest.mark.skipif(not _on_demand.available(), reason="Numba is not installed: there are no tiles")
@pytest.mark.parametrize("case", TILED.values(), ids=TILED)
@pytest.mark.parametrize("threads", [1, 3])
def test_tiles_match_the_composition(case, threads, dtype, rng, monkeypatch):
    x_shape, w_shape, stride, padding, dilation, groups = case
    x, w = rng.standard_normal(x_shape).astype(dtype), rng.standard_normal(w_shape).astype(dtype)
    b = rng.standard_normal(w_shape[0]).astype(dtype)
    geometry = stride, padding, dilation, groups
    forward, backward = (conv.conv2d, conv.conv2d_backward) if x.ndim == 4 else (conv.convnd, conv.convnd_backward)
    monkeypatch.setattr(ways, "tiles_win", lambda face, geometry: True)
    monkeypatch.setattr(conv, "_is_depthwise", lambda w, groups: False)
    previous, before = _on_demand.use_numba("numba"), sharing.get_num_threads()
    try:
        sharing.set_num_threads(threads)
        y = forward(x, w, b, *geometry)
        g = rng.standard_normal(y.shape).astype(dtype)
        grads = backward(g, x, w, *geometry)
    finally:
        sharing.set_num_threads(before)
        _on_demand.use_numba("numpy")
    tolerance = {"rtol": 1e-4, "atol": 2e-3} if dtype == np.float32 else {"rtol": 1e-11, "atol": 1e-11}
    try:
        np.testing.assert_allclose(y, conv.convnd(x, w, b, *geometry), **tolerance)
        for mine, other in zip(grads, conv.convnd_backward(g, x, w, *geometry), strict=True):
            np.testing.assert_allclose(mine, other, **tolerance)
    finally:
        _on_demand.use_numba(previous)


@pytest.mark.skipif(not _on_demand.available(), reason="Numba is not installed: there are no tiles")
def test_tiles_keep_what_is_not_finite_in_place(rng, monkeypatch):
    monkeypatch.setattr(ways, "tiles_win", lambda face, geometry: True)
    x, w = rng.standard_normal((4, 2, 12, 12)), rng.standard_normal((3, 2, 3, 3))
    x[1, 0, 5, 11] = np.inf
    geometry = (1, 1), (0, 0), (1, 1), 1
    g = rng.standard_normal((4, 3, 10, 10))
    w_bad = w.copy()
    w_bad[0, 0, 0, 0] = np.inf
    for weight in (w, w_bad):
        expected = conv.convnd(x, weight, None, *geometry), *conv.convnd_backward(g, x, weight, *geometry)
        previous = _on_demand.use_numba("numba")
        try:
            found = conv.conv2d(x, weight, None, *geometry), *conv.conv2d_backward(g, x, weight, *geometry)
        finally:
            _on_demand.use_numba(previous)
        for mine, other in zip(found, expected, strict=True):
            np.testing.assert_array_equal(np.isfinite(mine), np.isfinite(other))


@pytest.mark.parametrize(
    ("x_shape", "w_shape", "stride", "padding", "groups"),
    [
        ((10, 16, 34, 34), (16, 16, 3, 3), (1, 1), (1, 1), 1),
        ((9, 32, 18, 17), (32, 16, 3, 3), (2, 2), (1, 0), 2),
        ((3, 8, 40, 40), (2, 8, 5, 5), (1, 1), (0, 2), 1),
        ((17, 1, 14, 14), (6, 1, 5, 5), (1, 1), (0, 0), 1),
        ((2, 5, 9, 30), (7, 5, 4, 2), (3, 2), (2, 1), 1),
        ((2, 24, 12, 12), (131, 24, 3, 3), (1, 1), (1, 1), 1),
    ],
)
@pytest.mark.parametrize("unpacked", [1_000_000, 0])
def test_wide_columns_match_the_composition(x_shape, w_shape, stride, padding, groups, unpacked, rng, monkeypatch):
    monkeypatch.setattr(conv, "_UNPACKED", unpacked)  # with AVX-512, and without
    if not _on_demand.available():
        pytest.skip("Numba is not installed: there are no compiled kernels to compare")
    x, w, b = (rng.standard_normal(s).astype(np.float32) for s in (x_shape, w_shape, w_shape[:1]))
    geometry = stride, padding, (1, 1), groups
    y, expected = conv.conv2d(x, w, b, *geometry), conv.convnd(*(v.astype(float) for v in (x, w, b)), *geometry)
    np.testing.assert_allclose(y, expected, rtol=1e-4, atol=1e-4)
    g = rng.standard_normal(y.shape).astype(np.float32)
    exact = conv.convnd_backward(*(v.astype(float) for v in (g, x, w)), *geometry)
    for actual, wanted in zip(conv.conv2d_backward(g, x, w, *geometry), exact, strict=True):
        np.testing.assert_allclose(actual, wanted, rtol=1e-3, atol=2e-3)


@pytest.mark.parametrize("shape", [(2, 5, 4, 6), (1, 3, 1, 1), (0, 3, 2, 2)])
def test_pointwise_of_channels_that_lie_innermost(shape, kernels, dtype, rng, close):
    x, w, b = (rng.standard_normal(s).astype(dtype) for s in ((shape[0], *shape[2:], shape[1]), (4, shape[1], 1, 1), (4,)))
    x, geometry = x.transpose(0, 3, 1, 2), ((1, 1), (0, 0), (1, 1))
    rows = np.ascontiguousarray(x)
    y = conv.conv2d(x, w, b, *geometry)
    close(y, conv.conv2d(rows, w, b, *geometry), 8)
    g = rng.standard_normal((shape[0], *shape[2:], 4)).astype(dtype).transpose(0, 3, 1, 2)
    for found, wanted in zip(conv.conv2d_backward(g, x, w, *geometry), conv.conv2d_backward(np.ascontiguousarray(g), rows, w, *geometry)):
        close(found, wanted, 8)
        assert found.shape == wanted.shape


def test_infinity_and_nan_stay_where_windows_are(rng):
    x, w, g = (rng.standard_normal(s) for s in ((4, 3, 12, 12), (5, 3, 3, 3), (4, 5, 12, 12)))
    geometry = (1, 1), (1, 1), (1, 1), 1
    x[1, 2, 4, 0] = np.nan  # a pixel of the first column: no window has it as the right tap
    dw = conv.conv2d_backward(g, x, w, *geometry)[1]
    np.testing.assert_array_equal(np.isnan(dw), np.isnan(conv.convnd_backward(g, x, w, *geometry)[1]))
    assert not np.isnan(dw[:, 2, :, 2]).any()
    w[0, 0, 0, 0] = np.inf
    dx = conv.conv2d_backward(g, x, w, *geometry)[0]
    np.testing.assert_array_equal(np.isfinite(dx), np.isfinite(conv.convnd_backward(g, x, w, *geometry)[0]))


def test_strides_empty_half(kernels, dtype, rng, close):
    x = rng.standard_normal((6, 7, 3, 2)).astype(dtype).T
    w = rng.standard_normal((3, 3, 3, 4)).astype(dtype).T[:, :, :2]
    geometry = (1, 1), (1, 0), (1, 1)
    close(conv.conv2d(x, w, None, *geometry), _reference(x, w, None, *geometry, 1), 8)
    assert conv.conv2d(np.zeros((0, 3, 5, 5), dtype), np.zeros((4, 3, 3, 3), dtype), None, *geometry).shape == (
        0,
        4,
        5,
        3,
    )
    half = conv.conv2d(x.astype(np.float16), w.astype(np.float16), None, *geometry)
    assert half.dtype == np.float16


def test_errors():
    with pytest.raises(
        RuntimeError, match=r"expected input\[1, 2, 5, 5\] to have 3 channels, but got 2 channels instead"
    ):
        conv.conv2d(np.zeros((1, 2, 5, 5)), np.zeros((1, 3, 3, 3)), None, (1, 1), (0, 0), (1, 1))
    with pytest.raises(RuntimeError, match="Kernel size can't be greater than actual input size"):
        conv.conv2d(np.zeros((1, 1, 2, 2)), np.zeros((1, 1, 3, 3)), None, (1, 1), (0, 0), (1, 1))


def test_batched_matmul(dtype, rng):
    for a_shape, b_shape in (
        ((40, 32, 48), (40, 48, 32)),
        ((3, 5, 4), (3, 4, 2)),
        ((2, 20, 30, 40), (2, 20, 40, 50)),
        ((4, 3), (3, 2)),
        ((5, 4, 3), (3, 2)),
    ):
        a, b = rng.standard_normal(a_shape).astype(dtype), rng.standard_normal(b_shape).astype(dtype)
        np.testing.assert_allclose(blas.matmul(a, b), a @ b, rtol=1e-4 if dtype == np.float32 else 1e-11, atol=1e-5)
    out = np.empty((40, 32, 32), dtype)
    a = rng.standard_normal((40, 32, 48)).astype(dtype)
    assert blas.matmul(a, a.swapaxes(1, 2), out) is out
    np.testing.assert_allclose(out, a @ a.swapaxes(1, 2), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("rows", [1, 2, 5, 16, 64, 65])
@pytest.mark.parametrize(("k", "n"), [(128, 512), (512, 130), (300, 1000), (2048, 64), (20000, 64), (64, 4), (0, 64)])
def test_few_rows_times_a_matrix(rows, k, n, dtype, rng, monkeypatch):
    a, b = rng.standard_normal((rows, k)).astype(dtype), rng.standard_normal((k, n)).astype(dtype)
    wide = np.zeros((k, 2 * n), dtype)
    wide[:, ::2] = b
    expected = a.astype("f8") @ b.astype("f8")
    for small in (True, False):
        monkeypatch.setattr(blas, "_multiplies_as_they_lie", lambda found=small: found)
        for matrix in (b, np.asfortranarray(b), wide[:, ::2]):
            found = [blas.product(a, matrix)]
            for times in (1, 1000):
                found.append(np.full((rows, n), np.nan, dtype))
                blas.multiplier(matrix, rows, times)(a, found[-1])
            for y in found:
                assert y.dtype == dtype
                np.testing.assert_allclose(y, expected, rtol=0, atol=(1e-5 if dtype == np.float32 else 1e-13) * max(k, 1) ** 0.5 * 4)
    with pytest.raises(ValueError):
        blas.product(a, np.ones((k + 1, n), dtype))


def test_one_blas_thread_restores():
    control = blas._openblas()
    if control is None:
        pytest.skip("NumPy is not linked to OpenBLAS: there is no thread count to restore")
    before = control[0]()
    with blas.one_blas_thread(), blas.one_blas_thread():
        assert control[0]() == 1
    assert control[0]() == before


@pytest.mark.parametrize("char", ["f", "d", "l"])
@pytest.mark.parametrize(("x", "w", "stride", "padding", "dilation"), [
    ((2, 3, 5), (3, 2, 3), (2,), (1,), (1,)), ((1, 4, 6, 6), (4, 4, 4, 4), (2, 2), (1, 1), (1, 1)),
    ((2, 3, 4, 3), (3, 2, 2, 3), (1, 3), (0, 1), (2, 1)), ((1, 2, 2, 3, 2), (2, 2, 2, 2, 2), (2, 1, 2), (0, 1, 0), (1, 1, 1))])
def test_few_columns_are_made_and_added_up_at_once(char, x, w, stride, padding, dilation):
    rng = np.random.default_rng(0)
    grad, weight = (rng.integers(-9, 9, shape).astype(char) for shape in (x, w))
    size = tuple((n - 1) * s - 2 * p + d * (k - 1) + 1 for n, k, s, p, d in zip(x[2:], w[2:], stride, padding, dilation, strict=True))
    conv._added.surely(char)  # at hand from here on
    found = conv.input_grad_of_few(grad, weight, (x[0], w[1], *size), stride, padding, dilation, 1)
    expected = np.zeros((x[0], w[1], *(n + 2 * p for n, p in zip(size, padding, strict=True))), char)
    for at in np.ndindex(*x[2:]):
        for tap in np.ndindex(*w[2:]):
            where = tuple(a * s + t * d for a, s, t, d in zip(at, stride, tap, dilation, strict=True))
            expected[(..., *where)] += grad[(..., *at)] @ weight[(..., *tap)]
    expected = expected[(..., *(slice(p, p + n) for n, p in zip(size, padding, strict=True)))]
    assert found is not None and found.dtype == grad.dtype and np.array_equal(found, expected)
