"""Convolutions and their transposes over one, two or three dimensions."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any
from collections.abc import Sequence

from autograd_tape.annotations import DeviceLike, Keywords
import torchcompat as torch

from .. import functional as F
from .. import init
from ..parameter import Parameter, UninitializedParameter
from .lazy import LazyModuleMixin
from .module import Module
from .utils import _ntuple, _pair as _pair, _reverse_repeat_tuple, _single as _single, _triple as _triple

if TYPE_CHECKING:
    from autograd_tape.dtypes import DType
    from torchcompat._tensor import Tensor
    from torchcompat.nn.common_types import _size_any_t

__all__ = [
    "Conv1d", "Conv2d", "Conv3d", "ConvTranspose1d", "ConvTranspose2d", "ConvTranspose3d", "LazyConv1d", "LazyConv2d", "LazyConv3d",
    "LazyConvTranspose1d", "LazyConvTranspose2d", "LazyConvTranspose3d",
]


class _ConvNd(Module):
    """What all convolutions have; sizes are tuples by now.

    Attributes:
        weight: [out_channels, in_channels / groups, *kernel_size], in and out exchanged where transposed; uniform in +-1/sqrt(fan_in)
            at first, as is the bias.
    """

    __constants__ = ["stride", "padding", "dilation", "groups", "padding_mode", "output_padding", "in_channels", "out_channels",
                     "kernel_size"]

    weight: Any
    bias: Any

    def __init__(self, in_channels: int, out_channels: int, kernel_size: tuple[int, ...], stride: tuple[int, ...],
                 padding: str | tuple[int, ...], dilation: tuple[int, ...], transposed: bool, output_padding: tuple[int, ...], groups: int,
                 bias: bool, padding_mode: str, device: DeviceLike | None = None, dtype: DType | None = None) -> None:
        super().__init__()
        if groups <= 0:
            raise ValueError("groups must be a positive integer")
        if in_channels % groups != 0:
            raise ValueError("in_channels must be divisible by groups")
        if out_channels % groups != 0:
            raise ValueError("out_channels must be divisible by groups")
        if isinstance(padding, str):
            if padding not in ("same", "valid"):
                raise ValueError(f"Invalid padding string {padding!r}, should be one of { {'same', 'valid'} }")
            if padding == "same" and any(s != 1 for s in stride):
                raise ValueError("padding='same' is not supported for strided convolutions")
        modes = {"zeros", "reflect", "replicate", "circular"}
        if padding_mode not in modes:
            raise ValueError(f"padding_mode must be one of {modes}, but got padding_mode='{padding_mode}'")
        self.in_channels, self.out_channels, self.kernel_size, self.stride = in_channels, out_channels, kernel_size, stride
        self.padding, self.dilation, self.transposed, self.output_padding = padding, dilation, transposed, output_padding
        self.groups, self.padding_mode = groups, padding_mode
        self._reversed_padding_repeated_twice = self._pad_argument()
        shape = (in_channels, out_channels // groups) if transposed else (out_channels, in_channels // groups)
        self.weight = Parameter(torch.empty((*shape, *kernel_size), device=device, dtype=dtype))
        if bias:
            self.bias = Parameter(torch.empty(out_channels, device=device, dtype=dtype))
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    def _pad_argument(self) -> Sequence[int]:
        """The padding as `F.pad` takes it."""
        if not isinstance(self.padding, str):
            return _reverse_repeat_tuple(self.padding, 2)
        totals = [d * (k - 1) if self.padding == "same" else 0 for d, k in zip(self.dilation, self.kernel_size)]
        return [n for total in reversed(totals) for n in (total // 2, total - total // 2)]

    def reset_parameters(self) -> None:
        """Draws new weights."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            fan_in, _ = init._calculate_fan_in_and_fan_out(self.weight)
            bound = 1 / math.sqrt(fan_in) if fan_in > 0 else 0
            init.uniform_(self.bias, -bound, bound)

    def extra_repr(self) -> str:
        n = len(self.kernel_size)
        parts = [f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, stride={self.stride}"]
        if self.padding != (0,) * len(self.padding):
            parts.append(f"padding={self.padding}")
        if self.dilation != (1,) * n:
            parts.append(f"dilation={self.dilation}")
        if self.output_padding != (0,) * n:
            parts.append(f"output_padding={self.output_padding}")
        if self.groups != 1:
            parts.append(f"groups={self.groups}")
        if self.bias is None:
            parts.append("bias=False")
        if self.padding_mode != "zeros":
            parts.append(f"padding_mode={self.padding_mode}")
        return ", ".join(parts)

    def __setstate__(self, state: Keywords) -> None:
        super().__setstate__(state)
        self.__dict__.setdefault("padding_mode", "zeros")


class _Conv(_ConvNd):
    """A convolution (cross-correlation) over `dims` dimensions.

    Args:
        in_channels, out_channels: channels before and after.
        kernel_size, stride, padding, dilation: a number, or one for each dimension; padding also "same" or "valid".
        groups: channels are convolved in this many separate groups.
        bias: whether there is one.
        padding_mode: "zeros", "reflect", "replicate" or "circular".

    Shapes: [N, in_channels, *sizes] -> [N, out_channels, *sizes], or both without N; a size becomes
    floor((size + 2 * padding - dilation * (kernel_size - 1) - 1) / stride) + 1.
    """

    dims: int

    def __init__(self, in_channels: int, out_channels: int, kernel_size: _size_any_t, stride: _size_any_t = 1,
                 padding: _size_any_t | str = 0, dilation: _size_any_t = 1, groups: int = 1, bias: bool = True,
                 padding_mode: str = "zeros", device: DeviceLike | None = None, dtype: DType | None = None) -> None:
        t = _ntuple(self.dims)
        super().__init__(in_channels, out_channels, t(kernel_size), t(stride), padding if isinstance(padding, str) else t(padding),
                         t(dilation), False, t(0), groups, bias, padding_mode, device, dtype)

    def _conv(self, *args: object) -> Any:
        raise NotImplementedError

    def _conv_forward(self, input: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        if self.padding_mode != "zeros":
            input = F.pad(input, self._reversed_padding_repeated_twice, mode=self.padding_mode)
            return self._conv(input, weight, bias, self.stride, (0,) * self.dims, self.dilation, self.groups)
        return self._conv(input, weight, bias, self.stride, self.padding, self.dilation, self.groups)

    def forward(self, input: Tensor) -> Tensor:
        """The convolution of `input`."""
        return self._conv_forward(input, self.weight, self.bias)


class Conv1d(_Conv):
    __doc__ = _Conv.__doc__.replace("over `dims` dimensions", "over one dimension")  # type: ignore[union-attr]  # the base has one
    dims = 1

    def _conv(self, *args: object) -> Tensor:
        return F.conv1d(*args)  # type: ignore[arg-type]  # the arguments of that


class Conv2d(_Conv):
    __doc__ = _Conv.__doc__.replace("over `dims` dimensions", "over two dimensions")  # type: ignore[union-attr]  # the base has one
    dims = 2

    def _conv(self, *args: object) -> Tensor:
        return F.conv2d(*args)  # type: ignore[arg-type]  # the arguments of that


class Conv3d(_Conv):
    __doc__ = _Conv.__doc__.replace("over `dims` dimensions", "over three dimensions")  # type: ignore[union-attr]  # the base has one
    dims = 3

    def _conv(self, *args: object) -> Tensor:
        return F.conv3d(*args)  # type: ignore[arg-type]  # the arguments of that


class _ConvTransposeNd(_ConvNd):
    """The transpose of a convolution over `dims` dimensions: its gradient with respect to the input.

    Args:
        output_padding: added to the output's sizes, which the stride leaves open.
        the others: see Conv.

    Shapes: [N, in_channels, *sizes] -> [N, out_channels, *sizes]; a size becomes
    (size - 1) * stride - 2 * padding + dilation * (kernel_size - 1) + output_padding + 1.
    """

    dims: int

    def __init__(self, in_channels: int, out_channels: int, kernel_size: _size_any_t, stride: _size_any_t = 1,
                 padding: _size_any_t | str = 0, output_padding: _size_any_t = 0, groups: int = 1, bias: bool = True,
                 dilation: _size_any_t = 1, padding_mode: str = "zeros", device: DeviceLike | None = None,
                 dtype: DType | None = None) -> None:
        if padding_mode != "zeros":
            raise ValueError(f'Only "zeros" padding mode is supported for {type(self).__name__}')
        t = _ntuple(self.dims)
        super().__init__(in_channels, out_channels, t(kernel_size), t(stride), t(padding), t(dilation), True, t(output_padding), groups,
                         bias, padding_mode, device, dtype)

    def _output_padding(self, input: Tensor, output_size: Sequence[int] | None) -> Sequence[int]:
        """The output padding that gives `output_size`."""
        if output_size is None:
            return self.output_padding
        n = self.dims
        lead = 2 if input.dim() == n + 2 else 1
        sizes = list(output_size)[lead:] if len(output_size) == lead + n else list(output_size)
        if len(sizes) != n:
            raise ValueError(f"ConvTranspose{n}D: for {input.dim()}D input, output_size must have {n} or {lead + n} elements "
                             f"(got {len(sizes)})")
        low = [(input.size(d + lead) - 1) * self.stride[d] - 2 * self.padding[d] + self.dilation[d] * (self.kernel_size[d] - 1) + 1  # type: ignore[operator]
               for d in range(n)]
        high = [least + stride - 1 for least, stride in zip(low, self.stride)]
        if any(not least <= size <= most for size, least, most in zip(sizes, low, high)):
            raise ValueError(f"requested an output size of {output_size if len(output_size) == n else sizes}, but valid sizes range from "
                             f"{low} to {high} (for an input of {input.size()[2:]})")
        return [size - least for size, least in zip(sizes, low)]

    def _conv(self, *args: object) -> Any:
        raise NotImplementedError

    def forward(self, input: Tensor, output_size: Sequence[int] | None = None) -> Tensor:
        """The transposed convolution of `input`; `output_size` chooses among the possible sizes."""
        return self._conv(input, self.weight, self.bias, self.stride, self.padding, self._output_padding(input, output_size), self.groups,
                          self.dilation)


class ConvTranspose1d(_ConvTransposeNd):
    __doc__ = _ConvTransposeNd.__doc__.replace("over `dims` dimensions", "over one dimension")  # type: ignore[union-attr]
    dims = 1

    def _conv(self, *args: object) -> Tensor:
        return F.conv_transpose1d(*args)  # type: ignore[arg-type]  # the arguments of that


class ConvTranspose2d(_ConvTransposeNd):
    __doc__ = _ConvTransposeNd.__doc__.replace("over `dims` dimensions", "over two dimensions")  # type: ignore[union-attr]
    dims = 2

    def _conv(self, *args: object) -> Tensor:
        return F.conv_transpose2d(*args)  # type: ignore[arg-type]  # the arguments of that


class ConvTranspose3d(_ConvTransposeNd):
    __doc__ = _ConvTransposeNd.__doc__.replace("over `dims` dimensions", "over three dimensions")  # type: ignore[union-attr]
    dims = 3

    def _conv(self, *args: object) -> Tensor:
        return F.conv_transpose3d(*args)  # type: ignore[arg-type]  # the arguments of that


class _LazyConv(LazyModuleMixin):
    """Makes a convolution one whose `in_channels` are those of its first input."""

    dims: int
    groups: int
    transposed: bool
    kernel_size: tuple[int, ...]
    weight: Any
    bias: Any

    def __init__(self, out_channels: int, kernel_size: _size_any_t, *args: Any, bias: bool = True, device: DeviceLike | None = None,
                 dtype: DType | None = None, **kwargs: Any) -> None:
        super().__init__(0, 0, kernel_size, *args, bias=False, **kwargs)
        self.weight = UninitializedParameter(device=device, dtype=dtype)
        self.out_channels = out_channels
        if bias:
            self.bias = UninitializedParameter(device=device, dtype=dtype)

    def reset_parameters(self) -> None:
        """Draws new weights, once there are any."""
        if not self.has_uninitialized_params() and self.in_channels != 0:
            super().reset_parameters()  # type: ignore[misc]  # a mixin: the convolution has it

    def initialize_parameters(self, input: Tensor, *args: object, **kwargs: object) -> None:
        """Gives the parameters their shapes from the first input."""
        if not self.has_uninitialized_params():
            return
        if input.dim() not in (self.dims + 1, self.dims + 2):
            raise RuntimeError(f"Expected {self.dims + 1}D (unbatched) or {self.dims + 2}D (batched) input to {type(self).__name__}, but "
                               f"got input of size: {input.shape}")
        self.in_channels = input.shape[-self.dims - 1]
        if self.in_channels % self.groups != 0:
            raise ValueError("in_channels must be divisible by groups")
        first, second = (self.in_channels, self.out_channels) if self.transposed else (self.out_channels, self.in_channels)
        self.weight.materialize((first, second // self.groups, *self.kernel_size))
        if self.bias is not None:
            self.bias.materialize((self.out_channels,))
        self.reset_parameters()


class LazyConv1d(_LazyConv, Conv1d):
    """A Conv1d whose `in_channels` are those of its first input."""

    cls_to_become = Conv1d


class LazyConv2d(_LazyConv, Conv2d):
    """A Conv2d whose `in_channels` are those of its first input."""

    cls_to_become = Conv2d


class LazyConv3d(_LazyConv, Conv3d):
    """A Conv3d whose `in_channels` are those of its first input."""

    cls_to_become = Conv3d


class LazyConvTranspose1d(_LazyConv, ConvTranspose1d):
    """A ConvTranspose1d whose `in_channels` are those of its first input."""

    cls_to_become = ConvTranspose1d


class LazyConvTranspose2d(_LazyConv, ConvTranspose2d):
    """A ConvTranspose2d whose `in_channels` are those of its first input."""

    cls_to_become = ConvTranspose2d


class LazyConvTranspose3d(_LazyConv, ConvTranspose3d):
    """A ConvTranspose3d whose `in_channels` are those of its first input."""

    cls_to_become = ConvTranspose3d
