"""BlockMask: for each row of blocks of a mask, which blocks have anything in them, and which of these are full."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import islice, product
from typing import TYPE_CHECKING, Any, NoReturn, Self

import torchcompat as torch

from ..._calls.shown import shown_in

if TYPE_CHECKING:
    from autograd_tape.annotations import Arguments, DeviceLike, Fn
    from torchcompat._tensor import Tensor

_DEFAULT_SPARSE_BLOCK_SIZE = 128
_LARGE_SPARSE_BLOCK_SIZE = 1 << 30
_SLICED = (
    "Cannot use mask_mod from a sliced BlockMask. When you slice a BlockMask using [], the mask_mod attribute is reset. You must set it "
    "from "
    "the original BlockMask's mask_mod.\n\nIncorrect usage:\n  base_mask = create_block_mask(my_mask_fn, ...)\n  sliced_mask = "
    "base_mask[:, :, "
    "block_idx]\n  sliced_mask.mask_mod = apply_offset(sliced_mask.mask_mod, offset)  # WRONG!\n\nCorrect usage:\n  base_mask = "
    "create_block_mask(my_mask_fn, ...)\n  sliced_mask = base_mask[:, :, block_idx]\n  sliced_mask.mask_mod = "
    "apply_offset(base_mask.mask_mod, offset)  # Use base_mask!")


def noop_mask(batch: Tensor, head: Tensor, token_q: Tensor, token_kv: Tensor) -> Tensor:
    """True."""
    return batch.new_ones(size=(), dtype=torch.bool, device=batch.device)


def _sliced_mask_mod_error(batch: Tensor, head: Tensor, token_q: Tensor, token_kv: Tensor) -> NoReturn:
    """Refuses: the mask is a part of another, whose positions its function knows."""
    raise RuntimeError(_SLICED)


# -- lists of blocks and 0 and 1 for each ---------------------------------------------------------------------------------------


def _ordered_to_dense(num_blocks_in_row: Tensor, col_indices: Tensor, num_cols: int) -> Tensor:
    """1 where a block is listed: int32 [..., rows, num_cols]."""
    listed = torch.arange(col_indices.shape[-1], dtype=torch.int32, device=col_indices.device) < num_blocks_in_row[..., None]
    beyond = torch.where(listed, col_indices, num_cols).long()  # what is not listed falls into a column more
    dense = torch.zeros((*col_indices.shape[:-1], num_cols + 1), dtype=torch.int32, device=col_indices.device)
    return dense.scatter_(-1, beyond, 1)[..., :num_cols].contiguous()


def _dense_to_ordered(dense_mask: Tensor) -> tuple[Tensor, Tensor]:
    """(how many blocks of each row are 1, the columns with those first), as int32."""
    dense_mask = dense_mask.to(torch.int32)
    columns = torch.argsort(dense_mask, dim=-1, descending=True, stable=True)
    return tuple([t.to(torch.int32, memory_format=torch.contiguous_format) for t in (dense_mask.sum(dim=-1), columns)])  # type: ignore[return-value]


def _transpose_ordered(num_blocks_in_row: Tensor, col_indices: Tensor) -> tuple[Tensor, Tensor]:
    """The lists by column of lists by row."""
    return _dense_to_ordered(_ordered_to_dense(num_blocks_in_row, col_indices, col_indices.shape[-1]).transpose(-2, -1))


def _adjust_num_blocks_and_indices(num_blocks: Tensor, indices: Tensor, new_num_rows: int, new_num_cols: int) -> tuple[Tensor, Tensor]:
    """The lists of the upper left corner."""
    indices = indices[:, :, :new_num_rows, :new_num_cols]
    most = num_blocks[:, :, :new_num_rows].clamp(max=new_num_cols)
    return torch.sum(indices < most[..., None], dim=-1).to(torch.int32), indices


def _compute_dq_write_order_from_block_mask(block_mask: BlockMask, dq_kv_order: bool | None = False) -> tuple[Tensor, Tensor | None]:
    """For each block, as listed by column, how many of its row's blocks come before it in the order of columns, or from the last."""
    if block_mask.q_num_blocks is None or block_mask.q_indices is None:
        raise ValueError("BlockMask must have q_num_blocks and q_indices to compute dq_write_order")
    lists = (block_mask.kv_indices, block_mask.q_indices, block_mask.full_kv_indices, block_mask.full_q_indices)
    lead = torch.broadcast_shapes(*[t.shape[:2] for t in lists if t is not None])
    rows, columns = block_mask.kv_indices.shape[-2], block_mask.q_indices.shape[-2]
    dense = _ordered_to_dense(block_mask.kv_num_blocks, block_mask.kv_indices, columns)
    if block_mask.full_kv_num_blocks is not None and block_mask.full_kv_indices is not None:
        dense = dense | _ordered_to_dense(block_mask.full_kv_num_blocks, block_mask.full_kv_indices, columns)
    dense = dense.expand(*lead, rows, columns)
    upto = dense.cumsum(dim=-1)
    rank = (upto[..., -1:] - 1 - (upto - dense) if dq_kv_order else upto - dense).to(torch.int32).transpose(-2, -1)

    def at(listed: Tensor | None) -> Tensor | None:
        return None if listed is None else rank.gather(-1, listed.long().clamp(0, rows - 1).expand(*lead, -1, -1))

    order = at(block_mask.q_indices)
    assert order is not None
    return order, at(block_mask.full_q_indices) if block_mask.full_kv_num_blocks is not None else None


class BlockMask:
    """A mask [..., L, S] by its blocks of BLOCK_SIZE. Rows are blocks of queries, and columns of keys.

    Args:
        seq_lengths: (L, S).
        kv_num_blocks, kv_indices: how many partial blocks a row has [..., rows], and their columns, what follows those meaning nothing
            [..., rows, columns].
        full_kv_num_blocks, full_kv_indices: the same of full blocks.
        q_num_blocks, q_indices, full_q_num_blocks, full_q_indices: the same by column.
        mask_mod: which positions count within partial blocks.
        dq_write_order, dq_write_order_full, dq_kv_order, dq_kv_order_spt: in which order blocks add to the gradient of queries.

    Raises:
        RuntimeError: there are no rows and columns.
        AssertionError: one of a pair is missing.
    """

    seq_lengths: tuple[int, int]
    kv_num_blocks: Tensor
    kv_indices: Tensor
    full_kv_num_blocks: Tensor | None
    full_kv_indices: Tensor | None
    q_num_blocks: Tensor | None
    q_indices: Tensor | None
    full_q_num_blocks: Tensor | None
    full_q_indices: Tensor | None
    dq_write_order: Tensor | None
    dq_write_order_full: Tensor | None
    dq_kv_order: Tensor | None
    dq_kv_order_spt: bool | None
    BLOCK_SIZE: tuple[int, int]
    mask_mod: Fn

    _TENSOR_ATTRS = ["kv_num_blocks", "kv_indices", "full_kv_num_blocks", "full_kv_indices", "q_num_blocks", "q_indices",
                     "full_q_num_blocks", "full_q_indices", "dq_write_order", "dq_write_order_full", "dq_kv_order"]
    _CONTEXT_ATTRS = ["seq_lengths", "BLOCK_SIZE", "mask_mod", "dq_kv_order_spt"]

    def __init__(self, seq_lengths: tuple[int, int], kv_num_blocks: Tensor, kv_indices: Tensor, full_kv_num_blocks: Tensor | None,
                 full_kv_indices: Tensor | None, q_num_blocks: Tensor | None, q_indices: Tensor | None, full_q_num_blocks: Tensor | None,
                 full_q_indices: Tensor | None,
                 BLOCK_SIZE: tuple[int, int] = (_DEFAULT_SPARSE_BLOCK_SIZE, _DEFAULT_SPARSE_BLOCK_SIZE), mask_mod: Fn = noop_mask, *,
                 dq_write_order: Tensor | None = None, dq_write_order_full: Tensor | None = None, dq_kv_order: Tensor | None = None,
                 dq_kv_order_spt: bool | None = None) -> None:
        if kv_indices.dim() < 2:
            raise RuntimeError("BlockMask must have at least 2 dimensions")
        if kv_num_blocks is None:
            raise AssertionError("kv_num_blocks must be provided")
        for side, count, columns in (("kv", full_kv_num_blocks, full_kv_indices), ("q", full_q_num_blocks, full_q_indices)):
            if (count is None) != (columns is None):
                raise AssertionError(f"full_{side}_num_blocks and full_{side}_indices must be both provided or omitted")
        self.seq_lengths = seq_lengths
        self.kv_num_blocks, self.kv_indices = kv_num_blocks, kv_indices
        self.full_kv_num_blocks, self.full_kv_indices = full_kv_num_blocks, full_kv_indices
        self.q_num_blocks, self.q_indices = q_num_blocks, q_indices
        self.full_q_num_blocks, self.full_q_indices = full_q_num_blocks, full_q_indices
        if dq_write_order_full is not None and dq_write_order is None:
            raise ValueError("dq_write_order_full requires dq_write_order")
        self.dq_write_order, self.dq_write_order_full = dq_write_order, dq_write_order_full
        self.dq_kv_order, self.dq_kv_order_spt = dq_kv_order, dq_kv_order_spt
        self.BLOCK_SIZE, self.mask_mod = BLOCK_SIZE, mask_mod

    @classmethod
    def from_kv_blocks(cls, kv_num_blocks: Tensor, kv_indices: Tensor, full_kv_num_blocks: Tensor | None = None,
                       full_kv_indices: Tensor | None = None, BLOCK_SIZE: int | tuple[int, int] = _DEFAULT_SPARSE_BLOCK_SIZE,
                       mask_mod: Fn | None = None, seq_lengths: tuple[int, int] | None = None, compute_q_blocks: bool = True, *,
                       dq_write_order: Tensor | None = None, dq_write_order_full: Tensor | None = None,
                       dq_kv_order: Tensor | bool | None = None) -> Self:
        """The mask of these lists by row; those by column are made of them if `compute_q_blocks`.

        Args:
            seq_lengths: (L, S), those of whole blocks where None.

        Raises:
            RuntimeError: there are no rows and columns.
            AssertionError: one of the full pair is missing.
        """
        if kv_indices.dim() < 2:
            raise RuntimeError("BlockMask must have at least 2 dimensions")
        if (full_kv_num_blocks is None) != (full_kv_indices is None):
            raise AssertionError("full_kv_num_blocks and full_kv_indices must be both provided or omitted")
        q_num_blocks, q_indices, full_q_num_blocks, full_q_indices = None, None, None, None
        if compute_q_blocks and kv_num_blocks is not None:  # which is refused below
            q_num_blocks, q_indices = _transpose_ordered(kv_num_blocks, kv_indices)
            if full_kv_num_blocks is not None and full_kv_indices is not None:
                full_q_num_blocks, full_q_indices = _transpose_ordered(full_kv_num_blocks, full_kv_indices)
        rows, columns = (BLOCK_SIZE, BLOCK_SIZE) if isinstance(BLOCK_SIZE, int) else BLOCK_SIZE
        if seq_lengths is None:
            seq_lengths = (kv_indices.shape[-2] * rows, kv_indices.shape[-1] * columns)
        if not isinstance(dq_kv_order, (bool, torch.Tensor, type(None))):
            raise ValueError("dq_kv_order must be a bool, Tensor, or None")
        return cls(seq_lengths, kv_num_blocks, kv_indices, full_kv_num_blocks, full_kv_indices, q_num_blocks, q_indices, full_q_num_blocks,
                   full_q_indices, BLOCK_SIZE=BLOCK_SIZE if isinstance(BLOCK_SIZE, tuple) else (rows, columns),
                   mask_mod=noop_mask if mask_mod is None else mask_mod,
                   dq_write_order=dq_write_order, dq_write_order_full=dq_write_order_full,
                   dq_kv_order=None if isinstance(dq_kv_order, bool) else dq_kv_order,
                   dq_kv_order_spt=dq_kv_order if isinstance(dq_kv_order, bool) else None)

    def _dq_kv_order(self) -> Tensor | bool | None:
        return self.dq_kv_order_spt if self.dq_kv_order is None else self.dq_kv_order

    def _order_writes(self) -> None:
        """Finds the order in which blocks add to the gradient of queries."""
        self.dq_write_order, self.dq_write_order_full = _compute_dq_write_order_from_block_mask(self, self.dq_kv_order_spt)

    def as_tuple(self, flatten: bool = True) -> tuple[Any, ...]:
        """All attributes, lengths and sizes of blocks one by one if `flatten`."""
        lengths, sizes = (self.seq_lengths, self.BLOCK_SIZE) if flatten else ((self.seq_lengths,), (self.BLOCK_SIZE,))
        return (*lengths, *[getattr(self, name) for name in self._TENSOR_ATTRS], self.dq_kv_order_spt, *sizes, self.mask_mod)

    # -- what it tells ----------------------------------------------------------------------------------------------------------

    @property
    def shape(self) -> tuple[int, ...]:
        """That of the mask."""
        return (*self.kv_indices.shape[:-2], *self.seq_lengths)

    def numel(self) -> int:
        """The number of its positions."""
        return math.prod(self.shape)

    def sparsity(self) -> float:
        """Which part of the positions lies in blocks that are left out, in percent."""
        count = sum([int(n.sum()) for n in (self.kv_num_blocks, self.full_kv_num_blocks) if n is not None])
        return 100 * (1 - count * self.BLOCK_SIZE[0] * self.BLOCK_SIZE[1] / self.numel())

    def to_dense(self) -> Tensor:
        """1 for each block that has anything in it: int32 [..., rows, columns]."""
        dense = _ordered_to_dense(self.kv_num_blocks, self.kv_indices, self.kv_indices.shape[-1])
        if self.full_kv_num_blocks is None or self.full_kv_indices is None:
            return dense
        return dense | _ordered_to_dense(self.full_kv_num_blocks, self.full_kv_indices, self.full_kv_indices.shape[-1])

    def to_string(self, grid_size: int | tuple[int, int] = (20, 20), limit: int = 4) -> str:
        """A picture of each batch and head, up to `limit`: two characters for some blocks, so that it has at most `grid_size`."""
        dense = self.to_dense()
        *lead, rows, columns = dense.shape
        most = (grid_size, grid_size) if isinstance(grid_size, int) else grid_size
        step, across = [max(1, -(-n // m)) if m > 0 else 1 for n, m in zip((rows, columns), most)]

        def pictures() -> Iterator[str]:
            for place in product(*[range(n) for n in lead]):
                picture = f"{place}\n"
                for r in range(0, rows, step):
                    parts = [dense[place][r:r + step, c:c + across].float().mean().item() for c in range(0, columns, across)]
                    picture += "".join([("█" if p == 1 else "░" if p else " ") * 2 for p in parts]) + "\n"
                yield picture

        found = list(islice(pictures(), limit))
        if math.prod(lead) > limit:
            found += ["...", "To print out more, set BlockMask.to_string(limit=N)",
                      "You can also index (BlockMask[batch, head]) to choose a specific batch or head"]
        return "\n".join(found)

    def __str__(self) -> str:
        return f"BlockMask(shape={self.shape}, sparsity={self.sparsity():.2f}%, \n{self.to_string().strip()}\n)"

    def __repr__(self) -> str:
        shapes = "".join([f"    {name}={None if (t := getattr(self, name)) is None else t.shape},\n" for name in self._TENSOR_ATTRS[:8]])
        return (f"BlockMask(\n{shapes}    BLOCK_SIZE={self.BLOCK_SIZE},\n    shape={self.shape},\n    sparsity={self.sparsity():.2f}%,\n"
                f"    mask_mod={getattr(self.mask_mod, '__name__', self.mask_mod)}\n)")

    # -- others made of it --------------------------------------------------------------------------------------------------------

    def _derived(self, lists: tuple[Tensor, Tensor, Tensor | None, Tensor | None], mask_mod: Fn, seq_lengths: tuple[int, int]) -> BlockMask:
        made = BlockMask.from_kv_blocks(*lists, BLOCK_SIZE=self.BLOCK_SIZE, mask_mod=mask_mod, seq_lengths=seq_lengths,
                                        compute_q_blocks=self.q_indices is not None)
        made.dq_kv_order_spt = self.dq_kv_order_spt
        if self.dq_write_order is not None:
            made._order_writes()
        return made

    def _without_tensor_order(self, what: str) -> None:
        if self.dq_kv_order is not None:
            raise NotImplementedError(f"{what} BlockMask with tensor dq_kv_order is not supported yet. Construct a new BlockMask with "
                                      f"matching "
                                      "precomputed dq_write_order metadata.")

    def __getitem__(self, index: Any) -> BlockMask:
        """The mask of some batches, heads and rows of blocks. Dimensions stay, and its function must be set anew."""
        self._without_tensor_order("Slicing")
        given = index if isinstance(index, tuple) else (index,)
        places: list[Any] = []
        for i, n in zip((*given, slice(None), slice(None), slice(None)), self.kv_num_blocks.shape[:3]):
            places.append((slice(i + n, i + n + 1) if -n <= i < 0 else slice(i, i + 1)) if isinstance(i, int) else i)
        if len(places) < 3:
            raise ValueError("zip() argument 2 is shorter than argument 1")
        where = tuple(places)
        count, listed = [None if t is None else t[where] for t in (self.full_kv_num_blocks, self.full_kv_indices)]
        return self._derived((self.kv_num_blocks[where], self.kv_indices[where], count, listed), _sliced_mask_mod_error, self.seq_lengths)

    def _adjust(self, new_q_len: int, new_kv_len: int) -> BlockMask:
        """The upper left corner of this mask."""
        self._without_tensor_order("Adjusting")
        rows, columns = -(-new_q_len // self.BLOCK_SIZE[0]), -(-new_kv_len // self.BLOCK_SIZE[1])
        count, listed = self.full_kv_num_blocks, self.full_kv_indices
        if count is not None and listed is not None:
            count, listed = _adjust_num_blocks_and_indices(count, listed, rows, columns)
        partial = _adjust_num_blocks_and_indices(self.kv_num_blocks, self.kv_indices, rows, columns)
        return self._derived((*partial, count, listed), self.mask_mod, (new_q_len, new_kv_len))

    def to(self, device: DeviceLike) -> BlockMask:
        """The mask with its tensors on a device."""
        moved: dict[str, Any] = {name: None if (t := getattr(self, name)) is None else t.to(device) for name in self._TENSOR_ATTRS}
        return BlockMask(seq_lengths=self.seq_lengths, **moved, BLOCK_SIZE=self.BLOCK_SIZE, mask_mod=self.mask_mod,
                         dq_kv_order_spt=self.dq_kv_order_spt)

    def _flatten(self) -> tuple[Arguments, Arguments]:
        """(its tensors, everything else), as containers of trees are taken apart; tensors that its function refers to stay there."""
        missing = tuple([name for name in self._TENSOR_ATTRS if getattr(self, name) is None])
        return (tuple([getattr(self, name) for name in self._TENSOR_ATTRS if name not in missing]),
                (*[getattr(self, name) for name in self._CONTEXT_ATTRS], missing))

    def _flatten_with_keys(self) -> tuple[Arguments, Arguments]:
        """`_flatten` with the name of each tensor."""
        from ...utils._pytree import GetAttrKey

        leaves, context = self._flatten()
        names = [name for name in self._TENSOR_ATTRS if name not in context[-1]]
        return tuple(zip(map(GetAttrKey, names), leaves)), context

    @classmethod
    def _unflatten(cls, leaves: Arguments, context: Arguments) -> Self:
        """The mask of what `_flatten` gave."""
        given = dict(zip(cls._CONTEXT_ATTRS, context))
        tensors = dict(zip([name for name in cls._TENSOR_ATTRS if name not in context[-1]], leaves))
        return cls(**{**dict.fromkeys(context[-1]), **tensors, **given})


shown_in("torch.nn.attention.flex_attention", BlockMask, noop_mask, _sliced_mask_mod_error)
