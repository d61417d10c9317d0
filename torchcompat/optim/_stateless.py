"""Optimizers on other parameters and states for a while."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager

from autograd_tape.annotations import Keywords
from torchcompat._tensor import Tensor

from .optimizer import Optimizer

__all__ = ["swap_in_optimizer_params_and_state"]

_NAME = "swap_in_optimizer_params_and_state"


def _check(holds: bool, message: str) -> None:
    if not holds:
        raise RuntimeError(message)


def _check_state(state: object) -> None:
    """RuntimeError unless `state` is as `Optimizer.state_dict` has it."""
    _check(isinstance(state, dict), f"{_NAME} requires swapin_optim_state['state'] to be a dict mapping packed parameter ids to per-param "
                                    f"state dicts, got {type(state).__name__}.")
    assert isinstance(state, dict)
    _check(not any([isinstance(key, Tensor) for key in state]),
           f"{_NAME} requires optimizer.state_dict()-style state keyed by packed parameter ids.")
    _check(all([isinstance(own, dict) for key, own in state.items() if isinstance(key, int)]),
           f"{_NAME} requires per-parameter optimizer state entries to be dictionaries.")


def _check_group(i: int, group: Keywords, other: Keywords) -> None:
    """RuntimeError unless `other` is as `Optimizer.state_dict` has a group like `group`."""
    _check(isinstance(other, dict), f"{_NAME} requires each optimizer param group to be a dictionary.")
    numbers = other.get("params", ())
    _check(isinstance(numbers, list) and all([isinstance(n, int) for n in numbers]),
           f"{_NAME} requires optimizer.state_dict()-style param_groups[*]['params'] entries keyed by packed parameter ids.")
    _check(len(group["params"]) == len(numbers),
           f"swapin_optim_state param group {i} has a different number of params than the live optimizer param group.")
    extra, missing = [key for key in other if key not in group], [key for key in group if key not in other]
    _check(not extra and not missing,
           f"{_NAME} requires optimizer.state_dict()-style param group keys to exactly match the live optimizer group keys for group {i}. "
           f"Keys only in swap-in: {extra}. Keys only in live: {missing}.")


@contextmanager
def swap_in_optimizer_params_and_state(optimizer: Optimizer, swapin_parameters: dict[str, Tensor],
                                       swapin_optim_state: Keywords) -> Iterator[None]:
    """Lets an optimizer work on other parameters with another state; its own ones are back after the block.

    Args:
        optimizer: one that has made a step.
        swapin_parameters: the parameters, in the order in which the optimizer has its own.
        swapin_optim_state: a state and options as `optimizer.state_dict()` has them; tensors in it are updated in place, and what else
            happens to it in the block is forgotten.

    Raises:
        RuntimeError: the optimizer has no state, or what is to be swapped in has not its form.
    """
    _check(bool(optimizer.state), f"{_NAME} requires initialized optimizer state.")
    _check(isinstance(swapin_optim_state, dict), f"{_NAME} requires a DCP-style optimizer state_dict.")
    state, groups = swapin_optim_state.get("state"), swapin_optim_state.get("param_groups")
    _check_state(state)
    _check(isinstance(groups, list), f"{_NAME} requires swapin_optim_state['param_groups'] to be a list of param-group dicts, "
                                     f"got {type(groups).__name__}.")
    assert isinstance(state, dict) and isinstance(groups, list)
    _check(len(groups) == len(optimizer.param_groups),
           "swapin_optim_state has a different number of parameter groups than the live optimizer.")
    rest, taken = list(swapin_parameters.values()), []
    for i, (group, other) in enumerate(zip(optimizer.param_groups, groups)):
        _check_group(i, group, other)
        n = len(other["params"])
        _check(n <= len(rest), f"{_NAME} requires the explicit parameter state to match optimizer.param_groups ordering.")
        taken.append(rest[:n])
        rest = rest[n:]
    known = {number for other in groups for number in other["params"]}
    extra = [key for key in state if key not in known]
    _check(not extra, f"{_NAME} requires swapin_optim_state['state'] to be keyed only by packed parameter ids from "
                      f"param_groups[*]['params']; got extra keys {extra!r}.")

    own_state, own_groups = optimizer.state, [dict(group) for group in optimizer.param_groups]
    try:
        swapped: defaultdict[Tensor, Keywords] = defaultdict(dict)
        for group, other, params in zip(optimizer.param_groups, groups, taken):
            group.update({**other, "params": params})
            swapped.update({p: dict(state.get(number, {})) for p, number in zip(params, other["params"])})
        optimizer.state = swapped
        yield
    finally:
        for group, own in zip(optimizer.param_groups, own_groups):
            group.clear()
            group.update(own)
        optimizer.state = own_state
