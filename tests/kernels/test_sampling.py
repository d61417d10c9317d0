"""Sums of weighted elements at given places against sums written out."""

from __future__ import annotations

import numpy as np
import pytest

import torchcompat as torch
from autograd_tape.executors.kernels import _on_demand, sampling
from autograd_tape.ops.networks import resampling


@pytest.mark.parametrize("length", [1, 7])
def test_weighted_sums(length, kernels, dtype, rng, close):
    """Compiled and not, with places that are none, and both gradients, together and alone."""
    n, channels, size, taps = 2, 3, 5, 4
    x, weight = rng.standard_normal((n, channels, size)).astype(dtype), rng.standard_normal((taps, n, length)).astype(dtype)
    index, g = rng.integers(-1, size, (taps, n, length)), rng.standard_normal((n, channels, length)).astype(dtype)
    expected, dx, dw = np.zeros(g.shape), np.zeros(x.shape), np.zeros(weight.shape)
    for k, i, c, j in np.ndindex(taps, n, channels, length):
        at = index[k, i, j]
        if at >= 0:
            expected[i, c, j] += float(weight[k, i, j]) * float(x[i, c, at])
            dx[i, c, at] += float(weight[k, i, j]) * float(g[i, c, j])
            dw[k, i, j] += float(g[i, c, j]) * float(x[i, c, at])
    close(sampling.weighted_sums(x, index, weight), expected, 8)
    for needs in ((True, True), (True, False), (False, True)):
        found = sampling.weighted_sums_backward(g, x, index, weight, needs)
        for given, array, wanted in zip(found, (dx, dw), needs, strict=True):
            assert (given is not None) is wanted
            if given is not None:
                close(given, array, 8)


def test_places_outside(kernels, dtype):
    x, weight = np.ones((1, 1, 3), dtype), np.ones((1, 1, 1), dtype)
    index = np.full((1, 1, 1), 3)
    with pytest.raises(IndexError):
        sampling.weighted_sums(x, index, weight)
    with pytest.raises(IndexError):
        sampling.weighted_sums_backward(np.ones((1, 1, 1), dtype), x, index, weight, (True, True))


@pytest.mark.skipif(not _on_demand.available(), reason="Numba is not installed: there are no compiled kernels to test")
@pytest.mark.parametrize(("size", "taps"), [((4, 5), 1), ((4, 5), 2), ((4, 5), 4), ((2, 3, 4), 1), ((2, 3, 4), 2)])
def test_blocks_of_places(size, taps, dtype, rng, close):
    """A long grid, which is walked through in blocks, gives what its pieces do."""
    previous = _on_demand.use_numba("numba")
    x = rng.standard_normal((2, 3, *size)).astype(dtype)
    grid = rng.uniform(-1.3, 1.3, (2, *(1,) * (len(size) - 1), 1100, len(size))).astype(dtype)
    y = sampling.sampled(x, grid, taps, 1, False)
    assert y is not None
    g = rng.standard_normal(y.shape).astype(dtype)
    dx, dgrid = sampling.gradients(g, x, grid, taps, 1, False, (True, True))
    pieces = [slice(i, i + 50) for i in range(0, 1100, 50)]
    for at in pieces:
        np.testing.assert_array_equal(y[..., at], sampling.sampled(x, grid[..., at, :], taps, 1, False))
        part = sampling.gradients(g[..., at], x, grid[..., at, :], taps, 1, False, (True, True))
        np.testing.assert_array_equal(dgrid[..., at, :], part[1])
        dx = dx - part[0]
    close(dx, np.zeros(dx.shape), 400)
    _on_demand.use_numba(previous)


@pytest.mark.skipif(not _on_demand.available(), reason="Numba is not installed: gradients are products with matrices")
@pytest.mark.parametrize("shape", [(2, 3, 30, 41), (30, 5, 64), (1, 2, 9, 12, 30)])
@pytest.mark.parametrize("mode", ["nearest", "linear", "bilinear", "trilinear", "bicubic", "area"])
@pytest.mark.parametrize("factor", [0.4, 1.7, 6])
def test_gradients_of_resampling_by_taps_and_by_matrices(shape, mode, factor, rng, monkeypatch):
    """Images in rows, and with their channels innermost."""
    ranks = {"linear": (3,), "bilinear": (4,), "bicubic": (4,), "trilinear": (5,)}
    if len(shape) not in ranks.get(mode, (3, 4, 5)):
        return  # there is no such call
    image = torch.tensor(rng.standard_normal(shape))
    for x in (image, image.movedim(1, -1).contiguous().movedim(-1, 1)):
        found = []
        for least in (1, 1 << 62):
            monkeypatch.setattr(resampling, "_SOME", least)
            leaf = x.detach().requires_grad_()
            y = torch.nn.functional.interpolate(leaf, scale_factor=factor, mode=mode)
            found.append(torch.autograd.grad(y, leaf, torch.tensor(np.cos(np.arange(y.numel()))).reshape(y.shape))[0])
        assert found[0].stride() == found[1].stride()
        np.testing.assert_allclose(found[0].numpy(), found[1].numpy(), rtol=1e-12, atol=1e-12)
