"""Dispatch keys as libraries of operations name them, and sets of them: `torch.DispatchKey`, `torch.DispatchKeySet`."""

from __future__ import annotations

from enum import Enum
from typing import Any
from collections.abc import Iterable

DEVICES = "CPU CUDA HIP XLA MPS IPU XPU HPU VE Lazy MTIA MAIA PrivateUse1 PrivateUse2 PrivateUse3 Meta".split()
_OTHERS = {"Undefined": 0, "BackendSelect": 11, "Python": 13, "Functionalize": 15, "Conjugate": 16, "Negative": 17, "ZeroTensor": 18,
           "ADInplaceOrView": 19, "AutogradOther": 20, "AutogradNestedTensor": 22, "AutocastCPU": 24, "AutocastXPU": 27,
           "AutocastIPU": 28, "AutocastHPU": 29, "AutocastMPS": 31, "AutocastCUDA": 32, "AutocastPrivateUse1": 33, "FuncTorchBatched": 34,
           "FuncTorchVmapMode": 36, "FuncTorchGradWrapper": 39, "Tracer": 40, "PreDispatch": 45, "Autograd": 150,
           "CompositeImplicitAutograd": 151, "CompositeImplicitAutogradNestedTensor": 153, "CompositeExplicitAutograd": 154,
           "CompositeExplicitAutogradNonFunctional": 155}
_make: Any = Enum  # the functional form
DispatchKey: Any = _make("DispatchKey", {**_OTHERS, **{d: 49 + i for i, d in enumerate(DEVICES)},
                                         **{f"Autograd{d}": 134 + i for i, d in enumerate(DEVICES)}}, module="torch")
"""The keys that kernels may be registered for, with torch's numbers."""
KEYS = frozenset(DispatchKey.__members__) - {"Undefined"}
"""Their names. Kernels of keys that nothing here asks for are kept."""
WITH_FALLBACK = KEYS - {d for d in DEVICES if d != "Meta"} - {"CompositeImplicitAutogradNestedTensor"} - {
    f"Autograd{d}" for d in ("IPU", "PrivateUse1", "PrivateUse2", "PrivateUse3", "NestedTensor")} - {
    f"Autocast{d}" for d in ("IPU", "HPU", "PrivateUse1")}
"""Those that have a fallback from the start, and can have no other."""


def _place(key: Any) -> tuple[int, int]:
    """Where a key comes in the walk, and the device: kernels of devices are reached last."""
    value = key.value
    return (1, value) if 49 <= value <= 64 else (21, value) if 134 <= value <= 149 else (value, 0)


class DispatchKeySet:
    """Some dispatch keys: what is left of a call's walk, for kernels that ask for it.

    >>> keys = DispatchKeySet(DispatchKey.AutogradCPU) | DispatchKeySet(DispatchKey.CPU)
    >>> keys, keys.has(DispatchKey.CPU), keys.highestPriorityTypeId(), keys - DispatchKeySet(DispatchKey.CPU)
    (DispatchKeySet(CPU, AutogradCPU), True, <DispatchKey.AutogradCPU: 134>, DispatchKeySet(AutogradCPU))
    """

    __slots__ = ("_keys",)
    __module__ = "torch"
    _keys: frozenset[Any]

    def __init__(self, key: object) -> None:
        if not isinstance(key, DispatchKey):
            raise TypeError(f"DispatchKeySet(): expected a torch.DispatchKey, not {type(key).__name__}")
        self._keys = frozenset() if key is DispatchKey.Undefined else frozenset([key])

    @classmethod
    def of(cls, keys: Iterable[object]) -> DispatchKeySet:
        """The set of these keys."""
        made = object.__new__(cls)
        made._keys = frozenset(keys)
        return made

    def _others(self, other: object) -> frozenset[Any]:
        if not isinstance(other, DispatchKeySet):
            raise TypeError(f"expected a torch.DispatchKeySet, not {type(other).__name__}")
        return other._keys

    def __or__(self, other: object) -> DispatchKeySet:
        return self.of(self._keys | self._others(other))

    def __and__(self, other: object) -> DispatchKeySet:
        return self.of(self._keys & self._others(other))

    def __sub__(self, other: object) -> DispatchKeySet:
        return self.of(self._keys - self._others(other))

    def __eq__(self, other: object) -> bool:
        return self._keys == self._others(other)

    __hash__ = None  # type: ignore[assignment]  # as torch has it

    def has(self, key: object) -> bool:
        """Whether a key is among them."""
        return key in self._keys

    def add(self, key: object) -> DispatchKeySet:
        """These and another, as a new set."""
        return self | DispatchKeySet(key)

    def remove(self, key: object) -> DispatchKeySet:
        """All but one, as a new set."""
        return self.of(self._keys - {key})

    def highestPriorityTypeId(self) -> Any:
        """The key whose kernel is reached first; Undefined of none."""
        return max(self._keys, key=_place, default=DispatchKey.Undefined)

    def __repr__(self) -> str:
        return f"DispatchKeySet({', '.join([k.name for k in sorted(self._keys, key=_place)])})"


def reaching(key: str, device: str) -> DispatchKeySet:
    """What is left of the walk where the kernel of a key is called, for tensors of the device whose key is named; "" of no tensors.

    >>> reaching("Autograd", "CPU"), reaching("CompositeExplicitAutograd", "CPU"), reaching("AutocastCPU", "CPU")
    (DispatchKeySet(CPU, AutogradCPU), DispatchKeySet(CPU), DispatchKeySet(CPU, AutogradCPU, AutocastCPU))
    """
    names = [device] if device else []
    if device and key != device and not key.startswith("CompositeExplicit"):
        names.append(f"Autograd{device}")
    if DispatchKey[key].value < 49:
        names.append(key)
    return DispatchKeySet.of([DispatchKey[n] for n in names if n in KEYS])


AUTOGRAD = frozenset([k for k in DispatchKey if k.name.startswith("Autograd")])
AFTER_VIEWS = DispatchKeySet.of([k for k in DispatchKey if 0 < _place(k)[0] < 19])
AFTER_AUTOGRAD = AFTER_VIEWS.add(DispatchKey.ADInplaceOrView)
"""What is inside of the key Autograd, with and without the counting of versions that torch does at another key."""
