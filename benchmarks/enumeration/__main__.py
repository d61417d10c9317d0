"""The command line of the enumeration; `benchmarks/enumeration/__init__.py` explains it."""

from __future__ import annotations

import argparse
import json
import re
import sys
import time
import zlib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import benchmarks.enumeration
from benchmarks.enumeration import report
from benchmarks.enumeration.calls import SIZES, Spec, leaves
from benchmarks.enumeration.entries import DTYPES, Catalogue, Entry, ordered
from benchmarks.harness import Failure, Side
from benchmarks.worker import CLOCKS

Row = dict[str, Any]
ROUNDS, MORE = 6, 12
NEAR = 0.9, 1.6
"""A ratio between these after `ROUNDS` samples of each side is measured by `MORE` of them, on whichever side of the bounds that are counted
it lies: what is left of chance does not move an entry over them."""
TARGET = 0.004
"""Seconds of a sample; a call that takes longer is a sample."""
PATIENCE = 60.0
"""Seconds that a side may take to answer: compiling, most of all."""


def parse(arguments: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks enumerate", description=benchmarks.enumeration.__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--torch-python", metavar="PATH", help="a python that can import torch")
    parser.add_argument("--python", default=sys.executable, metavar="PATH", help="the python of our side (default: this one)")
    parser.add_argument("--minutes", type=float, default=20.0, help="after which this start ends (default %(default)s)")
    parser.add_argument("--each", type=int, default=10, help="entries of an operation at most (default %(default)s)")
    parser.add_argument("--only", default="", metavar="PATTERN",
                        help="entries in whose family/record/sample/dtype/size/layout/mode it is found")
    parser.add_argument("--sizes", default="", help=f"comma-separated, of: {','.join(SIZES)}")
    parser.add_argument("--dtypes", default="", help=f"comma-separated, of: {','.join(DTYPES)}")
    parser.add_argument("--threads", type=int, default=2, help="threads on both sides (default %(default)s)")
    parser.add_argument("--clock", choices=CLOCKS, default="wall", help="wall, or the processor's time (default %(default)s)")
    parser.add_argument("--file", type=Path, default=Path("enumeration.jsonl"), help="rows are appended here; entries that it has are done")
    parser.add_argument("--again", type=Path, metavar="FILE", help="measure entries of FILE again: those above --above, slowest first; "
                        "with --report: a second measurement, which is shown beside those above 2")
    parser.add_argument("--above", type=float, default=1.2, help="with --again: from which ratio on (default %(default)s)")
    parser.add_argument("--report", action="store_true", help="measure nothing, report what the file has")
    parser.add_argument("--slowest", type=int, default=50, help="how many entries the report names (default %(default)s)")
    parser.add_argument("--output", type=Path, metavar="FILE", help="write the report here, and a plot beside it (.png)")
    options = parser.parse_args(arguments)
    if not options.report and not options.torch_python:
        parser.error("--torch-python is needed, or --report")
    if options.again and options.again == options.file:
        parser.error("--again needs another --file")
    for word, known in (("sizes", SIZES), ("dtypes", DTYPES)):
        chosen = [x for x in getattr(options, word).split(",") if x]
        if unknown := [x for x in chosen if x not in known]:
            parser.error(f"unknown {word} {unknown[0]!r}; there are {', '.join(known)}")
        setattr(options, word, chosen)
    return options


def rows_of(path: Path) -> list[Row]:
    """The rows of a file, but for one that was cut off; none where there is no file."""
    return [json.loads(line) for line in path.read_text().splitlines() if line.endswith("}")] if path.exists() else []


def wanted(entries: Iterable[Entry], family: dict[str, str], options: argparse.Namespace) -> list[Entry]:
    """Those that the options ask for."""
    return [e for e in entries if (not options.sizes or e.size in options.sizes) and (not options.dtypes or e.dtype in options.dtypes)
            and re.search(options.only, f"{family[e.record]}/{e.name}")]


def shown(path: str, spec: Spec) -> str:
    """A call in a few words: the shapes of its tensors, and its integers."""
    words = ["x".join(map(str, x["shape"])) or "()" if isinstance(x, dict) else str(x) for x in leaves(spec)]
    return f"{path}({', '.join(words)})"


def measured(entry: Entry, catalogue: Catalogue, ours: Side, theirs: Side, clock: str, turn: int) -> Row:
    """What came of an entry: {"ours", "theirs"} in seconds, {"void": why it is no call}, or {"side", "failed": why}."""
    request, row = catalogue.request(entry), {"entry": entry.name, "family": catalogue.family[entry.record]}
    try:
        fit = theirs.ask(do="fit", size=entry.size, seed=zlib.crc32(entry.name.encode()) >> 4, **request)
        if "void" in fit:
            return {**row, "void": fit["void"]}
        request = {k: v for k, v in request.items() if k != "paths"} | fit
        row["call"] = shown(fit["path"], fit["spec"])
        expected = theirs.ask(do="prepare", target=TARGET, clock=clock, **request)
    except Failure as reason:  # torch has no such call, or it takes too long
        return {**row, "void": f"torch: {reason}".replace("torch: Void: ", "")}
    try:
        found = ours.ask(do="prepare", target=TARGET, clock=clock, **request)
        if found["shapes"] != expected["shapes"]:
            return {**row, "side": "torchcompat", "failed": f"results {found['shapes']}, torch's {expected['shapes']}"[:300]}
        times: dict[str, list[float]] = {"ours": [], "theirs": []}
        for number in range(ROUNDS + MORE):
            if number == ROUNDS and not NEAR[0] < min(times["ours"]) / min(times["theirs"]) < NEAR[1]:
                break
            for label, side in (("ours", ours), ("theirs", theirs))[::-1 if (number + turn) % 2 else 1]:
                times[label].append(side.ask(do="sample", clock=clock)["seconds"])
    except Failure as reason:
        return {**row, "side": "torchcompat", "failed": str(reason)}
    noise = max([sorted(t)[len(t) // 2] / min(t) - 1 for t in times.values()])
    return {**row, "elements": expected["elements"], "ours": min(times["ours"]), "theirs": min(times["theirs"]), "noise": round(noise, 3)}


def run(entries: Sequence[Entry], catalogue: Catalogue, options: argparse.Namespace) -> None:
    """Measures until all is done or the time is over; rows go to the file one by one."""
    ours = Side(options.python, "torchcompat", options.threads, timeout=PATIENCE)
    theirs = Side(options.torch_python, "torch", options.threads, timeout=PATIENCE)
    facts = []
    for side in (ours, theirs):
        side.command[2] = "benchmarks.enumeration.worker"
        facts.append(side.ask(do="facts"))
    how = f"{options.threads} {options.clock}, Python {' and '.join(sorted({f['python'] for f in facts}))}, NumPy {facts[0]['numpy']}"
    end = time.monotonic() + 60 * options.minutes
    with open(options.file, "a", buffering=1) as file:
        for number, entry in enumerate(entries):
            if time.monotonic() > end:
                print(f"{len(entries) - number} of {len(entries)} entries are left: start it again to go on", file=sys.stderr)
                break
            row = measured(entry, catalogue, ours, theirs, options.clock, number)
            row["how"] = how
            file.write(json.dumps(row) + "\n")
    ours.close(), theirs.close()


def main(arguments: list[str] | None = None) -> int:
    options = parse(arguments)
    if not options.report:
        catalogue = Catalogue()
        if options.again:
            slow = sorted([(-r["ours"] / r["theirs"], r["entry"]) for r in rows_of(options.again) if "ours" in r])
            entries = [Entry.of(name) for ratio, name in slow if -ratio > options.above]
        else:
            entries = ordered(catalogue.entries(), options.each)
        done = {row["entry"] for row in rows_of(options.file)}
        run([e for e in wanted(entries, catalogue.family, options) if e.name not in done], catalogue, options)
        left_out = catalogue.left_out
    else:
        left_out = {}
    rows = [r for r in rows_of(options.file) if wanted([Entry.of(r["entry"])], {Entry.of(r["entry"]).record: r["family"]}, options)]
    again = rows_of(options.again) if options.again and options.report else []
    text = report.markdown(rows, options.slowest, left_out, again)
    print(text)
    if options.output:
        options.output.write_text(text)
        report.plot(rows, options.output.with_suffix(".png"))
    return 0


if __name__ == "__main__":
    sys.exit(main())
