"""Dispatch keys, torch functions of subclasses, function modes, autocast: seen by operations only while somebody uses them."""

from __future__ import annotations

from typing import Any

import pytest

import torchcompat as torch
from autograd_tape import modes
from torchcompat.dispatch import DispatchKey, Trace, active_keys, exclude_keys, include_keys, register_op
from torchcompat.overrides import TorchFunctionMode
from torchcompat.utils._python_dispatch import TorchDispatchMode


@pytest.fixture(autouse=True)
def quiet_again() -> Any:
    """Each test leaves the quiet path as it found it."""
    before = modes._loud
    yield
    assert modes._loud == before


def test_keys_of_a_call() -> None:
    x = torch.ones(2, requires_grad=True)
    assert active_keys([x]) == [DispatchKey.Autograd, DispatchKey.Backend_CPU, DispatchKey.CompositeExplicit]
    with torch.no_grad():
        assert DispatchKey.Autograd not in active_keys([x])
    with include_keys(DispatchKey.Tracing):
        assert active_keys([x])[0] is DispatchKey.Tracing
    with exclude_keys(DispatchKey.Autograd):
        assert not (x * 2).requires_grad


def test_a_backend_handler_computes_and_autograd_records_around_it() -> None:
    seen = []

    @register_op("mul", DispatchKey.Backend_CPU)
    def mul(input: Any, other: Any) -> Any:
        seen.append((input.requires_grad, tuple(other.shape)))
        return torch.div(input, 1 / other)

    try:
        x = torch.tensor([2.0, 3.0], requires_grad=True)
        y = x * torch.tensor([5.0, 7.0])
        assert y.tolist() == pytest.approx([10, 21])
        y.sum().backward()
        assert x.grad.tolist() == [5, 7]
        assert seen[0] == (False, (2,))
    finally:
        mul.unregister()
    assert (torch.ones(1) * 2).item() == 2 and len(seen) == 1


def test_an_outer_handler_passes_on() -> None:
    calls = []

    @register_op("add", DispatchKey.Tracing)
    def traced(input: Any, other: Any, alpha: Any) -> Any:
        calls.append("add")
        return torch.add(input, other, alpha=alpha)

    try:
        with include_keys(DispatchKey.Tracing):
            assert (torch.ones(2) + 1).tolist() == [2, 2]
        assert (torch.ones(2) + 1).tolist() == [2, 2]
    finally:
        traced.unregister()
    assert calls == ["add"]


def test_a_trace_notes_operations() -> None:
    x = torch.ones(2, requires_grad=True)
    with Trace() as trace:
        assert DispatchKey.Tracing in active_keys([x]) and torch._C._get_tracing_state() is trace
        y = (x * 2).clone()
        y.add_(1)
        with exclude_keys(DispatchKey.Tracing):
            y.exp()
    assert [t.name for t in trace.operations] == ["mul", "clone", "add_"]
    assert trace.operations[0].arguments[0] is x and trace.operations[1].result is y and y.requires_grad
    assert torch._C._get_tracing_state() is None
    x + 1
    assert len(trace.operations) == 3


def test_the_tracing_state_is_set_by_hand() -> None:
    trace = Trace()
    torch._C._set_tracing_state(trace)
    try:
        torch.ones(1).neg()
    finally:
        torch._C._set_tracing_state(None)
    assert [t.name for t in trace.operations] == ["neg"]


def test_functionalize_turns_mutations_into_copies() -> None:
    class Log(TorchDispatchMode):
        seen: list[str] = []

        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            self.seen.append(str(func))
            return func(*args, **(kwargs or {}))

    w, x, ones, out = torch.ones(2, requires_grad=True), torch.ones(2), torch.ones(2), torch.empty(2)
    with Log() as log, include_keys(DispatchKey.Functionalize):
        y = x.mul_(w * 3)
        torch.mul(ones, 5, out=out)
    assert log.seen == ["aten.mul.Tensor", "aten.clone.default", "aten.mul.Tensor", "aten.copy_.default", "aten.mul.Tensor",
                        "aten.copy_.default"]
    assert y is x and x.tolist() == [3.0, 3.0] and out.tolist() == [5.0, 5.0]
    x.sum().backward()
    assert w.grad.tolist() == [3.0, 3.0]


def test_handlers_are_refused_where_they_make_no_sense() -> None:
    with pytest.raises(LookupError, match="There is no operation 'nonsense'"):
        register_op("nonsense", DispatchKey.Backend_CPU)
    handler = register_op("neg", DispatchKey.Backend_CPU)(lambda input: input)
    try:
        with pytest.raises(ValueError, match="has a handler for Backend_CPU already"):
            register_op("neg", DispatchKey.Backend_CPU)(lambda input: input)
    finally:
        handler.unregister()
        handler.unregister()


class Logged(torch.Tensor):
    """A subclass that notes what is called."""

    log: list[str] = []

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        cls.log.append(func.__name__)
        return super().__torch_function__(func, types, args, kwargs or {})


def test_subclasses_see_calls_and_get_themselves_back() -> None:
    Logged.log.clear()
    x = torch.ones(2).as_subclass(Logged)
    y = torch.add(x, 1) * 2
    assert type(y) is Logged and y.tolist() == [4, 4]
    assert Logged.log == ["add", "mul"]
    assert type(torch.ones(2) + 1) is torch.Tensor


def test_modes_see_every_call() -> None:
    class Mode(TorchFunctionMode):
        calls: list[str] = []

        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            self.calls.append(func.__name__)
            return func(*args, **(kwargs or {}))

    with Mode() as mode:
        (torch.ones(2) + 1).sum()
    assert [c for c in mode.calls if c in ("add", "sum")] == ["add", "sum"]
    torch.ones(2) + 1
    assert mode.calls.count("add") == 1


def test_autocast() -> None:
    a, b = torch.rand(4, 4, requires_grad=True), torch.rand(4, 4)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        product = a @ b
        assert product.dtype is torch.bfloat16 and (a + b).dtype is torch.float32
        with torch.autocast("cpu", enabled=False):
            assert (a @ b).dtype is torch.float32
    product.float().sum().backward()
    assert a.grad.dtype is torch.float32


def test_a_handler_is_called_or_refused() -> None:
    """Of every operation: registering a handler that nobody would call is an error."""
    from op_cases import bind, is_array, samples, tree_map

    from autograd_tape.ops import RECORDS

    called = refused = 0
    for name, rec in RECORDS.items():
        seen: list[str] = []

        def handler(*args: Any, name: str = name, seen: list[str] = seen) -> Any:
            seen.append(name)
            raise KeyError(name)

        try:
            handle = register_op(name, DispatchKey.CompositeExplicit)(handler)
        except NotImplementedError as error:
            assert (rec.field("function") or rec.field("make")) and "would be ignored" in str(error)
            refused += 1
            continue
        try:
            if rec.field("samples") is None:
                continue
            args, kwargs = tree_map(lambda x: torch.tensor(x) if is_array(x) else x, bind(rec, samples(rec)[0]))
            with pytest.raises((KeyError, RuntimeError, TypeError, NotImplementedError)):
                torch._tensor.frontend.function(name)(*args, **kwargs)
            called += bool(seen)
        finally:
            handle.unregister()
    assert refused > 200 and called > 200
    with pytest.raises(NotImplementedError, match="would call itself"):
        register_op("mul", DispatchKey.Autograd)
