"""Nodes of graphs as TensorBoard's protocol buffers."""

from __future__ import annotations

from collections.abc import Sequence

from tensorboard.compat.proto.attr_value_pb2 import AttrValue
from tensorboard.compat.proto.node_def_pb2 import NodeDef
from tensorboard.compat.proto.tensor_shape_pb2 import TensorShapeProto


def attr_value_proto(dtype: object, shape: Sequence[int] | None, s: str | None) -> dict[str, AttrValue]:
    """What a node says of itself: a text, and the shape of its result."""
    told = {}
    if s is not None:
        told["attr"] = AttrValue(s=s.encode())
    if shape is not None:
        told["_output_shapes"] = AttrValue(list=AttrValue.ListValue(shape=[tensor_shape_proto(shape)]))
    return told


def tensor_shape_proto(outputsize: Sequence[int]) -> TensorShapeProto:
    """A shape."""
    return TensorShapeProto(dim=[TensorShapeProto.Dim(size=d) for d in outputsize])


def node_proto(name: str, op: str = "UnSpecified", input: list[str] | str | None = None, dtype: object = None,
               shape: Sequence[int] | None = None, outputsize: Sequence[int] | None = None, attributes: str = "") -> NodeDef:
    """A node: its name, its operation, the names of its inputs, the shape of its result."""
    inputs = input if isinstance(input, list) else [] if input is None else [input]
    return NodeDef(name=name, op=op, input=inputs, attr=attr_value_proto(dtype, outputsize, attributes))
