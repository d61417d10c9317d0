"""Distributions sampled by rejection: Poisson, binomial and gamma numbers use as many words as chance decides.

Each sampler asks for uniforms in [0, 1) of 53 bits one at a time; `Generator` gives them ahead in blocks and afterwards
leaves the stream behind the last one that was used.  The order of operations is torch's, since a rounding may decide
whether a proposal is taken.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

Uniform = Callable[[], float]

# Stirling's series misses these much at 0 ... 9 (the tail of log(k!) after its leading terms).
_STIRLING = (
    0.0810614667953272, 0.0413406959554092, 0.0276779256849983, 0.02079067210376509, 0.0166446911898211,
    0.0138761288230707, 0.0118967099458917, 0.0104112652619720, 0.00925546218271273, 0.00833056343336287,
)  # fmt: skip


def poisson(rate: float, uniform: Uniform) -> float:
    """A Poisson number: by products of uniforms below a rate of 10, above by transformed rejection.

    Source: W. Hoermann, The transformed rejection method for generating Poisson random variables, Insurance:
    Mathematics and Economics 12, 1993 (algorithm PTRS).
    """
    if rate == 0:
        return 0.0
    if rate < 10:
        least, product, k = math.exp(-rate), 1.0, 0
        while True:
            product *= uniform()
            if product <= least:
                return float(k)
            k += 1
    root, log_rate = math.sqrt(rate), math.log(rate)
    b = 0.931 + 2.53 * root
    a = -0.059 + 0.02483 * b
    inverse_alpha = 1.1239 + 1.1328 / (b - 3.4)
    squeeze = 0.9277 - 3.6224 / (b - 2)
    while True:
        u = uniform() - 0.5
        v = uniform()
        us = 0.5 - abs(u)
        if us == 0:
            continue
        k = math.floor((2 * a / us + b) * u + rate + 0.43)
        if us >= 0.07 and v <= squeeze:
            return float(k)
        if k < 0 or (us < 0.013 and v > us) or v == 0:
            continue
        if math.log(v) + math.log(inverse_alpha) - math.log(a / (us * us) + b) <= -rate + k * log_rate - math.lgamma(k + 1):
            return float(k)


def binomial(count: np.floating, chance: np.floating, uniform: Uniform) -> float:
    """A binomial number; both arguments in the dtype of the result, in which torch computes part of the constants.

    Source: W. Hoermann, The generation of binomial random variates, Journal of Statistical Computation and Simulation
    46, 1993 (algorithm BTRS), with inversion by geometric gaps where fewer than 10 successes are expected.
    """
    kind = type(count)
    if not (count > 0 and chance > 0):
        return math.nan if math.isnan(count) or math.isnan(chance) else 0.0
    if chance >= 1:
        return float(count)
    mirrored = chance > 0.5
    p = kind(1.0 - float(chance)) if mirrored else chance
    k = _btrs(count, p, uniform) if count * p >= 10 else _gaps(count, p, uniform)
    return float(count) - k if mirrored else k


def _gaps(count: np.floating, p: np.floating, uniform: Uniform) -> float:
    log_miss = float(np.log1p(-p)) if isinstance(p, np.float32) else math.log1p(-float(p))
    total, successes = 0.0, 0
    while True:
        u = uniform()
        total += math.ceil(math.log(u) / log_miss) if u else math.inf
        if total > count:
            return float(successes)
        successes += 1


def _btrs(count: np.floating, p: np.floating, uniform: Uniform) -> float:
    kind = type(count)
    one = kind(1)
    deviation = float(np.sqrt(count * p * (one - p)))
    n = float(count)
    b = 1.15 + 2.53 * deviation
    a = -0.0873 + 0.0248 * b + 0.01 * float(p)
    c = float(count * p) + 0.5
    squeeze = 0.92 - 4.2 / b
    odds = float(p / (one - p))
    alpha = (2.83 + 5.1 / b) * deviation
    mode = float(np.floor((count + one) * p))
    while True:
        u = uniform() - 0.5
        v = uniform()
        us = 0.5 - abs(u)
        if us == 0:
            continue
        k = float(kind(math.floor((2 * a / us + b) * u + c)))
        if k < 0 or k > n:
            continue
        if us >= 0.07 and v <= squeeze:
            return k
        v = math.log(v * alpha / (a / (us * us) + b)) if v else -math.inf
        bound = (
            (mode + 0.5) * math.log((mode + 1) / (odds * (n - mode + 1)))
            + (n + 1) * math.log((n - mode + 1) / (n - k + 1))
            + (k + 0.5) * math.log(odds * (n - k + 1) / (k + 1))
            + _stirling(mode) + _stirling(n - mode) - _stirling(k) - _stirling(n - k)
        )  # fmt: skip
        if v <= bound:
            return k


def _stirling(k: float) -> float:
    if k < len(_STIRLING):
        return _STIRLING[int(k)]
    square = (k + 1) * (k + 1)
    return (1.0 / 12 - (1.0 / 360 - 1.0 / 1260 / square) / square) / (k + 1)


def gamma(shape: np.floating, uniform: Uniform, normal: Callable[[], float]) -> float:
    """A gamma number of scale 1.

    Source: G. Marsaglia and W. W. Tsang, A simple method for generating gamma variables, ACM Transactions on
    Mathematical Software 26, 2000; shapes below 1 by a power of a uniform.
    """
    kind = type(shape)
    scale = 1.0
    if shape < 1:
        if shape == 0:
            return 0.0
        u = 1 - uniform()
        try:
            scale = math.pow(u, float(kind(1) / shape))
        except OverflowError:  # shapes below 0, which no distribution has
            scale = math.inf
        shape = shape + kind(1)
    d = float(shape - kind(np.float32(1) / np.float32(3)))
    c = 1.0 / math.sqrt(9.0 * d) if d > 0 else math.nan
    small = float(np.float32(0.0331))
    while True:
        x = normal()
        y = 1.0 + c * x
        if y <= 0:
            continue
        v = y * y * y
        u = 1 - uniform()
        xx = x * x
        if u < 1.0 - small * xx * xx or math.log(u) < 0.5 * xx + d * (1.0 - v + math.log(v)):
            return scale * d * v
