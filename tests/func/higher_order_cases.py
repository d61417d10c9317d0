"""Operations that take functions, as programs of one line: `torch.cond` and what `torch._higher_order_ops` has."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from tests.recording import Table, attempted

PROGRAMS = """
H.associative_scan(lambda a, b: a + b, x, 0, combine_mode="generic")
H.associative_scan(lambda a, b: a * b, x, 1, reverse=True, combine_mode="generic")
H.associative_scan(lambda a, b: a * b + b, t.arange(1., 8.), -1, combine_mode="generic")
H.associative_scan(lambda a, b: (a[0] * b[0], b[0] * a[1] + b[1]), (x, x + 1), 0, combine_mode="generic")
H.associative_scan(lambda a, b: {"u": a["u"] + b["u"]}, {"u": x}, 0, combine_mode="generic")
H.associative_scan(lambda a, b: a + b, x[:1], 0, combine_mode="generic")
H.associative_scan(lambda a, b: a + b, x, 0)
H.associative_scan(3, x, 0, combine_mode="generic")
H.associative_scan(lambda a, b: a, x, 5, combine_mode="generic")
H.associative_scan(lambda a, b: a, x, 0, combine_mode="foo")
H.associative_scan(lambda a, b: (a, a), x, 0, combine_mode="generic")
t.autograd.grad(H.associative_scan(lambda a, b: a * b, y + 1, 0, combine_mode="generic").sum(), y)
t.cond(t.tensor(True), lambda x: x.sin(), lambda x: x.cos(), (x,))
t.cond(t.tensor([False]), lambda x: x.sin(), lambda x: x.cos(), (x,))
t.cond(False, lambda x: x.sin(), lambda x: x.cos(), (x,))
t.cond(x, lambda x: x.sin(), lambda x: x.cos(), (x,))
t.cond("a", lambda x: x.sin(), lambda x: x.cos(), (x,))
t.autograd.grad(t.cond(t.tensor(True), lambda x: x * x, lambda x: x + 1, (y,)).sum(), y)
t.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y * 2), (t.tensor(0), x))
t.while_loop(3, lambda i: (i + 1,), (t.tensor(0),))
H.scan(lambda c, a: (c + a, c * a), t.zeros(2), x, dim=0)
H.scan(lambda c, a: (c + a, c * a), t.zeros(2), x, dim=0, reverse=True)
H.scan(lambda c, a: (c + a, c * a), t.zeros(3), x, dim=1)
H.scan(lambda c, a: (c + a, c + 0), t.zeros(3), x, dim=5)
t.autograd.grad(H.scan(lambda c, a: (c * a, c + a), t.ones(2), y, dim=0)[0].sum(), y)
H.map(lambda a, b: a + b, x, t.ones(2))
t.autograd.grad(H.map(lambda a: a * a, y).sum(), y)
""".strip().splitlines()


def outcome(torch: Any, program: str) -> Any:
    """What a program gives, or the error."""
    x = torch.arange(6.).view(3, 2)
    H = import_module(f"{torch.__name__}._higher_order_ops")
    return attempted(lambda: repr(eval(program, {"t": torch, "H": H, "x": x, "y": x.clone().requires_grad_()})))


TABLE = Table("higher_order", PROGRAMS, outcome)
"""Scans, loops and branches, against torch 2.13's."""
