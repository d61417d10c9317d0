"""Records what real torch makes of the cases: `python tests/optim/record.py`, in an environment with torch."""

from __future__ import annotations

import json
import sys
import warnings
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))


def rounded(value: Any) -> Any:
    """Floats with nine digits, more than float32 has."""
    if isinstance(value, float):
        return float(f"{value:.9g}")
    if isinstance(value, (list, tuple)):
        return [rounded(v) for v in value]
    return {k: rounded(v) for k, v in value.items()} if isinstance(value, dict) else value


def main() -> None:
    import torch
    import torch.utils.data
    from optim_cases import (
        FUSED, MISFITS, OPTIMIZERS, ORDERS, SCHEDULES, run_misfit, run_optimizer, run_order, run_schedule,
    )

    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    recorded = {
        "torch": torch.__version__,
        "optimizers": {e: rounded(run_optimizer(torch, e)) for e in OPTIMIZERS},
        "schedules": {e: rounded(run_schedule(torch, e)) for e in SCHEDULES},
        "misfits": {e: {m: rounded(run_misfit(torch, e, m, (130, 100), (100, 50))) for m in MISFITS} for e in FUSED},
        "orders": {e: rounded(run_order(torch, e)) for e in ORDERS},
    }
    (HERE / "optim.json").write_text(json.dumps(recorded, separators=(",", ":")).replace('},"', '},\n"') + "\n")


if __name__ == "__main__":
    main()
