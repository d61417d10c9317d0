"""Functions of one number, run as Python, side by side and compiled."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import pytest

import torchcompat as torch
from autograd_tape.annotations import Fn
from autograd_tape.executors.kernels import _on_demand, formulas
from autograd_tape.executors.kernels.formulas import Formula, Split, binary, exp, like, log, settled, unary
from autograd_tape.ops.elementwise import _double, _elementary, _single, bessel, elementary, gamma, polynomials, special
from autograd_tape.ops.networks import activation

assert torch and bessel.i0 and activation.relu and gamma and polynomials and special  # whose formulas have been made then
X = np.concatenate([
    [0.0, -0.0, np.inf, -np.inf, np.nan, 1e-310, -1e-310, 1e300, -1e300, 1, -1, 0.5, 2, 26, -30, 200, 710, -710],
    np.linspace(-9.9, 30.3, 150), np.linspace(0, 1, 32), np.geomspace(1e-9, 1e9, 40)])
NUMBERS = (0.3, 1.5, -2.0)
SECOND = np.array([0.0, 1, 2, 2.5, 7, 9, 40, -1, np.nan])


def operands(formula: Formula, dtype: type) -> list[np.ndarray]:
    """Numbers of all sizes, each with each of a second operand's; of three, which are parameters of distributions, what those may be."""
    if formula.operands == 3:
        x, a, b = np.meshgrid(np.linspace(0.001, 0.999, 60), [0.3, 1, 2.5, 9, 40], [0.3, 2, 9, 80], indexing="ij")
        return [c.astype(dtype).ravel() for c in (x, a, a + b)]
    with np.errstate(over="ignore"):
        columns = np.meshgrid(X.astype(dtype), *[SECOND.astype(dtype)] * (formula.operands - 1), indexing="ij")
    return [c.ravel() for c in columns][:: -1 if "_zeta" in formula.function.__name__ else 1]


def by_number(formula: Formula, columns: list[np.ndarray]) -> np.ndarray:
    out = np.empty_like(columns[0])
    with np.errstate(all="ignore"):
        formula.one_by_one(tuple(columns), out, NUMBERS[: formula.numbers])
    return out


@pytest.fixture
def mode() -> Iterator[None]:
    previous = _on_demand.use_numba("numpy")
    yield
    _on_demand.use_numba(previous)


def name(formula: Formula) -> str:
    return f"{formula.function.__module__.rpartition('.')[2]}.{formula.function.__qualname__}"


@pytest.mark.parametrize("formula", Formula.made, ids=name)
def test_lanes_go_where_numbers_go(formula: Formula, mode: None) -> None:
    dtype, least = (np.float64, 1e-10) if "d" in formula.chars else (np.float32, 1e-6)
    columns = operands(formula, dtype)
    out = np.empty(columns[0].size, dtype)
    formula.over(out.dtype.char, tuple(columns), out, NUMBERS[: formula.numbers])
    np.testing.assert_allclose(out, by_number(formula, columns), rtol=least, atol=1e-12)


@pytest.mark.skipif(not _on_demand.available(), reason="Numba is not installed")
@pytest.mark.parametrize(("function", "dtype"), [
    ("_lgamma_of", np.float64), ("_ndtri_near", np.float32), ("_incomplete.<locals>.function", np.float64),
    ("_kernel.<locals>.low", np.float32), ("_kernel.<locals>.low", np.float64),
    ("_lgamma_right", np.float32), ("_erfinv_near", np.float64), ("_sinc.<locals>.function", np.float32),
    ("logit_in_steps", np.float32), ("_xlog1py.<locals>.xlog1py", np.float64),
    ("hurwitz", np.float32), ("_entr.<locals>.entr", np.float32), ("_entr.<locals>.entr", np.float64),
    ("_xlogy.<locals>.xlogy", np.float32), ("_xlogy.<locals>.xlogy", np.float64)])
def test_machine_code_gives_the_bits_of_python(function: str, dtype: type, mode: None) -> None:
    formula = next(f for f in Formula.made if function in (f.function.__qualname__, name(f)) and np.dtype(dtype).char in f.chars)
    columns = operands(formula, dtype)
    expected, out = by_number(formula, columns), np.empty_like(columns[0])
    _on_demand.use_numba("numba")
    formula.over(out.dtype.char, tuple(columns), out, NUMBERS[: formula.numbers])
    np.testing.assert_array_equal(out, expected)
    np.testing.assert_array_equal(np.signbit(out), np.signbit(expected) | np.isnan(expected) & np.signbit(out))


@pytest.mark.skipif(not _on_demand.available(), reason="Numba is not installed")
@pytest.mark.parametrize("function", [_single.erfc, _elementary.exp2_single, _elementary.log2_single, special._logit_of_single])
def test_products_and_sums_of_many_numbers_are_fused(function: Fn, mode: None) -> None:
    """Next to nothing is left of that in single precision, but where the formula computes in it."""
    formula = next(f for f in Formula.made if f.fused and f.function is function)
    x = np.concatenate([X, -X, [1e-39, 1e-45, 128, 127.99999, -126.5, -149.5, -150], np.random.default_rng(0).normal(0, 20, 9000)])
    with np.errstate(over="ignore"):
        x = x.astype(np.float32)
    expected, out = by_number(formula, [x]), np.empty_like(x)
    _on_demand.use_numba("numba")
    formula.over("f", (x,), out, NUMBERS[: formula.numbers])
    np.testing.assert_array_equal(np.isnan(out), np.isnan(expected))
    usual = np.isfinite(expected)
    np.testing.assert_array_equal(out[~usual], expected[~usual])
    np.testing.assert_array_max_ulp(out[usual], expected[usual], 1)
    assert np.count_nonzero(out[usual] != expected[usual]) < (1500 if function is _elementary.exp2_single else 2)


IN_STEPS = [elementary.sinc_in_steps, special.logit_in_steps, special.xlog1py_in_steps]  # whose steps are rounded, as torch's


@pytest.mark.parametrize("formula", [f for f in Formula.made if f.chars == "f" and not f.own and f.function not in IN_STEPS], ids=name)
def test_those_of_single_precision_give_its_nearest_numbers(formula: Formula) -> None:
    """They are what those of double precision give, rounded, but where these lie half-way between two."""
    whole = Formula.made[Formula.made.index(formula) - 1]
    columns = operands(formula, np.float32)
    found = by_number(formula, columns)
    with np.errstate(all="ignore"):
        expected = by_number(whole, [c.astype(np.float64) for c in columns])
        wanted = expected.astype(np.float32)
        np.testing.assert_array_equal(np.isnan(found), np.isnan(wanted))
        usual = np.isfinite(wanted)
        np.testing.assert_array_equal(found[~usual], wanted[~usual])
        error = np.abs(found[usual] - expected[usual]) / np.spacing(np.abs(wanted[usual]))
    assert error.max() < 0.51


def test_functions_of_single_precision_that_others_are_made_of() -> None:
    for x in [*np.linspace(-1, 1, 999).tolist(), 1e-300, -1e-9, 0.5, -0.5]:
        assert abs(_single.acos(x) - math.acos(x)) <= 2 * math.ulp(math.acos(x))
        assert abs(_single.cos(1e6 * x) - math.cos(1e6 * x)) < 1e-15
        assert abs(_single.sin(1e6 * x) - math.sin(1e6 * x)) < 1e-11  # to nine places and more


ELEMENTARY = ["expm1", "exp2", "sinh", "cosh", "log2", "log10", "log1p", "asinh", "acosh", "atanh", "tan", "asin", "acos", "atan"]


@pytest.mark.parametrize("function", ELEMENTARY)
def test_elementary_functions_are_those_of_the_c_library(function: str) -> None:
    """To two units in the last place, where numbers are within the formulas' range, and with its signs of zero, its infinities and NaN."""
    double = next(f for f in Formula.made if f.function is getattr(_elementary, function))
    x = np.concatenate([X, np.linspace(-1, 1, 999), np.geomspace(1e-300, 700, 500), -np.geomspace(1e-300, 700, 500)])
    of_numpy = getattr(np, {"asinh": "arcsinh", "acosh": "arccosh", "atanh": "arctanh", "asin": "arcsin", "acos": "arccos", "atan": "arctan"
                            }.get(function, function))
    for formula in [double, *[f for f in Formula.made if f.function is getattr(_elementary, f"{function}_single", None)]]:
        with np.errstate(all="ignore"):
            given = x.astype(np.float64 if formula is double else np.float32)
            found, wanted = by_number(formula, [given]), of_numpy(given)
        np.testing.assert_array_equal(np.isnan(found), np.isnan(wanted))
        usual = np.isfinite(wanted) & (np.abs(wanted) > np.finfo(given.dtype).tiny)
        np.testing.assert_array_equal(found[~np.isfinite(wanted)], wanted[~np.isfinite(wanted)])
        np.testing.assert_array_equal(np.signbit(found) & ~np.isnan(found), np.signbit(wanted) & ~np.isnan(wanted))
        error = np.abs(found[usual] - wanted[usual]) / np.spacing(np.abs(wanted[usual]))
        assert error.max() <= (3 if formula is double else 2)


def test_angles_of_points_are_those_of_the_c_library() -> None:
    formula = next(f for f in Formula.made if f.function is _elementary.atan2)
    y, x = [c.ravel() for c in np.meshgrid(np.concatenate([X, -X]), np.concatenate([X, -X]))]
    found, wanted = by_number(formula, [y, x]), np.arctan2(y, x)
    np.testing.assert_array_max_ulp(found[np.isfinite(wanted)], wanted[np.isfinite(wanted)], 3)
    np.testing.assert_array_equal(np.isnan(found), np.isnan(wanted))
    np.testing.assert_array_equal(np.signbit(found) & ~np.isnan(found), np.signbit(wanted) & ~np.isnan(wanted))


def test_whole_powers_have_whole_logarithms() -> None:
    for function, base in (("log2", 2.0), ("log10", 10.0)):
        powers = base ** np.arange(-20.0 if base == 2.0 else 0.0, 22)
        for suffix, dtype in (("", np.float64), ("_single", np.float32)):
            formula = next(f for f in Formula.made if f.function is getattr(_elementary, function + suffix))
            np.testing.assert_array_equal(by_number(formula, [powers.astype(dtype)]), np.round(np.log(powers) / np.log(base)))


def test_the_logarithm_of_double_precision_is_within_a_unit_in_the_last_place() -> None:
    for x in [*np.geomspace(1e-290, 1e300, 999).tolist(), *np.linspace(0.5, 2, 9999).tolist()]:
        assert abs(_double.log(x) - math.log(x)) <= math.ulp(math.log(x))


def test_gradients_that_torch_fills_lie_in_rows() -> None:
    for shape in ((2, 3), (26, 39)):
        x, y = [torch.rand(shape).t().requires_grad_() for _ in range(2)]
        for grad in (torch.ones(()).expand(*x.shape), torch.rand(shape).t()):
            assert torch.autograd.grad(torch.xlogy(x, y), x, grad)[0].stride() == (shape[0], 1)


@pytest.mark.skipif(not _on_demand.available(), reason="Numba is not installed")
def test_broadcast_elements_go_through_many_at_a_time(mode: None) -> None:
    """Whatever lines they lie in, and with functions beyond the formula that take some, several, or none of them."""
    made = len(Formula.made)
    beyond = ((lambda x, y: y < 0.0, lambda x, y: x - y), (lambda x, y: x < 5.0, lambda x, y: x * y))
    kernel = binary(Split(lambda x, y: x + y, beyond))
    del Formula.made[made:]
    _on_demand.use_numba("numba")
    for first, second in [((2500, 1), (3,)), ((1, 2500), (2, 1)), ((7, 1, 300), (1, 11, 1)), ((5, 1, 17), (40, 1)), ((4099,), (4099,)),
                          ((), (1025,)), ((1030, 3), (1030, 1)), ((3, 1, 40), (3, 30, 1)), ((16, 70), (70,))]:
        x, y = np.arange(np.prod(first, dtype=int)).reshape(first) % 11.0, np.arange(np.prod(second, dtype=int)).reshape(second) % 7.0 - 1.0
        np.testing.assert_array_equal(kernel(x, y), np.where(y < 0, x - y, np.where(x < 5, x * y, x + y)))
        np.testing.assert_array_equal(kernel(x, y + 1), np.where(x < 5, x * (y + 1), x + y + 1))
        np.testing.assert_array_equal(kernel(x.T, y.T[..., :1]), kernel(np.ascontiguousarray(x.T), np.ascontiguousarray(y.T[..., :1])))


def _root(x: float) -> float:
    y = x
    for _ in range(60):
        y = 0.5 * (y + x / y)
        if settled(abs(y * y - x) <= 1e-12 * x):
            break
    return y


def test_a_function_is_compiled_when_it_has_been_called_often(monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = unary(_root)
    formula = Formula.made.pop()
    asked: list[int] = []
    monkeypatch.setattr(formula, "kernel", lambda: asked.append(1) or (_ for _ in ()).throw(LookupError()))
    monkeypatch.setattr(_on_demand, "COMPILED", 7.5 * (formulas.CALL + 2 * formulas.NUMBER))
    monkeypatch.setattr(_on_demand, "LOADED", 4 * formulas.CALL)
    monkeypatch.setattr(formulas.state, "mode", "auto")
    monkeypatch.setattr(formulas.state, "fused", 8192)
    x = np.array([4.0, 9.0])
    for _ in range(7):
        np.testing.assert_allclose(kernel(x), [2.0, 3.0])
    with pytest.raises(LookupError):
        kernel(x)
    assert asked == [1]


def test_layouts_dtypes_and_broadcasting(mode: None) -> None:
    made = len(Formula.made)
    hypotenuse, same = binary(lambda x, y: exp(0.5 * log(x * x + y * y))), binary(lambda x, y: x + like(x, 0.0) + y, own=True)
    del Formula.made[made:]
    x = np.arange(1.0, 13).reshape(3, 4)
    for a in (x, x.T, x[::-1, ::2], np.broadcast_to(x[0], (3, 4)), x[:0], x.astype(np.float32), x.astype(">f8"), np.array(3.0)):
        expected = np.hypot(a, a[..., :1] if a.ndim else 2)
        np.testing.assert_allclose(hypotenuse(a, a[..., :1] if a.ndim else 2.0), expected, rtol=1e-6)
    assert hypotenuse(x.T, x.T).strides == x.T.strides
    assert same(x.astype(np.float32), np.float32(1)).dtype == np.float32
    assert same(x.astype(np.float32), x).dtype == np.float64


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_numbers_and_arrays_of_any_layout_once_machine_code_is_at_hand(dtype: type) -> None:
    if not _on_demand.available():
        pytest.skip("Numba is not installed: there is no machine code")
    previous, made = _on_demand.use_numba("numba"), len(Formula.made)
    try:
        one, two = unary(lambda x: x * x + 1.0), binary(lambda x, y: x * y + 1.0)
        x = np.arange(1, 13, dtype=dtype).reshape(3, 4)
        one(x), two(x, x)
        assert one.formula.ready  # type: ignore[attr-defined]
        still = x.copy()
        still.flags.writeable = False
        odd = np.frombuffer(b" " + x.tobytes(), dtype, offset=1).reshape(3, 4)
        for a in (x, still, odd, x.T, x[::-1, ::2], np.broadcast_to(x[0], (3, 4)), x[:0], np.array(3, dtype), still[1, 1, ...], dtype(3)):
            np.testing.assert_allclose(one(a), a * a + 1)
            for b in (a, dtype(2), np.array(2, dtype)):
                np.testing.assert_allclose(two(a, b), a * b + 1)
                np.testing.assert_allclose(two(b, a), a * b + 1)
    finally:
        del Formula.made[made:]
        _on_demand.use_numba(previous)


@pytest.mark.parametrize("function", [torch.sinc, torch.special.bessel_j0, torch.lgamma])
def test_results_lie_as_dense_operands_in_any_order(function: Fn) -> None:
    x = torch.rand(11, 13, 17)
    for order in ((0, 2, 1), (1, 2, 0), (2, 1, 0)):
        found = function(x.permute(*order))
        assert found.stride() == x.permute(*order).stride()
        np.testing.assert_array_equal(found.numpy(), function(x).permute(*order).numpy())
