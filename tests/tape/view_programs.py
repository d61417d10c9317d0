"""Random programs of views and in-place updates: lists of steps that any front end can carry out, or NumPy's views alone."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any
from collections.abc import Callable

from hypothesis import strategies as st

from autograd_tape import AutogradError

VIEWS: dict[str, Callable[[Any], Any]] = {
    "first": lambda t: t[0], "last": lambda t: t[..., -1], "slice": lambda t: t[1:], "step": lambda t: t[..., ::2], "all": lambda t: t[:],
    "new": lambda t: t[:, None], "flat": lambda t: t.reshape(-1), "view": lambda t: t.view(1, -1), "swap": lambda t: t.transpose(0, -1),
    "diagonal": lambda t: t.diagonal(0, 0, 1), "narrow": lambda t: t.narrow(0, 0, 1), "squeeze": lambda t: t.squeeze(0),
    "expand": lambda t: t.unsqueeze(0).expand((2, *t.shape)), "unbound": lambda t: t.unbind(0)[0], "split": lambda t: t.split(1)[-1],
    "chunk": lambda t: t.chunk(2, -1)[0], "strided": lambda t: t.as_strided((2, 2), (2, 1), 1),
}
"""What makes a view of a tensor. Some fail on some shapes: a program goes on without."""
UPDATES: dict[str, Callable[[Any, Any], Any]] = {
    "scale": lambda t, other: t.mul_(3.0), "negate": lambda t, other: t.neg_(), "fill": lambda t, other: t.fill_(0.5),
    "fill with": lambda t, other: t.fill_(other.sum()), "zero": lambda t, other: t.zero_(), "square": lambda t, other: t.mul_(t),
    "times": lambda t, other: t.mul_(other), "plus": lambda t, other: t.add_(other), "copy": lambda t, other: t.copy_(other * 2.0),
    "copy view": lambda t, other: t.copy_(other), "exp": lambda t, other: t.sigmoid_(),
    "set": lambda t, other: t.__setitem__(0, 5.0), "set tensor": lambda t, other: t.__setitem__(0, other.sum() * 3.0),
    "set part": lambda t, other: t.__setitem__((..., slice(0, 1)), other.sum()), "set all": lambda t, other: t.__setitem__(..., other),
    "scale part": lambda t, other: t.__setitem__(0, t[0] * 3.0), "set listed": lambda t, other: t.__setitem__([0, -1], 2.0),
    "divide": lambda t, other: t.div_(other * other + 1.0), "mask": lambda t, other: t.masked_fill_(t > 0.3, 0.25),
}
"""What changes a tensor in place; `other` is some tensor of the program."""
COMPUTED: dict[str, Callable[[Any], Any]] = {"twice": lambda t: t * 2.0, "tanh": lambda t: t.tanh(), "clone": lambda t: t.clone(),
                                            "gathered": lambda t: t[[0]]}


@st.composite
def programs(draw: st.DrawFn, modes: bool = False) -> list[tuple[str, str, int, int, bool]]:
    """Steps (kind, name, position, other position, whether without recording) on the tensors so far, the leaf left out."""
    steps = []
    for _ in range(draw(st.integers(2, 9))):
        kind = draw(st.sampled_from(["view", "view", "update", "update", "update", "compute"]))
        name = draw(st.sampled_from(sorted({"view": VIEWS, "update": UPDATES, "compute": COMPUTED}[kind])))
        steps.append((kind, name, draw(st.integers(0, 5)), draw(st.integers(-2, 5)), modes and draw(st.integers(0, 5)) == 0))
    return steps


def run(program: list[tuple[str, str, int, int, bool]], leaf: Any, constant: Any, no_grad: Callable[[], Any]) -> tuple[Any, list[str]]:
    """The loss of a program, and what was refused on the way."""
    values, refused = [leaf * 1.0, constant], []
    for kind, name, at, other, unrecorded in program:
        target = values[at % len(values)]
        operand = leaf if other == -1 else leaf[0] if other == -2 else values[other % len(values)]
        try:
            with no_grad() if unrecorded else nullcontext():
                if kind == "update":
                    UPDATES[name](target, operand)
                else:
                    values.append((VIEWS if kind == "view" else COMPUTED)[name](target))
        except (AutogradError, RuntimeError, IndexError, ValueError, TypeError) as error:
            refused.append(f"{name}: {getattr(error, 'message', error)}")
    total = (leaf * 0.1).sum()
    for i, value in enumerate(values):
        try:
            total = total + (value * (0.3 + 0.1 * i)).sin().sum()
        except (AutogradError, RuntimeError) as error:
            refused.append(f"use of {i}: {getattr(error, 'message', error)}")
    return total, refused
