"""Averaged stochastic gradient descent."""

from __future__ import annotations


from autograd_tape.executors.kernels.handy import Exact
from autograd_tape.annotations import Keywords
import torchcompat as torch

from .._calls.absent import absences as _absences
from ._rule import RuleOptimizer, check_lr, check_not_negative, decayed
from .optimizer import _get_scalar_dtype, number
from torchcompat._tensor import Tensor
from torchcompat.optim.optimizer import ParamsT

__all__ = ["ASGD", "asgd"]


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

    by_rows = True
    captured = ("params, mus, etas, and state_steps",) * 2

    kernel = Exact("optim", "asgd")
    kept = ("ax",)

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
        dtype = _get_scalar_dtype()
        return {"eta": torch.tensor(float(number(group["lr"])), dtype=dtype, device=p.device),
                "mu": torch.ones((), dtype=dtype, device=p.device), "ax": torch.zeros_like(p, requires_grad=False)}

    @staticmethod
    def numbers(state: Keywords, group: Keywords) -> tuple[float, ...]:
        """See `RuleOptimizer`."""
        lr, lambd, step, eta, mu = group["lr"], group["lambd"], *[state[name].item() for name in ("step", "eta", "mu")]
        state["eta"].fill_(lr / (1 + lambd * lr * step) ** group["alpha"])
        state["mu"].fill_(1 / max(1, step - group["t0"]))
        return (-eta, 1 - lambd * eta, mu, group["weight_decay"])

    @staticmethod
    def update(p: Tensor, grad: Tensor, state: dict[str, Tensor], group: Keywords) -> None:
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


def asgd(params: list[Tensor], grads: list[Tensor], axs: list[Tensor], mus: list[Tensor], etas: list[Tensor], state_steps: list[Tensor],
         foreach: bool | None = None, maximize: bool = False, differentiable: bool = False, capturable: bool = False,
         has_complex: bool = False, *, lambd: float, lr: float, t0: float, alpha: float, weight_decay: float) -> None:
    """One step of averaged gradient descent for lists of parameters, gradients and states."""
    ASGD.update_lists(params, grads, {"step": state_steps, "eta": etas, "mu": mus, "ax": axs}, lr=lr, lambd=lambd, t0=t0, alpha=alpha,
                      weight_decay=weight_decay, maximize=maximize, foreach=foreach, differentiable=differentiable, capturable=capturable)


_absences(__name__)
