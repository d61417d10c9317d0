"""Newton's method, with the gradient and the Hessian of a plain function.

    $ python examples/newton.py
    step 0: [-1.2  1. ], distance 2e+00, |gradient| 2e+02
    step 1: [-1.1753  1.3807], distance 2e+00, |gradient| 5e+00
    step 2: [ 0.7631 -3.175 ], distance 4e+00, |gradient| 1e+03
    step 3: [0.7634 0.5828], distance 5e-01, |gradient| 5e-01
    step 4: [1.    0.944], distance 6e-02, |gradient| 3e+01
    step 5: [1. 1.], distance 1e-05, |gradient| 9e-06
"""

import numpy as np

from autograd_tape import TensorRef, grad, hessian


def rosenbrock(p: TensorRef) -> TensorRef:
    """A narrow curved valley, whose floor falls slowly to the minimum at (1, 1)."""
    x, y = p
    return (1.0 - x) ** 2 + 100.0 * (y - x**2) ** 2


def by_hand(p: np.ndarray) -> np.ndarray:
    """Its Hessian, from pencil and paper."""
    x, y = p
    return np.array([[1200 * x**2 - 400 * y + 2, -400 * x], [-400 * x, 200.0]])


def main() -> None:
    p = np.array([-1.2, 1.0])
    for step in range(6):
        slope, curvature = grad(rosenbrock)(p), hessian(rosenbrock)(p)
        print(f"step {step}: {p.round(4)}, distance {np.linalg.norm(p - 1.0):.0e}, |gradient| {np.linalg.norm(slope):.0e}")
        assert np.allclose(curvature, by_hand(p))
        p = p - np.linalg.solve(curvature, slope)
    assert np.allclose(p, 1.0, atol=1e-9)


if __name__ == "__main__":
    main()
