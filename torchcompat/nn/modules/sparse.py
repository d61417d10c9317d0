"""Embeddings: rows of a table by their numbers."""

from __future__ import annotations

from typing import Any

from autograd_tape.annotations import DeviceLike
import torchcompat as torch

from .. import functional as F
from .. import init
from ..parameter import Parameter
from .module import Module
from torchcompat._tensor import Tensor
from autograd_tape.dtypes import DType

__all__ = ["Embedding", "EmbeddingBag"]


class _Table(Module):
    """What both embeddings have: the weight, its first values, and the row that stays zero."""

    weight: Any

    def _make_table(self, num_embeddings: int, embedding_dim: int, padding_idx: int | None, word: str, weight: Any, frozen: bool,
                    device: DeviceLike | None, dtype: DType | None) -> None:
        self.num_embeddings, self.embedding_dim = num_embeddings, embedding_dim
        if padding_idx is not None:
            if not -num_embeddings <= padding_idx < max(num_embeddings, 1):
                raise AssertionError(f"{word} must be within num_embeddings")
            padding_idx = padding_idx + num_embeddings if padding_idx < 0 else padding_idx
        self.padding_idx = padding_idx
        if weight is None:
            self.weight = Parameter(torch.empty((num_embeddings, embedding_dim), device=device, dtype=dtype), requires_grad=not frozen)
            self.reset_parameters()
        else:
            if list(weight.shape) != [num_embeddings, embedding_dim]:
                raise AssertionError("Shape of weight does not match num_embeddings and embedding_dim")
            self.weight = Parameter(weight, requires_grad=not frozen)

    def reset_parameters(self) -> None:
        """Draws new normal weights."""
        init.normal_(self.weight)
        self._fill_padding_idx_with_zero()

    def _fill_padding_idx_with_zero(self) -> None:
        if self.padding_idx is not None:
            with torch.no_grad():
                self.weight[self.padding_idx].fill_(0)


class Embedding(_Table):
    """weight[input].

    Args:
        num_embeddings, embedding_dim: the table's shape.
        padding_idx: a row that is zero and gets no gradient.
        max_norm: rows longer than this (in the `norm_type` norm) are scaled down when they are used.
        scale_grad_by_freq: divide a row's gradient by the number of its uses in the batch.
        sparse: whether the table's gradient is sparse: the rows that were looked up.

    >>> torch.nn.Embedding(10, 3)(torch.tensor([[1, 2], [4, 5]])).shape
    torch.Size([2, 2, 3])
    """

    __constants__ = ["num_embeddings", "embedding_dim", "padding_idx", "max_norm", "norm_type", "scale_grad_by_freq", "sparse"]

    def __init__(self, num_embeddings: int, embedding_dim: int, padding_idx: int | None = None, max_norm: float | None = None,
                 norm_type: float = 2.0, scale_grad_by_freq: bool = False, sparse: bool = False, _weight: Tensor | None = None,
                 _freeze: bool = False, device: DeviceLike | None = None, dtype: DType | None = None) -> None:
        super().__init__()
        self._make_table(num_embeddings, embedding_dim, padding_idx, "Padding_idx", _weight, _freeze, device, dtype)
        self.max_norm, self.norm_type, self.scale_grad_by_freq, self.sparse = max_norm, norm_type, scale_grad_by_freq, sparse

    def forward(self, input: Tensor) -> Tensor:
        """[*] integers -> [*, embedding_dim]."""
        return F.embedding(input, self.weight, self.padding_idx, self.max_norm, self.norm_type, self.scale_grad_by_freq, self.sparse)

    def extra_repr(self) -> str:
        parts = [str(self.num_embeddings), str(self.embedding_dim)]
        for name, default in (("padding_idx", None), ("max_norm", None), ("norm_type", 2), ("scale_grad_by_freq", False),
                              ("sparse", False)):
            value = getattr(self, name)
            if value != default or (value is None) != (default is None):
                parts.append(f"{name}={value}")
        return ", ".join(parts)

    @classmethod
    def from_pretrained(cls, embeddings: Any, freeze: bool = True, padding_idx: int | None = None, max_norm: float | None = None,
                        norm_type: float = 2.0, scale_grad_by_freq: bool = False, sparse: bool = False) -> "Embedding":
        """An embedding of the rows of `embeddings`, fixed where `freeze`."""
        if embeddings.dim() != 2:
            raise AssertionError("Embeddings parameter is expected to be 2-dimensional")
        rows, width = embeddings.shape
        return cls(rows, width, _weight=embeddings, _freeze=freeze, padding_idx=padding_idx, max_norm=max_norm, norm_type=norm_type,
                   scale_grad_by_freq=scale_grad_by_freq, sparse=sparse)


class EmbeddingBag(_Table):
    """The sum, mean or maximum of the rows of each bag.

    Args:
        mode: "sum", "mean" or "max".
        include_last_offset: the offsets end with the length of the input.
        the others: see Embedding; rows `padding_idx` do not count.
    """

    __constants__ = ["num_embeddings", "embedding_dim", "max_norm", "norm_type", "scale_grad_by_freq", "mode", "sparse",
                     "include_last_offset", "padding_idx"]

    def __init__(self, num_embeddings: int, embedding_dim: int, max_norm: float | None = None, norm_type: float = 2.0,
                 scale_grad_by_freq: bool = False, mode: str = "mean", sparse: bool = False, _weight: Tensor | None = None,
                 include_last_offset: bool = False, padding_idx: int | None = None, device: DeviceLike | None = None,
                 dtype: DType | None = None) -> None:
        super().__init__()
        self._make_table(num_embeddings, embedding_dim, padding_idx, "padding_idx", _weight, False, device, dtype)
        self.max_norm, self.norm_type, self.scale_grad_by_freq = max_norm, norm_type, scale_grad_by_freq
        self.mode, self.sparse, self.include_last_offset = mode, sparse, include_last_offset

    def forward(self, input: Tensor, offsets: Tensor | None = None, per_sample_weights: Tensor | None = None) -> Tensor:
        """[bags, n] integers, or [n] and the offsets at which bags begin -> [bags, embedding_dim]."""
        return F.embedding_bag(input, self.weight, offsets, self.max_norm, self.norm_type, self.scale_grad_by_freq, self.mode, self.sparse,
                               per_sample_weights, self.include_last_offset, self.padding_idx)

    def extra_repr(self) -> str:
        parts = [str(self.num_embeddings), str(self.embedding_dim)]
        parts += [f"max_norm={self.max_norm!r}"] if self.max_norm is not None else []
        parts += [f"norm_type={self.norm_type!r}"] if self.norm_type != 2 else []
        parts += [f"scale_grad_by_freq={self.scale_grad_by_freq!r}"] if self.scale_grad_by_freq is not False else []
        parts += [f"mode={self.mode!r}"]
        parts += [f"padding_idx={self.padding_idx!r}"] if self.padding_idx is not None else []
        return ", ".join(parts)

    @classmethod
    def from_pretrained(cls, embeddings: Tensor, freeze: bool = True, max_norm: float | None = None, norm_type: float = 2.0,
                        scale_grad_by_freq: bool = False, mode: str = "mean", sparse: bool = False, include_last_offset: bool = False,
                        padding_idx: int | None = None) -> "EmbeddingBag":
        """An embedding bag of the rows of `embeddings`, fixed where `freeze`."""
        if embeddings.dim() != 2:
            raise AssertionError("Embeddings parameter is expected to be 2-dimensional")
        rows, width = embeddings.shape
        bag = cls(rows, width, _weight=embeddings, max_norm=max_norm, norm_type=norm_type, scale_grad_by_freq=scale_grad_by_freq,
                  mode=mode, sparse=sparse, include_last_offset=include_last_offset, padding_idx=padding_idx)
        bag.weight.requires_grad = not freeze
        return bag
