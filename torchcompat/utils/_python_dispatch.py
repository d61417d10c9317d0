"""__torch_dispatch__: subclasses and modes that carry out operations below autograd.

An operation on an instance of a class with `__torch_dispatch__` is checked and recorded like any other; what computes its result is
the class. Such tensors usually wrap others and have no memory of their own (`Tensor._make_wrapper_subclass`).
"""

from __future__ import annotations

import contextlib
import functools
import threading
from typing import TYPE_CHECKING, Any
from collections.abc import Iterator, Sequence

from autograd_tape import warned
from autograd_tape.annotations import Arguments, DeviceLike, Fn, Keywords
from autograd_tape.calls import Call, Door, Interceptor, listen, listen_for_good, unlisten
from autograd_tape.codegen import execute
from autograd_tape.strided import contiguous_strides
from autograd_tape.dtypes import CPU, DType, Device, default_dtype, inference_kind, kind
from autograd_tape.executors.meta import meta_array, over
from autograd_tape.functions.general import READING, General, reading
from autograd_tape.modes import GradMode, _mode, grad_mode, no_grad, recordings
from autograd_tape.tensor import LEAF
from autograd_tape.version import Version

from .._calls.above import above
from .._memory.layout import strided
from .._tensor import Tensor, _kind_for, carries_out, frontend
from ..autograd.engine import run_on_tensors
from .._calls import aten, factories
from .._calls.aten import overload_of

if TYPE_CHECKING:
    from torchcompat._memory.layout import layout, memory_format
    from torchcompat._memory.size import Size

_new = object.__new__
_DISABLED = GradMode.DISABLED  # whose class takes its time to look it up


class _State(threading.local):
    modes: tuple["TorchDispatchMode", ...] = ()
    disabled = 0
    shown_in: GradMode | None = None  # the grad mode in which the operation was called that was shown last


_state = _State()


class TorchDispatchMode:
    """A mode whose `__torch_dispatch__` carries out every operation inside `with mode:`."""

    def __enter__(self) -> "TorchDispatchMode":
        run_on_tensors(1)
        listen(_CARRYING)
        listen(_MAKING, everything=False)
        _state.modes = (*_state.modes, self)
        return self

    def __exit__(self, *exc: object) -> None:
        _state.modes = _state.modes[:-1]
        unlisten(_MAKING, everything=False)
        unlisten(_CARRYING)
        run_on_tensors(-1)

    @classmethod
    def push(cls, *args: object, **kwargs: object) -> TorchDispatchMode:
        """A mode, with a warning that `with` takes what the class makes."""
        warned.warn("`Mode.push()` is no longer necessary and can be replaced with just `with Mode()`")
        return cls(*args, **kwargs)

    def __torch_dispatch__(self, func: object, types: object, args: object = (), kwargs: object = None) -> Any:
        raise NotImplementedError


def _get_current_dispatch_mode() -> TorchDispatchMode | None:
    """The innermost mode of this thread."""
    return _state.modes[-1] if _state.modes else None


def _get_current_dispatch_mode_stack() -> list[TorchDispatchMode]:
    """The modes of this thread, the innermost last."""
    return list(_state.modes)


@contextlib.contextmanager
def _disable_current_modes() -> Iterator[list[TorchDispatchMode]]:
    """Inside, no mode is called, which it gives; classes are."""
    modes, _state.modes = _state.modes, ()
    try:
        yield list(modes)
    finally:
        _state.modes = modes


class _DisableTorchDispatch:
    """Inside, no mode and no class is called."""

    def __enter__(self) -> None:
        self.modes, _state.modes = _state.modes, ()
        _state.disabled += 1

    def __exit__(self, *exc: object) -> None:
        _state.modes = self.modes
        _state.disabled -= 1


without_dispatch = _DisableTorchDispatch


def dispatches(tensor: Any) -> bool:
    """Whether the tensor's class carries out operations itself."""
    cls = tensor._k.special
    return cls is not None and not _state.disabled and carries_out(cls)


def _call(function: Fn, name: str, overload: str, tensors: Sequence[Any], args: tuple[object, ...],
          kwargs: Keywords) -> Any:
    """What the innermost mode, or else a subclass, makes of an operation of ATen; NotImplemented where none takes it."""
    if not looked_at(tensors):
        return NotImplemented
    return shown(overload_of(name, overload, function), tensors, args, kwargs)


def looked_at(tensors: Sequence[Any]) -> bool:
    """Whether a mode, or the class of one of the tensors, carries out operations."""
    if _state.modes:
        return True
    for t in tensors:
        if t._k.special is not None and dispatches(t):
            return True
    return False


def shown(func: Any, tensors: Sequence[Any], args: Arguments, kwargs: dict[str, Any]) -> Any:
    """What the innermost mode, or else a subclass, makes of an operation; NotImplemented where none takes it."""
    special = [type(t) for t in tensors if t._k.special is not None and dispatches(t)]
    types = tuple(dict.fromkeys(special)) if special else ()
    if _state.modes:
        return _by_mode(func, args, kwargs, types)
    return _by_classes(func, args, kwargs, types) if types else NotImplemented


def _by_mode(func: Any, args: tuple[object, ...], kwargs: Keywords, types: tuple[type, ...] = ()) -> Any:
    """What the innermost mode, which there must be, makes of an operation, or what it leaves to `types`."""
    before, state = grad_mode(), _state.__dict__  # this thread's, quicker than attribute after attribute
    modes = state["modes"]
    mode = modes[-1]
    _mode.set(_DISABLED)
    state["modes"], state["shown_in"] = modes[:-1], before
    try:
        rule = func.rules.get(type(mode)) if func.rules else None
        result = mode.__torch_dispatch__(func, types, args, kwargs) if rule is None else rule(mode, func, types, args, kwargs)
    finally:
        _mode.set(before)
        state["modes"] = modes
    return result if result is not NotImplemented else _by_classes(func, args, kwargs, types, (f"mode object {mode}",))


def _by_classes(func: Any, args: Arguments, kwargs: Keywords, types: tuple[Any, ...], refused: tuple[str, ...] = ()) -> Any:
    """What a class makes of an operation that `refused` left to it; TypeError where none takes it."""
    before = grad_mode()
    _mode.set(_DISABLED)
    try:
        for cls in sorted(types, key=lambda c: -len(c.__mro__)):
            rule = func.rules.get(cls)
            result = cls.__torch_dispatch__(func, types, args, kwargs) if rule is None else rule(cls, func, types, args, kwargs)
            if result is not NotImplemented:
                return result
    finally:
        _mode.set(before)
    raise TypeError(f"Multiple dispatch failed for 'torch._ops.{func}'; all __torch_dispatch__ handlers returned NotImplemented:\n\n"
                    + "\n".join([f"  - {who}" for who in (*refused, *[f"tensor subclass {c}" for c in types])])
                    + "\n\nFor more information, try re-running with TORCH_LOGS=not_implemented")


_NUMBERS: dict[str, Fn] = {"item": lambda x: x, "__bool__": bool, "__int__": int, "__float__": float}


class _Carrying(Interceptor):
    """Operations that the thread's innermost mode carries out, once their arguments are checked."""

    place, frontend = "dispatch", frontend
    all_functions = False

    def concerns(self, door: Door) -> bool:
        return not door.irregular

    def meet(self, door: Door, args: tuple[object, ...], out: object, inplace: bool, asked: tuple[Interceptor, ...], at: int) -> Any:
        if not _state.__dict__.get("modes"):
            return NotImplemented
        if out is None and not recordings and isinstance(door, General) and not (
                door.leads and door.leads_elsewhere(args, inplace)) and (inplace or not door.gives_input(args)):
            at_once = door.shown[inplace]
            if at_once is None:
                at_once = door.shown[inplace] = _compiled(aten.plan_of(door), inplace)
            result = at_once(*args)
            if result is not NotImplemented:
                return result
        return door.whole(args, out, inplace)


@functools.lru_cache(None)
def _compiled(plan: aten.Plan, inplace: bool) -> Fn:
    """A function of an operation's arguments: what the innermost mode makes of it where they are of the right types, which is what
    `General.run` does where there is little to it; NotImplemented where there is more, such as a history that is changed in place."""
    door, rec = plan.door, plan.door.rec
    test, tensors = reading(rec)
    every = ", ".join([f"{p.name}={p.name}" for p in rec.params])
    refuses = " or _k.dtype.is_complex" * rec.refuses_complex
    lines = [f"if not ({test}): return NotImplemented", f"_tensors = {tensors}", "_recorded = False",
             "for _t in _tensors:", "    _k = _t._k", f"    if _k.special is not None or _t._data is None{refuses}: return NotImplemented",
             "    if _t._node is not None: _recorded = True",
             f"if _recorded{'' if inplace or door.refuses_grad else ' and any(map(_forbids, _tensors))'}: return NotImplemented"]
    if inplace:
        lines += ["_target, *_others = _tensors", "_check_inplace(_target, _others)", "_check_memory(_rec, _target, _others)"]
    if rec.field("check") is not None:
        lines.append(f"_check({every})")
    if plan.decompose is not None and not inplace:
        lines += [f"_r = _decompose(_F, {every})", "if _r is not NotImplemented: return _r"]
    shown, cells = plan.source("_" * inplace)
    lines += shown
    if inplace:
        lines += ["_v = _version_of(_target)", "_number = _v.number", "_by_mode(_func, _given, _named)",
                  "_v.number = _number", "_bump(_target)", "return _target"]  # what it is made of counts as one change
    else:
        linked = ["if _r._k is not _tensors[0]._k: _r._k = _inference_kind(_r._k, _tensors[0]._k.inference)",
                  "_link_view(_r, _tensors[0])"] if rec.family == "view" else ["_link(_tensors[0], (_r,))"] * plan.is_view
        lines += [f"_r = _by_mode(_func, _given, _named){'[0]' * plan.first}",
                  f"if _r.__class__ is Tensor and not _recorded and _r._node is None{' and not _naming.copies' * plan.is_view}:",
                  "    for _t in _tensors:", "        if _t is _r: break",
                  "    else:", *["        " + line for line in [*linked, "return _r"]],
                  f"return _recorded_by(_door, _plan, dict({every}), _tensors, _r)"]
    text = f"def at_once({', '.join([p.name for p in rec.params])}):\n" + "".join([f"    {line}\n" for line in lines])
    found: Fn = execute(text, "at_once", f"<{rec.name}{'_' * inplace}: shown>", {
        **READING, **cells, "_forbids": _forbids, "_rec": rec, "_door": door, "_plan": plan, "_F": frontend,
        "_check_inplace": frontend.check_inplace, "_check_memory": frontend.check_memory, "_check": rec.field("check"),
        "_decompose": plan.decompose, "_version_of": Version.of, "_bump": frontend.bump, "_link": door.link,
        "_link_view": frontend.link_view, "_inference_kind": inference_kind, "_recorded_by": _given, "_by_mode": _by_mode})
    return found


def _forbids(tensor: Any) -> bool:
    """Whether nothing may be computed from a tensor any more."""
    node = tensor._node
    return node is not None and node is not LEAF and node._tag == 0 and node.forbids is not None


def _given(door: General, plan: aten.Plan, values: Keywords, tensors: list[Any], result: Any) -> Any:
    """What an operation returns of what a mode or a class returned: recorded, and no argument itself."""
    outputs = [result] if isinstance(result, Tensor) else result
    outputs = [frontend.bare(o) if o._node is not None or [t for t in tensors if t is o] else o for o in outputs]
    return door.carried_out(values, tensors, outputs, not (plan.is_view and aten.naming.copies))


_CARRYING = _Carrying()


class _Making(Interceptor):
    """Tensors that a mode, or the class of the tensor they are made like, makes."""

    place, frontend = "dispatch", frontend

    def concerns(self, door: Door) -> bool:
        return factories.makes(door)

    def meet(self, door: Door, args: tuple[object, ...], out: object, inplace: bool, asked: tuple[Interceptor, ...], at: int) -> Any:
        like = args[0] if args and isinstance(args[0], Tensor) else None
        if not _state.__dict__.get("modes") and (like is None or like._k.special is None or not dispatches(like)):
            return NotImplemented
        number = _NUMBERS.get(door.rec.name)
        if number is not None:
            return NotImplemented if like is None or like._data.size != 1 else number(
                shown(overload_of("_local_scalar_dense", "default"), (like,), (like,), {}))
        name = (door.rec.public or door.rec.name) + "_" * inplace
        if name.startswith("__"):  # what Python asks of objects is no operation
            return NotImplemented
        if name == "detach":
            return NotImplemented if like is None else _detached(like)
        if name in ("tensor", "as_tensor"):
            result = Call(door, args, out, inplace, asked, at).proceed()
            return result if result is like else _lifted(result)
        positional, kwargs = door.spelled(args)
        if out is not None or kwargs.get("out") is not None:
            return NotImplemented
        like = positional[0] if positional and isinstance(positional[0], Tensor) else None
        named, overload, given, options = factories.form(name, positional, kwargs, any([p.name == "device" for p in door.params]))
        result = _call(door.public(inplace), named, overload, () if like is None else (like,), tuple(given), options)
        if kwargs.get("requires_grad"):
            result.requires_grad = True
        return result


_MAKING = _Making()


def _lifted(made: Tensor) -> Any:
    """What a mode makes of a tensor of numbers, or of an array, of the program's own."""
    return _call(lambda t: t, "lift_fresh", "default", (made,), (made,), {}) if _state.modes else made


above.lifted = _lifted


def _detached(t: Any) -> Any:
    """`t.detach()` by a mode, or by the tensor's class; version counters are shared."""
    result = _call(Tensor.detach, "detach", "default", (t,), (t,), {})
    if result is t or result._node is not None:
        return frontend.bare(t)
    result._v = Version.of(t)
    return result


def below_autograd(general: General, values: Keywords, tensors: list[Tensor], inplace: bool) -> Any:
    """Carries out an operation whose arguments are checked by asking a mode or subclass; NotImplemented where there is none."""
    if not looked_at(tensors):
        return NotImplemented
    plan = aten.plan_of(general)
    if not inplace:
        result = plan.decomposed(values)
        if result is not NotImplemented:
            return result
    func, positional, kwargs = plan.form(values, "_" * inplace)
    if inplace:
        return general.changed_elsewhere(values, tensors, lambda: shown(func, tensors, positional, kwargs), _copied)
    result = shown(func, tensors, positional, kwargs)
    return _given(general, plan, values, tensors, result[0] if plan.first else result)


def _copied(target: Tensor) -> Tensor:
    with no_grad():
        return target.clone()


def look_for_dispatch() -> None:
    """Called when an instance of a class that carries out operations is made: from now on such classes also read their tensors, and
    make those that are to be like them."""
    listen_for_good(_MAKING)


def make_wrapper_subclass(cls: type, size: Size | tuple[int, ...], strides: Any = None, storage_offset: Any = None,
                          memory_format: memory_format | None = None, dtype: DType | None = None, layout: layout | None = None,
                          device: DeviceLike | None = None, pin_memory: bool = False, requires_grad: bool = False,
                          dispatch_sizes_strides_policy: object = None, dispatch_device: bool = False,
                          dispatch_layout: bool = False) -> Any:
    """`Tensor._make_wrapper_subclass`: an instance of `cls` of a size, dtype and device but without memory of its own.

    Args:
        layout: what the instance says of its layout.
        dispatch_sizes_strides_policy: "strides" or "sizes": the class is asked whether elements are in order.

    Raises:
        RuntimeError: `cls` has no `__torch_dispatch__`.
    """
    if not carries_out(cls):
        raise RuntimeError(f"{cls.__name__} must define __torch_dispatch__")
    d: DType = default_dtype() if dtype is None else dtype
    place = CPU if device is None else Device(device)
    t: Any = _new(cls)
    shape, item = tuple(int(n) for n in size), d.np.itemsize
    steps = contiguous_strides(shape) if strides is None else tuple(int(s) for s in strides)
    start = int(storage_offset or 0)
    extent = 1 + sum([(n - 1) * s for n, s in zip(shape, steps)]) if 0 not in shape else 0
    flat = meta_array((start + extent,), d.np)
    t._data = over(flat[start:], shape, tuple(s * item for s in steps))
    t._k = _kind_for(cls, kind(d, place))
    t._node = frontend.leaf_node(t, requires_grad)
    t._v = t._base = None
    if layout is not None and layout is not strided:
        t._wrapped_layout = layout
    if dispatch_sizes_strides_policy is not None:
        t._asks_for_strides = True
    return t


def of_wrapper(t: Tensor, name: str, memory_format: memory_format | None) -> object:
    """What the class of a wrapper says of its memory; NotImplemented where it is not to be asked."""
    if not dispatches(t):
        return NotImplemented
    args, overload = ((t,), "default") if memory_format is None else ((t, memory_format), "memory_format")
    return _by_classes(overload_of(name, overload), args, {}, (type(t),))


frontend.below_autograd, frontend.carried_out_elsewhere = below_autograd, lambda: bool(_state.modes)
