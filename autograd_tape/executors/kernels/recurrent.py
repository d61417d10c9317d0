"""One layer and direction of a recurrence over a whole sequence, and its gradient through time.

The inputs' part of all gates is one product; then each step takes one product of the state, into an array made before, and one call of
a kernel for all gates. Backward, each step gives the gradient for its gates, and what the weights get is one product over all steps.

Arrays over steps are flat: [sum of the sizes of the batch, features]. Sequences are sorted by length, so that the sizes descend: at each
step those still running are the first rows of the state; forward, the rows of those that have ended stay as they are, and backward, those
of sequences that join are still the first states.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np

from . import blas, reduce
from ._on_demand import LazyModule, contiguous, state
from .handy import Handy

__all__ = ["GATES", "backward", "forward", "rounded_step"]

_compiled = LazyModule("recurrent")

GATES = {"LSTM": 4, "GRU": 3, "RNN_TANH": 1, "RNN_RELU": 1}
"""How many gates each kind of recurrence has."""

#: Elements that compute as long as a step is called in Python; and up to which those of a weight are multiplied by one row, and by all
#: rows together, without BLAS.
_STEP, _ONE, _FEW = 1024, 1 << 18, 1 << 16
#: How many times as many passes over elements a single step saves that is compiled, as other kernels do.
_DEAR = 4

Array = np.ndarray
Step = Callable[..., object]


def _sigmoid(x: Array, y: Array) -> None:
    """y = 1 / (1 + exp(-(x + y)))"""
    y += x
    _logistic(y)


def _logistic(y: Array) -> None:
    """y = 1 / (1 + exp(-y))"""
    np.negative(y, y)
    np.exp(y, y)
    y += 1
    np.reciprocal(y, y)


def _lstm(gates: Array, product: Array, bias: Array, c: Array, cells: Array, y: Array, at: int, start: int, stop: int) -> None:
    k, rows = c.shape[1], slice(at + start, at + stop)
    g, p, c = gates[rows], product[start:stop], c[start:stop]
    p += bias
    new = g[:, 2 * k:3 * k]
    kept = np.tanh(new + p[:, 2 * k:3 * k])
    _sigmoid(p, g)  # of all, which takes less time than two calls for parts
    new[...] = kept
    c *= g[:, k:2 * k]
    kept *= g[:, :k]
    c += kept
    cells[rows] = c
    np.multiply(g[:, 3 * k:], np.tanh(c), y[rows])


def _lstm_grad(gates: Array, cells: Array, before: Array, grad: Array, dh: Array, dc: Array, dgates: Array, at: int, start: int,
               stop: int) -> None:
    k, rows = dc.shape[1], slice(at + start, at + stop)
    g, d, c = gates[rows], dgates[rows], dc[start:stop]
    i, f, new, o = g[:, :k], g[:, k:2 * k], g[:, 2 * k:3 * k], g[:, 3 * k:]
    h, t = dh[start:stop] + grad[rows], np.tanh(cells[rows])
    d[:, 3 * k:] = h * t * o * (1 - o)
    c += h * o * (1 - t * t)
    d[:, :k] = c * new * i * (1 - i)
    d[:, 2 * k:3 * k] = c * i * (1 - new * new)
    d[:, k:2 * k] = c * before[rows] * f * (1 - f)
    c *= f


def _gru(gates: Array, product: Array, bias: Array, h: Array, news: Array, y: Array, at: int, start: int, stop: int) -> None:
    k, rows = h.shape[1], slice(at + start, at + stop)
    g, p, h = gates[rows], product[start:stop], h[start:stop]
    p[:, :2 * k] += bias[:2 * k]
    _sigmoid(p[:, :2 * k], g[:, :2 * k])
    reset, z, new = g[:, :k], g[:, k:2 * k], g[:, 2 * k:]
    kept = news[rows]
    np.add(p[:, 2 * k:], bias[3 * k:], kept)
    new += bias[2 * k:3 * k]
    new += reset * kept
    np.tanh(new, new)
    h -= new
    h *= z
    h += new
    y[rows] = h


def _gru_grad(gates: Array, news: Array, before: Array, grad: Array, dh: Array, dgates: Array, dproducts: Array, at: int, start: int,
              stop: int) -> None:
    k, rows = dh.shape[1], slice(at + start, at + stop)
    g, d, p, h = gates[rows], dgates[rows], dproducts[rows], dh[start:stop]
    reset, z, new = g[:, :k], g[:, k:2 * k], g[:, 2 * k:]
    h += grad[rows]
    d[:, k:2 * k] = h * (before[rows] - new) * z * (1 - z)
    dn = h * (1 - z) * (1 - new * new)
    d[:, 2 * k:] = dn
    h *= z
    d[:, :k] = dn * news[rows] * reset * (1 - reset)
    p[:, :2 * k] = d[:, :2 * k]
    p[:, 2 * k:] = dn * reset


def _rnn_tanh(gates: Array, product: Array, bias: Array, h: Array, y: Array, at: int, start: int, stop: int) -> None:
    rows, h = slice(at + start, at + stop), h[start:stop]
    np.tanh(np.add(gates[rows], product[start:stop] + bias, h), h)
    y[rows] = h


def _rnn_relu(gates: Array, product: Array, bias: Array, h: Array, y: Array, at: int, start: int, stop: int) -> None:
    rows, h = slice(at + start, at + stop), h[start:stop]
    np.maximum(np.add(gates[rows], product[start:stop] + bias, h), 0, h)
    y[rows] = h


def _rnn_tanh_grad(y: Array, grad: Array, dh: Array, dgates: Array, at: int, start: int, stop: int) -> None:
    rows = slice(at + start, at + stop)
    dgates[rows] = (grad[rows] + dh[start:stop]) * (1 - y[rows] * y[rows])


def _rnn_relu_grad(y: Array, grad: Array, dh: Array, dgates: Array, at: int, start: int, stop: int) -> None:
    rows = slice(at + start, at + stop)
    dgates[rows] = np.where(y[rows] <= 0, y.dtype.type(0), grad[rows] + dh[start:stop])


_PLAIN: dict[str, Step] = {"lstm": _lstm, "lstm_grad": _lstm_grad, "gru": _gru, "gru_grad": _gru_grad, "rnn_tanh": _rnn_tanh,
                           "rnn_relu": _rnn_relu, "rnn_tanh_grad": _rnn_tanh_grad, "rnn_relu_grad": _rnn_relu_grad}


Once = Callable[[Array, Array, Array, "Array | None"], "tuple[Array, Array | None, Array | None]"]


def _lstm_once(gates: Array, product: Array, h: Array, c: Array | None) -> tuple[Array, Array, Array]:
    """The new state, the cell state that the gradient needs, and the same; the others alike."""
    assert c is not None
    k = c.shape[1]
    gates += product
    new = np.tanh(gates[:, 2 * k:3 * k])
    _logistic(gates)
    gates[:, 2 * k:3 * k] = new
    new *= gates[:, :k]
    new += c * gates[:, k:2 * k]
    return gates[:, 3 * k:] * np.tanh(new), new, new.copy()


def _gru_once(gates: Array, product: Array, h: Array, c: Array | None) -> tuple[Array, Array, None]:
    k = h.shape[1]
    both, new, kept = gates[:, :2 * k], gates[:, 2 * k:], contiguous(product[:, 2 * k:])
    both += product[:, :2 * k]
    _logistic(both)
    new += both[:, :k] * kept
    np.tanh(new, new)
    y = h - new
    y *= both[:, k:]
    y += new
    return y, kept, None


def _tanh_once(gates: Array, product: Array, h: Array, c: Array | None) -> tuple[Array, None, None]:
    product += gates
    return np.tanh(product, product), None, None


def _relu_once(gates: Array, product: Array, h: Array, c: Array | None) -> tuple[Array, None, None]:
    product += gates
    return np.maximum(product, 0, product), None, None


_ONCE: dict[str, Once] = {"LSTM": _lstm_once, "GRU": _gru_once, "RNN_TANH": _tanh_once, "RNN_RELU": _relu_once}


def _kernel(name: str, gates: Array) -> Step:
    found: Step = getattr(_compiled, name)[gates.dtype.char]
    return found


def _step(name: str, gates: Array) -> Step:
    return _PLAIN[name] if gates.size < state.fused else _kernel(name, gates)


def _at_once(gates: Array, weight: Array, sizes: tuple[int, ...]) -> bool:
    """Whether the compiled kernel for all steps is the fastest: for a few rows times a weight that the caches hold. Steps count with what
    else their calls cost."""
    return gates.size + _STEP * len(sizes) >= state.fused and sizes[0] * weight.size <= (_ONE if sizes[0] == 1 else _FEW)


@cache
def _rows(sizes: tuple[int, ...], reverse: bool) -> list[tuple[int, int]]:
    """(first row, number of rows) of each step, in the order of the recurrence."""
    found, at = [], 0
    for n in sizes:
        found.append((at, n))
        at += n
    return found[::-1] if reverse else found


@cache
def _places(sizes: tuple[int, ...], reverse: bool, backward: bool) -> Array:
    """`_rows` as an array, for kernels; those `backward` in time."""
    return np.array(_rows(sizes, reverse)[::-1 if backward else 1], np.int64)


def _bias(mode: str, size: int, dtype: np.dtype[Any], b_ih: Array | None, b_hh: Array | None) -> Array:
    """What is added to all gates; for a GRU's new state two parts, the inputs' and the state's, which are not added up."""
    if mode != "GRU" and b_ih is not None and b_hh is not None:
        return b_ih + b_hh
    found = np.zeros((4 if mode == "GRU" else GATES[mode]) * size, dtype)
    alike = slice(2 * size if mode == "GRU" else None)
    if b_ih is not None:
        found[:len(b_ih)] = b_ih
    if b_hh is not None:
        found[alike] += b_hh[alike]
        if mode == "GRU":
            found[3 * size:] = b_hh[2 * size:]
    return found


def _before(first: Array, states: Array, rows: list[tuple[int, int]]) -> Array:
    """The states before each step; `states` are those after it, `first` those before all."""
    found = np.empty(states.shape, states.dtype)
    count = len(first)
    if rows[0][1] == rows[-1][1]:  # all steps are of all sequences
        after, start = (found[:-count], found[-count:]) if rows[0][0] else (found[count:], found[:count])
        after[...], start[...] = states[count:] if rows[0][0] else states[:-count], first
        return found
    have = last = 0
    for at, n in rows:
        same = min(n, have)
        found[at:at + same] = states[last:last + same]
        if same < n:
            found[at + same:at + n] = first[same:n]
        have, last = n, at
    return found


def _checked(mode: str, x: Array, h: Array, c: Array | None, weights: Sequence[Array | None], sizes: tuple[int, ...]) -> None:
    """ValueError for shapes and TypeError for dtypes that do not fit together."""
    w_ih, w_hh, b_ih, b_hh, w_hr = weights
    arrays = [a for a in (x, h, c, *weights) if a is not None]
    if x.dtype.char not in "fd" or any([a.dtype != x.dtype for a in arrays]):
        raise TypeError("a recurrence is computed in float32 or float64, all in one")
    assert w_ih is not None and w_hh is not None
    n, size = sizes[0], (w_hr.shape[1] if w_hr is not None and w_hr.ndim == 2 else h.shape[-1])
    gates, out = GATES[mode] * size, h.shape[-1]
    wanted = [(x, (sum(sizes), w_ih.shape[-1])), (h, (n, out)), (c, (n, size)), (w_ih, (gates, w_ih.shape[-1])), (w_hh, (gates, out)),
              (b_ih, (gates,)), (b_hh, (gates,)), (w_hr, (out, size))]
    if any([a is not None and a.shape != shape for a, shape in wanted]) or (c is None) is (mode == "LSTM") or (
            w_hr is not None and mode != "LSTM") or sizes[-1] < 1 or list(sizes) != sorted(sizes, reverse=True):
        raise ValueError("the shapes of a recurrence do not fit together")


def forward(mode: str, x: Array, h: Array, c: Array | None, w_ih: Array, w_hh: Array, b_ih: Array | None, b_hh: Array | None,
            w_hr: Array | None, sizes: tuple[int, ...], reverse: bool) -> tuple[Array, Array, Array | None, Array, Array | None]:
    """The recurrence over `x` [sum(sizes), features] from the states `h` [N, out] and `c` [N, size], where N = sizes[0].

    Returns the outputs [sum(sizes), out], the last states, the gates after their functions, and the cell states (of a GRU the state's
    part of the new state) of all steps: the latter two are what `backward` wants.
    """
    if len(sizes) == 1 and w_hr is None:
        return _one_step(mode, x, h, c, w_ih, w_hh, b_ih, b_hh)
    _checked(mode, x, h, c, (w_ih, w_hh, b_ih, b_hh, w_hr), sizes)
    rows, dtype, size = _rows(sizes, reverse), x.dtype, w_hh.shape[0] // GATES[mode]
    gates = blas.product(x, w_ih.T)
    total = len(x)
    h, w_hh = h.copy(), contiguous(w_hh)
    bias = _bias(mode, size, dtype, b_ih, b_hh)
    y = np.empty((total, h.shape[1]), dtype)
    kept = None if mode.startswith("RNN") else np.empty((total, size), dtype)
    c = None if c is None else c.copy()
    if w_hr is None and _at_once(gates, w_hh, sizes):
        own = [a for a in (h, c, kept, y) if a is not None]
        _kernel(f"{mode.lower()}_steps", gates)(gates, contiguous(w_hh.T), bias, *own, _places(sizes, reverse, False))
        return y, h, c, gates, kept
    buffer, multiply, dot = np.empty((len(h), len(w_hh)), dtype), blas.multiplier(w_hh.T, len(h), len(rows)), np.dot
    step = _step(mode.lower(), gates)
    if mode == "LSTM":
        assert c is not None  # which `_checked` says
        hidden = y if w_hr is None else np.empty((total, size), dtype)
        projection = None if w_hr is None else contiguous(w_hr).T
        for at, n in rows:
            product, state_, end = (buffer, h, at + n) if n == len(h) else (buffer[:n], h[:n], at + n)
            multiply(state_, product)
            step(gates, product, bias, c if n == len(c) else c[:n], kept, hidden, at, 0, n)
            if projection is None:
                state_[...] = y[at:end]
            else:
                y[at:end] = dot(hidden[at:end], projection, state_)
    elif mode == "GRU":
        for at, n in rows:
            product, state_ = (buffer, h) if n == len(h) else (buffer[:n], h[:n])
            multiply(state_, product)
            step(gates, product, bias, state_, kept, y, at, 0, n)
    else:
        for at, n in rows:
            product, state_ = (buffer, h) if n == len(h) else (buffer[:n], h[:n])
            multiply(state_, product)
            step(gates, product, bias, state_, y, at, 0, n)
    return y, h, c, gates, kept


def _one_step(mode: str, x: Array, h: Array, c: Array | None, w_ih: Array, w_hh: Array, b_ih: Array | None, b_hh: Array | None
              ) -> tuple[Array, Array, Array | None, Array, Array | None]:
    """The same for a single step of all sequences, as of a cell; kernels see by themselves whether arrays fit."""
    gates, product = blas.product(x, w_ih.T), blas.product(h, w_hh.T)
    if gates.size * _DEAR < state.fused:
        if b_ih is not None:
            gates += b_ih
        if b_hh is not None:
            product += b_hh
        y, kept, c = _ONCE[mode](gates, product, h, c)
        return y, y.copy(), c, gates, kept
    n, y = len(x), np.empty((len(x), h.shape[1]), x.dtype)
    own, kept = h.copy() if c is None else c.copy(), None if mode[0] == "R" else np.empty((n, h.shape[1]), x.dtype)
    arrays = gates, product, _bias(mode, h.shape[1], x.dtype, b_ih, b_hh), own, *([] if kept is None else [kept]), y
    _kernel(mode.lower(), gates)(*arrays, 0, 0, n)
    return (y, own, None, gates, kept) if c is None else (y, y.copy(), own, gates, kept)


def backward(mode: str, dy: Array | None, dh: Array | None, dc: Array | None, x: Array, h: Array, c: Array | None, w_ih: Array,
             w_hh: Array, w_hr: Array | None, y: Array, gates: Array, kept: Array | None, sizes: tuple[int, ...], reverse: bool,
             needs: Sequence[bool]) -> list[Array | None]:
    """The gradients for x, h, c, the four weights and biases, and the projection, as far as `needs` says so, from those of the
    outputs, None where there is none."""
    rows, dtype, size = _rows(sizes, reverse), x.dtype, w_hh.shape[0] // GATES[mode]
    n_rows, total, out = len(h), len(x), h.shape[1]
    dh = np.zeros((n_rows, out), dtype) if dh is None else dh.copy()
    grad = np.zeros((total, out), dtype) if dy is None else contiguous(dy)
    w_hh, dot, name = contiguous(w_hh), np.dot, mode.lower()
    dgates = np.empty((total, GATES[mode] * size), dtype)
    dproducts, projected, through = dgates, None, dgates
    if mode == "LSTM":
        assert kept is not None and c is not None
        dc = np.zeros((n_rows, size), dtype) if dc is None else dc.copy()
        before = _before(c, kept, rows)
        own = [gates, kept, before, grad, dh, dc, dgates]
    elif mode == "GRU":
        before, dproducts = _before(h, y, rows), np.empty_like(dgates)
        assert kept is not None
        own = [gates, kept, before, grad, dh, dgates, dproducts]
    else:
        own = [y, grad, dh, dgates]
    if w_hr is None and _at_once(gates, w_hh, sizes):
        _kernel(f"{name}_steps_grad", gates)(*own, w_hh, _places(sizes, reverse, True))
    else:
        multiply, step = blas.multiplier(w_hh, len(h), len(rows)), _step(f"{name}_grad", gates)
        if w_hr is not None:
            projected, w_hr, through = grad.copy(), contiguous(w_hr), np.empty((n_rows, size), dtype)
            grad = np.zeros((total, size), dtype)
        buffer = np.empty_like(dh)
        for at, n in reversed(rows):
            old, end = dh if n == n_rows else dh[:n], at + n
            if mode == "LSTM":
                hidden = old
                if projected is not None and w_hr is not None:
                    projected[at:end] += old
                    hidden = dot(projected[at:end], w_hr, through[:n])
                step(gates, kept, before, grad, hidden, dc if dc is None or n == n_rows else dc[:n], dgates, at, 0, n)
                multiply(dgates[at:end], old)
            elif mode == "GRU":
                step(gates, kept, before, grad, old, dgates, dproducts, at, 0, n)
                multiply(dproducts[at:end], buffer[:n])
                old += buffer[:n]
            else:
                step(y, grad, old, dgates, at, 0, n)
                multiply(dgates[at:end], old)
    found: list[Array | None] = [None] * 8
    if needs[0]:
        found[0] = dgates.dot(w_ih)
    found[1], found[2] = dh, dc
    if needs[3]:
        found[3] = dgates.T.dot(x)
    if needs[4]:
        found[4] = dproducts.T.dot(before if mode == "GRU" else _before(h, y, rows))
    if needs[5]:
        found[5] = reduce.add(dgates, (0,))
    if needs[6]:
        found[6] = found[5].copy() if dproducts is dgates and found[5] is not None else reduce.add(dproducts, (0,))
    if needs[7] and projected is not None and kept is not None:
        found[7] = projected.T.dot(gates[:, 3 * size:] * np.tanh(kept))
    return found


_ROUNDED = {mode: Handy("recurrent", f"{mode.partition('_')[0].lower()}_rounded") for mode in ("LSTM", "GRU", "RNN_TANH")}
_ROUNDED["RNN_RELU"] = _ROUNDED["RNN_TANH"]


def rounded_step(mode: str, n: int) -> Callable[..., tuple[Array, ...]] | None:
    """``step(gates, product, *states)``, the states after a step of bfloat16 with NumPy's bits, rounded after each operation: of the
    inputs' part of its gates and, in single precision and not yet rounded, the state's with its bias. None where machine code is not at
    hand for so many steps that ``n`` numbers are gates."""
    run = _ROUNDED[mode].of("E", n)
    if run is None:
        return None

    def step(gates: Array, product: Array, h: Array, c: Array | None = None) -> tuple[Array, ...]:
        if mode == "LSTM":
            assert c is not None
            y, new = np.empty(c.shape, np.float32), np.empty(c.shape, np.float32)
            run(len(c), 1, gates, product, c, y, new)
            return y, new
        y = np.empty(h.shape, np.float32)
        run(len(h), 1, gates, product, *((h, y) if mode == "GRU" else (y, mode == "RNN_RELU")))
        return (y,)

    return step
