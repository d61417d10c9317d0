"""Scaled dot-product attention, a block of heads at a time, so that scores never leave the cache.

``y = softmax(scale * q k^T + mask) v``.  Saved for the vjp are the result and one log-sum-exp per query; the
probabilities are computed again (Dao et al., "FlashAttention", arXiv:2205.14135).  A query that may look at no key gets
zeros, as in torch.  Half precision computes in float32.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from math import prod

import numpy as np

from . import blas, sharing
from ._on_demand import LazyModule, compute_array, contiguous, state
from ...warned import ignoring

__all__ = ["scaled_dot_product_attention", "scaled_dot_product_attention_backward"]

_compiled = LazyModule("attention")
#: Scores of one block of heads: about half of a second-level cache.
_BLOCK = 1 << 17
#: Fewest scores worth sharing.
_SHARED = 1 << 16


def _softmax_rows(scores: np.ndarray, lse: np.ndarray, causal: bool, compiled: bool) -> None:
    if compiled:
        _compiled.softmax_rows[scores.dtype.char](scores, lse, causal, 0, len(scores))
        return
    with ignoring():
        if causal:
            scores[:, ~_triangle(scores.shape)] = -np.inf
        top = scores.max(2, keepdims=True)
        top[top == -np.inf] = 0
        scores -= top
        np.exp(scores, out=scores)
        total = scores.sum(2, keepdims=True)
        lse[...] = np.where(total == 0, np.inf, top + np.log(total))[:, :, 0]
        scores /= np.where(total == 0, scores.dtype.type(1), total)


def _probabilities(scores: np.ndarray, lse: np.ndarray, causal: bool, compiled: bool) -> None:
    if compiled:
        _compiled.probabilities[scores.dtype.char](scores, lse, causal, 0, len(scores))
        return
    with ignoring():
        scores -= lse[:, :, None]
        np.exp(scores, out=scores)
    if causal:
        scores[:, ~_triangle(scores.shape)] = 0


def _score_grad(dp: np.ndarray, p: np.ndarray, delta: np.ndarray, compiled: bool) -> None:
    if compiled:
        _compiled.score_grad[p.dtype.char](dp, p, delta, 0, len(p))
        return
    dp -= delta[:, :, None]
    dp *= p


def _factor(q: np.ndarray, scale: float | None) -> float:
    """What scores are multiplied by; queries without features have scores of 0, whatever it is."""
    return 1 / math.sqrt(q.shape[-1] or 1) if scale is None else float(scale)


def _triangle(shape: tuple[int, ...]) -> np.ndarray:
    return np.tri(shape[-2], shape[-1], dtype=bool)


class _Blocks:
    """Heads as one leading axis, in blocks; with the mask made addable and broadcast over the same axis."""

    def __init__(self, q: np.ndarray, k: np.ndarray, v: np.ndarray, mask: np.ndarray | None) -> None:
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
                added = np.zeros(mask.shape, self.q.dtype)
                added[~mask] = -np.inf
            else:
                added = mask.astype(self.q.dtype, copy=False)
            if added.ndim < 2:
                added = added.reshape((1,) * (2 - added.ndim) + added.shape)
            # Row i of ``mask_of`` names the mask of head i: a mask shared by heads is not copied for each.
            own = added.reshape(prod(added.shape[:-2]), *added.shape[-2:])
            names = np.arange(len(own)).reshape(added.shape[:-2])
            self.mask, self.mask_of = own, np.broadcast_to(names, lead).reshape(-1)
        self.size = prod(scores)
        self.step = max(1, min(self.heads, _BLOCK // max(1, scores[-1] * scores[-2])))
        self.compiled = self.size >= state.fused and scores[-1] > 0

    def flat(self, a: np.ndarray) -> np.ndarray:
        c = contiguous(compute_array(a))
        full = (*self.lead, *c.shape[-2:])
        if c.shape != full:
            c = np.ascontiguousarray(np.broadcast_to(c, full))
        return c.reshape(self.heads, *c.shape[-2:])

    def scores(self, a: int, b: int, scale: float) -> np.ndarray:
        q = self.q[a:b] * self.q.dtype.type(scale)
        s = np.matmul(q, self.k[a:b].swapaxes(1, 2))
        if self.mask is not None and self.mask_of is not None:
            with np.errstate(invalid="ignore"):
                for i in range(a, b):
                    s[i - a] += self.mask[self.mask_of[i]]
        return s

    def run(self, block: Callable[[int, int], None]) -> None:
        """``block(a, b)`` over all heads: blocks shared by the pool with BLAS on one thread, if there are enough."""
        blocks = -(-self.heads // self.step)

        def some(start: int, stop: int) -> None:
            for i in range(start, stop):
                block(i * self.step, min((i + 1) * self.step, self.heads))

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
    blocks = _Blocks(q, k, v, mask)
    factor = _factor(q, scale)
    y = np.empty((blocks.heads, q.shape[-2], v.shape[-1]), blocks.q.dtype)
    lse = np.empty((blocks.heads, q.shape[-2]), blocks.q.dtype)
    if not k.shape[-2]:
        y[...], lse[...] = 0, np.inf
    else:

        def block(a: int, b: int) -> None:
            s = blocks.scores(a, b, factor)
            _softmax_rows(s, lse[a:b], causal, blocks.compiled)
            np.matmul(s, blocks.v[a:b], out=y[a:b])

        blocks.run(block)
    shape = (*blocks.lead, q.shape[-2])
    return y.reshape(*shape, v.shape[-1]).astype(q.dtype, copy=False), lse.reshape(shape)


def _unbroadcast(a: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
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
    blocks = _Blocks(q, k, v, mask)
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

        def block(a: int, b: int) -> None:
            p = blocks.scores(a, b, factor)
            _probabilities(p, logs[a:b], causal, blocks.compiled)
            np.matmul(p.swapaxes(1, 2), g[a:b], out=dv[a:b])
            ds = np.matmul(g[a:b], blocks.v[a:b].swapaxes(1, 2))
            _score_grad(ds, p, delta[a:b], blocks.compiled)
            if dmask is not None:
                dmask[a:b] = ds
            ds *= dtype.type(factor)
            np.matmul(ds, blocks.k[a:b], out=dq[a:b])
            np.matmul(ds.swapaxes(1, 2), blocks.q[a:b], out=dk[a:b])

        blocks.run(block)
    lead = blocks.lead
    grads = [
        _unbroadcast(d.reshape(*lead, *a.shape[-2:]), a.shape).astype(a.dtype, copy=False)
        for d, a in ((dq, q), (dk, k), (dv, v))
    ]
    if dmask is None or mask is None:
        return grads[0], grads[1], grads[2], None
    full = dmask.reshape(*lead, q.shape[-2], k.shape[-2])
    return grads[0], grads[1], grads[2], _unbroadcast(full, mask.shape).astype(mask.dtype, copy=False)
