"""What collectives between processes cost: `mpiexec -n 4 python -m benchmarks.collectives` prints the rows of
`autograd_tape.sharding.costs` for groups of four, and how far times are from them."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from autograd_tape.sharding import Mesh
from autograd_tape.sharding.costs import LARGE
from autograd_tape.sharding.mpi import MPI

SIZES = [8, 1 << 10, 1 << 14, 1 << 17, 1 << 20, 1 << 23, 1 << 26]
AXES = ("a",)


def cases(mesh: Mesh, size: int) -> dict[str, tuple[float, Callable[[], Any]]]:
    """For each collective, on operands (of all_gather: results) of `size` bytes, what a device sends, and a function that does it."""
    carrier, k = mesh.carrier, mesh.size
    whole = np.ones(max(size // 8, 1))
    part = whole[:max(whole.size // k, 1)]
    share = (k - 1) / k * whole.nbytes
    ring = [(i, (i + 1) % k) for i in range(k)]
    return {
        "all_reduce": (2 * share, lambda: carrier.all_reduce(mesh, [whole], AXES)),
        "all_gather": ((k - 1) * part.nbytes, lambda: carrier.all_gather(mesh, [part], AXES, 0)),
        "reduce_scatter": (share, lambda: carrier.reduce_scatter(mesh, [whole], AXES, 0)),
        "all_to_all": (share, lambda: carrier.all_to_all(mesh, [whole.reshape(1, -1)], AXES, 1, 0)),
        "broadcast": (whole.nbytes, lambda: carrier.broadcast(mesh, [whole], AXES)),
        "exchange": (whole.nbytes, lambda: carrier.exchange(mesh, [whole], ring)),
    }


def best(carrier: MPI, mesh: Mesh, work: Callable[[], Any], size: int) -> float:
    """Seconds of the quickest of some times, by the process that took longest."""
    found = []
    for _ in range(40 if size <= 1 << 14 else 12 if size <= 1 << 20 else 4):
        carrier.barrier(mesh)
        start = time.perf_counter()
        work()
        found.append(time.perf_counter() - start)
    (slowest,) = carrier.all_reduce(mesh, [np.asarray(found)], AXES, "maximum")
    return float(slowest.min())


def row(kind: str, group: int, sent: np.ndarray, seconds: np.ndarray) -> str:
    """What is to stand in `costs.MEASURED`: constants by least squares of relative errors."""
    columns = np.stack([np.ones(len(sent)), np.minimum(sent, LARGE), np.maximum(sent - LARGE, 0)], 1) / seconds[:, None]
    constants, *_ = np.linalg.lstsq(columns, np.ones(len(seconds)), None)
    errors, times = np.abs(columns @ constants - 1), ", ".join([f"{t * 1e6:.0f}" for t in seconds])
    numbers = ", ".join([f"{c:.2e}" for c in constants])
    return f'    ("{kind}", {group}): ({numbers}),  # error {np.median(errors):.0%}, at most {errors.max():.0%}; us: {times}'


def main() -> None:
    """Measures, and prints."""
    carrier = MPI()
    mesh = Mesh({"a": carrier.count}, carrier)
    rows: dict[str, list[tuple[float, float]]] = {}
    for size in SIZES:
        for kind, (sent, work) in cases(mesh, size).items():
            work()
            rows.setdefault(kind, []).append((sent, best(carrier, mesh, work, size)))
    if carrier.rank:
        return
    for kind, found in rows.items():
        sent, seconds = np.array(found).T
        print(row(kind, mesh.size, sent, seconds))


if __name__ == "__main__":
    main()
