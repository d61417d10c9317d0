"""Causal masks that `scaled_dot_product_attention` takes without their being made.

>>> from torchcompat.nn.attention.bias import causal_lower_right
>>> causal_lower_right(2, 3)
tensor([[ True,  True, False],
        [ True,  True,  True]])
"""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING, Any
from collections.abc import Callable

import torchcompat as torch
from torchcompat.nn import functional as F

from autograd_tape.warned import warn
from ..._calls.absent import absences as _absences
from ...backends.cuda import SDPAParams
from . import _raise_kernel_warnings
from ._utils import _validate_sdpa_input

if TYPE_CHECKING:
    from autograd_tape.annotations import Arguments, DeviceLike, Keywords
    from torchcompat._tensor import Tensor

__all__ = ["causal_upper_left", "causal_lower_right", "CausalVariant", "CausalBias"]
_absences(__name__)


class CausalVariant(IntEnum):
    """Where the diagonal of a mask that is not square begins or ends."""

    UPPER_LEFT, LOWER_RIGHT = 1, 2


class CausalBias(torch.Tensor):
    """A causal mask [seq_len_q, seq_len_kv] by its name: True on and below the diagonal.

    Args:
        variant: whether the diagonal begins in the upper left corner or ends in the lower right one.

    Raises:
        AssertionError: `variant` is none.
    """

    variant: CausalVariant
    seq_len_q: int
    seq_len_kv: int

    def __init__(self, variant: CausalVariant, seq_len_q: int, seq_len_kv: int) -> None:
        if not isinstance(variant, CausalVariant):
            raise AssertionError(f"variant must be a CausalVariant, got {type(variant).__name__}")
        super().__init__()
        self.variant, self.seq_len_q, self.seq_len_kv = variant, seq_len_q, seq_len_kv
        if seq_len_q > seq_len_kv and variant == CausalVariant.LOWER_RIGHT:
            warn("Lower right causal bias will produce NaNs in the output when seq_len_q > seq_len_kv!")

    def _materialize(self, device: DeviceLike | None = None) -> Tensor:
        """The mask of bools."""
        last = self.seq_len_kv - self.seq_len_q if self.variant == CausalVariant.LOWER_RIGHT else 0
        return torch.tril(torch.ones(self.seq_len_q, self.seq_len_kv, device=device or "cpu", dtype=torch.bool), diagonal=last)

    @staticmethod
    def _dispatch(query: Tensor, key: Tensor, value: Tensor, attn_mask: CausalBias, dropout_p: float = 0.0, is_causal: bool = False,
                  scale: float | None = None, enable_gqa: bool = False) -> Tensor:
        """`scaled_dot_product_attention` with such a mask: as `is_causal` where that means the same, else by the mask itself."""
        if is_causal:
            raise ValueError("CausalBias should not be used with causal=True")
        if attn_mask.seq_len_q == attn_mask.seq_len_kv or attn_mask.variant == CausalVariant.UPPER_LEFT:
            return F.scaled_dot_product_attention(query, key, value, attn_mask=None, dropout_p=dropout_p, is_causal=True, scale=scale,
                                                  enable_gqa=enable_gqa)
        _validate_sdpa_input(query, key, value, None, dropout_p, is_causal, scale)
        _raise_kernel_warnings(SDPAParams(query, key, value, None, dropout_p, is_causal, enable_gqa))
        return F.scaled_dot_product_attention(query, key, value, attn_mask=attn_mask._materialize(query.device), dropout_p=dropout_p,
                                              is_causal=False, scale=scale, enable_gqa=enable_gqa)

    @classmethod
    def __torch_function__(cls, func: Callable[..., Any], types: Any, args: Arguments = (), kwargs: Keywords | None = None) -> Any:
        if func is F.scaled_dot_product_attention:
            return cls._dispatch(*args, **kwargs or {})
        return super().__torch_function__(func, types, args, kwargs or {})

    def __repr__(self) -> str:  # type: ignore[override]
        return self._materialize().__repr__()


def _of_size(name: str, variant: CausalVariant, size: tuple[int, ...]) -> CausalBias:
    if len(size) != 2:
        raise AssertionError(f"{name} only supports 2D tensors")
    return CausalBias(variant, *size)


def causal_upper_left(*size: int) -> CausalBias:
    """The mask [L, S] whose diagonal begins in the upper left corner, as `is_causal` has it. AssertionError of other sizes."""
    return _of_size("causal_upper_left", CausalVariant.UPPER_LEFT, size)


def causal_lower_right(*size: int) -> CausalBias:
    """The mask [L, S] whose diagonal ends in the lower right corner: the last query sees all. AssertionError of other sizes."""
    return _of_size("causal_lower_right", CausalVariant.LOWER_RIGHT, size)
