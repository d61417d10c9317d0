"""Half precision beside Python's numbers, in formulas of gradients: NumPy rounds the number to half precision first; torch computes in
float32 and rounds the result."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from ..annotations import Fn, Functions
from .kernels._on_demand import is_half
from .numpy import SINGLE


class Halves(np.ndarray):
    """A buffer of half precision whose products, quotients, sums and differences with numbers are those of float32, rounded once."""


def _beside_numbers(name: str) -> Fn:
    plain = getattr(np.ndarray, name)

    def operator(self: Halves, other: Any) -> Any:
        if (other.__class__ is float or other.__class__ is int and abs(other) > 2048) and is_half(self.dtype):
            return plain(self.astype(SINGLE), other).astype(self.dtype)
        return plain(self, other)

    return operator


for _name in ("add", "sub", "mul", "truediv"):
    for _operator in (f"__{_name}__", f"__r{_name}__"):
        setattr(Halves, _operator, _beside_numbers(_operator))


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

        def on_bare(*args: Any, **kwargs: Any) -> Any:
            return halves(function(*[bare(a) for a in args], **{k: bare(v) for k, v in kwargs.items()}))

        self.__dict__[name] = on_bare
        return on_bare

    def fit(self, g: Any, shape: tuple[int, ...], dtype: np.dtype) -> Any:
        """A gradient with the shape and dtype of its input, a plain array."""
        return self._plain.fit(bare(g), shape, dtype)


half_ops = functools.cache(HalfOps)
"""`HalfOps` of an executor's operations, made once."""
