"""A thread's recording state: its grad mode, the tapes and backward passes it is in, and whether operations may be quiet.

A compiled operation tries its quiet path first: it asks whether its tensors' kinds are in its *quiet sets*, and so finds the path closed
where the sets are empty. They are emptied in two ways. Something that changes how operations are carried out (hooks on what is saved,
another executor) closes the path altogether: `leave_quiet_path`. Somebody who only looks at calls (see `calls`) closes the entrance of the
public functions; a call that nobody cares for goes on through a second entrance below, whose sets stay as they are.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from enum import IntEnum
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

from .annotations import Fn, Keywords
from .dtypes import inference_kind
from .locks import fork_safe_lock

if TYPE_CHECKING:
    from .engine import Engine
    from .node import TapeEntry
    from .tape import Tape
    from .tensor import TensorRef


class GradMode(IntEnum):
    """What a thread does with operations on tensors that require grad."""

    DISABLED = 0
    ENABLED = 1
    INFERENCE = 2


_mode: ContextVar[GradMode] = ContextVar("autograd_tape.grad_mode", default=GradMode.ENABLED)
grad_mode: Callable[[], GradMode] = _mode.get
"""The grad mode of this thread. Operations call this at most once each, and only where an input requires grad."""
_ENABLED, _DISABLED = GradMode.ENABLED, GradMode.DISABLED  # whose class takes its time to look them up
_lock = fork_safe_lock()
_loud = 0
watched = 0
"""How many look at the calls of all public functions."""
_inferring = 0
_quiet_sets: list[tuple[Keywords, Keywords, Keywords, bool]] = []  # namespace, what it holds open and closed, `below`


def register_quiet_sets(namespace: Keywords, sets: Keywords, *, below: bool = False) -> None:
    """Compiled operations read their quiet sets, and the kinds of their results, from `namespace`. While inference mode is on anywhere,
    they hold the kinds of inference tensors, and operations among these are quiet.

    Args:
        below: it is the namespace of an entrance below the door, which stays open while somebody looks at calls.
    """
    with _lock:
        _quiet_sets.append((namespace, sets, _closed(sets), below))
        _set_quiet(*_quiet_sets[-1])


def _closed(sets: Keywords) -> Keywords:
    return {name: frozenset() if name.startswith("Q_") else value for name, value in sets.items()}


def _set_quiet(namespace: Keywords, sets: Keywords, closed: Keywords, below: bool) -> None:
    if _inferring:
        sets = {name: _inferred(value) for name, value in sets.items()}
        closed = _closed(sets)
    namespace.update(closed if _loud or watched and not below else sets)


def _inferred(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: inference_kind(k) for key, k in value.items()}
    return frozenset([inference_kind(k) for k in value]) if isinstance(value, frozenset) else value and inference_kind(value)


def _change(left: int = 0, watching: int = 0, inferred: int = 0) -> None:
    global _loud, watched, _inferring
    with _lock:
        everywhere, above = (bool(_loud), bool(_inferring)), bool(watched)
        _loud, watched, _inferring = _loud + left, watched + watching, _inferring + inferred
        if (bool(_loud), bool(_inferring)) != everywhere:
            for entrance in _quiet_sets:
                _set_quiet(*entrance)
        elif bool(watched) != above:
            for entrance in _quiet_sets:
                if not entrance[3]:
                    _set_quiet(*entrance)


def leave_quiet_path() -> None:
    """Sends all operations through the general path until `enter_quiet_path`. Calls nest."""
    _change(left=1)


def enter_quiet_path() -> None:
    """Undoes one `leave_quiet_path`."""
    _change(left=-1)


def watch_calls() -> None:
    """Sends the calls of all public functions to the door (see `calls`) until `unwatch_calls`. Calls nest."""
    _change(watching=1)


def unwatch_calls() -> None:
    """Undoes one `watch_calls`."""
    _change(watching=-1)


def loudness() -> tuple[int, int]:
    """How many have left the quiet path, and how many watch calls."""
    return _loud, watched


def enter_inference() -> None:
    """Makes the quiet path that of inference tensors until `exit_inference`. Calls nest."""
    _change(inferred=1)


def exit_inference() -> None:
    """Undoes one `enter_inference`."""
    _change(inferred=-1)


_active: ContextVar[tuple[Tape, ...]] = ContextVar("autograd_tape.active_tapes", default=())


recordings: list[None] = []
"""As many items as there are tapes recording, on whatever thread: operations ask whether it is empty, and no more while it is."""
UNDONE: Any = object()
"""The result of a noted call that still runs."""


class Notes(list[Any]):
    """Calls of a thread that the tapes which record it have yet to take in: each [door, arguments, result, node of each output, or an id
    for it], and those that are held whole [.., notes of the parts, None where the entry was made by hand, grad mode, whether values
    decide a size].

    To note a call is all the work there is while it runs. What it means is found out when somebody asks, at the latest before anything
    that it was called with changes. While a call that is held whole runs, notes of its parts follow its own, which takes them in when it
    is over.

    Attributes:
        tapes: the tapes.
        at: where the call that is held whole and still runs stands; below 0 while there is none.
        given: what that call was given, where that has been looked up, because it is about to change something (see `held.Given`).
        around: those of the tapes for which a tape that was opened within a call of theirs makes all this part of that call.
    """

    __slots__ = ("tapes", "at", "given", "around")

    def __init__(self, tapes: Sequence[Tape], around: Notes | None = None) -> None:
        self.tapes, self.at, self.around = tapes, -1, around
        self.given: Any = None

    def hand_over(self) -> None:
        """Gives the tapes what was noted, but the call that still runs, and its parts."""
        if self.at >= 0:
            count, self.at = self.at, 0
        else:
            count = len(self) - 1 if self and self[-1][2] is UNDONE else len(self)
        found = [note for note in self[:count] if note[2] is not UNDONE]  # what is undone before the last one raised
        del self[:count]
        for tape in self.tapes:
            tape.noted += found
        if self.around is not None:
            self.around += found

    def enter(self) -> None:
        """Gives the tapes the entries of the parts of the call that runs."""
        if self.around is not None:
            self.hand_over()
            self.around.enter()
        if self.at >= 0:
            first = self.at + 1
            found = self[first:]
            del self[first:]
            for tape in self.tapes:
                for note in found:
                    if note[2] is not UNDONE:
                        tape.enter(note)


class _Noting(threading.local):
    calls: Notes | None = None


noting = _Noting()
"""Where this thread notes calls for the tapes that record it; None where none does."""
unsettled: WeakSet[Tape] = WeakSet()
"""The tapes for which there may be such notes."""


def in_loop() -> bool:
    """Whether a loop of asyncio runs on this thread. (Who has one has imported it, which takes a while.)"""
    asyncio = sys.modules.get("asyncio")
    return asyncio is not None and asyncio._get_running_loop() is not None


def settle_tapes() -> None:
    """Has every tape take in what was noted for it."""
    for tape in list(unsettled):
        tape.settle()


def active_tapes() -> tuple[Tape, ...]:
    """The explicit tapes that record this thread, or this task of asyncio. A task that was started within a block inherits what is active
    there, but its operations are its own."""
    found = _active.get()
    return tuple([tape for tape in found if tape.is_recording]) if found else found


def keep_on_tapes(entry: TapeEntry, inputs: tuple[TensorRef, ...], outputs: tuple[TensorRef, ...], arguments: Keywords,
                  came: tuple[int, ...] | None = None, went: tuple[int, ...] | None = None) -> None:
    """Gives an entry to the explicit tapes that record this thread; see `Tape.add`."""
    if noting.calls is not None:
        noting.calls.enter()
    for tape in active_tapes():
        tape.add(entry, inputs, outputs, arguments, (came, went))


class aside:
    """A block whose operations no explicit tape keeps."""

    def __enter__(self) -> None:
        self.token = _active.set(())
        self.calls, noting.calls = noting.calls, None

    def __exit__(self, *exc: object) -> None:
        _active.reset(self.token)
        noting.calls = self.calls


class _ModeContext:
    """A grad mode for a block, as a context manager or a decorator."""

    __slots__ = ("mode", "tokens")

    def __init__(self, mode: GradMode) -> None:
        self.mode, self.tokens = mode, []  # type: ignore[var-annotated]  # tokens of a context variable

    def __enter__(self) -> None:
        self.tokens.append(grad_mode())
        _mode.set(self.mode)

    def __exit__(self, *exc: object) -> None:
        _mode.set(self.tokens.pop())

    def __call__(self, function: Fn) -> Fn:
        import functools

        mode = self.mode

        @functools.wraps(function)
        def wrapper(*args: object, **kwargs: object) -> GradMode:
            with _ModeContext(mode):
                return function(*args, **kwargs)

        return wrapper


def no_grad() -> _ModeContext:
    """A block, or a decorated function, without recording.

    >>> from autograd_tape import TensorRef, no_grad
    >>> x = TensorRef.of([2.0], requires_grad=True)
    >>> with no_grad():
    ...     y = x * x
    >>> y.requires_grad
    False
    """
    return _ModeContext(GradMode.DISABLED)


def unrecorded(function: Callable[..., Any], args: Sequence[Any]) -> Any:
    """The result of a call without recording; in inference mode as it is."""
    if grad_mode() is not _ENABLED:
        return function(*args)
    _mode.set(_DISABLED)
    try:
        return function(*args)
    finally:
        _mode.set(_ENABLED)


def set_grad_mode(mode: GradMode) -> None:
    """Sets this thread's grad mode."""
    _mode.set(GradMode(mode))


class _Running(threading.local):
    engines: tuple["Engine", ...] = ()


_running = _Running()


def current_engine() -> "Engine | None":
    """The backward pass that this thread is in, the innermost where one started another."""
    return _running.engines[-1] if _running.engines else None


def engine_depth() -> int:
    """How many backward passes this thread is in."""
    return len(_running.engines)


# -- which kernels attention may use ----------------------------------------------------------------------------------------

attention_kernels = {"cudnn": True, "flash": True, "mem_efficient": True, "math": True, "overrideable": True, "fp16_bf16_reduction": False}
"""Whether `scaled_dot_product_attention` may use each. The CPU has two: "flash", one kernel for what it takes, and "math", in steps."""
attention_priority = [1, 2, 0, 3, 4]
"""The order in which they are preferred, by torch's numbers; the CPU takes "flash" wherever it can."""
