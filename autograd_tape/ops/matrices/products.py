"""Products of vectors, matrices and batches of matrices.

Three products of two matrices, A B, A B^H and A^H B, are each other's gradients, so that none of them ever transposes:
`mm`, `mm_nt`, `mm_tn`. Everything else folds its batch dimensions onto them where it can.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING
from collections.abc import Callable, Sequence

import numpy as np

from ...dtypes import FLOATING, SCALAR_TYPE_NAMES, c_name
from ...errors import AutogradError, ShapeMismatchError
from ...executors.kernels import blas, folds, halves
from ...executors.kernels.pairs import OF_UFUNC
from ...dims import broadcast_shape
from ...functions.out import DOT, EXPECTED, TENSORDOT, OutRule
from ...functions.overloads import PRODUCT, PRODUCTS
from ...functions.refusals import no_kernel
from ...record import Sample, get_record, no_derivative, op
from .. import _batch as batches
from .. import _mindspore as kernels
from .. import _shapes as shapes
from .._samples import category, check_factor, takes_floats
from ...annotations import Fn, Functions, Number, Values
from ...tensor import TensorRef

if TYPE_CHECKING:
    from ...sharding.rules import Call, Plan

_SMALL = 4096  # elements below which stacks of matrices are not worth sharing
_MANY = 256  # elements of a second matrix from which on integers are worth a look at how large they are
_LARGE = 4096  # elements of a second matrix from which on a few rows may be multiplied otherwise than by one product; of products of pairs,
# from which on a loop of our own is quicker


# -- what is wrong with the arguments ---------------------------------------------------------------------------------


def _same_matrix_dtype(a: TensorRef, b: TensorRef) -> None:
    if a.dtype is not b.dtype:
        names = [c_name(t.dtype) for t in (a, b)]
        raise AutogradError(f"expected m1 and m2 to have the same dtype, but got: {names[0]} != {names[1]}",
                            remedy="convert one of them with .to(dtype)")
    _no_bool(a)


def _no_bool(a: TensorRef) -> None:
    if a.dtype.name == "bool" and a._data.size:
        no_kernel("addmm_impl_cpu_", a)


def same_scalar_type(a: TensorRef, b: TensorRef, kernel: str = "bmm") -> None:
    if a.dtype.name == "bool" and a._data.size and b._data.size:
        no_kernel(kernel, a)
    if a.dtype is not b.dtype:
        raise AutogradError(f"expected scalar type {SCALAR_TYPE_NAMES[a.dtype.name]} but found {SCALAR_TYPE_NAMES[b.dtype.name]}",
                            remedy="convert one of them with .to(dtype)")


def _check_dims_match(rows: int, inner: int, inner2: int, columns: int) -> None:
    if inner != inner2:
        raise ShapeMismatchError(f"mat1 and mat2 shapes cannot be multiplied ({rows}x{inner} and {inner2}x{columns})",
                                 expected=f"a second matrix with {inner} rows", found=str(inner2), remedy="transpose one of them")


@takes_floats
def _check_dot(input: TensorRef, tensor: TensorRef) -> None:
    if input.ndim != 1 or tensor.ndim != 1:
        raise AutogradError(f"1D tensors expected, but got {input.ndim}D and {tensor.ndim}D tensors")
    if input.dtype is not tensor.dtype:
        a, b = SCALAR_TYPE_NAMES[input.dtype.name], SCALAR_TYPE_NAMES[tensor.dtype.name]
        raise AutogradError(f"dot : expected both vectors to have same dtype, but found {a} and {b}", remedy="convert one of them")
    n, m = input.shape[0], tensor.shape[0]
    if n != m:
        raise ShapeMismatchError(f"inconsistent tensor size, expected tensor [{n}] and src [{m}] to have the same number of elements, "
                                 f"but got {n} and {m} elements respectively")


@takes_floats
def _check_mv(input: TensorRef, vec: TensorRef, added: TensorRef | None = None) -> None:
    if input.ndim != 2 or vec.ndim != 1 or added is not None and added.ndim > 1:
        first = 1 if added is None else added.ndim
        raise AutogradError(f"vector + matrix @ vector expected, got {first}, {input.ndim}, {vec.ndim}")
    rows, columns = input.shape
    _check_mv_sizes(rows, columns, vec, input, added)


def _check_mv_sizes(rows: int, columns: int, vec: TensorRef, mat: TensorRef, added: TensorRef | None = None) -> None:
    size = rows if added is None or not added.ndim or added.shape[0] == 1 else added.shape[0]
    if columns != vec.shape[0] or size != rows:
        raise ShapeMismatchError(f"size mismatch, got input ({size}), mat ({rows}x{columns}), vec ({vec.shape[0]})")
    if mat.dtype is not vec.dtype or added is not None and added.dtype is not vec.dtype:
        names = [SCALAR_TYPE_NAMES[t.dtype.name] for t in (vec if added is None else added, mat, vec)]
        raise AutogradError(f"addmv input tensors must have the same dtype, but got {names[0]}, {names[1]}, and {names[2]}")


def _check_mm(input: TensorRef, mat2: TensorRef) -> None:
    if input.ndim != 2:
        raise AutogradError("self must be a matrix", expected="2 dimensions", found=str(input.ndim), remedy="use matmul")
    if mat2.ndim != 2:
        raise AutogradError("mat2 must be a matrix", expected="2 dimensions", found=str(mat2.ndim), remedy="use matmul")
    _check_dims_match(*input.shape, *mat2.shape)
    _same_matrix_dtype(input, mat2)


def _check_batches(a: Sequence[int], b: Sequence[int]) -> None:
    if b[0] != a[0] or b[1] != a[2]:
        raise ShapeMismatchError(f"Expected size for first two dimensions of batch2 tensor to be: [{a[0]}, {a[2]}] but got: [{b[0]}, "
                                 f"{b[1]}].")


def _check_bmm(input: TensorRef, mat2: TensorRef) -> None:
    for name, t in (("batch1", input), ("batch2", mat2)):
        if t.ndim != 3:
            raise AutogradError(f"{name} must be a 3D tensor", expected="3 dimensions", found=str(t.ndim), remedy="use matmul")
    _check_batches(input.shape, mat2.shape)
    same_scalar_type(input, mat2)


def _check_matmul(input: TensorRef, other: TensorRef) -> None:
    a, b = tuple(input.shape), tuple(other.shape)
    if not a or not b:
        raise AutogradError(f"both arguments to matmul need to be at least 1D, but they are {len(a)}D and {len(b)}D")
    if len(a) == len(b) == 1:
        return _check_dot(input, other)
    if len(b) == 1:
        return _check_mv_sizes(prod(a[:-1]), a[-1], other, input)
    if len(b) == 2:
        _check_dims_match(prod(a[:-1]), a[-1], *b)
        return _same_matrix_dtype(input, other)
    left = a if len(a) > 1 else (1, *a)
    batch = broadcast_shape(left[:-2], b[:-2])
    _check_batches((prod(batch), *left[-2:]), (prod(batch), *b[-2:]))
    same_scalar_type(input, other)


def added_product(call: Call, notation: str) -> Plan:
    """The plan of a product of the other operands that the first is added to, of which leading dimensions may be missing."""
    first, rest = notation.split(",", 1)
    words = first.split()
    return call.letters(" ".join(words[len(words) - call["input"].ndim:]) + "," + rest, linear="each", added=(0,))


def _check_expand(shape: Sequence[int], size: Sequence[int], tensor: TensorRef) -> None:
    """Raises where `shape` does not broadcast to `size`."""
    if len(shape) > len(size):
        name = SCALAR_TYPE_NAMES[tensor.dtype.name]
        raise AutogradError(f"expand(torch.{name}Tensor{{{list(shape)}}}, size={list(size)}): the number of sizes provided ({len(size)}) "
                            f"must be greater or equal to the number of dimensions in the tensor ({len(shape)})")
    lead = len(size) - len(shape)
    for i in reversed(range(len(shape))):
        if shape[i] != size[lead + i] and shape[i] != 1:
            raise ShapeMismatchError(f"The expanded size of the tensor ({size[lead + i]}) must match the existing size ({shape[i]}) at "
                                     f"non-singleton dimension {lead + i}.  Target sizes: {list(size)}.  Tensor sizes: {list(shape)}")


# -- matrix and matrix ------------------------------------------------------------------------------------------------


def adjoint(a: np.ndarray) -> np.ndarray:
    """The conjugate transpose of the last two dimensions; a view where `a` is real."""
    return (a.conj() if a.dtype.kind == "c" else a).swapaxes(-2, -1)


def _mm(input: np.ndarray, mat2: np.ndarray) -> np.ndarray:
    if input.ndim != 2 or mat2.ndim != 2:
        raise ValueError("matrices expected")
    size = mat2.size
    if size < _MANY:
        return input.dot(mat2)
    if input.dtype.kind in "iu":
        return blas.integers(input, mat2)
    return input.dot(mat2) if size < _LARGE else blas.product(input, mat2)


_Way = Callable[[np.ndarray, np.ndarray], np.ndarray | None]


def _in_halves(kernel: Fn, *ranks: int, few: _Way | None = None, many: _Way | None = None) -> Fn:
    """A kernel of two factors, of these ranks if any, for half precision: by `few` where they are small, as they are where there is none,
    by `many` where that takes others, else computed in single precision and rounded."""
    def half(input: np.ndarray, other: np.ndarray) -> np.ndarray:
        found = None
        if not ranks or (input.ndim, other.ndim) == ranks:
            found = few(input, other) if few is not None else None
            if found is None and many is not None and other.ndim == 1 and 0 < input.ndim < 3:
                found = many(input, other)
        return halves.narrow(kernel(halves.widened(input), halves.widened(other)), input.dtype) if found is None else found

    return half if few is not None else blas.few_halves_or(half, *ranks)


@op("mm(Tensor input, Tensor mat2) -> Tensor", quiet="numbers")
class mm:
    """The product of two matrices (n, m) and (m, p).

    >>> torch.mm(torch.tensor([[1., 2.], [3., 4.]]), torch.tensor([[1.], [1.]]))
    tensor([[3.],
            [7.]])
    """

    lacks = {"bool uint chalf float8_e8m0fnu": "addmm_impl_cpu_ if any"}
    sharding = "m k, k n -> m n"
    out_dtype = EXPECTED
    amp = "lower"
    numpy = _mm
    half = _in_halves(_mm, 2, 2)
    mindspore = "ops.MatMul"
    mindspore_takes = "complex half"
    check = _check_mm
    def shape(input, mat2): return (input[0], mat2[1])
    def vjp_input(F, grad, mat2): return F.mm_nt(grad, mat2)
    def vjp_mat2(F, grad, input): return F.mm_tn(input, grad)
    jvp = "bilinear"
    batch = batches.product(2, 2)
    def samples(rng): yield rng.standard_normal((2, 3)), rng.standard_normal((3, 4))

    def errors(rng):
        yield (np.ones((2, 3)), np.ones((4, 5))), RuntimeError, "mat1 and mat2 shapes cannot be multiplied (2x3 and 4x5)"
        yield (np.ones(2), np.ones((4, 5))), RuntimeError, "self must be a matrix"


@op("mm_nt(Tensor input, Tensor mat2) -> Tensor", namespace="_internal", method=False, out=False, node="MmBackward0")
class mm_nt:
    """`input` times the transpose of `mat2`: (n, m) and (p, m)."""

    sharding = "m k, n k -> m n"
    def numpy(input, mat2): return input.dot(mat2.T) if mat2.size < _LARGE else blas.product(input, mat2.T)
    half = _in_halves(numpy, 2, 2, few=lambda input, mat2: blas.few_halves(input, mat2.T))
    def shape(input, mat2): return (input[0], mat2[0])
    def compose(F, input, mat2): return F.mm(input, F.transpose(mat2, 0, 1))
    mindspore_takes = "half"
    def vjp_input(F, grad, mat2): return F.mm(grad, mat2)
    def vjp_mat2(F, grad, input): return F.mm_tn(grad, input)
    jvp = "bilinear"
    batch = batches.product(2, 2, change=lambda F, a, b: (a, F.transpose(b, -1, -2)))
    def decompose(F, input, mat2): return F.mm(input, F.t(mat2))
    def samples(rng): yield rng.standard_normal((2, 3)), rng.standard_normal((4, 3))


@op("mm_tn(Tensor input, Tensor mat2) -> Tensor", namespace="_internal", method=False, out=False, node="MmBackward0")
class mm_tn:
    """The transpose of `input` times `mat2`: (m, n) and (m, p)."""

    sharding = "k m, k n -> m n"
    def numpy(input, mat2): return input.T.dot(mat2)
    half = _in_halves(numpy, 2, 2, few=lambda input, mat2: blas.few_halves(input.T, mat2))
    def shape(input, mat2): return (input[1], mat2[1])
    def compose(F, input, mat2): return F.mm(F.transpose(input, 0, 1), mat2)
    mindspore_takes = "half"
    def vjp_input(F, grad, mat2): return F.mm_nt(mat2, grad)
    def vjp_mat2(F, grad, input): return F.mm(input, grad)
    jvp = "bilinear"
    batch = batches.product(2, 2, change=lambda F, a, b: (F.transpose(a, -1, -2), b))
    def decompose(F, input, mat2): return F.mm(F.t(input), mat2)
    def samples(rng): yield rng.standard_normal((3, 2)), rng.standard_normal((3, 4))


def _matmul(input: np.ndarray, other: np.ndarray) -> np.ndarray:
    if other.ndim == 2:
        n = input.ndim
        if other.size >= _MANY and input.dtype.kind in "iu":
            return blas.integers(input, other)
        if n == 2:
            return input.dot(other)
        if n > 2:
            shape = input.shape
            return input.reshape(prod(shape[:-1]), shape[-1]).dot(other).reshape(*shape[:-1], other.shape[1])
    if other.ndim == 1 and 0 < input.ndim < 3:
        if input.size < _MANY:
            return input.dot(other)
        if input.dtype.char == "l" and (found := folds.dot_rows(input, other)) is not None:
            return found
    result = _stacks(input, other)
    return result if other.ndim < 3 or input.ndim < 3 or result.flags.c_contiguous else np.ascontiguousarray(result)


def _stacks(input: np.ndarray, other: np.ndarray) -> np.ndarray:
    if input.size < _MANY:
        return np.matmul(input, other)
    if input.dtype.kind in "iu":
        return blas.integers(input, other)
    return np.matmul(input, other) if input.size < _SMALL else blas.matmul(input, other)


def _rows(F: Functions, x: Values) -> Values:
    """All but the last dimension as one."""
    shape = tuple(x.shape)
    return F.reshape(x, (prod(shape[:-1]), shape[-1]))


def _matmul_grad_input(F: Functions, grad: Values, other: Values, input_shape: Sequence[int]) -> Values:
    n, m = len(input_shape), other.ndim
    if m == 2:
        if n == 2:
            return F.mm_nt(grad, other)
        if n > 2:
            return F.reshape(F.mm_nt(_rows(F, grad), other), tuple(input_shape))
    if m == 1:
        return F.outer(grad, other) if n == 2 else (grad if n == 1 else F.reshape(grad, (*grad.shape, 1))) * other
    if n == 1:
        moved = F.matmul(other, F.reshape(grad, (*grad.shape, 1)))
        return F.reduce_to_shape(F.reshape(moved, tuple(moved.shape)[:-1]), tuple(input_shape))
    return F.reduce_to_shape(F.matmul(grad, F.transpose(other, -2, -1)), tuple(input_shape))


def _matmul_grad_other(F: Functions, grad: Values, input: Values, other_shape: Sequence[int]) -> Values:
    n, m = input.ndim, len(other_shape)
    if m == 2 and n >= 2:
        return F.mm_tn(input, grad) if n == 2 else F.mm_tn(_rows(F, input), _rows(F, grad))
    if m == 1:
        if n == 1:
            return grad * input
        return F.matmul(F.reshape(grad, (prod(grad.shape),)), _rows(F, input))
    if n == 1:
        shape = tuple(grad.shape)
        return F.outer(input, grad) if m == 2 else F.reshape(input, (input.shape[0], 1)) * F.reshape(grad, (*shape[:-1], 1, shape[-1]))
    return F.reduce_to_shape(F.matmul(F.transpose(input, -2, -1), grad), tuple(other_shape))


def _kernel_of(input: TensorRef, other: TensorRef) -> str:
    """torch's name of the kernel of a product, by the ranks of its factors."""
    n, m = input.ndim, other.ndim
    if not min(n, m) or not (input._data.size and other._data.size):
        return ""
    return "dot" if n == m == 1 else "addmm_impl_cpu_" if max(n, m) == 2 and n == m or min(n, m) == 2 < max(n, m) else \
        "addmv_impl_cpu" if min(n, m) == 1 else "bmm"


def _kernel_but_mm(input: TensorRef, other: TensorRef) -> str:
    kernel = _kernel_of(input, other)
    return "" if kernel == "addmm_impl_cpu_" else kernel


@op("matmul(Tensor input, Tensor other) -> Tensor", quiet="numbers", alias="linalg.matmul", node="MmBackward0")
class matmul:
    """The matrix product; 1-d tensors are vectors, leading dimensions of more than 2 are batches and broadcast.

    >>> torch.matmul(torch.tensor([[1., 2.], [3., 4.]]), torch.tensor([1., 1.]))
    tensor([3., 7.])
    """

    composite = "matmul"
    lacks = {"bool uint chalf float8_e8m0fnu": _kernel_of, "float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz": _kernel_but_mm}
    flops = "input"
    def sharding(call):
        n, m = len(call.shape("input")), len(call.shape("other"))
        first, second = ("k" if n == 1 else "*b m k"), ("k" if m == 1 else "*b k n")
        result = " ".join(["*b"] * (max(n, m) > 2) + ["m"] * (n > 1) + ["n"] * (m > 1))
        return call.letters(f"{first}, {second} -> {result}")

    out_dtype = EXPECTED
    amp = "lower"
    saved_as = {"other": "mat2"}
    seen_as = {"len(input_shape) == len(other_shape) == 1": "DotBackward0",
               "len(input_shape) == 2 and len(other_shape) == 1": "MvBackward0",
               "len(input_shape) == 1 and len(other_shape) == 2": "SqueezeBackward4",
               "len(input_shape) > 2 or len(other_shape) > 2": "UnsafeViewBackward0"}
    ufunc = np.matmul
    numpy = _matmul
    half = _in_halves(_matmul, many=folds.dot_rows)
    shape = shapes.matmul
    mindspore = kernels.matmul
    mindspore_takes = "complex half"
    check = _check_matmul
    vjp_input = _matmul_grad_input
    vjp_other = _matmul_grad_other
    jvp = "bilinear"
    batch = batches.product()

    def decompose(F, input, other):
        ranks = input.ndim, other.ndim
        if ranks == (1, 1):
            return F.dot(input, other)
        if ranks == (2, 1):
            return F.mv(input, other)
        if ranks == (1, 2):
            return F.squeeze(F.mm(F.unsqueeze(input, 0), other), 0)
        if ranks == (2, 2):
            return F.mm(input, other)
        if 0 in ranks:
            return NotImplemented
        if ranks[0] > 2 and ranks[1] < 3:
            shape = tuple(input.shape)
            flat = F.reshape(input, (prod(shape[:-1]), shape[-1]))
            return F.unsafe_view(F.mv(flat, other), shape[:-1]) if ranks[1] == 1 else \
                F.unsafe_view(F.mm(flat, other), (*shape[:-1], other.shape[1]))
        a = F.unsqueeze(input, 0) if ranks[0] == 1 else input
        b = F.unsqueeze(other, 1) if ranks[1] == 1 else other
        lead = broadcast_shape(tuple(a.shape[:-2]), tuple(b.shape[:-2]))
        flat = [F.reshape(F.expand(t, (*lead, *t.shape[-2:])), (prod(lead), *t.shape[-2:])) for t in (a, b)]
        result = F.unsafe_view(F.bmm(*flat), (*lead, a.shape[-2], b.shape[-1]))
        return F.squeeze(result, -2) if ranks[0] == 1 else F.squeeze(result, -1) if ranks[1] == 1 else result


    def samples(rng):
        r = rng.standard_normal
        yield r((2, 3)), r((3, 4))
        yield r(3), r(3)
        yield r((2, 3)), r(3)
        yield r(3), r((3, 4))
        yield r((2, 2, 3)), r((3, 4))
        yield r((2, 3)), r((4, 3, 2))
        yield r((3, 1, 2, 3)), r((2, 3, 4))
        yield r((2, 2, 3)), r(3)
        yield r(3), r((2, 3, 4))

    def errors(rng):
        yield (np.ones((2, 3)), np.ones((4, 5))), RuntimeError, "mat1 and mat2 shapes cannot be multiplied (2x3 and 4x5)"
        yield (np.ones((2, 3)), np.ones(4)), RuntimeError, "size mismatch, got input (2), mat (2x3), vec (4)"
        yield (np.ones(2), np.ones(3)), RuntimeError, (
            "inconsistent tensor size, expected tensor [2] and src [3] to have the same number of elements, but got 2 and 3 elements "
            "respectively")
        yield (np.ones(()), np.ones(2)), RuntimeError, "both arguments to matmul need to be at least 1D, but they are 0D and 1D"
        yield (np.ones((2, 3, 4)), np.ones((3, 4, 5))), RuntimeError, (
            "The size of tensor a (2) must match the size of tensor b (3) at non-singleton dimension 0")


def _bmm(input: np.ndarray, mat2: np.ndarray) -> np.ndarray:
    if input.ndim != 3 or mat2.ndim != 3 or len(input) != len(mat2):
        raise ValueError("batches of matrices expected")
    return np.matmul(input, mat2) if input.size < _MANY else _stacks(input, mat2)


@op("bmm(Tensor input, Tensor mat2) -> Tensor", quiet="numbers")
class bmm:
    """The products of two batches of matrices (b, n, m) and (b, m, p).

    >>> torch.bmm(torch.ones(1, 2, 2), torch.ones(1, 2, 1))
    tensor([[[2.],
             [2.]]])
    """

    sharding = "b m k, b k n -> b m n"
    lacks = {"bool rare": "bmm if any"}
    out_dtype = EXPECTED
    amp = "lower"
    numpy = _bmm
    half = _in_halves(_bmm, 3, 3)
    mindspore = "ops.BatchMatMul"
    mindspore_takes = "complex half"
    check = _check_bmm
    def shape(input, mat2): return (input[0], input[1], mat2[2])
    def vjp_input(F, grad, mat2): return F.bmm(grad, F.transpose(mat2, -2, -1))
    def vjp_mat2(F, grad, input): return F.bmm(F.transpose(input, -2, -1), grad)
    jvp = "bilinear"
    batch = batches.product(3, 3)
    def samples(rng): yield rng.standard_normal((2, 2, 3)), rng.standard_normal((2, 3, 2))

    def errors(rng):
        yield (np.ones((2, 3)), np.ones((2, 3, 4))), RuntimeError, "batch1 must be a 3D tensor"
        yield (np.ones((2, 3, 4)), np.ones((3, 4, 5))), RuntimeError, (
            "Expected size for first two dimensions of batch2 tensor to be: [2, 4] but got: [3, 4].")


# -- vectors ----------------------------------------------------------------------------------------------------------


def _mv(input: np.ndarray, vec: np.ndarray) -> np.ndarray:
    if input.ndim != 2 or vec.ndim != 1:
        raise ValueError("a matrix and a vector expected")
    if input.size >= _MANY and input.dtype.char == "l" and (found := folds.dot_rows(input, vec)) is not None:
        return found
    return input.dot(vec)


@op("mv(Tensor input, Tensor vec) -> Tensor", quiet="numbers")
class mv:
    """The product of a matrix (n, m) and a vector (m,).

    >>> torch.mv(torch.tensor([[1., 2.], [3., 4.]]), torch.tensor([1., 1.]))
    tensor([3., 7.])
    """

    sharding = "m k, k -> m"
    lacks = {"bool rare": "addmv_impl_cpu if any"}
    out_dtype = OutRule("addmv input tensors must have the same dtype, but got {found}, {wanted}, and {wanted}")
    amp = "whole"
    numpy = _mv
    half = _in_halves(_mv, 2, 1, many=folds.dot_rows)
    shape = shapes.matmul
    check = _check_mv
    def compose(F, input, vec): return F.matmul(input, vec)
    def vjp_input(F, grad, vec): return F.outer(grad, vec)
    def vjp_vec(F, grad, input): return F.matmul(grad, input)
    jvp = "bilinear"
    batch = batches.product(2, 1)
    def samples(rng): yield rng.standard_normal((2, 3)), rng.standard_normal(3)
    def errors(rng): yield (np.ones((2, 3)), np.ones(4)), RuntimeError, "size mismatch, got input (2), mat (2x3), vec (4)"


def _dot(input: np.ndarray, tensor: np.ndarray) -> np.generic:
    if input.ndim != 1 or tensor.ndim != 1:
        raise ValueError("vectors expected")
    return input.dot(tensor)


@op("dot(Tensor input, Tensor tensor) -> Tensor", quiet="numbers")
class dot:
    """The sum of the products of two vectors' elements.

    >>> torch.dot(torch.tensor([1., 2.]), torch.tensor([3., 4.]))
    tensor(11.)
    """

    sharding = "k, k -> "
    lacks = {"bool rare": "dot"}
    out_dtype = DOT
    amp = "whole"
    numpy = _dot
    half = _in_halves(_dot, 1, 1, many=folds.dot_rows)
    as_elementwise = True
    def shape(input, tensor): return ()
    check = _check_dot
    def compose(F, input, tensor): return F.matmul(input, tensor)
    def vjp_input(F, grad, tensor): return grad * tensor
    def vjp_tensor(F, grad, input): return grad * input
    jvp = "bilinear"
    batch = batches.product(1, 1)
    def samples(rng): yield rng.standard_normal(3), rng.standard_normal(3)

    def errors(rng):
        yield (np.ones((2, 2)), np.ones(2)), RuntimeError, "1D tensors expected, but got 2D and 1D tensors"


@op("vdot(Tensor input, Tensor other) -> Tensor", complex="explicit", quiet="numbers")
class vdot:
    """The dot product of two vectors, the first one conjugated.

    >>> torch.vdot(torch.tensor([1., 2.]), torch.tensor([3., 4.]))
    tensor(11.)
    """

    sharding = "k, k -> "
    passes_partial = "each"
    lacks = {"bool uint float8": "dot", "chalf": "vdot"}
    out_dtype = DOT
    amp = "whole"
    def numpy(input, other): return _dot(input.conj() if input.dtype.kind == "c" else input, other)
    half = _in_halves(_dot, 1, 1, many=folds.dot_rows)
    as_elementwise = True
    def shape(input, other): return ()
    @takes_floats
    def check(input, other): _check_dot(input, other)
    def compose(F, input, other): return F.sum(F.conj(input) * other)
    def vjp_input(F, grad, other): return F.conj(grad) * other
    def vjp_other(F, grad, input): return grad * input
    batch = batches.product(1, 1, change=lambda F, a, b: (F.conj_physical(a), b))
    def samples(rng): yield rng.standard_normal(3), rng.standard_normal(3)


@takes_floats
def _check_outer(input: TensorRef, vec2: TensorRef) -> None:
    for name, t in (("self", input), ("vec2", vec2)):
        if t.ndim != 1:
            raise AutogradError(f"outer: Expected 1-D argument {name}, but got {t.ndim}-D")


def outer_product(input: np.ndarray, vec2: np.ndarray) -> np.ndarray:
    if input.ndim != 1 or vec2.ndim != 1:
        raise ValueError("vectors expected")
    found = OF_UFUNC[np.multiply].table(input, vec2)
    return np.multiply(input.reshape(-1, 1), vec2) if found is None else found


@op("outer(Tensor input, Tensor vec2) -> Tensor", alias="ger", promotion="promote", result="same", quiet="all", node="MulBackward0")
class outer:
    """The products of all pairs of elements of two vectors (n,) and (m,): (n, m).

    >>> torch.outer(torch.tensor([1., 2.]), torch.tensor([3., 4.]))
    tensor([[3., 4.],
            [6., 8.]])
    """

    composite = "outer"
    sharding = "m, n -> m n"
    amp = "whole"
    saved_as = {"vec2": "other"}

    numpy = outer_product
    def shape(input, vec2): return (*input, *vec2)
    check = _check_outer
    def compose(F, input, vec2): return F.reshape(input, (*input.shape, 1)) * vec2
    def vjp_input(F, grad, vec2): return F.mv(grad, vec2) if vec2.dtype == grad.dtype else F.sum(grad * vec2, -1)
    def vjp_vec2(F, grad, input):
        return F.matmul(input, grad) if input.dtype == grad.dtype else F.sum(F.reshape(input, (*input.shape, 1)) * grad, 0)

    jvp = "bilinear"

    def batch(F, call):
        """A column times a row."""
        return F.mul(F.unsqueeze(call.input, -1), F.unsqueeze(call.vec2,
                                                              -2)) if call.ranks["input"] == call.ranks["vec2"] == 1 else NotImplemented
    def decompose(F, input, vec2): return F.mul(F.view(input, (input.shape[0], 1)), vec2)

    def samples(rng): yield rng.standard_normal(2), rng.standard_normal(3)
    def errors(rng): yield (np.ones((2, 2)), np.ones(2)), RuntimeError, "outer: Expected 1-D argument self, but got 2-D"


def alike(a: TensorRef, b: TensorRef) -> None:
    """Raises torch's error where two tensors to be contracted have different dtypes; under autocast, too, which casts their product's."""
    if a._k.dtype is not b._k.dtype:
        raise AutogradError("both inputs should have same dtype")


@op("inner(Tensor input, Tensor other) -> Tensor")
class inner:
    """The dot products of all last-dimension rows of two tensors; the plain product where one of them is 0-dimensional.

    >>> torch.inner(torch.tensor([[1., 2.], [3., 4.]]), torch.tensor([1., 1.]))
    tensor([3., 7.])
    """

    lacks = {"uint chalf float8_e8m0fnu": "addmm_impl_cpu_ if any"}
    out_dtype = TENSORDOT
    def quick(input, other):
        a, b = input.shape, other.shape
        if input.dtype is not other.dtype or input.dtype.char not in "fd" or not a or not b or a[-1] != b[-1]:
            return None
        if len(a) == len(b) == 1:
            return np.asarray(input.dot(other))
        rows, columns = input.reshape(prod(a[:-1]), a[-1]), other.reshape(prod(b[:-1]), b[-1])
        return _mm(rows, columns.T).reshape(a[:-1] + b[:-1])

    def function(F, input, other):
        a, b = tuple(input.shape), tuple(other.shape)
        if not a or not b:
            return input * other
        if a[-1] != b[-1]:
            raise ShapeMismatchError("inner() the last dimension must match on both input tensors but got shapes "
                                     f"{list(a)} and {list(b)}")
        alike(input, other)
        if len(a) == len(b) == 1:
            return F.dot(input, other)
        return F.reshape(F.mm(_rows(F, input), F.transpose(_rows(F, other), 0, 1)), a[:-1] + b[:-1])

    def samples(rng):
        yield rng.standard_normal((2, 3)), rng.standard_normal((4, 2, 3))
        yield rng.standard_normal(3), rng.standard_normal(3)


# -- a product added to something -------------------------------------------------------------------------------------


def _plus(product: np.ndarray, input: np.ndarray, beta: Number) -> np.ndarray:
    """beta * input + product, in the product's memory; a `beta` of 0 ignores even a NaN, but no shape."""
    if beta == 0:
        if input.shape != product.shape and np.broadcast_shapes(input.shape, product.shape) != product.shape:
            raise ValueError("what is broadcast to the product expected")
        return product
    if not input.flags.c_contiguous and input.size < _SMALL:
        input = input.copy()  # few numbers are sooner copied than added as they lie
    return np.add(product, input if beta == 1 else input * product.dtype.type(beta), product)


def _plus_in_halves(kernel: Fn, *ranks: int) -> Fn:
    """`_in_halves` of a product of factors of these ranks that is added to a first operand."""
    few = blas.few_halves_or(_nothing, *ranks)

    def half(input: np.ndarray, mat1: np.ndarray, mat2: np.ndarray, beta: Number = 1) -> np.ndarray:
        found = few(mat1, mat2, input) if beta == 1 else None
        return halves.narrow(kernel(*map(halves.widened, (input, mat1, mat2)), beta), mat1.dtype) if found is None else found

    return half


def _nothing(mat1: np.ndarray, mat2: np.ndarray) -> None:
    """Of factors that are not few numbers of half precision."""


def _over(product: Fn, *ranks: int) -> Fn:
    """What writes beta * input + a product over the input; of half precision only few numbers, factors of these ranks."""
    few = blas.few_halves_or(_nothing, *ranks)

    def store_all(a: np.ndarray, x: np.ndarray, y: np.ndarray, beta: Number = 1) -> bool:
        half = a.itemsize == 2
        found = product(x, y) if not half else few(x, y, a) if ranks and beta == 1 else None
        if found is None:
            return False
        if found.shape != a.shape:
            raise ValueError("another shape")
        if half or beta == 0:
            a[...] = found
        elif beta != 1:
            np.add(found, a * a.dtype.type(beta), a)
        elif a.ndim == 1 or a.flags.c_contiguous or a.size >= _SMALL:
            np.add(found, a, a)
        else:  # few numbers are sooner copied than added as they lie
            a[...] = np.add(found, a.copy(), found)
        return True

    return store_all


_mm_over = _over(_mm, 2, 2)


def product_plus(mat1: np.ndarray, mat2: np.ndarray, input: np.ndarray) -> np.ndarray:
    """mat1 @ mat2 + input, as `addmm` has it.

    >>> product_plus(np.ones((1, 2)), np.ones((2, 1)), np.ones(1))
    array([[3.]])
    """
    return _plus(_mm(mat1, mat2), input, 1)


def _scaled(F: Functions, grad: Values, factor: Number) -> Values:
    return grad if factor == 1 else grad * factor


def _grad_added(F: Functions, grad: Values, input_shape: Sequence[int], beta: Number) -> Values:
    shape = tuple(input_shape)
    return _scaled(F, grad if tuple(grad.shape) == shape else F.reduce_to_shape(grad, shape), beta)


def _check_self_and(name: str, a: TensorRef, b: TensorRef) -> None:
    if a.dtype is not b.dtype:
        raise AutogradError(f"self and {name} must have the same dtype, but got {SCALAR_TYPE_NAMES[a.dtype.name]} and "
                            f"{SCALAR_TYPE_NAMES[b.dtype.name]}", remedy="convert one of them with .to(dtype)")


def _check_added_dtypes(input: TensorRef, mat1: TensorRef, mat2: TensorRef) -> None:
    """Raises torch's error where a product of matrices and what it is added to have different dtypes."""
    _check_self_and("mat2", input, mat2)
    if mat1.dtype is not mat2.dtype:
        raise AutogradError(f"mat1 and mat2 must have the same dtype, but got {SCALAR_TYPE_NAMES[mat1.dtype.name]} and "
                            f"{SCALAR_TYPE_NAMES[mat2.dtype.name]}", remedy="convert one of them with .to(dtype)")


@op("addmm(Tensor input, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1) -> Tensor", promotion="promote", result="same",
    inplace=True, quiet="numbers")
class addmm:
    """beta * input + alpha * (mat1 @ mat2); `input` broadcasts to the product.

    >>> torch.addmm(torch.tensor([1., 2.]), torch.tensor([[1., 1.]]), torch.tensor([[1., 2.], [3., 4.]]))
    tensor([[5., 8.]])
    """

    lacks = {"uint chalf float8_e8m0fnu": "addmm_impl_cpu_ if any"}
    flops = "mat1"
    def sharding(call): return added_product(call, "m n, m k, k n -> m n")
    amp = "lower"
    deprecated = ("beta input alpha mat1 mat2", "beta input mat1 mat2")
    opmath = "product"
    present = PRODUCT
    out_dtype = EXPECTED
    saved_as = {"input_shape": None}

    def numpy(input, mat1, mat2, beta=1):
        if mat1.dtype.kind == "b" and mat1.size:
            raise TypeError  # `check` says so on the general path
        return _plus(_mm(mat1, mat2), input, beta)
    half = _plus_in_halves(numpy, 2, 2)
    def store_all(a, mat1, mat2, beta=1): return a.dtype.kind != "b" and _mm_over(a, mat1, mat2, beta)
    def compose(F, input, mat1, mat2, beta=1):
        product = F.mm(mat1, mat2)
        return product if beta == 0 else product + _scaled(F, input, beta)
    def check(input, mat1, mat2, beta, alpha):
        _check_added_dtypes(input, mat1, mat2)
        for name, t in (("mat1", mat1), ("mat2", mat2)):
            if t.ndim != 2:
                raise AutogradError(f"{name} must be a matrix, got {t.ndim}-D tensor")
        _check_dims_match(*mat1.shape, *mat2.shape)
        _check_expand(tuple(input.shape), (mat1.shape[0], mat2.shape[1]), input)
        _no_bool(mat1)
    def shape(input, mat1, mat2, beta): return (mat1[0], mat2[1])
    vjp_input = _grad_added
    def vjp_mat1(F, grad, mat2, alpha): return _scaled(F, F.mm_nt(grad, mat2), alpha)
    def vjp_mat2(F, grad, mat1, alpha): return _scaled(F, F.mm_tn(mat1, grad), alpha)
    batch = batches.added_product(2, 2, 2)

    def samples(rng):
        r = rng.standard_normal
        yield r((2, 4)), r((2, 3)), r((3, 4))
        yield r(4), r((2, 3)), r((3, 4))

        yield Sample((r((2, 1)), r((2, 3)), r((3, 4))), {"beta": 0.5, "alpha": 2.0})

    def errors(rng):
        yield (np.ones(5), np.ones((2, 3)), np.ones((4, 5))), RuntimeError, "mat1 and mat2 shapes cannot be multiplied (2x3 and 4x5)"
        yield (np.ones(3), np.ones((2, 3)), np.ones((3, 5))), RuntimeError, (
            "The expanded size of the tensor (5) must match the existing size (3) at non-singleton dimension 1.  Target sizes: [2, 5].  "
            "Tensor sizes: [3]")


def _activated(input: np.ndarray, mat1: np.ndarray, mat2: np.ndarray, beta: Number = 1, use_gelu: bool = False) -> np.ndarray:
    if mat1.dtype.kind == "b" or use_gelu and mat1.dtype.kind in "iu":
        raise TypeError  # `check` says so on the general path
    product = _plus(_mm(mat1, mat2), input, beta)
    if not use_gelu:
        return np.maximum(product, product.dtype.type(0))
    found: np.ndarray = get_record("gelu").field("numpy")(product, "none")
    return found


@op("_addmm_activation(Tensor input, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1, bool use_gelu=False) -> Tensor",
    promotion="promote", result="same", quiet="numbers", node="NotImplemented")
class _addmm_activation:
    """`addmm` and then `relu`, or `gelu`; it has no derivative.

    >>> torch._addmm_activation(torch.tensor([-5., 2.]), torch.tensor([[1., 1.]]), torch.tensor([[1., 2.], [3., 4.]]))
    tensor([[0., 8.]])
    """

    lacks = {"complex rare bool": "addmm_activation"}
    amp = "lower"
    flops = "mat1"
    sharding = "composed"
    out_dtype = EXPECTED
    numpy = _activated
    def compose(F, input, mat1, mat2, beta=1, use_gelu=False):
        product = F.mm(mat1, mat2)
        product = product if beta == 0 else product + _scaled(F, input, beta)
        return F.gelu(product) if use_gelu else F.relu(product)
    def check(input, mat1, mat2, beta, alpha, use_gelu):
        get_record("addmm").field("check")(input, mat1, mat2, beta, alpha)
        if use_gelu and input.dtype.category < FLOATING:
            no_kernel("GeluKernelImpl", input)
    def shape(input, mat1, mat2, beta, use_gelu): return (mat1[0], mat2[1])
    vjp = no_derivative("_addmm_activation")

    def batch(F, call):
        found = batches.added_product(2, 2, 2)(F, call)
        return found if found is NotImplemented else F.gelu(found) if call.use_gelu else F.relu(found)

    def samples(rng):
        r = rng.standard_normal
        yield Sample((r((2, 4)), r((2, 3)), r((3, 4))), no_gradient="torch has none")
        yield Sample((r(4), r((2, 3)), r((3, 4))), {"beta": 0.5, "alpha": 2.0, "use_gelu": True}, no_gradient="torch has none")

    def errors(rng):
        x = np.ones((2, 2), np.int64)
        yield Sample((x, x, x), {"use_gelu": True}), NotImplementedError, "\"GeluKernelImpl\" not implemented for 'Long'"


@op("addmv(Tensor input, Tensor mat, Tensor vec, *, Scalar beta=1, Scalar alpha=1) -> Tensor", promotion="promote", result="same",
    inplace=True, quiet="numbers")
class addmv:
    """beta * input + alpha * (mat @ vec).

    >>> torch.addmv(torch.tensor([1., 2.]), torch.tensor([[1., 1.], [2., 2.]]), torch.tensor([1., 1.]))
    tensor([3., 6.])
    """

    flops = "mat"
    def sharding(call): return added_product(call, "m, m k, k -> m")
    lacks = {"bool rare": "addmv_impl_cpu if any"}
    amp = "whole"
    deprecated = ("beta input alpha mat vec", "beta input mat vec")
    out_dtype = EXPECTED
    saved_as = {"input_shape": None}

    def numpy(input, mat, vec, beta=1): return _plus(_mv(mat, vec), input, beta)
    half = _plus_in_halves(numpy, 2, 1)
    store_all = _over(_mv, 2, 1)
    shape = shapes.added_product
    def compose(F, input, mat, vec, beta=1):
        product = F.mv(mat, vec)
        return product if beta == 0 else product + _scaled(F, input, beta)
    @takes_floats
    def check(input, mat, vec, beta, alpha): _check_mv(mat, vec, input)
    vjp_input = _grad_added
    def vjp_mat(F, grad, vec, alpha): return _scaled(F, F.outer(grad, vec), alpha)
    def vjp_vec(F, grad, mat, alpha): return _scaled(F, F.matmul(grad, mat), alpha)
    batch = batches.added_product(1, 2, 1)

    def samples(rng):
        yield rng.standard_normal(2), rng.standard_normal((2, 3)), rng.standard_normal(3)
        yield rng.standard_normal(1), rng.standard_normal((2, 3)), rng.standard_normal(3)

    def errors(rng):
        yield (np.ones(2), np.ones((2, 3)), np.ones(4)), RuntimeError, "size mismatch, got input (2), mat (2x3), vec (4)"


def _check_batch_pair(batch1: TensorRef, batch2: TensorRef) -> None:
    for name, t in (("batch1", batch1), ("batch2", batch2)):
        if t.ndim != 3:
            raise AutogradError(f"{name} must be a 3D tensor", expected="3 dimensions", found=str(t.ndim), remedy="use matmul")


@op("baddbmm(Tensor input, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar alpha=1) -> Tensor", promotion="promote", result="same",
    inplace=True, quiet="numbers")
class baddbmm:
    """beta * input + alpha * (batch1 @ batch2), batch by batch.

    >>> torch.baddbmm(torch.ones(1, 1, 1), torch.ones(1, 1, 2), torch.ones(1, 2, 1))
    tensor([[[3.]]])
    """

    flops = "batch1"
    def sharding(call): return added_product(call, "b m n, b m k, b k n -> b m n")
    lacks = {"bool rare": "baddbmm if any"}
    amp = "lower"
    deprecated = ("beta input alpha batch1 batch2", "beta input batch1 batch2")
    opmath = "product"
    present = PRODUCTS
    out_dtype = EXPECTED
    saved_as = {"input_shape": None}

    def numpy(input, batch1, batch2, beta=1): return _plus(_bmm(batch1, batch2), input, beta)
    half = _plus_in_halves(numpy, 3, 3)
    store_all = _over(_bmm, 3, 3)
    shape = shapes.added_product
    def compose(F, input, batch1, batch2, beta=1):
        product = F.bmm(batch1, batch2)
        return product if beta == 0 else product + _scaled(F, input, beta)
    def check(input, batch1, batch2, beta, alpha):
        if batch1.ndim > 1 and batch2.ndim > 2:
            _check_expand(tuple(input.shape), (*batch1.shape[:2], batch2.shape[2]), input)
        if input.dtype is not batch1.dtype:
            names = [c_name(t.dtype) for t in (input, batch1, batch2)]
            raise AutogradError(f"Input dtypes must be the same, got: input {names[0]}, batch1: {names[1]}, batch2: {names[2]}")
        _check_batch_pair(batch1, batch2)
        _check_batches(batch1.shape, batch2.shape)
        same_scalar_type(batch1, batch2, "baddbmm")
    vjp_input = _grad_added
    def vjp_batch1(F, grad, batch2, alpha): return _scaled(F, F.bmm(grad, F.transpose(batch2, -2, -1)), alpha)
    def vjp_batch2(F, grad, batch1, alpha): return _scaled(F, F.bmm(F.transpose(batch1, -2, -1), grad), alpha)
    batch = batches.added_product(3, 3, 3)

    def samples(rng):
        yield rng.standard_normal((2, 2, 4)), rng.standard_normal((2, 2, 3)), rng.standard_normal((2, 3, 4))
        yield rng.standard_normal((1, 4)), rng.standard_normal((2, 2, 3)), rng.standard_normal((2, 3, 4))


def _sum_of_products(batch1: np.ndarray, batch2: np.ndarray) -> np.ndarray:
    products = _bmm(batch1, batch2)
    summed: np.ndarray = np.add(products[0], products[1]) if len(products) == 2 else np.add.reduce(products, 0)
    return summed


@op("addbmm(Tensor input, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar alpha=1) -> Tensor", promotion="promote", result="same",
    inplace=True, quiet="numbers")
class addbmm:
    """beta * input + alpha * (the sum over the batch of batch1 @ batch2).

    >>> torch.addbmm(torch.ones(1, 1), torch.ones(2, 1, 2), torch.ones(2, 2, 1))
    tensor([[5.]])
    """

    def flops(result, batch1, **_): return 2.0 * result.size * batch1.shape[0] * batch1.shape[2]
    def sharding(call): return added_product(call, "m n, b m k, b k n -> m n")
    lacks = {"bool uint chalf float8_e8m0fnu": "addmm_impl_cpu_ if any"}
    amp = "lower"
    deprecated = ("beta input alpha batch1 batch2", "beta input batch1 batch2")
    out_dtype = OutRule("self and mat2 must have the same dtype, but got {found} and {wanted}")
    saved_as = {"input_shape": None}
    resizes_ = True

    def numpy(input, batch1, batch2, beta=1): return _plus(_sum_of_products(batch1, batch2), input, beta)
    store_all = _over(_sum_of_products)
    def shape(input, batch1, batch2, beta=1): return (batch1[1], batch2[2])
    def compose(F, input, batch1, batch2, beta=1):
        product = F.sum(F.bmm(batch1, batch2), 0)
        return product if beta == 0 else product + _scaled(F, input, beta)
    def check(input, batch1, batch2, beta, alpha):
        if batch1.ndim > 1 and batch2.ndim > 2:
            _check_expand(tuple(input.shape), (batch1.shape[1], batch2.shape[2]), input)
        _check_batch_pair(batch1, batch2)
        (b, n, m), (b2, m2, p) = batch1.shape, batch2.shape
        if b != b2:
            raise ShapeMismatchError(f"batch1 and batch2 must have same number of batches, got {b} and {b2}")
        if m != m2:
            raise ShapeMismatchError(f"Incompatible matrix sizes for bmm ({n}x{m} and {m2}x{p})")
        if b:  # torch adds the products of one pair of matrices after the other
            _check_added_dtypes(input, batch1, batch2)
    vjp_input = _grad_added
    def vjp_batch1(F, grad, batch2, alpha): return _scaled(F, F.matmul(grad, F.transpose(batch2, -2, -1)), alpha)
    def vjp_batch2(F, grad, batch1, alpha): return _scaled(F, F.matmul(F.transpose(batch1, -2, -1), grad), alpha)
    batch = batches.added_product(2, 3, 3)

    def samples(rng):
        yield rng.standard_normal((2, 4)), rng.standard_normal((2, 2, 3)), rng.standard_normal((2, 3, 4))


def _turned(a: np.ndarray) -> bool:
    """Whether a matrix lies in columns."""
    return a.ndim == 2 and a.flags.f_contiguous and not a.flags.c_contiguous


def _addr(input: np.ndarray, vec1: np.ndarray, vec2: np.ndarray, beta: float = 1) -> np.ndarray:
    if _turned(input):
        return _addr(input.T, vec2, vec1, beta).T
    found = blas.outer_added(vec1, vec2, input) if beta == 1 else None
    return _plus(outer_product(vec1, vec2), input, beta) if found is None else found


def _addr_over(a: np.ndarray, vec1: np.ndarray, vec2: np.ndarray, beta: float = 1) -> bool:
    return beta == 1 and (blas.add_outer(vec2, vec1, a.T) if _turned(a) else blas.add_outer(vec1, vec2, a))


@op("addr(Tensor input, Tensor vec1, Tensor vec2, *, Scalar beta=1, Scalar alpha=1) -> Tensor", promotion="promote", result="same",
    inplace=True, quiet="numbers")
class addr:
    """beta * input + alpha * (the outer product of vec1 and vec2).

    >>> torch.addr(torch.ones(1, 2), torch.tensor([2.]), torch.tensor([3., 4.]))
    tensor([[7., 9.]])
    """

    lacks = {"rare": "addr_cpu"}
    def sharding(call): return added_product(call, "m n, m, n -> m n")
    amp = "whole"
    deprecated = ("beta input alpha vec1 vec2", "beta input vec1 vec2")
    saved_as = {"input_shape": None}
    layout = "input"
    numpy = half = _addr
    store_all = _addr_over
    def shape(input, vec1, vec2, beta=1): return (*vec1, *vec2)
    def compose(F, input, vec1, vec2, beta=1):
        product = F.outer(vec1, vec2)
        return product if beta == 0 else product + _scaled(F, input, beta)
    def check(input, vec1, vec2, beta, alpha):
        for name, number in (("beta", beta), ("alpha", alpha)):
            check_factor(name, number, max(category(input), category(vec1), category(vec2)))
        for name, t in (("vec1", vec1), ("vec2", vec2)):
            if t.ndim != 1:
                raise AutogradError(f"addr: Expected 1-D argument {name}, but got {t.ndim}-D")
        _check_expand(tuple(input.shape), (vec1.shape[0], vec2.shape[0]), input)
    vjp_input = _grad_added
    def vjp_vec1(F, grad, vec2, alpha): return _scaled(F, F.mv(grad, vec2), alpha)
    def vjp_vec2(F, grad, vec1, alpha): return _scaled(F, F.matmul(vec1, grad), alpha)
    batch = batches.added_product(2, 1, 1)
    def samples(rng): yield rng.standard_normal((2, 3)), rng.standard_normal(2), rng.standard_normal(3)
    def errors(rng): yield (np.ones((2, 3)), np.ones((2, 2)), np.ones(3)), RuntimeError, "addr: Expected 1-D argument vec1, but got 2-D"


# -- linear -----------------------------------------------------------------------------------------------------------


def _linear(input: np.ndarray, weight: np.ndarray, bias: np.ndarray | None = None) -> np.ndarray:
    if weight.size >= _MANY and weight.ndim == 2 and input.dtype.kind in "iu":
        result = blas.integers(input, weight.T)
    elif input.ndim == 2:
        result = input.dot(weight.T) if weight.size < _LARGE or weight.ndim != 2 else blas.product(input, weight.T)
    elif weight.ndim == 2 and input.ndim > 2:
        shape = input.shape
        rows = input.reshape(prod(shape[:-1]), shape[-1])
        result = rows.dot(weight.T) if weight.size < _LARGE or len(rows) < 2 else blas.product(rows, weight.T)
        result = result.reshape(*shape[:-1], len(weight))
    else:
        result = np.matmul(input, weight.T)
    if bias is None:
        return result
    if result.__class__ is not np.ndarray:
        return result + bias
    return np.add(result, bias, result)


def _check_linear(input: TensorRef, weight: TensorRef, bias: TensorRef | None) -> None:
    if weight.ndim > 2:
        raise AutogradError(f"t() expects a tensor with <= 2 dimensions, but self is {weight.ndim}D")
    if not input.ndim or not weight.ndim:
        raise AutogradError(f"both arguments to linear need to be at least 1D, but they are {input.ndim}D and {weight.ndim}D")
    if weight.ndim == 1:
        if bias is not None:
            raise AutogradError("mat2 must be a matrix, got 1-D tensor")
        return _check_matmul(input, weight)
    if bias is not None:
        if input.dtype is weight.dtype or input.ndim < 3 or input._data.flags.c_contiguous:
            _check_added_dtypes(bias, input, weight)
        elif not weight.requires_grad:  # what torch would have to copy is no single product
            same_scalar_type(input, weight)
    _same_matrix_dtype(input, weight)
    rows = prod(tuple(input.shape)[:-1])
    out_features, in_features = weight.shape
    _check_dims_match(rows, input.shape[-1], in_features, out_features)
    if bias is not None:
        _check_expand(tuple(bias.shape), (rows, out_features) if bias.ndim < 2 else (*input.shape[:-1], out_features), bias)


def _linear_grad_input(F: Functions, grad: Values, weight: Values, input_shape: Sequence[int]) -> Values:
    if weight.ndim == 1:
        return F.reshape(grad, (*grad.shape, 1)) * weight
    if len(input_shape) == 2:
        return F.mm(grad, weight)
    return F.reshape(F.mm(_rows(F, grad), weight), tuple(input_shape))


def _linear_grad_weight(F: Functions, grad: Values, input: Values, weight_shape: Sequence[int]) -> Values:
    if len(weight_shape) == 1:
        return F.reduce_to_shape(F.reshape(grad, (*grad.shape, 1)) * input, tuple(weight_shape))
    if input.ndim == 2:
        return F.mm_tn(grad, input)
    return F.mm_tn(_rows(F, grad), _rows(F, input))


def _linear_grad_bias(F: Functions, grad: Values, bias_shape: Sequence[int]) -> Values:
    if grad.ndim == 2 and tuple(bias_shape) == tuple(grad.shape)[1:]:
        return F.sum(grad, 0)
    return F.reduce_to_shape(grad, tuple(bias_shape))


@op("linear(Tensor input, Tensor weight, Tensor? bias=None) -> Tensor", namespace="nn.functional", method=False,
    node="AddmmBackward0")
class linear:
    """input @ weight^T + bias: input (..., in), weight (out, in) or (in,), bias (out,).

    >>> torch.nn.functional.linear(torch.tensor([[1., 2.]]), torch.tensor([[1., 1.], [0., 1.]]), torch.tensor([0., 1.]))
    tensor([[3., 3.]])
    """

    composite = "linear"
    home = "_C._nn"
    lacks = {"uint chalf float8_e8m0fnu": "addmm_impl_cpu_ if any"}
    flops = "input"
    def sharding(call):
        if call["weight"].ndim == 1:
            return call.letters("*b k, k -> *b" if call["bias"] is None else "*b k, k, *b -> *b", linear="each", added=(2,))
        bias = "" if call["bias"] is None else ", *b n" if call["bias"].ndim else ","
        return call.letters(f"*b k, n k{bias} -> *b n", linear="each", added=(2,))

    out_dtype = EXPECTED
    amp = "lower"
    numpy = _linear
    shape = shapes.linear
    check = _check_linear
    def compose(F, input, weight, bias=None):
        product = F.matmul(input, F.transpose(weight, 0, 1) if weight.ndim == 2 else weight)
        return product if bias is None else product + bias
    vjp_input = _linear_grad_input
    vjp_weight = _linear_grad_weight
    vjp_bias = _linear_grad_bias
    seen_as = {"bias_shape is not None and (len(input_shape) == 1 or len(weight_shape) == 1)": "AddBackward0",
               "bias_shape is not None and len(input_shape) > 2 and input is not None and not input._data.flags.c_contiguous":
               "AddBackward0",
               "len(input_shape) > 2 and len(weight_shape) == 2 and bias_shape is not None": "ViewBackward0",
               "len(input_shape) == len(weight_shape) == 1": "DotBackward0", "len(input_shape) == 1": "SqueezeBackward4",
               "len(input_shape) > 2": "UnsafeViewBackward0", "len(weight_shape) == 1": "MvBackward0",
               "bias_shape is None": "MmBackward0"}

    def batch(F, call):
        """A product with the transposed weight, and the bias."""
        weight, bias, rank = call.weight, call.bias, call.ranks["input"]
        if call.ranks["weight"] == 1 and rank and weight.dtype is call.input.dtype:
            result = batches.matmul(F, call.input, weight, call.is_batched["input"], call.is_batched["weight"])
            is_batched = call.is_batched["input"] or call.is_batched["weight"]
            if bias is None:
                return result
            if call.ranks["bias"]:
                return NotImplemented
            if not call.is_batched["bias"]:
                return F.add(result, bias)
            return F.add(call.expanded(result, is_batched), F.reshape(bias, (call.size, *(1,) * (rank - 1))))
        if call.ranks["weight"] != 2 or not rank or len({t.dtype for t in (call.input, weight, bias) if t is not None}) > 1:
            return NotImplemented
        if not call.is_batched["weight"] and not call.is_batched["bias"]:
            return call()
        result = batches.matmul(F, call.input, F.transpose(weight, -1, -2), call.is_batched["input"], call.is_batched["weight"])
        if bias is None:
            return result
        if call.is_batched["bias"]:
            rows = result.ndim - (call.is_batched["input"] or call.is_batched["weight"])
            for _ in range(rows - 1):
                bias = F.unsqueeze(bias, 1)
        return F.add(result, bias)

    def decompose(F, input, weight, bias):
        if weight.ndim != 2 or input.ndim < 2:
            result = F.matmul(input, weight if weight.ndim < 2 else F.t(weight))
            return result if bias is None else F.add(result, bias)
        if bias is None:
            return F.matmul(input, F.t(weight))
        if input.ndim == 2:
            return F.addmm(bias, input, F.t(weight))
        if not (input._data.flags.c_contiguous and bias._data.flags.c_contiguous):
            return F.add(F.matmul(input, F.t(weight)), bias)
        shape = tuple(input.shape)
        return F.view(F.addmm(bias, F.reshape(input, (prod(shape[:-1]), shape[-1])), F.t(weight)), (*shape[:-1], weight.shape[0]))


    def samples(rng):
        r = rng.standard_normal
        yield r((2, 3)), r((4, 3)), r(4)
        yield r((2, 3)), r((4, 3))
        yield r((2, 2, 3)), r((4, 3)), r(4)
        yield r(3), r((4, 3)), r(4)
        yield r((2, 3)), r(3)

    def errors(rng):
        yield (np.ones((2, 3)), np.ones((4, 5))), RuntimeError, "mat1 and mat2 shapes cannot be multiplied (2x3 and 5x4)"
        yield (np.ones((2, 2, 3)), np.ones((4, 3)), np.ones(5)), RuntimeError, (
            "The expanded size of the tensor (4) must match the existing size (5) at non-singleton dimension 1.  Target sizes: [4, 4].  "
            "Tensor sizes: [5]")
