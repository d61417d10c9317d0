"""torch.utils.benchmark: what it says of times that are known, and what it draws. Programs of one line."""

from __future__ import annotations

import importlib
import itertools
import re
from typing import Any

import numpy as np

from tests.recording import Table, attempted

PROGRAMS = r"""
m([1.]), m([1.], stmt="a\nb", setup="x = 1", description="d")
m([1e-3, 2e-3, 3e-3, 4e-3, 9e-3], number=10, label="L", sub_label="s", num_threads=4)
m([1e-6] * 5), m([1e-6, 1.01e-6, 1.2e-6, 1e-6, 1.13e-6])
m([1., 1.1], setup="a\nb")
[(x.median, x.mean, x.iqr, x.times, x.significant_figures, x.has_warnings) for x in [m([1e-3, 2e-3, 3e-3, 4e-3, 9e-3], number=10)]]
[m([1e-3 * (1 + s * (i % 5)) for i in range(20)]).significant_figures for s in (0, 1e-6, 1e-4, 1e-3, .01, .1, 1.)]
[m([1.]).stmt, m([1.]).as_row_name, m([1.], stmt="").as_row_name, m([1.], sub_label="r").as_row_name, m([1.]).title]
m([1.]).nothing
m([]).median, m([]).mean
m([1., 2.]).meets_confidence(), m([1., 2.]).meets_confidence(.9)
[(x.number_per_run, x.raw_times) for x in B.Measurement.merge([m([1., 2.], number=2), m([3.]), m([4.], label="o")])]
[B.select_unit(t) for t in (1e-10, 1e-9, 5e-7, 1e-6, 1e-3, .5, 1., 2000.)]
[B.unit_to_english(u) for u in ("ns", "us", "ms", "s")], B.unit_to_english("x")
[B.trim_sigfig(x, n) for x in (1234.5678, .00123, 9.99) for n in (1, 2, 3)]
B.trim_sigfig(1., 1.5)
B.ordered_unique([3, 1, 3, 2, 1])
B.TaskSpec("a", "b", label="L", sub_label="s").title, B.TaskSpec("a\nb", "", sub_label="s").title, B.TaskSpec("a", "b\nc").summarize()
str(B.Compare(table()))
compared(table(), "trim_significant_figures")
compared(table(), "colorize")
compared(table(), "highlight_warnings", "trim_significant_figures")
colored_rows(table())
str(B.Compare([m([1e-6], label="a", description="x"), m([5e-3], label="b", description="x")]))
str(B.Compare([m([1e-6], env="one", description="x"), m([2e-6], env="other", description="x", sub_label="q")]))
str(B.Compare([m([1e-6, 2e-6, 9e-6, 1e-6, 1e-6], description="x"), m([3e-4] * 4, description="y", num_threads=2)]))
str(B.Compare([]))
B.Compare([3])
B.Timer(3)
B.Timer("x", language="foo")
B.Timer("x", global_setup="y")
B.Timer("x", language="c++", globals={"a": 1})
B.Timer("x y").timeit(1)
B.Timer("nothing_here").timeit(1)
B.Timer("1").repeat()
B.Timer("1").autorange()
B.Timer("1").collect_callgrind(repeats=0)
clocked("f()", globals={"f": lambda: calls.append(1)}).timeit(300), len(calls)
clocked("\n    f()\n", setup="torch.ones(1)", globals={"f": lambda: calls.append(t.get_num_threads())}, num_threads=2).timeit(1), calls
clocked("pass", step=.2).adaptive_autorange()
clocked("pass", step=.2).adaptive_autorange(min_run_time=.3, max_run_time=.2)
clocked("pass", step=.2).blocked_autorange(min_run_time=.1, callback=lambda n, s: calls.append((n, round(s, 4)))), calls
fuzzed(Z([P("k", 1, 9, "loguniform")], [X("x", ("k", 3))], seed=1), 4)
fuzzed(Z([[P("a", 1, 5, U), P("b", .5, 2, U)]], [X("x", ("a",))], seed=3), 4)
fuzzed(Z([P(n, 2, 6, U) for n in "abs"], [X("x", ("a", "b", 2), ("s",), probability_contiguous=0)], seed=2), 5)
fuzzed(Z([P("d", 1, 3, U), P("a", 2, 6, U, True)], [X("x", "aaa", dim_parameter="d", max_elements=30, dtype=t.int64)], seed=2), 5)
fuzzed(Z([P("a", 1, 9, U)], [], [lambda p: p["a"] % 3 == 0], seed=2), 5)
fuzzed(Z([P("a", 1, 9, U)], [], [lambda p: False], seed=2), 1)
fuzzed(Z([P("a", 1, 9, U)], [X("x", ("a",), min_elements=7, max_allocation_bytes=32)], seed=2), 2)
B.Fuzzer([B.FuzzedParameter("a", 1, 9, "uniform")], [B.FuzzedTensor("a", (1,))])
B.FuzzedParameter("a", 1, 9, "normal")
B.FuzzedParameter("a", distribution={1: .5, 2: .5})
B.FuzzedParameter("a", distribution={1: -1})
B.FuzzedParameter("a", 1, distribution={1: .2, 2: .2})
B.Fuzzer._resolve_aliases({"a": B.ParameterAlias("b"), "b": B.ParameterAlias("c"), "c": 3})
B.Fuzzer._resolve_aliases({"a": B.ParameterAlias("b"), "b": B.ParameterAlias("a")})
"""


def outcome(torch: Any, program: str) -> Any:
    """What a program gives, or the error."""
    B = importlib.import_module(f"{torch.__name__}.utils.benchmark")
    calls: list[Any] = []

    def m(times: list[float], number: int = 1, **task: Any) -> Any:
        return B.Measurement(number, times, B.TaskSpec(**{"stmt": "f(x)", "setup": "pass"} | task))

    def table() -> list[Any]:
        return [m([base * f * (1 + v * i) for i in range(6)], label="L", sub_label=row, description=column, num_threads=threads)
                for threads in (1, 4) for row, f in (("small", 1), ("large", 31.4)) for column, base, v in (
                    ("one", 1.2345e-5, 1e-4), ("two", 1.3e-5, .2), ("third", 9e-5, .03)) if (threads, row, column) != (4, "small", "two")]

    def compared(results: Any, *how: str) -> str:
        shown = B.Compare(results)
        [getattr(shown, name)() for name in how]
        return str(shown)

    def colored_rows(results: Any) -> str:
        shown = B.Compare(results)
        shown.colorize(rowwise=True)
        return str(shown)

    def clocked(stmt: str, step: float = 1e-3, **options: Any) -> Any:
        clock = itertools.count()
        return B.Timer(stmt, timer=lambda: next(clock) * step, **options)

    def fuzzed(fuzzer: Any, n: int) -> Any:
        return [[[{k: (list(v.shape), v.stride(), v.flatten()[:2].tolist(), str(v.dtype)) for k, v in tensors.items()},
                  {k: {**v, "order": v["order"].tolist()} for k, v in known.items()}, params] for tensors, known, params in fuzzer.take(n)],
                fuzzer.rejection_rate]

    def run() -> Any:
        found = eval(program, {"B": B, "t": torch, "np": np, "m": m, "table": table, "compared": compared, "colored_rows": colored_rows,
                               "clocked": clocked, "fuzzed": fuzzed, "calls": calls,
                               "P": B.FuzzedParameter, "X": B.FuzzedTensor, "Z": B.Fuzzer, "U": "uniform"})
        return re.sub(r" at 0x\w+", "", repr(found)).replace("torchcompat", "torch")

    return attempted(run)


TABLE = Table("timing", PROGRAMS.strip().splitlines(), outcome, zipped=True)
