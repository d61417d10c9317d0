"""Attention over sequences of different lengths that lie one behind the other, for which torch has kernels for CUDA alone.

Calls are checked as there; tensors of the device "meta" give the shapes of the result, others an error, as in a build for the CPU.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, NoReturn

import torchcompat as torch

from ..._calls.absent import absences as _absences

if TYPE_CHECKING:
    from torchcompat._tensor import Tensor

__all__ = ["varlen_attn", "varlen_attn_out", "AuxRequest"]
_absences(__name__)


class AuxRequest(NamedTuple):
    """What to return beside the output: `lse`, the logarithms of the sums of exponentials."""

    lse: bool = False


def _check_heads(query: Tensor, key: Tensor, paged: bool, enable_gqa: bool) -> None:
    heads, others = query.size(1), key.size(2 if paged else 1)
    if not enable_gqa and heads != others:
        raise ValueError(f"Expect query and key/value to have the same number of heads but got Hq={heads} and Hkv={others}. "
                         "Try setting enable_gqa=True for GQA.")
    if enable_gqa and heads % others:
        raise ValueError(f"Expect number of query heads to be a multiple of kv heads for GQA but got Hq={heads} and Hkv={others}.")


def _check_window(window_size: tuple[int, ...]) -> None:
    if len(window_size) != 2:
        raise ValueError(f"window_size must have length 2, got {len(window_size)}")


def _refuse(name: str, device: str) -> NoReturn:
    raise NotImplementedError(
        f"Could not run 'aten::{name}' with arguments from the '{device.upper()}' backend. This could be because the operator doesn't "
        f"exist "
        "for this backend, or was omitted during the selective/custom build process (if using custom build). If you are a Facebook "
        "employee "
        "using PyTorch on mobile, please visit https://fburl.com/ptmfixes for possible resolutions. "
        f"'aten::{name}' is only available for these backends: [Meta].")


def _attend(name: str, out: Tensor | None, query: Tensor, aux: AuxRequest | None, window_size: tuple[int, ...],
            **inference_only: Tensor | None) -> Tensor | tuple[Tensor, Tensor]:
    """What either function gives for tensors of "meta"; refuses all others."""
    _check_window(window_size)
    if query.device.type != "meta":
        _refuse(name, query.device.type)
    for parameter, given in inference_only.items() if torch.is_grad_enabled() and query.requires_grad else ():
        if given is not None:
            raise RuntimeError(f"{parameter} is an inference-only parameter.")
    out = torch.empty_like(query) if out is None else out
    lse = torch.empty((query.size(1), query.size(0)), dtype=torch.float32, device="meta")
    return (out, lse) if aux is not None and aux.lse else out


def varlen_attn(query: Tensor, key: Tensor, value: Tensor, cu_seq_q: Tensor, cu_seq_k: Tensor | None, max_q: int, max_k: int, *,
                return_aux: AuxRequest | None = None, scale: float | None = None, window_size: tuple[int, int] = (-1, -1),
                enable_gqa: bool = False, seqused_k: Tensor | None = None, block_table: Tensor | None = None,
                num_splits: int | None = None) -> Tensor | tuple[Tensor, Tensor]:
    """Attention over packed sequences: query [total, heads, size], key and value likewise, `cu_seq_q` where sequences begin.

    Raises:
        ValueError: numbers of heads do not go together, or `window_size` is no pair.
        NotImplementedError: the tensors are of the CPU.
    """
    _check_heads(query, key, block_table is not None, enable_gqa)
    return _attend("_flash_attention_forward", None, query, return_aux, window_size, seqused_k=seqused_k, block_table=block_table)


def varlen_attn_out(out: Tensor, query: Tensor, key: Tensor, value: Tensor, cu_seq_q: Tensor, cu_seq_k: Tensor | None, max_q: int,
                    max_k: int, *, return_aux: AuxRequest | None = None, scale: float | None = None,
                    window_size: tuple[int, int] = (-1, -1), enable_gqa: bool = False, seqused_k: Tensor | None = None,
                    block_table: Tensor | None = None, num_splits: int | None = None) -> Tensor | tuple[Tensor, Tensor]:
    """`varlen_attn` into `out`."""
    _check_heads(query, key, block_table is not None, enable_gqa)
    return _attend("_flash_attention_forward_no_dropout_inplace", out, query, return_aux, window_size)
