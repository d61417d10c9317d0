"""Instance normalization (Ulyanov et al., 2016)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from autograd_tape import warned
from autograd_tape.annotations import DeviceLike
from .. import functional as F
from .batchnorm import _LazyNormBase, _NormBase

if TYPE_CHECKING:
    from autograd_tape.dtypes import DType
    from torchcompat._tensor import Tensor

__all__ = ["InstanceNorm1d", "InstanceNorm2d", "InstanceNorm3d", "LazyInstanceNorm1d", "LazyInstanceNorm2d", "LazyInstanceNorm3d"]


class _InstanceNorm(_NormBase):
    """(input - mean) / sqrt(var + eps) * weight + bias, mean and var over the positions of each channel of each sample.

    Args:
        num_features: channels.
        eps: added to the variance.
        momentum: of the running statistics.
        affine: whether there are weight and bias.
        track_running_stats: keep statistics and use them in evaluation.
        bias: whether there is one.
    """

    dims: int

    def __init__(self, num_features: int, eps: float = 1e-5, momentum: float = 0.1, affine: bool = False,
                 track_running_stats: bool = False, device: DeviceLike | None = None, dtype: DType | None = None, *,
                 bias: bool = True) -> None:
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias)

    def _load_from_state_dict(self, state_dict: Any, prefix: str, local_metadata: dict[str, Any], strict: bool, missing_keys: list[str],
                              unexpected_keys: list[str], error_msgs: list[str]) -> None:
        if local_metadata.get("version") is None and not self.track_running_stats:
            found = [prefix + name for name in ("running_mean", "running_var") if prefix + name in state_dict]
            if found:
                error_msgs.append(
                    f"Unexpected running stats buffer(s) {' and '.join(repr(key).replace(chr(39), chr(34)) for key in found)} for "
                    f"{type(self).__name__} with track_running_stats=False. If state_dict is a checkpoint saved before 0.4.0, this may be "
                    "expected because {klass} does not track running stats by default since 0.4.0. Please remove these keys from "
                    "state_dict. If the running stats are actually needed, instead set track_running_stats=True in {klass} to enable them. "
                    "See the documentation of {klass} for details.".replace("{klass}", type(self).__name__))
                for key in found:
                    state_dict.pop(key)
        super()._load_from_state_dict(state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs)

    def _normalize(self, input: Tensor) -> Tensor:
        return F.instance_norm(input, self.running_mean, self.running_var, self.weight, self.bias,
                               self.training or not self.track_running_stats, 0.0 if self.momentum is None else self.momentum, self.eps)

    def forward(self, input: Tensor) -> Tensor:
        """The normalized input, of the same shape; with or without a batch dimension."""
        self._check_input_dim(input)
        single = input.dim() == self.dims + 1
        channels = 0 if single else 1
        if input.size(channels) != self.num_features:
            if self.affine:
                raise ValueError(f"expected input's size at dim={channels} to match num_features ({self.num_features}), but got: "
                                 f"{input.size(channels)}.")
            warned.warn(f"input's size at dim={channels} does not match num_features. You can silence this warning by not passing in "
                        "num_features, which is not used because affine=False")
        return self._normalize(input.unsqueeze(0)).squeeze(0) if single else self._normalize(input)


class InstanceNorm1d(_InstanceNorm):
    __doc__ = (_InstanceNorm.__doc__ or "") + "\n    Shape: [N, C, L] or [C, L].\n    "
    dims, _input_dims = 1, (2, 3)


class InstanceNorm2d(_InstanceNorm):
    __doc__ = (_InstanceNorm.__doc__ or "") + "\n    Shape: [N, C, H, W] or [C, H, W].\n    "
    dims, _input_dims = 2, (3, 4)


class InstanceNorm3d(_InstanceNorm):
    __doc__ = (_InstanceNorm.__doc__ or "") + "\n    Shape: [N, C, D, H, W] or [C, D, H, W].\n    "
    dims, _input_dims = 3, (4, 5)


class LazyInstanceNorm1d(_LazyNormBase, InstanceNorm1d):
    """An InstanceNorm1d whose `num_features` are the channels of its first input."""

    cls_to_become = InstanceNorm1d


class LazyInstanceNorm2d(_LazyNormBase, InstanceNorm2d):
    """An InstanceNorm2d whose `num_features` are the channels of its first input."""

    cls_to_become = InstanceNorm2d


class LazyInstanceNorm3d(_LazyNormBase, InstanceNorm3d):
    """An InstanceNorm3d whose `num_features` are the channels of its first input."""

    cls_to_become = InstanceNorm3d
