"""The backward pass.

The engine keeps the gradients that have arrived so far in a heap ordered by entry id. Ids grow along the graph, so whatever
the heap gives next has received all its contributions: no sort of the graph beforehand, no recursion, and a chain of a
million operations is as good as one of ten. Gradients are plain buffers, unless `create_graph` asks for tensors whose own
history is recorded.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable, Iterable, Sequence
from heapq import heappop, heappush
from typing import TYPE_CHECKING, Any

import numpy as np

from .annotations import Fn, Functions, Keywords, Values
from . import ownership
from .dtypes import SCALAR_TYPE_NAMES, added
from .executors.kernels._on_demand import is_half
from .executors.kernels.pairs import halved
from .functions.nodes import on_tensors
from .errors import ArgumentError, AutogradError, DTypeError, NoGradError, ShapeMismatchError
from .locks import cached_property
from .modes import GradMode, _mode, _running, grad_mode
from .node import Edge, WATCHED, Hooks, OutputEdge, TapeEntry, edge_of
from .ops._host import data_of
from .tensor import BUFFERS, LEAF, LEAF_CLASSES, NOTHING, TensorRef, above, foreign

if TYPE_CHECKING:
    from .nodes import MulBackward0

_getrefcount = ownership.count
_alone: Any = ownership.NEVER  # the references that `hand_over` counts of a gradient nobody else holds; measured below
_ndarray = np.ndarray

_NOTHING: Keywords = {}

ON_TENSORS: set[type] = set()
"""The classes of buffers that executors do not compute with, but the front end: there entries use the formulas that work on tensors."""
ODD: set[type] = {type(None), list}
"""The classes of what arrives at entries and may be none for `raw`: nothing, the gradients of several outputs, and those in ON_TENSORS."""


def only_on_tensors(cls: type) -> None:
    """From now on there are buffers of a class that executors do not compute with."""
    BUFFERS.add(cls)
    ON_TENSORS.add(cls)
    ODD.add(cls)


_tasks = itertools.count()

observers: list[Fn] = []
"""Who looks at each entry's computation: called with (entry, cotangent, a function that computes the gradients), the last one outermost."""


def _observer() -> Fn | None:
    watch = None
    for each in observers:
        watch = each if watch is None else _around(each, watch)
    return watch


def _around(outer: Any, inner: Any) -> Any:
    return lambda entry, grad, compute: outer(entry, grad, lambda: inner(entry, grad, compute))


class _Pass:
    """The plain pass: nobody looks on, and every leaf wants its gradient."""

    # Set on an instance only where they are used: making an engine is a tenth of a small pass.
    create_graph: bool = False
    retain_graph: bool = False
    names_inputs: bool = False  # whether gradients were asked for by tensor, even if all leaves are among these
    accumulate: Callable[[Any, Any, bool], None] | None = None
    callbacks: list[Callable[[], Any]] | None = None  # called when the pass is finished
    F: Functions

    @cached_property
    def task(self) -> int:
        """A number for this pass."""
        return next(_tasks)

    def when_finished(self, callback: Callable[[], Any]) -> None:
        """Has `callback` called at the end of the pass."""
        if self.callbacks is None:
            self.callbacks = []
        self.callbacks.append(callback)

    def _run(self, roots: Sequence[tuple[Any, Any]]) -> None:
        create_graph, retain, F, leaf_classes, odd = self.create_graph, self.retain_graph, self.F, LEAF_CLASSES, ODD
        pending: dict[int, list[Any]] = {}  # entry id -> [entry, gradient(s), whether the buffer is ours]
        heap: list[int] = []                # the ids in `pending`, negated
        leaves: dict[int, list[Any]] = {}   # the same of leaves, by their number as objects: their classes hash in Python
        for edge, grad in roots:
            if edge is None:
                continue
            if edge._tag == 0 and edge.id not in pending:
                pending[edge.id] = [edge, grad, False]
                heappush(heap, -edge.id)
            else:
                self._arrive(edge, grad, pending, heap, leaves)
        grad = None
        while heap:
            entry, grad, _ = pending.pop(-heappop(heap))
            if grad.__class__ in odd:
                grads = self._differentiate(entry, grad)
            else:
                grads = entry.recorded(grad, F) if create_graph else entry.raw(grad, F)
            grad = None
            if not retain and entry.saved and entry.frees:
                entry.saved = None
            edges = entry.edges
            if grads.__class__ is not list or len(grads) != len(edges):
                grads = _gradients(entry, grads)
            i = 0
            for edge in edges:
                g = grads[i]
                grads[i] = None  # so that the reference count tells whether anybody else holds the buffer
                i += 1
                if edge is None:
                    continue
                if g is None or edge.__class__ is OutputEdge:
                    self._arrive(edge, g, pending, heap, leaves)
                elif edge.__class__ in leaf_classes:
                    nr = id(edge)
                    slot = leaves.get(nr)
                    if slot is None:
                        leaves[nr] = [edge, g, False]
                    else:
                        self._add(slot, g)
                else:
                    nr = edge.id
                    slot = pending.get(nr)
                    if slot is None:
                        pending[nr] = [edge, g, False]
                        heappush(heap, -nr)
                    else:
                        self._add(slot, g)
        g = grads = slot = None
        self.hand_over(leaves)

    def _differentiate(self, entry: TapeEntry, grad: Any) -> Any:
        """The gradients of an entry's inputs; none of them where nothing arrived and its rule does not ask to see that."""
        if not entry.takes_undefined and (grad is None or isinstance(grad, list) and all([g is None for g in grad])):
            return [None] * len(entry.edges)
        if self.create_graph:
            return entry.recorded(grad, self.F)
        if ON_TENSORS and not ON_TENSORS.isdisjoint(map(type, grad if isinstance(grad, list) else (grad,))):
            return on_tensors(entry, grad)
        return entry.raw(grad, self.F)

    def _arrive(self, edge: Any, g: Any, pending: dict[int, list[Any]], heap: list[int], leaves: dict[int, list[Any]]) -> None:
        """A gradient, or None, has come along `edge`."""
        tag = edge._tag
        if tag == 1:
            slot = leaves.get(id(edge))
            if slot is None:
                leaves[id(edge)] = [edge, g, False]
            elif g is not None:
                self._add(slot, g)
            return
        entry = edge.entry if tag == 2 else edge
        slot = pending.get(entry.id)
        if slot is None:
            pending[entry.id] = slot = [entry, None, False]
            heappush(heap, -entry.id)
            if tag == 2:
                slot[1] = [None] * entry.n_outputs
        if g is None:
            return
        if tag == 2:
            held = slot[1][edge.nr]
            slot[1][edge.nr] = g if held is None else added(held, g)
        else:
            self._add(slot, g)

    def _add(self, slot: list[Any], g: np.ndarray) -> None:
        """Adds a gradient to one that is there; in place once the sum is a buffer of our own."""
        have = slot[1]
        if have is None:
            slot[1] = g
        elif self.create_graph:
            slot[1] = have + g
        elif have.itemsize == 2 and have.__class__ is _ndarray and is_half(have.dtype) and have.dtype is g.dtype and have.shape == g.shape:
            total = halved(np.add, have, g)
            slot[1], slot[2] = total, total.__class__ is _ndarray
        elif slot[2] and have.dtype is g.dtype and have.shape == g.shape and have.dtype.isbuiltin:
            np.add(have, g, out=have)
        else:
            total = added(have, g)
            slot[1], slot[2] = total, total.__class__ is _ndarray

    def hand_over(self, leaves: dict[int, list[Any]]) -> None:
        """Gives each leaf its gradient, saying whether anybody else holds it; there are [leaf, gradient, whether the buffer is ours]."""
        raise NotImplementedError


def _gradients(entry: TapeEntry, grads: Any) -> list[Any]:
    """What a rule returned, as a list that nobody else has; AutogradError where it is not one gradient for each input."""
    if len(grads) != len(entry.edges):
        raise AutogradError(f"{type(entry).__name__} returned an incorrect number of gradients (expected {len(entry.edges)}, got "
                            f"{len(grads)})",
                            remedy="return one gradient per input, None where there is none")
    return list(grads) if grads.__class__ is tuple else grads


def _entries_behind(edges: Iterable[Any]) -> dict[TapeEntry, None]:
    """The entries that gradients can reach along `edges`."""
    found: dict[TapeEntry, None] = {}
    stack = [edge for edge in edges if edge is not None and edge._tag != 1]
    while stack:
        edge = stack.pop()
        entry = edge.entry if edge._tag == 2 else edge
        if entry not in found:
            found[entry] = None
            stack += [e for e in entry.edges if e is not None and e._tag != 1]
    return found


class Engine(_Pass):
    """One backward pass, where hooks may want to see gradients, where only some are asked for, or where somebody observes it.

    Args:
        F: the executor's operations on buffers, or the front end where `create_graph`.
        create_graph: gradients are tensors, and what is done with them is recorded where grad mode is on.
        retain_graph: saved tensors are kept.
        accumulate: called with (leaf, gradient, whether nobody else holds the gradient) for each leaf reached, once, with the sum.
        capture: entries or (entry, output nr), or leaves, whose gradients are wanted; only what leads to them is computed.
        wrap: makes a tensor of a buffer, for hooks.
    """

    wrap: Callable[[Any], Any] | None = None
    observe: Fn | None = None
    capture: dict[Any, None] | None = None
    captured: dict[Any, Any] = _NOTHING
    wanted: dict[Any, list[Any]] = _NOTHING   # captured entry -> its keys in `capture`
    needed: set[Any] | None = None
    entry: TapeEntry | None = None            # the entry being worked on, where entries are watched
    runs_captured: bool = False               # whether captured entries are carried out although nothing behind them is asked for
    _reached: set[object] | None = None

    def __init__(self, F: Functions, *, create_graph: bool = False, retain_graph: bool = False,
                 accumulate: Callable[[Any, Any, bool], None] | None = None, capture: Iterable[Any] | None = None,
                 wrap: Callable[[Any], Any] | None = None) -> None:
        self.F, self.accumulate, self.wrap = F, accumulate, wrap
        if create_graph:
            self.create_graph = True
        if retain_graph:
            self.retain_graph = True
        if observers:
            self.observe = _observer()
        if capture is not None:
            self.capture = dict.fromkeys(capture)
            self.captured, self.wanted = {}, {}
            for key in self.capture:
                if isinstance(key, tuple):
                    self.wanted.setdefault(key[0], []).append(key)

    def run(self, roots: Sequence[tuple[object, object]]) -> None:
        """Carries gradients from `roots`, pairs of (edge, gradient), to the leaves."""
        before = _running.engines
        _running.engines = (*before, self) if before else (self,)
        self._roots = roots
        try:
            if WATCHED or self.capture is not None or self.observe is not None:  # entries may have hooks
                self._run_watched(roots)
            else:
                self._run(roots)
            while self.callbacks:
                self.callbacks.pop(0)()
        finally:
            _running.engines = before

    def _run_watched(self, roots: Sequence[tuple[Any, Any]]) -> None:
        pending: dict[int, list[Any]] = {}
        heap: list[int] = []
        leaves: dict[int, list[Any]] = {}
        waiting: dict[Any, int] = {}  # a leaf is finished as soon as its last contribution is there, which is when torch calls its hooks
        if self.capture is not None:
            self.needed = self._needed([edge for edge, _ in roots])
            if WATCHED and len(roots) == 1:
                self._look_at_root(*roots[0])
        else:
            waiting = self._leaf_uses(roots)
        for edge, grad in roots:
            if edge is not None:
                if self.needs(edge):
                    self._arrive(edge, grad, pending, heap, leaves)
                if edge in waiting:
                    self._leaf_done(edge, waiting, leaves)
        grad = None
        while heap:
            entry, grad, _ = pending.pop(-heappop(heap))
            grads = self._step(entry, grad)
            grad = None
            if grads is None:
                continue
            if not self.retain_graph and entry.saved and entry.frees:
                entry.saved = None
            grads = _gradients(entry, grads)
            for i, edge in enumerate(entry.edges):
                g = grads[i]
                grads[i] = None  # so that the reference count tells whether anybody else holds the buffer
                if edge is not None:
                    if self.needs(edge):
                        self._arrive(edge, g, pending, heap, leaves)
                    g = None
                    if edge in waiting:
                        self._leaf_done(edge, waiting, leaves)
        g = grads = None
        if self.capture is None:
            self.hand_over(leaves)
        else:
            self.captured |= {leaf: self._leaf_hooks(leaf, g) for leaf, g, _ in leaves.values() if leaf in self.capture}

    def _step(self, entry: TapeEntry, grad: Any) -> Any:
        """One entry, where somebody may be looking: hooks, captures, undefined gradients. None where nothing goes further."""
        hooks, arrived = entry.hooks, grad
        self.entry = entry
        if hooks is not None:
            grad = self._before_tensor(entry, grad)
        if self.capture is not None:
            for key in self.wanted.get(entry, ()):
                # Where the pass goes on, what is captured is what arrived; else what hooks made of it.
                g = arrived if entry in self.needed else grad  # type: ignore[operator]  # made before this runs
                self.captured[key] = g[key[1]] if entry.n_outputs > 1 or isinstance(g, list) else g
            if entry not in self.needed:  # type: ignore[operator]  # made before this runs
                if hooks is not None and self.accumulate is not None:  # a pass that accumulates runs the node, without gradients
                    self._after(entry, [None] * len(entry.edges), self._before_entry(entry, grad))
                return None
        if hooks is not None and hooks.pre:
            grad = self._before_entry(entry, grad)
        if self.observe is None:
            grads = self._differentiate(entry, grad)
        else:
            grads = self.observe(entry, grad, lambda: self._differentiate(entry, grad))
        if hooks is not None and hooks.post:
            if self.needed is not None:  # hooks see the gradients that were asked for
                grads = [g if self._leads_to(edge, self.needed) else None for g, edge in zip(grads, entry.edges)]
            grads = self._after(entry, grads, grad)
        self.entry = None
        return grads

    def needs(self, edge: Edge) -> bool:
        """Whether this pass asks for gradients that come through `edge`."""
        target = edge.entry if edge._tag == 2 else edge
        return self.needed is None or target in self.needed or target in self.wanted

    def reaches(self, target: TensorRef | MulBackward0) -> bool:
        """Whether an entry or leaf lies behind the roots."""
        if self._reached is None:
            self._reached = {*self._leaf_uses(self._roots), *_entries_behind([edge for edge, _ in self._roots])}
        return target in self._reached

    def _leaf_uses(self, roots: Sequence[tuple[Any, Any]]) -> dict[Any, int]:
        """How many contributions each leaf behind `roots` will get."""
        uses: dict[Any, int] = {}
        edges = [edge for edge, _ in roots]
        for edge in itertools.chain(edges, *[entry.edges for entry in _entries_behind(edges)]):
            if edge is not None and edge._tag == 1:
                uses[edge] = uses.get(edge, 0) + 1
        return uses

    def _leaf_done(self, leaf: Any, waiting: dict[TensorRef, int], leaves: dict[int, list[Any]]) -> None:
        """Counts a contribution; finishes the leaf with the last one."""
        waiting[leaf] -= 1
        if not waiting[leaf] and id(leaf) in leaves:
            self.hand_over({id(leaf): leaves.pop(id(leaf))})

    # -- hooks ----------------------------------------------------------------------------------------------------

    def _tensor(self, g: Any) -> Any:
        return g if self.create_graph or g is None or self.wrap is None else self.wrap(g)

    def _buffer(self, g: TensorRef | None) -> Values | None:
        return g if self.create_graph or not isinstance(g, TensorRef) else data_of(g)

    def _before_tensor(self, entry: TapeEntry, grad: Any) -> Any:
        """Hooks of the entry's output tensors."""
        hooks: Hooks = entry.hooks
        if not hooks.tensor_pre and not hooks.retain:
            return grad
        grads = [self._tensor(g) for g in (grad if isinstance(grad, list) else [grad])]
        for nr, table in hooks.tensor_pre.items():
            for hook in list(table.values()):
                result = hook(grads[nr])
                if result is not None:
                    grads[nr] = replaced(grads[nr], result, hook)
        for nr, keep in hooks.retain.items():
            if grads[nr] is not None:
                keep(grads[nr])
        out = [self._buffer(g) for g in grads]
        return out if isinstance(grad, list) else out[0]

    def _look_at_root(self, edge: Edge, grad: Values) -> None:
        """Hooks of a lone root run even where nothing that is asked for lies behind it, as in torch."""
        if edge._tag == 1:
            if edge not in self.needed:  # type: ignore[operator]
                self._leaf_hooks(edge, grad)
            return
        entry = edge.entry if edge._tag == 2 else edge
        if entry.hooks is not None and entry not in self.needed and entry not in self.wanted:  # type: ignore[operator]
            self._before_tensor(entry, grad if edge._tag == 0 else [grad if n == edge.nr else None for n in range(entry.n_outputs)])

    def _before_entry(self, entry: TapeEntry, grad: Any) -> Any:
        """The entry's own hooks, before it."""
        grads = tuple(self._tensor(g) for g in (grad if isinstance(grad, list) else [grad]))
        for hook in list(entry.hooks.pre.values()):
            result = hook(grads)
            if result is not None:
                grads = all_replaced(grads, result, hook)
        out = [self._buffer(g) for g in grads]
        return out if isinstance(grad, list) else out[0]

    def _after(self, entry: TapeEntry, grads: Sequence[object], grad: Any) -> Sequence[Any]:
        """The entry's own hooks, after it."""
        inputs = tuple(self._tensor(g) for g in grads)
        outputs = tuple(self._tensor(g) for g in (grad if isinstance(grad, list) else [grad]))
        for hook in list(entry.hooks.post.values()):
            result = hook(inputs, outputs)
            if result is not None:
                inputs = all_replaced(inputs, result, hook)
        return [self._buffer(g) for g in inputs]

    # -- only what is asked for -----------------------------------------------------------------------------------

    def _needed(self, roots: Sequence[object]) -> set[Any]:
        """The entries that lead to a captured one, and captured leaves."""
        assert self.capture is not None
        wanted_leaves = {c for c in self.capture if not isinstance(c, tuple) and c._tag == 1}
        needed: set[Any] = set(wanted_leaves)
        for entry in sorted(_entries_behind(roots), key=lambda e: e.id):
            if self.runs_captured and entry in self.wanted or any([self._leads_to(edge, needed) for edge in entry.edges]):
                needed.add(entry)
        return needed

    def _leads_to(self, edge: Edge | None, needed: set[Any]) -> bool:
        """Whether anything that is asked for lies behind an edge."""
        target = edge.entry if edge is not None and edge._tag == 2 else edge
        return target in needed or target in self.wanted

    def hand_over(self, leaves: dict[int, list[Any]]) -> None:
        """Gives each leaf its gradient, saying whether anybody else holds it. (The hooks of captured ones have run.)"""
        accumulate = self.accumulate
        if accumulate is None:
            return
        for nr in [*leaves]:
            leaf, g, owned = leaves.pop(nr)
            if WATCHED and self.capture is None and getattr(leaf, "_info", NOTHING) is not NOTHING:
                g, owned = self._leaf_hooks(leaf, g), False  # hooks may keep what they see, and give what they keep
            if g is not None:
                accumulate(leaf, g, owned or _getrefcount(g) <= _alone)
            if WATCHED and (self.capture is None or self.runs_captured):
                self.leaf_accumulated(leaf, g)

    def leaf_accumulated(self, leaf: TensorRef, g: Any) -> None:
        """Hooks of a leaf's node, after its gradient was accumulated."""
        node = getattr(leaf, "_info", NOTHING).node_hooks
        if node is not None:
            for hook in list(node.post.values()):
                hook((), (self._tensor(g),))

    def _leaf_hooks(self, leaf: TensorRef, g: Any) -> Any:
        info = getattr(leaf, "_info", NOTHING)
        for hook in list((info.hooks or {}).values()):
            given = self._tensor(g)
            result = hook(given)
            if result is not None:
                g = self._buffer(replaced(given, result, hook))
        node = info.node_hooks
        for hook in list(node.pre.values()) if node is not None and self.accumulate is not None else ():
            given = (self._tensor(g),)
            result = hook(given)
            if result is not None:
                g = self._buffer(all_replaced(given, result, hook)[0])
        return g



def replaced(given: Any, result: Any, hook: Fn) -> TensorRef:
    """What a hook returned for the gradient it was given; an error where it is no gradient of the same kind."""
    if given is None:
        raise AutogradError("can't replace a None gradient with a non-None value", expected="None", found=type(result).__name__,
                            remedy="return None from the hook")
    if not isinstance(result, TensorRef):
        raise ArgumentError(f"expected Variable, but hook returned '{type(result).__name__}'", expected="a tensor or None",
                            found=type(result).__name__, remedy="return a tensor of the gradient's shape and dtype, or None")
    name = getattr(hook, "__name__", "<unknown>")
    if result._k.dtype is not given._k.dtype:
        was, got = (f"torch.{SCALAR_TYPE_NAMES[t._k.dtype.name]}Tensor" for t in (given, result))
        raise AutogradError(f"hook '{name}' has changed the type of value (was {was} got {got})", expected=was, found=got,
                            remedy="return a gradient of the same dtype")
    if result._data.shape != given._data.shape:
        raise AutogradError(f"hook '{name}' has changed the size of value", expected=str(given._data.shape), found=str(result._data.shape),
                            remedy="return a gradient of the same shape")
    return result


def all_replaced(given: tuple[object, ...], result: Sequence[TensorRef | None], hook: Fn) -> tuple[TensorRef | None, ...]:
    """What a hook of an entry returned for the gradients it was given."""
    if not isinstance(result, tuple):
        if len(given) == 1 and isinstance(result, TensorRef):
            result = (result,)
        else:
            raise ArgumentError(f"expected tuple, but hook returned '{type(result).__name__}'", expected="a tuple or None",
                                found=type(result).__name__, remedy="return one gradient per position in a tuple")
    if len(result) != len(given):
        name = getattr(hook, "__name__", "<unknown>")
        raise AutogradError(f"hook '{name}' has returned an incorrect number of values (got {len(result)}, but expected {len(given)})",
                            expected=str(len(given)), found=str(len(result)), remedy="return one gradient per position, None where there "
                                                                                     "is none")
    return tuple(r if r is None else replaced(g, r, hook) for g, r in zip(given, result))


def cotangent_of(output: TensorRef, given: Any, create_graph: bool, F: Functions) -> Any:
    """The cotangent of an output: what was given, of its shape and dtype; one for a scalar where nothing was."""
    if given is None:
        if (output._data.size if output._data is not None else int(np.prod(output.shape))) != 1:
            raise NoGradError("grad can be implicitly created only for scalar outputs", expected="an output with one element",
                              found=f"shape {tuple(output.shape)}", remedy="reduce it to a scalar, or pass grad_outputs")
        data = np.empty(output.shape, output._k.np)
        data.fill(1)
    else:
        data = given._data if isinstance(given, TensorRef) else given if given.__class__ in BUFFERS else np.asarray(given)
        if data.shape != tuple(output.shape):
            raise ShapeMismatchError("A grad_output has another shape than its output", expected=str(tuple(output.shape)),
                                     found=str(data.shape), remedy="pass a cotangent of the output's shape")
        if data.__class__ not in ON_TENSORS and data.dtype.kind == "c" and output._k.np.kind != "c":
            raise DTypeError("A grad_output is complex, and its output is not", expected=output._k.dtype.name, found=str(data.dtype),
                             remedy="pass its real part")
        if create_graph and isinstance(given, TensorRef):
            return given
        # A recorded pass may save it, and the caller may change theirs.
        data = data.astype(output._k.np, copy=create_graph)
    buffer = output._data
    if buffer.__class__ is not _ndarray and foreign(buffer) and data.__class__ is _ndarray:  # a call less where it is an array
        data = buffer.beside(data)
    return F.wrap(data) if create_graph else data


def gradients(outputs: Sequence[TensorRef], cotangents: Sequence[Any], inputs: Sequence[TensorRef], F: Functions, *,
              create_graph: bool = False, retain_graph: bool = False, wrap: Callable[[Any], Any] | None = None) -> list[Any]:
    """Gradients of `outputs` with respect to `inputs`, in their order, through all that made the outputs, on whatever tape; None for an
    input that was not used.

    Args:
        cotangents: one per output, arrays or tensors of its shape.
        F: the executor's operations on buffers, or the front end where `create_graph`.
        retain_graph: what entries saved is kept.
        wrap: makes a tensor of a buffer, for hooks.
    """
    keys = [x if (e := x._node) is LEAF else (e.entry, e.nr) if e._tag == 2 else (e, 0) for x in inputs]
    roots = [(edge_of(o), cotangent_of(o, g, create_graph, F)) for o, g in zip(outputs, cotangents)]
    found: dict[Any, Any] = {}

    def keep(leaf: TensorRef, g: Any, owned: bool) -> None:
        found[leaf] = g if create_graph else given_out(leaf, g, owned)

    plain = ends_in([edge for edge, _ in roots], keys)
    engine = Engine(F, create_graph=create_graph, retain_graph=create_graph or retain_graph, capture=None if plain else keys, wrap=wrap,
                    accumulate=keep if plain else None)
    before = grad_mode()
    _mode.set(GradMode.ENABLED if create_graph else GradMode.DISABLED)
    try:
        engine.run(roots)
    finally:
        _mode.set(before)
    if not plain:
        for key, x in zip(keys, inputs):
            if engine.captured.get(key) is not None:
                keep(x, engine.captured[key], False)
    return [found.get(x) for x in inputs]


def given_out(leaf: TensorRef, g: np.ndarray, owned: bool) -> np.ndarray:
    """The gradient of a leaf as the caller of a pass gets it: memory that nobody else has. (What the pass made of several inputs may be
    one buffer.)"""
    if g.__class__ in ON_TENSORS:
        return leaf._front_end.wrap(g)
    if g.__class__ is not _ndarray and foreign(g):
        g = above.sharded.accumulated_buffer(g if owned else g.copy(), leaf)
    return g if isinstance(g, TensorRef) else np.array(g, leaf._k.np, copy=not owned or g.base is not None or not g.flags.writeable)


def ends_in(edges: Iterable[Any], ends: Iterable[Any]) -> bool:
    """Whether a plain pass from some edges gives the gradients of `ends`: nobody looks on, these are leaves, and all leaves behind the
    edges are among them, so that no gradient is computed in vain."""
    if WATCHED or observers:
        return False
    seen = {id(None)}  # numbers of what lives in the graph: tensors are hashed by Python
    for end in ends:
        if end.__class__ not in LEAF_CLASSES:
            return False
        seen.add(id(end))
    found = list(edges)  # grows as it is gone through
    for edge in found:
        nr = id(edge)
        if nr not in seen:
            seen.add(nr)
            if edge._tag == 1:
                return False
            found += (edge.entry if edge._tag == 2 else edge).edges
    return True


_alone = ownership.calibrated(sys.modules[__name__])
