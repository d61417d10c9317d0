"""Derivatives of functions, and functions that change nothing in place, where programs for functorch look for them."""

from __future__ import annotations

from typing import Any

from .._calls.absent import absences as _absences
from ..func import functionalize as functionalize, hessian as hessian, jacfwd as jacfwd, jacrev as jacrev, jvp as jvp, vjp as vjp
from ..func import debug_unwrap as debug_unwrap, linearize as linearize
from ..func._grad import check_argnums

__all__ = ["debug_unwrap", "functionalize", "hessian", "jacfwd", "jacrev", "jvp", "linearize", "vjp"]


def _slice_argnums(args: tuple[Any, ...], argnums: int | tuple[int, ...], as_tuple: bool = True) -> Any:
    """The arguments numbered `argnums`: a tuple of them, or the one where `argnums` is a number and not `as_tuple`."""
    numbers = check_argnums(argnums, len(args))
    return args[numbers[0]] if isinstance(argnums, int) and not as_tuple else tuple([args[i] for i in numbers])


def _as_tuple(val: Any) -> Any:
    """A tuple as it is, anything else as the only element of one."""
    return val if isinstance(val, tuple) else (val,)


_absences(__name__)
