"""The discrete Fourier transform."""

from __future__ import annotations

import numpy as np

from ...record import op
from .._host import on_host


def _fft(a: np.ndarray, dim: int, inverse: bool = False) -> np.ndarray:
    if not a.size:
        return a.copy()
    result = np.fft.ifft(a, axis=dim, norm="forward") if inverse else np.fft.fft(a, axis=dim)
    return result.astype(a.dtype, copy=False)


@op("fft_along(Tensor input, int dim, bool inverse=False) -> Tensor", quiet="none", namespace="_internal", method=False, out=False,
    dtypes="complex")
class fft_along:
    """The discrete Fourier transform of complex numbers along a dimension, or its inverse times the length. Every transform is made of it.

    >>> import autograd_tape as at
    >>> at.F.fft_along(at.TensorRef.of([1.0, 0.0, 0.0, 0j]), 0).tolist()
    [(1+0j), (1+0j), (1+0j), (1+0j)]
    """

    sharding = "along dim"
    numpy = _fft
    compose = on_host(_fft)
    def shape(input, dim, inverse): return input
    def vjp(F, grad, dim, inverse): return F.fft_along(grad, dim, not inverse)  # the conjugate transpose
    jvp = "linear"

    def batch(F, call):
        """Dimensions of an example lie after that of the batch."""
        return F.fft_along(call.input, call.dim + (call.dim >= 0), call.inverse)

    def samples(rng):
        for shape, dim in (((3,), 0), ((2, 4), -1), ((2, 3, 2), 1)):
            for inverse in (False, True):
                yield rng.standard_normal(shape) + 1j * rng.standard_normal(shape), dim, inverse
