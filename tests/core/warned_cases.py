"""How often three equal calls warn, with and without `torch.set_warn_always`, and with what text."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from tests.recording import Table, attempted

CALLS = """
t.addcdiv(t.ones(2), 2, t.ones(2), t.ones(2))
t.ones(2).add_(2, t.ones(2))
(t.ones(2, requires_grad=True) ** 2).sum().backward(create_graph=True)
t.from_numpy(read_only)
t.triangular_solve(t.ones(2, 2), t.eye(2))
t.stft(t.ones(8), 4, return_complex=True)
t.add(t.ones(3), 1, out=t.ones(2))
t.zeros(1).expand(3).index_fill_(0, t.tensor([0]), 1.0)
(t.ones(2, requires_grad=True) * 2).grad
t.nn.functional.mse_loss(t.ones(2, 1), t.ones(2))
t.zeros(3, dtype=t.chalf)
t.tensor([1 + 2j], dtype=t.chalf)
t.full((2,), 1, dtype=t.chalf)
t.rand(3, dtype=t.chalf)
t.empty_strided((2,), (1,), dtype=t.chalf)
t.zeros(3, dtype=t.chalf, device="meta")
t.ones(2).chalf()
t.ones(2).to(t.chalf)
half + half
half.add_(half)
half.clone()
half.view(3, 1)
half.to(t.cfloat)
half.copy_(t.ones(3))
half[t.tensor([0])]
half == half
t.cat([half, half])
t.add(half, half, out=half)
t.rand_like(half)
t.empty_like(half)
t.full_like(half, 4)
half.new_zeros(2)
"""
CASES = [f"{line} [{how}]" for line in CALLS.split("\n") if line for how in ("once", "always")]


def outcome(torch: Any, case: str) -> Any:
    """[how often three calls warn, the first text without where in torch it comes from]."""
    call, _, how = case.removesuffix("]").rpartition(" [")
    read_only = np.ones(3)
    read_only.flags.writeable = False

    def run() -> Any:
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            for _ in range(3):
                eval(call, {"t": torch, "read_only": read_only, "half": half})
        return [len(found), *[str(w.message).partition(" (Triggered internally")[0] for w in found[:1]]]

    half = torch.zeros(3, dtype=torch.chalf)
    torch.set_warn_always(how == "always")
    try:
        return attempted(run)
    finally:
        torch.set_warn_always(False)


TABLE = Table("warned", CASES, outcome, apart=1)
