"""Muon."""

from __future__ import annotations

import math

from autograd_tape.annotations import Keywords
import torchcompat as torch

from .._calls.absent import absences as _absences
from ._rule import RuleOptimizer, check
from .._calls.shown import shown_in
from torchcompat._tensor import Tensor
from torchcompat.optim.optimizer import ParamsT

__all__ = ["Muon"]

EPS = 1e-7
DEFAULT_A, DEFAULT_B, DEFAULT_C = 3.4445, -4.7750, 2.0315
DEFAULT_NS_STEPS = 5

_RATES = {"original": lambda rows, columns: math.sqrt(max(1, rows / columns)),
          "match_rms_adamw": lambda rows, columns: 0.2 * math.sqrt(max(rows, columns))}


def _zeropower_via_newtonschulz(grad: Tensor, ns_coefficients: tuple[float, float, float], ns_steps: int, eps: float) -> Tensor:
    """About the orthogonal matrix nearest to a matrix, in bfloat16, by Newton and Schulz's iteration with a polynomial of fifth degree.

    Raises:
        ValueError: a hundred steps or more; no matrix; not three coefficients.
    """
    if ns_steps >= 100:
        raise ValueError("Number of steps must be less than 100 for computational efficiency")
    if grad.dim() != 2:
        raise ValueError("Input tensor gradient must be a 2D matrix")
    if len(ns_coefficients) != 3:
        raise ValueError("Coefficients must be a tuple of exactly 3 values")
    a, b, c = ns_coefficients
    tall = grad.size(0) > grad.size(1)
    x = grad.to(torch.bfloat16).T if tall else grad.to(torch.bfloat16)
    x.div_(x.norm().clamp(min=eps))
    for _ in range(ns_steps):
        gram = x @ x.T
        x = torch.addmm(x, torch.addmm(gram, gram, gram, beta=b, alpha=c), x, beta=a)
    return x.T if tall else x


def _adjust_lr(lr: float, adjust_lr_fn: str | None, param_shape: tuple[int, ...]) -> float:
    """The learning rate for a matrix of a shape, so that updates of all shapes are as large."""
    ratio = _RATES.get(adjust_lr_fn or "original")
    return lr * (ratio(*param_shape[:2]) if ratio else 1.0)


class Muon(RuleOptimizer):
    """Running means of the gradients of matrices, made about orthogonal (Jordan et al., 2024).

    Args:
        params: see Optimizer; matrices of reals.
        lr: learning rate.
        weight_decay: times lr, what the parameter shrinks by.
        momentum: how much of the running mean is kept at each step.
        nesterov: look ahead: mean the running mean and the gradient once more.
        ns_coefficients: of the polynomial that brings singular values near to one.
        eps: the least norm that a running mean is divided by.
        ns_steps: how many times the polynomial is applied.
        adjust_lr_fn: how the rate goes by a matrix's shape: "original" (None too), or "match_rms_adamw", for rates that suit AdamW.
    """

    counts = False

    def __init__(self, params: ParamsT, lr: float = 1e-3, weight_decay: float = 0.1, momentum: float = 0.95, nesterov: bool = True,
                 ns_coefficients: tuple[float, float, float] = (DEFAULT_A, DEFAULT_B, DEFAULT_C), eps: float = EPS,
                 ns_steps: int = DEFAULT_NS_STEPS, adjust_lr_fn: str | None = None) -> None:
        if isinstance(lr, torch.Tensor) and lr.numel() != 1:
            raise ValueError("Tensor lr must be 1-element")
        check(lr >= 0.0, f"Learning rate should be >= 0 but is: {lr}")
        check(momentum >= 0.0, f"momentum should be >= 0 but is: {momentum}")
        check(weight_decay >= 0.0, f"weight decay should be >= 0 but is: {weight_decay}")
        check(adjust_lr_fn is None or adjust_lr_fn in _RATES, f"Adjust learning rate function {adjust_lr_fn} is not supported")
        super().__init__(params, {
            "lr": lr, "weight_decay": weight_decay, "momentum": momentum, "nesterov": nesterov, "ns_coefficients": ns_coefficients,
            "eps": eps, "ns_steps": ns_steps, "adjust_lr_fn": adjust_lr_fn})
        for group in self.param_groups:
            for p in group["params"]:
                check(p.dim() == 2, f"Muon only supports 2D parameters whereas we found a parameter with size: {p.size()}")

    def state_of(self, p: Tensor, group: Keywords) -> Keywords:
        """The state of a real parameter."""
        if p.is_complex():
            raise RuntimeError("Muon does not support complex parameters")
        state = self.state[p]
        if "momentum_buffer" not in state:
            assert p.grad is not None
            state["momentum_buffer"] = torch.zeros_like(p.grad)
        return state

    @staticmethod
    def update(p: Tensor, grad: Tensor, state: Keywords, group: Keywords) -> None:
        """Updates one parameter in place."""
        if grad.dim() != 2:
            raise ValueError("Param gradient must be a 2D matrix")
        lr, momentum = group["lr"], group["momentum"]
        mean = state["momentum_buffer"].lerp_(grad, 1 - momentum)
        update = grad.lerp(mean, momentum) if group["nesterov"] else mean
        update = _zeropower_via_newtonschulz(update, group["ns_coefficients"], group["ns_steps"], group["eps"])
        p.mul_(1 - lr * group["weight_decay"])
        if p.element_size() > 2:
            update = update.to(p.dtype)
        p.add_(update, alpha=-_adjust_lr(lr, group["adjust_lr_fn"], p.shape))


shown_in("torchcompat.optim", Muon)


def muon(params: list[Tensor], grads: list[Tensor], muon_momentum_bufs: list[Tensor], *, foreach: bool | None = None, lr: float,
         weight_decay: float, momentum: float, nesterov: bool, ns_coefficients: tuple[float, float, float], ns_steps: int, eps: float,
         adjust_lr_fn: str | None, has_complex: bool) -> None:
    """One step of Muon for lists of parameters, gradients and running means."""
    if foreach:
        raise RuntimeError("Foreach is not supported for Muon yet")
    if has_complex:
        raise ValueError("Complex parameters are not supported")
    Muon.update_lists(params, grads, {"momentum_buffer": muon_momentum_bufs}, lr=lr, weight_decay=weight_decay, momentum=momentum,
                      nesterov=nesterov, ns_coefficients=ns_coefficients, ns_steps=ns_steps, eps=eps, adjust_lr_fn=adjust_lr_fn)


_absences(__name__)
