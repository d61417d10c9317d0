"""__torch_function__: tensor subclasses and modes that see every call."""

from __future__ import annotations

import threading
from typing import Any
from collections.abc import Callable
from types import NoneType

from autograd_tape.modes import GradMode, _mode, enter_quiet_path, grad_mode, leave_quiet_path

from .bits import Bits


class _State(threading.local):
    disabled = 0
    modes: tuple[Any, ...] = ()


_state = _State()


class DisableTorchFunctionSubclass:
    """Inside, overrides of subclasses are not called."""

    def __enter__(self) -> None:
        _state.disabled += 1

    def __exit__(self, *exc: object) -> None:
        _state.disabled -= 1


def disabled_torch_function(func: Callable[..., Any], types: Any, args: Any = (), kwargs: Any = None) -> Any:
    """A `__torch_function__` for subclasses that leave functions as they are."""
    with DisableTorchFunctionSubclass():
        return func(*args, **(kwargs or {}))


class TorchFunctionMode:
    """A mode whose `__torch_function__` sees every operation inside `with mode:`."""

    def __enter__(self) -> "TorchFunctionMode":
        from .utils import _factories

        leave_quiet_path()
        _factories.look("function", _made)
        _state.modes += (self,)
        return self

    def __exit__(self, *exc: object) -> None:
        from .utils import _factories

        _state.modes = _state.modes[:-1]
        _factories.look_away("function")
        enter_quiet_path()

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        raise NotImplementedError


def _made(name: str, function: Callable[..., Any], proceed: Callable[[], Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A tensor that the innermost mode makes."""
    modes = _state.modes
    if not modes:
        return proceed()
    _state.modes = modes[:-1]
    try:
        return modes[-1].__torch_function__(function, (), args, kwargs)
    finally:
        _state.modes = modes


class enable_reentrant_dispatch:
    """Inside, a `__torch_dispatch__` may call operations that are recorded, as outside of it."""

    def __enter__(self) -> None:
        self.before = grad_mode()
        _mode.set(GradMode.ENABLED)

    def __exit__(self, *exc: object) -> None:
        _mode.set(self.before)


def function_override(frontend: Any, general: Any, args: tuple[Any, ...], out: Any, inplace: bool) -> Any:
    """Calls modes and subclass overrides; NotImplemented where there are none."""
    modes = _state.modes
    special = () if _state.disabled else _overriding(general.rec, args, out)
    if not modes and not special:
        return NotImplemented
    rec = general.rec
    name = rec.name + "_" if inplace else rec.name
    function = frontend.function(name)
    kwargs = {p.name: v for p, v in zip(rec.params, args) if p.keyword_only and v != rec.defaults.get(p.name)}
    positional = [v for p, v in zip(rec.params, args) if not p.keyword_only]
    while len(positional) > 1 and rec.params[len(positional) - 1].default is not None and \
            positional[-1] is rec.defaults[rec.params[len(positional) - 1].name]:
        positional.pop()
    if out is not None:
        kwargs["out"] = out
    types = tuple(dict.fromkeys(type(x) for x in special))
    if modes:
        mode = modes[-1]
        _state.modes = modes[:-1]
        try:
            result = mode.__torch_function__(function, types, tuple(positional), kwargs)
        finally:
            _state.modes = modes
        if result is not NotImplemented:
            return result
    for cls in types:
        result = cls.__torch_function__(function, types, tuple(positional), kwargs)
        if result is not NotImplemented:
            return result
    if types:
        raise TypeError(f"no implementation found for 'torch.{name}' on types that implement __torch_function__: {list(types)}")
    return NotImplemented


def _overriding(rec: Any, args: tuple[Any, ...], out: Any) -> list[Any]:
    """The arguments whose class overrides torch functions, subclasses before their bases."""
    found: list[Any] = []
    for p, value in zip(rec.params, args):
        for x in value if isinstance(value, (tuple, list)) else (value,):
            k = getattr(x, "_k", None)
            if (k is None and p.is_tensor and hasattr(type(x), "__torch_function__")
                    or k is not None and k.special.__class__ not in (NoneType, Bits)
                    and type(x).__torch_function__ is not disabled_torch_function):
                index = next((i for i, y in enumerate(found) if issubclass(type(x), type(y)) and type(x) is not type(y)), len(found))
                found.insert(index, x)
    return found


def convert_results(result: Any, cls: type, func: Callable[..., Any]) -> Any:
    """Results of an operation as instances of the subclass."""
    from ._tensor import Tensor

    if isinstance(result, Tensor) and not isinstance(result, cls):
        return result.as_subclass(cls)
    if isinstance(result, tuple) and hasattr(result, "_fields"):
        return type(result)(*[convert_results(r, cls, func) for r in result])
    if isinstance(result, (tuple, list)):
        return type(result)(convert_results(r, cls, func) for r in result)
    return result


def has_torch_function(relevant: Any) -> bool:
    """Whether any of these arguments overrides torch functions."""
    if _state.modes:
        return True
    return not _state.disabled and any(getattr(getattr(x, "_k", None), "special", None) is not None or
                                       getattr(x, "_k", None) is None and hasattr(type(x), "__torch_function__") for x in relevant)


def handle_torch_function(public_api: Callable[..., Any], relevant: Any, *args: Any, **kwargs: Any) -> Any:
    """Calls the overrides of `relevant` for a function written in Python."""
    types = tuple(dict.fromkeys(type(x) for x in relevant if has_torch_function((x,))))
    for cls in types:
        result = cls.__torch_function__(public_api, types, args, kwargs)
        if result is not NotImplemented:
            return result
    raise TypeError(f"no implementation found for '{public_api.__module__}.{public_api.__name__}' on types that implement "
                    f"__torch_function__: {list(types)}")


def is_tensor_like(x: Any) -> bool:
    """Whether `x` is a tensor or overrides torch functions."""
    from ._tensor import Tensor

    return isinstance(x, Tensor) or hasattr(x, "__torch_function__")
