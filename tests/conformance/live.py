"""Runs random programs on torchcompat and, in a second process, on real torch, and shows where they differ, as small as possible::

    python -m tests.conformance.live --torch-python PATH --programs 2000
"""

from __future__ import annotations

import argparse
import json
import random
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from .generate import generate
from .programs import Program, Trace, divergences, minimized, run, text_of


class RealTorch:
    """Real torch in a process of its own."""

    def __init__(self, python: str) -> None:
        self.python = python
        self.start()

    def start(self) -> None:
        """Starts the process."""
        self.process = subprocess.Popen([self.python, "-m", "tests.conformance.recorded"], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[2])

    def __call__(self, program: Program) -> Trace | None:
        assert self.process.stdin is not None and self.process.stdout is not None
        print(json.dumps(program), file=self.process.stdin, flush=True)
        line = self.process.stdout.readline()
        if not line:  # some programs crash torch itself
            print(f"-- torch ended with {self.process.wait()} while it ran:\n{text_of(program)}", flush=True)
            self.start()
            return None
        return json.loads(line)

    def close(self) -> None:
        """Ends the process."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()


def kind_of(difference: str) -> str:
    """What a difference has in common with others of its kind: where it is, and the words of both sides."""
    where, _, rest = difference.partition(": ")
    return re.sub(r"\$\w+(\.\d+)?|\d+", "#", where) + ": " + re.sub(r"\$\w+(\.\d+)?|[-\d.e]+", "#", rest)[:200]


def main() -> int:
    """The command line; 1 where programs diverge."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--torch-python", required=True, help="a python that has torch")
    parser.add_argument("--programs", type=int, default=2000)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--show", type=int, default=10, help="how many kinds of divergence to show")
    args = parser.parse_args()
    import torchcompat

    real = RealTorch(args.torch_python)

    def differ(program: Program) -> list[str]:
        expected = real(program)
        return [] if expected is None else divergences(expected, json.loads(json.dumps(run(torchcompat, program))))

    kinds: dict[str, list[Any]] = {}
    diverging, start = 0, time.perf_counter()
    for seed in range(args.first, args.first + args.programs):
        program = generate(random.Random(seed))
        found = differ(program)
        if not found:
            continue
        diverging += 1
        kind = kind_of(found[0])
        small = minimized(program, lambda p: kind in map(kind_of, differ(p)[:1])) if len(kinds) < args.show else program
        found = differ(small)
        known = kinds.setdefault(kind, [0, seed, small, found])
        known[0] += 1
        if known[0] == 1 and len(kinds) <= args.show:
            print(f"-- seed {seed}\n{text_of(small)}\n" + "".join([f"   {d[:600]}\n" for d in found[:5]]), flush=True)
    real.close()
    print(f"{args.programs} programs, {diverging} diverge, {len(kinds)} kinds, {time.perf_counter() - start:.0f} s")
    return 1 if diverging else 0


if __name__ == "__main__":
    sys.exit(main())
