"""Decorators of pipes: steps as methods of all pipes, and steps whose order nobody knows."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from functools import wraps
from typing import Any, get_args, get_origin, get_type_hints

from autograd_tape.annotations import Fn

from ._typing import declared, is_instance, is_subtype
from .datapipe import IterDataPipe, MapDataPipe

__all__: list[str] = []

_determinism = False


class functional_datapipe:
    """Makes a class of pipes a method, of this name, of all pipes of its kind."""

    def __init__(self, name: str, enable_df_api_tracing: bool = False) -> None:
        self.name, self.enable_df_api_tracing = name, enable_df_api_tracing

    def __call__(self, cls: Any) -> Any:
        if isinstance(cls, non_deterministic):
            IterDataPipe.register_datapipe_as_function(self.name, cls)
        elif not isinstance(cls, type):
            if not isinstance(getattr(cls, "__self__", None), non_deterministic):
                raise TypeError("`functional_datapipe` can only decorate IterDataPipe")
            IterDataPipe.register_datapipe_as_function(self.name, cls)
        elif issubclass(cls, (IterDataPipe, MapDataPipe)):
            cls.register_datapipe_as_function(self.name, cls)
        return cls


class guaranteed_datapipes_determinism:
    """A block in which no pipe is made whose elements come in an order that nobody knows."""

    def __init__(self) -> None:
        global _determinism
        self.prev, _determinism = _determinism, True

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exc: object) -> None:
        global _determinism
        _determinism = self.prev


class non_deterministic:
    """Marks a class of pipes whose elements come in an order that nobody knows; or those for whose arguments a function says so.

    Raises:
        TypeError: it is no class of pipes.
    """

    cls: Any = None

    def __init__(self, arg: Any) -> None:
        self.deterministic_fn: Fn
        if isinstance(arg, type):
            self.cls = self._checked(arg, " with `non_deterministic`")
        elif callable(arg):
            self.deterministic_fn = arg
        else:
            raise TypeError(f"{arg} can not be decorated by non_deterministic")

    @staticmethod
    def _checked(cls: Any, how: str) -> Any:
        if not isinstance(cls, type) or not issubclass(cls, IterDataPipe):
            raise TypeError(f"Only `IterDataPipe` can be decorated{how}, but {cls.__name__} is found")
        return cls

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self.cls is None:
            self.cls = self._checked(args[0], "")
            return self.deterministic_wrapper_fn
        if _determinism:
            raise TypeError(f"{self.cls.__name__} is non-deterministic, but you set 'guaranteed_datapipes_determinism'. You can turn off "
                            "determinism for this DataPipe if that is acceptable for your application")
        return self.cls(*args, **kwargs)

    def deterministic_wrapper_fn(self, *args: Any, **kwargs: Any) -> Any:
        """A pipe, where its arguments allow it."""
        unknown = self.deterministic_fn(*args, **kwargs)
        if not isinstance(unknown, bool):
            raise TypeError("deterministic_fn of `non_deterministic` decorator is required to return a boolean value, but "
                            f"{type(unknown)} is found")
        if _determinism and unknown:
            raise TypeError(f"{self.cls.__name__} is non-deterministic with the inputs, but you set 'guaranteed_datapipes_determinism'. "
                            "You can turn off determinism for this DataPipe if that is acceptable for your application")
        return self.cls(*args, **kwargs)


def argument_validation(f: Fn) -> Fn:
    """A function that refuses (TypeError) pipes of other elements than its annotations `IterDataPipe[...]` say."""
    signature, hints = inspect.signature(f), get_type_hints(f)
    pipes = {name: hint for name, hint in hints.items() if isinstance(get_origin(hint) or hint, type)
             and issubclass(get_origin(hint) or hint, IterDataPipe)}

    @wraps(f)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        for name, value in signature.bind(*args, **kwargs).arguments.items():
            if name not in pipes:
                continue
            if not isinstance(value, IterDataPipe):
                raise TypeError(f"Expected argument '{name}' as a IterDataPipe, but found {type(value)}")
            wanted, found = (*get_args(pipes[name]), declared(pipes[name]))[0], declared(type(value))
            if not is_subtype(found, wanted):
                raise TypeError(f"Expected type of argument '{name}' as a subtype of hint {wanted}, but found {found}")
        return f(*args, **kwargs)

    return wrapper


_runtime_validation_enabled = True


class runtime_validation_disabled:
    """A block in which the types of elements are not looked at."""

    def __init__(self) -> None:
        global _runtime_validation_enabled
        self.prev, _runtime_validation_enabled = _runtime_validation_enabled, False

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exc: object) -> None:
        global _runtime_validation_enabled
        _runtime_validation_enabled = self.prev


def runtime_validation(f: Fn) -> Fn:
    """The `__iter__` of a pipe, which refuses (RuntimeError) elements of another type than its class says.

    Raises:
        TypeError: it is another method.
    """
    if f.__name__ != "__iter__":
        raise TypeError(f"Can not decorate function {f.__name__} with 'runtime_validation'")

    @wraps(f)
    def wrapper(self: Any) -> Iterator[Any]:
        hint = declared(type(self))
        for element in f(self):
            if _runtime_validation_enabled and not is_instance(element, hint):
                raise RuntimeError(f"Expected an instance as subtype of {hint}, but found {element}({type(element)})")
            yield element

    return wrapper
