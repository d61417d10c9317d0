"""Reverse mode in ten lines: walk a tape backwards, and let each entry hand its gradient on to its inputs.

    $ python examples/micrograd.py
    recorded: mul, add, tanh, mul
    d/dw -0.3199, by the formula -0.3199
    d/dx -0.6397, by the formula -0.6397
    d/db -0.6397, by the formula -0.6397
    descent: 0.5800 0.4805 0.3494 0.1981 0.0726
"""

from collections import defaultdict

import numpy as np

from autograd_tape import F, Tape, TensorRef


def backward(loss: TensorRef, tape: Tape) -> dict[int, np.ndarray]:
    """Gradients of `loss`, by the ids of tensors. An entry has the id of its output, and stands behind all that its inputs come from."""
    gradients = defaultdict(float, {loss.id: np.ones(loss.shape)})
    for entry in reversed(tape.entries):
        if entry.id in gradients:
            for tensor, gradient in zip(entry.inputs, entry.grad_fn(gradients[entry.id], entry.saved_tensors)):
                gradients[tensor.id] += gradient
    return gradients


def neuron(w: float, x: float, b: float) -> tuple[list[TensorRef], Tape, TensorRef]:
    """The leaves, the tape and the loss of a neuron that should answer 0."""
    leaves = w, x, b = [TensorRef.of(value, requires_grad=True) for value in (w, x, b)]
    with Tape() as tape:
        y = F.tanh(w * x + b)
        loss = y * y
    return leaves, tape, loss


def main() -> None:
    w, x, b = values = [1.0, 0.5, -1.5]
    leaves, tape, loss = neuron(*values)
    print("recorded:", ", ".join(entry.op_name for entry in tape.entries))
    gradients, y = backward(loss, tape), np.tanh(w * x + b)
    for name, leaf, inner in zip("wxb", leaves, (x, w, 1.0)):
        expected = 2 * y * (1 - y**2) * inner
        print(f"d/d{name} {gradients[leaf.id]:.4f}, by the formula {expected:.4f}")
        assert np.isclose(gradients[leaf.id], expected)

    losses = []
    for _ in range(5):
        leaves, tape, loss = neuron(*values)
        losses.append(loss.item())
        values = [value - 0.1 * backward(loss, tape)[leaf.id] for value, leaf in zip(values, leaves)]  # against the gradient
    print("descent:", *[f"{loss:.4f}" for loss in losses])
    assert losses == sorted(losses, reverse=True)


if __name__ == "__main__":
    main()
