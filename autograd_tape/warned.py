"""Warnings, at the line of the program that they are about; some come once in a process. NumPy's own about arithmetic come never."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable
from contextlib import AbstractContextManager
from types import ModuleType
from typing import Any

import numpy as np

roots = [os.path.dirname(os.path.abspath(__file__))]
"""The folders of packages whose lines are not a program's."""

always = False
"""Whether they come each time (`torch.set_warn_always`)."""
_given: set[str] = set()


def warn(text: str, category: type[Warning] = UserWarning) -> None:
    """Warns at the line of the program that called, however far up that is."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and (frame.f_globals.get("__name__") is None or frame.f_code.co_filename.startswith(tuple(roots))):
        frame, level = frame.f_back, level + 1
    warnings.warn(text, category, stacklevel=level)


class _Unwarned(ModuleType):
    """A module whose globals have no name, and which has one nevertheless."""

    @property
    def __name__(self) -> str:
        return str(self.__dict__["__is__"])

    @__name__.setter
    def __name__(self, name: str) -> None:  # where it stands in for another
        self.__dict__["__is__"] = name


def silence(prefix: str) -> bool:
    """Keeps NumPy's warnings from the modules loaded so far that compute: log(0) is -inf and 0 / 0 is nan, as IEEE 754 and torch say.

    Python drops, before any filter, warnings of lines whose globals have no `__name__`. This holds under "error" filters and in all
    threads, and what makes infinities is quicker by what filters cost; np.errstate around each kernel would cost more than the kernel.
    Returns whether some are left, which are being imported: what they define has yet to learn their name.
    """
    left = False
    for name, module in list(sys.modules.items()):
        if name.startswith(prefix) and module.__class__ is ModuleType and "np" in vars(module):
            if name != prefix and getattr(module.__spec__, "_initializing", False):
                left = True
                continue
            module.__class__ = _Unwarned
            vars(module).update(__is__=name, __name__=None)  # dunders, which no module names anything of its own
    return left


if np.lib.NumpyVersion(np.__version__) < "2.0.0":
    _get, _set = np.core.umath.geterrobj, np.core.umath.seterrobj  # type: ignore[attr-defined]  # of NumPy 2

    class _Ignoring:
        """What `np.errstate(all="ignore")` does, in 0.4 us for 4, where kernels of few numbers take no longer than that."""

        __slots__ = ("_before",)

        def __enter__(self) -> None:
            self._before: list[Any] = _get()
            _set([self._before[0], 0, self._before[2]])

        def __exit__(self, *error: object) -> None:
            _set(self._before)

    ignoring: Callable[[], AbstractContextManager[object]] = _Ignoring
elif hasattr(np, "_core") and hasattr(np._core.umath, "_extobj_contextvar"):
    _errors, _made = np._core.umath._extobj_contextvar, np._core.umath._make_extobj

    class _IgnoringHere:
        """What `np.errstate(all="ignore")` does, in 0.3 us for 0.7."""

        __slots__ = ("_before",)

        def __enter__(self) -> None:
            self._before = _errors.set(_made(all="ignore"))

        def __exit__(self, *error: object) -> None:
            _errors.reset(self._before)

    ignoring = _IgnoringHere
else:

    def ignoring() -> AbstractContextManager[object]:
        """A context in which NumPy says nothing of overflow, division by zero and the like, even where it is told to raise errors."""
        return np.errstate(all="ignore")


def warn_once(text: str, about: str = "") -> None:
    """Warns with a text that was not given before, or, with `about`, of what was not warned about before.

    >>> import warnings
    >>> with warnings.catch_warnings(record=True) as found:
    ...     warnings.simplefilter("always")
    ...     for name in ("add", "add", "mul"):
    ...         warn_once(f"this overload of {name} goes away", "overloads of the tour")
    >>> [str(w.message) for w in found]
    ['this overload of add goes away']
    """
    about = about or text
    if always or about not in _given:
        _given.add(about)
        warn(text)


def made(group: str) -> None:
    """Warns of new tensors of a group of dtypes that torch warns of."""
    if group == "chalf":
        warn_once("ComplexHalf support is experimental and many operators don't support it yet.")


def forget() -> None:
    """Lets all of them come again."""
    _given.clear()
