"""Functions that make tensors, or fill them with random numbers, seen by modes and profiles.

They are no operations of the tape, whose general path modes look at. While somebody looks, the functions of the `torch` module and the
methods of Tensor are replaced by others that ask first; otherwise nothing of this is there.
"""

from __future__ import annotations

import functools
import sys
from typing import Any
from collections.abc import Callable

from autograd_tape.dtypes import Device
from autograd_tape.locks import fork_safe_lock
from autograd_tape.ops import RECORDS

from .._tensor import Tensor, frontend

FUNCTIONS = ("ones zeros empty full arange eye linspace logspace empty_strided rand randn randint randperm normal scalar_tensor tensor "
             "as_tensor ones_like zeros_like empty_like full_like rand_like randn_like randint_like tril_indices triu_indices").split()
METHODS = ("new_ones new_zeros new_empty new_full new_empty_strided detach item __bool__ __int__ __float__ uniform_ normal_ bernoulli_ "
           "exponential_ random_ cauchy_ geometric_ log_normal_").split()
Observer = Callable[[str, Callable[..., Any], Callable[[], Any], tuple[Any, ...], dict[str, Any]], Any]

_observers: dict[str, Observer | None] = {"function": None, "profile": None, "functional": None, "dispatch": None}
_counts = dict.fromkeys(_observers, 0)
_originals: list[tuple[Any, str, Any]] = []
_lock = fork_safe_lock()


def look(kind: str, observer: Observer) -> None:
    """Calls `observer(name, function, proceed, args, kwargs)` in the place of each function, until `look_away`. Calls nest.

    Args:
        kind: "function", "profile", "functional" or "dispatch"; the first is asked first.
        observer: returns the result; `proceed()` is what it would have been.
    """
    with _lock:
        _counts[kind] += 1
        _observers[kind] = observer
        if not _originals:
            torch = sys.modules[__name__.split(".")[0]]
            for owner, names in ((torch, FUNCTIONS), (Tensor, METHODS)):
                for name in names:
                    if owner is Tensor and name in RECORDS:  # whose methods put themselves in place when first called
                        setattr(owner, name, frontend.method(name))
                    original = getattr(owner, name)
                    _originals.append((owner, name, vars(owner).get(name, original)))
                    setattr(owner, name, _asking(name, original))


def look_away(kind: str) -> None:
    """Undoes one `look`."""
    with _lock:
        _counts[kind] -= 1
        if not _counts[kind]:
            _observers[kind] = None
        if not any(_counts.values()):
            for owner, name, original in _originals:
                setattr(owner, name, original)
            _originals.clear()


def _asking(name: str, original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def function(*args: Any, **kwargs: Any) -> Any:
        return _proceed([o for o in _observers.values() if o is not None], name, original, args, kwargs)

    return function


def _proceed(asked: list[Observer], name: str, original: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The result by the first of `asked`, which may proceed to the others. No closure, which would hold itself and so the arguments."""
    if not asked:
        return original(*args, **kwargs)
    return asked[0](name, original, functools.partial(_proceed, asked[1:], name, original, args, kwargs), args, kwargs)


# -- as ATen has them -------------------------------------------------------------------------------------------------------------------

OVERLOADS = {"empty": "memory_format", "linspace": "default", "bernoulli_": "float", "scalar_tensor": "default"}
_SIZES = frozenset("ones zeros empty rand randn new_ones new_zeros new_empty".split())
_NOT_SHOWN = frozenset(["requires_grad", "out", "names"])


def form(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[str, str, list[Any], dict[str, Any]]:
    """(name, overload, positional arguments, keyword arguments) of a call in ATen."""
    given = list(args)
    options = {k: v for k, v in kwargs.items() if k not in _NOT_SHOWN and v is not None}
    overload = OVERLOADS.get(name, "default")
    if name in _SIZES:
        lead = 1 if name.startswith("new_") else 0
        sizes = options.pop("size", None) if "size" in options else given[lead:]
        if len(sizes) == 1 and not isinstance(sizes[0], int):
            sizes = sizes[0]
        given = [*given[:lead], list(sizes)]
    elif name in ("full", "new_full", "empty_strided", "new_empty_strided"):
        given = [list(a) if isinstance(a, (tuple, list)) else a for a in given]
    elif name == "arange":
        overload = ("default", "default", "start", "start_step")[len(given)]
    elif name == "randint":
        if len(given) == 3 or "low" in options:
            overload = "low"
        given = [list(a) if isinstance(a, (tuple, list)) else a for a in given]
    elif name == "randint_like":
        overload = "low_dtype" if len(given) > 2 else "default"
    elif name == "eye" and len(given) > 1:
        overload = "m"
    elif name == "normal":
        overload = "_".join(["Tensor" if isinstance(a, Tensor) else "float" for a in given[:2]])
    elif name == "bernoulli_" and len(given) > 1 and isinstance(given[1], Tensor):
        overload = "Tensor"
    elif name == "random_" and len(given) > 1:
        overload = "to" if len(given) == 2 else "from"
    if name in METHODS[:5] or name.endswith("_like"):
        options.setdefault("pin_memory", False)
    elif name in FUNCTIONS and name != "normal":
        options["device"] = Device(options.get("device") or "cpu")
        if "layout" not in options:
            options.setdefault("pin_memory", False)
    return name, overload, given, options
