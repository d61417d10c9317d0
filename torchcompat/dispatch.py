"""Dispatch keys: which layer handles an operation, and how to register a handler for one.

Ordinary calls never come here: the quiet path of a compiled operation *is* the walk Autograd -> Backend with both steps written
out flat. Registering a handler, or enabling a further key, sends operations through the general path, which asks `dispatch`; when
the last handler and context are gone the quiet path is back.

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

import threading
from enum import IntEnum
from typing import Any
from collections.abc import Callable

import attrs
import numpy as np

from autograd_tape.locks import fork_safe_lock
from autograd_tape.ops import get_record
from autograd_tape.modes import GradMode, _mode, enter_quiet_path, grad_mode, leave_quiet_path
from autograd_tape.tensor import TensorRef

from ._tensor import frontend


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
_handlers: dict[tuple[str, DispatchKey], Callable[..., Any]] = {}
_lock = fork_safe_lock()


class _State(threading.local):
    included: frozenset[DispatchKey] = frozenset()
    excluded: frozenset[DispatchKey] = frozenset()
    executor: Any = None  # carries out the operation in progress, where a backend handler does
    depth = 0
    trace: Any = None  # the Trace that operations are noted in


_state = _State()


class Handler:
    """What `register_op` returns: the handler itself, callable, with `unregister()`."""

    def __init__(self, name: str, key: DispatchKey, function: Callable[..., Any]) -> None:
        self.name, self.key, self.function = name, key, function

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.function(*args, **kwargs)

    def unregister(self) -> None:
        """Takes the handler away; a second call does nothing."""
        with _lock:
            if _handlers.pop((self.name, self.key), None) is not None:
                enter_quiet_path()


def register_op(name: str, key: DispatchKey) -> Callable[[Callable[..., Any]], Handler]:
    """Registers a handler of an operation for a dispatch key.

    A backend or composite handler takes the schema's arguments with tensors that carry no history, and returns the result; the
    recording around it is done. A handler of another key takes the tensors as they are, and calls the operation again to pass it on.

    Raises:
        LookupError: there is no such operation.
        NotImplementedError: the handler would never be called: the operation is one that others make up, which keys do not see, or the
            key is Autograd, whose handler would be called by itself.
        ValueError: the key has a handler for it already.
    """
    rec = get_record(name)
    if rec.field("function") is not None or rec.field("make") is not None:
        raise NotImplementedError(f"a handler of '{rec.name}' would be ignored: it is made of other operations, for which handlers can be "
                                  "registered")
    if key is DispatchKey.Autograd:
        raise NotImplementedError(f"a handler of '{rec.name}' for Autograd would call itself; register one for a backend, or a custom "
                                  "Function's backward")

    def decorate(function: Callable[..., Any]) -> Handler:
        with _lock:
            if (rec.name, key) in _handlers:
                raise ValueError(f"'{rec.name}' has a handler for {key.name} already; unregister it first")
            _handlers[rec.name, key] = function
            leave_quiet_path()
        return Handler(rec.name, key, function)

    return decorate


class _Keys:
    """Keys included or excluded for a block, on this thread."""

    def __init__(self, keys: tuple[DispatchKey, ...], field: str) -> None:
        self.keys, self.field = frozenset(keys), field

    def __enter__(self) -> None:
        leave_quiet_path()
        self.before = getattr(_state, self.field)
        setattr(_state, self.field, self.before | self.keys)
        self.mode = grad_mode()
        if self.field == "excluded" and DispatchKey.Autograd in self.keys:
            _mode.set(GradMode.DISABLED)

    def __exit__(self, *exc: object) -> None:
        setattr(_state, self.field, self.before)
        _mode.set(self.mode)
        enter_quiet_path()


def include_keys(*keys: DispatchKey) -> _Keys:
    """Inside, operations are handled by these keys too."""
    return _Keys(keys, "included")


def exclude_keys(*keys: DispatchKey) -> _Keys:
    """Inside, operations skip these keys; without Autograd nothing is recorded."""
    return _Keys(keys, "excluded")


def active_keys(tensors: list[Any]) -> list[DispatchKey]:
    """The keys an operation on `tensors` walks through, outermost first.

    >>> import torchcompat as torch
    >>> [k.name for k in active_keys([torch.ones(1, requires_grad=True)])]
    ['Autograd', 'Backend_CPU', 'CompositeExplicit']
    """
    keys = set(_state.included)
    if _state.trace is not None:
        keys.add(DispatchKey.Tracing)
    if grad_mode() is GradMode.ENABLED and any(t._node is not None for t in tensors):
        keys.add(DispatchKey.Autograd)
    keys.update(BACKENDS[t._k.device.type] for t in tensors if t._k.device.type in BACKENDS)
    if not tensors:
        keys.add(DispatchKey.Backend_CPU)
    keys.add(DispatchKey.CompositeExplicit)
    return sorted(keys - _state.excluded)


class _HandlerExecutor:
    """Carries an operation out by a registered handler."""

    def __init__(self, handler: Callable[..., Any]) -> None:
        self.handler = handler

    def run(self, rec: Any, arrays: dict[str, Any]) -> Any:
        def tensor(v: Any) -> Any:
            return frontend.wrap(v) if isinstance(v, np.ndarray) else [tensor(x) for x in v] if isinstance(v, list) else v

        values = [tensor(arrays[p.name]) if p.is_tensor else arrays[p.name] for p in rec.params if p.passed]
        before = grad_mode()
        _mode.set(GradMode.DISABLED)
        _state.depth += 1
        try:
            result = self.handler(*values)
        finally:
            _state.depth -= 1
            _mode.set(before)
        if isinstance(result, (tuple, list)):
            return tuple(r._data for r in result)
        return result._data


# -- what outer keys do where no handler is registered -------------------------------------------------------------------------------


@attrs.frozen
class TracedOperation:
    """One operation of a trace.

    Attributes:
        name: the record's name, with an underscore where it was carried out in place.
        arguments: as the schema has them.
        result: what it returned.
    """

    name: str
    arguments: tuple[Any, ...]
    result: Any


class Trace:
    """The operations of a block, in order; those that others are made of are not noted.

    >>> import torchcompat as torch
    >>> with Trace() as trace:
    ...     y = (torch.ones(2) + 1).exp()
    >>> [operation.name for operation in trace.operations]
    ['add', 'exp']
    """

    def __init__(self) -> None:
        self.operations: list[TracedOperation] = []

    def __enter__(self) -> "Trace":
        self.before = _state.trace
        set_trace(self)
        return self

    def __exit__(self, *exc: object) -> None:
        set_trace(self.before)


def set_trace(trace: Trace | None) -> None:
    """Makes `trace` the one that this thread's operations are noted in, or none."""
    if (trace is None) is not (_state.trace is None):
        if trace is None:
            enter_quiet_path()
        else:
            leave_quiet_path()
    _state.trace = trace


def get_trace() -> Trace | None:
    """The trace that this thread's operations are noted in."""
    return _state.trace


def tensors_in(args: tuple[Any, ...]) -> list[Any]:
    """The tensors among an operation's arguments, and in lists of them."""
    return [x for a in args for x in (a if isinstance(a, (tuple, list)) else (a,)) if isinstance(x, TensorRef)]


def built_in(fe: Any, general: Any, args: tuple[Any, ...], out: Any, inplace: bool) -> Any:
    """Tracing and Functionalize, where they are active; NotImplemented where they have nothing to do."""
    trace = _state.trace
    if trace is not None and DispatchKey.Tracing not in _state.excluded:
        _state.trace = None
        try:
            result = general(args, out, inplace)
        finally:
            _state.trace = trace
        trace.operations.append(TracedOperation(general.rec.name + ("_" if inplace else ""), args, result))
        return result
    if (inplace or out is not None) and DispatchKey.Functionalize in _state.included - _state.excluded and general.rec.family != "store":
        saved = inplace and grad_mode() is GradMode.ENABLED and any(t._node is not None for t in tensors_in(args))
        result = general((fe.clone(args[0]), *args[1:]) if saved else args)  # the gradient may need the value from before
        for target, value in zip(*[x if isinstance(x, (tuple, list)) else (x,) for x in (args[0] if inplace else out, result)]):
            fe.copy_(target, value)
        return args[0] if inplace else out
    return NotImplemented


def dispatch(fe: Any, general: Any, args: tuple[Any, ...], out: Any, inplace: bool) -> Any:
    """Walks the keys of one call; NotImplemented where no handler is registered for any."""
    if not _handlers:
        return NotImplemented
    name = general.rec.name
    if not any((name, key) in _handlers for key in DispatchKey):
        return NotImplemented
    tensors = tensors_in(args)
    for key in active_keys(tensors):
        handler = _handlers.get((name, key))
        if handler is None:
            continue
        if key < DispatchKey.Backend_CPU:
            with exclude_keys(*[k for k in DispatchKey if k <= key and k is not DispatchKey.Autograd]):
                return handler(*args)
        if _state.depth:
            return NotImplemented  # the handler calls its own operation: it means the built-in one
        _state.executor = _HandlerExecutor(handler)
        try:
            return general.run(args, out, inplace)
        finally:
            _state.executor = None
    return NotImplemented


def executor_in_progress() -> Any:
    """Takes the executor that a backend handler asked for, for the operation being carried out."""
    executor, _state.executor = _state.executor, None
    return executor


frontend.interceptors.append(dispatch)
frontend.interceptors.append(built_in)
frontend.executor_override = executor_in_progress

__all__ = ["DispatchKey", "Handler", "Trace", "TracedOperation", "active_keys", "dispatch", "exclude_keys", "get_trace", "include_keys",
           "register_op", "set_trace"]
