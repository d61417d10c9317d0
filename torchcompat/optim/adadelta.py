"""Adadelta."""

from __future__ import annotations



from autograd_tape.executors.kernels.handy import Exact
from autograd_tape.annotations import Keywords
from .._calls.absent import absences as _absences
from ._rule import RuleOptimizer, check, check_lr, check_not_negative, decayed
from torchcompat.optim.optimizer import ParamsT
from torchcompat._tensor import Tensor

__all__ = ["Adadelta", "adadelta"]


class Adadelta(RuleOptimizer):
    """Steps scaled by the ratio of running root mean squares of past steps and gradients (Zeiler, 2012).

    Args:
        params: see Optimizer.
        lr: factor of the steps.
        rho: how much of the running means is kept.
        eps: added under the roots.
        weight_decay: times the parameter, added to the gradient.
        foreach, capturable: accepted; there is one implementation.
        maximize: go up instead of down.
        differentiable: let gradients flow through the step.
    """

    by_rows = True
    zeros = ("square_avg", "acc_delta")
    captured_by_xla = (False, False)

    kernel = Exact("optim", "adadelta")
    kept = ("square_avg", "acc_delta")

    def __init__(self, params: ParamsT, lr: float | Tensor = 1.0, rho: float = 0.9, eps: float = 1e-6, weight_decay: float = 0,
                 foreach: bool | None = None, *, capturable: bool = False, maximize: bool = False, differentiable: bool = False) -> None:
        check_lr(lr)
        check(0.0 <= rho <= 1.0, f"Invalid rho value: {rho}")
        check_not_negative(eps=eps, weight_decay=weight_decay)
        super().__init__(params, {
            "lr": lr, "rho": rho, "eps": eps, "weight_decay": weight_decay, "maximize": maximize, "capturable": capturable,
            "foreach": foreach, "differentiable": differentiable})

    @staticmethod
    def numbers(state: Keywords, group: Keywords) -> tuple[float, ...]:
        """See `RuleOptimizer`."""
        rho = group["rho"]
        return (-group["lr"], rho, 1 - rho, group["eps"], group["weight_decay"])

    @staticmethod
    def update(p: Tensor, grad: Tensor, state: dict[str, Tensor], group: Keywords) -> None:
        """Updates one parameter in place."""
        rho, eps = group["rho"], group["eps"]
        grad = decayed(p, grad, group)
        square, steps = state["square_avg"], state["acc_delta"]
        square.mul_(rho).addcmul_(grad, grad, value=1 - rho)
        delta = steps.add(eps).sqrt() / square.add(eps).sqrt() * grad
        steps.mul_(rho).addcmul_(delta, delta, value=1 - rho)
        p.add_(delta, alpha=-group["lr"])


def adadelta(params: list[Tensor], grads: list[Tensor], square_avgs: list[Tensor], acc_deltas: list[Tensor], state_steps: list[Tensor],
             capturable: bool = False, foreach: bool | None = None, differentiable: bool = False, has_complex: bool = False, *, lr: float,
             rho: float, eps: float, weight_decay: float, maximize: bool) -> None:
    """One step of Adadelta for lists of parameters, gradients and states."""
    Adadelta.update_lists(params, grads, {"step": state_steps, "square_avg": square_avgs, "acc_delta": acc_deltas}, lr=lr, rho=rho, eps=eps,
                          weight_decay=weight_decay, maximize=maximize, capturable=capturable, foreach=foreach,
                          differentiable=differentiable)


_absences(__name__)
