"""Folds along the middle of an array (outer, n, inner): sums and products of what numbers become, and extremes with their places.

Sums are added in NumPy's order, so that few numbers have its bits: along rows by halves, the last of which are eight running sums of at
most 128 numbers (``pairwise``; Higham, "The accuracy of floating point summation", 1993), along columns row after row.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic, overload, register_jitable

from .base import EXACT, REORDER, kernel, rounded, u8, wide
from .simd import LANES, Vector

#: Columns that go along together, and the numbers that are added without halving.
TILE, RUN = 128, 128
#: Longest rows whose extremes are looked for side by side.
SHORT = 4
#: Products that are added before their sum is.
PART = 4096
_CALLED: Any = {"nogil": True, "error_model": "numpy"}
_OTHERS = {types.uint16: types.float32, types.int16: types.float32, types.int64: types.int64, types.float32: types.float32}


def _wide_type(array: Any) -> Any:
    """What an array is added up in: its own dtype, float32 for half precision."""
    return _OTHERS.get(array.dtype, types.float64)


def total(x: Any, v: Any) -> Any:
    """A number in what an array is added up in."""
    return x.dtype.type(v)


def totals(x: Any, n: int) -> Any:
    """Room for so many of them."""
    return np.empty(n, x.dtype)


@overload(total, strict=False)
def _total(x, v):
    kind = _wide_type(x)
    return lambda x, v: kind(v)


@overload(totals, strict=False)
def _totals(x, n):
    kind = _wide_type(x)
    return lambda x, n: np.empty(n, kind)


# Eight numbers from a place on, and one, as what is added up: themselves (term 0), magnitudes (1), squares (2), 0 for NaN (3). What a term
# costs is a mask and a factor, so that there is one loop for all. Callers see to it that the places are there.


def _term(builder: Any, array: Any, loaded: Any, term: Any, lanes: int) -> Any:
    """What becomes of numbers as they lie in memory; vectors of ``lanes``, or one number for 0."""

    def kind(scalar: Any) -> Any:
        return ir.VectorType(scalar, lanes) if lanes else scalar

    def constant(scalar: Any, value: float) -> Any:
        return ir.Constant(kind(scalar), [value] * lanes if lanes else value)

    def flag(value: int) -> Any:
        found = builder.icmp_signed("==", term, ir.Constant(term.type, value))
        if not lanes:
            return found
        start = builder.insert_element(ir.Constant(kind(found.type), ir.Undefined), found, ir.Constant(ir.IntType(32), 0))
        zeros = ir.Constant(ir.VectorType(ir.IntType(32), lanes), [0] * lanes)
        return builder.shuffle_vector(start, ir.Constant(kind(found.type), ir.Undefined), zeros)

    word, number = ir.IntType(32), ir.FloatType()
    if array.dtype == types.int64:
        long = ir.IntType(64)
        negative = builder.and_(builder.icmp_signed("<", loaded, constant(long, 0)), flag(1))
        size = builder.select(negative, builder.sub(constant(long, 0), loaded), loaded)
        return builder.mul(size, builder.select(flag(2), size, constant(long, 1)))
    if array.dtype == types.uint16:
        v = builder.bitcast(builder.shl(builder.zext(loaded, kind(word)), constant(word, 16)), kind(number))
    elif array.dtype == types.int16:
        v = builder.fpext(builder.bitcast(loaded, kind(ir.HalfType())), kind(number))
    else:
        v = loaded
        if array.dtype == types.float64:
            word, number = ir.IntType(64), ir.DoubleType()
    bits = 63 if word.width == 64 else 31
    mask = builder.select(flag(1), constant(word, (1 << bits) - 1), constant(word, -1))
    size = builder.bitcast(builder.and_(builder.bitcast(v, kind(word)), mask), kind(number))
    found = builder.fmul(size, builder.select(flag(2), size, constant(number, 1.0)))
    missing = builder.and_(builder.fcmp_unordered("uno", v, v), flag(3))
    return builder.select(missing, constant(number, 0.0), found)


def _loaded(context: Any, builder: Any, array: Any, args: Any, lanes: int) -> Any:
    data = builder.gep(context.make_array(array)(context, builder, args[0]).data, [args[1]])
    if lanes:
        data = builder.bitcast(data, ir.VectorType(data.type.pointee, lanes).as_pointer())
    return builder.load(data, align=array.dtype.bitwidth // 8)


@intrinsic
def eight(typingctx, array, place, term):
    """``terms`` of eight numbers."""

    def codegen(context, builder, signature, args):
        return _term(builder, array, _loaded(context, builder, array, args, LANES), args[2], LANES)

    return Vector(_wide_type(array))(array, types.intp, types.intp), codegen


@intrinsic
def one(typingctx, array, place, term):
    """The same of one."""

    def codegen(context, builder, signature, args):
        return _term(builder, array, _loaded(context, builder, array, args, 0), args[2], 0)

    return _wide_type(array)(array, types.intp, types.intp), codegen


@intrinsic
def plus(typingctx, a, b):
    def codegen(context, builder, signature, args):
        return (builder.add if a.dtype == types.int64 else builder.fadd)(*args)

    return a(a, b), codegen


@intrinsic
def times(typingctx, array, a, b):
    """A product, of half precision rounded."""

    def codegen(context, builder, signature, args):
        _, x, y = args
        if a.dtype == types.int64:
            return builder.mul(x, y)
        v = builder.fmul(x, y)
        kind = v.type
        if array.dtype == types.int16:
            return builder.fpext(builder.fptrunc(v, ir.VectorType(ir.HalfType(), LANES)), kind)
        if array.dtype != types.uint16:
            return v
        words = ir.VectorType(ir.IntType(32), LANES)

        def all_of(value: int) -> Any:
            return ir.Constant(words, [value] * LANES)

        u = builder.bitcast(v, words)
        odd = builder.and_(builder.lshr(u, all_of(16)), all_of(1))
        up = builder.and_(builder.add(builder.add(u, all_of(0x7FFF)), odd), all_of(0xFFFF0000))
        return builder.select(builder.fcmp_unordered("uno", v, v), v, builder.bitcast(up, kind))

    return a(array, a, b), codegen


@intrinsic
def halved(typingctx, vector):
    """The sum of eight numbers: of pairs, of those, and of those."""

    def codegen(context, builder, signature, args):
        parts = [builder.extract_element(args[0], ir.Constant(ir.IntType(32), i)) for i in range(LANES)]
        while len(parts) > 1:
            add = builder.add if vector.dtype == types.int64 else builder.fadd
            parts = [add(parts[i], parts[i + 1]) for i in range(0, len(parts), 2)]
        return parts[0]

    return vector.dtype(vector), codegen


@intrinsic
def put(typingctx, array, place, vector):
    """Eight numbers into what ``totals`` made."""

    def codegen(context, builder, signature, args):
        data = builder.gep(context.make_array(array)(context, builder, args[0]).data, [args[1]])
        builder.store(args[2], builder.bitcast(data, args[2].type.as_pointer()), align=array.dtype.bitwidth // 8)
        return context.get_dummy_value()

    return types.void(array, types.intp, vector), codegen


@register_jitable(**_CALLED, forceinline=True)
def _lanes(x, a, m, term):
    """32 sums of at least as many numbers joined to eight, and how far they go."""
    o, p, q, r = eight(x, a, term), eight(x, a + 8, term), eight(x, a + 16, term), eight(x, a + 24, term)
    i = a + 32
    while i + 32 <= a + m:
        o, p = plus(o, eight(x, i, term)), plus(p, eight(x, i + 8, term))
        q, r = plus(q, eight(x, i + 16, term)), plus(r, eight(x, i + 24, term))
        i += 32
    return plus(plus(o, p), plus(q, r)), i


@register_jitable(**_CALLED, forceinline=True)
def _run(x, a, m, term, lanes):
    """Few numbers; with ``lanes`` in 32 sums instead of eight."""
    if m < 8:
        v = total(x, 0)
        for i in range(a, a + m):
            v += one(x, i, term)
        return v
    part, i = eight(x, a, term), a + 8
    if lanes and m >= 32 and term == 0:  # the constant spares what terms cost
        part, i = _lanes(x, a, m, 0)
    elif lanes and m >= 32 and term == 3:
        part, i = _lanes(x, a, m, 3)
    elif lanes and m >= 32:
        part, i = _lanes(x, a, m, term)
    while i + 8 <= a + m:
        part = plus(part, eight(x, i, term))
        i += 8
    v = halved(part)
    for i in range(a + m - m % 8, a + m):
        v += one(x, i, term)
    return v


@register_jitable(**_CALLED)
def _row(x, a, n, term, lanes, left, sizes):
    """Any length; ``left`` and ``sizes`` hold 64 parts that are not done."""
    few = 4096 if lanes else RUN
    if n <= few:
        return _run(x, a, n, term, lanes)
    depth, at = 0, a
    sizes[0] = n
    while True:
        m = sizes[depth]
        if m > few:  # the first half next
            half = m // 2
            depth += 1
            sizes[depth] = half - half % 8
            continue
        v = _run(x, at, m, term, lanes)
        at += m
        while depth and sizes[depth - 1] < 0:  # a second half is done
            depth -= 1
            v = left[depth] + v
        if not depth:
            return v
        left[depth - 1] = v
        m = sizes[depth - 1]
        sizes[depth - 1] = -m  # which tells that the first half is done
        half = m // 2
        sizes[depth] = m - (half - half % 8)


@register_jitable(**_CALLED, forceinline=True)
def _side_by_side(x, first, n, step, width, term, s):
    """Sums of columns, eight at a time, four rows after one another: memory is read in its order."""
    for k in range(0, width, 8):
        put(s, k, eight(x, first + k, term))
    r = 1
    while r + 4 <= n:
        at, b, c, d = first + r * step, first + (r + 1) * step, first + (r + 2) * step, first + (r + 3) * step
        for k in range(0, width, 8):
            part = plus(plus(eight(s, k, 0), eight(x, at + k, term)), eight(x, b + k, term))
            put(s, k, plus(plus(part, eight(x, c + k, term)), eight(x, d + k, term)))
        r += 4
    while r < n:
        for k in range(0, width, 8):
            put(s, k, plus(eight(s, k, 0), eight(x, first + r * step + k, term)))
        r += 1


@register_jitable(**_CALLED)
def _columns(x, first, n, step, width, term, lanes, s):
    """Sums of columns, ``step`` numbers from row to row, into ``s``: one row after another; with ``lanes`` those of few columns in four
    sums, or eight rows at once where nothing lies beside them."""
    i = 0
    if lanes and width == step and width < 8 and n >= 16:
        many = n - n % 8
        for k in range(0, 8 * width, 8):
            put(s, k, eight(x, first + k, term))
        for at in range(first + 8 * width, first + many * width, 8 * width):
            for k in range(0, 8 * width, 8):
                put(s, k, plus(eight(s, k, 0), eight(x, at + k, term)))
        for i in range(width):
            for k in range(width + i, 8 * width, width):
                s[i] += s[k]
            for at in range(first + many * width + i, first + n * width, width):
                s[i] += one(x, at, term)
        return
    rest = width - width % 8
    if lanes and 8 < width and rest < width and n >= 8:  # the last columns in four sums each; what lies before them comes again
        at, r = first + width - 8, 4
        a, b, c, d = eight(x, at, term), eight(x, at + step, term), eight(x, at + 2 * step, term), eight(x, at + 3 * step, term)
        at += 3 * step
        while r + 4 <= n:
            a, b = plus(a, eight(x, at + step, term)), plus(b, eight(x, at + 2 * step, term))
            c, d = plus(c, eight(x, at + 3 * step, term)), plus(d, eight(x, at + 4 * step, term))
            r, at = r + 4, at + 4 * step
        a = plus(plus(a, b), plus(c, d))
        for _ in range(r, n):
            at += step
            a = plus(a, eight(x, at, term))
        put(s, width - 8, a)
        width = rest
    if width >= 64 and step > width:
        i = width - width % 8
        if term == 0:  # the constant spares what terms cost
            _side_by_side(x, first, n, step, i, 0, s)
        else:
            _side_by_side(x, first, n, step, i, term, s)
    while i + 32 <= width:
        at = first + i
        a, b, c, d = eight(x, at, term), eight(x, at + 8, term), eight(x, at + 16, term), eight(x, at + 24, term)
        for _ in range(1, n):
            at += step
            a, b = plus(a, eight(x, at, term)), plus(b, eight(x, at + 8, term))
            c, d = plus(c, eight(x, at + 16, term)), plus(d, eight(x, at + 24, term))
        put(s, i, a)
        put(s, i + 8, b)
        put(s, i + 16, c)
        put(s, i + 24, d)
        i += 32
    while i + 8 <= width or not lanes and 8 < width and i < width:
        i = min(i, width - 8)  # the last may be some of those before once more
        at = first + i
        a = eight(x, at, term)
        for _ in range(1, n):
            at += step
            a = plus(a, eight(x, at, term))
        put(s, i, a)
        i += 8
    while i < width:
        at, r = first + i, 1
        v = one(x, at, term)
        if lanes and n >= 8:
            p, q, t = one(x, at + step, term), one(x, at + 2 * step, term), one(x, at + 3 * step, term)
            r, at = 4, at + 3 * step
            while r + 4 <= n:
                v, p = v + one(x, at + step, term), p + one(x, at + 2 * step, term)
                q, t = q + one(x, at + 3 * step, term), t + one(x, at + 4 * step, term)
                r, at = r + 4, at + 4 * step
            v = (v + p) + (q + t)
        for _ in range(r, n):
            at += step
            v += one(x, at, term)
        s[i] = v
        i += 1


@register_jitable(**_CALLED)
def _product(x, y, a, n, step, lanes, s):
    """Of half precision rounded after each factor; with ``lanes`` in eight parts, or, of a row, in 32."""
    v, k = total(x, 1), 0
    if lanes and step == 1 and n >= 64:
        p, q, r, t = eight(x, a, 0), eight(x, a + 8, 0), eight(x, a + 16, 0), eight(x, a + 24, 0)
        for i in range(a + 32, a + n - n % 32, 32):
            p, q = times(x, p, eight(x, i, 0)), times(x, q, eight(x, i + 8, 0))
            r, t = times(x, r, eight(x, i + 16, 0)), times(x, t, eight(x, i + 24, 0))
        put(s, 0, times(x, times(x, p, q), times(x, r, t)))
        v, k = s[0], n - n % 32
        for i in range(1, 8):
            v = wide(rounded(y, v * s[i]))
    while k < n:
        v = wide(rounded(y, v * one(x, a + k * step, 0)))
        k += 1
    return v


@register_jitable(**_CALLED)
def _products(x, first, n, step, width, s):
    """Products of columns, as `_columns`."""
    i = 0
    while i + 8 <= width:
        at = first + i
        a = eight(x, at, 0)
        for _ in range(1, n):
            at += step
            a = times(x, a, eight(x, at, 0))
        put(s, i, a)
        i += 8
    return i


@kernel("r0[outer*n*inner] w0[outer*((n+per_block-1)//per_block)*inner] i i i i i i i (outer>=0) (n>=0) (inner>=0) (per_block>0) "
        ":outer*((n+per_block-1)//per_block)*((inner+127)//128)", EXACT)
def fold(x, y, outer, n, inner, per_block, term, last, lanes, start, stop):
    """Sums (``term`` 0; 1 of magnitudes, 2 of squares, 3 of what is not NaN) or products (4), one for ``per_block`` numbers; divided by
    ``last``, or their root where that is -1, or as they are for 0. With ``lanes`` in another order than NumPy's, which is quicker."""
    blocks, tiles = (n + per_block - 1) // per_block, (inner + TILE - 1) // TILE
    s, left, sizes = totals(x, TILE), totals(x, 64), np.empty(64, np.int64)
    for item in range(start, stop):
        part, column, place, block = item, 0, item, 0
        if tiles > 1:  # divisions take as long as short rows
            part = place = item // tiles
            column = (item - part * tiles) * TILE
        if blocks > 1:
            place = part // blocks
            block = (part - place * blocks) * per_block
        m, width, at = min(per_block, n - block), min(TILE, inner - column), (place * n + block) * inner + column
        if inner == 1 and term != 4:  # slices take as long as short rows
            if m > RUN:
                v = _row(x, at, m, term, lanes, left, sizes)
            elif term == 0:  # the constant spares what terms cost
                v = _run(x, at, m, 0, lanes)
            else:
                v = _run(x, at, m, term, lanes)
            if last > 0:
                v = total(x, v / total(x, last))
            elif last:
                v = total(x, math.sqrt(v))
            y[part] = rounded(y, v)
            continue
        if term == 4:
            for i in range(_products(x, at, m, inner, width, s), width):
                s[i] = _product(x, y, at + i, m, inner, lanes, left)
        else:
            _columns(x, at, m, inner, width, term, lanes, s)
        to = part * inner + column
        if not last:
            row = y[to : to + width]
            for i in range(row.size):
                row[i] = rounded(y, s[i])
        for i in range(width if last else 0):
            v = s[i]
            if last > 0:
                v = total(x, v / total(x, last))
            elif last:
                v = total(x, math.sqrt(v))
            y[to + i] = rounded(y, v)


@register_jitable(**_CALLED, forceinline=True)
def _multiplied(x, at, z, by, step, m, y, room, to):
    """Products of ``m`` numbers side by side and others, ``step`` apart, into what ``totals`` made: each as where it is stored."""
    at, by, step, to = u8(at), u8(by), u8(step), u8(to)
    if step == u8(1):
        for i in range(m):
            room[to + u8(i)] = wide(rounded(y, wide(x[at + u8(i)]) * wide(z[by + u8(i)])))
    elif step == u8(0):
        v = wide(z[by])
        for i in range(m):
            room[to + u8(i)] = wide(rounded(y, wide(x[at + u8(i)]) * v))
    else:
        for i in range(m):
            room[to + u8(i)] = wide(rounded(y, wide(x[at + u8(i)]) * wide(z[by + u8(i) * step])))


@kernel("r0[outer*n*inner] r0[nb] w0[outer*((n+per_block-1)//per_block)*inner] i i i i i i i i (outer>=0) (n>0) (inner>=0) (per_block>0) "
        "(z0>=0) (z1>=0) (z2>=0) "
        "((outer*inner==0)|((outer-1)*z0+(n-1)*z1+(inner-1)*z2<nb)) :outer*((n+per_block-1)//per_block)*((inner+127)//128)", EXACT, "fdEe",
        fresh=True)
def fold_products(x, z, y, outer, n, inner, per_block, z0, z1, z2, lanes, start, stop):
    """`fold`, for sums, of products with what has a step of its own along each of the three dimensions."""
    blocks, tiles = (n + per_block - 1) // per_block, (inner + TILE - 1) // TILE
    step = min(TILE, inner)
    room = totals(x, min(per_block, n) * step)
    s, left, sizes = totals(x, TILE), totals(x, 64), np.empty(64, np.int64)
    for item in range(start, stop):
        part, column = item // tiles, item % tiles * TILE
        place, block = part // blocks, part % blocks * per_block
        m, width, at = min(per_block, n - block), min(TILE, inner - column), (place * n + block) * inner + column
        by = place * z0 + block * z1 + column * z2
        if inner == 1:
            _multiplied(x, at, z, by, z1, m, y, room, 0)
        else:
            for r in range(m):
                _multiplied(x, at + r * inner, z, by + r * z1, z2, width, y, room, r * step)
        if inner == 1 and m <= RUN:
            s[0] = _run(room, 0, m, 0, lanes)
        elif inner == 1:
            s[0] = _row(room, 0, m, 0, lanes, left, sizes)
        else:
            _columns(room, 0, m, step, width, 0, lanes, s)
        to = part * inner + column
        for i in range(width):
            y[to + i] = rounded(y, s[i])


@kernel("r0[na] r0[nb] w0[n] i i i (m>=0) (a>=0) (b>=0) ((n==0)|(((n-1)*a+m<=na)&((n-1)*b+m<=nb))) :n", REORDER, "Eel", fresh=True)
def dot_rows(x, z, y, m, a, b, start, stop):
    """Sums of products of ``m`` numbers, where one begins ``a`` and ``b`` numbers after another: of half precision in single, rounded once,
    of integers as they wrap around."""
    for item in range(start, stop):
        v, of, by, left = total(x, 0), u8(item) * u8(a), u8(item) * u8(b), m
        while left > 0:  # what is added stays small beside what it is added to
            s, count = total(x, 0), min(left, PART)
            for i in range(count):
                s += wide(x[of + u8(i)]) * wide(z[by + u8(i)])
            v += s
            of, by, left = of + u8(count), by + u8(count), left - PART
        y[item] = rounded(y, v)


def _places(x: Any, n: int) -> Any:
    """Room for as many places as wide as what numbers of an array are compared as."""
    return np.empty(n, np.int64)


@overload(_places, strict=False)
def _room_for_places(x, n):
    kind = np.int64 if _wide_type(x).bitwidth == 64 else np.int32
    return lambda x, n: np.empty(n, kind)


@register_jitable(**_CALLED)
def _short(x, y, index, n, smallest, numbers, places, start, stop):
    """`extremes` of short rows, side by side: branches that nobody foresees take longer than choices."""
    for first in range(start, stop, TILE):
        many, at = min(TILE, stop - first), u8(first) * u8(n)
        best, place = numbers[:many], places[:many]
        for i in range(best.size):
            best[i], place[i] = wide(x[at + u8(i) * u8(n)]), 0
        for r in range(1, n):
            at, here = at + u8(1), place.dtype.type(r)
            if smallest:
                for i in range(best.size):
                    v, w = wide(x[at + u8(i) * u8(n)]), best[i]
                    better = (v < w) | ((v != v) & (w == w))
                    best[i], place[i] = v if better else w, here if better else place[i]
            else:
                for i in range(best.size):
                    v, w = wide(x[at + u8(i) * u8(n)]), best[i]
                    better = (v > w) | ((v != v) & (w == w))
                    best[i], place[i] = v if better else w, here if better else place[i]
        at = u8(first) * u8(n)
        for i in range(best.size):
            y[u8(first + i)], index[u8(first + i)] = x[at + u8(i) * u8(n) + u8(place[i])], place[i]


@kernel("r0[outer*n*inner] w0[outer*inner] Q0[outer*inner] i i i i (outer>=0) (n>0) (n<2147483648) (inner>=0) "
        ":outer*((inner+127)//128)", EXACT)
def extremes(x, y, index, outer, n, inner, smallest, start, stop):
    """The largest numbers, or the smallest, and where they are: the first of equal ones, or the first NaN."""
    tiles = (inner + TILE - 1) // TILE
    numbers, places = totals(x, TILE), _places(x, TILE)
    if inner == 1 and n <= SHORT:
        _short(x, y, index, n, smallest, numbers, places, start, stop)
        start = stop
    for item in range(start, stop):
        a, part = 0, item
        if tiles > 1:
            part = item // tiles
            a = (item - part * tiles) * TILE
        width, first, to = min(TILE, inner - a), part * n * inner + a, part * inner + a
        for i in range(width if width < 8 else 0):
            at = first + i
            best, place = wide(x[at]), 0
            if best == best:
                for r in range(1, n):
                    v = wide(x[at + r * inner])
                    if not (v >= best if smallest else v <= best):
                        best, place = v, r
                        if v != v:
                            break
            y[to + i], index[to + i] = x[at + place * inner], place
        if width < 8:
            continue
        some, best, place = x[first : first + width], numbers[:width], places[:width]
        for i in range(some.size):
            best[i], place[i] = wide(some[i]), 0
        for r in range(1, n):
            some, here = x[first + r * inner : first + r * inner + width], place.dtype.type(r)
            if smallest:
                for i in range(some.size):
                    v, w = wide(some[i]), best[i]
                    better = (v < w) | ((v != v) & (w == w))
                    best[i], place[i] = v if better else w, here if better else place[i]
            else:
                for i in range(some.size):
                    v, w = wide(some[i]), best[i]
                    better = (v > w) | ((v != v) & (w == w))
                    best[i], place[i] = v if better else w, here if better else place[i]
        for i in range(width):
            y[to + i], index[to + i] = x[first + place[i] * inner + i], place[i]


# Numbers as integers of their size in the same order, which the compiler takes the least and the largest of in vectors.


def rank(v: Any) -> Any:
    return v


def ranks(x: Any, n: int) -> Any:
    """Room for so many."""
    return np.empty(n, x.dtype)


def ranked(array: Any, low: Any, high: Any, k: Any) -> Any:
    """The element of one that is between two others; NaN where one of these is beyond infinity."""
    return k


@overload(rank, strict=False)
def _rank(v):
    if v not in _RANKS:
        return lambda v: v
    own, signed, last, _, _ = _RANKS[v]
    whole, rest = signed(last), signed(2**last - 1)
    if isinstance(v, types.Float):
        return lambda v: signed(own(v).view(signed) ^ ((own(v).view(signed) >> whole) & rest))
    return lambda v: signed(signed(v) ^ ((signed(v) >> whole) & rest))


@overload(ranks, strict=False)
def _rank_room(x, n):
    kind = _RANKS[x.dtype][1] if x.dtype in _RANKS else x.dtype
    return lambda x, n: np.empty(n, kind)


@overload(ranked, strict=False)
def _ranked(array, low, high, k):
    kind = array.dtype
    if kind not in _RANKS:
        return lambda array, low, high, k: k
    own, signed, last, most, missing = _RANKS[kind]
    whole, rest, least = signed(last), signed(2**last - 1), -most - 1
    if isinstance(kind, types.Float):
        def number(array, low, high, k):
            bits = signed(missing) if high > most or low < least else signed(k ^ ((k >> whole) & rest))
            return signed(bits).view(own)
    else:
        def number(array, low, high, k):
            return own(signed(missing) if high > most or low < least else signed(k ^ ((k >> whole) & rest)))
    return number


#: Of floating-point numbers, as they lie in arrays: themselves, the integer of their size, its last bit, infinity, and what is no number.
_RANKS: Any = {types.uint16: (np.uint16, np.int16, 15, 0x7F80, 0x7FC0), types.int16: (np.int16, np.int16, 15, 0x7C00, 0x7E00),
               types.float32: (np.float32, np.int32, 31, 0x7F800000, 0x7FC00000),
               types.float64: (np.float64, np.int64, 63, 0x7FF0000000000000, 0x7FF8000000000000)}


@kernel("r0[outer*n*inner] w0[outer*inner]? w0[outer*inner]? i i i (outer>=0) (n>0) (inner>=0) "
        ":outer*((inner+127)//128)", EXACT, dtypes="fdlEeB")
def ends(x, least, largest, outer, n, inner, start, stop):
    """The least numbers and the largest, of which one may be left out; NaN where there is one."""
    tiles = (inner + TILE - 1) // TILE
    lows, highs = ranks(x, TILE), ranks(x, TILE)
    for item in range(start, stop):
        a, part = 0, item
        if tiles > 1:
            part = item // tiles
            a = (item - part * tiles) * TILE
        width, first, to = min(TILE, inner - a), part * n * inner + a, part * inner + a
        if inner == 1 and n < 8:  # vectors take as long to begin
            low = high = rank(x[first])
            for i in range(first + 1, first + n):
                k = rank(x[i])
                low, high = k if k < low else low, k if k > high else high
            lows[0], highs[0] = low, high
        elif inner == 1:
            row = x[first : first + n]
            low = high = rank(row[0])
            for i in range(1, row.size):
                k = rank(row[i])
                low, high = k if k < low else low, k if k > high else high
            lows[0], highs[0] = low, high
        else:
            some = x[first : first + width]
            low_row, high_row = lows[:width], highs[:width]
            for i in range(some.size):
                low_row[i] = high_row[i] = rank(some[i])
            for r in range(1, n):
                some = x[first + r * inner : first + r * inner + width]
                for i in range(some.size):
                    k = rank(some[i])
                    low_row[i] = k if k < low_row[i] else low_row[i]
                    high_row[i] = k if k > high_row[i] else high_row[i]
        for i in range(width):
            if least.size:
                least[to + i] = ranked(x, lows[i], highs[i], lows[i])
            if largest.size:
                largest[to + i] = ranked(x, lows[i], highs[i], highs[i])


@register_jitable(**_CALLED)
def _apart(x, a, n, step, c, m, squares):
    """The sum of numbers less ``c`` and less ``m``, or of their squares, in double precision and NumPy's order of up to 128 in a row."""
    s0, i = 0.0, 0
    if step == 1 and n >= 8:
        s1, s2, s3, s4, s5, s6, s7 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
        while i + 8 <= n:
            at = a + i
            d0, d1, d2, d3 = (wide(x[at]) - c) - m, (wide(x[at + 1]) - c) - m, (wide(x[at + 2]) - c) - m, (wide(x[at + 3]) - c) - m
            d4, d5, d6, d7 = (wide(x[at + 4]) - c) - m, (wide(x[at + 5]) - c) - m, (wide(x[at + 6]) - c) - m, (wide(x[at + 7]) - c) - m
            if squares:
                d0, d1, d2, d3, d4, d5, d6, d7 = d0 * d0, d1 * d1, d2 * d2, d3 * d3, d4 * d4, d5 * d5, d6 * d6, d7 * d7
            s0, s1, s2, s3, s4, s5, s6, s7 = s0 + d0, s1 + d1, s2 + d2, s3 + d3, s4 + d4, s5 + d5, s6 + d6, s7 + d7
            i += 8
        s0 = ((s0 + s1) + (s2 + s3)) + ((s4 + s5) + (s6 + s7))
    while i < n:
        d = (wide(x[a + i * step]) - c) - m
        s0 += d * d if squares else d
        i += 1
    return s0


@register_jitable(**_CALLED)
def _apart_by_halves(x, a, n, c, m, squares, left, sizes):
    """The same of rows of any length; as in `_row`."""
    if n <= RUN:
        return _apart(x, a, n, 1, c, m, squares)
    depth, at = 0, a
    sizes[0] = n
    while True:
        count = sizes[depth]
        if count > RUN:
            half = count // 2
            depth += 1
            sizes[depth] = half - half % 8
            continue
        v = _apart(x, at, count, 1, c, m, squares)
        at += count
        while depth and sizes[depth - 1] < 0:
            depth -= 1
            v = left[depth] + v
        if not depth:
            return v
        left[depth - 1] = v
        count = sizes[depth - 1]
        sizes[depth - 1] = -count
        half = count // 2
        sizes[depth] = count - (half - half % 8)


@kernel("r0[outer*n*inner] w0[outer*inner] w0[outer*inner] i i i s i (outer>=0) (n>0) (inner>=0) :outer*inner",
        EXACT)
def spread(x, y, mean, outer, n, inner, divisor, root, start, stop):
    """Variances of few numbers, or their roots, and means, around the first of them in double precision."""
    left, sizes = np.empty(64, np.float64), np.empty(64, np.int64)
    for item in range(start, stop):
        part = item // inner
        a = part * n * inner + (item - part * inner)
        c = np.float64(wide(x[a]))
        if inner == 1:
            m = _apart_by_halves(x, a, n, c, 0.0, False, left, sizes) / n
            v = _apart_by_halves(x, a, n, c, m, True, left, sizes) / divisor
        else:
            m = _apart(x, a, n, inner, c, 0.0, False) / n
            v = _apart(x, a, n, inner, c, m, True) / divisor
        y[item], mean[item] = rounded(y, math.sqrt(v) if root else v), rounded(y, m + c)
