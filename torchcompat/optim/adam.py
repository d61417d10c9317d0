"""Adam."""

from __future__ import annotations


from autograd_tape.annotations import Keywords
from autograd_tape.executors.kernels.handy import Listed
from autograd_tape.version import Version
import torchcompat as torch
from .._calls.absent import absences as _absences
from torchcompat._tensor import Tensor

from ._rule import (
    RuleOptimizer, at_once, check, check_betas, check_implementation, check_lr, check_not_negative, decayed, fits, may_be_at_once,
    on_buffers, with_scalars,
)
from .optimizer import _to_scalar, number
from torchcompat.optim.optimizer import ParamsT

__all__ = ["Adam", "adam"]

_LISTED = Listed("optim", "adam")


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

    by_rows = True

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
        for i, beta in enumerate(betas):
            if isinstance(beta, Tensor):
                check(capturable or not foreach, f"betas[{i}] as a Tensor is not supported for capturable=False and foreach=True")
                check(beta.numel() == 1, f"Tensor betas[{i}] must be 1-element")
        super().__init__(params, {
            "lr": lr, "betas": tuple(map(_to_scalar, betas)), "eps": eps, "weight_decay": weight_decay, "amsgrad": amsgrad,
            "maximize": maximize, "foreach": foreach, "capturable": capturable, "differentiable": differentiable, "fused": fused,
            "decoupled_weight_decay": decoupled_weight_decay})
        check_implementation(fused, foreach, differentiable)
        if fused:
            self._step_supports_amp_scaling = True

    def new_state(self, p: Tensor, group: Keywords) -> dict[str, Tensor]:
        """Running means of zero."""
        names = ("exp_avg", "exp_avg_sq", "max_exp_avg_sq") if group["amsgrad"] else ("exp_avg", "exp_avg_sq")
        return {name: torch.zeros_like(p, requires_grad=False) for name in names}

    def update_group(self, group: Keywords, params: list[Tensor]) -> None:
        """Updates `params` by the fused kernel where they are on the CPU."""
        from autograd_tape.executors.kernels import optim

        kernel = optim.adamw_step if group["decoupled_weight_decay"] else optim.adam_step
        (beta1, beta2), amsgrad, maximize = group["betas"], group["amsgrad"], group["maximize"]
        lr, eps, decay, differentiable = group["lr"], group["eps"], group["weight_decay"], group["differentiable"]
        if lr.__class__ is not float or beta1.__class__ is not float:
            if isinstance(lr, Tensor) and group["foreach"] and not group["capturable"]:
                raise RuntimeError("lr as a Tensor is not supported for capturable=False and foreach=True")
            numbers = with_scalars(group, number)
            lr, (beta1, beta2) = numbers["lr"], numbers["betas"]
        rest = []
        by_rule = differentiable or group["capturable"]
        if params and not by_rule and may_be_at_once(params[0]._k, group["fused"]) and self._all_at_once(params, group, lr, beta1, beta2):
            return
        for p in params:
            if not on_buffers(p, by_rule):
                rest.append(p)
                continue
            state = self.state[p] or self.state_of(p, group)
            grad: Tensor = p.grad  # type: ignore[assignment]  # the parameters have one
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

    def _all_at_once(self, params: list[Tensor], group: Keywords, lr: float, beta1: float, beta2: float) -> bool:
        """Whether one call updated all of them, which are at the same step."""
        states = [self.state[p] or self.state_of(p, group) for p in params]
        counts = [state["step"] for state in states]
        if len(steps := {count.item() for count in counts}) > 1:
            return False
        step, decay = steps.pop() + 1, group["weight_decay"]
        shrink, added = (1.0 - lr * decay, 0.0) if group["decoupled_weight_decay"] else (1.0, decay)
        means, squares = [[state[name] for state in states] for name in ("exp_avg", "exp_avg_sq")]
        tops = [state["max_exp_avg_sq"] if group["amsgrad"] else None for state in states]
        if not at_once(_LISTED, group["fused"], (params, [p.grad for p in params], means, squares, tops), shrink, added, beta1, beta2,
                       group["eps"], lr / (1 - beta1**step), (1 - beta2**step) ** 0.5, group["maximize"]):
            return False
        for count in counts:
            count._data += 1
        return True

    @staticmethod
    def update(p: Tensor, grad: Tensor, state: Keywords, group: Keywords) -> None:
        """Updates one parameter in place."""
        lr, (beta1, beta2) = group["lr"], group["betas"]
        grad = decayed(p, grad, group)
        mean, square, steps = state["exp_avg"], state["exp_avg_sq"], state["step"]
        differentiable = group["differentiable"]
        if steps.requires_grad and differentiable:
            raise RuntimeError("`requires_grad` is not supported for `step` in differentiable mode")
        mean.lerp_(grad, 1 - (beta1.to(p.dtype) if isinstance(beta1, Tensor) else beta1))
        if isinstance(beta2, Tensor) and beta2.requires_grad:
            square.lerp_(grad.square(), 1 - beta2)
        else:
            square.mul_(beta2).addcmul_(grad, grad, value=1 - beta2)
        step = steps.clone() if differentiable else steps.item()
        size, root = lr / (1 - beta1**step), (1 - beta2**step) ** 0.5
        if group["amsgrad"]:
            top = state["max_exp_avg_sq"]
            square = top.copy_((top.clone() if differentiable else top).maximum(square))
        if differentiable:
            p.addcdiv_(mean.clone(), square.sqrt() / (root * -size) + group["eps"] / -size)
        else:
            p.addcdiv_(mean, square.sqrt() / root + group["eps"], value=-size)


def adam(params: list[Tensor], grads: list[Tensor], exp_avgs: list[Tensor], exp_avg_sqs: list[Tensor], max_exp_avg_sqs: list[Tensor],
         state_steps: list[Tensor], foreach: bool | None = None, capturable: bool = False, differentiable: bool = False,
         fused: bool | None = None, grad_scale: Tensor | None = None, found_inf: Tensor | None = None, has_complex: bool = False,
         decoupled_weight_decay: bool = False, *, amsgrad: bool, beta1: float | Tensor, beta2: float | Tensor, lr: float | Tensor,
         weight_decay: float, eps: float, maximize: bool) -> None:
    """One step of Adam for lists of parameters, gradients and states."""
    Adam.update_lists(params, grads, {"step": state_steps, "exp_avg": exp_avgs, "exp_avg_sq": exp_avg_sqs,
                                      "max_exp_avg_sq": max_exp_avg_sqs}, grad_scale, found_inf, lr=lr, betas=(beta1, beta2), eps=eps,
                      weight_decay=weight_decay, amsgrad=amsgrad, maximize=maximize, foreach=foreach, capturable=capturable,
                      differentiable=differentiable, fused=fused, decoupled_weight_decay=decoupled_weight_decay)


_absences(__name__)
