"""Clipping the gradients of parameters."""

from __future__ import annotations

from typing import Any
from collections.abc import Iterable

import torchcompat as torch
from torchcompat._tensor import Tensor
from torchcompat._tensor import frontend as _frontend

from autograd_tape import warned
from autograd_tape.dtypes import Device

__all__ = ["clip_grad_norm", "clip_grad_norm_", "clip_grad_value_", "clip_grads_with_norm_", "get_total_norm"]


def _listed(parameters: Any) -> list[Tensor]:
    if isinstance(parameters, Tensor):
        return [parameters]
    listed = list(parameters)
    if not listed and hasattr(parameters, "gi_frame"):
        warned.warn("`parameters` is an empty generator, no gradient clipping will occur.")
    return listed


def _on(x: Tensor, device: Device) -> Tensor:
    """`x` on a device, which it mostly is."""
    return x if x._k.device == device else x.to(device)


def get_total_norm(tensors: Tensor | Iterable[Tensor], norm_type: float = 2.0, error_if_nonfinite: bool = False,
                   foreach: bool | None = None) -> Tensor:
    """The norm of all tensors together, as if they were one vector.

    Args:
        tensors: one or several.
        norm_type: p of the p-norm; may be inf.
        error_if_nonfinite: RuntimeError where it is nan or infinite.
        foreach: accepted.

    >>> get_total_norm([torch.tensor([3.0]), torch.tensor([4.0])])
    tensor(5.)
    """
    tensors = [tensors] if isinstance(tensors, Tensor) else list(tensors)
    norm_type = float(norm_type)
    if not tensors:
        return torch.tensor(0.0)
    device = tensors[0].device
    norms = [_frontend.linalg_vector_norm(t, norm_type) for t in tensors]
    total = _frontend.linalg_vector_norm(torch.stack([_on(norm, device) for norm in norms]), norm_type)
    if error_if_nonfinite and torch.logical_or(total.isnan(), total.isinf()):
        raise RuntimeError(f"The total norm of order {norm_type} for gradients from `parameters` is non-finite, so it cannot be "
                           f"clipped. To "
                           "disable this error and scale the gradients by the non-finite norm anyway, set `error_if_nonfinite=False`")
    return total


@torch.no_grad()
def clip_grads_with_norm_(parameters: Tensor | Iterable[Tensor], max_norm: float, total_norm: Tensor, foreach: bool | None = None) -> None:
    """Scales the gradients in place by max_norm / total_norm where that is less than 1."""
    grads = [p.grad for p in _listed(parameters) if p.grad is not None]
    if not grads:
        return
    # Always multiplied: a comparison would have to wait for the device.
    factor = torch.clamp(float(max_norm) / (total_norm + 1e-6), max=1.0)
    from torchcompat._calls.lists import changed, changes_of

    if changed(changes_of("mul")[0], [grads], factor) is None:
        for grad in grads:
            grad.mul_(_on(factor, grad.device))


_get_total_norm, _clip_grads_with_norm_ = get_total_norm, clip_grads_with_norm_


@torch.no_grad()
def clip_grad_norm_(parameters: Tensor | Iterable[Tensor], max_norm: float, norm_type: float = 2.0, error_if_nonfinite: bool = False,
                    foreach: bool | None = None) -> Tensor:
    """Scales the gradients in place such that their norm together is at most `max_norm`; returns the norm before.

    Args:
        parameters: one or several.
        the others: see `get_total_norm`.
    """
    parameters = _listed(parameters)
    total = get_total_norm([p.grad for p in parameters if p.grad is not None], norm_type, error_if_nonfinite, foreach)
    clip_grads_with_norm_(parameters, max_norm, total, foreach)
    return total


def clip_grad_norm(parameters: object, max_norm: float, norm_type: float = 2.0, error_if_nonfinite: bool = False,
                   foreach: bool | None = None) -> Tensor:
    """The old name of `clip_grad_norm_`."""
    warned.warn("`torch.nn.utils.clip_grad_norm` is now deprecated in favor of `torch.nn.utils.clip_grad_norm_`.", FutureWarning)
    return clip_grad_norm_(parameters, max_norm, norm_type, error_if_nonfinite, foreach)


@torch.no_grad()
def clip_grad_value_(parameters: Tensor | Iterable[Tensor], clip_value: float, foreach: bool | None = None) -> None:
    """Clamps the gradients in place to [-clip_value, clip_value]."""
    clip_value = float(clip_value)
    from torchcompat._calls.lists import CLIPPED, changed

    grads = [p.grad for p in _listed(parameters) if p.grad is not None]
    if grads and changed(CLIPPED, [grads], clip_value) is None:
        for grad in grads:
            grad.clamp_(min=-clip_value, max=clip_value)
