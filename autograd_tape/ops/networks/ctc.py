"""Connectionist temporal classification (Graves et al., ICML 2006): the likelihood of a label sequence over all its alignments."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from ...dtypes import BOOL, FLOATING, SCALAR_TYPE_NAMES, float32, float64
from ...errors import AutogradError, UnsupportedDTypeError
from ...executors.kernels import loops
from ...functions.refusals import on_meta
from ...record import Sample, no_derivative, op
from .._host import on_host
from ..reductions.sums import loss_of
from ._losses import REDUCTIONS, buffer, constant, elements, reduced, reduction_name
from ...tensor import TensorRef

_forward, _backward = loops.Loop(loops.ctc_forward, 4, 5), loops.Loop(loops.ctc_backward, 6, 7, 8)
_NAME = "(while checking arguments for ctc_loss_allocate_outputs)"


def _lengths(name: str, value: Sequence[int]) -> tuple[int, ...]:
    if isinstance(value, TensorRef):
        if value._k.dtype.category >= FLOATING or value._k.dtype.category == BOOL:
            raise AutogradError(f"{name} must be integral")
        return tuple(np.asarray(elements(value)).reshape(-1).tolist())
    return tuple(np.asarray(value).astype(np.int64).reshape(-1).tolist())


def _misfit(expected: str, found: int) -> AutogradError:
    return AutogradError(f"Expected tensor to have {expected}, but got size {found} for argument #2 'targets' {_NAME}")


def _target_rows(data: np.ndarray, lengths: tuple[int, ...], batch: int) -> np.ndarray:
    """Targets as (N, S), from that form or from all of them in a row; labels that do not count are 0 there."""
    longest = max(lengths, default=0)
    if data.ndim == 2 and data.shape[0] != batch:
        raise _misfit(f"size {batch} at dimension 0", data.shape[0])
    if data.ndim == 2:
        if data.shape[1] < longest:
            raise _misfit(f"size at least {longest} at dimension 1", data.shape[1])
        return data
    if data.ndim != 1:
        raise AutogradError(f"Expected 1 to 2 dimensions, but got {data.ndim}-dimensional tensor for argument #2 'targets' {_NAME}")
    if data.size != sum(lengths):
        raise _misfit(f"size {sum(lengths)} at dimension 0", data.size)
    if batch == 1:
        return data.reshape(1, -1)
    rows, start = np.zeros((batch, longest), np.int64), 0
    for i, n in enumerate(lengths):
        rows[i, :n] = data[start:start + n]
        start += n
    return rows


def _sizes(log_probs: np.ndarray, targets: np.ndarray, blank: int) -> tuple[int, ...]:
    steps, batch, classes = log_probs.shape
    width = targets.shape[1]
    return steps, classes, width, batch * classes, steps * (2 * width + 1), blank


def _flat(array: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(array).reshape(-1)


@lru_cache(256)
def _counted(*lengths: int) -> np.ndarray:
    """Lengths as an array, not to be changed."""
    return np.array(lengths, np.int64)


def _ctc(log_probs: np.ndarray, targets: np.ndarray, input_lengths: Sequence[int], target_lengths: Sequence[int], blank: int,
         zero_infinity: bool) -> tuple[np.ndarray, np.ndarray]:
    steps, batch, classes = log_probs.shape
    states = 2 * targets.shape[1] + 1
    inputs, counts = _counted(*input_lengths), _counted(*target_lengths)
    work = 4 * batch * max(input_lengths, default=0) * states
    if not loops.takes(work):
        return _in_steps(log_probs, _states(targets, counts, blank), inputs, counts)
    alpha, losses = np.empty((batch, steps, states)), np.empty(batch, log_probs.dtype)
    alpha.fill(-np.inf)
    _forward(log_probs.dtype.char, batch, work, _flat(log_probs), _flat(targets), inputs, counts, alpha.reshape(-1), losses,
             *_sizes(log_probs, targets, blank))
    return losses, alpha


def _ctc_backward(grad: np.ndarray, log_probs: np.ndarray, targets: np.ndarray, alpha: np.ndarray, input_lengths: Sequence[int],
                  target_lengths: Sequence[int], blank: int, zero_infinity: bool) -> np.ndarray:
    steps, batch, classes = log_probs.shape
    states = 2 * targets.shape[1] + 1
    inputs, counts = _counted(*input_lengths), _counted(*target_lengths)
    work = 4 * batch * max(input_lengths, default=0) * (2 * states + classes)
    if not loops.takes(work):
        return _back_in_steps(grad, log_probs, _states(targets, counts, blank), alpha, inputs, counts, zero_infinity)
    out = np.empty(log_probs.shape, log_probs.dtype)
    _backward(log_probs.dtype.char, batch, work, _flat(grad), _flat(log_probs), _flat(targets), inputs, counts,
              _flat(alpha.astype(np.float64, copy=False)), out.reshape(-1), np.empty(batch * states), np.empty(batch * classes),
              *_sizes(log_probs, targets, blank), int(zero_infinity))
    return out


# -- without compiled code: all samples and states at once, step by step ------------------------------------------------------


def _states(targets: np.ndarray, counts: np.ndarray, blank: int) -> np.ndarray:
    """The classes of all states, blank where there is no label."""
    labels = np.full((len(targets), 2 * targets.shape[1] + 1), blank, np.int64)
    labels[:, 1::2] = np.where(np.arange(targets.shape[1]) < counts[:, None], targets, blank)
    return labels


def _log_sum(x: np.ndarray, y: np.ndarray, z: np.ndarray) -> Any:
    top = np.maximum(np.maximum(x, y), z)
    top[top == -np.inf] = 0
    return np.log(np.exp(x - top) + np.exp(y - top) + np.exp(z - top)) + top


def _emitted(log_probs: np.ndarray, labels: np.ndarray) -> np.ndarray:
    return log_probs[:, np.arange(len(labels))[:, None], labels].astype(np.float64)


def _no_skip(labels: np.ndarray) -> np.ndarray:
    """0 where a path may come from the state before the last, else -inf."""
    skip = np.full(labels.shape, -np.inf)
    skip[:, 3::2][labels[:, 3::2] != labels[:, 1:-2:2]] = 0
    return skip


def _ends(alpha: np.ndarray, inputs: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """-log likelihood of each sample."""
    each, last = np.arange(len(alpha)), np.maximum(inputs - 1, 0)
    blank = alpha[each, last, 2 * counts]
    label = np.where(counts > 0, alpha[each, last, np.maximum(2 * counts - 1, 0)], -np.inf)
    return np.where(inputs > 0, -np.logaddexp(blank, label), np.where(counts > 0, np.inf, 0.0))


def _in_steps(log_probs: np.ndarray, labels: np.ndarray, inputs: np.ndarray, counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    (steps, batch, _), states = log_probs.shape, labels.shape[1]
    with np.errstate(all="ignore"):
        emitted, skip = _emitted(log_probs, labels), _no_skip(labels)
        alpha = np.full((batch, steps, states), -np.inf)
        alpha[:, 0, :2] = emitted[0, :, :2]
        alpha[counts == 0, 0, 1:] = -np.inf
        before = np.full((batch, states + 2), -np.inf)
        for t in range(1, int(inputs.max(initial=1))):
            before[:, 2:] = alpha[:, t - 1]
            alpha[:, t] = _log_sum(before[:, 2:], before[:, 1:-1], before[:, :-2] + skip) + emitted[t]
        return _ends(alpha, inputs, counts).astype(log_probs.dtype), alpha


def _back_in_steps(grad: np.ndarray, log_probs: np.ndarray, labels: np.ndarray, alpha: np.ndarray, inputs: np.ndarray, counts: np.ndarray,
                   zero_infinity: bool) -> np.ndarray:
    (steps, batch, classes), states = log_probs.shape, labels.shape[1]
    with np.errstate(all="ignore"):
        emitted, each = _emitted(log_probs, labels), np.arange(batch)
        skip = np.full(labels.shape, -np.inf)
        skip[:, :-2] = _no_skip(labels)[:, 2:]
        losses = _ends(alpha, inputs, counts)
        out = np.exp(log_probs.astype(np.float64))
        after = np.full((batch, states + 2), -np.inf)
        begins = np.where((np.arange(states) <= 2 * counts[:, None]) & (np.arange(states) >= 2 * counts[:, None] - 1), 0.0, -np.inf)
        for t in range(int(inputs.max(initial=0)) - 1, -1, -1):
            beta = _log_sum(after[:, :-2], after[:, 1:-1], after[:, 2:] + skip)
            after[:, :-2] = np.where((inputs == t + 1)[:, None], begins, beta) + emitted[t]
            share = np.full((batch, classes), -np.inf)
            np.logaddexp.at(share, (each[:, None], labels), alpha[:, t] + after[:, :-2])
            out[t] -= np.exp(share + losses[:, None] - log_probs[t])
        out *= grad.astype(np.float64)[:, None]
        out[np.arange(steps)[:, None] >= inputs] = 0
        if zero_infinity:
            out[:, losses == np.inf] = 0
    return out.astype(log_probs.dtype)


@op("ctc_backward(Tensor cotangent, Tensor log_probs, Index targets, Tensor alpha, int[] input_lengths, int[] target_lengths, int blank, "
    "bool zero_infinity) -> Tensor", namespace="_internal", method=False, out=False, quiet="none", node="NotImplemented")
class ctc_backward:
    """The gradient of `ctc` for log-probabilities, which have to add up to 1: log_softmax's own term is part of it, as in torch."""

    lacks = {"half int bool complex rare": "ctc_loss_backward_cpu"}
    numpy = _ctc_backward
    compose = on_host(_ctc_backward)
    def shape(cotangent, log_probs, *rest): return log_probs
    vjp = no_derivative("_ctc_loss_backward")
    def samples(rng):
        x, rows, lengths = np.log(np.full((3, 1, 2), 0.5)), np.array([[1]]), ((3,), (1,), 0, False)
        yield Sample((np.ones(1), x, rows, _ctc(x, rows, *lengths)[1], *lengths), no_gradient="torch has none")


@op("ctc(Tensor log_probs, Index targets, int[] input_lengths, int[] target_lengths, int blank, bool zero_infinity) "
    "-> (Tensor result, Saved alpha)", namespace="_internal", method=False, out=False, node="CtcLossBackward0")
class ctc:
    """-log likelihood of each sample's labels `targets` (N, S), under `log_probs` (T, N, C); infinite where there is no alignment."""

    lacks = {"half int bool complex rare": "ctc_loss_cpu"}
    no_forward = "_ctc_loss"
    saved_as = {"alpha": "result1"}
    aten = "_ctc_loss(log_probs, targets, input_lengths, target_lengths, blank, zero_infinity)[0]"
    numpy = _ctc
    compose = on_host(_ctc)
    def shape(log_probs, targets, *rest): return log_probs[1:2], (log_probs[1], log_probs[0], 2 * targets[1] + 1)
    def vjp_log_probs(F, grad, log_probs, targets, alpha, input_lengths, target_lengths, blank, zero_infinity):
        return F.ctc_backward(grad, log_probs, targets, alpha, input_lengths, target_lengths, blank, zero_infinity)
    def samples(rng):
        x = rng.standard_normal((5, 2, 4))
        yield Sample((x, np.array([[1, 2], [3, 3]]), (5, 4), (2, 1), 0, False), through="log_softmax")


def _check(name: str, lengths: tuple[int, ...], batch: int, most: int | None) -> None:
    if len(lengths) != batch:
        raise AutogradError(f"{name} must be of size batch_size")
    if lengths and min(lengths) < 0:
        raise AutogradError(f"Expected {name} to have value at least 0, but got value {next(n for n in lengths if n < 0)} {_NAME}")
    if most is not None and lengths and max(lengths) > most:
        raise AutogradError(f"Expected {name} to have value at most {most}, but got value {next(n for n in lengths if n > most)} {_NAME}")


@lru_cache(256)
def _longest(lengths: tuple[int, ...]) -> int:
    """The largest of lengths; -1 where one is none."""
    return max(lengths) if lengths and all([n.__class__ is int and n >= 0 for n in lengths]) else -1


@op("ctc_loss(Tensor log_probs, Tensor targets, Any input_lengths, Any target_lengths, int blank=0, str reduction='mean', "
    "bool zero_infinity=False) -> Tensor", namespace="nn.functional", method=False, out=False)
class ctc_loss:
    """-log likelihood of `targets` (N, S), or all in a row, under log-probabilities `log_probs` (T, N, C) or (T, C), over all alignments.

    >>> torch.nn.functional.ctc_loss(torch.zeros(2, 1, 2).log_softmax(2), torch.tensor([[1]]), [2], [1])
    tensor(0.2877)
    """

    lacks = {"half int bool complex rare": "ctc_loss_cpu"}
    no_forward = "_ctc_loss"

    amp = "float32"
    reads = "log_probs targets input_lengths target_lengths"

    def quick(log_probs, targets, input_lengths, target_lengths, blank, reduction, zero_infinity):
        if log_probs.dtype.char not in "fd" or targets.dtype.char != "l" or log_probs.ndim != 3 or not log_probs.size or \
                reduction not in REDUCTIONS:
            return None
        steps, batch, classes = log_probs.shape
        if not (0 <= blank < classes and len(input_lengths) == len(target_lengths) == batch and 0 <= _longest(input_lengths) <= steps
                and _longest(target_lengths) >= 0):
            return None
        losses = _ctc(log_probs, _target_rows(targets, target_lengths, batch), input_lengths, target_lengths, blank, zero_infinity)[0]
        if zero_infinity:
            losses = np.where(losses == np.inf, losses.dtype.type(0), losses)
        if reduction == "mean":
            losses /= np.maximum(_counted(*target_lengths), 1).astype(losses.dtype)
        return np.asarray(loss_of(losses, reduction))

    def function(F, log_probs, targets, input_lengths, target_lengths, blank=0, reduction="mean", zero_infinity=False):
        reduction = reduction_name(reduction)
        if on_meta(log_probs) and log_probs._k.dtype not in (float32, float64):
            raise UnsupportedDTypeError(f"\"ctc_loss_meta\" not implemented for '{SCALAR_TYPE_NAMES[log_probs._k.dtype.name]}'",
                                        remedy="convert the tensor first")
        batched = log_probs.ndim == 3
        x = log_probs if batched else F.unsqueeze(log_probs, 1)
        steps, batch, classes = tuple(x.shape)
        if not steps * batch * classes:
            raise AutogradError("log_probs tensor must not be empty")
        inputs, counts = _lengths("input_lengths", input_lengths), _lengths("target_lengths", target_lengths)
        if not 0 <= blank < classes:
            raise AutogradError("blank must be in label range")
        _check("input_lengths", inputs, batch, None)
        _check("target_lengths", counts, batch, None)
        rows = _target_rows(np.asarray(elements(targets)).astype(np.int64), counts, batch)
        _check("input_lengths", inputs, batch, steps)
        loss = F.ctc(x, constant(F, log_probs, rows), inputs, counts, blank, bool(zero_infinity))
        if zero_infinity:
            loss = F.where(F.eq(loss, np.inf), 0.0, loss)
        if reduction == "mean":
            return F.mean(loss / constant(F, log_probs, np.array([max(n, 1) for n in counts], buffer(loss).dtype)))
        return reduced(F, loss if batched or reduction == "sum" else F.squeeze(loss, 0), reduction)

    def samples(rng):
        x = rng.standard_normal((5, 2, 4))
        x -= np.log(np.exp(x).sum(2, keepdims=True))
        # The gradient is torch's, which is right for probabilities alone.
        yield Sample((x, np.array([[1, 2], [3, 3]]), (5, 5), (2, 2)), through="log_softmax")
        yield Sample((x, np.array([1, 2, 3]), (5, 4), (2, 1)), {"reduction": "none", "blank": 0}, through="log_softmax")
        yield Sample((x, np.array([[1, 2, 1], [3, 3, 3]]), (5, 3), (3, 3)), {"reduction": "sum", "zero_infinity": True},
                     through="log_softmax")

    def errors(rng):
        yield (np.zeros((2, 1, 2)), np.array([[1]]), (3,), (1,)), RuntimeError, (
            "Expected input_lengths to have value at most 2, but got value 3 (while checking arguments for ctc_loss_allocate_outputs)")
