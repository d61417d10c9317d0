"""References to tensors that do not keep them alive, and dictionaries whose keys are objects themselves, not what they are equal to.

>>> import torchcompat as torch
>>> from torchcompat.utils.weak import WeakIdKeyDictionary
>>> a, b = torch.ones(2), torch.ones(2)
>>> names = WeakIdKeyDictionary({a: "a", b: "b"})
>>> names[b], len(names)
('b', 2)
>>> del b
>>> len(names)
1
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator, Mapping, MutableMapping
from typing import Any
from weakref import ref as ref

from .._calls.absent import absences as _absences
from .._tensor import Tensor

__all__ = ["TensorWeakRef", "WeakIdRef", "WeakIdKeyDictionary", "WeakTensorKeyDictionary"]
WeakRef = ref


class WeakIdRef(weakref.ref):
    """A weak reference that is equal to those of the same object, or, when that is gone, to itself."""

    __slots__ = ("_id",)

    def __init__(self, key: object, callback: Callable[[Any], object] | None = None) -> None:
        self._id = id(key)
        super().__init__(key, callback)  # type: ignore[call-arg]  # which typeshed says is made by __new__

    def __call__(self) -> Any:
        return super().__call__()

    def __hash__(self) -> int:
        return self._id

    def __eq__(self, other: object) -> bool:
        mine, others = self(), other() if isinstance(other, weakref.ref) else None
        return self is other if mine is None or others is None else mine is others


class _WeakHashRef(weakref.ref):
    """A weak reference that has the object's hash for ever, and is equal to those of equal objects."""

    __slots__ = ("_id",)

    def __init__(self, key: object, callback: Callable[[Any], object] | None = None) -> None:
        self._id = hash(key)
        super().__init__(key, callback)  # type: ignore[call-arg]  # which typeshed says is made by __new__

    def __call__(self) -> Any:
        return super().__call__()

    def __hash__(self) -> int:
        return self._id

    def __eq__(self, other: object) -> bool:
        mine, others = self(), other() if isinstance(other, weakref.ref) else None
        return self is other if mine is None or others is None else bool(mine == others)


class WeakIdKeyDictionary(MutableMapping[Any, Any]):
    """From objects to values, until the objects are gone.

    Args:
        dict: what it has from the start.
        ref_type: the class of the references; `WeakIdRef`, or one whose references are equal where the objects are.
    """

    def __init__(self, dict: Mapping[object, object] | None = None, ref_type: type = WeakIdRef) -> None:
        self.data: Any = {}
        self.ref_type = ref_type
        self._forget = _forgetter(self)
        if dict is not None:
            self.update(dict)

    def __setitem__(self, key: object, value: object) -> None:
        self.data[self.ref_type(key, self._forget)] = value

    def __getitem__(self, key: object) -> Any:
        return self.data[self.ref_type(key)]

    def __delitem__(self, key: object) -> None:
        del self.data[self.ref_type(key)]

    def __contains__(self, key: object) -> bool:
        try:
            return self.ref_type(key) in self.data
        except TypeError:  # nothing that could be referred to
            return False

    def __iter__(self) -> Iterator[Any]:
        for reference in list(self.data):
            key = reference()
            if key is not None:
                yield key

    def __len__(self) -> int:
        return sum([reference() is not None for reference in list(self.data)])

    def __bool__(self) -> bool:
        return len(self) > 0

    def __repr__(self) -> str:
        return f"<{type(self).__name__} at {id(self):#x}>"

    def keyrefs(self) -> list[Any]:
        """The references."""
        return list(self.data)

    def copy(self) -> WeakIdKeyDictionary:
        """Another dictionary of the same keys and values."""
        found = WeakIdKeyDictionary(ref_type=self.ref_type)
        for key, value in self.items():
            found[key] = value
        return found

    __copy__ = copy

    def __deepcopy__(self, memo: dict[int, Any]) -> WeakIdKeyDictionary:
        from copy import deepcopy

        found = type(self)()
        for key, value in self.items():
            found[key] = deepcopy(value, memo)
        return found

    def popitem(self) -> tuple[Any, Any]:
        """Takes out the last pair; KeyError where there is none."""
        while True:
            reference, value = self.data.popitem()
            key = reference()
            if key is not None:
                return key, value

    def pop(self, key: object, *default: Any) -> Any:
        """Takes out a key, and gives its value; the default where it is not there, KeyError without one."""
        return self.data.pop(self.ref_type(key), *default)

    def setdefault(self, key: object, default: Any = None) -> Any:
        """The value of a key, which is the default where it was not there."""
        return self.data.setdefault(self.ref_type(key, self._forget), default)

    def __or__(self, other: object) -> WeakIdKeyDictionary:
        if not isinstance(other, Mapping):
            return NotImplemented
        found = self.copy()
        for key, value in other.items():
            found[key] = value
        return found

    def __ror__(self, other: object) -> WeakIdKeyDictionary:
        if not isinstance(other, Mapping):
            return NotImplemented
        found = type(self)(ref_type=self.ref_type)
        for part in (other, self):
            for key, value in part.items():
                found[key] = value
        return found

    def __ior__(self, other: Any) -> WeakIdKeyDictionary:  # type: ignore[misc]  # anything that `update` takes
        self.update(other)
        return self

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Mapping):
            return NotImplemented
        return {id(key): value for key, value in self.items()} == {id(key): value for key, value in other.items()}

    __hash__ = None  # type: ignore[assignment]


def _forgetter(dictionary: WeakIdKeyDictionary) -> Callable[[object], None]:
    """What takes an entry out when its key is gone, and does not keep the dictionary alive."""
    referred = weakref.ref(dictionary)

    def forget(reference: object) -> None:
        found = referred()
        if found is not None:
            found.data.pop(reference, None)

    return forget


WeakTensorKeyDictionary = WeakIdKeyDictionary


class TensorWeakRef:
    """A reference to a tensor that does not keep it alive: called, it gives the tensor, or None when that is gone."""

    ref: Any

    def __init__(self, tensor: Tensor) -> None:
        if not isinstance(tensor, Tensor):
            raise AssertionError(f"expected torch.Tensor, got {type(tensor)}.")
        self.ref = weakref.ref(tensor)

    def __call__(self) -> Tensor | None:
        found: Tensor | None = self.ref()
        if found is not None and not isinstance(found, Tensor):
            raise AssertionError(f"expected torch.Tensor, got {type(found)}.")
        return found


_absences(__name__)
