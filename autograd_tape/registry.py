"""Gradient functions by operation name.

`get_grad_fn("mul")` is what somebody registered for the name, or else is derived from the operation's record: there is one
formula per operation, and the functions `grad_add`, `grad_mul`, `grad_matmul`, ... are views of it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .annotations import Arguments, Functions, Keywords
from .dtypes import COMPLEX, CPU, CPU_KINDS, FLOATING, dtype_of
from .engine import gradients
from .errors import ArgumentError, NoGradFnError, type_name
from .executors import executor_for
from .frontend import F
from .held import put_together
from .lazy import spread
from .locks import fork_safe_lock
from .modes import GradMode, _ModeContext, aside
from .node import GradFn
from .ops import ALIASES, RECORDS
from .functions.general import shape_of
from .functions.nodes import conjugate
from .record import OPERATIONS, Record, assign_tensors
from .tensor import TensorRef

_registry: dict[str, GradFn] = {}
_lock = fork_safe_lock()


class RecordGradFn:
    """The gradient function of an operation with a record: `grad_fn(grad_output, saved_tensors) -> list of gradients`.

    `saved_tensors` are the operation's input tensors in the order of its schema, optionally followed by its outputs, which are
    computed again where the formula needs them and they are not given. Arrays give arrays, TensorRefs give TensorRefs whose
    computation is recorded. The list has one gradient per input, None for inputs that have none (indices, masks).

    >>> from autograd_tape import grad_mul
    >>> grad_mul
    <gradient function of mul(Tensor input, Operand other) -> Tensor>
    >>> grad_mul(np.array([1.0, 1.0]), [np.array([2.0, 3.0]), np.array(4.0)])
    [array([4., 4.]), array(5.)]

    An operation with several outputs takes a list of cotangents, of those that there are. Parameters other than tensors take their
    defaults (`dim` the last dimension), or what `bind` sets, in which a `Slot` stands for the saved tensor of its number:

    >>> get_grad_fn("sum").bind(dim=0)(np.array([1.0, 2.0]), [np.zeros((2, 2))])
    [array([[1., 2.],
           [1., 2.]])]
    """

    __slots__ = ("record", "arguments", "__weakref__")

    def __init__(self, record: Record, arguments: Keywords | None = None) -> None:
        self.record, self.arguments = record, arguments or {}

    @property
    def __name__(self) -> str:
        return f"grad_{self.record.name}"

    def __repr__(self) -> str:
        bound = "".join(f", {k}={v!r}" for k, v in self.arguments.items())
        return f"<gradient function of {self.record.schema}{bound}>"

    def bind(self, **arguments: object) -> RecordGradFn:
        """The same function with parameters set: `grad_sum.bind(dim=0)`."""
        known = {p.name for p in self.record.params}
        for name in arguments:
            if name not in known:
                raise ArgumentError(f"'{self.record.name}' has no parameter '{name}'", expected=self.record.schema, found=name,
                                    remedy="use the schema's names")
        return RecordGradFn(self.record, {**self.arguments, **arguments})

    def __call__(self, grad_output: np.ndarray | list[np.ndarray], saved_tensors: Sequence[np.ndarray]) -> list[np.ndarray | None]:
        """Gradients with respect to each input."""
        if not isinstance(saved_tensors, (list, tuple)):
            raise ArgumentError(f"grad_{self.record.name} takes saved tensors in a list", expected="a list of arrays or tensors",
                                found=type_name(saved_tensors), remedy="pass [x, y]")
        grads = grad_output if isinstance(grad_output, (list, tuple)) else [grad_output]
        if any(isinstance(x, TensorRef) for x in (*grads, *saved_tensors)):
            return self.apply(F, *_as_tensors(F, grad_output, saved_tensors))
        grad = [np.asarray(g) for g in grad_output] if isinstance(grad_output, (list, tuple)) else np.asarray(grad_output)
        return self.apply(executor_for(CPU).F, grad, [np.asarray(s) for s in saved_tensors])

    def apply(self, F: Functions, grad: Any, saved: Sequence[Any], arguments: Keywords | None = None) -> list[Any]:
        """`__call__` with the operations `F` of an executor, or of a front end."""
        rec = self.record
        arguments = {**self.arguments, **(arguments or {})}
        filled, free = put_together(arguments, saved)
        named, outputs = assign_tensors(rec, free, filled)
        named = self._complete(named)
        inputs = saved[:len(saved) - len(outputs)]
        if len(outputs) not in (0, len(rec.returns)):
            raise ArgumentError(f"grad_{rec.name} got too many saved tensors", expected=f"the inputs of {rec.schema}, and its outputs or "
                                                                                        "not",
                                found=str(len(saved)), remedy="leave out the rest")
        if _is_composite(rec) or len(free) < len(saved) or rec.saved_returns or rec.field("redirect") is not None:
            return self._by_recording(grad, inputs, arguments)
        if rec.conjugates and any(g is not None and _category(g) == COMPLEX for g in (grad if isinstance(grad, (list, tuple)) else [grad])):
            grads = {name: conjugate(F, g) for name, g in self._formulas(F, conjugate(F, grad), named, outputs).items()}
        else:
            grads = self._formulas(F, grad, named, outputs)
        found: list[Any] = []
        for p in rec.tensor_params:
            value = named[p.name]
            if p.name in arguments or value is None:
                continue
            for x, g in zip(value, grads.get(p.name) or [None] * len(value)) if p.type == "Tensor[]" else ((value, grads.get(p.name)),):
                found.append(None if g is None or _category(x) < FLOATING else _fit(F, g, x))
        return found[:len(inputs)]

    def _complete(self, named: Keywords) -> Keywords:
        """Arguments with the defaults of those that are open."""
        rec = self.record
        for p in rec.params:
            if p.name not in named:
                if p.name not in rec.defaults and (p.name != "dim" or p.type != "int"):
                    raise ArgumentError(f"grad_{rec.name} needs '{p.name}'", expected=f"a {p.type} for {p.name}", found="none",
                                        remedy=f"bind it: grad_{rec.name}.bind({p.name}=...)")
                named[p.name] = rec.defaults.get(p.name, -1)
        return named

    def _formulas(self, F: Functions, grad: np.ndarray | list[np.ndarray], named: Keywords, outputs: Sequence[object]) -> dict[str,
                  np.ndarray | list[np.ndarray]]:
        """From parameter to gradient (or list of gradients), by the record's formulas."""
        rec = self.record
        targets = rec.differentiable_params
        made: list[Any] = list(outputs)

        def value(name: str) -> Any:
            read = rec.reads[name]
            x: Any = None if read.param is None else named[read.param.name]
            if read.kind == "needs":
                return tuple(x is not None and not isinstance(x, (int, float, complex)) and _category(x) >= FLOATING for p in targets
                             for x in (named[p.name] if p.type == "Tensor[]" else (named[p.name],)))
            if read.kind == "shape":
                return shape_of(x)
            if read.kind == "dtype":
                return x._k.dtype if isinstance(x, TensorRef) else CPU_KINDS[np.asarray(x).dtype].dtype
            if read.param is not None:
                return x
            if not made:
                made.extend(_run(F, rec, named))
            return made[read.nr]

        if rec.vjp_names is not None:
            return {target: formula(F, grad, *[value(n) for n in needed]) for target, formula, needed in rec.vjps
                    if target is not None and named[target] is not None and not _is_integer(named[target])}
        _, formula, needed = rec.vjps[0]
        found = formula(F, grad, *[value(n) for n in needed])
        if len(targets) == 1 and targets[0].type != "Tensor[]":
            return {targets[0].name: found}
        found = list(found)
        grads: dict[str, Any] = {}
        for p in targets:
            n = len(named[p.name]) if p.type == "Tensor[]" else 1
            grads[p.name], found = (found[:n] if p.type == "Tensor[]" else found[0]), found[n:]
        return grads

    def _by_recording(self, grad: Any, inputs: Sequence[Any], arguments: dict[str, Any]) -> list[Any]:
        """An operation written in terms of others has no formula of its own, and one whose kernel saves buffers has none that works on
        inputs and outputs alone: record it, and differentiate that."""
        grads = list(grad) if isinstance(grad, (list, tuple)) else [grad]
        raw = not any(isinstance(g, TensorRef) for g in grads)
        with aside(), _ModeContext(GradMode.ENABLED):
            fresh = [_traced(F, x) for x in inputs]
            filled, free = put_together(arguments, fresh)
            named = assign_tensors(self.record, free, filled)[0]
            for name in self.record.field("refuses_grad") or ():
                if isinstance(named.get(name), TensorRef):
                    named[name] = TensorRef.over(named[name]._data)
            outputs = [o for o in _run(F, self.record, self._complete(named)) if o is not None]
            wanted = [x for x in fresh if x.requires_grad]
            pairs = [(o, g) for o, g in zip(outputs, grads) if o.requires_grad]
            if not pairs:
                raise NoGradFnError(f"The operation '{self.record.name}' has no gradient", expected="an operation that is differentiable",
                                    found=self.record.schema, remedy="do not ask for gradients through it")
            found = iter(gradients([o for o, _ in pairs], [g for _, g in pairs], wanted, executor_for(CPU).F if raw else F,
                                   create_graph=not raw))
        return [next(found) if x.requires_grad else None for x in fresh]


def _run(F: Functions, rec: Record, named: Keywords) -> Arguments:
    positional = spread(rec, [named[p.name] for p in rec.params if not p.keyword_only])
    result = getattr(F, rec.name)(*positional, **{p.name: named[p.name] for p in rec.params if p.keyword_only})
    return tuple(result) if isinstance(result, (tuple, list)) else (result,)


def _is_integer(x: np.ndarray | float) -> bool:
    """Whether it is a tensor or array that no gradient flows to."""
    return not isinstance(x, (list, tuple, int, float, complex)) and _category(x) < FLOATING


def _category(x: np.ndarray) -> int:
    return (x._k.dtype if isinstance(x, TensorRef) else dtype_of(x)).category


def _fit(F: Functions, g: np.ndarray, x: np.ndarray) -> np.ndarray:
    return F.fit(g, tuple(x.shape), x._k.np) if isinstance(x, TensorRef) else F.fit(np.asarray(g), x.shape, x.dtype)


def _as_tensors(F: Functions, grad: Any, saved: Sequence[object]) -> tuple[Any, list[Any]]:
    wrap = lambda x: x if isinstance(x, TensorRef) else F.wrap(np.asarray(x))
    return [wrap(g) for g in grad] if isinstance(grad, (list, tuple)) else wrap(grad), [wrap(s) for s in saved]


def _traced(F: Functions, x: np.ndarray) -> TensorRef:
    """An input whose gradient is wanted, apart from all other uses of the same tensor."""
    if isinstance(x, TensorRef) and x.requires_grad:
        return F.reshape(x, tuple(x.shape))
    data = x._data if isinstance(x, TensorRef) else np.asarray(x)
    return TensorRef.over(data, requires_grad=_category(x) >= FLOATING)


class OperationGradFn:
    """The rule of an `Operation` as `grad_fn(grad_output, saved_tensors) -> list of gradients`; the saved tensors are its primals."""

    __slots__ = ("operation",)

    def __init__(self, operation: Any) -> None:
        self.operation = operation

    def __repr__(self) -> str:
        return f"<gradient function of {self.operation.name}>"

    def __call__(self, grad_output: np.ndarray, saved_tensors: Sequence[np.ndarray]) -> list[np.ndarray]:
        """Gradients with respect to each primal."""
        tensors = any([isinstance(x, TensorRef) for x in saved_tensors])
        output = (self.operation if tensors else self.operation.execute)(*saved_tensors)
        found = self.operation.vjp_rule(tuple(saved_tensors), grad_output, output)
        return list(found) if isinstance(found, (tuple, list)) else [found]


# -- the registry ---------------------------------------------------------------------------------------------------


def register_grad_fn(op: str, grad_fn: GradFn | None = None) -> Callable[[GradFn], GradFn] | GradFn:
    """Registers `grad_fn(grad_output, saved_tensors) -> gradients`; as a function or as a decorator.

    It takes the place of the gradient that the name had, whosever it was: of an entry recorded by hand (`Tape.record`), of an `Operation`,
    and of an operation with a record, whose further calls are recorded with it, in both front ends. `saved_tensors` are the tensors among
    the arguments of the call. In-place variants raise while it is registered, and operations leave the quiet path.

    Raises:
        ArgumentError: the name is no text, or the function cannot be called.

    >>> @register_grad_fn("square_of")
    ... def grad_square(grad_output, saved_tensors):
    ...     (x,) = saved_tensors
    ...     return [2 * x * grad_output]
    >>> has_grad_fn("square_of")
    True
    >>> unregister_grad_fn("square_of")
    """
    if not isinstance(op, str) or not op:
        raise ArgumentError("register_grad_fn() takes the name of an operation", expected="a str", found=repr(op),
                            remedy="pass register_grad_fn('name', fn)")
    if grad_fn is None:
        return lambda function: register_grad_fn(op, function)  # type: ignore[return-value]  # the decorator's form
    if not callable(grad_fn):
        raise ArgumentError(f"The gradient function of '{op}' cannot be called", expected="a callable",
                            found=type(grad_fn).__name__, remedy="pass grad_fn(grad_output, saved_tensors)")
    with _lock:
        _registry[_canonical(op)] = grad_fn
        _tell()
    return grad_fn


def _canonical(op: str) -> str:
    return ALIASES.get(op, op)


on_registration: list[Callable[[bool], None]] = []
"""Who is told of a change: whether there are gradient functions in the place of records' own."""


def _tell() -> None:
    for told in on_registration:
        told(any([name in RECORDS for name in _registry]))


def registered(op: str) -> GradFn | None:
    """What somebody registered for a name, or None."""
    return _registry.get(_canonical(op)) if _registry else None


def unregister_grad_fn(op: str) -> None:
    """Forgets what was registered for a name; an operation with a record has its record's gradient function again."""
    with _lock:
        if _registry.pop(_canonical(op), None) is not None:
            _tell()


_derived: dict[str, RecordGradFn] = {}


def get_grad_fn(op: str) -> GradFn | None:
    """The gradient function of an operation: the registered one, else that of an `Operation` or of a record, else None."""
    found = registered(op)
    if found is not None:
        return found
    own = OPERATIONS.get(op)
    if own is not None:
        return OperationGradFn(own)
    rec = RECORDS.get(ALIASES.get(op, op))
    if rec is None or not is_differentiable(rec):
        return None
    return _derived.get(rec.name) or _derived.setdefault(rec.name, RecordGradFn(rec))


def has_grad_fn(op: str) -> bool:
    """Whether an operation has a gradient function.

    >>> has_grad_fn("mul"), has_grad_fn("no such operation")
    (True, False)
    """
    return get_grad_fn(op) is not None


def required_grad_fn(op: str) -> GradFn:
    """The gradient function of an operation; NoGradFnError where there is none."""
    found = get_grad_fn(op)
    if found is None:
        raise NoGradFnError(f"No gradient function for the operation '{op}'", expected="a registered GradFn", found="none",
                            remedy=f"call register_grad_fn({op!r}, fn), or pass grad_fn to record()")
    return found


def _is_composite(rec: Record) -> bool:
    return rec.field("function") is not None or rec.field("make") is not None


def is_differentiable(rec: Record) -> bool:
    """Whether gradients flow through an operation: by its own formula, or through the operations it is written in."""
    if _is_composite(rec):
        return rec.returns[0][0].startswith("Tensor") and any(p.differentiable for p in rec.params) and not rec.name.endswith("_")
    return rec.has_gradient


def named_grad_fn(name: str) -> GradFn:
    """`grad_<op>` by name, for module attributes; AttributeError where there is none."""
    found = get_grad_fn(name.removeprefix("grad_")) if name.startswith("grad_") else None
    if found is None:
        raise AttributeError(name)
    return found
