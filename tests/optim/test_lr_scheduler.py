"""Learning rate schedules against what real torch made of the same steps."""

from __future__ import annotations

import pytest

import torchcompat as torch
from torchcompat.optim import SGD, lr_scheduler

from .optim_cases import SCHEDULE_TABLE


@pytest.mark.parametrize("case", SCHEDULE_TABLE.recorded)
def test_schedule(case: str) -> None:
    SCHEDULE_TABLE.assert_as_torch(torch, case)


def make() -> SGD:
    return SGD([torch.nn.Parameter(torch.ones(1))], lr=1.0)


def test_reduce_on_plateau() -> None:
    opt = make()
    schedule = lr_scheduler.ReduceLROnPlateau(opt, factor=0.5, patience=1, cooldown=1, min_lr=0.2)
    rates = []
    for metric in (1.0, 0.9, 0.9, 0.9, 0.9, 0.9, 0.9, 0.9, 0.9, 0.9):
        schedule.step(metric)
        rates.append(opt.param_groups[0]["lr"])
    assert rates == [1.0, 1.0, 1.0, 0.5, 0.5, 0.5, 0.25, 0.25, 0.25, 0.2]


def test_state_dict_continues() -> None:
    a, b = make(), make()
    first, second = lr_scheduler.StepLR(a, 2), lr_scheduler.StepLR(b, 2)
    for _ in range(3):
        a.step()
        first.step()
    second.load_state_dict(first.state_dict())
    b.load_state_dict(a.state_dict())
    for opt, schedule in ((a, first), (b, second)):
        opt.step()
        schedule.step()
    assert a.param_groups[0]["lr"] == b.param_groups[0]["lr"] and first.last_epoch == second.last_epoch == 4


def test_wrong_order_is_warned_of() -> None:
    schedule = lr_scheduler.StepLR(make(), 2)
    with pytest.warns(UserWarning, match="Detected call of `lr_scheduler.step\\(\\)` before `optimizer.step\\(\\)`"):
        schedule.step()
    with pytest.raises(TypeError, match="^int is not an Optimizer$"):
        lr_scheduler.StepLR(3, 2)


def test_averaged_model() -> None:
    from torchcompat.optim import swa_utils

    model = torch.nn.Sequential(torch.nn.Linear(1, 1, bias=False), torch.nn.BatchNorm1d(1))
    mean, fading = swa_utils.AveragedModel(model), swa_utils.AveragedModel(model, multi_avg_fn=swa_utils.get_ema_multi_avg_fn(0.5))
    for value in (1.0, 2.0, 6.0):
        torch.nn.init.constant_(model[0].weight, value)
        mean.update_parameters(model)
        fading.update_parameters(model)
    assert mean.module[0].weight.item() == pytest.approx(3.0) and fading.module[0].weight.item() == pytest.approx(3.75)
    assert mean.n_averaged.item() == 3
    swa_utils.update_bn([torch.tensor([[1.0], [3.0]]), torch.tensor([[5.0], [7.0]])], model)
    assert model[1].running_mean.item() == pytest.approx(24.0) and model[1].momentum == 0.1
