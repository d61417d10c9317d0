"""Random programs, recorded. As `live` starts it, with a python that has torch, it reads programs from standard input, one a
line, and writes what torch makes of them."""

from __future__ import annotations

import json
import random
import sys
from typing import Any

from tests.recording import Table

from .generate import generate
from .programs import run


def outcome(torch: Any, seed: str) -> dict[str, Any]:
    """The program of a seed, and its trace."""
    program = generate(random.Random(int(seed)))
    return {"program": program, "trace": run(torch, program)}


TABLE = Table("programs", [str(seed) for seed in range(400)], outcome, zipped=True)

if __name__ == "__main__":
    import torch

    torch.set_num_threads(1)
    for line in sys.stdin:
        print(json.dumps(run(torch, json.loads(line))), flush=True)
