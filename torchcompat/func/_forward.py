"""Forward mode: the derivative of an operation along tangents of its arguments, from its record.

The record's `jvp` says how: an operation that is linear is applied to the tangents; an element-wise one has a diagonal Jacobian, so that
its vjp formula is its jvp formula; where nothing is said the vjp is transposed: g(v) = vjp(v) is linear in v, and carrying the tangent back
through g gives the directional derivative (https://j-towns.github.io/2017/06/12/A-new-trick.html).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from collections.abc import Sequence

import numpy as np

from autograd_tape.annotations import Arguments, Keywords
from autograd_tape.strided import owner_of
from autograd_tape.ops import Record
from autograd_tape.functions.general import shape_of
from autograd_tape.modes import GradMode, _mode, grad_mode

from .._tensor import Tensor, frontend
from .._memory.bits import bits_of
from ._levels import Level, below, tensors_in
from ._pull import begin, pull
from ._batched import BatchedTensor
from ._whole import has_tangents, innermost, logical, same_view, set_tangent, tangent_of

if TYPE_CHECKING:
    from autograd_tape.functions.general import General


def run(level: Level, general: Any, args: tuple[object, ...], out: object, inplace: bool) -> Any:
    """Carries out an operation some of whose arguments have tangents at `level`."""
    rec: Record = general.rec
    refuse(rec, {p.name: a for p, a in zip(rec.params, args)}, "_" * inplace)
    if out is not None:
        if any(tangent_of(t, level) is not None for t in tensors_in(args)) or not inplace:
            raise RuntimeError(f"Trying to use forward AD with {rec.name}_out that does not support it because it is an out= function")
    if inplace:
        return _update(level, general, args)
    keep = grad_mode() is GradMode.ENABLED and any(t._node is not None for t in tensors_in(args))
    arguments = {p.name: a for p, a in zip(rec.params, args)}
    tangents = _tangents(level, rec, arguments)
    with below(level):
        if not rec.differentiable or not tangents:
            return general(args)
        if rec.jvp == "transposed":
            result, pushed = _transposed(level, general, arguments, tangents, keep)
        else:
            result = general(args)
            pushed = _simple(general, arguments, tangents, _outputs(result))
    for nr, (o, t) in enumerate(zip(_outputs(result), pushed)):
        if t is None and not rec.returns_list and rec.returns[nr][0] == "Tensor":  # a derivative that is zero everywhere
            with below(level):
                t = frontend.zeros_like(o)
        if t is not None and (o._k.dtype.is_floating_point or o._k.dtype.is_complex):
            if rec.family not in ("view", "view?") and _is_shared(t, tangents):
                with below(level):
                    t = frontend.clone(t)
            if t._k.np is not o._k.np and not callable(rec.jvp):
                t = frontend.cast(t, o._k.dtype)
            attach(o, level, t, nr)
    return result


def refuse(rec: Record, values: Keywords, suffix: str = "") -> None:
    """Raises torch's error where tensors among an operation's arguments have tangents for which it has no forward mode."""
    if has_tangents(list(values.values())) and (error := rec.forward_refusal(values, suffix)) is not None:
        raise error


def _is_shared(t: Tensor, tangents: dict[str, Tensor]) -> bool:
    """Whether a result's tangent looks at the memory of an argument's, which an in-place operation on the result must not change."""
    t = innermost(t)
    return t._base is not None or any(innermost(x) is t for x in tensors_in(list(tangents.values())))


def attach(output: Tensor, level: Level, tangent: Tensor, nr: int = 0) -> None:
    """Gives an operation's output its tangent; also the entry that may have saved it."""
    set_tangent(output, level, tangent)
    node = output.creator
    if node is not None:
        node.__dict__.setdefault("tangents", {}).setdefault(nr, {})[level] = tangent


def restore_tangents(node: object, nr: int, output: Any) -> None:
    """Gives an output that an entry saved the tangents it had."""
    for level, tangent in node.__dict__["tangents"].get(nr, {}).items():
        if level.alive:
            set_tangent(output, level, tangent)


def _outputs(result: Tensor) -> list[Tensor]:
    return list(result) if isinstance(result, (tuple, list)) else [result]


def _tangents(level: Level, rec: Record, arguments: Keywords) -> dict[str, Tensor]:
    """The tangents of an operation's differentiable arguments, by parameter; for a list one per item."""
    found: dict[str, Any] = {}
    unseen = rec.field("without_tangents") or ()
    for p in rec.differentiable_params:
        if p.name in unseen:
            continue
        value = arguments[p.name]
        if p.type == "Tensor[]":
            each = [tangent_of(x, level) for x in value]
            if any(t is not None for t in each):
                found[p.name] = each
        elif isinstance(value, Tensor):
            t = tangent_of(value, level)
            if t is not None:
                found[p.name] = t
    return found


# -- rules ------------------------------------------------------------------------------------------------------------------


def _simple(general: General, arguments: Keywords, tangents: Keywords, outputs: Sequence[Tensor]) -> Sequence[Tensor]:
    """The outputs' tangents, by what the record's `jvp` says."""
    rec: Record = general.rec
    if callable(rec.jvp):
        return _outputs(rec.jvp(frontend, outputs, arguments, tangents))
    if rec.jvp == "linear":
        replaced = {p.name: _filled(arguments[p.name], tangents.get(p.name)) for p in rec.differentiable_params}
        return _outputs(general(tuple({**arguments, **replaced}.values())))
    if rec.jvp == "bilinear":
        parts = [general(tuple({**arguments, name: t}.values())) for name, t in tangents.items()]
        return [parts[0] if len(parts) == 1 else parts[0] + parts[1]]
    return [_elementwise(rec, arguments, tangents, outputs[0])]


def _filled(value: Any, tangent: Any) -> Any:
    """A tangent, or several, with zeros where there is none."""
    if isinstance(value, (tuple, list)):
        return [_filled(x, t) for x, t in zip(value, tangent or [None] * len(value))]
    if tangent is not None or value is None:
        return tangent
    return frontend.zeros_like(value) if isinstance(value, Tensor) else 0


def _elementwise(rec: Record, arguments: Keywords, tangents: Keywords, output: Tensor) -> Any:
    """The tangent of an element-wise operation: its vjp formulas, which are its own transpose, applied to tangents."""
    total = None
    shape = tuple(output._data.shape)
    for target, formula, needed in rec.vjps:
        name = target or rec.differentiable_params[0].name
        t = tangents.get(name)
        if t is None:
            continue
        if tuple(t._data.shape) != shape:
            t = frontend.expand(t, shape)
        if t._k.np is not output._k.np:
            t = frontend.cast(t, output._k.dtype)
        values = []
        for n in needed:
            read = rec.reads[n]
            x: Any = None if read.param is None else arguments[read.param.name]
            values.append(tuple([p.name in tangents for p in rec.differentiable_params]) if read.kind == "needs" else
                          shape_of(x) if read.kind == "shape" else x._k.dtype if read.kind == "dtype" else
                          output if read.param is None else x)
        part = formula(frontend, t, *values)
        if tuple(part._data.shape) != shape:
            part = frontend.expand(part, shape)
        total = part if total is None else total + part
    return total


def _transposed(level: Level, general: General, arguments: Keywords, tangents: dict[str, Tensor], keep: bool) -> tuple[Any, Sequence[Any]]:
    """The result of an operation and the tangents of its outputs, by transposing its vjp twice."""
    primals, directions = [], []
    replaced = dict(arguments)
    for name, t in tangents.items():
        values = arguments[name] if isinstance(t, list) else [arguments[name]]
        new = list(values)
        for i, (x, tangent) in enumerate(zip(values, t if isinstance(t, list) else [t])):
            if tangent is not None:
                new[i] = begin(x, keep and x._node is not None)
                primals.append(new[i])
                directions.append(tangent)
        replaced[name] = new if isinstance(t, list) else new[0]
    before = grad_mode()
    _mode.set(GradMode.ENABLED)
    try:
        result = general(tuple(replaced.values()))
        outputs = _outputs(result)
        # Ones, since a formula may be linear without being differentiable at 0.
        dummies = [begin(frontend.ones_like(o.detach()), False) if o._node is not None else None for o in outputs]
        cotangents = pull(outputs, dummies, primals, create_graph=True)
    finally:
        _mode.set(before)
    linear = [(g, t) for g, t in zip(cotangents, directions) if g is not None and g._node is not None]
    record = keep or before is GradMode.ENABLED and any(t._node is not None for _, t in linear)
    found = iter(pull([g for g, _ in linear], [_like(t, g) for g, t in linear], [v for v in dummies if v is not None], create_graph=record))
    derivatives = [None if v is None else next(found) for v in dummies]
    # Where the formula has no term, the derivative is zero.
    derivatives = [frontend.zeros_like(v) if d is None and v is not None else d for d, v in zip(derivatives, dummies)]
    if not keep:
        for o in outputs:
            o._node = None
    return result, derivatives


def _like(t: Tensor, g: Tensor) -> Tensor:
    return t if t._k.np is g._k.np else frontend.cast(t, g._k.dtype)


# -- in place -----------------------------------------------------------------------------------------------------------------


def _update(level: Level, general: Any, args: Arguments) -> Any:
    """An in-place operation: the tangent of the target, and so of its base and views, is updated with it."""
    rec: Record = general.rec
    target = args[0]
    arguments = {p.name: a for p, a in zip(rec.params, args)}
    tangents = _tangents(level, rec, arguments)
    new = None
    if target._k.dtype.is_floating_point or target._k.dtype.is_complex:
        if rec.differentiable and tangents:
            result = run(level, general, args, None, False)
            new = tangent_of(result, level)
        with below(level):
            _replace(target, level, new)
    with below(level):
        return general(args, None, True)


def _replace(target: Any, level: Level, new: Any) -> None:
    """Gives the target of an in-place operation its new tangent: in place where it has one, else with the layout of the target and, of
    a view, as the same view of a tangent of its base."""
    held = tangent_of(target, level)
    if held is not None:
        if new is None:
            held.zero_()
        elif held is not new:
            held.copy_(new)
    elif new is not None:
        base = target._base
        if base is None:
            give_tangent(target, level, new)
        elif base._k.dtype is not target._k.dtype or same_layout(new, base) and same_layout(new, target):
            set_tangent(base, level, new)
            set_tangent(target, level, new)
        else:
            whole = zeros_laid_out(base, new)
            set_tangent(base, level, whole)
            held = same_view(target, base, whole)
            set_tangent(target, level, held)
            held.copy_(new)


def give_tangent(t: Tensor, level: Level, tangent: Tensor) -> None:
    """Gives a tensor a tangent, a copy with the tensor's layout where it has another: views of one must be views of the other."""
    if not same_layout(tangent, t):
        tangent = zeros_laid_out(t, tangent).copy_(tangent)
    set_tangent(t, level, tangent)


def same_layout(a: Tensor, b: Tensor) -> bool:
    """Whether two tensors agree in sizes, strides, offset, and how far their memory reaches."""
    if a._data.shape != b._data.shape or bits_of(a) is not bits_of(b):
        return False
    if not a._data.size:
        return True
    steps = all(x == y for n, x, y in zip(a._data.shape, a.stride(), b.stride()) if n > 1)
    if isinstance(a, BatchedTensor) or isinstance(b, BatchedTensor):
        return steps
    reach = [owner_of(t._data).nbytes // t.itemsize for t in (a, b)]
    return steps and a.storage_offset() == b.storage_offset() and reach[0] == reach[1]


def zeros_laid_out(t: Any, like: Any) -> Any:
    """Zeros in a memory of their own, laid out as `t` is in its; for each example of the vmap levels that `like` takes part in."""
    levels: list[Any] = []
    while isinstance(like, BatchedTensor):
        levels.insert(0, like._level)
        like = like._value
    lead = tuple([level.size for level in levels])
    n = owner_of(t._data).nbytes // t.itemsize
    flat = np.zeros((*lead, n), like._data.dtype)
    if not (t._data.flags.c_contiguous and n == t._data.size):
        rows = tuple([s // flat.itemsize for s in flat.strides[:-1]])
        whole = frontend.as_strided(frontend.wrap(flat), (*lead, *t.shape), (*rows, *t.stride()), t.storage_offset())
    else:
        whole = frontend.wrap(flat.reshape((*lead, *t._data.shape)))
    return logical(whole, levels)


__all__ = ["attach", "give_tangent", "restore_tangents", "run"]
