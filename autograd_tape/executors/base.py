"""The protocol of executors, and the table of which one serves which device.

Buffers are NumPy arrays everywhere: strides, views and in-place updates are our own. An executor whose kernels want memory of
their own kind takes and gives NumPy arrays at its border, without a copy where it can share memory.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ..annotations import Fn
from ..codegen import execute
from ..dtypes import DType, as_bits, converted
from ..errors import MissingKernelError
from ..record import Record, get_record
from ..tensor import above
from .kernels import folds, reduce

if TYPE_CHECKING:
    from ..tensor import TensorRef


_FEW, _BIG = 64, 1 << 18
"""Elements beyond which, and below which, one loop adds up what was broadcast: NumPy begins quicker, and many are shared among threads."""


class RawOps:
    """An executor's operations on buffers, `F.name(...)`: its kernel, or the composition, with the schema's defaults."""

    def __init__(self, executor: "Executor") -> None:
        self.executor = executor

    def __getattr__(self, name: str) -> Fn:
        if name.startswith("__"):
            raise AttributeError(name)
        rec = get_record(name)
        function = self.executor.raw_function(rec)
        if rec.saved_returns:
            function = _outputs_only(function, len(rec.returns))
        self.__dict__[name] = function
        return function

    def fit(self, g: np.ndarray, shape: tuple[int, ...], dtype: np.dtype) -> Any:
        """A gradient with the shape and dtype of its input: broadcasting undone, dtype restored."""
        if g.shape != shape:
            g = self.reduce_to_shape(g, shape)
        if g.dtype is not dtype:
            if g.dtype.__class__ is DType:  # a buffer whose numbers are its own business
                return g.astype(dtype, copy=False)
            if dtype.isbuiltin == 0 or g.dtype.isbuiltin == 0:
                return converted(g, dtype)
            g = np.asarray(g.real if g.dtype.kind == "c" and dtype.kind != "c" else g)
            if 0 in g.strides and g.size and dtype.itemsize == 2:  # each number once, and then its bits
                whole = np.empty(shape, dtype)
                as_bits(whole)[...] = as_bits(g[tuple([slice(None if step else 1) for step in g.strides])].astype(dtype))
                return whole
            g = g.astype(dtype)
        return g

    def reduce_to_shape(self, g: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
        """Sums over the dimensions that broadcasting added or stretched."""
        lead = g.ndim - len(shape)
        axes = tuple(range(lead)) + tuple([i + lead for i, n in enumerate(shape) if n == 1 and g.shape[i + lead] != 1])
        if axes:
            found = folds.fold(g, axes, True) if g.__class__ is np.ndarray and _FEW < g.size < _BIG and g.itemsize != 2 else None
            if found is None:
                found = np.add.reduce(g, axes, keepdims=True) if g.size <= reduce.RUN and g.itemsize != 2 else reduce.sum(g, axes, True)
            g = found
        return g.reshape(shape) if lead else g


def _wrapped(value: Any, dtype: np.dtype) -> Any:
    """An integer as a number of a dtype that does not hold it; what it holds, and everything else, as it is."""
    if value.__class__ is not int or np.iinfo(dtype).min <= value <= np.iinfo(dtype).max:
        return value
    return int(np.asarray(value).astype(dtype))


def _outputs_only(function: Fn, count: int) -> Fn:
    """`function` without what its kernel returns for the gradient only."""
    if count == 1:
        return lambda *args, **kwargs: function(*args, **kwargs)[0]
    return lambda *args, **kwargs: function(*args, **kwargs)[:count]


class Executor:
    """Carries out operations for one device type.

    Subclasses say which field of a record holds their kernels (`field`) and may translate it (`kernel`).
    """

    name = ""
    field = ""

    def __init__(self) -> None:
        self.F = RawOps(self)

    def kernel(self, rec: Record) -> Fn | None:
        """The kernel of an operation, called with the schema's parameters in order; None where there is none."""
        return rec.field(self.field)

    def status(self, rec: Record) -> str:
        """"native", "composite", "host" (NumPy's kernel by design, see `ops._host`) or "missing"."""
        if self.kernel(rec) is not None:
            return "native"
        compose = rec.field("compose")
        if compose is not None:
            return "host" if getattr(compose, "host", False) else "composite"
        return "missing" if rec.field("function") is None and rec.field("make") is None else "composite"

    def raw_function(self, rec: Record) -> Fn:
        """The operation on buffers, with the schema's defaults."""
        kernel = self.kernel(rec)
        if kernel is None:
            compose, F = rec.field("compose"), self.F
            if compose is None:
                raise MissingKernelError(f"The operation '{rec.name}' has no kernel and no composition on the {self.name} executor",
                                         expected=f"a field '{self.field}' or 'compose' in its record", found="neither",
                                         remedy=f"use another executor, or add one of them to {rec.module}")
            kernel = lambda *args: compose(F, *args)
        if isinstance(kernel, np.ufunc) and all(p.is_tensor for p in rec.params):
            return kernel
        # One flat frame with the schema's signature. Kernels written for float32 and float64 get half precision through `call`.

        passed = ", ".join(p.name for p in rec.params if p.passed)
        direct = f"kernel({passed})"
        body = f"    return call(rec, kernel, [{passed}])"
        first = rec.params[0] if rec.params else None
        call = self.caller(rec)
        if call is None or rec.quiet == "all" and rec.field("half") is None or rec.family in ("view", "view?"):
            body = f"    return {direct}"
        elif first is not None and first.type == "Tensor":
            body = f"    if {first.name}.dtype.itemsize != 2: return {direct}\n{body}"
        elif rec.quiet == "all":
            halves = " or ".join([f'{p.name}.__class__ is ndarray and {p.name}.dtype.char in "eE"' for p in rec.params if p.is_tensor])
            body = f"    if not ({halves}):\n        try: return {direct}\n        except TypeError: pass\n{body}"
        text = f"def {rec.name}({rec.signature()}):\n{body}\n"
        namespace = {"kernel": kernel, "call": call, "rec": rec, "inf": float("inf"), "ndarray": np.ndarray}
        return execute(text, rec.name, f"<{rec.name}: raw, {self.name}>", namespace)

    def call(self, rec: Record, kernel: Fn, values: list[Any]) -> Any:
        """Calls a kernel."""
        return kernel(*values)

    def caller(self, rec: Record) -> Callable[[Record, Fn, list[Any]], Any] | None:
        """What calls the kernel of an operation; None where that is all there is to be done."""
        return None if type(self).call is Executor.call else self.call

    def run(self, rec: Record, arrays: dict[str, Any]) -> Any:
        """Carries out an operation on kernel arguments by name (dtype parameters already applied and left out)."""
        defaults = rec.defaults
        function = self.raw_function(rec) if rec.saved_returns else self.raw_function_cached(rec)
        values = [arrays.get(p.name, defaults.get(p.name)) for p in rec.params if not p.keyword_only]
        keywords = {p.name: arrays.get(p.name, defaults.get(p.name)) for p in rec.params if p.keyword_only}
        try:
            return function(*values, **keywords)
        except OverflowError:  # as NumPy 2 says of a number out of an integer's range, which torch wraps around
            dtype = next((v.dtype for v in values if isinstance(v, np.ndarray) and v.dtype.kind in "iu"), None)
            if dtype is None:
                raise
            return function(*[_wrapped(v, dtype) for v in values], **{k: _wrapped(v, dtype) for k, v in keywords.items()})

    def raw_function_cached(self, rec: Record) -> Fn:
        """`raw_function`, looked up once per operation."""
        function = self.F.__dict__.get(rec.name)
        return getattr(self.F, rec.name) if function is None else function


    def bind(self, ref: TensorRef, array: np.ndarray | list[float | list[int]]) -> Any:
        """Gives a tensor declared by shape and dtype its data; see `autograd_tape.lazy.bind`."""
        return above.bind(ref, array)

    def evaluate(self, ref: object) -> np.ndarray:
        """The data of a tensor, computed here if nobody has asked for it before; see `autograd_tape.lazy.evaluate`."""
        return above.evaluate(ref, self)
