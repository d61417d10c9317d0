"""RAdam."""

from __future__ import annotations

from typing import Any

import torchcompat as torch

from .optimizer import RuleOptimizer, check, check_betas, check_lr

__all__ = ["RAdam"]


class RAdam(RuleOptimizer):
    """Adam whose adaptive rate is rectified while its variance is high, and not used at the very start (Liu et al., 2019).

    Args:
        params: see Optimizer.
        lr: learning rate.
        betas: how much of the running means of the gradient and its square is kept.
        eps: added to the root.
        weight_decay: times the parameter, added to the gradient; or, where decoupled_weight_decay, times lr, what it shrinks by.
        decoupled_weight_decay: see weight_decay.
        foreach, capturable: accepted; there is one implementation.
        maximize: go up instead of down.
        differentiable: let gradients flow through the step.
    """

    def __init__(self, params: Any, lr: Any = 1e-3, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8, weight_decay: float = 0,
                 decoupled_weight_decay: bool = False, *, foreach: bool | None = None, maximize: bool = False, capturable: bool = False,
                 differentiable: bool = False) -> None:
        check_lr(lr)
        check(eps >= 0.0, f"Invalid epsilon value: {eps}")
        check_betas(betas)
        check(weight_decay >= 0.0, f"Invalid weight_decay value: {weight_decay}")
        super().__init__(params, {
            "lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay, "maximize": maximize, "foreach": foreach,
            "capturable": capturable, "decoupled_weight_decay": decoupled_weight_decay, "differentiable": differentiable})

    def new_state(self, p: Any, group: dict[str, Any]) -> dict[str, Any]:
        """Running means of zero."""
        return {name: torch.zeros_like(p, requires_grad=False) for name in ("exp_avg", "exp_avg_sq")}

    def update(self, p: Any, grad: Any, state: dict[str, Any], group: dict[str, Any]) -> None:
        """Updates one parameter in place."""
        lr, (beta1, beta2), decay = group["lr"], group["betas"], group["weight_decay"]
        step = state["step"].item()
        if decay and group["decoupled_weight_decay"]:
            p.mul_(1 - lr * decay)
        elif decay:
            grad = grad.add(p, alpha=decay)
        mean = state["exp_avg"].lerp_(grad, 1 - beta1)
        square = state["exp_avg_sq"].mul_(beta2).addcmul_(grad, grad, value=1 - beta2)
        correction = 1 - beta2**step
        longest = 2 / (1 - beta2) - 1
        length = longest - 2 * step * beta2**step / correction  # of the running mean of squares, as a simple moving average
        update = mean / (1 - beta1**step) * lr
        if length > 5.0:
            rectify = ((length - 4) * (length - 2) * longest / ((longest - 4) * (longest - 2) * length)) ** 0.5
            update = update * (correction**0.5 / (square.sqrt() + group["eps"])) * rectify
        p.add_(update, alpha=-1.0)
