"""Batch normalization folded into the layer before it, for evaluation."""

from __future__ import annotations

import copy
from typing import Any

import torchcompat as torch

from ..parameter import Parameter
from torchcompat._tensor import Tensor
from torchcompat.nn.modules.module import Module

__all__ = ["fuse_conv_bn_eval", "fuse_conv_bn_weights", "fuse_linear_bn_eval", "fuse_linear_bn_weights"]


def _fuse(weight: Any, bias: Any, mean: Any, var: Any, eps: float, bn_weight: Any, bn_bias: Any, shape: list[int]) -> tuple[Tensor, Tensor]:
    scale = torch.rsqrt(var + eps) * (torch.ones_like(mean) if bn_weight is None else bn_weight)
    new = (0.0 if bias is None else bias) - mean
    new = new * scale + (0.0 if bn_bias is None else bn_bias)
    dtype = weight.dtype if bias is None else bias.dtype
    return (Parameter((weight * scale.reshape(shape)).to(weight.dtype).detach(), weight.requires_grad),
            Parameter(new.to(dtype).detach(), bias is not None and bias.requires_grad))


def fuse_conv_bn_weights(conv_w: Tensor, conv_b: Tensor | None, bn_rm: Tensor, bn_rv: Tensor, bn_eps: float, bn_w: Tensor | None,
                         bn_b: Tensor | None, transpose: bool = False) -> tuple[Tensor, Tensor]:
    """Weight and bias of a convolution that does what convolution and batch normalization did."""
    shape = ([1, -1] if transpose else [-1, 1]) + [1] * (conv_w.dim() - 2)
    return _fuse(conv_w, conv_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b, shape)


def fuse_linear_bn_weights(linear_w: Tensor, linear_b: Tensor | None, bn_rm: Tensor, bn_rv: Tensor, bn_eps: float, bn_w: Tensor,
                           bn_b: Tensor) -> tuple[Tensor, Tensor]:
    """Weight and bias of a linear layer that does what linear layer and batch normalization did."""
    return _fuse(linear_w, linear_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b, [-1, 1])


def _check(layer: Module, bn: Module) -> None:
    if layer.training or bn.training:
        raise AssertionError("Fusion only for eval!")
    if bn.running_mean is None or bn.running_var is None:
        raise AssertionError("bn.running_mean and bn.running_var must not be None")


def fuse_conv_bn_eval(conv: Module, bn: Module, transpose: bool = False) -> Module:
    """A copy of `conv` that does what `conv` and `bn` did in evaluation."""
    _check(conv, bn)
    fused = copy.deepcopy(conv)
    fused.weight, fused.bias = fuse_conv_bn_weights(conv.weight, conv.bias, bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias,
                                                    transpose)
    return fused


def fuse_linear_bn_eval(linear: Module, bn: Module) -> Module:
    """A copy of `linear` that does what `linear` and `bn` did in evaluation."""
    _check(linear, bn)
    if bn.num_features not in (1, linear.out_features):
        raise AssertionError("To fuse, linear.out_features == bn.num_features or bn.num_features == 1, got "
                             f"linear.out_features={linear.out_features} and bn.num_features={bn.num_features}")
    fused = copy.deepcopy(linear)
    fused.weight, fused.bias = fuse_linear_bn_weights(linear.weight, linear.bias, bn.running_mean, bn.running_var, bn.eps, bn.weight,
                                                      bn.bias)
    return fused
