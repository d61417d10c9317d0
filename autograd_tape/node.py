"""The nodes of the graph: entries, leaves' nodes, edges, and the hooks on them.

An entry *is* the graph node. An output tensor holds its entry (`_node`); an entry holds the entries, or the leaf tensors,
of its inputs (`edges`).
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from typing import Any, Literal, TypeAlias

import numpy as np

from .annotations import Fn, Functions, Keywords, Values
from .errors import AutogradError, NoGradError
from .modes import settle_tapes, unsettled
from .tensor import LEAF, TapeId, TensorRef, above, info_of, next_id

GradFn = Callable[[Any, Sequence[Any]], Sequence[Any]]
"""`grad_fn(grad_output, saved_tensors) -> gradients with respect to each input` (None where there is none)."""


class TapeEntry:
    """One recorded operation. Each compiled operation has a subclass of its own (`MulBackward0`), whose methods `raw`
    and `recorded` turn the cotangent of the output into those of the inputs, on buffers and on tensors."""

    # id     from the counter
    # edges  per differentiable input: None, an entry, an OutputEdge, or a leaf tensor
    # saved  what the gradient needs, or None once freed
    # meta   per edge what its gradient must be fitted to, (shape, dtype); None where all have the output's
    __slots__ = ("id", "edges", "saved", "meta", "__dict__", "__weakref__")
    _tag: Literal[0] = 0  # 0: an entry, 1: a leaf tensor, 2: one output of an entry
    n_outputs = 1
    takes_undefined = False  # whether it wants to be called where all its outputs' gradients are undefined
    forbids: str | None = None  # why nothing may be computed from its output any more
    saved_getters: Any = ()  # what gets the tensors that it saved, inputs in their order, then outputs
    saved_slots: Any = ()    # where these stand: what they are, and from which place in `saved`
    blank = False            # whether it stands for no history: that of a view made without recording
    frees = True             # whether it saves tensors, which a backward pass frees; numbers and shapes are kept
    by_hand = False         # whether it was recorded by hand (a ManualEntry), and keeps what its output is computed from
    op: Any = None
    front_end: Any = None    # the front end made last: in whose tensors nodes show what they saved
    # Set on an instance only when used:
    hooks: Any = None          # functions that see or replace the gradients, see Hooks
    refs: Any = None           # (inputs, outputs, arguments) where an explicit tape keeps them alive
    holders: int = 0           # explicit tapes that keep it
    value_ids: Any = None      # (ids of the inputs, ids of the outputs) then

    id: TapeId
    edges: tuple[Edge | None, ...]
    saved: Any
    meta: Any

    def raw(self, grad: Any, F: Functions) -> Sequence[Any]:
        """Cotangents of the inputs, on buffers."""
        raise NotImplementedError

    def recorded(self, grad: Any, F: Functions) -> Sequence[Any]:
        """Cotangents of the inputs, on tensors, recording what it does."""
        raise NotImplementedError

    @property
    def op_name(self) -> str:
        """The operation's name."""
        return self.op if isinstance(self.op, str) else self.op.name if self.op is not None else type(self).__name__

    @property
    def inputs(self) -> tuple[Any, ...]:
        """The input tensors where a tape keeps them; else leaves, and entries in the place of intermediate tensors."""
        refs = self._kept()
        if refs is not None:
            return tuple(refs[0])
        return tuple(e.entry if e is not None and e._tag == 2 else e for e in self.edges)

    @property
    def output(self) -> Any:
        """The output tensor, where a tape keeps it."""
        refs = self._kept()
        return refs[1][0] if refs is not None and refs[1] else None

    def _kept(self) -> Any:
        """(inputs, outputs, arguments) where a tape keeps them."""
        if self.refs is None and unsettled:
            settle_tapes()
        return self.refs

    @property
    def saved_tensors(self) -> tuple[TensorRef, ...]:
        """The tensors saved for backward. Nodes of torch's that no tape keeps have them under their names alone, `_saved_...`: by this one
        its programs know custom functions."""
        if not (self.holders or self.by_hand or self.front_end.saved_tensors_of_all):
            raise AttributeError(f"'{type(self).__name__}' object has no attribute 'saved_tensors'")
        return self.tensors_saved()

    def tensors_saved(self) -> tuple[TensorRef, ...]:
        """The same, of any node."""
        if self.saved is None:
            return ()
        found: list[object] = []
        for get in self.saved_getters:
            value = get(self)
            found += value if isinstance(value, (tuple, list)) else [value]
        return tuple([s for s in found if isinstance(s, TensorRef)])

    @property
    def grad_fn(self) -> "GradFn":
        """The entry's gradient function: `grad_fn(grad_output, saved_tensors)`, with `saved_tensors` of this entry or others in their
        place, gives the gradients of the inputs, None where one wants none. Of an array it gives arrays; of a tensor, tensors whose
        computation is recorded."""
        return EntryGradFn(self)

    # As a node of a trace:

    @property
    def op_args(self) -> tuple[TensorRef, ...]:
        """The primals: the same as `inputs`."""
        return self.inputs

    @property
    def op_kwargs(self) -> Keywords:
        """The arguments of the call that are no tensors of its own, where a tape keeps them."""
        refs = self._kept()
        return dict(refs[2]) if refs is not None else {}

    def get_alive_outputs(self) -> tuple[TensorRef, ...]:
        """The outputs, where a tape keeps them."""
        refs = self._kept()
        return tuple(refs[1]) if refs is not None else ()

    # The graph as torch's programs look at it (torchviz and others):

    def name(self) -> str:
        """The node's name; of torch's that belong to no operation, with where they are."""
        found = type(self).__name__
        return f"torch::autograd::{found}" if found in ("NotImplemented", "Error") else found

    @property
    def next_functions(self) -> tuple[tuple[Any, int], ...]:
        """(node, output number) per differentiable input; a leaf is an `AccumulateGrad`, an input without gradient (None, 0)."""
        return tuple([(None, 0) if e is None or e.__class__ is NoGradView else (accumulate_node(e), 0) if e._tag == 1 else seen(e)
                      for e in self.edges])

    @property
    def metadata(self) -> Keywords:
        """A dictionary for whoever wants to note something on the node."""
        return self.__dict__.setdefault("_metadata", {})

    def _sequence_nr(self) -> int:
        return self.id

    def _hooks(self) -> Any:
        if "_part_of" in self.__dict__:  # of a view: from now on the pass goes through the view
            above.take_apart(self.__dict__.pop("_part_of")())
        if self.hooks is None:
            self.hooks = Hooks()
        return self.hooks

    def register_hook(self, fn: Fn) -> "RemovableHandle":
        """`fn(grad_inputs, grad_outputs)` runs after the node; what it returns replaces the gradients of the inputs."""
        return RemovableHandle.add(self._hooks().post, fn)

    def register_prehook(self, fn: Fn) -> "RemovableHandle":
        """`fn(grad_outputs)` runs before the node; what it returns replaces the gradients of the outputs."""
        return RemovableHandle.add(self._hooks().pre, fn)

    def __call__(self, *grads: Any) -> Any:
        """The gradients of the inputs, given those of the outputs: a tensor, or a tuple where there are several inputs."""
        if len(grads) != self.n_outputs:
            raise TypeError(f"expected {self.n_outputs} arguments, got {len(grads)} instead")
        for g in grads:
            if g is not None and not isinstance(g, TensorRef):
                raise TypeError(f"expected Variable or None (got {type(g).__name__})")
        if self.saved is None and self.frees:
            raise freed(self).as_builtin()
        results = tuple(self.recorded(grads[0] if self.n_outputs == 1 else list(grads), self.front_end))
        return results[0] if len(results) == 1 else results

    def __repr__(self) -> str:
        if self._kept() is None or not self.holders:  # torch's form; what it was computed from is not known
            return f"<{type(self).__name__} object at {hex(id(self))}>"
        text: str = above.show.entry_text(self)
        return text

    def _repr_html_(self) -> str:
        text: str = above.show.entry_html(self)
        return text

    def __reduce_ex__(self, protocol: object) -> tuple[object, ...]:
        raise TypeError(f"cannot pickle '{type(self).__name__}' object")


class EntryGradFn:
    """The gradient function of one entry: see `TapeEntry.grad_fn`.

    >>> from autograd_tape import Tape
    >>> import numpy as np
    >>> x = TensorRef.of([2.0, 3.0], requires_grad=True)
    >>> with Tape() as tape:
    ...     y = x * x
    >>> entry, = tape.entries
    >>> entry.grad_fn(np.ones(2), entry.saved_tensors)
    [array([2., 3.]), array([2., 3.])]
    """

    __slots__ = ("entry",)

    def __init__(self, entry: TapeEntry) -> None:
        self.entry = entry

    def __repr__(self) -> str:
        return f"<gradient function of '{self.entry.op_name}', entry {self.entry.id}>"

    def __call__(self, grad_output: Values | list[np.ndarray], saved_tensors: Sequence[object] | None = None) -> list[Values | None]:
        """The gradients of the inputs.

        Raises:
            NoGradError: what the entry saved was freed.
            ArgumentError: there are more or fewer saved tensors than the entry saves.
        """
        entry = self.entry
        if entry.saved is None and entry.frees:
            raise freed(entry)
        grads = list(grad_output) if isinstance(grad_output, (list, tuple)) else [grad_output]
        recorded = any([isinstance(g, TensorRef) for g in grads])
        if saved_tensors is not None:
            entry = above.entry_with(entry, list(saved_tensors), recorded)
        F = (grads[0]._front_end if isinstance(grads[0], TensorRef) else entry.front_end) if recorded else above.operations()
        made = [g if g is None or isinstance(g, TensorRef) else F.wrap(np.asarray(g)) if recorded else np.asarray(g) for g in grads]
        return list((entry.recorded if recorded else entry.raw)(made if entry.n_outputs > 1 else made[0], F))


class Folded(TapeEntry):
    """An entry that stands for several of torch's nodes, made of a record that says which (`unfold`, `decompose`, `seen_as`). To programs
    it looks like the last of them, and leads to the others, which are made when somebody looks: backward passes go through the entry
    itself, until somebody hooks one of the nodes. It looks like itself where an explicit tape keeps it, and once it was freed."""

    __slots__ = ()
    shows_input = False              # whether programs see what made its input in its place
    plain: Any = None                # the class itself, of one that was made of it for another name
    own_saved: dict[str, Any] = {}   # what it shows of what it saved where it looks like itself

    @property
    def next_functions(self) -> tuple[tuple[Any, int], ...]:
        """Those of the node that it looks like."""
        view = above.unfolded(self)
        return TapeEntry.next_functions.fget(self) if view is None else view[0].next_functions  # type: ignore[attr-defined]

    def __getattr__(self, name: str) -> Any:
        if name.startswith(("_saved_", "_raw_saved_")):
            view = above.unfolded(self)
            if view is not None:
                if self.saved is None and hasattr(view[0], name):
                    raise freed(self).as_builtin()
                return getattr(view[0], name)
            if name in self.own_saved:
                return self.own_saved[name].fget(self)
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def __dir__(self) -> list[str]:
        view = above.unfolded(self)
        return [*super().__dir__(), *(self.own_saved if view is None else [n for n in dir(view[0]) if "saved_" in n])]

    def register_hook(self, fn: Fn) -> "RemovableHandle":
        """As that of any node; what it gets are the gradients that the node has in torch."""
        above.take_apart(self)
        return TapeEntry.register_hook(self, fn)  # it may be of another class now


class PassedOn(TapeEntry):
    """What was an entry with several outputs, each of which has a node of its own now, in `edges`."""

    __slots__ = ()
    frees = False

    def raw(self, grad: Any, F: Functions) -> Sequence[Any]:
        """The gradients of the outputs are those of the nodes."""
        return list(grad)

    recorded = raw


def seen(edge: Any) -> tuple[Any, int]:
    """(node, output number) that programs see of an entry, or of one output of it."""
    entry, nr = (edge.entry, edge.nr) if edge._tag == 2 else (edge, 0)
    return above.seen(entry, nr) if isinstance(entry, (Folded, PassedOn)) else (entry, nr)


class AccumulateGrad(TapeEntry):
    """A leaf as a graph node: where its gradient arrives. Made when somebody looks; entries hold the leaf itself."""

    __slots__ = ("variable",)
    edges = ()
    saved = ()
    meta = None
    id = TapeId((1 << 63) - 1)

    def __init__(self, variable: TensorRef) -> None:
        self.variable = variable

    def name(self) -> str:
        """The node's name, as torch spells it."""
        return "torch::autograd::AccumulateGrad"

    def _hooks(self) -> Any:
        # The leaf keeps the hooks, since this node may come and go.
        hooks = super()._hooks()
        info_of(self.variable).node_hooks = hooks
        return hooks

    def raw(self, grad: Any, F: Functions) -> Sequence[Any]:
        """Nothing lies behind a leaf."""
        return ()

    recorded = raw


def accumulate_node(leaf: TensorRef) -> AccumulateGrad:
    """The `AccumulateGrad` of a leaf; the same object as long as somebody holds it, or has hooked it."""
    info = info_of(leaf)
    ref = info.accumulate_node
    node = None if ref is None else ref()
    if node is None:
        node = AccumulateGrad(leaf)
        node.hooks = info.node_hooks
        info.accumulate_node = weakref.ref(node)
    return node


class NoGradView(TapeEntry):
    """The history of a view that was made without recording, of a tensor that requires grad: so does the view, but no gradient goes
    through. Also that of a view that was made (while recording, `recorded_view`) before the tensor was told to require grad."""

    __slots__ = ("recorded_view",)
    edges = saved = ()
    meta = None
    frees = False
    blank = True

    def __init__(self, recorded_view: bool = False) -> None:
        self.id, self.recorded_view = next_id(), recorded_view

    def raw(self, grad: Any, F: Functions) -> Sequence[Any]:
        """Nothing lies behind it."""
        return ()

    recorded = raw


class RemovableHandle:
    """What a `register_..._hook` returns; `remove()` takes the hook away."""

    next_id = 0

    def __init__(self, hooks_dict: dict[int, Fn], *, extra_dict: object = None) -> None:
        self.id = RemovableHandle.next_id
        RemovableHandle.next_id += 1
        # Plain dicts take no weak references; those of entries and tensors live as long as their owner, which holds no handle.
        self._table: Callable[[], Any] = weakref.ref(hooks_dict) if hasattr(hooks_dict, "__weakref__") else lambda: hooks_dict

    @classmethod
    def add(cls, table: dict[int, Fn], hook: Fn) -> "RemovableHandle":
        """Puts `hook` into a table of hooks."""
        handle = cls(table)
        table[handle.id] = hook
        return handle

    def remove(self) -> None:
        """Takes the hook away; a second call does nothing."""
        table = self._table()
        if table is not None:
            table.pop(self.id, None)

    def __enter__(self) -> "RemovableHandle":
        return self

    def __exit__(self, *exc: object) -> None:
        self.remove()


class OutputEdge:
    """Output `nr` of an entry that has several."""

    __slots__ = ("entry", "nr")
    _tag: Literal[2] = 2
    blank = False

    def __init__(self, entry: TapeEntry, nr: int) -> None:
        self.entry, self.nr = entry, nr

    @property
    def id(self) -> int:
        # Entries with several outputs take one id per output from the counter, the last of them their own.
        return self.entry.id - self.entry.n_outputs + 1 + self.nr


Origin: TypeAlias = TapeEntry | OutputEdge
"""What made a tensor: an entry, or one output of an entry that has several."""
Edge: TypeAlias = Origin | TensorRef
"""Where a gradient goes: to what made a tensor, or to a leaf. `_tag` tells which of the three."""


def edge_of(x: TensorRef) -> Any:
    """What an entry holds of an input: None, the leaf itself, or the entry (output) that made it."""
    node = x._node
    return x if node is LEAF else node


def freed(entry: TapeEntry) -> AutogradError:
    """The error of a second backward pass through a freed graph."""
    return NoGradError(
        "Trying to backward through the graph a second time (or directly access saved tensors after they have already been freed). "
        "Saved intermediate values of the graph are freed when you call .backward() or autograd.grad(). Specify retain_graph=True "
        "if you need to backward through the graph a second time or if you need to access saved tensors after calling backward.",
        expected="entries that hold what they saved", found=f"one of '{entry.op_name}' that was freed",
        remedy="pass retain_graph=True to the pass before, or compute the output again")


WATCHED: list[bool] = []
"""Not empty from when the first entry had hooks; until then backward passes do not look for them."""


def watch_entries() -> None:
    """From now on backward passes look at each entry for hooks."""
    if not WATCHED:
        WATCHED.append(True)


class Hooks:
    """What somebody wants to see of an entry's gradients. Made only when a hook is registered."""

    __slots__ = ("tensor_pre", "pre", "post", "retain")

    def __init__(self) -> None:
        watch_entries()
        self.tensor_pre: dict[int, dict[int, Fn]] = {}  # per output
        self.pre: dict[int, Fn] = {}
        self.post: dict[int, Fn] = {}
        self.retain: dict[int, Fn] = {}  # per output: called with the gradient after all other hooks
