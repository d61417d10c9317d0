"""What operations with several results return: tuples whose elements have names, made of one sequence, as Python's own are that it writes
in C (`time.struct_time`), and as torch's.

>>> kind = named("sort", ["values", "indices"])
>>> kind([3, 4]).indices, kind.n_fields
(4, 2)
>>> kind(3, 4)
Traceback (most recent call last):
TypeError: constructor requires a sequence
"""

from __future__ import annotations

from _collections import _tuplegetter
from collections.abc import Iterable, Sequence
from typing import Any

_NOTHING: Any = object()


class StructSequence(tuple[Any, ...]):
    """A tuple of a number of elements that its class says."""

    __slots__ = ()
    __match_args__: tuple[str, ...]
    n_fields: int
    n_sequence_fields: int
    n_unnamed_fields = 0

    def __new__(cls, sequence: Iterable[object] = _NOTHING, dict: object = None) -> StructSequence:
        if sequence is _NOTHING:
            raise TypeError("structseq() missing required argument 'sequence' (pos 1)")
        try:
            values = tuple(sequence)
        except TypeError:
            raise TypeError("constructor requires a sequence") from None
        name = f"torch.return_types.{cls.__name__}()"
        if dict is not None and not hasattr(dict, "keys"):
            raise TypeError(f"{name} takes a dict as second arg, if any")
        if len(values) != cls.n_fields:
            raise TypeError(f"{name} takes a {cls.n_fields}-sequence ({len(values)}-sequence given)")
        return tuple.__new__(cls, values)

    def __repr__(self) -> str:
        fields = ",\n".join([f"{name}={value!r}" for name, value in zip(self.__match_args__, self)])
        return f"torch.return_types.{type(self).__name__}(\n{fields})"

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (tuple(self), {})


def _no_base(cls: type) -> None:
    raise TypeError(f"type 'torch.return_types.{cls.__base__.__name__}' is not an acceptable base type")  # type: ignore[union-attr]


def named(name: str, names: Sequence[str]) -> type[StructSequence]:
    """A class with these fields."""
    count = len(names)
    body = {"__slots__": (), "__match_args__": tuple(names), "n_fields": count, "n_sequence_fields": count, "__doc__": None}
    made = type(name, (StructSequence,), body | {field: _tuplegetter(i, "") for i, field in enumerate(names)})
    made.__init_subclass__ = classmethod(_no_base)  # type: ignore[assignment]  # of classes that would be made of it
    return made
