"""One case on one side, torch or torchcompat, and the comparison of two outcomes."""

from __future__ import annotations

import random
import re
import warnings
from types import FunctionType
from typing import Any

import attrs
import numpy as np

from autograd_tape.dtypes import DType

from .cases import Array, Case, leaves, lookup, rebound

TOLERANCE = {"float64": 1e-7, "complex128": 1e-7, "float32": 2e-4, "complex64": 2e-4, "bfloat16": 1.6e-2, "float16": 2e-3}
UNSPECIFIED = ("empty", "new_empty")
"""Operations whose values are whatever lay in memory."""
UP_TO_PHASE = ("svd", "linalg.svd", "eigh", "linalg.eigh", "linalg.eig", "linalg.eigvalsh", "linalg.eigvals", "svd_lowrank", "lobpcg")
"""Decompositions that are unique only up to a phase, or not at all where values repeat: their vectors, and gradients, are not compared."""
TORCH_ERRORS = (RuntimeError, TypeError, ValueError, IndexError, NotImplementedError)


class Skip(Exception):
    """The mode does not apply to the call."""


@attrs.frozen
class Outcome:
    """What one side made of a case: what can be seen of each tensor, or an error."""

    tensors: tuple[Any, ...] = ()
    error: str = ""
    text: str = ""


class Side:
    """torch, or torchcompat, as `torch`."""

    def __init__(self, torch: Any) -> None:
        self.torch, self.ours = torch, torch.__name__ == "torchcompat"

    # -- arguments --------------------------------------------------------------------------------------------------

    def tensor(self, a: Array, device: str | None = None) -> Any:
        """A tensor with the values and layout of `a`."""
        memory, strides, offset = a.memory()
        torch, memory = self.torch, memory.copy()
        if memory.dtype.name == "bfloat16":
            flat = torch.from_numpy(memory.view(np.int16)).view(torch.bfloat16)
        else:
            flat = torch.from_numpy(memory)
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
            return self.of_database(case.path)
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

        from .cases import whole

        if not self.ours:
            return whole()[name].op
        if isinstance(function := whole()[name].op, FunctionType) and function.__module__.startswith("torch.testing"):
            return rebound(function, self.torch)
        if name.startswith("torch.ops."):
            return lookup(self.torch, name.removeprefix("torch."))
        try:
            return resolve(self.torch, whole()[name].name)
        except Missing as error:
            raise AttributeError(*error.args) from None

    # -- modes ------------------------------------------------------------------------------------------------------

    def run(self, case: Case) -> Outcome:
        """What comes of a case; `Skip` where its mode does not apply."""
        self.torch.manual_seed(case.seed)
        try:
            function = self.function(case)
        except AttributeError as error:
            return Outcome(error="missing", text=str(error))
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            try:
                rows = getattr(self, case.mode.replace(" ", "_").replace("-", "_"))(case, function)
                return Outcome(tuple(self.specified(case, rows)))
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
        return rows

    def forward(self, case: Case, function: Any) -> list[Any]:
        args, kwargs = self.arguments(case)
        rows = self.seen(self.processed(case, function(*args, **kwargs)))
        return rows + self.seen((args, kwargs), strides=False)  # nobody changes his arguments

    def processed(self, case: Case, result: Any) -> Any:
        """What of a result is compared and differentiated."""
        return rebound(case.process, self.torch)(result) if case.process else result

    errors = forward

    def meta(self, case: Case, function: Any) -> list[Any]:
        args, kwargs = self.arguments(case, "meta")
        return self.seen(function(*args, **kwargs), values=False)

    def weights(self, outputs: list[Any], seed: int) -> list[Any]:
        rng = np.random.default_rng(seed)
        made = []
        for o in outputs:
            w = rng.uniform(0.5, 1.5, tuple(o.shape))
            made.append(self.torch.from_numpy(np.asarray(w)).to(o.dtype))
        return made

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
                tangent = self.torch.from_numpy(np.asarray(rng.uniform(-1, 1, tuple(t.shape)))).to(t.dtype)
                return fw.make_dual(t.detach(), tangent)

            def walk(v: Any) -> Any:
                return type(v)([walk(x) for x in v]) if type(v) in (list, tuple) else dual(v)

            args = walk(args)
            if not any([isinstance(t, Array) and t.grad for t in leaves(case.args)]):
                raise Skip
            result = function(*args, **kwargs)
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
        made, kwargs = self.arguments(attrs.evolve(case, args=tuple(args)))
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


def close(expected: np.ndarray, found: np.ndarray, dtype: str) -> bool:
    """Whether two arrays agree to the rounding of a dtype, relative to the largest finite element."""
    tolerance = TOLERANCE.get(dtype)
    if tolerance is None:
        return bool(np.array_equal(expected, found))
    with np.errstate(all="ignore"):
        finite = np.abs(expected[np.isfinite(expected)])
        scale = float(finite.max()) if finite.size else 0.0
        if not np.isfinite(scale):
            scale = 0.0
        return bool(np.allclose(found, expected, rtol=tolerance, atol=tolerance * 0.1 * scale + 1e-30, equal_nan=True))


def differences(expected: Outcome, found: Outcome) -> list[str]:
    """How two outcomes differ, in words that are the same for differences of one kind."""
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
    for e, f in zip(expected.tensors, found.tensors):
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
        elif e[5] is not None and f[5] is not None and not close(e[5], f[5], e[1]):
            rows.append("values")
        elif e[3] != f[3]:
            rows.append("strides")
    return list(dict.fromkeys(rows))
