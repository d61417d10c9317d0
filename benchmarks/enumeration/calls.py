"""Samples of records as data that both sides understand, scaled to sizes, made into tensors, and called; needs only NumPy."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

Spec = Any
"""Arguments as JSON: numbers and texts as they are, {"array": dtype, "shape": ..., "values": ...}, {"tuple": ...}, {"dtype": name} ..."""
Place = tuple[int, int]
"""(number of a leaf, axis of its array, or -1 for an integer)."""
SIZES = {"tiny": 0, "10^3": 1000, "10^4": 10_000, "10^6": 1_000_000, "odd": 10_000, "long": 100_000, "batch 1": 10_000}
"""Elements of a call's largest tensor."""
LAYOUTS = ("rows", "columns", "broadcast", "channels_last")
MODES = ("forward", "backward")
LIMIT = 0.02
"""Seconds on torch's side that a call of an entry should not take, by what smaller ones took."""
STEP = 10
GROWS = 4
UNCHECKED = {"nn.functional.ctc_loss"}
"""Functions of torch's that read whatever memory an index tells: theirs stay as they are, where others are spread until torch refuses."""
GROUPS: dict[tuple[str, str, bool], list[set[Place]]] = {}
"""What `groups` found."""


class Void(Exception):
    """A combination that is no call: the message says why."""


def encoded(value: Any) -> Spec:
    """A sample's arguments as JSON; Void where something has no such form.

    >>> encoded((np.ones((1, 2)), None, 3))
    {'tuple': [{'array': 'float64', 'shape': [1, 2], 'values': [1.0, 1.0]}, None, 3]}
    """
    if isinstance(value, (np.ndarray, np.generic)):
        array = np.asarray(value)
        parts = np.stack([array.real, array.imag], -1) if array.dtype.kind == "c" else array
        return {"array": array.dtype.name, "shape": list(array.shape), "values": parts.reshape(-1).tolist()}
    if isinstance(value, (tuple, list)):
        return {type(value).__name__: [encoded(x) for x in value]}
    if isinstance(value, dict):
        return {"dict": {k: encoded(x) for k, x in value.items()}}
    if isinstance(value, slice):
        return {"slice": [encoded(x) for x in (value.start, value.stop, value.step)]}
    if isinstance(value, complex):
        return {"complex": [value.real, value.imag]}
    if value is Ellipsis or value is None or isinstance(value, (bool, int, float, str)):
        return {"ellipsis": 0} if value is Ellipsis else value
    if type(value).__name__ == "DType":
        return {"dtype": value.name}
    raise Void(f"an argument of type {type(value).__name__}")


def decoded(spec: Spec, tensor: Callable[[dict[str, Any]], Any], torch: Any = None) -> Any:
    """The arguments, with `tensor` of what stands for tensors."""
    if not isinstance(spec, dict):
        return spec
    if "array" in spec:
        return tensor(spec)
    ((kind, value),) = spec.items()
    if kind == "dict":
        return {k: decoded(x, tensor, torch) for k, x in value.items()}
    if kind in ("dtype", "ellipsis"):
        return getattr(torch, value) if kind == "dtype" else ...
    parts = [decoded(x, tensor, torch) for x in value]
    return parts if kind == "list" else tuple(parts) if kind == "tuple" else slice(*parts) if kind == "slice" else complex(*parts)


def mapped(spec: Spec, function: Callable[[int, Any], Any]) -> Spec:
    """`function(number, leaf)` in place of every array and integer."""
    number = -1

    def walk(x: Spec) -> Spec:
        nonlocal number
        if isinstance(x, dict) and "array" not in x:
            return {k: walk(v) if k != "complex" else v for k, v in x.items()}
        if isinstance(x, list):
            return [walk(v) for v in x]
        if not isinstance(x, dict) and (isinstance(x, bool) or not isinstance(x, int)):
            return x
        number += 1
        return function(number, x)

    return walk(spec)


def leaves(spec: Spec) -> list[Any]:
    """Its arrays and integers, in order."""
    found: list[Any] = []
    mapped(spec, lambda _, x: found.append(x))
    return found


def arrays(spec: Spec) -> list[dict[str, Any]]:
    """Its arrays, in order."""
    return [x for x in leaves(spec) if isinstance(x, dict)]


def resized(spec: Spec, sizes: dict[Place, int]) -> Spec:
    """The arguments with other sizes; values are drawn from those that the array had."""
    def other(i: int, x: Any) -> Any:
        if not isinstance(x, dict):
            return sizes.get((i, -1), x)
        return {**x, "was": x.get("was", x["shape"]), "shape": [sizes.get((i, axis), n) for axis, n in enumerate(x["shape"])]}

    return mapped(spec, other)


def spread(spec: Spec, small: Spec) -> Iterator[Spec]:
    """The arguments with indices over the whole of the grown sizes that they may refer to, most first; as they are at last."""
    pairs = [(a, b) for a, b in zip(arrays(spec), arrays(small))]
    known = [x for x, _ in pairs if x["array"].startswith("int") and x["values"] and min(x["values"]) >= 0]
    if known and len(known) < len(pairs):
        top = max(max(x["values"]) for x in known)
        for high in sorted({n for a, b in pairs for n, old in zip(a["shape"], b["shape"]) if old > top and n > old}, reverse=True):
            def over(_: int, x: Any, high: int = high) -> Any:
                return {**x, "high": high} if any(x is k for k in known) else x

            yield mapped(spec, over)
    yield spec


# -- values ------------------------------------------------------------------------------------------------------------------------


def values(leaf: dict[str, Any], seed: int) -> np.ndarray:
    """An array of a leaf's shape, of values between the sample's; in order, symmetric or triangular if that was."""
    dtype, shape = np.dtype(leaf["array"]), tuple(leaf["shape"])
    known = np.asarray(leaf["values"], np.float64 if dtype.kind in "fc" else dtype)
    if dtype.kind == "c":
        known = known.reshape(-1, 2) @ np.array([1, 1j])
    small, size = known.reshape(leaf.get("was", shape)), math.prod(shape)
    if small.shape == shape and "high" not in leaf:
        return small.astype(dtype)
    rng = np.random.default_rng(seed)
    if not size or not known.size:
        return np.zeros(shape, dtype)
    if dtype.kind in "iub":
        found = rng.integers(0, leaf["high"], shape) if "high" in leaf else known[rng.integers(0, known.size, shape)]
    else:
        table = known if known.size > 4096 else (known[:, None] + (known[None] - known[:, None]) * 0.37).reshape(-1)[:4096]
        found = table[rng.integers(0, table.size, shape)] * rng.uniform(0.999, 1, shape)
    if small.ndim and small.shape[-1] > 2 and dtype.kind in "iuf" and (np.diff(small, axis=-1) >= 0).all():
        found = np.sort(found, -1)
    if small.ndim > 1 and small.shape[-1] == small.shape[-2] > 1 and shape[-1] == shape[-2] and dtype.kind in "fc":
        turned = np.swapaxes(small, -1, -2)
        lower, upper = (np.tril(small) == small).all(), (np.triu(small) == small).all()
        if lower or upper:
            found = (np.tril if lower else np.triu)(found) + np.eye(shape[-1]) * shape[-1]
        elif np.allclose(small, turned.conj()):
            found = found + np.swapaxes(found, -1, -2).conj() + 4 * np.abs(known).max() * shape[-1] * np.eye(shape[-1])
    return found.astype(dtype)


def tensor(torch: Any, leaf: dict[str, Any], number: int, dtype: str, layout: str) -> Any:
    """A tensor of a leaf: floating-point ones in `dtype`; in a layout the first, or where it says so, all."""
    found = values(leaf, number)
    if found.dtype.kind in "fc":
        if dtype.startswith(("int", "uint")):
            found = np.round(3 * found.real).astype(dtype)
        elif dtype == "bool":
            found = found.real > np.median(found.real) if found.size else found.real > 0
        elif found.dtype.kind == "c":
            found = found.astype("complex128" if dtype == "float64" else "complex64")
        else:
            found = found.astype("float64" if dtype == "float64" else "float32")
    made = torch.tensor(found)
    if leaf["array"].startswith("float") and dtype in ("bfloat16", "float16"):
        made = made.to(getattr(torch, dtype))
    if layout == "columns" and number == 0 and found.ndim > 1:
        made = made.mT.contiguous().mT
    if layout == "channels_last" and found.ndim == 4:
        made = made.contiguous(memory_format=torch.channels_last)
    return made


def lookup(torch: Any, path: str) -> Any:
    """The function of a path in torch's namespace; None where there is none."""
    found = torch
    for part in path.split("."):
        found = getattr(found, part, None)
    return found


def tensors(torch: Any, value: Any) -> list[Any]:
    """All tensors in a result, in order."""
    if isinstance(value, torch.Tensor):
        return [value]
    return [t for part in value for t in tensors(torch, part)] if isinstance(value, (tuple, list)) else []


def call(torch: Any, path: str, spec: Spec, dtype: str, layout: str, mode: str) -> Callable[[], Any]:
    """A function without arguments that makes the call, and takes gradients where the mode says so."""
    function, number = lookup(torch, path), -1

    def made(leaf: dict[str, Any]) -> Any:
        nonlocal number
        number += 1
        return tensor(torch, leaf, number, dtype, layout)

    args, kwargs = decoded(spec["args"], made, torch), decoded(spec["kwargs"], made, torch)
    if mode == "forward":
        return lambda: function(*args, **kwargs)
    inputs = [t for t in tensors(torch, [args, list(kwargs.values())]) if t.is_floating_point() or t.is_complex()]
    for t in inputs:
        t.requires_grad_()
    outs = [t for t in tensors(torch, function(*args, **kwargs)) if t.requires_grad]
    if not outs:
        raise Void("no gradient")
    which = [i for i, t in enumerate(tensors(torch, function(*args, **kwargs))) if t.requires_grad]
    cotangents = [torch.ones_like(t) for t in outs]

    def both() -> Any:
        found = tensors(torch, function(*args, **kwargs))
        return torch.autograd.grad([found[i] for i in which], inputs, cotangents, allow_unused=True)

    return both


def shapes(torch: Any, result: Any) -> list[str]:
    """Shapes and dtypes of all tensors of a result."""
    return [f"{str(t.dtype).removeprefix('torch.')}{list(t.shape)}" for t in tensors(torch, result)]


# -- which sizes grow --------------------------------------------------------------------------------------------------------------


def groups(count: Callable[[Spec], int | None], spec: Spec) -> list[set[Place]]:
    """Which sizes of a call grow together: those of tensors of one shape if they can, else each alone, or with all equal ones, or integers.

    `count` says how many elements the results have, None where the call is refused. A size that neither leaves that as it is nor grows it
    by much is no size of data, but a kernel's, and stays. Integers grow where there are no tensors, and then only if results do.
    """
    base, every = count(spec), leaves(spec)
    if base is None:
        raise Void("torch refuses the sample")
    places: dict[Place, int] = {}
    for i, x in enumerate(every):
        places |= {(i, axis): n for axis, n in enumerate(x["shape"])} if isinstance(x, dict) else {(i, -1): x}
    places = {p: n for p, n in places.items() if 1 < n < 10_000}
    sized = {p for p in places if p[1] >= 0} or set(places)
    found: list[set[Place]] = []
    for p in sorted(sized):
        free = {q for q, n in places.items() if n == places[p] and not any(q in g for g in found)}
        if p not in free:
            continue
        alike = {q for q in free & sized if q == p or q[1] == p[1] >= 0 and every[q[0]]["shape"] == every[p[0]]["shape"]}
        for group in (alike, {p}, free & sized, free):
            grown = count(resized(spec, {q: GROWS * places[q] for q in group}))
            if grown is not None and (grown == base and p[1] >= 0 or grown >= 2 * base > 0):
                found.append(group)
                break
    return found


def planned(spec: Spec, found: list[set[Place]], base: int, grown: int, size: str, elements: int, seed: int) -> Iterator[Spec]:
    """The call with about `elements` in its largest tensor, of arguments or results, the most wanted first.

    `base` elements has the result, and `grown` with all groups `GROWS` times as large.
    """
    every = leaves(spec)
    first = next((i for i, x in enumerate(every) if isinstance(x, dict)), -1)
    batch = next((g for g in found if (first, 0) in g), set())
    if size == "batch 1" and (not batch or len(every[first]["shape"]) < 2 or len(found) < 2):
        raise Void("no batch")
    moving = [g for g in found if g is not batch] if size == "batch 1" else [found[seed % len(found)]] if size == "long" else found
    power = math.log(max(grown, 1) / max(base, 1), GROWS) if size not in ("long", "batch 1") else 0.0

    def sizes(factor: float, odd: bool) -> dict[Place, int]:
        chosen = {p: 1 for p in batch} if size == "batch 1" else {}
        for g in moving:
            for p in g:
                n = every[p[0]]["shape"][p[1]] if p[1] >= 0 else every[p[0]]
                chosen[p] = max(1, round(n * factor)) | 1 if odd else n * max(1, round(factor))
        return chosen

    def largest(factor: float) -> float:
        return max([math.prod(x["shape"]) for x in arrays(resized(spec, sizes(factor, False)))] + [base * factor**power])

    low, high = 1.0, float(elements)
    for _ in range(40):
        middle = math.sqrt(low * high)
        low, high = (middle, high) if largest(middle) < elements else (low, middle)
    for odd in (True, False) if size == "odd" else (False,):
        yield from spread(resized(spec, sizes(high, odd)), spec)


def seconds(function: Callable[[], Any]) -> float:
    """What a call takes, the better of two where it is quick."""
    found = math.inf
    for _ in range(2):
        started = time.process_time()
        function()
        found = min(found, time.process_time() - started)
        if found > LIMIT:
            break
    return found


def fitted(torch: Any, path: str, spec: Spec, dtype: str, size: str, layout: str, mode: str, seed: int) -> Spec:
    """The arguments of an entry, as large as it says, or as large as LIMIT lets them be; Void where torch has no such call."""
    def laid(s: Spec) -> Spec:  # the second operand is a column
        second = [i for i, x in enumerate(leaves(s)) if isinstance(x, dict)][1:2]
        return resized(s, {(i, len(leaves(s)[i]["shape"]) - 1): 1 for i in second}) if layout == "broadcast" else s

    plain = all(not x["array"].startswith(("float", "complex")) for x in arrays(spec)) or dtype == "bool"

    def count(s: Spec, dtype: str = "int64" if plain else "float64") -> int | None:
        try:
            return sum([t.numel() for t in tensors(torch, call(torch, path, s, dtype, "rows", "forward")())])
        except Exception:  # whatever torch says: it is not this call
            return None

    if size == "tiny":
        return laid(spec)
    key = path, json.dumps(spec), plain
    if key not in GROUPS:
        GROUPS[key] = groups(count, spec)
    found = GROUPS[key]
    if not found:
        raise Void("does not grow")
    sized = {p: GROWS * (x["shape"][p[1]] if p[1] >= 0 else x) for g in found for p in g for x in [leaves(spec)[p[0]]]}
    base, grown = count(spec) or 0, count(resized(spec, sized)) or 0
    best, times, why = None, [0.0], "does not grow"
    elements = 1000
    while elements <= SIZES[size]:
        for plan in planned(spec, found, base, grown, size, elements, seed):
            plan = laid(plan)
            if path in UNCHECKED and any("high" in x for x in arrays(plan)):
                continue
            try:
                function = call(torch, path, plan, dtype, layout, mode)
                results = sum([t.numel() for t in tensors(torch, function())])
                if best is not None and results > STEP * elements:  # of an outer product, or a diagonal
                    return best
                times.append(seconds(function))
            except Void:
                raise
            except Exception as error:  # this size is none; a smaller one may be
                why = f"torch: {type(error).__name__}: {error}"
                continue
            best = plan
            break
        else:
            break
        growth = max(times[-1] / times[-2], STEP) if times[-2] > 1e-5 else STEP
        if times[-1] * growth > LIMIT:
            break
        elements *= STEP
    if best is None:
        raise Void(why)
    return best
