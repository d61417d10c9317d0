"""Steps as compiled loops: the same bits as by tensor operations, whatever is in gradients, parameters and state."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import torchcompat as torch
from autograd_tape.executors.kernels._on_demand import available, use_numba

pytestmark = pytest.mark.skipif(not available(), reason="Numba is not installed: there is one way")

CASES: list[tuple[str, dict[str, Any]]] = [(kind, options) for kind, several in {
    "Adadelta": [{}, {"weight_decay": 0.1, "maximize": True}], "Adagrad": [{}, {"weight_decay": 0.1, "lr_decay": 0.1, "maximize": True}],
    "Adam": [{"weight_decay": 0.1}, {"amsgrad": True, "maximize": True}], "AdamW": [{}],
    "Adamax": [{}, {"weight_decay": 0.1, "betas": (0.3, 0.9), "maximize": True}],
    "ASGD": [{}, {"weight_decay": 0.1, "t0": 1, "maximize": True}],
    "NAdam": [{}, {"weight_decay": 0.1}, {"weight_decay": 0.1, "decoupled_weight_decay": True, "betas": (0.4, 0.99), "maximize": True}],
    "RAdam": [{}, {"weight_decay": 0.1}, {"weight_decay": 0.1, "decoupled_weight_decay": True, "betas": (0.5, 0.6), "maximize": True}],
    "RMSprop": [{}, {"momentum": 0.9}, {"centered": True, "weight_decay": 0.1}, {"centered": True, "momentum": 0.5, "maximize": True}],
    "Rprop": [{}, {"maximize": True}],
    "SGD": [{}, {"momentum": 0.9}, {"momentum": 0.9, "nesterov": True, "weight_decay": 0.1, "maximize": True}],
}.items() for options in several]
ODD = [np.inf, -np.inf, np.nan, 0.0, -0.0, 1e-30]


@pytest.fixture
def mode() -> Iterator[None]:
    before = use_numba("auto")
    yield
    use_numba(before)


def steps(kernels: str, kind: str, options: dict[str, Any], n: int = 40) -> list[np.ndarray]:
    """The parameter and its state after each of seven steps."""
    use_numba(kernels)
    rng, found = np.random.default_rng(0), []
    values = rng.standard_normal(n).astype(np.float32)
    values[:6] = ODD
    p = torch.tensor(values, requires_grad=True)
    optimizer = getattr(torch.optim, kind)([p], lr=0.01, **options)
    for _ in range(7):
        gradient = (rng.standard_normal(n) * 10.0 ** rng.integers(-3, 3, n)).astype(np.float32)
        gradient[3:6], gradient[8:14] = [0, -0.0, 0], ODD
        p.grad = torch.tensor(gradient)
        optimizer.step()
        found += [x.detach().numpy().copy() for x in (p, *optimizer.state[p].values())]
    return found


@pytest.mark.parametrize(("kind", "options"), CASES, ids=[" ".join([kind, *options]) for kind, options in CASES])
def test_the_same_bits(kind: str, options: dict[str, Any], mode: None) -> None:
    for by_rule, compiled in zip(steps("numpy", kind, options), steps("numba", kind, options), strict=True):
        np.testing.assert_array_equal(compiled, by_rule)
        there = by_rule == by_rule  # the sign of what is no number means nothing
        np.testing.assert_array_equal(np.signbit(compiled)[there], np.signbit(by_rule)[there])


def test_what_the_loop_cannot_take_goes_by_rule(mode: None) -> None:
    """A parameter in columns, state of another shape, a learning rate in a tensor."""
    use_numba("numba")
    x = torch.ones(3, 2).t().requires_grad_()
    y, z = torch.ones(4, requires_grad=True), torch.ones(4, requires_grad=True)
    for p, lr in ((x, 0.1), (y, torch.tensor(0.1)), (z, 0.1)):
        optimizer = torch.optim.Adagrad([p], lr=lr)
        if p is z:
            optimizer.state[p]["sum"] = torch.tensor(0.0)
        p.grad = torch.ones_like(p)
        if p is z:
            with pytest.raises(RuntimeError, match="output with shape"):
                optimizer.step()
        else:
            optimizer.step()
            np.testing.assert_allclose(p.detach().numpy(), np.full(p.shape, 0.9, np.float32), rtol=1e-6)


def test_averages_of_lists_are_moved_in_one_pass() -> None:
    """By lerp where there are fractions, as torch does it; integers by what torch does to these."""
    swa_utils = torch.optim.swa_utils
    old, new = [torch.tensor([1.0, 3.0, -2.0])], [torch.tensor([4.0, 0.7, 0.1])]
    for update, weight in ((swa_utils.get_ema_multi_avg_fn(0.9), 1 - 0.9), (swa_utils.get_swa_multi_avg_fn(), 0.25)):
        averaged = [old[0].clone()]
        update(averaged, new, torch.tensor(3))
        assert torch.equal(averaged[0], torch.lerp(old[0], new[0], weight))
    averaged = [torch.arange(5) * 3]
    swa_utils.get_ema_multi_avg_fn(0.9)(averaged, [torch.arange(5) * 2 + 1], torch.tensor(3))
    assert averaged[0].tolist() == [0, 2, 5, 8, 11]
    with pytest.raises(RuntimeError, match="Integer division with addcdiv"):
        swa_utils.get_swa_multi_avg_fn()(averaged, averaged, torch.tensor(3))
