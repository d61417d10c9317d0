"""Random calls: arguments of the operation records' own samples and of torch's operator database, changed at random.

A case is one call in one mode. Its arguments begin as somebody's sample; then sizes, dtype, layout and values are drawn anew, from
the name and number of the case alone, so that any case can be run again. Cases of a source such as `whole.float64` are all samples
that the database has of a dtype, as they stand, in all modes, its erroneous ones (`whole.errors`), and for each entry a call whose
tensors are given other dtypes one at a time (`whole.mixed`).
"""

from __future__ import annotations

import math
import random
import warnings
from collections.abc import Callable, Iterator
from functools import cache
from itertools import count, zip_longest
from types import CellType, FunctionType
from typing import Any

from dataclasses import dataclass, replace
import ml_dtypes  # noqa: F401  # NumPy's name for bfloat16
import numpy as np

from autograd_tape.dtypes import DType
from autograd_tape.ops import ALIASES, RECORDS, Sample
from tests.sources import codes

MODES = ("forward", "backward", "double backward", "forward mode", "vmap", "out", "in-place", "meta")
FLOATS = ("float32", "float64", "bfloat16", "float16", "complex64", "complex128")
OTHERS = ("float64", "float16", "bfloat16", "int64", "complex64", "bool")
"""Dtypes that one argument is given where the others keep theirs."""
WHOLE = ("int64", "int32", "uint8", "bool", "int8", "int16")
SIZES = (0, 1, 2, 3, 5, 8, 17)
THRESHOLDS = (32, 8192, 32768, 262144)
BROADCAST = 4 << 20
"""Elements of the largest result by broadcasting: that of a column and a row, both around a threshold, has a thousand times more."""
PLACES = ("", "nn.functional.", "linalg.", "special.", "Tensor.")
ORDERING = ("sort", "msort", "argsort", "topk", "kthvalue", "mode", "median", "nanmedian")
"""Operations whose indices, and so gradients, are torch's own choice where numbers are equal."""
BOUNDARIES = {"searchsorted": 0, "bucketize": 1}
"""Which argument is taken to be in order."""
EXTREMES = (math.nan, math.inf, -math.inf, 0.0, -0.0, 1e-40, 3e38, -1.0, 1e4)


@dataclass(frozen=True, slots=True)
class Array:
    """A tensor to be made on both sides."""

    values: np.ndarray
    layout: str = "rows"
    grad: bool = False

    def memory(self) -> tuple[np.ndarray, tuple[int, ...], int]:
        """(flat memory, strides in elements, offset) of the values in their layout."""
        v, n = self.values, self.values.ndim
        if not n:  # NumPy would make one dimension of none
            return v.reshape(1), (), 0
        if self.layout == "expanded" and n and v.shape[0] > 1:
            one = np.ascontiguousarray(v[:1])
            return one.reshape(-1), (0, *[s // v.itemsize for s in one.strides[1:]]), 0
        if self.layout == "columns" and n > 1:
            flat = np.ascontiguousarray(v.T)
            return flat.reshape(-1), tuple([s // v.itemsize for s in flat.T.strides]), 0
        if self.layout == "sparse" and n:
            wide = np.zeros((*v.shape[:-1], 2 * v.shape[-1]), v.dtype)
            wide[..., ::2] = v
            return wide.reshape(-1), (*[s // v.itemsize for s in wide.strides[:-1]], 2), 0
        if self.layout == "inside":
            flat = np.zeros(v.size + 3, v.dtype)
            flat[3:] = v.reshape(-1)
            return flat, tuple([s // v.itemsize for s in np.ascontiguousarray(v).strides]), 3
        rows = np.ascontiguousarray(v)
        return rows.reshape(-1), tuple([s // v.itemsize for s in rows.strides]), 0


@dataclass(frozen=True, slots=True)
class Stored(Array):
    """A tensor as it lies in somebody's memory: (flat memory, strides in elements, offset)."""

    lies: Any = None

    def memory(self) -> tuple[np.ndarray, tuple[int, ...], int]:
        return self.lies  # type: ignore[no-any-return]


@dataclass(frozen=True, slots=True)
class Case:
    """One call: the function's path in torch's namespace, its arguments, and what is done with it."""

    path: str
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    mode: str
    seed: int
    name: str = ""
    process: Callable[[Any], Any] | None = None
    """What the database makes of results before it differentiates them: what is left of vectors that are unique up to a phase."""

    def __str__(self) -> str:
        def show(x: Any) -> str:
            if isinstance(x, Array):
                return f"{x.values.dtype.name}{list(x.values.shape)}" + (f":{x.layout}" if x.layout != "rows" else "")
            if isinstance(x, (tuple, list)):
                return "(" + ", ".join(map(show, x)) + ")"
            return repr(x)

        words = [*map(show, self.args), *[f"{k}={show(v)}" for k, v in self.kwargs.items()]]
        return f"{self.path}({', '.join(words)}) [{self.mode}] {self.name}"


def tree(function: Callable[[Any], Any], value: Any, kind: type | tuple[type, ...]) -> Any:
    """`function` on everything of a kind within tuples, lists and dicts."""
    if isinstance(value, kind):
        return function(value)
    if isinstance(value, dict):
        return {k: tree(function, v, kind) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)([tree(function, v, kind) for v in value])
    return value


def leaves(value: Any, kind: type | tuple[type, ...] = Array) -> list[Any]:
    """Everything of a kind within a value, in order."""
    found: list[Any] = []
    tree(found.append, value, kind)
    return found


def lookup(torch: Any, path: str) -> Any:
    """`torch.nn.functional.relu`, or None."""
    for part in path.split("."):
        torch = getattr(torch, part, None)
    return torch


# -- where samples come from ----------------------------------------------------------------------------------------


@cache
def record_samples(name: str) -> tuple[str, list[tuple[tuple[Any, ...], dict[str, Any]]]]:
    """(path, samples) of a record; an empty path where torch has no such function in the same place."""
    import torch

    import torchcompat

    rec = RECORDS[name]
    names = [name, *[alias for alias, of in ALIASES.items() if of == name]]
    paths = [place + n for n in names for place in PLACES if None not in (lookup(torch, place + n), lookup(torchcompat, place + n))]
    path = paths[0] if paths and rec.namespace != "_internal" else ""
    return path, plain_samples(name) if path else []


def plain_samples(name: str) -> list[tuple[tuple[Any, ...], dict[str, Any]]]:
    """A record's samples as they stand, (args, kwargs) with `Array`s for arrays."""
    rec, found = RECORDS[name], []
    for sample in rec.field("samples")(np.random.default_rng(7)):
        sample = sample if isinstance(sample, Sample) else Sample(tuple(sample))
        plain = rec.field("function") is None and rec.field("make") is None
        args, kwargs = list(sample.args), dict(sample.kwargs)
        if plain:
            kwargs |= {p.name: v for p, v in zip(rec.params, args) if p.keyword_only}
            args = [v for p, v in zip(rec.params, args) if not p.keyword_only]
        found.append(tree(lambda x: Array(np.asarray(x)), (tuple(args), kwargs), (np.ndarray, np.generic)))
    return found


@cache
def database() -> dict[str, Any]:
    """torch's operator database by name, those entries that both sides have."""
    from tests.oracle.oracle_operations import ADAPTERS, Missing, resolve
    from torch.testing._internal.common_methods_invocations import op_db

    import torchcompat

    found = {}
    for info in op_db:
        full = f"{info.name}.{info.variant_test_name}" if info.variant_test_name else info.name
        try:
            resolve(torchcompat, full)
        except Missing:
            continue
        if full not in ADAPTERS and info.name not in ADAPTERS:
            found[full] = info
    return found


@cache
def database_samples(name: str, dtype: str) -> list[tuple[tuple[Any, ...], dict[str, Any]]]:
    """The database's samples of one entry."""
    import torch

    def array(t: torch.Tensor) -> Array:
        t = t.detach().resolve_conj().resolve_neg()
        if t.layout is not torch.strided or t.numel() > 20000:
            raise ValueError
        return Array(t.view(torch.int16).numpy().view("bfloat16") if t.dtype is torch.bfloat16 else t.numpy().copy())

    found = []
    torch.manual_seed(0), random.seed(0), np.random.seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            for i, s in enumerate(database()[name].sample_inputs("cpu", getattr(torch, dtype), requires_grad=False)):
                if i > 60:
                    break
                try:
                    found.append(tree(array, ((s.input, *s.args), dict(s.kwargs)), torch.Tensor))
                except (ValueError, TypeError):  # sparse, huge, or a dtype without a NumPy one
                    continue
        except Exception:  # the database cannot make samples of this dtype
            return []
    return found


# -- all samples of the database ------------------------------------------------------------------------------------


@cache
def whole() -> dict[str, Any]:
    """torch's operator database by full name, without what is only compiled for other devices."""
    from torch.testing._internal.common_methods_invocations import op_db

    return {f"{info.name}.{info.variant_test_name}" if info.variant_test_name else info.name: info for info in op_db
            if info.supported_dtypes("cpu") and not info.name.startswith("jiterator")}


def stored(t: Any, grad: bool) -> Stored:
    """A tensor of torch as an argument; raises ValueError for what NumPy has no array of."""
    import torch

    if t.layout is not torch.strided or t.numel() > 1 << 21 or t.device.type != "cpu":
        raise ValueError("no array")
    grad = grad and t.requires_grad
    t = t.detach().resolve_conj().resolve_neg()
    if t.dtype is torch.bfloat16:
        t = t.view(torch.int16)
        flat = torch.as_strided(t, (t.untyped_storage().nbytes() // 2,), (1,), 0).numpy().copy().view("bfloat16")
    else:
        try:
            flat = torch.as_strided(t, (t.untyped_storage().nbytes() // t.itemsize,), (1,), 0).numpy().copy()
        except TypeError:
            raise ValueError("no array") from None
    place = flat[t.storage_offset():]
    values = np.lib.stride_tricks.as_strided(place, tuple(t.shape), [s * flat.itemsize for s in t.stride()])
    return Stored(values, "stored", grad, (flat, tuple(t.stride()), t.storage_offset()))


def whole_cases(dtype: str, name: str) -> Iterator[Case]:
    """All cases of one entry of the database in a dtype, or its erroneous calls."""
    import torch

    if dtype == "mixed":
        yield from mixed_cases(name)
        return
    info, number = whole()[name], 0
    modes = ["forward"]
    if dtype == "errors":
        modes = ["errors"]
    elif (of := getattr(torch, dtype)) not in info.supported_dtypes("cpu"):
        return
    elif of in info.supported_backward_dtypes("cpu"):
        modes += ["backward"] * info.supports_autograd + ["double backward"] * info.supports_gradgrad
        modes += ["forward mode"] * info.supports_forward_ad
    torch.manual_seed(0), random.seed(0), np.random.seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if dtype != "errors":
            samples: Any = info.sample_inputs("cpu", of, requires_grad=len(modes) > 1)
        else:
            samples = [error.sample_input for error in info.error_inputs("cpu")] if info.error_inputs_func else []
        for sample in samples:
            for mode in modes:
                number += 1
                grad = mode not in ("forward", "errors")
                try:
                    value = tree(lambda t, grad=grad: stored(t, grad), ((sample.input, *sample.args), dict(sample.kwargs)), torch.Tensor)
                except ValueError:
                    continue
                process = sample.output_process_fn_grad
                same = process.__code__.co_code == (lambda x: x).__code__.co_code
                yield Case(name, *value, mode, number, f"whole.{dtype}/{name}/{number}", None if same else process)


def mixed_cases(name: str) -> Iterator[Case]:
    """An entry's first sample (float32) of two tensors or more, with another dtype for one of them: each of them in turn, each dtype."""
    import torch

    info = whole()[name]
    if torch.float32 not in info.supported_dtypes("cpu"):
        return
    torch.manual_seed(0), random.seed(0), np.random.seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for sample in info.sample_inputs("cpu", torch.float32, requires_grad=False):
            value = ((sample.input, *sample.args), dict(sample.kwargs))
            if len(leaves(value, torch.Tensor)) < 2:
                continue
            try:
                value = tree(lambda t: stored(t, False), value, torch.Tensor)
            except ValueError:
                continue
            break
        else:
            return
    number = 0
    for i, argument in enumerate(leaves(value)):
        for dtype in OTHERS:
            if argument.values.dtype.name == dtype:
                continue
            number += 1
            with np.errstate(all="ignore"):
                other = Array(argument.values.astype(dtype))
            args, kwargs = tree(lambda a, i=i, at=count(), other=other: other if next(at) == i else a, value, Array)
            yield Case(name, args, kwargs, "mixed", number, f"whole.mixed/{name}/{number}")


def rebound(function: Any, torch: Any) -> Any:
    """A Python function of torch's tests with another torch, so that it calls that one's functions."""
    import torch as real

    if torch is real or not isinstance(function, FunctionType):
        return function
    used, names = dict(function.__globals__), {n for code in codes(function.__code__) for n in code.co_names}
    for n in names & set(used):
        if used[n] is real:
            used[n] = torch
        elif getattr(used[n], "__module__", "").startswith("torch.testing") and used[n] is not function:
            used[n] = rebound(used[n], torch)
        elif getattr(used[n], "__name__", "") == "torch.nn.functional":
            used[n] = torch.nn.functional
    closure = tuple([CellType(rebound(c.cell_contents, torch)) for c in function.__closure__ or ()])
    again = FunctionType(function.__code__, used, function.__name__, function.__defaults__, closure)
    again.__kwdefaults__ = function.__kwdefaults__
    return again


# -- how they are changed -------------------------------------------------------------------------------------------


def resized(rng: random.Random, value: Any) -> Any:
    """The same call with other sizes: equal sizes stay equal, so most calls stay sensible."""
    arrays = leaves(value)
    sizes = sorted({n for a in arrays for n in a.values.shape if n > 1})
    if not sizes or rng.random() < 0.4:
        return value
    new = {n: rng.choice(SIZES) if rng.random() < 0.7 else n for n in sizes}
    total = max(math.prod([new.get(n, n) for n in a.values.shape]) for a in arrays)
    if rng.random() < 0.2 and total:  # one dimension grows until the largest array is around a threshold
        grown = rng.choice(sizes)
        limit = rng.choice(THRESHOLDS[:3] if rng.random() < 0.85 else THRESHOLDS)
        new[grown] = max(1, new[grown] * limit // total + rng.choice((-1, 0, 1)))
    shapes = [[new.get(n, n) for n in a.values.shape] for a in arrays]
    together = math.prod([max(sizes) for sizes in zip_longest(*[shape[::-1] for shape in shapes], fillvalue=1)])
    if together > BROADCAST:
        return value

    def other(a: Array) -> Array:
        shape = [new.get(n, n) for n in a.values.shape]
        if math.prod(shape) > 600000:
            return a
        if not a.values.size:
            return replace(a, values=np.zeros(shape, a.values.dtype))
        values = np.resize(a.values, shape)
        if values.size > a.values.size and values.dtype.kind in "fc":  # no matrices without full rank, and few equal numbers
            with np.errstate(all="ignore"):
                values = (values * np.random.default_rng(values.size).uniform(0.9, 1, shape)).astype(values.dtype)
        return replace(a, values=values)

    return tree(other, value, Array)


def unequal(path: str, value: Any) -> Any:
    """Arguments whose result torch specifies: numbers to be ordered are all different, boundaries are in order."""
    name = path.split(".")[-1]
    args, kwargs = value
    arrays = [i for i, a in enumerate(args) if isinstance(a, Array)]
    if path.startswith(ORDERING) and arrays and args[0].values.dtype.kind in "fc":
        own = args[0].values
        ranks = np.random.default_rng(own.size).permutation(own.size).reshape(own.shape)
        args = (replace(args[0], values=((ranks - own.size // 2) / 8).astype(own.dtype)), *args[1:])
    elif name in BOUNDARIES and len(arrays) > 1 and "sorter" not in kwargs:
        i = BOUNDARIES[name]
        ordered = args[i].values if args[i].values.dtype.kind == "c" or not args[i].values.ndim else np.sort(args[i].values, -1)
        args = (*args[:i], replace(args[i], values=ordered), *args[i + 1:])
    return args, kwargs


def in_dtype(dtype: str, value: Any) -> Any:
    """The floating-point arrays in another dtype."""
    np_dtype = DType.by_name[dtype].np

    def other(a: Array) -> Array:
        if a.values.dtype.kind not in "fc":
            return a
        with np.errstate(all="ignore"):
            values = a.values
            if np_dtype.kind == "c" and values.dtype.kind == "f":
                values = values + 1j * np.roll(values, 1)
            elif np_dtype.kind != "c" and values.dtype.kind == "c":
                values = values.real
            if dtype in WHOLE:
                values = np.round(3 * values)
            return replace(a, values=np.asarray(values).astype(np_dtype))

    return tree(other, value, Array)


def laid_out(rng: random.Random, value: Any) -> Any:
    """Arrays in random layouts, and now and then with extreme values."""
    def other(a: Array) -> Array:
        layout = rng.choice(("rows", "rows", "columns", "columns", "sparse", "inside", "expanded"))
        values = a.values
        if layout == "expanded" and values.ndim and values.shape[0] > 1:
            values = np.broadcast_to(values[:1], values.shape)
        if values.dtype.kind in "fc" or values.dtype.name == "bfloat16":
            if rng.random() < 0.06 and values.size and layout != "expanded":
                values = np.array(values)
                with np.errstate(all="ignore"):
                    for _ in range(3):
                        values.reshape(-1)[rng.randrange(values.size)] = rng.choice(EXTREMES)
        return replace(a, values=values, layout=layout)

    return tree(other, value, Array)


def names(source: str) -> list[str]:
    """What there are cases of."""
    if source.startswith("whole."):
        return sorted(whole())
    return sorted(n for n in RECORDS if RECORDS[n].field("samples") and record_samples(n)[0]) if source == "records" else sorted(database())


def cases(source: str, name: str, numbers: range) -> Iterator[Case]:
    """Cases of one operation, by their numbers."""
    if source.startswith("whole."):
        yield from [c for c in whole_cases(source[6:], name) if not numbers or c.seed in numbers]
        return
    for number in numbers:
        rng = random.Random(f"{source}/{name}/{number}")
        dtype = rng.choice(("float32",) * 4 + FLOATS + (WHOLE if rng.random() < 0.3 else ()))
        if source == "records":
            path, samples = record_samples(name)
        else:
            path, samples = name, database_samples(name, dtype)
        if not samples:
            continue
        value = rng.choice(samples)
        value = resized(rng, value)
        if source == "records":
            value = in_dtype(dtype, value)
        value = laid_out(rng, unequal(path, value))
        mode = rng.choice(MODES)
        if mode in ("backward", "double backward", "forward mode"):
            value = tree(lambda a: replace(a, grad=(a.values.dtype.kind in "fc" or a.values.dtype.name == "bfloat16")
                                                and rng.random() < 0.85), value, Array)
        yield Case(path, *value, mode, number, f"{source}/{name}/{number}")
