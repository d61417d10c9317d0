"""Machine code that serves few elements once it is at hand gives the bits of the formulas in whose place it comes."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from inspect import signature

import numpy as np
import pytest

import torchcompat as torch
from autograd_tape.executors import get_executor
from autograd_tape.executors.kernels import _on_demand
from autograd_tape.executors.kernels.elementwise import EXACT, same
from autograd_tape.ops.elementwise import arithmetic, complex, rounding
from autograd_tape.ops.networks import activation, loss

pytestmark = pytest.mark.skipif(not _on_demand.available(), reason="Numba is not installed: there is no machine code")
assert activation and arithmetic and complex and loss and rounding  # whose kernels have been decorated then
SPECIAL = [0.0, -0.0, np.inf, -np.inf, np.nan, 1e-310, -1e-310, 1e-45, -1e-45, 3, -3, 0.5, -0.5, 6, 1, -1, 1e300, 3e38, -3e38]
NUMBERS = {"leaky_relu": [(0.01,), (1.0,), (0.0,), (-0.5,), (3.0,)], "threshold": [(0.1, 2.0), (0.0, 0.0), (-1.0, np.nan), (np.nan, 1.0)],
           "hardshrink": [(0.5,), (0.0,), (-1.0,), (np.nan,)], "softshrink": [(0.5,), (1e-3,)], "threshold_backward": [(0.0,), (0.5,)],
           "hardtanh_backward": [(-1.0, 1.0), (0.0, 6.0)], "leaky_relu_backward": [(0.01,), (-0.5,)], "shrink_backward": [(0.5,), (0.0,)],
           "huber": [(1.0,), (0.7,)], "digits": [(100.0, 0.0), (100.0, 1.0), (1e30, 0.0)]}


@pytest.mark.parametrize("place", range(len(EXACT)))
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_machine_code_gives_the_formulas_bits(place: int, dtype: type) -> None:
    name, formula, at_once = EXACT[place]
    rng = np.random.default_rng(0)
    previous = _on_demand.use_numba("auto")
    try:
        with np.errstate(all="ignore"):
            special = np.array(SPECIAL, dtype)
            for size in (1, 3, 8, 17, 200):
                for options in NUMBERS.get(name, [()]):
                    names = list(signature(formula).parameters)
                    operations = [get_executor("numpy").F] * (names[0] == "F")
                    arrays = [np.concatenate([rng.permutation(special), (rng.standard_normal(200) * 4).astype(dtype)])[:size]
                              for _ in range(len(names) - len(options) - len(operations))]
                    _on_demand.state.mode = "numba"  # machine code is made at once
                    found = at_once(*arrays, *options)
                    assert found is not None and found.dtype == dtype
                    expected = formula(*operations, *arrays, *options)
                    same = (found == expected) & (np.signbit(found) == np.signbit(expected)) | np.isnan(found) & np.isnan(expected)
                    assert same.all(), (options, [a[~same] for a in arrays], found[~same], expected[~same])
    finally:
        _on_demand.use_numba(previous)


F = torch.nn.functional
WHOLE, FLOATS = (torch.int64,), (torch.float32, torch.float64, torch.bfloat16, torch.float16)
#: Calls of which machine code and NumPy give the same bits: the dtypes, shapes of the operands, and what is computed of them.
CALLS: dict[str, tuple[tuple[torch.dtype, ...], list[tuple[tuple[int, ...], ...]], Callable[..., torch.Tensor]]] = {
    "hardtanh": (WHOLE, [((40, 30),), ((3,),)], lambda x: F.hardtanh(x, -2.5, 3.0)),
    "relu6": (WHOLE, [((40, 30),)], F.relu6),
    "threshold": (WHOLE, [((40, 30),)], lambda x: F.threshold(x, 1, -7)),
    "threshold, not whole": (WHOLE, [((40, 30),)], lambda x: torch.stack([F.threshold(x, t, 20.5) for t in (0.1, -0.1, -2.5, 1e17)])),
    "clamp": (WHOLE, [((40, 30),)], lambda x: torch.clamp(x, -2, 5)),
    "pow": (WHOLE, [((40, 30), (40, 1)), ((5,), (5,))], torch.pow),
    "reciprocal": (FLOATS, [((40, 30),)], torch.reciprocal),
    "maximum": (FLOATS, [((6, 5), (6, 5)), ((6, 5), (6, 1)), ((5,), (6, 5)), ((4, 1, 3), (2, 1))], torch.maximum),
    "minimum": (FLOATS, [((6, 5), (6, 5)), ((6, 5), (6, 1)), ((5,), (6, 5)), ((4, 1, 3), (2, 1))], torch.minimum),
    "prelu": (FLOATS, [((6, 5), (1,)), ((6, 5), (5,))], F.prelu),
    "hardsigmoid": (FLOATS, [((6, 5),), ((5, 6),)], F.hardsigmoid),
    "hardswish": (FLOATS, [((6, 5),)], F.hardswish),
    "rsub": (FLOATS, [((6, 5), (6, 1)), ((1, 1, 30), (40, 1))], torch.rsub),
    "equal": (FLOATS + WHOLE, [((3000,), (3000,)), ((3,), (3,))], lambda x, y: torch.tensor([torch.equal(x, z) for z in (y, x.clone())])),
    "all but one": (WHOLE, [((3000,),)], lambda x: torch.tensor([torch.equal(x, x + (torch.arange(3000) == i)) for i in (0, 2999)])),
}


@pytest.mark.parametrize("columns", [False, True])
@pytest.mark.parametrize("name", CALLS)
def test_calls_give_the_same_bits_and_gradients(name: str, columns: bool) -> None:
    dtypes, shapes, call = CALLS[name]
    previous = _on_demand.use_numba("numpy")
    try:
        for dtype, operands in itertools.product(dtypes, shapes):
            rng, found = np.random.default_rng(0), []
            arrays = [np.round(rng.standard_normal(shape) * 4) / 2 for shape in operands]  # of which many are equal
            for mode in ("numpy", "numba"):
                _on_demand.use_numba(mode)
                given = [torch.tensor(a.T if columns else a).to(dtype) for a in arrays]
                given = [(x.permute(*range(x.ndim)[::-1]) if columns else x).requires_grad_(dtype.is_floating_point) for x in given]
                result = call(*given)
                results = [result]
                if result.requires_grad:
                    results += torch.autograd.grad(result, given, torch.arange(result.numel()).reshape(result.shape).to(dtype))
                found.append([(x.dtype, x.shape, x.stride(), x.detach().double().numpy()) for x in results])
            for one, other in zip(*found):
                assert one[:3] == other[:3], (dtype, operands)
                np.testing.assert_array_equal(one[3], other[3], str((dtype, operands)))
                assert (np.signbit(one[3]) == np.signbit(other[3]))[one[3] == one[3]].all()
    finally:
        _on_demand.use_numba(previous)


@pytest.mark.parametrize("dtype", [*FLOATS, *WHOLE, torch.bool])
def test_equality_by_machine_code(dtype: torch.dtype) -> None:
    previous = _on_demand.use_numba("numba")
    try:
        x = torch.arange(3000).to(dtype)._data
        for at in (None, 0, 1500, 2999):
            y = x.copy()
            if at is not None:
                y[at] = not y[at]
            assert same(x, y) is (at is None)
        assert same(x[::2], x[::2]) is None
    finally:
        _on_demand.use_numba(previous)


@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("dtype", FLOATS)
def test_gates_in_one_pass(dtype: torch.dtype, axis: int) -> None:
    found, x = [], torch.tensor(np.random.default_rng(0).standard_normal((4, 6, 8))).to(dtype)
    previous = _on_demand.use_numba("numpy")
    try:
        for mode in ("numpy", "numba"):
            _on_demand.use_numba(mode)
            for y in (x, x.transpose(0, 2).contiguous().transpose(0, 2), torch.stack([x, x], -1)[..., 0]):
                y = y.detach().requires_grad_()
                result = F.glu(y, axis)
                found.append([v.double().numpy() for v in (result.detach(), *torch.autograd.grad(result, y, result.detach()))])
    finally:
        _on_demand.use_numba(previous)
    for other in found[1:]:
        for a, b in zip(found[0], other):
            np.testing.assert_allclose(a, b, *{torch.float64: (1e-12, 1e-14), torch.float32: (1e-5, 1e-6)}.get(dtype, (1e-2, 1e-3)))
