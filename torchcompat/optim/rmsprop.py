"""RMSprop."""

from __future__ import annotations


from autograd_tape.executors.kernels.handy import Exact
from autograd_tape.annotations import Keywords
import torchcompat as torch

from .._calls.absent import absences as _absences
from ._rule import RuleOptimizer, check_lr, check_not_negative, decayed
from torchcompat._tensor import Tensor
from torchcompat.optim.optimizer import ParamsT

__all__ = ["RMSprop", "rmsprop"]


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

    by_rows = True
    captured_by_xla = (True, True)
    later = {**RuleOptimizer.later, "momentum": 0, "centered": False}

    kernel = Exact("optim", "rmsprop")

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

    def kept_in(self, group: Keywords) -> tuple[str, ...]:
        """See `RuleOptimizer`."""
        return "square_avg", "grad_avg" if group["centered"] else "", "momentum_buffer" if group["momentum"] > 0 else ""

    @staticmethod
    def numbers(state: Keywords, group: Keywords) -> tuple[float, ...]:
        """See `RuleOptimizer`."""
        alpha, momentum = group["alpha"], group["momentum"]
        return (-group["lr"], alpha, 1 - alpha, group["eps"], momentum, group["weight_decay"])

    @staticmethod
    def update(p: Tensor, grad: Tensor, state: dict[str, Tensor], group: Keywords) -> None:
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


def rmsprop(params: list[Tensor], grads: list[Tensor], square_avgs: list[Tensor], grad_avgs: list[Tensor],
            momentum_buffer_list: list[Tensor], state_steps: list[Tensor], foreach: bool | None = None, maximize: bool = False,
            differentiable: bool = False, capturable: bool = False, has_complex: bool = False, *, lr: float, alpha: float, eps: float,
            weight_decay: float, momentum: float, centered: bool) -> None:
    """One step of RMSprop for lists of parameters, gradients and states."""
    RMSprop.update_lists(params, grads, {"step": state_steps, "square_avg": square_avgs, "momentum_buffer": momentum_buffer_list,
                                         "grad_avg": grad_avgs}, lr=lr, alpha=alpha, eps=eps, weight_decay=weight_decay, momentum=momentum,
                         centered=centered, maximize=maximize, foreach=foreach, differentiable=differentiable, capturable=capturable)


_absences(__name__)
