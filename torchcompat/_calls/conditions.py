"""Conditions that programs state (`torch._check` and its kin): an error of the kind asked for where one does not hold.

>>> import torchcompat as torch
>>> torch._check_index(3 < 2, lambda: "3 is out of range")
Traceback (most recent call last):
...
IndexError: 3 is out of range
"""

from __future__ import annotations

from collections.abc import Callable

from .. import _tensor

_UNTOLD = ("Expected cond to be True, but got False. (Could this error message be improved? If so, please report an enhancement request to "
           "PyTorch.)")

Message = Callable[[], object] | None


def _held(error: type[Exception], cond: bool, message: Message) -> None:
    if not issubclass(error, Exception) or issubclass(error, Warning):
        raise AssertionError(f"error_type must be a subclass of Exception but not Warning, got {error}")
    if cond:
        return
    if message is not None and not callable(message):
        raise TypeError("message must be a callable")
    raise error(_UNTOLD if message is None else str(message()))


def _check_with(error_type: type[Exception], cond: bool, message: Message) -> None:
    """Raises `error_type` with what `message` gives unless `cond`, a bool (TypeError otherwise)."""
    if isinstance(cond, _tensor.Tensor):
        raise TypeError("cond must be a bool, but got a Tensor. For tensor conditions, use torch._check_tensor_all() to assert that all "
                        "elements are true.")
    if not isinstance(cond, bool):
        raise TypeError(f"cond must be a bool, but got {type(cond)}")
    _held(error_type, cond, message)


def _check(cond: bool, message: Message = None) -> None:
    """A RuntimeError unless `cond`."""
    _check_with(RuntimeError, cond, message)


def _check_index(cond: bool, message: Message = None) -> None:
    """An IndexError unless `cond`."""
    _check_with(IndexError, cond, message)


def _check_value(cond: bool, message: Message = None) -> None:
    """A ValueError unless `cond`."""
    _check_with(ValueError, cond, message)


def _check_type(cond: bool, message: Message = None) -> None:
    """A TypeError unless `cond`."""
    _check_with(TypeError, cond, message)


def _check_not_implemented(cond: bool, message: Message = None) -> None:
    """A NotImplementedError unless `cond`."""
    _check_with(NotImplementedError, cond, message)


def _check_tensor_all_with(error_type: type[Exception], cond: _tensor.Tensor, message: Message = None) -> None:
    """Raises `error_type` unless all elements of `cond`, a tensor of bools (TypeError otherwise), hold."""
    if not isinstance(cond, _tensor.Tensor):
        raise TypeError(f"cond must be a tensor, but got {type(cond)}")
    if str(cond.dtype) != "torch.bool":
        raise TypeError(f"cond tensor must have dtype torch.bool, but got {cond.dtype}")
    _held(error_type, bool(cond.all()), message)


def _check_tensor_all(cond: _tensor.Tensor, message: Message = None) -> None:
    """A RuntimeError unless all elements of `cond` hold."""
    _check_tensor_all_with(RuntimeError, cond, message)
