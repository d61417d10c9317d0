"""Functions of two numbers over arrays that are broadcast: machine code and NumPy agree, in all shapes and dtypes."""

from __future__ import annotations

import importlib
import itertools
import subprocess
import sys
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import torchcompat as torch
from autograd_tape.executors.kernels import _on_demand
from autograd_tape.executors.kernels._kernel import Kernel
from autograd_tape.executors.kernels.formulas import Formula, binary
from autograd_tape.executors.kernels.pairs import OF_UFUNC, Pairs, geometry, neighbours, ufunc2
from autograd_tape.ops.elementwise import arithmetic, special
from autograd_tape.strided import laid_out

pytestmark = pytest.mark.skipif(not _on_demand.available(), reason="Numba is not installed: there is no machine code")
SPECIAL = [0.0, -0.0, np.inf, -np.inf, np.nan, 1e-310, 1e-45, -1e-45, 3, -3, 0.5, -0.5, 6, 1, -1, 1e300, 3e38, -3e38, 7, 1e-3, 16777217]
BF16 = ml_dtypes.bfloat16
#: What each gives in NumPy, and for which dtypes.
EXPECTED = {
    "fmod": (np.fmod, "fdeE"), "remainder": (arithmetic._remainder.__wrapped__, "fdeE"), "floor_divide": (np.floor_divide, "fdeE"),  # type: ignore[attr-defined]
    "trunc_divide": (lambda x, y: np.trunc(x / y), "eE"), "floor_steps": (arithmetic._floor_steps, "eE"),
    "trunc_steps": (lambda x, y: np.trunc(x / y), "eE"), "hypot": (np.hypot, "feE"),
    "heaviside": (special.heaviside.field("numpy").__wrapped__, "fdeEl"),  # type: ignore[attr-defined]
    "power": (arithmetic._pow_integers.__wrapped__, "l"),  # type: ignore[attr-defined]
    **{f.__name__: (f, "".join(sorted(pair._chars))) for f, pair in OF_UFUNC.items()}}  # type: ignore[attr-defined]  # they are ufuncs
DTYPES = {"f": np.float32, "d": np.float64, "e": np.float16, "E": BF16, "l": np.int64, "?": np.bool_}
TESTS = {f.__name__ for f, pair in OF_UFUNC.items() if pair._result is not None}  # type: ignore[attr-defined]
SHAPES = [((2, 1, 3), (4, 1)), ((5,), (7, 1)), ((3, 4), (3, 4)), ((), (3,)), ((3,), ()), ((2, 3, 1, 4), (1, 5, 1)), ((40, 1), (1, 75)),
          ((), ()), ((1, 1), (1,)), ((3, 5000), (3, 1)), ((1, 7), (6, 1)), ((2, 3, 4), (3, 1))]


@pytest.mark.parametrize(("name", "char"), [(name, char) for name, (_, chars) in EXPECTED.items() for char in chars])
def test_gives_numpys_numbers(name: str, char: str) -> None:
    function, dtype = EXPECTED[name][0], DTYPES[char]
    rng = np.random.default_rng(0)
    previous = _on_demand.use_numba("numba")
    try:
        with np.errstate(all="ignore"):
            x = np.concatenate([np.repeat(SPECIAL, len(SPECIAL)), rng.standard_normal(900) * 10 ** rng.uniform(-3, 9, 900)]).astype(dtype)
            y = np.concatenate([np.tile(SPECIAL, len(SPECIAL)), rng.standard_normal(900) * 10 ** rng.uniform(-3, 3, 900)]).astype(dtype)
            found = Pairs(name, char, test=name in TESTS)(x, y)
            single = char in "eE" and not name.endswith("_steps")
            expected = function(x.astype(np.float32), y.astype(np.float32)).astype(dtype) if single else function(x, y)
            assert found is not None
            if found.dtype == bool:
                expected = expected.astype(bool)
            a, b = found.astype(np.float64), expected.astype(np.float64)
            signs = (np.signbit(a) == np.signbit(b)) | (name in ("maximum", "minimum", "fmax", "fmin"))  # of equal zeros NumPy takes either
            same = (a == b) & signs | np.isnan(a) & np.isnan(b)
            assert same.all(), (x[~same], y[~same], found[~same], expected[~same])
    finally:
        _on_demand.use_numba(previous)


#: Prints what kernels of two numbers all records and `ufunc2` look for, with their dtypes.
TAKEN = """
import gc
from autograd_tape.executors.kernels.pairs import Pairs
from autograd_tape.ops import RECORDS
list(RECORDS.values())
for found in gc.get_objects():
    if type(found) is Pairs:
        print(found._kernel._name, "".join(found._chars))
"""


def test_all_that_is_taken_is_compiled_beforehand() -> None:
    """`python -m autograd_tape compile` makes machine code for the dtypes that kernels are written for: few numbers wait for no other.
    A process of its own is asked: here objects of tests are found, and none that were frozen."""
    importlib.import_module("autograd_tape.executors.kernels.compiled.pairs")
    done = subprocess.run([sys.executable, "-c", TAKEN], capture_output=True, text=True, timeout=120, check=True)
    taken = [line.split() for line in done.stdout.splitlines()]
    assert len(taken) > 20
    for name, chars in taken:
        kernel = Kernel.registry[f"pairs.{name}"]
        assert {"B" if char == "?" else char for char in chars} <= set(kernel.dtypes), kernel.name


@pytest.mark.parametrize("shapes", SHAPES)
def test_broadcasts(shapes: tuple[tuple[int, ...], tuple[int, ...]]) -> None:
    x, y = [np.random.default_rng(0).standard_normal(s).astype(np.float32) for s in shapes]
    previous = _on_demand.use_numba("numba")
    try:
        found = Pairs("fmod")(x, y)
        assert found is not None
        np.testing.assert_array_equal(found, np.fmod(x, y))
        turned = np.asfortranarray(x)[::-1] if x.ndim else x
        np.testing.assert_array_equal(Pairs("fmod")(turned, y), np.fmod(turned, y))  # type: ignore[arg-type]  # not None
    finally:
        _on_demand.use_numba(previous)


def _turned(a: np.ndarray) -> np.ndarray:
    return a.swapaxes(-1, -2).copy().swapaxes(-1, -2) if a.ndim > 1 else a


ORDERS = [lambda a: a, _turned, lambda a: a.transpose().copy().transpose(), lambda a: np.concatenate([a, a], -1)[..., ::2],
          lambda a: np.broadcast_to(a[..., :1], a.shape), lambda a: _turned(a)[..., ::-1]]


@pytest.mark.parametrize("shapes", [((4, 5), (4, 5)), ((3, 4, 5), (3, 4, 5)), ((4, 5), (5,)), ((4, 1), (4, 5)), ((2, 3, 4), (3, 1))])
def test_operands_in_any_order_make_what_torch_lays_out(shapes: tuple[tuple[int, ...], tuple[int, ...]]) -> None:
    """In machine code and as a formula of numbers."""
    x, y = [np.random.default_rng(i).standard_normal(s).astype(np.float32) for i, s in enumerate(shapes)]
    previous, made = _on_demand.use_numba("numba"), len(Formula.made)
    try:
        formula = binary(lambda x, z: x * z, own=True)
        for first, second in itertools.product(ORDERS, ORDERS):
            a, b = first(x), second(y)
            expected = laid_out(a * b, a, b)
            for found in (Pairs("multiply")(a, b), formula(a, b)):
                assert found is not None and found.strides == expected.strides
                np.testing.assert_array_equal(found, expected)
    finally:
        del Formula.made[made:]
        _on_demand.use_numba(previous)


@pytest.mark.parametrize("function", OF_UFUNC, ids=lambda f: f.__name__)
@pytest.mark.parametrize("shapes", [((70, 1, 5), (14, 1)), ((1, 50), (50, 1)), ((200, 1), (3,)), ((7, 1, 64), (3, 1)), ((300, 9), (9,)),
                                    ((2000,), (2000,))])
def test_lines_of_all_lengths(function: np.ufunc, shapes: tuple[tuple[int, ...], tuple[int, ...]]) -> None:
    """Sliced anywhere, too: the pool begins and ends in the midst of lines."""
    rng, previous = np.random.default_rng(0), _on_demand.use_numba("numba")
    try:
        for char in OF_UFUNC[function]._chars - {"e", "E"}:
            x, y = [rng.integers(1, 2 if char == "?" else 99, s).astype(DTYPES[char]) for s in shapes]
            expected = function(x, y)
            np.testing.assert_array_equal(ufunc2(function, x, y), expected)
            found = geometry(x.shape, y.shape)
            assert found is not None
            out = np.zeros(found[1], expected.dtype)
            kernel = OF_UFUNC[function]._kernel._few._kernel
            bits = np.uint8 if char == "?" else DTYPES[char]
            a, b, c = x.ravel().view(bits), y.ravel().view(bits), out if function.__name__ in TESTS else out.view(bits)
            for start, stop in zip([0, 1, 7, 40, found[1] - 2], [1, 7, 40, found[1] - 2, found[1]], strict=True):
                kernel["B" if char == "?" else char](a, b, c, *found[2], start, stop)
            np.testing.assert_array_equal(out.reshape(expected.shape), expected)
    finally:
        _on_demand.use_numba(previous)


@pytest.mark.parametrize("shapes", [((0, 3), (3,)), ((2,), (3,)), ((4, 1, 5, 1), (1, 6, 1, 7))])
def test_leaves_to_numpy(shapes: tuple[tuple[int, ...], tuple[int, ...]]) -> None:
    assert geometry(*shapes) is None


@pytest.mark.parametrize("axes", [(0, 1, 2), (2, 1, 0), (1, 2, 0), (0, 2, 1)])
def test_results_lie_as_operands_that_lie_alike(axes: tuple[int, ...]) -> None:
    x, y = [np.random.default_rng(i).standard_normal((3, 4, 5)).astype(np.float32).transpose(axes) for i in range(2)]
    previous = _on_demand.use_numba("numba")
    try:
        found = Pairs("multiply")(x, y)
        assert found is not None and found.strides == x.strides
        np.testing.assert_array_equal(found, x * y)
    finally:
        _on_demand.use_numba(previous)


@pytest.mark.parametrize("char", ["f", "d", "E", "l"])
@pytest.mark.parametrize("shape", [(40, 60), (3, 400, 2), (1500,), (1, 1500), (1500, 1), (2, 700), (0, 3), (30, 50, 2)])
def test_neighbours(shape: tuple[int, ...], char: str) -> None:
    rng = np.random.default_rng(0)
    x = (rng.standard_normal(shape) * 9).astype(DTYPES[char])
    previous = _on_demand.use_numba("numba")
    try:
        for dim in range(x.ndim):
            for a in (x, np.asfortranarray(x), np.repeat(x, 2, -1)[..., ::2]):
                for function in (np.subtract, np.not_equal):
                    ends = np.moveaxis(a, dim, 0)
                    expected = np.moveaxis(function(ends[1:], ends[:-1]), 0, dim)
                    found = neighbours(function, a, dim)
                    assert found.dtype == expected.dtype and found.shape == expected.shape and (found == expected).all()
    finally:
        _on_demand.use_numba(previous)


@pytest.mark.parametrize("char", ["f", "E"])
@pytest.mark.parametrize("shapes", [
    ((2, 1, 3), (400, 1)), ((400, 3, 1), (2,)), ((400, 1, 1), (3, 2)), ((700, 1), (7,)), ((7, 2, 1), (1, 3)), ((9000, 1), (3,)),
])
def test_lines_of_a_few_elements(shapes: tuple[tuple[int, ...], tuple[int, ...]], char: str) -> None:
    rng = np.random.default_rng(0)
    x, z = [rng.standard_normal(shape).astype(DTYPES[char]) for shape in shapes]
    previous = _on_demand.use_numba("numba")
    try:
        for a, b in ((x, z), (z, x)):
            for function in (np.add, np.less_equal):
                found, expected = OF_UFUNC[function](a, b), function(a, b)
                assert found is not None and found.dtype == expected.dtype and (found == expected).all()
    finally:
        _on_demand.use_numba(previous)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_areas_of_integers_are_halved_in_the_default_dtype(dtype: Any) -> None:
    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        y, x = torch.tensor([[1, 5, 10, -3], [7, 7, 0, 2]]), torch.tensor([0, 1, 3, 8])
        for points, d in ((y, 1), (y.T, 0)):
            areas = (points.narrow(d, 1, 3) + points.narrow(d, 0, 3)) * x.diff().reshape((-1, 1) if d == 0 else (-1,)) / 2
            assert areas.dtype is dtype
            for found, expected in ((torch.trapezoid(points, x, dim=d), areas.sum(d)),
                                    (torch.cumulative_trapezoid(points, x, dim=d), areas.cumsum(d))):
                assert found.dtype is dtype and found.tolist() == expected.tolist()
        assert torch.trapezoid(y, dx=0.5).tolist() == torch.trapezoid(y.to(dtype), dx=0.5).tolist()
    finally:
        torch.set_default_dtype(before)
