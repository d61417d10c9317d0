"""The operation records as test cases: samples, tensors made of them, and derivatives by central differences."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import autograd_tape as at
from autograd_tape import F, TensorRef
from autograd_tape.ops import RECORDS, Record, Sample
from autograd_tape.ops._record import DIFFERENTIABLE

NAMES = sorted(RECORDS)
DIFFERENTIABLE_NAMES = [n for n in NAMES if RECORDS[n].has_gradient or (RECORDS[n].field("function") and RECORDS[n].field("samples"))]


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


def copied(value: Any) -> Any:
    """The same arguments over buffers of their own, with the layout kept."""
    return tree_map(lambda x: np.copy(x, order="K") if is_array(x) else x, value)


def as_tensors(value: Any, *, requires_grad: bool = False) -> Any:
    """Arrays as TensorRefs; floating-point ones require grad if asked."""
    return tree_map(lambda x: TensorRef.of(x, requires_grad=requires_grad and np.asarray(x).dtype.kind == "f") if is_array(x) else x, value)


def run(rec: Record, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """The operation, through the front end of TensorRef."""
    return F.function(rec.name)(*args, **kwargs)


def float_outputs(result: Any) -> list[TensorRef]:
    """The outputs gradients flow from."""
    return [t for t in tensors(result) if t.dtype.is_floating_point]


class Problem:
    """A scalar function of the floating-point arrays of one sample: the outputs weighted by fixed cotangents and summed."""

    def __init__(self, rec: Record, sample: Sample) -> None:
        self.rec = rec
        self.args, self.kwargs = tree_map(np.asarray, bind(rec, sample))
        self.inputs: list[np.ndarray] = []
        self._collect((self.args, self.kwargs))
        rng = rng_of(rec.name + "/cotangents")
        with at.no_grad():
            outputs = float_outputs(self.call(self.inputs)[1])
        self.weights = [rng.uniform(0.5, 1.5, t.shape) for t in outputs]

    def _collect(self, value: Any) -> None:
        allowed = {p.name for p in self.rec.params if p.type in DIFFERENTIABLE} if self.rec.params else set()
        names = {p.name for p in self.rec.differentiable_params}

        def note(x: Any) -> Any:
            if is_array(x) and np.asarray(x).dtype == np.float64:
                self.inputs.append(np.asarray(x))
            return x

        if self.rec.field("function") is not None or self.rec.field("make") is not None:
            tree_map(note, value)
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
                return t
            return TensorRef.of(np.copy(x))

        args, kwargs = tree_map(tensor, self.args), tree_map(tensor, self.kwargs)
        return made, run(self.rec, args, kwargs)

    def value(self, values: list[np.ndarray]) -> float:
        """The scalar."""
        with at.no_grad():
            outputs = float_outputs(self.call(values)[1])
        return float(sum(np.sum(w * t.numpy()) for w, t in zip(self.weights, outputs)))

    def gradients(self, values: list[np.ndarray], *, create_graph: bool = False) -> tuple[list[TensorRef], list[Any]]:
        """(input tensors, gradient of the scalar with respect to each, None where it does not depend on it)."""
        inputs, result = self.call(values, requires_grad=True)
        loss = None
        for w, t in zip(self.weights, float_outputs(result)):
            if t.requires_grad:
                term = F.sum(t * TensorRef.of(w))
                loss = term if loss is None else loss + term
        if loss is None:
            return inputs, [None] * len(inputs)
        return inputs, at.grad(loss, inputs, create_graph=create_graph)


def central_differences(function: Callable[[list[np.ndarray]], float], values: list[np.ndarray], step: float = 1e-5) -> list[np.ndarray]:
    """The gradient of a scalar function of several float64 arrays.

    >>> central_differences(lambda v: float(np.sum(v[0] ** 2)), [np.array([1.0, 2.0])])[0].round(6)
    array([2., 4.])
    """
    found = []
    for k, value in enumerate(values):
        rate = np.zeros(value.shape)
        for index in np.ndindex(value.shape):
            ends = []
            for sign in (1, -1):
                moved = np.array(value)
                moved[index] += sign * step
                ends.append(function([*values[:k], moved, *values[k + 1:]]))
            rate[index] = (ends[0] - ends[1]) / (2 * step)
        found.append(rate)
    return found


def problems(name: str) -> Iterator[Problem]:
    """One problem per sample that has a floating-point input."""
    for sample in samples(RECORDS[name]):
        problem = Problem(RECORDS[name], sample)
        if problem.inputs and problem.weights:
            yield problem
