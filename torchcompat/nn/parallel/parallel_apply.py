"""Modules on several devices, which are not there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ... import Tensor
from ..._calls.absent import absences as _absences
from ..modules.module import Module

__all__ = ["get_a_var", "parallel_apply"]


def get_a_var(obj: object) -> Tensor | None:
    """The first tensor in lists, tuples and dictionaries; None where there is none."""
    if isinstance(obj, Tensor):
        return obj
    inner = obj.items() if isinstance(obj, dict) else obj if isinstance(obj, (list, tuple)) else ()
    return next((found for found in map(get_a_var, inner) if found is not None), None)


def parallel_apply(modules: Sequence[Module], inputs: Sequence[object], kwargs_tup: Sequence[object] | None = None,
                   devices: Sequence[object] | None = None) -> list[Any]:
    """Refuses: there are no devices to run modules on."""
    if len(modules) != len(inputs):
        raise AssertionError(f"The number of modules {len(modules)} is not equal to the number of inputs {len(inputs)}")
    raise RuntimeError("Cannot access accelerator device when none is available.")


_absences(__name__)
