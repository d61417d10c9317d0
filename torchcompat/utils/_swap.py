"""How two tensors change places."""

from __future__ import annotations

import copyreg
import weakref

from autograd_tape.tensor import NOTHING, TensorRef

from .._tensor import Tensor

_SLOTS = [name for name in TensorRef.__slots__ if name != "__weakref__"]
_ABSENT = object()


def swap(t1: Tensor, t2: Tensor) -> None:
    """See `torch.utils.swap_tensors`."""
    for name, t in (("t1", t1), ("t2", t2)):
        if weakref.getweakrefs(t):
            raise RuntimeError(f"Cannot swap {name} because it has weakref associated with it")
    names1, names2 = [set(copyreg._slotnames(type(t))) for t in (t1, t2)]  # type: ignore[attr-defined]  # which copy, too, goes by
    if names1 != names2:
        raise RuntimeError("Cannot swap t1 and t2 if they have different slots")
    for name in [*_SLOTS, *sorted(names1 - set(_SLOTS))]:
        values = [getattr(t, name, _ABSENT) for t in (t2, t1)]
        for t, value in zip((t1, t2), values):
            if value is not _ABSENT:
                setattr(t, name, value)
            elif hasattr(t, name):
                delattr(t, name)
    t1.__dict__, t2.__dict__ = t2.__dict__, t1.__dict__
    t1.__class__, t2.__class__ = t2.__class__, t1.__class__
    for t in (t1, t2):
        made = getattr(t, "_info", NOTHING).accumulate_node
        node = None if made is None else made()
        if node is not None:  # a leaf's node is of whoever is the leaf now
            node.variable = t
