"""One step of a recurrence for all sequences, after the product with the state: gates, and their gradients.

Rows ``at`` and those after it, as many as there are sequences, are those of the step in arrays over all steps. Loops are short and
many, of few arrays each: that is what the compiler makes SIMD code of.
"""

from __future__ import annotations

import numpy as np

from ....annotations import Fn
from .._kernel import Kernel
from .base import kernel, relu, sigmoid, tanh


@kernel("w2[t,4*k] r2[n,4*k] r1[4*k] w2[n,k] w2[t,k] w2[t,k] i (at>=0) (at+n<=t) |n")
def lstm(gates, product, bias, c, cells, y, at, start, stop):
    """``gates`` hold the inputs' part and become those after their functions; ``c`` becomes the new cell state, as do the rows of
    ``cells``; the rows of ``y`` the hidden state."""
    k = c.shape[1]
    for r in range(start, stop):
        gs, ps, cs, kept, ys = gates[at + r], product[r], c[r], cells[at + r], y[at + r]
        for j in range(2 * k):
            gs[j] = sigmoid(gs[j] + ps[j] + bias[j])
        i, f, g, o, pg, po = gs[:k], gs[k : 2 * k], gs[2 * k : 3 * k], gs[3 * k :], ps[2 * k : 3 * k], ps[3 * k :]
        bg, bo = bias[2 * k : 3 * k], bias[3 * k :]
        for j in range(k):
            g[j] = tanh(g[j] + pg[j] + bg[j])
        for j in range(k):
            o[j] = sigmoid(o[j] + po[j] + bo[j])
        for j in range(k):
            cs[j] = f[j] * cs[j] + i[j] * g[j]
        for j in range(k):
            kept[j] = cs[j]
        for j in range(k):
            ys[j] = o[j] * tanh(cs[j])


@kernel("r2[t,4*k] r2[t,k] r2[t,k] r2[t,k] r2[n,k] w2[n,k] w2[t,4*k] i (at>=0) (at+n<=t) |n")
def lstm_grad(gates, cells, before, grad, dh, dc, dgates, at, start, stop):
    """The rows of ``dgates`` become the gradient for the gates before their functions, of that of the hidden state, ``grad + dh``, and
    of the cell state, ``dc``, which becomes that for the one ``before``."""
    T = gates.dtype.type
    k = dc.shape[1]
    d, t = np.empty(k, dc.dtype), np.empty(k, dc.dtype)
    for r in range(start, stop):
        gs, ds, hs, cs = gates[at + r], dgates[at + r], dh[r], dc[r]
        new, old, ys = cells[at + r], before[at + r], grad[at + r]
        i, f, g, o = gs[:k], gs[k : 2 * k], gs[2 * k : 3 * k], gs[3 * k :]
        di, df, dg, do = ds[:k], ds[k : 2 * k], ds[2 * k : 3 * k], ds[3 * k :]
        for j in range(k):
            d[j] = hs[j] + ys[j]
        for j in range(k):
            t[j] = tanh(new[j])
        for j in range(k):
            do[j] = d[j] * t[j] * o[j] * (T(1) - o[j])
        for j in range(k):
            cs[j] += d[j] * o[j] * (T(1) - t[j] * t[j])
        for j in range(k):
            di[j] = cs[j] * g[j] * i[j] * (T(1) - i[j])
        for j in range(k):
            dg[j] = cs[j] * i[j] * (T(1) - g[j] * g[j])
        for j in range(k):
            df[j] = cs[j] * old[j] * f[j] * (T(1) - f[j])
        for j in range(k):
            cs[j] *= f[j]


@kernel("w2[t,3*k] r2[n,3*k] r1[4*k] w2[n,k] w2[t,k] w2[t,k] i (at>=0) (at+n<=t) |n")
def gru(gates, product, bias, h, news, y, at, start, stop):
    """``gates`` hold the inputs' part and become those after their functions; the rows of ``news`` the state's part of the new one,
    with its bias, the last of four; ``h`` and the rows of ``y`` the new state."""
    k = h.shape[1]
    for r in range(start, stop):
        gs, ps, hs, kept, ys = gates[at + r], product[r], h[r], news[at + r], y[at + r]
        for j in range(2 * k):
            gs[j] = sigmoid(gs[j] + ps[j] + bias[j])
        reset, z, new, pn = gs[:k], gs[k : 2 * k], gs[2 * k :], ps[2 * k :]
        bx, bh = bias[2 * k : 3 * k], bias[3 * k :]
        for j in range(k):
            kept[j] = pn[j] + bh[j]
        for j in range(k):
            new[j] = tanh(new[j] + bx[j] + reset[j] * kept[j])
        for j in range(k):
            hs[j] = (hs[j] - new[j]) * z[j] + new[j]
        for j in range(k):
            ys[j] = hs[j]


@kernel("r2[t,3*k] r2[t,k] r2[t,k] r2[t,k] w2[n,k] w2[t,3*k] w2[t,3*k] i (at>=0) (at+n<=t) |n")
def gru_grad(gates, news, before, grad, dh, dgates, dproducts, at, start, stop):
    """The rows of ``dgates`` become the gradient for the inputs' part of the gates, those of ``dproducts`` that for the state's, of that
    of the new state, ``grad + dh``; ``dh`` becomes the part of the gradient for the old one that the product does not give."""
    T = gates.dtype.type
    k = dh.shape[1]
    for r in range(start, stop):
        gs, ds, ps, hs = gates[at + r], dgates[at + r], dproducts[at + r], dh[r]
        kept, old, ys = news[at + r], before[at + r], grad[at + r]
        reset, z, new = gs[:k], gs[k : 2 * k], gs[2 * k :]
        dr, dz, dn, pn = ds[:k], ds[k : 2 * k], ds[2 * k :], ps[2 * k :]
        for j in range(k):
            hs[j] += ys[j]
        for j in range(k):
            dz[j] = hs[j] * (old[j] - new[j]) * z[j] * (T(1) - z[j])
        for j in range(k):
            dn[j] = hs[j] * (T(1) - z[j]) * (T(1) - new[j] * new[j])
        for j in range(k):
            hs[j] *= z[j]
        for j in range(k):
            dr[j] = dn[j] * kept[j] * reset[j] * (T(1) - reset[j])
        for j in range(k):
            pn[j] = dn[j] * reset[j]
        for j in range(2 * k):
            ps[j] = ds[j]


def _rnn(name: str, activation: Fn) -> Kernel:
    """``h`` and the rows of ``y`` become ``activation`` of the sum of the inputs' part, the state's, and the bias."""

    def step(gates, product, bias, h, y, at, start, stop):
        for r in range(start, stop):
            gs, ps, hs, ys = gates[at + r], product[r], h[r], y[at + r]
            for j in range(hs.size):
                hs[j] = activation(gs[j] + ps[j] + bias[j])
            for j in range(hs.size):
                ys[j] = hs[j]

    step.__name__ = step.__qualname__ = name
    return kernel("r2[t,k] r2[n,k] r1[k] w2[n,k] w2[t,k] i (at>=0) (at+n<=t) |n")(step)


rnn_tanh, rnn_relu = _rnn("rnn_tanh", tanh), _rnn("rnn_relu", relu)


@kernel("r2[t,k] r2[t,k] r2[n,k] w2[t,k] i (at>=0) (at+n<=t) |n")
def rnn_tanh_grad(y, grad, dh, dgates, at, start, stop):
    T = y.dtype.type
    for r in range(start, stop):
        ys, gs, hs, ds = y[at + r], grad[at + r], dh[r], dgates[at + r]
        for j in range(ys.size):
            ds[j] = (gs[j] + hs[j]) * (T(1) - ys[j] * ys[j])


@kernel("r2[t,k] r2[t,k] r2[n,k] w2[t,k] i (at>=0) (at+n<=t) |n")
def rnn_relu_grad(y, grad, dh, dgates, at, start, stop):
    T = y.dtype.type
    for r in range(start, stop):
        ys, gs, hs, ds = y[at + r], grad[at + r], dh[r], dgates[at + r]
        for j in range(ys.size):
            ds[j] = T(0) if ys[j] <= T(0) else gs[j] + hs[j]
