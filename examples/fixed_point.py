"""Implicit differentiation: the gradient of what an iteration converges to, without a record of the iteration.

    $ python examples/fixed_point.py
    x [0.7818 1.3937 2.2986] recorded: kepler
    dx/dm [1.3964 1.0758 0.7898] by the formula [1.3964 1.0758 0.7898]
    sum of dx/de 2.6325, by the formula 2.6325
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from autograd_tape import Operation, Tape, TensorRef, vjp


def iterate(step: Callable[[Any], Any], x: Any) -> Any:
    """The x with x = step(x)."""
    for _ in range(200):
        before, x = x, step(x)
        if np.allclose(x, before, rtol=0.0, atol=1e-14):
            return x
    raise ArithmeticError("the iteration does not converge")


class FixedPoint(Operation):
    """The x with x = f(x, *parameters), of the shape of the first of them.

    A cotangent v of x goes around before it leaves to the parameters: w = v + w df/dx, which is a fixed point as well.
    """

    def __init__(self, name: str, f: Callable[..., Any]) -> None:
        super().__init__(name)
        self.f = f

    def execute(self, *parameters: np.ndarray) -> np.ndarray:
        return iterate(lambda x: self.f(x, *parameters), np.zeros_like(parameters[0]))

    def vjp_rule(self, primals: Sequence[Any], cotangent: Any, output: Any) -> Sequence[Any]:
        _, pullback = vjp(self.f, output, *primals)
        return pullback(iterate(lambda w: cotangent + pullback(w)[0], cotangent))[1:]


# Kepler's equation: the angle x by which a planet stands on an orbit of eccentricity e, at the time m.
kepler = FixedPoint("kepler", lambda x, m, e: m + e * np.sin(x))


def main() -> None:
    m, e = TensorRef.of([0.5, 1.0, 2.0], requires_grad=True), TensorRef.of(0.4, requires_grad=True)
    with Tape() as tape:
        x = kepler(m, e)
    print("x", x.numpy().round(4), "recorded:", *[entry.op_name for entry in tape.entries])

    x.backward(np.ones(3))
    speed = 1 / (1 - 0.4 * np.cos(x.numpy()))
    print("dx/dm", m.grad.numpy().round(4), "by the formula", speed.round(4))
    print(f"sum of dx/de {e.grad.item():.4f}, by the formula {speed @ np.sin(x.numpy()):.4f}")
    assert np.allclose(m.grad, speed) and np.allclose(e.grad, speed @ np.sin(x.numpy()))


if __name__ == "__main__":
    main()
