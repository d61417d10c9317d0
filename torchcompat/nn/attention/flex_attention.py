"""Attention whose scores a function changes, under masks that a function says, kept as blocks.

Functions of one score (`score_mod`) and of one position (`mask_mod`) are mapped over batches, heads, queries and keys; the matrix of all
scores is made, as torch makes it where nothing is compiled. Dong et al., "Flex Attention" (arXiv:2412.05496).

>>> import torchcompat as torch
>>> from torchcompat.nn.attention.flex_attention import create_block_mask
>>> create_block_mask(lambda b, h, q, kv: q >= kv, None, None, 256, 256)
BlockMask(
    kv_num_blocks=torch.Size([1, 1, 2]),
    kv_indices=torch.Size([1, 1, 2, 2]),
    full_kv_num_blocks=torch.Size([1, 1, 2]),
    full_kv_indices=torch.Size([1, 1, 2, 2]),
    q_num_blocks=torch.Size([1, 1, 2]),
    q_indices=torch.Size([1, 1, 2, 2]),
    full_q_num_blocks=torch.Size([1, 1, 2]),
    full_q_indices=torch.Size([1, 1, 2, 2]),
    BLOCK_SIZE=(128, 128),
    shape=(1, 1, 256, 256),
    sparsity=25.00%,
    mask_mod=<lambda>
)
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypedDict, get_args

import torchcompat as torch
from torchcompat._tensor import Tensor

from autograd_tape import warned
from ..._calls.above import above
from ..._calls.absent import absences as _absences
from ._block_mask import (
    _DEFAULT_SPARSE_BLOCK_SIZE as _DEFAULT_SPARSE_BLOCK_SIZE, _LARGE_SPARSE_BLOCK_SIZE, BlockMask,
    _adjust_num_blocks_and_indices as _adjust_num_blocks_and_indices,
    _compute_dq_write_order_from_block_mask as _compute_dq_write_order_from_block_mask,
    _dense_to_ordered, _ordered_to_dense as _ordered_to_dense, _sliced_mask_mod_error, _transpose_ordered as _transpose_ordered, noop_mask,
)
from ._utils import _validate_sdpa_input

if TYPE_CHECKING:
    from autograd_tape.annotations import DeviceLike, Fn

__all__ = ["BlockMask", "flex_attention", "AuxOutput", "AuxRequest", "FlexKernelOptions", "create_block_mask", "create_mask", "or_masks",
           "and_masks", "noop_mask"]
_absences(__name__)

_score_mod_signature = Callable[[Tensor, Tensor, Tensor, Tensor, Tensor], Tensor]
_mask_mod_signature = Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]
_Backend = Literal["AUTO", "TRITON", "FLASH", "TRITON_DECODE"]
_FLEX_ATTENTION_DISABLE_COMPILE_DEBUG = False
"""Whether nothing is said of `torch.compile`."""
_WARNINGS_SHOWN: set[str] = set()


class FlexKernelOptions(TypedDict, total=False):
    """Options of kernels for GPUs: checked, and without effect here."""

    num_warps: int
    num_stages: int
    BLOCK_M: int
    BLOCK_N: int
    BLOCK_M1: int
    BLOCK_N1: int
    BLOCK_M2: int
    BLOCK_N2: int
    PRESCALE_QK: bool
    ROWS_GUARANTEED_SAFE: bool
    BLOCKS_ARE_CONTIGUOUS: bool
    WRITE_DQ: bool
    FORCE_USE_FLEX_ATTENTION: bool
    USE_TMA: bool
    kpack: int
    matrix_instr_nonkdim: int
    waves_per_eu: int
    BACKEND: _Backend


class AuxRequest(NamedTuple):
    """What to return beside the output: the logarithm of each query's sum of exponentials, its greatest score."""

    lse: bool = False
    max_scores: bool = False


class AuxOutput(NamedTuple):
    """What was returned beside the output; None where it was not asked for."""

    lse: Tensor | None = None
    max_scores: Tensor | None = None


def _warn_once(warning_id: str, message: str, category: type[Warning] = UserWarning) -> None:
    if warning_id not in _WARNINGS_SHOWN:
        _WARNINGS_SHOWN.add(warning_id)
        warned.warn(message, category)


# -- functions of scores and positions ----------------------------------------------------------------------------------------


def _identity(score: Tensor, batch: Tensor, head: Tensor, token_q: Tensor, token_kv: Tensor) -> Tensor:
    """The score."""
    return score


def _positional(function: Fn) -> int:
    """How many arguments a function must be given by position: 4 of masks, 5 of scores."""
    from inspect import Parameter, signature

    code = getattr(function, "__code__", None)
    count = (sum([p.default is Parameter.empty for p in signature(function).parameters.values()]) if code is None
             else code.co_argcount - len(getattr(function, "__defaults__", None) or ()))
    if count not in (4, 5):
        raise AssertionError(f"Expected 4 or 5 positional args, got {count}")
    return count


def _vmap_for_bhqkv(fn: Fn, prefix: tuple[int | None, ...], suffix: tuple[int | None, ...] = (), out_dims: Any = 0,
                    group_dim: bool = False) -> Fn:
    """A function of one position as one of all: mapped over keys, queries, heads (twice for groups of them) and batches."""
    for place in (3, 2, 1, *[1] * group_dim, 0):
        fn = above.vmap(fn, in_dims=(*prefix, *[0 if i == place else None for i in range(4)], *suffix), out_dims=out_dims)
    return fn


def _folded(masks: tuple[_mask_mod_signature, ...], name: str, start: str, join: Fn) -> _mask_mod_signature:
    if not all([callable(mask) for mask in masks]):
        raise RuntimeError(f"All inputs should be callable mask_mods: {masks}")

    def folded(b: Tensor, h: Tensor, q_idx: Tensor, kv_idx: Tensor) -> Tensor:
        result = getattr(b, start)((), dtype=torch.bool)
        for mask in masks:
            result = join(result, mask(b, h, q_idx, kv_idx))
        return result

    folded.__name__ = folded.__qualname__ = name
    return folded


def or_masks(*mask_mods: _mask_mod_signature) -> _mask_mod_signature:
    """The mask where any of these is. RuntimeError of what cannot be called."""
    return _folded(mask_mods, "or_mask", "new_zeros", lambda x, y: x | y)


def and_masks(*mask_mods: _mask_mod_signature) -> _mask_mod_signature:
    """The mask where all of these are. RuntimeError of what cannot be called."""
    return _folded(mask_mods, "and_mask", "new_ones", lambda x, y: x & y)


# -- masks --------------------------------------------------------------------------------------------------------------------


def _places(sizes: Sequence[int], device: DeviceLike | None) -> list[Tensor]:
    return [torch.arange(n, device=device) for n in sizes]


def create_mask(mod_fn: _score_mod_signature | _mask_mod_signature, B: int | None, H: int | None, Q_LEN: int, KV_LEN: int,
                device: DeviceLike | None = None) -> Tensor:
    """The mask [B, H, Q_LEN, KV_LEN] of bools that a function says: of positions, or of scores, where it does not give -inf.

    Raises:
        AssertionError: it does not take four or five arguments.
    """
    sizes = (1 if B is None else B, 1 if H is None else H, Q_LEN, KV_LEN)
    places = _places(sizes, device)
    if _positional(mod_fn) == 4:
        return _vmap_for_bhqkv(mod_fn, prefix=())(*places)
    return ~torch.isneginf(_vmap_for_bhqkv(mod_fn, prefix=(0,))(torch.zeros(sizes, device=device), *places))


def _broadcast_to_dim(x: Tensor, dim: int) -> Tensor:
    """With dimensions of size one in front, up to `dim`."""
    return x[(None,) * (dim - x.dim())] if x.dim() < dim else x


def _round_up_to_multiple(x: int, multiple: int) -> int:
    return -(-x // multiple) * multiple


def _convert_mask_to_block_mask(mask: Tensor, Q_BLOCK_SIZE: int = _DEFAULT_SPARSE_BLOCK_SIZE,
        KV_BLOCK_SIZE: int = _DEFAULT_SPARSE_BLOCK_SIZE,
                                separate_full_blocks: bool = False) -> tuple[Tensor, Tensor | None]:
    """(blocks with anything in them, blocks that are full, which the others then are without, or None) of a mask, as int8."""
    if mask.dtype != torch.bool:
        raise AssertionError(f"mask.dtype must be torch.bool, got {mask.dtype}")
    mask = _broadcast_to_dim(mask, 4)
    batch, heads, rows, columns = mask.shape
    missing = (0, -columns % KV_BLOCK_SIZE, 0, -rows % Q_BLOCK_SIZE)
    blocks = torch.nn.functional.pad(mask, missing).unflatten(3, (-1, KV_BLOCK_SIZE)).unflatten(2, (-1, Q_BLOCK_SIZE))
    count = blocks.sum((3, 5))
    if not separate_full_blocks:
        return (count > 0).to(torch.int8), None
    full = count == Q_BLOCK_SIZE * KV_BLOCK_SIZE
    return ((count > 0) & ~full).to(torch.int8), full.to(torch.int8)


def _convert_block_mask_to_mask(block_mask: Tensor, KV_BLOCK_SIZE: int = _DEFAULT_SPARSE_BLOCK_SIZE,
                                Q_BLOCK_SIZE: int = _DEFAULT_SPARSE_BLOCK_SIZE) -> Tensor:
    """Each element [B, H, rows, columns] as a block."""
    if block_mask.dim() != 4:
        raise AssertionError(f"block_mask.dim() must be 4, got {block_mask.dim()}")
    return block_mask.repeat_interleave(Q_BLOCK_SIZE, 2).repeat_interleave(KV_BLOCK_SIZE, 3)


def _create_sparse_block_from_block_mask(block_mask: tuple[Tensor, Tensor | None], mask_mod: _mask_mod_signature | None,
                                         seq_lengths: tuple[int, int], Q_BLOCK_SIZE: int = _DEFAULT_SPARSE_BLOCK_SIZE,
                                         KV_BLOCK_SIZE: int = _DEFAULT_SPARSE_BLOCK_SIZE) -> BlockMask:
    """The BlockMask of (partial blocks, full blocks), given as 0 and 1."""
    partial, full = block_mask
    count, listed = (None, None) if full is None else _dense_to_ordered(full)
    return BlockMask.from_kv_blocks(*_dense_to_ordered(partial), count, listed, BLOCK_SIZE=(Q_BLOCK_SIZE, KV_BLOCK_SIZE),
                                    mask_mod=mask_mod, seq_lengths=seq_lengths)


def create_block_mask(mask_mod: _mask_mod_signature, B: int | None, H: int | None, Q_LEN: int, KV_LEN: int,
                      device: DeviceLike | None = None, BLOCK_SIZE: int | tuple[int, int] = _DEFAULT_SPARSE_BLOCK_SIZE,
                      _compile: bool = False, separate_full_blocks: bool = True, compute_dq_write_order: bool = False,
                      dq_kv_order: bool = True) -> BlockMask:
    """The blocks of the mask that a function of (batch, head, query, key) says.

    Args:
        B, H: for how many batches and heads it differs, one where None.
        BLOCK_SIZE: of queries and keys, or (of queries, of keys).
        separate_full_blocks: full blocks are listed apart.
        compute_dq_write_order: with the order in which blocks add to the gradient of queries, by `dq_kv_order` from the last key.

    Raises:
        AssertionError: the function does not take four arguments, or gives no bools.
    """
    if _positional(mask_mod) != 4:
        raise AssertionError(f"create-block_mask requires a mask_mod function! Got {mask_mod}")
    if _compile:
        warned.warn("_compile flag on create_block_mask was originally added to work around a torch.compile limitation. That "
                    "limitation has "
                    "since been addressed. So, to compile create_block_mask, we suggest doing torch.compile(create_block_mask). This "
                    "still "
                    "works for now, but will be removed in the future.", DeprecationWarning)
    if not isinstance(dq_kv_order, bool):
        raise ValueError("dq_kv_order must be a bool when using create_block_mask")
    rows, columns = (BLOCK_SIZE, BLOCK_SIZE) if isinstance(BLOCK_SIZE, int) else BLOCK_SIZE
    blocks = _convert_mask_to_block_mask(create_mask(mask_mod, B, H, Q_LEN, KV_LEN, device), rows, columns, separate_full_blocks)
    block_mask = _create_sparse_block_from_block_mask(blocks, mask_mod, (Q_LEN, KV_LEN), rows, columns)
    if compute_dq_write_order:
        block_mask.dq_kv_order_spt = dq_kv_order
        block_mask._order_writes()
    return block_mask


def _create_empty_block_mask(query: Tensor, key: Tensor) -> BlockMask:
    """One block for everything, whatever the lengths."""
    return BlockMask.from_kv_blocks(torch.ones((1, 1, 1), dtype=torch.int32, device=query.device),
                                    torch.zeros((1, 1, 1, 1), dtype=torch.int32, device=query.device), BLOCK_SIZE=_LARGE_SPARSE_BLOCK_SIZE,
                                    seq_lengths=(1, 1))


# -- attention ----------------------------------------------------------------------------------------------------------------


def _check_options(options: FlexKernelOptions | None, return_aux: AuxRequest | None) -> None:
    """Refuses options that torch's kernels refuse, and what it does not return on a CPU."""
    given: dict[str, Any] = {} if options is None else dict(options)
    if "BACKEND" in given and given.get("FORCE_USE_FLEX_ATTENTION", False):
        raise RuntimeError("BACKEND cannot be combined with legacy FORCE_USE_FLEX_ATTENTION. BACKEND supersedes the legacy knob; please "
                           "drop "
                           "FORCE_USE_FLEX_ATTENTION and only specify the desired BACKEND.")
    if "BACKEND" in given and given["BACKEND"] not in get_args(_Backend):
        raise ValueError(f"Invalid BACKEND value '{given['BACKEND']}'. Must be one of {get_args(_Backend)}")
    for own in ("OUTPUT_LOGSUMEXP", "OUTPUT_MAX"):
        if own in given:
            raise AssertionError(f"{own} must not be in kernel_options")
    if return_aux is not None and return_aux.max_scores:
        if given.get("BACKEND") == "FLASH":
            raise NotImplementedError("Returning max scores is not supported with BACKEND='FLASH'. Use return_aux=AuxRequest(lse=True) "
                                      "or omit "
                                      "max_scores.")
        raise NotImplementedError("Returning max scores is not supported on CPU/MPS.")


def _check_tensors(query: Tensor, key: Tensor, value: Tensor, enable_gqa: bool, block_mask: BlockMask | None) -> None:
    _validate_sdpa_input(query, key, value, allow_lowp_kv=True)
    if query.size(-1) != key.size(-1):
        raise ValueError("Expect query and key/value to have the same embedding dimension "
                         f"but got E={query.size(-1)} and E={key.size(-1)}.")
    if query.device.type != "cpu":
        raise ValueError("FlexAttention is only supported on CUDA, CPU, HPU, or MPS devices. "
                         f"Found input tensors on {query.device.type} device.")
    if query.requires_grad or key.requires_grad or value.requires_grad:
        raise NotImplementedError("FlexAttention does not support backward on CPU. Please set the input requires_grad to False or use "
                                  "another "
                                  "device.")
    if not query.dim() == key.dim() == value.dim() == 4:
        raise NotImplementedError("NYI: query, key, and value must be 4D tensors")
    heads, others = query.size(1), key.size(1)
    if not enable_gqa and heads != others:
        raise ValueError(f"Expect query and key/value to have the same number of heads but got Hq={heads} and Hkv={others}. "
                         "Try setting enable_gqa=True for GQA.")
    if enable_gqa and heads % others:
        raise ValueError(f"Expect number of query heads to be a multiple of kv heads for GQA but got Hq={heads} and Hkv={others}.")
    if query.size(0) != key.size(0):
        sizes = f"Bq={query.size(0)}"
        if block_mask is None:
            raise ValueError("Expect query and key/value to have the same batch size, or non-none block_mask, "
                             f"but got block_mask=None, {sizes}, and Bkv={key.size(0)}.")
        if block_mask.kv_num_blocks.size(0) != query.size(0):
            raise ValueError("Expect query and key/value to have the same batch size, or block_mask and query to have the same batch size, "
                             f"but got {sizes}, Bkv={key.size(0)}, B_block_mask={block_mask.kv_num_blocks.size(0)}.")


def _check_fits(block_mask: BlockMask, queries: int, keys: int) -> None:
    """Refuses a mask of other lengths than the tensors have."""
    if block_mask.mask_mod is _sliced_mask_mod_error:
        raise RuntimeError("Cannot use mask_mod from a sliced BlockMask")
    if tuple(block_mask.BLOCK_SIZE) == (_LARGE_SPARSE_BLOCK_SIZE, _LARGE_SPARSE_BLOCK_SIZE):
        return
    rows, columns = block_mask.shape[-2:]
    says = f"block_mask was created for block_mask.shape={block_mask.shape} but got q_len={queries} and kv_len={keys}. "
    if queries > rows or keys > columns:
        raise ValueError(says + "As the block mask was created for a smaller length than you're using it for, you likely need to create "
                                "a new "
                         "block mask.")
    if (queries, keys) != (rows, columns):
        raise ValueError(says + "As the block mask was created for a larger length than you're using it for, you can either 1. create a "
                                "new "
                         "block mask with the correct length, or 2. 'adjust' the existing block mask to the correct length by calling "
                         "block_mask._adjust(q_len, kv_len). This essentially 'crops' the block mask to the upper left corner, which "
                         "does not "
                         "work for all mask_mods!")


def _laid_out_like(out: Tensor, query: Tensor) -> Tensor:
    """With the dimensions in memory in the order of the query's strides, the last one innermost."""
    strides = query.stride()
    order = sorted(range(out.dim() - 1), key=lambda d: (strides[d], d))
    wanted, step = [1] * out.dim(), out.size(-1)
    for d in order:
        wanted[d], step = step, step * out.size(d)
    return out if tuple(wanted) == out.stride() else out.new_empty_strided(out.shape, wanted).copy_(out)


def _attend(query: Tensor, key: Tensor, value: Tensor, score_mod: _score_mod_signature | None, mask_mod: _mask_mod_signature,
            scale: float) -> tuple[Tensor, Tensor]:
    """(output, logarithms of the sums of exponentials), computed in float32, or float64 for queries of that."""
    groups = query.size(1) // key.size(1) if key.size(1) else 1
    key, value = [torch.repeat_interleave(t, groups, dim=1) for t in (key, value)]
    if key.size(0) not in (1, query.size(0)):
        raise RuntimeError(f"Bq and Bkv must broadcast. Got Bq={query.size(0)} and Bkv={key.size(0)}")
    key, value = [t.expand(query.size(0), -1, -1, -1) for t in (key, value)]
    dtype = torch.float64 if query.dtype == torch.float64 else torch.float32
    scores = (query.to(dtype) @ key.to(dtype).transpose(-2, -1)) * scale
    places = _places(scores.shape, scores.device)
    if score_mod is not None:
        changed = _vmap_for_bhqkv(score_mod, prefix=(0,))(scores, *places)
    else:
        changed = scores
    if mask_mod is not noop_mask:
        changed = torch.where(_vmap_for_bhqkv(mask_mod, prefix=())(*places), changed, torch.tensor(-math.inf, dtype=dtype))
    elif score_mod is not None:
        changed = changed.to(torch.promote_types(changed.dtype, dtype))
    lse = changed.logsumexp(dim=-1)
    weights = torch._safe_softmax(changed, dim=-1)
    return _laid_out_like(weights.to(query.dtype) @ value.to(query.dtype), query), lse / math.log(2) * math.log(2)


def flex_attention(query: Tensor, key: Tensor, value: Tensor, score_mod: _score_mod_signature | None = None,
                   block_mask: BlockMask | None = None, scale: float | None = None, enable_gqa: bool = False, return_lse: bool = False,
                   kernel_options: FlexKernelOptions | None = None, *,
                   return_aux: AuxRequest | None = None) -> Tensor | tuple[Tensor, Tensor | None] | tuple[Tensor, AuxOutput]:
    """softmax(score_mod(scale * query key^T), under `block_mask`) value. As torch on a CPU, it takes no gradient of its tensors, but of
    those that `score_mod` refers to.

    Args:
        query: [B, Hq, L, E]; key [B, Hkv, S, E]; value [B, Hkv, S, Ev].
        score_mod: from a score and its (batch, head, query, key) to another, all tensors without dimensions.
        block_mask: of `create_block_mask`; its function says what counts.
        scale: 1 / sqrt(E) unless given.
        enable_gqa: heads of queries share the fewer heads of keys.
        return_lse, return_aux: also return the logarithms [B, Hq, L] of the sums of exponentials.
        kernel_options: checked, and without effect.

    Raises:
        ValueError: sizes, heads or lengths of the mask do not go together.
        NotImplementedError: tensors that need gradients, or of other than four dimensions; greatest scores.
    """
    _check_tensors(query, key, value, enable_gqa, block_mask)
    block_mask = _create_empty_block_mask(query, key) if block_mask is None else block_mask
    _check_fits(block_mask, query.size(-2), key.size(-2))
    if query.device != block_mask.kv_num_blocks.device:
        raise RuntimeError(f"Expect q/k/v and block_mask to be on the same device but got {query.device} and "
                           f"{block_mask.kv_num_blocks.device}.")
    if return_lse and return_aux is not None:
        raise ValueError("Cannot specify both return_lse and return_aux. return_lse is deprecated, please use "
                         "return_aux=AuxRequest(lse=True) "
                         "instead.")
    if return_lse:
        _warn_once("deprecated_return_lse", "return_lse is deprecated and will be removed in v2.10. Please use "
                   "return_aux=AuxRequest(lse=True) instead.", FutureWarning)
    _check_options(kernel_options, return_aux)
    if not _FLEX_ATTENTION_DISABLE_COMPILE_DEBUG:
        _warn_once("flex_attention_performance",
                   "flex_attention called without torch.compile() - this will use an unfused implementation that materializes the full "
                   "scores "
                   "matrix instead of generating a fused kernel.\n\nSOLUTION: Use torch.compile(flex_attention)(...)\n\nIf you want to "
                   "debug "
                   "your score_mod/mask_mod, you can set:\ntorch.nn.attention.flex_attention._FLEX_ATTENTION_DISABLE_COMPILE_DEBUG = "
                   "True\n\n"
                   "This will allow you to use print statements or breakpoints. Note: This doesn't work with the backwards pass and may "
                   "produce incorrect results.")
    score_mod = None if score_mod is _identity else score_mod
    scale = 1.0 / math.sqrt(query.size(-1)) if scale is None else scale
    if torch.is_autocast_enabled("cpu"):
        lower = torch.get_autocast_dtype("cpu")
        query, key, value = [t.to(lower) if t.is_floating_point() and t.dtype != torch.float64 else t for t in (query, key, value)]
        with torch.autocast("cpu", enabled=False):
            out, lse = _attend(query, key, value, score_mod, block_mask.mask_mod, scale)
    else:
        out, lse = _attend(query, key, value, score_mod, block_mask.mask_mod, scale)
    if return_aux is not None:
        return out, AuxOutput(lse=lse if return_aux.lse and lse.numel() else None)
    return (out, lse if lse.numel() else None) if return_lse else out
