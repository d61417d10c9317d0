"""Element-wise kernels against math-module values and finite differences."""

from __future__ import annotations

import math

import numpy as np
import autograd_tape as at
import pytest

from autograd_tape.executors.kernels import elementwise
from autograd_tape.ops.networks.activation import relu

SPECIAL = [0.0, -0.0, math.inf, -math.inf, math.nan, 1e-30, -1e-30, 100.0, -100.0, 0.46875, 4.0, 89.0, 3.9, -3.9, 1.0]


def _gelu(v: float) -> float:
    return 0.5 * v * (1 + math.erf(v * math.sqrt(0.5)))


def _gelu_tanh(v: float) -> float:
    return 0.5 * v * (1 + math.tanh(math.sqrt(2 / math.pi) * (v + 0.044715 * v**3)))


def _sigmoid(v: float) -> float:
    return 1 / (1 + math.exp(-v)) if v > -700 else 0.0


def _softplus(v: float) -> float:
    return v if v > 20 else math.log1p(math.exp(v))


FUNCTIONS = {
    "exp": math.exp,
    "tanh": math.tanh,
    "sigmoid": _sigmoid,
    "erf": math.erf,
    "gelu": _gelu,
    "silu": lambda v: v * _sigmoid(v),
    "softplus": _softplus,
}


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("size", [0, 1, 3, 17, 1000])
def test_values(name, size, kernels, dtype, rng, close):
    x = (rng.standard_normal(size) * 4).astype(dtype)
    close(getattr(elementwise, name)(x), np.array([FUNCTIONS[name](float(v)) for v in x], float), 2)


def test_relative_accuracy(kernels, dtype, rng):
    x = np.concatenate([rng.standard_normal(4001) * 3, rng.standard_normal(1000) * 1e-4]).astype(dtype)
    for name in ("exp", "tanh", "erf"):
        exact = np.array([FUNCTIONS[name](float(v)) for v in x])
        ulps = np.abs(getattr(elementwise, name)(x) - exact) / np.spacing(np.abs(exact).astype(dtype)).astype(float)
        assert ulps.max() <= 6, name


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("exp", [1, 1, math.inf, 0, math.nan]),
        ("tanh", [0, -0.0, 1, -1, math.nan]),
        ("sigmoid", [0.5, 0.5, 1, 0, math.nan]),
        ("erf", [0, -0.0, 1, -1, math.nan]),
        ("gelu", [0, -0.0, math.inf, math.nan, math.nan]),
        ("silu", [0, -0.0, math.inf, math.nan, math.nan]),
        ("softplus", [math.log(2), math.log(2), math.inf, 0, math.nan]),
    ],
)
@pytest.mark.parametrize("repeat", [1, 16])
def test_special_values(name, expected, repeat, kernels, dtype, close):
    x = np.array(SPECIAL * repeat, dtype)
    with np.errstate(over="raise", invalid="raise"):  # a kernel must silence its own warnings
        y = getattr(elementwise, name)(x)
    close(y[:5], np.array(expected))
    close(y[-len(SPECIAL) : -len(SPECIAL) + 5], np.array(expected))
    if expected[1] == 0:
        assert np.signbit(y[1]) == np.signbit(expected[1])


@pytest.mark.parametrize(
    ("name", "saves_result", "kwargs"),
    [
        ("tanh", True, {}),
        ("sigmoid", True, {}),
        ("erf", False, {}),
        ("gelu", False, {}),
        ("gelu", False, {"approximate": "tanh"}),
        ("silu", False, {}),
        ("softplus", False, {}),
        ("softplus", False, {"beta": 2.0, "threshold": 1.0}),
    ],
)
def test_backward_is_the_derivative(name, saves_result, kwargs, kernels, dtype, rng, close):
    f, vjp = getattr(elementwise, name), getattr(elementwise, name + "_backward")
    x = np.concatenate([rng.standard_normal(300) * 2, [0.0]]).astype(dtype)
    x = x[np.abs(2 * x - 1) > 1e-3]  # softplus has a kink at its threshold
    grad = rng.standard_normal(x.size).astype(dtype)
    wide, h = x.astype(np.float64), 1e-5
    slope = (f(wide + h, **kwargs) - f(wide - h, **kwargs)) / (2 * h)
    actual = vjp(grad, f(x, **kwargs) if saves_result else x, **kwargs)
    assert actual.dtype == dtype
    np.testing.assert_allclose(actual, grad * slope, rtol=1e-5, atol=2e-6 if dtype == np.float32 else 1e-8)


def test_gelu_tanh_value(kernels, dtype, rng, close):
    x = rng.standard_normal(100).astype(dtype)
    close(elementwise.gelu(x, "tanh"), np.array([_gelu_tanh(float(v)) for v in x]))
    with pytest.raises(RuntimeError, match="approximate argument must be either none or tanh"):
        elementwise.gelu(x, "exact")


def test_erfc_keeps_digits_in_the_tail(rng):
    x = np.concatenate([rng.standard_normal(2000) * 5, [0.0, -0.0, 26.0, -30.0, np.inf, -np.inf]])
    np.testing.assert_allclose(elementwise.erfc_of_lanes(x), [math.erfc(v) for v in x], rtol=1e-14, atol=1e-300)
    assert np.isnan(elementwise.erfc_of_lanes(np.array([np.nan]))[0])


@pytest.mark.parametrize("name", ["exp", "gelu", "silu"])
def test_strides_and_readonly(name, kernels, dtype, rng, close):
    f = getattr(elementwise, name)
    base = rng.standard_normal((40, 60)).astype(dtype)
    for x in (base.T, base[::-2, 5::3], np.broadcast_to(base[0], (3, 60)), base.reshape(40, 6, 10).transpose(2, 0, 1)):
        y = f(x)
        close(y, f(np.array(x, order="C")))
        if 0 not in x.strides:
            assert y.strides == x.copy(order="K").strides
    frozen = base.copy()
    frozen.flags.writeable = False
    close(f(frozen), f(base))
    unaligned = np.frombuffer(b"\0" + base.tobytes(), np.uint8)[1:].view(dtype).reshape(base.shape)
    close(f(unaligned), f(base))
    swapped = base.astype(dtype.newbyteorder())
    np.testing.assert_allclose(f(swapped), f(base), rtol=1e-6)


def test_backward_with_mixed_layouts(kernels, dtype, rng, close):
    x, g = rng.standard_normal((2, 40, 60)).astype(dtype)
    expected = elementwise.silu_backward(g, x)
    for xs, gs in ((x, g.copy(order="F")), (x.copy(order="F"), g), (x[:, ::-1][:, ::-1], np.repeat(g, 2, 1)[:, ::2])):
        close(elementwise.silu_backward(gs, xs), expected)


def test_half_and_scalar(kernels, rng):
    x = rng.standard_normal((5, 100)).astype(np.float16)
    y = elementwise.gelu(x)
    assert y.dtype == np.float16
    np.testing.assert_array_equal(y, elementwise.gelu(x.astype(np.float32)).astype(np.float16))
    grad = elementwise.gelu_backward(np.ones_like(x), x)
    assert grad.dtype == np.float16
    scalar = elementwise.exp(np.array(0.0, np.float32))
    assert isinstance(scalar, np.ndarray)
    assert scalar.shape == ()
    assert scalar == 1


def test_input_is_not_written(kernels, dtype, rng):
    x, g = rng.standard_normal((2, 500)).astype(dtype)
    before = x.copy(), g.copy()
    for name in ("exp", "tanh", "sigmoid", "erf", "gelu", "silu", "softplus"):
        getattr(elementwise, name)(x)
        if name != "exp":
            getattr(elementwise, name + "_backward")(g, x)
    np.testing.assert_array_equal(x, before[0])
    np.testing.assert_array_equal(g, before[1])


@pytest.mark.parametrize("size", [20, 40000])
def test_rectifier_and_its_mask(size, kernels, dtype, rng):
    x = rng.standard_normal(size).astype(dtype)
    x[:4] = np.nan, np.inf, -np.inf, 0
    y = relu.field("numpy")(x)
    np.testing.assert_array_equal(y, np.maximum(x, 0))
    g = rng.standard_normal(size).astype(dtype)
    g[4] = np.nan
    for threshold in (0, 0.25):
        dx = elementwise.threshold_backward(g, x, threshold)
        np.testing.assert_array_equal(dx, np.where(x <= threshold, 0, g))
        assert y.dtype == dx.dtype == dtype


@pytest.mark.parametrize("rows", [4, 40_000])
@pytest.mark.parametrize("mask_shape", [(3,), (1, 3), (-1, 1), (-1, 3), ()])
def test_masks_of_dropout_are_broadcast(rows: int, mask_shape: tuple[int, ...]) -> None:
    """Also where a compiled kernel takes them, which wants them of the size of the elements."""
    x = np.arange(3.0 * rows).reshape(rows, 3)
    shape = tuple([rows if n < 0 else n for n in mask_shape])
    mask = (np.arange(int(np.prod(shape))) % 2 == 0).reshape(shape)
    found = at.F.masked_scale(at.TensorRef.of(x), at.TensorRef.of(mask), 2.0)
    np.testing.assert_array_equal(found.numpy(), x * mask * 2.0)
