"""Softmax, log-softmax and cross entropy against the defining formulas."""

from __future__ import annotations

import math

import numpy as np
import pytest

from autograd_tape.dtypes import bfloat16
from autograd_tape.executors.kernels import softmax as sm

INF, NAN = math.inf, math.nan
CASES = [
    ((7, 33), 1),
    ((7, 33), 0),
    ((4, 5, 300), 1),
    ((2, 3, 4, 5), -1),
    ((2, 3, 4, 5), -3),
    ((6,), 0),
    ((3, 1), 1),
    ((1, 257), 0),
    ((9000, 1), 0),
    ((30, 21, 28), 1),
    ((50, 3, 4), 1),  # of few columns
    ((9, 300, 3), 1),
    ((2, 3000, 3), 1),
]


def _log_softmax(x, axis):
    x = x.astype(np.float64)
    m = x.max(axis, keepdims=True)
    return x - m - np.log(np.exp(x - m).sum(axis, keepdims=True))


@pytest.mark.parametrize(("shape", "axis"), CASES)
def test_forward(shape, axis, kernels, dtype, rng, close):
    x = (rng.standard_normal(shape) * 5).astype(dtype)
    close(sm.log_softmax(x, axis), _log_softmax(x, axis), 4)
    # numbers of a column are added one after another, in torch, too
    close(sm.softmax(x, axis), np.exp(_log_softmax(x, axis)), max(1, shape[axis] / 500))


@pytest.mark.parametrize(("shape", "axis"), CASES)
def test_backward(shape, axis, kernels, dtype, rng, close):
    x, g = rng.standard_normal((2, *shape)).astype(dtype)
    y = sm.softmax(x, axis)
    wide, wide_g = y.astype(np.float64), g.astype(np.float64)
    close(sm.softmax_backward(g, y, axis), wide * (wide_g - (wide_g * wide).sum(axis, keepdims=True)), 4)
    close(sm.log_softmax_backward(g, np.log(y), axis), wide_g - wide * wide_g.sum(axis, keepdims=True), 8)


@pytest.mark.parametrize("half", [np.float16, bfloat16.np], ids=str)
@pytest.mark.parametrize("log", [0, 1])
def test_half_precision_is_rounded_by_the_place_of_the_axis(log, half, kernels, rng):
    """As torch has it: what it is along an axis does not change where axes of one element follow, but the last is rounded otherwise."""
    x = (rng.standard_normal((600, 2, 2)) * 3).astype(half)
    one = np.ascontiguousarray(x[..., :1])
    assert np.array_equal(sm.forward(x, 1, log)[..., :1].view(np.uint16), sm.forward(one, 1, log).view(np.uint16))
    assert not np.array_equal(sm.forward(one[..., 0], 1, log).view(np.uint16), sm.forward(one, 1, log)[..., 0].view(np.uint16))


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("width", [2, 40])
@pytest.mark.parametrize("place", [0, 1, -1])
def test_non_finite_rows(axis, width, place, kernels, dtype):
    x = np.zeros((5, width), dtype)
    x[0, place] = NAN
    x[1, place] = INF
    x[2] = -INF
    x[3, place] = -INF
    for f, rest, gone in ((sm.softmax, 1 / (width - 1), 0.0), (sm.log_softmax, -math.log(width - 1), -INF)):
        y = f(x if axis else np.ascontiguousarray(x.T), axis)
        y = y if axis else y.T
        assert np.isnan(y[:3]).all()
        assert y[3, place] == gone
        np.testing.assert_allclose(np.delete(y[3], place), rest, rtol=1e-6)
        assert np.isfinite(y[4]).all()


def test_strides_empty_scalar_half(kernels, dtype, rng, close):
    base = rng.standard_normal((6, 8, 10)).astype(dtype)
    for x in (base.T, base[:, ::-1, ::3], np.broadcast_to(base[:1], (4, 8, 10))):
        for axis in range(3):
            close(sm.softmax(x, axis), sm.softmax(x.copy(), axis))
    for shape in ((0, 3), (3, 0), (0,)):
        assert sm.softmax(np.zeros(shape, dtype), -1).shape == shape if shape[-1] else True
    close(sm.softmax(np.array(3.0, dtype), 0), np.array(1.0))
    close(sm.log_softmax(np.array(3.0, dtype), -1), np.array(0.0))
    half = base.astype(np.float16)
    assert sm.softmax(half, 1).dtype == np.float16
    with pytest.raises(IndexError, match=r"expected to be in range of \[-3, 2\], but got 3"):
        sm.softmax(base, 3)


def test_large_logits_keep_their_digits(kernels, dtype, close):
    x = np.array([[10000.0, 10001.0, 9999.5]] * 2, dtype)
    close(sm.softmax(x, 1), np.exp(_log_softmax(x, 1)))
    loss, *_ = sm.cross_entropy(x, np.array([1, 1]))
    close(loss, -_log_softmax(x, 1)[0, 1])


def _reference(x, target, weight, ignore, reduction, smoothing):
    logp = _log_softmax(x, 1)
    classes = x.shape[1]
    w = np.ones(classes) if weight is None else weight.astype(np.float64)
    losses, kept_weight = [], 0.0
    for position in np.ndindex(*target.shape):
        t = target[position]
        if t == ignore:
            losses.append(0.0)
            continue
        p = logp[(position[0], slice(None), *position[1:])]
        losses.append(-(1 - smoothing) * w[t] * p[t] - smoothing / classes * (w * p).sum())
        kept_weight += w[t]
    losses = np.array(losses).reshape(target.shape)
    return {"none": losses, "sum": losses.sum(), "mean": losses.sum() / kept_weight}[reduction]


@pytest.mark.parametrize("shape", [(9, 5), (4, 21, 3), (2, 6, 3, 4)])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("smoothing", [0.0, 0.2])
@pytest.mark.parametrize("reduction", ["none", "sum", "mean"])
def test_cross_entropy(shape, weighted, smoothing, reduction, kernels, dtype, rng, close):
    x = (rng.standard_normal(shape) * 2).astype(dtype)
    target = rng.integers(0, shape[1], (shape[0], *shape[2:]))
    target[0] = -7
    weight = rng.random(shape[1]).astype(dtype) if weighted else None
    loss, *saved = sm.cross_entropy(x, target, weight, -7, reduction, smoothing)
    close(loss, _reference(x, target, weight, -7, reduction, smoothing), 8)
    grad = rng.standard_normal(loss.shape).astype(dtype) if loss.ndim else np.array(1.5, dtype)
    actual = sm.cross_entropy_backward(grad, x, target, *saved, weight, -7, smoothing)
    assert actual.shape == x.shape
    assert actual.dtype == dtype
    wide, h = x.astype(np.float64), 1e-6
    for position in ([0] * x.ndim, [1] * x.ndim, [-1] * x.ndim):
        step = np.zeros_like(wide)
        step[tuple(position)] = h
        slope = [_reference(wide + s, target, weight, -7, reduction, smoothing) for s in (step, -step)]
        expected = (grad * (slope[0] - slope[1])).sum() / (2 * h)
        np.testing.assert_allclose(actual[tuple(position)], expected, rtol=1e-4, atol=1e-6)
    assert (actual[0] == 0).all()


def test_cross_entropy_edges(kernels, dtype, close):
    x = np.zeros((2, 3), dtype)
    assert np.isnan(sm.cross_entropy(x, np.array([-100, -100]))[0])
    assert sm.cross_entropy(x, np.array([-100, -100]), reduction="sum")[0] == 0
    assert np.isnan(sm.cross_entropy(np.zeros((0, 3), dtype), np.zeros(0, np.int64))[0])
    for bad, message in (([5, 1], "Target 5 is out of bounds."), ([1, -1], "Target -1 is out of bounds.")):
        with pytest.raises(IndexError, match=message):
            sm.cross_entropy(x, np.array(bad))
    with pytest.raises(ValueError, match="middle is not a valid value for reduction"):
        sm.cross_entropy(x, np.array([0, 0]), reduction="middle")
    close(sm.cross_entropy(np.zeros(4, dtype), np.array(2))[0], np.array(math.log(4)))
    x[1] = [NAN, 0, 0]
    losses = sm.cross_entropy(x, np.array([0, 1]), reduction="none")[0]
    assert np.isfinite(losses[0])
    assert np.isnan(losses[1])
    x[1] = [0, -INF, 0]
    assert sm.cross_entropy(x, np.array([0, 1]), reduction="none")[0][1] == INF
    close(sm.cross_entropy(x, np.array([0, 0]), reduction="none")[0], np.log([3.0, 2.0]))
