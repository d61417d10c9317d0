"""Records what torch itself makes of the cases, with numbers as text: `python tests/func/record.py` in an environment with torch."""

from __future__ import annotations

import json
import pathlib
import warnings
from typing import Any

from func_cases import CASES

PATH = pathlib.Path(__file__).with_name("recorded.json")


def plain(torch: Any, value: Any) -> Any:
    """A result as JSON: tensors with their shape and dtype."""
    if isinstance(value, torch.Tensor):
        numbers = value.detach().double().reshape(-1).tolist()
        return {"shape": list(value.shape), "dtype": str(value.dtype), "data": [float(f"{v:.12g}") for v in numbers]}
    if isinstance(value, dict):
        return {"dict": {k: plain(torch, v) for k, v in value.items()}}
    if isinstance(value, (tuple, list)):
        return [plain(torch, v) for v in value]
    return value


def outcome(torch: Any, name: str) -> Any:
    """What a case gives: its result, or the error."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return plain(torch, CASES[name](torch))
        except Exception as error:  # noqa: BLE001
            return {"error": type(error).__name__, "text": str(error)}


if __name__ == "__main__":
    import torch

    PATH.write_text(json.dumps({name: outcome(torch, name) for name in CASES}, indent=0) + "\n")
