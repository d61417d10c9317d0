"""Parts of torch that programs find below its public names: `_masked_softmax`, Jacobians of `gradcheck`, `torch._C._nn`."""

from __future__ import annotations

import sys
import warnings
from typing import Any

from tests.recording import Table, attempted

SETTING = """
x = torch.arange(6.).reshape(2, 3)
m = torch.tensor([[True, False, False], [True, True, True]])
y = torch.arange(36.).reshape(2, 2, 3, 3) % 7
square = torch.tensor([[True, False, False], [False, True, True], [False, False, False]])
M, nn, q = torch._masked_softmax, torch._C._nn, torch.tensor([1., 2.], dtype=torch.float64, requires_grad=True)
def grads(*args):
    z = args[0].clone().requires_grad_()
    r = M(z, *args[1:])
    return [type(r.grad_fn).__name__, torch.autograd.grad(r[:, 1].sum(), z)[0]]
image = torch.arange(32.).reshape(1, 2, 4, 4)
"""
CODES = [
    *[f"M({call})" for call in (
        "x, m, 1", "x, m", "x, m, 0", "x, m, -1", "x, m, 1, 2", "x, m, 1, 0", "x, m, 1, 3", "x, m.int(), 1", "x, m[:, :2], 1", "x, m, 2",
        "x.int(), m, 1", "x, m[0], 1", "x.half(), m, 1", "x.bfloat16(), m, 1", "x.double(), m, 1", "y, square, 3, 0", "y, m, 3, 1",
        "y, square, None, 0", "y, m, 3, 0", "y, square, 3, 1", "y, square, 1, 0", "y, m", "y, m, 3, 2", "y, y > 4, 3, 2", "x, x, 1")],
    *[f"grads({call})" for call in ("x, m, 1", "x, m, 0", "y, square, 3, 0", "y, m, 3, 1", "y, y > 4")],
    *[f"parts.{call}" for call in (
        "get_numerical_jacobian(lambda i: i[0] ** 2, (q,))", "get_numerical_jacobian(lambda i: i[0] * i[1], (q, q + 1), target=q)",
        "get_numerical_jacobian(lambda i: i[0] ** 2, (q,), eps=1e-3, grad_out=2.)", "get_analytical_jacobian((q,), q ** 2)",
        "get_analytical_jacobian((q,), q.sum(), 1e-3)", "get_analytical_jacobian((q,), q ** 2, 1e-3, 2.)",
        "get_numerical_jacobian_wrt_specific_input(lambda a, b: (a * b,), 1, (q, q * 2), (q,), 1e-6)")],
    *[f"nn.{call}" for call in (
        "linear(x, torch.ones(2, 3))", "gelu(x)", "gelu(x, approximate='tanh')", "mse_loss(x, x + 1, 1)", "elu_(x - 2)", "silu(x)",
        "avg_pool2d(image, 2)", "adaptive_avg_pool2d(image, (2, 2))", "upsample_nearest2d(image, (2, 2))", "one_hot(torch.tensor([1]), 3)",
        "softplus(x, 1, 20)", "leaky_relu(x, 0.1)", "hardtanh(x, -1, 1)", "pad(x, (1, 1), 'constant', 2.)", "l1_loss(x, x - 1)",
        "im2col(image, (2, 2), (1, 1), (0, 0), (1, 1))", "none")],
]


def _plain(value: Any) -> Any:
    if isinstance(value, (tuple, list)):
        return [_plain(v) for v in value]
    if not hasattr(value, "detach"):
        return value
    return [str(value.dtype), list(value.shape), [repr(v) if v != v else v for v in value.detach().double().reshape(-1).tolist()]]


def _outcome(torch: Any, code: str) -> Any:
    import importlib

    importlib.import_module(f"{torch.__name__}.autograd.gradcheck")
    places: dict[str, Any] = {"torch": torch, "parts": sys.modules[f"{torch.__name__}.autograd.gradcheck"]}
    exec(SETTING, places)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = attempted(lambda: _plain(eval(code, places)))
    return [found, [str(w.message) for w in caught if w.category is FutureWarning]]


TABLE = Table("parts", CODES, _outcome, tolerance=(1e-6, 1e-6))
