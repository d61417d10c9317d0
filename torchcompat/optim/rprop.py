"""Resilient propagation."""

from __future__ import annotations


from autograd_tape.executors.kernels.handy import Exact
from autograd_tape.annotations import Keywords
import torchcompat as torch

from .._calls.absent import absences as _absences
from ._rule import RuleOptimizer, check, check_lr
from .optimizer import number
from torchcompat._tensor import Tensor
from torchcompat.optim.optimizer import ParamsT

__all__ = ["Rprop", "rprop"]


class Rprop(RuleOptimizer):
    """Steps of an own size for each element, which grows while the gradient keeps its sign (Riedmiller and Braun, 1993).

    Args:
        params: see Optimizer.
        lr: the step sizes at the start.
        etas: what a step size is multiplied with where the sign changed, and where it did not.
        step_sizes: the smallest and the largest one.
        foreach, capturable: accepted; there is one implementation.
        maximize: go up instead of down.
        differentiable: let gradients flow through the step.
    """

    captured_by_xla = (True, True)

    kernel = Exact("optim", "rprop")
    kept = ("prev", "step_size")

    def __init__(self, params: ParamsT, lr: float | Tensor = 1e-2, etas: tuple[float, float] = (0.5, 1.2),
                 step_sizes: tuple[float, float] = (1e-6, 50), *, capturable: bool = False, foreach: bool | None = None,
                 maximize: bool = False, differentiable: bool = False) -> None:
        check_lr(lr)
        check(0.0 < etas[0] < 1.0 < etas[1], f"Invalid eta values: {etas[0]}, {etas[1]}")
        super().__init__(params, {
            "lr": lr, "etas": etas, "step_sizes": step_sizes, "foreach": foreach, "maximize": maximize, "differentiable": differentiable,
            "capturable": capturable})

    def new_state(self, p: Tensor, group: Keywords) -> dict[str, Tensor]:
        """The gradient before, zero, and the step sizes."""
        lr = number(group["lr"])
        return {"prev": torch.zeros_like(p, requires_grad=False),
                "step_size": torch.full_like(p, complex(lr, lr) if p.is_complex() else lr, requires_grad=False)}

    @staticmethod
    def numbers(state: Keywords, group: Keywords) -> tuple[float, ...]:
        """See `RuleOptimizer`."""
        return (*group["etas"], *group["step_sizes"])

    @staticmethod
    def update(p: Tensor, grad: Tensor, state: dict[str, Tensor], group: Keywords) -> None:
        """Updates one parameter in place."""
        (shrink, grow), before = group["etas"], state["prev"]
        agreement = grad.mul(before.clone())
        factor = torch.ones_like(grad, requires_grad=False).masked_fill_(agreement > 0, grow).masked_fill_(agreement < 0, shrink)
        size = state["step_size"].mul_(factor).clamp_(*group["step_sizes"])
        grad = torch.where(agreement < 0, torch.zeros_like(grad), grad)  # where the sign changed, wait a step
        p.addcmul_(grad.sign(), size, value=-1)
        before.copy_(grad)


def rprop(params: list[Tensor], grads: list[Tensor], prevs: list[Tensor], step_sizes: list[Tensor], state_steps: list[Tensor],
          foreach: bool | None = None, capturable: bool = False, maximize: bool = False, differentiable: bool = False,
          has_complex: bool = False, *, step_size_min: float, step_size_max: float, etaminus: float, etaplus: float) -> None:
    """One step of Rprop for lists of parameters, gradients and states."""
    Rprop.update_lists(params, grads, {"step": state_steps, "prev": prevs, "step_size": step_sizes}, lr=0.0, etas=(etaminus, etaplus),
                       step_sizes=(step_size_min, step_size_max), maximize=maximize, foreach=foreach, differentiable=differentiable,
                       capturable=capturable)


_absences(__name__)
