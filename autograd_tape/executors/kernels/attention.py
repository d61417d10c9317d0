"""Scaled dot-product attention, a block of heads, or of one head's queries, at a time, so that scores never leave the cache.

What a block need not look at, beyond the diagonal or behind a mask, is left out.

``y = softmax(scale * q k^T + mask) v``.  Saved for the vjp are the result and one log-sum-exp per query; the
probabilities are computed again (Dao et al., "FlashAttention", arXiv:2205.14135).  A query that may look at no key gets
zeros, as in torch.  Half precision computes in float32.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from math import prod

import numpy as np

from ...warned import ignoring
from . import blas, halves, sharing
from ._on_demand import LazyModule, contiguous, state
from .halves import compute_array
from .scratch import scratch

__all__ = ["scaled_dot_product_attention", "scaled_dot_product_attention_backward", "unbroadcast"]

_compiled = LazyModule("attention")
#: Scores of one block of heads: about half of a second-level cache.
_BLOCK = 1 << 17
#: Fewest queries of a block of one head, and scores that such a block has with more.
_FEWEST, _LONG = 64, 1 << 18
#: Fewest scores worth sharing.
_SHARED = 1 << 16


def _allowed(scores: np.ndarray, causal: int) -> np.ndarray:
    """Of each query, the keys that it may look at."""
    _, queries, keys = scores.shape
    return np.tri(queries, keys, causal - 1, dtype=bool)


def _softmax_rows(scores: np.ndarray, lse: np.ndarray, causal: int, compiled: bool) -> None:
    if compiled:
        _compiled.softmax_rows[scores.dtype.char](scores, lse, causal, 0, len(scores))
        return
    with ignoring():
        if causal:
            scores[:, ~_allowed(scores, causal)] = -np.inf
        top = scores.max(2, keepdims=True)
        top[top == -np.inf] = 0
        scores -= top
        np.exp(scores, out=scores)
        total = scores.sum(2, keepdims=True)
        lse[...] = np.where(total == 0, np.inf, top + np.log(total))[:, :, 0]
        scores /= np.where(total == 0, scores.dtype.type(1), total)


def _probabilities(scores: np.ndarray, lse: np.ndarray, causal: int, compiled: bool) -> None:
    if compiled:
        _compiled.probabilities[scores.dtype.char](scores, lse, causal, 0, len(scores))
        return
    with ignoring():
        scores -= lse[:, :, None]
        np.exp(scores, out=scores)
    if causal:
        scores[:, ~_allowed(scores, causal)] = 0


def _score_grad(dp: np.ndarray, p: np.ndarray, delta: np.ndarray, compiled: bool) -> None:
    if compiled:
        _compiled.score_grad[p.dtype.char](dp, p, delta, 0, len(p))
        return
    dp -= delta[:, :, None]
    dp *= p


def _hiding(mask: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """0 where a mask is set, -inf elsewhere: without a branch for each element, of which NumPy's `where` foretells few."""
    word = np.dtype(f"u{dtype.itemsize}")
    bits = mask.view(np.uint8).astype(word)
    bits -= word.type(1)
    bits &= np.array(-np.inf, dtype).view(word)
    return bits.view(dtype)


def _factor(q: np.ndarray, scale: float | None) -> float:
    """What scores are multiplied by; queries without features have scores of 0, whatever it is."""
    return 1 / math.sqrt(q.shape[-1] or 1) if scale is None else float(scale)


def _as(a: np.ndarray, dtype: np.dtype) -> np.ndarray:
    return a if a.dtype == dtype else halves.recast(a, dtype)


class _Blocks:
    """Heads as one leading axis, in blocks of some heads, or of some queries of one; with the mask made addable and broadcast over the
    same axis."""

    def __init__(self, q: np.ndarray, k: np.ndarray, v: np.ndarray, mask: np.ndarray | None, causal: bool) -> None:
        lead = np.broadcast_shapes(q.shape[:-2], k.shape[:-2], v.shape[:-2])
        if mask is not None:
            lead = np.broadcast_shapes(lead, mask.shape[:-2])
        self.lead, self.heads = lead, prod(lead)
        self.q, self.k, self.v = (self.flat(a) for a in (q, k, v))
        self.mask: np.ndarray | None = None
        self.mask_of: np.ndarray | None = None
        scores = (*lead, q.shape[-2], k.shape[-2])
        if mask is not None:
            if mask.dtype == np.bool_:
                added = _hiding(mask, self.q.dtype)
            else:
                added = compute_array(mask).astype(self.q.dtype, copy=False)
            if added.ndim < 2:
                added = added.reshape((1,) * (2 - added.ndim) + added.shape)
            # Row i of ``mask_of`` names the mask of head i: a mask shared by heads is not copied for each.
            own = added.reshape(prod(added.shape[:-2]), *added.shape[-2:])
            names = np.arange(len(own)).reshape(added.shape[:-2])
            self.mask, self.mask_of = own, np.broadcast_to(names, lead).reshape(-1)
        self.size = prod(scores)
        self.step = max(1, min(self.heads, _BLOCK // max(1, scores[-1] * scores[-2])))
        self.compiled = self.size * max(1, q.shape[-1]) >= state.fused and scores[-1] > 0
        self.causal, self.queries, self.keys = causal, scores[-2], scores[-1]
        #: Queries of a block: all, where those of a head stay in the cache.
        self.rows = self.queries
        if scores[-1] * scores[-2] > _BLOCK:
            self.rows = max(_FEWEST, _LONG // max(1, self.keys))
        self.reach: dict[tuple[int, int], tuple[int, int]] | None = None
        # Few queries are soon done with the keys that they do not see.
        if self.mask is not None and self.queries >= _FEWEST and np.isfinite(self.k).all() and np.isfinite(self.v).all():
            self.reach = {}

    def flat(self, a: np.ndarray) -> np.ndarray:
        c = contiguous(compute_array(a))
        full = (*self.lead, *c.shape[-2:])
        if c.shape != full:
            c = np.ascontiguousarray(np.broadcast_to(c, full))
        return c.reshape(self.heads, *c.shape[-2:])

    def seen(self, a: int, b: int, first: int, last: int) -> tuple[int, int]:
        """The keys between which lie all that queries [first, last) of heads [a, b) may look at."""
        if self.causal:
            return 0, min(self.keys, last)
        low, high = 0, self.keys
        if self.reach is not None and self.mask_of is not None and b == a + 1:
            key = int(self.mask_of[a]), first
            if key not in self.reach:
                self.reach[key] = self._reached(key[0], first, last)
            low, high = self.reach[key]
        return low, high

    def _reached(self, name: int, first: int, last: int) -> tuple[int, int]:
        assert self.mask is not None  # it is asked for where there is one
        rows = self.mask[name] if self.mask.shape[1] == 1 else self.mask[name, first:last]
        found = np.flatnonzero(np.logical_or.reduce(rows != -np.inf, 0))
        if not found.size:
            return 0, 0
        return (0, self.keys) if rows.shape[1] == 1 else (int(found[0]), int(found[-1]) + 1)

    def scores(self, a: int, b: int, first: int, last: int, low: int, high: int, scale: float) -> np.ndarray:
        """Those of queries [first, last) and keys [low, high) of heads [a, b)."""
        q, dtype = self.q[a:b, first:last], self.q.dtype
        q = np.multiply(q, dtype.type(scale), out=scratch(q.shape, dtype, "queries"))
        s = np.matmul(q, self.k[a:b, low:high].swapaxes(1, 2), out=scratch((b - a, last - first, high - low), dtype, "scores"))
        if self.mask is not None and self.mask_of is not None:
            with ignoring():
                for i in range(a, b):
                    mask = self.mask[self.mask_of[i]]
                    mask = mask if mask.shape[0] == 1 else mask[first:last]
                    s[i - a] += mask if mask.shape[1] == 1 else mask[:, low:high]
        return s

    def run(self, block: Callable[[int, int, int, int], None], together: bool) -> None:
        """``block(a, b, first, last)`` over all heads and queries: shared by the pool with BLAS on one thread, if there are enough. With
        ``together``, blocks of one head are not at work at the same time."""
        parts = -(-self.queries // self.rows) if self.queries else 1
        heads = -(-self.heads // self.step)

        def one(i: int, part: int) -> None:
            first = part * self.rows
            block(i * self.step, min((i + 1) * self.step, self.heads), first, min(first + self.rows, self.queries))

        def some(start: int, stop: int) -> None:
            for i in range(start, stop):
                if together:
                    for part in range(parts):
                        one(i, part)
                else:
                    one(i // parts, i % parts)

        blocks = heads if together else heads * parts
        if blocks >= sharing.get_num_threads() > 1 and self.size >= _SHARED:
            with blas.one_blas_thread() as controlled:
                if controlled:
                    sharing.parallel_for(blocks, 1, some)
                    return
        some(0, blocks)


def scaled_dot_product_attention(
    q: np.ndarray,
    k: np.ndarray,
    v: np.ndarray,
    mask: np.ndarray | None = None,
    causal: bool = False,
    scale: float | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Attention of ``q`` (..., L, E) over ``k`` (..., S, E) and ``v`` (..., S, Ev); leading axes broadcast.

    ``mask`` broadcasts to (..., L, S): bool (True: may look) or added to the scores.  ``causal`` lets query i look at
    keys up to i.  ``scale`` is 1 / sqrt(E) unless given.  Returns ``(y, lse)``: y (..., L, Ev), lse (..., L).

    >>> scaled_dot_product_attention(np.zeros((1, 2)), np.zeros((2, 2)), np.array([[1.0], [3.0]]))[0]
    array([[2.]])
    """
    blocks = _Blocks(q, k, v, mask, causal)
    factor = _factor(q, scale)
    y = np.empty((blocks.heads, q.shape[-2], v.shape[-1]), blocks.q.dtype)
    lse = np.empty((blocks.heads, q.shape[-2]), blocks.q.dtype)
    if not k.shape[-2]:
        y[...], lse[...] = 0, np.inf
    else:

        def block(a: int, b: int, first: int, last: int) -> None:
            low, high = blocks.seen(a, b, first, last)
            if low == high:
                y[a:b, first:last], lse[a:b, first:last] = 0, np.inf
                return
            s = blocks.scores(a, b, first, last, low, high, factor)
            logs = np.empty(s.shape[:2], s.dtype)
            _softmax_rows(s, logs, first + 1 if causal else 0, blocks.compiled)
            lse[a:b, first:last] = logs
            np.matmul(s, blocks.v[a:b, low:high], out=y[a:b, first:last])

        blocks.run(block, False)
    shape = (*blocks.lead, q.shape[-2])
    return _as(y.reshape(*shape, v.shape[-1]), q.dtype), lse.reshape(shape)


def unbroadcast(a: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Sum ``a`` over the leading axes that were broadcast from ``shape``."""
    extra = a.ndim - len(shape)
    axes = (*range(extra), *(i + extra for i, n in enumerate(shape) if n == 1 and a.shape[i + extra] != 1))
    return a.sum(axes).reshape(shape) if axes else a


def scaled_dot_product_attention_backward(
    grad: np.ndarray,
    q: np.ndarray,
    k: np.ndarray,
    v: np.ndarray,
    y: np.ndarray,
    lse: np.ndarray,
    mask: np.ndarray | None = None,
    causal: bool = False,
    scale: float | None = None,
    needs_mask: bool = False,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray | None]:
    """Gradients for ``(q, k, v, mask)``; that for an added mask only on request."""
    blocks = _Blocks(q, k, v, mask, causal)
    factor = _factor(q, scale)
    dtype = blocks.q.dtype
    g = blocks.flat(grad)
    result = blocks.flat(y)
    logs = contiguous(lse.astype(dtype, copy=False)).reshape(blocks.heads, q.shape[-2])
    delta = np.einsum("hld,hld->hl", g, result)
    dq, dk, dv = np.empty_like(blocks.q), np.empty_like(blocks.k), np.empty_like(blocks.v)
    dmask = np.empty((blocks.heads, q.shape[-2], k.shape[-2]), dtype) if needs_mask else None
    if not k.shape[-2]:
        dq[...] = 0
    else:

        def block(a: int, b: int, first: int, last: int) -> None:
            low, high = blocks.seen(a, b, first, last)
            whole = last - first == blocks.queries and high - low == blocks.keys
            if not whole:
                if not first:
                    dk[a:b], dv[a:b] = 0, 0
                if dmask is not None:
                    dmask[a:b, first:last] = 0
                if low == high:
                    dq[a:b, first:last] = 0
                    return
            p, upstream = blocks.scores(a, b, first, last, low, high, factor), g[a:b, first:last]
            _probabilities(p, contiguous(logs[a:b, first:last]), first + 1 if causal else 0, blocks.compiled)
            ds = np.matmul(upstream, blocks.v[a:b, low:high].swapaxes(1, 2), out=scratch(p.shape, dtype, "slopes"))
            _score_grad(ds, p, contiguous(delta[a:b, first:last]), blocks.compiled)
            if dmask is not None:
                dmask[a:b, first:last, low:high] = ds
            ds *= dtype.type(factor)
            np.matmul(ds, blocks.k[a:b, low:high], out=dq[a:b, first:last])
            if whole:
                np.matmul(p.swapaxes(1, 2), upstream, out=dv[a:b])
                np.matmul(ds.swapaxes(1, 2), blocks.q[a:b], out=dk[a:b])
            else:
                dv[a:b, low:high] += np.matmul(p.swapaxes(1, 2), upstream)
                dk[a:b, low:high] += np.matmul(ds.swapaxes(1, 2), blocks.q[a:b, first:last])

        if not q.shape[-2]:
            dk[...], dv[...] = 0, 0
        blocks.run(block, True)
    lead = blocks.lead
    grads = [
        _as(unbroadcast(d.reshape(*lead, *a.shape[-2:]), a.shape), a.dtype)
        for d, a in ((dq, q), (dk, k), (dv, v))
    ]
    if dmask is None or mask is None:
        return grads[0], grads[1], grads[2], None
    full = dmask.reshape(*lead, q.shape[-2], k.shape[-2])
    return grads[0], grads[1], grads[2], _as(unbroadcast(full, mask.shape), mask.dtype)
