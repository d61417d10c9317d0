"""Numbers that fit a dtype or not, results in other dtypes, outputs that cannot be written to: expressions and what torch makes of them."""

from __future__ import annotations

import warnings
from typing import Any

from tests.recording import Table, attempted

_VALUES = ("[200]", "[-1]", "-255", "[-256]", "[1 << 63]", "[1 << 70]", "[127.9]", "[1j]", "[float('nan')]", "[[1], [300]]", "[True, 2]",
           "[1e30]", "[]")
INTEGERS = [f"t.tensor({value}, dtype=t.{dtype})" for value in _VALUES for dtype in ("int8", "uint8", "int64", "uint64", "bool")]
NUMBERS = [f"t.{call}" for dtype in ("int8", "uint8", "float32") for call in (
    f"scalar_tensor(300, dtype=t.{dtype})", f"scalar_tensor(-200, dtype=t.{dtype})",
    f"ones(2, dtype=t.{dtype}).masked_fill(t.tensor([True, False]), 300)", f"ones(2, dtype=t.{dtype}).clamp(max=300)")]
WHERE = [f"t.where(t.tensor([True]), {given})" for dtype in ("int8", "uint8", "int64", "bool") for n in (200, 256, -1, -256, 2.5, 1 << 64)
         for given in (f"t.ones(1, dtype=t.{dtype}), {n}", f"{n}, t.ones((), dtype=t.{dtype})")]
NORMS = [f"t.linalg.vector_norm(t.ones(2, dtype=t.{own}), dtype=t.{dtype})" for own in ("int64", "float32", "complex64")
         for dtype in ("int64", "float16", "float32", "float64", "complex64", "complex128")]
OUTS = [f"t.{call}" for call in (
    "exp(t.ones(3, 2), out=t.zeros(2).expand(5, 2))",
    "index_select(t.ones(3, 6), 1, t.tensor([0, 1]), out=t.zeros(6).expand(2, 6))", "sum(t.ones(3, 2), 0, out=t.zeros(2).expand(5, 2))",
    "masked_select(t.ones(3), t.ones(3) > 0, out=t.zeros(1).expand(2))", "gather(t.ones(3), 0, t.tensor([0]), out=t.zeros(1).expand(2))",
    "geqrf(t.eye(2) + 1, out=(t.ones(2, 2), t.ones(2)))", "max(t.ones(2, 2), 0, out=(t.ones(2), t.ones(2, dtype=t.int64)))",
    "return_types.sort_out.__name__")]
INDICES = [f"{call}(t.ones(5, requires_grad=True), 0, t.zeros({n}, dtype=t.uint8){more.format(n)})" for n in (0, 2) for call, more in (
    ("t.gather", ""), ("t.scatter_add", ", t.ones({})"), ("t.scatter", ", 1.0"), ("t.scatter_reduce", ", t.ones({}), 'sum'"))]
UNPOOLED = [f"t.nn.functional.max_unpool{n}d(t.ones({shape}), t.zeros({shape}, dtype=t.{dtype}) + {index}, 2)"
            for n, shape in ((1, (2, 2)), (1, (2,)), (2, (2, 2, 2)), (2, (2, 2)), (3, (1, 1, 1, 1)), (3, (1, 1, 1)), (2, (0, 2, 2)))
            for dtype in ("int64", "int32") for index in (0, 5000)]
OTHERS = """
t.multinomial(t.tensor([1.0, float("nan"), 1.0]), 2, replacement=True)
t.multinomial(t.tensor([float("inf"), -1.0, 1.0]), 2, replacement=True)
t.Tensor.__rsub__(2, 3)
t.Tensor.__pow__(2, 3)
t.Tensor.__add__(2, 3)
t.arange(0, 64, 0.5, dtype=t.int64)
t.softmax(t.ones(2, dtype=t.complex64), 0, dtype=t.float64)
t.log_softmax(t.ones(2, dtype=t.complex64), 0, dtype=t.complex128)
t.softmax(t.ones(2), 0, dtype=t.complex64)
t.clamp_min(t.ones(2, dtype=t.complex64), t.ones(2))
t.clamp(t.ones(2), max=t.ones(2, dtype=t.complex64))
t.clamp_min(t.ones(2), 1j)
t.clamp(t.ones(2), min=1j)
t.clamp(t.ones(2), 1j, 2)
t.ones(2).clamp_(1j)
t.where(t.tensor([True]), t.ones(1, dtype=t.int8), 200, out=t.empty(1, dtype=t.int8))
t.where(t.tensor([True]), t.ones(1), t.ones(1), out=t.empty(1, dtype=t.int8))
t.pow(t.tensor([True, False]), True)
t.pow(t.tensor([True, False]), False)
t.pow(t.tensor([True, False]), t.tensor(True))
t.accelerator.current_accelerator(), t.accelerator.device_count(), t.accelerator.is_available()
t.accelerator.synchronize()
t.accelerator.set_device_index(None)
t.take_along_dim(t.ones(3), t.zeros(1, dtype=t.int32), 0)
t.autograd.functional.hessian(lambda x: t.linalg.vector_norm(x), t.zeros(2))
t.autograd.functional.hessian(lambda x: t.logaddexp(x[0], x[1]), t.tensor([-float("inf"), 1.0]))
""".strip().splitlines()


def outcome(torch: Any, expression: str) -> Any:
    """What comes of an expression, as text, or the error."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = attempted(lambda: eval(expression, {"t": torch}))
    return found if isinstance(found, dict) else repr(found)


TABLE = Table("fitting", [*INTEGERS, *NUMBERS, *WHERE, *NORMS, *OUTS, *INDICES, *UNPOOLED, *OTHERS], outcome)
