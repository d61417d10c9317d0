"""NAdam."""

from __future__ import annotations


from autograd_tape.executors.kernels.handy import Exact
from autograd_tape.annotations import Keywords
import torchcompat as torch

from .._calls.absent import absences as _absences
from ._rule import RuleOptimizer, check_betas, check_lr, check_not_negative, decayed, decays
from .optimizer import _get_scalar_dtype
from torchcompat._tensor import Tensor
from torchcompat.optim.optimizer import ParamsT

__all__ = ["NAdam", "nadam"]


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

    by_rows = True
    zeros = ("exp_avg", "exp_avg_sq")
    captured = ("params, mu_products and state_steps", "params, mu_products, and state_steps")

    kernel = Exact("optim", "nadam")
    kept = ("exp_avg", "exp_avg_sq")

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
        return {"mu_product": torch.ones((), dtype=_get_scalar_dtype(), device=device), **super().new_state(p, group)}

    @staticmethod
    def numbers(state: Keywords, group: Keywords) -> tuple[float, ...]:
        """See `RuleOptimizer`."""
        lr, (beta1, beta2), fade, step = group["lr"], group["betas"], group["momentum_decay"], state["step"].item()
        mu, mu_next = [beta1 * (1.0 - 0.5 * 0.96 ** (n * fade)) for n in (step, step + 1)]
        state["mu_product"] *= mu
        product = state["mu_product"].item()
        return (
            -lr * (1.0 - mu) / (1.0 - product), -lr * mu_next / (1.0 - product * mu_next), 1 - beta1, beta2, 1 - beta2, 1 - beta2**step,
            group["eps"], *decays(group))

    @staticmethod
    def update(p: Tensor, grad: Tensor, state: dict[str, Tensor], group: Keywords) -> None:
        """Updates one parameter in place."""
        lr, (beta1, beta2), fade = group["lr"], group["betas"], group["momentum_decay"]
        step = state["step"].item()
        grad = decayed(p, grad, group)
        mu = beta1 * (1.0 - 0.5 * 0.96 ** (step * fade))
        mu_next = beta1 * (1.0 - 0.5 * 0.96 ** ((step + 1) * fade))
        state["mu_product"] *= mu
        differentiable = group["differentiable"]
        product = state["mu_product"] if differentiable else state["mu_product"].item()
        mean = state["exp_avg"].lerp_(grad, 1 - beta1)
        square = state["exp_avg_sq"].mul_(beta2).addcmul_(grad, grad, value=1 - beta2)
        root = square.div(1 - beta2**step).sqrt() + group["eps"]
        sizes = -lr * (1.0 - mu) / (1.0 - product), -lr * mu_next / (1.0 - product * mu_next)
        for direction, size in zip((grad, mean), sizes):
            if differentiable:
                p.addcdiv_(direction * size, root)
            else:
                p.addcdiv_(direction, root, value=size)


def nadam(params: list[Tensor], grads: list[Tensor], exp_avgs: list[Tensor], exp_avg_sqs: list[Tensor], mu_products: list[Tensor],
          state_steps: list[Tensor], decoupled_weight_decay: bool = False, foreach: bool | None = None, capturable: bool = False,
          differentiable: bool = False, has_complex: bool = False, maximize: bool = False, *, beta1: float, beta2: float, lr: float,
          weight_decay: float, momentum_decay: float, eps: float) -> None:
    """One step of NAdam for lists of parameters, gradients and states."""
    if not all([isinstance(product, torch.Tensor) for product in mu_products]):
        raise RuntimeError("API has changed, `mu_products` argument must contain a list of singleton tensors")
    NAdam.update_lists(params, grads, {"step": state_steps, "mu_product": mu_products, "exp_avg": exp_avgs, "exp_avg_sq": exp_avg_sqs},
                       lr=lr, betas=(beta1, beta2), eps=eps, weight_decay=weight_decay, momentum_decay=momentum_decay, maximize=maximize,
                       decoupled_weight_decay=decoupled_weight_decay, foreach=foreach, capturable=capturable,
                       differentiable=differentiable)


_absences(__name__)
