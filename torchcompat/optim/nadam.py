"""NAdam."""

from __future__ import annotations

from typing import TYPE_CHECKING

from autograd_tape.annotations import Keywords
import torchcompat as torch

from .._calls.absent import absences as _absences
from .optimizer import RuleOptimizer, check_betas, check_lr, check_not_negative, decayed

if TYPE_CHECKING:
    from torchcompat._tensor import Tensor
    from torchcompat.optim.optimizer import ParamsT

__all__ = ["NAdam"]


class NAdam(RuleOptimizer):
    """Adam with Nesterov momentum (Dozat, 2016).

    Args:
        params: see Optimizer.
        lr: learning rate.
        betas: how much of the running means of the gradient and its square is kept.
        eps: added to the root.
        weight_decay: times the parameter, added to the gradient; or, where decoupled_weight_decay, times lr, what it shrinks by.
        momentum_decay: of the momentum, 1 - 0.96 ** (step * momentum_decay) / 2.
        decoupled_weight_decay: see weight_decay.
        foreach, capturable: accepted; there is one implementation.
        maximize: go up instead of down.
        differentiable: let gradients flow through the step.
    """

    zeros = ("exp_avg", "exp_avg_sq")

    def __init__(self, params: ParamsT, lr: float | Tensor = 2e-3, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8,
                 weight_decay: float = 0, momentum_decay: float = 4e-3, decoupled_weight_decay: bool = False, *,
                 foreach: bool | None = None, maximize: bool = False, capturable: bool = False, differentiable: bool = False) -> None:
        check_lr(lr)
        check_not_negative(eps=eps)
        check_betas(betas)
        check_not_negative(weight_decay=weight_decay, momentum_decay=momentum_decay)
        super().__init__(params, {
            "lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay, "momentum_decay": momentum_decay,
            "decoupled_weight_decay": decoupled_weight_decay, "maximize": maximize, "foreach": foreach, "capturable": capturable,
            "differentiable": differentiable})

    def new_state(self, p: Tensor, group: Keywords) -> dict[str, Tensor]:
        """Running means of zero, and the product of the momenta so far."""
        device = p.device if group["capturable"] else "cpu"
        return {"mu_product": torch.ones((), dtype=torch.float32, device=device), **super().new_state(p, group)}

    def update(self, p: Tensor, grad: Tensor, state: dict[str, Tensor], group: Keywords) -> None:
        """Updates one parameter in place."""
        lr, (beta1, beta2), fade = group["lr"], group["betas"], group["momentum_decay"]
        step = state["step"].item()
        grad = decayed(p, grad, group)
        mu = beta1 * (1.0 - 0.5 * 0.96 ** (step * fade))
        mu_next = beta1 * (1.0 - 0.5 * 0.96 ** ((step + 1) * fade))
        state["mu_product"] *= mu
        product = state["mu_product"].item()
        mean = state["exp_avg"].lerp_(grad, 1 - beta1)
        square = state["exp_avg_sq"].mul_(beta2).addcmul_(grad, grad, value=1 - beta2)
        root = square.div(1 - beta2**step).sqrt() + group["eps"]
        p.addcdiv_(grad, root, value=-lr * (1.0 - mu) / (1.0 - product))
        p.addcdiv_(mean, root, value=-lr * mu_next / (1.0 - product * mu_next))


__getattr__ = _absences(__name__)
