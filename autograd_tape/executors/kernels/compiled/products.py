"""Products of few numbers of half precision, outer products, and what is added to either."""

from __future__ import annotations

from numba.extending import register_jitable

from .base import EXACT, f4, kernel, rounded, u8, wide


@kernel("r0[na] r0[nb] r0[nc] w0[b*m*p] i i i i i i i i i i i i i (b>0) (m>0) (k>0) (p>0) (a1>=0) (a2>=0) (a3>=0) (b1>=0) (b2>=0) "
        "(b3>=0) (c1>=0) (c2>=0) (c3>=0) ((b-1)*a1+(m-1)*a2+(k-1)*a3<na) ((b-1)*b1+(k-1)*b2+(p-1)*b3<nb) "
        "((nc==0)|((b-1)*c1+(m-1)*c2+(p-1)*c3<nc)) :b*m", EXACT, "Ee", fresh=True)
def multiply(x, z, c, y, b, m, k, p, a1, a2, a3, b1, b2, b3, c1, c2, c3, start, stop):
    """Products of b pairs of matrices (m, k) and (k, p) with steps of their own, plus ``c`` if there is one: sums in single precision, one
    number after another."""
    for row in range(start, stop):
        of, by, at = u8(row // m * a1 + row % m * a2), u8(row // m * b1), u8(row // m * c1 + row % m * c2)
        for j in range(p):
            total = f4(0)
            for i in range(k):
                total += wide(x[of + u8(i) * u8(a3)]) * wide(z[by + u8(i) * u8(b2) + u8(j) * u8(b3)])
            if c.size:
                total += wide(c[at + u8(j) * u8(c3)])
            y[u8(row) * u8(p) + u8(j)] = rounded(y, total)


@register_jitable(inline="always")
def _added(a, bs, xs, ys):
    """``xs + a * bs``, of which the product is rounded."""
    for i in range(ys.size):
        ys[i] = rounded(ys, wide(xs[i]) + wide(rounded(ys, a * wide(bs[i]))))


@kernel("r0[n] r0[m] r0[size] w0[n*m] (n>0) (m>0) ((size==m)|(size==n*m)) :n", EXACT, "fdEel", fresh=True)
def outer_added(a, b, x, y, start, stop):
    """The outer product of ``a`` and ``b`` plus ``x``, which is a row or as large."""
    m, step = b.size, b.size if x.size > b.size else 0
    for i in range(start, stop):
        _added(wide(a[i]), b, x[i * step : i * step + m], y[i * m : (i + 1) * m])


@kernel("r0[n] r0[m] w0[n*m] (n>0) (m>0) :n", EXACT, "fdEel")
def add_outer(a, b, y, start, stop):
    """Adds the outer product of ``a`` and ``b`` to ``y``."""
    m = b.size
    for i in range(start, stop):
        ys = y[i * m : (i + 1) * m]
        _added(wide(a[i]), b, ys, ys)


@kernel("r0[n*m] r0[p*q] w0[n*m*p*q] i i i i (n>0) (m>0) (p>0) (q>0) :n*p", EXACT, "fdl", fresh=True)
def kron(x, z, y, n, m, p, q, start, stop):
    """The Kronecker product of matrices (n, m) and (p, q), row by row."""
    for row in range(start, stop):
        zs = z[row % p * q : (row % p + 1) * q]
        for j in range(m):
            a, ys = x[row // p * m + j], y[(row * m + j) * q : (row * m + j + 1) * q]
            for i in range(ys.size):
                ys[i] = a * zs[i]
