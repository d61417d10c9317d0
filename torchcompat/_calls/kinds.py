"""The types that values have in TorchScript."""

from __future__ import annotations

from typing import Any

from dataclasses import dataclass

from autograd_tape.dtypes import DType, Device

from torchcompat._tensor import Tensor

_PLAIN: tuple[tuple[type, str], ...] = ((bool, "bool"), (int, "int"), (float, "float"), (str, "str"), (complex, "complex"),
                                        (Tensor, "Tensor"), (Device, "Device"), (DType, "int"))
_KINDS = {"bool": "BoolType", "int": "IntType", "float": "FloatType", "str": "StringType", "complex": "ComplexType",
          "Tensor": "TensorType", "Device": "DeviceObjType", "NoneType": "NoneType"}


def kind_of(value: Any) -> str | None:
    """The type of a value as files write it; None where they have no room for it."""
    if value is None:
        return "NoneType"
    for kind, name in _PLAIN:
        if isinstance(value, kind):
            return name if type(value) is kind or kind in (Tensor, Device, DType) else None
    if type(value) in (list, tuple):
        kinds = [kind_of(x) for x in value]
        if None in kinds or type(value) is list and len(set(kinds)) > 1:
            return None
        if type(value) is tuple:
            return f"Tuple[{', '.join(map(str, kinds)) or '()'}]"
        return f"List[{kinds[0] if kinds else 'Tensor'}]"
    if type(value) is dict and all([type(k) in (str, int) for k in value]):
        keys, items = {kind_of(k) for k in value}, {kind_of(v) for v in value.values()}
        if None in items or len(keys) > 1 or len(items) > 1:
            return None
        return f"Dict[{next(iter(keys), 'str')}, {next(iter(items), 'Tensor')}]"
    return None


@dataclass(frozen=True, slots=True)
class JitType:
    """A type of TorchScript, as annotations write it."""

    annotation_str: str

    def kind(self) -> str:
        """Which kind of types it is of."""
        return _KINDS.get(self.annotation_str) or f"{self.annotation_str.partition('[')[0]}Type"

    def __str__(self) -> str:
        return self.annotation_str


@dataclass(frozen=True, slots=True)
class InferredType:
    """The type of a value, or why it has none."""

    _type: JitType | None
    _reason: str

    def success(self) -> bool:
        """Whether it has one."""
        return self._type is not None

    def type(self) -> JitType:
        """The type. RuntimeError: it has none."""
        if self._type is None:
            raise RuntimeError("Tried to get the type from a PyObject whose type could not be inferred")
        return self._type

    def reason(self) -> str:
        """Why it has none."""
        return self._reason


def try_infer_type(obj: Any) -> InferredType:
    """The type that a value has in TorchScript."""
    if type(obj) in (list, dict) and not obj:
        return InferredType(None, "List trace inputs must have elements" if type(obj) is list else "Dictionary inputs must have entries")
    kind = kind_of(obj)
    if kind is None:
        return InferredType(None, "Only tensors and (possibly nested) tuples of tensors, lists, or dicts are supported as inputs or "
                                  f"outputs of traced functions, but instead got value of type {type(obj).__name__}.")
    return InferredType(JitType(kind), "")
