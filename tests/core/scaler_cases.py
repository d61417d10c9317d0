"""Programs with `torch.amp.GradScaler`."""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Callable
from typing import Any

from tests.recording import Table, attempted


def trained(t: Any, optimizer: str = "SGD", dtype: str = "float32", bad: tuple[int, ...] = (), clip: bool = False, **options: Any) -> Any:
    """A model after some steps, gradients of the `bad` ones being infinite; scales on the way."""
    t.manual_seed(0)
    model = t.nn.Linear(3, 2).to(getattr(t, dtype))
    stepper = getattr(t.optim, optimizer)(model.parameters(), lr=0.125)
    scaler = t.amp.GradScaler("cpu", **{"init_scale": 1024.0, "growth_interval": 2, **options})
    scales = []
    for i in range(6):
        stepper.zero_grad()
        loss = model(t.arange(6.0).reshape(2, 3).to(getattr(t, dtype))).float().square().mean()
        scaler.scale(loss * (float("inf") if i in bad else 1)).backward()
        if clip:
            scaler.unscale_(stepper)
            t.nn.utils.clip_grad_norm_(model.parameters(), 0.5)
        scaler.step(stepper)
        scaler.update()
        scales.append(scaler.get_scale())
    return [scales, scaler.state_dict(), [p.detach().float().flatten().tolist() for p in model.parameters()]]


def begun(t: Any, **options: Any) -> tuple[Any, Any]:
    """A scaler and an optimizer whose gradients are scaled."""
    x = t.ones(2, requires_grad=True)
    stepper, scaler = t.optim.SGD([x], lr=0.5), t.amp.GradScaler("cpu", init_scale=8.0, **options)
    scaler.scale((x * x).sum()).backward()
    return scaler, stepper


def twice(t: Any, *calls: str) -> Any:
    """Calls after each other."""
    scaler, stepper = begun(t)
    return [str(eval(call, {"s": scaler, "o": stepper, "t": t})) for call in calls]


def kept(t: Any) -> Any:
    """A scaler from its state, and from its pickle."""
    scaler, stepper = begun(t)
    scaler.step(stepper), scaler.update(16.0)
    other = t.amp.GradScaler("cpu")
    other.load_state_dict(scaler.state_dict())
    return [other.state_dict(), pickle.loads(pickle.dumps(scaler)).state_dict()]


PROGRAMS: dict[str, Callable[[Any], Any]] = {
    **{f"trained {opt} {dtype} {bad} clip={clip}": lambda t, opt=opt, dtype=dtype, bad=bad, clip=clip: trained(t, opt, dtype, bad, clip)
       for opt in ("SGD", "Adam") for dtype in ("float32", "bfloat16", "float64") for bad in ((), (1, 4)) for clip in (False, True)
       if dtype != "bfloat16" or opt == "SGD"},
    "float16": lambda t: trained(t, "SGD", "float16"),
    "huge": lambda t: trained(t, init_scale=2.0**127, growth_interval=1),
    "off": lambda t: trained(t, enabled=False),
    "cuda": lambda t: [t.amp.GradScaler().is_enabled(), t.amp.GradScaler("cuda").state_dict(), t.GradScaler().get_scale()],
    "factors": lambda t: t.amp.GradScaler("cpu", growth_factor=1.0),
    "factors down": lambda t: t.amp.GradScaler("cpu", backoff_factor=1.0),
    "step without scale": lambda t: t.amp.GradScaler("cpu").step(t.optim.SGD([t.ones(1, requires_grad=True)], lr=1)),
    "update without scale": lambda t: t.amp.GradScaler("cpu").update(),
    "unscale without scale": lambda t: t.amp.GradScaler("cpu").unscale_(t.optim.SGD([t.ones(1, requires_grad=True)], lr=1)),
    "no gradients": lambda t: (s := t.amp.GradScaler("cpu"), s.scale(t.ones(1)),
                               s.step(t.optim.SGD([t.ones(1, requires_grad=True)], lr=1))),
    "update twice": lambda t: twice(t, "s.step(o)", "s.update()", "s.update()"),
    "step twice": lambda t: twice(t, "s.step(o)", "s.step(o)"),
    "unscale twice": lambda t: twice(t, "s.unscale_(o)", "s.unscale_(o)"),
    "unscale after step": lambda t: twice(t, "s.step(o)", "s.unscale_(o)"),
    "closure": lambda t: twice(t, "s.step(o, closure=lambda: 1)"),
    "new scale": lambda t: twice(t, "s.step(o)", "s.update(4.0)", "s.get_scale()", "s.update(t.tensor(2.))", "s.get_scale()"),
    "bad scale": lambda t: twice(t, "s.update('x')"),
    "scale of several": lambda t: [v.tolist() for v in begun(t)[0].scale([t.ones(1), t.ones(2)])],
    "scale of others": lambda t: begun(t)[0].scale(3),
    "settings": lambda t: twice(t, "s.get_growth_factor()", "s.set_growth_factor(3.0)", "s.get_growth_factor()", "s.get_backoff_factor()",
                                "s.set_backoff_factor(0.25)", "s.get_backoff_factor()", "s.get_growth_interval()",
                                "s.set_growth_interval(3)", "s.get_growth_interval()", "s.is_enabled()", "s.state_dict()"),
    "empty state": lambda t: t.amp.GradScaler("cpu").load_state_dict({}),
    "kept": kept,
    "pickled too early": lambda t: (found := begun(t), found[0].unscale_(found[1]), pickle.dumps(found[0])),
}


def outcome(torch: Any, case: str) -> Any:
    """What a program gives, and its warnings."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        found = attempted(lambda: PROGRAMS[case](torch))
    return [found, sorted({f"{w.category.__name__}: {w.message}" for w in told})]


TABLE = Table("scaler", PROGRAMS, outcome, tolerance=(1e-5, 1e-6))
