"""Tensors that carry a mask: which of their elements count."""

from typing import TYPE_CHECKING

from torchcompat._calls.absent import absent as _absent

from .binary import _apply_native_binary, _is_native_binary
from .core import MaskedTensor, is_masked_tensor
from .passthrough import _apply_pass_through_fn, _is_pass_through_fn
from .unary import _apply_native_unary, _is_native_unary

if TYPE_CHECKING:
    from . import creation as creation, reductions as reductions

__all__ = ["MaskedTensor", "is_masked_tensor"]


if not TYPE_CHECKING:  # what stands here is known, and no other name
    def __getattr__(name: str) -> object:
        if name in ("_apply_reduction", "_is_reduction"):  # which are made of torch.masked's functions, and these of MaskedTensors
            from . import reductions

            return getattr(reductions, name)
        raise _absent(__name__, name)
