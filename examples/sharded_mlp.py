"""One program, three ways to train on several devices: what is split, and what is moved, follows from shardings alone.

Devices are simulated in this process; `mpiexec -n 4 python examples/sharded_mlp.py --mpi` has a process for each.

    data        each device has a part of the batch, and all weights: their gradients are summed (all_reduce)
    tensor      each device has a part of the hidden layer: what it makes of it is summed, forward and backward
    fully       each device has a part of the batch and of the weights, which are gathered for their use (all_gather), and the sums of whose
                gradients are spread (reduce_scatter)

    $ python examples/sharded_mlp.py
    data: 2.7843 2.2400 1.8872 1.6283 1.4256 1.2596
    tensor: 2.7843 2.2400 1.8872 1.6283 1.4256 1.2596
    fully: 2.7843 2.2400 1.8872 1.6283 1.4256 1.2596
"""

import sys

import numpy as np

from autograd_tape import F, TensorRef, backward, no_grad
from autograd_tape.sharding import Mesh, Sharding, constrain, gather, shard

WHOLE = None, None
# How the batch lies, and for each layer how its weight lies, and how it is used.
STRATEGIES = {
    "data": (("devices", None), [(WHOLE, WHOLE), (WHOLE, WHOLE)]),
    "tensor": (WHOLE, [((None, "devices"), (None, "devices")), (("devices", None), ("devices", None))]),
    "fully": (("devices", None), [(("devices", None), WHOLE), (("devices", None), WHOLE)]),
}


def loss_of(weights: list[TensorRef], uses: list[Sharding], x: TensorRef, wanted: TensorRef) -> TensorRef:
    """The mean of what cross entropy makes of a network with one hidden layer."""
    first, second = [constrain(w, use) for w, use in zip(weights, uses)]
    logits = F.relu(x @ first) @ second
    return -F.sum(F.log_softmax(logits, 1) * wanted) / float(x.shape[0])


def train(strategy: str, mesh: Mesh, steps: int = 6, rate: float = 0.5) -> list[float]:
    """The losses of some steps of gradient descent."""
    batch, layers = STRATEGIES[strategy]
    rng = np.random.default_rng(0)
    points = rng.standard_normal((64, 16))
    labels = np.argmax(points @ rng.standard_normal((16, 10)), 1)
    x, wanted = shard(points, mesh, batch), shard(np.eye(10)[labels], mesh, batch)
    weights = [shard(rng.standard_normal(size) * 0.3, mesh, lies) for size, (lies, _) in zip([(16, 32), (32, 10)], layers)]
    uses = [Sharding(mesh, used) for _, used in layers]
    losses = []
    for _ in range(steps):
        for w in weights:
            w.requires_grad = True
        loss = loss_of(weights, uses, x, wanted)
        grads = backward(loss)
        with no_grad():
            weights = [w - rate * grads[w] for w in weights]
        losses.append(gather(loss).item())
    return losses


def main() -> None:
    if "--mpi" in sys.argv:
        from autograd_tape.sharding.mpi import MPI

        mesh = Mesh({"devices": MPI().count}, carrier="mpi")
    else:
        mesh = Mesh({"devices": 4})
    for strategy in STRATEGIES:
        losses = train(strategy, mesh)
        if 0 in mesh.carrier.held(mesh):
            print(f"{strategy}: {' '.join([f'{loss:.4f}' for loss in losses])}")


if __name__ == "__main__":
    main()
