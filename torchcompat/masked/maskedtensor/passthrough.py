"""Operations that are carried out on data and mask alike: views, indices, what puts tensors together."""

from __future__ import annotations

import torchcompat as torch
from autograd_tape.annotations import Fn
from torchcompat._calls.absent import absences as _absences

from .core import _map_mt_args_kwargs, _wrap_result

__all__: list[str] = []

_NAMES = ("select transpose split t slice index expand view _unsafe_view cat unsqueeze unfold unfold_backward im2col col2im stack "
          "split_with_sizes unbind basic_index_backward").split()  # the last of which are what others are made of here
PASSTHROUGH_FNS = [getattr(torch.ops.aten, name) for name in _NAMES]


def _is_pass_through_fn(fn: object) -> bool:
    """Whether an operation of ATen is one of these."""
    return fn in PASSTHROUGH_FNS


def _apply_pass_through_fn(fn: Fn, *args: object, **kwargs: object) -> object:
    """MaskedTensors of what an operation makes of data and of masks."""
    data, named_data = _map_mt_args_kwargs(args, kwargs, lambda x: x.get_data())
    masks, named_masks = _map_mt_args_kwargs(args, kwargs, lambda x: x.get_mask())
    return _wrap_result(fn(*data, **named_data), fn(*masks, **named_masks))


_absences(__name__)
