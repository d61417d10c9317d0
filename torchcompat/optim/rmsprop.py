"""RMSprop."""

from __future__ import annotations

from typing import TYPE_CHECKING

from autograd_tape.annotations import Keywords
import torchcompat as torch

from .._calls.absent import absences as _absences
from .optimizer import RuleOptimizer, check_lr, check_not_negative, decayed

if TYPE_CHECKING:
    from torchcompat._tensor import Tensor
    from torchcompat.optim.optimizer import ParamsT

__all__ = ["RMSprop"]


class RMSprop(RuleOptimizer):
    """Gradients divided by their running root mean square (Tieleman and Hinton, 2012).

    Args:
        params: see Optimizer.
        lr: learning rate.
        alpha: how much of the running mean is kept.
        eps: added to the root.
        weight_decay: times the parameter, added to the gradient.
        momentum: of the steps.
        centered: divide by the running standard deviation instead.
        foreach, capturable: accepted; there is one implementation.
        maximize: go up instead of down.
        differentiable: let gradients flow through the step.
    """

    def __init__(self, params: ParamsT, lr: float | Tensor = 1e-2, alpha: float = 0.99, eps: float = 1e-8, weight_decay: float = 0,
                 momentum: float = 0, centered: bool = False, capturable: bool = False, foreach: bool | None = None,
                 maximize: bool = False, differentiable: bool = False) -> None:
        check_lr(lr)
        check_not_negative(eps=eps, momentum=momentum, weight_decay=weight_decay, alpha=alpha)
        super().__init__(params, {
            "lr": lr, "momentum": momentum, "alpha": alpha, "eps": eps, "centered": centered, "weight_decay": weight_decay,
            "capturable": capturable, "foreach": foreach, "maximize": maximize, "differentiable": differentiable})

    def new_state(self, p: Tensor, group: Keywords) -> dict[str, Tensor]:
        """Running means of zero."""
        names = ["square_avg"] + ["momentum_buffer"] * (group["momentum"] > 0) + ["grad_avg"] * bool(group["centered"])
        return {name: torch.zeros_like(p, requires_grad=False) for name in names}

    def update(self, p: Tensor, grad: Tensor, state: dict[str, Tensor], group: Keywords) -> None:
        """Updates one parameter in place."""
        lr, alpha, momentum = group["lr"], group["alpha"], group["momentum"]
        grad = decayed(p, grad, group)
        square = state["square_avg"].mul_(alpha).addcmul_(grad, grad, value=1 - alpha)
        if group["centered"]:
            mean = state["grad_avg"].lerp_(grad, 1 - alpha)
            square = square.addcmul(mean, mean, value=-1)
        root = square.sqrt() + group["eps"]
        if momentum > 0:
            p.add_(state["momentum_buffer"].mul_(momentum).addcdiv_(grad, root), alpha=-lr)
        else:
            p.addcdiv_(grad, root, value=-lr)


__getattr__ = _absences(__name__)
