"""Sums of weighted elements at given places against sums written out."""

from __future__ import annotations

import numpy as np
import pytest

from autograd_tape.executors.kernels import sampling


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
