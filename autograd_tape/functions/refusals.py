"""What torch's kernels refuse, and its meta functions do not: they come to no kernel."""

from __future__ import annotations

from typing import Any

from collections.abc import Callable, Sequence

from ..dtypes import BOOL, FLOATING, INTEGER, SCALAR_TYPE_NAMES, DType
from ..errors import ArgumentError, AutogradError, UnsupportedDTypeError, type_name
from ..modes import GradMode, grad_mode
from ..tensor import TensorRef


_WRITTEN_IN_PYTHON = ("__rsub__", "__pow__", "__ipow__")
"""torch's operators that leave to the other operand what they do not know, whatever it is."""


def no_operand(operator: str, value: Any, frontend: Any) -> Any:
    """NotImplemented, or the error, for a method that is an operator of tensors, called on something else."""
    if operator in _WRITTEN_IN_PYTHON:
        return NotImplemented
    raise frontend.error(ArgumentError(
        f"descriptor '{operator}' for 'torch._C.TensorBase' objects doesn't apply to a '{type_name(value)}' object"))


def check_elements(tensors: Sequence[Any], position: int) -> None:
    """Raises torch's error for the first element of a list of tensors that is none."""
    for i, x in enumerate(tensors):
        if not (isinstance(x, TensorRef) or hasattr(x, "__torch_function__")):
            raise ArgumentError(f"expected Tensor as element {i} in argument {position - 1}, but got {type_name(x)}",
                                expected="Tensor", found=type_name(x), remedy="convert it with tensor(...)")


def wants_grad(value: Any) -> bool:
    """Whether an argument requires grad, and that is recorded."""
    return getattr(value, "_node", None) is not None and grad_mode() is GradMode.ENABLED


def grad_refusal(function: str, argument: str) -> AutogradError:
    """torch's error for a tensor that requires grad as an argument for which it has no derivative."""
    return AutogradError(f"The function '{function}' is not differentiable with respect to argument '{argument}'. This input cannot "
                         "have requires_grad True.", remedy=f"detach {argument}")


MetaRefusal = Callable[[DType], "Exception | None"]
"""torch's error for a meta tensor of a dtype that kernels do not take; None where its meta function takes it."""


def on_meta(*values: object) -> bool:
    """Whether one of the arguments is a meta tensor.

    >>> on_meta(2.0, None)
    False
    """
    return any([isinstance(x, TensorRef) and x._k.device.type == "meta" for x in values])


def no_kernel(kernel: str, x: TensorRef, dtype: DType | None = None, meta: MetaRefusal | None = None) -> None:
    """Raises torch's error where `kernel` does not take the dtype of `x`, or `dtype`: NotImplementedError. A meta tensor comes to no
    kernel; it is refused only where `meta` says so."""
    dtype = dtype or x._k.dtype
    if not on_meta(x):
        raise UnsupportedDTypeError(f"\"{kernel}\" not implemented for '{SCALAR_TYPE_NAMES[dtype.name]}'",
                                    remedy="convert the tensor first")
    error = meta(dtype) if meta is not None else None
    if error is not None:
        raise error


# -- what torch's meta functions refuse, by the steps that they are made of ----------------------------------------------


def negated(dtype: DType) -> Exception | None:
    """They take the negative."""
    return AutogradError("Negation, the `-` operator, on a bool tensor is not supported. If you are trying to invert a mask, use the `~` "
                         "or `logical_not()` operator instead.") if dtype.category == BOOL else None


def subtracted(dtype: DType) -> Exception | None:
    """They subtract two of the dtype."""
    return AutogradError("Subtraction, the `-` operator, with two bool tensors is not supported. Use the `^` or `logical_xor()` operator "
                         "instead.") if dtype.category == BOOL else None


def averaged(dtype: DType) -> Exception | None:
    """They take a mean."""
    return None if dtype.category >= FLOATING else AutogradError(
        f"mean(): could not infer output dtype. Input dtype must be either a floating point or complex dtype. Got: torch.{dtype.name}")


def never(text: str) -> MetaRefusal:
    """They refuse what kernels do, in other words."""
    return lambda dtype: AutogradError(text.replace("{dtype}", dtype.name))


def cast_unsafely(argument: str, error: type[Exception] = AutogradError) -> MetaRefusal:
    """They check that a number given as a float fits into the dtype."""
    def refusal(dtype: DType) -> Exception | None:
        to = {BOOL: "bool", INTEGER: "int"}.get(dtype.category)
        return error(f"{argument} argument of type <class 'float'> cannot be safely cast to type <class '{to}'>!") if to else None

    return refusal
