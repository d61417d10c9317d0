"""Functions of many numbers in double precision that take the place of NumPy's."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

import torchcompat as torch
from autograd_tape.executors.kernels import _on_demand
from autograd_tape.record import RECORDS, Record

if not _on_demand.available():
    pytest.skip("Numba is not installed: they are NumPy's", allow_module_level=True)

RECORDED = [rec for rec in RECORDS.values() if rec.field("many") is not None]
_rng = np.random.default_rng(0)
NUMBERS = np.concatenate([
    [0.0, -0.0, np.inf, -np.inf, np.nan, 5e-324, -1e-310, 1e300, -3e7, 1.5e6, 0.5], _rng.uniform(-7, 7, 4000),
    _rng.uniform(-1.6e6, 1.6e6, 4000), 10.0 ** _rng.uniform(-300, 0, 500),
    np.arange(1, 999) * (np.pi / 2), np.nextafter(np.arange(1, 999) * (np.pi / 2), 0)])


@pytest.fixture
def compiled() -> Iterator[None]:
    previous = _on_demand.use_numba("numba")
    yield
    _on_demand.use_numba(previous)


@pytest.mark.parametrize("rec", RECORDED, ids=lambda rec: rec.name)
def test_they_are_right_to_a_unit_or_two_in_the_last_place(rec: Record, compiled: None) -> None:
    with np.errstate(all="ignore"):
        found, exact = rec.field("many")(NUMBERS), rec.field("numpy")(NUMBERS.astype(np.longdouble))
        usual = np.isfinite(exact.astype(np.float64))
    np.testing.assert_array_equal(found[~usual], exact[~usual].astype(np.float64))
    error = np.abs(found[usual] - exact[usual]) / np.spacing(np.abs(found[usual]))
    known = np.finfo(np.longdouble).nmant > 60  # else the truth is NumPy's
    own = (0.8 if known else 1.0) if rec.name in ("sin", "cos", "log") else 2.0
    assert error.max() < (4.0 if getattr(rec.field("many"), "numpys", False) else own)  # which NumPy promises of its vectors
    np.testing.assert_array_equal(np.signbit(found[:2]), np.signbit(exact[:2]))


@pytest.mark.parametrize("rec", RECORDED, ids=lambda rec: rec.name)
def test_all_ways_to_an_operation_find_the_same(rec: Record, compiled: None) -> None:
    function = getattr(torch, rec.name)
    x = torch.from_numpy(_rng.uniform(-9, 9, (30, 40)))
    expected = rec.field("many")(x.numpy())
    out = torch.empty_like(x)
    function(x, out=out)
    recorded, parts = x.clone().requires_grad_(), x.repeat_interleave(2, 1)[:, ::2]
    assert not parts.is_contiguous()
    ways = {"quiet": function(x), "out": out, "columns": function(x.t()).t(), "in place": getattr(x.clone(), rec.name + "_")(),
            "recorded": function(recorded).detach(), "gaps": function(parts)}
    for way, found in ways.items():
        np.testing.assert_array_equal(found.numpy(), expected, way)
    for dtype in (torch.float32, torch.bfloat16, torch.float16, torch.complex128):
        y = x.to(dtype)
        exact = function(y if dtype.is_complex else y.double()).to(dtype)
        torch.testing.assert_close(function(y), exact, rtol=1e-2, atol=1e-2, equal_nan=True)


def test_lengths_of_float64_neither_overflow_nor_vanish(compiled: None) -> None:
    some = np.concatenate([
        NUMBERS[:11], [1e-150, 1e150, 1.7e308, np.finfo(float).max], _rng.normal(size=40), 10.0 ** _rng.uniform(-300, 300, 40)])
    x, y = np.meshgrid(some, some)
    with np.errstate(over="ignore"):
        expected = np.hypot(x, y)
    found = torch.hypot(torch.from_numpy(x), torch.from_numpy(y)).numpy()
    usual = np.isfinite(expected)
    np.testing.assert_array_equal(found[~usual], expected[~usual])
    with np.errstate(over="ignore"):
        np.testing.assert_array_less(np.abs(found[usual] - expected[usual]), 1.01 * np.spacing(expected[usual]))


def test_exponentials_of_float32_are_close(compiled: None) -> None:
    x = _rng.uniform(-87, 88, 20000).astype(np.float32)
    exact = np.exp(x.astype(np.float64))
    units = 2.5 if _on_demand.HAS_VECTORS else 1.0  # NumPy's own, or those of the kernel
    np.testing.assert_array_less(np.abs(RECORDS["exp"].field("many")(x) - exact), units * np.spacing(exact.astype(np.float32)))


def test_powers_of_float32_are_rounded_almost_always_as_they_should_be(compiled: None) -> None:
    numbers = np.concatenate([NUMBERS[:5], [1.0, -1.0, 2.0, -3.0, 1e-42, 3e38], _rng.uniform(0, 3, 200)]).astype(np.float32)
    x, y = np.meshgrid(numbers, numbers)
    with np.errstate(all="ignore"):
        exact = np.power(x.astype(np.float64), y)
        found = torch.pow(torch.from_numpy(x), torch.from_numpy(y)).numpy()
        rounded = exact.astype(np.float32)
        zero = torch.atan2(torch.zeros(600), torch.tensor([0.0, -0.0] * 300)).numpy()
    np.testing.assert_allclose(found, rounded, rtol=1.2e-7)
    np.testing.assert_array_equal(np.signbit(found[:11, :11]), np.signbit(rounded[:11, :11]))
    assert _on_demand.HAS_VECTORS or (found != rounded)[~np.isnan(rounded)].mean() < 0.001  # NumPy's vectors are within a unit
    np.testing.assert_array_equal(zero[:2], np.float32([0.0, np.pi]))
