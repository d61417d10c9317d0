"""Classes of numbered names, as torch's extension module has them: no enums of Python's, and no containers."""

from __future__ import annotations

from typing import TypeVar

_N = TypeVar("_N", bound="Numbered")


class _Type(type):
    """Has a class answer for what it holds only by attributes: it cannot be iterated or subscripted."""


_Type.__name__ = _Type.__qualname__ = "pybind11_type"
_Type.__module__ = "pybind11_builtins"


class Numbered(metaclass=_Type):
    """A number that may have a name. Those of one class are equal where their numbers are; to no other thing are they.

    A class names what it is in torch's extension module (`native`), which errors tell, and is then told its names by `number`.

    >>> class Colour(Numbered, native="torch._C.Colour"): pass
    >>> Colour.number(RED=0, BLUE=1)
    >>> Colour.BLUE, Colour(0) == Colour.RED, Colour.RED == 0, int(Colour.BLUE), Colour(7), str(Colour(0))
    (<Colour.BLUE: 1>, True, False, 1, <Colour.???: 7>, 'Colour.RED')
    """

    __slots__ = ("_number",)
    _number: int
    _native: str
    __members__: dict[str, "Numbered"]

    def __init_subclass__(cls, native: str) -> None:
        cls._native = native

    @classmethod
    def number(cls, **names: int) -> None:
        """Gives the class its names."""
        cls.__members__ = {name: cls(value) for name, value in names.items()}
        for name, member in cls.__members__.items():
            setattr(cls, name, member)

    def __init__(self, *given: object, **named: object) -> None:
        """Of a number. TypeError for anything else."""
        values = given + tuple(named.values())
        if len(values) != 1 or named and "value" not in named or not hasattr(values[0], "__index__") and not hasattr(values[0], "__int__"):
            told = ", ".join(map(repr, given)) + (f"; kwargs: {', '.join(f'{k}={v!r}' for k, v in named.items())}" if named else "")
            raise TypeError("__init__(): incompatible constructor arguments. The following argument types are supported:\n"
                            f"    1. {self._native}(value: typing.SupportsInt | typing.SupportsIndex)\n\nInvoked with: {told}")
        self._number = int(values[0])  # type: ignore[call-overload]  # which was asked for above

    @property
    def value(self) -> int:
        """The number."""
        return self._number

    @property
    def name(self) -> str:
        """The name, "???" where there is none."""
        return next((name for name, member in self.__members__.items() if member._number == self._number), "???")

    def __int__(self) -> int:
        return self._number

    __index__ = __int__

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and other._number == self._number

    def __hash__(self) -> int:
        return hash(self._number)

    def __str__(self) -> str:
        return f"{type(self).__name__}.{self.name}"

    def __repr__(self) -> str:
        return f"<{self}: {self._number}>"

    def __getstate__(self) -> int:
        return self._number

    def __setstate__(self, state: int) -> None:
        self._number = state
