"""Edges of the graph in the place of tensors: what `grad` and `backward` also take."""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from autograd_tape.annotations import Arguments
from autograd_tape.dtypes import CPU_KINDS
from autograd_tape.node import AccumulateGrad, OutputEdge, TapeEntry
from autograd_tape.tensor import TensorRef

from .._memory.size import Size

if TYPE_CHECKING:
    from autograd_tape.dtypes import Kind


class GradientEdge(NamedTuple):
    """One output of a node, where a gradient can be asked for, or begin.

    The engine asks it what it would ask the tensor: its node, its kind, and a buffer of its shape.
    """

    node: TapeEntry
    output_nr: int
    ownership_token: Any = None

    @property
    def _node(self) -> Any:
        node = self.node
        if isinstance(node, AccumulateGrad):
            return node.variable
        return node if node.n_outputs == 1 else OutputEdge(node, self.output_nr)

    @property
    def _data(self) -> Any:
        found = self._likeness()
        return None if found is None else np.broadcast_to(np.zeros((), found[1].np), found[0])

    @property
    def _k(self) -> Any:
        found = self._likeness()
        return CPU_KINDS[np.dtype("f4")] if found is None else found[1]

    def _likeness(self) -> tuple[tuple[int, ...], Kind]:
        """(shape, kind) of the tensor, where anybody knows it: a node does not, but `get_gradient_edge` notes it, and the tensor, if it
        is still there, is among those that hold the node."""
        node = self.node
        if isinstance(node, AccumulateGrad):
            return node.variable._data.shape, node.variable._k
        noted = node.__dict__.setdefault("_output_likeness", {})
        if self.output_nr not in noted:
            holders = gc.get_referrers(node)
            if node.n_outputs > 1:
                holders = [t for e in holders if isinstance(e, OutputEdge) and e.nr == self.output_nr for t in gc.get_referrers(e)]
            for t in holders:
                if isinstance(t, TensorRef):
                    noted[self.output_nr] = t._data.shape, t._k
                    break
        return noted.get(self.output_nr)

    @property
    def shape(self) -> Any:
        """The tensor's shape, as messages show it."""
        found = self._likeness()
        return Size(() if found is None else found[0])

    @property
    def requires_grad(self) -> bool:
        """A gradient comes through."""
        return True

    @property
    def is_leaf(self) -> bool:
        """No tensor, and so none that gradients are added to."""
        return False

    def detach(self) -> Any:
        """Raises: there is no tensor to make zeros after."""
        raise RuntimeError("materialize_grads cannot be used when the given input is a GradientEdge")

    def retain_grad(self) -> None:
        """Does nothing: there is no tensor to keep it."""


def several(x: Any) -> Arguments:
    """A tuple of what stands for several tensors, or for one: an edge, a dictionary's values, or any other iterable."""
    return (x,) if isinstance(x, GradientEdge) else tuple(x.values()) if x.__class__ is dict else tuple(x)


def with_leaves(inputs: tuple[object, ...]) -> Arguments:
    """`inputs` with leaves in the place of the edges that lead to them."""
    return tuple([x.node.variable if isinstance(x, GradientEdge) and isinstance(x.node, AccumulateGrad) else x for x in inputs])
