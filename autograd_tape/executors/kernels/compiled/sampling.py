"""Sums of weighted elements at given places, one place of each result at a time, so that the inner loops run along the results."""

from __future__ import annotations

from .base import kernel


@kernel("r2[p,size] x3[k,n,l] r3[k,n,l] w2[p,l] i (channels>0) (p==n*channels) :p")
def weighted_sums(x, index, weight, y, channels, start, stop):
    T = x.dtype.type
    for p in range(start, stop):
        values, sums, n = x[p], y[p], p // channels
        sums[:] = T(0)
        for k in range(index.shape[0]):
            at, by = index[k, n], weight[k, n]
            for i in range(sums.size):
                j = at[i]
                if j >= values.size:
                    return False
                sums[i] += by[i] * (values[j] if j >= 0 else T(0))
    return True


@kernel("r3[n,c,l] r3[n,c,size] x3[k,n,l] r3[k,n,l] w3[n,c,size]? w3[k,n,l]? :n")
def weighted_sums_backward(grad, x, index, weight, dx, dw, start, stop):
    T = x.dtype.type
    for n in range(start, stop):
        if dw.size > 0:
            for k in range(index.shape[0]):
                dw[k, n] = T(0)
        for c in range(x.shape[1]):
            g, values = grad[n, c], x[n, c]
            if dx.size > 0:
                dx[n, c] = T(0)
            for k in range(index.shape[0]):
                at, by = index[k, n], weight[k, n]
                if dx.size > 0:
                    target = dx[n, c]
                    for i in range(g.size):
                        j = at[i]
                        if j >= target.size:
                            return False
                        if j >= 0:
                            target[j] += by[i] * g[i]
                if dw.size > 0:
                    sums = dw[k, n]
                    for i in range(g.size):
                        j = at[i]
                        if j >= values.size:
                            return False
                        if j >= 0:
                            sums[i] += g[i] * values[j]
    return True
