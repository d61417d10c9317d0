"""Taking from, and adding into, rows and elements that an index names: False where there is no such row or element."""

from __future__ import annotations

import numpy as np
from numba import types
from numba.extending import overload, register_jitable

from .base import EXACT, f4, f8, kernel, rounded, u8, wide, working


@kernel("r2[v,m] x1[n] w2[n,m] :n")
def take_rows(table, index, y, start, stop):
    """``y[i] = table[index[i]]``."""
    for i in range(start, stop):
        k = index[i]
        if k < 0 or k >= table.shape[0]:
            return False
        xs, ys = table[k], y[i]
        for j in range(ys.size):
            ys[j] = xs[j]
    return True


@kernel("w2[v,m] x1[n] r2[n,m] |m")
def add_rows(target, index, rows, start, stop):
    """Columns [start, stop) of ``target[index[i]] += rows[i]``."""
    for i in range(index.size):
        k = index[i]
        if k < 0 or k >= target.shape[0]:
            return False
        ts, rs = target[k, start:stop], rows[i, start:stop]
        for j in range(ts.size):
            ts[j] += rs[j]
    return True


@kernel("w1[v] x1[n] r1[n]")
def add_elements(target, index, values):
    for i in range(index.size):
        k = index[i]
        if k < 0 or k >= target.size:
            return False
        target[k] += values[i]
    return True


# Elements at positions along a dimension. Of (outer, v, inner) elements, which are a, b and c from one to the next, those at
# (o, index[o, k, i], i) go with those at (o, k, i) of (outer, along, inner) others, which are p, q and r from one to the next: all
# zeros where they are one number. The index has the others' shape, or is `alone`: one vector (along) for all of them.

_SIZES = ("i i i i i (outer>=0) (along>=0) (inner>=0) (v>=0) (alone>=0) (alone<=1) (float(outer)*v*inner<9e18) :outer")
_INDEX = "x0[(1-alone)*outer*along*inner+alone*along]"
_REACH = "(outer-1)*a+(v-1)*b+(inner-1)*c+1"
_OTHERS = "r0[>=(outer-1)*p+(along-1)*q+(inner-1)*r+1]"
_STEPS = "i i i (a>=0) (b>=0) (c>=0)"
_BOTH = f"{_STEPS} i i i (p>=0) (q>=0) (r>=0)"


@register_jitable
def _each(array, index, others, a, b, c, p, q, r, v, along, inner, alone, start, stop, move):
    """Moves, or changes, elements of an array and others."""
    for o in range(start, stop):
        first, at, named = o * a, o * p, o * along * inner
        for k in range(along):
            if alone and c == 1 and r < 2 and inner > 3:
                row = index[u8(k)]
                if row < 0 or row >= v:
                    return False
                place = first + row * b
                part, given = array[place : place + inner], others[at : at + (inner - 1) * r + 1]
                for i in range(part.size):
                    move(part, u8(i), given, u8(i if r else 0))
            else:
                for i in range(inner):
                    row = index[u8(k if alone else named + i)]
                    if row < 0 or row >= v:
                        return False
                    # Unsigned, or each is asked whether it counts from the end.
                    move(array, u8(first + row * b + i * c), others, u8(at + i * r))
            named += inner
            at += q
    return True


@register_jitable
def _inside(index, v, along, inner, alone, start, stop):
    """Whether all positions are there, so that nothing is changed where one is not."""
    first, last = (0, along) if alone else (start * along * inner, stop * along * inner)
    outside = False
    for i in range(first, last):
        outside |= u8(index[u8(i)]) >= u8(v)  # negative ones are large
    return not outside


@register_jitable
def _take(array, place, others, at):
    others[at] = array[place]


@register_jitable
def _put(array, place, others, at):
    array[place] = others[at]


@register_jitable
def _plus(array, place, others, at):
    array[place] = rounded(array, wide(array[place]) + wide(others[at]))


@register_jitable
def _multiply(array, place, others, at):
    array[place] = rounded(array, wide(array[place]) * wide(others[at]))


@register_jitable
def _most(array, place, others, at):
    a, b = wide(array[place]), wide(others[at])
    array[place] = array[place] if a >= b or a != a else others[at]


@register_jitable
def _least(array, place, others, at):
    a, b = wide(array[place]), wide(others[at])
    array[place] = array[place] if a <= b or a != a else others[at]


def _mean(total, count):
    return total // count if isinstance(total, (int, np.integer)) else total / total.dtype.type(count)


@overload(_mean)
def _mean_of(total, count):
    if isinstance(total, types.Integer):
        return lambda total, count: total // count
    return (lambda total, count: total / f4(count)) if total == types.float32 else (lambda total, count: total / f8(count))


@register_jitable
def _tally(out, index, counts, a, b, c, v, along, inner, alone, start, stop, begin, step):
    """Counts how often elements are named, from ``begin`` on (step 0 and 1), and then divides each by that, once (2)."""
    for o in range(start, stop):
        for k in range(along):
            for i in range(inner):
                row = index[u8(k if alone else (o * along + k) * inner + i)]
                if row < 0 or row >= v:
                    return False
                place = u8(o * a + row * b + i * c)
                if step == 0:
                    counts[place] = begin
                elif step == 1:
                    counts[place] += 1
                elif counts[place] > 0:
                    out[place] = rounded(out, _mean(wide(out[place]), counts[place]))
                    counts[place] = 0
    return True


@kernel(f"r0[>={_REACH}] {_INDEX} w0[outer*along*inner] {_STEPS} {_SIZES}", dtypes="fdlHBe")
def gather(source, index, y, a, b, c, outer, v, along, inner, alone, start, stop):
    """Elements of what lies in any order of its dimensions."""
    return _each(source, index, y, a, b, c, along * inner, inner, 1, v, along, inner, alone, start, stop, _take)


@kernel(f"w0[>={_REACH}] {_INDEX} {_OTHERS} {_BOTH} {_SIZES}", dtypes="fdlHBe")
def scatter(out, index, source, a, b, c, p, q, r, outer, v, along, inner, alone, start, stop):
    """Elements put into what lies in any order of its dimensions, with gaps or without."""
    return _inside(index, v, along, inner, alone, start, stop) and _each(
        out, index, source, a, b, c, p, q, r, v, along, inner, alone, start, stop, _put)


@kernel(f"w0[>={_REACH}] {_INDEX} {_OTHERS} r0[_] Q0[>=mean*({_REACH})] i i (mean>=0) (mean<=1) {_BOTH} {_SIZES}", dtypes="fdlEeB")
def scatter_reduce(out, index, source, neutral, counts, how, mean, a, b, c, p, q, r, outer, v, along, inner, alone, start, stop):
    """Reduces into elements: by sum, product, maximum or minimum, from 0 on. What they were counts, too, unless there is a number that
    takes its place. A ``mean`` is the result by how many there were, of integers rounded down."""
    if not _inside(index, v, along, inner, alone, start, stop):
        return False
    anew = neutral.size > 0
    if anew and not _each(out, index, neutral, a, b, c, 0, 0, 0, v, along, inner, alone, start, stop, _put):
        return False
    if how == 0:
        done = _each(out, index, source, a, b, c, p, q, r, v, along, inner, alone, start, stop, _plus)
    elif how == 1:
        done = _each(out, index, source, a, b, c, p, q, r, v, along, inner, alone, start, stop, _multiply)
    elif how == 2:
        done = _each(out, index, source, a, b, c, p, q, r, v, along, inner, alone, start, stop, _most)
    else:
        done = _each(out, index, source, a, b, c, p, q, r, v, along, inner, alone, start, stop, _least)
    for step in range(3 if mean else 0):
        if not _tally(out, index, counts, a, b, c, v, along, inner, alone, start, stop, 0 if anew else 1, step):
            return False
    return done


@register_jitable
def _pass(out, index, source, sums, counts, kept, mean, a, b, c, p, q, r, v, along, inner, alone, start, stop, step):
    for o in range(start, stop):
        at, named = o * p, o * along * inner
        for k in range(along):
            if alone and c == 1 and r == 1 and inner > 3 and not mean:
                row = index[u8(k)]
                if row < 0 or row >= v:
                    return False
                place = o * a + row * b
                total, part, given = sums[place : place + inner], out[place : place + inner], source[at : at + inner]
                for i in range(total.size):
                    if step == 0:
                        total[u8(i)] = wide(part[u8(i)]) if kept else f4(0)
                    elif step == 1:
                        total[u8(i)] += wide(given[u8(i)])
                    else:
                        part[u8(i)] = rounded(out, total[u8(i)])
            else:
                for i in range(inner):
                    row = index[u8(k if alone else named + i)]
                    if row < 0 or row >= v:
                        return False
                    place = u8(o * a + row * b + i * c)
                    if step == 0:
                        sums[place] = wide(out[place]) if kept else f4(0)
                        if mean:
                            counts[place] = kept
                    elif step == 1:
                        sums[place] += wide(source[u8(at + i * r)])
                        if mean:
                            counts[place] += 1
                    else:
                        out[place] = rounded(out, _mean(sums[place], counts[place]) if mean else sums[place])
            named += inner
            at += q
    return True


@kernel(f"w0[>={_REACH}] {_INDEX} {_OTHERS} E0[>={_REACH}] Q0[>=mean*({_REACH})] i i (mean>=0) (mean<=1) {_BOTH} {_SIZES}",
        dtypes="Ee")
def scatter_add(out, index, source, sums, counts, kept, mean, a, b, c, p, q, r, outer, v, along, inner, alone, start, stop):
    """Adds to elements, or where they are not ``kept`` to zero, in single precision, in the places of ``sums`` that are theirs, and rounds
    once; a ``mean`` after it was divided by how many there were."""
    if not _inside(index, v, along, inner, alone, start, stop):
        return False
    for step in range(3):
        if not _pass(out, index, source, sums, counts, kept, mean, a, b, c, p, q, r, v, along, inner, alone, start, stop, step):
            return False
    return True


@kernel("w0[n] x0[k] r0[k] q1[d] q1[d] i i (one==1) :one", dtypes="fdlHBe")
def put_lying(out, index, source, shape, steps, how, one, start, stop):
    """Puts (0), or adds (1), elements at positions that are counted in rows, or from the end, in what lies in any order of its dimensions;
    or has the largest (2)."""
    size, last = 1, 0.0  # whose parts may be larger than whole numbers are
    for d in range(shape.size):
        if shape[d] < 1 or steps[d] < 0:
            return False
        size *= shape[d]
        last += float(shape[d] - 1) * float(steps[d])
    outside = last >= out.size
    for i in range(index.size):  # before anything is changed
        outside |= (index[u8(i)] < -size) | (index[u8(i)] >= size)
    if outside:
        return False
    for i in range(index.size):
        row = index[u8(i)]
        if row < -size or row >= size:
            return False
        left, at = u8(row if row >= 0 else row + size), u8(0)
        for d in range(shape.size - 1, -1, -1):
            n = u8(shape[d])
            rest = left // n
            at += (left - rest * n) * u8(steps[d])
            left = rest
        if how == 0:
            _put(out, at, source, u8(i))
        elif how == 1:
            _plus(out, at, source, u8(i))
        else:
            _most(out, at, source, u8(i))
    return True


@kernel("w0[n] b0[n] r0[_] :n", dtypes="fdlHBe")
def put_where(out, mask, source, start, stop):
    """Puts one element after the other where the mask is set, as far as there are any."""
    at = 0
    for i in range(start):
        at += mask[i]
    for i in range(start, stop):
        if mask[i]:
            if at >= source.size:
                return
            out[i] = source[u8(at)]
            at += 1


@register_jitable
def _joined(x, index, starts, counts, y, move, start, stop):
    named = index.size > 0
    length = index.size if named else x.shape[0]
    for s in range(start, stop):
        first, count = starts[s], counts[s]
        if first < 0 or count < 0 or first > length - count:
            return False
        ys = y[s]
        for k in range(first, first + count):
            row = index[u8(k)] if named else k
            if row < 0 or row >= x.shape[0]:
                return False
            xs = x[row]
            for i in range(ys.size):
                move(ys, u8(i), xs, u8(i))
    return True


@kernel("r2[n,m] x1[_]? x1[k] x1[k] w2[k,m] i :k", dtypes="fdEe")
def segments(x, index, starts, counts, y, how, start, stop):
    """Reduces ``counts[s]`` rows from ``starts[s]`` on into row s: by sum, product, maximum or minimum, from 0 on. Rows are those of ``x``,
    or with an index those that it names."""
    if how == 0:
        return _joined(x, index, starts, counts, y, _plus, start, stop)
    if how == 1:
        return _joined(x, index, starts, counts, y, _multiply, start, stop)
    if how == 2:
        return _joined(x, index, starts, counts, y, _most, start, stop)
    return _joined(x, index, starts, counts, y, _least, start, stop)


# Segments of a dimension, the middle one of (outer, n, rest), by their lengths or, with ``bounds``, where they begin and the last one ends.

_CUT = ("i i i i i (outer>=0) (n>=0) (rest>=0) (bounds>=0) (bounds<=1) (many>=bounds) :outer")


@kernel(f"r0[outer*n*rest] x0[outer*many] w0[outer*(many-bounds)*rest] i s i {_CUT}", dtypes="fdEe")
def cut(x, given, y, how, initial, whole, outer, n, rest, many, bounds, start, stop):
    """The sums (``how`` 0), products (1), largest (2) or least (3) of segments, from ``initial`` on and step by step, as torch has them;
    means (4), or where those of nothing are ``initial`` (5). False where segments leave something over, if that is ``whole``."""
    for o in range(start, stop):
        end = given[u8(o * many)] if bounds else 0
        for s in range(many - bounds):
            first = end
            end = given[u8(o * many + s + 1)] if bounds else end + given[u8(o * many + s)]
            if first < 0 or end < first or end > n:
                return False
            to = (o * (many - bounds) + s) * rest
            ys = y[to : to + rest]
            for i in range(ys.size):
                ys[i] = rounded(y, working(y, initial))
            for k in range(o * n + first, o * n + end):
                xs = x[k * rest : k * rest + rest]
                for i in range(ys.size):
                    a, b = wide(ys[i]), wide(xs[i])
                    if how == 0 or how > 3:
                        ys[i] = rounded(y, a + b)
                    elif how == 1:
                        ys[i] = rounded(y, a * b)
                    elif how == 2:
                        ys[i] = ys[i] if a >= b or a != a else xs[i]
                    else:
                        ys[i] = ys[i] if a <= b or a != a else xs[i]
            if how == 4 or how == 5 and end > first:
                count = wide(rounded(y, working(y, end - first)))
                for i in range(ys.size):
                    ys[i] = rounded(y, wide(ys[i]) / count)
        if whole and end != n:
            return False
    return True


@kernel(f"r0[outer*(many-bounds)*rest] r0[outer*(many-bounds)*rest] r0[outer*n*rest] x0[outer*many] w0[outer*n*rest] i {_CUT}",
        dtypes="fdEe")
def cut_gradient(grad, found, x, given, y, how, outer, n, rest, many, bounds, start, stop):
    """The gradient of that, zero in no segment. False where one would be divided by zero, or by NaN."""
    for o in range(start, stop):
        zeros = y[o * n * rest : (o + 1) * n * rest]
        for i in range(zeros.size):
            zeros[i] = rounded(y, working(y, 0))
        end = given[u8(o * many)] if bounds else 0
        for s in range(many - bounds):
            first = end
            end = given[u8(o * many + s + 1)] if bounds else end + given[u8(o * many + s)]
            if first < 0 or end < first or end > n:
                return False
            to, count = (o * (many - bounds) + s) * rest, wide(rounded(y, working(y, end - first)))
            for i in range(rest):
                g, f, hits, at = wide(grad[u8(to + i)]), wide(found[u8(to + i)]), 0, (o * n + first) * rest + i
                for _ in range(first, end):
                    v = wide(x[u8(at)])
                    if how == 0:
                        y[u8(at)] = rounded(y, g)
                    elif how > 3:
                        y[u8(at)] = rounded(y, g / count)
                    elif how == 1:
                        if v == 0 or v != v:
                            return False
                        y[u8(at)] = rounded(y, wide(rounded(y, g * f)) / v)
                    elif v == f or v != v:
                        y[u8(at)] = rounded(y, g)
                        hits += 1
                    at += rest
                if hits > 1 and g > 0:  # torch shares out what is above 0 alone
                    share, at = wide(rounded(y, working(y, hits))), (o * n + first) * rest + i
                    for _ in range(first, end):
                        if wide(y[u8(at)]) > 0:
                            y[u8(at)] = rounded(y, g / share)
                        at += rest
    return True


@kernel("r2[n,m] x1[k] r1[k]? x1[s] x1[s] w2[s,m] i :s", EXACT)
def bags(x, index, weights, starts, counts, y, mean, start, stop):
    """The sums, or means, of ``counts[s]`` rows that the index names from ``starts[s]`` on, times their weights, if there are any."""
    width = y.shape[1]
    total = np.full(min(width, 4096), working(x, 0.0))  # sums that stay in the first cache
    for s in range(start, stop):
        first, count = starts[s], counts[s]
        if first < 0 or count < 0 or first > index.size - count:
            return False
        for left in range(0, max(width, 1), 4096):  # of none, too, whose indices are looked at
            sums = total[: min(4096, width - left)]
            for i in range(sums.size):
                sums[i] = 0.0
            for k in range(first, first + count):
                row = index[u8(k)]
                if row < 0 or row >= x.shape[0]:
                    return False
                xs, w = x[row, left : left + sums.size], wide(weights[u8(k)]) if weights.size > 0 else working(x, 1.0)
                for i in range(sums.size):
                    sums[i] += wide(xs[i]) * w
            ys, by = y[s, left : left + sums.size], working(x, max(count, 1) if mean else 1)
            for i in range(ys.size):
                ys[i] = rounded(ys, sums[i] / by)
    return True
