"""Transforms of many lines at once are those of pocketfft, whatever their length and wherever lines lie."""

from __future__ import annotations

import numpy as np
import pytest

from autograd_tape.executors.kernels import _on_demand, fourier, sharing

pytestmark = pytest.mark.skipif(not _on_demand.available(), reason="Numba is not installed: pocketfft has all lines")
LENGTHS = [*range(2, 37), 49, 64, 77, 97, 128, 157, 256, 360, 512, 1000]


@pytest.fixture(autouse=True)
def compiled():
    previous = _on_demand.use_numba("numba")
    yield
    _on_demand.use_numba(previous)


def _near(found: np.ndarray | None, expected: np.ndarray, dtype: np.dtype) -> None:
    assert found is not None and found.dtype == dtype and found.shape == expected.shape
    error, one = np.abs(found - expected), np.sqrt((np.abs(expected) ** 2).mean())
    assert np.sqrt((error ** 2).mean()) < (6e-8 if dtype.char in "fF" else 8e-16) * one  # a float32 is rounded once


@pytest.mark.parametrize("char", "FD")
@pytest.mark.parametrize("n", LENGTHS)
def test_are_pocketfft_s(n: int, char: str, rng: np.random.Generator) -> None:
    for shape, axis in (((11, n), 1), ((n, 12), 0), ((2, n, 13), 1), ((3, n, 2), 1)):
        z = (rng.standard_normal(shape) + 1j * rng.standard_normal(shape)).astype(char)
        x, h = np.ascontiguousarray(z.real), n // 2 + 1
        half = z.take(range(h), axis)  # the imaginary parts of numbers that are their own conjugates do not count
        for turned in (False, True):
            def lie(a: np.ndarray, turned: bool = turned) -> np.ndarray: return np.moveaxis(a, axis, -1) if turned else a
            def exact(a: np.ndarray) -> np.ndarray: return lie(a.astype("D" if a.dtype.kind == "c" else "d"))  # as NumPy 1 does itself
            at = len(shape) - 1 if turned else axis
            _near(fourier.transformed(lie(z), at, n, n, z.dtype, False, 0.5), np.fft.fft(exact(z), axis=at) * 0.5, z.dtype)
            _near(fourier.transformed(lie(z), at, n, n, z.dtype, True, 1.0), np.fft.ifft(exact(z), axis=at) * n, z.dtype)
            expected = np.fft.fft(exact(x), axis=at)
            _near(fourier.transformed(lie(x), at, n, n, z.dtype, False, 1.0), expected, z.dtype)
            _near(fourier.transformed(lie(x), at, n, h, z.dtype, False, 1.0), expected.take(range(h), at), z.dtype)
            _near(fourier.transformed(lie(half), at, n, n, x.dtype, True, 1.0), np.fft.irfft(exact(half), n, at) * n, x.dtype)
            _near(fourier.transformed(lie(half), at, n, n, x.dtype, False, 1.0), np.fft.hfft(exact(half), n, at), x.dtype)
            _near(fourier.transformed(lie(x), at, n, h, z.dtype, True, 1.0), np.fft.ihfft(exact(x), axis=at) * n, z.dtype)
        own = z.copy()
        assert fourier.transformed(own, axis, n, n, z.dtype, False, 1.0, own=True) is own
        np.testing.assert_array_equal(own, fourier.transformed(z, axis, n, n, z.dtype, False, 1.0))


@pytest.mark.parametrize("n", [2, 3, 4, 5, 8, 12, 30])
def test_lines_lie_anywhere(n: int, rng: np.random.Generator) -> None:
    """With gaps, in any order, over one another, or shorter than what is transformed; times a window."""
    x, window = rng.standard_normal((9, 10, 40)), rng.standard_normal(n)
    pieces = np.lib.stride_tricks.sliding_window_view(x[:, 0], n, 1)
    for lines in (x[:, ::3, :n], x[::-2, :, 1:n + 1], x.transpose(1, 0, 2)[..., :n], x[..., :n * 2:2][..., :n], pieces, pieces[:, ::3],
                  x[:, 0, ::2][:, :n], np.broadcast_to(x[:1, 0, :n], (30, n)), x[..., :n - 1]):
        there, d = lines.shape[-1], np.dtype("D")
        _near(fourier.transformed(lines, lines.ndim - 1, n, n, d, False, 1.0, window=window),
              np.fft.fft(lines * window[:there], n), d)
        z = lines + 1j * lines[::-1]
        z = np.lib.stride_tricks.as_strided(z, z.shape, z.strides)
        _near(fourier.transformed(z, lines.ndim - 1, n, n, d, True, 1.0, window=window), np.fft.ifft(z * window[:there], n) * n, d)


def test_lines_are_apart(rng: np.random.Generator) -> None:
    """What is in one line, and how many threads there are, makes no difference to the others."""
    for shape, axis in (((300, 60), 1), ((60, 300), 0), ((7, 60, 43), 1)):
        x, before = rng.standard_normal(shape).astype(np.float32), sharing.get_num_threads()
        expected = fourier.transformed(x, axis, 60, 31, np.dtype("F"), False, 1.0)
        wrong = x.copy()
        np.moveaxis(wrong, axis, 0)[:, ..., 5] = np.nan
        try:
            sharing.set_num_threads(3)
            found = fourier.transformed(wrong, axis, 60, 31, np.dtype("F"), False, 1.0)
        finally:
            sharing.set_num_threads(before)
        assert np.isnan(np.moveaxis(found, axis, 0)[:, ..., 5]).all()
        np.moveaxis(found, axis, 0)[:, ..., 5] = np.moveaxis(expected, axis, 0)[:, ..., 5]
        np.testing.assert_array_equal(found, expected)


def test_what_is_pocketfft_s() -> None:
    """Long lines, few lines, and lengths with large prime factors."""
    for shape in ((3, 64), (8, 4100), (8, 401), (8, 2 * 401), (8, 1)):
        assert fourier.transformed(np.ones(shape, np.float32), 1, shape[1], shape[1], np.dtype("F"), False, 1.0) is None


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n", [0, 1, 2, 5, 4000, 4001])
def test_frequencies_are_rounded_once(n: int, dtype: type, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fourier.state, "mode", "numba")  # machine code is made at once
    for step, rising in ((0.3, (n + 1) // 2), (-1e-3, n)):
        count = np.arange(n, dtype=dtype)
        count[rising:] -= dtype(n)
        found = fourier.frequencies(n, rising, step, np.dtype(dtype))
        assert found is not None and found.tobytes() == (count * dtype(step)).tobytes()
