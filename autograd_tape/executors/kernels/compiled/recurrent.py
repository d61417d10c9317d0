"""Recurrences: one step for all sequences, after the product with the state, gates and their gradients; and all steps of a few.

Rows ``at`` and those after it, as many as there are sequences, are those of the step in arrays over all steps. Loops are short and
many, of few arrays each: that is what the compiler makes SIMD code of.
"""

from __future__ import annotations

import numpy as np
from numba.extending import register_jitable

from ....annotations import Fn
from .._kernel import Kernel
from .base import EXACT, FUSE, kernel, relu, rounded, sigmoid, tanh, wide

_inlined = register_jitable(nogil=True, fastmath=set(FUSE), error_model="numpy")


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


def _rnn_grad(name: str, slope: Fn) -> Kernel:
    """The rows of ``dgates`` become the gradient for the sum, of that of the outputs, ``grad``, and of the state after it, ``dh``."""

    def step(y, grad, dh, dgates, at, start, stop):
        T = y.dtype.type
        for r in range(start, stop):
            ys, gs, hs, ds = y[at + r], grad[at + r], dh[r], dgates[at + r]
            for j in range(ys.size):
                ds[j] = slope(ys[j], gs[j] + hs[j], T(0), T(1))

    step.__name__ = step.__qualname__ = name
    return kernel("r2[t,k] r2[t,k] r2[n,k] w2[t,k] i (at>=0) (at+n<=t) |n")(step)


@_inlined
def _tanh_slope(y, g, zero, one):
    return g * (one - y * y)


@_inlined
def _relu_slope(y, g, zero, one):
    return zero if y <= zero else g


rnn_tanh_grad, rnn_relu_grad = _rnn_grad("rnn_tanh_grad", _tanh_slope), _rnn_grad("rnn_relu_grad", _relu_slope)


# -- all steps, where there are few sequences: then calls would take longer than what they do ---------------------------------
#
# ``rows`` hold, in the order of the steps, which row is a step's first, and how many it has. A weight is laid out as (what goes in, what
# comes out).


@_inlined
def _fits(rows, s, total, most):
    return rows[s, 0] >= 0 and 0 <= rows[s, 1] <= most and rows[s, 0] + rows[s, 1] <= total


@_inlined
def _times(a, at, n, weight, out, added):
    """The first ``n`` rows of ``out`` become the products of those of ``a`` from ``at`` on, or get them ``added``."""
    inner = weight.shape[0]
    fours = inner - inner % 4
    for r in range(n):
        x, ys = a[at + r], out[r]
        if not added:
            for i in range(ys.size):
                ys[i] = 0
        for j in range(0, fours, 4):
            x0, x1, x2, x3 = x[j], x[j + 1], x[j + 2], x[j + 3]
            w0, w1, w2, w3 = weight[j], weight[j + 1], weight[j + 2], weight[j + 3]
            for i in range(ys.size):
                ys[i] += x0 * w0[i] + x1 * w1[i] + x2 * w2[i] + x3 * w3[i]
        for j in range(fours, inner):
            x0, w0 = x[j], weight[j]
            for i in range(ys.size):
                ys[i] += x0 * w0[i]


_lstm, _lstm_grad, _gru, _gru_grad = [_inlined(step.function) for step in (lstm, lstm_grad, gru, gru_grad)]


@kernel("w2[t,4*k] r2[k,4*k] r1[4*k] w2[n,k] w2[n,k] w2[t,k] w2[t,k] x2[s,2]")
def lstm_steps(gates, weight, bias, h, c, cells, y, rows):
    product = np.empty((h.shape[0], weight.shape[1]), h.dtype)
    for s in range(rows.shape[0]):
        if not _fits(rows, s, gates.shape[0], h.shape[0]):
            return False
        at, n = rows[s, 0], rows[s, 1]
        _times(h, 0, n, weight, product, False)
        _lstm(gates, product, bias, c, cells, y, at, 0, n)
        for r in range(n):
            for j in range(h.shape[1]):
                h[r, j] = y[at + r, j]
    return True


@kernel("r2[t,4*k] r2[t,k] r2[t,k] r2[t,k] w2[n,k] w2[n,k] w2[t,4*k] r2[4*k,k] x2[s,2]")
def lstm_steps_grad(gates, cells, before, grad, dh, dc, dgates, weight, rows):
    for s in range(rows.shape[0]):
        if not _fits(rows, s, gates.shape[0], dh.shape[0]):
            return False
        at, n = rows[s, 0], rows[s, 1]
        _lstm_grad(gates, cells, before, grad, dh, dc, dgates, at, 0, n)
        _times(dgates, at, n, weight, dh, False)
    return True


@kernel("w2[t,3*k] r2[k,3*k] r1[4*k] w2[n,k] w2[t,k] w2[t,k] x2[s,2]")
def gru_steps(gates, weight, bias, h, news, y, rows):
    product = np.empty((h.shape[0], weight.shape[1]), h.dtype)
    for s in range(rows.shape[0]):
        if not _fits(rows, s, gates.shape[0], h.shape[0]):
            return False
        at, n = rows[s, 0], rows[s, 1]
        _times(h, 0, n, weight, product, False)
        _gru(gates, product, bias, h, news, y, at, 0, n)
    return True


@kernel("r2[t,3*k] r2[t,k] r2[t,k] r2[t,k] w2[n,k] w2[t,3*k] w2[t,3*k] r2[3*k,k] x2[s,2]")
def gru_steps_grad(gates, news, before, grad, dh, dgates, dproducts, weight, rows):
    for s in range(rows.shape[0]):
        if not _fits(rows, s, gates.shape[0], dh.shape[0]):
            return False
        at, n = rows[s, 0], rows[s, 1]
        _gru_grad(gates, news, before, grad, dh, dgates, dproducts, at, 0, n)
        _times(dproducts, at, n, weight, dh, True)
    return True


def _rnn_steps(one: Kernel, back: Kernel) -> tuple[Kernel, Kernel]:
    step, grad_step = _inlined(one.function), _inlined(back.function)

    def steps(gates, weight, bias, h, y, rows):
        product = np.empty((h.shape[0], weight.shape[1]), h.dtype)
        for s in range(rows.shape[0]):
            if not _fits(rows, s, gates.shape[0], h.shape[0]):
                return False
            at, n = rows[s, 0], rows[s, 1]
            _times(h, 0, n, weight, product, False)
            step(gates, product, bias, h, y, at, 0, n)
        return True

    def steps_grad(y, grad, dh, dgates, weight, rows):
        for s in range(rows.shape[0]):
            if not _fits(rows, s, y.shape[0], dh.shape[0]):
                return False
            at, n = rows[s, 0], rows[s, 1]
            grad_step(y, grad, dh, dgates, at, 0, n)
            _times(dgates, at, n, weight, dh, False)
        return True

    for function, name in ((steps, "steps"), (steps_grad, "steps_grad")):
        function.__name__ = function.__qualname__ = f"{one.function.__name__}_{name}"
    return (kernel("r2[t,k] r2[k,k] r1[k] w2[n,k] w2[t,k] x2[s,2]")(steps),
            kernel("r2[t,k] r2[t,k] w2[n,k] w2[t,k] r2[k,k] x2[s,2]")(steps_grad))


rnn_tanh_steps, rnn_tanh_steps_grad = _rnn_steps(rnn_tanh, rnn_tanh_grad)
rnn_relu_steps, rnn_relu_steps_grad = _rnn_steps(rnn_relu, rnn_relu_grad)


# -- one step of half precision, rounded after each operation, as where each is one of its own ---------------------------------
#
# ``gates`` hold the inputs' part, ``product`` the state's with its bias, not rounded yet; states are in single precision.


@register_jitable(nogil=True, error_model="numpy", forceinline=True)
def _step(gates, v):
    return wide(rounded(gates, v))


@kernel("r2[n,k] e2[n,k] E2[n,k] i :n", EXACT, "E")
def rnn_rounded(gates, product, y, is_relu, start, stop):
    for r in range(start, stop):
        gs, ps, ys = gates[r], product[r], y[r]
        for j in range(ys.size):
            ys[j] = _step(gates, wide(gs[j]) + _step(gates, ps[j]))
        if is_relu:
            for j in range(ys.size):
                ys[j] = relu(ys[j])
        else:
            for j in range(ys.size):
                ys[j] = _step(gates, tanh(ys[j]))


@kernel("r2[n,4*k] e2[n,4*k] e2[n,k] E2[n,k] E2[n,k] :n", EXACT, "E")
def lstm_rounded(gates, product, c, y, new, start, stop):
    k = c.shape[1]
    g = np.empty(4 * k, np.float32)
    i, f, t, o = g[:k], g[k : 2 * k], g[2 * k : 3 * k], g[3 * k :]
    for r in range(start, stop):
        gs, ps, cs, ys, ns = gates[r], product[r], c[r], y[r], new[r]
        for j in range(g.size):
            g[j] = _step(gates, wide(gs[j]) + _step(gates, ps[j]))
        for j in range(t.size):
            t[j] = _step(gates, tanh(t[j]))
        for j in range(t.size):
            i[j] = _step(gates, _step(gates, sigmoid(i[j])) * t[j])
        for j in range(t.size):
            f[j] = _step(gates, _step(gates, sigmoid(f[j])) * cs[j])
        for j in range(t.size):
            ns[j] = _step(gates, f[j] + i[j])
        for j in range(t.size):
            t[j] = _step(gates, tanh(ns[j]))
        for j in range(t.size):
            ys[j] = _step(gates, _step(gates, sigmoid(o[j])) * t[j])


@kernel("r2[n,3*k] e2[n,3*k] e2[n,k] E2[n,k] :n", EXACT, "E")
def gru_rounded(gates, product, h, y, start, stop):
    k = h.shape[1]
    both, z = np.empty(2 * k, np.float32), np.empty(k, np.float32)
    for r in range(start, stop):
        gs, ps, hs, ys = gates[r], product[r], h[r], y[r]
        xs, ns = gs[2 * k :], ps[2 * k :]
        for j in range(both.size):
            both[j] = _step(gates, wide(gs[j]) + _step(gates, ps[j]))
        for j in range(both.size):
            both[j] = _step(gates, sigmoid(both[j]))
        for j in range(z.size):
            z[j] = both[k + j]
        for j in range(z.size):
            ys[j] = _step(gates, wide(xs[j]) + _step(gates, both[j] * _step(gates, ns[j])))
        for j in range(z.size):
            ys[j] = _step(gates, tanh(ys[j]))
        for j in range(z.size):
            ys[j] = _step(gates, _step(gates, _step(gates, hs[j] - ys[j]) * z[j]) + ys[j])
