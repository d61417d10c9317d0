"""The registry of gradient functions by operation name."""

from __future__ import annotations

from typing import Callable

from .errors import ArgumentError
from .tape import GradFn

_registry: dict[str, GradFn] = {}


def register_grad_fn(op: str, grad_fn: GradFn | None = None) -> Callable[[GradFn], GradFn] | GradFn:
    """Registers `grad_fn(grad_output, saved_tensors) -> gradients`; as a function or as a decorator.

    >>> @register_grad_fn("square_of")
    ... def grad_square(grad_output, saved_tensors):
    ...     (x,) = saved_tensors
    ...     return [2 * x * grad_output]
    >>> has_grad_fn("square_of")
    True
    """
    if grad_fn is None:
        return lambda function: register_grad_fn(op, function)  # type: ignore[return-value]
    if not callable(grad_fn):
        raise ArgumentError(f"The gradient function of '{op}' cannot be called", expected="a callable",
                            found=type(grad_fn).__name__, remedy="pass grad_fn(grad_output, saved_tensors)")
    _registry[op] = grad_fn
    return grad_fn


def get_grad_fn(op: str) -> GradFn | None:
    """The gradient function registered for an operation, or None."""
    return _registry.get(op)


def has_grad_fn(op: str) -> bool:
    """Whether an operation has a gradient function."""
    return op in _registry
