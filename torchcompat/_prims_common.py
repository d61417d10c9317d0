"""torch._prims_common: facts about dtypes, sizes and strides, for those who write operations in Python.

>>> import torchcompat as torch
>>> make_contiguous_strides_for((2, 3, 4)), canonicalize_dim(3, -1), dtype_to_type(torch.int8)
((12, 4, 1), 2, <class 'int'>)
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import Any

import torchcompat as torch
from autograd_tape.dtypes import DType, Device, result_dtype
from autograd_tape.strided import contiguous_strides, dense_strides

from ._calls.absent import absences as _absences
from ._subclasses.fake_tensor import MetadataMismatchError

TensorLike = TensorLikeType = torch.Tensor
Number = (bool, int, float, complex, torch.SymInt, torch.SymFloat, torch.SymBool)
IntLike, FloatLike, BoolLike = (int, torch.SymInt), (float, torch.SymFloat), (bool, torch.SymBool)
Dim = int
ShapeType, StrideType, DimsSequenceType = torch.Size | list[int] | tuple[int, ...], list[int] | tuple[int, ...], list[int] | tuple[int, ...]
DimsType, NumberType = int | list[int] | tuple[int, ...], bool | int | float | complex
TensorSequenceType = list[torch.Tensor] | tuple[torch.Tensor, ...]
NumberTypeType, DeviceLikeType = type[bool] | type[int] | type[float] | type[complex], str | torch.device | int
_Tensors = Sequence[Any]
_ORDERED: tuple[type, ...] = (bool, int, float, complex)


# -- dtypes -----------------------------------------------------------------------------------------------------------------------------


def _dtype(dtype: object) -> DType:
    if not isinstance(dtype, torch.dtype):
        raise AssertionError(f"Expected torch.dtype, got {type(dtype)}")
    return dtype


def is_boolean_dtype(dtype: DType) -> bool:
    """Whether it is bool."""
    return _dtype(dtype) is torch.bool


def is_integer_dtype(dtype: DType) -> bool:
    """Whether its numbers are whole; bool has none."""
    return not (_dtype(dtype).is_floating_point or dtype.is_complex or dtype is torch.bool)


def is_low_precision_dtype(dtype: DType) -> bool:
    """Whether operations compute its numbers in a wider one."""
    return _dtype(dtype) in (torch.float16, torch.bfloat16, torch.complex32)


def is_float_dtype(dtype: DType) -> bool:
    """Whether its numbers are real and floating-point."""
    return _dtype(dtype).is_floating_point


def is_complex_dtype(dtype: DType) -> bool:
    """Whether its numbers are complex."""
    return _dtype(dtype).is_complex


def is_grad_dtype(dtype: DType) -> bool:
    """Whether tensors of it may require grad."""
    return dtype.is_floating_point or dtype.is_complex


def corresponding_real_dtype(dtype: DType) -> DType:
    """The dtype of the parts of complex numbers; KeyError for others."""
    if not dtype.is_complex:
        raise KeyError(dtype)
    return dtype.to_real()


def corresponding_complex_dtype(dtype: DType) -> DType:
    """The dtype of complex numbers of such parts; KeyError where there is none."""
    if dtype not in (torch.float16, torch.bfloat16, torch.float32, torch.float64):
        raise KeyError(dtype)
    return dtype.to_complex()


def dtype_to_type(dtype: DType) -> Any:
    """Python's type of its numbers."""
    return bool if _dtype(dtype) is torch.bool else complex if dtype.is_complex else float if dtype.is_floating_point else int


def dtype_to_type_ctor(dtype: DType) -> Any:
    """What makes Python's numbers of it."""
    found = dtype_to_type(dtype)
    return torch.sym_int if found is int else torch.sym_float if found is float else found


def type_to_dtype(typ: type) -> DType:
    """The dtype that Python's numbers get; ValueError for other types."""
    if typ not in _ORDERED:
        raise ValueError(f"Invalid type {typ}!")
    return torch.tensor(typ(0)).dtype


def get_dtype(x: Any) -> DType:
    """The dtype of a tensor or a number."""
    return x.dtype if isinstance(x, torch.Tensor) else type_to_dtype(type(x))


_BRACKETS = ((torch.bool,), (torch.uint8, torch.int8), (torch.int16,), (torch.int32,), (torch.int64,), (torch.float16, torch.bfloat16),
             (torch.float32,), (torch.float64,), (torch.complex32,), (torch.complex64,), (torch.complex128,))


def get_higher_dtype(a: Any, b: Any) -> DType | None:
    """The higher dtype of two tensors, numbers or dtypes, None of nothing; of two that are as high as each other the next."""
    x, y = [x if x is None or isinstance(x, torch.dtype) else get_dtype(x) for x in (a, b)]
    if x is None or y is None or x is y:
        return y if x is None else x
    i, j = [next(i for i, bracket in enumerate(_BRACKETS) if dtype in bracket) for dtype in (x, y)]
    return _BRACKETS[i + 1][0] if i == j else x if i > j else y


def get_computation_dtype(dtype: DType) -> DType:
    """The dtype in which operations compute its numbers."""
    return {torch.float16: torch.float32, torch.bfloat16: torch.float32, torch.complex32: torch.complex64}.get(dtype, dtype)


def can_safe_cast_to(*, cast_to: DType, cast_from: DType) -> bool:
    """Whether operations may write numbers of one dtype into tensors of another: they are of no higher kind."""
    return _ORDERED.index(dtype_to_type(cast_from)) <= _ORDERED.index(dtype_to_type(cast_to))


def is_weakly_lesser_type(a: type, b: type) -> bool:
    """Whether numbers of a type of Python are numbers of another."""
    return _ORDERED.index(a) <= _ORDERED.index(b)


class ELEMENTWISE_TYPE_PROMOTION_KIND(Enum):
    """What dtype the result of an element-wise operation has."""

    DEFAULT = (0,)
    NO_OPMATH = (1,)
    INT_TO_FLOAT = (2,)
    ALWAYS_BOOL = (3,)
    COMPLEX_TO_FLOAT = (4,)
    BOOL_TO_LONG = (5,)


def elementwise_dtypes(*_args: Any, type_promotion_kind: ELEMENTWISE_TYPE_PROMOTION_KIND) -> tuple[DType, DType]:
    """(the dtype in which an element-wise operation of tensors and numbers computes, the dtype of its result)."""
    kinds = ELEMENTWISE_TYPE_PROMOTION_KIND
    args = [a for a in _args if a is not None]
    for a in args:
        if not isinstance(a, (*Number, torch.Tensor)):
            raise ValueError(f"Unexpected type {type(a)} when computing elementwise type promotion!")
    found = result_dtype([(a.dtype, a.dim()) for a in args if isinstance(a, torch.Tensor)],
                         [a for a in args if not isinstance(a, torch.Tensor)])
    if type_promotion_kind is kinds.BOOL_TO_LONG and found is torch.bool:
        return torch.int64, torch.int64
    if type_promotion_kind is kinds.INT_TO_FLOAT and not is_grad_dtype(found):
        found = torch.get_default_dtype()
    computed = found if type_promotion_kind is kinds.NO_OPMATH else get_computation_dtype(found)
    if type_promotion_kind is kinds.ALWAYS_BOOL:
        return computed, torch.bool
    return computed, found.to_real() if type_promotion_kind is kinds.COMPLEX_TO_FLOAT and found.is_complex else found


def check_same_dtype(*args: Any) -> None:
    """RuntimeError where tensors differ in dtype."""
    dtypes = [a.dtype for a in args if isinstance(a, torch.Tensor)]
    for dtype in dtypes:
        if dtype is not dtypes[0]:
            raise RuntimeError(f"Tensor with dtype {dtype} is not the expected dtype of {dtypes[0]}!")


# -- sizes ------------------------------------------------------------------------------------------------------------------------------


def canonicalize_dim(rank: int, idx: int, wrap_scalar: bool = True) -> int:
    """A dimension counted from the first; IndexError for none of them."""
    if rank < 0:
        raise IndexError(f"Rank cannot be negative but got {rank}")
    if not rank:
        if not wrap_scalar:
            raise IndexError(f"Dimension specified as {idx} but tensor has no dimensions")
        rank = 1
    if not -rank <= idx < rank:
        raise IndexError(f"Dimension out of range (expected to be in range of [{-rank}, {rank - 1}], but got {idx})")
    return idx % rank


def canonicalize_dims(rank: int, indices: Any, wrap_scalar: bool = True) -> Any:
    """The same for one dimension or several."""
    if isinstance(indices, int):
        return canonicalize_dim(rank, indices, wrap_scalar)
    return tuple([canonicalize_dim(rank, i, wrap_scalar) for i in indices])


def validate_idx(rank: int, idx: int) -> None:
    """AssertionError where there is no such dimension."""
    if not 0 <= idx < max(rank, 1):
        raise AssertionError(f"idx {idx} is out of bounds for rank {rank}")


def validate_exclusive_idx(rank: int, ex_idx: int) -> None:
    """AssertionError where no dimension ends there."""
    if not 0 <= ex_idx <= max(rank, 1):
        raise AssertionError(f"exclusive index {ex_idx} is out of bounds for rank {rank}")


def is_valid_permutation(rank: int, perm: Sequence[int]) -> bool:
    """Whether it names each dimension once."""
    return isinstance(perm, Sequence) and sorted(perm) == list(range(rank))


def is_same_shape(a: Sequence[int], b: Sequence[int]) -> bool:
    """Whether two sizes are equal."""
    return tuple(a) == tuple(b)


def is_cpu_scalar_tensor(a: object) -> bool:
    """Whether it is a tensor of one number on the CPU."""
    return isinstance(a, torch.Tensor) and a.dim() == 0 and a.device.type == "cpu"


def canonicalize_device(device: Any) -> Device:
    """A device."""
    return torch.device(device)


def _counted(args: _Tensors, numbers: bool) -> list[Any]:
    return [a for a in args if isinstance(a, torch.Tensor) and not (numbers and is_cpu_scalar_tensor(a))]


def check_same_shape(*args: Any, allow_cpu_scalar_tensors: bool) -> None:
    """RuntimeError where tensors differ in size; numbers aside."""
    tensors = _counted(args, allow_cpu_scalar_tensors)
    for t in tensors:
        if t.shape != tensors[0].shape:
            raise RuntimeError(f"Shape {t.shape} is not the expected shape {tensors[0].shape}!")


def extract_shape(*args: Any, allow_cpu_scalar_tensors: bool) -> torch.Size | None:
    """The common size of tensors, None where they differ."""
    shapes = [t.shape for t in _counted(args, allow_cpu_scalar_tensors)] or [t.shape for t in _counted(args, False)]
    return shapes[0] if shapes and all([shape == shapes[0] for shape in shapes]) else None


def check_same_device(*args: Any, allow_cpu_scalar_tensors: bool) -> None:
    """RuntimeError where tensors are on several devices; numbers aside."""
    tensors = _counted(args, allow_cpu_scalar_tensors)
    for t in tensors:
        if t.device != tensors[0].device:
            raise RuntimeError(f"Tensor on device {t.device} is not on the expected device {tensors[0].device}!")


def infer_size(shape: Sequence[int], numel: int) -> tuple[int, ...]:
    """A size for so many elements, with the one number in place of -1; RuntimeError where they do not fit."""
    if list(shape).count(-1) > 1:
        raise RuntimeError("only one dimension can be inferred")
    rest = torch.Size([n for n in shape if n != -1]).numel()
    if -1 in shape and not rest:
        raise RuntimeError(f"cannot reshape tensor of 0 elements into shape {list(shape)} because the unspecified dimension size -1 can be "
                           "any value and is ambiguous")
    if numel % max(rest, 1) if -1 in shape else numel != rest:
        raise RuntimeError(f"shape '{list(shape)}' is invalid for input of size {numel}")
    return tuple([numel // rest if n == -1 else n for n in shape])


def reduction_dims(shape: Sequence[int], dims: Sequence[int] | None) -> tuple[int, ...]:
    """The dimensions of a reduction, all where None; RuntimeError for one that stands there twice."""
    if dims is None:
        return tuple(range(len(shape)))
    found: tuple[int, ...] = canonicalize_dims(len(shape), tuple(dims))
    if len(set(found)) < len(found):
        raise RuntimeError("duplicate value in the list of dims")
    return found


def compute_reduction_output_shape(shape: Sequence[int], dimensions: Sequence[int]) -> tuple[int, ...]:
    """The size that a reduction leaves."""
    return tuple([n for i, n in enumerate(shape) if i not in dimensions])


def set_correction(unbiased: bool | None = None, correction: float | None = None) -> float:
    """The correction of a variance that either argument asks for; RuntimeError for both."""
    if unbiased is not None and correction is not None:
        raise RuntimeError("cannot specify both correction and unbiased arguments")
    return float(correction) if correction is not None else 0.0 if unbiased is False else 1.0


# -- strides ----------------------------------------------------------------------------------------------------------------------------


def make_contiguous_strides_for(shape: Sequence[int], row_major: bool = True) -> tuple[int, ...]:
    """Strides of elements in order; of matrices by columns where not `row_major`."""
    if not row_major and len(shape) > 1:
        *batch, step, column = contiguous_strides((*shape[:-2], shape[-1], shape[-2]))
        return *batch, column, step
    return tuple(contiguous_strides(tuple(shape)))


def make_channels_last_strides_for(shape: Sequence[int]) -> tuple[int, ...]:
    """Strides of images whose channels lie inside; RuntimeError for what is neither of images nor of volumes."""
    if len(shape) not in (3, 4, 5):
        raise RuntimeError(f"no channels last format strides exist in {len(shape)} dimensions")
    first, *rest = contiguous_strides((shape[0], *shape[2:], shape[1]))
    return first, rest[-1], *rest[:-1]


def is_contiguous(a: torch.Tensor, false_if_dde: bool = False) -> bool:
    """Whether elements lie in order."""
    return a.is_contiguous()


def is_channels_last_contiguous(a: torch.Tensor) -> bool:
    """Whether they lie in the order of images, or of volumes, whose channels lie inside."""
    formats = {4: torch.channels_last, 5: torch.channels_last_3d}
    return a.dim() in formats and a.is_contiguous(memory_format=formats[a.dim()])


def suggest_memory_format(x: torch.Tensor) -> torch.memory_format:
    """The memory format that a tensor's strides speak for."""
    if not is_channels_last_contiguous(x) or x.is_contiguous():
        return torch.contiguous_format
    return torch.channels_last if x.dim() == 4 else torch.channels_last_3d


def compute_elementwise_output_strides(*tensors: Any) -> tuple[int, ...]:
    """The strides of the result of an element-wise operation on tensors of one size, and on numbers; ValueError for none."""
    if not tensors:
        raise ValueError("Can't compute elementwise output strides for zero tensors!")
    check_same_shape(*tensors, allow_cpu_scalar_tensors=True)
    counted = _counted(tensors, True)
    return tuple(dense_strides(tuple(counted[0].shape), *[t.stride() for t in counted])) if counted else ()


def compare_tensor_meta(a: Any, b: Any, check_sizes: bool = True, check_strides: bool = False, *, allow_rhs_unbacked: bool = False,
                        check_conj: bool = True) -> None:
    """Holds a tensor to another's size, dtype, device, bits and, where asked for, strides and offset.

    Raises:
        MetadataMismatchError: they differ.
    """
    for name, t in (("a", a), ("b", b)):
        if not isinstance(t, torch.Tensor):
            raise AssertionError(f"{name} must be TensorLike, got {type(t)}")
    if check_sizes and a.shape != b.shape:
        raise MetadataMismatchError(f"Shapes {a.shape} and {b.shape} are not equal!")
    if a.dtype is not b.dtype:
        raise MetadataMismatchError(f"Dtypes {a.dtype} and {b.dtype} are not equal!")
    if a.device != b.device:
        raise MetadataMismatchError(f"Devices {a.device} and {b.device} are not equal!")
    if check_strides:
        for i, n in enumerate(a.shape):
            if n > 1 and a.numel() and a.stride(i) != b.stride(i):
                raise MetadataMismatchError(f"Stride mismatch! Strides are {a.stride()} and {b.stride()} (mismatched at {i})!")
        if a.storage_offset() != b.storage_offset():
            raise MetadataMismatchError(
                f"Storage offset mismatch! Storage offsets are {a.storage_offset()} and {b.storage_offset()}!")
    if check_conj and a.is_conj() != b.is_conj():
        raise MetadataMismatchError(f"Conj mismatch! is_conj is set to {a.is_conj()} and {b.is_conj()}")
    if a.is_neg() != b.is_neg():
        raise MetadataMismatchError(f"Neg mismatch! is_neg is set to {a.is_neg()} and {b.is_neg()}")


_absences(__name__)
