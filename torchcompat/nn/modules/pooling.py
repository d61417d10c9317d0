"""Pooling: the maximum, the mean or a norm over windows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .. import functional as F
from .module import Module
from .utils import _ntuple, _pair as _pair, _single, _triple as _triple
from torchcompat._tensor import Tensor
from torchcompat.nn.common_types import _size_1_t

if TYPE_CHECKING:
    from torchcompat.nn.common_types import _size_any_opt_t, _size_any_t

__all__ = [
    "AdaptiveAvgPool1d", "AdaptiveAvgPool2d", "AdaptiveAvgPool3d", "AdaptiveMaxPool1d", "AdaptiveMaxPool2d", "AdaptiveMaxPool3d",
    "AvgPool1d", "AvgPool2d", "AvgPool3d", "FractionalMaxPool2d", "FractionalMaxPool3d", "LPPool1d", "LPPool2d", "LPPool3d", "MaxPool1d",
    "MaxPool2d", "MaxPool3d", "MaxUnpool1d", "MaxUnpool2d", "MaxUnpool3d",
]


class _MaxPoolNd(Module):
    """The maximum over windows.

    Args:
        kernel_size, stride, padding, dilation: a number, or one for each dimension; stride is kernel_size where None.
        return_indices: also return where the maxima are.
        ceil_mode: let windows begin inside the input that end outside.
    """

    __constants__ = ["kernel_size", "stride", "padding", "dilation", "return_indices", "ceil_mode"]

    def __init__(self, kernel_size: _size_any_t, stride: _size_any_t | None = None, padding: _size_any_t = 0, dilation: _size_any_t = 1,
                 return_indices: bool = False, ceil_mode: bool = False) -> None:
        super().__init__()
        self.kernel_size, self.padding, self.dilation = kernel_size, padding, dilation
        self.stride = kernel_size if stride is None else stride
        self.return_indices, self.ceil_mode = return_indices, ceil_mode

    def extra_repr(self) -> str:
        return (f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}, dilation={self.dilation}, "
                f"ceil_mode={self.ceil_mode}")


class MaxPool1d(_MaxPoolNd):
    """The maximum over windows of [N, C, L]; arguments: see MaxPool2d."""

    def forward(self, input: Tensor) -> Tensor:
        return F.max_pool1d(input, self.kernel_size, self.stride, self.padding, self.dilation, ceil_mode=self.ceil_mode,
                            return_indices=self.return_indices)


class MaxPool2d(_MaxPoolNd):
    __doc__ = (_MaxPoolNd.__doc__ or "").replace("windows.", "windows of [N, C, H, W].", 1)

    def forward(self, input: Tensor) -> Tensor:
        return F.max_pool2d(input, self.kernel_size, self.stride, self.padding, self.dilation, ceil_mode=self.ceil_mode,
                            return_indices=self.return_indices)


class MaxPool3d(_MaxPoolNd):
    """The maximum over windows of [N, C, D, H, W]; arguments: see MaxPool2d."""

    def forward(self, input: Tensor) -> Tensor:
        return F.max_pool3d(input, self.kernel_size, self.stride, self.padding, self.dilation, ceil_mode=self.ceil_mode,
                            return_indices=self.return_indices)


class _MaxUnpoolNd(Module):
    """Puts maxima back where MaxPool's indices say they were; zero elsewhere."""

    dims: int

    def __init__(self, kernel_size: _size_any_t, stride: _size_any_t | None = None, padding: _size_any_t = 0) -> None:
        super().__init__()
        t = _ntuple(self.dims)
        self.kernel_size, self.stride, self.padding = t(kernel_size), t(kernel_size if stride is None else stride), t(padding)

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class MaxUnpool1d(_MaxUnpoolNd):
    """The partial inverse of MaxPool1d."""

    dims = 1

    def forward(self, input: Tensor, indices: Tensor, output_size: list[int] | None = None) -> Tensor:
        return F.max_unpool1d(input, indices, self.kernel_size, self.stride, self.padding, output_size)


class MaxUnpool2d(_MaxUnpoolNd):
    """The partial inverse of MaxPool2d."""

    dims = 2

    def forward(self, input: Tensor, indices: Tensor, output_size: list[int] | None = None) -> Tensor:
        return F.max_unpool2d(input, indices, self.kernel_size, self.stride, self.padding, output_size)


class MaxUnpool3d(_MaxUnpoolNd):
    """The partial inverse of MaxPool3d."""

    dims = 3

    def forward(self, input: Tensor, indices: Tensor, output_size: list[int] | None = None) -> Tensor:
        return F.max_unpool3d(input, indices, self.kernel_size, self.stride, self.padding, output_size)


class _AvgPoolNd(Module):
    """The mean over windows.

    Args:
        kernel_size, stride, padding: a number, or one for each dimension; stride is kernel_size where None.
        ceil_mode: let windows begin inside the input that end outside.
        count_include_pad: padding counts as zeros.
        divisor_override: what the sum is divided by instead of the window's size.
    """

    __constants__ = ["kernel_size", "stride", "padding", "ceil_mode", "count_include_pad"]

    def __init__(self, kernel_size: _size_any_t, stride: _size_any_t | None = None, padding: _size_any_t = 0, ceil_mode: bool = False,
                 count_include_pad: bool = True, divisor_override: int | None = None) -> None:
        super().__init__()
        self.kernel_size, self.padding = kernel_size, padding
        self.stride = kernel_size if stride is None else stride
        self.ceil_mode, self.count_include_pad, self.divisor_override = ceil_mode, count_include_pad, divisor_override

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class AvgPool1d(_AvgPoolNd):
    """The mean over windows of [N, C, L]; arguments: see AvgPool2d."""

    def __init__(self, kernel_size: _size_1_t, stride: _size_1_t | None = None, padding: _size_1_t = 0, ceil_mode: bool = False,
                 count_include_pad: bool = True) -> None:
        super().__init__(_single(kernel_size), None if stride is None else _single(stride), _single(padding), ceil_mode, count_include_pad)
        del self.divisor_override

    def forward(self, input: Tensor) -> Tensor:
        return F.avg_pool1d(input, self.kernel_size, self.stride, self.padding, self.ceil_mode, self.count_include_pad)


class AvgPool2d(_AvgPoolNd):
    __constants__ = ["kernel_size", "stride", "padding", "ceil_mode", "count_include_pad", "divisor_override"]
    __doc__ = (_AvgPoolNd.__doc__ or "").replace("windows.", "windows of [N, C, H, W].", 1)

    def forward(self, input: Tensor) -> Tensor:
        return F.avg_pool2d(input, self.kernel_size, self.stride, self.padding, self.ceil_mode, self.count_include_pad,
                            self.divisor_override)


class AvgPool3d(_AvgPoolNd):
    """The mean over windows of [N, C, D, H, W]; arguments: see AvgPool2d."""

    __constants__ = ["kernel_size", "stride", "padding", "ceil_mode", "count_include_pad", "divisor_override"]

    def forward(self, input: Tensor) -> Tensor:
        return F.avg_pool3d(input, self.kernel_size, self.stride, self.padding, self.ceil_mode, self.count_include_pad,
                            self.divisor_override)


class _FractionalMaxPool(Module):
    """The maximum over windows whose places are drawn at random (Graham, 2014).

    Args:
        kernel_size: a number, or one for each dimension.
        output_size, output_ratio: one of them: the output's sizes, or its sizes relative to the input's.
        return_indices: also return where the maxima are.
    """

    dims: int

    def __init__(self, kernel_size: _size_any_t, output_size: _size_any_opt_t | None = None, output_ratio: tuple[float, ...] | None = None,
                 return_indices: bool = False, _random_samples: Any = None) -> None:
        super().__init__()
        t, name = _ntuple(self.dims), type(self).__name__
        if self.dims == 3 and any(k <= 0 for k in t(kernel_size)):
            raise ValueError(f"kernel_size must be greater than 0, but got {kernel_size}")
        self.kernel_size, self.return_indices = t(kernel_size), return_indices
        self.register_buffer("_random_samples", _random_samples)
        self.output_size = None if output_size is None else t(output_size)
        self.output_ratio = None if output_ratio is None else t(output_ratio)
        if output_size is None and output_ratio is None:
            raise ValueError(f"{name} requires specifying either an output size, or a pooling ratio")
        if output_size is not None and output_ratio is not None:
            raise ValueError("only one of output_size and output_ratio may be specified")
        if self.output_ratio is not None and not all(0 < ratio < 1 for ratio in self.output_ratio):
            raise ValueError(f"output_ratio must be between 0 and 1 (got {output_ratio})")


class FractionalMaxPool2d(_FractionalMaxPool):
    __constants__ = ["kernel_size", "return_indices", "output_size", "output_ratio"]
    __doc__ = (_FractionalMaxPool.__doc__ or "").replace("windows", "windows of [N, C, H, W]", 1)
    dims = 2

    def forward(self, input: Tensor) -> Any:
        return F.fractional_max_pool2d(input, self.kernel_size, self.output_size, self.output_ratio, self.return_indices,
                                       _random_samples=self._random_samples)


class FractionalMaxPool3d(_FractionalMaxPool):
    __constants__ = ["kernel_size", "return_indices", "output_size", "output_ratio"]
    __doc__ = (_FractionalMaxPool.__doc__ or "").replace("windows", "windows of [N, C, D, H, W]", 1)
    dims = 3

    def forward(self, input: Tensor) -> Any:
        return F.fractional_max_pool3d(input, self.kernel_size, self.output_size, self.output_ratio, self.return_indices,
                                       _random_samples=self._random_samples)


class _LPPoolNd(Module):
    """The `norm_type` norm over windows."""

    __constants__ = ["norm_type", "kernel_size", "stride", "ceil_mode"]

    def __init__(self, norm_type: float, kernel_size: _size_any_t, stride: _size_any_t | None = None, ceil_mode: bool = False) -> None:
        super().__init__()
        self.norm_type, self.kernel_size, self.stride, self.ceil_mode = norm_type, kernel_size, stride, ceil_mode

    def extra_repr(self) -> str:
        return f"norm_type={self.norm_type}, kernel_size={self.kernel_size}, stride={self.stride}, ceil_mode={self.ceil_mode}"


class LPPool1d(_LPPoolNd):
    """The `norm_type` norm over windows of [N, C, L]."""

    def forward(self, input: Tensor) -> Tensor:
        return F.lp_pool1d(input, float(self.norm_type), self.kernel_size, self.stride, self.ceil_mode)


class LPPool2d(_LPPoolNd):
    """The `norm_type` norm over windows of [N, C, H, W]."""

    def forward(self, input: Tensor) -> Tensor:
        return F.lp_pool2d(input, float(self.norm_type), self.kernel_size, self.stride, self.ceil_mode)


class LPPool3d(_LPPoolNd):
    """The `norm_type` norm over windows of [N, C, D, H, W]."""

    def forward(self, input: Tensor) -> Tensor:
        return F.lp_pool3d(input, float(self.norm_type), self.kernel_size, self.stride, self.ceil_mode)


class _AdaptiveMaxPoolNd(Module):
    """The maximum over windows that divide the input evenly into `output_size`; `return_indices`: and where the maxima are."""

    __constants__ = ["output_size", "return_indices"]

    def __init__(self, output_size: _size_any_opt_t, return_indices: bool = False) -> None:
        super().__init__()
        self.output_size, self.return_indices = output_size, return_indices

    def extra_repr(self) -> str:
        return f"output_size={self.output_size}"


class AdaptiveMaxPool1d(_AdaptiveMaxPoolNd):
    """[N, C, L] -> [N, C, output_size], the maximum of each window."""

    def forward(self, input: Tensor) -> Tensor:
        return F.adaptive_max_pool1d(input, self.output_size, self.return_indices)  # type: ignore[call-overload]  # sizes may be None


class AdaptiveMaxPool2d(_AdaptiveMaxPoolNd):
    """[N, C, H, W] -> [N, C, *output_size], the maximum of each window."""

    def forward(self, input: Tensor) -> Tensor:
        return F.adaptive_max_pool2d(input, self.output_size, self.return_indices)  # type: ignore[call-overload]  # sizes may be None


class AdaptiveMaxPool3d(_AdaptiveMaxPoolNd):
    """[N, C, D, H, W] -> [N, C, *output_size], the maximum of each window."""

    def forward(self, input: Tensor) -> tuple[Tensor, Tensor]:
        return F.adaptive_max_pool3d(input, self.output_size, self.return_indices)  # type: ignore[call-overload]  # sizes may be None


class _AdaptiveAvgPoolNd(Module):
    """The mean over windows that divide the input evenly into `output_size`."""

    __constants__ = ["output_size"]

    def __init__(self, output_size: _size_any_opt_t) -> None:
        super().__init__()
        self.output_size = output_size

    def extra_repr(self) -> str:
        return f"output_size={self.output_size}"


class AdaptiveAvgPool1d(_AdaptiveAvgPoolNd):
    """[N, C, L] -> [N, C, output_size], the mean of each window."""

    def forward(self, input: Tensor) -> Tensor:
        return F.adaptive_avg_pool1d(input, self.output_size)  # type: ignore[arg-type]  # None is the input's size


class AdaptiveAvgPool2d(_AdaptiveAvgPoolNd):
    """[N, C, H, W] -> [N, C, *output_size], the mean of each window."""

    def forward(self, input: Tensor) -> Tensor:
        return F.adaptive_avg_pool2d(input, self.output_size)  # type: ignore[arg-type]  # None is the input's size


class AdaptiveAvgPool3d(_AdaptiveAvgPoolNd):
    """[N, C, D, H, W] -> [N, C, *output_size], the mean of each window."""

    def forward(self, input: Tensor) -> Tensor:
        return F.adaptive_avg_pool3d(input, self.output_size)  # type: ignore[arg-type]  # None is the input's size
