"""Types of tensors by their sizes, some of which may be unknown.

>>> from torchcompat.fx.tensor_type import Dyn, TensorType, is_consistent, is_more_precise
>>> is_consistent(TensorType((1, Dyn)), TensorType((Dyn, 2))), is_more_precise(TensorType((1, 2)), TensorType((1, Dyn)))
(True, True)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from torchcompat._calls.absent import absences as _absences

from .experimental.unification import Var

__all__ = ["Dyn", "TensorType", "is_consistent", "is_more_precise"]


class TensorType:
    """The type of tensors of these sizes."""

    def __init__(self, dim: Sequence[object]) -> None:
        self.__origin__, self.__args__ = TensorType, dim

    @property
    def dims(self) -> Sequence[object]:
        """The sizes: numbers, `Dyn` or variables."""
        return self.__args__

    def __repr__(self) -> str:
        return f"TensorType[{self.dims}]"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, self.__class__) and list(self.dims) == list(other.dims)

    @staticmethod
    def __class_getitem__(*args: object) -> TensorType:
        return TensorType(tuple(args[0] if len(args) == 1 and isinstance(args[0], tuple) else args))


class _DynType:
    """The type of what nothing is known of."""

    def __init__(self) -> None:
        self.__name__ = "_DynType"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, self.__class__)

    def __repr__(self) -> str:
        return "Dyn"


Dyn = _DynType()


def _sizes_agree(t1: object, t2: object, agree: Callable[[object, object], bool]) -> bool:
    return (isinstance(t1, TensorType) and isinstance(t2, TensorType) and len(t1.dims) == len(t2.dims)
            and all([agree(a, b) for a, b in zip(t1.dims, t2.dims)]))


def is_consistent(t1: object, t2: object) -> bool:
    """Whether a value may be of both types: what is unknown of one may be what the other says."""
    unknown = t1 == Dyn or t2 == Dyn or isinstance(t1, Var) or isinstance(t2, Var)
    return t1 == t2 or unknown or _sizes_agree(t1, t2, is_consistent)


def is_more_precise(t1: object, t2: object) -> bool:
    """Whether the first type says all that the second says."""
    return t1 == t2 or isinstance(t2, _DynType) or _sizes_agree(t1, t2, is_more_precise)


_absences(__name__)
