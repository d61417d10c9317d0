"""Sequences of different lengths in one batch: padded, or packed step by step."""

from __future__ import annotations

from typing import Any, NamedTuple
from collections.abc import Iterable, Sequence

import torchcompat as torch
from torchcompat._tensor import Tensor

__all__ = [
    "PackedSequence", "invert_permutation", "pack_padded_sequence", "pack_sequence", "pad_packed_sequence", "pad_sequence",
    "unpack_sequence", "unpad_sequence",
]


class _Packed(NamedTuple):
    data: Any
    batch_sizes: Any
    sorted_indices: Any
    unsorted_indices: Any


class PackedSequence(_Packed):
    """The steps of sequences sorted by length, longest first: step 0 of all, step 1 of those that have one, and so on.

    Attributes:
        data: [sum of lengths, *].
        batch_sizes: how many sequences have each step, int64 on the CPU.
        sorted_indices, unsorted_indices: the order of the sequences and its inverse, or None where they came sorted.
    """

    def __new__(cls, data: Tensor, batch_sizes: Tensor | None = None, sorted_indices: Tensor | None = None,
                unsorted_indices: Tensor | None = None) -> "PackedSequence":
        if unsorted_indices is None:
            unsorted_indices = invert_permutation(sorted_indices)
        if batch_sizes is None:
            data, batch_sizes = data
        elif batch_sizes.device.type != "cpu":
            raise ValueError("batch_sizes should always be on CPU. Instances of PackedSequence should never be created manually. They "
                             "should be instantiated by functions like pack_sequence and pack_padded_sequences in nn.utils.rnn. "
                             "https://pytorch.org/docs/stable/nn.html#torch.nn.utils.rnn.pack_sequence")
        return super().__new__(cls, data, batch_sizes, sorted_indices, unsorted_indices)

    def to(self, *args: object, **kwargs: object) -> "PackedSequence":
        """Moves or casts the data, and the indices along with it."""
        data = self.data.to(*args, **kwargs)
        if data is self.data:
            return self
        indices = [None if i is None else i.to(data.device) for i in (self.sorted_indices, self.unsorted_indices)]
        return type(self)(data, self.batch_sizes, *indices)

    def double(self) -> "PackedSequence":
        """Casts the data to float64."""
        return self.to(dtype=torch.float64)

    def float(self) -> "PackedSequence":
        """Casts the data to float32."""
        return self.to(dtype=torch.float32)

    def half(self) -> "PackedSequence":
        """Casts the data to float16."""
        return self.to(dtype=torch.float16)

    def long(self) -> "PackedSequence":
        """Casts the data to int64."""
        return self.to(dtype=torch.int64)

    def short(self) -> "PackedSequence":
        """Casts the data to int16."""
        return self.to(dtype=torch.int16)

    def char(self) -> "PackedSequence":
        """Casts the data to int8."""
        return self.to(dtype=torch.int8)

    def byte(self) -> "PackedSequence":
        """Casts the data to uint8."""
        return self.to(dtype=torch.uint8)

    def int(self) -> "PackedSequence":
        """Casts the data to int32."""
        return self.to(dtype=torch.int32)

    def cpu(self) -> "PackedSequence":
        """Moves the data to the CPU."""
        return self.to("cpu")

    @property
    def is_cuda(self) -> bool:
        """Whether the data is on a CUDA device."""
        return self.data.is_cuda

    def is_pinned(self) -> bool:
        """Whether the data is in page-locked memory."""
        return self.data.is_pinned()


def invert_permutation(permutation: Tensor | None) -> Tensor | None:
    """The inverse of a permutation; None for None."""
    if permutation is None:
        return None
    inverse = torch.empty_like(permutation)
    inverse[permutation] = torch.arange(permutation.numel(), device=permutation.device)
    return inverse


def pack_padded_sequence(input: Tensor, lengths: Tensor | Sequence[int], batch_first: bool = False,
                         enforce_sorted: bool = True) -> PackedSequence:
    """Packs padded sequences.

    Args:
        input: [T, B, *], or [B, T, *] where batch_first.
        lengths: of the B sequences, a tensor on the CPU or a list.
        batch_first: see `input`.
        enforce_sorted: they are sorted by length, longest first; RuntimeError where not.
    """
    if not isinstance(lengths, torch.Tensor):
        lengths = torch.as_tensor(lengths, dtype=torch.int64, device="cpu")
    order = None
    if not enforce_sorted:
        lengths, order = torch.sort(torch.as_tensor(lengths), descending=True)
        order = order.to(input.device)
        input = input.index_select(0 if batch_first else 1, order)
    if batch_first:
        input = input.transpose(0, 1)
    if not input.numel():
        raise RuntimeError("Cannot pack empty tensors.")
    assert isinstance(lengths, torch.Tensor)
    if lengths.dim() != 1:
        raise RuntimeError(f"'lengths' argument should be a 1D CPU int64 tensor, but got {lengths.dim()}D {lengths.device.type} "
                           f"{lengths.type().rpartition('.')[2].removesuffix('Tensor')} tensor")
    sizes = lengths.tolist()
    if len(sizes) != input.size(1):
        raise RuntimeError(f"Expected `len(lengths)` to be equal to batch_size, but got {len(sizes)} (batch_size={input.size(1)})")
    if not sizes or sizes[-1] <= 0:
        raise RuntimeError("Length of all samples has to be greater than 0, but found an element in 'lengths' that is <= 0")
    if any(a < b for a, b in zip(sizes, sizes[1:])):
        raise RuntimeError("`lengths` array must be sorted in decreasing order when `enforce_sorted` is True. You can pass "
                           "`enforce_sorted=False` to pack_padded_sequence and/or pack_sequence to sidestep this requirement if you do not "
                           "need ONNX exportability.")
    counts = [sum(n > t for n in sizes) for t in range(sizes[0])]
    data = torch.cat([input[t, :count] for t, count in enumerate(counts)])
    return PackedSequence(data, torch.tensor(counts, dtype=torch.int64), order, None)


def pad_packed_sequence(sequence: PackedSequence, batch_first: bool = False, padding_value: float = 0.0,
                        total_length: int | None = None) -> tuple[Tensor, Tensor]:
    """Packed sequences as padded ones.

    Args:
        sequence: the packed sequences.
        batch_first: the result is [B, T, *] rather than [T, B, *].
        padding_value: behind the end of a sequence.
        total_length: T; that of the longest sequence where None.

    Returns:
        The padded tensor, and the lengths.
    """
    data, batch_sizes, _, inverse = sequence
    counts = batch_sizes.tolist()
    length = len(counts)
    if total_length is not None:
        if total_length < length:
            raise ValueError("Expected total_length to be at least the length of the longest sequence in input, but got "
                             f"total_length={total_length} and max sequence length being {length}")
        length = total_length
    steps = []
    for step in data.split(counts):
        short = counts[0] - step.size(0)
        steps.append(torch.cat([step, step.new_full((short, *step.shape[1:]), padding_value)]) if short else step)
    steps += [data.new_full((counts[0], *data.shape[1:]), padding_value)] * (length - len(steps))
    padded = torch.stack(steps)
    lengths = torch.tensor([sum(count > b for count in counts) for b in range(counts[0])], dtype=torch.int64)
    if batch_first:
        padded = padded.transpose(0, 1)
    if inverse is not None:
        return padded.index_select(0 if batch_first else 1, inverse), lengths[inverse.cpu()]
    return padded, lengths


def pad_sequence(sequences: Tensor | Sequence[Tensor], batch_first: bool = False, padding_value: float = 0.0,
                 padding_side: str = "right") -> Tensor:
    """Sequences [L_i, *] as one tensor [T, B, *] ([B, T, *] where batch_first), T the longest length.

    Args:
        sequences: a list of tensors, or a tensor.
        batch_first: see above.
        padding_value: where a sequence is shorter.
        padding_side: "right" or "left".

    >>> pad_sequence([torch.tensor([1, 2]), torch.tensor([3])], batch_first=True)
    tensor([[1, 2],
            [3, 0]])
    """
    if not isinstance(sequences, Iterable):
        raise RuntimeError(f"pad_sequence: Expected iterable for input sequences, but got arg of type: {type(sequences)}")
    if isinstance(sequences, torch.Tensor):
        sequences = sequences.unbind(0)
    if padding_side not in ("left", "right"):
        raise RuntimeError(f"Expected padding_side to be one of left or right, but got {padding_side}.")
    sequences = list(sequences)
    if not sequences:
        raise RuntimeError("received an empty list of sequences")
    longest = max(s.size(0) for s in sequences)
    rows = []
    for s in sequences:
        filler = s.new_full((longest - s.size(0), *s.shape[1:]), padding_value)
        rows.append(torch.cat([s, filler] if padding_side == "right" else [filler, s]))
    return torch.stack(rows, dim=0 if batch_first else 1)


def unpad_sequence(padded_sequences: Tensor, lengths: Tensor, batch_first: bool = False) -> list[Tensor]:
    """The sequences of a padded tensor, each of its own length."""
    if not batch_first:
        padded_sequences = padded_sequences.transpose(0, 1)
    return [sequence[:n] for sequence, n in zip(padded_sequences.unbind(0), lengths.tolist())]


def pack_sequence(sequences: list[Tensor], enforce_sorted: bool = True) -> PackedSequence:
    """Packs a list of sequences [L_i, *]."""
    lengths = torch.as_tensor([s.size(0) for s in sequences])
    return pack_padded_sequence(pad_sequence(sequences), lengths, enforce_sorted=enforce_sorted)


def unpack_sequence(packed_sequences: PackedSequence) -> list[Tensor]:
    """The sequences of a PackedSequence as a list."""
    padded, lengths = pad_packed_sequence(packed_sequences, batch_first=True)
    return unpad_sequence(padded, lengths, batch_first=True)
