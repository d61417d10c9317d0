"""Strides of what operations give for operands that lie in memory in other orders than by rows.

Each case of torch's operator database is called with its operands laid out anew: ``columns`` turns the order of all dimensions of all
operands around, ``first`` that of the first operand only, ``others`` that of the others, and ``expanded`` repeats each operand's first row.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from tests.oracle.oracle_cases import flatten, tensors_in
from tests.oracle.oracle_operations import OPERATIONS
from tests.oracle.oracle_replay import Replay
from tests.recording import Table

CASES = 4  # per operation
LAYOUTS: dict[str, Callable[[int], bool]] = {"columns": lambda i: True, "first": lambda i: i == 0, "others": lambda i: i > 0}
RANDOM = ("dropout", "rand", "bernoulli", "multinomial", "normal", "uniform", "exponential", "cauchy", "geometric", "empty", "new_empty")


def columns(t: Any) -> Any:
    """The same values with the first dimension's step the shortest."""
    order = tuple(range(t.ndim - 1, -1, -1))
    return t.detach().permute(order).contiguous().permute(order).requires_grad_(t.requires_grad)


def expanded(t: Any) -> Any:
    """The first row of all dimensions but the last, repeated."""
    row = t.detach()
    for d in range(t.ndim - 1):
        row = row.narrow(d, 0, 1)
    return row.expand(t.shape).requires_grad_(t.requires_grad)


def laid(torch: Any, value: Any, layout: str, count: list[int]) -> Any:
    """`value`, an argument or nested arguments, with its tensors in `layout`; `count` holds how many tensors were seen."""
    if isinstance(value, torch.Tensor):
        count[0] += 1
        if value.ndim < 2 or value.numel() < 2:
            return value
        if layout == "expanded":
            return expanded(value)
        return columns(value) if LAYOUTS[layout](count[0] - 1) else value
    if isinstance(value, (list, tuple)) and type(value) in (list, tuple):
        return type(value)(laid(torch, x, layout, count) for x in value)
    if isinstance(value, dict):
        return {k: laid(torch, x, layout, count) for k, x in value.items()}
    return value


def strides(torch: Any, result: Any) -> list[Any]:
    """The strides of each tensor in `result`, of dimensions with several elements."""
    found = []
    for t in flatten(result):
        if isinstance(t, torch.Tensor):
            found.append([s if n > 1 else 0 for n, s in zip(t.shape, t.stride())] if t.numel() else [])
    return found


def observed(torch: Any, operation: str) -> dict[str, list[Any]]:
    """From "case layout" to the strides of results; the name of the error where there is one."""
    replay = Replay(torch, operation)
    cases = [c for c in replay.record["cases"] if any(len(t["s"]) > 1 and np.prod(t["s"]) > 1 for t in tensors_in([c["in"], c["kw"]]))]
    picked = cases if len(cases) <= CASES else [cases[round(i * (len(cases) - 1) / (CASES - 1))] for i in range(CASES)]
    found: dict[str, list[Any]] = {}
    for case in picked:
        for layout in (*LAYOUTS, "expanded"):
            arguments, keywords = replay._arguments(case)
            count = [0]
            arguments = laid(torch, arguments, layout, count)
            keywords = laid(torch, keywords, layout, count)
            if layout in ("first", "others") and count[0] < 2:
                continue
            try:
                found[f"{case['id']} {layout}"] = strides(torch, replay.call(*arguments, **keywords))
            except Exception as error:  # what torch refuses has no strides
                found[f"{case['id']} {layout}"] = [type(error).__name__]
    return found


DRAWS: dict[str, Callable[[Any], Any]] = {
    "uniform_ of columns": lambda torch: torch.zeros(4, 5).t().uniform_(1, 2),
    "uniform_ of every other column": lambda torch: torch.zeros(6, 8)[:, ::2].t().uniform_(),
    "normal_ of columns": lambda torch: torch.zeros(20, 30).t().normal_(),
    "normal_ of every other row": lambda torch: torch.zeros(8, 6)[::2].normal_(),
    "normal_ of columns in double precision": lambda torch: torch.zeros(4, 5, dtype=torch.float64).t().normal_(),
    "exponential_ of columns": lambda torch: torch.zeros(4, 5).t().exponential_(),
    "cauchy_ of columns": lambda torch: torch.zeros(3, 4).t().cauchy_(),
    "log_normal_ of columns": lambda torch: torch.zeros(4, 5).t().log_normal_(),
    "geometric_ of columns": lambda torch: torch.zeros(4, 5).t().geometric_(0.3),
    "random_ of columns": lambda torch: torch.zeros(4, 5).t().random_(0, 100),
    "bernoulli_ of columns": lambda torch: torch.zeros(4, 5).t().bernoulli_(0.4),
    "bernoulli_ with a tensor": lambda torch: torch.zeros(2, 3, 4).permute(2, 0, 1).bernoulli_(torch.arange(24.).reshape(4, 2, 3) / 24),
    "bernoulli": lambda torch: torch.bernoulli(torch.arange(24.).reshape(2, 3, 4).permute(2, 0, 1) / 24),
    "rand_like": lambda torch: torch.rand_like(torch.zeros(2, 3, 4).permute(2, 0, 1)),
    "rand_like of an expanded tensor": lambda torch: torch.rand_like(torch.zeros(5).expand(4, 5)),
    "rand_like in channels_last": lambda torch: torch.rand_like(torch.zeros(2, 3, 4, 4), memory_format=torch.channels_last),
    "randn_like": lambda torch: torch.randn_like(torch.zeros(8, 16).t()),
    "randint_like": lambda torch: torch.randint_like(torch.zeros(4, 5).t(), 10),
    "normal of a tensor": lambda torch: torch.normal(torch.zeros(4, 5).t(), 1.0),
    "poisson": lambda torch: torch.poisson(torch.ones(4, 5).t() * 3),
    "dropout": lambda torch: torch.nn.functional.dropout(torch.ones(4, 5).t()),
    "dropout in channels_last": lambda torch: torch.nn.functional.dropout(torch.ones(2, 3, 4, 4).to(memory_format=torch.channels_last)),
    "alpha_dropout": lambda torch: torch.nn.functional.alpha_dropout(torch.ones(4, 5).t(), 0.5, True),
    "gumbel_softmax": lambda torch: torch.nn.functional.gumbel_softmax(torch.ones(4, 5).t()),
    "kaiming_uniform_": lambda torch: torch.nn.init.kaiming_uniform_(torch.zeros(5, 7).t()),
}


def drawn(torch: Any, name: str) -> list[Any]:
    """[strides, numbers] of a draw for memory that is not in rows."""
    torch.manual_seed(3)
    t = DRAWS[name](torch)
    return [list(t.stride()), [round(x, 6) for x in t.flatten().tolist()[:40]]]


def recordable(torch: Any) -> list[str]:
    """The operations that are not random and have several layouts."""
    return [name for name in OPERATIONS if not any(random in name for random in RANDOM) and observed(torch, name)]


TABLE = Table("layouts", recordable, observed)
DRAW_TABLE = Table("draws", DRAWS, drawn, tolerance=(1e-5, 2e-6))
