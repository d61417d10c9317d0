"""Programs that import `functorch`, the package that comes with torch, to be carried out with torch and here (`test_functorch.py`)."""

from __future__ import annotations

import importlib
import pickle
import warnings
from collections.abc import Callable
from typing import Any

from tests.func.func_cases import plain
from tests.recording import Table, attempted


class Package:
    """`functorch` beside a module that plays torch, and its modules by name."""

    def __init__(self, t: Any) -> None:
        self.home = "functorch" if t.__name__ == "torch" and not hasattr(t, "__torchcompat__") else "torchcompat._functorch.functorch"

    def __call__(self, name: str = "") -> Any:
        return importlib.import_module(f"{self.home}.{name}" if name else self.home)


def _net(t: Any) -> Any:
    t.manual_seed(0)
    return t.nn.Sequential(t.nn.Linear(2, 3), t.nn.BatchNorm1d(3), t.nn.Linear(3, 1))


def _tied(t: Any) -> Any:
    t.manual_seed(0)
    layer = t.nn.Linear(2, 2)
    return t.nn.Sequential(layer, layer)


def _linears(t: Any) -> list[Any]:
    t.manual_seed(0)
    return [t.nn.Linear(2, 1) for _ in range(3)]


def _x(t: Any) -> Any:
    return t.arange(8.).reshape(4, 2).sin()


def _functional(t: Any, f: Any) -> Any:
    function, params = f().make_functional(_tied(t))
    gradients = f().grad(lambda p: function(p, _x(t)).sum())(params)
    return function(params, _x(t)), gradients, function.names_map, function.param_names, [p.requires_grad for p in params], str(function)


def _functional_with_buffers(t: Any, f: Any) -> Any:
    net = _net(t)
    function, params, buffers = f().make_functional_with_buffers(net)
    hollow = function.stateless_model[0].weight
    return (function(params, buffers, _x(t)), buffers, net[1].running_mean, function.all_names_map, function.buffer_names,
            str(hollow.device), list(function.state_dict()))


def _of_old(t: Any, f: Any, name: str, *args: Any) -> Any:
    module = importlib.import_module(f"{t.__name__}._functorch.make_functional")
    return getattr(module, name)(*args)


def _old_states(t: Any, f: Any) -> Any:
    weights, function, names = _of_old(t, f, "make_functional_deprecated_v1", _tied(t))
    more = _of_old(t, f, "make_functional_with_buffers_deprecated_v1", _net(t))
    return function(weights, (_x(t),)), names, more[2](more[0], more[1], (_x(t),)), more[3:]


def _several(t: Any, f: Any, name: str) -> Any:
    t.manual_seed(0)
    *states, function, names = _of_old(t, f, name, t.nn.Linear, (3,))(2, 1)[:3]
    return [[w.shape for w in s] if isinstance(s, tuple) else str(type(s)) for s in states], names if isinstance(names, tuple) else None


def _warned(f: Any, name: str, *args: Any) -> list[str]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        attempted(lambda: getattr(f(), name)(*args))
    return [f"{w.category.__name__}: {w.message}" for w in caught if w.category is FutureWarning]


def _parts(t: Any, f: Any, batch: int, chunks: int) -> Any:
    sizes: list[Any] = []

    def seen(x: Any, shared: Any) -> Any:
        sizes.append(x.shape)
        return {"y": x.sum() + shared}

    mapped = f("experimental").chunk_vmap(seen, in_dims=(1, None), chunks=chunks)
    return mapped(t.arange(2. * batch).reshape(2, batch), t.ones(())), sizes


CASES: dict[str, Callable[[Any, Any], Any]] = {
    "functional": _functional,
    "functional_with_buffers": _functional_with_buffers,
    "functional_untracked": lambda t, f: [p.requires_grad for p in f().make_functional(_tied(t), disable_autograd_tracking=True)[1]],
    "functional_of_buffers": lambda t, f: f().make_functional(_net(t)),
    "functional_of_nothing": lambda t, f: f().make_functional_with_buffers(t.nn.ReLU())[1:],
    "functional_pickled": lambda t, f: pickle.loads(pickle.dumps(f().make_functional(_tied(t))[0])).names_map,
    "ensemble": lambda t, f: (lambda function, params, buffers: (f().vmap(function, (0, 0, None))(params, buffers, _x(t)), buffers))(
        *f().combine_state_for_ensemble(_linears(t))),
    "ensemble_of_none": lambda t, f: f().combine_state_for_ensemble([]),
    "ensemble_of_classes": lambda t, f: f().combine_state_for_ensemble([_net(t), _linears(t)[0]]),
    "ensemble_of_modes": lambda t, f: f().combine_state_for_ensemble([_linears(t)[0], _linears(t)[0].eval()]),
    "old_states": _old_states,
    "old_state_of_buffers": lambda t, f: _of_old(t, f, "make_functional_deprecated_v1", _net(t)),
    "old_load_state": lambda t, f: _of_old(t, f, "load_state", t.nn.ReLU(), (), ("weight",)),
    "old_several": lambda t, f: _several(t, f, "functional_init"),
    "old_several_with_buffers": lambda t, f: _several(t, f, "functional_init_with_buffers"),
    "old_two_dimensions": lambda t, f: _of_old(t, f, "functional_init", t.nn.Linear, (2, 3))(2, 1),
    "old_none": lambda t, f: _of_old(t, f, "functional_init", t.nn.Linear, (0,))(2, 1),
    "warned": lambda t, f: {name: _warned(f, name, lambda x: x) for name in (
        "vmap", "grad", "grad_and_value", "jacrev", "jacfwd", "hessian", "functionalize", "make_functional", "make_functional_with_buffers",
        "combine_state_for_ensemble")},
    "warned_pulled": lambda t, f: [_warned(f, "vjp", t.sin, _x(t)), _warned(f, "jvp", t.sin, (_x(t),), (_x(t),))],
    "derivatives": lambda t, f: [f().jacrev(t.sin)(_x(t)[0]), f().jacfwd(t.sin)(_x(t)[0]), f().hessian(lambda x: x.sin().sum())(_x(t)[0]),
                                 f().vjp(t.sin, _x(t)[0])[1](_x(t)[1]), f().jvp(t.sin, (_x(t),), (_x(t),)),
                                 f().grad_and_value(lambda x: x.sin().sum())(_x(t))],
    "graph": lambda t, f: f().make_fx(f("experimental").functionalize(lambda x: x.clone().add_(1).mul(2)))(_x(t)).code,
    "control_flow": lambda t, f: [f("experimental.control_flow").cond(t.tensor(True), t.sin, t.cos, (_x(t),)),
                                  f("experimental.control_flow").map(lambda x, y: x * y, _x(t), t.tensor(2.))],
    "no_such_name": lambda t, f: f().nothing,
    **{f"parts_{n}_of_{batch}": lambda t, f, n=n, batch=batch: _parts(t, f, batch, n) for batch in (1, 5, 6) for n in (1, 2, 4)},
    "parts_random": lambda t, f: f("experimental").chunk_vmap(lambda x: x, randomness="never"),
    "parts_of_numbers": lambda t, f: f("experimental").chunk_vmap(lambda x: x)(3.),
}


def call(t: Any, case: str) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return attempted(lambda: plain(t, CASES[case](t, Package(t))))


TABLE = Table("functorch", list(CASES), call, tolerance=(2e-5, 2e-5))
