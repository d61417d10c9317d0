"""Stochastic gradient descent."""

from __future__ import annotations

from typing import Any

import numpy as np

from autograd_tape.annotations import Keywords
from autograd_tape.executors.kernels.handy import Listed
from autograd_tape.version import Version
from .._calls.absent import absences as _absences
from torchcompat._tensor import Tensor

from ._rule import (
    RuleOptimizer, at_once, check, check_implementation, check_lr, check_not_negative, decayed, fits, may_be_at_once, on_buffers,
)
from torchcompat.optim.optimizer import ParamsT

__all__ = ["SGD", "sgd"]

_LISTED = Listed("optim", "sgd")


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

    by_rows = True
    counts = False
    takes_sparse = True
    by_parts = False
    later = {**RuleOptimizer.later, "nesterov": False, "fused": False}

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
        if fused:
            self._need_device_dtype_check_for_fused = self._step_supports_amp_scaling = True

    def state_of(self, p: Tensor, group: Keywords) -> Keywords:
        """The state of a parameter: none where there is no momentum."""
        return self.state[p] if group["momentum"] else {}

    def update_group(self, group: Keywords, params: list[Tensor]) -> None:
        """Updates `params` by the fused kernel where they are on the CPU."""
        from autograd_tape.executors.kernels.optim import sgd_step

        differentiable = group["differentiable"]
        lr, momentum, decay = float(group["lr"]), group["momentum"], float(group["weight_decay"])
        if params and not differentiable and self._all_at_once(params, group, lr, decay):
            return
        rest = []
        for p in params:
            if not on_buffers(p, differentiable):
                rest.append(p)
                continue
            grad: Tensor = p.grad  # type: ignore[assignment]  # the parameters have one
            kept, first = None, False
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

    def _all_at_once(self, params: list[Tensor], group: Keywords, lr: float, decay: float) -> bool:
        """Whether one call updated all of them: at the first step, or later."""
        momentum = group["momentum"]
        kept: list[Any] = [None] * len(params)
        if momentum:
            kept = [self.state[p].get("momentum_buffer") for p in params]
        if first := bool(momentum) and kept[0] is None:
            kind, grads = params[0]._k, [p.grad for p in params]
            if any([buf is not None for buf in kept]) or not may_be_at_once(kind, group["fused"]) or not all(
                    [g._k is kind and g._data.__class__ is np.ndarray for g in grads]):  # type: ignore[union-attr]  # there is one
                return False  # before sums are made, which sharded and sparse gradients have of their own kind
            kept = [Tensor.over(np.empty_like(g._data)) for g in grads]  # type: ignore[union-attr]
        done = at_once(_LISTED, group["fused"], (params, [p.grad for p in params], kept), lr, momentum, 1.0 - group["dampening"], decay,
                       first, group["nesterov"], group["maximize"])
        if done and first:
            for p, buf in zip(params, kept):
                self.state[p]["momentum_buffer"] = buf
        return done

    @staticmethod
    def update(p: Tensor, grad: Tensor, state: Keywords, group: Keywords) -> None:
        """Updates one parameter in place."""
        momentum = group["momentum"]
        grad = decayed(p, grad, group)
        if momentum:
            buf = state.get("momentum_buffer")
            if buf is None:
                buf = state["momentum_buffer"] = grad.detach().clone()
            else:
                buf.mul_(momentum).add_(grad, alpha=1 - group["dampening"])
            grad = grad.add(buf, alpha=momentum) if group["nesterov"] else buf
        lr = group["lr"]
        if isinstance(lr, Tensor) and lr.requires_grad:
            p.addcmul_(grad, lr, value=-1)
        else:
            p.add_(grad, alpha=-lr)


def sgd(params: list[Tensor], d_p_list: list[Tensor], momentum_buffer_list: list[Tensor | None], has_sparse_grad: bool = False,
        foreach: bool | None = None, fused: bool | None = None, grad_scale: Tensor | None = None, found_inf: Tensor | None = None, *,
        weight_decay: float, momentum: float, lr: float, dampening: float, nesterov: bool, maximize: bool) -> None:
    """One step of gradient descent for lists of parameters, gradients and running sums; of these the first ones take the place of None."""
    SGD.update_lists(params, d_p_list, {"momentum_buffer": momentum_buffer_list} if momentum else {}, grad_scale, found_inf, lr=lr,
                     momentum=momentum, dampening=dampening, weight_decay=weight_decay, nesterov=nesterov, maximize=maximize,
                     foreach=foreach, fused=fused)


_absences(__name__)
