"""Ways around NumPy's choices, searches and sorts give what these give."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

import numpy as np
import pytest

import torchcompat as torch
from autograd_tape.executors.kernels import elementwise, select
from autograd_tape.executors.kernels._on_demand import use_numba
from autograd_tape.ops.reductions import order

CHARS = "fdlihbBHIQ?"


@pytest.fixture
def without_numba() -> Iterator[None]:
    previous = use_numba("numpy")
    yield
    use_numba(previous)


def drawn(char: str, n: int) -> np.ndarray:
    """Any bits, NaN and -0 among them; of truth values, two."""
    rng, dtype = np.random.default_rng(n), np.dtype(char)
    found = rng.random(n) < 0.5 if char == "?" else rng.integers(0, 256, n * dtype.itemsize, np.uint8).view(dtype)
    return np.where(rng.random(n) < 0.1, -np.zeros((), dtype), found) if char in "fd" else found


@pytest.mark.parametrize("n", [0, 1, select.FEW - 1, select.FEW, select._BLOCK, 3 * select._BLOCK + 5])
@pytest.mark.parametrize("char", CHARS)
def test_choosing_by_bits(char: str, n: int, without_numba: None) -> None:
    a, b = drawn(char, n), drawn(char, n)[::-1].copy()
    mask = np.random.default_rng(1).integers(0, 3, n, np.uint8).view(np.bool_)  # a file's truth values are of any bits
    number = a.dtype.type(1)
    operands = [(a, b), (a, number), (number, b), (np.asarray(number), b), (a, 0.0), (1, b), (a, np.float64(2.5)), (b[::-1], a)]
    for one, other in operands:
        found, expected = select.where(mask, one, other), np.where(mask, one, other)
        assert found.dtype == expected.dtype and found.tobytes() == expected.tobytes()
        assert not np.shares_memory(found, a) and not np.shares_memory(found, b)


@pytest.mark.parametrize("values", [2, 9, 100000])
@pytest.mark.parametrize("char", "fdli")
def test_selecting_one_of_a_row(char: str, values: int) -> None:
    rows = np.random.default_rng(values).integers(-values, values, (30, 150)).astype(char)
    for k in (0, 1, 75, 149):
        assert order._nth(rows, k).tolist() == order._order(rows, 1, False)[:, k].tolist()


def test_error_function_of_rounded_numbers(without_numba: None) -> None:
    x = np.concatenate([np.linspace(-5, 5, 50001), [0.0, -0.0, 0.46875, 4, -4, 1e-40, 3e38, np.inf, -np.inf, np.nan]]).astype(np.float32)
    assert elementwise._erf(x).tobytes() == elementwise.erf_of_lanes(x).astype(np.float32).tobytes()


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "uint8", "bfloat16"])
@pytest.mark.parametrize("shape", [(20, 30), (3, 20, 9), (400, 1, 5), (1000,), (2, 5000)])
def test_extremes_and_where_they_are(shape: tuple[int, ...], dtype: str) -> None:
    x = (torch.randn(shape, generator=torch.Generator().manual_seed(0)) * 3).to(getattr(torch, dtype))
    for laid in (x, x.transpose(0, -1), x[::2], x.flip(0)):
        for dim in range(laid.dim()):
            for name in ("max", "min"):
                values, at = getattr(laid, name)(dim, True)
                assert torch.equal(laid.gather(dim, at), values) and torch.equal(values, getattr(laid, f"a{name}")(dim, True))
                first = (laid == values).to(torch.int8).argmax(dim, True)
                assert torch.equal(at, first) and values.is_contiguous()
                assert not np.shares_memory(values.numpy() if dtype != "bfloat16" else values.view(torch.int16).numpy(),
                                            laid.numpy() if dtype != "bfloat16" else laid.view(torch.int16).numpy())


def test_a_blocked_compiler_is_none() -> None:
    """`sys.modules["numba"] = None` is how programs do without a package."""
    text = ("import sys; sys.modules['numba'] = None; import torchcompat as torch; m = torch.randn(256, 400); "
            "print(m.mode(1)[0].shape, m.cummax(1)[0].shape, m.topk(5, 1)[0].shape, torch.randperm(10), m.bfloat16().sigmoid().dtype)")
    ran = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True)
    assert ran.returncode == 0 and "torch.Size([256, 5])" in ran.stdout, ran.stderr
