"""A loop over tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["while_loop"]


def while_loop(cond_fn: Callable[..., Any], body_fn: Callable[..., Any], carried_inputs: tuple[Any, ...] | list[Any]) -> tuple[Any, ...]:
    """Calls `body_fn(*carried)`, which gives what is carried on, as long as `cond_fn(*carried)` is true; returns what is carried last.

    Raises:
        RuntimeError: one of them is no function; what is carried changes in number.
    """
    if not callable(cond_fn) or not callable(body_fn):
        raise RuntimeError("Expect cond_fn and body_fn to be callable.")
    if not isinstance(carried_inputs, (tuple, list)):
        raise RuntimeError(f"Expect carried_inputs to be a tuple or list but got {type(carried_inputs)}.")
    carried = tuple(carried_inputs)
    while cond_fn(*carried):
        found = body_fn(*carried)
        if not isinstance(found, (tuple, list)) or len(found) != len(carried):
            raise RuntimeError(f"body_fn should return the same number of elements as carried_inputs, but got {found} for {len(carried)}")
        carried = tuple(found)
    return carried
