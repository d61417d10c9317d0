"""Entries recorded by hand, and operations of one's own, whose gradient functions the registry knows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .annotations import Arguments, Fn, Functions, Keywords, Values
from .calls import Call, Door, Interceptor, changed, listen, unlisten
from .dtypes import CPU, CPU_KINDS, FLOATING, dtype_of
from .errors import ArgumentError, AutogradError, MissingKernelError, NoGradFnError, ShapeMismatchError, type_name
from .executors import executor_for
from .frontend import front_end_of
from .held import Slot, hold, note_size, take_apart, tensors_in
from .lazy import array_of, evaluate
from .modes import GradMode, _ModeContext, active_tapes, aside, grad_mode, keep_on_tapes, recordings
from .node import GradFn, OutputEdge, TapeEntry, edge_of, freed
from .version import Version, number_of
from .ops import ALIASES, RECORDS
from .record import OPERATIONS
from .registry import RecordGradFn, has_grad_fn, on_registration, registered, required_grad_fn
from .saved import stale, unpack
from .tensor import TapeId, TensorRef, above, next_id
from .tree import children, leaves, rebuild, tree_map
from .views import IN_CUSTOM_FUNCTION, mark

if TYPE_CHECKING:
    from .frontend import Frontend
    from .record import Record


class ManualEntry(TapeEntry):
    """An entry recorded by hand, with a gradient function of the caller's, or the one registered for the operation's name."""

    __slots__ = ()
    by_hand = True
    grad_fn: Any = None  # the caller's
    versions: Any = None  # of the saved tensors when the output was computed; None before
    saved_getters = (lambda entry: [x for x in entry.saved if isinstance(x, TensorRef)],)
    tape: Any = staticmethod(lambda: None)  # gives the tape that it was recorded on, as long as that lives
    stands_for: int | None = None  # the id that the output had from the entry in whose place this one is

    def _prepared(self) -> tuple[RecordGradFn | Fn, tuple[TensorRef, ...]]:
        """The gradient function and what was saved for it."""
        if self.saved is None:
            raise freed(self)
        for tensor, version in zip(self.saved, self.versions or ()):
            if number_of(tensor) != version:
                raise stale(self, tensor, version)
        if self.grad_fn is None:
            self.grad_fn = required_grad_fn(self.op_name)
        return self.grad_fn, self.saved

    def computed(self) -> None:
        """The output has its value: what was saved must stay as it is."""
        self.versions = None if self.saved is None else tuple([number_of(s) for s in self.saved])

    def renewed(self) -> ManualEntry:
        """The entry that its output gets where that is to be computed anew."""
        entry = ManualEntry()
        entry.id, entry.edges, entry.saved, entry.meta = next_id(), self.edges, self.saved, self.meta
        entry.__dict__.update(self.__dict__, versions=None, holders=0)
        return entry

    def _cotangents(self, grad: Any, saved: list[Any], F: Functions) -> Sequence[Any]:
        grad_fn, inputs = self.grad_fn, self.refs[0]
        # A gradient function derived from a record can work on any executor; others do their own arithmetic.
        grads = grad_fn.apply(F, grad, saved, self.refs[2]) if isinstance(grad_fn, RecordGradFn) else grad_fn(grad, saved)
        if not isinstance(grads, (list, tuple)):
            raise ArgumentError(f"The gradient function of '{self.op_name}' must return a list",
                                expected=f"{len(inputs)} gradients in a list",
                                found=type(grads).__name__, remedy="return one gradient per input, None where there is none")
        if len(grads) != len(inputs):
            raise ShapeMismatchError(f"The gradient function of '{self.op_name}' returned {len(grads)} gradients for {len(inputs)} inputs",
                                     expected=str(len(inputs)), found=str(len(grads)),
                                     remedy="return one gradient per input, None where there is none")
        return [None if g is None or e is None else fit_cotangent(F, g, x, i, self.op_name)
                for i, (g, x, e) in enumerate(zip(grads, inputs, self.edges))]

    def raw(self, grad: Any, F: Functions) -> Sequence[Any]:
        """Calls the gradient function with the saved buffers, computing those that nobody has asked for yet."""
        _, saved = self._prepared()
        executor = getattr(F, "executor", None)
        return self._cotangents(grad, [s if not isinstance(s, TensorRef) else evaluate(s, executor) if s._data is None else array_of(s)
                                       for s in saved], F)

    def recorded(self, grad: Any, F: Functions) -> Sequence[Any]:
        """Calls the gradient function with the saved tensors, so that what it does is recorded."""
        _, saved = self._prepared()
        for s in saved:
            if isinstance(s, TensorRef):
                evaluate(s)
        return self._cotangents(grad, list(saved), F)


def fit_cotangent(F: Functions, grad: Any, primal: TensorRef, position: int, op: str) -> Values:
    """What a hand-written gradient function returned for one input, with the input's shape: summed over what broadcasting
    added; ShapeMismatchError where no broadcasting explains the difference."""
    shape = tuple(primal.shape)
    found = tuple(np.shape(grad)) if not isinstance(grad, TensorRef) else tuple(grad.shape)
    if found != shape:
        lead = len(found) - len(shape)
        if lead < 0 or any(n not in (1, m) for n, m in zip(shape, found[lead:])):
            raise ShapeMismatchError(f"The gradient of '{op}' with respect to input {position} has the wrong shape", expected=str(shape),
                                     found=str(found), remedy="return a gradient of the input's shape from the gradient function")
    if getattr(F, "executor", None) is None:  # a front end: gradients are tensors
        return F.fit(grad if isinstance(grad, TensorRef) else F.wrap(np.asarray(grad)), shape, primal._k.np)
    return F.fit(grad._data if isinstance(grad, TensorRef) else np.asarray(grad), shape, primal._k.np)


class Operation:
    """A new operation: `execute` computes it on arrays, `vjp_rule` gives its gradients.

    Subclass it, and call an instance. `vjp_rule(primals, cotangent, output)` returns one cotangent per primal (a single one may
    stand alone), None where there is none. It gets arrays on an ordinary backward pass and tensors where gradients of gradients
    are wanted; written with operators and methods that both have, or with `autograd_tape.F` on tensors, it serves both. What broadcasting
    added is summed away afterwards.

    Primals are tensors, arrays, numbers, None, and lists of tensors: a list has a list of cotangents. Several results, in a tuple or list,
    have several cotangents, in one of the same kind, zeros for results that nothing depends on. The keyword arguments of the call are
    passed on to both functions; tensors among them come as arrays (or tensors), and where one requires grad, the rule returns a dict of
    the cotangents of keyword arguments after those of the primals. Results are tensors of the kind that came in.

    Raises (when it is made):
        ArgumentError: there is an operation of this name already, in the package or alive.

    >>> class Cube(Operation):
    ...     def execute(self, x): return x ** 3
    ...     def vjp_rule(self, primals, cotangent, output): return 3 * primals[0] * primals[0] * cotangent
    >>> cube = Cube()
    >>> from autograd_tape import F, TensorRef, backward, grad
    >>> x = TensorRef.of([2.0], requires_grad=True)
    >>> (dx,) = grad(F.sum(cube(x)), [x], create_graph=True)
    >>> dx.numpy(), backward(F.sum(dx))[x]
    (array([12.]), array([12.]))
    """

    name = ""

    def __init__(self, name: str | None = None) -> None:
        if name is not None and (not isinstance(name, str) or not name):
            raise ArgumentError("An operation has a name", expected="a str", found=repr(name), remedy="leave it out for that of the class")
        self.name = name or type(self).name or type(self).__name__.lower()
        if self.name in RECORDS or self.name in ALIASES or self.name in OPERATIONS:
            raise ArgumentError(f"There is an operation '{self.name}' already", expected="a name of its own", found=self.name,
                                remedy=f"choose another name: {type(self).__name__}('another_name')")
        OPERATIONS[self.name] = self

    def __repr__(self) -> str:
        return f"<operation {self.name}>"

    def execute(self, *primals: object, **kwargs: object) -> Any:
        """The value, or values, on arrays."""
        raise MissingKernelError(f"The operation '{self.name}' computes nothing", expected="execute(self, *primals, **kwargs)",
                                 found="none", remedy=f"define it in {type(self).__name__}")

    def vjp_rule(self, primals: Sequence[object], cotangent: object, output: object, **kwargs: object) -> Any:
        """The cotangents of the primals from that of the output; `kwargs` are those of the call."""
        raise NoGradFnError(f"The operation '{self.name}' has no vjp_rule", expected="vjp_rule(self, primals, cotangent, output)",
                            found="none", remedy=f"define it in {type(self).__name__}")

    def __call__(self, *primals: Any, **kwargs: Any) -> Any:
        """The operation on tensors (or arrays), recorded where one of them requires grad."""
        front = front_end_of(*leaves((primals, kwargs)))
        call: tuple[Any, dict[str, Any]] = (tuple([_as_primal(x, front) for x in primals]), kwargs)
        refs = tuple([x for x in leaves(call) if isinstance(x, TensorRef)])
        if not recordings:  # no tape holds what runs
            return self._carry_out(call, refs, front)[0]
        tapes = active_tapes()
        ids = [tape.held.ids_of(refs) for tape in tapes]
        result, outputs = self._carry_out(call, refs, front)
        numbers = iter(range(len(refs)))
        args, named = tree_map(lambda x: Slot(next(numbers)) if isinstance(x, TensorRef) else x, call)
        plain = len(refs) == len(primals) == len(leaves(call[0]))  # the tensors are the primals
        for tape, before in zip(tapes, ids):
            tape.held.add(tape, self.name, dict(named) if plain else {"*": args, **named}, before, refs, outputs, {}, False, grad_mode())
        return result

    def _carry_out(self, call: tuple[Arguments, Keywords], refs: tuple[TensorRef, ...], front: Frontend) -> tuple[Any, list[TensorRef]]:
        """(the result, the tensors in it)"""
        args, kwargs = tree_map(lambda x: array_of(x) if isinstance(x, TensorRef) else x, call)
        result = tree_map(lambda x: front.over(np.asarray(x)), self.execute(*args, **kwargs))
        outputs = leaves(result)
        if not outputs:
            raise ArgumentError(f"The operation '{self.name}' gave no result", expected="an array, or several", found=repr(result),
                                remedy="return it from execute()")
        targets = [o for o in outputs if o._k.dtype.category >= FLOATING]
        edges = tuple(edge_of(x) for x in refs)
        if grad_mode() is GradMode.ENABLED and targets and any(e is not None for e in edges):
            entry = hand_made(self, refs, targets, _OutputRule(self, call, result, len(targets)))
            keep_on_tapes(entry, refs, tuple(targets), kwargs)
        return result, outputs


def _as_primal(x: TensorRef | list[TensorRef] | None, front: Frontend) -> Any:
    """An argument of an operation of one's own: numbers are tensors; None, and lists with tensors in them, stay."""
    if x is None or isinstance(x, TensorRef):
        return x
    if isinstance(x, (list, tuple, dict)) and any([isinstance(leaf, (TensorRef, np.ndarray)) for leaf in leaves(x)]):
        return tree_map(lambda leaf: _as_primal(leaf, front), x)
    array = np.array(x)
    return front.over(array) if array.dtype in CPU_KINDS else x


def hand_made(op: Operation | Record, inputs: tuple[TensorRef, ...], outputs: Sequence[TensorRef], grad_fn: GradFn) -> ManualEntry:
    """An entry with a gradient function of somebody's, hung on its outputs; it saves its inputs."""
    entry = ManualEntry()
    for _ in outputs[1:]:
        next_id()
    entry.id, entry.op, entry.edges, entry.meta = TapeId(next_id()), op, tuple(edge_of(x) for x in inputs), None
    entry.grad_fn, entry.n_outputs = grad_fn, len(outputs)
    entry.saved = inputs
    entry.computed()
    entry.refs = (inputs, (), {})
    for nr, output in enumerate(outputs):
        output._node = entry if len(outputs) == 1 else OutputEdge(entry, nr)
    return entry


class _OutputRule:
    """A `vjp_rule` as a gradient function that knows the call, and the output's values (not the outputs, which hold the entry)."""

    __slots__ = ("operation", "call", "values", "targets")

    def __init__(self, operation: Operation, call: tuple[tuple[TensorRef | list | None, ...] | dict[str, int | TensorRef], ...],
                 result: TensorRef | tuple[TensorRef, ...], targets: int) -> None:
        self.operation, self.targets = operation, targets
        self.call = tree_map(lambda x: _HERE if isinstance(x, TensorRef) else x, call)
        self.values = tree_map(lambda x: x._data, result)

    def __call__(self, grad: Values | list[Values | None], saved: Sequence[object]) -> Sequence[Any]:
        own = registered(self.operation.name)
        if own is not None:
            return own(grad, saved)
        grads = iter(grad if isinstance(grad, list) else [grad])
        recorded = any([isinstance(g, TensorRef) for g in (grad if isinstance(grad, list) else [grad])])
        tensors = iter(saved)
        primals, kwargs = tree_map(lambda x: next(tensors) if x is _HERE else x, self.call)
        output = self.operation(*primals, **kwargs) if recorded else self.values

        def cotangent(value: np.ndarray) -> Any:
            g = next(grads) if dtype_of(value).category >= FLOATING else None
            if g is None and dtype_of(value).category >= FLOATING:
                g = np.zeros(value.shape, value.dtype)
                return TensorRef.over(g) if recorded else g
            return g

        cotangents = rebuild(self.values, iter([cotangent(v) for v in leaves(self.values)]))
        found = self.operation.vjp_rule(primals, cotangents, output, **kwargs)
        single = not isinstance(found, (tuple, list)) or len(primals) == 1 and isinstance(primals[0], list) and (
            isinstance(found, list) and len(found) == len(primals[0]))
        found = [found] if single else list(found)
        named = found.pop() if len(found) == len(primals) + 1 and isinstance(found[-1], dict) else {}
        if len(found) != len(primals):
            raise ShapeMismatchError(f"The gradient function of '{self.operation.name}' returned {len(found)} gradients for {len(primals)} "
                                     "inputs", expected=str(len(primals)), found=str(len(found)),
                                     remedy="return one gradient per input, None where there is none; those of keyword arguments in a dict "
                                     "after them")
        return [g for place, given in ((tuple(found), self.call[0]), (named, self.call[1])) for g in self._flat(place, given)]

    def _flat(self, found: Any, given: Any) -> list[Any]:
        """The cotangents of the tensors in an argument, or in several, in order."""
        if given is _HERE:
            return [found]
        below = children(given) if given is not None else None
        if below is None:
            return []
        if found is None:
            return [None] * sum([leaf is _HERE for leaf in leaves(given)])
        have = children(found)
        if have is None or not isinstance(given, dict) and len(have) != len(below):
            raise ShapeMismatchError(f"The gradient function of '{self.operation.name}' returned something else for a list of tensors",
                                     expected=f"a list of {len(below)} gradients", found=type_name(found),
                                     remedy="return one gradient for each tensor of the list, None where there is none")
        return [g for key, child in below.items() for g in self._flat(have.get(key), child)]


class _Here:
    """Where a tensor stood in a call."""


_HERE: Any = _Here()


class _Replacing(Interceptor):
    """Calls of operations for whose name somebody registered a gradient function: they run unrecorded, and are recorded with that."""

    place = "gradient"
    all_functions = False
    parts = True
    listening = False

    def concerns(self, door: Door) -> bool:
        return registered(door.rec.name) is not None

    def __call__(self, call: Call) -> Any:
        grad_fn = registered(call.rec.name)
        inputs = tuple(call.tensors())
        if grad_fn is None or grad_mode() is not GradMode.ENABLED or not any([x.requires_grad for x in inputs]):
            return NotImplemented
        if call.inplace or call.out is not None or call.rec.name.endswith("_"):
            raise AutogradError(f"'{call.name}' in place has no gradient while another is registered for '{call.rec.name}'",
                                expected="an operation that makes a new tensor", found="an update in place, or out=",
                                remedy=f"use '{call.rec.name}' out of place, or call unregister_grad_fn({call.rec.name!r})")

        def carry_out() -> Any:
            with aside(), _ModeContext(GradMode.DISABLED):
                result = call.proceed()
            if call.door.sized_by(call.args):
                note_size()
            targets = [o for o in tensors_in(result) if o._k.dtype.category >= FLOATING]
            for o in targets:
                if o._base is not None:
                    mark(o, IN_CUSTOM_FUNCTION)  # an update of the base would pass by `grad_fn`
            if targets:
                entry = hand_made(call.rec, inputs, targets, grad_fn)
                if active_tapes():
                    given, named = call.door.spelled(call.args)
                    keep_on_tapes(entry, inputs, tuple(targets), take_apart(call.rec, given, named, call.door.spreads)[0])
            return result

        return hold(call.door, call.args, carry_out, ())


_REPLACING = _Replacing()


def _replace(names: bool) -> None:
    """Listens while a gradient function is registered for an operation with a record."""
    changed()
    if names is not _REPLACING.listening:
        _REPLACING.listening = names
        (listen if names else unlisten)(_REPLACING)


on_registration.append(_replace)


def vjp_rule(op: str, /, **arguments: Any) -> Callable[[Sequence[Any], Any, Any], tuple[Any, ...]]:
    """An operation's gradient as `rule(primals, cotangent, output) -> cotangents`.

    `output` may be None: it is computed where the formula needs it.

    >>> vjp_rule("mul")((np.array(2.0), np.array(3.0)), np.array(1.0), None)
    (array(3.), array(2.))
    """
    own = OPERATIONS.get(op)
    if own is not None and registered(op) is None:
        def rule(primals: Sequence[Any], cotangent: Any, output: Any) -> tuple[Any, ...]:
            found = own.vjp_rule(tuple(primals), cotangent, output, **arguments)
            return tuple(found) if isinstance(found, (tuple, list)) else (found,)
    else:
        grad_fn = required_grad_fn(op)
        if isinstance(grad_fn, RecordGradFn):
            grad_fn = grad_fn.bind(**arguments)

        def rule(primals: Sequence[Any], cotangent: Any, output: Any) -> tuple[Any, ...]:
            outputs: tuple[Any, ...] = ()
            if output is not None and isinstance(grad_fn, RecordGradFn):
                outputs = tuple(output) if isinstance(output, (tuple, list)) else (output,)
            return tuple(grad_fn(cotangent, [*primals, *outputs]))
    return rule


class _ByName(type):
    def __getattr__(cls, name: str) -> OpKind:
        for known in (name, name.lower()):
            if not name.startswith("_") and (known in RECORDS or known in ALIASES or known in OPERATIONS):
                return cls(known)
        raise AttributeError(f"there is no operation '{name}'")


class OpKind(str, metaclass=_ByName):
    """An operation's name, which knows the operation: of the package, of one's own, or one that was only recorded by hand.

    It is a `str`, and may stand wherever a name is wanted. `OpKind.MATMUL`, or `OpKind.matmul`, is `OpKind("matmul")`, checked.

    >>> OpKind.MATMUL == "matmul", OpKind("mul").has_gradient
    (True, True)
    >>> OpKind.mul.vjp_rule((np.array(2.0), np.array(3.0)), np.array(1.0), None)
    (array(3.), array(2.))
    """

    @property
    def has_gradient(self) -> bool:
        """Whether a gradient function is known for it."""
        return has_grad_fn(self)

    def vjp_rule(self, primals: Sequence[Any], cotangent: Any, output: Any = None, **arguments: Any) -> tuple[Any, ...]:
        """The cotangents of the primals from that of the output; see `autograd_tape.vjp_rule`."""
        return vjp_rule(self, **arguments)(primals, cotangent, output)


def _entry_with(entry: TapeEntry, saved_tensors: list[Values], recorded: bool) -> TapeEntry:
    """An entry like another, which saved these in the place of its tensors."""
    wrong = ArgumentError(f"The gradient function of '{entry.op_name}' takes what the entry saved",
                          expected=f"{len(entry.tensors_saved())} tensors", found=str(len(saved_tensors)),
                          remedy="pass entry.saved_tensors, or others in their places")
    given = [x if isinstance(x, TensorRef) else TensorRef.over(np.asarray(x)) for x in saved_tensors]
    if len(given) != len(entry.tensors_saved()):
        raise wrong
    twin = object.__new__(type(entry))
    twin.__dict__.update(entry.__dict__)
    twin.id, twin.edges, twin.meta = entry.id, entry.edges, entry.meta
    items, values = list(entry.saved if entry.saved.__class__ is tuple else unpack(entry)), iter(given)
    for kind, at in entry.saved_slots:
        if kind == "list":
            tensors = tuple([next(values) for _ in items[at][0]])
            items[at] = tensors, [number_of(x) for x in tensors]
        elif kind == "output" and items[at] is not None:
            x = next(values)
            items[at:at + 4] = x._data, Version.of(x), number_of(x), x._k
        elif kind == "tensor" and isinstance(items[at], TensorRef):
            items[at] = x = next(values)
            items[at + 1] = number_of(x)
    twin.saved = tuple(items)
    if isinstance(twin, ManualEntry):
        twin.saved, twin.versions = tuple(given), tuple(number_of(x) for x in given)
    return twin


above.entry_with, above.operations, above.vjp_rule = _entry_with, lambda: executor_for(CPU).F, vjp_rule
