"""What collectives cost: constants that were measured, between processes of one machine, for planning.

A collective takes a latency, and time for each byte that a device sends: less for the first 8 MiB, which stay in caches, than for the rest.
The constants are those of `autograd_tape.sharding.mpi` on two cores that had other work, with 2, 4 and 8 processes, so that those of 4
and 8 tell of processes that take turns; `mpiexec -n 4 python -m benchmarks.collectives` measures them anew, on other machines as well.
"""

from __future__ import annotations

import math

from ..errors import ArgumentError

LARGE = 2.0**23
"""The bytes from which on each costs as much as the last column of the table says."""

MEASURED: dict[tuple[str, int], tuple[float, float, float]] = {
    ("all_reduce", 2): (5.79e-05, 1.06e-09, 1.14e-09),  # error 25%, at most 52%
    ("all_gather", 2): (5.44e-05, 2.29e-10, 1.03e-09),  # error 9%, at most 14%
    ("reduce_scatter", 2): (6.82e-05, 5.11e-10, 2.00e-09),  # error 4%, at most 41%
    ("all_to_all", 2): (6.78e-05, 2.17e-10, 1.03e-09),  # error 6%, at most 10%
    ("broadcast", 2): (4.29e-05, 1.59e-10, 7.29e-10),  # error 7%, at most 14%
    ("exchange", 2): (4.59e-05, 1.37e-10, 5.18e-10),  # error 8%, at most 12%
    ("all_reduce", 4): (6.00e-04, 4.89e-09, 1.55e-09),  # error 7%, at most 29%
    ("all_gather", 4): (5.68e-04, 1.02e-09, 1.15e-09),  # error 3%, at most 27%
    ("reduce_scatter", 4): (6.27e-04, 7.90e-10, 2.65e-09),  # error 7%, at most 22%
    ("all_to_all", 4): (6.07e-04, 5.34e-10, 1.32e-09),  # error 7%, at most 21%
    ("broadcast", 4): (5.99e-04, 4.29e-10, 1.33e-09),  # error 14%, at most 24%
    ("exchange", 4): (5.21e-04, 3.87e-10, 9.65e-10),  # error 11%, at most 21%
    ("all_reduce", 8): (2.19e-03, 8.74e-09, 1.84e-09),  # error 25%, at most 33%
    ("all_gather", 8): (2.09e-03, 1.12e-09, 1.75e-09),  # error 11%, at most 43%
    ("reduce_scatter", 8): (1.96e-03, 2.71e-09, 3.29e-09),  # error 4%, at most 38%
    ("all_to_all", 8): (2.22e-03, 1.74e-09, 1.48e-09),  # error 10%, at most 42%
    ("broadcast", 8): (1.85e-03, 9.20e-10, 2.44e-09),  # error 20%, at most 31%
    ("exchange", 8): (1.76e-03, 1.52e-09, 1.62e-09),  # error 7%, at most 16%
}
"""For each collective and size of group: seconds to begin, seconds a byte, seconds a byte beyond `LARGE`."""

SIZES = sorted({group for _, group in MEASURED})


def constants(kind: str, group_size: int) -> tuple[float, float, float]:
    """Those of the table; between its groups they follow the logarithm of the size, beyond them the latency the number of messages.

    Raises:
        ArgumentError: there is no such collective.
    """
    if (kind, SIZES[0]) not in MEASURED:
        raise ArgumentError("There is no such collective", expected=" or ".join(sorted({k for k, _ in MEASURED})), found=repr(kind),
                            remedy="name one of these")
    last = SIZES[-1]
    if group_size >= last:
        latency, *rates = MEASURED[kind, last]
        return latency * (group_size - 1) / (last - 1), rates[0], rates[1]
    above = next(g for g in SIZES if g >= max(group_size, 2))
    below = max([g for g in SIZES if g <= max(group_size, 2)])
    part = 0.0 if above == below else math.log(group_size / below) / math.log(above / below)
    a, b, c = [x ** (1 - part) * y ** part for x, y in zip(MEASURED[kind, below], MEASURED[kind, above])]
    return a, b, c


def seconds(kind: str, group_size: int, bytes: float) -> float:
    """The time of a collective.

    Args:
        kind: its name: "all_reduce", "all_gather", "reduce_scatter", "all_to_all", "broadcast" or "exchange".
        group_size: the number of devices that take part.
        bytes: what each of them sends (`Collective.bytes`).

    >>> seconds("all_reduce", 1, 1e6)
    0.0
    >>> seconds("all_gather", 4, 1e9) > seconds("all_gather", 4, 1e6) > seconds("all_gather", 2, 8)
    True
    """
    latency, small, large = constants(kind, group_size)
    return 0.0 if group_size <= 1 else latency + small * min(bytes, LARGE) + large * max(bytes - LARGE, 0.0)


__all__ = ["LARGE", "MEASURED", "constants", "seconds"]
