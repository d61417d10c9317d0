"""Tensors that carry a mask: which of their elements count."""

from .core import MaskedTensor, is_masked_tensor

__all__ = ["MaskedTensor", "is_masked_tensor"]
