"""Running reductions along a dimension: cumsum, cumprod, cummax, cummin, logcumsumexp; and their inverse, diff."""

from __future__ import annotations

from types import NoneType
from typing import Any

import numpy as np

from ...dims import wrap_dim
from ...dtypes import BOOL, DType, default_dtype
from ...errors import AutogradError, ShapeMismatchError, UnsupportedDTypeError
from ...executors.kernels import folds, reduce as shared
from ...executors.kernels.elementwise import with_number
from ...executors.kernels.pairs import halved, neighbours, ufunc2
from ...functions.out import EXPECTED, SCALAR_TYPE
from ...record import op
from ...strided import laid_out
from .. import _mindspore as kernels
from .._host import on_host
from .._precision import in_single
from ..elementwise.arithmetic import is_complex
from .sums import _WIDE, _sum, finish
from ...annotations import Fn, Functions, Values
from ...tensor import TensorRef


_DOUBLE: np.dtype = np.dtype(np.float64)
_DOUBLES: np.dtype = np.dtype(np.complex128)
_FEW = 64  # elements from which integers are converted before they are added
_AS_THEY_ARE = frozenset("fdEel")  # what machine code adds up


def _running(ufunc: np.ufunc) -> Fn:
    accumulate = ufunc.accumulate

    def kernel(input: np.ndarray, dim: int) -> np.ndarray:
        ndim = input.ndim
        if not ndim:
            wrap_dim(dim, 0)
            own = _WIDE.get(input.dtype.char)
            return input.astype(np.int64) if own is not None and own.kind == "i" else input.copy()
        d = dim if 0 <= dim < ndim else wrap_dim(dim, ndim)
        if ufunc is np.add and input.dtype.kind == "c":  # whose sums are those of their parts
            parts: np.ndarray = kernel(np.ascontiguousarray(input)[..., None].view(input.real.dtype), d)
            return parts.view(input.dtype)[..., 0]
        converts = input.dtype.char not in _AS_THEY_ARE and input.size >= _FEW and input.dtype.kind in "iub"
        if converts:
            input = input.astype(np.int64, "C")
        if (found := shared.running_total(input, d, ufunc is np.multiply, converts)) is not None:
            return found
        wide = _DOUBLE if input.dtype.char == "f" else _DOUBLES if input.dtype.char == "F" else _WIDE.get(input.dtype.char)  # as in torch
        result = finish(accumulate(input, d, wide), input)
        if ufunc is np.add and result.dtype.kind in "fc":
            result += 0  # torch begins with 0, to which adding -0 gives 0
        return result if wide is None or wide.kind == "i" else result.astype(input.dtype)

    return _kept(kernel, "+" if ufunc is np.add else "*", "fdleE")


def _kept(kernel: Fn, which: str, chars: str) -> Fn:
    """A kernel of running values, whose way is kept by layout."""
    def way(input: np.ndarray, dim: Any, _: bool) -> folds.Way | bool:
        return not input.ndim or shared.way_to_run(input, wrap_dim(dim, input.ndim), which)

    return folds.kept(lambda input, dim, _: kernel(input, dim), way, chars)


def _running_within(product: bool) -> Fn:
    def store_all(a: np.ndarray, dim: int) -> bool:
        ndim = a.ndim
        return ndim > 0 and shared.running_total_within(a, dim if 0 <= dim < ndim else wrap_dim(dim, ndim), product)

    return store_all


_cumsum, _cumprod = _running(np.add), _running(np.multiply)


def _no_booleans(name: str) -> Fn:
    def check(input: TensorRef, dim: int, dtype: DType | None) -> None:
        if dtype is not None and dtype.name == "bool" and input.ndim and input._data.size:  # else nothing is added
            raise UnsupportedDTypeError(f"\"{name}_out_cpu\" not implemented for 'Bool'", remedy="pass another dtype")

    return check


@op("cumsum(Tensor input, int dim, *, dtype? dtype=None) -> Tensor", quiet="all", inplace=True, dtypes="float int bool half")
class cumsum:
    """The running sum along a dimension.

    >>> torch.cumsum(torch.tensor([1., 2., 3.]), 0)
    tensor([1., 3., 6.])
    """

    lacks = {"float8 chalf": "cumsum_out_cpu"}
    sharding = "along dim"
    out_dtype = EXPECTED
    computed_in_out = True
    check = _no_booleans("cumsum")
    numpy = _cumsum
    store_all = _running_within(False)
    mindspore = kernels.running("CumSum")
    compose = on_host(_cumsum)
    def shape(input, dim): return input
    def vjp(F, grad, dim): return _reversed_cumsum(F, grad, dim)
    jvp = "linear"

    def samples(rng):
        yield rng.standard_normal((2, 3)), 1
        yield rng.standard_normal((2, 3)).T, -2
        yield rng.standard_normal(()), 0

    def errors(rng):
        yield (np.ones((2, 3)), 7), IndexError, "Dimension out of range (expected to be in range of [-2, 1], but got 7)"


def _reversed_cumsum(F: Functions, x: Values, dim: int) -> Values:
    return F.flip(F.cumsum(F.flip(x, (dim,)), dim), (dim,)) if len(x.shape) else x


def _past_zeros(grad: np.ndarray, input: np.ndarray, result: np.ndarray, dim: int) -> np.ndarray:
    """The gradient of `cumprod` of numbers with zeros: before the first of a line as without, at it of the products up to the second
    without it, and none beyond."""
    zeros = input == 0
    count = np.cumsum(zeros, dim)
    first = zeros & (count == 1)
    whole = np.multiply.accumulate(np.where(first, input.dtype.type(1), input), dim)
    own = np.add.reduce(np.where(count > 0, grad * whole, grad.dtype.type(0)), dim, keepdims=True)
    sums = np.flip(np.add.accumulate(np.flip(grad * result, dim), dim), dim)
    return np.where(count == 0, sums / np.where(zeros, input.dtype.type(1), input), np.where(first, own, grad.dtype.type(0)))


@op("cumprod(Tensor input, int dim, *, dtype? dtype=None) -> Tensor", quiet="all", inplace=True, dtypes="float int bool half")
class cumprod:
    """The running product along a dimension.

    >>> torch.cumprod(torch.tensor([1., 2., 3.]), 0)
    tensor([1., 2., 6.])
    """

    lacks = {"float8 chalf": "cumprod_out_cpu"}
    sharding = "along dim"
    out_dtype = EXPECTED
    computed_in_out = True
    check = _no_booleans("cumprod")
    numpy = _cumprod
    store_all = _running_within(True)
    mindspore = kernels.running("CumProd")
    compose = on_host(_cumprod)
    def shape(input, dim): return input

    @in_single(again=lambda F, input, dim: F.cumprod(input, dim))
    def vjp(F, grad, input, result, dim):
        shape = tuple(input.shape)
        if not shape:
            return grad
        if bool(F.all(F.ne(input, 0))):
            return _reversed_cumsum(F, grad * result, dim) / input
        if isinstance(input, np.ndarray) and isinstance(grad, np.ndarray):
            return _past_zeros(grad, input, result, dim)
        # With zeros: element k takes part in all products from k on, each without it.
        d = dim % len(shape)
        parts = []
        for k in range(shape[d]):
            one = F.ones_for(input, shape[:d] + (1,) + shape[d + 1:])
            before = F.prod(F.slice(input, d, 0, k), d, True) if k else one
            after = F.cumprod(F.cat([one, F.slice(input, d, k + 1)], d), d)
            parts.append(F.sum(F.slice(grad, d, k) * before * after, d, True))
        return F.cat(parts, d) if parts else F.zeros_for(grad, shape)

    def samples(rng):
        yield rng.uniform(0.5, 2, (2, 3)), 1
        yield np.array([[1.5, 0.0, 2.0], [0.0, 3.0, 0.0]]), -1


def _running_extreme(ufunc: np.ufunc) -> Fn:
    accumulate = ufunc.accumulate
    better = np.greater_equal if ufunc is np.maximum else np.less_equal

    def kernel(input: np.ndarray, dim: int) -> tuple[np.ndarray, np.ndarray]:
        if not input.ndim:
            wrap_dim(dim, 0)
            return input.copy(), np.zeros((), np.int64)
        d = wrap_dim(dim, input.ndim)
        if (found := shared.running_extreme(input, d, ufunc is np.minimum)) is not None:
            return found
        values = accumulate(input, d)
        n = input.shape[d]
        at = np.arange(n).reshape((n,) + (1,) * (input.ndim - 1 - d))
        # The index is that of the last element that was as good as any before it, or NaN.
        first = better(input, values) | (input != input) if input.dtype.kind not in "iub" else better(input, values)
        indices = np.maximum.accumulate(np.where(first, at, 0), d)
        if input.dtype.kind not in "iub" and input.size and not input.all():  # zeros have signs
            values = np.take_along_axis(input, indices, d)
        return finish(values, input), finish(indices, input)

    return _kept(kernel, ">" if ufunc is np.maximum else "<", "fdleE")


_cummax, _cummin = _running_extreme(np.maximum), _running_extreme(np.minimum)


@op("cummax(Tensor input, int dim) -> (Tensor values, Index indices)", quiet="all", dtypes="float int bool", complex="cummax_cpu")
class cummax:
    """The running maximum along a dimension, and where it is.

    >>> torch.cummax(torch.tensor([1., 3., 2.]), 0).values
    tensor([1., 3., 3.])
    """

    lacks = {"uint float8": "cummax_cpu"}
    sharding = "along dim"
    out_dtype = SCALAR_TYPE
    numpy = _cummax
    compose = on_host(_cummax)
    def shape(input, dim): return input, input
    def vjp(F, grad, indices, input, dim): return F.scatter_add(F.zeros_for(grad, tuple(input.shape)), dim, indices, grad)

    def samples(rng):
        yield (1.0 * rng.permutation(6)).reshape(2, 3), 1
        yield (1.0 * rng.permutation(6)).reshape(2, 3), 0


@op("cummin(Tensor input, int dim) -> (Tensor values, Index indices)", quiet="all", dtypes="float int bool", complex="cummin_cpu")
class cummin:
    """The running minimum along a dimension, and where it is.

    >>> torch.cummin(torch.tensor([2., 1., 3.]), 0).values
    tensor([2., 1., 1.])
    """

    lacks = {"uint float8": "cummin_cpu"}
    sharding = "along dim"
    out_dtype = SCALAR_TYPE
    numpy = _cummin
    compose = on_host(_cummin)
    def shape(input, dim): return input, input
    def vjp(F, grad, indices, input, dim): return F.scatter_add(F.zeros_for(grad, tuple(input.shape)), dim, indices, grad)
    def samples(rng): yield (1.0 * rng.permutation(6)).reshape(2, 3), 1


def _logcumsumexp_complex(input: np.ndarray, dim: int) -> np.ndarray:
    result = input.copy()
    at = np.moveaxis(result, dim, 0)
    for i in range(1, len(at)):
        swap = at[i - 1].real < at[i].real
        high, low = np.where(swap, at[i], at[i - 1]), np.where(swap, at[i - 1], at[i])
        at[i] = np.where(np.isneginf(low.real), high, high + np.log(1 + np.exp(low - high)))
    return result


def _logcumsumexp(input: np.ndarray, dim: int) -> np.ndarray:
    if not input.ndim:
        wrap_dim(dim, 0)
        return input.copy()
    if input.dtype.kind == "c":
        return _logcumsumexp_complex(input, wrap_dim(dim, input.ndim))
    return finish(np.logaddexp.accumulate(input, wrap_dim(dim, input.ndim), _DOUBLE).astype(input.dtype), input)


@op("logcumsumexp(Tensor input, int dim) -> Tensor", dtypes="float")
class logcumsumexp:
    """The logarithm of the running sum of exponentials along a dimension.

    >>> torch.logcumsumexp(torch.tensor([0., 0.]), 0)
    tensor([0.0000, 0.6931])
    """

    sharding = "along dim"
    lacks = {"int bool rare": "logcumsumexp_out_cpu"}
    out_dtype = SCALAR_TYPE
    numpy = _logcumsumexp
    mindspore = kernels.running_logsumexp
    compose = on_host(_logcumsumexp)
    def shape(input, dim): return input

    @in_single(again=lambda F, input, dim: F.logcumsumexp(input, dim))
    def vjp(F, grad, input, result, dim):
        # grad is split by sign, so that each part's running sum stays a sum of exponentials.
        def part(g):
            positive = F.gt(g, 0)
            # -1e30 stands for the logarithm of zero: infinity less infinity would spoil the next derivative.
            logs = F.where(positive, F.log(F.where(positive, g, 1.0)), -1e30) - result
            return F.exp(F.flip(F.logcumsumexp(F.flip(logs, (dim,)), dim), (dim,)) + input)

        if not len(input.shape):
            return grad
        if is_complex(input):  # whose logarithms have every sign
            logs = F.where(grad == 0, -1e30, F.log(F.where(grad == 0, 1.0, grad))) - result
            return F.exp(F.flip(F.logcumsumexp(F.flip(logs, (dim,)), dim), (dim,)) + input)
        return part(grad) - part(-grad)

    def jvp(F, outputs, arguments, tangents):
        """As torch, which adds 1e-13 to the sums that it divides by, and takes no maximum of complex numbers."""
        input, t, dim = arguments["input"], tangents["input"], arguments["dim"]
        e = F.exp(input if is_complex(input) or 0 in input.shape else input - F.amax(input, dim, True))
        return F.cumsum(e * t, dim) / (F.cumsum(e, dim) + 1e-13)

    def samples(rng):
        yield rng.standard_normal((2, 3)), 1
        yield rng.standard_normal((2, 3)), 0


def _ends(x: np.ndarray, d: int) -> tuple[np.ndarray, np.ndarray]:
    """All elements along a dimension but the first, and all but the last."""
    before = (slice(None),) * d
    return x[(*before, slice(1, None))], x[(*before, slice(None, -1))]


def times(x: np.ndarray, number: float) -> np.ndarray:
    """Elements by a number, which for half precision is not rounded before the product."""
    if x.itemsize == 2:
        return with_number(np.multiply, x, number, False)
    return x * x.dtype.type(number)


@op("diff(Tensor input, int n=1, int dim=-1, Tensor? prepend=None, Tensor? append=None) -> Tensor")
class diff:
    """Differences of neighbours along a dimension, `n` times.

    >>> torch.diff(torch.tensor([1., 4., 9.]))
    tensor([3., 5.])
    """

    lacks = {"uint float8": lambda input, n, **_: "add_stub" if n else None}
    def quick(input, n, dim, prepend, append):
        if prepend is append is None and n.__class__ is dim.__class__ is int and input.ndim and input.shape[dim] > n > 0:
            d = dim % input.ndim
            for _ in range(n):
                given, input = input, neighbours(np.not_equal if input.dtype.char == "?" else np.subtract, input, d)
            return input if input.flags.c_contiguous else laid_out(input, *_ends(given, d))

    def function(F, input, n=1, dim=-1, prepend=None, append=None, *, out=None):
        if not input.ndim:
            raise AutogradError("diff expects input to be at least one-dimensional")
        if n < 0:
            raise AutogradError(f"order must be non-negative but got {n}")
        d = wrap_dim(dim, input.ndim)
        for end in (prepend, append):
            if end is None:
                continue
            if end.ndim != input.ndim:
                raise ShapeMismatchError("diff expects prepend or append to be the same dimension as input",
                                         expected=f"{input.ndim} dimensions", found=str(end.ndim))
            other = next((i for i in range(input.ndim) if i != d and end.shape[i] != input.shape[i]), None)
            if other is not None:
                raise ShapeMismatchError(
                    "diff expects the shape of tensor to prepend or append to match that of input except along the differencing dimension; "
                    f"input.size({other}) = {input.shape[other]}, but got tensor.size({other}) = {end.shape[other]}")
        if not min(n, input.shape[d]):
            return F.clone(input) if out is None else F.give("diff", out, F.clone(input))
        if prepend is not None or append is not None:
            input = F.cat([x for x in (prepend, input, append) if x is not None], d)
        steps = min(n, input.shape[d])
        for i in range(steps):
            size = input.shape[d]
            last = out if i == steps - 1 else None
            a, b = F.narrow(input, d, 1, size - 1), F.narrow(input, d, 0, size - 1)
            input = F.logical_xor(a, b, out=last) if input._k.dtype.name == "bool" else F.sub(a, b, out=last)
        return input

    def samples(rng):
        yield (rng.standard_normal((2, 4)),)
        yield rng.standard_normal((4, 2)), 2, 0

    def errors(rng): yield (np.ones(()),), RuntimeError, "diff expects input to be at least one-dimensional"


# -- areas below curves -------------------------------------------------------------------------------------------------


def _heights(F: Functions, name: str, y: TensorRef, x: TensorRef, dx: float | None, dim: int) -> TensorRef:
    """The areas between neighbouring points along `dim`."""
    d = wrap_dim(dim, y.ndim)
    n = y.shape[d] if y.ndim else 1
    if x is not None and dx is not None:
        raise AutogradError(f"{name} received both x and dx")
    sums = F.narrow(y, d, 1, n - 1) + F.narrow(y, d, 0, n - 1)
    if x is None:
        return sums * ((1 if dx is None else dx) / 2)
    if x.ndim == 1:
        if x.shape[0] != n:
            raise AutogradError(f"{name}: There must be one `x` value for each sample point")
        steps = F.reshape(F.diff(x), (-1,) + (1,) * (y.ndim - 1 - d))
    else:
        at = wrap_dim(dim, x.ndim)
        steps = F.diff(x, 1, at)
    return sums * steps / 2


def _fraction(dtype: np.dtype) -> np.dtype | None:
    """The dtype of areas below points, where they are computed below the frames."""
    if dtype.char in "fdeE":
        return dtype
    return default_dtype().np if dtype.char == "l" and default_dtype().np.char in "fd" else None


def _areas(y: np.ndarray, x: np.ndarray | None, dx: float | None, d: int) -> np.ndarray | None:
    """`_heights` of plain arrays: steps of a vector, or a number; None of others."""
    if (fraction := _fraction(y.dtype)) is None:
        return None
    sums = neighbours(np.add, y, d)
    if x is None:
        return times(sums.astype(fraction, copy=False), (1 if dx is None else dx) / 2)
    if dx is not None or x.ndim != 1 or x.dtype is not y.dtype or x.size != y.shape[d]:
        return None
    steps = neighbours(np.subtract, x, 0).reshape((-1,) + (1,) * (y.ndim - 1 - d))
    areas = ufunc2(np.multiply, sums, steps) if y.itemsize > 2 else halved(np.multiply, sums, steps)
    return times(areas.astype(fraction, copy=False), 0.5)


@op("trapezoid(Tensor y, Tensor? x=None, *, Scalar? dx=None, int dim=-1) -> Tensor", alias="trapz", method=False, out=False)
class trapezoid:
    """The integral along a dimension by the trapezoid rule, over points `x` or with spacing `dx`.

    >>> torch.trapezoid(torch.tensor([1., 5., 10.]))
    tensor(10.5000)
    """

    lacks = {"uint float8": "add_stub", "chalf": "sum_cpu"}
    def quick(y, x, dx, dim):
        if dim.__class__ is int and y.ndim and y.shape[dim] and dx.__class__ in (NoneType, int, float):
            d = dim % y.ndim
            if x is not None:
                return None if (areas := _areas(y, x, dx, d)) is None else np.asarray(_sum(areas, d, False))
            if (fraction := _fraction(y.dtype)) is None:
                return None
            whole = np.asarray(_sum(y, d, False), fraction)
            before = (slice(None),) * d
            ends = np.asarray(y[(*before, 0)] + y[(*before, -1)]).astype(fraction, copy=False)
            return np.asarray(times(whole - times(ends, 0.5), 1 if dx is None else dx))

    def function(F, y, x=None, *, dx=None, dim=-1):
        if y.dtype.name == "bool" or x is not None and x.dtype.name == "bool":
            raise AutogradError(f"trapezoid: received a bool input for {'`y`' if x is None else '`x` or `y`'}, but bool is not supported")
        if y.ndim and not y.shape[wrap_dim(dim, y.ndim)]:
            return F.sum(y, dim)
        if x is None and y.ndim:
            ends = [F.select(y, dim, i) for i in (0, -1)]
            return (F.sum(y, dim) - (ends[0] + ends[1]) * 0.5) * (1 if dx is None else dx)
        return F.sum(_heights(F, "trapezoid", y, x, dx, dim), dim)

    def samples(rng):
        yield (rng.standard_normal((2, 4)),)
        yield rng.standard_normal((2, 4)), np.sort(rng.standard_normal(4))


@op("cumulative_trapezoid(Tensor y, Tensor? x=None, *, Scalar? dx=None, int dim=-1) -> Tensor", method=False, out=False)
class cumulative_trapezoid:
    """The running integral along a dimension by the trapezoid rule.

    >>> torch.cumulative_trapezoid(torch.tensor([1., 5., 10.]))
    tensor([ 3.0000, 10.5000])
    """

    lacks = {"bool": "RuntimeError: cumulative_trapezoid: received a bool input for `x` or `y`, but bool is not supported",
             "uint float8": "add_stub", "chalf": "cumsum_out_cpu"}
    def quick(y, x, dx, dim):
        if dim.__class__ is int and y.ndim and y.shape[dim] and dx.__class__ in (NoneType, int, float):
            areas = _areas(y, x, dx, dim % y.ndim)
            return None if areas is None else _cumsum(areas, dim)

    def function(F, y, x=None, *, dx=None, dim=-1):
        if x is not None and x._k.dtype.category == BOOL:
            raise AutogradError("cumulative_trapezoid: received a bool input for `x` or `y`, but bool is not supported")
        if y.ndim and not y.shape[wrap_dim(dim, y.ndim)]:
            return F.cumsum(y, dim)
        return F.cumsum(_heights(F, "cumulative_trapezoid", y, x, dx, dim), dim)
    def samples(rng): yield rng.standard_normal((2, 4)), np.sort(rng.standard_normal(4))
