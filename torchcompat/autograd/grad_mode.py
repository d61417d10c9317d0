"""no_grad, enable_grad, set_grad_enabled, inference_mode: torch's names for the thread's one grad mode."""

from __future__ import annotations

import functools
import inspect
import threading
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from autograd_tape import warned
from autograd_tape.annotations import Fn
from autograd_tape.modes import GradMode, _mode, enter_inference, exit_inference, grad_mode

from .._calls.absent import absences as _absences

if TYPE_CHECKING:
    from torchcompat._tensor import Tensor


_asked: ContextVar[bool] = ContextVar("torchcompat.grad_asked", default=False)
"""Whether grad is enabled in inference mode, which records nothing either way, but says so when asked."""


def _state() -> tuple[GradMode, bool]:
    return grad_mode(), _asked.get()


def _restore(state: tuple[GradMode, bool]) -> None:
    _mode.set(state[0])
    _asked.set(state[1])


def _turn(mode: GradMode) -> None:
    """Enables or disables grad. Inference mode goes on whatever is enabled in it."""
    if grad_mode() is GradMode.INFERENCE:
        _asked.set(mode is GradMode.ENABLED)
    else:
        _mode.set(mode)


class _Mode:
    """A grad mode for a block or for a function; generators keep it between their yields."""

    def __init__(self) -> None:
        self._before: list[tuple[GradMode, bool]] = []

    def _target(self) -> GradMode:
        raise NotImplementedError

    def clone(self) -> "_Mode":
        """A fresh context of the same kind."""
        return type(self)()

    def __enter__(self) -> None:
        self._before.append(_state())
        _turn(self._target())

    def __exit__(self, *exc: object) -> None:
        _restore(self._before.pop())

    def __call__(self, function: Fn) -> Fn:
        if inspect.isclass(function):

            warned.warn("Decorating classes is deprecated and will be disabled in future versions. You should only decorate functions or "
                        "methods. To preserve the current behavior of class decoration, you can directly decorate the `__init__` method "
                        "and nothing else.", FutureWarning)
        clone = self.clone
        if inspect.isgeneratorfunction(function):
            @functools.wraps(function)
            def generator(*args: object, **kwargs: object) -> object:
                inner = function(*args, **kwargs)
                try:
                    with clone():
                        response = inner.send(None)
                    while True:
                        try:
                            request = yield response
                        except GeneratorExit:
                            with clone():
                                inner.close()
                            raise
                        except BaseException as error:
                            with clone():
                                response = inner.throw(error)
                        else:
                            with clone():
                                response = inner.send(request)
                except StopIteration as stop:
                    return stop.value
            return generator

        @functools.wraps(function)
        def wrapper(*args: object, **kwargs: object) -> Tensor | None:
            with clone():
                return function(*args, **kwargs)
        return wrapper


class _NoParameters(_Mode):
    def __new__(cls, orig_func: Fn | None = None) -> Any:
        self = object.__new__(cls)
        if orig_func is None:
            return self
        self.__init__()  # type: ignore[misc]  # a context is used again
        return self(orig_func)

    def __init__(self, orig_func: object = None) -> None:
        super().__init__()


class no_grad(_NoParameters):
    """Nothing inside is recorded. As `with no_grad():`, `@no_grad()` or `@no_grad`.

    >>> import torchcompat as torch
    >>> x = torch.ones(2, requires_grad=True)
    >>> with torch.no_grad():
    ...     y = x * 2
    >>> y.requires_grad
    False
    """

    def _target(self) -> GradMode:
        return GradMode.DISABLED


class enable_grad(_NoParameters):
    """Operations inside are recorded, also within `no_grad`."""

    def _target(self) -> GradMode:
        return GradMode.ENABLED


class set_grad_enabled(_Mode):
    """Recording on or off: at once as a function, for a block as a context."""

    def __init__(self, mode: bool) -> None:
        super().__init__()
        self.mode = bool(mode)
        self._previous = _state()
        _turn(self._target())

    def _target(self) -> GradMode:
        return GradMode.ENABLED if self.mode else GradMode.DISABLED

    def clone(self) -> "_Mode":
        """A fresh context of the same kind."""
        return set_grad_enabled(self.mode)

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exc: object) -> None:
        _restore(self._previous)

    def __call__(self, function: Fn) -> Fn:
        _restore(self._previous)
        return super().__call__(function)


class inference_mode(_Mode):
    """Like `no_grad`, for results that will never meet autograd."""

    def __new__(cls, mode: Any = True) -> Any:
        self = object.__new__(cls)
        if isinstance(mode, bool):
            return self
        self.__init__(True)  # type: ignore[misc]  # a context is used again
        return self(mode)

    def __init__(self, mode: bool = True) -> None:
        super().__init__()
        self.mode = mode if isinstance(mode, bool) else True

    def _target(self) -> GradMode:
        return GradMode.INFERENCE if self.mode else GradMode.ENABLED

    def __enter__(self) -> None:
        self._before.append(_state())
        self._change((self._target(), False))

    def __exit__(self, *exc: object) -> None:
        self._change(self._before.pop())

    def _change(self, state: tuple[GradMode, bool]) -> None:
        """Sets the modes, and the quiet path to be that of inference tensors or not."""
        before = grad_mode() is GradMode.INFERENCE
        _restore(state)
        if before is not (state[0] is GradMode.INFERENCE):
            exit_inference() if before else enter_inference()

    def clone(self) -> "_Mode":
        """A fresh context of the same kind."""
        return inference_mode(self.mode)


def is_grad_enabled() -> bool:
    """Whether operations are recorded."""
    mode = grad_mode()
    return mode is GradMode.ENABLED or mode is GradMode.INFERENCE and _asked.get()


def is_inference_mode_enabled() -> bool:
    """Whether inference mode is on."""
    return grad_mode() is GradMode.INFERENCE


class _Multithreading(threading.local):
    enabled = True


_multithreading = _Multithreading()


def is_multithreading_enabled() -> bool:
    """Whether backward may use several threads."""
    return _multithreading.enabled


class set_multithreading_enabled(_Mode):
    """Whether backward may use several threads: at once as a function, for a block as a context. A backward pass of CPU tensors stays on
    its caller's thread either way."""

    def __init__(self, mode: bool) -> None:
        super().__init__()
        self.mode, self._previous = bool(mode), _multithreading.enabled
        _multithreading.enabled = self.mode

    def clone(self) -> "_Mode":
        """A fresh context of the same kind."""
        return set_multithreading_enabled(self.mode)

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exc: object) -> None:
        _multithreading.enabled = self._previous


_absences(__name__)
