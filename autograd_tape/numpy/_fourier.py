"""`numpy.fft` of tensors, by the records of `ops.matrices.fourier`: what is real is made complex, lengths are cut or filled with zeros."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ..frontend import F
from ..tensor import TensorRef
from ._tables import axes_of, axis_of, cast, floating, implements, tensor

_NORMS = {None: (0.0, 1.0), "backward": (0.0, 1.0), "ortho": (0.5, 0.5), "forward": (1.0, 0.0)}
"""The powers of the length by which transforms and their inverses are divided."""


def _complex(a: TensorRef) -> TensorRef:
    x = floating(a)
    return cast(x, np.fft.fft(np.zeros(1, x._k.np)).dtype)  # NumPy 1 computes in double precision


def _fitted(x: TensorRef, n: int, axis: int) -> TensorRef:
    """The first n elements along an axis, zeros after the last."""
    if n < 1:
        raise ValueError(f"Invalid number of FFT data points ({n}) specified.")
    length = x.shape[axis]
    if n <= length:
        return x if n == length else F.narrow(x, axis, 0, n)
    return F.cat([x, TensorRef.over(np.zeros((*x.shape[:axis], n - length, *x.shape[axis + 1:]), x._k.np))], axis)


def _transformed(x: TensorRef, n: int | None, axis: int, norm: str | None, inverse: bool) -> TensorRef:
    if norm not in _NORMS:
        raise ValueError(f'Invalid norm value {norm}; should be "backward", "ortho" or "forward".')
    axis = axis_of(axis, x.ndim)
    x = _fitted(_complex(x), x.shape[axis] if n is None else int(n), axis)
    power = _NORMS[norm][inverse]
    result = F._fft_c2c(x, (axis,), 0, not inverse)
    return result if not power else result * float(x.shape[axis] ** -power)


@implements("fft.fft")
def fft(a, n=None, axis=-1, norm=None, out=None):
    return _transformed(tensor(a), n, axis, norm, False)


@implements("fft.ifft")
def ifft(a, n=None, axis=-1, norm=None, out=None):
    return _transformed(tensor(a), n, axis, norm, True)


@implements("fft.rfft")
def rfft(a, n=None, axis=-1, norm=None, out=None):
    x = tensor(a)
    if x._k.np.kind == "c":
        raise TypeError("numpy.fft.rfft takes real numbers; use numpy.fft.fft")
    result = fft(x, n, axis, norm)
    axis = axis_of(axis, x.ndim)
    return F.narrow(result, axis, 0, result.shape[axis] // 2 + 1)


@implements("fft.irfft")
def irfft(a, n=None, axis=-1, norm=None, out=None):
    x = _complex(a)
    axis = axis_of(axis, x.ndim)
    n = 2 * (x.shape[axis] - 1) if n is None else int(n)
    if n < 1:
        raise ValueError(f"Invalid number of FFT data points ({n}) specified.")
    half = _fitted(x, n // 2 + 1, axis)
    rest = F.flip(F.narrow(half, axis, 1, (n - 1) // 2), (axis,))
    return F.real(ifft(F.cat([half, F.conj_physical(rest)], axis), n, axis, norm))


_SWAPPED = {None: "forward", "backward": "forward", "ortho": "ortho", "forward": "backward"}


@implements("fft.hfft")
def hfft(a, n=None, axis=-1, norm=None, out=None):
    return irfft(F.conj_physical(_complex(a)), n, axis, _SWAPPED[norm])


@implements("fft.ihfft")
def ihfft(a, n=None, axis=-1, norm=None, out=None):
    return F.conj_physical(rfft(a, n, axis, _SWAPPED[norm]))


def _sizes(x: TensorRef, s: Sequence[int] | None, axes: Sequence[int] | None) -> list[tuple[int | None, int]]:
    """(length, axis) of each of several transforms, in the order of the axes."""
    if axes is None:
        axes = tuple(range(-len(s), 0)) if s is not None else tuple(range(x.ndim))
    lengths = [None] * len(axes) if s is None else list(s)
    if len(lengths) != len(axes):
        raise ValueError("Shape and axes have different lengths.")
    return [(None if n == -1 else n, axis_of(a, x.ndim)) for n, a in zip(lengths, axes)]


def _several(one: Callable[..., TensorRef], last: Callable[..., TensorRef], last_first: bool, flat: Sequence[int] | None) -> Callable[...,
             TensorRef]:
    """Transforms along several axes: `last` along the last of them, before the others or after."""
    def several(a, s=None, axes=flat, norm=None, out=None):
        x = tensor(a)
        *others, final = _sizes(x, s, axes) or [(1, -1)]
        steps = [(one, o) for o in reversed(others)]
        for step, (n, axis) in [(last, final), *steps] if last_first else [*steps[::-1], (last, final)]:
            x = step(x, n, axis, norm)
        return x

    return several


for _flat, _suffix in ((None, "n"), ((-2, -1), "2")):
    implements(f"fft.fft{_suffix}")(_several(fft, fft, True, _flat))
    implements(f"fft.ifft{_suffix}")(_several(ifft, ifft, True, _flat))
    implements(f"fft.rfft{_suffix}")(_several(fft, rfft, True, _flat))
    implements(f"fft.irfft{_suffix}")(_several(ifft, irfft, False, _flat))


def _shift(sign: int) -> Callable[..., TensorRef]:
    def shift(x, axes=None):
        x = tensor(x)
        for axis in axes_of(axes, x.ndim):
            x = F.roll(x, x.shape[axis] // 2 if sign > 0 else -(x.shape[axis] // 2), axis)
        return x

    return shift


fftshift, ifftshift = implements("fft.fftshift")(_shift(1)), implements("fft.ifftshift")(_shift(-1))
