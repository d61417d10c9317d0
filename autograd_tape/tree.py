"""Nested tuples, lists and dicts of tensors ("trees"): taking them apart and putting them together again."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from .errors import ArgumentError


def leaves(tree: Any) -> list[Any]:
    """The leaves from left to right; None is an empty tree, dicts count in the order of their keys.

    >>> leaves({"w": [1, (2, None)], "b": 3})
    [1, 2, 3]
    """
    found: list[Any] = []
    stack = [tree]
    while stack:
        node = stack.pop()
        if node is None:
            continue
        children = _children(node)
        if children is None:
            found.append(node)
        else:
            stack += reversed(children)
    return found


def _children(node: Any) -> list[Any] | None:
    if isinstance(node, dict):
        return list(node.values())
    return list(node) if isinstance(node, (tuple, list)) else None


def rebuild(tree: Any, values: Iterator[Any]) -> Any:
    """A tree of the same structure with other leaves, taken from `values` in order.

    >>> rebuild({"w": [1, (2, None)], "b": 3}, iter("xyz"))
    {'w': ['x', ('y', None)], 'b': 'z'}
    """
    if tree is None:
        return None
    if isinstance(tree, dict):
        copies = [(key, rebuild(child, values)) for key, child in tree.items()]
        return dict(copies) if type(tree) is dict else type(tree)(copies)
    if isinstance(tree, (tuple, list)):
        children = [rebuild(child, values) for child in tree]
        return type(tree)(*children) if hasattr(tree, "_fields") else type(tree)(children)
    return next(values)


def tree_map(function: Callable[..., Any], tree: Any, *others: Any) -> Any:
    """`function` of the leaves of trees of one structure, in that structure.

    >>> tree_map(lambda a, b: a + b, [1, (2,)], [10, (20,)])
    [11, (22,)]
    """
    for other in others:
        check_structure(tree, other)
    return rebuild(tree, iter([function(*values) for values in zip(leaves(tree), *map(leaves, others))]))


def structure(tree: Any) -> str:
    """The structure as text, `*` for a leaf.

    >>> structure({"w": [1, (2, None)]})
    "{'w': [*, (*, None)]}"
    """
    class Star:
        def __repr__(self) -> str:
            return "*"

    star = Star()
    return repr(rebuild(tree, iter([star] * len(leaves(tree)))))


def check_structure(tree: Any, other: Any, what: str = "Trees") -> None:
    """ArgumentError where two trees differ in structure.

    >>> check_structure([1, 2], (1, 2))
    Traceback (most recent call last):
    ...
    autograd_tape.errors.ArgumentError: Trees differ in structure. Expected [*, *], found (*, *). To fix it, pass the expected structure.
    """
    if structure(tree) != structure(other):
        raise ArgumentError(f"{what} differ in structure", expected=structure(tree), found=structure(other),
                            remedy="pass the expected structure")
