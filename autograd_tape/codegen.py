"""Generated source: compiled, and shown in tracebacks and debuggers."""

from __future__ import annotations

import linecache

from .annotations import Fn, Keywords



def execute(source: str, name: str, filename: str, namespace: Keywords) -> Fn:
    """Compiles `source` as `filename` in `namespace`; returns what it defines as `name`."""
    code = compile(source, filename, "exec")
    linecache.cache[filename] = (len(source), None, source.splitlines(True), filename)
    exec(code, namespace)
    return namespace.pop(name)
