"""Sampling of images at given places: affine grids, and linear, nearest and cubic reading at the places of a grid.

What is read at a place is a sum of weighted elements: which, and how the weights depend on the place, is found for all places at once
(`_grid_taps`); `kernels/sampling.py` adds up.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import product
from math import prod

import numpy as np

from ... import warned
from ...calls import TO_PLAIN
from ...errors import AutogradError, MissingKernelError, SizeError
from ...executors.kernels.halves import compute_array
from ...executors.kernels import sampling
from ...executors.kernels.elementwise import takes_half
from ...functions.namespace import HALF_KINDS
from ...functions.refusals import on_meta
from ...record import Sample, get_record, op
from .. import _batch as batches
from .._precision import in_single, is_half
from ..matrices.products import same_scalar_type
from ._losses import buffer, constant, elements
from ...annotations import Functions, Values
from ...tensor import TensorRef
from .._batch import BatchedCall
from ...warned import ignoring


@op("reflected(Tensor input) -> Tensor", namespace="_internal", method=False, out=False)
class reflected:
    """The places that linear `grid_sample` reads, after reflection, which half precision has no second derivative by: torch refuses it."""

    numpy = np.copy
    def sharding(call): return call.elementwise()
    def shape(input): return input
    def compose(F, input): return F.alias_copy(input)
    def vjp(F, grad): return F.reflected_gradient(grad)
    jvp = "linear"
    batch = batches.as_is
    def samples(rng): yield (rng.standard_normal((2, 3)),)


@op("reflected_gradient(Tensor grad) -> Tensor", namespace="_internal", method=False, out=False)
class reflected_gradient:
    """The gradient of `reflected`; RuntimeError where that of half precision is differentiated again."""

    numpy = np.copy
    def sharding(call): return call.elementwise()
    def shape(grad): return grad
    def compose(F, grad): return F.alias_copy(grad)

    def vjp(F, grad):
        if is_half(grad):
            raise AutogradError("scatter(): Expected self.dtype to be equal to src.dtype", remedy="compute second derivatives in float32")
        return F.alias_copy(grad)

    jvp = "linear"
    batch = batches.as_is
    def samples(rng): yield (rng.standard_normal((2, 3)),)


_MODES, _PADDINGS = ("bilinear", "nearest", "bicubic"), ("zeros", "border", "reflection")
_CHANGED = ("Default grid_sample and affine_grid behavior has changed to align_corners=False since 1.3.0. Please specify "
            "align_corners=True if the old behavior is desired. See the documentation of grid_sample for details.")
_TAPS = {"bilinear": 2, "nearest": 1, "bicubic": 4}


def _place(F: Functions, x: Values, size: int, padding_mode: str, align_corners: bool) -> Values:
    """Coordinates in [-1, 1] as positions between 0 and size - 1, after border or reflection padding."""
    x = (x + 1) * ((size - 1) / 2) if align_corners else ((x + 1) * size - 1) * 0.5
    return _padded(F, x, size, padding_mode, align_corners)


def _padded(F: Functions, x: Values, size: int, padding_mode: str, align_corners: bool) -> Values:
    if padding_mode == "reflection":
        low, span = (0.0, float(size - 1)) if align_corners else (-0.5, float(size))
        if not span:
            return x * 0
        distance = F.abs(x - low)
        flips = np.floor(elements(distance) / span)
        rest = distance - constant(F, x, (flips * span).astype(buffer(x).dtype))
        even = constant(F, x, (flips % 2 == 0).astype(buffer(x).dtype))
        x = even * rest + (1 - even) * (span - rest) + low
    # Where a coordinate is on the border, as many of half precision are, torch's gradient is that of one beyond it.
    return x if padding_mode == "zeros" else F.masked_fill(F.masked_fill(x, x >= size - 1, float(size - 1)), x <= 0.0, 0.0)


def _pick(F: Functions, flat: TensorRef, positions: list[np.ndarray], sizes: tuple[int, ...]) -> TensorRef:
    """Elements of (N, C, prod(sizes)) at whole positions (N, L) per dimension; zero outside."""
    inside = np.logical_and.reduce([(p >= 0) & (p < n) for p, n in zip(positions, sizes)])
    index = np.zeros(positions[0].shape, np.int64)
    for p, n in zip(positions, sizes):  # which NumPy knows no NaN of in bfloat16
        index = index * n + np.clip(np.nan_to_num(p.astype(np.float64)), 0, n - 1).astype(np.int64)
    shape = (flat.shape[0], flat.shape[1], index.shape[1])
    values = F.gather(flat, 2, constant(F, flat, np.ascontiguousarray(np.broadcast_to(index[:, None], shape))))
    if inside.all():
        return values
    return F.masked_fill(values, constant(F, flat, np.ascontiguousarray(np.broadcast_to(~inside[:, None], shape))), 0)


def _cubic_weights(t: Values) -> list[Values]:
    """Keys' kernel with a = -0.75 at distances 1 + t, t, 1 - t, 2 - t."""
    a = -0.75

    def near(x: Values) -> Values:
        return ((a + 2) * x - (a + 3)) * x * x + 1

    def far(x: Values) -> Values:
        return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a

    return [far(t + 1), near(t), near(1 - t), far(2 - t)]


def _grid_kernel(input: TensorRef, **_: object) -> str:
    return "grid_sampler3d_cpu" if input.ndim == 5 else "grid_sampler_2d_cpu_kernel_impl"


def _grid_sampled(F: Functions, input: TensorRef, grid: TensorRef, mode: str, padding_mode: str, align: bool,
                  ranks: tuple[int, ...] = (4, 5)) -> TensorRef:
    """`grid_sample` with its arguments checked but for shapes; `ranks` are those of images that are taken."""
    if grid._k is input._k and not is_half(input) and _fits(tuple(input._data.shape), tuple(grid._data.shape), mode, ranks):
        return F.grid_sampler_nd(input, grid, mode, padding_mode, align)
    n, given, wanted = input.ndim - 2, list(input.shape), list(grid.shape)
    if wanted[:1] != given[:1]:
        raise AutogradError(f"grid_sampler(): expected grid and input to have same batch size, but got input with sizes {given} and grid "
                            f"with sizes {wanted}")
    if wanted and wanted[-1] != n:
        raise AutogradError(f"grid_sampler(): expected grid to have size {n} in last dimension, but got grid with sizes {wanted}")
    if 0 in given[2:]:
        raise AutogradError(f"grid_sampler(): expected input to have non-empty spatial dimensions, but input has sizes {given} with "
                            f"dimension {given.index(0, 2)} being empty")
    rank = max(ranks) if input.ndim == max(ranks) else min(ranks)
    if input.ndim != rank or grid.ndim != rank:
        raise AutogradError(f"grid_sampler(): expected {rank}D input and grid with same number of dimensions, but got input with sizes "
                            f"{given} and grid with sizes {wanted}")
    if mode == "bicubic" and n == 3:
        raise AutogradError("grid_sampler(): bicubic interpolation only supports 4D input")
    if grid.dtype is not input.dtype and not on_meta(input, grid):
        if 0 in given or 0 in wanted:
            grid = F.cast(grid, input.dtype)
        else:
            same_scalar_type(input, grid)
    if is_half(input):  # whose steps are rounded each
        if not TO_PLAIN and input._k in HALF_KINDS and grid._k is input._k:
            plain = input._node is None and grid._node is None
            found = sampling.sampled(input._data, grid._data, _TAPS[mode], _PADDINGS.index(padding_mode), align) if plain else None
            if found is not None:
                return F.wrap(found, input._k)
            if sampling.serves(input._data, grid._data, _TAPS[mode]) and (mode, padding_mode) != ("bilinear", "reflection"):
                return F.grid_sampler_nd(input, grid, mode, padding_mode, align)
        return _grid_composed(F, input, grid, mode, padding_mode, align)
    return F.grid_sampler_nd(input, grid, mode, padding_mode, align)


@lru_cache(256)
def _fits(shape: tuple[int, ...], grid: tuple[int, ...], mode: str, ranks: tuple[int, ...]) -> bool:
    """Whether images are of shapes that can be read at the places of a grid."""
    rank = len(shape)
    return (rank == len(grid) and rank in ranks and grid[0] == shape[0] and grid[-1] == rank - 2 and 0 not in shape and 0 not in grid
            and (mode != "bicubic" or rank == 4))


@lru_cache(512)
def _plan(shape: tuple[int, ...], strides: tuple[int, ...], item: int, grid: tuple[int, ...], mode: str | int, padding_mode: str | int,
          align: bool, ranks: tuple[int, ...]) -> sampling.Plan | None:
    """How plain arrays of these shapes are read, by modes with names or numbers; None where they cannot be."""
    if isinstance(mode, int) and isinstance(padding_mode, int):
        if not (0 <= mode < 3 and 0 <= padding_mode < 3):
            return None
        mode, padding_mode = _MODES[mode], _PADDINGS[padding_mode]
    if not isinstance(mode, str) or mode not in _MODES or padding_mode not in _PADDINGS or not _fits(shape, grid, mode, ranks):
        return None
    return sampling.plan_of(shape, strides, item, grid, _TAPS[mode], _PADDINGS.index(padding_mode), align)


def _quick(input: np.ndarray, grid: np.ndarray, mode: str | int, padding_mode: str | int, align: bool, ranks: tuple[int, ...] = (4, 5)
           ) -> np.ndarray | None:
    """What compiled code makes of plain arrays."""
    if input.dtype is not grid.dtype:
        return None
    return sampling.read(input, grid, _plan(input.shape, input.strides, input.itemsize, grid.shape, mode, padding_mode, align, ranks))


def _grid_composed(F: Functions, input: TensorRef, grid: TensorRef, mode: str, padding_mode: str, align: bool) -> TensorRef:
    n, (batch, channels, *spatial) = input.ndim - 2, tuple(input.shape)
    sizes, out = tuple(spatial), tuple(grid.shape)[1:-1]
    flat = F.reshape(input, (batch, channels, prod(sizes)))
    places = F.reshape(grid, (batch, prod(out), n))
    # x comes first in the grid but last in memory.
    raw = [F.select(places, 2, n - 1 - d) for d in range(n)]
    if mode == "bicubic":
        at = [_place(F, x, size, "zeros", align) for x, size in zip(raw, sizes)]
        first = [np.floor(elements(x)) for x in at]
        weights = [_cubic_weights(x - constant(F, x, f)) for x, f in zip(at, first)]
        corners = list(product(range(4), repeat=2))
        offset = -1
    else:
        at = [_place(F, x, size, padding_mode, align) for x, size in zip(raw, sizes)]
        if mode == "bilinear" and padding_mode == "reflection" and is_half(grid):
            at = [F.reflected(x) for x in at]
        if mode == "nearest":
            result = _pick(F, flat, [np.rint(elements(x)) for x in at], sizes)
            if isinstance(grid, TensorRef) and grid.requires_grad:  # whose gradient is zeros
                result = result + F.unsqueeze(F.where(constant(F, flat, np.zeros(1, np.bool_)), F.select(places, 2, 0), 0), 1)
            return F.reshape(result, (batch, channels, *out))
        first = [np.floor(elements(x)) for x in at]
        shares = [x - constant(F, x, f) for x, f in zip(at, first)]
        weights = [[1 - s, s] for s in shares]
        corners = list(product(range(2), repeat=n))
        offset = 0
    total = None
    for corner in corners:
        positions = [f + (c + offset) for f, c in zip(first, corner)]
        if mode == "bicubic" and padding_mode != "zeros":
            positions = [elements(_padded(F, constant(F, input, p), size, padding_mode, align)) for p, size in zip(positions, sizes)]
        weight = weights[-1][corner[-1]]
        for d in range(n - 2, -1, -1):  # x first, as torch: half precision is rounded each time
            weight = weight * weights[d][corner[d]]
        term = _pick(F, flat, positions, sizes) * F.unsqueeze(weight, 1)
        total = term if total is None else total + term
    return F.reshape(total, (batch, channels, *out))


def _whole_places(x: np.ndarray, size: int, padding_mode: str, align: bool) -> tuple[np.ndarray, np.ndarray]:
    """Positions after padding, and what the gradient with respect to `x` is multiplied by."""
    slope = np.ones_like(x)
    if padding_mode == "reflection":
        low, span = (0.0, float(size - 1)) if align else (-0.5, float(size))
        if not span:
            return x * 0, slope * 0
        distance = np.abs(x - low)
        flips = np.floor(distance / span)
        rest, even = distance - flips * span, flips % 2 == 0
        slope = np.where(even, np.sign(x - low), -np.sign(x - low))
        x = np.where(even, rest, span - rest) + x.dtype.type(low)
    if padding_mode != "zeros":
        low_end, high_end = x <= 0, x >= size - 1
        slope = np.where(low_end | high_end, 0, slope)
        x = np.where(low_end, 0, np.where(high_end, x.dtype.type(size - 1), x))
    return x, slope


Taps = tuple[np.ndarray, list[list[np.ndarray]], list[list[np.ndarray]]]


def _grid_taps(grid: np.ndarray, sizes: tuple[int, ...], mode: str, padding_mode: str, align: bool) -> Taps:
    """Where `grid_sample` reads: flat places (K, N, L), -1 outside; and for each dimension the weights of its taps, (N, L), and their
    derivatives with respect to the grid."""
    n = len(sizes)
    places = grid.reshape(len(grid), prod(grid.shape[1:-1]), n)
    weights, slopes, rows = [], [], []
    for d, size in enumerate(sizes):
        x, scale = places[..., n - 1 - d], (size - 1) / 2 if align else size * 0.5  # x comes first in the grid but last in memory
        at = (x + 1) * scale if align else ((x + 1) * size - 1) * 0.5
        at, slope = _whole_places(at, size, "zeros" if mode == "bicubic" else padding_mode, align)
        slope = slope * scale
        if mode == "nearest":
            taps, weight, steep = [np.rint(at)], [np.ones_like(at)], [np.zeros_like(at)]
        else:
            first = np.floor(at)
            t = at - first
            if mode == "bilinear":
                taps, weight, steep = [first, first + 1], [1 - t, t], [-slope, slope]
            else:
                taps = [_whole_places(first + k, size, padding_mode, align)[0] for k in (-1, 0, 1, 2)]
                weight = [elements(v) for v in _cubic_weights(t)]
                steep = [elements(v) * slope for v in _cubic_slopes(t)]
        p = np.stack(taps)
        inside = (p >= 0) & (p < size)
        rows.append(np.where(inside, p, -size * prod(sizes)).astype(np.int64))
        weights.append(weight)
        slopes.append(steep)
    index = rows[0]
    for d in range(1, n):
        index = (index[:, None] * sizes[d] + rows[d]).reshape(len(index) * len(rows[d]), *index.shape[1:])
    return np.ascontiguousarray(np.where(index < 0, -1, index)), weights, slopes


def _corner_weights(weights: list[list[np.ndarray]]) -> np.ndarray:
    """Products of a weight of each dimension, (K, N, L)."""
    total = np.stack(weights[-1])
    for row in weights[-2::-1]:  # x first, as torch
        total = (total[None] * np.stack(row)[:, None]).reshape(len(row) * len(total), *total.shape[1:])
    return np.ascontiguousarray(total)


@takes_half
def _grid_sampler(input: np.ndarray, grid: np.ndarray, mode: str, padding_mode: str, align: bool) -> np.ndarray:
    sizes = input.shape[2:]
    found = sampling.sampled(input, grid, _TAPS[mode], _PADDINGS.index(padding_mode), align)
    if found is not None:
        return found
    if input.dtype.char not in "fd":
        return _grid_sampler(compute_array(input), compute_array(grid), mode, padding_mode, align).astype(input.dtype)
    with ignoring():
        index, weights, _ = _grid_taps(grid, sizes, mode, padding_mode, align)
        y = sampling.weighted_sums(input.reshape(*input.shape[:2], prod(sizes)), index, _corner_weights(weights))
    return y.reshape(*input.shape[:2], *grid.shape[1:-1])


@takes_half
def _grid_sampler_grad(grad: np.ndarray, input: np.ndarray, grid: np.ndarray, mode: str, padding_mode: str, align: bool,
                       needs: tuple[bool, bool]) -> tuple[np.ndarray | None, np.ndarray | None]:
    found = sampling.gradients(grad, input, grid, _TAPS[mode], _PADDINGS.index(padding_mode), align, needs)
    if found is not None:
        return found
    if input.dtype.char not in "fd":
        dx, dgrid = _grid_sampler_grad(compute_array(grad), compute_array(input), compute_array(grid), mode, padding_mode, align, needs)
        return None if dx is None else dx.astype(input.dtype), None if dgrid is None else dgrid.astype(grid.dtype)
    sizes, n = input.shape[2:], input.ndim - 2
    lead = input.shape[:2]
    with ignoring():
        index, weights, slopes = _grid_taps(grid, sizes, mode, padding_mode, align)
        flat, g = input.reshape(*lead, prod(sizes)), grad.reshape(*lead, index.shape[2])
        needed = needs[0], needs[1] and mode != "nearest"
        dx, by_weight = sampling.weighted_sums_backward(g, flat, index, _corner_weights(weights), needed)
        dgrid = np.zeros(grid.shape, grid.dtype) if needs[1] else None
        if by_weight is not None and dgrid is not None:
            for d in range(n):
                slope = _corner_weights([slopes[e] if e == d else weights[e] for e in range(n)])
                dgrid.reshape(len(grid), index.shape[2], n)[..., n - 1 - d] = np.add.reduce(by_weight * slope, 0)
    return None if dx is None else dx.reshape(input.shape), dgrid


def _grid_gradients(F: Functions, grad: TensorRef, input: TensorRef, grid: TensorRef, mode: str, padding_mode: str, align: bool,
                    needs: tuple[bool, bool]) -> tuple[TensorRef | None, TensorRef | None]:
    """The gradients of `grid_sampler_nd` by formulas that have derivatives."""
    n, (batch, channels, *spatial) = input.ndim - 2, tuple(input.shape)
    sizes, shape = tuple(spatial), (batch, channels, prod(tuple(grid.shape)[1:-1]))
    flat, g, given = F.reshape(input, (batch, channels, prod(sizes))), F.reshape(grad, shape), F.reshape(grid, (batch, shape[2], n))
    index, ones, slopes = _grid_taps(elements(given), sizes, mode, padding_mode, align)
    weights = [[constant(F, grid, w) for w in row] for row in ones]
    steep = [[constant(F, grid, s) for s in row] for row in slopes]
    if mode != "nearest":
        raw = [F.select(given, 2, n - 1 - d) for d in range(n)]
        at = [_place(F, x, size, "zeros" if mode == "bicubic" else padding_mode, align) for x, size in zip(raw, sizes)]
        shares = [x - constant(F, x, np.floor(elements(x))) for x in at]
        weights = [_cubic_weights(s) if mode == "bicubic" else [1 - s, s] for s in shares]
        if mode == "bicubic":
            steep = [[v * ((m - 1) / 2 if align else m / 2) for v in _cubic_slopes(s)] for s, m in zip(shares, sizes)]
    dx, by_axis = F.zeros_for(grad, (batch, channels, prod(sizes))), [F.zeros_for(grad, (batch, shape[2])) for _ in sizes]
    for k, corner in enumerate(product(*[range(len(row)) for row in weights])):
        where = constant(F, grad, np.ascontiguousarray(np.broadcast_to(np.maximum(index[k], 0)[:, None], shape)))
        outside = constant(F, grad, np.ascontiguousarray(np.broadcast_to(index[k][:, None] < 0, shape)))
        if needs[0]:
            weight = weights[-1][corner[-1]]
            for d in range(n - 2, -1, -1):
                weight = weight * weights[d][corner[d]]
            dx = F.scatter_add(dx, 2, where, F.masked_fill(g * F.unsqueeze(weight, 1), outside, 0))
        if needs[1] and mode != "nearest":
            by_weight = F.sum(g * F.masked_fill(F.gather(flat, 2, where), outside, 0), 1)
            for d in range(n):
                term = by_weight
                for e in range(n):
                    term = term * (steep if e == d else weights)[e][corner[e]]
                by_axis[d] = by_axis[d] + term
    dgrid = F.reshape(F.stack(by_axis[::-1], 2), tuple(grid.shape)) if needs[1] else None
    return F.reshape(dx, tuple(input.shape)) if needs[0] else None, dgrid


def _cubic_slopes(t: Values) -> list[Values]:
    """The derivatives of `_cubic_weights`."""
    a = -0.75

    def near(x: Values) -> Values:
        return (3 * (a + 2) * x - 2 * (a + 3)) * x

    def far(x: Values) -> Values:
        return (3 * a * x - 10 * a) * x + 8 * a

    return [far(t + 1), near(t), -near(1 - t), -far(2 - t)]


@op("grid_sampler_nd_grad(Tensor grad, Tensor input, Tensor grid, str mode, str padding_mode, bool align_corners, Any needs) -> "
    "(Tensor grad_input, Tensor grad_grid)", namespace="_internal", method=False, out=False, node="GridSampler2DBackwardBackward0")
class grid_sampler_nd_grad:
    """The gradients of `grid_sampler_nd`."""

    sharding = "composed"
    nodes = {"input.ndim == 5": "GridSampler3DBackwardBackward0"}
    numpy = _grid_sampler_grad
    compose = _grid_gradients
    function = in_single(_grid_gradients)
    def shape(grad, input, grid, *rest): return input, grid

    def batch(F, call):
        """A bigger batch."""
        if not call.size:
            return NotImplemented
        found = call(**{name: batches.merged(F, call.whole(name)) for name in call.ranks})
        return tuple([None if t is None else batches.parted(F, call, t) for t in found])

    def samples(rng):
        x, grid = rng.standard_normal((2, 2, 4, 5)), rng.uniform(-1.2, 1.2, (2, 3, 2, 2))
        yield rng.standard_normal((2, 2, 3, 2)), x, grid, "bilinear", "zeros", True, (True, True)
        yield rng.standard_normal((2, 2, 3, 2)), x, grid, "bicubic", "border", True, (True, True)


@op("grid_sampler_nd(Tensor input, Tensor grid, str mode, str padding_mode, bool align_corners) -> Tensor", namespace="_internal",
    method=False, out=False, node="GridSampler2DBackward0")
class grid_sampler_nd:
    """`grid_sample` of (N, C, H, W) or (N, C, D, H, W), checked, in single or double precision."""

    sharding = "composed"
    nodes = {"input.ndim == 5": "GridSampler3DBackward0"}
    numpy = _grid_sampler
    compose = _grid_composed
    saved_as = {"input": "input", "mode": None, "padding_mode": None}
    saved_also = {"interpolation_mode": "('bilinear', 'nearest', 'bicubic').index(mode)",
                  "padding_mode": "('zeros', 'border', 'reflection').index(padding_mode)"}
    def shape(input, grid, mode, padding_mode, align_corners): return (*input[:2], *grid[1:-1])
    def batch(F, call): return _batched_grid(F, call)
    def vjp(F, grad, input, grid, mode, padding_mode, align_corners, needs):
        return F.grid_sampler_nd_grad(grad, input, grid, mode, padding_mode, align_corners, needs)
    def samples(rng):
        x, grid = rng.standard_normal((2, 2, 4, 5)), rng.uniform(-1.2, 1.2, (2, 3, 2, 2))
        yield x, grid, "bilinear", "zeros", True
        yield x, grid, "bicubic", "reflection", False
        yield rng.standard_normal((1, 2, 3, 4, 3)), rng.uniform(-1, 1, (1, 2, 2, 1, 3)), "bilinear", "border", False


def _batched_grid(F: Functions, call: BatchedCall) -> TensorRef:
    """A bigger batch; more channels where all examples share the grid."""
    if not call.size or call.ranks["input"] != call.ranks["grid"] or call.ranks["input"] not in (4, 5):
        return NotImplemented
    if not call.is_batched["grid"]:
        return batches.from_channels(F, call, call(input=batches.as_channels(F, call.input)))
    return batches.parted(F, call, call(input=batches.merged(F, call.whole("input")), grid=batches.merged(F, call.grid)))


@op("grid_sample(Tensor input, Tensor grid, str mode='bilinear', str padding_mode='zeros', bool? align_corners=None) -> Tensor",
    namespace="nn.functional", method=False, out=False, complex="grid_sampler_2d_cpu_kernel_impl")
class grid_sample:
    """Images (N, C, H, W) or (N, C, D, H, W) read at the places `grid` (N, ..., 2 or 3), x first, in [-1, 1].

    Jaderberg et al., "Spatial transformer networks" (arXiv:1506.02025).

    >>> torch.nn.functional.grid_sample(torch.tensor([[[[1., 3.]]]]), torch.zeros(1, 1, 1, 2), align_corners=True)
    tensor([[[[2.]]]])
    """

    lacks = {"int bool uint float8": lambda input, **_: f"{_grid_kernel(input)} if any"}
    complex_kernel = _grid_kernel
    def no_forward(input, **_): return "grid_sampler_2d" if input.ndim == 4 else "grid_sampler_3d"

    amp = "float32"
    def quick(input, grid, mode, padding_mode, align_corners):
        if align_corners is not None:
            return _quick(input, grid, mode, padding_mode, align_corners)
        found = _quick(input, grid, mode, padding_mode, False)
        if found is not None:
            warned.warn(_CHANGED)
        return found

    def function(F, input, grid, mode="bilinear", padding_mode="zeros", align_corners=None):
        if mode not in ("bilinear", "nearest", "bicubic"):
            raise ValueError("nn.functional.grid_sample(): expected mode to be 'bilinear', 'nearest' or 'bicubic', but got: "
                             f"'{mode}'")
        if padding_mode not in ("zeros", "border", "reflection"):
            raise ValueError("nn.functional.grid_sample(): expected padding_mode to be 'zeros', 'border', or 'reflection', but got: "
                             f"'{padding_mode}'")
        if align_corners is None:
            warned.warn(_CHANGED)
        return _grid_sampled(F, input, grid, mode, padding_mode, bool(align_corners))

    batch = _batched_grid

    def samples(rng):
        x, grid = rng.standard_normal((2, 2, 4, 5)), rng.uniform(-1.2, 1.2, (2, 3, 2, 2))
        yield Sample((x, grid), {"align_corners": True})
        yield Sample((x, grid), {"padding_mode": "border", "align_corners": False})
        yield Sample((x, grid), {"padding_mode": "reflection", "align_corners": False})
        yield Sample((x, grid), {"mode": "nearest", "align_corners": False})
        yield Sample((x, grid), {"mode": "bicubic", "padding_mode": "reflection", "align_corners": True})
        yield Sample((rng.standard_normal((1, 2, 3, 4, 3)), rng.uniform(-1, 1, (1, 2, 2, 1, 3))), {"align_corners": True})

    def errors(rng):
        yield (np.ones((1, 1, 2, 2)), np.ones((1, 1, 1, 3))), RuntimeError, (
            "grid_sampler(): expected grid to have size 2 in last dimension, but got grid with sizes [1, 1, 1, 3]")


def _below(name: str, n: int | None, shown: str) -> None:
    """`torch.name`, which has numbers for the modes and takes images of `n` dimensions, any where None."""
    ranks, known = (4, 5) if n is None else (n + 2,), get_record("grid_sample").field
    def function(F, input, grid, interpolation_mode, padding_mode, align_corners):
        if not (0 <= interpolation_mode < 3 and 0 <= padding_mode < 3):
            raise AutogradError(f"{name}(): there are modes 0, 1 and 2, but got {interpolation_mode} and {padding_mode}")
        return _grid_sampled(F, input, grid, _MODES[interpolation_mode], _PADDINGS[padding_mode], align_corners, ranks)

    def quick(input, grid, interpolation_mode, padding_mode, align_corners):
        return _quick(input, grid, interpolation_mode, padding_mode, align_corners, ranks)

    def samples(rng):
        if n != 3:
            yield rng.standard_normal((2, 2, 4, 5)), rng.uniform(-1.2, 1.2, (2, 3, 2, 2)), 0, 1, True
        if n != 2:
            yield rng.standard_normal((1, 2, 3, 4, 3)), rng.uniform(-1, 1, (1, 2, 2, 1, 3)), 0, 0, False

    kernel = "grid_sampler3d_cpu" if n == 3 else "grid_sampler_2d_cpu_kernel_impl"
    op(f"{name}(Tensor input, Tensor grid, int interpolation_mode, int padding_mode, bool align_corners) -> Tensor", method=False,
       out=False, complex=kernel)(type(name, (), {
           "__doc__": f"`nn.functional.grid_sample` with numbers for its modes.\n\n{shown}", "__module__": __name__, "function": function,
           "quick": quick,
           "samples": samples, "batch": _batched_grid,
           **{fact: known(fact) for fact in ("amp", "no_forward")},
           "lacks": {"int bool uint float8": f"{kernel} if any"}}))


_SHOWN = ">>> torch.{}(torch.ones(1, 1, {}), torch.zeros(1, {}), 0, 0, True).shape\ntorch.Size([1, 1, {}])"
_below("grid_sampler", None, _SHOWN.format("grid_sampler", "2, 2", "3, 1, 2", "3, 1"))
_below("grid_sampler_2d", 2, _SHOWN.format("grid_sampler_2d", "2, 2", "3, 1, 2", "3, 1"))
_below("grid_sampler_3d", 3, _SHOWN.format("grid_sampler_3d", "2, 2, 2", "3, 1, 1, 3", "3, 1, 1"))


_KEPT = 1 << 16  # pixels up to which their places are kept


@lru_cache(32)
def _points(sizes: tuple[int, ...], align_corners: bool, dtype: np.dtype) -> np.ndarray:
    """The places of all pixels of an image, x first, each followed by 1, (1, pixels, n + 1); not to be changed."""
    n = len(sizes)
    points = np.ones((*sizes, n + 1), dtype)
    for d, m in enumerate(sizes):
        line = np.linspace(-1, 1, m, dtype=np.float64) if m > 1 else np.zeros(1)
        line = line if align_corners else line * (m - 1) / m
        points[..., n - 1 - d] = line.reshape([-1 if i == d else 1 for i in range(n)])
    return points.reshape(1, -1, n + 1)


@op("affine_grid(Tensor theta, int[] size, bool? align_corners=None) -> Tensor", namespace="nn.functional", method=False, out=False)
class affine_grid:
    """The grid for `grid_sample` that affine maps `theta` (N, 2, 3) or (N, 3, 4) make of images of `size` (N, C, ...).

    >>> torch.nn.functional.affine_grid(torch.tensor([[[1., 0., 0.], [0., 1., 0.]]]), (1, 1, 1, 2), align_corners=True)
    tensor([[[[-1.,  0.],
              [ 1.,  0.]]]])
    """

    lacks = {"float8": "linspace_cpu"}
    def function(F, theta, size, align_corners=None):
        if not theta.dtype.is_floating_point:
            raise ValueError(f"Expected theta to have floating point type, but got {theta.dtype}")
        size = tuple([int(n) for n in size])
        n = len(size) - 2
        want = (2, 3) if n == 2 else (3, 4)
        if n not in (2, 3):
            raise MissingKernelError("affine_grid only supports 4D and 5D sizes, for 2D and 3D affine transforms, respectively. Got size "
                                     f"torch.Size({list(size)})", remedy="pass (N, C, H, W) or (N, C, D, H, W)")
        if theta.ndim != 3 or tuple(theta.shape)[1:] != want:
            raise SizeError(f"Expected a batch of {n}D affine matrices of shape Nx{want[0]}x{want[1]} for size torch.Size({list(size)}). "
                            f"Got torch.Size({list(theta.shape)}).", remedy="pass such a batch")
        if min(size) <= 0:
            raise SizeError(f"Expected non-zero, positive output size. Got torch.Size({list(size)})", remedy="pass sizes above 0")
        if align_corners is None:
            warned.warn(_CHANGED)
        points = _points if prod(size[2:]) < _KEPT else _points.__wrapped__
        base = constant(F, theta, points(size[2:], bool(align_corners), buffer(theta).dtype))
        return F.reshape(F.matmul(base, F.transpose(theta, 1, 2)), (size[0], *size[2:], n))

    def samples(rng):
        yield rng.standard_normal((2, 2, 3)), (2, 1, 3, 4), False
        yield rng.standard_normal((1, 3, 4)), (1, 1, 2, 3, 2), True
