"""Optimizers as functions of lists, their hooks, and state dicts of older versions."""

from __future__ import annotations

import copy
import importlib
from typing import Any

from tests.recording import Table, attempted

_ADAM = "{}(p, g, A(3), A(4), {}, n, beta1=.9, beta2=.99, lr=.1, weight_decay=.1, eps=1e-8, {})"
CALLS = [
    _ADAM.format("adam", "A(5)", "amsgrad=True, maximize=False"),
    _ADAM.format("adam", "[]", "amsgrad=False, maximize=True, foreach=True"),
    _ADAM.format("adam", "A(5)", "amsgrad=True, maximize=True, capturable=True"),
    _ADAM.format("adam", "A(5)", "amsgrad=True, maximize=True, fused=True, grad_scale=T(2.), found_inf=T(0.)"),
    _ADAM.format("adam", "A(5)", "amsgrad=True, maximize=True, grad_scale=T(2.)"),
    _ADAM.format("adamw", "[]", "amsgrad=False, maximize=True"),
    _ADAM.format("adam", "[]", "amsgrad=False, maximize=True").replace(" n,", " [1, 2],"),
    "adadelta(p, g, A(3), A(4), n, lr=.1, rho=.9, eps=1e-6, weight_decay=.1, maximize=True)",
    "adagrad(p, g, A(3), n, lr=.1, weight_decay=.1, lr_decay=.1, eps=1e-6, maximize=False)",
    "adamax(p, g, A(3), A(4), n, eps=1e-6, beta1=.9, beta2=.99, lr=.1, weight_decay=.1)",
    "asgd(p, g, A(3), [T(.5), T(1.)], [T(.1), T(.2)], n, lambd=.1, lr=.1, t0=1., alpha=.7, weight_decay=.1)",
    "nadam(p, g, A(3), A(4), [T(.5), T(.6)], n, beta1=.9, beta2=.99, lr=.1, weight_decay=.1, momentum_decay=.01, eps=1e-6)",
    "nadam(p, g, A(3), A(4), [.5, .6], n, beta1=.9, beta2=.99, lr=.1, weight_decay=.1, momentum_decay=.01, eps=1e-6)",
    "radam(p, g, A(3), A(4), n, beta1=.9, beta2=.99, lr=.1, weight_decay=.1, eps=1e-6)",
    "rmsprop(p, g, A(3), [], A(5), n, lr=.1, alpha=.9, eps=1e-6, weight_decay=.1, momentum=.5, centered=False)",
    "rprop(p, g, A(3), A(4), n, step_size_min=1e-6, step_size_max=50, etaminus=.5, etaplus=1.2)",
    "sgd(p, g, A(3), weight_decay=.1, momentum=.9, lr=.1, dampening=0, nesterov=True, maximize=True)",
    "sgd(p, g, b, weight_decay=.1, momentum=.9, lr=.1, dampening=.2, nesterov=False, maximize=False)",
    "sgd(p, g, b, fused=True, grad_scale=T(2.), found_inf=T(0.), weight_decay=.1, momentum=.9, lr=.1, dampening=.2, nesterov=False, "
    "maximize=False)",
    _ADAM.format("adam", "A(5)", "amsgrad=True, maximize=True, fused=True, found_inf=T(1.)"),
]


def rounded(value: Any, torch: Any) -> Any:
    """Tensors as lists with their dtype; what contains them with them."""
    if isinstance(value, torch.Tensor):
        return [str(value.dtype), [float(f"{x:.6g}") for x in value.detach().double().reshape(-1).tolist()]]
    if isinstance(value, dict):
        return {str(key): rounded(v, torch) for key, v in value.items()}
    return [rounded(v, torch) for v in value] if isinstance(value, (list, tuple)) else value


def run_call(torch: Any, expression: str) -> Any:
    """What the lists hold after a step."""
    made: list[Any] = []

    def draw(seed: int) -> list[Any]:
        made.append([torch.randn(3, generator=torch.Generator().manual_seed(10 * seed + i)) for i in range(2)])
        return made[-1]

    def sizes(seed: int) -> list[Any]:
        made.append([x.abs() for x in draw(seed)])
        return made[-1]

    scope = {"p": draw(1), "g": draw(2), "A": sizes, "T": torch.tensor, "n": [torch.tensor(2.0), torch.tensor(5.0)], "b": [None, None]}
    functions = vars(importlib.import_module(f"{torch.__name__}.optim._functional"))

    def go() -> Any:
        eval(expression, {**functions, **scope})
        return rounded([made, scope["n"], scope["b"]], torch)

    return attempted(go)


def run_older(torch: Any, name: str) -> Any:
    """The state after loading one that lacks the options of later versions, and counts steps in numbers; and a step."""
    p = torch.nn.Parameter(torch.ones(2))
    opt = getattr(torch.optim, name)([p], lr=0.1)
    p.grad = torch.ones(2)
    opt.step()
    state = copy.deepcopy(opt.state_dict())
    for group in state["param_groups"]:
        for key in ("foreach", "maximize", "differentiable", "capturable", "amsgrad", "fused", "nesterov", "decoupled_weight_decay"):
            group.pop(key, None)
    for own in state["state"].values():
        own.update({"step": 3} if "step" in own else {})
    opt.load_state_dict(state)
    opt.step()
    found = opt.state_dict()
    return [rounded(found["state"], torch), [dict(sorted(g.items())) for g in found["param_groups"]], rounded(p, torch)]


def run_hooks(torch: Any, name: str) -> Any:
    """What hooks see, in which order, and what they change."""
    module, log = importlib.import_module(f"{torch.__name__}.optim.optimizer"), []
    p = torch.nn.Parameter(torch.ones(2))
    p.grad = torch.ones(2)
    opt = getattr(torch.optim, name)([p], lr=0.1)

    def note(word: str) -> Any:
        return lambda o, *more: log.append([word, type(o).__name__, *[len(m) for m in more]])

    everywhere = [module.register_optimizer_step_pre_hook(note("before any")), module.register_optimizer_step_post_hook(note("after any"))]
    opt.register_step_pre_hook(note("before"))
    opt.register_step_post_hook(note("after"))
    loss = opt.step(closure=lambda: 3)
    for handle in everywhere:
        handle.remove()
    with opt.register_step_pre_hook(lambda o, args, kwargs: (args, {"closure": lambda: 7})):
        changed = opt.step()
    opt.register_state_dict_pre_hook(note("saves"))
    opt.register_state_dict_pre_hook(note("saves first"), prepend=True)
    opt.register_state_dict_post_hook(lambda o, state: {**state, "more": 1})
    opt.register_load_state_dict_pre_hook(lambda o, state: log.append(sorted(state)))
    opt.register_load_state_dict_post_hook(note("loaded"))
    opt.load_state_dict(opt.state_dict())
    return [loss, changed, log, rounded(p, torch)]


FUNCTIONS = Table("optimizer_functions", CALLS, run_call, tolerance=(2e-5, 1e-6))
OLDER = Table("optimizers_older", ["SGD", "Adam", "AdamW", "RMSprop", "NAdam", "RAdam", "Adagrad", "Adadelta", "Adamax", "ASGD", "Rprop"],
              run_older, tolerance=(2e-5, 1e-6))
HOOKS = Table("optimizer_hooks", ["SGD", "Adam", "Adagrad"], run_hooks, tolerance=(2e-5, 1e-6))
