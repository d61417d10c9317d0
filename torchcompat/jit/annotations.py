"""torch.jit.annotations: type hints of programs of TorchScript."""

from __future__ import annotations

from .._calls.absent import absences as _absences
from .._jit_internal import (  # noqa: F401
    Any, BroadcastingList1, BroadcastingList2, BroadcastingList3, BroadcastingList4, BroadcastingList5, BroadcastingList6, Dict, Future,
    List, Optional, Tuple, Union,
)

_absences(__name__)
