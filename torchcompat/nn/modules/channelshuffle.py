"""Channels interleaved between groups."""

from __future__ import annotations


from .. import functional as F
from .module import Module
from torchcompat._tensor import Tensor

__all__ = ["ChannelShuffle"]


class ChannelShuffle(Module):
    """Splits the channels into `groups` and takes one of each in turn."""

    __constants__ = ["groups"]

    def __init__(self, groups: int) -> None:
        super().__init__()
        self.groups = groups

    def forward(self, input: Tensor) -> Tensor:
        return F.channel_shuffle(input, self.groups)

    def extra_repr(self) -> str:
        return f"groups={self.groups}"
