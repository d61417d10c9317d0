"""How elements of dtypes that NumPy lacks, or converts otherwise than torch, are written and read."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from .warned import ignoring

COMPLEX32 = np.dtype([("real", "f2"), ("imag", "f2")])


def real_of(array: np.ndarray) -> np.ndarray:
    """A view of the real parts of complex numbers."""
    return array["real"] if array.dtype == COMPLEX32 else array.real


def imag_of(array: np.ndarray) -> np.ndarray:
    """A view of the imaginary parts of complex numbers."""
    return array["imag"] if array.dtype == COMPLEX32 else array.imag


class Code(Protocol):
    """A way to write numbers of a wider dtype, in which they are computed, as elements of another, and to read them."""

    wide: np.dtype

    def read(self, array: np.ndarray) -> np.ndarray:
        """The numbers, of dtype `wide`."""

    def write(self, array: np.ndarray) -> np.ndarray:
        """Elements with the numbers of an array of dtype `wide`, rounded."""

    def narrowed(self, result: Any) -> Any:
        """A result of a computation in `wide`, rounded; others as they are."""


class Halves:
    """Complex numbers of two float16."""

    wide = np.dtype("c8")

    def read(self, array: np.ndarray) -> np.ndarray:
        result = np.empty_like(array, self.wide)
        result.real, result.imag = array["real"], array["imag"]
        return result

    def write(self, array: np.ndarray) -> np.ndarray:
        result = np.empty_like(array, COMPLEX32)
        with np.errstate(over="ignore"):
            result["real"], result["imag"] = array.real, array.imag
        return result

    def narrowed(self, result: Any) -> Any:
        result = np.asarray(result)
        return self.write(result) if result.dtype == self.wide else result.astype("f2") if result.dtype == "f4" else result


HALVES = Halves()


class Float8:
    """Floating-point numbers of 8 bits. ml_dtypes rounds to the nearest, ties to even, as torch does; they differ in what is out of range,
    in which NaN it is, and in numbers that have an exponent only, of which torch takes the magnitude.

    Args:
        element: the type of ml_dtypes.
    """

    wide = np.dtype("f4")
    SATURATED = {"float8_e4m3fn": 448.0}
    """The largest number of those that have no infinity and in which torch makes it of what is larger, infinity as well."""
    NANS = {"float8_e4m3fn": 0x7FF00000, "float8_e5m2": 0x7FE00000, "float8_e4m3fnuz": 0x7F800001, "float8_e5m2fnuz": 0x7F800001,
            "float8_e8m0fnu": 0x7F800001}
    """The NaN of float32 that each one's is read as, but for its sign where there are two, one of each."""

    def __init__(self, element: Any) -> None:
        self.np = np.dtype(element)
        self.largest = self.SATURATED.get(self.np.name)
        self._numbers: np.ndarray | None = None

    def read(self, array: np.ndarray) -> np.ndarray:
        if self._numbers is None:  # one for each element there is
            codes = np.arange(256, dtype=np.uint8)
            numbers = codes.view(self.np).astype(self.wide)
            quiet = self.NANS[self.np.name]
            nans = np.isnan(numbers)
            if self.np.name == "float8_e5m2":
                nans &= codes & 3 != 2
            signs = codes.astype(np.uint32) >> 7 << 31 if np.count_nonzero(nans) > 1 else np.zeros(256, np.uint32)
            numbers.view(np.uint32)[nans] = (signs | np.uint32(quiet))[nans]
            self._numbers = numbers
        return self._numbers[np.asarray(array).view(np.uint8)]

    def write(self, array: np.ndarray) -> np.ndarray:
        if self.np.name == "float8_e8m0fnu":
            return self._exponents(array)
        if self.largest is not None:
            array = np.clip(array, -self.largest, self.largest)
        with ignoring():
            result = array.astype(self.np)
        if self.np.name == "float8_e5m2" and (nans := np.isnan(array)).any():
            result.view(np.uint8)[nans] |= 0x7F
        return result

    def narrowed(self, result: Any) -> Any:
        result = np.asarray(result)
        return self.write(result) if result.dtype == self.wide else result

    def _exponents(self, array: np.ndarray) -> np.ndarray:
        bits = np.asarray(array).view(np.uint32)
        exponent = (bits >> 23) & 0xFF
        rest = bits & 0x7FFFFF
        up = (rest > 0x400000) | (rest == 0x400000) & (exponent > 0)
        return (exponent + (up & (exponent < 0xFF))).astype(np.uint8).view(self.np)
