"""torch.cuda.random where there is no CUDA: seeds are taken, and never used."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from autograd_tape.annotations import DeviceLike
from .._calls.absent import absences as _absences
from .._calls.devices import functions, giving, nothing, refusing

if TYPE_CHECKING:
    from .._calls.of_cuda import *

__all__ = ["get_rng_state", "get_rng_state_all", "initial_seed", "manual_seed", "manual_seed_all", "seed", "seed_all", "set_rng_state",
           "set_rng_state_all"]
globals().update(functions("torch.cuda.random", [
    (nothing, "seed(); seed_all()"), (giving(list), "get_rng_state_all()"),
    (refusing("cuda"), "get_rng_state(device='cuda'); initial_seed()"),
]))


def manual_seed(seed: int) -> None:
    """Nothing to seed."""
    int(seed)


def manual_seed_all(seed: int) -> None:
    """Nothing to seed."""
    int(seed)


def set_rng_state(new_state: Any, device: DeviceLike = "cuda") -> None:
    """Nothing has a state."""
    new_state.clone()


def set_rng_state_all(new_states: Iterable[Any]) -> None:
    """Nothing has a state."""
    for state in new_states:
        set_rng_state(state)


_absences(__name__)
