"""torch.futures: values that other threads will have computed.

>>> from torchcompat.futures import Future
>>> first = Future()
>>> second = first.then(lambda done: done.value() + 1)
>>> first.set_result(1)
>>> second.wait()
2
"""

from __future__ import annotations

import sys
import threading
import traceback
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Generic, NoReturn, TypeVar

from autograd_tape.locks import fork_safe_lock

import torchcompat as torch

from ._calls.absent import absences as _absences

__all__ = ["Future", "collect_all", "wait_all"]

T = TypeVar("T")
S = TypeVar("S")


class Future(Generic[T]):
    """A value that is set once, or an exception in its place; other threads wait for it.

    Args:
        devices: of the tensors in the value, apart from the CPU; of which there are none.

    Raises:
        RuntimeError: a device that is not here.
        ValueError: the CPU.
    """

    def __init__(self, *, devices: Iterable[Any] | None = None) -> None:
        for device in map(torch.device, devices or ()):
            if device.index is None:
                raise ValueError(f"Expected devices to have indices, got {device}")
            raise RuntimeError(f"PyTorch is not linked with support for {device.type} devices")
        self._lock, self._completed = fork_safe_lock(), threading.Event()
        self._callbacks: list[Callable[[Future[T]], None]] = []
        self._result: Any = None
        self._unwrap: Callable[[Any], object] | None = None  # called with the value whenever somebody takes it

    def __reduce__(self) -> NoReturn:
        raise RuntimeError("Can not pickle torch.futures.Future")

    def done(self) -> bool:
        """Whether there is a value, or an exception."""
        return self._completed.is_set()

    def wait(self) -> T:
        """The value, once it is there; or raises the exception."""
        self._completed.wait()
        return self.value()

    def value(self) -> T:
        """The value, or raises the exception; RuntimeError where neither is there yet."""
        if not self.done():
            raise RuntimeError("completed() INTERNAL ASSERT FAILED: the future has no value yet")
        if self._unwrap is not None:
            self._unwrap(self._result)
        return self._result

    def set_result(self, result: T) -> None:
        """Sets the value, and calls what was to be called then, here and now.

        Raises:
            RuntimeError: there is one already.
        """
        with self._lock:
            if self.done():
                raise RuntimeError("Attempting to mark a completed Future as complete again. Note that a Future can only be marked "
                                   "completed once.")
            self._result = result
            self._completed.set()
            callbacks, self._callbacks = self._callbacks, []
        for callback in callbacks:
            callback(self)

    def set_exception(self, result: Exception) -> None:
        """Sets an exception, which whoever takes the value gets.

        Raises:
            AssertionError: it is none.
            RuntimeError: there is a value already.
        """
        if not isinstance(result, Exception):
            raise AssertionError(f"{result} is of type {type(result)}, not an Exception.")

        def raise_error(error: Exception) -> NoReturn:
            raise error

        if not self.done():
            self._unwrap = raise_error
        self.set_result(result)  # type: ignore[arg-type]

    def _when_done(self, name: str, callback: Callable[..., Any], call: Callable[[Future[T]], None], result: str) -> None:
        if not callable(callback):
            raise TypeError(f"{name}(): incompatible function arguments. The following argument types are supported:\n    1. (self: "
                            f"torch._C.Future, arg0: collections.abc.Callable) -> {result}\n\nInvoked with: {self!r}, {callback!r}")
        with self._lock:
            if not self.done():
                self._callbacks.append(call)
                return
        call(self)

    def then(self, callback: Callable[[Future[T]], S]) -> Future[S]:
        """The future of what `callback` gives for this one; it is called when this is done, at once where it is.

        An exception in it becomes a RuntimeError of the new future.
        """
        following: Future[S] = Future()

        def call(done: Future[T]) -> None:
            try:
                value = callback(done)
            except BaseException as error:
                following.set_exception(RuntimeError(_told(error)))
            else:
                following.set_result(value)

        self._when_done("then", callback, call, "torch._C.Future")
        return following

    def add_done_callback(self, callback: Callable[[Future[T]], None]) -> None:
        """Has `callback` called with this future when it is done, at once where it is; an exception in it is only written to stderr."""
        def call(done: Future[T]) -> None:
            try:
                callback(done)
            except BaseException as error:
                print(_told(error), file=sys.stderr)

        self._when_done("add_done_callback", callback, call, "None")


def _told(error: BaseException) -> str:
    """What is said about an exception in a callback, with where it was, the innermost frame first."""
    text = f"Got the following error when running the callback: {type(error).__name__}: {error}"
    inner = [] if error.__traceback__ is None else [
        frame for frame, _ in traceback.walk_tb(error.__traceback__) if frame.f_globals.get("__name__") != __name__]
    lines = {id(frame): line for frame, line in traceback.walk_tb(error.__traceback__)}
    if not inner:  # it could not be called
        return text
    outer = [frame for frame, _ in traceback.walk_stack(sys._getframe(2))]
    at = [f"  {f.f_code.co_filename}({lines.get(id(f), f.f_lineno)}): {f.f_code.co_name}\n" for f in [*inner[::-1], *outer]]
    return f"{text}\n\nAt:\n{''.join(at)}"


def _all_of(futures: Sequence[Future[Any]]) -> Future[list[Future[Any]]]:
    if not isinstance(futures, Sequence) or not all(isinstance(f, Future) for f in futures):
        raise TypeError("_collect_all(): incompatible function arguments. The following argument types are supported:\n    1. (arg0: "
                        f"collections.abc.Sequence[torch._C.Future]) -> torch._C.Future\n\nInvoked with: {futures!r}")
    together: Future[list[Future[Any]]] = Future()
    lock, missing = fork_safe_lock(), len(futures)

    def one_more(done: Future[Any]) -> None:
        nonlocal missing
        with lock:
            missing -= 1
            last = missing == 0
        if last:
            together.set_result(list(futures))

    together._unwrap = lambda all_of_them: [f.wait() for f in all_of_them]  # so that the first exception is raised
    for future in futures:
        future.add_done_callback(one_more)
    if not futures:
        together.set_result([])
    return together


def collect_all(futures: Sequence[Future[Any]]) -> Future[list[Future[Any]]]:
    """The future of the list of some futures, which is done when they all are; who takes it gets the first exception among them."""
    return _all_of(futures)


def wait_all(futures: Sequence[Future[Any]]) -> list[Any]:
    """The values of some futures, once they are all done; or raises the first exception among them."""
    return [f.wait() for f in _all_of(futures).wait()]


_absences(__name__)
