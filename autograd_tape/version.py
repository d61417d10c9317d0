"""Versions: how often memory was changed in place, by which entries know whether what they saved is still there."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from .tensor import TensorRef

_APART = 1 << 48
"""What the numbers of a tensor have more than those of its memory, each time it was severed: more than there ever are changes."""


class Versioned(Protocol):
    """What has a version: a tensor."""

    _v: Version | None


class Version:
    """The version of some memory, which all tensors over it share; made when somebody first needs it.

    Compiled functions make their own, with `number` and `views` set at once, see `made`: a method would cost them more than all the rest.

    >>> version = Version.new()
    >>> version.number += 1
    >>> version.number
    1
    """

    # number    how often the memory was changed
    # views     weak references to the views that were made of the memory and are to hear of its history
    # watchers  who hears of the next change; there are some only where the class is `_Watched`
    __slots__ = ("number", "views", "watchers")
    watched = False  # whether anybody hears of the next change

    number: int
    views: Any  # a list, where there are any
    watchers: list[Callable[[], bool]]

    @staticmethod
    def new(number: int = 0) -> Version:
        """A version of its own."""
        version = Version()
        version.number, version.views = number, ()
        return version

    @staticmethod
    def of(tensor: Versioned) -> Version:
        """The version of a tensor, made where it had none."""
        version = tensor._v
        if version is None:
            tensor._v = version = Version.new()
        return version

    @staticmethod
    def count(tensor: Versioned) -> None:
        """Counts a change of the memory of a tensor."""
        version = tensor._v
        if version is None:
            tensor._v = Version.new(1)
        else:
            version.number += 1

    @staticmethod
    def count_all(tensors: Iterable[Versioned]) -> None:
        """Counts a change of each."""
        for tensor in tensors:
            version = tensor._v
            if version is None:
                tensor._v = Version.new(1)
            else:
                version.number += 1

    def add_view(self, view: TensorRef) -> None:
        """Notes a view, so that an in-place update of its base can refresh its history."""
        views = self.views
        if not views:
            self.views = [weakref.ref(view)]
        else:
            views.append(weakref.ref(view))
            if not len(views) & 31:
                self.prune()

    def add_views(self, views: Iterable[TensorRef]) -> None:
        """Notes several at once."""
        known: list[Any] = self.views or []
        before = len(known)
        known.extend(map(weakref.ref, views))
        self.views = [ref for ref in known if ref() is not None] if before ^ len(known) > before > 31 else known  # as `prune`

    def prune(self) -> None:
        """Forgets dead views, each time the list has doubled. Called every 32 views."""
        if not len(self.views) & (len(self.views) - 1):
            self.views = [ref for ref in self.views if ref() is not None]

    def live_views(self) -> list[TensorRef]:
        """The views that there still are."""
        return [view for ref in self.views if (view := ref()) is not None]

    def watch(self, watcher: Callable[[], bool]) -> None:
        """Has `watcher` called after the next change, and as long as it says so after later ones."""
        if not self.watched:
            self.watchers, self.__class__ = [], _Watched
        self.watchers.append(watcher)

    @property
    def memory(self) -> Version:
        """The version of the memory itself, which a severed tensor's stands for."""
        return self


_number = Version.__dict__["number"]
"""The slot, which two kinds of versions show otherwise."""


class _Watched(Version):
    """A version of whose next change somebody hears. All who share it keep the one object, so changing memory costs others nothing."""

    __slots__ = ()
    watched = True

    @property
    def number(self) -> int:
        return _number.__get__(self)

    @number.setter
    def number(self, number: int) -> None:
        _number.__set__(self, number)
        self.watchers = [watcher for watcher in self.watchers if watcher()]
        if not self.watchers:
            self.__class__ = Version  # type: ignore[assignment]  # which it was


class _Severed(Version):
    """The version of a tensor that lost its history in place: all that was saved of it before compares as changed. Changes are those of
    the memory, which others still look at."""

    __slots__ = ("_memory", "_ahead")

    def __init__(self, version: Version) -> None:
        self._memory = version.memory
        self._ahead = version.number - self._memory.number + _APART

    @property
    def memory(self) -> Version:
        return self._memory

    @property
    def number(self) -> int:
        return self._memory.number + self._ahead

    @number.setter
    def number(self, number: int) -> None:
        self._memory.number = number - self._ahead

    @property
    def views(self) -> Sequence[weakref.ref[Any]]:
        return self._memory.views

    @views.setter
    def views(self, views: Sequence[weakref.ref[object]]) -> None:
        self._memory.views = views


def sever(tensor: Versioned) -> None:
    """Makes entries refuse what they saved as `tensor`, which is about to lose its history in place. Nobody looks for it: the version
    it gets compares as changed, and `saved.stale` tells why."""
    tensor._v = _Severed(Version.of(tensor))


def severed_since(tensor: Any, number: int) -> bool:
    """Whether a tensor was severed since its version had that number."""
    return number_of(tensor) // _APART > number // _APART


def changes(number: int) -> int:
    """How many changes a version's number stands for."""
    return number % _APART


def number_of(tensor: TensorRef | float | None) -> int:
    """The number of a tensor's version; 0 for all else."""
    version: Version | None = getattr(tensor, "_v", None)
    return 0 if version is None else version.number


def made(name: str, number: int = 0) -> str:
    """Source that makes a version for a compiled function."""
    return f"{name} = Version(); {name}.number = {number}; {name}.views = ()"
