"""The backward pass.

The engine keeps the gradients that have arrived so far in a heap ordered by entry id. Ids grow along the graph, so whatever
the heap gives next has received all its contributions: no sort of the graph beforehand, no recursion, and a chain of a
million operations is as good as one of ten. Gradients are plain buffers, unless `create_graph` asks for tensors whose own
history is recorded.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import attrs
import numpy as np

from .callable import be_callable
from .dtypes import CPU
from .engine import Engine, _cotangent
from .errors import ArgumentError, NoGradError, ShapeMismatchError
from .executors import Executor, executor_for
from .frontend import F
from .frontend import F as tensors
from .modes import GradMode, _mode, grad_mode
from .node import TapeEntry, edge_of
from .tape import DefaultTape, Tape
from .tensor import NOTHING, TapeId, TensorRef
from .walk import Walk, chosen


# -- the specification's interface ------------------------------------------------------------------------------------


def _several(given: Any) -> Any:
    """One tensor, or array, as a list of it; a list, or None, as it is."""
    return [given] if isinstance(given, (TensorRef, np.ndarray)) else given


@attrs.define
class BackwardOptions:
    """How a backward pass is run. A single tensor does for a list of one.

    Attributes:
        retain_graph: keep the graph for another pass.
        create_graph: record the pass itself, for derivatives of any order; gradients are then TensorRefs.
        inputs: tensors to compute gradients for; all leaves where None.
        grad_outputs: the cotangent of each output; ones for a one-element output where None.
    """

    retain_graph: bool = False
    create_graph: bool = False
    inputs: Sequence[TensorRef] | None = attrs.field(default=None, converter=_several)
    grad_outputs: Sequence[Any] | None = attrs.field(default=None, converter=_several)


@attrs.define(eq=False)
class BackwardContext:
    """Gradients accumulated so far.

    Attributes:
        tape, executor, retain_graph, create_graph: what the pass runs with.
        grad_tensors: from tensor id to gradient.
        refs: from tensor id to the tensor.
    """

    tape: Tape | None = None
    executor: Executor | None = None
    retain_graph: bool = attrs.field(default=False, kw_only=True)
    create_graph: bool = attrs.field(default=False, kw_only=True)
    grad_tensors: dict[int, Any] = attrs.field(factory=dict, init=False)
    refs: dict[int, TensorRef] = attrs.field(factory=dict, init=False, repr=False)

    def accumulate_grad(self, ref: TensorRef, grad: Any) -> None:
        """Adds `grad`, of the shape of `ref`, to what `ref` has."""
        if tuple(grad.shape) != tuple(ref.shape):
            raise ShapeMismatchError(f"The gradient of tensor {ref.id} has the wrong shape", expected=str(tuple(ref.shape)),
                                     found=str(tuple(grad.shape)), remedy="return a gradient of the input's shape from the gradient "
                                                                          "function")
        self.refs[ref.id] = ref
        accumulate_cotangent(self.grad_tensors, ref, grad)

    def get_grad(self, ref: TensorRef) -> Any:
        """The gradient of `ref`, or None."""
        return self.grad_tensors.get(ref.id)


def accumulate_cotangent(cotangents: dict[int, Any], ref: TensorRef, cotangent: Any) -> None:
    """Adds a cotangent to that of a tensor in a table by tensor id, or starts with it.

    >>> cotangents, x = {}, TensorRef.of([1.0, 2.0])
    >>> accumulate_cotangent(cotangents, x, np.ones(2))
    >>> accumulate_cotangent(cotangents, x, np.ones(2))
    >>> cotangents[x.id]
    array([2., 2.])
    """
    held = cotangents.get(ref.id)
    cotangents[ref.id] = cotangent if held is None else held + cotangent


def reduce_to_shape(cotangent: Any, shape: Sequence[int]) -> Any:
    """A cotangent, array or tensor, summed over the dimensions that broadcasting added to `shape` or stretched.

    >>> reduce_to_shape(np.ones((4, 2, 3)), (2, 1))
    array([[12.],
           [12.]])
    """
    found, shape = tuple(cotangent.shape), tuple(shape)
    lead = len(found) - len(shape)
    if lead < 0 or any(n not in (1, m) for n, m in zip(shape, found[lead:])):
        raise ShapeMismatchError("A cotangent cannot be reduced to this shape", expected=f"a shape that broadcasts to {found}",
                                 found=str(shape), remedy="reduce it to the shape of its primal")
    return (F if isinstance(cotangent, TensorRef) else executor_for(CPU).F).reduce_to_shape(cotangent, shape)


def _run(outputs: Sequence[TensorRef], tape: Tape | None, executor: Executor, options: BackwardOptions) -> BackwardContext:
    if not outputs:
        raise ArgumentError("backward() needs an output", expected="at least one tensor", found="none", remedy="pass the loss")
    for output in outputs:
        if not isinstance(output, TensorRef):
            raise ArgumentError("backward() takes tensors", expected="TensorRef", found=type(output).__name__, remedy="pass the loss")
    tape = chosen(tape, outputs)
    for output in outputs:
        if output._node is None:
            raise NoGradError("element 0 of tensors does not require grad and does not have a grad_fn", expected="an output computed from "
                              "a tensor that requires grad", found="one that was not", remedy="set requires_grad before the forward pass")
    given = options.grad_outputs
    if given is not None and len(given) != len(outputs):
        raise ArgumentError(f"got {len(outputs)} tensors and {len(given)} gradients", expected=f"{len(outputs)} cotangents",
                            found=str(len(given)), remedy="pass one per output")
    context = BackwardContext(tape, executor, retain_graph=options.retain_graph, create_graph=options.create_graph)
    F = tensors if options.create_graph else executor.F
    cotangents = [_cotangent(o, None if given is None else given[i], options.create_graph, F) for i, o in enumerate(outputs)]
    refs: dict[Any, TensorRef] = {}

    def accumulate(leaf: Any, g: Any, owned: bool) -> None:
        context.accumulate_grad(leaf, g if options.create_graph else _own_buffer(g, leaf, owned))

    walk = None if isinstance(tape, DefaultTape) else Walk(tape, outputs, options.inputs)
    capture = None
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
    retain = options.retain_graph or options.create_graph or tape.retain_graph
    # Under a tape the walk frees what the pass has used, since other tapes may hold some of it.
    engine = Engine(F, create_graph=options.create_graph, retain_graph=retain or walk is not None, accumulate=accumulate, capture=capture,
                    wrap=tensors.wrap)
    before = grad_mode()
    _mode.set(GradMode.ENABLED if options.create_graph else GradMode.DISABLED)
    try:
        engine.run([(edge_of(o) if walk is None else walk.edge(edge_of(o)), c) for o, c in zip(outputs, cotangents)])
    finally:
        _mode.set(before)
    for key, ref in refs.items():
        if engine.captured.get(key) is not None:
            engine.hand_over({ref: [engine.captured.pop(key), False]})
    if not retain:
        if walk is not None:
            walk.free()
        tape.clear()
    return context


def _own_buffer(g: Any, ref: TensorRef, owned: bool) -> np.ndarray:
    """A gradient as an array that the caller may change: `g` itself only where nobody else holds it and it is no view."""
    array = np.asarray(g, ref._k.np)
    return array if owned and array.base is None and array.flags.writeable else array.copy()


def backward(output: TensorRef | Sequence[TensorRef], tape: Tape | None = None, executor: Executor | None = None,
             options: BackwardOptions | None = None, grad_outputs: Sequence[Any] | None = None) -> dict[int, Any]:
    """Gradients of one output, or of several with custom cotangents, with respect to all leaves (or `options.inputs`).

    Args:
        output: a tensor, or several.
        tape: where the operations were recorded. An explicit tape decides what is walked: its own entries, also those recorded by hand in
            the place of others, and what no explicit tape holds. Where None, the thread's default tape.
        executor: computes the gradients; the CPU's where None.
        options: see `BackwardOptions`.
        grad_outputs: the cotangent of each output.

    Returns:
        From tensor id (`ref.id`, `ref.hash`) to gradient, of the tensor's shape and dtype. A `GradManager` that looks after one
        of these tensors receives its gradient too.

    Raises:
        NoGradError: nothing requires grad, the output is no scalar and has no cotangent, the graph was freed, or the tape does not
            hold the output, or something on the way to the inputs that another tape holds.
        NoGradFnError: an operation recorded by hand has no gradient function.
        ShapeMismatchError: a cotangent, or what a gradient function returned, has the wrong shape.

    >>> from autograd_tape import F, TensorRef, backward
    >>> x = TensorRef.of([1.0, 2.0, 3.0], requires_grad=True)
    >>> backward(F.sum(x * x))[x.id]
    array([2., 4., 6.])
    """
    context = run_backward(output, tape, executor, options, grad_outputs)
    deliver(context)
    return context.grad_tensors


def run_backward(output: TensorRef | Sequence[TensorRef], tape: Tape | None = None, executor: Executor | None = None,
                 options: BackwardOptions | None = None, grad_outputs: Sequence[Any] | None = None) -> BackwardContext:
    """`backward` without giving the gradients to anybody: the finished context."""
    options = options or BackwardOptions()
    if grad_outputs is not None:
        options = attrs.evolve(options, grad_outputs=[grad_outputs] if isinstance(grad_outputs, (np.ndarray, TensorRef)) else grad_outputs)
    outputs = [output] if isinstance(output, TensorRef) else list(output)
    return _run(outputs, tape, executor or executor_for(CPU), options)


def deliver(context: BackwardContext, *also: Any) -> None:
    """Gives gradients to the managers that look after their tensors, and to those in `also`."""
    for id, ref in context.refs.items():
        managers = list(getattr(ref, "_info", NOTHING).managers or ())
        for manager in (*managers, *(m for m in also if m not in managers)):
            manager.accumulate(ref, context.grad_tensors[id])


def topological_order(tape: Tape | None, outputs: TensorRef | Sequence[TensorRef]) -> list[TapeId]:
    """The ids of the entries behind `outputs`, a tensor or several, in the order in which backward visits them under `tape`: descending,
    but where something was recorded by hand after it was used.

    Raises:
        NoGradError: as for `backward`.
    """
    outputs = [outputs] if isinstance(outputs, TensorRef) else outputs
    if tape is not None and not isinstance(tape, DefaultTape):
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
