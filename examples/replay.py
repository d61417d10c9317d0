"""A tape replayed: the function is called once; what it did is computed anew for other data, forwards and backwards.

    $ python examples/replay.py
    the function is called
    recorded: matmul, sub, pow, mean
    step   0: loss 17.530572
    step  30: loss 0.870348
    step  60: loss 0.869735
    step  90: loss 0.869735
    step 120: loss 0.869735
    weights [ 3.1844 -2.1614  1.0188] by least squares [ 3.1844 -2.1614  1.0188]
"""

import numpy as np

from autograd_tape import TensorRef, backward_on_trace, trace


def loss(weights: TensorRef, x: TensorRef, y: TensorRef) -> TensorRef:
    """The mean squared error of a line's fit."""
    print("the function is called")
    return ((x @ weights - y) ** 2).mean()


def main() -> None:
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((50, 3)), rng.standard_normal(50)
    y += x @ [3.0, -2.0, 1.0]
    weights = np.zeros(3)
    t = trace(loss, weights, x, y)
    print("recorded:", ", ".join(node.op_name for node in t.nodes))
    for step in range(121):
        value = t.refresh_graph_values(weights, x, y)
        if step % 30 == 0:
            print(f"step {step:3}: loss {value:.6f}")
        weights = weights - 0.1 * backward_on_trace(t)[t.inputs[0]]
    best = np.linalg.lstsq(x, y, rcond=None)[0]
    print("weights", weights.round(4), "by least squares", best.round(4))
    assert np.allclose(weights, best)


if __name__ == "__main__":
    main()
