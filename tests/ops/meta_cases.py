"""Operations on meta tensors of every dtype: the records' samples."""

from __future__ import annotations

from typing import Any

from tests.ops.public_calls import PUBLIC, table, argument_source, arrays, bound, public_name

SAMPLES = 3  # per operation


def all_calls(torch: Any) -> list[str]:
    """One call per sample, which goes through the dtypes."""
    found: dict[str, None] = {}
    for rec in PUBLIC:
        name = public_name(torch, rec)
        if name is None or name.startswith("_"):
            continue
        samples = [s for s in bound(rec) if arrays(list(s))][:SAMPLES]
        for args, kwargs in samples:
            found[f"meta(torch.{name}, {', '.join(argument_source(args, kwargs, [a.shape for a in arrays([args, kwargs])]))})"] = None
    return list(found)


TABLE = table("meta", all_calls)
