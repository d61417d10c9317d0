"""The modules that a source imports, found by reading it."""

from __future__ import annotations

import ast

from ._importlib import _resolve_name


class _Imports(ast.NodeVisitor):
    """Notes (module, name in it or None) of each import."""

    def __init__(self, package: str) -> None:
        self.package = package
        self.found: dict[tuple[str, str | None], None] = {}

    def note(self, module: str | None, names: list[str], level: int) -> None:
        """Notes an import of names from a module, which may be modules themselves."""
        full = _resolve_name(module, self.package, level) if level else module or ""
        for name in names:
            self.found[full, None if name == "*" else name] = None

    def visit_Import(self, node: ast.Import) -> None:
        """`import a.b`."""
        for alias in node.names:
            self.found[alias.name, None] = None

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        """`from a import b`."""
        self.note(node.module, [alias.name for alias in node.names], node.level or 0)

    def visit_Call(self, node: ast.Call) -> None:
        """`__import__("a.b", fromlist=["c"])`, whose arguments are literals."""
        if isinstance(node.func, ast.Name) and node.func.id == "__import__":
            given = dict(zip(("name", "globals", "locals", "fromlist", "level"), node.args))
            given.update({keyword.arg: keyword.value for keyword in node.keywords if keyword.arg})
            name, names, level = [self._literal(given.get(key), default) for key, default in (("name", ""), ("fromlist", ()), ("level", 0))]
            if isinstance(name, str) and name and isinstance(level, int) and level >= 0 and isinstance(names, (list, tuple)):
                if names:
                    self.note(name, [n for n in names if isinstance(n, str)], level)
                else:  # it gives the package, and loads the module
                    self.found[name, None] = None
                    package = name.rpartition(".")[0]
                    if package:
                        self.found[_resolve_name(package, self.package, level) if level else package, None] = None
        self.generic_visit(node)

    def _literal(self, node: ast.expr | None, default: object) -> object:
        try:
            return default if node is None else ast.literal_eval(node)
        except ValueError:  # computed when it runs
            return None


def find_files_source_depends_on(src: str, package: str) -> list[tuple[str, str | None]]:
    """(module, name) of all that a source of a package imports, in its order; a name may be a module in that, and is None for all of it.

    Raises:
        SyntaxError: it is no Python.

    >>> find_files_source_depends_on("import a.b; from . import c; from d import *", "p")
    [('a.b', None), ('p', 'c'), ('d', None)]
    """
    visitor = _Imports(package)
    visitor.visit(ast.parse(src))
    return list(visitor.found)
