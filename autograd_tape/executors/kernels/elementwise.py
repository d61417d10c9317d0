"""Element-wise functions, fused into one pass over memory: ``f(x)`` and its vjp ``f_backward(grad, saved)``.

``tanh`` and ``sigmoid`` have their vjps in terms of the result, the others in terms of the input.  Inputs are NumPy
arrays of any strides; float32 and float64 compute in their own precision, float16 and bfloat16 in float32 (the result
has the input's dtype).  Results are new arrays that keep the order of the input's axes in memory, as in torch; a 0-d
input gives a 0-d array.

Sources: gelu, Hendrycks and Gimpel (arXiv:1606.08415); silu, Elfwing et al. (arXiv:1702.03118); erf without Numba,
Cody, "Rational Chebyshev approximations for the error function", Math. Comp. 23 (1969).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache, partial, wraps
from math import prod
from typing import Any

import numpy as np

from ...annotations import Fn
from ._on_demand import _NEVER, LazyModule, contiguous, keep, state
from .halves import bits, compute_array, narrow, widened
from .handy import Exact, Handy, Run
from .select import choose
from .sharing import dense, share_elements
from ...warned import ignoring

__all__ = [
    "ABOVE",
    "BOUNDED",
    "difference_vjp",
    "erf",
    "erf_backward",
    "exp",
    "gelu",
    "gated",
    "gated_backward",
    "gelu_backward",
    "of_integers",
    "erf_of_lanes",
    "erfc_of_lanes",
    "one_pass",
    "one_pass_vjp",
    "same",
    "sigmoid",
    "sigmoid_backward",
    "silu",
    "silu_backward",
    "softplus",
    "softplus_backward",
    "spread",
    "takes_half",
    "tanh",
    "tanh_backward",
    "threshold_backward",
    "with_number",
]

_compiled = LazyModule("elementwise")
_SQRT1_2 = 0.7071067811865476
_SQRT1_2PI = 0.3989422804014327
_SQRT2_PI = 0.7978845608028654
_CUBIC = 0.044715
FEW = 256  # elements up to which a Python loop over libm's erf is quicker than NumPy's passes


def _computed(x: np.ndarray) -> np.ndarray:
    """``x`` as a dense array of a dtype that kernels have."""
    return dense(x if x.dtype.char in "eE" and x.dtype.isnative else compute_array(x))


_handy = cache(partial(Handy, "elementwise"))


def _run1(name: str, x: np.ndarray, a: float = 0.0, b: float = 0.0) -> np.ndarray:
    """The compiled kernel of that ``name`` over all of ``x``, at once where that is possible, or sliced over the pool."""
    if x.size <= _ALONE and x.flags.forc and x.dtype.char in "fdeE":
        result = _at_once(_handy(name), (a, b), x)
        if result is not None:
            return result
    c = _computed(x)
    y = np.empty_like(c)
    share_elements(getattr(_compiled, name), c.dtype.char, c.size, bits(c), bits(y), a, b)
    return y if x.dtype == y.dtype else y.astype(x.dtype)


def _run2(name: str, grad: np.ndarray, x: np.ndarray, a: float = 0.0, b: float = 0.0) -> np.ndarray:
    """The compiled vjp of that ``name`` over ``grad``, in whose order the result lies, and the saved ``x`` of the same shape."""
    if x.size <= _ALONE and x.dtype.char in "fdeE" and x.dtype == grad.dtype and x.shape == grad.shape:
        result = _at_once(_handy(name), (a, b), x, grad)
        if result is not None:
            return result
    c, g = _computed(x), grad
    if g.strides != c.strides and g.dtype == c.dtype and g.flags.forc and g.flags.aligned:
        c = spread(c, g)
    dx = np.empty_like(c)
    if g.dtype != c.dtype or g.strides != dx.strides or not g.flags.aligned:
        g = np.empty_like(c)
        g[...] = grad
    share_elements(getattr(_compiled, name), c.dtype.char, c.size, bits(g), bits(c), bits(dx), a, b)
    return dx if x.dtype == dx.dtype else dx.astype(x.dtype)


def _enough(x: np.ndarray) -> int:
    """From how many elements on functions of many passes are compiled: from fewer of half precision, which NumPy converts one by one."""
    return state.fused if x.itemsize != 2 else state.half


_PADDING: tuple[tuple[float, ...], ...] = ((0.0, 0.0), (0.0,), ())  # of a kernel's two numbers, by how many are given
_ALONE = 32768  # elements that are not shared
_MOST = 64  # arguments of which a kernel's numbers are kept
#: Elements of half precision up to which machine code takes less time than a table, of what is simple and of what is not.
_TABLED, _SPARED = 256, 64


def _at_once(at_hand: Handy, given: tuple[float, ...], x: np.ndarray, grad: np.ndarray | None = None) -> np.ndarray | None:
    """The function over ``x`` by machine code that is at hand, or its vjp over ``grad``, too, of the same shape and dtype; None where there
    is none, or arrays of a vjp lie neither in rows nor in columns."""
    n, dtype, lies = x.size, x.dtype, x.flags.carray
    if not lies:  # columns are rows of the transposed
        x, grad = x.T, None if grad is None else grad.T
        if not x.flags.carray:
            if grad is not None or n > _ALONE or not x.flags.behaved:
                return None
            x = dense(x.T)
            return _at_once(at_hand, given, x) if x.flags.carray or x.T.flags.carray else None
    if n > _ALONE or (run := at_hand.of(dtype.char, n)) is None or not dtype.isnative:
        return None
    y = np.empty(x.shape, dtype)
    if grad is None:
        if given:
            run(n, 1, x, y, *given, *_PADDING[len(given)])
        else:  # spreading nothing takes as long as a few numbers
            run(n, 1, x, y, 0.0, 0.0)
    elif grad.flags.carray:
        run(n, 1, grad, x, y, *given, *_PADDING[len(given)])
    else:
        return None
    return y if lies else y.T


def takes_half(kernel: Fn) -> Fn:
    """Marks a record's kernel that takes half precision as it is."""
    kernel.takes_half = True  # type: ignore[attr-defined]
    return kernel


EXACT: list[tuple[str, Fn, Fn]] = []
"""What machine code serves few elements of: the name, the formula, and what runs the machine code, or gives None."""


def one_pass(
    name: str, numbers: Callable[..., tuple[float, ...] | None] | None = None, exact: bool = False, simple: bool = False,
    cheap: bool = False,
) -> Callable[[Fn], Fn]:
    """Decorator of a record's kernel ``formula(x, ...)`` for float32 and float64, which makes it one of half precision, too: of few
    elements it is the formula, of many the compiled function of that ``name``, with the numbers that ``numbers(...)`` makes of the other
    arguments, or the formula where that gives None. Where both give the same bits, ``exact``, machine code that is at hand serves few
    elements, too. What is exact, or ``simple``, takes less time for a number than to look it up in a table. What is ``cheap`` is one pass
    of NumPy's, and compiled for more elements only."""
    at_hand, always = _handy(name), not exact
    ready = at_hand.at_hand
    #: By the other arguments, among which is no zero, of which keys see no sign: the kernel's two numbers.
    known: dict[tuple[Any, ...], tuple[float, ...]] = {}

    def given_by(options: tuple[Any, ...]) -> tuple[float, ...] | None:
        given: tuple[float, ...] | None = options if numbers is None else numbers(*options)
        if given is None:
            return None
        found = (*given, *_PADDING[len(given)])
        if 0 not in options:
            keep(known, options, found, _MOST)
        return found

    def decorate(formula: Fn) -> Fn:
        if exact:
            EXACT.append((name, formula, lambda x, *options: _at_once(at_hand, options if numbers is None else numbers(*options) or (), x)))

        @wraps(formula)
        def kernel(x: np.ndarray, *options: Any) -> np.ndarray:
            dtype, n = x.dtype, x.size
            if (run := ready.get(dtype.char)) is not None and n <= _ALONE and dtype.isnative and state.fused != _NEVER and (
                    exact or n >= (state.fused if dtype.itemsize != 2 else state.half)):  # as below, by one frame
                rows = x if (lies := x.flags.carray) else x.T
                if (lies or rows.flags.carray) and (given := known.get(options) or given_by(options)) is not None:
                    y, (a, b) = np.empty(rows.shape, dtype), given
                    run(n, 1, rows, y, a, b)
                    return y if lies else y.T
            if always and x.size < state.fused and x.itemsize != 2:
                return formula(x, *options)
            char = x.dtype.char
            if char not in "fdeE":
                return formula(x, *options)
            if exact or x.size >= _enough(x):
                given = options if numbers is None else numbers(*options)
                if given is not None:
                    result = _at_once(at_hand, given, x)
                    if result is not None:
                        return result
                    if x.size >= (state.cheap if cheap and x.itemsize != 2 else _enough(x)):
                        return _run1(name, x, *map(float, given))
            if char in "eE":
                return narrow(formula(widened(x), *options), x.dtype)
            return formula(x, *options)

        def by(char: str, n: int, *options: Any) -> tuple[Run, float, float] | None:
            if (run := ready.get(char)) is None or state.fused == _NEVER or not exact and n < state.half:
                return None
            given = given_by(options)
            return None if given is None else (run, given[0], given[1])

        kernel.by = by  # type: ignore[attr-defined]
        kernel.simple = exact or simple  # type: ignore[attr-defined]
        kernel.at_once = _TABLED if exact or simple else _SPARED  # type: ignore[attr-defined]
        return takes_half(kernel)

    return decorate


def one_pass_vjp(
    name: str, numbers: Callable[..., tuple[float, ...] | None] | None = None, exact: bool = False
) -> Callable[[Fn], Fn]:
    """The same for a record's kernel ``formula(grad, saved, ...)`` or its ``vjp(F, grad, saved, ...)``, where arrays have one shape and
    dtype."""
    at_hand = _handy(name)

    def decorate(formula: Fn) -> Fn:
        if exact:
            EXACT.append((name, formula, lambda g, x, *options: _at_once(
                at_hand, options if numbers is None else numbers(*options) or (), x, g)))

        def compiled(grad: np.ndarray, x: np.ndarray, options: tuple[Any, ...]) -> np.ndarray | None:
            if grad.dtype.char not in "fdeE" or (
                    few := grad.size < _enough(grad)) and not exact or (
                    x.shape != grad.shape or x.dtype != grad.dtype):
                return None
            given = options if numbers is None else numbers(*options)
            if given is None:
                return None
            grad, x = grad.view(np.ndarray), x.view(np.ndarray)
            result = _at_once(at_hand, given, x, grad)
            return result if result is not None or few else _run2(name, grad, x, *map(float, given))

        def in_order(grad: np.ndarray, x: np.ndarray) -> np.ndarray:
            """What was saved, lying as the cotangent does, and so will the result."""
            alike = x.strides == grad.strides or x.shape != grad.shape or x.dtype is not grad.dtype or not grad.flags.forc
            return x if alike else spread(x, grad)

        @wraps(formula)
        def vjp(F: Any, grad: Any, x: Any, *options: Any) -> Any:
            result = compiled(grad, in_order(grad, x), options) if isinstance(grad, np.ndarray) else None
            return formula(F, grad, x, *options) if result is None else result

        @wraps(formula)
        def kernel(grad: np.ndarray, x: np.ndarray, *options: Any) -> np.ndarray:
            x = in_order(grad, x)
            result = compiled(grad, x, options)
            if result is None and grad.dtype == x.dtype and grad.dtype.char in "eE":
                return narrow(formula(widened(grad), widened(x), *options), grad.dtype)
            return formula(grad, x, *options) if result is None else result

        return vjp if formula.__code__.co_varnames[0] == "F" else takes_half(kernel)

    return decorate


WITH_NUMBER = {(np.add, False): "plus", (np.add, True): "plus", (np.subtract, False): "less", (np.subtract, True): "from_number",
                (np.multiply, False): "times", (np.multiply, True): "times", (np.divide, False): "over", (np.divide, True): "under"}


_numbers = {name: _handy(name) for name in set(WITH_NUMBER.values())}


def with_number(function: np.ufunc, x: np.ndarray, number: float, swapped: bool) -> np.ndarray:
    """Arithmetic of half precision and a number of single precision, rounded once; of the number and the array if `swapped`."""
    name = WITH_NUMBER[function, swapped]
    if (result := _at_once(_numbers[name], (float(number),), x)) is not None:
        return result
    if x.size >= _enough(x) and x.dtype.isnative and x.flags.forc:
        return _run1(name, x, float(number))
    wide = widened(x)
    return narrow(function(np.float32(number), wide) if swapped else function(wide, np.float32(number)), x.dtype)


#: Gradients of losses of differences x - t, and of the larger and the smaller of the two, by what `difference_backward` calls them.
HUBER, SMOOTH, SQUARE, ENTROPY, LOGITS, LARGER, SMALLER = range(7)  # of many numbers alone, LOGITS
_difference = Handy("elementwise", "difference_backward")


def difference_vjp(kind: int, number: Callable[..., float] = lambda *options: 1.0) -> Callable[[Fn], Fn]:
    """Decorator of a ``vjp(F, grad, x, t, share, ...)`` in one pass over arrays of one shape and dtype, by a kernel with the formula's
    bits, of which ``grad`` may be one number; `share` is what each element counts in the loss, or for `ENTROPY` and `LOGITS` by how many
    it is divided, and `number(...)` makes the kernel's other number of the other arguments. Of the larger or the smaller, which have no
    `share`, ``x`` and ``t`` may be broadcast."""

    def decorate(formula: Fn) -> Fn:
        @wraps(formula)
        def vjp(F: Any, grad: Any, x: Any, t: Any, *options: Any) -> Any:
            if isinstance(x, np.ndarray) and isinstance(grad, np.ndarray) and isinstance(t, np.ndarray):
                share, *others = options or (1.0,)
                found = _slopes(kind, grad, x, t, share, float(number(*others)))
                if found is not None:
                    return found
            return formula(F, grad, x, t, *options)

        return vjp

    return decorate


def _slopes(kind: int, grad: np.ndarray, x: np.ndarray, t: np.ndarray, share: float, number: float) -> np.ndarray | None:
    """The gradient for ``x`` of such a loss; None where it is NumPy's."""
    grad, x, t = grad.view(np.ndarray), x.view(np.ndarray), t.view(np.ndarray)
    if kind >= LARGER and grad.flags.forc and x.dtype is grad.dtype is t.dtype:
        x, t = [v if v.shape == grad.shape else spread(v, grad) for v in (x, t)]
    char, n = x.dtype.char, x.size
    if not n or char not in "fdeE" or not x.dtype.isnative or t.dtype != x.dtype or grad.dtype != x.dtype or t.shape != x.shape or (
            grad.ndim and grad.shape != x.shape) or not x.flags.forc or not x.flags.aligned:
        return None
    run = _difference.surely(char) if n >= _enough(x) else None if kind == LOGITS else _difference.of(char, n)
    if run is None:
        return None
    if t.strides != x.strides or not t.flags.aligned:
        if kind < ENTROPY:  # whose gradients lie in rows
            x = contiguous(x)
        t = spread(t, x)
    if n > 1 and not any([step for size, step in zip(grad.shape, grad.strides) if size > 1]):
        g = grad[(slice(0, 1),) * grad.ndim].copy() if grad.ndim else grad
    else:
        g = grad if grad.strides == x.strides and grad.flags.aligned else spread(grad, x)
    dx = np.empty_like(x)
    arrays = bits(g), bits(x), bits(t), bits(dx), kind, number, share
    if n < _ALONE:
        run(n, 1, *arrays)
    else:
        share_elements(_compiled.difference_backward, char, n, *arrays)
    return dx if kind >= ENTROPY else contiguous(dx)  # torch lays the others out in rows


def spread(a: np.ndarray, x: np.ndarray) -> np.ndarray:
    """``a`` as large as ``x`` and lying in memory as that does; a copy where it did not."""
    if a.size >= state.cheap and a.shape == x.shape and a.dtype is x.dtype and x.flags.forc:  # which tiles turn
        return contiguous(a) if x.flags.c_contiguous else contiguous(a.T).T
    out = np.empty_like(x)
    if a.dtype is x.dtype and x.itemsize == 2:  # which NumPy moves as bits, and not number by number
        out.view(np.uint16)[...] = a.view(np.uint16)
    else:
        out[...] = a
    return out


_same = Handy("elementwise", "same")


def same(x: np.ndarray, z: np.ndarray) -> bool | None:
    """Whether two arrays of one shape and dtype have the same elements; None where NumPy is to find out."""
    char, n = x.dtype.char, x.size
    run = _same.of("B" if char == "?" else char, n)
    if run is None:
        return None
    found = np.empty(1, bool)
    try:
        run(n, 1, x, z, found)
    except TypeError:  # memory that does not lie in rows, or is not aligned
        return None
    result: bool = found.item()
    return result


def _in_columns(x: np.ndarray) -> bool:
    """Whether the elements lie in rows of the transposed, and not of the array."""
    return x.ndim > 1 and x.flags.f_contiguous and not x.flags.c_contiguous


def _composed(x: np.ndarray, formula: Callable[[Any], Any]) -> np.ndarray:
    """``formula`` over ``x`` in its compute precision, with overflow to infinity in silence as everywhere in torch."""
    if _in_columns(x):
        return _composed(x.T, formula).T
    c = compute_array(x)
    with ignoring():
        return np.asarray(formula(c), x.dtype)


def _composed2(grad: np.ndarray, x: np.ndarray, formula: Callable[[Any, Any], Any]) -> np.ndarray:
    if _in_columns(x) and _in_columns(grad):
        return _composed2(grad.T, x.T, formula).T
    c = compute_array(x)
    with ignoring():
        return np.asarray(formula(grad.astype(c.dtype, copy=False), c), x.dtype)


def exp(x: np.ndarray) -> np.ndarray:
    """e to the power ``x``.

    >>> exp(np.array([0.0, 1.0]))
    array([1.        , 2.71828183])
    """
    if x.size >= state.cheap:
        return _run1("exp", x)
    return _composed(x, np.exp)


def tanh(x: np.ndarray) -> np.ndarray:
    """Hyperbolic tangent.

    >>> tanh(np.array([0.0, 1.0]))
    array([0.        , 0.76159416])
    """
    if x.size >= state.cheap:
        return _run1("tanh", x)
    return _composed(x, np.tanh)


def tanh_backward(grad: np.ndarray, y: np.ndarray) -> np.ndarray:
    """``grad * (1 - y**2)`` for ``y = tanh(x)``."""
    if y.size >= state.cheap:
        return _run2("tanh_backward", grad, y)
    return _composed2(grad, y, lambda g, y: g * (1 - y * y))


#: What brings integers into bounds, and what puts a value in the place of those that are not above a threshold.
BOUNDED, ABOVE = Exact("arithmetic", "clamp_whole"), Exact("arithmetic", "threshold_whole")


def of_integers(kernel: Exact, x: np.ndarray, a: int, b: int) -> np.ndarray | None:
    """A function of int64 and two numbers by machine code, in rows or columns; None where NumPy is to compute it."""
    rows = x if x.flags.c_contiguous else x.T
    if x.dtype.char != "l" or not rows.flags.carray or (run := kernel.over("l", rows.size, state.cheap)) is None:
        return None
    out = np.empty(rows.shape, rows.dtype)
    run(rows.size, 1, rows, out, a, b)
    return out if rows is x else out.T


_gated, _gated_backward = Exact("elementwise", "gated"), Exact("elementwise", "gated_backward")


def gated(x: np.ndarray, axis: int) -> np.ndarray | None:
    """The first half of an axis times the sigmoid of the second, in rows; None where NumPy is to compute it."""
    size, char = x.size >> 1, x.dtype.char
    if size < _enough(x) or char not in "fdeE" or not x.flags.carray or (run := _gated.over(char, size, 1)) is None:
        return None
    out = np.empty((*x.shape[:axis], x.shape[axis] >> 1, *x.shape[axis + 1 :]), x.dtype)
    run(size, 1, x, out, prod(out.shape[axis:]))
    return out


def gated_backward(grad: np.ndarray, x: np.ndarray, axis: int) -> np.ndarray | None:
    """The gradient of that."""
    char = x.dtype.char
    if grad.size < _enough(x) or char not in "fdeE" or grad.dtype != x.dtype or not x.flags.carray or (
            run := _gated_backward.over(char, grad.size, 1)) is None:
        return None
    out = np.empty(x.shape, x.dtype)
    run(grad.size, 1, contiguous(grad), x, out, x.size // prod(x.shape[:axis]) >> 1)
    return out


def threshold_backward(grad: np.ndarray, x: np.ndarray, threshold: float) -> np.ndarray:
    """``grad`` where ``x > threshold`` or ``x`` is NaN, else zero.

    >>> threshold_backward(np.ones(3), np.array([-1.0, 0.0, 2.0]), 0)
    array([0., 0., 1.])
    """
    if x.size >= _enough(x) and x.shape == grad.shape and x.dtype == grad.dtype and x.dtype.char in "fdeE":
        return _run2("threshold_backward", grad, x, float(threshold))
    return np.where(x <= threshold, grad.dtype.type(0), grad)


@one_pass("sigmoid")
def sigmoid(x: np.ndarray) -> np.ndarray:
    """``1 / (1 + exp(-x))``.

    >>> sigmoid(np.array([-1000.0, 0.0, 1000.0]))
    array([0. , 0.5, 1. ])
    """
    return _composed(x, lambda x: 1 / (1 + np.exp(-x)))


def sigmoid_backward(grad: np.ndarray, y: np.ndarray) -> np.ndarray:
    """``grad * (1 - y) * y`` for ``y = sigmoid(x)``."""
    if y.size >= state.cheap:
        return _run2("sigmoid_backward", grad, y)
    return _composed2(grad, y, lambda g, y: g * (1 - y) * y)


@one_pass("silu")
def silu(x: np.ndarray) -> np.ndarray:
    """``x * sigmoid(x)``.

    >>> silu(np.array([0.0, 1.0]))
    array([0.        , 0.73105858])
    """
    return _composed(x, lambda x: x / (1 + np.exp(-x)))


def silu_backward(grad: np.ndarray, x: np.ndarray) -> np.ndarray:
    """``grad * s * (1 + x * (1 - s))`` with ``s = sigmoid(x)``."""
    if x.size >= _enough(x):
        return _run2("silu_backward", grad, x)

    def formula(g: np.ndarray, x: np.ndarray) -> np.ndarray:
        s = 1 / (1 + np.exp(-x))
        return g * s * (1 + x * (1 - s))

    return _composed2(grad, x, formula)


@one_pass("erf")
def erf(x: np.ndarray) -> np.ndarray:
    """The error function.

    >>> erf(np.array([0.0, 1.0]))
    array([0.        , 0.84270079])
    """
    return _composed(x, _erf)


def erf_backward(grad: np.ndarray, x: np.ndarray) -> np.ndarray:
    """``grad * 2 / sqrt(pi) * exp(-x**2)``."""
    if x.size >= _enough(x):
        return _run2("erf_backward", grad, x)
    return _composed2(grad, x, lambda g, x: g * x.dtype.type(1.1283791670955126) * np.exp(-(x * x)))


def gelu(x: np.ndarray, approximate: str = "none") -> np.ndarray:
    """``x * Phi(x)``, Phi the normal distribution function; with ``approximate="tanh"`` its tanh approximation.

    >>> gelu(np.array([0.0, 1.0]))
    array([0.        , 0.84134475])
    """
    tanh_form = approximate != "none" and _is_tanh(approximate)
    if x.size >= _enough(x):
        return _run1("gelu_tanh" if tanh_form else "gelu", x)
    if tanh_form:

        def formula(x: np.ndarray) -> np.ndarray:
            T = x.dtype.type
            return T(0.5) * x * (1 + np.tanh(T(_SQRT2_PI) * (x + T(_CUBIC) * x * x * x)))

        return _composed(x, formula)
    return _composed(x, lambda x: x.dtype.type(0.5) * x * (1 + erf_for_gelu(x * x.dtype.type(_SQRT1_2))))


def gelu_backward(grad: np.ndarray, x: np.ndarray, approximate: str = "none") -> np.ndarray:
    """``grad * (Phi(x) + x * phi(x))``, or the derivative of the tanh form."""
    tanh_form = _is_tanh(approximate)
    if x.size >= _enough(x):
        return _run2("gelu_tanh_backward" if tanh_form else "gelu_backward", grad, x)

    def exact(g: np.ndarray, x: np.ndarray) -> np.ndarray:
        T = x.dtype.type
        cdf = T(0.5) * (1 + erf_for_gelu(x * T(_SQRT1_2)))
        return g * (cdf + x * (T(_SQRT1_2PI) * np.exp(T(-0.5) * x * x)))

    def approximation(g: np.ndarray, x: np.ndarray) -> np.ndarray:
        T = x.dtype.type
        t = np.tanh(T(_SQRT2_PI) * (x + T(_CUBIC) * x * x * x))
        inner = T(_SQRT2_PI) * (1 + T(3 * _CUBIC) * x * x)
        return g * (T(0.5) * (1 + t) + T(0.5) * x * (1 - t * t) * inner)

    return _composed2(grad, x, approximation if tanh_form else exact)


def _is_tanh(approximate: str) -> bool:
    if approximate == "tanh":
        return True
    if approximate != "none":
        raise RuntimeError("approximate argument must be either none or tanh.")
    return False


def softplus(x: np.ndarray, beta: float = 1.0, threshold: float = 20.0) -> np.ndarray:
    """``log(1 + exp(beta * x)) / beta``, and ``x`` itself where ``beta * x > threshold``.

    >>> softplus(np.array([0.0, 30.0]))
    array([ 0.69314718, 30.        ])
    """
    if x.size >= _enough(x):
        return _run1("softplus", x, float(beta), float(threshold))

    def formula(x: np.ndarray) -> np.ndarray:
        z = x * x.dtype.type(beta)
        return np.where(z > threshold, x, np.log1p(np.exp(np.minimum(z, threshold))) / x.dtype.type(beta))

    return _composed(x, formula)


def softplus_backward(grad: np.ndarray, x: np.ndarray, beta: float = 1.0, threshold: float = 20.0) -> np.ndarray:
    """``grad * sigmoid(beta * x)``, and ``grad`` where ``beta * x > threshold``."""
    if x.size >= _enough(x):
        return _run2("softplus_backward", grad, x, float(beta), float(threshold))

    def formula(g: np.ndarray, x: np.ndarray) -> np.ndarray:
        z = x * x.dtype.type(beta)
        return np.where(z > threshold, g, g / (1 + np.exp(-z)))

    return _composed2(grad, x, formula)


# Cody's three rational approximations, each with its numerator and denominator from the highest power down.
_NEAR_P = (
    1.85777706184603153e-1,
    3.16112374387056560e0,
    1.13864154151050156e2,
    3.77485237685302021e2,
    3.20937758913846947e3,
)
_NEAR_Q = (1.0, 2.36012909523441209e1, 2.44024637934444173e2, 1.28261652607737228e3, 2.84423683343917062e3)
_MID_P = (
    *(2.15311535474403846e-8, 5.64188496988670089e-1, 8.88314979438837594e0, 6.61191906371416295e1),
    *(
        2.98635138197400131e2,
        8.81952221241769090e2,
        1.71204761263407058e3,
        2.05107837782607147e3,
        1.23033935479799725e3,
    ),
)
_MID_Q = (
    *(1.0, 1.57449261107098347e1, 1.17693950891312499e2, 5.37181101862009858e2, 1.62138957456669019e3),
    *(3.29079923573345963e3, 4.36261909014324716e3, 3.43936767414372164e3, 1.23033935480374942e3),
)
_FAR_P = (
    *(1.63153871373020978e-2, 3.05326634961232344e-1, 3.60344899949804439e-1),
    *(1.25781726111229246e-1, 1.60837851487422766e-2, 6.58749161529837803e-4),
)
_FAR_Q = (
    *(1.0, 2.56852019228982242e0, 1.87295284992346725e0),
    *(5.27905102951428412e-1, 6.05183413124413191e-2, 2.33520497626869185e-3),
)
_SQRT1_PI = 0.5641895835477563
#: erfc(x) exp(x**2) up to 4, numerator and denominator, and beyond: 1 / sqrt(pi) less z times the other two at z = 1 / x**2, over x.
COMPLEMENT = _MID_P, _MID_Q, _FAR_P, _FAR_Q


def _ratio(p: tuple[object, ...], q: tuple[object, ...], x: np.ndarray) -> np.ndarray:
    top, bottom = x * p[0], x * q[0]
    for a, b in zip(p[1:-1], q[1:-1], strict=True):
        top += a
        top *= x
        bottom += b
        bottom *= x
    top += p[-1]
    bottom += q[-1]
    return top / bottom


def _erfc_tail(a: np.ndarray) -> np.ndarray:
    """erfc for float64 ``a > 0.46875``; exp(-a*a) from two exact factors, since a*a alone would lose digits."""
    mid = a <= 4.0
    result = np.empty_like(a)
    y = a[mid]
    result[mid] = _ratio(_MID_P, _MID_Q, y)
    y = np.minimum(a[~mid], 30.0)  # erfc(30) underflows already
    z = 1 / (y * y)
    result[~mid] = (_SQRT1_PI - z * _ratio(_FAR_P, _FAR_Q, z)) / y
    a = np.minimum(a, 30.0)
    coarse = np.trunc(a * 16) / 16
    return result * np.exp(-coarse * coarse) * np.exp(-(a - coarse) * (a + coarse))


def _split(x: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Float64 ``x`` and ``|x|``, where ``|x|`` is small, and where it is not (NaN is in neither)."""
    x = np.asarray(x, np.float64)
    a = np.abs(x)
    return x, a, a <= 0.46875, a > 0.46875


def _constants(*values: float) -> tuple[np.ndarray, ...]:
    """Float32 coefficients as 0-d arrays, which ufuncs take faster than Python floats."""
    return tuple(np.array(v, np.float32) for v in values)


# The compiled kernels' fit for float32, x P(x**2) / Q(x**2), from the highest power down: a quarter of Cody's passes.
_SINGLE_P = _constants(
    2.025901526789212e-06,
    0.0002846881947866171,
    0.0038081887937412916,
    0.052875532554591105,
    0.1915509640038858,
    1.1283791437483497,
)
_SINGLE_Q = _constants(
    3.7831757133105266e-05, 0.0011707320319961794, 0.015055145392882061, 0.11455989313413738, 0.5030902975283063, 1.0
)
_SINGLE_LIMIT = np.array(3.92, np.float32)  # erf rounds to 1 from here on


def _erf_single(x: np.ndarray) -> np.ndarray:
    c = np.minimum(np.maximum(x, -_SINGLE_LIMIT), _SINGLE_LIMIT)
    result = _ratio(_SINGLE_P, _SINGLE_Q, c * c)
    result *= c
    ones = np.abs(c) == _SINGLE_LIMIT
    if ones.any():
        np.copysign(np.float32(1), c, out=result, where=ones)
    return result


def _erf_each(x: np.ndarray) -> np.ndarray:
    """erf of a few numbers one by one, in a fraction of the time of the passes below."""
    order: Any = "C" if x.flags.c_contiguous else "F"
    return np.fromiter(map(math.erf, x.ravel(order).tolist()), x.dtype, x.size).reshape(x.shape, order=order)


def erf_for_gelu(x: np.ndarray) -> np.ndarray:
    """erf to 5e-7 for float32, where gelu's own rounding is of that size, and to full precision for float64."""
    if x.size <= FEW and x.flags.forc:
        return _erf_each(x)
    if x.dtype != np.float32:
        return _erf(x)
    return _by_blocks(_erf_single, x, 2 * _BLOCK) if x.flags.forc else _erf_single(x)


def _erf(x: np.ndarray) -> np.ndarray:
    dtype = x.dtype
    if x.size <= FEW and x.flags.forc and x.dtype.kind == "f":
        return _erf_each(x)
    if not x.flags.forc or dtype.char not in "fd":
        return erf_of_lanes(x).astype(dtype, copy=False)
    return _by_blocks(_erf_rounded if dtype.char == "f" else erf_of_lanes, x, _BLOCK)


_BLOCK = 8192  # numbers of which all that they become in double precision stays in the cache


def _by_blocks(run: Callable[[np.ndarray], np.ndarray], x: np.ndarray, block: int) -> np.ndarray:
    """A function of flat numbers, of many passes, over a dense array, block by block."""
    out = np.empty_like(x)
    flat, into = x.ravel("K"), out.ravel("K")
    for start in range(0, x.size, block):
        into[start : start + block] = run(flat[start : start + block])
    return out


def _erf_rounded(x: np.ndarray) -> np.ndarray:
    """erf of flat float32 in double precision, rounded to 1 from 4 on. Both ranges of all numbers take less than choosing them first."""
    x = x.astype(np.float64)
    a, c = np.abs(x), np.minimum(np.maximum(x, -1.0), 1.0)
    near, far = c * _ratio(_NEAR_P, _NEAR_Q, c * c), np.minimum(np.maximum(a, 0.46875), 4.0)
    coarse = np.trunc(far * 16) / 16
    tail = _ratio(_MID_P, _MID_Q, far) * np.exp(-coarse * coarse) * np.exp(-(far - coarse) * (far + coarse))
    far = np.copysign(1 - tail, x)
    choose(a <= 0.46875, near, far, a)
    return a


def erf_of_lanes(x: np.ndarray) -> np.ndarray:
    """erf in double precision, by Cody's three ranges."""
    x, a, near, far = _split(x)
    result = x.copy(order="K")  # NaN passes through
    y = x[near]
    result[near] = y * _ratio(_NEAR_P, _NEAR_Q, y * y)
    result[far] = np.copysign(1 - _erfc_tail(a[far]), x[far])
    return result


def erfc_of_lanes(x: np.ndarray) -> np.ndarray:
    """1 - erf without cancellation for large ``x``, in double precision.

    >>> erfc_of_lanes(np.array([0.0, 10.0]))
    array([1.00000000e+00, 2.08848758e-45])
    """
    x, a, near, far = _split(x)
    result = x.copy(order="K")
    y = x[near]
    result[near] = 1 - y * _ratio(_NEAR_P, _NEAR_Q, y * y)
    tail = _erfc_tail(a[far])
    result[far] = np.where(x[far] < 0, 2 - tail, tail)
    return result
