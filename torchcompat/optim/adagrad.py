"""Adagrad."""

from __future__ import annotations


from autograd_tape.executors.kernels.handy import Exact
from autograd_tape.annotations import Keywords
import torchcompat as torch

from .._calls.absent import absences as _absences
from ._rule import RuleOptimizer, check_implementation, check_lr, check_not_negative, decayed
from torchcompat._tensor import Tensor
from torchcompat.optim.optimizer import ParamsT

__all__ = ["Adagrad", "adagrad"]


class Adagrad(RuleOptimizer):
    """Gradients divided by the root of the sum of all their squares (Duchi et al., 2011).

    Args:
        params: see Optimizer.
        lr: learning rate, divided by 1 + steps * lr_decay.
        lr_decay: see above.
        weight_decay: times the parameter, added to the gradient.
        initial_accumulator_value: what the sum starts with.
        eps: added to the root.
        foreach, fused: accepted; there is one implementation.
        maximize: go up instead of down.
        differentiable: let gradients flow through the step.
    """

    by_rows = True
    takes_sparse = True

    kernel = Exact("optim", "adagrad")
    kept = ("sum",)
    in_half = True

    def __init__(self, params: ParamsT, lr: float | Tensor = 1e-2, lr_decay: float = 0, weight_decay: float = 0,
                 initial_accumulator_value: float = 0, eps: float = 1e-10, foreach: bool | None = None, *, maximize: bool = False,
                 differentiable: bool = False, fused: bool | None = None) -> None:
        check_lr(lr)
        check_not_negative(lr_decay=lr_decay, weight_decay=weight_decay, initial_accumulator_value=initial_accumulator_value, eps=eps)
        super().__init__(params, {
            "lr": lr, "lr_decay": lr_decay, "eps": eps, "weight_decay": weight_decay,
            "initial_accumulator_value": initial_accumulator_value,
            "foreach": foreach, "maximize": maximize, "differentiable": differentiable, "fused": fused})
        check_implementation(fused, foreach, differentiable)
        if fused:
            self._need_device_dtype_check_for_fused = self._step_supports_amp_scaling = True
        for group in self.param_groups:
            for p in group["params"]:
                self.state_of(p, group)

    def new_state(self, p: Tensor, group: Keywords) -> dict[str, Tensor]:
        """The sum at its start."""
        start = self.defaults["initial_accumulator_value"]
        return {"sum": torch.full_like(p, complex(start, start) if p.is_complex() else start, requires_grad=False)}

    def share_memory(self) -> None:
        """Puts the sums into memory that processes share."""
        for state in self.state.values():
            state["sum"].share_memory_()

    @staticmethod
    def numbers(state: Keywords, group: Keywords) -> tuple[float, ...]:
        """See `RuleOptimizer`."""
        lr = group["lr"] / (1 + (state["step"].item() - 1) * group["lr_decay"])
        return (-lr, group["eps"], group["weight_decay"])

    @staticmethod
    def update(p: Tensor, grad: Tensor, state: Keywords, group: Keywords) -> None:
        """Updates one parameter in place."""
        lr = group["lr"] / (1 + (state["step"].item() - 1) * group["lr_decay"])
        if grad.is_sparse:
            _update_rows(p, grad.coalesce(), state["sum"], group, lr)
            return
        grad = decayed(p, grad, group)
        total = state["sum"].addcmul_(grad, grad, value=1)
        p.addcdiv_(grad, total.sqrt() + group["eps"], value=-lr)


def _update_rows(p: Tensor, grad: Tensor, total: Tensor, group: Keywords, lr: float) -> None:
    """Updates a parameter where its sparse gradient has elements."""
    if group["weight_decay"]:
        raise RuntimeError("weight_decay option is not compatible with sparse gradients")
    indices, values = grad._indices(), grad._values()
    total.add_(_make_sparse(grad, indices, values.pow(2)))
    root = total.sparse_mask(grad)._values().sqrt().add_(group["eps"])
    p.add_(_make_sparse(grad, indices, values / root), alpha=-lr)


def _make_sparse(grad: Tensor, grad_indices: Tensor, values: Tensor) -> Tensor:
    """A sparse tensor of `values` where `grad` has elements."""
    return torch.sparse_coo_tensor(grad_indices, values, grad.shape, is_coalesced=True)


def adagrad(params: list[Tensor], grads: list[Tensor], state_sums: list[Tensor], state_steps: list[Tensor], fused: bool | None = None,
            grad_scale: Tensor | None = None, found_inf: Tensor | None = None, has_sparse_grad: bool = False, foreach: bool | None = None,
            differentiable: bool = False, has_complex: bool = False, *, lr: float, weight_decay: float, lr_decay: float, eps: float,
            maximize: bool) -> None:
    """One step of Adagrad for lists of parameters, gradients and states."""
    Adagrad.update_lists(params, grads, {"step": state_steps, "sum": state_sums}, grad_scale, found_inf, lr=lr, weight_decay=weight_decay,
                         lr_decay=lr_decay, eps=eps, maximize=maximize, fused=fused, foreach=foreach, differentiable=differentiable)


_absences(__name__)
