"""Adam and AdamW."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from autograd_tape.annotations import Keywords
from autograd_tape.version import Version
import torchcompat as torch
from .._calls.absent import absences as _absences
from torchcompat._tensor import Tensor

from .optimizer import (
    RuleOptimizer, _to_scalar, check, check_betas, check_implementation, check_lr, check_not_negative, decayed, fits, on_buffers,
)

if TYPE_CHECKING:
    from torchcompat.optim.optimizer import ParamsT

__all__ = ["Adam", "AdamW"]


class Adam(RuleOptimizer):
    """p -= lr * m / (sqrt(v) + eps), with m and v running means of the gradient and its square, corrected for their start at zero
    (Kingma and Ba, 2014).

    Args:
        params: see Optimizer.
        lr: learning rate.
        betas: how much of m and of v is kept at each step.
        eps: see above.
        weight_decay: times the parameter, added to the gradient.
        amsgrad: use the largest v so far (Reddi et al., 2018).
        maximize: go up instead of down.
        foreach, fused, capturable: accepted; there is one implementation.
        differentiable: let gradients flow through the step.
        decoupled_weight_decay: shrink the parameter by lr * weight_decay instead: AdamW.
    """

    def __init__(self, params: ParamsT, lr: float | Tensor = 1e-3, betas: tuple[float | Tensor, float | Tensor] = (0.9, 0.999),
                 eps: float = 1e-8, weight_decay: float = 0, amsgrad: bool = False, *, foreach: bool | None = None, maximize: bool = False,
                 capturable: bool = False, differentiable: bool = False, fused: bool | None = None,
                 decoupled_weight_decay: bool = False) -> None:
        if isinstance(lr, Tensor) and foreach and not capturable:
            raise ValueError("lr as a Tensor is not supported for capturable=False and foreach=True")
        check_lr(lr)
        check_not_negative(eps=eps)
        check_betas(betas)
        check_not_negative(weight_decay=weight_decay)
        check(all(isinstance(b, float) for b in betas) or all(isinstance(b, Tensor) for b in betas),
              "betas must be either both floats or both Tensors")
        super().__init__(params, {
            "lr": lr, "betas": tuple(map(_to_scalar, betas)), "eps": eps, "weight_decay": weight_decay, "amsgrad": amsgrad,
            "maximize": maximize, "foreach": foreach, "capturable": capturable, "differentiable": differentiable, "fused": fused,
            "decoupled_weight_decay": decoupled_weight_decay})
        check_implementation(fused, foreach, differentiable)

    def new_state(self, p: Tensor, group: Keywords) -> dict[str, Tensor]:
        """Running means of zero."""
        names = ("exp_avg", "exp_avg_sq", "max_exp_avg_sq") if group["amsgrad"] else ("exp_avg", "exp_avg_sq")
        return {name: torch.zeros_like(p, requires_grad=False) for name in names}

    def update_group(self, group: Keywords, params: list[Tensor]) -> None:
        """Updates `params` by the fused kernel where they are on the CPU."""
        from autograd_tape.executors.kernels import optim

        kernel = optim.adamw_step if group["decoupled_weight_decay"] else optim.adam_step
        (beta1, beta2), amsgrad, maximize = group["betas"], group["amsgrad"], group["maximize"]
        lr, eps, decay, differentiable = float(group["lr"]), group["eps"], group["weight_decay"], group["differentiable"]
        rest = []
        for p in params:
            if not on_buffers(p, differentiable):
                rest.append(p)
                continue
            state, grad = self.state[p] or self.state_of(p, group), p.grad
            mean, square, top = state["exp_avg"], state["exp_avg_sq"], state["max_exp_avg_sq"] if amsgrad else None
            if not (fits(p, grad, mean, square, top) if amsgrad else fits(p, grad, mean, square)):
                rest.append(p)
                continue
            count = state["step"]._data
            count += 1
            kernel(p._data, grad._data, mean._data, square._data, None if top is None else top._data, count.item(), lr, beta1, beta2, eps,
                   decay, amsgrad, maximize)
            Version.count(p)
        if rest:
            super().update_group(group, rest)

    def update(self, p: Tensor, grad: Tensor, state: Keywords, group: Keywords) -> None:
        """Updates one parameter in place."""
        lr, (beta1, beta2) = group["lr"], group["betas"]
        grad = decayed(p, grad, group)
        mean, square = state["exp_avg"], state["exp_avg_sq"]
        mean.lerp_(grad, 1 - beta1)
        square.mul_(beta2).addcmul_(grad, grad, value=1 - beta2)
        step = state["step"].item()
        if group["amsgrad"]:
            top = state["max_exp_avg_sq"]
            square = top.copy_(torch.maximum(top, square))
        root = square.sqrt() / math.sqrt(1 - beta2**step)
        p.addcdiv_(mean.clone() if group["differentiable"] else mean, root + group["eps"], value=-lr / (1 - beta1**step))


class AdamW(Adam):
    """Adam whose weight decay shrinks the parameters, apart from the gradient (Loshchilov and Hutter, 2017); arguments: see Adam."""

    def __init__(self, params: ParamsT, lr: float | Tensor = 1e-3, betas: tuple[float | Tensor, float | Tensor] = (0.9, 0.999),
                 eps: float = 1e-8, weight_decay: float = 1e-2, amsgrad: bool = False, *, maximize: bool = False,
                 foreach: bool | None = None, capturable: bool = False, differentiable: bool = False, fused: bool | None = None) -> None:
        super().__init__(params, lr, betas, eps, weight_decay, amsgrad, foreach=foreach, maximize=maximize, capturable=capturable,
                         differentiable=differentiable, fused=fused, decoupled_weight_decay=True)


__getattr__ = _absences(__name__)
