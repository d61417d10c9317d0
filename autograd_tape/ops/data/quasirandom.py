"""The points of Sobol sequences, and what scrambles them. I. M. Sobol, "The distribution of points in a cube and the accurate evaluation of
integrals" (1967), in the order of Gray codes; A. B. Owen, "Scrambling Sobol and Niederreiter-Xing points" (1998)."""

from __future__ import annotations

from functools import lru_cache
from operator import sub

import numpy as np

from ...annotations import Functions
from ...dtypes import INT64_KIND, INTEGER, SCALAR_TYPE_NAMES, default_dtype
from ...errors import AutogradError, ShapeMismatchError
from ...executors.kernels._on_demand import _NEVER, state
from ...executors.kernels.handy import Handy
from ...functions.refusals import no_kernel
from ...random.directions import BITS, DIMENSIONS, direction_numbers
from ...record import Sample, op
from ...tensor import TensorRef, as_dtype
from .._host import need_values, values_of
from .._shapes import given_size


def _values(name: str, tensor: TensorRef, shape: tuple[int, ...]) -> np.ndarray:
    """The elements, of a tensor at least as large as `shape` in each dimension.

    Raises:
        RuntimeError: it is smaller, where torch reads past the end of memory; or `quasi` or `sobolstate`, but not of int64.
    """
    data = tensor._data
    if tensor._k is INT64_KIND and (data.shape == shape or len(data.shape) == len(shape) and min(map(sub, data.shape, shape)) >= 0):
        return data  # as nearly all are
    if name != "ltm" and tensor._k.dtype.name != "int64":
        raise AutogradError(f"{name} needs to be of type Long")
    if tensor.ndim != len(shape) or any([n < wanted for n, wanted in zip(tensor.shape, shape)]):
        raise ShapeMismatchError(f"{name} needs to have {' x '.join(map(str, shape))} elements, but has shape {list(tensor.shape)}")
    return np.asarray(need_values(tensor))


def _directions(sobolstate: TensorRef, dimension: int) -> np.ndarray:
    found = _values("sobolstate", sobolstate, (dimension, BITS))
    return found if found.shape == (dimension, BITS) else found[:dimension, :BITS]


def _check_end(end: int) -> int:
    if end >= 2 ** BITS:
        raise AutogradError(f"A Sobol sequence has 2 ** {BITS} points, but number {end} was asked for")
    return end


_FEW = 32  # numbers that Python looks at in the time of a few calls of NumPy
_WIDE = 64  # dimensions whose points are found one after another


def _changed_bits(first: int, n: int) -> np.ndarray:
    """Which bit of the Gray code changes after each of `n` numbers: the lowest that is not set; of a negative one the first."""
    if n < _FEW:
        _check_end(first + n)
        return np.array([(~i & i + 1).bit_length() - 1 if i > 0 else 0 for i in range(first, first + n)], np.int64)
    numbers = np.maximum(np.arange(first, _check_end(first + n)), 0)
    return np.frexp(~numbers & numbers + 1)[1] - 1


def _changed_oddly(first: int, n: int) -> list[int]:
    """Which bits change an odd number of times on the way: those in which the codes at its ends differ."""
    start, end = max(first, 0), max(_check_end(first + n), 0)
    below = max(min(n, -first), 0)
    codes = start ^ start >> 1 ^ end ^ end >> 1 ^ below & 1
    found = []
    while codes:
        found.append((codes & -codes).bit_length() - 1)
        codes &= codes - 1
    return found


_draw, _forward = Handy("quasirandom", "draw"), Handy("quasirandom", "forward")
_forwards = _forward.at_hand


_UNIT = np.array(2.0 ** -BITS)


@op("_sobol_engine_draw(Index quasi, int n, Index sobolstate, int dimension, int num_generated, dtype? dtype) -> "
    "(Tensor result, Index state)", method=False, out=False)
class _sobol_engine_draw:
    """The next `n` points (n, dimension) of a Sobol sequence, after the integers `quasi` of the last one; and what these are then.

    >>> state = torch._sobol_engine_initialize_state_(torch.zeros(2, 30, dtype=torch.int64), 2)
    >>> torch._sobol_engine_draw(torch.zeros(2, dtype=torch.int64), 2, state, 2, 0, None)[0]
    tensor([[0.5000, 0.5000],
            [0.7500, 0.2500]])
    """

    reads = "quasi sobolstate"

    def quick(quasi, n, sobolstate, dimension, num_generated, dtype):
        kind = (default_dtype() if dtype is None else dtype).np
        if quasi.ndim == 1 and kind.char in "fd" and (run := _draw.of(kind.char, n * dimension)) is not None:
            last, points = quasi.copy(), np.empty((n, dimension), kind)
            run(dimension, 1, last, sobolstate, points, dimension, num_generated)
            return points, last

    def function(F, quasi, n, sobolstate, dimension, num_generated, dtype):
        wanted = default_dtype() if dtype is None else as_dtype(dtype)
        directions, last = _directions(sobolstate, dimension), _values("quasi", quasi, (dimension,)).copy()
        if wanted.name not in ("float32", "float64"):
            no_kernel("_sobol_engine_draw", quasi, wanted)
        given_size(F, "empty", ((n, dimension),))
        bits, points = _changed_bits(num_generated, n), np.empty((n + 1, dimension), np.int64)
        points[0] = last[:dimension]
        if dimension < _WIDE:
            points[1:] = directions.T[bits]
            np.bitwise_xor.accumulate(points, 0, None, points)
        else:  # which NumPy does column by column
            for before, bit, after in zip(points, bits, points[1:]):
                np.bitwise_xor(before, directions[:, bit], after)
        last[:dimension] = points[n]
        return F.wrap(np.multiply(points[1:], _UNIT, np.empty((n, dimension), wanted.np), casting="unsafe")), F.wrap(last)

    def samples(rng): yield Sample((np.zeros(2, np.int64), 3, direction_numbers(2), 2, 0), {"dtype": None})


def _written(F: Functions, target: TensorRef, values: np.ndarray) -> TensorRef:
    """The tensor with `values` in its first rows and columns. Its version stays, as in torch."""
    F.check_inplace(target, [])
    corner = tuple([slice(n) for n in values.shape])
    if target._k.special is None and target._data.__class__ is np.ndarray:
        target._data[corner] = values
        return target
    whole = values_of(target).copy()
    whole[corner] = values
    target._data[...] = whole
    return target


@op("_sobol_engine_ff_(Index input, int n, Index sobolstate, int dimension, int num_generated) -> Index", method=False, out=False)
class _sobol_engine_ff_:
    """The integers of the last point of a Sobol sequence, changed to those `n` points later.

    >>> state = torch._sobol_engine_initialize_state_(torch.zeros(1, 30, dtype=torch.int64), 1)
    >>> torch._sobol_engine_ff_(torch.zeros(1, dtype=torch.int64), 2, state, 1, 0) / 2 ** 30
    tensor([0.7500])
    """

    reads = "input sobolstate"
    gives_input = True

    def quick(input, n, sobolstate, dimension, num_generated):
        if state.fused != _NEVER:
            try:
                _forwards["f"](dimension, 1, input, sobolstate, dimension, num_generated, n)  # a frame less than to ask for it
                return input
            except KeyError:
                pass
        if (run := _forward.of("f", dimension)) is not None:
            run(dimension, 1, input, sobolstate, dimension, num_generated, n)
            return input

    def function(F, input, n, sobolstate, dimension, num_generated):
        directions, last = _directions(sobolstate, dimension), _values("quasi", input, (dimension,))[:dimension]
        bits = _changed_oddly(num_generated, max(n, 0))
        if len(bits) > 1:
            last = last ^ np.bitwise_xor.reduce(directions[:, bits], 1)
        elif bits:
            last = last ^ directions[:, bits[0]]
        return _written(F, input, last)

    def samples(rng): yield np.zeros(2, np.int64), 3, direction_numbers(2), 2, 0


@op("_sobol_engine_initialize_state_(Index input, int dimension) -> Index", method=False, out=False)
class _sobol_engine_initialize_state_:
    """The direction numbers of the first `dimension` dimensions, written to a matrix (dimension, 30) of int64.

    >>> torch._sobol_engine_initialize_state_(torch.zeros(1, 30, dtype=torch.int64), 1)[0, :3]
    tensor([536870912, 268435456, 134217728])
    """

    reads = "input"
    def function(F, input, dimension):
        if dimension > DIMENSIONS:
            raise AutogradError(f"direction numbers are known for {DIMENSIONS} dimensions, not {dimension}")
        rows = max(dimension, 1)  # the first is always written
        known = _values("sobolstate", input, (rows, BITS))
        if (n := known.shape[1]) > BITS:
            raise ShapeMismatchError(f"The size of tensor a ({n}) must match the size of tensor b ({BITS}) at non-singleton dimension 1")
        F.check_inplace(input, [])
        plain = known is input._data and known.__class__ is np.ndarray and input._k.special is None
        whole = known if plain else values_of(input).copy()
        if len(whole) > rows:  # those that are not asked for become as large as the others, too
            whole[rows:] *= _powers(BITS, known.dtype)
        whole[:rows] = direction_numbers(rows)
        if not plain:
            input._data[...] = whole
        F.bump(input)
        return input

    def samples(rng): yield np.zeros((2, BITS), np.int64), 2


_PLACES = np.arange(BITS)


@lru_cache(64)
def _powers(n: int, dtype: np.dtype) -> np.ndarray:
    """2 ** (n - 1), ..., 2, 1 in a dtype, of which those beyond it are zero."""
    places = np.arange(n - 1, -1, -1)
    return np.where(places < 8 * dtype.itemsize, 1 << np.minimum(places, 63), 0).astype(dtype)


def _bits(numbers: np.ndarray) -> np.ndarray:
    """The lower 30 bits of integers along a new dimension, as numbers that BLAS multiplies."""
    return (numbers[..., None] >> _PLACES & 1).astype(np.float32)


@op("_sobol_engine_scramble_(Index input, Index ltm, int dimension) -> Index", method=False, out=False)
class _sobol_engine_scramble_:
    """Direction numbers (dimension, 30), each multiplied as a vector of bits with its dimension's matrix of `ltm` (dimension, 30, 30),
    which counts as having ones on its diagonal: a linear matrix scramble. Of more columns the last 30 count.

    >>> state = torch._sobol_engine_initialize_state_(torch.zeros(1, 30, dtype=torch.int64), 1)
    >>> same = torch._sobol_engine_scramble_(state.clone(), torch.zeros(1, 30, 30, dtype=torch.int64), 1)
    >>> torch.equal(same, state)
    True
    """

    reads = "input ltm"
    def function(F, input, ltm, dimension):
        numbers = _directions(input, dimension)
        matrices = _values("ltm", ltm, (dimension, BITS, 0))[:dimension, :BITS].copy()
        if ltm._k.dtype.category < INTEGER:
            no_kernel("arange_cpu", ltm, ltm._k.dtype)
        if ltm._k.dtype.category != INTEGER:
            raise AutogradError(f"expected scalar type Long but found {SCALAR_TYPE_NAMES[ltm._k.dtype.name]}")
        ones = np.arange(min(BITS, matrices.shape[2]))
        matrices[:, ones, ones] = 1
        powers = _powers(BITS, np.dtype(np.int64))
        # Sums of products of bits are odd where a row and a number have an odd number of ones in common.
        rows = _bits((matrices * _powers(matrices.shape[2], matrices.dtype)).sum(-1, dtype=np.int64))
        common = rows @ _bits(numbers).transpose(0, 2, 1)
        scrambled = (powers[:, None] * (common.astype(np.int64) & 1)).sum(1)
        return _written(F, input, scrambled)

    def samples(rng): yield direction_numbers(2), np.tril(rng.integers(0, 2, (2, BITS, BITS))), 2
