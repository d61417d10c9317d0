"""The loops of ``kernels/loops.py``, compiled: with nothing fused or reordered, so that their bits are Python's."""

from __future__ import annotations

import math  # noqa: F401  # the loops look for it here
from types import FunctionType

import numpy as np
from numba.extending import overload, register_jitable

from .. import loops
from . import base
from ..loops import INF, coarse, wide  # noqa: F401
from ....annotations import Fn
from .base import REORDER, f8, kernel, like, rounded, u8  # noqa: F401

_EXACT: frozenset[str] = frozenset()


def _here(function: Fn) -> Fn:
    """A loop as a function of this module, with whose name its machine code is kept."""
    return FunctionType(function.__code__, globals(), function.__name__)


@overload(wide)
def _wide(x):
    return lambda x: np.float64(base.wide(x))


@overload(coarse)
def _coarse(x, half):
    return lambda x, half: x if half == 0 else np.float64(
        from_bfloat16(to_bfloat16(np.float32(x))) if half == 1 else from_float16(to_float16(np.float32(x))))


to_bfloat16, from_bfloat16 = register_jitable(base._to_bfloat16), register_jitable(base._from_bfloat16)
to_float16, from_float16 = register_jitable(base._to_float16), register_jitable(base._from_float16)


# Each after those that it calls: the compiler looks them up here.
exp, below = register_jitable(_here(loops.exp)), register_jitable(_here(loops.below))
log_add3 = register_jitable(_here(loops.log_add3))
likelihood = register_jitable(_here(loops.likelihood))

# Sizes are small enough for products of two of them, so that each product of three has a bound of its own.
_STATES = ("i i i i i i (width>=0) (width<=1000000000) (n<=2147483647) (steps>=0) (classes>0) (row==n*classes) (plane==steps*(2*width+1))"
           " (blank>=0) (blank<classes)")
ctc_forward = kernel(f"r1[steps*row] x1[n*width] x1[n] x1[n] D1[n*plane] w1[n] {_STATES} :n", _EXACT)(_here(loops.ctc_forward))
ctc_backward = kernel(
    f"r1[n] r1[steps*row] x1[n*width] x1[n] x1[n] d1[n*plane] w1[steps*row] D1[n*(2*width+1)] D1[row] {_STATES} i :n", _EXACT,
)(_here(loops.ctc_backward))

_ROWS = "(classes>0) (n<=2147483647)"
multi_margin = kernel(f"r0[n*classes] x0[n] r1[classes]? w1[n] i i s {_ROWS} :n", _EXACT)(_here(loops.multi_margin))
multi_margin_backward = kernel(
    f"r1[n] r1[n*classes] x1[n] r1[classes]? w1[n*classes] i i s {_ROWS} :n", _EXACT)(_here(loops.multi_margin_backward))
_LABELS = f"r1[n*classes] x1[n*classes] r1[n*classes] w1[n*classes] D1[n*classes] i {_ROWS} :n"
multilabel_margin = kernel(f"r0[n*classes] x0[n*classes] w1[n] w0[n*classes] D1[n*classes] i {_ROWS} :n", _EXACT)(
    _here(loops.multilabel_margin))
multilabel_margin_backward = kernel(f"r1[n] {_LABELS}", _EXACT)(_here(loops.multilabel_margin_backward))

in_single = register_jitable(_here(loops.in_single))
_ALONG = "(classes>0) (inner>0) (n%(classes*inner)==0) :n//classes"
softmax = kernel(f"r0[n] w0[n] i i i i {_ALONG}", _EXACT)(_here(loops.softmax))
softmax_backward = kernel(f"r0[n] r0[n] w0[n] i i i i {_ALONG}", _EXACT)(_here(loops.softmax_backward))

place_of = register_jitable(_here(loops.place_of))
_CLASSES = "i i i (classes>0) (inner>0) (n<=2147483647) (n%inner==0)"
nll = kernel(f"r0[n*classes] x0[n] r1[classes]? w0[n] w1[n]? {_CLASSES} :n", _EXACT)(_here(loops.nll))
nll_total = kernel(
    "r0[n*classes] x0[n] r0[classes]? w0[one] D0[one] i i i i (classes>0) (inner>0) (n<=2147483647) (n%inner==0) :one", _EXACT,
)(_here(loops.nll_total))
nll_backward = kernel(f"r1[m] x1[n] r1[classes]? w1[n*classes] {_CLASSES} ((m==1)|(m==n)) :n", _EXACT)(_here(loops.nll_backward))
cross_entropy = kernel(f"r1[n*classes] x1[n] r1[classes]? w1[n] w1[n] w1[n] w1[n] {_CLASSES} s :n", _EXACT)(_here(loops.cross_entropy))
cross_entropy_backward = kernel(
    f"r1[m] r1[n*classes] x1[n] r1[classes]? r1[n] r1[n] w1[n*classes] {_CLASSES} ((m==1)|(m==n)) s s :n", _EXACT,
)(_here(loops.cross_entropy_backward))

_PAIRS = ("r1[rows*dim] r1[rows//n*m*dim] w1[size] i i i i s i (dim>0) (n>0) (m>0) (rows>=0) (rows%n==0) (rows//n*m<=2147483647)"
          " (((triangle==0)&(size==rows*m))|((triangle!=0)&(rows==n)&(m==n)&(2*size==n*(n-1)))) :rows")
distances = kernel(_PAIRS, _EXACT)(_here(loops.distances))


@register_jitable(nogil=True, error_model="numpy", fastmath=set(REORDER), forceinline=True)
def _far(kind, x, z, out, n, m, dim, triangle, start, stop):
    for r in range(start, stop):
        own, at = r % n, r // n * m
        to = own * (2 * n - own - 1) // 2 - own - 1 if triangle else r * m
        for j in range(own + 1 if triangle else 0, m):
            total = like(x[0], 0)
            for c in range(dim):
                d = x[u8(r * dim + c)] - z[u8((at + j) * dim + c)]
                if kind == 2:
                    total += d * d
                elif kind == 1:
                    total += abs(d)
                elif kind == 0:
                    total += like(d, d != like(d, 0))
                else:
                    d = abs(d)
                    total = total if d <= total or total != total else d
            out[u8(to + j)] = np.sqrt(total) if kind == 2 else total


@kernel(_PAIRS, REORDER, fresh=True)
def many_distances(x, z, out, rows, n, m, dim, p, triangle, start, stop):
    """`distances` in the arrays' precision, many numbers at once."""
    if p == 2.0:
        _far(2, x, z, out, n, m, dim, triangle, start, stop)
    elif p == 1.0:
        _far(1, x, z, out, n, m, dim, triangle, start, stop)
    elif p == 0.0:
        _far(0, x, z, out, n, m, dim, triangle, start, stop)
    else:
        _far(3, x, z, out, n, m, dim, triangle, start, stop)


@register_jitable(nogil=True, error_model="numpy", forceinline=True)
def _pull(kind, d, g, apart, p):
    """The gradient of a distance for one difference, in torch's steps: `kind` is 1, 2, 3 (infinity), 4 (less than 2) or 5."""
    if kind == 2:
        return g * d / apart
    nothing = like(d, 0)
    sign = like(d, d > nothing) - like(d, d < nothing)
    sign = sign if d == d else d
    if kind == 1:
        return g * sign
    size = abs(d)
    if kind == 3:
        off = abs(size - apart)
        reached = like(d, off == nothing)
        return g * sign * (reached if off == off else off)
    if kind == 4:
        found = sign * like(d, math.pow(f8(size), p - 1.0)) * g / like(d, math.pow(f8(apart), p - 1.0))
        return nothing if d == nothing and p < 1.0 else found
    return d * like(d, math.pow(f8(size), p - 2.0)) * g / like(d, math.pow(f8(apart), p - 1.0))


@register_jitable(nogil=True, error_model="numpy", forceinline=True)
def _pulled_pairs(kind, x, grad, distances, out, n, dim, p, start, stop):
    pair = 0
    for i in range(n - 1):
        for j in range(i + 1, n):
            g, apart = grad[pair], distances[pair]
            pair += 1
            if kind == 1 or kind == 3 or apart != like(apart, 0):
                for c in range(start, stop):
                    r = _pull(kind, x[u8(i * dim + c)] - x[u8(j * dim + c)], g, apart, p)
                    out[u8(i * dim + c)] += r
                    out[u8(j * dim + c)] -= r


@kernel("r1[n*dim] r1[pairs] r1[pairs] w1[n*dim] i i i s (n>0) (n<=2147483647) (2*pairs==n*(n-1)) (dim>0) :dim", _EXACT, fresh=True)
def pull_pairs(x, grad, distances, out, n, dim, kind, p, start, stop):
    """The gradient of the distances of each row from those after it, some columns of it; `out` is zero."""
    if kind == 1:
        _pulled_pairs(1, x, grad, distances, out, n, dim, p, start, stop)
    elif kind == 2:
        _pulled_pairs(2, x, grad, distances, out, n, dim, p, start, stop)
    elif kind == 3:
        _pulled_pairs(3, x, grad, distances, out, n, dim, p, start, stop)
    elif kind == 4:
        _pulled_pairs(4, x, grad, distances, out, n, dim, p, start, stop)
    else:
        _pulled_pairs(5, x, grad, distances, out, n, dim, p, start, stop)


@register_jitable(nogil=True, error_model="numpy", forceinline=True)
def _pulled_rows(kind, x, z, grad, distances, out, n, m, dim, p, start, stop):
    for r in range(start, stop):
        for j in range(m):
            g, apart, other = grad[r * m + j], distances[r * m + j], r // n * m + j
            if kind == 1 or kind == 3 or apart != like(apart, 0):
                for c in range(dim):
                    out[u8(r * dim + c)] += _pull(kind, x[u8(r * dim + c)] - z[u8(other * dim + c)], g, apart, p)


@kernel("r1[rows*dim] r1[rows//n*m*dim] r1[rows*m] r1[rows*m] w1[rows*dim] i i i i i s (dim>0) (n>0) (m>0) (rows>=0) (rows%n==0)"
        " (rows<=2147483647) (rows//n*m<=2147483647) :rows", _EXACT, fresh=True)
def pull_rows(x, z, grad, distances, out, rows, n, m, dim, kind, p, start, stop):
    """The gradient of the distances of all pairs for the first rows; `out` is zero."""
    if kind == 1:
        _pulled_rows(1, x, z, grad, distances, out, n, m, dim, p, start, stop)
    elif kind == 2:
        _pulled_rows(2, x, z, grad, distances, out, n, m, dim, p, start, stop)
    elif kind == 3:
        _pulled_rows(3, x, z, grad, distances, out, n, m, dim, p, start, stop)
    elif kind == 4:
        _pulled_rows(4, x, z, grad, distances, out, n, m, dim, p, start, stop)
    else:
        _pulled_rows(5, x, z, grad, distances, out, n, m, dim, p, start, stop)
