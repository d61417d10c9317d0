"""Averages of a model's weights over training (Izmailov et al., 2018), and the learning rates for them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from copy import deepcopy
from itertools import chain
from typing import Any

from autograd_tape.annotations import DeviceLike, Fn, Keywords
import torchcompat as torch
from torchcompat._tensor import Tensor
from torchcompat.nn import Module

from .lr_scheduler import LRScheduler, _for_each_group
from .optimizer import Optimizer


__all__ = ["SWALR", "AveragedModel", "get_ema_avg_fn", "get_ema_multi_avg_fn", "get_swa_avg_fn", "get_swa_multi_avg_fn", "update_bn"]


PARAM_LIST = tuple[Tensor, ...] | list[Tensor]


def get_ema_avg_fn(decay: float = 0.999) -> Callable[[Any, Any, Any], Any]:
    """decay * average + (1 - decay) * new."""
    if decay < 0.0 or decay > 1.0:
        raise ValueError(f"Invalid decay value {decay} provided. Please provide a value in [0,1] range.")

    @torch.no_grad()
    def average(averaged: Tensor, current: Tensor, num_averaged: Tensor) -> Tensor:
        return decay * averaged + (1 - decay) * current

    return average


def get_swa_avg_fn() -> Callable[[Any, Any, Any], Any]:
    """The mean of all so far."""

    @torch.no_grad()
    def average(averaged: Tensor, current: Tensor, num_averaged: Tensor) -> Tensor:
        return averaged + (current - averaged) / (num_averaged + 1)

    return average


def _each(function: Callable[[Any, Any, Any], Any]) -> Callable[[Any, Any, Any], None]:
    """The average of each of several tensors, in place."""
    @torch.no_grad()
    def update(averaged: list[Tensor], current: list[Tensor], num_averaged: Tensor) -> None:
        for a, c in zip(averaged, current):
            a.copy_(function(a, c, num_averaged))

    return update


_EXACT = 256  # the largest count up to which all dtypes have all


@torch.no_grad()
def _mean_of_all(averaged: list[Tensor], current: list[Tensor], num_averaged: Tensor) -> None:
    """`get_swa_avg_fn` of lists, in place."""
    from .._calls.lists import Rows

    if (count := int(num_averaged) + 1) > _EXACT:  # a tensor is rounded to their dtype, a number is not
        _each(get_swa_avg_fn())(averaged, current, num_averaged)
    else:
        old = Rows(averaged)
        old.copy_(old + (Rows(current) - old) / count)


def _moved(averaged: list[Tensor], current: list[Tensor], weight: Callable[[], Any]) -> bool:
    """Moves averages by a part of the way to the new tensors; whether they have fractions to be moved by."""
    fractions = averaged[0].is_floating_point() or averaged[0].is_complex()
    if fractions:
        torch._foreach_lerp_(averaged, current, weight())  # type: ignore[attr-defined]  # made when it is asked for
    return fractions


def get_ema_multi_avg_fn(decay: float = 0.999) -> Callable[[Any, Any, Any], None]:
    """`get_ema_avg_fn` for lists of tensors, in place."""
    one_by_one = _each(get_ema_avg_fn(decay))

    @torch.no_grad()
    def update(averaged: list[Tensor], current: list[Tensor], num_averaged: Tensor) -> None:
        if not _moved(averaged, current, lambda: 1 - decay):
            one_by_one(averaged, current, num_averaged)

    return update


def get_swa_multi_avg_fn() -> Callable[[Any, Any, Any], None]:
    """`get_swa_avg_fn` for lists of tensors, in place.

    Raises:
        RuntimeError: they are integers, and their number is in a tensor.
    """
    @torch.no_grad()
    def update(averaged: list[Tensor], current: list[Tensor], num_averaged: Tensor) -> None:
        if not _moved(averaged, current, lambda: 1 / (num_averaged + 1)):
            for a, c in zip(averaged, current):
                a.addcdiv_(c - a, num_averaged + 1)

    return update


class AveragedModel(Module):
    """A copy of a model whose parameters are averages.

    Args:
        model: what is copied.
        device: where the copy is.
        avg_fn: `avg_fn(average, new, count)` -> average; the mean of all where None.
        multi_avg_fn: the same for lists of tensors, in place.
        use_buffers: average buffers as well, rather than copy them.
    """

    n_averaged: Any

    def __init__(self, model: Module, device: DeviceLike | None = None,
                 avg_fn: Callable[[Tensor, Tensor, Tensor | int], Tensor] | None = None, multi_avg_fn: Fn | None = None,
                 use_buffers: bool = False) -> None:
        super().__init__()
        if avg_fn is not None and multi_avg_fn is not None:
            raise AssertionError("Only one of avg_fn and multi_avg_fn should be provided")
        self.module = deepcopy(model)
        if device is not None:
            self.module = self.module.to(device)
        self.register_buffer("n_averaged", torch.tensor(0, dtype=torch.long, device=device))
        self.avg_fn, self.multi_avg_fn, self.use_buffers = avg_fn, multi_avg_fn, use_buffers

    def forward(self, *args: object, **kwargs: object) -> Any:
        """The averaged model's output."""
        return self.module(*args, **kwargs)

    def _tensors(self, model: Module) -> list[Tensor]:
        return [t.detach() for t in (chain(model.parameters(), model.buffers()) if self.use_buffers else model.parameters())]

    def update_parameters(self, model: Module) -> None:
        """Takes the model's present parameters into the averages."""
        averaged, current = self._tensors(self.module), self._tensors(model)
        current = [c if c._k is a._k else c.to(a.device) for a, c in zip(averaged, current)]
        if self.n_averaged == 0:
            for a, c in zip(averaged, current):
                a.copy_(c)
        else:
            update = self.multi_avg_fn or (_mean_of_all if self.avg_fn is None else _each(self.avg_fn))
            update(averaged, current, self.n_averaged)
        if not self.use_buffers:
            for own, other in zip(self.module.buffers(), model.buffers()):
                own.detach().copy_(other.detach().to(own.device))
        self.n_averaged += 1


@torch.no_grad()
def update_bn(loader: Iterable[Tensor], model: Module, device: DeviceLike | None = None) -> None:
    """Computes the running statistics of all batch norms of `model` anew, over one pass of `loader` (batches, or tuples that begin
    with one)."""
    norms = [m for m in model.modules() if isinstance(m, torch.nn.modules.batchnorm._BatchNorm)]
    if not norms:
        return
    momenta, training = [m.momentum for m in norms], model.training
    model.train()
    for m in norms:
        m.reset_running_stats()
        m.momentum = None
    for batch in loader:
        batch = batch[0] if isinstance(batch, (list, tuple)) else batch
        model(batch if device is None else batch.to(device))
    for m, momentum in zip(norms, momenta):
        m.momentum = momentum
    model.train(training)


class SWALR(LRScheduler):
    """Goes from the present learning rate to `swa_lr` in `anneal_epochs`, and stays there.

    Args:
        swa_lr: one, or one for each group.
        anneal_strategy: "cos" or "linear".
    """

    def __init__(self, optimizer: Optimizer, swa_lr: float, anneal_epochs: int = 10, anneal_strategy: str = "cos",
                 last_epoch: int = -1) -> None:
        for lr, group in zip(_for_each_group("swa_lr", optimizer, swa_lr), optimizer.param_groups):
            group["swa_lr"] = lr
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}")
        if not isinstance(anneal_epochs, int) or anneal_epochs < 0:
            raise ValueError(f"anneal_epochs must be equal or greater than 0, got {anneal_epochs}")
        self._anneal_strategy, self.anneal_epochs = anneal_strategy, anneal_epochs
        self._set_anneal_func()
        super().__init__(optimizer, last_epoch)

    @staticmethod
    def _linear_anneal(t: float) -> float:
        return t

    @staticmethod
    def _cosine_anneal(t: float) -> float:
        return (1 - math.cos(math.pi * t)) / 2

    @staticmethod
    def _get_initial_lr(lr: float, swa_lr: float, alpha: float) -> float:
        """Where a rate came from that is `alpha` of the way to `swa_lr`."""
        return swa_lr if alpha == 1 else (lr - alpha * swa_lr) / (1 - alpha)

    def _set_anneal_func(self) -> None:
        self.anneal_func = self._cosine_anneal if self._anneal_strategy == "cos" else self._linear_anneal

    def state_dict(self) -> Keywords:
        """Everything but the optimizer and the function."""
        return {key: value for key, value in super().state_dict().items() if key != "anneal_func"}

    def load_state_dict(self, state_dict: Keywords) -> None:
        """Takes back what `state_dict` returned."""
        super().load_state_dict(state_dict)
        self._set_anneal_func()

    def get_lr(self) -> list[Any]:
        """The learning rates of this step."""
        self._check_called_by_step()
        step = self._step_count - 1
        if self.anneal_epochs == 0:
            step = max(1, step)
        before, now = [self.anneal_func(max(0, min(1, n / max(1, self.anneal_epochs)))) for n in (step - 1, step)]
        lrs = []
        for group in self.optimizer.param_groups:
            end = group["swa_lr"]
            lrs.append(end * now + self._get_initial_lr(group["lr"], end, before) * (1 - now))
        return lrs
