"""One operation under several names: `torch.clamp`, `torch.clip` and `Tensor.clamp` are three functions of the same code, each with a
door of its own, so that who listens to calls is told by which of them an operation was called."""

from __future__ import annotations

from types import CellType, FunctionType, MethodType

from ..annotations import Fn
from ..calls import Door


def face_of(function: Fn, module: str, name: str) -> Fn:
    """Another function that does what `function` does, called `name` (perhaps with the class that it is a method of) in `module`; the same
    one where its calls pass no door.

    >>> from autograd_tape import F, TensorRef
    >>> F.clip.__name__, F.clip is F.clamp, F.clip.__code__ is F.clamp.__code__, TensorRef.clip is F.clip
    ('clip', False, True, False)
    """
    door: Door | None = getattr(function, "door", None)
    if door is None or not isinstance(function, FunctionType):
        return function
    other = door.again()

    def cell(found: CellType) -> CellType:
        leads = found.cell_contents
        if leads is door:
            return CellType(other)
        if isinstance(leads, MethodType) and leads.__self__ is door:
            return CellType(MethodType(leads.__func__, other))
        return found

    face = FunctionType(function.__code__, function.__globals__, function.__name__, function.__defaults__,
                        tuple([cell(c) for c in function.__closure__ or ()]))
    face.__dict__.update(function.__dict__, door=other)
    face.__kwdefaults__, face.__doc__, face.__annotations__ = function.__kwdefaults__, function.__doc__, function.__annotations__
    face.__module__, face.__qualname__, face.__name__ = module, name, name.rpartition(".")[2]
    other.shown_as(face)
    return face
