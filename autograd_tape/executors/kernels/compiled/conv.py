"""Gathering convolution windows into columns, adding columns back, and depthwise convolution without columns."""

from __future__ import annotations

import numpy as np
from numba.extending import register_jitable

from .base import REORDER, kernel
from .simd import LANES, every_other, load, multiply_add, spread, store
from .simd import total as sum_of


@kernel("r3[c,h,v] w3[c,kh*kw,oh*ow] i i i i i i i i i i (kh>0) (kw>0) (oh>0) (ow>0) (sw>0) |c")
def im2col(x, cols, kh, kw, sh, sw, ph, pw, dh, dw, oh, ow, start, stop):
    """``cols[c, (i, j), (r, s)] = x[c, r*sh - ph + i*dh, s*sw - pw + j*dw]``, zero outside, for channels [start,
    stop)."""
    T = x.dtype.type
    height, width = x.shape[1], x.shape[2]
    for c in range(start, stop):
        for i in range(kh):
            for j in range(kw):
                out = cols[c, i * kw + j]
                shift = j * dw - pw
                # columns s with 0 <= s * sw + shift < width
                low = min(ow, max(0, (sw - 1 - shift) // sw))
                high = max(low, min(ow, (width - shift + sw - 1) // sw))
                for r in range(oh):
                    row = r * sh - ph + i * dh
                    ys = out[r * ow : (r + 1) * ow]
                    if row < 0 or row >= height:
                        ys[:] = T(0)
                        continue
                    ys[:low] = T(0)
                    ys[high:] = T(0)
                    inner = ys[low:high]
                    if inner.size == 0:
                        continue
                    first = low * sw + shift
                    if sw == 1:
                        xs = x[c, row, first : first + inner.size]
                        for s in range(inner.size):
                            inner[s] = xs[s]
                    else:
                        xs = x[c, row, first:]
                        for s in range(inner.size):
                            inner[s] = xs[s * sw]


@kernel("r3[c,kh*kw,oh*ow] w3[c,h,v] i i i i i i i i i i (kh>0) (kw>0) (oh>0) (ow>0) (sw>0) |c")
def col2im(cols, dx, kh, kw, sh, sw, ph, pw, dh, dw, oh, ow, start, stop):
    """The transpose of ``im2col``: adds every column entry to the pixel it came from; ``dx`` is overwritten."""
    T = dx.dtype.type
    height, width = dx.shape[1], dx.shape[2]
    for c in range(start, stop):
        dx[c] = T(0)
        for i in range(kh):
            for j in range(kw):
                out = cols[c, i * kw + j]
                shift = j * dw - pw
                low = min(ow, max(0, (sw - 1 - shift) // sw))
                high = max(low, min(ow, (width - shift + sw - 1) // sw))
                if high == low:
                    continue
                first = low * sw + shift
                for r in range(oh):
                    row = r * sh - ph + i * dh
                    if row < 0 or row >= height:
                        continue
                    ys = out[r * ow + low : r * ow + high]
                    if sw == 1:
                        xs = dx[c, row, first : first + ys.size]
                        for s in range(ys.size):
                            xs[s] += ys[s]
                    else:
                        xs = dx[c, row, first:]
                        for s in range(ys.size):
                            xs[s * sw] += ys[s]


# Wide columns: with stride 1 a tap of all windows is one shift of the padded plane as a flat vector, if the columns
# keep the plane's row length, so long copies take the place of one per row. With other strides it is so in each of the
# planes of every sh-th row and sw-th column. What the windows beyond the ends of rows give is dropped afterwards.


@kernel(
    "r4[n,c,h,v] w1[size] i i i i i i i i i i i (kh>0) (kw>0) (sh>0) (sw>0) (ph>=0) (pw>=0) (dh>0) (dw>0) (oh>0) "
    "(by_sample>=0) (by_row>=0) (oh+(kh-1)*dh//sh<=(h+2*ph+sh-1)//sh) "
    "((stop-start-1)*by_sample+(c*kh*kw-1)*by_row+oh*((v+2*pw+sw-1)//sw)<=size) |n",
)
def im2col_wide(x, cols, kh, kw, sh, sw, ph, pw, dh, dw, oh, by_sample, by_row, start, stop):
    """``cols[sample * by_sample + (c, i, j) * by_row + (r, s)]`` for samples [start, stop), counted from ``start``."""
    channels, height, width = x.shape[1], x.shape[2], x.shape[3]
    wide, high = (width + 2 * pw + sw - 1) // sw, (height + 2 * ph + sh - 1) // sh
    planes = np.zeros((sh, sw, high * wide + (kw - 1) * dw // sw), x.dtype)
    for sample in range(start, stop):
        for c in range(channels):
            for r in range(height):
                for b in range(sw):
                    first = (b - pw) % sw
                    inner = planes[(r + ph) % sh, b, (r + ph) // sh * wide + (first + pw) // sw :]
                    xs = x[sample, c, r, first:]
                    for s in range((xs.size + sw - 1) // sw):
                        inner[s] = xs[s * sw]
            for i in range(kh):
                for j in range(kw):
                    at = (sample - start) * by_sample + ((c * kh + i) * kw + j) * by_row
                    plane = planes[i * dh % sh, j * dw % sw]
                    out, source = cols[at : at + oh * wide], plane[i * dh // sh * wide + j * dw // sw :]
                    for q in range(out.size):
                        out[q] = source[q]


@kernel(
    "r1[size] w4[n,c,h,v] i i i i i i i i i i i (kh>0) (kw>0) (sh>0) (sw>0) (ph>=0) (pw>=0) (dh>0) (dw>0) (oh>0) "
    "(by_sample>=0) (by_row>=0) (oh+(kh-1)*dh//sh<=(h+2*ph+sh-1)//sh) "
    "((stop-start-1)*by_sample+(c*kh*kw-1)*by_row+oh*((v+2*pw+sw-1)//sw)<=size) |n",
)
def col2im_wide(cols, dx, kh, kw, sh, sw, ph, pw, dh, dw, oh, by_sample, by_row, start, stop):
    """The transpose of ``im2col_wide``: overwrites samples [start, stop) of ``dx``."""
    channels, height, width = dx.shape[1], dx.shape[2], dx.shape[3]
    wide, high = (width + 2 * pw + sw - 1) // sw, (height + 2 * ph + sh - 1) // sh
    planes = np.empty((sh, sw, high * wide + (kw - 1) * dw // sw), dx.dtype)
    for sample in range(start, stop):
        for c in range(channels):
            planes[:] = 0
            for i in range(kh):
                for j in range(kw):
                    at = (sample - start) * by_sample + ((c * kh + i) * kw + j) * by_row
                    plane = planes[i * dh % sh, j * dw % sw]
                    source, target = cols[at : at + oh * wide], plane[i * dh // sh * wide + j * dw // sw :]
                    for q in range(source.size):
                        target[q] += source[q]
            for r in range(height):
                for b in range(sw):
                    first = (b - pw) % sw
                    inner = planes[(r + ph) % sh, b, (r + ph) // sh * wide + (first + pw) // sw :]
                    xs = dx[sample, c, r, first:]
                    for s in range((xs.size + sw - 1) // sw):
                        xs[s * sw] = inner[s]


# Depthwise convolution with stride 1: rows in vectors of eight, the last of which overlaps the one before it.


@register_jitable
def _pad(plane, rows, pitch, sw, top, left):
    """Copies a plane of at least eight columns into rows, all zeros around it, each of which is ``sw`` times ``pitch`` numbers: those of
    every sw-th column, one after another."""
    height, width = plane.shape
    flat = plane.reshape(-1)
    for r in range(height):
        first, source = (r + top) * sw * pitch, r * width
        if sw == 1:
            for s in range(0, width - LANES, LANES):
                store(rows, first + left + s, load(flat, source + s))
            store(rows, first + left + width - LANES, load(flat, source + width - LANES))
        elif sw == 2 and width >= 2 * LANES and width % 2 == 0:
            even, odd = first + left % 2 * pitch + left // 2, first + (left + 1) % 2 * pitch + (left + 1) // 2
            for begin in range(0, width, 2 * LANES):
                s = min(begin, width - 2 * LANES)
                a, b = load(flat, source + s), load(flat, source + s + LANES)
                store(rows, even + s // 2, every_other(a, b, 0))
                store(rows, odd + s // 2, every_other(a, b, 1))
        else:
            for s in range(width):
                rows[first + (s + left) % sw * pitch + (s + left) // sw] = flat[source + s]


@register_jitable
def _columns(kw, dw, sw, pitch):
    """Where the columns of taps begin in a row."""
    columns = np.empty(kw, np.int64)
    for j in range(kw):
        columns[j] = j * dw % sw * pitch + j * dw // sw
    return columns


@register_jitable
def _frame(plane, rows, pitch, top, left):
    """``_pad`` for any number of columns, what is around left as it is. (Assigning slices would compare their sizes, and tell of them in
    an exception made by the compiler's own functions, without which code can be linked when it is loaded.)"""
    for r in range(plane.shape[0]):
        line, first = plane[r], (r + top) * pitch + left
        for s in range(line.size):
            rows[first + s] = line[s]


@register_jitable
def _three(rows, at, columns, t0, t1, t2, a):
    a = multiply_add(t0, load(rows, at + columns[0]), a)
    a = multiply_add(t1, load(rows, at + columns[1]), a)
    return multiply_add(t2, load(rows, at + columns[2]), a)


@register_jitable
def _three_by_three(rows, weights, tap0, shift, ys, oh, ow, step, line, columns):
    """The common size, with the weights in registers; ``step`` leads to the next row of results, ``line`` to that of taps."""
    t00, t01, t02 = spread(weights[tap0]), spread(weights[tap0 + 1]), spread(weights[tap0 + 2])
    t10, t11, t12 = spread(weights[tap0 + 3]), spread(weights[tap0 + 4]), spread(weights[tap0 + 5])
    t20, t21, t22 = spread(weights[tap0 + 6]), spread(weights[tap0 + 7]), spread(weights[tap0 + 8])
    for r in range(oh):
        for begin in range(0, ow, LANES):
            s = min(begin, ow - LANES)
            at = r * step + s
            a = _three(rows, at, columns, t00, t01, t02, shift)
            a = _three(rows, at + line, columns, t10, t11, t12, a)
            a = _three(rows, at + 2 * line, columns, t20, t21, t22, a)
            store(ys, r * ow + s, a)


@kernel(
    "r3[a,h,v] r3[f,kh,kw] r1[f]? w3[a*multiplier,oh,ow] i i i i i i i (f>0) (kh>0) (kw>0) (oh>0) (ow>0) (multiplier>0) (sh>0) (sw>0) "
    "(ph>=0) (pw>=0) (dh>0) (dw>0) (v>=8) (ow>=8) ((oh-1)*sh+(kh-1)*dh<h+2*ph) (ow+(kw-1)*dw//sw<=(v+2*pw+sw-1)//sw) :a*multiplier",
)
def depthwise_rows(x, w, bias, y, multiplier, sh, sw, ph, pw, dh, dw, start, stop):
    """``depthwise`` where planes and rows of results have eight columns or more; plus ``bias``, or none if it is empty."""
    T = x.dtype.type
    height, width, oh, ow = x.shape[1], x.shape[2], y.shape[1], y.shape[2]
    filters, kh, kw = w.shape
    pitch = (width + 2 * pw + sw - 1) // sw
    line, columns = sw * pitch, _columns(kw, dw, sw, pitch)
    rows = np.zeros((height + 2 * ph) * line, x.dtype)
    weights = w.reshape(-1)
    last = ow - LANES
    for p in range(start, stop):
        if p == start or p % multiplier == 0:
            _pad(x[p // multiplier], rows, pitch, sw, ph, pw)
        ys, tap0 = y[p].reshape(-1), p % filters * kh * kw
        shift = spread(bias[p % filters] if bias.size else T(0))
        if kh == 3 and kw == 3:
            _three_by_three(rows, weights, tap0, shift, ys, oh, ow, sh * line, dh * line, columns)
            continue
        for r in range(oh):
            for s in range(0, ow, 4 * LANES):
                s0, s1, s2, s3 = min(s, last), min(s + LANES, last), min(s + 2 * LANES, last), min(s + 3 * LANES, last)
                a0 = a1 = a2 = a3 = shift
                for i in range(kh):
                    first = (r * sh + i * dh) * line
                    for j in range(kw):
                        t = spread(weights[tap0 + i * kw + j])
                        at = first + columns[j]
                        a0 = multiply_add(t, load(rows, at + s0), a0)
                        a1 = multiply_add(t, load(rows, at + s1), a1)
                        a2 = multiply_add(t, load(rows, at + s2), a2)
                        a3 = multiply_add(t, load(rows, at + s3), a3)
                first = r * ow
                store(ys, first + s0, a0)
                store(ys, first + s1, a1)
                store(ys, first + s2, a2)
                store(ys, first + s3, a3)


@kernel(
    "r3[a*multiplier,oh,ow] r3[a,h,v] w3[f,kh,kw] i i i i i i i i (f>0) (kh>0) (kw>0) (oh>0) (ow>0) (multiplier>0) (sh>0) (sw>0) (ph>=0) "
    "(pw>=0) (dh>0) (dw>0) (n>=0) (n*f==a*multiplier) (v>=8) (ow>=8) ((oh-1)*sh+(kh-1)*dh<h+2*ph) :f",
)
def depthwise_rows_dw(grad, x, dw_out, n, multiplier, sh, sw, ph, pw, dh, dw, start, stop):
    """``depthwise_dw`` where planes and rows of cotangents have eight columns or more."""
    T = x.dtype.type
    height, width, oh, ow = x.shape[1], x.shape[2], grad.shape[1], grad.shape[2]
    filters, kh, kw = dw_out.shape
    # Rows of cotangents end in zeros, and so do those of x, that zeros may not meet infinities.
    lanes = (ow + 4 * LANES - 1) // (4 * LANES) * (4 * LANES)
    pitch = max((width + 2 * pw + sw - 1) // sw, lanes + (kw - 1) * dw // sw)
    line, columns = sw * pitch, _columns(kw, dw, sw, pitch)
    rows, cotangents = np.zeros((height + 2 * ph) * line, x.dtype), np.zeros(oh * lanes, x.dtype)
    total = np.empty((kh, kw), np.float64)
    for f in range(start, stop):
        total[:] = 0.0
        for sample in range(n):
            q = sample * filters + f
            _pad(x[q // multiplier], rows, pitch, sw, ph, pw)
            _pad(grad[q], cotangents, lanes, 1, 0, 0)
            for i in range(kh):
                for j in range(kw):
                    a0 = a1 = a2 = a3 = spread(T(0))
                    for r in range(oh):
                        g, at = r * lanes, (r * sh + i * dh) * line + columns[j]
                        for s in range(0, lanes, 4 * LANES):
                            a0 = multiply_add(load(cotangents, g + s), load(rows, at + s), a0)
                            a1 = multiply_add(load(cotangents, g + s + LANES), load(rows, at + s + LANES), a1)
                            a2 = multiply_add(load(cotangents, g + s + 2 * LANES), load(rows, at + s + 2 * LANES), a2)
                            a3 = multiply_add(load(cotangents, g + s + 3 * LANES), load(rows, at + s + 3 * LANES), a3)
                    total[i, j] += np.float64(sum_of(a0) + sum_of(a1) + (sum_of(a2) + sum_of(a3)))
        for i in range(kh):
            for j in range(kw):
                dw_out[f, i, j] = T(total[i, j])


# Depthwise convolution otherwise works on a padded plane as one flat vector: with windows at every position (stride 1) a tap is
# one shift of it, so the inner loops are long and branch-free.  The few positions computed in vain, at the ends of
# rows and between strides, cost less than short loops with limits.


@kernel(
    "r3[a,h,v] r3[f,kh,kw] w3[a*multiplier,oh,ow] i i i i i i i (f>0) (kh>0) (kw>0) (oh>0) (ow>0) (multiplier>0) (ph>=0) "
    "(pw>=0) (dh>0) (dw>0) (sh>0) (sw>0) (((oh-1)*sh+(kh-1)*dh)*(v+2*pw)+(ow-1)*sw+(kw-1)*dw+1<=(h+2*ph)*(v+2*pw)) :a*multiplier",
)
def depthwise(x, w, y, multiplier, sh, sw, ph, pw, dh, dw, start, stop):
    """Planes [start, stop) of ``y``; plane p of n * channels * multiplier reads plane p // multiplier of ``x``."""
    height, width, oh, ow = x.shape[1], x.shape[2], y.shape[1], y.shape[2]
    filters, kh, kw = w.shape
    wide = width + 2 * pw
    span = (oh - 1) * sh * wide + (ow - 1) * sw + 1
    padded = np.zeros((height + 2 * ph) * wide, x.dtype)
    total = np.empty(span, x.dtype)
    for p in range(start, stop):
        if p == start or p % multiplier == 0:
            _frame(x[p // multiplier], padded, wide, ph, pw)
        total[:] = 0
        for i in range(kh):
            if kw == 3:  # the common width: three taps in one pass
                t0, t1, t2 = w[p % filters, i, 0], w[p % filters, i, 1], w[p % filters, i, 2]
                first = i * dh * wide
                x0, x1 = padded[first : first + span], padded[first + dw : first + dw + span]
                x2 = padded[first + 2 * dw : first + 2 * dw + span]
                for q in range(total.size):
                    total[q] += t0 * x0[q] + t1 * x1[q] + t2 * x2[q]
                continue
            for j in range(kw):
                t = w[p % filters, i, j]
                first = i * dh * wide + j * dw
                xs = padded[first : first + span]
                for q in range(total.size):
                    total[q] += t * xs[q]
        for r in range(oh):
            ts, ys = total[r * sh * wide :], y[p, r]
            if sw == 1:
                for s in range(ys.size):
                    ys[s] = ts[s]
            else:
                for s in range(ys.size):
                    ys[s] = ts[s * sw]


@kernel(
    "r3[a*multiplier,oh,ow] r3[f,kh,kw] w3[a,h,v] i i i i i i i (f>0) (kh>0) (kw>0) (oh>0) (ow>0) (multiplier>0) (ph>=0) "
    "(pw>=0) (dh>0) (dw>0) (sh>0) (sw>0) (((oh-1)*sh+(kh-1)*dh)*(v+2*pw)+(ow-1)*sw+(kw-1)*dw+1<=(h+2*ph)*(v+2*pw)) :a",
)
def depthwise_dx(grad, w, dx, multiplier, sh, sw, ph, pw, dh, dw, start, stop):
    """Planes [start, stop) of ``dx``, each from ``multiplier`` planes of ``grad``."""
    height, width, oh, ow = dx.shape[1], dx.shape[2], grad.shape[1], grad.shape[2]
    filters, kh, kw = w.shape
    wide = width + 2 * pw
    span = (oh - 1) * sh * wide + (ow - 1) * sw + 1
    padded = np.empty((height + 2 * ph) * wide, dx.dtype)
    spread = np.zeros(span, dx.dtype)
    for p in range(start, stop):
        padded[:] = 0
        for q in range(p * multiplier, (p + 1) * multiplier):
            for r in range(oh):
                gs, line = grad[q, r], spread[r * sh * wide :]
                if sw == 1:
                    for s in range(gs.size):
                        line[s] = gs[s]
                else:
                    for s in range(gs.size):
                        line[s * sw] = gs[s]
            for i in range(kh):
                for j in range(kw):
                    t = w[q % filters, i, j]
                    first = i * dh * wide + j * dw
                    xs = padded[first : first + span]
                    for s in range(spread.size):
                        xs[s] += t * spread[s]
        for r in range(height):
            first = (r + ph) * wide + pw
            ts, line = dx[p, r], padded[first : first + width]
            for s in range(ts.size):
                ts[s] = line[s]


@kernel(
    "r3[a*multiplier,oh,ow] r3[a,h,v] w3[f,kh,kw] i i i i i i i i (f>0) (kh>0) (kw>0) (oh>0) (ow>0) (multiplier>0) (ph>=0) "
    "(pw>=0) (dh>0) (dw>0) (sh>0) (sw>0) (n>=0) (n*f==a*multiplier) "
    "(((oh-1)*sh+(kh-1)*dh)*(v+2*pw)+(ow-1)*sw+(kw-1)*dw+1<=(h+2*ph)*(v+2*pw)) :f",
    REORDER,
)
def depthwise_dw(grad, x, dw_out, n, multiplier, sh, sw, ph, pw, dh, dw, start, stop):
    """Filters [start, stop) of ``dw_out``, each summed over the ``n`` samples."""
    T = x.dtype.type
    height, width, oh, ow = x.shape[1], x.shape[2], grad.shape[1], grad.shape[2]
    filters, kh, kw = dw_out.shape
    wide = width + 2 * pw
    span = (oh - 1) * sh * wide + (ow - 1) * sw + 1
    padded = np.zeros((height + 2 * ph) * wide, x.dtype)
    spread = np.zeros(span, x.dtype)
    total = np.empty((kh, kw), np.float64)
    for f in range(start, stop):
        total[:] = 0.0
        for sample in range(n):
            q = sample * filters + f
            _frame(x[q // multiplier], padded, wide, ph, pw)
            for r in range(oh):
                gs, line = grad[q, r], spread[r * sh * wide :]
                if sw == 1:
                    for s in range(gs.size):
                        line[s] = gs[s]
                else:
                    for s in range(gs.size):
                        line[s * sw] = gs[s]
            for i in range(kh):
                for j in range(kw):
                    first = i * dh * wide + j * dw
                    for begin in range(0, span, 4096):
                        gs = spread[begin : begin + 4096]
                        xs = padded[first + begin : first + begin + gs.size]
                        part = T(0)
                        for s in range(gs.size):
                            part += gs[s] * xs[s]
                        total[i, j] += np.float64(part)
        for i in range(kh):
            for j in range(kw):
                dw_out[f, i, j] = T(total[i, j])


#: Elements of a row of columns up to which they are added up one by one.
_SHORT = 16


@kernel("r0[planes*kd*kh*kw*od*oh*ow] w0[planes*depth*height*width] i i i i i i i i i i i i i i i i i i i (planes>=0) (depth>=0) "
        "(height>=0) (width>=0) (kd>=0) (kh>=0) (kw>=0) (od>=0) (oh>=0) (ow>=0) (sw>0) :planes", frozenset(), dtypes="fdl")
def add_columns(cols, dx, planes, depth, height, width, kd, kh, kw, od, oh, ow, sd, sh, sw, pd, ph, pw, dd, dh, dw, start, stop):
    """Columns of windows over three dimensions added up where they lie, one tap after another."""
    zero, size, at = dx.dtype.type(0), depth * height * width, start * kd * kh * kw * od * oh * ow
    lows, highs = np.empty(kw, np.int64), np.empty(kw, np.int64)
    for c in range(kw):  # the windows of a row that have something at each tap
        left = c * dw - pw
        lows[c] = min(ow, max(0, (sw - 1 - left) // sw))
        highs[c] = max(lows[c], min(ow, (width - left + sw - 1) // sw))
    for p in range(start, stop):
        plane = dx[p * size : (p + 1) * size]
        plane[:] = zero
        for a in range(kd):
            for b in range(kh):
                for c in range(kw):
                    low, high = lows[c], highs[c]
                    first = low * sw + c * dw - pw
                    for r in range(od):
                        z = r * sd + a * dd - pd
                        for q in range(oh):
                            y = q * sh + b * dh - ph
                            if z >= 0 and z < depth and y >= 0 and y < height and high > low:
                                row = (z * height + y) * width + first
                                if high - low < _SHORT:  # a loop over vectors costs more to enter than to run
                                    k, last = np.uint64(at + low), np.uint64(at + high)
                                    target = np.uint64(p * size + row)
                                    while k < last:
                                        dx[target] += cols[k]
                                        target += np.uint64(sw)
                                        k += np.uint64(1)
                                else:
                                    sums, values = plane[row:], cols[at + low : at + high]
                                    if sw == 1:
                                        for s in range(values.size):
                                            sums[s] += values[s]
                                    else:
                                        for s in range(values.size):
                                            sums[s * sw] += values[s]
                            at += ow
