"""MindSpore kernels that are more than one primitive on the tensors: reductions, products, and primitives that are right for some
operands only.

A kernel gets `ms` (see `executors.mindspore`) and MindSpore tensors. It declines what it would get wrong by raising
NotImplementedError, and the record's composition computes that call. (Measured on MindSpore 2.10, CPU: comparisons take NaN for
small, so maximum, relu and the extremes lose it; float32 softmax is wrong in every row once one element is not finite; log_softmax
computes float64 in single precision.)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from collections.abc import Callable, Sequence

import numpy as np

from ..annotations import Fn
from ..dims import normalize_dims, wrap_dim

if TYPE_CHECKING:
    from ..executors.mindspore import _Namespace


def _has_nan(tensor: Any) -> bool:
    array = tensor.asnumpy()
    return array.dtype.kind in "fc" and bool(np.isnan(array).any())


def need_finite(tensor: Any) -> None:
    """Declines operands with infinities or NaN."""
    if not np.isfinite(tensor.asnumpy()).all():
        raise NotImplementedError("no kernel for infinities and NaN")


def need_single(tensor: Any) -> None:
    """Declines float64, which some kernels take but compute in single precision."""
    if tensor.itemsize > 4:
        raise NotImplementedError("no kernel in double precision")


def without_nan(name: str) -> Fn:
    """The primitive on tensors alone, for operands without NaN."""
    def kernel(ms: _Namespace, *tensors: object) -> object:
        if any([_has_nan(t) for t in tensors]):
            raise NotImplementedError("no kernel for NaN")
        return ms.primitive(name)(*tensors)

    return kernel


def finite(name: str) -> Fn:
    """The primitive on tensors alone, for operands without infinities and NaN."""
    def kernel(ms: _Namespace, *tensors: object) -> object:
        for t in tensors:
            need_finite(t)
        return ms.primitive(name)(*tensors)

    return kernel


def quotient(name: str, of_floats: bool = True, of_infinities: bool = False) -> Fn:
    """The primitive on a dividend and a divisor. Division by zero loses the zero's sign and NaN; rounded quotients mistake infinities;
    remainders of large quotients are wrong, so that floats are declined."""
    def kernel(ms: _Namespace, input: object, other: Any, rounding_mode: str | None = None) -> object:
        divisor = other.asnumpy()
        if divisor.dtype.kind not in "iub":
            if not of_floats or not divisor.all():
                raise NotImplementedError("no kernel for these floats")
            if not of_infinities:
                need_finite(input)
                need_finite(other)
        return ms.primitive(name)(input, other)

    return kernel


def in_single(name: str) -> Fn:
    """The primitive on one tensor, except in float64."""
    def kernel(ms: _Namespace, input: object) -> object:
        need_single(input)
        return ms.primitive(name)(input)

    return kernel


def _dims(dim: int | tuple[int, ...] | None, ndim: int) -> tuple[int, ...]:
    return normalize_dims(dim, ndim) or ()


def _summable(ms: Any, input: Any) -> Any:
    """torch adds and multiplies integers in int64."""
    kept = (ms.int64, ms.float32, ms.float64, ms.complex64, ms.complex128)
    return input if input.dtype in kept else ms.primitive("Cast")(input, ms.int64)


def total(name: str) -> Callable[..., Any]:
    """A sum or product over `dim`: ops.ReduceSum, ReduceProd, ReduceMean."""
    def kernel(ms: Any, input: Any, dim: Any = None, keepdim: bool = False) -> object:
        return ms.primitive(name, keepdim)(_summable(ms, input), _dims(dim, input.ndim))

    return kernel


def running(name: str) -> Fn:
    """A running sum or product along `dim`: ops.CumSum, CumProd."""
    def kernel(ms: Any, input: Any, dim: int) -> object:
        if not input.ndim:
            raise NotImplementedError("no kernel for 0-dim tensors")
        return ms.primitive(name)(_summable(ms, input), wrap_dim(dim, input.ndim))

    return kernel


def logical(name: str) -> Fn:
    """ops.ReduceAll or ReduceAny; an empty tuple of dimensions reduces nothing, and uint8 stays uint8, as in torch."""
    def kernel(ms: Any, input: Any, dim: Any = None, keepdim: bool = False) -> object:
        truth = ms.primitive("Cast")(input, ms.bool_)
        if dim != ():
            truth = ms.primitive(name, keepdim)(truth, _dims(dim, input.ndim))
        return ms.primitive("Cast")(truth, ms.uint8) if input.dtype == ms.uint8 else truth

    return kernel


def extreme(name: str) -> Fn:
    """The largest or smallest element over `dim`: ops.ReduceMax, ReduceMin."""
    def kernel(ms: Any, input: Any, dim: Any = None, keepdim: bool = False) -> object:
        if _has_nan(input):
            raise NotImplementedError("no kernel for NaN")
        return ms.primitive(name, keepdim)(input, _dims(dim, input.ndim))

    return kernel


def extreme_along(name: str) -> Fn:
    """(values, indices) along `dim`: ops.ArgMaxWithValue, ArgMinWithValue."""
    def kernel(ms: Any, input: Any, dim: int, keepdim: bool = False) -> object:
        if not input.ndim or _has_nan(input):
            raise NotImplementedError("no kernel for 0-dim tensors and NaN")
        index, value = ms.primitive(name, wrap_dim(dim, input.ndim), keepdim)(input)
        return value, ms.primitive("Cast")(index, ms.int64)

    return kernel


def position(name: str) -> Fn:
    """Where the largest or smallest element is: ops.ArgMaxWithValue, ArgMinWithValue, over all elements where `dim` is None."""
    def kernel(ms: Any, input: Any, dim: int | None = None, keepdim: bool = False) -> object:
        if not input.ndim or _has_nan(input):
            raise NotImplementedError("no kernel for 0-dim tensors and NaN")
        if dim is not None:
            return ms.primitive("Cast")(ms.primitive(name, wrap_dim(dim, input.ndim), keepdim)(input)[0], ms.int64)
        index = ms.primitive("Cast")(ms.primitive(name, 0, False)(ms.primitive("Reshape")(input, (-1,)))[0], ms.int64)
        return ms.primitive("Reshape")(index, (1,) * input.ndim) if keepdim else index

    return kernel


def along(name: str, single: bool = False) -> Fn:
    """Softmax or LogSoftmax along `dim` of finite tensors."""
    def kernel(ms: Any, input: Any, dim: int) -> object:
        if not input.ndim:
            raise NotImplementedError("no kernel for 0-dim tensors")
        need_finite(input)
        if single:
            need_single(input)
        return ms.primitive(name, wrap_dim(dim, input.ndim))(input)

    return kernel


def sort(ms: Any, input: Any, dim: int = -1, descending: bool = False, stable: bool = False) -> Any:
    """ops.Sort, which is stable."""
    if not input.ndim or _has_nan(input):
        raise NotImplementedError("no kernel for 0-dim tensors and NaN")
    values, indices = ms.primitive("Sort", wrap_dim(dim, input.ndim), descending)(input)
    return values, ms.primitive("Cast")(indices, ms.int64)


def max_pool(ms: _Namespace, input: Any, kernel: Sequence[int], stride: Sequence[int], padding: Sequence[int], dilation: Sequence[int],
             ceil_mode: bool) -> Any:
    """ops.MaxPoolWithArgmaxV2, over the last one or two dimensions."""
    n = len(kernel)
    if n > 2 or _has_nan(input):
        raise NotImplementedError("no kernel for three dimensions and NaN")
    shape = input.shape
    one = lambda v, fill: (fill, *v) if n == 1 else tuple(v)
    image = ms.primitive("Reshape")(input, (-1, 1, *((1,) if n == 1 else ()), *shape[-n:]))
    made = ms.primitive("MaxPoolWithArgmaxV2", one(kernel, 1), one(stride, 1), one(padding, 0), one(dilation, 1), ceil_mode, ms.int64)
    return tuple([ms.primitive("Reshape")(r, (*shape[:-n], *r.shape[-n:])) for r in made(image)])


def running_logsumexp(ms: Any, input: Any, dim: int) -> Any:
    """ops.CumulativeLogsumexp, of finite tensors."""
    if not input.ndim:
        raise NotImplementedError("no kernel for 0-dim tensors")
    need_finite(input)
    return ms.primitive("CumulativeLogsumexp")(input, ms.Tensor(wrap_dim(dim, input.ndim)))


def matmul(ms: _Namespace, input: Any, other: Any) -> Any:
    """ops.MatMul and BatchMatMul; what is neither a pair of matrices nor of batches becomes one."""
    n, m = input.ndim, other.ndim
    if n == m == 2:
        return ms.primitive("MatMul")(input, other)
    if n == m and input.shape[:-2] == other.shape[:-2] and n > 2:
        return ms.primitive("BatchMatMul")(input, other)
    return ms.ops.matmul(input, other)
