"""Half precision beside Python's numbers, in formulas of gradients: NumPy rounds the number to half precision first; torch computes in
float32 and rounds the result."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..annotations import Fn, Functions
from ..record import RECORDS, Record
from .kernels._on_demand import is_half
from .kernels.halves import FEW, SINGLE, narrow, signed, ufunc, widened
from .kernels.elementwise import with_number
from .kernels.pairs import halved
from .numpy import NumpyExecutor, half_kernel, of_one


_ndarray = np.ndarray


class Halves(np.ndarray):
    """A buffer of half precision whose products, quotients, sums and differences with numbers are those of float32, rounded once."""

    def __neg__(self) -> Any:
        return halves(signed(np.negative, self.view(np.ndarray)) if is_half(self.dtype) else np.negative(self.view(np.ndarray)))


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
        elif (other.__class__ is float or other.__class__ is int) and is_half(self.dtype):
            return halves(with_number(function, self.view(np.ndarray), other, swapped))
        if (other.__class__ is float or other.__class__ is int and abs(other) > 2048) and is_half(self.dtype):
            return halves(narrow(plain(widened(self.view(np.ndarray)), other), self.dtype))
        if isinstance(other, np.ndarray) and other.dtype == self.dtype and is_half(self.dtype):
            a, b = self.view(np.ndarray), other.view(np.ndarray)
            return halves(halved(function, b, a) if swapped else halved(function, a, b))
        return plain(self, other)

    return operator


for _name, _function in (("add", np.add), ("sub", np.subtract), ("mul", np.multiply), ("truediv", np.divide)):
    for _operator in (f"__{_name}__", f"__r{_name}__"):
        setattr(Halves, _operator, _beside_numbers(_operator, _function, _operator[2] == "r"))


def halves(value: Any) -> Any:
    """A buffer of half precision as `Halves`, everything else as it is."""
    if value.__class__ is _ndarray:
        return value.view(Halves) if value.dtype.char in "eE" else value
    if value.__class__ is Halves or not isinstance(value, np.generic) or not is_half(value.dtype):
        return value
    return np.asarray(value).view(Halves)


def bare(value: Any) -> Any:
    """What a kernel takes: `Halves` as the array that it is, also in a list."""
    if value.__class__ is Halves:
        whole = value.base  # whose own memory it is, and not a view, can be taken for a gradient
        if whole.__class__ is _ndarray and whole.shape == value.shape and whole.dtype is value.dtype and whole.strides == value.strides:
            return whole
        return value.view(_ndarray)
    if value.__class__ is list or value.__class__ is tuple:
        return type(value)([bare(v) for v in value])
    return value


def _own_kernel(rec: Record | None, plain: Functions) -> Fn | None:
    """The kernel that NumPy's executor has for half precision, where it takes arrays and numbers of which one is of half precision."""
    if rec is None or rec.saved_returns or not isinstance(getattr(plain, "executor", None), NumpyExecutor):
        return None
    return rec.field("half") if all([p.passed and not p.type.endswith("[]") for p in rec.params]) else None


def _of_one_half(values: Sequence[Any]) -> bool:
    """Whether arrays among these are of one half precision, or truth values."""
    half = None
    for v in values:
        if v.__class__ is _ndarray:
            dtype = v.dtype
            if dtype.char == "?":
                continue
            if half is not None and dtype is not half or not is_half(dtype):
                return False
            half = dtype
        elif isinstance(v, np.generic):
            return False
    return half is not None


class HalfOps:
    """An executor's operations `F` on buffers, which give `Halves`."""

    def __init__(self, F: Functions) -> None:
        self._plain = F

    def __getattr__(self, name: str) -> Fn:
        if name.startswith("__"):
            raise AttributeError(name)
        function = getattr(self._plain, name)
        rec = RECORDS.get(name)
        own = _own_kernel(rec, self._plain)
        kernel = function if rec is None or rec.field("many") is None else rec.field("numpy")
        if isinstance(kernel, np.ufunc):
            function = functools.partial(ufunc, kernel)
        elif rec is not None and of_one(rec) and isinstance(getattr(self._plain, "executor", None), NumpyExecutor):
            tabled, count = half_kernel(rec, rec.field("numpy")), sum([p.passed for p in rec.params]) - 1

            def by_table(x: Any, *how: Any, **named: Any) -> Any:
                x = bare(x)
                return halves(tabled(x, *how) if len(how) == count and x.__class__ is np.ndarray and is_half(x.dtype) else
                              function(x, *how, **named))

            self.__dict__[name] = by_table
            return by_table
        elif rec is not None and own is not None:
            taken = len(rec.params)

            def by_own(*args: Any, **kwargs: Any) -> Any:
                given = [bare(a) for a in args]
                return halves(own(*given) if len(given) == taken and _of_one_half(given) else function(*given, **kwargs))

            self.__dict__[name] = by_own
            return by_own

        def on_bare(*args: Any, **kwargs: Any) -> Any:
            arrays = [bare(a) if a.__class__ in _HOLDING else a for a in args]
            return halves(function(*arrays, **{k: bare(v) for k, v in kwargs.items()}) if kwargs else function(*arrays))

        self.__dict__[name] = on_bare
        return on_bare

    def fit(self, g: Any, shape: tuple[int, ...], dtype: np.dtype) -> Any:
        """A gradient with the shape and dtype of its input, a plain array."""
        g = bare(g)
        return g if g.dtype is dtype and g.shape == shape else self._plain.fit(g, shape, dtype)


_HOLDING = frozenset([Halves, list, tuple])
"""The classes of what `bare` makes something else of."""

half_ops: Fn = functools.cache(HalfOps)
"""`HalfOps` of an executor's operations, made once."""
