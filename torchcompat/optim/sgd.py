"""Stochastic gradient descent."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from autograd_tape.annotations import Keywords
from autograd_tape.version import Version
from .._calls.absent import absences as _absences
from torchcompat._tensor import Tensor

from .optimizer import RuleOptimizer, _to_scalar, check, check_implementation, check_lr, check_not_negative, fits, on_buffers

if TYPE_CHECKING:
    from torchcompat.optim.optimizer import ParamsT

__all__ = ["SGD"]


class SGD(RuleOptimizer):
    """p -= lr * d, with d the gradient, or its running sum where there is momentum.

    Args:
        params: see Optimizer.
        lr: learning rate.
        momentum: of the running sum buf = momentum * buf + (1 - dampening) * gradient.
        dampening: see above.
        weight_decay: times the parameter, added to the gradient.
        nesterov: d is gradient + momentum * buf (Sutskever et al., 2013).
        maximize: go up instead of down.
        foreach, fused: accepted; there is one implementation.
        differentiable: let gradients flow through the step.

    >>> p = torch.nn.Parameter(torch.tensor([1.0]))
    >>> p.grad = torch.tensor([2.0])
    >>> torch.optim.SGD([p], lr=0.1).step()
    >>> p.data
    tensor([0.8000])
    """

    counts = False

    takes_sparse = True

    def __init__(self, params: ParamsT, lr: float | Tensor = 1e-3, momentum: float = 0, dampening: float = 0, weight_decay: float = 0,
                 nesterov: bool = False, *, maximize: bool = False, foreach: bool | None = None, differentiable: bool = False,
                 fused: bool | None = None) -> None:
        check_lr(lr)
        check_not_negative(momentum=momentum, weight_decay=weight_decay)
        check(not nesterov or momentum > 0 and dampening == 0, "Nesterov momentum requires a momentum and zero dampening")
        super().__init__(params, {
            "lr": lr, "momentum": momentum, "dampening": dampening, "weight_decay": weight_decay, "nesterov": nesterov,
            "maximize": maximize, "foreach": foreach, "differentiable": differentiable, "fused": fused})
        check_implementation(fused, foreach, differentiable)

    def update_group(self, group: Keywords, params: list[Any]) -> None:
        """Updates `params` by the fused kernel where they are on the CPU."""
        from autograd_tape.executors.kernels.optim import sgd_step

        differentiable = group["differentiable"]
        lr, momentum, decay = float(group["lr"]), group["momentum"], float(group["weight_decay"])
        rest = []
        for p in params:
            if not on_buffers(p, differentiable):
                rest.append(p)
                continue
            grad, kept, first = p.grad, None, False
            if momentum:
                kept = self.state[p].get("momentum_buffer")
                first = kept is None
            if not (fits(p, grad) if kept is None else fits(p, grad, kept)):
                rest.append(p)
                continue
            if first:
                kept = self.state[p]["momentum_buffer"] = Tensor.over(np.empty_like(grad._data))
            buf = None if kept is None else kept._data
            sgd_step(p._data, grad._data, buf, lr, momentum, group["dampening"], decay, group["nesterov"], group["maximize"], first)
            Version.count(p)
        if rest:
            super().update_group(group, rest)

    def update(self, p: Tensor, grad: Tensor, state: Keywords, group: Keywords) -> None:
        """Updates one parameter in place."""
        momentum = group["momentum"]
        if group["weight_decay"]:
            grad = grad.add(p, alpha=_to_scalar(group["weight_decay"]))
        if momentum:
            buf = state.get("momentum_buffer")
            if buf is None:
                buf = state["momentum_buffer"] = grad.detach().clone()
            else:
                buf.mul_(momentum).add_(grad, alpha=1 - group["dampening"])
            grad = grad.add(buf, alpha=momentum) if group["nesterov"] else buf
        p.add_(grad, alpha=-group["lr"])


__getattr__ = _absences(__name__)
