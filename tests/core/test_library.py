"""Operations that programs register, as torch 2.13 has them."""

from __future__ import annotations

import threading
from typing import Any

import pytest

import torchcompat as torch
from tests.core.library_cases import TABLE
from autograd_tape.ops import RECORDS
from autograd_tape.tape import Tape
from torchcompat.autograd.profiler import profile
from torchcompat.dispatch import BACKENDS, DispatchKey, Trace, include_keys, op_status, register_op



@pytest.mark.parametrize("case", TABLE.recorded)
def test_as_torch(case: str) -> None:
    TABLE.assert_as_torch(torch, case)


def doubled(name: str) -> Any:
    """An operation with a gradient."""
    op = torch.library.custom_op(f"test_library::{name}", lambda x: x.clone() * 2, mutates_args=(), schema="(Tensor x) -> Tensor")
    op.register_autograd(lambda ctx, grad: grad * 2)
    return op


class Seen(Exception):
    pass


def seen_by_mode(op: Any, x: Any) -> list[str]:
    seen = []

    class Mode(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            seen.append(func.name())
            return func(*args, **(kwargs or {}))

    with Mode():
        op(x)
    return seen


def seen_by_trace(op: Any, x: Any) -> list[str]:
    with Trace() as trace:
        op(x)
    return [o.name for o in trace.operations]


def seen_by_tape(op: Any, x: Any) -> list[str]:
    with Tape() as tape:
        op(x)
    return [o.op_name for o in tape.held.operations]


def seen_by_profile(op: Any, x: Any) -> list[str]:
    with profile() as p:
        op(x)
    return [e.name for e in p.function_events if "::sin" in e.name or e.name.startswith("test_library")]


@pytest.mark.parametrize("look", [seen_by_mode, seen_by_trace, seen_by_tape, seen_by_profile])
@pytest.mark.parametrize("requires_grad", [False, True])
def test_everybody_sees_one_operation(look: Any, requires_grad: bool) -> None:
    assert look(doubled("looked"), torch.ones(2, requires_grad=requires_grad)) == ["test_library::looked"]


@pytest.mark.parametrize("key", [k for k in DispatchKey if k not in BACKENDS.values() or k.name in ("Backend_CPU", "Backend_Meta")])
def test_handlers_of_all_keys(key: DispatchKey) -> None:
    """Where its key is active, a handler is what carries the operation out."""
    op, x = doubled("handled"), torch.ones(2, requires_grad=key is DispatchKey.Autograd)
    if key is DispatchKey.Backend_Meta:
        x = x.to("meta")

    def called() -> Any:
        if key is DispatchKey.Batched:
            return torch.vmap(op)(x)
        if key is DispatchKey.Functionalize:
            return torch.func.functionalize(op)(x)
        if key is DispatchKey.AutocastCPU:
            with torch.autocast("cpu"):
                return op(x)
        if key is DispatchKey.AutocastGPU:
            with include_keys(key):
                return op(x)
        if key is DispatchKey.Tracing:
            with Trace():
                return op(x)
        return op(x)

    def refuse(*args: Any) -> Any:
        raise Seen

    handler = register_op("test_library::handled", key)(refuse)
    try:
        with pytest.raises(Seen):
            called()
    finally:
        handler.unregister()
    called() if key is not DispatchKey.Backend_Meta else None


def test_a_handler_of_a_backend_is_recorded_with_the_operations_own_gradient() -> None:
    op, x = doubled("recorded"), torch.ones(2, requires_grad=True)
    handler = register_op("test_library::recorded", DispatchKey.Backend_CPU)(lambda x: x * 10)
    y = op(x)
    y.sum().backward()
    assert y.tolist() == [10, 10] and x.grad.tolist() == [2, 2] and op_status("test_library::recorded")["cpu"] == "handler"
    others: list[float] = []
    threads = [threading.Thread(target=lambda: others.append(float(op(torch.ones(1))))) for _ in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert others == [10.0] * 8
    handler.unregister()
    assert op(x).tolist() == [2, 2]


def test_an_operation_costs_others_nothing() -> None:
    """Nobody listens for its kernels, so that quiet paths stay open."""
    from autograd_tape import calls

    before = list(calls.LISTENING)
    op = doubled("quiet")
    op.register_vmap(lambda info, dims, x: (op(x), dims[0]))
    op.register_kernel("cpu")(lambda x: x + 1)
    torch.library.register_autocast(op, "cpu", torch.bfloat16)
    assert calls.LISTENING == before


def test_what_a_library_registered_goes_with_it() -> None:
    lib = torch.library.Library("test_library_gone", "DEF")
    lib.define("f(Tensor x) -> Tensor")
    lib.define("f.two(Tensor x, Tensor y) -> Tensor")
    lib.impl("f", lambda x: x, "AutocastCPU")
    assert "test_library_gone::f.two" in RECORDS
    lib._destroy()
    assert not [n for n in RECORDS if n.startswith("test_library_gone")]
    assert not vars(torch.ops.test_library_gone).keys() - {"name"}


def test_a_handler_that_another_thread_calls_meets_its_own_context() -> None:
    met: list[Any] = []
    op = doubled("context")

    @op.register_fake
    def fake(x: Any) -> Any:
        t = threading.Thread(target=lambda: met.append(torch.library.get_ctx()))
        t.start()
        t.join()
        return torch.empty_like(x)

    assert op(torch.ones(2, device="meta")).device.type == "meta" and met == [None]


def test_a_gradient_of_a_tape() -> None:
    x = torch.ones(2, requires_grad=True)
    with Tape():
        y = doubled("taped")(x).sum()
    y.backward()
    assert x.grad.tolist() == [2, 2]
