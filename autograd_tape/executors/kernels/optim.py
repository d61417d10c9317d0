"""Optimizer steps in place: SGD, Adam and AdamW, one pass over memory per parameter.

The operation order is that of torch's single-tensor implementations, so results agree to rounding.  Parameters and
state are written in place (any strides; the compiled path needs C order); gradients are only read.  Scalars are Python
floats.

Sources: Kingma and Ba (arXiv:1412.6980), Loshchilov and Hutter (arXiv:1711.05101), Reddi et al. (arXiv:1904.09237).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ...warned import silence
from ._on_demand import contiguous
from .handy import Exact, Run

__all__ = ["adam_step", "adam_steps", "adamw_step", "adamw_steps", "sgd_step", "sgd_steps"]

_sgd, _adam_loop = Exact("optim", "sgd"), Exact("optim", "adam")
_NONE = {char: np.empty(0, char) for char in "fd"}
_STATES = frozenset([np.dtype(np.float32), np.dtype(np.float64)])


def _runner(step: Exact, param: np.ndarray, *buffers: np.ndarray | None) -> Run | None:
    """The compiled loop where it is to write ``param`` and its buffers: one native dtype, C order, aligned; else None."""
    dtype = param.dtype
    if dtype not in _STATES or not param.flags.carray:
        return None
    for buffer in buffers:
        if buffer is not None and (buffer.dtype is not dtype or not buffer.flags.carray or buffer.size != param.size):
            return None
    return step.over(dtype.char, param.size)


def _flat_gradient(grad: np.ndarray, param: np.ndarray) -> np.ndarray:
    """As the loops read it."""
    return contiguous(grad if grad.dtype is param.dtype else grad.astype(param.dtype)).reshape(-1)


def sgd_step(
    param: np.ndarray,
    grad: np.ndarray,
    momentum_buf: np.ndarray | None,
    lr: float,
    momentum: float = 0.0,
    dampening: float = 0.0,
    weight_decay: float = 0.0,
    nesterov: bool = False,
    maximize: bool = False,
    first: bool = False,
) -> None:
    """One step of stochastic gradient descent.

    ``momentum_buf`` (needed if ``momentum`` is not 0) is updated in place; at the ``first`` step it is overwritten by
    the gradient (dampening does not apply then, as in torch).

    >>> p = np.array([1.0, 2.0])
    >>> sgd_step(p, np.array([1.0, 1.0]), None, lr=0.5)
    >>> p
    array([0.5, 1.5])
    """
    if momentum and momentum_buf is None:
        raise ValueError(
            "sgd_step: momentum is not 0, so momentum_buf must be an array of the parameter's shape, got None"
        )
    buf = momentum_buf if momentum else None
    run = _runner(_sgd, param, buf)
    if run is not None:
        kept = _NONE[param.dtype.char] if buf is None else buf.reshape(-1)
        run(param.size, 1, param.reshape(-1), _flat_gradient(grad, param), kept, lr, momentum, 1.0 - dampening, weight_decay, first,
            nesterov, maximize)
        return
    T = param.dtype.type
    d = -grad if maximize else grad
    if weight_decay:
        d = d + T(weight_decay) * param
    if buf is not None:
        if first:
            buf[...] = d
        else:
            buf *= T(momentum)
            buf += T(1 - dampening) * d
        d = d + T(momentum) * buf if nesterov else buf
    param -= T(lr) * d


def _adam(
    param: np.ndarray,
    grad: np.ndarray,
    exp_avg: np.ndarray,
    exp_avg_sq: np.ndarray,
    max_exp_avg_sq: np.ndarray | None,
    step: float,
    lr: float,
    beta1: float,
    beta2: float,
    eps: float,
    decay: float,
    shrink: float,
    maximize: bool,
) -> None:
    step_size = lr / (1 - beta1**step)
    root = math.sqrt(1 - beta2**step)
    run = _runner(_adam_loop, param, exp_avg, exp_avg_sq, max_exp_avg_sq)
    if run is not None:
        top = _NONE[param.dtype.char] if max_exp_avg_sq is None else max_exp_avg_sq.reshape(-1)
        run(param.size, 1, param.reshape(-1), _flat_gradient(grad, param), exp_avg.reshape(-1), exp_avg_sq.reshape(-1), top, shrink, decay,
            beta1, beta2, eps, step_size, root, maximize)
        return
    T = param.dtype.type
    d = -grad if maximize else grad
    if decay:
        d = d + T(decay) * param
    if shrink != 1:
        param *= T(shrink)
    weight = T(1 - beta1)
    if weight < T(1) - weight:
        exp_avg += weight * (d - exp_avg)
    else:  # from the nearer end, as lerp
        exp_avg[...] = d - (d - exp_avg) * (T(1) - weight)
    exp_avg_sq *= T(beta2)
    exp_avg_sq += T(1 - beta2) * d * d
    second = exp_avg_sq
    if max_exp_avg_sq is not None:
        second = np.maximum(max_exp_avg_sq, exp_avg_sq, out=max_exp_avg_sq)
    denominator = np.sqrt(second)
    denominator /= T(root)
    denominator += T(eps)
    param += T(-step_size) * exp_avg / denominator


def adam_step(
    param: np.ndarray,
    grad: np.ndarray,
    exp_avg: np.ndarray,
    exp_avg_sq: np.ndarray,
    max_exp_avg_sq: np.ndarray | None,
    step: float,
    lr: float,
    beta1: float,
    beta2: float,
    eps: float,
    weight_decay: float = 0.0,
    amsgrad: bool = False,
    maximize: bool = False,
) -> None:
    """One step of Adam (weight decay added to the gradient); ``step`` counts from 1; ``max_exp_avg_sq`` is for amsgrad.

    >>> p, m, v = np.array([1.0]), np.zeros(1), np.zeros(1)
    >>> adam_step(p, np.array([2.0]), m, v, None, 1, 0.1, 0.9, 0.999, 0.0)
    >>> p
    array([0.9])
    """
    top = max_exp_avg_sq if amsgrad else None
    _adam(param, grad, exp_avg, exp_avg_sq, top, step, lr, beta1, beta2, eps, weight_decay, 1.0, maximize)


def adamw_step(
    param: np.ndarray,
    grad: np.ndarray,
    exp_avg: np.ndarray,
    exp_avg_sq: np.ndarray,
    max_exp_avg_sq: np.ndarray | None,
    step: float,
    lr: float,
    beta1: float,
    beta2: float,
    eps: float,
    weight_decay: float = 0.01,
    amsgrad: bool = False,
    maximize: bool = False,
) -> None:
    """One step of AdamW: as ``adam_step``, but weight decay shrinks the parameter by ``1 - lr * weight_decay``
    first."""
    top = max_exp_avg_sq if amsgrad else None
    shrink = 1.0 - lr * weight_decay
    _adam(param, grad, exp_avg, exp_avg_sq, top, step, lr, beta1, beta2, eps, 0.0, shrink, maximize)


def sgd_steps(
    params: Sequence[np.ndarray],
    grads: Sequence[np.ndarray],
    momentum_bufs: Sequence[np.ndarray | None],
    lr: float,
    momentum: float = 0.0,
    dampening: float = 0.0,
    weight_decay: float = 0.0,
    nesterov: bool = False,
    maximize: bool = False,
    first: bool = False,
) -> None:
    """``sgd_step`` for each of several parameters."""
    for param, grad, buf in zip(params, grads, momentum_bufs, strict=True):
        sgd_step(param, grad, buf, lr, momentum, dampening, weight_decay, nesterov, maximize, first)


def adam_steps(
    params: Sequence[np.ndarray],
    grads: Sequence[np.ndarray],
    exp_avgs: Sequence[np.ndarray],
    exp_avg_sqs: Sequence[np.ndarray],
    max_exp_avg_sqs: Sequence[np.ndarray | None] | None,
    steps: Sequence[float],
    lr: float,
    beta1: float,
    beta2: float,
    eps: float,
    weight_decay: float = 0.0,
    amsgrad: bool = False,
    maximize: bool = False,
) -> None:
    """``adam_step`` for each of several parameters."""
    tops = max_exp_avg_sqs if amsgrad and max_exp_avg_sqs is not None else [None] * len(params)
    for param, grad, avg, sq, top, step in zip(params, grads, exp_avgs, exp_avg_sqs, tops, steps, strict=True):
        _adam(param, grad, avg, sq, top, step, lr, beta1, beta2, eps, weight_decay, 1.0, maximize)


def adamw_steps(
    params: Sequence[np.ndarray],
    grads: Sequence[np.ndarray],
    exp_avgs: Sequence[np.ndarray],
    exp_avg_sqs: Sequence[np.ndarray],
    max_exp_avg_sqs: Sequence[np.ndarray | None] | None,
    steps: Sequence[float],
    lr: float,
    beta1: float,
    beta2: float,
    eps: float,
    weight_decay: float = 0.01,
    amsgrad: bool = False,
    maximize: bool = False,
) -> None:
    """``adamw_step`` for each of several parameters."""
    tops = max_exp_avg_sqs if amsgrad and max_exp_avg_sqs is not None else [None] * len(params)
    shrink = 1.0 - lr * weight_decay
    for param, grad, avg, sq, top, step in zip(params, grads, exp_avgs, exp_avg_sqs, tops, steps, strict=True):
        _adam(param, grad, avg, sq, top, step, lr, beta1, beta2, eps, 0.0, shrink, maximize)


silence(__name__)
