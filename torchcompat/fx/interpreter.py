"""Graphs carried out node by node, and graphs made anew node by node."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_tape.annotations import Arguments, Keywords
from torchcompat._calls.absent import absences as _absences
from torchcompat.nn import Module
from torchcompat.utils._pytree import PyTree

from .graph import Graph
from .graph_module import GraphModule
from .node import Target, Node, map_aggregate, map_arg
from .proxy import Proxy
from .traceback import preserve_node_meta, set_current_meta
from ._symbolic_trace import Tracer

__all__ = ["Interpreter", "Transformer"]


class Interpreter:
    """Carries out the nodes of a graph, one after another; subclasses do something else for some of them.

    Args:
        module: the module with what the graph refers to.
        garbage_collect_values: whether values are dropped behind their last use.
        graph: the graph, by default the module's.
    """

    def __init__(self, module: Module, garbage_collect_values: bool = True, graph: Graph | None = None) -> None:
        self.module = module
        self.submodules = dict(module.named_modules())
        self.graph: Graph = graph if graph is not None else module.graph
        self.env: dict[Node, PyTree] = {}
        self.name, self.extra_traceback = "Interpreter", True
        self.garbage_collect_values = garbage_collect_values
        self.user_to_last_uses: dict[Node, list[Node]] = {}
        if garbage_collect_values:
            seen: set[Node] = set()
            for node in reversed(self.graph.nodes):
                for used in node.all_input_nodes:
                    if used not in seen:
                        seen.add(used)
                        self.user_to_last_uses.setdefault(node, []).append(used)

    def run(self, *args: object, initial_env: dict[Node, PyTree] | None = None, enable_io_processing: bool = True) -> object:
        """The value of the graph's output.

        Args:
            initial_env: values of nodes that are known.

        Raises:
            RuntimeError: an input has neither an argument nor a default.
        """
        self.env = initial_env if initial_env is not None else {}
        self.args_iter: Iterator[PyTree] = iter(self.graph.process_inputs(*args) if enable_io_processing else args)
        for node in self.graph.nodes:
            if node in self.env:
                continue
            try:
                self.env[node] = self.run_node(node)
            except Exception as error:
                if self.extra_traceback:
                    message = f"While executing {node.format_node()}"
                    message = f"{error.args[0]}\n\n{message}" if error.args and error.args[0] else message
                    message += f"\nOriginal traceback:\n{node.stack_trace}"
                    message += ("\nUse tlparse to see full graph. (https://github.com/pytorch/tlparse?tab=readme-ov-file#tlparse-parse-"
                                "structured-pt2-logs)")
                    error.args = (message, *error.args[1:])
                    if isinstance(error, KeyError):
                        raise RuntimeError(*error.args) from error
                raise
            for used in self.user_to_last_uses.get(node, []):
                del self.env[used]
            if node.op == "output":
                value = self.env[node]
                return self.graph.process_outputs(value) if enable_io_processing else value
        return None

    def boxed_run(self, args_list: list[PyTree]) -> object:
        """As `run`, of arguments in a list, which is emptied so that they can be freed early."""
        args = list(args_list)
        args_list.clear()
        return self.run(*args, enable_io_processing=False)

    def run_node(self, n: Node) -> object:
        """The value of one node."""
        with set_current_meta(n):
            args, kwargs = self.fetch_args_kwargs_from_env(n)
            return getattr(self, n.op)(n.target, args, kwargs)

    def placeholder(self, target: str, args: Arguments, kwargs: Keywords) -> object:
        """The value of an input: the next argument, or the default."""
        if target.startswith("*"):
            return list(self.args_iter)
        try:
            return next(self.args_iter)
        except StopIteration:
            if args:
                return args[0]
            raise RuntimeError(f"Expected positional argument for parameter {target}, but one was not passed in!") from None

    def get_attr(self, target: str, args: Arguments, kwargs: Keywords) -> object:
        """The value of an attribute of the module."""
        return self.fetch_attr(target)

    def call_function(self, target: Target, args: Arguments, kwargs: Keywords) -> object:
        """The result of a function."""
        assert callable(target)
        return target(*args, **kwargs)

    def call_method(self, target: str, args: Arguments, kwargs: Keywords) -> object:
        """The result of a method of the first argument."""
        owner, *others = args
        return getattr(owner, target)(*others, **kwargs)

    def call_module(self, target: str, args: Arguments, kwargs: Keywords) -> object:
        """The result of a submodule."""
        return self.fetch_attr(target)(*args, **kwargs)

    def output(self, target: str, args: Arguments, kwargs: Keywords) -> object:
        """The value of the output."""
        return args[0]

    def fetch_attr(self, target: str) -> PyTree:
        """What the module has at a path.

        Raises:
            RuntimeError: nothing.
        """
        value: object = self.module
        for i, name in enumerate(path := target.split(".")):
            if not hasattr(value, name):
                raise RuntimeError(f"Node referenced nonexistent target {'.'.join(path[:i + 1])}")
            value = getattr(value, name)
        return value

    def fetch_args_kwargs_from_env(self, n: Node) -> tuple[Arguments, Keywords]:
        """The values of a node's arguments."""
        return self.map_nodes_to_values(n.args, n), self.map_nodes_to_values(n.kwargs, n)

    def map_nodes_to_values(self, args: PyTree, n: Node) -> PyTree:
        """Arguments with values in the place of nodes.

        Raises:
            RuntimeError: a node has none.
        """

        def value(arg: Node) -> object:
            if arg not in self.env:
                raise RuntimeError(f"Node {n} referenced nonexistent value {arg}! Run Graph.lint() to diagnose such issues")
            return self.env[arg]

        return map_arg(args, value)


class Transformer(Interpreter):
    """Makes a graph anew: what its methods compute, on stand-ins, is the new graph."""

    def __init__(self, module: Module) -> None:
        super().__init__(module)
        self.new_graph = Graph()
        self.new_graph.set_codegen(module.graph._codegen)

        class TransformerTracer(Tracer):
            """Modules are single nodes; tensors keep their names."""

            def __init__(self, graph: Graph) -> None:
                super().__init__()
                self.graph = graph
                self.tensor_attrs = {}
                self.root = module

            def is_leaf_module(self, _: Module, __: str) -> bool:
                return True

        self.tracer = TransformerTracer(self.new_graph)

    def placeholder(self, target: str, args: Arguments, kwargs: Keywords) -> object:
        """A stand-in for an input of the new graph."""
        default = next(iter(args)) if args else ...
        return Proxy(self.new_graph.placeholder(target, default_value=default), self.tracer)

    def get_attr(self, target: str, args: Arguments, kwargs: Keywords) -> object:
        """A stand-in for an attribute in the new graph."""
        return self.tracer.create_proxy("get_attr", target, args, kwargs)

    def call_module(self, target: str, args: Arguments, kwargs: Keywords) -> object:
        """A stand-in for the result of a submodule."""
        module = self.fetch_attr(target)
        return self.tracer.create_proxy("call_module", target, args, kwargs) if isinstance(module, Module) else None

    def call_function(self, target: Target, args: Arguments, kwargs: Keywords) -> object:
        """A stand-in for the result of a function."""
        return self.tracer.create_proxy("call_function", target, args, kwargs)

    def transform(self) -> GraphModule:
        """The module of the new graph."""
        with preserve_node_meta():
            result = super().run(enable_io_processing=False)
        if result is not None:
            old = self.graph.output_node()
            node = self.new_graph.output(map_aggregate(result, lambda a: a.node if isinstance(a, Proxy) else a), old.type)
            node.meta.update(old.meta)
        made = GraphModule(self.module, self.new_graph)
        made.meta = dict(getattr(self.module, "meta", {}))
        return made


_absences(__name__)
