"""The row-wise parts of attention, in place on a block of scores (batch, queries, keys)."""

from __future__ import annotations

import math

from .base import REORDER, kernel, largest
from .base import exp as exp_


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
            m = largest(row)
            if m == T(-math.inf):
                hidden = True  # unless a NaN, which ``largest`` may have passed over, is among them
                for i in range(row.size):
                    hidden = hidden and row[i] == m
                if hidden:
                    row[:] = T(0)
                    lse[item, r] = T(math.inf)
                    continue
            total = T(0)
            for i in range(row.size):
                e = exp_(row[i] - m)
                row[i] = e
                total += e
            lse[item, r] = m + T(math.log(total))
            scale = T(1) / total
            for i in range(row.size):
                row[i] *= scale


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
