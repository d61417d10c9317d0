"""Operations of one's own, in two ways: a registered gradient function, and an Operation with a vjp_rule.

    python examples/custom_grad_fn.py
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from autograd_tape import F, Operation, Tape, TensorRef, backward, check_grad, grad, register_grad_fn


# 1. Compute a value in any way, and tell the tape how to differentiate it.
@register_grad_fn("softplus_numpy")
def grad_softplus(grad_output: Any, saved_tensors: Sequence[Any]) -> list[Any]:
    """d log(1 + exp(x)) / dx = 1 / (1 + exp(-x))."""
    (x,) = saved_tensors
    return [grad_output / (1 + np.exp(-x))]


def by_hand(values: np.ndarray) -> np.ndarray:
    """The gradient of sum(softplus(x)), softplus computed by NumPy and recorded by hand."""
    x = TensorRef.of(values, requires_grad=True)
    with Tape() as tape:
        y = TensorRef.of(np.logaddexp(0.0, x.numpy()))
        tape.record("softplus_numpy", [x], y, saved_tensors=[x])
        loss = F.sum(y)
    return backward(loss, tape)[x.id]


# 2. An operation to call like any other. Its rule uses what arrays and tensors have in common, so that it can be differentiated too.
class Cubic(Operation):
    """scale * x ** 3."""

    def execute(self, x: np.ndarray, *, scale: float = 1.0) -> np.ndarray:
        """The value."""
        return scale * x ** 3

    def vjp_rule(self, primals: Sequence[Any], cotangent: Any, output: Any, *, scale: float = 1.0) -> tuple[Any, ...]:
        """d x**3 / dx = 3 x**2."""
        (x,) = primals
        return (3.0 * scale * x * x * cotangent,)


cubic = Cubic("cubic")


def main() -> dict[str, Any]:
    """Runs both, checks them, and takes a second derivative; returns what it prints."""
    values = np.array([-1.0, 0.0, 2.0])
    first = by_hand(values)
    print("softplus'", first)

    x = TensorRef.of(values, requires_grad=True)
    (dx,) = grad(F.sum(cubic(x, scale=2.0)), [x], create_graph=True)
    (ddx,) = grad(F.sum(dx), [x])
    print("cubic'", dx.numpy(), "cubic''", ddx)

    report = check_grad(lambda x: cubic(x, scale=2.0), [values], order=2)
    print(report.table())
    return {"softplus": first, "first": dx.numpy(), "second": ddx, "ok": report.ok}


if __name__ == "__main__":
    main()
