"""Each record on tensors of any size, layout and dtype, in two configurations that must agree: one with thresholds as wanted, and the
plain composition of NumPy's functions, for which every threshold is out of reach.

Samples are grown: axes that belong together (found by trying) are made longer, with the sample's own numbers, so that what holds for
these (a domain, an order, indices within a range) goes on to hold.
"""

from __future__ import annotations

import ast
import importlib
import math
import re
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from dataclasses import dataclass, field, replace
import ml_dtypes
import numpy as np
from tests.ops.op_cases import IN_PLACE, UNINITIALISED, bind, is_array, samples
from tests.sources import kept

import autograd_tape
import autograd_tape as at
import torchcompat
from autograd_tape.executors.kernels import _on_demand
from autograd_tape.frontend import Frontend, install_methods
from autograd_tape.node import TapeEntry
from autograd_tape.ops import Record
from autograd_tape.random import default_generator
from autograd_tape.tensor import LEAF, TensorRef
from torchcompat._tensor import frontend as torch_frontend
from torchcompat.utils._pytree import tree_flatten, tree_unflatten

NEVER = 1 << 62

# -- thresholds -------------------------------------------------------------------------------------------------------

FOLDER = Path(autograd_tape.__file__).parent
NO_SIZES = {
    "_NEVER": "the absence of a threshold",
    "SIZE_CHEAP": "what `state.cheap` is set to",
    "SIZE_FUSED": "what `state.fused` is set to",
    "_CHUNKS_PER_THREAD": "counts parts",
    "_SHARED_CHUNKS_PER_THREAD": "counts parts",
    "_BLOCKS": "counts parts",
    "_PARTS": "counts parts",
    "_SUM_RUN": "says in which order numbers are added",
    "_SUM_BLOCK": "says in which order numbers are added",
    "SUM": "names what is added up",
    "MAGNITUDES": "names what is added up",
    "SQUARES": "names what is added up",
    "HELD": "names what is added up",
    "PRODUCT": "names what is added up",
    "ROOT": "names what is added up",
    "_SUM_TILE": "is the kernel's own",
    **dict.fromkeys(("_TILE", "TILE"), "what compiled code was made for"),
    "_SHIFT": "where a series begins",
    "_KEPT": "memory that is kept",
    "LIMIT": "a bound on arithmetic in compiled code",
    "_DIGEST": "counts bytes of a checksum",
    **dict.fromkeys(("_AS_THEY_LIE", "_TURNED_AS_IT_LIES", "_QUICK"), "counts BLAS's multiply-adds, or what it copies"),
    "UNSTABLE": "the work that telling equal integers apart is worth, which makes another result",
    **dict.fromkeys(("BOOL", "INTEGER", "FLOATING", "COMPLEX"), "a category of dtypes"),
}
"""Global integers that functions read, and that are no sizes from which another way leads to the same result."""
TRICKS = {"SMALL", "NARROW", "FEW"}
"""Sizes up to which there are tricks, which the plain composition does without."""
CEILINGS = {"blas._SMALL"}
"""Sizes from which the ways of big tensors are left again."""

MACHINE_CODE = {"_kernel", "_entry", "_elf", "_store"}
"""Modules that make, keep and link machine code: their integers are those of formats and of other libraries' structures."""


def sources() -> list[Path]:
    """Where sizes may be compared: operations, what makes functions of them, kernels."""
    folders = ("functions/*.py", "ops/**/*.py", "executors/*.py", "executors/kernels/*.py")
    return [path for folder in folders for path in FOLDER.glob(folder) if path.stem not in MACHINE_CODE]


def constants() -> dict[tuple[str, str], int]:
    """(module, name) of each global integer in capitals that a function of an operation or kernel reads, and its value."""
    found = {}
    for path in sources():
        if path.stem in ("__init__", "mindspore", "meta", "stubs", "_mindspore"):
            continue
        module = importlib.import_module("autograd_tape." + ".".join(path.relative_to(FOLDER).with_suffix("").parts))
        wanted = {name for name, value in vars(module).items() if name.strip("_").isupper() and type(value) is int} - NO_SIZES.keys()
        if wanted:
            found |= {(module.__name__, name): vars(module)[name] for name in sorted(wanted & read_in_functions(path))}
    return found


def read_in_functions(path: Path) -> set[str]:
    """The names that stand in functions of a file."""
    with kept():
        return {node.id for function in ast.walk(ast.parse(path.read_text())) if isinstance(function, (ast.FunctionDef, ast.Lambda))
                for node in ast.walk(function) if isinstance(node, ast.Name)}


def literals() -> list[str]:
    """Where a size is compared with a number that has no name, and so would not be found by `constants`."""
    found = []
    for path in sources():
        text = path.read_text()
        for node in ast.walk(ast.parse(text)) if ".size" in text else ():
            if isinstance(node, ast.Compare) and not isinstance(node.ops[0], (ast.Eq, ast.NotEq, ast.Is, ast.IsNot, ast.In, ast.NotIn)):
                sides = [node.left, *node.comparators]
                sized = any(isinstance(n, ast.Attribute) and n.attr == "size" for side in sides for n in ast.walk(side))
                values = [eval(compile(ast.Expression(side), "", "eval"), {}) for side in sides
                          if isinstance(side, (ast.Constant, ast.BinOp))
                          and all(isinstance(n, (ast.Constant, ast.BinOp, ast.operator)) for n in ast.walk(side))]
                found += [f"{path.relative_to(FOLDER)}:{node.lineno}: {v}" for v in values if sized and v > 64]
    return found


CONSTANTS = constants()
SIZES = sorted({*CONSTANTS.values(), _on_demand.SIZE_CHEAP, _on_demand.SIZE_FUSED})
"""The sizes from which, or up to which, something else is done somewhere."""


_COMPILED = _on_demand.available()


def _settings(value: int) -> list[tuple[dict[str, Any], str, int]]:
    """(globals of a module, name, what it is set to) for thresholds at `value`."""
    found = []
    for module, name in CONSTANTS:
        ceiling = f"{module.rpartition('.')[2]}.{name}" in CEILINGS
        wanted = 0 if name in TRICKS or ceiling and value == NEVER else NEVER if ceiling else value
        found.append((vars(importlib.import_module(module)), name, wanted))
    return found


_SETTINGS = {value: _settings(value) for value in (1, NEVER)}
_SHIPPED = [(vars(importlib.import_module(module)), name, value) for (module, name), value in CONSTANTS.items()]


@contextmanager
def thresholds(value: int | None) -> Iterator[None]:
    """All thresholds at `value`, 1 or NEVER for the plain composition; None leaves them as they are."""
    if value is None:
        yield
        return
    state = _on_demand.state
    cheap, fused = state.cheap, state.fused
    try:
        state.cheap = state.fused = value if _COMPILED else NEVER
        for module, name, wanted in _SETTINGS[value]:
            module[name] = wanted
        yield
    finally:
        for module, name, before in _SHIPPED:
            module[name] = before
        state.cheap, state.fused = cheap, fused


class PlainTensor(TensorRef):
    """Tensors whose operations are compiled while every threshold is out of reach."""

    __slots__ = ()


class LowTensor(TensorRef):
    """Tensors whose operations are compiled while every threshold is one element."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Configuration:
    """A front end, and the thresholds under which it runs."""

    name: str
    frontend: Frontend
    value: int | None

    def __str__(self) -> str:
        return self.name


def _made(tensor: type[TensorRef], name: str) -> Frontend:
    latest = TapeEntry.front_end
    frontend = Frontend(tensor, name)
    TapeEntry.front_end = latest  # other tests' tensors stay of their own class
    install_methods(tensor, frontend)
    return frontend


PLAIN = Configuration("plain", _made(PlainTensor, "plain"), NEVER)
LOW = Configuration("low", _made(LowTensor, "low"), 1)
TAPE = Configuration("tape", at.F, None)
TORCH = Configuration("torch", torch_frontend, None)


# -- samples of any size ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Growth:
    """What becomes longer together: axes of arrays as (number of the leaf, axis), where -1 is a new first axis, and numbers."""

    axes: tuple[tuple[int, int], ...]
    numbers: tuple[int, ...] = ()

    def __call__(self, leaves: list[Any], n: int) -> list[Any]:
        """The leaves of a sample with `n` in the place of the length."""
        found = list(leaves)
        for leaf, axis in self.axes:
            x = np.asarray(found[leaf])
            if axis < 0:
                found[leaf] = np.repeat(x[None], n, 0)
            else:
                found[leaf] = x.take(np.arange(n) % x.shape[axis], axis)
        for leaf in self.numbers:
            found[leaf] = n
        return found

    def size(self, leaves: list[Any], n: int) -> int:
        """Elements of the largest leaf that grows."""
        found = [n]
        for leaf in {i for i, _ in self.axes}:
            sizes = list(np.shape(leaves[leaf]))
            for i, axis in self.axes:
                if i == leaf and axis >= 0:
                    sizes[axis] = n
            found.append(math.prod(sizes) * (n if (leaf, -1) in self.axes else 1))
        return max(found)


def growths(leaves: list[Any]) -> list[Growth]:
    """Growths that might fit a sample, the likeliest first."""
    arrays = {i: np.asarray(x) for i, x in enumerate(leaves) if is_array(x)}
    found: dict[Growth, None] = {}
    width = max([a.ndim for a in arrays.values()], default=0)
    sizes = sorted({s for a in arrays.values() for s in a.shape if s > 1})

    def note(axes: Any, numbers: Any = ()) -> None:
        axes = tuple([(i, k) for i, k in axes if k < 0 or arrays[i].shape[k] > 0])
        if axes:
            found.setdefault(Growth(axes, tuple(numbers)))

    for back in range(width, 0, -1):  # axes that lie over each other, as in broadcasting
        over = [(i, a.ndim - back) for i, a in arrays.items() if a.ndim >= back]
        for s in {arrays[i].shape[k] for i, k in over} - {0, 1}:
            note([(i, k) for i, k in over if arrays[i].shape[k] == s])
        note(over)
    for k in range(width):  # axes that count the same things
        for s in {a.shape[k] for a in arrays.values() if a.ndim > k} - {0, 1}:
            note([(i, k) for i, a in arrays.items() if a.ndim > k and a.shape[k] == s])
    for i, a in arrays.items():
        for k in range(a.ndim):
            note([(i, k)])
    # A new first axis, so that there are more of the same; then squares, and numbers that say the same as a size.
    note([(i, -1) for i in arrays])
    note([(i, -1) for i, a in arrays.items() if a.ndim == width])
    for i in arrays:
        note([(i, -1)])
    for s in sizes:
        same = [(i, k) for i, a in arrays.items() for k, n in enumerate(a.shape) if n == s]
        numbers = [i for i, x in enumerate(leaves) if type(x) is int and x == s]
        note(same)
        note(same, numbers)
        for axis in same:
            for number in numbers:
                note([axis], [number])
    if not arrays:
        found |= dict.fromkeys(Growth((), (i,)) for i, x in enumerate(leaves) if type(x) is int)
    return list(found)


# -- layouts ----------------------------------------------------------------------------------------------------------


def _strided(a: np.ndarray) -> np.ndarray:
    wide = np.zeros((*a.shape[:-1], 2 * a.shape[-1]), a.dtype)
    wide[..., ::2] = a
    return wide[..., ::2]


def _unaligned(a: np.ndarray) -> np.ndarray:
    memory = np.zeros(a.nbytes + 1, np.uint8)[1:]
    found = memory[:a.nbytes].view(a.dtype).reshape(a.shape)
    found[...] = a
    return found


def _broadcast(a: np.ndarray) -> np.ndarray:
    axis = int(np.argmax(a.shape or (1,)))
    return np.broadcast_to(a.take([0], axis), a.shape) if a.size and a.ndim else a.copy()


LAYOUTS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "rows": lambda a: np.array(a, order="C"),
    "transposed": lambda a: np.array(a, order="F"),
    "broadcast": _broadcast,
    "flipped": lambda a: np.flip(np.flip(a).copy()),
    "strided": lambda a: _strided(a) if a.ndim else a.copy(),
    "unaligned": _unaligned,
}
"""Where the elements of an array lie in memory. A broadcast one repeats its first elements."""

WORDS = {"float": ["f4", "f8"], "int": ["i8", "i4", "u1"], "bool": ["?"], "half": ["bf16", "f2"], "complex": ["c8"]}
DTYPES = {name: np.dtype(ml_dtypes.bfloat16) if name == "bf16" else np.dtype(name) for names in WORDS.values() for name in names}


FURTHER = ("i8", "i4", "u1", "?", "f2", "c8")
"""Dtypes of which one is tried of each operation that takes some; in full all."""


def dtypes_of(rec: Record, full: bool = True) -> list[str]:
    """The dtypes that a record takes in the place of its samples' float64."""
    words = rec.dtypes or ("float" if rec.differentiable else "float int")
    if rec.field("function") is not None or rec.field("make") is not None:
        words = "float"
    found = [d for word in words.split() for d in WORDS[word]]
    further = [d for d in found if d in FURTHER]
    return found if full else [d for d in found if d not in further or d == further[zlib.crc32(rec.name.encode()) % len(further)]]


def converted(a: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Numbers of a sample in another dtype; integers are positive, so that unsigned dtypes and divisors have no trouble."""
    if dtype.kind in "iub":
        return (np.abs(np.nan_to_num(a, posinf=3, neginf=3)) + 1).astype(dtype)
    return a.astype(dtype)


# -- cases ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Case:
    """A call: the leaves of a sample's arguments, in a layout and dtype."""

    rec: Record
    leaves: list[Any]
    spec: Any
    layout: str = "rows"
    dtype: str = "f8"
    inplace: bool = False
    differentiable: tuple[int, ...] = ()
    """The leaves that gradients flow to."""

    def __str__(self) -> str:
        shown = [f"{np.asarray(x).dtype}{list(np.shape(x))}" if is_array(x) else repr(x) for x in self.leaves]
        return f"{self.rec.name}{'_' * self.inplace}({', '.join(shown)}) {self.layout} {self.dtype}"

    def arrays(self) -> list[Any]:
        """The leaves, in the layout and dtype."""
        lay, dtype = LAYOUTS[self.layout], DTYPES[self.dtype]
        return [lay(converted(np.asarray(x), dtype) if np.asarray(x).dtype == np.float64 else np.asarray(x)) if is_array(x) else x
                for x in self.leaves]


def cases(rec: Record) -> Iterator[Case]:
    """The samples of a record as cases."""
    for sample in samples(rec):
        args, kwargs = bind(rec, sample)
        leaves, spec = tree_flatten((args, kwargs))
        irregular = rec.field("function") is not None or rec.field("make") is not None
        named = [*zip([p.name for p in rec.params if not p.keyword_only], args), *kwargs.items()]
        owners = [n for n, a in named for _ in tree_flatten(a)[0]]
        owners += [""] * (len(leaves) - len(owners))  # of several arguments in the place of one
        wanted = {p.name for p in (rec.params if irregular else rec.differentiable_params)} - {*(rec.field("refuses_grad") or ())}
        differentiable = [i for i, x in enumerate(leaves) if is_array(x) and np.asarray(x).dtype == np.float64
                          and (owners[i] in wanted or irregular and not owners[i])]
        yield Case(rec, leaves, spec, differentiable=tuple(differentiable))


def noisy(case: Case) -> Case:
    """The case with no two numbers alike, as far as they are no whole numbers: each a little nearer to zero."""
    rng = np.random.default_rng(zlib.crc32(str(case).encode()))

    def moved(x: Any) -> Any:
        if not is_array(x) or np.asarray(x).dtype != np.float64 or np.array_equal(x, np.rint(x)):
            return x
        return np.asarray(x) * (1 - rng.uniform(0, 0.02, np.shape(x)))

    return replace(case, leaves=[moved(x) for x in case.leaves])


@dataclass(slots=True)
class Outcome:
    """What a call gave: arrays and plain values, gradients of the leaves; or an error."""

    values: list[Any] = field(default_factory=list)
    strides: list[tuple[int, ...]] = field(default_factory=list)
    gradients: list[Any] = field(default_factory=list)
    error: str = ""

    @property
    def size(self) -> int:
        return sum(np.size(v) for v in self.values)


def strides_of(a: np.ndarray) -> tuple[int, ...]:
    """The strides that mean something."""
    return tuple([s for n, s in zip(a.shape, a.strides) if n > 1]) if a.size else ()


def run(case: Case, configuration: Configuration, gradients: bool = True) -> Outcome:
    """Carries out a case."""
    front = configuration.frontend
    with thresholds(configuration.value), np.errstate(all="ignore"):
        given = case.arrays()
        leaves = [front.wrap(x, node=LEAF if gradients and i in case.differentiable and x.dtype.kind not in "iub" else None)
                  if is_array(x) else x for i, x in enumerate(given)]
        args, kwargs = tree_unflatten(leaves, case.spec)
        default_generator.manual_seed(0)
        function = front.function(case.rec.name + "_" * case.inplace)
        found = Outcome()
        try:
            if gradients and (case.inplace or case.rec.name in IN_PLACE):  # no leaf may be changed
                target = next(i for i, x in enumerate(args) if isinstance(x, TensorRef))
                args[target] = front.function("mul")(args[target], 1)
            result = function(*args, **kwargs)
            outputs = tree_flatten(result)[0]
            tensors = [o for o in outputs if isinstance(o, TensorRef)]
            found.values = [np.array(o._data) if isinstance(o, TensorRef) else o for o in outputs]
            found.strides = [strides_of(o._data) for o in tensors]
            roots = [o for o in tensors if o.requires_grad]
            if roots:
                rng = np.random.default_rng(1)
                lay = LAYOUTS[case.layout]
                cotangents = [lay(rng.uniform(0.5, 1.5, o._data.shape).astype(o._data.dtype)) for o in roots]
                inputs = [t for t in leaves if isinstance(t, TensorRef) and t._node is not None]
                if configuration is TORCH:
                    found.gradients = [None if g is None else np.array(g._data) for g in torchcompat.autograd.grad(
                        roots, inputs, [front.wrap(c) for c in cotangents], allow_unused=True)]
                else:
                    by_id = at.backward(roots, grad_outputs=cotangents)
                    found.gradients = [by_id.get(t.id) for t in inputs]
        except Exception as error:  # which both configurations must raise
            found.error = f"{type(error).__name__}: {error}"
        return found


TOLERANCE = {"f2": 2.0 ** -8, "bf16": 2.0 ** -6, "f4": 1e-5, "f8": 1e-11, "c8": 1e-5}


def apart(found: Any, expected: Any, tolerance: float) -> str:
    """How two results differ; nothing where they do not."""
    if not isinstance(expected, np.ndarray) or not isinstance(found, np.ndarray):
        same = type(found) is type(expected) and (found == expected or isinstance(found, float) and math.isclose(
            found, expected, rel_tol=tolerance, abs_tol=tolerance)) or found != found and expected != expected
        return "" if same else f"{found!r}, not {expected!r}"
    if found.dtype != expected.dtype or found.shape != expected.shape:
        return f"{found.dtype}{list(found.shape)}, not {expected.dtype}{list(expected.shape)}"
    if tolerance == math.inf:
        return ""
    if found.dtype.kind in "iub":
        different = found != expected
    else:
        wide = np.complex128 if found.dtype.kind == "c" else np.float64
        a, b = found.astype(wide), expected.astype(wide)
        finite = np.isfinite(b)
        scale = np.abs(b[finite]).max(initial=1)  # what cancels out has the error of what it was
        with np.errstate(invalid="ignore"):
            far = np.abs(a - b) > tolerance * (np.abs(b) + scale)
        different = np.where(finite, far | ~np.isfinite(a), (a != b) & ~(np.isnan(a) & np.isnan(b)))
    if not different.any():
        return ""
    at_ = tuple(int(i) for i in np.argwhere(different)[0])
    return f"{int(different.sum())} of {different.size} differ, first at {at_}: {found[at_]!r}, not {expected[at_]!r}"


ALIKE = {"corrcoef": "variables that are all alike correlate by 1, and the gradient is rounding"}
"""Operations of which arrays that repeat their elements say nothing."""
CANCELS = {"cosine_similarity": "an operand that is all alike along `dim` has a gradient of 0, the rest of terms that cancel"}
"""Operations with a gradient that is a sum whose terms cancel: it has their error, and NumPy's own long sums over columns have most."""
NUMBER = re.compile(r"tensor \d+")


def differences(found: Outcome, expected: Outcome, case: Case, front: Configuration) -> list[str]:
    """How two outcomes of a case differ. The two front ends word errors differently."""
    if found.error or expected.error:
        words = [bool(e) if front is TORCH else NUMBER.sub("", e) for e in (found.error, expected.error)]
        same = words[0] == words[1]
        return [] if same else [f"error {found.error!r}, not {expected.error!r}"]
    if len(found.values) != len(expected.values) or len(found.gradients) != len(expected.gradients):
        return [f"{len(found.values)} results, {len(found.gradients)} gradients, not {len(expected.values)}, {len(expected.gradients)}"]
    tolerance = math.inf if case.rec.name in UNINITIALISED else TOLERANCE.get(case.dtype, 1e-11)
    if case.dtype in ("f4", "c8"):  # NumPy's own long sums over columns are no better
        tolerance *= max(1, max([np.size(x) for x in case.leaves], default=1) ** 0.5 / 8)
    told = [f"result {i}: {d}" for i, (f, e) in enumerate(zip(found.values, expected.values)) if (d := apart(f, e, tolerance))]
    if found.strides != expected.strides and not case.rec.name.endswith("_backward"):  # gradients are laid out when they arrive
        told.append(f"strides {found.strides}, not {expected.strides}")
    for i, (f, e) in enumerate(zip(found.gradients, expected.gradients)):
        if (f is None) != (e is None):
            told.append(f"gradient {i}: {f}, not {e}")
        elif f is not None and (d := apart(f, e, tolerance * (np.size(case.leaves[0]) if case.rec.name in CANCELS else 4))):
            told.append(f"gradient {i}: {d}")
    return told


# -- what is run ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Grown:
    """A case that can be made longer, and how its results grow then."""

    case: Case
    growth: Growth
    results: int
    power: float

    def __call__(self, n: int) -> Case:
        """The case with length `n`."""
        return replace(self.case, leaves=self.growth(self.case.leaves, n))

    def size(self, n: int) -> float:
        """Elements of the largest argument, or of the results if they are more."""
        return max(self.growth.size(self.case.leaves, n), self.results * (n / 7) ** self.power)

    def length(self, size: int) -> int:
        """The smallest length that makes the largest argument, or the results, `size` elements or more."""
        n = 1
        while self.size(n) < size:
            n *= 2
        low = n // 2
        while n - low > 1:
            middle = (n + low) // 2
            low, n = (middle, n) if self.size(middle) < size else (low, middle)
        return n


MATRICES = ("equations", "factorization")
"""Modules of operations that take the cube of a matrix' size, or its square in memory, so that only their batches grow."""


def grown(rec: Record, full: bool = False) -> list[Grown]:
    """Cases of a record with a growth that it takes: for each sample the first that fits, or all."""
    found = []
    for case in cases(rec):
        error = run(case, PLAIN).error
        for growth in growths(case.leaves):
            if rec.module.endswith(MATRICES) and any(axis >= 0 for _, axis in growth.axes):
                continue
            seven, fifteen = [run(replace(case, leaves=growth(case.leaves, n)), PLAIN) for n in (7, 15)]
            if seven.error == fifteen.error == error:
                power = math.log(max(fifteen.size, 1) / max(seven.size, 1), 15 / 7)
                found.append(Grown(case, growth, seven.size, power))
                if not full:
                    break
    return found


def operands(case: Case) -> Iterator[Case]:
    """A case of two operands with the second a row, a column, one number in a tensor, a Python number, and of other dtypes."""
    tensors = [p for p in case.rec.params if p.type in ("Tensor", "Operand")]
    if len(case.leaves) < 2 or len(tensors) < 2 or not all(is_array(x) for x in case.leaves[:2]):
        return
    first, second = np.asarray(case.leaves[0]), np.asarray(case.leaves[1])
    if first.shape != second.shape or first.ndim < 2:
        return

    def with_second(x: Any) -> Case:
        return replace(case, leaves=[case.leaves[0], x, *case.leaves[2:]])

    yield with_second(second[0])
    yield with_second(second[:, :1])
    yield with_second(second[(0,) * second.ndim].reshape(()))
    if tensors[1].type == "Operand" and second.dtype == np.float64:
        yield with_second(float(second[(0,) * second.ndim]))
        yield with_second(2)
    if case.rec.promotion != "none":
        yield with_second(second.astype(np.float32))
        yield with_second((np.abs(second) + 1).astype(np.int64))
    for x in (first[0], first[(0,) * first.ndim].reshape(())):
        yield replace(case, leaves=[x, *case.leaves[1:]])


def plan(rec: Record, full: bool = False) -> Iterator[tuple[Case, Configuration]]:
    """What is run of a record. Each pair of layout and dtype occurs, with thresholds lowered for small tensors, and at each threshold as
    it is; in full each with every sample and growth."""
    seed = zlib.crc32(rec.name.encode())
    pairs = [(layout, dtype) for layout in LAYOUTS for dtype in dtypes_of(rec, full) if layout != "broadcast" or rec.name not in ALIKE]
    growing = grown(rec, full)
    small = [*cases(rec), *[noisy(g(5)) for g in growing]]
    if rec.broadcasts:
        small += [o for c in small for o in operands(c)]
    counter = seed
    # small tensors, as they are and with thresholds lowered
    for nr, (layout, dtype) in enumerate(pairs):
        for i in range(len(small)) if full else [(seed + nr) % len(small)]:
            case = replace(small[i], layout=layout, dtype=dtype)
            yield case, LOW
            if full:
                yield case, TAPE
            if rec.inplace and case.leaves and is_array(case.leaves[0]) and (full or (nr + nr // len(LAYOUTS)) % 2):
                yield replace(case, inplace=True), LOW
    if not full:
        for nr, case in enumerate(small):
            layout, dtype = pairs[(seed + 5 * nr) % len(pairs)]
            yield replace(case, layout=layout, dtype=dtype), LOW if nr % 3 else TAPE
    # nothing at all
    for nr, growth in enumerate(growing):
        layout, dtype = pairs[(seed + nr) % len(pairs)]
        empty = replace(growth(0), dtype=dtype)
        yield empty, LOW
        yield replace(empty, layout=layout), TAPE
        if rec.inplace and is_array(empty.leaves[0]):
            yield replace(empty, inplace=True), LOW
    # around the thresholds
    for size in SIZES:
        if not growing or size < 64 or size > (1 << 21 if full else 1 << 18):
            continue
        for i in range(len(growing)) if full else [counter % len(growing)]:
            growth = growing[i]
            n = growth.length(size)
            for length in (n - 1, n) if full else [n - counter // 7 % 2 * (size < 1 << 18)]:
                big = noisy(growth(length))
                for layout, dtype in pairs if full else [pairs[(counter // 3) % len(pairs)]]:
                    counter += 1
                    wanted = replace(big, layout=layout, dtype=dtype)
                    yield wanted, TORCH if counter % 2 and layout != "flipped" else TAPE
                    if rec.inplace and is_array(big.leaves[0]) and not counter % 3:
                        yield replace(wanted, inplace=True), TAPE


def check(rec: Record, full: bool = False) -> tuple[int, list[str]]:
    """(how many numbers were compared, what differs) of a record."""
    told, compared = [], 0
    for case, configuration in plan(rec, full):
        expected = run(case, PLAIN)
        found = run(case, configuration)
        compared += sum(np.size(v) for v in expected.values)
        told += [f"{case} {configuration}: {d}" for d in differences(found, expected, case, configuration)]
    return compared, told
