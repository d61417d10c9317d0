"""A tracer that first writes programs anew: assertions become calls of `torch._assert`, annotations of variables calls of `annotate`."""

from __future__ import annotations

import ast
import copy
import inspect
import textwrap
from types import FunctionType
from typing import Any

from autograd_tape.annotations import Fn
from torchcompat._calls.absent import absences as _absences
from torchcompat.fx._symbolic_trace import Tracer
from torchcompat.fx.graph import Graph
from torchcompat.nn import Module


class AST_Rewriter(ast.NodeTransformer):
    """Writes the source of a function anew; what names stand for is what the function's own module says."""

    def rewrite(self, fn: FunctionType) -> FunctionType:
        """The function of the new source, which looks its names up where `fn` does."""
        source = textwrap.dedent("".join(inspect.getsourcelines(fn)[0]))
        code = compile(ast.fix_missing_locations(self.visit(ast.parse(source))), "", "exec", dont_inherit=True)
        made: dict[str, Any] = {}
        exec(code, dict(fn.__globals__), made)
        (compiled,) = made.values()
        found = FunctionType(compiled.__code__, fn.__globals__, compiled.__name__, compiled.__defaults__, compiled.__closure__)
        found.__kwdefaults__, found.__annotations__ = copy.copy(compiled.__kwdefaults__), compiled.__annotations__
        found.__doc__, found.__qualname__ = compiled.__doc__, compiled.__qualname__
        return found

    def visit_Assert(self, node: ast.Assert) -> ast.Expr:
        """The call for an assertion."""
        called = ast.parse("torch._assert", mode="eval").body
        call = ast.Call(called, [node.test, node.msg or ast.Constant("")], [])
        return ast.copy_location(ast.Expr(call), node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        """The assignment of the annotated value."""
        if node.value is None:
            return node
        call = ast.Call(ast.Name("annotate", ast.Load()), [node.value, node.annotation], [])
        return ast.copy_location(ast.Assign([node.target], call), node)


class RewritingTracer(Tracer):
    """Traces what `AST_Rewriter` makes of a function, or of the `forward` of a module."""

    def trace(self, root: Module | Fn, concrete_args: Any = None) -> Graph:
        """The graph of the program that was written anew."""
        return super().trace(_rewrite(root), concrete_args)


def _rewrite(fn: Any) -> Any:
    if not isinstance(fn, Module):
        return AST_Rewriter().rewrite(fn)

    class RewrittenModule(Module):
        """A module with what another has, and its `forward` written anew."""

        def __init__(self, original: Module) -> None:
            super().__init__()
            self.__dict__.update({name: copy.copy(value) for name, value in original.__dict__.items()})

    RewrittenModule.forward = AST_Rewriter().rewrite(fn.forward)  # type: ignore[arg-type]
    return RewrittenModule(fn)


_absences(__name__)
