"""torch.onnx.symbolic_opset11: what translations that programs register use of torch's own.

Of opset 13, the least that models are exported to here, axes are inputs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .._calls.absent import absences as _absences
from ._custom import GraphContext
from .symbolic_helper import _get_tensor_dim_size

if TYPE_CHECKING:
    from ._graph import Operand, Val


def _axes(g: GraphContext, dims: Sequence[int]) -> Any:
    return g.op("Constant", value_ints=np.array(dims, np.int64))


def unsqueeze(g: GraphContext, self: Operand, dim: int) -> Any:
    """With a dimension of 1 put in."""
    return g.op("Unsqueeze", self, _axes(g, [dim]))


def squeeze(g: GraphContext, self: Val, dim: int | None = None) -> Any:
    """Without dimensions of 1, or without one, where it is that."""
    if dim is None:
        return g.op("Squeeze", self)
    size = _get_tensor_dim_size(self, dim)
    return self if size is not None and size != 1 else g.op("Squeeze", self, _axes(g, [dim]))


def select(g: GraphContext, self: Operand, dim: int, index: Any) -> Any:
    """What lies at an index of a dimension; at several, where the index is a tensor with a dimension."""
    index = g.op("Constant", value_int=np.array(index, np.int64)) if isinstance(index, int) else index
    return g.op("Gather", self, index, axis_i=dim)


_absences(__name__)
