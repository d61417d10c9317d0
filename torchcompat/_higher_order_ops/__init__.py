"""Operations that take functions: scans, loops and branches, carried out as they come."""

from __future__ import annotations

from .._calls.absent import absences as _absences
from .associative_scan import associative_scan as associative_scan
from .cond import cond as cond
from .map import map as map
from .scan import scan as scan
from .while_loop import while_loop as while_loop

__all__ = ["associative_scan", "cond", "map", "scan", "while_loop"]
_absences(__name__)
