"""What only a fresh process can tell: import time, resident memory, and the growth of a loop.

``python -m benchmarks.processes PROBE MODULE THREADS`` runs one probe and prints its values as JSON; the parent's part is
:func:`measure`.  Memory is read from ``/proc/self/status`` in MiB, so these probes need Linux.
"""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from time import perf_counter
from typing import Any

TRAINING_STEPS = 40
WARM_EVALUATIONS, EVALUATIONS = 100, 2000
PROBE_SECONDS = 180


def resident(field: str = "VmRSS") -> float:
    """A memory field of this process in MiB (``VmRSS``: resident now, ``VmHWM``: at its peak)."""
    with open("/proc/self/status") as lines:
        for line in lines:
            if line.startswith(field + ":"):
                return int(line.split()[1]) / 1024
    raise RuntimeError(f"/proc/self/status has no field {field}")


def load(module: str, threads: int) -> Any:
    torch = importlib.import_module(module)
    if hasattr(torch, "set_num_threads"):
        torch.set_num_threads(threads)
    return torch


def probe_import(module: str, threads: int) -> dict[str, float]:
    before = resident()
    started = perf_counter()
    importlib.import_module(module)
    return {"seconds": perf_counter() - started, "resident": resident() - before}


def probe_training(model: str, module: str, threads: int) -> dict[str, float]:
    """Peak resident memory of a training loop, whole and beyond what the import took."""
    torch = load(module, threads)
    from benchmarks.workloads import steps

    imported = resident()
    step = getattr(steps, model)(torch)
    for _ in range(TRAINING_STEPS):
        step()
    peak = resident("VmHWM")
    return {"peak": peak, "above_import": peak - imported}


def probe_evaluation(module: str, threads: int) -> dict[str, float]:
    """Growth of a loop that evaluates a model with graphs recorded and dropped (no ``no_grad``)."""
    torch = load(module, threads)
    from benchmarks.workloads.registry import floats
    from benchmarks.workloads.steps import mnist_mlp

    model, images = mnist_mlp(torch), floats(torch, 64, 784)
    total = 0.0
    for number in range(WARM_EVALUATIONS + EVALUATIONS):
        if number == WARM_EVALUATIONS:
            before = resident()
        total += model(images).sum().item()
    return {"growth": resident() - before}


#: What is trained: a function of `workloads.steps`, and what it is called.
TRAINED = {"mnist_step": "MNIST MLP", "lenet": "LeNet", "residual_cnn": "residual CNN", "transformer": "transformer"}
PROBES: dict[str, Callable[[str, int], dict[str, float]]] = {
    "import": probe_import,
    "evaluation": probe_evaluation,
    **{model: partial(probe_training, model) for model in TRAINED},
}
# (group, section, name, probe, value of the probe, unit)
ROWS = (
    ("import", "import", "import, fresh process", "import", "seconds", "s"),
    ("memory", "memory", "resident after import", "import", "resident", "MiB"),
    *[("memory", "memory", f"peak of training, {name}", model, "peak", "MiB") for model, name in TRAINED.items()],
    *[("memory", "memory", f"peak beyond import, {name}", model, "above_import", "MiB") for model, name in TRAINED.items()],
    ("memory", "memory", f"growth over {EVALUATIONS} evaluations under grad", "evaluation", "growth", "MiB growth"),
)


def measure(groups: set[str], pythons: dict[str, tuple[str, str]], threads: int, rounds: int) -> list[Any]:
    """Results of the rows of ``groups``; ``pythons`` maps a side to (interpreter, module); each round is a new process."""
    from benchmarks.harness import ROOT, Result, environment, redact

    rows = [row for row in ROWS if row[0] in groups]
    results = {row[:3]: Result(*row[:3], unit=row[5]) for row in rows}
    for probe in dict.fromkeys(row[3] for row in rows):
        for number in range(-1, rounds):  # the first process of each side only fills the file cache
            for side, (python, module) in pythons.items():
                command = [python, "-m", "benchmarks.processes", probe, module, str(threads)]
                try:
                    done = subprocess.run(
                        command,
                        check=False,
                        cwd=ROOT,
                        env=environment(threads),
                        capture_output=True,
                        text=True,
                        timeout=PROBE_SECONDS,
                    )
                    error = done.stderr.strip().splitlines()[-1:] if done.returncode else None
                except subprocess.TimeoutExpired:
                    error = [f"no answer within {PROBE_SECONDS} s"]
                values = {} if error is not None else json.loads(done.stdout.splitlines()[-1])
                for row in rows:
                    if row[3] != probe:
                        continue
                    result = results[row[:3]]
                    if error is not None:
                        result.failures[side] = redact(error[0] if error else f"status {done.returncode}")
                    elif number >= 0:
                        (result.ours if side == "torchcompat" else result.theirs).append(values[row[4]])
    return list(results.values())


if __name__ == "__main__":
    print(json.dumps(PROBES[sys.argv[1]](sys.argv[2], int(sys.argv[3]))))
