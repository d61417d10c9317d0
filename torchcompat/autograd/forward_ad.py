"""Forward-mode automatic differentiation with dual tensors.

>>> import torchcompat as torch
>>> import torchcompat.autograd.forward_ad as fwAD
>>> with fwAD.dual_level():
...     x = fwAD.make_dual(torch.tensor([1., 2.]), torch.tensor([1., 0.]))
...     fwAD.unpack_dual(x * x).tangent
tensor([2., 0.])
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from autograd_tape.modes import GradMode, grad_mode

from .._calls.absent import absent
from .._tensor import Tensor, frontend
from ..func._forward import give_tangent
from ..func._levels import DUAL, FORWARD, Level, below, state
from ..func._whole import set_tangent, shadow, tangent_of


class UnpackedDualTensor(NamedTuple):
    """The primal and the tangent of a dual tensor; no tangent (None) for an ordinary one."""

    primal: Any
    tangent: Any


def _open() -> list[Level]:
    """The dual levels of this thread, those that functions of torch.func entered among them."""
    return [level for level in state.stack if level.kind is FORWARD and level.number < state.ceiling]


def enter_dual_level() -> int:
    """Enters a forward-mode level; RuntimeError where one is entered already."""
    if _open():
        raise RuntimeError("Nested forward mode AD is not supported at the moment")
    Level(FORWARD, 0, DUAL).enter()
    return 0


def exit_dual_level(*, level: int | None = None) -> None:
    """Leaves the forward-mode level; its tangents are gone."""
    found = _open()
    if not found or level is not None and level < 0:
        raise RuntimeError("Dual level must be a positive number.")
    if level is not None and level != len(found) - 1:
        raise RuntimeError("Trying to exit a forward AD level that was not the last one that was created. This is not supported.")
    found[-1].leave()


def _level(level: int | None) -> Level | None:
    found = _open()
    if level is None:
        return found[-1] if found else None
    return found[level] if 0 <= level < len(found) else None


def make_dual(tensor: Tensor, tangent: Tensor, *, level: int | None = None) -> Tensor:
    """A view of `tensor` with a tangent, which operations carry on to their results.

    Raises:
        RuntimeError: no level is entered, or shapes or dtypes differ.
        ValueError: either is no floating-point tensor.
    """
    at = _level(level)
    if at is None:
        raise RuntimeError("Trying to create a dual Tensor for forward AD but no level exists, make sure to enter_dual_level() first.")
    if not (tensor.is_floating_point() or tensor.is_complex()):
        raise ValueError(f"Expected primal to be floating point or complex, but got: {tensor.dtype}")
    if not (tangent.is_floating_point() or tangent.is_complex()):
        raise ValueError(f"Expected tangent to be floating point or complex, but got: {tangent.dtype}")
    if tangent_of(tensor, at) is not None:
        raise RuntimeError(f"Making a dual Tensor based on a Tensor that already has a forward gradient at the same level "
                           f"{len(_open()) - 1} is "
                           "not supported.")
    if tangent_of(tangent, at) is not None:
        raise RuntimeError(f"Setting a forward grad that itself has a forward gradient at the same level{len(_open()) - 1} is not "
                           "supported.")
    if tangent.shape != tensor.shape:
        raise RuntimeError("Trying to set a forward gradient that has a different size than that of the original Tensor, this is not "
                           f"supported. Tensor is of size {list(tensor.shape)} while the given forward gradient is of size "
                           f"{list(tangent.shape)}.")
    dual = primal_of(tensor, at)
    give_tangent(dual, at, tangent)
    return dual


def unpack_dual(tensor: Tensor, *, level: int | None = None) -> UnpackedDualTensor:
    """The primal of a dual tensor, as a view, and its tangent."""
    at = _level(level)
    if at is None:
        return UnpackedDualTensor(tensor, None)
    if not isinstance(tensor, Tensor):
        raise TypeError(f"_unpack_dual(): argument 'dual' (position 1) must be Tensor, not {type(tensor).__name__}")
    tangent = tangent_of(tensor, at)
    if tangent is None:
        return UnpackedDualTensor(tensor, None)
    return UnpackedDualTensor(primal_of(tensor, at), tangent)


def primal_of(tensor: Tensor, at: Level) -> Tensor:
    """A view of a tensor without its tangent at a level."""
    if grad_mode() is GradMode.INFERENCE:
        view = shadow(tensor)
    else:
        with below(at):
            view = frontend.view(tensor, tuple(tensor.shape)) if tensor._k.special is None else frontend.basic_alias(tensor, (Ellipsis,))
    set_tangent(view, at, None)
    return view


if not TYPE_CHECKING:  # what stands here is known, and no other name
    def __getattr__(name: str) -> int:
        if name == "_current_level":
            return len(_open()) - 1
        raise absent(__name__, name)


class dual_level:
    """A block in which dual tensors can be made.

    >>> import torchcompat as torch
    >>> with dual_level():
    ...     unpack_dual(make_dual(torch.ones(1), torch.ones(1)).exp() * 0).tangent
    tensor([0.])
    """

    def __enter__(self) -> int:
        return enter_dual_level()

    def __exit__(self, *exc: object) -> None:
        exit_dual_level()

    def __call__(self, function: Any) -> Any:
        import functools

        @functools.wraps(function)
        def wrapper(*args: Any, **kwargs: Any) -> object:
            with dual_level():
                return function(*args, **kwargs)

        return wrapper


__all__ = ["UnpackedDualTensor", "dual_level", "enter_dual_level", "exit_dual_level", "make_dual", "unpack_dual"]
