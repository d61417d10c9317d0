"""Nodes that checks of gradients are made of."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from collections.abc import Sequence

from autograd_tape.node import TapeEntry, edge_of
from autograd_tape.tensor import next_id

if TYPE_CHECKING:
    from torchcompat._tensor import Tensor


class UndefinedGradBackward(TapeEntry):
    """Passes on no gradient at all."""

    __slots__ = ()

    def raw(self, grad: Any, F: Any) -> Sequence[Any]:
        """None."""
        return [None]

    recorded = raw


def undefined_grad(tensor: Tensor) -> Tensor:
    """The same values, with a history through which no gradient comes."""
    result = tensor.detach()
    node = UndefinedGradBackward()
    node.id, node.edges, node.saved, node.meta = next_id(), (edge_of(tensor),), (), None
    result._node = node
    return result


class UndefinedGrad:
    """`undefined_grad` as torch's programs call it: `UndefinedGrad()(tensor)`, or with several tensors."""

    def __call__(self, *tensors: Any) -> Any:
        results = tuple(undefined_grad(t) for t in tensors)
        return results[0] if len(results) == 1 else results
