"""What programs that register operations of their own are given, and how what they did is noted.

Each is given the package, a namespace of its own and a list to note things in; what it noted, and the error it ended with, is the outcome.
"""


import re
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

CASES: dict[str, Callable[..., None]] = {}


def case(function: Callable[..., None]) -> Callable[..., None]:
    CASES[function.__name__] = function
    return function


def plain(value: Any) -> Any:
    """A value as JSON has it."""
    if hasattr(value, "requires_grad"):
        node = value.grad_fn
        shown = value.device.type if value.device.type == "meta" else np.round(np.asarray(value.detach().double()), 4).tolist()
        return [str(value.dtype), list(value.shape), shown, None if node is None else node.name()]
    if isinstance(value, (list, tuple)):
        return [type(value).__name__, *[plain(v) for v in value]]
    return value if value is None or isinstance(value, (bool, int, float, str)) else str(value)


_VARYING = [(re.compile(pattern, re.S), stands) for pattern, stands in [
    (r" at 0x[0-9a-f]+", ""), (r"with implementation in (<module .*?>|None)\)", "with implementation in ...)"),
    (r"/[\w./-]*\.py:\d+", "FILE"), (r" \(Triggered internally.*", ""), (r"(This could be because the operator doesn't exist).*", r"\1"),
    (r"torchcompat\b", "torch"), (r"torch\._tensor\.", "torch.")]]


def words(text: str) -> str:
    """A message without what differs from run to run, and between packages."""
    for pattern, stands in _VARYING:
        text = pattern.sub(stands, text)
    return text.strip()


def outcome(torch: Any, name: str) -> list[Any]:
    """What a program noted, the warnings it met, and at the end the error."""
    notes: list[Any] = []

    def note(*values: Any) -> None:
        notes.append([plain(v) for v in values])

    def error(function: Callable[[], Any]) -> None:
        try:
            function()
        except Exception as e:
            note(type(e).__name__, words(str(e)))
        else:
            note("no error")

    with warnings.catch_warnings(record=True) as met:
        warnings.simplefilter("always")
        try:
            CASES[name](torch, "case_" + name, note, error)
        except Exception as e:
            notes.append([type(e).__name__, words(str(e))])
    return [*notes, *[["warning", m.category.__name__, words(str(m.message))] for m in met
                       if not str(m.message).startswith(("`torch.jit", "Error detected in"))]]


def sine(t: Any, ns: str, **options: Any) -> Any:
    """sin by NumPy, the operation that most programs register."""
    def sin(x: t.Tensor) -> t.Tensor:
        return t.from_numpy(np.sin(x.numpy()))

    return t.library.custom_op(f"{ns}::sin", sin, **{"mutates_args": (), **options})


def with_gradient(t: Any, ns: str) -> Any:
    """The same with a gradient."""
    op = sine(t, ns)

    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.save_for_backward(*inputs)

    op.register_autograd(lambda ctx, grad: grad * ctx.saved_tensors[0].cos(), setup_context=setup_context)
    return op
