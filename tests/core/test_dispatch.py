"""Dispatch keys, torch functions of subclasses, function modes, autocast: seen by operations only while somebody uses them."""

from __future__ import annotations

import contextlib
import inspect
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import torchcompat as torch
from autograd_tape import calls, modes
from autograd_tape.functions.words import MISSING
from autograd_tape.ops import RECORDS
from torchcompat.dispatch import (
    DispatchKey,
    Trace,
    active_keys,
    exclude_keys,
    include_keys,
    op_status,
    register_composite,
    register_op,
)
from torchcompat.overrides import TorchFunctionMode
from torchcompat.utils._python_dispatch import TorchDispatchMode


@pytest.fixture(autouse=True)
def quiet_again() -> Any:
    """Each test leaves the quiet path as it found it."""
    before = modes.loudness()
    yield
    assert modes.loudness() == before


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
    assert [t.name for t in trace.operations] == ["ones", "neg"]


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


@pytest.mark.parametrize("make", ["torch.Tensor._make_wrapper_subclass(Late, ())", "torch.tensor(1.0).as_subclass(Late)",
                                  "torch.Tensor._make_wrapper_subclass(Late, (), device='meta')",
                                  "torch.Tensor._make_subclass(Late, torch.tensor(1.0))"])
def test_a_class_that_dispatches_is_asked_from_its_first_instance_on(make: str) -> None:
    """Also where it got its `__torch_dispatch__` after it was made; in a process in which there was no such class before."""
    code = f"""if True:
        import torchcompat as torch
        class Late(torch.Tensor): pass
        seen = []
        Late.__torch_dispatch__ = classmethod(lambda cls, func, types, args=(), kwargs=None: seen.append(str(func)) or 3.0)
        t = {make}
        print(t.item(), float(t), bool(t), seen)"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, cwd=Path(__file__).parents[2])
    assert done.stdout == f"3.0 3.0 True {['aten._local_scalar_dense.default'] * 3}\n", done.stderr


def test_methods_are_the_same_before_they_are_used() -> None:
    """Tables by method, as classes with `__torch_function__` have them, hold what calls are shown as; in a process that used none yet."""
    code = """if True:
        import torchcompat as torch
        from autograd_tape.ops import RECORDS
        names = [name for rec in RECORDS.values() for name in (rec.name, *rec.alias) if rec.method and "." not in name]
        names += [f"{rec.name}_" for rec in RECORDS.values() if rec.inplace_method]
        before = {name: getattr(torch.Tensor, name) for name in names}
        assert len(before) > 300
        class Shown(torch.Tensor):
            seen = []
            @classmethod
            def __torch_function__(cls, func, types, args=(), kwargs=None):
                cls.seen.append(func)
                return super().__torch_function__(func, types, args, kwargs or {})
        x = torch.ones(2, 2).as_subclass(Shown)
        for name in ("sum", "exp", "exp_", "contiguous", "clone", "zero_", "t", "to_dense", "to_sparse", "is_coalesced"):
            Shown.seen.clear()
            try:
                getattr(x, name)()
            except RuntimeError:
                assert name == "is_coalesced"
            assert Shown.seen[0] is before.get(name, getattr(torch.Tensor, name)), name
        print([name for name in names if getattr(torch.Tensor, name) is not before[name]])"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300, cwd=Path(__file__).parents[2])
    assert done.stdout == "[]\n", done.stderr


def test_wrappers_say_their_layout_and_are_asked_for_their_memory() -> None:
    asked: list[str] = []

    class Wrapper(torch.Tensor):
        @classmethod
        def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            asked.append(str(func))
            return False if "contiguous" in str(func) else Wrapper._make_wrapper_subclass(cls, args[1])

    plain = torch.Tensor._make_wrapper_subclass(Wrapper, (2,))
    assert plain.layout is torch.strided and plain.is_contiguous() and not asked
    told = torch.Tensor._make_wrapper_subclass(Wrapper, (2,), layout=torch.sparse_csr, dispatch_sizes_strides_policy="strides")
    assert told.layout is torch.sparse_csr and not told.is_contiguous() and asked == ["aten.is_contiguous.default"]

    class Same(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x

    assert type(Same.apply(plain)) is Wrapper and asked[1:] == ["aten.view.default"]


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


@contextlib.contextmanager
def handling(name: str, key: DispatchKey, function: Any) -> Iterator[None]:
    handler = register_op(name, key)(function)
    try:
        yield
    finally:
        handler.unregister()


def test_an_autograd_handler_calls_on_and_the_call_is_recorded() -> None:
    x, seen = torch.tensor([2.0, 3.0], requires_grad=True), []

    def mul(input: Any, other: Any) -> Any:
        seen.append(input.requires_grad)
        return torch.mul(input, other)

    def bare(input: Any, other: Any) -> Any:
        with exclude_keys(DispatchKey.Autograd):
            return torch.mul(input, other)

    with handling("mul", DispatchKey.Autograd, mul):
        (x * x).sum().backward()
        x.detach() * 2  # the key is not active
    assert seen == [True] and x.grad.tolist() == [4.0, 6.0]
    with handling("mul", DispatchKey.Autograd, bare):
        assert not (x * x).requires_grad


def test_handlers_of_backends_nest_and_fall_through() -> None:
    seen: list[str] = []

    def add(input: Any, other: Any) -> Any:
        seen.append("add")
        return NotImplemented

    def composite(input: Any, other: Any) -> Any:
        seen.append("composite")
        return torch.add(input, other)  # built in: both handlers passed or are at work

    def mul(input: Any, other: Any) -> Any:
        seen.append("mul")
        return torch.mul(torch.add(input, other), 2)

    with handling("add", DispatchKey.Backend_CPU, add), handling("add", DispatchKey.CompositeExplicit, composite), \
            handling("mul", DispatchKey.Backend_CPU, mul):
        assert (torch.tensor([1.0]) * torch.tensor([2.0])).tolist() == [6.0]
    assert seen == ["mul", "add", "composite"]


def test_each_type_of_device_has_its_own_table() -> None:
    with handling("exp", DispatchKey.Backend_Meta, lambda input: torch.empty(7, device="meta")), register_composite_of("exp"):
        assert op_status("exp") == {"cpu": "composite", "cuda": "composite", "npu": "composite", "meta": "handler"}
        assert torch.exp(torch.zeros(2)).tolist() == [5.0, 5.0] and torch.empty(2, device="meta").exp().shape == (7,)
    assert set(op_status("exp").values()) == {"native"}


@contextlib.contextmanager
def register_composite_of(name: str) -> Iterator[None]:
    handler = register_composite(name)(lambda input: torch.full_like(input, 5))
    try:
        yield
    finally:
        handler.unregister()


def test_contexts_enable_their_keys() -> None:
    seen: list[str] = []

    def noting(name: str) -> Any:
        def handler(input: Any, other: Any) -> Any:
            seen.append(name)
            return NotImplemented

        return handler

    a, b = torch.ones(2, 2), torch.ones(2, 2)
    with handling("matmul", DispatchKey.AutocastCPU, noting("autocast")), handling("matmul", DispatchKey.Batched, noting("vmap")), \
            handling("matmul", DispatchKey.Tracing, noting("trace")), handling("matmul", DispatchKey.Functionalize, noting("functional")):
        a @ b
        assert seen == []
        with torch.autocast("cpu"):
            assert (a @ b).dtype is torch.bfloat16
            with exclude_keys(DispatchKey.AutocastCPU):
                assert (a @ b).dtype is torch.float32
        torch.func.vmap(torch.matmul)(torch.ones(3, 2, 2), torch.ones(3, 2, 2))
        with Trace():
            a @ b
        torch.func.functionalize(torch.matmul)(a, b)
    assert seen == ["autocast", "vmap", "trace", "functional"]


def test_a_handler_of_what_is_made_of_others_is_recorded_in_place_and_written_out() -> None:
    x = torch.tensor([1.0, 2.0, 4.0], requires_grad=True)
    torch.var(x).backward()
    expected, x.grad = x.grad, None
    given: list[bool] = []

    def var(input: Any, dim: Any = None) -> Any:
        given.append(input.requires_grad)
        return ((input - input.mean()) ** 2).sum() / 2

    with handling("var", DispatchKey.Backend_CPU, var):
        result, out = torch.var(x), torch.empty(())
        torch.var(x.detach(), out=out)
        first, = torch.autograd.grad(result, x, create_graph=True)
        first.sum().backward()
    assert given == [False, False] and torch.equal(first.detach(), expected) and out.item() == result.item()
    assert torch.allclose(x.grad, torch.zeros(3))  # the variance does not change with a shift
    y = torch.ones(3, requires_grad=True) * 1
    with handling("relu", DispatchKey.Backend_CPU, lambda input: input * 0 + 7):
        assert torch.nn.functional.relu(y, inplace=True) is y and y.tolist() == [7.0] * 3
    with handling("scatter", DispatchKey.Tracing, lambda input, *rest: input + 1), include_keys(DispatchKey.Tracing):
        target = torch.zeros(2)
        assert target.scatter_(0, torch.tensor([0]), 1.0) is target and target.tolist() == [1.0, 1.0]


def test_who_does_not_care_costs_a_call_no_general_path() -> None:
    """Of an operation that no listener is concerned with, the entrance below the door is taken."""
    from autograd_tape.functions.general import General

    a, b = torch.rand(3, 3), torch.rand(3, 3)
    operations = (lambda: a + b, lambda: a[0], lambda: a.sum(0), lambda: torch.cat([a, b]), lambda: a.clone().mul_(2))
    before = [f() for f in operations]
    ran: set[Any] = set()
    with handling("atan2", DispatchKey.Backend_CPU, lambda input, other: input):
        [f() for f in operations]  # entrances are made when they are first needed
        sys.setprofile(lambda frame, event, arg: ran.add(frame.f_code))
        after = [f() for f in operations]
        sys.setprofile(None)
    assert General.__call__.__code__ in ran and General.rest.__code__ not in ran
    assert all(map(torch.equal, before, after))


def test_functions_without_a_record_meet_only_who_looks_at_them() -> None:
    """Keys and autocast know operations by their records: they do not slow down `item` and `rand`."""
    before = list(calls.TO_ALL)
    with handling("add", DispatchKey.Autograd, lambda *args: args[0]), torch.autocast("cpu"), Trace():
        assert calls.TO_ALL == before != calls.LISTENING
    with calls.listening(_Shows()):
        assert calls.TO_ALL != before


class _Shows(calls.Interceptor):
    place = "function"

    def __call__(self, call: calls.Call) -> Any:
        raise _Seen(call.spelled())


def test_every_function_is_shown_with_arguments_that_mean_the_same_to_it() -> None:
    """Whichever are given: by position where it takes so, and without defaults at the end."""
    names = 0
    with calls.listening(_Shows()):
        for name in RECORDS:
            function = torch._tensor.frontend.function(name)
            signature = inspect.signature(function)
            parameters = [p for p in signature.parameters.values() if p.name not in ("out", "_more", "axis") and
                          p.kind is not p.VAR_KEYWORD]
            if any(p.kind is p.VAR_POSITIONAL for p in parameters):
                continue  # sizes, and tensors in a row
            names += 1
            for given in range(len(parameters) + 1):
                values = {p.name: object() for i, p in enumerate(parameters) if i < given or p.default in (p.empty, MISSING)}
                with pytest.raises(_Seen) as seen:
                    function(**values)
                positional, keywords = seen.value.args[0]
                shown, meant = signature.bind(*positional, **keywords), signature.bind(**values)
                assert set(shown.arguments) - {"_more"} <= set(meant.arguments), name
                shown.apply_defaults(), meant.apply_defaults()
                assert shown.arguments == meant.arguments, name
    assert names > 580


class _Seen(Exception):
    """Raised by whoever sees a call, so that nothing else does."""


def _raises(*args: Any, **kwargs: Any) -> Any:
    raise _Seen


@contextlib.contextmanager
def _handled(name: str) -> Iterator[None]:
    handler = register_op(name, DispatchKey.CompositeExplicit)(_raises)
    try:
        yield
    finally:
        handler.unregister()


def _operation(func: Any) -> str:
    """The operation that a function is of, or what it is called where it is made of several."""
    rec = getattr(func, "record", None)
    return str(func.__name__ if rec is None else rec.name)


def _seen_by_mode(function: Any, args: Any, kwargs: Any) -> list[str]:
    class Mode(TorchFunctionMode):
        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            seen.append(_operation(func))
            raise _Seen

    seen: list[str] = []
    with Mode(), contextlib.suppress(_Seen):
        function(*args, **kwargs)
    return seen


class Seeing(torch.Tensor):
    """Notes the first call that it is shown."""

    seen: list[str] = []

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        cls.seen.append(_operation(func))
        raise _Seen


@pytest.mark.parametrize("part", range(4))
def test_every_operation_is_seen_under_its_own_name(part: int) -> None:
    """Of every operation with samples: by handlers, function modes, classes of arguments, profiles and explicit tapes."""
    from tests.ops.op_cases import bind, is_array, samples, tree_map

    from autograd_tape.tape import Tape
    from torchcompat.autograd.profiler import _shown, profile

    F = torch._tensor.frontend
    for name, rec in list(RECORDS.items())[part::4]:
        if rec.field("samples") is None:
            continue
        args, kwargs = tree_map(lambda x: torch.tensor(x) if is_array(x) else x, bind(rec, samples(rec)[0]))
        function = F.function(name)
        with _handled(name), pytest.raises(_Seen):
            function(*args, **kwargs)
        shown_as = rec.field("shown_as") or name  # what is a part of others alone is shown as one of them
        assert _seen_by_mode(function, args, kwargs) in ([name], [shown_as])
        special = tree_map(lambda x: x.as_subclass(Seeing) if isinstance(x, torch.Tensor) else x, (args, kwargs))
        if any(isinstance(x, Seeing) for x in torch.utils._pytree.tree_leaves(special)):
            Seeing.seen.clear()
            with pytest.raises(_Seen):
                function(*special[0], **special[1])
            assert Seeing.seen in ([name], [shown_as])
        with Tape() as tape:
            function(*args, **kwargs)
        assert [o.op_name for o in tape.held.operations][:1] in ([name], [target_of(F, rec, args, kwargs)]), name
        args, kwargs = tree_map(lambda x: torch.tensor(x) if is_array(x) else x, bind(rec, samples(rec)[0]))
        with profile() as p:
            function(*args, **kwargs)
        shown = _shown(rec)
        assert shown is None or f"aten::{shown}" in [e.name for e in p.function_events], name


def target_of(F: Any, rec: Any, args: Any, kwargs: Any) -> str | None:
    """The operation that carries out another's call, which tapes hold in its place."""
    if rec.field("redirect") is None:
        return None
    given = {**rec.defaults, **dict(zip([p.name for p in rec.params], args)), **kwargs}
    found = rec.field("redirect")(*[given[p.name] for p in rec.params])
    return None if found is None else found[0]


def test_who_is_idle_is_not_asked() -> None:
    """No call is made where all who listen are idle, and those further in are asked where one further out is."""
    class Sometimes(calls.Interceptor):
        def __init__(self, place: str) -> None:
            self.place, self.works, self.seen = place, False, []  # type: ignore[var-annotated]  # names

        def idle(self, args: tuple[Any, ...]) -> bool:
            return not self.works

        def __call__(self, call: Any) -> Any:
            assert self.works
            self.seen.append(call.name)
            return call.proceed()

    outer, inner, x = Sometimes("profile"), Sometimes("trace"), torch.ones(2)
    with calls.listening(outer), calls.listening(inner):
        for outer.works in (False, True):
            for inner.works in (False, True):
                assert x.add(1).tolist() == [2, 2] and torch.var(x).item() == 0 and torch.zeros(2).tolist() == [0, 0]
    assert [s.seen.count(name) for s in (outer, inner) for name in ("add", "var", "zeros", "item")] == [2] * 8


def test_a_mode_is_idle_while_its_handler_works() -> None:
    """What a handler calls is quiet, other modes and classes are asked, and afterwards the mode is again."""
    seen: list[Any] = []

    class Inner(TorchFunctionMode):
        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            seen.append(("inner", func.__name__))
            first = func(*args, **(kwargs or {}))
            return func(*args, **(kwargs or {})) if func.__name__ == "exp" else first

    class Outer(Inner):
        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            seen.append(("outer", func.__name__))
            return func(*args, **(kwargs or {}))

    class Duck:
        @classmethod
        def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            seen.append(("duck", func.__name__))
            return 7

    x = torch.zeros(1)
    with Outer(), Inner():
        assert torch.exp(x).item() == 1.0
        assert torch.add(Duck(), 1) == 7
    assert seen == [("inner", "exp"), ("outer", "exp"), ("outer", "exp"), ("inner", "item"), ("outer", "item"),
                    ("inner", "add"), ("outer", "add"), ("duck", "add")]


_KINDS = """
import sys
import torchcompat as torch
from autograd_tape import calls

view, sparse = torch.ones(2, dtype=torch.complex64).conj(), torch.eye(2).to_sparse()
assert len(calls.LISTENING) == 2, calls.LISTENING
x, order, met = torch.ones(2), torch.tensor([0.0, 2.0]), []
sys.setprofile(lambda frame, event, arg: frame.f_code is calls.Door.__call__.__code__ and met.append(event))
torch.searchsorted(order, x), torch.isin(x, x)
assert not met
try:
    torch.searchsorted(order, sparse)
except RuntimeError:
    pass
print(bool(met), torch.mean(view).item())
"""


def test_who_looks_at_special_kinds_alone_closes_no_quick_way() -> None:
    """Conjugate views and sparse tensors are listened to for good; plain calls of irregular operations do not meet a door for that."""
    done = subprocess.run([sys.executable, "-c", _KINDS], capture_output=True, text=True, timeout=120, cwd=Path(__file__).parents[2])
    assert (done.returncode, done.stdout) == (0, "True (1+0j)\n"), done.stderr
