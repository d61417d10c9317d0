"""What programs say about functions and tensors to whoever compiles them."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Sequence
from typing import Any

from autograd_tape.annotations import Fn
import torchcompat as torch
from torchcompat._calls.absent import absences as _absences
from torchcompat.fx.experimental.proxy_tensor import get_proxy_mode


STANCES = ("default", "eager_then_compile", "aot_eager_then_compile", "force_eager", "eager_on_recompile", "fail_on_recompile")


class _Stance(threading.local):
    name = "default"
    backend: Any = None


stance = _Stance()


class set_stance:
    """From now on, inside `with`, or in the function that it decorates, compiled functions are called so: "force_eager" as they are.

    Raises:
        RuntimeError: there is no such stance, or there is a compiler and one that is not "default".
    """

    def __init__(self, stance: str = "default", *, skip_guard_eval_unsafe: bool = False, force_backend: Any = None) -> None:
        if force_backend is not None and stance != "default":
            raise RuntimeError("non-default stance cannot have force_backend set")
        self._before = globals()["stance"].name, globals()["stance"].backend
        self._now = stance, force_backend
        self._set(self._now)

    @staticmethod
    def _set(now: tuple[str, Any]) -> None:
        if now[0] not in STANCES:
            raise RuntimeError(f"invalid torch.compile stance '{now[0]}'")
        stance.name, stance.backend = now

    def __call__(self, fn: Fn) -> Fn:
        self._set(self._before)

        @functools.wraps(fn)
        def wrapped(*args: object, **kwargs: object) -> Any:
            with set_stance(self._now[0], force_backend=self._now[1]):
                return fn(*args, **kwargs)

        return wrapped

    def __enter__(self) -> None:
        self._set(self._now)

    def __exit__(self, *exc: object) -> None:
        self._set(self._before)


def innermost(fn: Any) -> Any:
    """The function that was compiled, or told about, at first."""
    seen = set()
    while hasattr(fn, "_torchdynamo_orig_callable") and id(fn) not in seen:
        seen.add(id(fn))
        fn = fn._torchdynamo_orig_callable
    return fn


def skip(fn: Any = None) -> Any:
    """A function that is called as it is, while what it calls may be compiled."""
    return fn


def allow_in_graph(fn: Any) -> Any:
    """Says that a function may be part of graphs as it is.

    Raises:
        AssertionError: it cannot be called.
    """
    return _functions(fn, "allow_in_graph expects a callable")


def _functions(fn: Any, refusal: str) -> Any:
    """A function, or a list of those that are given in one."""
    if isinstance(fn, (list, tuple)):
        return [_functions(f, refusal) for f in fn]
    if not callable(fn):
        raise AssertionError(refusal)
    return fn


def nonstrict_trace(traceable_fn: Any) -> Any:
    """Says that a function may be carried out while a program is captured, which all are."""
    if not callable(traceable_fn):
        raise AssertionError("nonstrict_trace expects a callable")
    return traceable_fn


def assume_constant_result(fn: Any) -> Any:
    """Says that a function gives the same whenever it is called."""
    fn._dynamo_marked_constant = True
    return fn


def disallow_in_graph(fn: Any) -> Any:
    """Says that a function is to be called as it is."""
    return _functions(fn, "disallow_in_graph expects a callable")


def forbid_in_graph(fn: Any) -> Any:
    """Says that a function must not be part of graphs."""
    if isinstance(fn, (list, tuple)):
        return [forbid_in_graph(f) for f in fn]
    if not callable(fn):
        raise AssertionError("forbid_in_graph applies only to callables")
    fn._dynamo_forbidden = True
    return fn


def substitute_in_graph(original_fn: Fn, *, can_constant_fold_through: bool = False,
                        skip_signature_check: bool = False) -> Callable[[Fn], Fn]:
    """A decorator of a function that may be looked into in the place of another. Each is itself where it is called."""
    if not callable(original_fn):
        raise TypeError(f"substitute_in_graph expects a function but got {type(original_fn)!r}")
    return lambda traceable: traceable


def graph_break(msg: str = "") -> None:
    """Ends a graph, and begins another; nothing where no program is captured."""
    mode = get_proxy_mode()
    if mode is not None:
        mode.end("Call to `torch._dynamo.graph_break()`\n  Explanation: User-inserted graph break. Message: "
                 f"{msg or None}\n  Hint: Remove the `torch._dynamo.graph_break()` call.\n")


def skip_frame(msg: str = "") -> None:
    """Says that the function is to be called as it is: it is."""
    graph_break(msg)


def _mark(tensor: Any, name: str, index: int | Sequence[int] | None) -> None:
    if index is None:
        index = range(tensor.dim())
    if not isinstance(index, int):
        for i in index:
            _mark(tensor, name, i)
        return
    marked = getattr(tensor, name, None)
    if marked is None:
        marked = set()
        setattr(tensor, name, marked)
    marked.add(index)


def mark_dynamic(t: Any, index: int | Sequence[int], *, hint_override: int | None = None, min: int | None = None,
                 max: int | None = None, specialize_on: object = None) -> None:
    """Says that a size of a tensor differs from call to call."""
    _mark(t, "_dynamo_dynamic_indices", index)


def maybe_mark_dynamic(t: Any, index: int | Sequence[int]) -> None:
    """Says that a size of a tensor may differ from call to call."""
    _mark(t, "_dynamo_weak_dynamic_indices", index)


def mark_unbacked(t: Any, index: int | Sequence[int], hint_override: int | None = None, strict: bool = False,
                  specialize_on: object = None) -> None:
    """Says that a size of a tensor is not to be looked at."""
    _mark(t, "_dynamo_unbacked_indices", index)


def mark_static(t: Any, index: int | Sequence[int] | None = None) -> None:
    """Says that a size of a tensor is always the same; of a class of modules, that their attributes are."""
    if isinstance(t, torch.Tensor):
        _mark(t, "_dynamo_static_indices", index)


def mark_static_address(t: Any, guard: bool = False) -> None:
    """Says that a tensor lies always where it lies.

    Raises:
        TypeError: it is no tensor.
    """
    if not isinstance(t, torch.Tensor):
        raise TypeError(f"mark_static_address expects a tensor but received {type(t)}")
    t._dynamo_static_input_type = "guarded" if guard else "unguarded"  # type: ignore[attr-defined]


__all__ = ["allow_in_graph", "set_stance"]
_absences(__name__)
