"""Notes on each node what its value is for given inputs."""

from __future__ import annotations

import traceback
from typing import NamedTuple

from autograd_tape.annotations import Keywords
import torchcompat as torch
from torchcompat._calls.absent import absences as _absences
from torchcompat.fx.interpreter import Interpreter
from torchcompat.fx.node import Node, map_aggregate

__all__ = ["TensorMetadata", "ShapeProp"]


class TensorMetadata(NamedTuple):
    """What a tensor is, apart from its elements."""

    shape: torch.Size
    dtype: torch.dtype
    requires_grad: bool
    stride: tuple[int, ...]
    memory_format: torch.memory_format | None
    is_quantized: bool
    qparams: Keywords


def _extract_tensor_metadata(result: torch.Tensor, include_contiguity: bool = True) -> TensorMetadata:
    """What a tensor is; its memory format is the first that it is contiguous in."""
    order = None
    if include_contiguity:
        formats = (torch.contiguous_format, torch.channels_last, torch.channels_last_3d)
        order = next((f for f, rank in zip(formats, (result.dim(), 4, 5))
                      if result.dim() == rank and result.is_contiguous(memory_format=f)), None)
    return TensorMetadata(result.shape, result.dtype, result.requires_grad, tuple(result.stride()), order, False, {})


class ShapeProp(Interpreter):
    """Carries out a graph and notes `tensor_meta` and `type` on its nodes."""

    def run_node(self, n: Node) -> object:
        """The value of a node.

        Raises:
            RuntimeError: it cannot be computed.
        """
        try:
            result = super().run_node(n)
        except Exception as error:
            traceback.print_exc()
            raise RuntimeError(f"ShapeProp error for: node={n.format_node()} with meta={n.meta}") from error
        found = False

        def extract(value: object) -> object:
            nonlocal found
            if isinstance(value, torch.Tensor):
                found = True
                return _extract_tensor_metadata(value)
            return value

        meta = map_aggregate(result, extract)
        if found:
            n.meta["tensor_meta"] = meta
        n.meta["type"] = type(result)
        return result

    def propagate(self, *args: object) -> object:
        """The value of the output for these inputs; the nodes have their notes then."""
        return super().run(*args)


_absences(__name__)
