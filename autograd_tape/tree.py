"""Trees of tensors, taken apart and put together again: nested tuples, lists, dicts, named tuples, dataclasses, attrs classes, and types of
the caller's (`register_tree`)."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from .annotations import Fn, Values
from .errors import ArgumentError

if TYPE_CHECKING:
    import numpy as np
    from .return_types import _lu_with_info
    from .tensor import TensorRef
    pass

_registered: dict[type, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {}
_leaves: set[type] = set()  # classes that are known to be no trees


def register_tree(cls: type, flatten: Callable[[Any], Any], unflatten: Callable[[Any], Any]) -> type:
    """Makes the instances of a class trees: transforms, traces and checks look for tensors in them.

    Args:
        flatten: gives what an instance is made of, as a tree: a list, say, or a dict.
        unflatten: makes an instance of such a tree, with other leaves in it.

    Raises:
        ArgumentError: it is no class, or a tree already, or one of the functions cannot be called.

    >>> class Pair:
    ...     def __init__(self, a, b): self.a, self.b = a, b
    >>> _ = register_tree(Pair, lambda pair: [pair.a, pair.b], lambda parts: Pair(*parts))
    >>> leaves(Pair(1, [2, 3])), tree_map(lambda x: x * 10, Pair(1, 2)).b
    ([1, 2, 3], 20)
    """
    if not isinstance(cls, type) or cls in _registered or issubclass(cls, (tuple, list, dict)):
        raise ArgumentError("register_tree() takes a class that is no tree yet", expected="a class of its own", found=repr(cls),
                            remedy="register each class once; tuples, lists and dicts are trees as they are")
    for function in (flatten, unflatten):
        if not callable(function):
            raise ArgumentError("register_tree() takes two functions", expected="flatten(instance) and unflatten(parts)",
                                found=type(function).__name__, remedy="pass functions")
    _registered[cls] = flatten, unflatten
    _leaves.clear()
    return cls


def children(node: Any) -> dict[Any, Any] | None:
    """What a node is made of, by key, position or field; None for a leaf."""
    if type(node) in _leaves:
        return None
    if isinstance(node, dict):
        return node
    if isinstance(node, (tuple, list)):
        return dict(enumerate(node))
    own = _registered.get(type(node))
    if own is not None:
        return {"parts": own[0](node)}
    names = _fields(type(node))
    if names is None:
        _leaves.add(type(node))
    return None if names is None else {name: getattr(node, name) for name in names}


def _fields(cls: type) -> Sequence[str] | None:
    """The fields of a dataclass or of an attrs class that is not this package's own."""
    if cls.__module__.startswith("autograd_tape."):
        return None
    found = cls.__dict__.get("__dataclass_fields__", getattr(cls, "__dataclass_fields__", None))
    if found is not None:
        return [name for name, field in found.items() if field._field_type.name == "_FIELD"]
    found = getattr(cls, "__attrs_attrs__", None)
    return None if found is None else [field.name for field in found]


def _made(node: Any, parts: list[Any]) -> Any:
    """A node like another of other children."""
    if isinstance(node, dict):
        if type(node) is dict:
            return dict(zip(node, parts))
        result = copy.copy(node)  # a defaultdict keeps its default
        result.update(zip(node, parts))
        return result
    if isinstance(node, (tuple, list)):
        return type(node)(*parts) if hasattr(node, "_fields") else type(node)(parts)
    own = _registered.get(type(node))
    if own is not None:
        return own[1](parts[0])
    result = copy.copy(node)
    for name, part in zip(children(node) or (), parts):
        object.__setattr__(result, name, part)  # also where it is frozen
    return result


def leaves(tree: Any) -> list[Any]:
    """The leaves from left to right; None is an empty tree, dicts count in the order of their keys.

    >>> leaves({"w": [1, (2, None)], "b": 3})
    [1, 2, 3]
    """
    if type(tree) in _leaves and tree is not None:
        return [tree]
    found: list[Any] = []
    stack = [tree]
    while stack:
        node = stack.pop()
        if node is None:
            continue
        if (kind := type(node)) in _leaves:
            found.append(node)
            continue
        if kind is tuple or kind is list:
            stack += node[::-1]
            continue
        below = children(node)
        if below is None:
            found.append(node)
        else:
            stack += reversed(list(below.values()))
    return found


def rebuild(tree: Any, values: Iterator[Any]) -> Any:
    """A tree of the same structure with other leaves, taken from `values` in order.

    >>> rebuild({"w": [1, (2, None)], "b": 3}, iter("xyz"))
    {'w': ['x', ('y', None)], 'b': 'z'}
    """
    if tree is None:
        return None
    if (kind := type(tree)) in _leaves:
        return next(values)
    if kind is tuple or kind is list:
        return kind([rebuild(child, values) for child in tree])
    below = children(tree)
    return next(values) if below is None else _made(tree, [rebuild(child, values) for child in below.values()])


def tree_map(function: Fn, tree: object, *others: object) -> Any:
    """`function` of the leaves of trees of one structure, in that structure.

    >>> tree_map(lambda a, b: a + b, [1, (2,)], [10, (20,)])
    [11, (22,)]
    """
    if not others and type(tree) in _leaves and tree is not None:
        return function(tree)
    others = tuple([leaves_like(tree, other) for other in others])
    return rebuild(tree, iter([function(*values) for values in zip(leaves(tree), *others)]))


def structure(tree: object) -> str:
    """The structure as text, `*` for a leaf.

    >>> structure({"w": [1, (2, None)]})
    "{'w': [*, (*, None)]}"
    """
    class Star:
        def __repr__(self) -> str:
            return "*"

    star = Star()
    return repr(rebuild(tree, iter([star] * len(leaves(tree)))))


def _plain(items: Any) -> bool:
    """Whether items of a list are leaves for certain."""
    return _leaves.issuperset(kinds := list(map(type, items))) and type(None) not in kinds


def leaves_like(tree: Sequence[Values] | TensorRef | _lu_with_info, other: tuple[Values, ...] | np.ndarray | _lu_with_info,
                what: str = "Trees") -> list[Any]:
    """The leaves of `other` in the order of those of `tree`; dicts are the same where they have the same keys.

    Raises:
        ArgumentError: the trees differ in structure.

    >>> leaves_like({"w": 1, "b": 2}, {"b": 20, "w": 10})
    [10, 20]
    >>> leaves_like([1, 2], (1, 2))
    Traceback (most recent call last):
    ...
    autograd_tape.errors.ArgumentError: Trees differ in structure. Expected [*, *], found (*, *). To fix it, pass the expected structure.
    """
    if (kind := type(tree)) in _leaves and tree is not None and type(other) in _leaves and other is not None:
        return [other]
    if (kind is tuple or kind is list) and kind is type(other) and len(tree) == len(other) and _plain(tree) and _plain(other):
        return list(other)
    found: list[Any] = []

    def walk(a: Any, b: Any) -> bool:
        if a is None or b is None:
            return a is b
        kind, other_kind = type(a), type(b)
        if kind in _leaves and other_kind in _leaves:
            found.append(b)
            return True
        if kind is other_kind and (kind is tuple or kind is list):
            return len(a) == len(b) and all(map(walk, a, b))
        above, below = children(a), children(b)
        if above is None or below is None:
            found.append(b)
            return above is below
        same = isinstance(a, dict) and isinstance(b, dict) or type(a) is type(b)
        return same and above.keys() == below.keys() and all([walk(child, below[key]) for key, child in above.items()])

    if not walk(tree, other):
        raise ArgumentError(f"{what} differ in structure", expected=structure(tree), found=structure(other),
                            remedy="pass the expected structure")
    return found
