"""functionalize: functions that change tensors in place, carried out without changing any.

Inside, each tensor is a `FunctionalTensor` that holds a value. An in-place operation computes a new value and leaves the old one alone; a
view remembers how it came from its base, so that a new value of either gives the other one its own. At the end the arguments are given
the values they would have had.
"""

from __future__ import annotations

import functools
from typing import Any
from collections.abc import Callable, Sequence

from autograd_tape.annotations import Arguments, Fn
from autograd_tape.calls import Call, Door, Interceptor, listen, unlisten
from autograd_tape.indices import Indices
from autograd_tape.ops import Record
from autograd_tape.ops.views.shape import can_view
from autograd_tape.modes import GradMode, grad_mode

from .._tensor import Tensor, frontend
from .._calls import aten, factories
from ..utils import _python_dispatch as python_dispatch
from ..utils._pytree import tree_flatten, tree_map_only, tree_unflatten
from ._levels import FUNCTIONAL, Level, below, state
from ._whole import shadow
from .._calls.shown import shown_in

F = frontend
_new = object.__new__


class FunctionalTensor(Tensor):
    """A tensor whose value is replaced where others are changed in place. Its metadata and history are those of the value."""

    __slots__ = ("_level", "_held", "_source", "_replay", "_store", "_seen", "_count")
    _level: Any
    _held: Any  # the value
    _source: Any  # of a view, what it is a view of
    _replay: Any  # value of the source -> value of the view
    _store: Any  # (value of the source, new value of the view) -> new value of the source
    _seen: int  # which value of the source the view was computed from
    _count: int  # how many values there were

    @property
    def value(self) -> Any:
        """The current value."""
        source = self._source
        if source is not None:
            base = source.value
            if self._seen != source._count:
                self._held, self._seen = self._replay(base), source._count
                self._count += 1
        return self._held

    def replace(self, value: Any) -> None:
        """Gives the tensor, and whatever it is a view of, a new value."""
        source = self._source
        if source is not None:
            source.replace(self._store(source.value, value))
            self._seen = source._count
            value = self._replay(source._held)
        self._held = value
        self._count += 1

    def _plain(name: str) -> Any:  # type: ignore[misc]  # makes the properties below
        return property(lambda self: getattr(self.value, name), lambda self, new: setattr(self.value, name, new))

    _data, _k, _node, _v = _plain("_data"), _plain("_k"), _plain("_node"), _plain("_v")
    _base = None
    del _plain

    def _shadow(self, node: Any) -> "FunctionalTensor":
        return functional(self._level, shadow(self.value, node))

    def detach(self) -> Tensor:
        """The same tensor without history, changed with it."""
        return view_of(self, lambda base: base.detach(), lambda base, new: new)

    def _become(self, view: Any) -> None:
        """Takes the shape of a view of itself, in place."""
        before = functional(self._level, self._held)
        before._source, before._replay, before._store, before._seen = self._source, self._replay, self._store, self._seen
        self._source, self._replay, self._store = before, view._replay, view._store
        self._held, self._seen, self._count = view.value, before._count, self._count + 1

    def replays(self) -> list[Any]:
        """What made the tensor of a base, where it became a view in place."""
        return [] if self._source is None else [*self._source.replays(), self._replay]

    def changed(self, given: Tensor) -> bool:
        """Whether the value, or that of what it is a view of, is not `given` any more."""
        return self._held is not given if self._source is None else self._source.changed(given)

    def __repr__(self, *, tensor_contents: object = None) -> str:  # type: ignore[override]  # checkers drop the names of dunder parameters
        value = "\n".join(["    " + line for line in repr(self.value).splitlines()])
        return f"FunctionalTensor(lvl={self._level.number}, value=\n{value})"


def functional(level: Level, value: Tensor) -> FunctionalTensor:
    """A tensor of a value, at a level of functionalize."""
    t = _new(FunctionalTensor)
    t._level, t._held, t._source, t._seen, t._count = level, value, None, 0, 0
    t._replay = t._store = None
    return t


def view_of(source: FunctionalTensor, replay: Callable[[Any], Any], store: Callable[[Any, Any], Any]) -> FunctionalTensor:
    """A view of a tensor."""
    if _copies(source._level):
        made = replay

        def replay(base: object) -> object:
            return _copied(lambda: made(base))

    t = functional(source._level, replay(source.value))
    t._source, t._replay, t._store, t._seen = source, replay, store, source._count
    return t


def _copies(level: Level) -> bool:
    """Whether views are to be copies, too."""
    return level.randomness == "mutations_and_views"


def _copied(make: Callable[[], Any]) -> Any:
    """What an operation on views gives as copies."""
    if not python_dispatch._state.modes:
        result = make()
        return [F.clone(r) for r in result] if isinstance(result, (tuple, list)) else F.clone(result)
    before, aten.naming.copies = aten.naming.copies, True
    try:
        return make()
    finally:
        aten.naming.copies = before


# -- operations -------------------------------------------------------------------------------------------------------------------------


def run(level: Level, general: Any, args: Arguments, out: object, inplace: bool) -> Any:
    """Carries out an operation some of whose arguments are functional tensors of `level`."""
    rec: Record = general.rec
    if rec.family == "view":
        result = aten.plan_of(general).decomposed(dict(zip([p.name for p in rec.params], args)))
        if result is not NotImplemented:
            return result
    values = _values(level, args)
    if out is not None:
        result = general(values)
        for o, r in zip(*[x if isinstance(x, (tuple, list)) else (x,) for x in (out, result)]):
            _target(level, o).replace(r if r._k.dtype is o._k.dtype else F.cast(r, o._k.dtype))
        return out
    if inplace:
        target = _target(level, args[0])
        result = general(values)
        if result._data.shape != target._data.shape:
            raise RuntimeError(f"output with shape {list(target.shape)} doesn't match the broadcast shape {list(result.shape)}")
        target.replace(result if result._k.dtype is target._k.dtype else F.cast(result, target._k.dtype))
        return target
    source = args[0]
    if rec.family in ("view", "view?") and source.__class__ is FunctionalTensor and source._level is level:
        return _viewed(general, source, values)
    return _wrapped(level, general(values), rec)


def _target(level: Level, t: object) -> FunctionalTensor:
    if t.__class__ is FunctionalTensor and t._level is level:
        return t
    raise RuntimeError("mutating a non-functional tensor with a functional tensor is not allowed. Please ensure that all of your inputs "
                       "are wrapped inside of a functionalize() call.")


def _values(level: Level, args: Tensor | tuple[Tensor, ...]) -> Any:
    """Arguments with values in the place of functional tensors."""
    if args.__class__ is FunctionalTensor:
        return args.value if args._level is level else args
    if isinstance(args, (tuple, list)) and not hasattr(args, "_fields"):
        return type(args)([_values(level, a) for a in args])
    if isinstance(args, Indices):
        sources = {id(t._data): _values(level, t) for t, _ in args.sources}
        return type(args)([sources[id(k)]._data if id(k) in sources else k for k in args.key], list(sources.values()))
    return args


def _wrapped(level: Level, result: Tensor, rec: Record | None = None) -> Tensor:
    if isinstance(result, Tensor):
        return functional(level, result)
    if isinstance(result, tuple) and hasattr(result, "_fields"):
        return type(result)(*[_wrapped(level, r) for r in result])
    if isinstance(result, (tuple, list)):
        return type(result)([_wrapped(level, r) for r in result])
    return result


def _viewed(general: Any, source: FunctionalTensor, values: Arguments) -> Any:
    """A view, or views, of a functional tensor; where a reshape is none, a new tensor."""
    rec, rest, level = general.rec, values[1:], source._level
    first = _copied(lambda: general(values)) if _copies(level) else general(values)
    if rec.family == "view?" and not can_view(source.value, first.shape):
        return functional(level, first)
    several = isinstance(first, (tuple, list))

    def one(value: Any, nr: int) -> FunctionalTensor:
        def replay(base: Any) -> object:
            if rec.name == "view" and not can_view(base, value.shape):
                base = F.clone(base, memory_format="torch.contiguous_format")  # the new value lies in memory as the first did not
            again = (lambda: general((base, *rest))) if not _copies(level) else (lambda: _copied(lambda: general((base, *rest))))
            result = again()
            return result[nr] if several else result

        t = functional(level, value)
        t._source, t._replay, t._seen = source, replay, source._count
        t._store = lambda base, new: _stored(level, rec, rest, base, new, nr)
        return t

    return type(first)([one(v, i) for i, v in enumerate(first)]) if several else one(first, 0)


def _stored(level: Level, rec: Record, rest: Sequence[Any], base: Any, new: Any, nr: int) -> Any:
    """The value of a view's base after the view got a new value; `rest` are the arguments of the view after the base."""
    put_back = rec.field("put_back")
    if put_back is not None:
        back = functools.partial(put_back, F, base, new, nr, *rest)
        found = _copied(back) if _copies(level) else back()
        return _scattered(found[0], base, new, *found[1:]) if isinstance(found, tuple) else found
    view = F.function(rec.name)
    if base._k.dtype is new._k.dtype:
        seen = view(base.detach(), *rest)
        return _scattered("as_strided_scatter", base, new, tuple(seen.shape), seen.stride(), seen.storage_offset())
    whole = F.clone(base)  # of another dtype: written where its elements lie, in memory that nobody else has
    view(whole, *rest).copy_(new)
    return whole


def _scattered(name: str, base: Any, new: Any, *where: object) -> Any:
    """`base` with `new` in the place of a view of it; modes see one operation."""
    modes = python_dispatch._state.modes
    function = aten.function(name)
    assert function is not None
    if modes and not (grad_mode() is GradMode.ENABLED and (base.requires_grad or new.requires_grad)):
        return python_dispatch._call(function, name, "default", (base, new), (base, new, *where), {})
    return function(base, new, *where)


def _reshape(x: Any, replays: list[Any]) -> None:
    """Gives an argument the shape that it got in place, by what made views of it."""
    with python_dispatch._DisableTorchDispatch():
        view = x.detach()
        for replay in replays:
            view = replay(view)
    x.as_strided_(tuple(view.shape), view.stride(), view.storage_offset())


# -- functions that are no operations ------------------------------------------------------------------------------------------------


class _Making(Interceptor):
    """What factories make inside functionalize, and what fills tensors with random numbers."""

    place, frontend = "functionalize", frontend

    def concerns(self, door: Door) -> bool:
        return factories.makes(door)

    def __call__(self, call: Call) -> Any:
        name, (args, kwargs) = call.name, call.spelled()
        level = next((level for level in reversed(state.stack) if level.kind is FUNCTIONAL and level.number < state.ceiling), None)
        if level is None:
            return NotImplemented
        target = args[0] if args else None
        if name.endswith("_") and not name.startswith("__"):
            if target.__class__ is not FunctionalTensor:
                return NotImplemented

            def fill(like: Any, *rest: Any, **named: Any) -> object:
                with below(level):
                    return getattr(F.empty_like(like.detach()), name)(*rest, **named)

            value = target.value
            if python_dispatch._state.modes:
                shown = "normal_functional" if name == "normal_" else name[:-1]
                overload = factories.form(name, (value, *args[1:]), kwargs)[1].replace("float", "p")
                fresh = python_dispatch._call(fill, shown, overload, (value,), (value, *args[1:]), kwargs)
            else:
                fresh = fill(value, *args[1:], **kwargs)
            target.replace(fresh)
            return target
        if name in ("detach", "item", "__bool__", "__int__", "__float__", "as_tensor"):
            return NotImplemented
        result = call.proceed()
        return functional(level, result) if isinstance(result, Tensor) and result.__class__ is not FunctionalTensor else result


_MAKING = _Making()


def functionalize(func: Fn, *, remove: str = "mutations") -> Fn:
    """A function that computes the same as `func` without in-place operations, but for copies of what `func` changes into its arguments at
    the end.

    Args:
        remove: "mutations", or "mutations_and_views" to make copies of views too.

    >>> import torchcompat as torch
    >>> x = torch.tensor([1., 2.])
    >>> torch.func.functionalize(lambda t: t.add_(1) * 2)(x), x
    (tensor([4., 6.]), tensor([2., 3.]))
    """
    if remove not in ("mutations", "mutations_and_views"):
        raise RuntimeError(f"functionalize(f, remove='mutations'): received invalid argument for remove={remove}. Valid options are:\n     "
                           "remove='mutations': all inplace and out= operators will be removed from the program, and replaced with their "
                           "out-of-place equivalents.\n     remove='mutations_and_views': In addition to the above, all aliasing operators "
                           "{view} will be replaced with their non-aliasing counterparts, {view}_copy.\n")

    @functools.wraps(func, updated=())
    def wrapped(*args: Tensor, **kwargs: object) -> Tensor:
        flat, spec = tree_flatten((args, kwargs))
        if any([x.__class__ is FunctionalTensor for x in flat]):
            return func(*args, **kwargs)
        level = Level(FUNCTIONAL, 0, remove)
        given = [functional(level, x) if isinstance(x, Tensor) else x for x in flat]
        a, k = tree_unflatten(list(given), spec)
        listen(_MAKING)
        try:
            with level:
                result = tree_map_only(FunctionalTensor, lambda t: t.value if t._level is level else t, func(*a, **k))
        finally:
            unlisten(_MAKING)
        for x, t in zip(flat, given):
            if t.__class__ is FunctionalTensor:
                final = t.value
                changed = t.changed(x)
                if t._source is not None:
                    _reshape(x, t.replays())
                if changed:
                    x.copy_(final)
        return result

    return wrapped


__all__ = ["FunctionalTensor", "functional", "functionalize", "run"]


shown_in("torchcompat.func", functionalize)
