"""The graph of an ONNX file as TensorBoard draws it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tensorboard.compat.proto.attr_value_pb2 import AttrValue
from tensorboard.compat.proto.graph_pb2 import GraphDef
from tensorboard.compat.proto.node_def_pb2 import NodeDef
from tensorboard.compat.proto.versions_pb2 import VersionDef

from ._proto_graph import tensor_shape_proto

if TYPE_CHECKING:
    from onnx import GraphProto


def load_onnx_graph(fname: str) -> GraphDef:
    """The graph of a file. Needs onnx."""
    import onnx

    return parse(onnx.load(fname).graph)


def parse(graph: GraphProto) -> GraphDef:
    """The graph: a node for each input, output and operation, whose names are printed."""
    nodes = []
    for value in [*graph.input, *graph.output]:
        print(value.name)
        kind = value.type.tensor_type
        shape = AttrValue(shape=tensor_shape_proto([d.dim_value for d in kind.shape.dim]))
        nodes.append(NodeDef(name=value.name, op="Variable", input=[], attr={"dtype": AttrValue(type=kind.elem_type), "shape": shape}))
    for node in graph.node:
        told = ", ".join([" = ".join([str(field[1]) for field in given.ListFields()]) for given in node.attribute])
        print(node.output[0])
        nodes.append(NodeDef(name=node.output[0], op=node.op_type, input=node.input, attr={"parameters": AttrValue(s=told.encode())}))
    return GraphDef(node=nodes, versions=VersionDef(producer=22))
