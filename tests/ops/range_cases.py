"""Ranges, bit for bit: their last digits decide those of all that is made of them."""

from __future__ import annotations

from typing import Any

from tests.recording import Table

CALLS = {f"{args}, {dtype}": (args, dtype) for dtype in ("float32", "bfloat16", "float16") for args in (
    (0, 1, 0.01), (0.0, 5.0, 0.3), (3, 4, 0.0071), (0, 1, 1 / 160), (2.5, -2.5, -0.0625), (0, 40), (0.1, 1000.0, 17.3))}


def outcome(torch: Any, name: str) -> list[int]:
    """The bits of each number."""
    args, dtype = CALLS[name]
    x = torch.arange(*args, dtype=getattr(torch, dtype))
    return x.view(torch.int32 if dtype == "float32" else torch.int16).tolist()


TABLE = Table("ranges", CALLS, outcome, zipped=True)
