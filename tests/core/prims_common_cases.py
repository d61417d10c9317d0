"""Facts about dtypes, sizes and strides, by expressions."""

from __future__ import annotations

import importlib
from typing import Any

from tests.recording import Table, attempted

DTYPES = ("bool uint8 int8 int16 int32 int64 float16 bfloat16 float32 float64 complex32 complex64 complex128 uint16 "
          "float8_e4m3fn").split()
OF_DTYPES = ("is_boolean_dtype is_integer_dtype is_low_precision_dtype is_float_dtype is_complex_dtype is_grad_dtype "
             "corresponding_real_dtype corresponding_complex_dtype dtype_to_type get_computation_dtype").split()
CODES = """
u.is_boolean_dtype(3)
u.type_to_dtype(str)
u.get_higher_dtype(None,t.int8)
u.get_higher_dtype(t.ones(1),1.)
u.get_higher_dtype(None,None)
u.canonicalize_dim(3,-1)
u.canonicalize_dim(3,3)
u.canonicalize_dim(0,-1)
u.canonicalize_dim(0,0, wrap_scalar=False)
u.canonicalize_dims(3,(-1,0))
u.canonicalize_dims(3,1)
u.canonicalize_dims(3,(0,3))
u.make_contiguous_strides_for((2,3,4))
u.make_contiguous_strides_for((2,0,4))
u.make_contiguous_strides_for((2,3,4), row_major=False)
u.make_contiguous_strides_for(())
u.make_channels_last_strides_for((2,3,4,5))
u.make_channels_last_strides_for((2,3,4,5,6))
u.make_channels_last_strides_for((2,3))
u.is_contiguous(t.ones(2,3).t())
u.is_contiguous(t.ones(2,3))
u.is_channels_last_contiguous(t.ones(2,3,4,5).to(memory_format=t.channels_last))
u.is_channels_last_contiguous(t.ones(2,3))
u.compute_elementwise_output_strides(t.ones(2,3).t(), t.ones(3,2).t().t())
u.compute_elementwise_output_strides(t.ones(4,2,3).permute(2,0,1))
u.compute_elementwise_output_strides()
u.compute_elementwise_output_strides(1.)
u.suggest_memory_format(t.ones(2,3,4,5).to(memory_format=t.channels_last))
u.suggest_memory_format(t.ones(2,3))
u.compute_reduction_output_shape((2,3,4),(0,2))
u.is_same_shape((1,2),(1,2))
u.is_same_shape((1,2),(1,3))
u.check_same_shape(t.ones(2),t.ones(3), allow_cpu_scalar_tensors=False)
u.check_same_shape(t.ones(2),t.ones(()), allow_cpu_scalar_tensors=True)
u.check_same_device(t.ones(2),t.ones(2,device="meta"), allow_cpu_scalar_tensors=False)
u.check_same_dtype(t.ones(2),t.ones(2,dtype=t.int8))
u.check_same_dtype(t.ones(2),1)
u.compare_tensor_meta(t.ones(2),t.ones(2))
u.compare_tensor_meta(t.ones(2),t.ones(3))
u.compare_tensor_meta(t.ones(2),t.ones(2,dtype=t.int8))
u.compare_tensor_meta(t.ones(2),t.ones(2,device="meta"))
u.compare_tensor_meta(t.ones(2,3),t.ones(3,2).t(), check_strides=True)
u.compare_tensor_meta(t.ones(2,3),t.ones(3,2).t())
u.compare_tensor_meta(t.ones(4)[1:3],t.ones(2),check_strides=True)
u.compare_tensor_meta(1,t.ones(2))
u.compare_tensor_meta(t.ones(2,dtype=t.complex64).conj(),t.ones(2,dtype=t.complex64))
u.is_cpu_scalar_tensor(t.ones(()))
u.is_cpu_scalar_tensor(t.ones(1))
u.canonicalize_device("cpu")
u.extract_shape(t.ones(2,3), 1, t.ones(3), allow_cpu_scalar_tensors=False)
u.extract_shape(t.ones(3), 1, t.ones(3), allow_cpu_scalar_tensors=False)
u.infer_size((2,-1),6)
u.infer_size((4,-1),6)
u.infer_size((2,2),6)
u.infer_size((-1,-1),6)
u.set_correction(None,None)
u.set_correction(False)
u.set_correction(None,2)
u.set_correction(True,2)
u.reduction_dims((2,3),None)
u.reduction_dims((2,3),(-1,))
u.reduction_dims((2,3),(0,0))
u.validate_idx(3,3)
u.validate_exclusive_idx(3,3)
u.is_valid_permutation(3,(0,2,1))
u.is_valid_permutation(3,(0,2,2))
u.is_weakly_lesser_type(int,float)
u.is_weakly_lesser_type(complex,float)
u.dim_list_contains(1)
""".strip().splitlines()
CODES += [f"u.{name}(t.{dtype})" for name in OF_DTYPES for dtype in DTYPES]
CODES += [f"u.{name}({number})" for number in ("bool", "int", "float", "complex") for name in ("type_to_dtype",)]
CODES += [f"u.get_higher_dtype(t.{a}, t.{b}), u.can_safe_cast_to(cast_to=t.{a}, cast_from=t.{b})"
          for a in DTYPES[:13] for b in DTYPES[:13:2]]
CODES += [f"[u.elementwise_dtypes({args}, type_promotion_kind=k) for k in u.ELEMENTWISE_TYPE_PROMOTION_KIND]" for args in (
    "t.ones(2, dtype=t.int8), 1.", "t.ones(2, dtype=t.complex64), t.ones((), dtype=t.float64)", "t.ones(2, dtype=t.bfloat16), 3",
    "t.ones(2, dtype=t.bool), True", "t.ones((), dtype=t.float64), t.ones(2, dtype=t.int8), t.ones(2, dtype=t.float16)", "1, 2.")]


def outcome(torch: Any, code: str) -> Any:
    """What an expression gives, as text."""
    names = {"t": torch, "u": importlib.import_module(f"{torch.__name__}._prims_common")}
    return attempted(lambda: str(eval(code, names)))


TABLE = Table("prims_common", CODES, outcome)
