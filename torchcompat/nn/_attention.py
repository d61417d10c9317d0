"""Multi-head attention as a function: projections, masks, and scaled dot products."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torchcompat as torch
from torchcompat._tensor import frontend as F
from autograd_tape import warned
from ..overrides import overridable
from .._calls.shown import shown_in
from torchcompat._tensor import Tensor

if TYPE_CHECKING:
    from autograd_tape.dtypes import DType

__all__ = ["multi_head_attention_forward"]


def _none_or_dtype(input: Tensor | None) -> DType | None:
    """The dtype of a tensor; None for None."""
    if input is None:
        return None
    if isinstance(input, torch.Tensor):
        return input.dtype
    raise RuntimeError("input to _none_or_dtype() must be None or torch.Tensor")


def _canonical_mask(mask: Tensor | None, mask_name: str, other_type: DType | None, other_name: str, target_type: DType,
                    check_other: bool = True) -> Tensor | None:
    """A mask as floats to add: a bool mask becomes -inf where it is True."""
    if mask is None:
        return None
    is_float = torch.is_floating_point(mask)
    if mask.dtype != torch.bool and not is_float:
        raise AssertionError(f"only bool and floating types of {mask_name} are supported")
    if check_other and other_type is not None and mask.dtype != other_type:
        warned.warn(f"Support for mismatched {mask_name} and {other_name} is deprecated. Use same type for both instead.")
    if is_float:
        return mask
    return torch.zeros_like(mask, dtype=target_type).masked_fill_(mask, float("-inf"))


def _mha_shape_check(query: Any, key: Tensor, value: Tensor, key_padding_mask: Any, attn_mask: Any, num_heads: int) -> bool:
    """Whether there is a batch dimension; AssertionError where dimensions do not go together."""
    if query.dim() not in (2, 3):
        raise AssertionError(f"query should be unbatched 2D or batched 3D tensor but received {query.dim()}-D query tensor")
    n = query.dim()
    kind = "batched (3-D)" if n == 3 else "unbatched (2-D)"
    if key.dim() != n or value.dim() != n:
        raise AssertionError(f"For {kind} `query`, expected `key` and `value` to be {n}-D but found {key.dim()}-D and {value.dim()}-D "
                             "tensors respectively")
    if key_padding_mask is not None and key_padding_mask.dim() != n - 1:
        raise AssertionError(f"For {kind} `query`, expected `key_padding_mask` to be `None` or {n - 1}-D but found "
                             f"{key_padding_mask.dim()}-D tensor instead")
    if attn_mask is not None:
        if attn_mask.dim() not in (2, 3):
            raise AssertionError(f"For {kind} `query`, expected `attn_mask` to be `None`, 2-D or 3-D but found {attn_mask.dim()}-D tensor "
                                 "instead")
        if n == 2 and attn_mask.dim() == 3:
            expected = (num_heads, query.shape[0], key.shape[0])
            if attn_mask.shape != expected:
                raise AssertionError(f"Expected `attn_mask` shape to be {expected} but got {attn_mask.shape}")
    return n == 3


def _check_given(bias_k: Tensor | None, bias_v: Tensor | None, static_k: Tensor | None, static_v: Tensor | None, heads: int,
                 size: int) -> None:
    """Refuses biases of keys without those of values, biases of given keys, and given ones that do not fit."""
    if (bias_k is None) is not (bias_v is None):
        there, missing = ("bias_v", "bias_k") if bias_k is None else ("bias_k", "bias_v")
        raise AssertionError(f"{there} is set but {missing} is None")
    for given, what in ((static_k, "key"), (static_v, "value")):
        if given is not None and bias_k is not None:
            raise AssertionError(f"bias cannot be added to static {what}.")
    for given, name in ((static_k, "static_k"), (static_v, "static_v")):
        for i, n in ((0, heads), (2, size)):
            if given is not None and given.size(i) != n:
                raise AssertionError(f"expecting {name}.size({i}) of {n}, but got {given.size(i)}")


def _project(query: Any, key: Any, value: Any, weight: Any, bias: Any) -> Any:
    """Queries, keys and values by one weight [3 E, E]; in one product where they are one tensor."""
    size = query.size(-1)
    if query is key and key is value:
        return F.linear(query, weight, bias).chunk(3, dim=-1)
    if key is value:
        q = F.linear(query, weight[:size], None if bias is None else bias[:size])
        k, v = F.linear(key, weight[size:], None if bias is None else bias[size:]).chunk(2, dim=-1)
        return q, k, v
    biases = (None,) * 3 if bias is None else bias.chunk(3)
    return [F.linear(x, w, b) for x, w, b in zip((query, key, value), weight.chunk(3), biases)]


def _in_projection_packed(q: Tensor, k: Tensor, v: Tensor, w: Tensor, b: Tensor | None = None) -> tuple[Tensor, ...]:
    """Queries, keys and values [..., E] by one weight [3 E, E] and bias [3 E]."""
    return tuple([t.contiguous() for t in _project(q, k, v, w, b)])


def _in_projection(q: Tensor, k: Tensor, v: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor, b_q: Tensor | None = None,
                   b_k: Tensor | None = None, b_v: Tensor | None = None) -> tuple[Tensor, ...]:
    """Queries, keys and values by a weight [E, their size] and a bias [E] each. AssertionError of other shapes."""
    size = q.size(-1)
    for name, x, weight in (("query", q, w_q), ("key", k, w_k), ("value", v, w_v)):
        if weight.shape != (size, x.size(-1)):
            raise AssertionError(f"expecting {name} weights shape of {(size, x.size(-1))}, but got {weight.shape}")
    for name, bias in (("query", b_q), ("key", b_k), ("value", b_v)):
        if bias is not None and bias.shape != (size,):
            raise AssertionError(f"expecting {name} bias shape of {(size,)}, but got {bias.shape}")
    return F.linear(q, w_q, b_q), F.linear(k, w_k, b_k), F.linear(v, w_v, b_v)


@overridable
def multi_head_attention_forward(
        query: Tensor, key: Tensor, value: Tensor, embed_dim_to_check: int, num_heads: int, in_proj_weight: Tensor | None,
        in_proj_bias: Tensor | None, bias_k: Tensor | None, bias_v: Tensor | None, add_zero_attn: bool, dropout_p: float,
        out_proj_weight: Tensor, out_proj_bias: Tensor | None, training: bool = True, key_padding_mask: Tensor | None = None,
        need_weights: bool = True, attn_mask: Tensor | None = None, use_separate_proj_weight: bool = False,
        q_proj_weight: Tensor | None = None, k_proj_weight: Tensor | None = None, v_proj_weight: Tensor | None = None,
        static_k: Tensor | None = None, static_v: Tensor | None = None, average_attn_weights: bool = True,
        is_causal: bool = False) -> tuple[Tensor, Tensor | None]:
    """What `nn.MultiheadAttention` computes.

    Args:
        query: [L, N, E]; key [S, N, E or kdim]; value [S, N, E or vdim]; or all without N.
        in_proj_weight: [3 E, E]; or, where use_separate_proj_weight, q_proj_weight [E, E], k_proj_weight [E, kdim], v_proj_weight
            [E, vdim].
        bias_k, bias_v: [1, 1, E], appended to keys and values.
        static_k, static_v: [N * num_heads, S, head_dim], used in place of projected keys and values.
        the others: see `nn.MultiheadAttention.forward`.

    Returns:
        The output [L, N, E], and the weights [N, L, S] ([N, num_heads, L, S] where not averaged), or None.
    """
    batched = _mha_shape_check(query, key, value, key_padding_mask, attn_mask, num_heads)
    if not batched:
        one = {id(x): x.unsqueeze(1) for x in (query, key, value)}
        query, key, value = one[id(query)], one[id(key)], one[id(value)]
        key_padding_mask = None if key_padding_mask is None else key_padding_mask.unsqueeze(0)
    length, batch, size = query.shape
    sources = key.shape[0]
    if is_causal and attn_mask is None:
        raise RuntimeError("Need attn_mask if specifying the is_causal hint. You may use the Transformer module method "
                           "`generate_square_subsequent_mask` to create this mask.")
    key_padding_mask = _canonical_mask(key_padding_mask, "key_padding_mask", _none_or_dtype(attn_mask), "attn_mask", query.dtype)
    if is_causal and key_padding_mask is None and not need_weights:
        attn_mask = None  # the mask is the causal one, which the product below applies by itself
    else:
        attn_mask = _canonical_mask(attn_mask, "attn_mask", None, "", query.dtype, check_other=False)
        is_causal = is_causal and key_padding_mask is None
    if size != embed_dim_to_check:
        raise AssertionError(f"was expecting embedding dimension of {embed_dim_to_check}, but got {size}")
    head = size // num_heads
    if head * num_heads != size:
        raise AssertionError(f"embed_dim {size} not divisible by num_heads {num_heads}")
    needed = ((q_proj_weight, "q_proj_weight"), (k_proj_weight, "k_proj_weight"), (v_proj_weight, "v_proj_weight"))
    for weight, name in needed if use_separate_proj_weight else ((in_proj_weight, "in_proj_weight"),):
        if weight is None:
            raise AssertionError(f"use_separate_proj_weight is {use_separate_proj_weight} but {name} is None")
    if use_separate_proj_weight:
        if key.shape[:2] != value.shape[:2]:
            raise AssertionError(f"key's sequence and batch dims {key.shape[:2]} do not match value's {value.shape[:2]}")
        biases = (None,) * 3 if in_proj_bias is None else in_proj_bias.chunk(3)
        q, k, v = [F.linear(x, w, b) for x, w, b in
                   zip((query, key, value), (q_proj_weight, k_proj_weight, v_proj_weight), biases)]
    else:
        if key.shape != value.shape:
            raise AssertionError(f"key shape {key.shape} does not match value shape {value.shape}")
        q, k, v = _project(query, key, value, in_proj_weight, in_proj_bias)

    if attn_mask is not None:
        expected = (length, sources) if attn_mask.dim() == 2 else (batch * num_heads, length, sources)
        if tuple(attn_mask.shape) != expected:
            raise RuntimeError(f"The shape of the {attn_mask.dim()}D attn_mask is {attn_mask.shape}, but should be {expected}.")
        attn_mask = attn_mask.unsqueeze(0) if attn_mask.dim() == 2 else attn_mask
    _check_given(bias_k, bias_v, static_k, static_v, batch * num_heads, head)
    if bias_k is not None and bias_v is not None:
        k, v = torch.cat([k, bias_k.repeat(1, batch, 1)]), torch.cat([v, bias_v.repeat(1, batch, 1)])
        attn_mask, key_padding_mask = [None if m is None else F.pad(m, (0, 1)) for m in (attn_mask, key_padding_mask)]

    q = q.reshape(length, batch * num_heads, head).transpose(0, 1)
    k = k.reshape(k.shape[0], batch * num_heads, head).transpose(0, 1) if static_k is None else static_k
    v = v.reshape(v.shape[0], batch * num_heads, head).transpose(0, 1) if static_v is None else static_v
    if add_zero_attn:
        zeros = torch.zeros((batch * num_heads, 1, head), dtype=k.dtype, device=k.device)
        k, v = torch.cat([k, zeros], dim=1), torch.cat([v, zeros], dim=1)
        attn_mask, key_padding_mask = [None if m is None else F.pad(m, (0, 1)) for m in (attn_mask, key_padding_mask)]
    sources = k.size(1)
    if key_padding_mask is not None:
        for i, n in enumerate((batch, sources)):
            if key_padding_mask.shape[i] != n:
                raise AssertionError(f"Expected key_padded_mask.shape[{i}] to be {n}, but got {key_padding_mask.shape[i]}")
        padding = key_padding_mask.reshape(batch, 1, 1, sources).expand(-1, num_heads, -1, -1).reshape(batch * num_heads, 1, sources)
        attn_mask = padding if attn_mask is None else attn_mask + padding

    dropout_p = dropout_p if training else 0.0
    if need_weights:
        scaled = q * (1.0 / head) ** 0.5
        scores = torch.bmm(scaled, k.transpose(-2, -1)) if attn_mask is None else torch.baddbmm(attn_mask, scaled, k.transpose(-2, -1))
        weights = F.softmax(scores, -1)
        if dropout_p > 0.0:
            weights = F.dropout(weights, dropout_p, True)
        output = torch.bmm(weights, v)
    else:
        q, k, v = [x.reshape(batch, num_heads, x.size(1), head) for x in (q, k, v)]
        if attn_mask is not None:
            shape = (batch, num_heads, attn_mask.size(1), sources)
            attn_mask = attn_mask.unsqueeze(0) if attn_mask.size(0) == 1 else attn_mask.reshape(shape)
        output = F.scaled_dot_product_attention(q, k, v, attn_mask, dropout_p, is_causal).reshape(batch * num_heads, length, head)
        weights = None
    output = output.transpose(0, 1).reshape(length * batch, size)
    output = F.linear(output, out_proj_weight, out_proj_bias)
    output = output.reshape(length, batch, output.size(1))
    if weights is not None:
        weights = weights.reshape(batch, num_heads, length, sources)
        weights = weights.mean(dim=1) if average_attn_weights else weights
    if not batched:
        return output.squeeze(1), None if weights is None else weights.squeeze(0)
    return output, weights


shown_in("torchcompat.nn.functional", multi_head_attention_forward)
