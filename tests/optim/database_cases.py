"""Every option of every optimizer that torch's own database of optimizers has, over many steps, and what each refuses."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np

from tests.recording import Table, attempted

STEPS, FEWER = 100, 20
SHAPES = ((3, 4), (5,))
SHOWN = (1, 10, FEWER, STEPS)
"""After which steps parameters are looked at."""


def written(value: Any, torch: Any, names: dict[int, str]) -> str:
    """A value of the database as an expression; parameters by names that tell their shape and layout."""
    if isinstance(value, (torch.nn.Parameter, torch.Tensor)) and (value.requires_grad or value.is_sparse):
        shape = "x".join(map(str, value.shape))
        return names.setdefault(id(value), f"{'sparse' if value.is_sparse else 'p'}{len(names)}_{shape}")
    if isinstance(value, torch.Tensor):
        return f"torch.tensor({value.tolist()})"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key!r}: {written(v, torch, names)}" for key, v in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        inner = ", ".join(written(v, torch, names) for v in value)
        return f"[{inner}]" if isinstance(value, list) else f"({inner},)"
    return repr(value)


def call(name: str, params: str, options: dict[str, Any], torch: Any, names: dict[int, str] | None = None) -> str:
    """The expression that makes an optimizer."""
    return f"{name}({', '.join([params, *(f'{key}={written(v, torch, names or {})}' for key, v in options.items())])})"


def variants(torch: Any) -> Iterator[str]:
    """Every entry of the database as it is; computed otherwise; upwards; with a tensor's rate; for other dtypes; in groups."""
    from torch.testing._internal.common_optimizers import optim_db

    for info in optim_db:
        name, signature = info.optim_cls.__name__, inspect.signature(info.optim_cls).parameters
        for entry in info.optim_inputs_func("cpu"):
            kwargs = entry.kwargs if name != "LBFGS" else {**entry.kwargs, "max_iter": 3}  # before rounding matters
            yield call(name, "params", kwargs, torch)
            for flag in info.supported_impls:
                yield call(name, "params", {**kwargs, flag: True}, torch)
            if "maximize" in signature:
                yield call(name, "params", {**kwargs, "maximize": not kwargs.get("maximize", False)}, torch)
            if not isinstance(kwargs.get("lr"), torch.Tensor) and "line_search_fn" not in kwargs:  # rounding decides a search from afar
                yield call(name, "params", {**kwargs, "lr": torch.tensor(kwargs.get("lr", 0.01))}, torch)
            for kind in ("float64", "complex64"):
                yield call(name, "params", kwargs, torch) + " of " + kind
            if "foreach" in info.supported_impls:
                yield call(name, "params", {**kwargs, "foreach": True}, torch) + " of complex64"
            if "fused" in info.supported_impls:
                for kind in ("float64", "bfloat16", "float16", "complex64"):
                    yield call(name, "params", {**kwargs, "fused": True}, torch) + " of " + kind
        group = "{'params': params[:1], 'lr': 0.03}, {'params': params[1:], 'weight_decay': 0.01}"
        yield call(name, f"[{group}]", {}, torch)
        for key, value in (("capturable", True), ("lr", torch.tensor([0.05])), ("foreach", True), ("fused", True)):
            if key in signature:
                yield call(name, "params", {key: value}, torch)
        for kind in ("bfloat16", "float16") if name != "LBFGS" else ():
            yield call(name, "params", {"eps": 0.1} if "eps" in signature and name != "Adafactor" else {}, torch) + " of " + kind
        for key in ("capturable", "lr"):
            if {key, "foreach"} <= set(signature):
                yield call(name, "params", {key: torch.tensor(0.05) if key == "lr" else True, "foreach": True}, torch)


def shown(value: Any, torch: Any) -> Any:
    """A few elements of a tensor, as exact as its dtype is; anything else as it is."""
    if isinstance(value, (list, tuple)):
        return [shown(v, torch) for v in value[-2:]]
    if not isinstance(value, torch.Tensor):
        return value
    flat = torch.view_as_real(value) if value.is_complex() else value
    digits = 11 if value.dtype in (torch.float64, torch.complex128) else 6
    numbers = [float(f"{x:.{digits}g}") for x in flat.detach().double().reshape(-1).tolist()]
    return {"dtype": str(value.dtype), "shape": list(value.shape), "first": numbers[:2], "last": numbers[-1:]}


def run(torch: Any, case: str) -> Any:
    """Parameters on the way, and the text, the options and the state at the end; or the error."""
    expression, _, kind = case.partition(" of ")
    name = expression.partition("(")[0]
    dtype, rng = getattr(torch, kind or "float32"), np.random.RandomState(3)
    whole, shapes = "complex" in kind, [(3, 4), (5, 2)] if name == "Muon" else SHAPES

    def draw(shape: tuple[int, ...]) -> Any:
        values = rng.standard_normal(shape) + (1j * rng.standard_normal(shape) if whole else 0)
        return torch.tensor(values, dtype=dtype)

    params = [draw(shape) for shape in shapes]
    for p in params:
        p.requires_grad_("differentiable" not in expression)
    aims, weights = [draw(shape) for shape in shapes], [rng.standard_normal(shape) for shape in shapes]
    noise = [[torch.tensor(rng.standard_normal(shape) + w, dtype=dtype) for shape, w in zip(shapes, weights)] for _ in range(STEPS)]

    def closure() -> Any:
        opt.zero_grad()
        loss = sum([(((p - a).abs() ** 2).sum() + ((p - a).abs() ** 3).sum()) * (i + 1) for i, (p, a) in enumerate(zip(params, aims))])
        loss.backward()
        return loss

    def go() -> Any:
        seen = {}
        for i in range(2 if name == "LBFGS" else FEWER if kind or "=True" in expression or "torch." in expression else STEPS):
            for p, aim, slope in zip(params, aims, noise[i]):
                grad = (p.detach() - aim) * 0.1 + slope
                p.grad = (grad * (grad.real > 0 if whole else grad > 0)).to_sparse() if name == "SparseAdam" else grad
            opt.step(closure) if name == "LBFGS" else opt.step()
            if i + 1 in SHOWN or name == "LBFGS":
                seen[str(i + 1)] = [shown(p, torch) for p in params]
        state = opt.state_dict()
        return {**seen, "repr": repr(opt), "groups": [{k: shown(v, torch) for k, v in g.items()} for g in state["param_groups"]],
                "state": {str(n): {key: shown(v, torch) for key, v in own.items()} for n, own in state["state"].items()}}

    try:
        opt = eval(expression, {**vars(torch.optim), "torch": torch, "params": params})
    except Exception as error:
        return {"error": type(error).__name__, "text": str(error)}
    return attempted(go)


def refused(torch: Any) -> Iterator[str]:
    """The database's errors, when an optimizer is made or steps."""
    from torch.testing._internal.common_optimizers import optim_db

    for info in optim_db:
        for entry in info.optim_error_inputs_func("cpu", torch.float32):
            given, names = entry.optimizer_error_input, {}
            params = "[p0_2x3]" if given.params is None else written(given.params, torch, names)
            yield call(info.optim_cls.__name__, params, given.kwargs, torch, names)


class Named(dict):
    """Tensors by names that tell their shapes."""

    def __init__(self, torch: Any) -> None:
        super().__init__({**vars(torch.optim), "torch": torch})
        self.torch = torch

    def __missing__(self, name: str) -> Any:
        kind, _, shape = name.partition("_")
        if not shape:
            raise KeyError(name)
        value = self.torch.ones([int(n) for n in shape.split("x")])
        self[name] = value.to_sparse() if kind.startswith("sparse") else self.torch.nn.Parameter(value)
        return self[name]


def run_refused(torch: Any, expression: str) -> Any:
    """The error, or the warnings, of an optimizer that is made and makes a step."""
    scope = Named(torch)

    def go() -> Any:
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            opt = eval(expression, {}, scope)
            for name, p in scope.items():
                if name.startswith("p") and "_" in name:
                    p.grad = torch.ones_like(p)
            opt.step(lambda: torch.ones(()))
        return [[w.category.__name__, str(w.message)] for w in told]

    return attempted(go)


DATABASE = Table("optimizer_database", variants, run, tolerance=(5e-4, 1e-5), doubles=(1e-9, 1e-12), zipped=True)
REFUSED = Table("optimizer_errors", refused, run_refused)
