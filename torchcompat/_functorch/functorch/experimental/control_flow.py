"""Branches and maps over the first dimension of tensors."""

from __future__ import annotations

from ...._calls.absent import absences as _absences
from ...._higher_order_ops.cond import cond as cond
from ...._higher_order_ops.map import map as map

_absences(__name__)
