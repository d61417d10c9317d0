"""Calls of torch's deprecated signatures, and of what comes near them."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Iterator
from typing import Any

from tests.recording import Table

SHAPES = {
    "add": [(2, 2), (2, 2)], "sub": [(2, 2), (2, 2)], "addcmul": [(2, 2), (2, 2), (2, 2)], "addcdiv": [(2, 2), (2, 2), (2, 2)],
    "addmm": [(2, 2), (2, 2), (2, 2)], "addmv": [(2,), (2, 2), (2,)], "addr": [(2, 2), (2,), (2,)],
    "addbmm": [(2, 2), (3, 2, 2), (3, 2, 2)], "baddbmm": [(3, 2, 2), (3, 2, 2), (3, 2, 2)],
}
"""From the operations that have deprecated signatures to shapes of their tensors."""
NUMBERS = {"2": 2, "h": 0.5, "b": True, "j": 2j, "n": None, "s": "a"}
WAYS = {"function": "{}", "method": "{}", "in place": "{}_", "out": "{}"}


def calls() -> Iterator[tuple[str, str, str]]:
    """(operation, way, what is passed): "T" for a tensor, "0" for one of no dimension, a letter of `NUMBERS`."""
    for name, shapes in SHAPES.items():
        longest = len(shapes) + (2 if name not in ("add", "sub", "addcmul", "addcdiv") else 1)
        plain = ["".join(p) for n in range(len(shapes), longest + 1 + (name == "add")) for p in itertools.product("T2", repeat=n)
                 if abs(p.count("T") - len(shapes)) < 2]
        fits = [p for p in plain if p.count("T") == len(shapes) < len(p)]
        odd = [p.replace("2", letter, 1) for p in fits for letter in "0hbjns" if "2" in p]
        for pattern in [*plain, *odd]:
            yield name, "function", pattern
            if pattern in fits and len(pattern) == longest:
                yield name, "out", pattern
            if pattern[0] == "T":
                yield name, "method", pattern
                yield name, "in place", pattern


def outcome(torch: Any, case: str) -> Any:
    """What a call gives: the values, or the error."""
    name, way, pattern = case.split(", ")
    shapes = iter(SHAPES[name])
    arguments = []
    for i, letter in enumerate(pattern):
        shape = next(shapes, (2, 2)) if letter == "T" else ()
        size = 1
        for n in shape:
            size *= n
        arguments.append(torch.arange(size).reshape(shape).double() + i + 1 if letter == "T" else
                         torch.tensor(3.) if letter == "0" else NUMBERS[letter])
    called = WAYS[way].format(name)
    try:
        if way == "function":
            result = getattr(torch, called)(*arguments)
        elif way == "out":
            result = getattr(torch, called)(*arguments, out=torch.empty(0, dtype=torch.float64))
        else:
            result = getattr(arguments[0], called)(*arguments[1:])
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    assert way != "in place" or result is arguments[0]
    return [round(x, 6) for x in result.flatten().tolist()] if not result.is_complex() else str(result.flatten().tolist())


def warned(torch: Any, case: str) -> list[str]:
    """The texts of the warnings of a call."""
    name, way, pattern = case.split(", ")
    shapes = iter(SHAPES[name])
    arguments = [torch.ones(next(shapes)) if letter == "T" else 2 for letter in pattern]
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        if way == "function":
            getattr(torch, name)(*arguments)
        else:
            getattr(arguments[0], WAYS[way].format(name))(*arguments[1:])
    return [f"{w.category.__name__}: {str(w.message).partition(' (Triggered internally')[0]}" for w in found]


def warning(torch: Any) -> list[str]:
    """The calls that warn: of tensors and one number, as they are meant."""
    torch.set_warn_always(True)
    plain = [(case, *case.split(", ")) for case in CASES]
    return [case for case, name, way, pattern in plain if way != "out" and not pattern.strip("T2")
            and pattern.count("T") == len(SHAPES[name]) and not isinstance(outcome(torch, case), str) and warned(torch, case)]


CASES = [", ".join(call) for call in calls()]
TABLE = Table("deprecated", CASES, outcome, zipped=True)
WARNING_TABLE = Table("deprecated_warnings", warning, warned)
