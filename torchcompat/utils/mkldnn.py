"""torch.utils.mkldnn: modules whose weights are in oneDNN's layout, for evaluation."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torchcompat as torch
from torchcompat import nn
from torchcompat.nn import functional as F

if TYPE_CHECKING:
    from autograd_tape.annotations import Keywords
    from autograd_tape.dtypes import DType
    from torchcompat._tensor import Tensor


class _Mkldnn(nn.Module):
    """A module that has another's tensors as buffers of the layout, and pickles as their plain elements."""

    names: tuple[str, ...]
    kept: tuple[str, ...] = ()

    def __init__(self, dense_module: nn.Module, dtype: DType | None = None) -> None:
        super().__init__()
        for name in self.kept:
            setattr(self, name, getattr(dense_module, name))
        for name in self.names:
            value = getattr(dense_module, name)
            if value is None:  # a bias
                value = torch.zeros([dense_module.weight.size(0)])
            self.register_buffer(name, value.to_mkldnn(dtype if name == "weight" else None))

    def __getstate__(self) -> Keywords:
        dense = {name: buffer.detach().to_dense() for name, buffer in self._buffers.items() if buffer is not None}
        return {**self.__dict__, "_buffers": dense}

    def __setstate__(self, state: Keywords) -> None:
        super().__setstate__(state)
        for name, buffer in self._buffers.items():
            self._buffers[name] = None if buffer is None else buffer.to_mkldnn()


class _Between(_Mkldnn):
    """One that takes tensors of any layout, and gives them back in it."""

    def forward(self, x: Tensor) -> Tensor:
        y = self.compute(x if x.is_mkldnn else x.to_mkldnn())
        return y if x.is_mkldnn else y.to_dense()

    def compute(self, x: Tensor) -> Tensor:
        """The output for a tensor of the layout."""
        raise NotImplementedError


class MkldnnLinear(_Between):
    """A linear layer."""

    names = ("weight", "bias")

    def compute(self, x: Tensor) -> Tensor:
        return F.linear(x, self.weight, self.bias)


class _MkldnnConvNd(_Between):
    names = ("bias", "weight")
    kept = ("stride", "padding", "dilation", "groups")

    def compute(self, x: Tensor) -> Tensor:
        convolve = (torch.conv1d, torch.conv2d, torch.conv3d)[self.weight.dim() - 3]
        return convolve(x, self.weight, self.bias, self.stride, self.padding, self.dilation, self.groups)


class MkldnnConv1d(_MkldnnConvNd):
    """A convolution over one dimension."""


class MkldnnConv2d(_MkldnnConvNd):
    """A convolution over two dimensions."""


class MkldnnConv3d(_MkldnnConvNd):
    """A convolution over three dimensions."""


class MkldnnBatchNorm(_Mkldnn):
    """A batch normalization by what was seen in training."""

    names = ("weight", "bias", "running_mean", "running_var")
    kept = ("eps",)

    def __init__(self, dense_module: nn.Module, dtype: DType | None = None) -> None:
        m = dense_module
        for fit, need in ((not m.training, "eval mode batchnorm"), (m.track_running_stats, "track_running_stats=True"),
                          (m.affine, "affine=True")):
            if not fit:
                raise AssertionError(f"Only support {need} for mkldnn path now")
        super().__init__(dense_module)  # its numbers stay float32
        self.exponential_average_factor = 0.0 if dense_module.momentum is None else dense_module.momentum

    def forward(self, x: Tensor) -> Tensor:
        return torch.batch_norm(x, self.weight, self.bias, self.running_mean, self.running_var, False, self.exponential_average_factor,
                                self.eps, False)


class MkldnnPrelu(_Between):
    """A PReLU."""

    names = ("weight",)

    def compute(self, x: Tensor) -> Tensor:
        return F.prelu(x, self.weight)


_KINDS = ((nn.Linear, MkldnnLinear), (nn.Conv1d, MkldnnConv1d), (nn.Conv2d, MkldnnConv2d), (nn.Conv3d, MkldnnConv3d),
          ((nn.BatchNorm2d, nn.BatchNorm3d), MkldnnBatchNorm), (nn.PReLU, MkldnnPrelu))


def to_mkldnn(module: nn.Module, dtype: DType = torch.float) -> nn.Module:
    """A module with weights in oneDNN's layout, where there are any to be: its parts are put in its place, the rest stays what it was.

    Args:
        module: in evaluation.
        dtype: of the weights: float32, bfloat16 or float16.

    >>> import torchcompat as torch
    >>> model = torch.nn.Sequential(torch.nn.Linear(2, 1), torch.nn.ReLU()).eval()
    >>> torch.utils.mkldnn.to_mkldnn(model)(torch.ones(3, 2)).shape
    torch.Size([3, 1])
    """
    if dtype not in (torch.float, torch.bfloat16, torch.half):
        raise AssertionError("MKLDNN only support float, bfloat16, and half path now")
    kind = next((kind for plain, kind in _KINDS if isinstance(module, plain)), None)
    made = module if kind is None else kind(module, dtype)
    for name, child in module.named_children():
        setattr(made, name, to_mkldnn(child, dtype))
    return made
