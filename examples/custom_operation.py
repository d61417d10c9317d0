"""An operation of one's own: `execute` says what it computes, `vjp_rule` how a gradient goes back through it.

    $ python examples/custom_operation.py
    x = [0.1 0.6] A x = [1. 2.]
    d sum(x) / db = [0.1 0.3] by the formula [0.1 0.3]
    d sum(x) / dA =
    [[-0.01 -0.06]
     [-0.03 -0.18]]
    agrees with finite differences, also of second order: True
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from autograd_tape import F, Operation, TensorRef, backward, check_grad


class Solve(Operation):
    """x with A x = b, by LAPACK: no derivative of the elimination is needed, only another solution.

    From dA x + A dx = db follows: the gradient v of x gives b the gradient w with A^T w = v, and A the gradient -w x^T.
    """

    def execute(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        return np.linalg.solve(a, b)

    def vjp_rule(self, primals: Sequence[Any], cotangent: Any, output: Any) -> tuple[Any, Any]:
        w = self(primals[0].T, cotangent)  # what it calls is recorded where a second derivative is wanted
        return -w[:, None] * output, w


solve = Solve("solve_by_lapack")


def main() -> None:
    a = TensorRef.of([[4.0, 1.0], [2.0, 3.0]], requires_grad=True)
    b = TensorRef.of([1.0, 2.0], requires_grad=True)
    x = solve(a, b)
    print("x =", x.numpy().round(4), "A x =", (a @ x).numpy())
    gradients, formula = backward(F.sum(x)), np.linalg.inv(a.numpy()).sum(0)
    print("d sum(x) / db =", gradients[b].round(4), "by the formula", formula.round(4))
    print("d sum(x) / dA =", gradients[a].round(4), sep="\n")
    assert np.allclose(gradients[b], formula) and np.allclose(gradients[a], -np.outer(formula, x.numpy()))

    report = check_grad(solve, [a.numpy(), b.numpy()], order=2)
    print("agrees with finite differences, also of second order:", report.ok)
    assert report.ok


if __name__ == "__main__":
    main()
