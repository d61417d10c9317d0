"""Adafactor."""

from __future__ import annotations

import functools

from autograd_tape.annotations import Keywords
from autograd_tape.dtypes import DType
import torchcompat as torch

from .._calls.absent import absences as _absences
from ._rule import RuleOptimizer, check
from .._calls.shown import shown_in
from torchcompat._tensor import Tensor
from torchcompat.optim.optimizer import ParamsT

__all__ = ["Adafactor", "adafactor"]


@functools.cache
def _eps(dtype: DType) -> float:
    """What is between 1 and the next number of a dtype."""
    return float(torch.finfo(dtype).eps)


class Adafactor(RuleOptimizer):
    """Gradients divided by the root of a running mean of their squares, of which, for a matrix, only the means over its rows and columns
    are kept (Shazeer and Stern, 2018); steps are as large as the parameters are.

    Args:
        params: see Optimizer; real.
        lr: the largest relative size of a step, which falls with the root of the number of steps; and what weight_decay is times.
        beta2_decay: the power of the number of steps that is the newest square's weight in the running mean.
        eps: the least size of a square's root, the dtype's rounding where None; and the least size of parameters that steps go by.
        d: the root mean square from which on an update is scaled down.
        weight_decay: times lr, what the parameter shrinks by.
        foreach: accepted; there is one implementation.
        maximize: go up instead of down.
    """

    def __init__(self, params: ParamsT, lr: float | Tensor = 1e-2, beta2_decay: float = -0.8,
                 eps: tuple[float | None, float] = (None, 1e-3), d: float = 1.0, weight_decay: float = 0.0, *,
                 foreach: bool | None = None, maximize: bool = False) -> None:
        if isinstance(lr, torch.Tensor) and lr.numel() != 1:
            raise ValueError("Tensor lr must be 1-element")
        check(lr >= 0.0, f"Learning rate should be >= 0 but is: {lr}")
        check(beta2_decay <= 0.0, f"beta2_decay should be <= 0 but is: {beta2_decay}")
        check(eps[0] is None or eps[0] >= 0.0, f"epsilon1 should be >= 0 but is: {eps[0]}")
        check(eps[1] >= 0.0, f"epsilon2 should be >= 0 but is: {eps[1]}")
        check(d >= 1.0, f"Clipping threshold d should be >= 1 but is: {d}")
        check(weight_decay >= 0.0, f"weight_decay should be >= 0 but is: {weight_decay}")
        super().__init__(params, {"lr": lr, "beta2_decay": beta2_decay, "eps": eps, "d": d, "weight_decay": weight_decay,
                                  "foreach": foreach, "maximize": maximize})

    def state_of(self, p: Tensor, group: Keywords) -> Keywords:
        """The state of a real parameter."""
        if p.is_complex():
            raise RuntimeError("Adafactor does not support complex parameters")
        return super().state_of(p, group)

    def new_state(self, p: Tensor, group: Keywords) -> dict[str, Tensor]:
        """Running means of zero: over the last dimension and over that before it, or of all elements where there is but one."""
        grad = p.grad
        assert grad is not None
        if grad.dim() < 2:
            return {"variance": torch.zeros_like(grad)}
        return {"row_var": grad.new_zeros((*grad.shape[:-1], 1)), "col_var": grad.new_zeros((*grad.shape[:-2], 1, grad.shape[-1]))}

    @staticmethod
    def update(p: Tensor, grad: Tensor, state: Keywords, group: Keywords) -> None:
        """Updates one parameter in place."""
        lr, (least, least_size) = group["lr"], group["eps"]
        least = _eps(p.dtype) if least is None else least
        step = state["step"].item()
        weight = step ** group["beta2_decay"]
        size = max(least_size, p.norm(2).item() / p.numel() ** 0.5) * min(lr, 1 / step**0.5)
        if group["weight_decay"] != 0:
            p.mul_(1 - lr * group["weight_decay"])
        if grad.dim() > 1:
            rows, columns = [
                state[name].lerp_(torch.norm(grad, dim=dim, keepdim=True).square_().div_(grad.size(dim)), weight)
                for name, dim in (("row_var", -1), ("col_var", -2))]
            square = (rows @ columns).div_(rows.mean(dim=-2, keepdim=True).clamp_(min=least))
        else:
            square = state["variance"].lerp_(grad * grad, weight).clone()
        update = square.clamp_(min=least * least).rsqrt_().mul_(grad)
        p.add_(update, alpha=-size / max(1.0, update.norm(2).item() / (update.numel() ** 0.5 * group["d"])))


shown_in("torchcompat.optim", Adafactor)


def adafactor(params: list[Tensor], grads: list[Tensor], row_vars: list[Tensor | None], col_vars: list[Tensor | None],
              variances: list[Tensor | None], state_steps: list[Tensor], foreach: bool | None = None, grad_scale: Tensor | None = None,
              found_inf: Tensor | None = None, has_complex: bool = False, *, d: float, lr: float | Tensor, beta2_decay: float,
              weight_decay: float, eps1: float, eps2: float, maximize: bool) -> None:
    """One step of Adafactor for lists of parameters, gradients and states."""
    if not all([isinstance(step, torch.Tensor) for step in state_steps]):
        raise RuntimeError("`state_steps` argument must contain a list of singleton tensors")
    if grad_scale is not None or found_inf is not None:
        raise AssertionError("Grad scaling should occur outside of optimizer.step()")
    Adafactor.update_lists(params, grads, {"step": state_steps, "row_var": row_vars, "col_var": col_vars, "variance": variances}, lr=lr,
                           beta2_decay=beta2_decay, eps=(eps1, eps2), d=d, weight_decay=weight_decay, foreach=foreach, maximize=maximize)


_absences(__name__)
