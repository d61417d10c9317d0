"""Which nodes of a graph a compiler takes."""

from __future__ import annotations

import abc
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torchcompat as torch
from torchcompat._calls.absent import absences as _absences
from torchcompat.nn import Module

from ..node import Node
from .shape_prop import TensorMetadata
from .tools_common import CALLABLE_NODE_OPS, get_node_target

__all__ = ["OperatorSupportBase", "OperatorSupport", "create_op_support", "chain", "OpSupports", "any_chain"]

TargetTypeName = str
SupportedArgumentDTypes = tuple[Sequence[Sequence[torch.dtype]], dict[str, Sequence[torch.dtype]]] | None
SupportDict = Mapping[TargetTypeName, SupportedArgumentDTypes]
IsNodeSupported = Callable[[Mapping[str, Module], Node], bool]


class OperatorSupportBase(abc.ABC):
    """Says which nodes are taken."""

    @abc.abstractmethod
    def is_node_supported(self, submodules: Mapping[str, Module], node: Node) -> bool:
        """Whether a node is; `submodules` are those that it may call, by name."""
        raise NotImplementedError


class OperatorSupport(OperatorSupportBase):
    """Takes what a dictionary has, by the names of `get_node_target`.

    Args:
        support_dict: to None, or to the dtypes of arguments by position, of which None are any, and by name.
    """

    _support_dict: SupportDict

    def __init__(self, support_dict: SupportDict | None = None) -> None:
        self._support_dict = support_dict or {}

    def is_node_supported(self, submodules: Mapping[str, Module], node: Node) -> bool:
        """Whether the dictionary has it, with these dtypes; what calls nothing is taken."""
        if node.op not in CALLABLE_NODE_OPS:
            return True
        target = get_node_target(submodules, node)
        if target not in self._support_dict:
            return False
        said = self._support_dict[target]
        if said is None:
            return True
        by_position, by_name = said
        named = [(node.kwargs[k], dtypes) for k, dtypes in by_name.items() if k in node.kwargs]
        asked: list[tuple[Any, Any]] = [*zip(node.args, by_position), *named]
        return all([_get_arg_dtype(arg) in dtypes for arg, dtypes in asked if dtypes is not None and isinstance(arg, Node)])


def create_op_support(is_node_supported: IsNodeSupported) -> OperatorSupportBase:
    """Takes what a function says."""

    class FunctionalOperatorSupport(OperatorSupportBase):
        def is_node_supported(self, submodules: Mapping[str, Module], node: Node) -> bool:
            return is_node_supported(submodules, node)

    return FunctionalOperatorSupport()


def chain(*op_support: OperatorSupportBase) -> OperatorSupportBase:
    """Takes what all take."""
    return create_op_support(lambda submodules, node: all(x.is_node_supported(submodules, node) for x in op_support))


def any_chain(*op_support: OperatorSupportBase) -> OperatorSupportBase:
    """Takes what one takes."""
    return create_op_support(lambda submodules, node: any(x.is_node_supported(submodules, node) for x in op_support))


class OpSupports:
    """Small ones, to be chained."""

    @classmethod
    def decline_if_input_dtype(cls, dtype: torch.dtype) -> OperatorSupportBase:
        """Takes what has no argument of a dtype."""
        return create_op_support(lambda submodules, node: all([_get_arg_dtype(arg) != dtype for arg in node.all_input_nodes]))

    @classmethod
    def decline_if_node_in_names(cls, disallow_set: set[str]) -> OperatorSupportBase:
        """Takes nodes of other names."""
        return create_op_support(lambda submodules, node: node.name not in disallow_set)


def _get_arg_dtype(arg: Node) -> Any:
    """The dtype of a node, as `ShapeProp` has noted it.

    Raises:
        AssertionError: it is no node.
        KeyError: nothing was noted.
    """
    if not isinstance(arg, Node):
        raise AssertionError(f"Expected torch.fx.Node, got {type(arg)}")
    known = arg.meta.get("tensor_meta")
    return known.dtype if isinstance(known, TensorMetadata) else arg.meta["type"]


_absences(__name__)
