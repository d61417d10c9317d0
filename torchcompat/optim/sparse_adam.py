"""SparseAdam."""

from __future__ import annotations

import math
from typing import Any

import torchcompat as torch

from .optimizer import RuleOptimizer, check_betas, check_lr, check_not_negative

__all__ = ["SparseAdam"]


class SparseAdam(RuleOptimizer):
    """Adam for gradients that are sparse: the means of the elements that have a gradient move, and those parameters; all others stay.

    Args:
        params: see Optimizer; dense tensors with sparse gradients.
        lr: learning rate.
        betas: how much of the means of the gradient and of its square is kept at each step.
        eps: added to the root.
        maximize: go up instead of down.

    Raises:
        ValueError: a parameter is sparse.
        RuntimeError: from `step`, a gradient is dense.
    """

    counts = False
    takes_sparse = True

    def __init__(self, params: Any, lr: Any = 1e-3, betas: Any = (0.9, 0.999), eps: float = 1e-8, maximize: bool = False) -> None:
        check_lr(lr)
        check_not_negative(eps=eps)
        check_betas(betas)
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "maximize": maximize})
        at = [[i, j] for i, group in enumerate(self.param_groups) for j, p in enumerate(group["params"]) if p.is_sparse]
        if at:
            raise ValueError(f"Sparse params at indices {at}: SparseAdam requires dense parameter tensors")

    def update_group(self, group: dict[str, Any], params: list[Any]) -> None:
        """Updates `params`, all of whose gradients are sparse."""
        if not all([p.grad.is_sparse for p in params]):
            raise RuntimeError("SparseAdam does not support dense gradients, please consider Adam instead")
        super().update_group(group, params)

    def state_of(self, p: Any, group: dict[str, Any]) -> dict[str, Any]:
        """The number of steps, and means of zero."""
        state = self.state[p]
        if not state:
            state |= {"step": 0, **{name: torch.zeros_like(p, requires_grad=False) for name in ("exp_avg", "exp_avg_sq")}}
        state["step"] += 1
        return state

    def update(self, p: Any, grad: Any, state: dict[str, Any], group: dict[str, Any]) -> None:
        """Updates one parameter in place, where its gradient has elements."""
        grad = grad.coalesce()
        indices, values = grad._indices(), grad._values()
        if not values.numel():
            return

        def at_indices(values: Any) -> Any:
            return torch.sparse_coo_tensor(indices, values, grad.shape, is_coalesced=True)

        (beta1, beta2), step = group["betas"], state["step"]
        means = []
        for name, kept, new in (("exp_avg", beta1, values), ("exp_avg_sq", beta2, values * values)):
            old = state[name].sparse_mask(grad)._values()
            change = (new - old).mul_(1 - kept)
            state[name].add_(at_indices(change))
            means.append(change.add_(old))
        mean, square = means
        size = group["lr"] * math.sqrt(1 - beta2**step) / (1 - beta1**step)
        p.add_(at_indices(-size * mean.div_(square.sqrt_().add_(group["eps"]))))
