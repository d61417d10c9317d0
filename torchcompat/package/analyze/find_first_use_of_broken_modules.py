"""How modules that cannot be packaged came to be asked for."""

from __future__ import annotations

from ..package_exporter import PackagingError

__all__ = ["find_first_use_of_broken_modules"]


def find_first_use_of_broken_modules(exc: PackagingError) -> dict[str, list[str]]:
    """From each module that stopped a package to the modules by which it was first reached."""
    if not isinstance(exc, PackagingError):
        raise AssertionError(f"exception must be a PackagingError, got {type(exc).__name__}")
    graph = exc.dependency_graph
    return {name: graph.first_path(name) for name, facts in graph.nodes.items() if facts.get("error")}
