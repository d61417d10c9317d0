"""Normalization over features: layer, group, root mean square, and local response."""

from __future__ import annotations

import numbers
from collections.abc import Sequence
from typing import Any

from autograd_tape.annotations import DeviceLike
import torchcompat as torch

from ..._calls.absent import absences as _absences
from .. import functional as F
from .. import init
from ..parameter import Parameter
from ._functions import CrossMapLRN2d as _cross_map_lrn2d
from .module import Module
from torchcompat._tensor import Tensor
from autograd_tape.dtypes import DType

__all__ = ["CrossMapLRN2d", "GroupNorm", "LayerNorm", "LocalResponseNorm", "RMSNorm"]


class LocalResponseNorm(Module):
    """input / (k + alpha * mean of squares of the `size` channels around)^beta (Krizhevsky et al., 2012)."""

    __constants__ = ["size", "alpha", "beta", "k"]

    def __init__(self, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> None:
        super().__init__()
        self.size, self.alpha, self.beta, self.k = size, alpha, beta, k

    def forward(self, input: Tensor) -> Tensor:
        return F.local_response_norm(input, self.size, self.alpha, self.beta, self.k)

    def extra_repr(self) -> str:
        return f"{self.size}, alpha={self.alpha}, beta={self.beta}, k={self.k}"


class CrossMapLRN2d(Module):
    """input / (k + alpha / size * the sum of squares of the `size` channels around)^beta, of [N, C, H, W]; see `_functions`."""

    def __init__(self, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1) -> None:
        super().__init__()
        self.size, self.alpha, self.beta, self.k = size, alpha, beta, k

    def forward(self, input: Tensor) -> Tensor:
        return _cross_map_lrn2d.apply(input, self.size, self.alpha, self.beta, self.k)

    def extra_repr(self) -> str:
        return f"{self.size}, alpha={self.alpha}, beta={self.beta}, k={self.k}"


class _Affine(Module):
    """A normalization that may have a weight of ones and a bias of zeros at first."""

    weight: Any
    bias: Any

    def _make_parameters(self, shape: tuple[int, ...], weight: bool, bias: bool | None, device: DeviceLike | None,
                         dtype: DType | None) -> None:
        """Makes them, or registers their names; a `bias` of None is not even a name."""
        wanted = {"weight": weight} if bias is None else {"weight": weight, "bias": weight and bias}
        for name, there in wanted.items():
            self.register_parameter(name, Parameter(torch.empty(shape, device=device, dtype=dtype)) if there else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Sets weight to 1 and bias to 0."""
        if self._parameters["weight"] is not None:
            init.ones_(self.weight)
        if self._parameters.get("bias") is not None:
            init.zeros_(self.bias)


def _shape(normalized_shape: Any) -> tuple[int, ...]:
    return (int(normalized_shape),) if isinstance(normalized_shape, numbers.Integral) else tuple(normalized_shape)


class LayerNorm(_Affine):
    """(input - mean) / sqrt(var + eps) * weight + bias over the last dimensions (Ba et al., 2016).

    Args:
        normalized_shape: the sizes of the last dimensions.
        eps: added to the variance.
        elementwise_affine: whether there are weight and bias, of `normalized_shape`.
        bias: whether there is one.
    """

    __constants__ = ["normalized_shape", "eps", "elementwise_affine"]

    def __init__(self, normalized_shape: int | Sequence[int], eps: float = 1e-5, elementwise_affine: bool = True, bias: bool = True,
                 device: DeviceLike | None = None, dtype: DType | None = None) -> None:
        super().__init__()
        self.normalized_shape, self.eps, self.elementwise_affine = _shape(normalized_shape), eps, elementwise_affine
        self._make_parameters(self.normalized_shape, elementwise_affine, bias, device, dtype)

    def forward(self, input: Tensor) -> Tensor:
        """The normalized input, of the same shape."""
        return F.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        return f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}, bias={self.bias is not None}"


class GroupNorm(_Affine):
    """(input - mean) / sqrt(var + eps) * weight + bias over each group of channels (Wu and He, 2018).

    Args:
        num_groups, num_channels: the channels, dimension 1, form this many groups.
        eps: added to the variance.
        affine: whether there are weight and bias, one for each channel.
        bias: whether there is one.
    """

    __constants__ = ["num_groups", "num_channels", "eps", "affine"]

    def __init__(self, num_groups: int, num_channels: int, eps: float = 1e-5, affine: bool = True, device: DeviceLike | None = None,
                 dtype: DType | None = None, *, bias: bool = True) -> None:
        super().__init__()
        if num_channels % num_groups != 0:
            raise ValueError(f"num_channels ({num_channels}) must be divisible by num_groups ({num_groups})")
        self.num_groups, self.num_channels, self.eps, self.affine = num_groups, num_channels, eps, affine
        self._make_parameters((num_channels,), affine, bias, device, dtype)

    def forward(self, input: Tensor) -> Tensor:
        """The normalized input, of the same shape."""
        return F.group_norm(input, self.num_groups, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        return f"{self.num_groups}, {self.num_channels}, eps={self.eps}, affine={self.affine}, bias={self.bias is not None}"


class RMSNorm(_Affine):
    """input / sqrt(mean(input^2) + eps) * weight over the last dimensions (Zhang and Sennrich, 2019).

    Args:
        normalized_shape: the sizes of the last dimensions.
        eps: added to the mean square; the dtype's epsilon where None.
        elementwise_affine: whether there is a weight, of `normalized_shape`.
    """

    __constants__ = ["normalized_shape", "eps", "elementwise_affine"]

    def __init__(self, normalized_shape: int | Sequence[int], eps: float | None = None, elementwise_affine: bool = True,
                 device: DeviceLike | None = None, dtype: DType | None = None) -> None:
        super().__init__()
        self.normalized_shape, self.eps, self.elementwise_affine = _shape(normalized_shape), eps, elementwise_affine
        self._make_parameters(self.normalized_shape, elementwise_affine, None, device, dtype)

    def forward(self, x: Tensor) -> Tensor:
        """The normalized input, of the same shape."""
        return F.rms_norm(x, self.normalized_shape, self.weight, self.eps)

    def extra_repr(self) -> str:
        return f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}"


_absences(__name__)
