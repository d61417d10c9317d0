"""Direction numbers of Sobol sequences: whose search, and in which order of dimensions, is S. Joe and F. Y. Kuo's, "Constructing Sobol
sequences with better two-dimensional projections" (SIAM J. Sci. Comput. 30, 2008), in their table of 21,201 dimensions. It lies beside this
file with its licence: the primitive polynomials by half the steps from one to the next, and the bits of the numbers but the lowest."""

from __future__ import annotations

from functools import cache, lru_cache
from pathlib import Path

import numpy as np

BITS, DIMENSIONS = 30, 21201


@cache
def _table() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The polynomial of each dimension as the bits of a number, its degree, and as many odd first numbers (of 18)."""
    with np.load(Path(__file__).with_name("joe_kuo.npz"), allow_pickle=False) as stored:
        polynomials = 1 + 2 * np.cumsum([0, *stored["steps"]], dtype=np.int64)
        bits = np.unpackbits(stored["numbers"])
    degrees = np.frexp(polynomials)[1] - 1
    numbers = np.ones((DIMENSIONS, 18), np.int64)
    for i in range(1, 18):  # of i + 1 bits, all dimensions that have it after each other
        owners = degrees > i
        taken, bits = np.split(bits, [i * int(owners.sum())])
        numbers[owners, i] += taken.reshape(-1, i) @ (2 << np.arange(i))
    return polynomials, degrees, numbers


def direction_numbers(dimension: int) -> np.ndarray:
    """The first `dimension` rows (dimension, 30) of direction numbers, as integers of 30 bits.

    Those beyond the table follow from the polynomial x^s + a_1 x^(s-1) + ... + 1: m_k is the exclusive or of 2 a_1 m_(k-1),
    4 a_2 m_(k-2), ..., 2^s m_(k-s), and m_(k-s).

    >>> direction_numbers(3)[:, :3] >> np.array([29, 28, 27])
    array([[1, 1, 1],
           [1, 3, 5],
           [1, 3, 3]])
    """
    return _numbers(dimension).copy()


@lru_cache(8)
def _numbers(dimension: int) -> np.ndarray:
    polynomials, degrees, first = [part[:dimension] for part in _table()]
    m = np.ones((dimension, BITS), np.int64)
    m[:, :18] = first
    for degree in range(1, int(degrees[-1]) + 1):
        rows = slice(*np.searchsorted(degrees, [degree, degree + 1]))
        own, polynomial = m[rows], polynomials[rows]
        for k in range(degree, BITS):
            own[:, k] = own[:, k - degree]
            for j in range(1, degree + 1):
                own[:, k] ^= (own[:, k - j] << j) * (polynomial >> (degree - j) & 1)
    return m << np.arange(BITS - 1, -1, -1)
