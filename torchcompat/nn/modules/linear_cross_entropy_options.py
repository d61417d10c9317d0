"""How `nn.functional.linear_cross_entropy` goes over a batch in pieces."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from autograd_tape.dtypes import bfloat16, float16, float32, float64
from autograd_tape.dtypes import DType

if TYPE_CHECKING:
    from autograd_tape.dtypes import Device

__all__ = ["LinearCrossEntropyOptions"]

_POLICIES = ("auto", "accurate", "balanced", "compact")


def _pieces(method: str) -> int:
    """The N of "aspect_ratio:N"; 0 where it is none."""
    name, colon, count = method.partition(":")
    return 0 if name != "aspect_ratio" else 1 if not colon else int(count) if count.isdigit() else 0


@dataclasses.dataclass(slots=True, frozen=True)
class LinearCrossEntropyOptions:
    """Logits are made for some rows of the batch at a time, so that (rows, classes) numbers never lie in memory together.

    Attributes:
        allow_retain_graph: whether gradients, which are computed with the loss, stay for a second pass ("none" computes them in the pass).
        batch_chunk_size: how many rows; all where None.
        chunking_method: what else says how many: "aspect_ratio", as many as make the logits as large as the input; "aspect_ratio:N", an
            N-th of these; "auto", torch's choice for the dtype; None.
        acc_policy: "accurate", "balanced", "compact" or "auto", torch's names for what is kept in `acc_dtype`; here everything is.
        acc_dtype: what is computed in; left out, the input's, for half precision float32 where the policy is "auto".

    Raises:
        ValueError: an option is none of these.
    """

    allow_retain_graph: bool = False
    batch_chunk_size: int | None = None
    chunking_method: str | None = "auto"
    acc_policy: str = "auto"
    acc_dtype: DType | None = None

    def __post_init__(self) -> None:
        if self.acc_policy not in _POLICIES:
            raise ValueError(f"invalid acc_policy: {self.acc_policy!r}")
        if self.chunking_method not in (None, "auto") and not _pieces(self.chunking_method):
            raise ValueError(f"invalid chunking_method: {self.chunking_method!r}")
        size = self.batch_chunk_size
        if size is not None and not (isinstance(size, int) and size > 0):
            raise ValueError(f"batch_chunk_size must be positive int or None, got {size!r}")
        if self.acc_dtype not in (None, float16, bfloat16, float32, float64):
            raise ValueError("acc_dtype must be one of {None, torch.float16, torch.bfloat16, torch.float32, torch.float64}, got "
                             f"{self.acc_dtype!r}. Pass acc_dtype=None to let the op pick automatically.")

    def _adjust(self, num_batches: int, in_features: int, num_classes: int, dtype: DType, device: Device | None = None
                ) -> LinearCrossEntropyOptions:
        """With every choice made for a call.

        Raises:
            ValueError: a size and a method are given that do not agree.
        """
        half = dtype in (float16, bfloat16) and device is not None and device.type == "cpu"
        method, size = self.chunking_method, self.batch_chunk_size
        if method == "auto":
            method = None if size is not None else "aspect_ratio" if half else "aspect_ratio:2"
        rows = num_batches if size is None else min(size, num_batches)
        if method is not None:
            wanted = -(-num_batches // -(-num_classes // in_features))
            rows = min((1 << (wanted - 1).bit_length()) // _pieces(method), num_batches)
            if size is not None and size != rows:
                raise ValueError(f"batch_chunk_size (={size}) and chunking_method ('{method}') give different chunk sizes ({size} vs "
                                 f"{rows}); pass only one.")
        policy = self.acc_policy if self.acc_policy != "auto" else "accurate" if half else "compact"
        computed = self.acc_dtype or (float32 if half and self.acc_policy == "auto" else dtype)
        return dataclasses.replace(self, batch_chunk_size=max(1, rows), chunking_method=method, acc_policy=policy, acc_dtype=computed)
