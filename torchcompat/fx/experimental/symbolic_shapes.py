"""Questions about sizes that may be symbols in torch. Sizes are numbers here, so each has its answer."""

from __future__ import annotations

from typing import Any

import torchcompat as torch
from torchcompat._calls.absent import absences as _absences

__all__ = ["GuardOnDataDependentSymNode", "check_consistent", "constrain_range", "free_symbols", "free_unbacked_symbols", "guard_bool",
           "guard_float", "guard_int",
           "guard_or_false", "guard_or_true", "guard_scalar", "guard_size_oblivious", "has_free_symbols", "has_free_unbacked_symbols",
           "has_static_value", "has_symbolic_sizes_strides", "is_concrete_bool", "is_concrete_float", "is_concrete_int", "is_nested_int",
           "is_symbolic", "optimization_hint", "statically_known_false", "statically_known_true", "sym_and", "sym_eq", "sym_or"]


class GuardOnDataDependentSymNode(RuntimeError):
    """What torch raises where a program goes one way or the other by a size that only data tell.

    Args:
        cond: the condition.
    """

    cond: object

    def __init__(self, cond: object, *args: object) -> None:
        super().__init__(*args)
        self.cond = cond


def _bool(value: object) -> bool:
    if not isinstance(value, bool):
        raise AssertionError(f"Expected bool, got {type(value)}")
    return value


def guard_or_false(a: object) -> bool:
    """Whether a condition holds; False where that is not known. AssertionError: it is no bool."""
    return _bool(a)


def guard_or_true(a: object) -> bool:
    """Whether a condition holds; True where that is not known. AssertionError: it is no bool."""
    return _bool(a)


def guard_size_oblivious(expr: object) -> bool:
    """Whether a condition holds for sizes from two on. AssertionError: it is no bool."""
    return _bool(expr)


def statically_known_true(x: object) -> bool:
    """Whether a condition is known to hold. AssertionError: it is no bool."""
    return _bool(x)


def statically_known_false(x: object) -> bool:
    """Whether a condition is known not to hold. AssertionError: it is no bool."""
    return not _bool(x)


def _of(kind: type, value: Any) -> Any:
    if type(value) is not kind:
        raise AssertionError(f"Expected {kind.__name__}, got {value}")
    return value


def guard_bool(a: object) -> bool:
    """A bool. AssertionError: it is none."""
    return bool(_of(bool, a))


def guard_int(a: object) -> int:
    """An int. AssertionError: it is none."""
    return int(_of(int, a))


def guard_float(a: object) -> float:
    """A float. AssertionError: it is none."""
    return float(_of(float, a))


def guard_scalar(a: object) -> bool | int | float:
    """A bool, an int or a float. AssertionError: it is none of them."""
    if not isinstance(a, (bool, int, float)):
        raise AssertionError(f"unrecognized scalar {a}")
    return a


def optimization_hint(a: object, fallback: int | None = None) -> int:
    """A size that a compiler may count on. AssertionError: it is no int."""
    if type(a) is not int:
        raise AssertionError(f"Expected int, got {type(a)}")
    return a


def _concrete(kind: type, name: str, value: object) -> bool:
    if not isinstance(value, kind):
        raise AssertionError(f"Expected {name} or {kind.__name__}, got {type(value)}")
    return True


def is_concrete_int(a: object) -> bool:
    """Whether a size is a number. AssertionError: it is neither."""
    return _concrete(int, "SymInt", a)


def is_concrete_float(a: object) -> bool:
    """Whether a number is no symbol. AssertionError: it is neither."""
    return _concrete(float, "SymFloat", a)


def is_concrete_bool(a: object) -> bool:
    """Whether a condition is no symbol. AssertionError: it is neither."""
    return _concrete(bool, "SymBool", a)


def has_static_value(a: object) -> bool:
    """Whether a number is known. AssertionError: it is none."""
    if not isinstance(a, (bool, int, float)):
        raise AssertionError(f"Expected BoolLike/FloatLike/IntLike, got {type(a)}")
    return True


def is_symbolic(val: object) -> bool:
    """Whether a number is a symbol. AttributeError: it is none."""
    if not isinstance(val, (bool, int, float)):
        raise AttributeError(f"'{type(val).__name__}' object has no attribute 'node'")
    return False


def is_nested_int(s: object) -> bool:
    """Whether a size is that of a dimension whose parts differ: there are none."""
    return False


def has_symbolic_sizes_strides(elem: object) -> bool:
    """Whether a tensor has sizes that are symbols. AttributeError: it is no tensor."""
    if not isinstance(elem, torch.Tensor):
        raise AttributeError(f"'{type(elem).__name__}' object has no attribute '_has_symbolic_sizes_strides'")
    return False


def free_symbols(val: object) -> set[object]:
    """The symbols in sizes: none."""
    return set()


def free_unbacked_symbols(x: object) -> set[object]:
    """The symbols in sizes that only data tell: none."""
    return set()


def has_free_symbols(val: object) -> bool:
    """Whether there are symbols in sizes."""
    return bool(free_symbols(val))


def has_free_unbacked_symbols(x: object) -> bool:
    """Whether there are such that only data tell."""
    return bool(free_unbacked_symbols(x))


def check_consistent(new: object, old: object) -> None:
    """Nothing. RuntimeError: two numbers, or two tensors' shapes, are not the same."""
    if isinstance(new, torch.Tensor) and isinstance(old, torch.Tensor):
        new, old = new.shape, old.shape
    if isinstance(new, (bool, int, float, tuple)) and new != old:
        raise RuntimeError(f"{old} != {new} (old != new)")


def constrain_range(a: object, *, min: int | None = None, max: int | None = None) -> None:
    """Nothing. ValueError: a number is not between two others."""
    low, high = float("-inf") if min is None else min, float("inf") if max is None else max
    if isinstance(a, (int, float)) and not low <= a <= high:
        raise ValueError(f"Invalid value {int(a)} for range [{low}:{high}]")


def sym_eq(x: object, y: object) -> bool:
    """Whether numbers, or tuples or lists of them, are the same. AssertionError: one is a number, the other not."""
    if isinstance(x, (tuple, list)) and isinstance(y, (tuple, list)):
        return len(x) == len(y) and all([sym_eq(a, b) for a, b in zip(x, y)])
    if isinstance(x, int) and isinstance(y, int):
        return x == y
    raise AssertionError(f"unexpected sym_eq between {type(x)} {type(y)}")


def sym_and(x: Any, *others: Any) -> Any:
    """Whether all conditions hold."""
    for other in others:
        x = x & other
    return x


def sym_or(x: Any, *others: Any) -> Any:
    """Whether one condition holds."""
    for other in others:
        x = x | other
    return x


_absences(__name__)
