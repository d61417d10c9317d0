"""Recurrent networks: layers of an RNN, a GRU or an LSTM over a sequence, and single steps of them.

One layer and direction is one record, with one kernel over all steps and one back through them. Where somebody looks at operations, or a
dtype is none of the kernel's, it is made step by step of others, as in torch; so is the gradient of the gradient.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import Any

import numpy as np

from ...annotations import Fn, Functions, Values
from ...dims import wrap_dim
from ...dtypes import FLOATING, SCALAR_TYPE_NAMES
from ...errors import AutogradError, type_name
from ...executors.halves import Halves, bare, halves
from ...executors.kernels import recurrent as fused
from ...executors.kernels._on_demand import contiguous
from ...executors.kernels.halves import narrow, widened
from ...executors.numpy import half_kernel
from ...functions.overloads import no_match
from ...modes import GradMode, grad_mode
from ...record import Sample, get_record, op
from ...tensor import TensorRef
from .. import _batch as batches
from ._losses import buffer, constant

GATES = fused.GATES
States = tuple[Values, ...]
Weights = Sequence[Values]
"""For the inputs and the state, the biases of both, and the projection of the state; None for those that there are not."""


# -- step by step -------------------------------------------------------------------------------------------------------------


def _parts(F: Functions, gates: Values, count: int) -> Sequence[Values]:
    return F.split_equal(gates, gates.shape[1] // count, 1) if gates.shape[1] else [gates] * count


def _tanh(F: Functions, gates: Values, states: States, weight: Values, bias: Values | None, projection: object) -> States:
    return (F.tanh(gates + F.linear(states[0], weight, bias)),)


def _relu(F: Functions, gates: Values, states: States, weight: Values, bias: Values | None, projection: object) -> States:
    return (F.relu(gates + F.linear(states[0], weight, bias)),)


def _gate(F: Functions, x: Values) -> Values:
    """The logistic function of a gate, which torch writes over it, so that it refuses integers."""
    if isinstance(x, TensorRef) and x._k.dtype.category < FLOATING:
        raise AutogradError(f"result type Float can't be cast to the desired output type {SCALAR_TYPE_NAMES[x._k.dtype.name]}")
    return F.sigmoid(x)


def _lstm(F: Functions, gates: Values, states: States, weight: Values, bias: Values | None, projection: Values | None) -> States:
    h, c = states
    i, f, g, o = _parts(F, gates + F.linear(h, weight, bias), 4)
    c = _gate(F, f) * c + _gate(F, i) * F.tanh(g)
    h = _gate(F, o) * F.tanh(c)
    return (h if projection is None else F.linear(h, projection)), c


def _gru(F: Functions, gates: Values, states: States, weight: Values, bias: Values | None, projection: object) -> States:
    (h,) = states
    xr, xz, xn = _parts(F, gates, 3)
    hr, hz, hn = _parts(F, F.linear(h, weight, bias), 3)
    new = F.tanh(xn + _gate(F, xr + hr) * hn)
    return ((h - new) * _gate(F, xz + hz) + new,)


def _cell_in_torch(F: Functions, mode: str, input: Values, states: States, weights: Weights, sizes: Sequence[int] | None) -> States | None:
    """One step as torch composes it: the states, by the operations that its graph shows. None for several steps."""
    if sizes is None or len(sizes) != 1:
        return None
    w_ih, w_hh, b_ih, b_hh, _ = weights
    of_state, of_input = F.linear(states[0], w_hh, b_hh), F.linear(input, w_ih, b_ih)
    if mode in ("RNN_TANH", "RNN_RELU"):
        total = F.add(of_state, of_input)
        return (F.tanh(total) if mode == "RNN_TANH" else F.relu(total),)
    if mode == "GRU":
        (h,), (xr, xz, xn), (hr, hz, hn) = states, F.unsafe_chunk(of_input, 3, 1), F.unsafe_chunk(of_state, 3, 1)
        reset, update = F.sigmoid(F.add(hr, xr)), F.sigmoid(F.add(hz, xz))
        new = F.tanh(F.add(xn, F.mul(hn, reset)))
        return (F.add(F.mul(F.sub(h, new), update), new),)
    i, f, g, o = F.unsafe_chunk(F.add(of_state, of_input), 4, 1)
    c = F.add(F.mul(F.sigmoid(f), states[1]), F.mul(F.sigmoid(i), F.tanh(g)))
    return F.mul(F.sigmoid(o), F.tanh(c)), c


_STEPS: dict[str, Fn] = {"LSTM": _lstm, "GRU": _gru, "RNN_TANH": _tanh, "RNN_RELU": _relu}


class _OnHalves:
    """The operations of steps on arrays of half precision, each of which rounds as that on tensors does, with the same kernels. Weights are
    in single precision, widened once for all steps."""

    split_equal = staticmethod(lambda x, size, dim: [x[:, i:i + size] for i in range(0, x.shape[1], size)])
    unbind = staticmethod(lambda x, dim: list(x))
    slice = staticmethod(lambda x, dim, start, stop: x[start:stop])
    cat = staticmethod(lambda parts, dim: np.concatenate(parts, dim))
    stack = staticmethod(lambda parts, dim: np.stack(parts, dim))

    @staticmethod
    def split_with_sizes(x: np.ndarray, sizes: Sequence[int], dim: int) -> list[np.ndarray]:
        return [x[end - n:end] for n, end in zip(sizes, accumulate(sizes))]

    @staticmethod
    def linear(x: Halves, weight: np.ndarray, bias: np.ndarray | None = None) -> Halves:
        given = bare(x)
        found: Halves = halves(narrow(get_record("linear").field("numpy")(widened(given), weight, bias), given.dtype))
        return found

    def __getattr__(self, name: str) -> Fn:
        """A function of one number."""
        if name.startswith("__"):
            raise AttributeError(name)
        rec = get_record(name)
        kernel = half_kernel(rec, rec.field("numpy"))
        self.__dict__[name] = found = lambda x: halves(kernel(bare(x)))
        return found


_ON_HALVES = _OnHalves()
#: As many numbers take NumPy the time of a step's calls.
_STEP = 4096


def _rounded(mode: str, n: int) -> Fn | None:
    """A step as those of `_STEPS`, of bfloat16 by one kernel, whose states are in single precision; None where there is none."""
    run, linear = fused.rounded_step(mode, n), get_record("linear").field("numpy")
    if run is None:
        return None

    def step(F: Functions, gates: Halves, states: States, weight: Values, bias: Values | None, projection: Values | None) -> States:
        given = bare(gates)
        new = run(given, linear(states[0], weight, bias), *states)
        return new if projection is None else (widened(narrow(linear(new[0], projection), given.dtype)), *new[1:])

    return step


def _in_order(F: Functions, input: Values, sizes: Sequence[int] | None, w_ih: Values, b_ih: Values | None, reverse: bool
              ) -> tuple[Sequence[Values], Sequence[int]]:
    """The inputs' part of the gates at each step, and the numbers of the steps in the order of the recurrence."""
    gates = F.linear(input, w_ih, b_ih)
    steps = F.unbind(gates, 0) if sizes is None else F.split_with_sizes(gates, tuple(sizes), 0)
    return steps, range(len(steps))[::-1] if reverse else range(len(steps))


def _running(F: Functions, states: States, first: States, count: int) -> States:
    """The states of the first `count` sequences: forward some have ended, backward others join with their `first` states."""
    have = states[0].shape[0]
    if count < have:
        return tuple([F.slice(s, 0, 0, count) for s in states])
    return tuple([F.cat([s, F.slice(f, 0, have, count)], 0) for s, f in zip(states, first)]) if count > have else states


def _in_steps(F: Functions, step: Fn, input: Values, states: States, weights: Weights, sizes: Sequence[int] | None, reverse: bool
              ) -> tuple[Values, States]:
    """The outputs, like the input, and the last states of one layer and direction; `sizes` are those of the batch where it is packed."""
    w_ih, w_hh, b_ih, b_hh, w_hr = weights
    first = states
    gates, order = _in_order(F, input, sizes, w_ih, b_ih, reverse)
    outputs: list[Values | None] = [None] * len(gates)
    ended: list[States] = []
    for t in order:
        count, have = gates[t].shape[0], states[0].shape[0]
        if sizes is not None and t == order[0] and reverse:
            states = _running(F, states, first, count)
        elif sizes is not None and count != have:
            if count < have:
                ended.append(tuple([F.slice(s, 0, count, have) for s in states]))
            states = _running(F, states, first, count)
        states = step(F, gates[t], states, w_hh, b_hh, w_hr)
        outputs[t] = states[0]
    if ended:
        states = tuple([F.cat(list(parts), 0) for parts in zip(states, *reversed(ended))])
    return F.stack(outputs, 0) if sizes is None else F.cat(outputs, 0), states


def _lstm_grad(F: Functions, dh: Values, dc: Values, gates: Values, states: States, weights: Weights
               ) -> tuple[Values, Values, Values | None, States]:
    """The gradients for the gates of one step, by the input and by the state, for what is projected (that comes of it, and what goes in),
    and for the states before."""
    (h, c), (_, weight, _, bias, projection) = states, weights
    i, f, g, o = _parts(F, gates + F.linear(h, weight, bias), 4)
    i, f, g, o = F.sigmoid(i), F.sigmoid(f), F.tanh(g), F.sigmoid(o)
    t = F.tanh(f * c + i * g)
    projected = None
    if projection is not None:
        projected, dh = F.mm_tn(dh, o * t), F.mm(dh, projection)
    dc = dc + dh * o * (1 - t * t)
    d = F.cat([dc * g * i * (1 - i), dc * c * f * (1 - f), dc * i * (1 - g * g), dh * t * o * (1 - o)], 1)
    return d, d, projected, (F.mm(d, weight), dc * f)


def _gru_grad(F: Functions, dh: Values, dc: None, gates: Values, states: States, weights: Weights
              ) -> tuple[Values, Values, None, States]:
    (h,), (_, weight, _, bias, _) = states, weights
    xr, xz, xn = _parts(F, gates, 3)
    hr, hz, hn = _parts(F, F.linear(h, weight, bias), 3)
    r, z = F.sigmoid(xr + hr), F.sigmoid(xz + hz)
    new = F.tanh(xn + r * hn)
    dn = dh * (1 - z) * (1 - new * new)
    dr, dz = dn * hn * r * (1 - r), dh * (h - new) * z * (1 - z)
    d = F.cat([dr, dz, dn * r], 1)
    return F.cat([dr, dz, dn], 1), d, None, (F.mm(d, weight) + dh * z,)


def _tanh_grad(F: Functions, dh: Values, dc: None, gates: Values, states: States, weights: Weights
               ) -> tuple[Values, Values, None, States]:
    (y,) = _tanh(F, gates, states, weights[1], weights[3], None)
    d = dh * (1 - y * y)
    return d, d, None, (F.mm(d, weights[1]),)


def _relu_grad(F: Functions, dh: Values, dc: None, gates: Values, states: States, weights: Weights
               ) -> tuple[Values, Values, None, States]:
    (y,) = _relu(F, gates, states, weights[1], weights[3], None)
    d = F.threshold_backward(dh, y, 0)
    return d, d, None, (F.mm(d, weights[1]),)


_STEP_GRADS: dict[str, Fn] = {"LSTM": _lstm_grad, "GRU": _gru_grad, "RNN_TANH": _tanh_grad, "RNN_RELU": _relu_grad}


def _back_in_steps(F: Functions, mode: str, dy: Values | None, dlast: Sequence[Values | None], input: Values, states: States,
                   weights: Weights, sizes: Sequence[int] | None, reverse: bool) -> list[Values | None]:
    """The gradients for the input, h, c and the weights, from those of the outputs, None where there is none."""
    w_ih, w_hh, b_ih, b_hh, w_hr = weights
    first = states
    gates, order = _in_order(F, input, sizes, w_ih, b_ih, reverse)
    before: list[States] = [()] * len(gates)
    for t in order:
        before[t] = states = _running(F, states, first, gates[t].shape[0])
        if t != order[-1]:
            states = _STEPS[mode](F, gates[t], states, w_hh, b_hh, w_hr)
    grads = tuple([constant(F, s, np.zeros(tuple(s.shape), buffer(s).dtype)) if d is None else d for s, d in zip(first, dlast)])
    given = [None] * len(gates) if dy is None else F.unbind(dy, 0) if sizes is None else F.split_with_sizes(dy, tuple(sizes), 0)
    of_gates: list[Values] = [gates[0]] * len(gates)
    of_products, projected = list(of_gates), None
    for t in reversed(order):
        count, have = gates[t].shape[0], grads[0].shape[0]
        parts = [F.slice(g, 0, 0, count) if count < have else g for g in grads]
        dh = parts[0] if given[t] is None else parts[0] + given[t]
        of_gates[t], of_products[t], more, new = _STEP_GRADS[mode](F, dh, (*parts, None)[1], gates[t], before[t], weights)
        projected = more if projected is None else projected + more
        grads = tuple([F.cat([n, F.slice(g, 0, count, have)], 0) for n, g in zip(new, grads)]) if count < have else new
    d, dp, h = [F.cat(list(x), 0) for x in (of_gates, of_products, [b[0] for b in before])]
    flat = F.reshape(input, (d.shape[0], input.shape[-1]))
    return [F.reshape(F.mm(d, w_ih), tuple(input.shape)), *(*grads, None)[:2], F.mm_tn(d, flat), F.mm_tn(dp, h),
            None if b_ih is None else F.sum(d, (0,)), None if b_hh is None else F.sum(dp, (0,)), projected]


# -- one layer and direction --------------------------------------------------------------------------------------------------


def _sizes(input: np.ndarray, sizes: Sequence[int] | None) -> tuple[int, ...]:
    return (input.shape[1],) * input.shape[0] if sizes is None else tuple(sizes)


def _flat(x: np.ndarray) -> np.ndarray:
    return x if x.ndim == 2 else x.reshape(x.shape[0] * x.shape[1], x.shape[2])


def _forward(mode: str, input: np.ndarray, h: np.ndarray, c: np.ndarray | None, w_ih: np.ndarray, w_hh: np.ndarray,
             b_ih: np.ndarray | None, b_hh: np.ndarray | None, w_hr: np.ndarray | None, sizes: Sequence[int] | None, reverse: bool
             ) -> tuple[np.ndarray | None, ...]:
    y, h, c, gates, kept = fused.forward(mode, _flat(input), h, c, w_ih, w_hh, b_ih, b_hh, w_hr, _sizes(input, sizes), reverse)
    return y.reshape(*input.shape[:-1], y.shape[1]), h, c, gates, kept


@op("recurrent_backward(Tensor? dy, Tensor? dh, Tensor? dc, Tensor input, Tensor h, Tensor? c, Tensor w_ih, Tensor w_hh, Tensor? b_ih, "
    "Tensor? b_hh, Tensor? w_hr, Tensor result, Tensor? gates, Tensor? kept, str mode, Any sizes, bool reverse, Any needs) -> (Tensor "
    "grad_input, Tensor grad_h, Tensor grad_c, Tensor grad_w_ih, Tensor grad_w_hh, Tensor grad_b_ih, Tensor grad_b_hh, Tensor grad_w_hr)",
    namespace="_internal", method=False, out=False)
class recurrent_backward:
    """The gradients of `lstm_layer` and `rnn_layer`."""

    def numpy(dy, dh, dc, input, h, c, w_ih, w_hh, b_ih, b_hh, w_hr, result, gates, kept, mode, sizes, reverse, needs):
        dx, *grads = fused.backward(mode, dy if dy is None else _flat(dy), dh, dc, _flat(input), h, c, w_ih, w_hh, w_hr, _flat(result),
                                    gates, kept, _sizes(input, sizes), reverse, needs)
        return (dx if dx is None else dx.reshape(input.shape), *grads)
    def compose(F, dy, dh, dc, input, h, c, w_ih, w_hh, b_ih, b_hh, w_hr, result, gates, kept, mode, sizes, reverse, needs):
        states = (h,) if c is None else (h, c)
        return tuple(_back_in_steps(F, mode, dy, (dh, dc), input, states, (w_ih, w_hh, b_ih, b_hh, w_hr), sizes, reverse))
    function = compose
    def samples(rng):
        r = rng.standard_normal
        x, h, w = r((3, 2, 3)), r((2, 4)), (r((4, 3)), r((4, 4)), r(4), r(4))
        y, _, _, gates, _ = _forward("RNN_TANH", x, h, None, *w, None, None, False)
        yield r((3, 2, 4)), r((2, 4)), None, x, h, None, *w, None, y, gates, None, "RNN_TANH", None, False, (True,) * 8


@op("lstm_layer(Tensor input, Tensor h, Tensor c, Tensor w_ih, Tensor w_hh, Tensor? b_ih, Tensor? b_hh, Tensor? w_hr, Any sizes, bool "
    "reverse) -> (Tensor result, Tensor last_h, Tensor last_c, Saved gates, Saved cells)", namespace="_internal", method=False, out=False,
    node="MkldnnRnnLayerBackward0", complex="LSTM")
class lstm_layer:
    """One layer and direction of an LSTM (Hochreiter and Schmidhuber, 1997) over `input` [L, N, features], or, where `sizes` are those of
    the batch at each step, over a packed one [sum(sizes), features]; from the states `h` and `c`, each [N, size]."""

    nodes = {"sizes is not None and len(sizes) == 1": "MulBackward0", "sizes is not None": "CatBackward0",
             "w_hr is not None or w_ih.dtype.itemsize == 8": "StackBackward0"}
    amp = "lower"
    def no_forward(w_ih, w_hr, sizes, **_):
        return "mkldnn_rnn_layer" if sizes is None and w_hr is None and w_ih._k.dtype.name in ("float32", "bfloat16") else None
    batch = batches.composed
    def sharding(call): return call.composed()
    aten = "mkldnn_rnn_layer(input, w_ih, w_hh, b_ih, b_hh, h, c, reverse, [], 2, w_hh.shape[1], 1, b_ih is not None, False, False, True)"

    def numpy(input, h, c, w_ih, w_hh, b_ih, b_hh, w_hr, sizes, reverse):
        return _forward("LSTM", input, h, c, w_ih, w_hh, b_ih, b_hh, w_hr, sizes, reverse)
    def shape(input, h, c, w_ih, w_hh, b_ih, b_hh, w_hr, sizes, reverse):
        rows = int(np.prod(input[:-1]))
        return (*input[:-1], h[-1]), h, c, (rows, w_ih[0]), (rows, c[-1])
    def compose(F, input, h, c, w_ih, w_hh, b_ih, b_hh, w_hr, sizes, reverse):
        y, states = _in_steps(F, _lstm, input, (h, c), (w_ih, w_hh, b_ih, b_hh, w_hr), sizes, reverse)
        return y, *states, None, None
    def unfold(F, input, h, c, w_ih, w_hh, b_ih, b_hh, w_hr, sizes):
        states = None if w_hr is not None else _cell_in_torch(F, "LSTM", input, (h, c), (w_ih, w_hh, b_ih, b_hh, None), sizes)
        return NotImplemented if states is None else (states[0], *states)
    def vjp(F, grad, input, h, c, w_ih, w_hh, b_ih, b_hh, w_hr, result, gates, cells, sizes, reverse, needs):
        return F.recurrent_backward(*grad, input, h, c, w_ih, w_hh, b_ih, b_hh, w_hr, result, gates, cells, "LSTM", sizes, reverse, needs)

    def samples(rng):
        r = rng.standard_normal
        w = r((16, 3)), r((16, 4)), r(16), r(16)
        yield r((3, 2, 3)), r((2, 4)), r((2, 4)), *w, None, None, False
        yield r((6, 3)), r((3, 2)), r((3, 4)), r((16, 3)), r((16, 2)), None, None, r((2, 4)), (3, 2, 1), True
        yield r((6, 3)), r((3, 4)), r((3, 4)), *w, None, (3, 2, 1), False


@op("rnn_layer(Tensor input, Tensor h, Tensor w_ih, Tensor w_hh, Tensor? b_ih, Tensor? b_hh, str mode, Any sizes, bool reverse) -> (Tensor "
    "result, Tensor last_h, Saved gates, Saved news)", namespace="_internal", method=False, out=False, node="StackBackward0",
    complex="RNN")
class rnn_layer:
    """The same of a GRU (Cho et al., 2014), or of h = f(x W_ih^T + b_ih + h W_hh^T + b_hh) where f is tanh or relu, as `mode` says."""

    nodes = {"sizes is not None and len(sizes) > 1": "CatBackward0", "sizes is not None and mode == 'GRU'": "AddBackward0",
             "sizes is not None and mode == 'RNN_TANH'": "TanhBackward0", "sizes is not None": "ReluBackward0"}
    batch = batches.composed
    def sharding(call): return call.composed()

    def numpy(input, h, w_ih, w_hh, b_ih, b_hh, mode, sizes, reverse):
        y, h, _, gates, kept = _forward(mode, input, h, None, w_ih, w_hh, b_ih, b_hh, None, sizes, reverse)
        return y, h, gates, kept
    def shape(input, h, w_ih, w_hh, b_ih, b_hh, mode, sizes, reverse):
        rows = int(np.prod(input[:-1]))
        return (*input[:-1], h[-1]), h, (rows, w_ih[0]), (rows, h[-1]) if mode == "GRU" else None
    def compose(F, input, h, w_ih, w_hh, b_ih, b_hh, mode, sizes, reverse):
        y, states = _in_steps(F, _STEPS[mode], input, (h,), (w_ih, w_hh, b_ih, b_hh, None), sizes, reverse)
        return y, *states, None, None
    def unfold(F, input, h, w_ih, w_hh, b_ih, b_hh, mode, sizes):
        states = _cell_in_torch(F, mode, input, (h,), (w_ih, w_hh, b_ih, b_hh, None), sizes)
        return NotImplemented if states is None else (*states, *states)
    def vjp(F, grad, input, h, w_ih, w_hh, b_ih, b_hh, result, gates, news, mode, sizes, reverse, needs):
        dx, dh, _, *rest = F.recurrent_backward(*grad, None, input, h, None, w_ih, w_hh, b_ih, b_hh, None, result, gates, news, mode,
                                                sizes, reverse, (*needs[:2], False, *needs[2:], False))
        return dx, dh, *rest[:4]

    def samples(rng):
        r = rng.standard_normal
        yield r((3, 2, 3)), r((2, 4)), r((12, 3)), r((12, 4)), r(12), r(12), "GRU", None, False
        yield r((6, 3)), r((3, 4)), r((12, 3)), r((12, 4)), None, None, "GRU", (3, 2, 1), True
        yield r((6, 3)), r((3, 4)), r((4, 3)), r((4, 4)), r(4), r(4), "RNN_TANH", (3, 2, 1), False
        yield r((3, 2, 3)), r((2, 4)), r((4, 3)), r((4, 4)), r(4), r(4), "RNN_RELU", None, True


@op("steps_joined(Tensor input, str what) -> Tensor", namespace="_internal", method=False, out=False, node="StackBackward0")
class steps_joined:
    """A copy of what a layer keeps for its gradient, so that programs may write to it: torch puts it together of steps, of "whole" or
    "packed" sequences, and makes a new "cell" state by an addition."""

    nodes = {"what == 'packed'": "CatBackward0", "what == 'cell'": "AddBackward0"}
    unfold = "input"
    batch = batches.as_is
    def sharding(call): return call.elementwise()
    def numpy(input, what): return input.copy()
    def shape(input, what): return input
    def compose(F, input, what): return F.clone(input)
    def vjp(F, grad): return grad
    jvp = "linear"
    def samples(rng): yield rng.standard_normal((3, 2, 4)), "whole"


def _fits(mode: str, input: np.ndarray, states: Sequence[np.ndarray], weights: Sequence[np.ndarray | None], sizes: Sequence[int] | None
          ) -> bool:
    """Whether the shapes fit the kernel, which takes no empty ones; the steps say what is wrong."""
    w_ih, w_hh, b_ih, b_hh, w_hr = weights
    assert w_ih is not None and w_hh is not None
    x, h, size = input.shape, states[0].shape, states[-1].shape[-1:]
    if len(x) != (3 if sizes is None else 2) or not input.size or len(h) != 2 or not h[1]:
        return False
    n, gates = x[1] if sizes is None else sizes[0], GATES[mode] * size[0]
    if sizes is not None and (sum(sizes) != x[0] or sizes[-1] < 1 or any([a < b for a, b in zip(sizes, sizes[1:])])):
        return False
    wanted = ((states[0], (n, h[1])), (states[-1], (n, *size)), (w_ih, (gates, x[-1])), (w_hh, (gates, h[1])), (b_ih, (gates,)),
              (b_hh, (gates,)), (w_hr, (h[1], *size)))
    return all([t is None or t.shape == shape for t, shape in wanted])


_FUSED_IN_TORCH = frozenset(["float32", "bfloat16"])
"""oneDNN's dtypes."""


def _is_whole(mode: str, input: TensorRef, sizes: Sequence[int] | None, projection: TensorRef | None) -> bool:
    """Whether torch has one kernel for the layer: of an LSTM that is not packed and projects nothing."""
    return mode == "LSTM" and sizes is None and projection is None and input._k.dtype.name in _FUSED_IN_TORCH


def _layer(F: Functions, mode: str, input: TensorRef, states: Sequence[TensorRef], weights: Sequence[TensorRef | None],
           sizes: Sequence[int] | None, reverse: bool, last: bool = False) -> tuple[TensorRef, Sequence[TensorRef]]:
    """By one record where nobody looks at operations, and where torch has one, too; else step by step. The outputs of the `last` are for
    programs, which may write to them where torch joins steps."""
    dtype, nobody_looks = input._k.dtype, bool(F.namespace["Q_FLOAT"])
    others = {t._k.dtype.name for t in (*states, *weights) if t is not None}
    alike = others == {dtype.name}
    whole = _is_whole(mode, input, sizes, weights[4])
    arrays = input._data, [s._data for s in states], [None if t is None else t._data for t in weights]

    def fits() -> bool:
        return _fits(mode, *arrays, sizes)

    if (whole and (alike or not nobody_looks and others <= _FUSED_IN_TORCH)  # as under autocast, which makes them alike
            or nobody_looks and alike and dtype.name in ("float32", "float64")) and fits():
        if mode == "LSTM":
            y, *ends = F.lstm_layer(input, *states, *weights, sizes, reverse)
        else:
            y, *ends = F.rnn_layer(input, *states, *weights[:4], mode, sizes, reverse)
        return F.steps_joined(y, "packed" if sizes else "whole") if last and not whole else y, ends
    kind = input._k
    if nobody_looks and alike and kind in F.namespace["Q_HALF"] and fits() and not _recorded(input, *states, *weights):
        y, found = _in_halves(mode, *arrays, sizes, reverse)
        return F.wrap(y, kind), [F.wrap(s, kind) for s in found]
    return _in_steps(F, _STEPS[mode], input, tuple(states), weights, sizes, reverse)  # type: ignore[return-value, arg-type]  # tensors, here


def _recorded(*tensors: TensorRef | None) -> bool:
    """Whether gradients are recorded of one of these."""
    return grad_mode() is GradMode.ENABLED and bool([t for t in tensors if t is not None and t._node is not None])


def _in_halves(mode: str, input: np.ndarray, states: Sequence[np.ndarray], weights: Sequence[np.ndarray | None],
               sizes: Sequence[int] | None, reverse: bool) -> tuple[np.ndarray, list[np.ndarray]]:
    """Steps of arrays of half precision, rounded as those of tensors are."""
    wide: list[Any] = [None if t is None else widened(t) for t in weights]
    count = len(input) if sizes is None else len(sizes)
    step = _rounded(mode, count * _STEP) if input.dtype.char == "E" else None
    before = [halves(s) if step is None else contiguous(widened(s)) for s in states]
    y, found = _in_steps(_ON_HALVES, step or _STEPS[mode], halves(input), tuple(before), wide, sizes, reverse)
    return narrow(bare(y), input.dtype), [narrow(bare(s), input.dtype) for s in found]


def _of_arrays(F: Functions, mode: str, input: TensorRef, sizes: Sequence[int] | None, hx: Sequence[TensorRef],
               params: Sequence[TensorRef], per: int, has_biases: bool, num_layers: int, directions: int, batch_first: bool
               ) -> tuple[np.ndarray, list[np.ndarray]] | None:
    """What `_layers` gives where nobody looks at operations or records, and all is of one plain dtype; None where it is not so, or shapes
    do not fit. Outputs are steps first."""
    kind, half, every = input._k, input._k in F.namespace["Q_HALF"], (input, *hx, *params)
    if not F.namespace["Q_FLOAT"] or not half and kind not in F.namespace["Q_FLOAT"] or [t for t in every if t._k is not kind] or (
            _recorded(*every) or half and _is_whole(mode, input, sizes, None)):
        return None
    x, states, weights = input._data, [s._data for s in hx], [p._data for p in params]
    if [s for s in states if s.ndim != 3] or batch_first and x.ndim != 3:
        return None
    if batch_first:
        x = x.transpose(1, 0, 2)
    y: Any
    made: list[Any]
    ends: list[list[Any]] = []
    for layer in range(num_layers):
        outputs = []
        for direction in range(directions):
            index = layer * directions + direction
            own: list[np.ndarray | None] = list(weights[per * index:per * (index + 1)])
            w_hr = own.pop() if len(own) % 2 else None
            given: list[Any] = [*own[:2], *(own[2:] if has_biases else [None, None]), w_hr]
            before: list[Any] = [s[index] for s in states]
            part = x
            if sizes and (more := len(x) - sum(sizes)) > 0:  # as `_rows_of`
                part = x[more:] if direction == 1 else x[:-more]
            if not _fits(mode, part, before, given, sizes):
                return None
            if half:
                y, made = _in_halves(mode, part, before, given, sizes, direction == 1)
            else:
                w_ih, w_hh, b_ih, b_hh, w_hr = given
                c = before[1] if len(before) > 1 else None
                y, *made = _forward(mode, part, before[0], c, w_ih, w_hh, b_ih, b_hh, w_hr, sizes, direction == 1)
            outputs.append(y)
            ends.append(made[:len(before)])
        x = outputs[0] if directions == 1 else np.concatenate(outputs, -1)
    return x, [np.stack(parts, 0) for parts in zip(*ends)]


# -- torch's functions --------------------------------------------------------------------------------------------------------


_NOT_ALLOCATED = (
    "The tensor has a non-zero number of elements, but its data is not allocated yet.\nIf you're using torch.compile/export/fx, it is "
    "likely that we are erroneously tracing into a custom kernel. To fix this, please wrap the custom kernel into an opaque custom op. "
    "Please see the following for details: https://pytorch.org/tutorials/advanced/custom_ops_landing_page.html\nIf you're using "
    "Caffe2, Caffe2 uses a lazy allocation, so you will need to call mutable_data() or raw_mutable_data() to actually allocate memory.")


def _rows_of(F: Functions, input: TensorRef, sizes: Sequence[int], reverse: bool) -> TensorRef:
    """The rows of packed data that its batches are: the first ones, or the last ones where they are gone through from the end."""
    rows, given = sum(sizes), input.shape[0]
    if rows == given:
        return input
    if rows > given:
        starts = [0, *accumulate(sizes)]
        start, size = next((a, b - a) for a, b in pairwise(starts) if b > given)
        raise AutogradError(f"start ({start}) + length ({size}) exceeds dimension size ({given}).")
    return F.narrow(input, 0, given - rows if reverse else 0, rows)


def _layers(F: Functions, mode: str, input: TensorRef, sizes: TensorRef | None, hx: Sequence[TensorRef],
            params: Sequence[TensorRef], has_biases: bool, num_layers: int, dropout: float, train: bool, bidirectional: bool,
            batch_first: bool) -> tuple[TensorRef, ...]:
    """The outputs of the last layer and the last states of all."""
    directions = 2 if bidirectional else 1
    is_lstm = mode == "LSTM"
    if is_lstm and sizes is None:
        wrap_dim(2, input.ndim)
    projects = is_lstm and hx[0].shape[2] != hx[1].shape[2]
    per = (4 if has_biases else 2) + projects
    wanted = num_layers * directions
    if is_lstm and projects and len(params) % per or not is_lstm and len(params) % per:
        raise AutogradError("got an incorrect number of RNN parameters")
    if is_lstm and len(params) % per:
        raise AutogradError(f"MatrixRef: ArrayRef size {len(params)} not divisible by stride {per}")
    if len(hx[0]) < wanted:
        raise AutogradError("Expected more hidden states in stacked_rnn")
    if len(params) < per * wanted:
        raise AutogradError("Expected more weights in stacked_rnn")
    packed: list[int] | None = None
    if sizes is not None:
        if sizes._k.dtype.name != "int64":
            raise AutogradError(f"expected scalar type Long but found {SCALAR_TYPE_NAMES[sizes._k.dtype.name]}")
        if sizes._k.device.type == "meta":
            raise AutogradError(_NOT_ALLOCATED)
        packed = sizes._data.tolist()
        if packed and not packed[0] and (count := hx[0].shape[1]) > 1:
            raise AutogradError(f"The size of tensor a ({count}) must match the size of tensor b (0) at non-singleton dimension 0")
    elif not input.shape[1 if batch_first else 0]:
        raise AutogradError("Expected sequence length to be larger than 0 in RNN")
    if not (dropout and train and num_layers > 1) and (found := _of_arrays(
            F, mode, input, packed, hx, params, per, has_biases, num_layers, directions, batch_first)) is not None:
        output, *ends = [F.wrap(a, input._k) for a in (found[0], *found[1])]
        return (F.transpose if is_lstm else F.transpose_)(output, 0, 1) if batch_first else output, *ends
    if batch_first:
        input = F.transpose(input, 0, 1)
    starts = [F.unbind(s, 0) for s in hx]
    last: list[Sequence[TensorRef]] = []
    for layer in range(num_layers):
        outputs = []
        for direction in range(directions):
            index = layer * directions + direction
            own = list(params[per * index:per * (index + 1)])
            w_hr = own.pop() if projects else None
            biases = own[2:] if has_biases else [None, None]
            part = input if packed is None else _rows_of(F, input, packed, direction == 1)
            y, states = _layer(F, mode, part, [s[index] for s in starts], [*own[:2], *biases, w_hr], packed, direction == 1,
                               directions == 1 and layer == num_layers - 1)
            outputs.append(y)
            last.append(states)
        input = outputs[0] if directions == 1 else F.cat(outputs, -1)
        if dropout and train and layer < num_layers - 1:
            input = F.dropout(input, dropout, True)
    if batch_first:
        input = (F.transpose if is_lstm or not F.namespace["Q_FLOAT"] else F.transpose_)(input, 0, 1)
    return input, *[F.stack(list(parts), 0) for parts in zip(*last)]


def _two(what: str, hx: Sequence[TensorRef]) -> Sequence[TensorRef]:
    if len(hx) != 2:
        raise AutogradError(f"{what} expects two hidden states")
    return hx


_ANY = ("hx", "params", "has_biases", "num_layers", "dropout", "train", "bidirectional", "batch_first")
_TAIL = "tuple of Tensors params, bool has_biases, int num_layers, float dropout, bool train, bool bidirectional"


def _network(name: str, mode: str, what: str, hidden: str) -> None:
    """`torch.name` over a sequence of tensors, or over packed data."""
    is_lstm = mode == "LSTM"
    signatures = (f"Tensor data, Tensor batch_sizes, {hidden} hx, {_TAIL}", f"Tensor input, {hidden} hx, {_TAIL}, bool batch_first")

    def function(F, input, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first):
        if not (isinstance(hx, TensorRef) or is_lstm and isinstance(hx, (list, tuple))):
            given = (input, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first)
            raise no_match(name, signatures, given, [type_name(x) for x in given])
        sizes = None
        if isinstance(hx if is_lstm else params, TensorRef):  # of packed data, whose arguments are one further
            sizes, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first = (
                hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first, False)
        states = _two(name, hx) if is_lstm else (hx,)
        return _layers(F, mode, input, sizes, states, params, has_biases, num_layers, dropout, train, bidirectional, batch_first)

    def samples(rng):
        r = rng.standard_normal
        gates = GATES[mode] * 4
        h = (r((2, 2, 4)), r((2, 2, 4)))
        w = [a for size in (3, 3) for a in (r((gates, size)), r((gates, 4)), r(gates), r(gates))]
        yield r((3, 2, 3)), h if is_lstm else h[0], w, True, 1, 0.0, True, True, False
        states = tuple([s[:1] for s in h])
        yield Sample((r((3, 3)), np.array([2, 1]), states if is_lstm else states[0], w[:2], False, 1, 0.0, True, False), on_cpu=(1,))

    returns = "(Tensor output, Tensor h, Tensor c)" if is_lstm else "(Tensor output, Tensor h)"
    op(f"{name}(Tensor input, {'Tensor[]' if is_lstm else 'Tensor'} hx, Tensor[] params, bool has_biases, int num_layers, float dropout, "
       f"bool train, bool bidirectional, bool batch_first) -> {returns}", method=False, out=False)(type(name, (), {
        "__doc__": f"{what}\n\nOutputs and last states for `input` [L, N, features] or, `batch_first`, [N, L, features] and first states\n"
                   "[layers * directions, N, size]; or for packed data with the sizes of its batch: (data, batch_sizes, hx, params,\n"
                   "has_biases, num_layers, dropout, train, bidirectional). `params` are the weights for inputs and state, their\n"
                   "biases, and an LSTM's projection, of each layer and direction.\n\n"
                   f">>> w = torch.zeros({GATES[mode]}, 1)\n>>> h = torch.ones(1, 1, 1)\n"
                   f">>> [t.shape[0] for t in torch.{name}(torch.ones(3, 1, 1), {'(h, h)' if is_lstm else 'h'}, [w, w], False, 1, 0., "
                   f"False, False, False)]\n{'[3, 1, 1]' if is_lstm else '[3, 1]'}",
        "__module__": __name__, "function": function, "samples": samples, "several_types": _ANY, "no_vmap": f"aten::{name}.input",
        "overloads": signatures, "fused": True}))


_network("lstm", "LSTM", "Layers of an LSTM (Hochreiter and Schmidhuber, 1997).", "tuple of Tensors")
_network("gru", "GRU", "Layers of gated recurrent units (Cho et al., 2014).", "Tensor")
_network("rnn_tanh", "RNN_TANH", "Layers of h = tanh(x W_ih^T + b_ih + h W_hh^T + b_hh).", "Tensor")
_network("rnn_relu", "RNN_RELU", "Layers of h = relu(x W_ih^T + b_ih + h W_hh^T + b_hh).", "Tensor")


def _check_cell(input: TensorRef, states: Sequence[TensorRef], w_ih: TensorRef, w_hh: TensorRef, gates: int) -> None:
    x, w = input._data.shape, w_ih._data.shape
    if x[1] != w[1]:
        raise AutogradError(f"input has inconsistent input_size: got {x[1]} expected {w[1]}")
    size = w_hh._data.shape[1]
    if w[0] != gates * size:
        raise AutogradError(f"weight_ih first dim must be {gates} * hidden_size = {gates * size}, but got {w[0]}")
    for i, h in enumerate(states):
        have = h._data.shape
        if x[0] != have[0]:
            raise AutogradError(f"Input batch size {x[0]} doesn't match hidden{i} batch size {have[0]}")
        if have[1] != size:
            raise AutogradError(f"hidden{i} has inconsistent hidden_size: got {have[1]}, expected {size}")


def _fits_once(mode: str, x: np.ndarray, states: Sequence[np.ndarray], w_ih: np.ndarray, w_hh: np.ndarray,
               biases: Sequence[np.ndarray | None]) -> bool:
    """`_fits` of one step."""
    if x.ndim != 2 or w_hh.ndim != 2 or not x.size or not w_hh.size:
        return False
    n, size = len(x), w_hh.shape[1]
    gates = GATES[mode] * size
    if w_hh.shape[0] != gates or w_ih.shape != (gates, x.shape[1]):
        return False
    for state in states:
        if state.shape != (n, size):
            return False
    for b in biases:
        if b is not None and b.shape != (gates,):
            return False
    return True


def _once(mode: str, x: np.ndarray, states: Sequence[np.ndarray], w_ih: np.ndarray, w_hh: np.ndarray, b_ih: np.ndarray | None,
          b_hh: np.ndarray | None) -> Sequence[np.ndarray] | None:
    """The states after one step of arrays of one dtype; None where there is no kernel, or shapes do not fit."""
    if not _fits_once(mode, x, states, w_ih, w_hh, (b_ih, b_hh)):
        return None
    h, c, half = states[0], states[1] if len(states) > 1 else None, x.dtype
    if half.char in "fd":
        _, h, c, _, _ = fused.forward(mode, x, h, c, w_ih, w_hh, b_ih, b_hh, None, (len(x),), False)
        return [h] if c is None else [h, c]
    if half.char != "E" or (run := fused.rounded_step(mode, _STEP)) is None:
        return None
    linear = get_record("linear").field("numpy")
    wide = [None if a is None else widened(a) for a in (x, w_ih, b_ih, w_hh, b_hh)]
    before = [contiguous(widened(s)) for s in states]
    gates = narrow(linear(*wide[:3]), half)
    return [narrow(s, half) for s in run(gates, linear(before[0], *wide[3:]), *before)]


def _at_once(F: Functions, mode: str, input: TensorRef, states: Sequence[TensorRef], weights: Sequence[TensorRef | None]
             ) -> Sequence[TensorRef] | None:
    """One step of plain tensors where nothing is recorded; None elsewhere."""
    kind = input._k
    if kind not in F.namespace["Q_FLOAT"] and kind not in F.namespace["Q_HALF"]:
        return None
    recorded = input._node is not None
    for t in (*states, *weights):
        if t is not None:
            if t._k is not kind:
                return None
            recorded = recorded or t._node is not None
    if recorded and grad_mode() is GradMode.ENABLED:
        return None
    w_ih, w_hh, b_ih, b_hh = [None if t is None else t._data for t in weights[:4]]
    assert w_ih is not None and w_hh is not None
    found = _once(mode, input._data, [t._data for t in states], w_ih, w_hh, b_ih, b_hh)
    return None if found is None else [F.wrap(h, kind) for h in found]


def _step(F: Functions, mode: str, input: TensorRef, states: Sequence[TensorRef], w_ih: TensorRef, w_hh: TensorRef,
          b_ih: TensorRef | None, b_hh: TensorRef | None) -> Sequence[TensorRef]:
    """One step: a packed sequence of one."""
    if input._data.ndim < 2:
        wrap_dim(1, input.ndim)
    _check_cell(input, states, w_ih, w_hh, GATES[mode])
    weights = (w_ih, w_hh, b_ih, b_hh, None)
    if F.namespace["Q_FLOAT"]:
        if (now := _at_once(F, mode, input, states, weights)) is not None:
            return now
        h, *c = _layer(F, mode, input, states, weights, (int(input.shape[0]),), False)[1]
        return h, *[F.steps_joined(x, "cell") for x in c]
    found: Sequence[TensorRef] = _STEPS[mode](F, F.linear(input, w_ih, b_ih), tuple(states), w_hh, b_hh, None)
    return found


def _cell(name: str, mode: str, what: str, shown: str) -> None:
    """`torch.name`, one step."""
    is_lstm = mode == "LSTM"

    def function(F, input, hx, w_ih, w_hh, b_ih=None, b_hh=None):
        found = _step(F, mode, input, _two(name, hx) if is_lstm else (hx,), w_ih, w_hh, b_ih, b_hh)
        return tuple(found) if is_lstm else found[0]

    def quick(input, hx, w_ih, w_hh, b_ih, b_hh):
        if any([a is not None and a.dtype is not input.dtype for a in (hx, w_ih, w_hh, b_ih, b_hh)]):
            return None
        found = _once(mode, input, (hx,), w_ih, w_hh, b_ih, b_hh)
        return None if found is None else found[0]

    def samples(rng):
        r, gates = rng.standard_normal, GATES[mode] * 4
        h = (r((2, 4)), r((2, 4)))
        yield r((2, 3)), h if is_lstm else h[0], r((gates, 3)), r((gates, 4)), r(gates), r(gates)
        yield Sample((r((2, 3)), h if is_lstm else h[0], r((gates, 3)), r((gates, 4))))

    returns = "(Tensor h, Tensor c)" if is_lstm else "Tensor"
    more = {"no_vmap": "aten::lstm_cell"} if is_lstm else {}
    op(f"{name}(Tensor input, {'Tensor[]' if is_lstm else 'Tensor'} hx, Tensor w_ih, Tensor w_hh, Tensor? b_ih=None, Tensor? b_hh=None) "
       f"-> {returns}", method=False, out=False)(type(name, (), {
        "__doc__": f"{what} `input` [N, features], states [N, size].\n\n"
                   f">>> w, h = torch.ones({GATES[mode]}, 1), torch.ones(1, 1)\n"
                   f">>> torch.{name}(h, {'(h, h)' if is_lstm else 'h'}, w, w)\n{shown}",
        "__module__": __name__, "function": function, "samples": samples, "fused": True, **more, **({} if is_lstm else {"quick": quick})}))


_cell("lstm_cell", "LSTM", "One step of an LSTM: (h, c).", "(tensor([[0.8271]]), tensor([[1.7299]]))")
_cell("gru_cell", "GRU", "One step of gated recurrent units.", "tensor([[0.9946]])")
_cell("rnn_tanh_cell", "RNN_TANH", "tanh(x W_ih^T + b_ih + h W_hh^T + b_hh).", "tensor([[0.9640]])")
_cell("rnn_relu_cell", "RNN_RELU", "relu(x W_ih^T + b_ih + h W_hh^T + b_hh).", "tensor([[2.]])")
