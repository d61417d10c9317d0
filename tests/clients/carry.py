"""Carries out the cases of a client on the torch that there is; a script, so that nothing of this repository is imported by it.

Prints a line of JSON for each: its name, what it gives or its error, and the seconds of processor time that it took.
"""

from __future__ import annotations

import contextlib
import io
import json
import runpy
import sys
import time
import types
import warnings
from pathlib import Path
from typing import Any

SAMPLES = 16
"""Of the numbers of a tensor, so many are kept, or one of each where there are many tensors."""


def plain(value: Any, samples: int = SAMPLES) -> Any:
    """As JSON holds it; a tensor is its dtype, shape, size, and some of its numbers."""
    import torch

    if isinstance(value, torch.Tensor):
        flat = value.detach().resolve_conj().cpu().flatten()
        numbers = (torch.view_as_real(flat) if flat.is_complex() else flat).double().flatten()
        some = numbers[::max(1, numbers.numel() // samples)].tolist()[:samples]
        size = float(numbers.abs().nan_to_num(posinf=0).max()) if numbers.numel() else 0.0
        return {"tensor": f"{str(value.dtype)[6:]}{list(value.shape)}", "size": short(size), "numbers": [short(x) for x in some]}
    if isinstance(value, dict):
        return {str(key): plain(v, samples if len(value) < SAMPLES else 1) for key, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(v, samples if len(value) < 2 * SAMPLES else 1) for v in value]
    if hasattr(value, "dtype") and hasattr(value, "tolist"):  # of NumPy
        return plain(value.tolist())
    return short(value) if isinstance(value, float) else value if isinstance(value, (bool, int, str, type(None))) else str(value)


def short(number: float) -> float:
    """With seven digits."""
    return float(f"{number:.7g}")


def main(path: str, repeat: int, cases: list[str]) -> None:
    """Carries out the named cases, or all, each some times, of which the last is told."""
    sys.path[:] = [entry for entry in sys.path if Path(entry or ".").resolve() != Path(__file__).parent]
    lines = sys.stdout
    with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        client = types.ModuleType("client")
        vars(client).update(runpy.run_path(path, run_name="client"))
        sys.modules["client"], known = client, client.CASES  # by that name pickles know its classes
        for case in cases or known:
            for _ in range(repeat):
                begun = time.process_time()
                try:
                    found = plain(known[case]())
                except Exception as error:
                    found = f"{type(error).__name__}: {str(error)[:200]}"
                seconds = time.process_time() - begun
            print(json.dumps([case, found, round(seconds, 4)]), file=lines, flush=True)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), sys.argv[3:])
