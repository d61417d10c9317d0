"""Functions that make tensors, fill them with random numbers, or read them, as modes and profiles are shown them: in ATen's terms."""

from __future__ import annotations

from typing import Any

from autograd_tape.annotations import Keywords
from autograd_tape.calls import Door
from autograd_tape.dtypes import CPU, Device

from .._tensor import Tensor


def makes(door: Door) -> bool:
    """Whether a function makes tensors, fills them with random numbers, or reads them."""
    return door.unrecorded or door.irregular and any([p.name == "device" for p in door.params])


# -- as ATen has them -------------------------------------------------------------------------------------------------------------------

OVERLOADS = {"empty": "memory_format", "linspace": "default", "bernoulli_": "float", "scalar_tensor": "default"}
_SIZES = frozenset("ones zeros empty rand randn new_ones new_zeros new_empty".split())
_NOT_SHOWN = frozenset(["requires_grad", "out"])


def form(name: str, args: tuple[object, ...], kwargs: Keywords, places: bool = True) -> tuple[str, str, list[Any], Keywords]:
    """(name, overload, positional arguments, keyword arguments) of a call in ATen; `places`: whether the function takes a device."""
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
    elif name == "bernoulli" and len(given) > 1:
        overload = "p"
    elif name == "bernoulli_" and len(given) > 1 and isinstance(given[1], Tensor):
        overload = "Tensor"
    elif name == "random_" and len(given) > 1:
        overload = "to" if len(given) == 2 else "from"
    if name.startswith("new_") or name.endswith("_like"):
        options.setdefault("pin_memory", False)
    elif places and not name.endswith("_") and name != "normal":
        options["device"] = Device(options["device"]) if options.get("device") else CPU
        if "layout" not in options:
            options.setdefault("pin_memory", False)
    return name, overload, given, options
