"""Generated source: compiled, and shown in tracebacks and debuggers."""

from __future__ import annotations

import linecache
from typing import Any



def execute(source: str, name: str, filename: str, namespace: dict[str, Any]) -> Any:
    """Compiles `source` as `filename` in `namespace`; returns what it defines as `name`."""
    code = compile(source, filename, "exec")
    linecache.cache[filename] = (len(source), None, source.splitlines(True), filename)
    exec(code, namespace)
    return namespace.pop(name)
