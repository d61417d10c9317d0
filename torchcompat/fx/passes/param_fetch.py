"""Attributes of modules noted on the nodes that call them, for compilers that take nodes alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torchcompat as torch
from torchcompat import nn
from torchcompat._calls.absent import absences as _absences

from ..graph_module import GraphModule

__all__ = ["default_matching", "extract_attrs_for_lowering", "lift_lowering_attrs_to_nodes"]


def default_matching(name: str, target_version: int) -> str:
    """The name of an attribute in another version of its module: the same."""
    return name


module_fetch_book: dict[type, tuple[int, list[str], Callable[[str, int], str]]] = {
    nn.Linear: (1, ["weight", "bias"], default_matching),
    nn.Conv2d: (1, ["weight", "bias", "kernel_size", "stride", "padding", "dilation", "groups", "padding_mode"], default_matching),
    nn.BatchNorm2d: (2, ["weight", "bias", "running_mean", "running_var", "eps"], default_matching),
    nn.AdaptiveAvgPool2d: (1, [], default_matching),
    nn.MaxPool2d: (1, ["kernel_size", "stride", "padding", "dilation", "return_indices", "ceil_mode"], default_matching),
    nn.ReLU: (1, ["inplace"], default_matching),
}
"""The newest version of each class whose attributes are known, and these."""


def extract_attrs_for_lowering(mod: nn.Module) -> dict[str, Any]:
    """A module's class and attributes.

    Raises:
        RuntimeError: its class is not in the book, or is of a newer version.
    """
    name = torch.typename(mod)
    if type(mod) not in module_fetch_book:
        raise RuntimeError(f"{name} is not in the module_fetch_book yet, please add it to the module_fetch_book, open an issue and "
                           "@842974287 or report a bug to AIACC team directly.")
    version, attributes, matching = module_fetch_book[type(mod)]
    own = getattr(mod, "_version", 1)
    if version < own:
        raise RuntimeError(f"Fetcher version {version} try to fetch {name} version {own}, please upgrade the module_fetch_book, open an "
                           "issue and @842974287 or report a bug to AIACC team directly.")
    return {"name": name} | {attribute: getattr(mod, matching(attribute, own)) for attribute in attributes}


def lift_lowering_attrs_to_nodes(fx_module: GraphModule) -> None:
    """Gives each node that calls a module its `attrs_for_lowering`, those of graphs inside too."""
    for node in fx_module.graph.nodes:
        if node.op == "call_module":
            module = fx_module.get_submodule(node.target)
            if isinstance(module, GraphModule):
                lift_lowering_attrs_to_nodes(module)
            else:
                node.attrs_for_lowering = extract_attrs_for_lowering(module)


_absences(__name__)
