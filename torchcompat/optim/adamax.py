"""Adamax."""

from __future__ import annotations


from autograd_tape.executors.kernels.handy import Exact
from autograd_tape.annotations import Keywords

from .._calls.absent import absences as _absences
from ._rule import RuleOptimizer, check_betas, check_lr, check_not_negative, decayed
from torchcompat.optim.optimizer import ParamsT
from torchcompat._tensor import Tensor

__all__ = ["Adamax", "adamax"]


class Adamax(RuleOptimizer):
    """Adam with the infinity norm in place of the root mean square (Kingma and Ba, 2014).

    Args:
        params: see Optimizer.
        lr: learning rate.
        betas: how much of the running mean and of the norm is kept at each step.
        eps: added to the gradient's size.
        weight_decay: times the parameter, added to the gradient.
        foreach, capturable: accepted; there is one implementation.
        maximize: go up instead of down.
        differentiable: let gradients flow through the step.
    """

    by_rows = True
    zeros = ("exp_avg", "exp_inf")

    kernel = Exact("optim", "adamax")
    kept = ("exp_avg", "exp_inf")

    def __init__(self, params: ParamsT, lr: float | Tensor = 2e-3, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8,
                 weight_decay: float = 0, foreach: bool | None = None, *, maximize: bool = False, differentiable: bool = False,
                 capturable: bool = False) -> None:
        check_lr(lr)
        check_not_negative(eps=eps)
        check_betas(betas)
        check_not_negative(weight_decay=weight_decay)
        super().__init__(params, {
            "lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay, "foreach": foreach, "maximize": maximize,
            "differentiable": differentiable, "capturable": capturable})

    @staticmethod
    def numbers(state: Keywords, group: Keywords) -> tuple[float, ...]:
        """See `RuleOptimizer`."""
        beta1, beta2 = group["betas"]
        rate = -group["lr"] / (1 - beta1 ** state["step"].item())
        return (rate, 1 - beta1, beta2, group["eps"], group["weight_decay"])

    @staticmethod
    def update(p: Tensor, grad: Tensor, state: dict[str, Tensor], group: Keywords) -> None:
        """Updates one parameter in place."""
        beta1, beta2 = group["betas"]
        grad = decayed(p, grad, group)
        mean = state["exp_avg"].lerp_(grad, 1 - beta1)
        norm = state["exp_inf"]
        norm.copy_((norm * beta2).maximum(grad.abs() + group["eps"]))
        p.addcdiv_(mean, norm, value=-group["lr"] / (1 - beta1 ** state["step"].item()))


def adamax(params: list[Tensor], grads: list[Tensor], exp_avgs: list[Tensor], exp_infs: list[Tensor], state_steps: list[Tensor],
           foreach: bool | None = None, maximize: bool = False, differentiable: bool = False, capturable: bool = False,
           has_complex: bool = False, *, eps: float, beta1: float, beta2: float, lr: float, weight_decay: float) -> None:
    """One step of Adamax for lists of parameters, gradients and states."""
    Adamax.update_lists(params, grads, {"step": state_steps, "exp_avg": exp_avgs, "exp_inf": exp_infs}, lr=lr, betas=(beta1, beta2),
                        eps=eps, weight_decay=weight_decay, maximize=maximize, foreach=foreach, differentiable=differentiable,
                        capturable=capturable)


_absences(__name__)
