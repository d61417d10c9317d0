"""Records what torch's own dispatch modes see of the cases: `python tests/core/record_aten.py` in an environment with torch."""

from __future__ import annotations

import json
import pathlib

from aten_cases import CASES, seen

PATH = pathlib.Path(__file__).with_name("aten_recorded.json")

if __name__ == "__main__":
    import torch
    from torch.utils._python_dispatch import TorchDispatchMode

    lines = [f"{json.dumps(name)}: {json.dumps(seen(torch, TorchDispatchMode, name))}" for name in CASES]
    PATH.write_text("{\n" + ",\n".join(lines) + "\n}\n")
