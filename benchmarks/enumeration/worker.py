"""One side of an enumeration: `benchmarks.worker` with three requests more.

    {"do": "fit", ... "size": S, "seed": n}          {"path": of the function, "spec": arguments of that size}, or {"void": why not}
    {"do": "prepare", ... "target": s, "clock": C}   {"shapes": of the results, "elements": of the largest tensor}
    {"do": "sample", "clock": C}                     {"seconds": per call}
"""

from __future__ import annotations

import gc
import math
import os
import resource
import sys
import warnings
from collections.abc import Callable
from time import sleep
from typing import Any

from benchmarks.enumeration import calls
from benchmarks.worker import CLOCKS, SETTLE_SECONDS, Worker, calibrate, sample, serve

MEMORY = 12 << 30
"""Bytes of address space: a call that grew too much fails instead of exhausting the machine."""


class Enumerator(Worker):
    """Answers requests on one call at a time."""

    def __init__(self, module: str, threads: int) -> None:
        super().__init__(module, threads)
        self.threads = threads
        self.call: Callable[[], Any] = lambda: None
        self.loops = 1

    def fit(self, paths: list[str], **entry: Any) -> dict[str, Any]:
        path = next((p for p in paths if calls.lookup(self.module, p) is not None), "")
        try:
            return {"path": path, "spec": calls.fitted(self.module, path, **entry)} if path else {"void": f"no {paths[0]}"}
        except calls.Void as reason:
            return {"void": str(reason)}

    def prepare(self, target: float, clock: str, **entry: Any) -> dict[str, Any]:
        gc.collect()
        self.call = calls.call(self.module, **entry)
        results = self.call()
        sizes = [math.prod(x["shape"]) for x in calls.arrays(entry["spec"])] + [t.numel() for t in calls.tensors(self.module, results)]
        shapes = calls.shapes(self.module, results)
        if calls.shapes(self.module, self.call()) != shapes:  # `unsqueeze_`, for one
            raise calls.Void("the same call again gives another shape")
        self.loops = calibrate(self.call, target, lambda call, loops: sample(call, loops, CLOCKS[clock]))
        return {"shapes": shapes, "elements": max(sizes, default=0)}

    def sample(self, clock: str) -> dict[str, Any]:
        gc.disable()
        try:
            if self.threads > 1:
                sleep(SETTLE_SECONDS)
            return {"seconds": sample(self.call, self.loops, CLOCKS[clock])}
        finally:
            gc.enable()


def main() -> None:
    replies = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what a library prints must not get between the replies
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    warnings.simplefilter("ignore")
    worker = Enumerator(sys.argv[1], int(sys.argv[2]))
    worker.module.exp(worker.module.ones(1 << 20)).sum()  # some ways are taken only where a large call has loaded compiled code
    serve(worker, sys.stdin, replies)


if __name__ == "__main__":
    main()
