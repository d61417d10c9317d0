"""Half precision of elementwise operations, to the last bit: results, and gradients, which torch rounds once where a kernel computes them,
and at each step where a formula does."""

from __future__ import annotations

import zlib
from typing import Any

import ml_dtypes
import numpy as np

from autograd_tape.ops import RECORDS
from tests.recording import Table

from .op_cases import bind, samples, tree_map

N = 64
"""Elements: as many as fill torch's vectors, whose ends round differently."""
DTYPES = {"float16": np.dtype(np.float16), "bfloat16": np.dtype(ml_dtypes.bfloat16)}


def function(torch: Any, name: str) -> Any:
    """What a record is called by in torch; None where it has no public name."""
    if name.startswith("_"):
        return None
    return next((f for where in (torch, torch.special, torch.nn.functional) if (f := getattr(where, name, None)) is not None), None)


def cases(torch: Any) -> list[str]:
    """The samples of elementwise operations with a gradient that consist of floating-point arrays and numbers: one of those that differ
    in their arrays alone, which are made anew."""
    found: list[str] = []
    for name, rec in RECORDS.items():
        if not (rec.elementwise and rec.has_gradient and function(torch, name)):
            continue
        kinds: dict[str, int] = {}
        for number, sample in enumerate(samples(rec)):
            call = bind(rec, sample)
            if all([x.dtype.kind == "f" for x in arrays(call)]):
                kinds.setdefault(str(tree_map(lambda x: "array" if isinstance(x, np.ndarray) else x, call)), number)
        found += [f"{name} {number}, {dtype}" for number in kinds.values() for dtype in DTYPES]
    return found


def arrays(value: Any) -> list[np.ndarray]:
    """The arrays among arguments."""
    found: list[np.ndarray] = []
    tree_map(lambda x: found.append(x) if isinstance(x, np.ndarray) else None, value)
    return found


def outcome(torch: Any, case: str) -> list[str]:
    """The bits of the result and of each gradient, or an error's type."""
    call, dtype = case.split(", ")
    name, number = call.split(" ")
    args, kwargs = bind(RECORDS[name], list(samples(RECORDS[name]))[int(number)])
    rng = np.random.default_rng(zlib.crc32(case.encode()))
    inputs: list[Any] = []

    def tensor(numbers: np.ndarray) -> Any:
        return torch.from_numpy(numbers.astype(DTYPES[dtype]).view(np.int16)).view(getattr(torch, dtype))

    def convert(x: Any) -> Any:
        if not isinstance(x, np.ndarray):
            return x
        low, high = (float(x.min()), float(x.max())) if x.size > 1 else (0.5, 2.0)
        inputs.append(tensor(rng.uniform(low, high, N)).requires_grad_())
        return inputs[-1]

    args, kwargs = tree_map(convert, (args, kwargs))
    try:
        result = function(torch, name)(*args, **kwargs)
        grads = torch.autograd.grad(result, inputs, tensor(rng.uniform(-2, 2, N)), allow_unused=True)
    except (RuntimeError, TypeError) as error:
        return [type(error).__name__]
    return ["none" if t is None else bits(torch, t) for t in (result, *grads)]


def bits(torch: Any, t: Any) -> str:
    """The elements' bits, in hexadecimal; of a NaN always the same ones."""
    made = torch.empty(tuple(t.shape), dtype=t.dtype).copy_(t.detach())  # zeros that torch keeps without memory, too
    return np.asarray(made.view(torch.int16).masked_fill(made != made, 0x7fff).tolist()).astype(">i2").tobytes().hex()


def same(expected: Any, found: Any) -> bool:
    """Whether all bits are the same, but for the last of one element in 32: processors differ in the last places of exponentials."""
    if expected == found or not isinstance(expected, str) or len(expected) != len(found) or len(expected) != 4 * N:
        return bool(expected == found)
    one, other = [np.frombuffer(bytes.fromhex(s), ">i2").astype(int) for s in (expected, found)]
    return int((one != other).sum()) <= N // 32 and int(np.abs(one - other).max()) <= 1


TABLE = Table("halves", cases, outcome, same=same, zipped=True)
