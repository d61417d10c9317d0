"""autograd.Function under transforms: `jvp` and `vmap` of user-written operations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from autograd_tape.annotations import Arguments
from .._tensor import Tensor, frontend
from ..autograd import function
from ._batching import by_rule, loop
from ._levels import VMAP, Level, below, state
from ._transform import top_level
from ._whole import set_tangent, tangent_of

if TYPE_CHECKING:
    from torchcompat.autograd.function import FunctionMeta


def apply(cls: FunctionMeta, args: Arguments) -> Any:
    """`cls.apply(*args)` by the highest level an argument takes part in; NotImplemented where there is none."""
    level = top_level(args) if state.stack else None
    if level is None:
        return NotImplemented
    return _mapped(level, cls, args) if level.kind is VMAP else _pushed(level, cls, args)


def _mapped(level: Level, cls: Any, args: Arguments) -> Tensor:
    """By the Function's own vmap rule, or example by example where it asks for that."""
    if cls.setup_context is function.Function.setup_context:
        raise RuntimeError("In order to use an autograd.Function with functorch transforms (vmap, grad, jvp, jacrev, ...), it must "
                           "override the setup_context staticmethod. For more details, please see "
                           "https://pytorch.org/docs/main/notes/extending.func.html")
    name, own = cls.__name__, cls.vmap is not function.Function.vmap
    if cls.generate_vmap_rule:
        if own:
            raise RuntimeError(f"You tried to vmap over {name}, but it has both generate_vmap_rule=True and an overridden vmap "
                               "staticmethod. Please set generate_vmap_rule=False or delete the overridden vmap staticmethod to avoid "
                               "ambiguity. For more details, please see https://pytorch.org/docs/main/notes/extending.func.html")
        return loop(level, cls.apply, args, name)
    if not own:
        raise RuntimeError(f"You tried to vmap over {name}, but it does not have vmap support. Please override and implement the vmap "
                           "staticmethod or set generate_vmap_rule=True. For more details, please see "
                           "https://pytorch.org/docs/main/notes/extending.func.html")
    return by_rule(level, cls.vmap, args, {})


def _pushed(level: Level, cls: Any, args: tuple[Tensor, ...]) -> Tensor:
    """By the Function's jvp."""
    tangents = [tangent_of(a, level) if isinstance(a, Tensor) else None for a in args]
    with below(level):
        node, result = function.carry_out(cls, args)
        if node.materialize_grads:
            tangents = [frontend.zeros_like(a.detach()) if t is None and isinstance(a, Tensor) and _is_float(a) else t for a,
                        t in zip(args, tangents)]
        if node.saved_for_forward is None:
            node.saved_for_forward = ()  # what was saved for backward is not for jvp
        versions = [None if t is None else t._version for t in tangents]
        pushed = cls.jvp(node, *tangents)
        node.saved_for_forward = None
    outputs = list(result) if isinstance(result, tuple) else [result]
    pushed = list(pushed) if isinstance(pushed, tuple) else [pushed]
    if len(pushed) != len(outputs):
        raise RuntimeError(f"Function {cls.__name__} jvp returned an invalid number of forward gradients (expected {len(outputs)}, got "
                           f"{len(pushed)})")
    given = {id(a): (t, v) for a, t, v in zip(args, tangents, versions) if isinstance(a, Tensor)}
    for o, t in zip(outputs, pushed):
        if not isinstance(o, Tensor) or t is None or not _is_float(o):
            continue
        if not isinstance(t, Tensor):
            raise TypeError(f"Expected forward gradient to be a Tensor or None, got {type(t).__name__}")
        if t.shape != o.shape:
            raise RuntimeError("Trying to set a forward gradient that has a different size than that of the original Tensor, this is not "
                               f"supported. Tensor is of size {list(o.shape)} while the given forward gradient is of size {list(t.shape)}.")
        if id(o) in given:  # changed in place: of an input returned as it was there is a view
            own, version = given[id(o)]
            if own is not None and own._version == version:
                raise RuntimeError("An inplace custom Function is not modifying the forward mode gradients inplace. If the forward is "
                                   "modifying an input inplace, then the jvp function must modify the corresponding gradient inplace.")
            if own is not None and own is not t:
                raise RuntimeError("An inplace custom Function is not returning the forward mode gradients as-is. If the forward is "
                                   "modifying an input inplace, then the jvp function must modify the gradient inplace and return it "
                                   "as-is.")
        elif o._base is not None:
            _check_view(o, t, args, tangents)
        set_tangent(o, level, t)
    return result


def _check_view(o: Any, t: Any, args: tuple[object, ...], tangents: list[Any]) -> None:
    """torch's errors for the tangent of a view that is not the same view of the input's tangent."""
    if t._base is None:
        raise RuntimeError("A custom Function's forward is returning a view (or an input as-is) but the jvp is not returning a view.")
    for a, own in zip(args, tangents):
        if isinstance(a, Tensor) and own is not None and (o._base is a or o._base is a._base):
            if own._base is not None and t._base is not own._base:
                raise RuntimeError("A custom Function is returning a view but the jvp is not returning a view of the same base as the "
                                   "given grad input.")
            if own._base is None and t._base is not own:
                raise RuntimeError("A custom Function is returning a view but the jvp is not returning a view of the given grad input.")
            return


def _is_float(t: Tensor) -> bool:
    return t._k.dtype.is_floating_point or t._k.dtype.is_complex
