"""`grouped_mm` and `scaled_mm`, and what the latter takes besides tensors: what scales are for, and how they lie."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import TypeVar

import torchcompat as torch
from torchcompat._tensor import Tensor
from autograd_tape.dtypes import DType

_T = TypeVar("_T")


class _Named(Enum):
    def __int__(self) -> int:
        return int(self.value)

    def __str__(self) -> str:
        return f"{type(self).__name__}.{self.name}"


class ScalingType(_Named):
    """What each scale is for: the whole tensor, a row, or a block. A CPU has the first two."""

    TensorWise, RowWise, BlockWise1x16, BlockWise1x32, BlockWise1x128, BlockWise128x128 = range(6)


class SwizzleType(_Named):
    """In which order scales lie."""

    NO_SWIZZLE, SWIZZLE_32_4_4 = range(2)


for _cls in (ScalingType, SwizzleType):
    _cls.__name__ = f"_{_cls.__name__}"


def _each(given: _T | list[_T]) -> list[_T]:
    return given if isinstance(given, list) else [given]


def grouped_mm(mat_a: Tensor, mat_b: Tensor, *, offs: Tensor | None = None, bias: Tensor | None = None, out_dtype: DType | None = None
               ) -> Tensor:
    """Products of groups of matrices, see `torch._grouped_mm`.

    Args:
        offs: where each group ends, in int32; None of two batches.
        bias: None.
        out_dtype: None, or that of `mat_a`.
    """
    result: Tensor = torch._grouped_mm(mat_a, mat_b, offs=offs, bias=bias, out_dtype=out_dtype)
    return result


def scaled_mm(mat_a: Tensor, mat_b: Tensor, scale_a: Tensor | list[Tensor], scale_recipe_a: ScalingType | list[ScalingType],
              scale_b: Tensor | list[Tensor], scale_recipe_b: ScalingType | list[ScalingType],
              swizzle_a: SwizzleType | list[SwizzleType] | None = None, swizzle_b: SwizzleType | list[SwizzleType] | None = None,
              bias: Tensor | None = None, output_dtype: DType | None = torch.bfloat16, contraction_dim: Sequence[int] = (),
              use_fast_accum: bool = False) -> Tensor:
    """The product of matrices (m, k) and (k, n) of 8-bit floats with scales, see `torch._scaled_mm`.

    Args:
        scale_recipe_a: what `scale_a` is for, as `scale_recipe_b` of `scale_b`.

    Raises:
        ValueError: the scales do not fit, or are of a kind that a CPU does not have.
    """
    orders = [[] if given is None else [order.value for order in _each(given)] for given in (swizzle_a, swizzle_b)]
    recipes = [[recipe.value for recipe in _each(given)] for given in (scale_recipe_a, scale_recipe_b)]
    result: Tensor = torch._scaled_mm_v2(mat_a, mat_b, _each(scale_a), recipes[0], orders[0], _each(scale_b), recipes[1], orders[1], bias,
                                         output_dtype, contraction_dim, use_fast_accum)
    return result
