"""Records what torch's own checkpoints do in the cases: `python tests/core/record_checkpoint.py` in an environment with torch."""

from __future__ import annotations

import json
import pathlib

from checkpoint_cases import CASES, outcome

PATH = pathlib.Path(__file__).with_name("checkpoint_recorded.json")

if __name__ == "__main__":
    import torch
    from torch.utils import checkpoint

    lines = [f"{json.dumps(name)}: {json.dumps(outcome(torch, checkpoint, name))}" for name in CASES]
    PATH.write_text("{\n" + ",\n".join(lines) + "\n}\n")
