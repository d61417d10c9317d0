"""Optimizers and schedules, and states and gradients that do not fit."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.recording import Table

OPTIMIZERS = [
    "SGD(params, lr=0.1)",
    "SGD(params, lr=0.1, momentum=0.9, dampening=0.1, weight_decay=0.01)",
    "SGD(params, lr=0.1, momentum=0.9, nesterov=True, maximize=True)",
    "Adam(params)",
    "Adam(params, lr=0.01, betas=(0.8, 0.9), eps=1e-6, weight_decay=0.1, amsgrad=True)",
    "Adam(params, maximize=True)",
    "AdamW(params, lr=0.01)",
    "AdamW(params, lr=0.01, weight_decay=0.1, amsgrad=True, maximize=True)",
    "RMSprop(params)",
    "RMSprop(params, momentum=0.9, centered=True, weight_decay=0.1)",
    "Adagrad(params, lr_decay=0.1, weight_decay=0.1, initial_accumulator_value=0.2)",
    "Adadelta(params, weight_decay=0.1)",
    "Adamax(params, weight_decay=0.1)",
    "NAdam(params, weight_decay=0.1)",
    "NAdam(params, weight_decay=0.1, decoupled_weight_decay=True)",
    "RAdam(params, lr=0.01, betas=(0.9, 0.8), weight_decay=0.1)",
    "ASGD(params, lr=0.1, t0=2, weight_decay=0.1)",
    "Rprop(params)",
    "LBFGS(params, lr=0.5, max_iter=4)",
    "LBFGS(params, max_iter=2, line_search_fn='strong_wolfe')",
    "SGD([{'params': params[:1], 'lr': 0.5}, {'params': params[1:]}], lr=0.1, momentum=0.5)",
]

SCHEDULES = [
    "StepLR(opt, 3)",
    "MultiStepLR(opt, [2, 5, 5], gamma=0.5)",
    "ConstantLR(opt, 0.3, 4)",
    "LinearLR(opt, 0.2, 0.9, 6)",
    "ExponentialLR(opt, 0.9)",
    "PolynomialLR(opt, 8, 2.0)",
    "LambdaLR(opt, lambda e: 1 / (e + 1))",
    "MultiplicativeLR(opt, lambda e: 0.9 + e / 100)",
    "CosineAnnealingLR(opt, 4, eta_min=0.01)",
    "CosineAnnealingWarmRestarts(opt, 3, 2)",
    "CyclicLR(opt, 0.01, 0.2, step_size_up=3, step_size_down=2, mode='triangular2')",
    "CyclicLR(opt, 0.01, 0.2, step_size_up=3, mode='exp_range', gamma=0.9, cycle_momentum=False)",
    "OneCycleLR(opt, 0.5, total_steps=12)",
    "OneCycleLR(opt, 0.5, epochs=3, steps_per_epoch=4, anneal_strategy='linear', three_phase=True)",
    "SequentialLR(opt, [LinearLR(opt, 0.1, total_iters=3), CosineAnnealingLR(opt, 8)], [4])",
    "SWALR(opt, 0.05, anneal_epochs=4)",
    "SWALR(opt, [0.05, 0.1], anneal_epochs=4, anneal_strategy='linear')",
    "ChainedScheduler([ConstantLR(opt, 0.5, 3), ExponentialLR(opt, 0.9)])",
]


#: Optimizers with fused steps, and what may be wrong with the state or the gradient they meet.
FUSED = ["SGD(params, lr=0.1, momentum=0.9)", "SGD(params, lr=0.1)", "Adam(params)", "Adam(params, amsgrad=True)",
         "Adam(params, maximize=True)", "AdamW(params)", "AdamW(params, amsgrad=True)"]
MISFITS = ["state of a smaller model", "state of a bigger model", "state of one row", "state of more rows", "bigger data",
           "bigger data with the old gradient", "bigger data at the first step", "more rows at the first step", "wider data",
           "wider data with the old gradient", "wider state", "integer state", "no state", "empty state", "amsgrad from now on",
           "expanded state", "transposed state", "expanded data", "strided data"]


def run_optimizer(torch: Any, expression: str) -> dict[str, Any]:
    """Parameters and state after five steps on a fixed quadratic, with closures where the optimizer needs them."""
    rng = np.random.RandomState(3)
    params = [torch.nn.Parameter(torch.tensor(rng.standard_normal(shape).astype(np.float32))) for shape in ((3, 4), (5,))]
    targets = [torch.tensor(rng.standard_normal(tuple(p.shape)).astype(np.float32)) for p in params]
    opt = eval(expression, {**vars(torch.optim), "params": params})
    losses = []

    def closure() -> Any:
        opt.zero_grad()
        loss = sum((((p - t) ** 2) * (1 + i)).sum() for i, (p, t) in enumerate(zip(params, targets)))
        loss.backward()
        return loss

    for _ in range(5):
        losses.append(opt.step(closure).item())
    state = opt.state_dict()
    return {"repr": repr(opt), "losses": losses, "params": [p.tolist() for p in params], "groups": state["param_groups"],
            "state": {str(k): {name: plain(v, torch) for name, v in s.items()} for k, s in state["state"].items()}}


def run_misfit(torch: Any, expression: str, misfit: str, big: tuple[int, int], small: tuple[int, int]) -> Any:
    """What comes of a step for which state, data or gradient do not fit: the error, or the sum of the parameter and its dtype."""

    def make(shape: tuple[int, int]) -> tuple[Any, Any]:
        p = torch.nn.Parameter(torch.full(shape, 0.5))
        return p, eval(expression, {**vars(torch.optim), "params": [p]})

    def step(p: Any, opt: Any) -> None:
        p.grad = torch.full_like(p, 0.25)
        opt.step()

    def each_state(p: Any, opt: Any, change: Any) -> None:
        for name, value in list(opt.state[p].items()):
            if name != "step" and value is not None:
                opt.state[p][name] = change(value)

    row = (1, big[1])
    before, after = {"state of a smaller model": (small, big), "state of a bigger model": (big, small), "state of one row": (row, big),
                     "state of more rows": (big, row)}.get(misfit, (big, big))
    if misfit.startswith("bigger data"):
        before = small
    elif misfit == "more rows at the first step":
        before = row
    p, opt = make(before)
    try:
        if "first step" in misfit:
            p.grad = torch.full_like(p, 0.25)
        else:
            step(p, opt)
        if misfit.startswith("state of"):
            state = opt.state_dict()
            p, opt = make(after)
            opt.load_state_dict(state)
        elif misfit.startswith(("bigger", "more rows")):
            p.data = torch.full(big, 0.5)
        elif misfit.startswith("wider data"):
            old, p.grad = p.grad, None
            p.data = torch.full(big, 0.5, dtype=torch.float64)
            if "old" in misfit:
                p.data, p.grad = torch.full(big, 0.5), old
                p.data = torch.full(big, 0.5, dtype=torch.float64)
        elif misfit == "expanded data":
            p.data = torch.full(row, 0.5).expand(big)
        elif misfit == "strided data":
            p.data = torch.full((big[0], 2 * big[1]), 0.5)[:, ::2]
        elif misfit == "no state":
            each_state(p, opt, lambda v: None)
        elif misfit == "empty state":
            opt.state[p] = {k: v for k, v in opt.state[p].items() if k == "step"}
        elif misfit == "amsgrad from now on":
            opt.param_groups[0]["amsgrad"] = True
        else:
            change = {"wider state": lambda v: v.double(), "integer state": lambda v: v.long(),
                      "expanded state": lambda v: v[:1].expand(big), "transposed state": lambda v: v.t().contiguous().t()}[misfit]
            each_state(p, opt, change)
        if "old" in misfit or "first" in misfit:
            opt.step()
        else:
            step(p, opt)
    except Exception as error:
        return [type(error).__name__, str(error).partition("\n")[0]]
    return [float(p.sum()), str(p.dtype), str(p.grad.dtype)]


def plain(value: Any, torch: Any) -> Any:
    """Tensors as lists, with their dtype."""
    if isinstance(value, torch.Tensor):
        return {"dtype": str(value.dtype), "value": value.tolist()}
    return [plain(v, torch) for v in value] if isinstance(value, (list, tuple)) else value


def run_schedule(torch: Any, expression: str) -> list[Any]:
    """The learning rates (and momenta) of twelve steps, and the last as the schedule knows it."""
    groups = [{"params": [torch.nn.Parameter(torch.ones(1))], "lr": 0.1}, {"params": [torch.nn.Parameter(torch.ones(1))], "lr": 0.3}]
    opt = torch.optim.SGD(groups, momentum=0.7)
    schedule = eval(expression, {**vars(torch.optim.lr_scheduler), **vars(torch.optim.swa_utils), "opt": opt})
    found = []
    for _ in range(11):
        found.append([[float(g["lr"]), float(g["momentum"])] for g in opt.param_groups])
        opt.step()
        schedule.step()
    return found + [[float(lr) for lr in schedule.get_last_lr()]]


TABLE = Table("optimizers", OPTIMIZERS, run_optimizer, tolerance=(2e-5, 1e-6), digits=9)
SCHEDULE_TABLE = Table("schedules", SCHEDULES, run_schedule, tolerance=(1e-7, 0.0), digits=9)
MISFIT_TABLE = Table("misfits", FUSED, lambda torch, expression: {
    misfit: run_misfit(torch, expression, misfit, (130, 100), (100, 50)) for misfit in MISFITS}, tolerance=(2e-5, 1e-6),
                     digits=9)
"""Of more elements than fused steps begin at."""
