"""Scaled dot-product attention: one fused record, whose gradient recomputes the probabilities."""

from __future__ import annotations

from functools import lru_cache
from math import inf, prod, sqrt
from typing import Any

import numpy as np

from ... import warned
from ...dtypes import FLOATING, SCALAR_TYPE_NAMES, bool_, c_name
from ...errors import AutogradError, ShapeMismatchError
from ...executors.kernels import attention as fused
from ...executors.kernels._on_demand import is_half, state
from ...executors.kernels.handy import Handy
from ...executors.kernels.halves import narrow, widened
from ...dims import broadcast_shape
from ...modes import GradMode, attention_kernels, grad_mode
from ...record import Sample, op
from .. import _shapes as shapes
from .._precision import in_single
from ._losses import constant
from .softmax import softmax_values
from ...annotations import Functions, Values
from ...tensor import TensorRef


def probabilities(F: Functions, query: TensorRef, key: TensorRef, mask: TensorRef | None, bias: TensorRef | None, causal: bool,
                  scale: float) -> TensorRef:
    """softmax(scale * query key^T + masks) with zeros for queries that may look at no key."""
    scores = F.matmul(query * scale, F.transpose(key, -2, -1))
    allowed: Any = mask
    if causal:
        triangle = constant(F, query, np.tri(query.shape[-2], key.shape[-2], dtype=bool))
        allowed = triangle if mask is None else F.logical_and(mask, triangle)
    if bias is not None:
        scores = scores + bias
    if allowed is None:
        return F.softmax(scores, -1)
    alive = F.any(allowed, -1, True)
    scores = F.masked_fill(scores, F.logical_and(F.logical_not(allowed), alive), -inf)
    return F.masked_fill(F.softmax(scores, -1), F.logical_not(alive), 0)


@lru_cache(32)
def _later(rows: int, keys: int) -> np.ndarray:
    """Which keys come after each query."""
    return ~np.tri(rows, keys, dtype=bool)


#: Scores of one query of each head up to which they are all made at once.
_AT_ONCE = 1 << 16
#: Products below which calls are what takes time.
_PRODUCTS = 1 << 18
#: Numbers of keys or values that lie apart up to which they are copied for the kernel; NumPy multiplies them where they lie.
_COPIED = 1 << 15
_attend = Handy("attention", "attend")
_NO_BIAS = {c: np.empty((0, 0, 0), c) for c in "fd"}
_ALL_SEEN = np.empty((0, 0, 0), bool)


def _is_small(query: np.ndarray, keys: int) -> bool:
    """Whether few numbers are to be computed, so that calls are what takes time, and reading keys where they lie."""
    return 0 < query.size * keys < _PRODUCTS or query.shape[-2] == 1 and 0 < query.size // query.shape[-1] * keys < _AT_ONCE


def _broadcasts(mask: np.ndarray | None, query: np.ndarray, keys: int) -> bool:
    """Whether a mask's dimensions are those of scores, or ones."""
    return mask is None or mask.ndim <= query.ndim and all([n == 1 or n == m for n, m in zip(
        reversed(mask.shape), (keys, *reversed(query.shape[:-1])))])


def _small(query: np.ndarray, key: np.ndarray, value: np.ndarray, scale: float, mask: np.ndarray | None = None,
           bias: np.ndarray | None = None, causal: bool = False) -> tuple[np.ndarray, None, np.ndarray]:
    """Attention in the fewest calls; the probabilities are kept instead of being computed again."""
    if query.size * key.shape[-2] >= state.fused and query.dtype.char in "fd" and (key.flags.carray and value.flags.carray or
                                                                                   key.size + value.size <= _COPIED):
        return _by_kernel(query, key, value, scale, mask, bias, causal)
    p = np.matmul(query * query.dtype.type(scale), key.swapaxes(-2, -1))
    if bias is not None:
        p += bias
    if mask is not None:
        np.copyto(p, -inf, where=~mask)
    if causal:
        np.copyto(p, -inf, where=_later(*p.shape[-2:]))
    if mask is None and bias is None:
        p = softmax_values(p, p.ndim - 1)
    else:  # queries may look at no key
        top = np.maximum.reduce(p, -1, None, None, True)
        np.maximum(top, np.finfo(p.dtype).min, top)
        p -= top
        np.exp(p, p)
        total = np.add.reduce(p, -1, None, None, True)
        total += total == 0
        p /= total
    return np.matmul(p, value), None, p


def _by_kernel(query: np.ndarray, key: np.ndarray, value: np.ndarray, scale: float, mask: np.ndarray | None, bias: np.ndarray | None,
               causal: bool) -> tuple[np.ndarray, None, np.ndarray]:
    """`_small` by one kernel."""
    lead, (rows, keys), char = query.shape[:-2], (query.shape[-2], key.shape[-2]), query.dtype.char
    heads = prod(lead)
    q, k, v = [(a if a.flags.carray else a.copy()).reshape(heads, *a.shape[-2:]) for a in (query, key, value)]
    p, y = np.empty((*lead, rows, keys), char), np.empty((*lead, rows, value.shape[-1]), char)
    added, seen = [none if a is None else np.ascontiguousarray(np.broadcast_to(a, p.shape).reshape(heads, rows, keys))
                   for a, none in ((bias, _NO_BIAS[char]), (mask, _ALL_SEEN))]
    _attend.share(char, heads, rows * keys, 2 * query.shape[-1] // 8 + 8, q, k, v, added, seen, p.reshape(heads, rows, keys),
                  y.reshape(heads, rows, y.shape[-1]), scale, int(causal))
    return y, None, p


def _summed_over_queries(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """``a^T b``; of one query BLAS would take four times what its products take."""
    turned = a.swapaxes(-2, -1)
    return turned * b if a.shape[-2] == 1 else np.matmul(turned, b)


def _small_backward(grad: np.ndarray, query: np.ndarray, key: np.ndarray, value: np.ndarray, p: np.ndarray, scale: float,
                    bias: np.ndarray | None) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray | None]:
    ds = np.matmul(grad, value.swapaxes(-2, -1))
    ds *= p
    ds -= p * np.add.reduce(ds, -1, None, None, True)
    found = None if bias is None else fused.unbroadcast(ds, bias.shape) + bias.dtype.type(0)
    ds *= ds.dtype.type(scale)
    return np.matmul(ds, key), _summed_over_queries(ds, query), _summed_over_queries(p, grad), found


def _factor(query: Values, scale: float | None) -> float:
    return 1 / sqrt(query.shape[-1] or 1) if scale is None else scale


@op("attention_backward(Tensor grad, Tensor query, Tensor key, Tensor value, Tensor result, Tensor? lse, Tensor? p, Mask? mask, Tensor? "
    "bias, bool causal, "
    "float? scale, Any needs) -> (Tensor grad_query, Tensor grad_key, Tensor grad_value, Tensor grad_bias)", namespace="_internal",
    method=False, out=False)
class attention_backward:
    """The gradients of `attention`."""

    def numpy(grad, query, key, value, result, lse, p, mask, bias, causal, scale, needs):
        if p is not None:
            return _small_backward(grad, query, key, value, p, _factor(query, scale), bias if needs[3] else None)
        both = mask if bias is None else bias if mask is None else np.where(mask, bias, -np.inf).astype(bias.dtype)
        return fused.scaled_dot_product_attention_backward(grad, query, key, value, result, lse, both, causal, scale, needs[3])
    def compose(F, grad, query, key, value, result, lse, p, mask, bias, causal, scale, needs):
        factor = _factor(query, scale)
        p = probabilities(F, query, key, mask, bias, causal, factor)
        ds = F.softmax_backward(F.matmul(grad, F.transpose(value, -2, -1)), p, -1)
        def fitted(g, x): return F.reduce_to_shape(g, tuple(x.shape))
        return (fitted(F.matmul(ds, key) * factor, query), fitted(F.matmul(F.transpose(ds, -2, -1), query) * factor, key),
                fitted(F.matmul(F.transpose(p, -2, -1), grad), value), fitted(ds, bias) if needs[3] else None)
    function = compose
    def samples(rng):
        r = rng.standard_normal
        q, k, v = r((2, 3, 4)), r((2, 5, 4)), r((2, 5, 2))
        y, lse = fused.scaled_dot_product_attention(q, k, v)
        yield r((2, 3, 2)), q, k, v, y, lse, None, None, None, False, None, (True, True, True, False)


@op("attention(Tensor query, Tensor key, Tensor value, Mask? mask, Tensor? bias, bool causal, float? scale=None) -> (Tensor result, Saved "
    "lse, Saved p)",
    namespace="_internal", method=False, out=False, node="ScaledDotProductFlashAttentionForCpuBackward0",
    complex="softmax_lastdim_kernel_impl")
class attention:
    """softmax(scale * query key^T + bias, where `mask`) value; leading dimensions broadcast."""

    def sharding(call):
        """Queries by themselves, keys together, or as a composition, whose softmax reduces statistics alone where keys are split."""
        if call.is_split("key", (-2,)) or call.is_split("value", (-2,)) or call["causal"] and call.is_split("query", (-2,)):
            return call.composed()
        others = ", *b q K" * ((call["mask"] is not None) + (call["bias"] is not None))
        return call.letters(f"*b q E, *b k E, *b k v{others} -> *b q v, *b q, *b q k")
    def numpy(query, key, value, mask, bias, causal, scale):
        count = key.shape[-2]
        if query.shape[:-2] == key.shape[:-2] == value.shape[:-2] and query.size and key.size and _is_small(query, count) and (
                _broadcasts(mask, query, count) and _broadcasts(bias, query, count)):
            return _small(query, key, value, _factor(query, scale), mask, bias, causal)
        both = mask if bias is None else bias if mask is None else np.where(mask, bias, -np.inf).astype(bias.dtype)
        return (*fused.scaled_dot_product_attention(query, key, value, both, causal, scale), None)
    def shape(query, key, value, *rest):
        result = shapes.matmul((*query[:-1], key[-2]), value)
        return result, result[:-1], None
    def compose(F, query, key, value, mask, bias, causal, scale):
        return F.matmul(probabilities(F, query, key, mask, bias, causal, _factor(query, scale)), value), None, None
    def vjp(F, grad, query, key, value, result, lse, p, mask, bias, causal, scale, needs):
        return F.attention_backward(grad, query, key, value, result, lse, p, mask, bias, causal, scale, needs)

    def batch(F, call):
        """Every tensor with a batch dimension, and as many others before the matrices; those of a mask broadcast."""
        rank = max([call.ranks[n] for n in ("query", "key", "value")])
        changed = {}
        for name, own in call.ranks.items():
            t = call.whole(name) if name in ("query", "key", "value") else call.values[name]
            for _ in range(max(rank, 2) - own if call.is_batched[name] or name in ("query", "key", "value") else 0):
                t = F.unsqueeze(t, 1)
            changed[name] = t
        lead = tuple(np.broadcast_shapes(*[changed[n].shape[:-2] for n in ("query", "key", "value")]))
        for name in ("query", "key", "value"):
            changed[name] = F.expand(changed[name], (*lead, *changed[name].shape[-2:]))
        return call(**changed)
    aten = ("_scaled_dot_product_flash_attention_for_cpu(query, key, value, *[0.0, True] * causal, "
            "attn_mask=mask if bias is None else bias, scale=scale)[0]")

    def samples(rng):
        r = rng.standard_normal
        yield r((2, 3, 4)), r((2, 5, 4)), r((2, 5, 2)), None, None, False, None
        yield r((1, 2, 3, 4)), r((1, 2, 3, 4)), r((1, 2, 3, 2)), None, None, True, 0.7
        yield r((2, 3, 4)), r((2, 5, 4)), r((2, 5, 2)), None, r((3, 5)), False, None


def _check(query: TensorRef, key: TensorRef, value: TensorRef, attn_mask: Any, dropout_p: float, is_causal: bool) -> None:
    if query.dtype is not key.dtype or query.dtype is not value.dtype:
        names = [c_name(t.dtype) for t in (query, key, value)]
        raise AutogradError(f"Expected query, key, and value to have the same dtype, but got query.dtype: {names[0]} key.dtype: {names[1]} "
                            "and "
                            f"value.dtype: {names[2]} instead.")
    if min(query.ndim, key.ndim, value.ndim) < 2:
        raise ShapeMismatchError("Expected query, key, and value to all be  at least 2 dimensional, but got query.dim: "
                                 f"{query.ndim} key.dim: {key.ndim} and value.dim: {value.ndim} instead.")
    if query.dtype.category < FLOATING and attention_kernels["math"]:
        raise AutogradError(f"expected scalar type Float but found {SCALAR_TYPE_NAMES[query.dtype.name]}")
    if attn_mask is not None:
        if attn_mask.dtype.name != "bool" and attn_mask.dtype is not query.dtype and attn_mask.dtype.name != "float32":
            names = [c_name(t.dtype) for t in (attn_mask, query)]
            raise AutogradError("Expected attn_mask dtype to be bool or float or to match query dtype, but got attn_mask.dtype: "
                                f"{names[0]} and  query.dtype: {names[1]} instead.")
        if is_causal:
            raise AutogradError("_scaled_dot_product_attention: Explicit attn_mask should not be set when is_causal=True")
    if not 0 <= dropout_p <= 1 and attention_kernels["math"]:
        raise AutogradError(f"dropout probability has to be between 0 and 1, but got {dropout_p:g}")


def _check_shapes(query: TensorRef, key: TensorRef, value: TensorRef, attn_mask: TensorRef | None) -> None:
    q, k, v = tuple(query.shape), tuple(key.shape), tuple(value.shape)
    lead = broadcast_shape(q[:-2], k[:-2])
    rows = 1
    for n in lead:
        rows *= n
    if q[-1] != k[-1]:
        raise ShapeMismatchError(f"Expected size for first two dimensions of batch2 tensor to be: [{rows}, {q[-1]}] but got: [{rows}, "
                                 f"{k[-1]}].")
    if k[-2] != v[-2]:
        raise ShapeMismatchError(f"Expected size for first two dimensions of batch2 tensor to be: [{rows}, {k[-2]}] but got: [{rows}, "
                                 f"{v[-2]}].")
    broadcast_shape(lead, v[:-2])
    if attn_mask is not None:
        broadcast_shape((*lead, q[-2], k[-2]), tuple(attn_mask.shape))


def _repeat_heads(F: Functions, x: TensorRef, heads: int) -> TensorRef:
    """Each of the key or value heads for as many query heads as share it."""
    shape = tuple(x.shape)
    if heads == shape[-3]:
        return x
    if not shape[-3] or heads % shape[-3]:
        raise ShapeMismatchError("Number of heads in key and value must divide the number of heads in ")
    times = heads // shape[-3]
    x = F.expand(F.unsqueeze(x, -3), (*shape[:-2], times, *shape[-2:]))
    return F.reshape(x, (*shape[:-3], heads, *shape[-2:]))


def _fused(query: TensorRef, key: TensorRef, value: TensorRef, attn_mask: TensorRef | None, dropout_p: float) -> bool:
    """Whether torch has one kernel for the call, and may use it."""
    tensors = (query, key, value)
    return (attention_kernels["flash"] and not dropout_p and len({t._k.dtype for t in tensors}) == 1 == len({t.shape[0] for t in tensors})
            and all([t.ndim == 4 and t._data.size and t._data.strides[-1] == t._data.itemsize for t in tensors])
            and query.shape[-1] == value.shape[-1] and not (attn_mask is not None and attn_mask.requires_grad))


def _why_not_fused(query: TensorRef, key: TensorRef, value: TensorRef, attn_mask: TensorRef | None, dropout_p: float) -> str:
    """Why the one kernel does not take a call; empty where torch does not say."""
    tensors = (query, key, value)
    names = [c_name(t.dtype) for t in tensors]
    if query.dtype.category < FLOATING or query.dtype.is_complex:
        return ("Expected query, key and value to all be of dtype: {Float, Double, BFloat16, Half}. Got Query dtype: "
                f"{names[0]}, Key dtype: {names[1]}, and Value dtype: {names[2]} instead.")
    if any([t.ndim != 4 for t in tensors]):
        return ("All fused kernels requires query, key and value to be 4 dimensional, but got Query dim: "
                f"{query.ndim}, Key dim: {key.ndim}, Value dim: {value.ndim} instead.")
    q, k, v = [t.shape for t in tensors]
    if not q[0] == k[0] == v[0]:
        return ("For dense inputs, both fused kernels require query, key and value to have the same batch_size. "
                f"Query.sizes(): {list(q)}, Key.sizes(): {list(k)}, Value.sizes(): {list(v)} instead. To broadcast dense inputs, try using "
                "unsqueeze and expand_to before passing them into the kernel.")
    if not q[-1] == k[-1] == v[-1]:
        return ("Flash attention requires q,k,v to have the same last dimension. Got Query.size(-1): "
                f"{q[-1]}, Key.size(-1): {k[-1]}, Value.size(-1): {v[-1]} instead.")
    if dropout_p:
        return "Both fused kernels do not support non-zero dropout."
    last = [t._data.strides[-1] // t._data.itemsize for t in tensors]
    return "" if last == [1, 1, 1] else ("All fused kernels require the last dimension of the input to have stride 1. Got "
                                         "Query.stride(-1): "
                                         f"{last[0]}, Key.stride(-1): {last[1]}, Value.stride(-1): {last[2]}")


def _choose(query: TensorRef, key: TensorRef, value: TensorRef, attn_mask: TensorRef | None, dropout_p: float) -> None:
    """Refuses a call that no kernel takes that may be used, where not all may."""
    flash, math = attention_kernels["flash"], attention_kernels["math"]
    if not flash and not math:
        raise AutogradError("No viable backend for scaled_dot_product_attention was found. This is likely due to turning off both the math "
                            "kernel and the fused kernels.")
    if not math and (query.dtype.category < FLOATING or not _fused(query, key, value, attn_mask, dropout_p)):
        for text in ("Flash attention kernel not used because:", _why_not_fused(query, key, value, attn_mask, dropout_p)):
            if text:
                warned.warn(text)
        raise AutogradError("No available kernel.  Aborting execution.")


def _attended(F: Functions, query: TensorRef, key: TensorRef, value: TensorRef, mask: TensorRef | None, bias: TensorRef | None,
              dropout_p: float, causal: bool, scale: float | None) -> TensorRef:
    if dropout_p or not attention_kernels["flash"]:
        p = probabilities(F, query, key, mask, bias, causal, _factor(query, scale))
        return F.matmul(F.dropout(p, dropout_p, True) if dropout_p else p, value)
    return F.attention(query, key, value, mask, bias, causal, scale)


def _at_once(F: Functions, query: TensorRef, key: TensorRef, value: TensorRef, attn_mask: TensorRef | None, causal: bool,
             scale: float | None, grouped: bool) -> TensorRef | None:
    """Attention of few tensors of four dimensions where nobody looks and nothing is recorded, as when a model says one word after another;
    None elsewhere. Query heads that share a key head are rows of one matrix, so that nothing is repeated."""
    k, (q, keys, values) = query._k, (query._data, key._data, value._data)
    if k not in F.namespace["Q_FLOAT"] and k not in F.namespace["Q_HALF"] or q.ndim != 4 or keys.ndim != 4 or (
            query._node is not None or key._node is not None or value._node is not None) and grad_mode() is GradMode.ENABLED:
        return None
    (n, heads, rows, size), (batch, shared, count, wide) = q.shape, keys.shape
    if values.shape != keys.shape or n != batch or size != wide or not q.size or not keys.size or not _is_small(q, count) or (
            heads % shared if grouped else heads != shared):
        return None
    mask = bias = None
    if (attn_mask is not None or causal) and heads != shared:
        return None
    if attn_mask is not None:
        other = attn_mask._k
        if causal or attn_mask._node is not None or not _broadcasts(attn_mask._data, q, count):
            return None
        if other is k:
            bias = attn_mask._data
        elif other in F.namespace["Q_ALL"] and other.dtype is bool_:
            mask = attn_mask._data
        else:
            return None
    made, factor = q.dtype, _factor(q, scale)
    if is_half(made):  # rounded once, at the end
        q, keys, values = widened(q), widened(keys), widened(values)
        bias = None if bias is None else widened(bias)
    part = q if heads == shared else q.reshape(n, shared, heads // shared * rows, size)
    y = _small(part, keys, values, factor, mask, bias, causal)[0].reshape(q.shape)
    return F.wrap(y if y.dtype is made else narrow(y, made), k)


_in_steps = in_single(_attended)
"""Half precision without that kernel: torch converts all of it to float32 and the result back."""


@op("scaled_dot_product_attention(Tensor query, Tensor key, Tensor value, Tensor? attn_mask=None, float dropout_p=0.0, bool "
    "is_causal=False, *, float? scale=None, bool enable_gqa=False) -> Tensor", namespace="nn.functional", method=False, out=False)
class scaled_dot_product_attention:
    """softmax(scale * query key^T + attn_mask) value: query (..., L, E), key (..., S, E), value (..., S, Ev).

    A bool `attn_mask` says which keys count, another is added to the scores; `scale` is 1 / sqrt(E) unless given; with `enable_gqa`, query
    heads share the fewer heads of key and value. Vaswani et al., "Attention is all you need" (arXiv:1706.03762).

    >>> torch.nn.functional.scaled_dot_product_attention(torch.zeros(1, 1, 2), torch.zeros(1, 2, 2), torch.tensor([[[1.], [3.]]]))
    tensor([[[2.]]])
    """

    composite = ("scaled_dot_product_attention(query, key, value, *but([attn_mask, dropout_p, is_causal], [None, 0.0, False]), "
                 "scale=scale, enable_gqa=enable_gqa or None)")
    home = "_C._nn"
    lacks = {"float8": "mul_cpu_reduced_float", "chalf": "bmm"}
    def no_forward(query, key, value, attn_mask, dropout_p, **_):
        return "_scaled_dot_product_flash_attention_for_cpu" if _fused(query, key, value, attn_mask, dropout_p) else None

    amp = "lower"
    def function(F, query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, *, scale=None, enable_gqa=False):
        if query._k is key._k and query._k is value._k and not dropout_p and attention_kernels["math"] and attention_kernels["flash"] and (
                found := _at_once(F, query, key, value, attn_mask, is_causal, scale, enable_gqa)) is not None:
            return found
        _check(query, key, value, attn_mask, dropout_p, is_causal)
        if not (attention_kernels["math"] and attention_kernels["flash"]) and query._k.device.type != "meta":
            _choose(query, key, value, attn_mask, dropout_p)
        if enable_gqa:
            key, value = _repeat_heads(F, key, query.shape[-3]), _repeat_heads(F, value, query.shape[-3])
        _check_shapes(query, key, value, attn_mask)
        mask = bias = None
        if attn_mask is not None:
            if attn_mask._k.dtype.name == "bool":
                mask = attn_mask
            else:
                bias = attn_mask if attn_mask._k.dtype is query._k.dtype else F.cast(attn_mask, query._k.dtype)
        if query._k.dtype.name in ("float16", "bfloat16") and not _fused(query, key, value, attn_mask, dropout_p):
            return _in_steps(F, query, key, value, mask, bias, dropout_p, is_causal, scale)
        return _attended(F, query, key, value, mask, bias, dropout_p, is_causal, scale)

    def samples(rng):
        r = rng.standard_normal
        yield r((2, 3, 4)), r((2, 5, 4)), r((2, 5, 2))
        yield Sample((r((1, 4, 3, 4)), r((1, 2, 3, 4)), r((1, 2, 3, 2))), {"is_causal": True, "enable_gqa": True})
        yield r((2, 3, 4)), r((2, 5, 4)), r((2, 5, 2)), np.array([[True, False, True, True, False]] * 2 + [[False] * 5])
        yield Sample((r((2, 3, 4)), r((2, 5, 4)), r((2, 5, 2)), r((3, 5))), {"scale": 0.3})

    def errors(rng):
        yield (np.ones((2, 3, 4)), np.ones((2, 5, 5)), np.ones((2, 5, 6))), RuntimeError, (
            "Expected size for first two dimensions of batch2 tensor to be: [2, 4] but got: [2, 5].")
        yield (np.ones(4), np.ones((5, 4)), np.ones((5, 4))), RuntimeError, (
            "Expected query, key, and value to all be  at least 2 dimensional, but got query.dim: 1 key.dim: 2 and value.dim: 2 instead.")
