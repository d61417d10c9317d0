"""Initializations: the numbers drawn from the same seed."""

from __future__ import annotations

from typing import Any

from tests.recording import Table

CASES = [
    ("uniform_(t, -1, 2)", (3, 4)),
    ("normal_(t, 1, 0.5)", (4, 5)),
    ("normal_(t)", (2, 3)),
    ("trunc_normal_(t)", (4, 5)),
    ("trunc_normal_(t, std=2.0, a=-1, b=1)", (4, 5)),
    ("trunc_normal_(t, a=1.0, b=3.0)", (4, 5)),
    ("constant_(t, 0.3)", (2,)),
    ("ones_(t)", (2,)),
    ("zeros_(t)", (2,)),
    ("eye_(t)", (2, 3)),
    ("dirac_(t)", (3, 2, 3)),
    ("dirac_(t, 2)", (4, 2, 3, 3)),
    ("xavier_uniform_(t, 1.5)", (3, 4, 2)),
    ("xavier_normal_(t)", (3, 4)),
    ("kaiming_uniform_(t, a=0.2)", (3, 4)),
    ("kaiming_normal_(t, mode='fan_out', nonlinearity='relu')", (3, 4, 2)),
    ("orthogonal_(t, 0.5)", (3, 5)),
    ("orthogonal_(t)", (5, 2, 2)),
    ("sparse_(t, 0.4)", (5, 3)),
]


def run(torch: Any, expression: str, shape: tuple[int, ...]) -> list[Any]:
    """The values drawn, and a random number after them."""
    torch.manual_seed(42)
    t = torch.full(shape, 7.0)
    eval(expression, {**vars(torch.nn.init), "t": t})
    return t.flatten().tolist() + [torch.rand(1).item()]


SHAPES = {f"{expression} {shape}": (expression, shape) for expression, shape in CASES}
TABLE = Table("init", SHAPES, lambda torch, case: run(torch, *SHAPES[case]), tolerance=(1e-5, 1e-6), digits=7)
