"""Numbers that are not known yet, and the functions that take them as well as Python's own numbers.

Sizes are numbers here: nothing makes a symbol. Programs ask whether something is one (`isinstance(n, torch.SymInt)`), and may make their
own from a node, an object that computes: `s + t` is `s.node.add(t.node)`, and `s + 1` is `s.node.add(s.node.wrap_int(1))`.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from autograd_tape.annotations import Fn
from autograd_tape.errors import type_name

_NUMBERS = (np.integer, np.floating, int, float)


class _Symbol:
    """What a node stands for."""

    __slots__ = ("node",)

    def __init__(self, node: Any) -> None:
        self.node = node

    def __bool__(self) -> bool:
        return bool(self.node.bool_())

    def __repr__(self) -> str:
        return str(self.node._graph_repr())

    def __hash__(self) -> int:
        if self.node.is_nested_int():
            return hash(self.node.nested_int())
        raise TypeError(f"unhashable type: {'non-nested ' * isinstance(self, SymInt)}{type(self).__name__}")


_Symbol.__module__ = "torch"


def _node_of(node: Any, value: object) -> Any:
    """The node of an operand, made by that of the other where it is a number; None where there is none."""
    if isinstance(value, _Symbol):
        return value.node
    for cls, wrap in ((bool, "wrap_bool"), (int, "wrap_int"), (float, "wrap_float")):
        if isinstance(value, cls):
            return getattr(node, wrap)(value)
    return None


def _made(node: Any) -> _Symbol:
    return (SymInt if node.is_int() else SymFloat if node.is_float() else SymBool)(node)


def _binary(name: str, back: bool) -> Fn:
    def method(self: _Symbol, other: object) -> Any:
        node = _node_of(self.node, other)
        if node is None:
            return NotImplemented
        return _made(getattr(node, name)(self.node) if back else getattr(self.node, name)(node))

    return method


def _unary(name: str) -> Fn:
    return lambda self: _made(getattr(self.node, name)())


def _give(cls: type, names: str, back: str = "", single: str = "") -> None:
    """Gives a class operators by the names of their nodes' methods."""
    spelled = {"and_": "and", "or_": "or", "sym_and": "and", "sym_or": "or"}
    for name in names.split():
        setattr(cls, f"__{spelled.get(name, name)}__", _binary(name, False))
    for name in back.split():
        setattr(cls, f"__r{spelled.get(name, name)}__", _binary(name, True))
    for name in single.split():
        setattr(cls, f"__{name}__", _unary(name))


class SymInt(_Symbol):
    """An integer that is not known yet."""

    __slots__ = ()

    def __int__(self) -> int:
        return int(self.node.int_())

    __index__ = __int__

    def __bool__(self) -> bool:
        return bool(self != 0)

    def __sym_float__(self) -> SymFloat:
        return SymFloat(self.node.sym_float())

    def as_integer_ratio(self) -> tuple[SymInt, int]:
        """The number over one."""
        return self, 1

    def bit_length(self) -> int:
        """How many bits it has."""
        return self.__int__().bit_length()

    def conjugate(self) -> SymInt:
        """Itself."""
        return self

    __hash__ = _Symbol.__hash__


class SymFloat(_Symbol):
    """A floating-point number that is not known yet."""

    __slots__ = ()

    def __float__(self) -> float:
        return float(self.node.guard_float("", 0))

    def __bool__(self) -> bool:
        return bool(self != 0)

    def __sym_int__(self) -> SymInt:
        return SymInt(self.node.trunc())

    def is_integer(self) -> SymBool:
        """Whether it has no fraction."""
        return SymBool(self.node.is_integer())

    def as_integer_ratio(self) -> tuple[int, int]:
        """The fraction that it is."""
        return self.__float__().as_integer_ratio()

    def hex(self) -> str:
        """It in base 16."""
        return self.__float__().hex()

    def conjugate(self) -> SymFloat:
        """Itself."""
        return self

    __hash__ = _Symbol.__hash__


class SymBool(_Symbol):
    """A truth that is not known yet."""

    __slots__ = ()

    def __int__(self) -> int:
        return int(self.node.bool_())

    def __sym_not__(self) -> SymBool:
        return SymBool(self.node.sym_not())

    __hash__ = _Symbol.__hash__


_COMPARISONS = "eq ne lt le gt ge sym_max sym_min"
_give(SymInt, f"add sub mul mod floordiv truediv pow and_ or_ xor lshift rshift {_COMPARISONS}",
      "add sub mul mod floordiv truediv pow and_ or_ xor lshift rshift", "neg pos abs floor ceil trunc")
_give(SymFloat, f"add sub mul mod floordiv truediv pow {_COMPARISONS}", "add sub mul mod floordiv truediv pow",
      "neg pos abs floor ceil trunc")
_give(SymBool, "sym_and sym_or eq ne", "sym_and sym_or")
for _cls in (SymInt, SymFloat, SymBool):
    _cls.__module__ = "torch"


def sym_not(a: Any) -> Any:
    """`not a`, of a symbol a symbol."""
    return a.__sym_not__() if hasattr(a, "__sym_not__") else not a


def sym_float(a: Any) -> Any:
    """`float(a)`, of a symbol a symbol.

    >>> sym_float(3), sym_int(3.7)
    (3.0, 3)
    """
    return a if isinstance(a, SymFloat) else a.__sym_float__() if hasattr(a, "__sym_float__") else float(a)


def sym_int(a: Any) -> Any:
    """`int(a)`, of a symbol a symbol."""
    return a if isinstance(a, SymInt) else a.__sym_int__() if isinstance(a, SymFloat) else int(a)


def _extreme(name: str, choose: Fn, a: Any, b: Any) -> Any:
    for one, other in ((a, b), (b, a)):
        if isinstance(one, (SymInt, SymFloat)):
            return getattr(one, name)(other)
    for value in (a, b):
        if not isinstance(value, _NUMBERS):
            raise AssertionError(f"expected {_NUMBERS}, got {type(value)}")
    found = choose(a, b)
    return float(found) if isinstance(a, (float, np.floating)) or isinstance(b, (float, np.floating)) else found


def sym_max(a: Any, b: Any) -> Any:
    """The greater; a float where one of them is a float.

    >>> sym_max(3, 2.5), sym_min(3, 4)
    (3.0, 3)
    """
    return _extreme("__sym_max__", max, a, b)


def sym_min(a: Any, b: Any) -> Any:
    """The smaller; a float where one of them is a float."""
    return _extreme("__sym_min__", min, a, b)


def sym_sum(*args: Any) -> Any:
    """The sum of the numbers of a list, or of all arguments."""
    return sum(args[0]) if len(args) == 1 and isinstance(args[0], (list, tuple)) else sum(args)


def sym_ite(b: Any, t: Any, f: Any) -> Any:
    """`t if b else f`, of a symbol a symbol.

    Raises:
        AssertionError: `b` is no truth value, or the others are of two types.
    """
    if not isinstance(b, (SymBool, bool)):
        raise AssertionError(f"expected SymBool or bool, got {type(b)}")
    if type(t) is not type(f):
        raise AssertionError(f"type mismatch: {type(t)} vs {type(f)}")
    return b.__sym_ite__(t, f) if hasattr(b, "__sym_ite__") else t if b else f


def sym_fresh_size(expr: Any) -> Any:
    """A size by itself: a number is none other."""
    return expr


def _of_mathematics(plain: Fn) -> Fn:
    name = plain.__name__

    def function(a: Any) -> Any:
        special = getattr(a, f"__sym_{name}__", None)
        return plain(a) if special is None else special()

    function.__name__ = function.__qualname__ = f"_sym_{name}"
    function.__doc__ = f"`math.{name}`, of a symbol a symbol."
    return function


_sym_sqrt, _sym_cos, _sym_cosh, _sym_sin, _sym_sinh, _sym_tan, _sym_tanh, _sym_asin, _sym_acos, _sym_atan, _sym_log2 = [
    _of_mathematics(_f) for _f in (
        math.sqrt, math.cos, math.cosh, math.sin, math.sinh, math.tan, math.tanh, math.asin, math.acos, math.atan, math.log2)]
sym_sqrt = _sym_sqrt


def _limits(name: str, size: Any, least: int, greatest: int) -> None:
    if isinstance(size, bool) or not isinstance(size, (int, float)):
        raise TypeError(f"{name}(): argument 'size' (position 1) must be Number, not {type_name(size)}")
    if greatest < least:
        raise RuntimeError(f"Max must be greater than or equal to min. Got min={least} max={greatest}")
    if not least <= int(size) <= greatest:
        raise RuntimeError(f"Invalid value range for {int(size)} between [{least}, {greatest}].")


def sym_constrain_range(size: Any, *, min: int | None = None, max: int | None = None) -> None:
    """Says between what a number lies.

    Raises:
        RuntimeError: it does not.
    """
    _limits("sym_constrain_range", size, -2 ** 63 if min is None else min, 2 ** 63 - 1 if max is None else max)


def sym_constrain_range_for_size(size: Any, *, min: int | None = None, max: int | None = None) -> None:
    """Says between what a size lies.

    Raises:
        RuntimeError: it does not, or `max` allows sizes of two at most, which are no different from others.
    """
    if max is not None and max <= 2:
        raise RuntimeError(f"Max value to constrain_range_for_size must be greater than 2. got: {max}")
    _limits("sym_constrain_range_for_size", size, 0 if min is None else min, 2 ** 63 - 1 if max is None else max)


for _name, _value in list(vars().items()):
    if _name.lstrip("_").startswith("sym_"):
        _value.__module__ = "torch"
