"""What calls of attention are checked for in Python."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torchcompat._tensor import Tensor

__all__: list[str] = []


def _input_requires_grad(*tensors: Tensor) -> bool:
    """Whether a gradient is asked of any of the tensors."""
    return any([t.requires_grad for t in tensors])


def _postprocess_flash_output(inpt_tensor: Tensor, og_size: int) -> Tensor:
    """Without the columns beyond `og_size`."""
    return inpt_tensor if inpt_tensor.size(-1) == og_size else inpt_tensor[..., :og_size]


def _calculate_scale(head_dim_size: int, scale: float | None) -> float:
    """The factor of the scores: 1 / sqrt(head_dim_size) unless given."""
    return 1.0 / math.sqrt(head_dim_size) if scale is None else scale


def _validate_sdpa_input(query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None, dropout_p: float = 0.0,
                         is_causal: bool = False, scale: float | None = None, allow_lowp_kv: bool = False) -> None:
    """Refuses tensors of different dtypes or devices, or of fewer than two dimensions: ValueError."""
    if not allow_lowp_kv and not query.dtype == key.dtype == value.dtype:
        raise ValueError("Expected query, key, and value to have the same dtype, "
                         f"but got query.dtype: {query.dtype}, key.dtype: {key.dtype}, and value.dtype: {value.dtype} instead.")
    if not query.device == key.device == value.device:
        raise ValueError("Expected query, key, and value to have the same device type, but got "
                         f"query.device: {query.device}, key.device: {key.device}, and value.device: {value.device} instead.")
    if min(query.dim(), key.dim(), value.dim()) < 2:
        raise ValueError("Expected query, key, and value to all be  at least 2 dimensional, but got query.dim: "
                         f"{query.dim()}, key.dim: {key.dim()} and value.dim: {value.dim()} instead.")
