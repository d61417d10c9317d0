"""Records what real torch does with random programs. Run with a python that has torch, from the repository's root::

    python -m tests.conformance.record [--programs N] [--first SEED]

It rewrites ``tests/conformance/data/programs.json.gz``.  ``--serve`` reads programs from standard input, one a line, and writes
their traces; `live` speaks with it so.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import sys
from pathlib import Path

from .generate import generate
from .programs import run

DATA = Path(__file__).parent / "data" / "programs.json.gz"


def serve(torch: object) -> None:
    """Answers programs with traces until the input ends."""
    for line in sys.stdin:
        print(json.dumps(run(torch, json.loads(line))), flush=True)


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--programs", type=int, default=400)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--serve", action="store_true")
    args = parser.parse_args()
    import torch

    torch.set_num_threads(1)
    if args.serve:
        serve(torch)
        return
    programs = [generate(random.Random(seed)) for seed in range(args.first, args.first + args.programs)]
    cases = [{"program": p, "trace": run(torch, p)} for p in programs]
    text = json.dumps({"torch": torch.__version__.partition("+")[0], "cases": cases}, separators=(",", ":"))
    DATA.parent.mkdir(exist_ok=True)
    DATA.write_bytes(gzip.compress(text.encode(), 9, mtime=0))
    print(f"{len(cases)} programs, {DATA.stat().st_size} bytes")


if __name__ == "__main__":
    main()
