"""torch._guards: the mode that makes fakes, as compilers look for it."""

from __future__ import annotations

from ._calls.absent import absences as _absences
from ._subclasses.fake_tensor import FakeTensor, FakeTensorMode, active_fake_mode
from .utils import _pytree as pytree


def detect_fake_mode(inputs: object = None) -> FakeTensorMode | None:
    """The mode of the fakes in nested tuples, lists and dictionaries, or the innermost that is active; None where there is neither.

    Raises:
        AssertionError: there are several.
    """
    found = [t.fake_mode for t in pytree.tree_leaves(inputs) if isinstance(t, FakeTensor)]
    active = active_fake_mode()
    modes = list({id(mode): mode for mode in [*([] if active is None else [active]), *found]}.values())
    if len(modes) > 1:
        raise AssertionError("fake mode of the inputs doesn't match the mode that is active, or they are of several")
    return modes[0] if modes else None


_absences(__name__)
