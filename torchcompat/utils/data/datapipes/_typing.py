"""What types of elements pipes say that they have, `IterDataPipe[int]`, and whether elements are of them."""

from __future__ import annotations

import collections.abc
import types
from typing import Any, TypeVar, Union, get_args, get_origin

__all__: list[str] = []


def declared(cls: Any) -> Any:
    """The type of the elements of a class of pipes: the argument of the first base that has one; Any where none has."""
    for base in getattr(cls, "__mro__", ()):
        for generic in vars(base).get("__orig_bases__", ()):
            arguments = get_args(generic)
            if arguments and get_origin(generic) not in (collections.abc.Iterable,) and not isinstance(arguments[0], TypeVar):
                return arguments[0]
    return Any


def is_instance(value: Any, hint: Any) -> bool:
    """Whether a value is of a type, its elements included."""
    origin, arguments = get_origin(hint), get_args(hint)
    if hint is Any or isinstance(hint, (str, TypeVar)):
        return True
    if origin in (Union, types.UnionType):
        return any(is_instance(value, argument) for argument in arguments)
    if origin is tuple and arguments and isinstance(value, tuple):
        if len(arguments) == 2 and arguments[1] is Ellipsis:
            return all(is_instance(v, arguments[0]) for v in value)
        return len(value) == len(arguments) and all(is_instance(v, a) for v, a in zip(value, arguments))
    if origin is not None and isinstance(value, collections.abc.Mapping) and len(arguments) == 2:
        return isinstance(value, origin) and all(is_instance(k, arguments[0]) and is_instance(v, arguments[1]) for k, v in value.items())
    if origin is not None and isinstance(value, (list, set, frozenset)) and len(arguments) == 1:
        return isinstance(value, origin) and all(is_instance(v, arguments[0]) for v in value)
    return isinstance(value, type(None) if hint is None else origin or hint)


def is_subtype(left: Any, right: Any) -> bool:
    """Whether all values of one type are of the other."""
    if right is Any or left == right or isinstance(right, TypeVar):
        return True
    if left is Any:
        return False
    if get_origin(left) in (Union, types.UnionType):
        return all(is_subtype(argument, right) for argument in get_args(left))
    if get_origin(right) in (Union, types.UnionType):
        return any(is_subtype(left, argument) for argument in get_args(right))
    try:
        whole = issubclass(get_origin(left) or left, get_origin(right) or right)
    except TypeError:
        return False
    inner, outer = get_args(left), get_args(right)
    return whole and (not outer or len(inner) == len(outer) and all(is_subtype(a, b) for a, b in zip(inner, outer)))
