"""A recorded program as one straight function: a line for each operation, on the quiet paths of the front end's functions.

What a trace did is known: which functions were called, with which values and constants, in which order. To run it again nothing has to be
looked up, and what it cost is what its operations cost. Programs that write to memory, or hold operations recorded by hand, run otherwise.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

from .codegen import execute
from .frontend import Frontend
from .held import Operation, tensors_in
from .indices import Indices
from .lazy import spelled
from .modes import _mode, grad_mode
from .record import Record
from .tensor import TensorRef


def is_straight(operations: Sequence[Operation]) -> bool:
    """Whether operations can run again as a straight function."""
    return all([isinstance(o.op, Record) and not o.inplace and not o.written and not o.writes and not _hides_tensors(o.arguments)
                for o in operations])


def straight(operations: Sequence[Operation], F: Frontend) -> Callable[[], None]:
    """A function that computes the outputs of operations anew, and puts them into the tensors that were made at first: all of them, or
    none where it fails.

    >>> from autograd_tape import F, Tape, TensorRef
    >>> x = TensorRef.of([1.0, 2.0])
    >>> with Tape() as tape:
    ...     y = F.sum(x * x, 0)
    >>> again = straight(tape.held.operations, F)
    >>> x.numpy()[:] = 10.0
    >>> again(), y.numpy()
    (None, array(200.))
    """
    cells: dict[str, Any] = {"set_mode": _mode.set, "grad_mode": grad_mode, "tensors_in": tensors_in}
    lines: list[str] = []
    puts: list[str] = []
    made: dict[int, str] = {}
    mode = None
    for i, operation in enumerate(operations):
        rec, (refs, results) = operation.op, operation.refs
        assert isinstance(rec, Record)
        names = {id(ref): made[value] for value, ref in zip(operation.inputs, refs) if value in made}  # the others come from outside
        cells[f"f{i}"], positional, keywords = spelled(F, rec.name, refs, operation.arguments)
        call = ", ".join([_source(x, names, cells) for x in positional] + [f"{k}={_source(x, names, cells)}" for k, x in keywords.items()])
        outputs = []
        for value, ref in zip(operation.outputs, results):
            made[value] = name = f"t{len(puts)}"
            cells[f"r{len(puts)}"] = ref
            puts.append("r{0}._data = t{0}._data; r{0}._node = t{0}._node; r{0}._v = t{0}._v".format(len(puts)))
            outputs.append(name)
        if operation.mode is not mode:
            mode = operation.mode
            cells[f"m{i}"] = mode
            lines.append(f"set_mode(m{i})")
        one = len(outputs) == 1 and rec.field("function") is None and not rec.returns_list
        lines.append(f"{outputs[0]} = f{i}({call})" if one else f"{', '.join([*outputs, ''])} = tensors_in(f{i}({call}))")
    body = ["before = grad_mode()", "try:", *["    " + line for line in lines or ["pass"]], "finally: set_mode(before)", *puts]
    text = f"def make({', '.join(cells)}):\n    def replay():\n" + "".join([f"        {line}\n" for line in body]) + "    return replay\n"
    replay: Callable[[], None] = execute(text, "make", f"<replay {next(_count)}>", {})(**cells)
    return replay


_count = itertools.count()


def _source(value: Any, names: dict[int, str], cells: dict[str, Any]) -> str:
    """An argument as source; what has no text is put into `cells`."""
    if isinstance(value, TensorRef) and id(value) in names:
        return names[id(value)]
    if value is None or value.__class__ in (int, bool, str):
        return repr(value)
    if value.__class__ is list or value.__class__ is tuple:
        inside = "".join([_source(x, names, cells) + ", " for x in value])
        return f"[{inside}]" if value.__class__ is list else f"({inside})"
    if isinstance(value, slice):
        return f"slice({', '.join([_source(x, names, cells) for x in (value.start, value.stop, value.step)])})"
    cells[f"c{len(cells)}"] = value
    return f"c{len(cells) - 1}"


def _hides_tensors(value: Any) -> bool:
    """Whether an argument holds tensors where `_source` does not look."""
    if isinstance(value, dict):
        value = tuple(value.values())
    if value.__class__ is list or value.__class__ is tuple:
        return any([_hides_tensors(x) for x in value])
    return isinstance(value, (Indices, list, tuple))
