"""The tape library by hand: declare tensors, record operations, run backward, clip gradients.

    python examples/tape_basics.py
"""

from __future__ import annotations

import numpy as np

from autograd_tape import GradManager, OpSpec, Tape, TensorRef, backward, cpu_executor, grad_matmul, grad_relu, grad_sum


def main() -> dict[str, np.ndarray]:
    """Computes the gradients of sum(relu(x @ w)) and clips them; returns what it prints."""
    executor = cpu_executor()
    tape = Tape()
    gm = GradManager()

    # Leaves are declared by shape and dtype. The manager looks after those that require grad.
    x = TensorRef.declare((2, 3), "float32")
    w = TensorRef.declare((3, 4), "float32")
    gm.set_requires_grad(x, True)
    gm.set_requires_grad(w, True)

    # Nothing is computed here: an OpSpec knows its output's shape and dtype, the tape knows how to differentiate it.
    with tape:
        y = OpSpec("matmul", [x, w]).output
        tape.record("matmul", [x, w], y, grad_matmul, [x, w])

        z = OpSpec("relu", [y]).output
        tape.record("relu", [y], z, grad_relu, [y])

        loss = OpSpec("sum", [z]).output
        tape.record("sum", [z], loss, grad_sum, [z])
    print(tape.to_graph())

    # Data is bound when there is some; values are computed when first asked for.
    rng = np.random.default_rng(0)
    executor.bind(x, rng.standard_normal((2, 3)).astype(np.float32))
    executor.bind(w, rng.standard_normal((3, 4)).astype(np.float32))
    print("loss", loss.numpy())

    grads = backward(loss, tape, executor)
    dw, dx = grads[w.hash], grads[x.hash]
    print("dw", dw, "dx", dx, sep="\n")

    # The manager received the same gradients.
    norm = gm.clip_grad_norm([x, w], max_norm=1.0)
    print(f"gradient norm {norm:.4f}, after clipping {gm.clip_grad_norm([x, w], max_norm=1.0):.4f}")
    return {"loss": loss.numpy(), "dw": dw, "dx": dx, "norm": np.array(norm)}


if __name__ == "__main__":
    main()
