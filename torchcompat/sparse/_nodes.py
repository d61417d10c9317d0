"""Entries of what only sparse tensors know, and the way between a sparse tensor and the tensor of its values."""

from __future__ import annotations

from typing import Any
from collections.abc import Callable

from autograd_tape.dtypes import FLOATING
from autograd_tape.engine import on_tensors
from autograd_tape.modes import GradMode, grad_mode, keep_on_tapes
from autograd_tape.node import TapeEntry, edge_of, freed
from autograd_tape.saved import SavedVariable
from autograd_tape.tensor import next_id
from autograd_tape.views import link_view

from .._calls.above import above
from .._tensor import Tensor, frontend
from ._buffers import Sparse, is_sparse, sparse

Formula = Callable[..., Any]
"""The gradient of an input, given the output's and what was saved: tensors, whose computation may be recorded."""


class Entry(TapeEntry):
    """An entry whose formulas were written beside its operation. `saved` is (the formulas, one for each edge; the saved tensors)."""

    __slots__ = ()

    def recorded(self, grad: Any, F: Any) -> Any:
        if self.saved is None:
            raise freed(self)
        formulas, tensors = self.saved
        kept = [t.unpack(self) for t in tensors]
        return [None if edge is None else formula(grad, *kept) for edge, formula in zip(self.edges, formulas)]

    def raw(self, grad: Any, F: Any) -> Any:
        return on_tensors(self, grad)


_classes: dict[str, type[Entry]] = {}


def recorded(output: Any, name: str, *inputs: tuple[Any, Formula], saves: tuple[Any, ...] = ()) -> Any:
    """Gives a fresh tensor the history of an operation, and returns it.

    Args:
        name: what torch calls its node.
        inputs: the differentiable inputs, each with the formula of its gradient.
        saves: tensors that the formulas are given after the output's gradient; a change of one is an error then.
    """
    tensors = tuple([x for x, _ in inputs if x is not None])
    for t in (*tensors, *saves):
        if above.has_tangents is not None and above.has_tangents(t):
            raise NotImplementedError(
                f"Trying to use forward AD with {name.removesuffix('Backward0')} that does not support it because it has not been "
                "implemented "
                "yet.\nPlease file an issue to PyTorch at https://github.com/pytorch/pytorch/issues/new?template=feature-request.yml "
                "so that we can prioritize its implementation.")
    if grad_mode() is not GradMode.ENABLED or output._k.dtype.category < FLOATING or all([x._node is None for x in tensors]):
        return output
    cls = _classes.get(name)
    if cls is None:
        cls = _classes[name] = type(name, (Entry,), {"__slots__": (), "op": name})
    node = cls()
    node.id, node.edges, node.meta = next_id(), tuple([None if x is None else edge_of(x) for x, _ in inputs]), None
    node.saved = tuple([formula for _, formula in inputs]), tuple([SavedVariable._save(node, t, None) for t in saves])
    output._node = node
    keep_on_tapes(node, tensors, (output,), {})
    return output


def plain(t: Tensor) -> Tensor:
    """The tensor without history."""
    return t if t._node is None else t.detach()


def values_of(x: Tensor) -> Tensor:
    """The values of a sparse tensor, over the same memory. Their gradient is a sparse tensor's with the same indices."""
    buffer: Sparse = x._data
    values = frontend.wrap(buffer.values._data, buffer.values._k)
    link_view(values, x)
    return recorded(values, "ValuesBackward0", (x, lambda g: with_values(buffer, g, coalesced=False)))


def with_values(buffer: Sparse, values: Tensor, name: str = "SparseCooTensorWithDimsAndTensorsBackward0", coalesced: Any = None) -> Tensor:
    """A sparse tensor with the indices of a buffer and other values, and their history."""
    made = buffer.over(plain(values))
    if coalesced is not None and hasattr(type(made), "coalesced"):
        made.coalesced = coalesced
    return recorded(sparse(made), name, (values, lambda g: picked(g, made)))


def picked(g: Tensor, buffer: Sparse) -> Tensor:
    """The values of a gradient, sparse or dense, at the indices of a buffer."""
    if not (is_sparse(g) and g._data.__class__ is buffer.__class__ and all([
            a._data is b._data for a, b in zip(g._data.parts()[:-1], buffer.parts()[:-1])])):
        g = above.sparse_methods().sparse_mask(g, sparse(buffer))
    return values_of(g)
