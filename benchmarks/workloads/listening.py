"""What calls cost while somebody listens to them: small tensors, so that it is the way to the kernel that is timed."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from importlib import import_module
from typing import Any

from benchmarks.workloads.registry import add, floats

CALLS = 300  # per workload, so that entering and leaving counts for little
Call = Callable[[], Any]


class Operands:
    """Small float32 tensors."""

    def __init__(self, torch: Any) -> None:
        self.a, self.b = floats(torch, 8, 8, seed=1), floats(torch, 8, 8, seed=2)
        self.row, self.weight, self.number = floats(torch, 8, seed=3), floats(torch, 8, 8, seed=4, grad=True), torch.tensor(2.0)


def _assign(o: Operands) -> Any:
    o.b[1] = o.row
    return o.b


OPERATIONS: dict[str, Callable[[Any, Operands], Call]] = {
    "add": lambda torch, o: lambda: torch.add(o.a, o.b),
    "a * weight": lambda torch, o: lambda: o.a * o.weight,
    "a + 1": lambda torch, o: lambda: o.a + 1,
    "exp": lambda torch, o: lambda: torch.exp(o.a),
    "sum": lambda torch, o: lambda: o.a.sum(),
    "a[1]": lambda torch, o: lambda: o.a[1],
    "a[1] = row": lambda torch, o: lambda: _assign(o),
    "reshape": lambda torch, o: lambda: o.a.reshape(64),
    "cat": lambda torch, o: lambda: torch.cat([o.a, o.b]),
    "matmul": lambda torch, o: lambda: torch.matmul(o.a, o.b),
    "softmax": lambda torch, o: lambda: torch.softmax(o.a, 1),
    "layer_norm": lambda torch, o: lambda: torch.nn.functional.layer_norm(o.a, (8,)),
    "mse_loss": lambda torch, o: lambda: torch.nn.functional.mse_loss(o.a, o.b),
    "var": lambda torch, o: lambda: torch.var(o.a),
    "zeros": lambda torch, o: lambda: torch.zeros(8),
    "item": lambda torch, o: lambda: o.number.item(),
}


def _function_mode(torch: Any) -> Any:
    class Mode(import_module(f"{torch.__name__}.overrides").TorchFunctionMode):  # type: ignore[misc]  # either library's
        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            return func(*args, **(kwargs or {}))

    return Mode()


def _dispatch_mode(torch: Any) -> Any:
    class Mode(import_module(f"{torch.__name__}.utils._python_dispatch").TorchDispatchMode):  # type: ignore[misc]
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            return func(*args, **(kwargs or {}))

    return Mode()


@contextlib.contextmanager
def _handler(torch: Any) -> Any:
    """A handler on another operation, where the library knows handlers; torch's take part in every call anyway."""
    if torch.__name__ == "torch":
        yield
        return
    dispatch = import_module(f"{torch.__name__}.dispatch")
    handler = dispatch.register_op("trace", dispatch.DispatchKey.Backend_CPU)(lambda input: NotImplemented)
    try:
        yield
    finally:
        handler.unregister()


LISTENERS: dict[str, Callable[[Any], Any]] = {
    "quiet": lambda torch: contextlib.nullcontext(),
    "handler on another operation": _handler,
    "function mode": _function_mode,
    "dispatch mode": _dispatch_mode,
    "autocast": lambda torch: torch.autocast("cpu", dtype=torch.bfloat16),
}


def _setup(make: Callable[[Any, Operands], Call], listener: Callable[[Any], Any]) -> Callable[[Any], Call]:
    def setup(torch: Any) -> Call:
        operation = make(torch, Operands(torch))

        def call() -> Any:
            with listener(torch):
                for _ in range(CALLS):
                    result = operation()
            return result.float() if isinstance(result, torch.Tensor) else torch.tensor(result)

        return call

    return setup


for section, listener in LISTENERS.items():
    for name, make in OPERATIONS.items():
        add("listening", section, name, _setup(make, listener))
