"""Graphs that hold for several sizes: a program is carried out at some, and the numbers that differ are computed of the sizes.

A number in the graph is looked for as k * a + l * b + c of the sizes a, b ..., with whole or broken factors, or as a multiple of a product
of some of them. What is found holds in all runs: one at the example's sizes, some where one size is another, and two where all are.
"""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import torchcompat as torch
from torchcompat._dynamo.exc import UserError, UserErrorType
from torchcompat.fx.graph import Graph
from torchcompat.fx.node import Node, map_aggregate

from ._recorded import Recorded
from .dynamic_shapes import Symbol


def _sized(leaves: Sequence[Any], symbols: Sequence[Symbol], sizes: Sequence[int]) -> list[Any]:
    """The arguments at other sizes: elements come again, or are left out."""
    made = list(leaves)
    for symbol, size in zip(symbols, sizes):
        for leaf, axis, factor, shift in symbol.places:
            tensor, wanted = made[leaf], factor * size + shift
            if tensor.shape[axis] != wanted:
                index = torch.arange(wanted) % max(tensor.shape[axis], 1)
                made[leaf] = tensor.detach().index_select(axis, index).requires_grad_(tensor.requires_grad)
    return made


def _others(symbol: Symbol) -> list[int]:
    """Other sizes to try, in turn."""
    low, high = max(symbol.lower, 2), math.inf if symbol.upper is None else symbol.upper
    return [n for n in (symbol.base + 2, symbol.base * 2, symbol.base + 1, symbol.base - 1, symbol.base * 3, symbol.base + 5)
            if low <= n <= high and n != symbol.base]


def _violated(symbols: Sequence[Symbol], why: str = "") -> UserError:
    names = ", ".join([s.name for s in symbols])
    lines = [f"  - You marked {s.name} as dynamic but your code specialized it to be a constant ({s.base}). If you're using mark_dynamic, "
             "either remove it or use maybe_mark_dynamic. If you're using Dim.DYNAMIC, replace it with either Dim.STATIC or Dim.AUTO."
             for s in symbols]
    fixes = "\n".join([f"  {s.name} = {s.base}" for s in symbols])
    text = f"Constraints violated ({names})! For more information, run with TORCH_LOGS=\"+dynamic\".\n" + "\n".join(lines)
    return UserError(UserErrorType.CONSTRAINT_VIOLATION, f"{text}\nSuggested fixes:\n{fixes}\n{why}")


def recorded_at_sizes(run: Callable[[list[Any]], Recorded], leaves: list[Any], symbols: Sequence[Symbol], first: int) -> Recorded:
    """The graph of a program for all sizes.

    Args:
        run: the program at these arguments.
        first: which input of the graph is the first argument.

    Raises:
        UserError: at other sizes the program is another.
    """
    base = run(leaves)
    if not symbols:
        return base
    runs: list[tuple[tuple[int, ...], Recorded]] = [(tuple([s.base for s in symbols]), base)]
    chosen: list[list[int]] = []
    for i, symbol in enumerate(symbols):
        sizes = list(runs[0][0])
        works = []
        for size in _others(symbol):
            sizes[i] = size
            try:
                runs.append((tuple(sizes), run(_sized(leaves, symbols, sizes))))
            except (RuntimeError, ValueError, IndexError):  # not at this size; perhaps at another
                continue
            works.append(size)
            if len(works) == 2:
                break
        if not works:
            raise _violated([symbol])
        chosen.append([works[0], works[-1]])
    for both in {tuple([c[0] for c in chosen]), tuple([c[1] for c in chosen])} - {s for s, _ in runs}:
        runs.append((both, run(_sized(leaves, symbols, both))))
    return _Merger(runs, symbols, first).merged()


class _Merger:
    """Makes one graph of those of several runs, the first of which it changes."""

    def __init__(self, runs: list[tuple[tuple[int, ...], Recorded]], symbols: Sequence[Symbol], first: int) -> None:
        self.sizes, self.runs, self.symbols = [s for s, _ in runs], [r for _, r in runs], symbols
        self.graph: Graph = self.runs[0].graph
        inputs = self.graph.find_nodes(op="placeholder")[first + len(self.runs[0].constants):]
        self.sources = [(inputs[s.places[0][0]], *s.places[0][1:]) for s in symbols]
        self.known: dict[int, Node] = {}
        self.made: dict[Any, Any] = {}

    def merged(self) -> Recorded:
        """The graph with numbers that are computed."""
        rows = [list(r.graph.nodes) for r in self.runs]
        if len({len(row) for row in rows}) > 1:
            raise _violated(self.symbols, "The program does something else at other sizes.")
        self.start = next(n for n in rows[0] if n.op != "placeholder")
        for nodes in zip(*rows):
            node = nodes[0]
            if len({(n.op, str(n.target)) for n in nodes}) > 1:
                raise _violated(self.symbols, f"At other sizes {node.name} is another operation.")
            with self.graph.inserting_before(node):
                node.args, node.kwargs = self.value([n.args for n in nodes]), self.value([n.kwargs for n in nodes])
            value = [n.meta.get("val") for n in nodes]
            if all([isinstance(v, torch.Tensor) for v in value]) and len({v.shape for v in value}) > 1:
                node.meta["sizes"] = [self.text(seen) for seen in zip(*[v.shape for v in value])]
        return self.runs[0]

    def value(self, seen: list[Any]) -> Any:
        """An argument, of what it was in the runs."""
        one = seen[0]
        if isinstance(one, (tuple, list)):
            if len({len(s) for s in seen}) > 1:
                raise _violated(self.symbols, "A list has another length at other sizes.")
            return type(one)([self.value(list(parts)) for parts in zip(*seen)]) if type(one) is tuple else [
                self.value(list(parts)) for parts in zip(*seen)]
        if isinstance(one, dict):
            return {key: self.value([s[key] for s in seen]) for key in one}
        if isinstance(one, Node) or one is ... or type(one) is slice:
            return map_aggregate(one, lambda x: x)
        if all([type(s) is type(one) and s == one for s in seen]):
            return one
        if type(one) is not int:
            raise _violated(self.symbols, f"A number, {one!r}, is {seen[1]!r} at another size.")
        key = tuple(seen)
        if key not in self.made:
            with self.graph.inserting_before(self.start):
                self.made[key] = self.computed(key)
        return self.made[key]

    def formula(self, seen: tuple[int, ...]) -> tuple[str, list[Fraction], Fraction]:
        """("sum", factors of the sizes, what is added) or ("product", exponents of the sizes, the factor).

        Raises:
            UserError: it is none.
        """
        base, count = self.sizes[0], len(self.symbols)
        factors = []
        for i in range(count):
            at = next(r for r, s in enumerate(self.sizes) if s[i] != base[i] and s[:i] + s[i + 1:] == base[:i] + base[i + 1:])
            factors.append(Fraction(seen[at] - seen[0], self.sizes[at][i] - base[i]))
        added = seen[0] - sum([math.floor(f * b) for f, b in zip(factors, base)])
        if all([added + sum([math.floor(f * s) for f, s in zip(factors, sizes)]) == n for sizes, n in zip(self.sizes, seen)]):
            return "sum", factors, Fraction(added)
        for powers in itertools.product((0, 1, 2), repeat=count):
            products = [math.prod([s**p for s, p in zip(sizes, powers)]) for sizes in self.sizes]
            if sum(powers) > 1 and len({Fraction(n, p) for n, p in zip(seen, products)}) == 1:
                return "product", [Fraction(p) for p in powers], Fraction(seen[0], products[0])
        raise _violated(self.symbols, f"A number, {seen[0]}, is not computed of the sizes in a way that is recognized.")

    def text(self, seen: tuple[int, ...]) -> str:
        """A size of a tensor as it is printed."""
        if len(set(seen)) == 1:
            return str(seen[0])
        try:
            kind, factors, rest = self.formula(seen)
        except UserError:
            return "?"
        names = [s.name for s in self.symbols]
        if kind == "product":
            return "*".join([*[str(rest)] * (rest != 1), *[n if p == 1 else f"{n}**{p}" for n, p in zip(names, factors) if p]])
        terms = [n if f == 1 else f"{f}*{n}" if f.denominator == 1 else f"({f.numerator}*{n}//{f.denominator})"
                 for n, f in zip(names, factors) if f]
        return " + ".join([*terms, *[str(rest)] * (rest != 0)])

    def size(self, i: int) -> Node:
        """The node of a size."""
        if i not in self.known:
            node, axis, factor, shift = self.sources[i]
            graph = self.graph
            made = graph.create_node("call_function", torch.ops.aten.sym_size.int, (node, axis), {}, name="sym_size_int_1")
            if shift:
                made = graph.call_function(operator.sub, (made, shift))
            if factor != 1:
                made = graph.call_function(operator.floordiv, (made, factor))
            self.known[i] = made
        return self.known[i]

    def computed(self, seen: tuple[int, ...]) -> Node:
        """The node of a number that the sizes decide."""
        kind, factors, rest = self.formula(seen)
        graph = self.graph
        used = [i for i, f in enumerate(factors) if f]
        parts: list[Any] = []
        for i in used:
            node = self.size(i)
            times = [node] * int(factors[i]) if kind == "product" else [node]
            if kind == "sum" and factors[i] != 1:
                times = [graph.call_function(operator.mul, (node, factors[i].numerator)) if factors[i].numerator != 1 else node]
                if factors[i].denominator != 1:
                    times = [graph.call_function(operator.floordiv, (times[0], factors[i].denominator))]
            parts += times
        joined: Any = parts[0]
        for part in parts[1:]:
            joined = graph.call_function(operator.mul if kind == "product" else operator.add, (joined, part))
        if kind == "sum" and rest:
            joined = graph.call_function(operator.add, (joined, int(rest)))
        if kind == "product" and rest != 1:
            joined = graph.call_function(operator.mul, (joined, rest.numerator)) if rest.numerator != 1 else joined
            joined = graph.call_function(operator.floordiv, (joined, rest.denominator)) if rest.denominator != 1 else joined
        made: Node = joined
        return made
