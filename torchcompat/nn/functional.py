"""torch.nn.functional: the operations that torch keeps here, compiled from their records at first use, and the few functions that
are no operation of their own.

An operation is here if its record says `namespace="nn.functional"` or has an alias "nn.functional.<name>".
"""

from __future__ import annotations

import math
import sys
from typing import TYPE_CHECKING, Any

import numpy as np

from autograd_tape import warned
from autograd_tape.annotations import Fn
from autograd_tape.ops import ALIASES, RECORDS
from torchcompat import _VF
from torchcompat._calls.absent import absent as _absent
from torchcompat._calls.autocast import in_float32 as _in_float32
from torchcompat._tensor import frontend as _frontend
from torchcompat.overrides import (
    handle_torch_function as handle_torch_function, has_torch_function as has_torch_function,
    has_torch_function_unary as has_torch_function_unary, has_torch_function_variadic as has_torch_function_variadic,
)
from torchcompat.overrides import overridable as _overridable
from torchcompat._tensor import Tensor

if TYPE_CHECKING:
    from torchcompat._calls.of_functional import *
    from ._attention import _canonical_mask as _canonical_mask, _none_or_dtype as _none_or_dtype
    from ._attention import multi_head_attention_forward as multi_head_attention_forward
    from ._linear_cross_entropy import linear_cross_entropy as linear_cross_entropy
    from ._scaled import ScalingType as ScalingType, SwizzleType as SwizzleType, grouped_mm as grouped_mm, scaled_mm as scaled_mm

_LATER = {**dict.fromkeys(["ScalingType", "SwizzleType", "grouped_mm", "scaled_mm"], "_scaled"),
          **dict.fromkeys(["_canonical_mask", "_in_projection", "_in_projection_packed", "_mha_shape_check", "_none_or_dtype",
                           "multi_head_attention_forward"], "_attention"),
          "linear_cross_entropy": "_linear_cross_entropy"}
"""The modules of what is imported at its first use."""


def _operation(name: str) -> str | None:
    """What the front end calls the operation that is `name` here; None where there is none."""
    dotted = f"nn.functional.{name}"
    if dotted in ALIASES:
        return dotted
    record = RECORDS.get(name)
    return name if record is not None and record.namespace == "nn.functional" else None


if not TYPE_CHECKING:  # what stands here is known, and no other name
    def __getattr__(name: str) -> Fn:
        found = _operation(name)
        if name in _LATER:
            from importlib import import_module

            value = getattr(import_module(f".{_LATER[name]}", __package__), name)
        elif found is not None:
            value = _frontend.function(found)
        elif name.endswith("_") and not name.startswith("_") and _operation(name[:-1]) is not None:
            value = getattr(_frontend, name)
        else:
            raise _absent(__name__, name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    operations = {alias.rpartition(".")[2] for alias in ALIASES if alias.startswith("nn.functional.")}
    operations |= {name for name, record in RECORDS.items() if record.namespace == "nn.functional"}
    return sorted(operations | set(_LATER) | set(globals()))


@_overridable
def gumbel_softmax(logits: Tensor, tau: float = 1, hard: bool = False, eps: float = 1e-10, dim: int = -1) -> Tensor:
    """A sample of the Gumbel-softmax distribution (Jang et al., 2017; Maddison et al., 2017).

    Args:
        logits: unnormalized log-probabilities.
        tau: temperature.
        hard: one-hot samples, whose gradient is that of the soft ones.
        eps: accepted; has no effect.
        dim: along which the softmax is taken.
    """
    if eps != 1e-10:
        warned.warn("`eps` parameter is deprecated and has no effect.")
    noise = -_frontend.empty_like(logits, memory_format="torch.contiguous_format").exponential_().log()
    soft = _frontend.softmax((logits + noise) / tau, dim)
    if not hard:
        return soft
    index = soft.max(dim, keepdim=True)[1]
    return _frontend.zeros_like(logits).scatter_(dim, index, 1.0) - soft.detach() + soft


@_overridable
def rrelu(input: Tensor, lower: float = 1.0 / 8, upper: float = 1.0 / 3, training: bool = False, inplace: bool = False) -> Tensor:
    """input where it is positive, else input times a slope (Xu et al., 2015).

    Args:
        input: any shape.
        lower, upper: bounds of the slope, which is drawn anew for each element in training, and their mean otherwise.
        training: see above.
        inplace: overwrite the input.
    """
    return (_VF.rrelu_ if inplace else _VF.rrelu)(input, lower, upper, training)


rrelu_ = _VF.rrelu_


def _interval_starts(samples: np.ndarray, size: int, out: int, window: int) -> np.ndarray:
    """Where `out` windows begin along a dimension, one row for each of `samples`: evenly but for the fractions (Graham, 2014)."""
    last = np.full((len(samples), 1), size - window)
    if out == 1:
        return last
    alpha, samples = samples.dtype.type(size - window) / samples.dtype.type(out - 1), samples[:, None]
    steps = np.arange(out - 1, dtype=samples.dtype)
    return np.concatenate([((steps + samples) * alpha).astype(np.int64) - (samples * alpha).astype(np.int64), last], 1)


def _fractional(n: int) -> tuple[Fn, Fn]:
    name, sides = f"fractional_max_pool{n}d", ("time", "height", "width")[3 - n:]

    def with_indices(input: Any, kernel_size: Any, output_size: Any = None, output_ratio: Any = None, return_indices: bool = False,
                     _random_samples: Any = None) -> tuple[Any, Any]:
        if output_size is None and output_ratio is None:
            raise ValueError(f"{name} requires specifying either an output_size or an output_ratio")
        sizes = input.shape[-n:]
        windows, outs = [(x,) * n if isinstance(x, (int, float)) or x is None else tuple(x) for x in (kernel_size, output_size)]
        if output_size is None:
            ratios = (output_ratio,) * n if isinstance(output_ratio, float) else output_ratio
            outs = tuple([int(size * ratio) for size, ratio in zip(sizes, ratios)])
        if input.dim() not in (n + 1, n + 2):
            raise RuntimeError(f"{name}(): Expected {n + 1}D or {n + 2}D tensor, but got: {list(input.shape)}")
        for side, size, out, window in zip(sides, sizes, outs, windows):
            if out + window - 1 > size:
                raise RuntimeError(f"{name}{'_out' * (n == 3)}(): pool {side} {window} too large relative to input {side} {size}")
        if input.is_complex() and (_random_samples is None or _random_samples.dtype == input.dtype):
            raise input.dtype.missing(f"{name}_out_frame")
        planes = input.shape[:-n]
        if _random_samples is None:
            _random_samples = _frontend.empty((*((1,) * (n + 2 - input.dim())), *planes, n), dtype=input.dtype).uniform_()
        elif _random_samples.dtype != input.dtype:
            raise RuntimeError("Expect _random_samples to have the same dtype as input")
        elif _random_samples.dim() != 3:
            raise RuntimeError(f"Expect _random_samples to have 3 dimensions, got {_random_samples.dim()}")
        elif _random_samples.size(0) < (1 if len(planes) == 1 else planes[0]):
            raise RuntimeError("Expect _random_samples.size(0) no less then input batch size.")
        elif _random_samples.size(1) != planes[-1]:
            raise RuntimeError("Expect _random_samples.size(1) equals to input channel size.")
        elif _random_samples.size(2) != n:
            raise RuntimeError(f"Expect _random_samples.size(2) equals to {n}; got {_random_samples.size(2)}.")
        input, _random_samples = _in_float32(input), _in_float32(_random_samples)
        drawn = _random_samples._data[:1 if len(planes) == 1 else planes[0]].reshape(math.prod(planes), n)
        picks: Any = 0
        for d, (size, out, window) in enumerate(zip(sizes, outs, windows)):
            # The first number is for the last dimension in two, and for the first one in three.
            starts = _interval_starts(drawn[:, n - 1 - d if n == 2 else d], size, out, window)
            rows = (starts[:, :, None] + np.arange(window)).reshape(len(drawn), *[1] * d, out, *[1] * (n - 1), window, *[1] * (n - 1 - d))
            picks = picks * size + rows
        picks = np.broadcast_to(picks, (len(drawn), *outs, *windows)).reshape(len(drawn), math.prod(outs), math.prod(windows))
        flat = input.flatten(-n)
        elements = flat._data.reshape(len(drawn), math.prod(sizes))
        inside = np.take_along_axis(elements, picks.reshape(len(drawn), math.prod(picks.shape[1:])), 1).reshape(picks.shape)
        chosen = np.take_along_axis(picks, np.argmax(inside, -1)[..., None], -1)
        index = _frontend.wrap(np.ascontiguousarray(chosen).reshape(*planes, math.prod(outs)))
        return flat.gather(-1, index).reshape(*planes, *outs), index.reshape(*planes, *outs)

    def function(input: Tensor, kernel_size: tuple[int, ...], output_size: tuple[int, ...] | None = None,
                 output_ratio: tuple[float, ...] | None = None, return_indices: bool = False, _random_samples: object = None) -> object:
        found = with_indices(input, kernel_size, output_size, output_ratio, return_indices, _random_samples)
        return found if return_indices else found[0]

    for made, called in ((function, name), (with_indices, f"{name}_with_indices")):
        made.__name__ = made.__qualname__ = called
        made.__doc__ = (f"The maxima of windows, whose places along the last {n} dimensions are drawn (Graham, 2014)"
                        f"{', and where they lie' * (made is with_indices)}.")
    return _overridable(function), _overridable(with_indices)


fractional_max_pool2d, fractional_max_pool2d_with_indices = _fractional(2)
fractional_max_pool3d, fractional_max_pool3d_with_indices = _fractional(3)


def _renamed(name: str, mode: str | None) -> Fn:
    def function(input: Tensor, size: object = None, scale_factor: object = None, mode: str = mode or "nearest",
                 align_corners: object = None) -> object:
        warned.warn(f"`nn.functional.{name}` is deprecated. Use `nn.functional.interpolate` instead.")
        return sys.modules[__name__].interpolate(input, size, scale_factor, mode,
                                                  True if name == "upsample_bilinear" else align_corners)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = "An old name of `interpolate`."
    return function


upsample, upsample_nearest, upsample_bilinear = (_renamed("upsample", None), _renamed("upsample_nearest", "nearest"),
                                                 _renamed("upsample_bilinear", "bilinear"))
