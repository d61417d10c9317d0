"""Layers of tensors of which one, or all but one, has another dtype: what torch says, or the dtypes of what it gives."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tests.recording import Table, attempted

DTYPES = {"f": "float32", "d": "float64", "h": "float16", "b": "bfloat16", "l": "int64", "c": "complex64", "B": "bool"}

CALLS = """
F.linear(T(2, 3), T(4, 3))
F.linear(T(2, 3), T(4, 3), T(4))
F.linear(T(3), T(4, 3), T(4))
F.linear(T(2, 2, 3), T(4, 3), T(4))
F.layer_norm(T(2, 3), (3,), T(3))
F.layer_norm(T(2, 3), (3,), T(3), T(3))
F.layer_norm(T(2, 3), (3,), None, T(3))
F.group_norm(T(2, 4), 2, T(4), T(4))
F.group_norm(T(2, 4), 2, None, T(4))
F.batch_norm(T(2, 3), T(3), T(3))
F.batch_norm(T(2, 3), None, None, T(3), T(3), True)
F.batch_norm(T(2, 3), T(3), T(3), T(3), T(3), True)
F.batch_norm(T(2, 3, 2, 2), T(3), T(3), T(3), T(3))
F.instance_norm(T(2, 3, 4), T(3), T(3), T(3), T(3))
F.instance_norm(T(2, 3, 4), T(3), T(3), use_input_stats=False)
F.rms_norm(T(2, 3), (3,), T(3))
F.conv1d(T(2, 2, 4), T(3, 2, 2), T(3))
F.conv1d(T(2, 4), T(3, 2, 2))
F.conv2d(T(2, 2, 4, 4), T(3, 2, 2, 2), T(3))
F.conv2d(T(2, 2, 4, 4), T(3, 2, 2, 2))
F.conv2d(T(1, 2, 4, 4), T(3, 2, 2, 2))
F.conv2d(T(1, 2, 4, 4), T(2, 1, 2, 2), groups=2)
F.conv2d(T(1, 2, 4, 4), T(3, 2, 2, 2), T(3), padding='same')
F.conv2d(T(1, 2, 4, 4), T(3, 2, 2, 2), dilation=2)
F.conv2d(T(0, 2, 4, 4), T(3, 2, 2, 2))
F.conv2d(T(1, 2, 4, 4), T(3, 4, 2, 2))
F.conv3d(T(1, 2, 4, 4, 4), T(3, 2, 2, 2, 2), T(3))
F.conv3d(T(1, 2, 4, 4, 4), T(3, 2, 2, 2, 2), T(3), padding='valid')
F.conv_transpose1d(T(1, 2, 4), T(2, 3, 2), T(3))
F.conv_transpose2d(T(1, 2, 4, 4), T(2, 3, 2, 2), T(3))
F.conv_transpose2d(T(2, 2, 4, 4), T(2, 3, 2, 2), T(3))
F.conv_transpose3d(T(1, 2, 2, 2, 2), T(2, 3, 2, 2, 2), T(3))
F.bilinear(T(2, 3), T(2, 3), T(2, 3, 3))
F.bilinear(T(2, 3), T(2, 3), T(2, 3, 3), T(2))
F.grid_sample(T(1, 1, 2, 2), T(1, 2, 2, 2))
F.grid_sample(T(1, 1, 2, 2, 2), T(1, 2, 2, 2, 3), mode='nearest')
F.scaled_dot_product_attention(T(1, 2, 4), T(1, 2, 4), T(1, 2, 4))
F.scaled_dot_product_attention(T(1, 2, 4), T(1, 2, 4), T(1, 2, 4), T(2, 2))
F.prelu(T(2, 3), T(3))
F.embedding(T(2), T(2, 3))
nn.LSTMCell(3, 2)(T(2, 3), (T(2, 2), T(2, 2)))[0]
nn.GRUCell(3, 2)(T(2, 3), T(2, 2))
nn.RNNCell(3, 2)(T(2, 3), T(2, 2))
nn.GRU(3, 2)(T(4, 3))[0]
nn.MultiheadAttention(4, 2)(T(2, 1, 4), T(2, 1, 4), T(2, 1, 4))[0]
grads(nn.Linear(3, 2), T(2, 3))
grads(nn.LayerNorm(3), T(2, 3))
grads(nn.GroupNorm(2, 4), T(2, 4))
grads(nn.BatchNorm1d(3), T(2, 3))
grads(nn.BatchNorm1d(3).eval(), T(2, 3))
grads(nn.BatchNorm1d(3, affine=False), T(2, 3))
grads(nn.InstanceNorm1d(3, affine=True), T(2, 3, 2))
grads(nn.Conv2d(2, 3, 2), T(1, 2, 3, 3))
grads(nn.Conv2d(2, 3, 2, bias=False), T(1, 2, 3, 3))
grads(nn.Conv2d(2, 3, 2, bias=False), T(2, 2, 3, 3))
grads(nn.ConvTranspose2d(2, 3, 2), T(2, 2, 3, 3))
""".strip().splitlines()


def cases() -> Iterator[str]:
    """Each call with a letter for the dtype of each of its tensors: float32 but for one of them, and for that one alone."""
    for call in CALLS:
        n = call.count("T(")
        for letter in list(DTYPES)[1:]:
            for i in range(n):
                yield from (f"{rest * i + one + rest * (n - i - 1)} {call}" for one, rest in ((letter, "f"), ("f", letter)))


def outcome(torch: Any, case: str) -> Any:
    """The dtype and the sum of what a call gives; of an error its type and text."""
    word, _, call = case.partition(" ")
    letters = iter(word)

    def tensor(*shape: int) -> Any:
        return torch.ones(shape).to(getattr(torch, DTYPES[next(letters)]))

    def grads(module: Any, x: Any) -> list[str]:
        module(x).sum().backward()
        return [str(p.grad.dtype) for p in module.parameters()]

    def run() -> Any:
        torch.manual_seed(0)
        result = eval(call, {"nn": torch.nn, "F": torch.nn.functional, "T": tensor, "grads": grads})
        return result if isinstance(result, list) else f"{result.dtype} {result.sum().item():.2g}"

    return attempted(run)


TABLE = Table("mixed_layers", list(dict.fromkeys(cases())), outcome, zipped=True)
