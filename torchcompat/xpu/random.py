"""torch.xpu.random where there is no XPU: seeds are taken, and never used."""

from __future__ import annotations

from autograd_tape.annotations import DeviceLike

from typing import TYPE_CHECKING

from .._calls.absent import absences as _absences
from .._calls.devices import functions, giving, nothing, refusing
from ..cuda.random import manual_seed, manual_seed_all, set_rng_state as _set, set_rng_state_all

if TYPE_CHECKING:
    from .._calls.of_xpu import *

__all__ = ["get_rng_state", "get_rng_state_all", "initial_seed", "manual_seed", "manual_seed_all", "seed", "seed_all", "set_rng_state",
           "set_rng_state_all"]
globals().update(functions("torch.xpu.random", [
    (nothing, "seed(); seed_all()"), (giving(list), "get_rng_state_all()"),
    (refusing("xpu"), "get_rng_state(device='xpu'); initial_seed()"),
]))


def set_rng_state(new_state: object, device: DeviceLike = "xpu") -> None:
    """Nothing has a state."""
    _set(new_state)


_absences(__name__)
