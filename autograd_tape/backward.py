"""The backward pass.

The engine keeps the gradients that have arrived so far in a heap ordered by entry id. Ids grow along the graph, so whatever
the heap gives next has received all its contributions: no sort of the graph beforehand, no recursion, and a chain of a
million operations is as good as one of ten. Gradients are plain buffers, unless `create_graph` asks for tensors whose own
history is recorded.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dataclasses import dataclass, field, replace
import numpy as np

from .annotations import Values
from . import hooks  # noqa: F401  # methods of tensors
from .callable import be_callable
from .dtypes import CPU
from .engine import Engine, cotangent_of, ends_in, given_out
from .errors import ArgumentError, NoGradError, ShapeMismatchError, type_name
from .executors import Executor, executor_for
from .frontend import F, front_end_of
from .modes import GradMode, _mode, grad_mode
from .node import TapeEntry, edge_of
from .tape import DefaultTape, Tape
from .tensor import TapeId, TensorRef, above
from .locks import fork_safe_lock
from .walk import Walk, chosen


# -- the specification's interface ------------------------------------------------------------------------------------


def _several(given: Sequence[Values] | None) -> Any:
    """One tensor, array or number as a list of it; a list, or None, as it is."""
    return [given] if isinstance(given, (TensorRef, np.ndarray, np.generic, int, float, complex)) else given


def _inputs(given: Any) -> list[TensorRef] | None:
    """Tensors to compute gradients for; None for all leaves."""
    return None if given is None else tensors_of(given, "BackwardOptions", "inputs") or None


class Gradients(dict[int, Any]):
    """Gradients by tensor: `grads[x]` and `grads[x.id]` are one.

    >>> x = TensorRef.of([1.0])
    >>> grads = Gradients({x.id: np.ones(1)})
    >>> grads[x] is grads[x.id], x in grads, grads.get(TensorRef.of([1.0]))
    (True, True, None)
    """

    __slots__ = ()

    def __getitem__(self, key: TensorRef | int) -> np.ndarray:
        return super().__getitem__(_key(key))

    def __setitem__(self, key: TensorRef | int, gradient: Any) -> None:
        super().__setitem__(_key(key), gradient)

    def __delitem__(self, key: TensorRef | int) -> None:
        super().__delitem__(_key(key))

    def __contains__(self, key: object) -> bool:
        return super().__contains__(_key(key))

    def get(self, key: TensorRef | int, default: object = None) -> Any:
        """The gradient of a tensor, or `default`."""
        return super().get(_key(key), default)

    def pop(self, key: TensorRef | int, *default: object) -> Any:
        """Takes the gradient of a tensor out."""
        return super().pop(_key(key), *default)


def _key(key: Any) -> int:
    return key.id if isinstance(key, TensorRef) else key


@dataclass(slots=True)
class BackwardOptions:
    """How a backward pass is run. A single tensor does for a list of one.

    Attributes:
        retain_graph: keep the graph for another pass.
        create_graph: record the pass itself, for derivatives of any order; gradients are then TensorRefs.
        inputs: tensors to compute gradients for; all leaves where None or empty.
        grad_outputs: the cotangent of each output; ones for a one-element output where None.

    Raises:
        ArgumentError: an input is no tensor.
    """

    retain_graph: bool = False
    create_graph: bool = False
    inputs: Sequence[TensorRef] | None = None
    grad_outputs: Sequence[Any] | None = None

    def __setattr__(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, _inputs(value) if name == "inputs" else _several(value) if name == "grad_outputs" else value)

    def __post_init__(self) -> None:
        if self.grad_outputs is not None and not isinstance(self.grad_outputs, (list, tuple)):
            raise ArgumentError("BackwardOptions takes a cotangent for each output", expected="a list of arrays or tensors, or one of them",
                                found=type_name(self.grad_outputs), remedy="pass grad_outputs=[...]")


def tensors_of(given: Sequence[object] | TensorRef | list[TensorRef], function: str, what: str = "tensors") -> list[TensorRef]:
    """A tensor, or several, as a list.

    Raises:
        ArgumentError: it is something else, or one of them is.
    """
    if isinstance(given, TensorRef):
        return [given]
    found = list(given) if isinstance(given, (list, tuple, set, frozenset)) or hasattr(given, "__next__") else None
    wrong = given if found is None else next((x for x in found if not isinstance(x, TensorRef)), None)
    if found is None or not all(isinstance(x, TensorRef) for x in found):
        raise ArgumentError(f"{function} takes {what}", expected="a tensor, or a list of tensors", found=type(wrong).__name__,
                            remedy="pass TensorRef objects; TensorRef.of(array) makes one of data")
    return found


@dataclass(eq=False, slots=True)
class BackwardContext:
    """Gradients accumulated so far.

    Attributes:
        tape, executor, retain_graph, create_graph: what the pass runs with.
        grad_tensors: from tensor, or its id, to gradient.
        refs: from tensor id to the tensor.
    """

    tape: Tape | None = None
    executor: Executor | None = None
    retain_graph: bool = field(default=False, kw_only=True)
    create_graph: bool = field(default=False, kw_only=True)
    grad_tensors: Gradients = field(default_factory=Gradients, init=False)
    refs: dict[int, TensorRef] = field(default_factory=dict, init=False, repr=False)

    def accumulate_grad(self, ref: TensorRef, grad: Any) -> None:
        """Adds `grad`, of the shape of `ref`, to what `ref` has."""
        (ref,) = tensors_of(ref, "accumulate_grad()", "a tensor")
        if _shape(grad) != _shape(ref):
            raise ShapeMismatchError(f"The gradient of tensor {ref.id} has the wrong shape", expected=str(tuple(ref.shape)),
                                     found=str(tuple(np.shape(grad))), remedy="return a gradient of the input's shape from the gradient "
                                                                          "function")
        self.refs[ref.id] = ref
        accumulate_cotangent(self.grad_tensors, ref, grad)

    def get_grad(self, ref: TensorRef) -> Any:
        """The gradient of `ref`, or None."""
        return self.grad_tensors.get(*tensors_of(ref, "get_grad()", "a tensor"))


def _shape(x: Any) -> tuple[int, ...]:
    data = x._data if isinstance(x, TensorRef) else x
    return tuple(x.shape) if data is None else np.shape(data)


def accumulate_cotangent(cotangents: dict[int, Any], ref: TensorRef, cotangent: Any) -> None:
    """Adds a cotangent to that of a tensor in a table by tensor id, or starts with it. Of a sharded tensor it is first moved to where that
    lies: see `sharding.gradients.accumulated`.

    >>> cotangents, x = {}, TensorRef.of([1.0, 2.0])
    >>> accumulate_cotangent(cotangents, x, np.ones(2))
    >>> accumulate_cotangent(cotangents, x, np.ones(2))
    >>> cotangents[x.id]
    array([2., 2.])
    """
    if not isinstance(ref, TensorRef):
        tensors_of(ref, "accumulate_cotangent()", "a tensor")
    if above.sharded is not None:
        cotangent = above.sharded.accumulated_buffer(cotangent, ref)
    held = cotangents.get(ref.id)
    cotangents[ref.id] = cotangent if held is None else held + cotangent


def reduce_to_shape(cotangent: Any, shape: int | Sequence[int]) -> Any:
    """A cotangent, array or tensor, summed over the dimensions that broadcasting added to `shape` or stretched.

    >>> reduce_to_shape(np.ones((4, 2, 3)), (2, 1))
    array([[12.],
           [12.]])
    """
    shape = (shape,) if isinstance(shape, int) else tuple(shape)
    cotangent = cotangent if hasattr(cotangent, "shape") else np.asarray(cotangent)
    found = tuple(cotangent.shape)
    lead = len(found) - len(shape)
    if lead < 0 or any(n not in (1, m) for n, m in zip(shape, found[lead:])):
        raise ShapeMismatchError("A cotangent cannot be reduced to this shape", expected=f"a shape that broadcasts to {found}",
                                 found=str(shape), remedy="reduce it to the shape of its primal")
    return (F if isinstance(cotangent, TensorRef) else executor_for(CPU).F).reduce_to_shape(cotangent, shape)


def _run(outputs: Sequence[TensorRef], tape: Tape | None, executor: Executor, options: BackwardOptions) -> BackwardContext:
    if not outputs:
        raise ArgumentError("backward() needs an output", expected="at least one tensor", found="none", remedy="pass the loss")
    tape = chosen(tape, outputs)
    for output in outputs:
        if output._node is None:
            raise NoGradError("element 0 of tensors does not require grad and does not have a grad_fn", expected="an output computed from "
                              "a tensor that requires grad", found="one that was not", remedy="set requires_grad before the forward pass")
    given = options.grad_outputs
    if given is not None and len(given) != len(outputs):
        raise ArgumentError(f"got {len(outputs)} tensors and {len(given)} gradients", expected=f"{len(outputs)} cotangents",
                            found=str(len(given)), remedy="pass one per output")
    tensors = front_end_of(*outputs, *(options.inputs or ()))
    context = BackwardContext(tape, executor, retain_graph=options.retain_graph, create_graph=options.create_graph)
    F = tensors if options.create_graph else executor.F
    cotangents = [cotangent_of(o, None if given is None else given[i], options.create_graph, F) for i, o in enumerate(outputs)]
    refs: dict[Any, TensorRef] = {}

    def accumulate(leaf: Any, g: Any, owned: bool) -> None:
        context.accumulate_grad(leaf, g if options.create_graph else given_out(leaf, g, owned))

    walk = None if isinstance(tape, DefaultTape) else Walk(tape, outputs, options.inputs)
    capture: list[Any] | None = None
    if options.inputs is not None:
        capture = []
        for ref in options.inputs:
            if ref._node is None:
                raise NoGradError("One of the differentiated Tensors does not require grad", expected="inputs that require grad",
                                  found=f"tensor {ref.id} does not", remedy="set requires_grad before the forward pass")
            edge = edge_of(ref) if walk is None else walk.edge(edge_of(ref))
            if edge is None:  # nothing on the tape was computed from it
                continue
            capture.append(edge if edge._tag == 1 else (edge.entry, edge.nr) if edge._tag == 2 else (edge, 0))
            refs[capture[-1]] = ref
    roots = [(edge_of(o) if walk is None else walk.edge(edge_of(o)), c) for o, c in zip(outputs, cotangents)]
    if capture is not None and ends_in([edge for edge, _ in roots], capture):
        capture = None
    retain = options.retain_graph or options.create_graph or tape.retain_graph
    # Under a tape the walk frees what the pass has used, since other tapes may hold some of it.
    engine = Engine(F, create_graph=options.create_graph, retain_graph=retain or walk is not None, accumulate=accumulate, capture=capture,
                    wrap=tensors.wrap)
    before = grad_mode()
    _mode.set(GradMode.ENABLED if options.create_graph else GradMode.DISABLED)
    try:
        engine.run(roots)
    finally:
        _mode.set(before)
    for key, ref in refs.items() if capture is not None else ():
        if engine.captured.get(key) is not None:
            engine.hand_over({id(ref): [ref, engine.captured.pop(key), False]})
    if not retain:
        if walk is not None:
            walk.free()
            tape.clear()
    return context


def backward(output: TensorRef | Sequence[TensorRef], tape: Tape | None = None, executor: Executor | None = None,
             options: BackwardOptions | Sequence[object] | None = None, grad_outputs: Sequence[np.ndarray] | None = None) -> Gradients:
    """Gradients of one output, or of several with custom cotangents, with respect to all leaves (or `options.inputs`).

    They are returned, and added to the `.grad` of the leaves, as `tensor.backward()` does it.

    Args:
        output: a tensor, or several.
        tape: where the operations were recorded. An explicit tape decides what is walked: its own entries, also those recorded by hand in
            the place of others, and what no explicit tape holds. Where None, the thread's default tape.
        executor: computes the gradients; the CPU's where None.
        options: see `BackwardOptions`; the cotangents, as `grad_outputs`, may stand here too.
        grad_outputs: the cotangent of each output, in a list; of one output it may stand alone.

    Returns:
        From tensor, or its id (`ref.id`, `ref.hash`), to gradient, of the tensor's shape and dtype.

    Raises:
        ArgumentError: something that is no tensor, tape, executor or `BackwardOptions` where one is wanted.
        NoGradError: nothing requires grad, the output is no scalar and has no cotangent, the graph was freed, or the tape does not
            hold the output, or something on the way to the inputs that another tape holds.
        NoGradFnError: an operation recorded by hand has no gradient function.
        ShapeMismatchError: a cotangent, or what a gradient function returned, has the wrong shape.

    >>> from autograd_tape import F, TensorRef, backward
    >>> x = TensorRef.of([1.0, 2.0, 3.0], requires_grad=True)
    >>> backward(F.sum(x * x))[x]
    array([2., 4., 6.])
    >>> x.grad
    TensorRef([2., 4., 6.], dtype=float64)
    """
    context = run_backward(output, tape, executor, options, grad_outputs)
    deliver(context)
    return context.grad_tensors


def run_backward(output: TensorRef | Sequence[TensorRef], tape: Tape | None = None, executor: Executor | None = None,
                 options: BackwardOptions | Sequence[Any] | None = None, grad_outputs: Sequence[Any] | None = None) -> BackwardContext:
    """`backward` without giving the gradients to anybody: the finished context."""
    outputs = tensors_of(output, "backward()")
    if options is not None and not isinstance(options, BackwardOptions):  # the second form of the specification
        if grad_outputs is not None or not isinstance(options, (list, tuple, np.ndarray, TensorRef)):
            raise ArgumentError("backward() takes its options as BackwardOptions", expected="BackwardOptions, or the cotangents",
                                found=type_name(options), remedy="pass options=BackwardOptions(retain_graph=True)")
        options, grad_outputs = None, options
    settings = options or BackwardOptions()
    if grad_outputs is not None:
        settings = replace(settings, grad_outputs=grad_outputs)
    if executor is not None and not isinstance(executor, Executor):
        raise ArgumentError("A backward pass takes an executor", expected="an Executor, or None", found=type_name(executor),
                            remedy="pass cpu_executor() or get_executor(name)")
    return _run(outputs, tape, executor or executor_for(CPU), settings)


_delivery = fork_safe_lock()


def deliver(context: BackwardContext) -> None:
    """Adds the gradients of leaves to their `.grad`. (Those of other tensors get there while the pass runs, see `retain_grad`.)"""
    with _delivery:  # of several threads, of whom each adds
        for id, ref in context.refs.items():
            if ref.is_leaf:
                ref._add_grad(context.grad_tensors[id])


def _backward_of(output: TensorRef, grad_output: Any = None, *, retain_graph: bool = False, create_graph: bool = False) -> None:
    """Adds the gradients of this tensor with respect to the leaves that it was computed from to their `.grad`.

    Args:
        grad_output: the cotangent; ones for a tensor of one element where left out.
        retain_graph, create_graph: see `BackwardOptions`.

    >>> x = TensorRef.of([3.0], requires_grad=True)
    >>> (x * x).sum().backward()
    >>> x.grad
    TensorRef([6.], dtype=float64)
    """
    backward(output, options=BackwardOptions(retain_graph, create_graph), grad_outputs=grad_output)


TensorRef.backward = _backward_of  # type: ignore[attr-defined]


def topological_order(tape: Tape | None, outputs: TensorRef | Sequence[TensorRef]) -> list[TapeId]:
    """The ids of the entries behind `outputs`, a tensor or several, in the order in which backward visits them under `tape`: descending,
    but where something was recorded by hand after it was used.

    Raises:
        NoGradError: as for `backward`.
    """
    outputs = tensors_of(outputs, "topological_order()")
    if tape is not None and not isinstance(chosen(tape, outputs), DefaultTape):
        return [entry.id for entry in Walk(tape, outputs).entries]
    seen: dict[int, TapeEntry] = {}
    stack: list[Any] = [edge_of(o) for o in outputs]
    while stack:
        edge = stack.pop()
        if edge is None or edge._tag == 1:
            continue
        entry = edge.entry if edge._tag == 2 else edge
        if entry.id not in seen:
            seen[entry.id] = entry
            stack.extend(entry.edges)
    return [TapeId(i) for i in sorted(seen, reverse=True)]


be_callable(__name__, backward)
