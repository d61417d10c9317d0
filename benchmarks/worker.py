"""One side of a benchmark: a process that runs workloads on one module and answers in JSON lines.

``python -m benchmarks.worker MODULE THREADS`` imports MODULE once and then serves requests from stdin:

    {"do": "facts"}                                   versions of the interpreter, of MODULE and of NumPy
    {"do": "check", "key": K}                         the digest of the first result of workload K
    {"do": "time", "key": K, "target": s, "samples": n, "clock": C}  {"seconds": [per call, for n samples of about s seconds]}

A request that raises is answered with ``{"error": "Type: message"}``; the process stays usable.
"""

from __future__ import annotations

import gc
import json
import os
import platform
import sys
from collections.abc import Callable
from importlib import import_module
from itertools import repeat
from time import perf_counter, process_time, sleep
from typing import Any

import numpy as np

from benchmarks.workloads import registered

WARM_CALLS = 3
SETTLE_SECONDS = 0.004  # lets the other side's spinning worker threads go to sleep before the clock starts
DIGEST_VALUES = 6


CLOCKS = {"wall": perf_counter, "cpu": process_time}


def sample(call: Callable[[], Any], loops: int, clock: Callable[[], float] = perf_counter) -> float:
    """Seconds per call, over ``loops`` calls."""
    started = clock()
    for _ in repeat(None, loops):
        call()
    return (clock() - started) / loops


def calibrate(call: Callable[[], Any], target: float, measure: Callable[..., float] = sample) -> int:
    """The number of calls that takes about ``target`` seconds, found by doubling; at least 1."""
    loops = 1
    while True:
        seconds = measure(call, loops)
        if seconds * loops >= target / 4:
            return max(1, round(target / seconds))
        loops *= 2


def digest(result: Any, random: bool) -> list[Any]:
    """A comparable summary of a result: per tensor its shape and, unless random, its sums and first values."""
    if isinstance(result, (tuple, list)) and not all(isinstance(part, (int, float)) for part in result):
        return [row for part in result for row in digest(part, random)]
    if str(getattr(result, "dtype", "")) == "torch.bfloat16":  # which torch does not hand to NumPy
        result = result.detach().float()
    array = np.asarray(result.detach().numpy() if hasattr(result, "detach") else result)
    if random:
        return [[list(array.shape), []]]
    values = array.astype(np.float64)
    first = values.reshape(-1)[:DIGEST_VALUES].tolist()
    return [[list(array.shape), [float(values.sum()), float(np.abs(values).sum()), *first]]]


class Worker:
    """Answers requests on one imported module."""

    def __init__(self, module: str, threads: int) -> None:
        self.module = import_module(module)
        if hasattr(self.module, "set_num_threads"):
            self.module.set_num_threads(threads)
        gc.collect()
        gc.freeze()  # what importing left behind need not be walked before every measurement

    def facts(self) -> dict[str, Any]:
        return {
            "python": platform.python_version(),
            "numpy": np.__version__,
            "version": str(getattr(self.module, "__version__", "unknown")),
        }

    def check(self, key: str) -> dict[str, Any]:
        entry = registered()[key]
        return {"digest": digest(entry.setup(self.module)(), entry.random)}

    def time(self, key: str, target: float, samples: int, clock: str = "wall") -> dict[str, Any]:
        """Set the workload up, warm it, and time it with the garbage collector off.

        Loops are counted anew in every round: a library that compiles in the background is slow only at first.
        """
        call = registered()[key].setup(self.module)
        for _ in range(WARM_CALLS):
            call()
        gc.collect()
        gc.disable()
        try:
            sleep(SETTLE_SECONDS)
            call()
            loops = calibrate(call, target)
            return {"seconds": [sample(call, loops, CLOCKS[clock]) for _ in range(samples)]}
        finally:
            gc.enable()


def serve(worker: Worker, requests: Any, replies: Any) -> None:
    """Answer one JSON line per request until the input ends."""
    for line in requests:
        request = json.loads(line)
        action = request.pop("do")
        try:
            reply = getattr(worker, action)(**request)
        except Exception as error:  # whatever a workload raises is a result, to be reported under its name
            reply = {"error": f"{type(error).__name__}: {error}"}
        replies.write(json.dumps(reply) + "\n")
        replies.flush()


def main() -> None:
    replies = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what a library prints must not get between the replies
    serve(Worker(sys.argv[1], int(sys.argv[2])), sys.stdin, replies)


if __name__ == "__main__":
    main()
