"""Losses of several steps in one pass, and differences: against the same steps as operations of their own, which are recorded."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import torchcompat as torch
from autograd_tape.executors.kernels import _on_demand

F = torch.nn.functional
LOSSES = {
    "kl_div": (F.kl_div, {}), "kl_div of logarithms": (F.kl_div, {"log_target": True}),
    "poisson": (F.poisson_nll_loss, {}), "poisson, full": (F.poisson_nll_loss, {"full": True}),
    "poisson of rates": (F.poisson_nll_loss, {"log_input": False, "full": True}),
    "gaussian": (F.gaussian_nll_loss, {"full": True, "eps": 0.25}), "hinge": (F.hinge_embedding_loss, {"margin": 0.3}),
    "ranking": (F.margin_ranking_loss, {"margin": 0.3}), "soft margins": (F.soft_margin_loss, {}),
    "square": (F.mse_loss, {}), "absolute": (F.l1_loss, {}), "smooth": (F.smooth_l1_loss, {"beta": 0.7}), "huber": (F.huber_loss, {}),
    "logits": (F.binary_cross_entropy_with_logits, {}),
    "weighed logits": (F.binary_cross_entropy_with_logits, {"weight": torch.linspace(0.5, 1, 60), "pos_weight": torch.linspace(1, 2, 60)}),
}
SPECIAL = [0.0, -0.0, 1.0, np.nan, np.inf, -np.inf, 1e-40, 3e38]


@pytest.fixture(autouse=True, params=["kept", "numpy"])
def kernels(request: Any) -> Iterator[None]:
    if request.param != "numpy" and not _on_demand.available():
        pytest.skip("Numba is not installed")
    previous = _on_demand.use_numba(request.param)
    yield
    _on_demand.use_numba(previous)


def operands(name: str, dtype: Any, rng: np.random.Generator, special: bool) -> list[Any]:
    x, t, v = rng.standard_normal((13, 60)), rng.uniform(0.0, 3.0, (13, 60)), rng.uniform(0.0, 2.0, (13, 60))
    for a in (x, t, v) if special else ():
        a.reshape(-1)[rng.integers(0, a.size, 90)] = np.abs(rng.choice(SPECIAL, 90)) if a is v else rng.choice(SPECIAL, 90)
    x = np.abs(x) if name == "poisson of rates" else x
    found = [torch.tensor(a).to(dtype) for a in (x, t, v)]
    if name == "hinge":
        return [found[0], torch.tensor(rng.integers(-1, 2, x.shape))]
    return found if name in ("gaussian", "ranking") else found[:2]


@pytest.mark.filterwarnings("ignore::UserWarning", "ignore::RuntimeWarning")
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float32, torch.float64], ids=str)
@pytest.mark.parametrize("name", LOSSES)
def test_of_steps(name: str, dtype: Any) -> None:
    loss, options = LOSSES[name]
    options = {k: v.to(dtype) if isinstance(v, torch.Tensor) else v for k, v in options.items()}
    rng = np.random.default_rng(7)
    for special in (False, True):
        for turned in ((), (0,), (1,), (0, 1, 2)):
            given = [t.mT.contiguous().mT if i in turned else t for i, t in enumerate(operands(name, dtype, rng, special))]
            for reduction in ("none", "mean", "sum"):
                quick = loss(*given, reduction=reduction, **options)
                steps = loss(given[0].detach().clone().requires_grad_(), *given[1:], reduction=reduction, **options).detach()
                assert quick.dtype is steps.dtype and quick.stride() == steps.stride()
                if reduction == "none" and not (_on_demand.HAS_VECTORS and "poisson" in name and dtype is torch.float16):
                    assert torch.equal(quick.nan_to_num(7.0), steps.nan_to_num(7.0)), (special, turned)
                else:  # sums, and NumPy's exponentials, which its vectors do not round as the loop does
                    torch.testing.assert_close(quick, steps, equal_nan=True)


def test_tanhshrink_is_the_difference_from_tanh() -> None:
    for dtype in (torch.float32, torch.float64, torch.bfloat16):
        for n in (6, 1000, 40000):
            x = torch.tensor(np.random.default_rng(n).standard_normal(n)).to(dtype)
            assert torch.equal(F.tanhshrink(x), x - torch.tanh(x))
