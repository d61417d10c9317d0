"""Element-wise functions that are written once, for one number, and run over arrays of any size and layout.

``unary(f)``, ``binary(f)`` and ``ternary(f)`` make a kernel of a function of numbers. The function is plain Python: branches, loops,
the helpers below (``exp``, ``log`` ...) and other such functions, tuples of coefficients. It is run in three ways:

- number by number as it stands, where there are few of them: calling NumPy thirty times costs more than computing six numbers;
- compiled, where there are many, or where it has been called often: the loop is shared by the pool (``compiled/formulas.py``);
- without Numba, over blocks of *lanes*, arrays that stand for a number. Where lanes come to a branch that not all of them take, the
  function begins again for those that do and for those that do not.

The first two give the same bits (same libm, nothing fused or reordered), so either may serve: which one does, depends on what has run
before. Numbers are computed in double precision, or with ``own=True`` in the array's.

Of many numbers of float32, which are always compiled, products and sums may be rounded once (``fused``): in double precision that leaves
the bits of single as they are, but for one of many millions.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable
from functools import partial, wraps
from itertools import repeat
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, cast

import numpy as np

from ...annotations import Fn
from . import halves
from ._on_demand import _NEVER, HAS_VECTORS, LazyModule, state, worth
from ._store import Store, file_name
from .halves import compute_array
from .pairs import Plan, in_rows, known as known_geometries, plan_of
from .sharing import dense, share, ufunc1
from ...strided import laid_out, strided
from ...warned import ignoring

if TYPE_CHECKING:
    from ._kernel import Kernel

__all__ = ["Split", "binary", "few", "many", "many_of_single", "ternary", "unary"]

Scalar = Callable[..., float]
"""A function of numbers: Python's, or what stands for them."""
_compiled = LazyModule("formulas")

#: Numbers up to which a loop in Python is quicker than passes over lanes.
FEW = 48
#: Seconds that Python takes for a call, and for a number of cost 1 in it.
CALL, NUMBER = 5e-6, 1e-6
#: Numbers from which on elementary functions take longer than to look up what they are.
_SLOW = 768
#: Numbers of a block of lanes, and of cost 1 in a slice of compiled work.
_BLOCK, _GRAIN = 16384, 8192


class _Divided(Exception):
    """Lanes at a branch that not all of them take; the argument says which do."""


class Lanes(np.ndarray):
    """Numbers that go through a function side by side."""

    def __bool__(self) -> bool:
        mask = self.view(np.ndarray)
        found = np.count_nonzero(mask)  # which asks once, by one call
        if found == mask.size:
            return True
        if found:
            raise _Divided(mask)
        return False


def _helper(of_number: Scalar, of_lanes: Scalar, compiled: Scalar | None = None) -> Scalar:
    """A function of formulas: of a Python number, of lanes and NumPy's numbers, and what stands for it in compiled code."""

    def function(x: float) -> float:
        return of_number(x) if type(x) is float else of_lanes(x)

    function.compiled = compiled or of_number  # type: ignore[attr-defined]
    return function


def _helper2(of_number: Scalar, of_lanes: Scalar, compiled: Scalar | None = None) -> Scalar:
    def function(x: float, y: float) -> float:
        return of_number(x, y) if type(x) is float and type(y) is float else of_lanes(x, y)

    function.compiled = compiled or of_number  # type: ignore[attr-defined]
    return function


# Where Python's functions raise an error, lanes of one give what C gives.
exp, log, sqrt = _helper(math.exp, np.exp), _helper(math.log, np.log), _helper(math.sqrt, np.sqrt)
sin, cos, tan, acos = _helper(math.sin, np.sin), _helper(math.cos, np.cos), _helper(math.tan, np.tan), _helper(math.acos, np.arccos)
expm1, log1p = _helper(math.expm1, np.expm1), _helper(math.log1p, np.log1p)
floor, trunc = _helper(lambda x: float(math.floor(x)), np.floor, np.floor), _helper(lambda x: float(math.trunc(x)), np.trunc, np.trunc)
rint = _helper(lambda x: float(round(x)), np.rint, np.rint)
sinh, cosh, asin, atan = [_helper(of_number, of_lanes) for of_number, of_lanes in (
    (math.sinh, np.sinh), (math.cosh, np.cosh), (math.asin, np.arcsin), (math.atan, np.arctan))]
asinh, acosh, atanh = [_helper(of_number, of_lanes) for of_number, of_lanes in (
    (math.asinh, np.arcsinh), (math.acosh, np.arccosh), (math.atanh, np.arctanh))]
exp2 = _helper(lambda x: math.pow(2.0, x), np.exp2, np.exp2)
log2, log10 = _helper(math.log2, np.log2), _helper(math.log10, np.log10)
copysign, power, atan2 = [_helper2(of_numbers, of_lanes) for of_numbers, of_lanes in (
    (math.copysign, np.copysign), (math.pow, np.power), (math.atan2, np.arctan2))]


def _of_lanes(function: Fn, x: float) -> float:
    found: float = function(np.atleast_1d(np.asarray(x, np.float64))).reshape(np.shape(x)).view(Lanes)
    return found


def _passes(name: str) -> Scalar:
    """A function of lanes by NumPy's passes, of `elementwise`."""

    def function(x: float) -> float:
        from . import elementwise

        return _of_lanes(getattr(elementwise, name), x)

    return function


erf, erfc = _helper(math.erf, _passes("erf_of_lanes")), _helper(math.erfc, _passes("erfc_of_lanes"))
#: A number of the arrays' dtype in double precision.
wide = _helper(lambda x: x, lambda x: x.astype(np.float64) if x.ndim else float(x),
               cast("Scalar", np.float64))
#: And one of double precision in single.
single = _helper(lambda x: x, cast("Scalar", np.float32), cast("Scalar", np.float32))


def settled(mask: bool) -> bool:
    """Whether a sum has settled; lanes wait for one another."""
    return mask if type(mask) is bool else bool(np.all(mask))


def going(mask: bool) -> bool:
    """Whether a loop goes on that does no harm where it might have ended; lanes wait for one another."""
    return mask if type(mask) is bool else bool(np.any(mask))


settled.compiled = going.compiled = bool  # type: ignore[attr-defined]


def like(x: float, number: float) -> float:
    """A number in the dtype of `x`."""
    return number if type(x) is float else x.dtype.type(number)  # type: ignore[attr-defined]  # of NumPy's


like.compiled = like  # type: ignore[attr-defined]  # which has its own way


# Of compiled code they have ways of their own.
two_to = _helper(lambda n: math.ldexp(1.0, int(n)), lambda n: (n.astype(np.int64) + 1023 << 52).view(np.float64))
two_to.__doc__ = "2 to an integral power from -1022 to 1023."
exponent = _helper(lambda x: math.frexp(x)[1] - 1.0, lambda x: (x.view(np.int64) >> 52) - 1023.0)
exponent.__doc__ = "That of the power of 2 below a positive number that is neither infinite nor denormal."
two_to.compiled, exponent.compiled = two_to, exponent  # type: ignore[attr-defined]
two_to.__name__, exponent.__name__ = "two_to", "exponent"


def _cut(x: float) -> tuple[Any, Any]:
    m, n = np.frexp(x)
    low = m < math.sqrt(0.5)
    return np.float64(np.where(low, m + m, m)), np.float64(n) - low


# Of single precision, by their bits: a number times 2 to an integral power from -150 to 128, if it is from 1/2 to 2; and of a positive one
# that is no denormal the power of 2 by which it is divided to be near 1, and what is left of it then, in double precision.
single_times = _helper2(lambda x, n: math.ldexp(x, int(n)), lambda x, n: cast(Any, np.ldexp(x, np.asarray(n).astype(np.int32))))
single_rest, single_exponent = [_helper(part, part) for part in (lambda x: _cut(x)[0], lambda x: _cut(x)[1])]
for _function, _name in ((single_times, "single_times"), (single_rest, "single_rest"), (single_exponent, "single_exponent")):
    _function.compiled, _function.__name__ = _function, _name  # type: ignore[attr-defined]


def polynomial(coefficients: tuple[Any, ...], x: float) -> float:
    """By Horner's rule, from the highest power down."""
    result: float = coefficients[0]
    for c in coefficients[1:]:
        result *= x  # of lanes in place: the array is this function's own
        result += c
    return result


class _Machine(dict[str, Fn]):
    """Machine code of a formula by dtype character: what was kept needs no compiler."""

    def __init__(self, formula: Formula) -> None:
        super().__init__()
        self.formula = formula

    def __missing__(self, char: str) -> Fn:
        found = self[char] = self.formula.store(char).kept() or self.formula.kernel().shared[char]
        return found


class Split(NamedTuple):
    """A function of numbers, and tests, each with the function that takes its place where that is true, and none before it is: in a loop of
    its own, so that the function's has no branches that would keep it from vectors."""

    function: Scalar
    beyond: tuple[tuple[Scalar, Scalar], ...]

    def joined(self) -> Scalar:
        """One function of these."""
        def joined(*numbers: float) -> float:
            for test, other in self.beyond:
                if test(*numbers):
                    return other(*numbers)
            return self.function(*numbers)

        return joined


def up_to(largest: float, function: Scalar, beyond: Scalar) -> Split:
    """A function of numbers up to a magnitude, and that of larger ones."""
    return Split(function, ((lambda x: abs(x) > largest, beyond),))


class Formula:
    """A function of numbers, and how often it has been asked for.

    Args:
        function: of as many numbers as there are ``operands``, and of ``numbers`` that are the same for all elements.
        cost: its time against that of a few multiplications and a logarithm.
        own: whether it computes in the arrays' dtype, and not in double precision.
        chars: the dtypes that it is for.
        fused: whether machine code may round a product and a sum once. Such a formula is for many numbers alone, without Python.
    """

    made: ClassVar[list[Formula]] = []

    def __init__(self, function: Scalar | Split, operands: int, cost: int, own: bool, numbers: int = 0, chars: str = "fd",
                 fused: bool = False) -> None:
        split = function if isinstance(function, Split) else Split(function, ())
        self.function, self.beyond, self.whole = split.function, split.beyond, split.joined() if split.beyond else split.function
        self.operands, self.cost, self.own, self.numbers, self.chars, self.fused = operands, cost, own, numbers, chars, fused
        #: Numbers that are not shared.
        self.short = 2 * _GRAIN // cost - 1
        #: Seconds in Python.
        self.spent = 0.0
        #: Whether machine code is on disk, by dtype character.
        self.kept: dict[str, bool] = {}
        #: Machine code by dtype character.
        self.shared = _Machine(self)
        self.machine: Kernel | None = None
        #: Machine code in memory by dtype, for few numbers in one piece, and the counters that it takes.
        self.ready: dict[np.dtype | None, tuple[Fn, np.ndarray]] = {}
        Formula.made.append(self)

    def is_compiled(self, char: str, n: int) -> bool:
        """Whether machine code computes these `n` numbers: always the many, and the few after some calls."""
        if char in self.shared:
            return state.mode != "numpy"
        if n * self.cost >= state.fused:
            return True
        if state.fused == _NEVER:
            return False
        self.spent += CALL + n * self.cost * NUMBER
        return worth(self.spent, lambda: self.is_kept(char))

    def is_kept(self, char: str) -> bool:
        """Whether machine code is on disk."""
        if char not in self.kept:
            self.kept[char] = os.path.exists(self.store(char).path)
        return self.kept[char]

    @property
    def name(self) -> str:
        """That of the compiled loop, by the file of the function, whose module may have been silenced and then has no name."""
        module = os.path.basename(self.function.__code__.co_filename).removesuffix(".py")
        return f"{module}.{self.function.__qualname__.replace('<locals>.', '')}{'.fused' * self.fused}"

    @property
    def digest(self) -> str:
        """What decides the machine code, beside the sources of `compiled/`."""
        return fingerprint(self.function) + str(self.own) + "".join([fingerprint(f) for pair in self.beyond for f in pair])

    def store(self, char: str) -> Store:
        """Where the machine code is kept."""
        return Store(file_name(f"formulas.{self.name}", "shared", char, self.digest))

    def kernel(self) -> Kernel:
        if self.machine is None:
            self.machine = _compiled.kernel_of(self)
        return self.machine

    def over(self, char: str, columns: tuple[np.ndarray, ...], out: np.ndarray, numbers: tuple[float, ...] = ()) -> None:
        """Fills `out` with the function of each row of `columns`, flat arrays in order, all of one dtype; those of two are broadcast by the
        `numbers` of a geometry, where there are any."""
        n = out.size
        if self.operands == 2:
            numbers = numbers or (1, 1, n, 0, 0, 1, 0, 0, 1)
        if self.is_compiled(char, n):
            share(self, char, n, _GRAIN // self.cost, *columns, out, *numbers)
            if out.dtype not in self.ready:
                self.ready[out.dtype] = self.shared[char], np.zeros(128, np.int64)
            return
        if self.operands == 2:
            columns, numbers = tuple([_repeated(c, numbers[:3], numbers[at : at + 3]) for c, at in zip(columns, (3, 6))]), ()
        with ignoring():
            if n <= FEW or state.fused != _NEVER:
                self.one_by_one(columns, out, numbers)
                return
            for start in range(0, n, _BLOCK):
                part = [c[start : start + _BLOCK] for c in columns]
                self.side_by_side([c if self.own else c.astype(np.float64) for c in part], out[start : start + _BLOCK], numbers)

    def one_by_one(self, columns: tuple[np.ndarray, ...], out: np.ndarray, numbers: tuple[float, ...] = ()) -> None:
        function = self.whole
        rows: list[Any] = [c if self.own and c.dtype.char == "f" else c.tolist() for c in columns]
        try:
            out[:] = list(map(function, *rows, *map(repeat, numbers)))
        except (ArithmeticError, ValueError):  # of some of them Python makes errors where C goes on
            for i, row in enumerate(zip(*rows, strict=True)):
                try:
                    out[i] = function(*row, *numbers)
                except (ArithmeticError, ValueError):
                    lanes = [np.array([v], out.dtype if self.own else np.float64).view(Lanes) for v in row]
                    out[i] = np.ravel(function(*lanes, *numbers))[0]

    def side_by_side(self, columns: list[np.ndarray], out: np.ndarray, numbers: tuple[float, ...] = ()) -> None:
        left: list[np.ndarray | slice] = [slice(None)]
        # Where one branch was, more are to come. NumPy's functions of lanes are not the C library's in the last place of double precision.
        few = 2 * FEW if out.dtype.char == "f" else FEW // 8
        while left:
            where = left.pop()
            part = [c[where] for c in columns]
            if part[0].size <= few and not isinstance(where, slice):
                found = np.empty(part[0].size, out.dtype)
                self.one_by_one(tuple(part), found, numbers)
                out[where] = found
                continue
            try:
                out[where] = self.whole(*[c.view(Lanes) for c in part], *numbers)
            except _Divided as branch:
                mask = np.broadcast_to(branch.args[0], part[0].shape)
                places = np.arange(out.size) if isinstance(where, slice) else where
                left += [places[mask], places[~mask]]


def unary(function: Scalar | Split, cost: int = 1, own: bool = False, numbers: int = 0, single: Scalar | Split | None = None,
          fused: bool = False) -> Callable[..., np.ndarray]:
    """The kernel of a function of one number; `cost` is its time against that of a few multiplications and a logarithm. It takes as many
    Python numbers more as there are ``numbers``. Of float32 and of half precision it is `single`, where that is given, and of many such
    numbers `fused`.

    >>> unary(lambda x: x * x)(np.float32([[1.0, 2.0]]))
    array([[1., 4.]], dtype=float32)
    """
    return _of_one(*_formulas(function, 1, cost, own, numbers, single), _fused(single, 1, cost) if single and fused else None)


def _fused(single: Scalar | Split, operands: int, cost: int = 1, own: bool = False, numbers: int = 0) -> Formula:
    """That of many numbers of single precision, computed in double, of which next to nothing is left of what is not rounded."""
    return Formula(single, operands, cost, own, numbers, "f", True)


def many_of_single(function: Scalar, numbers: int = 0) -> Callable[..., np.ndarray]:
    """The kernel of a formula of many numbers of single precision, computed in that, and of as many Python numbers more.

    >>> many_of_single(lambda x: x * x)(np.float32([3.0]))
    array([9.], dtype=float32)
    """
    return _of_one(*[_fused(function, 1, own=True, numbers=numbers)] * 2)


def _formulas(function: Scalar | Split, operands: int, cost: int, own: bool, numbers: int, single: Scalar | Split | None
              ) -> tuple[Formula, Formula]:
    """That of a function, and that of single precision."""
    formula = Formula(function, operands, cost, own, numbers, "fd" if single is None else "d")
    of_single = formula if single is None else Formula(single, operands, cost, own, numbers, "f")
    of_single.ready = formula.ready
    return formula, of_single


def many(function: np.ufunc, double: Scalar | Split, single: Scalar | Split | None = None, chars: str = "fd", vectors: bool = True,
         own: bool = False) -> Callable[[np.ndarray], np.ndarray]:
    """NumPy's function of one number, which of many is the formula `double`, of float32 `single` where that is given, with products and
    sums fused, and in double precision but for `own`: of the dtypes in `chars`, and if NumPy has `vectors` of its own for the function,
    which it has for processors with AVX-512, only where it has not.

    >>> many(np.sin, sin)(np.array([0.0]))
    array([0.])
    """
    of_double = Formula(double, 1, 1, False, chars="d" if single is not None else chars)
    of_single = of_double if single is None else _fused(single, 1, own=own)
    of_single.ready = of_double.ready
    formula, numpys = _of_one(of_double, of_single), vectors and HAS_VECTORS

    def kernel(x: np.ndarray) -> np.ndarray:
        return formula(x) if x.size >= state.fused and x.dtype.char in chars and not numpys else ufunc1(function, x)

    return many_of_passes(kernel, chars, numpys)


def many_of_passes(kernel: Callable[[np.ndarray], np.ndarray], chars: str = "fd", numpys: bool = False
                   ) -> Callable[[np.ndarray], np.ndarray]:
    """The same of a kernel that a record has for many numbers of the dtypes in `chars`, and which is NumPy's where that is `numpys`."""
    kernel.chars, kernel.numpys = chars, numpys  # type: ignore[attr-defined]
    if not HAS_VECTORS:
        kernel.slow_from = _SLOW  # type: ignore[attr-defined]
    return kernel


def _of_one(formula: Formula, of_single: Formula, of_many: Formula | None = None) -> Callable[..., np.ndarray]:
    """The kernel of a formula of double precision, of one of single, and of one that computes many numbers of that instead."""
    ready, most = formula.ready, formula.short
    ready_many = ready if of_many is None else of_many.ready
    of_many = of_many or of_single

    def kernel(input: np.ndarray, *options: float) -> np.ndarray:
        alone = (ready if input.size < state.fused or input.itemsize != 4 else ready_many).get(input.dtype)
        if alone is not None and input.size <= most and state.fused != _NEVER:
            rows = input if input.flags.c_contiguous else input.T
            if rows.flags.carray:  # no number of NumPy's
                out = np.empty(rows.shape, input.dtype)
                alone[0](alone[1], input.size, 1, rows, out, *options)
                return out if rows is input else out.T
        x = compute_array(input)
        if not (x.flags.forc and x.flags.aligned):
            x = dense(x)
            if not x.flags.forc:  # dense, in another order, in which the result lies as well
                order = sorted(range(x.ndim), key=lambda d: -x.strides[d])
                found = kernel(x.transpose(order), *options).transpose(np.argsort(order))
                return found if found.dtype == input.dtype else halves.cast(found, input.dtype)
        out = np.empty_like(x)
        char = x.dtype.char
        chosen = formula if char != "f" else of_single if x.size < state.fused else of_many
        chosen.over(char, (x.ravel("K"),), out.ravel("K") if x.ndim else out.reshape(1), options)
        return out if out.dtype == input.dtype else halves.cast(out, input.dtype)

    def over(input: np.ndarray, *options: float) -> bool:
        """Writes what machine code at hand gives over an array in rows or columns; whether it did. It reads a copy, which a formula relies
        on."""
        alone = (ready if input.size < state.fused or input.itemsize != 4 else ready_many).get(input.dtype)
        if alone is None or input.size > most or state.fused == _NEVER:
            return False
        if not (flags := input.flags).carray:
            if not (flags.f_contiguous and flags.behaved):
                return False
            input = input.T
        alone[0](alone[1], input.size, 1, input.copy(), input, *options)
        return True

    kernel.formula, kernel.slow_from = of_single, 0  # type: ignore[attr-defined]  # for who asks whether it is compiled, or takes long
    kernel.over = over  # type: ignore[attr-defined]
    return kernel


def _repeated(a: np.ndarray, sizes: tuple[Any, ...], steps: tuple[Any, ...]) -> np.ndarray:
    """An operand in rows for each number of a result of three dimensions, flat."""
    return a if sizes[:2] == (1, 1) and steps[2] == 1 else strided(a, sizes, [s * a.itemsize for s in steps]).ravel()


def _of_two(formula: Formula, of_single: Formula, of_many: Formula | None = None) -> Callable[..., np.ndarray]:
    ready_many = None if of_many is None else of_many.ready
    ready, most, given = formula.ready, formula.short, known_geometries.get
    plans: dict[object, Plan] = {}

    def kernel(x: Any, z: Any) -> np.ndarray:
        alone = ready.get(dtype := getattr(x, "dtype", None))
        if alone is not None and getattr(z, "dtype", None) is dtype and state.fused != _NEVER:
            try:  # which a number of NumPy's ends, or memory that is not aligned
                if (shape := x.shape) == z.shape and 0 < (n := x.size) <= most and (ready_many is None or n < state.fused):
                    if x.flags.c_contiguous and z.flags.c_contiguous:
                        out = np.empty(shape, dtype)
                        alone[0](alone[1], n, 1, x, z, out, 1, 1, n, 0, 0, 1, 0, 0, 1)
                        return out
                    if x.flags.fnc and z.flags.fnc and 1 not in shape:  # columns
                        out = np.empty(shape, dtype, "F")
                        alone[0](alone[1], n, 1, x.T, z.T, out.T, 1, 1, n, 0, 0, 1, 0, 0, 1)
                        return out
                key = (shape, z.shape, dtype) if x.flags.c_contiguous and z.flags.c_contiguous else (
                    shape, z.shape, x.strides, z.strides, dtype)
                if (plan := plans.get(key)) is not None and plan[0] == state.fused:
                    _, run, shape, _, turn_x, turn_z, back = plan
                    out = np.empty(shape, dtype)
                    run(x if turn_x is None else turn_x(x), z if turn_z is None else turn_z(z), out)
                    return out if back is None else out.transpose(back)
                lies = given((shape, z.shape))
                found = (x, z, lies, None) if lies and x.flags.c_contiguous and z.flags.c_contiguous else in_rows(x, z)
                if found is not None:
                    a, b, (shape, n, sizes), back = found
                    if n >= state.fused and ready_many is not None and dtype.char == "f":  # type: ignore[union-attr]  # of two arrays
                        alone = ready_many.get(dtype)
                    if n <= most and alone is not None:
                        out = np.empty(shape, dtype)
                        alone[0](alone[1], n, 1, a, b, out, *sizes)
                        if x.__class__ is np.ndarray and z.__class__ is np.ndarray:
                            plan_of(plans, key, partial(alone[0], alone[1]), x, z, out, n, sizes, back)
                        return out if back is None else out.transpose(back)
            except TypeError:
                pass
        if x is None or z is None:  # which NumPy takes for NaN
            raise TypeError("a tensor without elements")
        dtype = np.result_type(x, z)
        x, z = [a if a.flags.aligned else a.copy() for a in [compute_array(np.asarray(a, dtype)) for a in (x, z)]]
        found = in_rows(x, z)
        if found is None:  # of many dimensions, or without elements
            a, b = np.broadcast_arrays(x, z)
            shape, n, sizes, back = a.shape, a.size, (), None
        else:
            a, b, (shape, n, sizes), back = found
        out = np.empty(shape, x.dtype)
        if n:
            char = out.dtype.char
            chosen = formula if char != "f" else of_single if of_many is None or n < state.fused else of_many
            chosen.over(char, (a.ravel(), b.ravel()), out.reshape(n), sizes)
        out = laid_out(out, x, z) if found is None else out if back is None else out.transpose(back)
        return out if out.dtype == dtype else halves.cast(out, dtype)

    kernel.lays_out = True  # type: ignore[attr-defined]  # as torch does
    return kernel


def _of_three(formula: Formula) -> Callable[..., np.ndarray]:
    ready, most = formula.ready, formula.short

    def kernel(*operands: Any) -> np.ndarray:
        first = operands[0]
        alone = ready.get(getattr(first, "dtype", None))
        if alone is not None and (found := _at_once(alone, operands, most)) is not None:
            return found
        if any([a is None for a in operands]):  # which NumPy takes for NaN
            raise TypeError("a tensor without elements")
        dtype = np.result_type(*operands)
        arrays = [compute_array(np.asarray(a, dtype)) for a in operands]
        first = arrays[0]
        shape, strides = first.shape, first.strides
        if not (first.flags.forc and all([a.shape == shape and a.strides == strides and a.flags.aligned for a in arrays])):
            if not all([a.shape == shape or not a.ndim for a in arrays]):
                shape = np.broadcast_shapes(*[a.shape for a in arrays])
            like = np.empty(shape, first.dtype, "F" if first.shape == shape and first.flags.fnc else "C")
            arrays = [a if a.shape == shape and a.strides == like.strides and a.flags.aligned else _spread(a, shape, like) for a in arrays]
        out = np.empty_like(arrays[0])
        columns = [a.ravel("K") for a in arrays]
        formula.over(out.dtype.char, tuple(columns), out.ravel("K") if out.ndim else out.reshape(1))
        return out if out.dtype == dtype else halves.cast(out, dtype)

    return kernel


def _at_once(alone: tuple[Fn, np.ndarray], operands: tuple[Any, ...], most: int) -> np.ndarray | None:
    """Machine code over few numbers that lie in rows or in columns; None of many, or of operands of several dtypes."""
    first = operands[0]
    dtype, shape, same = first.dtype, first.shape, True
    if state.fused == _NEVER:
        return None
    for a in operands[1:]:
        if a.dtype is not dtype:
            return None
        if a.shape != shape and a.shape and same:
            shape, same = np.broadcast(*operands).shape, False
    out: np.ndarray
    if same and len(shape) > 1 and not first.flags.c_contiguous and all([
            a.flags.f_contiguous and a.flags.aligned and a.__class__ is np.ndarray for a in operands]):
        if (out := np.empty(shape, dtype, "F")).size > most:
            return None
        alone[0](alone[1], out.size, 1, *[a.T if a.shape else _spread(a, shape[::-1]) for a in operands], out.T)
        return out
    if (out := np.empty(shape, dtype)).size > most:
        return None
    columns = [a if a.__class__ is np.ndarray and a.shape == shape and a.flags.carray else _spread(a, shape) for a in operands]
    alone[0](alone[1], out.size, 1, *columns, out)
    return out


def _spread(a: np.ndarray, shape: tuple[int, ...], like: np.ndarray | None = None) -> np.ndarray:
    out = np.empty(shape, a.dtype) if like is None else np.empty_like(like)
    out[...] = a
    return out


def binary(function: Scalar | Split, cost: int = 1, own: bool = False, single: Scalar | Split | None = None, fused: bool = False
           ) -> Callable[..., np.ndarray]:
    """The kernel of a function of two numbers, over arrays that are broadcast; of float32 it is `single`, where that is given, and of many
    such numbers `fused`.

    >>> binary(Split(lambda x, y: x + y, ((lambda x, y: y < 0.0, lambda x, y: x),)))(np.float32([1, 2]), np.float32([3, -3]))
    array([4., 2.], dtype=float32)
    """
    return _of_two(*_formulas(function, 2, cost, own, 0, single), _fused(single, 2, cost) if single and fused else None)


def few(function: Scalar | Split, operands: int = 1, numbers: int = 0, exact: bool = False, own: bool = False,
        single: Scalar | Split | None = None) -> Callable[[Fn], Fn]:
    """Decorator of a kernel of passes, which makes it the formula `function` of up to `state.short` numbers of float32 or float64, or of
    float32 `single`, where that is given. Where both give the same bits, or those of the formula are the closer ones, ``exact``, it is
    the formula of many numbers, too, and wherever machine code is at hand.

    >>> few(lambda x: x * x)(np.square)(np.float32([2.0]))
    array([4.], dtype=float32)
    """
    made, of_single = _formulas(function, operands, 1, own, numbers, single)
    formula, ready = (_of_one if operands == 1 else _of_two)(made, of_single), made.ready

    def decorate(kernel: Fn) -> Fn:
        if operands == 1:
            @wraps(kernel)
            def short(x: np.ndarray, *options: Any) -> np.ndarray:
                n = x.size
                if x.dtype.char in "fd" and (n <= state.short or exact and (x.dtype in ready or n >= state.fused)):
                    return formula(x, *map(float, options)) if numbers else formula(x)
                result: np.ndarray = kernel(x, *options)
                return result
        else:
            @wraps(kernel)
            def short(x: np.ndarray, y: Any) -> np.ndarray:
                if (dtype := x.dtype).char in "fd" and getattr(y, "dtype", None) is dtype and (
                        exact and dtype in ready or (n := max(x.size, y.size)) <= state.short or exact and n >= state.fused):
                    return formula(x, y)
                result: np.ndarray = kernel(x, y)
                return result

        if operands == 1:
            over: Callable[..., bool] = formula.over  # type: ignore[attr-defined]

            def over_few(x: np.ndarray, *options: Any) -> bool:
                """The same of an array that it is to be written over."""
                return (x.size <= state.short or exact) and over(x, *map(float, options))

            short.over = over_few if numbers or not exact else over  # type: ignore[attr-defined]
        short.slow_from = 0  # type: ignore[attr-defined]
        return short

    return decorate


def ternary(function: Scalar, cost: int = 1, own: bool = False) -> Callable[..., np.ndarray]:
    """The kernel of a function of three numbers."""
    return _of_three(Formula(function, 3, cost, own))


def fingerprint(value: Any, seen: Iterable[object] = ()) -> str:
    """What a function computes, in text: its code and all that it refers to. Machine code is kept under a digest of it."""
    if hasattr(value, "compiled"):
        return f"helper {value.compiled.__name__}"
    if not hasattr(value, "__code__"):
        return repr(value)
    if value in seen:
        return value.__name__
    seen = (*seen, value)
    code, cells = value.__code__, [c.cell_contents for c in value.__closure__ or ()]
    used = [(name, value.__globals__[name]) for name in code.co_names if name in value.__globals__]
    constants = [c for c in code.co_consts[1:] if not hasattr(c, "co_code")]
    parts = [f"{name}={fingerprint(v, seen)}" for name, v in (*used, *zip(code.co_freevars, cells, strict=True))]
    return f"{code.co_code.hex()} {constants!r} {value.__defaults__!r} {parts}"
