"""The row-wise parts of attention, in place on a block of scores (batch, queries, keys)."""

from __future__ import annotations

import math

from numba.extending import register_jitable

from .base import REORDER, kernel, largest
from .base import exp as exp_


@register_jitable(fastmath=set(REORDER), error_model="numpy")
def _become_probabilities(row):
    """A row of scores becomes its softmax, or zeros, where all are -inf; returns the greatest and the sum of exponentials (0 for zeros)."""
    T = row.dtype.type
    m = largest(row)
    if m == T(-math.inf):
        hidden = True  # unless a NaN, which ``largest`` may have passed over, is among them
        for i in range(row.size):
            hidden = hidden and row[i] == m
        if hidden:
            row[:] = T(0)
            return m, T(0)
    total = T(0)
    for i in range(row.size):
        e = exp_(row[i] - m)
        row[i] = e
        total += e
    scale = T(1) / total
    for i in range(row.size):
        row[i] *= scale
    return m, total


@kernel("w3[b,q,k] w2[b,q] i (causal>=0) |b", REORDER)
def softmax_rows(scores, lse, causal, start, stop):
    """Scores become probabilities, and ``lse`` their log-sum-exp; a row of nothing but -inf becomes zeros (lse
    +inf). With ``causal``, query r sees no more than r + causal keys."""
    T = scores.dtype.type
    queries, keys = scores.shape[1], scores.shape[2]
    for item in range(start, stop):
        for r in range(queries):
            row = scores[item, r]
            if causal:
                row[min(r + causal, keys) :] = T(0)
                row = row[: min(r + causal, keys)]
            m, total = _become_probabilities(row)
            lse[item, r] = T(math.inf) if total == T(0) else m + T(math.log(total))


@kernel("r3[h,q,d] r3[h,k,d] r3[h,k,c] r3[h,q,k]? b3[h,q,k]? w3[h,q,k] w3[h,q,c] s i (causal>=0) (k>0) :h", REORDER, fresh=True)
def attend(query, key, value, bias, seen, p, y, scale, causal, start, stop):
    """Few queries at once: ``p = softmax(scale * query key^T + bias)`` of the keys that are ``seen``, and ``y = p value``; keys and values
    are read once by each query, four at a time. With ``causal``, query r sees no more than r + causal keys."""
    T = y.dtype.type
    keys, factor = key.shape[1], T(scale)
    for h in range(start, stop):
        ks, vs = key[h], value[h]
        for r in range(query.shape[1]):
            q, row, out = query[h, r], p[h, r], y[h, r]
            n = min(r + causal, keys) if causal else keys
            fours = n - n % 4
            for j in range(0, fours, 4):
                k0, k1, k2, k3 = ks[j], ks[j + 1], ks[j + 2], ks[j + 3]
                s0 = s1 = s2 = s3 = T(0)
                for i in range(q.size):
                    s0 += q[i] * k0[i]
                    s1 += q[i] * k1[i]
                    s2 += q[i] * k2[i]
                    s3 += q[i] * k3[i]
                row[j], row[j + 1], row[j + 2], row[j + 3] = s0 * factor, s1 * factor, s2 * factor, s3 * factor
            for j in range(fours, n):
                k0 = ks[j]
                s0 = T(0)
                for i in range(q.size):
                    s0 += q[i] * k0[i]
                row[j] = s0 * factor
            row[n:] = T(0)
            if bias.size:
                for j in range(n):
                    row[j] += bias[h, r, j]
            if seen.size:
                for j in range(n):
                    row[j] = row[j] if seen[h, r, j] else T(-math.inf)
            _become_probabilities(row[:n])
            out[:] = T(0)
            fours = keys - keys % 4  # hidden keys, too: zero times an infinite value is NaN
            for j in range(0, fours, 4):
                p0, p1, p2, p3 = row[j], row[j + 1], row[j + 2], row[j + 3]
                v0, v1, v2, v3 = vs[j], vs[j + 1], vs[j + 2], vs[j + 3]
                for i in range(out.size):
                    out[i] += p0 * v0[i] + p1 * v1[i] + (p2 * v2[i] + p3 * v3[i])
            for j in range(fours, keys):
                p0, v0 = row[j], vs[j]
                for i in range(out.size):
                    out[i] += p0 * v0[i]


@kernel("w3[b,q,k] r2[b,q] i (causal>=0) |b")
def probabilities(scores, lse, causal, start, stop):
    """Scores become probabilities, from the log-sum-exp that ``softmax_rows`` returned."""
    T = scores.dtype.type
    queries, keys = scores.shape[1], scores.shape[2]
    for item in range(start, stop):
        for r in range(queries):
            row = scores[item, r]
            if causal:
                row[min(r + causal, keys) :] = T(0)
                row = row[: min(r + causal, keys)]
            m = lse[item, r]
            for i in range(row.size):
                row[i] = exp_(row[i] - m)


@kernel("w3[b,q,k] r3[b,q,k] r2[b,q] |b")
def score_grad(dp, p, delta, start, stop):
    """``dp`` becomes ``p * (dp - delta)``, the gradient of the scores."""
    for item in range(start, stop):
        for r in range(p.shape[1]):
            ds, ps, d = dp[item, r], p[item, r], delta[item, r]
            for i in range(ds.size):
                ds[i] = ps[i] * (ds[i] - d)
