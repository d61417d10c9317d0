"""How many calls of a module several threads carry out together.

>>> import torchcompat as torch
>>> from torchcompat.utils import ThroughputBenchmark
>>> benchmark = ThroughputBenchmark(torch.jit.script(torch.nn.Linear(2, 1)))
>>> benchmark.add_input(torch.ones(1, 2))
>>> benchmark.benchmark(num_calling_threads=2, num_warmup_iters=1, num_iters=4).num_iters
4
"""

from __future__ import annotations

import itertools
import os
import random
import sys
import threading
import time
from queue import SimpleQueue
from typing import Any, NamedTuple

from autograd_tape import warned
from autograd_tape.annotations import Fn

from .._calls.absent import absences as _absences

_SCALES = ((1e6, "s"), (1e3, "ms"), (1.0, "us"))


def format_time(time_us: float | None = None, time_ms: float | None = None, time_s: float | None = None) -> str:
    """A time in the unit in which it is at least one.

    Raises:
        AssertionError: not one of them is given.

    >>> format_time(2500), format_time(time_s=0.5)
    ('2.500ms', '500.000ms')
    """
    given = [scale * value for scale, value in ((1.0, time_us), (1e3, time_ms), (1e6, time_s)) if value is not None]
    if len(given) != 1:
        raise AssertionError("Expected only one of time_us, time_ms, time_s is given.")
    scale, unit = next(((scale, unit) for scale, unit in _SCALES if given[0] >= scale), (1.0, "us"))
    return f"{given[0] / scale:.3f}{unit}"


class _Counted(NamedTuple):
    """What was measured."""

    latency_avg_ms: float
    num_iters: int


class _Config(NamedTuple):
    """How it was measured."""

    num_calling_threads: int
    num_warmup_iters: int
    num_iters: int
    profiler_output_path: str


class ExecutionStats:
    """What a run of a benchmark showed."""

    def __init__(self, c_stats: Any, benchmark_config: Any) -> None:
        self._c_stats, self.benchmark_config = c_stats, benchmark_config

    @property
    def latency_avg_ms(self) -> float:
        """How long a call took."""
        return float(self._c_stats.latency_avg_ms)

    @property
    def num_iters(self) -> int:
        """How many calls there were."""
        return int(self._c_stats.num_iters)

    @property
    def iters_per_second(self) -> float:
        """How many calls all threads carried out in a second."""
        return self.num_iters / self.total_time_seconds

    @property
    def total_time_seconds(self) -> float:
        """How long all of it took."""
        return self.num_iters * (self.latency_avg_ms / 1000.0) / int(self.benchmark_config.num_calling_threads)

    def __str__(self) -> str:
        return "\n".join([
            f"Average latency per example: {format_time(time_ms=self.latency_avg_ms)}", f"Total number of iterations: {self.num_iters}",
            f"Total number of iterations per second (across all threads): {self.iters_per_second:.2f}",
            f"Total time: {format_time(time_s=self.total_time_seconds)}"])


class ThroughputBenchmark:
    """Calls a module with inputs, which are drawn from those that it was given, on several threads at a time.

    Args:
        module: what is called.
    """

    def __init__(self, module: Fn) -> None:
        self._module = module
        self._inputs: list[tuple[tuple[Any, ...], dict[str, Any]]] = []

    def run_once(self, *args: Any, **kwargs: Any) -> Any:
        """What the module makes of an input."""
        return self._module(*args, **kwargs)

    def add_input(self, *args: Any, **kwargs: Any) -> None:
        """One more input to draw from."""
        self._inputs.append((args, kwargs))

    def benchmark(self, num_calling_threads: int = 1, num_warmup_iters: int = 10, num_iters: int = 100, profiler_output_path: str = ""
                  ) -> ExecutionStats:
        """Times `num_iters` calls, which the threads share.

        Args:
            num_calling_threads: how many threads call at a time.
            num_warmup_iters: how many calls each thread makes before.
            profiler_output_path: the file of a trace of the calls, where one is given.

        Raises:
            RuntimeError: there is no input to draw from.
        """
        scripts = sys.modules.get("torchcompat.jit")  # without which it is no program
        if scripts is None or not isinstance(self._module, scripts.ScriptModule):
            warned.warn("Starting benchmark on an nn.Module. This can be slow due to Python GIL.For proper inference simulation you might "
                        "want to switch to a ScriptModule instead")
        if not self._inputs:
            raise RuntimeError("Please provide benchmark inputs.Did you forget to call add_input()? ")
        config = _Config(num_calling_threads, num_warmup_iters, num_iters, profiler_output_path)
        if not profiler_output_path:
            return ExecutionStats(self._timed(config), config)
        from ..profiler import profile

        with profile() as trace:
            found = self._timed(config)
        trace.export_chrome_trace(os.fspath(profiler_output_path))
        return ExecutionStats(found, config)

    def _timed(self, config: _Config) -> _Counted:
        said: SimpleQueue[Exception | None] = SimpleQueue()
        begin, numbers = threading.Event(), itertools.count()

        def call(draw: random.Random) -> None:
            args, kwargs = draw.choice(self._inputs)
            self._module(*args, **kwargs)

        def work(draw: random.Random) -> None:
            try:
                for _ in range(config.num_warmup_iters):
                    call(draw)
                said.put(None)
                begin.wait()
                while next(numbers) < config.num_iters:
                    call(draw)
            except Exception as error:
                said.put(error)

        threads = [threading.Thread(target=work, args=(random.Random(i),)) for i in range(config.num_calling_threads)]
        for thread in threads:
            thread.start()
        errors = [said.get() for _ in threads]  # each says that it is warm, or what stopped it
        start = time.perf_counter()
        begin.set()
        for thread in threads:
            thread.join()
        spent = time.perf_counter() - start
        while not said.empty():
            errors.append(said.get())
        for error in errors:
            if error is not None:
                raise error
        return _Counted(1000.0 * spent * config.num_calling_threads / max(config.num_iters, 1), config.num_iters)


_absences(__name__)
