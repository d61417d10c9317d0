"""Half precision in formulas of gradients, and where vectors end."""

from __future__ import annotations

from functools import partial, wraps
from inspect import signature
from typing import Any

import numpy as np

from ..annotations import Fn, Functions
from ..dtypes import SCALAR_TYPE_NAMES, DType, bfloat16, float16, float32
from ..errors import UnsupportedDTypeError
from ..executors.halves import bare, half_ops, halves
from ..executors.kernels.halves import narrow, tabled, widened
from ..tensor import TensorRef
from ..warned import ignoring

_HALVES = {float16: float16, bfloat16: bfloat16}
_OF_CHAR = {dtype.np.char: dtype for dtype in _HALVES}


def _half(value: Any) -> DType | None:
    """The dtype of a buffer or tensor in half precision."""
    if isinstance(value, TensorRef):
        return _HALVES.get(value._k.dtype)
    dtype = getattr(value, "dtype", None)
    return None if dtype is None else _OF_CHAR.get(dtype.char) if isinstance(dtype, np.dtype) else _HALVES.get(dtype)


def in_single(formula: Fn | None = None, again: Fn | None = None, steps: bool = False) -> Any:
    """A formula, of a `vjp` field or one that makes a gradient of tensors, that computes half precision in float32 and rounds its results
    once, as torch's kernels do. It is for formulas of several steps of which the last cancels what the others have rounded, and for those
    whose steps are not torch's. As an operation on tensors it records the conversions, so that its own derivative works in float32, too;
    there the saved `result`, which was rounded, is computed `again(F, ...)` where that is given, of parameters of the formula. With
    `steps` that is all: of arrays each step is rounded, as in torch, whose derivatives of the formula have other steps than ours."""
    if formula is None:
        return partial(in_single, again=again, steps=steps)
    names = list(signature(formula).parameters)[2:] if again else []
    known = [names.index(n) for n in list(signature(again).parameters)[1:]] if again else []

    @wraps(formula)
    def wide(F: Functions, *values: Any) -> Any:
        found_halves = [_half(v) for v in values]
        half = next((h for h in found_halves if h is not None), None)
        if half is None or steps and not any([isinstance(v, TensorRef) for v in values]):
            return formula(F, *values)
        mixed = _is_single(values[0])
        if not any([isinstance(v, TensorRef) for v in values]):
            found = formula(F, *[v if h is None else widened(np.asarray(v)) for v, h in zip(values, found_halves)])
            if mixed:
                return found
            return type(found)([narrow(g, half.np) for g in found]) if isinstance(found, (tuple, list)) else narrow(found, half.np)

        def rounded(g: Any) -> Any:
            return g if g is None or mixed or (g._k.dtype if isinstance(g, TensorRef) else g.dtype) not in _SINGLES else F.cast(g, half)

        wider = [v if h is None else F.cast(v, float32) for v, h in zip(values, found_halves)]
        if again and isinstance(values[0], TensorRef):
            wider[1 + names.index("result")] = again(F, *[wider[1 + i] for i in known])
        found = formula(F, *wider)
        return type(found)([rounded(g) for g in found]) if isinstance(found, (tuple, list)) else rounded(found)

    return wide


def in_halves(formula: Fn) -> Fn:
    """A formula of a `vjp` field whose every step rounds half precision, as torch's do, of an operation that is not element-wise: arrays
    are computed with as in the formulas of those that are."""
    @wraps(formula)
    def stepwise(F: Functions, grad: Any, *values: Any) -> Any:
        if grad.__class__ is not np.ndarray or not is_half(grad):
            return formula(F, grad, *values)
        return bare(formula(half_ops(F), halves(grad), *[halves(v) for v in values]))

    return stepwise


def _root_rounded_once(input: np.ndarray) -> np.ndarray:
    with ignoring():
        return narrow(np.reciprocal(np.sqrt(widened(input))), input.dtype)


def _root_rounded_twice(input: np.ndarray) -> np.ndarray:
    with ignoring():
        return narrow(np.reciprocal(widened(narrow(np.sqrt(widened(input)), input.dtype))), input.dtype)


_once, _twice = tabled(_root_rounded_once), tabled(_root_rounded_twice)


def reciprocal_root(input: np.ndarray, block: int = 32) -> np.ndarray:
    """1 / sqrt(input) of half precision, as torch rounds it: once where `block` elements in a row fill its vectors. Of those left over, and
    of those that are not in a row, the root is rounded, too."""
    if input.ndim > 1 and input.flags.f_contiguous and not input.flags.c_contiguous:  # columns are rows of the transposed
        return reciprocal_root(input.T, block).T
    if not input.flags.c_contiguous or not input.ndim:
        ordered = input.transpose(sorted(range(input.ndim), key=lambda axis: -input.strides[axis]))
        if not input.ndim or not ordered.flags.c_contiguous:
            return np.asarray(_twice(input))
        return reciprocal_root(ordered, block).transpose(np.argsort(sorted(range(input.ndim), key=lambda axis: -input.strides[axis])))
    over = input.size % block
    if over == input.size:
        return np.asarray(_twice(input))
    once: np.ndarray = _once(input)
    if over:
        once.reshape(-1)[-over:] = _twice(input.reshape(-1)[-over:])
    return once


_SINGLES = (float32, float32.np)


def _is_single(grad: Any) -> bool:
    """Whether a cotangent, a buffer or tensor, is of float32: the result is, because of an operand, and so are gradients."""
    return (grad._k.dtype if isinstance(grad, TensorRef) else getattr(grad, "dtype", None)) in _SINGLES


def is_half(value: Any) -> bool:
    """Whether a buffer or tensor is of half precision."""
    return _half(value) is not None


def no_half(kernel: str, value: Any) -> None:
    """Raises torch's error where `kernel`, of a gradient or a tangent, does not take half precision: NotImplementedError."""
    if (half := _half(value)) is not None:
        raise UnsupportedDTypeError(f"\"{kernel}\" not implemented for '{SCALAR_TYPE_NAMES[half.name]}'", remedy="convert the tensor first")
