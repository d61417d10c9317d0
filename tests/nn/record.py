"""Records what real torch makes of the cases: `python tests/nn/record.py`, in an environment with torch."""

from __future__ import annotations

import json
import sys
import warnings
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))


def rounded(value: Any) -> Any:
    """Floats with seven digits, which is what float32 has."""
    if isinstance(value, float):
        return float(f"{value:.7g}")
    if isinstance(value, list):
        return [rounded(v) for v in value]
    return {k: rounded(v) for k, v in value.items()} if isinstance(value, dict) else value


def main() -> None:
    import torch
    from init_cases import CASES as INIT_CASES
    from init_cases import run as run_init
    from module_cases import CASES, run

    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    cases = {expression: rounded(run(torch, expression, specs)) for expression, specs in CASES}
    text = ",\n".join(f"{json.dumps(key)}: {json.dumps(case, separators=(',', ':'))}" for key, case in cases.items())
    (HERE / "modules.json").write_text("{" + f'"torch": {json.dumps(torch.__version__)},\n' + text + "}\n")
    drawn = {f"{expression} {shape}": rounded(run_init(torch, expression, shape)) for expression, shape in INIT_CASES}
    (HERE / "init.json").write_text(json.dumps(drawn, separators=(",", ":")).replace('],"', '],\n"') + "\n")


if __name__ == "__main__":
    main()
