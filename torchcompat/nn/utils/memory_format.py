"""Weights of convolutions in another order of dimensions in memory."""

from __future__ import annotations


from ..modules.conv import Conv2d, Conv3d, ConvTranspose2d, ConvTranspose3d
from torchcompat.nn.modules.module import Module
from torchcompat._memory.layout import memory_format


def _converted(module: Module, memory_format: memory_format, kinds: tuple[type, ...]) -> Module:
    for m in module.modules():
        if isinstance(m, kinds):
            weight = m.weight.detach().clone(memory_format=memory_format)
            m.weight.data = weight.resize_(weight.size(), memory_format=memory_format)
    return module


def convert_conv2d_weight_memory_format(module: Module, memory_format: memory_format) -> Module:
    """Puts the weights of all two-dimensional convolutions within a module, and their transposes, in a memory format."""
    return _converted(module, memory_format, (Conv2d, ConvTranspose2d))


def convert_conv3d_weight_memory_format(module: Module, memory_format: memory_format) -> Module:
    """The same of three-dimensional ones."""
    return _converted(module, memory_format, (Conv3d, ConvTranspose3d))
