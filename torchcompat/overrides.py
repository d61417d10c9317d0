"""__torch_function__: tensor subclasses and modes that see every call."""

from __future__ import annotations

import functools
import threading
from typing import Any, cast
from collections.abc import Callable, Sequence
from types import NoneType

from autograd_tape import warned
from autograd_tape.annotations import Arguments, Fn, Keywords, SomeFn
from autograd_tape.calls import HERE, TO_ALL, Call, Door, Interceptor, listen, listen_for_good, unlisten
from autograd_tape.dtypes import Device, DType
from autograd_tape.modes import GradMode, _mode, grad_mode
from autograd_tape.tensor import TensorRef

from ._calls.above import above
from ._calls.absent import absences as _absences
from ._memory.bits import Bits
from ._memory.layout import layout, nested_layout


class _State(threading.local):
    disabled = 0
    modes: tuple[TorchFunctionMode, ...] = ()


_state = _State()


class DisableTorchFunctionSubclass:
    """Inside, overrides of subclasses are not called."""

    def __enter__(self) -> None:
        _state.disabled += 1

    def __exit__(self, *exc: object) -> None:
        _state.disabled -= 1


class DisableTorchFunction:
    """Inside, neither modes nor classes override functions."""

    def __enter__(self) -> None:
        self.modes, _state.modes = _state.modes, ()
        _state.disabled += 1

    def __exit__(self, *exc: object) -> None:
        _state.modes = self.modes
        _state.disabled -= 1


class _EnableTorchFunction:
    """As long as it is there, classes override functions where nothing did."""

    def __init__(self) -> None:
        self._before, _state.disabled = _state.disabled, 0

    def __del__(self) -> None:
        _state.disabled = self._before


def disabled_torch_function(func: Callable[..., Any], types: object, args: Any = (), kwargs: Any = None) -> Any:
    """A `__torch_function__` for subclasses that leave functions as they are."""
    with DisableTorchFunctionSubclass():
        return func(*args, **(kwargs or {}))


class TorchFunctionMode:
    """A mode whose `__torch_function__` sees every operation inside `with mode:`."""

    def __enter__(self) -> "TorchFunctionMode":
        listen(FUNCTIONS)
        _state.modes += (self,)
        return self

    def __exit__(self, *exc: object) -> None:
        _state.modes = _state.modes[:-1]
        unlisten(FUNCTIONS)

    @classmethod
    def push(cls, *args: object, **kwargs: object) -> TorchFunctionMode:
        """A mode, with a warning that `with` takes what the class makes."""
        warned.warn("`Mode.push()` is no longer necessary and can be replaced with just `with Mode()`")
        return cls(*args, **kwargs)

    def __torch_function__(self, func: object, types: object, args: object = (), kwargs: object = None) -> Any:
        raise NotImplementedError


class enable_reentrant_dispatch:
    """Inside, a `__torch_dispatch__` may call operations that are recorded, as outside of it."""

    def __enter__(self) -> None:
        self.before = grad_mode()
        _mode.set(GradMode.ENABLED)

    def __exit__(self, *exc: object) -> None:
        _mode.set(self.before)


class _Functions(Interceptor):
    """Calls modes, and what classes of arguments override."""

    place = "function"
    found = False
    """Whether there are classes that override torch functions."""
    forwards = False
    """Whether there are some that are no tensors, but hand attributes on to one."""

    def meet(self, door: Door, args: Arguments, out: Any, inplace: bool, asked: tuple[Interceptor, ...], at: int) -> Any:
        state = _state.__dict__  # this thread's, quicker than attribute after attribute
        modes = state.get("modes")
        special: Sequence[Any] = ()
        named: dict[str, Any] = {}
        if modes:
            given, named = door.spelled(args)
        for value in args if not modes else (*given, *named.values()) if named else given:  # no default overrides anything
            if (kind := value.__class__) not in WITHOUT and not ((kind is tuple or kind is list) and WITHOUT.issuperset(map(type, value))):
                special = _overriding(args if not door.spreads else tuple([  # what takes any number of tensors also takes a list
                    x for a in args for x in (a if a.__class__ is tuple else (a,))]))
                break
        if not modes and not special:
            return NotImplemented
        function = door.public(inplace)
        if not modes:
            given, named = door.spelled(args)
        if out is not None:
            named["out"] = out
        types = tuple(dict.fromkeys([type(x) for x in special])) if special else ()
        if modes:
            state["modes"] = modes[:-1]
            try:
                result = modes[-1].__torch_function__(function, types, given, named)
            finally:
                state["modes"] = modes
            if result is not NotImplemented:
                return result
        for cls in types:
            result = cls.__torch_function__(function, types, given, named)
            if result is not NotImplemented:
                return result
        if types:
            name = Call(door, args, out, inplace, asked, at).name
            raise TypeError(f"no implementation found for 'torch.{name}' on types that implement __torch_function__: {list(types)}")
        return NotImplemented


FUNCTIONS = _Functions()


def look_for_classes() -> None:
    """Called when an instance of a class that may override torch functions is met: from now on calls show their arguments."""
    FUNCTIONS.found = True
    listen_for_good(FUNCTIONS)


def joins(args: Sequence[object]) -> bool:
    """Whether the class of an argument that is no tensor overrides torch functions and nobody has listened to calls for such classes yet:
    from now on somebody does."""
    found = _overriding(tuple(args))
    forwards = not FUNCTIONS.forwards and any([not isinstance(x, TensorRef) and hasattr(x, "_k") for x in found])
    if not found or FUNCTIONS.found and not forwards:
        return False
    if forwards:  # what hands its attributes on passes for a tensor on every quiet path: from now on none is open
        FUNCTIONS.forwards = True
        listen(FUNCTIONS)
    look_for_classes()
    return True


WITHOUT = {NoneType, bool, int, float, complex, str, slice, dict, DType, Device}
"""Classes that override nothing; Tensor is one of them."""


def _overriding(args: tuple[object, ...]) -> Sequence[Any]:
    """The arguments whose class overrides torch functions, subclasses before their bases."""
    found: list[Any] = []
    for value in () if _state.disabled else args:
        if value.__class__ in WITHOUT:
            continue
        for x in value if isinstance(value, (tuple, list)) else (value,):
            if x.__class__ in WITHOUT:
                continue
            k = x._k if isinstance(x, TensorRef) else None  # what forwards its attributes to a tensor is none
            if (k is None and hasattr(type(x), "__torch_function__") and not _of_torch(type(x))
                    or k is not None and k.special.__class__ not in (NoneType, Bits, layout, nested_layout)
                    and type(x).__torch_function__ is not disabled_torch_function):
                index = next((i for i, y in enumerate(found) if issubclass(type(x), type(y)) and type(x) is not type(y)), len(found))
                found.insert(index, x)
    return found


def _of_torch(cls: Any) -> bool:
    """Whether these are tensors of torch itself, in the same process: whose function calls ours again, and ours that."""
    return getattr(cls.__torch_function__, "__module__", None) in ("torch._tensor", "torch._C")


def convert_results(result: Any, cls: type, func: Fn) -> Any:
    """Results of an operation as instances of the subclass."""
    if isinstance(result, TensorRef) and not isinstance(result, cls):
        return result.as_subclass(cls)  # type: ignore[attr-defined]  # torchcompat's tensors have it
    if isinstance(result, tuple) and hasattr(result, "_fields"):
        return type(result)(*[convert_results(r, cls, func) for r in result])
    if isinstance(result, (tuple, list)):
        return type(result)(convert_results(r, cls, func) for r in result)
    return result


def in_function_mode() -> bool:
    """Whether this thread is in a mode."""
    return bool(_state.modes)


def has_torch_function(relevant: Any) -> bool:
    """Whether a mode, or any of these arguments, overrides torch functions."""
    return bool(_state.modes) or any([_overrides(x) for x in relevant])


def has_torch_function_unary(obj: Any) -> bool:
    """Whether a mode, or this one argument, overrides torch functions."""
    return bool(_state.modes) or _overrides(obj)


def has_torch_function_variadic(*args: Any) -> bool:
    """Whether a mode, or one of the arguments, overrides torch functions."""
    return has_torch_function(args)


def _overrides(x: Any) -> bool:
    """Whether the class of an argument overrides torch functions."""
    k = x._k if isinstance(x, TensorRef) else None
    return not _state.disabled and (hasattr(type(x), "__torch_function__") if k is None else getattr(k, "special", None) is not None)


def _get_current_function_mode() -> TorchFunctionMode | None:
    """The innermost mode of this thread."""
    return _state.modes[-1] if _state.modes else None


def _get_current_function_mode_stack() -> list[TorchFunctionMode]:
    """The modes of this thread, the innermost last."""
    return list(_state.modes)


def met(function: Fn, args: Arguments, kwargs: Keywords) -> Any:
    """What a mode, or the class of an argument, makes of a call of a method that is no operation; HERE where none is about."""
    return handle_torch_function(function, args, *args, **kwargs) if _state.modes or _overriding(args) else HERE


def wrap_torch_function(dispatcher: Callable[..., Any]) -> Callable[[Fn], Fn]:
    """A decorator for functions that modes and arguments may override; `dispatcher` takes the same arguments, and gives those that may.

    >>> class Twice:
    ...     @classmethod
    ...     def __torch_function__(cls, func, types, args=(), kwargs=None):
    ...         return func(*[2 for _ in args])
    >>> @wrap_torch_function(lambda x: (x,))
    ... def plus_one(x):
    ...     return x + 1
    >>> plus_one(1), plus_one(Twice())
    (2, 3)
    """
    def inner(function: Fn) -> Fn:
        @functools.wraps(function)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            relevant = dispatcher(*args, **kwargs)
            return handle_torch_function(wrapped, relevant, *args, **kwargs) if has_torch_function(relevant) else function(*args, **kwargs)

        return wrapped

    return inner


def overridable(function: SomeFn) -> SomeFn:
    """A function that is no operation of its own, but is shown as one to modes, and to classes of its arguments.

    >>> class Named:
    ...     @classmethod
    ...     def __torch_function__(cls, func, types, args=(), kwargs=None):
    ...         return func.__name__
    >>> import torchcompat as torch
    >>> torch.numel(Named()), torch.linalg.svd(Named())
    ('numel', 'svd')
    """
    @functools.wraps(function)
    def shown(*args: object, **kwargs: object) -> object:
        if TO_ALL or not args or args[0].__class__ not in WITHOUT:
            given = (*args, *kwargs.values())
            if has_torch_function(given):
                return handle_torch_function(shown, given, *args, **kwargs)
        return function(*args, **kwargs)

    shown.overridable = True  # type: ignore[attr-defined]  # for who lists them
    return cast("SomeFn", shown)


def handle_torch_function(public_api: Fn, relevant: Any, *args: object, **kwargs: object) -> Any:
    """What the innermost mode, or else a class of `relevant`, makes of a call of a function written in Python.

    Raises:
        TypeError: all of them return NotImplemented.
    """
    types = tuple(dict.fromkeys([type(x) for x in relevant if _overrides(x)]))
    modes = _state.modes
    if modes:
        _state.modes = modes[:-1]
        try:
            result = modes[-1].__torch_function__(public_api, types, args, kwargs)
        finally:
            _state.modes = modes
        if result is not NotImplemented:
            return result
    for cls in types:
        result = cls.__torch_function__(public_api, types, args, kwargs)
        if result is not NotImplemented:
            return result
    home = public_api.__module__.replace("torchcompat", "torch", 1)
    raise TypeError(f"no implementation found for '{home}.{public_api.__name__}' on types that implement "
                    f"__torch_function__: {list(types)}")


def get_overridable_functions() -> dict[object, list[object]]:
    """The functions that may be overridden, by where programs find them: modules, `torch.Tensor`, and each property by itself.

    >>> import torchcompat as torch
    >>> torch.add in get_overridable_functions()[torch], torch.zeros in get_overridable_functions()[torch]
    (True, False)
    """
    return {space: list(functions) for space, functions in above.overridable_functions().items()}


def get_ignored_functions() -> set[object]:
    """The functions that cannot be overridden."""
    return set(above.ignored_functions())


def get_testing_overrides() -> dict[object, Fn]:
    """For each function that may be overridden one that takes the same and returns -1, for tests of what overrides them."""
    return dict(above.testing_overrides())


def get_default_nowrap_functions() -> set[object]:
    """What `Tensor.__torch_function__` leaves as it is: what says where a tensor comes from."""
    return set(above.nowrap_functions())


def resolve_name(f: object) -> str | None:
    """What a program calls one of torch's functions, None where it is none.

    >>> import torchcompat as torch
    >>> resolve_name(torch.add), resolve_name(torch.ops.aten.add.Tensor), resolve_name(len)
    ('torch.add', 'aten.add.Tensor', None)
    """
    return above.name_of(f)


def is_tensor_method_or_property(func: object) -> bool:
    """Whether tensors have a function as a method, or it reads a property of theirs."""
    return func in above.methods() or getattr(func, "__name__", "") == "__get__"


def is_tensor_like(inp: object) -> bool:
    """Whether `inp` is a tensor or overrides torch functions."""
    return hasattr(inp, "__torch_function__")


_absences(__name__)
