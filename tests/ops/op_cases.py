"""The operation records as test cases: samples, tensors made of them, and derivatives by central differences."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import autograd_tape as at
from autograd_tape import F, TensorRef
from autograd_tape.errors import AutogradError
from autograd_tape.ops import RECORDS, Record, Sample
from autograd_tape.record import DIFFERENTIABLE

NAMES = sorted(RECORDS)
DIFFERENTIABLE_NAMES = [n for n in NAMES if RECORDS[n].has_gradient or (RECORDS[n].field("function") and RECORDS[n].field("samples"))]
UNINITIALISED = frozenset(["empty", "empty_like", "empty_strided", "new_empty", "new_empty_strided"])
"""Operations whose values are left to chance."""
THROUGH: dict[str, Callable[[Any], Any]] = {"symmetric": lambda x: (x + F.transpose(x, -2, -1)) / 2,
                                            "tril": lambda x: F.tril(x) if x.shape[-1] == x.shape[-2] else x,
                                            "log_softmax": lambda x: F.log_softmax(x, -1)}
"""What leads to where a sample's operation is defined, see `Sample.through`."""


def rng_of(name: str) -> np.random.Generator:
    """A generator of its own for each operation, the same in every run and for any order of tests."""
    return np.random.default_rng(zlib.crc32(name.encode()))


def samples(rec: Record) -> list[Sample]:
    """The record's samples, all as `Sample`s."""
    field = rec.field("samples")
    assert field is not None, f"the record of {rec.name!r} has no samples; add `def samples(rng)` to it in {rec.module}"
    found = [s if isinstance(s, Sample) else Sample(tuple(s)) for s in field(rng_of(rec.name))]
    assert found, f"samples() of {rec.name!r} yields nothing"
    return found


def bind(rec: Record, sample: Sample) -> tuple[list[Any], dict[str, Any]]:
    """Positional and keyword arguments, as the schema wants them: samples may give keyword-only parameters by position."""
    if rec.field("function") is not None or rec.field("make") is not None:
        return list(sample.args), dict(sample.kwargs)
    args, kwargs = [], dict(sample.kwargs)
    for p, value in zip(rec.params, sample.args):
        if p.keyword_only:
            kwargs[p.name] = value
        else:
            args.append(value)
    return args, kwargs


def is_array(value: Any) -> bool:
    """Whether a sample's argument stands for a tensor."""
    return isinstance(value, (np.ndarray, np.generic))


def tree_map(function: Callable[[Any], Any], value: Any) -> Any:
    """`function` on the arrays and tensors within lists, tuples and dicts."""
    if isinstance(value, dict):
        return {k: tree_map(function, v) for k, v in value.items()}
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*[tree_map(function, v) for v in value])
    if isinstance(value, (list, tuple)):
        return type(value)([tree_map(function, v) for v in value])
    return function(value) if is_array(value) or isinstance(value, TensorRef) else value


def tensors(value: Any) -> list[TensorRef]:
    """All tensors within a value, in order."""
    found: list[TensorRef] = []

    def note(x: Any) -> Any:
        if isinstance(x, TensorRef):
            found.append(x)
        return x

    tree_map(note, value)
    return found


def arrays_of(value: Any) -> list[Any]:
    """All arrays within a value, in order."""
    found: list[Any] = []
    tree_map(lambda x: found.append(x), value)
    return found


def copied(value: Any) -> Any:
    """The same arguments over buffers of their own, with the layout kept."""
    return tree_map(lambda x: np.copy(x, order="K") if is_array(x) else x, value)


def as_tensors(value: Any, *, requires_grad: bool = False) -> Any:
    """Arrays as TensorRefs; floating-point and complex ones require grad if asked."""
    wanted = "fc" if requires_grad else ""
    return tree_map(lambda x: TensorRef.of(x, requires_grad=np.asarray(x).dtype.kind in wanted) if is_array(x) else x, value)


def may_require_grad(rec: Record, args: list[Any], kwargs: dict[str, Any]) -> tuple[list[Any], dict[str, Any]]:
    """The arguments but those that torch does not let require grad."""
    refused = rec.field("refuses_grad") or {}
    names = [p.name for p in rec.params]
    kept = [x for i, x in enumerate(args) if i >= len(names) or names[i] not in refused]
    return kept, {k: x for k, x in kwargs.items() if k not in refused}


def run(rec: Record, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """The operation, through the front end of TensorRef."""
    return F.function(rec.name)(*args, **kwargs)


def refuses_out(rec: Record, args: list[Any], kwargs: dict[str, Any]) -> bool:
    """Whether torch's signature for these arguments has no `out=`, as the record says."""
    refuses = rec.field("no_out")
    return refuses is not None and bool(refuses(**{**rec.defaults, **dict(zip([p.name for p in rec.params], args)), **kwargs}))


def float_outputs(result: Any) -> list[TensorRef]:
    """The outputs gradients flow from."""
    return [t for t in tensors(result) if t.dtype.is_floating_point or t.dtype.is_complex]


def weighted(t: TensorRef, w: np.ndarray) -> TensorRef:
    """A scalar of an output: the sum of its elements, of their real and imaginary parts, weighted."""
    if not t.dtype.is_complex:
        return F.sum(t * TensorRef.of(w))
    return F.sum(F.real(t) * TensorRef.of(w.real)) + F.sum(F.imag(t) * TensorRef.of(w.imag))


IN_PLACE = {name for name in NAMES if name.endswith("_")} | {"setitem"}


class Problem:
    """A scalar function of the floating-point and complex arrays of one sample: the outputs weighted by fixed cotangents and summed."""

    def __init__(self, rec: Record, sample: Sample) -> None:
        self.rec, self.through, self.of, self.no_gradient = rec, THROUGH.get(sample.through), sample.of, sample.no_gradient
        self.args, self.kwargs = tree_map(np.asarray, bind(rec, sample))
        self.inputs: list[np.ndarray] = []
        self._collect((self.args, self.kwargs))
        rng = rng_of(rec.name + "/cotangents")
        with at.no_grad():
            outputs = float_outputs(self.call(self.inputs)[1])
        self.weights = [rng.uniform(0.5, 1.5, t.shape) + (1j * rng.uniform(0.5, 1.5, t.shape) if t.dtype.is_complex else 0)
                        for t in outputs]

    def _collect(self, value: Any) -> None:
        allowed = {p.name for p in self.rec.params if p.type in DIFFERENTIABLE} if self.rec.params else set()
        names = {p.name for p in self.rec.differentiable_params} if self.rec.has_gradient else allowed

        def note(x: Any) -> Any:
            if is_array(x) and np.asarray(x).dtype in (np.float64, np.complex128):
                self.inputs.append(np.asarray(x))
            return x

        if self.rec.field("function") is not None or self.rec.field("make") is not None:
            tree_map(note, may_require_grad(self.rec, *value))
            return
        positional = [p for p in self.rec.params if not p.keyword_only]
        for p, x in [*zip(positional, self.args), *[(p, self.kwargs[p.name]) for p in self.rec.params if p.name in self.kwargs]]:
            if p.name in allowed and p.name in names:
                tree_map(note, x)

    def call(self, values: list[np.ndarray], *, requires_grad: bool = False) -> tuple[list[TensorRef], Any]:
        """(input tensors, result) with `values` in place of the inputs."""
        chosen = iter(values)
        known = [id(x) for x in self.inputs]
        made: list[TensorRef] = []

        def tensor(x: Any) -> Any:
            if not is_array(x):
                return x
            if id(x) in known:
                t = TensorRef.of(next(chosen), requires_grad=requires_grad)
                made.append(t)
                if self.rec.name in IN_PLACE:  # no leaf may be changed
                    t = t * 1
                return t if self.through is None else self.through(t)
            return TensorRef.of(np.copy(x))

        args, kwargs = tree_map(tensor, self.args), tree_map(tensor, self.kwargs)
        result = run(self.rec, args, kwargs)
        if result is None:  # what was written to
            result = args[0]
        return made, tree_map(getattr(F, self.of), result) if self.of else result

    def value(self, values: list[np.ndarray]) -> float:
        """The scalar."""
        with at.no_grad():
            outputs = float_outputs(self.call(values)[1])
        return float(sum(np.sum(w.real * t.numpy().real) + np.sum(w.imag * t.numpy().imag) for w, t in zip(self.weights, outputs)))

    def gradients(self, values: list[np.ndarray], *, create_graph: bool = False) -> tuple[list[TensorRef], list[Any]]:
        """(input tensors, gradient of the scalar with respect to each, None where it does not depend on it)."""
        inputs, result = self.call(values, requires_grad=True)
        loss = None
        for w, t in zip(self.weights, float_outputs(result)):
            if t.requires_grad:
                term = weighted(t, w)
                loss = term if loss is None else loss + term
        if loss is None:
            return inputs, [None] * len(inputs)
        return inputs, at.grad(loss, inputs, create_graph=create_graph)


def central_differences(function: Callable[[list[np.ndarray]], float], values: list[np.ndarray], step: float = 1e-5) -> list[np.ndarray]:
    """The gradient of a scalar function of several float64 arrays, and of complex ones with respect to x as d/d(re x) + i d/d(im x).

    >>> central_differences(lambda v: float(np.sum(v[0] ** 2)), [np.array([1.0, 2.0])])[0].round(6)
    array([2., 4.])
    """
    found = []
    for k, value in enumerate(values):
        rate = np.zeros(value.shape, value.dtype)
        for index in np.ndindex(value.shape):
            for direction in (1, 1j) if value.dtype.kind == "c" else (1,):
                ends = []
                for sign in (1, -1):
                    moved = np.array(value)
                    moved[index] += sign * step * direction
                    ends.append(function([*values[:k], moved, *values[k + 1:]]))
                rate[index] += direction * (ends[0] - ends[1]) / (2 * step)
        found.append(rate)
    return found


def problems(name: str) -> Iterator[Problem]:
    """One problem per sample that has a floating-point or complex input."""
    for sample in samples(RECORDS[name]):
        problem = Problem(RECORDS[name], sample)
        if problem.inputs and problem.weights:
            yield problem


def no_derivative(rec: Record) -> str:
    """Why an operation has no derivative that could be compared, after a look at whether that is so; nothing where none is found.

    It takes no tensors, or nothing but integers: floating-point numbers in their place make it fail or give none; or its values are left
    to chance; or it says itself that it has no derivative.
    """
    if rec.name in UNINITIALISED:
        return "uninitialised"
    found = [bind(rec, sample) for sample in samples(rec)]
    if not any(_arrays(args) for args in found):
        return "no tensors"
    if rec.node_name == "NotImplemented" and rec.differentiable:
        return "undefined"
    if rec.params and not any(p.differentiable for p in rec.params):
        return "integers"
    for args, kwargs in found:
        dtypes = {x.dtype for x in _arrays((args, kwargs))}
        floating = {d for d in dtypes if d.kind in "fc"}
        assert not floating or floating & {np.dtype("f8"), np.dtype("c16")}, (
            f"a sample of {rec.name} has {floating}, for which central differences are too coarse")
        given = tree_map(lambda x: TensorRef.of(np.asarray(x).astype("f8") if not floating and np.asarray(x).dtype.kind in "iu"
                                                else np.array(x)), (args, kwargs))
        try:
            result = run(rec, *given)
        except (AutogradError, TypeError, ValueError, IndexError, RuntimeError):
            continue
        if result is None or float_outputs(result):
            return ""
    return "integers"


def _arrays(value: Any) -> list[np.ndarray]:
    found: list[np.ndarray] = []
    tree_map(lambda x: found.append(np.asarray(x)), value)
    return found
