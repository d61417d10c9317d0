"""Complex and half-precision cases: what is called, how it is stored, and how it is replayed.

The complex cases are the samples of the operation records with imaginary parts added to their floating-point arrays; the
half-precision ones are the common operations below. Both are recorded from torch.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np
from tests.oracle.oracle_cases import cotangent, flatten
from tests.recording import FIXTURES, Recording

RECORDED = FIXTURES / "complex.npz"

NAMESPACES = ("", "linalg", "special", "Tensor", "nn.functional")


def attribute(torch: Any, name: str) -> Any:
    """``torch.nn.functional.silu`` for "nn.functional.silu"; AttributeError where there is none."""
    found = torch
    for part in name.split("."):
        found = getattr(found, part)
    return found


def weights(output: Any, number: int) -> np.ndarray:
    """The fixed cotangent of an output, complex where that is."""
    shape, is_complex = tuple(output.shape), output.is_complex()
    real = cotangent(shape, "float64", number)
    return real + 1j * cotangent(shape, "float64", number + 500) if is_complex else real


def tensors_of(torch: Any, value: Any) -> list[Any]:
    """The tensors within nested lists and tuples."""
    return [x for x in flatten(value) if isinstance(x, torch.Tensor)]


def gradients(torch: Any, result: Any, inputs: list[Any], create_graph: bool = False) -> list[Any]:
    """The gradients of the outputs that require grad, with fixed cotangents; None for inputs they do not depend on."""
    outputs = [t for t in tensors_of(torch, result) if t.requires_grad]
    if not outputs:
        return [None] * len(inputs)
    given = [torch.from_numpy(np.asarray(weights(t, i))).to(t.dtype) for i, t in enumerate(outputs)]
    return list(torch.autograd.grad(outputs, inputs, given, allow_unused=True, create_graph=create_graph))


def half_operations(torch: Any) -> dict[str, Callable[..., Any]]:
    """The common operations, of a and b (7, 33), c (33, 9) and v (33,)."""
    F = torch.nn.functional
    return {
        "add": lambda a, b, c, v: a + b, "add_number": lambda a, b, c, v: a + 0.1, "add_row": lambda a, b, c, v: a + v,
        "add_alpha": lambda a, b, c, v: torch.add(a, b, alpha=0.3), "sub": lambda a, b, c, v: a - b, "mul": lambda a, b, c, v: a * b,
        "mul_number": lambda a, b, c, v: a * 0.3, "mul_float64_number": lambda a, b, c, v: a * torch.tensor(0.3, dtype=torch.float64),
        "div": lambda a, b, c, v: a / b, "div_number": lambda a, b, c, v: a / 3.1, "neg": lambda a, b, c, v: -a,
        "addcmul": lambda a, b, c, v: torch.addcmul(a, b, b, value=0.5), "exp": lambda a, b, c, v: a.exp(),
        "log": lambda a, b, c, v: a.abs().log(), "sqrt": lambda a, b, c, v: a.abs().sqrt(), "tanh": lambda a, b, c, v: a.tanh(),
        "sigmoid": lambda a, b, c, v: a.sigmoid(), "sin": lambda a, b, c, v: a.sin(), "square": lambda a, b, c, v: a**2,
        "relu": lambda a, b, c, v: F.relu(a), "gelu": lambda a, b, c, v: F.gelu(a), "silu": lambda a, b, c, v: F.silu(a),
        "sum": lambda a, b, c, v: a.sum(), "sum_rows": lambda a, b, c, v: a.sum(1), "mean": lambda a, b, c, v: a.mean(),
        "mean_columns": lambda a, b, c, v: a.mean(0), "var": lambda a, b, c, v: a.var(1), "amax": lambda a, b, c, v: a.amax(1),
        "cumsum": lambda a, b, c, v: a.cumsum(1), "logsumexp": lambda a, b, c, v: a.logsumexp(1), "norm": lambda a, b, c, v: a.norm(),
        "matmul": lambda a, b, c, v: a @ c, "mv": lambda a, b, c, v: a @ v, "bmm": lambda a, b, c, v: torch.bmm(a[None], c[None]),
        "softmax": lambda a, b, c, v: a.softmax(-1), "softmax_columns": lambda a, b, c, v: a.softmax(0),
        "log_softmax": lambda a, b, c, v: a.log_softmax(-1), "log_softmax_columns": lambda a, b, c, v: a.log_softmax(0),
        "layer_norm": lambda a, b, c, v: F.layer_norm(a, (33,), v, v), "mse_loss": lambda a, b, c, v: F.mse_loss(a, b),
        "cat": lambda a, b, c, v: torch.cat([a, b], 1), "cat_mixed": lambda a, b, c, v: torch.cat([a, b.float()], 1),
        "index": lambda a, b, c, v: a[torch.tensor([0, 3, 1])], "slice": lambda a, b, c, v: a[1:3, ::2],
        "where": lambda a, b, c, v: torch.where(a > b, a, b), "clamp": lambda a, b, c, v: a.clamp(-0.5, 0.5),
        "to_float32": lambda a, b, c, v: a.float(), "from_float32": lambda a, b, c, v: a.float().mul(3).to(a.dtype),
        "to_float64": lambda a, b, c, v: a.double(), "to_int": lambda a, b, c, v: (a * 10).to(torch.int32),
        "mixed": lambda a, b, c, v: a * b.float(), "less": lambda a, b, c, v: a < b,
        "softsign": lambda a, b, c, v: F.softsign(a), "tanhshrink": lambda a, b, c, v: F.tanhshrink(a),
        "xlogy": lambda a, b, c, v: torch.xlogy(a.abs(), b.abs()), "cube": lambda a, b, c, v: a**3,
        "inverse_square": lambda a, b, c, v: a**-2, "prod_rows": lambda a, b, c, v: a.prod(1), "prod_columns": lambda a, b, c, v: a.prod(0),
        "cross": lambda a, b, c, v: torch.linalg.cross(a[:, :3], b[:, :3]), "trapezoid": lambda a, b, c, v: torch.trapezoid(a),
    }


def half_inputs(torch: Any, dtype: str) -> list[Any]:
    """The arguments of a half-precision operation."""
    shapes = ((7, 33), (7, 33), (33, 9), (33,))
    return [torch.from_numpy((2.5 * cotangent(s, "float64", 100 * i)).astype("float32")).to(getattr(torch, dtype)).requires_grad_()
            for i, s in enumerate(shapes)]


TABLE = Recording("complex", "complex.npz", lambda torch: import_module("tests.oracle.complex_recorder").record())
