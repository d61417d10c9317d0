"""Arguments of wrong types: a tuple, a list, a float, a bool, a string, a tensor, a complex number and None for each parameter of each
operation."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tests.ops.public_calls import PUBLIC, NoSource, table, arrays, bound, public_name, result_or_refused, source

from autograd_tape.ops import Record

VALUES = ("(0, 1)", "[0]", "1.5", "True", "'a'", "f(2)", "1j", "None")


def calls(torch: Any, rec: Record) -> Iterator[str]:
    """Calls of a record with one argument of another type each."""
    name = public_name(torch, rec)
    if name is None or name.startswith("_"):
        return
    for args, kwargs in bound(rec):
        if not arrays([args, kwargs]):
            continue
        try:
            written = [source(a) for a in args]
            named = {k: source(v) for k, v in kwargs.items()}
        except NoSource:
            continue
        for i, p in enumerate(rec.params):
            for value in VALUES:
                changed, also = list(written), dict(named)
                if i < len(changed):
                    changed[i] = value
                elif p.name != "inplace":
                    also[p.name] = value
                yield f"torch.{name}({', '.join([*changed, *[f'{k}={v}' for k, v in also.items()]])})"
        return


def all_calls(torch: Any) -> list[str]:
    """Those of every record."""
    return list(dict.fromkeys([call for rec in PUBLIC for call in calls(torch, rec)]))


TABLE = table("wrong", all_calls, result_or_refused)
