"""Checkpoints inside checkpoints and their options, to be carried out with torch itself and with this package.

Each case makes a tensor of one, in the course of which functions note their names, in the first run and when they are run again.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from importlib import import_module
from typing import Any

from tests.recording import Table


class Setting:
    """A module that plays torch, its `checkpoint` module, and functions that note that they are run."""

    def __init__(self, t: Any, module: Any) -> None:
        self.t, self.module, self.log = t, module, []
        self.a, self.b, self.c, self.d = [self.noting(name) for name in "abcd"]
        self.count = 0

    def noting(self, name: str) -> Callable[[Any], Any]:
        def function(x: Any) -> Any:
            self.log.append(name)
            return x.sin().exp()

        return function

    def n(self, function: Any, *args: Any, **kwargs: Any) -> Any:
        return self.module.checkpoint(function, *args, use_reentrant=False, **kwargs)

    def r(self, function: Any, *args: Any, **kwargs: Any) -> Any:
        return self.module.checkpoint(function, *args, use_reentrant=True, **kwargs)

    @contextlib.contextmanager
    def block(self, name: str) -> Any:
        self.log.append("in " + name)
        yield
        self.log.append("out " + name)

    def blocks(self, name: str) -> Callable[[], Any]:
        return lambda: (self.block(name + " first"), self.block(name + " again"))

    def saving(self) -> Any:
        def note(word: str) -> Callable[[Any], Any]:
            return lambda x: self.log.append(word) or x

        return self.t.autograd.graph.saved_tensors_hooks(note("pack"), note("unpack"))


def tail(s: Setting, x: Any) -> Any:
    y = s.a(x).sin()
    s.log.append("tail")
    return y


def without_early_stop(s: Setting, function: Any, x: Any) -> Any:
    with s.module.set_checkpoint_early_stop(False):
        return s.n(function, x)


def dropped(s: Setting, checkpoint: Any, x: Any) -> Any:
    s.t.manual_seed(0)
    return checkpoint(lambda y: s.t.nn.functional.dropout(y.exp(), 0.5), x)


def more(s: Setting, x: Any) -> Any:
    s.count += 1
    return x.sin().exp() if s.count % 2 else x.sin().exp().cos()


def shapes(s: Setting, x: Any) -> Any:
    s.count += 1
    return (x.sin() if s.count % 2 else s.t.cat([x, x]).sin()).exp().sum()


def again(s: Setting, y: Any, **options: Any) -> Any:
    y.sum().backward(**options)
    return y


def outside_hooks(s: Setting, x: Any) -> Any:
    with s.saving():
        return s.n(s.a, x)


def inside_hooks(s: Setting, x: Any) -> Any:
    with s.saving():
        return s.a(x)


def failing(s: Setting, x: Any) -> Any:
    s.count += 1
    if s.count == 2:
        raise ValueError("in the second run")
    return x.sin()


def changed(s: Setting, x: Any) -> Any:
    y = x * 2
    z = s.n(lambda v: v.sin(), y)
    y.add_(1)
    return z


def selective(s: Setting, x: Any, kept: Any, function: Any = None, **options: Any) -> Any:
    """A checkpoint that keeps the results of some operations, by their names or as a function says."""
    aten = s.t.ops.aten
    policy = [getattr(aten, name).default for name in kept] if isinstance(kept, list) else kept

    def contexts() -> Any:
        return s.module.create_selective_checkpoint_contexts(policy, **options)

    return s.n(function or (lambda y: s.b(s.a(y)).cos()), x, context_fn=contexts)


def decided(s: Setting) -> Any:
    """A policy that notes what it is asked."""
    def policy(context: Any, op: Any, *args: Any, **kwargs: Any) -> Any:
        s.log.append([str(op), context.is_recompute, list(context.op_output.shape)])
        return s.module.CheckpointPolicy.MUST_SAVE if "sin" in str(op) else s.module.CheckpointPolicy.PREFER_RECOMPUTE

    return policy


def unlike(s: Setting, x: Any) -> Any:
    """Another operation in the second run."""
    s.count += 1
    return (x.sin() if s.count == 1 else x.cos()).exp()


CASES: dict[str, Callable[[Setting, Any], Any]] = {
    "plain": lambda s, x: s.n(s.a, x), "plain reentrant": lambda s, x: s.r(s.a, x), "two": lambda s, x: s.n(lambda y: s.b(s.a(y)), x),
    "nested": lambda s, x: s.n(lambda y: s.c(s.n(s.b, s.a(y))), x), "nested alone": lambda s, x: s.n(lambda y: s.n(s.b, s.n(s.a, y)), x),
    "nested twice": lambda s, x: s.n(lambda z: s.d(s.n(lambda y: s.c(s.n(s.b, s.a(y))), z)), x),
    "nested deep": lambda s, x: s.n(lambda z: s.n(lambda y: s.n(lambda w: s.b(s.a(w)), y), z), x),
    "nested one after the other": lambda s, x: s.n(lambda y: s.n(s.b, s.n(s.c, s.a(y))), x),
    "nested reentrant": lambda s, x: s.r(lambda y: s.c(s.r(s.b, s.a(y))), x),
    "reentrant inside": lambda s, x: s.n(lambda y: s.c(s.r(s.b, s.a(y))), x),
    "reentrant outside": lambda s, x: s.r(lambda y: s.c(s.n(s.b, s.a(y))), x),
    "nested without early stop": lambda s, x: s.n(lambda y: s.c(s.n(s.b, s.a(y), early_stop=False)), x, early_stop=False),
    "early stop": lambda s, x: s.n(lambda y: tail(s, y), x), "no early stop": lambda s, x: without_early_stop(s, lambda y: tail(s, y), x),
    "no early stop nested": lambda s, x: without_early_stop(s, lambda y: s.c(s.n(s.b, s.a(y))), x),
    "random numbers": lambda s, x: dropped(s, s.n, x), "random numbers reentrant": lambda s, x: dropped(s, s.r, x),
    "more saved": lambda s, x: s.n(lambda y: more(s, y), x), "more saved to the end": lambda s, x: s.n(lambda y: more(s, y), x,
                                                                                                      early_stop=False),
    "fewer saved": lambda s, x: s.n(lambda y: more(s, more(s, y)), x), "other shapes": lambda s, x: s.n(lambda y: shapes(s, y), x),
    "other check": lambda s, x: s.n(s.a, x, determinism_check="foo"), "contexts": lambda s, x: s.n(s.a, x, context_fn=s.blocks("own")),
    "contexts nested": lambda s, x: s.n(lambda y: s.n(s.a, y, context_fn=s.blocks("inner")), x, context_fn=s.blocks("outer")),
    "contexts reentrant": lambda s, x: s.r(s.a, x, context_fn=s.blocks("own")), "keyword": lambda s, x: s.n(
        lambda y, k: s.a(y) * k, x, k=3.0), "keyword reentrant": lambda s, x: s.r(lambda y, k: s.a(y) * k, x, k=3.0),
    "operations kept": lambda s, x: selective(s, x, ["exp", "sin"]),
    "operations kept by a policy": lambda s, x: selective(s, x, decided(s)),
    "all kept": lambda s, x: selective(s, x, lambda *args, **kwargs: True),
    "operations kept, backward twice": lambda s, x: again(s, selective(s, x, ["sin"]), retain_graph=True),
    "kept and changed": lambda s, x: selective(s, x, ["sin"], lambda y: y.sin().mul_(2).cos()),
    "kept and may change": lambda s, x: selective(s, x, ["sin"], lambda y: y.sin().mul_(2).cos(), allow_cache_entry_mutation=True),
    "kept of another run": lambda s, x: selective(s, x, ["sin"], lambda y: unlike(s, y)),
    "kept packets": lambda s, x: s.module.create_selective_checkpoint_contexts([s.t.ops.aten.mm]),
    "kept numbers": lambda s, x: s.module.create_selective_checkpoint_contexts(3),
    "contexts and debug": lambda s, x: s.n(s.a, x, context_fn=s.blocks("own"), debug=True),
    "sequential": lambda s, x: s.module.checkpoint_sequential([s.a, s.b, s.c, s.d], 2, x, use_reentrant=False),
    "sequential reentrant": lambda s, x: s.module.checkpoint_sequential([s.a, s.b, s.c, s.d], 3, x, use_reentrant=True),
    "sequential of modules": lambda s, x: s.module.checkpoint_sequential(
        s.t.nn.Sequential(s.t.nn.Tanh(), s.t.nn.Sigmoid(), s.t.nn.Tanh()), 2, x, use_reentrant=False),
    "sequential keyword": lambda s, x: s.module.checkpoint_sequential([s.a, s.b], 1, x, use_reentrant=False, foo=1),
    "backward twice": lambda s, x: again(s, s.n(s.a, x), retain_graph=True),
    "backward twice nested": lambda s, x: again(s, s.n(lambda y: s.c(s.n(s.b, s.a(y))), x), retain_graph=True),
    "backward of a graph that is gone": lambda s, x: again(s, s.n(s.a, x)),
    "gradient of gradient": lambda s, x: s.t.autograd.grad(s.n(lambda y: s.c(s.n(s.b, s.a(y))), x).sum(), x, create_graph=True)[0],
    "gradient reentrant": lambda s, x: s.t.autograd.grad(s.r(s.a, x).sum(), x)[0],
    "no gradient": lambda s, x: s.n(s.a, x.detach()) * x, "no gradient reentrant": lambda s, x: s.r(s.a, x.detach()) * x,
    "changed input": changed, "failing": lambda s, x: s.n(lambda y: failing(s, y), x),
    "list": lambda s, x: s.n(lambda y: [s.a(y), y], x)[0],
    "tuple reentrant": lambda s, x: s.r(lambda y: (s.a(y), 3, y), x)[0],
    "inputs of several kinds": lambda s, x: s.n(lambda y, z, k: s.a(y) * z + k, x, x * 2, 3),
    "output not used": lambda s, x: s.n(lambda y: (s.a(y), s.b(y)), x)[0], "hooks outside": outside_hooks,
    "hooks inside": lambda s, x: s.n(lambda y: inside_hooks(s, y), x),
    "two outputs": lambda s, x: sum(s.n(lambda y: (y, s.b(s.a(y))), x)), "variant not named": lambda s, x: s.module.checkpoint(s.a, x),
}


def outcome(t: Any, name: str) -> Any:
    """[what ran first, what ran in backward, the gradient], or the error's type and first lines."""
    s = Setting(t, import_module(f"{t.__name__}.utils.checkpoint"))
    x = t.tensor([0.5, 0.25], requires_grad=True)
    try:
        y = CASES[name](s, x)
        first = list(s.log)
        s.log.clear()
        y.sum().backward()
    except Exception as error:  # noqa: BLE001
        return [type(error).__name__, str(error).split("\nTip:")[0].split(" of type <")[0], s.log]
    return [first, s.log, [round(v, 5) for v in x.grad.tolist()]]


TABLE = Table("checkpoints", CASES, outcome)
