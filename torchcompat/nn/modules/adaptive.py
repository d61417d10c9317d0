"""Softmax over many classes of very different frequency."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Sequence
from typing import Any

import torchcompat as torch
from autograd_tape.annotations import DeviceLike, Keywords

from .. import functional as F
from .container import ModuleList, Sequential
from .linear import Linear
from .module import Module
from torchcompat._tensor import Tensor
from autograd_tape.dtypes import DType

__all__ = ["AdaptiveLogSoftmaxWithLoss"]

_ASMoutput = namedtuple("_ASMoutput", ["output", "loss"])


class AdaptiveLogSoftmaxWithLoss(Module):
    """The log-probability of target classes, rare ones in clusters with smaller layers (Grave et al., 2016).

    Args:
        in_features: size of the input.
        n_classes: number of classes, the most frequent first.
        cutoffs: where the clusters begin.
        div_value: each cluster's hidden layer is smaller by this factor than the one before.
        head_bias: whether the head, which decides on frequent classes and clusters, has a bias.
    """

    def __init__(self, in_features: int, n_classes: int, cutoffs: Sequence[int], div_value: float = 4.0, head_bias: bool = False,
                 device: DeviceLike | None = None, dtype: DType | None = None) -> None:
        super().__init__()
        cutoffs = list(cutoffs)
        if not cutoffs:
            raise ValueError("cutoffs should be a sequence of length larger than 0")
        if (cutoffs != sorted(set(cutoffs)) or cutoffs[0] <= 0 or cutoffs[-1] > n_classes - 1 or any(int(c) != c for c in cutoffs)):
            raise ValueError("cutoffs should be a sequence of unique, positive integers sorted in an increasing order, where each value is "
                             "between 1 and n_classes-1")
        self.in_features, self.n_classes, self.cutoffs = in_features, n_classes, [*cutoffs, n_classes]
        self.div_value, self.head_bias, self.shortlist_size = div_value, head_bias, cutoffs[0]
        self.n_clusters = len(cutoffs)
        self.head_size = self.shortlist_size + self.n_clusters
        placed: Keywords = {"device": device, "dtype": dtype}
        self.head = Linear(in_features, self.head_size, bias=head_bias, **placed)
        self.tail = ModuleList()
        for i in range(self.n_clusters):
            hidden = int(in_features // div_value ** (i + 1))
            size = self.cutoffs[i + 1] - self.cutoffs[i]
            self.tail.append(Sequential(Linear(in_features, hidden, bias=False, **placed), Linear(hidden, size, bias=False, **placed)))

    def reset_parameters(self) -> None:
        """Draws new weights."""
        self.head.reset_parameters()
        for cluster in self.tail:
            layers: Any = cluster
            for layer in layers:
                layer.reset_parameters()

    def forward(self, input_: Tensor, target_: Tensor) -> _ASMoutput:
        """[N, in_features], [N] class numbers -> their log-probabilities [N], and minus the mean of these."""
        if target_.dim() > 1:
            raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
        if target_.dim() == 1 and input_.size(0) != target_.size(0):
            raise RuntimeError("Input and target should have the same size in the batch dimension.")
        if input_.dim() != target_.dim() + 1:
            raise RuntimeError(f"{target_.dim()}D target tensor expects {target_.dim() + 1}D input tensors, but found inputs with size "
                               f"{input_.size()}")
        batched = target_.dim() == 1
        input, target = (input_, target_) if batched else (input_.unsqueeze(0), target_.unsqueeze(0))
        if ((target < 0) | (target >= self.n_classes)).any():
            raise RuntimeError(f"Target values should be in [0, {self.n_classes - 1}], but values in range [{target.min().item()}, "
                               f"{target.max().item()}] were found. ")
        output = input.new_zeros(target.size(0))
        choice = target.clone()  # of the head: a frequent class, or a cluster
        for i, (low, high) in enumerate(zip(self.cutoffs, self.cutoffs[1:])):
            rows = ((target >= low) & (target < high)).nonzero().squeeze(1)
            if rows.numel():
                choice[rows] = self.shortlist_size + i
                within = F.log_softmax(self.tail[i](input[rows]), dim=1).gather(1, (target[rows] - low).unsqueeze(1))
                output = output.index_copy(0, rows, within.squeeze(1))
        output = output + F.log_softmax(self.head(input), dim=1).gather(1, choice.unsqueeze(1)).squeeze(1)
        return _ASMoutput(output if batched else output.squeeze(0), -output.mean())

    def _full(self, input: object, head: Any) -> Any:
        head = F.log_softmax(head, dim=1)
        parts = [head[:, :self.shortlist_size]]
        for i, cluster in enumerate(self.tail):
            parts.append(F.log_softmax(cluster(input), dim=1) + head[:, self.shortlist_size + i].unsqueeze(1))
        return torch.cat(parts, dim=1)

    def log_prob(self, input: Tensor) -> Tensor:
        """[N, in_features] -> log-probabilities of all classes [N, n_classes]."""
        return self._full(input, self.head(input))

    def predict(self, input: Tensor) -> Tensor:
        """[N, in_features] -> the most probable classes [N]; clusters are only looked into where the head chooses one."""
        head = self.head(input)
        best = head.argmax(dim=1)
        rare = best >= self.shortlist_size
        if rare.any():
            best[rare] = self._full(input[rare], head[rare]).argmax(dim=1)
        return best
