"""How a result is sharded: what a record's field `sharding` says, carried out.

Most operations are told by *letters*: what each dimension of operands and results runs over. "m k, k n -> m n" is a matrix product: its
results are split as the operands are along `m` and `n`, and where `k` is split each device has a part of the sum. Where operands disagree,
`propagate` chooses what moves fewer bytes. Element-wise operations, reductions, products and most views are told so; for the others the
field is a function of the `Call`.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from dataclasses import dataclass, field
import numpy as np

from ..annotations import Fn, Functions, Keywords
from ..dims import wrap_dim
from ..executors import get_executor
from ..executors.meta import over
from ..record import Param, Record
from .array import ShardedArray, geometry, placed, summed
from .chain import LATENCY, chain
from .mesh import Mesh, Sharding, replicated

Letters = Sequence[Any]
"""What the dimensions of one tensor run over: any hashable things, None for what must be whole, `ONE` for size 1."""
ONE = "1"


@dataclass(slots=True)
class Plan:
    """How an operation is carried out on shards.

    Attributes:
        inputs: the shardings that the operands must have, by parameter; a list for a list of tensors.
        outputs: those of what the kernel returns.
        shapes: the shapes of the whole outputs, None to ask the meta executor.
        arguments: a function of (device, arguments by name) that gives the arguments for the kernel on its parts; None where they stay.
        after: a function of (device, those arguments, the kernel's results) that gives the results.
        combine: what parts of results over partial axes are combined with at once where that is no sum.
        run: in place of all these, what computes the result of the arguments by name, of other operations.
    """

    inputs: Mapping[str, Any] = field(default_factory=dict)
    outputs: Sequence[Sharding] = ()
    shapes: Sequence[Sequence[int]] | None = None
    arguments: Callable[[int, dict[str, Any]], dict[str, Any]] | None = None
    after: Callable[[int, Keywords, Any], Any] | None = None
    combine: str = "add"
    run: Callable[[dict[str, Any]], Any] | None = None


class Call:
    """A call of an operation on sharded arrays, for a rule to look at.

    Attributes:
        rec: the operation's record.
        values: the arguments by name.
        mesh: the mesh.
        F: the operations on sharded arrays, for rules that make one of others.
    """

    def __init__(self, rec: Record, values: dict[str, Any], mesh: Mesh, F: Functions) -> None:
        self.rec, self.values, self.mesh, self.F = rec, values, mesh, F

    def __getitem__(self, name: str) -> Any:
        return self.values[name]

    def shape(self, name: str) -> tuple[int, ...]:
        """The shape of an operand."""
        return tuple(self.values[name].shape)

    def sharding(self, name: str) -> Sharding:
        """The sharding of an operand; that of a plain array is whole."""
        return sharding_of(self.values[name], self.mesh)

    def dims(self, name: str, ndim: int) -> tuple[int, ...]:
        """The dimensions that a parameter names, all of `ndim` where it names none."""
        value = self.values.get(name)
        if value is None or value.__class__ is tuple and not value:
            return tuple(range(ndim))
        return tuple([wrap_dim(d, ndim) for d in (value if isinstance(value, (tuple, list)) else (value,))])

    @property
    def operands(self) -> list[tuple[Param, Any]]:
        """(parameter, array) of the arguments that are arrays, or lists of them."""
        return [(p, v) for p in self.rec.tensor_params if is_array(v := self.values.get(p.name))
                or isinstance(v, (list, tuple)) and len(v) and is_array(v[0])]

    def whole(self) -> Plan:
        """Every device computes all of it."""
        return Plan({p.name: [replicated(self.mesh, a.ndim) for a in v] if isinstance(v, (list, tuple)) else replicated(self.mesh, v.ndim)
                     for p, v in self.operands})

    def of(self, function: Fn) -> Plan:
        """Made of others: `function(F, **arguments)` of the operations on sharded arrays, whose sums do not wait unless the operation is
        linear."""
        settle = summed if not linearity(self.rec) else lambda array: array

        def spread(result: ShardedArray | float | np.generic | None) -> object:
            return placed(result, replicated(self.mesh, result.ndim)) if isinstance(result, np.ndarray) else result

        def run(values: dict[str, Any]) -> Any:
            result = function(self.F, **{n: settle(v) for n, v in values.items()})
            return [spread(r) for r in result] if isinstance(result, (tuple, list)) else spread(result)

        return Plan(run=run)

    def composed(self) -> Plan:
        """Made of others as the record's `compose` says."""
        compose = self.rec.field("compose")
        return self.of(lambda F, **values: compose(F, *values.values()))

    def is_split(self, name: str, dims: Iterable[int]) -> bool:
        """Whether an operand is split along one of these dimensions."""
        found = self.sharding(name).dims
        return any([found[d] for d in dims])

    def even(self, letter: str, place: tuple[str, int], of: int | None = None) -> str:
        """The letter for a dimension (operand, number) where devices have equal pieces, whole ones of `of` parts, else "W" for a whole
        one."""
        name, d = place
        return "W" if (of or self.shape(name)[d]) % self.mesh.count(self.sharding(name).dims[d]) else letter

    def leading(self, n: int, size: str = "") -> Plan:
        """The plan where all but the last `n` dimensions are alike in operands and results, and computed by themselves.

        Args:
            size: the parameter that gives the shape of the result.
        """
        lead = range(self.operands[0][1].ndim - n)
        outs = len(self.rec.returns) + len(self.rec.saved_returns)
        plan = self.propagate([[*lead, *[None] * n]] * len(self.operands), [[*lead, *[None] * n]] * outs)
        if size:
            out, shape = plan.outputs[0], tuple(self[size])
            plan.arguments = lambda device, values: {**values, size: out.local_shape(shape, device)}
        return plan

    def sized(self, plan: Plan, parameter: str, shape: Sequence[int]) -> Plan:
        """The plan of an operation that is told the shape of its result, the whole of which is `shape`."""
        shape, out = tuple(shape), plan.outputs[0]
        if any(out.dims):
            plan.arguments = lambda device, values: {**values, parameter: out.local_shape(shape, device)}
        return plan

    def viewed(self) -> Plan:
        """As views go."""
        return viewed(self)

    def dimensions(self, shape: Sequence[int], view: Callable[[np.ndarray], Any]) -> tuple[set[int], list[Letters]]:
        """(dimensions of an array of this shape that are dimensions of all its views, which they are of each)."""
        return dimensions(shape, view)[:2]

    def view_of_root(self, view: Callable[[np.ndarray], np.ndarray]) -> Plan:
        """A view of the memory that the operand, a view itself perhaps, is over: `view` makes it of all of that, in one place."""
        root = self.operands[0][1].root

        def run(values: dict[str, Any]) -> ShardedArray:
            whole = view(root.geometry)
            made = ShardedArray(whole, [], replicated(self.mesh, whole.ndim))
            made.look_at(root, view)
            return made

        return Plan(run=run)

    def alone(self) -> Plan:
        """Without the operand's values: every device makes the whole."""
        name, array = self.operands[0][0].name, self.operands[0][1]
        shape = tuple(self["shape"])
        return Plan({name: sharding_of(array, self.mesh)}, [replicated(self.mesh, len(shape))], [shape])

    def elementwise(self) -> Plan:
        """As element-wise operations go."""
        return elementwise(self)

    def letters(self, notation: str, **options: Any) -> Plan:
        """The plan of a notation such as "m k, k n -> m n": see `parsed`."""
        given, made = parsed(notation, [v.ndim for _, v in self.operands])
        return self.propagate(given, made, **options)

    def propagate(self, given: Sequence[Letters], made: Sequence[Letters], *, linear: str | None = None, combine: str = "add",
                  shapes: Sequence[Sequence[int]] | None = None, added: Sequence[int] = (), empties: bool | None = None,
                  **options: Any) -> Plan:
        """The plan of an operation whose operands, in order, have these letters, and whose results have those.

        Args:
            linear: what passes partial sums on, see `propagate`; left out, what the record says.
            added: the numbers of operands that are added to what is made of the others, as a bias is.
            combine: what parts are combined with over letters that results have not, where these are split.
            empties: whether devices may have nothing to compute; left out, those of linear and of element-wise operations may.
            options: further attributes of the plan.
        """
        differentiable = {p.name for p, _ in self.operands if p.differentiable}
        flat = [(p.name, a) for p, v in self.operands for a in (v if isinstance(v, (list, tuple)) else (v,))]
        if linear is None:
            linear = linearity(self.rec)
        fixed = [i for i, (name, _) in enumerate(flat) if name not in differentiable]
        found = propagate(self.mesh, [(tuple(a.shape), sharding_of(a, self.mesh), a.dtype.itemsize, letters)
                                      for (_, a), letters in zip(flat, given)], made, linear if combine == "add" else "",
                          self.rec.elementwise or linear != "" and combine == "add" if empties is None else empties, added, fixed)
        inputs: dict[str, Any] = {}
        for (name, _), sharding in zip(flat, found[0]):
            if isinstance(self.values[name], (list, tuple)):
                inputs.setdefault(name, []).append(sharding)
            else:
                inputs[name] = sharding
        if shapes is None and all([letter is not None for letters in made for letter in letters]):
            sizes: dict[Any, int] = {}
            for (_, a), letters in zip(flat, given):
                for n, letter in zip(a.shape, letters):
                    if letter is not None and sizes.get(letter, 1) == 1:
                        sizes[letter] = n
            if all([letter in sizes or letter == ONE for letters in made for letter in letters]):
                shapes = [[1 if letter == ONE else sizes[letter] for letter in letters] for letters in made]
        return Plan(inputs, found[1], shapes, combine=combine, **options)


def is_array(value: object) -> bool:
    """Whether it is an array, sharded or not."""
    return isinstance(value, (np.ndarray, ShardedArray))


def sharding_of(array: ShardedArray | np.ndarray, mesh: Mesh) -> Sharding:
    """How an array lies; a plain one every device has whole."""
    return array.sharding if isinstance(array, ShardedArray) else replicated(mesh, array.ndim)


def linearity(rec: Record) -> str:
    """What of a record's operands partial sums pass through: see `propagate`."""
    told: str | None = rec.field("passes_partial")
    if told is not None:
        return told
    jvp = rec.field("jvp")
    return "all" if jvp == "linear" or jvp is None and rec.family in ("view", "view?") else "each" if jvp == "bilinear" else ""


def parsed(notation: str, ndims: Sequence[int]) -> tuple[list[Letters], list[Letters]]:
    """The letters of operands and results in a notation, for operands with these numbers of dimensions.

    Words are separated by spaces: a letter; "*x" any number of dimensions, aligned from the right as in broadcasting; an upper-case letter
    a dimension that must be whole, or as "*X" any number of them; "1" one of size 1.

    >>> parsed("*b m k, *b k n -> *b m n", [3, 2])
    ([[('b', 0), 'm', 'k'], ['k', 'n']], [[('b', 0), 'm', 'n']])
    """
    left, _, right = notation.partition("->")
    given: list[Letters] = []
    most: dict[str, int] = {}

    def read(words: list[str], count: int | None) -> Letters:
        found: list[object] = []
        for word in words:
            if word.startswith("*"):
                n = most.get(word[1:], 0) if count is None else count - len(words) + 1
                most[word[1:]] = max(most.get(word[1:], 0), n)
                found += [None if word.isupper() else (word[1:], i) for i in reversed(range(n))]
            else:
                found.append(None if word.isupper() else word)
        return found

    for words, n in zip([term.split() for term in left.split(",")], ndims):
        given.append(read(words, n))
    return given, [read(term.split(), None) for term in right.split(",")]


def propagate(mesh: Mesh, operands: Sequence[tuple[tuple[int, ...], Sharding, int, Letters]], made: Sequence[Letters], linear: str,
              empties: bool = True, added: Sequence[int] = (), fixed: Sequence[int] = ()) -> tuple[list[Sharding], list[Sharding]]:
    """(shardings that the operands must have, those of the results).

    Each letter gets the axes that some operand has it split over, or none. Of all combinations of these the one is taken that moves fewest
    bytes.

    Args:
        operands: of each (shape, sharding, bytes of an element, letters).
        linear: "all" where the operation is linear in all operands together, so that it passes sums on whose parts lie over the same axes;
            "each" where it is linear in each of them, so that it passes on those of one; the number of the only one that it is linear
            in; otherwise "".
        empties: whether devices may have nothing to compute.
        added: the numbers of operands that are added to what is made of the others.
        fixed: those of operands, such as indices, that it is linear in none of.
    """
    proposals: dict[object, list[tuple[str, ...]]] = {}
    wide = {letter for shape, _, _, letters in operands for n, letter in zip(shape, letters) if n != 1}
    broadcast = [{letter for n, letter in zip(shape, letters) if n == 1 and letter in wide} for shape, _, _, letters in operands]
    for i, (shape, sharding, _, letters) in enumerate(operands):
        for letter, axes in zip(letters, sharding.dims):
            if axes and letter is not None and letter not in broadcast[i] and axes not in proposals.setdefault(letter, []):
                if empties or _all_have(mesh, axes, shape[letters.index(letter)]):
                    proposals[letter].append(axes)
    apart = {*added, *fixed}
    partials = _partials([frozenset[str]() if i in apart else s.partial_sum_axes for i, (_, s, _, _) in enumerate(operands)], linear, fixed)
    best: tuple[float, dict[object, tuple[str, ...]], list[frozenset[str]]] | None = None
    tried = 0
    for chosen in itertools.product(*[[*axes, ()] for axes in proposals.values()]):
        used = list(itertools.chain(*chosen))
        if len(set(used)) != len(used):
            continue
        tried += 1
        if tried > 64 and best is not None:
            break
        letters_axes = dict(zip(proposals, chosen))
        for partial in partials:
            if any([a in used for part in partial for a in part]):
                continue
            wanted = [_wanted(mesh, letters_axes, broadcast[i], letters, partial[i]) for i, (_, _, _, letters) in enumerate(operands)]
            cost = sum([_cost(sharding, goal, shape, size) for (shape, sharding, size, _), goal in zip(operands, wanted)])
            # Of equal costs that which shares the work among more devices, then that which leaves sums for later.
            cost -= 1e-3 * sum([mesh.axes[a] for a in used])
            if best is None or cost < best[0] - 1e-6:
                best = cost, letters_axes, partial
    assert best is not None  # all whole is always a way
    _, found, partial = best
    kept = frozenset(itertools.chain(*partial))
    sums = kept.union(*[axes for letter, axes in found.items() if all([letter not in letters for letters in made])])
    inputs = [_wanted(mesh, found, broadcast[i], letters, sums if i in added else partial[i])
              for i, (_, _, _, letters) in enumerate(operands)]
    # What one of several results runs over is summed in none of them: the others are the same all along it.
    return inputs, [Sharding(mesh, [() if letter is None else found.get(letter, ()) for letter in letters], sums) for letters in made]


def _all_have(mesh: Mesh, axes: Sequence[str], n: int) -> bool:
    """Whether each device has some of `n` elements that are split over these axes."""
    if not axes or not n:
        return n > 0
    count = mesh.axes[axes[0]]
    most = -(-n // count)
    least = n - (count - 1) * most
    return least > 0 and all([_all_have(mesh, axes[1:], size) for size in {most, least}])


def _wanted(mesh: Mesh, axes: Mapping[object, tuple[str, ...]], single: set[Any], letters: Letters, partial: frozenset[str]) -> Sharding:
    return Sharding(mesh, [() if letter is None or letter in single else axes.get(letter, ()) for letter in letters], partial)


def _partials(found: Sequence[frozenset[str]], linear: str, fixed: Sequence[int]) -> list[list[frozenset[str]]]:
    """The partial sums that operands may keep, most first."""
    none = [frozenset[str]()] * len(found)
    every = frozenset[str]().union(*found)
    if not every or not linear:
        return [none]
    if linear == "all":
        return [[none[0] if i in fixed else every for i in range(len(found))], none]
    if linear == "each":
        return [*[[part if j == i else frozenset[str]() for j in range(len(found))] for i, part in enumerate(found) if part], none]
    first = int(linear)  # the number of the operand that it is linear in
    return [[part if i == first else frozenset[str]() for i, part in enumerate(found)], none]


def _cost(at: Sharding, goal: Sharding, shape: tuple[int, ...], itemsize: int) -> float:
    return sum([step.bytes + LATENCY for step in chain(at, goal, shape, itemsize) if step.kind not in ("slice", "part")])


# -- rules by name ------------------------------------------------------------------------------------------------------


def elementwise(call: Call) -> Plan:
    """Operands broadcast against each other."""
    arrays = [v for _, v in call.operands]
    n = max([a.ndim for a in arrays])
    shape = np.broadcast_shapes(*[tuple(a.shape) for a in arrays])
    outs = len(call.rec.returns) + len(call.rec.saved_returns)
    return call.propagate([range(n - a.ndim, n) for a in arrays], [range(n)] * outs, shapes=[shape] * outs)


def rule_of(rec: Record) -> Callable[[Call], Plan] | None:
    """The rule of an operation; None where there is none, so that every device computes all of it."""
    told = rec.field("sharding")
    if callable(told):
        return told
    if isinstance(told, str):
        named = NAMED.get(told.partition(" ")[0])
        return (lambda call: call.letters(told)) if named is None else named(told)
    return elementwise if rec.elementwise else viewed if rec.family == "view" else None


def reduction(told: str) -> Callable[[Call], Plan]:
    """"reduces dim by add": over the dimensions that a parameter names, kept where `keepdim`; "dim" is left out where it is all."""
    words = told.split()
    combine, parameter = words[-1], words[1] if len(words) > 3 else ""

    def rule(call: Call) -> Plan:
        array = call.operands[0][1]
        dims = call.dims(parameter, array.ndim) if parameter else tuple(range(array.ndim))
        keep = call.values.get("keepdim", False)
        if combine.startswith("logical") and call.values.get(parameter) == ():
            dims = ()  # which alone take no dimensions as none
        out = [ONE if d in dims else d for d in range(array.ndim) if keep or d not in dims]
        return call.propagate([range(array.ndim)], [out], combine=combine, empties=combine not in ("maximum", "minimum"))

    return rule


def along(told: str) -> Callable[[Call], Plan]:
    """"along dim": each line along the dimensions that a parameter names is computed by itself, so that these must be whole; all operands
    have the same dimensions, and results have these, or lack those where there is a `keepdim` that is False. With "or composed", where
    they are split the operation is made of others, so that no more than statistics of the lines need be moved."""
    parameter = told.split()[1]

    def rule(call: Call) -> Plan:
        array = call.operands[0][1]
        dims = call.dims(parameter, array.ndim) if array.ndim else ()
        if told.endswith("or composed") and any([call.is_split(p.name, dims) for p, _ in call.operands]):
            return call.composed()
        drops = call.values.get("keepdim") is False
        given = [None if d in dims else d for d in range(array.ndim)]
        outs = len(call.rec.returns) + len(call.rec.saved_returns)
        return call.propagate([given] * len(call.operands), [[x for x in given if x is not None or not drops]] * outs)

    return rule


def dimensions(shape: Sequence[int], view: Callable[[np.ndarray], Any]) -> tuple[set[int], list[Letters], list[tuple[int, ...]]]:
    """(dimensions of an array of this shape that are dimensions of all its views, which they are of each, their shapes): those that go
    through memory in the same steps and as far."""
    # Steps that tell dimensions apart, over memory that nobody looks at.
    steps = [(101 + 2 * i) ** 2 for i in range(len(shape))]
    made = view(over(np.zeros(1, np.int8), tuple(shape), tuple(steps)))
    views = made if isinstance(made, (tuple, list)) else [made]
    found = []
    for v in views:
        lines = {step: n for n, step in zip(v.shape, v.strides)}
        found.append({d for d, step in enumerate(steps) if lines.get(step) == shape[d]})
    kept = set.intersection(*found) if found else set()
    letters: list[Letters] = []
    for v in views:
        numbers = {step: d for d, step in enumerate(steps) if d in kept}
        letters.append([numbers.pop(step, None) for step in reversed(v.strides)][::-1])  # one put before one of size 1 has its step
    return kept, letters, [v.shape for v in views]


def viewed(call: Call) -> Plan:
    """The rule of views: a dimension of the view is one of the operand's, where it goes through memory in the same steps and as far; the
    others must be whole."""
    name, shape = call.operands[0][0].name, call.shape(call.operands[0][0].name)
    run = get_executor("numpy").run
    kept, letters, shapes = dimensions(shape, lambda probe: run(call.rec, {**call.values, name: probe}))
    plan = call.propagate([[d if d in kept else None for d in range(len(shape))]], letters, shapes=shapes)
    sized = next((p.name for p in call.rec.params if p.name in ("size", "shape") and p.type.startswith("int[")), None)
    return plan if sized is None else call.sized(plan, sized, shapes[0])


def reshaped(told: str) -> Callable[[Call], Plan]:
    """"reshape shape": into the shape that a parameter names. Of dimensions that are joined or cut, the outermost stays split where all
    devices have whole rows of what is inside."""
    parameter = told.split()[1]

    def rule(call: Call) -> Plan:
        name, array = call.operands[0][0].name, call.operands[0][1]
        old, at, mesh = tuple(array.shape), call.sharding(name), call.mesh
        asked = call[parameter]
        new = geometry(old, np.dtype("?")).reshape(asked).shape
        kept: list[tuple[str, ...]] = [()] * len(old)
        made: list[tuple[str, ...]] = [()] * len(new)
        for ins, outs in _groups(old, new):
            axes = at.dims[ins[0]]
            while axes and not (len(ins) == len(outs) == 1) and (old[ins[0]] % mesh.count(axes) or new[outs[0]] % mesh.count(axes)):
                axes = axes[:-1]
            kept[ins[0]] = made[outs[0]] = axes
        partial = at.partial_sum_axes
        out = Sharding(mesh, made, partial)
        return Plan({name: Sharding(mesh, kept, partial)}, [out], [new],
                    lambda device, values: {**values, parameter: out.local_shape(new, device)})

    return rule


def _groups(old: Sequence[int], new: Sequence[int]) -> list[tuple[list[int], list[int]]]:
    """The dimensions of two shapes, those of size 1 aside, in groups that have the same elements.

    >>> _groups((2, 3, 4, 1, 5), (6, 2, 2, 5))
    [([0, 1], [0]), ([2], [1, 2]), ([4], [3])]
    """
    ins, outs = [d for d, n in enumerate(old) if n != 1], [d for d, n in enumerate(new) if n != 1]
    if 0 in old:
        return []
    found, i, j = [], 0, 0
    while i < len(ins) and j < len(outs):
        first, second = [ins[i]], [outs[j]]
        a, b = old[ins[i]], new[outs[j]]
        while a != b:
            if a < b:
                i += 1
                first.append(ins[i])
                a *= old[ins[i]]
            else:
                j += 1
                second.append(outs[j])
                b *= new[outs[j]]
        found.append((first, second))
        i, j = i + 1, j + 1
    return found


NAMED: dict[str, Callable[[str], Callable[[Call], Plan]]] = {"reduces": reduction, "along": along, "reshape": reshaped,
                                                            "composed": lambda told: Call.composed}
"""What the first word of a field `sharding` can be, that is no notation."""


__all__ = ["Call", "Letters", "Plan", "elementwise", "linearity", "parsed", "propagate", "rule_of", "sharding_of"]
