"""Resampling of images: nearest, linear, cubic, Lanczos and area interpolation.

Every kind is separable: along one dimension after the other, output i is a weighted sum of a few inputs. A table of their
indices and weights is all that tells the kinds apart.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from math import floor, prod
from typing import Any

import numpy as np

from ... import warned
from ...errors import AutogradError
from ...functions.refusals import no_kernel
from ...executors.kernels import sampling
from ...executors.kernels._on_demand import contiguous, is_half, state
from ...executors.kernels.elementwise import takes_half
from ...record import Sample, op
from ...strided import in_format, suggests_channels_last
from ...executors.kernels.halves import narrow as narrowed, widened
from .. import _batch as batches
from ._axes import along_axes, table_matrix
from ._windows import settled
from ...annotations import Functions
from ...tensor import TensorRef

_SPATIAL = {"linear": 1, "bilinear": 2, "bicubic": 2, "trilinear": 3, "lanczos": 2}
#: Weights from which on a matrix of them is not kept.
_KEPT = 1 << 20
#: How many weights are multiplied by in the time that a tap takes, in vectors and alone.
_VECTORS, _ONE_BY_ONE = 5, 20
#: Elements from which on that is looked at.
_SOME = 1 << 14


# -- weighted sums along one dimension --------------------------------------------------------------------------------


def _along(input: np.ndarray, dim: int, index: "Table", weight: "Table | None", length: int) -> np.ndarray:
    if input.dtype == np.uint8 and weight is not None:  # as torch, in fixed point, rounded after each dimension
        taps = weight[:]
        top, bits = float(taps.max()), 0
        while bits < 22 and int(0.5 + top * (2 << bits)) < 1 << 15:
            bits += 1
        fixed = np.trunc(taps * (1 << bits) + np.copysign(0.5, taps)).astype(np.int64)
        sums = _along(input.astype(np.int64), dim, index, Table(fixed), length) + (1 << (bits - 1))
        return np.clip(sums >> bits, 0, 255).astype(np.uint8)
    if weight is not None and input.dtype.char in "fd":
        last = _innermost(input)
        found = sampling.resampled(contiguous(input if last is None else last), dim if last is None else dim - 1, index.array,
                                   weight.like(input.dtype))
        if found is not None:
            return found if last is None else _first(found)
    shape = [1] * input.ndim
    shape[dim] = len(index)
    total = None
    for tap in range(index.shape[1]):
        part = np.take(input, index[:, tap], dim)
        if weight is not None:
            part *= weight[:, tap].astype(input.dtype).reshape(shape)
        total = part if total is None else np.add(total, part, total)
    total = np.ascontiguousarray(total)
    return in_format(input.ndim - 2, total, input) if input.ndim > 3 else total


def _along_grad(grad: np.ndarray, dim: int, index: "Table", weight: "Table | None", length: int) -> np.ndarray:
    dim %= grad.ndim
    last = None if index.in_rows or weight is None and grad.ndim > 4 else _innermost(grad)
    g, dim = (contiguous(grad), dim) if last is None else (contiguous(last), dim - 1)
    shape = (*g.shape[:dim], length, *g.shape[dim + 1:])
    if g.size >= max(_SOME, state.fused) and g.dtype.char in "fd" and (
            taps := _taps_back(index, weight, length, g.dtype, dim == g.ndim - 1)) is not None:
        found = sampling.resampled(g, dim, *taps)
        if found is not None:
            return found if last is None else _first(found)
    matrix = _matrix(index, weight, length, g.dtype)
    if dim == g.ndim - 1:
        made = g.reshape(prod(shape[:dim]), g.shape[dim]).dot(matrix).reshape(shape)
    else:
        made = np.matmul(matrix.T, g.reshape(prod(shape[:dim]), g.shape[dim], prod(shape[dim + 1:]))).reshape(shape)
    return made if last is None else _first(made)


def _innermost(x: np.ndarray) -> np.ndarray | None:
    """Images (N, C, ...) as (N, ..., C) where their channels lie innermost, as those of what becomes of them do in torch."""
    if x.ndim < 4 or x.flags.c_contiguous and x.strides[1] > x.strides[-1] or not suggests_channels_last(x):
        return None
    return x.transpose(0, *range(2, x.ndim), 1)


def _first(x: np.ndarray) -> np.ndarray:
    """(N, ..., C) as (N, C, ...)."""
    return x.transpose(0, x.ndim - 1, *range(1, x.ndim - 1))


def _matrix(index: "Table", weight: "Table | None", length: int, dtype: np.dtype) -> np.ndarray:
    """(outputs, length), the weights of the taps; kept with the table of their indices."""
    kept = index.matrices.get((weight, length, dtype.char))
    if kept is None:
        kept = np.zeros((len(index), length), dtype)
        for tap in range(index.shape[1]):
            np.add.at(kept, (np.arange(len(index)), index[:, tap]), 1 if weight is None else weight[:, tap])
        if kept.size < _KEPT:
            index.matrices[weight, length, dtype.char] = kept
    return kept


def _taps_back(index: "Table", weight: "Table | None", length: int, dtype: np.dtype, one_by_one: bool
               ) -> tuple[np.ndarray, np.ndarray] | None:
    """Of what each of `length` elements has become a part, and by what weight, as taps (length, most of them); None where it takes less to
    multiply by all weights: those are so many vectors, and taps vectors too, but for elements that go `one_by_one`."""
    key = weight, length, dtype.char
    if key not in index.back:
        m, shares = len(index), np.ones(index.shape) if weight is None else weight[:]
        pairs, where = np.unique(index[:] * m + np.arange(m)[:, None], return_inverse=True)  # which elements are parts of which outputs
        whole = np.bincount(where.reshape(-1), shares.reshape(-1))
        pairs, whole = pairs[whole != 0], whole[whole != 0]
        counts = np.bincount(pairs // m, minlength=length)
        at = pairs // m, np.arange(len(pairs)) - (np.cumsum(counts) - counts)[pairs // m]
        outputs = np.zeros((length, max(1, counts.max(initial=0))), np.int64)
        weights = np.zeros(outputs.shape, dtype)
        outputs[at], weights[at] = pairs % m, whole
        index.back[key] = outputs, weights
    found = index.back[key]
    return found if found[0].shape[1] * (_ONE_BY_ONE if one_by_one else _VECTORS) <= len(index) else None


@takes_half
def _resample(input: np.ndarray, steps: "Steps") -> np.ndarray:
    narrow = is_half(input.dtype) and any([weight is not None for _, _, weight, _ in steps])
    y = widened(input) if narrow else input  # rounded once, not along each axis
    for step in steps:
        y = _along(y, *step)
    return narrowed(y, input.dtype) if narrow else y


@takes_half
def _resample_grad(input: np.ndarray, steps: "Steps") -> np.ndarray:
    narrow = is_half(input.dtype)
    dx = widened(input) if narrow else input
    for step in steps[::-1]:
        dx = _along_grad(dx, *step)
    return narrowed(dx, input.dtype) if narrow else dx


def _sharded(call: Any) -> Any:
    """The dimensions before those that are resampled stay whole."""
    return call.leading(len(call.shape("input")) - min([dim for dim, *_ in call["steps"]]))


@op("resample(Tensor input, Any steps) -> Tensor", namespace="_internal", method=False, out=False, node="UpsampleBackward0",
    complex="compute_indices_weights_linear")
class resample:
    """Step by step along a dimension `dim` (of size `length`), element i is the sum over taps t of weight[i, t] * input[index[i, t]]."""

    sharding = _sharded
    numpy = _resample
    def shape(input, steps):
        sizes = {dim: len(index) for dim, index, _, _ in steps}
        return tuple([sizes.get(d, n) for d, n in enumerate(input)])
    def compose(F, input, steps):
        for dim, index, weight, length in steps:
            moved = along_axes(F, F.transpose(input, dim, input.ndim - 1), [table_matrix(length, index, weight)])
            input = F.transpose(moved, dim, input.ndim - 1)
        return input
    def vjp_input(F, grad, steps): return F.resample_grad(grad, steps)
    jvp = "linear"
    batch = batches.images
    def samples(rng): yield rng.standard_normal((2, 3, 2)), _SAMPLE


@op("resample_grad(Tensor input, Any steps) -> Tensor", namespace="_internal", method=False, out=False)
class resample_grad:
    """The transpose of `resample`."""

    sharding = _sharded
    numpy = _resample_grad
    def shape(input, steps):
        sizes = {dim: length for dim, _, _, length in steps}
        return tuple([sizes.get(d, n) for d, n in enumerate(input)])
    def compose(F, input, steps):
        for dim, index, weight, length in steps[::-1]:
            moved = along_axes(F, F.transpose(input, dim, input.ndim - 1), [table_matrix(length, index, weight).T])
            input = F.transpose(moved, dim, input.ndim - 1)
        return input
    def vjp_input(F, grad, steps): return F.resample(grad, steps)
    jvp = "linear"
    batch = batches.images
    def samples(rng): yield rng.standard_normal((2, 4, 3)), _SAMPLE


class Table:
    """An array that is an argument but no tensor. Torch lays gradients of some, `in_rows`, out in rows, and other images as they are."""

    __slots__ = ("array", "back", "in_rows", "kept", "matrices")

    def __init__(self, array: np.ndarray, in_rows: bool = False) -> None:
        self.array, self.in_rows = array, in_rows
        self.kept: dict[str, np.ndarray] = {}
        self.matrices: dict[tuple[Table | None, int, str], np.ndarray] = {}
        self.back: dict[tuple[Table | None, int, str], tuple[np.ndarray, np.ndarray]] = {}

    def like(self, dtype: np.dtype) -> np.ndarray:
        """The array in a dtype, which is kept."""
        found = self.kept.get(dtype.char)
        if found is None:
            found = self.kept[dtype.char] = np.ascontiguousarray(self.array, dtype)
        return found

    def __len__(self) -> int:
        return len(self.array)

    @property
    def shape(self) -> tuple[int, ...]:
        return self.array.shape

    def __getitem__(self, key: slice | tuple[slice | int, ...]) -> np.ndarray:
        return self.array[key]


def _table(rows: list[list[int]]) -> Table:
    return Table(np.array(rows, np.int64))


def _weights(rows: list[list[float]]) -> Table:
    return Table(np.array(rows, np.float64))


Steps = tuple[tuple[int, Table, Table | None, int], ...]
"""The dimension, indices and weights of its taps, and its size, for each dimension that changes."""
_SAMPLE: Steps = ((2, _table([[0, 1], [1, 1], [0, 1]]), None, 2), (1, _table([[0, 1], [1, 2], [2, 2], [0, 2]]), _weights(
    [[0.5, 0.5], [0.3, 0.7], [1, 0], [2, 1]]), 3))


# -- where the taps lie -----------------------------------------------------------------------------------------------


def _cubic(t: np.ndarray) -> np.ndarray:
    """Keys' kernel at distance `t` (IEEE Trans. ASSP 29, 1981) with a = -0.75."""
    a, t = -0.75, np.abs(t)
    near, far = ((a + 2) * t - (a + 3)) * t * t + 1, ((a * t - 5 * a) * t + 8 * a) * t - 4 * a
    return np.where(t <= 1, near, np.where(t < 2, far, 0))


def _antialiased_cubic(t: np.ndarray) -> np.ndarray:
    a, t = -0.5, np.abs(t)
    near, far = ((a + 2) * t - (a + 3)) * t * t + 1, (((t - 5) * t + 8) * t - 4) * a
    return np.where(t < 1, near, np.where(t < 2, far, 0))


def _triangle(t: np.ndarray) -> np.ndarray:
    return np.maximum(1 - np.abs(t), 0)


def _lanczos(t: np.ndarray) -> np.ndarray:
    return np.where(np.abs(t) < 3, np.sinc(t) * np.sinc(t / 3), 0)


_FILTERS: dict[str, tuple[Callable[[np.ndarray], np.ndarray], int]] = {"bilinear": (_triangle, 1), "bicubic": (_antialiased_cubic, 2),
                                                                       "lanczos": (_lanczos, 3)}


@lru_cache(maxsize=256)
def _taps(mode: str, n: int, m: int, align_corners: bool, scale: float | None, antialias: bool) -> tuple[Table, Table | None]:
    """(indices, weights) of the taps of `m` outputs among `n` inputs; `scale` is output per input where the caller gave it."""
    if mode in ("nearest", "nearest-exact"):
        single = np.float32(1 / scale if scale else n / m)
        at = np.arange(m, dtype=np.float32) + np.float32(0.5 if mode == "nearest-exact" else 0)
        return Table(np.minimum(np.floor(at * single).astype(np.int64), n - 1)[:, None]), None
    if align_corners:
        step: float = (n - 1) / (m - 1) if m > 1 else 0.0
        centre = np.arange(m) * step
    else:
        step = 1 / scale if scale else n / m
        centre = (np.arange(m) + 0.5) * step - 0.5
    if antialias:
        function, reach = _FILTERS[mode]
        width = max(step, 1.0)
        support = reach * width
        middle = (np.arange(m) + 0.5) * step  # where corners are aligned, too
        low = np.maximum((middle - support + 0.5).astype(np.int64), 0)
        high = np.minimum((middle + support + 0.5).astype(np.int64), n)
        index = low[:, None] + np.arange(max(int((high - low).max()), 1))
        weight = np.where(index < high[:, None], function((index - middle[:, None] + 0.5) / width), 0)
        weight /= weight.sum(1, keepdims=True)
        return Table(np.minimum(index, n - 1)), Table(weight)
    if mode == "bicubic":
        first = np.floor(centre).astype(np.int64)
        index = first[:, None] + np.arange(-1, 3)
        return Table(np.clip(index, 0, n - 1), True), Table(_cubic(centre[:, None] - index))
    centre = np.maximum(centre, 0)
    first = np.minimum(np.floor(centre).astype(np.int64), n - 1)
    share = np.minimum(np.maximum(centre - first, 0), 1)
    return Table(np.stack([first, np.minimum(first + 1, n - 1)], 1)), Table(np.stack([1 - share, share], 1))


def _check_dtype(input: TensorRef, mode: str, antialias: bool) -> None:
    """torch's refusals, which name the kernel that it would have come to."""
    dtype, flat = input.dtype, input.ndim == 4
    if dtype.is_floating_point or dtype.name == "uint8" and (mode.startswith("nearest") or flat):
        return
    if antialias:
        name = "compute_index_ranges_weights"
    elif flat and mode != "bicubic":
        name = f"upsample_{mode.removesuffix('-exact')}2d_channels_last"
    else:
        kind = "nearest" if mode.startswith("nearest") else "cubic" if mode == "bicubic" else "linear"
        name = f"compute_indices_weights_{kind}"
    no_kernel(name, input)


def interpolated(F: Functions, input: TensorRef, size: tuple[int, ...], scales: tuple[float | None, ...], mode: str, align_corners: bool,
                 antialias: bool) -> TensorRef:
    shape = tuple(input._data.shape)
    if min(size) <= 0 or min(shape[2:]) <= 0:
        names = {1: "W", 2: "HW", 3: "DHW"}[len(size)]
        have, want = [", ".join([f"{a}: {v}" for a, v in zip(names, s)]) for s in (shape[2:], size)]
        raise AutogradError(f"Input and output sizes should be greater than 0, but got input ({have}) output ({want})")
    if not shape[1]:
        raise AutogradError(f"Non-empty {input.ndim}D data tensor expected but got a tensor with sizes {list(input.shape)}")
    _check_dtype(input, mode, antialias)
    axes = [i for i in reversed(range(len(size))) if antialias or shape[2 + i] != size[i] or scales[i] not in (None, 1)]
    steps = tuple([(2 + i, *_taps(mode, shape[2 + i], size[i], align_corners, scales[i], antialias), shape[2 + i]) for i in axes])
    return F.resample(input, steps) if steps else input


def _asked(shape: tuple[int, ...], size: Any, scale_factor: Any, mode: str, recompute_scale_factor: bool | None,
           antialias: bool) -> tuple[tuple[int, ...], tuple[float | None, ...]]:
    """The sizes, and the scales where these are what was given."""
    dim = len(shape) - 2
    if size is not None and scale_factor is not None:
        raise ValueError("only one of size or scale_factor should be defined")
    scales: tuple[float | None, ...] = (None,) * dim
    if size is not None:
        if isinstance(size, (list, tuple)):
            if len(size) != dim:
                raise ValueError("Input and output must have the same number of spatial dimensions, but got input with spatial "
                                 "dimensions "
                                 f"of {list(shape[2:])} and output size of {size}. Please provide input tensor in (N, C, d1, d2, "
                                 "...,dK) "
                                 "format and output size in (o1, o2, ...,oK) format.")
            output = tuple([int(n) for n in size])
        else:
            output = (int(size),) * dim
        if recompute_scale_factor:
            raise ValueError("recompute_scale_factor is not meaningful with an explicit size.")
    elif scale_factor is not None:
        if isinstance(scale_factor, (list, tuple)):
            if len(scale_factor) != dim:
                raise ValueError("Input and scale_factor must have the same number of spatial dimensions, but got input with spatial "
                                 f"dimensions of {list(shape[2:])} and scale_factor of shape {scale_factor}. Please provide input "
                                 "tensor in "
                                 "(N, C, d1, d2, ...,dK) format and scale_factor in (s1, s2, ...,sK) format.")
            scales = tuple([float(s) for s in scale_factor])
        else:
            scales = (float(scale_factor),) * dim
        output = tuple([floor(n * s) for n, s in zip(shape[2:], scales) if s is not None])
        if recompute_scale_factor or mode == "area":
            scales = (None,) * dim
    else:
        raise ValueError("either size or scale_factor should be defined")
    if antialias and not (mode in ("bilinear", "bicubic", "lanczos") and dim == 2):
        raise ValueError("Anti-alias option is restricted to bilinear, bicubic, and lanczos modes and requires a 4-D tensor as input")
    return output, scales


@lru_cache(256, typed=True)
def _steps(shape: tuple[int, ...], size: Any, scale_factor: Any, mode: str, align_corners: bool | None,
           antialias: bool) -> Steps:
    """What `_resample` takes beyond an array; `ValueError` for what the checks shall see."""
    dim = len(shape) - 2
    usual = mode in ("nearest", "nearest-exact") and align_corners is None or mode in _SPATIAL and _SPATIAL[mode] == dim
    output, scales = _asked(shape, size, scale_factor, mode, None, antialias)
    if not usual or dim not in (1, 2, 3) or 0 in shape or min(output) < 1 or mode == "lanczos" and not antialias:
        raise ValueError
    axes = [i for i in reversed(range(dim)) if antialias or shape[2 + i] != output[i] or scales[i] not in (None, 1)]
    return tuple([(2 + i, *_taps(mode, shape[2 + i], output[i], bool(align_corners), scales[i], antialias), shape[2 + i]) for i in axes])


def _quick(input: np.ndarray, size: Any, scale_factor: Any, mode: str, align_corners: bool | None, antialias: bool) -> np.ndarray | None:
    """`interpolate` of plain arrays of floating point."""
    if input.dtype.kind in "iub" or mode == "area" or align_corners.__class__ not in (bool, type(None)):
        return None
    if mode == "lanczos" and align_corners is not None:
        return None
    if size is not None:
        size = settled(size)[0]
    elif scale_factor.__class__ in (list, tuple):
        scale_factor = tuple([float(s) for s in scale_factor])
    elif scale_factor.__class__ not in (int, float):
        return None
    steps = _steps(input.shape, size, scale_factor, mode, align_corners, antialias)
    if not steps:
        return None
    return _resample(input, steps)


_KERNELS = {"nearest": "compute_indices_weights_nearest", "nearest-exact": "compute_indices_weights_nearest", "area": "adaptive_avg_pool2d",
            "linear": "compute_indices_weights_linear", "trilinear": "compute_indices_weights_linear",
            "bilinear": "upsample_bilinear2d_channels_last", "bicubic": "compute_indices_weights_cubic"}


def _kernel_of(mode: str = "bilinear", **others: object) -> str:
    """What torch calls the kernel of a way to resample."""
    return _KERNELS.get(mode, "")


@op("interpolate(Tensor input, Any size=None, Any scale_factor=None, str mode='nearest', bool? align_corners=None, "
    "bool? recompute_scale_factor=None, bool antialias=False) -> Tensor", namespace="nn.functional", method=False, out=False)
class interpolate:
    """Images (N, C, ...) resized to `size` or by `scale_factor`.

    >>> torch.nn.functional.interpolate(torch.tensor([[[1., 2.]]]), scale_factor=2)
    tensor([[[1., 1., 2., 2.]]])
    """

    def composite(input, size, scale_factor, mode, align_corners, recompute_scale_factor, antialias):
        n = input.ndim - 2
        known = {"nearest": ("upsample_nearest", ""), "nearest-exact": ("_upsample_nearest_exact", ""),
                 ("linear", "bilinear", "trilinear")[n - 1]: (f"upsample_{mode}", "bool(align_corners), "),
                 "bicubic": ("upsample_bicubic", "bool(align_corners), ")}
        if antialias or recompute_scale_factor or mode not in known:
            return None
        name, corners = known[mode]
        sizes = "None" if size is None else f"many({n}, size)"
        return f"{name}{n}d.vec(input, {sizes}, {corners}{'None' if scale_factor is None else f'many({n}, scale_factor)'})"

    lacks = {"float8": _kernel_of}

    def quick(input, size, scale_factor, mode, align_corners, recompute_scale_factor, antialias):
        if recompute_scale_factor is not None or antialias.__class__ is not bool:
            return None
        return _quick(input, size, scale_factor, mode, align_corners, antialias)

    def function(F, input, size=None, scale_factor=None, mode="nearest", align_corners=None, recompute_scale_factor=None, antialias=False):
        if mode in ("nearest", "area", "nearest-exact", "lanczos"):
            if align_corners is not None:
                raise ValueError("align_corners option can only be set with the interpolating modes: linear | bilinear | bicubic | "
                                 "trilinear")
        elif align_corners is None:
            align_corners = False
        dim = input.ndim - 2
        output, scales = _asked(tuple(input.shape), size, scale_factor, mode, recompute_scale_factor, antialias)
        if input.ndim in (3, 4, 5):
            if mode in ("nearest", "nearest-exact"):
                return interpolated(F, input, output, scales, mode, False, False)
            if mode == "area":
                return F.function(f"adaptive_avg_pool{dim}d")(input, output[0] if dim == 1 else output)
            if mode == "lanczos" and dim == 2 and not antialias:
                raise ValueError("lanczos mode requires antialias=True")
            if mode in _SPATIAL and (dim == 2 or mode not in ("bicubic", "lanczos")):
                if _SPATIAL[mode] != dim:
                    raise NotImplementedError(f"Got {input.ndim}D input, but {mode} mode needs {_SPATIAL[mode] + 2}D input")
                return interpolated(F, input, output, scales, mode, bool(align_corners), antialias)
        raise NotImplementedError("Input Error: Only 3D, 4D and 5D input Tensors supported "
                                  f"(got {input.ndim}D) for the modes: nearest | linear | bilinear | bicubic | trilinear | lanczos | area "
                                  "| "
                                  f"nearest-exact (got {mode})")

    def samples(rng):
        r = rng.standard_normal
        yield Sample((r((1, 2, 5)),), {"size": 8})
        yield Sample((r((1, 2, 3, 4)),), {"scale_factor": 1.7, "mode": "bilinear"})
        yield Sample((r((1, 2, 3, 4)),), {"size": (5, 3), "mode": "bilinear", "align_corners": True})
        yield Sample((r((1, 1, 4, 5)),), {"size": (7, 3), "mode": "bicubic"})
        yield Sample((r((1, 1, 2, 3, 2)),), {"size": (3, 2, 4), "mode": "trilinear"})
        yield Sample((r((1, 1, 6, 5)),), {"size": (3, 2), "mode": "bilinear", "antialias": True})
        yield Sample((r((1, 1, 6, 5)),), {"size": (4, 2), "mode": "area"})

    def errors(rng):
        yield (np.ones((2, 3, 5, 5)),), ValueError, "either size or scale_factor should be defined"
        yield (np.ones((2, 3, 5)), 3, None, "bilinear"), NotImplementedError, "Got 3D input, but bilinear mode needs 4D input"


_FORMER = "`nn.functional.{}` is deprecated. Use `nn.functional.interpolate` instead."


@op("upsample(Tensor input, Any size=None, Any scale_factor=None, str mode='nearest', bool? align_corners=None) -> Tensor",
    namespace="nn.functional", method=False, out=False)
class upsample:
    """The former name of `interpolate`.

    >>> torch.nn.functional.upsample(torch.tensor([[[1., 2.]]]), scale_factor=2)
    tensor([[[1., 1., 2., 2.]]])
    """

    lacks = {"float8": _kernel_of}

    def quick(input, size, scale_factor, mode, align_corners):
        found = _quick(input, size, scale_factor, mode, align_corners, False)
        if found is not None:
            warned.warn(_FORMER.format("upsample"))
        return found

    def function(F, input, size=None, scale_factor=None, mode="nearest", align_corners=None):
        warned.warn(_FORMER.format("upsample"))
        return F.interpolate(input, size, scale_factor, mode, align_corners)

    def samples(rng): yield Sample((rng.standard_normal((1, 2, 3, 4)),), {"scale_factor": 2, "mode": "bilinear"})


@op("upsample_nearest(Tensor input, Any size=None, Any scale_factor=None) -> Tensor", namespace="nn.functional", method=False, out=False)
class upsample_nearest:
    """The former name of nearest `interpolate`.

    >>> torch.nn.functional.upsample_nearest(torch.tensor([[[1., 2.]]]), scale_factor=2)
    tensor([[[1., 1., 2., 2.]]])
    """

    lacks = {"float8": _kernel_of}

    def quick(input, size, scale_factor):
        found = _quick(input, size, scale_factor, "nearest", None, False)
        if found is not None:
            warned.warn(_FORMER.format("upsample_nearest"))
        return found

    def function(F, input, size=None, scale_factor=None):
        warned.warn(_FORMER.format("upsample_nearest"))
        return F.interpolate(input, size, scale_factor, "nearest")

    def samples(rng): yield Sample((rng.standard_normal((1, 2, 3)),), {"scale_factor": 2})


@op("upsample_bilinear(Tensor input, Any size=None, Any scale_factor=None) -> Tensor", namespace="nn.functional", method=False, out=False)
class upsample_bilinear:
    """The former name of bilinear `interpolate` with aligned corners.

    >>> torch.nn.functional.upsample_bilinear(torch.tensor([[[[1., 2.]]]]), size=(1, 3))
    tensor([[[[1.0000, 1.5000, 2.0000]]]])
    """

    lacks = {"float8": _kernel_of}

    def quick(input, size, scale_factor):
        found = _quick(input, size, scale_factor, "bilinear", True, False)
        if found is not None:
            warned.warn(_FORMER.format("upsample_bilinear"))
        return found

    def function(F, input, size=None, scale_factor=None):
        warned.warn(_FORMER.format("upsample_bilinear"))
        return F.interpolate(input, size, scale_factor, "bilinear", True)

    def samples(rng): yield Sample((rng.standard_normal((1, 2, 3, 4)),), {"size": (4, 6)})
