"""The graph as programs look at it: nodes, edges, hooks on what nodes save and on several gradients at once."""

from __future__ import annotations

import contextlib
import functools
import threading
import weakref
from typing import Any
from collections.abc import Callable, Iterable, Iterator, Sequence

from autograd_tape.calls import Call, Door, Interceptor, listen, unlisten
from autograd_tape.engine import Engine
from autograd_tape.locks import fork_safe_lock
from autograd_tape.modes import current_engine, enter_quiet_path, leave_quiet_path
from autograd_tape.saved import pack_entry, state
from autograd_tape.node import RemovableHandle, TapeEntry, accumulate_node, edge_of
from autograd_tape.version import Version

from .._calls.absent import absences as _absences
from .._tensor import Tensor, frontend
from .edges import GradientEdge

__all__ = ["saved_tensors_hooks", "save_on_cpu", "disable_saved_tensors_hooks", "register_multi_grad_hook",
           "allow_mutation_on_saved_tensors", "Node", "GradientEdge", "get_gradient_edge", "increment_version"]

Node = TapeEntry
"""The class of every graph node."""


def get_gradient_edge(tensor: Tensor) -> GradientEdge:
    """The edge through which the gradient of `tensor` comes.

    Raises:
        RuntimeError: the tensor does not require grad.
    """
    edge = edge_of(tensor) if tensor.requires_grad else None
    if edge is None:
        raise RuntimeError("It is not possible to get the gradient edge for a Tensor that does not require gradients")
    if edge._tag == 1:
        return GradientEdge(accumulate_node(edge), 0)
    node, nr = (edge.entry, edge.nr) if edge._tag == 2 else (edge, 0)
    node.__dict__.setdefault("_output_likeness", {})[nr] = tensor._data.shape, tensor._k
    return GradientEdge(node, nr)


def increment_version(tensor: Tensor | Iterable[Tensor]) -> None:
    """Counts a change of one tensor, or of several, that autograd cannot see."""
    tensors = (tensor,) if isinstance(tensor, Tensor) else tensor
    if not isinstance(tensors, Iterable):
        raise RuntimeError("increment_version expect a Iterable[Tensor] as input")
    for t in tensors:
        if not isinstance(t, Tensor):
            raise RuntimeError("increment_version expect each element of the iterable to be a tensor")
        frontend.bump(t)


# -- hooks on saved tensors -----------------------------------------------------------------------------------------

frontend.savers.append(pack_entry)


class saved_tensors_hooks:
    """Inside, `pack_hook(tensor)` is called for each tensor saved for backward, and `unpack_hook` on its result when it is needed.

    >>> import torchcompat as torch
    >>> a = torch.ones(2, requires_grad=True)
    >>> with torch.autograd.graph.saved_tensors_hooks(lambda t: t * 3, lambda t: t):
    ...     y = a * a
    >>> y.sum().backward()
    >>> a.grad
    tensor([6., 6.])
    """

    def __init__(self, pack_hook: Callable[[Any], Any], unpack_hook: Callable[[Any], Any]) -> None:
        self.pack_hook, self.unpack_hook = pack_hook, unpack_hook

    def __enter__(self) -> None:
        if state.disabled is not None:
            raise RuntimeError(state.disabled)
        leave_quiet_path()
        state.hooks = (*state.hooks, (self.pack_hook, self.unpack_hook))

    def __exit__(self, *exc: object) -> None:
        state.hooks = state.hooks[:-1]
        enter_quiet_path()


class save_on_cpu(saved_tensors_hooks):
    """Inside, saved tensors wait for backward on the CPU."""

    def __init__(self, pin_memory: bool = False, device_type: str = "cuda") -> None:
        def pack(tensor: Tensor) -> object:
            return tensor.device, tensor.cpu()

        def unpack(packed: Any) -> object:
            device, tensor = packed
            return tensor.to(device, non_blocking=pin_memory)

        super().__init__(pack, unpack)


@contextlib.contextmanager
def disable_saved_tensors_hooks(error_message: str) -> Iterator[None]:
    """Inside, entering `saved_tensors_hooks` raises `error_message`.

    Raises:
        RuntimeError: such hooks are in effect already.
    """
    before = state.disabled
    if state.hooks:
        raise RuntimeError(error_message)
    state.disabled = error_message
    try:
        yield
    finally:
        state.disabled = before


# -- changes to saved tensors ---------------------------------------------------------------------------------------


class _Handle:
    """Stands for one version of a saved tensor."""


class _Mutations:
    """The tensors saved inside `allow_mutation_on_saved_tensors`, by version, and copies of those changed since."""

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        """Forgets everything."""
        self.handles: weakref.WeakValueDictionary[object, _Handle] = weakref.WeakValueDictionary()
        self.originals: weakref.WeakKeyDictionary[_Handle, Any] = weakref.WeakKeyDictionary()
        self.clones: weakref.WeakKeyDictionary[_Handle, Any] = weakref.WeakKeyDictionary()
        self.by_version: dict[Version | None, set[object]] = {}

    def pack(self, tensor: Tensor) -> _Handle:
        """A handle for the tensor as it is now."""
        version = Version.of(tensor)
        key = (id(version), version.number, tensor.data_ptr(), tuple(tensor.shape), tensor.stride())
        self.by_version.setdefault(version, set()).add(key)
        handle = self.handles.get(key)
        if handle is None:
            handle = self.handles[key] = _Handle()
            self.originals[handle] = tensor.detach() if tensor._node is None or tensor.is_leaf else tensor
        return handle

    def unpack(self, handle: _Handle) -> Any:
        """The tensor as it was saved."""
        found = self.clones.get(handle)
        found = self.originals.get(handle) if found is None else found
        if _allowing.context is not self or found is None:
            raise AssertionError("Trying to backward outside of the 'allow_mutation_on_saved_tensors' contextin which the graph was "
                                 "originally recorded.")
        return found

    def before_change(self, target: Tensor) -> None:
        """Copies what was saved of the memory that is about to change."""
        for key in self.by_version.get(target._v, ()):
            handle = self.handles.get(key)
            if handle is not None and handle not in self.clones:
                self.clones[handle] = self.originals.pop(handle).clone()


class _Allowing(threading.local):
    context: _Mutations | None = None


_allowing = _Allowing()


class _CopyBeforeChange(Interceptor):
    place, frontend = "mutation", frontend
    all_functions = False

    def concerns(self, door: Door) -> bool:
        return not door.irregular

    def __call__(self, call: Call) -> Any:
        context, out = _allowing.context, call.out
        if context is not None and (call.inplace or out is not None):
            for target in (call.args[0],) if call.inplace else out if isinstance(out, (tuple, list)) else (out,):
                context.before_change(target)
        return NotImplemented


_COPYING = _CopyBeforeChange()


@contextlib.contextmanager
def allow_mutation_on_saved_tensors() -> Iterator[_Mutations]:
    """Inside, tensors saved for backward may be changed in place: they are copied just before. Backward must run inside, too.

    >>> import torchcompat as torch
    >>> with torch.autograd.graph.allow_mutation_on_saved_tensors():
    ...     a = torch.ones(2, requires_grad=True) * 1
    ...     a.retain_grad()
    ...     b = (a * a).sum()
    ...     _ = a.detach().zero_()
    ...     b.backward()
    >>> a.grad
    tensor([2., 2.])
    """
    if _allowing.context is not None:
        raise RuntimeError("allow_mutation_on_saved_tensors contexts cannot be nested")
    context = _Mutations()
    with saved_tensors_hooks(context.pack, context.unpack):
        _allowing.context = context
        listen(_COPYING)
        try:
            yield context
        finally:
            unlisten(_COPYING)
            _allowing.context = None
            context.clear()


# -- several gradients at once --------------------------------------------------------------------------------------


class _MultiHandle(RemovableHandle):
    """Removes several hooks."""

    def __init__(self, handles: tuple[RemovableHandle, ...]) -> None:
        self.handles = handles

    def remove(self) -> None:
        """Takes all of them away."""
        for handle in self.handles:
            handle.remove()


def will_execute(engine: Engine, tensor: Tensor) -> bool:
    """Whether the running pass computes the gradient of `tensor`."""
    edge = edge_of(tensor)
    target = edge.entry if edge is not None and edge._tag == 2 else edge
    if engine.capture is None:
        return engine.reaches(target)
    return target in (engine.needed or ()) or target in engine.wanted


def register_multi_grad_hook(tensors: Sequence[Any], fn: Callable[..., Any], *, mode: str = "all") -> RemovableHandle:
    """`fn(gradients)` runs once all gradients that a backward pass computes of `tensors` are there, with None for the others; with mode
    "any", `fn(gradient)` at the first of them."""
    if mode not in ("all", "any"):
        raise ValueError(f"Expects mode to be one of ('all', 'any') but got {mode}")
    lock = fork_safe_lock()
    if mode == "any":
        seen: weakref.WeakSet[Engine] = weakref.WeakSet()

        @functools.wraps(fn)
        def first(grad: object) -> None:
            engine = current_engine()
            assert engine is not None, "expected this hook to be called inside a backward call"
            with lock:
                ran = engine in seen
                seen.add(engine)
            if not ran:
                fn(grad)

        return _MultiHandle(tuple(t.register_hook(first) for t in tensors if t.requires_grad))
    passes: weakref.WeakKeyDictionary[Engine, list[Any]] = weakref.WeakKeyDictionary()

    def collect(position: int) -> Callable[[Any], None]:
        def hook(grad: Any) -> None:
            engine = current_engine()
            assert engine is not None, "expected this hook to be called inside a backward call"
            with lock:
                found = passes.get(engine)
                if found is None:
                    found = passes[engine] = [sum(will_execute(engine, t) for t in tensors), [None] * len(tensors)]
                found[0] -= 1
                found[1][position] = grad
            if not found[0]:
                del passes[engine]
                fn(found[1])

        return hook

    return _MultiHandle(tuple(t.register_hook(collect(i)) for i, t in enumerate(tensors)))


_absences(__name__)
