"""Both sides' worker processes, the rounds that interleave them, and the arithmetic on their times."""

from __future__ import annotations

import json
import math
import os
import re
import select
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from benchmarks.workloads.registry import Workload

ROOT = Path(__file__).resolve().parent.parent
REPLY_SECONDS = 120.0
RELATIVE, ABSOLUTE = 2e-3, 1e-4  # float32 sums over a million elements, in different orders


class Failure(Exception):
    """A workload did not give a result on one side; the message is its error."""


@dataclass
class Result:
    """What both sides made of one workload.

    ``ours`` and ``theirs`` hold one value per round (seconds, or ``unit``); ``failures`` maps a side to its error.
    """

    group: str
    section: str
    name: str
    unit: str = "s"
    ours: list[float] = field(default_factory=list)
    theirs: list[float] = field(default_factory=list)
    failures: dict[str, str] = field(default_factory=dict)

    @property
    def ratio(self) -> float | None:
        """Our best time over theirs, or None where a side has none (or torch's is not positive)."""
        if not self.ours or not self.theirs or self.failures or min(self.theirs) <= 0 or min(self.ours) <= 0:
            return None
        return min(self.ours) / min(self.theirs)

    @property
    def noise(self) -> float:
        """How far the median over the rounds lies above the minimum, on the worse side; 0.1 means 10 per cent."""
        measured = [times for times in (self.ours, self.theirs) if times and min(times) > 0]
        return max((statistics.median(times) / min(times) - 1 for times in measured), default=0.0)


def geometric_mean(ratios: Iterable[float | None]) -> float | None:
    """The geometric mean of the ratios that exist, None if there are none.

    >>> geometric_mean([0.5, 2.0, None])
    1.0
    """
    logs = [math.log(ratio) for ratio in ratios if ratio is not None]
    return math.exp(sum(logs) / len(logs)) if logs else None


def same_digest(ours: Sequence[Any], theirs: Sequence[Any]) -> str | None:
    """None if two digests agree to float32 rounding, else what differs."""
    if len(ours) != len(theirs):
        return f"{len(ours)} results, torch has {len(theirs)}"
    for number, ((shape, values), (their_shape, their_values)) in enumerate(zip(ours, theirs, strict=True)):
        if shape != their_shape:
            return f"result {number} has shape {shape}, torch's has {their_shape}"
        scale = their_values[1] if their_values else 0.0  # the sum of magnitudes bounds the rounding of a sum
        for mine, other in zip(values, their_values, strict=True):
            if math.isnan(mine) and math.isnan(other):
                continue
            allowed = ABSOLUTE + RELATIVE * abs(other) + 1e-6 * scale if math.isfinite(other) else 0.0
            if mine != other and not abs(mine - other) <= allowed:
                return f"result {number} differs: {mine:.7g}, torch has {other:.7g}"
    return None


def redact(text: str) -> str:
    """The first line of an error, without paths of the machine it happened on.

    >>> redact("OSError: no /home/me/lib/x.py here")
    'OSError: no <path> here'
    """
    first = text.strip().splitlines()[0] if text.strip() else "no message"
    return re.sub(r"(?:/[\w.+-]+){2,}/?", "<path>", first)[:300]


def environment(threads: int) -> dict[str, str]:
    """The environment of a child: thread counts fixed, bytecode cached as in ordinary use."""
    env = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"):
        env[name] = str(threads)
    return env


class Side:
    """A worker process for one module; it is started again after it died or had to be killed."""

    def __init__(self, python: str, module: str, threads: int, timeout: float = REPLY_SECONDS, root: Path = ROOT) -> None:
        self.command = [python, "-m", "benchmarks.worker", module, str(threads)]
        self.environment = environment(threads)
        self.timeout, self.root = timeout, root
        self.process: subprocess.Popen[bytes] | None = None
        self.complaints: IO[bytes] | None = None  # a file, not a pipe: nobody reads it while the worker lives

    def ask(self, **request: Any) -> dict[str, Any]:
        """Send one request and wait for its reply; raises :class:`Failure` with the workload's error."""
        if self.process is None:
            self.complaints = tempfile.TemporaryFile()  # lives as long as the worker
            self.process = subprocess.Popen(
                self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.complaints,
                cwd=self.root, env=self.environment,
            )  # fmt: skip
        assert self.process.stdin is not None and self.process.stdout is not None
        try:
            self.process.stdin.write(json.dumps(request).encode() + b"\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            raise Failure(self._buried()) from None
        if not select.select([self.process.stdout], [], [], self.timeout)[0]:
            self.process.kill()
            self._buried()
            raise Failure(f"no answer within {self.timeout:.0f} s")
        line = self.process.stdout.readline()
        if not line:
            raise Failure(self._buried())
        reply: dict[str, Any] = json.loads(line)
        if "error" in reply:
            raise Failure(redact(reply["error"]))
        return reply

    def _buried(self) -> str:
        """Why the process ended; the next request starts another."""
        assert self.process is not None and self.complaints is not None
        status = self.close()
        self.complaints.seek(0)
        last = self.complaints.read().decode(errors="replace").strip().splitlines()[-1:] or [""]
        return redact(f"process ended with status {status}: {last[0]}")

    def close(self) -> int | None:
        """End the process, if there is one, by ending its input; returns its exit status."""
        if self.process is None:
            return None
        process, self.process = self.process, None
        process.communicate()
        return process.returncode


def check(workloads: Iterable[Workload], ours: Side, theirs: Side | None) -> dict[str, Result]:
    """Run each workload once on both sides and compare the results."""
    results = {}
    for entry in workloads:
        result = results[entry.key] = Result(entry.group, entry.section, entry.name)
        digests = {}
        for label, side in sides(ours, theirs):
            try:
                digests[label] = side.ask(do="check", key=entry.key)["digest"]
            except Failure as failure:
                result.failures[label] = str(failure)
        if len(digests) == 2 and (difference := same_digest(digests["torchcompat"], digests["torch"])):
            result.failures["torchcompat"] = difference
    return results


def measure(
    workloads: Sequence[Workload],
    ours: Side,
    theirs: Side | None,
    *,
    rounds: int,
    target: float,
    samples: int,
    clock: str = "wall",
    progress: Callable[[str], None] = lambda text: print(text, file=sys.stderr, flush=True),
) -> list[Result]:
    """Check and then time every workload in ``rounds`` interleaved rounds.

    A workload that failed on one side is still timed on the other.
    """
    results = check(workloads, ours, theirs)
    for number in range(rounds):
        progress(f"round {number + 1} of {rounds}")
        order = sides(ours, theirs)
        if number % 2:
            order.reverse()
        for entry in workloads:
            result = results[entry.key]
            for label, side in order:
                if label in result.failures:
                    continue
                try:
                    reply = side.ask(do="time", key=entry.key, target=target, samples=samples, clock=clock)
                except Failure as failure:
                    result.failures[label] = str(failure)
                else:
                    (result.ours if label == "torchcompat" else result.theirs).append(min(reply["seconds"]))
    return list(results.values())


def sides(ours: Side, theirs: Side | None) -> list[tuple[str, Side]]:
    return [("torchcompat", ours)] + ([("torch", theirs)] if theirs is not None else [])
