"""Small programs of autograd: what they show, raise and warn.

A program says what is to be compared with `show`; what it raises and warns is compared too. `torch` is the one under test.
"""

from __future__ import annotations

import importlib
import re
import warnings
from pathlib import Path
from typing import Any

from tests.recording import Table


def programs() -> dict[str, str]:
    """From "area: name" to source. In the file each begins with a line "### area: name"."""
    parts = re.split(r"^### (.+)$", Path(__file__).with_name("programs.txt").read_text(), flags=re.MULTILINE)[1:]
    return dict(zip((name.strip() for name in parts[::2]), parts[1::2], strict=True))


def describe(torch: Any, value: Any) -> Any:
    """A value as JSON: of a tensor all that a program can see without its memory address."""
    if isinstance(value, torch.Tensor):
        with torch.no_grad():
            flat = value.detach().reshape(-1)
            numbers = [str(v) for v in flat.tolist()] if value.is_complex() else flat.double().tolist()
        return {"values": [round(v, 5) if isinstance(v, float) else v for v in numbers], "shape": list(value.shape),
                "stride": list(value.stride()), "dtype": str(value.dtype), "requires_grad": value.requires_grad,
                "grad_fn": None if value.grad_fn is None else type(value.grad_fn).__name__}
    if isinstance(value, (tuple, list)):
        return [describe(torch, v) for v in value]
    if isinstance(value, dict):
        return {str(k): describe(torch, v) for k, v in value.items()}
    if isinstance(value, float):
        return round(value, 5)
    return value if value is None or isinstance(value, (bool, int, str)) else str(value)


def clean(text: str) -> str:
    """A message without what differs between builds: where it was raised, files and lines, addresses."""
    text = re.sub(r" \(Triggered internally at .*?\)", "", text)
    text = re.sub(r"  File .*(\n    .*)*", "  File", text, flags=re.DOTALL)
    return re.sub(r"0x[0-9a-f]+", "0x", text).replace("torchcompat", "torch").strip()


def outcome(torch: Any, source: str) -> list[Any]:
    """What a program showed, warned and raised."""
    log: list[Any] = []

    def show(*values: Any) -> None:
        log.extend(describe(torch, v) for v in values)

    def attempt(function: Any) -> None:
        try:
            result = function()
        except Exception as error:
            log.append(f"{type(error).__name__}: {clean(str(error))}")
        else:
            log.append(describe(torch, result))

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            exec(compile(source, "<program>", "exec"), {"torch": torch, "show": show, "attempt": attempt, "warnings": warnings})
        except Exception as error:
            log.append(f"{type(error).__name__}: {clean(str(error))}")
    log += [f"{w.category.__name__}: {clean(str(w.message))}" for w in caught
            if "torch.jit" not in str(w.message)]
    return log


def named(module: str) -> Any:
    """The module under test, with the submodules that programs use."""
    torch = importlib.import_module(module)
    for name in ("autograd.functional", "autograd.forward_ad", "autograd.graph", "autograd.profiler", "utils.checkpoint", "nn"):
        importlib.import_module(f"{module}.{name}")
    return torch


PROGRAMS = programs()
TABLE = Table("autograd", PROGRAMS, lambda torch, name: outcome(named(torch.__name__), PROGRAMS[name]))
