"""NumPy's own functions, with lists of tensors taken where arrays are."""

from __future__ import annotations

import functools
from types import ModuleType
from typing import Any

from ..annotations import Fn
from ..tensor import TensorRef
from ._tables import FUNCTIONS, SEQUENCES, UFUNCS, holds_tensors, tensor

_own: dict[object, object] = {}


def own(module: ModuleType, name: str) -> Any:
    """What a module of NumPy's has under a name; functions that know tensors also take them in lists.

    Raises:
        AttributeError: the module has no such name.
    """
    theirs = getattr(module, name)
    try:
        return _own.setdefault(theirs, Lifted(theirs)) if theirs in UFUNCS or theirs in FUNCTIONS else theirs
    except TypeError:  # what cannot be hashed is no function
        return theirs


class Lifted:
    """A function of NumPy's, with lists of tensors made tensors. Functions that take several arrays in a list get that list."""

    def __init__(self, theirs: Any) -> None:
        self.theirs, self.ours, self.sequence = theirs, FUNCTIONS.get(theirs), theirs in SEQUENCES
        functools.update_wrapper(self, theirs, updated=())

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self.sequence and args and hasattr(args[0], "__next__"):
            args = ([*args[0]], *args[1:])
        if not any([isinstance(x, (TensorRef, list, tuple)) and holds_tensors(x) for x in (*args, *kwargs.values())]):
            return self.theirs(*args, **kwargs)
        if self.sequence or self.ours is not None and any([isinstance(x, (list, tuple)) for x in args[1:]]):
            return self.ours(*args, **kwargs)  # type: ignore[misc]  # sequences are functions in the table
        return self.theirs(*[tensor(x) if isinstance(x, (list, tuple)) and holds_tensors(x) else x for x in args], **kwargs)

    def __getattr__(self, name: str) -> Fn:
        return getattr(self.theirs, name)

    def __repr__(self) -> str:
        return f"<{self.theirs!r}, also of lists of tensors>"
