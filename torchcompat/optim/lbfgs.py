"""L-BFGS (Nocedal and Wright, Numerical Optimization, algorithms 7.4, 7.5, 3.5 and 3.6), after minFunc by Mark Schmidt."""

from __future__ import annotations

from typing import Any
from collections.abc import Callable

from autograd_tape.annotations import Arguments
import torchcompat as torch

from ._rule import check_lr
from .optimizer import Optimizer, _to_scalar
from torchcompat.optim.optimizer import ParamsT
from torchcompat._tensor import Tensor

__all__ = ["LBFGS"]

_MEMORY = ("d", "t", "old_dirs", "old_stps", "ro", "H_diag", "prev_flat_grad", "prev_loss")
"""What is kept from one iteration to the next, besides the counts."""
Evaluate = Callable[[float], tuple[float, Any]]


def _cubic_minimum(a: Arguments, b: Arguments, bounds: tuple[float, float] | None = None) -> float:
    """The minimum, within bounds, of the cubic through two points (x, value, slope)."""
    (x1, f1, g1), (x2, f2, g2) = a, b
    low, high = bounds or (min(x1, x2), max(x1, x2))
    d1 = g1 + g2 - 3 * (f1 - f2) / (x1 - x2)
    square = d1**2 - g1 * g2
    if square < 0:
        return (low + high) / 2.0
    d2 = square.sqrt()
    x = x2 - (x2 - x1) * ((g2 + d2 - d1) / (g2 - g1 + 2 * d2)) if x1 <= x2 else x1 - (x1 - x2) * ((g1 + d2 - d1) / (g1 - g2 + 2 * d2))
    return min(max(x, low), high)


class _Point:
    """A step length with the loss and gradient there, and the slope along the direction."""

    __slots__ = ("t", "f", "g", "slope")

    def __init__(self, t: float, f: float, g: Tensor, slope: Any) -> None:
        self.t, self.f, self.g, self.slope = t, f, g, slope

    def xfg(self) -> Arguments:
        return self.t, self.f, self.slope


def _strong_wolfe(evaluate: Evaluate, t: float, d: Tensor, start: _Point, tolerance_change: float = 1e-9,
                  max_ls: int = 25) -> tuple[_Point, int]:
    """A step length that satisfies the strong Wolfe conditions, and the number of evaluations."""
    c1, c2 = 1e-4, 0.9
    scale = d.abs().max()

    def at(length: float) -> _Point:
        f, g = evaluate(length)
        return _Point(length, f, g, g.dot(d))

    def too_high(p: _Point) -> bool:
        return bool(p.f > start.f + c1 * p.t * start.slope)

    before, new, evaluations, done = start, at(t), 1, False
    bracket: list[_Point] | None = None
    iteration = 0
    while iteration < max_ls:
        if too_high(new) or iteration > 1 and new.f >= before.f:
            bracket = [before, new]
            break
        if abs(new.slope) <= -c2 * start.slope:
            bracket, done = [new], True
            break
        if new.slope >= 0:
            bracket = [before, new]
            break
        # Not there yet: extrapolate.
        t = _cubic_minimum(before.xfg(), new.xfg(), (new.t + 0.01 * (new.t - before.t), new.t * 10))
        before, new = new, at(t)
        evaluations += 1
        iteration += 1
    if bracket is None:
        bracket = [start, new]

    stuck = False
    low, high = (0, 1) if bracket[0].f <= bracket[-1].f else (1, 0)
    while not done and iteration < max_ls:
        left, right = sorted((bracket[0].t, bracket[1].t))
        if (right - left) * scale < tolerance_change:
            break
        t = _cubic_minimum(bracket[0].xfg(), bracket[1].xfg())
        # A step very close to an end of the bracket makes little progress; the second time, step inside.
        margin = 0.1 * (right - left)
        if min(right - t, t - left) < margin:
            if stuck or t >= right or t <= left:
                t = right - margin if abs(t - right) < abs(t - left) else left + margin
                stuck = False
            else:
                stuck = True
        else:
            stuck = False
        new = at(t)
        evaluations += 1
        iteration += 1
        if too_high(new) or new.f >= bracket[low].f:
            bracket[high] = new
            low, high = (0, 1) if bracket[0].f <= bracket[1].f else (1, 0)
        else:
            if abs(new.slope) <= -c2 * start.slope:
                done = True
            elif new.slope * (bracket[high].t - bracket[low].t) >= 0:
                bracket[high] = bracket[low]
            bracket[low] = new
    return bracket[low], evaluations


class LBFGS(Optimizer):
    """A quasi-Newton method; `step` takes a closure that it calls several times.

    Args:
        params: one group of parameters.
        lr: step length.
        max_iter: iterations in one step.
        max_eval: calls of the closure in one step; max_iter * 5 / 4 where None.
        tolerance_grad: done when no element of the gradient is larger.
        tolerance_change: done when parameters or loss change less.
        history_size: updates remembered.
        line_search_fn: "strong_wolfe" or None.
    """

    def __init__(self, params: ParamsT, lr: float | Tensor = 1, max_iter: int = 20, max_eval: int | None = None,
                 tolerance_grad: float = 1e-7, tolerance_change: float = 1e-9, history_size: int = 100,
                 line_search_fn: str | None = None) -> None:
        check_lr(lr)
        super().__init__(params, {
            "lr": lr, "max_iter": max_iter, "max_eval": max_iter * 5 // 4 if max_eval is None else max_eval,
            "tolerance_grad": tolerance_grad,
            "tolerance_change": tolerance_change, "history_size": history_size, "line_search_fn": line_search_fn})
        if len(self.param_groups) != 1:
            raise ValueError("LBFGS doesn't support per-parameter options (parameter groups)")
        self._params = self.param_groups[0]["params"]

    def _real(self, t: Tensor) -> Tensor:
        return torch.view_as_real(t) if t.is_complex() else t

    def _flat_grad(self) -> Tensor:
        parts = [self._real(torch.zeros_like(p) if p.grad is None else p.grad.to_dense()).reshape(-1) for p in self._params]
        return torch.cat([part.detach() for part in parts])

    def _move(self, length: float, direction: Tensor) -> None:
        start = 0
        for p in map(self._real, self._params):
            p.add_(direction[start:start + p.numel()].view_as(p), alpha=length)
            start += p.numel()

    def _direction(self, state: dict[str, Any], memory: dict[str, Any], grad: Any, history_size: int) -> Tensor:
        """The product of the negative gradient with the inverse Hessian that the history approximates (two-loop recursion)."""
        if state["n_iter"] == 1:
            memory.update(old_dirs=[], old_stps=[], ro=[], H_diag=1)
            return grad.neg()
        y, s = grad.sub(memory["prev_flat_grad"]), memory["d"].mul(memory["t"])
        ys = y.dot(s)
        if ys.item() > 1e-10:
            for name, item in (("old_dirs", y), ("old_stps", s), ("ro", 1.0 / ys)):
                if len(memory[name]) == history_size:
                    memory[name].pop(0)
                memory[name].append(item)
            memory["H_diag"] = ys / y.dot(y)
        old = list(zip(memory["old_dirs"], memory["old_stps"], memory["ro"]))
        weights = state.setdefault("al", [None] * history_size)
        q = grad.neg()
        for i in range(len(old) - 1, -1, -1):
            y, s, ro = old[i]
            weights[i] = s.dot(q) * ro
            q.add_(y, alpha=-weights[i].item())
        r = q.mul(memory["H_diag"])
        for weight, (y, s, ro) in zip(weights, old):
            r.add_(s, alpha=(weight - y.dot(r) * ro).item())
        return r

    def step(self, closure: Callable[[], Any]) -> Any:  # type: ignore[override]  # as torch has it: it needs the closure
        """Up to `max_iter` iterations; returns the loss at the start."""
        with torch.no_grad():
            return self._step(torch.enable_grad()(closure))

    def _step(self, closure: Callable[[], Any]) -> Tensor:
        group, state = self.param_groups[0], self.state[self._params[0]]
        lr, tolerance_change = _to_scalar(group["lr"]), group["tolerance_change"]
        state.setdefault("func_evals", 0)
        state.setdefault("n_iter", 0)
        first_loss = closure()
        loss, evaluations = float(first_loss), 1
        state["func_evals"] += 1
        grad = self._flat_grad()
        if grad.abs().max().item() <= group["tolerance_grad"]:
            return first_loss
        memory = {name: state.get(name) for name in _MEMORY}
        for iteration in range(1, group["max_iter"] + 1):
            state["n_iter"] += 1
            d = memory["d"] = self._direction(state, memory, grad, group["history_size"])
            memory["prev_flat_grad"], memory["prev_loss"] = grad.clone(), loss
            t = memory["t"] = min(1.0, 1.0 / grad.abs().sum()) * lr if state["n_iter"] == 1 else lr
            slope = grad.dot(d)
            if slope > -tolerance_change:
                break
            spent, small = 0, False
            if group["line_search_fn"] is not None:
                if group["line_search_fn"] != "strong_wolfe":
                    raise RuntimeError("only 'strong_wolfe' is supported")
                found, spent = self._search(closure, _Point(0.0, loss, grad, slope), d, t, group["max_eval"] - evaluations)
                loss, grad, t = found.f, found.g, found.t
                memory["t"] = t
                self._move(t, d)
                small = grad.abs().max().item() <= group["tolerance_grad"]
            else:
                self._move(t, d)
                if iteration != group["max_iter"]:
                    loss = float(closure())
                    grad, spent = self._flat_grad(), 1
                    small = grad.abs().max().item() <= group["tolerance_grad"]
            evaluations += spent
            state["func_evals"] += spent
            if small or evaluations >= group["max_eval"] or d.mul(t).abs().max().item() <= tolerance_change \
                    or abs(loss - memory["prev_loss"]) < tolerance_change:
                break
        state.update(memory)
        return first_loss

    def _search(self, closure: Callable[[], Any], start: _Point, d: Tensor, t: float, max_ls: int) -> tuple[_Point, int]:
        kept = [p.clone() for p in self._params]

        def evaluate(length: float) -> tuple[float, Tensor]:
            self._move(length, d)
            loss = float(closure())
            grad = self._flat_grad()
            for p, value in zip(self._params, kept):
                p.copy_(value)
            return loss, grad

        return _strong_wolfe(evaluate, t, d, start, max_ls=max_ls)
