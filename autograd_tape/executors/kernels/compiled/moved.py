"""Elements that keep their values and change places."""

from __future__ import annotations

from .base import kernel, u8


@kernel("r0[o*n*m] w0[o*n*m] i i i (o>=0) (n>=0) (m>=0) :o", dtypes="fdlHB", fresh=True)
def turn(x, y, o, n, m, start, stop):
    """``y[k, i] = x[k, n - 1 - i]`` for k in [start, stop), of ``m`` elements each."""
    for k in range(start, stop):
        xs, ys = x[k * n * m : (k + 1) * n * m], y[k * n * m : (k + 1) * n * m]
        if m == 1:
            for i in range(n):
                ys[u8(i)] = xs[u8(n - 1 - i)]  # unsigned, or each is asked whether it counts from the end
        elif m == 3:  # by name: a loop of three turns takes twice as long
            for i in range(n):
                at, to = u8(3 * (n - 1 - i)), u8(3 * i)
                ys[to], ys[to + u8(1)], ys[to + u8(2)] = xs[at], xs[at + u8(1)], xs[at + u8(2)]
        elif m < 8:  # too short for vectors
            for i in range(n):
                for j in range(m):
                    ys[u8(i * m + j)] = xs[u8((n - 1 - i) * m + j)]
        else:
            for i in range(n):
                source, target = xs[(n - 1 - i) * m : (n - i) * m], ys[i * m : (i + 1) * m]
                for j in range(target.size):
                    target[j] = source[j]


@kernel("r0[r*m] w0[r*m] i i i i i i (r>=0) (m>=0) (n>0) (r%n==0) :r", dtypes="fdlHB", fresh=True)
def triangle(x, y, r, m, n, k, lower, columns, start, stop):
    """Rows [start, stop) of matrices of ``n`` rows of ``m``, which lie in columns with ``columns``: column j of row i is kept where
    j - i <= k, with ``lower``; else where it is not."""
    none = y.dtype.type(0)
    i = start
    while i < stop:
        first = i - i % n
        end = min(stop, first + n)
        # Up to one row all lies on one side, from another on all on the other: these are blocks.
        begin, whole = min(max(first + min(max(-k, 0), n), i), end), min(max(first + min(max(m - k - 1, 0), n), i), end)
        if columns != 0:
            begin, whole = (begin, end) if lower != 0 else (i, whole)  # what is kept is read row by row, the rest is not
        if lower != 0 or columns != 0:
            for at in range(i * m, begin * m):
                y[u8(at)] = none
        else:
            for at in range(i * m, begin * m):
                y[u8(at)] = x[u8(at)]
        for row in range(begin, whole):
            edge, to = min(max(row - first + k + 1, 0), m), row * m
            low, high = (0, edge) if lower != 0 else (edge, m)
            if m < 16:
                at, step = (first * m + row - first, n) if columns != 0 else (to, 1)
                for j in range(m):
                    y[u8(to + j)] = x[u8(at + j * step)] if low <= j < high else none
                continue
            for at in range(to, to + low):
                y[u8(at)] = none
            if columns != 0:
                at = u8(first * m + low * n + row - first)
                for j in range(to + low, to + high):
                    y[u8(j)] = x[at]
                    at += u8(n)
            else:
                for at in range(to + low, to + high):
                    y[u8(at)] = x[u8(at)]
            for at in range(to + high, to + m):
                y[u8(at)] = none
        if lower != 0 and columns == 0:
            for at in range(whole * m, end * m):
                y[u8(at)] = x[u8(at)]
        else:
            for at in range(whole * m, end * m):
                y[u8(at)] = none
        i = end


@kernel("w0[r*m] i i i i i (r>=0) (m>=0) (n>0) :r", dtypes="fdlHB")
def cut(y, r, m, n, k, lower, start, stop):
    """The same in place: zeros where ``triangle`` does not keep."""
    none = y.dtype.type(0)
    low, high = (0, min(max(m - k - 1, 0), n)) if lower != 0 else (min(max(-k, 0), n), n)  # rows that change
    first = start - start % n
    while first < stop:
        for i in range(max(first + low, start), min(first + high, stop)):
            edge = min(max(i - first + k + 1, 0), m)
            rest = y[i * m + edge : (i + 1) * m] if lower != 0 else y[i * m : i * m + edge]
            for j in range(rest.size):
                rest[j] = none
        first += n


@kernel("b2[r,c] Q1[n] Q1[n] i")
def places(mask, rows, columns, both):
    """Where a mask is set: in ``columns``, and in ``rows`` with ``both``, which have as many numbers as it has set elements."""
    at, end = u8(0), u8(columns.size)
    for r in range(mask.shape[0]):
        ms = mask[r]
        for i in range(ms.size):
            if at == end:
                return
            if both:
                rows[at] = r
            columns[at] = i
            at += u8(ms[i])  # without a branch that nobody foresees


@kernel("w0[outer*n*inner] b0[n] r0[1] i i i (outer>=0) (n>=0) (inner>=0) :outer", dtypes="fdlHB")
def fill_where(y, mask, value, outer, n, inner, start, stop):
    """Sets those of ``n`` times ``inner`` elements to a value whose mask is set, in each of the parts [start, stop)."""
    v = value[0]
    if inner == 1 and n < 16:
        k = 0
        for i in range(start * n, stop * n):
            if mask[u8(k)]:
                y[u8(i)] = v
            k = k + 1 if k < n - 1 else 0
        return
    for o in range(start, stop):
        ys = y[o * n * inner : (o + 1) * n * inner]
        if inner == 1:
            for k in range(ys.size):
                ys[k] = v if mask[k] else ys[k]
        else:
            for k in range(n):
                if mask[u8(k)]:
                    for i in range(k * inner, (k + 1) * inner):
                        ys[u8(i)] = v


@kernel("w0[n] b0[k] r0[v] q1[d] q1[d] q1[d] i (one==1) :one", dtypes="fdlHB")
def write_where(y, mask, values, shape, steps, of_mask, one, start, stop):
    """Puts one value after the other, or the only one each time, where a mask is set that lies in another order, or is broadcast."""
    rows, last, end, inner = 1, 0.0, 0.0, 1  # the furthest places may be larger than whole numbers are
    for d in range(shape.size):
        if shape[d] < 1 or steps[d] < 0 or of_mask[d] < 0:
            return
        rows, inner = rows * inner, shape[d]
        last += float(inner - 1) * float(steps[d])
        end += float(inner - 1) * float(of_mask[d])
    if last >= y.size or end >= mask.size or values.size == 0:
        return
    rank, k = shape.size - 1, 0
    a, b = (steps[rank], of_mask[rank]) if rank >= 0 else (0, 0)
    for r in range(rows):
        left, at, m = u8(r), 0, 0
        for d in range(rank - 1, -1, -1):
            n = u8(shape[d])
            rest = left // n
            at += (left - rest * n) * steps[d]
            m += (left - rest * n) * of_mask[d]
            left = rest
        if values.size == 1:
            v = values[0]
            for j in range(inner):
                y[u8(at + j * a)] = v if mask[u8(m + j * b)] else y[u8(at + j * a)]
        else:
            for j in range(inner):
                if mask[u8(m + j * b)]:
                    if k >= values.size:
                        return
                    y[u8(at + j * a)] = values[u8(k)]
                    k += 1


@kernel("x1[n] Q1[n] q1[k] q1[k] i (size>=0) :n")
def lying(index, y, shape, steps, size, start, stop):
    """Where elements of ``size`` lie that are counted in rows, from the end too, in an array of a shape with such steps."""
    for i in range(start, stop):
        left, at = index[i], 0
        if left < -size or left >= size:
            return False
        if left < 0:
            left += size
        for d in range(shape.size - 1, -1, -1):
            n = max(shape[d], 1)
            rest = left // n
            at += (left - rest * n) * steps[d]
            left = rest
        y[i] = at
    return True
