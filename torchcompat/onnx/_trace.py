"""A model's run as a list of operations whose results never change: what is translated into ONNX.

The operations are those of the door (`autograd_tape.calls`), by the names of their records: an operation that has a translation is noted
whole, another by its parts. What is changed in place becomes a new value, and views of it are taken anew where they are read.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Container, Iterator, Sequence
from typing import Any

import numpy as np

from autograd_tape.annotations import Keywords
from autograd_tape.calls import Call, Interceptor, listening
from autograd_tape.dtypes import DType
from autograd_tape.tensor import TensorRef

from .._tensor import Tensor, frontend


class Value:
    """What a tensor holds at one time.

    Attributes:
        dtype, shape: the tensor's.
        const: its numbers, where no input of the model and none of its parameters decide them; they are then the same in every run.
        name: of an input, a parameter or a buffer.
        live: 2 where inputs of the model decide its numbers, 1 where its parameters or draws do.
        number: which of the trace's values it is.
    """

    __slots__ = ("dtype", "shape", "const", "name", "number", "live", "step", "at")

    def __init__(self, dtype: DType, shape: Sequence[int], number: int, const: np.ndarray[Any, Any] | None = None, name: str = "") -> None:
        self.dtype, self.shape, self.number, self.const, self.name = dtype, tuple(shape), number, const, name
        self.live = 0
        self.step: Step | None = None
        self.at = 0


class Step:
    """One operation.

    Attributes:
        name: of its record.
        args: the arguments by name; Values in the place of tensors.
        outputs: the values of the tensors that it returns.
        known_as: what torch calls it.
        into: the value that it changes in place, whose dtype and shape its result gets.
    """

    __slots__ = ("name", "args", "outputs", "known_as", "into")

    def __init__(self, name: str, args: Keywords, outputs: list[Value], known_as: str, into: Value | None = None) -> None:
        self.name, self.args, self.outputs, self.known_as, self.into = name, args, outputs, known_as, into


class Place:
    """A tensor, and where its memory is another's: that one, and how it is seen there."""

    __slots__ = ("tensor", "value", "base", "seen", "step", "output")

    def __init__(self, tensor: Tensor, value: Value) -> None:
        self.tensor, self.value = tensor, value
        self.base: Place | None = None
        self.seen: Value | None = None  # of the base, when this one's value was taken
        self.step: Step | None = None
        self.output = 0


class Traced:
    """What a run did.

    Attributes:
        steps: the operations, in order.
        values: all values, in the order in which they came up.
        result: what the model returned, with Values in the place of tensors.
        read: the operations that gave numbers of the inputs to Python.
    """

    def __init__(self) -> None:
        self.steps: list[Step] = []
        self.values: list[Value] = []
        self.inputs: list[Value] = []
        self.result: Any = None
        self.read: list[str] = []


SCATTER = "<a view's elements replaced>"


class Recorder(Interceptor):
    """Notes the operations of this thread.

    Args:
        translated: whether a record, by its name and by torch's, has a translation.
        named: the parameters and buffers, with their names.
        random: the records that draw numbers.
    """

    place, frontend = "gradient", frontend
    parts = True

    def __init__(self, translated: Callable[[str, str], bool], random: Container[str], named: Iterator[tuple[str, Tensor]]) -> None:
        self.translated, self.random = translated, random
        self.thread = threading.get_ident()
        self.inside = False
        self.trace = Traced()
        self.places: dict[int, Place] = {}
        self.by_memory: dict[tuple[object, ...], Place] = {}
        self.kept: list[Tensor] = []
        for name, tensor in named:
            self.take(tensor, self.value(tensor, name=name, live=1))

    def run(self, model: Callable[..., Any], args: Sequence[Any], kwargs: Keywords, inputs: Sequence[Tensor]) -> Traced:
        """What `model(*args, **kwargs)` does with the tensors `inputs` among its arguments."""
        for tensor in inputs:
            value = self.value(tensor, name="input", live=2)
            self.trace.inputs.append(value)
            self.take(tensor, value)
        with listening(self):
            result = model(*args, **kwargs)
        self.trace.result = self.mapped(result)
        return self.trace

    # -- values -------------------------------------------------------------------------------------------------------------------------

    def value(self, tensor: Tensor, const: np.ndarray[Any, Any] | None = None, name: str = "", live: int = 0) -> Value:
        value = Value(tensor.dtype, tensor.shape, len(self.trace.values), const, name)
        value.live = live
        self.trace.values.append(value)
        return value

    def take(self, tensor: Tensor, value: Value) -> Place:
        """`tensor` holds `value` from now on."""
        place = self.places[id(tensor)] = Place(tensor, value)  # which keeps it, so that no other gets its id or its memory
        self.by_memory.setdefault(_memory(tensor), place)
        return place

    def place_of(self, tensor: Tensor) -> Place:
        place = self.places.get(id(tensor))
        if place is None:
            place = self.by_memory.get(_memory(tensor))  # another tensor of the same memory, such as `.data`
            if place is None or place.value.dtype is not tensor.dtype:
                place = self.take(tensor, self.value(tensor, _numbers(tensor)))
            else:
                self.places[id(tensor)] = place
                self.kept.append(tensor)
        return place

    def read(self, place: Place) -> Value:
        """What a place holds now."""
        base = place.base
        if base is not None:
            now = self.read(base)
            if now is not place.seen:
                assert place.step is not None
                outputs = [self.copied(v) for v in place.step.outputs]
                self.note(Step(place.step.name, replaced(place.step.args, place.seen, now), outputs, place.step.known_as))
                place.step, place.seen, place.value = self.trace.steps[-1], now, outputs[place.output]
        return place.value

    def write(self, place: Place, value: Value) -> None:
        """A place holds another value from now on, and so do those whose memory it is part of."""
        place.value = value
        base = place.base
        if base is not None:
            assert place.step is not None and place.seen is not None
            whole = self.copied(base.value)
            self.note(Step(SCATTER, {"base": base.value, "view": place.step, "output": place.output, "value": value,
                                     "seen": place.seen}, [whole], place.step.known_as))
            self.write(base, whole)
            place.seen = whole

    def copied(self, like: Value) -> Value:
        value = Value(like.dtype, like.shape, len(self.trace.values))
        self.trace.values.append(value)
        return value

    def mapped(self, x: Any) -> Any:
        """Values in the place of tensors."""
        if isinstance(x, TensorRef):
            assert isinstance(x, Tensor)
            return self.read(self.place_of(x))
        if isinstance(x, (tuple, list)):
            items = [self.mapped(item) for item in x]
            if hasattr(x, "_fields"):
                return type(x)(*items)
            return (type(x) if isinstance(x, list) or hasattr(x, "n_fields") else tuple)(items)
        if isinstance(x, slice):
            return slice(*[self.mapped(item) for item in (x.start, x.stop, x.step)])
        if isinstance(x, dict):
            return {key: self.mapped(item) for key, item in x.items()}
        return x

    # -- operations ---------------------------------------------------------------------------------------------------------------------

    def idle(self, args: tuple[object, ...]) -> bool:
        return self.inside or threading.get_ident() != self.thread

    def __call__(self, call: Call) -> Any:
        name = call.rec.name
        flag = call.rec.takes_inplace
        changed = call.inplace or not call.door.unrecorded and (call.door.writes or bool(flag and call.args[flag]))
        known_as = _known_as(call)
        if not self.translated(name, known_as):
            return self.untranslated(call, changed)
        args = {p.name: self.mapped(a) for p, a in zip(call.door.params, call.args)}
        target = call.args[0] if changed else call.out
        into = self.read(self.place_of(target)) if isinstance(target, Tensor) else None
        before = target.shape if isinstance(target, Tensor) else None
        self.inside = True
        try:
            result = call.proceed()
        finally:
            self.inside = False
        if isinstance(target, Tensor):
            if target.shape != before or call.out is not None:
                into = Value(target.dtype, target.shape, -1)
            step = Step(name, args, [], known_as, into)
            self.finish(step, [target])
            self.write(self.place_of(target), step.outputs[0])
        elif isinstance(target, (tuple, list)):
            self.trace.steps.append(Step("", args, [], known_as))  # several results to write to: not translated
        else:
            self.outputs(Step(name, args, [], known_as), call.tensors(), result)
        return result

    def whole(self, name: str, known_as: str, args: Keywords, function: Callable[[], Any]) -> Any:
        """Notes what `function` does as one operation."""
        step = Step(name, {key: self.mapped(x) for key, x in args.items()}, [], known_as)
        self.inside = True
        try:
            result = function()
        finally:
            self.inside = False
        self.outputs(step, [], result)
        return result

    def finish(self, step: Step, results: Sequence[Tensor]) -> None:
        """Notes an operation, and what it returned."""
        given = list(values_in(step.args))
        fixed = step.name not in self.random and all([v.const is not None for v in given])
        for tensor in results:
            step.outputs.append(self.value(tensor, _numbers(tensor) if fixed else None))
        self.note(step)

    def note(self, step: Step) -> None:
        given = list(values_in(step.args))
        for i, value in enumerate(step.outputs):
            value.step, value.at = step, i
            value.live = max([v.live for v in given], default=0) or int(value.const is None)
        self.trace.steps.append(step)

    def outputs(self, step: Step, tensors: Sequence[Tensor], result: Any) -> None:
        results = [t for t in (result if isinstance(result, (tuple, list)) else [result]) if isinstance(t, Tensor)]
        if not results:
            self.trace.steps.append(step)
            return
        given = {id(t): t for t in tensors}
        new = [t for t in results if id(t) not in given]
        if not new:  # the argument itself, as of `contiguous`
            return
        viewed = next((t for t in given.values() if np.may_share_memory(t._data, new[0]._data) and t._data.size), None)
        base = self.place_of(viewed) if viewed is not None else None
        seen = self.read(base) if base is not None else None
        self.finish(step, results)
        for i, (t, value) in enumerate(zip(results, step.outputs)):
            if id(t) in given:
                continue
            place = self.take(t, value)
            if base is not None:
                place.base, place.seen, place.step, place.output = base, seen, step, i

    def untranslated(self, call: Call, changed: bool) -> Any:
        """Carries out an operation that has no translation: by those that it is made of, which come here too."""
        count, known = len(self.trace.steps), [self.places[id(t)].value for t in call.tensors() if id(t) in self.places]
        target = call.args[0] if changed else call.out
        before = self.read(self.place_of(target)) if isinstance(target, Tensor) else None
        result = call.proceed()
        live = max([v.live for v in known], default=0)
        results = [t for t in (result if isinstance(result, (tuple, list)) else [result]) if isinstance(t, Tensor)]
        if live == 2 and not results and not changed and call.out is None and call.door.unrecorded and result is not None:
            self.trace.read.append(_known_as(call))
        elif isinstance(target, Tensor) and self.read(self.place_of(target)) is before:
            step = Step(call.rec.name, {"args": self.mapped(call.args)}, [], _known_as(call))
            self.finish(step, [target])
            self.write(self.place_of(target), step.outputs[0])
        elif live and len(self.trace.steps) == count and [t for t in results if id(t) not in self.places]:
            step = Step(call.rec.name, {"args": self.mapped(call.args)}, [], _known_as(call))
            self.finish(step, results)
            for t, value in zip(results, step.outputs):
                self.take(t, value)
        return result


def _known_as(call: Call) -> str:
    rec = call.rec
    name = rec.public or getattr(rec, "torch_name", rec.name)
    return (name if "::" in name else f"aten::{name}") + "_" * call.inplace


def _memory(tensor: Tensor) -> tuple[object, ...]:
    data = tensor._data
    return data.__array_interface__["data"][0], data.shape, data.strides, 0 if data.size else id(data)


def _numbers(tensor: Tensor) -> np.ndarray[Any, Any]:
    return np.array(tensor._data, order="C")


def replaced(args: Any, old: Value | None, new: Any) -> Any:
    """Arguments with another in the place of one of them."""
    if args is old:
        return new
    if isinstance(args, dict):
        return {key: replaced(x, old, new) for key, x in args.items()}
    return type(args)([replaced(x, old, new) for x in args]) if type(args) in (tuple, list) else args


def values_in(args: Any) -> Iterator[Value]:
    """The Values among arguments, and in lists of them."""
    if isinstance(args, Value):
        yield args
    elif isinstance(args, (tuple, list)):
        for x in args:
            yield from values_in(x)
    elif isinstance(args, dict):
        for x in args.values():
            yield from values_in(x)
    elif isinstance(args, slice):
        yield from values_in((args.start, args.stop, args.step))
