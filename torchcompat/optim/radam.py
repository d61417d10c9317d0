"""RAdam."""

from __future__ import annotations



from autograd_tape.executors.kernels.handy import Exact
from autograd_tape.annotations import Keywords
from .._calls.absent import absences as _absences
from ._rule import RuleOptimizer, check_betas, check_lr, check_not_negative, decayed, decays
from torchcompat.optim.optimizer import ParamsT
from torchcompat._tensor import Tensor

__all__ = ["RAdam", "radam"]


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

    by_rows = True
    zeros = ("exp_avg", "exp_avg_sq")

    kernel = Exact("optim", "radam")
    kept = ("exp_avg", "exp_avg_sq")

    def __init__(self, params: ParamsT, lr: float | Tensor = 1e-3, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8,
                 weight_decay: float = 0, decoupled_weight_decay: bool = False, *, foreach: bool | None = None, maximize: bool = False,
                 capturable: bool = False, differentiable: bool = False) -> None:
        check_lr(lr)
        check_not_negative(eps=eps)
        check_betas(betas)
        check_not_negative(weight_decay=weight_decay)
        super().__init__(params, {
            "lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay, "maximize": maximize, "foreach": foreach,
            "capturable": capturable, "decoupled_weight_decay": decoupled_weight_decay, "differentiable": differentiable})

    @staticmethod
    def numbers(state: Keywords, group: Keywords) -> tuple[float, ...]:
        """See `RuleOptimizer`."""
        lr, (beta1, beta2), step = group["lr"], group["betas"], state["step"].item()
        correction, rectify = 1 - beta2**step, _rectified(beta2, step)
        return (
            lr, 1 - beta1**step, 1 - beta1, beta2, 1 - beta2, correction**0.5, rectify, group["eps"], *decays(group))

    @staticmethod
    def update(p: Tensor, grad: Tensor, state: dict[str, Tensor], group: Keywords) -> None:
        """Updates one parameter in place."""
        lr, (beta1, beta2) = group["lr"], group["betas"]
        step = state["step"].item()
        grad = decayed(p, grad, group)
        mean = state["exp_avg"].lerp_(grad, 1 - beta1)
        square = state["exp_avg_sq"].mul_(beta2).addcmul_(grad, grad, value=1 - beta2)
        correction, rectify = 1 - beta2**step, _rectified(beta2, step)
        update = mean / (1 - beta1**step) * lr
        if rectify:
            update = update * (correction**0.5 / (square.sqrt() + group["eps"])) * rectify
        p.add_(update, alpha=-1.0)


def _rectified(beta2: float, step: float) -> float:
    """What the step is multiplied by; 0 at those that do not look at squares."""
    longest = 2 / (1 - beta2) - 1
    length = longest - 2 * step * beta2**step / (1 - beta2**step)  # of the running mean of squares, as a simple moving average
    if length <= 5.0:
        return 0.0
    return float(((length - 4) * (length - 2) * longest / ((longest - 4) * (longest - 2) * length)) ** 0.5)


def radam(params: list[Tensor], grads: list[Tensor], exp_avgs: list[Tensor], exp_avg_sqs: list[Tensor], state_steps: list[Tensor],
          decoupled_weight_decay: bool = False, foreach: bool | None = None, differentiable: bool = False, capturable: bool = False,
          has_complex: bool = False, maximize: bool = False, *, beta1: float, beta2: float, lr: float, weight_decay: float,
          eps: float) -> None:
    """One step of RAdam for lists of parameters, gradients and states."""
    RAdam.update_lists(params, grads, {"step": state_steps, "exp_avg": exp_avgs, "exp_avg_sq": exp_avg_sqs}, lr=lr, betas=(beta1, beta2),
                       eps=eps, weight_decay=weight_decay, decoupled_weight_decay=decoupled_weight_decay, maximize=maximize,
                       foreach=foreach, differentiable=differentiable, capturable=capturable)


_absences(__name__)
