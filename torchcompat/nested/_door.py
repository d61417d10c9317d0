"""Where calls on nested tensors are met: an interceptor, which finds what carries out the operation in a table, or refuses it in torch's
words."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeGuard

import numpy as np

from autograd_tape.annotations import Fn
from autograd_tape.calls import Call, Interceptor, listen_for_good
from autograd_tape.dtypes import FLOATING
from autograd_tape.modes import GradMode, _mode, grad_mode
from autograd_tape.tensor import TensorRef
from autograd_tape.views import link_view

from .._memory.layout import parts as nested_parts
from .._tensor import Tensor, frontend
from ..autograd import grad as gradients
from ..sparse._door import aten_name, could_not_run, unrecorded
from ..sparse._nodes import recorded
from ._buffers import Nested, joined

OPERATIONS: dict[str, Fn] = {}
"""What carries out operations by name, with an underscore in place."""


def operation(*names: str) -> Callable[[Fn], Fn]:
    """Says that a function carries out the operations of these names."""
    def enter(function: Fn) -> Fn:
        OPERATIONS.update(dict.fromkeys(names, function))
        return function

    return enter


def is_nested(x: object) -> TypeGuard[Tensor]:
    """Whether something is a nested tensor."""
    return isinstance(x, TensorRef) and x._k.special is nested_parts


def _any_nested(args: Iterable[object]) -> bool:
    return any([is_nested(a) or (a.__class__ is tuple or a.__class__ is list) and _any_nested(a) for a in args])


class _Nested(Interceptor):
    """Carries out operations on nested tensors."""

    place = "nested"
    all_functions = False
    frontend = frontend

    def __call__(self, call: Call) -> object:
        if not _any_nested(call.args) and not is_nested(call.out):
            return NotImplemented
        function = OPERATIONS.get(call.rec.name + "_" * call.inplace)
        if function is not None and call.out is None:
            return function(*call.args)
        if call.door.irregular and call.out is None and not call.inplace:
            return NotImplemented  # what it is made of comes here
        name = aten_name(call.door, call.args, call.inplace)
        raise refused(name if call.out is None else f"{name.partition('.')[0]}.out")


NESTED = _Nested()


def nested(buffer: Nested, node: object = None) -> Tensor:
    """A tensor with such a buffer."""
    listen_for_good(NESTED)
    return frontend.wrap(buffer, None, node)


def refused(name: str) -> NotImplementedError:
    """torch's error for an operation that it does not have for nested tensors."""
    return could_not_run(name, "NestedTensorCPU")


# -- parts ------------------------------------------------------------------------------------------------------------------------


def parts(x: Tensor) -> list[Any]:
    """The parts as tensors over the same memory, without history."""
    return [frontend.wrap(array) for array in x._data.arrays()]


def unbound(x: Tensor) -> list[Any]:
    """The parts as views."""
    found = []
    for i, part in enumerate(parts(x)):
        link_view(part, x)
        found.append(recorded(part, "UnbindBackwardAutogradNestedTensor0", (x, lambda g, i=i: placed(x._data, i, g))))
    return found


def placed(buffer: Nested, number: int, g: Tensor) -> Tensor:
    """A nested tensor with sizes like those of a buffer: zeros, but for one part."""
    return of_list([g if i == number else frontend.zeros(size, dtype=g.dtype) for i, size in enumerate(buffer.sizes)])


def of_list(tensors: Sequence[Any], name: str = "NestedTensorFromTensorListBackward0") -> Tensor:
    """A nested tensor of copies of tensors of one dtype."""
    made = nested(joined([t._data for t in tensors], tensors[0]._k.np))
    return recorded(made, name, *[(t, lambda g, i=i: unbound(g)[i]) for i, t in enumerate(tensors)])


def each(name: str, function: Fn, *inputs: Any, elementwise: bool = False, view: bool = False) -> Tensor:
    """What a function of parts makes of each; its gradient is that of carrying it out again.

    Args:
        name: what torch calls the node.
        inputs: nested tensors of as many parts, other tensors, which each part is given whole, or None.
        elementwise: where all parts lie in order, the function may be given all elements in a row.
        view: what the function gives looks at the first input's memory.
    """
    buffers = [x._data for x in inputs if is_nested(x)]
    whole = elementwise and all([b.in_order for b in buffers]) and len(buffers[0].sizes) > 0

    def pieces(x: Any) -> list[Any]:
        if not is_nested(x):
            return [None if x is None else x.detach()] * (1 if whole else len(buffers[0].sizes))
        return [frontend.wrap(x._data.flat)] if whole else parts(x)

    def joined_again(results: Sequence[Any], like: Nested) -> Tensor:
        if whole:
            return nested(Nested(results[0]._data, like.sizes))
        return of_list(results) if results else nested(Nested(like.flat[:0], ()))

    with unrecorded():
        results = [function(*row) for row in zip(*map(pieces, inputs))]
        made = nested(_seen(results, buffers[0])) if view and results else joined_again(results, buffers[0])
    given = [x for x in inputs if x is not None]
    if view:
        link_view(made, inputs[0])

    def gradient(number: int) -> Fn:
        def formula(g: Tensor, *saved: Tensor) -> Any:
            recording = grad_mode() is GradMode.ENABLED
            own = iter(saved)
            columns = []
            for x in inputs:
                value = None if x is None else next(own)
                if value is None or not recording:
                    column = pieces(value)
                    column = [t if t is None or t._k.dtype.category < FLOATING else t.detach().requires_grad_() for t in (
                        column if is_nested(value) else column[:1])]
                    column = column if is_nested(value) else column * len(pieces(g))
                else:
                    column = ([row_of(value)] if whole else unbound(value)) if is_nested(value) else [value] * len(pieces(g))
                columns.append(column)
            before = grad_mode()
            _mode.set(GradMode.ENABLED)
            try:
                outputs = [function(*row) for row in zip(*columns)]
                wanted = columns[number] if is_nested(inputs[number]) else columns[number][:1]
                cotangents = ([row_of(g)] if whole else unbound(g)) if recording else pieces(g)
                found = gradients(outputs, wanted, cotangents, create_graph=recording, allow_unused=True)
            finally:
                _mode.set(before)
            filled = [frontend.zeros_like(w) if f is None else f for f, w in zip(found, wanted)]
            if not is_nested(inputs[number]):
                return filled[0]
            return of_flat(filled[0], inputs[number]._data) if whole else of_list(filled)

        return formula

    return recorded(made, name, *[(x, gradient(i)) for i, x in enumerate(inputs)], saves=tuple(given))


def _seen(results: Sequence[Any], buffer: Nested) -> Nested:
    """The buffer of views of a buffer's parts."""
    item, start = buffer.flat.itemsize, buffer.flat.__array_interface__["data"][0]
    return Nested(buffer.flat, tuple([tuple(r._data.shape) for r in results]),
                  tuple([tuple([s // item for s in r._data.strides]) for r in results]),
                  tuple([(r._data.__array_interface__["data"][0] - start) // item if r._data.size else 0 for r in results]))


def row_of(x: Tensor) -> Tensor:
    """All elements in a row, which parts in order lie in."""
    x = in_order(x)
    made = frontend.wrap(x._data.flat)
    link_view(made, x)
    return recorded(made, "ValuesBackwardAutogradNestedTensor0", (x, lambda g: of_flat(g, x._data)))


def of_flat(flat: Tensor, like: Nested) -> Tensor:
    """Parts, of sizes like a buffer's, that lie in a row one after the other."""
    return recorded(nested(Nested(np.ascontiguousarray(flat._data), like.sizes)), "NestedViewFromBufferBackward0", (flat, row_of))


def in_order(x: Tensor) -> Tensor:
    """The tensor, or a copy whose parts lie in order."""
    return x if x._data.in_order else each("CloneBackward0", frontend.clone, x)


def changed(target: Tensor, result: Tensor) -> Tensor:
    """A nested tensor that takes over the elements, and the history, of a result of the same sizes."""
    frontend.check_inplace(target, [])
    for own, new in zip(target._data.arrays(), result._data.arrays()):
        np.copyto(own, new, casting="unsafe")
    frontend.bump(target)
    if result._node is not None:
        target._node = result._node
    return target
