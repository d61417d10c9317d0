"""Where results lie in memory whose operands lie in another order than rows: the records' samples."""

from __future__ import annotations

from typing import Any

from tests.ops.public_calls import PUBLIC, table, argument_source, arrays, bound, public_name


def all_calls(torch: Any) -> list[str]:
    """One call per sample with a matrix, which goes through the orders."""
    found: dict[str, None] = {}
    for rec in PUBLIC:
        name = public_name(torch, rec)
        for args, kwargs in bound(rec) if name is not None and not name.startswith("_") else ():
            if any([a.ndim > 1 for a in arrays([args, kwargs])]):
                given = argument_source(args, kwargs, [a.shape for a in arrays([args, kwargs])])
                found[f"lies(torch.{name}, {', '.join(given)})"] = None
    return list(found)


TABLE = table("lying", all_calls)
