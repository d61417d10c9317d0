"""Convolutions as networks have them, and attention of many lengths, heads and masks: forward, and forward with backward.

Both tables name geometries only, none of which a kernel was written for.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from benchmarks.workloads.registry import add, floats

Call = Callable[[], Any]

#: Name, the function's name, the shapes of input and weight, and its arguments; a bias goes with each.
GEOMETRIES: tuple[tuple[str, str, tuple[int, ...], tuple[int, ...], dict[str, Any]], ...] = (
    ("stem 7x7 stride 2", "conv2d", (1, 3, 112, 112), (64, 3, 7, 7), {"stride": 2, "padding": 3}),
    ("stem 7x7 stride 2, 8 images", "conv2d", (8, 3, 56, 56), (64, 3, 7, 7), {"stride": 2, "padding": 3}),
    ("patches 16x16", "conv2d", (2, 3, 224, 224), (96, 3, 16, 16), {"stride": 16}),
    ("3x3, 64 channels, 1 image", "conv2d", (1, 64, 56, 56), (64, 64, 3, 3), {"padding": 1}),
    ("3x3, 64 channels, 2 images", "conv2d", (2, 64, 28, 28), (64, 64, 3, 3), {"padding": 1}),
    ("3x3, 128 channels, 1 image", "conv2d", (1, 128, 28, 28), (128, 128, 3, 3), {"padding": 1}),
    ("3x3, 256 channels, 8 images", "conv2d", (8, 256, 14, 14), (256, 256, 3, 3), {"padding": 1}),
    ("3x3, 512 channels, 1 image", "conv2d", (1, 512, 7, 7), (512, 512, 3, 3), {"padding": 1}),
    ("3x3, 16 channels, 8 images", "conv2d", (8, 16, 32, 32), (16, 16, 3, 3), {"padding": 1}),
    ("3x3, 8 channels, odd", "conv2d", (3, 7, 19, 23), (11, 7, 3, 3), {"padding": 1}),
    ("3x3 stride 2, 1 image", "conv2d", (1, 64, 56, 56), (128, 64, 3, 3), {"stride": 2, "padding": 1}),
    ("3x3 stride 2, 8 images", "conv2d", (8, 64, 28, 28), (128, 64, 3, 3), {"stride": 2, "padding": 1}),
    ("3x3 dilation 2", "conv2d", (2, 64, 28, 28), (64, 64, 3, 3), {"padding": 2, "dilation": 2}),
    ("5x5", "conv2d", (2, 32, 28, 28), (64, 32, 5, 5), {"padding": 2}),
    ("7x1", "conv2d", (2, 64, 17, 17), (64, 64, 7, 1), {"padding": (3, 0)}),
    ("11x11, 1 channel", "conv2d", (2, 1, 64, 64), (8, 1, 11, 11), {"padding": 5}),
    ("1x1, 1 image", "conv2d", (1, 64, 56, 56), (256, 64, 1, 1), {}),
    ("1x1, 8 images", "conv2d", (8, 256, 14, 14), (64, 256, 1, 1), {}),
    ("1x1 stride 2", "conv2d", (2, 256, 28, 28), (512, 256, 1, 1), {"stride": 2}),
    ("1x1, one pixel", "conv2d", (8, 96, 1, 1), (24, 96, 1, 1), {}),
    ("depthwise 3x3, 1 image", "conv2d", (1, 96, 56, 56), (96, 1, 3, 3), {"padding": 1, "groups": 96}),
    ("depthwise 3x3 stride 2", "conv2d", (2, 96, 56, 56), (96, 1, 3, 3), {"padding": 1, "groups": 96, "stride": 2}),
    ("depthwise 5x5", "conv2d", (2, 120, 28, 28), (120, 1, 5, 5), {"padding": 2, "groups": 120}),
    ("depthwise 7x7", "conv2d", (2, 96, 28, 28), (96, 1, 7, 7), {"padding": 3, "groups": 96}),
    ("grouped, 32 groups", "conv2d", (2, 128, 28, 28), (128, 4, 3, 3), {"padding": 1, "groups": 32}),
    ("grouped, 2 groups", "conv2d", (1, 96, 27, 27), (256, 48, 5, 5), {"padding": 2, "groups": 2}),
    ("LeNet 5x5", "conv2d", (64, 6, 14, 14), (16, 6, 5, 5), {}),
    ("transposed 4x4 stride 2", "conv_transpose2d", (2, 128, 14, 14), (128, 64, 4, 4), {"stride": 2, "padding": 1}),
    ("transposed 2x2 stride 2", "conv_transpose2d", (1, 128, 28, 28), (128, 64, 2, 2), {"stride": 2}),
    ("transposed 3x3 stride 2, 8 images", "conv_transpose2d", (8, 32, 14, 14), (32, 16, 3, 3), {"stride": 2, "output_padding": 1}),
    ("1-d, 3 taps, dilation 8", "conv1d", (2, 64, 2048), (64, 64, 3), {"padding": 8, "dilation": 8}),
    ("1-d, 2 taps, dilation 64, 1 signal", "conv1d", (1, 32, 4096), (64, 32, 2), {"dilation": 64}),
    ("1-d, 80 taps stride 4", "conv1d", (4, 1, 8000), (32, 1, 80), {"stride": 4}),
    ("1-d, pointwise", "conv1d", (4, 128, 256), (128, 128, 1), {}),
    ("1-d, depthwise", "conv1d", (4, 256, 256), (256, 1, 31), {"padding": 15, "groups": 256}),
    ("1-d, text", "conv1d", (16, 128, 50), (100, 128, 3), {}),
    ("1-d, transposed stride 4", "conv_transpose1d", (1, 64, 256), (64, 32, 8), {"stride": 4, "padding": 2}),
    ("3-d, 3x3x3", "conv3d", (1, 16, 8, 28, 28), (16, 16, 3, 3, 3), {"padding": 1}),
    ("3-d, 3x3x3, 4 videos", "conv3d", (4, 8, 8, 14, 14), (16, 8, 3, 3, 3), {"padding": 1}),
    ("3-d, stem", "conv3d", (1, 3, 8, 56, 56), (32, 3, 3, 7, 7), {"padding": (1, 3, 3), "stride": (1, 2, 2)}),
    ("3-d, 1x1x1", "conv3d", (1, 64, 8, 14, 14), (128, 64, 1, 1, 1), {}),
    ("3-d, depthwise", "conv3d", (1, 32, 8, 28, 28), (32, 1, 3, 3, 3), {"padding": 1, "groups": 32}),
    ("3-d, transposed", "conv_transpose3d", (1, 32, 4, 14, 14), (32, 16, 2, 2, 2), {"stride": 2}),
)
#: Which of them are measured in other dtypes, and with channels innermost.
ELSEWHERE = ("stem 7x7 stride 2", "3x3, 64 channels, 2 images", "1x1, 8 images", "depthwise 5x5", "LeNet 5x5",
             "transposed 4x4 stride 2", "1-d, 3 taps, dilation 8", "3-d, 3x3x3")

#: Name, the shapes of query and of key and value, what kind of mask, and arguments.
ATTENTIONS: tuple[tuple[str, tuple[int, ...], tuple[int, ...], str, dict[str, Any]], ...] = (
    ("tiny", (2, 2, 4, 8), (2, 2, 4, 8), "", {}),
    ("tiny, causal", (2, 2, 4, 8), (2, 2, 4, 8), "", {"is_causal": True}),
    ("tiny, mask", (2, 2, 4, 8), (2, 2, 4, 8), "bool", {}),
    ("one query", (1, 8, 1, 64), (1, 8, 512, 64), "", {}),
    ("1024", (1, 8, 1024, 64), (1, 8, 1024, 64), "", {}),
    ("1024, causal", (1, 8, 1024, 64), (1, 8, 1024, 64), "", {"is_causal": True}),
    ("256, mask", (2, 8, 256, 64), (2, 8, 256, 64), "bool", {}),
    ("256, padding", (4, 8, 256, 64), (4, 8, 256, 64), "padding", {}),
    ("256, bias", (2, 8, 256, 64), (2, 8, 256, 64), "float", {}),
    ("4096, causal", (1, 1, 4096, 32), (1, 1, 4096, 32), "", {"is_causal": True}),
    ("crossed", (2, 8, 64, 64), (2, 8, 333, 64), "", {}),
    ("odd", (2, 5, 77, 40), (2, 5, 77, 40), "", {}),
    ("wide heads", (2, 2, 128, 256), (2, 2, 128, 256), "", {}),
    ("small heads", (8, 16, 64, 16), (8, 16, 64, 16), "", {}),
    ("grouped", (1, 8, 256, 64), (1, 2, 256, 64), "", {"enable_gqa": True, "is_causal": True}),
)
LESS = ("tiny", "256, mask", "1024, causal")


def _made(torch: Any, shape: tuple[int, ...], seed: int, dtype: str, grad: bool, layout: str = "") -> Any:
    tensor = (floats(torch, *shape, seed=seed) * 0.25).to(getattr(torch, dtype))
    if layout and len(shape) in (4, 5):
        tensor = tensor.to(memory_format=torch.channels_last if len(shape) == 4 else torch.channels_last_3d)
    return tensor.detach().requires_grad_() if grad else tensor


def _backward(torch: Any, leaves: list[Any], operation: Callable[..., Any], dtype: str) -> Call:
    with torch.no_grad():
        result = operation(*leaves)
    cotangent = floats(torch, *result.shape, seed=99).to(getattr(torch, dtype))
    cotangent = cotangent if result.is_contiguous() else torch.empty_like(result).copy_(cotangent)

    def run() -> Any:
        for leaf in leaves:
            leaf.grad = None
        operation(*leaves).backward(cotangent)
        return [leaf.grad for leaf in leaves]

    return run


def _convolution(name: str, shapes: tuple[tuple[int, ...], ...], options: dict[str, Any], dtype: str, layout: str, grad: bool) -> Any:
    def setup(torch: Any) -> Call:
        function = getattr(torch.nn.functional, name)
        leaves = [_made(torch, s, i, dtype, grad, layout) for i, s in enumerate(shapes)]
        if grad:
            return _backward(torch, leaves, lambda *xs: function(*xs, **options), dtype)
        return lambda: function(*leaves, **options)

    return setup


def _attended(torch: Any, kind: str, query: tuple[int, ...], key: tuple[int, ...], dtype: str) -> Any:
    if not kind:
        return None
    shape = (query[0], 1, 1, key[2]) if kind == "padding" else (query[2], key[2])
    numbers = floats(torch, *shape, seed=7)
    return numbers.to(getattr(torch, dtype)) if kind == "float" else numbers > -0.5


def _attention(query: tuple[int, ...], key: tuple[int, ...], kind: str, options: dict[str, Any], dtype: str, grad: bool) -> Any:
    def setup(torch: Any) -> Call:
        function = torch.nn.functional.scaled_dot_product_attention
        mask = _attended(torch, kind, query, key, dtype)
        leaves = [_made(torch, s, i, dtype, grad) for i, s in enumerate((query, key, key))]
        if grad:
            return _backward(torch, leaves, lambda *xs: function(*xs, attn_mask=mask, **options), dtype)
        return lambda: function(*leaves, attn_mask=mask, **options)

    return setup


def _enter(group: str, section: str, name: str, setup: Callable[[bool], Any]) -> None:
    add(group, section, name, setup(False))
    add(group, section, name + " fwd+bwd", setup(True))


for name, function, x, w, options in GEOMETRIES:
    bias = (w[1] * options.get("groups", 1) if "transpose" in function else w[0],)
    for dtype, layout in (("float32", ""), ("float64", ""), ("bfloat16", ""), ("float32", "channels_last")):
        if (dtype, layout) == ("float32", "") or name in ELSEWHERE and not (layout and len(x) == 3):
            _enter("convolutions", layout or dtype, name, lambda grad, given=(function, (x, w, bias), options, dtype, layout):
                   _convolution(*given, grad))
for name, query, key, kind, options in ATTENTIONS:
    for dtype in ("float32", "float64", "bfloat16"):
        if dtype == "float32" or name in LESS:
            _enter("attention", dtype, name, lambda grad, given=(query, key, kind, options, dtype): _attention(*given, grad))
