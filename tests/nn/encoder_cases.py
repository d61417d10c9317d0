"""Encoders that leave out what is padded: which do, what they give then, and what the others warn of."""

from __future__ import annotations

import warnings
from itertools import combinations
from typing import Any

from tests.recording import Table

LAYERS: dict[str, dict[str, Any]] = {
    "norm_first": {"norm_first": True}, "sequence first": {"batch_first": False}, "no bias": {"bias": False},
    "tanh": {"activation": "tanh"}, "odd": {"nhead": 1}, "gelu": {"activation": "gelu"}, "eps": {"eps": 1e-3}, "other sizes": {"kdim": 4},
}
MASKS = {
    "last": [[0, 0, 1, 1], [0, 0, 0, 1]], "between": [[0, 1, 0, 1], [0, 0, 0, 0]], "first": [[1, 0, 0, 0], [0, 0, 0, 0]],
    "nothing": [[0, 0, 0, 0], [0, 0, 0, 0]], "a whole row": [[1, 1, 1, 1], [0, 0, 1, 1]],
}
CALLS: dict[str, dict[str, Any]] = {
    **{f"padded: {name}": {"mask": name} for name in MASKS}, "unchecked: between": {"mask": "between", "mask_check": False},
    "unchecked: first": {"mask": "first", "mask_check": False}, "of numbers": {"mask": "last", "numbers": True},
    "with a mask": {"mask": "last", "src_mask": True}, "with gradients": {"mask": "last", "grad": True},
    "frozen, with gradients": {"mask": "last", "grad": True, "frozen": True}, "in training": {"mask": "last", "train": True},
    "without": {"mask": "last", "enable_nested_tensor": False}, "fast path off": {"mask": "last", "off": True},
    "normalized": {"mask": "last", "norm": True}, "of two dimensions": {"mask": "last", "single": True},
}
WARNED = [*LAYERS, *[" and ".join(pair) for pair in combinations(LAYERS, 2)], "nothing", "a class of one's own", "no layer"]


def layer_of(torch: Any, name: str) -> Any:
    """An encoder layer with the oddities of a name."""
    options: dict[str, Any] = {"nhead": 2, "batch_first": True, "dropout": 0.0}
    for part in name.split(" and "):
        options |= LAYERS.get(part, {})
    eps, kdim = options.pop("eps", None), options.pop("kdim", None)
    if options.get("activation") == "tanh":
        options["activation"] = torch.tanh
    layer = torch.nn.TransformerEncoderLayer(8, options.pop("nhead"), 16, **options)
    if eps:
        layer.norm1.eps = eps
    if kdim:
        layer.self_attn._qkv_same_embed_dim = False
    return layer


def warned(torch: Any, name: str) -> list[Any]:
    """What an encoder of a layer warns of, and what it will do."""
    class Own(torch.nn.TransformerEncoderLayer):  # type: ignore[name-defined, misc]
        pass

    others = {"a class of one's own": lambda: Own(8, 2, batch_first=True), "no layer": torch.nn.Identity}
    layer = others[name]() if name in others else layer_of(torch, name)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        encoder = torch.nn.TransformerEncoder(layer, 1)
    return [[str(w.message) for w in caught], encoder.use_nested_tensor]


def called(torch: Any, *, mask: str, numbers: bool = False, src_mask: bool = False, grad: bool = False, frozen: bool = False,
           train: bool = False, off: bool = False, norm: bool = False, single: bool = False, **options: Any) -> list[Any]:
    """What an encoder of two layers gives of padded sequences, and whether that has a history."""
    encoder = torch.nn.TransformerEncoder(layer_of(torch, ""), 2, torch.nn.LayerNorm(8) if norm else None, **options).train(train)
    with torch.no_grad():
        for i, p in enumerate(encoder.parameters()):
            p.copy_(torch.linspace(-0.5, 0.5, p.numel()).mul(i + 2.0).sin().view_as(p))
    encoder.requires_grad_(not frozen)
    x, padding = torch.arange(64.0).view(2, 4, 8).mul(0.7).sin(), torch.tensor(MASKS[mask]).bool()
    if numbers:
        padding = torch.zeros(2, 4).masked_fill(padding, float("-inf"))
    if single:
        x, padding = x[0], padding[0]
    torch.backends.mha.set_fastpath_enabled(not off)
    try:
        with torch.set_grad_enabled(grad):
            y = encoder(x, mask=torch.zeros(4, 4) if src_mask else None, src_key_padding_mask=padding)
    finally:
        torch.backends.mha.set_fastpath_enabled(True)
    return [y.requires_grad, (y == 0).all(-1).tolist(), y.tolist()]


def outcome(torch: Any, name: str) -> list[Any]:
    kind, _, rest = name.partition(", ")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return warned(torch, rest) if kind == "warned" else called(torch, **CALLS[rest])


TABLE = Table("encoders", [*[f"warned, {name}" for name in WARNED], *[f"called, {name}" for name in CALLS]], outcome,
              tolerance=(1e-4, 1e-5), digits=7, zipped=True)
