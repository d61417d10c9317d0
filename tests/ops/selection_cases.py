"""Selections among equal elements: which of them are found."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

from tests.recording import Table


Row = Sequence[float]


def rows() -> list[tuple[Row, int]]:
    """Rows of few distinct numbers, whole and not, NaN and infinite, each with how many are selected."""
    draw = random.Random(5)
    found: list[tuple[Row, int]] = []
    for t in range(120):
        n = draw.choice([1, 2, 3, 4, 5, 7, 10, 16, 17, 20, 33, 64, 100, 130, 257])
        different = draw.choice([1, 2, 3, 10, 50])
        row = [draw.randrange(different) for _ in range(n)]
        found.append((row, draw.randrange(1, n + 1) if t % 3 else min(n, draw.choice([1, 2, 3]))))
    odd = (float("nan"), float("inf"), float("-inf"))
    for row, k in found[::2]:
        found.append(([draw.choice(odd) if draw.random() < 0.2 else i / 2 for i in row], k))
    return found


def selected(torch: Any, row: Row, k: int) -> list[Any]:
    """The indices of `topk` in all its ways, and of `kthvalue`; of several columns at once where numbers are not whole."""
    x = torch.tensor(row)
    if x.is_floating_point():
        x = torch.stack([x, -x, x.flip(0)], 1).to(torch.bfloat16 if len(row) % 2 else x.dtype)
        both = [torch.topk(x, k, 0, largest, ordered) for largest in (True, False) for ordered in (True, False)]
        assert all([str(values) == str(x.gather(0, at)) for values, at in both])
        return [*[at.tolist() for _, at in both], torch.kthvalue(x, k, 0)[1].tolist()]
    tops = [torch.topk(x, k, largest=largest, sorted=ordered)[1].tolist() for largest in (True, False) for ordered in (True, False)]
    return [*tops, torch.kthvalue(x, k)[1].item()]


ROWS = {str(i): row for i, row in enumerate(rows())}
TABLE = Table("selection", ROWS, lambda torch, name: selected(torch, *ROWS[name]))
