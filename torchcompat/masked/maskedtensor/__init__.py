"""Tensors that carry a mask: which of their elements count."""

from torchcompat._calls.absent import absent as _absent

from .binary import _apply_native_binary, _is_native_binary
from .core import MaskedTensor, is_masked_tensor
from .passthrough import _apply_pass_through_fn, _is_pass_through_fn
from .unary import _apply_native_unary, _is_native_unary

__all__ = ["MaskedTensor", "is_masked_tensor"]


def __getattr__(name: str) -> object:
    if name in ("_apply_reduction", "_is_reduction"):  # which are made of torch.masked's functions, and these of MaskedTensors
        from . import reductions

        return getattr(reductions, name)
    raise _absent(__name__, name)
