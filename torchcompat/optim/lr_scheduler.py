"""Learning rate schedules."""

from __future__ import annotations

import math
import types
from bisect import bisect_right
from collections import Counter
from functools import wraps
from typing import Any
from collections.abc import Callable, Iterable, Sequence
from weakref import ref

from autograd_tape import warned
from autograd_tape.annotations import Keywords
from torchcompat._tensor import Tensor

from .optimizer import Optimizer, number

__all__ = [
    "ChainedScheduler", "ConstantLR", "CosineAnnealingLR", "CosineAnnealingWarmRestarts", "CyclicLR", "ExponentialLR", "LRScheduler",
    "LambdaLR", "LinearLR", "MultiStepLR", "MultiplicativeLR", "OneCycleLR", "PolynomialLR", "ReduceLROnPlateau", "SequentialLR", "StepLR",
]

EPOCH_DEPRECATION_WARNING = (
    "The epoch parameter in `scheduler.step()` was not necessary and is being deprecated where possible. Please use `scheduler.step()` to "
    "step the scheduler. During the deprecation, if epoch is different from None, the closed form is used instead of the new chainable "
    "form, where available. Please open an issue if you are unable to replicate your use case: "
    "https://github.com/pytorch/pytorch/issues/new/choose.")


def _values(optimizer: Optimizer, key: str) -> list[Any]:
    return [group[key].clone() if isinstance(group[key], Tensor) else group[key] for group in optimizer.param_groups]


def _set(group: Keywords, key: str, value: float) -> None:
    if isinstance(group[key], Tensor):
        group[key].fill_(number(value))
    else:
        group[key] = value


def _for_each_group(name: str, optimizer: Optimizer, value: float | list[float]) -> list[float]:
    """`value` for each group: a list of as many, or one for all."""
    n = len(optimizer.param_groups)
    if isinstance(value, (list, tuple)):
        if len(value) != n:
            raise ValueError(f"{name} must have the same length as optimizer.param_groups. {name} has {len(value)} values, param_groups "
                             f"has "
                             f"{n}.")
        return list(value)
    return [value] * n


def _check_optimizer(optimizer: Optimizer) -> None:
    if not isinstance(optimizer, Optimizer):
        raise TypeError(f"{type(optimizer).__name__} is not an Optimizer")


class LRScheduler:
    """Sets the learning rates of an optimizer's groups at each `step`.

    Args:
        optimizer: the optimizer.
        last_epoch: steps made before; -1 to start.
    """

    _get_lr_called_within_step = False
    _is_initial = False
    optimizer: Optimizer
    last_epoch: int
    _step_count: int
    _last_lr: list[Any]

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1) -> None:
        _check_optimizer(optimizer)
        self.optimizer = optimizer
        for i, group in enumerate(optimizer.param_groups):
            if last_epoch == -1:
                lr = group["lr"]
                group.setdefault("initial_lr", lr.clone() if isinstance(lr, Tensor) else lr)
            elif "initial_lr" not in group:
                raise KeyError(f"param 'initial_lr' is not specified in param_groups[{i}] when resuming scheduler with last_epoch >= 0.\n"
                               "This typically happens when:\n1. You're trying to resume training from a checkpoint but haven't properly "
                               "loaded the optimizer state\n2. You're using last_epoch >= 0 for a fresh training run (not recommended)")
        self.base_lrs = _values(optimizer, "initial_lr")
        self.last_epoch = last_epoch
        self._watch_step()
        self._initial_step()

    def _watch_step(self) -> None:
        """Lets the optimizer note that its `step` was called, so that the wrong order of calls can be warned of."""
        step = self.optimizer.step
        if hasattr(step, "_wrapped_by_lr_sched"):
            return
        function, reference = step.__func__, ref(self.optimizer)  # type: ignore[attr-defined]  # a bound method

        @wraps(function)
        def wrapper(*args: object, **kwargs: object) -> object:
            optimizer: Any = reference()
            optimizer._opt_called = True
            return function(optimizer, *args, **kwargs)

        wrapper._wrapped_by_lr_sched = True  # type: ignore[attr-defined]  # a mark on a function
        self.optimizer.step = wrapper  # type: ignore[method-assign]  # counts calls

    def _initial_step(self) -> None:
        self._step_count = 0
        self._is_initial = True
        try:
            self.step()
        finally:
            self._is_initial = False

    def state_dict(self) -> Keywords:
        """Everything but the optimizer."""
        return {key: value for key, value in self.__dict__.items() if key != "optimizer"}

    def load_state_dict(self, state_dict: Keywords) -> None:
        """Takes back what `state_dict` returned."""
        self.__dict__.update(state_dict)

    def get_last_lr(self) -> list[float]:
        """The learning rates set last."""
        return self._last_lr

    def get_lr(self) -> list[float | Tensor]:
        """The learning rates of this step, from those before."""
        raise NotImplementedError

    def _check_called_by_step(self) -> None:
        if not self._get_lr_called_within_step:
            warned.warn("To get the last learning rate computed by the scheduler, please use `get_last_lr()`.", UserWarning)

    def step(self, epoch: int | None = None) -> None:
        """Goes on to the next learning rates; to be called after the optimizer's `step`."""
        if self._step_count == 1:
            if not hasattr(self.optimizer.step, "_wrapped_by_lr_sched"):
                warned.warn("Seems like `optimizer.step()` has been overridden after learning rate scheduler initialization. Please, "
                            "make "
                            "sure to call `optimizer.step()` before `lr_scheduler.step()`. See more details at "
                            "https://pytorch.org/docs/stable/optim.html#how-to-adjust-learning-rate", UserWarning)
            elif not getattr(self.optimizer, "_opt_called", False):
                warned.warn("Detected call of `lr_scheduler.step()` before `optimizer.step()`. In PyTorch 1.1.0 and later, you should "
                            "call "
                            "them in the opposite order: `optimizer.step()` before `lr_scheduler.step()`.  Failure to do this will "
                            "result "
                            "in PyTorch skipping the first value of the learning rate schedule. See more details at "
                            "https://pytorch.org/docs/stable/optim.html#how-to-adjust-learning-rate", UserWarning)
        self._step_count += 1
        if epoch is not None:
            warned.warn(EPOCH_DEPRECATION_WARNING, UserWarning)
        self._update_lr(epoch)

    def _update_lr(self, epoch: int | None = None) -> None:
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        self._get_lr_called_within_step = True
        try:
            closed = epoch is not None and hasattr(self, "_get_closed_form_lr")
            self._apply_lrs(self._get_closed_form_lr() if closed else self.get_lr())  # type: ignore[attr-defined]  # asked for above
        finally:
            self._get_lr_called_within_step = False

    def _apply_lrs(self, lrs: list[Any]) -> None:
        for group, lr in zip(self.optimizer.param_groups, lrs, strict=True):
            _set(group, "lr", lr)
        self._last_lr = _values(self.optimizer, "lr")

    def _unchanged(self) -> list[float]:
        return _values(self.optimizer, "lr")

    def _scaled(self, factor: float) -> list[float]:
        return [group["lr"] * factor for group in self.optimizer.param_groups]


_LRScheduler = LRScheduler


def _with_last(state: Keywords, **last: object) -> Keywords:
    """A state, with some entries in place of those that it has, at the end."""
    return {**{key: value for key, value in state.items() if key not in last}, **last}


def _function_states(functions: Iterable[object]) -> list[Any]:
    """The states of callable objects; plain functions have none that could be saved."""
    return [None if isinstance(f, types.FunctionType) else f.__dict__.copy() for f in functions]


class LambdaLR(LRScheduler):
    """The first learning rate times `lr_lambda(epoch)`; one function, or one for each group."""

    def __init__(self, optimizer: Optimizer, lr_lambda: Callable[[int], float] | list[Callable[[int], float]],
                 last_epoch: int = -1) -> None:
        self.optimizer = optimizer
        n = len(optimizer.param_groups)
        if isinstance(lr_lambda, (list, tuple)) and len(lr_lambda) != n:
            raise ValueError(f"Expected {n} lr_lambdas, but got {len(lr_lambda)}")
        self.lr_lambdas = list(lr_lambda) if isinstance(lr_lambda, (list, tuple)) else [lr_lambda] * n
        super().__init__(optimizer, last_epoch)

    def state_dict(self) -> Keywords:
        """Everything but the optimizer and functions; callable objects are saved by their attributes."""
        return _with_last(super().state_dict(), lr_lambdas=_function_states(self.lr_lambdas))

    def load_state_dict(self, state_dict: Keywords) -> None:
        """Takes back what `state_dict` returned."""
        self.__dict__.update({key: value for key, value in state_dict.items() if key != "lr_lambdas"})
        for function, state in zip(self.lr_lambdas, state_dict["lr_lambdas"]):
            if state is not None:
                function.__dict__.update(state)

    def get_lr(self) -> list[float | Tensor]:
        """The learning rates of this step."""
        self._check_called_by_step()
        return [base * f(self.last_epoch) for f, base in zip(self.lr_lambdas, self.base_lrs)]


class MultiplicativeLR(LambdaLR):
    """The learning rate before times `lr_lambda(epoch)`."""

    def __init__(self, optimizer: Optimizer, lr_lambda: Callable[[int], float] | list[Callable[[int], float]],
                 last_epoch: int = -1) -> None:
        functions = [*lr_lambda] if isinstance(lr_lambda, (list, tuple)) else [lr_lambda] * len(optimizer.param_groups)
        if len(functions) == len(optimizer.param_groups):  # else that is what is wrong
            for f in functions:
                if not callable(f):
                    raise TypeError(f"lr_lambda should be a function, but got {type(f).__name__}")
        super().__init__(optimizer, lr_lambda, last_epoch)

    def get_lr(self) -> list[Any]:
        """The learning rates of this step."""
        self._check_called_by_step()
        if self._is_initial:
            return self._unchanged()
        return [group["lr"] * f(self.last_epoch) for f, group in zip(self.lr_lambdas, self.optimizer.param_groups)]


class StepLR(LRScheduler):
    """Times `gamma` every `step_size` epochs."""

    def __init__(self, optimizer: Optimizer, step_size: int, gamma: float = 0.1, last_epoch: int = -1) -> None:
        self.step_size, self.gamma = step_size, gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        """The learning rates of this step."""
        self._check_called_by_step()
        return self._unchanged() if self.last_epoch == 0 or self.last_epoch % self.step_size else self._scaled(self.gamma)

    def _get_closed_form_lr(self) -> list[float | Tensor]:
        return [base * self.gamma ** (self.last_epoch // self.step_size) for base in self.base_lrs]


class MultiStepLR(LRScheduler):
    """Times `gamma` at each of the `milestones`."""

    def __init__(self, optimizer: Optimizer, milestones: Iterable[int], gamma: float = 0.1, last_epoch: int = -1) -> None:
        self.milestones, self.gamma = Counter(milestones), gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        """The learning rates of this step."""
        self._check_called_by_step()
        times = self.milestones.get(self.last_epoch)
        return self._scaled(self.gamma**times) if times else self._unchanged()

    def _get_closed_form_lr(self) -> list[Any]:
        passed = bisect_right(sorted(self.milestones.elements()), self.last_epoch)
        return [base * self.gamma**passed for base in self.base_lrs]


class ConstantLR(LRScheduler):
    """Times `factor` for the first `total_iters` epochs."""

    def __init__(self, optimizer: Optimizer, factor: float = 1.0 / 3, total_iters: int = 5, last_epoch: int = -1) -> None:
        if factor > 1.0 or factor < 0:
            raise ValueError("Constant multiplicative factor expected to be between 0 and 1.")
        self.factor, self.total_iters = factor, total_iters
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        """The learning rates of this step."""
        self._check_called_by_step()
        if self.last_epoch == 0:
            return self._scaled(self.factor)
        return self._unchanged() if self.last_epoch != self.total_iters else self._scaled(1.0 / self.factor)

    def _get_closed_form_lr(self) -> list[Any]:
        return [base * (self.factor + (self.last_epoch >= self.total_iters) * (1 - self.factor)) for base in self.base_lrs]


class LinearLR(LRScheduler):
    """Times a factor that goes from `start_factor` to `end_factor` in `total_iters` epochs."""

    def __init__(self, optimizer: Optimizer, start_factor: float = 1.0 / 3, end_factor: float = 1.0, total_iters: int = 5,
                 last_epoch: int = -1) -> None:
        if start_factor > 1.0 or start_factor <= 0:
            raise ValueError("Starting multiplicative factor expected to be greater than 0 and less or equal to 1.")
        if end_factor > 1.0 or end_factor < 0:
            raise ValueError("Ending multiplicative factor expected to be between 0 and 1.")
        self.start_factor, self.end_factor, self.total_iters = start_factor, end_factor, total_iters
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        """The learning rates of this step."""
        self._check_called_by_step()
        if self.last_epoch == 0:
            return self._scaled(self.start_factor)
        if self._is_initial or self.last_epoch > self.total_iters:
            return self._unchanged()
        rise = self.end_factor - self.start_factor
        return self._scaled(1.0 + rise / (self.total_iters * self.start_factor + (self.last_epoch - 1) * rise))

    def _get_closed_form_lr(self) -> list[Any]:
        rise = (self.end_factor - self.start_factor) * min(self.total_iters, self.last_epoch) / self.total_iters
        return [base * (self.start_factor + rise) for base in self.base_lrs]


class ExponentialLR(LRScheduler):
    """Times `gamma` every epoch."""

    def __init__(self, optimizer: Optimizer, gamma: float, last_epoch: int = -1) -> None:
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        """The learning rates of this step."""
        self._check_called_by_step()
        return self._unchanged() if self._is_initial else self._scaled(self.gamma)

    def _get_closed_form_lr(self) -> list[Any]:
        return [base * self.gamma**self.last_epoch for base in self.base_lrs]


class PolynomialLR(LRScheduler):
    """Falls to zero in `total_iters` epochs along (1 - epoch / total_iters)^power."""

    def __init__(self, optimizer: Optimizer, total_iters: int = 5, power: float = 1.0, last_epoch: int = -1) -> None:
        self.total_iters, self.power = total_iters, power
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        """The learning rates of this step."""
        self._check_called_by_step()
        if self._is_initial or self.last_epoch > self.total_iters:
            return self._unchanged()
        now, before = [1.0 - epoch / self.total_iters for epoch in (self.last_epoch, self.last_epoch - 1)]
        return self._scaled((now / before) ** self.power)

    def _get_closed_form_lr(self) -> list[float | Tensor]:
        rest = 1.0 - min(self.total_iters, self.last_epoch) / self.total_iters
        return [base * rest**self.power for base in self.base_lrs]


class CosineAnnealingLR(LRScheduler):
    """Swings between the first learning rate and `eta_min` along a cosine of half period `T_max` (Loshchilov and Hutter, 2016)."""

    def __init__(self, optimizer: Optimizer, T_max: int, eta_min: float = 0.0, last_epoch: int = -1) -> None:
        self.T_max, self.eta_min = T_max, eta_min
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        """The learning rates of this step."""
        self._check_called_by_step()
        if self._is_initial:
            return self._unchanged()
        low, epoch, half = self.eta_min, self.last_epoch, self.T_max
        groups = self.optimizer.param_groups
        if self._step_count == 1 and epoch > 0:
            return self._get_closed_form_lr()
        if (epoch - 1 - half) % (2 * half) == 0:
            # At the bottom the ratio below would be 0 / 0.
            return [group["lr"] + (base - low) * (1 - math.cos(math.pi / half)) / 2 for base, group in zip(self.base_lrs, groups)]
        ratio = (1 + math.cos(math.pi * epoch / half)) / (1 + math.cos(math.pi * (epoch - 1) / half))
        return [ratio * (group["lr"] - low) + low for group in groups]

    def _get_closed_form_lr(self) -> list[float | Tensor]:
        swing = (1 + math.cos(math.pi * self.last_epoch / self.T_max)) / 2
        return [self.eta_min + (base - self.eta_min) * swing for base in self.base_lrs]


class CosineAnnealingWarmRestarts(LRScheduler):
    """Falls along a cosine from the first learning rate to `eta_min` in `T_0` epochs, starts again, and takes `T_mult` times as long
    each time (Loshchilov and Hutter, 2016)."""

    def __init__(self, optimizer: Optimizer, T_0: int, T_mult: int = 1, eta_min: float = 0.0, last_epoch: int = -1) -> None:
        if T_0 <= 0 or not isinstance(T_0, int):
            raise ValueError(f"Expected positive integer T_0, but got {T_0}")
        if T_mult < 1 or not isinstance(T_mult, int):
            raise ValueError(f"Expected integer T_mult >= 1, but got {T_mult}")
        if not isinstance(eta_min, (float, int)):
            raise ValueError(f"Expected float or int eta_min, but got {eta_min} of type {type(eta_min)}")
        self.T_0 = self.T_i = T_0
        self.T_mult, self.eta_min = T_mult, eta_min
        self.T_cur: float = last_epoch
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float | Tensor]:
        """The learning rates of this step."""
        self._check_called_by_step()
        swing = 1 + math.cos(math.pi * self.T_cur / self.T_i)
        return [self.eta_min + (base - self.eta_min) * swing / 2 for base in self.base_lrs]

    def step(self, epoch: float | None = None) -> None:
        """Goes on to the next epoch, or to `epoch`, which may be fractional."""
        if epoch is None and self.last_epoch >= 0:
            epoch = self.last_epoch + 1
            self.T_cur += 1
            if self.T_cur >= self.T_i:
                self.T_cur %= self.T_i
                self.T_i *= self.T_mult
        else:
            epoch = 0 if epoch is None else epoch
            if epoch < 0:
                raise ValueError(f"Expected non-negative epoch, but got {epoch}")
            if epoch < self.T_0:
                self.T_i, self.T_cur = self.T_0, epoch
            elif self.T_mult == 1:
                self.T_cur = epoch % self.T_0
            else:
                n = int(math.log(epoch / self.T_0 * (self.T_mult - 1) + 1, self.T_mult))
                self.T_cur = epoch - self.T_0 * (self.T_mult**n - 1) / (self.T_mult - 1)
                self.T_i = self.T_0 * self.T_mult**n
        self.last_epoch = math.floor(epoch)
        self._get_lr_called_within_step = True
        try:
            self._apply_lrs(self.get_lr())
        finally:
            self._get_lr_called_within_step = False


class _Several(LRScheduler):
    """What schedules of schedules have in common."""

    _schedulers: Sequence[Any]

    def _check(self, schedulers: Sequence[LRScheduler], optimizer: Any, purpose: str) -> None:
        name = type(self).__name__
        if len(schedulers) < 1:
            raise ValueError(f"{name} expects at least one scheduler{purpose}, but got no scheduler.")
        for i, scheduler in enumerate(schedulers):
            if not hasattr(scheduler, "optimizer"):
                raise TypeError(f"{name} at index {i} should have `optimizer` as its attribute.")
            if isinstance(scheduler, ReduceLROnPlateau):
                raise ValueError(f"{name} does not support `ReduceLROnPlateau` scheduler as it requires additional kwargs to be "
                                 f"specified when "
                                 f"calling `step`, but got one at index {i} in the given schedulers sequence.")
            if optimizer is not None and scheduler.optimizer is not optimizer:
                raise ValueError(f"{name} expects all schedulers to belong to the same optimizer, but got scheduler "
                                 f"{type(scheduler).__name__} at index {i} has {scheduler.optimizer}, which is different from "
                                 f"{type(optimizer).__name__}.")

    def state_dict(self) -> Keywords:
        """Everything but the optimizer, with the states of the schedulers."""
        return _with_last(super().state_dict(), _schedulers=[s.state_dict() for s in self._schedulers])

    def load_state_dict(self, state_dict: Keywords) -> None:
        """Takes back what `state_dict` returned."""
        self.__dict__.update({key: value for key, value in state_dict.items() if key != "_schedulers"})
        for scheduler, state in zip(self._schedulers, state_dict["_schedulers"]):
            scheduler.load_state_dict(state)


class SequentialLR(_Several):
    """One schedule after the other, changing at the `milestones`."""

    def __init__(self, optimizer: Optimizer, schedulers: list[LRScheduler], milestones: list[int], last_epoch: int = -1) -> None:
        self._check(schedulers, optimizer, "")
        if len(milestones) != len(schedulers) - 1:
            raise ValueError("Sequential Schedulers expects number of schedulers provided to be one more than the number of milestone "
                             "points, "
                             f"but got number of schedulers {len(schedulers)} and the number of milestones to be equal to "
                             f"{len(milestones)}")
        self._schedulers, self._milestones = schedulers, milestones
        self.last_epoch, self.optimizer = last_epoch + 1, optimizer
        # Each scheduler made its first step when it was constructed; only that of the first one counts.
        for group in optimizer.param_groups:
            _set(group, "lr", group["initial_lr"])
        self.recursive_undo()
        first = schedulers[bisect_right(milestones, 0)]
        first._initial_step()
        self._last_lr = first.get_last_lr()

    def recursive_undo(self, sched: LRScheduler | None = None) -> None:
        """Takes back one step of every scheduler."""
        sched = self if sched is None else sched
        if hasattr(sched, "_schedulers"):
            for s in sched._schedulers:
                self.recursive_undo(s)
        elif hasattr(sched, "last_epoch"):
            sched.last_epoch -= 1

    def step(self) -> None:  # type: ignore[override]  # as torch has it
        """Goes on to the next learning rates."""
        self.last_epoch += 1
        i = bisect_right(self._milestones, self.last_epoch)
        scheduler = self._schedulers[i]
        if i > 0 and self._milestones[i - 1] == self.last_epoch:
            scheduler._update_lr(0)
        else:
            scheduler.step()
        self._last_lr = scheduler.get_last_lr()


class ChainedScheduler(_Several):
    """Several schedules at once, each changing what the one before made of the learning rates."""

    def __init__(self, schedulers: Sequence[LRScheduler], optimizer: Optimizer | None = None) -> None:
        if schedulers:
            optimizer = optimizer or getattr(schedulers[0], "optimizer", None)
        self._check(schedulers, optimizer, " to be chained")
        assert optimizer is not None
        self._schedulers, self.optimizer = schedulers, optimizer
        self._last_lr = _values(optimizer, "lr")

    def step(self) -> None:  # type: ignore[override]  # as torch has it
        """Goes on to the next learning rates."""
        for scheduler in self._schedulers:
            scheduler.step()
        self._last_lr = _values(self.optimizer, "lr")


class ReduceLROnPlateau(LRScheduler):
    """Times `factor` when a metric has not become better for more than `patience` epochs.

    Args:
        mode: "min" or "max": what is better.
        threshold, threshold_mode: by how much it has to be, "rel"ative to the best or "abs"olutely.
        cooldown: epochs to wait after a change.
        min_lr: lower bound, one or one for each group.
        eps: smaller changes are not made.
    """

    def __init__(self, optimizer: Optimizer, mode: str = "min", factor: float = 0.1, patience: int = 10, threshold: float = 1e-4,
                 threshold_mode: str = "rel", cooldown: int = 0, min_lr: list[float] | float = 0, eps: float = 1e-8) -> None:
        if factor >= 1.0:
            raise ValueError("Factor should be < 1.0.")
        _check_optimizer(optimizer)
        self.factor, self.optimizer = factor, optimizer
        n = len(optimizer.param_groups)
        if isinstance(min_lr, (list, tuple)) and len(min_lr) != n:
            raise ValueError(f"expected {n} min_lrs, got {len(min_lr)}")
        self.default_min_lr = None if isinstance(min_lr, (list, tuple)) else min_lr
        self.min_lrs = list(min_lr) if isinstance(min_lr, (list, tuple)) else [min_lr] * n
        self.patience, self.cooldown, self.eps, self.last_epoch = patience, cooldown, eps, 0
        self._last_lr = _values(optimizer, "lr")
        self._init_is_better(mode, threshold, threshold_mode)
        self._reset()

    def _init_is_better(self, mode: str, threshold: float, threshold_mode: str) -> None:
        if mode not in ("min", "max"):
            raise ValueError(f"mode {mode} is unknown!")
        if threshold_mode not in ("rel", "abs"):
            raise ValueError(f"threshold mode {threshold_mode} is unknown!")
        self.mode_worse = math.inf if mode == "min" else -math.inf
        self.mode, self.threshold, self.threshold_mode = mode, threshold, threshold_mode

    def _reset(self) -> None:
        self.best = self.mode_worse
        self.cooldown_counter = self.num_bad_epochs = 0

    def step(self, metrics: float, epoch: int | None = None) -> None:  # type: ignore[override]  # as torch has it
        """Looks at the metric of one epoch."""
        current = float(metrics)
        if epoch is not None:
            warned.warn(EPOCH_DEPRECATION_WARNING, UserWarning)
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        if self._is_better(current, self.best):
            self.best, self.num_bad_epochs = current, 0
        else:
            self.num_bad_epochs += 1
        if self.in_cooldown:
            self.cooldown_counter -= 1
            self.num_bad_epochs = 0
        if self.num_bad_epochs > self.patience:
            self._reduce_lr()
            self.cooldown_counter, self.num_bad_epochs = self.cooldown, 0
        self._last_lr = _values(self.optimizer, "lr")

    def _reduce_lr(self) -> None:
        groups = self.optimizer.param_groups
        if len(groups) != len(self.min_lrs):
            if self.default_min_lr is None:
                raise RuntimeError(f"The number of param groups in the `optimizer` ({len(groups)}) differs from when "
                                   f"`ReduceLROnPlateau` was "
                                   f"initialized ({len(self.min_lrs)}), usually due to a new param group being added to the optimizer. "
                                   "Please modify the `min_lrs` field to match the length of the `optimizer` param groups.")
            self.min_lrs = [self.default_min_lr] * len(groups)
        for group, least in zip(groups, self.min_lrs):
            old = float(group["lr"])
            new = max(old * self.factor, least)
            if old - new > self.eps:
                _set(group, "lr", new)

    @property
    def in_cooldown(self) -> bool:
        """Whether it waits after a change."""
        return self.cooldown_counter > 0

    def _is_better(self, a: float, best: float) -> bool:
        if self.mode == "min":
            return a < (best * (1.0 - self.threshold) if self.threshold_mode == "rel" else best - self.threshold)
        return a > (best * (self.threshold + 1.0) if self.threshold_mode == "rel" else best + self.threshold)

    def load_state_dict(self, state_dict: Keywords) -> None:
        """Takes back what `state_dict` returned."""
        self.__dict__.update(state_dict)
        self._init_is_better(self.mode, self.threshold, self.threshold_mode)


class _WithMomentum(LRScheduler):
    """What cyclic schedules have in common: they also move the momentum, or beta1."""

    cycle_momentum: bool
    use_beta1: bool

    def _prepare_momentum(self, optimizer: Optimizer, base: Any, most: Any, start: bool) -> tuple[list[float], list[float]]:
        if "momentum" not in optimizer.defaults and "betas" not in optimizer.defaults:
            raise ValueError("optimizer must support momentum or beta1 with `cycle_momentum` option enabled")
        self.use_beta1 = "betas" in optimizer.defaults
        lows, highs = _for_each_group("base_momentum", optimizer, base), _for_each_group("max_momentum", optimizer, most)
        if start:
            for low, high, group in zip(lows, highs, optimizer.param_groups):
                self._set_momentum(group, high)
                group["max_momentum"], group["base_momentum"] = high, low
        return lows, highs

    def _set_momentum(self, group: Keywords, value: float) -> None:
        if self.use_beta1:
            group["betas"] = (value, *group["betas"][1:])
        else:
            group["momentum"] = value


_CYCLES: dict[str, tuple[str, Callable[[float, float], float]]] = {
    "triangular": ("cycle", lambda gamma, x: 1.0),
    "triangular2": ("cycle", lambda gamma, x: 1 / 2.0 ** (x - 1)),
    "exp_range": ("iterations", lambda gamma, x: gamma**x),
}


class CyclicLR(_WithMomentum):
    """Goes up from `base_lr` to `max_lr` and down again, over and over (Smith, 2015).

    Args:
        step_size_up, step_size_down: steps of each half; the same where None.
        mode: "triangular", "triangular2" (half as high each time), "exp_range" (gamma^step as high).
        scale_fn, scale_mode: a height of the caller's, a function of the "cycle" or of the "iterations"; `mode` is ignored then.
        cycle_momentum, base_momentum, max_momentum: move the momentum the other way.
    """

    def __init__(self, optimizer: Optimizer, base_lr: float | list[float], max_lr: float | list[float], step_size_up: int = 2000,
                 step_size_down: int | None = None, mode: str = "triangular", gamma: float = 1.0,
                 scale_fn: Callable[[float], float] | None = None, scale_mode: str = "cycle", cycle_momentum: bool = True,
                 base_momentum: float = 0.8, max_momentum: float = 0.9, last_epoch: int = -1) -> None:
        _check_optimizer(optimizer)
        self.optimizer = optimizer
        base_lrs = _for_each_group("base_lr", optimizer, base_lr)
        if last_epoch == -1:
            for lr, group in zip(base_lrs, optimizer.param_groups):
                _set(group, "lr", lr)
        self.max_lrs = _for_each_group("max_lr", optimizer, max_lr)
        up = float(step_size_up)
        self.total_size = up + (up if step_size_down is None else float(step_size_down))
        self.step_ratio = up / self.total_size
        if mode not in _CYCLES and scale_fn is None:
            raise ValueError("mode is invalid and scale_fn is None")
        self.mode, self.gamma, self._scale_fn_custom = mode, gamma, scale_fn
        self.scale_mode = scale_mode if scale_fn is not None else _CYCLES[mode][0]
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            self.base_momentums, self.max_momentums = self._prepare_momentum(optimizer, base_momentum, max_momentum, last_epoch == -1)
        super().__init__(optimizer, last_epoch)
        self.base_lrs = base_lrs

    def scale_fn(self, x: float) -> float:
        """The height of cycle or step `x`, relative to the first."""
        return _CYCLES[self.mode][1](self.gamma, x) if self._scale_fn_custom is None else self._scale_fn_custom(x)

    def get_lr(self) -> list[float | Tensor]:
        """The learning rates of this step; sets the momentum as well."""
        self._check_called_by_step()
        cycle = math.floor(1 + self.last_epoch / self.total_size)
        x = 1.0 + self.last_epoch / self.total_size - cycle
        part = x / self.step_ratio if x <= self.step_ratio else (x - 1) / (self.step_ratio - 1)
        height = part * self.scale_fn(cycle if self.scale_mode == "cycle" else self.last_epoch)
        if self.cycle_momentum:
            for group, low, high in zip(self.optimizer.param_groups, self.base_momentums, self.max_momentums):
                self._set_momentum(group, high - (high - low) * height)
        return [low + (high - low) * height for low, high in zip(self.base_lrs, self.max_lrs)]

    def state_dict(self) -> Keywords:
        """Everything but the optimizer; a function of the caller's is saved only if it is an object, by its attributes."""
        custom = self._scale_fn_custom
        return _with_last(super().state_dict(), _scale_fn_custom=None if custom is None else _function_states([custom])[0])

    def load_state_dict(self, state_dict: Keywords) -> None:
        """Takes back what `state_dict` returned."""
        self.__dict__.update({key: value for key, value in state_dict.items() if key != "_scale_fn_custom"})
        if state_dict.get("_scale_fn_custom") is not None:
            self._scale_fn_custom.__dict__.update(state_dict["_scale_fn_custom"])


def _cosine(start: float, end: float, part: float) -> float:
    return end + (start - end) / 2.0 * (math.cos(math.pi * part) + 1)


def _linear(start: float, end: float, part: float) -> float:
    return (end - start) * part + start


class OneCycleLR(_WithMomentum):
    """Up to `max_lr` once and then down far below the start (Smith and Topin, 2017); `step` is called after each batch.

    Args:
        max_lr: one, or one for each group.
        total_steps: or epochs and steps_per_epoch.
        pct_start: the part of the steps that goes up.
        anneal_strategy: "cos" or "linear".
        cycle_momentum, base_momentum, max_momentum: move the momentum the other way.
        div_factor: max_lr / the first learning rate.
        final_div_factor: the first learning rate / the last.
        three_phase: come down to the start as slowly as up, then further.
    """

    def __init__(self, optimizer: Optimizer, max_lr: float | list[float], total_steps: int | None = None, epochs: int | None = None,
                 steps_per_epoch: int | None = None, pct_start: float = 0.3, anneal_strategy: str = "cos", cycle_momentum: bool = True,
                 base_momentum: float | list[float] = 0.85, max_momentum: float | list[float] = 0.95, div_factor: float = 25.0,
                 final_div_factor: float = 1e4, three_phase: bool = False, last_epoch: int = -1) -> None:
        _check_optimizer(optimizer)
        self.optimizer = optimizer
        self.total_steps = self._count(total_steps, epochs, steps_per_epoch)
        names = [("initial_lr", "max_lr", "max_momentum", "base_momentum")]
        ends: list[float] = [float(pct_start * self.total_steps) - 1]
        if three_phase:
            names += [("max_lr", "initial_lr", "base_momentum", "max_momentum"), ("initial_lr", "min_lr", "max_momentum", "max_momentum")]
            ends += [float(2 * pct_start * self.total_steps) - 2]
        else:
            names += [("max_lr", "min_lr", "base_momentum", "max_momentum")]
        keys = ("end_step", "start_lr", "end_lr", "start_momentum", "end_momentum")
        self._schedule_phases: list[Keywords] = [dict(zip(keys, (end, *n))) for end, n in zip([*ends, self.total_steps - 1], names)]
        if pct_start < 0 or pct_start > 1 or not isinstance(pct_start, float):
            raise ValueError(f"Expected float between 0 and 1 pct_start, but got {pct_start}")
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}")
        self._anneal_func_type = anneal_strategy
        if last_epoch == -1:
            for most, group in zip(_for_each_group("max_lr", optimizer, max_lr), optimizer.param_groups):
                group["initial_lr"], group["max_lr"] = most / div_factor, most
                group["min_lr"] = group["initial_lr"] / final_div_factor
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            self._prepare_momentum(optimizer, base_momentum, max_momentum, last_epoch == -1)
        super().__init__(optimizer, last_epoch)

    @staticmethod
    def _count(total_steps: int | None, epochs: int | None, steps_per_epoch: int | None) -> int:
        if total_steps is None and (epochs is None or steps_per_epoch is None):
            raise ValueError("You must define either total_steps OR (epochs AND steps_per_epoch)")
        total = 1
        given: Keywords = {"epochs": epochs,
                                 "steps_per_epoch": steps_per_epoch} if total_steps is None else {"total_steps": total_steps}
        for name, n in given.items():
            if not isinstance(n, int) or n <= 0:
                raise ValueError(f"Expected positive integer {name}, but got {n}")
            total *= n
        return total

    def get_lr(self) -> list[Any]:
        """The learning rates of this step; sets the momentum as well."""
        self._check_called_by_step()
        step = self.last_epoch
        if step > self.total_steps:
            raise ValueError(f"Tried to step {step} times. The specified number of total steps is {self.total_steps}")
        start = 0.0
        for phase in self._schedule_phases:
            if step <= phase["end_step"] or phase is self._schedule_phases[-1]:
                break
            start = phase["end_step"]
        part = (step - start) / (phase["end_step"] - start)
        anneal = _cosine if self._anneal_func_type == "cos" else _linear
        lrs = []
        for group in self.optimizer.param_groups:
            lrs.append(anneal(group[phase["start_lr"]], group[phase["end_lr"]], part))
            if self.cycle_momentum:
                self._set_momentum(group, anneal(group[phase["start_momentum"]], group[phase["end_momentum"]], part))
        return lrs
