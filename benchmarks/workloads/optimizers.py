"""Steps of every optimizer, and what goes with them, for four small parameters, the 60 of a small transformer, and one of 10^6 numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from benchmarks.workloads.registry import add, floats

Call = Callable[[], Any]
_LAYER = ((96, 32), (96,), (32, 32), (32,), (64, 32), (64,), (32, 64), (32,), (32,), (32,), (32,), (32,))
PARAMETERS: dict[str, tuple[tuple[int, ...], ...]] = {
    "4 small": ((8, 8), (8,), (4, 8), (4,)), "60 of a transformer": _LAYER * 5, "one of 10^6": ((1000, 1000),)}
_ADAM: list[dict[str, Any]] = [{}, {"weight_decay": 0.1}, {"amsgrad": True}, {"maximize": True}, {"foreach": True}, {"fused": True}]
OPTIMIZERS: dict[str, list[dict[str, Any]]] = {
    "SGD": [{}, {"momentum": 0.9}, {"momentum": 0.9, "nesterov": True, "weight_decay": 0.1}, {"fused": True}], "Adam": _ADAM,
    "AdamW": _ADAM[:4], "NAdam": [{}, {"weight_decay": 0.1}], "RAdam": [{}, {"weight_decay": 0.1}], "Adamax": [{}, {"weight_decay": 0.1}],
    "Adagrad": [{}, {"weight_decay": 0.1}], "Adadelta": [{}, {"weight_decay": 0.1}], "ASGD": [{}, {"weight_decay": 0.1}],
    "Rprop": [{}, {"maximize": True}], "RMSprop": [{}, {"momentum": 0.9}, {"centered": True, "weight_decay": 0.1}],
}
FOREACH: dict[str, Callable[[Any, list[Any], list[Any]], Any]] = {
    "_foreach_add": lambda torch, a, b: torch._foreach_add(a, b), "_foreach_mul_": lambda torch, a, b: torch._foreach_mul_(a, 1.0),
    "_foreach_addcmul": lambda torch, a, b: torch._foreach_addcmul(a, a, b, 0.5),
    "_foreach_sqrt": lambda torch, a, b: torch._foreach_sqrt(a), "_foreach_lerp_": lambda torch, a, b: torch._foreach_lerp_(a, b, 1e-6),
    "_foreach_norm": lambda torch, a, b: torch._foreach_norm(a), "_foreach_zero_": lambda torch, a, b: torch._foreach_zero_(a),
    "_foreach_copy_": lambda torch, a, b: torch._foreach_copy_(a, b),
}


def _parameters(torch: Any, shapes: tuple[tuple[int, ...], ...]) -> list[Any]:
    """Parameters with gradients."""
    found = [torch.nn.Parameter(floats(torch, *shape, seed=i)) for i, shape in enumerate(shapes)]
    for i, p in enumerate(found):
        p.grad = floats(torch, *p.shape, seed=1000 + i)
    return found


def _stepping(kind: str, options: dict[str, Any], shapes: tuple[tuple[int, ...], ...]) -> Callable[[Any], Call]:
    def setup(torch: Any) -> Call:
        parameters = _parameters(torch, shapes)
        optimizer = getattr(torch.optim, kind)(parameters, lr=1e-6, **options)

        def run() -> Any:
            optimizer.step()
            return parameters[:4]

        return run

    return setup


def _module(torch: Any, shapes: tuple[tuple[int, ...], ...]) -> Any:
    module = torch.nn.Module()
    for i, p in enumerate(_parameters(torch, shapes)):
        module.register_parameter(f"p{i}", p)
    return module


def _averaging(average: str | None) -> Callable[[Any, tuple[tuple[int, ...], ...]], Call]:
    def setup(torch: Any, shapes: tuple[tuple[int, ...], ...]) -> Call:
        utils, module = torch.optim.swa_utils, _module(torch, shapes)
        averaged = utils.AveragedModel(module, multi_avg_fn=getattr(utils, average)() if average else None)

        def run() -> Any:
            averaged.update_parameters(module)
            return list(averaged.module.parameters())[:4]

        return run

    return setup


def _scheduled(kind: str, *arguments: Any) -> Callable[[Any, tuple[tuple[int, ...], ...]], Call]:
    def setup(torch: Any, shapes: tuple[tuple[int, ...], ...]) -> Call:
        optimizer = torch.optim.SGD(_parameters(torch, shapes), lr=0.1)
        optimizer.step()
        return getattr(torch.optim.lr_scheduler, kind)(optimizer, *arguments).step

    return setup


def _on_grads(function: Callable[[Any, list[Any]], Any]) -> Callable[[Any, tuple[tuple[int, ...], ...]], Call]:
    def setup(torch: Any, shapes: tuple[tuple[int, ...], ...]) -> Call:
        parameters = _parameters(torch, shapes)
        return lambda: function(torch, parameters)

    return setup


def _list(function: Callable[[Any, list[Any], list[Any]], Any]) -> Callable[[Any, tuple[tuple[int, ...], ...]], Call]:
    def setup(torch: Any, shapes: tuple[tuple[int, ...], ...]) -> Call:
        first, second = [[floats(torch, *shape, seed=i + 50 * k, positive=True) for i, shape in enumerate(shapes)] for k in range(2)]
        return lambda: function(torch, first, second)

    return setup


UTILITIES: dict[str, Callable[[Any, tuple[tuple[int, ...], ...]], Call]] = {
    "clip_grad_norm_": _on_grads(lambda torch, p: torch.nn.utils.clip_grad_norm_(p, 1e9)),
    "clip_grad_norm_ inf": _on_grads(lambda torch, p: torch.nn.utils.clip_grad_norm_(p, 1e9, float("inf"))),
    "clip_grad_value_": _on_grads(lambda torch, p: torch.nn.utils.clip_grad_value_(p, 1.0)),
    "parameters_to_vector": _on_grads(lambda torch, p: torch.nn.utils.parameters_to_vector(p)),
    "zero_grad(set_to_none=False)": lambda torch, shapes: _zeroed(torch, shapes),
    "AveragedModel": _averaging(None), "AveragedModel, EMA": _averaging("get_ema_multi_avg_fn"),
    **{name: _list(function) for name, function in FOREACH.items()},
}
SCHEDULERS: dict[str, tuple[Any, ...]] = {
    "StepLR": (10,), "CosineAnnealingLR": (10,), "ExponentialLR": (0.9999,), "OneCycleLR": (0.1, 10**9), "LinearLR": (),
    "CosineAnnealingWarmRestarts": (10,)}


def _zeroed(torch: Any, shapes: tuple[tuple[int, ...], ...]) -> Call:
    optimizer = torch.optim.SGD(_parameters(torch, shapes), lr=0.1)
    return lambda: optimizer.zero_grad(set_to_none=False)


for _place, _shapes in PARAMETERS.items():
    for _kind, _all in OPTIMIZERS.items():
        for _options in _all:
            add("optimizers", _place, " ".join([_kind, *_options]), _stepping(_kind, _options, _shapes))
    if _place == "one of 10^6":
        add("optimizers", _place, "Muon", _stepping("Muon", {}, ((256, 256),)))
    for _name, _setup in UTILITIES.items():
        add("optimizers", _place, _name, lambda torch, _setup=_setup, _shapes=_shapes: _setup(torch, _shapes))
for _name, _arguments in SCHEDULERS.items():
    add("optimizers", "schedulers", _name, lambda torch, _setup=_scheduled(_name, *_arguments): _setup(torch, PARAMETERS["4 small"]))
