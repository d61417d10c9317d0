"""How far `autograd_tape.sharding.plan` is from what steps take: `mpiexec -n 4 python -m benchmarks.sharding_model`.

One process alone has nothing to move: it measures the constants of operations (`planning.HERE`) by least squares of relative errors.
Several processes take turns where there are fewer cores, so that operations take as many times longer. Small and large networks are trained
in three ways; printed are seconds of a step as measured (the quickest of some), and as planned.
"""

from __future__ import annotations

import os
import time
from typing import Any

import numpy as np

from autograd_tape import F, TensorRef, backward
from autograd_tape.sharding import Mesh, Sharding, constrain, shard
from autograd_tape.sharding.mpi import MPI
from autograd_tape.sharding.planning import estimate
from autograd_tape.sharding.rehearsal import rehearse

WHOLE = None, None
STRATEGIES: dict[str, tuple[Any, list[tuple[Any, Any]]]] = {
    "data": (("d", None), [(WHOLE, WHOLE), (WHOLE, WHOLE)]),
    "tensor": (WHOLE, [((None, "d"), (None, "d")), (("d", None), ("d", None))]),
    "fully": (("d", None), [(("d", None), WHOLE), (("d", None), WHOLE)]),
}
SIZES = [(64, 32, 64), (512, 256, 512), (1024, 1024, 2048), (2048, 512, 4096)]
"""(batch, features, hidden)."""


def program(mesh: Mesh, strategy: str, size: tuple[int, int, int]) -> tuple[list[TensorRef], Any]:
    """(the tensors, a function that gives the loss)."""
    (batch, features, hidden), (lies, layers) = size, STRATEGIES[strategy]
    x = shard(np.ones((batch, features), np.float32), mesh, lies)
    weights = [shard(np.full(s, 1e-3, np.float32), mesh, at) for s, (at, _) in zip([(features, hidden), (hidden, features)], layers)]
    for w in weights:
        w.requires_grad = True

    def loss() -> TensorRef:
        first, second = [constrain(w, Sharding(mesh, use)) for w, (_, use) in zip(weights, layers)]
        return F.sum(F.relu(F.relu(x @ first) @ second))

    return weights, loss


def measured(carrier: MPI, mesh: Mesh, strategy: str, size: tuple[int, int, int]) -> float:
    """Seconds of a step: the quickest of some, each by the process that took longest."""
    weights, loss = program(mesh, strategy, size)
    found = []
    for _ in range(12):
        for w in weights:
            w.grad = None
        carrier.barrier(mesh)
        start = time.perf_counter()
        backward(loss())
        found.append(time.perf_counter() - start)
    (slowest,) = carrier.all_reduce(mesh, [np.asarray(found[2:])], ("d",), "maximum")
    return float(slowest.min())


def main() -> None:
    """Measures, and prints."""
    carrier = MPI()
    mesh, cores = Mesh({"d": carrier.count}, carrier), len(os.sched_getaffinity(0))
    errors, rows, times = [], [], []
    for strategy in STRATEGIES if mesh.size > 1 else ["data"]:
        for size in SIZES:
            took = measured(carrier, mesh, strategy, size)
            found = rehearse(lambda m, s=strategy, n=size: program(m, s, n)[1](), mesh)
            planned = estimate(found)
            step = planned.compute * max(1.0, mesh.size / cores) + planned.communication
            errors.append(step / took - 1)
            rows.append(f"{mesh.size} processes, {strategy}, {size}: {took * 1e3:.2f} ms, planned {step * 1e3:.2f} ms ({errors[-1]:+.0%})")
            times.append((sum([1 for _ in found.ledger.done]), found.ledger.flops, sum([b for _, b in found.ledger.done]), took))
    if carrier.rank:
        return
    print("\n".join(rows))
    print(f"{mesh.size} processes: error {np.median(np.abs(errors)):.0%} in the middle, at most {np.max(np.abs(errors)):.0%}")
    if mesh.size == 1:
        calls, flops, moved, took = np.array(times).T
        a, b = np.linalg.lstsq(np.stack([calls, flops], 1) / took[:, None], np.ones(len(took)), None)[0]
        print(f"an operation {a * 1e6:.0f} us, {1 / b:.2e} multiplications and additions in a second")


if __name__ == "__main__":
    main()
