"""What nodes show of what they saved: `_saved_self`, `_raw_saved_result`, ... under torch's names."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any
from collections.abc import Callable

import numpy as np

from ..annotations import Fn, Keywords
from ..node import freed
from ..record import Record, Saved
from ..saved import raw_saved, stale, unpack
from ..tensor import TensorRef
from ..version import changes, number_of

if TYPE_CHECKING:
    from ..nodes import ExpBackward0, MulBackward0, SumBackward1


def saved_properties(rec: Record) -> Keywords:
    """`_saved_self`, `_saved_other`, ...: what the node saved, by torch's names. The first input is `self` there."""
    found: Keywords = {}
    layout: list[tuple[str, str, int, int]] = []
    getters: dict[str, Callable[[Any], Any]] = {}
    places: dict[str, int] = {}
    order: list[tuple[int, str, int, int]] = []  # inputs as the schema has them, then outputs
    at = 0
    for read in rec.saved:
        name, nr = read.name, read.nr
        kind = {"tensors": "list", "tensor": "tensor", "output": "output"}.get(read.kind, "plain")
        shown = rec.shown(name)
        places[name] = at
        getters[name] = _saved_getter(at, kind, nr)
        if shown is not None:
            found[f"_saved_{shown}"] = property(_shown_getter(rec, read, getters[name]))
        if kind != "plain" and name != rec.without:
            if shown is not None:
                found[f"_raw_saved_{shown}"] = property(_raw_saved_getter(kind, at, nr))
            layout.append((shown or name, kind, at, nr))
            order.append((len(rec.params) if read.param is None else rec.params.index(read.param), kind, at, nr))
        at += {"tensor": 2, "output": 4}.get(kind, 1)
    for shown, expression in (rec.field("saved_also") or {}).items():
        node, _, shown = shown.rpartition(".")
        if node in ("", rec.node_name) and f"_saved_{shown}" not in found:
            found[f"_saved_{shown}"] = property(_computed_getter(expression, getters))
    found["saved_layout"] = tuple(layout)
    found["saved_places"] = places
    order.sort(key=lambda item: item[0])
    found["saved_slots"] = tuple([(kind, at) for _, kind, at, _ in order])
    found["saved_getters"] = tuple([_saved_getter(at, kind, nr) for _, kind, at, nr in order])
    found["frees"] = bool(layout or rec.saved_returns or "indices" in rec.saved_names)
    return found


def _shown_getter(rec: Record, read: Saved, getter: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """What programs get of a saved item, which torch may keep in another form."""
    type_ = "" if read.param is None or read.kind not in ("value", "tensor") else read.param.type
    if type_.startswith("int"):
        return _as_words(getter, "[" in type_)
    if type_ == "str" and read.name == "reduction":
        return lambda self: REDUCTIONS.index(getter(self))
    if read.kind == "kernel" or type_ == "Operand" and read.name not in (rec.field("numbers") or {}):
        return lambda self: _as_tensor(self, getter(self))
    return getter


REDUCTIONS = ("none", "mean", "sum")
"""What a loss makes of those of the elements, by torch's numbers."""
_OF_NUMBERS = {bool: np.bool_, int: np.int64, float: np.float64, complex: np.complex128}


def _as_tensor(entry: Any, value: Any) -> Any:
    """A number as the tensor that torch makes of it, where it has no signature for a number; and what kernels returned."""
    if value.__class__ in _OF_NUMBERS:
        return entry.front_end.wrap(np.array(value, _OF_NUMBERS[value.__class__]))
    return entry.front_end.wrap(np.asarray(value)) if isinstance(value, (np.ndarray, np.generic)) else value


def _as_words(getter: Callable[[Any], Any], several: bool) -> Callable[[Any], Any]:
    """Whole numbers as torch shows them: of one below zero its 64 bits, read without a sign; in a tuple where there may be several."""
    def get(self: SumBackward1) -> Any:
        value = getter(self)
        if value.__class__ is int:
            return (value % 2**64,) if several else value % 2**64
        return tuple([n % 2**64 for n in value]) if value.__class__ in (tuple, list) else value

    return get


def _computed_getter(expression: str, getters: dict[str, Fn]) -> Callable[[Any], Any]:
    code = compile(expression, "<saved>", "eval")

    def get(self: object) -> Any:
        return eval(code, {"prod": math.prod, **{name: getters[name](self) for name in code.co_names if name in getters}})

    return get


def _raw_saved_getter(kind: str, at: int, nr: int) -> Callable[[Any], Any]:
    def get(self: MulBackward0 | ExpBackward0) -> Any:
        return raw_saved(self, kind, at, nr)

    return get


def _saved_getter(at: int, kind: str, nr: int) -> Callable[[Any], Any]:
    def get(self: Any) -> Any:
        saved = self.saved
        if saved is None:
            raise freed(self).as_builtin()
        if saved.__class__ is not tuple:
            saved = unpack(self)
        item = saved[at]
        if kind == "list":
            return item[0]
        if kind == "output":
            if item is None:
                return None
            version, number = saved[at + 1:at + 3]
            if version.number != number:
                raise stale(self, item, number, version.number).as_builtin()
            return self.front_end.saved_output(self, nr, *saved[at:at + 4])
        # That a tensor was detached in place since is no reason not to show it.
        if kind == "tensor" and isinstance(item, TensorRef) and changes(number_of(item)) != changes(saved[at + 1] or 0):
            raise stale(self, item, saved[at + 1]).as_builtin()
        return item

    return get
