"""Connectionist temporal classification (Graves et al., ICML 2006): the likelihood of a label sequence over all its alignments."""

from __future__ import annotations


import numpy as np

from ...dtypes import BOOL, FLOATING
from ...errors import AutogradError
from ...record import Sample, op
from ._losses import buffer, constant, elements, reduced, reduction_name
from collections.abc import Sequence
from ...annotations import Functions
from ...tensor import TensorRef

NEVER = -1e30  # the logarithm of an impossible path: finite, so that differences of two are no NaN


def _lengths(name: str, value: Sequence[int]) -> np.ndarray:
    if isinstance(value, TensorRef) and (value._k.dtype.category >= FLOATING or value._k.dtype.category == BOOL):
        raise AutogradError(f"{name} must be integral")
    return np.asarray(elements(value)).astype(np.int64).reshape(-1)


def _target_rows(targets: TensorRef, lengths: np.ndarray, batch: int) -> np.ndarray:
    """Targets as (N, S), from that form or from all of them in a row."""
    data = elements(targets).astype(np.int64)
    if data.ndim == 2:
        return data
    if batch == 1 and data.ndim == 1:
        return data.reshape(1, -1)
    rows = np.zeros((batch, int(lengths.max(initial=0))), np.int64)
    start = 0
    for i, n in enumerate(lengths):
        rows[i, :n] = data[start:start + n]
        start += int(n)
    return rows


def _log_sum(F: Functions, terms: list[TensorRef]) -> TensorRef:
    """log(sum(exp)) of tensors of one shape."""
    return F.logsumexp(F.stack(terms, 0), 0)


def _losses(F: Functions, log_probs: TensorRef, rows: np.ndarray, input_lengths: np.ndarray, target_lengths: np.ndarray,
            blank: int, zero_infinity: bool) -> TensorRef:
    """-log likelihood of each of the N samples; `log_probs` is (T, N, C). It is infinite, or 0, where there is no alignment."""
    steps, batch, _ = tuple(log_probs.shape)
    labels = np.full((batch, 2 * rows.shape[1] + 1), blank, np.int64)
    labels[:, 1::2] = rows
    dtype = buffer(log_probs).dtype
    width = labels.shape[1]
    # A path may skip a blank between two different labels.
    skip = np.zeros((batch, width), bool)
    skip[:, 2:] = (labels[:, 2:] != blank) & (labels[:, 2:] != labels[:, :-2])
    emitted = F.gather(log_probs, 2, constant(F, log_probs, np.ascontiguousarray(np.broadcast_to(labels, (steps, *labels.shape)))))
    start = np.full((batch, width), NEVER, dtype)
    start[:, :2] = 0
    start[target_lengths == 0, 1:] = NEVER
    wall = np.full((batch, 2), NEVER, dtype)
    no_skip = constant(F, log_probs, np.where(skip, 0, NEVER).astype(dtype))
    alpha = F.select(emitted, 0, 0) + constant(F, log_probs, start)
    for t in range(1, steps):
        one = F.cat([constant(F, log_probs, wall[:, :1]), F.narrow(alpha, 1, 0, width - 1)], 1)
        terms = [alpha, one]
        if width > 2:
            terms.append(F.cat([constant(F, log_probs, wall), F.narrow(alpha, 1, 0, width - 2)], 1) + no_skip)
        moved = _log_sum(F, terms) + F.select(emitted, 0, t)
        running = t < input_lengths
        alpha = moved if running.all() else F.where(constant(F, log_probs, np.broadcast_to(running[:, None], (batch, width)).copy()), moved,
                                                    alpha)
    ends = np.stack([2 * target_lengths, np.maximum(2 * target_lengths - 1, 0)], 1)
    last = F.gather(alpha, 1, constant(F, log_probs, ends))
    only_blank = np.zeros((batch, 2), dtype)
    only_blank[target_lengths == 0, 1] = NEVER
    loss = -F.logsumexp(last + constant(F, log_probs, only_blank), 1)
    empty = (input_lengths == 0)
    if empty.any():
        loss = F.where(constant(F, log_probs, empty), constant(F, log_probs, np.where(target_lengths == 0, 0, np.inf).astype(dtype)), loss)
    impossible = elements(loss) > -NEVER / 2
    if impossible.any():
        # Without zeros, no path says how to change the probabilities: the loss is infinite and, as in torch, its gradient is not a number.
        mask = constant(F, log_probs, impossible)
        loss = F.masked_fill(loss, mask, 0.0) if zero_infinity else F.where(mask, -F.log(F.sum(log_probs, (0, 2)) * 0), loss)
    # torch differentiates for log-probabilities that sum to one, which adds a term that log_softmax takes away again.
    counted = (np.arange(steps)[:, None] < input_lengths).astype(dtype)[:, :, None]
    mass = F.sum(F.exp(log_probs) * constant(F, log_probs, counted), (0, 2))
    return loss + (mass - constant(F, log_probs, elements(mass).copy()))


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

    def function(F, log_probs, targets, input_lengths, target_lengths, blank=0, reduction="mean", zero_infinity=False):
        reduction = reduction_name(reduction)
        batched = log_probs.ndim == 3
        x = log_probs if batched else F.unsqueeze(log_probs, 1)
        steps, batch, classes = tuple(x.shape)
        inputs, lengths = _lengths("input_lengths", input_lengths), _lengths("target_lengths", target_lengths)
        if not 0 <= blank < classes:
            raise AutogradError("blank must be in label range")
        if len(inputs) != batch:
            raise AutogradError("input_lengths must be of size batch_size")
        if len(lengths) != batch:
            raise AutogradError("target_lengths must be of size batch_size")
        if lengths.size and lengths.min() < 0:
            bad = int(np.argmax(lengths < 0))
            raise AutogradError(f"Expected target_lengths to have value at least 0, but got value {lengths[bad]} (while checking arguments "
                                "for "
                                "ctc_loss_allocate_outputs)")
        if inputs.size and inputs.max() > steps:
            bad = int(np.argmax(inputs > steps))
            raise AutogradError(f"Expected input_lengths to have value at most {steps}, but got value {inputs[bad]} (while checking "
                                "arguments "
                                "for ctc_loss_allocate_outputs)")
        loss = _losses(F, x, _target_rows(targets, lengths, batch), inputs, lengths, blank, zero_infinity)
        if zero_infinity:
            loss = F.masked_fill(loss, constant(F, log_probs, np.isinf(elements(loss))), 0)
        if reduction == "mean":
            return F.mean(loss / constant(F, log_probs, np.maximum(lengths, 1).astype(buffer(loss).dtype)))
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
