"""Tensors of more dimensions than NumPy has arrays of: refused in one way, wherever they would come to be, and never NumPy's business."""

from __future__ import annotations

from typing import Any

import pytest

import torchcompat as torch
from autograd_tape.errors import MAX_DIMS

CALLS = """
t.ones(many) | t.zeros(*many) | t.empty(many) | t.full(many, 1) | t.rand(many) | t.randn(many) | t.randint(3, many)
t.empty(many, device="meta")
t.ones(1).view(many) | t.ones(1).reshape(many) | t.ones(1).expand(many) | t.ones(1).as_strided(many, many) | t.ones(1).repeat(many)
t.ones(1).tile(many) | t.broadcast_to(t.ones(1), many) | t.empty_strided(many, many) | t.ones(1).unflatten(0, many)
t.ones(1).new_zeros(many) | t.ones(1)[(None,) * len(many)] | t.ones(1).resize_(many) | t.empty_permuted(many, tuple(range(len(many))))
full.unsqueeze(0) | full[None] | t.stack([full, full]) | t.tensor(nested) | full.unfold(0, 1, 1) | t.diag_embed(full)
t.view_as_real(full + 0j)
t.meshgrid([t.ones(1)] * len(many), indexing="ij") | t.tensordot(full, full, 0) | t.ones(2, 2)[full.long()] | full[full.long()]
t.nn.functional.one_hot(full.long()) | t.nn.functional.embedding(full.long(), t.ones(2, 2))
"""
CASES = [call.strip() for line in CALLS.split("\n") if line for call in line.split(" | ")]


@pytest.mark.parametrize("call", CASES)
def test_refused_clearly(call: str) -> None:
    nested: Any = 1.0
    for _ in range(MAX_DIMS + 1):
        nested = [nested]
    names = {"t": torch, "many": (1,) * (MAX_DIMS + 1), "full": torch.zeros((1,) * MAX_DIMS), "nested": nested}
    with pytest.raises(RuntimeError, match=f"^only tensors with up to {MAX_DIMS} dims are supported$"):
        eval(call, names)


def test_of_as_many_as_there_can_be() -> None:
    x = torch.ones((1,) * MAX_DIMS, requires_grad=True)
    (x * 2).sum().backward()
    assert x.grad is not None and x.grad.ndim == MAX_DIMS
