"""Products of matrices in groups, as mixtures of experts need them, and of matrices of 8-bit floats with scales."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...annotations import Functions
from ...dtypes import SCALAR_TYPE_NAMES, float8_e4m3fn, float32
from ...errors import AutogradError, ShapeMismatchError
from ...modes import no_grad
from ...record import Sample, op
from ...strided import contiguous_strides, empty_strided
from ...tensor import TensorRef, as_dtype
from .._host import on_host
from .general import without_data
from .products import _same_matrix_dtype

_GROUPED = ("float32", "bfloat16", "float16")
_LINE = 16  # bytes that rows have to begin at a multiple of


# -- groups -----------------------------------------------------------------------------------------------------------


def _result_strides(shape: Sequence[int], itemsize: int) -> tuple[int, ...]:
    """In elements; rows begin at multiples of 16 bytes."""
    per_line = _LINE // itemsize
    return contiguous_strides((*shape[:-1], -(-shape[-1] // per_line) * per_line))


def _grouped_shape(a: Sequence[int], b: Sequence[int], groups: int) -> tuple[int, ...]:
    """(m, n), of two matrices a group each, and of two batches a batch."""
    lead = (groups,) if len(a) == len(b) else ()
    return (*lead, a[-2], b[-1])


def _products(input: np.ndarray, mat2: np.ndarray, offs: np.ndarray | None = None, *rest: object) -> np.ndarray:
    ends = range(1, len(input) + 1) if offs is None else offs.tolist()
    shape = _grouped_shape(input.shape, mat2.shape, len(ends))
    result = empty_strided(shape, _result_strides(shape, input.dtype.itemsize), input.dtype)
    result[...] = 0
    half = input.dtype.itemsize == 2
    a, b = (x.astype(np.float32) if half else x for x in (input, mat2))
    length = a.shape[-1] if a.ndim == b.ndim == 2 else len(a) if a.ndim == 2 else b.shape[-1]
    start = 0
    for group, end in enumerate(ends):
        if offs is not None and not 0 <= end <= length:
            raise AutogradError(f"offs must lie between 0 and {length}, but found {end}")
        part = slice(start, end)
        if a.ndim == b.ndim == 3:
            result[group] = a[group].dot(b[group])
        elif a.ndim == b.ndim:
            result[group] = a[:, part].dot(b[part])
        elif a.ndim == 2:
            result[part] = a[part].dot(b[group])
        else:
            result[:, part] = a[group].dot(b[:, part])
        start = end
    return result


def _strides(x: TensorRef) -> list[int]:
    return [n // x._k.dtype.itemsize for n in x._data.strides] if x._data.size else list(contiguous_strides(x.shape))


def _check_lines(x: TensorRef) -> None:
    """Raises where neither rows nor columns lie one after another, from multiples of 16 bytes on."""
    strides, (rows, columns) = _strides(x), x.shape[-2:]
    if strides[-2] == 1 and strides[-1] >= max(1, rows):
        step = strides[-1]
    elif strides[-1] == 1 and strides[-2] >= max(1, columns):
        step = strides[-2]
    else:
        raise AutogradError(f"Invalid strides/sizes, got {strides} for strides and {list(x.shape)} for sizes")
    if step * x.dtype.itemsize % _LINE:
        raise AutogradError(f"strides should be multiple of {_LINE} bytes")


def _check_grouped(input: TensorRef, mat2: TensorRef, offs: TensorRef | None, bias: TensorRef | None, out_dtype: Any) -> None:
    for said, x in (("mat_a", input), ("mat_b", mat2)):
        if x.dtype.name not in _GROUPED:
            raise AutogradError(f"Expected {said} to be Float32, BFloat16 or Float16 matrix, got {SCALAR_TYPE_NAMES[x.dtype.name]}")
    for said, x in (("mat_a", input), ("mat_b", mat2)):
        if x.ndim not in (2, 3):
            raise ShapeMismatchError(f"{said} has to be 2 or 3d")
    if input.shape[-1] != mat2.shape[-2]:
        raise ShapeMismatchError("contraction dimension of mat_a and mat_b must match")
    _check_lines(input)
    _check_lines(mat2)
    if (offs is None) is not (input.ndim == mat2.ndim == 3):
        raise AutogradError("Have to provide offsets if there is a 2d matrix, or no offset if both matrices are 3d")
    if offs is not None and offs.ndim != 1:
        raise ShapeMismatchError("offs has to be 1D")
    if offs is not None and offs.dtype.name != "int32":
        raise AutogradError("Offsets have to be int32")
    if bias is not None:
        raise AutogradError("Bias not supported yet")
    if out_dtype is not None and as_dtype(out_dtype) is not input.dtype:
        raise AutogradError("Grouped gemm output dtype must match `mat_a` dtype")
    if offs is None and input.shape[0] != mat2.shape[0]:
        raise ShapeMismatchError("batched dimension has to match")
    if input.ndim != mat2.ndim and offs is not None and len(offs) != (mat2 if mat2.ndim == 3 else input).shape[0]:
        raise ShapeMismatchError("matrix batch sizes have to match")
    _same_matrix_dtype(input, mat2)


_SPLIT = {(2, 2): "m T, T n, G -> G m n", (2, 3): "M k, G k n, G -> M n", (3, 2): "G m k, k N, G -> m N", (3, 3): "g m k, g k n -> g m n"}
"""How groups of matrices may be split over devices, by the numbers of dimensions: not where offsets cut them."""


@op("_grouped_mm(Tensor input, Tensor mat2, Index? offs=None, Index? bias=None, dtype? out_dtype=None) -> Tensor", method=False,
    out=False, quiet="none", node="GroupedMmBackward0", dtypes="float half")
class _grouped_mm:
    """Products of groups of matrices: of two batches (g, m, k) and (g, k, n), one with one; or where `offs` (g) says at which rows of the
    first matrix (m, k), columns of the second (k, n), or terms of the sums of both, each group ends.

    >>> experts = torch.stack([torch.eye(4), 2 * torch.eye(4)])
    >>> torch._grouped_mm(torch.ones(3, 4), experts, torch.tensor([1, 3], dtype=torch.int32))[:, 0]
    tensor([1., 2., 2.])
    """

    def sharding(call): return call.letters(_SPLIT[len(call.shape("input")), len(call.shape("mat2"))])
    numpy = half = _products
    compose = on_host(_products)
    check = _check_grouped
    flops = "input"
    no_forward = "_grouped_mm"

    def meta(input, mat2, offs=None, *rest):
        shape = _grouped_shape(input.shape, mat2.shape, len(input if offs is None else offs))
        return without_data(shape, input.dtype, tuple([n * input.itemsize for n in _result_strides(shape, input.itemsize)]))

    def vjp_input(F, grad, mat2, offs): return F._grouped_mm(grad, F.transpose(mat2, -2, -1), offs)
    def vjp_mat2(F, grad, input, offs): return F._grouped_mm(F.transpose(input, -2, -1), grad, offs)

    def samples(rng):
        r, offs = rng.standard_normal, np.array([4, 4, 8], np.int32)
        for a, b, given in (((8, 4), (3, 4, 8), offs), ((3, 4, 4), (4, 8), offs), ((4, 8), (8, 4), offs), ((3, 4, 4), (3, 4, 8), None)):
            yield Sample((r(a).astype("f4"), r(b).astype("f4"), given), single="tests/ops/scaled_cases.py")


# -- scales -----------------------------------------------------------------------------------------------------------


def _told(said: str, x: TensorRef, scale: TensorRef) -> str:
    return (f"mat_{said}.dtype()={SCALAR_TYPE_NAMES[x.dtype.name]}, scale_{said}.dtype()={SCALAR_TYPE_NAMES[scale.dtype.name]}, "
            f"scale_{said}.size()={list(scale.shape)}")


def _check_scaled(a: TensorRef, b: TensorRef, scale_a: TensorRef, scale_b: TensorRef) -> None:
    """Raises unless matrices of 8-bit floats have a scale each, or one for each row of the first and column of the second."""
    m, n = a.shape[0], b.shape[1]
    floats = all([x.dtype.group == "float8" for x in (a, b)]) and all([s.dtype is float32 for s in (scale_a, scale_b)])
    single = scale_a._data.size == scale_b._data.size == 1
    apiece = (tuple(scale_a.shape), tuple(scale_b.shape)) == ((m, 1), (1, n))
    each = apiece and all(s._data.flags.c_contiguous for s in (scale_a, scale_b))
    if not (floats and (single or each)):
        raise ValueError(
            "Invalid scaling configuration.\n- For TensorWise scaling, a and b should be float8, scales should be float and singletons.\n"
            "- For RowWise scaling, a and b should be float8, scales should be float, scale_a should be "
            f"({m}, 1) and scale_b should be (1, {n}), and both should be contiguous.\nGot {_told('a', a, scale_a)}, scale_a.stride()="
            f"{_strides(scale_a)}, {_told('b', b, scale_b)} and scale_b.stride()={_strides(scale_b)}")


def _scaled(F: Functions, a: TensorRef, b: TensorRef, scale_a: TensorRef, scale_b: TensorRef, bias: TensorRef | None,
            scale_result: TensorRef | None, out_dtype: Any) -> TensorRef:
    if a.shape[1] != b.shape[0]:
        raise ShapeMismatchError(f"mat_a and mat_b shapes cannot be multiplied ({a.shape[0]}x{a.shape[1]} and {b.shape[0]}x{b.shape[1]})")
    _check_scaled(a, b, scale_a, scale_b)
    n, wanted = b.shape[1], a.dtype if out_dtype is None else as_dtype(out_dtype)
    if bias is not None and bias._data.size != n:
        raise ShapeMismatchError(f"Bias must be size {n} but got {bias._data.size}")
    with no_grad():
        result = F.mm(F.cast(a, float32), F.cast(b, float32)) * (scale_a * scale_b)
        if bias is not None:
            result = result + F.reshape(F.cast(bias, float32), (n,))
        if scale_result is not None and out_dtype is not None and wanted.group == "float8":
            result = result / scale_result
        return F.cast(result, wanted)


def _bytes(rng: Any) -> list[np.ndarray]:
    """Matrices for samples."""
    return [rng.standard_normal(shape).astype(float8_e4m3fn.np) for shape in ((3, 4), (4, 2))]


@op("_scaled_mm(Tensor input, Tensor mat2, Tensor scale_a, Tensor scale_b, Tensor? bias=None, Tensor? scale_result=None, "
    "dtype? out_dtype=None, bool use_fast_accum=False) -> Tensor", method=False)
class _scaled_mm:
    """The product of matrices (m, k) and (k, n) of 8-bit floats, computed in float32, times `scale_a` and `scale_b`: numbers, or (m, 1) and
    (1, n); plus `bias` (n). It is of `out_dtype`, or that of `input`; an 8-bit
    `out_dtype` is divided by `scale_result`.

    >>> x, one = torch.eye(2).to(torch.float8_e4m3fn), torch.tensor(1.)
    >>> torch._scaled_mm(x, x, one, one * 3, out_dtype=torch.float32)
    tensor([[3., 0.],
            [0., 3.]])
    """

    def function(F, input, mat2, scale_a, scale_b, bias=None, scale_result=None, out_dtype=None, use_fast_accum=False):
        for name, x in (("mat1", input), ("mat2", mat2)):
            if x.ndim != 2:
                raise ShapeMismatchError(f"{name} must be a matrix")
        return _scaled(F, input, mat2, scale_a, scale_b, bias, scale_result, out_dtype)

    def samples(rng):
        yield Sample((*_bytes(rng), *[np.full((), n, "f4") for n in (2, 3)]), {"out_dtype": float32}, single="torch has none")


@op("_scaled_mm_v2(Tensor input, Tensor mat2, Tensor[] scale_a, int[] recipe_a, int[] swizzle_a, Tensor[] scale_b, int[] recipe_b, "
    "int[] swizzle_b, Tensor? bias, dtype? out_dtype, int[] contraction_dim=(), bool use_fast_accum=False) -> Tensor", method=False)
class _scaled_mm_v2:
    """`_scaled_mm`, of which recipes say what the scales are for: 0 all elements, 1 a row or column each. No other is known on a CPU.

    >>> x, one = torch.eye(2).to(torch.float8_e4m3fn), torch.tensor(1.)
    >>> torch._scaled_mm_v2(x, x, [one], [0], [], [one * 3], [0], [], None, torch.float32)[0]
    tensor([3., 0.])
    """

    def function(F, input, mat2, scale_a, recipe_a, swizzle_a, scale_b, recipe_b, swizzle_b, bias, out_dtype, contraction_dim=(),
                 use_fast_accum=False):
        for name, x in (("mat_a", input), ("mat_b", mat2)):
            if x.ndim != 2:
                raise ValueError(f"{name} must be a matrix")
        if any([s != 0 for s in (*swizzle_a, *swizzle_b)]):
            raise ValueError("CPU does not support swizzle.")
        if len(contraction_dim) not in (0, 2):
            raise ValueError("contraction_dim must have exactly 2 elements")
        return _scaled(F, input, mat2, scale_a[0], scale_b[0], bias, None, out_dtype)

    def samples(rng):
        two, three = [np.full((), n, "f4") for n in (2, 3)]
        yield Sample((*_bytes(rng), [two], [0], [], [three], [0], [], None, float32), single="torch has none")
