"""Functions that make tensors."""

from __future__ import annotations

from typing import Any

from autograd_tape.dtypes import int64

from .._graph import Graph, Operand, Val, refuse
from .._table import row


def filled(g: Graph, value: Operand) -> Val:
    """The result's shape full of a number."""
    dtype, shape = g.out[0].dtype, g.result_shape()
    number = g.scalar(value, dtype)
    return g.op("Expand", number, shape) if shape else g.op("Identity", number)


@row("zeros", "empty", "zeros_like", "empty_like", "new_zeros", "new_empty")
def zeros(g: Graph, size: object = None, input: object = None, self: object = None, dtype: object = None) -> Val:
    return filled(g, 0)


@row("ones", "ones_like", "new_ones")
def ones(g: Graph, size: object = None, input: object = None, self: object = None, dtype: object = None) -> Val:
    return filled(g, 1)


@row("full", "full_like", "new_full")
def full(g: Graph, fill_value: Operand, size: object = None, input: object = None, self: object = None, dtype: object = None) -> Val:
    return filled(g, fill_value)


@row("arange", "range")
def arange(g: Graph, start: Operand, end: Operand | None = None, step: Operand = 1, dtype: object = None) -> Val:
    if end is None:
        start, end = 0, start
    kind = g.out[0].dtype
    if g.step.name == "range":
        end = end + step
    if kind.name not in ("float32", "float64", "int16", "int32", "int64"):
        raise refuse(f"ONNX has no Range of {kind.name}") if kind.is_complex else refuse(f"arange of {kind.name} with sizes that vary")
    return g.op("Range", *[g.scalar(v, kind) for v in (start, end, step)])


@row("linspace")
def linspace(g: Graph, start: Operand, end: Operand, steps: Operand, dtype: object = None) -> Val:
    kind = g.out[0].dtype
    places = g.op("Range", *[g.scalar(v, int64) for v in (0, steps, 1)]).to(kind)
    return places * ((g.scalar(end, kind) - g.scalar(start, kind)) / (g.scalar(steps, kind) - 1)) + g.scalar(start, kind)


@row("eye")
def eye(g: Graph, n: Operand, m: Any = None, dtype: object = None) -> Val:
    return g.op("EyeLike", filled(g, 0))


@row("tensor", "as_tensor", "scalar_tensor")
def tensor(g: Graph, data: Any = None, s: Any = None, dtype: object = None) -> Val:
    kind = g.out[0].dtype
    value = s if data is None else data
    if not isinstance(value, (list, tuple)):
        return value.to(kind) if isinstance(value, Val) else g.scalar(value, kind)
    shape, flat = list(g.result_shape()), [value]
    for _ in shape:
        flat = [x for part in flat for x in part]
    parts = [g.op("Reshape", g.scalar(x, kind), [1]) for x in flat]
    return g.op("Reshape", g.op("Concat", *parts, axis=0, dtype=kind), shape)


def _drawn(g: Graph, op: str, **attributes: Any) -> Val:
    return g.op(op, filled(g, 0), **attributes)


@row("rand", "rand_like", random=True)
def rand(g: Graph, size: object = None, input: object = None, dtype: object = None) -> Val:
    return _drawn(g, "RandomUniformLike", low=0.0, high=1.0)


@row("randn", "randn_like", random=True)
def randn(g: Graph, size: object = None, input: object = None, dtype: object = None) -> Val:
    return _drawn(g, "RandomNormalLike", mean=0.0, scale=1.0)


@row("bernoulli", random=True)
def bernoulli(g: Graph, input: Val, p: Operand | None = None) -> Val:
    return g.op("Bernoulli", input if p is None else input * 0 + p, dtype=input.dtype)


@row("fill")
def fill(g: Graph, input: Val, value: Operand) -> Val:
    return g.op("Expand", g.scalar(value, input.dtype), g.shape(input))


@row("zero")
def zero(g: Graph, input: Val) -> Val:
    return g.op("Expand", g.const(0, input.dtype), g.shape(input))


@row("copy")
def copy(g: Graph, input: Val, other: Val) -> Val:
    return g.op("Expand", other.to(input.dtype), g.shape(input))
