"""Every compiled loop, run as Python over arrays that refuse what compiled code would do outside of them.

For each kernel: random arguments that its line of sizes admits, of which none may lead outside; the same with one array longer
or shorter or one number changed, which are refused or stay inside; and indices from anywhere, which are reported.
"""

from __future__ import annotations

import functools
import importlib
import itertools
import math
import re
import types
import zlib
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from autograd_tape.executors.kernels import _entry, _on_demand, _kernel

if _on_demand.available():
    from autograd_tape.executors.kernels.compiled.simd import MANY

pytestmark = pytest.mark.skipif(not _on_demand.available(), reason="Numba is not installed: there are no compiled kernels")
#: Admitted calls that each kernel is run with; fewer where the loops are long.
CALLS = 30
FEWER = {"folds.fold": 10, "fourier.transform": 12, "random.normal_f32": 3, "random.stream": 4, "drawn.normals": 20,
         "conv.depthwise_dw": 12, "conv.depthwise_rows_dw": 15}


class Outside(Exception):
    """An element that is not there."""


class Guarded(np.ndarray):
    """An array that takes no index from its end, and none outside of it."""

    def _check(self, key: Any) -> None:
        for k, size in zip(key if isinstance(key, tuple) else (key,), self.shape, strict=False):
            if not isinstance(k, slice) and not 0 <= int(k) < size:
                raise Outside(f"element {int(k)} of {size}")

    def __getitem__(self, key: Any) -> Any:
        self._check(key)
        return super().__getitem__(key)

    def __setitem__(self, key: Any, value: Any) -> None:
        self._check(key)
        super().__setitem__(key, value)


def guarded(array: np.ndarray) -> Guarded:
    return array.view(Guarded)


def _lanes(array: np.ndarray, at: int) -> slice:
    if not 0 <= at <= array.size - 8:
        raise Outside(f"vector at {at} of {array.size}")
    return slice(int(at), int(at) + 8)


def _store(array: np.ndarray, at: int, vector: np.ndarray) -> None:
    array[_lanes(array, at)] = vector


def _turn(source, at, pitch, rows, target, to, step, columns):
    """What compiled code does with eight vectors (see ``simd.turn``)."""
    vectors = [np.array(source[_lanes(source, at + min(j, rows - 1) * pitch)]) for j in range(8)]
    for j, column in reversed([*enumerate(np.stack(vectors, 1))]):
        target[_lanes(target, to + min(j, columns - 1) * step)] = column


def _tile(rows, width, planes, shifts, first, last, at, weights, places, base, step, here, results, target, pitch, more):
    """What compiled code does with a tile (see ``simd.tile``), vector by vector."""
    for j in range(rows):
        for v in range(0, 8 * width, 8):
            spot = _lanes(results, target + j * pitch + v)
            total = np.array(results[spot]) if more else np.zeros(8)
            for k in range(first, last):
                total = total + weights[base + min(j, here - 1) * step + places[k]] * planes[_lanes(planes, at + shifts[k] + v)]
            results[spot] = total


def _dots(rows, width, left, at, pitch, right, spots, shifts, k, first, last, results, target, step):
    """The same of ``simd.dots``."""
    lanes = 16 if MANY and left.itemsize == 4 else 8
    for j, i, p, part in itertools.product(range(rows), range(width), range(first, last), range(0, lanes, 8)):
        product = left[_lanes(left, at + j * pitch + lanes * p + part)] * right[_lanes(right, spots[p] + shifts[k + i] + part)]
        results[target + j * step + i] += np.sum(product)


class _Math:
    """Mathematics that answers as C does."""

    def __getattr__(self, name: str) -> Any:
        found = getattr(math, name)

        def function(*x: Any) -> Any:
            try:
                return found(*x)
            except (ValueError, OverflowError):
                return math.nan

        return function if callable(found) and name != "copysign" else found


def _term(numbers: Any, term: int) -> Any:
    """What is added up of numbers (see ``folds.eight``)."""
    if term == 3:
        return np.where(numbers == numbers, numbers, 0)
    return np.abs(numbers) if term == 1 else numbers * numbers if term == 2 else numbers


#: What compiled code does with vectors and atoms, in Python.
INTRINSICS = {
    "load": lambda array, at: np.array(array[_lanes(array, at)]),
    "store": _store,
    "spread": lambda number: np.full(8, number),
    "multiply_add": lambda a, b, c: a * b + c,
    "tile": _tile,
    "dots": _dots,
    "turn": _turn,
    "borrowed": lambda array: array,
    "alternating": lambda a, b, half: np.stack([a, b], 1).reshape(-1)[8 * half:8 * half + 8],
    "every_other": lambda a, b, first: np.concatenate([a, b])[first::2],
    "gathered": lambda array, at, places, first, step: np.array([array[at + place] for place in places[_lanes(places, first)]]),
    "beyond": lambda a, b: (a > b) | (a != a),
    "choose": np.where,
    "moved_by": lambda vector, number: vector + number,
    "lane": lambda vector, i: vector[i],
    "sum_of": np.sum,
    "fma": lambda a, b, c: a * b + c,
    "eight": lambda array, at, term: _term(np.array(array[_lanes(array, at)]), term),
    "one": lambda array, at, term: np.float32(_term(array[at], term)),
    "plus": lambda a, b: a + b,
    "times": lambda array, a, b: a * b,
    "halved": np.sum,
    "put": _store,
    "lesser": lambda a, b: np.where(a < b, a, b),
    "larger": lambda a, b: np.where(a > b, a, b),
    "missing": lambda a, b: (a != a) | (b != b),
    "either": np.logical_or,
    "least_of": np.min,
    "largest_of": np.max,
    "any_of": np.any,
    "_load": lambda cells, at: cells[at],
    "_store": lambda cells, at, value: cells.__setitem__(at, value),
    "_add": lambda cells, at, value: cells[at],
    "_swap": lambda cells, at, value: cells[at],
    "_pause": lambda: None,
    "_offer": lambda address: None,
    "_PATIENCE": 3,
    "math": _Math(),
}


class _NumPy:
    """NumPy whose new arrays are guarded, too."""

    def __getattr__(self, name: str) -> Any:
        found = getattr(np, name)
        return (lambda *args, **kwargs: guarded(found(*args, **kwargs))) if name in ("empty", "zeros") else found


def _doubled(namespace: dict[str, Any]) -> dict[str, Any]:
    """A module's names, with doubles of what Python cannot run."""
    return {**namespace, **{name: double for name, double in INTRINSICS.items()  # and not a number that a module calls by the same name
                            if name in namespace and callable(namespace[name]) == callable(double)}}


def interpreted(kernel: Any) -> Any:
    """The kernel's loop as Python, with guarded scratch arrays."""
    module = importlib.import_module(kernel.function.__module__)
    namespace = {**vars(module), "np": _NumPy()}
    for name, value in list(namespace.items()):
        if isinstance(value, types.FunctionType) and value.__module__.startswith(module.__package__) and not name.startswith("__"):
            own = namespace if value.__module__ == module.__name__ else _doubled(vars(importlib.import_module(value.__module__)))
            namespace[name] = types.FunctionType(value.__code__, own, name, value.__defaults__, value.__closure__)
    namespace.update(_doubled(namespace))
    return types.FunctionType(kernel.function.__code__, namespace, kernel.name, None, kernel.function.__closure__)


def checked(kernel: Any) -> Any:
    """The check before the loop, as the very source that is compiled, and then the loop."""
    loop = interpreted(kernel)

    def body(*arguments: Any) -> Any:
        try:
            return loop(*arguments)
        except ZeroDivisionError:  # compiled, an infinity
            return True

    namespace: dict[str, Any] = {"body": body}
    exec(kernel.spec.checked(), namespace)

    def call(*arguments: Any) -> None:
        found = namespace["checked"](*arguments)
        if found != _entry.FITS:
            raise {_entry.MISFIT: ValueError("they do not fit"), _entry.INDEX: IndexError("out of range")}[found]

    return call


_LETTERS = {"q": np.int64, "x": np.int64, "t": np.int32, "b": np.bool_, "u": np.uint32, "n": np.uint64, "e": np.float32, "d": np.float64}
#: Sizes and numbers to choose from where the usual ones would hardly ever fit together.
_WIDE = {"v": (8, 12), "ow": (8, 11), "oh": (1, 3), "h": (1, 5), "kh": (1, 3), "kw": (1, 4), "multiplier": (1, 2), "a": (1, 4), "f": (1, 4),
         "sh": (1, 2), "sw": (1, 2)}
_STRIDED = {**_WIDE, "v": (1, 8), "ow": (1, 4), "sh": (1, 2), "sw": (1, 2), "ph": (0, 2), "pw": (0, 2)}
_DIRECT = {"groups": (1, 2), "c": (1, 4), "o": (1, 5), "deep": (1, 3), "high": (1, 6), "wide": (3, 20), "sd": (1, 2), "sh": (1, 2),
           "sw": (1, 2), "pd": (0, 1), "ph": (0, 1), "pw": (0, 1), "d": (1, 2), "h": (1, 4), "v": (1, 18), "oz": (1, 2), "oh": (1, 3),
           "ow": (1, 10), "n": (1, 2), "t": (1, 5), "p": (1, 2), "tz": (1, 2), "th": (1, 2), "tw": (1, 2), "az": (0, 1), "ah": (0, 1),
           "aw": (0, 1), "yd": (2, 4), "yh": (3, 6), "yw": (8, 20), "parts": (1, 2), "pieces": (1, 2), "beside": (0, 3), "step": (0, 3)}
RANGES: dict[str, dict[str, tuple[int, int]]] = {
    "arithmetic.gather": {"span": (1, 60), "size": (0, 24), "n1": (1, 2), "n2": (1, 3), "n3": (1, 4), "s0": (0, 9), "s1": (0, 9),
                          "s2": (0, 9), "s3": (0, 2)},
    "conv.depthwise_rows": _WIDE, "conv.depthwise_rows_dw": {**_WIDE, "n": (0, 2)}, "conv.depthwise": _STRIDED,
    "conv.depthwise_dx": _STRIDED, "conv.depthwise_dw": {**_STRIDED, "n": (0, 2)},
    "conv.im2col_wide": {**_STRIDED, "size": (1, 300), "by_sample": (0, 40), "by_row": (0, 20), "oh": (1, 4)},
    "conv.col2im_wide": {**_STRIDED, "size": (1, 300), "by_sample": (0, 40), "by_row": (0, 20), "oh": (1, 4)},
    "direct.convolve": _DIRECT, "direct.weight_grad": _DIRECT, "random.stream": {"n": (0, 1900), "left": (0, 624)},
    "random.box_muller_f64": {"n": (0, 64)}, "ends.whole": {"n": (1, 60)},
    "folds.fold": {"outer": (0, 2), "n": (0, 300), "inner": (0, 40), "per_block": (1, 300), "term": (0, 4), "last": (-1, 3)},
    "folds.fold_products": {"outer": (0, 2), "n": (1, 40), "inner": (0, 20), "per_block": (1, 40), "nb": (1, 200), "z0": (0, 20),
                            "z1": (0, 9), "z2": (0, 2)},
    "folds.dot_rows": {"n": (0, 4), "m": (0, 9), "a": (0, 9), "b": (0, 9), "na": (0, 50), "nb": (0, 50)},
    "fourier.transform": {"o": (0, 3), "m": (1, 12), "n": (1, 9), "have": (1, 18), "give": (1, 18), "lines": (1, 20), "big": (0, 60),
                          "small": (1, 30), "along": (1, 9), "given": (1, 9), "size": (0, 600), "of": (1, 12)},
    "transposed.transpose": {"o": (1, 3), "n": (1, 70), "m": (1, 70)},
    "transposed.packed": {"n1": (1, 3), "n2": (1, 12), "n3": (1, 9), "s1": (0, 40), "s2": (0, 12), "span": (1, 120)},
    "sampling.grid_sampled": {"n": (1, 3), "c": (1, 9), "l": (1, 9), "s": (2, 3), "total": (100, 400), "taps": (1, 4), "depth": (1, 4),
                              "height": (1, 4), "width": (1, 4), "sn": (0, 40), "sc": (0, 3), "sd": (0, 20), "sh": (0, 9), "sw": (0, 9),
                              "block": (1, 9), "blocks": (1, 4), "padding": (0, 2), "align": (0, 1)},
    "matrices.cross": {"n1": (1, 2), "n2": (1, 2), "na": (4, 20), "nb": (4, 20),
                       **dict.fromkeys(("a1", "a", "a2", "b1", "b", "b2"), (0, 2))},
    "products.multiply": {**dict.fromkeys(("na", "nb", "nc"), (4, 20)), **dict.fromkeys("bmkp", (1, 2)),
                          **dict.fromkeys(("a1", "a2", "a3", "b1", "b2", "b3", "c1", "c2", "c3"), (0, 2))},
    "embedding.put_lying": {"n": (1, 9), "k": (0, 2), "d": (0, 2), "one": (1, 1)},
    "moved.write_where": {"n": (1, 9), "k": (1, 9), "v": (1, 3), "d": (0, 2), "one": (1, 1)},
    "random.shuffle": {"m": (0, 9), "n": (0, 9)}, "random.uniform_f64": {"n": (0, 4)},
    "drawn.normals": {"n": (16, 17), "m": (16, 33)}, "drawn.choices": {"rows": (0, 3), "n": (1, 4), "count": (0, 3)},
    **dict.fromkeys(("in_place.tested", "in_place.combined"), {
        "op": (0, 9), "n1": (1, 2), "n2": (1, 9), "n3": (1, 9), "z3": (0, 1), "nz": (1, 20)}),
    "arithmetic.triples_of_lines": {
        "n1": (1, 2), "n2": (1, 3), "n3": (1, 5), "x3": (1, 1), **dict.fromkeys(("x1", "x2", "a1", "a2", "b1", "b2"), (0, 6)),
        "a3": (0, 1), "b3": (0, 1), **dict.fromkeys(("nx", "na", "nb"), (1, 30))},
    "in_place.by_two": {"op": (0, 4), "n1": (1, 2), "n2": (1, 3), "n3": (1, 4), **dict.fromkeys(("a3", "b3"), (0, 2)),
                        **dict.fromkeys(("na", "nb"), (1, 20)), **dict.fromkeys(("a1", "a2", "b1", "b2"), (0, 3))},
    "pairs": {"n1": (1, 2), "n2": (1, 3), "n3": (1, 4), "x3": (0, 1), "z3": (0, 1), "nx": (1, 20), "nz": (1, 20)},
}  # fmt: skip


@functools.cache
def _code(expression: str) -> types.CodeType:
    """An expression of a line of sizes; most plans that are drawn are not admitted, so each is evaluated thousands of times."""
    return compile(expression, "<size>", "eval")


def _told(spec: Any) -> list[tuple[str, str]]:
    """Numbers that a condition tells, as ``(row==n*classes)``: others drawn would hardly ever fit."""
    found = [re.fullmatch(r"\((\w+)==([\w+*()]+)\)", condition) for condition in spec.conditions]
    return [(match[1], match[2]) for match in found if match is not None and match[1] in spec.parameters]


class Caller:
    """Makes arguments for a kernel."""

    def __init__(self, kernel: Any) -> None:
        self.kernel, self.spec = kernel, kernel.spec
        self.rng = np.random.default_rng(zlib.crc32(kernel.name.encode()))
        self.ranges = RANGES.get(kernel.name) or RANGES.get(kernel.name.partition(".")[0], {})
        self.given = {name for name, _, _ in self.spec.arrays}

    def number(self, name: str, low: int = 0, high: int = 6) -> int:
        low, high = self.ranges.get(name, (low, high))
        if name == "n" and self.kernel.name == "random.box_muller_f64":
            return int(self.rng.integers(0, 4)) * 16
        return int(self.rng.integers(low, high + 1))

    def plan(self) -> dict[str, Any] | None:
        """Sizes and numbers that the line of sizes admits; None if those drawn do not."""
        env: dict[str, Any] = {}
        for name, (letter, _) in zip(self.spec.parameters, self.spec.kinds, strict=True):
            if letter == "i" and name not in ("start", "stop"):
                env[name] = self.number(name, -1, 5)
            elif letter == "s":
                env[name] = float(self.rng.choice([0.0, 0.5, 2.0]))
        for _, dims, optional in self.spec.arrays:
            for dim in dims:
                if dim.isidentifier() and dim != "_" and dim not in env and not optional:
                    env[dim] = self.number(dim)
        for name, expression in _told(self.spec):
            env[name] = eval(_code(expression), {}, env)
        env["empty"] = {name: optional and self.rng.random() < 0.3 for name, _, optional in self.spec.arrays}
        shapes: dict[str, tuple[int, ...]] = {}
        try:
            for name, dims, _ in self.spec.arrays:
                sizes = []
                for dim in dims:
                    low = eval(_code(dim[2:]), {}, env) if dim.startswith(">=") else 0
                    drawn = dim == "_" or dim.startswith(">=")
                    sizes.append(int(low + self.rng.integers(0, 4) if drawn else eval(_code(dim), {}, env)))
                if env["empty"][name]:
                    sizes = [0] * len(sizes)
                shapes[name] = tuple(sizes)
            if any(s < 0 for shape in shapes.values() for s in shape):
                return None
            env["shapes"] = shapes
            if self.spec.items is not None:
                count = eval(_code(self.spec.items), {}, env)
                env["start"] = 0 if self.rng.random() < 0.7 else int(self.rng.integers(0, count + 1))
                env["stop"] = count if self.rng.random() < 0.7 else int(self.rng.integers(env["start"], count + 1))
            arrays = {name: np.empty(shape, np.bool_) for name, shape in shapes.items()}
            return env if all(eval(_code(c), {}, {**env, **arrays}) for c in self.spec.conditions) else None
        except (ZeroDivisionError, ValueError):
            return None

    def array(self, letter: str, shape: tuple[int, ...], limit: int) -> Guarded:
        real = "f" in self.kernel.dtypes or "e" in self.kernel.dtypes
        dtype = _LETTERS.get(letter.lower(), np.float32 if real else np.int64)
        if letter in "xt":
            values = self.rng.integers(-1, limit + 1, shape) if self.rng.random() < 0.3 else self.rng.integers(0, max(limit, 1), shape)
        elif np.dtype(dtype).kind in "iub":
            values = self.rng.integers(0, 2 if dtype == np.bool_ else 1 << 31, shape)
        else:
            values = self.rng.standard_normal(shape)
            if values.size and self.rng.random() < 0.2:
                values.reshape(-1)[self.rng.integers(0, values.size)] = self.rng.choice([np.nan, np.inf, -np.inf])
            if self.kernel.name.startswith(("random.", "drawn.")):
                values = self.rng.uniform(0.1, 0.9, shape)
        return guarded(np.array(values).astype(dtype))

    def arguments(self, env: dict[str, Any]) -> list[Any]:
        limit = max([1, *(s for shape in env["shapes"].values() for s in shape)]) if self.rng.random() < 0.2 else 2
        arguments = []
        for name, (letter, _) in zip(self.spec.parameters, self.spec.kinds, strict=True):
            arguments.append(self.array(letter, env["shapes"][name], limit) if name in self.given else env[name])
        return arguments


def kernels() -> list[str]:
    if not _on_demand.available():
        return []
    for path in sorted((Path(_kernel.__file__).parent / "compiled").glob("*.py")):
        importlib.import_module(f"{_kernel.__package__}.compiled.{path.stem}")
    return sorted(_kernel.Kernel.registry)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", kernels())
def test_stays_inside(name: str) -> None:
    kernel = _kernel.Kernel.registry[name]
    caller, call = Caller(kernel), checked(kernel)
    found: Counter[str] = Counter()
    plans: list[dict[str, Any]] = []
    wanted = FEWER.get(name, CALLS)
    for _ in range(60000):
        env = caller.plan()
        if env is not None:
            plans.append(env)
        if len(plans) == wanted:
            break
    assert len(plans) == wanted, f"only {len(plans)} calls that are admitted were found"

    def run(arguments: list[Any]) -> str:
        try:
            call(*arguments)
        except (ValueError, ZeroDivisionError) as error:
            assert isinstance(error, ZeroDivisionError) or "do not fit" in str(error), error
            return "refused"
        except IndexError as error:
            assert kernel.spec.has_indices, error
            return "index"
        return "ran"

    for env in plans:
        arguments = caller.arguments(env)
        found[run(arguments)] += 1
        at = int(caller.rng.integers(0, len(arguments)))
        changed = list(arguments)
        value = changed[at]
        if isinstance(value, np.ndarray):
            axis, longer = int(caller.rng.integers(0, value.ndim)), caller.rng.random() < 0.3
            if longer:
                changed[at] = guarded(np.concatenate([value, value.take([0], axis) if value.shape[axis] else value], axis))
            else:
                changed[at] = guarded(np.array(value.take(range(value.shape[axis] - 1), axis)))
        elif isinstance(value, int):
            changed[at] = value + int(caller.rng.choice([-3, -1, 1, 2]))
        found["changed " + run(changed)] += 1
        far = [a if isinstance(a, np.ndarray) or not isinstance(a, int) else 1 << 40 for a in arguments]
        if {"start", "stop"} & set(caller.spec.parameters):
            far[-1] = 1 << 40
            assert run(far) == "refused"
    assert not found["refused"], found
    assert found["ran"] + found["index"] == wanted and found["ran"], found
    if len(caller.spec.arrays) > 1:
        assert found["changed refused"], found
    if kernel.spec.has_indices:
        assert found["index"], found
