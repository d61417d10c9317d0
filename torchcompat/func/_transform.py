"""The interceptor that sends operations through the active transforms. See `_levels`."""

from __future__ import annotations

from typing import Any

from autograd_tape.annotations import Arguments
from autograd_tape.calls import Call, Door, Interceptor

from .._calls.above import above
from .._tensor import frontend
from . import _batching, _forward
from ._levels import FUNCTIONAL, VMAP, Level, state, tensors_in
from ._whole import tangents_of


def top_level(args: object) -> Level | None:
    """The level that carries out an operation: the highest vmap level with an example among `args`, or the highest level of functionalize
    where that is higher; else the highest forward level with a tangent."""
    found: Level | None = None
    forward: Level | None = None
    functional: Level | None = None
    ceiling = state.ceiling
    for t in tensors_in(args):
        level = getattr(t, "_level", None)  # of examples, and of tensors of functionalize
        if level is not None and level.kind is VMAP:
            if not level.alive:
                raise RuntimeError("vmap: a tensor of a function that was mapped is used after the function returned; return it instead, "
                                   "so that vmap gives it back with the mapped dimension")
            if found is None or level.number > found.number:
                found = level
            continue
        if level is not None and (functional is None or level.number > functional.number):
            functional = level
        if found is None:
            for level in tangents_of(t):
                if level.number < ceiling and (forward is None or level.number > forward.number):
                    forward = level
    if functional is not None:
        other = found or forward
        return functional if other is None or other.number < functional.number else other
    return found or forward


class _Transform(Interceptor):
    """Hands operations to the level at work. Irregular ones are made of these, unless there is a rule for the whole, or torch has none."""

    place, frontend = "transform", frontend
    all_functions = False
    parts = True

    def concerns(self, door: Door) -> bool:
        return not door.irregular or any([door.rec.field(name) is not None for name in ("batch", "reads", "no_forward", "no_vmap")])

    def idle(self, args: tuple[object, ...]) -> bool:
        return not state.stack

    def __call__(self, call: Call) -> Any:
        if call.door.irregular:
            rec, values = call.rec, dict(zip([p.name for p in call.door.params], call.args))
            if rec.field("no_vmap") is not None:
                _batching.refuse(rec, values)
            if rec.field("no_forward") is not None:
                _forward.refuse(rec, values, "_" * call.inplace)
            if rec.field("batch") is None and not _batching.reads_examples(rec, values):
                return NotImplemented
            level = top_level(call.args)
            return NotImplemented if level is None or level.kind is not VMAP else _batching.run_irregular(level, call)
        return _transformed(call.door, call.args, call.out, call.inplace)


above.transform = _Transform()


def _transformed(general: Any, args: Arguments, out: Any, inplace: bool) -> Any:
    if general.rec.field("random"):
        level = next((level for level in reversed(state.stack) if level.kind is VMAP and level.number < state.ceiling), None)
        if level is not None:
            return _batching.draw(level, general, args)
    level = top_level(args if out is None else (args, out))
    if level is None:
        return NotImplemented
    rec = general.rec
    if not inplace and rec.takes_inplace and args[rec.takes_inplace]:
        return NotImplemented
    if general.redirect(args) is not None:
        return NotImplemented
    if level.kind is VMAP:
        return _batching.run(level, general, args, out, inplace)
    if level.kind is FUNCTIONAL:
        from . import _functional  # few need it, and it needs much

        return _functional.run(level, general, args, out, inplace)
    if rec.family == "custom":  # its own kernels decide what becomes of tangents
        return NotImplemented
    return _forward.run(level, general, args, out, inplace)
