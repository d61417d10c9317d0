"""Half precision beside Python's numbers, in formulas of gradients: NumPy rounds the number to half precision first; torch computes in
float32 and rounds the result."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from ..annotations import Fn, Functions
from .kernels._on_demand import is_half
from .kernels.halves import FEW, SINGLE, narrow, ufunc, widened


class Halves(np.ndarray):
    """A buffer of half precision whose products, quotients, sums and differences with numbers are those of float32, rounded once."""


def _beside_numbers(name: str, function: np.ufunc, swapped: bool) -> Fn:
    plain = getattr(np.ndarray, name)

    def operator(self: Halves, other: Any) -> Any:
        if self.size < FEW[0]:  # of which NumPy's own loops are the quickest
            a = self.view(np.ndarray)
            if other.__class__ is Halves and other.size < FEW[0] and other.dtype is a.dtype:
                b = other.view(np.ndarray)
                found = function(b, a) if swapped else function(a, b)
                return found.view(Halves) if found.__class__ is np.ndarray else halves(found)
            if other.__class__ is float and is_half(a.dtype):
                b = a.astype(SINGLE)
                found = function(other, b) if swapped else function(b, other)
                return found.astype(a.dtype).view(Halves) if found.__class__ is np.ndarray else halves(np.asarray(found, a.dtype))
        if (other.__class__ is float or other.__class__ is int and abs(other) > 2048) and is_half(self.dtype):
            return halves(narrow(plain(widened(self.view(np.ndarray)), other), self.dtype))
        if isinstance(other, np.ndarray) and other.dtype == self.dtype and is_half(self.dtype):
            a, b = self.view(np.ndarray), other.view(np.ndarray)
            return halves(ufunc(function, b, a) if swapped else ufunc(function, a, b))
        return plain(self, other)

    return operator


for _name, _function in (("add", np.add), ("sub", np.subtract), ("mul", np.multiply), ("truediv", np.divide)):
    for _operator in (f"__{_name}__", f"__r{_name}__"):
        setattr(Halves, _operator, _beside_numbers(_operator, _function, _operator[2] == "r"))


def halves(value: Any) -> Any:
    """A buffer of half precision as `Halves`, everything else as it is."""
    if value.__class__ is not np.ndarray and not isinstance(value, np.generic) or not is_half(value.dtype):
        return value
    return np.asarray(value).view(Halves)


def bare(value: Any) -> Any:
    """What a kernel takes: `Halves` as the array that it is, also in a list."""
    if value.__class__ is list or value.__class__ is tuple:
        return type(value)([bare(v) for v in value])
    return value.view(np.ndarray) if value.__class__ is Halves else value


class HalfOps:
    """An executor's operations `F` on buffers, which give `Halves`."""

    def __init__(self, F: Functions) -> None:
        self._plain = F

    def __getattr__(self, name: str) -> Fn:
        if name.startswith("__"):
            raise AttributeError(name)
        function = getattr(self._plain, name)
        if isinstance(function, np.ufunc):
            function = functools.partial(ufunc, function)

        def on_bare(*args: Any, **kwargs: Any) -> Any:
            return halves(function(*[bare(a) for a in args], **{k: bare(v) for k, v in kwargs.items()}))

        self.__dict__[name] = on_bare
        return on_bare

    def fit(self, g: Any, shape: tuple[int, ...], dtype: np.dtype) -> Any:
        """A gradient with the shape and dtype of its input, a plain array."""
        return self._plain.fit(bare(g), shape, dtype)


half_ops = functools.cache(HalfOps)
"""`HalfOps` of an executor's operations, made once."""
