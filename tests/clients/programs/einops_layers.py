"""Rearrangements, reductions and products by name, their gradients, and a network of einops' layers trained for a few steps."""

from __future__ import annotations

from typing import Any

import torch
from einops import einsum, pack, rearrange, reduce, repeat, unpack
from einops.layers.torch import EinMix, Rearrange, Reduce

PACKAGES = ("einops",)


def rearranged() -> list[Any]:
    torch.manual_seed(0)
    x = torch.randn(2, 3, 4, 6, requires_grad=True)
    y = rearrange(x, "b c (h two) w -> (b h) w (two c)", two=2)
    z = repeat(y, "n w c -> n (w again) c", again=2)
    (z * torch.arange(z.numel()).view_as(z)).sum().backward()
    return [y, z, y.stride(), x.grad]


def reduced() -> list[Any]:
    torch.manual_seed(1)
    x = torch.randn(2, 3, 4, 6, dtype=torch.float64, requires_grad=True)
    found = [reduce(x, "b c (h a) (w d) -> b c h w", how, a=2, d=3) for how in ("mean", "max", "sum", "prod", "min")]
    torch.stack(found).sum().backward()
    packed, shapes = pack([x[0, 0], x[0]], "* h w")
    product = einsum(x, x, "b c h w, b k h w -> b c k")
    return [*found, x.grad, packed, [list(s) for s in shapes], unpack(packed, shapes, "* h w")[0], product]


def refused() -> list[str]:
    found = []
    for pattern in ("a b -> b a", "a b c d -> a b", "(a a) b c d -> a b c d"):
        try:
            found.append(str(rearrange(torch.zeros(2, 3, 4, 5), pattern)))
        except Exception as error:
            found.append(f"{type(error).__name__}: {error}")
    return found


def trained() -> dict[str, Any]:
    torch.manual_seed(0)
    net = torch.nn.Sequential(
        Rearrange("b c (h p) (w q) -> b (h w) (c p q)", p=4, q=4), EinMix("b t c -> b t d", "c d", bias_shape="d", c=48, d=16),
        torch.nn.GELU(),
        EinMix("b t d -> b s d", "t s", t=4, s=4), Reduce("b s d -> b d", "mean"), torch.nn.Linear(16, 5))
    optimizer = torch.optim.AdamW(net.parameters(), lr=1e-2)
    x, y, losses = torch.randn(8, 3, 8, 8), torch.randint(5, (8,)), []
    for _ in range(5):
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(net(x), y)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return {"losses": losses, "text": str(net), "weights": dict(net.named_parameters())}


CASES = {"rearranged": rearranged, "reduced": reduced, "refused": refused, "trained": trained}
