"""Layers of Transformers in one call each, as torch computes them for inference: projections with their bias, attention, feed-forward.

They are compositions, so they have gradients, which torch refuses.
"""

from __future__ import annotations

from math import sqrt

import numpy as np

from ...annotations import Functions
from ...errors import AutogradError
from ...executors.kernels._on_demand import state
from ...executors.kernels.elementwise import narrow, widened
from ...record import op
from ...tensor import TensorRef
from ...dims import wrap_dim

_FALSE = ("Expected {} == 0 to be true, but got false.  (Could this error message be improved?  If so, please report an enhancement "
          "request to PyTorch.)")


@op("_transform_bias_rescale_qkv(Tensor qkv, Tensor qkv_bias, int num_heads) -> (Tensor q, Tensor k, Tensor v)", method=False, out=False)
class _transform_bias_rescale_qkv:
    """Queries, keys and values [B, H, T, D / H] of their projections [B, T, 3 D] side by side, with the bias, queries over sqrt(D / H).

    >>> torch._transform_bias_rescale_qkv(torch.tensor([[[1., 2., 3.]]]), torch.ones(3), 1)
    (tensor([[[[2.]]]]), tensor([[[[3.]]]]), tensor([[[[4.]]]]))
    """

    no_forward = "aten::_transform_bias_rescale_qkv"
    lacks = {"int bool": "transform_bias_rescale_qkv"}
    def quick(qkv, qkv_bias, num_heads):
        if qkv.ndim != 3 or qkv.dtype is not qkv_bias.dtype or qkv_bias.shape != qkv.shape[2:] or num_heads < 1 or \
                qkv.shape[2] % (3 * num_heads) or not qkv.size or qkv.size >= state.cheap or qkv.dtype.char not in "fdeE":
            return None
        batch, time, size = qkv.shape
        head = size // 3 // num_heads
        both = qkv + qkv_bias if qkv.dtype.char in "fd" else narrow(widened(qkv) + widened(qkv_bias), qkv.dtype)
        parts = np.ascontiguousarray(both.reshape(batch, time, 3, num_heads, head).transpose(2, 0, 3, 1, 4))
        scale = 1 / sqrt(head)
        q = parts[0] * scale if qkv.dtype.char in "fd" else narrow(widened(parts[0]) * np.float32(scale), qkv.dtype)
        return q, parts[1], parts[2]

    def function(F, qkv, qkv_bias, num_heads):
        if qkv.ndim < 3:
            wrap_dim(2, qkv.ndim)
        size = qkv.shape[2]
        for wrong, text in ((size % 3, "_3D % 3"), (not num_heads or size // 3 % num_heads, "D % num_head")):
            if wrong:
                raise AutogradError(_FALSE.format(text))
        head = size // 3 // num_heads
        parts = F.reshape(qkv + qkv_bias, (*qkv.shape[:2], 3, num_heads, head))
        q, k, v = F.unbind(F.contiguous(F.permute(parts, (2, 0, 3, 1, 4))), 0)
        return q * (1 / sqrt(head)), k, v

    def samples(rng): yield rng.standard_normal((2, 3, 12)), rng.standard_normal(12), 2

    def errors(rng):
        yield (np.ones((2, 3, 12)), np.ones(12), 3), RuntimeError, _FALSE.format("D % num_head")


def _linear(F: Functions, x: TensorRef, weight: TensorRef, bias: TensorRef | None = None) -> TensorRef:
    y = F.matmul(x, F.transpose(weight, 0, 1))
    return y if bias is None else y + bias


def _projected(F: Functions, query: TensorRef, key: TensorRef, value: TensorRef, size: int, weight: TensorRef) -> TensorRef:
    """Projections of queries, keys and values side by side; in one product where they are one tensor."""
    if query is key and key is value:
        return _linear(F, query, weight)
    if key is value:
        return F.cat([_linear(F, query, weight[:size]), _linear(F, key, weight[size:])], 2)
    return F.cat([_linear(F, x, weight[i * size:(i + 1) * size]) for i, x in enumerate((query, key, value))], 2)


def _check_attention(query: TensorRef, key: TensorRef, value: TensorRef, size: int, heads: int, weight: TensorRef, bias: TensorRef) -> None:
    for x, name, rank in ((query, "query", 3), (key, "key", 3), (value, "value", 3), (weight, "qkv_weight", 2), (bias, "qkv_bias", 1)):
        if name == "key" and query.shape[2] != size:
            raise AutogradError(f"passed-in embed_dim {size} didn't match last dim of query {query.shape[2]}")
        if name == "qkv_weight" and not tuple(query.shape) == tuple(key.shape) == tuple(value.shape):
            raise AutogradError("expected `query`/`key`/`value` shapes to match")
        if name == "qkv_bias" and tuple(weight.shape) != (3 * size, size):
            raise AutogradError("expected `qkv_weight` first dim to be 3x embed_dim" if weight.shape[0] != 3 * size else
                                "expected `qkv_weight` second dim to be embed_Dim")
        if x.ndim != rank:
            raise AutogradError(f"expected {rank}-D `{name}`, got {x.ndim}-D tensor")
    if bias.shape[0] != 3 * size:
        raise AutogradError("expected `qkv_bias` first dim and first dim of query to be equal")
    if not heads or size % heads:
        raise AutogradError("`embed_dim` must divide evenly by `num_heads`")


@op("_native_multi_head_attention(Tensor query, Tensor key, Tensor value, int embed_dim, int num_head, Tensor qkv_weight, Tensor qkv_bias, "
    "Tensor proj_weight, Tensor proj_bias, Index? mask=None, bool need_weights=True, bool average_attn_weights=True, int? mask_type=None) "
    "-> (Tensor output, Tensor? weights)", method=False, out=False)
class _native_multi_head_attention:
    """Multi-head attention [B, T, D] with its projections, and the weights [B, T, T], or [B, H, T, T] where not averaged, or None.

    Args:
        mask: what may not be looked at: [T, T] where `mask_type` is 0, [B, T] where it is 1, [B, H, T, T] where it is 2.

    >>> x, ones = torch.tensor([[[1.], [2.]]]), torch.ones(3, 1)
    >>> torch._native_multi_head_attention(x, x, x, 1, 1, ones, torch.zeros(3), ones[:1], torch.zeros(1), torch.eye(2).bool(), mask_type=0)
    (tensor([[[2.],
             [1.]]]), tensor([[[0., 1.],
             [1., 0.]]]))
    """

    no_forward = "aten::_native_multi_head_attention"

    def function(F, query, key, value, embed_dim, num_head, qkv_weight, qkv_bias, proj_weight, proj_bias, mask=None, need_weights=True,
                 average_attn_weights=True, mask_type=None):
        _check_attention(query, key, value, embed_dim, num_head, qkv_weight, qkv_bias)
        if 0 in query.shape:
            return query, None
        q, k, v = F._transform_bias_rescale_qkv(_projected(F, query, key, value, embed_dim, qkv_weight), qkv_bias, num_head)
        scores = F.matmul(q, F.transpose(k, -2, -1))
        if mask is None:
            weights = F.softmax(scores, -1)
        else:
            weights = F._masked_softmax(scores, mask if mask._k.np.kind == "b" else F.ne(mask, 0), 3, mask_type)
        output = F.reshape(F.transpose(F.matmul(weights, v), 1, 2), tuple(query.shape))
        output = _linear(F, output, proj_weight, proj_bias)
        if not need_weights:
            return output, None
        return output, F.sum(weights, (1,)) / num_head if average_attn_weights else weights

    def samples(rng):
        r = rng.standard_normal
        x = r((2, 3, 4))
        yield x, x, x, 4, 2, r((12, 4)), r(12), r((4, 4)), r(4)
        yield x, r((2, 3, 4)), r((2, 3, 4)), 4, 2, r((12, 4)), r(12), r((4, 4)), r(4), np.tri(3, k=-1, dtype=bool).T, True, False, 0

    def errors(rng):
        x = np.ones((2, 3, 4))
        yield (x, x, x, 4, 3, np.ones((12, 4)), np.ones(12), np.ones((4, 4)), np.ones(4)), RuntimeError, (
            "`embed_dim` must divide evenly by `num_heads`")
        yield (x, x[:1], x, 4, 2, np.ones((12, 4)), np.ones(12), np.ones((4, 4)), np.ones(4)), RuntimeError, (
            "expected `query`/`key`/`value` shapes to match")


@op("_transformer_encoder_layer_fwd(Tensor src, int embed_dim, int num_heads, Tensor qkv_weight, Tensor qkv_bias, Tensor proj_weight, "
    "Tensor "
    "proj_bias, bool use_gelu, bool norm_first, float eps, Tensor norm_weight_1, Tensor norm_bias_1, Tensor norm_weight_2, Tensor "
    "norm_bias_2, Tensor ffn_weight_1, Tensor ffn_bias_1, Tensor ffn_weight_2, Tensor ffn_bias_2, Index? mask=None, int? "
    "mask_type=None) -> "
    "Tensor", method=False, out=False)
class _transformer_encoder_layer_fwd:
    """A layer of a Transformer's encoder [B, T, D]: attention to itself and two linear layers, each with a shortcut and layer norm.

    Args:
        norm_first: whether to normalize what goes into either part rather than its sum with the shortcut.
        mask, mask_type: see `_native_multi_head_attention`.

    >>> x, one, none = torch.tensor([[[1., -1.]]]), torch.ones(2), torch.zeros(2)
    >>> heads = torch.zeros(6, 2), torch.zeros(6), torch.zeros(2, 2), none
    >>> feed = torch.zeros(1, 2), none[:1], torch.zeros(2, 1), none
    >>> torch._transformer_encoder_layer_fwd(x, 2, 1, *heads, False, False, 0.0, one, none, one, none, *feed)
    tensor([[[ 1., -1.]]])
    """

    no_forward = "aten::_transformer_encoder_layer_fwd"

    def function(F, src, embed_dim, num_heads, qkv_weight, qkv_bias, proj_weight, proj_bias, use_gelu, norm_first, eps, norm_weight_1,
                 norm_bias_1, norm_weight_2, norm_bias_2, ffn_weight_1, ffn_bias_1, ffn_weight_2, ffn_bias_2, mask=None, mask_type=None):
        def first(x): return F.layer_norm(x, (embed_dim,), norm_weight_1, norm_bias_1, eps)
        def second(x): return F.layer_norm(x, (embed_dim,), norm_weight_2, norm_bias_2, eps)
        def attend(x):
            return F._native_multi_head_attention(x, x, x, embed_dim, num_heads, qkv_weight, qkv_bias, proj_weight, proj_bias, mask, False,
                                                  True, mask_type)[0]

        def feed(x):
            hidden = _linear(F, x, ffn_weight_1, ffn_bias_1)
            return _linear(F, F.gelu(hidden) if use_gelu else F.relu(hidden), ffn_weight_2, ffn_bias_2)

        if norm_first:
            x = attend(first(src)) + src
            return feed(second(x)) + x
        x = first(attend(src) + src)
        return second(feed(x) + x)

    def samples(rng):
        r = rng.standard_normal
        rest = r((12, 4)), r(12), r((4, 4)), r(4)
        last = r(4), r(4), r(4), r(4), r((5, 4)), r(5), r((4, 5)), r(4)
        yield r((2, 3, 4)), 4, 2, *rest, True, False, 1e-5, *last
        yield r((2, 3, 4)), 4, 2, *rest, False, True, 1e-5, *last, np.array([[False, False, True], [False, True, True]]), 1
