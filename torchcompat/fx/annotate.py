"""Types given to values while a program is traced."""

from __future__ import annotations

from typing import TypeVar

from torchcompat._calls.absent import absences as _absences

from .proxy import Proxy

__all__ = ["annotate"]

Value = TypeVar("Value")


def annotate(val: Value, type: object) -> Value:
    """`val`, whose node has this type from now on where `val` is a stand-in.

    Raises:
        RuntimeError: the node has a type already.
    """
    if isinstance(val, Proxy):
        if val.node.type:
            raise RuntimeError(f"Tried to annotate a value that already had a type on it! Existing type is {val.node.type} and new type is "
                               f"{type}. This could happen if you tried to annotate a function parameter value (in which case you should "
                               "use the type slot on the function signature) or you called annotate on the same value twice")
        val.node.type = type
    return val


_absences(__name__)
