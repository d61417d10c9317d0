"""Records what torch itself does in the programs: `python tests/core/record_library.py` in an environment with torch."""

from __future__ import annotations

import json
import pathlib

from library_cases import CASES, outcome

PATH = pathlib.Path(__file__).with_name("library_recorded.json")

if __name__ == "__main__":
    import torch

    lines = [f"{json.dumps(name)}: {json.dumps(outcome(torch, name))}" for name in CASES]
    PATH.write_text("{\n" + ",\n".join(lines) + "\n}\n")
