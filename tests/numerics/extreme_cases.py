"""Each operation's samples with extreme numbers in the place of their own: what is computed of NaN, infinities, signed zeros, denormal and
largest numbers, equal numbers and large offsets; forward and backward."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from tests.ops.op_cases import bind, samples

from autograd_tape.dtypes import DType
from autograd_tape.ops import RECORDS
from tests.recording import FIXTURES, Recording

PATH = FIXTURES / "extremes.npz"
# Matrix products are the BLAS's, and random numbers have no extremes.
FAMILIES = {"arithmetic", "rounding", "elementary", "complex", "special", "gamma", "bessel", "polynomials", "activation", "comparison",
            "sums", "extremes", "running", "order", "softmax", "likelihood", "loss", "margins", "normalization", "norms", "pooling", "mask",
            "scatter", "index", "index_along", "counting"}
# With other layouts of arguments than torch's public function, or drawn from a generator.
LEFT_OUT = {"nll_loss_nd", "rrelu", "sgn"}
MAX = float(np.finfo(np.float32).max)
TINY = 1e-40
MIXED = [0.0, -0.0, np.inf, -np.inf, np.nan, MAX, -MAX, TINY, -TINY, 1.0, -1.0, 1e10, -1e10, 88.8, -104.0, 20.0, -20.0, 0.5, 2.0, -2.5,
         1e-20]
FILLS: dict[str, list[float]] = {
    "mixed": MIXED,
    "finite": [x for x in MIXED if np.isfinite(x)],
    "NaN": [np.nan],
    "one NaN": [0.5, np.nan, 1.5, -2.0, 0.25, 3.0, 1.0],
    "infinity": [np.inf],
    "one infinity": [0.5, 1.5, np.inf, -2.0, 0.25, 3.0, 1.0],
    "minus infinity": [-np.inf],
    "one minus infinity": [0.5, 1.5, -np.inf, -2.0, 0.25, 3.0, 1.0],
    "both infinities": [np.inf, 1.0, -np.inf, 0.5],
    "zero": [0.0],
    "minus zero": [-0.0],
    "largest": [MAX],
    "largest of both signs": [MAX, -MAX, 1.0],
    "denormal": [TINY, 3e-41, -2e-42],
    "equal": [1e6 + 0.25],
    "1e4": [1e4 + x for x in (0.5, -1.25, 2.0, 0.0, -0.75)],
    "1e8": [1e8 + 8 * x for x in (1, -3, 5, 0, 2)],
}


def filled(array: np.ndarray, fill: str, shift: int) -> np.ndarray:
    """A float32 array like `array` with the numbers of a fill in turn, from the `shift`-th on."""
    numbers = np.resize(np.roll(np.array(FILLS[fill], np.float32), -shift), array.size)
    return numbers.reshape(array.shape)


def variants(arrays: int) -> Iterator[tuple[str, tuple[int, ...]]]:
    """(fill, which of the floating-point arrays get it) of each case for a sample."""
    for fill in FILLS:
        yield fill, tuple(range(arrays))
        if arrays > 1 and fill in ("mixed", "one NaN", "largest", "zero"):
            for i in range(min(arrays, 3)):
                yield fill, (i,)


def is_float(value: Any) -> bool:
    return isinstance(value, (np.ndarray, np.generic)) and np.asarray(value).dtype == np.float64


def tree_map(function: Any, value: Any) -> Any:
    if isinstance(value, dict):
        return {k: tree_map(function, v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)([tree_map(function, v) for v in value])
    return function(value) if isinstance(value, (np.ndarray, np.generic, DType)) else value


def run(torch: Any, function: Any, args: Any, kwargs: Any, fill: str, chosen: tuple[int, ...]) -> list[np.ndarray]:
    """Outputs and gradients, as arrays; gradients are of the sum of the outputs, none where there is no derivative."""
    leaves: list[Any] = []

    def tensor(value: Any) -> Any:
        if isinstance(value, DType):
            return getattr(torch, value.name)
        if not is_float(value):
            return torch.tensor(np.asarray(value).tolist(), dtype=getattr(torch, str(np.asarray(value).dtype)))
        nr = len(leaves)
        array = filled(np.asarray(value), fill, 5 * nr) if nr in chosen else np.asarray(value, np.float32)
        labels = array.size > 1 and np.array_equal(value, np.sign(value))  # which some losses have no derivative by
        leaves.append(torch.tensor(array.tolist(), dtype=torch.float32).reshape(array.shape).requires_grad_(not labels))
        return leaves[-1]

    result = function(*tree_map(tensor, args), **tree_map(tensor, kwargs))
    outputs = [t for t in (result if isinstance(result, (list, tuple)) else [result]) if isinstance(t, torch.Tensor)]
    found = [t.detach().numpy() for t in outputs] or ([np.atleast_1d(result)] if isinstance(result, bool) else [])
    flow = [t for t in outputs if t.requires_grad and t.dtype.is_floating_point]
    if flow:
        try:
            torch.autograd.backward(flow, [torch.ones_like(t) for t in flow])
        except (RuntimeError, NotImplementedError):  # of operations without a derivative, the results alone
            return [np.atleast_1d(a) for a in found]
        found += [np.zeros(0) if leaf.grad is None else leaf.grad.numpy() for leaf in leaves]
    return found


def resolve(torch: Any, names: list[str]) -> Any:
    """The first public function of these dotted names, or None."""
    for name in names:
        found = torch
        for part in name.split("."):
            found = getattr(found, part, None)
        if callable(found):
            return found
    return None


def names(name: str) -> list[str]:
    """The dotted public names of a record."""
    rec = RECORDS[name]
    own = {"": name, "Tensor": f"Tensor.{name}"}.get(rec.namespace, f"{rec.namespace}.{name}")
    return ([] if rec.namespace == "_internal" else [own]) + list(rec.alias)


def cases() -> Iterator[tuple[str, tuple[str, tuple[int, ...]]]]:
    """(record, variant) of everything that is looked at: the first sample of each record, in all variants."""
    for name, rec in sorted(RECORDS.items()):
        if rec.module.rpartition(".")[2] not in FAMILIES or not names(name) or name in LEFT_OUT:
            continue
        count = [0]

        def note(value: Any, count: list[int] = count) -> Any:
            count[0] += is_float(value)
            return value

        tree_map(note, bind(rec, samples(rec)[0]))
        for variant in variants(count[0]) if count[0] else ():
            yield name, variant


def outcome(torch: Any, name: str, variant: tuple[str, tuple[int, ...]]) -> list[np.ndarray] | None:
    """Outputs and gradients of a case; None where it raises or there is no such function."""
    function = resolve(torch, names(name))
    if function is None:
        return None
    args, kwargs = bind(RECORDS[name], samples(RECORDS[name])[0])
    try:
        return run(torch, function, args, kwargs, *variant)
    except (RuntimeError, ValueError, IndexError, TypeError, NotImplementedError):
        return None


def record(torch: Any) -> None:
    """Writes torch's outcomes."""
    shapes, numbers = [], []
    for name, case in cases():
        found = outcome(torch, name, case)
        shapes.append("-" if found is None else ";".join(",".join(map(str, a.shape)) for a in found))
        numbers += [a.ravel() for a in found or []]
    np.savez_compressed(PATH, shapes=np.array("|".join(shapes)), numbers=np.concatenate(numbers).astype(np.float32))


TABLE = Recording("extremes", "extremes.npz", record)
