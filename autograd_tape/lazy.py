"""Operations declared before they are computed.

`OpSpec(op, inputs)` names an operation on tensors that may have no data yet. Its output's shape and dtype are known at once
(the meta executor infers them); its value is computed when somebody asks for it, once data has been bound to the leaves.
"""

from __future__ import annotations

import inspect
import math
import weakref
from collections.abc import Callable, Sequence
from typing import Any

from dataclasses import dataclass
import numpy as np

from .annotations import Fn, Keywords
from .calls import Call, Door, Interceptor, listen, unlisten
from .dtypes import CPU, CPU_KINDS, Device
from .errors import ArgumentError, DTypeError, NoGradError, ShapeMismatchError
from .executors import Executor, executor_for, get_executor
from .executors.meta import meta_array
from .frontend import Frontend
from .held import put_together, tensors_in
from .locks import fork_safe_lock
from .modes import GradMode, _ModeContext, aside
from .node import OutputEdge
from .ops import ALIASES, RECORDS, get_record
from .ops._host import data_of
from .functions.general import General
from .functions.namespace import QUIET_SETS, base_namespace
from .record import OPERATIONS, Record, assign_tensors, named_arguments
from .tensor import BUFFERS, NOTHING, TensorRef, above, buffer_of, info_of, table_of
from .version import Version, number_of
from .views import unwatched_view


class ExecutorFrontend(Frontend):
    """All operations as functions of TensorRefs, every one of them carried out by one executor."""

    def __init__(self, executor: Executor) -> None:
        self.Tensor, self.name, self.executor = TensorRef, f"{executor.name} executor", executor
        self.functions, self.methods, self.entrances = {}, {}, {}
        # Operations whose quiet path is written by hand find it closed: their quiet sets are empty.
        self.namespace = {**base_namespace(), **dict.fromkeys(QUIET_SETS, frozenset())}
        self.namespace.update(Tensor=TensorRef, new=object.__new__, Edge=OutputEdge, unwatched_view=unwatched_view)
        self.below_namespace = self.half_namespace = self.integer_namespace = self.complex_namespace = self.namespace

    def function(self, name: str) -> Any:
        """The function of an operation. There is no quiet path here: it would call NumPy's kernels."""
        found = self.functions.get(name)
        if found is None:
            inplace = name not in RECORDS and name not in ALIASES and name.endswith("_")
            rec = get_record(name[:-1] if inplace else name)
            if inplace:
                own = rec.field("function_")
                found = self.functions[name] = self._general(rec, True) if own is None else self.bind_function(rec, own)
                return found
            irregular = rec.field("function") is not None or rec.field("make") is not None
            found = self.functions[name] = self.bind_function(rec) if irregular else self._general(rec)
        return found

    def _general(self, rec: Record, inplace: bool = False) -> Fn:
        general = General(rec, self)

        def function(*args: object, out: object = None, **kwargs: object) -> Any:
            values = named_arguments(rec, args, kwargs)
            return general(tuple(values[p.name] for p in rec.params), out, inplace)

        return function

    def half(self, general: General, before: bool = False, inplace: bool = False) -> Fn:
        """The general path, for there is no quiet one in half precision either."""
        return lambda *args: general.whole(args, None, inplace)

    integers = half

    def place(self, rec: Record, tensors: Sequence[TensorRef], values: dict[str, Any]) -> tuple[Device, Any]:
        """Always this front end's executor."""
        return CPU, self.executor

    def valueless(self, t: TensorRef) -> bool:
        """Of declared tensors, too, which stand for themselves on the executor that knows shapes alone."""
        return self.executor.name == "meta" or super().valueless(t)


_frontends: dict[int, ExecutorFrontend] = {}
_lock = fork_safe_lock()


def frontend_of(executor: Executor) -> ExecutorFrontend:
    """The front end whose operations `executor` carries out."""
    with _lock:
        found = _frontends.get(id(executor))
        if found is None:
            found = _frontends[id(executor)] = ExecutorFrontend(executor)  # holds the executor, so its id stays taken
        return found


@dataclass(init=False, eq=False, slots=True)
class OpSpec:
    """An operation on tensors: its name, its inputs, its further arguments, and what comes out.

    An output whose shape depends on values (`nonzero`, `one_hot`) cannot be declared: this is an error, or, where only the kernel
    knows, one when the value is computed.

    Args:
        op: an operation's name.
        inputs: a tensor for each of its tensor parameters, in order.
        arguments: its other parameters by name.

    Raises:
        UnknownOperationError: no operation has this name.
        ShapeMismatchError, ArgumentError, ...: the operation does not take these inputs, or gives no tensor (`equal`).

    >>> x, w = TensorRef.declare((2, 3), "float32"), TensorRef.declare((2, 1), "float32")
    >>> y = OpSpec("mul", [x, w]).output
    >>> y.shape, y.dtype.name, y.has_data
    ((2, 3), 'float32', False)
    >>> executor = get_executor("numpy")
    >>> executor.bind(x, [[1, 2, 3], [4, 5, 6]]), executor.bind(w, [[1], [10]])  # doctest: +ELLIPSIS
    (TensorRef(...), TensorRef(...))
    >>> y.numpy()
    array([[ 1.,  2.,  3.],
           [40., 50., 60.]], dtype=float32)
    """

    op: str
    inputs: tuple[TensorRef, ...]
    arguments: dict[str, Any]
    outputs: tuple[TensorRef, ...]

    def __init__(self, op: str, inputs: TensorRef | Sequence[TensorRef], **arguments: object) -> None:
        inputs = [inputs] if isinstance(inputs, TensorRef) else inputs
        if not isinstance(inputs, (list, tuple)):
            raise ArgumentError(f"OpSpec takes the inputs of '{op}' in a list", expected="a list of tensors, or one",
                                found=type(inputs).__name__, remedy="pass [x, y]")
        for i, x in enumerate(inputs):
            if not isinstance(x, TensorRef):
                raise ArgumentError(f"OpSpec takes tensors, input {i} of '{op}' is none", expected="TensorRef", found=type(x).__name__,
                                    remedy="wrap arrays with TensorRef.of(array), and pass numbers by name")
        self.op, self.inputs, self.arguments = op, tuple(inputs), arguments
        shapes = [_meta(x) for x in inputs]
        with _ModeContext(GradMode.DISABLED), aside():
            results = call(frontend_of(get_executor("meta", "meta")), op, shapes, arguments)
        if not results:
            raise ArgumentError(f"'{op}' gives no tensor, so there is no output to declare",
                                expected="an operation that gives some", found=op, remedy="call it on tensors that have data")
        self.outputs = tuple(TensorRef.declare(tuple(r.shape), r.dtype) for r in results)
        for nr, output in enumerate(self.outputs):
            output._info.spec = (self, nr)
            follow(output, self.inputs)
            _DECLARED.wait(output)

    @property
    def output(self) -> TensorRef:
        """The (first) output."""
        return self.outputs[0]

    def __repr__(self) -> str:
        inputs = ", ".join(f"{x.dtype.name}{list(x.shape)}" for x in self.inputs)
        further = "".join(f", {k}={v!r}" for k, v in self.arguments.items())
        return f"OpSpec({self.op}({inputs}{further}) -> {', '.join(f'{o.dtype.name}{list(o.shape)}' for o in self.outputs)})"


def _meta(x: TensorRef) -> TensorRef:
    """A stand-in of the same shape and dtype. Its zeros cost no memory until read, and some operations do read indices."""
    shape = tuple(x.shape)
    small = math.prod(shape) * x._k.np.itemsize < 1 << 30
    t = TensorRef.__new__(TensorRef)
    t._data, t._k, t._node, t._v, t._base = np.zeros(shape,
                                                     x._k.np) if small else meta_array(shape, x._k.np), CPU_KINDS[x._k.np], None, None, None
    return t


def call(F: Frontend, op: str, inputs: Sequence[TensorRef], arguments: dict[str, Any], inplace: bool = False) -> tuple[TensorRef, ...]:
    """Carries out an operation by name: a tensor for each tensor parameter that `arguments` leaves open, and in their `Slot`s; its
    outputs."""
    own = OPERATIONS.get(op)
    if own is not None:
        arguments, inputs = put_together(arguments, inputs)
        return tuple(tensors_in(own(*arguments.pop("*", inputs), **arguments)))
    function, positional, keywords = spelled(F, op, inputs, arguments, inplace)
    return tuple(tensors_in(function(*positional, **keywords)))


def spelled(F: Frontend, op: str, inputs: Sequence[TensorRef], arguments: Keywords, inplace: bool = False
            ) -> tuple[Callable[..., Any], Sequence[Any], dict[str, Any]]:
    """The function of an operation by name, and the positional and keyword arguments of a call."""
    arguments, inputs = put_together(arguments, inputs)
    rec = get_record(op)
    function = F.function(rec.name + "_") if inplace else getattr(F, rec.name)
    if "*" in arguments:
        return function, arguments.pop("*"), arguments
    named, rest = assign_tensors(rec, inputs, arguments)
    if rest:
        raise ArgumentError(f"'{rec.name}' takes fewer tensors", expected=rec.schema, found=f"{len(inputs)} tensors",
                            remedy="pass one per tensor parameter")
    out = {"out": named.pop("out")} if "out" in named else {}
    positional = [named[p.name] for p in rec.params if not p.keyword_only and p.name in named]
    leading = [p.name for p in rec.params if not p.keyword_only]
    if [n for n in leading if n in named] == leading[:len(positional)]:
        keywords = {k: v for k, v in named.items() if k not in leading}
    else:
        positional, keywords = [], named
    return function, spread(rec, positional), keywords | out


def spread(rec: Record, positional: list[Any]) -> list[Any]:
    """Positional arguments as an operation's function takes them: a list of tensors one by one where it has `*tensors`."""
    own = rec.field("function")
    if own is None or not own.__code__.co_flags & inspect.CO_VARARGS or not positional or not isinstance(positional[-1], (list, tuple)):
        return positional
    leading = [p for p in rec.params if not p.keyword_only]
    return [*positional[:-1], *positional[-1]] if len(positional) == len(leading) and leading[-1].type == "Tensor[]" else positional


def spec_of(ref: TensorRef) -> OpSpec | None:
    """The OpSpec that a tensor is an output of, or None."""
    found = getattr(ref, "_info", NOTHING).spec
    return None if found is None else found[0]


def _origin(ref: TensorRef) -> tuple[str, Sequence[TensorRef], Keywords, Sequence[TensorRef]]:
    """(operation, inputs, arguments, outputs) of a tensor without data."""
    spec = spec_of(ref)
    if spec is not None:
        return spec.op, spec.inputs, spec.arguments, spec.outputs
    creator = ref.creator
    if creator is not None and creator.by_hand:
        return creator.op_name, creator.refs[0], creator.refs[2], (ref,)
    raise NoGradError(f"Tensor {ref.id} has no data", expected="bound data", found=repr(ref),
                      remedy="bind it with executor.bind(ref, array)")


def evaluate(ref: TensorRef, executor: Executor | None = None) -> np.ndarray:
    """The data of a tensor, computing first what it depends on and has no data yet.

    Raises:
        NoGradError: a leaf has no data.
    """
    if not isinstance(ref, TensorRef):
        raise ArgumentError("evaluate() takes a tensor", expected="TensorRef", found=type(ref).__name__,
                            remedy="pass what an OpSpec declared, or a tensor")
    executor = executor or executor_for(CPU)
    stack = [ref]  # not recursive: chains may be long
    while stack:
        wanted = stack[-1]
        if wanted._data is not None:
            stack.pop()
            continue
        op, inputs, arguments, outputs = _origin(wanted)
        missing = [x for x in inputs if x._data is None]
        if missing:
            stack += missing
            continue
        with _ModeContext(GradMode.DISABLED), aside():
            results = call(frontend_of(executor), op, [_detached(x) for x in inputs], arguments)
        for output, result in zip(outputs, results):
            if tuple(result.shape) != tuple(output.shape):
                raise ShapeMismatchError(f"The output of '{op}' was declared with another shape", expected=str(tuple(result.shape)),
                                         found=str(tuple(output.shape)), remedy="take the output from OpSpec(op, inputs)")
            if output._data is None:
                made = buffer_of(result._data, output._k.np)
                # A view would share memory with an input, but not its version.
                output._data = made.copy() if any([np.may_share_memory(made, x._data) for x in inputs]) else made
                _DECLARED.done(output)
                creator: Any = output.creator
                if creator is not None and creator.by_hand:
                    creator.computed()
    data: np.ndarray = ref._data
    return data


class _Declared(Interceptor):
    """Calls of irregular operations, which look at data as they like. (Regular ones see to it on the general path.)"""

    place = "declared"
    all_functions = False

    def __init__(self) -> None:
        self.waiting: weakref.WeakValueDictionary[int, TensorRef] = weakref.WeakValueDictionary()  # those without a value
        self.listens = False
        self.lock = fork_safe_lock()

    def wait(self, output: TensorRef) -> None:
        """From now on `output` has no value."""
        with self.lock:
            self.waiting[id(output)] = output
            if not self.listens:
                self.listens = True
                listen(self, everything=False)

    def done(self, output: TensorRef) -> None:
        """It has one now."""
        self.waiting.pop(id(output), None)

    def concerns(self, door: Door) -> bool:
        return door.irregular

    def idle(self, args: tuple[object, ...]) -> bool:
        """Whether no argument waits. Where nothing waits at all this listens no more."""
        with self.lock:
            if not self.waiting and self.listens:
                self.listens = False
                unlisten(self, everything=False)
        return not self.waiting or all([t._data is not None for t in tensors_in(args)])

    def __call__(self, call: Call) -> Any:
        for t in tensors_in((call.args, call.out)):
            if t._data is None:
                evaluate(t)
        return NotImplemented


_DECLARED = _Declared()


def array_of(ref: TensorRef) -> np.ndarray:
    """The elements of a tensor, whether or not it requires grad, and whatever its memory stands for; computed first where need be."""
    array: np.ndarray = evaluate(ref) if ref._data is None else data_of(ref)
    return array


def _detached(x: TensorRef) -> TensorRef:
    t = TensorRef.__new__(TensorRef)
    t._data, t._k, t._node, t._v, t._base = x._data, x._k, None, None, None
    return t


def _leave_views(ref: TensorRef) -> None:
    """Counts a change of a tensor that is about to get other memory; its views stay with the old, and with one another."""
    version = ref._v
    if version is None or not version.views and ref._base is None:
        ref._v = Version.new(number_of(ref) + 1)
        return
    old = TensorRef.__new__(TensorRef)
    old._data, old._k, old._node, old._v, old._base = ref._data, ref._k, ref._node, version, ref._base
    for view in version.live_views():
        if view._base is ref:
            view._base = old
    ref._v, ref._base = Version.new(version.number + 1), None


def follow(output: TensorRef, inputs: Sequence[TensorRef]) -> None:
    """Has a tensor without data computed anew whenever one of those that it is computed from gets other data."""
    for x in inputs:
        table_of(x, "followers", weakref.WeakValueDictionary)[id(output)] = output


def _recompute(ref: TensorRef) -> None:
    """Takes their values from the tensors that follow `ref`, so that they are computed anew when asked for."""
    found: dict[int, TensorRef] = {}
    stack = [ref]
    while stack:
        for output in list((getattr(stack.pop(), "_info", NOTHING).followers or {}).values()):
            if id(output) not in found:
                found[id(output)] = output
                if output._data is not None:  # else nothing was computed from it
                    stack.append(output)
    computed = [output for output in found.values() if output._data is not None]
    renewed: dict[Any, Any] = {}  # entries, by those that what was computed at once from the old data keeps
    for output in sorted(computed, key=lambda output: output.id):
        info_of(output).shape = output.shape
        _leave_views(output)
        output._data = None
        _DECLARED.wait(output)
        entry: Any = output.creator
        if entry is not None and entry.by_hand:
            renewed[entry] = output._node = entry.renewed()
    for entry in [output.creator for output in found.values()]:
        if entry is not None:
            entry.edges = tuple([renewed.get(edge, edge) for edge in entry.edges])
    for tape in {entry.tape() for entry in renewed.values()} - {None}:
        tape.renew(renewed)


def bindable(ref: TensorRef, array: Any) -> np.ndarray:
    """The copy of `array` that `bind` would give a tensor. Nothing is changed.

    Raises:
        ShapeMismatchError, DTypeError, ArgumentError: see `bind`.
    """
    if not isinstance(ref, TensorRef):
        raise ArgumentError("bind() takes a tensor", expected="TensorRef", found=type(ref).__name__,
                            remedy="pass TensorRef.declare(shape, dtype)")
    declared = array.__class__ in BUFFERS or isinstance(array, np.ndarray)
    try:
        data = array.copy("K") if declared else np.array(array, ref._k.np, copy=True, order="K")
    except (TypeError, ValueError):
        raise ArgumentError(f"The data bound to tensor {ref.id} are no numbers", expected="an array, or nested lists of numbers",
                            found=type(array).__name__, remedy="bind an array of the declared shape and dtype") from None
    if data.shape != (tuple(ref.shape) if ref._data is None else ref._data.shape):
        raise ShapeMismatchError(f"The data bound to tensor {ref.id} has the wrong shape", expected=str(tuple(ref.shape)),
                                 found=str(data.shape), remedy="bind an array of the declared shape")
    if data.dtype != ref._k.np:
        raise DTypeError(f"The data bound to tensor {ref.id} has the wrong dtype", expected=ref.dtype.name, found=str(data.dtype),
                         remedy=f"convert it with array.astype('{ref.dtype.name}')")
    return data.astype(ref._k.np, copy=False)


def bind(ref: TensorRef, array: np.ndarray | list[float | list[int]]) -> TensorRef:
    """Gives a tensor its data: a copy of an array of its shape and dtype, or nested lists.

    Outputs of `OpSpec`s follow: they are computed anew from the new data, and so are their gradients. What was computed at once keeps its
    value, and a backward pass that would need the replaced data says so.

    Raises:
        ShapeMismatchError, DTypeError: the data is not what the tensor was declared to be.
        ArgumentError: it is none, or the tensor is the output of an operation.
    """
    data = bindable(ref, array)
    spec, made = spec_of(ref), None if ref.is_leaf else ref.creator
    if spec is not None or made is not None and not made.by_hand:
        raise ArgumentError(f"Tensor {ref.id} is the output of '{made.op_name if spec is None else spec.op}'",  # type: ignore[union-attr]
                            expected="a leaf, or what somebody else computes", found="a computed tensor",
                            remedy="bind data to the leaves, from which it is computed")
    put(ref, data)
    return ref


def put(ref: TensorRef, data: np.ndarray) -> None:
    """`bind` with what `bindable` gave."""
    if ref._data is not None:
        _leave_views(ref)
        if getattr(ref, "_info", NOTHING).followers:
            _recompute(ref)
    ref._data = data


above.evaluate, above.bind = evaluate, bind
