"""Strides of results and gradients of tensors in channels-last and other memory formats, and what tensors say about theirs.

Each call is made of images of several shapes in several formats; strides of dimensions with one element count for nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.recording import Table, attempted

SHAPES = {"pictures": (2, 3, 4, 5), "one channel": (2, 1, 4, 5), "one picture": (1, 3, 4, 5), "a column": (2, 3, 4, 1),
          "points": (2, 3, 1, 1),
          "volumes": (2, 3, 4, 5, 2)}


def _permuted(torch: Any, shape: tuple[int, ...], order: tuple[int, ...]) -> Any:
    """A tensor whose dimensions lie in memory as `order` says, the outermost first."""
    made = torch.ones([shape[d] for d in order])
    return made.permute([order.index(d) for d in range(len(shape))])


FORMATS: dict[str, Callable[[Any, tuple[int, ...]], Any]] = {
    "last": lambda t, s: t.ones(s).contiguous(memory_format=t.channels_last if len(s) == 4 else t.channels_last_3d),
    "converted": lambda t, s: t.ones(s).to(memory_format=t.channels_last if len(s) == 4 else t.channels_last_3d),
    "part": lambda t, s: _permuted(t, (s[0], s[1] + 2, *s[2:]), (0, *range(2, len(s)), 1))[:, :s[1]],
    "columns": lambda t, s: _permuted(t, s, tuple(range(len(s)))[::-1]),
    "turned": lambda t, s: _permuted(t, s, (*range(1, len(s)), 0)),
    "every other": lambda t, s: _permuted(t, (*s[:-1], 2 * s[-1]), (0, *range(2, len(s)), 1))[..., ::2],
    "expanded": lambda t, s: t.ones(s[1:]).expand(s),
}
CALLS = """
x.exp() | x + y | y + x | x + 1 | x * x.new_ones(1, x.shape[1], *[1] * n) | x == y | t.where(x > 0, x, y) | t.lerp(x, y, 0.5)
x.clone() | x.contiguous() | x.half() | x.to(memory_format=last) | x.to(memory_format=t.contiguous_format)
x.to(memory_format=t.preserve_format)
x.to(t.float64, memory_format=last) | x.double() | x.clone(memory_format=last) | x.contiguous(memory_format=last)
x.float(memory_format=last) | x.contiguous(memory_format=t.preserve_format)
t.empty_like(x) | t.zeros_like(x, memory_format=last) | t.rand_like(x) | t.full_like(x, 2, memory_format=t.contiguous_format)
t.empty(x.shape, memory_format=last) | x.new_empty(x.shape) | x.is_contiguous(memory_format=last) | x.is_contiguous() | x.dim_order()
x.dim_order(ambiguity_check=True) | x.dim_order(ambiguity_check=[t.contiguous_format, last]) | x.dim_order(ambiguity_check=3)
x.add_(y) | y.add_(x) | x.copy_(y) | t.add(x, y, out=t.empty(0)) | t.exp(x, out=t.empty(0)) | t.exp(x, out=t.empty(x.shape))
F.batch_norm(x, None, None, training=True) | F.batch_norm(x, zeros, ones) | F.group_norm(x, 1) | F.instance_norm(x)
F.layer_norm(x, x.shape[1:])
conv(x, w) | conv(x, w.contiguous(memory_format=last)) | conv(y, w.contiguous(memory_format=last)) | convt(x, w.transpose(0, 1))
pool("max_pool")(x, 1) | pool("avg_pool")(x, 1) | pool("adaptive_avg_pool")(x, 1) | pool("adaptive_max_pool")(x, 1)
pool("max_unpool")(*pool("max_pool")(x, 1, return_indices=True), 1) | F.lp_pool2d(x, 2, 1)
F.interpolate(x, scale_factor=2) | F.interpolate(x, scale_factor=2, mode="nearest-exact") | F.interpolate(x, size=2, mode="area")
F.interpolate(x, scale_factor=2, mode="bilinear") | F.interpolate(x, scale_factor=2, mode="bicubic")
F.interpolate(x, scale_factor=2, mode="trilinear") | F.interpolate(x, size=(2, 2), mode="bilinear", antialias=True)
F.pad(x, (1, 1)) | F.pad(x, (1, 1, 1, 1), value=3.0) | F.pad(x, (0, 0) * n, "reflect") | F.pad(x, (1, 1) * n, "replicate")
F.pad(x, (1, 1) * n, "circular") | t.pixel_shuffle(x, 1) | t.pixel_unshuffle(x, 1) | t.channel_shuffle(x, 1)
F.relu(x) | F.gelu(x) | F.silu(x) | F.prelu(x, ones) | F.softmax(x, 1) | F.log_softmax(x, 1) | F.dropout(x, 0.5) | F.leaky_relu(x)
F.glu(x, 2)
t.cat([x, x], 1) | t.cat([x, y], 1) | t.stack([x, x]) | x.sum(1) | x.mean((2, 3), keepdim=True) | x.amax(1, keepdim=True) | x.var(1)
x.cumsum(1)
x.flip(1) | x.roll(1, 1) | x.repeat(1, 2, *[1] * n) | x[:, [0]] | x.index_select(1, index) | x.sort(1)[0] | x.masked_fill(x > 0, 1)
x.norm(dim=1) | F.local_response_norm(x, 2) | F.normalize(x) | F.unfold(x, 1) | F.mse_loss(x, y, reduction="none") | x.gather(1, index0)
F.grid_sample(x, grid, align_corners=False) | x.matmul(x.transpose(-1, -2)) | x.tril() | x.diff(dim=1) | x.unfold(2, 1, 1) | x.clamp(0, 1)
"""
PICTURES_ONLY = ("lp_pool2d", '"bilinear"', '"bicubic"', "F.unfold", "grid_sample", "pixel_", "local_response_norm", "index0")
NAMES = [call.strip() for line in CALLS.split("\n") if line for call in line.split(" | ")]


def seen(torch: Any, result: Any) -> Any:
    """What of a result is compared."""
    if isinstance(result, torch.Tensor):
        return [s if n > 1 else 0 for s, n in zip(result.stride(), result.shape)] if result.numel() else []
    return [seen(torch, x) for x in result] if isinstance(result, (list, tuple)) else result


def observed(torch: Any, call: str, shape: tuple[int, ...], make: Callable[[Any, tuple[int, ...]], Any]) -> Any:
    """The strides of a result, and of the gradients that it leaves at its operands."""
    if len(shape) == 5 and any(name in call for name in PICTURES_ONLY) or len(shape) == 4 and '"trilinear"' in call:
        return "not for these"
    n, F = len(shape) - 2, torch.nn.functional
    x, y, w = make(torch, shape), torch.ones(shape), torch.ones(4, shape[1], *[1] * n if n == 2 else [2] * n)
    names = {"t": torch, "F": F, "x": x, "y": y, "w": w, "n": n, "zeros": torch.zeros(shape[1]), "ones": torch.ones(shape[1]),
             "last": torch.channels_last if n == 2 else torch.channels_last_3d, "index": torch.tensor([0]),
             "index0": torch.zeros(shape, dtype=torch.int64), "grid": torch.zeros(shape[0], 2, 3, 2),
             "conv": getattr(F, f"conv{n}d"), "convt": getattr(F, f"conv_transpose{n}d"), "pool": lambda name: getattr(F, f"{name}{n}d")}
    result = attempted(lambda: eval(call, names))
    found = {"result": seen(torch, result)} if not isinstance(result, dict) else {"result": result}
    if "_(" in call or "out=" in call or not isinstance(result, torch.Tensor):
        return found
    for leaf in (x, y, w):
        leaf.requires_grad_()
    result = attempted(lambda: eval(call, names))
    if isinstance(result, torch.Tensor) and result.requires_grad:
        result.backward(torch.ones(result.shape, dtype=result.dtype))
        found["gradients"] = [None if leaf.grad is None else seen(torch, leaf.grad) for leaf in (x, y, w)]
    return found


def outcome(torch: Any, call: str) -> dict[str, Any]:
    """By shape and format."""
    torch.manual_seed(0)
    found = {f"{name}, {how}": observed(torch, call, shape, make) for name, shape in SHAPES.items() for how, make in FORMATS.items()}
    return {key: value for key, value in found.items() if value != "not for these"}


TABLE = Table("formats", NAMES, outcome, zipped=True)
