"""Entries recorded by hand, and operations of one's own, whose gradient functions the registry knows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .dtypes import FLOATING
from .errors import ArgumentError, NoGradFnError, ShapeMismatchError
from .held import recordings
from .lazy import evaluate
from .modes import GradMode, active_tapes, grad_mode, keep_on_tapes
from .node import GradFn, TapeEntry, edge_of, freed
from .version import number_of
from .ops import ALIASES, RECORDS
from .record import OPERATIONS
from .registry import RecordGradFn, required_grad_fn
from .saved import stale
from .tensor import TapeId, TensorRef, next_id


class ManualEntry(TapeEntry):
    """An entry recorded by hand, with a gradient function of the caller's, or the one registered for the operation's name."""

    __slots__ = ()
    by_hand = True
    versions: Any = None  # of the saved tensors when the output was computed; None before
    tape: Any = staticmethod(lambda: None)  # gives the tape that it was recorded on, as long as that lives
    stands_for: int | None = None  # the id that the output had from the entry in whose place this one is

    def _prepared(self) -> tuple[GradFn, tuple[Any, ...]]:
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

    def _cotangents(self, grad: Any, saved: list[Any], F: Any) -> Sequence[Any]:
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

    def raw(self, grad: Any, F: Any) -> Sequence[Any]:
        """Calls the gradient function with the saved buffers, computing those that nobody has asked for yet."""
        _, saved = self._prepared()
        executor = getattr(F, "_executor", None)
        return self._cotangents(grad, [evaluate(s, executor) if isinstance(s, TensorRef) else s for s in saved], F)

    def recorded(self, grad: Any, F: Any) -> Sequence[Any]:
        """Calls the gradient function with the saved tensors, so that what it does is recorded."""
        _, saved = self._prepared()
        for s in saved:
            if isinstance(s, TensorRef):
                evaluate(s)
        return self._cotangents(grad, list(saved), F)


def fit_cotangent(F: Any, grad: Any, primal: TensorRef, position: int, op: str) -> Any:
    """What a hand-written gradient function returned for one input, with the input's shape: summed over what broadcasting
    added; ShapeMismatchError where no broadcasting explains the difference."""
    shape = tuple(primal.shape)
    found = tuple(np.shape(grad)) if not isinstance(grad, TensorRef) else tuple(grad.shape)
    if found != shape:
        lead = len(found) - len(shape)
        if lead < 0 or any(n not in (1, m) for n, m in zip(shape, found[lead:])):
            raise ShapeMismatchError(f"The gradient of '{op}' with respect to input {position} has the wrong shape", expected=str(shape),
                                     found=str(found), remedy="return a gradient of the input's shape from the gradient function")
    if getattr(F, "_executor", None) is None:  # a front end: gradients are tensors
        return F.fit(grad if isinstance(grad, TensorRef) else F.wrap(np.asarray(grad)), shape, primal._k.np)
    return F.fit(grad._data if isinstance(grad, TensorRef) else np.asarray(grad), shape, primal._k.np)


class Operation:
    """A new operation: `execute` computes it on arrays, `vjp_rule` gives its gradients.

    Subclass it, and call an instance. `vjp_rule(primals, cotangent, output)` returns one cotangent per primal (a single one may
    stand alone), None where there is none. It gets arrays on an ordinary backward pass and tensors where gradients of gradients
    are wanted; written with operators and methods that both have, or with `autograd_tape.F` on tensors, it serves both. The keyword
    arguments of the call are passed on to both. What broadcasting added is summed away afterwards.

    >>> class Cube(Operation):
    ...     def execute(self, x): return x ** 3
    ...     def vjp_rule(self, primals, cotangent, output): return 3 * primals[0] * primals[0] * cotangent
    >>> cube = Cube()
    >>> from autograd_tape import F, TensorRef, backward, grad
    >>> x = TensorRef.of([2.0], requires_grad=True)
    >>> (dx,) = grad(F.sum(cube(x)), [x], create_graph=True)
    >>> dx.numpy(), backward(F.sum(dx))[x.id]
    (array([12.]), array([12.]))
    """

    name = ""

    def __init__(self, name: str | None = None) -> None:
        self.name = name or type(self).name or type(self).__name__.lower()
        if self.name in RECORDS or self.name in ALIASES:
            raise ArgumentError(f"There is an operation '{self.name}' already", expected="a name of its own", found=self.name,
                                remedy="choose another name")
        OPERATIONS[self.name] = self

    def execute(self, *primals: np.ndarray, **kwargs: Any) -> np.ndarray:
        """The value, on arrays."""
        raise NotImplementedError(f"{type(self).__name__} needs execute(self, *primals, **kwargs)")

    def vjp_rule(self, primals: Sequence[Any], cotangent: Any, output: Any, **kwargs: Any) -> Any:
        """The cotangents of the primals from that of the output; `kwargs` are those of the call."""
        raise NoGradFnError(f"The operation '{self.name}' has no vjp_rule", expected="vjp_rule(self, primals, cotangent, output)",
                            found="none", remedy=f"define it in {type(self).__name__}")

    def __call__(self, *primals: Any, **kwargs: Any) -> TensorRef:
        """The operation on tensors (or arrays), recorded where one of them requires grad."""
        refs = tuple(x if isinstance(x, TensorRef) else TensorRef.of(x) for x in primals)
        if not recordings:  # no tape holds what runs
            return self._carry_out(refs, kwargs)
        tapes = active_tapes()
        ids = [tape.held.ids_of(refs) for tape in tapes]
        output = self._carry_out(refs, kwargs)
        for tape, before in zip(tapes, ids):
            tape.held.add(tape, self.name, dict(kwargs), before, refs, [output], {}, False, grad_mode())
        return output

    def _carry_out(self, refs: tuple[TensorRef, ...], kwargs: dict[str, Any]) -> TensorRef:
        output = TensorRef.over(np.asarray(self.execute(*[evaluate(x) for x in refs], **kwargs)))
        edges = tuple(edge_of(x) for x in refs)
        if grad_mode() is not GradMode.ENABLED or not any(e is not None for e in edges) or output._k.dtype.category < FLOATING:
            return output
        entry = ManualEntry()
        entry.id, entry.op, entry.edges, entry.meta = TapeId(next_id()), self.name, edges, None
        entry.grad_fn = _OutputRule(self, output, kwargs)
        entry.saved = refs
        entry.computed()
        entry.refs = (refs, (), kwargs)
        output._node = entry
        keep_on_tapes(entry, refs, (output,), kwargs)
        return output


class _OutputRule:
    """A `vjp_rule` as a gradient function that knows the output's value (not the output, which holds the entry)."""

    __slots__ = ("operation", "value", "kwargs")

    def __init__(self, operation: Operation, output: TensorRef, kwargs: dict[str, Any]) -> None:
        self.operation, self.value, self.kwargs = operation, output._data, kwargs

    def __call__(self, grad: Any, saved: Sequence[Any]) -> Sequence[Any]:
        output = self.operation(*saved, **self.kwargs) if isinstance(grad, TensorRef) else self.value
        found = self.operation.vjp_rule(tuple(saved), grad, output, **self.kwargs)
        return list(found) if isinstance(found, (tuple, list)) else [found]


def vjp_rule(op: str, **arguments: Any) -> Callable[[Sequence[Any], Any, Any], tuple[Any, ...]]:
    """An operation's gradient as `rule(primals, cotangent, output) -> cotangents`.

    `output` may be None: it is computed where the formula needs it.

    >>> vjp_rule("mul")((np.array(2.0), np.array(3.0)), np.array(1.0), None)
    (array(3.), array(2.))
    """
    own = OPERATIONS.get(op)
    if own is not None:
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
