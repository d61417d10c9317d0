"""SparseAdam."""

from __future__ import annotations

import math

from autograd_tape.annotations import Keywords
import torchcompat as torch

from .._calls.absent import absences as _absences
from ._rule import RuleOptimizer, check, check_betas
from .adagrad import _make_sparse
from torchcompat._tensor import Tensor
from torchcompat.optim.optimizer import ParamsT

__all__ = ["SparseAdam"]


class SparseAdam(RuleOptimizer):
    """Adam for gradients that are sparse: the means of the elements that have a gradient move, and those parameters; all others stay.

    Args:
        params: see Optimizer; dense tensors of reals with sparse gradients.
        lr: learning rate.
        betas: how much of the means of the gradient and of its square is kept at each step.
        eps: added to the root.
        maximize: go up instead of down.

    Raises:
        ValueError: a parameter is sparse or complex.
        RuntimeError: from `step`, a gradient is dense.
    """

    counts = False
    takes_sparse = True
    by_parts = False

    def __init__(self, params: ParamsT, lr: float | Tensor = 1e-3, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8,
                 maximize: bool = False) -> None:
        if isinstance(lr, torch.Tensor) and lr.numel() != 1:
            raise ValueError("Tensor lr must be 1-element")
        check(lr > 0.0, f"Invalid learning rate: {lr}")
        check(eps > 0.0, f"Invalid epsilon value: {eps}")
        check_betas(betas)
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "maximize": maximize})
        places = [(p, [i, j]) for i, group in enumerate(self.param_groups) for j, p in enumerate(group["params"])]
        sparse, whole = [at for p, at in places if p.is_sparse], [at for p, at in places if p.is_complex()]
        check(not sparse, f"Sparse params at indices {sparse}: SparseAdam requires dense parameter tensors")
        check(not whole, f"Complex params at indices {whole}: SparseAdam does not support complex parameters")

    def update_group(self, group: Keywords, params: list[Tensor]) -> None:
        """Updates `params`, all of whose gradients are sparse."""
        if not all([p.grad is not None and p.grad.is_sparse for p in params]):
            raise RuntimeError("SparseAdam does not support dense gradients, please consider Adam instead")
        super().update_group(group, params)

    def state_of(self, p: Tensor, group: Keywords) -> Keywords:
        """The number of steps with this one, and means, of zero at first."""
        state = self.state[p]
        if not state:
            state |= {"step": 0, **{name: torch.zeros_like(p, requires_grad=False) for name in ("exp_avg", "exp_avg_sq")}}
        state["step"] += 1
        return state

    @staticmethod
    def update(p: Tensor, grad: Tensor, state: Keywords, group: Keywords) -> None:
        """Updates one parameter in place, where its gradient has elements."""
        grad = grad.coalesce()
        indices, values = grad._indices(), grad._values()
        if not values.numel():
            return
        (beta1, beta2), step = group["betas"], state["step"]
        means = []
        for name, kept, new in (("exp_avg", beta1, values), ("exp_avg_sq", beta2, values * values)):
            old = state[name].sparse_mask(grad)._values()
            change = (new - old).mul_(1 - kept)
            state[name].add_(_make_sparse(grad, indices, change))
            means.append(change.add_(old))
        mean, square = means
        size = group["lr"] * math.sqrt(1 - beta2**step) / (1 - beta1**step)
        p.add_(_make_sparse(grad, indices, -size * mean.div_(square.sqrt_().add_(group["eps"]))))


def sparse_adam(params: list[Tensor], grads: list[Tensor], exp_avgs: list[Tensor], exp_avg_sqs: list[Tensor], state_steps: list[int], *,
                eps: float, beta1: float, beta2: float, lr: float, maximize: bool) -> None:
    """One step of SparseAdam for lists of parameters, sparse gradients, means, and numbers of steps, this one counted."""
    for p, grad, mean, square, step in zip(params, grads, exp_avgs, exp_avg_sqs, state_steps):
        SparseAdam.update(p, -grad if maximize else grad, {"step": step, "exp_avg": mean, "exp_avg_sq": square},
                          {"lr": lr, "betas": (beta1, beta2), "eps": eps})


_absences(__name__)
