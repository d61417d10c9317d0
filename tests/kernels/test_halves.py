"""Half precision in compiled code and in blocks, against NumPy's conversions; and activations' formulas, run as Python, against NumPy's."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import torchcompat
from autograd_tape.executors.kernels import _on_demand, elementwise, halves
from autograd_tape.executors.kernels._kernel import KeptKernel

pytestmark = pytest.mark.skipif(not _on_demand.available(), reason="Numba is not installed: there are no compiled kernels")
HALVES = [np.dtype(np.float16), np.dtype(ml_dtypes.bfloat16)]
ALL = np.arange(1 << 16, dtype=np.uint16)
F: Any = torchcompat.nn.functional


def bits_of(a: np.ndarray, single: np.ndarray) -> np.ndarray:
    """The bits, all NaNs alike."""
    return np.where(np.isnan(single), 1, a.view(f"u{a.itemsize}"))


def between(half: np.dtype) -> np.ndarray:
    """All numbers of half precision in float32, those half-way between neighbours, and their neighbours."""
    numbers = ALL.view(half).astype(np.float32)
    middles = ((numbers[1:].astype(np.float64) + numbers[:-1]) / 2).astype(np.float32)
    return np.concatenate([numbers, middles, np.nextafter(middles, np.float32(0)), np.nextafter(middles, np.float32(np.inf))])


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("half", HALVES, ids=str)
def test_compiled_conversions_are_numpys(half: np.dtype) -> None:
    numbers = ALL.view(half)
    single = numbers.astype(np.float32)
    np.testing.assert_array_equal(bits_of(halves.widened(numbers), single), bits_of(single, single))
    wide = between(half)
    np.testing.assert_array_equal(bits_of(np.asarray(halves.narrow(wide, half)), wide), bits_of(wide.astype(half), wide))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_conversions_by_bits() -> None:
    """What takes the place of instructions that a processor may lack."""
    from autograd_tape.executors.kernels.compiled import base

    sample = ALL[::61]
    single = sample.view(np.float16).astype(np.float32)
    found = np.array([base._from_float16(x) for x in sample], np.float32)
    np.testing.assert_array_equal(bits_of(found, single), bits_of(single, single))
    wide = between(np.dtype(np.float16))[::997]
    found = np.array([np.int64(base._to_float16(x)) & 0xFFFF for x in wide]).astype(np.uint16).view(np.float16)
    np.testing.assert_array_equal(bits_of(found, wide), bits_of(wide.astype(np.float16), wide))


@pytest.mark.parametrize("half", HALVES, ids=str)
@pytest.mark.parametrize("size", [10, 600, 5000, 40000])
def test_functions_in_blocks_are_rounded_once(half: np.dtype, size: int, rng: np.random.Generator) -> None:
    x, y = rng.standard_normal((2, size)).astype(half)
    for function in (np.add, np.divide, np.less):
        wide = function(x.astype(np.float32), y.astype(np.float32))
        found = halves.ufunc(function, x, y)
        assert found.dtype == (bool if function is np.less else half) and np.array_equal(found, wide.astype(found.dtype))
    rows = halves.ufunc(np.add, x.reshape(-1, 10), y[:10])
    assert np.array_equal(rows, halves.ufunc(np.add, x, np.tile(y[:10], size // 10)).reshape(-1, 10))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("half", HALVES, ids=str)
@pytest.mark.parametrize("function", [*halves._SIMPLE, *halves.TESTS], ids=lambda f: f.__name__)
def test_quick_functions_of_all_numbers(function: Any, half: np.dtype) -> None:
    """By machine code, and by bits, in rows and columns: what NumPy computes in single, rounded once."""
    numbers = ALL.view(half).reshape(256, 256)
    previous = _on_demand.use_numba("numba")
    try:
        expected = function(numbers.astype(np.float32))
        for x in (numbers, numbers.T):
            found = halves.ufunc(function, x)
            wanted = expected if x is numbers else expected.T
            assert found.strides == x.strides or found.dtype == bool
            if found.dtype == bool:
                np.testing.assert_array_equal(found, wanted)
            else:
                np.testing.assert_array_equal(bits_of(found, wanted), bits_of(wanted.astype(half), wanted))
    finally:
        _on_demand.use_numba(previous)


@pytest.fixture
def as_python(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Kernels for arrays of every size, their loops run as Python; the names of those that ran."""
    ran: list[str] = []

    def run(kernel: Any, char: str, n: int, *arguments: Any) -> None:
        ran.append(kernel.name)
        loop = getattr(importlib.import_module(f"autograd_tape.executors.kernels.compiled.{kernel.module}"), kernel.name) \
            if isinstance(kernel, KeptKernel) else kernel
        loop.function(*arguments, 0, n)

    monkeypatch.setattr(elementwise, "share_elements", run)
    monkeypatch.setattr(elementwise, "_ALONE", -1)  # no machine code that is at hand
    yield ran
    _on_demand.use_numba("auto")


#: Activations that a formula computes in one pass, and its gradient.
ACTIVATIONS = [
    ("relu6",), ("hardtanh", -0.5, 2.0), ("leaky_relu", 0.1), ("threshold", 0.1, 20.0), ("elu", 1.5), ("selu",), ("celu", 1.5), ("mish",),
    ("logsigmoid",), ("hardsigmoid",), ("hardswish",), ("hardshrink", 0.4), ("softshrink", 0.4), ("softplus", 2.0, 3.0),
    ("silu",), ("gelu",),
]  # fmt: skip


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("call", ACTIVATIONS, ids=lambda call: call[0])
def test_formulas_are_those_of_the_records(call: tuple[Any, ...], as_python: list[str], rng: np.random.Generator) -> None:
    numbers = np.concatenate([rng.standard_normal(40) * 3, [0, 3, -3, 6, 0.5, 30, -30, 100, -100, np.inf, np.nan]]).astype(np.float32)
    grad = torchcompat.tensor(rng.standard_normal(numbers.size).astype(np.float32))
    found = []
    for mode in ("numpy", "numba"):
        _on_demand.use_numba(mode)
        x = torchcompat.tensor(numbers).requires_grad_()
        y = getattr(F, call[0])(x, *call[1:])
        y.backward(grad)
        found.append((y.detach().numpy(), x.grad.numpy()))
    assert len(as_python) == 2, as_python
    for plain, compiled in zip(*found):
        np.testing.assert_allclose(compiled, plain, 4e-6, 2e-6)


@pytest.mark.parametrize("half", HALVES)
@pytest.mark.parametrize("name", ["neg", "abs", "square", "sigmoid", "floor", "relu"])
def test_results_of_expanded_halves_lie_in_rows(name: str, half: Any) -> None:
    function, column = getattr(torchcompat, name), torchcompat.randn(20, 1).to(getattr(torchcompat, half.name))
    found = function(column.expand(20, 20))
    assert found.stride() == (20, 1) and torchcompat.equal(found, function(column).expand(20, 20))


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64, np.complex64])
def test_what_is_not_half_precision_is_left_to_numpy(dtype):
    x, y = (np.random.default_rng(0).standard_normal((2, 200, 300)) * 1000).astype(dtype)
    for function in (np.add, np.subtract, np.multiply):
        found, expected = halves.ufunc(function, x, y), function(x, y)
        assert found.dtype == expected.dtype
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("batch", [1, 2])
@pytest.mark.parametrize("half", HALVES)
def test_channels_innermost_are_converted_as_they_lie(half, batch, rng):
    images = rng.standard_normal((batch, 9, 11, 13)).astype(np.float32).transpose(0, 3, 1, 2)
    parts = images, images[:, :5], images[:, ::-1], images[:, :, :1]
    for a, dtype in [pair for x in parts for pair in ((x, half), (x.astype(half), np.dtype(np.float32)))]:
        found, expected = halves._cast(a, dtype), a.astype(dtype)
        assert found.strides == expected.strides
        assert found.dtype == dtype and found.tobytes() == expected.tobytes()
