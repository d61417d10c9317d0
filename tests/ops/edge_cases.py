"""Single calls where a rule has an exception: gradients that are zero or not defined, results of nothing, dtypes that are refused late."""

from __future__ import annotations

from itertools import product
from typing import Any

from tests.ops.public_calls import outcome
from tests.recording import Table

GRID = "(((torch.arange(48.0) * 0.37) % 2.6 - 1.3).reshape(2, 3, 4, 2).requires_grad_())"
POOLS = {f"{name}{n}d": f"(2, 3{', 8' * n}), lambda x: F.{name}{n}d(x, {size})"
         for n in (1, 2, 3) for name, size in (("max_pool", 2), ("avg_pool", 2), ("adaptive_avg_pool", 2), ("adaptive_max_pool", 2))}

CALLS = [
    *[f"gradients(lambda x, g: F.grid_sample(x, g, {mode!r}, {pad!r}, {align}), f(2, 2, 5, 6), {GRID})"
      for mode in ("nearest", "bilinear") for pad in ("zeros", "border", "reflection") for align in (False, True)],
    *[f"diffed(f({shape}), {n}, torch.zeros({out}))" for shape in ("2, 3", "0", "3, 0") for n in (0, 1, 2, 5) for out in ("0", "2, 3")],
    "diffed(f(3), 0, torch.zeros(1).expand(3))", "diffed(f(3), -1, torch.zeros(0))", "diffed(f(), 0, torch.zeros(0))",
    *[f"mapped({count}, {pool})" for pool in POOLS.values() for count in (0, 2)],
    *[f"gradients(torch.conv_transpose3d, f(2, 2, 3, 4, 5), f(2, {4 // groups}, 2, 3, 2), f(4), {stride}, {padding}, {extra}, {groups}, "
      f"{dilation})"
      for groups in (1, 2) for stride, padding, extra, dilation in ((1, 0, 0, 1), (2, 1, 1, 1), ((1, 2, 3), (0, 1, 0), 0, 2))],
    *[f"gradients(torch.atan2, d(1) * 0 + {a}, d(1) * 0 + {b})"
      for a, b in product((0.0, 1e-200, 1.0, "inf", "nan"), repeat=2)],
    *[f"torch.{name}(torch.zeros({shape}, device={device!r}){dim})"
      for name in ("argmin", "argmax", "amax", "median", "max")
      for shape in ("0", "(0, 3)", "(3, 0)") for dim in ("", ", 0", ", 1") for device in ("cpu", "meta")],
    *[f"torch.take(torch.zeros({shape}, device={device!r}), torch.zeros({n}, dtype=torch.int64, device={device!r}))"
      for shape in ("0", "(0, 3)", "(1, 2)") for n in (0, 2) for device in ("cpu", "meta")],
    *[f"F.hinge_embedding_loss(torch.ones(3, dtype=torch.{x}, device={device!r}), -torch.ones(3, dtype=torch.{y}, device={device!r}), "
      f"{margin}, reduction={reduction!r})" for x in ("bool", "int64", "uint8", "float32") for y in ("int64", "float32")
      for margin in (1.0, 1.5) for reduction in ("none", "sum", "mean") for device in ("cpu", "meta")],
    *[f"torch.ones({shape}, dtype=torch.{dtype}, device={device!r}).{call}" for shape in ("0", "2") for device in ("cpu", "meta")
      for dtype in ("int64", "uint8", "bool", "complex64", "float16")
      for call in ("round()", "round(decimals=0)", "round_(decimals=0)", "round(decimals=1)", "round_(decimals=-1)", "abs_()")],
    *[f"torch.ones({shape}, dtype=torch.{dtype}).index_reduce_(0, i({n}), torch.ones({part}, dtype=torch.{dtype}), {how!r})"
      for dtype in ("bool", "complex64", "int64") for shape, n, part in (("2", 1, "1"), ("2, 3", 1, "1, 3"), ("", 1, ""))
      for how in ("prod", "mean", "amax", "amin")],
    *[f"torch.linalg.vector_norm(d({shape}) * 0 + {number}, {order}{dim}).log2()" for number in (1e-200, 1e200)
      for order in (0, 0.5, 1, 2, 3, -2, "float('inf')") for shape, dim in (("2, 1", ", -1"), ("1, 1", ""), ("2, 1, 1", ", (1, 2), True"))],
    *[f"torch.renorm(torch.ones({shape}, dtype=torch.{dtype}), {p}, {dim}, {most})" for shape, dtype, p, dim, most in (
        ("3", "float32", 2, 0, 1), ("2, 3", "float32", 0, 0, 1), ("2, 3", "float32", -1.5, 5, -1), ("2, 3", "int64", 2, 5, 1),
        ("2, 3", "float32", 2, 5, -1e-7), ("2, 3", "float32", 2j, 0, 1), ("2, 3", "float32", 2, 0, 1j))],
    *[f"torch.ops.aten.native_dropout_backward(torch.ones(2, dtype=torch.{dtype}), torch.tensor([1, 0], dtype=torch.{mask}), {scale})"
      for dtype in ("int8", "bool", "float16", "complex64") for mask in ("bool", "int64", "float32") for scale in (2, 0.1)],
]


def seen(torch: Any, call: str) -> Any:
    """Dtypes, shapes and values of what a call gives, without values where that is on meta; or the error."""
    found: list[Any] = []

    def look(x: Any) -> None:
        if isinstance(x, (list, tuple)):
            for y in x:
                look(y)
        elif isinstance(x, torch.Tensor):
            values = [] if x.is_meta else x.detach().reshape(-1).to(torch.float64 if not x.is_complex() else x.dtype).tolist()
            found.append([str(x.dtype).rpartition(".")[2], list(x.shape), str(values) if x.is_complex() else values])

    def gradients(function: Any, *args: Any) -> Any:
        leaves = [a.detach().requires_grad_() for a in args if isinstance(a, torch.Tensor)]
        result = function(*leaves, *args[len(leaves):])
        return result, torch.autograd.grad((result * result).sum(), leaves)

    def diffed(x: Any, n: int, out: Any) -> Any:
        assert torch.diff(x, n=n, out=out) is out
        return out

    def mapped(count: int, shape: tuple[int, ...], function: Any) -> Any:
        return torch.func.vmap(function)(torch.ones(count, *shape))

    names = {"gradients": gradients, "diffed": diffed, "mapped": mapped, "look": look}
    error = outcome(torch, f"look({call})", names=names)
    return found if error == "None" else error


TABLE = Table("edges", CALLS, seen, tolerance=(1e-4, 1e-5), digits=6)
