"""Which numbers of a model's run come from the sizes of its inputs, found by runs on inputs of several sizes.

A number that is the same in all runs is taken for constant. One that is not is looked for among the sizes of the tensors that came
before it, then among what can be computed of these: k * size + c, (k * size) // d + c, size * size, size + size, and for floats a
multiple of a size, its root, or the inverse of one. What is found holds in at least three runs, so two sizes that differ by chance in the
same way are all that could deceive it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from .errors import OnnxExporterError
from .._tensor import Tensor
from ._trace import Traced, Value

Numbers = tuple[Any, ...]


class Dim:
    """A number that the sizes of inputs decide.

    Attributes:
        of: what it is computed of: (a Value, which of its dimensions), or the name of an operation of ONNX and its arguments.
        seen: what it was in each run.
    """

    __slots__ = ("of", "seen")

    def __init__(self, of: tuple[Any, ...], seen: Numbers) -> None:
        self.of, self.seen = of, seen

    def _with(self, op: str, other: Any, function: Any) -> Any:
        theirs = other.seen if isinstance(other, Dim) else (other,) * len(self.seen)
        return Dim((op, self, other), tuple([function(a, b) for a, b in zip(self.seen, theirs)]))

    def __add__(self, other: Any) -> Any:
        return self if other == 0 else self._with("Add", other, lambda a, b: a + b)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        return self if other == 0 else self._with("Sub", other, lambda a, b: a - b)

    def __rsub__(self, other: Any) -> Any:
        return self * -1 + other

    def __mul__(self, other: Any) -> Any:
        return self if other == 1 else self._with("Mul", other, lambda a, b: a * b)

    __rmul__ = __mul__

    def __floordiv__(self, other: Any) -> Any:
        return self if other == 1 else self._with("Div", other, lambda a, b: a // b)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Dim) and other.seen == self.seen

    def __hash__(self) -> int:
        return hash(self.seen)


class Sizes:
    """The sizes that are known so far, by what they were in the runs."""

    def __init__(self, runs: Sequence[Traced]) -> None:
        self.runs = runs
        self.known: dict[Numbers, Dim] = {}

    def learn(self, value: Value) -> None:
        """From now on, numbers may come from this value's sizes."""
        for size in self.shape(value):
            if isinstance(size, Dim) and size.of[0] is value:
                self.known.setdefault(size.seen, size)

    def shape(self, value: Value) -> tuple[Any, ...]:
        """The sizes of a value: numbers where they are the same in all runs."""
        shapes = [run.values[value.number].shape for run in self.runs]
        if len({len(s) for s in shapes}) > 1:
            raise OnnxExporterError("The number of dimensions of a tensor depends on the sizes of inputs that are to be dynamic")
        return tuple([seen[0] if len(set(seen)) == 1 else self.known.get(seen) or Dim((value, axis), seen)
                      for axis, seen in enumerate(zip(*shapes))])

    def number(self, seen: Numbers) -> Any:
        """A number that was `seen` in the runs: itself where always the same, else what decides it.

        Raises:
            OnnxExporterError: nothing that is known decides it.
        """
        if len(set(seen)) == 1:
            return seen[0]
        found = self.float(seen) if any([isinstance(n, float) for n in seen]) else self.int(seen)
        if found is None:
            raise OnnxExporterError(f"A number that depends on the sizes of inputs that are to be dynamic, {', '.join(map(str, seen))} in "
                                    "runs on inputs of several sizes, was computed in Python in a way that is not recognized")
        return found

    def int(self, seen: Numbers) -> Dim | None:
        dims = list(self.known.values())
        if seen in self.known:
            return self.known[seen]
        for dim in dims:
            slope = Fraction(seen[1] - seen[0], dim.seen[1] - dim.seen[0]) if dim.seen[1] != dim.seen[0] else None
            if slope is None:
                continue
            shift = {n - math.floor(slope * d) for n, d in zip(seen, dim.seen)}
            if len(shift) == 1:
                return Dim((dim * slope.numerator // slope.denominator + shift.pop()).of, seen)
        for i, a in enumerate(dims):
            for b in dims[i:]:
                for made in (a * b, a + b, a - b, b - a):
                    shift = {n - d for n, d in zip(seen, made.seen)}
                    if len(shift) == 1:
                        return Dim((made + shift.pop()).of, seen)
                products = [x * y for x, y in zip(a.seen, b.seen)]
                if not any([n % p for n, p in zip(seen, products)]) and len({n // p for n, p in zip(seen, products)}) == 1:
                    return Dim((a * b * (seen[0] // products[0])).of, seen)
                for c in dims:
                    if seen == tuple([x * y * z for x, y, z in zip(a.seen, b.seen, c.seen)]):
                        return a * b * c
        return None

    def float(self, seen: Numbers) -> Dim | None:
        for dim in self.known.values():
            for op, function in (("", float), ("Reciprocal", lambda n: 1 / n), ("Sqrt", math.sqrt), ("Log", math.log)):
                if min(dim.seen) < 1 or op == "Log" and min(dim.seen) < 2:
                    continue
                for inverse in (False, True) if op == "Sqrt" else (False,):
                    computed = [1 / function(n) if inverse else function(n) for n in dim.seen]
                    ratios = [s / c for s, c in zip(seen, computed)]
                    if all([math.isclose(r, ratios[0], rel_tol=1e-12) for r in ratios]):
                        return Dim(("float", dim, op, inverse, ratios[0]), seen)
        return None

    def merged(self, args: Sequence[Any]) -> Any:
        """One argument of what it was in the runs."""
        first = args[0]
        if isinstance(first, Value):
            return first
        if isinstance(first, dict):
            return {key: self.merged([a[key] for a in args]) for key in first}
        if type(first) in (tuple, list) or isinstance(first, tuple):
            if len({len(a) for a in args}) > 1:
                raise OnnxExporterError("The number of arguments of an operation depends on the sizes of inputs that are to be dynamic")
            items = [self.merged(list(a)) for a in zip(*args)]
            return items if isinstance(first, list) else tuple(items)
        if isinstance(first, slice):
            return slice(*[self.merged([getattr(a, part) for a in args]) for part in ("start", "stop", "step")])
        if isinstance(first, (int, float)) and not isinstance(first, bool):
            return self.number(tuple(args))
        return first

    def same(self, value: Value) -> bool:
        """Whether a constant is one, and the same in all runs."""
        found = [run.values[value.number].const for run in self.runs]
        first = found[0]
        return first is not None and all([c is not None and c.dtype == first.dtype and c.shape == first.shape and
                                          c.tobytes() == first.tobytes() for c in found[1:]])


def text_of(seen: Numbers, symbols: dict[Numbers, str], runs: Sequence[Traced]) -> str:
    """What a size is in the names of the inputs' sizes: `2*batch`; a name of its own where it is not to be said so.

    >>> text_of((4, 6, 10), {(2, 3, 5): "batch"}, [])
    '2*batch'
    """
    sizes = Sizes(runs)
    sizes.known = {of: Dim(("", name), of) for of, name in symbols.items()}
    found = sizes.known.get(seen) or sizes.int(seen)

    def shown(x: Any) -> str:
        if not isinstance(x, Dim):
            return str(x)
        op, *of = x.of
        a, b = (shown(of[0]), shown(of[1])) if len(of) == 2 else (str(of[0]), "")
        return {"": a, "Mul": f"{b}*{a}", "Add": f"{a} + {b}", "Sub": f"{a} - {b}", "Div": f"(({a})//{b})"}[op]

    return f"dim_{seen[0]}" if found is None else shown(found)


def agree(runs: Sequence[Traced]) -> bool:
    """Whether runs did the same operations."""
    def shown(run: Traced) -> list[tuple[str, int]]:
        return [(step.name, len(step.outputs)) for step in run.steps]

    first = shown(runs[0])
    return all([shown(run) == first and len(run.values) == len(runs[0].values) for run in runs[1:]])


_PLUS = [(1, 3), (2, 5), (3, 4), (1, 4), (2, 3), (1, 2), (3, 5), (4, 5), (1, 5), (2, 7)]
_ATTEMPTS = [lambda n, a: n + a, lambda n, a: n * (1 + a), lambda n, a: n - a, lambda n, a: n + 8 * a, lambda n, a: n + 32 * a]


def other_sizes(symbols: Sequence[int]) -> list[list[tuple[int, ...]]]:
    """Sizes to run a model with besides its example's, which are given: in each attempt two of each symbol's. No two symbols change in
    the same proportions, but in the attempts at the end, where those of one size change alike."""
    attempts = []
    for tied in (False, True):
        number = {n: i for i, n in enumerate(dict.fromkeys(symbols))}
        steps = [_PLUS[(number[n] if tied else i) % len(_PLUS)] for i, n in enumerate(symbols)]
        for change in _ATTEMPTS:
            attempt = [tuple([change(n, s[k]) for n, s in zip(symbols, steps)]) for k in range(2)]
            if min([min(sizes) for sizes in attempt]) > 0:
                attempts.append(attempt)
    return attempts


def resized(tensor: Tensor, sizes: dict[int, int]) -> Tensor:
    """The tensor with other sizes: its elements again and again, so that they stay what a model can take."""
    import torchcompat as torch

    for axis, size in sizes.items():
        if size != tensor.shape[axis]:
            tensor = tensor.index_select(axis, torch.arange(size) % tensor.shape[axis])
    return tensor.detach().clone()

