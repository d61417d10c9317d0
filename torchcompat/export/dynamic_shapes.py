"""What is said of sizes: which of them may differ from call to call, within which bounds, and which are the same."""

from __future__ import annotations

import enum
from typing import Any, NamedTuple
from collections.abc import Iterator, Mapping, Sequence

import torchcompat as torch
from torchcompat._calls.absent import absences as _absences
from torchcompat._dynamo.exc import UserError, UserErrorType
from torchcompat.utils import _pytree as pytree

__all__ = ["Constraint", "Dim", "ShapesCollection", "dims"]


class _DimHint(enum.Enum):
    """What is known of a size without a name."""

    AUTO = enum.auto()
    DYNAMIC = enum.auto()
    STATIC = enum.auto()

    def __repr__(self) -> str:
        return f"DimHint({self.name})"

    __str__ = __repr__


class Dim:
    """A size by its name, between bounds; `k * dim + c` is one that follows from it.

    >>> 2 * Dim("half") + 1
    2*half + 1

    Raises:
        AssertionError: the name is no identifier, or no size is between the bounds.
    """

    AUTO, DYNAMIC, STATIC = _DimHint.AUTO, _DimHint.DYNAMIC, _DimHint.STATIC

    def __init__(self, name: str, *, min: int | None = None, max: int | None = None) -> None:
        self.min, self.max = 0 if min is None else min, max
        if max is not None and max <= self.min:
            raise AssertionError(f"Cannot create Dim with inconsistent min={min}, max={max}")
        if not name.isidentifier():
            raise AssertionError(f"Dim name must be a valid identifier, got {name}")
        self.__name__, self.root, self.factor, self.shift = name, self, 1, 0

    def _derived(self, factor: int, shift: int) -> Dim:
        made = object.__new__(Dim)
        made.root, made.factor, made.shift, made.min, made.max = self.root, factor, shift, 0, None
        text = self.root.__name__ if factor == 1 else f"{factor}*{self.root.__name__}"
        made.__name__ = text if not shift else f"{text} {'+' if shift > 0 else '-'} {abs(shift)}"
        return made

    def __add__(self, other: int) -> Dim:
        return self._derived(self.factor, self.shift + self._number(other, "add"))

    def __sub__(self, other: int) -> Dim:
        return self._derived(self.factor, self.shift - self._number(other, "subtract"))

    def __mul__(self, other: int) -> Dim:
        return self._derived(self.factor * self._number(other, "multiply"), self.shift * other)

    __radd__, __rmul__ = __add__, __mul__

    @staticmethod
    def _number(other: object, what: str) -> int:
        if type(other) is not int:
            raise NotImplementedError(f"Attempted to {what} {other} to a Dim, where an integer was expected. "
                                      "(Only increasing linear operations with integer coefficients are supported.)")
        return other

    def __repr__(self) -> str:
        if self.root is not self:
            return self.__name__
        parts = [repr(self.__name__), *[f"min={self.min}"] * (self.min != 2), *[f"max={self.max}"] * (self.max is not None)]
        return f"Dim({', '.join(parts)})"


def dims(*names: str, min: int | None = None, max: int | None = None) -> tuple[Dim, ...]:
    """Several sizes by name, between the same bounds."""
    return tuple([Dim(name, min=min, max=max) for name in names])


class Constraint(NamedTuple):
    """The bounds of a size that may differ."""

    lower: int
    upper: int | None

    def __repr__(self) -> str:
        return f"VR[{self.lower}, {'int_oo' if self.upper is None else self.upper}]"


class ShapesCollection:
    """What is said of the sizes of tensors, by the tensors: `shapes[tensor] = {0: dim}`."""

    def __init__(self) -> None:
        self._shapes: dict[int, Any] = {}

    def __setitem__(self, t: Any, shape: Any) -> None:
        if not isinstance(t, torch.Tensor):
            raise AssertionError(f"Cannot assign shape to non-tensor type {type(t)}")
        self._shapes[id(t)] = shape

    def __getitem__(self, t: Any) -> Any:
        return self._shapes.setdefault(id(t), {})

    def __len__(self) -> int:
        return len(self._shapes)

    def dynamic_shapes(self, m: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any] | None = None) -> list[Any]:
        """The same in the structure of the arguments."""
        return [pytree.tree_map(lambda t: self._shapes.get(id(t)), value) for value in (*args, *(kwargs or {}).values())]


class Symbol(NamedTuple):
    """A size that may differ.

    Attributes:
        places: (leaf of the arguments, its dimension, k, c): the sizes that are k times this plus c.
        base: what it is in the example.
        auto: whether it may as well be always the same.
    """

    name: str
    lower: int
    upper: int | None
    places: tuple[tuple[int, int, int, int], ...]
    base: int
    auto: bool = False

    @property
    def bounds(self) -> Constraint:
        """Between which it is."""
        return Constraint(self.lower, self.upper)


def _error(text: str) -> UserError:
    return UserError(UserErrorType.INVALID_INPUT, text)


def _said(shapes: Any, names: Sequence[str], values: Sequence[Any]) -> Iterator[Any]:
    """What is said of each leaf of the arguments."""
    if isinstance(shapes, Mapping):
        if unknown := [key for key in shapes if key not in names]:
            raise _error(f"When `dynamic_shapes` is specified as a dict, its top-level keys must be the arg names {list(names)} of "
                         f"`inputs`, but here they are {list(shapes) if unknown else ''}. Alternatively, you could also ignore arg names "
                         "entirely and specify `dynamic_shapes` as a list/tuple matching `inputs`.")
        shapes = [shapes.get(name) for name in names]
    if len(shapes) != len(values):
        raise _error("Detected mismatch between the structure of `inputs` and `dynamic_shapes`: `inputs` has "
                     f"{len(values)} elements, but `dynamic_shapes` has {len(shapes)} elements")
    for value, shape in zip(values, shapes):
        for path, leaf in pytree.tree_leaves_with_path(value):
            inner = shape
            for key in path:
                inner = None if inner is None else inner[getattr(key, "key", getattr(key, "idx", getattr(key, "name", None)))]
            if inner is not None and not isinstance(leaf, torch.Tensor) and inner is not _DimHint.STATIC:
                raise _error(f"Cannot associate shape {inner} specified at `dynamic_shapes{pytree.keystr(path)}` to non-tensor type "
                             f"{type(leaf)} at `inputs{pytree.keystr(path)}` (expected None)")
            yield inner


def symbols_of(shapes: Any, names: Sequence[str], values: Sequence[Any]) -> list[Symbol]:
    """The sizes that may differ, of what `dynamic_shapes` says of arguments.

    Raises:
        UserError: it has another structure than these, or says of sizes what they are not.
    """
    leaves = [leaf for value in values for leaf in pytree.tree_leaves(value)]
    found: dict[Any, list[Any]] = {}
    for i, (leaf, shape) in enumerate(zip(leaves, _said(shapes, names, values))):
        for axis, dim in shape.items() if isinstance(shape, Mapping) else enumerate(shape or ()):
            if dim is None or isinstance(dim, int) or dim is _DimHint.STATIC:
                continue
            if not -leaf.dim() <= axis < leaf.dim():
                raise _error(f"Tensor of {leaf.dim()} dimensions has no dimension {axis}, of which `dynamic_shapes` says {dim}")
            size = leaf.shape[axis]
            if isinstance(dim, Dim):
                root, rest = dim.root, size - dim.shift
                if rest % dim.factor:
                    raise _error(f"Expected {rest} to be divisible by {dim.factor}, of {dim.__name__} at a size of {size}")
                base = rest // dim.factor
                entry = found.setdefault(root.__name__, [root.min, root.max, [], base])
                if entry[3] != base:
                    head = f"Constraints violated ({root.__name__})! For more information, run with TORCH_LOGS=\"+dynamic\"."
                    why = f"  - The values of {root.__name__} = {entry[3]} and {base} are not equal"
                    raise UserError(UserErrorType.CONSTRAINT_VIOLATION, f"{head}\n{why}")
                entry[2].append((i, axis % leaf.dim(), dim.factor, dim.shift))
            else:
                name = dim if isinstance(dim, str) else f"s{len(found)}"
                found.setdefault(name, [2, None, [], size, dim is _DimHint.AUTO])[2].append((i, axis % leaf.dim(), 1, 0))
    return [Symbol(name, low, high, tuple(places), base, *auto) for name, (low, high, places, base, *auto) in found.items()]


def ways(symbols: list[Symbol]) -> Iterator[list[Symbol]]:
    """What to try in turn: all sizes on their own, those of the same size as one, the same but for those that need not differ."""
    yield symbols
    if [s for s in symbols if s.auto]:
        one: dict[object, Symbol] = {}
        for s in symbols:
            key: object = s.base if s.auto else s.name
            one[key] = one[key]._replace(places=one[key].places + s.places) if key in one else s
        yield list(one.values())
        yield [s for s in symbols if not s.auto]


_absences(__name__)
