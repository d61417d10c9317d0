"""Records what `array_api_strict` makes of the calls in `array_api_cases.py`: `python -m tests.habits.record_array_api`."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import array_api_strict as xp

from .array_api_cases import CALLS, arrays, plain


def record(call: str) -> Any:
    try:
        return plain(eval(call, {"xp": xp, **arrays(xp)}))
    except Exception as error:  # any is a record
        return {"error": type(error).__name__}


if __name__ == "__main__":
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        lines = [f"{json.dumps(call)}: {json.dumps(record(call))}" for call in CALLS]
    Path(__file__).with_name("array_api_recorded.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")
