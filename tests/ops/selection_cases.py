"""Selections among equal elements: which of them are found."""

from __future__ import annotations

import random
from typing import Any

from tests.recording import Table


def rows() -> list[tuple[list[int], int]]:
    """Rows of few distinct numbers, each with how many are selected."""
    draw = random.Random(5)
    found = []
    for t in range(120):
        n = draw.choice([1, 2, 3, 4, 5, 7, 10, 16, 17, 20, 33, 64, 100, 130, 257])
        different = draw.choice([1, 2, 3, 10, 50])
        row = [draw.randrange(different) for _ in range(n)]
        found.append((row, draw.randrange(1, n + 1) if t % 3 else min(n, draw.choice([1, 2, 3]))))
    return found


def selected(torch: Any, row: list[int], k: int) -> list[Any]:
    """The indices of `topk` in all its ways, and of `kthvalue`."""
    x = torch.tensor(row)
    tops = [torch.topk(x, k, largest=largest, sorted=ordered)[1].tolist() for largest in (True, False) for ordered in (True, False)]
    return [*tops, torch.kthvalue(x, k)[1].item()]


ROWS = {str(i): row for i, row in enumerate(rows())}
TABLE = Table("selection", ROWS, lambda torch, name: selected(torch, *ROWS[name]))
