"""Loops over numbers with branches, for which NumPy would make large arrays or many calls: alignments, margins, few numbers of a softmax.

Each loop takes flat sequences, and writes to some of them: items from `start` up to `stop`. It is run as it stands where there are few
numbers, or compiled (`compiled/loops.py`) where there are many or where it is called often, as formulas are: with the same bits, since both
use the C library's functions in double precision and nothing is fused or reordered. False tells of an index that is out of range.
"""

from __future__ import annotations

import math
from collections.abc import MutableSequence, Sequence
from typing import Any

import numpy as np

from ...annotations import Fn
from ...dtypes import bfloat16, float16
from ...warned import ignoring
from ._on_demand import _NEVER, LazyModule, state, worth
from .sharing import share

__all__ = ["Loop", "takes"]

Numbers = Sequence[float]
Places = Sequence[int]
Out = MutableSequence[float]

INF = math.inf
#: Work up to which loops are run in Python where nothing is ever compiled.
FEW = 256
_GRAIN = 4096
#: Seconds that Python takes for a call, and for a number of its work.
CALL, NUMBER = 5e-6, 3e-7
_compiled = LazyModule("loops")


def takes(work: int) -> bool:
    """Whether loops, and not NumPy's passes, do so much work: where it is little, or where they may be compiled."""
    return work <= FEW or state.fused != _NEVER


#: Work in one piece, of machine code in memory.
SHORT = _GRAIN
#: The counters that shared kernels take, of work in one piece.
ALONE = np.zeros(128, np.int64)


class Loop:
    """A loop of this module, and how often it has been asked for.

    Args:
        function: with flat sequences first, numbers then, at last `start` and `stop`.
        outputs: which of its arguments it writes to.
        chars: the dtypes that it is written for.
    """

    def __init__(self, function: Fn, *outputs: int, chars: str = "fd") -> None:
        self.function, self.outputs, self.name, self.chars = function, outputs, function.__name__, chars
        #: Seconds in Python.
        self.spent = 0.0
        #: Machine code in memory by dtype.
        self.ready: dict[str, Fn] = {}

    def is_compiled(self, char: str, work: int) -> bool:
        """Whether machine code does this work: always much of it, and little after some calls."""
        if work >= state.fused or char in self.ready:
            return state.mode != "numpy"
        if state.fused == _NEVER:
            return False
        self.spent += CALL + work * NUMBER
        return worth(self.spent, lambda: LazyModule.kept("loops", self.name) is not None)

    def __call__(self, char: str, items: int, work: int, *arguments: Any) -> None:
        """Runs it over `items` that take `work` in all, of arrays of the dtype `char`; IndexError where an index is out of range."""
        run = self.ready.get(char)
        if run is not None and work <= SHORT and state.fused < _NEVER:
            run(ALONE, items, 1, *arguments)
            return
        if char not in self.chars:
            raise TypeError(f"{self.name}: no numbers of the dtype {char!r}")
        if self.is_compiled(char, work):
            kernel = getattr(_compiled, self.name)
            self.ready[char] = kernel.shared[char]
            share(kernel, char, items, max(1, _GRAIN * items // max(work, 1)), *arguments)
            return
        given = [a.ravel().tolist() if isinstance(a, np.ndarray) else a for a in arguments]
        with ignoring():
            if self.function(*given, 0, items) is False:
                raise IndexError(f"{self.name}: an index is out of range")
            for i in self.outputs:
                numbers = given[i] if char not in "eE" else np.array(given[i], np.float32)  # which halves are rounded from, as in kernels
                arguments[i].reshape(-1)[...] = numbers


def exp(x: float) -> float:
    return math.exp(x) if not x > 709.782712893384 else INF


def below(x: float, top: float) -> float:
    """exp(x - top), where it is known without."""
    return 1.0 if x == top else 0.0 if x == -INF else math.exp(x - top)


def log_add3(x: float, y: float, z: float) -> float:
    """log(exp(x) + exp(y) + exp(z)); NaN where one of them is."""
    top = x if x >= y else y
    top = top if top >= z else z
    if top == -INF and x <= top and y <= top:
        return top
    return math.log(below(x, top) + below(y, top) + below(z, top)) + top


def wide(x: float) -> float:
    """In double precision."""
    return x


def rounded(y: Out, x: float) -> float:
    """As `y` holds numbers; a list is rounded as a whole."""
    return x


def coarse(x: float, half: int) -> float:
    """Rounded to bfloat16 where `half` is 1, to float16 where it is 2."""
    return float(np.float32(x).astype(bfloat16.np if half == 1 else float16.np)) if half else x


def in_single(x: float) -> float:
    """Rounded to single precision."""
    return x * INF if abs(x) > 3.4028235677973366e38 else float(np.float32(x))


# -- alignments: Graves et al., "Connectionist temporal classification", ICML 2006 -----------------------------------------
#
# Log-probabilities (steps, n, classes), labels (n, width). Between labels, before the first and after the last there may be blanks: of the
# 2 * width + 1 states of a sample, odd ones are labels. `alpha` (n, steps, 2 * width + 1) holds the logarithms of what leads to a state.


def likelihood(alpha: Numbers, end: int, count: int) -> float:
    """The logarithm of the sum over both ends; the last blank's state is at `end`."""
    return log_add3(alpha[end], alpha[end - 1], -INF) if count else alpha[end]


def ctc_forward(
    log_probs: Numbers, labels: Places, inputs: Places, counts: Places, alpha: Out, losses: Out,
    steps: int, classes: int, width: int, row: int, plane: int, blank: int, start: int, stop: int,
) -> bool:
    """Fills `alpha`, and `losses` with -log likelihood. `row` is n * classes, `plane` steps * (2 * width + 1)."""
    states = 2 * width + 1
    for b in range(start, stop):
        length, count = inputs[b], counts[b]
        if not (0 <= length <= steps and 0 <= count <= width):
            return False
        if not length:
            losses[b] = INF if count else 0.0
            continue
        own = b * width
        for i in range(own, own + count):
            if not 0 <= labels[i] < classes:
                return False
        for t in range(length):
            at, here = t * row + b * classes, b * plane + t * states
            for s in range(2 * count + 1):
                k = labels[own + (s >> 1)] if s & 1 else blank
                p = wide(log_probs[at + k])
                if not t:
                    alpha[here + s] = p if s < 2 else -INF
                    continue
                before = here - states + s
                x = alpha[before]
                y = alpha[before - 1] if s > 0 else -INF
                z = alpha[before - 2] if s & 1 and s > 1 and labels[own + (s >> 1) - 1] != k else -INF
                alpha[here + s] = log_add3(x, y, z) + p
        losses[b] = -likelihood(alpha, b * plane + (length - 1) * states + 2 * count, count)
    return True


def ctc_backward(
    grads: Numbers, log_probs: Numbers, labels: Places, inputs: Places, counts: Places, alpha: Numbers, out: Out, beta: Out, shares: Out,
    steps: int, classes: int, width: int, row: int, plane: int, blank: int, zero_infinity: int, start: int, stop: int,
) -> bool:
    """Fills `out`, like the log-probabilities: that of log_softmax, whose own term is part of it. `beta` (n, 2 * width + 1) and `shares`
    (n, classes) are memory."""
    states = 2 * width + 1
    for b in range(start, stop):
        length, count = inputs[b], counts[b]
        if not (0 <= length <= steps and 0 <= count <= width):
            return False
        own, last = b * width, 2 * count
        for i in range(own, own + count):
            if not 0 <= labels[i] < classes:
                return False
        loss = -likelihood(alpha, b * plane + (length - 1) * states + last, count) if length else 0.0
        if loss == INF and zero_infinity:
            length = 0
        g, mine, some = wide(grads[b]), b * states, b * classes
        for t in range(steps - 1, -1, -1):
            at, here = t * row + b * classes, b * plane + t * states
            if t >= length:
                for c in range(classes):
                    out[at + c] = 0.0
                continue
            for c in range(classes):
                shares[some + c] = 0.0
            for s in range(last + 1):
                k = labels[own + (s >> 1)] if s & 1 else blank
                p = wide(log_probs[at + k])
                if t == length - 1:
                    v = p if s >= last - 1 else -INF
                else:
                    x = beta[mine + s]
                    y = beta[mine + s + 1] if s < last else -INF
                    z = beta[mine + s + 2] if s & 1 and s < last - 1 and labels[own + (s >> 1) + 1] != k else -INF
                    v = log_add3(x, y, z) + p
                beta[mine + s] = v
                v += alpha[here + s]
                if v != -INF:
                    shares[some + k] += exp(v + loss - p)
            for c in range(classes):
                p = wide(log_probs[at + c])
                if p > -INF and loss < INF:
                    out[at + c] = (exp(p) - shares[some + c]) * g
                else:  # as torch, which takes differences of infinities here
                    out[at + c] = math.nan
    return True


# -- margins: logits (n, classes) ------------------------------------------------------------------------------------------


def multi_margin(
    x: Numbers, targets: Places, weights: Numbers, losses: Out, classes: int, order: int, margin: float, start: int, stop: int,
) -> bool:
    """The sums over other classes of max(0, margin - x[target] + x)^order, by the number of classes."""
    for r in range(start, stop):
        target, at = targets[r], r * classes
        if not 0 <= target < classes:
            return False
        base, factor, total = margin - wide(x[at + target]), wide(weights[target]) if len(weights) else 1.0, 0.0
        for first, last in ((at, at + target), (at + target + 1, at + classes)):
            for c in range(first, last):  # by selection, since which are positive nobody can predict
                z = base + wide(x[c])
                v = (z if order == 1 else z * z) * factor
                total += v if z > 0.0 else 0.0
        losses[r] = total / classes
    return True


def multi_margin_backward(
    grads: Numbers, x: Numbers, targets: Places, weights: Numbers, out: Out, classes: int, order: int, margin: float, start: int, stop: int,
) -> bool:
    for r in range(start, stop):
        target, at = targets[r], r * classes
        if not 0 <= target < classes:
            return False
        base, g, total = margin - wide(x[at + target]), wide(grads[r]) / classes, 0.0
        if len(weights):
            g *= wide(weights[target])
        for c in range(classes):
            z = base + wide(x[at + c])
            d = (g if order == 1 else 2.0 * g * z) if c != target and z > 0.0 else 0.0
            out[at + c] = d
            total += d
        out[at + target] = 0.0 - total
    return True


def multilabel_margin(x: Numbers, targets: Places, losses: Out, marks: Out, others: Out, classes: int, start: int, stop: int) -> bool:
    """The sums over targets, up to the first -1, and other classes of max(0, 1 - x[target] + x), by the number of classes. `marks` become 1
    at targets; `others` (n, classes) is memory."""
    for r in range(start, stop):
        at, total, count, left = r * classes, 0.0, classes, 0
        for c in range(classes):
            marks[at + c] = 0.0
        for c in range(classes):
            target = targets[at + c]
            if not -1 <= target < classes:
                return False
            if target < 0:
                count = min(count, c)
            elif c < count:
                marks[at + target] = 1.0
        for c in range(classes):
            if marks[at + c] == 0.0:
                others[at + left] = wide(x[at + c])
                left += 1
        for i in range(count):
            base = 1.0 - wide(x[at + targets[at + i]])
            for j in range(left):
                z = base + others[at + j]
                total += z if z > 0.0 else 0.0
        losses[r] = total / classes
    return True


def multilabel_margin_backward(
    grads: Numbers, x: Numbers, targets: Places, marks: Numbers, out: Out, pairs: Out, classes: int, start: int, stop: int,
) -> bool:
    """`pairs` (n, classes) is memory: in how many sums a class is that is no target."""
    for r in range(start, stop):
        at, g = r * classes, wide(grads[r]) / classes
        for c in range(classes):
            out[at + c] = pairs[at + c] = 0.0
        for i in range(classes):
            target = targets[at + i]
            if target < 0:
                break
            if target >= classes:
                return False
            base, found = 1.0 - wide(x[at + target]), 0.0
            for c in range(classes):
                one = 1.0 if marks[at + c] == 0.0 and base + wide(x[at + c]) > 0.0 else 0.0
                pairs[at + c] += one
                found += one
            pairs[at + target] -= found
        for c in range(classes):
            out[at + c] = pairs[at + c] * g + 0.0
    return True


# -- rows along a dimension: (outer, classes, inner), of which each pair of outer and inner is an item --------------------------


def softmax(x: Numbers, y: Out, classes: int, inner: int, log: int, half: int, start: int, stop: int) -> None:
    """The softmax, or its logarithm. With `half`, steps are rounded as torch's: exponentials, or the sum of them and its logarithm."""
    for r in range(start, stop):
        at = r + r // inner * (classes - 1) * inner
        top, total = wide(x[at]), 0.0
        for i in range(at, at + classes * inner, inner):
            v = wide(x[i])
            top = top if v <= top else v
        for i in range(at, at + classes * inner, inner):
            total += exp(wide(x[i]) - top)
        if log:
            total = coarse(total, half)
            total = coarse(math.log(total) if total > 0.0 else math.nan, half)
        for i in range(at, at + classes * inner, inner):
            v = wide(x[i]) - top
            y[i] = rounded(y, v - total if log else coarse(exp(v), half) / total)


def softmax_backward(
    g: Numbers, y: Numbers, out: Out, classes: int, inner: int, log: int, single: int, start: int, stop: int,
) -> None:
    """`single`: what gradients of equal numbers cancel by is rounded as torch rounds it, so that nothing is left of them."""
    for r in range(start, stop):
        at, total = r + r // inner * (classes - 1) * inner, 0.0
        for i in range(at, at + classes * inner, inner):
            total += wide(g[i]) if log else wide(g[i]) * wide(y[i])
        total = in_single(total) if single else total
        for i in range(at, at + classes * inner, inner):
            v, z = wide(g[i]), wide(y[i])
            if log:
                out[i] = rounded(out, v - (in_single(exp(z)) if single else exp(z)) * total)
            else:
                out[i] = rounded(out, z * (v - total))


# -- class indices: one for each item of the same rows ----------------------------------------------------------------------


def place_of(r: int, target: int, classes: int, inner: int) -> int:
    """Where a class of an item is."""
    return r * classes + target if inner == 1 else r + (r // inner * (classes - 1) + target) * inner


def nll(
    x: Numbers, targets: Places, weights: Numbers, losses: Out, counts: Out, classes: int, inner: int, ignore: int, start: int, stop: int,
) -> bool:
    """-x at the targets times their weights, which `counts` holds, unless it is empty; zeros where a target is `ignore`."""
    begin, inside, count = start // inner * classes * inner, start % inner, len(counts) > 0
    for r in range(start, stop):
        target, weight, loss = targets[r], 0.0, 0.0
        if target != ignore:
            if not 0 <= target < classes:
                return False
            weight = wide(weights[target]) if len(weights) else 1.0
            loss = -wide(x[begin + target * inner + inside]) * weight
        losses[r] = loss
        if count:
            counts[r] = weight
        inside += 1
        if inside == inner:
            begin, inside = begin + classes * inner, 0
    return True


def nll_total(
    x: Numbers, targets: Places, weights: Numbers, loss: Out, count: Out, classes: int, inner: int, ignore: int, mean: int,
    start: int, stop: int,
) -> bool:
    """The sum of all of these, or their weighted `mean`, added up in their order; `count` is the sum of the weights."""
    for one in range(start, stop):
        total, weighs, begin, inside = 0.0, 0.0, 0, 0
        for r in range(len(targets)):
            target = targets[r]
            if target != ignore:
                if not 0 <= target < classes:
                    return False
                weight = wide(weights[target]) if len(weights) else 1.0
                total -= wide(x[begin + target * inner + inside]) * weight
                weighs += weight
            inside += 1
            if inside == inner:
                begin, inside = begin + classes * inner, 0
        count[one] = weighs
        if mean:
            total = total / weighs if weighs != 0.0 else total * INF
        loss[one] = rounded(loss, total)
    return True


def nll_backward(
    g: Numbers, targets: Places, weights: Numbers, out: Out, classes: int, inner: int, ignore: int, start: int, stop: int,
) -> bool:
    """Subtracts cotangents times weights at the targets; `g` has one for each item, or one for all."""
    for r in range(start, stop):
        target = targets[r]
        if target != ignore:
            if not 0 <= target < classes:
                return False
            v = -wide(g[r]) if len(g) > 1 else -wide(g[0])
            out[place_of(r, target, classes, inner)] = v * wide(weights[target]) if len(weights) else v
    return True


def cross_entropy(
    x: Numbers, targets: Places, weights: Numbers, losses: Out, counts: Out, tops: Out, totals: Out,
    classes: int, inner: int, ignore: int, smoothing: float, start: int, stop: int,
) -> bool:
    """`nll` of the logarithm of the softmax. `tops` and `totals` are the maximum and the logarithm of the sum of exponentials below it."""
    for r in range(start, stop):
        at, target = r + r // inner * (classes - 1) * inner, targets[r]
        top, total = wide(x[at]), 0.0
        for i in range(at, at + classes * inner, inner):
            top = top if wide(x[i]) <= top else wide(x[i])
        for i in range(at, at + classes * inner, inner):
            total += exp(wide(x[i]) - top)
        total = math.log(total) if total > 0.0 else math.nan
        tops[r], totals[r], losses[r], counts[r] = top, total, 0.0, 0.0
        if target == ignore:
            continue
        if not 0 <= target < classes:
            return False
        weight = wide(weights[target]) if len(weights) else 1.0
        loss = (total - (wide(x[at + target * inner]) - top)) * weight
        if smoothing > 0.0:
            spread = 0.0
            for c in range(classes):
                v = total - (wide(x[at + c * inner]) - top)
                spread += v * wide(weights[c]) if len(weights) else v
            loss = (1.0 - smoothing) * loss + smoothing / classes * spread
        losses[r], counts[r] = loss, weight
    return True


def cross_entropy_backward(
    g: Numbers, x: Numbers, targets: Places, weights: Numbers, tops: Numbers, totals: Numbers, out: Out,
    classes: int, inner: int, ignore: int, smoothing: float, all_weights: float, start: int, stop: int,
) -> bool:
    for r in range(start, stop):
        at, target, rest = r + r // inner * (classes - 1) * inner, targets[r], smoothing / classes
        if target != ignore and not 0 <= target < classes:
            return False
        hit = (1.0 - smoothing) * (wide(weights[target]) if len(weights) else 1.0) if target != ignore else 0.0
        v = wide(g[r]) if len(g) > 1 else wide(g[0])
        for c in range(classes):
            i, d = at + c * inner, 0.0
            if target != ignore:
                d = exp(wide(x[i]) - wide(tops[r]) - wide(totals[r])) * (hit + rest * all_weights)
                d -= rest * (wide(weights[c]) if len(weights) else 1.0) + (hit if c == target else 0.0)
                d *= v
            out[i] = d
    return True


# -- distances of rows --------------------------------------------------------------------------------------------------------


def distances(
    x: Numbers, z: Numbers, out: Out, rows: int, n: int, m: int, dim: int, p: float, triangle: int, start: int, stop: int,
) -> None:
    """Of order 0, 1, 2 or infinity between rows of `dim` numbers, of which `x` (b, n) has `rows`, and `z` is (b, m); in a `triangle`, of
    each row with those after it."""
    for r in range(start, stop):
        own, at = r % n, r // n * m
        to = own * (2 * n - own - 1) // 2 - own - 1 if triangle else r * m
        for j in range(own + 1 if triangle else 0, m):
            total = 0.0
            for c in range(dim):
                d = abs(wide(x[r * dim + c]) - wide(z[(at + j) * dim + c]))
                if p == 2.0:
                    total += d * d
                elif p == 1.0:
                    total += d
                elif p == 0.0:
                    total += 1.0 if d != 0.0 else 0.0
                else:
                    total = total if d <= total or total != total else d
            out[to + j] = math.sqrt(total) if p == 2.0 else total
