"""Derivatives of samples of a function, and what is taken together of segments of a tensor."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...annotations import Functions
from ...dims import normalize_dims, wrap_dim
from ...dtypes import as_bits
from ...errors import AutogradError, IndexRangeError
from ...executors.kernels.elementwise import with_number
from ...executors.kernels.pairs import halved
from ...functions.out import OutRule
from ...functions.overloads import no_match
from ...record import Sample, op
from ...tensor import TensorRef
from .._host import on_host
from .running import times

_GRADIENT = ("Tensor input, *, tuple of ints dim, int edge_order = 1",
             "Tensor input, *, Number spacing, tuple of ints dim, int edge_order = 1",
             "Tensor input, *, Number spacing = None, int dim = None, int edge_order = 1",
             "Tensor input, *, tuple of Scalars spacing, int dim = None, int edge_order = 1",
             "Tensor input, *, tuple of Scalars spacing, tuple of ints dim, int edge_order = 1",
             "Tensor input, *, tuple of Tensors spacing, int dim = None, int edge_order = 1",
             "Tensor input, *, tuple of Tensors spacing, tuple of ints dim, int edge_order = 1")
_NUMBERS = (int, float, complex, np.number)


def _check_lengths(input: TensorRef, spacing: Any, dim: Any) -> None:
    if not isinstance(spacing, (list, tuple)):
        return
    if dim is None and len(spacing) != input.ndim:
        raise AutogradError("torch.gradient expected spacing to be unspecified, a scalar, or a list of length equal to 'self.dim() = "
                            f"{input.ndim}', since dim argument was not given, but got a list of length {len(spacing)}")
    count = 1 if isinstance(dim, int) else len(dim or spacing)
    if len(spacing) != count:
        raise AutogradError("torch.gradient expected spacing to be unspecified, a scalar or it's spacing and dim arguments to have the "
                            f"same length, but got a spacing argument of length {len(spacing)} and a dim argument of length {count}.")


def _derivative(F: Functions, x: TensorRef, d: int, spacing: Any, edge_order: int) -> TensorRef:
    """The derivative along a dimension of values that lie `spacing` apart, or at these places: differences to both sides, to one side at
    the edges."""
    n = x.shape[d]

    def part(start: int, stop: int) -> TensorRef:
        return F.slice(x, d, start, stop)

    if not isinstance(spacing, TensorRef):
        middle = F.div(F.div(F.sub(part(2, n), part(0, n - 2)), spacing), 2)
        if edge_order == 1:
            first, last = F.sub(part(1, 2), part(0, 1)), F.sub(part(n - 1, n), part(n - 2, n - 1))
        else:
            first = F.sub(F.mul(part(1, 2), 2), F.add(F.mul(part(0, 1), 1.5), F.mul(part(2, 3), 0.5)))
            last = F.add(F.sub(F.mul(part(n - 1, n), 1.5), F.mul(part(n - 2, n - 1), 2)), F.mul(part(n - 3, n - 2), 0.5))
        return F.cat([F.div(first, spacing), middle, F.div(last, spacing)], d)
    steps = F.diff(spacing)
    before, after = F.slice(steps, 0, 0, n - 2), F.slice(steps, 0, 1, n - 1)
    both = F.add(before, after)

    def along(weights: TensorRef) -> TensorRef:
        return F.reshape(weights, [-1 if e == d else 1 for e in range(x.ndim)])

    terms = (F.mul(along(F.div(F.neg(after), F.mul(before, both))), part(0, n - 2)),
             F.mul(along(F.div(F.sub(after, before), F.mul(before, after))), part(1, n - 1)),
             F.mul(along(F.div(before, F.mul(after, both))), part(2, n)))
    middle = F.add(F.add(terms[0], terms[1]), terms[2])
    if edge_order == 1:
        first = F.div(F.sub(part(1, 2), part(0, 1)), along(F.slice(steps, 0, 0, 1)))
        last = F.div(F.sub(part(n - 1, n), part(n - 2, n - 1)), along(F.slice(steps, 0, n - 2, n - 1)))
    else:
        first = _at_edge(F, *[along(F.slice(steps, 0, i, i + 1)) for i in (0, 1)], *[part(i, i + 1) for i in range(3)])
        last = F.neg(_at_edge(F, *[along(F.slice(steps, 0, n - i, n - i + 1)) for i in (2, 3)],
                              *[part(n - i, n - i + 1) for i in (1, 2, 3)]))
    return F.cat([first, middle, last], d)


def _at_edge(F: Functions, near: TensorRef, far: TensorRef, x0: TensorRef, x1: TensorRef, x2: TensorRef) -> TensorRef:
    """The derivative at the first of three values, by the parabola through them."""
    both = F.add(near, far)
    a = F.div(F.add(F.mul(near, 2), far), F.mul(near, both))
    b, c = F.div(both, F.mul(near, far)), F.div(near, F.mul(far, both))
    return F.sub(F.mul(b, x1), F.add(F.mul(a, x0), F.mul(c, x2)))


def _derivative_of(x: np.ndarray, d: int, spacing: float, edge_order: int) -> np.ndarray:
    """`_derivative` of a plain array, in rows, with a number as spacing."""
    found, before, half = np.empty(x.shape, x.dtype), (slice(None),) * d, x.itemsize == 2

    def part(start: int | None, stop: int | None) -> np.ndarray: return x[(*before, slice(start, stop))]
    def less(a: np.ndarray, b: np.ndarray) -> np.ndarray: return halved(np.subtract, a, b) if half else np.subtract(a, b)

    def put(place: slice, value: np.ndarray, half_of: bool = False) -> None:
        if spacing != 1:
            value = with_number(np.divide, value, spacing, False) if half else value / x.dtype.type(spacing)
        if half_of:
            value = times(value, 0.5)
        as_bits(found)[(*before, place)] = as_bits(value)

    put(slice(1, -1), less(part(2, None), part(0, -2)), True)
    if edge_order == 1:
        first, last = less(part(1, 2), part(0, 1)), less(part(-1, None), part(-2, -1))
    else:
        first = less(times(part(1, 2), 2), np.add(times(part(0, 1), 1.5), times(part(2, 3), 0.5)))
        last = np.add(less(times(part(-1, None), 1.5), times(part(-2, -1), 2)), times(part(-3, -2), 0.5))
    put(slice(0, 1), first)
    put(slice(-1, None), last)
    return found


@op("gradient(Tensor input, *, Any spacing=None, Any dim=None, int edge_order=1) -> Tensor[]", out=False, method=False)
class gradient:
    """The derivatives along dimensions of a function whose values `input` has, `spacing` apart.

    >>> torch.gradient(torch.tensor([1., 2., 4., 8.]))
    (tensor([1.0000, 1.5000, 3.0000, 4.0000]),)
    """

    def quick(input, spacing, dim, edge_order):
        shape, step = input.shape, 1 if spacing is None else spacing
        if input.dtype.char in "fdeE" and (step.__class__ is int or step.__class__ is float) and edge_order in (1, 2) and (
                dim is None or dim.__class__ is int) and (input.flags.c_contiguous or input.ndim < 4):
            dims = range(len(shape)) if dim is None else (wrap_dim(dim, len(shape)),)
            if dims and min([shape[d] for d in dims]) > edge_order and input.size:
                return tuple([_derivative_of(input, d, step, edge_order) for d in dims])

    def function(F, input, *, spacing=None, dim=None, edge_order=1):
        each = isinstance(spacing, (list, tuple))
        if spacing is not None and not each and not isinstance(spacing, _NUMBERS) and not (
                isinstance(spacing, TensorRef) and not spacing.ndim):
            shown = ["Tensor", *(["dim=" + type(dim).__name__] if dim is not None else []),
                     f"spacing={'Tensor' if isinstance(spacing, TensorRef) else type(spacing).__name__}"]
            raise no_match("gradient", _GRADIENT, [input], shown)
        if input._k.dtype.name == "uint8":
            raise AutogradError("torch.gradient does not support uint8 input.")
        _check_lengths(input, spacing, dim)
        if edge_order not in (1, 2):
            raise AutogradError("torch.gradient only supports edge_order=1 and edge_order=2.")
        dims = range(input.ndim) if dim is None else normalize_dims(dim, input.ndim) or ()
        for d in dims:
            if input.shape[d] < edge_order + 1:
                raise AutogradError("torch.gradient expected each dimension size to be at least edge_order+1")
        found = []
        for i, d in enumerate(dims):
            step = spacing[i] if each else 1 if spacing is None else spacing
            if isinstance(step, TensorRef) and each and step.ndim != 1:
                raise AutogradError("torch.gradient expected each element of spacing to have one dimension, but got an element with "
                                    f"{step.ndim} dimensions!")
            if isinstance(step, TensorRef) and not step.ndim:
                step = step.item()
            found.append(_derivative(F, input, d, step, edge_order))
        return tuple(found)

    def samples(rng):
        yield (rng.standard_normal((3, 4)),)
        yield Sample((rng.standard_normal((4, 3)),), {"dim": 0, "edge_order": 2, "spacing": 2.0})

    def errors(rng):
        yield (np.ones((1, 3)),), RuntimeError, "torch.gradient expected each dimension size to be at least edge_order+1"


def _hashed(input: np.ndarray, dim: Any, keepdim: bool, mode: int) -> np.ndarray:
    shape = input.shape
    dims = (dim,) if dim.__class__ is int and 0 <= dim < input.ndim else normalize_dims(dim, input.ndim)
    if input.dtype.kind == "c" or mode or 0 in shape and (dims is None or 0 in [shape[d] for d in dims]):
        raise ValueError  # the general path says why
    if dims is not None and 0 in shape:
        return np.zeros([1 if d in dims else n for d, n in enumerate(shape) if keepdim or d not in dims], np.uint64)
    flat = not keepdim and (dims is None or input.ndim - len(dims) < 2)  # in whose memory there is one order only
    bits: np.ndarray
    if input.dtype.kind not in "fV":
        bits = input.astype(np.int64, copy=not flat)
    else:
        bits = input.astype(np.float64, copy=False) if flat else np.ascontiguousarray(input, np.float64).reshape(shape)
    return np.bitwise_xor.reduce(bits.view(np.uint64), dims, keepdims=keepdim)


@op("hash_tensor(Tensor input, int[]? dim=(), *, bool keepdim=False, int mode=0) -> Tensor", quiet="all", dtypes="float int bool",
    complex="xor_sum_cpu", differentiable=False)
class hash_tensor:
    """The bits of all elements, or of those along dimensions, as 64-bit numbers, combined by exclusive or.

    >>> torch.hash_tensor(torch.tensor([1, 2, 4]))
    tensor(7, dtype=torch.uint64)
    """

    out_dtype = OutRule("Expected result to be of dtype uint64, but got {found}")
    lacks = {"uint float8": "xor_sum_cpu"}
    numpy = _hashed
    compose = on_host(_hashed)

    def check(input, dim, keepdim, mode):
        if mode:
            raise AutogradError(f"Unknown hash_tensor mode: {mode}")
        if not input._data.size:
            dims = normalize_dims(dim, input.ndim)
            if dims is None:
                raise AutogradError("hash_tensor: Expected reduction dim to be specified for input.numel() == 0. Specify the reduction dim "
                                    "with the 'dim' argument.")
            for d in dims:
                if not input.shape[d]:
                    raise IndexRangeError(f"hash_tensor: Expected reduction dim {d} to have non-zero size.")

    def samples(rng):
        yield (rng.integers(0, 9, (2, 3)),)
        yield rng.standard_normal((2, 3)), 1
        yield np.ones((0, 3)), 1
