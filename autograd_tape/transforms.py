"""Derivatives of plain functions: grad, value_and_grad, vjp, jvp, jacobian, hessian, and traces that can be computed anew.

A function is called with tensors in the place of its arrays, what it does is recorded, and the engine of
`autograd_tape.backward` goes through the record. Arguments and results are arrays, or tuples, lists and dicts of them; called on
arrays a transform returns arrays, inside another transform (or called on tensors) it returns tensors with their history, so
that transforms compose to derivatives of any order.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from typing import Any

import numpy as np

from .annotations import Arguments, Fn, Keywords, Values
from .backward import BackwardOptions, Gradients, accumulate_cotangent, reduce_to_shape, run_backward
from .dtypes import CPU, FLOATING, dtype_of
from .engine import cotangent_of, gradients, observers
from .errors import ArgumentError, NoGradError, ShapeMismatchError
from .executors import executor_for
from .frontend import F, Frontend, front_end_of
from .graph import Graph, Node
from .held import Copies, Operation, Traced, place, root_of, within
from .lazy import array_of, bind, bindable, call, evaluate, put
from .manual import ManualEntry
from .modes import GradMode, _ModeContext, _mode, aside, grad_mode
from .node import WATCHED, TapeEntry, edge_of
from .random import default_generator
from .record import OPERATIONS
from .straight import is_straight, straight, straight_back
from .tape import WEAK_TAPE, Tape
from .tensor import NOTHING, TensorRef, info_of, listeners, watchers, zeros_of
from .tree import leaves, leaves_like, rebuild, tree_map

__all__ = ["Trace", "accumulate_cotangent", "backward_on_trace", "grad", "hessian", "jacobian", "jvp", "reduce_to_shape", "trace",
           "value_and_grad", "vjp"]

_running: ContextVar[tuple[_Call | None, ...]] = ContextVar("autograd_tape.running_transforms", default=())


def running() -> list[_Call]:
    """The transforms that call the user's function now, the outermost first."""
    return [call for call in _running.get() if call is not None]


def _note_number(tensor: TensorRef, how: str) -> None:
    """A number of `tensor` is given to Python: transforms hear of it, unless it is read within an operation that a tape holds."""
    if not within():
        for call in running():
            call.left(tensor, how)


listeners.append(_note_number)


class _Inside:
    """The block in which a transform calls the user's function."""

    def __init__(self, call: _Call | None = None) -> None:
        self.call = call

    def __enter__(self) -> None:
        self.token = _running.set((*_running.get(), self.call))
        self.mode = grad_mode()
        _mode.set(GradMode.ENABLED)
        if self.call is not None:
            watchers.append(None)

    def __exit__(self, *exc: object) -> None:
        if self.call is not None:
            watchers.pop()
        _mode.set(self.mode)
        _running.reset(self.token)


# -- arguments and results --------------------------------------------------------------------------------------------


def _traced(x: Values | float, front: Frontend, copied: bool = False) -> TensorRef:
    """A leaf to differentiate with respect to: a tensor of its own, apart from all other uses of `x`, of its class. Arrays become tensors
    of `front`."""
    if isinstance(x, TensorRef):
        if x._k.dtype.category < FLOATING:
            raise _not_floating(x.dtype.name)
        front = x._front_end
        if x.requires_grad:
            # The view has its own place in the graph, and what is computed from it still leads back to `x`.
            view: TensorRef = front.reshape(x, tuple(x.shape))
            return view
        array = array_of(x)
    elif isinstance(x, (np.ndarray, np.generic, float, complex)):
        array = np.asarray(x)
        if dtype_of(array).category < FLOATING:
            raise _not_floating(array.dtype.name)
    else:
        raise _not_floating(type(x).__name__)
    leaf: TensorRef = front.over(array.copy("K") if copied else array, requires_grad=True)
    return leaf


def _not_floating(found: str) -> ArgumentError:
    return ArgumentError("Derivatives are taken with respect to floating-point arguments", expected="arrays, tensors or numbers of a "
                         "floating-point dtype", found=found, remedy="convert the argument to float, leave it out of argnums, or make "
                         "its class a tree with register_tree")


def _constant(x: Values | float, front: Frontend, copied: bool = False) -> Any:
    return front.over(x.copy("K") if copied else x) if isinstance(x, np.ndarray) else x


def _function(fn: Fn) -> Fn:
    if not callable(fn):
        raise ArgumentError("A transform takes a function", expected="a callable", found=type(fn).__name__,
                            remedy="pass the function itself")
    return fn


def _positions(argnums: int | Sequence[int], n: int) -> list[int]:
    if argnums.__class__ is int and -n <= argnums < n:
        return [argnums % n]
    found = []
    for i in tuple(argnums) if isinstance(argnums, (tuple, list)) else (argnums,):
        if not isinstance(i, int) or not -n <= i < n:
            raise ArgumentError("argnums names an argument that was not passed", expected=f"positions below {n}", found=repr(i),
                                remedy="choose positional arguments; keyword arguments are constants")
        found.append(i % n)
    if len(set(found)) != len(found):
        raise ArgumentError("argnums names an argument twice", expected="distinct positions", found=repr(argnums), remedy="name each once")
    return found


class _Call:
    """One call of a function under a transform: its traced arguments, its outputs, and what the results are to be.

    The arguments lie in the caller's memory while the function runs; in copies where derivatives are asked of it `later`, for the
    caller may change them before.
    """

    def __init__(self, fn: Fn, args: Sequence[object], kwargs: Keywords, argnums: int | Sequence[int],
                 has_aux: bool = False, later: bool = False) -> None:
        _function(fn)
        self.name = getattr(fn, "__name__", None) or repr(fn)
        tensors = [x for x in leaves((*args, kwargs) if kwargs else args) if isinstance(x, TensorRef)]
        inside = bool(_running.get())
        self.as_arrays = not inside and not tensors
        self.create_graph = inside or any([x.requires_grad for x in tensors])
        where = _positions(argnums, len(args))
        self.front = front = front_end_of(*tensors)  # whose tensors results are, where they are no arrays
        with _Inside(self):
            traced, constant = (lambda x: _traced(x, front, later)), (lambda x: _constant(x, front, later))
            made = [tree_map(traced if i in where else constant, arg) for i, arg in enumerate(args)]
            self.wanted = [made[i] for i in where]
            self.inputs: list[TensorRef] = leaves(self.wanted)
            self.single = isinstance(argnums, int)
            result = fn(*made, **tree_map(constant, kwargs) if kwargs else kwargs)
        self.aux: Any = None
        if has_aux:
            if not isinstance(result, tuple) or len(result) != 2:
                raise ArgumentError(f"'{self.name}' must return (value, aux) under has_aux=True", expected="a tuple of two",
                                    found=type(result).__name__, remedy="return (value, aux), or drop has_aux")
            result, self.aux = result
        self.output = result
        self.outputs: list[Any] = leaves(result)
        for output in self.outputs:
            if not isinstance(output, (TensorRef, np.ndarray, np.generic, float, int)):
                raise ArgumentError(f"'{self.name}' returned something that is no tensor",
                                    expected="tensors, or tuples, lists and dicts of them",
                                    found=type(output).__name__, remedy="return it as aux (has_aux=True)")

    def left(self, x: TensorRef, how: str) -> None:
        """Raises where a number is read that depends on the inputs: what Python computes from it has no gradient. Under `no_grad`
        it is asked for as a constant; and neither a branch nor an index has a derivative."""
        if how in ("bool()", "shape", "an index") or x._node is None or grad_mode() is not GradMode.ENABLED or not _reaches(x, self.inputs):
            return
        raise NoGradError(f"The gradient would be lost where a number is read by {how} in '{self.name}', at {place()}",
                          expected="operations on tensors (autograd_tape.F), through which gradients flow",
                          found=f"{how} of a value that depends on what '{self.name}' is differentiated by",
                          remedy="compute with tensors; where the number is meant as a constant, read it under no_grad()")

    def cotangents(self, given: Sequence[Values | None], *, create_graph: bool | None = None) -> list[Any]:
        """The gradient of each input, zeros where nothing depends on it."""
        create_graph = self.create_graph if create_graph is None else create_graph
        found: list[Any] = [None] * len(self.inputs)
        outputs, cotangents = [], []
        for output, g in zip(self.outputs, given):
            if isinstance(output, TensorRef) and output.requires_grad:
                outputs.append(output)
                cotangents.append(g)
        if outputs:
            front_end = front_end_of(*outputs, *self.inputs)
            found = gradients(outputs, cotangents, self.inputs, front_end if create_graph else executor_for(CPU).F,
                              create_graph=create_graph, retain_graph=True, wrap=front_end.wrap)
        return [self._zeros(x, create_graph) if g is None else g for g, x in zip(found, self.inputs)]

    def _zeros(self, x: TensorRef, as_tensor: bool) -> Values:
        zeros = zeros_of(x)
        return x._front_end.over(zeros) if as_tensor or zeros.__class__ is not np.ndarray else zeros

    def give(self, x: Any, like: TensorRef | None = None) -> Any:
        """A result as the caller wants it: an array, a tensor, or a tensor with its history; tensors of the kind that went in, of the
        argument that a gradient belongs to."""
        front = self.front if like is None else like._front_end
        if not isinstance(x, (TensorRef, np.ndarray, np.generic)) or self.as_arrays and not isinstance(x, TensorRef):
            return x
        if isinstance(x, TensorRef):
            if self.create_graph:
                return front.own(x)
            data = array_of(x)
            if any([root_of(data) is root_of(i._data) for i in self.inputs]):
                data = data.copy()  # what the function hands on is still the caller's
            return data if self.as_arrays else front.over(data)
        return front.over(np.array(x, order="K"))

    def pack(self, gradients: Sequence[Values]) -> Any:
        """Gradients in the structure of the arguments named by argnums."""
        trees = rebuild(self.wanted, iter([self.give(g, x) for g, x in zip(gradients, self.inputs)]))
        return trees[0] if self.single else tuple(trees)


def _reaches(x: TensorRef, targets: Sequence[TensorRef]) -> bool:
    """Whether the history of `x` leads to one of `targets`."""
    wanted = {id(t if t.is_leaf else t.creator) for t in targets}
    stack, seen = [edge_of(x)], set()
    while stack:
        edge = stack.pop()
        node = edge.entry if edge is not None and edge._tag == 2 else edge
        if id(node) in wanted:
            return True
        if node is not None and node._tag == 0 and id(node) not in seen:
            seen.add(id(node))
            stack += node.edges
    return False


# -- the transforms ---------------------------------------------------------------------------------------------------


def value_and_grad(fn: Fn, argnums: int | Sequence[int] = 0, has_aux: bool = False) -> Fn:
    """A function that returns the value of `fn` and its gradients.

    Args:
        fn: returns a tensor of one element; with `has_aux`, a pair of that and anything else.
        argnums: the position of the argument to differentiate with respect to, or several.

    Returns:
        `g(*args, **kwargs) -> (value, gradients)`, or `((value, aux), gradients)`; gradients in the structure of the argument, a tuple
        of them for several argnums.

    Raises:
        NoGradError: `fn` does not return one element.
        ArgumentError: an argument to differentiate with respect to is not floating point.

    >>> from autograd_tape import F
    >>> def loss(params, x): return F.sum(params["w"] * x) + params["b"]
    >>> value_and_grad(loss)({"w": np.array([1.0, 2.0]), "b": 3.0}, np.array([10.0, 20.0]))
    (array(53.), {'w': array([10., 20.]), 'b': array(1.)})
    """

    def transformed(*args: object, **kwargs: object) -> object:
        made, gradients = _differentiated(fn, args, kwargs, argnums, has_aux)
        value = made.give(made.output)
        return ((value, tree_map(made.give, made.aux)), gradients) if has_aux else (value, gradients)

    return _named_after(fn, transformed)


def _differentiated(fn: Fn, args: tuple[object, ...], kwargs: Keywords, argnums: int | Sequence[int], has_aux: bool
                    ) -> tuple[_Call, Any]:
    """A call of a function of one element, and its gradients."""
    made = _Call(fn, args, kwargs, argnums, has_aux)
    value = made.output
    if len(made.outputs) != 1 or isinstance(value, (tuple, list, dict)):
        raise NoGradError(f"'{made.name}' must return one tensor to have a gradient", expected="a tensor of one element",
                          found=f"{type(value).__name__} of {len(made.outputs)} leaves", remedy="return the loss, and the rest as aux")
    if isinstance(value, TensorRef) and (value._data.size if value.has_data else int(np.prod(value.shape))) != 1:
        raise NoGradError(f"'{made.name}' must return one element to have a gradient", expected="a tensor of one element",
                          found=f"shape {tuple(value.shape)}", remedy="reduce it to a scalar, or use vjp or jacobian")
    return made, made.pack(made.cotangents([None]))


def _named_after(fn: Fn, transformed: Fn) -> Fn:
    """A transformed function under the names of the original."""
    return functools.update_wrapper(transformed, _function(fn), ("__module__", "__name__", "__qualname__"), ())


def grad(fn: Fn, argnums: int | Sequence[int] = 0, has_aux: bool = False) -> Callable[..., Any]:
    """A function that returns the gradients of `fn`; with `has_aux`, (gradients, aux). See `value_and_grad`.

    >>> cube = lambda x: x * x * x
    >>> grad(cube)(2.0), grad(grad(cube))(2.0), grad(grad(grad(cube)))(2.0)
    (array(12.), array(12.), array(6.))
    """

    def transformed(*args: object, **kwargs: object) -> object:
        made, gradients = _differentiated(fn, args, kwargs, argnums, has_aux)
        return (gradients, tree_map(made.give, made.aux)) if has_aux else gradients

    return _named_after(fn, transformed)


def vjp(fn: Fn, *primals: Any, has_aux: bool = False) -> Arguments:
    """The value of `fn`, and the function that carries cotangents of it back to the primals.

    Returns:
        (output, pullback), or (output, pullback, aux). `pullback(cotangents)`, in the structure of the output, returns a tuple with
        the cotangent of each primal; it can be called any number of times.

    >>> y, pullback = vjp(lambda a, b: a * b, np.array([1.0, 2.0]), np.array([3.0, 4.0]))
    >>> y, pullback(np.array([1.0, 10.0]))
    (array([3., 8.]), (array([ 3., 40.]), array([ 1., 20.])))
    """
    made = _Call(fn, primals, {}, tuple(range(len(primals))), has_aux, later=True)

    def pullback(cotangents: object) -> tuple[Values, ...]:
        given = leaves_like(made.output, cotangents, "The cotangents and the output")
        later = made.create_graph or bool(_running.get()) or any(isinstance(g, TensorRef) and g.requires_grad for g in given)
        found = made.cotangents(given, create_graph=later)
        return tuple(rebuild(made.wanted, iter([x._front_end.own(g) if later else made.give(g, x) for g, x in zip(found, made.inputs)])))

    output = tree_map(made.give, made.output)
    return (output, pullback, tree_map(made.give, made.aux)) if has_aux else (output, pullback)


def jvp(fn: Callable[..., Any], primals: Sequence[Any], tangents: Sequence[Any], has_aux: bool = False) -> tuple[Any, ...]:
    """The value of `fn`, and its directional derivative along `tangents`.

    The pullback is linear in its cotangent, so differentiating it with respect to that gives the derivative forwards
    (https://j-towns.github.io/2017/06/12/A-new-trick.html).

    >>> jvp(lambda x: x * x * x, (np.array(2.0),), (np.array(10.0),))
    (array(8.), array(120.))
    """
    for name, given in (("primals", primals), ("tangents", tangents)):
        if not isinstance(given, (tuple, list)):
            raise ArgumentError(f"jvp() takes its {name} as a tuple, one for each argument", expected="a tuple or list",
                                found=type(given).__name__, remedy=f"pass ({name[:-1]},)")
    primals, tangents = tuple(primals), tuple(tangents)
    directions = leaves_like(primals, tangents, "Primals and tangents")
    made = _Call(fn, primals, {}, tuple(range(len(primals))), has_aux)
    for x, t in zip(made.inputs, directions):
        if tuple(np.shape(t) if not isinstance(t, TensorRef) else t.shape) != tuple(x.shape):
            raise ShapeMismatchError("A tangent has another shape than its primal", expected=str(tuple(x.shape)), found=str(np.shape(t)),
                                     remedy="pass tangents of the primals' shapes")
    later = made.create_graph or any(isinstance(t, TensorRef) and t.requires_grad for t in directions)
    with _Inside():
        dummies = [TensorRef.over(zeros_of(o), requires_grad=True) if isinstance(o, TensorRef) and o.requires_grad else None
                   for o in made.outputs]
        pulled = made.cotangents(dummies, create_graph=True)
        pairs = [(g, t) for g, t in zip(pulled, directions) if g.requires_grad]
        wanted = [u for u in dummies if u is not None]
        found: dict[int, Any] = {}
        if pairs and wanted:
            context = run_backward([g for g, _ in pairs], WEAK_TAPE, None, BackwardOptions(
                retain_graph=True, create_graph=later, inputs=wanted,
                grad_outputs=[t if isinstance(t, TensorRef) else np.asarray(t, g._k.np) for g, t in pairs]))
            found = context.grad_tensors
    pushed = []
    for output, u in zip(made.outputs, dummies):
        tangent = None if u is None else found.get(u.id)
        if tangent is None:
            tangent = zeros_of(output) if isinstance(output, TensorRef) else np.zeros_like(output)
        pushed.append(made.give(tangent) if not (later and isinstance(tangent, TensorRef)) else made.front.own(tangent))
    result = tree_map(made.give, made.output), rebuild(made.output, iter(pushed))
    return (*result, tree_map(made.give, made.aux)) if has_aux else result


def jacobian(fn: Fn, argnums: int | Sequence[int] = 0, has_aux: bool = False) -> Fn:
    """A function that returns the derivative of every output element with respect to every input element.

    Returns:
        In the structure of the output, for each of its leaves the structure of the arguments, of arrays of shape
        `output.shape + input.shape`; with `has_aux`, a pair of that and aux.

    >>> jacobian(lambda x: x * x)(np.array([1.0, 2.0]))
    array([[2., 0.],
           [0., 4.]])
    """

    def transformed(*args: object, **kwargs: object) -> object:
        made = _Call(fn, args, kwargs, argnums, has_aux)
        blocks = [made.pack(_rows(made, nr)) for nr in range(len(made.outputs))]
        result = rebuild(made.output, iter(blocks))
        return (result, tree_map(made.give, made.aux)) if has_aux else result

    return _named_after(fn, transformed)


def _rows(made: _Call, nr: int) -> list[Any]:
    """The derivative of output `nr` with respect to each input."""
    output = made.outputs[nr]
    shape = tuple(output.shape) if isinstance(output, TensorRef) else np.shape(output)
    size = int(np.prod(shape))
    rows: list[list[Any]] = [[] for _ in made.inputs]
    for i in range(size):
        one = np.zeros(size, output._k.np if isinstance(output, TensorRef) else None)
        one[i] = 1
        given: list[Any] = [None] * len(made.outputs)
        given[nr] = one.reshape(shape)
        single = _Only(made, nr)
        for row, g in zip(rows, single.cotangents(given)):
            row.append(g)
    blocks = []
    for x, row in zip(made.inputs, rows):
        full = shape + tuple(x.shape)
        if made.create_graph and row:
            with _Inside():
                blocks.append(made.front.reshape(made.front.stack(row), full))
        else:
            blocks.append(np.stack(row).reshape(full) if row else np.zeros(full, x._k.np))
    return blocks


class _Only(_Call):
    """A call looked at for one of its outputs."""

    def __init__(self, made: _Call, nr: int) -> None:
        self.__dict__.update(made.__dict__)
        self.outputs = [o if i == nr else None for i, o in enumerate(made.outputs)]


def hessian(fn: Fn, argnums: int | Sequence[int] = 0, has_aux: bool = False) -> Fn:
    """A function that returns the second derivatives of a function of one element: the jacobian of its gradient.

    >>> hessian(lambda x: (x * x * x).sum())(np.array([1.0, 2.0]))
    array([[ 6.,  0.],
           [ 0., 12.]])
    """
    return jacobian(grad(fn, argnums, has_aux), argnums, has_aux)


# -- traces -----------------------------------------------------------------------------------------------------------


class Trace:
    """What a function did on given arguments, kept so that it can be looked at, computed anew, and differentiated.

    Attributes:
        inputs: the tensors that stand for the leaves of the arguments, floating-point ones requiring grad.
        outputs: the tensors among the leaves of the result.
        output: the result, in its structure.
        nodes: the entries of the operations that lead to the outputs, in the order of the computation. Those of operations without
            gradient (comparisons, indices, what ran under `no_grad`) lead nowhere, and only say what ran.

    All operations on tensors are kept, and run again: in the place of a tensor that decides something, `where(x > 0, ...)`,
    `x[x.argmax()]`, comes its new value. What Python reads out of a tensor that depends on the inputs (`float(x)`, `if x > 0:`, a size
    that values decide) could not be followed, and raises while the function runs.

    >>> t = trace(lambda x, y: (x * y).sum(), np.array([1.0, 2.0]), np.array([3.0, 4.0]))
    >>> [node.op_name for node in t.nodes]
    ['mul', 'sum']
    >>> t.refresh_graph_values(np.array([10.0, 20.0]), np.array([3.0, 4.0]))
    array(110.)
    >>> [backward_on_trace(t)[x.id] for x in t.inputs]
    [array([3., 4.]), array([10., 20.])]
    """

    def __init__(self, fn: Fn, /, *args: object, **kwargs: object) -> None:
        _function(fn)
        self.fn, self._tape = fn, Tape(retain_graph=True)
        self._behind = False  # whether the tape holds operations as they ran before
        with _Inside():
            given = [x for x in leaves([args, kwargs]) if isinstance(x, TensorRef)]
            self.front = front = front_end_of(*given)
            self.as_arrays = not given
            self.args, self.kwargs = tree_map(lambda x: self._mark(x, front), (tuple(args), kwargs))
            self.inputs: list[TensorRef] = [x for x in leaves([self.args, self.kwargs]) if isinstance(x, TensorRef)]
            self._tape.held = Traced(self.inputs)
            drawn = default_generator.get_state()
            with self._tape:
                self.output = fn(*self.args, **self.kwargs)
            self._draws = not np.array_equal(drawn, default_generator.get_state())
        self.outputs: list[TensorRef] = [x for x in leaves(self.output) if isinstance(x, TensorRef)]
        self._keep_arrays_out()
        self.compute()

    def compute(self) -> list[TapeEntry]:
        """Walks back from the outputs: `nodes`, in the order of the computation. The constructor does it."""
        if hasattr(self, "_nodes"):
            return self.nodes
        held = self.tape.held
        known = [o for o in self.outputs if (id := held.id_of(o)) is not None and id not in held.sources]
        self.graph: Graph = Graph.from_tape(self.tape, known, copy=False)
        # What is needed to walk the graph again: the operations as first recorded, the tensors that come from outside and those made.
        self._first: dict[int, Operation] = {operation.entry.id: operation for operation in held.operations}
        first = [self._first[node.id] for node in self.graph.nodes]
        self._nodes: list[TapeEntry] = [operation.entry for operation in first]
        self._made = [(id, ref) for operation in first for id, ref in zip(operation.outputs, operation.refs[1])]
        made = {id for id, _ in self._made}
        self._sources = {id: ref for operation in first for id, ref in zip(operation.inputs, operation.refs[0]) if id not in made}
        # What lay at first in the memory of sources that the function writes to.
        self._initial = {id: data for id, ref in self._sources.items()
                         if (data := self.graph.values[id].data) is not None and data is not ref._data}
        # What draws random numbers must not run once more where somebody asks for the entries.
        self._plain = is_straight(first) and not self._initial and not self._draws
        self._again_at_once: Callable[[], None] | None = None
        self._pull: Callable[..., Any] | None = None
        self._passes = 0
        return self._nodes

    @property
    def tape(self) -> Tape:
        """What holds the operations as they ran last."""
        self._catch_up()
        return self._tape

    @property
    def nodes(self) -> list[TapeEntry]:
        """The entries, see above."""
        self._catch_up()
        return self._nodes

    def _catch_up(self) -> None:
        if self._behind:
            self._run(self._start(False))

    def _keep_arrays_out(self) -> None:
        for x in leaves(self.output):
            if isinstance(x, (np.ndarray, np.generic)):
                raise ArgumentError("A traced function returns tensors", expected="tensors, and other constants", found=type(x).__name__,
                                    remedy="compute with the operations of autograd_tape.F, or return it from another function")

    @staticmethod
    def _mark(x: Values | float, front: Frontend) -> Any:
        """A tensor of the trace's own for an argument: a copy, since the caller may change theirs before it is computed anew."""
        if not isinstance(x, (TensorRef, np.ndarray, np.generic, float)):
            return x
        category = (x._k.dtype if isinstance(x, TensorRef) else dtype_of(np.asarray(x))).category
        if category >= FLOATING:
            made = _traced(x, front, True)
        else:
            made = x._front_end.over(array_of(x).copy("K")) if isinstance(x, TensorRef) else front.over(np.array(x))
        info_of(made).traced = True
        return made

    def __repr__(self) -> str:
        return f"<Trace of {getattr(self.fn, '__name__', repr(self.fn))}: {len(self.nodes)} nodes>\n{self.graph!r}"

    def refresh_graph_values(self, *args: Any, **kwargs: Any) -> Any:
        """Computes the recorded operations anew with their original arguments, on new inputs if given; the outputs, as arrays where the
        trace was made on arrays.

        Every operation runs as it ran at first, in the same order and grad mode; random numbers are drawn anew. The tensors of the trace
        keep their identity and take the new values, and the graph is ready for another backward pass, whether or not it was freed.

        Where it fails, nothing is changed. Positional arguments, or keyword arguments, that are left out stay as they are.

        Raises:
            ArgumentError: the arguments differ in structure from the original ones.
            ShapeMismatchError, DTypeError: an input differs in shape or dtype.
        """
        news = self._new_inputs(args, kwargs)
        before = [(x, x._data, x._v, x._base) for x in self.inputs], dict(self._initial)
        for x, data in news:
            put(x, data)
        try:
            if self._plain:
                if self._again_at_once is None:
                    self._again_at_once = straight([self._first[node.id] for node in self.graph.nodes], self.front)
                self._again_at_once()
                self._behind = True  # nobody may ever ask for the entries
            else:
                self._run(self._start(bool(news)))
        except BaseException:
            for x, *state in before[0]:
                x._data, x._v, x._base = state
            self._initial = before[1]
            raise
        return tree_map(self._given, self.output)

    def _run(self, env: dict[int, TensorRef]) -> None:
        """Carries out the operations as they were recorded, on a tape."""
        tape = Tape(retain_graph=True)
        try:
            with _Inside(), tape:
                self.graph.run(env, lambda node, refs: self._again(tape, self._first[node.id], node, refs))
        except BaseException:
            tape.clear()
            raise
        self._tape.clear()
        for id, ref in self._made:  # a tensor changed in place comes several times, and keeps the last value
            new = env[id]
            ref._data, ref._node, ref._v = new._data, new._node, new._v
        self._behind = False
        self._tape, self._nodes = tape, [operation.entry for operation in tape.held.operations]

    def _pulled_back(self, outputs: list[TensorRef], cotangents: list[np.ndarray | None], inputs: list[TensorRef]) -> list[Any] | None:
        """The gradients of the inputs by a straight function, which is made where they are asked for the second time; None where that does
        not do, or somebody looks at what passes do."""
        if WATCHED or observers:
            return None
        F, edges = executor_for(CPU).F, [edge_of(o) for o in outputs]
        self._passes += 1
        if self._passes == 2:
            self._pull = straight_back(edges, inputs)
        if self._pull is None:
            return None
        given = [cotangent_of(o, g, False, F) for o, g in zip(outputs, cotangents)]
        before = grad_mode()
        _mode.set(GradMode.DISABLED)
        try:
            found = self._pull(F, edges, given)
        finally:
            _mode.set(before)
        if found is None:
            self._pull = None
        return found

    def _given(self, x: TensorRef) -> Values:
        if not isinstance(x, TensorRef):
            return x
        data = array_of(x).copy()
        return data if self.as_arrays else self.front.wrap(data)

    def _new_inputs(self, args: tuple[np.ndarray, ...], kwargs: Keywords) -> list[tuple[TensorRef, np.ndarray]]:
        """The inputs that are to change, and what they are to hold."""
        what = "The original and the new arguments"
        pairs = list(zip(leaves(self.args), leaves_like(self.args, args, what))) if args else []
        if kwargs:
            unknown = [name for name in kwargs if name not in self.kwargs]
            if unknown:
                raise ArgumentError(f"{what} differ in structure", expected=f"keywords {', '.join(self.kwargs) or 'none'}",
                                    found=", ".join(unknown), remedy="pass the keywords that the function was traced with")
            old = {name: self.kwargs[name] for name in kwargs}
            pairs += zip(leaves(old), leaves_like(old, kwargs, what))
        found = []
        for old, new in pairs:
            if isinstance(old, TensorRef):
                found.append((old, bindable(old, array_of(new) if isinstance(new, TensorRef) else np.asarray(new))))
            elif not (old is new or old == new):
                raise ArgumentError("A trace cannot take another value for an argument that is no tensor", expected=repr(old),
                                    found=repr(new), remedy="trace the function again")
        return found

    recompute = refresh_graph_values

    def _start(self, bound: bool) -> dict[int, TensorRef]:
        """The sources by id. Where the function writes to one, with what was there at first, or was bound since; a tensor that is not the
        trace's own keeps what it has, and another takes its place."""
        env, copies = dict(self._sources), Copies()
        own = {id(x) for x in self.inputs}
        for key, data in self._initial.items():
            ref = env[key]
            if id(ref) not in own:
                env[key] = TensorRef.over(copies.of(data), requires_grad=self.graph.values[key].kind == "input")
            elif bound:
                self._initial[key] = evaluate(ref).copy()
            else:
                bind(ref, data)
        return env

    def _again(self, tape: Tape, first: Operation, node: Node, refs: Sequence[TensorRef]) -> Sequence[TensorRef]:
        entry = first.entry
        if not isinstance(entry, ManualEntry) or entry.op_name in OPERATIONS:
            with _ModeContext(first.mode):
                return call(F, node.op, refs, node.arguments, node.inplace)
        with _ModeContext(GradMode.DISABLED), aside():
            (output,) = call(F, node.op, refs, node.arguments)
        output = TensorRef.over(evaluate(output))
        old = {id(x): new for x, new in zip(entry.refs[0], refs)}
        tape.record(entry.op_name, refs, output, entry.grad_fn, [old.get(id(s), s) for s in entry.saved or refs])
        return [output]


def trace(fn: Fn, *args: object, **kwargs: object) -> Trace:
    """Calls `fn` and keeps what it did; see `Trace`."""
    return Trace(fn, *args, **kwargs)


def _is_traced(x: TensorRef) -> bool:
    """Whether this is an input of a trace, or was computed from one."""
    stack: list[Any] = [x if x.is_leaf else edge_of(x)]
    seen: set[int] = set()
    while stack:
        edge = stack.pop()
        node = edge.entry if edge is not None and edge._tag == 2 else edge
        if node is None or id(node) in seen:
            continue
        seen.add(id(node))
        if node._tag == 0:
            stack += node.edges
        elif getattr(node, "_info", NOTHING).traced:
            return True
    return getattr(x, "_info", NOTHING).traced


TensorRef.traced = property(_is_traced)  # type: ignore[attr-defined]


def backward_on_trace(trace: Trace, cotangents: np.ndarray | None = None, *, create_graph: bool = False) -> Gradients:
    """Carries cotangents of a trace's outputs back to its inputs.

    Args:
        cotangents: in the structure of the trace's output; ones where left out.
        create_graph: gradients are tensors whose computation is recorded.

    Returns:
        From input, or its id, to gradient, zeros for an input that no output depends on.

    Raises:
        ArgumentError: it is no trace, or the cotangents differ in structure from the output.
    """
    if not isinstance(trace, Trace):
        raise ArgumentError("backward_on_trace() takes a trace", expected="a Trace", found=type(trace).__name__,
                            remedy="make one with trace(fn, *args)")
    inputs = [x for x in trace.inputs if x.requires_grad]
    if cotangents is None:
        # The engine starts from one where an output has one element.
        given: list[Any] = [None if o._data is not None and o._data.size == 1 else np.ones(tuple(o.shape), o._k.np) for o in trace.outputs]
    else:
        found_like = leaves_like(trace.output, cotangents, "The cotangents and the output")
        given = [g for o, g in zip(leaves(trace.output), found_like) if isinstance(o, TensorRef)]
    roots = [(o, g) for o, g in zip(trace.outputs, given) if o.requires_grad]
    if not inputs:
        raise NoGradError("The trace has no input to differentiate with respect to", expected="a floating-point argument", found="none",
                          remedy="trace the function with floating-point arrays")
    found: dict[int, Any] = {}
    if roots and trace._plain:  # nothing but what the front end's operations recorded
        outputs, given = [o for o, _ in roots], [g for _, g in roots]
        grads = None if create_graph else trace._pulled_back(outputs, given, inputs)
        if grads is None:
            grads = gradients(outputs, given, inputs, trace.front if create_graph else executor_for(CPU).F,
                              create_graph=create_graph, retain_graph=True, wrap=trace.front.wrap)
        found = {x.id: g for x, g in zip(inputs, grads) if g is not None}
    elif roots:
        context = run_backward([o for o, _ in roots], trace.tape, None, BackwardOptions(
            retain_graph=True, create_graph=create_graph, inputs=inputs, grad_outputs=[g for _, g in roots]))
        found = context.grad_tensors
    def zeros(x: TensorRef) -> Any:
        made = zeros_of(x)
        return x._front_end.over(made) if create_graph or made.__class__ is not np.ndarray else made

    return Gradients({x.id: found[x.id] if x.id in found else zeros(x) for x in inputs})
