"""Distributions sampled by rejection: Poisson, binomial and gamma numbers use as many words as chance decides.

Each loop takes uniforms in [0, 1) of 53 bits that were drawn ahead, and stops before the number for which they do not
suffice: ``place`` holds how many numbers it has made and how many uniforms those took.  The order of operations is
torch's, since a rounding may decide whether a proposal is taken.

The loops are run as they stand here or, for large draws, compiled (see `executors/kernels/compiled/random.py`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

Numbers = npt.NDArray[Any]
Uniforms = Sequence[float]  # compiled, an array
Place = list[int]

THIRD, SMALL = np.float32(1) / np.float32(3), float(np.float32(0.0331))

# Stirling's series misses these much at 0 ... 9 (the tail of log(k!) after its leading terms).
STIRLING = (
    0.0810614667953272, 0.0413406959554092, 0.0276779256849983, 0.02079067210376509, 0.0166446911898211,
    0.0138761288230707, 0.0118967099458917, 0.0104112652619720, 0.00925546218271273, 0.00833056343336287,
)  # fmt: skip


def wide(x: float) -> float:
    """In double precision."""
    return float(x)


def floor(x: float) -> float:
    return float(math.floor(x)) if abs(x) < 1e15 else x


def stirling(k: float) -> float:
    if k < len(STIRLING):
        return STIRLING[int(k)]
    square = (k + 1) * (k + 1)
    return (1.0 / 12 - (1.0 / 360 - 1.0 / 1260 / square) / square) / (k + 1)


def poisson(rates: Uniforms, uniforms: Uniforms, out: Numbers, place: Place) -> None:
    """Poisson numbers: by products of uniforms below a rate of 10, above by transformed rejection.

    Source: W. Hoermann, The transformed rejection method for generating Poisson random variables, Insurance:
    Mathematics and Economics 12, 1993 (algorithm PTRS).
    """
    at, end = max(place[1], 0), len(uniforms)
    for i in range(max(place[0], 0), len(rates)):
        rate = rates[i]
        if rate == 0:
            out[i] = 0.0
        elif rate < 10:
            least, product, n = math.exp(-rate), 1.0, -1
            while n < 0 or product > least:
                if at >= end:
                    return
                product *= uniforms[at]
                at += 1
                n += 1
            out[i] = n
        else:
            root, log_rate = math.sqrt(rate), math.log(rate)
            b = 0.931 + 2.53 * root
            a = -0.059 + 0.02483 * b
            inverse_alpha = 1.1239 + 1.1328 / (b - 3.4)
            squeeze = 0.9277 - 3.6224 / (b - 2)
            while True:
                if at + 2 > end:
                    return
                u = uniforms[at] - 0.5
                v = uniforms[at + 1]
                at += 2
                us = 0.5 - abs(u)
                if us == 0:
                    continue
                k = floor((2 * a / us + b) * u + rate + 0.43)
                if us >= 0.07 and v <= squeeze:
                    break
                if k < 0 or (us < 0.013 and v > us) or v == 0:
                    continue
                taken = math.log(v) + math.log(inverse_alpha) - math.log(a / (us * us) + b)
                if taken <= -rate + k * log_rate - math.lgamma(k + 1):
                    break
            out[i] = k
        place[0], place[1] = i + 1, at


def binomial(counts: Numbers, chances: Numbers, log_misses: Uniforms, uniforms: Uniforms, out: Numbers, place: Place) -> None:
    """Binomial numbers; counts and chances in the dtype of the result, in which torch computes part of the constants. ``log_misses``
    are the logarithms of one less the chances, mirrored to at most a half.

    Source: W. Hoermann, The generation of binomial random variates, Journal of Statistical Computation and Simulation
    46, 1993 (algorithm BTRS), with inversion by geometric gaps where fewer than 10 successes are expected.
    """
    kind = counts.dtype.type
    one = kind(1)
    at, end = max(place[1], 0), len(uniforms)
    for i in range(max(place[0], 0), len(counts)):
        count, chance = counts[i], chances[i]
        n, k = wide(count), 0.0
        if not (count > 0 and chance > 0):
            out[i] = math.nan if math.isnan(count) or math.isnan(chance) else 0.0
        elif chance >= 1:
            out[i] = count
        else:
            mirrored = chance > 0.5
            p = kind(1.0 - wide(chance)) if mirrored else chance
            if count * p < 10:
                total = 0.0
                while True:
                    if at >= end:
                        return
                    u = uniforms[at]
                    at += 1
                    total += -floor(-math.log(u) / log_misses[i]) if u > 0 else math.inf
                    if total > n:
                        break
                    k += 1
            else:
                deviation = wide(np.sqrt(count * p * (one - p)))
                b = 1.15 + 2.53 * deviation
                a = -0.0873 + 0.0248 * b + 0.01 * wide(p)
                c = wide(count * p) + 0.5
                squeeze = 0.92 - 4.2 / b
                odds = wide(p / (one - p))
                alpha = (2.83 + 5.1 / b) * deviation
                mode = wide(np.floor((count + one) * p))
                while True:
                    if at + 2 > end:
                        return
                    u = uniforms[at] - 0.5
                    v = uniforms[at + 1]
                    at += 2
                    us = 0.5 - abs(u)
                    if us == 0:
                        continue
                    k = wide(kind(floor((2 * a / us + b) * u + c)))
                    if k < 0 or k > n:
                        continue
                    if us >= 0.07 and v <= squeeze:
                        break
                    v = math.log(v * alpha / (a / (us * us) + b)) if v > 0 else -math.inf
                    bound = (
                        (mode + 0.5) * math.log((mode + 1) / (odds * (n - mode + 1)))
                        + (n + 1) * math.log((n - mode + 1) / (n - k + 1))
                        + (k + 0.5) * math.log(odds * (n - k + 1) / (k + 1))
                        + stirling(mode) + stirling(n - mode) - stirling(k) - stirling(n - k)
                    )  # fmt: skip
                    if v <= bound:
                        break
            out[i] = n - k if mirrored else k
        place[0], place[1] = i + 1, at


def gamma(shapes: Numbers, uniforms: Uniforms, out: Numbers, place: Place, cached: Sequence[float] | Numbers) -> None:
    """Gamma numbers of scale 1. Normals come in pairs of two uniforms; ``cached[0]`` is one that waits, or NaN.

    Source: G. Marsaglia and W. W. Tsang, A simple method for generating gamma variables, ACM Transactions on
    Mathematical Software 26, 2000; shapes below 1 by a power of a uniform.
    """
    kind = shapes.dtype.type
    at, end, waiting = max(place[1], 0), len(uniforms), wide(cached[0])
    for i in range(max(place[0], 0), len(shapes)):
        shape, scale = shapes[i], 1.0
        if shape == 0:
            out[i] = 0.0
        else:
            if shape < 1:
                if at >= end:
                    return
                u = 1.0 - uniforms[at]
                at += 1
                power = wide(kind(1) / shape)  # negative ones, which no distribution has, may overflow
                scale = math.pow(u, power) if power * math.log2(u) < 1023.0 else math.inf
                shape = shape + kind(1)
            d = wide(shape - kind(THIRD))
            c = 1.0 / math.sqrt(9.0 * d) if d > 0 else math.nan
            while True:
                if waiting == waiting:
                    x, waiting = waiting, math.nan
                else:
                    if at + 2 > end:
                        return
                    radius, theta = math.sqrt(-2.0 * math.log1p(-uniforms[at + 1])), 2.0 * math.pi * uniforms[at]
                    at += 2
                    x, waiting = radius * math.cos(theta), radius * math.sin(theta)
                y = 1.0 + c * x
                if y <= 0:
                    continue
                v = y * y * y
                if at >= end:
                    return
                u = 1.0 - uniforms[at]
                at += 1
                xx = x * x
                if u < 1.0 - SMALL * xx * xx or math.log(u) < 0.5 * xx + d * (1.0 - v + math.log(v)):
                    break
            out[i] = scale * d * v
        place[0], place[1], cached[0] = i + 1, at, waiting  # type: ignore[index]  # a list or an array
