"""One case on one side, torch or torchcompat, and the comparison of two outcomes.

Numbers within `TOLERANCE` of torch's agree. So do those that differ by a few hundred times the precision of the largest number among
arguments and results (`CANCELLED`, in single and double precision): where numbers cancel, the error of a sum is one of its terms.

Where they do not, torch computes the same case in double precision, from the same numbers (`exact`), and what is found agrees if it is
as near to that truth as torch's result may be: no element is further from it than torch's there, or than (1) twice torch's own largest
error in that tensor, which counts as the largest element at most, and (2) what the element moves by if each argument is off by half a
unit in its last place, which no computation that rounds on its way can be told from, unless a decision turns by it, and (3) a unit in
the element's last place. In half precision, where torch's largest error is large beside many an element, it must also be in proportion:
at most twice as many times what half a unit in the element's last place and (2) come to as torch's result is anywhere. So another order
of summation, or roundings in other places, are no difference, while a wrong formula is one wherever torch's is right. What is infinite
or NaN here must be so in torch; where only torch overflows on its way, the excuses are those of its other elements. What it makes of
random numbers has no truth. The report counts apart what agrees only so. The truth of what is in double precision, and of whole
numbers, is known of torch's `special` functions alone: SciPy's. Derivatives that torch has no formula for cannot be compared; those
that are here are counted (`lacking`).

What torch's own tests do before they look at derivatives is done here, too: `output_process_fn_grad` leaves of vectors what is unique,
`gradcheck_wrapper` makes of matrices those that the operation is meant for.
"""

from __future__ import annotations

import random
import re
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import fields, is_dataclass
from functools import partial
from types import FunctionType
from typing import Any

from dataclasses import dataclass, replace
import ml_dtypes
import numpy as np

from autograd_tape.dtypes import DType

from .cases import Array, Case, Stored, leaves, lookup, rebound, tree, whole
from .ties import up_to_ties

TOLERANCE = {"float64": 1e-7, "complex128": 1e-7, "float32": 2e-4, "complex64": 2e-4, "bfloat16": 2.0**-7, "float16": 2.0**-10}
CANCELLED = {"float64": 2.0**-44, "complex128": 2.0**-44, "float32": 2.0**-15, "complex64": 2.0**-15}
WIDE = {"bfloat16": "float64", "float16": "float64", "float32": "float64", "complex64": "complex128"}
LAST_PLACE = {"bfloat16": (2.0**-7, 2.0**-126), "float16": (2.0**-10, 2.0**-14), "float32": (2.0**-23, 2.0**-126),
              "complex64": (2.0**-23, 2.0**-126), "float64": (2.0**-52, 2.0**-1022)}
"""A unit in the last place of 1, and the smallest normal number."""
DRAWS = 8
"""How many sets of nudged arguments tell how far roundings on the way carry."""
ZERO = {"bfloat16": 2.0**-20, "float16": 2.0**-20}
"""What sums of numbers about 1 that cancel may leave in the precision in which a dtype is computed."""
SCIPY = {f"special.bessel_{kind}": kind for kind in ("j0", "j1", "y0", "y1")}
"""Functions with another name there."""
DERIVATIVES = ("backward", "double backward", "forward mode")
LACKING = ("derivative for aten::", "Trying to use forward AD with ")
"""What torch says where it has no formula."""
UNSPECIFIED = ("empty", "new_empty")
"""Operations whose values are whatever lay in memory."""
UP_TO_PHASE = ("svd", "linalg.svd", "eigh", "linalg.eigh", "linalg.eig", "linalg.eigvalsh", "linalg.eigvals", "svd_lowrank", "lobpcg")
"""Decompositions that are unique only up to a phase, or not at all where values repeat: their vectors, and gradients, are not compared."""
TEXTS = ("errors", "mixed")
"""Modes in which the texts of errors are compared."""
TORCH_ERRORS = (RuntimeError, TypeError, ValueError, IndexError, NotImplementedError)


class Skip(Exception):
    """The mode does not apply to the call."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one side made of a case: what can be seen of each tensor, or an error."""

    tensors: tuple[Any, ...] = ()
    error: str = ""
    text: str = ""
    scale: float = 0.0
    """The largest finite number among arguments and results."""


def magnitude(arrays: Iterable[np.ndarray]) -> float:
    """The largest finite magnitude of floating-point numbers."""
    sizes = [np.abs(a[np.isfinite(a)]).max(initial=0.0) for a in arrays if a.dtype.kind in "fc"]
    return float(max(sizes, default=0.0))


class Side:
    """torch, or torchcompat, as `torch`."""

    def __init__(self, torch: Any) -> None:
        self.torch, self.ours = torch, torch.__name__ == "torchcompat"
        self.seeds_from = 0

    # -- arguments --------------------------------------------------------------------------------------------------

    def tensor(self, a: Array, device: str | None = None) -> Any:
        """A tensor with the values and layout of `a`."""
        memory, strides, offset = a.memory()
        torch, memory = self.torch, memory.copy()
        if memory.dtype.name == "bfloat16":
            flat = torch.from_numpy(memory.view(np.int16)).view(torch.bfloat16)
        else:
            flat = torch.from_numpy(memory)
        flat = flat.clone()  # memory that can be resized, as NumPy's cannot
        made = torch.as_strided(flat, a.values.shape, strides, offset)
        if device:
            made = torch.empty_strided(a.values.shape, made.stride(), dtype=made.dtype, device=device)
        return made.requires_grad_() if a.grad else made

    def other(self, value: Any) -> Any:
        """Arguments that are neither tensors nor plain Python."""
        name = str(value).removeprefix("torch.")
        if isinstance(value, DType) or type(value).__name__ == "dtype":
            return getattr(self.torch, name)
        if type(value).__name__ == "device":
            return self.torch.device(str(value))
        if type(value).__name__ in ("memory_format", "layout", "MemoryFormat", "Layout"):
            return getattr(self.torch, name)
        if is_dataclass(value) and self.ours:  # options
            return getattr(self.torch.nn, type(value).__name__)(**{f.name: self.other(getattr(value, f.name)) for f in fields(value)})
        if hasattr(value, "named_modules") and self.ours:  # a layer without parameters, as ours
            made = getattr(self.torch.nn, type(value).__name__)()
            made.__dict__.update({k: v for k, v in vars(value).items() if not k.startswith("_")})
            return made
        return value

    def arguments(self, case: Case, device: str | None = None) -> tuple[list[Any], dict[str, Any]]:
        """Fresh arguments."""
        def convert(value: Any) -> Any:
            if isinstance(value, Array):
                return self.tensor(value, device)
            if isinstance(value, dict):
                return {k: convert(v) for k, v in value.items()}
            if isinstance(value, slice):
                return slice(*[convert(v) for v in (value.start, value.stop, value.step)])
            if type(value) in (list, tuple):
                return type(value)([convert(v) for v in value])
            return tuple(value) if type(value).__name__ == "Size" else self.other(value)

        return convert(list(case.args)), convert(case.kwargs)

    def function(self, case: Case) -> Any:
        """The function called."""
        if case.name.startswith("whole."):
            function = self.of_database(case.path)
            if case.mode not in ("forward", *TEXTS):
                return partial(rebound(whole()[case.path].gradcheck_wrapper, self.torch), function)
            return function
        if case.name.startswith("records/"):
            found = lookup(self.torch, case.path)
        else:
            from tests.oracle.oracle_operations import resolve

            found = resolve(self.torch, case.path)
        if found is None:
            raise Skip
        return found

    def of_database(self, name: str) -> Any:
        """What an entry of torch's operator database calls; raises AttributeError where there is no such thing."""
        from tests.oracle.oracle_operations import Missing, resolve

        if not self.ours:
            return whole()[name].op
        if isinstance(function := whole()[name].op, FunctionType) and function.__module__.startswith("torch.testing"):
            return rebound(function, self.torch)
        if type(function).__module__ == "torch._ops":  # str() of it: aten.slice.Tensor
            found = lookup(self.torch, f"ops.{function}")
            if found is None:
                raise AttributeError(f"ops.{function}")
            return found
        try:
            return resolve(self.torch, whole()[name].name)
        except Missing as error:
            raise AttributeError(*error.args) from None

    # -- modes ------------------------------------------------------------------------------------------------------

    def run(self, case: Case) -> Outcome:
        """What comes of a case; `Skip` where its mode does not apply."""
        self.torch.default_generator.manual_seed(self.seeds_from + case.seed)  # torch.manual_seed formats a stack for each device
        try:
            function = self.function(case)
        except AttributeError as error:
            return Outcome(error="missing", text=str(error))
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            try:
                rows = getattr(self, case.mode.replace(" ", "_").replace("-", "_"))(case, function)
                given = [a.values for a in leaves((list(case.args), case.kwargs))]
                scale = magnitude([*given, *[row[5] for row in rows if row[0] == "tensor" and row[5] is not None]])
                return Outcome(tuple(self.specified(case, rows)), scale=scale)
            except Skip:
                raise
            except Exception as error:
                kind = next((k for k in TORCH_ERRORS[::-1] if type(error) is k), None)
                if kind is None:
                    bases = [b.__name__ for b in type(error).__mro__ if b.__module__ == "builtins"]
                    return Outcome(error=bases[0], text=str(error))
                return Outcome(error=kind.__name__, text=str(error))

    def tensors(self, value: Any) -> list[Any]:
        """All tensors of a result, and other values as they are."""
        found: list[Any] = []

        def walk(v: Any) -> None:
            if isinstance(v, dict):
                walk(list(v.values()))
            elif isinstance(v, (list, tuple)) and not type(v).__name__ == "Size":
                for x in v:
                    walk(x)
            else:
                found.append(v)

        walk(value)
        return found

    def seen(self, value: Any, values: bool = True, strides: bool = True) -> list[Any]:
        """What can be compared of a result."""
        rows = []
        for t in self.tensors(value):
            if not isinstance(t, self.torch.Tensor):
                rows.append(("value", re.sub("torchcompat", "torch", str(t)) if not isinstance(t, (bool, int, float)) else t))
                continue
            dtype = str(t.dtype).removeprefix("torch.")
            array = None
            if values and t.device.type == "cpu":
                d = t.detach().resolve_conj().resolve_neg()
                if not self.ours and d._is_zerotensor():  # torch's tangents of zeros have no memory to look at
                    d = self.torch.zeros_like(d)
                if dtype == "bfloat16":
                    d = d.float()
                array = np.array(d.numpy())
            layout = tuple([s if n > 1 else 0 for s, n in zip(t.stride(), t.shape)]) if strides and t.numel() else None
            rows.append(("tensor", dtype, tuple(t.shape), layout, t.requires_grad, array))
        return rows

    def specified(self, case: Case, rows: list[Any]) -> list[Any]:
        """The rows without values that torch does not specify."""
        name = case.path.removeprefix("nn.functional.")
        if case.process:
            return rows
        if name.startswith(UNSPECIFIED) or any([name == n or name.startswith(n + ".") for n in UP_TO_PHASE]):
            return [(*row[:5], None) if row[0] == "tensor" else row for row in rows]
        return up_to_ties(case, rows)

    def forward(self, case: Case, function: Any) -> list[Any]:
        args, kwargs = self.arguments(case)
        result = function(*args, **kwargs)
        shared = [] if case.process else [("value", self.shared(result, (args, kwargs)))]
        return self.seen(self.processed(case, result)) + shared + self.seen((args, kwargs), strides=False)  # nobody changes his arguments

    def shared(self, result: Any, arguments: Any) -> str:
        """Which results lie in the memory of which arguments: a copy that is none is seen when somebody writes to one of both."""
        def memories(value: Any) -> list[int]:
            dense = [t for t in self.tensors(value) if isinstance(t, self.torch.Tensor)]
            return [t.untyped_storage().data_ptr() if t.layout is self.torch.strided and t.numel() else 0 for t in dense]

        own = memories(arguments)
        return "shares " + " ".join([str(own.index(m)) if m in own else "-" for m in memories(result) if m])

    def processed(self, case: Case, result: Any) -> Any:
        """What of a result is compared and differentiated."""
        return rebound(case.process, self.torch)(result) if case.process else result

    errors = mixed = forward

    def meta(self, case: Case, function: Any) -> list[Any]:
        args, kwargs = self.arguments(case, "meta")
        return self.seen(function(*args, **kwargs), values=False)

    def drawn(self, rng: np.random.Generator, low: float, high: float, like: Any) -> Any:
        """Random numbers that every floating-point dtype has, so that they are the same in all of them."""
        numbers = np.round(rng.uniform(low, high, tuple(like.shape)) * 128) / 128
        return self.torch.from_numpy(np.asarray(numbers)).to(like.dtype)

    def weights(self, outputs: list[Any], seed: int) -> list[Any]:
        rng = np.random.default_rng(seed)
        return [self.drawn(rng, 0.5, 1.5, o) for o in outputs]

    def gradients(self, case: Case, function: Any, create_graph: bool) -> tuple[list[Any], list[Any], list[Any]]:
        args, kwargs = self.arguments(case)
        inputs = [t for t in self.tensors((args, kwargs)) if isinstance(t, self.torch.Tensor) and t.requires_grad]
        if not inputs:
            raise Skip
        result = self.processed(case, function(*args, **kwargs))
        outputs = [t for t in self.tensors(result) if isinstance(t, self.torch.Tensor) and t.requires_grad]
        if not outputs:
            return self.seen(result), inputs, []
        grads = self.torch.autograd.grad(outputs, inputs, self.weights(outputs, case.seed), create_graph=create_graph, allow_unused=True)
        return self.seen(result), inputs, list(grads)

    def backward(self, case: Case, function: Any) -> list[Any]:
        rows, _, grads = self.gradients(case, function, False)
        return rows + self.seen(grads, strides=False)

    def double_backward(self, case: Case, function: Any) -> list[Any]:
        _, inputs, grads = self.gradients(case, function, True)
        wanted = [g for g in grads if g is not None and g.requires_grad]
        # Whether a derivative that is zero everywhere is recorded, or given as None, is the formula's choice.
        seconds: Any = [None] * len(inputs)
        if wanted:
            seconds = self.torch.autograd.grad(wanted, inputs, self.weights(wanted, case.seed + 1), allow_unused=True)
        seconds = [self.torch.zeros_like(t) if g is None else g for g, t in zip(seconds, inputs)]
        return self.seen([g.detach() for g in [*grads, *seconds] if g is not None], strides=False)

    def forward_mode(self, case: Case, function: Any) -> list[Any]:
        args, kwargs = self.arguments(case)
        fw = self.torch.autograd.forward_ad
        rng = np.random.default_rng(case.seed)
        with fw.dual_level():
            def dual(t: Any) -> Any:
                if not isinstance(t, self.torch.Tensor) or not t.requires_grad:
                    return t
                return fw.make_dual(t.detach(), self.drawn(rng, -1, 1, t))

            def walk(v: Any) -> Any:
                return type(v)([walk(x) for x in v]) if type(v) in (list, tuple) else dual(v)

            args = walk(args)
            if not any([isinstance(t, Array) and t.grad for t in leaves(case.args)]):
                raise Skip
            result = self.processed(case, function(*args, **kwargs))
            parts = [fw.unpack_dual(t) for t in self.tensors(result) if isinstance(t, self.torch.Tensor)]
            return self.seen([p.primal for p in parts] + [p.tangent for p in parts], strides=False)

    def vmap(self, case: Case, function: Any) -> list[Any]:
        rng = random.Random(case.seed)
        places = [i for i, a in enumerate(case.args) if isinstance(a, Array)]
        if not places:
            raise Skip
        chosen = {i for i in places if rng.random() < 0.7} or {places[0]}
        args: list[Any] = list(case.args)
        dims: list[int | None] = [None] * len(args)
        for i in chosen:
            v = case.args[i].values
            dims[i] = rng.randrange(v.ndim + 1)
            args[i] = Array(np.stack([v, np.roll(v, 1), v], dims[i]))
        made, kwargs = self.arguments(replace(case, args=tuple(args)))
        result = self.torch.func.vmap(lambda *a: function(*a, **kwargs), in_dims=tuple(dims))(*made)
        return self.seen(result, strides=False)

    def out(self, case: Case, function: Any) -> list[Any]:
        if "out" in case.kwargs or case.path.startswith("__"):  # of a reflected operator torch ignores it
            raise Skip
        rng = random.Random(case.seed)
        args, kwargs = self.arguments(case)
        result = function(*args, **kwargs)
        if not isinstance(result, self.torch.Tensor):
            raise Skip
        kind = rng.choice(("fit", "empty", "columns", "other dtype", "bigger"))
        shape = tuple(result.shape)
        if kind == "empty":
            out = self.torch.empty(0, dtype=result.dtype)
        elif kind == "columns":
            out = self.torch.zeros(shape[::-1], dtype=result.dtype).permute(tuple(range(len(shape))[::-1]))
        elif kind == "other dtype":
            out = self.torch.zeros(shape, dtype=rng.choice((self.torch.float64, self.torch.int32, self.torch.bool)))
        else:
            out = self.torch.zeros((2, *shape) if kind == "bigger" else shape, dtype=result.dtype)
        self.torch.manual_seed(case.seed)
        args, kwargs = self.arguments(case)
        try:
            again = function(*args, **kwargs, out=out)
        except TypeError as error:
            if "unexpected" in str(error) or "invalid combination" in str(error):
                raise TypeError("no out=") from None
            raise
        # What was computed in one dtype and written to a wider one is right to the rounding of the first.
        rounded = out.to(result.dtype) if result.is_floating_point() or result.is_complex() else out
        return [("value", again is out), *self.seen(out, values=False), *self.seen(rounded, strides=False)]

    def in_place(self, case: Case, function: Any) -> list[Any]:
        name = case.path.split(".")[-1] if case.name.startswith("records/") else case.path.partition(".")[0]
        method = getattr(self.torch.Tensor, name + "_", None)
        args, kwargs = self.arguments(case)
        if method is None or not args or not isinstance(args[0], self.torch.Tensor):
            raise Skip
        target = args[0]
        if not target.dtype.is_floating_point or random.Random(case.seed).random() < 0.5:
            again = getattr(target, name + "_")(*args[1:], **kwargs)
            return [("value", again is target), *self.seen((args, kwargs))]
        leaf = target.detach().requires_grad_()
        copy = leaf.clone()
        result = getattr(copy, name + "_")(*args[1:], **kwargs)
        rows = [("value", result is copy), ("value", copy._version), *self.seen(copy)]
        if result.requires_grad:
            rows += self.seen(self.torch.autograd.grad(result, leaf, self.weights([result], case.seed)[0]), strides=False)
        return rows


# -- comparison -----------------------------------------------------------------------------------------------------


def close(expected: np.ndarray, found: np.ndarray, dtype: str, whole_scale: float = 0.0) -> bool:
    """Whether two arrays agree to the rounding of a dtype, relative to the largest finite element, or to that of the whole case."""
    tolerance = TOLERANCE.get(dtype)
    if tolerance is None:
        return bool(np.array_equal(expected, found))
    with np.errstate(all="ignore"):
        finite = np.abs(expected[np.isfinite(expected)])
        scale = float(finite.max()) if finite.size else 0.0
        if not np.isfinite(scale):
            scale = 0.0
        absolute = max(tolerance * 0.1 * scale, CANCELLED.get(dtype, 0.0) * whole_scale) + 1e-30
        return bool(np.allclose(found, expected, rtol=tolerance, atol=absolute, equal_nan=True))


def exact(case: Case, draw: int = 0) -> Case | None:
    """The case in double precision, from the same numbers; None where all of it is. With a `draw`, each number that is not is off by as
    much as rounding it may take away, up or down."""
    import torch

    narrow, rng = 0, np.random.default_rng(draw)

    def wide(value: Any) -> Any:
        nonlocal narrow
        if not isinstance(value, Array):
            name = str(value).removeprefix("torch.")
            narrow += name in WIDE
            return getattr(torch, WIDE.get(name, name))
        name, (memory, strides, offset) = value.values.dtype.name, value.memory()
        narrow += name in WIDE
        memory = memory.astype(WIDE.get(name, name))
        if draw and name in WIDE:
            memory *= 1 + LAST_PLACE[name][0] / 2 * rng.choice((-1, 1), memory.shape)
        values = np.lib.stride_tricks.as_strided(memory[offset:], value.values.shape, [n * memory.itemsize for n in strides])
        return Stored(values, "stored", value.grad, (memory, strides, offset))

    args, kwargs = tree(wide, (case.args, case.kwargs), (Array, DType, torch.dtype))
    return replace(case, args=args, kwargs=kwargs) if narrow else None


@np.errstate(invalid="ignore")
def as_near(truths: list[np.ndarray], expected: np.ndarray, found: np.ndarray, dtype: str) -> bool:
    """Whether numbers are as near to the truth, the first of `truths`, as torch's may be. The others are those of nudged
    arguments. A truth that is all smaller than torch's error would be in double precision, is 0."""
    wide = np.complex128 if dtype == "complex64" else np.float64
    truth, expected, found, *nudged = (np.asarray(a, wide) for a in (truths[0], expected, found, *truths[1:]))
    if dtype in ZERO:  # whose range is soon left: an infinity is what such a truth is rounded to
        found = np.where((np.abs(truth) > ml_dtypes.finfo(dtype).max) & (found == np.copysign(np.inf, truth)), truth, found)
    differ = (expected != found) & ~(np.isnan(expected) & np.isnan(found))
    if not (np.isfinite(truth[differ]).all() and np.isfinite(found[differ]).all()):
        return False
    finite, (unit, least) = np.isfinite(truth) & np.isfinite(found), LAST_PLACE[dtype]
    size = np.maximum(np.abs(truth[finite]), least)
    largest, error = np.abs(truth[finite]).max(initial=0.0), np.abs(expected - truth)[finite & np.isfinite(expected)].max(initial=0.0)
    zero = ZERO.get(dtype, 0.0 if dtype == "float64" else 16 * error * LAST_PLACE["float64"][0] / unit)
    allowed = min(2 * error, largest) if largest > zero else 2 * error + zero
    moves = [np.abs(other - truth)[finite] for other in nudged]
    moved = np.max([m for m in moves if m.max(initial=0.0) <= largest / 2] or [np.zeros(size.shape)], axis=0)
    last = unit * 2.0 ** np.floor(np.log2(size))
    if dtype in ZERO:
        reach, known = last / 2 + moved + zero, np.isfinite(expected[finite])
        share = (np.abs(expected - truth)[finite] / reach)[known].max(initial=1.0)
        allowed = np.minimum(allowed + moved + last + zero, 2 * share * reach)
    else:
        allowed = allowed + moved + last
    return bool((np.abs(found - truth)[finite] <= np.fmax(allowed, np.abs(expected - truth)[finite])).all())


def differences(expected: Outcome, found: Outcome, truths: Sequence[Outcome] = ()) -> list[str]:
    """How two outcomes differ, in words that are the same for differences of one kind; `truths` are what `exact` gives on torch."""
    if found.error == "missing":
        return ["missing"]
    if expected.error or found.error:
        if expected.error and found.error:
            return [] if expected.error == found.error else [f"error is {found.error}, torch's {expected.error}"]
        if found.error:
            return [f"raises {found.error}, torch does not"]
        return [f"does not raise, torch raises {expected.error}"]
    if len(expected.tensors) != len(found.tensors):
        return [f"{len(found.tensors)} results, torch {len(expected.tensors)}"]
    rows = []
    shapes = [row[0] == "tensor" and row[2] for row in expected.tensors]
    truths = [t for t in truths if [row[0] == "tensor" and row[2] for row in t.tensors] == shapes]
    for i, (e, f) in enumerate(zip(expected.tensors, found.tensors)):
        if e[0] != f[0]:
            rows.append(f"{f[0]} {f[1]!r:.20}, torch {e[0]} {e[1]!r:.20}")
        elif e[0] == "value":
            same = e[1] == f[1] or isinstance(e[1], float) and isinstance(f[1], float) and np.isclose(e[1], f[1], rtol=1e-4, equal_nan=True)
            if not same:
                rows.append("another value")
        elif e[2] != f[2]:
            rows.append("shape")
        elif e[1] != f[1]:
            rows.append(f"dtype {f[1]}, torch {e[1]}")
        elif e[4] != f[4]:
            rows.append(f"requires_grad {f[4]}")
        elif e[5] is not None and f[5] is not None and not close(e[5], f[5], e[1], expected.scale):
            if not (truths and e[1] in LAST_PLACE and as_near([t.tensors[i][5] for t in truths], e[5], f[5], e[1])):
                rows.append("values")
        elif e[3] != f[3]:
            rows.append("strides")
    return list(dict.fromkeys(rows))


def lacking(expected: Outcome, found: Outcome, case: Case) -> bool:
    """Whether torch has not the derivative that a case asks for, while there is one here: nothing to be compared with."""
    return case.mode in DERIVATIVES and not found.error and expected.text.startswith(LACKING)


def compared(real: Side, own: Side, case: Case) -> tuple[Outcome, Outcome, list[str], bool]:
    """What both sides make of a case, how they differ, and whether they agree only because ours is as near to the truth.

    Raises `Skip` where the mode does not apply."""
    expected, found = real.run(case), own.run(case)
    rows = differences(expected, found)
    if case.mode in TEXTS and not rows and expected.text.splitlines()[:1] != found.text.splitlines()[:1]:
        rows = ["another text"]
    if "values" not in rows:
        return expected, found, rows, False
    rows = differences(expected, found, truths(real, case, expected))
    return expected, found, rows, not rows


def truths(real: Side, case: Case, expected: Outcome) -> list[Outcome]:
    """What torch makes of a case in double precision, and of `DRAWS` ones beside it; nothing where all of it is in double precision, but
    for what SciPy says, and of random numbers."""
    if case.path.startswith("special.") and case.mode == "forward" and case.args[0].values.dtype.name not in WIDE:
        import scipy.special

        name = SCIPY.get(case.path, case.path.removeprefix("special."))
        values = [a.values if isinstance(a, Array) else a for a in case.args]
        if (function := getattr(scipy.special, name, None)) is None:
            return []
        rows = [np.asarray(function(*values)), *[v for v in values if isinstance(v, np.ndarray)]]
        return [Outcome(tuple([("tensor", "float64", row.shape, None, False, row) for row in rows]))]
    wide = [w for draw in range(DRAWS + 1) if (w := exact(case, draw)) is not None]
    if wide:
        real.seeds_from += 1
        again = real.run(case)
        real.seeds_from -= 1
        if differences(expected, again):
            return []
    return [real.run(w) for w in wide]
