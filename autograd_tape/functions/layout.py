"""Where a result lies in memory."""

from __future__ import annotations

from ..record import Param, Record


def layout_operands(rec: Record, scalar: str | None = None) -> list[Param]:
    """The tensors whose order in memory decides that of the result: the operands of element-wise operations, or what the record's
    `layout` names. Where they differ, NumPy gives rows, and torch the order of the first that has one."""
    layout = rec.field("layout")
    if layout == "rows" or [t for t, _ in rec.returns] != ["Tensor"]:
        return []
    if layout is not None:
        return [p for name in layout.split() for p in rec.params if p.name == name != scalar]
    if rec.elementwise:
        return [p for p in rec.tensor_params if p.name != scalar and p.type in ("Tensor", "Operand", "Mask")]
    return []
