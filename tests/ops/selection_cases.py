"""Selections among equal elements: `python tests/ops/selection_cases.py` in an environment with torch records which of them it finds."""

from __future__ import annotations

import json
import pathlib
import random
from typing import Any

PATH = pathlib.Path(__file__).parent.parent / "fixtures" / "selection.json"


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


if __name__ == "__main__":
    import torch

    PATH.write_text(json.dumps([selected(torch, row, k) for row, k in rows()]) + "\n")
