"""The command line of the benchmarks; ``benchmarks/__init__.py`` explains it."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

import benchmarks
from benchmarks import processes, report
from benchmarks.harness import Failure, Result, Side, check, measure, sides
from benchmarks.worker import CLOCKS
from benchmarks.workloads import registered

GROUPS = (
    "small", "layers", "listening", "tape", "kernels", "convolutions", "attention", "optimizers", "steps", "recurrent", "import", "memory")
OPTIONAL = ("clients",)
"""Groups that want more packages than the two sides."""
MOST_LOAD = 0.5  # per CPU; two spinning threads on a busy machine wait whole time slices for each other, mostly torch's
HERE = Path(__file__).resolve().parent


def parse(arguments: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description=benchmarks.__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--torch-python", metavar="PATH", help="a python that can import torch; without it, absolute times only"
    )
    parser.add_argument(
        "--before", metavar="ROOT", type=Path, help="a checkout of an earlier state, to measure against instead of torch"
    )
    parser.add_argument("--groups", default=",".join(GROUPS), help=f"comma-separated, of: %(default)s; and of {', '.join(OPTIONAL)}")
    parser.add_argument("--rounds", type=int, default=5, help="interleaved rounds (default %(default)s)")
    parser.add_argument("--samples", type=int, default=3, help="samples per workload and round (default %(default)s)")
    parser.add_argument("--target", type=float, default=0.01, help="seconds a sample should last (default %(default)s)")
    parser.add_argument("--threads", type=int, default=2, help="threads on both sides (default %(default)s)")
    parser.add_argument("--clock", choices=CLOCKS, default="wall", help="wall, or the processor's time of the process, which "
                        "counts no waiting for other programs, nor for workers of its own (default %(default)s)")
    parser.add_argument(
        "--filter", default="", metavar="SUBSTRING", help="only workloads whose group/section/name contains it"
    )
    parser.add_argument(
        "--check-only", action="store_true", help="run each workload once and compare the results, no timing"
    )
    parser.add_argument("--plot", action="store_true", help="measure nothing, draw results.png from what RESULTS.md says")
    parser.add_argument("--output", type=Path, metavar="FILE", help="write the Markdown here (and a plot beside it)")
    parser.add_argument(
        "--python", default=sys.executable, metavar="PATH", help="the python of our side (default: this one)"
    )
    parser.add_argument("--module", default="torchcompat", help="the module of our side (default %(default)s)")
    options = parser.parse_args(arguments)
    options.groups = options.groups.split(",")
    if options.before and options.torch_python:
        parser.error("--before and --torch-python exclude each other")
    if unknown := sorted(set(options.groups) - {*GROUPS, *OPTIONAL}):
        parser.error(f"unknown group {unknown[0]!r}; the groups are {', '.join(GROUPS + OPTIONAL)}")
    if options.rounds < 1 or options.samples < 1 or options.threads < 1 or options.target <= 0:
        parser.error("--rounds, --samples, --threads and --target must be positive")
    return options


def command(options: argparse.Namespace) -> str:
    """The command to repeat this run, without the paths of this machine."""
    parts = ["python -m benchmarks"]
    if options.torch_python:
        parts.append("--torch-python PATH")
    if options.before:
        parts.append("--before ROOT")
    if tuple(options.groups) != GROUPS:
        parts.append("--groups " + ",".join(options.groups))
    for name, default in (
        ("rounds", 5),
        ("samples", 3),
        ("target", 0.01),
        ("threads", 2),
        ("clock", "wall"),
        ("filter", ""),
        ("module", "torchcompat"),
    ):
        if (value := getattr(options, name)) != default:
            parts.append(f"--{name} {value}")
    return " ".join(parts)


def main(arguments: list[str] | None = None) -> int:
    arguments = sys.argv[1:] if arguments is None else arguments
    if arguments[:1] == ["enumerate"]:
        from benchmarks.enumeration.__main__ import main as enumerate_calls

        return enumerate_calls(arguments[1:])
    options = parse(arguments)
    if options.plot:
        report.plot(report.read((HERE / "RESULTS.md").read_text()), HERE / "results.png")
        return 0
    busy = report.load()
    chosen = [w for key, w in registered().items() if w.group in options.groups and options.filter in key]
    ours = Side(options.python, options.module, options.threads)
    theirs = None
    if options.torch_python:
        theirs = Side(options.torch_python, "torch", options.threads)
    elif options.before:
        theirs = Side(options.python, options.module, options.threads, root=options.before.resolve())
    facts: dict[str, dict[str, Any]] = {}
    try:
        for label, side in sides(ours, theirs):
            try:
                facts[label] = side.ask(do="facts")
            except Failure as failure:
                print(f"the {label} side does not start: {failure}", file=sys.stderr)
                return 2
        if options.check_only:
            return report_check(list(check(chosen, ours, theirs).values()))
        results = measure(chosen, ours, theirs, rounds=options.rounds, target=options.target, samples=options.samples,
                          clock=options.clock)
    finally:
        ours.close()
        if theirs is not None:
            theirs.close()
    pythons = {"torchcompat": (options.python, options.module)}
    if options.torch_python:
        pythons["torch"] = (options.torch_python, "torch")
    fresh = {row[0] for row in processes.ROWS if row[0] in options.groups and options.filter in "/".join(row[:3])}
    results += processes.measure(fresh, pythons, options.threads, options.rounds)
    results = [r for r in results if options.filter in f"{r.group}/{r.section}/{r.name}"]

    complete = (
        set(options.groups) == set(GROUPS)
        and not options.filter
        and bool(options.torch_python)
        and options.module == "torchcompat"
    )
    if complete and busy > MOST_LOAD and not options.output:
        print(f"RESULTS.md is left as it was: the load per CPU was {busy:.2f} at the start", file=sys.stderr)
    output = options.output or (HERE / "RESULTS.md" if complete and not busy > MOST_LOAD else None)
    drawn = output is not None and theirs is not None
    other = "before" if options.before else "torch"
    text = report.markdown(results, facts, command(options), options.rounds, busy, plot=drawn, other=other)
    print(text)
    if output is not None:
        output.write_text(text)
        if theirs is not None:
            report.plot(report.read(text), output.with_name("results.png"), other)
    return 0


def report_check(results: list[Result]) -> int:
    """Print the workloads that fail or disagree; the exit status is 1 if there are any."""
    failed = [result for result in results if result.failures]
    for result in failed:
        for side, error in result.failures.items():
            print(f"{result.group}/{result.section}/{result.name}: {side}: {error}")
    print(f"{len(results) - len(failed)} of {len(results)} workloads agree")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
