"""The rule that a pipe has one iterator: a new one ends the one before.

What a pass gives is counted, exceptions in it say of which pipe they are, and `reset` is called at its begin.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Iterator
from typing import Any

from autograd_tape.annotations import Fn

__all__: list[str] = []

_FEEDBACK = ("\nFor feedback regarding this single iterator per IterDataPipe constraint, feel free to comment on this issue: "
             "https://github.com/pytorch/data/issues/45.")


def _shown(pipe: Any) -> str:
    """A pipe with its arguments, as messages show it."""
    wanted = inspect.signature(type(pipe)).parameters
    values = {name: value for name, value in inspect.getmembers(pipe) if name in wanted}
    arguments = [f"{name}={value.__name__ if inspect.isfunction(value) else repr(value)}" for name, value in values.items()]
    return f"{type(pipe).__name__}({', '.join(arguments)})"


def _begin(pipe: Any) -> int:
    """Begins a pass over a pipe; the number of the pass."""
    if getattr(pipe, "_is_child_datapipe", False) is True:
        return pipe._set_main_datapipe_valid_iterator_id()
    pipe._valid_iterator_id = number = 0 if pipe._valid_iterator_id is None else pipe._valid_iterator_id + 1
    pipe.reset()
    return number


def _check(pipe: Any, number: int) -> None:
    """Refuses (RuntimeError) to go on with a pass after another one has begun."""
    if getattr(pipe, "_is_child_datapipe", False) is True:
        if not pipe._check_valid_iterator_id(number):
            raise RuntimeError("This iterator has been invalidated, because a new iterator has been created from one of the ChildDataPipes "
                               f"of {_shown(pipe.main_datapipe)}.{_FEEDBACK}")
    elif pipe._valid_iterator_id != number:
        raise RuntimeError("This iterator has been invalidated because another iterator has been created from the same IterDataPipe: "
                           f"{_shown(pipe)}\nThis may be caused by multiple references to the same IterDataPipe. We recommend using "
                           f"`.fork()` if that is necessary.{_FEEDBACK}")


def _tell(error: Exception, pipe: Any) -> None:
    """Adds to an exception's text of which pipe it is, once."""
    text = f"\nThis exception is thrown by __iter__ of {_shown(pipe)}"
    if not error.args or not isinstance(error.args[0], str):
        error.args = (text,)
    elif "thrown by __iter__ of" not in error.args[0] and "single iterator per IterDataPipe constraint" not in error.args[0]:
        error.args = (error.args[0] + text, *error.args[1:])


class _Pass:
    """A pass over a pipe whose `__iter__` is no generator."""

    def __init__(self, elements: Iterator[Any], pipe: Any, number: int, counts: bool) -> None:
        self.elements, self.pipe, self.number, self.counts = elements, pipe, number, counts

    def __iter__(self) -> _Pass:
        return self

    def __next__(self) -> Any:
        _check(self.pipe, self.number)
        element = next(self.elements)
        self.pipe._number_of_samples_yielded += self.counts
        return element

    def __getattr__(self, name: str) -> Any:
        return getattr(self.elements, name)


def _generated(function: Fn) -> Fn:
    @functools.wraps(function)
    def passes(self: Any) -> Iterator[Any]:
        elements = function(self)
        number = _begin(self)
        try:
            for element in elements:
                self._number_of_samples_yielded += 1
                yield element
                _check(self, number)
        except Exception as error:
            _tell(error, self)
            raise

    return passes


def hook(cls: Any) -> None:
    """Has a class of pipes follow the rule."""
    own = vars(cls)
    if "reset" in own:
        reset = own["reset"]

        @functools.wraps(reset)
        def counted(self: Any) -> None:
            self._number_of_samples_yielded = 0
            reset(self)

        cls.reset = counted
    function = own.get("__iter__")
    if function is None:
        return
    if inspect.isgeneratorfunction(function):
        cls.__iter__ = _generated(function)
        return
    if "__next__" in own:
        advance = own["__next__"]

        @functools.wraps(advance)
        def counting(self: Any) -> Any:
            element = advance(self)
            self._number_of_samples_yielded += 1
            return element

        cls.__next__ = counting

    @functools.wraps(function)
    def begun(self: Any) -> _Pass:
        elements = function(self)
        return _Pass(elements, self, _begin(self), not (elements is self and "__next__" in own))

    cls.__iter__ = begun
