"""Averaged stochastic gradient descent."""

from __future__ import annotations

from typing import TYPE_CHECKING

from autograd_tape.annotations import Keywords
import torchcompat as torch

from .._calls.absent import absences as _absences
from .optimizer import RuleOptimizer, _to_scalar, check_lr, check_not_negative, decayed

if TYPE_CHECKING:
    from torchcompat._tensor import Tensor
    from torchcompat.optim.optimizer import ParamsT

__all__ = ["ASGD"]


class ASGD(RuleOptimizer):
    """Gradient descent with a fading rate that also keeps the average of the parameters, state["ax"] (Polyak and Juditsky, 1992).

    Args:
        params: see Optimizer.
        lr: learning rate at the start.
        lambd: decay of the parameters.
        alpha: power of the rate's fading.
        t0: the step from which on parameters are averaged.
        weight_decay: times the parameter, added to the gradient.
        foreach, capturable: accepted; there is one implementation.
        maximize: go up instead of down.
        differentiable: let gradients flow through the step.
    """

    def __init__(self, params: ParamsT, lr: float | Tensor = 1e-2, lambd: float = 1e-4, alpha: float = 0.75, t0: float = 1e6,
                 weight_decay: float = 0, foreach: bool | None = None, maximize: bool = False, differentiable: bool = False,
                 capturable: bool = False) -> None:
        check_lr(lr)
        check_not_negative(weight_decay=weight_decay)
        super().__init__(params, {
            "lr": lr, "lambd": lambd, "alpha": alpha, "t0": t0, "weight_decay": weight_decay, "foreach": foreach, "maximize": maximize,
            "differentiable": differentiable, "capturable": capturable})

    def new_state(self, p: Tensor, group: Keywords) -> dict[str, Tensor]:
        """The rate, the weight of the newest parameters in the average, and the average."""
        return {"eta": torch.tensor(float(_to_scalar(group["lr"])), dtype=torch.float32, device=p.device),
                "mu": torch.ones((), dtype=torch.float32, device=p.device), "ax": torch.zeros_like(p, requires_grad=False)}

    def update(self, p: Tensor, grad: Tensor, state: dict[str, Tensor], group: Keywords) -> None:
        """Updates one parameter in place."""
        lr, lambd = group["lr"], group["lambd"]
        step, eta, mu, average = state["step"].item(), state["eta"].item(), state["mu"].item(), state["ax"]
        grad = decayed(p, grad, group)
        p.mul_(1 - lambd * eta)
        p.add_(grad, alpha=-eta)
        if mu == 1:
            average.copy_(p)
        else:
            average.add_(p.sub(average).mul_(mu))
        state["eta"].fill_(lr / (1 + lambd * lr * step) ** group["alpha"])
        state["mu"].fill_(1 / max(1, step - group["t0"]))


__getattr__ = _absences(__name__)
