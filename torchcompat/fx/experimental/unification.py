"""Variables, and the values for them that make two structures equal.

>>> x, y = var("x"), var("y")
>>> unify((x, 2, y), (1, y, 2))
{~x: 1, ~y: 2}
>>> unify((x, x), (1,))
False
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Literal

from torchcompat._calls.absent import absences as _absences

Bindings = dict[object, object]
_numbers = itertools.count(1)


class Var:
    """A variable; two of one token are the same."""

    def __init__(self, *token: object) -> None:
        self.token = token[0] if token else f"_{next(_numbers)}"

    def __str__(self) -> str:
        return f"~{self.token}"

    __repr__ = __str__

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and isinstance(other, Var) and self.token == other.token

    def __hash__(self) -> int:
        return hash((type(self), self.token))


def var(*token: object) -> Var:
    """A variable: a new one where no token is given."""
    return Var(*token)


def isvar(n: object) -> bool:
    """Whether it is a variable."""
    return isinstance(n, Var)


def _walk(value: object, known: Mapping[object, object]) -> object:
    while isinstance(value, Var) and value in known:
        value = known[value]
    return value


def unify(u: object, v: object, s: Bindings | None = None) -> Bindings | Literal[False]:
    """Values of variables for which `u` and `v` are equal, False where one has more parts than the other.

    Args:
        s: values that are known.

    Raises:
        NotImplementedError: they differ, and are no tuples or lists.
    """
    known = {} if s is None else s
    u, v = _walk(u, known), _walk(v, known)
    if u == v:
        return known
    if isinstance(u, Var):
        return {**known, u: v}
    if isinstance(v, Var):
        return {**known, v: u}
    if not isinstance(u, (tuple, list)) or not isinstance(v, (tuple, list)):
        raise NotImplementedError(f"Could not find signature for _unify: <{type(u).__name__}, {type(v).__name__}, dict>")
    if len(u) != len(v):
        return False
    for a, b in zip(u, v):
        found = unify(a, b, known)
        if found is False:
            return False
        known = found
    return known


def reify(e: object, s: Mapping[object, object]) -> object:
    """`e` with the values of variables in their place."""
    e = _walk(e, s)
    if isinstance(e, (tuple, list)):
        return type(e)([reify(inner, s) for inner in e])
    return {key: reify(inner, s) for key, inner in e.items()} if isinstance(e, dict) else e


_absences(__name__)
