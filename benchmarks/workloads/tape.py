"""What it costs to be looked at: operations on an explicit tape, transforms, and traces that run again; small tensors, so that the way to
the kernel is timed. torch records every operation, and runs a function again in the place of a trace."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

from benchmarks.workloads.registry import add, floats, workload

CALLS = 200  # per block, so that entering and leaving it, which stands by itself, counts for little
STEPS = 5  # of four operations
Make = Callable[[Any], Callable[[], Any]]


def _on_weight(call: Callable[[Any, Any, Any], Any], dtype: str = "float32") -> Make:
    """An operation on two small matrices, the first of which requires grad."""

    def make(torch: Any) -> Callable[[], Any]:
        weight, other = [floats(torch, 8, 8, seed=seed).to(getattr(torch, dtype)) for seed in (1, 2)]
        weight.requires_grad_()
        return lambda: call(torch, weight, other)

    return make


def _conv2d(torch: Any) -> Callable[[], Any]:
    images, weight = floats(torch, 1, 2, 6, 6, seed=3), floats(torch, 2, 2, 3, 3, seed=4, grad=True)
    return lambda: torch.nn.functional.conv2d(images, weight)


REGULAR: dict[str, Make] = {
    "mul": _on_weight(lambda torch, a, b: a * b),
    "exp": _on_weight(lambda torch, a, b: torch.exp(a)),
    "matmul": _on_weight(lambda torch, a, b: torch.matmul(a, b)),
    "sum": _on_weight(lambda torch, a, b: a.sum()),
}
IRREGULAR: dict[str, Make] = {
    "getitem": _on_weight(lambda torch, a, b: a[1]),
    "conv2d": _conv2d,
    "chunk": _on_weight(lambda torch, a, b: a.chunk(2)),
    "cosine_similarity": _on_weight(lambda torch, a, b: torch.nn.functional.cosine_similarity(a, b)),
    "diag": _on_weight(lambda torch, a, b: torch.diag(a)),
    "dropout, not training": _on_weight(lambda torch, a, b: torch.nn.functional.dropout(a, training=False)),
    "flatten": _on_weight(lambda torch, a, b: a.flatten()),
    "hstack": _on_weight(lambda torch, a, b: torch.hstack([a, b])),
    "l1_loss": _on_weight(lambda torch, a, b: torch.nn.functional.l1_loss(a, b)),
    "max": _on_weight(lambda torch, a, b: a.max(1)),
    "mse_loss": _on_weight(lambda torch, a, b: torch.nn.functional.mse_loss(a, b)),
    "narrow": _on_weight(lambda torch, a, b: a.narrow(0, 2, 4)),
    "norm": _on_weight(lambda torch, a, b: a.norm()),
    "pad": _on_weight(lambda torch, a, b: torch.nn.functional.pad(a, (1, 1))),
    "sort": _on_weight(lambda torch, a, b: a.sort()),
    "std": _on_weight(lambda torch, a, b: a.std()),
    "tensordot": _on_weight(lambda torch, a, b: torch.tensordot(a, b, 1)),
    "var": _on_weight(lambda torch, a, b: a.var()),
    "zeros": _on_weight(lambda torch, a, b: torch.zeros(8, 8)),
}
"""Made of others, or with a path written by hand."""
HALF: dict[str, Make] = {
    "mul, half": _on_weight(lambda torch, a, b: a * b, "float16"),
    "exp, half": _on_weight(lambda torch, a, b: torch.exp(a), "float16"),
    "matmul, half": _on_weight(lambda torch, a, b: torch.matmul(a, b), "float16"),
}
WRITING: dict[str, Make] = {
    "add_": _on_weight(lambda torch, a, b: b.add_(0.0)),
    "setitem": _on_weight(lambda torch, a, b: (b.__setitem__(0, 1.0), b)[1]),
    "index": _on_weight(lambda torch, a, b: a[[0, 1]]),
}
"""What writes is held at once; what values may decide takes the general path in parts."""


def _tape(torch: Any) -> Any:
    """A block with an explicit tape, where the library has some."""
    if torch.__name__ == "torch":
        return contextlib.nullcontext()
    from autograd_tape import Tape

    return Tape()


def _often(make: Make, block: Callable[[Any], Any]) -> Make:
    def setup(torch: Any) -> Callable[[], Any]:
        operation = make(torch)

        def call() -> Any:
            with block(torch):
                for _ in range(CALLS):
                    result = operation()
            return result

        return call

    return setup


for section, operations, block in (
    ("quiet", REGULAR | IRREGULAR | WRITING | HALF, lambda torch: contextlib.nullcontext()),
    ("regular operations on a tape", REGULAR, _tape),
    ("irregular operations on a tape", IRREGULAR, _tape),
    ("half precision on a tape", HALF, _tape),
    ("what writes, and indices, on a tape", WRITING, _tape),
):
    for name, make in operations.items():
        add("tape", section, name, _often(make, block))


@workload("tape", "blocks", "one operation")
def _block(torch: Any) -> Callable[[], Any]:
    operation = REGULAR["mul"](torch)

    def call() -> Any:
        with _tape(torch):
            return operation()

    return call


@workload("tape", "gradients of tensors", "of 2 operations")
def _gradients(torch: Any) -> Callable[[], Any]:
    x = floats(torch, 8, grad=True)
    y = (x * x).sum()
    if torch.__name__ == "torch":
        return lambda: torch.autograd.grad(y, [x], retain_graph=True)[0]
    from autograd_tape import grad

    return lambda: grad(y, [x], retain_graph=True)[0]


@workload("tape", "transforms", "grad of 2 operations")
def _grad(torch: Any) -> Callable[[], Any]:
    x = floats(torch, 8)

    def f(x: Any) -> Any:
        return (x * x).sum()

    if torch.__name__ == "torch":
        return lambda: torch.func.grad(f)(x)
    from autograd_tape import grad

    array = x.numpy()
    return lambda: grad(f)(array)


def _twenty(x: Any, weight: Any) -> Any:
    """4 STEPS operations."""
    for _ in range(STEPS):
        x = (x @ weight + x).tanh() * 0.5
    return x


@workload("tape", "traces", "20 operations, called")
def _called(torch: Any) -> Callable[[], Any]:
    x, weight = floats(torch, 8, 8, seed=5, grad=True), floats(torch, 8, 8, seed=6, grad=True)
    return lambda: _twenty(x, weight)


@workload("tape", "traces", "20 operations, refresh_graph_values")
def _refresh(torch: Any) -> Callable[[], Any]:
    x, weight = floats(torch, 8, 8, seed=5, grad=True), floats(torch, 8, 8, seed=6, grad=True)
    if torch.__name__ == "torch":
        return lambda: _twenty(x, weight)
    from autograd_tape import trace

    t = trace(_twenty, x, weight)
    return lambda: t.refresh_graph_values(x, weight)


@workload("tape", "traces", "20 operations, backward_on_trace")
def _backward(torch: Any) -> Callable[[], Any]:
    x, weight, ones = floats(torch, 8, 8, seed=5, grad=True), floats(torch, 8, 8, seed=6, grad=True), torch.ones(8, 8)
    if torch.__name__ == "torch":
        y = _twenty(x, weight)
        return lambda: torch.autograd.grad(y, [x, weight], ones, retain_graph=True)
    from autograd_tape import backward_on_trace, trace

    t = trace(_twenty, x, weight)

    def call() -> Any:
        gradients = backward_on_trace(t, ones)
        return [gradients[x] for x in t.inputs]

    return call
