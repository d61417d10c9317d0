"""Runs random calls of every operation on torch and on torchcompat side by side, in one process, and counts where they differ::

    python -m tests.campaign --cases 200000                 # with a python that has torch, expecttest, NumPy and Numba
    python -m tests.campaign --only database/std --cases 500
    python -m tests.campaign --case records/div/17          # one case again, with what both sides say
    python -m tests.campaign --again campaign.jsonl --mode meta      # the differing cases of a report again: which still differ?
    python -m tests.campaign --whole float64,int64,errors   # all of torch's operator database as it stands
    python -m tests.campaign --whole float64 --resume       # what an interrupted run left

Each record of ours, and each entry of torch's operator database that both sides have, is called with random sizes (around the
thresholds of the kernels, too), layouts, dtypes and values: forward, backward, double backward, forward mode, under vmap, with out=, in
place, and on meta tensors. What is compared: types of errors, shapes, dtypes, strides, requires_grad, values, and that arguments stay
as they were; of the database's erroneous calls (`errors`) and of those where one tensor has another dtype (`mixed`) the texts, too. Work
is done by children, one per slice of operations, so that a crash of either side costs one case and is reported.
"""

from __future__ import annotations

import argparse
import json
import re
import resource
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

MEMORY = 8 << 30
"""Bytes of address space of a child: combinations of thousands of elements fail on both sides instead of exhausting the machine."""
PATIENCE = 60
"""Seconds of a processor after which a child gives a case up, by ending: nothing else interrupts a factorization of a matrix that grew."""


def sides() -> tuple[Any, Any]:
    """torch and torchcompat, each on one thread, in a process of bounded memory."""
    import torch

    import torchcompat

    from .sides import Side

    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    torch.set_num_threads(1), torchcompat.set_num_threads(1)
    return Side(torch), Side(torchcompat)


def named(name: str) -> Any:
    """The case of a name, `records/div/17`."""
    from .cases import cases

    source, rest = name.split("/", 1)
    operation, number = rest.rsplit("/", 1)
    return next(cases(source, operation, range(int(number), int(number) + 1)))


def child(slices: list[str], numbers: range, report: str, skip: set[str]) -> None:
    """Runs cases and writes one line per difference; the last line says how many were run."""
    from .cases import cases
    from .sides import Skip, compared, lacking

    real, own = sides()
    with open(report, "a", buffering=1) as file:
        for slice_ in slices:
            source, _, name = slice_.partition("/")
            run = errors = texts = near = more = 0
            for case in cases(source, name, numbers):
                if case.name in skip:
                    continue
                file.write(json.dumps({"at": case.name}) + "\n")
                signal.setitimer(signal.ITIMER_PROF, PATIENCE)
                try:
                    expected, found, rows, only_near = compared(real, own, case)
                except Skip:
                    continue
                finally:
                    signal.setitimer(signal.ITIMER_PROF, 0)
                run += 1
                near += only_near
                if lacking(expected, found, case):
                    more, rows = more + 1, []
                if expected.error and found.error:
                    errors += 1
                    texts += expected.text.splitlines()[:1] == found.text.splitlines()[:1]
                if rows:
                    file.write(json.dumps({"case": case.name, "mode": case.mode, "dtype": next((a.values.dtype.name for a in case.args
                               if hasattr(a, "values")), ""), "call": str(case)[:400], "differs": rows,
                               "torch": expected.text[:200], "ours": found.text[:200]}) + "\n")
            file.write(json.dumps({"done": slice_, "run": run, "near": near, "more": more, "errors": errors, "texts": texts}) + "\n")


def again(name: str) -> None:
    """Shows where the two sides differ in one case."""
    import numpy as np

    from .sides import Outcome, differences, truths

    case = named(name)
    print(case)
    real, own = sides()
    expected, found = real.run(case), own.run(case)
    exactly = truths(real, case, expected)
    for side, outcome in (("torch", expected), ("torchcompat", found)):
        print(f"{side}: {outcome.error} {outcome.text}")
    for i, (e, f) in enumerate(zip(expected.tensors, found.tensors)):
        if not differences(Outcome((e,), scale=expected.scale), Outcome((f,))):
            continue
        print(f"result {i}: torch {e[:5]}, torchcompat {f[:5]}")
        if e[0] == f[0] == "tensor" and e[5] is not None and f[5] is not None and e[5].shape == f[5].shape:
            off = np.flatnonzero(~np.isclose(e[5], f[5], rtol=1e-5, equal_nan=True).reshape(-1))
            print(f"   {off.size} of {e[5].size} elements:", *[(int(k), e[5].flat[k], f[5].flat[k]) for k in off[:5]])
            if exactly and len(exactly[0].tensors) == len(expected.tensors):
                print("   in double precision:", *[exactly[0].tensors[i][5].flat[k] for k in off[:5]])
    print("differs:", differences(expected, found), "beyond rounding:", differences(expected, found, exactly))


def still(report: str, mode: str, only: str) -> int:
    """Runs the differing cases of a report again, prints those that still differ, and gives their number."""
    from .sides import Skip, compared, lacking

    real, own = sides()
    rows = [json.loads(line) for line in Path(report).read_text().splitlines() if '"case"' in line]
    rows = [row for row in rows if row["mode"] == (mode or row["mode"]) and row["case"].startswith(only)]
    left: list[str] = []
    for row in rows:
        case = named(row["case"])
        try:
            expected, found, kinds, _ = compared(real, own, case)
        except Skip:
            continue
        if kinds and not lacking(expected, found, case):
            left.append(f"{'; '.join(kinds)}\n    {case}\n    torch: {expected.text[:110]!r} ours: {found.text[:110]!r}")
    print(*sorted(left), f"{len(left)} of {len(rows)} cases still differ", sep="\n")
    return len(left)


def main() -> int:
    """The command line; 1 where cases differ."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=20000, help="how many cases are wanted in all, at least")
    parser.add_argument("--first", type=int, default=0, help="the first number")
    parser.add_argument("--only", default="", help="operations whose source/name starts so, or so, or so: database/std,database/var")
    parser.add_argument("--whole", default="", help="dtypes, errors or mixed, of which all samples of the database are run")
    parser.add_argument("--case", help="one case, by its name")
    parser.add_argument("--again", help="a report, whose differing cases are run again")
    parser.add_argument("--mode", default="", help="with --again: cases of this mode alone")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--resume", action="store_true", help="keep what the report of an interrupted run has of these operations")
    parser.add_argument("--report", default="campaign.jsonl", help="where differences are written")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.case:
        again(args.case)
        return 0
    if args.again:
        return 1 if still(args.again, args.mode, args.only) else 0
    if args.child:
        todo = json.loads(Path(args.child).read_text())
        child(todo["slices"], range(*todo["numbers"]), todo["report"], set(todo["skip"]))
        return 0
    from .cases import names

    sources = [f"whole.{dtype}" for dtype in args.whole.split(",")] if args.whole else ["records", "database"]
    slices = [f"{source}/{name}" for source in sources for name in names(source)]
    wanted = tuple(args.only.split(","))
    slices = [s for s in slices if s.startswith(wanted) or re.sub("^whole[^/]*", "database", s).startswith(wanted)]
    each = 0 if args.whole else -(-args.cases * 5 // 4 // max(1, len(slices)))  # about a fifth is skipped: modes that do not apply; 0: all
    start, found, ran = time.perf_counter(), summary(args, slices, each), 0
    kinds: Counter[tuple[str, str]] = Counter()
    examples: dict[tuple[str, str], Any] = {}
    errors = texts = differing = 0
    for row in found:
        if "run" in row:
            ran, errors, texts = ran + row["run"], errors + row["errors"], texts + row["texts"]
        elif "case" in row:
            differing += 1
            key = (f"{row['case'].rpartition('/')[0]} [{row['mode']}]", row["differs"][0])
            kinds[key] += 1
            examples.setdefault(key, row)
    for key, count in kinds.most_common():
        row = examples[key]
        print(f"{count:6} {key[0]}: {key[1]}\n         {row['call']}\n         torch: {row['torch'][:120]!r} ours: {row['ours'][:120]!r}")
    print(f"{ran} cases ran of {len(slices)} operations, {differing} differ, in {len(kinds)} kinds; "
          f"of {errors} errors on both sides {texts} have torch's text; {time.perf_counter() - start:.0f} s")
    for source in sources if args.whole else ():
        compared = {row["done"] for row in found if row.get("run") and row["done"].startswith(source + "/")}
        wrong = {row["case"].rpartition("/")[0] for row in found if "case" in row} & compared
        others = " ".join(sorted([name.partition("/")[2] for name in wrong]))
        near = {row["done"] for row in found if row.get("near") and row["done"] in compared} - wrong
        more = [row["done"].partition("/")[2] for row in found if row.get("more") and row["done"] in compared]
        calls = sum([row["run"] for row in found if "run" in row and row["done"] in compared])
        agree = calls - sum(["case" in row and row["case"].rpartition("/")[0] in compared for row in found])
        late = sum([row["late"].startswith(source + "/") for row in found if "late" in row])
        print(f"{source}: {len(compared) - len(wrong)} of {len(compared)} entries and {agree} of {calls} calls agree, {len(near)} of the "
              f"entries in some cases only because they are as near to double precision as torch; not {others}. Derivatives that torch "
              f"lacks were left out of {len(more)}: {' '.join(sorted(more))}. {late} cases were given up")
    return 1 if differing else 0


def written(path: Path) -> list[dict[str, Any]]:
    """The lines of a report, but for one that was cut off."""
    return [json.loads(line) for line in path.read_text().splitlines() if line.endswith("}")] if path.exists() else []


def of_done(rows: list[dict[str, Any]]) -> tuple[set[str], list[dict[str, Any]]]:
    """Which slices are done, and what was found of them."""
    done = {r["done"] for r in rows if "done" in r}
    return done, [r for r in rows if "run" in r or "case" in r and r["case"].rpartition("/")[0] in done]


def earlier(args: argparse.Namespace, slices: list[str]) -> list[dict[str, Any]]:
    """What the report of an interrupted run, and those of its children, have of the slices."""
    report = Path(args.report)
    parts = [path for path in sorted(report.parent.glob(report.name + ".*")) if path.suffix[1:].isdigit()]
    rows = [row for path in (report, *parts) for row in of_done(written(path))[1]] if args.resume else []
    for path in parts:
        path.unlink(), Path(f"{path}.todo").unlink(missing_ok=True)
    return [r for r in rows if r.get("done", r.get("case", "").rpartition("/")[0]) in slices]


def summary(args: argparse.Namespace, slices: list[str], each: int) -> list[dict[str, Any]]:
    """Runs children until all slices are done, and reads their reports."""
    rows = earlier(args, slices)
    slices = sorted({*slices} - of_done(rows)[0])
    running: list[tuple[subprocess.Popen[bytes], dict[str, Any], str]] = []
    parts = max(1, min(len(slices) // 12, 8 * args.jobs))  # few: a child first imports both sides and builds torch's database
    queue = [slices[i::parts] for i in range(parts)]
    pending: list[tuple[list[str], set[str]]] = [(q, set()) for q in queue if q]
    number = 0
    with open(args.report, "w", buffering=1) as whole:
        whole.writelines([json.dumps(row) + "\n" for row in rows])
        while pending or running:
            while pending and len(running) < args.jobs:
                part, skip = pending.pop()
                base = f"{args.report}.{number}"
                number += 1
                Path(base).write_text("")
                todo = {"slices": part, "numbers": [args.first, args.first + each], "report": base, "skip": sorted(skip)}
                Path(base + ".todo").write_text(json.dumps(todo))
                running.append((subprocess.Popen([sys.executable, "-m", "tests.campaign", "--child", base + ".todo"]), todo, base))
            time.sleep(0.2)
            for entry in list(running):
                process, todo, base = entry
                if process.poll() is None:
                    continue
                running.remove(entry)
                new = written(Path(base))
                done, kept = of_done(new)
                at = next((r["at"] for r in reversed(new) if "at" in r), "")
                left = [s for s in todo["slices"] if s not in done]
                if left and process.returncode == -signal.SIGPROF:
                    kept.append({"late": at})
                    pending.append((left, {*todo["skip"], at}))
                elif left and not at:
                    raise RuntimeError(f"a child ended with {process.returncode} before its first case of {left[0]}")
                elif left:  # it crashed: note where, and go on without that case
                    kept.append({"case": at, "mode": "any", "differs": [f"the process ended with {process.returncode}"], "call": at,
                                 "torch": "", "ours": ""})
                    pending.append((left, {*todo["skip"], at}))
                for row in kept:
                    whole.write(json.dumps(row) + "\n")
                rows += kept
                Path(base).unlink(), Path(base + ".todo").unlink()
    return rows


if __name__ == "__main__":
    sys.exit(main())
