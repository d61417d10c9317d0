"""The table of translations of operations into ONNX nodes: one function for each record, in a table by the record's name.

A translation is given the graph and those of the operation's arguments that it names: Vals for tensors, numbers, and Dims for numbers that
sizes of inputs decide. It returns a Val, or a list of them. An argument that it does not name must have its default, or say nothing of the
numbers (`SILENT`). `g.out` are the dtypes and shapes that the results have.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

Row = Callable[..., Any]
ROWS: dict[str, tuple[Row, frozenset[str]]] = {}
"""By the name of a record: its translation, and the arguments that this names."""
RANDOM: set[str] = set()
"""Those whose results are drawn anew in every run."""
SILENT = frozenset(["device", "layout", "pin_memory", "requires_grad", "memory_format", "named", "generator", "inplace", "cudnn_enable",
                    "cudnn_enabled", "sparse", "scale_grad_by_freq", "padding_idx", "non_blocking", "implicit", "sparse_grad",
                    "_stacklevel", "stable", "copy", "source", "out", "geometry",
                    "noise"])


def row(*names: str, random: bool = False) -> Callable[[Row], Row]:
    """Puts a translation into the table."""
    def put(function: Row) -> Row:
        for name in names:
            ROWS[name] = function, frozenset(list(inspect.signature(function).parameters)[1:])
        RANDOM.update(names if random else ())
        return function

    return put

