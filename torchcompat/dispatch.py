"""Dispatch keys: which layer handles an operation, and how to register a handler for one.

Ordinary calls never come here: the quiet path of a compiled operation *is* the walk Autograd -> Backend with both steps written
out flat. The handlers of each key are an interceptor (see `autograd_tape.calls`), which listens while there are any; only the
operations that have handlers are asked about.

>>> import torchcompat as torch
>>> from torchcompat.dispatch import DispatchKey, register_op
>>> @register_op("neg", DispatchKey.Backend_CPU)
... def loud_neg(input):
...     print("neg of", tuple(input.shape))
...     return input * -1
>>> x = torch.ones(2, requires_grad=True)
>>> torch.neg(x).sum().backward()
neg of (2,)
>>> x.grad
tensor([-1., -1.])
>>> loud_neg.unregister()
"""

from __future__ import annotations

import inspect
import threading
from enum import IntEnum
from typing import TYPE_CHECKING, Any
from collections.abc import Callable, Iterable, Sequence

from dataclasses import dataclass
import numpy as np

from autograd_tape.annotations import Arguments, Fn, Keywords
from autograd_tape.calls import Call, Door, Interceptor, changed, listen, mapped, same, unlisten
from autograd_tape.locks import cached_property, fork_safe_lock
from autograd_tape.ops import get_record
from autograd_tape.modes import GradMode, _mode, grad_mode, no_grad

from ._tensor import frontend
from .autograd.engine import grad
from .autograd.function import Function
from .autograd.grad_mode import enable_grad, is_grad_enabled

if TYPE_CHECKING:
    from autograd_tape.record import Record
    from torchcompat._tensor import Tensor


class DispatchKey(IntEnum):
    """The layers of an operation, outermost first."""

    Tracing = 1            # notes each operation in the thread's trace
    Functionalize = 2      # turns mutations into copies: the operation out of place, and a copy of its result into the target
    Batched = 3            # vmap
    AutocastCPU = 4
    AutocastGPU = 5
    Autograd = 6           # records the operation for backward
    Backend_CPU = 7
    Backend_CUDA = 8
    Backend_Ascend = 9
    Backend_Meta = 10
    CompositeExplicit = 11  # a composition of other operations, for every backend without a kernel


BACKENDS = {"cpu": DispatchKey.Backend_CPU, "cuda": DispatchKey.Backend_CUDA, "npu": DispatchKey.Backend_Ascend,
            "meta": DispatchKey.Backend_Meta}
_OF_LEVELS = {"vmap": DispatchKey.Batched, "functionalize": DispatchKey.Functionalize}
"""What tensors of transforms enable, by the kind of their level."""
ENABLED_BY: list[Callable[[Sequence[Any]], Iterable[DispatchKey]]] = []
"""Contexts that enable keys: each says which are enabled now for an operation on some tensors."""
_lock = fork_safe_lock()


class _State(threading.local):
    included: frozenset[DispatchKey] = frozenset()
    excluded: frozenset[DispatchKey] = frozenset()
    handling: frozenset[tuple[str, DispatchKey]] = frozenset()  # the handlers that are at work
    trace: Any = None  # the Trace that operations are noted in


_state = _State()


class Handler:
    """What `register_op` returns: the handler itself, callable, with `unregister()`."""

    def __init__(self, name: str, key: DispatchKey, function: Fn) -> None:
        self.name, self.key, self.function = name, key, function

    @cached_property
    def room(self) -> float:
        """How many arguments it takes by position."""
        parameters = inspect.signature(self.function).parameters.values()
        if any([p.kind is p.VAR_POSITIONAL for p in parameters]):
            return float("inf")
        return sum([p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) for p in parameters])

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.function(*args, **kwargs)

    def unregister(self) -> None:
        """Takes the handler away; a second call does nothing."""
        with _lock:
            handlers = _HANDLERS[self.key]
            if handlers.table.get(self.name) is self:
                del handlers.table[self.name]
                unlisten(handlers)
                changed()


def register_op(name: str, key: DispatchKey) -> Callable[[Fn], Handler]:
    """Registers a handler of an operation, by any of its names, for a dispatch key.

    A handler takes the arguments of the schema by position, without those at its end that it has no parameters for as long as they are the
    defaults. What it returns is the result; NotImplemented leaves the call to the next key. Where it calls its operation again, the
    call goes on below its key.

    A handler of a backend, or a composite, gets tensors that carry no history: the recording around it is done, by the record's gradient
    formulas, or else by differentiating what the operation is made of. A handler of another key gets the tensors as they are. In-place
    variants, and `out=`, get the result copied.

    Raises:
        LookupError: there is no such operation.
        ValueError: the key has a handler for it already.
    """
    rec, handlers = get_record(name), _HANDLERS[key]

    def decorate(function: Fn) -> Handler:
        with _lock:
            if rec.name in handlers.table:
                raise ValueError(f"'{rec.name}' has a handler for {key.name} already; unregister it first")
            handler = handlers.table[rec.name] = Handler(rec.name, key, function)
            listen(handlers)
            changed()
        return handler

    return decorate


def register_composite(name: str) -> Callable[[Fn], Handler]:
    """Registers what an operation is made of, for all backends that have no handler of their own: see `register_op`.

    >>> import torchcompat as torch
    >>> @register_composite("softmax")
    ... def softmax(x, dim):
    ...     raised = (x - x.max(dim=dim, keepdim=True).values).exp()
    ...     return raised / raised.sum(dim=dim, keepdim=True)
    >>> torch.softmax(torch.zeros(2), 0)
    tensor([0.5000, 0.5000])
    >>> op_status("softmax")["cpu"]
    'composite'
    >>> softmax.unregister()
    """
    return register_op(name, DispatchKey.CompositeExplicit)


def op_status(name: str) -> dict[str, str]:
    """For each type of device what carries out an operation there: a "handler", a registered "composite", or what is "native" to it."""
    rec = get_record(name)
    rest = "composite" if rec.name in _HANDLERS[DispatchKey.CompositeExplicit].table else "native"
    return {device: "handler" if rec.name in _HANDLERS[key].table else rest for device, key in BACKENDS.items()}


class _Keys:
    """Keys included or excluded for a block, on this thread."""

    def __init__(self, keys: tuple[DispatchKey, ...], field: str) -> None:
        self.keys, self.field = frozenset(keys), field
        self.listens = field == "included" and DispatchKey.Functionalize in self.keys

    def __enter__(self) -> None:
        if self.listens:
            listen(_FUNCTIONALIZING)
        self.before = getattr(_state, self.field)
        setattr(_state, self.field, self.before | self.keys)
        self.mode = grad_mode()
        if self.field == "excluded" and DispatchKey.Autograd in self.keys:
            _mode.set(GradMode.DISABLED)

    def __exit__(self, *exc: object) -> None:
        setattr(_state, self.field, self.before)
        _mode.set(self.mode)
        if self.listens:
            unlisten(_FUNCTIONALIZING)


def include_keys(*keys: DispatchKey) -> _Keys:
    """Inside, operations are handled by these keys too."""
    return _Keys(keys, "included")


def exclude_keys(*keys: DispatchKey) -> _Keys:
    """Inside, operations skip these keys; without Autograd nothing is recorded."""
    return _Keys(keys, "excluded")


def is_excluded(key: DispatchKey) -> bool:
    """Whether operations of this thread skip a key."""
    return key in _state.excluded


def active_keys(tensors: Sequence[Tensor]) -> list[DispatchKey]:
    """The keys an operation on `tensors` walks through, outermost first.

    >>> import torchcompat as torch
    >>> [k.name for k in active_keys([torch.ones(1, requires_grad=True)])]
    ['Autograd', 'Backend_CPU', 'CompositeExplicit']
    >>> with torch.autocast("cpu"):
    ...     [k.name for k in active_keys([torch.ones(1)])]
    ['AutocastCPU', 'Backend_CPU', 'CompositeExplicit']
    """
    keys = set(_state.included)
    if _state.trace is not None:
        keys.add(DispatchKey.Tracing)
    keys.update([_OF_LEVELS[t._level.kind] for t in tensors if hasattr(t, "_level")])
    for enabled in ENABLED_BY:
        keys.update(enabled(tensors))
    if grad_mode() is GradMode.ENABLED and any(t._node is not None for t in tensors):
        keys.add(DispatchKey.Autograd)
    keys.update(BACKENDS[t._k.device.type] for t in tensors if t._k.device.type in BACKENDS)
    if not tensors:
        keys.add(DispatchKey.Backend_CPU)
    keys.add(DispatchKey.CompositeExplicit)
    return sorted(keys - _state.excluded)


# -- handlers -----------------------------------------------------------------------------------------------------------------------


class _handling:
    """A block in which a handler is at work: calls of its operation pass it, and all of keys further out are skipped."""

    def __init__(self, handler: Handler) -> None:
        self.handler = handler

    def __enter__(self) -> None:
        self.before = _state.handling, _state.excluded
        key = self.handler.key
        _state.handling |= {(self.handler.name, k) for k in DispatchKey if k <= key}
        if key < DispatchKey.Backend_CPU:
            _state.excluded |= {k for k in DispatchKey if k <= key and k is not DispatchKey.Autograd}

    def __exit__(self, *exc: object) -> None:
        _state.handling, _state.excluded = self.before


def handler_of(name: str, key: DispatchKey) -> Handler | None:
    """The handler of an operation for a key, by its record's name."""
    return _HANDLERS[key].table.get(name)


def passing_handlers(name: str, key: DispatchKey) -> _handling:
    """A block in which calls of an operation pass its handlers for a key and those further out."""
    return _handling(Handler(name, key, _nobody))


def _nobody(*args: object) -> Any:
    return NotImplemented


class _Handlers(Interceptor):
    """The handlers of one key."""

    frontend = frontend
    all_functions = False

    def __init__(self, key: DispatchKey) -> None:
        self.key, self.place = key, key.name
        self.table: dict[str, Handler] = {}

    def concerns(self, door: Door) -> bool:
        return door.rec.name in self.table

    def __call__(self, call: Call) -> Any:
        handler = self.table.get(call.rec.name)
        if handler is None or (handler.name, self.key) in _state.handling or self.key not in active_keys(call.tensors()):
            return NotImplemented
        if not call.inplace and call.rec.takes_inplace and call.args[call.rec.takes_inplace]:
            return NotImplemented  # it goes on as the in-place variant
        if self.key < DispatchKey.Backend_CPU:
            result = _handled(handler, *_fitting(handler, call.door, call.args))
        elif call.door.irregular or call.door.redirect(call.args) is not None:
            result = _recorded(handler, call)
        else:
            return _executed(handler, call)
        return result if result is NotImplemented else _given(call, result)


_HANDLERS = {key: _Handlers(key) for key in DispatchKey}


def _handled(handler: Handler, args: Sequence[object], kwargs: Keywords) -> Any:
    with _handling(handler):
        return handler(*args, **kwargs)


def _fitting(handler: Handler, door: Door, args: tuple[object, ...]) -> tuple[Sequence[Any], Keywords]:
    """The arguments for a handler: all by position where it takes so many, else as the function is called."""
    return (args, {}) if handler.room >= len(args) else door.spelled(args)


def _given(call: Call, result: Tensor) -> Tensor:
    """The result of a handler, copied to where the call wants it."""
    if call.inplace:
        return result if result is call.args[0] else call.args[0].copy_(result)
    if call.out is not None:
        return frontend.write_out(None, call.out, result if isinstance(result, (tuple, list)) else [result])
    return result


class _HandlerExecutor:
    """Carries an operation out by a registered handler."""

    def __init__(self, handler: Handler) -> None:
        self.handler = handler

    def run(self, rec: Record, arrays: Keywords) -> Any:
        def tensor(v: np.ndarray | list[np.ndarray] | None) -> Any:
            return frontend.wrap(v) if isinstance(v, np.ndarray) else [tensor(x) for x in v] if isinstance(v, list) else v

        params = [p for p in rec.params if p.passed]
        values = [tensor(arrays[p.name]) if p.is_tensor else arrays[p.name] for p in params]
        while len(values) > self.handler.room and params[len(values) - 1].default is not None and same(
                values[-1], rec.defaults[params[len(values) - 1].name]):
            values.pop()
        with no_grad():
            result = _handled(self.handler, values, {})
        if result is NotImplemented:
            raise _Passes
        if isinstance(result, (tuple, list)):
            return tuple(r._data for r in result)
        return result._data


class _Passes(Exception):
    """A handler leaves the operation to the next one."""


def _executed(handler: Handler, call: Call) -> Any:
    """A regular operation with a handler in the place of its kernel."""
    try:
        return call.door.run(call.args, call.out, call.inplace, _HandlerExecutor(handler))  # type: ignore[attr-defined]  # it is regular
    except _Passes:
        return NotImplemented


def _recorded(handler: Handler, call: Call) -> Tensor:
    """An operation that has no gradient formula of its own, by a handler: its gradient is that of what it is made of."""
    recording = grad_mode() is GradMode.ENABLED and any([t._node is not None for t in call.tensors()])
    with no_grad():
        result = _handled(handler, *_fitting(handler, call.door, mapped(lambda t: t.detach(), call.args)))
    if result is NotImplemented or not recording:
        return result

    class Recorded(Function):
        """Differentiates the operation when its gradient is asked for."""

        @staticmethod
        def forward(ctx: Any, *tensors: Any) -> Tensor:
            ctx.save_for_backward(*tensors)
            return result

        @staticmethod
        def backward(ctx: Any, *grads: Any) -> Any:
            tensors = ctx.saved_tensors
            given = iter(tensors)
            with enable_grad():
                found = call.door.carry_out(mapped(lambda t: next(given), call.args), None, False)
            outputs = list(found) if isinstance(found, (tuple, list)) else [found]
            kept = [(o, g) for o, g in zip(outputs, grads) if o.requires_grad and g is not None]
            wanted = [t for t in tensors if t.requires_grad]
            parts = iter(grad([o for o, _ in kept], wanted, [g for _, g in kept], create_graph=is_grad_enabled(), allow_unused=True))
            return tuple([next(parts) if t.requires_grad else None for t in tensors])

    return Recorded.apply(*call.tensors())


# -- what outer keys do where no handler is registered -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class TracedOperation:
    """One operation of a trace.

    Attributes:
        name: the record's name, with an underscore where it was carried out in place.
        arguments: as the schema has them.
        result: what it returned.
    """

    name: str
    arguments: Arguments
    result: Any


class Trace(Interceptor):
    """The operations of a block, in order; those that others are made of are not noted.

    >>> import torchcompat as torch
    >>> with Trace() as trace:
    ...     y = (torch.ones(2) + 1).exp().var()
    >>> [operation.name for operation in trace.operations]
    ['ones', 'add', 'exp', 'var']
    """

    place, frontend = "trace", frontend
    all_functions = False

    def __init__(self) -> None:
        self.operations: list[TracedOperation] = []

    def __enter__(self) -> "Trace":
        self.before = _state.trace
        set_trace(self)
        return self

    def __exit__(self, *exc: object) -> None:
        set_trace(self.before)

    def __call__(self, call: Call) -> Any:
        if _state.trace is not self or DispatchKey.Tracing in _state.excluded:
            return NotImplemented
        _state.trace = None
        try:
            result = call.proceed()
        finally:
            _state.trace = self
        self.operations.append(TracedOperation(call.name, call.args, result))
        return result


def set_trace(trace: Trace | None) -> None:
    """Makes `trace` the one that this thread's operations are noted in, or none."""
    if trace is not None:
        listen(trace)
    if _state.trace is not None:
        unlisten(_state.trace)
    _state.trace = trace


def get_trace() -> Trace | None:
    """The trace that this thread's operations are noted in."""
    return _state.trace


class _Functionalizing(Interceptor):
    """Operations that change tensors, while the key Functionalize is included: out of place, and a copy of the result."""

    place, frontend = "functionalize", frontend
    all_functions = False

    def concerns(self, door: Door) -> bool:
        return not door.irregular and door.rec.family != "store"

    def __call__(self, call: Call) -> Any:
        args, out, inplace, F = call.args, call.out, call.inplace, call.frontend
        if not (inplace or out is not None) or DispatchKey.Functionalize not in _state.included - _state.excluded:
            return NotImplemented
        saved = inplace and grad_mode() is GradMode.ENABLED and any(t._node is not None for t in call.tensors())
        result = call.door((F.clone(args[0]), *args[1:]) if saved else args)  # the gradient may need the value from before
        for target, value in zip(*[x if isinstance(x, (tuple, list)) else (x,) for x in (args[0] if inplace else out, result)]):
            F.copy_(target, value)
        return args[0] if inplace else out


_FUNCTIONALIZING = _Functionalizing()


__all__ = ["DispatchKey", "Handler", "Trace", "TracedOperation", "active_keys", "exclude_keys", "get_trace", "include_keys", "op_status",
           "register_composite", "register_op", "set_trace"]
