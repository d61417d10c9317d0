"""Gradients held against central differences.

`check_grad(fn, inputs)` compares the Jacobian that the backward pass gives with (f(x + eps) - f(x - eps)) / (2 eps), element by
element, in float64. A complex tensor counts as its real and imaginary parts: where a backward pass carries v to g, the real parts of
conj(v) dy and of conj(g) dx are equal. Order 2 does the same to the gradient function x, v -> v . J(x), and so to gradients of gradients.
The report is a table with one row per output and input; it also tells gradients of a wrong shape or dtype, gradients that are missing,
formulas that are not linear in the cotangents, and functions that do not give the same answer twice. `forward` holds forward mode
against the same differences; `batched` holds vmap against a loop, and `layouts` tensors that lie in memory in other ways against the same
ones in rows, both for values and gradients, up to rounding.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from dataclasses import dataclass, replace
import numpy as np

from .annotations import Fn, Keywords
from . import transforms
from .backward import BackwardOptions, run_backward
from .dtypes import CPU, FLOATING, dtype_of
from .engine import Engine
from .errors import ArgumentError, AutogradError, GradCheckFailedError, ShapeMismatchError
from .executors import executor_for
from .frontend import Frontend, front_end_of
from .lazy import array_of
from .modes import GradMode, _ModeContext
from .node import edge_of
from .tape import WEAK_TAPE
from .tensor import TensorRef, above
from .tree import children, leaves, rebuild

if TYPE_CHECKING:
    from .show.tables import Table

OK = "ok"
Index = tuple[int | str, ...]
Place = tuple[Index | None, Index | None]


@dataclass(frozen=True, slots=True)
class Row:
    """One output's derivative with respect to one input.

    Attributes:
        order: 1, or 2 for the derivative of the gradient.
        output, input: names; `v0` is the cotangent of output 0 in order 2.
        max_absolute: the largest |analytical - numerical|, nan where there is nothing to compare.
        max_relative: the largest |analytical - numerical| / max(|numerical|, atol).
        worst: (index into the output, index into the input) where the allowance is exceeded most; of complex ones the last is "real" or
            "imag", None for what is summed or does not matter.
        analytical, numerical: the two values there.
        verdict: "ok", or what is wrong. Formulas that are right one element at a time, and not for all at once, give a row of output "all".
        check: "backward", or "forward"; "batched", "transposed", "strided" or "broadcast", and what was so: "strided in0". Of these a row
            is the worst one of all outputs (input "-") and gradients (output "all"), and `numerical` what a loop, or rows in memory, give.
    """

    order: int
    output: str
    input: str
    max_absolute: float
    max_relative: float
    worst: Place | None
    analytical: float
    numerical: float
    verdict: str
    check: str = "backward"


@dataclass(frozen=True, repr=False, slots=True)
class Report:
    """The outcome of `check_grad`: `ok`, `rows`, and a table as text."""

    name: str
    rows: tuple[Row, ...]
    eps: float
    atol: float
    rtol: float

    @property
    def ok(self) -> bool:
        """Whether every gradient is right; nothing compared is not right."""
        return bool(self.rows) and all(row.verdict == OK for row in self.rows)

    def __bool__(self) -> bool:
        return self.ok

    def __repr__(self) -> str:
        return self.table()

    def table(self) -> str:
        """The rows as text."""
        text: str = self.__rich__().text()
        return text

    def print(self, file: object = None) -> None:
        """Prints the table, by `rich` where it is installed."""
        self.__rich__().print(file)

    def __rich__(self) -> Table:
        head = ["check", "order:", "output", "input", "max abs error:", "max rel error:", "worst at", "analytical:", "numerical:",
                "verdict"]
        lines = [[r.check, str(r.order), r.output, r.input, f"{r.max_absolute:.3g}", f"{r.max_relative:.3g}", _place(r.worst),
                  f"{r.analytical:.6g}", f"{r.numerical:.6g}", r.verdict] for r in self.rows]
        result = "every gradient agrees" if self.ok else f"{sum(r.verdict != OK for r in self.rows)} of {len(self.rows)} rows failed"
        title = f"check_grad of {self.name}: {result} (eps={self.eps:g}, atol={self.atol:g}, rtol={self.rtol:g})"
        return above.show.Table(title, head, lines)

    def raise_if_failed(self) -> Report:
        """The report itself; GradCheckFailedError with the table where a row failed."""
        __tracebackhide__ = True
        if not self.ok:
            raise GradCheckFailedError(f"The gradients of {self.name} are wrong.\n{self.table()}\nA formula does not give the derivative",
                                       expected="analytical gradients equal to "
                                       "numerical ones", found=f"{sum(r.verdict != OK for r in self.rows)} rows that differ",
                                       remedy="correct the gradient formula of the operation in the first failing row")
        return self


def _place(worst: Place | None) -> str:
    places = [f"d {what}[{', '.join(map(str, at))}]" for what, at in zip(("out", "in"), worst or ()) if at is not None]
    return " / ".join(places) or "-"


def check_grad(fn: Callable[..., Any], inputs: Any, eps: float = 1e-5, atol: float = 1e-4, rtol: float = 1e-3, order: int = 1,
               raise_exception: bool = False, seed: int = 0, *, forward: bool = False, batched: bool = False,
               layouts: bool = False) -> Report:
    """Holds the gradients of `fn(*inputs)` against numerical ones.

    Args:
        fn: takes and returns tensors, or trees of them, of this package or of torchcompat; arguments that are no floating-point or
            complex arrays or tensors are passed as they are. It must be smooth within `eps` of the inputs. Of a torchcompat module the
            gradients of its parameters are checked too.
        inputs: its arguments, a tuple or a list: arrays, tensors, and trees of them (tuples, lists, dicts, dataclasses, ...); or a dict of
            keyword arguments; or a single argument of any other kind. Floating-point ones are differentiated in float64, complex ones in
            complex128, whatever their dtype.
        eps: the step of the central difference.
        atol, rtol: |analytical - numerical| may be atol + rtol * |numerical|.
        order: 2 checks gradients of gradients too.
        raise_exception: raise GradCheckFailedError where a row failed.
        seed: of the cotangents, and of the examples for `batched`.
        forward: check forward mode too: torchcompat's for its tensors, else `autograd_tape.jvp`, which transposes the gradients.
        batched: check vmap over all inputs, and over each alone, against a loop. For torchcompat's tensors, whose transform it is.
        layouts: check that inputs and cotangents that are transposed, strided or broadcast in memory make no difference. Broadcast are the
            first values along a dimension, at which `fn` must be smooth, too.

    All but the first derivatives are checked where these are right.

    Raises:
        ArgumentError: no input is floating point, or `fn` returns something that is no tensor; `batched` where there is no vmap.
        GradCheckFailedError: see `raise_exception`.

    >>> report = check_grad(lambda x, y: x * y, [np.array([1.0, 2.0]), np.array([3.0, 4.0])], order=2)
    >>> report.ok, len(report.rows), report.rows[-1].order, report.rows[-1].verdict
    (True, 8, 2, 'ok')
    """
    if order not in (1, 2):
        raise ArgumentError("check_grad() checks derivatives of order 1 or 2", expected="1 or 2", found=repr(order),
                            remedy="nest grad for higher ones")
    for name, value, least in (("eps", eps, "above 0"), ("atol", atol, "of 0 or more"), ("rtol", rtol, "of 0 or more")):
        if not isinstance(value, (int, float)) or not np.isfinite(value) or value < 0 or name == "eps" and value == 0:
            raise ArgumentError(f"check_grad() cannot use this {name}", expected=f"a finite number {least}", found=repr(value),
                                remedy="leave it out for the default")
    if not callable(fn):
        raise ArgumentError("check_grad() takes a function", expected="a callable", found=type(fn).__name__,
                            remedy="pass the function itself")
    if batched and not hasattr(_transforms_of(front_end_of(*leaves(inputs), *getattr(fn, "parameters", list)())), "vmap"):
        raise ArgumentError("check_grad() has no batched rules to check", expected="tensors of a front end with vmap",
                            found="arrays, or tensors of autograd_tape", remedy="pass such tensors, or leave out batched")
    given = inputs if isinstance(inputs, (tuple, list, dict)) else [inputs]
    function, parameters = (fn, None) if not hasattr(fn, "named_parameters") else _as_function(fn)
    further = {} if parameters is None else parameters
    flat = leaves(given)
    n = len(flat)
    front = front_end_of(*flat, *further.values())
    fronts = [x._front_end if isinstance(x, TensorRef) else front for x in (*flat, *further.values())]

    def on_leaves(*values: TensorRef) -> TensorRef:
        # Each is of the kind that was given: checked are the gradients of tensors that `fn` gets them from.
        own = [front.own(x) if isinstance(x, TensorRef) else x for front, x in zip(fronts, values)]
        tree = rebuild(given, iter(own[:n]))
        first = () if parameters is None else (dict(zip(parameters, own[n:])),)
        return function(*first, **tree) if isinstance(tree, dict) else function(*first, *tree)

    values, where = _prepare([*flat, *further.values()])
    every = [f"in{name}" if not isinstance(given, dict) else name for name in _names(given)] + list(further)
    names = [every[i] for i in where]
    with _ModeContext(GradMode.ENABLED):
        rows, numerical = _check(on_leaves, values, where, names, 1, eps, atol, rtol, seed)
        if order == 2 and all(row.verdict == OK for row in rows):
            rows += _second(on_leaves, values, where, names, eps, atol, rtol, seed)
        if all(row.verdict == OK for row in rows):
            rows += _forward(on_leaves, values, where, names, front, numerical, atol, rtol) if forward else []
            rows += _batched(on_leaves, values, where, names, front, eps, seed) if batched else []
            rows += _laid_out(on_leaves, values, where, names, seed) if layouts else []
    name = getattr(fn, "__qualname__", None) or (repr(fn) if parameters is None else type(fn).__name__)
    report = Report(name, tuple(rows), eps, atol, rtol)
    return report.raise_if_failed() if raise_exception else report


def assert_gradients(fn: Callable[..., Any], inputs: list[np.ndarray], **options: Any) -> Report:
    """Asserts that the gradients of `fn(*inputs)` are right: `check_grad`, whose table the failure shows.

    Args:
        options: those of `check_grad`.

    Raises:
        GradCheckFailedError: an AssertionError: a row failed.
        ArgumentError: as `check_grad`.

    >>> assert_gradients(lambda x, y: x * y, [np.array([1.0, 2.0]), np.array([3.0, 4.0])], order=2, forward=True, layouts=True).ok
    True
    """
    __tracebackhide__ = True  # pytest shows the line of the test, and the table
    return check_grad(fn, inputs, **{**options, "raise_exception": False}).raise_if_failed()


def _as_function(module: Any) -> tuple[Fn, Keywords]:
    """(a function of parameters by name and of inputs, the parameters) of a module such as torch has, in double precision. The module
    itself is left alone."""
    module = copy.deepcopy(module).double()
    owners = {f"{path}.{name}".lstrip("."): (part._parameters, name) for path, part in module.named_modules()
              for name, parameter in part._parameters.items() if parameter is not None}
    parameters = {path: table[name] for path, (table, name) in owners.items()}

    def function(given: Keywords, *args: object, **kwargs: object) -> object:
        try:
            for path, (table, name) in owners.items():
                table[name] = given[path]
            return module(*args, **kwargs)
        finally:
            for path, (table, name) in owners.items():
                table[name] = parameters[path]

    return function, parameters


def _names(tree: Any, path: str = "") -> list[str]:
    """What the leaves of a tree are called: `0`, `1['w']`, `1[0]`; by keyword `w`, `w[0]`."""
    below = None if tree is None else children(tree)
    if below is None:
        return [path] if tree is not None else []
    return [name for key, x in below.items() for name in _names(x, f"{path}[{key!r}]" if path else str(key))]


def _prepare(inputs: Sequence[object]) -> tuple[list[Any], list[int]]:
    values: list[Any] = []
    where: list[int] = []
    for i, x in enumerate(inputs):
        data = (array_of(x) if isinstance(x, TensorRef) else
                np.asarray(x) if isinstance(x, (np.ndarray, np.inexact, float, complex)) else None)
        if data is not None and dtype_of(data).category >= FLOATING:
            values.append(np.array(data, np.complex128 if dtype_of(data).is_complex else np.float64, order="C"))
            where.append(i)
        else:
            values.append(TensorRef.of(data) if isinstance(x, np.ndarray) else x)
    if not where:
        raise ArgumentError("check_grad() found nothing to differentiate with respect to", expected="at least one floating-point or "
                            "complex input", found=", ".join(type(x).__name__ for x in inputs) or "no inputs",
                            remedy="pass a floating-point array")
    return values, where


def _call(fn: Callable[..., Any], values: Sequence[Any], where: Sequence[int],
          requires_grad: bool) -> tuple[list[TensorRef], list[TensorRef]]:
    """(differentiable inputs, floating-point outputs) of one call on fresh tensors."""
    args = list(values)
    refs = []
    for i in where:
        args[i] = TensorRef.of(values[i].copy(), requires_grad=requires_grad)
        refs.append(args[i])
    return refs, _outputs(fn(*args))


def _outputs(result: TensorRef) -> list[TensorRef]:
    """The floating-point tensors of a result; ArgumentError where there is none."""
    outputs = leaves(result)
    for output in outputs:
        if not isinstance(output, TensorRef):
            raise ArgumentError("check_grad() takes a function of tensors", expected="a TensorRef, or a tuple of them",
                                found=type(output).__name__, remedy="compute with the operations of autograd_tape.F, not with NumPy")
    found = [o for o in outputs if o._k.dtype.category >= FLOATING]
    if not found:
        raise ArgumentError("check_grad() found nothing to compare", expected="a floating-point output",
                            found=", ".join(o.dtype.name for o in outputs) or "no outputs",
                            remedy="return what depends smoothly on the inputs")
    return found


def _evaluate(fn: Fn, values: Sequence[np.ndarray], where: Sequence[int]) -> list[np.ndarray]:
    return [array_of(o).copy() for o in _call(fn, values, where, False)[1]]


def _real(array: np.ndarray) -> np.ndarray:
    """The elements in a row, in float64; of complex ones the real and the imaginary part of each."""
    wide = np.complex128 if array.dtype.kind == "c" else np.float64
    return np.ascontiguousarray(array, wide).reshape(-1).view(np.float64)


def _real_shape(x: TensorRef) -> tuple[int, ...]:
    return (*x.shape, 2) if x.dtype.is_complex else tuple(x.shape)


def _numerical(fn: Fn, values: list[Any], where: Sequence[int], eps: float,
               outputs: Sequence[TensorRef]) -> list[list[np.ndarray]]:
    """[output][input] -> Jacobian of shape (output size, input size), a complex element counting twice."""
    found = [[np.empty((int(np.prod(_real_shape(o))), _real(values[i]).size)) for i in where] for o in outputs]
    for position, i in enumerate(where):
        original = values[i]
        for j in range(_real(original).size):
            ends = []
            for step in (eps, -eps):
                moved = original.copy("C")
                _real(moved)[j] += step
                ends.append(_evaluate(fn, [*values[:i], moved, *values[i + 1:]], where))
            for nr, (high, low) in enumerate(zip(*ends)):
                found[nr][position][:, j] = _real(high - low) / (2 * eps)
    return found


def _analytical(outputs: Sequence[TensorRef], refs: Sequence[TensorRef], cotangents: Sequence[np.ndarray]) -> list[np.ndarray | None]:
    """What arrives at each input: an array of whatever shape the formulas gave it, or None."""
    executor = executor_for(CPU)
    engine = Engine(executor.F, retain_graph=True, capture=list(refs), wrap=front_end_of(*outputs).wrap)
    with _ModeContext(GradMode.DISABLED):
        engine.run([(edge_of(output), cotangent) for output, cotangent in zip(outputs, cotangents)])
    return [None if engine.captured.get(x) is None else np.asarray(engine.captured[x]) for x in refs]


def _check(fn: Fn, values: list[Any], where: Sequence[int], names: Sequence[str], order: int, eps: float, atol: float,
           rtol: float, seed: int) -> tuple[list[Row], list[list[np.ndarray]]]:
    """(a row for each output and input, the Jacobians by central differences as `_numerical` gives them)"""
    refs, outputs = _call(fn, values, where, True)
    first, again = [array_of(o) for o in outputs], _evaluate(fn, values, where)
    nan = float("nan")
    rows: list[Row] = []
    steady = [a.shape == b.shape and np.array_equal(a, b, equal_nan=True) for a, b in zip(first, again)]
    numerical = _numerical(fn, values, where, eps, outputs) if all(steady) else []
    sums = [np.zeros(_real(x._data).size) for x in refs]
    weights = [_random(np.random.default_rng(seed), o) for o in first]
    for nr, output in enumerate(outputs):
        if not all(steady):
            gap = nan if first[nr].shape != again[nr].shape else float(np.max(np.abs(first[nr] - again[nr]), initial=0.0))
            rows.append(Row(order, f"out{nr}", "-", gap, nan, None, nan, nan,
                            OK if steady[nr] else "not deterministic: two calls on the same "
                            "inputs differ"))
            continue
        jacobians, verdicts = _rows_of(output, refs)
        sums = [total + _real(weights[nr]) @ jacobian for total, jacobian in zip(sums, jacobians)]
        for x, name, verdict, jacobian, expected in zip(refs, names, verdicts, jacobians, numerical[nr]):
            rows.append(_compare(order, f"out{nr}", name, verdict, jacobian, expected,
                                 lambda i: (_index(i // jacobian.shape[1], output), _index(i % jacobian.shape[1], x)), atol, rtol))
    roots = [(o, w) for o, w in zip(outputs, weights) if o.requires_grad]
    if roots and all(row.verdict == OK for row in rows):  # else a wrong one is found already
        there, back = [_analytical([o for o, _ in roots], refs, [np.asarray(sign * w) for _, w in roots]) for sign in (1.0, -1.0)]
        for x, name, g, h, total in zip(refs, names, there, back, sums):
            found = [np.zeros(total.size) if g is None else _real(g) for g in (g, h)]
            row = _compare(order, "all", name, "", np.stack(found), np.stack([total, -total]),
                           lambda i: (None, _index(i % total.size, x)), *_rounding(total), "not linear in the cotangents")
            rows += [] if row.verdict == OK else [row]
    return rows, numerical


def _rounding(expected: np.ndarray) -> tuple[float, float]:
    """The allowance (absolute, relative) for two computations of the same numbers."""
    return 1e-9 * max(1.0, float(np.abs(expected).max(initial=0.0))), 0.0


def _rows_of(output: TensorRef, refs: Sequence[TensorRef]) -> tuple[list[np.ndarray], list[str]]:
    """The Jacobian by backward passes, one per output element, and what is wrong with it before any value is compared."""
    jacobians = [np.zeros((int(np.prod(_real_shape(output))), _real(x._data).size)) for x in refs]
    verdicts = [""] * len(refs)
    arrived = [False] * len(refs)
    if output.requires_grad:
        for i in range(int(np.prod(_real_shape(output)))):
            cotangent = np.zeros(tuple(output.shape), output._k.np)
            cotangent.reshape(-1).view(cotangent.real.dtype)[i] = 1.0
            try:
                found = _analytical([output], refs, [cotangent.copy()])
                twice = _analytical([output], refs, [cotangent]) if i == 0 else found
            except (ShapeMismatchError, ValueError) as error:  # of the engine; of NumPy, which the next formula gave it to
                return jacobians, [f"wrong shape: {error.message if isinstance(error, ShapeMismatchError) else error}"
                                   f"{_expected(error)}"] * len(refs)
            for j, (x, g, h) in enumerate(zip(refs, found, twice)):
                if g is None:
                    continue
                arrived[j] = True
                if g.shape != tuple(x.shape):
                    verdicts[j] = f"wrong shape: expected {tuple(x.shape)}, found {g.shape}"
                elif np.iscomplexobj(g) and not x.dtype.is_complex:
                    verdicts[j] = f"wrong dtype: expected {x.dtype.name}, found {g.dtype}"
                else:
                    jacobians[j][i] = _real(g.astype(x._k.np))
                    if h is None or not np.array_equal(g, h, equal_nan=True):
                        verdicts[j] = "not deterministic: two backward passes differ"
    return jacobians, [v or ("" if a else "missing") for v, a in zip(verdicts, arrived)]


def _expected(error: Exception) -> str:
    return f": expected {error.expected}, found {error.found}" if isinstance(error, ShapeMismatchError) else ""


def _compare(order: int, output: str, name: str, verdict: str, found: np.ndarray, expected: np.ndarray,
             place: Callable[[int], Place], atol: float, rtol: float, wrong: str = "wrong gradient") -> Row:
    nan = float("nan")
    if verdict.startswith(("wrong shape", "wrong dtype")):
        return Row(order, output, name, nan, nan, None, nan, nan, verdict)
    if not expected.size:
        return Row(order, output, name, 0.0, 0.0, None, nan, nan, verdict if verdict not in ("", "missing") else OK)
    with np.errstate(invalid="ignore", divide="ignore"):
        error = np.abs(found - expected)
        relative = np.where(error == 0, 0.0, error / np.maximum(np.abs(expected), atol))
        excess = error - (atol + rtol * np.abs(expected))
    excess = np.where(np.isnan(excess), np.inf, excess)  # a nan is wrong, wherever it comes from
    at = int(np.argmax(excess))
    differs = bool(excess.flat[at] > 0)
    if verdict == "missing":
        verdict = "missing gradient: none arrived, but the output depends on this input" if differs else OK
    elif not verdict:
        verdict = wrong if differs else OK
    return Row(order, output, name, float(error.max()), float(relative.max()), place(at), float(found.flat[at]), float(expected.flat[at]),
               verdict)


def _index(position: int, x: TensorRef) -> Index:
    """Where an element of `_real` lies in a tensor."""
    at = tuple(int(i) for i in np.unravel_index(position, _real_shape(x)))
    return (*at[:-1], ("real", "imag")[at[-1]]) if x.dtype.is_complex else at


# -- other ways to the same derivatives -------------------------------------------------------------------------------

FAILURES = AutogradError, RuntimeError, TypeError, AttributeError, ValueError, LookupError
"""What a rule may raise where a function that is right otherwise is carried out in another way."""


def _transforms_of(front: Frontend) -> Any:
    return front.transforms or transforms


def _failed(check: str, error: Exception) -> Row:
    nan = float("nan")
    return Row(1, "-", "-", nan, nan, None, nan, nan, f"cannot be computed: {error!r}", check)


def _of_inputs(fn: Fn, values: Sequence[np.ndarray], where: Sequence[int]) -> Callable[..., tuple[TensorRef, ...]]:
    """The floating-point outputs as a function of the inputs that are differentiated."""
    def function(*xs: Any) -> tuple[TensorRef, ...]:
        args = list(values)
        for i, x in zip(where, xs):
            args[i] = x
        return tuple(_outputs(fn(*args)))

    return function


def _forward(fn: Fn, values: list[np.ndarray], where: Sequence[int], names: Sequence[str], front: Frontend,
             numerical: Sequence[Sequence[np.ndarray]], atol: float, rtol: float) -> list[Row]:
    """Forward mode against central differences: a column of the Jacobian for each tangent."""
    _, outputs = _call(fn, values, where, False)
    function, rows = _of_inputs(fn, values, where), []
    for j, name in enumerate(names):
        found = [np.zeros_like(row[j]) for row in numerical]
        verdicts = [""] * len(outputs)
        for column in range(_real(values[where[j]]).size):
            tangents = [np.zeros_like(values[i]) for i in where]
            _real(tangents[j])[column] = 1.0
            try:
                _, pushed = _transforms_of(front).jvp(function, tuple([front.over(values[i].copy()) for i in where]),
                                                      tuple([front.over(t) for t in tangents]))
            except FAILURES as error:
                return [_failed("forward", error)]
            for nr, tangent in enumerate(pushed):
                if tuple(tangent.shape) == tuple(outputs[nr].shape):
                    found[nr][:, column] = _real(array_of(tangent).astype(outputs[nr]._k.np))
                else:
                    verdicts[nr] = f"wrong shape: expected {tuple(outputs[nr].shape)}, found {tuple(tangent.shape)}"
        for nr, output in enumerate(outputs):
            n = found[nr].shape[1]
            place = lambda i: (_index(i // n, output), _index(i % n, TensorRef.of(values[where[j]])))
            row = _compare(1, f"out{nr}", name, verdicts[nr], found[nr], numerical[nr][j], place, atol, rtol, "wrong tangent")
            rows.append(replace(row, check="forward"))
    return rows


def _worst(check: str, names: Sequence[tuple[str, str]], found: Sequence[np.ndarray], expected: Sequence[np.ndarray], wrong: str) -> Row:
    """The row of the values or gradients that differ most."""
    rows = []
    for (output, name), a, b in zip(names, found, expected):
        def place(i: int) -> Place:
            at = _index(i, TensorRef.of(b))
            return (at, None) if name == "-" else (None, at)

        verdict = "" if a.shape == b.shape else f"wrong shape: expected {b.shape}, found {a.shape}"
        rows.append(_compare(1, output, name, verdict, _real(a), _real(b), place, *_rounding(b), wrong))
    return replace(max(rows, key=lambda r: (r.verdict != OK, r.max_absolute)), check=check)


def _batched(fn: Fn, values: list[np.ndarray], where: Sequence[int], names: Sequence[str], front: Frontend, eps: float,
             seed: int) -> list[Row]:
    """vmap of values and gradients against a loop, over examples that differ by less than `eps`."""
    of = _transforms_of(front)
    rng = np.random.default_rng(seed)
    function, n = _of_inputs(fn, values, where), len(where)
    singles = [*[values[i] for i in where], *[_random(rng, o) for o in _evaluate(fn, values, where)]]
    count = next(c for c in range(2, 99) if all(c not in x.shape for x in singles))  # a size that no dimension has by chance

    def both(*args: TensorRef) -> tuple[TensorRef, ...]:
        outputs, pullback = of.vjp(function, *args[:n])
        return (*outputs, *pullback(tuple(args[n:])))

    many = [np.stack([x + eps * (rng.uniform(-1.0, 1.0, x.shape)) for _ in range(count)]) for x in singles]
    results = [*[(f"out{nr}", "-") for nr in range(len(singles) - n)], *[("all", name) for name in names]]
    every = [*names, *[f"v{i}" for i in range(len(singles) - n)]]
    rows = []
    for check, chosen in (("batched", range(len(singles))), *[(f"batched {name}", [nr]) for nr, name in enumerate(every)]):
        inputs = [many[nr] if nr in chosen else x for nr, x in enumerate(singles)]
        loop = [both(*[front.over((x[k] if nr in chosen else x).copy()) for nr, x in enumerate(inputs)]) for k in range(count)]
        expected = [np.stack([array_of(x) for x in column]) for column in zip(*loop)]
        try:
            dims = tuple([0 if nr in chosen else None for nr in range(len(singles))])
            found = of.vmap(both, dims)(*[front.over(x.copy()) for x in inputs])
            rows.append(_worst(check, results, [array_of(x) for x in found], expected, "wrong where batched"))
        except FAILURES as error:
            rows.append(_failed(check, error))
    return rows


def _laid_out(fn: Fn, values: list[np.ndarray], where: Sequence[int], names: Sequence[str], seed: int) -> list[Row]:
    """Values and gradients where one input or cotangent lies in memory in another way."""
    rng = np.random.default_rng(seed)
    n = len(where)
    plain = [*[values[i] for i in where], *[_random(rng, o) for o in _evaluate(fn, values, where)]]
    results = [*[(f"out{nr}", "-") for nr in range(len(plain) - n)], *[("all", name) for name in names]]

    def both(arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
        refs = [TensorRef.over(x, requires_grad=True) for x in arrays[:n]]
        outputs = _of_inputs(fn, values, where)(*refs)
        roots = [(o, g) for o, g in zip(outputs, arrays[n:]) if o.requires_grad]
        found = _analytical([o for o, _ in roots], refs, [g for _, g in roots]) if roots else [None] * n
        return [*[array_of(o).copy() for o in outputs], *[np.zeros(x.shape, x.dtype) if g is None else g for g, x in zip(found, arrays)]]

    rows = []
    for nr, name in enumerate([*names, *[f"v{i}" for i in range(len(plain) - n)]]):
        for layout, change in LAYOUTS.items():
            other = change(plain[nr])
            if other is None:
                continue
            check = f"{layout} {name}"
            expected = both([np.array(x, order="C") for x in (*plain[:nr], other, *plain[nr + 1:])])
            try:
                found = both([*[x.copy() for x in plain[:nr]], other, *[x.copy() for x in plain[nr + 1:]]])
            except FAILURES as error:
                rows.append(_failed(check, error))
            else:
                rows.append(_worst(check, results, found, expected, f"wrong where {layout}"))
    return rows


def _transposed(x: np.ndarray) -> np.ndarray | None:
    return np.array(x, order="F") if x.ndim > 1 else None


def _strided(x: np.ndarray) -> np.ndarray | None:
    """Every other element of memory that is nan between them."""
    if not x.ndim:
        return None
    memory = np.full((*x.shape[:-1], 2 * x.shape[-1]), np.nan, x.dtype)
    memory[..., ::2] = x
    return memory[..., ::2]


def _broadcast(x: np.ndarray) -> np.ndarray | None:
    """The first values along a dimension for all of it."""
    dim = next((d for d, size in enumerate(x.shape) if size > 1), None)
    if dim is None or not x.size:
        return None
    memory = x.copy()
    return np.lib.stride_tricks.as_strided(memory, x.shape, [0 if d == dim else step for d, step in enumerate(memory.strides)])


LAYOUTS: dict[str, Callable[[np.ndarray], np.ndarray | None]] = {
    "transposed": _transposed, "strided": _strided, "broadcast": _broadcast}
"""Ways to lie in memory; None where an array has too few dimensions or elements for one."""


def _random(rng: np.random.Generator, like: np.ndarray) -> np.ndarray:
    """Numbers of either sign and of an array's shape, complex ones where it is; above 1, where rules that clip show."""
    real, imaginary = [rng.uniform(1.5, 3.0, like.shape) * rng.choice([-1.0, 1.0], like.shape) for _ in range(2)]
    return np.asarray(real + 1j * imaginary if np.iscomplexobj(like) else real)


def _second(fn: Callable[..., Any], values: list[Any], where: Sequence[int], names: Sequence[str], eps: float, atol: float, rtol: float,
            seed: int) -> list[Row]:
    """The check of x, v -> v . J(x), one output per input of `fn`."""
    rng = np.random.default_rng(seed)
    cotangents = [_random(rng, o) for o in _evaluate(fn, values, where)]
    n = len(values)

    def gradient(*args: Any) -> list[TensorRef]:
        # Where nothing requires grad (the numerical side) the gradient is still wanted, of inputs of its own.
        given = list(args[:n])
        for i in where:
            if not given[i].requires_grad:
                given[i] = TensorRef.of(given[i]._data, requires_grad=True)
        outputs = _outputs(fn(*given))
        roots = [(o, v) for o, v in zip(outputs, args[n:]) if o.requires_grad]
        inputs = [given[i] for i in where]
        context = run_backward([o for o, _ in roots], WEAK_TAPE, None, BackwardOptions(
            retain_graph=True, create_graph=True, inputs=inputs, grad_outputs=[v for _, v in roots])) if roots else None
        found = [None if context is None else context.get_grad(x) for x in inputs]
        for x, g in zip(inputs, found):
            if g is not None and tuple(g.shape) != tuple(x.shape):
                raise ShapeMismatchError("A recorded gradient has the wrong shape", expected=str(tuple(x.shape)), found=str(tuple(g.shape)),
                                         remedy="correct the gradient formula")
        return [TensorRef.of(np.zeros(tuple(x.shape), x._k.np)) if g is None else g for x, g in zip(inputs, found)]

    everywhere = [*where, *range(n, n + len(cotangents))]
    every = [*names, *[f"v{i}" for i in range(len(cotangents))]]
    nan = float("nan")
    try:
        return _check(gradient, [*values, *cotangents], everywhere, every, 2, eps, atol, rtol, seed)[0]
    except ShapeMismatchError as error:  # on arrays the shape was right
        return [Row(2, "-", "-", nan, nan, None, nan, nan, f"wrong shape: {error.message}{_expected(error)}")]
    except (TypeError, AttributeError) as error:  # a tensor is no array
        return [Row(2, "-", "-", nan, nan, None, nan, nan, f"cannot be recorded: a gradient function takes arrays only ({error!r})")]
