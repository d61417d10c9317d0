"""Which operations take `out=`, of which dtypes, and what becomes of it: the records' samples with `out` of other dtypes, sizes and
layouts."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from tests.ops.public_calls import PUBLIC, table, agree, argument_source, arrays, bound, outcome, public_name

from autograd_tape.ops import Record

SAMPLES = 3  # per operation, that differ in more than sizes
KINDS = ("empty", "bigger", "columns", "columns of all", "float64", "float16", "int32", "bool", "complex64")
FEW = ("empty", "float64", "int32", "bool")
FACTORIES = ("rand, 3", "randn, 3", "zeros, 3", "ones, 3", "randint, 5, (3,)", "randperm, 3", "bernoulli, f(3)", "normal, f(3), f(3)",
             "multinomial, f(3), 2", "rand, 3, dtype=torch.float32", "zeros, 3, dtype=torch.float32", "arange, 3, dtype=torch.int64")
LONG = re.compile(r"(received an invalid combination|argument #1 'indices'|tensor for 'values').*")
"""What names signatures, or C++ types."""


def calls(torch: Any, rec: Record) -> Iterator[str]:
    """The calls of a record that are compared."""
    name = public_name(torch, rec)
    if name is None or name.startswith(("_", "Tensor.")) or name.endswith("_"):
        return
    known: list[Any] = []
    for args, kwargs in bound(rec):
        shapes = [a.shape for a in arrays([args, kwargs])]
        key = [type(a) for a in args], sorted(kwargs)
        if key in known or len(known) == SAMPLES:
            continue
        known.append(key)
        written = argument_source(args, kwargs, shapes)
        for letter in "fihc" if len(known) == 1 else "f":
            given = ", ".join([re.sub(r"\bf\(", f"{letter}(", argument) for argument in written])
            if letter != "f" and given == ", ".join(written):
                continue
            if outcome(torch, f"torch.{name}({given})").partition(":")[0].endswith("Error"):
                continue
            for kind in KINDS if letter == "f" else FEW:
                yield f"into({kind!r}, torch.{name}, {given})"


def all_calls(torch: Any) -> list[str]:
    """Those of every record, and of what makes tensors of sizes."""
    return [*[call for rec in PUBLIC for call in calls(torch, rec)],
            *[f"into({kind!r}, torch.{call})" for call in FACTORIES for kind in KINDS]]


TABLE = table("out", all_calls, same=agree, kept=lambda found: LONG.sub("", found))
