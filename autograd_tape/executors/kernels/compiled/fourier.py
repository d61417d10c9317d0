"""Fourier transforms of eight lines at a time, each in a lane of the processor's vectors, so that numbers never move between lanes.

Lines are copied into scratch in double precision, for each number of a line a vector of real and one of imaginary parts, and transformed
there by Stockham's method: each pass makes sums of ``r`` numbers that are a part of the line apart, for the factors r of its length, and
leaves them in the order in which the next one wants them. The inverse is the same of numbers whose parts have changed places.

Source: C. Van Loan, Computational Frameworks for the Fast Fourier Transform (1992).
"""

from __future__ import annotations

from math import cos, pi, sin, sqrt

import numpy as np
from numba.extending import register_jitable

from .base import EXACT, FUSE, kernel, u8
from .simd import LANES, alternating, borrowed, every_other, load, spread, store, turn

#: From one complex number of scratch to the next.
PAIR = 2 * LANES
_HALF_ROOT, _THIRD = sqrt(0.5), sin(2 * pi / 3)
_COS1, _COS2, _SIN1, _SIN2 = cos(2 * pi / 5), cos(4 * pi / 5), sin(2 * pi / 5), sin(4 * pi / 5)

_loop = register_jitable(nogil=True, fastmath=set(FUSE), error_model="numpy")
_inlined = register_jitable(nogil=True, fastmath=set(FUSE), error_model="numpy", forceinline=True)


# -- complex numbers as pairs of vectors ------------------------------------------------------------------------------------------------


@_inlined
def _get(x, i, real):
    """The complex numbers at ``i``, whose real parts come first with ``real`` 0, and second with ``LANES``."""
    return load(x, i + real), load(x, i + LANES - real)


@_inlined
def _put(y, i, real, v):
    store(y, i + real, v[0])
    store(y, i + LANES - real, v[1])


@_inlined
def _plus(a, b):
    return a[0] + b[0], a[1] + b[1]


@_inlined
def _minus(a, b):
    return a[0] - b[0], a[1] - b[1]


@_inlined
def _plus_i(a, b):
    """``a + i b``"""
    return a[0] - b[1], a[1] + b[0]


@_inlined
def _minus_i(a, b):
    """``a - i b``"""
    return a[0] + b[1], a[1] - b[0]


@_inlined
def _scaled(a, factor):
    return a[0] * factor, a[1] * factor


@_inlined
def _turned(v, roots, t):
    """Numbers times root ``t`` of 1; none of them for the first, which is 1."""
    if t == 0:
        return v
    c, s = spread(roots[2 * t]), spread(roots[2 * t + 1])
    return v[0] * c - v[1] * s, v[0] * s + v[1] * c


@_inlined
def _four(a, b, c, d):
    """The transform of four numbers."""
    e, f, g, h = _plus(a, c), _minus(a, c), _plus(b, d), _minus(b, d)
    return _plus(e, g), _minus_i(f, h), _minus(e, g), _plus_i(f, h)


# -- passes over scratch ``w``: from (r, m, l) at ``x`` to (m, r, l) at ``y``, where exp(-2 pi i / (r m)) is root ``power`` of 1 -----------


@_loop
def _pass2(w, x, y, roots, power, m, l, real):
    apart, to = m * l * PAIR, l * PAIR
    for p in range(m):
        t = p * power
        for s in range(l):
            i, j = x + (p * l + s) * PAIR, y + (2 * p * l + s) * PAIR
            a, b = _get(w, i, real), _get(w, i + apart, real)
            _put(w, j, real, _plus(a, b))
            _put(w, j + to, real, _turned(_minus(a, b), roots, t))


@_loop
def _pass3(w, x, y, roots, power, m, l, real):
    apart, to = m * l * PAIR, l * PAIR
    half, third = spread(0.5), spread(_THIRD)
    for p in range(m):
        t = p * power
        for s in range(l):
            i, j = x + (p * l + s) * PAIR, y + (3 * p * l + s) * PAIR
            a, b, c = _get(w, i, real), _get(w, i + apart, real), _get(w, i + 2 * apart, real)
            even, odd = _plus(b, c), _scaled(_minus(b, c), third)
            _put(w, j, real, _plus(a, even))
            a = _minus(a, _scaled(even, half))
            _put(w, j + to, real, _turned(_minus_i(a, odd), roots, t))
            _put(w, j + 2 * to, real, _turned(_plus_i(a, odd), roots, 2 * t))


@_loop
def _pass4(w, x, y, roots, power, m, l, real):
    apart, to = m * l * PAIR, l * PAIR
    for p in range(m):
        t = p * power
        for s in range(l):
            i, j = x + (p * l + s) * PAIR, y + (4 * p * l + s) * PAIR
            a, b, c, d = _four(_get(w, i, real), _get(w, i + apart, real), _get(w, i + 2 * apart, real), _get(w, i + 3 * apart, real))
            _put(w, j, real, a)
            _put(w, j + to, real, _turned(b, roots, t))
            _put(w, j + 2 * to, real, _turned(c, roots, 2 * t))
            _put(w, j + 3 * to, real, _turned(d, roots, 3 * t))


@_loop
def _pass5(w, x, y, roots, power, m, l, real):
    apart, to = m * l * PAIR, l * PAIR
    cos1, cos2, sin1, sin2 = spread(_COS1), spread(_COS2), spread(_SIN1), spread(_SIN2)
    for p in range(m):
        t = p * power
        for s in range(l):
            i, j = x + (p * l + s) * PAIR, y + (5 * p * l + s) * PAIR
            a, b, c = _get(w, i, real), _get(w, i + apart, real), _get(w, i + 2 * apart, real)
            d, e = _get(w, i + 3 * apart, real), _get(w, i + 4 * apart, real)
            even1, even2, odd1, odd2 = _plus(b, e), _plus(c, d), _minus(b, e), _minus(c, d)
            _put(w, j, real, _plus(a, _plus(even1, even2)))
            b, c = _plus(a, _plus(_scaled(even1, cos1), _scaled(even2, cos2))), _plus(a, _plus(_scaled(even1, cos2), _scaled(even2, cos1)))
            d, e = _plus(_scaled(odd1, sin1), _scaled(odd2, sin2)), _minus(_scaled(odd1, sin2), _scaled(odd2, sin1))
            _put(w, j + to, real, _turned(_minus_i(b, d), roots, t))
            _put(w, j + 2 * to, real, _turned(_minus_i(c, e), roots, 2 * t))
            _put(w, j + 3 * to, real, _turned(_plus_i(c, e), roots, 3 * t))
            _put(w, j + 4 * to, real, _turned(_plus_i(b, d), roots, 4 * t))


@_loop
def _pass8(w, x, y, roots, power, m, l, real):
    apart, to = m * l * PAIR, l * PAIR
    root = spread(_HALF_ROOT)
    for p in range(m):
        t = p * power
        for s in range(l):
            i, j = x + (p * l + s) * PAIR, y + (8 * p * l + s) * PAIR
            a, b, c, d = _four(_get(w, i, real), _get(w, i + 2 * apart, real), _get(w, i + 4 * apart, real), _get(w, i + 6 * apart, real))
            i += apart
            e, f, g, h = _four(_get(w, i, real), _get(w, i + 2 * apart, real), _get(w, i + 4 * apart, real), _get(w, i + 6 * apart, real))
            f, h = ((f[0] + f[1]) * root, (f[1] - f[0]) * root), ((h[1] - h[0]) * root, (h[0] + h[1]) * root)
            _put(w, j, real, _plus(a, e))
            _put(w, j + to, real, _turned(_plus(b, f), roots, t))
            _put(w, j + 2 * to, real, _turned(_minus_i(c, g), roots, 2 * t))
            _put(w, j + 3 * to, real, _turned((d[0] + h[0], d[1] - h[1]), roots, 3 * t))
            _put(w, j + 4 * to, real, _turned(_minus(a, e), roots, 4 * t))
            _put(w, j + 5 * to, real, _turned(_minus(b, f), roots, 5 * t))
            _put(w, j + 6 * to, real, _turned(_plus_i(c, g), roots, 6 * t))
            _put(w, j + 7 * to, real, _turned((d[0] - h[0], d[1] + h[1]), roots, 7 * t))


@_inlined
def _added(a, b, even, odd, roots, t):
    """Two sums of numbers times the real and the imaginary part of a root."""
    return _plus(a, _scaled(even, spread(roots[2 * t]))), _plus(b, _scaled(odd, spread(roots[2 * t + 1])))


@_inlined
def _put_both(w, y, to, real, k, r, a, b, roots, t):
    """Number ``k`` of ``r``, and the one as far from the end."""
    _put(w, y + k * to, real, _turned(_plus_i(a, b), roots, k * t))
    _put(w, y + (r - k) * to, real, _turned(_minus_i(a, b), roots, (r - k) * t))


@_loop
def _pass_odd(w, x, y, roots, power, m, l, real, r, sums):
    """The same for any odd ``r``: of each number and the one as far from the end, cosines times the sum and sines times the difference."""
    apart, to, half = m * l * PAIR, l * PAIR, (r - 1) // 2
    root = m * power  # that of 1 / r
    none = spread(0.0)
    for p in range(m):
        t = p * power
        for s in range(l):
            i, j = x + (p * l + s) * PAIR, y + (r * p * l + s) * PAIR
            first = total = _get(w, i, real)
            for k in range(1, half + 1):
                a, b = _get(w, i + k * apart, real), _get(w, i + (r - k) * apart, real)
                total = _plus(total, _plus(a, b))
                _put(w, sums + 2 * k * PAIR, 0, _plus(a, b))
                _put(w, sums + (2 * k + 1) * PAIR, 0, _minus(a, b))
            _put(w, j, real, total)
            for k in range(1, half + 1, 3):  # three at a time, the last one again where there are no more
                k1, k2 = min(k + 1, half), min(k + 2, half)
                a = c = e = first
                b = d = f = none, none
                t0 = t1 = t2 = 0
                for q in range(1, half + 1):
                    t0, t1, t2 = t0 + k, t1 + k1, t2 + k2
                    t0, t1, t2 = t0 - r if t0 >= r else t0, t1 - r if t1 >= r else t1, t2 - r if t2 >= r else t2
                    even, odd = _get(w, sums + 2 * q * PAIR, 0), _get(w, sums + (2 * q + 1) * PAIR, 0)
                    a, b = _added(a, b, even, odd, roots, t0 * root)
                    c, d = _added(c, d, even, odd, roots, t1 * root)
                    e, f = _added(e, f, even, odd, roots, t2 * root)
                _put_both(w, j, to, real, k, r, a, b, roots, t)
                _put_both(w, j, to, real, k1, r, c, d, roots, t)
                _put_both(w, j, to, real, k2, r, e, f, roots, t)


@_loop
def _factors(n, found):
    """The factors of a length, one for each pass; how many there are."""
    count, r = 0, 2
    while n > 1:
        if n % 8 == 0 and n != 16:  # which is 4 times 4
            found[count] = 8
        elif n % 4 == 0:
            found[count] = 4
        else:
            while n % r:
                r = r + 1 if r * r < n else n
            found[count] = r
        n //= found[count]
        count += 1
    return count


@_loop
def _transformed(w, x, y, roots, power, n, factors, real, sums):
    """Transforms of ``n`` complex numbers at ``x``, which end there or at ``y``, with scratch at the other and at ``sums``."""
    l, m = 1, n
    for i in range(factors.size):
        r = factors[i]
        m //= r
        if r == 8:
            _pass8(w, x, y, roots, power, m, l, real)
        elif r == 4:
            _pass4(w, x, y, roots, power, m, l, real)
        elif r == 2:
            _pass2(w, x, y, roots, power, m, l, real)
        elif r == 3:
            _pass3(w, x, y, roots, power, m, l, real)
        elif r == 5:
            _pass5(w, x, y, roots, power, m, l, real)
        else:
            _pass_odd(w, x, y, roots, power, m, l, real, r, sums)
        x, y, l, power = y, x, l * r, power * r


# -- lines ------------------------------------------------------------------------------------------------------------------------------


@_loop
def _read(x, w, line, count, lines, big, small, along, length, width, step):
    """Lines [line, line + count) of ``length`` elements of ``width`` numbers: a vector for each number, ``step`` apart. Elements are
    ``along`` apart, lines ``small``, and each time after so many ``lines``, ``big``."""
    group, size = line // lines if line >= lines else 0, length * width  # divisions are slow
    within = line - group * lines
    at = (group * big + within * small) * width
    if within + count > lines or (small > 1 or count < LANES) and (
            along > 1 or at + (count - 1) * small * width + max(size, LANES) > x.size):
        if count < LANES:
            w[: length * width * step] = 0
        for j in range(count):
            place = line + j
            at = (place // lines * big + place % lines * small) * width
            for i in range(length):
                for b in range(width):
                    w[u8((i * width + b) * step + j)] = x[u8(at + i * along * width + b)]
    elif small > 1 or count < LANES:  # what is read beyond short lines lies beyond those in scratch, too
        for k in range(0, size, LANES):
            i = max(min(k, size - LANES), 0)
            turn(x, at + i, small * width, count, w, i * step, step, LANES)
    elif width == 1:
        for i in range(length):
            store(w, i * step, load(x, at + i * along))
    else:
        for i in range(length):
            a, b = load(x, at + 2 * i * along), load(x, at + 2 * i * along + LANES)
            store(w, 2 * i * step, every_other(a, b, 0))
            store(w, (2 * i + 1) * step, every_other(a, b, 1))


@_loop
def _write(w, source, y, line, count, inner, length, width, step):
    """The way back, to lines of which ``inner`` lie side by side."""
    group, size = line // inner if inner > 1 else line, length * width
    within = line - group * inner
    at = (group * length * inner + within) * width
    if inner == 1 and size >= LANES:
        for k in range(0, size, LANES):
            i = min(k, size - LANES)
            turn(w, source + i * step, step, LANES, y, at + i, size, count)
    elif within + LANES > inner:
        for j in range(count):
            place = line + j
            at = (place // inner * length * inner + place % inner if inner > 1 else place * length) * width
            for i in range(length):
                for b in range(width):
                    y[u8(at + i * width * inner + b)] = w[u8(source + (i * width + b) * step + j)]
    elif width == 1:
        for i in range(length):
            store(y, at + i * inner, load(w, source + i * step))
    else:
        for i in range(length):
            a, b = load(w, source + 2 * i * step), load(w, source + (2 * i + 1) * step)
            store(y, at + 2 * i * inner, alternating(a, b, 0))
            store(y, at + 2 * i * inner + LANES, alternating(a, b, 1))


@_loop
def _conjugated(w, x, count):
    none = spread(0.0)
    for i in range(x + LANES, x + count * PAIR, PAIR):
        store(w, i, none - load(w, i))


@_loop
def _halved(w, roots, n):
    """Of transforms of ``n`` real numbers, whose first half is given, those of half as many complex ones, the even and the odd numbers."""
    none, h = spread(0.0), n // 2 * PAIR
    a, b = load(w, 0), load(w, h)
    _put(w, 0, 0, (a + b, a - b))
    for k in range(1, n // 4 + 1):
        a, b = _get(w, k * PAIR, 0), _get(w, h - k * PAIR, 0)
        b = b[0], none - b[1]
        even, odd = _plus(a, b), _minus(a, b)
        c, s = spread(roots[2 * k]), spread(roots[2 * k + 1])
        odd = odd[0] * c + odd[1] * s, odd[1] * c - odd[0] * s
        a, b = _plus_i(even, odd), _minus_i(even, odd)
        _put(w, h - k * PAIR, 0, (b[0], none - b[1]))
        _put(w, k * PAIR, 0, a)


@_loop
def _joined(w, x, roots, n):
    """Of transforms of complex numbers, the even and the odd ones of ``n`` real numbers, the first half of those of the real numbers."""
    none, half, h = spread(0.0), spread(0.5), x + n // 2 * PAIR
    a, b = _get(w, x, 0)
    _put(w, x, 0, (a + b, none))
    _put(w, h, 0, (a - b, none))
    for k in range(1, n // 4 + 1):
        a, b = _get(w, x + k * PAIR, 0), _get(w, h - k * PAIR, 0)
        b = b[0], none - b[1]
        even, odd = _scaled(_plus(a, b), half), _turned(_scaled(_minus(a, b), half), roots, k)
        a, b = _minus_i(even, odd), _plus_i(even, odd)
        _put(w, h - k * PAIR, 0, (b[0], none - b[1]))
        _put(w, x + k * PAIR, 0, a)


@_loop
def _mirrored(w, x, n):
    """The second half of transforms of real numbers, from the first."""
    none = spread(0.0)
    for k in range(n // 2 + 1, n):
        a, b = _get(w, x + (n - k) * PAIR, 0)
        _put(w, x + k * PAIR, 0, (a, none - b))


@_loop
def _transform(scratch, found, x, y, roots, window, o, m, n, of, lines, big, small, along, given, have, give, inverse, factor, start, stop):
    w = borrowed(scratch)
    real, signal, width = have == n, give == n, 1 if have == n else 2
    two = (real or signal) and n % 2 == 0  # real numbers as half as many complex ones
    count, step = n // 2 if two else n, PAIR if (real or signal) and not two else LANES
    apart, room = step if real else LANES, (n + LANES) * PAIR
    factors = borrowed(found[: _factors(count, found)])
    result = factors.size % 2 * room
    blocks = (of + LANES - 1) // LANES
    for block in range(start, stop):
        group = block // blocks
        line = group * of + LANES * (block - group * blocks)
        here = min(LANES, (group + 1) * of - line)
        if real and not two:
            w[: n * PAIR] = 0
        _read(x, w, line, here, lines, big, small, along, given, width, apart)
        if given * width < have:
            w[given * width * apart : have * apart] = 0
        if window.size > 0:
            for i in range(n):
                for j in range(i * width, (i + 1) * width):
                    store(w, j * apart, load(w, j * apart) * spread(window[i]))
        if signal:
            if inverse == 0:
                _conjugated(w, 0, n // 2 + 1)
            if two:
                _halved(w, roots, n)
            else:
                w[LANES:PAIR] = 0
                _mirrored(w, 0, n)
        _transformed(w, 0, room, roots, n // count, count, factors, LANES * (signal or inverse != 0 and not real), 2 * room)
        if real:
            if two:
                _joined(w, result, roots, n)
            if inverse != 0:
                _conjugated(w, result, n // 2 + 1 if two else n)
            if give == 2 * n and two:
                _mirrored(w, result, n)
        if factor != 1:
            for i in range(result, result + (n // 2 + 1 if two and give < 2 * n else n) * PAIR):
                w[i] *= factor
        if signal:
            _write(w, result, y, line, here, m, n, 1, step)
        else:
            _write(w, result, y, line, here, m, give // 2, 2, LANES)


@kernel(
    "r0[size] w0[o*give*m] d1[2*n] d1[n]? i i i i i i i i i i i i s (o>=0) (m>0) (n>0) (of>0) (o*m%of==0) (big>=0) (small>0) (along>0) "
    "(lines>0) (given>0) (given*(1+(have!=n))<=have) "
    "(((have==n)&((give==2*n)|(give==2*(n//2+1))))|((give==n)&(have==2*(n//2+1)))|((have==2*n)&(give==2*n))) "
    "(float(o)*n*m<1e18) "
    "(((o*m-1)//lines*big+(lines-1)*small+(given-1)*along+1)*(1+(have!=n))<=size) :o*m//of*((of+7)//8)",
)
def transform(x, y, roots, window, o, m, n, of, lines, big, small, along, given, have, give, inverse, factor, start, stop):
    """Transforms of ``o * m`` lines of ``n`` numbers, times ``factor``; eight lines at a time, [start, stop) of those, ``of`` so many.

    Where lines lie in ``x`` is said in `_read`; ``y`` is (o, n, m). A line has ``have`` numbers, and its transform ``give``: 2 n where they
    are complex, n where they are real, and of a first half, which tells the other, 2 (n // 2 + 1). Of a line ``given`` elements are there,
    and the rest is zero; all are multiplied by ``window`` unless that is empty. The inverse is that of conjugates where it begins with
    real numbers, and so is what is no inverse but ends with them. ``roots`` are those of 1, the powers of exp(-2 pi i / n).
    """
    scratch, found = np.empty(3 * (n + LANES) * PAIR, np.float64), np.empty(64, np.int64)
    _transform(scratch, found, x, y, roots, window, o, m, n, of, lines, big, small, along, given, have, give, inverse, factor, start, stop)


@kernel("s i w1[n] (n<2147483648) (rising>=0) :n", EXACT)
def frequencies(step, rising, y, start, stop):
    """Multiples of a number, the first ``rising`` from 0 on, the others up to -1; each is rounded once, where the dtype holds what they
    are counted by."""
    T = y.dtype.type
    for i in range(start, min(stop, rising)):
        y[i] = T(np.int32(i)) * T(step)  # what vectors can convert
    for i in range(max(start, rising), stop):
        y[i] = T(np.int32(i - y.size)) * T(step)
