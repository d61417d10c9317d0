"""Records what torch itself makes of `transform_cases`: `python -m tests.func.record_transforms` in an environment with torch."""

from __future__ import annotations

import json
import pathlib

from autograd_tape.ops import RECORDS
from tests.campaign.cases import record_samples

from .transform_cases import outcomes

PATH = pathlib.Path(__file__).with_name("recorded_transforms.json")

if __name__ == "__main__":
    import torch

    found = {}
    for name in sorted(n for n, r in RECORDS.items() if r.field("samples")):
        path = record_samples(name)[0]
        if path:
            found[name] = [path, *outcomes(torch, name, path)]
    PATH.write_text("{\n" + ",\n".join(f"{json.dumps(name)}: {json.dumps(row)}" for name, row in found.items()) + "\n}\n")
