"""Operations of three arrays in one pass: NumPy's bits, for whatever weight and value; and what is left to NumPy."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import torchcompat as torch
from autograd_tape.executors.kernels._on_demand import available, use_numba
from autograd_tape.executors.kernels.triples import BETWEEN, PRODUCT, triple

WEIGHTS = (0, 0.1, 0.5, 0.7, 1, 1.5, -0.4, -0.6, 1e-6, float("nan"))
VALUES = (1, 0.3, -2, 0)
CALLS: dict[str, Callable[..., torch.Tensor]] = {
    **{f"lerp {w}": lambda x, a, b, w=w: torch.lerp(x, a, w) for w in WEIGHTS},  # type: ignore[misc]  # a default
    **{f"{name} {v}": lambda x, a, b, name=name, v=v: getattr(torch, name)(x, a, b, value=v)  # type: ignore[misc]
       for name in ("addcmul", "addcdiv") for v in VALUES},
}
ODD = np.array([np.inf, -np.inf, np.nan, 0.0, -0.0, 1e-30])


@pytest.mark.skipif(not available(), reason="Numba is not installed: there is one way")
@pytest.mark.parametrize("name", CALLS)
def test_the_same_bits(name: str, rng: np.random.Generator) -> None:
    arrays = [np.concatenate([rng.permutation(ODD), rng.standard_normal(30)]).astype(np.float32) for _ in range(3)]
    before, found = use_numba("numpy"), []
    try:
        for mode in ("numpy", "numba"):
            use_numba(mode)
            found.append(CALLS[name](*map(torch.tensor, arrays)).numpy())
    finally:
        use_numba(before)
    np.testing.assert_array_equal(*found)
    there = found[0] == found[0]
    np.testing.assert_array_equal(*[np.signbit(x[there]) for x in found])


def test_what_is_left_to_numpy() -> None:
    """Shapes that do not fit, dtypes, a first operand with gaps, complex numbers; operands in columns are copied."""
    x, y, gaps = np.ones((2, 3), np.float32), np.ones(3, np.float32), np.ones((2, 6), np.float32)[:, ::2]
    for operands in ((y, x[:, :2], x), (x, x, x.astype(np.float64)), (gaps, gaps, gaps), (x.astype(np.int64),) * 3):
        assert triple(PRODUCT, 1, *operands) is None
    assert triple(PRODUCT, 1j, x, x, x) is None
    if available():
        before = use_numba("numba")
        try:
            columns = np.arange(6, dtype=np.float32).reshape(3, 2).T
            np.testing.assert_array_equal(triple(BETWEEN, 0.25, x, columns, columns), x + np.float32(0.25) * (columns - x))
            assert triple(PRODUCT, 1j, x, x, x) is None
        finally:
            use_numba(before)


@pytest.mark.skipif(not available(), reason="Numba is not installed: there is one way")
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("shapes", [((36,), (36,), (36,)), ((6, 6), (6,), (6, 1)), ((6, 6), (), (6, 6)), ((6, 1), (6,), (6,)),
                                    ((2, 3, 6), (3, 6), (2, 1, 1)), ((36,), (1,), (36,)), ((6, 6), (6, 1), (6, 1))])
def test_half_precision_and_operands_that_are_broadcast(
    dtype: torch.dtype, shapes: tuple[tuple[int, ...], ...], rng: np.random.Generator
) -> None:
    x, a, b = [torch.tensor(rng.permutation(np.concatenate([ODD, rng.standard_normal(30)]))[: int(np.prod(s))].reshape(s)).to(dtype)
               for s in shapes]
    before, found = use_numba("numpy"), []
    try:
        for mode in ("numpy", "numba"):
            use_numba(mode)
            found.append([f.double().numpy() for f in (
                torch.lerp(x, a, b), torch.lerp(x, a, 0.3), torch.addcmul(x, a, b), torch.addcmul(x, a, b, value=0.7),
                torch.addcdiv(x, a, b, value=-3), torch.lerp(x.expand(6, *shapes[0]), a, b))])
    finally:
        use_numba(before)
    for one, other in zip(*found):
        np.testing.assert_array_equal(one, other)
