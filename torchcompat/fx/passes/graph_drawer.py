"""Graphs drawn by the package `pydot`."""

from __future__ import annotations

import hashlib
import re
from typing import Any

import torchcompat as torch
from autograd_tape.annotations import Arguments, Keywords
from torchcompat._calls.absent import absences as _absences

from ..graph_module import GraphModule
from ..node import Node, Target, _format_arg, _get_qualified_name
from ..operator_schemas import normalize_function
from .shape_prop import TensorMetadata

__all__ = ["FxGraphDrawer"]

_COLOR_MAP = {"placeholder": '"AliceBlue"', "call_module": "LemonChiffon1", "get_param": "Yellow2", "get_attr": "LightGrey",
              "output": "PowderBlue"}
_HASH_COLOR_MAP = ("CadetBlue1 Coral DarkOliveGreen1 DarkSeaGreen1 GhostWhite Khaki1 LavenderBlush1 LightSkyBlue MistyRose1 MistyRose2 "
                   "PaleTurquoise2 PeachPuff1 Salmon Thistle1 Thistle3 Wheat1").split()
_STYLE = {"style": '"filled,rounded"', "fontcolor": "#000000"}


class FxGraphDrawer:
    """A module's graph, and those of the modules of graphs that it calls, as graphs of `pydot`.

    Args:
        name: of the graph; those of modules are `name_target`.
        ignore_getattr: whether nodes of attributes are left out.
        ignore_parameters_and_buffers: whether those of modules are left out.
        skip_node_names_in_args: whether arguments that are nodes are left out of labels.
        parse_stack_trace: whether labels tell where in the program a node was made.
        dot_graph_shape: the shape of nodes.
        normalize_args: whether arguments are shown by name.

    Raises:
        RuntimeError: `pydot` is not installed.
    """

    def __init__(self, graph_module: GraphModule, name: str, ignore_getattr: bool = False, ignore_parameters_and_buffers: bool = False,
                 skip_node_names_in_args: bool = True, parse_stack_trace: bool = False, dot_graph_shape: str | None = None,
                 normalize_args: bool = False) -> None:
        try:
            import pydot
        except ModuleNotFoundError:
            raise RuntimeError("FXGraphDrawer requires the pydot package to be installed. Please install pydot through your favorite "
                               "Python package manager.") from None
        self._pydot, self._name, self.normalize_args = pydot, name, normalize_args
        self.dot_graph_shape = "record" if dot_graph_shape is None else dot_graph_shape
        self._getattrs, self._tensors = not ignore_getattr, not ignore_parameters_and_buffers
        self._skip, self._origins = skip_node_names_in_args, parse_stack_trace
        self._dot_graphs = {name: self._to_dot(graph_module, name)}
        for node in graph_module.graph.nodes:
            module = self._get_leaf_node(graph_module, node) if node.op == "call_module" else None
            if isinstance(module, GraphModule):
                self._dot_graphs[f"{name}_{node.target}"] = self._to_dot(module, f"{name}_{node.target}")

    def get_dot_graph(self, submod_name: str | None = None) -> Any:
        """The graph, or that of a module that it calls."""
        return self.get_main_dot_graph() if submod_name is None else self.get_submod_dot_graph(submod_name)

    def get_main_dot_graph(self) -> Any:
        """The graph."""
        return self._dot_graphs[self._name]

    def get_submod_dot_graph(self, submod_name: str) -> Any:
        """The graph of a module that it calls. KeyError: it calls none of that name, or one without a graph."""
        return self._dot_graphs[f"{self._name}_{submod_name}"]

    def get_all_dot_graphs(self) -> Keywords:
        """All of them by their names."""
        return self._dot_graphs

    def _to_dot(self, graph_module: GraphModule, name: str) -> Any:
        pydot, drawn = self._pydot, self._pydot.Dot(name, rankdir="TB")
        nodes = [node for node in graph_module.graph.nodes if node.op != "get_attr" or self._getattrs]
        for node in nodes:
            drawn.add_node(pydot.Node(node.name, label=self._get_node_label(graph_module, node), **self._get_node_style(node)))
            module = self._get_leaf_node(graph_module, node) if node.op == "call_module" else None
            if module is None or isinstance(module, GraphModule) or not self._tensors:
                continue
            for path, tensor in (*module.named_parameters(), *module.named_buffers()):
                own = f"{node.name}.{path}"
                what = f"{own}|op_code=get_parameter" if isinstance(tensor, torch.nn.Parameter) else r"buffer\l"
                label = f"{{{what}{tensor.dtype}{list(tensor.shape)}\\n}}"
                drawn.add_node(pydot.Node(own, label=label, **{"fillcolor": "Salmon", **_STYLE, "shape": self.dot_graph_shape}))
                drawn.add_edge(pydot.Edge(own, node.name))
        for node in nodes:
            for user in node.users:
                drawn.add_edge(pydot.Edge(node.name, user.name))
        return drawn

    def _get_node_style(self, node: Node) -> dict[str, str]:
        color = _COLOR_MAP.get(node.op)
        if color is None:  # one by the name, always the same
            digest = hashlib.md5(node._pretty_print_target(node.target).encode(), usedforsecurity=False).hexdigest()
            color = _HASH_COLOR_MAP[int(digest[:8], 16) % len(_HASH_COLOR_MAP)]
        return {"shape": self.dot_graph_shape, "fillcolor": color, **_STYLE}

    def _get_leaf_node(self, module: torch.nn.Module, node: Node) -> Any:
        """The module that a node calls. RuntimeError: there is none."""
        found: Any = module
        for name in node.target.split("."):
            if not hasattr(found, name):
                raise RuntimeError(f"{found} does not have attribute {name}!")
            found = getattr(found, name)
        return found

    def _typename(self, target: Target | torch.nn.Module) -> str:
        text = (torch.typename(target) if isinstance(target, torch.nn.Module) else target if isinstance(target, str)
                else _get_qualified_name(target))
        return text.replace("{", r"\{").replace("}", r"\}")

    def _get_node_label(self, module: GraphModule, node: Node) -> str:
        label = f"{{name=%{node.name}|op_code={node.op}\n"
        if node.op == "call_module":
            leaf = self._get_leaf_node(module, node)
            constants = [f"{name}: {getattr(leaf, name)}" for name in getattr(leaf, "__constants__", ())]
            label += rf"\n{self._typename(leaf)}\n|" + r"\n".join(constants) + r"\n"
        else:
            label += rf"|target={self._typename(node.target)}\n"
            args, kwargs = self._arguments(node)
            label += self._shown(r"|args=(\l", [_format_arg(a, max_list_len=8) for a in args], r",\n)\l")
            label += self._shown(r"|kwargs={\l", [f"{k}: {_format_arg(v, max_list_len=8)}" for k, v in kwargs.items()], r",\n}\l")
            label += rf"|num_users={len(node.users)}\n"
        label += self._tensor_meta_to_label(node.meta.get("tensor_meta"))
        if self._origins and node.stack_trace is not None:
            lines = [line.strip() for line in node.stack_trace.strip().split("\n")]
            for line, code in reversed([*zip(lines, lines[1:])]):
                match = re.match(r'File "(.+)", line (\d+), in (.+)$', line)
                if match:
                    label += rf"|file={'/'.join(match[1].split('/')[-2:])}:{match[2]} {code}\n"
                    break
        return label + "}"

    def _arguments(self, node: Node) -> tuple[Arguments, Keywords]:
        if self.normalize_args and node.op == "call_function":
            try:
                found = normalize_function(node.target, node.args, node.kwargs, normalize_to_only_use_kwargs=True)
            except TypeError:  # they do not fit
                found = None
            if found is not None:
                return found
        return node.args, node.kwargs

    def _shown(self, before: str, parts: list[str], behind: str) -> str:
        shown = [part for part in parts if not self._skip or "%" not in part]
        if not shown:
            return ""
        text = before + r",\n".join(shown) + behind
        if len(shown) == 1:
            text = text.replace(r"\l", "").replace(r"\n", "")
        return text.replace("{", r"\{").replace("}", r"\}")

    def _tensor_meta_to_label(self, tm: object) -> str:
        """What is known of a value, which may be a container. RuntimeError: it is something else."""
        if tm is None:
            return ""
        if isinstance(tm, TensorMetadata):
            shown = {"dtype": tm.dtype, "shape": tuple(tm.shape), "requires_grad": tm.requires_grad, "stride": tm.stride}
            return "".join([rf"|{name}={value}\n" for name, value in shown.items()])
        if isinstance(tm, (list, tuple, dict)):
            return "".join([self._tensor_meta_to_label(part) for part in (tm.values() if isinstance(tm, dict) else tm)])
        raise RuntimeError(f"Unsupported tensor meta type {type(tm)}")


_absences(__name__)
