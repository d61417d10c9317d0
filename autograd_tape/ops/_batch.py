"""Batching: how an operation deals with a dimension of examples in front of its tensors.

The field `batch(F, call)` of a record is its rule. `call` is a `BatchedCall`; the rule returns the result on whole batches (the examples
along dimension 0 of each output), or NotImplemented, where the operation is to be carried out for each example in turn. `F` is the
operations on tensors. A rule that several records share is a function of this module: `batch = batches.matrices`. Most records need
none, since `rule_of` tells it by their family and schema. An irregular operation is made of others, which have rules of their own, but an
example has no values to read: what reads values itself has a rule, too, or says so (`reads`), and is carried out for each example.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from math import prod
from typing import Any

from ..dims import wrap_dim
from ..dtypes import result_dtype
from ..record import Record
from ..tensor import TensorRef
from ..annotations import Functions, Keywords

Rule = Callable[[Any, "BatchedCall"], Any]
VIEWS = ("view", "view?")
_DIMS = ("dim", "dims", "dim0", "dim1", "dim2", "dimension")


class BatchedCall:
    """One operation on examples, as rules see it: arguments are attributes.

    Attributes:
        values: the arguments by parameter, with whole batches in place of examples.
        is_batched: which parameters hold a batch (for lists: any of their items does).
        marks: the same of each item of a list.
        args: the arguments as they were given, examples among them.
        ranks: the number of dimensions of one example, by tensor parameter.
        size: the number of examples.
        opened: (the whole batch, True) of a tensor that is an example; (itself, False) of anything else.
    """

    def __init__(self, F: Functions, operation: Any, args: Sequence[object], size: int, opened: Callable[[Any], tuple[Any, bool]]) -> None:
        self.rec: Record = operation.rec
        self._F, self._operation, self.args, self.size, self.opened = F, operation, args, size, opened
        self.values: dict[str, Any] = {}
        self.is_batched: dict[str, bool] = {}
        self.ranks: dict[str, int] = {}
        self.marks: dict[str, list[bool]] = {}
        for p, a in zip(self.rec.params, args):
            if p.is_tensor and isinstance(a, (tuple, list)):
                wholes = [opened(x) for x in a]
                self.values[p.name], self.marks[p.name] = [w for w, _ in wholes], [m for _, m in wholes]
                self.is_batched[p.name] = any(self.marks[p.name])
            else:
                self.values[p.name], self.is_batched[p.name] = opened(a)
                if isinstance(a, TensorRef):
                    self.ranks[p.name] = a._data.ndim

    def __getattr__(self, name: str) -> Any:
        try:
            return self.__dict__["values"][name]
        except KeyError:
            raise AttributeError(name) from None

    def __call__(self, **changes: Any) -> Any:
        """The operation itself on whole batches, with some arguments replaced."""
        return self._operation(tuple({**self.values, **changes}.values()))

    def whole(self, name: str) -> Any:
        """An argument with a batch dimension in any case: expanded where all examples share it."""
        return self.expanded(self.values[name], self.is_batched[name])

    def expanded(self, t: TensorRef, is_batched: bool) -> TensorRef:
        """A tensor with a batch dimension in any case."""
        return t if is_batched else self._F.expand(self._F.unsqueeze(t, 0), (self.size, *t._data.shape))

    def lifted(self, name: str) -> TensorRef:
        """An argument with a batch dimension, and at least one more: examples of no dimension count as of one."""
        t = self.whole(name)
        return t if self.ranks[name] else self._F.unsqueeze(t, 1)

    def lowered(self, result: TensorRef, name: str) -> TensorRef:
        """The result of a `lifted` argument, in the shape of its examples."""
        return result if self.ranks[name] else self._F.reshape(result, (self.size,))

    def shifted(self, rank: int) -> Keywords:
        """The dimensions among the arguments, which are those of an example of `rank` dimensions, as dimensions of the batch."""
        return {n: shifted(d, rank) if isinstance(d, int) else tuple([shifted(i, rank) for i in d])
                for n, d in self.values.items() if n in _DIMS}


def shifted(dim: int, rank: int) -> int:
    """A dimension of an example of `rank` dimensions as that of the batch; IndexError in torch's words where there is none."""
    return wrap_dim(dim, rank) + 1


@functools.cache
def rule_of(rec: Record) -> Rule | None:
    """The batching rule of a record. One that names none has one by its family, where it is element-wise, a view, or overwrites its
    target; else by its schema, where it takes dimensions of its only tensor, or a gradient and the shape of what it is the gradient of."""
    own: Rule | None = rec.field("batch")
    if own is not None:
        return own
    if rec.family in VIEWS:
        return view
    if rec.family == "store":
        return overwritten
    if rec.elementwise:
        return elementwise
    if [p.name for p in rec.params[:2]] in (["grad", "shape"], ["grad", "size"], ["like", "shape"]):
        return of_shape
    if len(rec.tensor_params) == 1 and any(p.name in ("dim", "dims") for p in rec.params):
        return along_dims
    return None


# -- rules by family and schema -----------------------------------------------------------------------------------------------


def elementwise(F: Functions, call: BatchedCall) -> TensorRef:
    """Element-wise operations: dimensions of size 1 after the batch dimension make the examples' ranks equal."""
    return call(**aligned(F, call))


def aligned(F: Functions, call: BatchedCall, rank: int | None = None) -> Keywords:
    """The tensors of an element-wise operation with the examples' ranks made equal, and dtypes promoted as for examples."""
    rank = max(call.ranks.values()) if rank is None else rank
    changed: Keywords = {}
    for name, r in call.ranks.items():
        if call.is_batched[name] and r < rank:
            t = call.values[name]
            shape = (t.shape[0], *(1,) * (rank - r), *t.shape[1:])
            changed[name] = F.view(t, shape) if t._data.flags.c_contiguous else F.reshape(t, shape)
    if call.rec.promotion != "none" and len(call.ranks) > 1 and 0 in call.ranks.values():
        # A batch of 0-dim tensors has a dimension, and would count for more in promotion than its examples do.
        names = [p.name for p in call.rec.tensor_params if p.differentiable and p.name in call.ranks]
        numbers = [v for p in call.rec.params if p.type == "Operand" and (v := call.values[p.name]) is not None and
                   not isinstance(v, TensorRef)]
        if names:
            dtype = result_dtype([(call.values[n].dtype, call.ranks[n]) for n in names], numbers)
            for n in names:
                t = changed.get(n, call.values[n])
                if t.dtype is not dtype and call.is_batched[n] and not call.ranks[n]:
                    changed[n] = F.cast(t, dtype)
    return changed


def each_loss(F: Functions, call: BatchedCall) -> Any:
    """A loss with a `reduction`: element by element, reduced afterwards."""
    each = call(**aligned(F, call), reduction="none")
    dims = tuple(range(1, each.ndim))
    if call.reduction == "none" or not dims:
        return each
    return F.mean(each, dims) if call.reduction == "mean" else F.sum(each, dims)


def view(F: Functions, call: BatchedCall) -> Any:
    """One dimension further."""
    dims, rank = [n for n in call.values if n in _DIMS], next(iter(call.ranks.values()))
    return call(**call.shifted(rank)) if rank or not dims else NotImplemented


def overwritten(F: Functions, call: BatchedCall) -> Any:
    """Overwritten as a whole."""
    name = call.rec.params[0].name
    return call(**{**aligned(F, call, call.ranks[name]), name: call.whole(name)})


def of_shape(F: Functions, call: BatchedCall) -> Any:
    """The shape of an example becomes that of a batch, whose dimensions are one further."""
    name = "shape" if "shape" in call.values else "size"
    shape = call.values[name]
    dims = call.shifted(len(shape))
    return call(**{name: (call.size, *shape), **dims}) if shape or not dims else NotImplemented


def along_dims(F: Functions, call: BatchedCall) -> Any:
    """Operations along dimensions, all of them where none are named; examples of no dimension count as of one."""
    first, key = call.rec.params[0].name, "dims" if "dims" in call.values else "dim"
    x, rank, dim = call.values[first], call.ranks[first], call.values[key]
    one = next(p.type for p in call.rec.params if p.name == key) in ("int", "int?")
    whole = dim is None or dim == ()
    if rank and not whole:
        return call(**call.shifted(rank))
    if rank and not one:
        return call(**{key: tuple(range(1, rank + 1))}) if key == "dim" else F.clone(x)
    if not whole:
        call.shifted(0)
    result = call(**{first: F.reshape(x, (call.size, prod(x.shape[1:]))) if rank else F.unsqueeze(x, 1), key: 1 if one else (1,)})
    shape = (call.size, *(1,) * rank) if call.values.get("keepdim") else (call.size,)
    return [F.reshape(r, shape) for r in result] if isinstance(result, (tuple, list)) else F.reshape(result, shape)


def alike_along_dim(F: Functions, call: BatchedCall) -> TensorRef:
    """Several tensors of the same shape along a dimension."""
    first = call.rec.params[0].name
    wholes = {name: call.lifted(name) for name in call.ranks}
    return call.lowered(call(**wholes, **call.shifted(call.ranks[first])), first)


# -- rules that records name --------------------------------------------------------------------------------------------------


def as_is(F: Functions, call: BatchedCall) -> Any:
    """What treats each element, or the last dimensions, on its own, whatever dimensions there are."""
    return call()


def composed(F: Functions, call: BatchedCall) -> Any:
    """What is made of others as the record's `compose` says: on the examples, by the rules of these."""
    made = call.rec.field("compose")(F, *call.args)
    if isinstance(made, (tuple, list)):
        return [call.expanded(*call.opened(t)) for t in made[:len(call.rec.returns)]]
    return call.expanded(*call.opened(made))


def matrices(F: Functions, call: BatchedCall) -> TensorRef:
    """What takes batches of matrices."""
    return call() if next(iter(call.ranks.values())) >= 2 else NotImplemented


def of_result(F: Functions, call: BatchedCall) -> TensorRef:
    """Dimensions of the result, which has one more than the input."""
    return call(**call.shifted(call.ranks["input"] + 1))


def together(F: Functions, call: BatchedCall) -> Any:
    """All tensors have a batch dimension, and the `size` that an example is to get does, too."""
    more = {"size": (call.size, *call.values["size"])} if "size" in call.values else {}
    return call(**{name: call.whole(name) for name in call.ranks}, **more)


def merged(F: Functions, t: TensorRef) -> TensorRef:
    """The batch dimension and the next as one."""
    shape = t.shape
    return F.reshape(t, (shape[0] * shape[1], *shape[2:]))


def parted(F: Functions, call: BatchedCall, t: Any) -> Any:
    """The inverse of `merged`."""
    shape = t.shape
    return F.reshape(t, (call.size, shape[0] // call.size, *shape[1:]))


def images(F: Functions, call: BatchedCall) -> Any:
    """Operations on batches of images, (N, C, ...): a bigger batch."""
    return parted(F, call, call(input=merged(F, call.input))) if call.size and call.ranks["input"] >= 3 else NotImplemented


def as_channels(F: Functions, t: TensorRef) -> TensorRef:
    """(B, N, C, ...) as (N, B C, ...)."""
    t = F.transpose(t, 0, 1)
    shape = t.shape
    return F.reshape(t, (shape[0], shape[1] * shape[2], *shape[3:]))


def from_channels(F: Functions, call: BatchedCall, t: TensorRef) -> TensorRef:
    """The inverse of `as_channels`."""
    shape = t.shape
    return F.transpose(F.reshape(t, (shape[0], call.size, shape[1] // call.size, *shape[2:])), 0, 1)


def flattened(F: Functions, t: Any) -> Any:
    """The elements of each example in a row."""
    return F.reshape(t, (t.shape[0], prod(t.shape[1:])))


def matmul(F: Functions, a: TensorRef, b: TensorRef, a_batched: bool, b_batched: bool) -> TensorRef:
    """The product of two tensors by the rules of matmul on examples."""
    vector_a, vector_b = a.ndim - a_batched == 1, b.ndim - b_batched == 1
    if vector_a:
        a = F.unsqueeze(a, -2)
    if vector_b:
        b = F.unsqueeze(b, -1)
    rank_a, rank_b = a.ndim - a_batched, b.ndim - b_batched
    for _ in range(rank_b - rank_a if a_batched else 0):
        a = F.unsqueeze(a, 1)
    for _ in range(rank_a - rank_b if b_batched else 0):
        b = F.unsqueeze(b, 1)
    result = F.matmul(a, b)
    if vector_a:
        result = F.squeeze(result, -2)
    if vector_b:
        result = F.squeeze(result, -1)
    return result


def product(*ranks: int, change: Callable[[Any, Any, Any], tuple[Any, Any]] | None = None) -> Rule:
    """The rule of a product of two tensors of these ranks, of any where there are none; `change(F, a, b)` gives the factors."""
    def batch(F: Functions, call: BatchedCall) -> Any:
        names = list(call.values)
        (a, b), found = call.values.values(), tuple([call.ranks[n] for n in names])
        if a.dtype is not b.dtype or 0 in found or ranks and found != ranks:
            return NotImplemented
        if ranks == (3, 3) and a.shape[-3] != b.shape[-3]:
            return NotImplemented
        if change is not None:
            a, b = change(F, a, b)
        return matmul(F, a, b, *[call.is_batched[n] for n in names])

    return batch


def added_product(rank: int, *ranks: int) -> Rule:
    """The rule of a product of two tensors of `ranks` added to a tensor of `rank`, which does not matter where `beta` is 0."""
    def batch(F: Functions, call: BatchedCall) -> Any:
        x, name = call.input, call.rec.name
        _, a, b = list(call.values)[:3]
        if (call.ranks[a], call.ranks[b]) != ranks or name != "addr" and len({call.values[n].dtype for n in ("input", a, b)}) > 1:
            return NotImplemented
        is_batched = call.is_batched[a] or call.is_batched[b]
        if ranks == (1, 1):
            result = F.mul(F.unsqueeze(call.values[a], -1), F.unsqueeze(call.values[b], -2))
        else:
            result = matmul(F, call.values[a], call.values[b], call.is_batched[a], call.is_batched[b])
        if rank < max(ranks) == 3:
            result = F.sum(result, -3)
        if call.alpha != 1:
            result = F.mul(result, call.alpha)
        if not call.beta:
            return call.expanded(result, is_batched)
        if call.is_batched["input"]:
            for _ in range(rank - call.ranks["input"]):
                x = F.unsqueeze(x, 1)
        return F.add(F.mul(x, call.beta) if call.beta != 1 else x, result)

    return batch


def two_matrices(F: Functions, call: BatchedCall) -> Any:
    """What takes two batches of matrices, whose other dimensions broadcast."""
    names = list(call.values)[:2]
    ranks = [call.ranks[n] for n in names]
    if min(ranks) < 2:
        return NotImplemented
    changed = {}
    for name, rank in zip(names, ranks):
        t = call.values[name]
        for _ in range(max(ranks) - rank if call.is_batched[name] else 0):
            t = F.unsqueeze(t, 1)
        changed[name] = t
    return call(**changed)


def broadcast_matrices(F: Functions, call: BatchedCall, **own: int) -> dict[str, Any]:
    """Tensors whose dimensions but for the last, so many of `own`, broadcast: all with a batch dimension, and as many others."""
    most = max(call.ranks[name] - n for name, n in own.items())
    wholes = {name: call.whole(name) for name in own}
    return {name: F.reshape(t, (call.size, *(1,) * (most + own[name] - call.ranks[name]), *t.shape[1:])) for name, t in wholes.items()}
