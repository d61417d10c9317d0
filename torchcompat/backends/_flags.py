"""Flags of backends: attributes of modules that check what is assigned, blocks that put them back, and float32's inner precision."""

from __future__ import annotations

import sys
import types
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from autograd_tape import warned
from autograd_tape.annotations import Arguments, Fn

frozen = False
"""Whether assignments to modules are refused, as `disable_global_flags` asks."""
MIXED = ("PyTorch is checking {},Current status indicate that you have used mix of the legacy and new APIs to set the {}. We suggest only "
         "using one set of APIs to set the flag.")


@contextmanager
def thawed() -> Iterator[None]:
    """A block in which flags can be assigned to even so."""
    global frozen
    before, frozen = frozen, False
    try:
        yield
    finally:
        frozen = before


def check_thawed(module: object) -> None:
    """Refuses to assign to a module's flag while they are frozen. Functions and objects within modules set them even so.

    Raises:
        RuntimeError: `disable_global_flags` has been called, and this is no block of flags.
    """
    if frozen:
        name = "torch.backends" + getattr(module, "__name__", "").partition("backends")[2]
        raise RuntimeError(f"not allowed to set {name} flags after disable_global_flags; please use flags() context manager instead")


class Flag:
    """An attribute of a module, True or False unless it has another kind.

    Args:
        default: what it is at first.
        setter: torch's name for the function that sets it, which its error names; None for what takes anything.
    """

    def __init__(self, default: object, setter: str | None = None) -> None:
        self.value, self.setter = default, setter

    def __get__(self, module: object, owner: type) -> Any:
        return self if module is None else self.value

    def __set__(self, module: Any, value: object) -> None:
        check_thawed(module)
        if self.setter is not None and not isinstance(value, bool):
            raise RuntimeError(f"{self.setter} expects a bool, but got {type(value).__name__}")
        self.value = value


class FlagModule(types.ModuleType):
    """A module with flags; `flags(...)` is a block that sets them and puts them back."""

    @classmethod
    def become(cls, name: str) -> None:
        """Makes a module one with these flags."""
        sys.modules[name].__class__ = cls


def setter(module: str, *names: str) -> Callable[..., Arguments]:
    """`set_flags(enabled=None, ...)` of a module: changes those given and returns what all were."""
    def set_flags(*values: object, **given: object) -> Arguments:
        target = sys.modules[module]
        if len(values) > len(names):
            raise TypeError(f"set_flags() takes from 0 to {len(names)} positional arguments but {len(values)} were given")
        wanted = dict(zip(names, values))
        for name, value in given.items():
            name = name.removeprefix("_")
            if name not in names or name in wanted:
                raise TypeError(f"set_flags() got an unexpected keyword argument '{name}'")
            wanted[name] = value
        before = tuple([getattr(target, name) for name in names])
        with thawed():
            for name, value in wanted.items():
                if value is not None and value != before[names.index(name)]:
                    setattr(target, name, value)
        return before

    return set_flags


def block(set_flags: Callable[..., Arguments], **defaults: object) -> Fn:
    """`flags(...)` of a module: a block in which its flags are those given, or `defaults`."""
    @contextmanager
    def flags(*values: object, **given: object) -> Iterator[None]:
        wanted = {f"_{name}": value for name, value in {**defaults, **dict(zip(defaults, values)), **given}.items()}
        before = set_flags(**wanted)
        try:
            yield
        finally:
            set_flags(*before)

    return flags


# -- in which precision float32 is multiplied -----------------------------------------------------------------------

PRECISIONS = {"generic": ("none", "ieee", "tf32", "bf16"), "cuda": ("none", "ieee", "tf32"), "mkldnn": ("none", "ieee", "tf32", "bf16")}
precisions: dict[tuple[str, str], str] = {("cuda", "conv"): "tf32", ("cuda", "rnn"): "tf32"}
"""What has been set, by backend and operation. Nothing here multiplies float32 in less: the settings are kept and given back."""
_untouched = {("cuda", "conv"), ("cuda", "rnn")}
"""Defaults that give way to what is set for all."""
legacy = {"matmul": "highest"}
"""What `set_float32_matmul_precision` was given last."""


def precision(backend: str, op: str) -> str:
    """The precision of a backend's operation: its own, that of the backend, or that of all backends; "none" where nothing is set."""
    ways = [(backend, op), (backend, "all"), ("generic", "all")]
    if ways[0] in _untouched and any([w in precisions for w in ways[1:]]):
        ways = ways[1:]
    return next((precisions[w] for w in ways if w in precisions and precisions[w] in PRECISIONS[backend]), "none")


def set_precision(backend: str, op: str, value: str) -> None:
    """Sets the precision of a backend's operation.

    Raises:
        RuntimeError: the word is none, or not one for this backend.
    """
    if value not in PRECISIONS["generic"]:
        raise RuntimeError(f"Unknown precision: {value}")
    if value not in PRECISIONS[backend]:
        raise RuntimeError(f"backend '{backend}' does not support precision '{value}'")
    _untouched.discard((backend, op))
    if value == "none":
        precisions.pop((backend, op), None)
    else:
        precisions[backend, op] = value


class Fp32Precision:
    """`fp32_precision` of one operation of a backend."""

    backend: str
    op: str

    def __init__(self, backend: str, op: str) -> None:
        self.__dict__.update(backend=backend, op=op)

    @property
    def fp32_precision(self) -> str:
        """In which precision float32 is multiplied within: "none", "ieee", "tf32" or "bf16"."""
        return precision(self.backend, self.op)

    def __setattr__(self, name: str, value: str) -> None:
        if name != "fp32_precision":
            raise AttributeError(f"Unknown attribute {name}")
        set_precision(self.backend, self.op, value)


class OfBackend:
    """The attribute `fp32_precision` of a module, for a backend's operation or all of them."""

    def __init__(self, backend: str, op: str = "all") -> None:
        self.backend, self.op = backend, op

    def __get__(self, module: object, owner: type) -> Any:
        return self if module is None else precision(self.backend, self.op)

    def __set__(self, module: object, value: str) -> None:
        check_thawed(module)
        set_precision(self.backend, self.op, value)


def matmul_precision() -> str:
    """What `get_float32_matmul_precision` gives: "highest", "high" or "medium".

    Raises:
        RuntimeError: the precision has been set by `fp32_precision`, too, and the two do not agree.
    """
    wide = precision("cuda", "matmul") in ("none", "ieee") and precision("mkldnn", "matmul") in ("none", "ieee")
    if wide != (legacy["matmul"] == "highest"):
        raise RuntimeError(MIXED.format("the matmul precision without a specific backend name", "matmul precision"))
    return legacy["matmul"]


def set_matmul_precision(precision: str) -> None:
    """What `set_float32_matmul_precision` does; a word that is none is warned about and left."""
    words = {"highest": ("ieee", "ieee"), "high": ("tf32", "tf32"), "medium": ("tf32", "bf16")}
    if precision not in words:

        warned.warn(f"{precision} is not one of 'highest', 'high', or 'medium'; the currentsetFloat32MatmulPrecision call has no "
                    "effect.")
        return
    legacy["matmul"] = precision
    for backend, word in zip(("cuda", "mkldnn"), words[precision]):
        set_precision(backend, "matmul", word)
